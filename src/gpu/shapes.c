/* shapes.c: the shapes that a kernel is tried on besides the one asked for.
 *
 * A dimension that is one of the last two of some tensor is cut into tiles (def_is_tiled), so
 * it takes lengths round the boundaries of tiles; any other counts batches or
 * heads, and is small. Every dimension is empty in one shape.
 *
 *   tile 128:  1  127  128  129  259  17  200
 *
 * Where kernels share lengths among them (`in_range` of their grids), each has the longest of its own, and the last one more.
 */
#include "gpu/driver.h"

enum { DEFAULT_TILE = 64, LENGTHS = 7, RAGGED_SHAPES = 10, FEW = 5, WELL_BEYOND = 1024, MOST_ELEMENTS = 1 << 23 };

static const double MOST_FLOPS = 6e8;

static const FillKind FILLS[] = {FILL_NORMAL, FILL_LARGE, FILL_GROWING, FILL_NEGATIVE, FILL_SMALL, FILL_SMALL_FIRST};

const FillKind *gpu_fills(int *count)
{
    *count = (int)TW_COUNT(FILLS);
    return FILLS;
}

/* ---- tiles -------------------------------------------------------------------------- */

static bool uses_name(const Aff *a, const char *name)
{
    return a && ((a->sym && strcmp(a->sym->name, name) == 0) || uses_name(a->a, name) ||
                 uses_name(a->b, name));
}

static int64_t largest_divisor(const Aff *a, const char *name)
{
    int64_t found = 0, below, divisor;
    if (!a)
        return 0;
    if (a->kind == AFF_DIV && uses_name(a->a, name) && aff_is_const(a->b, &divisor))
        found = divisor;
    below = largest_divisor(a->a, name);
    found = below > found ? below : found;
    below = largest_divisor(a->b, name);
    return below > found ? below : found;
}

int64_t gpu_grid_tile(const Abi *abi, const char *dim)
{
    int64_t tile = 0;
    for (int i = 0; i < abi->kernels.len; i++) {
        int64_t fast = largest_divisor(abi->kernels.data[i].fast.blocks, dim);
        int64_t any = largest_divisor(abi->kernels.data[i].any.blocks, dim);
        int64_t found = any > fast ? any : fast;
        tile = found > tile ? found : tile;
    }
    return tile;
}

/* ---- ranges ------------------------------------------------------------------------- */

typedef VEC(int64_t) Ends;

/* Where a range ends: 4096 of `4096 div max(1, N)`. */
static void collect_ends(Arena *arena, const Aff *a, const char *name, Ends *ends)
{
    int64_t end;
    if (!a)
        return;
    if (a->kind == AFF_DIV && uses_name(a->b, name) && aff_is_const(a->a, &end)) {
        bool known = false;
        for (int i = 0; i < ends->len; i++)
            known |= ends->data[i] == end;
        if (!known)
            vec_push(arena, ends, end);
    }
    collect_ends(arena, a->a, name, ends);
    collect_ends(arena, a->b, name, ends);
}

/* ---- dimensions --------------------------------------------------------------------- */

typedef struct Maker {
    Arena *arena;
    const Abi *abi;
    const Def *def;
    const RefBinding *requested;
    int n_requested;
    VEC(const AffSym *) syms; /* the definition's symbols, each once */
    GpuShapes *shapes;
    Rng rng;
} Maker;

static void collect_syms(Maker *m)
{
    for (int i = 0; i < m->def->dims.len; i++) {
        const AffSym *sym = m->def->dims.data[i].sym;
        bool known = !sym;
        for (int k = 0; k < m->syms.len && !known; k++)
            known = m->syms.data[k] == sym;
        if (!known)
            vec_push(m->arena, &m->syms, sym);
    }
}

static int64_t length(const Maker *m, const AffSym *sym, int choice)
{
    int64_t tile = gpu_grid_tile(m->abi, sym->name);
    if (tile < 8 || tile > 1024)
        tile = DEFAULT_TILE;
    const int64_t lengths[LENGTHS] = {tile + 1, 1,    2 * tile + 3,   tile - 1,
                                      17,       tile, tile + tile / 2};
    return lengths[choice % LENGTHS];
}

static double requested_value(const Maker *m, const char *name, double otherwise)
{
    for (int i = 0; i < m->n_requested; i++)
        if (strcmp(m->requested[i].name, name) == 0)
            return m->requested[i].value;
    return otherwise;
}

/* ---- shapes ------------------------------------------------------------------------- */

const char *gpu_shape_text(Arena *arena, const RefBinding *bindings, int n)
{
    Str s = str_new(arena);
    for (int i = 0; i < n; i++)
        str_printf(&s, "%s%s=%.10g", i ? " " : "", bindings[i].name, bindings[i].value);
    return str_text(&s);
}

/* A value for each symbol, and the parameters that were asked for. */
static GpuShape new_shape(Maker *m)
{
    GpuShape shape = {.bindings =
                          arena_array(m->arena, RefBinding, m->syms.len + m->n_requested + 1)};
    for (int i = 0; i < m->syms.len; i++)
        shape.bindings[shape.n++] = (RefBinding){m->syms.data[i]->name, 0};
    for (int i = 0; i < m->n_requested; i++) {
        bool is_dim = false;
        for (int k = 0; k < m->syms.len; k++)
            is_dim |= strcmp(m->syms.data[k]->name, m->requested[i].name) == 0;
        if (!is_dim)
            shape.bindings[shape.n++] = m->requested[i];
    }
    return shape;
}

