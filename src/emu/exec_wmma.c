/* exec_wmma.c: wmma.load, wmma.mma, wmma.store, and mma of integers, bits and doubles.
 *
 * How the elements of a wmma fragment lie in registers the manual leaves open (PTX ISA, "Matrix Fragments
 * for WMMA"): here element i of register r of lane l is number (l * registers + r) * n + i of the matrix, row by row,
 * modulo their count where registers have room for several copies. That of mma is the rule of exec_mma.c,
 * with D of 8 rows in two registers, [g] [2 * t + r].
 */
#include "emu/machine.h"

enum { MOST_ELEMENTS = 16 * 256 };

/* ---- the tables ------------------------------------------------------------------------ */

#define ROWS_OF_BYTES(a, b)                                                              \
    { "m16n16k16", a, b, ET_S32, 16, 16, 16, 2, 2, 8 },                                  \
    { "m8n32k16", a, b, ET_S32, 8, 32, 16, 1, 4, 8 },                                    \
    { "m32n8k16", a, b, ET_S32, 32, 8, 16, 4, 1, 8 }
const WmmaRow emu_wmma_rows[] = {
    { "m16n16k16", ET_F16, ET_F16, ET_F16, 16, 16, 16, 8, 8, 4 },
    { "m16n16k16", ET_F16, ET_F16, ET_F32, 16, 16, 16, 8, 8, 8 },
    { "m8n32k16", ET_F16, ET_F16, ET_F16, 8, 32, 16, 8, 8, 4 },
    { "m8n32k16", ET_F16, ET_F16, ET_F32, 8, 32, 16, 8, 8, 8 },
    { "m32n8k16", ET_F16, ET_F16, ET_F16, 32, 8, 16, 8, 8, 4 },
    { "m32n8k16", ET_F16, ET_F16, ET_F32, 32, 8, 16, 8, 8, 8 },
    { "m16n16k16", ET_BF16, ET_BF16, ET_F32, 16, 16, 16, 4, 4, 8 },
    { "m8n32k16", ET_BF16, ET_BF16, ET_F32, 8, 32, 16, 2, 8, 8 },
    { "m32n8k16", ET_BF16, ET_BF16, ET_F32, 32, 8, 16, 8, 2, 8 },
    { "m16n16k8", ET_TF32, ET_TF32, ET_F32, 16, 16, 8, 4, 4, 8 },
    ROWS_OF_BYTES(ET_S8, ET_S8),
    ROWS_OF_BYTES(ET_U8, ET_U8),
    { "m8n8k4", ET_F64, ET_F64, ET_F64, 8, 8, 4, 1, 1, 2 },
    { "m8n8k32", ET_S4, ET_S4, ET_S32, 8, 8, 32, 1, 1, 2 },
    { "m8n8k32", ET_U4, ET_U4, ET_S32, 8, 8, 32, 1, 1, 2 },
    { "m8n8k128", ET_B1, ET_B1, ET_S32, 8, 8, 128, 1, 1, 2 },
};
const int emu_wmma_row_count = (int)TW_COUNT(emu_wmma_rows);

#define PAIRS(shape, m, k, signed_, unsigned_, na, nb, nd)                                \
    { shape, signed_, signed_, ET_S32, m, 8, k, na, nb, nd },                            \
    { shape, signed_, unsigned_, ET_S32, m, 8, k, na, nb, nd },                          \
    { shape, unsigned_, signed_, ET_S32, m, 8, k, na, nb, nd },                          \
    { shape, unsigned_, unsigned_, ET_S32, m, 8, k, na, nb, nd }
const WmmaRow emu_mma_exact_rows[] = {
    PAIRS("m8n8k16", 8, 16, ET_S8, ET_U8, 1, 1, 2),
    PAIRS("m16n8k16", 16, 16, ET_S8, ET_U8, 2, 1, 4),
    PAIRS("m16n8k32", 16, 32, ET_S8, ET_U8, 4, 2, 4),
    PAIRS("m8n8k32", 8, 32, ET_S4, ET_U4, 1, 1, 2),
    PAIRS("m16n8k32", 16, 32, ET_S4, ET_U4, 2, 1, 4),
    PAIRS("m16n8k64", 16, 64, ET_S4, ET_U4, 4, 2, 4),
    { "m8n8k128", ET_B1, ET_B1, ET_S32, 8, 8, 128, 1, 1, 2 },
    { "m16n8k128", ET_B1, ET_B1, ET_S32, 16, 8, 128, 2, 1, 4 },
    { "m16n8k256", ET_B1, ET_B1, ET_S32, 16, 8, 256, 4, 2, 4 },
    { "m8n8k4", ET_F64, ET_F64, ET_F64, 8, 8, 4, 1, 1, 2 },
    { "m16n8k4", ET_F64, ET_F64, ET_F64, 16, 8, 4, 2, 1, 4 },
    { "m16n8k8", ET_F64, ET_F64, ET_F64, 16, 8, 8, 4, 2, 4 },
    { "m16n8k16", ET_F64, ET_F64, ET_F64, 16, 8, 16, 8, 4, 4 },
};
const int emu_mma_exact_row_count = (int)TW_COUNT(emu_mma_exact_rows);

