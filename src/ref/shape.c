/* shape.c: shapes of tensors, and of results from their operands.
 *
 *   Q (batch, q_heads, q_len, D)  x  K.T (batch, kv_heads, D, kv_len)
 *      |      |          |                                    |
 *      |      |          rows of the first         columns of the second
 *      |      first's: 32 query heads share 8 key heads, 4 consecutive ones each
 *      the same
 *   -> S (batch, q_heads, q_len, kv_len)
 */
#include "ref/resolve.h"

/* ---- shapes -------------------------------------------------------------------- */

void shape_of(const DefValue *value, Shape *shape)
{
    shape->rank = value->rank;
    memcpy(shape->dims, value->dims, sizeof shape->dims);
}

Shape shape_transposed(Shape shape)
{
    DefDim last = shape.dims[shape.rank - 1];

    shape.dims[shape.rank - 1] = shape.dims[shape.rank - 2];
    shape.dims[shape.rank - 2] = last;
    return shape;
}

bool shape_is_one(const DefDim *dim)
{
    int64_t size;

    return aff_is_const(dim->size, &size) && size == 1;
}

bool shape_same_size(const DefDim *a, const DefDim *b)
{
    return a->size == b->size;
}

static void add_dim_name(Str *out, const DefDim *dim)
{
    str_add(out, dim->name ? dim->name : aff_text(out->arena, dim->size));
}

static void add_dim_text(Str *out, const DefDim *dim)
{
    int64_t size;

    if (!dim->name)
        str_add(out, aff_text(out->arena, dim->size));
    else if (aff_is_const(dim->size, &size))
        str_printf(out, "%s = %lld", dim->name, (long long)size);
    else
        str_add(out, dim->name);
}

const char *shape_text(Arena *arena, const Shape *shape)
{
    Str out = str_new(arena);

    str_addc(&out, '(');
    for (int d = 0; d < shape->rank; d++) {
        str_add(&out, d ? ", " : "");
        add_dim_text(&out, &shape->dims[d]);
    }
    str_addc(&out, ')');
    return str_text(&out);
}

const char *def_shape_text(Arena *arena, const DefValue *value)
{
    Shape shape;

    shape_of(value, &shape);
    return arena_printf(arena, "%s %s", value->name, shape_text(arena, &shape));
}

/* An operand as it was written, with its shape: `K.T (batch, D, kv_len)`. */
static const char *operand_text(Resolver *r, const DefArg *arg)
{
    Shape shape;

    shape_of(arg->value, &shape);
    if (arg->transposed)
        shape = shape_transposed(shape);
    return arena_printf(r->arena, "%s%s %s", arg->value->name, arg->transposed ? ".T" : "",
                        shape_text(r->arena, &shape));
}

/* ---- shapes that are written down -------------------------------------------------- */

static bool declared_dim(Resolver *r, const Expr *e, DefDim *dim)
{
    int64_t size;

    dim->size = res_size(r, e);
    dim->name = e->kind == EXPR_NAME ? e->name : NULL;
    if (!dim->size)
        return false;
    if (aff_is_const(dim->size, &size) && (size < 1 || size > INT32_MAX)) {
        Diag *diag = diag_add(r->diags, TW0326, e->span, "a dimension of size %lld", (long long)size);

        diag_note(r->diags, diag, "a dimension is an integer from 1 to %d", INT32_MAX);
        return false;
    }
    return true;
}

bool res_shape(Resolver *r, const Stmt *stmt, Shape *shape)
{
    bool ok = true;

    if (stmt->n_shape < 1 || stmt->n_shape > RES_MAX_RANK) {
        Diag *diag = diag_add(r->diags, TW0325, stmt->name ? stmt->name_span : stmt->span,
                              "a shape of %d dimensions", stmt->n_shape);

        diag_note(r->diags, diag, "a tensor has 1 to %d: NAME (dim, dim, ...)", RES_MAX_RANK);
        return false;
    }
    shape->rank = stmt->n_shape;
    for (int d = 0; d < stmt->n_shape; d++)
        ok &= declared_dim(r, stmt->shape[d], &shape->dims[d]);
    return ok;
}

bool shape_declared(Resolver *r, const Stmt *stmt, const char *name, const Shape *declared,
                    Shape *computed)
{
    bool same = declared->rank == computed->rank;

    for (int d = 0; same && d < declared->rank; d++)
        same = shape_same_size(&declared->dims[d], &computed->dims[d]);
    if (!same) {
        Diag *diag = diag_add(r->diags, TW0323, stmt->span, "%s is declared %s but computed %s", name,
                              shape_text(r->arena, declared), shape_text(r->arena, computed));

        if (computed->rank == declared->rank + 1 && shape_is_one(&computed->dims[declared->rank]))
            diag_note(r->diags, diag, "a row reduction keeps its dimension with size 1: declare "
                      "(..., 1)");
        return false;
    }
    for (int d = 0; d < declared->rank; d++)
        if (declared->dims[d].name)
            computed->dims[d].name = declared->dims[d].name;
    return true;
}

