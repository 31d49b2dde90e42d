/* infer.c: how far every tile reaches, from the tensors that are copied.
 *
 *   Copy Q from global to shared      Q (.., q_len, HeadDim)   rows: block's, cols: whole
 *   for j over kv_len
 *     Copy K from global to shared    K (.., kv_len, HeadDim)  rows: loop's, cols: whole
 *     Compute GEMM Q, K.T and get S   S: rows of Q, rows of K
 *
 * A tile may be used above the statement that settles it (a Fill before the
 * loop), so the walk is repeated until nothing new is learnt.
 */
#include "reason/plan.h"

/* ---- tiles ------------------------------------------------------------------------- */

static Tile *find_tile(Plan *plan, const char *name)
{
    for (int i = 0; i < plan->tiles.len; i++)
        if (text_equal(plan->tiles.data[i].name, name))
            return &plan->tiles.data[i];
    return NULL;
}

Tile *plan_tile(Plan *plan, const char *name)
{
    return find_tile(plan, name);
}

static Tile *make_tile(Plan *plan, const char *name)
{
    Tile *tile = find_tile(plan, name);

    if (tile)
        return tile;
    vec_push(plan->arena, &plan->tiles, (Tile){.name = name, .reg_dtype = DT_F32});
    return &plan->tiles.data[plan->tiles.len - 1];
}

bool plan_transposed(const Expr *e)
{
    return e->kind == EXPR_TRANSPOSE;
}

static const Expr *bare_operand(const Expr *e)
{
    while (e && (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE))
        e = e->a;
    return e;
}

/* Parts of tiles go by what is written for them: `KV[:, 0:Dc]`. */
static const char *part_name(const Plan *plan, const Expr *e)
{
    Str text = str_new(plan->arena);

    lang_print_expr(&text, e);
    return str_text(&text);
}

Tile *plan_operand(Plan *plan, const Expr *e)
{
    e = bare_operand(e);
    if (e && e->kind == EXPR_INDEX)
        return find_tile(plan, part_name(plan, e));
    return e && e->kind == EXPR_NAME ? find_tile(plan, e->name) : NULL;
}

const char *plan_result(const Stmt *s)
{
    const Expr *e = s->dest;

    while (e && (e->kind == EXPR_SPACE || e->kind == EXPR_INDEX))
        e = e->a;
    if (e)
        return e->kind == EXPR_NAME ? e->name : NULL;
    return s->n_args > 0 && s->args[0]->kind == EXPR_NAME ? s->args[0]->name : NULL;
}

static bool is_one(const Extent *extent)
{
    return extent && (extent->kind == EXT_ONE || extent->kind == EXT_LEAD || extent->kind == EXT_ENTRY);
}

/* Learns a side of a tile; two extents of a side that are not the same are an error. */
static void settle(Plan *plan, const Stmt *s, const char *name, const Extent **side, const Extent *extent)
{
    if (!extent || *side == extent || (is_one(*side) && is_one(extent)))
        return;
    if (!*side) {
        *side = extent;
        return;
    }
    plan_fail(plan, TW0604, s->span, "%s covers %s here and %s elsewhere", name,
              extent->dim_name ? extent->dim_name : "one element",
              (*side)->dim_name ? (*side)->dim_name : "one element");
}

static void settle_tile(Plan *plan, const Stmt *s, const char *name, const Extent *row, const Extent *col)
{
    Tile *tile = make_tile(plan, name);

    if (plan->failed)
        return;
    settle(plan, s, name, &tile->row, row);
    if (!plan->failed)
        settle(plan, s, name, &tile->col, col);
}

/* ---- copies ---------------------------------------------------------------------------- */

Extent *plan_in_grid(const Plan *plan, const char *dim)
{
    for (int i = 0; i < plan->grid.len; i++)
        if (text_equal(plan->grid.data[i]->dim_name, dim))
            return plan->grid.data[i];
    return NULL;
}

static Extent *in_scope(const Plan *plan, const char *dim)
{
    for (int i = plan->scope.len - 1; i >= 0; i--)
        if (strcmp(plan->scope.data[i]->dim_name, dim) == 0)
            return plan->scope.data[i];
    return NULL;
}

Extent *plan_loop_var(const Plan *plan, const char *var)
{
    for (int i = plan->scope.len - 1; i >= 0; i--)
        if (strcmp(plan->scope.data[i]->var, var) == 0)
            return plan->scope.data[i];
    return NULL;
}

/* Whether a coordinate's name is that of a tensor's dimension d; of one that is a number or an expression, whatever has its
 * size: `taps = 3`, `[taps = t]` of (3, C, K). */
static bool names_dim(Plan *plan, const PlanTensor *tensor, const char *name, int d)
{
    const Expr *dim = tensor->stmt->shape[d], *named = expr_name(plan->arena, name);

    if (dim->kind == EXPR_NAME)
        return strcmp(dim->name, name) == 0;
    for (int k = 0; k < tensor->rank; k++)
        if (expr_is_name(tensor->stmt->shape[k], name))
            return false;
    return eval_find(&plan->env, name) && eval_aff(&plan->env, named, NULL) == eval_aff(&plan->env, dim, NULL);
}

