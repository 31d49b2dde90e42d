/* test_emu_faults.c: what the emulator notices; what flags and barriers of some lanes order has a file of its own. */
#include "emu_cases.h"

#define COPY_WORD SHARED_WORD "cp.async.ca.shared.global [%r4], [%rd4], 4;\n"

/* Block 0 leaves a word and says so, block 1 waits for that. */
#define FLAG(store)                                                                      \
    "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 exit; setp.ne.u32 %p2, %r2, 0; @%p2 bra B;\n" \
    "st.global.u32 [%rd2+64], 7; " store " bra E;\n"                                    \
    "B: ld.acquire.gpu.global.u32 %r3, [%rd2]; setp.eq.u32 %p3, %r3, 0; @%p3 bra B;\nld.global.u32 %r4, [%rd2+64]; //!\nE:"

#define MANY_EPOCHS                                                                      \
    SHARED_WORD "setp.ge.u32 %p1, %r1, 64; @%p1 bra OUT;\nmov.u32 %r10, 0; mov.u32 %r14, 0;\n" \
    "L: st.shared.u32 [%r4+256], %r10; bar.sync 1, 64; ld.shared.u32 %r11, [%r5+256]; bar.sync 1, 64;\n" \
    "and.b32 %r12, %r10, 255; mad.lo.u32 %r13, %r12, 4, %r2; setp.eq.u32 %p3, %r1, 40;\n" \
    "@%p3 st.shared.u32 [%r13+2048], %r10;\n" \
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 6000; @%p2 bra L;\n"                 \
    "st.shared.u32 [%r4+4096], %r1; //!\n"

