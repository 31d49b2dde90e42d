/* choose.c: which rows of a long output to look at.
 *
 *   positions   0 1 . . 126 127 128 129 . . 254 255 256 257 . . n-1, and some at random
 *               along the second-last dimension; `groups` are the combinations
 *               of the coordinates before it
 */
#include "ref/ref.h"

#include <stdlib.h>

typedef VEC(int64_t) Positions;

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void add_position(Arena *arena, Positions *positions, int64_t at, int64_t n)
{
    if (at >= 0 && at < n)
        vec_push(arena, positions, at);
}

static void sort_unique(Positions *positions)
{
    int kept = 0;

    if (positions->len == 0)
        return;
    qsort(positions->data, (size_t)positions->len, sizeof *positions->data, compare);
    for (int i = 1; i < positions->len; i++)
        if (positions->data[i] != positions->data[kept])
            positions->data[++kept] = positions->data[i];
    positions->len = kept + 1;
}

/* The two rows before a multiple of the tile and the two after it. When there
 * would be far too many, only some tiles, always the first and the last. */
static void add_boundaries(Arena *arena, Positions *positions, int64_t n, int tile, int64_t at_most)
{
    int64_t tiles = n / tile + 1, step = tiles / (at_most > 4 ? at_most / 4 : 1) + 1;

    for (int64_t t = 0; t < tiles; t += step)
        for (int64_t d = -2; d < 2; d++)
            add_position(arena, positions, t * tile + d, n);
    for (int64_t d = -2; d < 2; d++)
        add_position(arena, positions, n / tile * tile + d, n);
}

static Positions choose_positions(Arena *arena, int64_t n, int64_t all_below, int tile, int64_t at_most,
                                  Rng *rng)
{
    Positions positions = {0};

    if (n <= all_below) {
        for (int64_t i = 0; i < n; i++)
            vec_push(arena, &positions, i);
        return positions;
    }
    add_position(arena, &positions, 0, n);
    add_position(arena, &positions, n - 1, n);
    add_boundaries(arena, &positions, n, tile > 0 ? tile : 64, at_most);
    for (int i = 0; i < 32; i++)
        vec_push(arena, &positions, (int64_t)(rng_next(rng) % (uint64_t)n));
    sort_unique(&positions);
    return positions;
}

/* Rows are numbered group * n + position until they are written out. */
static void write_rows(Arena *arena, RowList *rows, const Tensor *output, const Positions *numbers)
{
    for (int i = 0; i < numbers->len; i++) {
        int64_t number = numbers->data[i], at[TENSOR_MAX_RANK];

        for (int d = rows->rank1 - 1; d >= 0; d--) {
            at[d] = number % output->dims[d];
            number /= output->dims[d];
        }
        for (int d = 0; d < rows->rank1; d++)
            vec_push(arena, &rows->coords, at[d]);
    }
    rows->count = numbers->len;
}

/* The t-th of `room` pairs of a position and a group. When there is not room
 * for all positions, evenly spread ones with the first and the last; else each
 * position again and again, with other groups. */
static int64_t pick(const Positions *positions, int64_t n, int64_t groups, int64_t room, int64_t t,
                    uint64_t seed)
{
    int64_t count = positions->len, i = t % count, round = t / count;
    Rng rng;

    if (room < count)
        i = room > 1 ? t * (count - 1) / (room - 1) : 0;
    rng.state = seed + (uint64_t)i;
    return (int64_t)((rng_next(&rng) % (uint64_t)groups + (uint64_t)round) % (uint64_t)groups) * n +
           positions->data[i];
}

RowList *rows_choose(Arena *arena, const Tensor *output, int64_t all_below, int tile,
                     int64_t at_most, uint64_t seed)
{
    RowList *rows = arena_new_of(arena, RowList);
    Positions positions, numbers = {0};
    int64_t n = output->rank > 1 ? output->dims[output->rank - 2] : 1, groups = 1, room;
    Rng rng = {seed};

    rows->rank1 = output->rank > 0 ? output->rank - 1 : 0;
    for (int d = 0; d < output->rank - 2; d++)
        groups *= output->dims[d];
    if (at_most > INT32_MAX / TENSOR_MAX_RANK)
        at_most = INT32_MAX / TENSOR_MAX_RANK;
    if (n == 0 || groups == 0 || at_most < 1)
        return rows;
    positions = choose_positions(arena, n, all_below, tile, at_most, &rng);
    room = groups > at_most / positions.len ? at_most : groups * positions.len;
    for (int64_t t = 0; t < room; t++)
        vec_push(arena, &numbers, pick(&positions, n, groups, room, t, seed));
    sort_unique(&numbers);
    write_rows(arena, rows, output, &numbers);
    return rows;
}
