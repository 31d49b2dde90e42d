/* test_chain.c: the stages together: from the definitions in ops/ to PTX, every
 * artefact starting again from its text, and every allocation failing in turn. */
#include "fixture.h"
#include "chain/chain.h"

#include <cmocka.h>

#include "texts.h"

static Chain *new_chain(Arena *arena, const char *const *sets, int n)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL),
                             target_find("sm_80"), DT_BF16);

    for (int i = 0; i < n; i++)
        assert_null(chain_set(chain, sets[i]));
    return chain;
}

static bool whole(Chain *chain, const Source *definition)
{
    return chain_define(chain, definition) && chain_fuse(chain) &&
           chain_reason(chain, chain->sketch) && chain_lower(chain, chain->code) &&
           chain_schedule(chain) && chain_emit(chain);
}

static void expect_whole(Chain *chain, const Source *definition)
{
    if (whole(chain, definition))
        return;
    diags_print(chain->diags, stderr, false);
    fail_msg("%s", chain->failure ? chain->failure : "diagnostics were recorded");
}

static const char *const attention_sets[] = {"q_heads=8", "kv_heads=2", "HeadDim=64"};
static const char *const gemm_sets[] = {"N=256", "K=512"};

/* A size that does not fit is said of the operator's name, not of that place in a sketch that nobody wrote. */
static void sizes_are_said_of_the_definition(void **state)
{
    static const char *const sets[] = {"BN=24", "BN=4096", "stages=99"};
    Arena *arena = ((Fixture *)*state)->arena;
    const Source *definition = source_at(arena, "ops/gemm.tl");

    for (size_t i = 0; i < TW_COUNT(sets); i++) {
        Chain *chain = new_chain(arena, &sets[i], 1);
        assert_false(whole(chain, definition));
        assert_int_equal(chain->diags->list.len, 1);
        assert_ptr_equal(chain->diags->list.data[0].source, definition);
        assert_true(strncmp(definition->text + chain->diags->list.data[0].span.start - 9, "Operator gemm", 13) == 0);
    }
}

static void definitions_become_kernels(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *a = new_chain(arena, attention_sets, TW_COUNT(attention_sets));
    Chain *b = new_chain(arena, gemm_sets, TW_COUNT(gemm_sets));

    expect_whole(a, source_at(arena, "ops/attention.tl"));
    expect_whole(b, source_at(arena, "ops/gemm_bias.tl"));
    assert_non_null(strstr(a->ptx->text, "mma.sync"));
    assert_non_null(strstr(b->ptx->text, "mma.sync"));
    assert_true(a->stages.len == 7 && b->stages.len == 7);
}

/* Traps that ask for what runs beside products: none asks for numbers from around the loop, on which warps might part. */
static void what_comes_from_around_a_loop_is_not_asked_for(void **state)
{
    static const struct {
        const char *path, *set;
        bool asks;
    } cases[] = {
        {"tests/gen/matches_on_the_diagonal.tl", "D=128", false},
        {"ops/attention.tl", "HeadDim=128", true},
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Chain *chain = new_chain(arena, &cases[i].set, 1);
        chain->target = target_find("sm_90a");
        expect_whole(chain, source_at(arena, cases[i].path));
        assert_int_equal(strstr(chain->ptx->text, "setp.nan.and") != NULL, cases[i].asks);
    }
}

static void the_same_input_gives_the_same_text(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *a = new_chain(arena, attention_sets, TW_COUNT(attention_sets));
    Chain *b = new_chain(arena, attention_sets, TW_COUNT(attention_sets));

    expect_whole(a, source_at(arena, "ops/attention.tl"));
    expect_whole(b, source_at(arena, "ops/attention.tl"));
    assert_string_equal(a->code->text, b->code->text);
    assert_string_equal(a->ptx->text, b->ptx->text);
}

/* Each artefact, taken as text, leads to the same kernel. */
static void every_artefact_is_a_beginning(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const Source *op = source_at(arena, "ops/attention.tl");
    Chain *a = new_chain(arena, attention_sets, TW_COUNT(attention_sets));
    Chain *b = new_chain(arena, attention_sets, TW_COUNT(attention_sets));
    Chain *c = new_chain(arena, attention_sets, TW_COUNT(attention_sets));

    expect_whole(a, op);
    assert_true(chain_define(b, op) && chain_reason(b, a->sketch));
    assert_string_equal(b->code->text, a->code->text);
    assert_true(chain_define(c, op) && chain_lower(c, a->code) && chain_schedule(c) && chain_emit(c));
    assert_string_equal(c->ptx->text, a->ptx->text);
}

static void the_definition_comes_back_from_the_ptx(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *a = new_chain(arena, attention_sets, TW_COUNT(attention_sets));
    Chain *b = new_chain(arena, NULL, 0);
    double value;
    Abi *abi;

    expect_whole(a, source_at(arena, "ops/attention.tl"));
    abi = abi_from_ptx(arena, b->syms, b->aff, a->ptx, b->diags);
    assert_non_null(abi);
    assert_true(chain_define_from_abi(b, abi, NULL));
    assert_string_equal(b->name, "attention");
    assert_true(def_const(b->def, "kv_heads", &value) && value == 2);
    assert_int_equal(b->def->inputs.len, 3);
}