static const Coord *coord_along(Plan *plan, const Stmt *copy, const PlanTensor *tensor, Covered covered, int d)
{
    bool sides = copy->n_coords == 2 && covered.row >= 0 && covered.col >= 0; /* by place: of what the tile covers */

    for (int i = 0; i < copy->n_coords; i++) {
        const Coord *coord = &copy->coords[i];

        bool is_along = coord->name ? names_dim(plan, tensor, coord->name, d)
                        : sides     ? d == (i == 0 ? covered.row : covered.col)
                                    : copy->n_coords - i == tensor->rank - d;

        if (is_along)
            return coord;
    }
    return NULL;
}

const Coord *plan_coord(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int d)
{
    return coord_along(plan, copy, tensor, plan_sides(plan, copy, tensor), d);
}

static bool has_side(const PlanTensor *tensor, const char *dim)
{
    for (int d = 0; tensor && d < tensor->rank; d++)
        if (plan_covers((Covered){tensor->row, tensor->col}, d) && expr_is_name(tensor->stmt->shape[d], dim))
            return true;
    return false;
}

/* Whether the outputs lie along the dimension, of one column as well. */
static bool in_outputs(const Plan *plan, const char *dim)
{
    for (int i = 0; i < plan->tensors.len; i++)
        if (plan->tensors.data[i].stmt->kind == STMT_OUTPUT && has_side(&plan->tensors.data[i], dim))
            return true;
    return false;
}

/* Whether a GEMM multiplies a tensor along the dimension, or a tile that is computed and that outputs lie along. */
static bool is_multiplied(const Plan *plan, const Block *block, const char *dim)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (is_multiplied(plan, &s->body, dim) || is_multiplied(plan, &s->orelse, dim))
            return true;
        for (int k = 0; s->kind == STMT_COMPUTE && s->op_known && s->op == OP_GEMM && k < s->n_args; k++) {
            const Expr *e = s->args[k];

            while (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE)
                e = e->a;
            const PlanTensor *tensor = e->kind == EXPR_NAME ? plan_tensor(plan, e->name) : NULL;
            if (tensor ? has_side(tensor, dim) : in_outputs(plan, dim))
                return true;
        }
    }
    return false;
}

/* A dimension of one element is broadcast, but for one that the tensor cores take. */
static bool is_broadcast(Plan *plan, const Expr *dim)
{
    const Aff *length = eval_aff(&plan->env, dim, plan->diags);
    int64_t known;

    if (!length || !aff_is_const(length, &known) || known != 1)
        return false;
    return dim->kind != EXPR_NAME || !is_multiplied(plan, &plan->unit->body, dim->name);
}

/* What a coordinate in the sketch names: a loop's variable or a dimension of the grid. */
static const Extent *extent_of_coord(Plan *plan, const Coord *coord, const Expr *dim)
{
    const Expr *value = coord->value;
    const Extent *extent = NULL;

    if (value && value->kind == EXPR_INT && value->i == 0)
        return is_broadcast(plan, dim) ? plan_extent(plan, EXT_ONE, NULL) : plan_extent(plan, EXT_WHOLE, dim);
    if (value && value->kind == EXPR_NAME)
        extent = plan_loop_var(plan, value->name);
    if (!extent && value && value->kind == EXPR_NAME)
        extent = plan_in_grid(plan, value->name);
    if (!extent)
        plan_fail(plan, TW0602, value ? value->span : coord->span,
                  "a coordinate along what a tile covers names a loop or a dimension of the grid, or is 0");
    return extent;
}

/* Whether a name counts tiles of the dimension: a loop over it, or the block's place along it. */
static bool counts_along(const Block *block, const char *name, const Expr *dim)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_FOR && s->over && strcmp(s->name, name) == 0 && expr_is_name(dim, s->over)) ||
            counts_along(&s->body, name, dim) || counts_along(&s->orelse, name, dim))
            return true;
    }
    return expr_is_name(dim, name);
}

bool plan_names_row(const Plan *plan, const Expr *e, const Expr *along)
{
    const char *rows = along->kind == EXPR_NAME ? along->name : NULL;
    bool names = expr_mentions(e, "row") && !plan_is_param(plan, "row");

    for (int i = 0; rows && i < plan->decls.len && !names; i++) {
        const Stmt *s = plan->decls.data[i];

        names = s->kind == STMT_INDEX && strcmp(s->over, rows) == 0 && expr_mentions(e, s->name);
    }
    return names;
}

bool plan_by_rows(const Plan *plan, const Stmt *copy)
{
    bool names = false;

    if ((copy->space != SPACE_GLOBAL && copy->to_space != SPACE_GLOBAL) || copy->n_shape != 2 ||
        (copy->shape[0]->kind != EXPR_NAME && copy->shape[0]->kind != EXPR_INT))
        return false;
    for (int i = 0; i < copy->n_coords; i++)
        names |= plan_names_row(plan, copy->coords[i].value, copy->shape[0]);
    return names;
}

/* Whether a coordinate is worked out, so that a number beside it is no tile's size but that of what it counts. */
static bool is_worked_out(const Coord *coord)
{
    return coord->value && coord->value->kind != EXPR_NAME && coord->value->kind != EXPR_INT;
}

