/* test_emu_st_async.c: st.async in the emulator: numbers exchanged by the blocks of a cluster.
 *
 * As in test_emu_cluster_faults.c: a kernel with one mistake, in the lines marked //!, and the
 * same kernel put right. All run under several schedules, eight blocks in clusters of four.
 */
#include "cluster_rig.h"

enum { RANKS = 4, BLOCKS = 8, THREADS = 64, SEEDS = 12 };

/* The mbarrier lies at %r4, what arrives from 64 bytes behind it on. %p1 set in thread 0, %p2 in those
 * that send, each to the block whose rank is its number: %r11 that block's mbarrier, %r10 its bytes for
 * what this rank sends. */
#define INIT(bytes)                                                                      \
    "setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, %r3; mad.lo.u32 %r9, %r2, 4, %r4; ld.global.u32 %r8, [%rd4];\n" \
    "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1;\n"                                     \
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], " #bytes ";\n"
#define FENCE "@%p1 fence.mbarrier_init.release.cluster;\n"
#define MEET "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n"
#define PLACES "@%p2 mapa.shared::cluster.u32 %r10, %r9, %r1;\n@%p2 mapa.shared::cluster.u32 %r11, %r4, %r1;\n"
#define STORE(type, to, what, on) "st.async.shared::cluster.mbarrier::complete_tx::bytes." type " [" to "], " what ", [" on "];"
#define SEND "@%p2 " STORE("u32", "%r10+64", "%r8", "%r11") " //!\n"
#define AWAIT(name, sem, parity) name ": mbarrier.try_wait.parity" sem ".shared::cta.b64 %p3, [%r4], " #parity ";\n@!%p3 bra " name ";\n"
#define SUM                                                                              \
    "ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r4+64]; //!\n"                          \
    "add.u32 %r12, %r12, %r13; add.u32 %r14, %r14, %r15; add.u32 %r12, %r12, %r14; st.global.u32 [%rd5], %r12;\n"
#define START INIT(16) FENCE MEET PLACES
#define WAIT AWAIT("W", "", 0)

static const ClusterEntry entry = { HEAD(CLUSTER(4)), BLOCKS, THREADS };

/* ---- what is right ------------------------------------------------------------------------------- */

static void check_clean(const char *body, void (*check)(const uint32_t *in, const uint32_t *out))
{
    uint32_t in[WORDS], out[WORDS];

    cluster_fill(in);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        Rig rig;

        memset(out, 0xff, sizeof out);
        if (!cluster_run_body(&rig, &entry, body, seed, out)) {
            rig_print_faults(&rig);
            fail_msg("seed %d", (int)seed);
        }
        check(in, out);
        rig_close(&rig);
    }
}

/* Of each block every thread has the sum of what the lanes of its rank had, all over the cluster. */
static uint32_t sum_of(const uint32_t *in, int i)
{
    int block = i / THREADS, rank = block % RANKS;
    uint32_t sum = 0;

    for (int r = 0; r < RANKS; r++)
        sum += in[(block - rank + r) * THREADS + rank];
    return sum;
}