/* ---- broadcasting ------------------------------------------------------------------ */

/* Whether a dimension of the name is one of what is written. */
static bool is_of_an_output(const Resolver *r, const char *name)
{
    const Block *body = &r->unit->body;

    for (int i = 0; i < body->len; i++)
        for (int d = 0; name && body->data[i]->kind == STMT_OUTPUT && d < body->data[i]->n_shape; d++)
            if (expr_is_name(body->data[i]->shape[d], name))
                return true;
    return false;
}

/* Sizes that meet: equal, one of them 1, or, when `shared`, one a multiple of the other; of two that only the launch
 * knows, the first, unless what is written has the second. */
static bool join_dims(const Resolver *r, const DefDim *a, const DefDim *b, bool shared, DefDim *out)
{
    int64_t size_a, size_b;

    *out = *a;
    if (shape_same_size(a, b)) {
        if (!out->name)
            out->name = b->name;
        return true;
    }
    if (shape_is_one(b))
        return true;
    if (shape_is_one(a))
        return *out = *b, true;
    if (!shared)
        return false;
    bool known = aff_is_const(a->size, &size_a) && aff_is_const(b->size, &size_b);
    if (known ? size_a % size_b == 0 : is_of_an_output(r, a->name) || !is_of_an_output(r, b->name))
        return true;
    *out = *b;
    return !known || size_b % size_a == 0;
}

/* Joins the dimensions of b to those of a, from the right. The last `exact`
 * dimensions must be equal or 1. Returns the place from the right, from 1, where
 * that is impossible, or 0. */
static int join_shapes(const Resolver *r, Shape *a, const Shape *b, int exact)
{
    Shape out = {a->rank > b->rank ? a->rank : b->rank, {{0}}};

    for (int k = 1; k <= out.rank; k++) {
        DefDim *to = &out.dims[out.rank - k];

        if (k > a->rank)
            *to = b->dims[b->rank - k];
        else if (k > b->rank)
            *to = a->dims[a->rank - k];
        else if (!join_dims(r, &a->dims[a->rank - k], &b->dims[b->rank - k], k > exact, to))
            return k;
    }
    *a = out;
    return 0;
}

/* ---- dimensions that are left out ----------------------------------------------------
 *
 *   K (batch, kv_len, D) beside Q (batch, heads, q_len, D): aligned from the right, K's
 *   batch would meet Q's heads. What is meant is K (batch, 1, kv_len, D). */

static const char *name_at(const Shape *s, int k)
{
    return k >= 1 && k <= s->rank ? s->dims[s->rank - k].name : NULL;
}

