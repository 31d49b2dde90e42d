/* again.c: names that loops and branches give a value once more, written as names of their own.
 *
 *   t = 0                                          t = 0
 *   for k = 0:n                                    for k = 0:n
 *     Copy K ... [len = t] ...                       t_1 = t + k
 *     t = t + 1                             ->       Copy K ... [len = t_1] ...
 *   end                                              t_2 = t + (k + 1)
 *   Copy K ... [len = t] ...                       end
 *                                                  t_3 = t + max(n - 0, 0)
 *                                                  Copy K ... [len = t_3] ...
 *
 * Integers of a kernel are expressions, and nothing carries them round a loop. So what a turn makes of what the
 * turn before left has to follow from the turn's number: it grows by the same, goes round, `t = (t + 1) % n`, or
 * alternates, `t = 1 - t`. What a turn sets before it reads it is the turn's own. Behind a branch a name is what the
 * branch gave it, where that was taken. All else is left as it is, and refused where it is checked.
 */
#include "lang/prologue.h"

#include "lang/tree.h"

typedef struct Entry { /* a name that has a value here */
    const char *name, *now; /* as the program calls it; as it is called here */
    Expr *value;
    bool refused;           /* what it is does not follow */
} Entry;

typedef VEC(Entry) Entries;
typedef VEC(const char *) Names;

typedef enum FormKind { FORM_NONE, FORM_GROWS, FORM_GOES_ROUND, FORM_ALTERNATES } FormKind;

typedef struct Form {
    FormKind kind;
    Expr *step, *modulus; /* by which it grows a turn, from which it is subtracted; where it goes round */
    const Stmt *by;       /* NULL: a loop within */
} Form;

typedef struct Carried {
    const char *name;
    Form form;
    Entry begin; /* in front of the loop */
} Carried;

typedef struct Level { /* a block at hand */
    const Block *block;
    int at;
    const Stmt *loop; /* NULL: it is none's */
    VEC(Carried) carried;
} Level;

typedef struct Again {
    Arena *arena;
    const Unit *unit;
    Entries scope;
    VEC(Level) levels;
    int made;
    bool changed;
} Again;

/* ---- what statements do with a name ------------------------------------------------------------- */

static bool assigns(const Stmt *s, const char *name)
{
    return (s->kind == STMT_ASSIGN || s->kind == STMT_LET) && s->value && strcmp(s->name, name) == 0;
}

static bool nests(const Stmt *s)
{
    return s->kind == STMT_FOR || s->kind == STMT_IF;
}

static int count_assigned(const Block *block, const char *name)
{
    int n = 0;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        n += assigns(s, name);
        if (nests(s))
            n += count_assigned(&s->body, name) + count_assigned(&s->orelse, name);
    }
    return n;
}

static void assigned_names(Again *a, const Block *block, Names *names)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        if (s->name && assigns(s, s->name) && !text_among(names->data, names->len, s->name))
            vec_push(a->arena, names, s->name);
        if (!nests(s))
            continue;
        assigned_names(a, &s->body, names);
        assigned_names(a, &s->orelse, names);
    }
}

typedef enum Use { USE_NONE, USE_MAY_SET, USE_SETS, USE_READS } Use;

static Use first_use(const Block *block, int from, const char *name);

static Use use_in(const Stmt *s, const char *name)
{
    if (assigns(s, name))
        return expr_mentions(s->value, name) ? USE_READS : USE_SETS;
    if (!nests(s)) {
        Stmt *alone = (Stmt *)s;
        const Block block = {.data = &alone, .len = 1};
        return block_mentions(&block, name) ? USE_READS : USE_NONE;
    }
    if (expr_mentions(s->lo, name) || expr_mentions(s->hi, name) || expr_mentions(s->where, name))
        return USE_READS;
    Use body = first_use(&s->body, 0, name), orelse = first_use(&s->orelse, 0, name);
    if (body == USE_READS || orelse == USE_READS)
        return USE_READS;
    if (body == USE_SETS && orelse == USE_SETS)
        return USE_SETS;
    return body == USE_NONE && orelse == USE_NONE ? USE_NONE : USE_MAY_SET;
}

