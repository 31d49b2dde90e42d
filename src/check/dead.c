/* dead.c: what is computed or copied and never used: a misspelt or mistaken
 * operand leaves the right one behind.
 *
 * Walks the unit from its end to its begin with the set of places whose elements
 * are used below. A loop's body is used by its next iteration as well. What is
 * dead still counts as using its operands, so that one mistake is said once.
 */
#include "check/walk.h"

#include <stdlib.h>

enum { NEAR_SPACES = 2 };

typedef struct Live {
    Checker *c;
    bool *used; /* two for each tensor: shared, register */
    bool quiet;
    const bool *lost; /* used behind the loop at hand, and written anew by each iteration; NULL: not asked */
    const char *losing; /* the name of one that no iteration hands on */
} Live;

static bool *place_used(const Live *l, const char *name, Space space)
{
    for (int i = 0; i < l->c->tensors.len; i++)
        if (text_equal(l->c->tensors.data[i]->name, name))
            return &l->used[i * NEAR_SPACES + (space == SPACE_REGISTER)];
    return NULL;
}

static void use_name(const Live *l, const char *name, Space space)
{
    for (Space s = SPACE_SHARED; s <= SPACE_REGISTER; s++) {
        bool *used = space == SPACE_NONE || space == s ? place_used(l, name, s) : NULL;
        if (used)
            *used = true;
    }
}

static void use(const Live *l, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_NAME) {
        Space space = SPACE_NONE;
        Named *t = names_find(l->c, e->name) ? NULL : names_suffixed(l->c, e->name, &space);
        use_name(l, t ? t->name : e->name, space);
    }
    if (e->kind == EXPR_SPACE && e->a->kind == EXPR_NAME) {
        use_name(l, e->a->name, e->space);
        return;
    }
    use(l, e->a);
    use(l, e->b);
    for (int i = 0; i < e->n_args; i++)
        use(l, e->args[i]);
}

static void use_clauses(const Live *l, const Stmt *s)
{
    use(l, s->where);
    use(l, s->otherwise);
    use(l, s->value);
    use(l, s->lo);
    use(l, s->hi);
    use(l, s->stage);
    for (int i = 0; i < s->n_coords; i++)
        use(l, s->coords[i].value);
}

/* Of a sum that nothing uses it was said: that is why what starts it is not used either. */
static bool says_unused(const Live *l, const char *name)
{
    for (int i = 0; i < l->c->late->list.len; i++) {
        const Diag *d = &l->c->late->list.data[i];
        size_t len = strlen(name);
        if (d->code == TW0442 && strncmp(d->message + 1, name, len) == 0 && strncmp(d->message + 1 + len, "' is summed up", 14) == 0)
            return true;
    }
    return false;
}

/* The Copy above the statement, in its block, that stores the tile before this is done with it; NULL: there is none. */
static const Stmt *stored_before(const Block *block, const Stmt *s, const char *name)
{
    const Stmt *store = NULL;
    for (int i = 0; i < block->len; i++) {
        const Stmt *other = block->data[i];
        if (other == s)
            return store;
        if (other->kind == STMT_COPY && other->to_space == SPACE_GLOBAL && strcmp(copy_tile(other), name) == 0)
            store = other;
        const Stmt *within = stored_before(&other->body, s, name);
        if (!within)
            within = stored_before(&other->orelse, s, name);
        if (within)
            return within;
    }
    return NULL;
}

static void say_unused(Live *l, const Stmt *s, const char *name, const char *verb)
{
    const Stmt *store = stored_before(&l->c->unit->body, s, name);
    const bool *place = l->lost ? place_used(l, name, SPACE_REGISTER) : NULL;
    if (place && l->lost[place - l->used])
        l->losing = name;
    if (l->quiet || (l->c->options->derived && s->n_with > 0) || says_unused(l, name))
        return;
    Diag *d = diag_add(l->c->late, TW0442, s->span, "'%s' is %s here and not used after that", name, verb);
    if (store)
        fix_move_behind(l->c, d, store, s, "store it when all is done with it");
    else if (s->n_with == 0) /* a softmax gives more than its sum */
        fix_removal(l->c, d, s, "remove it, unless it should be used");
}

