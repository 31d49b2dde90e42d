/* element.c: elements of tensors in expressions, `Seg[b, i]`.
 *
 *   for j = 0:ceil(len / BN)
 *     Compute Mask S where j * BN + col(S) < Len[b] and Seg[b, m * BM + row(S)] == Seg[b, j * BN + col(S)]
 *
 * Vocabulary
 *   uniform  the same for all elements of the tile, `Len[b]`: read once, above
 *            the loops that its coordinates do not follow; from there on an
 *            integer that bounds, coordinates and conditions are made of, so
 *            that what it leaves out is not even computed; as a coordinate of a
 *            tile that is copied from memory it stays the element that it is, which
 *            whoever copies, ahead or in a role of its own, reads where it copies
 *   varying  different from element to element: gathered into a tile, a column
 *            or a row where it depends on one side alone, and compared there
 *   exact    taken apart by `div` and `%`, as words are that hold several numbers, or compared:
 *            what is made of integers alone is one expression then, elements included, and becomes
 *            a number where it meets numbers
 *
 * A condition is taken apart at its `and`s: what does not vary and has no fraction stays one
 * condition over row and col, each other part selects on its own.
 */
#include "lower/state.h"

/* ---- coordinates ------------------------------------------------------------------------ */

static const TileTensor *tensor_of(Lower *lo, const Expr *index)
{
    return index->kind == EXPR_INDEX && index->a->kind == EXPR_NAME ? tile_tensor(lo->program, index->a->name) : NULL;
}

static bool is_dim_name(const TileTensor *t, int d, const Expr *e)
{
    return e->kind == EXPR_ELLIPSIS || (e->kind == EXPR_NAME && t->dim_names[d] && strcmp(t->dim_names[d], e->name) == 0);
}

/* The element's, or the block's, own coordinate along a dimension of a tensor. */
static const Aff *own_coordinate(Lower *lo, const TileTensor *t, int d)
{
    const Aff *place = lo_place_along(lo, t->dim_names[d], INDEX_UNSAID);
    int64_t one;
    if (place) return place;
    if (aff_is_const(t->dims[d], &one) && one == 1) return aff_const(lo->program->aff, 0);
    for (int i = 0; i < lo->kernel->grid.len; i++)
        if (lo->kernel->grid.data[i].extent == t->dims[d])
            return aff_of(lo->program->aff, lo->kernel->grid.data[i].sym);
    return NULL;
}

static const Aff *coordinate(Lower *lo, const TileTensor *t, int d, const Expr *e, Diags *diags)
{
    if (!is_dim_name(t, d, e)) return eval_aff(&lo->env, e, diags);
    const Aff *own = own_coordinate(lo, t, d);
    if (!own && diags)
        lo_fail(lo, TW0735, e->span, "nothing says which entry along dimension %d of '%s' is meant", d + 1, t->name);
    return own;
}

/* NULL: not known, or diagnosed. */
static const Aff **coordinates(Lower *lo, const Expr *e, const TileTensor *t, Diags *diags)
{
    const Aff **coords = arena_array(lo->arena, const Aff *, t->rank);
    int d = 0, dots = 0;
    for (int i = 0; i < e->n_args; i++) dots += e->args[i]->kind == EXPR_ELLIPSIS;
    if (dots > 1 || (dots ? e->n_args - 1 > t->rank : e->n_args != t->rank)) {
        if (diags) lo_fail(lo, TW0735, e->span, "%d coordinates of '%s', which has %d dimensions", e->n_args, t->name, t->rank);
        return NULL;
    }
    for (int i = 0; i < e->n_args; i++) {
        int n = e->args[i]->kind == EXPR_ELLIPSIS ? t->rank - (e->n_args - 1) : 1;
        for (; n > 0; n--, d++) {
            coords[d] = coordinate(lo, t, d, e->args[i], diags);
            if (!coords[d]) return NULL;
        }
    }
    return coords;
}

/* ---- where a read may stand ---------------------------------------------------------------- */

/* The loop that an integer from data is known in; NULL: in none. */
static const LowerLoop *loop_of_scalar(const Lower *lo, const AffSym *sym)
{
    for (int i = 0; i < lo->reads.len; i++)
        if (lo->reads.data[i].sym == sym) return lo->reads.data[i].loop;
    return lo->loop;
}

