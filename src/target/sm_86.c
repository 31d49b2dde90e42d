/* sm_86.c: A10, RTX 30 (Ampere, graphics).
 *
 * CUDA C++ Programming Guide, column 8.6: two thirds of the data-centre part's
 * shared memory, 48 warps, twice its fp32 lanes, half its tensor-core rate with
 * fp32 accumulation. Whole-GPU figures are the RTX 3090's.
 */
#include "target/facts.h"

const Target target_sm_86 = {
    .name = "sm_86",
    .ptx_version = "7.1",
    .summary = "A10, RTX 30 (Ampere)",

    .sms = 82,
    .shared_per_block = 99 * 1024,
    .shared_per_sm = 100 * 1024,
    .shared_reserved = 1024,
    .regs_per_sm = 65536,
    .regs_per_thread = 255,
    .warps_per_sm = 48,
    .blocks_per_sm = 16,
    .l2_bytes = 6 * 1024 * 1024,

    .mma_macs = 256,
    .fp32_ops = 128,
    .exp_ops = 16,
    .shared_bytes = 128,
    .clock_ghz = 1.7,
    .dram_gbs = 936,
    .l2_gbs = 2300,

    .mma_m = 16,
    .mma_n = 8,
    .mma_k = 16,
    .operands = 1u << DT_F16 | 1u << DT_BF16,
    .has_cvt_pack = true,
    .has_cp_async = true,
    .has_ldmatrix = true,
};
