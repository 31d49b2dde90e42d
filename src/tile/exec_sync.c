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
 * Between roles there are no barriers: what they hand over to each other is in
 * rings, whose stages are written and read under rules of their own (exec_ring.c).
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

/* "stage 1 of %K", "stage 0 of %Q[1]" */
const char *exec_name_stage(Exec *x, const ExecStage *stage)
{
    const TileValue *v = stage->buffer->value;
    Str s = str_new(x->error_arena);
    str_printf(&s, "stage %d of ", stage->index);
    if (v->name)
        str_printf(&s, "%%%s", v->name);
    else
        str_add(&s, stage->ring ? "a ring" : "a buffer");
    if (stage->buffer->copies > 1)
        str_printf(&s, "[%d]", stage->ring->copy);
    return str_text(&s);
}

int exec_stages(const ExecBuffer *buffer)
{
    return buffer->copies * buffer->value->type.stages;
}

/* ---- buffers ------------------------------------------------------------------- */

static void poison(ExecTile *tile)
{
    exec_fill(tile, NAN);
}

static ExecBuffer *make_buffer(Exec *x, const TileOp *op)
{
    ExecBuffer *buffer = arena_new_of(x->arena, ExecBuffer);
    const TileValue *value = op->results[0];
    int rows = value->type.rows, cols = value->type.cols;
    buffer->value = value;
    buffer->copies = op->kind == TILE_RING ? op->count : 1;
    buffer->stages = arena_array(x->arena, ExecStage, exec_stages(buffer));
    for (int i = 0; i < exec_stages(buffer); i++) {
        ExecStage *stage = &buffer->stages[i];
        stage->buffer = buffer;
        stage->index = i % value->type.stages;
        stage->tile = (ExecTile){.rows = rows, .cols = cols, .refs = 1};
        stage->tile.at = arena_array(x->arena, float, (size_t)rows * (size_t)cols);
    }
    if (op->kind == TILE_RING)
        exec_make_rings(x, buffer);
    vec_push(x->arena, &x->buffers, buffer);
    return buffer;
}

static void reset_stage(ExecStage *stage)
{
    ExecStage fresh = {.buffer = stage->buffer, .ring = stage->ring, .index = stage->index, .tile = stage->tile,
                       .live = stage->live};
    *stage = fresh;
    stage->writer = MAIN_THREAD;
    poison(&stage->tile);
}

/* Storage is made once a kernel and poisoned for every block. */
bool exec_buffer(Exec *x, const TileOp *op)
{
    const TileValue *value = op->results[0];
    ExecBuffer *buffer = x->thread->slots[value->id].buffer;
    if (!buffer)
        buffer = make_buffer(x, op);
    for (int i = 0; i < exec_stages(buffer); i++)
        reset_stage(&buffer->stages[i]);
    exec_bind(x, value, (ExecSlot){.buffer = buffer});
    return true;
}

bool exec_find_stage(Exec *x, const TileOp *op, int arg, ExecStage **stage)
{
    ExecBuffer *buffer = exec_slot(x, op, arg)->buffer;
    ExecRing *ring;
    int64_t index;
    if (!buffer)
        return exec_fail(x, "the buffer has no storage yet");
    if (buffer->rings)
        return exec_find_ring(x, op, arg, &ring) && exec_held_stage(x, ring, stage);
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
    const Tensor *t = x->run->tensors[copy->op->tensor->index];
    if (tile_by_rows(copy->op))
        exec_load_rows(t, copy->stage->places, copy->op->col_dim, &copy->stage->tile);
    else
        exec_load(t, copy->coords, copy->op->row_dim, copy->op->col_dim, &copy->stage->tile);
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
            return exec_fail(x, "the condition has no value " TILE_NO_VALUE);
    return true;
}

/* So are coordinates. */
static bool take_coords(Exec *x, const TileOp *op, ExecCopy *copy)
{
    for (int d = 0; d < op->tensor->rank; d++)
        if (!exec_eval(x, op->coords[d], &copy->coords[d]))
            return false;
    return true;
}

static bool take_places(Exec *x, const TileOp *op, ExecStage *stage)
{
    if (!stage->places)
        stage->places = arena_array(x->arena, int64_t, stage->tile.rows * TENSOR_MAX_RANK);
    return exec_row_places(x, op, stage->tile.rows, stage->places);
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

void exec_arrive_at(Exec *x, const ExecStage *stage)
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

bool exec_read_stage(Exec *x, const ExecSlot *view)
{
    ExecStage *stage = view->stage;
    bool ring = stage->ring != NULL;
    if (ring && !exec_awaits(x, view))
        return false;
    if (stage->in_flight)
        return exec_fail(x, "reads %s while the copy into it may still be in flight: no wait covers it",
                         exec_name_stage(x, stage));
    if (!stage->written)
        return exec_fail(x, "reads %s, into which nothing was written", exec_name_stage(x, stage));
    if (!ring && in_roles(x) && stage->role_written && stage->writer != x->thread->number)
        return exec_fail(x, "reads %s, which another role wrote: nothing orders the two",
                         exec_name_stage(x, stage));
    if (!ring && synced(x) && stage->fresh)
        return exec_fail(x, "reads %s, whose data no barrier has made visible to all warps",
                         exec_name_stage(x, stage));
    stage->readers |= bit_of(x);
    stage->role_readers |= bit_of(x);
    return true;
}

/* A product in flight reads its operands until it is finished. */
static bool may_write_read(Exec *x, const ExecStage *stage)
{
    bool read = exec_reader_of(&x->main, stage) != NULL;
    for (int i = 0; i < x->n_roles; i++)
        read |= exec_reader_of(x->roles[i], stage) != NULL;
    return !read || exec_fail(x, "overwrites %s while a product that reads it is pending", exec_name_stage(x, stage));
}

static bool may_write_plain(Exec *x, const ExecStage *stage)
{
    if (in_roles(x) && (stage->role_readers & ~bit_of(x)))
        return exec_fail(x, "overwrites %s, which another role reads: nothing orders the two",
                         exec_name_stage(x, stage));
    if (in_roles(x) && stage->role_written && stage->writer != x->thread->number)
        return exec_fail(x, "overwrites %s, which another role wrote: nothing orders the two",
                         exec_name_stage(x, stage));
    if (synced(x) && stage->readers)
        return exec_fail(x, "overwrites %s, which other warps may still read: no barrier since it was read",
                         exec_name_stage(x, stage));
    return true;
}

/* Notes a write into the stage that begins now. */
static bool write_stage(Exec *x, ExecStage *stage)
{
    if (stage->in_flight)
        return exec_fail(x, "overwrites %s while a copy into it may still be in flight: no wait covers it",
                         exec_name_stage(x, stage));
    if (!may_write_read(x, stage) || (!stage->ring && !may_write_plain(x, stage)))
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
    for (int r = 0; r < tile->rows; r++)
        memcpy(stage->tile.at + (size_t)(op->row0 + r) * (size_t)stage->tile.cols + op->col0, tile->at + (size_t)r * (size_t)tile->cols,
               sizeof(float) * (size_t)tile->cols);
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
    if (!(tile_by_rows(op) ? take_places(x, op, stage) : take_coords(x, op, &copy)))
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
        for (int i = 0; i < exec_stages(x->buffers.data[b]); i++) {
            ExecStage *stage = &x->buffers.data[b]->stages[i];
            stage->readers &= in_roles(x) ? ~bit_of(x) : 0;
            if (!stage->in_flight && (!in_roles(x) || stage->writer == x->thread->number))
                stage->fresh = false;
        }
}
