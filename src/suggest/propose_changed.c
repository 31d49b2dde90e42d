/* propose_changed.c: Kernels that give something else than the Operator beside them, with a statement changed, moved, or one more.
 * Each change is executed beside the definition before it is suggested (vary.h).
 *
 *   Compute Add den, Lp and get new den       Compute Multiply Lp, w and get new Lp          as it is done to another tile
 *                                             Compute Add den, Lp and get new den
 *   Compute Add X, 0 and accumulate acc       Compute Multiply X, w and accumulate acc       a copy that was to be a product
 *   Compute Log L and get LSE                 Compute Log L and get LSE                      a column that is missing
 *                                             Compute Add LSE, M and get new LSE
 *   Compute Divide O, L and get new O         Compute Subtract Sink, M and get z             what the Operator does with an Input
 *                                             Compute Exp z and get new z
 *                                             Compute Add L, z and get new L
 *                                             Compute Divide O, L and get new O
 *   Compute Fill H, 0                         Compute GEMM K.T, V and accumulate H           a product that is missing
 *   Compute Exp S and get new S               Compute Exp2 S and get new S                   another operation
 *   Compute Multiply X, w and get Y           Compute Multiply X, g and get Y                another operand
 *   Compute RowSum P and get L                Compute RowSum P and accumulate L
 *   Compute GEMM X[:, 0:64], W and get G      Compute GEMM X[:, k * 64:(k + 1) * 64], W ...  a part that is taken elsewhere
 *   Compute Fill G, 0                         Compute Fill G, 0; Compute Fill U, 0           what another sum begins with
 *   Compute Mask H where p == y               Compute Mask H where p == y else 0             0 elsewhere
 *   Copy Sm as Mx from register to global     Copy Mx from register to global                another tile, or tensor
 *   for c = 0:n                               for c = 0:n                                    a loop of its own
 *     Compute RowSum t and accumulate d         Compute RowSum t and accumulate d
 *     Compute Subtract X, d and get Y         end
 *                                             for c = 0:n
 *                                               Copy X ...
 *                                               Compute Subtract X, d and get Y
 */
#include "suggest/vary.h"

static const char *text_at(const Vary *v, const Stmt *at, const Stmt *added)
{
    return arena_printf(v->s->arena, "%s%s\n", suggest_indent(v->s, at->span.start), suggest_text(v->s, added));
}

static bool try_before(Vary *v, const Stmt *at, const Stmt *added, const char *label)
{
    return suggest_edit(v->s, suggest_before(v->s, at), text_at(v, at, added), label);
}

static bool try_behind(Vary *v, const Stmt *at, const Stmt *added, const char *label)
{
    const char *text = arena_printf(v->s->arena, "\n%s%s", suggest_indent(v->s, at->span.start), suggest_text(v->s, added));

    return suggest_edit(v->s, (Span){at->span.end, at->span.end}, text, label);
}

static bool is_element(const Stmt *s)
{
    return s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == OPC_ELEMENT;
}

/* `op X, c and get new X` */
static Stmt *in_place(Vary *v, OpId op, const char *name, const Expr *second)
{
    Arena *arena = v->s->arena;
    Stmt *s = stmt_new(arena, STMT_COMPUTE);

    s->op = op;
    s->op_name = op_info(op)->name;
    s->op_known = true;
    s->n_args = 2;
    s->args = arena_array(arena, Expr *, 2);
    s->args[0] = expr_name(arena, name);
    s->args[1] = expr_copy(arena, second);
    s->result = RESULT_GET_NEW;
    s->dest = expr_name(arena, name);
    return s;
}

/* ---- as it is done to another ------------------------------------------------------------------- */

static bool reads(const Stmt *s, const char *name)
{
    for (int i = 0; s->kind == STMT_COMPUTE && i < s->n_args; i++)
        if (expr_is_name(s->args[i], name))
            return true;
    return false;
}

static bool has_it(const Block *block, const Stmt *s)
{
    for (int i = 0; i < block->len; i++)
        if (stmt_equal(block->data[i], s))
            return true;
    return false;
}

/* A change of one tile, of another that a statement of the block reads as well. */
static bool try_alike(Vary *v, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *model = block->data[i];
        bool changes = is_element(model) && model->n_args == 2 && expr_is_name(compute_result(model), expr_base_name(model->args[0])) && model->result != RESULT_ACCUMULATE;

        for (int k = 0; changes && k < block->len; k++)
            for (int a = 0; block->data[k]->kind == STMT_COMPUTE && a < block->data[k]->n_args; a++) {
                const Expr *of = block->data[k]->args[a];
                const Stmt *added = of->kind == EXPR_NAME && k != i ? in_place(v, model->op, of->name, model->args[1]) : NULL;

                if (added && !block->data[k]->listed && !has_it(block, added) && !expr_is_name(model->args[1], of->name) && reads(block->data[k], of->name) &&
                    try_before(v, block->data[k], added, "as it is done to another"))
                    return true;
            }
        if (try_alike(v, &model->body) || try_alike(v, &model->orelse))
            return true;
    }
    return false;
}

static bool try_done_alike(Vary *v)
{
    return try_alike(v, &v->kernel->body);
}

/* ---- columns -------------------------------------------------------------------------------------- */

static const OpId ARITHMETIC[] = {OP_MULTIPLY, OP_ADD, OP_SUBTRACT, OP_DIVIDE};

