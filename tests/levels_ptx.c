/* levels_ptx.c: a case's PTX in the emulator.
 *
 * The text is parsed, and so is the launch ABI at its head: nothing of what the
 * compiler knows is used. Tensors get strides with room between the rows (a
 * multiple of 16 bytes for the aligned entry, anything for the other), filled
 * with NaN: what is read there spoils the result, what is written there is found.
 */
#include "levels.h"

#include "chain/emulated.h"
#include "ptx/ptx.h"

enum { MAX_INSTRUCTIONS = 50 * 1000 * 1000 };

typedef struct Launch {
    Levels *l;
    const EmuModule *module;
    const Abi *abi;
    bool aligned;
    uint64_t seed;
    EmuMemory *memory;
    Emulated *emulated;
    Tensor **padded;      /* as the kernel sees them */
    uint64_t *addresses;
    int64_t *dims;
} Launch;

/* ---- tensors in memory --------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static void choose_strides(Launch *x, Tensor *t)
{
    int64_t step = x->aligned ? 16 / dtype_bytes(t->dtype) : 1, stride = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        int64_t extra = rng_below(&x->l->rng, 3) ? rng_below(&x->l->rng, 3) * step : 0;

        t->strides[d] = stride;
        stride = round_up(stride * (t->dims[d] > 0 ? t->dims[d] : 1) + extra, step);
    }
}

static Tensor *pad(Launch *x, const Tensor *like)
{
    Tensor *t = arena_new_of(x->l->arena, Tensor);
    int64_t last = 0;

    *t = *like;
    choose_strides(x, t);
    for (int d = 0; d < t->rank; d++)
        last += (t->dims[d] - 1) * t->strides[d];
    t->bytes = tensor_count(t) ? (size_t)(last + 1) * (size_t)dtype_bytes(t->dtype) : 0;
    t->data = arena_alloc(x->l->arena, t->bytes + 1);
    levels_poison(t);
    return t;
}

typedef struct Move {
    const Tensor *from;
    Tensor *to;
} Move;

static bool move_element(void *user, const int64_t *at)
{
    Move *m = user;
    size_t size = (size_t)dtype_bytes(m->from->dtype);

    memcpy((char *)m->to->data + (size_t)tensor_index(m->to, at) * size,
           (const char *)m->from->data + (size_t)tensor_index(m->from, at) * size, size);
    return true;
}

static bool clear_element(void *user, const int64_t *at)
{
    Tensor *t = user;
    size_t size = (size_t)dtype_bytes(t->dtype);

    memset((char *)t->data + (size_t)tensor_index(t, at) * size, 0xff, size);
    return true;
}

/* An element's address need not be a multiple of more than its size. */
static int misalignment(Launch *x, DType t)
{
    return x->aligned ? 0 : dtype_bytes(t) * (1 + 2 * rng_below(&x->l->rng, 4));
}

static bool place_tensors(Launch *x)
{
    Levels *l = x->l;
    const char *error;

    x->memory = emu_memory_new(l->arena);
    x->padded = arena_array(l->arena, Tensor *, x->abi->tensors.len + 1);
    x->addresses = arena_array(l->arena, uint64_t, x->abi->tensors.len + 1);
    for (int i = 0; i < x->abi->tensors.len; i++) {
        const AbiTensor *want = &x->abi->tensors.data[i];
        const Tensor *input = i < l->n_tensors ? l->inputs[i] : NULL;
        const Tensor *like = input ? input : i < l->n_tensors ? l->oracle[i] : NULL;
        int64_t sizes[TENSOR_MAX_RANK];

        if (want->workspace) {
            if (!abi_dims(x->abi, i, x->dims, sizes) ||
                !(like = tensor_new(l->arena, want->name, want->dtype, want->rank, sizes, &error)))
                return levels_differ(l, "a workspace cannot be made");
        }
        if (!like || strcmp(like->name, want->name) != 0)
            return levels_differ(l, "tensor %d of the ABI is %s", i, want->name);
        x->padded[i] = pad(x, like);
        if (input)
            levels_each(input, move_element, &(Move){input, x->padded[i]});
        x->addresses[i] = emu_memory_add(x->memory, want->name, x->padded[i]->data, x->padded[i]->bytes,
                                         input != NULL, input != NULL, misalignment(x, want->dtype));
    }
    return true;
}

/* ---- launching -------------------------------------------------------------------------- */

static bool is_empty(const Launch *x)
{
    for (int i = 0; i < x->abi->tensors.len; i++)
        if (tensor_count(x->padded[i]) == 0)
            return true;
    return false;
}

static bool pack(Launch *x, void **space)
{
    Levels *l = x->l;
    double *params = arena_array(l->arena, double, x->abi->params.len + 1);
    const char *error;

    for (int i = 0; i < x->abi->params.len; i++)
        if (!levels_value(l, x->abi->params.data[i], &params[i]))
            return levels_differ(l, "nothing binds parameter %s", x->abi->params.data[i]);
    *space = arena_alloc(l->arena, (size_t)x->abi->param_bytes + 16);
    x->emulated = emulated_host(l->arena, x->abi, x->memory);
    bool fast;
    if (!abi_pack(x->abi, x->padded, x->addresses, x->dims, params, &x->emulated->host, *space, &fast, &error))
        return levels_differ(l, "%s", error);
    if (x->aligned && !fast && (x->abi->maps.len == 0 || !is_empty(x)))
        return levels_differ(l, "aligned tensors do not count as such");
    x->aligned &= fast; /* of an empty tensor there is no map */
    return true;
}