static const Case cases[] = {
    { "global read past the end", EMU_OUT_OF_BOUNDS,
      "ld.global.u32 %r2, [%rd4+4];\nld.global.u32 %r2, [%rd4+16384]; //!\nst.global.u32 [%rd5], %r2;",
      "ld.global.u32 %r2, [%rd4+4]; st.global.u32 [%rd5], %r2;", 0, 0, false, false, 0 },
    { "global write before the start", EMU_OUT_OF_BOUNDS, "st.global.u32 [%rd2+-4], 1; //!", "st.global.u32 [%rd5], 1;",
      0, 0, false, false, 0 },
    { "vector straddles the end", EMU_OUT_OF_BOUNDS,
      "st.global.v4.b32 [%rd2+4096], {%r1,%r1,%r1,%r1}; //!",
      "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.v4.b32 [%rd2+4080], {%r1,%r1,%r1,%r1};", 0, 0, false, false, 0 },
    { "shared access past the end", EMU_OUT_OF_BOUNDS, "st.shared.u32 [sm+16384], %r1; //!",
      "setp.eq.u32 %p1, %r1, 5; @%p1 st.shared.u32 [sm+16380], %r1;", 0, 0, false, false, 0 },
    { "cp.async past the end of its source", EMU_OUT_OF_BOUNDS,
      "mul.wide.u32 %rd6, %r1, 16; add.u64 %rd6, %rd6, %rd1; mad.lo.u32 %r2, %r1, 16, 0; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3;\n"
      "cp.async.cg.shared.global [%r2], [%rd6+4080], 16; //!\ncp.async.wait_all;",
      "mul.wide.u32 %rd6, %r1, 16; add.u64 %rd6, %rd6, %rd1; mad.lo.u32 %r2, %r1, 16, 0; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3;\n"
      "setp.eq.u32 %p1, %r1, 0; selp.u32 %r4, 16, 0, %p1;\n"
      "cp.async.cg.shared.global [%r2], [%rd6+4080], 16, %r4;\ncp.async.wait_all;", 0, 0, false, false, 0 },
    { "misaligned global vector", EMU_MISALIGNED, "ld.global.v2.b32 {%r2,%r3}, [%rd1+4]; //!",
      "ld.global.v2.b32 {%r2,%r3}, [%rd1+8];", 0, 0, false, false, 0 },
    { "misaligned shared", EMU_MISALIGNED, "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.v4.b32 [sm+8], {%r1,%r1,%r1,%r1}; //!",
      "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.v4.b32 [sm+16], {%r1,%r1,%r1,%r1};", 0, 0, false, false, 0 },
    { "register never written", EMU_UNINITIALISED, "add.u32 %r3, %r2, 1; //!\nst.global.u32 [%rd5], %r3;",
      "mov.u32 %r2, 1; add.u32 %r3, %r2, 1; st.global.u32 [%rd5], %r3;", 0, 0, false, false, 0 },
    { "register written by some lanes", EMU_UNINITIALISED,
      "setp.lt.u32 %p1, %r1, 10;\n@%p1 mov.u32 %r2, 1;\nst.global.u32 [%rd5], %r2; //!",
      "setp.lt.u32 %p1, %r1, 10; mov.u32 %r2, 0;\n@%p1 mov.u32 %r2, 1;\nst.global.u32 [%rd5], %r2;", 0, 0, false,
      false, 0 },
    { "predicate never written", EMU_UNINITIALISED, "@%p1 st.global.u32 [%rd5], 1; //!",
      "setp.eq.u32 %p1, 0, 0; @%p1 st.global.u32 [%rd5], 1;", 0, 0, false, false, 0 },
    { "shared memory never written", EMU_UNINITIALISED,
      SHARED_WORD "ld.shared.u32 %r6, [%r4]; //!\nst.global.u32 [%rd5], %r6;",
      SHARED_WORD "st.shared.u32 [%r4], 1; ld.shared.u32 %r6, [%r4]; st.global.u32 [%rd5], %r6;", 0, 0, false,
      false, 0 },
    { "local memory never written", EMU_UNINITIALISED,
      "st.local.u32 [loc+4], 1; mov.u32 %r2, loc;\nld.local.v2.u32 {%r3, %r4}, [%r2]; //!\nst.global.u32 [%rd5], %r3;",
      "st.local.u32 [loc+4], 1; st.local.u32 [loc], 2; mov.u32 %r2, loc;\nld.local.v2.u32 {%r3, %r4}, [%r2];\nst.global.u32 [%rd5], %r3;", 0, 0, false,
      false, 0 },
    { "output read before it is written", EMU_UNINITIALISED, "ld.global.u32 %r2, [%rd5]; //!",
      "st.global.u32 [%rd5], 1; ld.global.u32 %r2, [%rd5];", 0, 0, false, false, 0 },
    { "write to an input", EMU_READ_ONLY, "st.global.u32 [%rd4], 1; //!", "st.global.u32 [%rd5], 1;", 0, 0, false,
      false, 0 },
    { "missing barrier: write, then another warp reads", EMU_RACE,
      SHARED_WORD "st.shared.u32 [%r4], %r1; //!\nld.shared.u32 %r6, [%r5]; //!\nst.global.u32 [%rd5], %r6;",
      SHARED_WORD "st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r5]; st.global.u32 [%rd5], %r6;",
      0, 0, false, false, 0 },
    { "missing barrier: read, then another warp writes", EMU_RACE,
      SHARED_WORD "st.shared.u32 [%r4], %r1; bar.sync 0;\nld.shared.u32 %r6, [%r5]; //!\nst.shared.u32 [%r4], 5; //!",
      SHARED_WORD "st.shared.u32 [%r4], %r1; bar.sync 0; ld.shared.u32 %r6, [%r5];\nbar.sync 0; st.shared.u32 [%r4], 5;",
      0, 0, false, false, 0 },
    { "two warps write one place", EMU_RACE, "shr.u32 %r2, %r1, 5;\nst.shared.u32 [sm], %r2; //!",
      "st.shared.u32 [sm], 5;", 0, 0, false, false, 0 },
    { "two warps write the same, and one reads it", EMU_RACE, "st.shared.u32 [sm], 5; //!\nld.shared.u32 %r2, [sm]; //!",
      "st.shared.u32 [sm], 5;\nbar.sync 0; ld.shared.u32 %r2, [sm];", 0, 0, false, false, 0 },
    { "lanes write different values to one place", EMU_RACE,
      "setp.lt.u32 %p1, %r1, 32;\n@%p1 st.shared.u32 [sm], %r1; //!",
      "setp.lt.u32 %p1, %r1, 32;\n@%p1 st.shared.u32 [sm], 3;", 0, 0, false, false, 0 },
    { "a barrier of too few warps does not order the rest", EMU_RACE,
      SHARED_WORD "st.shared.u32 [%r4], %r1; setp.lt.u32 %p1, %r1, 64; @!%p1 bra OUT; //!\nbar.sync 1, 64;\n"
      "xor.b32 %r6, %r3, 256; add.u32 %r6, %r6, %r2;\nld.shared.u32 %r7, [%r6]; //!\nOUT:",
      SHARED_WORD "st.shared.u32 [%r4], %r1; setp.lt.u32 %p1, %r1, 64; @!%p1 bra OTHERS;\nbar.sync 1, 128;\n"
      "xor.b32 %r6, %r3, 256; add.u32 %r6, %r6, %r2;\nld.shared.u32 %r7, [%r6]; bra OUT;\nOTHERS: bar.arrive 1, 128;\nOUT:",
      128, 0, false, false, 0 },
    /* very many epochs between two of three warps: no barrier of all forgets them */
    { "after very many partial barriers", EMU_RACE, MANY_EPOCHS "ld.shared.u32 %r7, [%r5+4096]; //!\nOUT:",
      MANY_EPOCHS "bar.sync 1, 64; ld.shared.u32 %r7, [%r5+4096];\nOUT:", 96, 0, false, false, 0 },
    { "threads write one global place", EMU_RACE, "st.global.u32 [%rd2], %r1; //!",
      "setp.eq.u32 %p1, %r1, 9; @%p1 st.global.u32 [%rd2], %r1;", 0, 0, false, false, 0 },
    { "blocks write one global place", EMU_RACE, "mov.u32 %r2, %ctaid.x;\nst.global.u32 [%rd5], %r2; //!",
      "mov.u32 %r2, %ctaid.x; mad.wide.u32 %rd5, %r2, 256, %rd5; st.global.u32 [%rd5], 5;", 0, 3, false, false, 0 },
    { "another warp's global write is read", EMU_RACE,
      "st.global.u32 [%rd5], 5;\nxor.b32 %r2, %r1, 32; mad.wide.u32 %rd6, %r2, 4, %rd2;\nld.global.u32 %r3, [%rd6]; //!",
      "st.global.u32 [%rd5], 5;\nxor.b32 %r2, %r1, 32; mad.wide.u32 %rd6, %r2, 4, %rd2;\nbar.sync 0; ld.global.u32 %r3, [%rd6];",
      0, 0, false, true, 0 },
    { "the last block sums up, without a fence", EMU_RACE,
      "mov.u32 %r2, %ctaid.x; mad.wide.u32 %rd6, %r2, 4, %rd2; setp.ne.u32 %p1, %r1, 0; @%p1 exit;\n"
      "st.global.u32 [%rd6+8], 5;\natom.global.add.u32 %r3, [%rd2], 1;\n"
      "setp.ne.u32 %p2, %r3, 2; @%p2 exit;\nld.global.v2.u32 {%r4,%r5}, [%rd2+8]; //!",
      "mov.u32 %r2, %ctaid.x; mad.wide.u32 %rd6, %r2, 4, %rd2; setp.ne.u32 %p1, %r1, 0; @%p1 exit;\n"
      "st.global.u32 [%rd6+8], 5;\nmembar.gl; atom.global.add.u32 %r3, [%rd2], 1;\n"
      "setp.ne.u32 %p2, %r3, 2; @%p2 exit;\nmembar.gl; ld.global.v2.u32 {%r4,%r5}, [%rd2+8];", 0, 3, false, true, 0 },
    { "a lane reads what another lane of its warp wrote", EMU_RACE,
      LANE_WORD "st.shared.u32 [%r4], %r1;\nld.shared.u32 %r7, [%r6]; //!\nst.global.u32 [%rd5], %r7;",
      LANE_WORD "st.shared.u32 [%r4], %r1;\nbar.warp.sync -1; ld.shared.u32 %r7, [%r6]; st.global.u32 [%rd5], %r7;", 32, 0, false, false, 0 },
    { "a shuffle orders no memory", EMU_RACE,
      LANE_WORD "st.shared.u32 [%r4], %r1; shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;\nld.shared.u32 %r7, [%r6]; //!",
      LANE_WORD "st.shared.u32 [%r4], %r1; shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;\nbar.sync 0; ld.shared.u32 %r7, [%r6];", 32, 0, false, false, 0 },
    { "a lane overwrites what another lane of its warp reads", EMU_RACE,
      LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync -1; ld.shared.u32 %r7, [%r6];\nst.shared.u32 [%r4], %r7; //!",
      LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync -1; ld.shared.u32 %r7, [%r6]; bar.warp.sync -1;\nst.shared.u32 [%r4], %r7;", 32, 0, false, false, 0 },
    { "lanes that went another way read what the others wrote", EMU_RACE,
      LANE_WORD "setp.lt.u32 %p1, %r1, 16; @%p1 st.shared.u32 [%r4], %r1; @%p1 bra X;\nld.shared.u32 %r7, [%r4+-64]; //!\nX:",
      LANE_WORD "setp.lt.u32 %p1, %r1, 16; @%p1 st.shared.u32 [%r4], %r1; bar.warp.sync -1; @%p1 bra X;\nld.shared.u32 %r7, [%r4+-64];\nX:", 32, 0, false, false, 0 },
    { "ldmatrix reads what the lanes just stored", EMU_RACE,
      LANE_WORD "st.shared.u32 [%r4], %r1;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r2]; //!",
      LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync -1;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r2]; st.shared.u32 [%r4], %r7;", 32, 0, false, false, 0 },
    { "lanes read what stmatrix just stored", EMU_RACE,
      "mov.u32 %r2, sm; shl.b32 %r3, %r1, 4; add.u32 %r3, %r3, %r2; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {%r1,%r1,%r1,%r1};\n"
      "ld.shared.u32 %r7, [%r3]; //!",
      "mov.u32 %r2, sm; shl.b32 %r3, %r1, 4; add.u32 %r3, %r3, %r2; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {%r1,%r1,%r1,%r1};\n"
      "bar.warp.sync -1; ld.shared.u32 %r7, [%r3];", 32, 0, false, false, 0 },
    { "a lane reads what others of its warp change atomically", EMU_RACE,
      LANE_WORD "st.shared.u32 [%r4], 0; bar.warp.sync -1; red.shared.add.u32 [%r2], 1;\nld.shared.u32 %r7, [%r2]; //!",
      LANE_WORD "st.shared.u32 [%r4], 0; bar.warp.sync -1; red.shared.add.u32 [%r2], 1; red.shared.add.u32 [%r2], 1; bar.warp.sync -1;\n"
      "ld.shared.u32 %r7, [%r2];", 32, 0, false, false, 0 },
    { "cp.async overwrites what another lane of its warp may still read", EMU_ASYNC_RACE,
      LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync -1; ld.shared.u32 %r7, [%r6];\n"
      "cp.async.ca.shared.global [%r4], [%rd4], 4; //!\ncp.async.wait_all;",
      LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync -1; ld.shared.u32 %r7, [%r6]; bar.warp.sync -1;\n"
      "cp.async.ca.shared.global [%r4], [%rd4], 4;\ncp.async.wait_all;", 32, 0, false, false, 0 },
    { "another lane's global write is read", EMU_RACE,
      "st.global.u32 [%rd5], 5; xor.b32 %r2, %r1, 1; mad.wide.u32 %rd6, %r2, 4, %rd2;\nld.global.u32 %r3, [%rd6]; //!",
      "st.global.u32 [%rd5], 5; xor.b32 %r2, %r1, 1; mad.wide.u32 %rd6, %r2, 4, %rd2; bar.warp.sync -1;\nld.global.u32 %r3, [%rd6];", 32, 0, false, true, 0 },
    { "a block overwrites what another reads", EMU_RACE,
      "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 1; @!%p1 ld.global.u32 %r3, [%rd5];\n@%p1 st.global.u32 [%rd5], 5; //!",
      "mov.u32 %r2, %ctaid.x; mad.wide.u32 %rd5, %r2, 256, %rd5; ld.global.u32 %r3, [%rd5]; add.u32 %r3, %r3, 1;\nst.global.u32 [%rd5], %r3;", 0, 2, false, true, 0 },
    { "warps overwrite what many read", EMU_RACE,
      "ld.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r1, 70;\n@%p1 st.global.u32 [%rd2], 5; //!",
      "ld.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r1, 70; bar.sync 0;\n@%p1 st.global.u32 [%rd2], 5;", 128, 0, false, true, 0 },
    { "a block stores to what another changes atomically", EMU_RACE,
      "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 1; @!%p1 red.global.add.u32 [%rd5], 1;\n@%p1 st.global.u32 [%rd5], 5; //!",
      "red.global.add.u32 [%rd5], 1;", 0, 2, false, true, 0 },
    { "a block changes atomically what another stores to", EMU_RACE,
      "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u32 [%rd5], 5;\n@!%p1 red.global.add.u32 [%rd5], 1; //!",
      "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; @%p1 st.relaxed.gpu.global.u32 [%rd5], 5;\n@!%p1 red.global.add.u32 [%rd5], 1;", 0, 2, false, true, 0 },
    { "a block reads what another changes atomically", EMU_RACE,
      "red.global.add.u32 [%rd2], 1; bar.sync 0; //!\nld.global.u32 %r2, [%rd2]; //!",
      "red.global.add.u32 [%rd2], 1; bar.sync 0;\nld.volatile.global.u32 %r2, [%rd2]; ld.relaxed.gpu.global.u32 %r2, [%rd2];", 0, 2, false, true, 0 },
    { "a flag in global memory, without release", EMU_RACE,
      FLAG("st.relaxed.gpu.global.u32 [%rd2], 1;"), FLAG("st.release.gpu.global.u32 [%rd2], 1;"), 32, 2, false, true, 0 },
    { "cp.async read without waiting", EMU_ASYNC_RACE,
      COPY_WORD "cp.async.commit_group;\nld.shared.u32 %r6, [%r4]; //!\ncp.async.wait_group 0;",
      COPY_WORD "cp.async.commit_group;\ncp.async.wait_group 0; ld.shared.u32 %r6, [%r4];", 0, 0, false, false, 0 },
    { "cp.async: the wait leaves one group too many", EMU_ASYNC_RACE,
      COPY_WORD "cp.async.commit_group;\ncp.async.wait_group 1; bar.sync 0;\nld.shared.u32 %r6, [%r5]; //!\ncp.async.wait_all;",
      COPY_WORD "cp.async.commit_group;\ncp.async.wait_group 0; bar.sync 0;\nld.shared.u32 %r6, [%r5];", 0, 0, false,
      false, 0 },
    { "cp.async: the copy was not committed", EMU_ASYNC_RACE,
      COPY_WORD "cp.async.wait_group 0; bar.sync 0;\nld.shared.u32 %r6, [%r5]; //!\ncp.async.wait_all;",
      COPY_WORD "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\nld.shared.u32 %r6, [%r5];", 0, 0, false,
      false, 0 },
    { "cp.async: no barrier after the wait", EMU_ASYNC_RACE,
      COPY_WORD "cp.async.wait_all;\nxor.b32 %r6, %r3, 4; add.u32 %r6, %r6, %r2;\nld.shared.u32 %r7, [%r6]; //!",
      COPY_WORD "cp.async.wait_all;\nxor.b32 %r6, %r3, 4; add.u32 %r6, %r6, %r2;\nbar.warp.sync -1; ld.shared.u32 %r7, [%r6];",
      0, 0, false, false, 0 },
    { "cp.async: the barrier stands before the wait", EMU_ASYNC_RACE,
      COPY_WORD "bar.sync 0; cp.async.wait_all;\nld.shared.u32 %r6, [%r5]; //!",
      COPY_WORD "cp.async.wait_all; bar.sync 0;\nld.shared.u32 %r6, [%r5];", 0, 0, false, false, 0 },
    { "cp.async overwrites what another warp may still read", EMU_ASYNC_RACE,
      COPY_WORD "cp.async.wait_all; bar.sync 0;\nld.shared.u32 %r6, [%r5]; //!\n"
      "cp.async.ca.shared.global [%r4], [%rd4], 4; //!\ncp.async.wait_all;",
      COPY_WORD "cp.async.wait_all; bar.sync 0;\nld.shared.u32 %r6, [%r5];\nbar.sync 0;\n"
      "cp.async.ca.shared.global [%r4], [%rd4], 4;\ncp.async.wait_all;", 0, 0, false, false, 0 },
    { "write to what a cp.async will write", EMU_ASYNC_RACE,
      COPY_WORD "st.shared.u32 [%r4], 1; //!\ncp.async.wait_all;", COPY_WORD "cp.async.wait_all; st.shared.u32 [%r4], 1;",
      0, 0, false, false, 0 },
    { "two cp.async to one place", EMU_ASYNC_RACE,
      COPY_WORD "cp.async.ca.shared.global [%r4], [%rd4+4], 4; //!\ncp.async.wait_all;",
      COPY_WORD "cp.async.wait_all; cp.async.ca.shared.global [%r4], [%rd4+4], 4; cp.async.wait_all;", 0, 0, false,
      false, 0 },
    { "barrier in a branch that part of a warp takes", EMU_DIVERGENT,
      "setp.lt.u32 %p1, %r1, 16; @%p1 bra SKIP;\nbar.sync 0; //!\nSKIP:",
      "setp.lt.u32 %p1, %r1, 32; @%p1 bra SKIP;\nbar.sync 0, 32;\nSKIP:", 64, 0, false, false, 0 },
    { "lanes that come apart wait at different barriers", EMU_DEADLOCK,
      "setp.lt.u32 %p1, %r1, 40; @%p1 bra A;\nbarrier.sync 1; bra E;\nA: barrier.sync 2; //!\nE:",
      "setp.lt.u32 %p1, %r1, 40; @%p1 bra A;\nbarrier.sync 1; bra E;\nA: barrier.sync 1;\nE:", 64, 0, false, false, 0 },
    { "lanes that come apart, without the barrier between", EMU_RACE,
      LANE_WORD "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\nst.shared.u32 [%r4], %r1; bra E;\nA: ld.shared.u32 %r7, [%r4+64]; //!\nE: barrier.sync 1;",
      LANE_WORD "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\nst.shared.u32 [%r4], %r1; barrier.sync 1; bra E;\n"
      "A: barrier.sync 1; ld.shared.u32 %r7, [%r4+64];\nE: bar.sync 0; barrier.sync 1;", 32, 0, false, false, 0 },
    { "a warp exits where another waits; lanes may", EMU_DEADLOCK,
      "setp.ge.u32 %p1, %r1, 32; @%p1 exit;\nbarrier.sync 1; //!",
      "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\nbarrier.sync 1; bra E;\nA: exit;\nE:", 64, 0, false, false, 0 },
    { "ldmatrix by part of a warp", EMU_DIVERGENT,
      SHARED_WORD "st.shared.v4.b32 [%r2], {0,0,0,0}; setp.lt.u32 %p1, %r1, 16;\n"
      "@%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r2]; //!",
      SHARED_WORD "st.shared.v4.b32 [%r2], {0,0,0,0}; bar.warp.sync -1;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r2];", 32, 0,
      false, false, 0 },
    { "shuffle whose mask names absent lanes", EMU_DIVERGENT,
      "setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; //!",
      "setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffff;", 32, 0, false, false, 0 },
    { "a branch called uniform is not", EMU_DIVERGENT, "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra.uni L; //!\nL:",
      "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra L;\nL:", 32, 0, false, false, 0 },
    { "a warp never arrives", EMU_DEADLOCK, "setp.lt.u32 %p1, %r1, 32; @%p1 exit;\nbar.sync 0; //!",
      "bar.sync 0; setp.lt.u32 %p1, %r1, 32; @%p1 exit;", 0, 0, false, false, 0 },
    { "two warps wait for each other's barrier", EMU_DEADLOCK,
      "setp.lt.u32 %p1, %r1, 32; @%p1 bra FIRST;\nbar.sync 2, 64; bar.sync 1, 64; bra OUT;\n"
      "FIRST: bar.sync 1, 64; bar.sync 2, 64; //!\nOUT:",
      "setp.lt.u32 %p1, %r1, 32; @%p1 bra FIRST;\nbar.sync 1, 64; bar.sync 2, 64; bra OUT;\n"
      "FIRST: bar.sync 1, 64; bar.sync 2, 64;\nOUT:", 0, 0, false, false, 0 },
    { "warps disagree on a barrier's count", EMU_BARRIER,
      "setp.lt.u32 %p1, %r1, 32; selp.u32 %r2, 64, 96, %p1;\nbar.sync 1, %r2; //!",
      "mov.u32 %r2, 64; bar.sync 1, %r2;", 64, 0, false, false, 0 },
    { "a count that is no multiple of the warp's size", EMU_BARRIER, "bar.sync 1, 48; //!", "bar.sync 1, 64;", 0, 0,
      false, false, 0 },
    { "there is no such barrier", EMU_BARRIER, "bar.sync 16; //!", "bar.sync 15;", 0, 0, false, false, 0 },
    { "a loop without end", EMU_INSTRUCTION_LIMIT, "mov.u32 %r2, 0;\nL: bra L; //!",
      "mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 10; @%p1 bra L;", 0, 0, false, false, 1000 },
    { "nothing but jumps, whatever the limit", EMU_INSTRUCTION_LIMIT, "mov.u32 %r2, 0;\nL: bra L; //!",
      "mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 10; @%p1 bra L;", 0, 0, false, false, 0 },
    { "trap", EMU_TRAP, "setp.eq.u32 %p1, %r1, 3;\n@%p1 trap; //!", "setp.eq.u32 %p1, %r1, 99; @%p1 trap;", 0, 0,
      false, false, 0 },
};

static void test_planted_faults(void **state)
{
    bool seen[EMU_FAULT_KINDS] = { false };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++)
        seen[cases[i].kind] = true;
    check_cases(cases, TW_COUNT(cases));
    seen[EMU_LAUNCH] = true; /* test_bad_launch */
    seen[EMU_PROXY] = seen[EMU_IN_FLIGHT] = seen[EMU_TRANSACTION] = seen[EMU_REGISTERS] = true; /* test_emu_async_faults.c */
    for (int i = 0; i < EMU_FAULT_KINDS; i++) {
        if (!seen[i])
            fail_msg("no case for '%s'", emu_fault_name((EmuFaultKind)i));
    }
}

