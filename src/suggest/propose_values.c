/* propose_values.c: values that are wanted and not written, or written so that they mean nothing.
 *
 *   Grid m = ceil(M / BM)                      BM = 128                  no statement assigns BM: a guess
 *   Compute Multiply S, scale and get new S    scale = 1 / sqrt(D)       what is usually called so
 *   Param groups = 0                           Param groups = 1          by which something is divided
 */
#include "suggest/cuts.h"

#include "check/check.h"

#include <stdlib.h>

static const char *word_at(const Suggester *s, int at)
{
    const char *text = s->source->text + at;

    return arena_strndup(s->arena, text, strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"));
}

/* Behind the tensors, before all else. */
static const Stmt *first_of(const Suggester *s)
{
    for (int i = 0; s->unit && i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind != STMT_INPUT && s->unit->body.data[i]->kind != STMT_OUTPUT)
            return s->unit->body.data[i];
    return NULL;
}

static bool insert(Suggester *s, const char *line, const char *label)
{
    const Stmt *before = first_of(s);

    return before && suggest_edit(s, suggest_before(s, before), arena_printf(s->arena, "%s%s\n", suggest_indent(s, before->span.start), line), label);
}

/* ---- values that nothing gives ----------------------------------------------------------------------- */

/* A size of tiles. */
bool propose_tile_size(Suggester *s)
{
    static const int guesses[] = {128, 64, 32, 16};
    const char *name = word_at(s, s->diag->span.start);
    bool sizes = s->stmt && (s->stmt->kind == STMT_GRID || s->stmt->kind == STMT_ALLOCATE || s->stmt->kind == STMT_COPY || s->stmt->kind == STMT_FOR ||
                             s->stmt->kind == STMT_ASSIGN) && !expr_mentions(s->stmt->where, name);
    bool fits = *name && sizes && !suggest_coordinate(s) && s->unit->kind == UNIT_KERNEL && s->source->text[s->diag->span.start + (int)strlen(name)] != '.';

    for (size_t i = 0; fits && i < TW_COUNT(guesses); i++)
        if (insert(s, arena_printf(s->arena, "%s = %d", name, guesses[i]), arena_printf(s->arena, "%d is a guess", guesses[i])))
            return true;
    return false;
}

typedef struct Mentioned {
    const char *name;
    int n; /* statements that have it */
} Mentioned;

static void count_named(void *user, const Stmt *stmt)
{
    Mentioned *named = user;
    bool has = expr_mentions(stmt->lo, named->name) || expr_mentions(stmt->hi, named->name) || expr_mentions(stmt->value, named->name) || expr_mentions(stmt->where, named->name);

    for (int i = 0; i < stmt->n_shape; i++)
        has |= expr_mentions(stmt->shape[i], named->name);
    for (int i = 0; i < stmt->n_coords; i++)
        has |= expr_mentions(stmt->coords[i].value, named->name);
    named->n += has;
}

/* Of code: a name that several statements have is a size whose line is missing, not another name misspelt. */
bool propose_missing_size(Suggester *s)
{
    enum { SEVERAL = 3 };
    Mentioned named = {.name = word_at(s, s->diag->span.start)};

    if (!s->unit || !block_find(&s->unit->body, STMT_ALLOCATE, NULL))
        return false;
    suggest_each(&s->unit->body, count_named, &named);
    return named.n >= SEVERAL && propose_tile_size(s);
}

typedef struct Counted {
    Suggester *s;
    const char *counter, *dim; /* a dimension whose tiles it counts; NULL: none */
} Counted;

static void find_counted(void *user, const Stmt *stmt)
{
    Counted *c = user;

    for (int i = 0; stmt->kind == STMT_COPY && i < stmt->n_coords && !c->dim; i++)
        if (stmt->coords[i].name && expr_is_name(stmt->coords[i].value, c->counter))
            c->dim = stmt->coords[i].name;
}

/* `for j = 0:ceil(seq_len / BN)`, where j counts tiles of kv_len. */
bool propose_counted_dimension(Suggester *s)
{
    Counted c = {.s = s, .counter = s->stmt && s->stmt->kind == STMT_FOR ? s->stmt->name : NULL};
    const char *name = word_at(s, s->diag->span.start);

    if (!c.counter || !*name)
        return false;
    suggest_each(&s->stmt->body, find_counted, &c);
    return c.dim && suggest_edit(s, (Span){s->diag->span.start, s->diag->span.start + (int)strlen(name)}, c.dim, "the dimension that the loop goes over");
}

/* `if causal`: a Param that says so. */
bool propose_flag(Suggester *s)
{
    const char *name = word_at(s, s->diag->span.start);
    bool fits = *name && s->stmt && s->stmt->kind == STMT_IF && expr_mentions(s->stmt->where, name) && s->unit->kind != UNIT_FRAGMENT;

    return fits && insert(s, arena_printf(s->arena, "Param %s = 1", name), "1: it is so");
}

/* Of the first product's operand: the dimension that is summed over. */
typedef struct Summed {
    const Unit *unit;
    const char *dim; /* NULL: unknown */
} Summed;

static void find_summed(void *user, const Stmt *stmt)
{
    Summed *summed = user;
    const Expr *first = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_GEMM && stmt->n_args == 2 ? stmt->args[0] : NULL;
    const Stmt *tensor = first && first->kind == EXPR_NAME ? unit_tensor(summed->unit, first->name) : NULL;
    const Expr *last = tensor && tensor->n_shape ? tensor->shape[tensor->n_shape - 1] : NULL;

    if (!summed->dim && last && last->kind == EXPR_NAME)
        summed->dim = last->name;
}

bool propose_usual(Suggester *s)
{
    static const struct { const char *name, *value; } usual[] = {
        {"scale", NULL}, {"sm_scale", NULL}, {"softmax_scale", NULL}, {"attn_scale", NULL}, {"scaling", NULL},
        {"eps", "1e-6"}, {"epsilon", "1e-6"},
    };
    const char *name = word_at(s, s->diag->span.start), *value = NULL;
    Summed summed = {.unit = s->unit};

    for (size_t i = 0; i < TW_COUNT(usual); i++) {
        if (strcmp(name, usual[i].name) != 0 || !s->depth || s->unit->kind == UNIT_FRAGMENT)
            continue;
        suggest_each(&s->unit->body, find_summed, &summed);
        value = usual[i].value ? usual[i].value : summed.dim ? arena_printf(s->arena, "1 / sqrt(%s)", summed.dim) : NULL;
    }
    return value && insert(s, arena_printf(s->arena, "%s%s = %s", s->unit->kind == UNIT_OPERATOR ? "Param " : "", name, value), "what is usually called so");
}

/* ---- numbers that mean nothing ----------------------------------------------------------------------------- */

/* `BM = 0`. */
bool propose_some_size(Suggester *s)
{
    static const int guesses[] = {64, 32, 16, 128};
    const Stmt *stmt = s->stmt && (s->stmt->kind == STMT_ASSIGN || s->stmt->kind == STMT_PARAM) ? s->stmt : NULL;

    for (size_t i = 0; stmt && stmt->value && i < TW_COUNT(guesses); i++)
        if (suggest_edit(s, stmt->value->span, arena_printf(s->arena, "%d", guesses[i]), arena_printf(s->arena, "%d is a guess", guesses[i])))
            return true;
    return false;
}

/* ---- sizes of tensors in other notations ----------------------------------------------------------------- */

enum { MAX_NAMED = 32 };

/* Whether a shape that begins with `...` has the name as well, or it is that of another thing than a dimension. */
static bool stands_beside(const Stmt *stmt, const char *name)
{
    bool dots = false, beside = false;

    for (int d = 0; d < stmt->n_shape; d++) {
        dots |= stmt->shape[d]->kind == EXPR_ELLIPSIS;
        beside |= expr_mentions(stmt->shape[d], name);
    }
    return stmt->name && stmt->kind != STMT_COMPUTE && stmt->kind != STMT_COPY && strcmp(stmt->name, name) == 0 ? true : dots && beside;
}

/* Of all dimensions that lead, which `...` says. */
static const char *leading_name(const Unit *unit)
{
    static const char *const names[] = {"rows", "batch", "outer", "leading"};
    const char *found = NULL;

    for (size_t i = 0; i < TW_COUNT(names) && !found; i++) {
        found = names[i];
        for (int k = 0; k < unit->body.len; k++)
            found = stands_beside(unit->body.data[k], names[i]) ? NULL : found;
    }
    return found;
}

/* The name of a dimension that is written so: `...` for all that lead, `M: 128` for one and its size. NULL: neither. */
static const char *named_size(const Unit *unit, const Expr *e)
{
    if (e->kind == EXPR_ELLIPSIS)
        return leading_name(unit);
    return e->kind == EXPR_RANGE && e->a && e->a->kind == EXPR_NAME && e->b && e->b->kind == EXPR_INT ? e->a->name : NULL;
}

static bool is_among(const Fix *edits, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (strcmp(edits[i].text, text) == 0)
            return true;
    return false;
}

typedef struct Named {
    Fix edits[MAX_NAMED + 1];
    int n;
    Str sizes; /* lines that say them */
} Named;

static void name_sizes(Suggester *s, Named *named, const Stmt *tensor)
{
    const char *indent = suggest_indent(s, tensor->span.start), *word = s->unit->kind == UNIT_KERNEL ? "" : "Param ";

    for (int d = 0; d < tensor->n_shape && named->n < MAX_NAMED; d++) {
        const Expr *e = tensor->shape[d];
        const char *name = named_size(s->unit, e);

        if (!name)
            continue;
        if (e->kind == EXPR_RANGE && !is_among(named->edits, named->n, name))
            str_add(&named->sizes, arena_printf(s->arena, "%s%s%s = %lld\n", indent, word, name, (long long)e->b->i));
        named->edits[named->n++] = (Fix){.span = e->span, .text = name};
    }
}

/* `Input X (..., N)`, `Input X (M: 128, N)`: in all tensors at once, and the size as a Param or a size of the Kernel. */
bool propose_named_sizes(Suggester *s)
{
    const Stmt *before = first_of(s);
    Named named = {.sizes = str_new(s->arena)};
    const char *sizes;

    if (!before || !s->stmt || (s->stmt->kind != STMT_INPUT && s->stmt->kind != STMT_OUTPUT))
        return false;
    for (int i = 0; s->unit->body.data[i] != before; i++)
        name_sizes(s, &named, s->unit->body.data[i]);
    sizes = str_text(&named.sizes);
    if (*sizes)
        named.edits[named.n++] = (Fix){.span = suggest_before(s, before), .text = sizes};
    return named.n > 0 && suggest_edits(s, named.edits, named.n, "a dimension has a name");
}

static bool is_zero(const Expr *e)
{
    return e && ((e->kind == EXPR_INT && e->i == 0) || (e->kind == EXPR_FLOAT && e->f == 0));
}

typedef struct Zeros {
    Suggester *s;
    bool done;
} Zeros;

static const Expr *divided_by_zero(const Expr *e)
{
    const Expr *found = e && e->kind == EXPR_BINARY && (e->op == EO_DIV || e->op == EO_IDIV || e->op == EO_MOD) && is_zero(e->b) ? e : NULL;

    if (!e || found)
        return found;
    if (!(found = divided_by_zero(e->a)))
        found = divided_by_zero(e->b);
    for (int i = 0; i < e->n_args && !found; i++)
        found = divided_by_zero(e->args[i]);
    return found;
}

/* In a value, a bound, an extent, a coordinate or a size. */
static const Expr *quotient_of(const Stmt *stmt)
{
    const Expr *const single[] = {stmt->value, stmt->lo, stmt->hi, stmt->where};
    const Expr *found = NULL;

    for (size_t i = 0; i < TW_COUNT(single) && !found; i++)
        found = divided_by_zero(single[i]);
    for (int i = 0; i < stmt->n_coords && !found; i++)
        found = divided_by_zero(stmt->coords[i].value);
    for (int i = 0; i < stmt->n_shape && !found; i++)
        found = divided_by_zero(stmt->shape[i]);
    return found;
}

/* By the size of some tile, where the quotient counts tiles. */
static bool try_divisors(Suggester *s, const Expr *quotient)
{
    Block sizes = check_tile_sizes(s->arena, s->unit);

    for (int i = 0; i < sizes.len; i++)
        if (suggest_edit(s, quotient->b->span, sizes.data[i]->name, "the size of a tile"))
            return true;
    return false;
}

/* A number of this statement by which another is divided: not 0, or not at all. */
static void try_zeros(void *user, const Stmt *stmt)
{
    Zeros *z = user;
    const Expr *quotient = z->done ? NULL : quotient_of(stmt);
    bool named = (stmt->kind == STMT_PARAM || stmt->kind == STMT_LET || stmt->kind == STMT_ASSIGN) && is_zero(stmt->value);

    if (quotient)
        z->done = try_divisors(z->s, quotient);
    if (z->done)
        return;
    if (quotient && quotient->op != EO_MOD)
        z->done = suggest_edit(z->s, quotient->span, suggest_expr(z->s, quotient->a), "it is not divided");
    else if (named && z->s->unit->kind == UNIT_KERNEL && suggest_edit(z->s, stmt->value->span, "64", "64 is a guess"))
        z->done = true;
    else if (quotient || named)
        z->done = suggest_edit(z->s, quotient ? quotient->b->span : stmt->value->span, "1", "1 is a guess");
}

bool propose_nonzero(Suggester *s)
{
    Zeros z = {s, false};

    if (s->unit)
        suggest_each(&s->unit->body, try_zeros, &z);
    return z.done;
}

/* An integer that does not fit: a number of another kind, or the largest. */
bool propose_largest(Suggester *s)
{
    Span span = s->diag->span;
    int len = span.end - span.start;
    const char *text = arena_strndup(s->arena, s->source->text + span.start, (size_t)len);

    if ((int)strspn(text, "0123456789") != len)
        return suggest_edit(s, span, "2147483647", "the largest size");
    return suggest_edit(s, span, arena_printf(s->arena, "%ce%d", text[0], len - 1), "a number, not of elements") ||
           suggest_edit(s, span, "2147483647", "the largest size");
}

/* `Param bits`, in an expression of integers that would be exact if it were known. */
bool propose_param(Suggester *s)
{
    static const int guesses[] = {4, 8, 16};

    for (int i = 0; s->stmt && i < s->unit->body.len; i++) {
        const Stmt *param = s->unit->body.data[i];
        if (param->kind != STMT_PARAM || param->value || !expr_mentions(s->stmt->value, param->name))
            continue;
        for (size_t k = 0; k < TW_COUNT(guesses); k++)
            if (suggest_edit(s, (Span){param->span.end, param->span.end}, arena_printf(s->arena, " = %d", guesses[k]),
                             arena_printf(s->arena, "%d is a guess; or give it with --set", guesses[k])))
                return true;
    }
    return false;
}

/* An operand that is left out: what it mostly is. */
bool propose_operand(Suggester *s)
{
    static const struct { OpId op; const char *is; } usual[] = {{OP_TOP_K, "8"}, {OP_POWER, "2"}, {OP_FILL, "0"}, {OP_CAST, "bf16"}};
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->n_args == 1 ? s->stmt : NULL;

    for (size_t i = 0; stmt && i < TW_COUNT(usual); i++) {
        Stmt *changed = suggest_like(s, stmt);
        if (stmt->op != usual[i].op)
            continue;
        changed->args = arena_array(s->arena, Expr *, 2);
        changed->args[0] = stmt->args[0];
        changed->args[1] = expr_name(s->arena, usual[i].is);
        changed->n_args = 2;
        return suggest_stmt(s, stmt, changed, "a guess");
    }
    return false;
}

/* ---- types --------------------------------------------------------------------------------------------------- */

typedef struct Types {
    Suggester *s;
    DType from;
    const char *to;
    VEC(Fix) edits;
} Types;

static void edit_type(void *user, const Stmt *stmt)
{
    Types *t = user;
    bool again = false;

    for (int i = 0; i < t->edits.len; i++) /* of a list */
        again |= t->edits.data[i].span.start == stmt->dtype_span.start;
    if (stmt->has_dtype && stmt->dtype == t->from && stmt->dtype_span.end > stmt->dtype_span.start && !again)
        vec_push(t->s->arena, &t->edits, ((Fix){stmt->dtype_span, t->to, NULL}));
}

/* Of all that have the type, in the definition as well. */
bool propose_types(Suggester *s)
{
    static const DType types[] = {DT_F16, DT_BF16, DT_F32};

    for (size_t i = 0; s->stmt && s->stmt->has_dtype && i < TW_COUNT(types); i++) {
        Types t = {.s = s, .from = s->stmt->dtype, .to = dtype_name(types[i])};
        if (types[i] == t.from)
            continue;
        for (int k = 0; k < s->program->units.len; k++)
            suggest_each(&s->program->units.data[k]->body, edit_type, &t);
        if (t.edits.len > 1 && suggest_edits(s, t.edits.data, t.edits.len, "a type that fits, for all"))
            return true;
    }
    return false;
}

/* ---- operations of one's own ----------------------------------------------------------------------------------- */

typedef struct Uses {
    Suggester *s;
    const char *name, *to;
    const Stmt *within; /* the Define; its own statements mean the other operation */
    VEC(Fix) edits;
} Uses;

static void rename_use(void *user, const Stmt *stmt)
{
    Uses *u = user;
    bool inside = u->within->body.len && stmt->span.start >= u->within->span.start && stmt->span.start <= u->within->body.data[u->within->body.len - 1]->span.start;

    if (stmt == u->within)
        vec_push(u->s->arena, &u->edits, ((Fix){stmt->name_span, u->to, NULL}));
    else if (stmt->kind == STMT_COMPUTE && stmt->op_name && strcmp(stmt->op_name, u->name) == 0 && !inside)
        vec_push(u->s->arena, &u->edits, ((Fix){stmt->op_span, u->to, NULL}));
}

static const Stmt *define_round(const Suggester *s)
{
    for (int i = s->depth - 1; i >= 0; i--)
        if (s->path[i]->kind == STMT_DEFINE)
            return s->path[i];
    for (int i = 0; s->unit && i < s->unit->body.len; i++) { /* said where it is used */
        const Stmt *stmt = s->unit->body.data[i];
        if (stmt->kind == STMT_DEFINE && s->stmt && s->stmt->op_name && strcmp(stmt->name, s->stmt->op_name) == 0)
            return stmt;
    }
    return NULL;
}

typedef struct Within {
    const char *name;
    const Stmt *found;
} Within;

static void find_within(void *user, const Stmt *stmt)
{
    Within *w = user;

    if (stmt->kind == STMT_COMPUTE && stmt->op_name && strcmp(stmt->op_name, w->name) == 0)
        w->found = stmt;
}

/* `Define Softmax(X)` that uses Softmax: under another name. Else without the statement that uses itself. */
bool propose_own_operation(Suggester *s)
{
    const Stmt *define = define_round(s);
    Uses u = {.s = s, .within = define};
    Within w = {0};
    OpId op;

    if (!define)
        return false;
    u.name = w.name = define->name;
    u.to = arena_printf(s->arena, "Own%s", define->name);
    suggest_each(&s->unit->body, rename_use, &u);
    if (op_find(define->name, &op) && suggest_edits(s, u.edits.data, u.edits.len, "the operation that there is is meant within"))
        return true;
    suggest_each(&define->body, find_within, &w);
    return w.found && suggest_edit(s, suggest_line(s, w.found->span), "", "without itself");
}

/* ---- kernels beside a definition ------------------------------------------------------------------------------------ */

static bool try_rename(Suggester *s, const char *from, const char *to)
{
    Span span = {suggest_before(s, s->unit->body.data[0]).start, s->unit->end};
    const char *text = suggest_quoted(s, span);

    return suggest_edit(s, span, suggest_words(s, text, from, to), arena_printf(s->arena, "'%s' is '%s' in the definition", from, to));
}

typedef struct Declared {
    Suggester *s;
    const Unit *def;
    VEC(Fix) edits;
} Declared;

static void edit_declared(void *user, const Stmt *stmt)
{
    Declared *d = user;
    const Stmt *same = stmt->name ? unit_tensor(d->def, stmt->name) : NULL, *own = same ? unit_tensor(d->s->unit, stmt->name) : NULL;
    bool other = own && own->has_dtype && same->has_dtype && own->dtype != same->dtype, again = false;

    for (int i = 0; i < d->edits.len; i++) /* of a list */
        again |= d->edits.data[i].span.start == stmt->dtype_span.start;
    if (other && !again && stmt->has_dtype && stmt->dtype == own->dtype && stmt->dtype_span.end > stmt->dtype_span.start)
        vec_push(d->s->arena, &d->edits, ((Fix){stmt->dtype_span, dtype_name(same->dtype), NULL}));
}

/* Types of all tensors, and of the tiles that have their names and types. */
static bool try_declared(Suggester *s, const Unit *def)
{
    Declared d = {.s = s, .def = def};

    suggest_each(&s->unit->body, edit_declared, &d);
    return d.edits.len && suggest_edits(s, d.edits.data, d.edits.len, "as the definition declares it");
}

/* A size of a workspace: a Param of the definition, behind its last Output. */
static bool try_sized(Suggester *s, const Unit *def)
{
    const char *name = word_at(s, s->diag->span.start);
    const Stmt *last = NULL;

    for (int i = 0; i < def->body.len; i++)
        last = def->body.data[i]->kind == STMT_OUTPUT ? def->body.data[i] : last;
    return last && s->stmt && s->stmt->kind == STMT_OUTPUT &&
           suggest_edit(s, (Span){last->span.end, last->span.end}, arena_printf(s->arena, "\n%sParam %s = 4", suggest_indent(s, last->span.start), name), "4 is a guess");
}

/* `%s is 256 here and 512 in the definition`: the number of the definition where the Kernel says it, wherever it does; else that
 * of the Kernel in the definition. */
typedef struct Numbers {
    Suggester *s;
    int64_t from;
    const char *to;
    bool tensors; /* of Inputs and Outputs alone */
    VEC(Fix) edits;
} Numbers;

static bool find_number(const void *user, const Expr *e)
{
    Numbers *n = (Numbers *)user;
    bool again = false;

    for (int i = 0; i < n->edits.len; i++) /* of a list */
        again |= n->edits.data[i].span.start == e->span.start;
    if (e->kind == EXPR_INT && e->i == n->from && !again)
        vec_push(n->s->arena, &n->edits, ((Fix){e->span, n->to, NULL}));
    return false;
}

static void find_numbers(void *user, const Stmt *stmt)
{
    Numbers *n = user;
    bool tensor = stmt->kind == STMT_INPUT || stmt->kind == STMT_OUTPUT;

    for (int i = 0; (tensor || !n->tensors) && i < stmt->n_shape; i++)
        expr_any(stmt->shape[i], find_number, n);
    for (int i = 0; !n->tensors && i < stmt->n_coords; i++)
        expr_any(stmt->coords[i].value, find_number, n);
    for (int i = 0; !n->tensors && i < stmt->n_args; i++)
        expr_any(stmt->args[i], find_number, n);
    const Expr *said[] = {stmt->value, stmt->lo, stmt->hi, stmt->where};
    for (size_t i = 0; !n->tensors && i < TW_COUNT(said); i++)
        expr_any(said[i], find_number, n);
}

static bool try_number(Suggester *s, const Unit *unit, int64_t from, int64_t to, bool tensors, const char *label)
{
    Numbers n = {.s = s, .from = from, .to = arena_printf(s->arena, "%lld", (long long)to), .tensors = tensors};

    suggest_each(&unit->body, find_numbers, &n);
    return n.edits.len && suggest_edits(s, n.edits.data, n.edits.len, label);
}

static bool try_size(Suggester *s, const Unit *def)
{
    const char *of_definition = strstr(s->diag->message, " here and ");
    bool number = s->diag->span.end > s->diag->span.start && s->source->text[s->diag->span.start] >= '0' && s->source->text[s->diag->span.start] <= '9';

    if (!of_definition || !number)
        return false;
    int64_t here = strtoll(s->source->text + s->diag->span.start, NULL, 10), there = strtoll(of_definition + strlen(" here and "), NULL, 10);
    const char *text = arena_printf(s->arena, "%lld", (long long)there), *as_defined = "as the definition has it";
    bool tensor = s->stmt && (s->stmt->kind == STMT_INPUT || s->stmt->kind == STMT_OUTPUT);
    return (!tensor && suggest_edit(s, s->diag->span, text, as_defined)) || try_number(s, s->unit, here, there, true, as_defined) ||
           try_number(s, s->unit, here, there, false, as_defined) || (tensor && suggest_edit(s, s->diag->span, text, as_defined)) ||
           try_number(s, def, there, here, false, "as the Kernel has it");
}

/* A kernel's tensor by the definition's name, or in its shape and type. */
bool propose_as_defined(Suggester *s)
{
    const Unit *def = s->program ? program_unit(s->program, UNIT_OPERATOR) : NULL;

    if (def && s->unit && s->unit->kind == UNIT_KERNEL && (try_size(s, def) || try_sized(s, def) || try_declared(s, def)))
        return true;
    for (int i = 0; def && s->unit && s->unit->kind == UNIT_KERNEL && s->unit->body.len && i < s->unit->body.len; i++) {
        const Stmt *tensor = s->unit->body.data[i];
        const Stmt *same = unit_tensor(def, tensor->name ? tensor->name : "");
        bool declares = tensor->kind == STMT_INPUT || tensor->kind == STMT_OUTPUT;
        if (!declares || tensor->listed)
            continue;
        if (same && same->n_shape != tensor->n_shape) {
            Stmt *changed = suggest_like(s, tensor);
            changed->shape = same->shape;
            changed->n_shape = same->n_shape;
            if (suggest_stmt(s, tensor, changed, "as the definition declares it"))
                return true;
        }
        for (int k = 0; !same && k < def->body.len; k++)
            if (def->body.data[k]->kind == tensor->kind && !unit_tensor(s->unit, def->body.data[k]->name) && try_rename(s, tensor->name, def->body.data[k]->name))
                return true;
    }
    return false;
}

/* ---- sketches ------------------------------------------------------------------------------------------------------- */

/* `for j over q_len`: a dimension of what the loop copies, that the grid does not have. */
bool propose_copied_dimension(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *loop = s->stmt && s->stmt->kind == STMT_FOR && s->stmt->over ? s->stmt : NULL;
    const Stmt *grid = s->unit ? block_find(&s->unit->body, STMT_GRID, NULL) : NULL;

    for (int i = 0; loop && grid && i < loop->body.len; i++) {
        const Stmt *copy = loop->body.data[i], *tensor = copy->kind == STMT_COPY && copy->space == SPACE_GLOBAL ? cuts_tensor(&cuts, copy_tensor(copy)) : NULL;
        for (int back = 0; tensor && back < tensor->n_shape; back++) { /* that of rows first */
            int k = tensor->n_shape < 2 ? back : back < 2 ? tensor->n_shape - 2 + back : back - 2;
            const char *dim = tensor->shape[k]->kind == EXPR_NAME ? tensor->shape[k]->name : NULL;
            bool spread = false;
            for (int g = 0; dim && g < grid->n_coords; g++)
                spread |= grid->coords[g].name && strcmp(grid->coords[g].name, dim) == 0;
            if (dim && !spread && suggest_edit(s, loop->over_span, dim, "a dimension of what it copies"))
                return true;
        }
    }
    return false;
}

/* `Grid over M, P`: a dimension of the Output in place of what is none. */
bool propose_grid_dimension(Suggester *s)
{
    const char *word = word_at(s, s->diag->span.start);
    Span span = {s->diag->span.start, s->diag->span.start + (int)strlen(word)};
    Cuts cuts = cuts_of(s);

    for (int i = cuts.tensors.len - 1; *word && s->stmt && (s->stmt->kind == STMT_GRID || s->stmt->kind == STMT_FOR) && i >= 0; i--)
        for (int k = 0; k < cuts.tensors.data[i]->n_shape; k++) {
            const Expr *dim = cuts.tensors.data[i]->shape[k];
            bool taken = dim->kind != EXPR_NAME;
            for (int c = 0; s->stmt->kind == STMT_GRID && !taken && c < s->stmt->n_coords; c++)
                taken = s->stmt->coords[c].name && strcmp(s->stmt->coords[c].name, dim->name) == 0;
            if (!taken && suggest_edit(s, span, dim->name, "a dimension that there is"))
                return true;
        }
    return false;
}

/* `q_pos` that nothing declares, in a sketch's mask: the position along the dimension that is called alike, or of blocks or turns. */
bool propose_declared_positions(Suggester *s)
{
    const Expr *where = s->stmt && s->stmt->kind == STMT_COMPUTE ? stmt_condition(s->stmt) : NULL;
    const char *dims[2] = {NULL, NULL};
    Str declared = str_new(s->arena);
    const Diags *diags = s->chain->diags;

    for (int i = 0; where && i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind == STMT_GRID && s->unit->body.data[i]->n_coords && !s->unit->body.data[i]->coords[0].value)
            dims[0] = s->unit->body.data[i]->coords[0].name;
    for (int i = 0; i < s->depth; i++)
        if (s->path[i]->kind == STMT_FOR)
            dims[1] = s->path[i]->over;
    if (!dims[0] || !dims[1])
        return false;
    for (int i = 0; i < diags->list.len; i++) { /* every name of the statement that has no value */
        const Diag *d = &diags->list.data[i];
        const char *name = word_at(s, d->span.start);
        if (d->code != s->diag->code || !*name || d->span.start < s->stmt->span.start || d->span.end > s->stmt->span.end || !expr_mentions(where, name))
            continue;
        bool columns = suggest_alike(name, dims[1]) > suggest_alike(name, dims[0]) || (suggest_alike(name, dims[1]) == suggest_alike(name, dims[0]) && strpbrk(name, "jnk") == name);
        if (!strstr(str_text(&declared), arena_printf(s->arena, "Index %s ", name)))
            str_printf(&declared, "%sIndex %s over %s\n", suggest_indent(s, s->path[0]->span.start), name, dims[columns]);
    }
    const Stmt *first = first_of(s);
    return declared.len && first && suggest_edit(s, suggest_before(s, first), str_text(&declared), "positions along these dimensions");
}

/* What a sketch's mask says, in positions. */
typedef struct Positions {
    Suggester *s;
    const char *tile;    /* which is masked */
    const char *dims[2]; /* that blocks, and turns, go over; NULL: none */
    const char *counter; /* of the turns */
    const char *text;    /* the condition so far */
    Str declared;        /* positions that are not declared yet */
} Positions;

static const char *declared_over(const Unit *unit, const char *dim)
{
    const char *name = NULL;

    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_INDEX && strcmp(unit->body.data[i]->over, dim) == 0)
            name = unit->body.data[i]->name;
    return name;
}

