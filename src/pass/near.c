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
 *   %P, %part = revise %Q, %rest where any %w >= LIMIT unless FULL {
 *     %R, %some = revise %Q, %rest where any 0 >= 1 unless FULL { %f again, masked, and what is made of it }
 *     revise %R, %some where any |%s| >= its root { all of the above } }
 *
 * and, where %P alone is made of %e, masked elements are 0 and the others are sums of %P, to
 *   %P, %part = revise %Q, %rest where any %w >= LIMIT unless FULL {
 *     %R = revise %Q where any %w >= LIMIT { the first three without their mask }
 *     %M = mask %R where COND else 0 unless FULL; %some = rowsum %M }
 *
 * p is a polynomial: of numbers before a soft cap nearly all lie where it holds. The special
 * function units have half as much to do, and what they do lies in one stretch with
 * the polynomial, so that the one hides behind the other. A mask that full tiles jump over
 * would part them; tiles that are not full mask %P, or make %f once more. Both k and c go into the
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
    double masked;              /* what the power of a masked element is */
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
    c->masked = c->masked * by + plus;
}

/* One more step of the line, which takes v. */
static bool follow(Chain *c, TileOp *op, const TileValue *v)
{
    double by = 1, plus = 0;
    if (op->kind == TILE_MASK && op->unless && !c->mask) {
        c->mask = op;
        c->masked = op->number;
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
    c->masked = exp2(c->masked);
    TileOp *op = only_use(c, v);
    if (!op || op->kind != TILE_MASK || !op->unless || c->mask) return true;
    c->mask = op;
    c->masked = op->number;
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
    return push(c, tanh) && find_line(c) && find_outputs(c) && c->k != 0 && isfinite(c->c * c->k) && (!c->mask || isfinite(c->masked));
}

/* ---- writing it ------------------------------------------------------------------------- */

/* exp2(c tanh(k s) + d), as long as |k s| < NEAR; w = s^2, or its opposite where sign is -1. */
static TileValue *near_power(Rewriter *rw, const Chain *c, TileValue *w, int sign)
{
    int last = (int)TW_COUNT(COEFFICIENTS) - 1;
    TileValue *coefficients[TW_COUNT(COEFFICIENTS)];
    for (int i = 0; i <= last; i++) coefficients[i] = rw_fill(rw, COEFFICIENTS[i] * c->c * pow(sign, i) * pow(c->k, 2 * i + 1));
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

/* The outputs again, from one of them on, of another power or of those before. */
static void outputs_from(Rewriter *rw, const Chain *c, int from, TileValue *power, TileValue **made)
{
    int first = c->n - c->outputs;
    for (int i = from; i < c->outputs; i++) {
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

/* The chain moves into a region, which yields its outputs; `results` has them then. */
static void move_chain(const Chain *c, TileOp *revise, const TileOp *results)
{
    TileBlock *region = revise->regions[0];
    TileValue *yielded[MAX_CHAIN];
    for (int i = 0; i < c->n; i++) {
        tile_remove(c->block, tile_index_of(c->block, c->ops[i]));
        tile_append(c->program, region, c->ops[i]);
    }
    for (int i = 0; i < c->outputs; i++) {
        TileValue *old = c->ops[c->n - c->outputs + i]->results[0], *new = results->results[i];
        yielded[i] = old;
        new->name = old->name;
        tile_replace_uses(c->block, old, new);
    }
    /* within the region the old ones stay */
    for (int i = 0; i < c->outputs; i++) tile_replace_uses(region, results->results[i], yielded[i]);
    Rewriter rw = {c->program, c->kernel, region, region->ops.len, revise->loc};
    rw_insert(&rw, TILE_YIELD, c->outputs, yielded, 0, NULL);
}

/* Some of the outputs, revised where one of args[n] is that large. */
static TileOp *revise(Rewriter *rw, const Chain *c, int n, TileValue *const *args, double bound)
{
    TileType types[MAX_CHAIN];
    for (int i = 0; i < n; i++) types[i] = args[i]->type;
    TileOp *op = rw_insert(rw, TILE_REVISE, n + 1, args, n, types);
    op->number = bound;
    op->n_regions = 1;
    op->regions = arena_array(c->program->arena, TileBlock *, 1);
    op->regions[0] = tile_block_new(c->program);
    return op;
}

/* Those of tiles that are not full. Their squares are others', lest those have to last till there. */
static TileOp *revise_masked(Rewriter *rw, const Chain *c, TileValue **args)
{
    TileValue *made[MAX_CHAIN];
    args[c->outputs] = rw_fill_tile(rw, 0, c->s->type.rows, 1);
    TileOp *op = revise(rw, c, c->outputs, args, 1);
    op->unless = c->mask->unless;
    Rewriter inner = {c->program, c->kernel, op->regions[0], 0, rw->loc};
    TileValue *power = near_power(&inner, c, rw_binary(&inner, OP_MULTIPLY, c->s, rw_unary(&inner, OP_NEGATE, c->s)), -1);
    outputs_from(&inner, c, 0, rw_mask(&inner, power, c->mask->cond, NULL, c->masked), made);
    rw_yield_all(c->program, c->kernel, op->regions[0], made, c->outputs);
    return op;
}

/* Whether one output is made of the power, as an operand, and the others are sums of that. */
static bool is_operand_alone(const Chain *c)
{
    int first = c->n - c->outputs;
    const TileValue *power = c->ops[first - 1]->results[0];
    for (int i = 0; i < c->outputs; i++)
        if (tile_op_uses(c->ops[first + i], power) != (i == 0)) return false;
    return c->ops[first]->kind == TILE_RESHAPE;
}

/* What makes the operand moves into a region, without its mask, and the sums go; the operand as it was made there. */
static TileValue *move_operand(const Chain *c, TileBlock *region)
{
    int first = c->n - c->outputs;
    tile_replace_uses(c->block, c->mask->results[0], c->mask->args[0]);
    for (int i = 0; i < c->n; i++) {
        tile_remove(c->block, tile_index_of(c->block, c->ops[i]));
        if (c->ops[i] != c->mask && i <= first) tile_append(c->program, region, c->ops[i]);
    }
    return c->ops[first]->results[0];
}

/* Where the operand is masked: its own elements, and sums of those. */
static void revise_operand(const Chain *c, TileOp *op, TileValue *near, TileValue *w)
{
    Rewriter rw = {c->program, c->kernel, op->regions[0], 0, op->loc};
    TileValue *args[] = {near, w}, *made[MAX_CHAIN];
    TileOp *far = revise(&rw, c, 1, args, op->number), *mask = rw_insert(&rw, TILE_MASK, 1, far->results, 1, &near->type);
    mask->cond = c->mask->cond;
    mask->unless = c->mask->unless;
    made[0] = mask->results[0];
    outputs_from(&rw, c, 1, NULL, made);
    rw_yield_all(c->program, c->kernel, op->regions[0], made, c->outputs);
    for (int i = 0; i < c->outputs; i++) {
        TileValue *old = c->ops[c->n - c->outputs + i]->results[0];
        op->results[i]->name = old->name;
        tile_replace_uses(c->block, old, op->results[i]);
    }
    TileValue *again = move_operand(c, far->regions[0]);
    rw_yield_all(c->program, c->kernel, far->regions[0], &again, 1);
}

static void rewrite(const Chain *c)
{
    TileValue *args[MAX_CHAIN + 1];
    Rewriter rw = {c->program, c->kernel, c->block, tile_index_of(c->block, c->power), c->ops[0]->loc};
    TileValue *w = rw_binary(&rw, OP_MULTIPLY, c->s, c->s);
    outputs_from(&rw, c, 0, near_power(&rw, c, w, 1), args);
    args[c->outputs] = w;
    TileOp *op = revise(&rw, c, c->outputs, args, (NEAR / c->k) * (NEAR / c->k));
    if (!c->mask) {
        move_chain(c, op, op);
        return;
    }
    op->unless = c->mask->unless;
    if (c->masked == 0 && is_operand_alone(c)) {
        revise_operand(c, op, args[0], w);
        return;
    }
    Rewriter inner = {c->program, c->kernel, op->regions[0], 0, rw.loc};
    const TileOp *masked = revise_masked(&inner, c, args);
    memcpy(args, masked->results, (size_t)c->outputs * sizeof *args);
    args[c->outputs] = rw_unary(&inner, OP_ABS, c->s);
    TileOp *far = revise(&inner, c, c->outputs, args, NEAR / fabs(c->k));
    move_chain(c, far, op);
    rw_yield_all(c->program, c->kernel, op->regions[0], far->results, c->outputs);
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
