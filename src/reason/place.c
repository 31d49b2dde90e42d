/* place.c: coordinates of copies, and positions within tensors.
 *
 *   tensor K (batch, kv_heads, kv_len, HeadDim), blocks over q_len, q_heads, batch
 *
 *   Copy K (BN, HeadDim) in coordinate [batch = b, kv_heads = h div (q_heads div kv_heads), kv_len = j]
 *
 *   a position along kv_len in a tile S whose columns follow it:  j * BN + col(S)
 *
 * Coordinates count tiles along the dimensions that the shape covers, elements
 * along the leading ones. A leading dimension follows the block's coordinate of
 * the same name, else of the same place from the right.
 */
#include "reason/plan.h"

/* ---- small expressions ------------------------------------------------------------- */

static Expr *name_of(Plan *plan, const char *name)
{
    return expr_name(plan->arena, name);
}

static Expr *binary(Plan *plan, ExprOp op, Expr *a, Expr *b)
{
    return expr_binary(plan->arena, op, a, b);
}

static Expr *place_within(Plan *plan, const char *axis, const Tile *tile)
{
    Expr **args = arena_array(plan->arena, Expr *, 1);

    args[0] = name_of(plan, tile->name);
    return expr_call(plan->arena, axis, args, 1);
}

/* ---- shapes ---------------------------------------------------------------------------- */

static bool is_tiled(const Extent *extent)
{
    return extent->kind == EXT_ROWS || extent->kind == EXT_COLS || extent->kind == EXT_LOOP;
}

Expr *plan_shape(Plan *plan, const Choice *choice, const Extent *extent)
{
    if (is_tiled(extent))
        return name_of(plan, extent->tile);
    if (extent->kind == EXT_WHOLE && extent->dim_name && choice->size[extent->id] == extent->known)
        return name_of(plan, extent->dim_name);
    return expr_int(plan->arena, choice->size[extent->id]);
}

bool plan_ragged(const Choice *choice, const Extent *extent)
{
    if (extent->kind == EXT_ONE || extent->kind == EXT_LEAD || extent->kind == EXT_ENTRY)
        return false;
    return aff_divisor(extent->length) % choice->size[extent->id] != 0;
}

/* ---- coordinates --------------------------------------------------------------------------- */

static bool is_one(Plan *plan, const Expr *dim)
{
    const Aff *length = eval_aff(&plan->env, dim, NULL);
    int64_t one;

    return length && aff_is_const(length, &one) && one == 1;
}

/* A grid has no axis for an output's leading dimensions of size 1: how many of them stand behind a place, where it
 * has one for each other. */
static int ones_behind(Plan *plan, int back)
{
    int axes = 0, leading = 0, ones = 0, behind = 0;
    const PlanTensor *output = NULL;

    for (int i = 0; i < plan->grid.len; i++)
        axes += plan->grid.data[i]->kind == EXT_LEAD;
    for (int i = 0; i < plan->tensors.len && !output; i++)
        output = plan->tensors.data[i].is_output ? &plan->tensors.data[i] : NULL;
    for (int d = output ? output->rank - 1 : -1; d >= 0; d--) {
        if (plan_covers((Covered){output->row, output->col}, d))
            continue;
        bool one = is_one(plan, output->stmt->shape[d]);
        behind += one && leading < back;
        ones += one;
        leading++;
    }
    return axes == leading - ones ? behind : 0;
}

/* The grid's axis of entries along the dimension; alike: of how many others of its name the dimension stands in front.
 * Where there are fewer, the last of them. */
static const Extent *axis_called(const Plan *plan, const char *dim, int alike)
{
    const Extent *axis = NULL;

    for (int i = 0; i < plan->grid.len && alike >= 0; i++)
        if (plan->grid.data[i]->kind == EXT_LEAD && strcmp(plan->grid.data[i]->dim_name, dim) == 0) {
            axis = plan->grid.data[i];
            alike--;
        }
    return axis ? axis : plan_in_grid(plan, dim); /* of two with one name the one that is no tile's */
}

/* Whether loops go over the parts that blocks along the axis have: it is none of entries. */
static bool cuts_loops(const Plan *plan, const Block *block, const Extent *axis)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_FOR && plan_parts(plan, s) == axis) || cuts_loops(plan, &s->body, axis) || cuts_loops(plan, &s->orelse, axis))
            return true;
    }
    return false;
}

static bool is_of_entries(const Plan *plan, const Extent *axis)
{
    return axis->kind == EXT_LEAD && !cuts_loops(plan, &plan->unit->body, axis);
}

