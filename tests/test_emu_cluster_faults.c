/* test_emu_cluster_faults.c: what the emulator notices of clusters.
 *
 * As in test_emu_faults.c: a kernel with one mistake, in the lines marked //!, and the
 * same kernel put right. Both run under several schedules, four blocks in clusters of two.
 */
#include "cluster_rig.h"

typedef struct Case {
    const char *name;
    EmuFaultKind kind;
    const char *wrong, *right;
    const char *says; /* part of the message; NULL: anything */
    bool alone;       /* nothing else may be reported */
} Case;

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

static const Case cases[] = {
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

static const char *whole(Arena *arena, const char *body)
{
    return arena_printf(arena, "%s%s\nret;\n}\n", HEAD(CLUSTER(2)), body);
}

static bool run_case(Rig *rig, const char *body, uint64_t seed)
{
    static const uint32_t in[WORDS];
    uint32_t out[WORDS] = { 0 };

    rig_open(rig);
    rig->launch.grid[0] = 4;
    rig->launch.block[0] = 64;
    rig->launch.seed = seed;
    return cluster_run(rig, whole(rig->arena, body), in, out);
}

/* Whether a line of the text is marked. */
static bool marked(const char *text, int line)
{
    int at = 1;

    for (const char *c = text; *c; c++) {
        if (at == line && strncmp(c, "//!", 3) == 0)
            return true;
        at += *c == '\n';
    }
    return false;
}

static bool found(const Rig *rig, const Case *c)
{
    const char *text = whole(rig->arena, c->wrong);
    bool seen = false;

    for (int i = 0; i < rig->report.fault_count && i < EMU_FAULT_LIMIT; i++) {
        const EmuFault *f = &rig->report.faults[i];

        if (f->kind == c->kind && marked(text, f->line) && (!c->says || strstr(f->message, c->says)))
            seen = true;
        else if (c->alone)
            return false;
    }
    return seen;
}

static bool check_wrong(const Case *c, uint64_t seed)
{
    Rig rig;
    bool ok = run_case(&rig, c->wrong, seed), right = !ok && found(&rig, c);

    if (!right) {
        print_error("%s, seed %d: not found as it should be\n", c->name, (int)seed);
        rig_print_faults(&rig);
    }
    rig_close(&rig);
    return right;
}

static bool check_right(const Case *c, uint64_t seed)
{
    Rig rig;
    bool ok = run_case(&rig, c->right, seed);

    if (!ok) {
        print_error("%s, put right, seed %d:\n", c->name, (int)seed);
        rig_print_faults(&rig);
    }
    rig_close(&rig);
    return ok;
}

static void test_planted_faults(void **state)
{
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        bool ok = true;

        for (uint64_t seed = 0; seed < 10 && ok; seed++)
            ok = check_wrong(&cases[i], seed) && check_right(&cases[i], seed);
        wrong += !ok;
    }
    assert_int_equal(wrong, 0);
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
        assert_int_equal(cluster_run(&rig, whole(rig.arena, texts[i].body), in, out), texts[i].ok);
        rig_close(&rig);
    }
}

