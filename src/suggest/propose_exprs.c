/* propose_exprs.c: Kernels that give something else than the Operator beside them, with an expression changed in one place.
 * Each change is executed beside the definition before it is suggested (vary.h).
 *
 *   sb[k, n]                             sb[n, k]                               the other way round
 *   exp2(g * (q - k))                    exp2(g * (k - q))
 *   min(a, 0)                            max(a, 0)                              what is like it
 *   where col(S) < row(S)                where col(S) <= row(S)
 *   [taps = k]                           [taps = 2 - k]                         from the other end
 *   for j = s * n:tiles                  for j = s * n:min((s + 1) * n, tiles)  a part of its own
 *   where col(S) < len                   where j * BN + col(S) < len            where the tile begins
 *   Id[i + row]                          Id[i * BM + row]                       elements, not tiles
 *   [pages = j]                          [pages = Table[b, j]]                  as another Copy has it
 *   [L = h]                              [L = m]                                another of its kind
 *   len = Len[0]                         len = Len[b]                           the block's own entry
 *   for j = 0:len div BN                 for j = 0:ceil(len / BN)               the last one as well, of blocks, too
 *   for j = 0:ceil(N / BN) - 1           for j = 0:ceil(N / BN)                 one more, one less; without a part
 *   b = i % G, g = i div G               b = i % B, g = i div B                 of one size
 *   Grid m = ceil(len / BM)              Grid m = ceil(len * group / BM)        of rows that `(m * BM + row(Q)) div group` has
 *   Grid m = tiles, s = 1                Grid m = tiles, s = splits             a size for a number
 *   g = G                                g = min(tiles - first, G)              the last group of tiles has fewer
 *   [q = r % G, h = r div G]             [q = r div G, h = r % G]               quotient and remainder exchanged
 *   [256 = 0]                            [256 = 1]                              the one behind it, or before it
 *   n1 * n1 / (n0 + n1)                  n0 * n1 / (n0 + n1)                    another name that is said there
 *   n = i div g                          n = (i % G) div g                      the part of it that another one is made of
 */
#include <math.h>

#include "suggest/vary.h"

/* What an expression is. */
typedef enum Role { VALUE, CONDITION, COORDINATE, BOUND } Role;

/* Where it stands, and a copy that is changed and changed back. */
typedef struct Site {
    Vary *v;
    const Stmt *stmt;
    Span span;
    Expr *root;
    Role role;
    const char *dim; /* of a coordinate; NULL: by its place */
} Site;

static bool try_site(Site *t, const char *label)
{
    return suggest_edit(t->v->s, t->span, suggest_expr(t->v->s, t->root), label);
}

/* A node for a moment something else. */
static bool try_as(Site *t, Expr *node, Expr other, const char *label)
{
    Expr was = *node;
    bool found;

    *node = other;
    found = try_site(t, label);
    *node = was;
    return found;
}

/* ---- order ---------------------------------------------------------------------------------- */

static bool try_args_exchanged(Site *t, Expr *e)
{
    for (int i = 0; i + 1 < e->n_args; i++) {
        Expr other = *e;

        other.args = arena_array(t->v->s->arena, Expr *, e->n_args);
        memcpy(other.args, e->args, (size_t)e->n_args * sizeof *e->args);
        other.args[i] = e->args[i + 1];
        other.args[i + 1] = e->args[i];
        if (!expr_equal(e->args[i], e->args[i + 1]) && try_as(t, e, other, "the other way round it is what the Operator says"))
            return true;
    }
    return false;
}

static bool try_exchanged(Site *t, Expr *e)
{
    bool ordered = e->kind == EXPR_BINARY && (e->op == EO_SUB || e->op == EO_DIV || e->op == EO_IDIV || e->op == EO_MOD || e->op == EO_POW);
    Expr other = *e;

    other.a = e->b;
    other.b = e->a;
    if (ordered && try_as(t, e, other, "the other way round it is what the Operator says"))
        return true;
    return e->kind == EXPR_INDEX && try_args_exchanged(t, e);
}

/* ---- what is like it -------------------------------------------------------------------------- */

static const ExprOp LIKE[][6] = {
    {EO_LE, EO_LT, EO_GE, EO_GT}, {EO_EQ, EO_NE}, {EO_ADD, EO_SUB}, {EO_DIV, EO_MUL}, {EO_IDIV, EO_MOD}, {EO_AND, EO_OR},
};
enum { ALIKE = 6 };

typedef struct Counter {
    const char *name;
    bool found;
} Counter;

static void find_counter(void *user, const Stmt *stmt)
{
    Counter *c = user;

    c->found |= stmt->kind == STMT_FOR && stmt->name && strcmp(stmt->name, c->name) == 0;
    for (int i = 0; stmt->kind == STMT_GRID && i < stmt->n_coords; i++)
        c->found |= stmt->coords[i].name && strcmp(stmt->coords[i].name, c->name) == 0;
}

/* `j * BN`, where a tile begins: the product is meant, whatever else gives the same where there are few tiles. */
static bool is_begin_of_tile(const Site *t, const Expr *e)
{
    Counter c = {.name = e->op == EO_MUL && e->a->kind == EXPR_NAME ? e->a->name : NULL};

    if (c.name)
        suggest_each(&t->v->kernel->body, find_counter, &c);
    return c.found;
}

