/* rotate.c: products of one iteration beside the arithmetic of another.
 *
 * In a loop whose later products take what arithmetic made of the results of
 * earlier ones, the tensor cores and the arithmetic units wait for each other. The
 * loop is turned, so that the later products of one iteration stand beside the
 * earlier ones of the next:
 *
 *   for j = lo:hi {             if lo < hi {
 *     %s = gemm %q, %k            A(lo)
 *     %p = arithmetic of %s       for j = lo + 1:hi {
 *     %o = gemm %p, %v, %o          B(j - 1)
 *   }                               A(j)
 *                                 }
 *    A: up to the first product   B(hi - 1)
 *    that is not of loaded      }
 *    tiles; B: from it on
 *
 * Nothing is computed otherwise than before; what A leaves for B goes round.
 * Loads that only B uses belong to B.
 */
#include "pass/copies.h"
#include "pass/decide.h"
#include "pass/issue.h"
#include "pass/passes.h"
#include "pass/prepare.h"
#include "pass/sink.h"
#include "target/target.h"

typedef struct Turn {
    TileProgram *program;
    TileKernel *kernel;
    Diags *diags;
    const Target *target;
    TileOp *loop;
    int cut;                    /* where B begins */
    VEC(TileValue *) crossing;  /* what B, or the yield, has from A or from the loop's parameters */
} Turn;

/* A product of tiles that are there without this iteration's arithmetic, or of such and added to another. */
static bool is_early(const TileBlock *body, const TileOp *op)
{
    for (int k = 0; k < op->n_args; k++) {
        int at = tile_index_of(body, op->args[k]->def);
        if (k == 2 && at >= 0 && op->args[2]->def->kind == TILE_GEMM && is_early(body, op->args[2]->def)) continue;
        if (tile_param_of(body, op->args[k]) >= 0 || (at >= 0 && !prepare_brings(body->ops.data[at]) && body->ops.data[at]->kind != TILE_FILL))
            return false;
    }
    return true;
}

/* Index of the first late product, behind an early one; -1: there is none. */
static int find_cut(const TileBlock *body)
{
    bool early = false;
    for (int i = 0; i < body->ops.len; i++) {
        if (body->ops.data[i]->kind != TILE_GEMM) continue;
        if (!is_early(body, body->ops.data[i])) return early ? i : -1;
        early = true;
    }
    return -1;
}

static bool is_free(const TileOp *op)
{
    return prepare_brings(op) || op->kind == TILE_FILL || op->kind == TILE_INDEX;
}

static bool gives_to(const TileBlock *body, int begin, int end, const TileOp *op)
{
    for (int k = 0; k < op->n_results; k++)
        if (tile_used_in(body, begin, end, op->results[k])) return true;
    return false;
}

/* Loads and constants that only B uses go there; false: B uses a tile that A does, too. */
static bool settle_loads(Turn *t, TileBlock *body)
{
    for (int i = t->cut - 1; i >= 0; i--) {
        TileOp *op = body->ops.data[i];
        if (!is_free(op) || !gives_to(body, t->cut, body->ops.len, op)) continue;
        if (!gives_to(body, i + 1, t->cut, op)) {
            tile_remove(body, i);
            tile_insert(t->program, body, --t->cut, op);
        } else if (prepare_brings(op)) {
            return false;
        } else { /* a constant is made twice */
            Copier c = copier_new(t->program, t->kernel, NULL, NULL);
            TileBlock *made = tile_block_new(t->program);
            copy_ops(&c, body, i, i + 1, made);
            tile_insert(t->program, body, t->cut, made->ops.data[0]);
            for (int k = t->cut + 1; k < body->ops.len; k++) {
                TileBlock one = {.ops = {.data = &body->ops.data[k], .len = 1, .cap = 1}};
                tile_replace_uses(&one, op->results[0], made->ops.data[0]->results[0]);
            }
        }
    }
    return true;
}

