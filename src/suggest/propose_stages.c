/* propose_stages.c: edits of rings, tiles with one dimension more that copies run ahead in.
 *
 *   Allocate A in shared (2, BM, BK)
 *   Copy A ... in coordinate [K = 0] ... [stage = 0]            the tiles before the first turn
 *   for k = 0:n
 *     Copy A ... in coordinate [K = k + 1] ... [stage = (k + 1) % 2]
 *     Compute GEMM A[k % 2], ...
 *
 * A Copy of d turns ahead needs d tiles before the loop and d + 1 stages, and a read the
 * stage of its own turn.
 */
#include "suggest/cuts.h"

typedef struct Stages {
    const char *name;
    VEC(const Expr *) list;
    Arena *arena;
} Stages;

static void note_stage(void *user, const Stmt *stmt)
{
    Stages *stages = user;

    if (stmt->kind == STMT_COPY && stmt->stage && stmt->name && strcmp(stmt->name, stages->name) == 0)
        vec_push(stages->arena, &stages->list, stmt->stage);
}

/* Read the stage that some Copy fills. */
static const Expr *stage_read(const Expr *e)
{
    while (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE)
        e = e->a;
    return e->kind == EXPR_INDEX && e->a && e->a->kind == EXPR_NAME && e->n_args == 1 ? e : NULL;
}

typedef struct StageCopies {
    Arena *arena;
    VEC(const Stmt *) list;
} StageCopies;

static void note_stage_copy(void *user, const Stmt *s)
{
    StageCopies *copies = user;

    if (s->kind == STMT_COPY && s->stage)
        vec_push(copies->arena, &copies->list, s);
}

/* What another operand reads, or another Copy fills, at the same time. */
static bool try_other_stage(Suggester *s, const Expr *read)
{
    StageCopies copies = {.arena = s->arena};

    for (int i = 0; i < s->stmt->n_args; i++) {
        const Expr *other = stage_read(s->stmt->args[i]);
        if (other && other != read && !expr_equal(other->args[0], read->args[0]) &&
            suggest_edit(s, read->args[0]->span, suggest_expr(s, other->args[0]), "the stage that the other operand has"))
            return true;
    }
    suggest_each(&s->unit->body, note_stage_copy, &copies);
    for (int i = 0; i < copies.list.len; i++)
        for (int k = 0; k < copies.list.len; k++) {
            const Stmt *copy = copies.list.data[i], *other = copies.list.data[k];
            if (strcmp(copy_tile(copy), read->a->name) == 0 && strcmp(copy_tile(other), read->a->name) != 0 &&
                !expr_equal(copy->stage, other->stage) &&
                suggest_edit(s, copy->stage->span, suggest_expr(s, other->stage), "the stage that the other Copy fills"))
                return true;
        }
    return false;
}

bool propose_stage(Suggester *s)
{
    for (int i = 0; s->stmt && s->unit && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        const Expr *read = stage_read(s->stmt->args[i]);
        if (read && try_other_stage(s, read))
            return true;
    }

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        const Expr *e = s->stmt->args[i];
        Stages stages = {.arena = s->arena};

        while (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE)
            e = e->a;
        if (e->kind != EXPR_INDEX || !e->a || e->a->kind != EXPR_NAME || e->n_args != 1)
            continue;
        stages.name = e->a->name;
        suggest_each(&s->unit->body, note_stage, &stages);
        for (int k = 0; k < stages.list.len; k++)
            if (suggest_edit(s, e->args[0]->span, suggest_expr(s, stages.list.data[k]), "the stage that was copied"))
                return true;
    }
    return false;
}

/* ---- copies that run ahead --------------------------------------------------------------------- */

enum { MOST_AHEAD = 4, TURNS_TRIED = 16 };

typedef struct Ring {
    Suggester *s;
    const char *tile;  /* NULL: of every tile that the loop copies ahead */
    const Stmt *loop;
    int ahead;         /* turns, the most */
    VEC(const Stmt *) copies; /* in the loop */
    VEC(Fix) edits;
} Ring;

