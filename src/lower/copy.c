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
        if (tile_tensor(lo->program, s->name)) vec_push(lo->arena, &lo->views, s);
        else lo_fail(lo, TW0723, s->span, "'%s' in global memory: declare it as Input or Output", s->name);
        return;
    }
    if (!lo_shape(lo, s->shape, s->n_shape, extents)) return;
    int n = s->n_shape, stages = n == 3 ? extents[0] : 0;
    if (n > 3 || (n == 3 && s->space != SPACE_SHARED)) {
        lo_fail(lo, TW0723, s->span, "a tile has one or two dimensions, in shared memory also one of stages before them");
        return;
    }
    const TileTensor *tensor = tile_tensor(lo->program, s->name);
    const char *origin = tensor ? NULL : copied_as(&lo->unit->body, s->name);
    if (origin) tensor = tile_tensor(lo->program, origin);
    DType dtype = s->has_dtype ? s->dtype
                  : s->space == SPACE_REGISTER ? DT_F32
                  : tensor ? tensor->dtype : lo->settings->dtype;
    Local *local = lo_local_make(lo, s->name);
    TileType type = tile_of(dtype, n - (n == 3), extents + (n == 3), s->space);
    if (s->space == SPACE_SHARED) {
        local->in_shared = true;
        local->stages = stages;
        local->shared_type = type;
    } else {
        local->in_register = true;
        local->reg_type = type;
    }
}

/* ---- conditions -------------------------------------------------------------------- */

/* What a Copy keeps of its elements: `where` of the operation. False: diagnosed. */
static bool copied_where(Lower *lo, const Stmt *s, const Place *p, const Aff **where)
{
    Axis rows = lo_place_axis(p, p->row_dim), cols = lo_place_axis(p, p->col_dim);
    *where = NULL;
    if (!s->where) return true;
    *where = lo_condition(lo, s->where, rows, cols, p->rows, p->cols);
    return *where != NULL;
}

/* The number that takes the place of what is not copied. */
static bool other_value(Lower *lo, const Stmt *s, double *number)
{
    *number = 0;
    if (!s->otherwise || eval_float(&lo->env, s->otherwise, number)) return true;
    lo_fail(lo, TW0721, s->otherwise->span, "the other value of a Copy must be a number");
    return false;
}

static TileValue *masked(Lower *lo, TileValue *v, const Aff *cond, double number)
{
    TileValue *mask = rw_mask(&lo->rw, v, cond, NULL, number);
    *lo_lineage(lo, mask) = *lo_lineage(lo, v);
    return mask;
}

static TileValue *moved(Lower *lo, TileValue *v, Space space)
{
    TileType type = v->type;
    type.space = space;
    TileValue *to = rw_insert(&lo->rw, TILE_MOVE, 1, &v, 1, &type)->results[0];
    to->name = v->name;
    *lo_lineage(lo, to) = *lo_lineage(lo, v);
    return to;
}

/* ---- Copy ------------------------------------------------------------------------------ */

static TileValue *load(Lower *lo, const Stmt *s, const Place *p, const Aff *where, double otherwise)
{
    bool through_registers = where && otherwise != 0; /* a copy leaves out, but cannot fill in */
    TileType type = tile_type(p->view.tensor->dtype, p->rows, p->cols,
                              through_registers ? SPACE_REGISTER : s->to_space);
    TileOp *op = rw_insert(&lo->rw, TILE_LOAD, 0, NULL, 1, &type);
    TileValue *v = op->results[0];
    lo_place_set(lo, op, p, through_registers ? NULL : where);
    if (type.space == SPACE_REGISTER && tile_by_rows(op)) v = rw_gather_rows(&lo->rw, op);
    p->view.tensor->read = true;
    v->name = copy_dest(s);
    lo_lineage(lo, v)->axis[0] = lo_place_axis(p, p->row_dim);
    lo_lineage(lo, v)->axis[1] = lo_place_axis(p, p->col_dim);
    if (!through_registers) return v;
    v = masked(lo, v, where, otherwise);
    v->name = copy_dest(s);
    return s->to_space == SPACE_SHARED ? moved(lo, v, SPACE_SHARED) : v;
}

/* What was loaded, perhaps widened since; NULL: something else. */
static const TileOp *load_of(const TileValue *v)
{
    const TileOp *op = v ? v->def : NULL;
    if (op && op->kind == TILE_CAST && dtype_bytes(v->type.dtype) > dtype_bytes(op->args[0]->type.dtype)) op = op->args[0]->def;
    return op;
}