static bool try_column_in(Vary *v, const Stmt *s, const Names *names)
{
    for (size_t k = 0; vary_copies(s) && k < TW_COUNT(ARITHMETIC); k++)
        for (int i = 0; i < names->len; i++) {
            Stmt *changed = suggest_like(v->s, s);

            changed->op = ARITHMETIC[k];
            changed->op_name = op_info(changed->op)->name;
            changed->args = arena_array(v->s->arena, Expr *, 2);
            changed->args[0] = s->args[0];
            changed->args[1] = expr_name(v->s->arena, names->data[i]);
            if (strcmp(names->data[i], expr_base_name(s->args[0])) != 0 && suggest_stmt(v->s, s, changed, "with this operand it is what the Operator says"))
                return true;
        }
    return false;
}

/* Behind a statement that gives a column, or a tile, the same with another column. */
static bool try_column_behind(Vary *v, const Stmt *s, bool of_column)
{
    const char *name = vary_result(s);
    bool right = name && !s->n_with && s->result != RESULT_ACCUMULATE && vary_has(&v->columns, name) == of_column;

    for (size_t k = 0; right && k < TW_COUNT(ARITHMETIC); k++)
        for (int i = v->columns.len - 1; i >= 0; i--)
            if (strcmp(v->columns.data[i], name) != 0 &&
                try_behind(v, s, in_place(v, ARITHMETIC[k], name, expr_name(v->s->arena, v->columns.data[i])), "with this as well it is what the Operator says"))
                return true;
    return false;
}

static bool try_columns_in(Vary *v)
{
    for (int i = 0; i < v->computes.len; i++)
        if (try_column_in(v, v->computes.data[i], &v->columns) || try_column_in(v, v->computes.data[i], &v->tiles))
            return true;
    return false;
}

static bool try_columns(Vary *v)
{
    for (int i = v->computes.len - 1; i >= 0; i--)
        if (try_column_behind(v, v->computes.data[i], true))
            return true;
    for (int i = v->computes.len - 1; i >= 0; i--)
        if (try_column_behind(v, v->computes.data[i], false))
            return true;
    return false;
}

/* `Log L` and the like without what is to be added to it. */
static bool try_functions(Vary *v)
{
    for (int i = v->computes.len - 1; i >= 0; i--)
        if (is_element(v->computes.data[i]) && v->computes.data[i]->n_args == 1 && try_column_behind(v, v->computes.data[i], true))
            return true;
    return false;
}

/* A number for each column, as code allocates it. */
static bool is_row(const Vary *v, const char *tile)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *s = v->all.data[i];
        if (s->kind == STMT_ALLOCATE && s->n_shape == 2 && strcmp(s->name, tile) == 0)
            return expr_is_one(s->shape[0]) && !expr_is_one(s->shape[1]);
    }
    return false;
}

/* What is copied without a step of a column, or a row: `Subtract X, mean`. */
static bool try_columns_of_copied(Vary *v)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *copy = v->all.data[i];
        const char *tile = copy->kind == STMT_COPY && copy->to_space == SPACE_REGISTER && !copy->listed && vary_has(&v->tiles, copy_tile(copy)) ? copy_tile(copy) : NULL;

        for (size_t k = 0; tile && k < TW_COUNT(ARITHMETIC); k++) {
            for (int c = v->columns.len - 1; c >= 0; c--)
                if (try_behind(v, copy, in_place(v, ARITHMETIC[k], tile, expr_name(v->s->arena, v->columns.data[c])), "with this as well it is what the Operator says"))
                    return true;
            for (int c = v->tiles.len - 1; c >= 0; c--)
                if (is_row(v, v->tiles.data[c]) && strcmp(v->tiles.data[c], tile) != 0 &&
                    try_behind(v, copy, in_place(v, ARITHMETIC[k], tile, expr_name(v->s->arena, v->tiles.data[c])), "with this as well it is what the Operator says"))
                    return true;
        }
    }
    return false;
}

/* ---- a product that is missing ---------------------------------------------------------------------- */

static bool is_made(const Vary *v, const char *tile)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *s = v->all.data[i];
        bool copied = s->kind == STMT_COPY && s->to_space != SPACE_GLOBAL && strcmp(copy_tile(s), tile) == 0 && s->space == SPACE_GLOBAL;

        if (copied || (vary_result(s) && strcmp(vary_result(s), tile) == 0 && !(s->op_known && s->op == OP_FILL)))
            return true;
    }
    return false;
}

/* At the end of a loop, of two of the tiles that it copies. */
static bool try_product_in(Vary *v, const Stmt *loop, const char *tile)
{
    static const char *const forms[] = {"%s%sCompute GEMM %s, %s and accumulate %s", "%s%sCompute GEMM %s.T, %s and accumulate %s", "%s%sCompute GEMM %s, %s.T and accumulate %s"};
    const Stmt *last = loop->body.data[loop->body.len - 1];
    Names copied = {0};

    for (int i = 0; i < loop->body.len; i++)
        if (loop->body.data[i]->kind == STMT_COPY && loop->body.data[i]->to_space == SPACE_SHARED)
            vec_push(v->s->arena, &copied, copy_tile(loop->body.data[i]));
    for (int a = 0; a < copied.len; a++)
        for (int b = 0; b < copied.len; b++)
            for (size_t f = 0; f < TW_COUNT(forms); f++) {
                char text[256];
                int n = snprintf(text, sizeof text, forms[f], "\n", suggest_indent(v->s, last->span.start), copied.data[a], copied.data[b], tile);

                if (n < (int)sizeof text && suggest_edit(v->s, (Span){last->span.end, last->span.end}, arena_strdup(v->s->arena, text), "the product that nothing else makes"))
                    return true;
            }
    return false;
}