/* ---- statements ---------------------------------------------------------------------- */

/* The tile that the statement's result goes to; *whole: all of it. */
static const char *result_of(const Stmt *s, bool *whole)
{
    const Expr *e = compute_result(s);
    *whole = true;
    for (; e && e->kind != EXPR_NAME; e = e->a)
        *whole &= e->kind == EXPR_SPACE;
    return e ? e->name : NULL;
}

static bool is_overwritten(const Stmt *s)
{
    OpClass class = op_info(s->op)->class;
    return !s->dest && (class == OPC_FILL || class == OPC_DEFINE);
}

/* M and L of an online softmax: the elements need M, nothing needs L. */
static void states(Live *l, const Stmt *s)
{
    bool *sum = s->n_with == 2 && s->with[1]->kind == EXPR_NAME
                    ? place_used(l, s->with[1]->name, SPACE_REGISTER)
                    : NULL;
    if (sum && !*sum && s->op == OP_SOFTMAX)
        say_unused(l, s, s->with[1]->name, "summed up");
    for (int i = 0; i < s->n_with; i++)
        if (i == 0 || !sum || *sum)
            use(l, s->with[i]);
}

static void compute(Live *l, const Stmt *s)
{
    bool whole;
    const char *name = result_of(s, &whole);
    bool *used = name && s->op_known ? place_used(l, name, SPACE_REGISTER) : NULL;
    if (used && !*used && !s->n_with) /* a softmax may be for its state alone */
        say_unused(l, s, name, "computed");
    if (used && whole && s->result != RESULT_ACCUMULATE)
        *used = false;
    states(l, s);
    for (int i = is_overwritten(s) && s->op_known ? 1 : 0; i < s->n_args; i++)
        use(l, s->args[i]);
    if (s->result == RESULT_ACCUMULATE || !s->op_known)
        use(l, s->dest);
    use_clauses(l, s);
}

static void reshape(Live *l, const Stmt *s)
{
    bool *used = s->name ? place_used(l, s->name, SPACE_REGISTER) : NULL;
    if (used && !*used)
        say_unused(l, s, s->name, "reshaped");
    if (used)
        *used = true;
}

static void copy(Live *l, const Stmt *s)
{
    bool *used = s->to_space == SPACE_GLOBAL || !s->name ? NULL : place_used(l, copy_dest(s), s->to_space);
    if (used && !*used)
        say_unused(l, s, copy_dest(s), "copied");
    if (used && !s->target && !s->stage)
        *used = false;
    if (s->name && s->space != SPACE_GLOBAL)
        use_name(l, s->name, s->space);
    use(l, s->target);
    use_clauses(l, s);
}

/* ---- blocks ---------------------------------------------------------------------------- */

static void block(Live *l, const Block *b);

static size_t set_size(const Live *l)
{
    return (size_t)l->c->tensors.len * NEAR_SPACES;
}

static bool *save(const Live *l)
{
    bool *saved = arena_array(l->c->arena, bool, set_size(l) + 1);
    memcpy(saved, l->used, set_size(l));
    return saved;
}

static void add_all(const Live *l, const bool *other)
{
    for (size_t i = 0; i < set_size(l); i++)
        l->used[i] |= other[i];
}

/* The first statement of the block that replaces all of the tile; NULL: none by itself. */
static const Stmt *replaces(const Block *body, const char *name)
{
    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];
        bool whole;
        const char *to = s->kind == STMT_COMPUTE && s->op_known ? result_of(s, &whole) : NULL;
        if (to && whole && strcmp(to, name) == 0 && (s->dest || is_overwritten(s)))
            return s->result == RESULT_ACCUMULATE ? NULL : s;
    }
    return NULL;
}

static bool is_name(const void *user, const Expr *e)
{
    (void)user;
    return e->kind == EXPR_NAME;
}

static bool writes(const Stmt *s, const char *name)
{
    bool whole;
    const char *to = s->kind == STMT_COMPUTE ? result_of(s, &whole) : s->kind == STMT_COPY && s->to_space == SPACE_REGISTER ? copy_dest(s) : NULL;
    bool state = false;
    for (int i = 0; i < s->n_with; i++)
        state |= expr_mentions(s->with[i], name);
    return state || (to && strcmp(to, name) == 0);
}

