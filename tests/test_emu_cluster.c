/* test_emu_cluster.c: clusters in the emulator: blocks that run together, their barrier,
 * shared memory of other blocks. */
#include "cluster_rig.h"

static void fill(uint32_t *in)
{
    for (uint32_t i = 0; i < WORDS; i++)
        in[i] = i * i % 1009;
}

/* A text that must run well, under several schedules. */
static void check_clean(const char *text, int blocks, int threads, void (*check)(const uint32_t *in, const uint32_t *out))
{
    uint32_t in[WORDS], out[WORDS];

    fill(in);
    for (uint64_t seed = 0; seed < 8; seed++) {
        Rig rig;

        memset(out, 0xff, sizeof out);
        rig_open(&rig);
        rig.launch.grid[0] = blocks;
        rig.launch.block[0] = threads;
        rig.launch.seed = seed;
        if (!cluster_run(&rig, text, in, out)) {
            rig_print_faults(&rig);
            fail_msg("seed %d", (int)seed);
        }
        check(in, out);
        rig_close(&rig);
    }
}

/* ---- what blocks say of themselves ------------------------------------------------------------- */

static void test_special_registers(void **state)
{
    static const char *const text =
        HEAD(".explicitcluster\n.reqnctapercluster 2, 2, 1")
        "mov.u32 %r10, %ctaid.y; mov.u32 %r11, %nctaid.x; mad.lo.u32 %r12, %r10, %r11, %r5; mul.wide.u32 %rd6, %r12, 64;\n"
        "add.u64 %rd6, %rd6, %rd2; mov.u32 %r13, %cluster_ctaid.x; mov.u32 %r14, %cluster_ctaid.y; mov.u32 %r15, %clusterid.x;\n"
        "mov.u32 %r16, %clusterid.y; mov.u32 %r17, %nclusterid.x; mov.u32 %r18, %nclusterid.y; mov.u32 %r19, %cluster_nctaid.x;\n"
        "mov.u32 %r20, %cluster_nctaid.z; st.global.v4.b32 [%rd6], {%r2, %r3, %r13, %r14};\n"
        "st.global.v4.b32 [%rd6+16], {%r15, %r16, %r17, %r18}; st.global.v4.b32 [%rd6+32], {%r19, %r20, %r12, %r12};\nret;\n}\n";
    uint32_t in[WORDS] = { 0 }, out[WORDS];
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig.launch.grid[0] = 6;
    rig.launch.grid[1] = 4;
    rig.launch.block[0] = 1;
    assert_true(cluster_run(&rig, text, in, out));
    assert_int_equal(rig.report.blocks, 24);
    for (uint32_t y = 0; y < 4; y++) {
        for (uint32_t x = 0; x < 6; x++) {
            const uint32_t want[] = { y % 2 * 2 + x % 2, 4, x % 2, y % 2, x / 2, y / 2, 3, 2, 2, 1 };

            assert_memory_equal(&out[(y * 6 + x) * 16], want, sizeof want);
        }
    }
    rig_close(&rig);
}

/* ---- sums across a cluster ----------------------------------------------------------------------- */

enum { THREADS = 64, RANKS = 4, BLOCKS = 12 };

/* Each thread's word, summed over the blocks of its cluster. */
static void check_sums(const uint32_t *in, const uint32_t *out)
{
    for (int i = 0; i < BLOCKS * THREADS; i++) {
        uint32_t sum = 0;

        for (int r = 0; r < RANKS; r++)
            sum += in[(i / THREADS / RANKS * RANKS + r) * THREADS + i % THREADS];
        assert_int_equal(out[i], sum);
    }
}