/* A tile that is read, and that nothing but a Fill makes. */
static bool try_products(Vary *v)
{
    for (int i = 0; i < v->tiles.len; i++)
        for (int k = 0; !is_made(v, v->tiles.data[i]) && k < v->all.len; k++)
            if (v->all.data[k]->kind == STMT_FOR && v->all.data[k]->body.len && try_product_in(v, v->all.data[k], v->tiles.data[i]))
                return true;
    return false;
}

/* ---- what the Operator does with an Input ------------------------------------------------------------ */

typedef struct Renamed {
    Vary *v;
    Names from, to; /* names of the definition that the Kernel lacks, and what stands for them */
} Renamed;

static Expr *renamed(void *user, const char *name)
{
    Renamed *r = user;

    for (int i = 0; i < r->from.len; i++)
        if (strcmp(r->from.data[i], name) == 0)
            return expr_name(r->v->s->arena, r->to.data[i]);
    return NULL;
}

static bool has_tile(const Vary *v, const char *name)
{
    return vary_has(&v->tiles, name) || vary_has(&v->columns, name);
}

/* The statements that make a value of an Input, up to those of names that the first one takes. */
static Stmts made_of(Vary *v, const char *value, const Stmt *before, bool *of_input)
{
    const Block *body = &v->definition->body;
    Stmts list = {0};

    for (int i = 0; i < body->len && body->data[i] != before; i++) {
        const Stmt *s = body->data[i];

        if (vary_result(s) && strcmp(vary_result(s), value) == 0 && !s->listed && s->op_known)
            vec_push(v->s->arena, &list, s);
        for (int k = 0; vary_result(s) && strcmp(vary_result(s), value) == 0 && k < s->n_args; k++)
            *of_input |= block_find(&v->definition->body, STMT_INPUT, expr_base_name(s->args[k])) && has_tile(v, expr_base_name(s->args[k]));
    }
    return list;
}

static void note_lacking(Renamed *r, const Stmt *s, const char *own)
{
    for (int i = 0; i < s->n_args; i++) {
        const char *name = expr_base_name(s->args[i]);
        bool input = name && block_find(&r->v->definition->body, STMT_INPUT, name);

        if (name && !input && strcmp(name, own) != 0 && !vary_has(&r->from, name) && unit_tensor(r->v->definition, name) == NULL)
            vec_push(r->v->s->arena, &r->from, name);
    }
}

/* The Allocate of a tile, where a list of them does not have it. */
static Stmt *allocated(const Vary *v, const char *tile)
{
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_ALLOCATE && strcmp(v->all.data[i]->name, tile) == 0)
            return (Stmt *)v->all.data[i];
    return NULL;
}

/* value: what the chain makes; changed: what the last statement changes by it. */
static bool try_chain(Renamed *r, const Stmts *chain, const Stmt *last, const Stmt *at, const char *value, const char *changed)
{
    Suggester *s = r->v->s;
    Str text = str_new(s->arena);
    Stmt *alike = allocated(r->v, changed);
    Fix edits[2] = {0};
    int n = 0;

    for (int i = 0; i <= chain->len; i++)
        str_add(&text, text_at(r->v, at, stmt_subst(s->arena, i < chain->len ? chain->data[i] : last, renamed, r)));
    if (alike && !has_tile(r->v, value)) { /* code says where it lies */
        edits[n++] = (Fix){suggest_before(s, alike), NULL, NULL};
        alike = suggest_like(s, alike);
        alike->name = value;
        edits[0].text = text_at(r->v, at, alike);
    }
    edits[n++] = (Fix){suggest_before(s, at), str_text(&text), NULL};
    return suggest_edits(s, edits, n, "what the Operator does as well");
}

/* Each name stands for a column of the Kernel's; before the statement behind all loops that reads the last one. */
static bool try_renamings(Renamed *r, const Stmts *chain, const Stmt *last, int k)
{
    const Block *body = &r->v->kernel->body;
    const char *changed;

    for (int i = 0; k < r->from.len && i < r->v->columns.len; i++) {
        r->to.data[k] = r->v->columns.data[i];
        if (try_renamings(r, chain, last, k + 1))
            return true;
    }
    if (k < r->from.len)
        return false;
    const Expr *mine = renamed(r, vary_result(last));
    changed = mine ? mine->name : vary_result(last);
    for (int i = 0; i < body->len; i++)
        if (reads(body->data[i], changed))
            return try_chain(r, chain, last, body->data[i], expr_base_name(last->args[1]), changed);
    return false;
}

/* `Add l, z and get new l`, where z is made of an Input. */
static bool try_inputs(Vary *v)
{
    enum { MOST_NAMES = 2, MOST_COLUMNS = 6 };
    const Block *body = &v->definition->body;

    for (int i = 0; i < body->len && v->columns.len <= MOST_COLUMNS; i++) {
        const Stmt *last = body->data[i];
        const char *value = is_element(last) && last->n_args == 2 && expr_is_name(compute_result(last), expr_base_name(last->args[0])) ? expr_base_name(last->args[1]) : NULL;
        bool of_input = false;
        Stmts chain = value ? made_of(v, value, last, &of_input) : (Stmts){0};
        Renamed r = {.v = v};

        if (!of_input)
            continue;
        for (int k = 0; k < chain.len; k++)
            note_lacking(&r, chain.data[k], value);
        note_lacking(&r, last, value);
        for (int k = 0; k < r.from.len; k++)
            vec_push(v->s->arena, &r.to, NULL);
        if (r.from.len <= MOST_NAMES && try_renamings(&r, &chain, last, 0))
            return true;
    }
    return false;
}