/* Without checks races and initialisation are not looked at; bounds are. */
static void test_no_checks(void **state)
{
    static const char *const body = SHARED_WORD
        "ld.shared.u32 %r6, [%r5]; add.u32 %r7, %r6, %r50; st.shared.u32 [%r4], %r1; st.global.u32 [%rd5], %r1;";
    uint32_t in[64] = { 0 }, out[64];

    (void)state;
    for (int blind = 0; blind < 2; blind++) {
        Rig rig;

        rig_open(&rig);
        rig.launch.no_checks = blind;
        rig.launch.block[0] = 64;
        assert_int_equal(rig_run(&rig, body, in, sizeof in, out, sizeof out), blind);
        assert_int_equal(out[63], 63);
        assert_false(rig_run(&rig, "ld.global.u32 %r2, [%rd5+256];", in, sizeof in, out, sizeof out));
        rig_close(&rig);
    }
}

/* One warp's loop without an end is found, however much the others do and all may. */
static void test_limit_of_warp(void **state)
{
    uint32_t in = 0, out = 0;

    (void)state;
    for (int forever = 0; forever < 2; forever++) {
        Rig rig;

        rig_open(&rig);
        rig.launch.block[0] = 128;
        rig.launch.max_of_warp = 10000;
        assert_int_equal(!forever, rig_run(&rig, forever ? "mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 96; @%p1 exit;\nL: add.u32 %r2, %r2, 1; bra L; //!"
                                                         : "mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 3000; @%p1 bra L;",
                                           &in, 4, &out, 4));
        if (forever)
            assert_int_equal(rig.report.faults[0].kind, EMU_INSTRUCTION_LIMIT);
        rig_close(&rig);
    }
}