static bool try_other_sign(Site *t, Expr *e)
{
    for (size_t i = 0; e->kind == EXPR_BINARY && !is_begin_of_tile(t, e) && i < TW_COUNT(LIKE); i++) {
        bool among = false;

        for (int k = 0; k < ALIKE && (k == 0 || LIKE[i][k]); k++)
            among |= LIKE[i][k] == e->op;
        for (int k = 0; among && k < ALIKE && (k == 0 || LIKE[i][k]); k++) {
            Expr other = *e;

            other.op = LIKE[i][k];
            if (other.op == EO_MUL && e->op == EO_DIV && t->role == BOUND) /* many turns of nothing */
                continue;
            if (other.op == EO_MUL && (expr_is_one(e->a) || expr_is_one(e->b))) /* that is one of the two alone */
                continue;
            if (other.op != e->op && try_as(t, e, other, "with this sign it is what the Operator says"))
                return true;
        }
    }
    return e->kind == EXPR_UNARY && e->op == EO_NEG && try_as(t, e, *e->a, "without the sign it is what the Operator says");
}

/* `Divide v, N` for `Divide v, N - 1`, `0:n` for `0:n - 1`. */
static bool try_without_number(Site *t, Expr *e)
{
    bool alone = (t->role == VALUE && t->stmt->kind == STMT_COMPUTE) || (t->role == BOUND && e == t->root);
    bool added = alone && e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB) && e->b->kind == EXPR_INT;

    return added && try_as(t, e, *e->a, "this alone is what the Operator says");
}

static const char *const FUNCTIONS[][2] = {{"min", "max"}, {"floor", "ceil"}, {"row", "col"}, {"exp", "exp2"}, {"log", "log2"}, {"sin", "cos"}};

/* Likewise names of places without their brackets. */
static bool try_other_function(Site *t, Expr *e)
{
    for (size_t i = 0; (e->kind == EXPR_CALL || e->kind == EXPR_NAME) && i < TW_COUNT(FUNCTIONS); i++)
        for (int k = 0; k < 2; k++) {
            Expr other = *e;

            other.name = FUNCTIONS[i][1 - k];
            if (text_equal_nocase(e->name, FUNCTIONS[i][k]) && try_as(t, e, other, "with this it is what the Operator says"))
                return true;
        }
    return false;
}

/* exp(x) for exp(-x) */
static bool try_negated(Site *t, Expr *e)
{
    static const char *const signed_ones[] = {"exp", "exp2", "tanh", "sigmoid", "sin"};

    for (size_t i = 0; e->kind == EXPR_CALL && e->n_args == 1 && i < TW_COUNT(signed_ones); i++) {
        Expr *arg = e->args[0], inner = *arg;
        Expr other = {.kind = EXPR_UNARY, .op = EO_NEG, .a = &inner, .depth = arg->depth + 1};

        if (text_equal_nocase(e->name, signed_ones[i]) && try_as(t, arg, other, "with the other sign it is what the Operator says"))
            return true;
    }
    return false;
}

/* ---- loops ------------------------------------------------------------------------------------ */

static const Stmt *loop_of(const Vary *v, const char *counter)
{
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_FOR && v->all.data[i]->hi && strcmp(v->all.data[i]->name, counter) == 0)
            return v->all.data[i];
    return NULL;
}

/* `taps - 1 - k` for `k` */
static bool try_reversed(Site *t, Expr *e)
{
    Arena *arena = t->v->s->arena;
    const Stmt *loop = e->kind == EXPR_NAME && t->role != BOUND ? loop_of(t->v, e->name) : NULL;

    if (!loop || !loop->lo || loop->lo->kind != EXPR_INT || loop->lo->i != 0)
        return false;
    Expr *last = loop->hi->kind == EXPR_INT ? expr_int(arena, loop->hi->i - 1) : expr_binary(arena, EO_SUB, expr_copy(arena, loop->hi), expr_int(arena, 1));
    return try_as(t, e, *expr_binary(arena, EO_SUB, last, expr_name(arena, e->name)), "from the other end it is what the Operator says");
}

/* A loop that ends where its block's part does, and begins where all do. */
static bool try_own_start(Site *t, Expr *e)
{
    Arena *arena = t->v->s->arena;
    const Expr *hi = t->stmt->kind == STMT_FOR && e == t->root && t->role == BOUND && e->kind == EXPR_INT && t->span.start == t->stmt->lo->span.start ? t->stmt->hi : NULL;

    for (int i = 0; hi && hi->kind == EXPR_CALL && i < hi->n_args; i++) /* min((s + 1) * n, tiles) */
        if (hi->args[i]->kind == EXPR_BINARY && hi->args[i]->op == EO_MUL)
            hi = hi->args[i];
    for (int side = 0; hi && hi->kind == EXPR_BINARY && hi->op == EO_MUL && side < 2; side++) {
        const Expr *next = side ? hi->b : hi->a, *size = side ? hi->a : hi->b;
        bool one_more = next->kind == EXPR_BINARY && next->op == EO_ADD && expr_is_one(next->b);

        if (one_more && try_as(t, e, *expr_binary(arena, EO_MUL, expr_copy(arena, next->a), expr_copy(arena, size)), "from where its own part begins"))
            return true;
    }
    return false;
}

