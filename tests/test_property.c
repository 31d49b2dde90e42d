/* test_property.c: random programs at every level.
 *
 *   build/test_property                        the cases of every run
 *   TW_PROPERTY_SECONDS=600 build/test_property    more of them
 *   build/test_property --seed 7 --case 17     one case, with its text and what
 *                                              every level said
 *   build/test_property --seed 7 --seconds 60 [--family 2]    a search
 *
 * A case that fails prints the line that replays it, and what is left of it when
 * all that is not needed has been taken out.
 */
#include "generate.h"

#include <stdlib.h>

#include <cmocka.h>

enum { DEFAULT_SEED = 1, DEFAULT_CASES = 32, MOST_FAILURES = 3, MOST_REJECTED = 5 /* to tell of */ };

static const double DEFAULT_SECONDS = 18; /* on a slow machine */

static const char *const FAMILY_NAMES[FAMILIES] = {
    [FAMILY_ATTENTION] = "attention", [FAMILY_ELEMENTWISE] = "elementwise code",
    [FAMILY_GEMM] = "code with a GEMM", [FAMILY_GEMM_GEMM] = "code with two GEMMs",
    [FAMILY_STREAM] = "code that streams", [FAMILY_PRODUCT] = "products with epilogues",
    [FAMILY_WHOLE] = "definitions", [FAMILY_CHAIN] = "two kernels"};

typedef struct Search {
    uint64_t seed;
    double seconds; /* 0: DEFAULT_CASES, if they fit into DEFAULT_SECONDS */
    int cases, rejected, voids, failed;
    double worst;
} Search;

/* ---- one case ------------------------------------------------------------------------ */

static void say(const Search *s, uint64_t number, const LevelReport *r)
{
    static const char *const verdicts[] = {"agrees", "is rejected", "says nothing", "DIFFERS"};

    fprintf(stderr, "build/test_property --seed %llu --case %llu  # %s %s at %s: %s\n",
            (unsigned long long)s->seed, (unsigned long long)number, FAMILY_NAMES[number % FAMILIES],
            verdicts[r->verdict], r->level, r->problem ? r->problem : "");
}

static void count(Search *s, uint64_t number, const LevelReport *r)
{
    s->cases++;
    s->rejected += r->verdict == LEVELS_REJECTED;
    s->voids += r->verdict == LEVELS_VOID;
    s->failed += r->verdict == LEVELS_DIFFER;
    s->worst = r->worst > s->worst ? r->worst : s->worst;
    if (r->verdict == LEVELS_DIFFER || (r->verdict == LEVELS_REJECTED && s->rejected <= MOST_REJECTED))
        say(s, number, r);
}

static void say_smaller(Arena *arena, const LevelCase *c, const LevelReport *r)
{
    LevelCase small = shrink_case(arena, c, r->level);
    Str text = str_new(arena);

    levels_print(&text, &small);
    fprintf(stderr, "# as small as it gets:\n%s", str_text(&text));
}

/* What the checker says of the case's Kernels beside its definition: NULL, or of an output that differs. */
static const char *said_beside(Arena *arena, const LevelCase *c)
{
    const Target *target = target_find(c->target ? c->target : "sm_80");
    Chain *made = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target, c->dtype);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target, c->dtype);
    Source definition = {"case.tl", c->definition, c->definition ? strlen(c->definition) : 0}, both = {.path = "case.tl"};
    const char *code = c->code;

    for (int i = 0; i < c->n_sets; i++)
        if (chain_set(made, c->sets[i]) || chain_set(chain, c->sets[i]))
            return NULL;
    if (!c->definition || (!code && !(chain_define(made, &definition) && chain_fuse(made) && chain_reason(made, made->sketch))))
        return NULL;
    both.text = arena_printf(arena, "%s\n\n%s", c->definition, code ? code : made->code->text);
    both.len = strlen(both.text);
    chain_check(chain, &both, false);
    for (int i = 0; i < chain->diags->list.len; i++)
        if (chain->diags->list.data[i].code == TW0523)
            return arena_printf(arena, "%s; %s", chain->diags->list.data[i].message, chain->diags->list.data[i].note);
    return NULL;
}