static void test_bad_launch(void **state)
{
    static const int blocks[][3] = { { 0, 1, 1 }, { 1025, 1, 1 }, { 1024, 2, 1 }, { -5, 1, 1 },
                                     { 1 << 30, 1 << 30, 1 << 30 } };
    uint32_t in = 0, out = 0;

    (void)state;
    for (size_t i = 0; i < TW_COUNT(blocks); i++) {
        Rig rig;

        rig_open(&rig);
        memcpy(rig.launch.block, blocks[i], sizeof blocks[i]);
        assert_false(rig_run(&rig, "bar.sync 0;", &in, 4, &out, 4));
        assert_int_equal(rig.report.faults[0].kind, EMU_LAUNCH);
        rig_close(&rig);
    }
}

/* Parameters that the launch does not give. */
static void test_short_params(void **state)
{
    EmuModule *module;
    EmuMemory *memory;
    Rig rig;

    (void)state;
    rig_open(&rig);
    module = rig_parse(&rig, "");
    memory = emu_memory_new(rig.arena);
    rig.launch.params = "12345678";
    rig.launch.param_bytes = 8;
    assert_false(emu_run(rig.arena, module, 0, memory, &rig.launch, &rig.report));
    assert_int_equal(rig.report.faults[0].kind, EMU_OUT_OF_BOUNDS);
    rig_close(&rig);
}