/* A loop that begins where its block's part does, and goes on to the end of all. */
static bool try_own_part(Site *t, Expr *e)
{
    Arena *arena = t->v->s->arena;
    const Expr *lo = t->stmt->kind == STMT_FOR && e == t->root && t->role == BOUND && t->span.start == t->stmt->hi->span.start ? t->stmt->lo : NULL;

    for (int side = 0; lo && lo->kind == EXPR_BINARY && lo->op == EO_MUL && side < 2; side++) {
        const Expr *part = side ? lo->b : lo->a, *size = side ? lo->a : lo->b;
        Expr *args[2], whole = *e;

        if (part->kind != EXPR_NAME || expr_mentions(e, part->name))
            continue;
        args[0] = expr_binary(arena, EO_MUL, expr_binary(arena, EO_ADD, expr_copy(arena, part), expr_int(arena, 1)), expr_copy(arena, size));
        args[1] = &whole;
        if (try_as(t, e, *expr_call(arena, "min", args, 2), "up to where the next part begins"))
            return true;
    }
    return false;
}

/* ---- places ------------------------------------------------------------------------------------- */

static bool is_place(const Expr *e)
{
    return (e->kind == EXPR_CALL || e->kind == EXPR_NAME) && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"));
}

static bool is_place_of(const void *user, const Expr *e)
{
    (void)user;
    return is_place(e);
}

/* Where tiles begin: a counter and a size. */
typedef struct Begin {
    const char *counter;
    const Expr *size;
} Begin;

typedef VEC(Begin) Begins;

static void add_begin(const Vary *v, Begins *list, const char *counter, const Expr *size)
{
    for (int i = 0; i < list->len; i++)
        if (strcmp(list->data[i].counter, counter) == 0)
            return;
    vec_push(v->s->arena, list, ((Begin){counter, size}));
}

/* Of `ceil(n / BN)`, or `min(most, ceil(n / BN))`, the quotient; NULL: there is none. */
static const Expr *quotient_of(const Expr *e)
{
    const Expr *found = e && e->kind == EXPR_BINARY && (e->op == EO_DIV || e->op == EO_IDIV) ? e : NULL;

    for (int i = 0; e && e->kind == EXPR_CALL && !found && i < e->n_args; i++)
        found = quotient_of(e->args[i]);
    return found;
}

/* `for j = 0:ceil(n / BN)` */
static void note_loop(const Vary *v, Begins *list, const Stmt *loop)
{
    const Expr *quotient = loop->kind == STMT_FOR ? quotient_of(loop->hi) : NULL;

    if (quotient)
        add_begin(v, list, loop->name, quotient->b);
}

static void note_begins(const Vary *v, Begins *list, const Stmt *copy)
{
    const Stmt *tensor = copy->kind == STMT_COPY ? unit_tensor(v->kernel, copy_tensor(copy)) : NULL;
    int lead = tensor ? tensor->n_shape - copy->n_shape : 0;

    for (int i = 0; tensor && lead >= 0 && i < copy->n_coords; i++)
        for (int d = lead; d < tensor->n_shape && copy->coords[i].name && copy->coords[i].value; d++) {
            const Expr *e = copy->coords[i].value;

            if (e->kind == EXPR_NAME && expr_is_name(tensor->shape[d], copy->coords[i].name) && vary_has(&v->counters, e->name))
                add_begin(v, list, e->name, copy->shape[d - lead]);
        }
}

static Begins begins_of(const Vary *v)
{
    Begins list = {0};

    for (int i = 0; i < v->all.len; i++)
        note_begins(v, &list, v->all.data[i]);
    for (int i = 0; i < v->all.len; i++)
        note_loop(v, &list, v->all.data[i]);
    return list;
}

static Expr *begin_of(const Site *t, const Begin *begin)
{
    Arena *arena = t->v->s->arena;

    return expr_binary(arena, EO_MUL, expr_name(arena, begin->counter), expr_copy(arena, begin->size));
}

/* `j * BN + col(S)` for `col(S)`, `i * BM` for `i`. */
static bool try_tile_begin(Site *t, Expr *e)
{
    bool place = is_place(e), may = (place || e->kind == EXPR_NAME) && t->role != BOUND;
    Begins begins = may ? begins_of(t->v) : (Begins){0};

    for (int i = 0; i < begins.len; i++) {
        const Begin *begin = &begins.data[i];
        Expr was = *e;

        if (!place && strcmp(begin->counter, e->name) != 0)
            continue;
        Expr *from = begin_of(t, begin);
        if (try_as(t, e, place ? *expr_binary(t->v->s->arena, EO_ADD, from, &was) : *from, "elements, from where the tile begins"))
            return true;
    }
    return false;
}

/* `j * BN + col(S) <= m * BM + row(S)` for `col(S) <= row(S)`. */
static bool try_both_begins(Site *t, Expr *e)
{
    Arena *arena = t->v->s->arena;
    bool both = e->kind == EXPR_BINARY && e->op >= EO_LT && e->op <= EO_NE && is_place(e->a) && is_place(e->b);
    Begins begins = both ? begins_of(t->v) : (Begins){0};

    for (int i = 0; i < begins.len; i++)
        for (int k = 0; k < begins.len; k++) {
            Expr other = *e;

            other.a = expr_binary(arena, EO_ADD, begin_of(t, &begins.data[i]), e->a);
            other.b = expr_binary(arena, EO_ADD, begin_of(t, &begins.data[k]), e->b);
            if (try_as(t, e, other, "elements, from where the tile begins"))
                return true;
        }
    return false;
}

