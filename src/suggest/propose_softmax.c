/* propose_softmax.c: edits of what goes with an online softmax: the state that it keeps,
 * the factor that an accumulator is rescaled by, and the division by the sum.
 *
 *   Compute Subtract M_old, M and get alpha     a chain: what the factor is made of,
 *   Compute Exp alpha and get new alpha         and the multiplication itself
 *   Compute Multiply O, alpha and get new O
 */
#include "suggest/proposal.h"

typedef struct Chained {
    Suggester *s;
    const Block *block;
    VEC(const Stmt *) list;    /* in the order of the text */
    VEC(const char *) names;   /* what they compute */
} Chained;

static const char *result_of(const Stmt *stmt)
{
    const Expr *e = stmt->kind != STMT_COMPUTE ? NULL : compute_result(stmt);

    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

static bool is_multiply(const Stmt *stmt)
{
    return stmt->kind == STMT_COMPUTE && stmt->op_known && (stmt->op == OP_MULTIPLY || stmt->op == OP_DIVIDE) &&
           stmt->n_args == 2 && stmt->args[0]->kind == EXPR_NAME && stmt->args[1]->kind == EXPR_NAME;
}

/* The innermost loop round the statement. */
static const Stmt *loop_round(const Suggester *s)
{
    for (int i = s->depth - 1; i >= 0; i--)
        if (s->path[i]->kind == STMT_FOR)
            return s->path[i];
    return NULL;
}

/* ---- the factor ------------------------------------------------------------------------------ */

/* The other way round: M_old - M for M - M_old, and so on. */
static bool try_exchanged(Suggester *s, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *stmt = block->data[i];
        Stmt *changed;

        if (stmt->kind != STMT_COMPUTE || !stmt->op_known || stmt->op != OP_SUBTRACT || stmt->n_args != 2)
            continue;
        changed = suggest_like(s, stmt);
        changed->args = arena_array(s->arena, Expr *, 2);
        changed->args[0] = stmt->args[1];
        changed->args[1] = stmt->args[0];
        if (suggest_stmt(s, stmt, changed, "the factor is exp(M before - M after)"))
            return true;
    }
    return false;
}

/* All that computes the names, and what they are made of: up to the softmax's state. */
static void collect(Chained *c, const Stmt *multiply)
{
    for (int i = c->block->len - 1; i >= 0; i--) {
        const Stmt *stmt = c->block->data[i];
        bool taken = stmt == multiply || (stmt->kind == STMT_COMPUTE && !stmt->n_with && text_among(c->names.data, c->names.len, result_of(stmt)));

        if (!taken)
            continue;
        vec_push(c->s->arena, &c->list, stmt);
        for (int k = stmt == multiply ? 1 : 0; k < stmt->n_args; k++)
            if (stmt->args[k]->kind == EXPR_NAME)
                vec_push(c->s->arena, &c->names, stmt->args[k]->name);
    }
}

static bool try_without(Suggester *s, const Block *block, const Stmt *multiply)
{
    const char *label = "the compiler rescales";
    Chained c = {.s = s, .block = block};
    Fix edits[24];
    int n = 0;

    if (suggest_edit(s, suggest_line(s, multiply->span), "", label))
        return true;
    collect(&c, multiply);
    for (int i = c.list.len - 1; i >= 0 && n < (int)TW_COUNT(edits); i--)
        edits[n++] = (Fix){suggest_line(s, c.list.data[i]->span), "", NULL};
    return n > 1 && suggest_edits(s, edits, n, label);
}

/* Sets what is the state of a softmax of the same block, whose steps alone move it. */
static bool sets_state(const Block *block, const Stmt *stmt)
{
    const char *name = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->n_with == 0 ? result_of(stmt) : NULL;

    for (int i = 0; name && i < block->len; i++) {
        const Stmt *step = block->data[i];
        for (int k = 0; step->op == OP_SOFTMAX && k < step->n_with; k++)
            if (expr_is_name(step->with[k], name))
                return true;
    }
    return false;
}

static bool try_untouched_state(Suggester *s, const Block *block)
{
    for (int i = 0; i < block->len; i++)
        if (sets_state(block, block->data[i]) && suggest_edit(s, suggest_line(s, block->data[i]->span), "", "the softmax alone moves its state"))
            return true;
    return false;
}