/* ---- text that is wrong ---------------------------------------------------------- */

static void check_rejected(const char *body, const char *code, int line_in_body)
{
    Rig rig;
    int line, column, first = rig_marked_line("//!");

    rig_open(&rig);
    assert_null(rig_parse(&rig, body));
    assert_true(rig.diags->list.len > 0);
    if (strcmp(diag_info(rig.diags->list.data[0].code)->name, code) != 0) {
        print_error("%s\n", body);
        diags_print(rig.diags, stderr, false);
    }
    assert_string_equal(diag_info(rig.diags->list.data[0].code)->name, code);
    source_place(rig.diags->source, rig.diags->list.data[0].span.start, &line, &column);
    assert_int_equal(line, first + line_in_body);
    rig_close(&rig);
}

static void test_rejected(void **state)
{
    (void)state;
    check_rejected("\nfrobnicate.u32 %r1, %r2;", "TW0822", 1);
    check_rejected("add.u32 %r1, %r2;", "TW0824", 0);
    check_rejected("add.u32 %r1, %r2, %rd3;", "TW0824", 0);
    check_rejected("add.u32 %r1, %r2, %x;", "TW0825", 0);
    check_rejected("add.u32 %r1, %r2, %r99;", "TW0825", 0); /* declared: %r0 to %r98 */
    check_rejected("sin.rz.f32 %f1, %f2;", "TW0823", 0);
    check_rejected("add.u32.wrong %r1, %r2, %r3;", "TW0823", 0);
    check_rejected("add.f32 %f1, %f2, 1;", "TW0824", 0);
    /* what ptxas refuses */
    check_rejected("add.u32 %r1, %r2, 1.5;", "TW0824", 0);
    check_rejected("add.u32 %r1, %r2, %f3;", "TW0824", 0);
    check_rejected("mov.u32 %r1, %f3;", "TW0824", 0);
    check_rejected("st.global.u32 [%rd1], %f1;", "TW0824", 0);
    check_rejected("fma.rn.bf16x2 %f1, %r1, %r1, %r1;", "TW0824", 0);
    check_rejected("ld.global.f32 %f1, [%f1];", "TW0824", 0);
    check_rejected("fma.f32 %f1, %f1, %f1, %f1;", "TW0823", 0);
    check_rejected("div.f32 %f1, %f1, %f1;", "TW0823", 0);
    check_rejected("ex2.f32 %f1, %f1;", "TW0823", 0);
    check_rejected("ex2.rn.f32 %f1, %f1;", "TW0823", 0);
    check_rejected("add.approx.f32 %f1, %f1, %f1;", "TW0823", 0);
    check_rejected("add.ftz.s32 %r1, %r1, %r1;", "TW0823", 0);
    check_rejected("cvt.f32.s32 %f1, %r1;", "TW0823", 0);
    check_rejected("cvt.bf16.f32 %h1, %f1;", "TW0823", 0);
    check_rejected("cvt.rn.f32.f16 %f1, %h1;", "TW0823", 0);
    check_rejected("cvt.rz.s32.f32 %r1, %f1;", "TW0823", 0);
    check_rejected("st.global.nc.f32 [%rd1], %f1;", "TW0823", 0);
    check_rejected(".reg .u32 %r1;", "TW0826", 0);
    check_rejected("mov.u32 %r1, %tid.w;", "TW0825", 0);
    check_rejected("bra NOWHERE;", "TW0825", 0);
    check_rejected("L: L: mov.u32 %r1, 0;", "TW0826", 0);
    check_rejected(".reg .b32 %q; .reg .b32 %q;", "TW0826", 0);
    check_rejected(".reg .b32 %q<2000000000>;", "TW0827", 0);
    check_rejected(".reg .b32 %q<-1>;", "TW0827", 0);
    check_rejected(".reg .b32 %q<99999999999999999999999>;", "TW0821", 0);
    check_rejected(".shared .align 16 .b8 big[2000000000];", "TW0827", 0);
    check_rejected(".shared .align 16 .b8 big[1000][1000][1000];", "TW0827", 0);
    check_rejected(".shared .align 3 .b8 odd[4];", "TW0821", 0);
    check_rejected("mma.sync.aligned.m16n8k99.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};",
                   "TW0823", 0);
    check_rejected("ld.global.v4.b64 {%rd1,%rd2,%rd3,%rd4}, [%rd5];", "TW0824", 0);
    check_rejected("ld.param.u64 %rd1, [out+64];", "TW0824", 0);
    check_rejected("cp.async.cg.shared.global [%r1], [%rd1], 4;", "TW0824", 0);
    check_rejected("@%r1 bra L; L:", "TW0824", 0);
    check_rejected("setp.ltu.s32 %p1, %r1, %r2;", "TW0823", 0);
    check_rejected("mov.u32 %r1, 12345678901234567890123;", "TW0821", 0);
    check_rejected("mov.f32 %f1, 0f123;", "TW0821", 0);
    check_rejected("mov.b64 %rd1, {%r1,{%r2,{%r3}}};", "TW0821", 0);
}

