/* issue.c: products are started, and waited for where their results are needed.
 *
 *   %s = gemm %q, %k.T                     %s = issue %q, %k.T
 *   %o = gemm %p, %v, %o.0        ->       %o = issue %p, %v, %o.0
 *   use %s                                 %s.1 = finish %s leaving 1
 *   use %o                                 use %s.1
 *                                          %o.1 = finish %o leaving 0
 *                                          use %o.1
 *
 * Products of loaded tiles alone go first, since the arithmetic that follows waits for
 * them. Whatever is pending is finished before a loop or a choice begins and before a
 * region ends. A value that is revised may stay pending; within the region it is
 * finished where it is needed.
 */
#include "pass/issue.h"

#include "pass/decide.h"
#include "pass/ones.h"
#include "pass/prepare.h"
#include "target/target.h"

enum {
    LANE_BYTES = 4 * 32 * TARGET_GROUP_WARPS,
    MOST_MASKED = 192, /* registers of tiles in a turn for a product to go on beside masks in many steps, */
    MOST_SCORED = 140, /* such masks of scores, */
    MOST_BESIDE = 208, /* polynomials, */
    MOST_REVISED = 208 /* and the rare path of another sum's revision */
};

typedef struct Pending {
    TileValue *value;
    int number;      /* of the issue that writes it, counted in the block */
} Pending;

typedef struct Issuer {
    TileProgram *program;
    TileKernel *kernel;
    VEC(Pending) pending; /* oldest first */
    int issued;
    bool closely;
} Issuer;

bool issue_closely(const TileKernel *kernel)
{
    enum { FEW = 2 };
    const TileAxis *axis = tile_within(kernel);
    return axis && tile_instances(kernel, axis->sym) > FEW;
}

/* ---- early products first ---------------------------------------------------------------- */

/* A product of tiles that are loaded, or were there before the loop; or one that is added to such a product. */
static bool is_early(const TileBlock *block, const TileOp *op)
{
    for (int k = 0; k < op->n_args; k++) {
        const TileOp *def = tile_index_of(block, op->args[k]->def) >= 0 ? op->args[k]->def : NULL;
        if (def && k == 2 && def->kind == TILE_GEMM && is_early(block, def)) continue;
        if (def && !prepare_brings(def)) return false;
        if (!def && tile_param_of(block, op->args[k]) >= 0) return false;
    }
    return true;
}

/* Moves op i of the block to `to`, loads of its operands before it. */
static int move_up(TileBlock *block, int i, int to)
{
    TileOp *op = block->ops.data[i];
    for (int k = 0; k < op->n_args; k++)
        for (int at = to; at < i; at++) {
            TileOp *load = block->ops.data[at];
            if (op->args[k]->def != load) continue;
            memmove(&block->ops.data[to + 1], &block->ops.data[to], (size_t)(at - to) * sizeof *block->ops.data);
            block->ops.data[to++] = load;
            break;
        }
    memmove(&block->ops.data[to + 1], &block->ops.data[to], (size_t)(i - to) * sizeof *block->ops.data);
    block->ops.data[to++] = op;
    return to;
}

static void early_first(TileBlock *block)
{
    int first = -1;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_FOR || op->kind == TILE_IF) first = -1; /* what was before stays before */
        if (op->kind != TILE_GEMM) continue;
        if (!is_early(block, op)) {
            if (first < 0) first = i;
        } else if (first >= 0) {
            first = move_up(block, i, first);
        }
    }
}

/* ---- starting and waiting ------------------------------------------------------------------ */

static Pending *find(Issuer *s, const TileValue *v)
{
    for (int i = 0; i < s->pending.len; i++)
        if (s->pending.data[i].value == v) return &s->pending.data[i];
    return NULL;
}

/* Waits, before block->ops.data[*at], for a value, until the product `number` and all before
 * it are there. */
static void finish(Issuer *s, TileBlock *block, int *at, TileValue *v, int number)
{
    Rewriter rw = {s->program, s->kernel, block, *at, v->def->loc};
    TileType type = v->type;
    type.pending = false;
    TileOp *op = rw_insert(&rw, TILE_FINISH, 1, &v, 1, &type);
    op->count = s->issued - 1 - number;
    op->results[0]->name = v->name;
    *at = rw.at;
    for (int i = rw.at; i < block->ops.len; i++) {
        TileOp *user = block->ops.data[i];
        for (int k = 0; k < user->n_args; k++)
            if (user->args[k] == v) user->args[k] = op->results[0];
        for (int k = 0; k < user->n_regions; k++) tile_replace_uses(user->regions[k], v, op->results[0]);
    }
    for (int i = 0; i < s->pending.len; i++)
        if (s->pending.data[i].value == v) {
            for (int k = i; k + 1 < s->pending.len; k++) s->pending.data[k] = s->pending.data[k + 1];
            s->pending.len--;
        }
}

static bool may_stay(const TileOp *op, int arg)
{
    return (op->kind == TILE_GEMM && arg == 2) || (op->kind == TILE_REVISE && arg < op->n_results);
}

