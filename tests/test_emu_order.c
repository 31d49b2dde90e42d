/* test_emu_order.c: what orders memory but barriers of the block: flags, fences, atomic operations, barriers of
 * some lanes, waits for cp.async (PTX ISA, "Memory Consistency Model").
 *
 * In each of these kernels a data word is handed on; where the mistake is made, nothing orders it.
 */
#include "emu_cases.h"

/* Thread 0 leaves its data and says so, threads of the second warp wait for that. */
#define SHARED_FLAG(store, load, behind)                                                              \
    SHARED_WORD "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [sm+2048], 0; bar.sync 0;\n"              \
    "setp.ge.u32 %p1, %r1, 32; @%p1 bra B; setp.ne.u32 %p2, %r1, 0; @%p2 bra E;\n"                     \
    "st.shared.u32 [sm], 7; " store " bra E;\n"                                                       \
    "B: " load " setp.eq.u32 %p3, %r6, 0; @%p3 bra B;\n" behind "\n"                                    \
    "ld.shared.u32 %r7, [sm]; //!\n"                                                                  \
    "st.global.u32 [%rd5], %r7;\nE:"
#define RELEASE "st.release.cta.shared.u32 [sm+2048], 1;"
#define ACQUIRE "ld.acquire.cta.shared.u32 %r6, [sm+2048];"
#define RELAXED_ST "st.relaxed.cta.shared.u32 [sm+2048], 1;"
#define RELAXED_LD "ld.relaxed.cta.shared.u32 %r6, [sm+2048];"

/* Only thread 32 waits; the others of its warp read behind `between`. */
#define ONE_WAITS(between)                                                                            \
    SHARED_WORD "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [sm+2048], 0; bar.sync 0;\n"              \
    "setp.ge.u32 %p1, %r1, 32; @%p1 bra B; setp.ne.u32 %p2, %r1, 0; @%p2 bra E;\n"                     \
    "st.shared.u32 [sm], 7; " RELEASE " bra E;\n"                                                     \
    "B: setp.ne.u32 %p4, %r1, 32; @%p4 bra C;\n"                                                      \
    "D: " ACQUIRE " setp.eq.u32 %p3, %r6, 0; @%p3 bra D;\nC: " between "\n"                            \
    "ld.shared.u32 %r7, [sm]; //!\nE:"

/* The same between blocks. */
#define GLOBAL_FLAG(store, load, behind)                                                              \
    "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 exit; setp.ne.u32 %p2, %r2, 0; @%p2 bra B;\n" \
    "st.global.u32 [%rd2+64], 7; " store " bra E;\n"                                                  \
    "B: " load " setp.eq.u32 %p3, %r3, 0; @%p3 bra B;\n" behind "\nld.global.u32 %r4, [%rd2+64]; //!\nE:"
#define GLOBAL_RELEASE "st.release.gpu.global.u32 [%rd2], 1;"
#define GLOBAL_ACQUIRE "ld.acquire.gpu.global.u32 %r3, [%rd2];"

/* Every block leaves a word and counts, the last one adds up. */
#define LAST_BLOCK(before, count, behind)                                                             \
    "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r6, %r2, 64, %r1; mad.wide.u32 %rd6, %r6, 4, %rd2; st.global.u32 [%rd6+64], 5;\n" \
    before " setp.ne.u32 %p1, %r1, 0; @%p1 bra W;\n" count "\nst.shared.u32 [sm], %r3;\n"              \
    "W: bar.sync 0; ld.shared.u32 %r3, [sm]; setp.ne.u32 %p2, %r3, 2; @%p2 exit;\n" behind             \
    "mul.wide.u32 %rd6, %r1, 4; add.u64 %rd6, %rd6, %rd2;\nld.global.u32 %r4, [%rd6+64]; ld.global.u32 %r5, [%rd6+320]; //!\n"

/* A lock around a sum that is no atomic operation. */
#define LOCK(take, leave)                                                                             \
    "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.v2.u32 [sm], {0, 0}; bar.sync 0; and.b32 %r9, %r1, 31; setp.ne.u32 %p1, %r9, 0; @%p1 bra E;\n" \
    "L: " take " setp.ne.u32 %p2, %r3, 0; @%p2 bra L;\n"                                               \
    "ld.shared.u32 %r4, [sm+4]; add.u32 %r4, %r4, 1; //!\nst.shared.u32 [sm+4], %r4;\n" leave "\nE:"

#define HALVES "setp.lt.u32 %p1, %r1, 16; selp.b32 %r8, 0xffff, 0xffff0000, %p1;\n"

