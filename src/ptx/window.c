/* window.c: rows that a window is moved over (pass/window.c), in the entry for any alignment.
 *
 * The window begins at a multiple of 16 bytes in the tensor that it is of. Rows of another tensor that is as wide mostly
 * begin there too, and a vector that all rows have seldom: that is looked at when the block runs, and is the same for all
 * its threads.
 */
#include "ptx/window.h"

bool wn_is_large(const Emitter *e)
{
    enum { LARGE = 10 /* warps */ };
    return e->kernel->warps >= LARGE;
}

/* Tensors of whose rows the kernel loads tiles. */
static int rows_loaded(const Emitter *e, const TileBlock *block)
{
    int n = 0;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        n += op->kind == TILE_LOAD && op->tensor->rank > 1 && tile_in_window(op);
        for (int r = 0; r < op->n_regions; r++) n += rows_loaded(e, op->regions[r]);
    }
    return n;
}

/* Of what is kept a lane holds little, and small blocks leave much for rows that are held whole. Else two blocks have to leave so many registers, with
 * which of one row, and vectors beside it, ptxas spills none. */
bool wn_aims(const Emitter *e)
{
    enum { ENOUGH = 72, LANES = 32 };
    const TileKernel *kernel = e->kernel;
    if (!kernel->window.sym || kernel->kept > 0) return kernel->window.sym;
    if (!wn_is_large(e)) return !tile_has(kernel->body, TILE_FOR);
    return 2 * kernel->warps * LANES * ENOUGH <= e->target->regs_per_sm && rows_loaded(e, kernel->body) < 2;
}

bool wn_moves(const Emitter *e, const TileOp *op)
{
    return !e->aligned && e->kernel->window.sym && tile_in_window(op);
}

bool wn_copies_at_once(const Emitter *e)
{
    return (e->aligned || e->kernel->window.sym) && e->target->has_cp_async;
}

void wn_open(Emitter *e)
{
    const TileWindow *w = &e->kernel->window;
    if (!w->sym) return;
    TileOp row = {.tensor = w->tensor, .coords = w->coords, .row_dim = -1, .col_dim = -1};
    int level, bytes = dtype_bytes(w->tensor->dtype); /* 1, 2 or 4 */
    const char *begin = em_new(e, REG_R), *address = gl_corner(e, &row, NULL, 0, -1, &level);
    em(e, "cvt.u32.u64 %s, %s;", begin, address);
    em(e, "and.b32 %s, %s, %d;", begin, begin, TILE_CHUNK - 1);
    em(e, "shr.u32 %s, %s, %d;", begin, begin, bytes / 2);
    ix_bind(e, w->sym, begin, em_level(e));
}

static bool is_own_row(const TileWindow *w, const TileOp *op)
{
    for (int d = 0; d + 1 < w->tensor->rank; d++)
        if (op->tensor != w->tensor || op->coords[d] != w->coords[d]) return false;
    return op->tensor == w->tensor;
}

const char *wn_begins(Emitter *e, const TileOp *op, const char *address, int bytes)
{
    if (is_own_row(&e->kernel->window, op)) return NULL;
    const char *low = em_new(e, REG_R), *p = em_new(e, REG_P);
    em(e, "cvt.u32.u64 %s, %s;", low, address);
    em(e, "and.b32 %s, %s, %d;", low, low, bytes - 1);
    em(e, "setp.eq.s32 %s, %s, 0;", p, low);
    return p;
}

const Aff *wn_shows(Emitter *e, const TileOp *op, const Aff *column, int columns)
{
    AffCtx *aff = e->program->aff;
    const Aff *first = aff_add(aff, op->coords[op->col_dim], column), *dim = op->tensor->dims[op->col_dim];
    return aff_and(aff, aff_le(aff, aff_const(aff, 0), aff_offset(aff, first, columns - 1)), aff_lt(aff, first, dim));
}

const Aff *wn_shows_all(Emitter *e, const TileOp *op, const Aff *column, int columns)
{
    AffCtx *aff = e->program->aff;
    const Aff *first = aff_add(aff, op->coords[op->col_dim], column), *dim = op->tensor->dims[op->col_dim];
    return aff_and(aff, aff_le(aff, aff_const(aff, 0), first), aff_le(aff, aff_offset(aff, first, columns), dim));
}
