/* init.c: what was written before it is read.
 *
 * An accumulator, or the state of a softmax, that nothing wrote yet starts at
 * its identity: 0 for sums and products, -inf for maxima. Reading anything else
 * before it was written is an error. An accumulator that starts so starts once:
 * one that is used inside of a loop must be reset there.
 */
#include "check/walk.h"

static void remember_loops(const Checker *c, PlaceState *now)
{
    now->accumulated_at = c->moment;
    now->accumulated_depth = c->n_loops;
    for (int i = 0; i < c->n_loops; i++)
        now->accumulated_in[i] = c->loops[i].stmt;
}

/* Accumulated in a loop within this one, used here, and never set since this
 * iteration began: the second iteration adds to the first one's sum. */
static bool is_stale(const Checker *c, const PlaceState *now)
{
    if (!c->n_loops || now->accumulated_depth <= c->n_loops)
        return false;
    int entered = c->loops[c->n_loops - 1].entered_at;
    return now->accumulated_at > entered && now->set_at < entered;
}

static void check_reset(Checker *c, const Operand *o)
{
    PlaceState *now = &o->place->now;
    if (c->loose || !is_stale(c, now))
        return;
    const Stmt *inner = now->accumulated_in[c->n_loops];
    Diag *d = diag_add(c->diags, TW0441, o->expr->span,
                       "'%s' still holds the sum of the iterations before", o->tensor->name);
    fix_line_before(c, d, inner,
                    arena_printf(c->arena, "Compute Fill %s, 0 and get new %s", o->tensor->name,
                                 o->tensor->name),
                    "set it to 0 before the loop that accumulates");
    now->set_at = c->moment;
}

/* Whether a loop adds to the tile: what it is multiplied by then rescales a sum. */
static bool is_sum(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool to = s->kind == STMT_COMPUTE && expr_is_name(compute_result(s), name);
        if (to && (s->result == RESULT_ACCUMULATE || (s->op_known && s->op == OP_ADD)))
            return true;
        if (is_sum(&s->body, name) || is_sum(&s->orelse, name))
            return true;
    }
    return false;
}

/* What `Max m, t and get new m` starts from: -inf; NULL: it is no running value. */
static const char *running_start(const Checker *c, const Operand *o)
{
    static const struct { OpId op; const char *start; } running[] = {
        {OP_ADD, "0"}, {OP_MAX, "-inf"}, {OP_MIN, "inf"}, {OP_MULTIPLY, "1"}};
    const Stmt *s = c->computing;
    if (!s || !s->op_known || !c->n_loops)
        return NULL;
    if (s->op == OP_MULTIPLY && is_sum(&c->loops[0].stmt->body, o->tensor->name))
        return "0";
    if (s->op != OP_MAX && s->op != OP_MIN && !expr_is_name(s->dest ? s->dest : s->args[0], o->tensor->name))
        return NULL;
    for (size_t i = 0; i < TW_COUNT(running); i++)
        if (running[i].op == s->op)
            return running[i].start;
    return NULL;
}

static void say_unwritten(Checker *c, const Operand *o)
{
    const char *name = o->tensor->name;
    Diag *d = diag_add(c->diags, TW0440, o->expr->span, "'%s' is read before it is written", name);
    const char *start = running_start(c, o);
    if (o->place->space == SPACE_REGISTER && (start || !o->tensor->places[SPACE_GLOBAL].exists))
        fix_line_before(c, d, walk_outermost(c),
                        arena_printf(c->arena, "Compute Fill %s, %s and get new %s", name, start ? start : "0", name),
                        start ? "set it before, to what changes nothing" : "set it before; 0 is a guess");
    else
        diag_note(c->diags, d, "Copy it to %s memory before", space_name(o->place->space));
    o->place->now.written = WRITTEN_YES;
}