int emu_element_bits(EmuType type)
{
    return type == ET_B1 ? 1 : type == ET_S4 || type == ET_U4 ? 4 : 8 * emu_types[type].bytes;
}

/* ---- elements ---------------------------------------------------------------------------- */

/* Of every type of element a number that both kinds of arithmetic below take. */
typedef union Element {
    double real;
    int64_t integer;
} Element;

static inline Element element_of(EmuType type, uint64_t bits)
{
    union { uint64_t u; double d; } wide = { bits };
    union { uint32_t u; float f; } single = { (uint32_t)bits };
    Element e = { 0 };

    if (type == ET_F64)
        e.real = wide.d;
    else if (type == ET_F32)
        e.real = (double)single.f;
    else if (type == ET_TF32)
        e.real = (double)(single.u &= 0xffffe000u, single.f);
    else if (type == ET_F16)
        e.real = (double)emu_half_value((uint32_t)bits);
    else if (type == ET_BF16)
        e.real = (double)emu_bf16_load((uint32_t)bits);
    else if (type == ET_S8)
        e.integer = (int8_t)bits;
    else if (type == ET_S4)
        e.integer = (int64_t)(bits ^ 8) - 8;
    else if (type == ET_S32)
        e.integer = (int32_t)bits;
    else
        e.integer = (int64_t)bits;
    return e;
}

static inline uint64_t bits_of(EmuType type, Element e)
{
    union { double d; uint64_t u; } wide = { e.real };
    union { float f; uint32_t u; } single = { (float)e.real };

    if (type == ET_F64)
        return wide.u;
    if (type == ET_F32)
        return single.u;
    if (type == ET_F16)
        return emu_f16_store((float)e.real);
    if (type == ET_BF16)
        return emu_bf16_store((float)e.real);
    return (uint32_t)e.integer;
}

/* A matrix of a fragment, row by row. */
typedef struct Matrix {
    int rows, columns;
    Element at[MOST_ELEMENTS];
} Matrix;

/* What fragments there are, and how their elements lie. */
typedef enum Part { PART_A, PART_B, PART_D } Part;
typedef struct Fragment {
    EmuType type;
    int rows, columns, registers;
    Part part;
} Fragment;

static Fragment fragment_of(const WmmaRow *row, Part part)
{
    switch (part) {
    case PART_A:
        return (Fragment){ row->a, row->m, row->k, row->na, part };
    case PART_B:
        return (Fragment){ row->b, row->k, row->n, row->nb, part };
    case PART_D:
        break;
    }
    return (Fragment){ row->d, row->m, row->n, row->nd, part };
}

static int register_bits(EmuType type)
{
    return type == ET_F64 ? 64 : 32;
}

/* Where element i of register r of a lane stands, of wmma, then of mma. */
static inline int place_wmma(const Fragment *f, int l, int r, int i)
{
    int each = register_bits(f->type) / emu_element_bits(f->type);

    return ((l * f->registers + r) * each + i) & (f->rows * f->columns - 1); /* a power of two */
}

static inline int place_mma(const Fragment *f, int l, int r, int i)
{
    int n = register_bits(f->type) / emu_element_bits(f->type), g = l / 4, t = l % 4;

    if (f->part == PART_A && f->rows == 16)
        return (g + 8 * (r % 2)) * f->columns + t * n + i + 4 * n * (r / 2);
    if (f->part == PART_A)
        return g * f->columns + t * n + i;
    if (f->part == PART_B)
        return (t * n + i + 4 * n * r) * f->columns + g;
    return (g + 8 * (r / 2)) * f->columns + 2 * t + r % 2;
}

typedef int (*PlaceOf)(const Fragment *f, int l, int r, int i);