static void find_crossing(Turn *t, TileBlock *body)
{
    for (int i = 0; i < body->params.len; i++)
        if (tile_used_in(body, t->cut, body->ops.len, body->params.data[i]))
            vec_push(t->program->arena, &t->crossing, body->params.data[i]);
    for (int i = 0; i < t->cut; i++)
        for (int k = 0; k < body->ops.data[i]->n_results; k++)
            if (tile_used_in(body, t->cut, body->ops.len, body->ops.data[i]->results[k]))
                vec_push(t->program->arena, &t->crossing, body->ops.data[i]->results[k]);
}

/* A at a counter, with these values for the loop's parameters; what crosses, to `out`. */
static void put_first(Turn *t, TileBlock *to, const Aff *at, TileValue *const *params, TileValue **out)
{
    const TileBlock *body = t->loop->regions[0];
    Copier c = copier_new(t->program, t->kernel, t->loop->var, at);
    for (int i = 0; i < body->params.len; i++) copier_map(&c, body->params.data[i], params[i]);
    copy_ops(&c, body, 0, t->cut, to);
    for (int i = 0; i < t->crossing.len; i++) out[i] = copied(&c, t->crossing.data[i]);
}

/* B at a counter; what the iteration yields, to `out`. */
static void put_second(Turn *t, TileBlock *to, const Aff *at, TileValue *const *crossing, TileValue **out)
{
    const TileBlock *body = t->loop->regions[0];
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    Copier c = copier_new(t->program, t->kernel, t->loop->var, at);
    for (int i = 0; i < t->crossing.len; i++) copier_map(&c, t->crossing.data[i], crossing[i]);
    copy_ops(&c, body, t->cut, body->ops.len - 1, to);
    for (int i = 0; i < yield->n_args; i++) out[i] = copied(&c, yield->args[i]);
}

/* Whether B needs it in registers of its own: what a product adds to stays where it is. */
static bool is_moved(const Turn *t, const TileValue *v)
{
    const TileBlock *body = t->loop->regions[0];
    for (int i = t->cut; i + 1 < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        bool added_to = op->kind == TILE_GEMM && op->n_args > 2 && op->args[2] == v;
        if (tile_op_uses(op, v) && !added_to) return true;
    }
    return false;
}

/* Two turns side by side gained 1.3 % where a number that is moved otherwise has 256 multiply-adds
 * a turn, and nothing where it has 320 or 512, for a third more of ptxas' time. But where nothing
 * branches between the move and what made the number, ptxas serialises the products (C7513). */
static bool hides_moves(const Turn *t)
{
    enum { HIDDEN = 256 };
    const TileBlock *body = t->loop->regions[0];
    int64_t moved = 0;
    for (int i = 0; i < t->crossing.len; i++) {
        const TileValue *v = t->crossing.data[i];
        if (!v->def || !is_moved(t, v)) continue;
        if (v->def->kind != TILE_REVISE) return false;
        moved += (int64_t)v->type.rows * v->type.cols;
    }
    return moved > 0 && rw_work(body) > HIDDEN * moved;
}

/* What A leaves for B is used while the next is made: of one turn at a time it is moved. */
static int choose_unroll(const Turn *t)
{
    bool one = issue_closely(t->kernel) || hides_moves(t);
    SchedValue best = one ? SCHED_UNROLL_ONE : SCHED_UNROLL_TWO;
    uint64_t possible = DECIDE(SCHED_UNROLL_ONE) | DECIDE(SCHED_UNROLL_TWO);
    const char *why = one ? "moves take no time beside the products" : "what goes round need not be moved";
    return pass_decide(t->kernel, SCHED_UNROLL, best, possible, why, t->diags) == SCHED_UNROLL_TWO ? 2 : 0;
}

static bool names(const TileOp *op, const AffSym *sym)
{
    if (rw_names(op, sym)) return true;
    for (int k = 0; k < op->n_regions; k++)
        for (int i = 0; i < op->regions[k]->ops.len; i++)
            if (names(op->regions[k]->ops.data[i], sym)) return true;
    return false;
}

/* Whether the last B is the same whichever iteration it belongs to, but for what it loads:
 * it may then follow where the loop ends early. */
