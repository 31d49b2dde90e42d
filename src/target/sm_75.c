/* sm_75.c: T4, RTX 20 (Turing).
 *
 * CUDA C++ Programming Guide, "Technical specifications per compute capability",
 * column 7.5: 64 KB of shared memory, all of which a block may have, 32 warps.
 * Tensor cores take fp16 alone, in steps of k = 8 (PTX ISA, mma.m16n8k8), and
 * nothing is copied asynchronously. Whole-GPU figures are the T4's.
 */
#include "target/facts.h"

const Target target_sm_75 = {
    .name = "sm_75",
    .ptx_version = "7.0",
    .summary = "T4, RTX 20 (Turing)",

    .sms = 40,
    .shared_per_block = 64 * 1024,
    .shared_per_sm = 64 * 1024,
    .shared_reserved = 0,
    .regs_per_sm = 65536,
    .regs_per_thread = 255,
    .warps_per_sm = 32,
    .blocks_per_sm = 16,
    .l2_bytes = 4 * 1024 * 1024,

    .mma_macs = 512,
    .fp32_ops = 64,
    .exp_ops = 16,
    .shared_bytes = 64,
    .clock_ghz = 1.59,
    .dram_gbs = 320,
    .l2_gbs = 1270,

    .mma_m = 16,
    .mma_n = 8,
    .mma_k = 8,
    .operands = 1u << DT_F16,
    .has_ldmatrix = true,
};