/* `with L and M`: the maximum stands first. */
static bool try_exchanged_state(Suggester *s)
{
    Stmt *changed;

    if (!s->stmt || s->stmt->n_with != 2)
        return false;
    changed = suggest_like(s, s->stmt);
    changed->with = arena_array(s->arena, Expr *, 2);
    changed->with[0] = s->stmt->with[1];
    changed->with[1] = s->stmt->with[0];
    return suggest_stmt(s, s->stmt, changed, "the maximum first");
}

bool propose_rescale(Suggester *s)
{
    const Stmt *loop = loop_round(s);
    const char *acc = s->stmt ? result_of(s->stmt) : NULL;

    if (try_exchanged_state(s))
        return true;
    if (!loop || !acc)
        return false;
    if (try_exchanged(s, &loop->body))
        return true;
    for (int i = 0; i < loop->body.len; i++) {
        const Stmt *stmt = loop->body.data[i];

        if (is_multiply(stmt) && result_of(stmt) && strcmp(result_of(stmt), acc) == 0 &&
            try_without(s, &loop->body, stmt))
            return true;
    }
    return try_untouched_state(s, &loop->body);
}

/* ---- the state --------------------------------------------------------------------------------- */

/* What the loop makes of the softmax, and where it is accumulated. */
typedef struct Followed {
    Suggester *s;
    const Stmt *softmax;
    bool reached;
    VEC(const char *) names;
    VEC(const char *) sums;
} Followed;

static void follow(void *user, const Stmt *stmt)
{
    Followed *f = user;
    const char *result = result_of(stmt);
    bool takes = stmt == f->softmax;

    f->reached |= takes;
    for (int i = 0; f->reached && stmt->kind == STMT_COMPUTE && i < stmt->n_args; i++)
        takes |= stmt->args[i]->kind == EXPR_NAME && text_among(f->names.data, f->names.len, stmt->args[i]->name);
    if (!takes || !result)
        return;
    if (stmt->result != RESULT_ACCUMULATE)
        vec_push(f->s->arena, &f->names, result);
    else if (!text_among(f->sums.data, f->sums.len, result))
        vec_push(f->s->arena, &f->sums, result);
}

typedef struct Allocation {
    const char *name;
    const Stmt *found; /* NULL: none */
} Allocation;

static void find_allocation(void *user, const Stmt *stmt)
{
    Allocation *a = user;

    if (stmt->kind == STMT_ALLOCATE && stmt->space == SPACE_REGISTER && strcmp(stmt->name, a->name) == 0)
        a->found = stmt;
}

/* Columns of as many rows as the tile has, below it; a sketch allocates nothing. */
static bool allocate_state(Suggester *s, const char *tile, const Expr *const *state, Fix *edit)
{
    Allocation a = {.name = tile};
    Stmt *line;
    Str text = str_new(s->arena);

    suggest_each(&s->unit->body, find_allocation, &a);
    if (!a.found || a.found->listed || a.found->n_shape < 1)
        return false;
    line = suggest_like(s, a.found);
    line->shape = arena_array(s->arena, Expr *, 2);
    line->shape[0] = a.found->shape[0];
    line->shape[1] = expr_int(s->arena, 1);
    line->n_shape = 2;
    line->has_dtype = false;
    for (int i = 0; i < 2; i++) {
        Allocation own = {.name = state[i]->name};
        suggest_each(&s->unit->body, find_allocation, &own);
        line->name = state[i]->name;
        if (!own.found)
            str_printf(&text, "\n%s%s", suggest_indent(s, a.found->span.start), suggest_text(s, line));
    }
    *edit = (Fix){{a.found->span.end, a.found->span.end}, str_text(&text), NULL};
    return text.len > 0;
}

static Fix divide_behind(Suggester *s, const Stmt *loop, const Followed *f, const char *sum)
{
    int end = suggest_end(s, loop);
    Str text = str_new(s->arena);

    for (int i = 0; i < f->sums.len; i++)
        str_printf(&text, "\n%sCompute Divide %s, %s else 0 and get new %s", suggest_indent(s, loop->span.start),
                   f->sums.data[i], sum, f->sums.data[i]);
    return (Fix){{end, end}, str_text(&text), NULL};
}

