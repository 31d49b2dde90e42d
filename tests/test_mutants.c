/* test_mutants.c: mistakes put into right programs, and who notices.
 *
 *   build/test_mutants                       a sample of the mutants
 *   TW_MUTANTS=all build/test_mutants        all of them, or so many
 *   build/test_mutants --seed 7 --case 17    one, with its text and all verdicts
 *   build/test_mutants --seed 7 --from 0 --to 500 [--tell]   a line for each (that
 *                                            is not caught; --tell: for all)
 *   ... --subject "keys in parts"            mutants of that program alone
 *
 * A judge that shares nothing with the compiler (mutate/judge.h) says which
 * mutants are wrong. Every wrong one must be noticed by the checker, or fail in
 * verification at its defaults (mutate/proof.h); the checker alone must notice
 * most, and nearly all where the definition stands beside them. A mutant that is right, and that the checker accepts, must be compiled to
 * something right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "chain/chain.h"
#include "mutate/judge.h"
#include "mutate/mutate.h"
#include "mutate/proof.h"
#include "mutate/subjects.h"
#include "texts.h"

enum { DEFAULT_SEED = 1, DEFAULT_CASES = 260, LEAST_CASES = 60, MUTANTS = 1000, MOST_KINDS = 64 };

static const double DEFAULT_SECONDS = 8;
static const double CHECKER_SHARE = 0.7, BESIDE_SHARE = 0.9;

/* ---- right programs --------------------------------------------------------------------- */

/* Who notices a mutant first. The checker's warnings count as its errors do: they
 * stand at a place and say what is the matter. */
typedef enum Catcher { BY_ERROR, BY_WARNING, BY_EXECUTION, BY_NOBODY } Catcher;

static const char *const CATCHERS[] = {"the checker", "the checker's warning", "execution", "NOBODY"};

/* A subject made ready. */
typedef struct Bench {
    const Subject *subject;
    const char *code;
    const Offers *offers;
    Judge *judge; /* NULL: not yet */
} Bench;

typedef struct Case {
    int subject;
    Mutant mutant;
} Case;

typedef struct Tally { /* of a kind */
    const char *kind;
    int tried, wrong, errors, warnings, caught, refused;
} Tally;

typedef struct Lot {
    Arena *arena;
    Bench *benches;
    VEC(Case) cases; /* in the order that they were drawn in */
    uint64_t seed;
    int tried, wrong, same, by[BY_NOBODY + 1], refused, survivors, broken;
    int imprecise;   /* right ones whose rounding is worse than a plain implementation's */
    int told, alarms; /* wrong, and right ones that the checker accepts, but not beside the definition */
    VEC(Tally) kinds;
} Lot;

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
    Bench b = {.subject = s};

    if (s->code) {
        b.code = canonical(arena, read_file(arena, s->code));
        b.offers = mutate_offers(arena, b.code);
        return b;
    }
    if (!chain_define(chain, read_file(arena, s->definition)) || !chain_fuse(chain) ||
        !chain_reason(chain, chain->sketch)) {
        diags_print(chain->diags, stderr, false);
        fail_msg("%s has no code", s->name);
    }
    b.code = canonical(arena, chain->code);
    b.offers = mutate_offers(arena, b.code);
    return b;
}

/* ---- one mutant --------------------------------------------------------------------------- */

typedef struct Outcome {
    bool wrong;
    Catcher catcher;
    const char *why;    /* of the judge */
    const char *caught; /* what was said */
    const char *ptx;    /* of a right one that was accepted: what its PTX does wrong */
    const char *told;   /* what the checker says where the definition stands beside it */
} Outcome;

static const char *first_message(Arena *arena, const Diags *diags)
{
    const Diag *d = diags->list.len ? &diags->list.data[0] : NULL;

    return d ? arena_printf(arena, "%s %s", diag_info(d->code)->name, d->message) : "no reason given";
}