/* The loop over entries, or the block's axis, that a leading dimension follows;
 * back: its place from the right; alike: see axis_called. */
static const Extent *lead_axis(Plan *plan, const Expr *dim, int back, int alike)
{
    int seen = 0;

    for (int i = plan->scope.len - 1; i >= 0; i--)
        if (plan->scope.data[i]->kind == EXT_ENTRY && dim->kind == EXPR_NAME &&
            strcmp(plan->scope.data[i]->dim_name, dim->name) == 0)
            return plan->scope.data[i];
    const Extent *called = dim->kind == EXPR_NAME ? axis_called(plan, dim->name, alike) : NULL;
    if (called)
        return called;
    if (back < INT32_MAX)
        back -= ones_behind(plan, back);
    for (int i = 0; i < plan->grid.len; i++)
        if (is_of_entries(plan, plan->grid.data[i]) && seen++ == back)
            return plan->grid.data[i];
    return NULL;
}

/* Several entries of the block's dimension share one of the tensor's. */
static Expr *shared_entry(Plan *plan, const Extent *axis, const Expr *dim)
{
    Expr *group = binary(plan, EO_IDIV, expr_copy(plan->arena, axis->dim), expr_copy(plan->arena, dim));

    return binary(plan, EO_IDIV, name_of(plan, axis->var), group);
}

/* How many leading dimensions of its name stand behind one of a tensor. */
static int alike_behind(const PlanTensor *tensor, int d)
{
    const Expr *dim = tensor->stmt->shape[d];
    int alike = 0;

    for (int k = d + 1; k < tensor->rank && dim->kind == EXPR_NAME; k++)
        alike += !plan_covers((Covered){tensor->row, tensor->col}, k) && expr_is_name(tensor->stmt->shape[k], dim->name);
    return alike;
}

/* The block's place along another dimension of the tensor says nothing of this one. */
static bool is_of_another(const PlanTensor *tensor, int d, const Extent *axis)
{
    for (int k = 0; axis->dim_name && k < tensor->rank; k++)
        if (k != d && expr_is_name(tensor->stmt->shape[k], axis->dim_name) && !expr_is_name(tensor->stmt->shape[d], axis->dim_name))
            return true;
    return false;
}

/* The axis that no dimension of the tensor has its name from, as many behind the first as dimensions that no axis is called like
 * stand behind this one: heads that share keys, in whatever order the grid has them. */
static const Extent *unnamed_axis(Plan *plan, const PlanTensor *tensor, Covered sides, int d)
{
    int behind = 0, seen = 0;

    for (int k = d + 1; k < tensor->rank; k++)
        behind += !plan_covers(sides, k) && !(tensor->stmt->shape[k]->kind == EXPR_NAME && plan_in_grid(plan, tensor->stmt->shape[k]->name));
    for (int i = 0; i < plan->grid.len; i++)
        if (is_of_entries(plan, plan->grid.data[i]) && !is_of_another(tensor, d, plan->grid.data[i]) && seen++ == behind)
            return plan->grid.data[i];
    return NULL;
}

static Expr *lead_coord(Plan *plan, const Stmt *from, const PlanTensor *tensor, int d, int back)
{
    const Expr *dim = tensor->stmt->shape[d];
    const Aff *length = eval_aff(&plan->env, dim, NULL);
    const Extent *axis = lead_axis(plan, dim, back, alike_behind(tensor, d));
    int64_t one;

    if (!length || (aff_is_const(length, &one) && one == 1))
        return NULL;
    if (axis && is_of_another(tensor, d, axis))
        axis = unnamed_axis(plan, tensor, plan_sides(plan, from, tensor), d);
    if (!axis) {
        const char *which = dim->kind == EXPR_NAME ? arena_printf(plan->arena, "'%s'", dim->name) : arena_printf(plan->arena, "%d", d + 1);
        plan_fail(plan, TW0606, from->span, "nothing says which entry of %s's dimension %s a block works on: neither the grid nor a loop goes over it",
                  tensor->name, which);
        return NULL;
    }
    if (length == axis->length)
        return name_of(plan, axis->var);
    if (from->space == SPACE_REGISTER && axis->kind == EXT_LEAD && axis->dim_name) {
        plan_fail(plan, TW0606, from->span, "blocks along %s would write the same entries of %s: its dimension %s is none of the grid's",
                  axis->dim_name, tensor->name, dim->kind == EXPR_NAME ? dim->name : arena_printf(plan->arena, "%d", d + 1));
        return NULL;
    }
    return shared_entry(plan, axis, dim);
}