/* A softmax without a state, of one tile of a row after the other. */
bool propose_state(Suggester *s)
{
    const Stmt *softmax = s->stmt;
    const char *tile = softmax && softmax->n_args == 1 && softmax->args[0]->kind == EXPR_NAME ? softmax->args[0]->name
                                                                                             : NULL;
    Stmt *online;

    if (!tile)
        return false;
    online = suggest_like(s, softmax);
    online->with = arena_array(s->arena, Expr *, 2);
    online->with[0] = expr_name(s->arena, arena_printf(s->arena, "%smax", tile));
    online->with[1] = expr_name(s->arena, arena_printf(s->arena, "%ssum", tile));
    online->n_with = 2;
    for (int i = s->depth - 1; i >= 0; i--) {
        Followed f = {.s = s, .softmax = softmax};
        Fix edits[3];
        int n = 0;

        if (s->path[i]->kind != STMT_FOR || suggest_end(s, s->path[i]) < 0)
            continue;
        suggest_each(&s->path[i]->body, follow, &f);
        n += allocate_state(s, tile, (const Expr *const *)online->with, &edits[n]);
        edits[n++] = (Fix){softmax->span, suggest_text(s, online), NULL};
        edits[n++] = divide_behind(s, s->path[i], &f, online->with[1]->name);
        if (f.sums.len && suggest_edits(s, edits, n, "keep the row's maximum and sum, and divide behind the loop"))
            return true;
    }
    return false;
}

/* A mask behind the softmax of its tile: to before it. */
bool propose_before_the_softmax(Suggester *s)
{
    const Stmt *mask = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_MASK && s->stmt->n_args ? s->stmt : NULL;
    const Stmt *loop = loop_round(s);
    const Block *block = loop ? &loop->body : s->unit ? &s->unit->body : NULL;

    for (int i = 0; mask && block && i < block->len; i++) {
        const Stmt *softmax = block->data[i];
        bool is = softmax->kind == STMT_COMPUTE && softmax->op_known && softmax->op == OP_SOFTMAX && softmax->n_args && softmax->args[0]->kind == EXPR_NAME;
        bool same = is && expr_equal(softmax->args[0], mask->args[0]), given = is && !same && softmax->dest && expr_equal(softmax->dest, mask->args[0]);
        Fix edits[2] = {{suggest_before(s, softmax), NULL, NULL}, {suggest_line(s, mask->span), "", NULL}};

        if ((!same && !given) || softmax->span.start > mask->span.start)
            continue;
        const char *text = suggest_text(s, mask);
        if (given)
            text = suggest_words(s, text, softmax->dest->name, softmax->args[0]->name);
        edits[0].text = arena_printf(s->arena, "%s%s\n", suggest_indent(s, softmax->span.start), text);
        if (suggest_edits(s, edits, 2, "before the softmax"))
            return true;
    }
    return false;
}

/* ---- a softmax of one's own ------------------------------------------------------------------------ */

/* Some row's maximum: of RowMax, Max, or a copy of one by `Add m, 0`. */
static bool is_maximum(const Block *block, const char *name, int depth)
{
    for (int i = 0; i < block->len && depth < 4; i++) {
        const Stmt *stmt = block->data[i];
        bool makes = stmt->kind == STMT_COMPUTE && stmt->op_known && result_of(stmt) && strcmp(result_of(stmt), name) == 0;

        if (makes && (stmt->op == OP_ROW_MAX || stmt->op == OP_MAX))
            return true;
        if (makes && stmt->op == OP_ADD && stmt->n_args == 2 && stmt->args[0]->kind == EXPR_NAME && strcmp(stmt->args[0]->name, name) != 0 &&
            is_maximum(block, stmt->args[0]->name, depth + 1))
            return true;
        for (int k = 0; stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_MAX && k < stmt->n_args; k++)
            if (expr_is_name(stmt->args[k], name))
                return true;
    }
    return false;
}

static const Stmt *difference_of_maxima(const Block *block, int i)
{
    const Stmt *stmt = block->data[i];
    bool is = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_SUBTRACT && stmt->n_args == 2 && stmt->args[0]->kind == EXPR_NAME &&
              stmt->args[1]->kind == EXPR_NAME;

    return is && is_maximum(block, stmt->args[0]->name, 0) && is_maximum(block, stmt->args[1]->name, 0) ? stmt : NULL;
}

