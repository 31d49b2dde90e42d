/* c_expr.c: expressions over dimensions as C.
 *
 *   ceil(q_len / 128) * batch   ->   tw_abi_mul(tw_abi_div((int64_t)args->q_len + 127, 128), ...)
 *
 * C's own + and * are used where the dimensions' ranges prove that nothing
 * overflows; elsewhere the saturating helpers of the generated header, so that
 * a product of hostile dimensions is a large number and never a wrapped one.
 */
#include "abi/parts.h"

#define SATURATION (INT64_C(1) << 61) /* as in the header's helpers */

static bool within(const Aff *a)
{
    int64_t lo, hi;
    aff_bounds(a, &lo, &hi);
    return lo > -SATURATION && hi < SATURATION;
}

static bool is_small(const Aff *a)
{
    return within(a) && within(a->a) && within(a->b);
}

static void put_constant(Str *out, int64_t value)
{
    if (value == INT64_MIN)
        str_add(out, "(-9223372036854775807LL - 1)");
    else
        str_printf(out, "%lld%s", (long long)value,
                   value > INT32_MAX || value < -INT32_MAX ? "LL" : "");
}

static void put_symbol(Str *out, const Abi *abi, const AffSym *sym, const char *const *names)
{
    for (int i = 0; i < abi->dims.len; i++) {
        if (abi->dims.data[i] == sym) {
            str_printf(out, "(int64_t)args->%s", names[i]);
            return;
        }
    }
    str_add(out, "-1 /* not a dimension */");
}

static void put_operator(Str *out, const Abi *abi, const Aff *a, const char *const *names,
                         const char *op)
{
    str_addc(out, '(');
    abi_c_expr(out, abi, a->a, names);
    str_printf(out, " %s ", op);
    abi_c_expr(out, abi, a->b, names);
    str_addc(out, ')');
}

static void put_call(Str *out, const Abi *abi, const Aff *a, const char *const *names,
                     const char *name)
{
    str_printf(out, "tw_abi_%s(", name);
    abi_c_expr(out, abi, a->a, names);
    str_add(out, ", ");
    abi_c_expr(out, abi, a->b, names);
    str_addc(out, ')');
}

static void put_arithmetic(Str *out, const Abi *abi, const Aff *a, const char *const *names,
                           const char *op, const char *name)
{
    if (is_small(a))
        put_operator(out, abi, a, names, op);
    else
        put_call(out, abi, a, names, name);
}

void abi_c_expr(Str *out, const Abi *abi, const Aff *a, const char *const *names)
{
    switch (a->kind) {
    case AFF_CONST: put_constant(out, a->value); break;
    case AFF_SYM: put_symbol(out, abi, a->sym, names); break;
    case AFF_ADD: put_arithmetic(out, abi, a, names, "+", "add"); break;
    case AFF_MUL: put_arithmetic(out, abi, a, names, "*", "mul"); break;
    case AFF_DIV: put_call(out, abi, a, names, "div"); break;
    case AFF_MOD: put_call(out, abi, a, names, "mod"); break;
    case AFF_EXP2:
        str_add(out, "((int64_t)1 << ");
        abi_c_expr(out, abi, a->a, names);
        str_addc(out, ')');
        break;
    case AFF_MIN: put_call(out, abi, a, names, "min"); break;
    case AFF_MAX: put_call(out, abi, a, names, "max"); break;
    case AFF_LE: put_operator(out, abi, a, names, "<="); break;
    case AFF_EQ: put_operator(out, abi, a, names, "=="); break;
    case AFF_AND: put_operator(out, abi, a, names, "&&"); break;
    case AFF_OR: put_operator(out, abi, a, names, "||"); break;
    case AFF_NOT:
        str_addc(out, '!');
        abi_c_expr(out, abi, a->a, names);
        break;
    case AFF_AT: /* no launch's own: nothing that the host works out reads tensors */
    case AFF_POISON: str_add(out, "-1 /* overflow */"); break;
    }
}