static bool changes_in(const Lower *lo, const Aff *e, const LowerLoop *loop)
{
    if (!e) return false;
    if (e->kind != AFF_SYM) return changes_in(lo, e->a, loop) || changes_in(lo, e->b, loop);
    if (e->sym->kind == AFF_LOOP) return e->sym == loop->var;
    if (e->sym->kind != AFF_SCALAR) return false;
    for (const LowerLoop *of = loop_of_scalar(lo, e->sym); of; of = of->outer)
        if (of == loop) return true;
    return false;
}

static bool all_unchanged(const Lower *lo, const TileTensor *t, const Aff **coords, const LowerLoop *loop)
{
    for (int d = 0; d < t->rank; d++)
        if (changes_in(lo, coords[d], loop)) return false;
    return !t->written; /* the loop may write it */
}

/* The innermost loop that a read of t must stand in; NULL: none. */
static const LowerLoop *loop_of_read(const Lower *lo, const TileTensor *t, const Aff **coords)
{
    const LowerLoop *loop = lo->loop;
    while (loop && all_unchanged(lo, t, coords, loop)) loop = loop->outer;
    return loop;
}

/* The place just above the outermost loop within `loop`. */
static Rewriter *above(Lower *lo, const LowerLoop *loop)
{
    const LowerLoop *inner = lo->loop;
    if (inner == loop) return &lo->rw;
    while (inner->outer != loop) inner = inner->outer;
    return inner->before;
}

static TileOp *insert_above(Lower *lo, const LowerLoop *loop, TileOpKind kind, int n_args, TileValue *const *args,
                            int n_results, const TileType *types)
{
    Rewriter *rw = above(lo, loop);
    if (rw == &lo->rw) return rw_insert(rw, kind, n_args, args, n_results, types);
    rw->at--; /* the loop itself is the last operation there */
    TileOp *op = rw_insert(rw, kind, n_args, args, n_results, types);
    rw->at++;
    return op;
}

static TileValue *gather(Lower *lo, const LowerLoop *loop, TileTensor *t, const Aff **coords, int rows, int cols)
{
    TileType type = tile_type(t->dtype, rows, cols, SPACE_REGISTER);
    TileOp *op = insert_above(lo, loop, TILE_GATHER, 0, NULL, 1, &type);
    op->tensor = t;
    op->coords = coords;
    op->row_dim = op->col_dim = -1;
    t->read = true;
    op->results[0]->name = t->name;
    return op->results[0];
}

/* An integer symbol for what v holds, which stands in `loop`. */
static const Aff *scalar_of(Lower *lo, TileValue *v, Read read)
{
    TileOp *op = insert_above(lo, read.loop, TILE_SCALAR, 1, &v, 0, NULL);
    op->var = read.sym = aff_sym_new(lo->program->aff, lo_fresh_symbol(lo, read.param ? read.param : read.tensor->name),
                                     AFF_SCALAR, INT32_MIN, INT32_MAX);
    vec_push(lo->arena, &lo->reads, read);
    return aff_of(lo->program->aff, op->var);
}

const Aff *lo_param_integer(Lower *lo, const char *name, bool create)
{
    TileType type = tile_type(DT_F32, 1, 1, SPACE_REGISTER);
    if (!lo_is_param(lo, name)) return NULL;
    for (int i = 0; i < lo->reads.len; i++)
        if (lo->reads.data[i].param && strcmp(lo->reads.data[i].param, name) == 0)
            return aff_of(lo->program->aff, lo->reads.data[i].sym);
    if (!create) return NULL;
    TileOp *fill = insert_above(lo, NULL, TILE_FILL, 0, NULL, 1, &type);
    fill->param = name;
    return scalar_of(lo, fill->results[0], (Read){.param = name});
}

/* ---- uniform elements ------------------------------------------------------------------------ */

static const Aff *known_read(const Lower *lo, const TileTensor *t, const Aff **coords)
{
    for (int i = 0; i < lo->reads.len; i++) {
        bool same = lo->reads.data[i].tensor == t;
        for (int d = 0; same && d < t->rank; d++) same = lo->reads.data[i].coords[d] == coords[d];
        if (same) return aff_of(lo->program->aff, lo->reads.data[i].sym);
    }
    return NULL;
}

/* Whether it says where a tile that comes from memory lies, or each of its rows. */
static bool is_brought(const Lower *lo, const TileTensor *t)
{
    return lo->bringing && tile_is_table(t);
}

/* A coordinate without the place along a side of the tile, if it is the same along all of it: of `(k * 64 + col) div 128`
 * where a tile has 64 columns, `k div 2`. */