/* Written in a loop, which may run not at all, or in one branch. */
static void say_written_within(Checker *c, const Operand *o)
{
    const char *name = o->tensor->name;
    const Stmt *by = o->place->now.only_in;
    bool loop = by->kind == STMT_FOR;
    Diag *d = diag_add(c->late, TW0440, o->expr->span,
                       loop ? "'%s' is written in the loop alone, which may run not at all"
                            : "'%s' is written in one branch alone",
                       name);
    if (o->place->space == SPACE_REGISTER)
        fix_line_before(c, d, by, arena_printf(c->arena, "Compute Fill %s, 0 and get new %s", name, name),
                        loop ? "set it before the loop; where its parts are to be summed up, accumulate them"
                             : "set it before");
    o->place->now.written = WRITTEN_YES;
}

/* Whether the condition of an arm round the statement at hand, or one that it joins, is this one, or says the opposite of it. */
static bool says(const Expr *arm, const Expr *cond)
{
    static const ExprOp opposite[][2] = {{EO_LT, EO_GE}, {EO_GE, EO_LT}, {EO_GT, EO_LE}, {EO_LE, EO_GT}, {EO_EQ, EO_NE}, {EO_NE, EO_EQ}};
    bool both = arm->kind == EXPR_BINARY && cond->kind == EXPR_BINARY;
    if (expr_equal(arm, cond))
        return true;
    for (size_t i = 0; both && i < TW_COUNT(opposite); i++)
        if (arm->op == opposite[i][0] && cond->op == opposite[i][1] && expr_equal(arm->a, cond->a) && expr_equal(arm->b, cond->b))
            return true;
    if (arm->kind == EXPR_UNARY && arm->op == EO_NOT)
        return says(arm->a, cond);
    return arm->kind == EXPR_BINARY && arm->op == EO_AND && (says(arm->a, cond) || says(arm->b, cond));
}

/* Branches that a loop's body has which copy to a tile: one may do so in the first turn, and another one ahead of its turn. */
static int branches_copying(const Block *body, const char *tile)
{
    int n = 0;
    for (int i = 0; i < body->len; i++)
        for (int k = 0; body->data[i]->kind == STMT_IF && k < body->data[i]->body.len; k++)
            n += body->data[i]->body.data[k]->kind == STMT_COPY && strcmp(copy_dest(body->data[i]->body.data[k]), tile) == 0;
    return n;
}

/* Whether the branch that alone writes a tile has a condition that is written round this read as well: whether it is the same,
 * and the read has what the branch wrote, is known where both are lowered (src/lower/stage.c, held.c). */
static bool is_under_its_condition(const Checker *c, const Operand *o)
{
    const Stmt *by = o->place->now.only_in;
    if (by->kind != STMT_IF)
        return false;
    if (c->n_loops && o->place->space == SPACE_SHARED && o->place->rank == 3 && branches_copying(&c->loops[c->n_loops - 1].stmt->body, o->tensor->name) > 1)
        return true;
    for (int i = 0; i < c->path.n_arms; i++)
        if (says(c->path.arms[i].stmt->where, by->where))
            return true;
    return false;
}

/* Whether a statement of the block accumulates the tile, or has it as the state
 * of a softmax. */
static bool starts_in(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        if (s->kind == STMT_COMPUTE && s->result == RESULT_ACCUMULATE && expr_is_name(s->dest, name))
            return true;
        for (int k = 0; k < s->n_with; k++)
            if (expr_is_name(s->with[k], name))
                return true;
        if (starts_in(&s->body, name) || starts_in(&s->orelse, name))
            return true;
    }
    return false;
}

/* What the loop at hand sums up starts at its identity, also where the first
 * iteration reads it above the statement that adds to it. */
static bool starts_itself(const Checker *c, const Operand *o)
{
    return c->n_loops && o->place->space == SPACE_REGISTER && o->tensor &&
           starts_in(&c->loops[c->n_loops - 1].stmt->body, o->tensor->name);
}

