/* exec_sync.c: shared storage as the scheduled level sees it.
 *
 * A stage of a buffer is written by PUT or COPY_ASYNC and read through views.
 * Between the two something must order the warps; the rules checked here are
 * those of hardware whose warps run at their own pace:
 *
 *   copy_async ──► in flight ──wait──► landed ──barrier──► visible to all warps
 *   read by some warps ──barrier──► may be overwritten
 *
 * A stage in flight may not be touched at all. The barrier rules hold once the
 * kernel claims that its barriers are in place (TF_SYNCED).
 *
 * Between roles there are no barriers. There a buffer that some role acquires is
 * a ring, each stage going round from its producer to its consumers and back:
 *
 *   acquire ──► copy_async, put ──► filled ──► await ──► reads ──► release
 *
 * FILLED does not wait for copies: they have landed when AWAIT goes on.
 */
#include "tile/exec.h"

#include <math.h>

static unsigned bit_of(const Exec *x)
{
    return 1u << x->thread->number;
}

static bool synced(const Exec *x)
{
    return (x->kernel->facts & TF_SYNCED) != 0;
}

/* "stage 1 of %K" */
static const char *name_stage(Exec *x, const ExecStage *stage)
{
    const TileValue *v = stage->buffer->value;
    return v->name ? arena_printf(x->error_arena, "stage %d of %%%s", stage->index, v->name)
                   : arena_printf(x->error_arena, "stage %d of a buffer", stage->index);
}

/* ---- buffers ------------------------------------------------------------------- */

static void poison(ExecTile *tile)
{
    exec_fill(tile, NAN);
}

static ExecBuffer *make_buffer(Exec *x, const TileValue *value)
{
    ExecBuffer *buffer = arena_new_of(x->arena, ExecBuffer);
    int rows = value->type.rows, cols = value->type.cols;
    buffer->value = value;
    buffer->stages = arena_array(x->arena, ExecStage, value->type.stages);
    for (int i = 0; i < value->type.stages; i++) {
        ExecStage *stage = &buffer->stages[i];
        stage->buffer = buffer;
        stage->index = i;
        stage->tile = (ExecTile){.rows = rows, .cols = cols, .refs = 1};
        stage->tile.at = arena_array(x->arena, float, (size_t)rows * (size_t)cols);
    }
    vec_push(x->arena, &x->buffers, buffer);
    return buffer;
}

static void reset_stage(ExecStage *stage)
{
    ExecStage fresh = {.buffer = stage->buffer, .index = stage->index, .tile = stage->tile, .live = stage->live};
    *stage = fresh;
    stage->writer = MAIN_THREAD;
    poison(&stage->tile);
}

/* Storage is made once a kernel and poisoned for every block. */
bool exec_buffer(Exec *x, const TileOp *op)
{
    const TileValue *value = op->results[0];
    ExecBuffer *buffer = x->slots[value->id].buffer;
    if (!buffer)
        buffer = make_buffer(x, value);
    for (int i = 0; i < value->type.stages; i++)
        reset_stage(&buffer->stages[i]);
    exec_bind(x, value, (ExecSlot){.buffer = buffer});
    return true;
}

bool exec_find_stage(Exec *x, const TileOp *op, int arg, ExecStage **stage)
{
    ExecBuffer *buffer = x->slots[op->args[arg]->id].buffer;
    int64_t index;
    if (!buffer)
        return exec_fail(x, "the buffer has no storage yet");
    if (!exec_eval(x, op->index, &index))
        return false;
    if (index < 0 || index >= buffer->value->type.stages)
        return exec_fail(x, "stage %lld of a buffer of %d", (long long)index,
                         buffer->value->type.stages);
    *stage = &buffer->stages[index];
    return true;
}

/* ---- copies --------------------------------------------------------------------- */

static void land(Exec *x, ExecCopy *copy)
{
    if (copy->landed)
        return;
    copy->landed = true;
    exec_load(x->run->tensors[copy->op->tensor->index], copy->coords, copy->op->row_dim,
              copy->op->col_dim, &copy->stage->tile);
    for (int i = 0; copy->op->where && i < copy->stage->tile.rows * copy->stage->tile.cols; i++)
        if (!copy->stage->live[i])
            copy->stage->tile.at[i] = 0;
}

/* A condition is taken at the start of the copy: counters have moved on when it lands. */
static bool take_condition(Exec *x, const Aff *where, ExecStage *stage)
{
    int rows = stage->tile.rows, cols = stage->tile.cols;
    if (where && !stage->live)
        stage->live = arena_array(x->arena, int64_t, (size_t)rows * (size_t)cols);
    for (int i = 0; where && i < rows; i++)
        if (!exec_row(x, where, i, cols, stage->live + (size_t)i * (size_t)cols))
            return exec_fail(x, "the condition has no value (overflow or division by 0)");
    return true;
}