/* The number that an expression is in some turn, by what the unit assigns. */
static bool number_in(const Unit *unit, const Expr *e, const char *k, int64_t turn, int64_t *n)
{
    int64_t a, b;

    if (!e)
        return false;
    if (e->kind == EXPR_INT || expr_is_name(e, k))
        return *n = e->kind == EXPR_INT ? e->i : turn, true;
    for (int i = 0; e->kind == EXPR_NAME && i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        if ((s->kind == STMT_ASSIGN || s->kind == STMT_PARAM || s->kind == STMT_LET) && s->name && s->value && s->value->kind == EXPR_INT && strcmp(s->name, e->name) == 0)
            return *n = s->value->i, true;
    }
    if (e->kind != EXPR_BINARY || !number_in(unit, e->a, k, turn, &a) || !number_in(unit, e->b, k, turn, &b) || a < INT32_MIN || a > INT32_MAX || b < INT32_MIN || b > INT32_MAX)
        return false;
    if (e->op == EO_ADD || e->op == EO_SUB || e->op == EO_MUL)
        return *n = e->op == EO_ADD ? a + b : e->op == EO_SUB ? a - b : a * b, true;
    return e->op == EO_MOD && a >= 0 && b > 0 && (*n = a % b, true);
}

/* k + d, of the counter k; -1: neither that nor k. */
static int turns_ahead(const Unit *unit, const Expr *e, const char *k)
{
    int64_t first, n;

    if (!number_in(unit, e, k, 0, &first))
        return -1;
    for (int turn = 1; turn <= TURNS_TRIED; turn++)
        if (!number_in(unit, e, k, turn, &n) || n != first + turn)
            return -1;
    return first >= 0 && first <= MOST_AHEAD ? (int)first : -1;
}

static int ahead_of(const Unit *unit, const Stmt *copy, const char *k)
{
    for (int i = 0; i < copy->n_coords; i++)
        if (expr_mentions(copy->coords[i].value, k))
            return turns_ahead(unit, copy->coords[i].value, k);
    return -1;
}

static void note_ahead(void *user, const Stmt *stmt)
{
    Ring *ring = user;
    bool meant = stmt->kind == STMT_COPY && stmt->stage && !stmt->listed && (!ring->tile || strcmp(copy_tile(stmt), ring->tile) == 0);
    int ahead = meant ? ahead_of(ring->s->unit, stmt, ring->loop->name) : -1;

    if (ahead < 1)
        return;
    vec_push(ring->s->arena, &ring->copies, stmt);
    if (ahead > ring->ahead)
        ring->ahead = ahead;
}

/* The operand that the diagnostic is of. */
static const Expr *operand_at(const Suggester *s)
{
    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        const Expr *e = s->stmt->args[i];
        if (s->diag->span.start >= e->span.start && s->diag->span.start < e->span.end)
            return stage_read(e);
    }
    return NULL;
}

static Ring ring_of(Suggester *s, const char *tile)
{
    Ring ring = {.s = s, .tile = tile};

    for (int i = s->depth - 1; i >= 0 && ring.copies.len == 0; i--)
        if (s->path[i]->kind == STMT_FOR) {
            ring.loop = s->path[i];
            suggest_each(&ring.loop->body, note_ahead, &ring);
        }
    return ring;
}

/* ---- before the loop ------------------------------------------------------------------------------ */

/* The counter's value in place of it, worked out where that is a number. */
static const Expr *in_turn(Suggester *s, const Expr *e, const char *k, int64_t turn)
{
    Expr *made;

    int64_t n;

    if (!e || !expr_mentions(e, k))
        return e;
    if (number_in(s->unit, e, k, turn, &n))
        return expr_int(s->arena, n);
    if (e->kind == EXPR_NAME)
        return expr_int(s->arena, turn);
    made = arena_new_of(s->arena, Expr);
    *made = *e;
    made->a = (Expr *)in_turn(s, e->a, k, turn);
    made->b = (Expr *)in_turn(s, e->b, k, turn);
    if (e->kind != EXPR_BINARY || made->a->kind != EXPR_INT || made->b->kind != EXPR_INT)
        return made;
    if (e->op == EO_ADD)
        return expr_int(s->arena, made->a->i + made->b->i);
    if (e->op == EO_MOD && made->b->i > 0 && made->a->i >= 0)
        return expr_int(s->arena, made->a->i % made->b->i);
    return made;
}

