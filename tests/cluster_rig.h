/* cluster_rig.h: runs entries whose blocks form clusters in the emulator, for test_emu_cluster*.c.
 *
 * HEAD(directives) gives an entry's first lines: %r1 the thread, %r2 the rank, %r3 how many
 * there are, %r4 the block's own 4 KB of shared memory `sm`, %rd1 and %rd2 the buffers `in` and
 * `out`, %rd4 and %rd5 the thread's word of each, by blocks of as many threads as are launched.
 * A line that a fault must name ends in "//!".
 */
#ifndef CLUSTER_RIG_H
#define CLUSTER_RIG_H

#include "emu_rig.h"

#define HEAD(directives)                                                                             \
    ".version 8.0\n.target sm_90a\n.address_size 64\n"                                               \
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n" directives "\n{\n"         \
    ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<99>; .reg .b64 %rd<40>; .reg .f32 %f<40>;\n"  \
    ".shared .align 128 .b8 sm[4096];\n"                                                             \
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank;\n" \
    "mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, sm; mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x;\n" \
    "mad.lo.u32 %r7, %r5, %r6, %r1; mul.wide.u32 %rd3, %r7, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n"
#define CLUSTER(n) ".explicitcluster\n.reqnctapercluster " #n ", 1, 1\n.maxntid 256, 1, 1"
#define SYNC "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"

enum { WORDS = 4096 };

/* Runs a text over words of `in`; false when it faulted. */
static inline bool cluster_run(Rig *rig, const char *text, const uint32_t *in, uint32_t *out)
{
    struct { uint64_t in, out; uint32_t n; } params;
    EmuModule *module = rig_parse_text(rig, text, strlen(text));
    EmuMemory *memory = emu_memory_new(rig->arena);
    uint32_t *copy = arena_array(rig->arena, uint32_t, WORDS);

    if (!module) {
        diags_print(rig->diags, stderr, false);
        fail_msg("the text does not parse");
    }
    memcpy(copy, in, WORDS * sizeof *in);
    params.in = emu_memory_add(memory, "in", copy, WORDS * sizeof *in, true, true, 0);
    params.out = emu_memory_add(memory, "out", out, WORDS * sizeof *out, rig->out_initialised, false, 0);
    params.n = WORDS;
    rig->launch.params = &params;
    rig->launch.param_bytes = 20;
    return emu_run(rig->arena, module, 0, memory, &rig->launch, &rig->report);
}

#endif
