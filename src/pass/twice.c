/* twice.c: of rows that are kept on chip a softmax takes the maximum first.
 *
 * An online softmax goes over a row once: each turn brings what was summed so far to a new maximum, which all lanes
 * of the row have to agree on. Where shared memory keeps the row (keep.c), to go over it once more costs less:
 *
 *   %m, %l = for k = 0:n carry (%m0, %l0 = 0) {        %m = for k = 0:n carry (%m0) {
 *     %x = load X[k * 512 : cols]                        %x = load X[k * 512 : cols]
 *     %p, %m1, %l1, %a = softmax %x, %m0, %l0            yield max(%m0, rowmax(%x))
 *     yield %m1, %l1                              ->   }
 *   }                                                  %l = for k = 0:n carry (%l0 = 0) {
 *                                                        %x = load X[k * 512 : cols]
 *                                                        yield %l0 + rowsum(exp(%x - %m))
 *                                                      }
 *
 * The entry for any alignment, whose rows no asynchronous copies bring unless they have a window (window.c), is as it was: a
 * kernel of its own from here on.
 * And where loops may have more turns than are kept, the kernel is there twice:
 *
 *   if ceil(N / 512) <= 8 { ... } else { ... }
 */
#include "pass/cluster.h"
#include "pass/copies.h"
#include "pass/keep.h"
#include "pass/launched.h"
#include "pass/passes.h"
#include "pass/rows.h"

static const double LOWEST = -0x1p+126; /* as expand.c has it: a row without elements has weights of 0 */

typedef struct Twice {
    TileProgram *program;
    TileKernel *kernel;
    TileBlock *block;
    TileOp *loop, *softmax;
    int m, l; /* positions among what the loop carries */
} Twice;

/* Whether a value is made of what the loop's turns bring alone. */
static bool needs_no_turn(const TileBlock *body, const TileValue *v)
{
    const TileOp *op = v->def;
    if (!op) return tile_param_of(body, v) < 0;
    if (tile_index_of(body, op) < 0) return true;
    if (op->n_regions > 0) return false;
    for (int i = 0; i < op->n_args; i++)
        if (!needs_no_turn(body, op->args[i])) return false;
    return true;
}

/* Whether the softmax only finds a row's maximum and its sum. */
static bool only_sums(Twice *t)
{
    const TileBlock *body = t->loop->regions[0];
    const TileOp *op = t->softmax, *yield = body->ops.data[body->ops.len - 1];
    double l0;
    t->m = tile_param_of(body, op->args[1]);
    t->l = tile_param_of(body, op->args[2]);
    if (t->m < 0 || t->l < 0 || t->m == t->l || !rw_number(t->loop->args[t->l], &l0) || l0 != 0) return false;
    if (yield->args[t->m] != op->results[1] || yield->args[t->l] != op->results[2]) return false;
    if (tile_count_uses(body, op->args[1]) != 1 || tile_count_uses(body, op->args[2]) != 1) return false;
    if (tile_count_uses(body, op->results[1]) != 1 || tile_count_uses(body, op->results[2]) != 1) return false;
    return tile_count_uses(body, op->results[0]) == 0 && tile_count_uses(body, op->results[3]) == 0 && needs_no_turn(body, op->args[0]);
}

/* What each turn leaves in memory the other loop stores: once is enough, and what is read for it alone is not read again. */
static void remove_stores(TileBlock *block)
{
    for (int i = block->ops.len - 1; i >= 0; i--) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) remove_stores(op->regions[r]);
        if (op->kind == TILE_STORE) tile_remove(block, i);
    }
}

/* The loop that finds the maximum, in front of the other. */
static TileValue *maximum(const Twice *t)
{
    TileProgram *program = t->program;
    const TileBlock *body = t->loop->regions[0];
    TileValue *m0 = t->loop->args[t->m];
    Rewriter rw = {program, t->kernel, t->block, tile_index_of(t->block, t->loop), t->loop->loc};
    TileOp *first = rw_same_turns(&rw, t->loop, 1, &m0);
    TileBlock *out = first->regions[0];
    first->note = "the maximum first: the row is kept";
    vec_push(program->arena, &out->params, tile_value_new(program, t->kernel, m0->type, m0->name));
    Copier turn = copier_new(program, t->kernel, t->loop->var, aff_of(program->aff, first->var));
    copy_ops(&turn, body, 0, tile_index_of(body, t->softmax), out);
    Rewriter end = {program, t->kernel, out, out->ops.len, t->softmax->loc};
    TileValue *m1 = rw_binary(&end, OP_MAX, out->params.data[0], rw_reduce_rows(&end, OP_ROW_MAX, copied(&turn, t->softmax->args[0])));
    rw_yield_all(program, t->kernel, out, &m1, 1);
    remove_stores(out);
    rw_remove_dead(out);
    rw_stand_for(t->kernel->body, t->loop->results[t->m], first->results[0]);
    return first->results[0];
}

