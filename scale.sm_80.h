/* scale.sm_80.h: launching scale (sm_80, bf16) from C or C++.
 *
 *   scale_sm_80_args args;
 *   scale_sm_80_launch launch;
 *   memset(&args, 0, sizeof args);
 *   args.X = (uint64_t)pointer;      and the other tensors, dimensions and parameters
 *   scale_sm_80_contiguous(&args);  or set the strides one by one
 *   for (int k = 0; k < SCALE_SM_80_KERNELS; k++) {
 *       const char *error = scale_sm_80_prepare(k, &args, &launch);
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
#ifndef SCALE_SM_80_H
#define SCALE_SM_80_H

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
typedef struct scale_sm_80_args {
    /* X bf16 (rows, cols), read; device address of its first element */
    uint64_t X;
    /* Y bf16 (rows, cols), written; device address of its first element */
    uint64_t Y;
    /* strides of X in elements, outermost first; the innermost is 1 */
    int64_t X_stride0;
    /* strides of Y in elements, outermost first; the innermost is 1 */
    int64_t Y_stride0;
    /* dimension, 0 to 2147483647 */
    int32_t rows;
    /* dimension, 0 to 2147483647 */
    int32_t cols;
} scale_sm_80_args;

enum { SCALE_SM_80_KERNELS = 1, SCALE_SM_80_ARGUMENTS = 6, SCALE_SM_80_PARAM_BYTES = 40 };

typedef char scale_sm_80_is_packed[offsetof(scale_sm_80_args, cols) == 36 ? 1 : -1];

typedef struct scale_sm_80_launch {
    const char *entry;         /* name of the kernel in the PTX */
    unsigned int grid, threads; /* gridDim.x and blockDim.x; their other extents are 1 */
    unsigned int shared_bytes; /* dynamic shared memory */
    void *params[6];          /* kernelParams: they point into the scale_sm_80_args */
} scale_sm_80_launch;

/* The strides of tensors without gaps, once the dimensions are set. */
static inline void scale_sm_80_contiguous(scale_sm_80_args *args)
{
    args->Y_stride0 = (int64_t)args->cols;
    args->X_stride0 = (int64_t)args->cols;
    (void)args;
}

/* Bytes of X without gaps. */
static inline int64_t scale_sm_80_bytes_X(const scale_sm_80_args *args)
{
    int64_t bytes = 2;
    (void)args;
    bytes = tw_abi_mul(bytes, (int64_t)args->rows);
    bytes = tw_abi_mul(bytes, (int64_t)args->cols);
    return bytes;
}

/* Bytes of Y without gaps. */
static inline int64_t scale_sm_80_bytes_Y(const scale_sm_80_args *args)
{
    int64_t bytes = 2;
    (void)args;
    bytes = tw_abi_mul(bytes, (int64_t)args->rows);
    bytes = tw_abi_mul(bytes, (int64_t)args->cols);
    return bytes;
}

/* Whether the fast entries may be used: addresses and strides are multiples of what they want. */
static inline int scale_sm_80_aligned(const scale_sm_80_args *args)
{
    (void)args;
    return 1 &&
           args->X % 16 == 0 &&
           args->Y % 16 == 0 &&
           args->X_stride0 % 8 == 0 &&
           args->Y_stride0 % 8 == 0;
}

/* NULL, or why these arguments cannot be launched. */
static inline const char *scale_sm_80_check(const scale_sm_80_args *args)
{
    (void)args;
    if (args->X % 2 != 0)
        return "the address of X is not a multiple of its element's size";
    if (args->Y % 2 != 0)
        return "the address of Y is not a multiple of its element's size";
    if (args->X_stride0 < 0)
        return "X_stride0 is negative";
    if (args->Y_stride0 < 0)
        return "Y_stride0 is negative";
    if (args->rows < 0)
        return "rows is out of its range";
    if (args->cols < 0)
        return "cols is out of its range";
    return NULL;
}

/* All of one kernel's launch, from 0. NULL, or why it cannot be launched. */
static inline const char *scale_sm_80_prepare(int kernel, scale_sm_80_args *args, scale_sm_80_launch *launch)
{
    const char *error = scale_sm_80_check(args);
    int64_t blocks, resident;
    int fast;
    if (error)
        return error;
    fast = scale_sm_80_aligned(args);
    (void)fast;
    switch (kernel) {
    case 0:
        if (!fast) {
            launch->entry = "scale_any";
            blocks = ((int64_t)args->rows * tw_abi_div(((int64_t)args->cols + 1023), 1024));
            resident = 0;
            launch->threads = 32;
            launch->shared_bytes = 0;
            break;
        }
        launch->entry = "scale";
        blocks = ((int64_t)args->rows * tw_abi_div(((int64_t)args->cols + 1023), 1024));
        resident = 0;
        launch->threads = 32;
        launch->shared_bytes = 0;
        break;
    default:
        return "there is no such kernel";
    }
    if (blocks < 0 || blocks > 2147483647)
        return "the grid has more than 2^31 - 1 blocks";
    if (resident > 0 && blocks > resident)
        blocks = resident;
    launch->grid = (unsigned int)blocks;
    launch->params[0] = (void *)&args->X;
    launch->params[1] = (void *)&args->Y;
    launch->params[2] = (void *)&args->X_stride0;
    launch->params[3] = (void *)&args->Y_stride0;
    launch->params[4] = (void *)&args->rows;
    launch->params[5] = (void *)&args->cols;
    return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
