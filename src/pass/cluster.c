/* cluster.c: blocks of a cluster go over a row together.
 *
 * A row that one block has no room for is kept by several (keep.c), each its part of the turns. What loops carry is reduced
 * behind them (behind.c), over all blocks then; what is stored once a row, the first block stores:
 *
 *   grid(m: M)                                       grid(part: 4 cluster, m: M)
 *   %t = for k = 0:32 carry (%t0 = 0) {              %t = for k = 0:8 carry (%t0 = 0) {
 *     %x = load X[m, k * 512 : cols]                   %x = load X[m, part * 4096 + k * 512 : cols]
 *     yield %t0 + %x                                   yield %t0 + %x
 *   }                                         ->     }
 *                                                    barrier across
 *   %s = rowsum %t along columns                     %s = rowsum %t along columns across
 *   store %s, L[m]                                   if part == 0 { store %s, L[m] }
 *
 * Parts are as even as turns allow: 33 of them over 4 blocks are 9, 9, 9 and 6.
 */
#include "pass/cluster.h"

#include "pass/keep.h"
#include "pass/rows.h"

int cluster_wanted(const TileKernel *kernel, const Target *target)
{
    int most = kernel->kept > 0 ? target->cluster_blocks : 0;
    return kernel->cluster > 1 && most > 1 ? (kernel->cluster < most ? kernel->cluster : most) : 1;
}

/* ---- may they ----------------------------------------------------------------------------- */

/* The first loop, whose turns the others have as well. */
static const TileOp *first_loop(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++)
        if (block->ops.data[i]->kind == TILE_FOR) return block->ops.data[i];
    return NULL;
}

/* Whether the loop's value i is of all turns what `how` reduces: a column of a row for itself, turn by turn. */
static bool carries_parts(const TileOp *loop, int i, const RowStep *how)
{
    const TileBlock *body = loop->regions[0];
    const TileValue *param = body->params.data[i];
    const TileOp *yield = body->ops.data[body->ops.len - 1], *step = yield->args[i]->def;
    double init;
    if (!rw_number(loop->args[i], &init) || init != how->nothing || tile_count_uses(body, param) != 1) return false;
    if (!step || step->kind != TILE_ELEMENT || tile_index_of(body, step) < 0 || tile_count_uses(body, step->results[0]) != 1) return false;
    bool adds = how->step == OP_ADD && step->op == OP_FMA && step->args[2] == param;
    return adds || (step->op == how->step && (step->args[0] == param || step->args[1] == param));
}

/* Whether what the loop at block[at] carries is reduced behind it, and has no other use. */
static bool is_reduced_behind(const TileBlock *block, int at)
{
    const TileOp *loop = block->ops.data[at];
    for (int i = 0; i < loop->n_results; i++) {
        int use = tile_first_use(block, at + 1, loop->results[i]);
        const TileOp *reduce = use < 0 ? NULL : block->ops.data[use];
        const RowStep *how = reduce && reduce->n_results == 1 ? rows_step_along(reduce->results[0]) : NULL;
        if (!reduce && tile_count_uses(loop->regions[0], loop->regions[0]->params.data[i]) == 0) continue;
        if (!how || reduce->args[0] != loop->results[i] || loop->results[i]->type.cols == 1 || reduce->results[0]->type.cols > 1 || tile_count_uses(block, loop->results[i]) != 1)
            return false;
        if (!carries_parts(loop, i, how)) return false;
    }
    return true;
}

/* Whether each turn stores to a place of its own: along some dimension a whole tile further on. */
static bool moves_on(TileProgram *program, const TileOp *store, const AffSym *turn)
{
    AffCtx *aff = program->aff;
    const Aff *next = aff_offset(aff, aff_of(aff, turn), 1);
    const TileType *t = &store->args[0]->type;
    int64_t step;
    for (int d = 0; d < store->tensor->rank; d++) {
        int extent = d == store->row_dim ? t->rows : d == store->col_dim ? t->cols : 1;
        const Aff *far = aff_sub(aff, aff_subst(aff, store->coords[d], turn, next), store->coords[d]);
        if (!aff_uses_place(store->coords[d]) && aff_is_const(far, &step) && (step >= extent || -step >= extent)) return true;
    }
    return false;
}

static bool same_place(const TileOp *a, const TileOp *b)
{
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->coords[d] != b->coords[d]) return false;
    return true;
}

/* Whether the block stores to the tensor elsewhere as well, so that it counts which is last. */
static bool is_stored_over(const TileBlock *block, const TileOp *store)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool both_add = op->onto && store->onto;
        if (op->kind == TILE_STORE && op->tensor == store->tensor && !both_add && (op->onto || store->onto || !same_place(op, store))) return true;
        for (int r = 0; r < op->n_regions; r++)
            if (is_stored_over(op->regions[r], store)) return true;
    }
    return false;
}

static bool has_own_places(TileProgram *program, const TileBlock *block, const TileBlock *body, const AffSym *turn)
{
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind == TILE_STORE && (is_stored_over(block, op) || (!op->onto && !moves_on(program, op, turn)))) return false;
        for (int r = 0; r < op->n_regions; r++)
            if (!has_own_places(program, block, op->regions[r], turn)) return false;
    }
    return true;
}

/* Whether something in the block reads what the kernel stores: what another block of the cluster may not have stored yet. */
static bool reads_stored(const TileKernel *kernel, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->tensor && op->kind != TILE_STORE && tile_stores_to(kernel->body, op->tensor)) return true;
        for (int r = 0; r < op->n_regions; r++)
            if (reads_stored(kernel, op->regions[r])) return true;
    }
    return false;
}

/* Whether the block's loops may have their turns divided: what they carry is reduced behind them, their stores are to
 * places of their own, and nothing reads what is stored. */
