/* shape.c: sizes that must agree: broadcasting, results, vectors of state. */
#include "check/walk.h"

bool extent_same(Extent a, Extent b)
{
    return a.size && a.size == b.size;
}

bool extent_is_one(Extent e)
{
    int64_t v;
    return e.size && aff_is_const(e.size, &v) && v == 1;
}

/* In loose units two names may stand for one size; numbers never do. */
bool extent_clashes(Checker *c, Extent a, Extent b)
{
    if (!a.size || !b.size || a.size == b.size)
        return false;
    return !c->loose || aff_never(c->aff, aff_eq(c->aff, a.size, b.size));
}

/* A tile written with one size fits as a column or as a row. */
static bool vector_fits(Checker *c, const Tile *vector, const Tile *t)
{
    bool column = extent_is_one(t->cols) && !extent_clashes(c, vector->rows, t->rows);
    bool row = extent_is_one(t->rows) && !extent_clashes(c, vector->rows, t->cols);
    return column || row;
}

bool shape_agrees(Checker *c, const Tile *a, const Tile *b)
{
    if (a->unknown || b->unknown)
        return true;
    if (a->vector && b->vector)
        return !extent_clashes(c, a->rows, b->rows);
    if (a->vector || b->vector)
        return a->vector ? vector_fits(c, a, b) : vector_fits(c, b, a);
    return !extent_clashes(c, a->rows, b->rows) && !extent_clashes(c, a->cols, b->cols);
}

bool shape_fits(Checker *c, const Operand *dest, const Tile *result)
{
    if (shape_agrees(c, &dest->tile, result))
        return true;
    Diag *d = diag_add(c->diags, TW0323, dest->expr->span, "the result has shape %s, '%s' has %s",
                       tile_text(c, result), dest->tensor ? dest->tensor->name : "it",
                       tile_text(c, &dest->tile));
    const Stmt *decl = dest->place->decl;
    if (decl && decl->n_shape == 2 && !dest->part && result->rows.size && result->cols.size)
        diag_fix(c->diags, d, (Span){decl->shape[0]->span.start, decl->shape[1]->span.end},
                 arena_printf(
                     c->arena, "%s, %s",
                     result->rows.text ? result->rows.text : aff_text(c->arena, result->rows.size),
                     result->cols.text ? result->cols.text : aff_text(c->arena, result->cols.size)),
                 "allocate it in the result's shape");
    if (!dest->part && dest->place->rank == 2) /* either may be the wrong one: nothing follows from it */
        dest->place->dims[0] = dest->place->dims[1] = (Extent){0};
    return false;
}

void shape_learn(Operand *o, const Tile *tile)
{
    Place *p = o->place;
    if (!p || o->part || p->rank < 2 || tile->vector)
        return;
    Extent *last = &p->dims[p->rank - 2]; /* before them: stages */
    Extent *rows = &last[o->transposed ? 1 : 0], *cols = &last[o->transposed ? 0 : 1];
    if (p->given && !rows->size && !tile->unknown)
        *rows = tile->rows;
    if (p->given && !cols->size && !tile->unknown)
        *cols = tile->cols;
    rows->axis = tile->rows.axis ? tile->rows.axis : rows->axis;
    cols->axis = tile->cols.axis ? tile->cols.axis : cols->axis;
    rows->first = p->rank == 2 ? tile->rows.first : NULL; /* each stage has its own */
    cols->first = p->rank == 2 ? tile->cols.first : NULL;
}

/* ---- broadcasting ---------------------------------------------------------------------- */

static bool join_extent(Checker *c, Extent *result, Extent e)
{
    if (extent_is_one(e))
        return true;
    if (extent_is_one(*result) || !result->size) {
        *result = e;
        return true;
    }
    if (!result->axis)
        result->axis = e.axis;
    if (!result->first)
        result->first = e.first;
    return !extent_clashes(c, *result, e);
}

static bool join(Checker *c, Tile *result, const Operand *o)
{
    if (o->tile.unknown) {
        result->unknown = true;
        result->rows.axis = result->rows.axis ? result->rows.axis : o->tile.rows.axis;
        result->cols.axis = result->cols.axis ? result->cols.axis : o->tile.cols.axis;
        result->rows.first = result->rows.first ? result->rows.first : o->tile.rows.first;
        result->cols.first = result->cols.first ? result->cols.first : o->tile.cols.first;
        return true;
    }
    if (!o->tile.vector) {
        bool rows = join_extent(c, &result->rows, o->tile.rows);
        return join_extent(c, &result->cols, o->tile.cols) && rows;
    }
    if (extent_is_one(result->rows) && extent_is_one(result->cols)) {
        *result = o->tile;
        return true;
    }
    return !extent_clashes(c, o->tile.rows, result->rows) ||
           (!result->vector && !extent_clashes(c, o->tile.rows, result->cols));
}