const Expr *plan_part(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int d)
{
    if (d == tensor->row && plan_by_rows(plan, copy))
        return NULL;
    bool last = d == tensor->rank - 1;
    const Expr *size = copy->n_shape == 2 && (last || d == tensor->row) ? copy->shape[last] : NULL, *dim = tensor->stmt->shape[d];
    bool number = size && size->kind == EXPR_INT;
    const Coord *coord = number || (size && size->kind == EXPR_NAME) ? coord_along(plan, copy, tensor, (Covered){tensor->row, tensor->col}, d) : NULL;

    if (!coord || !coord->value || (number ? !is_worked_out(coord) : !eval_find(&plan->env, size->name)))
        return NULL;
    if (number)
        return size;
    for (int k = 0; k < tensor->rank; k++)
        if (expr_is_name(tensor->stmt->shape[k], size->name))
            return NULL;
    return coord->value->kind == EXPR_NAME && counts_along(&plan->unit->body, coord->value->name, dim) ? NULL : size;
}

/* The loop over what a shape names, the grid's dimension, or all of it. */
static const Extent *extent_named(Plan *plan, const Expr *dim)
{
    const Extent *extent = dim->kind == EXPR_NAME ? in_scope(plan, dim->name) : NULL;

    if (!extent && dim->kind == EXPR_NAME)
        extent = plan_in_grid(plan, dim->name);
    return extent ? extent : plan_extent(plan, EXT_WHOLE, dim);
}

/* The loop over the part, the grid's dimension of its name, or all of it. What stands beside it is no
 * zeros, so tiles must not reach there. */
static const Extent *extent_of_part(Plan *plan, const Expr *size)
{
    Extent *extent = (Extent *)extent_named(plan, size);

    extent->part = true;
    if (!extent->known)
        plan_fail(plan, TW0605, size->span, "%s must be known when compiling: --set %s=128", size->name, size->name);
    return extent;
}

/* Whether tiles have rows along another dimension of the grid, each of which this one's only row may meet. */
static bool has_rows_beside(const Plan *plan, const Extent *extent)
{
    for (int i = 0; i < plan->grid.len; i++)
        if (plan->grid.data[i] != extent && plan->grid.data[i]->kind == EXT_ROWS)
            return true;
    return false;
}

/* Whether a dimension of one element is not that of the block's tiles, though spread over blocks: others meet it. */
static bool meets_others(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int d, const Extent *extent)
{
    bool turned = extent->kind == EXT_COLS && plan_sides(plan, copy, tensor).row == d; /* rows along the block's columns */

    return (turned || has_rows_beside(plan, extent)) && is_broadcast(plan, tensor->stmt->shape[d]);
}

/* Whether a copy says 1 for a dimension of one element that is spread over blocks: it is broadcast, though other tiles of the tensor
 * are the block's, as those that are multiplied. */
static bool is_said_one(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int d)
{
    const Expr *size = copy->n_shape == 2 ? copy->shape[d == tensor->rank - 1] : NULL, *dim = tensor->stmt->shape[d];
    const Aff *length = size && size->kind == EXPR_INT && size->i == 1 && dim->kind == EXPR_NAME && plan_in_grid(plan, dim->name)
                            ? eval_aff(&plan->env, dim, plan->diags) : NULL;
    int64_t known;

    return length && aff_is_const(length, &known) && known == 1;
}

static const Extent *extent_of_dim(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int d)
{
    const Expr *dim = tensor->stmt->shape[d];
    const Coord *coord = plan_coord(plan, copy, tensor, d);
    const Extent *extent = NULL;

    if (is_said_one(plan, copy, tensor, d))
        return plan_extent(plan, EXT_ONE, NULL);
    if (plan_part(plan, copy, tensor, d))
        return extent_of_part(plan, plan_part(plan, copy, tensor, d));
    if (coord)
        return extent_of_coord(plan, coord, dim);
    if (dim->kind == EXPR_NAME && (extent = in_scope(plan, dim->name)))
        return extent;
    if (dim->kind == EXPR_NAME && (extent = plan_in_grid(plan, dim->name)) && !meets_others(plan, copy, tensor, d, extent))
        return extent;
    return is_broadcast(plan, dim) ? plan_extent(plan, EXT_ONE, NULL) : plan_extent(plan, EXT_WHOLE, dim);
}

/* Extents of the dimensions that a tensor's tiles cover in the loops at hand. */
static bool tensor_extents(Plan *plan, const Stmt *copy, const PlanTensor *tensor, const Extent **row,
                         const Extent **col)
{
    Covered sides = plan_sides(plan, copy, tensor);

    *row = plan_by_rows(plan, copy) ? extent_named(plan, copy->shape[0])
           : sides.row >= 0         ? extent_of_dim(plan, copy, tensor, sides.row)
                                    : plan_extent(plan, EXT_ONE, NULL);
    *col = sides.col >= 0 ? extent_of_dim(plan, copy, tensor, sides.col) : plan_extent(plan, EXT_ONE, NULL);
    return *row && *col;
}

/* A name of its own for the one coordinate, `[L = j]`, says no more than where the loops and the block are. */
static void check_names(Plan *plan, const Stmt *s, const PlanTensor *tensor)
{
    for (int i = 0; i < s->n_coords && !plan->failed; i++) {
        bool alone = s->n_coords == 1 && s->coords[i].value && s->coords[i].value->kind == EXPR_NAME;
        bool known = !s->coords[i].name || alone;

        for (int d = 0; d < tensor->rank; d++)
            known |= !known && names_dim(plan, tensor, s->coords[i].name, d);
        if (!known)
            plan_fail(plan, TW0411, s->coords[i].span, "'%s' has no dimension '%s'", tensor->name, s->coords[i].name);
    }
}

