/* gauge.c: is the running maximum of an online softmax only a gauge?
 *
 * The step keeps P, l and the accumulators in units of exp(m). Moving m by a
 * constant scales all of them alike, so a program that only ever looks at
 * accumulator / l, or at m + log l, cannot tell (weight.c). It is then legal to let
 * m lag behind the true maximum, which makes most rescales multiplications by 1.
 *
 *   %o, %m, %l = for ... { %p, %m1, %l1, %alpha = softmax ..., %m0, %l0
 *                          %o1 = gemm reshape(%p), V, (%o0 * %alpha)
 *                          yield ... }
 *   %o / %l                  free
 *   log(%l) + %m             free
 *   store %l                 not free: the program shows l itself
 *
 * Anything that is not recognised makes the answer no.
 */
#include "pass/gauge.h"

#include "pass/rewrite.h"
#include "pass/weight.h"

typedef struct Gauge {
    Arena *arena;
    const TileKernel *kernel;
    const TileOp *loop, *softmax;
    const TileBlock *body;
    const TileOp *yield;
    int m, l;                 /* positions among the carried values */
    VEC(int) accumulators;
} Gauge;

static Uses uses_of(const Gauge *g, const TileValue *v)
{
    return rw_uses(g->arena, g->kernel->body, v);
}

/* The position at which the body yields v; -1: not, or more than once. */
static int yielded_at(const Gauge *g, const TileValue *v)
{
    int at = -1;
    for (int k = 0; k < g->yield->n_args; k++) {
        if (g->yield->args[k] != v) continue;
        if (at >= 0) return -1;
        at = k;
    }
    return at;
}

static bool only_used_by(const Gauge *g, const TileValue *v, const TileOp *a, const TileOp *b)
{
    Uses uses = uses_of(g, v);
    for (int i = 0; i < uses.len; i++)
        if (uses.data[i] != a && uses.data[i] != b) return false;
    return true;
}

/* The state goes round the loop and nowhere else. */
static bool state_is_closed(Gauge *g)
{
    const TileValue *m1 = g->softmax->results[1], *l1 = g->softmax->results[2];
    g->m = yielded_at(g, m1);
    g->l = yielded_at(g, l1);
    if (g->m < 0 || g->l < 0) return false;
    if (g->softmax->args[1] != g->body->params.data[g->m]) return false;
    if (g->softmax->args[2] != g->body->params.data[g->l]) return false;
    return only_used_by(g, g->softmax->args[1], g->softmax, NULL)
           && only_used_by(g, g->softmax->args[2], g->softmax, NULL)
           && only_used_by(g, m1, g->yield, NULL) && only_used_by(g, l1, g->yield, NULL);
}

static bool is_element(const TileOp *op, OpId id)
{
    return op->kind == TILE_ELEMENT && op->op == id;
}

/* param * alpha, given to a GEMM as what it accumulates onto; its sum is yielded
 * where param came from. */
static bool is_accumulation(Gauge *g, const TileOp *gemm)
{
    if (gemm->n_args != 3) return false;
    int at = yielded_at(g, gemm->results[0]);
    const TileOp *scale = gemm->args[2]->def;
    if (at < 0 || !scale || !is_element(scale, OP_MULTIPLY)) return false;
    const TileValue *param = g->body->params.data[at], *alpha = g->softmax->results[3];
    bool scaled = (scale->args[0] == param && scale->args[1] == alpha)
                  || (scale->args[1] == param && scale->args[0] == alpha);
    if (!scaled || !only_used_by(g, param, scale, NULL) || !only_used_by(g, scale->results[0], gemm, NULL)
        || !only_used_by(g, gemm->results[0], g->yield, NULL)) return false;
    vec_push(g->arena, &g->accumulators, at);
    return true;
}

/* p only feeds GEMMs that accumulate in units of m, out of registers or by way of shared memory. */
static bool result_is_accumulated(Gauge *g, const TileValue *p, int depth)
{
    Uses uses = uses_of(g, p);
    if (depth > 4) return false;
    for (int i = 0; i < uses.len; i++) {
        const TileOp *op = uses.data[i];
        if (op->kind == TILE_RESHAPE || op->kind == TILE_MOVE || (op->kind == TILE_CAST && dtype_is_float(op->results[0]->type.dtype))) {
            if (!result_is_accumulated(g, op->results[0], depth + 1)) return false;
        } else if (op->kind != TILE_GEMM || op->args[0] != p || op->args[1] == p || !is_accumulation(g, op)) {
            return false;
        }
    }
    return true;
}

static bool alpha_only_rescales(const Gauge *g)
{
    Uses uses = uses_of(g, g->softmax->results[3]);
    for (int i = 0; i < uses.len; i++) {
        const TileOp *op = uses.data[i];
        bool known = false;
        for (int k = 0; k < g->accumulators.len; k++) {
            const TileOp *gemm = g->yield->args[g->accumulators.data[k]]->def;
            known |= gemm->args[2]->def == op;
        }
        if (!known) return false;
    }
    return true;
}

GaugeFreedom gauge_freedom(Arena *arena, const TileKernel *kernel, const TileOp *loop, const TileOp *softmax)
{
    GaugeFreedom none = {0};
    if (!loop || loop->kind != TILE_FOR) return none;
    Gauge g = {.arena = arena, .kernel = kernel, .loop = loop, .softmax = softmax, .body = loop->regions[0]};
    g.yield = g.body->ops.data[g.body->ops.len - 1];
    if (!state_is_closed(&g) || !result_is_accumulated(&g, softmax->results[0], 0) || !alpha_only_rescales(&g))
        return none;
    Weighing w = {.m = g.m, .l = g.l, .accumulators = g.accumulators.data, .n_accumulators = g.accumulators.len};
    weigh_results(arena, kernel, loop, &w);
    bool alone = loop->n_results == 2 + g.accumulators.len;
    return (GaugeFreedom){w.unchanged, w.unchanged && !w.powers, w.unchanged && !w.sum_alone, alone};
}
