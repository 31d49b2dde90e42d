/* test_emu_cluster_random.c: random programs of clusters in the emulator.
 *
 * A few warps touch a few words of each other's blocks, send there what completes on the
 * block's mbarrier, and meet now and then. Whether two accesses race follows from what comes
 * before what, here worked out for the whole program with vectors of clocks, without a schedule.
 *
 * Vocabulary
 *   agent  a warp, or the mbarrier of a block, whose time is the number of its phase, from 1
 *   close  a phase: its mbarrier is told how many bytes come
 */
#include "cluster_rig.h"

enum { RANKS = 4, WARPS = 2, WARP_AGENTS = RANKS * WARPS, AGENTS = WARP_AGENTS + RANKS, PLACES = 3, MOST_STEPS = 24 };

typedef struct Touch {
    int agent, time, rank, place;
    char how; /* 'r'ead, 'w'rite, 'a'tomic, 's'end: the agent is an mbarrier */
} Touch;

typedef struct Program {
    Rng rng;
    Str text;
    int clock[WARP_AGENTS][AGENTS], fence[WARP_AGENTS][AGENTS], arriving[AGENTS];
    int completed[RANKS][AGENTS]; /* what a phase's end says */
    int closed[RANKS];            /* phases */
    int sent[RANKS];              /* in the one that is open */
    Touch touches[MOST_STEPS];
    int touched, labels;
    bool sends, races;
} Program;

static void join(int *into, const int *from)
{
    for (int i = 0; i < AGENTS; i++)
        into[i] = from[i] > into[i] ? from[i] : into[i];
}

/* ---- accesses ------------------------------------------------------------------------------ */

/* Records what warp `by` does or starts, and whether it races with what was done before. What
 * comes before a write of the same place, comes before what follows that. */
static void record(Program *p, Touch t, int by)
{
    int kept = 0;

    for (int i = 0; i < p->touched; i++) {
        Touch o = p->touches[i];
        bool same = o.rank == t.rank && o.place == t.place;
        bool apart = (o.how == 'r' && t.how == 'r') || (o.how == 'a' && t.how == 'a') || o.agent == by;

        p->races |= same && !apart && p->clock[by][o.agent] < o.time;
        if (!same || t.how == 'r' || t.how == 'a')
            p->touches[kept++] = o;
    }
    p->touches[kept++] = t;
    p->touched = kept;
}

/* What is stored tells the warp, since two stores of one value do not race. */
static void touch(Program *p)
{
    static const char *const forms[] = { "ld.shared::cluster.u32 %%r30, [%s];", "st.shared::cluster.u32 [%s], %%r20;",
                                         "red.shared::cluster.add.u32 [%s], 1;" };
    int how = rng_below(&p->rng, 3);
    Touch t = { .agent = rng_below(&p->rng, WARP_AGENTS), .rank = rng_below(&p->rng, RANKS), .place = rng_below(&p->rng, PLACES),
                .how = "rwa"[how] };
    char place[32];

    t.time = p->clock[t.agent][t.agent];
    record(p, t, t.agent);
    snprintf(place, sizeof place, "%%r4%d+%d", t.rank, 4 * t.place);
    str_printf(&p->text, "setp.eq.u32 %%p5, %%r20, %d; @%%p5 ", t.agent);
    if (t.rank == t.agent / WARPS && rng_below(&p->rng, 2)) /* its own, as the block itself names it */
        snprintf(place, sizeof place, "%%r4+%d", 4 * t.place);
    str_printf(&p->text, forms[how], place);
    str_add(&p->text, "\n");
}

/* The phase before is known to have completed, else the bytes may count there. */
static void send(Program *p)
{
    int by = rng_below(&p->rng, WARP_AGENTS), rank = rng_below(&p->rng, RANKS), mbarrier = WARP_AGENTS + rank;
    Touch t = { .agent = mbarrier, .time = p->closed[rank] + 1, .rank = rank, .place = rng_below(&p->rng, PLACES), .how = 's' };

    p->races |= p->clock[by][mbarrier] < p->closed[rank];
    record(p, t, by);
    p->sent[rank]++;
    str_printf(&p->text, "setp.eq.u32 %%p5, %%r20, %d; @%%p5 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%%r4%d+%d], %%r1, "
                         "[%%r4%d+1024];\n", by, rank, 4 * t.place, rank);
}

/* ---- order ----------------------------------------------------------------------------------- */

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

/* A warp of the block waits for the phase that was closed last. */
static void await(Program *p, int agent, bool relaxed)
{
    int rank = agent / WARPS, label = p->labels++;

    if (!relaxed) {
        join(p->clock[agent], p->completed[rank]);
        p->clock[agent][WARP_AGENTS + rank] = p->closed[rank];
    }
    str_printf(&p->text, "setp.ne.u32 %%p5, %%r21, %d; @%%p5 bra S%d;\nW%d: mbarrier.try_wait.parity%s.shared.b64 %%p4, [%%r4+1024], %d; "
                         "@!%%p4 bra W%d;\nS%d:\n", agent, label, label, relaxed ? ".relaxed.cluster" : "", (p->closed[rank] - 1) & 1, label, label);
}

