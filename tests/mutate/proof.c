/* proof.c: executes a compiled program on the shapes of `tw verify`. */
#include "proof.h"

#include <math.h>

#include "chain/emulated.h"
#include "gpu/driver.h"

enum { ALL_BELOW = 1024, ROWS_AT_MOST = 1024, TILED = 200, OTHER = 2, MOST_INSTRUCTIONS = 20 * 1000 * 1000 };

typedef struct Proof {
    Arena *arena; /* of one case */
    const Chain *chain;
    const Def *def;
    const RefBinding *bindings;
    int n_bindings;
    FillKind fill;
    uint64_t seed;
    bool ptx;
    Tensor **inputs, **outputs, **tensors; /* tensors: in the ABI's order */
    int64_t *dims;
    double *params;
    const char *failure;
} Proof;

static bool fail(Proof *p, const char *failure)
{
    p->failure = failure;
    return false;
}

/* ---- tensors and numbers ------------------------------------------------------------------ */

/* What one kernel leaves for the next. */
static Tensor *passed_tensor(Proof *p, int tensor)
{
    const AbiTensor *t = &p->chain->abi->tensors.data[tensor];
    int64_t sizes[TENSOR_MAX_RANK];
    const char *error;
    Tensor *made;

    if (!abi_dims(p->chain->abi, tensor, p->dims, sizes) ||
        !(made = tensor_new(p->arena, t->name, t->dtype, t->rank, sizes, &error)))
        return NULL;
    tensor_poison(made);
    return made;
}

static Tensor *find_tensor(const Proof *p, const char *name)
{
    for (int i = 0; i < p->def->inputs.len; i++)
        if (strcmp(p->inputs[i]->name, name) == 0)
            return p->inputs[i];
    for (int i = 0; i < p->def->outputs.len; i++)
        if (strcmp(p->outputs[i]->name, name) == 0)
            return p->outputs[i];
    return NULL;
}

/* Fails when the program wants other tensors than the definition has. */
static bool bind(Proof *p)
{
    const Abi *abi = p->chain->abi;
    uint64_t *addresses = arena_array(p->arena, uint64_t, abi->tensors.len + 1);
    void *space = arena_alloc(p->arena, (size_t)abi->param_bytes + 16);
    const Emulated *host = emulated_host(p->arena, abi, emu_memory_new(p->arena));
    const char *error = "parameters";
    int known = 0;
    bool fast;

    p->params = arena_array(p->arena, double, abi->params.len + 1);
    p->tensors = arena_array(p->arena, Tensor *, abi->tensors.len + 1);
    p->dims = arena_array(p->arena, int64_t, abi->dims.len + 1);
    if (!gpu_bind(p->arena, abi, p->def, p->bindings, p->n_bindings, p->dims, p->params, &error))
        return fail(p, error);
    for (int i = 0; i < abi->tensors.len; i++) {
        bool passed = abi->tensors.data[i].workspace;

        p->tensors[i] = passed ? passed_tensor(p, i) : find_tensor(p, abi->tensors.data[i].name);
        if (!p->tensors[i] || p->tensors[i]->dtype != abi->tensors.data[i].dtype)
            return fail(p, "a tensor is not that of the definition");
        known += !passed;
    }
    if (known != p->def->inputs.len + p->def->outputs.len)
        return fail(p, "a tensor is missing");
    if (!abi_pack(abi, p->tensors, addresses, p->dims, p->params, &host->host, space, &fast, &error))
        return fail(p, error);
    for (int i = 0; i < p->def->outputs.len; i++)
        tensor_poison(p->outputs[i]);
    return true;
}

/* ---- executing ---------------------------------------------------------------------------- */

static bool run_tile(Proof *p)
{
    TileRun run = {.tensors = p->tensors, .dims = p->dims, .params = p->params, .seed = p->seed};
    const char *error;
    int64_t blocks;

    for (int k = 0; k < p->chain->abi->kernels.len; k++)
        if (!abi_blocks(p->chain->abi, &p->chain->abi->kernels.data[k].fast, p->dims, 1, &blocks, &error))
            return fail(p, error);
    return tile_run(p->arena, p->chain->tile, &run, &error) || fail(p, error);
}