static void check_sums(const uint32_t *in, const uint32_t *out)
{
    for (int i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(out[i], sum_of(in, i));
}

static void check_twice(const uint32_t *in, const uint32_t *out)
{
    for (int i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(out[i], 2 * sum_of(in, i));
}

static void test_sums(void **state)
{
    (void)state;
    check_clean(START SEND WAIT SUM, check_sums);
    check_clean(INIT(16) FENCE "barrier.cluster.arrive.relaxed.aligned;\nbar.sync 0; barrier.cluster.wait.aligned;\n" PLACES SEND WAIT SUM,
                check_sums);
    /* an arrival that releases needs no fence; a scope, .weak and the order of modifiers change nothing */
    check_clean(INIT(16) SYNC PLACES SEND AWAIT("W", ".acquire.cluster", 0) SUM, check_sums);
    check_clean(START "@%p2 st.async.weak.mbarrier::complete_tx::bytes.shared::cluster.b32 [%r10+64], %r8, [%r11];\n" WAIT SUM, check_sums);
    /* the mbarrier is polled; bytes are expected only after they may have come */
    check_clean(START SEND "W: mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n@!%p3 bra W;\n" SUM, check_sums);
    check_clean("setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, %r3; mad.lo.u32 %r9, %r2, 4, %r4; ld.global.u32 %r8, [%rd4];\n"
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1;\n" FENCE MEET PLACES SEND
                "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\n" WAIT SUM, check_sums);
}

/* Of every type and width, by generic addresses and those of variables. */
static void test_forms(void **state)
{
    (void)state;
    check_clean(START "mov.b32 %f1, %r8;\n@%p2 " STORE("f32", "%r10+64", "%f1", "%r11") "\n" WAIT SUM, check_sums);
    check_clean(START "@%p2 " STORE("s32", "%r10+64", "%r8", "%r11") "\n" WAIT SUM, check_sums);
    check_clean(START "cvt.u64.u32 %rd6, %r9; cvta.shared.u64 %rd6, %rd6; cvt.u64.u32 %rd7, %r4; cvta.shared.u64 %rd7, %rd7;\n"
                "@%p2 mapa.u64 %rd6, %rd6, %r1;\n@%p2 mapa.u64 %rd7, %rd7, %r1;\n"
                "@%p2 st.async.mbarrier::complete_tx::bytes.u32 [%rd6+64], %r8, [%rd7];\n" WAIT SUM, check_sums);
    check_clean("setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, %r3; ld.global.u32 %r8, [%rd4];\n"
                "@%p1 mbarrier.init.shared::cta.b64 [sm+8], 1;\n@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [sm+8], 32;\n" FENCE MEET
                "@%p2 mapa.shared::cluster.u32 %r11, sm, %r1;\n@%p2 mad.lo.u32 %r10, %r2, 8, %r11;\ncvt.u64.u32 %rd6, %r8;\n"
                "@%p2 " STORE("b64", "%r10+64", "%rd6", "%r11+8") "\n"
                "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [sm+8], 0;\n@!%p3 bra W;\n"
                "ld.shared.v2.u64 {%rd10, %rd11}, [sm+64]; ld.shared.v2.u64 {%rd12, %rd13}, [sm+80]; add.u64 %rd10, %rd10, %rd11;\n"
                "add.u64 %rd12, %rd12, %rd13; add.u64 %rd10, %rd10, %rd12; cvt.u32.u64 %r12, %rd10; st.global.u32 [%rd5], %r12;\n", check_sums);
}

/* Elements of a vector keep their order: the first two of four times the number, the others subtracted. */
static void test_vectors(void **state)
{
    static const char *const body =
        INIT(96) FENCE MEET "@%p2 mapa.shared::cluster.u32 %r11, %r4, %r1;\n@%p2 mad.lo.u32 %r10, %r2, 16, %r11;\n"
        "@%p2 mad.lo.u32 %r16, %r2, 8, %r11;\nmul.lo.u32 %r20, %r8, 5; mul.lo.u32 %r21, %r8, 7; mul.lo.u32 %r22, %r8, 2;\n"
        "@%p2 " STORE("v4.u32", "%r10+64", "{%r20, %r21, %r22, %r8}", "%r11") "\n"
        "@%p2 " STORE("v2.u32", "%r16+128", "{%r22, %r8}", "%r11") "\n" WAIT
        "mov.u32 %r30, 0; mov.u32 %r31, 0;\n"
        "L: mad.lo.u32 %r32, %r31, 16, %r4; mad.lo.u32 %r33, %r31, 8, %r4; ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r32+64];\n"
        "ld.shared.v2.u32 {%r16, %r17}, [%r33+128]; add.u32 %r30, %r30, %r12; add.u32 %r30, %r30, %r13; sub.u32 %r30, %r30, %r14;\n"
        "sub.u32 %r30, %r30, %r15; sub.u32 %r30, %r30, %r16; sub.u32 %r30, %r30, %r16; sub.u32 %r30, %r30, %r16; sub.u32 %r30, %r30, %r17;\n"
        "add.u32 %r31, %r31, 1; setp.lt.u32 %p4, %r31, 4; @%p4 bra L;\nst.global.u32 [%rd5], %r30;\n"; /* 5 + 7 - 2 - 1 - 6 - 1 = 2 */

    (void)state;
    check_clean(body, check_twice);
}

/* Two exchanges through the same bytes, a phase each; the barrier between says that all have read. */
static void test_phases(void **state)
{
    (void)state;
    check_clean(START SEND WAIT SUM "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\nadd.u32 %r8, %r8, %r8;\n" SYNC SEND
                AWAIT("X", "", 1) SUM, check_twice);
}

/* An mbarrier that is initialised again begins anew. */
static void test_initialised_again(void **state)
{
    (void)state;
    check_clean(START SEND WAIT "bar.sync 0;\n@%p1 mbarrier.inval.shared.b64 [%r4];\n" INIT(16) FENCE "add.u32 %r4, %r4, 128;\n@%p2 add.u32 %r10, %r10, 128;\n"
                MEET SEND "W2: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4+-128], 0;\n@!%p3 bra W2;\n" SUM, check_sums);
}

/* A cluster of one block, and entries that say nothing of clusters, store into their own. */
static void test_own_block(void **state)
{
    static const char *const directives[] = { "", ".reqnctapercluster 1" };
    uint32_t in[WORDS], out[WORDS];

    (void)state;
    cluster_fill(in);
    for (int i = 0; i < 2 * SEEDS; i++) {
        Rig rig;

        rig_open(&rig);
        rig.launch.grid[0] = 3;
        rig.launch.block[0] = THREADS;
        rig.launch.seed = (uint64_t)i / 2;
        if (!cluster_run(&rig, arena_printf(rig.arena, "%s%s", i % 2 ? HEAD(".reqnctapercluster 1") : HEAD(""),
                                            INIT(4) FENCE MEET PLACES SEND WAIT "ld.shared.u32 %r12, [%r4+64]; st.global.u32 [%rd5], %r12;\nret;\n}\n"),
                         in, out)) {
            rig_print_faults(&rig);
            fail_msg("'%s', seed %d", directives[i % 2], i / 2);
        }
        for (int t = 0; t < 3 * THREADS; t++)
            assert_int_equal(out[t], in[t / THREADS * THREADS]);
        rig_close(&rig);
    }
}

/* ---- planted faults -------------------------------------------------------------------------------- */

#define WELL START SEND WAIT SUM
#define AGAIN "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\n"
/* Lane 1 of rank 1 is the last to send, long after the others. */
#define OTHERS "setp.ne.u32 %p5, %r2, 1; and.pred %p2, %p2, %p5;\n"

/* The first warp waits at the barrier of the cluster, and says so to the second by an mbarrier of their own; that one sends. */
#define OTHER_WARP(sem)                                                                  \
    "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared::cta.b64 [%r4+8], 1;\n" SYNC INIT(16) FENCE \
    "setp.lt.u32 %p6, %r1, 32; sub.u32 %r18, %r1, 32; setp.lt.u32 %p2, %r18, 4;\n"       \
    "@%p2 mapa.shared::cluster.u32 %r10, %r9, %r18;\n@%p2 mapa.shared::cluster.u32 %r11, %r4, %r18;\n" \
    "barrier.cluster.arrive.relaxed.aligned;\n@!%p6 bra V;\nbarrier.cluster.wait.aligned;\n" \
    "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r4+8];\nbra T;\n"                        \
    "V: mbarrier.try_wait.parity" sem ".shared::cta.b64 %p3, [%r4+8], 0;\n@!%p3 bra V;\n" \
    SEND "barrier.cluster.wait.aligned;\nT:\n" WAIT

static const ClusterCase cases[] = {
    /* who waits */
    { "bytes are read before they are waited for", EMU_ASYNC_RACE, START SEND SUM WAIT, WELL, NULL, false },
    { "one warp waits for all", EMU_ASYNC_RACE, START SEND "setp.lt.u32 %p6, %r1, 32; @!%p6 bra S;\n" WAIT "S:\n" SUM,
      START SEND "setp.lt.u32 %p6, %r1, 32; @!%p6 bra S;\n" WAIT "S: bar.sync 0;\n" SUM, NULL, false },
    { "a relaxed wait acquires nothing", EMU_ASYNC_RACE, START SEND AWAIT("W", ".relaxed.cluster", 0) SUM, WELL, NULL, true },
    { "the barrier of the cluster does not say that they have come", EMU_ASYNC_RACE, START SEND SYNC SUM WAIT, WELL, NULL, true },
    { "another block reads them", EMU_ASYNC_RACE,
      START SEND WAIT "xor.b32 %r16, %r2, 1; mapa.shared::cluster.u32 %r16, %r4, %r16; ld.shared::cluster.u32 %r17, [%r16+64]; //!\n" SYNC,
      START SEND WAIT SYNC "xor.b32 %r16, %r2, 1; mapa.shared::cluster.u32 %r16, %r4, %r16; ld.shared::cluster.u32 %r17, [%r16+64];\n" SYNC, NULL, true },
    { "nobody waits", EMU_ASYNC_RACE, START SEND, START SEND WAIT, NULL, true },
    { "nobody waits, but at the barrier of the cluster", EMU_ASYNC_RACE, START SEND SYNC, START SEND WAIT SYNC, "nobody waited", true },
    { "a block exits", EMU_ASYNC_RACE, START "setp.eq.u32 %p5, %r2, 3; @%p5 exit;\nnot.pred %p5, %p5; " SEND WAIT,
      START "setp.eq.u32 %p5, %r2, 3; not.pred %p5, %p5; " SEND WAIT, NULL, false },
    { "a block exits before the others send", EMU_ASYNC_RACE,
      START "setp.eq.u32 %p5, %r2, 3; @%p5 exit;\n" SYNC SEND, START SYNC SEND WAIT, NULL, false },

    /* what else is done with the bytes */
    { "the block stores there meanwhile", EMU_ASYNC_RACE, START SEND "@%p1 st.shared.u32 [%r4+64], 0; //!\n" WAIT SUM,
      START SEND WAIT "bar.sync 0; @%p1 st.shared.u32 [%r4+64], 0;\nbar.sync 0;\n" SUM, NULL, false },
    { "the block stored there before", EMU_ASYNC_RACE, INIT(16) "@%p1 st.shared.u32 [%r4+64], 0;\n" FENCE MEET PLACES SEND WAIT SUM,
      INIT(16) "@%p1 st.shared.u32 [%r4+64], 0;\n" FENCE SYNC PLACES SEND WAIT SUM, NULL, true },
    { "the block read there before", EMU_ASYNC_RACE, INIT(16) "@%p1 st.shared.u32 [%r4+64], 0;\n@%p1 ld.shared.u32 %r17, [%r4+64];\n" FENCE MEET PLACES SEND WAIT SUM,
      INIT(16) "@%p1 st.shared.u32 [%r4+64], 0;\n@%p1 ld.shared.u32 %r17, [%r4+64];\n" FENCE SYNC PLACES SEND WAIT SUM, NULL, true },
    { "two blocks store to the same bytes", EMU_ASYNC_RACE,
      START "shr.u32 %r16, %r2, 1; mad.lo.u32 %r16, %r16, 4, %r4; @%p2 mapa.shared::cluster.u32 %r10, %r16, %r1;\n" SEND WAIT "ld.shared.u32 %r12, [%r4+64];\n",
      START "shr.u32 %r16, %r2, 0; mad.lo.u32 %r16, %r16, 4, %r4; @%p2 mapa.shared::cluster.u32 %r10, %r16, %r1;\n" SEND WAIT "ld.shared.u32 %r12, [%r4+64];\n",
      NULL, true },
    { "two stores of a lane", EMU_ASYNC_RACE, INIT(32) FENCE MEET PLACES SEND SEND WAIT,
      INIT(32) FENCE MEET PLACES SEND "@%p2 " STORE("u32", "%r10+128", "%r8", "%r11") "\n" WAIT, NULL, true },
    { "half of a vector", EMU_ASYNC_RACE,
      INIT(20) FENCE MEET "mapa.shared::cluster.u32 %r10, %r4, 0; setp.eq.u32 %p7, %r2, 0; and.pred %p8, %p1, %p7; setp.eq.u32 %p9, %r2, 1; and.pred %p9, %p9, %p1;\n"
      "@%p8 " STORE("v4.b32", "%r10+64", "{%r1, %r1, %r1, %r1}", "%r10") " //!\n@%p9 " STORE("b32", "%r10+76", "%r1", "%r10") " //!\n@!%p7 exit;\n" WAIT,
      INIT(20) FENCE MEET "mapa.shared::cluster.u32 %r10, %r4, 0; setp.eq.u32 %p7, %r2, 0; and.pred %p8, %p1, %p7; setp.eq.u32 %p9, %r2, 1; and.pred %p9, %p9, %p1;\n"
      "@%p8 " STORE("v4.b32", "%r10+64", "{%r1, %r1, %r1, %r1}", "%r10") "\n@%p9 " STORE("b32", "%r10+80", "%r1", "%r10") "\n@!%p7 exit;\n" WAIT, NULL, true },
    { "a second exchange before all have read the first", EMU_ASYNC_RACE, START SEND WAIT SUM AGAIN MEET SEND AWAIT("X", "", 1) SUM,
      START SEND WAIT SUM AGAIN SYNC SEND AWAIT("X", "", 1) SUM, NULL, true },
    { "other bytes, but perhaps of the phase before", EMU_ASYNC_RACE,
      START SEND WAIT AGAIN MEET "@%p2 " STORE("u32", "%r10+128", "%r8", "%r11") " //!\n" AWAIT("X", "", 1),
      START SEND WAIT AGAIN SYNC "@%p2 " STORE("u32", "%r10+128", "%r8", "%r11") "\n" AWAIT("X", "", 1), "earlier phase", true },
    { "a wait and no reads between two exchanges of one warp", EMU_ASYNC_RACE,
      START SEND WAIT AGAIN "bar.sync 0;\n" SEND AWAIT("X", "", 1), START SEND WAIT AGAIN SYNC SEND AWAIT("X", "", 1), NULL, false },

    /* the mbarrier */
    { "no barrier of the cluster", EMU_BARRIER, INIT(16) FENCE PLACES SEND WAIT, START SEND WAIT, NULL, false },
    { "an arrival and no wait", EMU_BARRIER, INIT(16) FENCE "barrier.cluster.arrive.relaxed.aligned;\n" PLACES SEND WAIT "barrier.cluster.wait.aligned;\n",
      START SEND WAIT, NULL, false },
    { "another warp has waited for that arrival", EMU_BARRIER, OTHER_WARP(".relaxed.cluster"), OTHER_WARP(".acquire.cluster"), "is not known here", false },
    { "nothing says that it is initialised", EMU_BARRIER, INIT(16) MEET PLACES SEND WAIT, INIT(16) FENCE MEET PLACES SEND WAIT, "is not known here", false },
    { "the fence of another thread", EMU_BARRIER, INIT(16) "setp.eq.u32 %p5, %r1, 1; @%p5 fence.mbarrier_init.release.cluster;\n" MEET PLACES SEND WAIT,
      INIT(16) "fence.mbarrier_init.release.cluster;\n" MEET PLACES SEND WAIT, "is not known here", false },
    { "the fence of another warp", EMU_BARRIER, INIT(16) "setp.eq.u32 %p5, %r1, 32; @%p5 fence.mbarrier_init.release.cluster;\n" MEET PLACES SEND WAIT,
      INIT(16) FENCE MEET PLACES SEND WAIT, "is not known here", false },
    { "the fence behind the arrival", EMU_BARRIER,
      INIT(16) "barrier.cluster.arrive.relaxed.aligned;\n" FENCE "barrier.cluster.wait.aligned;\n" PLACES SEND WAIT,
      INIT(16) FENCE "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n" PLACES SEND WAIT, "is not known here", false },
    { "initialised behind the fence", EMU_BARRIER, "setp.eq.u32 %p1, %r1, 0;\n" FENCE INIT(16) MEET PLACES SEND WAIT,
      "setp.eq.u32 %p1, %r1, 0;\n" INIT(16) FENCE MEET PLACES SEND WAIT, "is not known here", false },
    { "initialised again", EMU_BARRIER,
      START "@%p1 mbarrier.inval.shared.b64 [%r4];\n@%p1 mbarrier.init.shared.b64 [%r4], 1;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 16;\n" MEET SEND WAIT,
      START "@%p1 mbarrier.inval.shared.b64 [%r4];\n@%p1 mbarrier.init.shared.b64 [%r4], 1;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 16;\n" FENCE MEET SEND WAIT,
      NULL, false },
    { "nothing is initialised there", EMU_BARRIER, START "@%p2 " STORE("u32", "%r10+64", "%r8", "%r11+8") " //!\n",
      START "@%p2 " STORE("u32", "%r10+64", "%r8", "%r11+0") "\n" WAIT, "no initialised mbarrier", false },
    { "an mbarrier of another block", EMU_BARRIER,
      START "@%p2 mapa.shared::cluster.u32 %r11, %r4, 0;\n" SEND WAIT, START "@%p2 mapa.shared::cluster.u32 %r11, %r4, %r1;\n" SEND WAIT, "of rank", false },
    { "bytes over the mbarrier", EMU_BARRIER, START "@%p2 " STORE("u32", "%r11+4", "%r8", "%r11") " //!\n" WAIT,
      START "@%p2 " STORE("u32", "%r10+64", "%r8", "%r11") "\n" WAIT, "mbarrier lies", false },
    { "the mbarrier is misaligned", EMU_MISALIGNED, START "@%p2 " STORE("u32", "%r10+64", "%r8", "%r11+4") " //!\n",
      START "@%p2 " STORE("u32", "%r10+64", "%r8", "%r11") "\n" WAIT, NULL, false },

    /* places */
    { "misaligned", EMU_MISALIGNED, START "@%p2 " STORE("u32", "%r10+66", "%r8", "%r11") " //!\n" WAIT, START SEND WAIT, NULL, true },
    { "a misaligned vector", EMU_MISALIGNED, INIT(32) FENCE MEET PLACES "@%p1 st.shared.u32 [%r4+512], 0;\n@%p2 " STORE("v2.u32", "%r11+68", "{%r8, %r8}", "%r11") " //!\n" WAIT,
      INIT(32) FENCE MEET PLACES "@%p2 mad.lo.u32 %r10, %r2, 8, %r11;\n@%p2 " STORE("v2.u32", "%r10+64", "{%r8, %r8}", "%r11") "\n" WAIT, NULL, true },
    { "outside of shared memory", EMU_OUT_OF_BOUNDS, START "@%p2 " STORE("u32", "%r11+4096", "%r8", "%r11") " //!\n" WAIT, START SEND WAIT, NULL, true },
    { "no block of the cluster", EMU_OUT_OF_BOUNDS, START "@%p2 add.u32 %r10, %r10, 0x10000000;\n" SEND WAIT, START SEND WAIT, "no block", true },
    { "an mbarrier of no block", EMU_OUT_OF_BOUNDS, START "@%p2 add.u32 %r11, %r11, 0x10000000;\n" SEND, START SEND WAIT, "no block", true },

    /* how many bytes */
    { "too few are expected", EMU_TRANSACTION, INIT(12) FENCE MEET PLACES SEND WAIT, START SEND WAIT, NULL, false },
    { "too many are expected", EMU_TRANSACTION, INIT(20) FENCE MEET PLACES SEND "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0; //!\n@!%p3 bra W;\n",
      START SEND WAIT, "4 bytes", true },
    { "a block does not send", EMU_TRANSACTION, START OTHERS SEND "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0; //!\n@!%p3 bra W;\n",
      START SEND WAIT, "4 bytes", true },
};

static void test_planted_faults(void **state)
{
    (void)state;
    assert_int_equal(cluster_check_cases(&entry, cases, TW_COUNT(cases)), 0);
}

/* Who waits where, when blocks wait for each other: the block and its thread are named. */
static void test_deadlock(void **state)
{
    static const char *const body =
        "setp.eq.u32 %p1, %r1, 0; setp.ne.u32 %p4, %r2, 2; @%p1 mbarrier.init.shared.b64 [%r4], 2;\n" FENCE MEET
        "@%p4 bra MEETS; setp.lt.u32 %p5, %r1, 32; @%p5 exit;\n"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0; //!\n@!%p3 bra W;\nMEETS: barrier.cluster.arrive;\nbarrier.cluster.wait; //!\n";

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint32_t out[WORDS];
        Rig rig;
        int waits = 0, meets = 0;

        assert_false(cluster_run_body(&rig, &entry, body, seed, out));
        for (int i = 0; i < rig.report.fault_count; i++) {
            const EmuFault *f = &rig.report.faults[i];
            bool wait = strstr(f->message, "phase 0 (parity 0) of mbarrier 0x0, which lacks 2 of 2 arrivals") != NULL;

            assert_int_equal(f->kind, EMU_DEADLOCK);
            assert_true(cluster_marked(cluster_text(rig.arena, &entry, body), f->line));
            assert_int_equal(f->block[0] % RANKS == 2, wait);
            assert_int_equal(f->thread, wait ? 32 : 0);
            waits += wait;
            meets += strstr(f->message, "the cluster's barrier, at which 32 of its threads") != NULL;
        }
        assert_int_equal(waits, 1);
        assert_int_equal(meets, 1);
        rig_close(&rig);
    }
}

/* Without checks nobody looks at order; places, mbarriers and counts are. */
static void test_no_checks(void **state)
{
    static const struct { const char *body; bool ok; } texts[] = {
        { WELL, true },
        { INIT(16) MEET PLACES SEND WAIT SUM, true },
        { START SEND SUM WAIT, true },
        { START "@%p2 " STORE("u32", "%r11+4096", "%r8", "%r11") "\n" WAIT, false },
        { START "@%p2 " STORE("u32", "%r10+64", "%r8", "%r11+8") "\n", false },
        { INIT(20) FENCE MEET PLACES SEND WAIT, false },
        { INIT(12) FENCE MEET PLACES "setp.eq.u32 %p5, %r2, 3; @%p5 exit;\n" SYNC SEND WAIT, false }, /* to a block that has exited */
        { INIT(12) FENCE MEET PLACES "setp.eq.u32 %p5, %r2, 3; @%p5 exit;\nsetp.lt.u32 %p2, %r1, 3;\n" SYNC SEND WAIT, true },
    };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        uint32_t in[WORDS], out[WORDS];
        Rig rig;

        cluster_fill(in);
        rig_open(&rig);
        rig.launch.grid[0] = BLOCKS;
        rig.launch.block[0] = THREADS;
        rig.launch.no_checks = true;
        assert_int_equal(cluster_run(&rig, cluster_text(rig.arena, &entry, texts[i].body), in, out), texts[i].ok);
        rig_close(&rig);
    }
}

