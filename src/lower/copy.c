/* copy.c: Allocate and Copy statements. */
#include "lower/state.h"

/* ---- Allocate ---------------------------------------------------------------------- */

/* Rank 1 is a column in registers (a value a row) and a row in shared memory. */
static TileType tile_of(DType dtype, int n, const int *extents, Space space)
{
    if (n == 2) return tile_type(dtype, extents[0], extents[1], space);
    return space == SPACE_REGISTER ? tile_type(dtype, extents[0], 1, space) : tile_type(dtype, 1, extents[0], space);
}

void lo_allocate(Lower *lo, const Stmt *s)
{
    int extents[TENSOR_MAX_RANK];
    if (s->space == SPACE_GLOBAL) {
        if (!lo_tensor(lo, s->name) || s->offset)
            lo_fail(lo, TW0723, s->span, "'%s' in global memory: declare it as Input or Output", s->name);
        return;
    }
    if (!lo_shape(lo, s->shape, s->n_shape, extents)) return;
    if (s->n_shape > 2) {
        lo_fail(lo, TW0723, s->span, "a tile has one or two dimensions; ring stages are the schedule's business");
        return;
    }
    const TileTensor *tensor = lo_tensor(lo, s->name);
    DType dtype = s->has_dtype ? s->dtype
                  : s->space == SPACE_REGISTER ? DT_F32
                  : tensor ? tensor->dtype : lo->settings->dtype;
    Local *local = lo_local_make(lo, s->name);
    TileType type = tile_of(dtype, s->n_shape, extents, s->space);
    if (s->space == SPACE_SHARED) {
        local->in_shared = true;
        local->shared_type = type;
    } else {
        local->in_register = true;
        local->reg_type = type;
    }
}

/* ---- places in tensors ---------------------------------------------------------------- */

typedef struct Place {
    TileTensor *tensor;
    int extents[TENSOR_MAX_RANK]; /* of the tile along each dimension of the tensor */
    const Aff *coords[TENSOR_MAX_RANK];
    int row_dim, col_dim, rows, cols;
} Place;

static int find_dim(const TileTensor *t, const char *name)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim_names[d] && strcmp(t->dim_names[d], name) == 0) return d;
    return -1;
}

/* The tile spans the tensor's last dimensions; the others one element each. */
static bool span_tile(Lower *lo, const Stmt *s, int n, const int *extents, Place *p)
{
    int rank = p->tensor->rank;
    if (n > rank) {
        lo_fail(lo, TW0724, s->span, "a tile of %d dimensions does not fit '%s', which has %d", n, p->tensor->name, rank);
        return false;
    }
    p->row_dim = p->col_dim = -1;
    for (int d = 0; d < rank; d++) p->extents[d] = d < rank - n ? 1 : extents[d - (rank - n)];
    for (int d = rank - n; d < rank; d++) {
        if (p->extents[d] == 1 && n > 2) continue;
        if (n == 1 || (d == rank - 1 && p->col_dim < 0)) p->col_dim = d;
        else if (p->row_dim < 0) p->row_dim = d;
        else if (p->col_dim < 0) p->col_dim = d;
        else {
            lo_fail(lo, TW0724, s->span, "at most two dimensions of a tile may be longer than 1");
            return false;
        }
    }
    p->rows = p->row_dim < 0 ? 1 : p->extents[p->row_dim];
    p->cols = p->col_dim < 0 ? 1 : p->extents[p->col_dim];
    return true;
}

/* A coordinate counts tiles along the dimensions that the tile spans. */
static bool set_coord(Lower *lo, const Coord *c, int d, Place *p)
{
    const Aff *e = eval_aff(&lo->env, c->value, lo->diags);
    if (!e) {
        lo->failed = true;
        return false;
    }
    p->coords[d] = aff_scale(lo->program->aff, e, p->extents[d]);
    return true;
}

static bool set_coords(Lower *lo, const Stmt *s, int n, Place *p)
{
    int rank = p->tensor->rank;
    for (int d = 0; d < rank; d++) p->coords[d] = aff_const(lo->program->aff, 0);
    for (int i = 0; i < s->n_coords; i++) {
        const Coord *c = &s->coords[i];
        int d = c->name ? find_dim(p->tensor, c->name) : s->n_coords == rank ? i : rank - n + i;
        if (d < 0 && s->n_coords == 1) d = rank - n; /* the paper's [L = i]: the tile's first dimension */
        if (d < 0 || d >= rank) {
            lo_fail(lo, TW0724, c->span, "'%s' is no dimension of '%s'", c->name ? c->name : "this", p->tensor->name);
            return false;
        }
        if (!set_coord(lo, c, d, p)) return false;
    }
    return true;
}

static bool place_of(Lower *lo, const Stmt *s, const TileType *allocated, Place *p)
{
    int extents[TENSOR_MAX_RANK], n = 0;
    p->tensor = lo_tensor(lo, s->name);
    if (!p->tensor) {
        lo_fail(lo, TW0723, s->span, "'%s' is no Input or Output", s->name);
        return false;
    }
    if (s->n_shape > 0) {
        if (!lo_shape(lo, s->shape, s->n_shape, extents)) return false;
        n = s->n_shape;
    } else if (allocated) {
        extents[0] = allocated->rows;
        extents[1] = allocated->cols;
        n = 2;
        if (p->tensor->rank == 1 || allocated->rows == 1) {
            extents[0] = allocated->rows == 1 ? allocated->cols : allocated->rows;
            n = 1;
        }
    }
    return span_tile(lo, s, n, extents, p) && set_coords(lo, s, n, p);
}

