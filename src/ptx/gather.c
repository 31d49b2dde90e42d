/* gather.c: elements of a tensor at computed places.
 *
 * Each of a lane's values has coordinates of its own. Where they differ from the
 * first value's by constants, as along a row of keys, the address does, too:
 *
 *   gather T[b, j * 64 + col]      [%rd5], [%rd5+4], [%rd5+32], [%rd5+36], ...
 */
#include "ptx/emit.h"
#include "ptx/global.h"

typedef struct Gather {
    const TileOp *op;
    const Aff **first;   /* coordinates of the lane's first value */
    const char *address; /* of it */
} Gather;

static const Aff **coords_at(Emitter *e, const TileOp *op, int i)
{
    const Aff **coords = arena_array(e->arena, const Aff *, op->tensor->rank);
    for (int d = 0; d < op->tensor->rank; d++) coords[d] = el_at(e, op->coords[d], op->results[0], i);
    return coords;
}

static const char *address_of(Emitter *e, const TileOp *op, const Aff **coords)
{
    TileOp at = *op;
    int level;
    at.coords = coords;
    return gl_corner(e, &at, NULL, 0, -1, &level);
}

/* Whether coords are the first value's but for constants along each dimension. */
static bool find_steps(Emitter *e, const Gather *g, const Aff **coords, int64_t *steps)
{
    for (int d = 0; d < g->op->tensor->rank; d++)
        if (!aff_is_const(aff_sub(e->program->aff, coords[d], g->first[d]), &steps[d])) return false;
    return true;
}

/* "[address + steps]" */
static const char *stepped(Emitter *e, const Gather *g, const int64_t *steps)
{
    const TileTensor *t = g->op->tensor;
    const char *sum = g->address;
    int last = t->rank - 1;
    for (int d = 0; d < last; d++) {
        if (steps[d] == 0) continue;
        const char *next = em_new(e, REG_RD), *offset = em_new(e, REG_RD);
        em(e, "mul.lo.s64 %s, %s, %lld;", offset, gl_step(e, t, d), (long long)steps[d]);
        em(e, "add.s64 %s, %s, %s;", next, sum, offset);
        sum = next;
    }
    return arena_printf(e->arena, "[%s+%lld]", sum, (long long)(steps[last] * dtype_bytes(t->dtype)));
}

static const Aff *all_inside(Emitter *e, const TileOp *op, const Aff **coords)
{
    const Aff *inside = aff_const(e->program->aff, 1);
    for (int d = 0; d < op->tensor->rank; d++)
        inside = aff_and(e->program->aff, inside, gl_inside(e, op->tensor, d, coords[d]));
    return inside;
}

void ga_gather(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    int64_t steps[TENSOR_MAX_RANK];
    fr_new_f32(e, v);
    if (!gl_known_type(e, op, true)) return;
    Gather g = {.op = op, .first = coords_at(e, op, 0)};
    g.address = address_of(e, op, g.first);
    for (int i = 0; i < e->frags[v->id].n; i++) {
        const Aff **coords = coords_at(e, op, i);
        bool near = find_steps(e, &g, coords, steps);
        const char *address = near ? stepped(e, &g, steps) : arena_printf(e->arena, "[%s]", address_of(e, op, coords));
        gl_load_value(e, op->tensor->dtype, gl_guard(e, all_inside(e, op, coords)), address, e->frags[v->id].f[i]);
    }
}
