/* propose_untaken.c: what a Kernel computes or copies and does not take shows which step is missing. Each edit is executed beside
 * the definition before it is suggested (vary.h).
 *
 *   Compute RowSum Y2 and get t               Compute RowSum Y2 and get t
 *                                             Compute Add y2, t and get new y2           what is not used, taken by another tile
 *   Copy P from register to global            Compute Divide P, L else 0 and get new P
 *                                             Copy P from register to global
 *
 *   Copy H from register to global            Compute Multiply G, U and get H            what is not made, of what is not used
 *                                             Copy H from register to global
 *   for j = 0:n                               for j = 0:n
 *     ...                                       ...
 *   end                                         Compute GEMM P, V and accumulate O
 *                                             end
 */
#include "suggest/vary.h"

enum { MOST_TRIES = 48 };

typedef struct Untaken {
    Vary *v;
    const char *tile;  /* that is not used, or not made */
    Names loose;       /* what no statement takes, the last one first */
} Untaken;

static bool begin(Suggester *s, Vary *v)
{
    if (!s->agrees || s->stage != s->agrees || !s->stmt || !s->unit || s->unit->kind != UNIT_KERNEL || !vary_definition(s))
        return false;
    *v = vary_kernel(s, s->unit);
    return true;
}

/* With tries of its own, which are all executed. */
static bool try_strictly(Untaken *u, bool (*try)(Untaken *u))
{
    Suggester *s = u->v->s;
    int tries = s->tries;
    bool strict = s->strict, found;

    s->tries = MOST_TRIES;
    s->strict = true;
    found = try(u);
    s->tries = tries;
    s->strict = strict;
    return found;
}

/* The name that a diagnostic begins with, in quotes or without. */
static const char *said_name(const Suggester *s)
{
    const char *text = s->diag->message + (s->diag->message[0] == '\'');

    return arena_strndup(s->arena, text, strcspn(text, "' "));
}

/* ---- steps ----------------------------------------------------------------------------------------- */

typedef VEC(OpId) Ops;

static void add_op(const Untaken *u, Ops *ops, OpId op)
{
    for (int i = 0; i < ops->len; i++)
        if (ops->data[i] == op)
            return;
    vec_push(u->v->s->arena, ops, op);
}

/* Operations on elements that the definition has, of so many operands. */
static Ops steps_of(const Untaken *u, int operands)
{
    const Block *body = &u->v->definition->body;
    Ops ops = {0};

    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];
        if (s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == OPC_ELEMENT && s->n_args == operands)
            add_op(u, &ops, s->op);
    }
    return ops;
}

static bool try_at(const Untaken *u, Span at, int indent, const char *text, const char *label)
{
    Suggester *s = u->v->s;
    const char *blanks = suggest_indent(s, indent);
    bool behind = at.start > 0 && s->source->text[at.start - 1] != '\n';

    return suggest_edit(s, at, behind ? arena_printf(s->arena, "\n%s%s", blanks, text) : arena_printf(s->arena, "%s%s\n", blanks, text), label);
}

static bool is_stored(const Stmt *s, const char *tile)
{
    return s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL && !s->listed && strcmp(copy_tile(s), tile) == 0;
}

/* ---- what is not used ---------------------------------------------------------------------------------- */

static const char *step_text(const Untaken *u, OpId op, const char *tile)
{
    return arena_printf(u->v->s->arena, "Compute %s %s, %s%s and get new %s", op_info(op)->name, tile, u->tile, op == OP_DIVIDE ? " else 0" : "", tile);
}

/* Behind the statement that makes it, of each tile or column. */
static bool try_taken_behind(Untaken *u, const Ops *ops)
{
    const Stmt *maker = u->v->s->stmt;
    const Names *lists[] = {&u->v->columns, &u->v->tiles};

    for (size_t n = 0; n < TW_COUNT(lists); n++)
        for (int i = lists[n]->len - 1; i >= 0; i--)
            for (int k = 0; k < ops->len; k++)
                if (strcmp(lists[n]->data[i], u->tile) != 0 && vary_has(&u->v->columns, u->tile) == (n == 0) &&
                    try_at(u, (Span){maker->span.end, maker->span.end}, maker->span.start, step_text(u, ops->data[k], lists[n]->data[i]), "taken by what it is a part of"))
                    return true;
    return false;
}