/* ---- another operation, result or operand ---------------------------------------------------------------- */

/* Up to the first zero behind the first, which OP_ADD is. */
static const OpId SIBLINGS[][6] = {
    {OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_DIVIDE}, {OP_ADD, OP_MAX, OP_MIN}, {OP_EXP, OP_EXP2, OP_EXPM1}, {OP_LOG, OP_LOG2, OP_LOG1P}, {OP_ROW_SUM, OP_ROW_MAX, OP_ROW_MIN, OP_ROW_MEAN},
    {OP_COL_SUM, OP_COL_MAX}, {OP_SQRT, OP_RSQRT, OP_RECIPROCAL, OP_SQUARE}, {OP_SILU, OP_SIGMOID, OP_GELU, OP_RELU, OP_TANH, OP_ERF}, {OP_FLOOR, OP_CEIL, OP_ROUND},
    {OP_LESS, OP_LESS_EQUAL, OP_GREATER, OP_GREATER_EQUAL}, {OP_EQUAL, OP_NOT_EQUAL}, {OP_SIN, OP_COS},
};

static int siblings(size_t row)
{
    int n = 1;

    while (n < (int)TW_COUNT(SIBLINGS[row]) && SIBLINGS[row][n])
        n++;
    return n;
}

static bool try_operation(Vary *v, const Stmt *s, OpId op)
{
    Stmt *changed = suggest_like(v->s, s);

    changed->op = op;
    changed->op_name = op_info(op)->name;
    return op != s->op && suggest_stmt(v->s, s, changed, "this operation is what the Operator says");
}

static bool try_siblings(Vary *v, const Stmt *s)
{
    for (size_t i = 0; s->op_known && i < TW_COUNT(SIBLINGS); i++) {
        bool among = false;

        for (int k = 0; k < siblings(i); k++)
            among |= SIBLINGS[i][k] == s->op;
        for (int k = 0; among && k < siblings(i); k++)
            if (try_operation(v, s, SIBLINGS[i][k]))
                return true;
    }
    return false;
}

static bool try_result(Vary *v, const Stmt *s)
{
    Stmt *changed = suggest_like(v->s, s);

    if (!s->dest || (vary_copies(s) && s->result != RESULT_ACCUMULATE)) /* a sum is made where its terms are */
        return false;
    changed->result = s->result == RESULT_ACCUMULATE ? RESULT_GET : RESULT_ACCUMULATE;
    return suggest_stmt(v->s, s, changed, changed->result == RESULT_ACCUMULATE ? "the sum of all" : "what this turn gives alone");
}

static bool try_names(Vary *v, const Expr *e, const Names *names)
{
    for (int i = names->len - 1; i >= 0; i--)
        if (strcmp(names->data[i], e->name) != 0 && suggest_edit(v->s, e->span, names->data[i], "with this operand it is what the Operator says"))
            return true;
    return false;
}

/* Numbers that the Operator alone declares, and a Kernel takes by name. */
static bool try_params(Vary *v, const Expr *e)
{
    Names params = {0};

    for (int i = 0; i < v->definition->body.len; i++) {
        const Stmt *s = v->definition->body.data[i];
        if ((s->kind == STMT_PARAM || s->kind == STMT_LET) && !vary_has(&v->sizes, s->name))
            vec_push(v->s->arena, &params, s->name);
    }
    return try_names(v, e, &params);
}

static bool try_operand(Vary *v, const Expr *e)
{
    if (e && (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE))
        e = e->a;
    if (!e || e->kind != EXPR_NAME)
        return false;
    if (vary_has(&v->columns, e->name) || vary_has(&v->tiles, e->name)) {
        bool column = vary_has(&v->columns, e->name);
        return try_names(v, e, column ? &v->columns : &v->tiles) || try_names(v, e, column ? &v->tiles : &v->columns);
    }
    return try_params(v, e) || try_names(v, e, &v->sizes);
}

/* `Multiply xy, 1 - e` for `Multiply xy, e`: a number that some statement of the definition has there. */
static bool try_defined_numbers(Vary *v, const Stmt *s)
{
    const Block *body = &v->definition->body;
    const char *name = is_element(s) && s->n_args == 2 ? expr_base_name(s->args[1]) : NULL;
    bool tile = !is_element(s) || s->n_args != 2 || (name && (vary_has(&v->columns, name) || vary_has(&v->tiles, name)));

    for (int i = 0; !tile && i < body->len; i++) {
        const Stmt *theirs = body->data[i];
        bool alike = is_element(theirs) && theirs->op == s->op && theirs->n_args == 2 && !expr_equal(theirs->args[1], s->args[1]);
        const char *of = alike ? expr_base_name(theirs->args[1]) : NULL;

        if (alike && !(of && theirs->args[1]->kind == EXPR_NAME && !block_find(body, STMT_PARAM, of) && !block_find(body, STMT_LET, of)) &&
            suggest_edit(v->s, s->args[1]->span, suggest_expr(v->s, theirs->args[1]), "the number of the definition"))
            return true;
    }
    return false;
}

