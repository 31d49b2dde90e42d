/* position.c: conditions on an element's place.
 *
 * A condition of a Mask, a Where or a Copy is about the element at hand of a
 * tile whose rows and columns run along something: where a tile was copied from
 * says from which position on, and products, sums and exponentials of tiles
 * keep that. So a name in a condition may be
 *
 *   row(S), col(S), row, col  the element's place within the tile
 *   q_pos                     the position that `Index q_pos over q_len` declares:
 *                             that of the rows or columns along q_len
 *   N, p                      a dimension, a Param, a loop: what the kernel declares, whatever letter it is
 *   j * BN + c                any free name added to where rows or columns begin is
 *                             the place along them, whatever letter it is
 *   r, c                      else these are row and column
 */
#include "lower/state.h"

static bool runs_along(const Axis *axis, const char *dim)
{
    return axis->start && axis->dim && strcmp(axis->dim, dim) == 0;
}

/* The element's place along an axis; 0 where that has but one element. */
static const Aff *place_along(Lower *lo, const Frame *f, int axis)
{
    AffCtx *aff = lo->program->aff;
    if (f->extent[axis] == 1) return aff_const(aff, 0);
    return aff_of(aff, axis == 0 ? lo->program->row : lo->program->col);
}

static const Aff *place_call(void *user, const Expr *call, Diags *diags)
{
    (void)diags;
    Lower *lo = user;
    for (int axis = 0; axis < 2; axis++)
        if (text_equal_nocase(call->name, axis ? "col" : "row")) return place_along(lo, lo->frame, axis);
    return NULL;
}

const Aff *lo_place_along(Lower *lo, const char *dim, IndexSide side)
{
    const Frame *f = lo->frame;
    bool rows = f && dim && runs_along(&f->axis[0], dim), cols = f && dim && runs_along(&f->axis[1], dim);
    if (rows == cols && (!rows || side == INDEX_UNSAID)) return NULL;
    int axis = cols && (!rows || side == INDEX_COLS);
    return aff_add(lo->program->aff, f->axis[axis].start, place_along(lo, f, axis));
}

/* ---- Index names ---------------------------------------------------------------------- */

static const Stmt *find_index(const Lower *lo, const char *name)
{
    for (int i = 0; i < lo->indices.len; i++)
        if (strcmp(lo->indices.data[i]->name, name) == 0) return lo->indices.data[i];
    return NULL;
}

static const Aff *index_position(Lower *lo, const Expr *name, const Stmt *index, Diags *diags)
{
    AffCtx *aff = lo->program->aff;
    const Aff *at = lo_place_along(lo, index->over, index_side(&lo->unit->body, index->name, index->over));
    if (!at && !diags) return NULL;
    if (!at) {
        const Frame *f = lo->frame;
        bool both = runs_along(&f->axis[0], index->over) && runs_along(&f->axis[1], index->over);
        lo_fail(lo, TW0729, name->span, both ? "rows and columns of this tile both run along '%s'"
                                             : "neither rows nor columns of this tile are known to run along '%s'",
                index->over);
        return NULL;
    }
    const Aff *from = index->value ? eval_aff(&lo->env, index->value, diags) : aff_const(aff, 0);
    if (!from && diags) lo->failed = true;
    return from ? aff_add(aff, from, at) : NULL;
}

/* ---- free names -------------------------------------------------------------------------- */

/* Which axes begin at e: bit 0 rows, bit 1 columns. */
static unsigned axes_beginning_at(Lower *lo, const Expr *e)
{
    unsigned axes = 0;
    const Expr *condition = lo->condition;
    lo->condition = NULL; /* of `a + b` neither tells what the other is */
    const Aff *start = eval_aff(&lo->env, e, NULL);
    lo->condition = condition;
    for (int k = 0; start && k < 2; k++)
        if (lo->frame->extent[k] > 1 && lo->frame->axis[k].start == start) axes |= 1u << k;
    return axes;
}

/* Looks for `start + name`. */
static unsigned axes_by_start(Lower *lo, const Expr *e, const char *name)
{
    if (!e || !expr_mentions(e, name)) return 0;
    if (e->kind == EXPR_BINARY && e->op == EO_ADD) {
        if (expr_is_name(e->b, name)) return axes_beginning_at(lo, e->a);
        if (expr_is_name(e->a, name)) return axes_beginning_at(lo, e->b);
    }
    unsigned axes = axes_by_start(lo, e->a, name) | axes_by_start(lo, e->b, name);
    for (int i = 0; i < e->n_args; i++) axes |= axes_by_start(lo, e->args[i], name);
    return axes;
}

/* -1: it says neither */
static int axis_by_letter(const char *name)
{
    static const char *const NAMES[2][2] = {{"row", "r"}, {"col", "c"}};
    for (int axis = 0; axis < 2; axis++)
        for (int k = 0; k < 2; k++)
            if (text_equal_nocase(name, NAMES[axis][k])) return axis;
    return -1;
}

static int axis_of(Lower *lo, const char *name)
{
    const Frame *f = lo->frame;
    unsigned axes = axes_by_start(lo, lo->condition, name);
    if (axes == 1 || axes == 2) return (int)axes - 1;
    int axis = axis_by_letter(name);
    if (axis >= 0) return axis;
    if (strlen(name) != 1) return -1; /* misspelt, rather */
    return f->extent[0] == 1 ? 1 : f->extent[1] == 1 ? 0 : -1;
}

const Aff *lo_free_name(Lower *lo, const Expr *e, Diags *diags)
{
    const Stmt *index = find_index(lo, e->name);
    if (!lo->frame) return NULL;
    if (index) return index_position(lo, e, index, diags);
    int axis = axis_of(lo, e->name);
    if (axis >= 0) return place_along(lo, lo->frame, axis);
    if (strlen(e->name) != 1 || !diags) return NULL;
    lo_fail(lo, TW0729, e->span, "'%s' may be the row or the column of the element", e->name);
    return NULL;
}

void lo_enter_frame(Lower *lo, const Frame *frame, const Expr *condition)
{
    lo->env.call = place_call;
    lo->frame = frame;
    lo->condition = condition;
}

void lo_leave_frame(Lower *lo)
{
    lo->frame = NULL;
    lo->env.call = NULL;
}

Frame lo_frame_of(Lower *lo, const TileValue *tile)
{
    const Lineage *l = lo_lineage(lo, tile);
    return (Frame){.axis = {l->axis[0], l->axis[1]}, .extent = {tile->type.rows, tile->type.cols}};
}

const Aff *lo_condition(Lower *lo, const Expr *e, Axis rows, Axis cols, int n_rows, int n_cols)
{
    Frame f = {.axis = {rows, cols}, .extent = {n_rows, n_cols}};
    lo_enter_frame(lo, &f, e);
    const Aff *cond = eval_aff(&lo->env, e, lo->diags);
    lo_leave_frame(lo);
    if (!cond) lo->failed = true;
    return cond;
}
