/* sm_89.c: L40, RTX 40 (Ada).
 *
 * CUDA C++ Programming Guide, column 8.9: the capacities of the graphics Ampere
 * parts with 24 blocks a multiprocessor and a far larger L2. Whole-GPU figures
 * are the L40's. fp8 in the tensor cores needs PTX ISA 8.4 (mma.m16n8k32).
 */
#include "target/facts.h"

const Target target_sm_89 = {
    .name = "sm_89",
    .ptx_version = "8.4",
    .summary = "L40, RTX 40 (Ada)",

    .sms = 142,
    .shared_per_block = 99 * 1024,
    .shared_per_sm = 100 * 1024,
    .shared_reserved = 1024,
    .regs_per_sm = 65536,
    .regs_per_thread = 255,
    .warps_per_sm = 48,
    .blocks_per_sm = 24,
    .l2_bytes = 96 * 1024 * 1024,

    .mma_macs = 256,
    .fp32_ops = 128,
    .exp_ops = 16,
    .shared_bytes = 128,
    .clock_ghz = 2.5,
    .dram_gbs = 864,
    .l2_gbs = 4500,

    .mma_m = 16,
    .mma_n = 8,
    .mma_k = 16,
    .operands = 1u << DT_F16 | 1u << DT_BF16 | 1u << DT_E4M3 | 1u << DT_E5M2,
    .has_mma_bytes = true,
    .has_cvt_pack = true,
    .has_cp_async = true,
    .has_ldmatrix = true,
};