/* In front of a Copy that stores a tile. */
static bool try_taken_at_store(Untaken *u, const Ops *ops)
{
    for (int i = u->v->all.len - 1; i >= 0; i--) {
        const Stmt *store = u->v->all.data[i];
        const char *tile = store->kind == STMT_COPY ? copy_tile(store) : NULL;

        for (int k = 0; tile && is_stored(store, tile) && strcmp(tile, u->tile) != 0 && k < ops->len; k++)
            if (try_at(u, suggest_before(u->v->s, store), store->span.start, step_text(u, ops->data[k], tile), "by what was computed for it"))
                return true;
    }
    return false;
}

static bool try_taken(Untaken *u)
{
    const Stmt *maker = u->v->s->stmt;
    Ops ops = {0}, defined = steps_of(u, 2);

    if (maker->op_known && (maker->op == OP_ROW_MAX || maker->op == OP_COL_MAX))
        add_op(u, &ops, OP_MAX);
    else if (maker->op_known && (op_info(maker->op)->class == OPC_ROW_REDUCE || op_info(maker->op)->class == OPC_COL_REDUCE))
        add_op(u, &ops, OP_ADD);
    if (ops.len && try_taken_behind(u, &ops))
        return true;
    if (maker->n_with == 2 || maker->result == RESULT_ACCUMULATE) /* a sum divides */
        add_op(u, &ops, OP_DIVIDE);
    for (int i = 0; i < defined.len; i++)
        add_op(u, &ops, defined.data[i]);
    return try_taken_at_store(u, &ops) || try_taken_behind(u, &ops);
}

bool propose_taken(Suggester *s)
{
    Vary v;

    if (!begin(s, &v) || s->stmt->kind == STMT_FOR)
        return false;
    Untaken u = {.v = &v, .tile = said_name(s)};
    return try_strictly(&u, try_taken);
}

/* ---- what is not made ------------------------------------------------------------------------------------ */

/* The name of a tile that a statement makes, which does not take it; NULL: none. */
static const char *made_by(const Stmt *s)
{
    if (s->kind == STMT_COPY)
        return s->to_space != SPACE_GLOBAL ? copy_tile(s) : NULL;
    return vary_result(s);
}

static bool takes(const Stmt *s, const char *name)
{
    bool copied = s->kind == STMT_COPY && s->space != SPACE_GLOBAL && strcmp(copy_tile(s), name) == 0;

    return (copied || (s->kind != STMT_FOR && vary_takes(s, name))) && !(made_by(s) && strcmp(made_by(s), name) == 0);
}

/* A softmax makes its state as well. */
static void find_loose_state(Untaken *u, const Stmt *step)
{
    for (int i = 0; i < step->n_with; i++) {
        const char *name = expr_base_name(step->with[i]);
        bool taken = !name || vary_has(&u->loose, name) || strcmp(name, u->tile) == 0;

        for (int k = 0; !taken && k < u->v->all.len; k++)
            taken = takes(u->v->all.data[k], name);
        if (!taken)
            vec_push(u->v->s->arena, &u->loose, name);
    }
}

/* Tiles whose last statement makes them. */
static void find_loose(Untaken *u)
{
    for (int i = u->v->all.len - 1; i >= 0; i--) {
        const char *name = made_by(u->v->all.data[i]);
        bool taken = !name || vary_has(&u->loose, name) || strcmp(name, u->tile) == 0 || (u->v->all.data[i]->op_known && u->v->all.data[i]->op == OP_FILL);

        for (int k = 0; !taken && k < u->v->all.len; k++)
            taken = takes(u->v->all.data[k], name);
        if (!taken)
            vec_push(u->v->s->arena, &u->loose, name);
        find_loose_state(u, u->v->all.data[i]);
    }
}

/* The loop whose body makes it; NULL: it stands in none. */
static const Stmt *loop_of(const Block *block, const char *name, const Stmt *loop)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i], *within = loop_of(&s->body, name, s->kind == STMT_FOR ? s : loop);
        if (within)
            return within;
        if (made_by(s) && strcmp(made_by(s), name) == 0)
            return loop;
    }
    return NULL;
}

static const char LABEL[] = "what makes it, of what is not used yet";

/* In front of what takes it. */
static bool try_making(const Untaken *u, const char *step)
{
    Suggester *s = u->v->s;

    return try_at(u, suggest_before(s, s->stmt), s->stmt->span.start, arena_printf(s->arena, "%s and get %s", step, u->tile), LABEL);
}