/* Its factor is the reciprocal, or to another base than the exponentials. */
static bool try_other_factor(Suggester *s, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *difference = difference_of_maxima(block, i);
        Stmt *changed = difference ? suggest_like(s, difference) : NULL;

        if (!difference)
            continue;
        changed->args = arena_array(s->arena, Expr *, 2);
        changed->args[0] = difference->args[1];
        changed->args[1] = difference->args[0];
        if (suggest_stmt(s, difference, changed, "the factor is exp(M before - M after)"))
            return true;
        for (int k = i + 1; k < block->len; k++) {
            const Stmt *stmt = block->data[k];
            bool factor = stmt->kind == STMT_COMPUTE && stmt->op_known && op_is_exponential(stmt->op) && stmt->n_args == 1 &&
                          result_of(difference) && expr_is_name(stmt->args[0], result_of(difference));
            if (factor && suggest_edit(s, stmt->op_span, stmt->op == OP_EXP ? "Exp2" : "Exp", "to the base of the exponentials"))
                return true;
        }
    }
    return false;
}

/* The program multiplies the sum, but behind what is added. */
static bool try_earlier(Suggester *s, const Stmt *loop, const char *sum)
{
    for (int i = 0; i < loop->body.len; i++) {
        const Stmt *stmt = loop->body.data[i];
        Fix edits[2] = {{suggest_before(s, s->stmt), NULL, NULL}, {suggest_line(s, stmt->span), "", NULL}};

        if (!is_multiply(stmt) || stmt->span.start < s->stmt->span.start || !result_of(stmt) || strcmp(result_of(stmt), sum) != 0)
            continue;
        edits[0].text = arena_printf(s->arena, "%s%s\n", suggest_indent(s, s->stmt->span.start), suggest_text(s, stmt));
        if (suggest_edits(s, edits, 2, "before it is added to"))
            return true;
    }
    return false;
}

/* What is multiplied by some factor that the loop computes, before it is added to. */
static bool try_factor(Suggester *s, const Stmt *loop, const char *sum)
{
    for (int i = 0; i < loop->body.len; i++) {
        const Stmt *stmt = loop->body.data[i];
        bool factor = stmt->kind == STMT_COMPUTE && stmt->op_known && op_is_exponential(stmt->op) && stmt->span.start < s->stmt->span.start;

        if (factor && result_of(stmt) && strcmp(result_of(stmt), sum) != 0 &&
            suggest_edit(s, suggest_before(s, s->stmt),
                         arena_printf(s->arena, "%sCompute Multiply %s, %s and get new %s\n", suggest_indent(s, s->stmt->span.start), sum, result_of(stmt), sum),
                         "in units of the new maximum"))
            return true;
    }
    return false;
}

/* `Max M, t and get m`: at the end of the loop m is the next iteration's M. */
static bool try_kept_maximum(Suggester *s, const Stmt *loop)
{
    int end = suggest_end(s, loop);

    while (end > 0 && s->source->text[end - 1] != '\n')
        end--;
    for (int i = 0; end > 0 && i < loop->body.len; i++) {
        const Stmt *stmt = loop->body.data[i];
        bool larger = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_MAX && stmt->n_args == 2 && result_of(stmt);

        for (int k = 0; larger && k < 2; k++)
            if (stmt->args[k]->kind == EXPR_NAME && strcmp(stmt->args[k]->name, result_of(stmt)) != 0 &&
                suggest_edit(s, (Span){end, end}, arena_printf(s->arena, "%sCompute Add %s, 0 and get new %s\n", suggest_indent(s, stmt->span.start),
                                                              result_of(stmt), stmt->args[k]->name),
                             "the next iteration's maximum"))
                return true;
    }
    return false;
}

static void find_exp2(void *user, const Stmt *stmt)
{
    bool *found = user;

    *found |= stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_EXP2;
}