static void test_refused(void **state)
{
    static const ClusterRefusal texts[] = {
        { "", "st.async.shared::cluster.u32 [%r4], %r1, [%r4];", "TW0824" },
        { "", "st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r4], %h1, [%r4];", "TW0824" },
        { "", "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r4], {%rd1, %rd1, %rd1, %rd1}, [%r4];", "TW0824" },
        { "", "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r4], %r1, [%r4];", "TW0824" },
        { "", "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %r1;", "TW0824" },
        { "", "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %r1, %r4;", "TW0824" },
        { "", "st.async.shared::cluster.mbarrier::complete_tx::bytes [%r4], %r1, [%r4];", "TW0823" },
        { "", "st.async.global.mbarrier::complete_tx::bytes.b32 [%rd1], %r1, [%r4];", "TW0823" },
        { "", "st.async.release.mbarrier::complete_tx::bytes.b32 [%r4], %r1, [%r4];", "TW0823" },
    };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(texts); i++)
        cluster_check_refusal(&texts[i]);
}

/* Anything may happen but a crash or a hang. */
static void test_mutated(void **state)
{
    static const char *const pieces[] = {
        "", "", " ", ";", "%r2", "%r4", "%r9", "%r10", "%r11", "{", "}", "[", "]", ", ", "0", "1", "-1", "0x1000000", "0xfffffff0",
        "%p1", "@%p1 ", "@%p2 ", "exit;", "bar.sync 0;", SYNC, SEND, PLACES, FENCE, "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 16;",
        "@%p1 mbarrier.inval.shared.b64 [%r4];", "@%p1 mbarrier.init.shared.b64 [%r4], 1;", "barrier.cluster.arrive;", "barrier.cluster.wait;",
    };
    Rng rng = { 7 };

    (void)state;
    for (int i = 0; i < 1500; i++) {
        const ClusterCase *c = &cases[rng_below(&rng, (int)TW_COUNT(cases))];
        uint32_t in[WORDS], out[WORDS];
        const char *text;
        Rig rig;

        cluster_fill(in);
        rig_open(&rig);
        rig.launch.grid[0] = 4;
        rig.launch.block[0] = i % 3 ? 64 : 40;
        rig.launch.seed = (uint64_t)i;
        rig.launch.max_instructions = 20000;
        text = cluster_text(rig.arena, &entry, cluster_mutant(rig.arena, &rng, i % 2 ? c->right : c->wrong, pieces, TW_COUNT(pieces)));
        if (rig_parse_text(&rig, text, strlen(text)))
            cluster_run(&rig, text, in, out);
        rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),     cmocka_unit_test(test_forms),     cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_phases),   cmocka_unit_test(test_initialised_again), cmocka_unit_test(test_own_block),
        cmocka_unit_test(test_planted_faults), cmocka_unit_test(test_deadlock), cmocka_unit_test(test_no_checks),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_mutated),
    };

    return cmocka_run_group_tests_name("emu_st_async", tests, NULL, NULL);
}
