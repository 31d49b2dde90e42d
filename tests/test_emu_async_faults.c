/* test_emu_async_faults.c: what the emulator notices of the asynchronous world.
 *
 * As in test_emu_faults.c: a kernel with one mistake, in the lines marked //!,
 * and the same kernel put right. Both run under several schedules.
 */
#include "async_rig.h"

typedef struct Case {
    const char *name;
    EmuFaultKind kind;
    const char *wrong, *right;
    int threads; /* 0: 128 */
    const char *says; /* part of the message; NULL: anything */
} Case;

/* Everybody writes 16 bytes of each of the first 8 KB; a 64 x 16 A lies at %r3 and a
 * 16 x 8 B at %r3 + 4096, without a swizzle (core matrices of 128 bytes). */
#define FILL                                                                             \
    "mov.u32 %r10, 0x3f803f80; mad.lo.u32 %r11, %r1, 16, %r3;\n"                         \
    "st.shared.v4.b32 [%r11], {%r10,%r10,%r10,%r10}; st.shared.v4.b32 [%r11+2048], {%r10,%r10,%r10,%r10};\n" \
    "st.shared.v4.b32 [%r11+4096], {%r10,%r10,%r10,%r10}; st.shared.v4.b32 [%r11+6144], {%r10,%r10,%r10,%r10};\n"
#define DESCRIPTORS                                                                      \
    "shr.u32 %r12, %r3, 4; add.u32 %r13, %r12, 0x400000; mov.u32 %r14, 8; mov.b64 %rd10, {%r13, %r14};\n" /* A: leading 1024 */ \
    "add.u32 %r15, %r12, 0x080100; mov.b64 %rd11, {%r15, %r14};\n"                       /* B at + 4096: leading 128 */ \
    "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
/* The same for 256 threads. */
#define READY_256                                                                        \
    "mov.u32 %r10, 0x3f803f80; mad.lo.u32 %r11, %r1, 16, %r3; st.shared.v4.b32 [%r11], {%r10,%r10,%r10,%r10};\n" \
    "st.shared.v4.b32 [%r11+4096], {%r10,%r10,%r10,%r10};\n" DESCRIPTORS "fence.proxy.async; bar.sync 0;\n"
#define READY FILL DESCRIPTORS "fence.proxy.async.shared::cta; bar.sync 0;\n"
#define FENCE "wgmma.fence.sync.aligned;\n"
#define MMA "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, %p3, 1, 1, 0, 0;"
#define MMA_A "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, {%r40,%r41,%r42,%r43}, %rd11, %p3, 1, 1, 0;"
#define FILL_A "mov.b32 %r40, %r10; mov.b32 %r41, %r10; mov.b32 %r42, %r10; mov.b32 %r43, %r10;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define DONE COMMIT "wgmma.wait_group.sync.aligned 0;\n"
#define SINK "@%p1 st.global.f32 [%rd2], %f0;"
#define LOAD(to, from, bytes, barrier)                                                   \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+" #to "], [%rd1+" #from "], " #bytes ", [%r2+" #barrier "];"
#define EXPECT(bytes, barrier) "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+" #barrier "], " #bytes ";\n"
#define STORE(bytes) "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], " #bytes ";"
#define STORED "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"

/* Warp 0 fills a ring of one stage three times, warps 1 to 3 read it. */
#define RING(init_full, init_free, expect, free_parity, full_parity, arrive)             \
    "@%p1 mbarrier.init.shared.b64 [%r2], " init_full "; @%p1 mbarrier.init.shared.b64 [%r2+8], " init_free ";\n" \
    "@%p1 fence.mbarrier_init.release.cluster; bar.sync 0; mov.u32 %r10, 0; setp.ge.u32 %p4, %r4, 1; @%p4 bra CONSUME;\n" \
    "@!%p1 bra OUT;\nFILL: and.b32 %r11, %r10, 1; " free_parity "\n"                     \
    "FREE: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2+8], %r11; @!%p6 bra FREE; //!\n" \
    "mad.wide.u32 %rd10, %r10, 512, %rd1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " expect ";\n" \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd10], 512, [%r2]; //!\n" \
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p8, %r10, 3; @%p8 bra FILL; bra OUT;\n"        \
    "CONSUME: and.b32 %r11, %r10, 1; " full_parity "\n"                                  \
    "FULL: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2], %r11; @!%p6 bra FULL; //!\n" \
    "sub.u32 %r16, %r1, 32; mad.lo.u32 %r15, %r16, 4, %r3;\nld.shared.u32 %r17, [%r15]; //!\n" \
    arrive " //!\n"                                                                      \
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p8, %r10, 3; @%p8 bra CONSUME;\nOUT: "
#define ARRIVE "mbarrier.arrive.shared::cta.b64 _, [%r2+8];"
#define GOOD_RING RING("1", "96", "512", "xor.b32 %r11, %r11, 1;", "", ARRIVE)