static bool is_literal(const Expr *e)
{
    return e->kind == EXPR_INT || e->kind == EXPR_FLOAT;
}

/* Another number than the definition has: that one, rather than the definition's step once more. */
static bool try_literals(Vary *v)
{
    for (int i = 0; i < v->computes.len; i++) {
        const Stmt *s = v->computes.data[i];
        if (is_element(s) && s->n_args == 2 && is_literal(s->args[1]) && try_defined_numbers(v, s))
            return true;
    }
    return false;
}

static bool try_operands(Vary *v, const Stmt *s)
{
    for (int i = s->n_args - 1; i >= 0; i--)
        if (s->op_known && s->op != OP_DEFINE && try_operand(v, s->args[i]))
            return true;
    return s->dest && s->dest->span.end > s->dest->span.start && try_operand(v, s->dest);
}

static bool try_transposed(Vary *v, const Stmt *s)
{
    for (int i = 0; s->op_known && s->op == OP_GEMM && i < s->n_args; i++) {
        const Expr *e = s->args[i];
        const char *text = e->kind == EXPR_TRANSPOSE ? suggest_expr(v->s, e->a) : arena_printf(v->s->arena, "%s.T", suggest_expr(v->s, e));

        if (suggest_edit(v->s, e->span, text, e->kind == EXPR_TRANSPOSE ? "not transposed" : "transposed"))
            return true;
    }
    return false;
}

/* `Multiply O1, lam and get new O1` for `Multiply O2, lam and get new O2`. */
static bool try_other_in_place(Vary *v, const Stmt *s)
{
    const char *name = is_element(s) && s->args[0]->kind == EXPR_NAME && expr_is_name(compute_result(s), s->args[0]->name) && s->result != RESULT_ACCUMULATE ? s->args[0]->name : NULL;
    const Names *names = name && vary_has(&v->columns, name) ? &v->columns : &v->tiles;

    for (int i = 0; name && i < names->len; i++) {
        Stmt *changed = suggest_like(v->s, s);

        changed->args = arena_array(v->s->arena, Expr *, s->n_args);
        memcpy(changed->args, s->args, (size_t)s->n_args * sizeof *s->args);
        changed->args[0] = expr_name(v->s->arena, names->data[i]);
        changed->dest = s->dest ? changed->args[0] : NULL;
        if (strcmp(names->data[i], name) != 0 && suggest_stmt(v->s, s, changed, "of this it is what the Operator says"))
            return true;
    }
    return false;
}

/* Whether a largest number begins at -inf, or a least one at inf: with another beginning it is only right by chance. */
static bool begins_as_it_should(const Vary *v, const Stmt *fill)
{
    const char *number = suggest_expr(v->s, fill->args[1]), *name = expr_base_name(fill->args[0]);
    OpId op = strcmp(number, "-inf") == 0 ? OP_MAX : strcmp(number, "inf") == 0 ? OP_MIN : OP_FILL;

    for (int i = 0; name && op != OP_FILL && i < v->computes.len; i++)
        if (v->computes.data[i]->op_known && v->computes.data[i]->op == op && vary_takes(v->computes.data[i], name))
            return true;
    return false;
}

/* `Fill M, -inf` for `Fill M, 0`: what a state begins with. */
static bool try_beginning(Vary *v, const Stmt *s)
{
    static const char *const numbers[] = {"0", "-inf", "1", "-1e30"}; /* the last where the difference of two is taken */

    if (!s->op_known || s->op != OP_FILL || s->n_args != 2 || begins_as_it_should(v, s))
        return false;
    for (size_t i = 0; i < TW_COUNT(numbers); i++)
        if (strcmp(suggest_expr(v->s, s->args[1]), numbers[i]) != 0 && suggest_edit(v->s, s->args[1]->span, numbers[i], "what it begins with"))
            return true;
    return false;
}

typedef bool Change(Vary *v, const Stmt *s);

static bool try_changed(Vary *v)
{
    static Change *const changes[] = {try_beginning, try_defined_numbers, try_siblings, try_other_in_place, try_result, try_transposed};

    for (size_t k = 0; k < TW_COUNT(changes); k++)
        for (int i = 0; i < v->computes.len; i++)
            if (changes[k](v, v->computes.data[i]))
                return true;
    return false;
}

static bool try_all_operands(Vary *v)
{
    for (int i = 0; i < v->computes.len; i++)
        if (try_operands(v, v->computes.data[i]))
            return true;
    return false;
}

/* `X[:, k * 64:(k + 1) * 64]` for `X[:, 0:64]`: the part of a tile that another statement takes. */
static bool try_parts_elsewhere(Vary *v)
{
    for (int i = 0; i < v->computes.len; i++)
        for (int a = 0; a < v->computes.data[i]->n_args; a++)
            for (int k = 0; k < v->computes.len; k++)
                for (int b = 0; b < v->computes.data[k]->n_args; b++) {
                    const Expr *own = v->computes.data[i]->args[a], *other = v->computes.data[k]->args[b];
                    bool parts = own->kind == EXPR_INDEX && other->kind == EXPR_INDEX && expr_base_name(own) && expr_base_name(other) && !expr_equal(own, other) && strcmp(expr_base_name(own), expr_base_name(other)) == 0;

                    if (parts && suggest_edit(v->s, own->span, suggest_expr(v->s, other), "the part that is taken elsewhere"))
                        return true;
                }
    return false;
}