static bool try_names(Site *t, Expr *e, const Names *names, const char *label)
{
    for (int i = 0; i < names->len && vary_has(names, e->name); i++) {
        Expr other = *e;

        other.name = names->data[i];
        if (strcmp(e->name, other.name) != 0 && try_as(t, e, other, label))
            return true;
    }
    return false;
}

/* `Len[b]` for `Len[h]`. */
static bool try_other_entry(Site *t, Expr *e)
{
    for (int k = 0; e->kind == EXPR_INDEX && k < e->n_args; k++)
        if (e->args[k]->kind == EXPR_NAME && try_names(t, e->args[k], &t->v->counters, "the entry of this block, or turn"))
            return true;
    return false;
}

/* `Len[b]` for `Len[0]`. */
static bool try_own_entry(Site *t, Expr *e)
{
    for (int k = 0; e->kind == EXPR_INDEX && k < e->n_args; k++)
        for (int i = 0; e->args[k]->kind == EXPR_INT && i < t->v->counters.len; i++)
            if (try_as(t, e->args[k], *expr_name(t->v->s->arena, t->v->counters.data[i]), "the entry of this block, or turn"))
                return true;
    for (int i = 0; e->kind == EXPR_INT && e == t->root && t->role == COORDINATE && i < t->v->counters.len; i++)
        if (try_as(t, e, *expr_name(t->v->s->arena, t->v->counters.data[i]), "the entry of this block, or turn"))
            return true;
    return false;
}

/* `ceil(len / BN)` for `len div BN`, or `floor(len / BN)`. */
static bool try_rounded_up(Site *t, Expr *e)
{
    Arena *arena = t->v->s->arena;
    bool down = e->kind == EXPR_CALL && e->n_args == 1 && text_equal_nocase(e->name, "floor");
    Expr *quotient = down ? e->args[0] : e->kind == EXPR_BINARY && e->op == EO_IDIV ? expr_binary(arena, EO_DIV, e->a, e->b) : NULL;

    return quotient && try_as(t, e, *expr_call(arena, "ceil", &quotient, 1), "one that is not full is one as well");
}

typedef struct Tiles {
    Arena *arena;
    const char *from, *to;
} Tiles;

static Expr *other_tile(void *user, const char *name)
{
    const Tiles *tiles = user;

    return strcmp(name, tiles->from) == 0 ? expr_name(tiles->arena, tiles->to) : NULL;
}

/* A coordinate of one Copy in another, of whose tile the rows are then. */
static Expr *of_tile(const Site *t, const Expr *place, const Stmt *copy)
{
    Tiles tiles = {t->v->s->arena, copy_tile(copy), copy_tile(t->stmt)};

    return tiles.from && tiles.to ? expr_subst(tiles.arena, place, other_tile, &tiles) : expr_copy(tiles.arena, place);
}

/* The coordinate along the same dimension that another Copy has. */
static bool try_as_elsewhere(Site *t, Expr *e)
{
    bool whole = t->role == COORDINATE && e == t->root && t->dim;

    for (int i = 0; whole && i < t->v->all.len; i++) {
        const Stmt *copy = t->v->all.data[i];

        for (int k = 0; copy->kind == STMT_COPY && k < copy->n_coords; k++) {
            const Coord *c = &copy->coords[k];
            if (c->name && c->value && strcmp(c->name, t->dim) == 0 && !expr_equal(c->value, e) && try_as(t, e, *of_tile(t, c->value, copy), "as another Copy has it"))
                return true;
        }
    }
    return false;
}

/* `i % G` within an expression; NULL: there is none. */
static const Expr *part_of(const Expr *e, const char *name)
{
    const Expr *found = e && e->kind == EXPR_BINARY && e->op == EO_MOD && expr_is_name(e->a, name) ? e : NULL;

    for (int i = 0; e && !found && i < e->n_args; i++)
        found = part_of(e->args[i], name);
    found = found || !e || !e->a ? found : part_of(e->a, name);
    return found || !e || !e->b ? found : part_of(e->b, name);
}

/* `(i % G) div g` for `i div g`, where something else is made of `i % G`. */
static bool try_same_part(Site *t, Expr *e)
{
    for (int i = 0; e->kind == EXPR_NAME && t->stmt->kind == STMT_ASSIGN && i < t->v->all.len; i++) {
        const Stmt *other = t->v->all.data[i];
        const Expr *part = other->kind == STMT_ASSIGN && other != t->stmt ? part_of(other->value, e->name) : NULL;

        if (part && try_as(t, e, *part, "the same part of it as elsewhere"))
            return true;
    }
    return false;
}

/* `min(tiles - first, G)` for `G`, where groups of so many begin at `first = group * G`. */
static bool try_last_group(Site *t, Expr *e)
{
    Arena *arena = t->v->s->arena;

    for (int i = 0; e == t->root && e->kind == EXPR_NAME && t->stmt->kind == STMT_ASSIGN && i < t->v->all.len; i++) {
        const Stmt *first = t->v->all.data[i];
        bool begins = first->kind == STMT_ASSIGN && first->value && first->value->kind == EXPR_BINARY && first->value->op == EO_MUL && expr_mentions(first->value, e->name);

        for (int k = 0; begins && k < t->v->sizes.len; k++) {
            Expr *args[2] = {expr_binary(arena, EO_SUB, expr_name(arena, t->v->sizes.data[k]), expr_name(arena, first->name)), expr_name(arena, e->name)};

            if (try_as(t, e, *expr_call(arena, "min", args, 2), "the last one may have fewer"))
                return true;
        }
    }
    return false;
}