static const Aff *same_along(Lower *lo, const Aff *coord, const AffSym *side, AffSymKind kind, int extent)
{
    AffCtx *aff = lo->program->aff;
    if (extent < 1 || !aff_uses_kind(coord, kind)) return coord;
    const Aff *within = aff_subst(aff, coord, side, aff_of(aff, aff_sym_new(aff, side->name, kind, 0, extent - 1)));
    return aff_uses_kind(within, kind) ? coord : within;
}

static const Aff *same_along_sides(Lower *lo, const Aff *coord)
{
    coord = same_along(lo, coord, lo->program->row, AFF_ROW, lo->frame->extent[0]);
    return same_along(lo, coord, lo->program->col, AFF_COL, lo->frame->extent[1]);
}

/* An element of its own for each of the tile. */
static const Aff *exact_element(Lower *lo, TileTensor *t, const Aff **coords)
{
    if (!tile_is_table(t)) return NULL;
    for (int d = 0; d < t->rank; d++) coords[d] = same_along_sides(lo, coords[d]);
    t->read = true;
    return tile_element(lo->program, t, coords);
}

const Aff *lo_element(void *user, const Expr *e, Diags *diags)
{
    Lower *lo = user;
    TileTensor *t = (TileTensor *)tensor_of(lo, e);
    if (!t && diags && e->a->kind == EXPR_NAME && lo_local(lo, e->a->name))
        lo_fail(lo, TW0734, e->span, "'%s' is a tile, of which a formula has the element at the same place, [row, col], or of a column [row, 0]: others are read of a tensor in global memory", e->a->name);
    if (!t || dtype_is_float(t->dtype)) return NULL;
    const Aff **coords = coordinates(lo, e, t, diags);
    if (!coords) return NULL;
    if (lo->exact) return exact_element(lo, t, coords);
    for (int d = 0; d < t->rank; d++)
        if (aff_uses_place(coords[d]) && !(is_brought(lo, t) && !aff_uses_kind(coords[d], AFF_COL))) {
            if (diags) lo_fail(lo, TW0734, e->span, "'%s' has another element here for each element of the tile", t->name);
            return NULL;
        }
    if (is_brought(lo, t)) {
        t->read = true;
        return tile_element(lo->program, t, coords);
    }
    const Aff *known = known_read(lo, t, coords);
    if (known || !diags) return known; /* a try reads nothing */
    const LowerLoop *loop = loop_of_read(lo, t, coords);
    TileValue *v = gather(lo, loop, t, coords, 1, 1);
    return scalar_of(lo, v, (Read){.tensor = t, .coords = coords, .loop = loop});
}

/* ---- what varies ------------------------------------------------------------------------------- */

/* Whether e reads elements that differ within the tile, or that are no integers. */
static bool varies(Lower *lo, const Expr *e)
{
    const TileTensor *t = tensor_of(lo, e);
    if (t) {
        if (dtype_is_float(t->dtype)) return true;
        const Aff **coords = coordinates(lo, e, t, NULL);
        if (!coords) return true; /* what is wrong is said when it is read */
        for (int d = 0; d < t->rank; d++)
            if (aff_uses_place(coords[d])) return true;
        return false;
    }
    if (e->a && varies(lo, e->a)) return true;
    if (e->b && varies(lo, e->b)) return true;
    for (int i = 0; i < e->n_args; i++)
        if (varies(lo, e->args[i])) return true;
    return false;
}

static TileValue *value_of(Lower *lo, const Expr *e);
static const Aff *exact_integer(Lower *lo, const Expr *e);

static TileValue *no_operation(Lower *lo, const Expr *e, const char *what)
{
    lo_fail(lo, TW0734, e->span, "%s of tensors' elements that differ within the tile", what);
    return rw_fill(&lo->rw, 0);
}

/* Parts of which each has a value. */
static bool has_parts(const Expr *e)
{
    return e->kind == EXPR_BINARY || e->kind == EXPR_UNARY || e->kind == EXPR_CALL;
}

static bool mentions_param(const Lower *lo, const Expr *e)
{
    for (int i = 0; i < lo->program->params.len; i++)
        if (expr_mentions(e, lo->program->params.data[i])) return true;
    return false;
}

static bool is_whole_quotient(const Expr *e)
{
    return e->kind == EXPR_BINARY && (e->op == EO_IDIV || e->op == EO_MOD);
}

/* What has parts: not one number, and no integer. Among numbers a parameter is one, but for what is
 * divided into whole parts. */
