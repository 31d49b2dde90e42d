/* propose_unused.c: edits where what is computed or copied is never used (TW0442), though it was meant to be.
 *
 *   Compute Add L, z and get new L                  ... and behind it            a sum that divides nothing
 *                                                   Compute Divide O, L else 0 and get new O
 *   Compute Max m, mt and get m2                    Compute Max m, mt and get new m          a result of another name
 *   Compute GEMM Q, K.T and get S                   Compute GEMM Qr, Kr.T and accumulate S   replaced before it is used
 *   Compute GEMM Qr, Kr.T and get S
 *   Compute GEMM X, Wg and accumulate G             Compute GEMM X, Wu and accumulate U      another operand, used twice
 *   Compute GEMM X, Wg and accumulate U
 *
 * Likewise where it is used behind the loop that makes it anew each turn (TW0440):
 *
 *   for k = 0:n                                     for k = 0:n
 *     Compute Define s (BM, 1) as scales[k]           Compute Define s (BM, 1) as scales[k]
 *     Compute Add P, 0 and accumulate C               Compute Multiply P, s and get new P
 *   end                                               Compute Add P, 0 and accumulate C
 *   Compute Multiply C, s and get new C             end
 */
#include "suggest/cuts.h"

typedef VEC(const Stmt *) Stmts;

typedef struct Computes {
    Arena *arena;
    Stmts list;
} Computes;

static void note_compute(void *user, const Stmt *stmt)
{
    Computes *c = user;

    if (stmt->kind == STMT_COMPUTE && !stmt->listed)
        vec_push(c->arena, &c->list, stmt);
}

static Stmts computes_of(Suggester *s)
{
    Computes c = {.arena = s->arena};

    if (s->unit && s->unit->kind == UNIT_KERNEL)
        suggest_each(&s->unit->body, note_compute, &c);
    return c.list;
}

/* The name that the diagnostic says is unused: of a result, or a tile that is copied. */
static const char *unused_name(const Suggester *s)
{
    if (!s->stmt)
        return NULL;
    return s->stmt->kind == STMT_COPY ? copy_tile(s->stmt) : s->stmt->kind == STMT_COMPUTE && compute_result(s->stmt) ? expr_base_name(compute_result(s->stmt)) : NULL;
}

/* ---- sums ------------------------------------------------------------------------------------------ */

static bool accumulates(const Stmt *stmt, OpId op)
{
    return stmt->op_known && stmt->op == op && stmt->result == RESULT_ACCUMULATE && stmt->dest && stmt->dest->kind == EXPR_NAME;
}

/* The sum of a softmax, changed behind its loop: what products of its weights gave is divided there. */
bool propose_divisor(Suggester *s)
{
    Stmts all = computes_of(s);
    const char *sum = s->depth == 1 ? unused_name(s) : NULL;
    bool of_softmax = false;

    for (int i = 0; sum && i < all.len; i++) {
        const Stmt *stmt = all.data[i];
        of_softmax |= stmt->n_with == 2 && expr_is_name(stmt->with[1], sum);
        if (!of_softmax || !accumulates(stmt, OP_GEMM))
            continue;
        const char *text = arena_printf(s->arena, "\n%sCompute Divide %s, %s else 0 and get new %s", suggest_indent(s, s->stmt->span.start), stmt->dest->name, sum, stmt->dest->name);
        if (suggest_edit(s, (Span){s->stmt->span.end, s->stmt->span.end}, text, "divide by it"))
            return true;
    }
    return false;
}

/* ---- results --------------------------------------------------------------------------------------- */

/* An operand that was to be replaced. */
bool propose_new_operand(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->dest && s->stmt->result == RESULT_GET ? s->stmt : NULL;

    for (int i = 0; stmt && s->depth > 1 && i < stmt->n_args; i++) {
        Stmt *changed = suggest_like(s, stmt);
        changed->dest = stmt->args[i];
        changed->result = RESULT_GET_NEW;
        if (stmt->args[i]->kind == EXPR_NAME && suggest_stmt(s, stmt, changed, "what the next turn begins with"))
            return true;
    }
    return false;
}

/* A product that the next one replaces: their sum. */
bool propose_both_products(Suggester *s)
{
    Stmts all = computes_of(s);
    const char *name = s->stmt && s->stmt->op_known && s->stmt->op == OP_GEMM ? unused_name(s) : NULL;

    for (int i = 0; name && i < all.len; i++) {
        const Stmt *stmt = all.data[i];
        bool replaces = stmt->span.start > s->stmt->span.start && stmt->op_known && stmt->op == OP_GEMM && stmt->result != RESULT_ACCUMULATE && stmt->dest && expr_is_name(stmt->dest, name);
        Stmt *changed = replaces ? suggest_like(s, stmt) : NULL;
        if (!changed)
            continue;
        changed->result = RESULT_ACCUMULATE;
        return suggest_stmt(s, stmt, changed, "the sum of both");
    }
    return false;
}

