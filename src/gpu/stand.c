/* stand.c: tensors of one shape on the host and on the device. */
#include "gpu/stand.h"

static bool same_name(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* The tensor of the definition that has this name. */
static Tensor *named(const Stand *s, const char *name)
{
    for (int i = 0; i < s->def->inputs.len; i++)
        if (same_name(s->def->inputs.data[i]->name, name))
            return s->inputs[i];
    for (int i = 0; i < s->def->outputs.len; i++)
        if (same_name(s->def->outputs.data[i]->name, name))
            return s->outputs[i];
    return NULL;
}

bool stand_is_output(const Stand *s, int tensor)
{
    const AbiTensor *t = &s->abi->tensors.data[tensor];
    return t->written && !t->workspace;
}

/* ---- the host ----------------------------------------------------------------------- */

static bool make_hosts(Stand *s, const char **error)
{
    const Abi *abi = s->abi;
    s->hosts = arena_array(s->arena, Tensor *, abi->tensors.len + 1);
    for (int i = 0; i < abi->tensors.len; i++) {
        const AbiTensor *t = &abi->tensors.data[i];
        int64_t dims[TENSOR_MAX_RANK];
        if (t->workspace) {
            s->hosts[i] = abi_dims(abi, i, s->call.dims, dims)
                              ? tensor_new_rows(s->arena, t->name, t->dtype, t->rank, dims, t->alignment, error)
                              : NULL;
        } else {
            s->hosts[i] = named(s, t->name);
            *error = arena_printf(s->arena, "the definition has no tensor %s", t->name);
        }
        if (!s->hosts[i])
            return false;
        if (abi_dims(abi, i, s->call.dims, dims)) /* kernels may see it in another shape */
            s->hosts[i] = tensor_seen(s->arena, s->hosts[i], t->rank, dims);
    }
    return true;
}

static bool bind_values(Stand *s, const StandSpec *spec, const char **error)
{
    const Abi *abi = s->abi;
    int64_t blocks;
    s->call.dims = arena_array(s->arena, int64_t, abi->dims.len + 1);
    s->call.params = arena_array(s->arena, double, abi->params.len + 1);
    if (!gpu_bind(s->arena, abi, s->def, spec->bindings, spec->n_bindings, s->call.dims,
                  s->call.params, error))
        return false;
    for (int k = 0; k < abi->kernels.len; k++)
        if (!abi_blocks(abi, &abi->kernels.data[k].fast, s->call.dims, s->gpu->sms, &blocks, error) ||
            !abi_blocks(abi, abi_entry(&abi->kernels.data[k], false), s->call.dims, s->gpu->sms,
                        &blocks, error))
            return false;
    return true;
}

bool stand_make(Stand *s, Arena *arena, GpuModule *module, const Def *def, const StandSpec *spec,
                const char **error)
{
    *s = (Stand){.arena = arena, .gpu = module->gpu, .abi = module->abi, .def = def};
    s->call.module = module;
    s->inputs = arena_array(arena, Tensor *, def->inputs.len + 1);
    s->outputs = arena_array(arena, Tensor *, def->outputs.len + 1);
    return ref_make_tensors(arena, def, spec->bindings, spec->n_bindings, spec->fill, spec->seed,
                            s->inputs, s->outputs, error) &&
           ref_new(arena, def, spec->bindings, spec->n_bindings, s->inputs, REF_EXACT, error) &&
           bind_values(s, spec, error) && make_hosts(s, error);
}

bool stand_take(Stand *s, Arena *arena, GpuModule *module, const Def *def, const StandSpec *spec, Tensor **inputs,
                Tensor **outputs, const char **error)
{
    *s = (Stand){.arena = arena, .gpu = module->gpu, .abi = module->abi, .def = def, .inputs = inputs, .outputs = outputs};
    s->call.module = module;
    return bind_values(s, spec, error) && make_hosts(s, error);
}

/* ---- the device --------------------------------------------------------------------- */

static void set_call(Stand *s)
{
    for (int i = 0; i < s->abi->tensors.len; i++) {
        s->call.views[i] = &s->buffers[i].view;
        s->call.addresses[i] = s->buffers[i].address;
    }
}

static void new_call(Stand *s)
{
    int n = s->abi->tensors.len + 1;
    s->buffers = arena_array(s->arena, Buffer, n);
    s->owned = arena_array(s->arena, bool, n);
    s->call.views = arena_array(s->arena, Tensor *, n);
    s->call.addresses = arena_array(s->arena, uint64_t, n);
}

/* ---- counters ----------------------------------------------------------------------- */

/* Each on lines of its own, for atomics of one must not slow another's. */
enum { COUNTER_STEP = 256 };

static size_t counter_bytes(const Abi *abi)
{
    return (size_t)abi->kernels.len * COUNTER_STEP;
}

/* Gives the call counters of its own: also in stands that were made as copies. */
static bool new_counters(Stand *s)
{
    Gpu *gpu = s->gpu;
    size_t bytes = counter_bytes(s->abi);
    s->counters = 0;
    s->call.counters = NULL;
    if (!abi_has_counters(s->abi))
        return true;
    if (!gpu_ok(gpu, gpu->cu.memory_alloc(&s->counters, bytes), "taking GPU memory for counters"))
        return false;
    s->call.counters = arena_array(s->arena, uint64_t, s->abi->kernels.len);
    for (int k = 0; k < s->abi->kernels.len; k++)
        s->call.counters[k] = s->counters + (uint64_t)k * COUNTER_STEP;
    return gpu_ok(gpu, gpu->cu.memory_upload(s->counters, arena_array(s->arena, char, bytes), bytes),
                  "copying to the GPU");
}

/* What is left in them, the next launch would begin with. */
static bool check_counters(const Stand *s, const char **problem)
{
    size_t bytes = counter_bytes(s->abi);
    char *image = s->counters ? arena_alloc(s->arena, bytes) : NULL;
    if (!image)
        return true;
    if (!gpu_ok(s->gpu, s->gpu->cu.memory_download(image, s->counters, bytes), "copying from the GPU"))
        return false;
    for (size_t i = 0; i < bytes && !*problem; i++)
        if (image[i])
            *problem = "it left a counter that is not 0";
    return true;
}

/* A copy from pageable memory may still be on its way when the call returns, and
 * streams of their own do not wait for the default one. */
static bool uploaded(const Stand *s)
{
    return gpu_wait(s->gpu, "copying to the GPU");
}

bool stand_place(Stand *s, Placing placing)
{
    size_t largest = 0;
    new_call(s);
    for (int i = 0; i < s->abi->tensors.len; i++) {
        const AbiTensor *t = &s->abi->tensors.data[i];
        buffer_plan(s->arena, &s->buffers[i], s->hosts[i], t->workspace ? PLACE_PLAIN : placing,
                    t->written);
        s->owned[i] = true;
        if (!buffer_create(s->gpu, &s->buffers[i]))
            return false;
        largest = s->buffers[i].bytes > largest ? s->buffers[i].bytes : largest;
    }
    s->scratch = arena_alloc(s->arena, largest + 1);
    s->scratch_bytes = largest;
    set_call(s);
    return new_counters(s) && uploaded(s);
}

bool stand_twin(Stand *twin, const Stand *s)
{
    *twin = *s;
    twin->counters = 0;
    new_call(twin);
    for (int i = 0; i < s->abi->tensors.len; i++) {
        twin->buffers[i] = s->buffers[i];
        if (!s->abi->tensors.data[i].written)
            continue;
        twin->buffers[i].base = 0;
        twin->owned[i] = true;
        if (!buffer_create(s->gpu, &twin->buffers[i]))
            return false;
    }
    set_call(twin);
    return new_counters(twin) && uploaded(s);
}

static const Buffer *shared_buffer(const Stand *from, const char *name)
{
    for (int i = 0; i < from->abi->tensors.len; i++)
        if (!from->abi->tensors.data[i].workspace && same_name(from->abi->tensors.data[i].name, name))
            return &from->buffers[i];
    return NULL;
}

bool stand_share(Stand *s, const Stand *from)
{
    size_t largest = 0;
    new_call(s);
    for (int i = 0; i < s->abi->tensors.len; i++) {
        const AbiTensor *t = &s->abi->tensors.data[i];
        const Buffer *shared = t->workspace ? NULL : shared_buffer(from, t->name);
        if (shared) {
            s->buffers[i] = *shared;
        } else {
            buffer_plan(s->arena, &s->buffers[i], s->hosts[i], PLACE_PLAIN, t->written);
            s->owned[i] = true;
            if (!buffer_create(s->gpu, &s->buffers[i]))
                return false;
        }
        largest = s->buffers[i].bytes > largest ? s->buffers[i].bytes : largest;
    }
    s->scratch = largest > from->scratch_bytes ? arena_alloc(s->arena, largest + 1) : from->scratch;
    s->scratch_bytes = largest > from->scratch_bytes ? largest : from->scratch_bytes;
    set_call(s);
    return new_counters(s) && uploaded(s);
}

void stand_free(Stand *s)
{
    for (int i = 0; s->buffers && i < s->abi->tensors.len; i++)
        if (s->owned[i])
            buffer_free(s->gpu, &s->buffers[i]);
    if (s->counters)
        s->gpu->cu.memory_free(s->counters);
    s->counters = 0;
}

bool stand_reset(const Stand *s)
{
    for (int i = 0; i < s->abi->tensors.len; i++)
        if (s->abi->tensors.data[i].written && !buffer_reset(s->gpu, &s->buffers[i]))
            return false;
    return uploaded(s);
}

/* ---- fetching ----------------------------------------------------------------------- */

static const char *describe(const Stand *s, Damage damage, int tensor)
{
    static const char *const texts[] = {
        [DAMAGE_NONE] = "",
        [DAMAGE_BEFORE] = "it wrote before the beginning of %s",
        [DAMAGE_GAP] = "it wrote between the rows of %s",
        [DAMAGE_AFTER] = "it wrote behind the end of %s",
        [DAMAGE_ELEMENT] = "it changed %s, which is an input",
    };
    const char *text = texts[damage], *name = s->abi->tensors.data[tensor].name;
    const char *at = strstr(text, "%s");
    return at ? arena_printf(s->gpu->arena, "%.*s%s%s", (int)(at - text), text, name, at + 2)
              : NULL;
}

static bool fetch_one(const Stand *s, int i, Tensor *to, const char **problem)
{
    const AbiTensor *t = &s->abi->tensors.data[i];
    const Buffer *b = &s->buffers[i];
    int64_t unwritten;
    if (!gpu_ok(s->gpu, s->gpu->cu.memory_download(s->scratch, b->base, b->bytes),
                "copying from the GPU"))
        return false;
    Damage damage = buffer_inspect(b, s->scratch, t->written, to, &unwritten);
    if (damage != DAMAGE_NONE && !*problem)
        *problem = describe(s, damage, i);
    if (stand_is_output(s, i) && unwritten > 0 && !*problem)
        *problem = arena_printf(s->gpu->arena, "it left %lld of %lld elements of %s unwritten",
                                (long long)unwritten, (long long)tensor_count(&b->view), t->name);
    return true;
}

bool stand_fetch(const Stand *s, Tensor *const *to, const char **problem)
{
    *problem = NULL;
    if (!gpu_wait(s->gpu, "running the kernel"))
        return false;
    for (int i = 0; i < s->abi->tensors.len; i++)
        if (!fetch_one(s, i, stand_is_output(s, i) ? to[i] : NULL, problem))
            return false;
    return check_counters(s, problem);
}

/* ---- sets ------------------------------------------------------------------------------ */

enum { CACHE_FACTOR = 4 /* all sets together, over the L2 cache */ };

static size_t set_bytes(const Stand *s)
{
    size_t bytes = 1;
    for (int i = 0; i < s->abi->tensors.len; i++)
        bytes += s->buffers[i].bytes;
    return bytes;
}

int stand_sets(Gpu *gpu, const Stand *s)
{
    GpuInfo info;
    size_t available = 0, total, bytes = set_bytes(s);
    gpu_info(gpu, &info);
    gpu->cu.memory_info(&available, &total);
    size_t wanted = (size_t)info.l2 * CACHE_FACTOR / bytes + 1, fit = available / 2 / bytes + 1;
    wanted = wanted < 2 ? 2 : wanted > STAND_SETS ? STAND_SETS : wanted;
    return (int)(wanted < fit ? wanted : fit);
}

bool stand_again(Stand *to, const Stand *from)
{
    *to = *from;
    to->counters = 0;
    new_call(to);
    for (int i = 0; i < from->abi->tensors.len; i++) {
        to->buffers[i] = from->buffers[i];
        to->buffers[i].base = 0;
        to->owned[i] = true;
        if (!buffer_create(from->gpu, &to->buffers[i]))
            return false;
    }
    set_call(to);
    return new_counters(to);
}
