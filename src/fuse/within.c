/* within.c: parts of tiles that shared memory holds whole.
 *
 *   Copy KV from global to shared
 *   Copy KV (len, width) as V in coordinate [cols = 0] from global to shared  ->
 *   Compute GEMM Q, KV.T and get S                                                Copy KV from global to shared
 *   ...                                                                           Compute GEMM Q, KV.T and get S
 *   Compute GEMM S, V and accumulate O                                            ...
 *                                                                                 Compute GEMM S, KV[:, 0:width] and accumulate O
 *
 * What a definition sees as two tensors (view.c), as keys and the values among their columns, is copied once then, and takes
 * room once. Warpgroups take no parts of tiles: where they multiply, who asks keeps both copies.
 */
#include "fuse/flow.h"

typedef struct Within {
    Arena *arena;
    const Unit *unit;
    const Stmt *part; /* at hand: the Copy that goes */
    Expr *slice;      /* what takes its place */
} Within;

static bool is_brought(const Stmt *s)
{
    return s->kind == STMT_COPY && s->space == SPACE_GLOBAL && s->to_space == SPACE_SHARED && !s->where && !s->stage && !s->target;
}

static int count_copies(const Block *block, const char *tile)
{
    int n = 0;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        n += (s->kind == STMT_COPY && strcmp(copy_tile(s), tile) == 0) + count_copies(&s->body, tile) + count_copies(&s->orelse, tile);
    }
    return n;
}

static bool goes_over(const Block *block, const char *dim)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_GRID && k < s->n_coords; k++)
            if (strcmp(s->coords[k].name, dim) == 0)
                return true;
        if ((s->kind == STMT_FOR && s->over && strcmp(s->over, dim) == 0) || goes_over(&s->body, dim) || goes_over(&s->orelse, dim))
            return true;
    }
    return false;
}

/* Whether products alone take the tile, from the block's statement `from` on. */
static bool only_multiplied(const Block *block, int from, const char *tile)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        Block alone = {.data = (Stmt **)&s, .len = 1};
        bool nested = s->body.len + s->orelse.len > 0;

        if (!block_mentions(&alone, tile))
            continue;
        if (i < from || (!nested && !sketch_is_product(s)) || (nested && expr_mentions(s->where, tile)) ||
            !only_multiplied(&s->body, 0, tile) || !only_multiplied(&s->orelse, 0, tile))
            return false;
    }
    return true;
}

/* Whether one Copy has the coordinates of the other, beside which part it brings along the columns. */
static bool same_coords(const Stmt *whole, const Stmt *part, const char *cols, const Expr **which)
{
    int same = 0;

    for (int i = 0; i < part->n_coords; i++) {
        const Coord *c = &part->coords[i];

        if (!c->name)
            return false;
        if (strcmp(c->name, cols) == 0)
            *which = c->value;
        for (int k = 0; k < whole->n_coords; k++)
            same += whole->coords[k].name && strcmp(whole->coords[k].name, c->name) == 0 && expr_equal(whole->coords[k].value, c->value);
    }
    return *which && same == whole->n_coords && same == part->n_coords - 1;
}

/* The columns of the whole tile that the other Copy brings; NULL: it brings something else. */
static Expr *slice_of(const Within *w, const Stmt *whole, const Stmt *part)
{
    const Stmt *tensor = unit_tensor(w->unit, part->name);
    int n = tensor ? tensor->n_shape : 0;
    const Expr *which = NULL, *cols = n > 1 ? tensor->shape[n - 1] : NULL, *rows = n > 1 ? tensor->shape[n - 2] : NULL;
    const Stmt *width = part->n_shape == 2 && part->shape[1]->kind == EXPR_NAME ? block_find(&w->unit->body, STMT_ASSIGN, part->shape[1]->name) : NULL;

    if (!cols || cols->kind != EXPR_NAME || !width || width->value->kind != EXPR_INT || strcmp(whole->name, part->name) != 0 ||
        !same_coords(whole, part, cols->name, &which) || which->kind != EXPR_INT || goes_over(&w->unit->body, cols->name))
        return NULL;
    if (whole->n_shape == 2)
        rows = expr_equal(whole->shape[1], cols) ? whole->shape[0] : NULL;
    if (!rows || !expr_equal(rows, part->shape[0]))
        return NULL;
    Expr **sides = arena_array(w->arena, Expr *, 2), *size = expr_name(w->arena, width->name), *lo = expr_int(w->arena, 0), *hi = size;
    if (which->i > 0) {
        lo = which->i == 1 ? size : expr_binary(w->arena, EO_MUL, expr_int(w->arena, which->i), size);
        hi = expr_binary(w->arena, EO_MUL, expr_int(w->arena, which->i + 1), size);
    }
    sides[0] = expr_range(w->arena, NULL, NULL);
    sides[1] = expr_range(w->arena, lo, hi);
    return expr_index(w->arena, expr_name(w->arena, copy_tile(whole)), sides, 2);
}

static bool find_in(Within *w, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *part = block->data[i];

        for (int k = 0; is_brought(part) && k < block->len; k++) {
            const Stmt *whole = block->data[k];
            Expr *slice = whole != part && is_brought(whole) ? slice_of(w, whole, part) : NULL;

            if (!slice || count_copies(&w->unit->body, copy_tile(part)) > 1 || count_copies(&w->unit->body, copy_tile(whole)) > 1 ||
                !only_multiplied(block, k, copy_tile(part)) || block_mentions(&w->unit->body, copy_tile(part)) != block_mentions(block, copy_tile(part)))
                continue;
            w->part = part;
            w->slice = slice;
            return true;
        }
        if (find_in(w, &part->body) || find_in(w, &part->orelse))
            return true;
    }
    return false;
}

static Expr *sliced(void *user, const char *name)
{
    const Within *w = user;

    return strcmp(name, copy_tile(w->part)) == 0 ? w->slice : NULL;
}

static Block without_part(Within *w, const Block *block)
{
    Block out = {.comment = block->comment};

    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i], *copy;

        if (s == w->part)
            continue;
        copy = sketch_is_product(s) ? stmt_subst(w->arena, s, sliced, w) : arena_new_of(w->arena, Stmt);
        if (!sketch_is_product(s))
            *copy = *s;
        copy->body = without_part(w, &s->body);
        copy->orelse = without_part(w, &s->orelse);
        vec_push(w->arena, &out, copy);
    }
    return out;
}

/* NULL: it copies no part of what it copies whole. */
static Unit *take_within(Arena *arena, const Def *def, const Unit *unit)
{
    Within w = {.arena = arena, .unit = unit};
    Unit *with = NULL;

    (void)def;
    while (find_in(&w, &w.unit->body)) {
        with = arena_new_of(arena, Unit);
        *with = *w.unit;
        with->body = without_part(&w, &w.unit->body);
        w.unit = with;
    }
    return with;
}

Program *fuse_within(Arena *arena, const Def *def, const Program *sketch)
{
    return sketch_rewritten(arena, def, sketch, take_within);
}
