/* exec_ring.c: storage that goes round between roles.
 *
 * Each stage of a ring goes from its producer to its consumers and back:
 *
 *   acquire ──► copy_async, put ──► filled ──► await ──► reads ──► release
 *
 * All go round the stages in order, so nobody names one: stages are numbered as
 * they are handed over, number n being stage n mod the ring's stages, and where
 * somebody is follows from how many they have passed.
 *
 *   number     5        6        7        8        9
 *              released awaited  filled   held     free once all have released 6
 *
 * FILLED does not wait for copies: they have landed when AWAIT goes on.
 *
 * A ring has copies for several instances of a role. A consumer of a copy is each
 * instance that may await or release it, as far as its coordinate tells.
 */
#include "tile/exec.h"

static int stages_of(const ExecRing *ring)
{
    return ring->buffer->value->type.stages;
}

static ExecStage *stage_at(const ExecRing *ring, int64_t number)
{
    return &ring->stages[number % stages_of(ring)];
}

/* ---- making, finding ------------------------------------------------------------- */

void exec_make_rings(Exec *x, ExecBuffer *buffer)
{
    buffer->rings = arena_array(x->arena, ExecRing, buffer->copies);
    for (int i = 0; i < buffer->copies; i++) {
        ExecRing *ring = &buffer->rings[i];
        *ring = (ExecRing){.buffer = buffer, .copy = i, .producer = NO_THREAD};
        ring->stages = buffer->stages + (size_t)i * (size_t)stages_of(ring);
        for (int k = 0; k < stages_of(ring); k++)
            ring->stages[k].ring = ring;
    }
}

bool exec_find_ring(Exec *x, const TileOp *op, int arg, ExecRing **ring)
{
    ExecBuffer *buffer = exec_slot(x, op, arg)->buffer;
    int64_t copy = 0;
    if (!buffer)
        return exec_fail(x, "the ring has no storage yet");
    if (op->index && !exec_eval(x, op->index, &copy))
        return false;
    if (copy < 0 || copy >= buffer->copies)
        return exec_fail(x, "copy %lld of a ring of %d", (long long)copy, buffer->copies);
    *ring = &buffer->rings[copy];
    return true;
}

/* ---- producers ---------------------------------------------------------------------- */

static bool holds(const Exec *x, const ExecRing *ring)
{
    return ring->held && ring->producer == x->thread->number;
}

bool exec_held_stage(Exec *x, ExecRing *ring, ExecStage **stage)
{
    *stage = stage_at(ring, ring->filled);
    return holds(x, ring) ||
           exec_fail(x, "writes %s, which this role has not acquired", exec_name_stage(x, *stage));
}

static bool all_released(const ExecRing *ring, int64_t number)
{
    for (int i = 0; i < INSTANCE_LIMIT; i++)
        if (ring->consumers & 1u << i && ring->released[i] < number)
            return false;
    return true;
}

static ExecStep acquire(Exec *x, ExecRing *ring)
{
    ExecStage *stage = stage_at(ring, ring->filled);
    int me = x->thread->number;
    if (ring->producer != NO_THREAD && ring->producer != me)
        return exec_failed(x, "acquires %s, which another role fills", exec_name_stage(x, stage));
    if (ring->held)
        return exec_failed(x, "acquires %s, which is acquired already", exec_name_stage(x, stage));
    ring->producer = me;
    if (!all_released(ring, ring->filled - stages_of(ring) + 1))
        return STEP_BLOCKED;
    ring->held = true;
    stage->written = false; /* what it held has gone round */
    return STEP_ON;
}

static ExecStep fill(Exec *x, ExecRing *ring)
{
    if (!holds(x, ring))
        return exec_failed(x, "hands over %s, which this role has not acquired",
                           exec_name_stage(x, stage_at(ring, ring->filled)));
    ring->held = false;
    ring->filled++;
    return STEP_ON;
}

/* ---- consumers ------------------------------------------------------------------------ */

