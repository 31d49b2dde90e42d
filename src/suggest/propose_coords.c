/* propose_coords.c: Copies that leave a coordinate out, where the Operator beside them shows which. Each edit is executed
 * beside the definition before it is suggested (vary.h).
 *
 *   Copy X (BR, BC) as x in coordinate [R = m]    ─►    Copy X (BR, BC) as x in coordinate [R = m, C = c]
 *   Copy X (BL, 1, 32) in coordinate [b, h, 1]    ─►    Copy X (BL, 1, 32) in coordinate [b, l, h, 1]
 *   Copy K from global to shared                  ─►    Copy K in coordinate [kv_heads = h div (heads div kv_heads), kv_len = j] from ...
 */
#include "suggest/vary.h"

/* With the coordinate as the i-th. */
static bool try_coordinate(Vary *v, const Stmt *copy, int i, const char *dim, Expr *value)
{
    Stmt *changed = suggest_like(v->s, copy);

    changed->coords = arena_array(v->s->arena, Coord, copy->n_coords + 1);
    for (int k = 0; k < copy->n_coords; k++)
        changed->coords[k < i ? k : k + 1] = copy->coords[k];
    changed->coords[i] = (Coord){.name = dim, .value = value};
    changed->n_coords = copy->n_coords + 1;
    return suggest_stmt(v->s, copy, changed, "a coordinate for this dimension as well");
}

/* What a dimension is called, one without a name by its number unless the tile has it whole; NULL: it is not. */
static const char *open_dimension(const Vary *v, const Stmt *copy, const Stmt *tensor, int d)
{
    const Expr *size = tensor->shape[d];
    int at = d - (tensor->n_shape - copy->n_shape);
    bool whole = copy->has_shape && at >= 0 && at < copy->n_shape && expr_equal(copy->shape[at], size);

    if (size->kind == EXPR_INT)
        return whole || expr_is_one(size) ? NULL : suggest_expr(v->s, size);
    return size->kind == EXPR_NAME ? size->name : NULL;
}

/* Of a dimension that is named, in the order of the tensor's. */
static bool try_named(Vary *v, const Stmt *copy, const Stmt *tensor)
{
    int at = 0;

    for (int d = 0; d < tensor->n_shape; d++) {
        const char *dim = open_dimension(v, copy, tensor, d);

        if (dim && stmt_coord(copy, dim)) {
            at = at < copy->n_coords ? at + 1 : at;
            continue;
        }
        for (int k = v->counters.len - 1; dim && k >= 0; k--)
            if (try_coordinate(v, copy, at, dim, expr_name(v->s->arena, v->counters.data[k])))
                return true;
    }
    return false;
}

/* Of a list of values alone: they are those of the first dimensions, not of the tile's. */
static bool try_first(Vary *v, const Stmt *copy, const Stmt *tensor)
{
    Stmt *changed = suggest_like(v->s, copy);

    if (copy->n_coords >= tensor->n_shape)
        return false;
    changed->coords = arena_array(v->s->arena, Coord, tensor->n_shape + 1);
    for (int d = 0; d < tensor->n_shape; d++)
        changed->coords[d] = d < copy->n_coords ? copy->coords[d] : (Coord){.value = expr_int(v->s->arena, 0)};
    changed->n_coords = tensor->n_shape;
    return suggest_stmt(v->s, copy, changed, "of the first dimensions");
}

/* Of a list of values alone, at any place. */
static bool try_placed(Vary *v, const Stmt *copy, const Stmt *tensor)
{
    for (int at = copy->n_coords; copy->n_coords < tensor->n_shape && at >= 0; at--) {
        for (int k = v->counters.len - 1; k >= 0; k--)
            if (try_coordinate(v, copy, at, NULL, expr_name(v->s->arena, v->counters.data[k])))
                return true;
        if (try_coordinate(v, copy, at, NULL, expr_int(v->s->arena, 0)))
            return true;
    }
    return try_first(v, copy, tensor);
}

/* `heads` of `kv_heads`. */
static const char *last_word(const char *dim)
{
    const char *end = strrchr(dim, '_');

    return end ? end + 1 : dim;
}