/* With `k + ahead` as the tile of that number from the loop's begin on; *lost: the counter stands elsewhere as well. */
static Expr *from_begin(const Ring *ring, const Expr *e, int ahead, int tile, bool *lost)
{
    Suggester *s = ring->s;
    const char *k = ring->loop->name;
    bool there = e && e->kind == EXPR_BINARY && e->op == EO_ADD && expr_is_name(e->a, k) && e->b->kind == EXPR_INT && e->b->i == ahead;
    Expr *made;

    if (!e || !expr_mentions(e, k))
        return (Expr *)e;
    if (there)
        return tile ? expr_binary(s->arena, EO_ADD, ring->loop->lo, expr_int(s->arena, tile)) : ring->loop->lo;
    if (e->kind != EXPR_BINARY) {
        *lost = true;
        return (Expr *)e;
    }
    made = arena_new_of(s->arena, Expr);
    *made = *e;
    made->a = from_begin(ring, e->a, ahead, tile, lost);
    made->b = from_begin(ring, e->b, ahead, tile, lost);
    return made;
}

/* The Copy as it is before a loop that does not begin at 0; NULL: that is not known. */
static const char *copied_from_begin(Ring *ring, const Stmt *copy, int ahead, int tile)
{
    Suggester *s = ring->s;
    Stmt *made = suggest_like(s, copy);
    bool lost = false;

    made->coords = arena_array(s->arena, Coord, copy->n_coords);
    for (int i = 0; i < copy->n_coords; i++) {
        made->coords[i] = copy->coords[i];
        made->coords[i].value = from_begin(ring, copy->coords[i].value, ahead, tile, &lost);
    }
    made->stage = from_begin(ring, copy->stage, ahead, tile, &lost);
    return lost ? NULL : suggest_text(s, made);
}

static bool begins_at_zero(const Stmt *loop)
{
    return loop->lo && loop->lo->kind == EXPR_INT && loop->lo->i == 0;
}

/* The Copy as the loop would do it in turns before its first. */
static const char *copied_in_turn(Ring *ring, const Stmt *copy, int64_t turn, const Expr *stage)
{
    Suggester *s = ring->s;
    Stmt *made = suggest_like(s, copy);

    made->coords = arena_array(s->arena, Coord, copy->n_coords);
    for (int i = 0; i < copy->n_coords; i++) {
        made->coords[i] = copy->coords[i];
        made->coords[i].value = (Expr *)in_turn(s, copy->coords[i].value, ring->loop->name, turn);
    }
    made->stage = (Expr *)(stage ? stage : in_turn(s, copy->stage, ring->loop->name, turn));
    return suggest_text(s, made);
}

/* The tiles from one on that the first turns read; own: each has a stage of its own. */
static const char *prologue(Ring *ring, int from, bool own)
{
    Suggester *s = ring->s;
    Str text = str_new(s->arena);

    for (int tile = from; tile < ring->ahead; tile++)
        for (int i = 0; i < ring->copies.len; i++) {
            const Stmt *copy = ring->copies.data[i];
            int ahead = ahead_of(s->unit, copy, ring->loop->name);
            const char *copied = tile >= ahead ? NULL : begins_at_zero(ring->loop) || own ? copied_in_turn(ring, copy, tile - ahead, own ? expr_int(s->arena, tile) : NULL)
                                 : copied_from_begin(ring, copy, ahead, tile);
            if (copied)
                str_printf(&text, "%s%s\n", suggest_indent(s, ring->loop->span.start), copied);
        }
    return str_text(&text);
}

static bool try_prologue(Ring *ring, int from)
{
    Suggester *s = ring->s;
    const char *text = prologue(ring, from, false);

    return *text && suggest_edit(s, suggest_before(s, ring->loop), text,
                                    ring->ahead - from > 1 ? "the tiles before the first turn's" : "the first turn's tile");
}

