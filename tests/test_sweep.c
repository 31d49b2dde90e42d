/* test_sweep.c: every allocation fails in turn.
 *
 * A journey goes through stages in arenas of one heap. It is taken again and
 * again, and each time another allocation fails, the first, the second, and so
 * on: it must come back by the heap's way out, and all that was allocated must be
 * known to the heap. All of a journey's allocations are tried while that takes less
 * than its share of time (TW_SWEEP_SECONDS, of each journey); then the first
 * ones, and a random sample of the others.
 */
#include "api/api.h"
#include "chain/chain.h"
#include "fuzz/fuzz.h"
#include "generate.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>

#include <cmocka.h>

static const double DEFAULT_SECONDS = 0.4;
enum { FIRST = 40 /* always tried */ };

static double share_of_time(void)
{
    const char *seconds = getenv("TW_SWEEP_SECONDS");

    return seconds ? strtod(seconds, NULL) : DEFAULT_SECONDS;
}

/* ---- one journey ---------------------------------------------------------------------- */

typedef void Journey(Heap *heap, const void *user);

/* Allocations that were made until the fail_in-th failed; at most fail_in. */
static long travel(Journey *journey, const void *user, long fail_in, bool apart)
{
    jmp_buf oom;
    Heap heap = {.on_oom = &oom, .fail_in = fail_in, .apart = apart};
    volatile bool failed = false;
    long made;

    if (setjmp(oom) == 0)
        journey(&heap, user);
    else
        failed = true;
    made = fail_in - heap.fail_in;
    if (failed != (heap.fail_in == 0))
        fail_msg("allocation %ld failed and nobody noticed", fail_in);
    heap_drop(&heap);
    assert_int_equal(heap.live, 0);
    return made;
}

/* Every allocation by itself, or (apart false) every block of an arena. */
static void sweep(const char *name, Journey *journey, const void *user, bool apart)
{
    long all = travel(journey, user, LONG_MAX, apart), tried = 0;
    double until = clock_seconds() + share_of_time(), share;
    Rng rng = {(uint64_t)all};

    assert_true(all > 0);
    for (long n = 1; n <= all && (n <= FIRST || clock_seconds() < until - share_of_time() / 2); n++, tried++)
        assert_int_equal(travel(journey, user, n, apart), n);
    share = (double)tried / (double)all;
    while (share < 1 && clock_seconds() < until) {
        long n = 1 + (long)(rng_uniform(&rng) * (double)all);

        assert_int_equal(travel(journey, user, n <= all ? n : all, apart), n <= all ? n : all);
        tried++;
    }
    print_message("%s: %ld of %ld %s failed\n", name, tried, all, apart ? "allocations" : "blocks");
}

static void sweep_both(const char *name, Journey *journey, const void *user)
{
    sweep(name, journey, user, false);
    sweep(name, journey, user, true);
}

/* ---- journeys --------------------------------------------------------------------------- */

static const char PRODUCT[] = "Operator product\n  Input A (M, K)\n  Input B (K, N)\n  Input bias (N)\n"
                              "  Output C (M, N)\n  Compute GEMM A, B and get C\n  Compute Add C, bias and get new C\n"
                              "  Compute Gelu C and get new C\nend\n";

static const char WRONG[] = "Operator product\n  Input A (M, K)\n  Input B (N, K)\n  Output C (M, N)\n"
                            "  Compute GEMM A, B and get C\n  Compute Ad C, bias and get new C\n  Compute (\nend\n";

static const char MENDED[] = "Operator product\n  Input A (M, K)\n  Input B (N, K)\n  Output C (M, N)\n"
                             "  Compute GEMM A, B.T and get S\n  Compute Exp S - 1 and get C\nend\n";

static void parse(Heap *heap, const void *user)
{
    Arena *arena = arena_new(heap);
    Syms *syms = syms_new(arena);
    Source source = {"input", user, strlen(user)};
    Diags *diags = diags_new(arena, &source);
    Program *program = lang_parse(arena, syms, &source, diags);
    Str out = str_new(arena);

    lang_print(&out, program);
    diags_text(diags, &out);
    diags_json(diags, &out);
    arena_free(arena);
}