/* Variables that nobody uses are no mistake, as those that headers leave in nvcc's text. */
static void test_unused_variables(void **state)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".global .align 4 .b8 table[8] = {1, 2, 3};\n.global .u64 refs[2] = {generic(table), 0};\n"
        ".visible .const .align 4 .f32 c[2];\n.visible .entry k()\n{\nret;\n}\n";
    Rig rig;

    (void)state;
    rig_open(&rig);
    assert_non_null(rig_parse_text(&rig, text, strlen(text)));
    rig_close(&rig);
}

/* Several mistakes are reported in one go, and not without end. */
static void test_recovers(void **state)
{
    Str body;
    Rig rig;

    (void)state;
    rig_open(&rig);
    body = str_new(rig.arena);
    for (int i = 0; i < 100; i++)
        str_add(&body, "wrong.u32 %r1;\nadd.u32 %r1, %r1, 1;\n");
    assert_null(rig_parse(&rig, body.data));
    assert_int_equal(rig.diags->list.len, DIAG_LIMIT);
    rig_close(&rig);
}

/* ---- hostile text ----------------------------------------------------------------- */

static const char victim[] =
    "mov.u32 %r2, sm; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; { .reg .f32 %a<4>; mov.f32 %a1, 0f3F800000; }\n"
    "LOOP: cp.async.ca.shared.global [%r4], [%rd4], 4, %r3; cp.async.wait_all; bar.sync 0, 32;\n"
    "setp.lt.and.s32 %p1|%p2, %r3, -7, !%p3; @!%p1 bra LOOP; mov.b64 {%r5,%r6}, %rd1;\n"
    "ld.shared.v4.b32 {%r5,%r6,%r7,%r8}, [%r4+-16]; cvt.rn.bf16x2.f32 %r9, %f1, 1.5e3; lop3.b32 %r1,%r1,%r1,%r1,0xe8;\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};\n";

