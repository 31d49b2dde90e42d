/* test_tile.c: tile IR: text, verifier, executor, at both levels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "tile/tile.h"

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    AffCtx *aff;
    Syms *syms;
    Diags *diags;
} Fixture;

static int setup(void **state)
{
    static Fixture f;
    f = (Fixture){.heap = {.on_oom = &f.oom}};
    if (setjmp(f.oom))
        return -1;
    f.arena = arena_new(&f.heap);
    f.aff = aff_ctx_new(f.arena);
    f.syms = syms_new(f.arena);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    arena_free(((Fixture *)*state)->arena);
    return 0;
}

/* ---- helpers ------------------------------------------------------------------- */

static TileProgram *parse(Fixture *f, const char *text)
{
    Source *source = arena_new_of(f->arena, Source);
    *source = (Source){"test.tile", text, strlen(text)};
    f->diags = diags_new(f->arena, source);
    return tile_parse(f->arena, f->syms, f->aff, source, f->diags);
}

static void show(const Fixture *f)
{
    if (f->diags->list.len)
        diags_print(f->diags, stderr, false);
}

static TileProgram *parse_good(Fixture *f, const char *text)
{
    TileProgram *p = parse(f, text);
    bool ok = p && tile_verify(p, f->diags);
    if (!ok)
        show(f);
    assert_true(ok);
    return p;
}

static const char *print(Fixture *f, const TileProgram *p)
{
    Str s = str_new(f->arena);
    tile_print(&s, p);
    return str_text(&s);
}

/* text with the first `old` replaced, which must be there. */
static const char *edit(Fixture *f, const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    assert_non_null(at);
    Str s = str_new(f->arena);
    str_addn(&s, text, (size_t)(at - text));
    str_add(&s, new);
    str_add(&s, at + strlen(old));
    return str_text(&s);
}

static Tensor *new_tensor(Fixture *f, DType dtype, int rank, int64_t a, int64_t b)
{
    const char *error = NULL;
    int64_t dims[] = {a, b};
    Tensor *t = tensor_new(f->arena, "t", dtype, rank, dims, &error);
    assert_non_null(t);
    return t;
}

static void fill_random(Tensor *t, uint64_t seed)
{
    Rng rng = {seed};
    for (int64_t i = 0; i < tensor_count(t); i++)
        dtype_store(t->dtype, (char *)t->data + i * dtype_bytes(t->dtype), rng_normal(&rng));
}

static double at1(const Tensor *t, int64_t i)
{
    return tensor_get(t, &i);
}

static double at2(const Tensor *t, int64_t i, int64_t j)
{
    return tensor_get(t, (int64_t[]){i, j});
}

/* ---- a GEMM with bias ----------------------------------------------------------------- */

static const char GEMM[] =
    "program gemm_bias\n"
    "dim m in 0..\n"
    "dim n in 1..\n"
    "dim k in 0..\n"
    "param scale\n"
    "tensor A (m, k) bf16 in\n"
    "tensor B (n, k) bf16 in\n"
    "tensor bias (n) fp32 in\n"
    "tensor C (rows = m, n) bf16 out\n"
    "require not (k mod 2), \"k must be \\\"even\\\"\"\n"
    "\n"
    "kernel main grid(i: ceil(m / 32) reversed, j: ceil(n / 24)) warps 2 {\n"
    "  %acc = fill 0 : fp32<32x24>\n"
    "  %acc.1 = for t = 0:ceil(k / 16) carry (%acc.2 = %acc) {\n"
    "    %a = load A[i * 32 : rows, t * 16 : cols] : shared bf16<32x16>\n"
    "    %b = load B[j * 24 : rows, t * 16 : cols] : shared bf16<24x16>  # streamed\n"
    "    %c = gemm %a, %b.T, %acc.2 : fp32<32x24>\n"
    "    yield %c\n"
    "  }\n"
    "  %s = fill scale : fp32<1x1>\n"
    "  %scaled = multiply %acc.1, %s : fp32<32x24>\n"
    "  %bias = load bias[j * 24 : cols] : fp32<1x24>\n"
    "  %sum = add %scaled, %bias : fp32<32x24>\n"
    "  %0 = cast %sum : bf16<32x24>\n"
    "  store %0, C[i * 32 : rows, j * 24 : cols]\n"
    "}\n";

typedef struct GemmCase {
    int64_t dims[3];
    double scale;
    Tensor *tensors[4];
    TileRun run;
} GemmCase;

static void make_gemm_case(Fixture *f, GemmCase *c, int64_t m, int64_t n, int64_t k)
{
    *c = (GemmCase){.dims = {m, n, k}, .scale = 0.5};
    c->tensors[0] = new_tensor(f, DT_BF16, 2, m, k);
    c->tensors[1] = new_tensor(f, DT_BF16, 2, n, k);
    c->tensors[2] = new_tensor(f, DT_F32, 1, n, 0);
    c->tensors[3] = new_tensor(f, DT_BF16, 2, m, n);
    for (uint64_t i = 0; i < 3; i++)
        fill_random(c->tensors[i], i + 1);
    tensor_poison(c->tensors[3]);
    c->run = (TileRun){.tensors = c->tensors, .dims = c->dims, .params = &c->scale};
}

static double gemm_element(const GemmCase *c, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t t = 0; t < c->dims[2]; t++)
        sum += at2(c->tensors[0], i, t) * at2(c->tensors[1], j, t);
    return sum * c->scale + at1(c->tensors[2], j);
}

static void gemm_with_bias(void **state)
{
    Fixture *f = *state;
    TileProgram *p = parse_good(f, GEMM);
    static const int64_t shapes[][3] = {{70, 50, 40}, {32, 24, 16}, {1, 1, 2}, {33, 25, 0}, {0, 5, 8}};
    for (size_t s = 0; s < TW_COUNT(shapes); s++) {
        GemmCase c;
        const char *error = NULL;
        make_gemm_case(f, &c, shapes[s][0], shapes[s][1], shapes[s][2]);
        assert_true(tile_run(f->arena, p, &c.run, &error));
        for (int64_t i = 0; i < c.dims[0]; i++)
            for (int64_t j = 0; j < c.dims[1]; j++) {
                double want = gemm_element(&c, i, j);
                assert_true(fabs(at2(c.tensors[3], i, j) - want) <= 0.01 * fabs(want) + 0.01);
            }
    }
}

static bool only_first_block(void *user, int kernel, const int64_t *axes, int n_axes)
{
    (void)user;
    return kernel == 0 && n_axes == 2 && axes[0] == 0 && axes[1] == 0;
}

static void blocks_can_be_chosen(void **state)
{
    Fixture *f = *state;
    GemmCase c;
    const char *error = NULL;
    make_gemm_case(f, &c, 40, 30, 16);
    c.run.want_block = only_first_block;
    assert_true(tile_run(f->arena, parse_good(f, GEMM), &c.run, &error));
    assert_false(isnan(at2(c.tensors[3], 31, 23)));
    assert_true(isnan(at2(c.tensors[3], 32, 0)));
    assert_true(isnan(at2(c.tensors[3], 0, 24)));
}

static void launches_are_checked(void **state)
{
    Fixture *f = *state;
    GemmCase c;
    const char *error = NULL;
    TileProgram *p = parse_good(f, GEMM);
    make_gemm_case(f, &c, 8, 8, 3);
    assert_false(tile_run(f->arena, p, &c.run, &error));
    assert_string_equal(error, "k must be \"even\"");
    make_gemm_case(f, &c, 8, 8, 4);
    c.tensors[1] = c.tensors[2];
    assert_false(tile_run(f->arena, p, &c.run, &error));
    assert_non_null(strstr(error, "tensor B has rank 1"));
    make_gemm_case(f, &c, 8, 8, 4);
    c.dims[1] = 0;
    assert_false(tile_run(f->arena, p, &c.run, &error));
    assert_non_null(strstr(error, "dimension n is 0"));
}

/* ---- online softmax, sequential --------------------------------------------------------- */