/* Each `from`, which is no word of its own, as `to`. */
static const char *replaced(Suggester *s, const char *text, const char *from, const char *to)
{
    Str out = str_new(s->arena);

    for (const char *next; (next = strstr(text, from)); text = next + strlen(from)) {
        str_addn(&out, text, (size_t)(next - text));
        str_add(&out, to);
    }
    str_add(&out, text);
    return str_text(&out);
}

/* `row(S)`, or `col(S)` and what counts tiles, as the position along that dimension. */
static void say_position(Positions *p, int side)
{
    Suggester *s = p->s;
    const char *declared = declared_over(s->unit, p->dims[side]), *before = p->text;
    const char *name = declared ? declared : arena_printf(s->arena, "%s_pos", p->dims[side]);

    p->text = replaced(s, p->text, arena_printf(s->arena, "%s(%s)", side ? "col" : "row", p->tile), name);
    if (side && p->counter)
        p->text = suggest_words(s, p->text, p->counter, name);
    if (!declared && strcmp(p->text, before) != 0)
        str_printf(&p->declared, "%sIndex %s over %s\n", suggest_indent(s, s->path[0]->span.start), name, p->dims[side]);
}

/* `row(S)` in a sketch: the position along the dimension that blocks, or turns, go over. */
bool propose_positions(Suggester *s)
{
    static const char label[] = "its position along that dimension";
    const Expr *where = s->stmt ? stmt_condition(s->stmt) : NULL, *tile = s->stmt ? stmt_chosen_from(s->stmt) : NULL;
    Positions p = {.s = s, .declared = str_new(s->arena)};

    for (int i = 0; s->unit && i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind == STMT_GRID && s->unit->body.data[i]->n_coords)
            p.dims[0] = s->unit->body.data[i]->coords[0].name;
    for (int i = 0; i < s->depth; i++)
        if (s->path[i]->kind == STMT_FOR) {
            p.dims[1] = s->path[i]->over;
            p.counter = s->path[i]->name;
        }
    if (!where || !p.dims[0] || !p.dims[1] || !tile || tile->kind != EXPR_NAME)
        return false;
    p.tile = tile->name;
    p.text = suggest_expr(s, where);
    say_position(&p, 0);
    say_position(&p, 1);
    if (strcmp(p.text, suggest_expr(s, where)) == 0)
        return false;
    Fix edits[2] = {{suggest_before(s, s->path[0]), str_text(&p.declared), NULL}, {where->span, p.text, NULL}};
    return p.declared.len ? suggest_edits(s, edits, 2, label) : suggest_edit(s, where->span, p.text, label);
}