static inline void gather(Warp *w, const Inst *in, int first, const Fragment *f, PlaceOf place, Matrix *m)
{
    int bits = emu_element_bits(f->type), each = register_bits(f->type) / bits;
    int owners = f->rows * f->columns / (f->registers * each); /* lanes behind them have copies */
    uint64_t low = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    m->rows = f->rows;
    m->columns = f->columns;
    for (int r = 0; r < f->registers; r++) {
        const void *lanes = src_at(w, in, first + r);

        for (int l = 0; l < owners; l++) {
            uint64_t all = lane_bits(lanes, register_bits(f->type) / 8, l);

            for (int i = 0; i < each; i++)
                m->at[place(f, l, r, i)] = element_of(f->type, all >> bits * i & low);
        }
    }
}

static inline void scatter(Warp *w, const Inst *in, const Fragment *f, PlaceOf place, const Matrix *m)
{
    int bits = emu_element_bits(f->type), each = register_bits(f->type) / bits;
    uint64_t low = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    for (int r = 0; r < f->registers; r++) {
        void *lanes = op_at(w, in, r);

        for (int l = 0; l < LANES; l++) {
            uint64_t all = 0;

            for (int i = 0; i < each; i++)
                all |= (bits_of(f->type, m->at[place(f, l, r, i)]) & low) << bits * i;
            if (register_bits(f->type) == 64)
                ((Lane64 *)lanes)[l] = all;
            else
                ((Lane32 *)lanes)[l] = (uint32_t)all;
        }
    }
}

/* ---- products ------------------------------------------------------------------------------ */

enum { MOST_REAL = 32 * 16 };

static void singles(const Matrix *m, float *to)
{
    for (int i = 0; i < m->rows * m->columns; i++)
        to[i] = (float)m->at[i].real;
}

/* In fp32, in order of k, as exec_mma.c does. */
static void multiply_single(const Matrix *a, const Matrix *b, Matrix *d)
{
    float x[MOST_REAL], y[MOST_REAL], sums[MOST_REAL];

    singles(a, x);
    singles(b, y);
    singles(d, sums);
    for (int i = 0; i < a->rows; i++) {
        float *to = &sums[i * d->columns];

        for (int k = 0; k < a->columns; k++) {
            for (int j = 0; j < b->columns; j++)
                to[j] += x[i * a->columns + k] * y[k * b->columns + j];
        }
    }
    for (int i = 0; i < d->rows * d->columns; i++)
        d->at[i].real = (double)sums[i];
}

static void multiply_double(const Matrix *a, const Matrix *b, Matrix *d)
{
    for (int i = 0; i < a->rows; i++) {
        for (int k = 0; k < a->columns; k++) {
            for (int j = 0; j < b->columns; j++)
                d->at[i * d->columns + j].real += a->at[i * a->columns + k].real * b->at[k * b->columns + j].real;
        }
    }
}