/* Every thread writes its word into the shared memory of all blocks; everybody sums his own block's. */
#define PUSH(store)                                                                      \
    HEAD(CLUSTER(4)) "shl.b32 %r10, %r1, 2; mad.lo.u32 %r10, %r2, 256, %r10; add.u32 %r10, %r10, %r4;\n" \
    "ld.global.u32 %r11, [%rd4]; cvt.u64.u32 %rd7, %r10; cvta.shared.u64 %rd7, %rd7; mov.u32 %r12, 0;\n" SYNC \
    "L:\n" store "\nadd.u32 %r12, %r12, 1; setp.lt.u32 %p1, %r12, %r3; @%p1 bra L;\n" SYNC \
    "mad.lo.u32 %r15, %r1, 4, %r4; ld.shared.u32 %r16, [%r15]; ld.shared::cta.u32 %r17, [%r15+256];\n" \
    "ld.shared::cluster.u32 %r18, [%r15+512]; ld.shared.u32 %r19, [%r15+768];\n"         \
    "add.u32 %r16, %r16, %r17; add.u32 %r16, %r16, %r18; add.u32 %r16, %r16, %r19; st.global.u32 [%rd5], %r16;\nret;\n}\n"
/* Every thread writes its word at home and reads those of the others. */
#define PULL                                                                             \
    HEAD(CLUSTER(4)) "mad.lo.u32 %r10, %r1, 4, %r4; ld.global.u32 %r11, [%rd4]; st.shared.u32 [%r10+64], %r11;\n" SYNC \
    "mov.u32 %r12, 0; mov.u32 %r13, 0;\n"                                                \
    "L: mapa.shared::cluster.u32 %r14, sm+64, %r12; mad.lo.u32 %r14, %r1, 4, %r14; ld.shared::cluster.u32 %r15, [%r14];\n" \
    "add.u32 %r13, %r13, %r15; add.u32 %r12, %r12, 1; setp.lt.u32 %p1, %r12, %r3; @%p1 bra L;\n" SYNC \
    "st.global.u32 [%rd5], %r13;\nret;\n}\n"
/* Every thread adds its word to the one of every block. */
#define ADD                                                                              \
    HEAD(CLUSTER(4)) "mad.lo.u32 %r10, %r1, 4, %r4; ld.global.u32 %r11, [%rd4]; st.shared.u32 [%r10], 0;\n" SYNC \
    "mov.u32 %r12, 0;\n"                                                                 \
    "L: mapa.shared::cluster.u32 %r14, %r10, %r12; red.relaxed.cluster.shared::cluster.add.u32 [%r14], %r11;\n" \
    "add.u32 %r12, %r12, 1; setp.lt.u32 %p1, %r12, %r3; @%p1 bra L;\n" SYNC              \
    "ld.shared.u32 %r13, [%r10]; st.global.u32 [%rd5], %r13;\nret;\n}\n"

static void test_sums(void **state)
{
    (void)state;
    check_clean(PUSH("mapa.shared::cluster.u32 %r13, %r10, %r12; st.shared::cluster.u32 [%r13], %r11;"), BLOCKS, THREADS,
                check_sums);
    check_clean(PUSH("mapa.u64 %rd8, %rd7, %r12; st.u32 [%rd8], %r11;"), BLOCKS, THREADS, check_sums);
    check_clean(PUSH("mov.b32 %f1, %r11; mapa.shared::cluster.u32 %r13, %r10, %r12; add.u32 %r13, %r13, -8;\n"
                     "st.shared::cluster.f32 [%r13+8], %f1;"), BLOCKS, THREADS, check_sums);
    check_clean(PULL, BLOCKS, THREADS, check_sums);
    check_clean(ADD, BLOCKS, THREADS, check_sums);
}

/* ---- the barrier ------------------------------------------------------------------------------------ */

static void check_neighbours(const uint32_t *in, const uint32_t *out)
{
    for (int i = 0; i < 8 * 48; i++)
        assert_int_equal(out[i], in[i / 48 / 2 * 96 + (1 - i / 48 % 2) * 48 + i % 48]);
}