static const char ATTENTION[] =
    "program attend\n"
    "dim len in 0..\n"
    "tensor Q (len, D = 16) bf16 in\n"
    "tensor K (len, 16) bf16 in\n"
    "tensor V (_ = len, 16) bf16 in\n"
    "tensor O (len, 16) fp32 out\n"
    "\n"
    "kernel main grid(m: ceil(len / 32)) warps 2 {\n"
    "  %q = load Q[m * 32 : rows, 0 : cols] : shared bf16<32x16>\n"
    "  %o = fill 0 : fp32<32x16>\n"
    "  %max = fill -inf : fp32<32x1>\n"
    "  %sum = fill 0 : fp32<32x1>\n"
    "  %o.1, %max.1, %sum.1 = for j = 0:ceil(len / 16) carry (%o.2 = %o, %max.2 = %max, %sum.2 = %sum) {\n"
    "    %k = load K[j * 16 : rows, 0 : cols] : shared bf16<16x16>\n"
    "    %v = load V[j * 16 : rows, 0 : cols] : shared bf16<16x16>\n"
    "    %s = gemm %q, %k.T : fp32<32x16>\n"
    "    %s.1 = mask %s where j * 16 + col <= m * 32 + row else -inf : fp32<32x16>\n"
    "    %p, %max.3, %sum.3, %alpha = softmax %s.1, %max.2, %sum.2"
    " : fp32<32x16>, fp32<32x1>, fp32<32x1>, fp32<32x1>\n"
    "    %o.3 = multiply %o.2, %alpha : fp32<32x16>\n"
    "    %p.1 = cast %p : bf16<32x16>\n"
    "    %p.2 = reshape %p.1 : bf16<32x16>\n"
    "    %o.4 = gemm %p.2, %v, %o.3 : fp32<32x16>\n"
    "    yield %o.4, %max.3, %sum.3\n"
    "  }\n"
    "  %o.5 = divide %o.1, %sum.1 else 0 : fp32<32x16>\n"
    "  store %o.5, O[m * 32 : rows, 0 : cols]\n"
    "}\n";

typedef struct AttentionCase {
    int64_t len;
    Tensor *tensors[4];
    TileRun run;
} AttentionCase;

static void make_attention_case(Fixture *f, AttentionCase *c, int64_t len, uint64_t seed)
{
    *c = (AttentionCase){.len = len};
    for (int i = 0; i < 4; i++)
        c->tensors[i] = new_tensor(f, i == 3 ? DT_F32 : DT_BF16, 2, len, 16);
    for (int i = 0; i < 3; i++)
        fill_random(c->tensors[i], seed + (uint64_t)i);
    tensor_poison(c->tensors[3]);
    c->run = (TileRun){.tensors = c->tensors, .dims = &c->len, .seed = seed};
}

/* One row of the definition, in double. */
static void attention_row(const AttentionCase *c, int64_t i, double *out)
{
    double top = -INFINITY, sum = 0;
    double *s = calloc((size_t)i + 1, sizeof *s);
    for (int64_t j = 0; j <= i; j++) {
        for (int64_t d = 0; d < 16; d++)
            s[j] += at2(c->tensors[0], i, d) * at2(c->tensors[1], j, d);
        top = fmax(top, s[j]);
    }
    for (int d = 0; d < 16; d++)
        out[d] = 0;
    for (int64_t j = 0; j <= i; j++) {
        double p = exp(s[j] - top);
        sum += p;
        for (int64_t d = 0; d < 16; d++)
            out[d] += p * at2(c->tensors[2], j, d);
    }
    for (int d = 0; d < 16; d++)
        out[d] /= sum;
    free(s);
}

static void check_attention(Fixture *f, const char *text, int64_t len, uint64_t seed)
{
    AttentionCase c;
    const char *error = NULL;
    double want[16];
    make_attention_case(f, &c, len, seed);
    if (!tile_run(f->arena, parse_good(f, text), &c.run, &error))
        fail_msg("%s", error);
    for (int64_t i = 0; i < len; i++) {
        attention_row(&c, i, want);
        for (int d = 0; d < 16; d++)
            assert_true(fabs(at2(c.tensors[3], i, d) - want[d]) < 0.02);
    }
}

static void online_softmax(void **state)
{
    check_attention(*state, ATTENTION, 75, 1);
    check_attention(*state, ATTENTION, 32, 2);
    check_attention(*state, ATTENTION, 1, 3);
    check_attention(*state, ATTENTION, 0, 4);
}

/* Rows that are masked out whole give zeros, not NaN. */
static void dead_rows(void **state)
{
    Fixture *f = *state;
    AttentionCase c;
    const char *error = NULL;
    const char *text = edit(f, ATTENTION, "j * 16 + col <= m * 32 + row", "row < 0 - len + 5");
    make_attention_case(f, &c, 40, 1);
    assert_true(tile_run(f->arena, parse_good(f, text), &c.run, &error));
    for (int64_t i = 0; i < 40; i++)
        assert_true(at2(c.tensors[3], i, 3) == 0);
}

static const char FOLD[] = "program fold\ntensor X (2, 64) bf16 in\ntensor Y (2, 16) bf16 out\n\n"
                           "kernel fold grid(m: 1) warps 4 {\n"
                           "  %x = load X[0 : rows, 0 : cols] : bf16<2x64>\n"
                           "  %y = rowsum %x along columns : bf16<2x16>\n"
                           "  store %y, Y[0 : rows, 0 : cols]\n}\n";

/* Half a tile apart first, and rounded each time: 1 + 2^-8 is 1, and 2^-8 + 2^-8 is not lost. */
static void sums_of_halves(void **state)
{
    Fixture *f = *state;
    Tensor *tensors[] = {new_tensor(f, DT_BF16, 2, 2, 64), new_tensor(f, DT_BF16, 2, 2, 16)};
    TileRun run = {.tensors = tensors, .seed = 1};
    const char *error = NULL;
    double eps = 1.0 / 256;
    for (int j = 0; j < 64; j += 16) dtype_store(DT_BF16, (char *)tensors[0]->data + 2 * j, j ? eps : 1);
    assert_true(tile_run(f->arena, parse_good(f, FOLD), &run, &error));
    assert_true(at2(tensors[1], 0, 0) == 1 + 2 * eps);
    assert_true(at2(tensors[1], 0, 1) == 0 && at2(tensors[1], 1, 0) == 0);
}

/* ---- the same, staged -------------------------------------------------------------------------- */

#define ONE_STEP(in)                                                                               \
    in "%s = gemm %q, %k.T : fp32<32x16>\n"                                                        \
    in "%s.1 = mask %s where j * 16 + col <= m * 32 + row else -inf"                               \
       " unless j < m * 2 : fp32<32x16>\n"                                             \
    in "%top = rowmax %s.1 along columns : fp32<32x1>\n"                                           \
    in "%max.3 = max %max.2, %top : fp32<32x1>\n"                                                  \
    in "%ref = max %max.3, %floor : fp32<32x1>\n"                                                  \
    in "%away = subtract %max.2, %ref : fp32<32x1>\n"                                              \
    in "%alpha = exp %away : fp32<32x1>\n"                                                         \
    in "%s.2 = subtract %s.1, %ref : fp32<32x16>\n"                                                \
    in "%p = exp %s.2 : fp32<32x16>\n"                                                             \
    in "%more = rowsum %p along columns : fp32<32x1>\n"                                            \
    in "%sum.3 = fma %sum.2, %alpha, %more : fp32<32x1>\n"                                         \
    in "%o.3 = multiply %o.2, %alpha : fp32<32x16>\n"                                              \
    in "%p.1 = cast %p : bf16<32x16>\n"                                                            \
    in "%o.4 = gemm %p.1, %v, %o.3 : fp32<32x16>\n"

#define INITIAL(in)                                                                                \
    in "%o = fill 0 : fp32<32x16>\n"                                                               \
    in "%max = fill -inf : fp32<32x1>\n"                                                           \
    in "%floor = fill -1e+30 : fp32<1x1>\n"                                                        \
    in "%sum = fill 0 : fp32<32x1>\n"

#define HEAD                                                                                       \
    "program attend\n"                                                                             \
    "dim len in 0..\n"                                                                             \
    "tensor Q (len, 16) bf16 in\n"                                                                 \
    "tensor K (len, 16) bf16 in\n"                                                                 \
    "tensor V (len, 16) bf16 in\n"                                                                 \
    "tensor O (len, 16) fp32 out\n"                                                                \
    "\n"

#define CARRIED "carry (%o.2 = %o, %max.2 = %max, %sum.2 = %sum)"

static const char STAGED[] =
    HEAD
    "kernel main grid(m: ceil(len / 32)) warps 2 stages 2 facts(expanded, staged, synced) {\n"
    "  %Q = buffer : bf16<1x32x16>\n"
    "  %K = buffer : bf16<2x16x16>\n"
    "  %V = buffer : bf16<2x16x16>\n"
    "  copy_async Q[m * 32 : rows, 0 : cols], %Q[0]\n"
    "  commit\n"
    "  copy_async K[0 : rows, 0 : cols], %K[0] if len >= 1\n"
    "  copy_async V[0 : rows, 0 : cols], %V[0] if len >= 1\n"
    "  commit\n"
    "  wait 1\n"
    INITIAL("  ")
    "  %q = view %Q[0] : shared bf16<32x16>\n"
    "  %o.1, %max.1, %sum.1 = for j = 0:ceil(len / 16) " CARRIED " {\n"
    "    wait 0\n"
    "    barrier  # data has landed, the other stage is free\n"
    "    if j * 16 + 17 <= len {\n"
    "      copy_async K[j * 16 + 16 : rows, 0 : cols], %K[(j + 1) mod 2]\n"
    "      copy_async V[j * 16 + 16 : rows, 0 : cols], %V[(j + 1) mod 2]\n"
    "    }\n"
    "    commit\n"
    "    %k = view %K[j mod 2] : shared bf16<16x16>\n"
    "    %v = view %V[j mod 2] : shared bf16<16x16>\n"
    ONE_STEP("    ")
    "    yield %o.4, %max.3, %sum.3\n"
    "  }\n"
    "  %o.5 = divide %o.1, %sum.1 else 0 : fp32<32x16>\n"
    "  store %o.5, O[m * 32 : rows, 0 : cols]\n"
    "}\n";

