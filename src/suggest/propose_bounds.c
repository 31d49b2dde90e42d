/* propose_bounds.c: loops of Kernels that give something else than the Operator beside them, whose bounds are other ones. Each
 * is executed beside the definition before it is suggested (vary.h).
 *
 *   for m = 0:j + 1                for m = 0:ceil(N / BM)        all tiles of what it copies
 *   lo = s * per                   lo = s * per
 *   for j = 0:hi                   for j = lo:hi                 what was worked out for it, and nothing takes
 *
 *   off = q_len - kv_len           off = kv_len - q_len          of what bounds and conditions count from
 */
#include "suggest/vary.h"

static bool try_range(Vary *v, const Stmt *loop, const char *lo, const char *hi, const char *label)
{
    Span range = {loop->lo->span.start, loop->hi->span.end};
    const char *text = arena_printf(v->s->arena, "%s:%s", lo, hi);

    return strncmp(v->s->source->text + range.start, text, strlen(text)) != 0 && suggest_edit(v->s, range, text, label);
}

/* ---- all tiles ------------------------------------------------------------------------------------ */

/* Whether the bounds leave out what a block along the dimension does not need; a part of all has another block for the rest. */
static bool follows_block(const Vary *v, const Stmt *loop, const char *dim)
{
    for (int i = 0; i < v->all.len; i++)
        for (int k = 0; v->all.data[i]->kind == STMT_GRID && k < v->all.data[i]->n_coords; k++) {
            const Coord *block = &v->all.data[i]->coords[k];

            if (block->value && expr_mentions(block->value, dim) && (expr_mentions(loop->lo, block->name) || expr_mentions(loop->hi, block->name)))
                return true;
        }
    return false;
}

/* How many tiles there are along the dimension that a Copy in the loop counts; NULL: it counts none. */
static const char *tiles_of(Vary *v, const Stmt *loop)
{
    for (int i = 0; i < loop->body.len; i++) {
        const Stmt *s = loop->body.data[i], *tensor = s->kind == STMT_COPY && s->has_shape && s->space == SPACE_GLOBAL ? unit_tensor(v->kernel, s->name) : NULL;
        int lead = tensor ? tensor->n_shape - s->n_shape : 0;

        for (int k = 0; tensor && lead >= 0 && k < s->n_coords; k++)
            for (int d = lead; d < tensor->n_shape && s->coords[k].name && expr_is_name(s->coords[k].value, loop->name); d++)
                if (expr_is_name(tensor->shape[d], s->coords[k].name) && follows_block(v, loop, s->coords[k].name))
                    return arena_printf(v->s->arena, "ceil(%s / %s)", s->coords[k].name, suggest_expr(v->s, s->shape[d - lead]));
    }
    return NULL;
}

/* ---- names that nothing takes ------------------------------------------------------------------------ */

static bool mentions(const Stmt *s, const char *name)
{
    const Expr *said[] = {s->value, s->where, s->lo, s->hi, s->stage, s->otherwise, s->dest};
    bool found = false;

    for (size_t i = 0; i < TW_COUNT(said); i++)
        found |= said[i] && expr_mentions(said[i], name);
    for (int i = 0; i < s->n_coords; i++)
        found |= s->coords[i].value && expr_mentions(s->coords[i].value, name);
    for (int i = 0; i < s->n_args; i++)
        found |= expr_mentions(s->args[i], name);
    for (int i = 0; i < s->n_shape; i++)
        found |= expr_mentions(s->shape[i], name);
    return found;
}

static Names unused_names(const Vary *v)
{
    Names unused = {0};

    for (int i = 0; i < v->all.len; i++) {
        const Stmt *s = v->all.data[i];
        bool used = s->kind != STMT_ASSIGN && s->kind != STMT_LET;

        for (int k = 0; k < v->all.len && !used; k++)
            used = v->all.data[k] != s && mentions(v->all.data[k], s->name);
        if (!used)
            vec_push(v->s->arena, &unused, s->name);
    }
    return unused;
}

static bool try_unused(Vary *v, const Stmt *loop, const Names *unused)
{
    static const char label[] = "what was worked out for it";
    const char *lo = suggest_expr(v->s, loop->lo), *hi = suggest_expr(v->s, loop->hi);

    for (int i = 0; i < unused->len; i++)
        if (try_range(v, loop, unused->data[i], hi, label) || try_range(v, loop, lo, unused->data[i], label))
            return true;
    for (int i = 0; i < v->all.len && unused->len == 1; i++) { /* with what it is the begin, or the end, of */
        const Stmt *s = v->all.data[i];
        bool next = s->kind == STMT_ASSIGN && s->value && mentions(s, unused->data[0]);

        if (next && (try_range(v, loop, unused->data[0], s->name, label) || try_range(v, loop, s->name, unused->data[0], label)))
            return true;
    }
    return false;
}