static void arrive(Exec *x, ExecCopy *copy)
{
    land(x, copy);
    copy->stage->in_flight = false;
    copy->stage->written = copy->stage->fresh = true;
}

/* Removes copies that are no longer in flight. */
static void forget_arrived(Exec *x)
{
    int kept = 0;
    for (int i = 0; i < x->copies.len; i++)
        if (x->copies.data[i].stage->in_flight)
            x->copies.data[kept++] = x->copies.data[i];
    x->copies.len = kept;
}

void exec_land_some(Exec *x)
{
    if (x->copies.len && rng_below(&x->rng, 4) == 0)
        land(x, &x->copies.data[rng_below(&x->rng, x->copies.len)]);
}

void exec_wait(Exec *x, int64_t count)
{
    for (int i = 0; i < x->copies.len; i++) {
        ExecCopy *copy = &x->copies.data[i];
        if (copy->thread == x->thread->number && copy->group < x->thread->committed - count)
            arrive(x, copy);
    }
    forget_arrived(x);
}

static void arrive_at(Exec *x, const ExecStage *stage)
{
    for (int i = 0; i < x->copies.len; i++)
        if (x->copies.data[i].stage == stage)
            arrive(x, &x->copies.data[i]);
    forget_arrived(x);
}

/* ---- who may touch a stage ---------------------------------------------------------- */

static bool in_roles(const Exec *x)
{
    return x->n_roles > 0;
}

bool exec_read_stage(Exec *x, ExecStage *stage)
{
    int me = x->thread->number;
    bool ring = in_roles(x) && stage->buffer->ring;
    if (ring && !stage->awaited[me] && !(stage->held && stage->writer == me))
        return exec_fail(x, "reads %s, which this role has not awaited (or has released)",
                         name_stage(x, stage));
    if (stage->in_flight)
        return exec_fail(x, "reads %s while the copy into it may still be in flight: no wait covers it",
                         name_stage(x, stage));
    if (!stage->written)
        return exec_fail(x, "reads %s, into which nothing was written", name_stage(x, stage));
    if (!ring && in_roles(x) && stage->role_written && stage->writer != me)
        return exec_fail(x, "reads %s, which another role wrote: nothing orders the two",
                         name_stage(x, stage));
    if (!ring && synced(x) && stage->fresh)
        return exec_fail(x, "reads %s, whose data no barrier has made visible to all warps",
                         name_stage(x, stage));
    stage->readers |= bit_of(x);
    stage->role_readers |= bit_of(x);
    return true;
}

static bool may_write_ring(Exec *x, const ExecStage *stage)
{
    if (!stage->held || stage->writer != x->thread->number)
        return exec_fail(x, "writes %s, which this role has not acquired", name_stage(x, stage));
    return true;
}

static bool may_write_plain(Exec *x, const ExecStage *stage)
{
    if (in_roles(x) && (stage->role_readers & ~bit_of(x)))
        return exec_fail(x, "overwrites %s, which another role reads: nothing orders the two",
                         name_stage(x, stage));
    if (in_roles(x) && stage->role_written && stage->writer != x->thread->number)
        return exec_fail(x, "overwrites %s, which another role wrote: nothing orders the two",
                         name_stage(x, stage));
    if (synced(x) && stage->readers)
        return exec_fail(x, "overwrites %s, which other warps may still read: no barrier since it was read",
                         name_stage(x, stage));
    return true;
}

/* Notes a write into the stage that begins now. */
static bool write_stage(Exec *x, ExecStage *stage)
{
    bool ring = in_roles(x) && stage->buffer->ring;
    if (stage->in_flight)
        return exec_fail(x, "overwrites %s while a copy into it may still be in flight: no wait covers it",
                         name_stage(x, stage));
    if (!(ring ? may_write_ring(x, stage) : may_write_plain(x, stage)))
        return false;
    stage->writer = x->thread->number;
    stage->role_written = in_roles(x);
    return true;
}

bool exec_put(Exec *x, const TileOp *op, const ExecTile *tile)
{
    ExecStage *stage;
    if (!exec_find_stage(x, op, 1, &stage) || !write_stage(x, stage))
        return false;
    memcpy(stage->tile.at, tile->at, sizeof(float) * (size_t)tile->rows * (size_t)tile->cols);
    stage->written = stage->fresh = true;
    return true;
}

bool exec_copy_async(Exec *x, const TileOp *op)
{
    ExecStage *stage;
    int64_t start = 1;
    if (op->cond && !exec_eval(x, op->cond, &start))
        return false;
    if (!start)
        return true;
    if (!exec_find_stage(x, op, 0, &stage) || !write_stage(x, stage))
        return false;
    ExecCopy copy = {.stage = stage, .op = op, .thread = x->thread->number,
                     .group = x->thread->committed};
    for (int d = 0; d < op->tensor->rank; d++)
        if (!exec_eval(x, op->coords[d], &copy.coords[d]))
            return false;
    if (!take_condition(x, op->where, stage))
        return false;
    stage->in_flight = true;
    poison(&stage->tile);
    vec_push(x->arena, &x->copies, copy);
    return true;
}