static bool ends_alike(const Turn *t)
{
    const TileBlock *body = t->loop->regions[0];
    for (int i = t->cut; i < body->ops.len; i++)
        if (!prepare_brings(body->ops.data[i]) && names(body->ops.data[i], t->loop->var)) return false;
    return true;
}

/* for j = lo + 1:hi { B(j - 1); A(j) } */
static TileOp *turned_loop(Turn *t, TileValue *const *initial)
{
    AffCtx *aff = t->program->aff;
    const TileOp *loop = t->loop;
    int n = t->crossing.len, m = loop->n_results;
    TileType *types = arena_array(t->program->arena, TileType, n);
    TileValue **values = arena_array(t->program->arena, TileValue *, n), **yielded = arena_array(t->program->arena, TileValue *, m);
    for (int i = 0; i < n; i++) types[i] = initial[i]->type;
    TileOp *op = tile_op_new(t->program, t->kernel, TILE_FOR, n, initial, n, types);
    TileBlock *body = tile_block_new(t->program);
    op->regions = arena_array(t->program->arena, TileBlock *, 1);
    op->regions[0] = body;
    op->n_regions = 1;
    op->loc = loop->loc;
    op->lo = aff_offset(aff, loop->lo, 1);
    op->hi = loop->hi;
    op->until = ends_alike(t) ? loop->until : NULL;
    op->unroll = choose_unroll(t);
    op->var = aff_sym_new(aff, loop->var->name, AFF_LOOP, loop->var->lo == INT64_MIN ? INT64_MIN : loop->var->lo + 1, loop->var->hi);
    for (int i = 0; i < n; i++) {
        op->results[i]->name = t->crossing.data[i]->name;
        vec_push(t->program->arena, &body->params, tile_value_new(t->program, t->kernel, types[i], t->crossing.data[i]->name));
    }
    const Aff *j = aff_of(aff, op->var);
    put_second(t, body, aff_offset(aff, j, -1), body->params.data, yielded);
    put_first(t, body, j, yielded, values);
    rw_yield_all(t->program, t->kernel, body, values, n);
    return op;
}

/* The whole in `to`; what the loop gives, to `out`. */
static void put_turned(Turn *t, TileBlock *to, TileValue **out)
{
    const TileOp *loop = t->loop;
    TileValue **values = arena_array(t->program->arena, TileValue *, t->crossing.len);
    put_first(t, to, loop->lo, loop->args, values);
    TileOp *turned = turned_loop(t, values);
    tile_append(t->program, to, turned);
    put_second(t, to, aff_offset(t->program->aff, loop->hi, -1), turned->results, out);
}

/* if lo < hi { } else { }: of the loop's results */
static TileOp *choose_some(const Turn *t)
{
    const TileOp *loop = t->loop;
    return rw_choice(t->program, t->kernel, aff_lt(t->program->aff, loop->lo, loop->hi), loop->results, loop->n_results, loop->loc);
}

static void replace_results(TileKernel *kernel, const TileOp *from, const TileOp *to)
{
    for (int i = 0; i < from->n_results; i++) {
        to->results[i]->name = from->results[i]->name;
        tile_replace_uses(kernel->body, from->results[i], to->results[i]);
    }
}

/* Registers a lane of what goes from A to B in tiles that operands are. */
static int left_for_second(const TileBlock *body, int cut)
{
    int bytes = 0;
    for (int i = 0; i < cut; i++)
        for (int k = 0; k < body->ops.data[i]->n_results; k++) {
            const TileType *t = &body->ops.data[i]->results[k]->type;
            bool tile = t->kind == TT_TILE && t->space == SPACE_REGISTER && dtype_is_narrow(t->dtype);
            if (tile && tile_used_in(body, cut, body->ops.len, body->ops.data[i]->results[k])) bytes += t->rows * t->cols * dtype_bytes(t->dtype);
        }
    return bytes / (TARGET_GROUP_WARPS * 32 * (int)sizeof(uint32_t));
}

