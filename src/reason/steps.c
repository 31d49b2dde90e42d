/* steps.c: statements with what their names stand for, looked up once for all choices.
 *
 * A choice is rated by a walk through the sketch. What that walk wants to know of a
 * statement besides sizes is the same for all choices: the tiles that it names, the
 * tensor that a copy is of, the extent of a loop, what its expressions read.
 */
#include "reason/plan.h"

static Steps steps_of(Plan *plan, const Block *block);

static const Tile *tile_named(Plan *plan, const char *name)
{
    return name ? plan_tile(plan, name) : NULL;
}

static const Tile **tiles_of(Plan *plan, Expr **operands, int n)
{
    const Tile **tiles = arena_array(plan->arena, const Tile *, n > 0 ? n : 1);

    for (int i = 0; i < n; i++)
        tiles[i] = plan_operand(plan, operands[i]);
    return tiles;
}

static bool fills_result(const Stmt *s)
{
    return s->op_known && !s->dest && (s->op == OP_FILL || s->op == OP_DEFINE);
}

static void resolve_compute(Plan *plan, Step *step)
{
    const Stmt *s = step->stmt;

    step->known = s->op_known;
    step->gemm = s->op_known && s->op == OP_GEMM;
    if (s->op_known)
        step->class = op_info(s->op)->class;
    if (fills_result(s)) /* which it names, and does not read */
        step->args[0] = NULL;
    step->result = tile_named(plan, plan_result(s));
    if (step->result)
        plan_find_reads(plan, s, step->result, &step->reads);
    step->made = plan_made_of(plan, step);
}

static void resolve_copy(Plan *plan, Step *step)
{
    const Stmt *s = step->stmt;

    step->dest = tile_named(plan, copy_dest(s));
    step->copied = tile_named(plan, copy_tile(s));
    step->from = s->space == SPACE_REGISTER ? tile_named(plan, s->name) : NULL;
    step->tensor = plan_copied(plan, s);
    step->bring = plan_brings(plan, step);
}

static Step step_of(Plan *plan, const Stmt *s)
{
    Step step = {.stmt = s};

    step.args = tiles_of(plan, s->args, s->n_args);
    step.with = tiles_of(plan, s->with, s->n_with);
    if (s->kind == STMT_COMPUTE)
        resolve_compute(plan, &step);
    if (s->kind == STMT_COPY)
        resolve_copy(plan, &step);
    if (s->kind == STMT_FOR && (step.extent = plan_loop(plan, s)))
        step.parts = plan_parts(plan, s);
    step.body = steps_of(plan, &s->body);
    step.orelse = steps_of(plan, &s->orelse);
    return step;
}

static Steps steps_of(Plan *plan, const Block *block)
{
    Steps steps = {arena_array(plan->arena, Step, block->len > 0 ? block->len : 1), block->len};

    for (int i = 0; i < block->len; i++)
        steps.data[i] = step_of(plan, block->data[i]);
    return steps;
}

/* ---- what loops copy again ------------------------------------------------------------------ */

static bool copies_alike(const Step *a, const Step *b)
{
    if (a->bring == BRING_NONE || b->bring == BRING_NONE || a->tensor != b->tensor || a->dest != b->dest || a->tensor->is_output ||
        a->stmt->n_coords != b->stmt->n_coords || a->stmt->where || b->stmt->where)
        return false;
    for (int i = 0; i < a->stmt->n_coords; i++)
        if (!expr_equal(a->stmt->coords[i].value, b->stmt->coords[i].value))
            return false;
    return true;
}

/* Marks what a loop copies that an earlier one did. Returns whether there is any. */
static bool mark_between(const Step *first, const Step *later)
{
    bool any = false;

    for (int i = 0; i < first->body.len; i++)
        for (int k = 0; k < later->body.len; k++)
            if (copies_alike(&first->body.data[i], &later->body.data[k])) {
                first->body.data[i].again = first->body.data[i].again ? first->body.data[i].again : AGAIN_FIRST;
                later->body.data[k].again = AGAIN_LATER;
                any = true;
            }
    return any;
}

static bool mark_again(const Steps *steps)
{
    bool any = false;

    for (int i = 0; i < steps->len; i++)
        for (int k = i + 1; k < steps->len && steps->data[i].stmt->kind == STMT_FOR; k++)
            if (steps->data[k].stmt->kind == STMT_FOR && steps->data[i].extent && steps->data[i].extent == steps->data[k].extent)
                any |= mark_between(&steps->data[i], &steps->data[k]);
    return any;
}

void plan_find_steps(Plan *plan)
{
    plan->steps = steps_of(plan, &plan->unit->body);
    plan->counts = plan_count_steps(&plan->steps);
    plan->counts.again = plan->counts.all_products == 0 && mark_again(&plan->steps);
    plan->counts.unaligned = plan_is_unaligned(plan, &plan->steps);
}