static void infer_load(Plan *plan, const Stmt *s, const PlanTensor *tensor)
{
    const Extent *row, *col;

    check_names(plan, s, tensor);
    if (plan->failed)
        return;

    if (!tensor_extents(plan, s, tensor, &row, &col))
        return;
    settle_tile(plan, s, copy_dest(s), row, col);
    Tile *tile = make_tile(plan, copy_dest(s));
    tile->vector = tensor->rank == 1;
    if (s->to_space == SPACE_SHARED) {
        tile->shared = true;
        tile->shared_dtype = tensor->dtype;
    } else {
        tile->reg = tile->loaded = true;
        tile->reg_dtype = tensor->dtype;
    }
}

/* The tile that a Copy within a block writes: as large as the one that it reads. */
static Tile *dest_tile(Plan *plan, const Stmt *s, Tile *from)
{
    const Extent *row = from->row, *col = from->col;

    settle_tile(plan, s, copy_dest(s), row, col);
    return make_tile(plan, copy_dest(s));
}

/* What is stored to a part of a dimension fills it. What registers put into shared memory on its way is rounded there: no copy
 * from shared to global memory does. */
static void infer_store(Plan *plan, const Stmt *s, Tile *tile, const PlanTensor *tensor)
{
    Covered covered = plan_sides(plan, s, tensor);
    int along[] = {covered.row, covered.col};
    const Extent *sides[] = {tile->row, tile->col};

    check_names(plan, s, tensor);
    for (int i = 0; i < 2; i++)
        if (along[i] >= 0 && sides[i] && plan_part(plan, s, tensor, along[i]))
            ((Extent *)sides[i])->part = true;
    if (tile->put && !tile->multiplied && s->space == SPACE_SHARED && tile->shared_dtype == DT_F32 && dtype_is_float(tensor->dtype))
        tile->shared_dtype = tensor->dtype;
}

static void infer_copy(Plan *plan, const Stmt *s)
{
    const PlanTensor *tensor = plan_copied(plan, s);
    Tile *tile = find_tile(plan, s->name);

    if (s->target && s->target->kind == EXPR_INDEX)
        plan_fail(plan, TW0602, s->target->span, "a Copy of a sketch takes tiles of all of %s: a Define reads a part of it",
                  s->name);
    else if (s->space == SPACE_GLOBAL && !tensor)
        plan_fail(plan, TW0602, s->name_span, "%s is no tensor of %s", s->name, plan->unit->name);
    else if (s->space == SPACE_GLOBAL)
        infer_load(plan, s, tensor);
    else if (!tile || (s->to_space == SPACE_GLOBAL && !tensor))
        plan_fail(plan, TW0602, s->span, "%s is %s", s->name,
                  tile ? "no tensor to copy to" : "copied before it has a value");
    else if (s->to_space == SPACE_GLOBAL)
        infer_store(plan, s, tile, tensor);
    else if (s->to_space == SPACE_SHARED) {
        DType dtype = tile->reg_dtype;
        tile = dest_tile(plan, s, tile);
        tile->shared = tile->put = true;
        tile->shared_dtype = tile->multiplied && dtype == DT_F32 ? tile->operand_dtype : dtype;
    } else if (s->to_space == SPACE_REGISTER) {
        DType dtype = tile->shared_dtype;
        tile = dest_tile(plan, s, tile);
        tile->reg = tile->loaded = true;
        tile->reg_dtype = dtype;
    }
}

/* ---- computations -------------------------------------------------------------------------- */

static void infer_result(Plan *plan, const Stmt *s, const Extent *row, const Extent *col)
{
    const char *name = plan_result(s);

    if (!name) {
        plan_fail(plan, TW0602, s->span, "the result of this statement needs a plain name");
        return;
    }
    settle_tile(plan, s, name, row, col);
    Tile *tile = make_tile(plan, name);
    bool renewed = tile->computed; /* it is of the wider type at first */
    tile->reg = tile->computed = true;
    if (tile->loaded)
        tile->reg_dtype = DT_F32;
    if (s->op_known && s->op == OP_CAST && s->has_dtype && !renewed)
        tile->reg_dtype = s->dtype;
    tile->accumulated |= s->result == RESULT_ACCUMULATE;
}

/* The wider extent of two operands; unknown is not wide. */
static const Extent *wider(const Extent *a, const Extent *b)
{
    return !a || (is_one(a) && b) ? b : a;
}

/* Sides that an operation takes element by element are as long, for sure not longer. */
static bool is_as_long(Plan *plan, const Stmt *s, const Extent *a, const Extent *b)
{
    int64_t more;

    if (!a || !b || a == b || is_one(a) || is_one(b) || !a->length || !b->length ||
        !aff_is_const(aff_sub(plan->aff, a->length, b->length), &more) || more == 0)
        return true;
    plan_fail(plan, TW0604, s->span, "one operand covers %s here, another %s", a->dim_name ? a->dim_name : "one length",
              b->dim_name ? b->dim_name : "another length");
    return false;
}

static bool is_copied(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_COPY && copy_dest(s) && strcmp(copy_dest(s), name) == 0) || is_copied(&s->body, name) || is_copied(&s->orelse, name))
            return true;
    }
    return false;
}