static const Case cases[] = {
    /* fence.proxy.async */
    { "wgmma reads what ordinary stores wrote, no proxy fence", EMU_PROXY,
      FILL DESCRIPTORS "bar.sync 0;\n" FENCE MMA " //!\n" DONE SINK, READY FENCE MMA DONE SINK, 0, "fence.proxy.async" },
    { "the proxy fence stands before the stores", EMU_PROXY,
      DESCRIPTORS "fence.proxy.async;\n" FILL "bar.sync 0;\n" FENCE MMA " //!\n" DONE SINK,
      FILL DESCRIPTORS "bar.sync 0; fence.proxy.async;\n" FENCE MMA DONE SINK, 0, NULL },
    { "a bulk store of what ordinary stores wrote, no proxy fence", EMU_PROXY,
      FILL "bar.sync 0;\n" STORE(4096) " //!\n" STORED, FILL "fence.proxy.async.shared::cta; bar.sync 0;\n" STORE(4096) STORED, 0, NULL },
    { "a lane's bulk store of what other lanes of its warp stored", EMU_RACE,
      "mad.lo.u32 %r20, %r1, 4, %r3; st.shared.u32 [%r20], %r1; fence.proxy.async;\n" STORE(128) " //!\n" STORED,
      "mad.lo.u32 %r20, %r1, 4, %r3; st.shared.u32 [%r20], %r1; fence.proxy.async; bar.warp.sync -1;\n" STORE(128) STORED, 32, "bar.warp.sync" },
    { "a copy over an mbarrier", EMU_BARRIER,
      INIT(1) "@%p1 " EXPECT(512, 0)
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 512, [%r2]; //!\n" WAIT("W", 0, 0),
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) WAIT("W", 0, 0), 0, "an mbarrier lies" },
    { "a bulk load over what ordinary stores wrote, no proxy fence", EMU_PROXY,
      INIT(1) FILL "bar.sync 0; @%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) " //!\n" WAIT("W", 0, 0),
      INIT(1) FILL "fence.proxy.async; bar.sync 0; @%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) WAIT("W", 0, 0), 0, NULL },
    { "a copy from global memory that the block wrote, no proxy fence", EMU_PROXY,
      INIT(1) "mad.wide.u32 %rd10, %r1, 4, %rd2; st.global.u32 [%rd10], %r1; bar.sync 0; @%p1 " EXPECT(512, 0)
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2], 512, [%r2]; //!\n" WAIT("W", 0, 0),
      INIT(1) "mad.wide.u32 %rd10, %r1, 4, %rd2; st.global.u32 [%rd10], %r1; fence.proxy.async; bar.sync 0; @%p1 " EXPECT(512, 0)
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2], 512, [%r2];\n" WAIT("W", 0, 0), 0, NULL },
    { "an mbarrier without a fence after its initialisation", EMU_PROXY,
      "@%p1 mbarrier.init.shared.b64 [%r2], 1; bar.sync 0; @%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) " //!\n" WAIT("W", 0, 0),
      "@%p1 mbarrier.init.shared.b64 [%r2], 1; @%p1 fence.mbarrier_init.release.cluster; bar.sync 0; @%p1 " EXPECT(512, 0) "@%p1 "
      LOAD(0, 0, 512, 0) WAIT("W", 0, 0), 0, NULL },

    /* phases */
    { "the consumer waits for the wrong phase", EMU_ASYNC_RACE,
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) " //!\n" WAIT("W", 0, 1) "ld.shared.u32 %r21, [%r3]; //!\n" WAIT("V", 0, 0),
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) WAIT("W", 0, 0) "ld.shared.u32 %r21, [%r3];", 0, NULL },
    { "the producer waits for the wrong phase", EMU_DEADLOCK, RING("1", "96", "512", "", "", ARRIVE), GOOD_RING, 0, "96 of 96 arrivals" },
    { "nobody waits for the copy", EMU_ASYNC_RACE,
      INIT(1) "@%p1 " EXPECT(2048, 0) "@%p1 " LOAD(0, 0, 2048, 0) "\nbar.sync 0; mad.lo.u32 %r20, %r1, 16, %r3;\nld.shared.u32 %r21, [%r20]; //!\n" WAIT("W", 0, 0),
      INIT(1) "@%p1 " EXPECT(2048, 0) "@%p1 " LOAD(0, 0, 2048, 0) WAIT("W", 0, 0) "mad.lo.u32 %r20, %r1, 16, %r3; ld.shared.u32 %r21, [%r20];", 0, NULL },
    { "an ordinary store to what a copy is about to write", EMU_ASYNC_RACE,
      INIT(1) "@%p1 " EXPECT(2048, 0) "@%p1 " LOAD(0, 0, 2048, 0) "\n@%p1 st.shared.u32 [%r3+64], 1; //!\n" WAIT("W", 0, 0),
      INIT(1) "@%p1 " EXPECT(2048, 0) "@%p1 " LOAD(0, 0, 2048, 0) WAIT("W", 0, 0) "@%p1 st.shared.u32 [%r3+64], 1;", 0, NULL },
    { "a relaxed wait does not acquire", EMU_ASYNC_RACE,
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0)
      "\nW: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p9, [%r2], 0; @!%p9 bra W;\nld.shared.u32 %r21, [%r3]; //!\n",
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0)
      "\nW: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p9, [%r2], 0; @!%p9 bra W;\nld.shared.u32 %r21, [%r3];", 0, NULL },

    /* transaction counts */
    { "fewer bytes expected than copied", EMU_TRANSACTION, RING("1", "96", "256", "xor.b32 %r11, %r11, 1;", "", ARRIVE), GOOD_RING, 0,
      "256 bytes more" },
    { "more bytes expected than copied", EMU_TRANSACTION, RING("1", "96", "528", "xor.b32 %r11, %r11, 1;", "", ARRIVE), GOOD_RING, 0,
      "16 bytes" },
    { "bytes expected by nobody", EMU_TRANSACTION,
      INIT(2) "@%p1 " LOAD(0, 0, 512, 0) " //!\n@%p1 mbarrier.arrive.shared::cta.b64 _, [%r2]; @%p1 nanosleep.u32 20;\n"
      "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r2]; //!\n" WAIT("W", 0, 0) "//!\n",
      INIT(2) "@%p1 " LOAD(0, 0, 512, 0) " @%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];\n@%p1 " EXPECT(512, 0) WAIT("W", 0, 0), 0, NULL },

    /* wgmma's registers */
    { "no wgmma.fence at all", EMU_IN_FLIGHT, READY MMA " //!\n" DONE SINK, READY FENCE MMA DONE SINK, 0, "precedes the first" },
    { "an accumulator written after the wgmma.fence", EMU_IN_FLIGHT, READY FENCE "mov.f32 %f2, 0f3F800000;\n" MMA " //!\n" DONE SINK,
      READY "mov.f32 %f2, 0f3F800000;\n" FENCE MMA DONE SINK, 0, "%f2" },
    { "A written after the wgmma.fence", EMU_IN_FLIGHT, READY FENCE FILL_A MMA_A " //!\n" DONE SINK, READY FILL_A FENCE MMA_A DONE SINK, 0, "%r40" },
    { "the result is read before the wait", EMU_IN_FLIGHT, READY FENCE MMA COMMIT "add.f32 %f10, %f1, %f1; //!\nwgmma.wait_group.sync.aligned 0;\n" SINK,
      READY FENCE MMA DONE "add.f32 %f10, %f1, %f1;\n" SINK, 0, "%f1" },
    { "the result is overwritten before the wait", EMU_IN_FLIGHT, READY FENCE MMA COMMIT "mov.f32 %f3, %f10; //!\nwgmma.wait_group.sync.aligned 0;\n",
      READY "mov.f32 %f10, 0f00000000;\n" FENCE MMA DONE "mov.f32 %f3, %f10;", 0, NULL },
    { "the wait leaves one group too many", EMU_IN_FLIGHT, READY FENCE MMA COMMIT "wgmma.wait_group.sync.aligned 1;\n@%p1 st.global.f32 [%rd2], %f0; //!\nwgmma.wait_group.sync.aligned 0;\n",
      READY FENCE MMA COMMIT MMA DONE SINK, 0, NULL },
    { "the wgmma was not committed", EMU_IN_FLIGHT, READY FENCE MMA "wgmma.wait_group.sync.aligned 0;\n@%p1 st.global.f32 [%rd2], %f0; //!\n" DONE,
      READY FENCE MMA DONE SINK, 0, NULL },
    { "A is overwritten before the wait", EMU_IN_FLIGHT, READY FILL_A FENCE MMA_A COMMIT "mov.b32 %r42, 0; //!\nwgmma.wait_group.sync.aligned 0;\n",
      READY FILL_A FENCE MMA_A MMA_A DONE "mov.b32 %r42, 0;", 0, "%r42" },
    { "another shape on accumulators in flight", EMU_IN_FLIGHT,
      READY "mov.f32 %f4, %f0; mov.f32 %f5, %f0; mov.f32 %f6, %f0; mov.f32 %f7, %f0; add.u64 %rd11, %rd11, 0x1000000000;\n" FENCE MMA "\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, %rd10, %rd11, %p3, 1, 1, 0, 0; //!\n" DONE,
      READY "mov.f32 %f4, %f0; mov.f32 %f5, %f0; mov.f32 %f6, %f0; mov.f32 %f7, %f0; add.u64 %rd11, %rd11, 0x1000000000;\n" FENCE MMA DONE FENCE
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, %rd10, %rd11, %p3, 1, 1, 0, 0;\n" DONE, 0, "shape" },
    { "exit with a wgmma in flight", EMU_IN_FLIGHT, READY FENCE MMA " //!\n" COMMIT, READY FENCE MMA DONE, 0, "exits" },
    { "an accumulator that was never written", EMU_UNINITIALISED, READY FENCE
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f90}, %rd10, %rd11, %p3, 1, 1, 0, 0; //!\n" DONE,
      READY FENCE "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f90}, %rd10, %rd11, %p2, 1, 1, 0, 0;\n" DONE, 0, "%f90" },

    /* wgmma's shared memory and its four warps */
    { "B is overwritten while the wgmma may read it", EMU_ASYNC_RACE,
      READY FENCE MMA COMMIT "\n@%p1 st.shared.u32 [%r3+4096], 0; //!\nwgmma.wait_group.sync.aligned 0;\n",
      READY FENCE MMA DONE "bar.sync 0; @%p1 st.shared.u32 [%r3+4096], 0;", 0, NULL },
    { "another warpgroup overwrites A without a barrier", EMU_ASYNC_RACE,
      READY_256 "setp.ge.u32 %p4, %r4, 4; @%p4 bra OTHER;\n" FENCE MMA " //!\n" DONE "bra OUT;\nOTHER: sub.u32 %r11, %r11, 2048;\nst.shared.u32 [%r11], 0; //!\nOUT: ",
      READY_256 "setp.ge.u32 %p4, %r4, 4; @%p4 bra OTHER;\n" FENCE MMA DONE "bar.arrive 1, 256; bra OUT;\nOTHER: bar.sync 1, 256; sub.u32 %r11, %r11, 2048;\nst.shared.u32 [%r11], 0;\nOUT: ", 256, NULL },
    { "a stage is copied over while wgmma read it", EMU_ASYNC_RACE,
      INIT(4) READY FENCE MMA COMMIT "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r2], 3;\n"
      "@%p1 " LOAD(0, 0, 512, 0) " //!\nwgmma.wait_group.sync.aligned 0;\n" WAIT("W", 0, 0),
      INIT(4) READY FENCE MMA DONE "bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r2], 3;\n"
      "@%p1 " LOAD(0, 0, 512, 0) WAIT("W", 0, 0), 0, NULL },
    { "the producer does not wait for the stage to be free", EMU_ASYNC_RACE,
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) WAIT("W", 0, 0) "@%p1 " EXPECT(512, 8) "@%p1 " LOAD(0, 512, 512, 8) " //!\n"
      "mad.lo.u32 %r20, %r1, 4, %r3;\nld.shared.u32 %r21, [%r20]; //!\n" WAIT("V", 8, 0),
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) WAIT("W", 0, 0) "mad.lo.u32 %r20, %r1, 4, %r3;\nld.shared.u32 %r21, [%r20];\n"
      "bar.sync 0; @%p1 " EXPECT(512, 8) "@%p1 " LOAD(0, 512, 512, 8) WAIT("V", 8, 0), 0, NULL },
    { "wgmma on shared memory that nobody wrote", EMU_UNINITIALISED, DESCRIPTORS FENCE MMA " //!\n" DONE, READY FENCE MMA DONE, 0, NULL },
    { "a descriptor past the end of shared memory", EMU_OUT_OF_BOUNDS,
      READY "add.u64 %rd11, %rd11, 0x1800;\n" FENCE MMA " //!\n" DONE, READY FENCE MMA DONE, 0, NULL },
    { "one warp of four does not issue the wgmma", EMU_DEADLOCK,
      READY "setp.eq.u32 %p4, %r4, 2; @%p4 exit;\n" FENCE MMA COMMIT "wgmma.wait_group.sync.aligned 0; //!\n", READY FENCE MMA DONE, 0, "warpgroup" },
    { "the warps of a warpgroup issue different wgmma", EMU_DIVERGENT,
      READY FENCE "setp.eq.u32 %p4, %r4, 2; @%p4 bra X;\n" MMA " //!\nbra Y;\nX:\n" MMA " //!\nY:" DONE, READY FENCE MMA DONE, 0, NULL },
    { "wgmma in a block of two warps", EMU_DIVERGENT, READY FENCE MMA " //!\n" DONE, "bar.sync 0;", 64, "four warps" },

    /* stores */
    { "shared memory is overwritten while a store may read it", EMU_ASYNC_RACE,
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) "\n@%p1 st.shared.u32 [%r3], 0; //!\n" STORED,
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) "\ncp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; @%p1 st.shared.u32 [%r3], 0;", 0, NULL },
    { "the store's group was not committed", EMU_ASYNC_RACE,
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) "\ncp.async.bulk.wait_group.read 0;\n@%p1 st.shared.u32 [%r3], 0; //!\n" STORED,
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) STORED "@%p1 st.shared.u32 [%r3], 0;", 0, NULL },
    { "another warp overwrites without a barrier after the wait", EMU_ASYNC_RACE,
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) " //!\n" STORED "mad.lo.u32 %r20, %r1, 4, %r3;\nst.shared.u32 [%r20], 0; //!\n",
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) STORED "bar.sync 0; mad.lo.u32 %r20, %r1, 4, %r3; st.shared.u32 [%r20], 0;", 0, NULL },
    { "global memory is read after a wait for .read alone", EMU_RACE,
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) "\ncp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; bar.sync 0;\nld.global.u32 %r20, [%rd2]; //!\n",
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) STORED "bar.sync 0; ld.global.u32 %r20, [%rd2];", 0, NULL },
    { "the block ends before the store has read", EMU_ASYNC_RACE, FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) " //!\ncp.async.bulk.commit_group;",
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(4096) "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;", 0, "block ends" },
    { "the block ends before the load has landed", EMU_ASYNC_RACE, INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) " //!\n",
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(0, 0, 512, 0) WAIT("W", 0, 0), 0, "block ends" },
    { "a store past the end of its buffer", EMU_OUT_OF_BOUNDS,
      FILL "fence.proxy.async; bar.sync 0;\n@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2+16], [%r3], 8192; //!\n" STORED,
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(8192) STORED, 0, NULL },
    { "a store to an input", EMU_READ_ONLY,
      FILL "fence.proxy.async; bar.sync 0;\n@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 64; //!\n" STORED,
      FILL "fence.proxy.async; bar.sync 0;\n" STORE(64) STORED, 0, NULL },
    { "a load that is not aligned", EMU_MISALIGNED, INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(8, 0, 512, 0) " //!\n" WAIT("W", 0, 0),
      INIT(1) "@%p1 " EXPECT(512, 0) "@%p1 " LOAD(16, 0, 512, 0) WAIT("W", 0, 0), 0, NULL },
    { "a tensor copy of a map of other dimensions", EMU_OUT_OF_BOUNDS,
      "@!%p1 exit;" INIT(1) "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd6, {0, 0, 0}], [%r2]; //!\n",
      INIT(1) "@%p1 " EXPECT(1024, 0) "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd6, {0, 0}], [%r2];\n" WAIT("W", 0, 0), 32, "3 dimensions" },
    { "a tensor copy to an address that is no multiple of 128", EMU_MISALIGNED,
      INIT(1) "@%p1 " EXPECT(1024, 0) "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+64], [%rd6, {0, 0}], [%r2]; //!\n" WAIT("W", 0, 0),
      INIT(1) "@%p1 " EXPECT(1024, 0) "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+128], [%rd6, {0, 0}], [%r2];\n" WAIT("W", 0, 0), 0, NULL },
    { "a swizzled box that begins within 16 bytes", EMU_MISALIGNED,
      INIT(1) "@%p1 " EXPECT(1024, 0) "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd6, {4, 0}], [%r2]; //!\n" WAIT("W", 0, 0),
      INIT(1) "@%p1 " EXPECT(1024, 0) "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd6, {-8, 0}], [%r2];\n" WAIT("W", 0, 0), 0, NULL },

    /* barriers and mbarriers */
    { "an mbarrier for fewer arrivals than come", EMU_BARRIER,
      INIT(1) "@%p1 mbarrier.arrive.noComplete.shared::cta.b64 _, [%r2], 2; //!\n", INIT(3) "@%p1 mbarrier.arrive.noComplete.shared::cta.b64 _, [%r2], 2;", 0, "2 arrivals" },
    { "an mbarrier for more arrivals than come", EMU_DEADLOCK, RING("1", "97", "512", "xor.b32 %r11, %r11, 1;", "", ARRIVE), GOOD_RING, 0, "1 of 97 arrivals" },
    { "a named barrier for more warps than come", EMU_DEADLOCK,
      INIT(1) "setp.eq.u32 %p4, %r4, 0; @%p4 bra P;\nbar.sync 1, 128; bra Q; //!\nP: bar.arrive 2, 128;\nQ:",
      INIT(1) "setp.eq.u32 %p4, %r4, 0; @%p4 bra P;\nbar.sync 1, 128; bra Q;\nP: bar.arrive 1, 128;\nQ:", 0, "barrier 1, which has 96 of 128" },
    { "producer and consumer wait for each other", EMU_DEADLOCK,
      INIT(1) "setp.eq.u32 %p4, %r4, 0; @%p4 bra P;\n" "C: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r2], 0; @!%p9 bra C; //!\nbar.arrive 1, 128; bra OUT;\n"
      "P: bar.sync 1, 128; //!\n@%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];\nOUT:",
      INIT(1) "setp.eq.u32 %p4, %r4, 0; @%p4 bra P;\n" WAIT("C", 0, 0) "bar.arrive 1, 128; bra OUT;\n"
      "P: @%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];\nbar.sync 1, 128;\nOUT:", 0, "warp 0 at line" },
    { "a consumer that polls for ever", EMU_DEADLOCK, INIT(1) "POLL: mbarrier.test_wait.parity.shared::cta.b64 %p9, [%r2], 0; @!%p9 bra POLL; //!\n",
      INIT(1) "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];\nPOLL: mbarrier.test_wait.parity.shared::cta.b64 %p9, [%r2], 0; @!%p9 bra POLL;", 0, "phase 0" },
    { "an mbarrier that was not initialised", EMU_BARRIER, INIT(1) "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r2+32]; //!\n",
      INIT(1) "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r2+24];", 0, NULL },
    { "an mbarrier used before a barrier says that it is initialised", EMU_RACE,
      "@%p1 mbarrier.init.shared.b64 [%r2], 128; @%p1 st.volatile.global.u32 [%rd2], 77;\n"
      "SPIN: ld.volatile.global.u32 %r20, [%rd2]; setp.ne.u32 %p4, %r20, 77; @%p4 bra SPIN;\nmbarrier.arrive.shared::cta.b64 _, [%r2]; //!\n",
      "@%p1 mbarrier.init.shared.b64 [%r2], 128; bar.sync 0; mbarrier.arrive.shared::cta.b64 _, [%r2];", 0, NULL },
    { "an ordinary load of an mbarrier", EMU_BARRIER, INIT(1) "ld.shared.u32 %r20, [%r2+8]; //!\n", INIT(1) "ld.param.u64 %rd20, [in];", 0, NULL },
    { "an mbarrier at an address that is no multiple of 8", EMU_MISALIGNED, "@%p1 mbarrier.init.shared.b64 [%r2+4], 1; //!\n",
      "@%p1 mbarrier.init.shared.b64 [%r2+8], 1;", 0, NULL },

    /* registers */
    { "more registers than the block has", EMU_REGISTERS,
      "setp.lt.u32 %p4, %r4, 4; @%p4 bra GIVE;\nsetmaxnreg.inc.sync.aligned.u32 240; bra OUT; //!\nGIVE: setmaxnreg.dec.sync.aligned.u32 32;\nOUT:",
      "setp.lt.u32 %p4, %r4, 4; @%p4 bra GIVE;\nsetmaxnreg.inc.sync.aligned.u32 240; bra OUT;\nGIVE: setmaxnreg.dec.sync.aligned.u32 24;\nOUT:", 384, "240 registers" },
    { "nobody gives registers", EMU_REGISTERS, "setmaxnreg.inc.sync.aligned.u32 176; //!\n", "setmaxnreg.inc.sync.aligned.u32 168;", 384, NULL },
    { "setmaxnreg.dec to more than there is", EMU_REGISTERS, "setmaxnreg.dec.sync.aligned.u32 176; //!\n", "setmaxnreg.dec.sync.aligned.u32 160;", 384, NULL },
};

