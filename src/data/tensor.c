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

Tensor *tensor_new_rows(Arena *arena, const char *name, DType dtype, int rank, const int64_t *dims, int row_bytes,
                        const char **error)
{
    int64_t sizes[TENSOR_MAX_RANK], each = row_bytes / dtype_bytes(dtype);
    Tensor *t;

    if (rank < 2 || rank > TENSOR_MAX_RANK || each <= 1 || dims[rank - 1] < 0 || dims[rank - 1] > max_bytes)
        return tensor_new(arena, name, dtype, rank, dims, error);
    memcpy(sizes, dims, (size_t)rank * sizeof *sizes);
    sizes[rank - 1] = (sizes[rank - 1] + each - 1) / each * each;
    t = tensor_new(arena, name, dtype, rank, sizes, error);
    if (t)
        t->dims[rank - 1] = dims[rank - 1];
    return t;
}

Tensor *tensor_seen(Arena *arena, Tensor *t, int rank, const int64_t *dims)
{
    Tensor *seen = arena_new_of(arena, Tensor), whole = *t;

    *seen = *t;
    seen->rank = rank;
    memcpy(seen->dims, dims, (size_t)rank * sizeof *dims);
    bool same = rank == t->rank && memcmp(dims, t->dims, (size_t)rank * sizeof *dims) == 0;
    bool fits = !same && lay_out(&whole) && lay_out(seen) && tensor_count(seen) == tensor_count(t);
    return fits && memcmp(whole.strides, t->strides, (size_t)t->rank * sizeof *t->strides) == 0 ? seen : t;
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

bool tensor_step(const Tensor *t, int dims, int64_t *at)
{
    for (int d = dims - 1; d >= 0; d--) {
        if (++at[d] < t->dims[d])
            return true;
        at[d] = 0;
    }
    return false;
}

static int64_t row_length(const Tensor *t)
{
    return t->rank > 0 ? t->dims[t->rank - 1] : 1;
}

/* Stores a row's elements, the type looked at once for all of them. */
static void store_row(const Tensor *t, const int64_t *at, const double *row, int64_t n)
{
    char *to = element(t, tensor_index(t, at));
    int64_t size = dtype_bytes(t->dtype);

    for (int64_t j = 0; j < n; j++, to += size) {
        if (t->dtype == DT_BF16 || t->dtype == DT_F16) {
            uint16_t bits = t->dtype == DT_BF16 ? f32_to_bf16((float)row[j]) : f32_to_f16((float)row[j]);

            memcpy(to, &bits, sizeof bits);
        } else {
            dtype_store(t->dtype, to, row[j]);
        }
    }
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

/* Numbers of the table take 12 bits each; two make one that is drawn. */
static void draw_normals(Draw *draw, double *row, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        uint64_t bits;

        if (!draw->normals) {
            row[j] = rng_normal(&draw->rng);
            continue;
        }
        bits = rng_next(&draw->rng);
        row[j] = draw->normals[bits % TABLE] + draw->normals[bits / TABLE % TABLE];
        bits /= (uint64_t)TABLE * TABLE;
        if (j + 1 < n)
            row[++j] = draw->normals[bits % TABLE] + draw->normals[bits / TABLE % TABLE];
    }
}

/* The scale of GROWING at an element: 1 to 12 along the second-last dimension. */
static double growth(const Tensor *t, const int64_t *at)
{
    int d = t->rank >= 2 ? t->rank - 2 : 0;

    if (t->rank == 0 || t->dims[d] < 2)
        return 1;
    return 1 + 11 * (double)at[d] / (double)(t->dims[d] - 1);
}

/* What bars an element of an additive mask. */
static double least(DType dtype)
{
    double low = dtype_round(dtype, -1e9);

    return isinf(low) ? -65504 : low;
}

/* Elements of an additive mask: each 0 or `low`; all of every third row are `low`. */
static void bar_row(Draw *draw, const Tensor *t, const int64_t *at, double low, double *row, int64_t n)
{
    bool all = t->rank >= 2 && at[t->rank - 2] % 3 == 0;

    for (int64_t j = 0; j < n; j++)
        row[j] = all || rng_below(&draw->rng, 2) ? low : 0;
}

/* One element of a row, and some more: so few that most products of two rows are 0, and so small that none is large. */
static void thin_row(Draw *draw, double *row, int64_t n)
{
    enum { OF_WHICH_ONE = 64 };
    int64_t kept = n > 0 ? (int64_t)rng_below(&draw->rng, (uint64_t)n) : 0;

    for (int64_t j = 0; j < n; j++)
        row[j] = rng_below(&draw->rng, OF_WHICH_ONE) && j != kept ? 0 : copysign(0.25 * (1 + rng_uniform(&draw->rng)), row[j]);
}

static void scale_row(double *row, int64_t n, double factor)
{
    for (int64_t j = 0; j < n; j++)
        row[j] *= factor;
}

/* Elements i to i + n - 1 in row-major order, all of the row at `at`. */
static void draw_floats(Draw *draw, const Tensor *t, FillKind kind, const int64_t *at, int64_t i, double *row,
                        int64_t n)
{
    if (kind != FILL_UNIFORM && kind != FILL_ONES && kind != FILL_INDEX)
        draw_normals(draw, row, n);
    switch (kind) {
    case FILL_NORMAL: break;
    case FILL_LARGE: scale_row(row, n, 30); break;
    case FILL_SMALL: case FILL_SMALL_FIRST: scale_row(row, n, 1e-3); break;
    case FILL_TINY: scale_row(row, n, 1e-4); break;
    case FILL_SPARSE: thin_row(draw, row, n); break;
    case FILL_GROWING: scale_row(row, n, growth(t, at)); break;
    case FILL_BARRED: bar_row(draw, t, at, least(t->dtype), row, n); break;
    case FILL_HIDDEN: bar_row(draw, t, at, dtype_bytes(t->dtype) == 1 ? least(t->dtype) : -INFINITY, row, n); break;
    case FILL_NEGATIVE:
        for (int64_t j = 0; j < n; j++)
            row[j] = -fabs(row[j]) - 4;
        break;
    case FILL_OPPOSED:
        for (int64_t j = 0; j < n; j++)
            row[j] = 2 * fabs(row[j]) + 1;
        break;
    case FILL_UNIFORM:
        for (int64_t j = 0; j < n; j++)
            row[j] = 2 * rng_uniform(&draw->rng) - 1;
        break;
    case FILL_ONES: case FILL_INDEX:
        for (int64_t j = 0; j < n; j++)
            row[j] = kind == FILL_ONES ? 1 : (double)((i + j) % 97) / 97;
        break;
    case FILL_COUNT: break;
    }
}

/* Integers stand for ids and positions: small, not negative, with repeats; those of 8 bits for
 * numbers that were quantized: all that there are. */
static double draw_integer(Draw *draw, DType dtype, FillKind kind, int64_t i)
{
    bool byte = dtype == DT_I8 || dtype == DT_U8;

    if (kind == FILL_ONES)
        return 1;
    if (kind == FILL_INDEX)
        return (double)(i % 97);
    return (double)rng_below(&draw->rng, dtype == DT_BOOL ? 2 : byte ? 256 : 4) - (dtype == DT_I8 ? 128 : 0);
}

static void draw_row(Draw *draw, const Tensor *t, FillKind kind, const int64_t *at, int64_t i, double *row,
                     int64_t n)
{
    if (dtype_is_float(t->dtype)) {
        draw_floats(draw, t, kind, at, i, row, n);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        row[j] = draw_integer(draw, t->dtype, kind, i + j);
}

void tensor_fill(Tensor *t, FillKind kind, uint64_t seed)
{
    int64_t at[TENSOR_MAX_RANK] = {0}, count = tensor_count(t), n = row_length(t);
    Draw draw = {.rng = {seed}};
    double part[256];

    if (count >= TABLE_FROM)
        make_table(&draw);
    for (int64_t i = 0; i < count; i += n, tensor_step(t, t->rank - 1, at)) {
        for (int64_t j = 0; j < n; j += (int64_t)TW_COUNT(part)) {
            int64_t m = n - j < (int64_t)TW_COUNT(part) ? n - j : (int64_t)TW_COUNT(part);

            if (t->rank > 0)
                at[t->rank - 1] = j;
            draw_row(&draw, t, kind, at, i + j, part, m);
            store_row(t, at, part, m);
        }
        if (t->rank > 0)
            at[t->rank - 1] = 0;
    }
}

void tensor_fill_integers(Tensor *t, int least, int64_t most, uint64_t seed)
{
    int64_t at[TENSOR_MAX_RANK] = {0}, count = tensor_count(t);
    Rng rng = {seed};
    uint64_t numbers = (uint64_t)(most - least) + 1, first = 0;

    for (int64_t i = 0; i < count; i++) {
        uint64_t number = rng_next(&rng) % numbers;

        if (i == 1 && number == first) /* of a table with few entries, too, one is not another */
            number = (number + 1) % numbers;
        first = i ? first : number;
        tensor_set(t, at, (double)(least + (int64_t)number));
        tensor_step(t, t->rank, at);
    }
}

void tensor_poison(Tensor *t)
{
    int64_t at[TENSOR_MAX_RANK] = {0}, count = tensor_count(t), n = row_length(t);
    unsigned char pattern[8];
    size_t size = (size_t)dtype_bytes(t->dtype);

    memset(pattern, 0x7f, sizeof pattern);
    if (dtype_is_float(t->dtype))
        dtype_store(t->dtype, pattern, NAN);
    for (int64_t i = 0; i < count; i += n, tensor_step(t, t->rank - 1, at)) {
        char *to = element(t, tensor_index(t, at));

        for (int64_t j = 0; j < n; j++)
            memcpy(to + (size_t)j * size, pattern, size);
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