static void add_shape(Maker *m, GpuShape shape)
{
    shape.what = gpu_shape_text(m->arena, shape.bindings, m->syms.len);
    for (int i = 0; i < m->shapes->list.len; i++)
        if (strcmp(m->shapes->list.data[i].what, shape.what) == 0)
            return;
    vec_push(m->arena, &m->shapes->list, shape);
}

/* keep_counts: dimensions that are not tiled have the values asked for, for
 * operators that want one a multiple of another. */
static GpuShape ragged(Maker *m, int index, bool keep_counts)
{
    GpuShape shape = new_shape(m);
    int tiled = 0;
    for (int i = 0; i < m->syms.len; i++) {
        const AffSym *sym = m->syms.data[i];
        double *value = &shape.bindings[i].value;
        if (def_is_tiled(m->def, sym))
            *value = (double)length(m, sym, index + 3 * tiled++);
        else if (keep_counts)
            *value = requested_value(m, sym->name, 2);
        else
            *value = 1 + rng_below(&m->rng, 3);
    }
    return shape;
}

static void add_ragged(Maker *m)
{
    for (int i = 0; i < RAGGED_SHAPES; i++)
        add_shape(m, ragged(m, i, i % 2 == 1));
}

/* All tiled dimensions equal and whole tiles: what most callers have. */
static void add_even(Maker *m)
{
    GpuShape shape = ragged(m, 0, false);
    for (int i = 0; i < m->syms.len; i++)
        if (def_is_tiled(m->def, m->syms.data[i]))
            shape.bindings[i].value = 256;
    add_shape(m, shape);
}

static void add_empty(Maker *m)
{
    for (int i = 0; i < m->syms.len; i++) {
        GpuShape shape = ragged(m, 4, true);
        shape.bindings[i].value = 0;
        add_shape(m, shape);
    }
}

/* Whether its tensors are small, and what the definition computes is little. */
static bool is_little(const Maker *m, const GpuShape *shape)
{
    int64_t *dims = arena_array(m->arena, int64_t, m->abi->dims.len), sizes[TENSOR_MAX_RANK];
    double *params = arena_array(m->arena, double, m->abi->params.len), all = 0;
    const char *error;

    if (!gpu_bind(m->arena, m->abi, m->def, shape->bindings, shape->n, dims, params, &error))
        return false;
    for (int t = 0; t < m->abi->tensors.len; t++) {
        double elements = 1;

        if (!abi_dims(m->abi, t, dims, sizes))
            return false;
        for (int d = 0; d < m->abi->tensors.data[t].rank; d++)
            elements *= (double)sizes[d];
        all += elements;
    }
    return all <= MOST_ELEMENTS && ref_flops(m->arena, m->def, shape->bindings, shape->n) <= MOST_FLOPS;
}

/* A length of dimension `at`, among few of all others; none so long that the definition would take seconds. */
static void add_length(Maker *m, int at, int64_t length)
{
    GpuShape shape = ragged(m, 0, true);
    for (int i = 0; i < m->syms.len; i++)
        if (def_is_tiled(m->def, m->syms.data[i]))
            shape.bindings[i].value = i == at ? (double)length : FEW;
    if (is_little(m, &shape))
        add_shape(m, shape);
}

/* The longest of each range, and one whose rows are not aligned. */
static void add_ranges(Maker *m, int at)
{
    Ends ends = {0};
    int64_t last = 0;
    for (int i = 0; i < m->abi->kernels.len; i++)
        collect_ends(m->arena, m->abi->kernels.data[i].fast.blocks, m->syms.data[at]->name, &ends);
    for (int i = 0; i < ends.len; i++) {
        add_length(m, at, ends.data[i]);
        add_length(m, at, ends.data[i] - 1);
        last = ends.data[i] > last ? ends.data[i] : last;
    }
    if (last) {
        add_length(m, at, last + 1);
        add_length(m, at, last + WELL_BEYOND);
    }
}

static Maker maker_of(Arena *arena, const Abi *abi, const Def *def, const RefBinding *requested, int n_requested, uint64_t seed)
{
    Maker m = {.arena = arena, .abi = abi, .def = def, .requested = requested, .n_requested = n_requested, .rng = {seed},
               .shapes = arena_new_of(arena, GpuShapes)};
    collect_syms(&m);
    return m;
}

GpuShapes *gpu_shapes(Arena *arena, const Abi *abi, const Def *def, const RefBinding *requested,
                      int n_requested, uint64_t seed)
{
    Maker m = maker_of(arena, abi, def, requested, n_requested, seed);
    add_even(&m);
    add_ragged(&m);
    add_empty(&m);
    return m.shapes;
}

GpuShapes *gpu_range_shapes(Arena *arena, const Abi *abi, const Def *def, const RefBinding *requested,
                            int n_requested, uint64_t seed)
{
    Maker m = maker_of(arena, abi, def, requested, n_requested, seed);
    for (int i = 0; i < m.syms.len; i++)
        if (def_is_tiled(def, m.syms.data[i]))
            add_ranges(&m, i);
    return m.shapes;
}