/* ---- outputs of which one tile is written --------------------------------------------------------------------------- */

typedef struct Firsts {
    Suggester *s;
    const char *dim, *axis, *size;
    VEC(Fix) edits;
} Firsts;

static void note_first(void *user, const Stmt *stmt)
{
    Firsts *f = user;
    const Stmt *tensor = stmt->kind == STMT_COPY && !stmt->listed ? unit_tensor(f->s->unit, copy_tensor(stmt)) : NULL;

    for (int i = 0; tensor && i < stmt->n_coords; i++) {
        const Coord *coord = &stmt->coords[i];
        if (!coord->name || strcmp(coord->name, f->dim) != 0 || !is_zero(coord->value))
            continue;
        vec_push(f->s->arena, &f->edits, ((Fix){coord->value->span, f->axis, NULL}));
        for (int k = 0; k < tensor->n_shape; k++) {
            int at = k - (tensor->n_shape - stmt->n_shape);
            if (at >= 0 && expr_is_name(tensor->shape[k], f->dim))
                f->size = suggest_expr(f->s, stmt->shape[at]);
        }
    }
}

/* `[F = 0]` of every tile: an axis of the grid goes over them. */
bool propose_axis(Suggester *s)
{
    static const char *const names[] = {"n", "f", "t", "x"};
    static const char words[] = " along '";
    const char *at = strstr(s->diag->message, words);
    Firsts f = {.s = s};
    const Stmt *grid = s->unit ? block_find(&s->unit->body, STMT_GRID, NULL) : NULL;

    if (!at || !grid)
        return false;
    at += strlen(words);
    f.dim = arena_strndup(s->arena, at, strcspn(at, "'"));
    for (size_t i = 0; i < TW_COUNT(names) && !f.axis; i++)
        f.axis = block_mentions(&s->unit->body, names[i]) ? NULL : names[i];
    if (f.axis)
        suggest_each(&s->unit->body, note_first, &f);
    if (f.edits.len == 0 || !f.size)
        return false;
    Fix *edits = arena_array(s->arena, Fix, f.edits.len + 1);
    edits[0] = (Fix){{grid->span.end, grid->span.end}, arena_printf(s->arena, ", %s = ceil(%s / %s)", f.axis, f.dim, f.size), NULL};
    for (int i = 0; i < f.edits.len; i++)
        edits[i + 1] = f.edits.data[i];
    return suggest_edits(s, edits, f.edits.len + 1, "blocks go over all of them");
}