static bool run_case(AsyncRig *a, const Case *c, const char *body, uint64_t seed)
{
    uint8_t *bytes;

    async_open(a, c->threads ? c->threads : 128);
    a->rig.launch.seed = seed;
    a->rig.launch.max_instructions = 1000000;
    a->in_bytes = a->out_bytes = 8192;
    a->in = bytes = arena_alloc(a->rig.arena, a->in_bytes);
    for (int i = 0; i < 8192; i++)
        bytes[i] = (uint8_t)i;
    a->out = arena_alloc(a->rig.arena, a->out_bytes);
    a->rig.out_initialised = true;
    a->in_map = (EmuTensorMap){ .rank = 2, .element_bytes = 2, .dims = { 64, 64 }, .strides = { 128 }, .box = { 64, 8 }, .swizzle = 128 };
    return async_run(a, body);
}

/* Whether a line of the text is marked. */
static bool marked(const char *body, int line)
{
    int at = 1;

    for (const char *c = async_head; *c; c++)
        at += *c == '\n';
    for (const char *c = body; *c; c++) {
        if (at == line && strncmp(c, "//!", 3) == 0)
            return true;
        at += *c == '\n';
    }
    return false;
}

static bool found(const EmuReport *report, const Case *c)
{
    for (int i = 0; i < report->fault_count && i < EMU_FAULT_LIMIT; i++) {
        const EmuFault *f = &report->faults[i];

        if (f->kind == c->kind && marked(c->wrong, f->line) && (!c->says || strstr(f->message, c->says)))
            return true;
    }
    return false;
}