/* The block's first warp closes the phase and waits, the others may wait too. They meet before, so that none
 * still waits for the last. */
static void exchange(Program *p, int rank, bool everybody)
{
    int first = rank * WARPS;

    meet_block(p, rank);
    join(p->completed[rank], p->clock[first]);
    p->clock[first][first]++;
    str_printf(&p->text, "setp.eq.u32 %%p5, %%r20, %d; @%%p5 mbarrier.arrive.expect_tx.shared.b64 _, [%%r4+1024], %d;\n", first,
               4 * p->sent[rank]);
    p->closed[rank]++;
    p->sent[rank] = 0;
    for (int w = 0; w < WARPS; w++) {
        if (everybody || !w || rng_below(&p->rng, 3))
            await(p, first + w, !everybody && rng_below(&p->rng, 6) == 0);
    }
}

/* What may be done between the arrivals at the cluster's barrier and the waits as well. */
static void step(Program *p)
{
    int what = rng_below(&p->rng, p->sends ? 13 : 8), agent = rng_below(&p->rng, WARP_AGENTS);

    if (what < 6 && p->touched < MOST_STEPS)
        touch(p);
    else if (what < 8)
        meet_block(p, rng_below(&p->rng, RANKS));
    else if (what < 11 && p->touched < MOST_STEPS)
        send(p);
    else if (what == 11)
        exchange(p, rng_below(&p->rng, RANKS), false);
    else if (what == 12 && p->closed[agent / WARPS])
        await(p, agent, false);
}

static void meet_cluster(Program *p)
{
    memset(p->arriving, 0, sizeof p->arriving);
    for (int a = 0; a < WARP_AGENTS; a++) {
        if (rng_below(&p->rng, 4) == 0)
            fence(p, a);
        arrive(p, a);
        if (rng_below(&p->rng, 4) == 0 && p->touched < MOST_STEPS)
            touch(p);
    }
    while (rng_below(&p->rng, 3) == 0)
        step(p);
    str_add(&p->text, "barrier.cluster.wait.aligned;\n");
    for (int a = 0; a < WARP_AGENTS; a++)
        join(p->clock[a], p->arriving);
}

/* ---- programs ----------------------------------------------------------------------------------- */

static const char *draw(Program *p, Arena *arena)
{
    int steps = 3 + rng_below(&p->rng, MOST_STEPS - 8);

    p->text = str_new(arena);
    for (int a = 0; a < WARP_AGENTS; a++)
        p->clock[a][a] = 1;
    str_add(&p->text, "shr.u32 %r21, %r1, 5; mad.lo.u32 %r21, %r2, 2, %r21; and.b32 %r22, %r1, 31; setp.eq.u32 %p6, %r22, 0;\n"
                      "selp.u32 %r20, %r21, 99, %p6; mapa.shared::cluster.u32 %r40, sm, 0; mapa.shared::cluster.u32 %r41, sm, 1;\n"
                      "mapa.shared::cluster.u32 %r42, sm, 2; mapa.shared::cluster.u32 %r43, sm, 3; setp.eq.u32 %p7, %r1, 0;\n"
                      "mad.lo.u32 %r9, %r1, 4, %r4; st.shared.u32 [%r9], %r1; @%p7 mbarrier.init.shared.b64 [%r4+1024], 1;\n"
                      "@%p7 fence.mbarrier_init.release.cluster;\n" SYNC);
    while (steps-- > 0 && p->touched < MOST_STEPS)
        (rng_below(&p->rng, 6) ? step : meet_cluster)(p);
    for (int r = 0; r < RANKS && p->sends; r++)
        exchange(p, r, true);
    str_add(&p->text, SYNC);
    return str_text(&p->text);
}

static int check_programs(bool sends, int count)
{
    static const ClusterEntry entry = { HEAD(CLUSTER(4)), RANKS, WARPS * 32 };
    int racing = 0;

    for (int i = 0; i < count; i++) {
        Program p = { .rng = { (uint64_t)i }, .sends = sends };
        uint32_t out[WORDS] = { 0 };
        Heap heap = { 0 };
        Arena *arena = arena_new(&heap);
        const char *body = draw(&p, arena);
        Rig rig;
        bool clean = cluster_run_body(&rig, &entry, body, (uint64_t)i % 4, out);

        racing += p.races;
        if (clean == p.races) {
            rig_print_faults(&rig);
            fputs(body, stderr);
            fail_msg("program %d %s", i, p.races ? "races" : "does not race");
        }
        rig_close(&rig);
        arena_free(arena);
    }
    return racing;
}

static void test_accesses(void **state)
{
    (void)state;
    assert_in_range(check_programs(false, 1500), 300, 1200);
}

static void test_sends(void **state)
{
    (void)state;
    assert_in_range(check_programs(true, 3000), 600, 2400);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_accesses), cmocka_unit_test(test_sends) };

    return cmocka_run_group_tests_name("emu_cluster_random", tests, NULL, NULL);
}