/* Whether nothing but this statement writes the tile: a number, which is the same whichever turn is the last. */
static bool fills_alone(const Block *body, const Stmt *fill, const char *name)
{
    bool number = fill->op_known && op_info(fill->op)->class == OPC_FILL && fill->n_args == 2 && !expr_any(fill->args[1], is_name, NULL);
    for (int i = 0; number && i < body->len; i++) {
        const Stmt *s = body->data[i];
        number = (s == fill || !writes(s, name)) && fills_alone(&s->body, fill, name) && fills_alone(&s->orelse, fill, name);
    }
    return number;
}

/* Whether it was said that only a loop writes it. */
static bool said_unwritten(const Live *l, const char *name)
{
    for (int i = 0; i < l->c->late->list.len; i++) {
        const Diag *d = &l->c->late->list.data[i];
        const char *of = d->code == TW0440 ? source_text(l->c, d->span) : NULL;
        if (of && strcmp(of, name) == 0)
            return true;
    }
    return false;
}

/* What each iteration writes anew and hands on to none, although it is used behind the loop. */
static void say_lost(Live *l, const Stmt *s, const bool *after)
{
    bool *mine = l->used, *lost = arena_array(l->c->arena, bool, set_size(l) + 1);
    const bool *asked = l->lost;
    l->used = arena_array(l->c->arena, bool, set_size(l) + 1);
    l->lost = NULL;
    memset(l->used, true, set_size(l));
    block(l, &s->body);
    for (size_t i = 0; i < set_size(l); i++)
        lost[i] = after[i] && !l->used[i];
    memset(l->used, false, set_size(l));
    block(l, &s->body); /* what the next iteration uses */
    l->lost = lost;
    l->losing = NULL;
    block(l, &s->body);
    const Stmt *by = l->losing ? replaces(&s->body, l->losing) : NULL;
    if (by && !said_unwritten(l, l->losing) && !fills_alone(&s->body, by, l->losing)) {
        Diag *d = diag_add(l->c->late, TW0448, by->span, "'%s' is written anew in each iteration, and used behind the loop alone", l->losing);
        diag_note(l->c->late, d, "what all iterations give is summed up by `and accumulate`, or starts before the loop");
    }
    l->used = mine;
    l->lost = asked;
}

/* Of which nothing goes round. */
static bool has_one_turn(Checker *c, const Stmt *s)
{
    const Aff *from = s->lo ? eval_aff(&c->env, s->lo, NULL) : NULL, *to = s->hi ? eval_aff(&c->env, s->hi, NULL) : NULL;
    return from && to && aff_always(c->aff, aff_le(c->aff, to, aff_offset(c->aff, from, 1)));
}

static void loop(Live *l, const Stmt *s)
{
    bool *after = save(l), quiet = l->quiet;
    const bool *asked = l->lost;
    l->lost = NULL; /* an inner loop's statements are asked about there */
    l->quiet = true; /* what the next iteration uses first */
    block(l, &s->body);
    add_all(l, after);
    if (!quiet && !has_one_turn(l->c, s))
        say_lost(l, s, after);
    l->quiet = quiet;
    block(l, &s->body);
    add_all(l, after);
    use_clauses(l, s);
    l->lost = asked;
}

static void branch(Live *l, const Stmt *s)
{
    bool *after = save(l);
    block(l, &s->body);
    bool *taken = save(l);
    memcpy(l->used, after, set_size(l));
    block(l, &s->orelse);
    add_all(l, taken);
    use_clauses(l, s);
}

static void block(Live *l, const Block *b)
{
    for (int i = b->len - 1; i >= 0; i--) {
        const Stmt *s = b->data[i];
        switch (s->kind) {
        case STMT_COMPUTE: compute(l, s); break;
        case STMT_COPY: copy(l, s); break;
        case STMT_FOR: loop(l, s); break;
        case STMT_IF: branch(l, s); break;
        case STMT_RESHAPE: reshape(l, s); break;
        case STMT_INPUT:
        case STMT_OUTPUT:
        case STMT_PARAM:
        case STMT_LET:
        case STMT_INDEX:
        case STMT_GRID:
        case STMT_ASSIGN:
        case STMT_ALLOCATE:
        case STMT_DEFINE:
        case STMT_SCHEDULE:
        case STMT_COUNT: use_clauses(l, s); break;
        }
    }
}