/* Two axes whose extents are each other's: all that is said of their tiles comes of that. */
bool propose_exchanged_axes(Suggester *s)
{
    const Stmt *grid = s->unit ? block_find(&s->unit->body, STMT_GRID, NULL) : NULL;

    for (int i = 0; grid && i < grid->n_coords; i++)
        for (int k = i + 1; k < grid->n_coords; k++) {
            Stmt *changed = suggest_like(s, grid);
            const char *text;

            if (!grid->coords[i].value || !grid->coords[k].value || expr_equal(grid->coords[i].value, grid->coords[k].value))
                continue;
            changed->coords = arena_array(s->arena, Coord, grid->n_coords);
            memcpy(changed->coords, grid->coords, (size_t)grid->n_coords * sizeof *grid->coords);
            changed->coords[i].value = grid->coords[k].value;
            changed->coords[k].value = grid->coords[i].value;
            text = suggest_text(s, changed);
            if (suggest_helps(s, grid->span, text) && s->left == 0) {
                diag_fix(s->chain->diags, s->diag, grid->span, text, "these two the other way round");
                return true;
            }
        }
    return false;
}

/* ---- counters ---------------------------------------------------------------------------------------------------------- */

typedef struct Counter {
    Suggester *s;
    const Stmt *loop;
    const char *name;
    VEC(Fix) edits;
} Counter;

