/* test_lower.c: what people and models write in code, from its text to PTX.
 *
 * tests/lower/NAME.tl is code and NAME.def.tl, beside it, what it should compute;
 * small sizes replace its own, and every level from tile IR to the emulated PTX
 * must agree with the definition.
 */
#include "fixture.h"
#include "levels.h"

#include "check/check.h"
#include "lower/lower.h"

#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- programs of tests/lower ------------------------------------------------------- */

static const char *text_of(Arena *arena, const char *name, const char *ending)
{
    const char *error = NULL;
    Source *source = source_read(arena, arena_printf(arena, "tests/lower/%s%s", name, ending), &error);

    if (!source)
        fail_msg("%s", error);
    return source->text;
}

static void set_sizes(Arena *arena, LevelCase *c, const char *sizes)
{
    while (*sizes) {
        size_t len = strcspn(sizes, " ");
        const char *item = arena_strndup(arena, sizes, len), *equals = strchr(item, '=');
        bool bound = *item == '@';
        const char *name = arena_strndup(arena, item + bound, (size_t)(equals - item - bound));

        if (bound)
            levels_bind(c, name, atof(equals + 1));
        else
            levels_set(arena, c, name, atof(equals + 1));
        sizes += len + strspn(sizes + len, " ");
    }
}

/* sizes: NAME=VALUE is compiled in, @NAME=VALUE comes with the launch. */
static void agrees_on(Fixture *f, const char *target, const char *name, const char *sizes, uint64_t seed)
{
    LevelCase c = {.target = target, .definition = text_of(f->arena, name, ".def.tl"), .code = text_of(f->arena, name, ".tl"),
                   .dtype = DT_BF16, .fill = FILL_NORMAL, .seed = seed};
    set_sizes(f->arena, &c, sizes);
    LevelReport r = levels_run(f->arena, &c);

    if (r.verdict != LEVELS_AGREE)
        fail_msg("%s %s: %s: %s\n%s", name, sizes, r.level, r.problem, str_text(&r.log));
}

static void agrees(Fixture *f, const char *name, const char *sizes, uint64_t seed)
{
    agrees_on(f, NULL, name, sizes, seed);
}

static void test_window_and_sink(void **state)
{
    agrees(*state, "window_sink", "HQ=4 HKV=2 D=64 W=40 BM=64 BN=32 @batch=2 @seqlen=150", 1);
}

static void test_norm_before_two_products(void **state)
{
    agrees(*state, "rmsnorm_swiglu", "K=128 F=64 BM=128 BN=32 BK=32 @T=150", 2);
}

static void test_scores_computed_transposed(void **state)
{
    agrees(*state, "attention_backward_kv", "BN=128 BM=32 d=64 @heads=2 @L=150", 3);
}

static void test_names_of_a_copy(void **state)
{
    agrees(*state, "names_of_a_copy", "@heads=2 @len=150", 5);
}

static void test_copied_to_both_memories(void **state)
{
    agrees(*state, "copied_to_both", "@M=70", 6);
    agrees_on(*state, "sm_90a", "copied_to_both", "@M=40", 7);
}

/* Rows that lie each where a table says: by asynchronous copies of their own, by bulk copies of as many as follow one
 * another, through registers, and into them. */
static void test_rows_by_a_table(void **state)
{
    static const int pages[] = {64, 128, 16, 8, 12, 5, 1};

    agrees(*state, "rows_found", "@tokens=9 @experts=2 @slots=70 @N=130 @K=72", 31);
    agrees(*state, "rows_found", "K=64 N=64 @tokens=3 @experts=3 @slots=5", 32);
    agrees_on(*state, "sm_90a", "rows_found", "@tokens=9 @experts=2 @slots=70 @N=70 @K=72", 33);
    agrees(*state, "rows_straight", "@words=9 @tokens=33", 38);
    for (size_t i = 0; i < TW_COUNT(pages); i++) {
        const char *sizes = arena_printf(((Fixture *)*state)->arena, "page=%d @heads=2 @q_len=130 @pages=4 @most=%d", pages[i], 150 / pages[i] + 1);

        agrees(*state, "rows_in_pages", sizes, 34);
        agrees_on(*state, "sm_90a", "rows_in_pages", sizes, 35);
    }
    agrees(*state, "rows_in_pages", "@page=20 @heads=2 @q_len=130 @pages=4 @most=7", 36);
    agrees_on(*state, "sm_90a", "rows_in_pages", "page=16 @heads=1 @q_len=1 @pages=4 @most=0", 37);
}

