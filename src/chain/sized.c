/* sized.c: whether tensors of a Kernel have as many elements as those of the Operator beside it.
 *
 *   Operator f                    Kernel f
 *     Input X (N, D)                Input X (N, D)
 *     Param D = 512                 Param D = 256           D is another number here: half of X would be read
 *
 *     Input Z (64, 512)             Input Z (256, 128)      the same elements in another shape
 *
 *     Input K (b, kv_heads, n, D)   Input K (b, q_heads, n, D)   another dimension of the Operator
 *
 * Numbers are what --set says, what a Param has as its default, what is assigned, and what is made of these. Where some size
 * is a matter of the launch, only what is called alike is taken for the same.
 */
#include "chain/chain.h"

#include "lang/eval.h"

/* Of a tensor: the product of its numbers, and the names of all else. */
typedef struct Count {
    double number;
    VEC(const char *) names;
    bool told; /* all else are names */
} Count;

static EvalEnv numbers_of(Arena *arena, const Unit *unit, const Settings *settings)
{
    EvalEnv env;
    double value;

    eval_init(&env, arena, NULL);
    for (int i = 0; i < settings->list.len; i++)
        eval_bind_number(&env, settings->list.data[i].name, settings->list.data[i].value);
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        bool number = s->kind == STMT_PARAM || s->kind == STMT_LET || s->kind == STMT_ASSIGN;

        if (number && s->name && s->value && !eval_find(&env, s->name) && eval_float(&env, s->value, &value))
            eval_bind_number(&env, s->name, value);
    }
    return env;
}

static Count count_of(Arena *arena, EvalEnv *env, const Stmt *tensor)
{
    Count c = {.number = 1, .told = true};
    double size;

    for (int d = 0; d < tensor->n_shape; d++) {
        if (eval_float(env, tensor->shape[d], &size))
            c.number *= size;
        else if (tensor->shape[d]->kind == EXPR_NAME)
            vec_push(arena, &c.names, tensor->shape[d]->name);
        else
            c.told = false;
    }
    return c;
}

static int times(const Count *c, const char *name)
{
    int n = 0;

    for (int i = 0; i < c->names.len; i++)
        n += strcmp(c->names.data[i], name) == 0;
    return n;
}

/* Whether the numbers alone say that they are not equal. */
static bool unlike(const Count *own, const Count *theirs)
{
    if (!own->told || !theirs->told || own->names.len != theirs->names.len || own->number == theirs->number)
        return false;
    for (int i = 0; i < own->names.len; i++)
        if (times(own, own->names.data[i]) != times(theirs, own->names.data[i]))
            return false;
    return true;
}

/* Where a size is said: of a name that the Kernel gives a number, that. */
static Span said_at(const Unit *kernel, const Expr *dim)
{
    for (int i = 0; dim->kind == EXPR_NAME && i < kernel->body.len; i++) {
        const Stmt *s = kernel->body.data[i];

        if ((s->kind == STMT_PARAM || s->kind == STMT_LET || s->kind == STMT_ASSIGN) && s->value && strcmp(s->name, dim->name) == 0)
            return s->value->span;
    }
    return dim->span;
}

static bool is_said(const Diags *diags, Span at)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == TW0521 && diags->list.data[i].span.start == at.start)
            return true;
    return false;
}

/* Of the first dimension that is another; of several tensors that have it once. */
static void say(const Unit *kernel, EvalEnv *own, EvalEnv *env, const Stmt *s, const Stmt *theirs, const Count *counts, Diags *diags)
{
    for (int d = 0; s->n_shape == theirs->n_shape && d < s->n_shape; d++) {
        const Expr *dim = s->shape[d];
        double size, other;

        if (!eval_float(own, dim, &size) || !eval_float(env, theirs->shape[d], &other) || size == other)
            continue;
        Span at = said_at(kernel, dim);
        if (!is_said(diags, at) && dim->kind == EXPR_NAME)
            diag_add(diags, TW0521, at, "%s is %.10g here and %.10g in the definition", dim->name, size, other);
        else if (!is_said(diags, at))
            diag_add(diags, TW0521, at, "%s has %.10g elements along dimension %d here and %.10g in the definition", s->name, size, d + 1, other);
        return;
    }
    diag_add(diags, TW0521, s->span, "%s has %.10g elements here and %.10g in the definition", s->name, counts[0].number, counts[1].number);
}

static bool is_length(EvalEnv *env, const Expr *dim)
{
    double size;

    return dim->kind == EXPR_NAME && !eval_float(env, dim, &size);
}

/* Every dimension that the definition has, but elsewhere: as long as another one says. */
static bool lengths_fit(const Unit *definition, EvalEnv *own, EvalEnv *env, const Stmt *s, const Stmt *theirs, Diags *diags)
{
    bool fit = true;

    for (int d = 0; s->n_shape == theirs->n_shape && d < s->n_shape; d++) {
        const Expr *dim = s->shape[d], *other = theirs->shape[d];

        if (!is_length(own, dim) || !is_length(env, other) || expr_equal(dim, other) || !unit_has_dimension(definition, dim->name))
            continue;
        Diag *diag = diag_add(diags, TW0521, dim->span, "%s is %s long along dimension %d here and %s in the definition", s->name, dim->name, d + 1, other->name);
        diag_fix(diags, diag, dim->span, other->name, "as the definition declares it");
        fit = false;
    }
    return fit;
}

bool sizes_fit(Arena *arena, const Unit *kernel, const Unit *definition, const Settings *settings, Diags *diags)
{
    EvalEnv own = numbers_of(arena, kernel, settings), env = numbers_of(arena, definition, settings);
    bool fit = true;

    for (int i = 0; i < kernel->body.len; i++) {
        const Stmt *s = kernel->body.data[i];
        bool tensor = s->kind == STMT_INPUT || s->kind == STMT_OUTPUT;
        const Stmt *theirs = tensor && s->name ? unit_tensor(definition, s->name) : NULL;

        if (!theirs || theirs->kind != s->kind)
            continue;
        if (!lengths_fit(definition, &own, &env, s, theirs, diags)) {
            fit = false;
            continue;
        }
        const Count counts[] = {count_of(arena, &own, s), count_of(arena, &env, theirs)};
        if (!unlike(&counts[0], &counts[1]))
            continue;
        say(kernel, &own, &env, s, theirs, counts, diags);
        fit = false;
    }
    return fit;
}
