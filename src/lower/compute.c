/* compute.c: Compute and Reshape statements. */
#include "lower/state.h"

static int extent(const TileValue *v, int axis)
{
    return axis == 0 ? v->type.rows : v->type.cols;
}

/* An axis of the result is that of an operand as long. */
static void inherit_axes(Lower *lo, const TileValue *to, const TileValue *from)
{
    for (int k = 0; k < 2; k++) {
        Axis axis = lo_lineage(lo, from)->axis[k];
        if (axis.start && extent(from, k) == extent(to, k)) lo_lineage(lo, to)->axis[k] = axis;
    }
}

static void inherit(Lower *lo, const TileValue *to, int n, TileValue *const *from)
{
    for (int i = 0; i < n; i++) {
        Lineage l = *lo_lineage(lo, from[i]);
        if (l.alpha) lo_lineage(lo, to)->alpha = l.alpha;
        lo_lineage(lo, to)->lost |= l.lost;
        inherit_axes(lo, to, from[i]);
    }
}

static bool dest_of(Lower *lo, const Stmt *s, Ref *ref)
{
    const Expr *dest = compute_result(s); /* in place */
    while (dest && (dest->kind == EXPR_SPACE || dest->kind == EXPR_INDEX)) {
        if (dest->kind == EXPR_INDEX) ref->index = dest;
        dest = dest->a;
    }
    if (dest && dest->kind == EXPR_NAME) {
        ref->name = lo_base_name(lo, dest->name, &ref->space);
        return true;
    }
    lo_fail(lo, TW0718, s->span, "the result of this statement needs a name");
    return false;
}

static const char *dest_name(Lower *lo, const Stmt *s)
{
    Ref ref = {0};
    if (!dest_of(lo, s, &ref)) return NULL;
    if (!ref.index) return ref.name;
    lo_fail(lo, TW0718, s->span, "the result of this statement needs a plain name");
    return NULL;
}

/* What an allocated name starts from when something is added to it. */
static TileValue *zero(Lower *lo, TileType type)
{
    type.dtype = DT_F32;
    return rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type)->results[0];
}

/* The value that the name has; where it has none, zeros as it was allocated. */
static TileValue *whole_or_zero(Lower *lo, const char *name, TileType type)
{
    const Local *local = lo_local(lo, name);
    if (local && local->reg) return local->reg;
    return zero(lo, local && local->in_register ? local->reg_type : type);
}

/* v becomes the destination, or a part of it. */
static void set_result(Lower *lo, const Ref *dest, TileValue *v)
{
    Part part;
    const Aff *stage;
    const Local *known = lo_local(lo, dest->name);
    if (!dest->index) {
        lo_set_register(lo, dest->name, v);
        return;
    }
    if (!known || (!known->reg && !known->in_register)) {
        lo_fail(lo, TW0402, dest->index->span, "a part of '%s', which has no shape: allocate it in register", dest->name);
        return;
    }
    TileValue *whole = whole_or_zero(lo, dest->name, known->reg_type);
    const Local local = *lo_local(lo, dest->name);
    if (!lo_part(lo, &local, dest->index, whole->type, &part, &stage)) return;
    if (v->type.rows != part.rows || v->type.cols != part.cols) {
        lo_fail(lo, TW0719, dest->index->span, "a tile of %d x %d becomes a part of %d x %d", v->type.rows, v->type.cols,
                part.rows, part.cols);
        return;
    }
    if (v->type.dtype != whole->type.dtype) {
        TileType cast = v->type;
        cast.dtype = whole->type.dtype;
        v = rw_insert(&lo->rw, TILE_CAST, 1, &v, 1, &cast)->results[0];
    }
    TileValue *args[] = {whole, v};
    TileOp *op = rw_insert(&lo->rw, TILE_PATCH, 2, args, 1, &whole->type);
    op->row0 = part.row0;
    op->col0 = part.col0;
    *lo_lineage(lo, op->results[0]) = *lo_lineage(lo, whole);
    lo_set_register(lo, dest->name, op->results[0]);
}

