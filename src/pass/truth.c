/* truth.c: values that are computed, as conditions.
 *
 * Conditions on elements of tensors are worked out as tiles of numbers where fp32 holds what they are made of, as truths and
 * integers of 8 bits:
 *
 *   %a = gather Keep[h, m, t]
 *   %b = equal %a, 1
 *   %c = index j * 64 + col <= m * 64 + row
 *   %d = multiply %b, %c                      where %d: Keep[h, m, t] == 1 and j * 64 + col <= m * 64 + row
 */
#include "pass/truth.h"

#include <math.h>

static const Aff *integer_of(TileProgram *program, const TileValue *v);

/* The element at the places that a gather names. */
static const Aff *element_of(TileProgram *program, const TileOp *op)
{
    if (op->kind != TILE_GATHER || op->n_args || !tile_is_table(op->tensor)) return NULL;
    return tile_element(program, op->tensor, op->coords);
}

static const Aff *number_of(AffCtx *aff, const TileOp *fill)
{
    bool exact = !fill->param && fabs(fill->number) < 0x1p24 && fill->number == floor(fill->number);
    return exact ? aff_const(aff, (int64_t)fill->number) : NULL;
}

/* 0 or 1, whatever the place. */
static bool is_truth(const Aff *a)
{
    int64_t lo, hi;
    aff_bounds(a, &lo, &hi);
    return lo >= 0 && hi <= 1;
}

/* Of a condition, which is 0 or 1, and a number: itself, or that it does not hold. */
static const Aff *equal(AffCtx *aff, const Aff *a, const Aff *b)
{
    int64_t number;
    if (aff_is_condition(b)) return aff_is_condition(a) ? aff_eq(aff, a, b) : equal(aff, b, a);
    if (aff_is_condition(a) && aff_is_const(b, &number)) return number == 0 ? aff_not(aff, a) : number == 1 ? a : aff_const(aff, 0);
    return aff_eq(aff, a, b);
}

static const Aff *compared(TileProgram *program, const TileOp *op)
{
    AffCtx *aff = program->aff;
    const Aff *a = integer_of(program, op->args[0]), *b = op->n_args == 2 ? integer_of(program, op->args[1]) : NULL;
    if (!a || !b) return NULL;
    bool both = is_truth(a) && is_truth(b);
    switch ((int)op->op) {
    case OP_LESS: return aff_lt(aff, a, b);
    case OP_LESS_EQUAL: return aff_le(aff, a, b);
    case OP_GREATER: return aff_lt(aff, b, a);
    case OP_GREATER_EQUAL: return aff_le(aff, b, a);
    case OP_EQUAL: return equal(aff, a, b);
    case OP_NOT_EQUAL: return aff_not(aff, equal(aff, a, b));
    case OP_MULTIPLY: return both ? aff_and(aff, a, b) : NULL;
    case OP_MAX: return both ? aff_or(aff, a, b) : NULL;
    default: return NULL;
    }
}

/* Which fp32 holds as it is. */
static const Aff *integer_of(TileProgram *program, const TileValue *v)
{
    const TileOp *op = v->def;
    if (!op) return NULL;
    switch ((int)op->kind) {
    case TILE_INDEX: return op->index;
    case TILE_FILL: return number_of(program->aff, op);
    case TILE_GATHER: return dtype_bytes(op->tensor->dtype) <= 2 ? element_of(program, op) : NULL;
    case TILE_ELEMENT: return compared(program, op);
    default: return NULL;
    }
}

const Aff *truth_of(TileProgram *program, const TileValue *v)
{
    const Aff *a = v->def && v->def->kind == TILE_GATHER ? element_of(program, v->def) : integer_of(program, v);
    if (!a || aff_is_condition(a)) return a;
    return aff_not(program->aff, aff_eq(program->aff, a, aff_const(program->aff, 0)));
}