/* ---- factors of each turn ----------------------------------------------------------------------------- */

static bool adds_to(const Stmt *s, const char *tile)
{
    bool sum = s->kind == STMT_COMPUTE && s->op_known && s->dest && expr_is_name(s->dest, tile);

    return sum && (s->result == RESULT_ACCUMULATE || (s->op == OP_ADD && s->n_args == 2 && (expr_is_name(s->args[0], tile) || expr_is_name(s->args[1], tile))));
}

/* The statement of the block that adds to a tile. */
static const Stmt *sum_in(const Block *block, const char *tile)
{
    for (int i = 0; i < block->len; i++)
        if (adds_to(block->data[i], tile))
            return block->data[i];
    return NULL;
}

/* `Compute Multiply P, s and get new P`, of what is added to C, for that of C. */
static const char *factor_of(Suggester *s, const Stmt *sum, const char *name)
{
    Stmt *factor = suggest_like(s, s->stmt);

    factor->args = arena_array(s->arena, Expr *, 2);
    factor->args[0] = expr_name(s->arena, name);
    factor->args[1] = s->stmt->args[1];
    factor->dest = expr_name(s->arena, name);
    return arena_printf(s->arena, "%s%s\n", suggest_indent(s, sum->span.start), suggest_text(s, factor));
}

/* A product gets a tile of its own, that is multiplied and then added. */
static bool try_product_apart(Suggester *s, const Stmt *sum)
{
    const char *own = arena_printf(s->arena, "%s_part", sum->dest->name), *indent = suggest_indent(s, sum->span.start);
    Cuts cuts = cuts_of(s);
    const Stmt *tile = cuts_tile(&cuts, sum->dest->name, SPACE_REGISTER);
    Stmt *product = suggest_like(s, sum), *like = tile ? suggest_like(s, tile) : NULL;
    Fix edits[3];
    int n = 0;

    product->result = RESULT_GET;
    product->dest = expr_name(s->arena, own);
    if (like) {
        like->name = own;
        edits[n++] = (Fix){suggest_before(s, tile), arena_printf(s->arena, "%s%s\n", suggest_indent(s, tile->span.start), suggest_text(s, like)), NULL};
    }
    edits[n++] = (Fix){suggest_line(s, sum->span), arena_printf(s->arena, "%s%s\n%s%sCompute Add %s, 0 and accumulate %s\n", indent, suggest_text(s, product), factor_of(s, sum, own), indent, own, sum->dest->name), NULL};
    edits[n++] = (Fix){suggest_line(s, s->stmt->span), "", NULL};
    return suggest_edits(s, edits, n, "what each turn adds, before it is added");
}

bool propose_each_turn(Suggester *s)
{
    const Stmt *stmt = s->depth == 1 && s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known ? s->stmt : NULL;
    bool factor = stmt && (stmt->op == OP_MULTIPLY || stmt->op == OP_DIVIDE) && stmt->n_args == 2 && stmt->args[0]->kind == EXPR_NAME && stmt->args[1]->kind == EXPR_NAME;

    for (int i = 0; factor && s->unit && i < s->unit->body.len; i++) {
        const Stmt *loop = s->unit->body.data[i], *sum = loop->kind == STMT_FOR && loop->span.start < stmt->span.start ? sum_in(&loop->body, stmt->args[0]->name) : NULL;
        const Expr *added = sum && sum->n_args ? sum->args[sum->n_args == 2 && expr_is_name(sum->args[0], stmt->args[0]->name)] : NULL;
        if (!added || !block_mentions(&loop->body, stmt->args[1]->name))
            continue;
        if (sum->op_known && sum->op == OP_GEMM)
            return try_product_apart(s, sum);
        Fix edits[] = {{suggest_before(s, sum), factor_of(s, sum, expr_base_name(added)), NULL}, {suggest_line(s, stmt->span), "", NULL}};
        return added->kind == EXPR_NAME && suggest_edits(s, edits, 2, "what each turn adds, before it is added");
    }
    return false;
}

/* ---- operands -------------------------------------------------------------------------------------- */

/* A tile that nothing reads where another is read twice, and the definition says which is meant. */
bool propose_instead(Suggester *s)
{
    Stmts all = computes_of(s);
    const char *name = s->stage == s->agrees && s->stmt && s->stmt->kind == STMT_COPY ? unused_name(s) : NULL;
    bool strict = s->strict, found = false;

    s->strict = true;
    for (int i = all.len - 1; name && !found && i >= 0; i--)
        for (int k = all.data[i]->n_args - 1; !found && k >= 0; k--) {
            const Expr *e = all.data[i]->args[k];

            while (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_INDEX || e->kind == EXPR_SPACE) /* a part, or a stage of it */
                e = e->a;
            found = e->kind == EXPR_NAME && suggest_edit(s, e->span, name, "with it the Kernel agrees with the Operator");
        }
    s->strict = strict;
    return found;
}
