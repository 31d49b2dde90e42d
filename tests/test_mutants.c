/* test_mutants.c: mistakes put into right programs, and who notices.
 *
 *   build/test_mutants                       a sample of the mutants
 *   TW_MUTANTS=all build/test_mutants        all of them, or so many
 *   build/test_mutants --seed 7 --case 17    one, with its text and all verdicts
 *   build/test_mutants --seed 7 --from 0 --to 500 [--tell]   a line for each (that
 *                                            is not caught; --tell: for all)
 *
 * A judge that shares nothing with the compiler (mutate/judge.h) says which
 * mutants are wrong. Every wrong one must be refused by the checker or a later
 * stage, or fail in verification at its defaults (mutate/proof.h); the checker
 * alone must notice most. A mutant that is right, and that the checker accepts,
 * must be compiled to something right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "chain/chain.h"
#include "check/check.h"
#include "mutate/judge.h"
#include "mutate/mutate.h"
#include "mutate/proof.h"

enum { DEFAULT_SEED = 1, DEFAULT_CASES = 260, LEAST_CASES = 60, MOST_SETS = 6, LEAST_MUTANTS = 1000 };

static const double DEFAULT_SECONDS = 11;
static const double CHECKER_SHARE = 0.7;

/* ---- right programs --------------------------------------------------------------------- */

typedef struct Subject {
    const char *name, *definition; /* a file */
    const char *code;              /* a file; NULL: written by the fuser and the reasoner */
    const char *sets[MOST_SETS];   /* of the definition */
    const char *forced[MOST_SETS]; /* of the reasoner */
    Task task;
} Subject;

static const Subject SUBJECTS[] = {
    {"causal", "ops/attention.tl", NULL, {"HeadDim=16", "VDim=32"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ATTENTION, .causal = true, .head_dim = 16, .v_dim = 32, .tile_rows = 32, .tile_streamed = 16}},
    {"full", "ops/attention.tl", NULL,
     {"HeadDim=16", "causal=0", "q_heads=4", "kv_heads=2"}, {"BM=16", "BN=16", "warps=1"},
     {.kind = TASK_ATTENTION, .q_heads = 4, .kv_heads = 2, .head_dim = 16, .v_dim = 16, .tile_rows = 16,
      .tile_streamed = 16}},
    {"rescaled", "ops/attention.tl", "tests/mutate/rescaled.tl", {"HeadDim=16", "VDim=32"}, {NULL},
     {.kind = TASK_ATTENTION, .causal = true, .head_dim = 16, .v_dim = 32, .tile_rows = 16, .tile_streamed = 32}},
    {"gemm", "ops/gemm_bias.tl", NULL, {NULL}, {"BM=16", "BN=32", "BK=16", "warps=1"},
     {.kind = TASK_GEMM_BIAS, .tile_rows = 16, .tile_cols = 32, .tile_streamed = 16}},
    {"gemm of known sizes", "ops/gemm_bias.tl", NULL, {"N=40", "K=48"}, {"BM=16", "BN=16", "BK=16", "warps=1"},
     {.kind = TASK_GEMM_BIAS, .tile_rows = 16, .tile_cols = 16, .tile_streamed = 16, .n = 40, .k = 48}},
    {"norm", "tests/mutate/norm.def.tl", "tests/mutate/norm.tl", {"N=48"}, {NULL},
     {.kind = TASK_NORM, .tile_rows = 16, .n = 48}},
};

/* A subject made ready. */
typedef struct Bench {
    const Subject *subject;
    const char *code;
    Judge *judge;
} Bench;

static Chain *new_chain(Arena *arena, const Subject *s, bool forced)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL),
                             target_find("sm_80"), DT_BF16);

    for (int i = 0; i < MOST_SETS && s->sets[i]; i++)
        assert_null(chain_set(chain, s->sets[i]));
    for (int i = 0; forced && i < MOST_SETS && s->forced[i]; i++)
        assert_null(chain_set(chain, s->forced[i]));
    return chain;
}

static Source *read_file(Arena *arena, const char *path)
{
    const char *error;
    Source *source = source_read(arena, path, &error);

    if (!source)
        fail_msg("%s", error);
    return source;
}