/* All warps that run this thread meet. */
void exec_barrier(Exec *x)
{
    for (int b = 0; b < x->buffers.len; b++)
        for (int i = 0; i < x->buffers.data[b]->value->type.stages; i++) {
            ExecStage *stage = &x->buffers.data[b]->stages[i];
            stage->readers &= in_roles(x) ? ~bit_of(x) : 0;
            if (!stage->in_flight && (!in_roles(x) || stage->writer == x->thread->number))
                stage->fresh = false;
        }
}

/* ---- rings ----------------------------------------------------------------------------- */

static bool all_released(const ExecStage *stage)
{
    for (int i = 0; i < ROLE_LIMIT; i++)
        if (stage->buffer->consumers & 1u << i && stage->released[i] < stage->filled)
            return false;
    return true;
}

static ExecStep acquire(Exec *x, ExecStage *stage)
{
    if (stage->held) {
        exec_fail(x, "acquires %s, which is acquired already", name_stage(x, stage));
        return STEP_FAILED;
    }
    if (!all_released(stage))
        return STEP_BLOCKED;
    stage->held = true;
    stage->writer = x->thread->number;
    return STEP_ON;
}

static ExecStep fill(Exec *x, ExecStage *stage)
{
    if (!stage->held || stage->writer != x->thread->number) {
        exec_fail(x, "hands over %s, which this role has not acquired", name_stage(x, stage));
        return STEP_FAILED;
    }
    stage->held = false;
    stage->filled++;
    return STEP_ON;
}

static ExecStep await(Exec *x, ExecStage *stage)
{
    int me = x->thread->number;
    if (stage->filled <= stage->released[me])
        return STEP_BLOCKED;
    arrive_at(x, stage);
    stage->awaited[me] = true;
    return STEP_ON;
}

static ExecStep release(Exec *x, ExecStage *stage)
{
    int me = x->thread->number;
    if (!stage->awaited[me]) {
        exec_fail(x, "releases %s, which this role has not awaited", name_stage(x, stage));
        return STEP_FAILED;
    }
    stage->awaited[me] = false;
    stage->released[me]++;
    return STEP_ON;
}

ExecStep exec_ring(Exec *x, const TileOp *op)
{
    ExecStage *stage;
    if (!in_roles(x)) {
        exec_fail(x, "stands outside of roles");
        return STEP_FAILED;
    }
    if (!exec_find_stage(x, op, 0, &stage))
        return STEP_FAILED;
    if (op->kind == TILE_ACQUIRE)
        return acquire(x, stage);
    if (op->kind == TILE_FILLED)
        return fill(x, stage);
    return op->kind == TILE_AWAIT ? await(x, stage) : release(x, stage);
}

/* Buffers that the region acquires are rings; those it awaits or releases it
 * consumes. */
static void find_rings(Exec *x, const TileBlock *block, int role)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        ExecBuffer *buffer = op->n_args ? x->slots[op->args[0]->id].buffer : NULL;
        if (buffer && op->kind == TILE_ACQUIRE)
            buffer->ring = true;
        if (buffer && (op->kind == TILE_AWAIT || op->kind == TILE_RELEASE))
            buffer->consumers |= 1u << role;
        for (int k = 0; k < op->n_regions; k++)
            find_rings(x, op->regions[k], role);
    }
}

static void reset_ring(ExecStage *stage)
{
    stage->held = stage->role_written = false;
    stage->role_readers = 0;
    stage->filled = 0;
    memset(stage->released, 0, sizeof stage->released);
    memset(stage->awaited, 0, sizeof stage->awaited);
}

void exec_start_roles(Exec *x, const TileOp *op)
{
    for (int b = 0; b < x->buffers.len; b++) {
        ExecBuffer *buffer = x->buffers.data[b];
        buffer->ring = false;
        buffer->consumers = 0;
        for (int i = 0; i < buffer->value->type.stages; i++)
            reset_ring(&buffer->stages[i]);
    }
    for (int i = 0; i < op->n_regions; i++)
        find_rings(x, op->regions[i], i);
}

/* Every stage that was handed over must have come back: producer and consumers
 * have made the same steps. */
bool exec_end_roles(Exec *x)
{
    for (int b = 0; b < x->buffers.len; b++)
        for (int i = 0; i < x->buffers.data[b]->value->type.stages; i++) {
            const ExecStage *stage = &x->buffers.data[b]->stages[i];
            if (stage->held)
                return exec_fail(x, "%s is still acquired when the roles end", name_stage(x, stage));
            if (!all_released(stage))
                return exec_fail(x, "%s was handed over but not released when the roles end",
                                 name_stage(x, stage));
        }
    return true;
}