/* Whether B has an early product of its own, as of a second softmax, and no registers are left for it: in a turned loop it stands beside
 * the next iteration's and beside what A left, since all early products start at once (issue.c). */
static bool has_too_many(const Turn *t, const TileBlock *body)
{
    enum { BESIDE = 32 }; /* of a lane, for all else */
    bool early = false;
    for (int i = t->cut; i < body->ops.len; i++) early |= body->ops.data[i]->kind == TILE_GEMM && is_early(body, body->ops.data[i]);
    if (!early) return false;
    const TileAxis *axis = tile_within(t->kernel);
    int groups = axis ? (int)tile_instances(t->kernel, axis->sym) : 1;
    return issue_registers(body) + left_for_second(body, t->cut) > target_group_registers(t->target, groups, 0, TARGET_COPIER) - BESIDE;
}

/* Whether the loop is turned: where it can be, unless it should not. */
static bool may_turn(Turn *t, TileBlock *body)
{
    uint64_t off = DECIDE(SCHED_SKEW_OFF), either = off | DECIDE(SCHED_SKEW_ON);
    t->cut = find_cut(body);
    if (t->cut < 0 || t->kernel->schedule.value[SCHED_SKEW] == SCHED_SKEW_OFF || !t->kernel->specialized || !settle_loads(t, body)) {
        if (t->cut >= 0) pass_decide(t->kernel, SCHED_SKEW, SCHED_SKEW_OFF, off, "its warps have no roles, or the later products' operands do not last", t->diags);
        return false;
    }
    if (has_too_many(t, body)) return pass_decide(t->kernel, SCHED_SKEW, SCHED_SKEW_OFF, either, "there are no registers for two turns' products", t->diags) == SCHED_SKEW_ON;
    return pass_decide(t->kernel, SCHED_SKEW, SCHED_SKEW_ON, either, "the earlier ones need nothing of a turn's arithmetic", t->diags) == SCHED_SKEW_ON;
}

static void turn_loop(TileProgram *program, TileKernel *kernel, TileBlock *block, int at, const Target *target, Diags *diags)
{
    Turn t = {.program = program, .kernel = kernel, .diags = diags, .target = target, .loop = block->ops.data[at]};
    TileOp *loop = t.loop;
    TileBlock *body = loop->regions[0];
    if (!may_turn(&t, body)) return;
    find_crossing(&t, body);
    TileValue **out = arena_array(program->arena, TileValue *, loop->n_results);
    TileOp *choice = choose_some(&t);
    put_turned(&t, choice->regions[0], out);
    rw_yield_all(program, kernel, choice->regions[0], out, loop->n_results);
    rw_yield_all(program, kernel, choice->regions[1], loop->args, loop->n_results);
    replace_results(kernel, loop, choice);
    block->ops.data[at] = choice;
}

/* It pays where loops are of different lengths, so that many are short (measured at d128:
 * causal 0.6 % faster, full 0.3 % slower). */
static void sink_all(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) sink_all(program, kernel, op->regions[k]);
        if (op->kind == TILE_IF && op->n_regions == 2 && op->n_results > 0 && rw_uses_grid(kernel, op->cond)) sink_columns(program, kernel, block, i);
    }
}

static void turn_loops(TileProgram *program, TileKernel *kernel, TileBlock *block, const Target *target, Diags *diags)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) turn_loops(program, kernel, op->regions[k], target, diags);
        if (op->kind == TILE_FOR) turn_loop(program, kernel, block, i, target, diags);
    }
}

/* ---- sums alone ---------------------------------------------------------------------------- */