/* Rows that are stored each where coordinates say: fragments of 16 bits and numbers of a row, and rows as memory has them. */
static void test_rows_stored(void **state)
{
    agrees(*state, "rows_stored", "D=64 @heads=3 @len=70", 41);
    agrees(*state, "rows_stored", "D=48 @heads=2 @len=9", 42);
    agrees(*state, "rows_stored", "D=64 @heads=1 @len=0", 43);
    agrees_on(*state, "sm_90a", "rows_stored", "D=128 half=4 @heads=2 @len=129", 44);
}

static void test_state_over_chunks(void **state)
{
    agrees(*state, "state_over_chunks", "@B=2 @H=1 @L=150", 6);
}

static void test_largest_two(void **state)
{
    agrees(*state, "largest_two", "@T=70 @K=100", 7);
}

static void test_stages_and_names(void **state)
{
    agrees(*state, "stages_and_names", "@heads=2 @q_len=70 @kv_len=150", 4);
}

static void test_power_of_filled(void **state)
{
    agrees(*state, "power_of_filled", "", 1);
}

static void test_fewer_chunks_than_threads(void **state)
{
    agrees(*state, "fewer_chunks_than_threads", "", 1);
}

static TileProgram *lowered(Fixture *f, const char *name, const char *ending)
{
    Syms *syms = syms_new(f->arena);
    Source *source = arena_new_of(f->arena, Source);
    Settings settings = {.dtype = DT_BF16};
    const char *text = text_of(f->arena, name, ending);

    *source = (Source){.path = name, .text = text, .len = strlen(text)};
    Diags *diags = diags_new(f->arena, source);
    Program *code = lang_parse(f->arena, syms, source, diags);
    for (int i = 0; i < code->units.len; i++) {
        CheckOptions options = {.target = target_find("sm_80"), .settings = &settings};
        check_code(f->arena, syms, code, code->units.data[i], &options, diags);
    }
    TileProgram *p = diags->errors ? NULL
                                   : lower(f->arena, syms, aff_ctx_new(f->arena), code, &settings, diags);
    if (!p || !tile_verify(p, diags))
        fail_msg("%s: %s", name, diags->list.data[0].message);
    return p;
}

/* ---- blocks that add to memory --------------------------------------------------------- */

static void test_blocks_add(void **state)
{
    agrees(*state, "sums_of_blocks", "@M=50 @N=77", 8);
    agrees(*state, "gradients_of_blocks", "d=32 BN=64 BM=64 @heads=2 @L=70", 9);
    agrees(*state, "parts_of_blocks", "d=32 BN=32 @heads=1 @L=140", 10);
    agrees_on(*state, "sm_90a", "parts_of_blocks", "@heads=1 @L=150", 11);
}

/* What is only added to begins as 0, by a kernel in front; what a kernel stored stays. */
static void test_zeros_in_front(void **state)
{
    Fixture *f = *state;
    TileProgram *p = lowered(f, "sums_of_blocks", ".tl");
    static const char *const names[] = {"zero_S", "zero_R", "zero_T", "first", "columns", "rows", "last"};

    assert_int_equal(p->kernels.len, TW_COUNT(names));
    for (size_t i = 0; i < TW_COUNT(names); i++)
        assert_string_equal(p->kernels.data[i]->name, names[i]);
}

/* ---- elements of tensors --------------------------------------------------------------- */

/* The one diagnostic that lowering a program gives. */
static void refuses(Fixture *f, const char *text, DiagCode code)
{
    Syms *syms = syms_new(f->arena);
    Source *source = arena_new_of(f->arena, Source);
    Settings settings = {.dtype = DT_BF16};

    *source = (Source){.path = "refused", .text = text, .len = strlen(text)};
    Diags *diags = diags_new(f->arena, source);
    Program *code_of = lang_parse(f->arena, syms, source, diags);
    assert_int_equal(diags->errors, 0);
    assert_null(lower(f->arena, syms, aff_ctx_new(f->arena), code_of, &settings, diags));
    assert_int_equal(diags->list.data[0].code, code);
}

#define READING(STATEMENTS)                                                                          \
    "Kernel k\n  Input X (B, L) bf16\n  Input Seg (B, L) int32\n  Output Y (B, L) bf16\n"            \
    "  Grid m = ceil(L / 64), b = ceil(B / 32)\n  Allocate X in register (32, 64)\n" STATEMENTS        \
    "  Compute Multiply X, 1 and get Y\n  Copy Y (32, 64) in coordinate [B = b, L = m] from register to global\nend\n"
#define COPIED "  Copy X (32, 64) in coordinate [B = b, L = m] from global to register"

