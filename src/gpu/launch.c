/* launch.c: a program's kernels started with the arguments of its ABI. */
#include "gpu/driver.h"
#include "lang/eval.h"

enum { MAX_ARGS = 1024, MAX_PARAM_BYTES = 4096 };

/* ---- values ------------------------------------------------------------------------- */

static bool bound(const RefBinding *bindings, int n, const char *name, double *value)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(bindings[i].name, name) == 0) {
            *value = bindings[i].value;
            return true;
        }
    }
    return false;
}

/* Everything that has a number: constants, bindings, then parameters' defaults,
 * which may use what stands before them. */
static void bind_all(EvalEnv *env, const Def *def, const RefBinding *bindings, int n)
{
    for (int i = 0; i < def->consts.len; i++)
        eval_bind_number(env, def->consts.data[i].name, def->consts.data[i].value);
    for (int i = 0; i < n; i++)
        eval_bind_number(env, bindings[i].name, bindings[i].value);
    for (int i = 0; i < def->params.len; i++) {
        const DefParam *param = &def->params.data[i];
        double value;
        if (!bound(bindings, n, param->name, &value) && param->default_value &&
            eval_float(env, param->default_value, &value))
            eval_bind_number(env, param->name, value);
    }
}

static bool value_of(const EvalEnv *env, const Def *def, const char *name, double *value)
{
    const EvalName *found = eval_find(env, name);
    const DefDimSym *dim = found ? NULL : def_dim(def, name);
    if (dim && dim->sym)
        found = eval_find(env, dim->sym->name); /* an alias */
    if (found)
        *value = found->number;
    return found != NULL;
}

bool gpu_bind(Arena *arena, const Abi *abi, const Def *def, const RefBinding *bindings,
              int n_bindings, int64_t *dims, double *params, const char **error)
{
    EvalEnv env;
    double value;
    const char *missing = NULL;
    eval_init(&env, arena, def->aff);
    bind_all(&env, def, bindings, n_bindings);
    for (int i = 0; i < abi->dims.len && !missing; i++) {
        const char *name = abi->dims.data[i]->name;
        if (!value_of(&env, def, name, &value) || !(value >= 0 && value <= INT32_MAX))
            missing = name;
        else
            dims[i] = (int64_t)value;
    }
    for (int i = 0; i < abi->params.len && !missing; i++)
        if (!value_of(&env, def, abi->params.data[i], &params[i]))
            missing = abi->params.data[i];
    if (missing)
        *error = arena_printf(arena, "%s has no value (or none from 0 to 2^31 - 1)", missing);
    return !missing;
}

/* ---- launching ---------------------------------------------------------------------- */

static bool encode_map(void *user, const AbiTensorMap *map, void *handle)
{
    static const uint32_t steps[ABI_MAP_RANK] = {1, 1, 1, 1, 1};
    const Gpu *gpu = user;
    return gpu->cu.encode_tiled &&
           gpu->cu.encode_tiled(handle, abi_driver_type(map->dtype), (uint32_t)map->rank,
                                (void *)(uintptr_t)map->address, map->dims, map->strides, map->box,
                                steps, CU_MAP_INTERLEAVE_NONE, abi_driver_swizzle(map->swizzle),
                                CU_MAP_L2_PROMOTION_256, CU_MAP_FILL_ZEROS) == 0;
}

static bool launch_kernel(const GpuCall *call, int k, bool fast, void **params, void *stream)
{
    GpuModule *m = call->module;
    Gpu *gpu = m->gpu;
    fast = fast && !m->entries[k].conservative;
    const AbiEntry *entry = abi_entry(&m->abi->kernels.data[k], fast);
    void *function = fast ? m->entries[k].fast : m->entries[k].any;
    int64_t blocks;
    const char *error;
    if (!abi_blocks(m->abi, entry, call->dims, gpu->sms, &blocks, &error))
        return gpu_fail(gpu, "%s", error);
    if (blocks == 0)
        return true;
    int status = gpu->cu.launch(function, (unsigned)blocks, 1, 1, (unsigned)entry->threads, 1, 1,
                                (unsigned)entry->shared_bytes, stream, params, NULL);
    return gpu_ok(gpu, status, "launching");
}

bool gpu_launch(const GpuCall *call, void *stream)
{
    const Abi *abi = call->module->abi;
    Gpu *gpu = call->module->gpu;
    const AbiHost host = {
        .sms = gpu->sms, .encode = encode_map, .user = gpu, .counters = call->counters};
    _Alignas(64) char space[MAX_PARAM_BYTES];
    void *params[MAX_ARGS];
    const char *error;
    bool fast;
    if (abi->param_bytes > MAX_PARAM_BYTES || abi->args.len > MAX_ARGS)
        return gpu_fail(gpu, "the program has more arguments than a launch takes");
    if (!abi_pack(abi, call->views, call->addresses, call->dims, call->params, &host, space, &fast,
                  &error))
        return gpu_fail(gpu, "%s", error);
    for (int i = 0; i < abi->args.len; i++)
        params[i] = space + abi->args.data[i].offset;
    for (int k = 0; k < abi->kernels.len; k++)
        if (!launch_kernel(call, k, fast, params, stream))
            return false;
    return true;
}