/* One that the other is made of counts as taken, though nothing takes either: `hi = min(lo + per, tiles)`. */
static bool try_both(Vary *v, const Stmt *loop, const Names *unused)
{
    for (int i = 0; i < unused->len; i++)
        for (int k = 0; k < v->all.len; k++) {
            const Stmt *s = v->all.data[k];
            const Stmt *own = block_find(&v->kernel->body, STMT_ASSIGN, unused->data[i]);
            bool part = s->kind == STMT_ASSIGN && own && own->value && expr_mentions(own->value, s->name);

            if (part && try_range(v, loop, s->name, unused->data[i], "what was worked out for it"))
                return true;
        }
    return false;
}

/* The block's own part of it: a coordinate of the grid and how many turns a part has, neither of which anything takes. */
static bool try_part(Vary *v, const Stmt *loop, const Names *unused)
{
    const Stmt *grid = block_find(&v->kernel->body, STMT_GRID, NULL);

    for (int i = 0; grid && i < grid->n_coords; i++) {
        const char *block = grid->coords[i].name;
        bool used = false;

        for (int k = 0; k < v->all.len; k++)
            used |= v->all.data[k] != grid && mentions(v->all.data[k], block);
        for (int k = 0; k < unused->len && !used; k++)
            if (try_range(v, loop, arena_printf(v->s->arena, "%s * %s", block, unused->data[k]),
                          arena_printf(v->s->arena, "min((%s + 1) * %s, %s)", block, unused->data[k], suggest_expr(v->s, loop->hi)), "a part for each block"))
                return true;
    }
    return false;
}

/* A begin that may lie before the first. */
static bool try_from_first(Vary *v, const Stmt *loop)
{
    const Stmt *named = loop->lo->kind == EXPR_NAME ? block_find(&v->kernel->body, STMT_ASSIGN, loop->lo->name) : NULL;
    const Expr *lo = named ? named->value : loop->lo;
    bool less = lo && lo->kind == EXPR_BINARY && vary_has(&v->counters, loop->name);

    return less && suggest_edit(v->s, lo->span, arena_printf(v->s->arena, "max(0, %s)", suggest_quoted(v->s, lo->span)), "none lies before the first");
}

/* With another sign of what a begin is less, or more, by. */
static bool try_signs(Vary *v, const Expr *e)
{
    bool sum = e && e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB);

    if (!e)
        return false;
    if (sum && suggest_edit(v->s, e->span, arena_printf(v->s->arena, "%s %s %s", suggest_expr(v->s, e->a), e->op == EO_ADD ? "-" : "+", suggest_expr(v->s, e->b)), "the other sign"))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (try_signs(v, e->args[i]))
            return true;
    return try_signs(v, e->a) || try_signs(v, e->b);
}

/* A begin that leaves out too much. */
static bool try_earlier(Vary *v, const Stmt *loop)
{
    const Stmt *named = loop->lo->kind == EXPR_NAME ? block_find(&v->kernel->body, STMT_ASSIGN, loop->lo->name) : NULL;
    bool zero = loop->lo->kind == EXPR_INT && loop->lo->i == 0;

    return !zero && (try_signs(v, named ? named->value : loop->lo) || suggest_edit(v->s, loop->lo->span, "0", "from the first on, of which the mask leaves what counts"));
}

/* From what the end is made of. */
static bool try_begin(Vary *v, const Stmt *loop)
{
    const Stmt *end = loop->hi->kind == EXPR_NAME ? block_find(&v->kernel->body, STMT_ASSIGN, loop->hi->name) : NULL;

    for (int i = 0; end && end->value && i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_ASSIGN && expr_mentions(end->value, v->all.data[i]->name) && vary_has(&v->counters, v->all.data[i]->name) &&
            try_range(v, loop, v->all.data[i]->name, loop->hi->name, "from the begin that its end is made of"))
            return true;
    return false;
}

/* ---- differences ------------------------------------------------------------------------------------ */

/* Of two sizes, the other way round. */
static bool try_difference(Vary *v, const Stmt *s)
{
    const Expr *e = s->kind == STMT_ASSIGN || s->kind == STMT_LET ? s->value : NULL;
    bool sizes = e && e->kind == EXPR_BINARY && e->op == EO_SUB && e->a->kind == EXPR_NAME && e->b->kind == EXPR_NAME;

    return sizes && suggest_edit(v->s, e->span, arena_printf(v->s->arena, "%s - %s", e->b->name, e->a->name), "the other way round");
}

/* ---- entry ---------------------------------------------------------------------------------------------- */

static bool try_kernel(Vary *v)
{
    Names unused = unused_names(v);

    for (int i = 0; i < v->all.len; i++) {
        const Stmt *loop = v->all.data[i];
        const char *all;

        if (try_difference(v, loop))
            return true;
        if (loop->kind != STMT_FOR || !loop->lo || !loop->hi)
            continue;
        all = tiles_of(v, loop);
        if (try_unused(v, loop, &unused) || try_both(v, loop, &unused) || try_begin(v, loop) || try_part(v, loop, &unused) || try_from_first(v, loop) || try_earlier(v, loop) || (all && try_range(v, loop, "0", all, "all tiles, of which the mask leaves what counts")))
            return true;
    }
    return false;
}

bool propose_bounds(Suggester *s)
{
    return vary_each(s, try_kernel);
}