/* Of parts that a loop makes: at the end of each turn. */
static bool try_product(const Untaken *u, const char *step, const char *of)
{
    Suggester *s = u->v->s;
    const Stmt *loop = loop_of(&u->v->kernel->body, of, NULL), *last = loop ? loop->body.data[loop->body.len - 1] : NULL;
    bool within = !loop || (s->stmt->span.start > loop->span.start && s->stmt->span.start < last->span.end);

    if (within)
        return try_making(u, step);
    return try_at(u, (Span){last->span.end, last->span.end}, last->span.start, arena_printf(s->arena, "%s and accumulate %s", step, u->tile), LABEL);
}

static bool try_products(Untaken *u, const char *a, const char *b)
{
    static const struct { const char *a, *b; } turned[] = {{"", ""}, {"", ".T"}, {".T", ""}};

    for (size_t i = 0; i < TW_COUNT(turned); i++)
        if (try_product(u, arena_printf(u->v->s->arena, "Compute GEMM %s%s, %s%s", a, turned[i].a, b, turned[i].b), a))
            return true;
    return false;
}

/* Two that are not used, or one and another tile, or number. */
static bool try_pair(Untaken *u, OpId op, const char *a, const char *b)
{
    Arena *arena = u->v->s->arena;
    bool ordered = op == OP_SUBTRACT || op == OP_DIVIDE;
    const char *beside = op == OP_DIVIDE ? " else 0" : "";

    return try_making(u, arena_printf(arena, "Compute %s %s, %s%s", op_info(op)->name, a, b, beside)) ||
           (ordered && try_making(u, arena_printf(arena, "Compute %s %s, %s%s", op_info(op)->name, b, a, beside)));
}

static bool try_of_one(Untaken *u, const char *loose)
{
    const Block *body = &u->v->definition->body;
    Ops one = steps_of(u, 1);

    for (int i = 0; i < body->len; i++) { /* with the number of the definition */
        const Stmt *s = body->data[i];
        bool number = s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == OPC_ELEMENT && s->n_args == 2 && !(s->args[1]->kind == EXPR_NAME && !block_find(body, STMT_PARAM, s->args[1]->name));
        if (number && try_making(u, arena_printf(u->v->s->arena, "Compute %s %s, %s", op_info(s->op)->name, loose, suggest_expr(u->v->s, s->args[1]))))
            return true;
    }
    for (int i = 0; i < one.len; i++)
        if (try_making(u, arena_printf(u->v->s->arena, "Compute %s %s", op_info(one.data[i])->name, loose)))
            return true;
    return try_making(u, arena_printf(u->v->s->arena, "Compute Add %s, 0", loose));
}

static bool try_with(Untaken *u, const Ops *ops, const char *loose, const Names *others)
{
    for (int k = 0; k < ops->len; k++)
        for (int i = others->len - 1; i >= 0; i--)
            if (strcmp(others->data[i], loose) != 0 && strcmp(others->data[i], u->tile) != 0 && try_pair(u, ops->data[k], loose, others->data[i]))
                return true;
    return false;
}

static bool try_made(Untaken *u)
{
    Ops two = steps_of(u, 2);

    add_op(u, &two, OP_MULTIPLY); /* the products of a GEMM, one by one */
    add_op(u, &two, OP_SUBTRACT); /* what a softmax, or a norm, takes from its rows */
    find_loose(u);
    for (int a = u->loose.len - 1; a >= 0; a--)
        for (int b = u->loose.len - 1; b >= 0; b--) {
            for (int k = 0; a < b && k < two.len; k++)
                if (try_pair(u, two.data[k], u->loose.data[b], u->loose.data[a]))
                    return true;
            if (a != b && block_multiplies(&u->v->definition->body) && try_products(u, u->loose.data[b], u->loose.data[a]))
                return true;
        }
    for (int i = 0; i < u->loose.len; i++) {
        if (try_of_one(u, u->loose.data[i]))
            return true;
        if (try_with(u, &two, u->loose.data[i], &u->v->columns) || try_with(u, &two, u->loose.data[i], &u->v->tiles))
            return true;
    }
    return false;
}

bool propose_made(Suggester *s)
{
    Vary v;

    if (!begin(s, &v))
        return false;
    Untaken u = {.v = &v, .tile = said_name(s)};
    return try_strictly(&u, try_made);
}