/* An operand without a tile that no Copy brings: what meets it would seem to be all that there is. */
static bool is_left_in_memory(Plan *plan, const Expr *operand)
{
    const Expr *e = bare_operand(operand);
    const Stmt *tensor = e && e->kind == EXPR_NAME ? unit_tensor(plan->unit, e->name) : NULL;

    if (!tensor || tensor->kind != STMT_INPUT || is_copied(&plan->unit->body, e->name))
        return false;
    Diag *diag = plan_fail(plan, TW0406, operand->span, "'%s' is only in global memory here", e->name);
    diag_note(plan->diags, diag, "Copy it to shared memory or to registers first");
    return true;
}

static void infer_element(Plan *plan, const Stmt *s)
{
    const Extent *row = NULL, *col = NULL;
    bool unknown_row = false, unknown_col = false;

    for (int i = 0; i < s->n_args; i++) {
        const Tile *tile = plan_operand(plan, s->args[i]);

        if (!tile && is_left_in_memory(plan, s->args[i]))
            return;
        if (!tile)
            continue;
        if (!is_as_long(plan, s, row, tile->row) || !is_as_long(plan, s, col, tile->col))
            return;
        row = wider(row, tile->row);
        col = wider(col, tile->col);
        unknown_row |= !tile->row;
        unknown_col |= !tile->col;
    }
    /* a broadcast operand says nothing while another's extent may still be learnt */
    unknown_row &= !plan->settled;
    unknown_col &= !plan->settled;
    infer_result(plan, s, unknown_row && is_one(row) ? NULL : row, unknown_col && is_one(col) ? NULL : col);
}

static bool names_shared(const Expr *e)
{
    while (e->kind == EXPR_TRANSPOSE)
        e = e->a;
    return e->kind == EXPR_SPACE && e->space == SPACE_SHARED;
}

/* A computed tile is rounded on its way to shared memory, to what it meets there. */
static void note_operand(Plan *plan, Tile *tile, const Tile *other)
{
    bool known = other->shared && !other->multiplied && dtype_is_narrow(other->shared_dtype);

    tile->multiplied = true;
    tile->operand_dtype = known ? other->shared_dtype : plan->options->dtype;
}

/* ---- parts of tiles ------------------------------------------------------------------------ */

static bool part_bound(Plan *plan, const Expr *e, int64_t unsaid, int64_t *value)
{
    const Aff *known = e ? eval_aff(&plan->env, e, plan->diags) : NULL;

    *value = unsaid;
    return !e || (known && aff_is_const(known, value));
}

/* Of a side that a block has whole, `lo:hi` in whole atoms; `:` is all of it. NULL: it is no such part. */
static const Extent *side_of_part(Plan *plan, const Expr *item, const Extent *whole)
{
    int step = plan->contracted_step;
    int64_t lo, hi;

    if (item->kind == EXPR_ELLIPSIS || (item->kind == EXPR_RANGE && !item->a && !item->b))
        return whole;
    if (item->kind != EXPR_RANGE || whole->kind != EXT_WHOLE || !part_bound(plan, item->a, 0, &lo) ||
        !part_bound(plan, item->b, whole->known, &hi) || lo < 0 || hi > whole->known || lo >= hi || lo % step || (hi - lo) % step)
        return NULL;
    Expr *size = lo == 0 && item->b ? expr_copy(plan->arena, item->b) : expr_int(plan->arena, hi - lo);
    size->span = item->span;
    Extent *extent = plan_extent(plan, EXT_WHOLE, size);
    extent->part = true;
    return extent;
}

/* A product may take a part of a tile in shared memory, which has no room of its own. */
static void infer_part(Plan *plan, const Expr *operand)
{
    const Expr *e = bare_operand(operand);
    const Tile *whole = e->kind == EXPR_INDEX ? plan_operand(plan, e->a) : NULL;

    if (!whole || !whole->shared || whole->computed || !whole->row || !whole->col || e->n_args != 2 || plan_operand(plan, e))
        return;
    int64_t at = whole - plan->tiles.data;
    const Extent *row = side_of_part(plan, e->args[0], whole->row), *col = side_of_part(plan, e->args[1], whole->col);
    if (!row || !col) {
        Diag *diag = plan_fail(plan, TW0602, e->span, "no part of %s that a product can take", whole->name);
        diag_note(plan->diags, diag, "bounds are known when compiling, within %s, multiples of %d, along sides that tiles have whole",
                  whole->name, plan->contracted_step);
        return;
    }
    Tile *part = make_tile(plan, part_name(plan, e));
    part->row = row;
    part->col = col;
    part->part_of = plan->tiles.data[at].name;
    part->shared_dtype = plan->tiles.data[at].shared_dtype;
}

