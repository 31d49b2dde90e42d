/* test_emu_cluster_faults.c: what the emulator notices of clusters.
 *
 * As in test_emu_faults.c: a kernel with one mistake, in the lines marked //!, and the
 * same kernel put right. Both run under several schedules, four blocks in clusters of two.
 */
#include "cluster_rig.h"

/* %r8 the other rank, %r9 the thread's own word, %r10 the same of the other block, %p1 set in
 * rank 0, %p2 in the first warp, %p3 in thread 0, %p4 in all but the first warp. */
#define PEER                                                                             \
    "xor.b32 %r8, %r2, 1; mad.lo.u32 %r9, %r1, 4, %r4; mapa.shared::cluster.u32 %r10, %r9, %r8;\n" \
    "setp.eq.u32 %p1, %r2, 0; setp.lt.u32 %p2, %r1, 32; setp.eq.u32 %p3, %r1, 0; setp.ge.u32 %p4, %r1, 32;\n"
#define FILL "st.shared.u32 [%r9], %r1;\n"
#define ARRIVE "barrier.cluster.arrive.release.aligned;\n"
#define RELAXED "barrier.cluster.arrive.relaxed.aligned;\n"
#define WAIT "barrier.cluster.wait.acquire.aligned;\n"
#define PUT "st.shared::cluster.u32 [%r10], %r1; //!\n"
#define GET "ld.shared::cluster.u32 %r11, [%r10]; //!\n"
#define OWN_PUT "st.shared.u32 [%r9], 7; //!\n"
#define OWN_GET "ld.shared.u32 %r11, [%r9]; //!\n"
/* Thread 0 copies 256 bytes of shared memory to `out`, and waits until they are there. */
#define STORED                                                                           \
    "@%p3 cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r4], 256; //!\n"          \
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
#define MANY_PHASES "mov.u32 %r20, 0;\nMANY: " SYNC "add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, 40; @%p5 bra MANY;\n"

