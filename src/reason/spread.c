/* spread.c: where no choice fits, blocks are spread over the outputs' columns as well.
 *
 * A product's accumulator is as wide as its output, 512 columns of latent values, say, whose
 * registers no warps have who keep their rows whole. If nothing sums or compares along those
 * columns, blocks may have a part of them each. What does not depend on the columns, such as scores
 * and their softmax, each of these blocks then computes again: that is the price.
 *
 *   Grid over q_len, heads        ->     Grid over q_len, VDim, heads
 */
#include "reason/plan.h"

/* The last dimension of every output, where all have the same; NULL: they differ. */
static const Expr *columns_of_outputs(const Plan *plan)
{
    const Expr *found = NULL;

    for (int i = 0; i < plan->tensors.len; i++) {
        const PlanTensor *t = &plan->tensors.data[i];
        const Expr *last = t->rank > 1 ? t->stmt->shape[t->rank - 1] : NULL;

        if (!t->is_output)
            continue;
        if (!last || last->kind != EXPR_NAME || (found && strcmp(found->name, last->name) != 0))
            return NULL;
        found = last;
    }
    return found;
}

static bool is_of(const Extent *extent, const char *dim)
{
    return extent && extent->dim_name && strcmp(extent->dim_name, dim) == 0;
}

/* Whether the statement takes the columns for one row: a sum, a maximum, a softmax, a whole-tensor operation. */
static bool needs_columns(Plan *plan, const Stmt *s, const char *dim)
{
    const Tile *first = s->kind == STMT_COMPUTE && s->n_args > 0 ? plan_operand(plan, s->args[0]) : NULL;

    if (!first || !s->op_known || !is_of(first->col, dim))
        return false;
    switch (op_info(s->op)->class) {
    case OPC_ROW_REDUCE: case OPC_SOFTMAX: case OPC_GROUP_REDUCE: case OPC_REARRANGE: case OPC_SELECT:
        return true;
    case OPC_ELEMENT: case OPC_COL_REDUCE: case OPC_GEMM: case OPC_MASK: case OPC_FILL: case OPC_CAST: case OPC_DEFINE:
        break;
    }
    return false;
}

static bool needed_in(Plan *plan, const Block *block, const char *dim)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (needs_columns(plan, s, dim) || (s->over && strcmp(s->over, dim) == 0) || needed_in(plan, &s->body, dim) ||
            needed_in(plan, &s->orelse, dim))
            return true;
    }
    return false;
}

/* Whether the dimension is but columns, which nothing contracts, streams or has as rows. */
static bool is_free(Plan *plan, const char *dim)
{
    for (int i = 0; i < plan->extents.len; i++) {
        const Extent *extent = plan->extents.data[i];

        if (is_of(extent, dim) && (extent->kind != EXT_WHOLE || extent->contracted))
            return false;
    }
    for (int i = 0; i < plan->tiles.len; i++)
        if (is_of(plan->tiles.data[i].row, dim))
            return false;
    return !needed_in(plan, &plan->unit->body, dim);
}

/* The grid with one more dimension, beside the rows. */
static Stmt *wider_grid(Plan *plan, const Stmt *grid, const Expr *columns)
{
    Stmt *wider = arena_new_of(plan->arena, Stmt);

    *wider = *grid;
    wider->n_coords = grid->n_coords + 1;
    wider->coords = arena_array(plan->arena, Coord, wider->n_coords);
    for (int i = 0, at = 0; i < wider->n_coords; i++)
        wider->coords[i] = i == 1 ? (Coord){columns->name, columns->span, NULL} : grid->coords[at++];
    return wider;
}

const Unit *plan_spread(Plan *plan)
{
    const Expr *columns = columns_of_outputs(plan);
    Unit *unit = arena_new_of(plan->arena, Unit);

    if (!columns || plan->options->roomy || !is_free(plan, columns->name))
        return NULL;
    *unit = *plan->unit;
    memset(&unit->body, 0, sizeof unit->body);
    for (int i = 0; i < plan->unit->body.len; i++) {
        Stmt *s = plan->unit->body.data[i];

        if (s->kind == STMT_GRID && s->n_coords < 1)
            return NULL;
        vec_push(plan->arena, &unit->body, s->kind == STMT_GRID ? wider_grid(plan, s, columns) : s);
    }
    return unit;
}
