/* vectors.c: rows and columns of tensors that have one dimension less than their tiles.
 *
 *   Input bias (N); Allocate bias in register (1, BN)
 *   Copy bias (1, BN) in coordinate [N = n] ...     as Copy bias (BN): what is allocated says how it lies
 *   Copy bias in coordinate [N = n] ...             likewise
 *
 * and a column along the last dimension of a tensor of which each block has one entry:
 *
 *   Input LSE (heads, len); Grid m = ceil(len / BM), h = heads; Allocate LSE in register (BM, 1)
 *   Copy LSE (BM, 1) in coordinate [heads = h, len = m] ...     as Copy LSE (BM): tiles of BM heads would end
 *                                                               before h does, or tiles along len are what m counts
 *
 * and a row of what the tensor has as a column, of which a tile that is as wide would lie outside:
 *
 *   Input LSE (heads, len, 1); Allocate LSE in register (1, BN)
 *   Copy LSE (1, BN) in coordinate [heads = h, len = j] ...     as Copy LSE (BN, 1)
 *
 * On the contrary a column of which each element lies where the Copy says is one of rows, for all dimensions count then:
 *
 *   Copy LSE (BM) in coordinate [heads = h * G + row(LSE)] ...  as Copy LSE (BM, 1)
 */
#include "lang/lang.h"

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
    bool tall = n == 2 && expr_is_one(shape[1]), wide = n == 2 && expr_is_one(shape[0]);
    int at = wide ? 1 : 0;
    bool lies = tile && (tile->n_shape == 1 || (tile->n_shape == 2 && expr_is_one(tile->shape[!at])));
    return (tall || wide) && lies ? at : -1;
}

/* ---- a column of one entry ------------------------------------------------------------------- */

static const char *block_name(const Unit *unit, const Stmt *grid, const Expr *e)
{
    static const char *const usual[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

    for (int i = 0; e && e->kind == EXPR_NAME && i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_ASSIGN && unit->body.data[i]->name && strcmp(unit->body.data[i]->name, e->name) == 0) {
            e = unit->body.data[i]->value; /* h = blockIdx.y */
            break;
        }
    for (int i = 0; e && e->kind == EXPR_NAME && i < grid->n_coords && i < (int)TW_COUNT(usual); i++)
        if (strcmp(e->name, usual[i]) == 0)
            return grid->coords[i].name;
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

/* What a Copy says of a dimension, by its name, or by its place where all are said; NULL: nothing. */
static const Expr *coordinate(const Stmt *copy, const Stmt *tensor, int d)
{
    for (int i = 0; i < copy->n_coords; i++) {
        const Coord *c = &copy->coords[i];

        if (c->name ? expr_is_name(tensor->shape[d], c->name) : copy->n_coords == tensor->n_shape && i == d)
            return c->value;
    }
    return NULL;
}

/* Whether each block has one entry of the dimension, which the grid counts. */
static bool is_entry(const Unit *unit, const Stmt *copy, const Stmt *tensor, int d)
{
    const Stmt *grid = block_find(&unit->body, STMT_GRID, NULL);
    const char *block = grid ? block_name(unit, grid, coordinate(copy, tensor, d)) : NULL;

    const Coord *axis = block ? stmt_coord(grid, block) : NULL;

    return axis && axis->value && expr_equal(axis->value, tensor->shape[d]);
}

/* How far a counter goes, of the grid or of a loop that begins with 0; NULL: not known. */
static const Expr *extent_of(const Block *block, const char *counter)
{
    const Expr *found = NULL;

    for (int i = 0; i < block->len && !found; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_GRID && k < s->n_coords; k++)
            if (s->coords[k].name && strcmp(s->coords[k].name, counter) == 0)
                return s->coords[k].value;
        if (s->kind == STMT_FOR && s->name && strcmp(s->name, counter) == 0)
            return s->hi;
        found = extent_of(&s->body, counter);
        found = found ? found : extent_of(&s->orelse, counter);
    }
    return found;
}

/* Whether blocks, or turns, go over the dimension by tiles of the size: the coordinate goes up to ceil(len / BM). */
static bool goes_by(const Unit *unit, const Stmt *copy, const Stmt *tensor, int d, const Expr *size)
{
    const Expr *at = coordinate(copy, tensor, d), *extent = at && at->kind == EXPR_NAME ? extent_of(&unit->body, at->name) : NULL;
    const Expr *tiles = extent && extent->kind == EXPR_CALL && extent->n_args == 1 && strcmp(extent->name, "ceil") == 0 ? extent->args[0] : NULL;

    return tiles && tiles->kind == EXPR_BINARY && tiles->op == EO_DIV && expr_equal(tiles->a, tensor->shape[d]) && expr_equal(tiles->b, size);
}

static bool is_column_of_entry(const Unit *unit, const Stmt *copy, const Stmt *tensor, Expr *const *shape, int n)
{
    int last = tensor->n_shape - 1;

    return n == 2 && expr_is_one(shape[1]) && !expr_is_one(shape[0]) && last > 0 && !expr_is_one(tensor->shape[last]) &&
           !copy_by_rows(copy) && !allocated(unit, tensor->name, SPACE_GLOBAL) && coordinate(copy, tensor, last) &&
           (is_entry(unit, copy, tensor, last - 1) || (goes_by(unit, copy, tensor, last, shape[0]) && !goes_by(unit, copy, tensor, last - 1, shape[0])));
}

/* ---- a row of a column ------------------------------------------------------------------------ */

static bool is_row_of_column(const Stmt *copy, const Stmt *tensor, Expr *const *shape, int n, const Stmt *tile)
{
    int last = tensor->n_shape - 1;

    return n == 2 && expr_is_one(shape[0]) && !expr_is_one(shape[1]) && last > 0 && expr_is_one(tensor->shape[last]) && !expr_is_one(tensor->shape[last - 1]) &&
           !copy_by_rows(copy) && tile->n_shape == 2 && expr_is_one(tile->shape[0]);
}

/* ---- all ----------------------------------------------------------------------------------------- */

static void drop_one(Arena *arena, const Unit *unit, Stmt *copy)
{
    bool loads = copy->space == SPACE_GLOBAL, stores = copy->to_space == SPACE_GLOBAL;
    const Stmt *tensor = loads || stores ? unit_tensor(unit, copy_tensor(copy)) : NULL;
    const Stmt *tile = loads ? allocated(unit, copy_tile(copy), copy->to_space) : stores ? allocated(unit, copy_tile(copy), copy->space) : NULL;
    Expr *const *shape = copy->shape;
    int n = copy->n_shape, at;

    if (!tensor || !tile)
        return;
    if (!copy->has_shape && tile->n_shape == 2) { /* that of the tile */
        shape = tile->shape;
        n = 2;
    }
    if (is_row_of_column(copy, tensor, shape, n, tile)) {
        Expr *const turned[] = {shape[1], shape[0]};
        copy->shape = arena_array(arena, Expr *, 2);
        memcpy(copy->shape, turned, sizeof turned);
        copy->n_shape = 2;
        copy->has_shape = true;
        return;
    }
    if (n == 1 && copy_by_rows(copy) && tile->n_shape == 2 && expr_is_one(tile->shape[1])) {
        copy->shape = arena_array(arena, Expr *, 2);
        copy->shape[0] = shape[0];
        copy->shape[1] = expr_int(arena, 1);
        copy->n_shape = 2;
        return;
    }
    at = tensor->n_shape == 1 || is_column_of_entry(unit, copy, tensor, shape, n) ? side_of(shape, n, tile) : -1;
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
