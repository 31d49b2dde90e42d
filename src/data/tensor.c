/* tensor.c: tensors in host memory and their random contents.
 *
 * Fills are a function of (kind, seed, shape, dtype) alone: the same bytes on
 * every machine. A large tensor takes its normal numbers from a table of 4096
 * draws, two entries a number, which is twenty times as fast as drawing each
 * and still gives 16 million different values.
 */
#include "data/tensor.h"

#include <math.h>

static const char *const fill_names[] = {
#define FILL(id, name, help) name,
#include "data/fills.def"
#undef FILL
};

static const int64_t max_bytes = (int64_t)16 << 30;

/* ---- shape and elements ------------------------------------------------------ */

/* Row-major strides; false when the elements do not fit the limit. */
static bool lay_out(Tensor *t)
{
    int64_t room = max_bytes / dtype_bytes(t->dtype), count = 1;
    bool empty = false;

    for (int d = t->rank - 1; d >= 0; d--) {
        int64_t size = t->dims[d] ? t->dims[d] : 1;

        t->strides[d] = count;
        empty |= t->dims[d] == 0;
        if (size > room / count)
            return false;
        count *= size;
    }
    t->bytes = empty ? 0 : (size_t)count * (size_t)dtype_bytes(t->dtype);
    return true;
}

Tensor *tensor_new(Arena *arena, const char *name, DType dtype, int rank, const int64_t *dims,
                   const char **error)
{
    Tensor *t = arena_new_of(arena, Tensor);

    *error = NULL;
    t->name = name;
    t->dtype = dtype;
    t->rank = rank;
    if (rank < 0 || rank > TENSOR_MAX_RANK) {
        *error = arena_printf(arena, "%s has %d dimensions; at most %d are possible", name, rank,
                              TENSOR_MAX_RANK);
        return NULL;
    }
    for (int d = 0; d < rank; d++) {
        if (dims[d] < 0) {
            *error = arena_printf(arena, "dimension %d of %s is %lld", d, name, (long long)dims[d]);
            return NULL;
        }
        t->dims[d] = dims[d];
    }
    if (!lay_out(t)) {
        *error = arena_printf(arena, "%s has more than 16 GiB", name);
        return NULL;
    }
    t->data = arena_alloc(arena, t->bytes ? t->bytes : 1);
    return t;
}

int64_t tensor_count(const Tensor *t)
{
    int64_t count = 1;

    for (int d = 0; d < t->rank; d++)
        count *= t->dims[d];
    return count;
}

int64_t tensor_index(const Tensor *t, const int64_t *at)
{
    int64_t index = 0;

    for (int d = 0; d < t->rank; d++)
        index += at[d] * t->strides[d];
    return index;
}

static void *element(const Tensor *t, int64_t index)
{
    return (char *)t->data + index * dtype_bytes(t->dtype);
}

double tensor_get(const Tensor *t, const int64_t *at)
{
    return dtype_load(t->dtype, element(t, tensor_index(t, at)));
}

void tensor_set(Tensor *t, const int64_t *at, double value)
{
    dtype_store(t->dtype, element(t, tensor_index(t, at)), value);
}

/* Steps `at` to the next element in row-major order; false after the last. */
static bool next_element(const Tensor *t, int64_t *at)
{
    for (int d = t->rank - 1; d >= 0; d--) {
        if (++at[d] < t->dims[d])
            return true;
        at[d] = 0;
    }
    return false;
}

/* ---- random contents ----------------------------------------------------------- */

enum { TABLE = 4096, TABLE_FROM = 4 * TABLE };

/* Where random numbers come from. */
typedef struct Draw {
    Rng rng;
    double *normals; /* TABLE numbers of mean 0 and variance 1/2; NULL: draw each */
    double table[TABLE];
} Draw;

static void make_table(Draw *draw)
{
    double mean = 0, square = 0, scale;

    for (int i = 0; i < TABLE; i++)
        mean += draw->table[i] = rng_normal(&draw->rng);
    mean /= TABLE;
    for (int i = 0; i < TABLE; i++) {
        draw->table[i] -= mean;
        square += draw->table[i] * draw->table[i];
    }
    scale = sqrt(0.5 * TABLE / square);
    for (int i = 0; i < TABLE; i++)
        draw->table[i] *= scale;
    draw->normals = draw->table;
}

static double draw_normal(Draw *draw)
{
    uint64_t bits;

    if (!draw->normals)
        return rng_normal(&draw->rng);
    bits = rng_next(&draw->rng);
    return draw->normals[bits % TABLE] + draw->normals[bits / TABLE % TABLE];
}

/* The scale of GROWING at an element: 1 to 12 along the second-last dimension. */
static double growth(const Tensor *t, const int64_t *at)
{
    int d = t->rank >= 2 ? t->rank - 2 : 0;

    if (t->rank == 0 || t->dims[d] < 2)
        return 1;
    return 1 + 11 * (double)at[d] / (double)(t->dims[d] - 1);
}

static double draw_float(Draw *draw, const Tensor *t, FillKind kind, const int64_t *at, int64_t i)
{
    switch (kind) {
    case FILL_NORMAL: return draw_normal(draw);
    case FILL_UNIFORM: return 2 * rng_uniform(&draw->rng) - 1;
    case FILL_LARGE: return 30 * draw_normal(draw);
    case FILL_GROWING: return growth(t, at) * draw_normal(draw);
    case FILL_NEGATIVE: return -fabs(draw_normal(draw)) - 4;
    case FILL_SMALL: return 1e-3 * draw_normal(draw);
    case FILL_ONES: return 1;
    case FILL_INDEX: return (double)(i % 97) / 97;
    case FILL_COUNT: break;
    }
    return 0;
}

/* Integers stand for ids and positions: small, not negative, with repeats. */
static double draw_integer(Draw *draw, DType dtype, FillKind kind, int64_t i)
{
    if (kind == FILL_ONES)
        return 1;
    if (kind == FILL_INDEX)
        return (double)(i % 97);
    return rng_below(&draw->rng, dtype == DT_BOOL ? 2 : 4);
}

void tensor_fill(Tensor *t, FillKind kind, uint64_t seed)
{
    int64_t at[TENSOR_MAX_RANK] = {0}, count = tensor_count(t);
    Draw draw = {.rng = {seed}};

    if (count >= TABLE_FROM)
        make_table(&draw);
    for (int64_t i = 0; i < count; i++, next_element(t, at)) {
        double x = dtype_is_float(t->dtype) ? draw_float(&draw, t, kind, at, i)
                                            : draw_integer(&draw, t->dtype, kind, i);

        tensor_set(t, at, x);
    }
}

void tensor_poison(Tensor *t)
{
    int64_t at[TENSOR_MAX_RANK] = {0}, count = tensor_count(t);

    for (int64_t i = 0; i < count; i++, next_element(t, at)) {
        void *to = element(t, tensor_index(t, at));

        if (dtype_is_float(t->dtype))
            dtype_store(t->dtype, to, NAN);
        else
            memset(to, 0x7f, (size_t)dtype_bytes(t->dtype));
    }
}

const char *fill_name(FillKind kind)
{
    return kind < FILL_COUNT ? fill_names[kind] : "?";
}

bool fill_parse(const char *name, FillKind *kind)
{
    for (int i = 0; i < FILL_COUNT; i++)
        if (text_equal_nocase(name, fill_names[i]))
            return *kind = (FillKind)i, true;
    return false;
}