static const Case cases[] = {
    { "a flag in shared memory, without release", EMU_RACE, SHARED_FLAG(RELAXED_ST, ACQUIRE, ""),
      SHARED_FLAG(RELEASE, ACQUIRE, ""), 0, 0, false, false, 0 },
    { "a flag in shared memory, without acquire", EMU_RACE, SHARED_FLAG(RELEASE, RELAXED_LD, ""),
      SHARED_FLAG(RELEASE, RELAXED_LD, "fence.acq_rel.cta;"), 0, 0, false, false, 0 },
    { "a volatile flag, without fences", EMU_RACE,
      SHARED_FLAG("st.volatile.shared.u32 [sm+2048], 1;", "ld.volatile.shared.u32 %r6, [sm+2048];", ""),
      SHARED_FLAG("membar.cta; st.volatile.shared.u32 [sm+2048], 1;", "ld.volatile.shared.u32 %r6, [sm+2048];", "membar.cta;"),
      0, 0, false, false, 0 },
    { "the fence stands behind the flag", EMU_RACE,
      SHARED_FLAG(RELAXED_ST " fence.acq_rel.cta;", ACQUIRE, ""), SHARED_FLAG("fence.acq_rel.cta; " RELAXED_ST, ACQUIRE, ""),
      0, 0, false, false, 0 },
    { "an ordinary flag", EMU_RACE,
      SHARED_FLAG("fence.acq_rel.cta; st.shared.u32 [sm+2048], 1; //!\n", "ld.shared.u32 %r6, [sm+2048]; //!\n", "fence.acq_rel.cta;"),
      SHARED_FLAG("fence.acq_rel.cta; st.relaxed.cta.shared.u32 [sm+2048], 1;", "ld.relaxed.cta.shared.u32 %r6, [sm+2048];", "fence.acq_rel.cta;"),
      0, 0, false, false, 0 },
    { "a flag that is an atomic operation, without release", EMU_RACE,
      SHARED_FLAG("atom.relaxed.cta.shared.exch.b32 %r8, [sm+2048], 1;", "atom.acquire.cta.shared.or.b32 %r6, [sm+2048], 0;", ""),
      SHARED_FLAG("atom.release.cta.shared.exch.b32 %r8, [sm+2048], 1;", "atom.acquire.cta.shared.or.b32 %r6, [sm+2048], 0;", ""),
      0, 0, false, false, 0 },
    { "another flag", EMU_RACE,
      SHARED_FLAG("st.release.cta.shared.u32 [sm+2052], 1; " RELAXED_ST, ACQUIRE, ""),
      SHARED_FLAG("st.relaxed.cta.shared.u32 [sm+2052], 1; " RELEASE, ACQUIRE, ""), 0, 0, false, false, 0 },
    { "an atomic operation hands on what it found, an ordinary write does not", EMU_RACE,
      SHARED_FLAG(RELEASE " st.relaxed.cta.shared.u32 [sm+2048], 2;", "ld.acquire.cta.shared.u32 %r6, [sm+2048]; and.b32 %r6, %r6, 2;", ""),
      SHARED_FLAG(RELEASE " red.relaxed.cta.shared.add.u32 [sm+2048], 1;", "ld.acquire.cta.shared.u32 %r6, [sm+2048]; and.b32 %r6, %r6, 2;", ""),
      0, 0, false, false, 0 },
    { "one lane waits for a flag, and others of its warp read", EMU_RACE, ONE_WAITS(""), ONE_WAITS("bar.warp.sync -1;"),
      0, 0, false, false, 0 },
    { "one lane waits for a flag, and a shuffle follows", EMU_RACE, ONE_WAITS("shfl.sync.idx.b32 %r8, %r1, 0, 31, -1;"),
      ONE_WAITS("bar.sync 1, 32;"), 0, 0, false, false, 0 },
    { "a flag between blocks, without release", EMU_RACE,
      GLOBAL_FLAG("st.relaxed.gpu.global.u32 [%rd2], 1;", GLOBAL_ACQUIRE, ""), GLOBAL_FLAG(GLOBAL_RELEASE, GLOBAL_ACQUIRE, ""),
      32, 2, false, true, 0 },
    { "a flag between blocks, without acquire", EMU_RACE,
      GLOBAL_FLAG(GLOBAL_RELEASE, "ld.relaxed.gpu.global.u32 %r3, [%rd2];", ""),
      GLOBAL_FLAG(GLOBAL_RELEASE, "ld.relaxed.gpu.global.u32 %r3, [%rd2];", "fence.acq_rel.gpu;"), 32, 2, false, true, 0 },
    { "a flag between blocks, at the scope of one", EMU_RACE,
      GLOBAL_FLAG("st.release.cta.global.u32 [%rd2], 1;", GLOBAL_ACQUIRE, ""), GLOBAL_FLAG(GLOBAL_RELEASE, GLOBAL_ACQUIRE, ""),
      32, 2, false, true, 0 },
    { "a flag between blocks, with a fence at the scope of one", EMU_RACE,
      GLOBAL_FLAG("membar.cta; st.volatile.global.u32 [%rd2], 1;", "ld.volatile.global.u32 %r3, [%rd2];", "membar.gl;"),
      GLOBAL_FLAG("membar.gl; st.volatile.global.u32 [%rd2], 1;", "ld.volatile.global.u32 %r3, [%rd2];", "membar.gl;"),
      32, 2, false, true, 0 },
    { "a flag between blocks, acquired at the scope of one", EMU_RACE,
      GLOBAL_FLAG(GLOBAL_RELEASE, "ld.acquire.cta.global.u32 %r3, [%rd2];", ""),
      GLOBAL_FLAG(GLOBAL_RELEASE, "ld.acquire.sys.global.u32 %r3, [%rd2];", ""), 32, 2, false, true, 0 },
    { "the last block adds up, and no barrier stands before its counter", EMU_RACE,
      LAST_BLOCK("membar.gl;", "membar.gl; atom.global.add.u32 %r3, [%rd2], 1; membar.gl;", ""),
      LAST_BLOCK("bar.sync 0;", "membar.gl; atom.global.add.u32 %r3, [%rd2], 1; membar.gl;", ""), 64, 3, false, true, 0 },
    { "the last block adds up, without a fence behind its counter", EMU_RACE,
      LAST_BLOCK("bar.sync 0;", "membar.gl; atom.global.add.u32 %r3, [%rd2], 1;", ""),
      LAST_BLOCK("bar.sync 0;", "atom.acq_rel.gpu.global.add.u32 %r3, [%rd2], 1;", ""), 64, 3, false, true, 0 },
    { "the last block adds up; fences stand before the barrier", EMU_RACE,
      LAST_BLOCK("bar.sync 0;", "atom.global.add.u32 %r3, [%rd2], 1; membar.gl;", ""),
      LAST_BLOCK("membar.gl; bar.sync 0;", "atom.global.add.u32 %r3, [%rd2], 1; membar.gl;", ""), 64, 3, false, true, 0 },
    { "a lock that is taken without acquire", EMU_RACE,
      LOCK("atom.relaxed.cta.shared.cas.b32 %r3, [sm], 0, 1;", "atom.release.cta.shared.exch.b32 %r5, [sm], 0;"),
      LOCK("atom.acquire.cta.shared.cas.b32 %r3, [sm], 0, 1;", "atom.release.cta.shared.exch.b32 %r5, [sm], 0;"), 128, 0, false, false, 0 },
    { "a lock that is left without release", EMU_RACE,
      LOCK("atom.acquire.cta.shared.cas.b32 %r3, [sm], 0, 1;", "atom.relaxed.cta.shared.exch.b32 %r5, [sm], 0;"),
      LOCK("atom.acquire.cta.shared.cas.b32 %r3, [sm], 0, 1;", "membar.cta; atom.shared.exch.b32 %r5, [sm], 0;"), 128, 0, false, false, 0 },
    { "a barrier of half a warp does not order it with the other half", EMU_RACE,
      HALVES LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync %r8; xor.b32 %r6, %r3, 64; add.u32 %r6, %r6, %r2;\nld.shared.u32 %r7, [%r6]; //!",
      HALVES LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync %r8;\nld.shared.u32 %r7, [%r6];", 32, 0, false, false, 0 },
    { "two barriers of half a warp do not, either", EMU_RACE,
      HALVES LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync %r8; bar.warp.sync %r8; xor.b32 %r6, %r3, 64; add.u32 %r6, %r6, %r2;\nld.shared.u32 %r7, [%r6]; //!",
      HALVES LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync %r8; bar.warp.sync -1; xor.b32 %r6, %r3, 64; add.u32 %r6, %r6, %r2;\nld.shared.u32 %r7, [%r6];",
      32, 0, false, false, 0 },
    { "what a half reads the other overwrites", EMU_RACE,
      HALVES LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync -1; xor.b32 %r6, %r3, 64; add.u32 %r6, %r6, %r2; ld.shared.u32 %r7, [%r6]; bar.warp.sync %r8;\nst.shared.u32 [%r4], %r7; //!",
      HALVES LANE_WORD "st.shared.u32 [%r4], %r1; bar.warp.sync -1; ld.shared.u32 %r7, [%r6]; bar.warp.sync %r8;\nst.shared.u32 [%r4], %r7;", 32, 0, false, false, 0 },
    { "barriers of pairs hand on what they know, others do not", EMU_RACE,
      "shr.u32 %r9, %r1, 1; shl.b32 %r9, %r9, 1; shl.b32 %r8, 3, %r9;\n" LANE_WORD
      "st.shared.u32 [%r4], %r1; bar.warp.sync %r8; xor.b32 %r6, %r3, 8; add.u32 %r6, %r6, %r2;\nld.shared.u32 %r7, [%r6]; //!",
      "shr.u32 %r9, %r1, 1; shl.b32 %r9, %r9, 1; shl.b32 %r8, 3, %r9; and.b32 %r10, %r1, 29; shl.b32 %r10, 5, %r10;\n" LANE_WORD
      "st.shared.u32 [%r4], %r1; bar.warp.sync %r8; bar.warp.sync %r10; xor.b32 %r6, %r3, 12; add.u32 %r6, %r6, %r2;\nld.shared.u32 %r7, [%r6];", 32, 0, false, false, 0 },
    { "a barrier of half a warp, in global memory", EMU_RACE,
      HALVES "st.global.u32 [%rd5], 5; bar.warp.sync %r8; xor.b32 %r2, %r1, 16; mad.wide.u32 %rd6, %r2, 4, %rd2;\nld.global.u32 %r3, [%rd6]; //!",
      HALVES "st.global.u32 [%rd5], 5; bar.warp.sync %r8; xor.b32 %r2, %r1, 8; mad.wide.u32 %rd6, %r2, 4, %rd2;\nld.global.u32 %r3, [%rd6];", 32, 0, false, true, 0 },
    { "a fence does not order the lanes of a warp", EMU_RACE,
      "st.global.u32 [%rd5], 5; membar.gl; xor.b32 %r2, %r1, 1; mad.wide.u32 %rd6, %r2, 4, %rd2;\nld.global.u32 %r3, [%rd6]; //!",
      "st.global.u32 [%rd5], 5; membar.gl; bar.warp.sync -1; xor.b32 %r2, %r1, 1; mad.wide.u32 %rd6, %r2, 4, %rd2;\nld.global.u32 %r3, [%rd6];", 32, 0, false, true, 0 },
    { "a shuffle of halves that name one another", EMU_DIVERGENT,
      HALVES "xor.b32 %r8, %r8, 0x80000001;\nshfl.sync.bfly.b32 %r7, %r1, 1, 31, %r8; //!",
      HALVES "shfl.sync.bfly.b32 %r7, %r1, 1, 31, %r8; vote.sync.ballot.b32 %r9, %p1, %r8; redux.sync.add.u32 %r9, %r1, %r8;", 32, 0, false, false, 0 },
    { "the source of a cp.async is overwritten before the wait", EMU_ASYNC_RACE,
      SHARED_WORD "st.global.u32 [%rd5], 5; cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group;\nst.global.u32 [%rd5], 6; //!\ncp.async.wait_group 0;",
      SHARED_WORD "st.global.u32 [%rd5], 5; cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group; cp.async.wait_group 0;\nst.global.u32 [%rd5], 6;",
      0, 0, false, false, 0 },
    { "the source of a cp.async is overwritten by another warp, before the wait", EMU_ASYNC_RACE,
      SHARED_WORD "cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group; bar.sync 0;\n"
      "xor.b32 %r6, %r1, 32; mad.wide.u32 %rd6, %r6, 4, %rd2;\nst.global.u32 [%rd6], 6; //!\ncp.async.wait_group 0;",
      SHARED_WORD "cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\n"
      "xor.b32 %r6, %r1, 32; mad.wide.u32 %rd6, %r6, 4, %rd2;\nst.global.u32 [%rd6], 6;", 0, 0, false, true, 0 },
    { "the source of a younger cp.async is overwritten", EMU_ASYNC_RACE,
      SHARED_WORD "cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group; cp.async.ca.shared.global [%r4+1024], [%rd5+1024], 4; cp.async.commit_group;\n"
      "cp.async.wait_group 1;\nst.global.u32 [%rd5+1024], 6; //!\ncp.async.wait_group 0;",
      SHARED_WORD "cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group; cp.async.ca.shared.global [%r4+1024], [%rd5+1024], 4; cp.async.commit_group;\n"
      "cp.async.wait_group 1;\nst.global.u32 [%rd5], 6;\ncp.async.wait_group 0;", 0, 0, false, true, 0 },
};

static void test_planted_faults(void **state)
{
    (void)state;
    check_cases(cases, TW_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_planted_faults) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