/* Blocks of 48 threads, of which some exit early, exchange words; arrivals and waits apart. */
static void test_barrier(void **state)
{
    static const char *const text =
        HEAD(".reqnctapercluster 2")
        "mad.lo.u32 %r10, %r1, 4, %r4; ld.global.u32 %r11, [%rd4]; st.shared.u32 [%r10], %r11;\n"
        "barrier.cluster.arrive; xor.b32 %r12, %r2, 1; mapa.shared::cluster.u32 %r13, %r10, %r12;\n"
        "getctarank.shared::cluster.u32 %r14, %r13; setp.ne.u32 %p1, %r14, %r12; @%p1 trap;\n"
        "getctarank.shared::cluster.u32 %r14, %r10; setp.ne.u32 %p1, %r14, %r2; @%p1 trap;\n"
        "barrier.cluster.wait; ld.shared::cluster.u32 %r15, [%r13]; st.global.u32 [%rd5], %r15;\n"
        "barrier.cluster.arrive.release; barrier.cluster.wait.acquire; setp.ge.u32 %p2, %r1, 20; @%p2 exit;\n" SYNC
        "setp.eq.u32 %p3, %r2, 0; @%p3 exit;\n" SYNC "ret;\n}\n";

    (void)state;
    check_clean(text, 8, 48, check_neighbours);
}

static void check_itself(const uint32_t *in, const uint32_t *out)
{
    for (int i = 0; i < 3 * 64; i++)
        assert_int_equal(out[i], in[i]);
}

#define ALONE                                                                            \
    "mad.lo.u32 %r10, %r1, 4, %r4; ld.global.u32 %r11, [%rd4]; mapa.shared::cluster.u32 %r12, %r10, %r2;\n" SYNC \
    "st.shared::cluster.u32 [%r12], %r11;\n" SYNC "ld.shared.u32 %r13, [%r10]; st.global.u32 [%rd5], %r13;\nret;\n}\n"

/* An entry that says nothing of clusters, or wants them of one block. */
static void test_cluster_of_one(void **state)
{
    (void)state;
    check_clean(HEAD("") ALONE, 3, 64, check_itself);
    check_clean(HEAD(CLUSTER(1)) ALONE, 3, 64, check_itself);
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static bool only_fifth(void *user, int x, int y, int z)
{
    (void)user, (void)y, (void)z;
    return x == 5;
}

/* A cluster runs whole where one of its blocks is wanted. */
static void test_wanted(void **state)
{
    uint32_t in[WORDS] = { 0 }, out[WORDS] = { 0 };
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig.launch.grid[0] = 12;
    rig.launch.want_block = only_fifth;
    assert_true(cluster_run(&rig, HEAD(CLUSTER(4)) "st.global.u32 [%rd5], 1;\nret;\n}\n", in, out));
    assert_int_equal(rig.report.blocks, 4);
    for (int i = 0; i < 12 * 32; i++)
        assert_int_equal(out[i], i / 32 / 4 == 1);
    rig_close(&rig);
}

static void test_bad_launch(void **state)
{
    static const struct { const char *text; int grid[2]; } cases[] = {
        { HEAD(CLUSTER(4)) "ret;\n}\n", { 6, 1 } },
        { HEAD(".reqnctapercluster 2, 2") "ret;\n}\n", { 4, 3 } },
        { HEAD(".reqnctapercluster 16") "ret;\n}\n", { 16, 1 } },
        { HEAD(".reqnctapercluster 4, 4, 4") "ret;\n}\n", { 4, 4 } },
        { HEAD(".explicitcluster") "ret;\n}\n", { 4, 1 } },
    };
    uint32_t in[WORDS] = { 0 }, out[WORDS];

    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Rig rig;

        rig_open(&rig);
        rig.launch.grid[0] = cases[i].grid[0];
        rig.launch.grid[1] = cases[i].grid[1];
        assert_false(cluster_run(&rig, cases[i].text, in, out));
        assert_int_equal(rig.report.faults[0].kind, EMU_LAUNCH);
        assert_int_equal(rig.report.blocks, 0);
        rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special_registers), cmocka_unit_test(test_sums), cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_cluster_of_one),    cmocka_unit_test(test_wanted), cmocka_unit_test(test_bad_launch),
    };

    return cmocka_run_group_tests_name("emu_cluster", tests, NULL, NULL);
}