/* `j * page + col(S) < len` for `(j - first) * page + col(S) < len`: from where all of them begin. */
static bool try_from_the_begin(Site *t, Expr *e)
{
    bool from = (t->role == CONDITION || t->role == COORDINATE) && e->kind == EXPR_BINARY && e->op == EO_SUB && e->a->kind == EXPR_NAME && vary_has(&t->v->counters, e->a->name);

    return from && try_as(t, e, *e->a, "this alone is what the Operator says");
}

/* `[256 = 1]` for `[256 = 0]`. */
static bool try_next_place(Site *t, Expr *e)
{
    for (int more = 1; e == t->root && t->role == COORDINATE && e->kind == EXPR_INT && more >= -1; more -= 2)
        if (e->i + more >= 0 && try_as(t, e, *expr_int(t->v->s->arena, e->i + more), more > 0 ? "the one behind it" : "the one before it"))
            return true;
    return false;
}

static bool try_names_in(Site *t, Expr *e, const Expr *among)
{
    Expr other = *e;

    if (!among)
        return false;
    other.name = among->name;
    if (among->kind == EXPR_NAME && strcmp(among->name, e->name) != 0 && try_as(t, e, other, "with this number it is what the Operator says"))
        return true;
    for (int i = 0; i < among->n_args; i++)
        if (try_names_in(t, e, among->args[i]))
            return true;
    return try_names_in(t, e, among->a) || try_names_in(t, e, among->b);
}

/* Names of one length that differ in the last letter, as `n0` and `n1`. */
static bool try_names_like(Site *t, Expr *e, const Names *names)
{
    size_t len = strlen(e->name);

    for (int i = 0; len > 1 && i < names->len; i++) {
        Expr other = *e;

        other.name = names->data[i];
        if (strlen(other.name) == len && strncmp(other.name, e->name, len - 1) == 0 && strcmp(other.name, e->name) != 0 && try_as(t, e, other, "with this number it is what the Operator says"))
            return true;
    }
    return false;
}

/* `n0 * n1 / (n0 + n1)` for `n1 * n1 / (n0 + n1)`. */
static bool try_name_beside(Site *t, Expr *e)
{
    return e->kind == EXPR_NAME && t->role == VALUE && t->stmt->kind == STMT_COMPUTE &&
           (try_names_in(t, e, expr_copy(t->v->s->arena, t->root)) || try_names_like(t, e, &t->v->counters) || try_names_like(t, e, &t->v->sizes));
}

/* ---- names --------------------------------------------------------------------------------------- */

/* An Input of as many dimensions, as what an element is read of. */
static bool try_tensors(Site *t, Expr *e)
{
    const Stmt *own = unit_tensor(t->v->kernel, e->name);

    for (int i = 0; own && i < t->v->all.len; i++) {
        const Stmt *input = t->v->all.data[i];
        Expr other = *e;

        other.name = input->name;
        if (input->kind == STMT_INPUT && input->n_shape == own->n_shape && input != own && try_as(t, e, other, "of this tensor it is what the Operator says"))
            return true;
    }
    return false;
}

static bool try_other_name(Site *t, Expr *e)
{
    if (e->kind != EXPR_NAME)
        return false;
    return try_names(t, e, &t->v->counters, "with this coordinate it is what the Operator says") ||
           try_names(t, e, &t->v->sizes, "with this size it is what the Operator says") || try_tensors(t, e);
}

/* ---- numbers -------------------------------------------------------------------------------------- */

static bool try_one_more(Site *t, Expr *e)
{
    Arena *arena = t->v->s->arena;
    static const ExprOp ops[] = {EO_ADD, EO_SUB};
    bool counts = e == t->root ? t->role == COORDINATE || t->role == BOUND : t->role == CONDITION && e->kind == EXPR_BINARY && e->op >= EO_LT && e->op <= EO_NE;

    counts &= t->role != BOUND || !vary_counts_all(t->v->kernel, e); /* where all is counted, one more only hides what is wrong */
    for (size_t i = 0; counts && i < TW_COUNT(ops); i++) {
        Expr *of = e == t->root ? e : e->b, was = *of;

        if (try_as(t, of, *expr_binary(arena, ops[i], &was, expr_int(arena, 1)), i ? "one less is what the Operator says" : "one more is what the Operator says"))
            return true;
    }
    return false;
}

typedef VEC(const Expr *) Exprs;

static void add_numbers(Arena *arena, Exprs *list, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_INT || e->kind == EXPR_FLOAT)
        vec_push(arena, list, e);
    add_numbers(arena, list, e->a);
    add_numbers(arena, list, e->b);
    for (int i = 0; i < e->n_args; i++)
        add_numbers(arena, list, e->args[i]);
}

/* A number of the definition's. */
static bool try_number(Site *t, Expr *e)
{
    Exprs numbers = {0};
    const Block *body = &t->v->definition->body;

    for (int i = 0; (e->kind == EXPR_INT || (e->kind == EXPR_FLOAT && isfinite(e->f))) && i < body->len; i++) {
        add_numbers(t->v->s->arena, &numbers, body->data[i]->value);
        add_numbers(t->v->s->arena, &numbers, body->data[i]->where);
        for (int k = 0; k < body->data[i]->n_args; k++)
            add_numbers(t->v->s->arena, &numbers, body->data[i]->args[k]);
    }
    for (int i = 0; i < numbers.len; i++)
        if (!expr_equal(numbers.data[i], e) && try_as(t, e, *numbers.data[i], "the number of the definition"))
            return true;
    return false;
}