static const char ROLES[] =
    HEAD
    "kernel main grid(m: ceil(len / 32)) warps 3 facts(expanded, staged, synced) {\n"
    "  %Q = buffer : bf16<1x32x16>\n"
    "  %K = ring : bf16<2x16x16>\n"
    "  %V = ring by lanes : bf16<2x16x16>\n"
    "  copy_async Q[m * 32 : rows, 0 : cols], %Q[0]\n"
    "  commit\n"
    "  wait 0\n"
    "  barrier\n"
    "  roles {\n"
    "    load (warps 1, regs 24) {\n"
    "      for j = 0:ceil(len / 16) {\n"
    "        acquire %K\n"
    "        copy_async K[j * 16 : rows, 0 : cols], %K\n"
    "        filled %K\n"
    "        acquire %V\n"
    "        copy_async V[j * 16 : rows, 0 : cols], %V\n"
    "        filled %V\n"
    "      }\n"
    "    }\n"
    "    compute (warps 2) {\n"
    INITIAL("      ")
    "      %q = view %Q[0] : shared bf16<32x16>\n"
    "      %o.1, %max.1, %sum.1 = for j = 0:ceil(len / 16) " CARRIED " {\n"
    "        %k = await %K : shared bf16<16x16>\n"
    "        %v = await %V : shared bf16<16x16>\n"
    ONE_STEP("        ")
    "        release %K\n"
    "        release %V\n"
    "        yield %o.4, %max.3, %sum.3\n"
    "      }\n"
    "      %o.5 = divide %o.1, %sum.1 else 0 : fp32<32x16>\n"
    "      store %o.5, O[m * 32 : rows, 0 : cols]\n"
    "    }\n"
    "  }\n"
    "}\n";

static void staged(void **state)
{
    check_attention(*state, STAGED, 75, 1);
    check_attention(*state, STAGED, 16, 2);
    check_attention(*state, STAGED, 0, 3);
}

static void roles(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_attention(*state, ROLES, 75, seed);
    check_attention(*state, ROLES, 7, 1);
}

/* Bitwise the same result, however copies and roles are timed. */
static void seeds_do_not_matter(void **state)
{
    Fixture *f = *state;
    TileProgram *programs[] = {parse_good(f, ATTENTION), parse_good(f, STAGED), parse_good(f, ROLES)};
    AttentionCase first, c;
    const char *error = NULL;
    make_attention_case(f, &first, 60, 9);
    assert_true(tile_run(f->arena, programs[1], &first.run, &error));
    for (uint64_t seed = 0; seed < 8; seed++) {
        make_attention_case(f, &c, 60, 9);
        c.run.seed = seed;
        assert_true(tile_run(f->arena, programs[1 + seed % 2], &c.run, &error));
        assert_memory_equal(c.tensors[3]->data, first.tensors[3]->data, first.tensors[3]->bytes);
    }
}

/* ---- planted faults: found when run ------------------------------------------------------------ */

static void fails(Fixture *f, const char *text, const char *message)
{
    AttentionCase c;
    const char *error = NULL;
    TileProgram *p = parse_good(f, text);
    for (uint64_t seed = 0; seed < 10; seed++) {
        make_attention_case(f, &c, 75, 1);
        c.run.seed = seed;
        if (tile_run(f->arena, p, &c.run, &error))
            fail_msg("wanted '%s', but it runs", message);
        if (!strstr(error, message))
            fail_msg("wanted '%s', got '%s'", message, error);
    }
}

static void faults_of_copies(void **state)
{
    Fixture *f = *state;
    fails(f, edit(f, STAGED, "    wait 0\n", ""), "no wait covers it");
    fails(f, edit(f, STAGED, "    wait 0\n", "    wait 1\n"), "no wait covers it");
    fails(f, edit(f, STAGED, "    wait 0\n    barrier", "    barrier\n    wait 0"), "no barrier has made visible");
    fails(f, edit(f, STAGED, "    barrier  # data has landed, the other stage is free\n", ""), "barrier");
    fails(f, edit(f, STAGED, "%K[(j + 1) mod 2]", "%K[j mod 2]"), "reads stage 0 of %K while");
    fails(f, edit(f, STAGED, "%K[(j + 1) mod 2]", "%K[j + 1]"), "stage 2 of a buffer of 2");
    fails(f, edit(f, STAGED, "    commit\n    %k", "    %k"), "no wait covers it");
    fails(f, edit(f, STAGED, "%K[0] if len >= 1", "%K[0] if len >= 1000"), "nothing was written");
    fails(f, edit(f, STAGED, "  copy_async Q[m * 32 : rows, 0 : cols], %Q[0]\n",
                  "  copy_async Q[m * 32 : rows, 0 : cols], %Q[0]\n"
                  "  copy_async Q[m * 32 : rows, 0 : cols], %Q[0]\n"),
          "overwrites stage 0 of %Q while");
    /* With one barrier less there is nothing between a read and the next copy. */
    fails(f, edit(f, edit(f, STAGED, "    barrier  # data has landed, the other stage is free\n", ""),
                  "    commit\n    %k", "    commit\n    barrier\n    %k"),
          "which other warps may still read");
}

/* Without the claim that barriers are in place their absence is no fault. */
static void barriers_are_a_claim(void **state)
{
    Fixture *f = *state;
    const char *text = edit(f, STAGED, "    barrier  # data has landed, the other stage is free\n", "");
    check_attention(f, edit(f, text, "staged, synced", "staged"), 75, 1);
}

static void faults_of_puts(void **state)
{
    Fixture *f = *state;
    static const char put[] =
        "  %x = fill 3 : bf16<32x16>\n"
        "  %q0 = view %Q[0] : shared bf16<32x16>\n"
        "  %y = move %q0 : bf16<32x16>\n"
        "  put %x, %Q[0]\n";
    fails(f, edit(f, STAGED, "  wait 1\n", "  wait 1\n  barrier\n  %x = fill 3 : bf16<32x16>\n  put %x, %Q[0]\n"
                                          "  %q0 = view %Q[0] : shared bf16<32x16>\n"
                                          "  %y = move %q0 : bf16<32x16>\n"),
          "no barrier has made visible");
    Str late = str_new(f->arena);
    str_printf(&late, "  wait 1\n  barrier\n%s", put);
    fails(f, edit(f, STAGED, "  wait 1\n", str_text(&late)), "no barrier since it was read");
    fails(f, edit(f, STAGED, "  wait 1\n", "  %x = fill 3 : bf16<32x16>\n  put %x, %Q[0]\n"), "overwrites stage 0 of %Q while");
}

static void faults_of_roles(void **state)
{
    Fixture *f = *state;
    fails(f, edit(f, ROLES, "        release %K\n        release %V\n",
                  "        release %K\n        release %V\n"
                  "        %again = move %k : bf16<16x16>\n"),
          "which this role has released");
    fails(f, edit(f, ROLES, "        acquire %K\n        copy_async K[j * 16 : rows, 0 : cols], %K\n",
                  "        copy_async K[j * 16 : rows, 0 : cols], %K\n        acquire %K\n"),
          "which this role has not acquired");
    fails(f, edit(f, ROLES, "      for j = 0:ceil(len / 16) {\n",
                  "      %x = fill 1 : bf16<32x16>\n      put %x, %Q[0]\n      for j = 0:ceil(len / 16) {\n"),
          "another role");
}

static void faults_of_expressions(void **state)
{
    Fixture *f = *state;
    fails(f, edit(f, STAGED, "K[0 : rows", "K[1 div (len - 75) : rows"), "division by 0");
    fails(f, edit(f, STAGED, "where j * 16 + col <=", "where col div (len - 75) <="), "the mask has no value");
}

/* ---- tiles that lie where a tensor says ----------------------------------------------------------- */

static const char PAGES[] =
    "program pages\n"
    "dim n in 1..\n"
    "tensor X (6, 4, 8) fp32 in\n"
    "tensor Which (2, n) int32 in\n"
    "tensor Y (n, 4, 8) fp32 out\n"
    "\n"
    "kernel main grid(b: n) warps 1 {\n"
    "  for t = 0:2 {\n"
    "    %x = load X[t + Which[1 - t, b] - 1, Which[1, Which[1, b]] : rows, 0 : cols] : fp32<4x8>\n"
    "    store %x, Y[b, 0 : rows, 0 : cols]\n"
    "  }\n"
    "}\n";