/* What the statements of a block from one on do with what the name is above them. */
static Use first_use(const Block *block, int from, const char *name)
{
    Use before = USE_NONE;

    for (int i = from; i < block->len; i++) {
        Use use = use_in(block->data[i], name);
        if (use == USE_READS || use == USE_SETS)
            return use;
        if (use == USE_MAY_SET)
            before = use;
    }
    return before;
}

/* Whether a statement behind the one at hand reads what the name is there. */
static bool read_behind(const Again *a, const char *name)
{
    for (int i = a->levels.len - 1; i >= 0; i--) {
        Use use = first_use(a->levels.data[i].block, a->levels.data[i].at + 1, name);
        if (use == USE_READS || use == USE_SETS)
            return use == USE_READS;
    }
    return false;
}

/* ---- names ------------------------------------------------------------------------------------ */

static Entry *find(const Again *a, const char *name)
{
    for (int i = a->scope.len - 1; i >= 0; i--)
        if (strcmp(a->scope.data[i].name, name) == 0)
            return &a->scope.data[i];
    return NULL;
}

static Expr *called_now(void *user, const char *name)
{
    const Again *a = user;
    const Entry *e = find(a, name);

    return e && e->now != e->name ? expr_name(a->arena, e->now) : NULL;
}

static Expr *now(Again *a, const Expr *e)
{
    return expr_subst(a->arena, e, called_now, a);
}

static const char *fresh_name(Again *a, const char *name)
{
    const char *fresh;

    do
        fresh = arena_printf(a->arena, "%s_%d", name, ++a->made);
    while (block_mentions(&a->unit->body, fresh) || count_assigned(&a->unit->body, fresh) || unit_tensor(a->unit, fresh));
    return fresh;
}

/* Operations of one's own are written in line later. */
static bool named_in_define(const Again *a, const char *name)
{
    for (int i = 0; i < a->unit->body.len; i++)
        if (a->unit->body.data[i]->kind == STMT_DEFINE && block_mentions(&a->unit->body.data[i]->body, name))
            return true;
    return false;
}

/* Whether a name in a block is another one elsewhere. */
static bool is_several(const Again *a, const char *name)
{
    return a->levels.len > 1 && count_assigned(&a->unit->body, name) > 1 && !named_in_define(a, name);
}

/* `fresh = value`, where the program gives the name a value. */
static void give(Again *a, const char *name, Expr *value, const Stmt *from, Block *out)
{
    Stmt *assign = stmt_new(a->arena, STMT_ASSIGN);
    bool fresh = find(a, name) || is_several(a, name);

    a->changed |= from->name != name || fresh;
    assign->span = from->span;
    assign->name_span = from->name_span;
    assign->name = fresh ? fresh_name(a, name) : name;
    assign->value = value;
    vec_push(a->arena, out, assign);
    Entry entry = {.name = name, .now = assign->name, .value = value};
    vec_push(a->arena, &a->scope, entry);
}

static void refuse(Again *a, const char *name)
{
    Entry entry = *find(a, name);

    entry.refused = true;
    vec_push(a->arena, &a->scope, entry);
}

/* ---- from turn to turn --------------------------------------------------------------------------- */

static bool is_int(const Expr *e, int64_t *v)
{
    *v = e && e->kind == EXPR_INT ? e->i : 0;
    return e && e->kind == EXPR_INT;
}

static bool is_sum(const Expr *e)
{
    return e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB);
}

/* t + c, c + t, t - c, c - t */
static Form form_of_sum(Again *a, const Expr *e, const char *name)
{
    bool first = is_sum(e) && expr_is_name(e->a, name), second = is_sum(e) && expr_is_name(e->b, name);

    if (first == second || expr_mentions(first ? e->b : e->a, name))
        return (Form){0};
    if (first)
        return (Form){FORM_GROWS, e->op == EO_ADD ? e->b : expr_unary(a->arena, EO_NEG, e->b), NULL, NULL};
    return (Form){e->op == EO_ADD ? FORM_GROWS : FORM_ALTERNATES, e->a, NULL, NULL};
}

static Form form_of_value(Again *a, const Expr *e, const char *name)
{
    Form form = form_of_sum(a, e, name);

    if (e->kind != EXPR_BINARY || e->op != EO_MOD)
        return form;
    form = form_of_sum(a, e->a, name);
    if (form.kind != FORM_GROWS || expr_mentions(e->b, name))
        return (Form){0};
    form.kind = FORM_GOES_ROUND;
    form.modulus = e->b;
    return form;
}

