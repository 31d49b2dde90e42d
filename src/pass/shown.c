/* shown.c: does an output of the program show a value to fp32's precision?
 *
 * Values are followed to where they are stored. What rounds to 16 or 8 bits ends the
 * search, and so does a product, whose operands were rounded; an online softmax does as well, since
 * its results have rules of their own. A workspace is shown where the program has any
 * output in fp32: what later kernels make of it is not followed.
 */
#include "pass/shown.h"

typedef struct Search {
    const TileProgram *program;
    bool *made;    /* by value id: of the values in question */
    bool sums;     /* only what is added to them, or multiplies them, is followed, up to outputs */
    bool changed, stored;
} Search;

static bool is_in_full(const TileTensor *t)
{
    return dtype_is_float(t->dtype) && !dtype_is_narrow(t->dtype);
}

static bool program_shows(const TileProgram *program)
{
    for (int i = 0; i < program->tensors.len; i++) {
        const TileTensor *t = program->tensors.data[i];
        if (t->written && !t->workspace && is_in_full(t)) return true;
    }
    return false;
}

static void mark(Search *s, const TileValue *v)
{
    if (s->made[v->id] || dtype_is_narrow(v->type.dtype)) return;
    s->made[v->id] = s->changed = true;
}

static bool takes_marked(const Search *s, const TileOp *op)
{
    for (int i = 0; i < op->n_args; i++)
        if (s->made[op->args[i]->id] && (op->kind != TILE_GEMM || i == 2)) return true;
    return false;
}

/* What a region yields is a result of its operation, and what a loop carries on. */
static void follow_yield(Search *s, const TileOp *owner, const TileBlock *region)
{
    const TileOp *yield = region->ops.len > 0 ? region->ops.data[region->ops.len - 1] : NULL;
    for (int k = 0; yield && yield->kind == TILE_YIELD && k < yield->n_args; k++) {
        if (!s->made[yield->args[k]->id]) continue;
        mark(s, owner->results[k]);
        if (owner->kind == TILE_FOR) mark(s, region->params.data[k]);
    }
}

/* A logarithm or a quotient of sums shows less of them. */
static bool keeps_sums(const TileOp *op)
{
    return op->kind != TILE_ELEMENT || op->op == OP_ADD || op->op == OP_MULTIPLY || op->op == OP_FMA;
}

static void follow_block(Search *s, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) {
            for (int k = 0; op->kind == TILE_FOR && k < op->n_args; k++)
                if (s->made[op->args[k]->id]) mark(s, op->regions[r]->params.data[k]), mark(s, op->results[k]);
            follow_block(s, op->regions[r]);
            follow_yield(s, op, op->regions[r]);
        }
        if (op->n_regions > 0 || op->kind == TILE_SOFTMAX || !takes_marked(s, op) || (s->sums && !keeps_sums(op))) continue;
        if (op->kind == TILE_STORE && is_in_full(op->tensor)) s->stored |= !op->tensor->workspace || (!s->sums && program_shows(s->program));
        for (int k = 0; k < op->n_results; k++) mark(s, op->results[k]);
    }
}

static bool is_stored(Search *s, const TileKernel *kernel)
{
    do {
        s->changed = false;
        follow_block(s, kernel->body);
    } while (s->changed && !s->stored);
    return s->stored;
}

bool shown_in_full(const TileProgram *program, const TileKernel *kernel, TileValue *const *values, int n)
{
    Search s = {.program = program, .made = arena_array(program->arena, bool, kernel->next_value)};
    for (int i = 0; i < n; i++) mark(&s, values[i]);
    return is_stored(&s, kernel);
}

bool shown_as_sum(const TileProgram *program, const TileKernel *kernel, const TileValue *sum)
{
    Search s = {.program = program, .made = arena_array(program->arena, bool, kernel->next_value), .sums = true};
    mark(&s, sum);
    return is_stored(&s, kernel);
}