static void test_elements_refused(void **state)
{
    Fixture *f = *state;

    refuses(f, READING(COPIED " where Seg[b, m * 64 + col] == 1\n"), TW0734);
    refuses(f, READING(COPIED "\n  Compute Mask X where Seg[m * 64 + col] == 1\n"), TW0735);
    refuses(f, READING(COPIED "\n  Compute Mask X where Seg[..., ...] == 1\n"), TW0735);
}

/* ---- latent attention of one token, its cache split ------------------------------------- */

enum { HEADS = 128, WIDTH = 576, VALUES = 512 };

static double element(const Tensor *t, int64_t a, int64_t b, int64_t c)
{
    int64_t at[] = {a, b, c};
    return tensor_get(t, at);
}

/* Head h of sequence b, in double. */
static void attend(const Tensor *q, const Tensor *kv, int b, int h, int len, double *out)
{
    double *p = test_malloc(sizeof(double) * (size_t)(len + 1)), top = -INFINITY, sum = 0;

    for (int i = 0; i < len; i++) {
        p[i] = 0;
        for (int d = 0; d < WIDTH; d++)
            p[i] += element(q, b, h, d) * element(kv, b, i, d);
        p[i] /= sqrt(192);
        top = p[i] > top ? p[i] : top;
    }
    for (int d = 0; d < VALUES; d++)
        out[d] = 0;
    for (int i = 0; i < len; i++) {
        double w = exp(p[i] - top);
        sum += w;
        for (int d = 0; d < VALUES; d++)
            out[d] += w * element(kv, b, i, d);
    }
    for (int d = 0; d < VALUES && len > 0; d++)
        out[d] /= sum;
    test_free(p);
}

static void test_split_cache(void **state)
{
    Fixture *f = *state;
    TileProgram *p = lowered(f, "mla_decode_split", ".tl");
    const int64_t sizes[] = {2, 150, 3}; /* B, LMAX, NS */
    const int lens[] = {130, 20};
    const char *error = NULL;
    int64_t dims[3] = {0}, values[256] = {0};
    Tensor *tensors[8] = {0};
    const char *const names[] = {"B", "LMAX", "NS"};

    assert_true(aff_sym_count(p->aff) < 256 && p->tensors.len <= 8 && p->dims.len == 3);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(p->dims.data[i]->name, names[k]) == 0)
                values[p->dims.data[i]->id] = dims[i] = sizes[k];
    const Tensor *q = NULL, *kv = NULL, *out = NULL;
    for (int i = 0; i < p->tensors.len; i++) {
        const TileTensor *t = p->tensors.data[i];
        int64_t shape[TENSOR_MAX_RANK];
        for (int d = 0; d < t->rank; d++)
            assert_true(aff_eval(t->dims[d], values, &shape[d]));
        tensors[i] = tensor_new(f->arena, t->name, t->dtype, t->rank, shape, &error);
        tensor_fill(tensors[i], FILL_UNIFORM, (uint64_t)i);
        assert_int_equal(t->workspace, strcmp(t->name, "O") == 0 || strcmp(t->name, "LSE") == 0);
        q = strcmp(t->name, "Q") == 0 ? tensors[i] : q;
        kv = strcmp(t->name, "KV") == 0 ? tensors[i] : kv;
        out = strcmp(t->name, "Out") == 0 ? tensors[i] : out;
        for (int64_t b = 0; strcmp(t->name, "len") == 0 && b < 2; b++)
            tensor_set(tensors[i], &b, lens[b]);
    }
    TileRun run = {.tensors = tensors, .dims = dims};
    if (!tile_run(f->arena, p, &run, &error))
        fail_msg("%s", error);
    for (int b = 0; b < 2; b++)
        for (int h = 0; h < HEADS; h += 21) {
            double want[VALUES];
            attend(q, kv, b, h, lens[b], want);
            for (int d = 0; d < VALUES; d++)
                assert_true(fabs(element(out, b, h, d) - want[d]) < 0.02);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_window_and_sink, setup, teardown),
        cmocka_unit_test_setup_teardown(test_norm_before_two_products, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scores_computed_transposed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stages_and_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_of_a_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_copied_to_both_memories, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows_by_a_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows_stored, setup, teardown),
        cmocka_unit_test_setup_teardown(test_state_over_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_largest_two, setup, teardown),
        cmocka_unit_test_setup_teardown(test_power_of_filled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fewer_chunks_than_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_blocks_add, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zeros_in_front, setup, teardown),
        cmocka_unit_test_setup_teardown(test_elements_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_split_cache, setup, teardown),
    };

    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