typedef struct Body {
    const Stmt *loop;
    const Names *assigned;
} Body;

static bool changes(const void *user, const Expr *e)
{
    const Body *b = user;

    return e->kind == EXPR_INDEX || (e->kind == EXPR_NAME && (strcmp(e->name, b->loop->name) == 0 || text_among(b->assigned->data, b->assigned->len, e->name)));
}

static bool is_same_in_all_turns(const Expr *e, const Body *b)
{
    return !e || !expr_any(e, changes, b);
}

static Expr *turns_of(Again *a, const Stmt *loop)
{
    Expr *zero = expr_int(a->arena, 0), **args = arena_array(a->arena, Expr *, 2);

    args[0] = expr_binary(a->arena, EO_SUB, loop->hi, loop->lo);
    args[1] = zero;
    return expr_call(a->arena, "max", args, 2);
}

/* What a turn of the loop makes of the name, as the only statement that gives it a value says. */
static Form form_within(Again *a, const Stmt *loop, const char *name)
{
    Names assigned = {0};
    const Body turn = {loop, &assigned};
    Form form = {0};

    assigned_names(a, &loop->body, &assigned);
    for (int i = 0; i < loop->body.len; i++) {
        const Stmt *s = loop->body.data[i];
        if (assigns(s, name)) {
            form = form_of_value(a, s->value, name);
            form.by = s;
        } else if (s->kind == STMT_FOR && s->hi && count_assigned(&s->body, name)) {
            form = form_within(a, s, name);
            form.by = NULL;
            if (form.kind == FORM_ALTERNATES)
                form.kind = FORM_NONE;
            if (form.kind)
                form.step = expr_binary(a->arena, EO_MUL, form.step, turns_of(a, s));
        }
    }
    if (!is_same_in_all_turns(form.step, &turn) || !is_same_in_all_turns(form.modulus, &turn))
        form.kind = FORM_NONE;
    return form;
}

/* `t % n` is t itself at first */
static bool begins_within(const Expr *value, const Expr *modulus)
{
    int64_t v, n;

    if (is_int(value, &v))
        return v == 0 || (v > 0 && is_int(modulus, &n) && v < n);
    return value && value->kind == EXPR_BINARY && value->op == EO_MOD && expr_equal(value->b, modulus);
}

static Form form_of(Again *a, const Stmt *loop, const char *name)
{
    Form form = {0};

    if (!loop->hi || count_assigned(&loop->body, name) != 1)
        return form;
    form = form_within(a, loop, name);
    if (form.kind == FORM_GOES_ROUND && !begins_within(find(a, name)->value, now(a, form.modulus)))
        form.kind = FORM_NONE;
    return form;
}

/* What the name is behind so many turns. */
static Expr *behind_turns(Again *a, const Carried *c, Expr *turns)
{
    Arena *arena = a->arena;
    Expr *begin = expr_name(arena, c->begin.now), *step = now(a, c->form.step), *two = expr_int(arena, 2);
    int64_t first, sum;

    if (c->form.kind == FORM_ALTERNATES) {
        if (is_int(c->begin.value, &first) && is_int(step, &sum) && sum == 1 && (first == 0 || first == 1))
            return expr_binary(arena, EO_MOD, expr_binary(arena, EO_ADD, turns, begin), two);
        Expr *between = expr_binary(arena, EO_SUB, step, expr_binary(arena, EO_MUL, two, begin));
        return expr_binary(arena, EO_ADD, begin, expr_binary(arena, EO_MUL, between, expr_binary(arena, EO_MOD, turns, expr_int(arena, 2))));
    }
    Expr *grown = expr_binary(arena, EO_ADD, begin, expr_binary(arena, EO_MUL, step, turns));
    return c->form.kind == FORM_GOES_ROUND ? expr_binary(arena, EO_MOD, grown, now(a, c->form.modulus)) : grown;
}

/* How many turns are over, `more` among them that is at hand; of a loop whose bounds are called as they are in front of it. */
static Expr *turns_over(Again *a, const Stmt *loop, int more)
{
    Expr *over = expr_binary(a->arena, EO_SUB, expr_name(a->arena, loop->name), expr_copy(a->arena, loop->lo));

    return more ? expr_binary(a->arena, EO_ADD, over, expr_int(a->arena, more)) : over;
}

