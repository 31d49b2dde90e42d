/* near.c: a tanh of numbers that are nearly all small, computed as if all were.
 *
 *   %t = tanh %y by polynomial                    (y = k s)
 *   %m = mask %t where COND else -inf
 *   %e = exp2(%m * c + d)
 *   %P = reshape %e; %part = rowsum %e
 * becomes
 *   %w = %s * %s
 *   %f = exp2(%s * p(%w) + d)
 *   %Q = reshape %f; %rest = rowsum %f
 *   %P, %part = revise %Q, %rest where any %w >= LIMIT unless FULL { all of the above }
 *
 * p is a polynomial: of numbers before a soft cap nearly all lie where it holds. The special
 * function units have half as much to do, and what they do lies in one stretch with
 * the polynomial, so that the one hides behind the other. A mask that full tiles jump over
 * would part them; tiles that are not full do all of it again. Both k and c go into the
 * coefficients.
 *
 * Vocabulary
 *   chain   the operations from tanh to what is used besides: the outputs, P and part
 *   line    what a chain does between tanh and exp2: multiply by c, add d, and mask once;
 *           a mask that no tile may jump over ends it
 */
#include "pass/passes.h"

#include <math.h>

enum { MAX_CHAIN = 16 };

/* tanh y = y (1 + ...) in y^2 for |y| < 15/32, wrong by 2^-18 at most. */
static const double COEFFICIENTS[] = {0.9999477317120217, -0.3313795590761816, 0.11478811390996571};
static const double NEAR = 15.0 / 32;

typedef struct Chain {
    TileProgram *program;
    TileKernel *kernel;
    TileBlock *block;
    TileOp *ops[MAX_CHAIN];     /* in order, beginning with tanh and, where nothing else needs it, y */
    int n, outputs;             /* the outputs are the last ones */
    TileOp *mask, *power;
    TileValue *s;
    double k, c, d;
} Chain;

static bool number_of(const TileValue *v, double *number)
{
    if (v->def && v->def->kind == TILE_ELEMENT && v->def->op == OP_NEGATE && rw_number(v->def->args[0], number)) {
        *number = -*number;
        return true;
    }
    return rw_number(v, number);
}

/* ---- finding a chain ------------------------------------------------------------------ */

static void apply(Chain *c, double by, double plus)
{
    c->c *= by;
    c->d = c->d * by + plus;
}

/* One more step of the line, which takes v. */
static bool follow(Chain *c, TileOp *op, const TileValue *v)
{
    double by = 1, plus = 0;
    if (op->kind == TILE_MASK && op->unless && !c->mask) {
        c->mask = op;
        return true;
    }
    if (op->kind != TILE_ELEMENT || op->args[0] != v || op->skip_ones) return false;
    switch ((int)op->op) {
    case OP_MULTIPLY: if (!number_of(op->args[1], &by)) return false; break;
    case OP_ADD: if (!number_of(op->args[1], &plus)) return false; break;
    case OP_FMA: if (!number_of(op->args[1], &by) || !number_of(op->args[2], &plus)) return false; break;
    default: return false;
    }
    apply(c, by, plus);
    return true;
}

static TileOp *only_use(const Chain *c, const TileValue *v)
{
    Uses uses = rw_uses(c->program->arena, c->block, v);
    return uses.len == 1 ? (TileOp *)uses.data[0] : NULL;
}

static bool push(Chain *c, TileOp *op)
{
    if (c->n == MAX_CHAIN) return false;
    c->ops[c->n++] = op;
    return true;
}

/* From tanh to exp2, and a mask behind it. */
static bool find_line(Chain *c)
{
    const TileValue *v = c->ops[c->n - 1]->results[0];
    for (;;) {
        TileOp *op = only_use(c, v);
        if (!op || tile_index_of(c->block, op) < 0 || !push(c, op)) return false;
        v = op->results[0];
        if (op->kind == TILE_ELEMENT && op->op == OP_EXP2) break;
        if (!follow(c, op, op->args[0])) return false;
    }
    c->power = c->ops[c->n - 1];
    TileOp *op = only_use(c, v);
    if (!op || op->kind != TILE_MASK || !op->unless || c->mask) return true;
    c->mask = op;
    return push(c, op);
}

/* What is made of the power: operands, sums of rows, sums of operands. */
static bool find_outputs(Chain *c)
{
    int first = c->n;
    const TileValue *power = c->ops[c->n - 1]->results[0];
    for (int i = 0; i < c->block->ops.len; i++) {
        TileOp *op = c->block->ops.data[i];
        bool of_power = tile_op_uses(op, power), of_operand = false;
        for (int k = first; k < c->n; k++) of_operand |= tile_op_uses(op, c->ops[k]->results[0]);
        bool sum = op->kind == TILE_REDUCE && op->axis == 1 && op->n_args == 1;
        bool operand = op->kind == TILE_RESHAPE && dtype_is_narrow(op->results[0]->type.dtype);
        if (of_power && !sum && !operand) return false;
        if ((of_power || (of_operand && sum)) && !push(c, op)) return false;
    }
    c->outputs = c->n - first;
    return c->outputs > 0;
}