/* ---- parts ------------------------------------------------------------------------------------------ */

/* How many turns there are, and which elements count, hangs on the sizes that it did: a number may be as good on small shapes. */
static bool try_part(Site *t, Expr *e, const Expr *part)
{
    bool lost = t->role != VALUE && vary_names_size(t->v->kernel, e) && !vary_names_size(t->v->kernel, part);

    return !lost && try_as(t, e, *part, "this alone is what the Operator says");
}

static bool try_without(Site *t, Expr *e)
{
    if (e->kind == EXPR_CALL && e->n_args == 2)
        return try_part(t, e, e->args[0]) || try_part(t, e, e->args[1]);
    return e->kind == EXPR_BINARY && (try_part(t, e, e->a) || try_part(t, e, e->b));
}

/* ---- every place -------------------------------------------------------------------------------------- */

typedef bool Change(Site *t, Expr *e);

static bool try_nodes(Site *t, Expr *e, Change *change)
{
    if (!e)
        return false;
    for (int i = 0; i < e->n_args; i++)
        if (try_nodes(t, e->args[i], change))
            return true;
    return change(t, e) || try_nodes(t, e->a, change) || try_nodes(t, e->b, change);
}

static bool try_expr(Vary *v, const Stmt *stmt, const Expr *e, Role role, const char *dim, Change *change)
{
    Site t = {v, stmt, e ? e->span : stmt->span, NULL, role, dim};

    if (!e || e->span.end <= e->span.start)
        return false;
    t.root = expr_copy(v->s->arena, e);
    return try_nodes(&t, t.root, change);
}

/* Sizes and what is assigned of them: with another one a program may be right, and slow. */
static bool is_number(const Stmt *s)
{
    return s->kind == STMT_ASSIGN || s->kind == STMT_LET || s->kind == STMT_PARAM;
}

static bool try_stmt(Vary *v, const Stmt *s, Change *change)
{
    if (try_expr(v, s, s->where, CONDITION, NULL, change) || ((is_number(s) || s->kind == STMT_COMPUTE || s->kind == STMT_INDEX) && try_expr(v, s, s->value, VALUE, NULL, change)))
        return true;
    for (int i = 0; s->kind == STMT_COPY && i < s->n_coords; i++)
        if (try_expr(v, s, s->coords[i].value, COORDINATE, s->coords[i].name, change))
            return true;
    for (int i = 0; s->kind == STMT_COMPUTE && i < s->n_args; i++)
        if (s->args[i]->kind != EXPR_NAME && try_expr(v, s, s->args[i], s->args[i] == stmt_condition(s) ? CONDITION : VALUE, NULL, change))
            return true;
    return s->kind == STMT_FOR && (try_expr(v, s, s->lo, BOUND, NULL, change) || try_expr(v, s, s->hi, BOUND, NULL, change));
}

/* The expressions of a list of Copies are each written once; other lists have some for each. */
static bool is_to_be_tried(const Vary *v, int i)
{
    const Stmt *s = v->all.data[i], *before = i ? v->all.data[i - 1] : NULL;

    return !s->listed || (s->kind == STMT_COPY && !(before && before->listed && before->list_start == s->list_start));
}

static bool try_all(Vary *v, Change *const *changes, int n, bool numbers)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < v->all.len; i++)
            if (is_to_be_tried(v, i) && is_number(v->all.data[i]) == numbers && try_stmt(v, v->all.data[i], changes[k]))
                return true;
    return false;
}

static Change *const OF_NUMBERS[] = {try_own_entry, try_rounded_up, try_same_part, try_last_group};
static Change *const LIKELY[] = {try_own_part, try_own_start, try_as_elsewhere, try_own_entry, try_other_entry, try_rounded_up, try_both_begins, try_tile_begin, try_name_beside, try_exchanged, try_without_number, try_from_the_begin, try_other_sign, try_other_function, try_reversed, try_negated, try_next_place};
static Change *const OTHERS[] = {try_other_name, try_number, try_one_more, try_without};

/* `[P = t, D = d]` for `[P = d, D = t]`. */
static bool try_coords_of(Vary *v, const Stmt *copy)
{
    for (int i = 0; i < copy->n_coords; i++)
        for (int k = i + 1; k < copy->n_coords; k++) {
            const Expr *a = copy->coords[i].value, *b = copy->coords[k].value;
            Fix edits[2] = {{a ? a->span : copy->span, b ? suggest_expr(v->s, b) : "", NULL}, {b ? b->span : copy->span, a ? suggest_expr(v->s, a) : "", NULL}};

            if (a && b && !expr_equal(a, b) && suggest_edits(v->s, edits, 2, "these two the other way round"))
                return true;
        }
    return false;
}

/* A quotient in one, and its remainder in the other. */
typedef struct Apart {
    const Expr *quotient, *remainder;
} Apart;

static void find_apart(Apart *apart, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_BINARY && e->op == EO_IDIV)
        apart->quotient = e;
    if (e->kind == EXPR_BINARY && e->op == EO_MOD)
        apart->remainder = e;
    find_apart(apart, e->a);
    find_apart(apart, e->b);
}