static bool same_name(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* The place from the right, from `from`, where s has the name; 0: nowhere. */
static int place_named(const Shape *s, const char *name, int from)
{
    for (int k = from; name && k <= s->rank; k++)
        if (same_name(name_at(s, k), name))
            return k;
    return 0;
}

/* The place, from the right and not before `from`, where a dimension of the shorter shape
 * meets one of another name although the longer one has its name further left; 0: none. */
static int misplaced(const Shape *longer, const Shape *shorter, int from)
{
    for (int k = from; k <= shorter->rank && shorter->rank < longer->rank; k++)
        if (name_at(longer, k) && !same_name(name_at(shorter, k), name_at(longer, k)) &&
            !shape_is_one(&shorter->dims[shorter->rank - k]) && place_named(longer, name_at(shorter, k), k + 1))
            return k;
    return 0;
}

static const Stmt *declaration_of(const Resolver *r, const DefValue *value)
{
    const Block *body = &r->unit->body;

    for (int i = 0; i < body->len; i++)
        if (body->data[i]->kind == STMT_INPUT && !value->op && strcmp(body->data[i]->name, value->name) == 0)
            return body->data[i];
    return NULL;
}

/* The declaration of an operand with sizes of 1 where it lacks dimensions of the longer
 * shape; those before `from`, counted from the right, stay where they are. */
static const char *with_ones(Resolver *r, const DefValue *value, const Shape *longer, int from)
{
    Str text = str_new(r->arena);
    Shape own;
    int last = 0;

    shape_of(value, &own);
    for (int k = own.rank; k >= 1; k--) {
        int at = k < from ? k : place_named(longer, name_at(&own, k), k);

        for (at = at ? at : k; last > at + 1; last--)
            str_add(&text, "1, ");
        add_dim_name(&text, &own.dims[own.rank - k]);
        str_add(&text, k > 1 ? ", " : "");
        last = at;
    }
    for (; last > 1; last--)
        str_add(&text, ", 1");
    return str_text(&text);
}

/* Two leading dimensions that stand the other way round, (heads, batch) beside (batch, heads): the
 * places from the right; false: there are none. */
static bool exchanged(const Shape *a, const Shape *b, int *k, int *l)
{
    for (*k = 3; *k < a->rank && *k < b->rank; ++*k)
        for (*l = *k + 1; *l <= a->rank && *l <= b->rank; ++*l)
            if (same_name(name_at(a, *k), name_at(b, *l)) && same_name(name_at(a, *l), name_at(b, *k)) &&
                !same_name(name_at(a, *k), name_at(a, *l)))
                return true;
    return false;
}

/* The declaration of an operand with two dimensions in each other's place. */
static const char *with_exchanged(Resolver *r, const DefValue *value, int k, int l)
{
    Str text = str_new(r->arena);

    for (int at = value->rank; at >= 1; at--) {
        int from = at == k ? l : at == l ? k : at;

        add_dim_name(&text, &value->dims[value->rank - from]);
        str_add(&text, at > 1 ? ", " : "");
    }
    return str_text(&text);
}

static bool not_exchanged(Resolver *r, const DefOp *op, const DefArg *b, const Shape *of_a, const Shape *of_b)
{
    const Stmt *decl = declaration_of(r, b->value);
    int k, l;

    if (!exchanged(of_a, of_b, &k, &l))
        return true;
    Diag *diag = diag_add(r->diags, TW0322, op->stmt->span, "%s does not fit %s: its %s would meet %s", operand_text(r, b),
                          shape_text(r->arena, of_a), name_at(of_b, k), name_at(of_a, k));
    diag_note(r->diags, diag, "dimensions align by their places, whatever their names");
    if (decl)
        diag_fix(r->diags, diag, (Span){decl->shape[0]->span.start, decl->shape[decl->n_shape - 1]->span.end},
                 with_exchanged(r, b->value, k, l), "in the order of the other operand");
    return false;
}

/* Says so where the shorter operand lacks dimensions in its middle, or leading ones are exchanged. */
static bool is_aligned(Resolver *r, const DefOp *op, const DefArg *a, const DefArg *b, const Shape *of_a, const Shape *of_b,
                       int from)
{
    bool first = of_a->rank < of_b->rank;
    const DefArg *arg = first ? a : b;
    const Shape *longer = first ? of_b : of_a, *shorter = first ? of_a : of_b;
    int k = misplaced(longer, shorter, from);
    const Stmt *decl = declaration_of(r, arg->value);

    if (!k)
        return not_exchanged(r, op, b, of_a, of_b);
    Diag *diag = diag_add(r->diags, TW0322, op->stmt->span, "%s does not fit %s: its %s would meet %s",
                          operand_text(r, arg), shape_text(r->arena, longer), name_at(shorter, k), name_at(longer, k));
    diag_note(r->diags, diag, "dimensions align from the right, whatever their names; one of size 1 broadcasts");
    if (decl)
        diag_fix(r->diags, diag, (Span){decl->shape[0]->span.start, decl->shape[decl->n_shape - 1]->span.end},
                 with_ones(r, arg->value, longer, from), "give it a dimension of 1 where it has none of its own");
    return false;
}

static bool not_joined(Resolver *r, const DefOp *op, const DefArg *a, const DefArg *b, int k, int exact)
{
    Diag *diag = diag_add(r->diags, TW0322, op->stmt->span, "%s does not fit %s", operand_text(r, a),
                          operand_text(r, b));

    if (k > exact)
        diag_note(r->diags, diag, "leading dimension %d from the right: one operand's size must be a multiple of the "
                  "other's", k);
    else
        diag_note(r->diags, diag, "dimension %d from the right: sizes must be equal, or one of them 1",
                  k);
    return false;
}

bool shape_elementwise(Resolver *r, const DefOp *op, Shape *shape)
{
    const DefArg *first = NULL;

    for (int i = 0; i < op->n_args; i++) {
        Shape next;
        int k;

        if (!op->args[i].value)
            continue;
        shape_of(op->args[i].value, &next);
        if (!first) {
            first = &op->args[i];
            *shape = next;
        } else if (!is_aligned(r, op, first, &op->args[i], shape, &next, 1)) {
            return false;
        } else if ((k = join_shapes(r, shape, &next, 2))) {
            return not_joined(r, op, first, &op->args[i], k, 2);
        }
    }
    if (first)
        return true;
    diag_add(r->diags, TW0235, op->stmt->span, "%s of numbers alone; one operand must be a tensor",
             op_info(op->op)->name);
    return false;
}

/* ---- GEMM ---------------------------------------------------------------------------- */

static Shape gemm_operand(const DefArg *arg, bool transposed)
{
    Shape shape;

    shape_of(arg->value, &shape);
    return transposed ? shape_transposed(shape) : shape;
}

static bool contracts(const DefOp *op, bool transposed_a, bool transposed_b)
{
    Shape a = gemm_operand(&op->args[0], transposed_a), b = gemm_operand(&op->args[1], transposed_b);

    return shape_same_size(&a.dims[a.rank - 1], &b.dims[b.rank - 2]);
}

static void suggest_transpose(Resolver *r, Diag *diag, const DefArg *arg, Span span)
{
    const char *text = arena_printf(r->arena, "%s%s", arg->value->name, arg->transposed ? "" : ".T");

    diag_fix(r->diags, diag, span, text,
             arg->transposed ? "take the operand as it is" : "transpose the operand");
}

/* The sizes that are contracted differ: says which operand to transpose, if
 * that is all that is wrong. */
static bool not_contracted(Resolver *r, const DefOp *op)
{
    const DefArg *a = &op->args[0], *b = &op->args[1];
    bool fix_b = contracts(op, a->transposed, !b->transposed);
    bool fix_a = !fix_b && contracts(op, !a->transposed, b->transposed);
    Span span = fix_a || fix_b ? op->stmt->args[fix_b]->span : op->stmt->span;
    Diag *diag;

    if (fix_a || fix_b) {
        const DefArg *wrong = fix_b ? b : a;

        diag = diag_add(r->diags, TW0320, span, "%s must %sbe transposed", wrong->value->name,
                        wrong->transposed ? "not " : "");
        suggest_transpose(r, diag, wrong, span);
    } else {
        diag = diag_add(r->diags, TW0321, span, "the contracted dimensions differ");
    }
    diag_note(r->diags, diag, "a GEMM contracts the last dimension of the first operand with the "
              "second-last of the second: %s and %s", operand_text(r, a), operand_text(r, b));
    return false;
}

static bool matrix_operands(Resolver *r, const DefOp *op)
{
    for (int i = 0; i < 2; i++) {
        const DefArg *arg = &op->args[i];

        if (!arg->value) {
            diag_add(r->diags, TW0235, op->stmt->args[i]->span, "a number where GEMM wants a tensor");
            return false;
        }
        if (arg->value->rank < 2) {
            diag_add(r->diags, TW0325, op->stmt->args[i]->span,
                     "%s has one dimension where GEMM wants a matrix",
                     def_shape_text(r->arena, arg->value));
            return false;
        }
    }
    return true;
}

bool shape_gemm(Resolver *r, const DefOp *op, Shape *shape)
{
    Shape b;
    DefDim row, col;
    int k;

    if (!matrix_operands(r, op))
        return false;
    if (!contracts(op, op->args[0].transposed, op->args[1].transposed))
        return not_contracted(r, op);
    *shape = gemm_operand(&op->args[0], op->args[0].transposed);
    b = gemm_operand(&op->args[1], op->args[1].transposed);
    if (!is_aligned(r, op, &op->args[0], &op->args[1], shape, &b, 3))
        return false;
    row = shape->dims[shape->rank - 2];
    col = b.dims[b.rank - 1];
    shape->dims[shape->rank - 2] = shape->dims[shape->rank - 1] = col; /* aside: join the rest */
    b.dims[b.rank - 2] = col;
    k = join_shapes(r, shape, &b, 2);
    if (k)
        return not_joined(r, op, &op->args[0], &op->args[1], k, 2);
    shape->dims[shape->rank - 2] = row;
    shape->dims[shape->rank - 1] = col;
    return true;
}

/* ---- one operand ------------------------------------------------------------------------ */

bool shape_same(Resolver *r, const DefOp *op, Shape *shape)
{
    if (!op->args[0].value) {
        diag_add(r->diags, TW0235, op->stmt->args[0]->span, "a number where %s wants a tensor",
                 op_info(op->op)->name);
        return false;
    }
    shape_of(op->args[0].value, shape);
    return true;
}

static void set_one(Resolver *r, DefDim *dim)
{
    *dim = (DefDim){aff_const(r->aff, 1), NULL};
}

bool shape_row_reduce(Resolver *r, const DefOp *op, Shape *shape)
{
    if (!shape_same(r, op, shape))
        return false;
    set_one(r, &shape->dims[shape->rank - 1]);
    return true;
}

bool shape_col_reduce(Resolver *r, const DefOp *op, Shape *shape)
{
    if (!shape_same(r, op, shape))
        return false;
    if (shape->rank < 2) {
        diag_add(r->diags, TW0325, op->stmt->args[0]->span, "%s has no columns to reduce",
                 def_shape_text(r->arena, op->args[0].value));
        return false;
    }
    set_one(r, &shape->dims[shape->rank - 2]);
    return true;
}