/* Behind how many other leading dimensions a leading one stands, from the right. */
static int lead_place(const PlanTensor *tensor, Covered sides, int d)
{
    int back = 0;

    for (int k = d + 1; k < tensor->rank; k++)
        back += !plan_covers(sides, k);
    return back;
}

static bool names_unique(const PlanTensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++)
        for (int k = 0; k < i; k++)
            if (tensor->stmt->shape[i]->kind == EXPR_NAME && expr_equal(tensor->stmt->shape[i], tensor->stmt->shape[k]))
                return false;
    return true;
}

/* A name that is all of a coordinate: a loop, or where the block is along a dimension of the grid. */
static Expr *coord_name(Plan *plan, const Expr *e)
{
    const Stmt *index = plan_index(plan, e->name);
    const Extent *axis = plan_loop_var(plan, e->name);

    if (!axis)
        axis = axis_called(plan, index && !index->value ? index->over : e->name, 0);
    if (!axis || axis->kind == EXT_LEAD || axis->kind == EXT_ENTRY)
        return axis ? name_of(plan, axis->var) : index ? NULL : plan_plain(plan, e);
    return axis->kind == EXT_LOOP && !index ? name_of(plan, axis->var) : NULL;
}

/* What a coordinate along a leading dimension says in the terms of code: one number for the
 * whole tile. NULL: it differs within tiles. */
static Expr *block_coord(Plan *plan, const Expr *e, bool whole)
{
    const Expr *let = e->kind == EXPR_NAME ? plan_let(plan, e->name) : NULL;

    if (let)
        e = let;
    if (e->kind == EXPR_NAME && (whole || plan_index(plan, e->name)))
        return coord_name(plan, e);
    Expr *copy = expr_copy(plan->arena, e);
    bool element = e->kind == EXPR_INDEX, fails = false;
    if (e->a && !element)
        fails |= !(copy->a = block_coord(plan, e->a, false));
    if (e->b)
        fails |= !(copy->b = block_coord(plan, e->b, false));
    for (int i = 0; i < e->n_args; i++)
        fails |= !(copy->args[i] = block_coord(plan, e->args[i], element));
    return fails ? NULL : copy;
}

static Expr *given_coord(Plan *plan, const Coord *coord)
{
    Expr *at = coord->value ? block_coord(plan, coord->value, true) : NULL;

    if (!at)
        plan_fail(plan, TW0602, coord->value ? coord->value->span : coord->span,
                  "a coordinate along what a tile does not cover is one number for the whole tile");
    return at;
}

static Expr *tile_coord(Plan *plan, const Extent *extent)
{
    return extent->var ? name_of(plan, extent->var) : NULL;
}

/* The tiles of the e-th part of a dimension stand behind those of all parts before it. */
static Expr *part_coord(Plan *plan, const Choice *choice, const Stmt *from, const PlanTensor *tensor, int d, const Extent *side)
{
    Expr *part = given_coord(plan, plan_coord(plan, from, tensor, d)), *at = tile_coord(plan, side);

    if (!at || !part)
        return part;
    if (part->kind == EXPR_INT && part->i == 0)
        return at;
    Expr *tiles = binary(plan, EO_IDIV, expr_copy(plan->arena, plan_part(plan, from, tensor, d)), plan_shape(plan, choice, side));
    return binary(plan, EO_ADD, part->kind == EXPR_INT && part->i == 1 ? tiles : binary(plan, EO_MUL, part, tiles), at);
}

/* By name, leaving zeros out; by place where a dimension with a coordinate has
 * no name of its own. */
static void set_coords(Plan *plan, const PlanTensor *tensor, Expr *const *values, Stmt *copy)
{
    bool by_name = names_unique(tensor);

    copy->coords = arena_array(plan->arena, Coord, tensor->rank);
    for (int d = 0; d < tensor->rank; d++)
        by_name = by_name && (!values[d] || tensor->stmt->shape[d]->kind == EXPR_NAME);
    for (int d = 0; d < tensor->rank; d++) {
        if (by_name && !values[d])
            continue;
        copy->coords[copy->n_coords++] =
            (Coord){.name = by_name ? tensor->stmt->shape[d]->name : NULL,
                    .value = values[d] ? values[d] : expr_int(plan->arena, 0)};
    }
    for (int d = 0; !by_name && d < tensor->rank; d++)
        if (values[d])
            return;
    if (!by_name)
        copy->n_coords = 0;
}

