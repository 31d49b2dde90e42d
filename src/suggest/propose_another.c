/* propose_another.c: of two softmaxes, or accumulators, the other one was meant; or a statement stands behind the branch that
 * makes what it reads.
 *
 *   Compute Softmax S2 with M1 and L1       Compute Softmax S2 with M2 and L2       where L2 is read and nothing makes it
 *   Compute GEMM S2, V and accumulate O1    Compute GEMM S2, V and accumulate O2    where O2 is
 *   Compute Divide O2, L1 and get new O2    Compute Divide O2, L2 and get new O2    each by its own sum
 *
 *   if Keep[j] > 0                          if Keep[j] > 0
 *     Compute Softmax S with M and L          Compute Softmax S with M and L
 *   end                                       Compute GEMM S, V and accumulate O
 *   Compute GEMM S, V and accumulate O      end
 */
#include <math.h>

#include "suggest/vary.h"

/* The name that the diagnostic is of. */
static const char *name_at(const Suggester *s)
{
    Span span = s->diag->span;

    return s->unit && s->unit->kind == UNIT_KERNEL && span.end > span.start ? suggest_quoted(s, span) : NULL;
}

/* ---- the state of another softmax ------------------------------------------------------------- */

/* M1 with what L2 has instead of L1: M2. */
static const char *companion(Suggester *s, const char *name, const char *from, const char *to)
{
    int same = suggest_alike(from, to), end = (int)(strlen(name) - strlen(from + same));

    return same && end > 0 && strcmp(name + end, from + same) == 0 ? arena_printf(s->arena, "%.*s%s", end, name, to + same) : NULL;
}

bool propose_own_state(Suggester *s)
{
    const char *name = name_at(s);
    Vary v = name ? vary_kernel(s, s->unit) : (Vary){0};

    for (int i = v.computes.len - 1; i >= 0; i--) {
        const Stmt *step = v.computes.data[i];
        const Expr *maximum = step->n_with == 2 && step->with[0]->kind == EXPR_NAME && step->with[1]->kind == EXPR_NAME ? step->with[0] : NULL;
        const char *other = maximum ? companion(s, maximum->name, step->with[1]->name, name) : NULL;
        Fix edits[2] = {{maximum ? maximum->span : step->span, other, NULL}, {maximum ? step->with[1]->span : step->span, name, NULL}};

        if (other && strcmp(step->with[1]->name, name) != 0 && suggest_edits(s, edits, 2, "the state of its own"))
            return true;
    }
    return false;
}

/* ---- another accumulator ------------------------------------------------------------------------ */

/* Something that is summed up goes to what is read and nothing writes: which, the definition tells. */
bool propose_own_accumulator(Suggester *s)
{
    const char *name = s->agrees && s->stage == s->agrees ? name_at(s) : NULL;
    Vary v = name ? vary_kernel(s, s->unit) : (Vary){0};
    bool strict = s->strict, found = false;

    s->strict = true;
    for (int i = v.computes.len - 1; i >= 0 && !found; i--) {
        const Stmt *sum = v.computes.data[i];

        found = sum->result == RESULT_ACCUMULATE && sum->dest->kind == EXPR_NAME && strcmp(sum->dest->name, name) != 0 && suggest_edit(s, sum->dest->span, name, "a sum of its own");
    }
    s->strict = strict;
    return found;
}

typedef struct Beginning {
    const char *name;
    double number; /* that it was filled with last */
} Beginning;

static void note_beginning(void *user, const Stmt *stmt)
{
    Beginning *b = user;
    bool fill = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_FILL && stmt->n_args == 2 && expr_is_name(stmt->args[0], b->name);
    const Expr *e = fill ? stmt->args[1] : NULL;
    bool less = e && e->kind == EXPR_UNARY && e->op == EO_NEG;

    e = less ? e->a : e;
    if (e && e->kind == EXPR_FLOAT)
        b->number = less ? -e->f : e->f;
}

