/* sink.c: what is made of columns behind a choice is made within it.
 *
 *   %l, %o = if c {                        %z, %o = if c {
 *     ...                                    ...
 *     %o1 = gemm %p, %v, %o0                 %o1 = gemm %p, %v, %o0
 *     yield %l1, %o1                         %z1 = divide 1, %l1
 *   } else { yield %l0, %o0 }       ->       yield %z1, %o1
 *   %z = divide 1, %l                      } else { %z0 = divide 1, %l0; yield %z0, %o0 }
 *   %x = multiply %o, %z                   %x = multiply %o, %z
 *
 * A choice ends with all of its products waited for (issue.c). What needs none of them
 * is done meanwhile. */
#include "pass/sink.h"

#include "pass/copies.h"

typedef struct Sinker {
    TileProgram *program;
    TileKernel *kernel;
    TileOp *choice;
    Copier copiers[2];
    TileOp *yields[2];
    bool *within;      /* by value id: the choice's results, and what is made of them within it */
} Sinker;

static bool is_product(const Sinker *s, TileValue *v)
{
    for (int r = 0; r < 2; r++) {
        const TileValue *made = copied(&s->copiers[r], v);
        if (made->def && made->def->kind == TILE_GEMM) return true;
    }
    return false;
}

static bool may_sink(const Sinker *s, const TileOp *op)
{
    bool needs = false;
    if ((op->kind != TILE_ELEMENT && op->kind != TILE_REDUCE) || op->results[0]->type.cols != 1) return false;
    for (int k = 0; k < op->n_args; k++) {
        needs |= s->within[op->args[k]->id];
        if (is_product(s, op->args[k])) return false;
    }
    return needs;
}

/* Values that are made between the choice and their use, numbers aside, are not to be had
 * within it. */
static bool has_all(const Sinker *s, const TileBlock *block, int from, const TileOp *op)
{
    for (int k = 0; k < op->n_args; k++)
        for (int i = from; block->ops.data[i] != op; i++) {
            const TileOp *def = block->ops.data[i];
            if (op->args[k]->def == def && def->kind != TILE_FILL && !s->within[op->args[k]->id]) return false;
        }
    return true;
}

static void copy_into(Sinker *s, int r, const TileBlock *block, int at)
{
    TileBlock *region = s->choice->regions[r];
    tile_remove(region, region->ops.len - 1);
    copy_ops(&s->copiers[r], block, at, at + 1, region);
    tile_append(s->program, region, s->yields[r]);
}

/* The operation's result becomes one of the choice's. */
static void sink(Sinker *s, TileBlock *block, int at)
{
    TileOp *choice = s->choice, *op = block->ops.data[at];
    TileValue **results = arena_array(s->program->arena, TileValue *, choice->n_results + 1);
    for (int r = 0; r < 2; r++) {
        copy_into(s, r, block, at);
        rw_yield(s->program, choice->regions[r], copied(&s->copiers[r], op->results[0]));
    }
    for (int i = 0; i < choice->n_results; i++) results[i] = choice->results[i];
    results[choice->n_results++] = op->results[0];
    choice->results = results;
    op->results[0]->def = choice;
    s->within[op->results[0]->id] = true;
    tile_remove(block, at);
}

static void drop_unused(const Sinker *s)
{
    TileOp *choice = s->choice;
    int n = 0;
    for (int i = 0; i < choice->n_results; i++) {
        if (tile_count_uses(s->kernel->body, choice->results[i]) == 0) continue;
        choice->results[n] = choice->results[i];
        for (int r = 0; r < 2; r++) s->yields[r]->args[n] = s->yields[r]->args[i];
        n++;
    }
    choice->n_results = n;
    for (int r = 0; r < 2; r++) s->yields[r]->n_args = n;
}

void sink_columns(TileProgram *program, TileKernel *kernel, TileBlock *block, int at)
{
    TileOp *choice = block->ops.data[at];
    Sinker s = {.program = program, .kernel = kernel, .choice = choice, .within = arena_array(program->arena, bool, kernel->next_value)};
    for (int r = 0; r < 2; r++) {
        TileBlock *region = choice->regions[r];
        s.copiers[r] = copier_new(program, kernel, NULL, NULL);
        s.yields[r] = region->ops.data[region->ops.len - 1];
        for (int i = 0; i < choice->n_results; i++) copier_map(&s.copiers[r], choice->results[i], s.yields[r]->args[i]);
    }
    for (int i = 0; i < choice->n_results; i++) s.within[choice->results[i]->id] = true;
    for (int i = at + 1; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_FILL && op->results[0]->type.rows == 1)
            for (int r = 0; r < 2; r++) copy_into(&s, r, block, i);
        else if (may_sink(&s, op) && has_all(&s, block, at + 1, op))
            sink(&s, block, i--);
    }
    drop_unused(&s);
}
