/* direct.c: what is only copied on need not stop in shared memory.
 *
 * A tile that goes from global to shared memory and from there to registers alone
 * is loaded into registers at once, where its place in memory is also the one that
 * its lanes want: in kernels without products (rows.c).
 *
 *   %x = load T[…] : shared bf16<4x256>        %x.1 = load T[…] : bf16<4x256>
 *   %x.1 = move %x : bf16<4x256>          ->
 */
#include "pass/entries.h"
#include "pass/fetch.h"
#include "pass/operands.h"
#include "pass/rows.h"

static bool is_staging(const TileProgram *program, const TileKernel *kernel, const TileOp *op)
{
    if (op->kind != TILE_LOAD || op->results[0]->type.space != SPACE_SHARED) return false;
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

static void direct_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) direct_block(program, kernel, op->regions[r]);
        if (!is_staging(program, kernel, op)) continue;
        op->results[0]->type.space = SPACE_REGISTER;
        op->note = "straight into registers: nothing else reads it";
        remove_moves(kernel, block, op->results[0]);
        Rewriter rw = {program, kernel, block, i + 1, op->loc};
        if (tile_by_rows(op)) rw_gather_rows(&rw, op);
    }
}

bool pass_direct(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    operands_to_registers(program, kernel, diags);
    if (kernel->specialized) fetch_early(program, kernel); /* its tiles are in rings */
    else if (rows_without_fragments(kernel)) {
        direct_block(program, kernel, kernel->body);
        spread_entries(kernel, kernel->body);
    }
    return true;
}