static bool check_wrong(const Case *c, uint64_t seed)
{
    AsyncRig a;
    bool ok = run_case(&a, c, c->wrong, seed), fine = !ok && found(&a.rig.report, c);

    if (!fine) {
        print_error("%s, seed %d: not found as it should be\n", c->name, (int)seed);
        rig_print_faults(&a.rig);
    }
    rig_close(&a.rig);
    return fine;
}

static bool check_right(const Case *c, uint64_t seed)
{
    AsyncRig a;
    bool ok = run_case(&a, c, c->right, seed);

    if (!ok) {
        print_error("%s, put right, seed %d:\n", c->name, (int)seed);
        rig_print_faults(&a.rig);
    }
    rig_close(&a.rig);
    return ok;
}

static void test_planted_faults(void **state)
{
    bool fine = true;

    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        for (uint64_t seed = 0; seed < 8; seed++) {
            fine &= check_wrong(&cases[i], seed);
            fine &= check_right(&cases[i], seed);
        }
    }
    assert_true(fine);
}

/* A wait whose answer nobody looks at: where it happens to be true all is well, but it is not so under most seeds. */
static void test_answer_not_looked_at(void **state)
{
    enum { SEEDS = 24 };
    static const Case c = { "nobody looks at what the wait answers", EMU_ASYNC_RACE,
        INIT(1) "@%p1 " EXPECT(2048, 0) "@%p1 " LOAD(0, 0, 2048, 0)
        "\nmbarrier.try_wait.parity.shared::cta.b64 %p9, [%r2], 0; mad.lo.u32 %r20, %r1, 16, %r3;\nld.shared.u32 %r21, [%r20]; //!\n" WAIT("W", 0, 0),
        INIT(1) "@%p1 " EXPECT(2048, 0) "@%p1 " LOAD(0, 0, 2048, 0) WAIT("W", 0, 0) "mad.lo.u32 %r20, %r1, 16, %r3; ld.shared.u32 %r21, [%r20];", 0, NULL };
    int seen = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AsyncRig a;
        seen += !run_case(&a, &c, c.wrong, seed) && found(&a.rig.report, &c);
        rig_close(&a.rig);
        assert_true(check_right(&c, seed));
    }
    assert_true(seen >= SEEDS / 2);
}