/* From a definition to PTX, with all that is said about it. */
static void generate(Heap *heap, const void *user)
{
    Arena *arena = arena_new(heap);
    Source source = {"input", user, strlen(user)};
    Diags *diags = diags_new(arena, &source);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags, target_default(), DT_F16);
    Str out = str_new(arena);

    chain->edits = true;
    if (chain_define(chain, &source) && chain_fuse(chain) && chain_reason(chain, chain->sketch) &&
        chain_lower(chain, chain->code) && chain_schedule(chain) && chain_emit(chain)) {
        abi_json(&out, chain->abi);
        abi_c_header(&out, chain->abi);
        tile_print(&out, chain->tile);
    }
    diags_text(diags, &out);
    diags_json(diags, &out);
    arena_free(arena);
}

/* Every level of a random program: checked, executed, printed and read, emulated. */
static void all_levels(Heap *heap, const void *user)
{
    const uint64_t *number = user;
    Arena *arena = arena_new(heap);
    LevelCase c = generate_case(arena, 1, *number);

    levels_run(arena, &c);
    arena_free(arena);
}

static void parsing_survives(void **state)
{
    (void)state;
    sweep_both("parse", parse, PRODUCT);
    sweep_both("parse what is wrong", parse, WRONG);
}

static void generating_survives(void **state)
{
    (void)state;
    sweep_both("generate", generate, PRODUCT);
    sweep_both("generate what is wrong", generate, WRONG);
    sweep_both("generate what can be mended", generate, MENDED);
}

static void every_level_survives(void **state)
{
    (void)state;
    for (uint64_t f = 0; f < FAMILIES; f++)
        sweep_both("every level", all_levels, &f);
}

/* ---- the public interface ------------------------------------------------------------------ */

static bool kernel_is_made(long fail_in)
{
    Heap *heap = heap_new();
    tw_kernel *k;
    bool made;

    assert_non_null(heap);
    heap->fail_in = fail_in;
    heap->apart = true;
    k = api_generate(heap, PRODUCT, NULL);
    made = k && tw_ok(k);
    if (k && !made) {
        assert_string_equal(tw_messages(k), "error: out of memory\n");
        assert_string_equal(tw_messages_json(k), "[]");
        assert_null(tw_text(k, TW_HEADER));
    }
    tw_free(k);
    return made;
}

static void the_interface_says_so(void **state)
{
    double until = clock_seconds() + share_of_time();
    long n = 1;

    (void)state;
    while (n < FIRST || clock_seconds() < until) {
        if (kernel_is_made(n))
            return;
        n += n < FIRST ? 1 : n / 8;
    }
}

/* ---- a library's memory -------------------------------------------------------------------- */

/* Jansson takes functions, and no pointer to hand them: a count within this test. */
static long json_fails_in;

static void *json_malloc(size_t size)
{
    if (json_fails_in > 0 && --json_fails_in == 0)
        return NULL;
    return malloc(size);
}

static void read_abi(Heap *heap, const void *user)
{
    Arena *arena = arena_new(heap);
    const Source *ptx = user;

    Diags *diags = diags_new(arena, ptx);

    if (!abi_from_ptx(arena, syms_new(arena), aff_ctx_new(arena), ptx, diags))
        assert_true(diags->errors > 0); /* Jansson does not always tell what it lacked */
    arena_free(arena);
}

static void json_survives(void **state)
{
    tw_kernel *k = tw_generate(PRODUCT, NULL);
    Source ptx = {"ptx", tw_text(k, TW_PTX), strlen(tw_text(k, TW_PTX))};
    bool done = false;
    long n;

    (void)state;
    sweep_both("read the ABI", read_abi, &ptx);
    json_set_alloc_funcs(json_malloc, free);
    for (n = 1; !done; n++) {
        jmp_buf oom;
        Heap heap = {.on_oom = &oom};

        json_fails_in = n;
        if (setjmp(oom) == 0)
            read_abi(&heap, &ptx);
        done = json_fails_in > 0;
        heap_drop(&heap);
        assert_true(n < 100000);
    }
    json_fails_in = 0;
    json_set_alloc_funcs(malloc, free);
    assert_true(n > 10);
    tw_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_survives),     cmocka_unit_test(generating_survives),
        cmocka_unit_test(every_level_survives), cmocka_unit_test(the_interface_says_so),
        cmocka_unit_test(json_survives),
    };

    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