/* What a Copy that runs ahead leaves to be copied before the loop. */
bool propose_prologue(Suggester *s)
{
    const Expr *read = operand_at(s);

    for (int all = 0; read && all < 2; all++) {
        Ring ring = ring_of(s, all ? NULL : read->a->name);
        bool known = ring.loop && ring.loop->lo;

        for (int from = 0; known && from < ring.ahead; from++)
            if (try_prologue(&ring, from))
                return true;
    }
    return false;
}

/* ---- the stage of the tile that is copied ------------------------------------------------------------ */

/* `[stage = k % 3]` of the tile k + 2: every Copy that runs ahead to the stage of its own tile. */
bool propose_copied_stage(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    Ring ring = ring_of(s, NULL);
    const char *tile = NULL;

    for (int i = 0; i < ring.copies.len; i++) {
        const Stmt *copy = ring.copies.data[i], *place = cuts_tile(&cuts, copy_tile(copy), SPACE_SHARED);
        for (int k = 0; k < copy->n_coords; k++)
            tile = expr_mentions(copy->coords[k].value, ring.loop->name) ? suggest_expr(s, copy->coords[k].value) : tile;
        if (!tile || !place || place->n_shape != 3)
            return false;
        vec_push(s->arena, &ring.edits, ((Fix){copy->stage->span, arena_printf(s->arena, "(%s) %% %s", tile, suggest_expr(s, place->shape[0])), NULL}));
    }
    return ring.edits.len && suggest_edits(s, ring.edits.data, ring.edits.len, "the stage of the tile that is copied");
}

typedef struct Bound {
    const Ring *ring;
    const Expr *hi; /* NULL: none was found */
    const Expr *condition; /* whose bound it is */
} Bound;

static void find_bound(void *user, const Stmt *stmt)
{
    Bound *b = user;
    bool copies = false;

    for (int i = 0; stmt->kind == STMT_IF && i < stmt->body.len; i++)
        for (int k = 0; k < b->ring->copies.len; k++)
            copies |= stmt->body.data[i] == b->ring->copies.data[k];
    if (copies && stmt->where && stmt->where->kind == EXPR_BINARY && stmt->where->op == EO_LT)
        b->hi = stmt->where->b, b->condition = stmt->where;
}

/* `for k = 0:n - 1` round Copies of tiles up to n. */
bool propose_all_turns(Suggester *s)
{
    Ring ring = ring_of(s, NULL);
    Bound bound = {.ring = &ring};

    if (!ring.loop || ring.copies.len == 0 || !ring.loop->hi)
        return false;
    suggest_each(&ring.loop->body, find_bound, &bound);
    return bound.hi && !expr_equal(bound.hi, ring.loop->hi) && suggest_edit(s, ring.loop->hi->span, suggest_expr(s, bound.hi), "a turn for every tile that is copied");
}

/* Whether an expression is made of the dimension, by names that are assigned as well. */
static bool is_made_of(const Suggester *s, const Expr *e, const char *dim, int depth)
{
    const Stmt *assigned = e && e->kind == EXPR_NAME && s->unit ? block_find(&s->unit->body, STMT_ASSIGN, e->name) : NULL;

    if (!e || depth == 0)
        return false;
    if (expr_is_name(e, dim) || (assigned && is_made_of(s, assigned->value, dim, depth - 1)))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (is_made_of(s, e->args[i], dim, depth - 1))
            return true;
    return is_made_of(s, e->a, dim, depth - 1) || is_made_of(s, e->b, dim, depth - 1);
}

/* `if k + 1 < h`, where the loop goes over the tiles that are copied and h counts others: as far as it goes. */
static bool guard_as_loop(Suggester *s, const Ring *ring, const Bound *bound, const Coord *coord)
{
    enum { DEEPEST = 16 };
    bool other = coord->name && !expr_equal(bound->hi, ring->loop->hi) && is_made_of(s, ring->loop->hi, coord->name, DEEPEST) &&
                 !is_made_of(s, bound->hi, coord->name, DEEPEST);

    return other && suggest_edit(s, bound->hi->span, suggest_expr(s, ring->loop->hi), "for every tile that there is");
}