/* What the statement accumulates `a` onto. Of a part, the whole follows the maximum. */
static TileValue *accumulator(Lower *lo, const Ref *dest, TileType type, const TileValue *a)
{
    Part part;
    const Aff *stage;
    TileValue *whole = lo_unit_accumulator(lo, whole_or_zero(lo, dest->name, type), a);
    if (!dest->index) return whole;
    if (lo_lineage(lo, a)->alpha) lo_set_register(lo, dest->name, whole);
    const Local local = *lo_local_make(lo, dest->name);
    return lo_part(lo, &local, dest->index, whole->type, &part, &stage) ? lo_slice(lo, whole, &part) : whole;
}

static void give(Lower *lo, const Stmt *s, TileValue *v)
{
    Ref dest = {0};
    if (!dest_of(lo, s, &dest)) return;
    const Local *local = lo_local(lo, dest.name);
    if (s->result == RESULT_ACCUMULATE && local && (local->reg || dest.index)) {
        TileValue *a = v, *acc = accumulator(lo, &dest, v->type, a);
        v = rw_binary(&lo->rw, OP_ADD, acc, a);
        lo_unit_accumulated(lo, v, acc, a);
    }
    set_result(lo, &dest, v);
}

/* ---- elementwise ------------------------------------------------------------------- */

static bool broadcasts(const TileType *a, const TileType *b)
{
    return (a->rows == b->rows || a->rows == 1 || b->rows == 1) && (a->cols == b->cols || a->cols == 1 || b->cols == 1);
}

static bool check_broadcast(Lower *lo, const Stmt *s, TileValue *const *args, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            if (broadcasts(&args[i]->type, &args[k]->type)) continue;
            lo_fail(lo, TW0719, s->span, "operands of %d x %d and %d x %d do not broadcast", args[k]->type.rows,
                    args[k]->type.cols, args[i]->type.rows, args[i]->type.cols);
            return false;
        }
    return true;
}

/* Of integers alone: an expression, worth nothing but its name. */
static bool lower_integers(Lower *lo, const Stmt *s)
{
    AffCtx *aff = lo->program->aff;
    Ref dest = {0};
    const Aff *a = s->n_args == 2 ? lo_integer(lo, s->args[0]) : NULL, *b = a ? lo_integer(lo, s->args[1]) : NULL;
    if (!a || !b || (!aff_uses_kind(a, AFF_SCALAR) && !aff_uses_kind(b, AFF_SCALAR))) return false;
    const Aff *r = s->op == OP_ADD        ? aff_add(aff, a, b)
                   : s->op == OP_SUBTRACT ? aff_sub(aff, a, b)
                   : s->op == OP_MULTIPLY ? aff_mul(aff, a, b)
                   : s->op == OP_MAX      ? aff_max(aff, a, b)
                   : s->op == OP_MIN      ? aff_min(aff, a, b)
                   : s->op == OP_CEIL_DIVIDE ? aff_ceildiv(aff, a, b) : NULL;
    if (!r || aff_is_poison(r) || s->result == RESULT_ACCUMULATE || !dest_of(lo, s, &dest) || dest.index) return false;
    Local *local = lo_local_make(lo, dest.name);
    local->reg = NULL;
    local->scalar = r;
    return true;
}

/* Of `Where (condition), A, B`: 1 where it holds for an element of the result, else 0. */
static TileValue *truth_tile(Lower *lo, const Expr *condition, TileValue *const *of)
{
    int rows = extent(of[0], 0) > extent(of[1], 0) ? extent(of[0], 0) : extent(of[1], 0);
    int cols = extent(of[0], 1) > extent(of[1], 1) ? extent(of[0], 1) : extent(of[1], 1);
    TileType type = tile_type(DT_F32, rows, cols, SPACE_REGISTER);
    TileOp *ones = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type);
    ones->number = 1;
    for (int i = 0; i < 2; i++) inherit_axes(lo, ones->results[0], of[i]);
    return lo_mask(lo, condition, ones->results[0], 0);
}

