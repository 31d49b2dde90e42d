/* sm_80.c: A100 (Ampere, data centre).
 *
 * CUDA C++ Programming Guide, "Technical specifications per compute capability"
 * and "Throughput of native arithmetic instructions", column 8.0; whole-GPU
 * figures from NVIDIA's A100 data sheet (80 GB). L2 bandwidth is a little below
 * the 5120 bytes a clock that its slices deliver.
 */
#include "target/facts.h"

const Target target_sm_80 = {
    .name = "sm_80",
    .ptx_version = "7.0",
    .summary = "A100 (Ampere); its kernels also run on newer GPUs",

    .sms = 108,
    .shared_per_block = 163 * 1024,
    .shared_per_sm = 164 * 1024,
    .shared_reserved = 1024,
    .regs_per_sm = 65536,
    .regs_per_thread = 255,
    .warps_per_sm = 64,
    .blocks_per_sm = 32,
    .l2_bytes = 40 * 1024 * 1024,

    .mma_macs = 1024,
    .fp32_ops = 64,
    .exp_ops = 16,
    .shared_bytes = 128,
    .clock_ghz = 1.41,
    .dram_gbs = 2039,
    .l2_gbs = 6400,

    .mma_m = 16,
    .mma_n = 8,
    .mma_k = 16,
    .operands = 1u << DT_F16 | 1u << DT_BF16,
    .has_cvt_pack = true,
    .has_cp_async = true,
    .has_ldmatrix = true,
};