void init_read(Checker *c, const Operand *o)
{
    if (!o->place)
        return;
    if (o->place->now.piece.softmax)
        c->piece = o->place->now.piece;
    if (o->place->now.written == WRITTEN_NO && starts_itself(c, o)) {
        o->place->now.starts = true;
        return;
    }
    if (o->place->now.written == WRITTEN_NO && (!o->place->given || c->sketch))
        say_unwritten(c, o);
    else if (o->place->now.written == WRITTEN_MAYBE && o->place->now.only_in && !o->place->given && !c->loose &&
             o->place->space != SPACE_GLOBAL && !is_under_its_condition(c, o))
        say_written_within(c, o);
    else
        check_reset(c, o);
}

void init_write(Checker *c, Operand *o, Fragment fragment)
{
    PlaceState *now = &o->place->now;
    now->written = WRITTEN_YES;
    now->version = ++c->versions;
    now->set_at = c->moment;
    now->fragment = fragment;
    now->guessed_gemm = NULL;
    now->guessed_streams = false;
    now->exponentials = false;
    now->copied = NULL;
    now->cast = NULL;
    now->piece = c->piece;
    now->only_in = NULL;
    now->masked = false;
}

void init_accumulate(Checker *c, Operand *o, Fragment fragment)
{
    PlaceState *now = &o->place->now;
    now->starts |= now->written != WRITTEN_YES;
    now->written = WRITTEN_YES;
    now->version = ++c->versions;
    now->fragment = fragment;
    now->copied = NULL;
    remember_loops(c, now);
}

/* ---- around ifs and loops --------------------------------------------------------------- */

PlaceState *init_save(Checker *c)
{
    PlaceState *saved =
        arena_array(c->arena, PlaceState, (size_t)c->tensors.len * (SPACE_REGISTER + 1) + 1);
    for (int i = 0; i < c->tensors.len; i++)
        for (Space s = SPACE_NONE; s <= SPACE_REGISTER; s++)
            saved[i * (SPACE_REGISTER + 1) + (int)s] = c->tensors.data[i]->places[s].now;
    return saved;
}

void init_restore(Checker *c, const PlaceState *saved, int n)
{
    for (int i = 0; i < n; i++)
        for (Space s = SPACE_NONE; s <= SPACE_REGISTER; s++)
            c->tensors.data[i]->places[s].now = saved[i * (SPACE_REGISTER + 1) + (int)s];
}

static void merge_state(PlaceState *now, const PlaceState *other, const Stmt *by)
{
    if (now->written != other->written) {
        now->written = now->starts || other->starts ? WRITTEN_YES : WRITTEN_MAYBE;
        now->only_in = by;
    }
    now->masked |= other->masked;
    /* what is filled in one branch lies as what is computed in the other */
    Fragment fragment = now->fragment == FRAG_FREE ? other->fragment : other->fragment == FRAG_FREE ? now->fragment : FRAG_FREE;
    if (other->version > now->version) {
        Written written = now->written;
        const Stmt *only_in = now->only_in;
        bool masked = now->masked;
        *now = *other;
        now->written = written;
        now->only_in = only_in;
        now->masked = masked;
    }
    if (fragment != FRAG_FREE)
        now->fragment = fragment;
}

void init_merge(Checker *c, const Stmt *by, const PlaceState *other, int n)
{
    for (int i = 0; i < n; i++)
        for (Space s = SPACE_NONE; s <= SPACE_REGISTER; s++)
            merge_state(&c->tensors.data[i]->places[s].now,
                        &other[i * (SPACE_REGISTER + 1) + (int)s], by);
}

void init_take_registers(Checker *c, PlaceState *saved, int n)
{
    for (int i = 0; i < n; i++)
        saved[i * (SPACE_REGISTER + 1) + (int)SPACE_REGISTER] = c->tensors.data[i]->places[SPACE_REGISTER].now;
}

void init_take_written(Checker *c, const PlaceState *other, int n)
{
    for (int i = 0; i < n; i++)
        for (Space s = SPACE_NONE; s <= SPACE_REGISTER; s++) {
            PlaceState *now = &c->tensors.data[i]->places[s].now;
            const PlaceState *from = &other[i * (SPACE_REGISTER + 1) + (int)s];
            if (now->written != WRITTEN_YES && from->written == WRITTEN_YES)
                *now = *from;
        }
}