/* if lo < hi { the iteration lo; for j = lo + 1:hi { ... } } else { initial values } */
static void peel_loop(TileProgram *program, TileKernel *kernel, TileBlock *block, int at)
{
    TileOp *loop = block->ops.data[at];
    TileBlock *body = loop->regions[0];
    if (!issue_only_sums(body)) return;
    Turn t = {.program = program, .kernel = kernel, .loop = loop};
    TileOp *choice = choose_some(&t);
    Copier c = copier_new(program, kernel, loop->var, loop->lo);
    TileBlock *some = choice->regions[0];
    TileValue **first = arena_array(program->arena, TileValue *, loop->n_results);
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    for (int i = 0; i < body->params.len; i++) copier_map(&c, body->params.data[i], loop->args[i]);
    copy_ops(&c, body, 0, body->ops.len - 1, some);
    for (int i = 0; i < loop->n_results; i++) first[i] = copied(&c, yield->args[i]);
    replace_results(kernel, loop, choice);
    rw_yield_all(program, kernel, choice->regions[1], loop->args, loop->n_results);
    loop->args = first;
    loop->lo = aff_offset(program->aff, loop->lo, 1);
    tile_append(program, some, loop);
    rw_yield_all(program, kernel, some, loop->results, loop->n_results);
    block->ops.data[at] = choice;
}

/* What is always so needs no choice. */
static void settle_choices(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) settle_choices(program, kernel, op->regions[k]);
        if (op->kind != TILE_IF || !aff_always(program->aff, op->cond)) continue;
        int n = op->regions[0]->ops.len - 1;
        rw_inline(program, kernel->body, block, i);
        i += n - 1;
    }
}

static void peel_loops(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) peel_loops(program, kernel, op->regions[k]);
        if (op->kind == TILE_FOR) peel_loop(program, kernel, block, i);
    }
}

/* ---- bounds ------------------------------------------------------------------------------ */

static const Aff *over_instances(TileProgram *program, const Aff *a, const TileAxis *axis, bool most)
{
    AffCtx *aff = program->aff;
    int64_t n = 1;
    if (!aff_uses(a, axis->sym) || !aff_is_const(axis->extent, &n)) return a;
    const Aff *all = aff_subst(aff, a, axis->sym, aff_const(aff, 0));
    for (int64_t w = 1; w < n; w++) {
        const Aff *one = aff_subst(aff, a, axis->sym, aff_const(aff, w));
        all = most ? aff_max(aff, all, one) : aff_min(aff, all, one);
    }
    return all;
}

/* Whether a bound differs by an iteration or more between the first instance and the last:
 * not where only rounding makes it differ. */
static bool is_spread(TileProgram *program, const Aff *bound, const TileAxis *axis)
{
    const Aff *coef, *rest;
    int64_t each, divisor, n;
    if (!aff_uses(bound, axis->sym)) return false;
    if (bound->kind == AFF_DIV && aff_is_const(bound->b, &divisor) && aff_is_const(axis->extent, &n)
        && aff_linear(program->aff, bound->a, axis->sym, &coef, &rest) && aff_is_const(coef, &each))
        return (each < 0 ? -each : each) * (n - 1) >= divisor;
    if (!bound->a) return true;
    return is_spread(program, bound->a, axis) || (bound->b && is_spread(program, bound->b, axis));
}

/* All instances of a block go through a loop together, since they share what it loads:
 * iterations that only others need change nothing (mask.c), and each knows where its own
 * end (narrow.c). */
static void even_bounds(TileProgram *program, TileBlock *block, const TileAxis *axis)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) even_bounds(program, op->regions[k], axis);
        if (op->kind != TILE_FOR) continue;
        op->lo = over_instances(program, op->lo, axis, false);
        if (is_spread(program, op->hi, axis)) op->until = op->hi;
        op->hi = over_instances(program, op->hi, axis, true);
    }
}

bool pass_rotate(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    if (kernel->facts & TF_STAGED) return true;
    if (!kernel->specialized) {
        turn_loops(program, kernel, kernel->body, target, diags); /* none; but that may have been asked for */
        return true;
    }
    const TileAxis *axis = tile_within(kernel);
    if (axis) even_bounds(program, kernel->body, axis);
    turn_loops(program, kernel, kernel->body, target, diags);
    peel_loops(program, kernel, kernel->body);
    sink_all(program, kernel, kernel->body);
    rw_remove_dead(kernel->body);
    settle_choices(program, kernel, kernel->body);
    return true;
}