/* The loop itself only sums, of what the maximum is known to be. */
static void sum_alone(const Twice *t, TileValue *m)
{
    TileBlock *body = t->loop->regions[0];
    TileOp *yield = body->ops.data[body->ops.len - 1];
    Rewriter before = {t->program, t->kernel, t->block, tile_index_of(t->block, t->loop), t->softmax->loc};
    TileValue *lowest = rw_fill(&before, LOWEST), *ref = rw_binary(&before, OP_MAX, m, lowest);
    Rewriter rw = {t->program, t->kernel, body, tile_index_of(body, t->softmax), t->softmax->loc};
    TileValue *p = rw_unary(&rw, OP_EXP, rw_binary(&rw, OP_SUBTRACT, t->softmax->args[0], ref));
    yield->args[t->l] = rw_binary(&rw, OP_ADD, t->softmax->args[2], rw_reduce_rows(&rw, OP_ROW_SUM, p));
    rw_remove(body, t->softmax);
    rw_carry_less(t->loop, t->m);
}

static void twice_in(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        Twice t = {.program = program, .kernel = kernel, .block = block, .loop = block->ops.data[i]};
        if (t.loop->kind != TILE_FOR) continue;
        const TileBlock *body = t.loop->regions[0];
        for (int k = 0; k < body->ops.len && !t.softmax; k++)
            if (body->ops.data[k]->kind == TILE_SOFTMAX) t.softmax = body->ops.data[k];
        if (!t.softmax || !only_sums(&t) || !keep_reads_again(program, kernel, block, t.loop)) continue;
        sum_alone(&t, maximum(&t));
        i = tile_index_of(block, t.loop) - 1; /* there may be another one in it */
    }
}

static bool says_how(const TileKernel *kernel)
{
    return kernel->schedule.value[SCHED_SOFTMAX] != SCHED_AUTO || kernel->schedule.value[SCHED_SUMS] != SCHED_AUTO;
}

/* Unless all turns are kept in every launch: the kernel as it is for the others. Gives the part where they are. */
static TileBlock *apart(TileProgram *program, TileKernel *kernel, const Aff *fits)
{
    if (aff_always(program->aff, launched(program, kernel, fits))) return kernel->body;
    TileBlock *body = kernel->body, *both = tile_block_new(program);
    TileOp *choice = rw_choice(program, kernel, fits, NULL, 0, kernel->loc);
    Copier other = copier_new(program, kernel, NULL, NULL);
    copy_ops(&other, body, 0, body->ops.len, choice->regions[1]);
    choice->regions[0] = body;
    for (int r = 0; r < 2; r++) rw_yield_all(program, kernel, choice->regions[r], NULL, 0);
    tile_append(program, both, choice);
    kernel->body = both;
    return body;
}

/* Seen through a window, which begins before the row, the longest rows have a turn more than others. There are places for that as well
 * where with those all rows that a launch has are kept: else they would be read again, and the kernel be there twice. */
static const Aff *fits_with_one_more(TileProgram *program, TileKernel *kernel, const Target *target, const Aff *fits, int blocks)
{
    if (!kernel->window.sym || aff_always(program->aff, launched(program, kernel, fits))) return fits;
    if (!keep_has_room(program, kernel, kernel->body, target, kernel->kept + 1)) return fits;
    kernel->kept++;
    const Aff *more = keep_fits(program, kernel, kernel->body, blocks);
    if (aff_always(program->aff, launched(program, kernel, more))) return more;
    kernel->kept--;
    return fits;
}

bool pass_twice(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)diags;
    int blocks = cluster_wanted(kernel, target);
    const Aff *fits = kernel->kept > 0 && rows_without_fragments(kernel) ? keep_fits(program, kernel, kernel->body, blocks) : NULL;
    if (!fits) return true;
    if (!kernel->plain && !kernel->is_plain) {
        kernel->plain = tile_kernel_clone(program, kernel);
        kernel->plain->is_plain = true;
        kernel->plain->kept = 0;
    }
    TileBlock *block = apart(program, kernel, fits_with_one_more(program, kernel, target, fits, blocks));
    if (!says_how(kernel)) twice_in(program, kernel, block);
    return true;
}
