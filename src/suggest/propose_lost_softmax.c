/* propose_lost_softmax.c: a loop multiplies scores whose softmax is missing, and what reads the softmax's state shows it.
 *
 *   Compute Mask S where ...                    Compute Mask S where ...
 *   Compute GEMM S, V and accumulate O          Compute Softmax S with M and L
 *                                               Compute GEMM S, V and accumulate O
 *
 *   Compute Mask S where ...                    Compute Mask S where ...
 *   Compute GEMM P, V and accumulate O          Compute Softmax S with M and L and get P
 *                                               Compute GEMM P, V and accumulate O
 *
 * The state is what is read and nothing makes: of two names one is the maximum, the other the sum. */
#include "suggest/vary.h"

enum { MOST_TRIES = 24 };

typedef struct Lost {
    Vary *v;
    const char *said; /* the name that the diagnostic is of */
    Names state;      /* columns that nothing makes, this one among them */
} Lost;

/* ---- the state ------------------------------------------------------------------------------------ */

static bool makes(const Stmt *s, const char *name)
{
    bool state = false;

    for (int i = 0; i < s->n_with; i++)
        state |= expr_is_name(s->with[i], name);
    return state || (s->kind == STMT_COPY && s->to_space != SPACE_GLOBAL && strcmp(copy_tile(s), name) == 0) || (vary_result(s) && strcmp(vary_result(s), name) == 0);
}

static bool is_made(const Vary *v, const char *name)
{
    for (int i = 0; i < v->all.len; i++)
        if (makes(v->all.data[i], name))
            return true;
    return false;
}

static bool is_number(const Vary *v, const char *name)
{
    return vary_has(&v->sizes, name) || vary_has(&v->counters, name) || unit_tensor(v->kernel, name) ||
           block_find(&v->definition->body, STMT_PARAM, name) || block_find(&v->definition->body, STMT_LET, name);
}

static void note_state(Lost *l, const char *name)
{
    if (name && !vary_has(&l->state, name) && !is_made(l->v, name) && !is_number(l->v, name))
        vec_push(l->v->s->arena, &l->state, name);
}

/* What the diagnostic is of first; code may have allocated a maximum that nothing reads. */
static void find_state(Lost *l)
{
    const Vary *v = l->v;

    note_state(l, l->said);
    for (int i = 0; i < v->computes.len; i++)
        for (int k = 0; k < v->computes.data[i]->n_args; k++)
            if (v->computes.data[i]->args[k]->kind == EXPR_NAME && !vary_has(&v->tiles, v->computes.data[i]->args[k]->name))
                note_state(l, v->computes.data[i]->args[k]->name);
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_ALLOCATE && vary_has(&v->columns, v->all.data[i]->name))
            note_state(l, v->all.data[i]->name);
}

static bool allocates(const Vary *v)
{
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_ALLOCATE)
            return true;
    return false;
}

/* ---- the place ------------------------------------------------------------------------------------- */

static bool try_state(const Lost *l, const Stmt *before, const char *scores, const char *weights, const char *maximum, const char *sum)
{
    Suggester *s = l->v->s;
    const char *gives = strcmp(scores, weights) == 0 ? "" : arena_printf(s->arena, " and get %s", weights);
    const char *text = arena_printf(s->arena, "%sCompute Softmax %s with %s and %s%s\n", suggest_indent(s, before->span.start), scores, maximum, sum, gives);

    return suggest_edit(s, suggest_before(s, before), text, "the softmax whose state is read");
}

/* Each pair of the state's names; a sketch allocates nothing, so there one may be new. */
static bool try_states(const Lost *l, const Stmt *before, const char *scores, const char *weights)
{
    const Names *state = &l->state;

    for (int sum = 0; sum < state->len; sum++)
        for (int most = state->len - 1; most >= 0; most--)
            if (most != sum && try_state(l, before, scores, weights, state->data[most], state->data[sum]))
                return true;
    return state->len == 1 && !allocates(l->v) &&
           try_state(l, before, scores, weights, arena_printf(l->v->s->arena, "%s_max", scores), state->data[0]);
}

static const char *operand_name(const Stmt *s)
{
    return s->n_args ? expr_base_name(s->args[0]) : NULL;
}

/* The first statement behind the k-th's maker of the tile that takes it as an operand of products, or the k-th itself. */
static int first_use(const Block *block, int k, const char *tile)
{
    while (k > 0 && block->data[k - 1]->kind == STMT_RESHAPE && strcmp(block->data[k - 1]->name, tile) == 0)
        k--;
    return k;
}

/* The last statement before the k-th that makes the tile; -1: none in this block. */
static int maker(const Block *block, int k, const char *tile)
{
    for (int i = k - 1; i >= 0; i--)
        if (vary_result(block->data[i]) && strcmp(vary_result(block->data[i]), tile) == 0)
            return i;
    return -1;
}

/* What was computed last before the k-th. */
static const char *last_made(const Block *block, int k)
{
    for (int i = k - 1; i >= 0; i--)
        if (vary_result(block->data[i]))
            return vary_result(block->data[i]);
    return NULL;
}

/* Before the product of the weights, and before the Cast that they may be. */
static bool try_product(const Lost *l, const Block *block, int k)
{
    const char *weights = operand_name(block->data[k]);
    int at = weights ? first_use(block, k, weights) : k, cast = weights ? maker(block, at, weights) : -1;
    const Stmt *made = cast >= 0 ? block->data[cast] : NULL;
    const char *last = last_made(block, at);

    if (!weights)
        return false;
    if (!is_made(l->v, weights))
        return last && try_states(l, block->data[at], last, weights);
    if (made && made->op_known && made->op == OP_CAST && operand_name(made))
        return try_states(l, made, operand_name(made), operand_name(made));
    return try_states(l, block->data[at], weights, weights);
}

static bool try_block(const Lost *l, const Block *block)
{
    for (int k = block->len - 1; k >= 0; k--) {
        const Stmt *s = block->data[k];

        if (s->kind == STMT_COMPUTE && !s->listed && s->op_known && s->op == OP_GEMM && s->result == RESULT_ACCUMULATE && try_product(l, block, k))
            return true;
        if (try_block(l, &s->body) || try_block(l, &s->orelse))
            return true;
    }
    return false;
}

/* ---- entry ------------------------------------------------------------------------------------------- */

bool propose_lost_softmax(Suggester *s)
{
    bool known = s->unit && s->unit->kind == UNIT_KERNEL && s->stmt && s->agrees && s->stage == s->agrees && s->diag->span.end > s->diag->span.start && vary_definition(s);
    int tries = s->tries;
    bool strict = s->strict, found;
    Vary v;

    if (!known)
        return false;
    v = vary_kernel(s, s->unit);
    Lost l = {.v = &v, .said = suggest_quoted(s, s->diag->span)};
    find_state(&l);
    s->tries = MOST_TRIES;
    s->strict = true;
    found = l.state.len && try_block(&l, &s->unit->body);
    s->tries = tries;
    s->strict = strict;
    return found;
}