bool shape_broadcast(Checker *c, const Operand *operands, int n, Tile *result)
{
    *result = (Tile){.rows = extent_one(c), .cols = extent_one(c)};
    for (int vectors = 0; vectors <= 1;
         vectors++) /* matrices first: they say which way vectors lie */
        for (int i = 0; i < n; i++) {
            const Operand *o = &operands[i];
            if (o->is_number || o->tile.vector != (bool)vectors || join(c, result, o))
                continue;
            diag_add(c->diags, TW0322, o->expr->span, "shape %s does not fit the others' %s",
                     tile_text(c, &o->tile), tile_text(c, result));
            return false;
        }
    if (result->unknown)
        result->vector = false;
    return true;
}

/* A column whose elements go along the dimension of another's columns, or a row of its rows. */
static bool lies_across(const Checker *c, const Tile *vector, const Tile *t)
{
    bool column = extent_is_one(vector->cols) && !extent_is_one(vector->rows);
    bool row = extent_is_one(vector->rows) && !extent_is_one(vector->cols);
    Extent own = column ? vector->rows : vector->cols;
    Extent beside = column ? t->rows : t->cols, across = column ? t->cols : t->rows;
    if ((!column && !row) || extent_is_one(t->rows) || extent_is_one(t->cols) || !own.axis || !across.axis)
        return false;
    return extent_axes_differ(c, own, beside) && !extent_axes_differ(c, own, across);
}

/* Whether the rows of one are along the dimension of the other's columns, and the other way round. */
static bool lies_turned(const Checker *c, const Tile *a, const Tile *b)
{
    bool known = a->rows.axis && a->cols.axis && b->rows.axis && b->cols.axis;
    return known && extent_axes_differ(c, a->rows, b->rows) && extent_axes_differ(c, a->cols, b->cols) &&
           !extent_axes_differ(c, a->rows, b->cols) && !extent_axes_differ(c, a->cols, b->rows);
}

static bool matrices_cross(Checker *c, const Operand *operands, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i && !operands[i].is_number && (!c->loose || c->sketch); k++) {
            const Operand *a = &operands[k], *b = &operands[i];
            if (a->is_number || a->tile.vector || b->tile.vector || !lies_turned(c, &a->tile, &b->tile))
                continue;
            Diag *d = diag_add(c->diags, TW0322, b->expr->span, "the rows of '%s' run along %s as the columns of '%s', and its columns along %s as the rows",
                               operand_name(b), b->tile.rows.axis, operand_name(a), b->tile.cols.axis);
            diag_note(c->diags, d, "a Define reads elements in any order: `Compute Define X (rows, cols) as B[cols, rows]`; an operand of a product may be `.T`");
            return true;
        }
    return false;
}

bool shape_crosses(Checker *c, const Operand *operands, int n)
{
    if (matrices_cross(c, operands, n))
        return true;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n && !operands[i].is_number && !c->loose; k++) {
            const Operand *v = &operands[i], *t = &operands[k];
            if (t->is_number || v->tile.vector || t->tile.vector || !lies_across(c, &v->tile, &t->tile))
                continue;
            bool column = extent_is_one(v->tile.cols);
            Diag *d = diag_add(c->diags, TW0322, v->expr->span, "'%s' has a number for each %s, but runs along %s as the %s of '%s'",
                               operand_name(v), column ? "row" : "column", column ? v->tile.rows.axis : v->tile.cols.axis,
                               column ? "columns" : "rows", operand_name(t));
            diag_note(c->diags, d, "`(1, N)` is a row, with a number for each column; `(N, 1)` a column, with one for each row");
            return true;
        }
    return false;
}

/* ---- columns of state ---------------------------------------------------------------------- */

bool shape_column(Checker *c, const Operand *state, const Operand *of)
{
    Tile column = {.rows = of->tile.rows, .cols = extent_one(c)};
    if (of->tile.unknown || shape_agrees(c, &state->tile, &column))
        return true;
    diag_add(c->diags, TW0322, state->expr->span,
             "the state of the rows of %s must have shape %s, not %s",
             of->tensor ? of->tensor->name : "it", tile_text(c, &column),
             tile_text(c, &state->tile));
    return false;
}