/* ---- inputs ------------------------------------------------------------------------------ */

static bool takes(const Block *b, const char *name)
{
    for (int i = 0; i < b->len; i++) {
        const Stmt *s = b->data[i];
        bool copies = s->kind == STMT_COPY && s->name && (strcmp(s->name, name) == 0 || (s->as && strcmp(s->as, name) == 0));
        if (copies || (s->kind == STMT_ALLOCATE && strcmp(s->name, name) == 0) || takes(&s->body, name) || takes(&s->orelse, name))
            return true;
    }
    return false;
}

/* All of its dimensions but the last are the first of the other's: a number, or a row, for each part of that. */
static bool goes_with(const Stmt *weights, const Stmt *parts)
{
    bool goes = weights != parts && weights->n_shape > 1 && parts->n_shape >= weights->n_shape;
    for (int d = 0; goes && d < weights->n_shape - 1; d++)
        goes = weights->shape[d]->kind == EXPR_NAME && expr_equal(weights->shape[d], parts->shape[d]);
    return goes;
}

/* The loop that goes over a tensor's first dimension, of a Copy within it; NULL: none. */
static const char *counted_along(const Block *b, const Stmt *tensor, const char *counter)
{
    for (int i = 0; i < b->len; i++) {
        const Stmt *s = b->data[i];
        const char *found = counted_along(&s->body, tensor, s->kind == STMT_FOR ? s->name : counter);
        if (found || (found = counted_along(&s->orelse, tensor, counter)))
            return found;
        for (int k = 0; counter && s->kind == STMT_COPY && s->name && strcmp(s->name, tensor->name) == 0 && k < s->n_coords; k++) {
            const Coord *coord = &s->coords[k];
            if ((coord->name ? strcmp(coord->name, tensor->shape[0]->name) == 0 : k == 0) && expr_mentions(coord->value, counter))
                return counter;
        }
    }
    return NULL;
}

/* An Input with a number for each of the parts that a loop takes of another, which no statement reads: parts of
 * a softmax are added up without their weights. */
static void say_unread(Checker *c)
{
    const Block *body = &c->unit->body;
    for (int i = 0; i < body->len && c->unit->kind == UNIT_KERNEL; i++) {
        const Stmt *s = body->data[i], *parts = NULL;
        if (s->kind != STMT_INPUT || takes(body, s->name) || block_mentions(body, s->name))
            continue;
        for (int k = 0; k < body->len && !parts; k++)
            if (body->data[k]->kind == STMT_INPUT && goes_with(s, body->data[k]) && counted_along(body, body->data[k], NULL))
                parts = body->data[k];
        if (!parts)
            continue;
        Diag *d = diag_add(c->late, TW0442, s->name_span, "'%s' is never read: a loop takes the parts of '%s' along '%s' as they are", s->name,
                           parts->name, parts->shape[0]->name);
        diag_note(c->late, d, "parts of a softmax are added up times their weights, exp(M of the part - the largest M), or exp(LSE - the largest LSE), "
                  "and divided by the sum of these");
    }
}

/* ---- sums that only sum ---------------------------------------------------------------------- */

typedef struct OnlySum {
    const char *name;
    const Stmt *by; /* the first statement that accumulates it; NULL: none */
    bool read;      /* by another tile, a Copy, a condition */
} OnlySum;

/* Of all tiles, sorted by name. */
typedef struct OnlySums {
    OnlySum *data;
    int n;
    bool unsure; /* an operation of one's own may read any */
} OnlySums;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const OnlySum *)a)->name, ((const OnlySum *)b)->name);
}

/* NULL: it is no tile. */
static OnlySum *sum_of(const OnlySums *sums, const char *name)
{
    OnlySum like = {.name = name};

    return name ? bsearch(&like, sums->data, (size_t)sums->n, sizeof like, by_name) : NULL;
}

static void note_read(OnlySums *sums, const char *name)
{
    OnlySum *sum = sum_of(sums, name);

    if (sum)
        sum->read = true;
}