static bool is_composed(Lower *lo, const Expr *e)
{
    double number;
    if (!has_parts(e) || eval_float(&lo->env, e, &number)) return false;
    return (mentions_param(lo, e) && !is_whole_quotient(e)) || !eval_aff(&lo->env, e, NULL);
}

/* `p * row(S)` where p is a parameter: no integer, although bounds and conditions take p as one. */
static bool is_real(const Lower *lo, const Expr *e)
{
    return lo->frame->number && has_parts(e) && mentions_param(lo, e);
}

/* e as an integer of elements, each for its own; NULL: it is none. */
static const Aff *integer_of_elements(Lower *lo, const Expr *e)
{
    bool exact = lo->exact;
    lo->exact = true;
    const Aff *a = eval_aff(&lo->env, e, NULL);
    lo->exact = exact;
    return a;
}

/* The coordinate that other elements give, each for its own, or that is computed as numbers are: which it is
 * among the arguments, and along which dimension; of several the first that is no integer of elements, as others can
 * be beside it. -1: none. */
static int told_coordinate(Lower *lo, const Expr *e, const TileTensor *t, int *dim)
{
    int at = -1, d = 0;
    bool integer = true;
    for (int i = 0; i < e->n_args && integer; i++) {
        bool own = e->args[i]->kind == EXPR_ELLIPSIS, told = !own && (varies(lo, e->args[i]) || is_composed(lo, e->args[i]));
        if (told) integer = integer_of_elements(lo, e->args[i]) != NULL;
        if (told && (at < 0 || !integer)) at = i, *dim = d;
        d += own ? t->rank - (e->n_args - 1) : 1;
    }
    return at;
}

/* The coordinates but for that at `at`. Where other elements give one of these as well, it is an integer of elements,
 * each for its own. */
static const Aff **coordinates_beside(Lower *lo, const Expr *e, const TileTensor *t, int at)
{
    Expr rest = *e;
    int dim = 0;
    rest.args = arena_array(lo->arena, Expr *, e->n_args);
    memcpy(rest.args, e->args, (size_t)e->n_args * sizeof *e->args);
    rest.args[at] = expr_int(lo->arena, 0);
    bool exact = lo->exact;
    lo->exact |= told_coordinate(lo, &rest, t, &dim) >= 0;
    const Aff **coords = coordinates(lo, &rest, t, lo->diags);
    lo->exact = exact;
    return coords;
}

/* `T[Id[row, col], h]`: a tile says where along one dimension. */
static TileValue *read_told(Lower *lo, const Expr *e, TileTensor *t, int at, int dim)
{
    const Aff **coords = coordinates_beside(lo, e, t, at);
    TileValue *which = coords ? value_of(lo, e->args[at]) : NULL;
    if (!which || lo->failed) {
        lo->failed = true;
        return rw_fill(&lo->rw, 0);
    }
    bool rows = which->type.rows > 1, cols = which->type.cols > 1;
    for (int d = 0; d < t->rank; d++) {
        rows |= aff_uses_kind(coords[d], AFF_ROW);
        cols |= aff_uses_kind(coords[d], AFF_COL);
    }
    TileType type = tile_type(t->dtype, rows ? lo->frame->extent[0] : 1, cols ? lo->frame->extent[1] : 1, SPACE_REGISTER);
    TileOp *op = rw_insert(&lo->rw, TILE_GATHER, 1, &which, 1, &type);
    op->tensor = t;
    op->coords = coords;
    op->row_dim = dim;
    op->col_dim = -1;
    t->read = true;
    op->results[0]->name = t->name;
    return op->results[0];
}

static TileValue *read_of(Lower *lo, const Expr *e)
{
    TileTensor *t = (TileTensor *)tensor_of(lo, e);
    int dim = 0, told = told_coordinate(lo, e, t, &dim);
    if (told >= 0) return read_told(lo, e, t, told, dim);
    const Aff **coords = coordinates(lo, e, t, lo->diags);
    bool rows = false, cols = false;
    if (!coords) {
        lo->failed = true;
        return rw_fill(&lo->rw, 0);
    }
    for (int d = 0; d < t->rank; d++) {
        coords[d] = same_along_sides(lo, coords[d]);
        rows |= aff_uses_kind(coords[d], AFF_ROW);
        cols |= aff_uses_kind(coords[d], AFF_COL);
    }
    return gather(lo, loop_of_read(lo, t, coords), t, coords, rows ? lo->frame->extent[0] : 1,
                  cols ? lo->frame->extent[1] : 1);
}