static const ClusterCase cases[] = {
    /* between a store and what the owner does */
    { "bar.sync does not order blocks: remote store, own load", EMU_RACE, PEER FILL SYNC PUT "bar.sync 0;\n" OWN_GET SYNC,
      PEER FILL SYNC PUT SYNC OWN_GET SYNC, "block", true },
    { "remote store, own store", EMU_RACE, PEER FILL SYNC PUT "bar.sync 0;\n" OWN_PUT SYNC, PEER FILL SYNC PUT SYNC OWN_PUT SYNC, "block", true },
    { "own store, remote load", EMU_RACE, PEER FILL SYNC OWN_PUT GET SYNC, PEER FILL SYNC OWN_PUT SYNC GET SYNC, "block", true },
    { "own store, remote store", EMU_RACE, PEER SYNC OWN_PUT "bar.sync 0;\n" PUT SYNC, PEER SYNC OWN_PUT SYNC PUT SYNC, "block", true },
    { "own load, remote store", EMU_RACE, PEER FILL SYNC OWN_GET PUT SYNC, PEER FILL SYNC OWN_GET SYNC PUT SYNC, "block", true },
    { "remote load, own store", EMU_RACE, PEER FILL SYNC GET "bar.sync 0;\n" OWN_PUT SYNC, PEER FILL SYNC GET SYNC OWN_PUT SYNC, "block", true },
    { "generic addresses", EMU_RACE,
      PEER FILL "cvt.u64.u32 %rd6, %r9; cvta.shared.u64 %rd6, %rd6; mapa.u64 %rd7, %rd6, %r8;\n" SYNC "st.u32 [%rd7], %r1; //!\nld.u32 %r11, [%rd6]; //!\n" SYNC,
      PEER FILL "cvt.u64.u32 %rd6, %r9; cvta.shared.u64 %rd6, %rd6; mapa.u64 %rd7, %rd6, %r8;\n" SYNC "st.u32 [%rd7], %r1;\n" SYNC "ld.u32 %r11, [%rd6];\n" SYNC,
      "block", true },
    { "vectors, half of one", EMU_RACE,
      PEER "mad.lo.u32 %r9, %r1, 16, %r4; mad.lo.u32 %r10, %r1, 12, %r10; st.shared.v4.b32 [%r9], {%r1, %r1, %r1, %r1};\n" SYNC
      "st.shared::cluster.v4.b32 [%r10], {%r2, %r2, %r2, %r2}; //!\nld.shared.v2.b32 {%r11, %r12}, [%r9+8]; //!\n" SYNC,
      PEER "mad.lo.u32 %r9, %r1, 16, %r4; mad.lo.u32 %r10, %r1, 12, %r10; st.shared.v4.b32 [%r9], {%r1, %r1, %r1, %r1};\n" SYNC
      "st.shared::cluster.v2.b32 [%r10], {%r2, %r2};\nld.shared.v2.b32 {%r11, %r12}, [%r9+8];\n" SYNC, "block", true },
    { "an atomic operation and a load", EMU_RACE, PEER FILL SYNC "red.shared::cluster.add.u32 [%r10], 1; //!\n" OWN_GET SYNC,
      PEER FILL SYNC "red.shared::cluster.add.u32 [%r10], 1; atom.shared.add.u32 %r12, [%r9], 1;\n" SYNC OWN_GET SYNC, "block", true },

    /* between two that are not the owner */
    { "two blocks store to a third", EMU_RACE,
      PEER SYNC "mapa.shared::cluster.u32 %r12, sm, 0; add.u32 %r13, %r2, 5; @%p3 st.shared::cluster.u32 [%r12], %r13; //!\n" SYNC,
      PEER SYNC "mapa.shared::cluster.u32 %r12, sm, 0; mad.lo.u32 %r12, %r2, 4, %r12; @%p3 st.shared::cluster.u32 [%r12], %r2;\n" SYNC, "block", true },
    { "two warps of one block store to another", EMU_RACE,
      PEER SYNC "mapa.shared::cluster.u32 %r12, sm+64, %r8; @%p2 st.shared::cluster.u32 [%r12], 5; //!\n@%p4 st.shared::cluster.u32 [%r12], 6; //!\n" SYNC,
      PEER SYNC "mapa.shared::cluster.u32 %r12, sm+64, %r8; @%p2 st.shared::cluster.u32 [%r12], 5;\nbar.sync 0; @%p4 st.shared::cluster.u32 [%r12], 6;\n" SYNC,
      NULL, true },
    { "a warp loads what another of its block stores elsewhere", EMU_RACE,
      PEER SYNC "mapa.shared::cluster.u32 %r12, sm, %r8; @%p3 st.shared::cluster.u32 [%r12], 5; //!\n@%p4 ld.shared::cluster.u32 %r13, [%r12]; //!\n" SYNC,
      PEER SYNC "mapa.shared::cluster.u32 %r12, sm, %r8; @%p3 st.shared::cluster.u32 [%r12], 5;\nbar.sync 0; @%p4 ld.shared::cluster.u32 %r13, [%r12];\n" SYNC,
      NULL, false },

    /* what the barrier orders */
    { "a relaxed arrival orders nothing", EMU_RACE, PEER FILL SYNC PUT RELAXED WAIT OWN_GET SYNC,
      PEER FILL SYNC PUT "fence.acq_rel.cluster;\n" RELAXED WAIT OWN_GET SYNC, "block", true },
    { "the fence comes before the store", EMU_RACE, PEER FILL SYNC "fence.acq_rel.cluster;\n" PUT RELAXED WAIT OWN_GET SYNC,
      PEER FILL SYNC PUT RELAXED WAIT SYNC OWN_GET SYNC, "block", true },
    { "a store behind the arrival", EMU_RACE, PEER FILL SYNC ARRIVE PUT WAIT OWN_GET SYNC, PEER FILL SYNC PUT ARRIVE WAIT OWN_GET SYNC, "block", true },
    { "a load before the wait", EMU_RACE, PEER FILL SYNC PUT ARRIVE OWN_GET WAIT SYNC, PEER FILL SYNC PUT ARRIVE WAIT OWN_GET SYNC, "block", true },
    { "a warp waits, another does not", EMU_RACE, PEER FILL SYNC "@%p2 st.shared::cluster.u32 [%r10+128], %r1; //!\n" ARRIVE "@%p2 barrier.cluster.wait;\n@%p4 ld.shared.u32 %r11, [%r9]; //!\n@%p4 barrier.cluster.wait;\n" SYNC,
      PEER FILL SYNC "@%p2 st.shared::cluster.u32 [%r10+128], %r1;\n" ARRIVE "@%p2 barrier.cluster.wait;\nbar.sync 0; @%p4 ld.shared.u32 %r11, [%r9];\n@%p4 barrier.cluster.wait;\n" SYNC,
      "block", true },
    { "global memory", EMU_RACE, "xor.b32 %r8, %r5, 1; mad.lo.u32 %r9, %r8, %r6, %r1; mad.wide.u32 %rd6, %r9, 4, %rd2; st.global.u32 [%rd5], 5;\n"
      RELAXED WAIT "ld.global.u32 %r11, [%rd6]; //!\n",
      "xor.b32 %r8, %r5, 1; mad.lo.u32 %r9, %r8, %r6, %r1; mad.wide.u32 %rd6, %r9, 4, %rd2; st.global.u32 [%rd5], 5;\n" SYNC "ld.global.u32 %r11, [%rd6];\n",
      NULL, true },

    /* whether the other block is there */
    { "no barrier since the start", EMU_RACE, PEER PUT SYNC, PEER RELAXED WAIT PUT SYNC, "may not have started", true },
    { "an arrival alone does not say that others have started", EMU_RACE, PEER ARRIVE PUT WAIT SYNC, PEER ARRIVE WAIT PUT SYNC, "may not have started", true },
    { "no barrier before the end", EMU_RACE, PEER FILL SYNC GET, PEER FILL SYNC GET SYNC, "may exit", true },
    { "nobody waits before the end", EMU_RACE, PEER FILL SYNC GET ARRIVE, PEER FILL SYNC GET ARRIVE "@%p2 barrier.cluster.wait;\n", "may exit", true },
    { "nothing is released before the end", EMU_RACE, PEER SYNC PUT RELAXED WAIT, PEER SYNC PUT ARRIVE WAIT, "may exit", true },
    { "an access behind the last barrier", EMU_RACE, PEER FILL SYNC SYNC "@%p1 ld.shared::cluster.u32 %r11, [%r10]; //!\n",
      PEER FILL SYNC "@%p1 ld.shared::cluster.u32 %r11, [%r10];\n" SYNC, "may exit", true },

    /* places */
    { "behind the other's shared memory", EMU_OUT_OF_BOUNDS, PEER SYNC "st.shared::cluster.u32 [%r10+4096], %r1; //!\n" SYNC,
      PEER SYNC "st.shared::cluster.u32 [%r10+3840], %r1;\n" SYNC, "rank", true },
    { "before the other's shared memory", EMU_OUT_OF_BOUNDS, PEER SYNC "@%p3 st.shared::cluster.u32 [%r10+-4], %r1; //!\n" SYNC,
      PEER SYNC "@%p3 st.shared::cluster.u32 [%r10+4], %r1;\n" SYNC, NULL, true },
    { "no such rank", EMU_OUT_OF_BOUNDS, PEER SYNC "mapa.shared::cluster.u32 %r12, sm, %r3; //!\n" SYNC,
      PEER SYNC "mapa.shared::cluster.u32 %r12, sm, %r2;\n" SYNC, "rank 2", true },
    { "an address of a larger cluster", EMU_OUT_OF_BOUNDS, PEER SYNC "add.u32 %r12, %r10, 0x2000000; st.shared::cluster.u32 [%r12], %r1; //!\n" SYNC,
      PEER SYNC "st.shared::cluster.u32 [%r10], %r1;\n" SYNC, NULL, true },
    { "shared::cta does not reach another block", EMU_OUT_OF_BOUNDS, PEER SYNC "st.shared.u32 [%r10], %r1; //!\n" SYNC, PEER SYNC PUT SYNC, NULL, true },
    { "misaligned", EMU_MISALIGNED, PEER SYNC "st.shared::cluster.u32 [%r10+2], %r1; //!\n" SYNC, PEER SYNC "st.shared::cluster.u32 [%r10+4], %r1;\n" SYNC,
      NULL, true },
    { "uninitialised", EMU_UNINITIALISED, PEER SYNC GET SYNC, PEER FILL SYNC GET SYNC, "rank", true },
    { "lanes store different values to one place", EMU_RACE, PEER SYNC "mapa.shared::cluster.u32 %r12, sm, %r8;\n@%p2 st.shared::cluster.u32 [%r12], %r1; //!\n" SYNC,
      PEER SYNC "mapa.shared::cluster.u32 %r12, sm, %r8;\n@%p2 st.shared::cluster.u32 [%r12], 3;\n" SYNC, "lanes", true },

    /* the barrier itself */
    { "a wait without an arrival", EMU_BARRIER, SYNC "barrier.cluster.wait.aligned; //!\n", SYNC "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n",
      "without having arrived", true },
    { "two arrivals", EMU_BARRIER, "barrier.cluster.arrive;\nbarrier.cluster.arrive; //!\nbarrier.cluster.wait;\n",
      "barrier.cluster.arrive;\nbarrier.cluster.wait; barrier.cluster.arrive;\nbarrier.cluster.wait;\n", "second time", false },
    { "a block waits for itself at another barrier", EMU_DEADLOCK,
      PEER "@%p1 bra OTHER; barrier.cluster.arrive;\nbarrier.cluster.wait; //!\nbra OUT;\nOTHER: @%p2 bra OUT; bar.sync 1, 64;\nOUT:\n",
      PEER "@%p1 bra OTHER; barrier.cluster.arrive;\nbarrier.cluster.wait;\nbra OUT;\nOTHER: @%p2 bra OUT; bar.sync 1, 32;\nOUT:\n", "the cluster's barrier", false },
    { "a block waits for a phase of an mbarrier", EMU_DEADLOCK,
      PEER "@%p3 mbarrier.init.shared.b64 [%r4], 1;\n" SYNC "@!%p1 bra MEET;\nL: mbarrier.try_wait.parity.shared.b64 %p6, [%r4], 0; @!%p6 bra L; //!\n"
      "MEET: barrier.cluster.arrive;\nbarrier.cluster.wait; //!\n",
      PEER "@%p3 mbarrier.init.shared.b64 [%r4], 1;\n" SYNC "@!%p1 bra MEET; @%p3 mbarrier.arrive.shared.b64 _, [%r4];\n"
      "L: mbarrier.try_wait.parity.shared.b64 %p6, [%r4], 0; @!%p6 bra L;\nMEET: barrier.cluster.arrive;\nbarrier.cluster.wait;\n", NULL, true },
    { "aligned, in part of a warp", EMU_DIVERGENT, "setp.lt.u32 %p1, %r1, 16;\n@%p1 barrier.cluster.arrive.aligned; //!\n@!%p1 barrier.cluster.arrive; barrier.cluster.wait;\n",
      "setp.lt.u32 %p1, %r1, 16;\n@%p1 barrier.cluster.arrive;\n@!%p1 barrier.cluster.arrive; barrier.cluster.wait;\n", NULL, true },
    { "aligned wait, in part of a warp", EMU_DIVERGENT, "setp.lt.u32 %p1, %r1, 16;\nbarrier.cluster.arrive; @%p1 barrier.cluster.wait.aligned; //!\n@!%p1 barrier.cluster.wait;\n",
      "setp.lt.u32 %p1, %r1, 16;\nbarrier.cluster.arrive; @%p1 barrier.cluster.wait;\n@!%p1 barrier.cluster.wait;\n", NULL, true },

    /* asynchronous copies and mbarriers */
    { "cp.async into what another block loads", EMU_ASYNC_RACE,
      PEER FILL SYNC "cp.async.ca.shared.global [%r9], [%rd4], 4; cp.async.commit_group;\n" SYNC GET "cp.async.wait_all;\n" SYNC,
      PEER FILL SYNC "cp.async.ca.shared.global [%r9], [%rd4], 4; cp.async.commit_group; cp.async.wait_all;\n" SYNC GET SYNC, NULL, false },
    { "a store to what a bulk copy may still read", EMU_ASYNC_RACE,
      PEER FILL "fence.proxy.async;\n" SYNC "@%p3 cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r4], 256; cp.async.bulk.commit_group;\n" SYNC PUT
      "cp.async.bulk.wait_group 0;\n" SYNC,
      PEER FILL "fence.proxy.async;\n" SYNC "@%p3 cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r4], 256; cp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group.read 0;\n" SYNC PUT "cp.async.bulk.wait_group 0;\n" SYNC, "bulk copy", true },
    { "a bulk copy of what another block stored, without a proxy fence", EMU_PROXY, PEER SYNC PUT SYNC STORED, PEER SYNC PUT SYNC "fence.proxy.async;\n" STORED, NULL, true },
    { "the proxy fence comes before the store", EMU_PROXY, PEER SYNC "fence.proxy.async;\n" PUT SYNC STORED, PEER SYNC PUT "fence.proxy.async;\n" SYNC STORED, NULL, true },
    { "a store since the proxy fence of long ago", EMU_PROXY, PEER SYNC PUT SYNC "fence.proxy.async;\n" MANY_PHASES "@%p3 st.shared::cluster.u32 [%r10], 7;\n" SYNC STORED,
      PEER SYNC PUT SYNC "fence.proxy.async;\n" MANY_PHASES STORED, NULL, true },
    { "an ordinary store to another block's mbarrier", EMU_BARRIER, PEER "@%p3 mbarrier.init.shared.b64 [%r4], 1;\n" SYNC "@%p3 st.shared::cluster.u32 [%r10], 1; //!\n" SYNC,
      PEER "@%p3 mbarrier.init.shared.b64 [%r4+64], 1;\n" SYNC "@%p3 st.shared::cluster.u32 [%r10], 1;\n" SYNC, NULL, true },
    { "another block's mbarrier", EMU_OUT_OF_BOUNDS, PEER "@%p3 mbarrier.init.shared.b64 [%r4], 1;\n" SYNC "@%p3 mbarrier.arrive.shared::cluster.b64 _, [%r10]; //!\n" SYNC,
      PEER "@%p3 mbarrier.init.shared.b64 [%r4], 1;\n" SYNC "@%p3 mbarrier.arrive.shared::cluster.b64 _, [%r9];\n" SYNC, "not emulated", true },
};