/* All names in an expression, which may be NULL, but for one. */
static void note_reads(OnlySums *sums, const Expr *e, const char *but)
{
    if (!e)
        return;
    if (e->kind == EXPR_NAME && (!but || strcmp(e->name, but) != 0))
        note_read(sums, e->name);
    note_reads(sums, e->a, but);
    note_reads(sums, e->b, but);
    for (int i = 0; i < e->n_args; i++)
        note_reads(sums, e->args[i], but);
}

static void note_use(OnlySums *sums, const Stmt *s)
{
    bool whole;
    const char *to = s->kind == STMT_COMPUTE ? result_of(s, &whole) : NULL;
    OnlySum *sum = sum_of(sums, to);

    if (s->kind == STMT_COPY && s->space != SPACE_GLOBAL)
        note_read(sums, s->name);
    sums->unsure |= s->kind == STMT_COMPUTE && !s->op_known && s->n_args;
    note_reads(sums, s->target, NULL);
    note_reads(sums, s->where, NULL);
    note_reads(sums, s->value, NULL);
    for (int i = 0; i < s->n_coords; i++)
        note_reads(sums, s->coords[i].value, NULL);
    for (int i = 0; i < s->n_with; i++)
        note_reads(sums, s->with[i], NULL);
    for (int i = 0; i < s->n_args; i++)
        note_reads(sums, s->args[i], to);
    if (sum && s->result == RESULT_ACCUMULATE && !sum->by)
        sum->by = s;
}

static void note_uses(OnlySums *sums, const Block *b)
{
    for (int i = 0; i < b->len; i++) {
        note_use(sums, b->data[i]);
        note_uses(sums, &b->data[i]->body);
        note_uses(sums, &b->data[i]->orelse);
    }
}

static bool says_of(const Checker *c, const char *name)
{
    size_t len = strlen(name);

    for (int i = 0; i < c->late->list.len; i++) {
        const Diag *d = &c->late->list.data[i];
        if (d->code == TW0442 && strncmp(d->message + 1, name, len) == 0 && d->message[1 + len] == '\'')
            return true;
    }
    return false;
}

/* A tile that is added to, turn by turn, and nothing else: a loop reads it, and for itself. */
static void say_only_summed(Live *l)
{
    const Checker *c = l->c;
    OnlySums sums = {.data = arena_array(c->arena, OnlySum, c->tensors.len + 1), .n = c->options->derived ? 0 : c->tensors.len};

    for (int i = 0; i < sums.n; i++)
        sums.data[i].name = c->tensors.data[i]->name;
    qsort(sums.data, (size_t)sums.n, sizeof *sums.data, by_name);
    note_uses(&sums, &c->unit->body);
    for (int i = 0; i < sums.n && !sums.unsure; i++) {
        const OnlySum *sum = sum_of(&sums, c->tensors.data[i]->name);
        if (sum->by && !sum->read && !says_of(c, sum->name))
            diag_add(c->late, TW0442, sum->by->span, "'%s' is summed up here and not used after that", sum->name);
    }
}

/* ---- numbers of a schedule ------------------------------------------------------------------ */

/* `num_warps = 4` among sizes: nothing reads it, and the kernel runs with other warps. */
static void say_unscheduled(Checker *c)
{
    static const char *const names[] = {
        "num_warps", "num_stages",
#define NUMBER(name, least, most, usual, unsaid) #name,
#include "lang/schedule_numbers.def"
#undef NUMBER
    };
    const Block *body = &c->unit->body;
    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];
        for (size_t k = 0; s->kind == STMT_ASSIGN && k < TW_COUNT(names); k++)
            if (strcmp(s->name, names[k]) == 0 && !block_mentions(body, s->name))
                diag_add(c->late, TW0442, s->span, "'%s' is a number that nothing reads: how a kernel runs stands in its Schedule", s->name);
    }
}

void dead_finish(Checker *c)
{
    Live l = {.c = c};
    if (c->loose)
        return;
    l.used = arena_array(c->arena, bool, (size_t)c->tensors.len * NEAR_SPACES + 1);
    block(&l, &c->unit->body);
    say_only_summed(&l);
    say_unread(c);
    say_unscheduled(c);
}
