/* trial_ptx.c: emulating PTX under its launch ABI. */
#include "cli/trial.h"

#include "chain/emulated.h"

/* Of a grid of more than MANY blocks a sample is run: ENDS at either end, which are
 * the ragged ones, and others evenly between. Clusters are taken whole. */
enum { MANY = 256, SAMPLE = 64, ENDS = 8 };

typedef struct Emulation {
    Session *s;
    Arena *arena; /* of this execution */
    const EmuModule *module;
    const Abi *abi;
    EmuMemory *memory;
    Emulated *emulated;
    Tensor **tensors;
    uint64_t *addresses;
    int64_t *dims;
    unsigned char *space;
    bool fast;
    uint64_t seed;
    bool sampled;
    int cluster;    /* blocks that run together */
    int64_t blocks; /* of the grids */
} Emulation;

static bool want_block(void *user, int x, int y, int z)
{
    const Emulation *e = user;
    int64_t ends = (ENDS + e->cluster - 1) / e->cluster;
    int64_t between = e->blocks / e->cluster - 2 * ends, some = SAMPLE / e->cluster - 2 * ends, at = x / e->cluster - ends;
    int64_t nearest = (at * some + between - 1) / between; /* the k-th stands at k * between / some */

    (void)y, (void)z;
    return at < 0 || at >= between || nearest * between / some == at;
}

static bool was_written(void *user, const Tensor *t, const int64_t *at)
{
    const Emulation *e = user;

    for (int i = 0; i < e->abi->tensors.len; i++)
        if (e->tensors[i] == t)
            return emu_memory_wrote(e->memory, e->addresses[i] + (uint64_t)tensor_index(t, at) *
                                                                     (uint64_t)dtype_bytes(t->dtype));
    return false;
}

static const char *fault_text(Arena *arena, const EmuReport *report)
{
    const EmuFault *f = &report->faults[0];

    return arena_printf(arena, "%s at line %d, block (%d, %d, %d), thread %d: %s%s",
                        emu_fault_name(f->kind), f->line, f->block[0], f->block[1], f->block[2],
                        f->thread, f->message,
                        report->fault_count > 1
                            ? arena_printf(arena, " (and %d more faults)", report->fault_count - 1)
                            : "");
}

/* Registers every tensor of the ABI; workspaces are made. */
static bool emulate_memory(Trial *trial, Emulation *e, bool aligned, const char **error)
{
    Arena *arena = e->arena;
    const Abi *abi = e->abi;
    int64_t *values;

    if (!launch_symbols(e->s->arena, e->s->aff, &trial->shape, trial->def, (const AffSym *const *)abi->dims.data,
                       abi->dims.len, &values, error))
        return false;
    e->memory = emu_memory_new(arena);
    e->tensors = arena_array(arena, Tensor *, abi->tensors.len + 1);
    e->addresses = arena_array(arena, uint64_t, abi->tensors.len + 1);
    for (int i = 0; i < abi->tensors.len; i++) {
        const AbiTensor *t = &abi->tensors.data[i];

        e->tensors[i] = trial_tensor(trial, t->name);
        if (e->tensors[i])
            e->tensors[i] = launch_seen(e->s->arena, e->tensors[i], t->rank, t->dims, values);
        else
            e->tensors[i] = launch_tensor(e->s->arena, t->name, t->dtype, t->rank, t->dims, values, t->alignment, error);
        if (!e->tensors[i])
            return false;
        e->addresses[i] = emu_memory_add(e->memory, t->name, e->tensors[i]->data,
                                         e->tensors[i]->bytes, t->read && !t->written,
                                         t->read && !t->written,
                                         aligned ? 0 : dtype_bytes(t->dtype));
    }
    return true;
}