static Expr *with_op(Arena *arena, const Expr *e, const Expr *at, ExprOp op)
{
    Expr *copy = e ? arena_new_of(arena, Expr) : NULL;

    if (!e)
        return NULL;
    *copy = *e;
    copy->op = e == at ? op : e->op;
    copy->a = with_op(arena, e->a, at, op);
    copy->b = with_op(arena, e->b, at, op);
    return copy;
}

/* `[q = r div G, h = g * G + r % G]` for `[q = r % G, h = g * G + r div G]`. */
static bool try_apart(Vary *v, const Expr *first, const Expr *second)
{
    Arena *arena = v->s->arena;
    Apart a = {0}, b = {0};
    bool turned;

    find_apart(&a, first);
    find_apart(&b, second);
    turned = !a.quotient || !b.remainder;
    const Expr *one = turned ? a.remainder : a.quotient, *other = turned ? b.quotient : b.remainder;
    if (!one || !other || !expr_equal(one->b, other->b))
        return false;
    Fix edits[2] = {{first->span, suggest_expr(v->s, with_op(arena, first, one, other->op)), NULL}, {second->span, suggest_expr(v->s, with_op(arena, second, other, one->op)), NULL}};
    return suggest_edits(v->s, edits, 2, "quotient and remainder exchanged");
}

static bool try_taken_apart_otherwise(Vary *v)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *s = v->all.data[i], *next = i + 1 < v->all.len ? v->all.data[i + 1] : s;

        for (int k = 0; s->kind == STMT_COPY && is_to_be_tried(v, i) && k < s->n_coords; k++)
            for (int m = k + 1; m < s->n_coords; m++)
                if (s->coords[k].value && s->coords[m].value && try_apart(v, s->coords[k].value, s->coords[m].value))
                    return true;
        if (s->kind == STMT_ASSIGN && next->kind == STMT_ASSIGN && next != s && s->value && next->value && try_apart(v, s->value, next->value))
            return true;
    }
    return false;
}

static bool try_coords_exchanged(Vary *v)
{
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_COPY && is_to_be_tried(v, i) && try_coords_of(v, v->all.data[i]))
            return true;
    return false;
}

/* `g = bg % G`, `b = bg div G`: what takes a number apart has one size in both. */
static bool try_taken_apart(Vary *v)
{
    for (int i = 0; i + 1 < v->all.len; i++) {
        const Expr *a = v->all.data[i]->kind == STMT_ASSIGN ? v->all.data[i]->value : NULL, *b = v->all.data[i + 1]->kind == STMT_ASSIGN ? v->all.data[i + 1]->value : NULL;
        bool pair = a && b && a->kind == EXPR_BINARY && b->kind == EXPR_BINARY && (a->op == EO_MOD || b->op == EO_MOD) && (a->op == EO_IDIV || b->op == EO_IDIV) && expr_equal(a->a, b->a);

        for (int k = 0; pair && k < v->sizes.len; k++) {
            Fix edits[2] = {{a->b->span, v->sizes.data[k], NULL}, {b->b->span, v->sizes.data[k], NULL}};

            if (!(expr_is_name(a->b, v->sizes.data[k]) && expr_is_name(b->b, v->sizes.data[k])) && suggest_edits(v->s, edits, 2, "of this size it is what the Operator says"))
                return true;
        }
    }
    return false;
}

/* `for j = 0:n` for a loop that begins behind what a mask leaves. */
static bool try_from_the_first(Vary *v)
{
    for (int i = 0; i < v->all.len; i++) {
        const Expr *lo = v->all.data[i]->kind == STMT_FOR ? v->all.data[i]->lo : NULL;

        if (lo && lo->kind != EXPR_INT && suggest_edit(v->s, lo->span, "0", "from the first on, of which the mask leaves what counts"))
            return true;
    }
    return false;
}

static bool try_likely(Vary *v)
{
    return try_all(v, OF_NUMBERS, TW_COUNT(OF_NUMBERS), true) || try_taken_apart_otherwise(v) || try_all(v, LIKELY, TW_COUNT(LIKELY), false) || try_from_the_first(v);
}

static bool try_others(Vary *v)
{
    return try_taken_apart(v) || try_coords_exchanged(v) || try_all(v, OTHERS, TW_COUNT(OTHERS), false) || try_all(v, LIKELY, TW_COUNT(LIKELY), true) || try_all(v, OTHERS, TW_COUNT(OTHERS), true);
}

/* Of a Copy whose coordinates are said not to go along their dimensions (TW0453). */
bool propose_exchanged_places(Suggester *s)
{
    Vary v = {.s = s};

    return s->stmt && s->stmt->kind == STMT_COPY && s->unit && s->unit->kind == UNIT_KERNEL && try_coords_of(&v, s->stmt);
}

/* Of a condition that is said to be of something else than its tile. */
bool propose_other_condition(Suggester *s)
{
    enum { MOST_TRIES = 60 };
    static Change *const changes[] = {try_other_sign, try_other_function, try_exchanged};
    const Stmt *stmt = s->agrees && s->stage == s->agrees && s->unit && s->unit->kind == UNIT_KERNEL && vary_definition(s) ? s->stmt : NULL;
    Vary v = stmt ? vary_kernel(s, s->unit) : (Vary){0};
    int tries = s->tries;
    bool strict = s->strict, found = false;

    s->tries = MOST_TRIES;
    s->strict = true;
    for (size_t i = 0; stmt && !found && i < TW_COUNT(changes); i++)
        found = try_stmt(&v, stmt, changes[i]);
    s->tries = tries;
    s->strict = strict;
    return found;
}