/* The case in an arena of its own. */
static void run_case(Search *s, uint64_t number, bool tell)
{
    Heap heap = {0};
    jmp_buf oom;
    Arena *volatile arena = NULL;

    if (setjmp(oom)) {
        fprintf(stderr, "build/test_property --seed %llu --case %llu  # out of memory\n",
                (unsigned long long)s->seed, (unsigned long long)number);
        s->failed++;
        arena_free(arena);
        return;
    }
    heap.on_oom = &oom;
    arena = arena_new(&heap);
    LevelCase c = generate_case(arena, s->seed, number);
    if (tell) {
        Str text = str_new(arena);

        levels_print(&text, &c);
        puts(str_text(&text));
        fflush(stdout);
    }
    LevelReport report = levels_run(arena, &c);
    if (tell)
        printf("%s\n", str_text(&report.log));
    const char *beside = report.verdict == LEVELS_AGREE ? said_beside(arena, &c) : NULL;
    if (beside)
        report = (LevelReport){.verdict = LEVELS_DIFFER, .level = "the check beside the definition", .problem = beside};
    count(s, number, &report);
    if (tell && report.verdict == LEVELS_AGREE)
        say(s, number, &report);
    if (report.verdict == LEVELS_DIFFER && !beside)
        say_smaller(arena, &c, &report);
    arena_free(arena);
}

/* ---- many --------------------------------------------------------------------------------- */

static void search(Search *s, Family family)
{
    double until = clock_seconds() + (s->seconds > 0 ? s->seconds : DEFAULT_SECONDS) / FAMILIES;

    for (uint64_t n = 0; (s->seconds > 0 || n < DEFAULT_CASES) && clock_seconds() < until; n++) {
        run_case(s, n * FAMILIES + family, false);
        if (s->failed >= MOST_FAILURES)
            break;
    }
}

static double wanted_seconds(void)
{
    const char *seconds = getenv("TW_PROPERTY_SECONDS");

    return seconds ? strtod(seconds, NULL) : 0;
}

/* A few per cent of the programs may be too large for the target, or say nothing;
 * and of definitions of anything, the fuser knows no flow for many. */
static bool enough_agree(const Search *s, Family family)
{
    int least = family == FAMILY_WHOLE ? 50 : 95;

    return (s->cases - s->rejected - s->voids + 1) * 100 >= s->cases * least;
}

static void family_agrees(Family family)
{
    Search s = {.seed = DEFAULT_SEED, .seconds = wanted_seconds()};

    search(&s, family);
    print_message("%s: %d cases, %d rejected, %d say nothing; at most %.2f of an allowed error\n",
                  FAMILY_NAMES[family], s.cases, s.rejected, s.voids, s.worst);
    assert_int_equal(s.failed, 0);
    assert_true(s.cases > 0);
    assert_true(enough_agree(&s, family));
}

static void attention_agrees(void **state) { (void)state; family_agrees(FAMILY_ATTENTION); }
static void elementwise_code_agrees(void **state) { (void)state; family_agrees(FAMILY_ELEMENTWISE); }
static void code_with_a_gemm_agrees(void **state) { (void)state; family_agrees(FAMILY_GEMM); }
static void code_with_two_gemms_agrees(void **state) { (void)state; family_agrees(FAMILY_GEMM_GEMM); }
static void code_that_streams_agrees(void **state) { (void)state; family_agrees(FAMILY_STREAM); }
static void products_agree(void **state) { (void)state; family_agrees(FAMILY_PRODUCT); }
static void definitions_agree(void **state) { (void)state; family_agrees(FAMILY_WHOLE); }
static void two_kernels_agree(void **state) { (void)state; family_agrees(FAMILY_CHAIN); }

/* ---- by hand ---------------------------------------------------------------------------------- */

static int replay(int argc, char **argv)
{
    Search s = {.seed = DEFAULT_SEED};
    long long number = -1, family = -1;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            s.seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--case") == 0)
            number = strtoll(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0)
            s.seconds = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--family") == 0)
            family = strtoll(argv[i + 1], NULL, 10);
    }
    if (number >= 0) {
        run_case(&s, (uint64_t)number, true);
        return s.failed > 0;
    }
    for (int f = 0; f < FAMILIES; f++) {
        Search own = {.seed = s.seed, .seconds = s.seconds};

        if (family >= 0 && family != f)
            continue;
        if (family >= 0)
            own.seconds *= FAMILIES;
        search(&own, (Family)f);
        printf("%s: %d cases, %d rejected, %d say nothing, %d differ; at most %.2f of an allowed error\n",
               FAMILY_NAMES[f], own.cases, own.rejected, own.voids, own.failed, own.worst);
        s.failed += own.failed;
    }
    return s.failed > 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_agrees),        cmocka_unit_test(elementwise_code_agrees),
        cmocka_unit_test(code_with_a_gemm_agrees), cmocka_unit_test(code_with_two_gemms_agrees),
        cmocka_unit_test(code_that_streams_agrees), cmocka_unit_test(products_agree),
        cmocka_unit_test(definitions_agree),       cmocka_unit_test(two_kernels_agree),
    };

    if (argc > 1)
        return replay(argc, argv);
    return cmocka_run_group_tests_name("property", tests, NULL, NULL);
}
