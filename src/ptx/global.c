/* global.c: addresses in global memory, and what lies inside a tensor.
 *
 * The address of element (row, col) of a tile is
 *
 *   base + sum over dims (corner[d] * stride[d]) + row * stride[row_dim] + col * stride[col_dim]
 *
 * in 64 bits, strides in bytes. Terms are added in the outermost scope where
 * their corner is known.
 */
#include "ptx/global.h"

#include "ptx/integer.h"

static bool is_unit_stride(const TileTensor *t, int d)
{
    return d == t->rank - 1;
}

/* offset += coordinate * stride, as a new register in the coordinate's scope. */
static const char *add_term(Emitter *e, const TileTensor *t, int d, const Aff *coord, const char *sum, int *level)
{
    int64_t number;
    if (aff_is_const(coord, &number) && number == 0) return sum;
    int at = ix_level(e, coord);
    if (at < *level) at = *level;
    const char *wide = em_new(e, REG_RD), *result = em_new(e, REG_RD), *value = ix_value(e, coord);
    em_at(e, at, "cvt.s64.s32 %s, %s;", wide, value);
    if (is_unit_stride(t, d))
        em_at(e, at, "mad.lo.s64 %s, %s, %d, %s;", result, wide, dtype_bytes(t->dtype), sum);
    else
        em_at(e, at, "mad.lo.s64 %s, %s, %s, %s;", result, wide, kn_stride(e, t->index, d), sum);
    *level = at;
    return result;
}