static ExecStep await(Exec *x, const TileOp *op, ExecRing *ring)
{
    int me = x->thread->number;
    int64_t number = ring->awaited[me];
    if (number == ring->filled)
        return STEP_BLOCKED;
    ExecStage *stage = stage_at(ring, number);
    exec_arrive_at(x, stage);
    ring->awaited[me]++;
    exec_bind(x, op->results[0], (ExecSlot){.stage = stage, .round = number});
    return STEP_ON;
}

static ExecStep release(Exec *x, ExecRing *ring)
{
    int me = x->thread->number;
    ExecStage *stage = stage_at(ring, ring->released[me]);
    if (ring->released[me] == ring->awaited[me])
        return exec_failed(x, "releases %s, which this role has not awaited", exec_name_stage(x, stage));
    if (exec_reader_of(x->thread, stage))
        return exec_failed(x, "%s is released while a product that reads it is pending", exec_name_stage(x, stage));
    ring->released[me]++;
    return STEP_ON;
}

bool exec_awaits(Exec *x, const ExecSlot *slot)
{
    const ExecRing *ring = slot->stage->ring;
    int me = x->thread->number;
    if (me != MAIN_THREAD && slot->round >= ring->released[me] && slot->round < ring->awaited[me])
        return true;
    return exec_fail(x, "reads %s, which this role has released", exec_name_stage(x, slot->stage));
}

ExecStep exec_ring(Exec *x, const TileOp *op)
{
    ExecRing *ring;
    if (!x->n_roles)
        return exec_failed(x, "stands outside of roles");
    if (!exec_find_ring(x, op, 0, &ring))
        return STEP_FAILED;
    if (op->kind == TILE_ACQUIRE)
        return acquire(x, ring);
    if (op->kind == TILE_FILLED)
        return fill(x, ring);
    return op->kind == TILE_AWAIT ? await(x, op, ring) : release(x, ring);
}

/* ---- roles start and end ---------------------------------------------------------------- */

/* Each copy's consumers, a bit each. */
static void find_consumers(Exec *x, ExecRing *ring, const TileOp *roles)
{
    for (int i = 0; i < x->n_roles; i++) {
        const ExecThread *t = x->roles[i];
        if (tile_consumes(x->program, roles, t->role_index, t->instance, ring->buffer->value, ring->copy))
            ring->consumers |= 1u << i;
    }
}

void exec_start_rings(Exec *x, const TileOp *roles)
{
    for (int b = 0; b < x->buffers.len; b++) {
        ExecBuffer *buffer = x->buffers.data[b];
        for (int i = 0; i < exec_stages(buffer); i++) {
            buffer->stages[i].role_written = false;
            buffer->stages[i].role_readers = 0;
        }
        if (buffer->rings)
            exec_make_rings(x, buffer);
        for (int i = 0; buffer->rings && i < buffer->copies; i++)
            find_consumers(x, &buffer->rings[i], roles);
    }
}

/* Every stage that was handed over must have come back: producer and consumers
 * have made the same steps. */
static bool end_ring(Exec *x, const ExecRing *ring)
{
    if (ring->held)
        return exec_fail(x, "%s is still acquired when the roles end",
                         exec_name_stage(x, stage_at(ring, ring->filled)));
    for (int64_t n = ring->filled - 1; n >= 0 && n >= ring->filled - stages_of(ring); n--)
        if (!ring->consumers || !all_released(ring, n + 1))
            return exec_fail(x, "%s was handed over but not released when the roles end",
                             exec_name_stage(x, stage_at(ring, n)));
    return true;
}

bool exec_end_rings(Exec *x)
{
    for (int b = 0; b < x->buffers.len; b++)
        for (int i = 0; x->buffers.data[b]->rings && i < x->buffers.data[b]->copies; i++)
            if (!end_ring(x, &x->buffers.data[b]->rings[i]))
                return false;
    return true;
}
