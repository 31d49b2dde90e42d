/* hardware.c: what the target can do, in the words that a choice of sizes needs. */
#include "prompt/prompt.h"

static void put_capacities(Str *out, const Target *t)
{
    str_printf(out, "- A block may use %d bytes of shared memory (a multiprocessor has %d, and at most %d blocks and\n"
                    "  %d warps): all its shared tiles together, those that a loop streams once for each stage.\n",
               t->shared_per_block, t->shared_per_sm, t->blocks_per_sm, t->warps_per_sm);
    str_printf(out, "- A thread has %d registers of 4 bytes, a multiprocessor %d; a warp is 32 threads. All register\n"
                    "  tiles of a block must fit into those of its warps, with some to spare.\n",
               t->regs_per_thread, t->regs_per_sm);
    str_printf(out, "- %d multiprocessors; more blocks than that keep them busy. %lld MiB of L2 cache.\n", t->sms,
               (long long)(t->l2_bytes >> 20));
}

static void put_instructions(Str *out, const Target *t, Arena *arena)
{
    str_printf(out, "- Tensor cores multiply tiles of %d x %d x %d of %s, a warp at a time%s, and sum in fp32. Sizes of\n"
                    "  tiles are multiples of that.\n",
               t->mma_m, t->mma_n, t->mma_k, target_dtypes(arena, t),
               t->has_wgmma ? ", or 64 rows by four warps from shared memory" : "");
    str_printf(out, "- Copies from global to shared memory %s\n",
               t->has_tma        ? "are made by a unit of their own, whole tiles at a time, while warps compute."
               : t->has_cp_async ? "run while warps compute, if there are at least two stages."
                                 : "go through registers; two stages at most are of use.");
}

void prompt_hardware(Str *out, TlForm form, const Target *target, DType dtype)
{
    if (form == IN_DEFINITION)
        return;
    str_printf(out, "\n# The target %s, %s\n\n", target->name, target->summary);
    if (form == IN_SKETCH) {
        str_printf(out, "Tensors without a type are %s. Global memory is large and slow, shared memory is fast and belongs\n"
                        "to a block (%d bytes), registers to its threads. GEMM runs on tensor cores.\n",
                   dtype_name(dtype), target->shared_per_block);
        return;
    }
    put_capacities(out, target);
    put_instructions(out, target, out->arena);
}