static void lower_element(Lower *lo, const Stmt *s)
{
    TileValue *args[3] = {0};
    if (lower_integers(lo, s)) return;
    if (s->n_args != op_info(s->op)->arity || s->n_args > 3) {
        lo_fail(lo, TW0234, s->span, "%s takes %d operands", op_info(s->op)->name, op_info(s->op)->arity);
        return;
    }
    bool chosen = s->op == OP_WHERE && expr_is_condition(s->args[0]);
    for (int i = chosen; i < s->n_args; i++) args[i] = lo_operand(lo, s->args[i]);
    if (chosen && !check_broadcast(lo, s, args + 1, 2)) return;
    if (chosen) args[0] = truth_tile(lo, s->args[0], args + 1);
    if (!check_broadcast(lo, s, args, s->n_args)) return;
    TileValue *v = rw_element(&lo->rw, s->op, s->n_args, args);
    double otherwise;
    if (s->otherwise) {
        v->def->has_else = eval_float(&lo->env, s->otherwise, &otherwise);
        v->def->number = v->def->has_else ? otherwise : 0;
    }
    inherit(lo, v, s->n_args, args);
    lo_unit_element(lo, v->def);
    lo_unit_rescale(lo, v->def);
    give(lo, s, v);
}

static void lower_reduce(Lower *lo, const Stmt *s, int axis)
{
    if (s->n_args != 1) {
        lo_fail(lo, TW0234, s->span, "%s takes one operand", op_info(s->op)->name);
        return;
    }
    TileValue *a = lo_operand(lo, s->args[0]);
    TileType type = tile_type(DT_F32, axis ? a->type.rows : 1, axis ? 1 : a->type.cols, SPACE_REGISTER);
    TileOp *op = rw_insert(&lo->rw, TILE_REDUCE, 1, &a, 1, &type);
    op->op = s->op;
    op->axis = axis;
    inherit(lo, op->results[0], 1, &a);
    lo_lineage(lo, op->results[0])->unit = lo_lineage(lo, a)->unit;
    lo_lineage(lo, op->results[0])->param = lo_lineage(lo, a)->param;
    give(lo, s, op->results[0]);
}

/* ---- GEMM ----------------------------------------------------------------------------- */

static void lower_gemm(Lower *lo, const Stmt *s)
{
    if (s->n_args != 2) {
        lo_fail(lo, TW0234, s->span, "GEMM takes two operands");
        return;
    }
    bool ta, tb;
    Ref dest = {0};
    if (!dest_of(lo, s, &dest)) return;
    int errors = lo->diags->errors;
    TileValue *a = lo_gemm_operand(lo, s->args[0], &ta), *b = lo_gemm_operand(lo, s->args[1], &tb);
    int m = ta ? a->type.cols : a->type.rows, k = ta ? a->type.rows : a->type.cols;
    int kb = tb ? b->type.cols : b->type.rows, n = tb ? b->type.rows : b->type.cols;
    if (k != kb && lo->diags->errors > errors) return; /* an operand is not what was meant */
    if (k != kb) {
        lo_fail(lo, TW0719, s->span, "GEMM of %d x %d and %d x %d: the contracted dimensions %d and %d differ",
                m, k, kb, n, k, kb);
        return;
    }
    if (a->type.space == SPACE_REGISTER && !dtype_is_narrow(a->type.dtype) && dtype_is_narrow(b->type.dtype)) {
        TileType narrow = a->type; /* changed since its Reshape: it is rounded here instead */
        narrow.dtype = b->type.dtype;
        TileValue *cast = rw_insert(&lo->rw, TILE_CAST, 1, &a, 1, &narrow)->results[0];
        *lo_lineage(lo, cast) = *lo_lineage(lo, a);
        a = cast;
    }
    TileType type = tile_type(DT_F32, m, n, SPACE_REGISTER);
    TileValue *args[3] = {a, b, NULL};
    int n_args = 2;
    if (s->result == RESULT_ACCUMULATE) {
        args[n_args++] = accumulator(lo, &dest, type, a);
        if (args[2]->type.rows != m || args[2]->type.cols != n) {
            lo_fail(lo, TW0719, s->span, "a product of %d x %d is accumulated into a tile of %d x %d", m, n,
                    args[2]->type.rows, args[2]->type.cols);
            return;
        }
    }
    TileOp *op = rw_insert(&lo->rw, TILE_GEMM, n_args, args, 1, &type);
    op->trans_a = ta;
    op->trans_b = tb;
    lo_lineage(lo, op->results[0])->axis[0] = lo_lineage(lo, a)->axis[ta];
    lo_lineage(lo, op->results[0])->axis[1] = lo_lineage(lo, b)->axis[!tb];
    if (n_args == 3) {
        lo_unit_accumulated(lo, op->results[0], args[2], a);
    } else {
        lo_lineage(lo, op->results[0])->alpha = lo_lineage(lo, a)->alpha;
        lo_lineage(lo, op->results[0])->unit = lo_lineage(lo, a)->unit;
        lo_lineage(lo, op->results[0])->lost = lo_lineage(lo, a)->lost;
        lo_lineage(lo, op->results[0])->param = lo_lineage(lo, a)->param;
    }
    set_result(lo, &dest, op->results[0]);
}

