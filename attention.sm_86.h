/* attention.sm_86.h: launching attention (sm_86, fp16) from C or C++.
 *
 * Compiled in: HeadDim=128
 *
 *   attention_sm_86_args args;
 *   attention_sm_86_launch launch;
 *   memset(&args, 0, sizeof args);
 *   args.Q = (uint64_t)pointer;      and the other tensors, dimensions and parameters
 *   attention_sm_86_contiguous(&args);  or set the strides one by one
 *   for (int k = 0; k < ATTENTION_SM_86_KERNELS; k++) {
 *       const char *error = attention_sm_86_prepare(k, &args, &launch);
 *       if (error) ...                 a sentence; launch nothing
 *       cuModuleGetFunction(&function, module, launch.entry);
 *       cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
 *                          (int)launch.shared_bytes);
 *       if (launch.grid)               0: there is nothing to do
 *           cuLaunchKernel(function, launch.grid, 1, 1, launch.threads, 1, 1,
 *                          launch.shared_bytes, stream, launch.params, NULL);
 *   }
 *
 * The kernels run in this order on one stream, may be captured in a graph, and keep
 * no state: launches that write different memory may overlap.
 */
#ifndef ATTENTION_SM_86_H
#define ATTENTION_SM_86_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TW_ABI_HELPERS
#define TW_ABI_HELPERS
#define TW_ABI_MOST ((int64_t)1 << 61) /* results saturate here */
static inline int64_t tw_abi_clamp(int64_t a)
{
    return a > TW_ABI_MOST ? TW_ABI_MOST : a < -TW_ABI_MOST ? -TW_ABI_MOST : a;
}
static inline int64_t tw_abi_add(int64_t a, int64_t b)
{
    return tw_abi_clamp(tw_abi_clamp(a) + tw_abi_clamp(b));
}
static inline int64_t tw_abi_mul(int64_t a, int64_t b)
{
    int64_t x = tw_abi_clamp(a), y = tw_abi_clamp(b);
    int64_t u = x < 0 ? -x : x, v = y < 0 ? -y : y;
    if (u != 0 && v > TW_ABI_MOST / u)
        return (x < 0) == (y < 0) ? TW_ABI_MOST : -TW_ABI_MOST;
    return x * y;
}
static inline int64_t tw_abi_div(int64_t a, int64_t b) /* floor */
{
    if (b == 0)
        return 0;
    return tw_abi_clamp(a) / b - (tw_abi_clamp(a) % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t tw_abi_mod(int64_t a, int64_t b) /* has b's sign */
{
    return b == 0 ? 0 : tw_abi_clamp(a) - tw_abi_div(a, b) * b;
}
static inline int64_t tw_abi_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t tw_abi_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
#endif

/* Every entry's parameter space, byte for byte (without trailing padding). */
typedef struct attention_sm_86_args {
    /* Q fp16 (batch, q_heads, q_len, 128), read; device address of its first element */
    uint64_t Q;
    /* K fp16 (batch, kv_heads, kv_len, 128), read; device address of its first element */
    uint64_t K;
    /* V fp16 (batch, kv_heads, kv_len, 128), read; device address of its first element */
    uint64_t V;
    /* O fp16 (batch, q_heads, q_len, 128), written; device address of its first element */
    uint64_t O;
    /* strides of Q in elements, outermost first; the innermost is 1 */
    int64_t Q_stride0;
    int64_t Q_stride1;
    int64_t Q_stride2;
    /* strides of K in elements, outermost first; the innermost is 1 */
    int64_t K_stride0;
    int64_t K_stride1;
    int64_t K_stride2;
    /* strides of V in elements, outermost first; the innermost is 1 */
    int64_t V_stride0;
    int64_t V_stride1;
    int64_t V_stride2;
    /* strides of O in elements, outermost first; the innermost is 1 */
    int64_t O_stride0;
    int64_t O_stride1;
    int64_t O_stride2;
    /* dimension, 0 to 2147483647 */
    int32_t batch;
    /* dimension, 0 to 2147483647 */
    int32_t q_heads;
    /* dimension, 0 to 2147483647 */
    int32_t q_len;
    /* dimension, 0 to 2147483647 */
    int32_t kv_heads;
    /* dimension, 0 to 2147483647 */
    int32_t kv_len;
} attention_sm_86_args;

enum { ATTENTION_SM_86_KERNELS = 1, ATTENTION_SM_86_ARGUMENTS = 21, ATTENTION_SM_86_PARAM_BYTES = 148 };

typedef char attention_sm_86_is_packed[offsetof(attention_sm_86_args, kv_len) == 144 ? 1 : -1];

typedef struct attention_sm_86_launch {
    const char *entry;         /* name of the kernel in the PTX */
    unsigned int grid, threads; /* gridDim.x and blockDim.x; their other extents are 1 */
    unsigned int shared_bytes; /* dynamic shared memory */
    void *params[21];          /* kernelParams: they point into the attention_sm_86_args */
} attention_sm_86_launch;

/* The strides of tensors without gaps, once the dimensions are set. */
static inline void attention_sm_86_contiguous(attention_sm_86_args *args)
{
    args->O_stride2 = 128;
    args->O_stride1 = tw_abi_mul(args->O_stride2, (int64_t)args->q_len);
    args->O_stride0 = tw_abi_mul(args->O_stride1, (int64_t)args->q_heads);
    args->V_stride2 = 128;
    args->V_stride1 = tw_abi_mul(args->V_stride2, (int64_t)args->kv_len);
    args->V_stride0 = tw_abi_mul(args->V_stride1, (int64_t)args->kv_heads);
    args->K_stride2 = 128;
    args->K_stride1 = tw_abi_mul(args->K_stride2, (int64_t)args->kv_len);
    args->K_stride0 = tw_abi_mul(args->K_stride1, (int64_t)args->kv_heads);
    args->Q_stride2 = 128;
    args->Q_stride1 = tw_abi_mul(args->Q_stride2, (int64_t)args->q_len);
    args->Q_stride0 = tw_abi_mul(args->Q_stride1, (int64_t)args->q_heads);
    (void)args;
}

/* Bytes of Q without gaps. */
static inline int64_t attention_sm_86_bytes_Q(const attention_sm_86_args *args)
{
    int64_t bytes = 2;
    (void)args;
    bytes = tw_abi_mul(bytes, (int64_t)args->batch);
    bytes = tw_abi_mul(bytes, (int64_t)args->q_heads);
    bytes = tw_abi_mul(bytes, (int64_t)args->q_len);
    bytes = tw_abi_mul(bytes, 128);
    return bytes;
}

/* Bytes of K without gaps. */
static inline int64_t attention_sm_86_bytes_K(const attention_sm_86_args *args)
{
    int64_t bytes = 2;
    (void)args;
    bytes = tw_abi_mul(bytes, (int64_t)args->batch);
    bytes = tw_abi_mul(bytes, (int64_t)args->kv_heads);
    bytes = tw_abi_mul(bytes, (int64_t)args->kv_len);
    bytes = tw_abi_mul(bytes, 128);
    return bytes;
}

/* Bytes of V without gaps. */
static inline int64_t attention_sm_86_bytes_V(const attention_sm_86_args *args)
{
    int64_t bytes = 2;
    (void)args;
    bytes = tw_abi_mul(bytes, (int64_t)args->batch);
    bytes = tw_abi_mul(bytes, (int64_t)args->kv_heads);
    bytes = tw_abi_mul(bytes, (int64_t)args->kv_len);
    bytes = tw_abi_mul(bytes, 128);
    return bytes;
}

/* Bytes of O without gaps. */
static inline int64_t attention_sm_86_bytes_O(const attention_sm_86_args *args)
{
    int64_t bytes = 2;
    (void)args;
    bytes = tw_abi_mul(bytes, (int64_t)args->batch);
    bytes = tw_abi_mul(bytes, (int64_t)args->q_heads);
    bytes = tw_abi_mul(bytes, (int64_t)args->q_len);
    bytes = tw_abi_mul(bytes, 128);
    return bytes;
}

/* Whether the fast entries may be used: addresses and strides are multiples of what they want. */
static inline int attention_sm_86_aligned(const attention_sm_86_args *args)
{
    (void)args;
    return 1 &&
           args->Q % 16 == 0 &&
           args->K % 16 == 0 &&
           args->V % 16 == 0 &&
           args->O % 16 == 0 &&
           args->Q_stride0 % 8 == 0 &&
           args->Q_stride1 % 8 == 0 &&
           args->Q_stride2 % 8 == 0 &&
           args->K_stride0 % 8 == 0 &&
           args->K_stride1 % 8 == 0 &&
           args->K_stride2 % 8 == 0 &&
           args->V_stride0 % 8 == 0 &&
           args->V_stride1 % 8 == 0 &&
           args->V_stride2 % 8 == 0 &&
           args->O_stride0 % 8 == 0 &&
           args->O_stride1 % 8 == 0 &&
           args->O_stride2 % 8 == 0;
}

/* NULL, or why these arguments cannot be launched. */
static inline const char *attention_sm_86_check(const attention_sm_86_args *args)
{
    (void)args;
    if (args->Q % 2 != 0)
        return "the address of Q is not a multiple of its element's size";
    if (args->K % 2 != 0)
        return "the address of K is not a multiple of its element's size";
    if (args->V % 2 != 0)
        return "the address of V is not a multiple of its element's size";
    if (args->O % 2 != 0)
        return "the address of O is not a multiple of its element's size";
    if (args->Q_stride0 < 0)
        return "Q_stride0 is negative";
    if (args->Q_stride1 < 0)
        return "Q_stride1 is negative";
    if (args->Q_stride2 < 0)
        return "Q_stride2 is negative";
    if (args->K_stride0 < 0)
        return "K_stride0 is negative";
    if (args->K_stride1 < 0)
        return "K_stride1 is negative";
    if (args->K_stride2 < 0)
        return "K_stride2 is negative";
    if (args->V_stride0 < 0)
        return "V_stride0 is negative";
    if (args->V_stride1 < 0)
        return "V_stride1 is negative";
    if (args->V_stride2 < 0)
        return "V_stride2 is negative";
    if (args->O_stride0 < 0)
        return "O_stride0 is negative";
    if (args->O_stride1 < 0)
        return "O_stride1 is negative";
    if (args->O_stride2 < 0)
        return "O_stride2 is negative";
    if (args->batch < 0)
        return "batch is out of its range";
    if (args->q_heads < 0)
        return "q_heads is out of its range";
    if (args->q_len < 0)
        return "q_len is out of its range";
    if (args->kv_heads < 0)
        return "kv_heads is out of its range";
    if (args->kv_len < 0)
        return "kv_len is out of its range";
    if (!(((((int64_t)args->kv_heads * -1) + 1) <= 0)))
        return "q_heads must be a multiple of kv_heads";
    if (!((tw_abi_mod((int64_t)args->q_heads, (int64_t)args->kv_heads) == 0)))
        return "q_heads must be a multiple of kv_heads";
    return NULL;
}

/* All of one kernel's launch, from 0. NULL, or why it cannot be launched. */
static inline const char *attention_sm_86_prepare(int kernel, attention_sm_86_args *args, attention_sm_86_launch *launch)
{
    const char *error = attention_sm_86_check(args);
    int64_t blocks;
    if (error)
        return error;
    switch (kernel) {
    case 0:
        blocks = tw_abi_mul(tw_abi_mul((int64_t)args->batch, (int64_t)args->q_heads), tw_abi_div(((int64_t)args->q_len + 127), 128));
        launch->entry = attention_sm_86_aligned(args) ? "attention" : "attention_any";
        launch->threads = 256;
        launch->shared_bytes = 49152;
        break;
    default:
        return "there is no such kernel";
    }
    if (blocks < 0 || blocks > 2147483647)
        return "the grid has more than 2^31 - 1 blocks";
    launch->grid = (unsigned int)blocks;
    launch->params[0] = (void *)&args->Q;
    launch->params[1] = (void *)&args->K;
    launch->params[2] = (void *)&args->V;
    launch->params[3] = (void *)&args->O;
    launch->params[4] = (void *)&args->Q_stride0;
    launch->params[5] = (void *)&args->Q_stride1;
    launch->params[6] = (void *)&args->Q_stride2;
    launch->params[7] = (void *)&args->K_stride0;
    launch->params[8] = (void *)&args->K_stride1;
    launch->params[9] = (void *)&args->K_stride2;
    launch->params[10] = (void *)&args->V_stride0;
    launch->params[11] = (void *)&args->V_stride1;
    launch->params[12] = (void *)&args->V_stride2;
    launch->params[13] = (void *)&args->O_stride0;
    launch->params[14] = (void *)&args->O_stride1;
    launch->params[15] = (void *)&args->O_stride2;
    launch->params[16] = (void *)&args->batch;
    launch->params[17] = (void *)&args->q_heads;
    launch->params[18] = (void *)&args->q_len;
    launch->params[19] = (void *)&args->kv_heads;
    launch->params[20] = (void *)&args->kv_len;
    return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