/* Whatever the text is, parsing ends, and running what parses ends. */
static void survive(Rig *rig, const char *text, size_t len)
{
    EmuModule *module = rig_parse_text(rig, text, len);
    EmuMemory *memory = emu_memory_new(rig->arena);

    if (!module) {
        assert_true(rig->diags->list.len > 0);
        return;
    }
    rig->launch.param_bytes = 20;
    rig->launch.params = "01234567890123456789";
    rig->launch.max_instructions = 2000;
    for (int i = 0; i < emu_entry_count(module); i++)
        emu_run(rig->arena, module, i, memory, &rig->launch, &rig->report);
}

static void test_truncated(void **state)
{
    Rig rig;
    char *text;
    size_t len;

    (void)state;
    rig_open(&rig);
    text = arena_printf(rig.arena, "%s%s\nret;\n}\n", rig_head, victim);
    len = strlen(text);
    rig_close(&rig);
    for (size_t cut = 0; cut < len; cut += 3) {
        char *part;

        rig_open(&rig);
        text = arena_printf(rig.arena, "%s%s\nret;\n}\n", rig_head, victim);
        part = arena_strndup(rig.arena, text, cut);
        survive(&rig, part, cut);
        rig_close(&rig);
    }
}

static void test_mutated(void **state)
{
    static const char *const pieces[] = { "4294967296", "%r", "{", "}", "[", "]", ";", ".", "::", "<", ">", "0x", "-",
                                          "!", "@", "|", "%p1", "sm", "%rd1", "\0", "\"", "/*", "//", "\n",
                                          "%r99999999", "0f", ".v4", "%tid.x", "LOOP", "_", ",", "\xff" };
    Rng rng = { 7 };

    (void)state;
    for (int i = 0; i < 3000; i++) {
        Rig rig;
        Str text;
        const char *whole;
        size_t len, at;
        int edits = 1 + rng_below(&rng, 4);

        rig_open(&rig);
        whole = arena_printf(rig.arena, "%s%s\nret;\n}\n", rig_head, victim);
        for (int e = 0; e < edits; e++) {
            const char *piece = pieces[rng_below(&rng, (int)TW_COUNT(pieces))];

            len = strlen(whole);
            at = (size_t)rng_below(&rng, (int)len);
            text = str_new(rig.arena);
            str_addn(&text, whole, at);
            str_add(&text, piece);
            at += (size_t)rng_below(&rng, 6);
            if (at < len)
                str_add(&text, whole + at);
            whole = str_text(&text);
        }
        survive(&rig, whole, strlen(whole));
        rig_close(&rig);
    }
}