/* ---- softmax ------------------------------------------------------------------------------ */

/* M starts at -inf and L at 0, also where no loop is round them. */
static void start_state(Lower *lo, const Expr *e, double value)
{
    Ref ref;
    Local *local = lo_ref(lo, e, &ref) ? lo_local(lo, ref.name) : NULL;
    if (!local || local->reg || !local->in_register || ref.index) return;
    TileOp *fill = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &local->reg_type);
    fill->number = value;
    lo_set_register(lo, ref.name, fill->results[0]);
}

/* With state: one step of the online form. */
static void lower_online_softmax(Lower *lo, const Stmt *s)
{
    TileValue *state[2];
    for (int i = 0; i < 2; i++) {
        start_state(lo, s->with[i], i == 0 ? -1.0 / 0.0 : 0);
        state[i] = lo_operand(lo, s->with[i]);
        if (s->with[i]->kind != EXPR_NAME && s->with[i]->kind != EXPR_SPACE) {
            lo_fail(lo, TW0718, s->with[i]->span, "the state of a softmax is a plain name");
            return;
        }
    }
    TileValue *x = lo_operand(lo, s->args[0]);
    TileType column = tile_type(DT_F32, x->type.rows, 1, SPACE_REGISTER);
    TileType types[] = {x->type, column, column, column};
    types[0].dtype = DT_F32;
    TileValue *args[] = {x, state[0], state[1]};
    for (int i = 1; i < 3; i++)
        if (args[i]->type.rows != x->type.rows || args[i]->type.cols != 1) {
            lo_fail(lo, TW0719, s->with[i - 1]->span, "the state of this softmax is %d x 1, not %d x %d", x->type.rows,
                    args[i]->type.rows, args[i]->type.cols);
            return;
        }
    TileOp *op = rw_insert(&lo->rw, TILE_SOFTMAX, 3, args, 4, types);
    op->results[3]->name = "alpha";
    for (int i = 0; i < 4; i++) inherit_axes(lo, op->results[i], x);
    lo_unit_step(lo, op);
    for (int i = 0; i < 2; i++) {
        Space space = SPACE_NONE;
        const Expr *name = s->with[i]->kind == EXPR_SPACE ? s->with[i]->a : s->with[i];
        lo_set_register(lo, lo_base_name(lo, name->name, &space), op->results[1 + i]);
    }
    give(lo, s, op->results[0]);
}

/* Without: of whole rows. A row of nothing but -inf gives zeros. */
static void lower_row_softmax(Lower *lo, const Stmt *s)
{
    Rewriter *rw = &lo->rw;
    TileValue *x = lo_operand(lo, s->args[0]);
    TileValue *lowest = rw_fill(rw, -8.5e37);
    TileValue *m = rw_binary(rw, OP_MAX, rw_reduce_rows(rw, OP_ROW_MAX, x), lowest);
    TileValue *p = rw_unary(rw, OP_EXP, rw_binary(rw, OP_SUBTRACT, x, m));
    TileValue *q = rw_binary(rw, OP_DIVIDE, p, rw_reduce_rows(rw, OP_ROW_SUM, p));
    q->def->has_else = true;
    inherit_axes(lo, q, x);
    give(lo, s, q);
}