/* Whether a tile is larger than the part of a dimension that it is to have. */
static bool exceeds_part(Plan *plan, const Choice *choice, const Stmt *from, const PlanTensor *tensor, int d, const Extent *side)
{
    return d >= 0 && side->kind == EXT_WHOLE && choice->size[side->id] != side->known && plan_part(plan, from, tensor, d);
}

/* Where an element of the e-th part of a dimension lies. */
static Expr *place_in_part(Plan *plan, const Stmt *from, const PlanTensor *tensor, int d, const Tile *tile)
{
    Expr *part = given_coord(plan, plan_coord(plan, from, tensor, d));
    Expr *first = part ? binary(plan, EO_MUL, part, expr_copy(plan->arena, plan_part(plan, from, tensor, d))) : NULL;

    return first ? binary(plan, EO_ADD, first, place_within(plan, "row", tile)) : NULL;
}

/* Where each row lies along a dimension, or, by the name of what blocks go over, where all of them do. */
static Expr *place_told(Plan *plan, const Tile *tile, const Coord *given)
{
    bool of_block = given->value && given->value->kind == EXPR_NAME && plan_in_grid(plan, given->value->name);

    return of_block ? given_coord(plan, given) : plan_positions(plan, tile, given->value);
}

/* Each row lies where its coordinates say, or, in a part of fewer rows than the tile has, behind the part's first; the
 * bound says which rows there are. */
static void place_rows(Plan *plan, const Choice *choice, const Stmt *from, const PlanTensor *tensor, const Tile *tile, Stmt *copy)
{
    Covered sides = plan_sides(plan, from, tensor);
    Expr *values[8] = {0};
    int last = tensor->rank - 1;

    copy->has_shape = true;
    copy->shape = arena_array(plan->arena, Expr *, 2);
    copy->n_shape = 2;
    copy->shape[0] = plan_shape(plan, choice, tile->row);
    copy->shape[1] = plan_shape(plan, choice, tile->col);
    const Coord *columns = plan_coord(plan, from, tensor, last);
    bool told = columns && columns->value && plan_names_row(plan, columns->value, from->shape[0]);
    if (told && tile->col->kind != EXT_ONE)
        plan_fail(plan, TW0602, columns->value->span, "where tiles have several columns, these lie along the last dimension of %s, for all rows alike",
                  tensor->name);
    values[last] = told ? plan_positions(plan, tile, columns->value)
                   : plan_part(plan, from, tensor, last) ? part_coord(plan, choice, from, tensor, last, tile->col) : tile_coord(plan, tile->col);
    for (int d = 0; d < last; d++) {
        const Coord *given = plan_coord(plan, from, tensor, d);

        values[d] = d == sides.row && plan_part(plan, from, tensor, d) ? place_in_part(plan, from, tensor, d, tile)
                    : given ? place_told(plan, tile, given)
                            : lead_coord(plan, from, tensor, d, lead_place(tensor, sides, d));
    }
    set_coords(plan, tensor, values, copy);
    if (!plan_ragged(choice, tile->row))
        return;
    Expr *bound = plan_bound(plan, tile, tile->row, true);
    copy->where = copy->where ? binary(plan, EO_AND, copy->where, bound) : bound;
}

/* `Copy M (1, len)` of what has a number for each row along len, and the other way round. */
static bool lies_across(Plan *plan, const Stmt *from, const Tile *tile)
{
    bool wide = from->n_shape == 2 && from->shape[0]->kind == EXPR_INT && from->shape[0]->i == 1;
    bool tall = from->n_shape == 2 && from->shape[1]->kind == EXPR_INT && from->shape[1]->i == 1;
    const Extent *along = wide ? tile->row : tile->col, *across = wide ? tile->col : tile->row;

    if (wide == tall || across->kind != EXT_ONE || along->kind == EXT_ONE || !along->dim_name ||
        !expr_is_name(from->shape[wide], along->dim_name))
        return false;
    const char *shape = arena_printf(plan->arena, wide ? "%s, 1" : "1, %s", along->dim_name);
    Diag *diag = plan_fail(plan, TW0602, from->span, "%s has a number for each %s along %s: (%s)", tile->name, wide ? "row" : "column",
                           along->dim_name, shape);
    diag_fix(plan->diags, diag, (Span){from->shape[0]->span.start, from->shape[1]->span.end}, shape, "as it was computed");
    return true;
}

static bool in_scope(const Plan *plan, const Extent *side)
{
    for (int i = 0; i < plan->scope.len; i++)
        if (plan->scope.data[i] == side)
            return true;
    return false;
}

/* Several numbers where what is stored to has one, or tiles of a loop that has ended: a reduction or a product along another
 * dimension than was meant. */