/* `Max m, t and get new m` for `Add t, 0 and get new m`, where `m` begins at -inf. */
static bool try_extreme(Suggester *s, const Stmt *stmt)
{
    Beginning b = {.name = expr_base_name(stmt->dest)};
    Stmt *changed = suggest_like(s, stmt);

    suggest_each(&s->unit->body, note_beginning, &b);
    if (!b.name || !isinf(b.number) || !vary_copies(stmt))
        return false;
    changed->op = b.number < 0 ? OP_MAX : OP_MIN;
    changed->op_name = op_info(changed->op)->name;
    changed->args = arena_array(s->arena, Expr *, 2);
    changed->args[0] = stmt->dest;
    changed->args[1] = stmt->args[0];
    return suggest_stmt(s, stmt, changed, b.number < 0 ? "the largest of all turns" : "the least of all turns");
}

/* `Compute Add W, 0 and get new C` in a loop, of which the last turn's is left (TW0448). */
bool propose_summed(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && !s->stmt->listed && s->stmt->op_known && op_info(s->stmt->op)->class == OPC_ELEMENT && s->stmt->dest ? s->stmt : NULL;
    Stmt *changed = stmt ? suggest_like(s, stmt) : NULL;

    if (!changed)
        return false;
    changed->result = RESULT_ACCUMULATE;
    return try_extreme(s, stmt) || suggest_stmt(s, stmt, changed, "the sum of all turns");
}

/* Every turn of a loop gives it anew, and behind the loop it is read: what all turns give was meant (TW0440). */
typedef struct Anew {
    const char *name;
    const Stmt *found;
} Anew;

static void find_anew(void *user, const Stmt *stmt)
{
    Anew *anew = user;
    OpClass class = stmt->kind == STMT_COMPUTE && stmt->op_known ? op_info(stmt->op)->class : OPC_ELEMENT;

    if ((class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE || class == OPC_GEMM) && stmt->dest && expr_is_name(stmt->dest, anew->name) && stmt->result == RESULT_GET && !stmt->listed)
        anew->found = stmt;
}

bool propose_of_all_turns(Suggester *s)
{
    Anew anew = {.name = name_at(s)};

    for (int i = 0; anew.name && s->unit && i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind == STMT_FOR)
            suggest_each(&s->unit->body.data[i]->body, find_anew, &anew);
    Stmt *changed = anew.found ? suggest_like(s, anew.found) : NULL;
    if (!changed)
        return false;
    changed->result = RESULT_ACCUMULATE;
    return suggest_stmt(s, anew.found, changed, "what all turns give");
}

static bool accumulates(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_COMPUTE && s->result == RESULT_ACCUMULATE && s->dest && expr_is_name(s->dest, name)) ||
            accumulates(&s->body, name) || accumulates(&s->orelse, name))
            return true;
    }
    return false;
}

/* What is added up in a loop has another shape in each turn behind its Reshape: that of one turn was meant (TW0726). */
bool propose_of_this_turn(Suggester *s)
{
    const Stmt *loop = s->stmt && s->stmt->kind == STMT_FOR ? s->stmt : NULL;

    for (int i = 0; loop && i < loop->body.len; i++)
        for (int k = 0; k < i && loop->body.data[i]->kind == STMT_RESHAPE; k++) {
            const Stmt *sum = loop->body.data[k];
            bool found = sum->kind == STMT_COMPUTE && sum->result == RESULT_ACCUMULATE && sum->dest && expr_is_name(sum->dest, loop->body.data[i]->name);
            Stmt *changed = found ? suggest_like(s, sum) : NULL;

            if (!changed)
                continue;
            changed->result = RESULT_GET;
            if (suggest_stmt(s, sum, changed, "that of this turn"))
                return true;
        }
    return false;
}

/* The loop within that adds up what is reshaped behind it. */
static const Stmt *summing_loop(const Block *block, const char *name, int before)
{
    for (int i = 0; i < before; i++)
        if (block->data[i]->kind == STMT_FOR && accumulates(&block->data[i]->body, name))
            return block->data[i];
    return NULL;
}

/* What a loop within adds up goes on with the sum of the turn before, which its Reshape gave another shape (TW0726): it is set
 * in each turn, and with it what was set beside it and is added up there as well. */