/* `Fill U, 0` behind `Fill G, 0`, where both are summed up. */
static bool try_filled_alike(Vary *v)
{
    for (int i = 0; i < v->computes.len; i++)
        for (int k = 0; v->computes.data[i]->op_known && v->computes.data[i]->op == OP_FILL && k < v->computes.len; k++) {
            const Stmt *fill = v->computes.data[i], *sum = v->computes.data[k];
            bool lacks = sum->result == RESULT_ACCUMULATE && sum->dest->kind == EXPR_NAME && fill->n_args == 2 && !fill->listed;

            for (int m = 0; lacks && m < v->computes.len; m++)
                lacks = !(v->computes.data[m]->op_known && v->computes.data[m]->op == OP_FILL && v->computes.data[m]->n_args && expr_is_name(v->computes.data[m]->args[0], sum->dest->name));
            if (!lacks)
                continue;
            Stmt *added = suggest_like(v->s, fill);
            added->args = arena_array(v->s->arena, Expr *, 2);
            added->args[0] = sum->dest;
            added->args[1] = fill->args[1];
            if (try_behind(v, fill, added, "as another sum begins"))
                return true;
        }
    return false;
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

/* `Copy Sm as Mx`: a Copy of another tensor, or tile, or to another. */
static bool try_copied(Vary *v, const Stmt *copy)
{
    bool store = copy->to_space == SPACE_GLOBAL;
    const Names *lists[] = {&v->columns, &v->tiles};

    for (size_t k = 0; copy->as && k < TW_COUNT(lists); k++)
        for (int i = 0; i < lists[k]->len; i++) {
            Stmt *changed = suggest_like(v->s, copy);
            const char *name = lists[k]->data[i];

            changed->name = name;
            changed->as = strcmp(copy->as, name) == 0 ? NULL : copy->as;
            if ((store || unit_tensor(v->kernel, name)) && strcmp(copy->name, name) != 0 && suggest_stmt(v->s, copy, changed, "of this it is what the Operator says"))
                return true;
        }
    return false;
}

/* `Copy K` for `Copy V`: of another Input, to the tile of its name. */
static bool try_loaded(Vary *v, const Stmt *copy)
{
    for (int i = 0; copy->space == SPACE_GLOBAL && !copy->as && i < v->all.len; i++) {
        const Stmt *input = v->all.data[i];
        Stmt *changed = input->kind == STMT_INPUT && strcmp(input->name, copy->name) != 0 ? suggest_like(v->s, copy) : NULL;

        if (!changed)
            continue;
        changed->name = input->name;
        if (suggest_stmt(v->s, copy, changed, "of this it is what the Operator says"))
            return true;
    }
    return false;
}

static bool try_copies(Vary *v)
{
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_COPY && !v->all.data[i]->listed && (try_copied(v, v->all.data[i]) || try_loaded(v, v->all.data[i])))
            return true;
    return false;
}

/* Of a Copy that the stages of a ring, or what is read, show to be of another tensor. */
bool propose_other_input(Suggester *s)
{
    enum { MOST_TRIES = 40 };
    Vary v = s->agrees && s->stage == s->agrees && s->unit && s->unit->kind == UNIT_KERNEL && vary_definition(s) ? vary_kernel(s, s->unit) : (Vary){0};
    int tries = s->tries;
    bool strict = s->strict, found = false;

    s->tries = MOST_TRIES;
    s->strict = true;
    for (int i = 0; i < v.all.len && !found; i++)
        found = v.all.data[i]->kind == STMT_COPY && !v.all.data[i]->listed && try_loaded(&v, v.all.data[i]);
    s->tries = tries;
    s->strict = strict;
    return found;
}

/* ---- two loops ------------------------------------------------------------------------------------------- */

/* Whether a statement behind the k-th of the block reads the tile. */
static bool read_behind(const Block *block, int k, const char *tile)
{
    for (int i = k + 1; i < block->len; i++) {
        for (int a = 0; a < block->data[i]->n_args; a++)
            if (expr_mentions(block->data[i]->args[a], tile))
                return true;
        if (block->data[i]->where && expr_mentions(block->data[i]->where, tile))
            return true;
    }
    return false;
}

/* Whether a statement behind the k-th reads the tile as it is there. */
static bool is_taken(const Stmt *loop, int k, const char *tile)
{
    for (int i = k + 1; i < loop->body.len; i++) {
        const Stmt *s = loop->body.data[i];
        const char *made = vary_result(s);

        if (vary_takes(s, tile) || (s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL && strcmp(copy_tile(s), tile) == 0))
            return true;
        if (made && strcmp(made, tile) == 0)
            return false;
    }
    return false;
}

/* Whether one takes what the i-th makes, or is made of. */
static bool is_taken_behind(const Vary *v, const Stmt *loop, int i, int k)
{
    const Names *lists[] = {&v->tiles, &v->columns};
    bool found = false;

    for (size_t n = 0; n < TW_COUNT(lists); n++)
        for (int t = 0; t < lists[n]->len; t++)
            found |= is_taken(loop, k, lists[n]->data[t]) && vary_makes(loop, i, k, lists[n]->data[t]);
    return found;
}