/* Whether both were loaded from one place of a tensor that the kernel only reads. */
static bool same_elements(const Lower *lo, const TileValue *a, const TileValue *b)
{
    const TileOp *x = load_of(a), *y = load_of(b);
    if (!x || !y || x->kind != TILE_LOAD || y->kind != TILE_LOAD || x->tensor != y->tensor || x->where != y->where ||
        x->row_dim != y->row_dim || x->col_dim != y->col_dim || tile_by_rows(x) || tile_by_rows(y) ||
        a->type.rows != b->type.rows || a->type.cols != b->type.cols)
        return false;
    for (int i = 0; i < x->tensor->rank; i++)
        if (x->coords[i] != y->coords[i]) return false;
    const Stmt *declared = unit_tensor(lo->unit, x->tensor->name);
    return declared && declared->kind == STMT_INPUT;
}

/* A tile that is copied to both memories is the same in either. */
static int version_of_load(Lower *lo, const Local *local, const TileValue *v)
{
    bool shared = v->type.space == SPACE_SHARED;
    const Staged *staged = local->stages > 0 ? NULL : local->shared;
    if (shared && same_elements(lo, local->reg, v)) return local->version;
    if (!shared && staged && same_elements(lo, staged->value, v)) return staged->version;
    return ++lo->versions;
}

static void copy_in(Lower *lo, const Stmt *s)
{
    const char *name = copy_dest(s);
    Local *local = lo_local_make(lo, name);
    bool shared = s->to_space == SPACE_SHARED;
    const TileType *allocated = shared ? (local->in_shared ? &local->shared_type : NULL)
                                       : (local->in_register ? &local->reg_type : NULL);
    Place p = {0};
    const Aff *where;
    double otherwise;
    if (!lo_place(lo, s, allocated, &p)) return;
    if (allocated && (allocated->rows != p.rows || allocated->cols != p.cols)) {
        lo_fail(lo, TW0719, s->span, "a tile of %d x %d is copied into an allocation of %d x %d", p.rows, p.cols,
                allocated->rows, allocated->cols);
        return;
    }
    if (!copied_where(lo, s, &p, &where) || !other_value(lo, s, &otherwise)) return;
    if (where && otherwise == 0) where = lo_place_drop_implied(lo, &p, where);
    TileValue *v = load(lo, s, &p, where, otherwise);
    local = lo_local_make(lo, name);
    int version = version_of_load(lo, local, v);
    if (shared) {
        const Aff *stage = lo_stage(lo, local, s->stage);
        if (stage) lo_set_shared(lo, name, stage, v, version);
        if (stage && local->stages > 0) lo_stage_copied(lo, name, s->span);
        return;
    }
    lo_set_register(lo, name, v);
    local = lo_local_make(lo, name);
    if (load_of(local->reg) == load_of(v)) local->version = version; /* not rounded */
    bool integer = !dtype_is_float(p.view.tensor->dtype);
    if (integer && v->type.rows == 1 && v->type.cols == 1) lo_local_integer(lo, name);
}

/* Its value, in registers. */
static TileValue *value_to_store(Lower *lo, const Stmt *s)
{
    Expr name = {.kind = EXPR_NAME, .name = s->name, .span = s->span};
    Expr *value = expr_space(lo->arena, &name, s->space);
    value->span = s->name_span;
    return lo_operand(lo, value);
}

static void copy_out(Lower *lo, const Stmt *s)
{
    const Local *local = lo_local(lo, s->name);
    const Aff *where;
    if (!local) {
        lo_fail(lo, TW0440, s->span, "'%s' is copied before it has a value", s->name);
        return;
    }
    TileValue *v = value_to_store(lo, s);
    Place p = {0};
    if (!lo_place(lo, s, &v->type, &p)) return;
    if (p.rows != v->type.rows || p.cols != v->type.cols) {
        lo_fail(lo, TW0719, s->span, "a tile of %d x %d is copied to a place of %d x %d", v->type.rows, v->type.cols,
                p.rows, p.cols);
        return;
    }
    TileTensor *tensor = p.view.tensor;
    bool onto = s->result == RESULT_ACCUMULATE;
    if (onto && tensor->dtype != DT_F32) {
        lo_fail(lo, TW0431, s->span, "'%s' is %s: blocks add in fp32", tensor->name, dtype_name(tensor->dtype));
        return;
    }
    if (!tensor->written) {
        lo_fail(lo, TW0236, s->span, "'%s' is an Input; only Outputs are written", tensor->name);
        return;
    }
    if (!copied_where(lo, s, &p, &where)) return;
    if (where) where = lo_place_drop_implied(lo, &p, where);
    if (v->type.dtype != tensor->dtype) { /* memory holds the tensor's dtype */
        TileType type = v->type;
        type.dtype = tensor->dtype;
        v = rw_insert(&lo->rw, TILE_CAST, 1, &v, 1, &type)->results[0];
    }
    TileOp *store = rw_insert(&lo->rw, TILE_STORE, 1, &v, 0, NULL);
    store->onto = onto;
    lo_place_set(lo, store, &p, where);
}