static int by_level(Emitter *e, const TileOp *op, int *order)
{
    int n = op->tensor->rank;
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && ix_level(e, op->coords[order[k - 1]]) > ix_level(e, op->coords[i]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return n;
}

const char *gl_corner(Emitter *e, const TileOp *op, const char *start, int start_level, int without, int *level)
{
    int order[TENSOR_MAX_RANK] = {0};
    int n = by_level(e, op, order);
    const char *sum = start ? start : kn_base(e, op->tensor->index);
    *level = start_level;
    for (int i = 0; i < n; i++)
        if (order[i] != without) sum = add_term(e, op->tensor, order[i], op->coords[order[i]], sum, level);
    return sum;
}

const char *gl_step(Emitter *e, const TileTensor *t, int d)
{
    return d < 0 ? "0" : is_unit_stride(t, d) ? arena_printf(e->arena, "%d", dtype_bytes(t->dtype))
                                              : kn_stride(e, t->index, d);
}

bool gl_columns_contiguous(const TileOp *op)
{
    return op->col_dim == op->tensor->rank - 1;
}

/* Whether a coordinate is the block's own along an axis as long as the dim. */
static bool is_grid_coordinate_of(Emitter *e, const Aff *coord, const Aff *dim)
{
    if (coord->kind != AFF_SYM) return false;
    for (int i = 0; i < e->kernel->grid.len; i++)
        if (e->kernel->grid.data[i].sym == coord->sym) return e->kernel->grid.data[i].extent == dim;
    return false;
}

/* Whether it is the entry that consecutive ones of the block's axis share, h div (A div B),
 * of B: below B where B divides A, which the launch sees to. */
static bool is_shared_coordinate_of(Emitter *e, const Aff *coord, const Aff *dim)
{
    AffCtx *aff = e->program->aff;
    if (coord->kind != AFF_DIV || coord->b->kind != AFF_DIV || coord->b->b != dim) return false;
    if (!is_grid_coordinate_of(e, coord->a, coord->b->a)) return false;
    const Aff *divides = aff_eq(aff, aff_mod(aff, coord->b->a, dim), aff_const(aff, 0));
    for (int i = 0; i < e->program->requires.len; i++)
        if (e->program->requires.data[i].cond == divides) return true;
    return false;
}

const Aff *gl_inside(Emitter *e, const TileTensor *t, int d, const Aff *coord)
{
    AffCtx *aff = e->program->aff;
    if (is_grid_coordinate_of(e, coord, t->dims[d])) return aff_const(aff, 1);
    if (is_shared_coordinate_of(e, coord, t->dims[d])) return aff_const(aff, 1);
    return aff_and(aff, aff_le(aff, aff_const(aff, 0), coord), aff_lt(aff, coord, t->dims[d]));
}

const Aff *gl_corner_inside(Emitter *e, const TileOp *op)
{
    AffCtx *aff = e->program->aff;
    const Aff *inside = aff_const(aff, 1);
    for (int d = 0; d < op->tensor->rank; d++) {
        if (d == op->row_dim || d == op->col_dim) continue;
        inside = aff_and(aff, inside, gl_inside(e, op->tensor, d, op->coords[d]));
    }
    return inside;
}

static const Edge *edge_of(Emitter *e, const TileOp *op, int d, int extent)
{
    AffCtx *aff = e->program->aff;
    const Aff *corner = op->coords[d], *dim = op->tensor->dims[d];
    Edge *edge = &e->edges[d == op->col_dim];
    if (edge->corner == corner && edge->dim == dim && edge->extent == extent) return edge;
    *edge = (Edge){corner, dim, extent, .before = !aff_always(aff, aff_le(aff, aff_const(aff, 0), corner)),
                   .behind = !aff_always(aff, aff_le(aff, aff_offset(aff, corner, extent), dim))};
    return edge;
}

/* lower <= 0 and upper: for a lane's element at offset x (x >= 0) from the
 * corner, corner + x >= 0 and corner + x < dim. */
const Aff *gl_offset_inside(Emitter *e, const TileOp *op, int d, const Aff *x, int extent)
{
    AffCtx *aff = e->program->aff;
    if (d < 0) return aff_const(aff, 1);
    const Edge *edge = edge_of(e, op, d, extent);
    const Aff *inside = aff_const(aff, 1);
    if (!edge->before && !edge->behind) return inside;
    const Aff *at = aff_add(aff, edge->corner, x);
    if (edge->before) inside = aff_le(aff, aff_const(aff, 0), at);
    if (edge->behind) inside = aff_and(aff, inside, aff_lt(aff, at, edge->dim));
    return inside;
}

const Aff *gl_where(Emitter *e, const TileOp *op, const Aff *row, const Aff *col)
{
    AffCtx *aff = e->program->aff;
    if (!op->where) return aff_const(aff, 1);
    return aff_subst(aff, aff_subst(aff, op->where, e->program->row, row), e->program->col, col);
}

/* ---- elements ------------------------------------------------------------------- */

const char *gl_guard(Emitter *e, const Aff *cond)
{
    return aff_always(e->program->aff, cond) ? "" : arena_printf(e->arena, "@%s ", ix_condition(e, cond));
}

const char *gl_load_value(Emitter *e, DType t, const char *guard, const char *address, int reg)
{
    if (t == DT_F32) {
        em(e, "mov.f32 %%f%d, 0f00000000;", reg);
        em(e, "%sld.global.f32 %%f%d, %s;", guard, reg, address);
        return NULL;
    }
    if (in_is(t)) return in_load(e, t, guard, address, reg);
    if (f8_is(t)) {
        f8_load(e, t, guard, address, reg);
        return NULL;
    }
    const char *half = em_new(e, REG_H), *zero = em_new(e, REG_H);
    em(e, "mov.b16 %s, 0;", half);
    em(e, "%sld.global.b16 %s, %s;", guard, half, address);
    if (t == DT_F16) {
        em(e, "cvt.f32.f16 %%f%d, %s;", reg, half);
        return NULL;
    }
    em(e, "mov.b16 %s, 0;", zero);
    em(e, "mov.b32 %%f%d, {%s, %s};", reg, zero, half);
    return NULL;
}

void gl_element(Emitter *e, int level, const Aff *element, const char *d)
{
    AffCtx *aff = e->program->aff;
    const AffSym *table;
    const Aff *coords[AFF_MAX_COORDS], *inside = aff_const(aff, 1);
    int n = aff_coords(element, &table, coords), unused;
    TileOp at = {.tensor = tile_table_of(e->program, table), .coords = coords, .row_dim = -1, .col_dim = -1};
    if (!at.tensor) {
        em_fail(e, (Span){0, 0}, TW0802, "the elements of '%s' are not known here", table->name);
        return;
    }
    for (int k = 0; k < n; k++) inside = aff_and(aff, inside, gl_inside(e, at.tensor, k, coords[k]));
    int64_t near; /* elements that lie beside one another share an address */
    coords[n - 1] = aff_without_constant(aff, coords[n - 1], &near);
    const char *guard = gl_guard(e, inside), *address = gl_corner(e, &at, NULL, 0, -1, &unused);
    address = arena_printf(e->arena, "[%s+%lld]", address, (long long)near * dtype_bytes(at.tensor->dtype));
    in_load_integer(e, level, at.tensor->dtype, ix_is_wide(e, element), guard, address, d);
}

bool gl_known_type(Emitter *e, const TileOp *op, bool load)
{
    DType t = op->tensor->dtype;
    if (t == DT_F32 || dtype_is_narrow(t) || in_is(t)) return true;
    em_fail(e, op->loc, TW0803, "%s of %s is not supported by this target yet", load ? "a load" : "a store",
            dtype_name(t));
    return false;
}