static void lower_softmax(Lower *lo, const Stmt *s)
{
    if (s->n_args != 1 || (s->n_with != 0 && s->n_with != 2)) {
        lo_fail(lo, TW0234, s->span, "write 'Compute Softmax S' or 'Compute Softmax S with Smax and Ssum'");
        return;
    }
    if (s->n_with == 2) lower_online_softmax(lo, s);
    else lower_row_softmax(lo, s);
}

/* ---- masks, fills, casts, definitions ---------------------------------------------------------- */

static void lower_mask(Lower *lo, const Stmt *s)
{
    double otherwise = -1.0 / 0.0;
    if (s->n_args != 1 || !s->where) {
        lo_fail(lo, TW0234, s->span, "write 'Compute Mask S where condition [else number]'");
        return;
    }
    if (s->otherwise && !eval_float(&lo->env, s->otherwise, &otherwise)) {
        lo_fail(lo, TW0721, s->otherwise->span, "the other value of a mask must be a number");
        return;
    }
    give(lo, s, lo_mask(lo, s->where, lo_operand(lo, s->args[0]), otherwise));
}

/* Where (integer condition), X, number is a mask. */
static bool lower_where_as_mask(Lower *lo, const Stmt *s)
{
    double otherwise;
    if (s->op != OP_WHERE || s->n_args != 3) return false;
    if (s->args[0]->kind != EXPR_BINARY && s->args[0]->kind != EXPR_UNARY) return false;
    if (!eval_float(&lo->env, s->args[2], &otherwise)) return false;
    give(lo, s, lo_mask(lo, s->args[0], lo_operand(lo, s->args[1]), otherwise));
    return true;
}

/* The shape that a name was allocated with. */
static bool allocated(Lower *lo, const Stmt *s, TileType *type)
{
    const char *name = dest_name(lo, s);
    const Local *local = name ? lo_local(lo, name) : NULL;
    if (local && local->in_register) {
        *type = local->reg_type;
        return true;
    }
    if (name) lo_fail(lo, TW0402, s->span, "'%s' has no shape: allocate it in register first", name);
    return false;
}

static void lower_fill(Lower *lo, const Stmt *s)
{
    TileType type;
    double number;
    if (s->n_args != 2) {
        lo_fail(lo, TW0234, s->span, "write 'Compute Fill X, number and get new X'");
        return;
    }
    if (!allocated(lo, s, &type)) return;
    type.dtype = DT_F32;
    TileOp *op = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type);
    TileValue *v = op->results[0];
    if (eval_float(&lo->env, s->args[1], &number)) op->number = number;
    else v = rw_binary(&lo->rw, OP_ADD, v, lo_operand(lo, s->args[1]));
    give(lo, s, v);
}

static void lower_cast(Lower *lo, const Stmt *s)
{
    if (s->n_args < 1 || !s->has_dtype) {
        lo_fail(lo, TW0234, s->span, "write 'Compute Cast X, dtype and get Y'");
        return;
    }
    TileValue *x = lo_operand(lo, s->args[0]);
    TileType type = x->type;
    type.dtype = s->dtype;
    TileOp *op = rw_insert(&lo->rw, TILE_CAST, 1, &x, 1, &type);
    inherit(lo, op->results[0], 1, &x);
    if (s->result == RESULT_ACCUMULATE) {
        give(lo, s, op->results[0]);
        return;
    }
    const char *name = dest_name(lo, s);
    if (!name) return;
    Local *local = lo_local(lo, name);
    if (local && local->in_register) local->reg_type.dtype = s->dtype; /* `get new X` changes what X is */
    lo_set_register(lo, name, op->results[0]);
}

