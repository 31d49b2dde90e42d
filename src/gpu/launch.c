/* launch.c: a program's kernels started with the arguments of its ABI. */
#include "gpu/driver.h"

enum { MAX_ARGS = 1024, MAX_PARAM_BYTES = 4096 };

/* ---- values ------------------------------------------------------------------------- */

bool gpu_bind(Arena *arena, const Abi *abi, const Def *def, const RefBinding *bindings,
              int n_bindings, int64_t *dims, double *params, const char **error)
{
    EvalEnv env;
    const EvalName *found;
    const char *missing = NULL;
    eval_init(&env, arena, def->aff);
    ref_numbers(&env, def, bindings, n_bindings);
    for (int i = 0; i < abi->dims.len && !missing; i++) {
        found = eval_find(&env, abi->dims.data[i]->name);
        if (found && found->number >= 0 && found->number <= INT32_MAX)
            dims[i] = (int64_t)found->number;
        else
            missing = abi->dims.data[i]->name;
    }
    for (int i = 0; i < abi->params.len && !missing; i++) {
        found = eval_find(&env, abi->params.data[i]);
        if (found)
            params[i] = found->number;
        else
            missing = abi->params.data[i];
    }
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