static void snapshots_are_kept_when_wanted(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *a = new_chain(arena, gemm_sets, TW_COUNT(gemm_sets));
    int passes;

    pass_all(&passes);
    a->keep_snapshots = true;
    expect_whole(a, source_at(arena, "ops/gemm_bias.tl"));
    assert_int_equal(a->snapshots.len, passes + 1);
    assert_string_equal(a->snapshots.data[0].name, "lower");
}

#define SUM_DEFINITION "Operator total\n  Input X (M, N)\n  Output Y (M, 1) fp32\n  Compute RowSum X and get Y\nend\n"
#define SUM_GRID "  Grid over M\n"
#define SUM_LOOP                                                                                                       \
    "  Compute Fill Y, 0\n  for k over N\n    Copy X from global to register\n    Compute RowSum X and get T\n"        \
    "    Compute Add Y, T and get new Y\n  end\n  Copy Y from register to global\nend\n"
#define SUM_KERNEL "Kernel by_hand\n  Input X (M, N)\n  Output Y (M, 1) fp32\n" SUM_GRID SUM_LOOP

static Source as_source(const char *text)
{
    return (Source){"total.tl", text, strlen(text)};
}

/* Kernels in the definition's file are its flow: sketches, and code as well. */
static void a_flow_by_hand_takes_over(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Source source = as_source(SUM_DEFINITION "\n" SUM_KERNEL);
    Chain *a = new_chain(arena, NULL, 0), *b = new_chain(arena, NULL, 0);
    Str both = str_new(arena);

    expect_whole(a, &source);
    assert_non_null(a->beside);
    assert_non_null(strstr(a->sketch->text, "Kernel by_hand"));
    assert_string_equal(a->abi->kernels.data[0].fast.name, "by_hand");
    str_printf(&both, "%s\n%s", SUM_DEFINITION, a->code->text);
    expect_whole(b, chain_text(b, "total.tl", &both));
    assert_string_equal(b->code->text, a->code->text);
    assert_string_equal(b->ptx->text, a->ptx->text);
}

static void a_flow_by_hand_must_fit(void **state)
{
    static const char *const wrong[] = {
        /* reads what nobody gives */
        SUM_DEFINITION "Kernel k\n  Input Z (M, N)\n  Input X (M, N)\n  Output Y (M, 1) fp32\n" SUM_GRID SUM_LOOP,
        /* does not write what is wanted */
        SUM_DEFINITION "Kernel k\n  Input X (M, N)\n  Output T (M, 1) fp32\n" SUM_GRID "  Copy X from global to register\nend\n",
        /* another number of dimensions */
        SUM_DEFINITION "Kernel k\n  Input X (B, M, N)\n  Output Y (M, 1) fp32\n" SUM_GRID SUM_LOOP,
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(wrong); i++) {
        Chain *a = new_chain(arena, NULL, 0);
        Source source = as_source(wrong[i]);

        assert_true(chain_define(a, &source));
        assert_false(chain_fuse(a));
        assert_int_equal(a->diags->errors, 1);
        assert_int_equal(a->diags->list.data[0].code, TW0521);
    }
}

/* Several kernels where a size is open are warned of, and none where it is given. */
static void kernels_for_want_of_a_size(void **state)
{
    static const char text[] = "Operator f\n  Input X (M, K)\n  Input A (K, F)\n  Input B (F, N)\n"
                               "  Output Y (M, N)\n  Compute GEMM X, A and get H\n  Compute GEMM H, B and get Y\nend\n";
    static const Source source = {"f.tl", text, sizeof text - 1};
    static const char *const sets[] = {"K=64", "N=64"};
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *open = new_chain(arena, NULL, 0), *known = new_chain(arena, sets, 2);

    expect_whole(open, &source);
    assert_int_equal(open->abi->kernels.len, 2);
    assert_int_equal(open->diags->list.len, 1);
    assert_int_equal(open->diags->list.data[0].code, TW0522);
    expect_whole(known, &source);
    assert_int_equal(known->abi->kernels.len, 1);
    assert_int_equal(known->diags->list.len, 0);
}

/* Why a setting or a name stops the fuser is said in its note. */
static void what_stops_the_fuser_is_said(void **state)
{
    static const struct {
        const char *text, *set, *note;
    } cases[] = {
        {"Operator two\n  Input X (M, K)\n  Input W (K, N)\n  Input Z (P, K)\n  Output Y (M, N)\n  Output U (P, 1) fp32\n"
         "  Compute GEMM X, W and get Y\n  Compute RowSum Z and get U\nend\n",
         "splits=4", "splits=4 cuts the loops of one kernel into parts, and two takes 2 kernels: leave splits out"},
        {"Operator r\n  Input X (n, n, L, M)\n  Output Y (n, n, L * M)\n  Compute Reshape X and get Y (n, n, L * M)\nend\n",
         NULL, "give one of them a name of its own, as n2"},
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Chain *a = new_chain(arena, &cases[i].set, cases[i].set != NULL);
        Source source = as_source(cases[i].text);

        assert_true(chain_define(a, &source));
        assert_false(chain_fuse(a));
        assert_int_equal(a->diags->errors, 1);
        assert_non_null(strstr(a->diags->list.data[0].note, cases[i].note));
    }
}