/* The text in canonical form, so that a mutant differs in nothing else. */
static const char *canonical(Arena *arena, const Source *source)
{
    Diags *diags = diags_new(arena, source);
    Program *program = lang_parse(arena, syms_new(arena), source, diags);
    Str text = str_new(arena);

    assert_int_equal(diags->errors, 0);
    lang_print(&text, program);
    return str_text(&text);
}

static Bench prepare(Arena *arena, const Subject *s)
{
    Chain *chain = new_chain(arena, s, true);
    Bench b = {.subject = s, .judge = judge_new(arena, &s->task)};

    if (s->code) {
        b.code = canonical(arena, read_file(arena, s->code));
        return b;
    }
    if (!chain_define(chain, read_file(arena, s->definition)) || !chain_fuse(chain) ||
        !chain_reason(chain, chain->sketch)) {
        diags_print(chain->diags, stderr, false);
        fail_msg("%s has no code", s->name);
    }
    b.code = canonical(arena, chain->code);
    return b;
}

/* ---- one mutant --------------------------------------------------------------------------- */

typedef enum Catcher { BY_CHECK, BY_COMPILER, BY_EXECUTION, BY_NOBODY } Catcher;

static const char *const CATCHERS[] = {"the checker", "the compiler", "execution", "NOBODY"};

typedef struct Outcome {
    bool wrong;
    Catcher catcher;
    const char *why;    /* of the judge */
    const char *caught; /* what was said */
    const char *ptx;    /* of a right one that was accepted: what its PTX does wrong */
} Outcome;

static Source *source_of(Arena *arena, const char *text)
{
    Source *source = arena_new_of(arena, Source);

    *source = (Source){"mutant.tl", text, strlen(text)};
    return source;
}

static const char *first_message(Arena *arena, const Diags *diags)
{
    const Diag *d = diags->list.len ? &diags->list.data[0] : NULL;

    return d ? arena_printf(arena, "%s %s", diag_info(d->code)->name, d->message) : "no reason given";
}

/* What the checker says, a warning included; NULL: nothing. */
static const char *checked(Arena *arena, const Source *source)
{
    Settings settings = {.dtype = DT_BF16};
    CheckOptions options = {.target = target_find("sm_80"), .settings = &settings};
    Syms *syms = syms_new(arena);
    Diags *diags = diags_new(arena, source);
    Program *program = lang_parse(arena, syms, source, diags);

    if (!diags->errors)
        check_program(arena, syms, program, &options, diags);
    return diags->list.len ? first_message(arena, diags) : NULL;
}

/* The definition is resolved with its settings; the code is compiled as it is. */
static Chain *compile(Arena *arena, const Source *source)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source),
                             target_find("sm_80"), DT_BF16);

    chain->failure = NULL;
    if (chain_lower(chain, source) && chain_schedule(chain))
        chain_emit(chain);
    return chain;
}

static Def *definition(Arena *arena, const Subject *s)
{
    Chain *chain = new_chain(arena, s, false);

    assert_true(chain_define(chain, read_file(arena, s->definition)));
    return chain->def;
}

static Verdict judged(Arena *arena, const Bench *b, const Source *source)
{
    Diags *diags = diags_new(arena, source);
    Program *program = lang_parse(arena, syms_new(arena), source, diags);

    if (diags->errors || program->units.len != 1)
        return (Verdict){true, "it does not parse"};
    return judge(b->judge, arena, program->units.data[0]);
}

static Outcome examine(Arena *arena, const Bench *b, const char *text)
{
    const Source *source = source_of(arena, text);
    Verdict v = judged(arena, b, source);
    Outcome o = {.wrong = v.wrong, .why = v.why, .catcher = BY_CHECK, .caught = checked(arena, source)};
    Chain *chain;

    if (o.caught)
        return o;
    chain = compile(arena, source);
    o.catcher = BY_COMPILER;
    if (!chain->ptx) {
        o.caught = chain->failure ? chain->failure : first_message(arena, chain->diags);
        return o;
    }
    o.catcher = BY_EXECUTION;
    o.caught = proof_failure(arena, chain, definition(arena, b->subject));
    if (!o.caught)
        o.catcher = BY_NOBODY;
    if (!o.wrong || !o.caught)
        o.ptx = proof_ptx_failure(arena, chain, definition(arena, b->subject));
    if (o.wrong && o.ptx) {
        o.catcher = BY_EXECUTION;
        o.caught = o.ptx;
    }
    return o;
}

