/* direct.c: what is only copied on need not stop in shared memory.
 *
 * A tile that goes from global to shared memory and from there to registers alone
 * is loaded into registers at once, where its place in memory is also the one that
 * its lanes want: in kernels without products (rows.c).
 *
 *   %x = load T[…] : shared bf16<4x256>        %x.1 = load T[…] : bf16<4x256>
 *   %x.1 = move %x : bf16<4x256>          ->
 *
 * So is, in kernels with products too, a column, or another tile of rows that are no whole pieces of 16 bytes: shared memory
 * takes none of these there.
 *
 * Where rows lie as memory does, elements that lie beside each other as a tile's do, if each with a place of its own, are loaded as one,
 * many a time:
 *
 *   %r = gather T[m * 4 + row, n * 256 + col + 64]   ->   %r = load T[m * 4 : rows, n * 256 + 64 : cols]
 */
#include "pass/entries.h"
#include "pass/fetch.h"
#include "pass/operands.h"
#include "pass/rows.h"

static bool is_staging(const TileProgram *program, const TileKernel *kernel, TileOpKind kind, const TileOp *op)
{
    if (op->kind != kind || op->results[0]->type.space != SPACE_SHARED) return false;
    Uses uses = rw_uses(program->arena, kernel->body, op->results[0]);
    for (int i = 0; i < uses.len; i++)
        if (uses.data[i]->kind != TILE_MOVE || uses.data[i]->results[0]->type.space != SPACE_REGISTER) return false;
    return true;
}

/* Moves of v become v itself, which is in registers now. */
static void remove_moves(TileKernel *kernel, TileBlock *block, TileValue *v)
{
    for (int i = block->ops.len - 1; i >= 0; i--) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) remove_moves(kernel, op->regions[r], v);
        if (op->kind != TILE_MOVE || op->args[0] != v) continue;
        tile_replace_uses(kernel->body, op->results[0], v);
        tile_remove(block, i);
    }
}

/* ---- elements that are a tile ------------------------------------------------------- */

/* Whether a coordinate goes on by one along a side of the tile, and by nothing along the other: from `*rest`. */
static bool goes_along(TileProgram *program, const Aff *coord, const AffSym *side, const AffSym *other, const Aff **rest)
{
    const Aff *step;
    int64_t one;
    return aff_linear(program->aff, coord, side, &step, rest) && aff_is_const(step, &one) && one == 1 && !aff_uses(*rest, side) &&
           !aff_uses(*rest, other);
}

/* Columns begin where lanes can take 16 bytes. */
static bool is_in_chunks(const TileTensor *t, const Aff *from)
{
    return aff_divisor(from) % (TILE_CHUNK / dtype_bytes(t->dtype)) == 0;
}

/* Makes a load of the operation, where its elements are a tile, and no wider than others that are copied: those say
 * how many of them a lane has, and the reasoner knew of no more. */
static void load_as_tile(TileProgram *program, TileOp *op, int widest)
{
    const TileType *type = &op->results[0]->type;
    int last = op->tensor->rank - 1, row_dim = -1;
    const Aff **from = arena_array(program->arena, const Aff *, op->tensor->rank);
    if (last < 0 || type->cols < 2 || type->dtype != op->tensor->dtype || dtype_bytes(type->dtype) > widest) return;
    if (!goes_along(program, op->coords[last], program->col, program->row, &from[last]) || !is_in_chunks(op->tensor, from[last])) return;
    for (int d = 0; d < last; d++) {
        from[d] = op->coords[d];
        if (aff_uses(op->coords[d], program->col)) return;
        if (!aff_uses(op->coords[d], program->row)) continue;
        if (row_dim >= 0 || !goes_along(program, op->coords[d], program->row, program->col, &from[d])) return;
        row_dim = d;
    }
    if (row_dim < 0 && type->rows > 1) return;
    op->kind = TILE_LOAD;
    op->coords = from;
    op->row_dim = row_dim;
    op->col_dim = last;
    op->note = "elements that lie as the tile's do";
}

static void load_straight(TileProgram *program, TileKernel *kernel, TileBlock *block, int at)
{
    TileOp *op = block->ops.data[at];
    op->results[0]->type.space = SPACE_REGISTER;
    op->note = "straight into registers: nothing else reads it";
    remove_moves(kernel, block, op->results[0]);
    Rewriter rw = {program, kernel, block, at + 1, op->loc};
    if (tile_by_rows(op)) rw_gather_rows(&rw, op);
}

/* Whether shared memory takes no such rows, and fragments do. */
static bool is_narrow(const TileType *t)
{
    return t->cols * dtype_bytes(t->dtype) % TILE_CHUNK != 0 && (t->cols == 1 || t->cols % 8 == 0);
}

static void direct_narrow(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) direct_narrow(program, kernel, op->regions[r]);
        if (op->n_results == 0 || !is_narrow(&op->results[0]->type)) continue;
        if (is_staging(program, kernel, TILE_LOAD, op)) load_straight(program, kernel, block, i);
        if (!is_staging(program, kernel, TILE_MOVE, op)) continue;
        remove_moves(kernel, block, op->results[0]);
        tile_replace_uses(kernel->body, op->results[0], op->args[0]);
        tile_remove(block, i--);
    }
}

/* widest: bytes of elements that are copied. */
static void direct_block(TileProgram *program, TileKernel *kernel, TileBlock *block, int widest)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) direct_block(program, kernel, op->regions[r], widest);
        if (op->kind == TILE_GATHER && op->n_args == 0 && !op->where) load_as_tile(program, op, widest);
        if (is_staging(program, kernel, TILE_LOAD, op)) load_straight(program, kernel, block, i);
    }
}

bool pass_direct(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    operands_to_registers(program, kernel, diags);
    if (!rows_without_fragments(kernel)) direct_narrow(program, kernel, kernel->body);
    if (kernel->specialized) fetch_early(program, kernel); /* its tiles are in rings */
    else if (rows_without_fragments(kernel)) {
        direct_block(program, kernel, kernel->body, rows_widest(kernel));
        spread_entries(kernel, kernel->body);
    }
    return true;
}