static TileValue *index_of(Lower *lo, const Aff *a)
{
    TileType type = tile_type(DT_F32, aff_uses_kind(a, AFF_ROW) ? lo->frame->extent[0] : 1,
                              aff_uses_kind(a, AFF_COL) ? lo->frame->extent[1] : 1, SPACE_REGISTER);
    TileOp *op = rw_insert(&lo->rw, TILE_INDEX, 0, NULL, 1, &type);
    op->index = a;
    return op->results[0];
}

/* What does not vary: a number, a parameter, or an integer of row and col. */
static TileValue *plain_value(Lower *lo, const Expr *e)
{
    double number;
    if (eval_float(&lo->env, e, &number)) return rw_fill(&lo->rw, number);
    if (e->kind == EXPR_NAME && lo_is_param(lo, e->name)) return lo_param(lo, e->name);
    const Aff *a = eval_aff(&lo->env, e, lo->diags);
    if (!a) {
        lo->failed = true;
        return rw_fill(&lo->rw, 0);
    }
    return index_of(lo, a);
}

static bool is_truth(const Expr *e)
{
    return (e->kind == EXPR_UNARY && e->op == EO_NOT) || (e->kind == EXPR_BINARY && e->op >= EO_LT && e->op <= EO_OR);
}

/* 0 or 1 */
static TileValue *truth_of(Lower *lo, const Expr *e)
{
    TileValue *v = value_of(lo, e);
    return is_truth(e) ? v : rw_binary(&lo->rw, OP_NOT_EQUAL, v, rw_fill(&lo->rw, 0));
}

static OpId element_op(ExprOp op)
{
    switch (op) {
    case EO_ADD: return OP_ADD;
    case EO_SUB: return OP_SUBTRACT;
    case EO_MUL: return OP_MULTIPLY;
    case EO_DIV: return OP_DIVIDE;
    case EO_POW: return OP_POWER;
    case EO_LT: return OP_LESS;
    case EO_LE: return OP_LESS_EQUAL;
    case EO_GT: return OP_GREATER;
    case EO_GE: return OP_GREATER_EQUAL;
    case EO_EQ: return OP_EQUAL;
    case EO_NE: return OP_NOT_EQUAL;
    case EO_AND: return OP_MULTIPLY;
    case EO_OR: return OP_MAX;
    case EO_IDIV: case EO_MOD: case EO_NEG: case EO_NOT: break;
    }
    return OP_COUNT;
}

static TileValue *call_value(Lower *lo, const Expr *e)
{
    OpId op;
    if (!op_find(e->name, &op) || op_info(op)->class != OPC_ELEMENT || e->n_args < 1
        || (op_info(op)->arity != e->n_args && op_info(op)->arity != 2)) {
        lo_fail(lo, TW0223, e->span, "'%s' is no function of %d number%s", e->name, e->n_args, e->n_args == 1 ? "" : "s");
        return rw_fill(&lo->rw, 0);
    }
    TileValue *v = value_of(lo, e->args[0]);
    if (e->n_args == 1) return rw_unary(&lo->rw, op, v);
    if (op_info(op)->arity == 3) {
        TileValue *b = value_of(lo, e->args[1]), *c = value_of(lo, e->args[2]), *args[] = {v, b, c};
        return rw_element(&lo->rw, op, 3, args);
    }
    for (int i = 1; i < e->n_args; i++) v = rw_binary(&lo->rw, op, v, value_of(lo, e->args[i]));
    return v;
}

/* a div b is -ceil(-a / b); a % b what it leaves. */
static TileValue *real_quotient(Lower *lo, const Expr *e)
{
    TileValue *a = value_of(lo, e->a), *b = value_of(lo, e->b);
    TileValue *negative = rw_unary(&lo->rw, OP_NEGATE, a);
    TileValue *up = rw_binary(&lo->rw, OP_CEIL_DIVIDE, negative, b);
    if (e->op == EO_IDIV) return rw_unary(&lo->rw, OP_NEGATE, up);
    TileValue *whole = rw_binary(&lo->rw, OP_MULTIPLY, up, b);
    return rw_binary(&lo->rw, OP_ADD, a, whole);
}

/* In a condition of integers a parameter is one: made so before it is tried whether it is such a condition. */
static void make_integers(Lower *lo, const Expr *e)
{
    for (int i = 0; i < lo->program->params.len; i++)
        if (expr_mentions(e, lo->program->params.data[i])) lo_param_integer(lo, lo->program->params.data[i], true);
}