/* The maximum before is kept, and what the loop adds up is multiplied by what it differs by. */
static bool try_rescaled(Suggester *s, const Stmt *loop, const Stmt *larger)
{
    const char *m = result_of(larger), *old = arena_printf(s->arena, "%s_old", m), *indent = suggest_indent(s, larger->span.start);
    Allocation a = {.name = m}, own = {.name = old};
    bool binary = false;
    Fix edits[16];
    int n = 0;

    suggest_each(&s->unit->body, find_allocation, &a);
    suggest_each(&s->unit->body, find_allocation, &own);
    suggest_each(&loop->body, find_exp2, &binary);
    if (own.found || (a.found && a.found->listed))
        return false;
    if (a.found) {
        Stmt *line = suggest_like(s, a.found);
        line->name = old;
        edits[n++] = (Fix){{a.found->span.end, a.found->span.end}, arena_printf(s->arena, "\n%s%s", suggest_indent(s, a.found->span.start), suggest_text(s, line)), NULL};
    }
    edits[n++] = (Fix){larger->span, arena_printf(s->arena, "Compute Add %s, 0 and get %s\n%s%s\n%sCompute Subtract %s, %s and get new %s\n%sCompute %s %s and get new %s",
                                                  m, old, indent, suggest_text(s, larger), indent, old, m, old, indent, binary ? "Exp2" : "Exp", old, old), NULL};
    for (int i = 0; i < loop->body.len && n < (int)TW_COUNT(edits); i++) {
        const Stmt *stmt = loop->body.data[i];
        const char *sum = stmt->kind == STMT_COMPUTE && stmt->result == RESULT_ACCUMULATE ? result_of(stmt) : NULL;
        if (sum && stmt->span.start > larger->span.start)
            edits[n++] = (Fix){suggest_before(s, stmt), arena_printf(s->arena, "%sCompute Multiply %s, %s and get new %s\n", indent, sum, old, sum), NULL};
    }
    return suggest_edits(s, edits, n, "what was added up, in units of the new maximum");
}

static const Stmt *computed_by(const Block *block, OpId op, const char *operand, int from)
{
    for (int i = from; i < block->len; i++) {
        const Stmt *stmt = block->data[i];
        if (stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == op && stmt->n_args && expr_is_name(stmt->args[0], operand) && result_of(stmt))
            return stmt;
    }
    return NULL;
}

/* A maximum, exponentials and their sum, of each turn by itself: a softmax that keeps the state from turn to turn.
 *
 *   RowMax S and get m; Subtract S, m and get P; Exp P; RowSum P and accumulate l    Softmax S with m and l and get P */
static bool try_softmax(Suggester *s, const Stmt *loop, int at)
{
    const Block *body = &loop->body;
    const Stmt *max = body->data[at];
    bool is_max = max->kind == STMT_COMPUTE && max->op_known && max->op == OP_ROW_MAX && max->n_args == 1 && max->dest && result_of(max);
    const char *scores = is_max ? expr_base_name(max->args[0]) : NULL;
    const Stmt *minus = scores ? computed_by(body, OP_SUBTRACT, scores, at + 1) : NULL;
    const Stmt *exp = minus ? computed_by(body, OP_EXP, result_of(minus), at + 1) : NULL;
    const Stmt *sum = exp ? computed_by(body, OP_ROW_SUM, result_of(exp), at + 1) : NULL;

    if (!sum || minus->n_args != 2 || !expr_is_name(minus->args[1], result_of(max)) || sum->result != RESULT_ACCUMULATE ||
        minus->span.start > exp->span.start || exp->span.start > sum->span.start)
        return false;
    const char *weights = result_of(exp), *gives = strcmp(weights, scores) == 0 ? "" : arena_printf(s->arena, " and get %s", weights);
    Fix edits[] = {{max->span, arena_printf(s->arena, "Compute Softmax %s with %s and %s%s", scores, result_of(max), result_of(sum), gives), NULL},
                   {suggest_line(s, minus->span), "", NULL},
                   {suggest_line(s, exp->span), "", NULL},
                   {suggest_line(s, sum->span), "", NULL}};
    return suggest_edits(s, edits, (int)TW_COUNT(edits), "the maximum and the sum are kept from turn to turn, and what was added up follows them");
}

