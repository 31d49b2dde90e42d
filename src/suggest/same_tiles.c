/* same_tiles.c: whether two texts in tile IR compute the same, tried on a small shape.
 *
 * All dimensions that the launch gives are alike, and no multiple of what tiles are wide: so there is a last tile that
 * is not full. Of the sizes below the first that the program takes, and that is little work, counts.
 */
#include "suggest/same_tiles.h"

#include "chain/launch.h"

#include <math.h>

enum { SEED = 20, MOST_INTEGER = 3 };

static const int SIZES[] = {75, 41, 24, 8, 3};
static const double MOST_WORK = 6e7; /* multiply-adds */
static const double MOST_ELEMENTS = 1e6;
static const double BOUND = 1e-3;    /* of the largest element */

static Chain *read_tiles(Arena *arena, const Chain *like, const char *text)
{
    Source *source = arena_new_of(arena, Source);
    Chain *chain = chain_like(arena, like, diags_new(arena, source));

    *source = (Source){"tiles", text, strlen(text)};
    return chain_check_tile(chain, source) ? chain : NULL;
}

static bool fill(const TileTensor *tensor, Tensor *t)
{
    if (tensor->written || tensor->workspace)
        tensor_poison(t);
    else if (dtype_is_float(t->dtype))
        tensor_fill(t, FILL_NORMAL, SEED + (uint64_t)tensor->index);
    else
        tensor_fill_integers(t, 0, MOST_INTEGER, SEED + (uint64_t)tensor->index);
    return (double)tensor_count(t) <= MOST_ELEMENTS;
}

/* What the program leaves in its tensors; NULL: it does not take this size, or it is too much work. */
static Tensor **executed(Arena *arena, const Chain *chain, int size)
{
    const TileProgram *p = chain->tile;
    Tensor **tensors = arena_array(arena, Tensor *, p->tensors.len + 1);
    int64_t *dims = arena_array(arena, int64_t, p->dims.len + 1), *values;
    double *params = arena_array(arena, double, p->params.len + 1);
    TileRun run = {.tensors = tensors, .dims = dims, .params = params, .seed = SEED, .most = MOST_WORK, .most_steps = (int64_t)MOST_WORK};
    LaunchShape shape = {0};
    const char *error;

    for (int i = 0; i < p->dims.len; i++) {
        dims[i] = size;
        vec_push(arena, &shape, ((RefBinding){p->dims.data[i]->name, size}));
    }
    for (int i = 0; i < p->params.len; i++)
        params[i] = 0.5;
    if (!launch_symbols(arena, p->aff, &shape, NULL, (const AffSym *const *)p->dims.data, p->dims.len, &values, &error))
        return NULL;
    for (int i = 0; i < p->tensors.len; i++) {
        const TileTensor *t = p->tensors.data[i];

        tensors[i] = launch_tensor(arena, t->name, t->dtype, t->rank, t->dims, values, 0, &error);
        if (!tensors[i] || !fill(t, tensors[i]))
            return NULL;
    }
    return tile_run(arena, p, &run, &error) ? tensors : NULL;
}

static bool same_shape(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && a->dtype == b->dtype && memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->rank) == 0;
}

/* Elements that neither wrote are alike. */
static bool same_elements(const Tensor *a, const Tensor *b)
{
    int64_t at[TENSOR_MAX_RANK] = {0};
    double largest = 0, apart = 0;

    if (!same_shape(a, b))
        return false;
    if (tensor_count(a) == 0)
        return true;
    do {
        double x = tensor_get(a, at), y = tensor_get(b, at);
        if (isnan(x) != isnan(y) || isinf(x) != isinf(y))
            return false;
        if (isnan(x) || x == y)
            continue;
        largest = fmax(largest, fabs(x));
        apart = fmax(apart, fabs(x - y));
    } while (tensor_step(a, a->rank, at));
    return apart <= BOUND * largest;
}

static bool same_at(Arena *arena, const Chain *a, const Chain *b, int size, bool *told)
{
    Tensor **of_a = executed(arena, a, size), **of_b = of_a ? executed(arena, b, size) : NULL;

    *told = of_a != NULL;
    for (int i = 0; of_b && i < a->tile->tensors.len; i++)
        if (!same_elements(of_a[i], of_b[i]))
            return false;
    return of_b != NULL;
}

bool same_tiles(Suggester *s, const char *text)
{
    Arena *arena = arena_new(arena_heap(s->chain->arena));
    const Chain *a = read_tiles(arena, s->chain, s->source->text), *b = a ? read_tiles(arena, s->chain, text) : NULL;
    bool told = false, same = false;

    for (size_t i = 0; b && a->tile->tensors.len == b->tile->tensors.len && a->tile->dims.len == b->tile->dims.len && i < TW_COUNT(SIZES) && !told; i++)
        same = same_at(arena, a, b, SIZES[i], &told);
    arena_free(arena);
    return same;
}