static bool find_chain(Chain *c, TileOp *tanh)
{
    TileOp *scale = tanh->args[0]->def;
    c->s = tanh->args[0];
    c->k = c->c = 1;
    if (scale && scale->kind == TILE_ELEMENT && scale->op == OP_MULTIPLY && number_of(scale->args[1], &c->k)) {
        c->s = scale->args[0];
        if (tile_index_of(c->block, scale) >= 0 && only_use(c, tanh->args[0])) push(c, scale);
    }
    return push(c, tanh) && find_line(c) && find_outputs(c) && c->k != 0 && isfinite(c->c * c->k);
}

/* ---- writing it ------------------------------------------------------------------------- */

/* exp2(c tanh(k s) + d), as long as |k s| < NEAR; w = s^2. */
static TileValue *near_power(Rewriter *rw, const Chain *c, TileValue *w)
{
    int last = (int)TW_COUNT(COEFFICIENTS) - 1;
    TileValue *coefficients[TW_COUNT(COEFFICIENTS)];
    for (int i = 0; i <= last; i++) coefficients[i] = rw_fill(rw, COEFFICIENTS[i] * c->c * pow(c->k, 2 * i + 1));
    TileValue *p = coefficients[last];
    for (int i = last - 1; i >= 0; i--) {
        TileValue *args[] = {p, w, coefficients[i]};
        if (i == last - 1) args[0] = w, args[1] = p;
        p = rw_element(rw, OP_FMA, 3, args);
    }
    if (c->d == 0) return rw_unary(rw, OP_EXP2, rw_binary(rw, OP_MULTIPLY, p, c->s));
    TileValue *args[] = {p, c->s, rw_fill(rw, c->d)};
    return rw_unary(rw, OP_EXP2, rw_element(rw, OP_FMA, 3, args));
}

/* The outputs again, of another power. */
static void outputs_of(Rewriter *rw, const Chain *c, TileValue *power, TileValue **made)
{
    int first = c->n - c->outputs;
    for (int i = 0; i < c->outputs; i++) {
        const TileOp *old = c->ops[first + i];
        TileValue *of = power;
        for (int k = 0; k < i; k++)
            if (old->args[0] == c->ops[first + k]->results[0]) of = made[k];
        TileOp *op = rw_insert(rw, old->kind, 1, &of, 1, &old->results[0]->type);
        op->op = old->op;
        op->axis = old->axis;
        made[i] = op->results[0];
    }
}

/* The chain moves into the region, which yields its outputs. */
static void move_chain(const Chain *c, TileOp *revise)
{
    TileBlock *region = revise->regions[0];
    TileValue *yielded[MAX_CHAIN];
    for (int i = 0; i < c->n; i++) {
        tile_remove(c->block, tile_index_of(c->block, c->ops[i]));
        tile_append(c->program, region, c->ops[i]);
    }
    for (int i = 0; i < c->outputs; i++) {
        TileValue *old = c->ops[c->n - c->outputs + i]->results[0], *new = revise->results[i];
        yielded[i] = old;
        new->name = old->name;
        tile_replace_uses(c->block, old, new);
    }
    /* within the region the old ones stay */
    for (int i = 0; i < c->outputs; i++) tile_replace_uses(region, revise->results[i], yielded[i]);
    Rewriter rw = {c->program, c->kernel, region, region->ops.len, revise->loc};
    rw_insert(&rw, TILE_YIELD, c->outputs, yielded, 0, NULL);
}

static void rewrite(const Chain *c)
{
    TileValue *args[MAX_CHAIN + 1];
    TileType types[MAX_CHAIN];
    Rewriter rw = {c->program, c->kernel, c->block, tile_index_of(c->block, c->power), c->ops[0]->loc};
    TileValue *w = rw_binary(&rw, OP_MULTIPLY, c->s, c->s);
    outputs_of(&rw, c, near_power(&rw, c, w), args);
    for (int i = 0; i < c->outputs; i++) types[i] = args[i]->type;
    args[c->outputs] = w;
    TileOp *revise = rw_insert(&rw, TILE_REVISE, c->outputs + 1, args, c->outputs, types);
    revise->number = (NEAR / c->k) * (NEAR / c->k);
    revise->unless = c->mask ? c->mask->unless : NULL;
    revise->n_regions = 1;
    revise->regions = arena_array(c->program->arena, TileBlock *, 1);
    revise->regions[0] = tile_block_new(c->program);
    move_chain(c, revise);
}

static bool near_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    bool changed = false;
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions && op->kind == TILE_FOR; r++) changed |= near_block(program, kernel, op->regions[r]);
        if (op->kind != TILE_ELEMENT || op->op != OP_TANH || !op->polynomial) continue;
        Chain c = {.program = program, .kernel = kernel, .block = block};
        if (op->results[0]->type.rows == 1 || op->results[0]->type.cols == 1 || !find_chain(&c, op)) continue;
        rewrite(&c);
        changed = true;
    }
    return changed;
}

bool pass_near(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)diags;
    if (kernel->specialized && target->has_wgmma && kernel->warps_n == 1 && near_block(program, kernel, kernel->body))
        rw_remove_dead(kernel->body);
    return true;
}
