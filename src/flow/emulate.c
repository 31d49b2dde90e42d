/* emulate.c: PTX of whatever origin on one small shape, by the emulator. */
#include "flow/trial.h"

#include "chain/emulated.h"

typedef struct Emulation {
    FlowTrial *t;
    const Abi *abi;
    EmuMemory *memory;
    Emulated *emulated;
    Tensor **tensors;
    uint64_t *addresses;
    int64_t *dims;
    unsigned char *space;
    bool fast;
    TrialWay way;
} Emulation;

static const uint64_t MOST_INSTRUCTIONS = 12000000; /* of warps, a kernel on tiles: one that does not end is ended */

static const char *way_name(TrialWay way)
{
    static const char *const names[] = {[TRIAL_ALIGNED] = "aligned", [TRIAL_UNALIGNED] = "unaligned", [TRIAL_WAYS] = ""};

    return names[way];
}

static bool fail(Emulation *e, DiagCode code, const char *message, const char *more)
{
    Diag *diag = diag_add(e->t->diags, code, (Span){0, 0}, "%s", message);

    diag->source = NULL;
    diag_note(e->t->diags, diag, "executed at %s, %s%s", launch_text(e->t->on.arena, &e->t->on.shape), way_name(e->way), more);
    return false;
}

/* ---- memory ------------------------------------------------------------------------------ */

/* What kernels hand on begins unwritten, like the outputs. */
static bool add_tensors(Emulation *e)
{
    FlowTrial *t = e->t;
    const char *error;
    int64_t *values;

    if (!launch_symbols(t->on.arena, t->on.chain->aff, &t->on.shape, t->on.chain->def, (const AffSym *const *)e->abi->dims.data,
                        e->abi->dims.len, &values, &error))
        return fail(e, TW1044, error, "");
    for (int i = 0; i < e->abi->tensors.len; i++) {
        const AbiTensor *a = &e->abi->tensors.data[i];
        bool input = a->read && !a->written;

        e->tensors[i] = small_find(&t->on, a->name);
        if (e->tensors[i])
            e->tensors[i] = launch_seen(t->on.arena, e->tensors[i], a->rank, a->dims, values);
        else
            e->tensors[i] = launch_tensor(t->on.arena, a->name, a->dtype, a->rank, a->dims, values, a->alignment, &error);
        if (!e->tensors[i])
            return fail(e, TW1044, error, "");
        if (a->written)
            tensor_poison(e->tensors[i]);
        e->addresses[i] = emu_memory_add(e->memory, a->name, e->tensors[i]->data, e->tensors[i]->bytes, input, input,
                                         e->way == TRIAL_UNALIGNED ? dtype_bytes(a->dtype) : 0);
    }
    return true;
}

static bool pack(Emulation *e)
{
    FlowTrial *t = e->t;
    const Abi *abi = e->abi;
    double *params = arena_array(t->on.arena, double, abi->params.len + 1);
    const char *missing, *error;

    e->dims = arena_array(t->on.arena, int64_t, abi->dims.len + 1);
    e->space = arena_alloc(t->on.arena, (size_t)abi->param_bytes + 16);
    e->emulated = emulated_host(t->on.arena, abi, e->memory);
    if (!launch_dims(t->on.arena, &t->on.shape, t->on.chain->def, (const AffSym *const *)abi->dims.data, abi->dims.len, e->dims, &missing) ||
        !launch_params(t->on.arena, &t->on.shape, t->on.chain->def, abi->params.data, abi->params.len, params, &missing))
        return fail(e, TW1044, arena_printf(t->on.arena, "the kernel needs %s", missing), "");
    return abi_pack(abi, e->tensors, e->addresses, e->dims, params, &e->emulated->host, e->space, &e->fast, &error) ||
           fail(e, TW1044, error, "");
}

/* ---- launches ------------------------------------------------------------------------------ */

static const char *line_of(Arena *arena, const Source *ptx, int line)
{
    const char *at = ptx->text;

    for (int i = 1; i < line && *at; i++)
        at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n');
    at += strspn(at, " \t");
    return arena_strndup(arena, at, strcspn(at, "\n"));
}

static bool tell(Emulation *e, const AbiEntry *entry, const EmuReport *report)
{
    const EmuFault *f = &report->faults[0];
    Arena *arena = e->t->on.arena;
    const char *message = arena_printf(e->t->diags->arena, "%s in block %d of %s, thread %d: %s", emu_fault_name(f->kind), f->block[0],
                                       entry->name, f->thread, f->message);

    return fail(e, TW1054, message, arena_printf(arena, "; line %d of the PTX: %s", f->line, line_of(arena, e->t->ptx, f->line)));
}

static bool launch(Emulation *e, const AbiKernel *kernel)
{
    FlowTrial *t = e->t;
    const AbiEntry *entry = abi_entry(kernel, e->fast);
    int index = emu_find_entry(t->module, entry->name);
    EmuReport report = {0};
    EmuLaunch launch = {.grid = {1, 1, 1}, .block = {entry->threads, 1, 1}, .shared_bytes = (size_t)entry->shared_bytes,
                        .params = e->space, .param_bytes = (size_t)e->abi->param_bytes, .seed = t->on.options->seed + (uint64_t)e->way,
                        .max_instructions = t->on.options->instructions ? t->on.options->instructions : MOST_INSTRUCTIONS};
    const char *error;
    int64_t blocks;

    if (!abi_blocks(e->abi, entry, e->dims, e->emulated->host.sms, &blocks, &error))
        return fail(e, TW1044, error, "");
    if (index < 0)
        return fail(e, TW1044, arena_printf(t->on.arena, "the PTX has no entry %s", entry->name), "");
    launch.grid[0] = (int)blocks;
    return blocks == 0 || emu_run(t->on.arena, t->module, index, e->memory, &launch, &report) || tell(e, entry, &report);
}

static bool check_written(Emulation *e)
{
    for (int i = 0; i < e->abi->tensors.len; i++) {
        const AbiTensor *a = &e->abi->tensors.data[i];
        size_t left = a->written && !a->workspace ? emu_memory_unwritten(e->memory, e->addresses[i]) : 0;

        if (left)
            return fail(e, TW1043, arena_printf(e->t->diags->arena, "%zu of %zu bytes of %s were never written", left,
                                                e->tensors[i]->bytes, a->name), "");
    }
    return true;
}

bool trial_emulate(FlowTrial *t, TrialWay way)
{
    const Abi *abi = t->on.chain->abi;
    Emulation e = {.t = t, .abi = abi, .way = way, .memory = emu_memory_new(t->on.arena)};

    e.tensors = arena_array(t->on.arena, Tensor *, abi->tensors.len + 1);
    e.addresses = arena_array(t->on.arena, uint64_t, abi->tensors.len + 1);
    if (!add_tensors(&e) || !pack(&e))
        return false;
    for (int i = 0; i < abi->kernels.len; i++)
        if (!launch(&e, &abi->kernels.data[i]))
            return false;
    return (emulated_at_rest(e.emulated) || fail(&e, TW1054, "a counter is not 0 again at the end", "")) && check_written(&e);
}