/* `if k + 3 < n` round Copies of tile k + 2: as far as these are tiles. */
bool propose_guard(Suggester *s)
{
    Ring ring = ring_of(s, NULL);
    Bound bound = {.ring = &ring};
    const Stmt *copy = ring.copies.len ? ring.copies.data[0] : NULL;

    if (!ring.loop || !copy || !ring.loop->hi)
        return false;
    suggest_each(&ring.loop->body, find_bound, &bound);
    for (int i = 0; bound.condition && i < copy->n_coords; i++) {
        const Expr *tile = copy->coords[i].value;
        if (!tile || !expr_mentions(tile, ring.loop->name))
            continue;
        if (expr_equal(tile, bound.condition->a) ? guard_as_loop(s, &ring, &bound, &copy->coords[i])
                                                 : suggest_edit(s, bound.condition->a->span, suggest_expr(s, tile), "for every tile that there is"))
            return true;
    }
    return false;
}

/* ---- as many stages as that takes ------------------------------------------------------------------- */

static void edit_modulus(Ring *ring, const Expr *stage, int64_t size)
{
    Fix edit = {.label = NULL};

    if (!stage || stage->kind != EXPR_BINARY || stage->op != EO_MOD || stage->b->kind != EXPR_INT || stage->b->i != size)
        return;
    edit.span = stage->b->span;
    edit.text = arena_printf(ring->s->arena, "%d", ring->ahead + 1);
    vec_push(ring->s->arena, &ring->edits, edit);
}

static bool is_copied(const Ring *ring, const char *tile)
{
    for (int i = 0; i < ring->copies.len; i++)
        if (strcmp(copy_tile(ring->copies.data[i]), tile) == 0)
            return true;
    return false;
}

/* The stages that there are, wherever they are counted. */
static void widen(void *user, const Stmt *stmt)
{
    Ring *ring = user;
    int64_t size = 0;

    for (int i = 0; i < ring->copies.len; i++) {
        const Expr *stage = ring->copies.data[i]->stage;
        size = stage->kind == EXPR_BINARY && stage->op == EO_MOD && stage->b->kind == EXPR_INT ? stage->b->i : size;
    }
    if (stmt->kind == STMT_ALLOCATE && stmt->n_shape == 3 && is_copied(ring, stmt->name) && stmt->shape[0]->kind == EXPR_INT && stmt->shape[0]->i == size) {
        Fix edit = {stmt->shape[0]->span, arena_printf(ring->s->arena, "%d", ring->ahead + 1), NULL};
        vec_push(ring->s->arena, &ring->edits, edit);
    }
    if (stmt->kind == STMT_COPY && stmt->stage && is_copied(ring, copy_tile(stmt)))
        edit_modulus(ring, stmt->stage, size);
    for (int i = 0; stmt->kind == STMT_COMPUTE && i < stmt->n_args; i++) {
        const Expr *read = stage_read(stmt->args[i]);
        if (read && is_copied(ring, read->a->name))
            edit_modulus(ring, read->args[0], size);
    }
}

/* With the tiles of the first turns as well. */
static bool try_wider(Ring ring, int from)
{
    Suggester *s = ring.s;
    Fix *edits = arena_array(s->arena, Fix, ring.edits.len + 1);
    Fix first = {suggest_before(s, ring.loop), prologue(&ring, from, true), NULL};
    int n = 0;

    for (int i = 0; i < ring.edits.len; i++) {
        if (n == i && ring.edits.data[i].span.start >= first.span.start)
            edits[n++] = first;
        edits[n++] = ring.edits.data[i];
    }
    return n > ring.edits.len && suggest_edits(s, edits, n, "a stage more than the turns ahead, and the tiles of the first turns");
}

static bool says_more(const Suggester *s)
{
    int n = 0;

    for (int i = 0; i < s->chain->diags->list.len; i++)
        n += s->chain->diags->list.data[i].code == s->diag->code;
    return n > 1;
}