/* Without checks the same things happen; only nothing is looked at. */
static void test_no_checks(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        AsyncRig a;
        uint8_t bytes[8192] = { 0 };

        async_open(&a, cases[i].threads ? cases[i].threads : 128);
        a.rig.launch.no_checks = true;
        a.rig.launch.seed = 3;
        a.in = bytes;
        a.out = arena_alloc(a.rig.arena, sizeof bytes);
        a.in_bytes = a.out_bytes = sizeof bytes;
        a.in_map = (EmuTensorMap){ .rank = 2, .element_bytes = 2, .dims = { 64, 64 }, .strides = { 128 }, .box = { 64, 8 }, .swizzle = 128 };
        if (!async_run(&a, cases[i].right)) {
            print_error("%s:\n", cases[i].name);
            rig_print_faults(&a.rig);
            fail();
        }
        rig_close(&a.rig);
    }
}

/* A launch that asks for more registers than a multiprocessor has. */
static void test_bad_launch(void **state)
{
    uint8_t bytes[64] = { 0 };
    AsyncRig a;

    (void)state;
    async_open(&a, 512);
    a.rig.launch.registers = 136;
    a.in = a.out = bytes;
    a.in_bytes = a.out_bytes = sizeof bytes;
    assert_false(async_run(&a, "bar.sync 0;"));
    assert_int_equal(a.rig.report.faults[0].kind, EMU_LAUNCH);
    rig_close(&a.rig);
}