/* All at once: where one is read while another is in flight, on some path only, ptxas
 * serializes them (C7514). */
static void finish_all(Issuer *s, TileBlock *block, int *at)
{
    int last = s->pending.len ? s->pending.data[s->pending.len - 1].number : 0;
    while (s->pending.len) finish(s, block, at, s->pending.data[0].value, last);
}

static void finish_operands(Issuer *s, TileBlock *block, int *at)
{
    for (int k = 0; k < block->ops.data[*at]->n_args; k++) {
        const TileOp *op = block->ops.data[*at];
        if (!op->args[k]->type.pending || may_stay(op, k)) continue;
        if (s->closely) finish_all(s, block, at);
        else if (find(s, op->args[k])) finish(s, block, at, op->args[k], find(s, op->args[k])->number);
    }
}

static void start(Issuer *s, TileOp *op)
{
    TileValue *result = op->results[0];
    Pending *chain = op->n_args == 3 ? find(s, op->args[2]) : NULL;
    op->kind = TILE_ISSUE;
    result->type.pending = true;
    if (chain) { /* the accumulator goes on under its new name */
        for (int i = (int)(chain - s->pending.data); i + 1 < s->pending.len; i++) s->pending.data[i] = s->pending.data[i + 1];
        s->pending.len--;
    }
    vec_push(s->program->arena, &s->pending, (Pending){result, s->issued++});
}

static void issue_block(Issuer *s, TileBlock *block);

/* What is pending outside is so within the region, too; afterwards as before. */
static void issue_revised(Issuer *s, TileOp *op)
{
    Issuer within = {s->program, s->kernel, {0}, s->issued, true};
    for (int i = 0; i < s->pending.len; i++) vec_push(s->program->arena, &within.pending, s->pending.data[i]);
    TileBlock *region = op->regions[0];
    for (int i = 0; i < region->ops.len; i++)
        if (region->ops.data[i]->kind != TILE_YIELD) finish_operands(&within, region, &i);
    for (int k = 0; k < op->n_results; k++) {
        Pending *p = find(s, op->args[k]);
        op->results[k]->type.pending = p != NULL;
        if (p) p->value = op->results[k];
    }
}

bool issue_only_sums(const TileBlock *body)
{
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    int products = 0;
    for (int i = 0; i + 1 < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (prepare_brings(op)) continue;
        if (op->kind != TILE_GEMM || op->n_args < 3 || products >= yield->n_args) return false;
        for (int k = 0; k < body->params.len; k++)
            if (op->args[0] == body->params.data[k] || op->args[1] == body->params.data[k]) return false;
        if (op->args[2] != body->params.data[products] || op->results[0] != yield->args[products]) return false;
        products++;
    }
    return products > 0 && products == yield->n_args;
}

/* A loop that only adds to what is pending goes on with it: an iteration waits for the
 * products of the one before. */
static bool goes_on(Issuer *s, const TileOp *loop)
{
    if (s->pending.len != loop->n_args || !issue_only_sums(loop->regions[0])) return false;
    for (int k = 0; k < loop->n_args; k++)
        if (!find(s, loop->args[k])) return false;
    return true;
}

static void issue_sums(Issuer *s, TileOp *loop)
{
    TileBlock *body = loop->regions[0];
    int products = 0;
    for (int k = 0; k < loop->n_args; k++) {
        body->params.data[k]->type.pending = loop->results[k]->type.pending = true;
        find(s, loop->args[k])->value = loop->results[k];
    }
    for (int i = 0; i < body->ops.len; i++) {
        TileOp *op = body->ops.data[i];
        if (op->kind != TILE_GEMM) continue;
        op->kind = TILE_ISSUE;
        op->results[0]->type.pending = true;
        products++;
    }
    Rewriter rw = {s->program, s->kernel, body, body->ops.len - 1, loop->loc};
    TileType type = body->params.data[loop->n_args - 1]->type;
    type.pending = false;
    TileOp *wait = rw_insert(&rw, TILE_FINISH, 1, &body->params.data[loop->n_args - 1], 1, &type);
    wait->count = products;
}

static void issue_block(Issuer *s, TileBlock *block)
{
    early_first(block);
    ones_behind(s->program, block);
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind == TILE_FOR && goes_on(s, op)) {
            issue_sums(s, op);
            continue;
        }
        if (op->kind == TILE_FOR || op->kind == TILE_IF || op->kind == TILE_YIELD) finish_all(s, block, &i);
        else finish_operands(s, block, &i);
        if (op->kind == TILE_GEMM) start(s, op);
        if (op->kind == TILE_REVISE) {
            issue_revised(s, op);
            continue;
        }
        for (int k = 0; k < op->n_regions; k++) {
            Issuer inner = {s->program, s->kernel, {0}, 0, s->closely};
            issue_block(&inner, op->regions[k]);
        }
    }
    int end = block->ops.len;
    finish_all(s, block, &end);
}