static const ClusterEntry entry = { HEAD(CLUSTER(2)), 4, 64 };

static void test_planted_faults(void **state)
{
    (void)state;
    assert_int_equal(cluster_check_cases(&entry, cases, TW_COUNT(cases)), 0);
}

/* Without checks nobody looks at order; the barrier and bounds are. */
static void test_no_checks(void **state)
{
    static const struct { const char *body; bool ok; } texts[] = {
        { PEER PUT GET, true },
        { PEER SYNC PUT "bar.sync 0;\n" OWN_GET, true },
        { PEER SYNC "st.shared::cluster.u32 [%r10+4096], %r1;\n", false },
        { "barrier.cluster.wait;\n", false },
    };
    static const uint32_t in[WORDS];
    uint32_t out[WORDS] = { 0 };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        Rig rig;

        rig_open(&rig);
        rig.launch.grid[0] = 4;
        rig.launch.block[0] = 64;
        rig.launch.no_checks = true;
        assert_int_equal(cluster_run(&rig, cluster_text(rig.arena, &entry, texts[i].body), in, out), texts[i].ok);
        rig_close(&rig);
    }
}

static void test_rejected(void **state)
{
    static const ClusterRefusal texts[] = {
        { CLUSTER(2), "barrier.cluster.sync;", "TW0824" },
        { CLUSTER(2), "barrier.cluster.arrive.acquire;", "TW0823" },
        { CLUSTER(2), "barrier.cluster.wait.relaxed;", "TW0823" },
        { CLUSTER(2), "barrier.cluster.arrive 1;", "TW0824" },
        { CLUSTER(2), "mapa.shared::cluster.u32 %r10, %r4;", "TW0824" },
        { CLUSTER(2), "mapa.shared::cta.u32 %r10, %r4, 1;", "TW0823" },
        { CLUSTER(2), "mapa.shared::cluster.u64 %r10, %r4, 1;", "TW0824" },
        { CLUSTER(2), "getctarank.shared::cluster.u32 %rd6, %r4;", "TW0824" },
        { CLUSTER(2), "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4], %r1, [%r4];", "TW0823" },
        { CLUSTER(2), "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r4], 16, [%r4];", "TW0824" },
        { CLUSTER(2), "mov.b16 %h1, 3; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r4], [%rd1], 16, [%r4], %h1;", "TW0823" },
        { ".blocksareclusters", "", "TW0822" },
    };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(texts); i++)
        cluster_check_refusal(&texts[i]);
}