/* The code is checked as `tw check` does it, and compiled on the way. */
static Chain *check(Arena *arena, const Source *source)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source),
                             target_find("sm_80"), DT_BF16);

    chain_check(chain, source, false);
    return chain;
}

/* The same, with the definition in front of it. */
static const char *check_beside(Arena *arena, const Subject *s, const char *code)
{
    const Source *definition = read_file(arena, s->definition);
    const Source *both = source_of(arena, "mutant.tl", arena_printf(arena, "%s\n\n%s", definition->text, code));
    Chain *chain = new_chain(arena, s, false);

    chain_check(chain, both, false);
    for (int i = 0; i < chain->diags->list.len; i++)
        if (chain->diags->list.data[i].code == TW0523)
            return chain->diags->list.data[i].message;
    return NULL;
}

/* Of the subject, with its settings. */
static Def *definition(Arena *arena, const Subject *s)
{
    Chain *chain = new_chain(arena, s, false);

    assert_true(chain_define(chain, read_file(arena, s->definition)));
    return chain->def;
}

static const Program *kernels_of(Arena *arena, const Source *source)
{
    Diags *diags = diags_new(arena, source);
    Program *program = lang_parse(arena, syms_new(arena), source, diags);

    return diags->errors || program->units.len < 1 ? NULL : program;
}

/* Made when it is first needed: what is right takes its time. */
static const Judge *judge_of(Lot *lot, Bench *b)
{
    if (!b->judge)
        b->judge = judge_new(lot->arena, &b->subject->task, kernels_of(lot->arena, source_of(lot->arena, "mutant.tl", b->code)));
    if (b->judge->failure)
        fail_msg("%s: the judge cannot run it: %s", b->subject->name, b->judge->failure);
    return b->judge;
}

static Verdict judged(Lot *lot, Arena *arena, Bench *b, const Source *source)
{
    const Program *program = kernels_of(arena, source);

    return program ? judge(judge_of(lot, b), arena, program) : (Verdict){true, "it does not parse"};
}

static Outcome examine(Lot *lot, Arena *arena, Bench *b, const char *text)
{
    const Source *source = source_of(arena, "mutant.tl", text);
    Verdict v = judged(lot, arena, b, source);
    Chain *chain = check(arena, source);
    Outcome o = {.wrong = v.wrong, .why = v.why, .catcher = chain->diags->errors ? BY_ERROR : BY_WARNING};

    if (chain->diags->list.len) {
        o.caught = first_message(arena, chain->diags);
        return o;
    }
    o.catcher = BY_EXECUTION;
    o.caught = proof_failure(arena, chain, definition(arena, b->subject));
    if (!o.caught)
        o.catcher = BY_NOBODY;
    o.told = check_beside(arena, b->subject, text);
    if (!o.wrong || !o.caught)
        o.ptx = proof_ptx_failure(arena, chain, definition(arena, b->subject));
    if (o.wrong && o.ptx) {
        o.catcher = BY_EXECUTION;
        o.caught = o.ptx;
    }
    return o;
}

/* ---- all mutants ---------------------------------------------------------------------------- */

static bool is_new(const Lot *lot, const char *text)
{
    for (int i = 0; i < lot->cases.len; i++)
        if (strcmp(lot->cases.data[i].mutant.text, text) == 0)
            return false;
    return true;
}

/* One of the bench's offers: of a kind drawn first, so that kinds are as frequent
 * whether they apply in many places or in few. */
static int draw_offer(const Bench *b, Rng *rng)
{
    const char *kinds[MOST_KINDS];
    int n = 0, left, at = -1;

    for (int i = 0; i < b->offers->kinds.len; i++) {
        int k = 0;

        while (k < n && strcmp(kinds[k], b->offers->kinds.data[i]) != 0)
            k++;
        if (k == n && n < MOST_KINDS)
            kinds[n++] = b->offers->kinds.data[i];
    }
    const char *kind = kinds[rng_below(rng, n)];

    n = 0;
    for (int i = 0; i < b->offers->kinds.len; i++)
        n += strcmp(b->offers->kinds.data[i], kind) == 0;
    left = (int)rng_below(rng, n);
    for (int i = 0; i < b->offers->kinds.len && left >= 0; i++)
        if (strcmp(b->offers->kinds.data[i], kind) == 0 && left-- == 0)
            at = i;
    return at;
}