/* 1 where the parameters of an expression are whole numbers. */
static TileValue *all_whole(Lower *lo, const Expr *e)
{
    TileValue *all = NULL;
    for (int i = 0; i < lo->program->params.len; i++) {
        const char *name = lo->program->params.data[i];
        if (!expr_mentions(e, name)) continue;
        TileValue *p = lo_param(lo, name), *whole = rw_binary(&lo->rw, OP_EQUAL, p, rw_unary(&lo->rw, OP_FLOOR, p));
        all = all ? rw_binary(&lo->rw, OP_MULTIPLY, all, whole) : whole;
    }
    return all;
}

/* What is divided into whole parts may be too large for fp32, as a hash with a seed: where its parameters are
 * whole numbers it is an integer, like one without any. */
static TileValue *whole_quotient(Lower *lo, const Expr *e)
{
    bool reads = varies(lo, e) || expr_reads(e, NULL);
    if (is_real(lo, e)) make_integers(lo, e);
    const Aff *integer = !is_real(lo, e) ? NULL : reads ? exact_integer(lo, e) : eval_aff(&lo->env, e, NULL);
    TileValue *real = real_quotient(lo, e);
    if (!integer) return real;
    TileValue *whole = reads ? index_of(lo, integer) : plain_value(lo, e), *args[] = {all_whole(lo, e), whole, real};
    return rw_element(&lo->rw, OP_WHERE, 3, args);
}

/* ---- integers -------------------------------------------------------------------------------- */

static bool compares(const Expr *e)
{
    return e->kind == EXPR_BINARY && e->op >= EO_LT && e->op <= EO_NE;
}

/* Whether elements are taken apart by `div` and `%`, or those that may be too large for fp32 compared; within: in what is
 * divided, or compared. Coordinates are none of it. */
static bool takes_apart(Lower *lo, const Expr *e, bool divided, bool compared)
{
    const TileTensor *t = e ? tensor_of(lo, e) : NULL;
    if (!e || e->kind == EXPR_INDEX) return t && (divided || (compared && !dtype_is_float(t->dtype) && dtype_bytes(t->dtype) >= 4));
    divided |= is_whole_quotient(e);
    compared |= compares(e);
    for (int i = 0; i < e->n_args; i++)
        if (takes_apart(lo, e->args[i], divided, compared)) return true;
    return takes_apart(lo, e->a, divided, compared) || takes_apart(lo, e->b, divided, compared);
}

/* Whether elements of 64 bits are. */
static bool divides_long(Lower *lo, const Expr *e, bool divided)
{
    const TileTensor *t = e ? tensor_of(lo, e) : NULL;
    if (!e || e->kind == EXPR_INDEX) return t && divided && t->dtype == DT_I64;
    divided |= is_whole_quotient(e);
    for (int i = 0; i < e->n_args; i++)
        if (divides_long(lo, e->args[i], divided)) return true;
    return divides_long(lo, e->a, divided) || divides_long(lo, e->b, divided);
}

/* Whether fp64, in which definitions are executed, holds it and all that it is made of, as it does places. */
static bool fits(const Aff *a)
{
    int64_t lo, hi, most = (int64_t)1 << 53;
    aff_bounds(a, &lo, &hi);
    if (a->kind == AFF_AT || !aff_uses_kind(a, AFF_TABLE)) return true;
    return lo >= -most && hi <= most && fits(a->a) && (!a->b || fits(a->b));
}

/* e as an integer of elements, parameters too; NULL: it is none, or not taken apart. */
static const Aff *exact_integer(Lower *lo, const Expr *e)
{
    if (lo->exact || !takes_apart(lo, e, false, false)) return NULL;
    const Aff *a = integer_of_elements(lo, e);
    return a && aff_uses_kind(a, AFF_TABLE) && fits(a) ? a : NULL;
}

static const Aff *exact_of(Lower *lo, const Expr *e)
{
    return is_real(lo, e) ? NULL : exact_integer(lo, e);
}

/* Integers, of which some element may be larger than fp32 has room for. */
static bool is_integral(Lower *lo, const Expr *e, bool *large)
{
    const TileTensor *t = tensor_of(lo, e);
    if (t) *large |= dtype_bytes(t->dtype) >= 4;
    if (t || !has_parts(e)) return t ? !dtype_is_float(t->dtype) : e->kind != EXPR_FLOAT;
    if (e->kind == EXPR_BINARY && e->op == EO_DIV) return false;
    for (int i = 0; i < e->n_args; i++)
        if (!is_integral(lo, e->args[i], large)) return false;
    return (!e->a || is_integral(lo, e->a, large)) && (!e->b || is_integral(lo, e->b, large));
}