static void test_noise(void **state)
{
    Rng rng = { 11 };

    (void)state;
    for (int i = 0; i < 300; i++) {
        Rig rig;
        char *text;
        size_t len = 1 + (size_t)rng_below(&rng, 400), head = i % 2 ? strlen(rig_head) : 0;

        rig_open(&rig);
        text = arena_alloc(rig.arena, head + len + 1);
        memcpy(text, rig_head, head);
        for (size_t k = 0; k < len; k++)
            text[head + k] = (char)(i % 3 ? 32 + rng_below(&rng, 95) : rng_below(&rng, 256));
        survive(&rig, text, head + len);
        rig_close(&rig);
    }
}

/* One very long line, deep braces, very many labels of one name. */
static void test_large(void **state)
{
    Rig rig;
    Str body;

    (void)state;
    rig_open(&rig);
    body = str_new(rig.arena);
    for (int i = 0; i < 1000; i++)
        str_add(&body, "{");
    assert_null(rig_parse(&rig, body.data));
    body = str_new(rig.arena);
    for (int i = 0; i < 200000; i++)
        str_add(&body, "%%%%%%%%%%");
    assert_null(rig_parse(&rig, body.data));
    body = str_new(rig.arena);
    for (int i = 0; i < 20000; i++)
        str_add(&body, "{ L: @%p1 bra L; }");
    assert_non_null(rig_parse(&rig, body.data));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_faults), cmocka_unit_test(test_no_checks),
        cmocka_unit_test(test_limit_of_warp),
        cmocka_unit_test(test_bad_launch),     cmocka_unit_test(test_short_params),
        cmocka_unit_test(test_rejected),       cmocka_unit_test(test_unused_variables),
        cmocka_unit_test(test_recovers),
        cmocka_unit_test(test_truncated),      cmocka_unit_test(test_mutated),
        cmocka_unit_test(test_noise),          cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests_name("emu_faults", tests, NULL, NULL);
}