/* What lies outside of a table is 0, as what lies outside of a tensor is. */
static void tiles_by_a_table(void **state)
{
    enum { N = 4 };
    static const int which[2][N] = {{5, 0, 7, -1}, {1, 2, -1, 9}}; /* [1, [1, b]]: 2, -1, 0, 0 */
    static const int rows[N] = {2, -1, 0, 0};
    Fixture *f = *state;
    TileProgram *p = parse_good(f, PAGES);
    const char *error = NULL;
    int64_t x_dims[] = {6, 4, 8}, y_dims[] = {N, 4, 8}, n = N;
    Tensor *x = tensor_new(f->arena, "X", DT_F32, 3, x_dims, &error), *y = tensor_new(f->arena, "Y", DT_F32, 3, y_dims, &error);
    Tensor *t = new_tensor(f, DT_I32, 2, 2, N), *tensors[] = {x, t, y};
    TileRun run = {.tensors = tensors, .dims = &n};

    fill_random(x, 7);
    for (int i = 0; i < 2 * N; i++)
        dtype_store(DT_I32, (char *)t->data + 4 * i, which[i / N][i % N]);
    if (!tile_run(f->arena, p, &run, &error))
        fail_msg("%s", error);
    for (int b = 0; b < N; b++)
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 8; k++) {
                int page = which[0][b], row = rows[b] + i;
                bool inside = page >= 0 && page < 6 && row >= 0 && row < 4;
                double want = inside ? tensor_get(x, (int64_t[]){page, row, k}) : 0;
                assert_true(tensor_get(y, (int64_t[]){b, i, k}) == want);
            }
}

static const char ROWS[] =
    "program rows\n"
    "dim n in 1..\n"
    "tensor X (6, 4, 8) fp32 in\n"
    "tensor Which (n) int32 in\n"
    "tensor Y (n, 8) fp32 out\n"
    "\n"
    "kernel main grid(b: ceil(n / 8)) warps 1 {\n"
    "  %x = load X[Which[b * 8 + row], row mod 4, 0 : cols] where b * 8 + row + 2 <= n : fp32<8x8>\n"
    "  store %x, Y[b * 8 : rows, 0 : cols]\n"
    "}\n";

static void rows_by_a_table(void **state)
{
    enum { N = 13 };
    Fixture *f = *state;
    TileProgram *p = parse_good(f, ROWS);
    const char *error = NULL;
    int64_t dims[] = {6, 4, 8}, n = N;
    Tensor *x = tensor_new(f->arena, "X", DT_F32, 3, dims, &error), *y = new_tensor(f, DT_F32, 2, N, 8), *t = new_tensor(f, DT_I32, 1, N, 0);
    Tensor *tensors[] = {x, t, y};
    TileRun run = {.tensors = tensors, .dims = &n};

    fill_random(x, 8);
    for (int i = 0; i < N; i++)
        dtype_store(DT_I32, (char *)t->data + 4 * i, (i * 5) % 8 - 1);
    if (!tile_run(f->arena, p, &run, &error))
        fail_msg("%s", error);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 8; k++) {
            int page = (i * 5) % 8 - 1;
            bool kept = page >= 0 && page < 6 && i + 1 < N;
            assert_true(at2(y, i, k) == (kept ? tensor_get(x, (int64_t[]){page, i % 4, k}) : 0));
        }
}

/* Rows that follow one another, of 128: as far as is seen for all launches. */
static void strips_of_rows(void **state)
{
    static const struct {
        const char *place;
        int rows, dim; /* 0: there are none */
    } cases[] = {
        {"Which[b * 8 + row div 16], row mod 16", 16, 1},      {"Which[b * 8 + row div 16], (b * 128 + row) mod 16", 16, 1},
        {"Which[(b * 128 + row) div 96], (b * 128 + row) mod 96", 32, 1}, {"Which[(b * 128 + row) div 12], (b * 128 + row) mod 12", 0, 0},
        {"Which[(b * 128 + row) div n], (b * 128 + row) mod n", 0, 0}, {"Which[b] + row, 3", 128, 0},
        {"row + 1, b + 2", 128, 0},                            {"Which[row], 0", 0, 0},
        {"b, row div 2 * 2", 0, 0},                            {"row mod 64, row div 64", 64, 0},
        {"Which[b * 2 + row div 64] * 64 + row mod 64, b", 64, 0}, {"row div 8 * 64 + row mod 8, row div 64", 8, 0},
        {"b, max(row, 5)", 0, 0},                              {"row, row", 0, 0},
    };
    static const struct {
        const char *place;
        int rows;
    } kept[] = {{"b * 128 + row < n * 32", 32}, {"b * 128 + row < n", 0}, {"col < n", 0}, {"b < n", 128}, {"row < 8", 8}};
    const char *text = "program strips\ndim n in 1..\ntensor X (6, 400, 8) fp32 in\ntensor Which (n) int32 in\n\n"
                       "kernel main grid(b: n) warps 1 {\n  %%x = load X[%s, 0 : cols]%s%s : shared fp32<128x8>\n}\n";
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases) + TW_COUNT(kept); i++) {
        bool plain = i < TW_COUNT(cases);
        const char *where = plain ? NULL : kept[i - TW_COUNT(cases)].place;
        const char *place = plain ? cases[i].place : "Which[b], row + n";
        TileProgram *p = parse_good(f, arena_printf(f->arena, text, place, where ? " where " : "", where ? where : ""));
        int rows = plain ? cases[i].rows : kept[i - TW_COUNT(cases)].rows, dim = plain ? cases[i].dim : 1;
        TileStrip strip;

        if (tile_strips(p, p->kernels.data[0]->body->ops.data[0], 128, &strip) != (rows > 0))
            fail_msg("%s: %d", place, strip.rows);
        if (rows > 0 && (strip.rows != rows || strip.dim != dim))
            fail_msg("%s: %d along %d", place, strip.rows, strip.dim);
    }
}

/* ---- planted faults: found by the verifier --------------------------------------------------------- */

static void rejects(Fixture *f, const char *text, DiagCode code)
{
    TileProgram *p = parse(f, text);
    if (!p)
        show(f);
    assert_non_null(p);
    assert_false(tile_verify(p, f->diags));
    assert_true(f->diags->list.len > 0);
    if (f->diags->list.data[0].code != code)
        show(f);
    assert_int_equal(f->diags->list.data[0].code, code);
    GemmCase c;
    const char *error = NULL;
    make_gemm_case(f, &c, 8, 8, 8);
    assert_false(tile_run(f->arena, p, &c.run, &error)); /* refused, not run */
}

/* ---- tiles that are prepared ------------------------------------------------------------ */

static const char PREPARED[] =
    "program prepared\n"
    "tensor W (32, 16) bf16 in\n"
    "tensor Y (32, 16) bf16 out\n"
    "\n"
    "kernel main grid(m: 1) warps 2 {\n"
    "  %two = fill 2 : fp32<1x1>\n"
    "  %a, %b = prepare : shared bf16<32x16>, shared bf16<32x16> {\n"
    "    %w = load W[0 : rows, 0 : cols] : shared bf16<32x16>\n"
    "    %r = move %w : bf16<32x16>\n"
    "    %t = multiply %r, %r : fp32<32x16>\n"
    "    %c = cast %t : bf16<32x16>\n"
    "    %s = move %c : shared bf16<32x16>\n"
    "    yield %s, %w\n"
    "  }\n"
    "  %x = move %a : bf16<32x16>\n"
    "  %y = move %b : bf16<32x16>\n"
    "  %z = subtract %x, %y : fp32<32x16>\n"
    "  %0 = cast %z : bf16<32x16>\n"
    "  store %0, Y[0 : rows, 0 : cols]\n"
    "}\n";

static void prepared_tiles(void **state)
{
    Fixture *f = *state;
    TileProgram *p = parse_good(f, PREPARED);
    Tensor *tensors[] = {new_tensor(f, DT_BF16, 2, 32, 16), new_tensor(f, DT_BF16, 2, 32, 16)};
    TileRun run = {.tensors = tensors};
    const char *error = NULL;
    for (int64_t i = 0; i < 32 * 16; i++) dtype_store(DT_BF16, (char *)tensors[0]->data + 2 * i, (double)(i % 13));
    assert_string_equal(print(f, p), PREPARED);
    assert_true(tile_run(f->arena, p, &run, &error));
    for (int64_t i = 0; i < 32; i++)
        for (int64_t j = 0; j < 16; j++) {
            double w = (double)((16 * i + j) % 13);
            assert_true(at2(tensors[1], i, j) == w * w - w);
        }
}