static EmuMemory *emulated_memory(Proof *p, uint64_t *addresses, bool aligned)
{
    const Abi *abi = p->chain->abi;
    EmuMemory *memory = emu_memory_new(p->arena);

    for (int i = 0; i < abi->tensors.len; i++) {
        bool input = !abi->tensors.data[i].written;

        addresses[i] = emu_memory_add(memory, p->tensors[i]->name, p->tensors[i]->data, p->tensors[i]->bytes, input,
                                      input, aligned ? 0 : dtype_bytes(p->tensors[i]->dtype));
    }
    return memory;
}

typedef struct Launch {
    const EmuModule *module;
    EmuMemory *memory;
    Emulated *emulated;
    void *space;
    bool fast;
} Launch;

static bool emulate_kernel(Proof *p, const Launch *l, int kernel)
{
    const Abi *abi = p->chain->abi;
    const AbiEntry *k = abi_entry(&abi->kernels.data[kernel], l->fast);
    EmuLaunch launch = {.grid = {1, 1, 1},
                        .block = {k->threads, 1, 1},
                        .shared_bytes = (size_t)k->shared_bytes,
                        .params = l->space,
                        .param_bytes = (size_t)abi->param_bytes,
                        .seed = p->seed,
                        .max_instructions = MOST_INSTRUCTIONS};
    EmuReport *report = arena_new_of(p->arena, EmuReport);
    int entry = emu_find_entry(l->module, k->name);
    const char *error = "no entry";
    int64_t blocks;

    if (entry < 0 || !abi_blocks(abi, k, p->dims, l->emulated->host.sms, &blocks, &error))
        return fail(p, arena_printf(p->arena, "the PTX cannot be launched: %s", error));
    launch.grid[0] = (int)blocks;
    if (blocks == 0 || emu_run(p->arena, l->module, entry, l->memory, &launch, report))
        return true;
    return fail(p, arena_printf(p->arena, "the PTX: %s at line %d: %s", emu_fault_name(report->faults[0].kind),
                                report->faults[0].line, report->faults[0].message));
}

static bool emulate(Proof *p, const EmuModule *module, bool aligned)
{
    const Abi *abi = p->chain->abi;
    uint64_t *addresses = arena_array(p->arena, uint64_t, abi->tensors.len + 1);
    Launch l = {.module = module, .memory = emulated_memory(p, addresses, aligned)};
    const char *error;

    l.emulated = emulated_host(p->arena, abi, l.memory);
    l.space = arena_alloc(p->arena, (size_t)abi->param_bytes + 16);
    if (!abi_pack(abi, p->tensors, addresses, p->dims, p->params, &l.emulated->host, l.space, &l.fast, &error))
        return fail(p, arena_printf(p->arena, "the PTX cannot be launched: %s", error));
    for (int k = 0; k < abi->kernels.len; k++)
        if (!emulate_kernel(p, &l, k))
            return false;
    return true;
}

static bool run_ptx(Proof *p)
{
    Diags *diags = diags_new(p->arena, p->chain->ptx);
    const EmuModule *module = emu_parse(p->arena, diags, p->chain->ptx);

    return module ? emulate(p, module, p->seed % 2 == 0) : fail(p, "the PTX does not parse");
}

/* ---- comparing ---------------------------------------------------------------------------- */

static bool is_right(const Proof *p, const RefVerdict *v)
{
    if (!p->ptx)
        return v->ok;
    /* rounding of 16-bit operands aside */
    return v->got.not_finite == 0 && v->got.max_abs <= 0.1 * v->got.max_want + 1e-6;
}

