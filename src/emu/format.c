/* format.c: small floating-point formats, a value at a time.
 *
 * Written from the PTX ISA's description ("Alternate Floating-Point Data
 * Formats", "cvt") and shared with nobody: base has conversions of its own,
 * which the compiler and the references use.
 */
#include "emu/machine.h"

#include <math.h>

typedef struct Format {
    int exponent, mantissa; /* bits */
    bool finite;            /* no infinity: the all-ones exponent holds numbers (e4m3) */
} Format;

static Format format_of(EmuType type)
{
    if (type == ET_F16 || type == ET_F16X2)
        return (Format){ 5, 10, false };
    if (type == ET_BF16 || type == ET_BF16X2)
        return (Format){ 8, 7, false };
    if (type == ET_TF32)
        return (Format){ 8, 10, false };
    if (type == ET_E4M3 || type == ET_E4M3X2)
        return (Format){ 4, 3, true };
    return (Format){ 5, 2, false }; /* e5m2 */
}

double emu_round(double x, Rounding rounding)
{
    switch (rounding) {
    case RND_Z:
    case RND_ZI:
        return trunc(x);
    case RND_M:
    case RND_MI:
        return floor(x);
    case RND_P:
    case RND_PI:
        return ceil(x);
    case RND_NA:
        return round(x);
    case RND_NONE:
    case RND_N:
    case RND_NI:
        break;
    }
    return nearbyint(x);
}

float emu_single(double x, Rounding rounding)
{
    float f = (float)x;

    if ((rounding == RND_Z && fabs((double)f) > fabs(x)) || (rounding == RND_M && (double)f > x) ||
        (rounding == RND_P && (double)f < x))
        f = nextafterf(f, rounding == RND_P ? INFINITY : rounding == RND_M ? -INFINITY : 0);
    return f;
}

static uint32_t infinity_bits(Format f, bool finite, Rounding rounding)
{
    uint32_t top = ((1u << f.exponent) - 1) << f.mantissa;

    if (f.finite)
        return top | 6; /* 448, the largest of e4m3; only .satfinite exists */
    return finite || rounding == RND_Z ? top - 1 : top;
}

static uint32_t nan_bits(Format f)
{
    return (1u << (f.exponent + f.mantissa)) - 1; /* canonical: all ones but the sign */
}

/* The bits of a magnitude that is finite. */
static uint32_t store_magnitude(Format f, double x, Rounding rounding, bool finite)
{
    int bias = (1 << (f.exponent - 1)) - 1, exponent;
    uint32_t top = ((1u << f.exponent) - 1) << f.mantissa, bits;
    double mantissa;

    if (x == 0)
        return 0;
    frexp(x, &exponent); /* x in [2^(exponent-1), 2^exponent) */
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    if (exponent > bias + 2)
        return infinity_bits(f, finite, rounding);
    mantissa = emu_round(ldexp(x, f.mantissa - exponent), rounding);
    /* A mantissa that rounds up to 2^(m+1) carries into the exponent by itself;
     * one below 2^m is subnormal and has exponent field 0. */
    bits = (uint32_t)(exponent + bias - 1) * (1u << f.mantissa) + (uint32_t)mantissa;
    if (f.finite ? bits > (top | 6) : bits >= top)
        return infinity_bits(f, finite, rounding);
    return bits;
}

uint32_t emu_small_store(EmuType type, double x, Rounding rounding, bool finite)
{
    Format f = format_of(type);
    uint32_t sign = signbit(x) ? 1u << (f.exponent + f.mantissa) : 0, bits;

    if (x != x)
        return nan_bits(f) << (type == ET_TF32 ? 13 : 0);
    if (rounding == RND_M || rounding == RND_P) /* toward an end: mirror for negatives */
        rounding = (rounding == RND_P) == !sign ? RND_P : RND_Z;
    if (isinf(x))
        bits = infinity_bits(f, finite, RND_N);
    else
        bits = store_magnitude(f, fabs(x), rounding, finite);
    return (sign | bits) << (type == ET_TF32 ? 13 : 0); /* tf32 lies in the high bits of 32 */
}

double emu_small_load(EmuType type, uint32_t bits)
{
    Format f = format_of(type);
    int bias = (1 << (f.exponent - 1)) - 1;
    uint32_t exponent, mantissa;
    double sign, value;

    if (type == ET_TF32)
        bits >>= 13;
    exponent = bits >> f.mantissa & ((1u << f.exponent) - 1);
    mantissa = bits & ((1u << f.mantissa) - 1);
    sign = bits >> (f.exponent + f.mantissa) & 1 ? -1.0 : 1.0;
    if (exponent == (1u << f.exponent) - 1 && (!f.finite || mantissa == 7))
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - f.mantissa);
    else
        value = ldexp(mantissa + (1u << f.mantissa), (int)exponent - bias - f.mantissa);
    return sign * value;
}

/* ---- the two that are everywhere, fast ---------------------------------------- */

float emu_f16_load(uint32_t bits)
{
    union { uint32_t u; float f; } x = { (bits & 0x7fffu) << 13 };

    x.f *= 0x1p112f; /* moves the exponent's bias from 15 to 127, subnormals included */
    if ((bits & 0x7c00u) == 0x7c00u)
        x.u |= 0x7f800000u;
    x.u |= (bits & 0x8000u) << 16;
    return x.f;
}

uint32_t emu_f16_store(float value)
{
    union { float f; uint32_t u; } x = { value }, tiny;
    uint32_t sign = x.u >> 16 & 0x8000u;

    x.u &= 0x7fffffffu;
    if (x.u > 0x7f800000u)
        return 0x7fffu; /* NaN is canonical, without sign (PTX ISA, "cvt") */
    if (x.u >= 0x477ff000u) /* 65520: rounds to infinity */
        return sign | 0x7c00u;
    if (x.u < 0x38800000u) { /* below 2^-14: adding 0.5 rounds at the last subnormal bit */
        tiny.f = x.f + 0.5f;
        return sign | (tiny.u - 0x3f000000u);
    }
    x.u += 0xfffu + (x.u >> 13 & 1); /* to nearest, ties to even */
    return sign | ((x.u - 0x38000000u) >> 13);
}

uint32_t emu_bf16_store(float value)
{
    union { float f; uint32_t u; } x = { value };

    if (value != value)
        return 0x7fffu;
    return (x.u + 0x7fffu + (x.u >> 16 & 1)) >> 16;
}