/* A vector lies as its register copy was allocated: down the rows or along them. */
static void orient(const TileType *allocated, Place *p)
{
    if (!allocated || p->row_dim >= 0 || allocated->cols != 1 || allocated->rows == 1) return;
    p->row_dim = p->col_dim;
    p->col_dim = -1;
    p->rows = p->cols;
    p->cols = 1;
}

static void set_place(Lower *lo, TileOp *op, const Place *p)
{
    op->tensor = p->tensor;
    op->row_dim = p->row_dim;
    op->col_dim = p->col_dim;
    op->coords = arena_array(lo->arena, const Aff *, p->tensor->rank);
    for (int d = 0; d < p->tensor->rank; d++) op->coords[d] = p->coords[d];
}

/* ---- Copy ------------------------------------------------------------------------------ */

static void copy_in(Lower *lo, const Stmt *s)
{
    Local *local = lo_local_make(lo, s->name);
    bool shared = s->to_space == SPACE_SHARED;
    const TileType *allocated = shared ? (local->in_shared ? &local->shared_type : NULL)
                                       : (local->in_register ? &local->reg_type : NULL);
    Place p = {0};
    if (!place_of(lo, s, allocated, &p)) return;
    if (!shared) orient(allocated, &p);
    if (allocated && (allocated->rows != p.rows || allocated->cols != p.cols)) {
        lo_fail(lo, TW0719, s->span, "a tile of %d x %d is copied into an allocation of %d x %d", p.rows, p.cols,
                allocated->rows, allocated->cols);
        return;
    }
    TileType type = tile_type(p.tensor->dtype, p.rows, p.cols, s->to_space);
    TileOp *op = rw_insert(&lo->rw, TILE_LOAD, 0, NULL, 1, &type);
    set_place(lo, op, &p);
    p.tensor->read = true;
    op->results[0]->name = s->name;
    local = lo_local_make(lo, s->name);
    if (shared) {
        local->shared = op->results[0];
        local->reg = NULL;
    } else {
        TileValue *v = op->results[0];
        lo_set_register(lo, s->name, v);
    }
}

/* Its value, in registers. */
static TileValue *value_to_store(Lower *lo, const Stmt *s)
{
    Expr name = {.kind = EXPR_NAME, .name = s->name, .span = s->span};
    return lo_operand(lo, &name);
}

static void copy_out(Lower *lo, const Stmt *s)
{
    const Local *local = lo_local(lo, s->name);
    if (!local || (!local->reg && !local->shared)) {
        lo_fail(lo, TW0716, s->span, "'%s' is copied before it has a value", s->name);
        return;
    }
    TileValue *v = value_to_store(lo, s);
    Place p = {0};
    if (!place_of(lo, s, &v->type, &p)) return;
    orient(&v->type, &p);
    if (p.rows != v->type.rows || p.cols != v->type.cols) {
        lo_fail(lo, TW0719, s->span, "a tile of %d x %d is copied to a place of %d x %d", v->type.rows, v->type.cols,
                p.rows, p.cols);
        return;
    }
    if (!p.tensor->written) {
        lo_fail(lo, TW0725, s->span, "'%s' is an Input; only Outputs are written", s->name);
        return;
    }
    if (v->type.dtype != p.tensor->dtype) { /* memory holds the tensor's dtype */
        TileType type = v->type;
        type.dtype = p.tensor->dtype;
        v = rw_insert(&lo->rw, TILE_CAST, 1, &v, 1, &type)->results[0];
    }
    set_place(lo, rw_insert(&lo->rw, TILE_STORE, 1, &v, 0, NULL), &p);
}

static void copy_within(Lower *lo, const Stmt *s)
{
    Local *local = lo_local(lo, s->name);
    TileValue *from = local ? (s->space == SPACE_SHARED ? local->shared : local->reg) : NULL;
    if (!from) {
        lo_fail(lo, TW0716, s->span, "'%s' has no value in %s", s->name, space_name(s->space));
        return;
    }
    bool shared = s->to_space == SPACE_SHARED;
    bool allocated = shared ? local->in_shared : local->in_register;
    TileType type = from->type;
    if (allocated) {
        const TileType *t = shared ? &local->shared_type : &local->reg_type;
        type.rows = t->rows;
        type.cols = t->cols;
        if (shared) type.dtype = t->dtype;
    }
    type.space = s->to_space;
    TileValue *to = rw_insert(&lo->rw, TILE_MOVE, 1, &from, 1, &type)->results[0];
    to->name = local->name;
    *lo_lineage(lo, to) = *lo_lineage(lo, from);
    local = lo_local(lo, s->name);
    if (shared) local->shared = to;
    else local->reg = to;
}

void lo_copy(Lower *lo, const Stmt *s)
{
    if (s->target || s->stage || s->where) {
        lo_fail(lo, TW0723, s->span, "slices, stages and conditions of a Copy are not lowered yet");
        return;
    }
    if (s->space == SPACE_GLOBAL && s->to_space != SPACE_GLOBAL) copy_in(lo, s);
    else if (s->to_space == SPACE_GLOBAL && s->space != SPACE_GLOBAL) copy_out(lo, s);
    else if (s->space != s->to_space) copy_within(lo, s);
    else lo_fail(lo, TW0723, s->span, "a Copy goes from one memory space to another");
}
