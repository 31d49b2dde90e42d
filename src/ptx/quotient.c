/* quotient.c: quotients by numbers that only the launch knows.
 *
 * ptxas makes some twenty instructions of div.u32, and as many more of rem.u32. Where many numbers
 * are divided by the same, as in every element of a tile or every turn of a loop, that one's
 * reciprocal is made once: with m = (2^32 - 1) / y the upper part of x * m is x / y or one less,
 * for all 0 <= x < 2^31, and what is left says which.
 */
#include "ptx/emit.h"

/* Whether many numbers are divided by it: those of lanes differ from element to element. */
bool ix_is_shared_divisor(const Emitter *e, const Aff *y, int level)
{
    bool in_turn = e->loops > 0 && level >= e->turn_level && ix_level(e, y) < e->turn_level;
    return (in_turn || e->each) && y->kind != AFF_CONST && aff_never_negative(y) && !aff_uses_kind(y, AFF_SCALAR);
}

/* r = x - q * y */
static void emit_rest(Emitter *e, int level, const char *r, const char *x, const char *q, const char *y)
{
    const char *whole = em_new(e, REG_R);
    em_at(e, level, "mul.lo.s32 %s, %s, %s;", whole, q, y);
    em_at(e, level, "sub.s32 %s, %s, %s;", r, x, whole);
}

static void emit_quotient(Emitter *e, int level, const Aff *a, const char *q)
{
    const char *x = ix_value(e, a->a), *y = ix_value(e, a->b), *m = ix_reciprocal(e, a->b);
    const char *least = em_new(e, REG_R), *more = em_new(e, REG_R), *left = em_new(e, REG_R), *p = em_new(e, REG_P);
    em_at(e, level, "mul.hi.u32 %s, %s, %s;", least, x, m);
    emit_rest(e, level, left, x, least, y);
    em_at(e, level, "setp.ge.u32 %s, %s, %s;", p, left, y);
    em_at(e, level, "add.s32 %s, %s, 1;", more, least);
    em_at(e, level, "selp.b32 %s, %s, %s, %s;", q, more, least, p);
}

void ix_emit_quotient(Emitter *e, int level, const Aff *a, const char *d)
{
    if (a->kind == AFF_DIV) {
        emit_quotient(e, level, a, d);
        return;
    }
    const char *q = ix_value(e, aff_div(e->program->aff, a->a, a->b));
    const char *x = ix_value(e, a->a), *y = ix_value(e, a->b);
    emit_rest(e, level, d, x, q, y);
}