static void infer_gemm(Plan *plan, const Stmt *s)
{
    for (int i = 0; i < s->n_args && !plan->failed; i++)
        infer_part(plan, s->args[i]);
    if (plan->failed)
        return;
    Tile *a = s->n_args == 2 ? plan_operand(plan, s->args[0]) : NULL;
    Tile *b = s->n_args == 2 ? plan_operand(plan, s->args[1]) : NULL;

    if (!a || !b) {
        plan_fail(plan, TW0602, s->span, "GEMM multiplies two tiles that were copied or computed");
        return;
    }
    bool from_registers = a->computed || (a->loaded && !a->shared); /* of two copies of memory that in shared memory */
    a->first_operand |= from_registers && !names_shared(s->args[0]);
    if (a->computed && names_shared(s->args[0]))
        note_operand(plan, a, b);
    if (b->computed)
        note_operand(plan, b, a);
    bool ta = plan_transposed(s->args[0]), tb = plan_transposed(s->args[1]);
    a->turned |= ta && a->computed && !names_shared(s->args[0]);
    const Extent *k = ta ? a->row : a->col, *k_b = tb ? b->col : b->row, *m = ta ? a->col : a->row, *n = tb ? b->row : b->col;
    bool few = (m && m->kind == EXT_ONE) || (n && n->kind == EXT_ONE);
    if (k)
        ((Extent *)k)->contracted = true;
    if (few || (k && k_b && (k->kind == EXT_ONE) != (k_b->kind == EXT_ONE))) {
        plan_fail(plan, TW0604, s->span, "%s has one element where the product wants as many as %s",
                  m && m->kind != EXT_ONE && few ? b->name : a->name, few ? "tensor cores take" : b->name);
        return;
    }
    infer_result(plan, s, ta ? a->col : a->row, tb ? b->row : b->col);
}

static void infer_state(Plan *plan, const Stmt *s, const Expr *e, const Extent *row)
{
    if (e->kind != EXPR_NAME) {
        plan_fail(plan, TW0602, e->span, "the state of a softmax is a plain name");
        return;
    }
    settle_tile(plan, s, e->name, row, plan_extent(plan, EXT_ONE, NULL));
    Tile *tile = make_tile(plan, e->name);
    tile->reg = tile->computed = tile->accumulated = true;
}

/* Define X (rows, cols): its dimensions are looked up like a tensor's. */
static void infer_define(Plan *plan, const Stmt *s)
{
    PlanTensor shape = plan_shaped(s, plan_result(s));
    Stmt none = {0};
    const Extent *row, *col;

    if (s->n_shape < 1) {
        plan_fail(plan, TW0602, s->span, "Define needs the dimensions of what it defines");
        return;
    }
    if (!tensor_extents(plan, &none, &shape, &row, &col))
        return;
    const Extent *block = shape.rank >= 2 && row == col && row->dim_name ? plan_in_grid(plan, row->dim_name) : NULL;
    infer_result(plan, s, block ? block : row, col); /* rows and columns along one dimension: the block's, the loop's */
}

/* Of what is as large as its first operand, or as its rows or columns. */
static bool takes_tile(OpClass class)
{
    return class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE || class == OPC_SOFTMAX || class == OPC_MASK || class == OPC_CAST;
}

static void infer_compute(Plan *plan, const Stmt *s)
{
    const Tile *first = s->n_args > 0 ? plan_operand(plan, s->args[0]) : NULL;
    const Extent *row = first ? first->row : NULL, *col = first ? first->col : NULL;

    if (!s->op_known) {
        plan_fail(plan, TW0602, s->op_span, "there is no operation %s", s->op_name);
        return;
    }
    if (!first && takes_tile(op_info(s->op)->class)) {
        plan_fail(plan, TW0401, s->n_args ? s->args[0]->span : s->span, "%s takes a tile that was copied or computed before", s->op_name);
        return;
    }
    switch (op_info(s->op)->class) {
    case OPC_ELEMENT:
        infer_element(plan, s);
        return;
    case OPC_ROW_REDUCE:
        infer_result(plan, s, row, plan_extent(plan, EXT_ONE, NULL));
        return;
    case OPC_COL_REDUCE:
        infer_result(plan, s, plan_extent(plan, EXT_ONE, NULL), col);
        return;
    case OPC_GEMM:
        infer_gemm(plan, s);
        return;
    case OPC_SOFTMAX:
        infer_result(plan, s, row, col);
        for (int i = 0; i < s->n_with && !plan->failed; i++)
            infer_state(plan, s, s->with[i], row);
        return;
    case OPC_MASK:
    case OPC_FILL:
    case OPC_CAST:
        infer_result(plan, s, row, col);
        return;
    case OPC_DEFINE:
        infer_define(plan, s);
        return;
    case OPC_GROUP_REDUCE:
    case OPC_REARRANGE:
    case OPC_SELECT:
        plan_fail(plan, TW0245, s->op_span, "%s works on whole tensors, not on tiles", s->op_name);
        return;
    }
}

/* ---- statements --------------------------------------------------------------------------------- */

static void infer_block(Plan *plan, const Block *block);

static void infer_loop(Plan *plan, const Stmt *s)
{
    if (!s->over) {
        plan_fail(plan, TW0603, s->span, "this loop has bounds, which are code; a sketch says `for %s over DIM`",
                  s->name);
        return;
    }
    Extent *extent = plan_loop(plan, s);
    if (!extent)
        return;
    vec_push(plan->arena, &plan->scope, extent);
    infer_block(plan, &s->body);
    plan->scope.len--;
}