/* Of the tile, or of all that the loop copies ahead; those first where more than one is read wrongly. */
bool propose_ring(Suggester *s)
{
    const Expr *read = operand_at(s);

    for (int i = 0; read && i < 2; i++) {
        Ring ring = ring_of(s, says_more(s) == (i == 0) ? NULL : read->a->name);

        if (ring.copies.len)
            suggest_each(&s->unit->body, widen, &ring);
        if (ring.edits.len && suggest_edits(s, ring.edits.data, ring.edits.len, "a stage more than the turns ahead"))
            return true;
        for (int from = ring.ahead - 1; ring.edits.len && from >= 0; from--)
            if (try_wider(ring, from))
                return true;
    }
    return false;
}

/* ---- the stage of its own turn ------------------------------------------------------------------------ */

/* k in place of k + d, the turn that is copied. */
static const Expr *own_turn(Suggester *s, const Expr *e, const char *k, int ahead)
{
    Expr *made;

    if (!e || turns_ahead(s->unit, e, k) == ahead)
        return e ? expr_name(s->arena, k) : NULL;
    made = arena_new_of(s->arena, Expr);
    *made = *e;
    made->a = (Expr *)own_turn(s, e->a, k, ahead);
    made->b = (Expr *)own_turn(s, e->b, k, ahead);
    return made;
}

bool propose_own_stage(Suggester *s)
{
    const Expr *read = operand_at(s);
    Ring ring = read ? ring_of(s, read->a->name) : (Ring){0};

    for (int i = 0; i < ring.copies.len; i++) {
        int ahead = ahead_of(s->unit, ring.copies.data[i], ring.loop->name);
        const Expr *stage = own_turn(s, ring.copies.data[i]->stage, ring.loop->name, ahead);
        if (!expr_equal(stage, read->args[0]) && suggest_edit(s, read->args[0]->span, suggest_expr(s, stage), "the stage of this turn's tile"))
            return true;
    }
    return false;
}

/* ---- stages that a read does not name ----------------------------------------------------------------------- */

typedef struct Filled {
    const char *tile;
    const Expr *stage; /* of the last Copy to it; NULL: none */
} Filled;

static void note_filled(void *user, const Stmt *stmt)
{
    Filled *f = user;

    if (stmt->kind == STMT_COPY && stmt->to_space == SPACE_SHARED && stmt->stage && strcmp(copy_dest(stmt), f->tile) == 0)
        f->stage = stmt->stage;
}

/* `GEMM Q, K.T` of a ring K: the stage that its Copy fills. */
/* Stages that other operands are read from. */
typedef struct ReadStages {
    Suggester *s;
    Span behind; /* the operand without one */
    bool found;
} ReadStages;

static bool try_read_stage(const void *user, const Expr *e)
{
    ReadStages *r = *(ReadStages *const *)user;

    if (e->kind == EXPR_INDEX && e->n_args == 1 && e->a->kind == EXPR_NAME && !r->found)
        r->found = suggest_edit(r->s, r->behind, arena_printf(r->s->arena, "[%s]", suggest_expr(r->s, e->args[0])), "the stage that others are read from");
    return false;
}

static void try_read_stages(void *user, const Stmt *stmt)
{
    for (int i = 0; stmt->kind == STMT_COMPUTE && i < stmt->n_args; i++)
        expr_any(stmt->args[i], try_read_stage, &user);
}

bool propose_stage_of_operand(Suggester *s)
{
    int at = s->diag->span.start;
    const char *name = arena_strndup(s->arena, s->source->text + at, strspn(s->source->text + at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"));
    Filled f = {.tile = name};
    Span behind = {at + (int)strlen(name), at + (int)strlen(name)};

    if (!s->unit || !*name)
        return false;
    suggest_each(&s->unit->body, note_filled, &f);
    if (f.stage && suggest_edit(s, behind, arena_printf(s->arena, "[%s]", suggest_expr(s, f.stage)), "the stage that was copied"))
        return true;
    ReadStages r = {.s = s, .behind = behind};
    suggest_each(&s->unit->body, try_read_stages, &r);
    return r.found;
}