static bool may_share(TileProgram *program, const TileKernel *kernel, const TileBlock *block)
{
    const TileOp *first = first_loop(block);
    int64_t lo;
    if (!first || !aff_is_const(first->lo, &lo) || lo != 0 || reads_stored(kernel, block)) return false;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->n_regions > 0 && op->kind != TILE_FOR) return false;
        if (op->kind != TILE_FOR) continue;
        if (op->lo != first->lo || op->hi != first->hi || op->until) return false;
        if (!is_reduced_behind(block, i) || !has_own_places(program, block, op->regions[0], op->var)) return false;
    }
    return true;
}

/* ---- sharing ------------------------------------------------------------------------------- */

static const AffSym *add_axis(TileProgram *program, TileKernel *kernel, int blocks)
{
    TileAxis *axis = rw_first_axis(program, kernel, "part", blocks);
    axis->cluster = true;
    axis->note = "blocks of a cluster, which keep a row together";
    return axis->sym;
}

/* Turn k of a part is turn part * each + k of all. */
static void divide_turns(TileProgram *program, TileOp *loop, const AffSym *part, int blocks)
{
    AffCtx *aff = program->aff;
    const Aff *all = loop->hi, *each = aff_ceildiv(aff, all, aff_const(aff, blocks)), *before = aff_mul(aff, aff_of(aff, part), each);
    int64_t ignored, most;
    aff_bounds(each, &ignored, &most);
    const AffSym *turn = aff_sym_new(aff, loop->var->name, AFF_LOOP, 0, most == INT64_MAX ? most : most - 1);
    rw_substitute(program, loop->regions[0], loop->var, aff_add(aff, before, aff_of(aff, turn)));
    loop->var = turn;
    loop->hi = aff_mul(aff, each, aff_const(aff, blocks)) == all ? each : aff_min(aff, each, aff_sub(aff, all, before));
}

static void reduce_across(const TileBlock *block, const TileOp *loop)
{
    for (int i = 0; i < loop->n_results; i++) {
        int use = tile_first_use(block, 0, loop->results[i]);
        if (use >= 0) block->ops.data[use]->across = true;
    }
}

/* Before one block leaves something with another, that one has to have begun. */
static void wait_for_all(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    int at = 0;
    while (at < block->ops.len && !block->ops.data[at]->across) at++;
    if (at == block->ops.len) return;
    Rewriter rw = {program, kernel, block, at, block->ops.data[at]->loc};
    rw_insert(&rw, TILE_BARRIER, 0, NULL, 0, NULL)->across = true;
}

/* The operations of the block from `from` on are those of the cluster's first block alone. */
static void first_alone(TileProgram *program, TileKernel *kernel, TileBlock *block, int from, const AffSym *part)
{
    AffCtx *aff = program->aff;
    const Aff *first = aff_eq(aff, aff_of(aff, part), aff_const(aff, 0));
    TileOp *choice = rw_choice(program, kernel, first, NULL, 0, block->ops.data[from]->loc);
    while (from < block->ops.len && block->ops.data[from]->kind != TILE_YIELD) {
        tile_append(program, choice->regions[0], block->ops.data[from]);
        tile_remove(block, from);
    }
    for (int r = 0; r < 2; r++) rw_yield_all(program, kernel, choice->regions[r], NULL, 0);
    tile_insert(program, block, from, choice);
}

/* A store that all blocks would make. */
static void store_alone(TileProgram *program, TileKernel *kernel, TileBlock *block, int at, const AffSym *part)
{
    TileBlock *one = tile_block_new(program);
    tile_append(program, one, block->ops.data[at]);
    tile_remove(block, at);
    first_alone(program, kernel, one, 0, part);
    tile_insert(program, block, at, one->ops.data[0]);
}

static void share_in(TileProgram *program, TileKernel *kernel, TileBlock *block, const AffSym *part, int blocks)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind == TILE_STORE) store_alone(program, kernel, block, i, part);
        if (op->kind != TILE_FOR) continue;
        reduce_across(block, op);
        divide_turns(program, op, part, blocks);
    }
    wait_for_all(program, kernel, block);
}

/* The choice of which the block is what runs where rows are kept; NULL: it always is. */
static TileOp *choice_of(const TileKernel *kernel, const TileBlock *block)
{
    for (int i = 0; i < kernel->body->ops.len; i++) {
        TileOp *op = kernel->body->ops.data[i];
        if (op->kind == TILE_IF && op->regions[0] == block) return op;
    }
    return NULL;
}

/* Where rows may be longer than all blocks keep, and are read again, one block does that. */
static void share(TileProgram *program, TileKernel *kernel, TileBlock *block, int blocks)
{
    const AffSym *part = add_axis(program, kernel, blocks);
    TileOp *choice = choice_of(kernel, block);
    share_in(program, kernel, block, part, blocks);
    if (!choice) return;
    first_alone(program, kernel, choice->regions[1], 0, part);
    choice->cond = keep_fits(program, kernel, block, 1);
}

/* One block goes over rows that it has room for itself. */
static void keep_alone(TileProgram *program, TileKernel *kernel, const TileBlock *block)
{
    TileOp *choice = choice_of(kernel, block);
    if (choice) choice->cond = keep_fits(program, kernel, block, 1);
}

bool pass_cluster(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    int blocks = tile_cluster(kernel) ? 1 : cluster_wanted(kernel, target);
    (void)diags;
    TileBlock *block = blocks > 1 && rows_without_fragments(kernel) ? keep_where_all_fit(program, kernel, blocks) : NULL;
    if (block && may_share(program, kernel, block)) share(program, kernel, block, blocks);
    else if (block) keep_alone(program, kernel, block);
    return true;
}