static bool revises_sum(const TileOp *op)
{
    for (int k = 0; op->kind == TILE_REVISE && k < op->n_results; k++)
        if (op->args[k]->def && op->args[k]->def->kind == TILE_GEMM) return true;
    return false;
}

/* Whether a loop's turn revises sums of products apart from each other, those of two
 * softmaxes, say, and fills its registers. With each in flight round the other's cold path, ptxas 13.0 serializes
 * all products then (C7514). */
static bool revises_several(const TileBlock *block, bool turn)
{
    int n = 0;
    bool inside = false;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        n += revises_sum(op);
        for (int k = 0; k < op->n_regions; k++) inside |= revises_several(op->regions[k], op->kind == TILE_FOR);
    }
    return (turn && n > 1 && issue_registers(block) > MOST_REVISED) || inside;
}

int issue_registers(const TileBlock *body)
{
    int n = 0;
    for (int k = 0; k < body->params.len; k++) {
        const TileType *t = &body->params.data[k]->type;
        n += t->rows * t->cols * dtype_bytes(t->dtype) / LANE_BYTES * (dtype_is_narrow(t->dtype) ? 2 : 1);
    }
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        bool product = op->kind == TILE_ISSUE || op->kind == TILE_GEMM;
        if (product && op->n_args == 2) n += op->results[0]->type.rows * op->results[0]->type.cols * 4 / LANE_BYTES;
    }
    return n;
}

static bool is_tile(const TileType *t)
{
    return t->kind == TT_TILE && t->space == SPACE_REGISTER && t->rows > 1 && t->cols > 1;
}

/* Registers a lane of tiles that the turn has made before operation `at` and reads there or later. */
static int made_before(const TileBlock *turn, int at)
{
    int n = 0;
    for (int i = 0; i < at; i++)
        for (int k = 0; k < turn->ops.data[i]->n_results; k++) {
            const TileValue *v = turn->ops.data[i]->results[k];
            if (is_tile(&v->type) && tile_used_in(turn, at, turn->ops.len, v)) n += v->type.rows * v->type.cols * 4 / LANE_BYTES;
        }
    return n;
}

static int carried(const TileBlock *turn)
{
    int n = 0;
    for (int k = 0; k < turn->params.len; k++) {
        const TileType *t = &turn->params.data[k]->type;
        if (is_tile(t)) n += t->rows * t->cols * dtype_bytes(t->dtype) / LANE_BYTES;
    }
    return n;
}

static bool exponentials_follow(const TileBlock *turn, int at)
{
    for (int i = at + 1; i < turn->ops.len; i++) {
        const TileOp *op = turn->ops.data[i];
        if (op->kind == TILE_ELEMENT && op_is_exponential(op->op) && is_tile(&op->results[0]->type)) return true;
    }
    return false;
}

/* Whether the arithmetic of a turn has numbers of several elements under way, in many steps, and so few registers beside
 * its tiles that ptxas spills some where a product goes on beside it: masks by quotients, those of scores before all, and
 * polynomials of scores beside another tile. */
static bool fills_registers(const TileProgram *program, const TileBlock *turn)
{
    for (int i = 0; i < turn->ops.len; i++) {
        const TileOp *op = turn->ops.data[i];
        bool scores = exponentials_follow(turn, i);
        if (tile_masks_in_steps(program, op) && issue_registers(turn) > (scores ? MOST_SCORED : MOST_MASKED)) return true;
        if (op->kind == TILE_ELEMENT && op->polynomial && scores && carried(turn) + made_before(turn, i) > MOST_BESIDE) return true;
    }
    return false;
}

static bool some_turn_fills(const TileProgram *program, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_FOR && fills_registers(program, op->regions[0])) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (some_turn_fills(program, op->regions[k])) return true;
    }
    return false;
}

/* Where there are not several, none can be waited for before another. */
static bool choose_closely(const TileProgram *program, TileKernel *kernel, Diags *diags)
{
    bool filled = some_turn_fills(program, kernel->body);
    uint64_t either = DECIDE(SCHED_WAIT_ONE) | DECIDE(SCHED_WAIT_ALL);
    bool closely = issue_closely(kernel) || revises_several(kernel->body, false) || filled;
    const char *why = issue_closely(kernel) ? "other warpgroups have the tensor cores meanwhile" : filled ? "arithmetic has its registers meanwhile"
                      : closely ? "accumulators are changed in every turn"
                      : "later ones run on beside the arithmetic";
    if (tile_count(kernel->body, TILE_GEMM) < 2) return closely;
    return pass_decide(kernel, SCHED_WAIT, closely ? SCHED_WAIT_ALL : SCHED_WAIT_ONE, either, why, diags) == SCHED_WAIT_ALL;
}

void issue_products(TileProgram *program, TileKernel *kernel, Diags *diags)
{
    Issuer s = {program, kernel, {0}, 0, choose_closely(program, kernel, diags)};
    issue_block(&s, kernel->body);
}
