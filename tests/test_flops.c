/* test_flops.c: operations are counted as papers count them. */
#include "ref/ref.h"

#include <math.h>

#include <cmocka.h>

#define ATTENTION(masked)                                                                                         \
    "Operator x\n"                                                                                                \
    "  Input Q (heads, q, D)\n  Input K (heads, k, D)\n  Input V (heads, k, Dv)\n"                                \
    "  Output O (heads, q, Dv)\n"                                                                                 \
    "  Param causal = 1\n"                                                                                        \
    "  Index i over q from k - q\n  Index j over k\n"                                                             \
    "  Compute GEMM Q, K.T and get S\n"                                                                           \
    "  Compute Multiply S, 0.5 and get new S\n"                                                                   \
    "  if causal\n" masked "  end\n"                                                                              \
    "  Compute Softmax S and get P\n  Compute GEMM P, V and get O\nend\n"

/* A mask, and the same as a tensor that is added. */
static const char *const texts[] = {
    ATTENTION("    Compute Mask S where j <= i\n"),
    ATTENTION("    Compute Define M (q, k) as where(j > i, -inf, 0)\n    Compute Add S, M and get new S\n"),
};

typedef struct Case {
    double causal, heads, q, k, d, dv, scores; /* live scores a head */
} Case;

static double count(Arena *arena, const Case *c, const char *text)
{
    Source source = {"x.tl", text, strlen(text)};
    Diags *diags = diags_new(arena, &source);
    Syms *syms = syms_new(arena);
    Program *program = lang_parse(arena, syms, &source, diags);
    Settings settings = {.dtype = DT_BF16};
    RefBinding shape[] = {{"heads", c->heads}, {"q", c->q}, {"k", c->k}, {"D", c->d}, {"Dv", c->dv}};
    Def *def;

    assert_null(settings_add(arena, &settings, c->causal ? "causal=1" : "causal=0"));
    def = def_resolve(arena, syms, aff_ctx_new(arena), program, program->units.data[0], &settings,
                      diags);
    assert_int_equal(diags->errors, 0);
    return ref_flops(arena, def, shape, TW_COUNT(shape));
}

static void live_scores_count(void **state)
{
    static const Case cases[] = {
        {0, 3, 100, 50, 16, 16, 100 * 50},
        {1, 3, 100, 100, 16, 16, 100 * 101 / 2},
        {1, 2, 10, 110, 64, 32, 10 * 100 + 55},  /* aligned to the bottom right */
        {1, 2, 110, 10, 64, 32, 55},             /* most queries see nothing */
        {1, 1, 8000, 8000, 128, 128, 8000.0 * 8001 / 2},
        {0, 1, 0, 10, 16, 16, 0},
    };
    Heap heap = {0};
    jmp_buf oom;
    Arena *arena;

    (void)state;
    heap.on_oom = &oom;
    if (setjmp(oom))
        fail();
    arena = arena_new(&heap);
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const Case *c = &cases[i];
        double want = 2 * (c->d + c->dv) * c->heads * c->scores;

        for (size_t k = 0; k < TW_COUNT(texts); k++)
            assert_true(fabs(count(arena, c, texts[k]) - want) <= want * 1e-3);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(live_scores_count)};

    return cmocka_run_group_tests_name("flops", tests, NULL, NULL);
}