/* ---- text that is wrong ------------------------------------------------------------- */

static void test_rejected(void **state)
{
    static const struct { const char *body, *code; } texts[] = {
        { "mbarrier.frob.shared.b64 [%r2];", "TW0824" },
        { "mbarrier.init.shared.b64 [%r2];", "TW0824" },
        { "mbarrier.try_wait.parity.shared.b64 %r5, [%r2], 0;", "TW0824" },
        { "mbarrier.arrive.shared.b64 %r5, [%r2];", "TW0824" },
        { "cp.async.bulk.shared::cluster.global [%r3], [%rd1], 16, [%r2];", "TW0824" },
        { "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%r1], 16, [%r2];", "TW0824" },
        { "cp.async.bulk.tensor.6d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd6, {0}], [%r2];", "TW0824" },
        { "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd6, {0}], [%r2];", "TW0824" },
        { "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd6], [%r2];", "TW0824" },
        { "cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r3], [%rd6, {0, 0}], [%r2];", "TW0823" },
        { "cp.async.bulk.wait_group %r5;", "TW0824" },
        { "wgmma.fence;", "TW0824" },
        { "wgmma.wait_group.sync.aligned 64;", "TW0824" },
        { "wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3,%f4,%f5}, %rd10, %rd11, %p3, 1, 1, 0, 0;", "TW0823" },
        { "wgmma.mma_async.sync.aligned.m64n8k32.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, %p3, 1, 1, 0, 0;", "TW0823" },
        { "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2}, %rd10, %rd11, %p3, 1, 1, 0, 0;", "TW0824" },
        { "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, %p3, 2, 1, 0, 0;", "TW0824" },
        { "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, %p3, 1, 1;", "TW0824" },
        { "setmaxnreg.inc.sync.aligned.u32 44;", "TW0824" },
        { "setmaxnreg.sync.aligned.u32 40;", "TW0824" },
        { "fence.mbarrier_init.acquire.cluster;", "TW0824" },
    };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        AsyncRig a;
        const char *text;

        async_open(&a, 32);
        text = arena_printf(a.rig.arena, "%s%s\nret;\n}\n", async_head, texts[i].body);
        if (rig_parse_text(&a.rig, text, strlen(text)))
            fail_msg("taken: %s", texts[i].body);
        if (strcmp(diag_info(a.rig.diags->list.data[0].code)->name, texts[i].code) != 0)
            diags_print(a.rig.diags, stderr, false);
        assert_string_equal(diag_info(a.rig.diags->list.data[0].code)->name, texts[i].code);
        rig_close(&a.rig);
    }
}