/* Whether a quotient or a comparison may round an integer that it is made of; within another one that is said already. */
static bool may_round(Lower *lo, const Expr *e)
{
    bool large = false;
    if (lo->doubted || !(is_whole_quotient(e) || compares(e)) || !takes_apart(lo, e, false, false)) return false;
    if (!is_integral(lo, e, &large) || !large) return false;
    if (!is_whole_quotient(e) || !is_real(lo, e)) return true;
    make_integers(lo, e);
    return !exact_integer(lo, e);
}

static TileValue *number_of(Lower *lo, const Expr *e);

static TileValue *value_of(Lower *lo, const Expr *e)
{
    if (lo->failed) return rw_fill(&lo->rw, 0);
    const Aff *exact = exact_of(lo, e);
    if (exact) return index_of(lo, exact);
    bool rounds = may_round(lo, e);
    lo->doubted |= rounds;
    TileValue *v = number_of(lo, e);
    if (!rounds) return v;
    lo->doubted = false;
    if (!lo->failed)
        diag_add(lo->diags, TW0736, e->span, "an integer above 2^24 is rounded ahead of this %s, which is worked out in fp32",
                 e->op == EO_MOD ? "'%'" : e->op == EO_IDIV ? "'div'" : "comparison");
    return v;
}

static bool is_place(Lower *lo, const Expr *e)
{
    const Aff *a = eval_aff(&lo->env, e, NULL);
    return a && aff_uses_place(a);
}

/* Whether places are multiplied with places, (i - j) * (i - j): as an integer that would be a sum of all that each is the sum of,
 * for every element; as a number it is one product, as exact where places are below 2^24. */
static bool multiplies_places(Lower *lo, const Expr *e)
{
    if (e->kind == EXPR_UNARY && e->op == EO_NEG) return multiplies_places(lo, e->a);
    if (e->kind != EXPR_BINARY || (e->op != EO_MUL && e->op != EO_ADD && e->op != EO_SUB)) return false;
    if (e->op == EO_MUL && is_place(lo, e->a) && is_place(lo, e->b)) return true;
    return multiplies_places(lo, e->a) || multiplies_places(lo, e->b);
}

static TileValue *number_of(Lower *lo, const Expr *e)
{
    if (!varies(lo, e) && !is_composed(lo, e) && !is_real(lo, e) && !multiplies_places(lo, e)) return plain_value(lo, e);
    if (e->kind == EXPR_INDEX) return read_of(lo, e);
    if (e->kind == EXPR_CALL) return call_value(lo, e);
    if (e->kind == EXPR_UNARY && e->op == EO_NOT) {
        TileValue *zero = rw_fill(&lo->rw, 0);
        return rw_binary(&lo->rw, OP_EQUAL, value_of(lo, e->a), zero);
    }
    if (e->kind == EXPR_UNARY) return rw_unary(&lo->rw, OP_NEGATE, value_of(lo, e->a));
    if (is_whole_quotient(e)) return whole_quotient(lo, e);
    if (e->kind != EXPR_BINARY || element_op(e->op) == OP_COUNT)
        return no_operation(lo, e, "something that tiles have no operation for,");
    bool logical = e->op == EO_AND || e->op == EO_OR;
    TileValue *a = logical ? truth_of(lo, e->a) : value_of(lo, e->a);
    TileValue *b = logical ? truth_of(lo, e->b) : value_of(lo, e->b);
    return rw_binary(&lo->rw, element_op(e->op), a, b);
}

/* ---- masks ----------------------------------------------------------------------------------------- */

/* ceil(a / b), floor(a / b): of integers exact. */
static const Expr *rounded_quotient(const Expr *e)
{
    bool rounds = e->kind == EXPR_CALL && e->n_args == 1 && (text_equal_nocase(e->name, "ceil") || text_equal_nocase(e->name, "floor"));
    return rounds && e->args[0]->kind == EXPR_BINARY && e->args[0]->op == EO_DIV ? e->args[0] : NULL;
}

