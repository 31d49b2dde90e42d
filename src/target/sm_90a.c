/* sm_90a.c: H100, H200 (Hopper).
 *
 * CUDA C++ Programming Guide, "Technical specifications per compute capability"
 * and "Throughput of native arithmetic instructions", column 9.0; whole-GPU
 * figures from NVIDIA's H200 data sheet, but for the clock, which is where the
 * power limit leaves it while the tensor cores are at work. The `a`: wgmma and
 * setmaxnreg are of this architecture alone (PTX ISA, ".target"), so its kernels
 * run on no newer GPU. The tensor cores' rate is that of wgmma; mma.sync, which
 * goes through the register file, gets about 0.6 of it. The L2 cache's rate is what a bf16
 * GEMM of 128 x 256 x 64 a turn was seen to read at (48 KB in 1,141 cycles); more was not tried. Operands of 8 bits are
 * for wgmma alone: of mma.m16n8k32 ptxas 13.0 makes conversions to fp16, products
 * of 16 bits and sums apart. Their conversions need PTX ISA 8.4 for bf16 beside
 * them, the others of sm_90a 8.0.
 */
#include "target/facts.h"

const Target target_sm_90a = {
    .name = "sm_90a",
    .ptx_version = "8.4",
    .summary = "H100, H200 (Hopper); its kernels run there alone",

    .sms = 132,
    .shared_per_block = 227 * 1024,
    .shared_per_sm = 228 * 1024,
    .shared_reserved = 1024,
    .regs_per_sm = 65536,
    .regs_per_thread = 255,
    .warps_per_sm = 64,
    .blocks_per_sm = 32,
    .l2_bytes = 50 * 1024 * 1024,

    .mma_macs = 2048,
    .fp32_ops = 128,
    .exp_ops = 16,
    .shared_bytes = 128,
    .clock_ghz = 1.6,
    .dram_gbs = 4800,
    .l2_gbs = 9100,

    .mma_m = 16,
    .mma_n = 8,
    .mma_k = 16,
    .operands = 1u << DT_F16 | 1u << DT_BF16 | 1u << DT_E4M3 | 1u << DT_E5M2,
    .has_cvt_pack = true,
    .has_cp_async = true,
    .has_ldmatrix = true,
    .has_tma = true,
    .cluster_blocks = 8,
    .has_wgmma = true,
};