static void rename_counted(void *user, const Stmt *stmt)
{
    Counter *c = user;

    for (int i = 0; stmt->kind == STMT_COPY && !stmt->listed && i < stmt->n_coords; i++) {
        const Coord *coord = &stmt->coords[i];
        if (coord->name && coord->value && expr_mentions(c->loop->hi, coord->name) && expr_mentions(coord->value, c->loop->name))
            vec_push(c->s->arena, &c->edits, ((Fix){coord->value->span, suggest_words(c->s, suggest_expr(c->s, coord->value), c->loop->name, c->name), NULL}));
    }
}

/* A loop that counts by the name of a coordinate: by another, along the dimension that it goes over. */
bool propose_counter_name(Suggester *s)
{
    static const char *const names[] = {"k", "j", "i", "t"};
    Counter c = {.s = s, .loop = s->stmt && s->stmt->kind == STMT_FOR && s->stmt->hi ? s->stmt : NULL};

    for (size_t i = 0; c.loop && i < TW_COUNT(names) && !c.name; i++)
        c.name = block_mentions(&s->unit->body, names[i]) || strcmp(names[i], c.loop->name) == 0 ? NULL : names[i];
    if (!c.name)
        return false;
    vec_push(s->arena, &c.edits, ((Fix){c.loop->name_span, c.name, NULL}));
    suggest_each(&c.loop->body, rename_counted, &c);
    return suggest_edits(s, c.edits.data, c.edits.len, "a name of its own");
}