/* ---- going round, by hand ---------------------------------------------------------------------------- */

static bool is_only(const Block *block, const char *name, int64_t number)
{
    int64_t v;

    return block->len == 1 && assigns(block->data[0], name) && is_int(block->data[0]->value, &v) && v == number;
}

static bool adds_one(const Stmt *s)
{
    const Expr *e = s->name && assigns(s, s->name) ? s->value : NULL;

    return e && e->kind == EXPR_BINARY && e->op == EO_ADD && ((expr_is_name(e->a, s->name) && expr_is_one(e->b)) || (expr_is_name(e->b, s->name) && expr_is_one(e->a)));
}

static bool compares(const Expr *e, const char *name)
{
    return e && e->kind == EXPR_BINARY && (e->op == EO_EQ || e->op == EO_GE) && expr_is_name(e->a, name) && !expr_mentions(e->b, name);
}

static Stmt *round_from(Again *a, const Stmt *adds, Expr *modulus)
{
    Stmt *s = arena_new_of(a->arena, Stmt);

    *s = *adds;
    s->value = expr_binary(a->arena, EO_MOD, adds->value, modulus);
    return s;
}

/* `t = t + 1; if t == n: t = 0`, and `if t == n - 1: t = 0 else: t = t + 1`, which are `t = (t + 1) % n`: how many statements,
 * of which *round stands for. */
static int goes_round(Again *a, const Block *block, int i, Stmt **round)
{
    const Stmt *s = block->data[i], *next = i + 1 < block->len ? block->data[i + 1] : NULL;

    if (adds_one(s) && next && next->kind == STMT_IF && !next->orelse.len && compares(next->where, s->name) && is_only(&next->body, s->name, 0)) {
        *round = round_from(a, s, next->where->b);
        return 2;
    }
    if (s->kind == STMT_IF && s->orelse.len == 1 && adds_one(s->orelse.data[0]) && compares(s->where, s->orelse.data[0]->name) &&
        is_only(&s->body, s->orelse.data[0]->name, 0)) {
        *round = round_from(a, s->orelse.data[0], expr_binary(a->arena, EO_ADD, s->where->b, expr_int(a->arena, 1)));
        return 1;
    }
    return 0;
}

/* In a loop's body, where nothing else gives the name a value: else it may not be within the modulus. */
static Block gone_round(Again *a, const Block *block, bool turn)
{
    Block out = {.comment = block->comment};

    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i], *round = NULL;
        int n = turn ? goes_round(a, block, i, &round) : 0;
        if (n && count_assigned(block, round->name) == 2) {
            i += n - 1;
            s = round;
            a->changed = true;
        } else if (nests(s)) {
            Stmt *outer = arena_new_of(a->arena, Stmt);
            *outer = *s;
            outer->body = gone_round(a, &s->body, s->kind == STMT_FOR);
            outer->orelse = gone_round(a, &s->orelse, false);
            s = outer;
        }
        vec_push(a->arena, &out, s);
    }
    return out;
}

/* ---- statements ------------------------------------------------------------------------------------ */

static void write_block(Again *a, const Block *block, Level level, Block *out);

/* What gives a carried name its value for the next turn; NULL: the statement does no such thing. */
static const Carried *carried_by(const Again *a, const Stmt *s, const Stmt **loop)
{
    for (int i = a->levels.len - 1; i >= 0; i--)
        for (int k = 0; k < a->levels.data[i].carried.len; k++)
            if (a->levels.data[i].carried.data[k].form.by == s) {
                *loop = a->levels.data[i].loop;
                return &a->levels.data[i].carried.data[k];
            }
    return NULL;
}

static Stmt *with_names_now(Again *a, const Stmt *s)
{
    Stmt *copy = stmt_subst(a->arena, s, called_now, a);

    copy->name = s->name;
    copy->as = s->as;
    copy->target = now(a, s->target);
    copy->offset = now(a, s->offset);
    return copy;
}