static bool emulate_params(Trial *trial, Emulation *e, const char **error)
{
    Arena *arena = e->arena;
    const Abi *abi = e->abi;
    double *params = arena_array(arena, double, abi->params.len + 1);
    const char *missing;

    e->dims = arena_array(arena, int64_t, abi->dims.len + 1);
    e->space = arena_alloc(arena, (size_t)abi->param_bytes + 16);
    e->emulated = emulated_host(arena, abi, e->memory);
    if (!launch_dims(e->s->arena, &trial->shape, trial->def, (const AffSym *const *)abi->dims.data, abi->dims.len,
                    e->dims, &missing) ||
        !launch_params(e->s->arena, &trial->shape, trial->def, abi->params.data, abi->params.len, params,
                      &missing)) {
        *error = arena_printf(arena, "the kernel needs %s", missing);
        return false;
    }
    return abi_pack(abi, e->tensors, e->addresses, e->dims, params, &e->emulated->host, e->space,
                    &e->fast, error);
}

static void add_report(EmuReport *sum, const EmuReport *one)
{
    for (int c = 0; c < EMU_CLASSES; c++)
        sum->counts[c] += one->counts[c];
    sum->warp_instructions += one->warp_instructions;
    sum->thread_instructions += one->thread_instructions;
    sum->shared_wavefronts += one->shared_wavefronts;
    sum->shared_ideal += one->shared_ideal;
    sum->blocks += one->blocks;
    sum->seconds += one->seconds;
}

static bool emulate_kernel(Emulation *e, int kernel, EmuReport *sum, const char **error)
{
    const AbiEntry *k = abi_entry(&e->abi->kernels.data[kernel], e->fast);
    int entry = emu_find_entry(e->module, k->name);
    EmuReport report = {0};
    EmuLaunch launch = {.grid = {1, 1, 1}, .block = {k->threads, 1, 1}, .seed = e->seed};
    int64_t blocks;
    bool done;

    if (!abi_blocks(e->abi, k, e->dims, e->emulated->host.sms, &blocks, error))
        return false;
    if (entry < 0) {
        *error = arena_printf(e->arena, "the PTX has no entry %s", k->name);
        return false;
    }
    if (blocks == 0)
        return true;
    e->blocks += blocks;
    e->cluster = emu_cluster_size(e->module, entry);
    e->sampled = !e->s->options.all && e->abi->kernels.len == 1 && blocks > MANY;
    if (e->sampled)
        launch.want_block = want_block, launch.user = e;
    launch.grid[0] = (int)blocks;
    launch.shared_bytes = (size_t)k->shared_bytes;
    launch.params = e->space;
    launch.param_bytes = (size_t)e->abi->param_bytes;
    done = emu_run(e->arena, e->module, entry, e->memory, &launch, &report);
    add_report(sum, &report);
    if (!done)
        *error = fault_text(e->arena, &report);
    return done;
}

static bool emulate(Trial *trial, Emulation *e, bool aligned, EmuReport *sum, const char **error)
{
    if (!emulate_memory(trial, e, aligned, error) || !emulate_params(trial, e, error))
        return false;
    for (int i = 0; i < e->abi->kernels.len; i++)
        if (!emulate_kernel(e, i, sum, error))
            return false;
    if (!emulated_at_rest(e->emulated)) {
        *error = "a counter is not 0 again at the end";
        return false;
    }
    for (int i = 0; i < e->abi->tensors.len; i++) {
        const AbiTensor *t = &e->abi->tensors.data[i];

        if (!e->sampled && t->written && !t->workspace && emu_memory_unwritten(e->memory, e->addresses[i])) {
            *error = arena_printf(e->arena, "%zu bytes of %s were never written",
                                  emu_memory_unwritten(e->memory, e->addresses[i]), t->name);
            return false;
        }
    }
    return true;
}

const TrialResult *trial_ptx(Trial *trial, const char *what, const EmuModule *module,
                             const Abi *abi, bool aligned, uint64_t seed)
{
    Emulation e = {.s = trial->s, .module = module, .abi = abi, .seed = seed};
    TrialResult result = {.what = what, .has_report = true};
    double since = clock_seconds();

    session_progress(trial->s, "emulating %s", what);
    trial_poison(trial);
    e.arena = arena_new(&trial->s->heap);
    if (emulate(trial, &e, aligned, &result.report, &result.problem))
        trial_compare(trial, &result, e.sampled ? &(Written){was_written, &e} : NULL);
    result.grid_blocks = (uint64_t)e.blocks;
    session_drop(trial->s, e.arena, &result.problem);
    result.seconds = clock_seconds() - since;
    return trial_record(trial, &result);
}