/* The subjects in turn, so that a part of the lot is like the whole; only: of that name alone. */
static Lot *draw(Arena *arena, uint64_t seed, const char *only)
{
    Lot *lot = arena_new_of(arena, Lot);
    Rng rng = {seed};

    lot->arena = arena;
    lot->seed = seed;
    lot->benches = arena_array(arena, Bench, N_SUBJECTS);
    for (int i = 0; i < N_SUBJECTS; i++)
        lot->benches[i] = prepare(arena, &SUBJECTS[i]);
    for (int tries = 0; lot->cases.len < MUTANTS && tries < 60 * MUTANTS; tries++) {
        Case c = {.subject = tries % N_SUBJECTS};
        const Bench *b = &lot->benches[c.subject];

        if (only && strcmp(only, b->subject->name) != 0)
            continue;
        if (mutate_make(arena, b->code, draw_offer(b, &rng), &c.mutant) && is_new(lot, c.mutant.text))
            vec_push(arena, &lot->cases, c);
    }
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
    if (o->told)
        fprintf(stderr, "    beside the definition: %s\n", o->told);
}

/* A wrong one that nobody noticed, or a right one that came out wrong. */
static bool is_bad(const Outcome *o)
{
    return o->wrong ? o->catcher == BY_NOBODY : o->ptx != NULL;
}

static Tally *tally_of(Lot *lot, const char *kind)
{
    for (int i = 0; i < lot->kinds.len; i++)
        if (strcmp(lot->kinds.data[i].kind, kind) == 0)
            return &lot->kinds.data[i];
    vec_push(lot->arena, &lot->kinds, (Tally){.kind = kind});
    return &lot->kinds.data[lot->kinds.len - 1];
}

static void count(Lot *lot, const char *kind, const Outcome *o)
{
    Tally *t = tally_of(lot, kind);

    t->tried++;
    t->wrong += o->wrong;
    t->errors += o->wrong && o->catcher == BY_ERROR;
    t->warnings += o->wrong && o->catcher == BY_WARNING;
    t->caught += o->wrong && o->catcher != BY_NOBODY;
    t->refused += !o->wrong && o->catcher <= BY_WARNING;
    lot->tried++;
    lot->wrong += o->wrong;
    lot->same += !o->wrong;
    lot->by[o->catcher] += o->wrong;
    lot->refused += !o->wrong && o->catcher <= BY_WARNING;
    lot->imprecise += !o->wrong && o->catcher == BY_EXECUTION && !o->ptx;
    lot->told += o->wrong && o->told;
    lot->alarms += !o->wrong && o->told && !o->caught;
    lot->survivors += o->wrong && o->catcher == BY_NOBODY;
    lot->broken += !o->wrong && o->ptx;
}

static void try_case(Lot *lot, int number, bool tell)
{
    const Case *c = &lot->cases.data[number];
    Arena *own = arena_new(arena_heap(lot->arena));
    Outcome o = examine(lot, own, &lot->benches[c->subject], c->mutant.text);

    count(lot, c->mutant.kind, &o);
    if (tell || is_bad(&o))
        say(lot, number, &o);
    arena_free(own);
}

static int by_checker(const Lot *lot)
{
    return lot->by[BY_ERROR] + lot->by[BY_WARNING];
}