static void test_rejected(void **state)
{
    static const struct { const char *directives, *body, *code; } texts[] = {
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
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        const char *text;
        Rig rig;

        rig_open(&rig);
        text = arena_printf(rig.arena, ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n%s\n{\n"
                                       ".reg .b16 %%h<4>; .reg .b32 %%r<16>; .reg .b64 %%rd<8>;\n%s\nret;\n}\n",
                            texts[i].directives, texts[i].body);
        if (rig_parse_text(&rig, text, strlen(text)))
            fail_msg("taken: %s", texts[i].body);
        if (strcmp(diag_info(rig.diags->list.data[0].code)->name, texts[i].code) != 0)
            diags_print(rig.diags, stderr, false);
        assert_string_equal(diag_info(rig.diags->list.data[0].code)->name, texts[i].code);
        rig_close(&rig);
    }
}

/* Bodies of the cases with random edits: anything may happen but a crash or a hang. */
static const char *mutant(Arena *arena, Rng *rng, const char *text)
{
    static const char *const pieces[] = {
        "", "", " ", ";", "%r2", "%r4", "%r9", "%r10", "{", "}", "[", "]", ", ", "0", "1", "-1", "0x1000000", "0xfffffff0",
        "%p1", "@%p1 ", "@%p3 ", "exit;", "bar.sync 0;", ARRIVE, WAIT, PUT, GET, "barrier.cluster.arrive;", "barrier.cluster.wait;",
        "mapa.shared::cluster.u32 %r10, %r10, 1;", "fence.acq_rel.cluster;", "cp.async.wait_all;",
    };
    int edits = 1 + rng_below(rng, 4);

    for (int e = 0; e < edits; e++) {
        size_t len = strlen(text), at = (size_t)rng_below(rng, (int)len + 1);
        Str changed = str_new(arena);

        str_addn(&changed, text, at);
        str_add(&changed, pieces[rng_below(rng, (int)TW_COUNT(pieces))]);
        at += (size_t)rng_below(rng, 8);
        if (at < len)
            str_add(&changed, text + at);
        text = str_text(&changed);
    }
    return text;
}

static void test_mutated(void **state)
{
    static const uint32_t in[WORDS];
    uint32_t out[WORDS] = { 0 };
    Rng rng = { 5 };

    (void)state;
    for (int i = 0; i < 1500; i++) {
        const Case *c = &cases[rng_below(&rng, (int)TW_COUNT(cases))];
        const char *text;
        Rig rig;

        rig_open(&rig);
        rig.launch.grid[0] = 2;
        rig.launch.block[0] = i % 3 ? 64 : 40;
        rig.launch.seed = (uint64_t)i;
        rig.launch.max_instructions = 20000;
        text = whole(rig.arena, mutant(rig.arena, &rng, c->right));
        if (rig_parse_text(&rig, text, strlen(text)))
            cluster_run(&rig, text, in, out);
        rig_close(&rig);
    }
}

/* ---- random programs ---------------------------------------------------------------------------- */

/* A few warps touch a few words of each other's blocks and meet now and then. Whether two
 * accesses race follows from what comes before what, here worked out for the whole program
 * with a clock a warp, without a schedule. */
enum { RANKS = 4, WARPS = 2, AGENTS = RANKS * WARPS, PLACES = 3, MOST_STEPS = 24 };

typedef struct Touch {
    int agent, time, rank, place;
    char how; /* 'r'ead, 'w'rite, 'a'tomic */
} Touch;

typedef struct Program {
    Rng rng;
    Str text;
    int clock[AGENTS][AGENTS], fence[AGENTS][AGENTS], arriving[AGENTS];
    Touch touches[MOST_STEPS];
    int touched;
    bool mixed; /* atomic operations are not only on the first place, where else they alone are */
    bool races;
} Program;

static void join(int *into, const int *from)
{
    for (int i = 0; i < AGENTS; i++)
        into[i] = from[i] > into[i] ? from[i] : into[i];
}

static void touch(Program *p)
{
    static const char *const forms[] = { "ld.shared::cluster.u32 %%r30, [%s];", "st.shared::cluster.u32 [%s], %%r1;",
                                         "red.shared::cluster.add.u32 [%s], 1;" };
    Touch t = { .agent = rng_below(&p->rng, AGENTS), .rank = rng_below(&p->rng, RANKS), .place = rng_below(&p->rng, PLACES) };
    int how = p->mixed ? rng_below(&p->rng, 3) : t.place ? rng_below(&p->rng, 2) : 2;
    char place[32];

    t.how = "rwa"[how];
    t.time = p->clock[t.agent][t.agent];
    for (int i = 0; i < p->touched; i++) {
        const Touch *o = &p->touches[i];
        bool apart = (o->how == 'r' && t.how == 'r') || (o->how == 'a' && t.how == 'a') || o->agent == t.agent;

        p->races |= !apart && o->rank == t.rank && o->place == t.place && p->clock[t.agent][o->agent] < o->time;
    }
    p->touches[p->touched++] = t;
    snprintf(place, sizeof place, "%%r4%d+%d", t.rank, 4 * t.place);
    str_printf(&p->text, "setp.eq.u32 %%p5, %%r20, %d; @%%p5 ", t.agent);
    if (t.rank == t.agent / WARPS && rng_below(&p->rng, 2)) /* its own, as the block itself names it */
        snprintf(place, sizeof place, "%%r4+%d", 4 * t.place);
    str_printf(&p->text, forms[how], place);
    str_add(&p->text, "\n");
}

static void meet_block(Program *p, int rank)
{
    int all[AGENTS] = { 0 };

    for (int a = rank * WARPS; a < (rank + 1) * WARPS; a++)
        join(all, p->clock[a]);
    for (int a = rank * WARPS; a < (rank + 1) * WARPS; a++) {
        join(p->clock[a], all);
        p->clock[a][a]++;
    }
    str_printf(&p->text, "setp.eq.u32 %%p5, %%r2, %d; @%%p5 bar.sync 0;\n", rank);
}

static void fence(Program *p, int agent)
{
    join(p->fence[agent], p->clock[agent]);
    p->clock[agent][agent]++;
    str_printf(&p->text, "setp.eq.u32 %%p5, %%r21, %d; @%%p5 fence.acq_rel.cluster;\n", agent);
}

static void arrive(Program *p, int agent)
{
    bool relaxed = rng_below(&p->rng, 3) == 0;

    join(p->arriving, relaxed ? p->fence[agent] : p->clock[agent]);
    p->clock[agent][agent] += !relaxed;
    str_printf(&p->text, "setp.eq.u32 %%p5, %%r21, %d; @%%p5 barrier.cluster.arrive%s.aligned;\n", agent, relaxed ? ".relaxed" : "");
}

static void meet_cluster(Program *p)
{
    memset(p->arriving, 0, sizeof p->arriving);
    for (int a = 0; a < AGENTS; a++) {
        if (rng_below(&p->rng, 4) == 0)
            fence(p, a);
        arrive(p, a);
        if (rng_below(&p->rng, 4) == 0 && p->touched < MOST_STEPS)
            touch(p);
    }
    str_add(&p->text, "barrier.cluster.wait.aligned;\n");
    for (int a = 0; a < AGENTS; a++)
        join(p->clock[a], p->arriving);
}

static const char *draw(Program *p, Arena *arena)
{
    int steps = 3 + rng_below(&p->rng, MOST_STEPS - 8);

    p->text = str_new(arena);
    for (int a = 0; a < AGENTS; a++)
        p->clock[a][a] = 1;
    str_add(&p->text, PEER "shr.u32 %r21, %r1, 5; mad.lo.u32 %r21, %r2, 2, %r21; and.b32 %r22, %r1, 31; setp.eq.u32 %p6, %r22, 0;\n"
                      "selp.u32 %r20, %r21, 99, %p6; mapa.shared::cluster.u32 %r40, sm, 0; mapa.shared::cluster.u32 %r41, sm, 1;\n"
                      "mapa.shared::cluster.u32 %r42, sm, 2; mapa.shared::cluster.u32 %r43, sm, 3;\n" FILL SYNC);
    while (steps-- > 0 && p->touched < MOST_STEPS) {
        int what = rng_below(&p->rng, 10);

        if (what < 6)
            touch(p);
        else if (what < 8)
            meet_block(p, rng_below(&p->rng, RANKS));
        else
            meet_cluster(p);
    }
    str_add(&p->text, SYNC);
    return str_text(&p->text);
}

static void test_random(void **state)
{
    int racing = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        static const uint32_t in[WORDS];
        uint32_t out[WORDS] = { 0 };
        Program p = { .rng = { seed }, .mixed = seed % 3 == 0 };
        const char *body;
        Rig rig;
        bool clean;

        rig_open(&rig);
        rig.launch.grid[0] = RANKS;
        rig.launch.block[0] = WARPS * 32;
        rig.launch.seed = seed % 4;
        body = draw(&p, rig.arena);
        clean = cluster_run(&rig, arena_printf(rig.arena, "%s%s\nret;\n}\n", HEAD(CLUSTER(4)), body), in, out);
        racing += p.races;
        if (clean == p.races && !(clean && p.mixed)) { /* of several atomic operations the last is remembered */
            rig_print_faults(&rig);
            fputs(body, stderr);
            fail_msg("program %d %s", (int)seed, p.races ? "races" : "does not race");
        }
        rig_close(&rig);
    }
    assert_in_range(racing, 300, 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_no_checks),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_mutated),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("emu_cluster_faults", tests, NULL, NULL);
}