/* Bodies of the cases with random edits: anything may happen but a crash or a hang. */
static const char *mutant(Arena *arena, Rng *rng, const char *whole)
{
    static const char *const pieces[] = {
        "", "", " ", ";", "%r2", "%r3", "%rd10", "%rd6", "%f1", "{", "}", "[", "]", ", ", "0", "1", "-1", "0xfffffff0", "64", "256",
        "%p1", "@%p1 ", "mbarrier.inval.shared.b64 [%r2];", "wgmma.fence.sync.aligned;", "wgmma.wait_group.sync.aligned 0;",
        "exit;", "bar.sync 0;", "cp.async.bulk.wait_group 0;", "setmaxnreg.dec.sync.aligned.u32 24;",
        "mbarrier.arrive.shared.b64 _, [%r2];", "fence.proxy.async;", "add.u64 %rd11, %rd11, 0x3fff00000000;",
    };
    int edits = 1 + rng_below(rng, 4);

    for (int e = 0; e < edits; e++) {
        size_t len = strlen(whole), at = (size_t)rng_below(rng, (int)len + 1);
        Str text = str_new(arena);

        str_addn(&text, whole, at);
        str_add(&text, pieces[rng_below(rng, (int)TW_COUNT(pieces))]);
        at += (size_t)rng_below(rng, 8);
        if (at < len)
            str_add(&text, whole + at);
        whole = str_text(&text);
    }
    return whole;
}