/* ---- units -------------------------------------------------------------------------------------------------------------- */

/* A Kernel that copies nothing and has no Grid: a definition. */
bool propose_definition(Suggester *s)
{
    static const char word[] = "Kernel";
    bool fits = s->unit && s->unit->kind == UNIT_KERNEL && strncmp(s->source->text + s->unit->span.start, word, strlen(word)) == 0;

    for (int i = 0; fits && i < s->unit->body.len; i++) {
        StmtKind kind = s->unit->body.data[i]->kind;
        fits = kind != STMT_GRID && kind != STMT_COPY && kind != STMT_ALLOCATE && kind != STMT_FOR && kind != STMT_RESHAPE;
    }
    return fits && suggest_edit(s, (Span){s->unit->span.start, s->unit->span.start + (int)strlen(word)}, "Operator", "of whole tensors is a definition");
}

/* Rows of shared tiles that are no whole 16 bytes: the number that says their length, wherever it stands, as the next that is. */
bool propose_longer_rows(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; i < cuts.allocated.len; i++) {
        const Stmt *tile = cuts.allocated.data[i];
        const Expr *last = tile->n_shape ? tile->shape[tile->n_shape - 1] : NULL;
        bool declared = false; /* the length of a tensor, which is no choice */
        for (int k = 0; last && k < cuts.tensors.len; k++)
            for (int d = 0; d < cuts.tensors.data[k]->n_shape; d++)
                declared |= expr_equal(cuts.tensors.data[k]->shape[d], last);
        if (tile->space != SPACE_SHARED || !last || last->kind != EXPR_INT || last->i <= 0 || last->i % 16 == 0 || declared)
            continue;
        Span unit = {suggest_before(s, s->unit->body.data[0]).start, s->unit->end};
        const char *text = arena_strndup(s->arena, s->source->text + unit.start, (size_t)(unit.end - unit.start));
        const char *from = arena_printf(s->arena, "%lld", (long long)last->i), *to = arena_printf(s->arena, "%lld", (long long)(last->i / 16 + 1) * 16);
        if (suggest_edit(s, unit, suggest_words(s, text, from, to), arena_printf(s->arena, "%s in place of %s", to, from)))
            return true;
    }
    return false;
}
