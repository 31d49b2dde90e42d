/* numbers.c: what a number that is a dimension is called, where code says it by a name.
 *
 *   Input W (3, C, F)                               Input W (taps, C, F)
 *   taps = 3                                  ->    taps = 3
 *   Copy W (C, F) in coordinate [taps = t]          ...
 *
 * A coordinate of another name than the tensor's dimensions have counts along the tile's own, as `[L = i]` does. One whose
 * name is assigned the number that a single leading dimension is means that one.
 *
 *   Copy W (C, F) in coordinate [3 = t]        ->   Copy W (C, F) in coordinate [t, 0, 0]
 *
 * So does one that is called by the number itself, of whichever dimension: coordinates in order have no names.
 */
#include "lang/lang.h"

enum { MOST_DEPTH = 64 };

static bool is_dimension(const Stmt *tensor, const char *name)
{
    for (int d = 0; d < tensor->n_shape; d++)
        if (expr_mentions(tensor->shape[d], name))
            return true;
    return false;
}

/* The only dimension of that size among those that tiles of two have one entry of; -1: none, or several. */
static int leading_of_size(const Stmt *tensor, int64_t size)
{
    int found = -1;

    for (int d = 0; d < tensor->n_shape - 2; d++)
        if (tensor->shape[d]->kind == EXPR_INT && tensor->shape[d]->i == size) {
            if (found >= 0)
                return -1;
            found = d;
        }
    return found;
}

static void name_by(Arena *arena, const Unit *unit, const Stmt *tensor, const char *name)
{
    bool own = tensor->n_shape < 3 || is_dimension(tensor, name); /* as most are: the name is not looked for */
    const Stmt *assigned = own ? NULL : block_find(&unit->body, STMT_ASSIGN, name);
    int d = assigned && assigned->value && assigned->value->kind == EXPR_INT ? leading_of_size(tensor, assigned->value->i) : -1;

    if (d < 0)
        return;
    Expr *number = tensor->shape[d];
    tensor->shape[d] = expr_name(arena, name);
    tensor->shape[d]->span = number->span;
}

static bool is_number(const char *name)
{
    return *name >= '0' && *name <= '9';
}

/* The only dimension that is called, or is, this; -1: none, or several. */
static int dimension_called(Arena *arena, const Stmt *tensor, const char *name)
{
    int found = -1;

    for (int d = 0; d < tensor->n_shape; d++) {
        const Expr *size = tensor->shape[d];

        if (expr_is_name(size, name) || (size->kind == EXPR_INT && strcmp(arena_printf(arena, "%lld", (long long)size->i), name) == 0)) {
            if (found >= 0)
                return -1;
            found = d;
        }
    }
    return found;
}

/* The first dimension that has no coordinate yet; -1: all have. */
static int free_dimension(const Stmt *tensor, Expr *const *values)
{
    int d = 0;

    while (d < tensor->n_shape && values[d])
        d++;
    return d < tensor->n_shape ? d : -1;
}

/* Coordinates of all dimensions, in their order, where one is called by a number. */
static void order_by_numbers(Arena *arena, const Stmt *tensor, Stmt *copy)
{
    Expr **values = arena_array(arena, Expr *, tensor->n_shape + 1);
    Coord *coords = arena_array(arena, Coord, tensor->n_shape + 1);
    bool numbers = false, all = true;

    for (int i = 0; i < copy->n_coords; i++)
        numbers |= copy->coords[i].name && is_number(copy->coords[i].name);
    for (int pass = 0; numbers && pass < 2; pass++) /* those with names first */
        for (int i = 0; i < copy->n_coords && all; i++) {
            const char *name = copy->coords[i].name;
            int d = name ? dimension_called(arena, tensor, name) : free_dimension(tensor, values);

            if ((name == NULL) == (pass == 1) && (all = d >= 0 && !values[d]))
                values[d] = copy->coords[i].value;
        }
    if (!numbers || !all)
        return;
    for (int d = 0; d < tensor->n_shape; d++)
        coords[d] = (Coord){.span = values[d] ? values[d]->span : copy->span, .value = values[d] ? values[d] : expr_int(arena, 0)};
    copy->coords = coords;
    copy->n_coords = tensor->n_shape;
}

static void name_in(Arena *arena, const Unit *unit, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        Stmt *s = block->data[i];
        const Stmt *tensor = s->kind == STMT_COPY && copy_tensor(s) ? unit_tensor(unit, copy_tensor(s)) : NULL;

        for (int k = 0; tensor && k < s->n_coords; k++)
            if (s->coords[k].name)
                name_by(arena, unit, tensor, s->coords[k].name);
        if (tensor)
            order_by_numbers(arena, tensor, s);
        name_in(arena, unit, &s->body, depth + 1);
        name_in(arena, unit, &s->orelse, depth + 1);
    }
}

void unit_name_numbers(Arena *arena, Unit *unit)
{
    name_in(arena, unit, &unit->body, 0);
}