static void faults_of_prepared_tiles(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, PREPARED, "multiply %r, %r", "multiply %r, %two"), TW0752);
    rejects(f, edit(f, PREPARED, "yield %s, %w", "yield %s"), TW0753);
    rejects(f, edit(f, PREPARED, "yield %s, %w", "yield %s, %c"), TW0753);
    rejects(f, edit(f, edit(f, PREPARED, ", shared bf16<32x16> {", ", bf16<32x16> {"), "yield %s, %w", "yield %s, %c"), TW0755);
    rejects(f, edit(f, PREPARED, "warps 2", "warps 2 facts(staged)"), TW0754);
}

/* A part of a stage: what is not written stays as it was. */
static void puts_of_parts(void **state)
{
    Fixture *f = *state;
    static const char text[] =
        "program parts\n"
        "tensor Y (32, 16) fp32 out\n"
        "\n"
        "kernel main grid(m: 1) warps 2 facts(staged) {\n"
        "  %b = buffer : fp32<1x32x16>\n"
        "  %one = fill 1 : fp32<32x16>\n"
        "  %two = fill 2 : fp32<16x8>\n"
        "  put %one, %b[0]\n"
        "  barrier\n"
        "  put %two, %b[0] at 16, 8\n"
        "  barrier\n"
        "  %v = view %b[0] : shared fp32<32x16>\n"
        "  %y = move %v : fp32<32x16>\n"
        "  store %y, Y[0 : rows, 0 : cols]\n"
        "}\n";
    TileProgram *p = parse_good(f, text);
    Tensor *y = new_tensor(f, DT_F32, 2, 32, 16);
    TileRun run = {.tensors = &y};
    const char *error = NULL;
    assert_string_equal(print(f, p), text);
    assert_true(tile_run(f->arena, p, &run, &error));
    for (int64_t i = 0; i < 32; i++)
        for (int64_t j = 0; j < 16; j++) assert_true(at2(y, i, j) == (i >= 16 && j >= 8 ? 2 : 1));
    rejects(f, edit(f, text, "at 16, 8", "at 17, 8"), TW0755);
    rejects(f, edit(f, text, "at 16, 8", "at 16, 9"), TW0755);
}

/* Warps that put their parts of a row's sum beside each other meet: behind that a stage that they have read may be written. */
static void warps_of_a_row_meet(void **state)
{
    Fixture *f = *state;
    static const char text[] =
        "program meet\n"
        "tensor Y (32) fp32 out\n"
        "\n"
        "kernel main grid(m: 1) warps 2 warps_n 2 facts(staged, synced) {\n"
        "  %parts = buffer : fp32<1x32x4>\n"
        "  %b = buffer : fp32<1x32x16>\n"
        "  %one = fill 1 : fp32<32x16>\n"
        "  put %one, %b[0]\n"
        "  barrier\n"
        "  %v = view %b[0] : shared fp32<32x16>\n"
        "  %x = move %v : fp32<32x16>\n"
        "  %sum = rowsum %x, %parts along columns : fp32<32x1>\n"
        "  put %one, %b[0]\n"
        "  store %sum, Y[0 : rows]\n"
        "}\n";
    Tensor *y = new_tensor(f, DT_F32, 1, 32, 1);
    TileRun run = {.tensors = &y};
    const char *error = NULL;
    assert_true(tile_run(f->arena, parse_good(f, text), &run, &error));
    assert_false(tile_run(f->arena, parse_good(f, edit(f, text, "rowsum %x, %parts", "rowsum %x")), &run, &error));
    assert_non_null(strstr(error, "no barrier since it was read"));
}

static void verifier_types(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, GEMM, "%b.T", "%b"), TW0755);
    rejects(f, edit(f, GEMM, "%a = load A[i * 32 : rows, t * 16 : cols] : shared bf16<32x16>",
                    "%a = load A[i * 32 : rows, t * 16 : cols] : shared fp16<32x16>"), TW0755);
    rejects(f, edit(f, GEMM, "load bias[j * 24 : cols] : fp32<1x24>", "load bias[j * 24 : cols] : fp32<1x12>"), TW0755);
    rejects(f, edit(f, GEMM, "multiply %acc.1, %s : fp32<32x24>", "multiply %acc.1, %s : fp32<32x1>"), TW0755);
    rejects(f, edit(f, GEMM, "%0 = cast %sum : bf16<32x24>", "%0 = cast %sum : bf16<24x32>"), TW0755);
    rejects(f, edit(f, GEMM, "%0 = cast %sum : bf16<32x24>", "%0 = move %sum : bf16<32x24>"), TW0755);
    rejects(f, edit(f, GEMM, "multiply %acc.1, %s", "multiply %acc.1"), TW0755);
    rejects(f, edit(f, ATTENTION, "%alpha = softmax %s.1, %max.2, %sum.2 : fp32<32x16>",
                    "%alpha = softmax %s.1, %max.2, %sum.2 : fp32<16x32>"), TW0755);
    rejects(f, edit(f, STAGED, "rowmax %s.1 along columns", "rowmax %s.1 along rows"), TW0755);
    rejects(f, edit(f, STAGED, "%k = view %K[j mod 2] : shared bf16<16x16>", "%k = view %K[j mod 2] : shared bf16<16x32>"), TW0755);
    rejects(f, edit(f, GEMM, "fill 0 : fp32<32x24>", "fill 0 : fp32<2000000x24>"), TW0755);
    rejects(f, edit(f, GEMM, "store %0", "store %sum"), TW0755);
    rejects(f, edit(f, FOLD, "rowsum %x", "rowmax %x"), TW0755);
    rejects(f, edit(f, FOLD, "along columns : bf16", "along columns : fp16"), TW0755);
    rejects(f, edit(f, edit(f, FOLD, "X (2, 64)", "X (2, 48)"), "bf16<2x64>", "bf16<2x48>"), TW0755);
}

static void verifier_regions(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, GEMM, "    yield %c\n", ""), TW0753);
    rejects(f, edit(f, GEMM, "    yield %c\n", "    yield %c, %c\n"), TW0753);
    rejects(f, edit(f, GEMM, "    yield %c\n", "    yield %a\n"), TW0753);
    rejects(f, edit(f, GEMM, "    yield %c\n", "    yield %c\n    yield %c\n"), TW0753);
    rejects(f, edit(f, GEMM, "  store %0", "  yield\n  store %0"), TW0753);
    rejects(f, edit(f, GEMM, "(%acc.2 = %acc)", "(%acc.2 = %acc : fp32<24x32>)"), TW0753);
    rejects(f, edit(f, STAGED, "    if j * 16 + 17 <= len {\n",
                    "    %t = if j < 3 : fp32<1x1> {\n      yield %floor\n    }\n    if j * 16 + 17 <= len {\n"), TW0753);
    rejects(f, edit(f, GEMM, "multiply %acc.1, %s", "multiply %c, %s"), TW0752);
}

static void verifier_scopes(void **state)
{
    Fixture *f = *state;
    const char *lost = edit(f, GEMM, "  %s = fill scale", "  %t = load A[0 : rows, 0 : cols] : bf16<32x16>\n  %s = fill scale");
    TileProgram *p = parse_good(f, lost);
    TileBlock *body = p->kernels.data[0]->body;
    body->ops.data[2]->coords[1] = aff_of(f->aff, body->ops.data[1]->var); /* the loop is over */
    assert_false(tile_verify(p, f->diags));
    assert_int_equal(f->diags->list.data[0].code, TW0757);
    rejects(f, edit(f, GEMM, "t * 16 : cols] : shared bf16<32x16>", "col : cols] : shared bf16<32x16>"), TW0757);
    rejects(f, edit(f, edit(f, edit(f, GEMM, "for t = 0:", "for i = 0:"), "t * 16", "0"), "t * 16", "0"), TW0757); /* two of a name */
}

static void verifier_places(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, GEMM, "A[i * 32 : rows, t * 16 : cols]", "A[i * 32, t * 16 : cols]"), TW0758);
    rejects(f, edit(f, GEMM, "bias[j * 24 : cols]", "bias[j * 24]"), TW0758);
    rejects(f, edit(f, GEMM, "C (rows = m, n) bf16 out", "C (rows = m, n) bf16 in"), TW0758);
    rejects(f, edit(f, GEMM, "A (m, k) bf16 in", "A (m, k) bf16 out"), TW0758);
}

