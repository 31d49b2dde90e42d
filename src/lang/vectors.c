/* vectors.c: rows and columns of tensors that have one dimension less than their tiles.
 *
 *   Input bias (N); Allocate bias in register (1, BN)
 *   Copy bias (1, BN) in coordinate [N = n] ...     as Copy bias (BN): what is allocated says how it lies
 *   Copy bias in coordinate [N = n] ...             likewise
 */
#include "lang/lang.h"

static bool is_one(const Expr *e)
{
    return e->kind == EXPR_INT && e->i == 1;
}

static const Stmt *allocated(const Unit *unit, const char *name, Space space)
{
    for (int i = 0; name && i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        if (s->kind == STMT_ALLOCATE && s->space == space && s->name && strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

/* Which of a shape's two sizes is the vector's, as its tile lies; -1: it is none. */
static int side_of(Expr *const *shape, int n, const Stmt *tile)
{
    bool tall = n == 2 && is_one(shape[1]), wide = n == 2 && is_one(shape[0]);
    int at = wide ? 1 : 0;
    bool lies = tile && (tile->n_shape == 1 || (tile->n_shape == 2 && is_one(tile->shape[!at])));
    return (tall || wide) && lies ? at : -1;
}

static void drop_one(Arena *arena, const Unit *unit, Stmt *copy)
{
    bool loads = copy->space == SPACE_GLOBAL, stores = copy->to_space == SPACE_GLOBAL;
    const Stmt *tensor = loads || stores ? unit_tensor(unit, copy_tensor(copy)) : NULL;
    const Stmt *tile = loads ? allocated(unit, copy_tile(copy), copy->to_space) : stores ? allocated(unit, copy_tile(copy), copy->space) : NULL;
    Expr *const *shape = copy->shape;
    int n = copy->n_shape, at;

    if (!tensor || tensor->n_shape != 1 || !tile)
        return;
    if (!copy->has_shape && tile->n_shape == 2) { /* that of the tile */
        shape = tile->shape;
        n = 2;
    }
    at = side_of(shape, n, tile);
    if (at < 0)
        return;
    copy->shape = arena_array(arena, Expr *, 1);
    copy->shape[0] = shape[at];
    copy->n_shape = 1;
    copy->has_shape = true;
}

static void drop_ones(Arena *arena, const Unit *unit, Block *block)
{
    for (int i = 0; i < block->len; i++) {
        if (block->data[i]->kind == STMT_COPY)
            drop_one(arena, unit, block->data[i]);
        drop_ones(arena, unit, &block->data[i]->body);
        drop_ones(arena, unit, &block->data[i]->orelse);
    }
}

void unit_drop_ones(Arena *arena, Unit *unit)
{
    drop_ones(arena, unit, &unit->body);
}