static bool has_no_place(Plan *plan, const Stmt *from, const PlanTensor *tensor, const Covered *sides, const Tile *tile)
{
    for (int d = 0; d < tensor->rank; d++) {
        const Extent *side = d == sides->col ? tile->col : d == sides->row ? tile->row : NULL;
        const Expr *size = tensor->stmt->shape[d];
        const char *along = d == sides->col ? "columns" : "rows";
        bool one = size->kind == EXPR_INT && size->i == 1;

        if (!side || side->kind == EXT_ONE || !side->dim_name || !(one || (side->kind == EXT_LOOP && !in_scope(plan, side))))
            continue;
        Diag *diag = one ? plan_fail(plan, TW0323, from->span, "%s has one number along its %s, and the tile one for each %s", tensor->name, along, side->dim_name)
                         : plan_fail(plan, TW0323, from->span, "the %s of %s run along %s, over which no loop goes here", along, tile->name, side->dim_name);
        diag_note(plan->diags, diag, one ? "a reduction of rows leaves a column, one of columns a row; where a column and a row meet, the result has both dimensions"
                                         : "a product has the rows of its first operand and the columns of its second, as they are multiplied");
        return true;
    }
    return false;
}

/* Rows of a tile that is wider would go on into the next part. */
static void refuse_columns(Plan *plan, const Stmt *from, const PlanTensor *tensor, const Extent *side)
{
    Diag *diag = plan_fail(plan, TW0602, from->shape[from->n_shape - 1]->span,
                           "a part of %lld columns is no whole number of atoms of the tensor cores", (long long)side->known);

    diag_note(plan->diags, diag, "where %s is declared with a dimension of its own for them, (.., n, %lld) in place of (.., n * %lld), tiles "
              "are filled up with zeros", tensor->name, (long long)side->known, (long long)side->known);
}

void plan_place(Plan *plan, const Choice *choice, const Stmt *from, const PlanTensor *tensor, const Tile *tile,
                Stmt *copy)
{
    Covered sides = plan_sides(plan, from, tensor);

    if (exceeds_part(plan, choice, from, tensor, sides.col, tile->col))
        refuse_columns(plan, from, tensor, tile->col);
    if (plan_by_rows(plan, from) || exceeds_part(plan, choice, from, tensor, sides.row, tile->row)) {
        place_rows(plan, choice, from, tensor, tile, copy);
        return;
    }
    Expr *values[8] = {0};
    int first = sides.row >= 0 ? sides.row : sides.col;

    if (from->to_space == SPACE_GLOBAL && (lies_across(plan, from, tile) || has_no_place(plan, from, tensor, &sides, tile)))
        return;

    copy->has_shape = true;
    copy->shape = arena_array(plan->arena, Expr *, tensor->rank);
    for (int d = 0; d < tensor->rank; d++) {
        const Coord *given = plan_covers(sides, d) ? NULL : plan_coord(plan, from, tensor, d);
        const Extent *side = d == sides.col ? tile->col : d == sides.row ? tile->row : NULL;

        if (d >= first)
            copy->shape[copy->n_shape++] = side ? plan_shape(plan, choice, side) : expr_int(plan->arena, 1);
        values[d] = side    ? plan_part(plan, from, tensor, d) ? part_coord(plan, choice, from, tensor, d, side) : tile_coord(plan, side)
                    : given ? given_coord(plan, given)
                            : lead_coord(plan, from, tensor, d, lead_place(tensor, sides, d));
    }
    set_coords(plan, tensor, values, copy);
}

/* ---- positions --------------------------------------------------------------------------------- */

/* The place along an extent of an element of a tile. */
static Expr *position(Plan *plan, const Tile *tile, const Extent *extent, bool along_rows)
{
    Expr *within = place_within(plan, along_rows ? "row" : "col", tile);

    if (!is_tiled(extent))
        return within;
    return binary(plan, EO_ADD,
                  binary(plan, EO_MUL, name_of(plan, extent->var), name_of(plan, extent->tile)), within);
}

static bool is_called(const Extent *extent, const char *dim)
{
    return extent->dim_name && strcmp(extent->dim_name, dim) == 0;
}

/* The dimension of that name, or another name for it: `M2 = M`. */
static bool follows(const Plan *plan, const Extent *extent, const char *dim)
{
    if (!extent->dim_name || is_called(extent, dim))
        return extent->dim_name != NULL;
    for (int i = 0; i < plan->decls.len; i++)
        if (plan->decls.data[i]->kind == STMT_ASSIGN && strcmp(plan->decls.data[i]->name, extent->dim_name) == 0)
            return expr_is_name(plan->decls.data[i]->value, dim);
    return false;
}