/* Elements of integers that are only read say where tiles lie, and nothing else. */
static void verifier_tables(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, PAGES, "for t = 0:2", "for t = 0:Which[0, b]"), TW0757);
    rejects(f, edit(f, PAGES, "Y[b, 0 : rows", "Y[Which[0, b], 0 : rows"), TW0757);
    static const char *const broken[] = {"X[Which[t, z]", "X[Which[t]", "X[Which", "X[X[t, b, 0]", "X[Which[t, b, 0]", "X[Wich[t, b]"};
    for (size_t i = 0; i < TW_COUNT(broken); i++) {
        assert_null(parse(f, edit(f, PAGES, "X[t + Which[1 - t, b]", broken[i])));
        assert_int_equal(f->diags->list.data[0].code, TW0751);
    }
    rejects(f, edit(f, ROWS, "row mod 4, 0 : cols", "row mod 4 + col, 0 : cols"), TW0757);
    rejects(f, edit(f, ROWS, "row mod 4, 0 : cols]", "0 : rows, row : cols]"), TW0757);
    rejects(f, edit(f, ROWS, "Which[b * 8 + row], row mod 4", "Which[b * 8], 0"), TW0758);
    TileProgram *p = parse_good(f, PAGES);
    p->tensors.data[1]->written = true;
    assert_false(tile_verify(p, f->diags));
    assert_int_equal(f->diags->list.data[0].code, TW0757);
}

/* A workspace of places, which the kernel behind looks up; it says nothing in the kernel that writes it, nor of a workspace without places. */
static const char LISTED[] =
    "program p\n"
    "tensor X (4, 16) fp32 in\n"
    "tensor Y (4, 16) fp32 out\n"
    "workspace List (4) int32 in out places 0..3\n"
    "\n"
    "kernel lists grid(m: 1) warps 1 {\n"
    "  %l = index 3 - col : fp32<1x4>\n"
    "  %i = cast %l : int32<1x4>\n"
    "  store %i, List[0 : cols]\n"
    "}\n"
    "\n"
    "kernel copies grid(m: 4) warps 1 {\n"
    "  %x = load X[List[m] : rows, 0 : cols] : fp32<1x16>\n"
    "  %y = mask %x where List[m] + col < 9 else -1 : fp32<1x16>\n"
    "  store %y, Y[m : rows, 0 : cols]\n"
    "}\n";

static void places_in_a_workspace_are_looked_up_behind(void **state)
{
    Fixture *f = *state;
    Tensor *x = new_tensor(f, DT_F32, 2, 4, 16), *y = new_tensor(f, DT_F32, 2, 4, 16), *list = new_tensor(f, DT_I32, 1, 4, 1), *tensors[] = {x, y, list};
    for (int i = 0; i < 64; i++) ((float *)x->data)[i] = (float)i;
    TileRun run = {.tensors = tensors};
    const char *error = NULL;
    if (!tile_run(f->arena, parse_good(f, LISTED), &run, &error)) fail_msg("%s", error);
    for (int i = 0; i < 64; i++) assert_true(((float *)y->data)[i] == (float)(3 - i / 16 + i % 16 < 9 ? (3 - i / 16) * 16 + i % 16 : -1));

    if (!tile_run(f->arena, parse_good(f, edit(f, LISTED, "List[m] + col < 9", "List[col div 4] >= 2")), &run, &error)) fail_msg("%s", error);
    for (int i = 0; i < 64; i++) assert_true(((float *)y->data)[i] == (float)(i % 16 < 8 ? (3 - i / 16) * 16 + i % 16 : -1));

    rejects(f, edit(f, LISTED, "  %l = index 3 - col", "  %l = index 3 - col * List[0]"), TW0757);
    rejects(f, edit(f, LISTED, "  %l = index 3 - col", "  %t = load X[List[0] : rows, 0 : cols] : fp32<1x16>\n  %l = index 3 - col"), TW0757);
    rejects(f, edit(f, LISTED, "Y[m : rows", "Y[List[m] : rows"), TW0757);
    static const char *const broken[] = {" places", " places 0", " places 0..", ""};
    for (size_t i = 0; i < TW_COUNT(broken); i++) {
        assert_null(parse(f, edit(f, LISTED, " places 0..3", broken[i])));
        assert_int_equal(f->diags->list.data[0].code, TW0751);
    }
}

static void verifier_levels(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, ATTENTION, "warps 2 {", "warps 2 facts(expanded) {"), TW0754);
    rejects(f, edit(f, ATTENTION, "warps 2 {", "warps 2 facts(staged) {"), TW0754);
    rejects(f, edit(f, STAGED, "facts(expanded, staged, synced)", "facts(expanded)"), TW0754);
    rejects(f, edit(f, STAGED, "  wait 1\n", "  wait 1\n  acquire %K[0]\n"), TW0754);
    rejects(f, edit(f, ROLES, "compute (warps 2)", "compute (warps 3)"), TW0750);
    rejects(f, edit(f, STAGED, "    wait 0\n", "    %late = buffer : bf16<1x8x8>\n    wait 0\n"), TW0759);
    rejects(f, edit(f, STAGED, "view %K[j mod 2] :", "view %sum[j mod 2] :"), TW0755);
}

/* What blocks of a cluster do together each of them comes to, once, when all have begun. */
static const char TOGETHER[] =
    "program p\n"
    "tensor X (4, 64) fp32 in\n"
    "tensor Y (4) fp32 out\n"
    "\n"
    "kernel main grid(part: 4 cluster, m: 4) warps 1 facts(expanded, staged) {\n"
    "  %parts = buffer : fp32<1x1x8>\n"
    "  %x = load X[m : rows, part * 16 : cols] : fp32<1x16>\n"
    "  %one = fill 1 : fp32<1x1>\n"
    "  barrier across\n"
    "  %sum = rowsum %x, %parts along columns across : fp32<1x1>\n"
    "  if part == 0 {\n"
    "    store %sum, Y[m]\n"
    "  }\n"
    "}\n";

static void blocks_of_a_cluster_sum_together(void **state)
{
    Fixture *f = *state;
    Tensor *x = new_tensor(f, DT_F32, 2, 4, 64), *y = new_tensor(f, DT_F32, 1, 4, 1), *tensors[] = {x, y};
    for (int i = 0; i < 4 * 64; i++) ((float *)x->data)[i] = (float)(i / 64 + (i % 16 == 3));
    TileRun run = {.tensors = tensors};
    const char *error = NULL;
    if (!tile_run(f->arena, parse_good(f, TOGETHER), &run, &error)) fail_msg("%s", error);
    for (int m = 0; m < 4; m++) assert_true(((float *)y->data)[m] == (float)(64 * m + 4));

    rejects(f, edit(f, TOGETHER, "part: 4 cluster, m: 4", "part: 9 cluster, m: 4"), TW0750);
    rejects(f, edit(f, TOGETHER, "part: 4 cluster, m: 4", "m: 4, part: 4 cluster"), TW0750);
    rejects(f, edit(f, TOGETHER, "part: 4 cluster", "part: 4"), TW0754);
    rejects(f, edit(f, TOGETHER, "  barrier across\n", ""), TW0754);
    rejects(f, edit(f, TOGETHER, "  barrier across\n", "  barrier across\n  barrier across\n"), TW0754);
    rejects(f, edit(f, TOGETHER, "  barrier across\n", "  if part == 0 {\n    barrier across\n  }\n"), TW0754);
    rejects(f, edit(f, TOGETHER, "  barrier across\n", "  for k = 0:2 {\n    barrier across\n  }\n"), TW0754);
    rejects(f, edit(f, TOGETHER, "warps 1 facts", "warps 1 persistent 1 facts"), TW0750);
    rejects(f, edit(f, TOGETHER, "  if part == 0 {\n", "  %again = rowsum %x, %parts along columns across : fp32<1x1>\n  if part == 0 {\n"), TW0754);
    rejects(f, edit(f, TOGETHER, "rowsum", "rowmean"), TW0755);
    rejects(f, edit(f, TOGETHER, "rowsum %x, %parts", "rowsum %one"), TW0755);
    rejects(f, edit(f, TOGETHER, "fp32<1x1x8>", "fp32<1x1x7>"), TW0755);
}

static void names_are_of_one_tensor_and_one_kernel(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, TOGETHER, "tensor Y (4) fp32 out\n", "tensor Y (4) fp32 out\ntensor Y (4) fp32 out\n"), TW0758);
    rejects(f, edit(f, TOGETHER, "\nkernel main", "\nkernel main grid(m: 4) warps 1 facts(expanded, staged) {\n}\n\nkernel main"), TW0750);
}

/* The sides of a ring make different numbers of steps. */
static void verifier_rings(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, ROLES, "        acquire %K\n", ""), TW0760);
    rejects(f, edit(f, ROLES, "        release %K\n", ""), TW0760);
    rejects(f, edit(f, ROLES, "        filled %K\n", ""), TW0760);
    rejects(f, edit(f, ROLES, "        filled %K\n", "        filled %K\n        filled %K\n"), TW0760);
    rejects(f, edit(f, ROLES, "j = 0:ceil(len / 16) {", "j = 0:ceil(len / 16) + 1 {"), TW0760);
    rejects(f, edit(f, ROLES, "j = 0:ceil(len / 16) {", "j = 0:ceil(len / 16) - 1 {"), TW0760);
    rejects(f, edit(f, ROLES, "j = 0:ceil(len / 16) {", "j = 0:len div 16 {"), TW0760);
}