static void infer_stmt(Plan *plan, const Stmt *s)
{
    switch (s->kind) {
    case STMT_COPY:
        infer_copy(plan, s);
        return;
    case STMT_COMPUTE:
        infer_compute(plan, s);
        return;
    case STMT_FOR:
        infer_loop(plan, s);
        return;
    case STMT_IF:
        infer_block(plan, &s->body);
        infer_block(plan, &s->orelse);
        return;
    case STMT_DEFINE:
        plan_fail(plan, TW0602, s->span, "operations of one's own are not known in a sketch");
        return;
    case STMT_ALLOCATE: /* refused before */
    case STMT_INPUT:
    case STMT_OUTPUT:
    case STMT_PARAM:
    case STMT_LET:
    case STMT_INDEX:
    case STMT_GRID:
    case STMT_ASSIGN:
    case STMT_RESHAPE:
    case STMT_SCHEDULE:
    case STMT_COUNT:
        return;
    }
}

static void infer_block(Plan *plan, const Block *block)
{
    if (plan->scope.len > PLAN_DEPTH)
        return;
    for (int i = 0; i < block->len && !plan->failed; i++)
        infer_stmt(plan, block->data[i]);
}

static int unknown_sides(const Plan *plan)
{
    int n = 0;

    for (int i = 0; i < plan->tiles.len; i++)
        n += !plan->tiles.data[i].row + !plan->tiles.data[i].col;
    return n;
}

enum { FEW_PANELS = 4 }; /* of a row, which bulk copies bring one by one */

/* Whether rows along the extent lie in shared memory. */
static bool lies_in_panels(const Plan *plan, const Extent *extent)
{
    for (int i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];

        if (tile->shared && tile->col == extent)
            return true;
    }
    return false;
}

/* What a whole dimension is padded to a multiple of: the tensor cores' depth. An odd multiple of that lies in
 * panels as narrow (lay_panel_for), and bulk copies bring rows of 32 bytes at one in two clocks at most
 * (seen on an H200: 80 in tiles 96 wide takes 0.90 of the time). So many panels are half as many of twice the width. */
static int64_t padding_step(const Plan *plan, const Extent *extent)
{
    int64_t step = plan->contracted_step, panels = (extent->known + step - 1) / step;
    bool many = panels > FEW_PANELS && panels % 2 != 0 && !extent->part;

    return many && plan->options->target->has_tma && lies_in_panels(plan, extent) ? 2 * step : step;
}

/* A number that is written where another tensor has a name for it is the same size, which products may sum along. */
static void pad_numbers(Plan *plan)
{
    for (int i = 0; i < plan->extents.len; i++)
        for (int k = 0; k < plan->extents.len; k++) {
            Extent *a = plan->extents.data[i], *b = plan->extents.data[k];

            if (a->kind == EXT_WHOLE && b->kind == EXT_WHOLE && !b->dim_name && a->known == b->known && a->fixed != b->fixed)
                a->fixed = b->fixed = a->fixed > b->fixed ? a->fixed : b->fixed;
        }
}

/* Whether a loop goes over a dimension that tiles elsewhere have whole. */
static bool is_streamed(const Plan *plan, const Extent *whole)
{
    for (int i = 0; whole->dim_name && i < plan->extents.len; i++) {
        const Extent *other = plan->extents.data[i];

        if (other->kind == EXT_LOOP && other->dim_name && strcmp(other->dim_name, whole->dim_name) == 0)
            return true;
    }
    return false;
}

/* What is kept whole must be known when compiling. */
static void check_whole(Plan *plan)
{
    for (int i = 0; i < plan->extents.len; i++) {
        Extent *extent = plan->extents.data[i];

        if (extent->kind != EXT_WHOLE)
            continue;
        bool padded = extent->known > 1 ||
                      (extent->dim_name && is_multiplied(plan, &plan->unit->body, extent->dim_name));
        int64_t step = padded ? padding_step(plan, extent) : 1;
        extent->fixed = (extent->known + step - 1) / step * step;
        if (extent->known > 0)
            continue;
        const char *name = extent->dim_name ? extent->dim_name : "a dimension";
        Diag *diag = plan_fail(plan, TW0605, extent->dim->span, "%s must be known when compiling: --set %s=128",
                               name, name);
        diag_note(plan->diags, diag, is_streamed(plan, extent) ? "a Copy outside of the loop over %s keeps it whole; within the loop it takes one tile after the other"
                                                               : "tiles keep it whole, and a tile's size is part of the kernel", name);
    }
    pad_numbers(plan);
}

/* Whether blocks add what they have to a tensor. */
static bool adds_up(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_COPY && s->result == RESULT_ACCUMULATE) || adds_up(&s->body) || adds_up(&s->orelse))
            return true;
    }
    return false;
}

/* A product sums along all of a dimension, so where that is spread over blocks as well, one has all of it:
 * a tile that has rows along the same dimension as the block's is not to be a part of what is summed. */
static void check_sums(Plan *plan)
{
    int64_t step = plan->contracted_step;

    for (int i = 0; i < plan->extents.len && !plan->failed; i++) {
        Extent *extent = plan->extents.data[i];
        const char *name = extent->dim_name ? extent->dim_name : "a dimension";

        if ((extent->kind != EXT_ROWS && extent->kind != EXT_COLS) || !extent->contracted || adds_up(&plan->unit->body))
            continue;
        if (extent->known > 0 && (!extent->fixed || extent->fixed >= extent->known)) {
            extent->fixed = (extent->known + step - 1) / step * step;
            continue;
        }
        Diag *diag = plan_fail(plan, TW0605, extent->dim ? extent->dim->span : plan->unit->name_span,
                               extent->known ? "%s is summed along, so that one block has all of it" :
                               "%s must be known when compiling: --set %s=128", name, name);
        diag_note(plan->diags, diag, "a product sums along %s, which is spread over blocks: of two dimensions give each its name", name);
    }
}

