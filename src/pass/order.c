/* order.c: in which order persistent blocks take the places of a grid.
 *
 * Where places weigh differently along an axis (`reversed`: the heaviest first), those of
 * the same weight should follow one another over the next axis as well, so that the last
 * blocks to finish have little left. But every entry of that axis streams tensors of its
 * own, and what the blocks at work stream together should stay in the L2 cache. So the
 * axis is taken in groups: all of it at once where that fits, else few entries:
 *
 *   grid(m: M reversed, h: H)   ->   grid(hi: G, m: M reversed, ho: H div G),  h = ho * G + hi
 *
 * with G = H, or the largest of 16, 8, 4, 2 and 1 that divides H and fits. The larger, the
 * less is left of a launch when its last heavy place begins: with G of 1 blocks would wait
 * for that place's end with nothing to do.
 */
#include "pass/order.h"

#include "pass/stage.h"

typedef struct Order {
    TileProgram *program;
    TileKernel *kernel;
    const Target *target;
    const AffSym *axis;   /* taken in groups */
    const Aff *bytes;     /* that an entry of it streams */
} Order;

/* Whether elements say where a tile lies, or coordinates where each of its rows does. */
static bool is_looked_up(const TileOp *op)
{
    bool looked = tile_by_rows(op);
    for (int d = 0; d < op->tensor->rank; d++) looked |= aff_uses_kind(op->coords[d], AFF_TABLE);
    return looked;
}

static bool is_of_sizes(const Aff *a)
{
    if (!a) return true;
    return (!a->sym || a->sym->kind == AFF_DIM) && is_of_sizes(a->a) && is_of_sizes(a->b);
}

/* What a bound is at most, as far as sizes say; NULL: they do not. */
static const Aff *at_most(AffCtx *aff, const Aff *bound)
{
    if (is_of_sizes(bound)) return bound;
    if (bound->kind != AFF_MIN && bound->kind != AFF_MAX) return NULL;
    const Aff *a = at_most(aff, bound->a), *b = at_most(aff, bound->b);
    if (bound->kind == AFF_MIN) return a ? a : b;
    return a && b ? aff_max(aff, a, b) : NULL;
}

/* Rows of a tensor that a loop goes through; where its tiles are looked up, as many as turns have. */
static const Aff *rows_through(const Order *o, const TileOp *load, const TileOp *loop)
{
    AffCtx *aff = o->program->aff;
    const Aff *turns = is_looked_up(load) ? at_most(aff, loop->hi) : NULL;
    if (turns) return aff_scale(aff, turns, load->results[0]->type.rows);
    return load->row_dim >= 0 ? load->tensor->dims[load->row_dim] : aff_const(aff, 0);
}

/* What loops go through, for an entry of the axis; loop: the one around. */
static void add_bytes(Order *o, const TileBlock *block, const TileOp *loop)
{
    AffCtx *aff = o->program->aff;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) add_bytes(o, op->regions[k], op->kind == TILE_FOR ? op : loop);
        if (!loop || !stage_is_load(op)) continue;
        const TileType *t = &op->results[0]->type;
        o->bytes = aff_add(aff, o->bytes, aff_scale(aff, rows_through(o, op, loop), (int64_t)t->cols * dtype_bytes(t->dtype)));
    }
}

/* `size` where it divides the axis and the caches hold what so many entries stream, else 0. */
static const Aff *if_fits(const Order *o, const Aff *extent, int64_t size)
{
    AffCtx *aff = o->program->aff;
    const Aff *rest = aff_mod(aff, extent, aff_const(aff, size)), *limit = aff_const(aff, o->target->l2_bytes / 2);
    const Aff *fits = aff_and(aff, aff_eq(aff, rest, aff_const(aff, 0)), aff_le(aff, aff_scale(aff, o->bytes, size), limit));
    return aff_scale(aff, fits, size);
}

/* H where the caches hold what all entries stream, else as many of a few as they do. */
static const Aff *group_size(const Order *o, const Aff *extent)
{
    enum { MOST = 16 };
    AffCtx *aff = o->program->aff;
    const Aff *limit = aff_const(aff, o->target->l2_bytes / 2);
    const Aff *size = aff_mul(aff, extent, aff_le(aff, aff_mul(aff, extent, o->bytes), limit));
    for (int64_t few = MOST; few > 1; few /= 2) size = aff_max(aff, size, if_fits(o, extent, few));
    return aff_max(aff, size, aff_const(aff, 1));
}

void order_places(TileProgram *program, TileKernel *kernel, const Target *target)
{
    AffCtx *aff = program->aff;
    Order o = {program, kernel, target, NULL, aff_const(aff, 0)};
    int at = 0;
    while (at < kernel->grid.len && !kernel->grid.data[at].reversed) at++;
    if (at + 1 >= kernel->grid.len || kernel->grid.data[at + 1].reversed || kernel->grid.data[at + 1].within) return;
    TileAxis heavy = kernel->grid.data[at], outer = kernel->grid.data[at + 1];
    o.axis = outer.sym;
    add_bytes(&o, kernel->body, NULL);
    int64_t entries;
    if (aff_is_const(outer.extent, &entries) && entries <= 1) return;
    const Aff *group = group_size(&o, outer.extent);
    TileAxis inner = {.extent = group, .note = "as many at once as leave in the L2 cache what they stream"};
    inner.sym = aff_sym_new(aff, arena_printf(program->arena, "%s_in", outer.sym->name), AFF_GRID, 0, outer.sym->hi);
    outer.sym = aff_sym_new(aff, arena_printf(program->arena, "%s_out", outer.sym->name), AFF_GRID, 0, outer.sym->hi);
    outer.extent = aff_div(aff, outer.extent, group);
    const Aff *whole = aff_add(aff, aff_mul(aff, aff_of(aff, outer.sym), group), aff_of(aff, inner.sym));
    rw_substitute(program, kernel->body, o.axis, whole);
    vec_push(program->arena, &kernel->grid, outer);
    for (int i = kernel->grid.len - 1; i > at + 2; i--) kernel->grid.data[i] = kernel->grid.data[i - 1];
    kernel->grid.data[at] = inner;
    kernel->grid.data[at + 1] = heavy;
    kernel->grid.data[at + 2] = outer;
}
