/* operand.c: what an operand of a Compute statement stands for.
 *
 * A name stands for a tile in registers, in shared memory, or both; its ending
 * (Q_shared) or a member (Q.shared) says which. Brackets select a stage of a
 * shared tile and a part of a tile: KV[i % 2, :, 0:256].
 */
#include "lower/state.h"

/* ---- names ------------------------------------------------------------------------------- */

static const struct {
    const char *ending;
    Space space;
} ENDINGS[] = {
    {"_shared", SPACE_SHARED},      {"_smem", SPACE_SHARED},  {"_register", SPACE_REGISTER},
    {"_registers", SPACE_REGISTER}, {"_reg", SPACE_REGISTER}, {"_global", SPACE_GLOBAL},
};

const char *lo_base_name(Lower *lo, const char *name, Space *space)
{
    size_t len = strlen(name);
    if (lo_local(lo, name) || tile_tensor(lo->program, name)) return name;
    for (size_t i = 0; i < TW_COUNT(ENDINGS); i++) {
        size_t n = strlen(ENDINGS[i].ending);
        if (len <= n || !text_equal_nocase(name + len - n, ENDINGS[i].ending)) continue;
        const char *base = symn(lo->syms, name, len - n);
        if (!lo_local(lo, base) && !tile_tensor(lo->program, base)) continue;
        if (*space == SPACE_NONE) *space = ENDINGS[i].space;
        return base;
    }
    return name;
}

bool lo_ref(Lower *lo, const Expr *e, Ref *ref)
{
    *ref = (Ref){0};
    for (; e; e = e->a) {
        if (e->kind == EXPR_TRANSPOSE) ref->transposed = !ref->transposed;
        else if (e->kind == EXPR_SPACE) ref->space = e->space;
        else if (e->kind == EXPR_INDEX && !ref->index) ref->index = e;
        else break;
    }
    if (!e || e->kind != EXPR_NAME) return false;
    ref->name = lo_base_name(lo, e->name, &ref->space);
    return lo_local(lo, ref->name) != NULL;
}

/* ---- parts ------------------------------------------------------------------------------- */

static bool constant(Lower *lo, const Expr *e, int otherwise, int *value)
{
    int64_t n = otherwise;
    const Aff *a = e ? eval_aff(&lo->env, e, lo->diags) : NULL;
    if (e && !a) {
        lo->failed = true;
        return false;
    }
    if (a && (!aff_is_const(a, &n) || n < 0 || n > 1 << 20)) {
        lo_fail(lo, TW0731, e->span, "the ends of a part must be numbers that are known when compiling");
        return false;
    }
    *value = (int)n;
    return true;
}

static bool part_range(Lower *lo, const Expr *e, int extent, int *first, int *count)
{
    int end;
    if (e->kind == EXPR_ELLIPSIS) {
        *first = 0;
        *count = extent;
        return true;
    }
    if (e->kind != EXPR_RANGE) {
        if (!constant(lo, e, 0, first)) return false;
        end = *first + 1;
    } else if (!constant(lo, e->a, 0, first) || !constant(lo, e->b, extent, &end)) {
        return false;
    }
    *count = end - *first;
    if (*count >= 1 && end <= extent) return true;
    lo_fail(lo, TW0731, e->span, "the part from %d to %d lies outside of 0:%d", *first, end, extent);
    return false;
}

bool lo_part(Lower *lo, const Local *local, const Expr *index, TileType whole, Part *part, const Aff **stage)
{
    int i = 0, n = index ? index->n_args : 0;
    *part = (Part){false, 0, 0, whole.rows, whole.cols};
    *stage = aff_const(lo->program->aff, 0);
    if (n > 0 && whole.space == SPACE_SHARED && local->stages > 0) {
        *stage = lo_stage(lo, local, index->args[i++]);
        if (!*stage) return false;
    }
    if (n - i > 2) {
        lo_fail(lo, TW0731, index->span, "%d indices of a tile of %d x %d", n, whole.rows, whole.cols);
        return false;
    }
    if (whole.rows == 1 && n - i == 1) { /* a row vector */
        if (!part_range(lo, index->args[i], whole.cols, &part->col0, &part->cols)) return false;
    } else {
        if (n > i && !part_range(lo, index->args[i], whole.rows, &part->row0, &part->rows)) return false;
        if (n > i + 1 && !part_range(lo, index->args[i + 1], whole.cols, &part->col0, &part->cols)) return false;
    }
    part->is_part = part->rows != whole.rows || part->cols != whole.cols;
    return true;
}