/* Anything may happen but a crash or a hang. */
static void test_mutated(void **state)
{
    static const char *const pieces[] = {
        "", "", " ", ";", "%r2", "%r4", "%r9", "%r10", "{", "}", "[", "]", ", ", "0", "1", "-1", "0x1000000", "0xfffffff0",
        "%p1", "@%p1 ", "@%p3 ", "exit;", "bar.sync 0;", ARRIVE, WAIT, PUT, GET, "barrier.cluster.arrive;", "barrier.cluster.wait;",
        "mapa.shared::cluster.u32 %r10, %r10, 1;", "fence.acq_rel.cluster;", "cp.async.wait_all;",
    };
    static const uint32_t in[WORDS];
    uint32_t out[WORDS] = { 0 };
    Rng rng = { 5 };

    (void)state;
    for (int i = 0; i < 1500; i++) {
        const ClusterCase *c = &cases[rng_below(&rng, (int)TW_COUNT(cases))];
        const char *text;
        Rig rig;

        rig_open(&rig);
        rig.launch.grid[0] = 2;
        rig.launch.block[0] = i % 3 ? 64 : 40;
        rig.launch.seed = (uint64_t)i;
        rig.launch.max_instructions = 20000;
        text = cluster_text(rig.arena, &entry, cluster_mutant(rig.arena, &rng, c->right, pieces, TW_COUNT(pieces)));
        if (rig_parse_text(&rig, text, strlen(text)))
            cluster_run(&rig, text, in, out);
        rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_no_checks),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_mutated),
    };

    return cmocka_run_group_tests_name("emu_cluster_faults", tests, NULL, NULL);
}