bool propose_set_in_each_turn(Suggester *s)
{
    enum { MOST_SET = 7 };
    const Stmt *loop = s->stmt && s->stmt->kind == STMT_FOR ? s->stmt : NULL;
    const Block *round = s->depth > 1 ? &s->path[s->depth - 2]->body : s->unit ? &s->unit->body : NULL;

    for (int i = 0; loop && round && i < loop->body.len; i++) {
        const char *name = loop->body.data[i]->kind == STMT_RESHAPE ? loop->body.data[i]->name : NULL;
        const Stmt *sums = name ? summing_loop(&loop->body, name, i) : NULL;
        Str lines = str_new(s->arena);
        Fix edits[MOST_SET + 1];
        int n = 0;

        for (int k = 0; sums && k < round->len && round->data[k] != loop && n < MOST_SET; k++) {
            const Stmt *fill = round->data[k];
            const char *set = fill->kind == STMT_COMPUTE && !fill->listed && fill->op_known && fill->op == OP_FILL ? vary_result(fill) : NULL;

            if (!set || !accumulates(&sums->body, set))
                continue;
            edits[n++] = (Fix){suggest_line(s, fill->span), "", NULL};
            str_printf(&lines, "%s%s\n", suggest_indent(s, sums->span.start), suggest_text(s, fill));
        }
        if (sums && n == 0)
            str_printf(&lines, "%sCompute Fill %s, 0\n", suggest_indent(s, sums->span.start), name);
        if (!sums)
            continue;
        edits[n++] = (Fix){suggest_before(s, sums), str_text(&lines), NULL};
        if (suggest_edits(s, edits, n, "set to 0 in each turn, before the loop that adds up"))
            return true;
    }
    return false;
}

/* ---- another sum ----------------------------------------------------------------------------------- */

static bool is_sum(const Vary *v, const char *name)
{
    for (int i = 0; name && i < v->computes.len; i++)
        if (v->computes.data[i]->n_with == 2 && expr_is_name(v->computes.data[i]->with[1], name))
            return true;
    return false;
}

/* A quotient by the sum of another softmax. */
bool propose_own_sum(Suggester *s)
{
    Vary v = s->unit && s->unit->kind == UNIT_KERNEL ? vary_kernel(s, s->unit) : (Vary){0};

    for (int i = 0; i < v.computes.len; i++) {
        const Stmt *quotient = v.computes.data[i];
        const Expr *by = quotient->op_known && quotient->op == OP_DIVIDE && quotient->n_args == 2 && quotient->args[1]->kind == EXPR_NAME ? quotient->args[1] : NULL;

        for (int k = 0; by && is_sum(&v, by->name) && k < v.columns.len; k++)
            if (is_sum(&v, v.columns.data[k]) && strcmp(v.columns.data[k], by->name) != 0 && suggest_edit(s, by->span, v.columns.data[k], "the sum of its own softmax"))
                return true;
    }
    return false;
}

/* ---- into a branch ------------------------------------------------------------------------------------- */

static bool gives(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_COPY && strcmp(copy_tile(s), name) == 0) || (s->kind == STMT_COMPUTE && expr_is_name(compute_result(s), name)))
            return true;
    }
    return false;
}

static const Stmt *branch_before(const Block *block, const Stmt *stmt, const char *name)
{
    const Stmt *found = NULL;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i], *within = s->kind == STMT_FOR ? branch_before(&s->body, stmt, name) : NULL;

        found = within ? within : found;
        for (int k = i + 1; s->kind == STMT_IF && !s->orelse.len && k < block->len; k++)
            if (block->data[k] == stmt && gives(&s->body, name))
                found = s;
    }
    return found;
}

bool propose_into_branch(Suggester *s)
{
    const char *name = s->stmt && s->stmt->kind == STMT_COMPUTE && !s->stmt->listed ? name_at(s) : NULL;
    const Stmt *branch = name ? branch_before(&s->unit->body, s->stmt, name) : NULL, *last = branch ? branch->body.data[branch->body.len - 1] : NULL;
    Fix edits[2];

    if (!last || last->body.len)
        return false;
    edits[0] = (Fix){{last->span.end, last->span.end}, arena_printf(s->arena, "\n%s%s", suggest_indent(s, last->span.start), suggest_text(s, s->stmt)), NULL};
    edits[1] = (Fix){suggest_line(s, s->stmt->span), "", NULL};
    return suggest_edits(s, edits, 2, "in the branch that makes what it reads");
}