static Axis moved_axis(Lower *lo, Axis axis, int by)
{
    if (axis.start) axis.start = aff_offset(lo->program->aff, axis.start, by);
    return axis;
}

TileValue *lo_slice(Lower *lo, TileValue *v, const Part *part)
{
    if (!part->is_part) return v;
    TileType type = v->type;
    type.rows = part->rows;
    type.cols = part->cols;
    TileOp *op = rw_insert(&lo->rw, TILE_SLICE, 1, &v, 1, &type);
    TileValue *r = op->results[0];
    op->row0 = part->row0;
    op->col0 = part->col0;
    r->name = v->name;
    Lineage l = *lo_lineage(lo, v);
    l.axis[0] = moved_axis(lo, l.axis[0], part->row0);
    l.axis[1] = moved_axis(lo, l.axis[1], part->col0);
    *lo_lineage(lo, r) = l;
    return r;
}

/* ---- values -------------------------------------------------------------------------------- */

static TileValue *move_to_register(Lower *lo, const Local *local, TileValue *from)
{
    TileType type = from->type;
    if (local->in_register && local->reg_type.rows * local->reg_type.cols == type.rows * type.cols
        && local->reg_type.rows == type.rows) {
        type.rows = local->reg_type.rows;
        type.cols = local->reg_type.cols;
    }
    type.space = SPACE_REGISTER;
    TileValue *to = rw_insert(&lo->rw, TILE_MOVE, 1, &from, 1, &type)->results[0];
    to->name = local->name;
    *lo_lineage(lo, to) = *lo_lineage(lo, from);
    return to;
}

static TileValue *no_value(Lower *lo, Span span, const char *name)
{
    const Local *local = lo_local(lo, name);
    TileType type = local && local->in_register ? local->reg_type : local && local->in_shared ? local->shared_type
                                                : tile_type(DT_F32, 1, 1, SPACE_REGISTER);
    if (!local || !local->spoiled) lo_fail(lo, TW0440, span, "'%s' is used before it has a value", name);
    type.space = SPACE_REGISTER; /* of its size, or the next statement would be wrong as well */
    return rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type)->results[0];
}

TileValue *lo_index(Lower *lo, const Aff *e)
{
    TileType type = tile_type(DT_F32, 1, 1, SPACE_REGISTER);
    TileOp *op = rw_insert(&lo->rw, TILE_INDEX, 0, NULL, 1, &type);
    op->index = e;
    return op->results[0];
}

/* Tensor cores read shared memory as it is, but registers only in operand form. */
static bool is_better_in_shared(const Local *local)
{
    bool same = local->shared && local->reg && local->shared->version == local->version;
    return same && !(local->reg->def && local->reg->def->kind == TILE_RESHAPE);
}

/* In whichever space it is. Copies that differ need to be told apart. */
static TileValue *read_ref(Lower *lo, const Ref *ref, Span span, bool for_gemm)
{
    const Local local = *lo_local(lo, ref->name);
    Part part;
    const Aff *stage;
    TileType whole = local.reg ? local.reg->type : local.shared_type;
    bool shared_wanted = ref->space == SPACE_SHARED
                         || (ref->space == SPACE_NONE
                             && ((!local.reg && !local.scalar) || (for_gemm && is_better_in_shared(&local))));
    if (!shared_wanted) {
        if (!local.reg && local.scalar) return lo_index(lo, local.scalar);
        if (!local.reg) return no_value(lo, span, ref->name);
        bool differs = ref->space == SPACE_NONE && local.shared && local.shared->version != local.version
                       && local.in_shared && local.in_register && !ref->index;
        if (differs) lo_fail(lo, TW0409, span, "'%s' differs between shared memory and registers here: write %s.shared or "
                             "%s.register", ref->name, ref->name, ref->name);
        if (!lo_part(lo, &local, ref->index, whole, &part, &stage)) return local.reg;
        return lo_slice(lo, local.reg, &part);
    }
    whole = local.shared ? local.shared->value->type : local.shared_type;
    whole.space = SPACE_SHARED;
    if (!lo_part(lo, &local, ref->index, whole, &part, &stage)) return rw_fill(&lo->rw, 0);
    int errors = lo->diags->errors;
    const Staged *s = lo_shared(lo, ref->name, stage, span);
    lo_local_make(lo, ref->name)->spoiled |= lo->diags->errors > errors;
    if (s) return lo_slice(lo, s->value, &part);
    TileValue *none = no_value(lo, span, ref->name);
    bool whole_there = none->type.rows == whole.rows && none->type.cols == whole.cols;
    return whole_there ? lo_slice(lo, none, &part) : none;
}

