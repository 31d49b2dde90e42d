/* number.c: element types, their rounding, seeded random numbers, medians and divisors.
 *
 *   fp16   1 sign, 5 exponent (bias 15), 10 mantissa bits
 *   bf16   1 sign, 8 exponent (bias 127), 7 mantissa bits: the top half of fp32
 *   e4m3   1 sign, 4 exponent (bias 7), 3 mantissa bits: up to 448; no infinity,
 *          and of all exponents' ones only 0x7f and 0xff are NaN
 *   e5m2   1 sign, 5 exponent (bias 15), 2 mantissa bits: the top half of fp16
 *
 * Conversions follow cvt.rn of the PTX ISA manual (9.7.9, "Data Movement and
 * Conversion Instructions: cvt"): round to nearest even, subnormals kept, NaN
 * becomes the canonical 0x7fff (0x7f). The last two are the OCP 8-bit formats
 * (PTX ISA, "Alternate Floating-Point Data Formats"); what is too large for them
 * becomes their largest number (.satfinite).
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>

typedef struct DTypeInfo {
    const char *name;
    int bytes;
    bool is_float;
    int mantissa;
} DTypeInfo;

static const DTypeInfo dtypes[] = {
#define DTYPE(id, name, bytes, is_float, mantissa) {name, bytes, is_float, mantissa},
#include "base/dtypes.def"
#undef DTYPE
};

const char *dtype_name(DType t)
{
    return dtypes[t].name;
}

int dtype_bytes(DType t)
{
    return dtypes[t].bytes;
}

bool dtype_is_float(DType t)
{
    return dtypes[t].is_float;
}

bool dtype_is_narrow(DType t)
{
    return dtypes[t].is_float && dtypes[t].bytes <= 2;
}

double dtype_epsilon(DType t)
{
    return dtypes[t].is_float ? ldexp(1.0, -dtypes[t].mantissa) : 0.0;
}

bool dtype_parse(const char *name, DType *t)
{
    static const struct {
        const char *name;
        DType type;
    } aliases[] = {
        {"f16", DT_F16}, {"half", DT_F16}, {"float16", DT_F16}, {"bfloat16", DT_BF16},
        {"f32", DT_F32}, {"float", DT_F32}, {"float32", DT_F32}, {"f64", DT_F64},
        {"double", DT_F64}, {"float64", DT_F64}, {"i32", DT_I32}, {"s32", DT_I32},
        {"int", DT_I32}, {"i64", DT_I64}, {"s64", DT_I64}, {"long", DT_I64},
        {"i8", DT_I8}, {"s8", DT_I8}, {"char", DT_I8}, {"u8", DT_U8}, {"byte", DT_U8},
        {"fp8", DT_E4M3}, {"fp8_e4m3", DT_E4M3}, {"float8_e4m3fn", DT_E4M3}, {"e4m3fn", DT_E4M3},
        {"fp8_e5m2", DT_E5M2}, {"float8_e5m2", DT_E5M2}, {"boolean", DT_BOOL}, {"pred", DT_BOOL},
    };

    for (int i = 0; i < DT_COUNT; i++)
        if (text_equal_nocase(name, dtypes[i].name))
            return *t = (DType)i, true;
    for (size_t i = 0; i < TW_COUNT(aliases); i++)
        if (text_equal_nocase(name, aliases[i].name))
            return *t = aliases[i].type, true;
    return false;
}

static uint32_t float_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* bits without its low `drop` ones, rounded to nearest even; 0 < drop < 32 */
static uint32_t shift_nearest_even(uint32_t bits, int drop)
{
    uint32_t kept = bits >> drop, rest = bits & ((1u << drop) - 1), half = 1u << (drop - 1);

    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t f32_to_f16(float x)
{
    uint32_t bits = float_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;

    if (magnitude > 0x7f800000)
        return 0x7fff;
    if (magnitude >= 0x47800000) /* 65536 and more; 65520 and more rounds up below */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) /* normal: rebias from 127 to 15, a carry may give infinity */
        return (uint16_t)(sign | shift_nearest_even(magnitude - (112u << 23), 13));
    if (magnitude < 0x33000000) /* under half of the least subnormal, 2^-25 */
        return (uint16_t)sign;
    return (uint16_t)(sign | shift_nearest_even((magnitude & 0x7fffff) | 0x800000,
                                                126 - (int)(magnitude >> 23)));
}

float f16_to_f32(uint16_t x)
{
    uint32_t sign = (uint32_t)(x & 0x8000) << 16, magnitude = x & 0x7fff;

    if (magnitude >= 0x7c00)
        return bits_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x400)
        return bits_float(sign | ((magnitude << 13) + (112u << 23)));
    return bits_float(sign | float_bits((float)magnitude * 0x1p-24f));
}

uint16_t f32_to_bf16(float x)
{
    uint32_t bits = float_bits(x);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (uint16_t)(bits >> 16 & 0x8000) | (uint16_t)shift_nearest_even(bits & 0x7fffffff, 16);
}