/* The whole of a dimension that is written as its size, as its name means a part of it there:
 * `Define I (C, 16)`, C = 16, where blocks or a loop go along C. */
static bool is_size_of(const Plan *plan, const Extent *extent, const char *dim)
{
    const EvalName *size = eval_find(&plan->env, dim);

    return extent->kind == EXT_WHOLE && !extent->dim_name && size && size->has_number && extent->known > 0 &&
           size->number == (double)extent->known;
}

/* The coordinate of the block, or of the loop over entries, along a leading dimension; NULL: none. */
static const Extent *entry_along(Plan *plan, const char *dim)
{
    Expr named = {.kind = EXPR_NAME, .name = dim};
    const Extent *axis = lead_axis(plan, &named, INT32_MAX, 0);

    return axis && (axis->kind == EXT_LEAD || axis->kind == EXT_ENTRY) ? axis : NULL;
}

bool plan_along_entries(Plan *plan, const Tile *tile, const char *dim, IndexSide side)
{
    bool rows = follows(plan, tile->row, dim), cols = follows(plan, tile->col, dim);
    bool by_name = is_called(tile->row, dim) || is_called(tile->col, dim);

    return (side == INDEX_ROWS || (side == INDEX_UNSAID && !by_name) || !(rows || cols)) && rows + cols < 2 &&
           entry_along(plan, dim);
}

/* The coordinate of a tile's elements along a dimension; side: of which, where rows and
 * columns both follow it. */
static Expr *along_dim(Plan *plan, const Tile *tile, const char *dim, IndexSide side, Span span)
{
    bool cols = follows(plan, tile->col, dim) && tile->col->kind >= EXT_ROWS;
    bool rows = follows(plan, tile->row, dim) && tile->row->kind >= EXT_ROWS;

    bool rows_sized = is_size_of(plan, tile->row, dim), cols_sized = is_size_of(plan, tile->col, dim);

    if (!rows && !cols && rows_sized != cols_sized)
        rows = rows_sized, cols = cols_sized;
    cols |= (rows || rows_sized) && side == INDEX_COLS && cols_sized;
    rows |= (cols || cols_sized) && side == INDEX_ROWS && rows_sized;
    if (rows && cols && side == INDEX_UNSAID) {
        plan_fail(plan, TW0606, span, "rows and columns of %s both run along %s: declare two positions, the first is that "
                  "of the rows", tile->name, dim);
        return expr_int(plan->arena, 0);
    }
    if (plan_along_entries(plan, tile, dim, side))
        return name_of(plan, entry_along(plan, dim)->var);
    if (cols && (!rows || side == INDEX_COLS))
        return position(plan, tile, tile->col, false);
    if (rows)
        return position(plan, tile, tile->row, true);
    Expr named = {.kind = EXPR_NAME, .name = dim, .span = span};
    if (!is_one(plan, &named)) /* else whatever lies along it lies at its start */
        plan_fail(plan, TW0606, span, "%s has no position along %s", tile->name, dim);
    return expr_int(plan->arena, 0);
}

typedef struct Placer {
    Plan *plan;
    const Tile *tile; /* NULL: positions are not replaced */
    int depth;
    const Stmt *define; /* whose elements the tile has; NULL: others */
    int replaced; /* bounds the size of what names within names stand for */
} Placer;

static Expr *replacement(void *user, const char *name);

/* Which leading dimension of what is defined has the name; -1: none. */
static int defined_lead(const Placer *p, const char *name)
{
    for (int k = 0; p->define && k < p->define->n_shape - 2; k++)
        if (expr_is_name(p->define->shape[k], name))
            return k;
    return -1;
}

/* The place along it, which may have another name in the grid. */
static Expr *lead_of_defined(Placer *p, int k, Span span)
{
    PlanTensor defined = plan_shaped(p->define, p->tile->name);
    Stmt from = {.span = span};
    Expr *coord = lead_coord(p->plan, &from, &defined, k, lead_place(&defined, (Covered){defined.row, defined.col}, k));

    return coord ? coord : expr_int(p->plan->arena, 0);
}

static bool is_lead(const Extent *extent)
{
    return extent->kind == EXT_LEAD || extent->kind == EXT_ONE;
}

