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

static bool launch_kernel(const GpuCall *call, int k, bool aligned, void **params, void *stream)
{
    GpuModule *m = call->module;
    Gpu *gpu = m->gpu;
    const AbiKernel *kernel = &m->abi->kernels.data[k];
    void *function = aligned ? m->entries[k].aligned : m->entries[k].any;
    int64_t blocks;
    const char *error;
    if (!abi_blocks(m->abi, k, call->dims, &blocks, &error))
        return gpu_fail(gpu, "%s", error);
    if (blocks == 0)
        return true;
    int status = gpu->cu.launch(function, (unsigned)blocks, 1, 1, (unsigned)kernel->threads, 1, 1,
                                (unsigned)kernel->shared_bytes, stream, params, NULL);
    return gpu_ok(gpu, status, "launching");
}

bool gpu_launch(const GpuCall *call, void *stream)
{
    const Abi *abi = call->module->abi;
    _Alignas(16) char space[MAX_PARAM_BYTES];
    void *params[MAX_ARGS];
    const char *error;
    if (abi->param_bytes > MAX_PARAM_BYTES || abi->args.len > MAX_ARGS)
        return gpu_fail(call->module->gpu, "the program has more arguments than a launch takes");
    if (!abi_pack(abi, call->views, call->addresses, call->dims, call->params, space, &error))
        return gpu_fail(call->module->gpu, "%s", error);
    for (int i = 0; i < abi->args.len; i++)
        params[i] = space + abi->args.data[i].offset;
    bool aligned = abi_aligned(abi, call->views, call->addresses);
    for (int k = 0; k < abi->kernels.len; k++)
        if (!launch_kernel(call, k, aligned, params, stream))
            return false;
    return true;
}