/* Of Kernels beside their Operator: a wrong one is told, and of what a check has no time for that. */
static void kernels_are_compared_with_their_operator(void **state)
{
    static const char operator[] = "Operator f\n  Input X (M, N)\n  Output Y (M, N)\n  Compute Exp X and get Y\nend\n";
    static const struct {
        const char *loop;
        int said;
        DiagCode code;
    } cases[] = {{"", 0, TW0523},
                 {"  for i = 0:2\n    Compute Add Y, 1 and get new Y\n  end\n", 1, TW0523},
                 {"  for i = 0:1000000000\n    Compute Add Y, 1 and get new Y\n  end\n", 1, TW0524}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Chain *a = new_chain(arena, NULL, 0);
        Source source = as_source(arena_printf(arena,
            "%sKernel f\n  Input X (M, N) bf16\n  Output Y (M, N) bf16\n  Grid m = ceil(M / 16), n = ceil(N / 16)\n"
            "  Allocate X in register (16, 16) bf16\n  Allocate Y in register (16, 16) fp32\n"
            "  Copy X (16, 16) in coordinate [M = m, N = n] from global to register\n  Compute Exp X and get Y\n%s"
            "  Copy Y (16, 16) in coordinate [M = m, N = n] from register to global\nend\n", operator, cases[i].loop));

        assert_true(chain_check(a, &source, false));
        assert_int_equal(a->diags->list.len, cases[i].said);
        assert_true(!cases[i].said || a->diags->list.data[0].code == cases[i].code);
    }
}

static void what_cannot_be_done_is_said(void **state)
{
    static const char sketch[] = "Kernel x\nend\n", definition[] = "Operator x\nend\n";
    static const Source kernel = {"k.tl", sketch, sizeof sketch - 1};
    static const Source operator = {"o.tl", definition, sizeof definition - 1};
    static const Source broken = {"b.tl", "Operator (", 10};
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *a = new_chain(arena, NULL, 0), *b = new_chain(arena, NULL, 0);
    Chain *c = new_chain(arena, NULL, 0), *d = new_chain(arena, NULL, 0);

    assert_false(chain_define(a, &kernel));
    assert_string_equal(a->failure, "k.tl holds no definition (Operator NAME ... end)");
    assert_false(chain_reason(b, &operator));
    assert_string_equal(b->failure, "o.tl holds no sketch (Kernel NAME ... end)");
    assert_false(chain_lower(c, &operator));
    assert_int_equal(c->diags->list.data[0].code, TW0715);
    assert_false(chain_define(d, &broken));
    assert_true(d->diags->errors > 0);
    assert_non_null(chain_set(a, "x"));
    assert_non_null(chain_set(a, "=3"));
    assert_non_null(chain_set(a, "x=y"));
}

/* Runs the chain with the n-th request failing. True: it got through. */
static bool survives(const char *text, long n, const char *const *sets, int n_sets)
{
    Heap heap = {.fail_in = n};
    jmp_buf oom;
    Arena *volatile arena = NULL;
    volatile bool done = false;

    heap.on_oom = &oom;
    if (setjmp(oom) == 0) {
        Source source = {"op.tl", text, strlen(text)};

        arena = arena_new(&heap);
        assert_true(whole(new_chain(arena, sets, n_sets), &source));
        done = true;
    }
    arena_free(arena);
    assert_int_equal(heap.live, 0);
    return done;
}

static void every_allocation_may_fail(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const Source *op = source_at(arena, "ops/gemm_bias.tl");
    long n = 1;

    while (!survives(op->text, n, gemm_sets, TW_COUNT(gemm_sets)))
        n++;
    assert_true(n > 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(definitions_become_kernels),
        TEST(what_comes_from_around_a_loop_is_not_asked_for),
        TEST(sizes_are_said_of_the_definition),
        TEST(the_same_input_gives_the_same_text),
        TEST(every_artefact_is_a_beginning),
        TEST(the_definition_comes_back_from_the_ptx),
        TEST(snapshots_are_kept_when_wanted),
        TEST(a_flow_by_hand_takes_over),
        TEST(a_flow_by_hand_must_fit),
        TEST(kernels_for_want_of_a_size),
        TEST(what_stops_the_fuser_is_said),
        TEST(kernels_are_compared_with_their_operator),
        TEST(what_cannot_be_done_is_said),
        TEST(every_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("chain", tests, NULL, NULL);
}