static const char *line_of(Levels *l, int line)
{
    const char *text = l->chain->ptx->text;

    while (--line > 0 && text)
        text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    return text ? arena_strndup(l->arena, text, strcspn(text, "\n")) : "";
}

static bool fault(Levels *l, const EmuReport *report)
{
    const EmuFault *f = &report->faults[0];

    return levels_differ(l, "%s at line %d (%s), block %d, thread %d: %s", emu_fault_name(f->kind), f->line,
                         line_of(l, f->line), f->block[0], f->thread, f->message);
}

static bool launch_kernel(Launch *x, int kernel, const void *space)
{
    const AbiEntry *k = abi_entry(&x->abi->kernels.data[kernel], x->aligned);
    const char *error;
    EmuReport *report = arena_new_of(x->l->arena, EmuReport);
    EmuLaunch launch = {.grid = {1, 1, 1},
                        .block = {k->threads, 1, 1},
                        .shared_bytes = (size_t)k->shared_bytes,
                        .params = space,
                        .param_bytes = (size_t)x->abi->param_bytes,
                        .seed = x->seed,
                        .max_instructions = MAX_INSTRUCTIONS};
    int64_t blocks;
    int at = emu_find_entry(x->module, k->name);

    if (at < 0 || !abi_blocks(x->abi, k, x->dims, x->emulated->host.sms, &blocks, &error))
        return levels_differ(x->l, "%s", at < 0 ? "the PTX lacks an entry" : error);
    launch.grid[0] = (int)blocks;
    if (blocks == 0)
        return true;
    if (!emu_run(x->l->arena, x->module, at, x->memory, &launch, report))
        return fault(x->l, report);
    x->l->report->conflicts += report->shared_wavefronts - report->shared_ideal;
    return true;
}

/* The outputs, without what lies between their rows, which must be untouched. */
static bool gather(Launch *x, Tensor **outputs)
{
    Levels *l = x->l;

    for (int i = 0; i < l->n_tensors; i++) {
        Tensor *t = x->padded[i];
        const char *error;

        if (!l->oracle[i])
            continue;
        outputs[i] = tensor_new(l->arena, t->name, t->dtype, t->rank, t->dims, &error);
        levels_each(t, move_element, &(Move){t, outputs[i]});
        levels_each(t, clear_element, t);
        for (size_t b = 0; b < t->bytes; b++)
            if (((unsigned char *)t->data)[b] != 0xff)
                return levels_differ(l, "byte %zu of %s, between its rows, was written", b, t->name);
    }
    return true;
}

static bool run_ptx(Launch *x, Tensor **outputs)
{
    void *space = NULL;

    if (!place_tensors(x) || !pack(x, &space))
        return false;
    for (int k = 0; k < x->abi->kernels.len; k++)
        if (!launch_kernel(x, k, space))
            return false;
    if (!emulated_at_rest(x->emulated))
        return levels_differ(x->l, "a counter is not 0 again at the end");
    return gather(x, outputs);
}

static bool bind_dims(Launch *x)
{
    double value;

    x->dims = arena_array(x->l->arena, int64_t, x->abi->dims.len + 1);
    for (int i = 0; i < x->abi->dims.len; i++) {
        if (!levels_value(x->l, x->abi->dims.data[i]->name, &value))
            return levels_differ(x->l, "nothing binds dimension %s", x->abi->dims.data[i]->name);
        x->dims[i] = (int64_t)value;
    }
    return true;
}

static bool read_ptx(Launch *x)
{
    Levels *l = x->l;
    Diags *diags = diags_new(l->arena, l->chain->ptx);

    x->module = emu_parse(l->arena, diags, l->chain->ptx);
    if (x->module)
        x->abi = abi_from_ptx(l->arena, syms_new(l->arena), aff_ctx_new(l->arena), l->chain->ptx, diags);
    if (!x->module || !x->abi)
        return levels_differ(l, "the PTX does not read back: %s",
                             diags->list.len ? diags->list.data[0].message : "no reason given");
    return bind_dims(x);
}

/* Whether the entry for any alignment is another kernel, which need not round alike. */
static bool entries_apart(TileProgram *program)
{
    for (int i = 0; i < program->kernels.len; i++)
        if (ptx_kernel_for_any(program, program->kernels.data[i]) != program->kernels.data[i])
            return true;
    return false;
}

/* Whether sums along a row come in an order that follows from where it begins in memory. */
static bool has_window(TileProgram *program)
{
    for (int i = 0; i < program->kernels.len; i++)
        if (ptx_kernel_for_any(program, program->kernels.data[i])->window.sym)
            return true;
    return false;
}

bool levels_ptx(Levels *l)
{
    enum { LAUNCHES = 4 };
    Tensor **firsts[2] = {NULL, NULL};
    Launch x = {.l = l};

    if (!read_ptx(&x))
        return false;
    for (int i = 0; i < LAUNCHES; i++) {
        Tensor **outputs = arena_array(l->arena, Tensor *, l->n_tensors + 1), **first;

        first = x.abi->unordered || (i % 2 == 1 && has_window(l->chain->tile)) ? NULL : firsts[entries_apart(l->chain->tile) ? i % 2 : 0];
        x.aligned = i % 2 == 0;
        x.seed = rng_next(&l->rng) >> 1 | 1;
        levels_at(l, "PTX, %s entry, schedule %d", x.aligned ? "aligned" : "any", i / 2 + 1);
        if (!run_ptx(&x, outputs))
            return false;
        if (first ? !levels_equal(l, outputs, first)
                  : !levels_close(l, outputs) || !levels_right(l, outputs))
            return false;
        if (!first)
            firsts[entries_apart(l->chain->tile) ? i % 2 : 0] = outputs;
    }
    return true;
}
