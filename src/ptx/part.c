/* part.c: parts of register tiles, and integers from data.
 *
 * A part of whole columns of a fragment is some of a lane's values: with one
 * warp along the columns they are the same lanes' in the part and in the whole.
 * A slice of a shared tile is no code at all: its users add its corner (shared.c).
 */
#include "ptx/emit.h"
#include "ptx/integer.h"

/* Which value of the whole is value i of the part; -1: another lane has it. */
static int in_whole(const TileValue *whole, const TileValue *part, int row0, int col0, int i)
{
    int row, col, r, c, n = lay_fragment_values(whole->type.layout, whole->type.rows, whole->type.cols);
    fr_place(part, i, &row, &col);
    for (int k = 0; k < n; k++) {
        fr_place(whole, k, &r, &c);
        if (r == row + row0 && c == col + col0) return k;
    }
    return -1;
}

static bool can_take_part(Emitter *e, const TileOp *op, const TileValue *whole, const TileValue *part)
{
    const Layout *a = &whole->type.layout, *b = &part->type.layout;
    bool rows = whole->type.rows == part->type.rows || (a->warps_m == 1 && op->row0 % 16 == 0);
    bool cols = whole->type.cols == part->type.cols || (a->warps_n == 1 && op->col0 % 16 == 0);
    bool vectors = (whole->type.rows > 1) == (part->type.rows > 1) && (whole->type.cols > 1) == (part->type.cols > 1);
    if (rows && cols && vectors && a->kind == b->kind) return true;
    em_fail(e, op->loc, TW0803, "a part of %d x %d at %d, %d of a register tile of %d x %d cuts through its fragments",
            part->type.rows, part->type.cols, op->row0, op->col0, whole->type.rows, whole->type.cols);
    return false;
}

/* Whether anything but moves into registers reads it, or a slice of it. */
static bool is_operand(const TileBlock *block, const TileValue *v)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++)
            if (is_operand(op->regions[k], v)) return true;
        for (int k = 0; k < op->n_args; k++)
            if (op->args[k] == v && op->kind != TILE_MOVE) return true;
    }
    return false;
}

void el_slice(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *v = op->results[0];
    SharedTile tile;
    if (a->type.space == SPACE_SHARED) {
        if (sh_view(e, v, &tile) && tile.row0 % 8 == 0 && (tile.chunk0 % 2 == 0 || !is_operand(e->kernel->body, v))
            && op->col0 * dtype_bytes(v->type.dtype) % 16 == 0)
            return;
        em_fail(e, op->loc, TW0803, "a slice of a shared tile begins at a multiple of 8 rows and 32 bytes");
        return;
    }
    fr_new_f32(e, v);
    if (!can_take_part(e, op, a, v)) return;
    fr_f32(e, a);
    for (int i = 0; i < e->frags[v->id].n; i++)
        em(e, "mov.f32 %%f%d, %s;", e->frags[v->id].f[i], fr_operand(e, a, in_whole(a, v, op->row0, op->col0, i)));
}

void el_patch(Emitter *e, const TileOp *op)
{
    const TileValue *part = op->args[1], *v = op->results[0];
    fr_take(e, v, op->args[0]);
    if (!can_take_part(e, op, v, part)) return;
    for (int i = 0; i < e->frags[part->id].n; i++)
        em(e, "mov.f32 %%f%d, %s;", e->frags[v->id].f[in_whole(v, part, op->row0, op->col0, i)],
           fr_operand(e, part, i));
}

/* The value is the same in all lanes and warps; a shuffle tells ptxas. */
void el_scalar(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->args[0];
    const char *read = e->frags[v->id].integer, *number = read ? in_word(e, v->type.dtype, read) : em_new(e, REG_R);
    const char *same = e->alone ? number : em_new(e, REG_R);
    if (!read) em(e, "cvt.rzi.s32.f32 %s, %s;", number, fr_operand(e, v, 0));
    if (!e->alone) em(e, "shfl.sync.idx.b32 %s, %s, 0, 31, -1;", same, number);
    ix_bind(e, op->var, same, em_level(e));
}