static void report(const Lot *lot)
{
    print_message("%-26s %5s %5s %7s %8s %6s %8s\n", "kind", "tried", "wrong", "errors", "warnings", "caught", "harmless");
    for (int i = 0; i < lot->kinds.len; i++) {
        const Tally *t = &lot->kinds.data[i];

        print_message("%-26s %5d %5d %7d %8d %6d %5d/%d\n", t->kind, t->tried, t->wrong, t->errors, t->warnings,
                      t->caught, t->refused, t->tried - t->wrong);
    }
    print_message("%d of %d mutants, %d wrong: %d (%.0f %%) noticed by the checker, %d of these with a warning; %d by "
                  "execution, %d by nobody\n",
                  lot->tried, lot->cases.len, lot->wrong, by_checker(lot),
                  100.0 * by_checker(lot) / (lot->wrong ? lot->wrong : 1), lot->by[BY_WARNING],
                  lot->by[BY_EXECUTION], lot->by[BY_NOBODY]);
    print_message("beside the definition %d (%.0f %%) are noticed, and %d right ones called wrong\n", by_checker(lot) + lot->told,
                  100.0 * (by_checker(lot) + lot->told) / (lot->wrong ? lot->wrong : 1), lot->alarms);
    print_message("%d mean the same: %d refused or warned of nevertheless, %d rounded worse, %d miscompiled\n",
                  lot->same, lot->refused, lot->imprecise, lot->broken);
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
    fixture.lot = draw(fixture.arena, DEFAULT_SEED, NULL);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(fixture.arena);
    return 0;
}

/* Of some only that the checker is silent, unless all is asked for. */
static void the_originals_are_right(void **state)
{
    Lot *lot = ((Fixture *)*state)->lot;

    for (int i = 0; i < N_SUBJECTS; i++) {
        Arena *own = arena_new(arena_heap(lot->arena));
        const char *code = lot->benches[i].code;
        bool whole = i % 5 == 0 || getenv("TW_MUTANTS");
        Outcome o = {.catcher = BY_NOBODY};

        if (whole)
            o = examine(lot, own, &lot->benches[i], code);
        else if (check(own, source_of(own, "mutant.tl", code))->diags->list.len)
            o.catcher = BY_ERROR;
        if (o.wrong || o.catcher != BY_NOBODY || o.ptx || o.told)
            fail_msg("%s: %s; %s; %s", SUBJECTS[i].name, o.why ? o.why : "right", o.caught ? o.caught : "accepted",
                     o.ptx ? o.ptx : o.told ? o.told : "");
        arena_free(own);
    }
}

/* Gain, shift, weights and bias are as usual where the normalized rows are small. */
static void an_epsilon_shows_behind_a_bias(void **state)
{
    Lot *lot = ((Fixture *)*state)->lot;
    int i = 0;

    while (strcmp(SUBJECTS[i].name, "norm and product") != 0)
        i++;

    const char *code = lot->benches[i].code, *eps = strstr(code, "eps = 1e-5");

    assert_non_null(eps);
    code = arena_printf(lot->arena, "%.*s2%s", (int)(eps - code) + 6, code, eps + 7);

    Outcome o = examine(lot, lot->arena, &lot->benches[i], code);

    assert_true(o.wrong && o.catcher == BY_EXECUTION);
}

static void there_are_many_mutants(void **state)
{
    assert_true(((Fixture *)*state)->lot->cases.len == MUTANTS);
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
    assert_int_equal(lot->alarms, 0);
    assert_true(by_checker(lot) >= CHECKER_SHARE * lot->wrong);
    assert_true(by_checker(lot) + lot->told >= BESIDE_SHARE * lot->wrong);
}

/* ---- by hand ------------------------------------------------------------------------------------ */

typedef struct Wish {
    uint64_t seed;
    int number, from, to;
    const char *subject;
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
        else if (strcmp(argv[i], "--subject") == 0)
            w.subject = value;
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
    lot = draw(fixture.arena, w->seed, w->subject);
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
        cmocka_unit_test(an_epsilon_shows_behind_a_bias),
        cmocka_unit_test(there_are_many_mutants),
        cmocka_unit_test(mistakes_are_noticed),
    };

    if (argc > 1) {
        Wish wish = read_wish(argc, argv);

        return replay(&wish);
    }
    return cmocka_run_group_tests_name("mutants", tests, setup, teardown);
}