/* What `row` or `col` says of the element at hand. Of what is defined along a dimension that blocks have an entry of, that. */
static Expr *own_place(const Placer *p, bool rows)
{
    const Extent *extent = rows ? p->tile->row : p->tile->col;
    const Expr *dim = p->define && p->define->n_shape >= 2 ? p->define->shape[p->define->n_shape - (rows ? 2 : 1)] : NULL;
    const Extent *entry = dim && dim->kind == EXPR_NAME && is_lead(extent) ? entry_along(p->plan, dim->name) : NULL;

    return entry ? name_of(p->plan, entry->var) : position(p->plan, p->tile, extent, rows);
}

/* `row()` and `col()`, which mean the place whatever has that name. */
static Expr *places(const Placer *p, Expr *e)
{
    if (!e || !p->tile)
        return e;
    bool call = e->kind == EXPR_CALL && e->n_args == 0;
    if (call && text_equal_nocase(e->name, "row"))
        return own_place(p, true);
    if (call && text_equal_nocase(e->name, "col"))
        return own_place(p, false);
    e->a = places(p, e->a);
    e->b = places(p, e->b);
    for (int i = 0; i < e->n_args; i++)
        e->args[i] = places(p, e->args[i]);
    return e;
}

static Expr *rewrite(Placer *p, const Expr *e)
{
    if (p->depth >= PLAN_DEPTH || ++p->replaced > PLAN_REPLACED) {
        if (!p->plan->failed)
            plan_fail(p->plan, TW0606, e->span, "names that stand for each other go on without end");
        return expr_int(p->plan->arena, 0);
    }
    p->depth++;
    Expr *result = places(p, expr_subst(p->plan->arena, e, replacement, p));
    p->depth--;
    return result;
}

/* Which leading dimension of what is defined a position is along, -1: none. Where two have its name, the order of
 * positions tells them apart. */
static int lead_of_index(const Placer *p, const char *over, IndexSide side)
{
    int first = defined_lead(p, over);

    for (int k = first + 1; first >= 0 && side == INDEX_COLS && k < p->define->n_shape - 2; k++)
        if (expr_is_name(p->define->shape[k], over))
            return k;
    return first;
}

static Expr *index_position(Placer *p, const Stmt *index)
{
    IndexSide side = index_side(&p->plan->unit->body, index->name, index->over);
    int lead = lead_of_index(p, index->over, side);
    bool is_one_of_two = lead_of_index(p, index->over, INDEX_ROWS) != lead_of_index(p, index->over, INDEX_COLS);
    bool elsewhere = lead >= 0 && (is_one_of_two || !entry_along(p->plan, index->over));
    Expr *at = elsewhere ? lead_of_defined(p, lead, index->span) : along_dim(p->plan, p->tile, index->over, side, index->span);
    const Expr *from = index->value;

    if (!from || (from->kind == EXPR_INT && from->i == 0))
        return at;
    return binary(p->plan, EO_ADD, at, rewrite(p, from));
}

static Expr *replacement(void *user, const char *name)
{
    Placer *p = user;
    const Expr *let = plan_let(p->plan, name);
    const Stmt *index = p->tile ? plan_index(p->plan, name) : NULL;

    if (let)
        return rewrite(p, let);
    if (index)
        return index_position(p, index);
    if (eval_find(&p->plan->env, name) || plan_is_param(p->plan, name))
        return NULL; /* a size, or a number, that is called like a place */
    if (p->tile && strcmp(name, "row") == 0)
        return own_place(p, true);
    if (p->tile && strcmp(name, "col") == 0)
        return own_place(p, false);
    return NULL;
}

/* ---- elements of tensors --------------------------------------------------------------------------- */

/* A place among `of` entries as one among the tensor's, which may be fewer. */
static Expr *share(Placer *p, Expr *at, const Extent *of, const Expr *dim)
{
    const Aff *length = eval_aff(&p->plan->env, dim, NULL);
    int64_t one;

    if (length && aff_is_const(length, &one) && one == 1)
        return expr_int(p->plan->arena, 0);
    if (!length || length == of->length)
        return at;
    return binary(p->plan, EO_IDIV, at,
                  binary(p->plan, EO_IDIV, expr_copy(p->plan->arena, of->dim), expr_copy(p->plan->arena, dim)));
}

/* The element's own coordinate along dimension d of a tensor, whose dimensions
 * align with the tile's and the block's from the right. */
static Expr *own_coordinate(Placer *p, const PlanTensor *tensor, int d, Span span)
{
    int back = tensor->rank - 1 - d;
    const Expr *dim = tensor->stmt->shape[d];

    if (back == 0 && !is_lead(p->tile->col))
        return share(p, position(p->plan, p->tile, p->tile->col, false), p->tile->col, dim);
    if (back == 1 && !is_lead(p->tile->row))
        return share(p, position(p->plan, p->tile, p->tile->row, true), p->tile->row, dim);
    Stmt from = {.span = span};
    Expr *coord = lead_coord(p->plan, &from, tensor, d, back - 2);
    return coord ? coord : expr_int(p->plan->arena, 0);
}

