/* signature.c: how a kernel that somebody else writes from a definition alone is launched.
 *
 *   Input X (rows, cols)   ─►   float16 *X, float16 *Y, int64 X_stride0, ..., int32 rows, int32 cols
 *   Output Y (rows, cols)
 *
 * The arguments are those of any program for the definition (abi.h); its writer says how many
 * blocks and threads it has.
 */
#include "chain/chain.h"

static AbiTensor tensor_of(const DefValue *value, bool written)
{
    AbiTensor t = {.name = value->name, .dtype = value->dtype, .rank = value->rank, .read = !written, .written = written,
                   .alignment = dtype_bytes(value->dtype)};

    for (int i = 0; i < value->rank; i++)
        t.dims[i] = value->dims[i].size;
    return t;
}

Abi *chain_signature(Chain *chain)
{
    Abi *abi = arena_new_of(chain->arena, Abi);
    const Def *def = chain->def;

    *abi = (Abi){.arena = chain->arena, .name = chain->name, .target = chain->target->name};
    for (int i = 0; i < def->inputs.len; i++)
        vec_push(abi->arena, &abi->tensors, tensor_of(def->inputs.data[i], false));
    for (int i = 0; i < def->outputs.len; i++)
        vec_push(abi->arena, &abi->tensors, tensor_of(def->outputs.data[i], true));
    for (int i = 0; i < def->dims.len; i++)
        if (def->dims.data[i].sym && strcmp(def->dims.data[i].sym->name, def->dims.data[i].name) == 0)
            vec_push(abi->arena, &abi->dims, def->dims.data[i].sym);
    for (int i = 0; i < def->params.len; i++)
        vec_push(abi->arena, &abi->params, def->params.data[i].name);
    abi_lay_out(abi);
    chain_describe(chain, abi);
    return abi;
}

/* ---- as C++ ------------------------------------------------------------------------- */

static const char *element(DType t)
{
    static const char *const names[DT_COUNT] = {
        [DT_F32] = "float", [DT_F16] = "__half", [DT_BF16] = "__nv_bfloat16", [DT_E4M3] = "__nv_fp8_e4m3",
        [DT_E5M2] = "__nv_fp8_e5m2", [DT_F64] = "double", [DT_I32] = "int", [DT_I64] = "long long",
        [DT_I8] = "signed char", [DT_U8] = "unsigned char", [DT_BOOL] = "unsigned char"};

    return names[t];
}

static void put_type(Str *out, const Abi *abi, const AbiArg *arg)
{
    switch (arg->kind) {
    case ABI_ADDRESS:
        str_printf(out, "%s%s *", abi->tensors.data[arg->tensor].written ? "" : "const ",
                   element(abi->tensors.data[arg->tensor].dtype));
        return;
    case ABI_STRIDE: str_add(out, "long long "); return;
    case ABI_DIM: str_add(out, "int "); return;
    case ABI_PARAM: str_add(out, "float "); return;
    case ABI_MAP:
    case ABI_COUNTER: return; /* a signature has none */
    }
}

void chain_cuda_params(Str *out, const Abi *abi)
{
    for (int i = 0; i < abi->args.len; i++) {
        str_add(out, i ? ", " : "");
        put_type(out, abi, &abi->args.data[i]);
        str_add(out, abi->args.data[i].name);
    }
}

void chain_cuda_entry(Str *out, const Abi *abi)
{
    str_printf(out, "extern \"C\" __global__ void __launch_bounds__(%d) %s(", abi->kernels.data[0].fast.threads, abi->name);
    chain_cuda_params(out, abi);
    str_printf(out, ")\n{\n    %s_block(", abi->name);
    for (int i = 0; i < abi->args.len; i++)
        str_printf(out, "%s%s", i ? ", " : "", abi->args.data[i].name);
    str_add(out, ");\n}\n");
}