/* Whether what reads elements that are the same for the whole tile is no integer, whatever these are: a try reads none. */
static bool is_fractional(Lower *lo, const Expr *e)
{
    static const char *const whole[] = {"min", "max", "abs", "ceil", "floor"};
    if (!expr_reads(e, NULL)) return !eval_aff(&lo->env, e, NULL);
    if (e->kind == EXPR_INDEX) return false;
    const Expr *parts = rounded_quotient(e) ? rounded_quotient(e) : e;
    bool divides = parts == e && e->kind == EXPR_BINARY && (e->op == EO_DIV || e->op == EO_POW);
    if (divides || (parts->kind == EXPR_CALL && !text_among(whole, TW_COUNT(whole), e->name))) return true;
    for (int i = 0; i < parts->n_args; i++)
        if (is_fractional(lo, parts->args[i])) return true;
    return (parts->a && is_fractional(lo, parts->a)) || (parts->b && is_fractional(lo, parts->b));
}

/* Whether each element is chosen by numbers: those that vary, or ones with fractions; and by what is taken apart of 64
 * bits, of which an integer of the block has 32. */
static bool selects(Lower *lo, const Expr *e)
{
    if (varies(lo, e) || (divides_long(lo, e, false) && exact_of(lo, e))) return true;
    make_integers(lo, e);
    if (expr_reads(e, NULL)) return is_fractional(lo, e);
    return has_parts(e) && !eval_aff(&lo->env, e, NULL);
}

static TileValue *select_where(Lower *lo, const Expr *e, TileValue *x, TileValue *otherwise)
{
    if (e->kind == EXPR_BINARY && e->op == EO_AND)
        return select_where(lo, e->b, select_where(lo, e->a, x, otherwise), otherwise);
    if (!selects(lo, e)) return x;
    TileValue *args[] = {value_of(lo, e), x, otherwise};
    return rw_element(&lo->rw, OP_WHERE, 3, args);
}

/* What of a condition does not vary; NULL: nothing. */
static const Expr *not_varying(Lower *lo, const Expr *e)
{
    if (e->kind != EXPR_BINARY || e->op != EO_AND) return selects(lo, e) ? NULL : e;
    const Expr *a = not_varying(lo, e->a), *b = not_varying(lo, e->b);
    return a && b ? expr_binary(lo->arena, EO_AND, (Expr *)a, (Expr *)b) : a ? a : b;
}

/* In fp32, where its type does not hold the number: bytes have no -1e9, those of integers no -1. */
static TileValue *holding(Lower *lo, TileValue *x, double number)
{
    if (dtype_round(x->type.dtype, number) == number) return x;
    TileType type = x->type;
    type.dtype = DT_F32;
    return rw_insert(&lo->rw, TILE_CAST, 1, &x, 1, &type)->results[0];
}

TileValue *lo_mask(Lower *lo, const Expr *e, TileValue *x, double otherwise)
{
    Frame frame = lo_frame_of(lo, x);
    const Lineage lineage = *lo_lineage(lo, x);
    x = holding(lo, x, otherwise);
    lo_enter_frame(lo, &frame, e);
    const Expr *plain = not_varying(lo, e);
    const Aff *cond = plain ? eval_aff(&lo->env, plain, lo->diags) : NULL;
    if (plain && !cond) lo->failed = true;
    if (cond) x = rw_mask(&lo->rw, x, cond, NULL, otherwise);
    if (plain != e) x = select_where(lo, e, x, rw_fill(&lo->rw, otherwise));
    lo_leave_frame(lo);
    Lineage *l = lo_lineage(lo, x);
    *l = lineage;
    return x;
}

TileValue *lo_number(Lower *lo, const Expr *e)
{
    const Aff *integer = mentions_param(lo, e) ? NULL : eval_aff(&lo->env, e, diags_new(lo->arena, lo->diags->source));
    TileValue *v = integer ? lo_index(lo, integer) : lo_defined(lo, e, 1, 1);
    return v ? v : rw_fill(&lo->rw, 0);
}

TileValue *lo_defined(Lower *lo, const Expr *e, int rows, int cols)
{
    const Frame frame = {.extent = {rows, cols}, .number = true};
    TileType type = tile_type(DT_F32, rows, cols, SPACE_REGISTER);
    lo_enter_frame(lo, &frame, e);
    TileValue *v = value_of(lo, e);
    lo_leave_frame(lo);
    if (lo->failed) return NULL;
    if (v->type.rows == rows && v->type.cols == cols) return v;
    if (v->def->kind == TILE_INDEX) { /* made for this, and of no use as it is */
        v->type = type;
        return v;
    }
    return rw_binary(&lo->rw, OP_ADD, v, rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type)->results[0]);
}