static void verifier_storage(void **state)
{
    Fixture *f = *state;
    const char *text = edit(f, STAGED, "facts(expanded, staged, synced)", "shared_bytes 3072 facts(expanded, staged, allocated)");
    text = edit(f, text, "bf16<1x32x16>\n", "bf16<1x32x16> at 2048\n");
    text = edit(f, text, "%K = buffer : bf16<2x16x16>\n", "%K = buffer : bf16<2x16x16> at 0\n");
    text = edit(f, text, "%V = buffer : bf16<2x16x16>\n", "%V = buffer : bf16<2x16x16> at 1024\n");
    parse_good(f, text);
    rejects(f, edit(f, text, "at 1024", "at 1008"), TW0759);
    rejects(f, edit(f, text, "at 1024", "at 1025"), TW0759);
    rejects(f, edit(f, text, "shared_bytes 3072", "shared_bytes 3071"), TW0759);
}

/* ---- layouts ------------------------------------------------------------------------------------------ */

static const char ASSIGNED[] =
    "program product\n"
    "tensor A (32, 16) bf16 in\n"
    "tensor B (16, 16) bf16 in\n"
    "tensor C (32, 16) fp32 out\n"
    "\n"
    "kernel main warps 2 shared_bytes 1536 facts(expanded, staged, assigned, allocated, synced) {\n"
    "  %A = buffer : bf16<1x32x16> panels(32) at 0\n"
    "  %B = buffer : bf16<1x16x16> panels(32) at 1024\n"
    "  copy_async A[0 : rows, 0 : cols], %A[0]\n"
    "  copy_async B[0 : rows, 0 : cols], %B[0]\n"
    "  commit\n"
    "  wait 0\n"
    "  barrier\n"
    "  %a = view %A[0] : shared bf16<32x16> panels(32)\n"
    "  %b = view %B[0] : shared bf16<16x16> panels(32)\n"
    "  %s = gemm %a, %b : fp32<32x16> mma_c(2x1)\n"
    "  %p = reshape %s : bf16<32x16> mma_a(2x1, k16)\n"
    "  %c = gemm %p, %b.T, %s : fp32<32x16> mma_c(2x1)\n"
    "  store %c, C[0 : rows, 0 : cols]\n"
    "}\n";

static void verifier_layouts(void **state)
{
    Fixture *f = *state;
    parse_good(f, ASSIGNED);
    rejects(f, edit(f, ASSIGNED, "shared bf16<16x16> panels(32)\n", "shared bf16<16x16>\n"), TW0755);
    rejects(f, edit(f, ASSIGNED, "%A = buffer : bf16<1x32x16> panels(32)", "%A = buffer : bf16<1x32x16> panels(64)"), TW0756);
    rejects(f, edit(f, ASSIGNED, "%A = buffer : bf16<1x32x16> panels(32)", "%A = buffer : bf16<1x32x16>"), TW0756);
    rejects(f, edit(f, ASSIGNED, "gemm %a, %b : fp32<32x16> mma_c(2x1)", "gemm %a, %b : fp32<32x16> mma_c(4x1)"), TW0756);
    rejects(f, edit(f, ASSIGNED, "gemm %a, %b : fp32<32x16> mma_c(2x1)", "gemm %a, %b : fp32<32x16>"), TW0756);
    rejects(f, edit(f, ASSIGNED, "bf16<32x16> mma_a(2x1, k16)", "bf16<32x16> mma_c(2x1)"), TW0756);
    rejects(f, edit(f, ASSIGNED, "%p = reshape %s : bf16<32x16> mma_a(2x1, k16)", "%p = cast %s : bf16<32x16> mma_a(2x1, k16)"), TW0756);
    rejects(f, edit(f, ASSIGNED, "gemm %p, %b.T", "gemm %s, %b.T"), TW0755);
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static void reads_back(Fixture *f, const char *text)
{
    assert_string_equal(print(f, parse_good(f, text)), text);
}

static void round_trips(void **state)
{
    Fixture *f = *state;
    reads_back(f, GEMM);
    reads_back(f, ATTENTION);
    reads_back(f, STAGED);
    reads_back(f, ASSIGNED);
    reads_back(f, PAGES);
    reads_back(f, ROWS);
    const char *once = print(f, parse_good(f, ROLES)); /* `%o` occurs in one kernel twice no more */
    assert_string_equal(once, ROLES);
}

static void round_trip_of_oddities(void **state)
{
    Fixture *f = *state;
    reads_back(f, "program p\n"
                  "dim x\n"
                  "dim y in ..-3\n"
                  "dim z in -5..7\n"
                  "tensor Q (8, 2) int32 in\n"
                  "workspace W () fp32 in out\n"
                  "require x == -9223372036854775806, \"\\u001b \\\\ \\n\"\n"
                  "\n"
                  "kernel a grid(g: max(x, 3) in 0..99) warps 8 warps_n 2 stages 3 blocks_per_sm 2 {\n"
                  "  %0 = fill nan : fp32<1x1>  # first\n"
                  "  %1 = fill -0.1 : fp32<1x1>\n"
                  "  %x = fill 1e-45 : fp64<1x1>\n"
                  "  %x.1 = index x * g + y mod 7 : int32<4x4>\n"
                  "  %x.2 = index Q[row, col div 8] div 2 ** (col mod 8 * 4) mod 16 - 2 ** min(row, 9) : fp32<4x4>\n"
                  "  %x.3 = index -2 ** (row mod 3) : fp32<4x1>\n"
                  "  for i = min(x, y):g in 0.. until min(x, 9) {\n"
                  "    if i <= 2 and i != 1 and i != 2 {\n"
                  "      store %0, W[]\n"
                  "    } else {\n"
                  "    }\n"
                  "    if i == 5 {  # never\n"
                  "      store %1, W[]\n"
                  "    }\n"
                  "  }\n"
                  "  %y = if g <= 2 : fp32<1x1> {\n"
                  "    yield %1\n"
                  "  } else {\n"
                  "    yield %0\n"
                  "  }\n"
                  "}\n"
                  "\n"
                  "kernel b warps 1 {\n"
                  "  %0 = load W[] : fp32<1x1>\n"
                  "}\n");
}

static const Aff *random_aff(Fixture *f, Rng *rng, const AffSym *const *symbols, int depth)
{
    int choice = rng_below(rng, depth ? 9 : 2);
    if (choice == 0)
        return aff_const(f->aff, rng_below(rng, 200) - 100);
    if (choice == 1)
        return aff_of(f->aff, symbols[rng_below(rng, 4)]);
    const Aff *a = random_aff(f, rng, symbols, depth - 1), *b = random_aff(f, rng, symbols, depth - 1);
    const Aff *k = aff_const(f->aff, 2 + rng_below(rng, 60));
    switch (choice) {
    case 2: return aff_mul(f->aff, a, k);
    case 3: return aff_div(f->aff, a, k);
    case 4: return aff_mod(f->aff, a, k);
    case 5: return aff_min(f->aff, a, b);
    case 6: return aff_max(f->aff, a, b);
    case 7: return aff_sub(f->aff, a, b);
    default: return aff_add(f->aff, a, b);
    }
}

static const Aff *random_condition(Fixture *f, Rng *rng, const AffSym *const *symbols)
{
    const Aff *c[3];
    for (int i = 0; i < 3; i++) {
        const Aff *a = random_aff(f, rng, symbols, 3), *b = random_aff(f, rng, symbols, 3);
        c[i] = i == 2 ? aff_eq(f->aff, a, b) : aff_le(f->aff, a, b);
    }
    const Aff *or = aff_or(f->aff, aff_not(f->aff, c[2]), c[1]);
    return rng_below(rng, 2) ? aff_and(f->aff, c[0], or) : aff_or(f->aff, aff_not(f->aff, c[0]), or);
}

/* Text does not depend on the order in which expressions were made: it is the
 * same when it was read into a context of its own. */
static void text_is_stable(void **state)
{
    Fixture *f = *state;
    static const char *const names[] = {"w", "x", "y", "z"};
    for (uint64_t seed = 0; seed < 400; seed++) {
        Rng rng = {seed};
        const AffSym *symbols[4];
        TileProgram *p = tile_program_new(f->arena, f->aff, "p");
        for (int i = 0; i < 4; i++)
            symbols[i] = aff_sym_new(f->aff, names[i], AFF_DIM, i, i == 2 ? 100 : INT64_MAX);
        for (int i = 3; i >= 0; i--) { /* declared the other way round */
            vec_push(f->arena, &p->dims, symbols[i]);
            aff_of(f->aff, symbols[rng_below(&rng, 4)]);
        }
        for (int i = 0; i < 5; i++)
            vec_push(f->arena, &p->requires, (TileRequire){random_condition(f, &rng, symbols), "no"});
        const char *text = print(f, p);
        AffCtx *before = f->aff;
        f->aff = aff_ctx_new(f->arena);
        TileProgram *again = strstr(text, "overflow") ? NULL : parse_good(f, text);
        if (again)
            assert_string_equal(print(f, again), text);
        f->aff = before;
    }
}

static void broken_text(void **state)
{
    Fixture *f = *state;
    static const struct { const char *old, *new; } edits[] = {
        {"program", "programme"}, {"dim m", "dim 3"}, {"in 0..", "in 0"}, {"bf16 in", "bf17 in"},
        {"even\\\"\"", "even"}, {"grid(i:", "grid(i"}, {"reversed", "backwards"}, {"warps 2 {", "warps two {"},
        {"%acc = fill", "acc = fill"}, {"fill 0", "fil 0"}, {"fp32<32x24>", "fp32<32>"}, {"fp32<32x24>", "fp32(32x24)"},
        {"carry (%acc.2", "carry (%acc"}, {"= %acc)", "= %nothing)"}, {"A[i * 32", "AA[i * 32"}, {"A[i * 32", "A[q * 32"},
        {": rows, t", ": row, t"}, {"%b.T", "%b.U"}, {"ceil(k / 16)", "ceil(k / 0)"}, {"ceil(k / 16)", "ceil(k / 16"},
        {"yield %c\n  }", "yield %c"}, {"i * 32", "i * 9223372036854775808"}, {"i * 32", "i * 9223372036854775807 * 3"},
        {"%0 = cast", "%sum = cast"}, {"store %0, C", "store %0 C"}, {"}\n", "} }\n"}, {"multiply %acc.1, %s :", "multiply %acc.1, %s"},
        {"warps 2", "warps 99999999999"}, {"facts", "facts"},
    };
    for (size_t i = 0; i + 1 < TW_COUNT(edits); i++) {
        assert_null(parse(f, edit(f, GEMM, edits[i].old, edits[i].new)));
        assert_int_equal(f->diags->errors, 1);
        assert_int_equal(f->diags->list.data[0].code, TW0751);
    }
    for (size_t len = 0; len < sizeof GEMM - 3; len += 7) { /* cut off anywhere */
        TileProgram *p = parse(f, arena_strndup(f->arena, GEMM, len));
        assert_true(p == NULL || strstr(GEMM, "kernel") >= GEMM + len - 1);
    }
}

static void deep_text(void **state)
{
    Fixture *f = *state;
    Str s = str_new(f->arena);
    str_add(&s, "program p\ndim x\nrequire ");
    for (int i = 0; i < 100000; i++)
        str_add(&s, i % 2 ? "(" : "ceil(");
    assert_null(parse(f, str_text(&s)));
    s.len = 0;
    str_add(&s, "program p\nkernel k warps 1 {\n");
    for (int i = 0; i < 10000; i++)
        str_add(&s, "if 1 == 1 {\n");
    assert_null(parse(f, str_text(&s)));
    Rng rng = {7};
    for (int round = 0; round < 300; round++) { /* noise */
        char *text = arena_strdup(f->arena, STAGED);
        for (int k = 0; k < 3; k++)
            text[rng_below(&rng, (int)sizeof STAGED - 1)] = (char)(1 + rng_below(&rng, 255));
        TileProgram *p = parse(f, text);
        if (p && tile_verify(p, f->diags))
            print(f, p);
    }
}

/* ---- building -------------------------------------------------------------------------------------------- */

static void clones_are_equal_and_apart(void **state)
{
    Fixture *f = *state;
    static const char *const texts[] = {GEMM, ATTENTION, STAGED, ROLES, ASSIGNED};
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        TileProgram *p = parse_good(f, texts[i]);
        TileProgram *copy = tile_clone(f->arena, p);
        const char *before = print(f, p);
        assert_string_equal(before, print(f, copy));
        assert_true(tile_verify(copy, f->diags));
        copy->tensors.data[0]->name = "other";
        copy->kernels.data[0]->warps = 7;
        tile_remove(copy->kernels.data[0]->body, 0);
        assert_string_equal(before, print(f, p));
        assert_string_not_equal(before, print(f, copy));
    }
}