static void test_mutated(void **state)
{
    Rng rng = { 5 };

    (void)state;
    for (int i = 0; i < 1500; i++) {
        const Case *c = &cases[rng_below(&rng, (int)TW_COUNT(cases))];
        AsyncRig a;
        const char *text;

        async_open(&a, c->threads ? c->threads : 128);
        a.rig.launch.seed = (uint64_t)i;
        a.rig.launch.max_instructions = 20000;
        a.in_bytes = a.out_bytes = 8192;
        a.in = arena_alloc(a.rig.arena, a.in_bytes);
        a.out = arena_alloc(a.rig.arena, a.out_bytes);
        a.in_map = (EmuTensorMap){ .rank = 2, .element_bytes = 2, .dims = { 64, 64 }, .strides = { 128 }, .box = { 64, 8 }, .swizzle = 128 };
        text = arena_printf(a.rig.arena, "%s%s\nret;\n}\n", async_head, mutant(a.rig.arena, &rng, c->right));
        if (rig_parse_text(&a.rig, text, strlen(text)))
            async_run_text(&a, text);
        rig_close(&a.rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_answer_not_looked_at),
        cmocka_unit_test(test_no_checks),
        cmocka_unit_test(test_bad_launch),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_mutated),
    };

    return cmocka_run_group_tests_name("emu_async_faults", tests, NULL, NULL);
}