/* `where` of a copy between shared memory and registers: into registers alone. */
static TileValue *masked_copy(Lower *lo, const Stmt *s, TileValue *v)
{
    const Lineage *l = lo_lineage(lo, v);
    double otherwise;
    if (v->type.space != SPACE_REGISTER) {
        lo_fail(lo, TW0723, s->where->span, "a copy to shared memory has no condition; mask '%s' in registers", s->name);
        return NULL;
    }
    const Aff *cond = lo_condition(lo, s->where, l->axis[0], l->axis[1], v->type.rows, v->type.cols);
    return cond && other_value(lo, s, &otherwise) ? masked(lo, v, cond, otherwise) : NULL;
}

/* A vector is a column in registers and may be allocated as a row in shared memory. */
static void take_allocated_shape(TileType *type, const TileType *allocated)
{
    if (type->rows == allocated->rows || type->cols == allocated->cols) {
        type->rows = allocated->rows;
        type->cols = allocated->cols;
    }
}

static void copy_within(Lower *lo, const Stmt *s)
{
    const Local *dest = lo_local_make(lo, copy_dest(s)), *local = lo_local(lo, s->name);
    bool shared = s->to_space == SPACE_SHARED;
    const Aff *stage = lo_stage(lo, shared ? dest : local, s->stage);
    const Staged *staged = local && stage && !shared ? lo_shared(lo, s->name, stage, s->span) : NULL;
    local = lo_local(lo, s->name);
    TileValue *from = !local ? NULL : shared ? local->reg : staged ? staged->value : NULL;
    if (!from || !stage) {
        lo_fail(lo, TW0440, s->span, "'%s' has no value in %s", s->name, space_name(s->space));
        return;
    }
    dest = lo_local(lo, copy_dest(s));
    TileType type = from->type;
    if (shared && dest->in_shared) type.dtype = dest->shared_type.dtype;
    if (shared ? dest->in_shared : dest->in_register)
        take_allocated_shape(&type, shared ? &dest->shared_type : &dest->reg_type);
    if (shared && type.dtype != from->type.dtype) {
        TileType rounded = from->type;
        rounded.dtype = type.dtype;
        TileValue *cast = rw_insert(&lo->rw, TILE_CAST, 1, &from, 1, &rounded)->results[0];
        *lo_lineage(lo, cast) = *lo_lineage(lo, from);
        from = cast;
    }
    type.space = s->to_space;
    int version = shared ? local->version : staged->version;
    TileValue *to = rw_insert(&lo->rw, TILE_MOVE, 1, &from, 1, &type)->results[0];
    to->name = dest->name;
    *lo_lineage(lo, to) = *lo_lineage(lo, from);
    if (s->where) to = masked_copy(lo, s, to);
    if (!to) return;
    if (shared) {
        lo_set_shared(lo, dest->name, stage, to, version);
        if (dest->stages > 0) lo_stage_copied(lo, dest->name, s->span);
    } else {
        Local *place = lo_local(lo, dest->name);
        place->reg = to;
        place->scalar = NULL;
        place->version = s->where ? ++lo->versions : version;
    }
}

void lo_copy(Lower *lo, const Stmt *s)
{
    Stmt named = *s;
    Space space = SPACE_NONE;
    if (s->target && s->target->kind != EXPR_NAME) {
        lo_fail(lo, TW0723, s->target->span, "a Copy takes a whole tile; %s",
                s->space == SPACE_GLOBAL || s->to_space == SPACE_GLOBAL ? "a place in global memory is given by coordinates"
                                                                        : "which stage of it says [stage = ...] at the end");
        return;
    }
    named.name = lo_base_name(lo, s->name, &space);
    space = SPACE_NONE;
    named.as = s->as ? lo_base_name(lo, s->as, &space) : NULL;
    if (s->space == SPACE_GLOBAL && s->to_space != SPACE_GLOBAL) copy_in(lo, &named);
    else if (s->to_space == SPACE_GLOBAL && s->space != SPACE_GLOBAL) copy_out(lo, &named);
    else if (s->space != s->to_space) copy_within(lo, &named);
    else lo_fail(lo, TW0723, s->span, "a Copy goes from one memory space to another");
}
