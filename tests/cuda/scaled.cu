// blocks = ceil(N / 128) * M * heads
// threads = 128
// shared = 0
#include <cuda_bf16.h>
__device__ void scaled_block(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, long long A_stride0, long long A_stride1, long long B_stride0, long long B_stride1, long long C_stride0, long long C_stride1, int heads, int M, int K, int groups, int N)
{
    int columns = (N + 127) / 128;
    int n = blockIdx.x % columns * 128 + threadIdx.x, m = blockIdx.x / columns % M, h = blockIdx.x / columns / M;
    int g = h / (heads / groups);
    float sum = 0;
    if (n >= N)
        return;
    for (int k = 0; k < K; k++)
        sum += __bfloat162float(A[h * A_stride0 + m * A_stride1 + k]) * __bfloat162float(B[g * B_stride0 + k * B_stride1 + n]);
    C[h * C_stride0 + m * C_stride1 + n] = __float2bfloat16(sum * 0.5f);
}