float bf16_to_f32(uint16_t x)
{
    return bits_float((uint32_t)x << 16);
}

/* 8 bits with this many of them for the mantissa; `least` is the exponent of the
 * least normal number, `most` the bits of the largest. */
static uint8_t f32_to_8(float x, int mantissa, int least, uint32_t most)
{
    uint32_t bits = float_bits(x), sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff, result;
    int exponent = (int)(magnitude >> 23) - 127, drop = 23 - mantissa;

    if (magnitude > 0x7f800000)
        return 0x7f;
    if (exponent >= least) /* rebias so that `least` becomes 1; a carry raises the exponent */
        result = shift_nearest_even(magnitude - ((uint32_t)(126 + least) << 23), drop);
    else if (least - exponent <= mantissa + 1)
        result = shift_nearest_even((magnitude & 0x7fffff) | 0x800000, drop + least - exponent);
    else
        result = 0;
    return (uint8_t)(sign | (result > most ? most : result));
}

uint8_t f32_to_e4m3(float x)
{
    return f32_to_8(x, 3, -6, 0x7e);
}

float e4m3_to_f32(uint8_t x)
{
    if ((x & 0x7f) == 0x7f)
        return bits_float((uint32_t)(x & 0x80) << 24 | 0x7fffffff);
    return f16_to_f32((uint16_t)((x & 0x80) << 8 | (x & 0x7f) << 7)) * 256.0f; /* bias 7 for 15 */
}

uint8_t f32_to_e5m2(float x)
{
    return f32_to_8(x, 2, -14, 0x7b);
}

float e5m2_to_f32(uint8_t x)
{
    return f16_to_f32((uint16_t)(x << 8));
}

/* value cut to the integers from least to most; NaN gives 0, as cvt does */
static double clamp_integer(double value, double least, double most)
{
    if (value != value)
        return 0;
    return value < least ? least : value > most ? most : value;
}

static int64_t to_int64(double value)
{
    if (value >= 0x1p63) /* not a double below 2^63 rounds to INT64_MAX */
        return INT64_MAX;
    return (int64_t)clamp_integer(value, -0x1p63, 0x1p63);
}

double dtype_load(DType t, const void *at)
{
    union { float f; double d; uint16_t h; int32_t i; int64_t l; uint8_t b; } u;

    memcpy(&u, at, (size_t)dtype_bytes(t));
    switch (t) {
    case DT_F32: return u.f;
    case DT_F16: return f16_to_f32(u.h);
    case DT_BF16: return bf16_to_f32(u.h);
    case DT_E4M3: return e4m3_to_f32(u.b);
    case DT_E5M2: return e5m2_to_f32(u.b);
    case DT_F64: return u.d;
    case DT_I32: return u.i;
    case DT_I64: return (double)u.l;
    case DT_I8: return (int8_t)u.b;
    case DT_U8: return u.b;
    case DT_BOOL: return u.b != 0;
    case DT_COUNT: break;
    }
    return 0;
}

void dtype_store(DType t, void *at, double value)
{
    union { float f; double d; uint16_t h; int32_t i; int64_t l; uint8_t b; } u;

    switch (t) {
    case DT_F32: u.f = (float)value; break;
    case DT_F16: u.h = f32_to_f16((float)value); break;
    case DT_BF16: u.h = f32_to_bf16((float)value); break;
    case DT_E4M3: u.b = f32_to_e4m3((float)value); break;
    case DT_E5M2: u.b = f32_to_e5m2((float)value); break;
    case DT_F64: u.d = value; break;
    case DT_I32: u.i = (int32_t)clamp_integer(value, INT32_MIN, INT32_MAX); break;
    case DT_I64: u.l = to_int64(value); break;
    case DT_I8: u.b = (uint8_t)(int)clamp_integer(value, INT8_MIN, INT8_MAX); break;
    case DT_U8: u.b = (uint8_t)clamp_integer(value, 0, UINT8_MAX); break;
    case DT_BOOL: u.b = value != 0; break;
    case DT_COUNT: return;
    }
    memcpy(at, &u, (size_t)dtype_bytes(t));
}

double dtype_round(DType t, double value)
{
    unsigned char bytes[8];

    dtype_store(t, bytes, value);
    return dtype_load(t, bytes);
}

uint64_t rng_next(Rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double rng_uniform(Rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

/* Box and Muller's transform; the second value of the pair is dropped so that
 * the generator's state stays one number. */
double rng_normal(Rng *rng)
{
    double u = 1.0 - rng_uniform(rng), v = rng_uniform(rng);

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

int rng_below(Rng *rng, int n)
{
    return n > 0 ? (int)(rng_next(rng) % (uint64_t)n) : 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double median(double *values, int n)
{
    if (n < 1)
        return 0;
    qsort(values, (size_t)n, sizeof *values, by_size);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}