/* What stands behind a sum that grows in a loop in a loop of its own, with what it takes. */
static bool try_split(Vary *v, const Stmt *loop, int k)
{
    const Block *body = &loop->body;
    const Stmt *sum = body->data[k];
    const char *indent = suggest_indent(v->s, loop->span.start), *within = suggest_indent(v->s, sum->span.start);
    Str text = str_new(v->s->arena);

    str_printf(&text, "\n%send\n%s%.*s", indent, indent, loop->span.end - loop->span.start, v->s->source->text + loop->span.start);
    for (int i = 0; i < k; i++)
        if (is_taken_behind(v, loop, i, k))
            str_printf(&text, "\n%s%s", within, suggest_text(v->s, body->data[i]));
    return suggest_edit(v->s, (Span){sum->span.end, sum->span.end}, str_text(&text), "when the sum is complete, in a loop of its own");
}

static bool try_two_loops(Vary *v)
{
    for (int i = 0; i < v->all.len; i++)
        for (int k = 0; v->all.data[i]->kind == STMT_FOR && k + 1 < v->all.data[i]->body.len; k++) {
            const Stmt *sum = v->all.data[i]->body.data[k];
            const char *name = sum->result == RESULT_ACCUMULATE || sum->n_with ? expr_base_name(sum->n_with ? sum->with[1] : sum->dest) : NULL;

            if (sum->kind == STMT_COMPUTE && name && read_behind(&v->all.data[i]->body, k, name) && try_split(v, v->all.data[i], k))
                return true;
        }
    return false;
}

/* ---- elsewhere ----------------------------------------------------------------------------------------- */

/* What a statement gives a value to, a branch or a loop within it as well. */
static bool gives(const Stmt *s, const char *name)
{
    const char *made = s->kind == STMT_COPY ? copy_tile(s) : s->kind == STMT_RESHAPE ? s->name : vary_result(s);
    bool found = made && strcmp(made, name) == 0;

    for (int i = 0; s->kind == STMT_COMPUTE && i < s->n_args && !s->dest; i++) /* in place */
        found |= expr_mentions(s->args[i], name);
    for (int i = 0; i < s->n_with; i++)
        found |= expr_mentions(s->with[i], name);
    for (int i = 0; i < s->body.len; i++)
        found |= gives(s->body.data[i], name);
    for (int i = 0; i < s->orelse.len; i++)
        found |= gives(s->orelse.data[i], name);
    return found;
}

static bool stores(const Stmt *s, const char *name)
{
    bool found = (s->kind == STMT_COPY && strcmp(copy_tile(s), name) == 0) || (s->kind == STMT_RESHAPE && strcmp(s->name, name) == 0);

    for (int i = 0; i < s->body.len; i++)
        found |= stores(s->body.data[i], name);
    for (int i = 0; i < s->orelse.len; i++)
        found |= stores(s->orelse.data[i], name);
    return found;
}

/* Whether it is not the same which of two Computes of a block is first, of one that begins with the other's result. */
static bool meet(const Stmt *s, const Stmt *other)
{
    const char *made = vary_result(s);
    bool found = !made || vary_takes(other, made) || gives(other, made) || stores(other, made);

    for (int i = 0; i < s->n_args; i++) {
        const char *name = expr_base_name(s->args[i]);
        found |= name && gives(other, name);
    }
    return found || s->where || s->n_with;
}

/* Its line in another place of its block, or behind the loop that it ends in, or before it. */
static bool try_moved_to(Vary *v, const Stmt *s, int at)
{
    Span line = suggest_line(v->s, s->span);
    const char *own = arena_printf(v->s->arena, "%s%s\n", suggest_indent(v->s, at), suggest_text(v->s, s));
    Fix out = {line, "", NULL}, in = {{at, at}, own, NULL};
    Fix edits[2] = {at <= line.start ? in : out, at <= line.start ? out : in};

    return at >= 0 && (at < line.start || at > line.end) && suggest_edits(v->s, edits, 2, "there it is what the Operator says");
}

/* Behind its loop, with the Copy before it that brings its last operand. */
static bool try_behind_with_copy(Vary *v, const Stmt *loop, int k)
{
    const Stmt *copy = loop->body.data[k], *s = k + 1 < loop->body.len ? loop->body.data[k + 1] : copy;
    bool brings = copy->kind == STMT_COPY && !copy->listed && s->kind == STMT_COMPUTE && !s->listed && s->n_args == 2 && expr_is_name(s->args[1], copy_tile(copy));
    int end = brings ? suggest_end(v->s, loop) : -1;
    const char *indent = suggest_indent(v->s, loop->span.start);
    Fix edits[] = {{suggest_line(v->s, copy->span), "", NULL}, {suggest_line(v->s, s->span), "", NULL}, {{end, end}, "", NULL}};

    if (end < 0)
        return false;
    edits[2].text = arena_printf(v->s->arena, "\n%s%s\n%s%s", indent, suggest_text(v->s, copy), indent, suggest_text(v->s, s));
    return suggest_edits(v->s, edits, 3, "once, behind the loop");
}

static bool try_places(Vary *v, const Block *block, const Stmt *loop)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool moves = s->kind == STMT_COMPUTE && !s->listed;

        for (int k = block->len - 1; moves && k >= 0; k--) { /* in front of the k-th, where that is another thing than one nearer */
            bool elsewhere = k > i + 1 ? meet(s, block->data[k - 1]) : k < i && meet(s, block->data[k]);

            if (elsewhere && try_moved_to(v, s, suggest_before(v->s, block->data[k]).start))
                return true;
        }
        if (moves && loop && (try_moved_to(v, s, suggest_before(v->s, loop).start) || (suggest_end(v->s, loop) >= 0 && try_moved_to(v, s, suggest_end(v->s, loop) + 1))))
            return true;
        for (int k = 0; s->kind == STMT_FOR && k < s->body.len; k++)
            if (try_behind_with_copy(v, s, k))
                return true;
        if (try_places(v, &s->body, s->kind == STMT_FOR ? s : loop) || try_places(v, &s->orelse, loop))
            return true;
    }
    return false;
}