/* `P` for `P - 1`. */
static bool try_last_too(Site *t, Expr *e)
{
    bool less = e == t->root && e->kind == EXPR_BINARY && e->op == EO_SUB && expr_is_one(e->b);

    return less && try_as(t, e, *e->a, "the last one as well");
}

/* The bounds of loops and of the grid: before a whole loop is said to be missing. */
static bool try_whole_counts(Vary *v)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *s = v->all.data[i];

        if (s->kind == STMT_FOR && (try_stmt(v, s, try_rounded_up) || try_expr(v, s, s->hi, BOUND, NULL, try_last_too)))
            return true;
        for (int k = 0; s->kind == STMT_GRID && k < s->n_coords; k++)
            if (try_expr(v, s, s->coords[k].value, BOUND, NULL, try_rounded_up) || try_expr(v, s, s->coords[k].value, BOUND, NULL, try_last_too))
                return true;
    }
    return false;
}

/* `(m * BM + row(Q)) div group`, of which `m` is what counts the blocks; NULL: it is no quotient of these. */
static const Expr *divided(const Expr *e, const char *axis)
{
    const Expr *found = e && e->kind == EXPR_BINARY && e->op == EO_IDIV && expr_mentions(e->a, axis) && expr_any(e->a, is_place_of, NULL) ? e : NULL;

    found = found || !e || !e->a ? found : divided(e->a, axis);
    return found || !e || !e->b ? found : divided(e->b, axis);
}

/* What a name is assigned, which the grid stands before; else the expression itself. */
static const Expr *said_before(const Vary *v, const Expr *e, const Stmt *grid)
{
    for (int i = 0; e->kind == EXPR_NAME && i < v->all.len; i++) {
        const Stmt *s = v->all.data[i];

        if (s->kind == STMT_ASSIGN && s->name && strcmp(s->name, e->name) == 0 && s->span.start > grid->span.start)
            return s->value;
    }
    return e;
}

/* `ceil(len * group / BM)` for `ceil(len / BM)`. */
static bool try_count_of(Vary *v, const Stmt *grid, const Coord *c, const Expr *divisor)
{
    Arena *arena = v->s->arena;
    Expr *count = expr_copy(arena, c->value), *quotient = count->kind == EXPR_CALL && count->n_args == 1 ? count->args[0] : count;

    if (quotient->kind != EXPR_BINARY || quotient->op != EO_DIV)
        return false;
    quotient->a = expr_binary(arena, EO_MUL, quotient->a, expr_copy(arena, said_before(v, divisor, grid)));
    return suggest_edit(v->s, c->value->span, suggest_expr(v->s, count), "as many rows as these places are of");
}

/* A grid of rows that two dimensions share. */
static bool try_shared_rows(Vary *v)
{
    const Stmt *grid = block_find(&v->kernel->body, STMT_GRID, NULL);

    for (int i = 0; grid && i < grid->n_coords; i++)
        for (int k = 0; grid->coords[i].name && grid->coords[i].value && k < v->all.len; k++)
            for (int d = 0; v->all.data[k]->kind == STMT_COPY && d < v->all.data[k]->n_coords; d++) {
                const Expr *place = divided(v->all.data[k]->coords[d].value, grid->coords[i].name);

                if (place && try_count_of(v, grid, &grid->coords[i], place->b))
                    return true;
            }
    return false;
}

/* Whether an expression of a place, a turn or a condition is of both. */
static bool says_both(const Vary *v, const char *axis, const char *size)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *s = v->all.data[i];
        const Expr *said[] = {s->kind == STMT_GRID ? NULL : s->value, s->where, s->lo, s->hi, s->kind == STMT_COMPUTE ? stmt_condition(s) : NULL};
        bool both = false;

        for (size_t k = 0; k < TW_COUNT(said); k++)
            both |= said[k] && expr_mentions(said[k], axis) && expr_mentions(said[k], size);
        for (int k = 0; s->kind == STMT_COPY && k < s->n_coords; k++)
            both |= s->coords[k].value && expr_mentions(s->coords[k].value, axis) && expr_mentions(s->coords[k].value, size);
        if (both)
            return true;
    }
    return false;
}

/* `Grid s = splits` for `Grid s = 1`. */
static bool try_counts_by_name(Vary *v)
{
    const Stmt *grid = block_find(&v->kernel->body, STMT_GRID, NULL);

    for (int i = 0; grid && i < grid->n_coords; i++)
        for (int k = 0; grid->coords[i].name && grid->coords[i].value && grid->coords[i].value->kind == EXPR_INT && k < v->sizes.len; k++) {
            const Expr *count = said_before(v, expr_name(v->s->arena, v->sizes.data[k]), grid);

            if (says_both(v, grid->coords[i].name, v->sizes.data[k]) && suggest_edit(v->s, grid->coords[i].value->span, suggest_expr(v->s, count), "so many blocks"))
                return true;
        }
    return false;
}

bool propose_whole_counts(Suggester *s)
{
    return vary_each(s, try_whole_counts) || vary_each(s, try_shared_rows) || vary_each(s, try_counts_by_name);
}

bool propose_likely_exprs(Suggester *s)
{
    return vary_each(s, try_likely);
}

bool propose_other_exprs(Suggester *s)
{
    return vary_each(s, try_others);
}