static void write_assign(Again *a, Stmt *s, Block *out)
{
    const Entry *e = find(a, s->name);
    const Stmt *loop = NULL;
    const Carried *carried = carried_by(a, s, &loop);

    if (e && (e->refused || a->levels.len == 1)) {
        vec_push(a->arena, out, s);
        return;
    }
    Expr *value = carried ? behind_turns(a, carried, turns_over(a, loop, 1)) : now(a, s->value);
    give(a, s->name, value, s, out);
}

static void write_for(Again *a, const Stmt *s, Block *out)
{
    Stmt *loop = arena_new_of(a->arena, Stmt);
    Level level = {.block = &s->body, .loop = loop};
    Names names = {0};
    int outside = a->scope.len;

    *loop = *s;
    loop->lo = now(a, s->lo);
    loop->hi = now(a, s->hi);
    loop->body = (Block){.comment = s->body.comment};
    assigned_names(a, &s->body, &names);
    for (int i = 0; i < names.len; i++) {
        const Entry *e = find(a, names.data[i]);
        if (!e || e->refused)
            continue;
        Carried carried = {.name = e->name, .form = form_of(a, s, e->name), .begin = *e};
        if (named_in_define(a, e->name))
            refuse(a, e->name);
        else if (carried.form.kind)
            vec_push(a->arena, &level.carried, carried);
        else if (first_use(&s->body, 0, e->name) == USE_READS || read_behind(a, e->name))
            refuse(a, e->name);
    }
    for (int i = 0; i < level.carried.len; i++) {
        const Carried *c = &level.carried.data[i];
        give(a, c->name, behind_turns(a, c, turns_over(a, loop, 0)), s, &loop->body);
    }
    write_block(a, &s->body, level, &loop->body);
    a->scope.len = outside;
    vec_push(a->arena, out, loop);
    for (int i = 0; i < level.carried.len; i++)
        if (read_behind(a, level.carried.data[i].name)) {
            Expr *value = behind_turns(a, &level.carried.data[i], turns_of(a, loop));
            give(a, level.carried.data[i].name, value, s, out);
        }
}

static Expr *value_in(void *user, const char *name)
{
    const Entry *e = user;

    return strcmp(e->now, name) == 0 ? e->value : NULL;
}

/* Counts nodes of an expression down from what is left; false: it has more, or is too deep. */
static bool is_small(const Expr *e, int depth, int *left)
{
    if (!e)
        return true;
    if (--*left < 0 || depth > LANG_MAX_DEPTH || !is_small(e->a, depth + 1, left) || !is_small(e->b, depth + 1, left))
        return false;
    for (int i = 0; i < e->n_args; i++)
        if (!is_small(e->args[i], depth + 1, left))
            return false;
    return true;
}

/* What an arm leaves the name as, of names that are known outside; NULL: it leaves it alone, or, *large, it is too much to write. */
static Expr *left_by(Again *a, const Entries *arm, const char *name, bool *large)
{
    enum { MOST_NODES = 2000 };
    Expr *value = NULL;

    for (int i = arm->len - 1; i >= 0; i--) {
        int left = MOST_NODES;
        if (!value && strcmp(arm->data[i].name, name) == 0)
            value = expr_name(a->arena, arm->data[i].now);
        if (value)
            value = expr_subst(a->arena, value, value_in, &arm->data[i]);
        *large |= !is_small(value, 0, &left);
        if (*large)
            return NULL;
    }
    return value;
}

static void write_arm(Again *a, const Block *arm, Block *out, Entries *left)
{
    int outside = a->scope.len;

    *out = (Block){.comment = arm->comment};
    write_block(a, arm, (Level){.block = arm}, out);
    for (int i = outside; i < a->scope.len; i++)
        vec_push(a->arena, left, a->scope.data[i]);
    a->scope.len = outside;
}

/* What it is behind the branches is not written out: the checker says that it has a value already. */
static void give_anew(Again *a, const Entry *e, const Stmt *s, Block *out)
{
    Stmt *assign = stmt_new(a->arena, STMT_ASSIGN);

    assign->span = assign->name_span = s->span;
    assign->name = e->now;
    assign->value = expr_name(a->arena, e->now);
    vec_push(a->arena, out, assign);
    a->changed = true;
    refuse(a, e->name);
}