/* The coordinate of the grid whose dimension is shared by consecutive ones, as of query heads by heads of keys. */
static const char *group_of(Vary *v, Cuts *cuts, const char *dim)
{
    for (int i = 0; i < cuts->list.len; i++) {
        const Cut *cut = &cuts->list.data[i];
        bool one = !cut->size || strcmp(cut->size, "1") == 0;

        if (one && cut->coord && strcmp(cut->dim, dim) != 0 && strcmp(last_word(cut->dim), last_word(dim)) == 0)
            return arena_printf(v->s->arena, "%s div (%s div %s)", cut->coord, cut->dim, dim);
    }
    return NULL;
}

/* A Copy that says none at all: all that the grid and the loops have. */
static bool try_whole(Vary *v, const Stmt *copy, const Stmt *tensor)
{
    Suggester *s = v->s;
    Cuts cuts = cuts_of(s);
    Stmt *changed = copy->n_coords ? NULL : suggest_like(s, copy);

    if (!changed)
        return false;
    changed->coords = arena_array(s->arena, Coord, tensor->n_shape + 1);
    for (int d = 0; d < tensor->n_shape; d++) {
        const char *dim = tensor->shape[d]->kind == EXPR_NAME ? tensor->shape[d]->name : NULL;
        const Cut *cut = dim ? cut_of(&cuts, dim) : NULL;
        bool whole = !cut || (cut->size && strcmp(cut->size, dim) == 0);
        const char *coord = whole ? NULL : cut->coord ? cut->coord : group_of(v, &cuts, dim);

        if (coord)
            changed->coords[changed->n_coords++] = (Coord){.name = dim, .value = expr_name(s->arena, coord)};
    }
    return changed->n_coords && suggest_stmt(s, copy, changed, "as the grid and the loops count");
}

static bool try_copy(Vary *v, const Stmt *copy)
{
    const Stmt *tensor = copy->kind == STMT_COPY && !copy->listed && copy_tensor(copy) ? unit_tensor(v->kernel, copy_tensor(copy)) : NULL;
    bool named = true, placed = copy->n_coords > 0;

    for (int i = 0; i < copy->n_coords; i++) {
        named &= copy->coords[i].name != NULL;
        placed &= copy->coords[i].name == NULL;
    }
    return tensor && (try_whole(v, copy, tensor) || (named && try_named(v, copy, tensor)) || (placed && try_placed(v, copy, tensor)));
}

static bool try_copies(Vary *v)
{
    for (int i = 0; block_find(&v->kernel->body, STMT_ALLOCATE, NULL) && i < v->all.len; i++) /* a sketch has none to say */
        if (try_copy(v, v->all.data[i]))
            return true;
    return false;
}

/* ---- entry --------------------------------------------------------------------------------------------------- */

/* Of some Copy, of a Kernel that gives something else than the Operator. */
bool propose_lacking_coordinates(Suggester *s)
{
    return vary_each(s, try_copies);
}

/* A counter for a coordinate that is another; a loop round the Copy from the first turn on. */
static bool try_counted(Vary *v, const Stmt *copy)
{
    Suggester *s = v->s;

    for (int i = 0; copy->kind == STMT_COPY && !copy->listed && i < copy->n_coords; i++)
        for (int k = v->counters.len - 1; copy->coords[i].value && k >= 0; k--)
            if (!expr_is_name(copy->coords[i].value, v->counters.data[k]) && suggest_edit(s, copy->coords[i].value->span, v->counters.data[k], "the entry of this block, or turn"))
                return true;
    for (int i = 0; i < s->depth; i++) {
        const Expr *lo = s->path[i]->kind == STMT_FOR ? s->path[i]->lo : NULL;

        if (lo && !(lo->kind == EXPR_INT && lo->i == 0) && suggest_edit(s, lo->span, "0", "from the first on"))
            return true;
    }
    return false;
}

/* Of the Copy that something is said of. */
bool propose_lacking_coordinate(Suggester *s)
{
    enum { MOST_TRIES = 40 };
    const Stmt *copy = s->agrees && s->stage == s->agrees && s->unit && s->unit->kind == UNIT_KERNEL && vary_definition(s) ? s->stmt : NULL;
    Vary v = copy ? vary_kernel(s, s->unit) : (Vary){0};
    int tries = s->tries;
    bool strict = s->strict, found;

    s->tries = MOST_TRIES;
    s->strict = true;
    found = copy && (try_copy(&v, copy) || try_counted(&v, copy));
    s->tries = tries;
    s->strict = strict;
    return found;
}