static int32_t held(int64_t x, bool saturates)
{
    if (!saturates)
        return (int32_t)(uint32_t)(uint64_t)x;
    return (int32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}

/* Products of bits are those that both have, or that differ. */
static void multiply_integer(const Matrix *a, const Matrix *b, Matrix *d, bool saturates, bool differ)
{
    for (int i = 0; i < a->rows; i++) {
        Element *to = &d->at[i * d->columns];

        for (int k = 0; k < a->columns; k++) {
            const Element *row = &b->at[k * b->columns];
            int64_t x = a->at[i * a->columns + k].integer;

            for (int j = 0; j < b->columns; j++)
                to[j].integer += differ ? x ^ row[j].integer : x * row[j].integer;
        }
        for (int j = 0; j < b->columns; j++)
            to[j].integer = held(to[j].integer, saturates);
    }
}

/* d = a b + c; C may have another type than D has, which only wmma of f16 allows. */
static inline void multiply(Warp *w, const Inst *in, PlaceOf place)
{
    const WmmaRow *row = in->fn.row;
    Fragment fa = fragment_of(row, PART_A), fb = fragment_of(row, PART_B), fd = fragment_of(row, PART_D), fc = fd;
    Matrix a, b, d;

    fc.type = (EmuType)in->from;
    fc.registers = in->ns - fa.registers - fb.registers;
    gather(w, in, 0, &fa, place, &a);
    gather(w, in, fa.registers, &fb, place, &b);
    gather(w, in, fa.registers + fb.registers, &fc, place, &d);
    if (row->d == ET_S32)
        multiply_integer(&a, &b, &d, in->flags & IF_SAT, in->aux);
    else if (row->d == ET_F64)
        multiply_double(&a, &b, &d);
    else
        multiply_single(&a, &b, &d);
    scatter(w, in, &fd, place, &d);
}

void emu_exec_wmma(Warp *w, const Inst *in, uint32_t mask)
{
    (void)mask; /* all 32 */
    multiply(w, in, place_wmma);
}

void emu_exec_mma_exact(Warp *w, const Inst *in, uint32_t mask)
{
    (void)mask;
    multiply(w, in, place_mma);
}

/* ---- memory -------------------------------------------------------------------------------- */

/* A matrix lies in memory in lines along its rows, or its columns; a lane takes a unit of a line at a time. */
typedef struct Lines {
    int count, bits; /* of a line */
    int unit;        /* bytes */
    int64_t stride;  /* bytes */
} Lines;

enum { MOST_UNIT = 16 };

static Lines lines_of(Warp *w, const Inst *in, const Fragment *f)
{
    bool by_columns = in->flags & IF_TRANS, given = in->vec;
    int length = by_columns ? f->rows : f->columns, bits = emu_element_bits(f->type);
    int64_t stride = given ? (int32_t)*(Lane32 *)src_at(w, in, in->ns - 1) : length;
    Lines lines = { by_columns ? f->columns : f->rows, length * bits, MOST_UNIT, stride * bits / 8 };

    while (lines.unit * 8 > lines.bits)
        lines.unit /= 2;
    return lines;
}

/* Element e of line k. */
static Element *line_element(Matrix *m, const Inst *in, int k, int e)
{
    return in->flags & IF_TRANS ? &m->at[e * m->columns + k] : &m->at[k * m->columns + e];
}

/* Calls for each round of lanes: unit u of line k is that of lane (k * units + u) % 32. */
static void move(Warp *w, const Inst *in, const Fragment *f, Matrix *m, bool stores)
{
    Lines lines = lines_of(w, in, f);
    int units = lines.bits / 8 / lines.unit, all = units * lines.count, bits = emu_element_bits(f->type);
    int each = lines.unit * 8 / bits;
    uint64_t base[LANES], low = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, base);
    for (int first = 0; first < all; first += LANES) {
        int count = all - first < LANES ? all - first : LANES;
        uint64_t address[LANES] = { 0 };
        uint8_t *at[LANES];
        uint32_t ok;

        for (int l = 0; l < count; l++)
            address[l] = base[l] + (uint64_t)((first + l) / units * lines.stride + (first + l) % units * lines.unit);
        ok = emu_access(w, in, count == LANES ? FULL : (1u << count) - 1, (Space)in->space, address, lines.unit,
                        stores ? ACCESS_WRITE : ACCESS_READ, at);
        for (int l = 0; l < count; l++) {
            for (int e = 0; e < each; e++) {
                Element *x = line_element(m, in, (first + l) / units, (first + l) % units * each + e);
                uint64_t word = 0;

                if (!lane_on(ok, l)) {
                    *x = element_of(f->type, 0);
                } else if (stores) {
                    word = bits_of(f->type, *x);
                    memcpy(at[l] + e * bits / 8, &word, (size_t)bits / 8);
                } else {
                    memcpy(&word, at[l] + e * bits / 8, bits < 8 ? 1 : (size_t)bits / 8);
                    *x = element_of(f->type, word >> e * bits % 8 & low);
                }
            }
        }
    }
}

/* A fragment keeps the bits that memory has, so those of tf32 are not cut here. */
static Fragment loaded(const Inst *in)
{
    Fragment f = fragment_of(in->fn.row, (Part)in->aux);

    f.type = f.type == ET_TF32 ? ET_F32 : f.type;
    return f;
}

void emu_exec_wmma_load(Warp *w, const Inst *in, uint32_t mask)
{
    Fragment f = loaded(in);
    Matrix m;

    (void)mask;
    m.rows = f.rows;
    m.columns = f.columns;
    move(w, in, &f, &m, false);
    scatter(w, in, &f, place_wmma, &m);
}

void emu_exec_wmma_store(Warp *w, const Inst *in, uint32_t mask)
{
    Fragment f = loaded(in);
    Matrix m;

    (void)mask;
    gather(w, in, 1, &f, place_wmma, &m);
    move(w, in, &f, &m, true);
}