/* ---- all mutants ---------------------------------------------------------------------------- */

typedef struct Case {
    int subject;
    Mutant mutant;
} Case;

typedef struct Lot {
    Arena *arena;
    Bench benches[TW_COUNT(SUBJECTS)];
    VEC(Case) cases;   /* in an order drawn from the seed */
    uint64_t seed;
    int tried, wrong, same, by[BY_NOBODY + 1], refused, survivors, broken;
    int imprecise;     /* right ones whose rounding is worse than a plain implementation's */
} Lot;

static void shuffle(Lot *lot)
{
    Rng rng = {lot->seed};

    for (int i = lot->cases.len - 1; i > 0; i--) {
        int j = rng_below(&rng, i + 1);
        Case kept = lot->cases.data[i];

        lot->cases.data[i] = lot->cases.data[j];
        lot->cases.data[j] = kept;
    }
}

static Lot *draw(Arena *arena, uint64_t seed)
{
    Lot *lot = arena_new_of(arena, Lot);

    lot->arena = arena;
    lot->seed = seed;
    for (int i = 0; i < (int)TW_COUNT(SUBJECTS); i++) {
        lot->benches[i] = prepare(arena, &SUBJECTS[i]);
        Mutants *mutants = mutate_all(arena, lot->benches[i].code);

        for (int k = 0; k < mutants->list.len; k++)
            vec_push(arena, &lot->cases, (Case){i, mutants->list.data[k]});
    }
    shuffle(lot);
    return lot;
}

static void say(const Lot *lot, int number, const Outcome *o)
{
    const Case *c = &lot->cases.data[number];

    fprintf(stderr, "build/test_mutants --seed %llu --case %d  # %s, %s: %s\n    %s%s\n    %s%s%s\n",
            (unsigned long long)lot->seed, number, SUBJECTS[c->subject].name, c->mutant.kind, c->mutant.what,
            o->wrong ? "wrong: " : "right", o->wrong ? o->why : "", "noticed by ", CATCHERS[o->catcher],
            o->caught ? arena_printf(lot->arena, ": %s", o->caught) : "");
    if (o->ptx)
        fprintf(stderr, "    %s\n", o->ptx);
}

/* A wrong one that nobody noticed, or a right one that came out wrong. */
static bool is_bad(const Outcome *o)
{
    return o->wrong ? o->catcher == BY_NOBODY : o->ptx != NULL;
}

static void count(Lot *lot, const Outcome *o)
{
    lot->tried++;
    lot->wrong += o->wrong;
    lot->same += !o->wrong;
    lot->by[o->catcher] += o->wrong;
    lot->refused += !o->wrong && (o->catcher == BY_CHECK || o->catcher == BY_COMPILER);
    lot->imprecise += !o->wrong && o->catcher == BY_EXECUTION && !o->ptx;
    lot->survivors += o->wrong && o->catcher == BY_NOBODY;
    lot->broken += !o->wrong && o->ptx;
}

static void try_case(Lot *lot, int number, bool tell)
{
    const Case *c = &lot->cases.data[number];
    Arena *own = arena_new(arena_heap(lot->arena));
    Outcome o = examine(own, &lot->benches[c->subject], c->mutant.text);

    count(lot, &o);
    if (tell || is_bad(&o))
        say(lot, number, &o);
    arena_free(own);
}

static void report(const Lot *lot)
{
    print_message("%d of %d mutants, %d wrong: %d (%.0f %%) noticed by the checker, %d by the compiler, %d by "
                  "execution, %d by nobody\n",
                  lot->tried, lot->cases.len, lot->wrong, lot->by[BY_CHECK],
                  100.0 * lot->by[BY_CHECK] / (lot->wrong ? lot->wrong : 1), lot->by[BY_COMPILER],
                  lot->by[BY_EXECUTION], lot->by[BY_NOBODY]);
    print_message("%d mean the same: %d refused nevertheless, %d rounded worse, %d miscompiled\n", lot->same,
                  lot->refused, lot->imprecise, lot->broken);
}