static bool compare(Proof *p)
{
    for (int o = 0; o < p->def->outputs.len; o++) {
        RowList *rows = rows_choose(p->arena, p->outputs[o], ALL_BELOW, 64, ROWS_AT_MOST, p->seed);
        RefVerdict verdict;
        const char *error;

        if (!ref_compare(p->arena, p->def, p->bindings, p->n_bindings, p->inputs, p->outputs, o, rows, 2, &verdict,
                         &error))
            return fail(p, error);
        if (!is_right(p, &verdict))
            return fail(p, arena_printf(p->arena, "'%s' is off by %g of %g, %.3g times a plain implementation",
                                        p->outputs[o]->name, verdict.got.max_abs, verdict.got.max_want,
                                        verdict.ratio_max));
    }
    return true;
}

/* ---- cases ---------------------------------------------------------------------------------- */

static const char *try_case(Arena *arena, Proof p)
{
    const char *error, *failure = NULL;

    p.arena = arena_new(arena_heap(arena));
    p.inputs = arena_array(p.arena, Tensor *, p.def->inputs.len + 1);
    p.outputs = arena_array(p.arena, Tensor *, p.def->outputs.len + 1);
    /* a shape that is not legal for the operator says nothing */
    if (ref_make_tensors(p.arena, p.def, p.bindings, p.n_bindings, p.fill, p.seed, p.inputs, p.outputs, &error) &&
        ref_new(p.arena, p.def, p.bindings, p.n_bindings, p.inputs, REF_EXACT, &error) &&
        !(bind(&p) && (p.ptx ? run_ptx(&p) : run_tile(&p)) && compare(&p)))
        failure = arena_printf(arena, "%s, %s: %s", gpu_shape_text(p.arena, p.bindings, p.n_bindings),
                               fill_name(p.fill), p.failure);
    arena_free(p.arena);
    return failure;
}

static bool is_tiled(const Def *def, const AffSym *sym)
{
    for (int i = 0; i < def->inputs.len; i++) {
        const DefValue *v = def->inputs.data[i];

        for (int d = v->rank > 2 ? v->rank - 2 : 0; d < v->rank; d++)
            if (aff_uses(v->dims[d].size, sym))
                return true;
    }
    return false;
}

/* The shape that the tool takes when nothing is said. */
static RefBinding *usual_shape(Arena *arena, const Def *def, int *n)
{
    RefBinding *b = arena_array(arena, RefBinding, def->dims.len + 1);

    *n = 0;
    for (int i = 0; i < def->dims.len; i++)
        if (def->dims.data[i].sym)
            b[(*n)++] = (RefBinding){def->dims.data[i].name, is_tiled(def, def->dims.data[i].sym) ? TILED : OTHER};
    return b;
}

const char *proof_failure(Arena *arena, const Chain *chain, const Def *def)
{
    Proof p = {.chain = chain, .def = def, .seed = 1};
    const char *failure = NULL;
    int n;
    const FillKind *fills = gpu_fills(&n);
    GpuShapes *shapes;

    p.bindings = usual_shape(arena, def, &p.n_bindings);
    for (int i = 0; i < n && !failure; i++) {
        p.fill = fills[i];
        failure = try_case(arena, p);
    }
    shapes = gpu_shapes(arena, chain->abi, def, p.bindings, p.n_bindings, 1);
    for (int i = 0; i < shapes->list.len && !failure; i++) {
        p.bindings = shapes->list.data[i].bindings;
        p.n_bindings = shapes->list.data[i].n;
        p.fill = fills[i % n];
        p.seed = 2 + (uint64_t)i;
        failure = try_case(arena, p);
    }
    return failure;
}

const char *proof_ptx_failure(Arena *arena, const Chain *chain, const Def *def)
{
    Proof p = {.chain = chain, .def = def, .ptx = true};
    RefBinding *b = usual_shape(arena, def, &p.n_bindings);
    const char *failure = NULL;

    p.bindings = b;
    for (int n = 0; n < 4 && !failure; n++) {
        for (int i = 0; i < p.n_bindings; i++)
            if (b[i].value > OTHER)
                b[i].value = (n + i) % 2 ? 33 : 17;
        p.fill = FILL_NORMAL;
        p.seed = (uint64_t)n + 2;
        failure = try_case(arena, p);
        for (int i = 0; i < p.n_bindings; i++)
            b[i].value = b[i].value > OTHER ? TILED : OTHER;
    }
    return failure;
}