bool propose_own_rescale(Suggester *s)
{
    const Stmt *loop = loop_round(s);
    const char *sum = s->stmt ? result_of(s->stmt) : NULL;

    if (!loop || !sum)
        return false;
    if (try_other_factor(s, &loop->body) || try_earlier(s, loop, sum) || try_factor(s, loop, sum) || try_kept_maximum(s, loop))
        return true;
    for (int i = 0; i < loop->body.len; i++) {
        const Stmt *stmt = loop->body.data[i];
        if (stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_MAX && result_of(stmt) && try_rescaled(s, loop, stmt))
            return true;
    }
    for (int i = 0; i < loop->body.len; i++)
        if (try_softmax(s, loop, i))
            return true;
    return false;
}

/* ---- the sum ------------------------------------------------------------------------------------- */

/* `Divide O, M` where M is the maximum: the sum is the divisor. */
static bool try_divisor(Suggester *s, const Block *block, const Stmt *softmax)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *stmt = block->data[i];
        if (stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_DIVIDE && stmt->n_args == 2 &&
            stmt->span.start > softmax->span.start && softmax->with[0]->kind == EXPR_NAME &&
            expr_is_name(stmt->args[1], softmax->with[0]->name) &&
            suggest_edit(s, stmt->args[1]->span, softmax->with[1]->name, "divide by the sum"))
            return true;
    }
    return false;
}

/* The softmax whose maximum has the name that the diagnostic is of. */
typedef struct Maximum {
    const char *name;
    const Stmt *softmax;
} Maximum;

static void find_maximum(void *user, const Stmt *stmt)
{
    Maximum *m = user;

    if (stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_SOFTMAX && stmt->n_with == 2 && expr_is_name(stmt->with[0], m->name))
        m->softmax = stmt;
}

static const Stmt *softmax_of_maximum(Suggester *s)
{
    int len = s->diag->span.end - s->diag->span.start;
    Maximum m = {arena_strndup(s->arena, s->source->text + s->diag->span.start, (size_t)len), NULL};

    if (s->unit)
        suggest_each(&s->unit->body, find_maximum, &m);
    return m.softmax;
}

bool propose_exchanged_state(Suggester *s)
{
    const Stmt *softmax = softmax_of_maximum(s);
    Stmt *changed = softmax ? suggest_like(s, softmax) : NULL;

    if (!softmax)
        return false;
    changed->with = arena_array(s->arena, Expr *, 2);
    changed->with[0] = softmax->with[1];
    changed->with[1] = softmax->with[0];
    return suggest_stmt(s, softmax, changed, "the maximum first");
}

bool propose_sum_of_state(Suggester *s)
{
    const Stmt *softmax = softmax_of_maximum(s);

    return softmax && softmax->with[1]->kind == EXPR_NAME && suggest_edit(s, s->diag->span, softmax->with[1]->name, "take the sum");
}

static void find_stateless(void *user, const Stmt *stmt)
{
    const Stmt **softmax = user;

    if (stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_SOFTMAX && stmt->n_with == 0 && stmt->n_args == 1)
        *softmax = stmt;
}

typedef struct Uses {
    const char *name;
    bool any;
} Uses;

static void find_use(void *user, const Stmt *stmt)
{
    Uses *u = user;

    for (int i = 0; i < stmt->n_args; i++)
        u->any |= expr_mentions(stmt->args[i], u->name);
    for (int i = 0; i < stmt->n_with; i++)
        u->any |= expr_mentions(stmt->with[i], u->name);
    u->any |= (stmt->dest && expr_mentions(stmt->dest, u->name)) || (stmt->where && expr_mentions(stmt->where, u->name));
}

/* A column that is allocated, and that nothing else names; NULL: none. */
static const char *free_column(Suggester *s)
{
    const char *found = NULL;

    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        bool column = stmt->kind == STMT_ALLOCATE && stmt->space == SPACE_REGISTER && stmt->n_shape == 2 && stmt->shape[1]->kind == EXPR_INT && stmt->shape[1]->i == 1;
        Uses uses = {.name = stmt->name};

        if (column && !found)
            suggest_each(&s->unit->body, find_use, &uses);
        found = column && !found && !uses.any ? stmt->name : found;
    }
    return found;
}