static void editing(void **state)
{
    Fixture *f = *state;
    TileProgram *p = parse_good(f, GEMM);
    TileKernel *k = p->kernels.data[0];
    TileBlock *body = k->body;
    TileValue *acc = body->ops.data[0]->results[0];
    TileType type = tile_type(DT_F32, 32, 24, SPACE_REGISTER);
    TileOp *fill = tile_op_new(p, k, TILE_FILL, 0, NULL, 1, &type);
    fill->number = 1;
    assert_int_equal(tile_count_uses(body, acc), 1);
    int use = tile_first_use(body, 0, acc);
    assert_true(use > 0 && tile_op_uses(body->ops.data[use], acc));
    assert_true(tile_used_in(body, 0, use + 1, acc) && !tile_used_in(body, 0, use, acc));
    assert_int_equal(tile_first_use(body, use + 1, acc), -1);
    tile_insert(p, body, 1, fill);
    tile_replace_uses(body, acc, fill->results[0]);
    assert_int_equal(tile_count_uses(body, acc), 0);
    tile_remove(body, 0);
    assert_true(tile_verify(p, f->diags));
    assert_ptr_equal(body->ops.data[0], fill);
    assert_int_equal(body->ops.len, 9 - 1);
    assert_int_equal(tile_op_level(TILE_SOFTMAX), TL_SEQUENTIAL);
    assert_int_equal(tile_op_level(TILE_WAIT), TL_SCHEDULED);
    assert_string_equal(tile_op_line(f->arena, p, k, body->ops.data[5]),
                        "%sum = add %scaled, %bias : fp32<32x24>");
}

/* ---- documentation ------------------------------------------------------------------------------------------ */

static void every_operation_is_described(void **state)
{
    Fixture *f = *state;
    const char *error = NULL;
    Source *doc = source_read(f->arena, "docs/tile.md", &error);
    assert_non_null(doc);
    for (int i = 0; i < TILE_OP_COUNT; i++) {
        const char *heading = arena_printf(f->arena, "\n#### `%s`", tile_op_text((TileOpKind)i));
        if (!strstr(doc->text, heading))
            fail_msg("docs/tile.md does not describe '%s'", tile_op_text((TileOpKind)i));
    }
}

/* Complete programs in the manual are well-formed and print as they stand there. */
static void examples_of_the_manual(void **state)
{
    Fixture *f = *state;
    const char *error = NULL;
    Source *doc = source_read(f->arena, "docs/tile.md", &error);
    int n = 0;
    assert_non_null(doc);
    for (const char *at = doc->text; (at = strstr(at, "```tile\n")); n++) {
        at += strlen("```tile\n");
        const char *end = strstr(at, "```");
        assert_non_null(end);
        const char *text = arena_strndup(f->arena, at, (size_t)(end - at));
        assert_string_equal(print(f, parse_good(f, text)), text);
        at = end + 3;
    }
    assert_true(n >= 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(gemm_with_bias),
        TEST(blocks_can_be_chosen),
        TEST(launches_are_checked),
        TEST(online_softmax),
        TEST(dead_rows),
        TEST(sums_of_halves),
        TEST(staged),
        TEST(roles),
        TEST(seeds_do_not_matter),
        TEST(faults_of_copies),
        TEST(barriers_are_a_claim),
        TEST(faults_of_puts),
        TEST(prepared_tiles),
        TEST(faults_of_prepared_tiles),
        TEST(puts_of_parts),
        TEST(warps_of_a_row_meet),
        TEST(faults_of_roles),
        TEST(faults_of_expressions),
        TEST(verifier_types),
        TEST(verifier_regions),
        TEST(verifier_scopes),
        TEST(verifier_places),
        TEST(blocks_of_a_cluster_sum_together),
        TEST(names_are_of_one_tensor_and_one_kernel),
        TEST(verifier_levels),
        TEST(verifier_tables),
        TEST(places_in_a_workspace_are_looked_up_behind),
        TEST(verifier_rings),
        TEST(verifier_storage),
        TEST(verifier_layouts),
        TEST(tiles_by_a_table),
        TEST(rows_by_a_table),
        TEST(strips_of_rows),
        TEST(round_trips),
        TEST(round_trip_of_oddities),
        TEST(text_is_stable),
        TEST(broken_text),
        TEST(deep_text),
        TEST(clones_are_equal_and_apart),
        TEST(editing),
        TEST(every_operation_is_described),
        TEST(examples_of_the_manual),
    };
    return cmocka_run_group_tests_name("tile", tests, NULL, NULL);
}