static void infer_all(Plan *plan)
{
    int before, after = -1;

    do {
        before = after;
        infer_block(plan, &plan->unit->body);
        after = unknown_sides(plan) + 1000 * plan->tiles.len;
    } while (!plan->failed && after != before);
}

/* ---- elements at the coordinates that other elements give ------------------------------------ */

/* Whether an expression differs from row to row of a block's tiles. */
static bool follows_rows(const Plan *plan, const Extent *rows, const Expr *e)
{
    if (e->kind == EXPR_ELLIPSIS)
        return true;
    if (e->kind == EXPR_NAME || e->kind == EXPR_CALL) {
        const Stmt *index = plan_index(plan, e->name);
        const char *dim = index ? index->over : e->name;

        if ((text_equal_nocase(e->name, "row") && !plan_is_param(plan, e->name)) || (rows->dim_name && strcmp(dim, rows->dim_name) == 0))
            return true;
    }
    for (int i = 0; i < e->n_args; i++)
        if (follows_rows(plan, rows, e->args[i]))
            return true;
    return (e->a && follows_rows(plan, rows, e->a)) || (e->b && follows_rows(plan, rows, e->b));
}

/* `Table[Id[row], col]`: the element of a tensor at a coordinate that another one has
 * for each row. */
static bool looks_up(const Plan *plan, const Extent *rows, const Expr *e, bool inside)
{
    bool element = e->kind == EXPR_INDEX;

    for (int i = 0; i < e->n_args; i++)
        if ((element && inside && follows_rows(plan, rows, e->args[i])) || looks_up(plan, rows, e->args[i], inside || element))
            return true;
    return (e->a && looks_up(plan, rows, e->a, inside)) || (e->b && looks_up(plan, rows, e->b, inside));
}

static bool any_looks_up(const Plan *plan, const Extent *rows, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *e = s->kind != STMT_COMPUTE ? NULL : s->where ? s->where : s->value;

        if ((e && looks_up(plan, rows, e, false)) || any_looks_up(plan, rows, &s->body) || any_looks_up(plan, rows, &s->orelse))
            return true;
    }
    return false;
}

bool plan_looks_up(const Plan *plan)
{
    for (int i = 0; i < plan->grid.len; i++)
        if (plan->grid.data[i]->kind == EXT_ROWS && any_looks_up(plan, plan->grid.data[i], &plan->unit->body))
            return true;
    return false;
}

/* A coordinate is one integer for the whole tile: where it differs from row to row,
 * tiles have one row. The tensor cores have no such tiles. */
static void single_rows(Plan *plan)
{
    for (int i = 0; i < plan->extents.len; i++) {
        Extent *extent = plan->extents.data[i];

        if (extent->kind == EXT_ROWS && !extent->fixed && plan_in_rows(plan) &&
            any_looks_up(plan, extent, &plan->unit->body)) {
            extent->fixed = 1;
            extent->looked_up = true;
        }
    }
}

/* Whether the tile is nothing but a number that it is filled with. */
static bool only_filled(const Block *block, const char *name, bool *filled)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const char *result = s->kind == STMT_COMPUTE ? plan_result(s) : s->kind == STMT_COPY ? copy_dest(s) : NULL;
        bool fill = s->kind == STMT_COMPUTE && s->op_known && s->op == OP_FILL, state = false;

        for (int k = 0; k < s->n_with; k++)
            state |= expr_mentions(s->with[k], name);
        if (state || (result && strcmp(result, name) == 0 && !fill))
            return false;
        *filled |= fill && result && strcmp(result, name) == 0;
        if (!only_filled(&s->body, name, filled) || !only_filled(&s->orelse, name, filled))
            return false;
    }
    return true;
}

/* One element of it is as good as many. */
static void shrink_numbers(Plan *plan)
{
    for (int i = 0; i < plan->tiles.len; i++) {
        Tile *tile = &plan->tiles.data[i];
        bool filled = false;

        if ((tile->row && tile->col) || !only_filled(&plan->unit->body, tile->name, &filled) || !filled)
            continue;
        const Extent *row = tile->row ? tile->row : plan_extent(plan, EXT_ONE, NULL);
        const Extent *col = tile->col ? tile->col : plan_extent(plan, EXT_ONE, NULL);
        plan->tiles.data[i].row = row;
        plan->tiles.data[i].col = col;
    }
}

bool plan_infer(Plan *plan)
{
    infer_all(plan);
    plan->settled = true; /* what is open now has nothing wider to learn from */
    if (!plan->failed && unknown_sides(plan) > 0)
        infer_all(plan);
    if (!plan->failed && unknown_sides(plan) > 0) {
        shrink_numbers(plan);
        infer_all(plan);
    }
    for (int i = 0; i < plan->tiles.len && !plan->failed; i++)
        if (!plan->tiles.data[i].row || !plan->tiles.data[i].col)
            plan_fail(plan, TW0604, plan->unit->name_span, "nothing says how large %s is",
                      plan->tiles.data[i].name);
    if (!plan->failed)
        check_whole(plan);
    if (!plan->failed)
        check_sums(plan);
    if (!plan->failed)
        single_rows(plan);
    return !plan->failed;
}