/* A dimension's name alone: the element's own coordinate along it. */
static Expr *named_coordinate(Placer *p, const PlanTensor *tensor, int d, const Expr *e)
{
    bool cols = !is_lead(p->tile->col) && follows(p->plan, p->tile->col, e->name);
    bool rows = !is_lead(p->tile->row) && follows(p->plan, p->tile->row, e->name);

    if (rows || cols)
        return along_dim(p->plan, p->tile, e->name, INDEX_UNSAID, e->span);
    const Extent *axis = lead_axis(p->plan, e, INT32_MAX, 0);
    if (axis && axis->kind == EXT_LEAD)
        return name_of(p->plan, axis->var);
    int lead = defined_lead(p, e->name);
    return lead >= 0 ? lead_of_defined(p, lead, e->span) : own_coordinate(p, tensor, d, e->span);
}

/* Of a tensor, of what is defined, or one that has no other name than the grid's: `entries = 2`. */
static bool is_dimension(Placer *p, const char *name)
{
    const Extent *axis = entry_along(p->plan, name);

    if ((axis && axis->kind == EXT_LEAD && is_called(axis, name)) || defined_lead(p, name) >= 0)
        return true;
    for (int i = 0; i < p->plan->tensors.len; i++)
        for (int d = 0; d < p->plan->tensors.data[i].rank; d++) {
            const Expr *dim = p->plan->tensors.data[i].stmt->shape[d];

            if (expr_is_name(dim, name))
                return true;
        }
    return false;
}

static Expr *place_elements(Placer *p, const Expr *e);

static Expr *place_read(Placer *p, const Expr *e, const PlanTensor *tensor)
{
    Expr **args = arena_array(p->plan->arena, Expr *, tensor->rank);
    int d = 0;

    for (int i = 0; i < e->n_args && d < tensor->rank; i++) {
        const Expr *at = e->args[i];

        if (at->kind == EXPR_ELLIPSIS)
            for (int n = tensor->rank - (e->n_args - 1); n > 0; n--, d++)
                args[d] = own_coordinate(p, tensor, d, at->span);
        else if (at->kind == EXPR_NAME && is_dimension(p, at->name))
            args[d] = named_coordinate(p, tensor, d, at), d++;
        else
            args[d++] = place_elements(p, at);
    }
    if (d == tensor->rank && e->n_args <= tensor->rank + 1)
        return expr_index(p->plan->arena, expr_copy(p->plan->arena, e->a), args, d);
    plan_fail(p->plan, TW0602, e->span, "%s has %d dimensions", tensor->name, tensor->rank);
    return expr_int(p->plan->arena, 0);
}

/* Elements of tensors at the coordinates of the element at hand; the rest is as
 * it was. */
static Expr *place_elements(Placer *p, const Expr *e)
{
    const PlanTensor *tensor =
        e->kind == EXPR_INDEX && e->a->kind == EXPR_NAME ? plan_tensor(p->plan, e->a->name) : NULL;

    if (tensor)
        return place_read(p, e, tensor);
    Expr *copy = expr_copy(p->plan->arena, e);
    copy->a = e->a ? place_elements(p, e->a) : NULL;
    copy->b = e->b ? place_elements(p, e->b) : NULL;
    for (int i = 0; i < e->n_args; i++)
        copy->args[i] = place_elements(p, e->args[i]);
    return copy;
}

static Expr *positions(Placer *p, const Expr *e)
{
    return e ? rewrite(p, p->tile ? place_elements(p, e) : e) : NULL;
}

Expr *plan_positions(Plan *plan, const Tile *tile, const Expr *e)
{
    Placer p = {.plan = plan, .tile = tile};

    return positions(&p, e);
}

Expr *plan_defined(Plan *plan, const Tile *tile, const Stmt *define)
{
    Placer p = {.plan = plan, .tile = tile, .define = define};

    return positions(&p, define->value);
}

Expr *plan_plain(Plan *plan, const Expr *e)
{
    return plan_positions(plan, NULL, e);
}

Expr *plan_bound(Plan *plan, const Tile *tile, const Extent *extent, bool along_rows)
{
    return binary(plan, EO_LT, position(plan, tile, extent, along_rows), expr_copy(plan->arena, extent->dim));
}