static void lower_define(Lower *lo, const Stmt *s)
{
    int extents[TENSOR_MAX_RANK] = {0};
    if (s->n_args < 1 || s->args[0]->kind != EXPR_NAME || !s->value || s->n_shape != 2
        || !lo_shape(lo, s->shape, s->n_shape, extents)) {
        lo_fail(lo, TW0234, s->span, "write 'Compute Define X (rows, cols) as expression of row(X) and col(X)'");
        return;
    }
    TileValue *v = lo_defined(lo, s->value, extents[0], extents[1]);
    if (v) lo_set_register(lo, s->args[0]->name, v);
}

/* What a branch alone gave the tile is part of the sum. */
static void take_held(Lower *lo, const Stmt *s)
{
    Ref dest;
    Local *local = s->result == RESULT_ACCUMULATE && lo_ref(lo, s->dest, &dest) ? lo_local(lo, dest.name) : NULL;
    if (local && !local->reg && !local->scalar) local->reg = lo_held_start(lo, local->name);
}

void lo_compute(Lower *lo, const Stmt *s)
{
    const Stmt *own = lo_find_define(lo, s->op_name);
    take_held(lo, s);
    if (own) { /* one's own hides the table's */
        lo_inline(lo, own, s);
        return;
    }
    if (!s->op_known) {
        lo_fail(lo, TW0233, s->op_span, "there is no operation '%s'", s->op_name);
        return;
    }
    switch (op_info(s->op)->class) {
    case OPC_ELEMENT:
        if (!lower_where_as_mask(lo, s)) lower_element(lo, s);
        break;
    case OPC_ROW_REDUCE: lower_reduce(lo, s, 1); break;
    case OPC_COL_REDUCE: lower_reduce(lo, s, 0); break;
    case OPC_GEMM:    lower_gemm(lo, s); break;
    case OPC_SOFTMAX: lower_softmax(lo, s); break;
    case OPC_MASK:    lower_mask(lo, s); break;
    case OPC_FILL:    lower_fill(lo, s); break;
    case OPC_CAST:    lower_cast(lo, s); break;
    case OPC_DEFINE:  lower_define(lo, s); break;
    case OPC_GROUP_REDUCE: case OPC_REARRANGE: case OPC_SELECT:
        lo_fail(lo, TW0245, s->op_span, "%s works on whole tensors, not on tiles", s->op_name);
        break;
    }
}

/* ---- Reshape ------------------------------------------------------------------------------ */

/* The dtype that the GEMM after the Reshape multiplies with, which may stand in a loop. */
static bool find_operand_dtype(Lower *lo, const Block *block, int at, const char *name, DType *dtype)
{
    for (int i = at; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool uses = s->kind == STMT_COMPUTE && s->op_known && s->op == OP_GEMM && s->n_args == 2
                    && expr_is_name(s->args[0], name);
        if (find_operand_dtype(lo, &s->body, 0, name, dtype) || find_operand_dtype(lo, &s->orelse, 0, name, dtype))
            return true;
        if (!uses) continue;
        Ref b;
        const Local *local = lo_ref(lo, s->args[1], &b) ? lo_local(lo, b.name) : NULL;
        if (!local || (!local->shared && !local->in_shared)) continue;
        *dtype = local->shared ? local->shared->value->type.dtype : local->shared_type.dtype;
        return true;
    }
    return false;
}

void lo_reshape(Lower *lo, const Block *block, int at)
{
    const Stmt *s = block->data[at];
    Local *local = lo_local(lo, s->name);
    if (!local || !local->reg) {
        lo_fail(lo, TW0440, s->span, "'%s' is reshaped before it has a value", s->name);
        return;
    }
    TileValue *x = local->reg;
    TileType type = x->type;
    if (!dtype_is_narrow(type.dtype) && !find_operand_dtype(lo, block, at + 1, s->name, &type.dtype))
        type.dtype = lo->settings->dtype;
    TileOp *op = rw_insert(&lo->rw, TILE_RESHAPE, 1, &x, 1, &type);
    op->results[0]->name = local->name;
    *lo_lineage(lo, op->results[0]) = *lo_lineage(lo, x);
    lo_local(lo, s->name)->reg = op->results[0]; /* operand form: not the allocated dtype */
}