/* ---- tests -------------------------------------------------------------------------------------- */

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Lot *lot;
    Arena *arena;
} Fixture;

static Fixture fixture;

static int setup(void **state)
{
    fixture.heap.on_oom = &fixture.oom;
    if (setjmp(fixture.oom))
        return -1;
    fixture.arena = arena_new(&fixture.heap);
    fixture.lot = draw(fixture.arena, DEFAULT_SEED);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(fixture.arena);
    return 0;
}

static void the_originals_are_right(void **state)
{
    Lot *lot = ((Fixture *)*state)->lot;

    for (int i = 0; i < (int)TW_COUNT(SUBJECTS); i++) {
        Arena *own = arena_new(arena_heap(lot->arena));
        Outcome o = examine(own, &lot->benches[i], lot->benches[i].code);

        if (o.wrong || o.catcher != BY_NOBODY || o.ptx)
            fail_msg("%s: %s; %s; %s", SUBJECTS[i].name, o.why ? o.why : "right", o.caught ? o.caught : "accepted",
                     o.ptx ? o.ptx : "");
        arena_free(own);
    }
}

static void there_are_many_mutants(void **state)
{
    assert_true(((Fixture *)*state)->lot->cases.len >= LEAST_MUTANTS);
}

static void mistakes_are_noticed(void **state)
{
    Lot *lot = ((Fixture *)*state)->lot;
    const char *wanted = getenv("TW_MUTANTS");
    bool all = wanted && strcmp(wanted, "all") == 0;
    int most = wanted && !all ? atoi(wanted) : DEFAULT_CASES;
    double until = clock_seconds() + DEFAULT_SECONDS;

    for (int i = 0; i < lot->cases.len && (all || i < most); i++) {
        if (!wanted && i >= LEAST_CASES && clock_seconds() > until)
            break;
        try_case(lot, i, false);
    }
    report(lot);
    assert_int_equal(lot->survivors, 0);
    assert_int_equal(lot->broken, 0);
    assert_true(lot->by[BY_CHECK] >= CHECKER_SHARE * lot->wrong);
}

/* ---- by hand ------------------------------------------------------------------------------------ */

typedef struct Wish {
    uint64_t seed;
    int number, from, to;
    bool tell;
} Wish;

static Wish read_wish(int argc, char **argv)
{
    Wish w = {.seed = DEFAULT_SEED, .number = -1};

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";

        if (strcmp(argv[i], "--seed") == 0)
            w.seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--case") == 0)
            w.number = atoi(value);
        else if (strcmp(argv[i], "--from") == 0)
            w.from = atoi(value);
        else if (strcmp(argv[i], "--to") == 0)
            w.to = atoi(value);
        w.tell |= strcmp(argv[i], "--tell") == 0;
    }
    if (w.number >= 0) {
        w.from = w.number;
        w.to = w.number + 1;
        w.tell = true;
    }
    return w;
}

static int replay(const Wish *w)
{
    Lot *lot;

    fixture.heap.on_oom = &fixture.oom;
    if (setjmp(fixture.oom))
        return 1;
    fixture.arena = arena_new(&fixture.heap);
    lot = draw(fixture.arena, w->seed);
    for (int i = w->from; i < w->to && i < lot->cases.len; i++) {
        if (w->number >= 0)
            puts(lot->cases.data[i].mutant.text), fflush(stdout);
        try_case(lot, i, w->tell);
    }
    fflush(stdout);
    report(lot);
    return lot->survivors || lot->broken;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_originals_are_right),
        cmocka_unit_test(there_are_many_mutants),
        cmocka_unit_test(mistakes_are_noticed),
    };

    if (argc > 1) {
        Wish wish = read_wish(argc, argv);

        return replay(&wish);
    }
    return cmocka_run_group_tests_name("mutants", tests, setup, teardown);
}