static bool try_elsewhere(Vary *v)
{
    return try_places(v, &v->kernel->body, NULL);
}

/* What another statement says as well: once too often, before either is moved. */
static bool try_repeated(Vary *v)
{
    for (int i = v->computes.len - 1; i >= 0; i--)
        for (int k = 0; k < v->computes.len; k++)
            if (k != i && stmt_equal(v->computes.data[i], v->computes.data[k]) && suggest_edit(v->s, suggest_line(v->s, v->computes.data[i]->span), "", "without it it is what the Operator says"))
                return true;
    return false;
}

static bool try_without(Vary *v)
{
    for (int i = v->all.len - 1; i >= 0; i--) {
        const Stmt *s = v->all.data[i];

        bool adds = s->kind == STMT_COPY && s->result == RESULT_ACCUMULATE;

        if ((s->kind == STMT_COMPUTE || adds) && !s->listed && suggest_edit(v->s, suggest_line(v->s, s->span), "", "without it it is what the Operator says"))
            return true;
    }
    return false;
}

/* ---- entry ------------------------------------------------------------------------------------------------ */

/* An `else 0` for an operation that has none. */
static bool try_else(Vary *v, OpId op, const char *label)
{
    for (int i = v->computes.len - 1; i >= 0; i--) {
        const Stmt *s = v->computes.data[i];
        Stmt *changed = s->op_known && s->op == op && !s->otherwise ? suggest_like(v->s, s) : NULL;

        if (!changed)
            continue;
        changed->otherwise = expr_int(v->s->arena, 0);
        if (suggest_stmt(v->s, s, changed, label))
            return true;
    }
    return false;
}

/* `Divide O, L else 0`: of a row that has seen nothing. */
static bool try_quotients(Vary *v)
{
    return try_else(v, OP_DIVIDE, "where the divisor is 0");
}

/* `Mask H where ... else 0`: of what is summed up. */
static bool try_masks(Vary *v)
{
    return try_else(v, OP_MASK, "0 elsewhere");
}

bool propose_else_zero(Suggester *s)
{
    bool nan = strstr(s->diag->message, "is nan") != NULL, infinite = strstr(s->diag->message, "is inf") || strstr(s->diag->message, "is -inf");

    return (nan && vary_each(s, try_quotients)) || ((nan || infinite) && vary_each(s, try_masks));
}

/* Only a Divide has an `else`: that was meant, or none. */
bool propose_divide(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->otherwise ? s->stmt : NULL;
    Stmt *changed = stmt ? suggest_like(s, stmt) : NULL;

    if (!stmt)
        return false;
    changed->op = OP_DIVIDE;
    changed->op_name = op_info(OP_DIVIDE)->name;
    if (stmt->n_args == 2 && suggest_stmt(s, stmt, changed, "a quotient"))
        return true;
    changed = suggest_like(s, stmt);
    changed->otherwise = NULL;
    return suggest_stmt(s, stmt, changed, "without it");
}

bool propose_defined_number(Suggester *s)
{
    return vary_each(s, try_literals);
}

static bool try_beginnings(Vary *v)
{
    for (int i = 0; i < v->computes.len; i++)
        if (try_beginning(v, v->computes.data[i]))
            return true;
    return false;
}

/* There are few, and each is read by all that a loop does; but where something is not used that is the mistake. */
bool propose_other_beginning(Suggester *s)
{
    const Diags *diags = s->chain->diags;

    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == TW0442)
            return false;
    return vary_each(s, try_beginnings);
}

bool propose_missing_stmt(Suggester *s)
{
    return vary_each(s, try_products) || vary_each(s, try_functions) || vary_each(s, try_two_loops) || vary_each(s, try_done_alike) || vary_each(s, try_columns_in) || vary_each(s, try_inputs);
}

bool propose_changed_stmt(Suggester *s)
{
    return vary_each(s, try_parts_elsewhere) || vary_each(s, try_filled_alike) || vary_each(s, try_changed) || vary_each(s, try_copies);
}

bool propose_other_operand(Suggester *s)
{
    return vary_each(s, try_all_operands) || vary_each(s, try_columns) || vary_each(s, try_columns_of_copied);
}

/* Of a sum that is said to be wrong: another operation somewhere before. */
bool propose_other_operation(Suggester *s)
{
    enum { MOST_TRIES = 60 };
    Vary v = s->agrees && s->stage == s->agrees && s->unit && s->unit->kind == UNIT_KERNEL && vary_definition(s) ? vary_kernel(s, s->unit) : (Vary){0};
    int tries = s->tries;
    bool strict = s->strict, found = false;

    s->tries = MOST_TRIES;
    s->strict = true;
    for (int i = 0; i < v.computes.len && !found; i++)
        found = try_siblings(&v, v.computes.data[i]);
    s->tries = tries;
    s->strict = strict;
    return found;
}

bool propose_moved_stmt(Suggester *s)
{
    return vary_each(s, try_repeated) || vary_each(s, try_elsewhere);
}

bool propose_one_less(Suggester *s)
{
    return vary_each(s, try_without);
}