/* `Divide O, L` where no softmax has L: the one that there is has it as its sum. */
bool propose_sum_of_softmax(Suggester *s)
{
    int len = s->diag->span.end - s->diag->span.start, n;
    const char *sum = arena_strndup(s->arena, s->source->text + s->diag->span.start, (size_t)len), *maximum;
    const Stmt *softmax = NULL;
    bool divides = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_DIVIDE;
    Fix edits[2];

    if (!divides || !s->unit || s->stmt->n_args != 2 || !expr_is_name(s->stmt->args[1], sum))
        return false;
    suggest_each(&s->unit->body, find_stateless, &softmax);
    if (!softmax || softmax->args[0]->kind != EXPR_NAME)
        return false;
    Stmt *online = suggest_like(s, softmax);
    maximum = free_column(s);
    online->with = arena_array(s->arena, Expr *, 2);
    online->with[0] = expr_name(s->arena, maximum ? maximum : arena_printf(s->arena, "%smax", softmax->args[0]->name));
    online->with[1] = expr_name(s->arena, sum);
    online->n_with = 2;
    online->result = RESULT_NONE;
    online->dest = NULL;
    n = allocate_state(s, softmax->args[0]->name, (const Expr *const *)online->with, &edits[0]);
    edits[n++] = (Fix){softmax->span, suggest_text(s, online), NULL};
    return suggest_edits(s, edits, n, "its maximum and its sum go from tile to tile");
}

/* A sum that nothing uses: what was accumulated is divided by it, behind the loop. */
bool propose_quotient(Suggester *s)
{
    const Stmt *loop = loop_round(s), *softmax = s->stmt;
    const char *sum = softmax && softmax->n_with == 2 && softmax->with[1]->kind == EXPR_NAME ? softmax->with[1]->name
                                                                                            : NULL;
    int end = loop ? suggest_end(s, loop) : -1;

    if (sum && s->unit && try_divisor(s, &s->unit->body, softmax))
        return true;

    for (int i = 0; sum && end >= 0 && i < loop->body.len; i++) {
        const Stmt *stmt = loop->body.data[i];
        const char *acc = stmt->result == RESULT_ACCUMULATE ? result_of(stmt) : NULL;

        if (acc && suggest_edit(s, (Span){end, end},
                                arena_printf(s->arena, "\n%sCompute Divide %s, %s else 0 and get new %s",
                                             suggest_indent(s, loop->span.start), acc, sum, acc),
                                "divide by it, behind the loop"))
            return true;
    }
    return false;
}

/* ---- what each iteration writes anew ------------------------------------------------------------ */

static bool try_sum(Suggester *s, const Stmt *stmt)
{
    Stmt *summed;

    if (!stmt || !stmt->op_known || !stmt->dest || stmt->result == RESULT_ACCUMULATE ||
        (stmt->op != OP_GEMM && stmt->op != OP_ROW_SUM && stmt->op != OP_COL_SUM))
        return false;
    summed = suggest_like(s, stmt);
    summed->result = RESULT_ACCUMULATE;
    return suggest_stmt(s, stmt, summed, "sum them up");
}

/* A product of each iteration, of which the diagnostic names the result. */
bool propose_sum(Suggester *s)
{
    int len = s->diag->span.end - s->diag->span.start;
    Maker maker = {.name = arena_strndup(s->arena, s->source->text + s->diag->span.start, (size_t)len),
                   .before = s->diag->span.start};

    if (s->unit)
        suggest_each(&s->unit->body, suggest_maker, &maker);
    return try_sum(s, maker.last);
}

/* A product that is to be summed up; else what starts before the loop. */
bool propose_kept(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE ? s->stmt : NULL;

    if (try_sum(s, stmt))
        return true;
    for (int i = s->depth - 2; stmt && i >= 0; i--) {
        Fix edits[2] = {{suggest_before(s, s->path[i]), NULL, NULL}, {suggest_line(s, stmt->span), "", NULL}};
        edits[0].text = arena_printf(s->arena, "%s%s\n", suggest_indent(s, s->path[i]->span.start), suggest_text(s, stmt));
        if (s->path[i]->kind == STMT_FOR && suggest_edits(s, edits, 2, "set it before the loop"))
            return true;
    }
    return stmt && stmt->op_known && op_info(stmt->op)->class == OPC_FILL && propose_removal(s);
}