bool lo_is_param(const Lower *lo, const char *name)
{
    return text_among(lo->program->params.data, lo->program->params.len, name);
}

TileValue *lo_param(Lower *lo, const char *name)
{
    TileType type = tile_type(DT_F32, 1, 1, SPACE_REGISTER);
    TileOp *op = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type);
    op->param = name;
    return op->results[0];
}

static bool is_tile(const Local *local)
{
    return local->reg || local->shared || local->scalar || local->in_register || local->in_shared;
}

TileValue *lo_operand(Lower *lo, const Expr *e)
{
    double number;
    Ref ref;
    if (lo_ref(lo, e, &ref) && is_tile(lo_local(lo, ref.name))) {
        if (ref.transposed) lo_fail(lo, TW0324, e->span, "only a GEMM takes a transposed operand");
        TileValue *v = read_ref(lo, &ref, e->span, false);
        const Local local = *lo_local(lo, ref.name);
        return v->type.space == SPACE_SHARED ? move_to_register(lo, &local, v) : v;
    }
    if (e->kind == EXPR_NAME && lo_is_param(lo, e->name)) return lo_param(lo, e->name);
    if (eval_float(&lo->env, e, &number)) return rw_fill(&lo->rw, number);
    return lo_number(lo, e);
}

/* The tensor cores take an operand from either space. */
TileValue *lo_gemm_operand(Lower *lo, const Expr *e, bool *transposed)
{
    Ref ref;
    if (!lo_ref(lo, e, &ref)) {
        lo_fail(lo, TW0235, e->span, "a GEMM operand must be a tile that was copied or computed");
        *transposed = false;
        return rw_fill(&lo->rw, 0);
    }
    *transposed = ref.transposed;
    return read_ref(lo, &ref, e->span, true);
}

/* ---- integers ------------------------------------------------------------------------------ */

/* Expressions name symbols, which differ wherever two are known. */
const char *lo_fresh_symbol(Lower *lo, const char *name)
{
    bool taken = false;
    for (int i = 0; i < aff_sym_count(lo->program->aff); i++)
        taken |= strcmp(aff_sym_at(lo->program->aff, i)->name, name) == 0;
    return taken ? arena_printf(lo->arena, "%s_%d", name, aff_sym_count(lo->program->aff)) : name;
}

static bool is_size_in(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        if (s->kind != STMT_INPUT && s->kind != STMT_OUTPUT) continue;
        for (int d = 0; d < s->n_shape; d++)
            if (expr_mentions(s->shape[d], name)) return true;
    }
    return false;
}

const char *lo_counter_symbol(Lower *lo, const char *name)
{
    bool size = false, place = strcmp(name, lo->program->row->name) == 0 || strcmp(name, lo->program->col->name) == 0;
    for (int i = 0; i < lo->code->units.len; i++) {
        const Unit *unit = lo->code->units.data[i];
        size |= unit->kind == UNIT_KERNEL && unit != lo->unit && is_size_in(unit, name);
    }
    return place || (size && !is_size_in(lo->unit, name)) ? arena_printf(lo->arena, "%s_%d", name, aff_sym_count(lo->program->aff)) : name;
}

const Aff *lo_local_integer(Lower *lo, const char *name)
{
    Space space = SPACE_NONE;
    Local *local = lo_local(lo, lo_base_name(lo, name, &space));
    if (!local) return NULL;
    if (local->scalar) return local->scalar;
    TileValue *v = local->reg;
    if (!v || v->type.rows != 1 || v->type.cols != 1) return NULL;
    TileOp *op = rw_insert(&lo->rw, TILE_SCALAR, 1, &v, 0, NULL);
    op->var = aff_sym_new(lo->program->aff, lo_fresh_symbol(lo, local->name), AFF_SCALAR, INT32_MIN, INT32_MAX);
    local->scalar = aff_of(lo->program->aff, op->var);
    return local->scalar;
}

/* Without reading anything from a tile that is not known to hold an integer. */
const Aff *lo_integer(Lower *lo, const Expr *e)
{
    Space space = SPACE_NONE;
    const Local *local = e->kind == EXPR_NAME ? lo_local(lo, lo_base_name(lo, e->name, &space)) : NULL;
    if (local && is_tile(local)) return local->scalar;
    return e->kind == EXPR_INT || e->kind == EXPR_NAME ? eval_aff(&lo->env, e, NULL) : NULL;
}