/* What the name is behind the branches. */
static void give_either(Again *a, const Stmt *s, Expr *where, const char *name, const Entries *arms, Block *out)
{
    Arena *arena = a->arena;
    const Entry *e = find(a, name);
    bool large = false;
    Expr *values[] = {left_by(a, &arms[0], name, &large), left_by(a, &arms[1], name, &large)};

    if (large && e)
        give_anew(a, e, s, out);
    if (large)
        return;
    for (int i = 0; i < 2; i++)
        if (!values[i] && e)
            values[i] = expr_name(arena, e->now);
    if (!values[0] || !values[1])
        return;
    Expr *taken = expr_is_condition(where) ? where : expr_binary(arena, EO_NE, where, expr_int(arena, 0));
    Expr *other = expr_binary(arena, EO_SUB, expr_int(arena, 1), expr_copy(arena, taken));
    give(a, name, expr_binary(arena, EO_ADD, expr_binary(arena, EO_MUL, taken, values[0]), expr_binary(arena, EO_MUL, other, values[1])), s, out);
}

static void write_if(Again *a, const Stmt *s, Block *out)
{
    Stmt *branch = arena_new_of(a->arena, Stmt);
    Entries arms[2] = {{0}, {0}};
    Names names = {0};
    int outside = a->scope.len;

    *branch = *s;
    branch->where = now(a, s->where);
    assigned_names(a, &s->body, &names);
    assigned_names(a, &s->orelse, &names);
    for (int i = 0; i < names.len; i++)
        if (find(a, names.data[i]) && (s->where->kind == EXPR_WORDS || named_in_define(a, names.data[i])))
            refuse(a, names.data[i]);
    write_arm(a, &s->body, &branch->body, &arms[0]);
    write_arm(a, &s->orelse, &branch->orelse, &arms[1]);
    a->scope.len = outside;
    vec_push(a->arena, out, branch);
    for (int i = 0; i < names.len; i++) {
        const Entry *e = find(a, names.data[i]);
        if ((!e || !e->refused) && s->where->kind != EXPR_WORDS && read_behind(a, names.data[i]))
            give_either(a, s, branch->where, names.data[i], arms, out);
    }
}

static void write_block(Again *a, const Block *block, Level level, Block *out)
{
    vec_push(a->arena, &a->levels, level);
    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i];
        a->levels.data[a->levels.len - 1].at = i;
        if (s->kind == STMT_FOR) {
            write_for(a, s, out);
        } else if (s->kind == STMT_IF) {
            write_if(a, s, out);
        } else if (s->name && assigns(s, s->name)) {
            write_assign(a, s, out);
        } else {
            Stmt *copy = s->kind == STMT_SCHEDULE || s->kind == STMT_DEFINE ? s : with_names_now(a, s);
            vec_push(a->arena, out, copy);
        }
    }
    a->levels.len--;
}

/* ---- units ------------------------------------------------------------------------------------------- */

static int count_values(const Block *block)
{
    int n = 0;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        n += s->name && assigns(s, s->name);
        if (nests(s))
            n += count_values(&s->body) + count_values(&s->orelse);
    }
    return n;
}

/* Whether a name is given a value by several statements, in a program that somebody wrote: each is looked for in all others. */
static bool has_any(Again *a, const Unit *unit)
{
    enum { MOST_VALUES = 2000 };
    Names names = {0};

    if (count_values(&unit->body) > MOST_VALUES)
        return false;
    assigned_names(a, &unit->body, &names);
    for (int i = 0; i < names.len; i++)
        if (count_assigned(&unit->body, names.data[i]) > 1)
            return true;
    return false;
}

const Program *again_write_out(Arena *arena, const Program *program)
{
    Program *out = arena_new_of(arena, Program);
    bool changed = false;

    *out = (Program){.source = program->source, .comment = program->comment};
    for (int i = 0; i < program->units.len; i++) {
        Unit *unit = program->units.data[i];
        Again a = {.arena = arena, .unit = unit};
        if (unit->kind != UNIT_OPERATOR && has_any(&a, unit)) {
            Unit *again = arena_new_of(arena, Unit);
            *again = *unit;
            again->body = (Block){.comment = unit->body.comment};
            const Block body = gone_round(&a, &unit->body, false);
            write_block(&a, &body, (Level){.block = &body}, &again->body);
            if (a.changed)
                unit = again;
            changed |= a.changed;
        }
        vec_push(arena, &out->units, unit);
    }
    return changed ? out : program;
}
