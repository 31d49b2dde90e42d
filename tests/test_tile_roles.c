/* test_tile_roles.c: what tile IR says of roles is what happens: rings, instances,
 * pending products, revised values, turns; and a planted fault for each rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "fixture.h"
#include "tile/tile.h"

enum { N = 32, SEEDS = 12 }; /* all tensors are N x N */

/* ---- helpers ----------------------------------------------------------------------- */

static Diags *diags;

static TileProgram *parse(Fixture *f, const char *text)
{
    Source *source = arena_new_of(f->arena, Source);
    *source = (Source){"test.tile", text, strlen(text)};
    diags = diags_new(f->arena, source);
    return tile_parse(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), source, diags);
}

static TileProgram *parse_good(Fixture *f, const char *text)
{
    TileProgram *p = parse(f, text);
    bool ok = p && tile_verify(p, diags);
    if (!ok)
        diags_print(diags, stderr, false);
    assert_true(ok);
    return p;
}

/* text with the first `old` replaced, which must be there. */
static const char *edit(Fixture *f, const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    if (!at)
        fail_msg("there is no '%s'", old);
    return arena_printf(f->arena, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

/* A and B small integers, so that sums are exact in any order; C to be written. */
typedef struct Case {
    Tensor *tensors[3];
    TileRun run;
} Case;

static double a_at(int i, int j)
{
    return (i * 5 + j * 3) % 7 - 3;
}

static double b_at(int i, int j)
{
    return (i * 2 + j * 7) % 5 - 2;
}

static void make_case(Fixture *f, Case *c, uint64_t seed)
{
    const char *error = NULL;
    int64_t dims[] = {N, N};
    for (int i = 0; i < 3; i++)
        c->tensors[i] = tensor_new(f->arena, "t", i == 2 ? DT_F32 : DT_BF16, 2, dims, &error);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            dtype_store(DT_BF16, (char *)c->tensors[0]->data + 2 * (i * N + j), a_at(i, j));
            dtype_store(DT_BF16, (char *)c->tensors[1]->data + 2 * (i * N + j), b_at(i, j));
        }
    tensor_poison(c->tensors[2]);
    c->run = (TileRun){.tensors = c->tensors, .seed = seed};
}

typedef double (*Want)(int i, int j);

static double product_at(int i, int j)
{
    double sum = 0;
    for (int k = 0; k < N; k++)
        sum += a_at(i, k) * b_at(k, j);
    return sum;
}

/* Under every seed C is what is wanted. */
static void gives(Fixture *f, const char *text, Want want)
{
    TileProgram *p = parse_good(f, text);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        Case c;
        const char *error = NULL;
        make_case(f, &c, seed);
        if (!tile_run(f->arena, p, &c.run, &error))
            fail_msg("seed %d: %s", (int)seed, error);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++) {
                double have = tensor_get(c.tensors[2], (int64_t[]){i, j});
                if (have != want((int)i, (int)j))
                    fail_msg("seed %d: element %d, %d is %g, wanted %g", (int)seed, (int)i, (int)j, have,
                             want((int)i, (int)j));
            }
    }
}

/* Under every seed it is reported. */
static void fails(Fixture *f, const char *text, const char *message)
{
    TileProgram *p = parse_good(f, text);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        Case c;
        const char *error = NULL;
        make_case(f, &c, seed);
        if (tile_run(f->arena, p, &c.run, &error))
            fail_msg("wanted '%s', but it runs", message);
        if (!strstr(error, message))
            fail_msg("wanted '%s', got '%s'", message, error);
    }
}

static void rejects(Fixture *f, const char *text, DiagCode code)
{
    TileProgram *p = parse(f, text);
    if (!p)
        diags_print(diags, stderr, false);
    assert_non_null(p);
    assert_false(tile_verify(p, diags));
    if (diags->list.data[0].code != code)
        diags_print(diags, stderr, false);
    assert_int_equal(diags->list.data[0].code, code);
}

#define HEAD                                                                                       \
    "program test\n"                                                                               \
    "tensor A (32, 32) bf16 in\n"                                                                  \
    "tensor B (32, 32) bf16 in\n"                                                                  \
    "tensor C (32, 32) fp32 out\n"                                                                 \
    "\n"

/* ---- rings ------------------------------------------------------------------------------- */

/* Whether what is between them happens, only data can tell: so the verifier lets it
 * stand, and it is the run that finds the fault. */
#define NEVER(in, what) in "if one == 0 {\n" what in "}\n"

/* Two instances share the tiles of B and have each their copy of A's ring; two
 * stages of B are held at once. */
static const char SHARED[] =
    HEAD
    "kernel main grid(w: 2 within) warps 3 facts(expanded, staged, synced) {\n"
    "  %a = ring 2 : bf16<2x16x8>\n"
    "  %b = ring : bf16<3x8x32>\n"
    "  %one = fill 1 : fp32<1x1>\n"
    "  scalar one = %one\n"
    "  roles {\n"
    "    load (warps 1, regs 24) {\n"
    "      for t = 0:4 {\n"
    "        acquire %b\n"
    "        copy_async B[t * 8 : rows, 0 : cols], %b\n"
    "        filled %b\n"
    "        for i = 0:2 {\n"
    "          acquire %a[i]\n"
    "          copy_async A[i * 16 : rows, t * 8 : cols], %a[i]\n"
    "          filled %a[i]\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "    multiply (warps 1 per w) {\n"
    "      %c = fill 0 : fp32<16x32>\n"
    "      %c.1 = for t = 0:2 carry (%c.2 = %c) {\n"
    "        %a.1 = await %a[w] : shared bf16<16x8>\n"
    "        %b.1 = await %b : shared bf16<8x32>\n"
    "        %b.2 = await %b : shared bf16<8x32>\n"
    "        %c.3 = gemm %a.1, %b.1, %c.2 : fp32<16x32>\n"
    "        release %b\n"
    "        %a.2 = await %a[w] : shared bf16<16x8>\n"
    "        release %a[w]\n"
    "        %c.4 = gemm %a.2, %b.2, %c.3 : fp32<16x32>\n"
    "        release %a[w]\n"
    "        release %b\n"
    "        yield %c.4\n"
    "      }\n"
    "      store %c.1, C[w * 16 : rows, 0 : cols]\n"
    "    }\n"
    "  }\n"
    "}\n";

static void rings(void **state)
{
    Fixture *f = *state;
    gives(f, SHARED, product_at);
    gives(f, edit(f, SHARED, "bf16<3x8x32>", "bf16<2x8x32>"), product_at);
    gives(f, edit(f, SHARED, "bf16<2x16x8>", "bf16<5x16x8>"), product_at);
}

static void faults_of_rings(void **state)
{
    Fixture *f = *state;
    fails(f, edit(f, SHARED, "bf16<3x8x32>", "bf16<1x8x32>"), "deadlock"); /* two are held at once */
    fails(f, edit(f, SHARED, "        acquire %b\n", NEVER("        ", "acquire %b\n")), "has not acquired");
    fails(f, edit(f, SHARED, "        filled %b\n", NEVER("        ", "filled %b\n")), "acquired already");
    fails(f, edit(f, SHARED, "        filled %b\n", "        filled %b\n        if one == 1 {\n filled %b\n }\n"), "hands over");
    fails(f, edit(f, SHARED, "        release %b\n        %a.2", NEVER("        ", "release %b\n") "        %a.2"), "not released when");
    fails(f, edit(f, SHARED, "        release %b\n        yield", NEVER("        ", "release %b\n") "        yield"), "not released when");
    fails(f, edit(f, SHARED, "        release %b\n        yield", "        release %b\n if one == 1 {\n release %b\n }\n        yield"), "has not awaited");
    fails(f, edit(f, SHARED, "t = 0:4", "t = 0:4 - one"), "deadlock");
    fails(f, edit(f, SHARED, "t = 0:4", "t = 0:4 + one"), "not released when");
    fails(f, edit(f, SHARED, "await %a[w]", "await %a[1 - one]"), "(w = 1): ");
    fails(f, edit(f, SHARED, "acquire %a[i]", "acquire %a[i + one]"), "has not acquired");
    fails(f, edit(f, SHARED, "for i = 0:2", "for i = 0:3"), "copy 2 of a ring of 2");
    fails(f, edit(f, SHARED, "        %c.4 = gemm %a.2, %b.2", "        %c.4 = gemm %a.2, %b.1"), "has released");
    fails(f, edit(f, SHARED, "      %c = fill", "      if one == 1 {\n acquire %b\n filled %b\n }\n      %c = fill"), "which another role fills");
    fails(f, edit(f, SHARED, "copy_async B[t * 8 : rows, 0 : cols], %b\n",
                  "copy_async B[t * 8 : rows, 0 : cols], %b if t == 0\n"), "nothing was written");
    /* A view of a stage is one of what it held, not of what comes after it. */
    fails(f, edit(f, edit(f, SHARED, "bf16<2x16x8>", "bf16<1x16x8>"), "        %a.2 = await %a[w] : shared bf16<16x8>\n        release %a[w]\n",
                  "        release %a[w]\n        %a.2 = await %a[w] : shared bf16<16x8>\n        %old = move %a.1 : bf16<16x8>\n"),
          "has released");
}

/* What one role computes another stores, through copies that each instance fills. */
static void rings_of_puts(void **state)
{
    Fixture *f = *state;
    const char *text = edit(f, SHARED, "warps 3", "warps 4");
    text = edit(f, text, "  roles {\n", "  %c = ring 2 : fp32<1x16x32>\n  roles {\n");
    text = edit(f, text, "%c = fill", "%c.5 = fill");
    text = edit(f, text, "%c.2 = %c)", "%c.2 = %c.5)");
    text = edit(f, text, "store %c.1, C[w * 16 : rows, 0 : cols]\n    }\n",
                "acquire %c[w]\n      put %c.1, %c[w]\n      filled %c[w]\n    }\n"
                "    write (warps 1) {\n      for u = 0:2 {\n        %c.6 = await %c[1 - u] : shared fp32<16x32>\n"
                "        store %c.6, C[16 - u * 16 : rows, 0 : cols]\n        release %c[1 - u]\n      }\n    }\n");
    gives(f, text, product_at);
    fails(f, edit(f, text, "      acquire %c[w]\n", NEVER("      ", "acquire %c[w]\n")), "has not acquired");
    fails(f, edit(f, text, "put %c.1, %c[w]", "put %c.1, %c[1 - w]"), "has not acquired");
    fails(f, edit(f, text, "      put %c.1, %c[w]\n", ""), "nothing was written");
    fails(f, edit(f, text, "u = 0:2", "u = 0:one"), "not released when the roles end");
    rejects(f, edit(f, text, "u = 0:2", "u = 0:1"), TW0760); /* nobody awaits copy 0 */
    rejects(f, edit(f, text, "put %c.1, %c[w]", "put %c.1, %c"), TW0750);
}

static void verifier_of_rings(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, SHARED, "await %a[w]", "await %a"), TW0750);
    rejects(f, edit(f, SHARED, "await %b", "await %b[0]"), TW0750);
    rejects(f, edit(f, SHARED, "], %a[i]", "], %a"), TW0750);
    rejects(f, edit(f, SHARED, "], %b", "], %b[0]"), TW0750);
    rejects(f, edit(f, SHARED, "%b = ring", "%b = buffer"), TW0754);
    rejects(f, edit(f, SHARED, "await %b : shared bf16<8x32>", "view %b[0] : shared bf16<8x32>"), TW0754);
    rejects(f, edit(f, SHARED, "C[w * 16 : rows, 0 : cols]", "C[w * 16 : rows, 0 : cols] through %c.1"), TW0754);
    rejects(f, edit(f, SHARED, "await %b : shared bf16<8x32>", "await %b : shared bf16<8x16>"), TW0755);
    rejects(f, edit(f, SHARED, "ring 2", "ring 0"), TW0750);
    rejects(f, edit(f, SHARED, "ring 2", "ring 65"), TW0750);
    rejects(f, edit(f, SHARED, "  roles {", "  acquire %b\n  roles {"), TW0754);
}

/* ---- both sides of a ring ------------------------------------------------------------------- */

/* Only what is between the roles: how both sides go round, for launches of all sizes. */
static const char *sides(Fixture *f, const char *producer, const char *consumer)
{
    return arena_printf(f->arena,
                        "program test\n"
                        "dim len in 1..\n"
                        "dim k in 0..\n"
                        "tensor N (len) int32 in\n"
                        "require k <= len, \"k is at most len\"\n"
                        "\n"
                        "kernel main grid(w: 2 within, m: ceil(len / 32)) warps 9 facts(expanded, staged) {\n"
                        "  %%r = ring : bf16<2x8x8>\n"
                        "  %%q = ring 2 : bf16<2x8x8>\n"
                        "  roles {\n"
                        "    load (warps 1) {\n%s    }\n"
                        "    compute (warps 4 per w) {\n%s    }\n"
                        "  }\n"
                        "}\n",
                        producer, consumer);
}

#define FILL "acquire %r\n filled %r\n"
#define FILL_Q(w) "acquire %q[" w "]\n filled %q[" w "]\n"
#define USE(x) "%" x " = await %r : shared bf16<8x8>\n release %r\n"
#define USE_Q(x, w) "%" x " = await %q[" w "] : shared bf16<8x8>\n release %q[" w "]\n"
#define LOOP(j, lo, hi, body) "for " j " = " lo ":" hi " {\n" body "}\n"
#define WHEN(cond, body) "if " cond " {\n" body "}\n"
#define SCALAR(n, at) "%" n " = load N[" at "] : int32<1x1>\n scalar " n " = %" n " in 0..100\n"

static void sides_that_keep_step(void **state)
{
    Fixture *f = *state;
    static const char *const pairs[][2] = {
        {"", ""},
        {LOOP("j", "0", "ceil(len / 16)", FILL), LOOP("i", "0", "ceil(len / 16)", USE("x"))},
        {LOOP("j", "0", "2 * m + 2", FILL), LOOP("i", "0", "m + 1", USE("x") USE("y"))},
        /* peeled, skewed, split, reversed */
        {FILL LOOP("j", "1", "len", FILL), LOOP("i", "0", "len", USE("x"))},
        {FILL LOOP("j", "0", "len", WHEN("j + 2 <= len", FILL)), LOOP("i", "0", "len", USE("x"))},
        {LOOP("j", "0", "len", FILL), LOOP("i", "0", "k", USE("x")) LOOP("i2", "k", "len", USE("y"))},
        {LOOP("j", "0", "min(m + 1, len)", FILL) LOOP("j2", "min(m + 1, len)", "len", FILL), LOOP("i", "0", "len", USE("x"))},
        {LOOP("j", "max(0, m - 3)", "m + 1", FILL), LOOP("i", "0", "min(m, 3) + 1", USE("x"))},
        {LOOP("j", "0", "len", WHEN("j mod 2 == 0", FILL)), LOOP("i", "0", "len", WHEN("i mod 2 == 0", USE("x")))},
        {LOOP("j", "0", "len", WHEN("j <= m", FILL)), LOOP("i", "0", "min(len, m + 1)", USE("x"))},
        {LOOP("j", "0", "len", WHEN("k <= j and j <= m", FILL)), LOOP("i", "k", "min(len, m + 1)", USE("x"))},
        {LOOP("j", "0", "len", WHEN("j == k", FILL)), WHEN("k < len", USE("x"))},
        {LOOP("j", "0", "len", "if j <= 4 {\n" FILL "} else {\n" FILL "}\n"), LOOP("i", "0", "len", USE("x"))},
        /* loops in loops, whose inner bounds depend on the outer counter */
        {LOOP("j", "0", "len", LOOP("i", "0", "k", FILL)), LOOP("i", "0", "len * k", USE("x"))},
        {LOOP("j", "0", "len", LOOP("i", "0", "j div 3", FILL)), LOOP("a", "0", "len", LOOP("b", "0", "a div 3", USE("x")))},
        {LOOP("j", "0", "len", LOOP("i", "0", "j div 3", FILL FILL)), LOOP("a", "0", "len", LOOP("b", "0", "a div 3", USE("x") USE("y")))},
        {LOOP("j", "0", "3", LOOP("i", "0", "j + 1", FILL)), LOOP("i", "0", "6", USE("x"))},
        /* copies */
        {LOOP("j", "0", "len", LOOP("c", "0", "2", FILL_Q("c"))), LOOP("i", "0", "len", USE_Q("x", "w"))},
        {LOOP("j", "0", "len + 1", FILL_Q("j mod 2")), LOOP("i", "0", "(len + 2 - w) div 2", USE_Q("x", "w"))},
        {FILL_Q("0"), WHEN("w == 0", USE_Q("x", "0"))},
        {LOOP("j", "0", "m", FILL_Q("0")) LOOP("j2", "0", "k", FILL_Q("1")), LOOP("i", "0", "w * k + (1 - w) * m", USE_Q("x", "w"))},
        /* what data says, both sides read it in one place */
        {SCALAR("n", "m") LOOP("j", "0", "n", FILL), SCALAR("n2", "m") LOOP("i", "0", "n2", USE("x"))},
    };
    for (size_t i = 0; i < TW_COUNT(pairs); i++)
        parse_good(f, sides(f, pairs[i][0], pairs[i][1]));
}

static void sides_that_do_not(void **state)
{
    Fixture *f = *state;
    static const char *const pairs[][2] = {
        {FILL, ""},
        {"", USE("x")},
        {LOOP("j", "0", "ceil(len / 16)", FILL), LOOP("i", "0", "len div 16 + 1", USE("x"))}, /* equal but for multiples of 16 */
        {LOOP("j", "0", "len", FILL), LOOP("i", "0", "len", WHEN("i != 300", USE("x")))},
        {LOOP("j", "0", "2 * m + 2", FILL), LOOP("i", "0", "m + 1", USE("x"))},
        {FILL LOOP("j", "0", "len", WHEN("j + 1 <= len", FILL)), LOOP("i", "0", "len", USE("x"))},
        {LOOP("j", "max(0, m - 3)", "m + 1", FILL), LOOP("i", "0", "min(m, 4) + 1", USE("x"))},
        {LOOP("j", "0", "len", WHEN("j mod 2 == 0", FILL)), LOOP("i", "0", "len", WHEN("i mod 2 == 1", USE("x")))},
        {LOOP("j", "0", "len", LOOP("i", "0", "j div 3", FILL)), LOOP("a", "0", "len", LOOP("b", "0", "a div 4", USE("x")))},
        {LOOP("j", "0", "len", FILL_Q("0")), LOOP("i", "0", "len", USE_Q("x", "w"))},
        {LOOP("j", "0", "len", FILL_Q("j mod 2")), LOOP("i", "0", "len div 2", USE_Q("x", "w"))},
        {FILL, WHEN("w == 0", USE("x")) WHEN("w == 1", "%y = await %r : shared bf16<8x8>\n")},
        {FILL, "%y = await %r : shared bf16<8x8>\n" WHEN("len != 7", "release %r\n")},
        {"acquire %r\n" WHEN("m != 1", "filled %r\n"), WHEN("m != 1", USE("x"))},
    };
    for (size_t i = 0; i < TW_COUNT(pairs); i++)
        rejects(f, sides(f, pairs[i][0], pairs[i][1]), TW0760);
    rejects(f, sides(f, LOOP("j", "0", "len", FILL), LOOP("i", "0", "len - w", USE("x"))), TW0760);
    assert_non_null(strstr(diags->list.data[0].message, "role load hands over "));
    assert_non_null(strstr(diags->list.data[0].message, "role compute (w = 1) awaits "));
}

/* Data may say what nobody can prove: the run is the judge. */
static void sides_that_data_decides(void **state)
{
    Fixture *f = *state;
    parse_good(f, sides(f, SCALAR("n", "m") LOOP("j", "0", "n", FILL), SCALAR("n2", "0") LOOP("i", "0", "n2", USE("x"))));
    parse_good(f, sides(f, SCALAR("n", "m") LOOP("j", "0", "n", FILL), LOOP("i", "0", "len", USE("x"))));
}

/* ---- instances ---------------------------------------------------------------------------- */

static double twice_at(int i, int j)
{
    return 2 * a_at(i, j);
}

static const char INSTANCES[] =
    HEAD
    "kernel main grid(w: 4 within, x: 2) warps 4 facts(expanded, staged) {\n"
    "  %two = fill 2 : fp32<1x1>\n"
    "  roles {\n"
    "    part (warps 1 per w) {\n"
    "      %a = load A[w * 8 : rows, x * 16 : cols] : bf16<8x16>\n"
    "      %a.1 = multiply %a, %two : fp32<8x16>\n"
    "      store %a.1, C[w * 8 : rows, x * 16 : cols]\n"
    "    }\n"
    "  }\n"
    "}\n";

/* Without roles the axis is one more of the grid. */
static const char AXES[] =
    HEAD
    "kernel main grid(w: 4 within, x: 2) warps 4 {\n"
    "  %two = fill 2 : fp32<1x1>\n"
    "  %a = load A[w * 8 : rows, x * 16 : cols] : bf16<8x16>\n"
    "  %a.1 = multiply %a, %two : fp32<8x16>\n"
    "  store %a.1, C[w * 8 : rows, x * 16 : cols]\n"
    "}\n";

static void instances(void **state)
{
    Fixture *f = *state;
    gives(f, AXES, twice_at);
    gives(f, INSTANCES, twice_at);
    gives(f, edit(f, INSTANCES, "within, x: 2", "within, x: 2 reversed"), twice_at);
    gives(f, edit(f, INSTANCES, "warps 4 facts", "warps 4 persistent 1 facts"), twice_at);
    fails(f, edit(f, INSTANCES, "A[w * 8 :", "A[w div (w - 3) * 8 :"), "block (x = 0), role part (w = 3): ");
}

static void verifier_of_instances(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, INSTANCES, "warps 4 ", "warps 1 "), TW0750);
    rejects(f, edit(f, INSTANCES, "warps 1 per w", "warps 4"), TW0757); /* none of them knows w */
    rejects(f, edit(f, INSTANCES, "%two = fill 2 : fp32<1x1>", "%two = index w : fp32<1x1>"), TW0757);
    rejects(f, edit(f, INSTANCES, "w: 4 within", "w: 17 within"), TW0750);
    assert_null(parse(f, edit(f, INSTANCES, "w: 4 within", "w: 4")));
}

/* ---- pending products ------------------------------------------------------------------------ */

/* C = A B in four steps: a chain of two pending products, then two accumulators
 * in flight of which the older one is finished first. */
static const char PENDING[] =
    HEAD
    "kernel main warps 4 facts(expanded, staged, synced) {\n"
    "  %A = buffer : bf16<4x32x8>\n"
    "  %B = buffer : bf16<4x8x32>\n"
    "  for t = 0:4 {\n"
    "    copy_async A[0 : rows, t * 8 : cols], %A[t]\n"
    "    copy_async B[t * 8 : rows, 0 : cols], %B[t]\n"
    "  }\n"
    "  commit\n"
    "  wait 0\n"
    "  barrier\n"
    "  %a0 = view %A[0] : shared bf16<32x8>\n"
    "  %b0 = view %B[0] : shared bf16<8x32>\n"
    "  %a1 = view %A[1] : shared bf16<32x8>\n"
    "  %b1 = view %B[1] : shared bf16<8x32>\n"
    "  %a2 = view %A[2] : shared bf16<32x8>\n"
    "  %b2 = view %B[2] : shared bf16<8x32>\n"
    "  %a3 = view %A[3] : shared bf16<32x8>\n"
    "  %b3 = view %B[3] : shared bf16<8x32>\n"
    "  %s = issue %a0, %b0 : pending fp32<32x32>\n"
    "  %s1 = issue %a1, %b1, %s : pending fp32<32x32>\n"
    "  %t = issue %a2, %b2 : pending fp32<32x32>\n"
    "  %s2 = finish %s1 leaving 1 : fp32<32x32>\n"
    "  %u = issue %a3, %b3, %s2 : pending fp32<32x32>\n"
    "  %t1 = finish %t leaving 1 : fp32<32x32>\n"
    "  %u1 = finish %u leaving 0 : fp32<32x32>\n"
    "  %t2 = finish %t leaving 0 : fp32<32x32>\n"
    "  %c = add %t2, %u1 : fp32<32x32>\n"
    "  store %c, C[0 : rows, 0 : cols]\n"
    "}\n";

static void pending(void **state)
{
    Fixture *f = *state;
    gives(f, PENDING, product_at);
    gives(f, edit(f, PENDING, "add %t2", "add %t1"), product_at);
    gives(f, edit(f, PENDING, "%t leaving 0", "%t1 leaving 0"), product_at); /* finished long ago */
    gives(f, edit(f, PENDING, "leaving 1", "leaving 0"), product_at);
}

static void faults_of_pending(void **state)
{
    Fixture *f = *state;
    fails(f, edit(f, PENDING, "%s1 leaving 1", "%s1 leaving 2"), "leaves the product of %s1 pending");
    fails(f, edit(f, PENDING, "%u leaving 0", "%u leaving 1"), "leaves the product of %u pending");
    fails(f, edit(f, PENDING, "  %s2 = finish %s1 leaving 1", "  %s2 = finish %s leaving 1"), "another product's registers");
    fails(f, edit(f, PENDING, "%b3, %s2 :", "%b3, %s :"), "another product's registers");
    fails(f, edit(f, PENDING, "  store %c", "  %x = issue %a0, %b0 : pending fp32<32x32>\n  store %c"), "still pending at the end");
    /* Operands are read until the product is finished, whatever barriers there are. */
    const char *put = "  barrier\n  %z = fill 0 : bf16<32x8>\n  put %z, %A[1]\n";
    fails(f, edit(f, PENDING, "  %t = issue", arena_printf(f->arena, "%s  %%t = issue", put)), "overwrites stage 1 of %A while a product");
    gives(f, edit(f, PENDING, "  %u = issue", arena_printf(f->arena, "%s  %%u = issue", put)), product_at);
    put = "  barrier\n  copy_async A[0 : rows, 0 : cols], %A[2]\n  commit\n  wait 0\n";
    fails(f, edit(f, PENDING, "  %u = issue", arena_printf(f->arena, "%s  %%u = issue", put)), "overwrites stage 2 of %A while a product");
    fails(f, edit(f, PENDING, "  %u = issue", "  roles {\n    all (warps 4) {\n    }\n  }\n  %u = issue"), "still pending");
}

static void verifier_of_pending(void **state)
{
    Fixture *f = *state;
    rejects(f, edit(f, PENDING, "add %t2", "add %t"), TW0755);
    rejects(f, edit(f, PENDING, "store %c", "store %s1"), TW0755);
    rejects(f, edit(f, PENDING, "%s1 leaving 1 : fp32", "%s1 leaving 1 : pending fp32"), TW0755);
    rejects(f, edit(f, PENDING, "issue %a0, %b0 : pending fp32", "issue %a0, %b0 : fp32"), TW0755);
    rejects(f, edit(f, PENDING, "add %t2, %u1 : fp32", "add %t2, %u1 : pending fp32"), TW0755);
    rejects(f, edit(f, PENDING, "view %A[0] : shared bf16", "view %A[0] : shared pending bf16"), TW0755);
    rejects(f, edit(f, PENDING, "issue %a1, %b1, %s :", "issue %a1, %b1, %b0 :"), TW0755);
    rejects(f, edit(f, PENDING, "leaving 1", "leaving -1"), TW0750);
}

/* A pending product is carried round a loop, whose stages are released as late as
 * its finish: each iteration waits for the product of the one before. */
static const char CARRIED[] =
    HEAD
    "kernel main grid(w: 2 within) warps 9 facts(expanded, staged, synced) {\n"
    "  %a = ring 2 : bf16<2x16x8>\n"
    "  %b = ring : bf16<3x8x32>\n"
    "  roles {\n"
    "    load (warps 1) {\n"
    "      for t = 0:4 {\n"
    "        acquire %b\n"
    "        copy_async B[t * 8 : rows, 0 : cols], %b\n"
    "        filled %b\n"
    "        for i = 0:2 {\n"
    "          acquire %a[i]\n"
    "          copy_async A[i * 16 : rows, t * 8 : cols], %a[i]\n"
    "          filled %a[i]\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "    multiply (warps 4 per w) {\n"
    "      %zero = fill 0 : fp32<16x32>\n"
    "      %s = for t = 0:4 unroll 2 carry (%s.1 = %zero : pending fp32<16x32>) {\n"
    "        %a.1 = await %a[w] : shared bf16<16x8>\n"
    "        %b.1 = await %b : shared bf16<8x32>\n"
    "        %s.2 = issue %a.1, %b.1, %s.1 : pending fp32<16x32>\n"
    "        if 1 <= t {\n"
    "          %s.3 = finish %s.1 leaving 1 : fp32<16x32>\n"
    "          release %a[w]\n"
    "          release %b\n"
    "        }\n"
    "        yield %s.2\n"
    "      }\n"
    "      %c = finish %s leaving 0 : fp32<16x32>\n"
    "      release %a[w]\n"
    "      release %b\n"
    "      store %c, C[w * 16 : rows, 0 : cols]\n"
    "    }\n"
    "  }\n"
    "}\n";

static void pending_is_carried(void **state)
{
    Fixture *f = *state;
    gives(f, CARRIED, product_at);
    fails(f, edit(f, CARRIED, "          %s.3 = finish %s.1 leaving 1 : fp32<16x32>\n", ""),
          "stage 0 of %a[");
    fails(f, edit(f, CARRIED, "          %s.3 = finish %s.1 leaving 1 : fp32<16x32>\n", ""),
          "is released while a product that reads it is pending");
    fails(f, edit(f, CARRIED, "%c = finish %s leaving 0 : fp32<16x32>\n      release %a[w]\n      release %b\n",
                  "release %a[w]\n      release %b\n      %c = finish %s leaving 0 : fp32<16x32>\n"),
          "is released while a product that reads it is pending");
    rejects(f, edit(f, CARRIED, "%zero : pending fp32<16x32>)", "%zero)"), TW0753);
    rejects(f, edit(f, CARRIED, "      %c = finish %s leaving 0 : fp32<16x32>\n", "      %c = move %s : fp32<16x32>\n"), TW0755);
}

/* ---- revised values ------------------------------------------------------------------------------ */

/* Rows 0..15 are of two warps, 8 each: only in groups of rows with an element of
 * 3 or more in A is C negative. */
static const char REVISE[] =
    HEAD
    "kernel main grid(x: 2) warps 2 facts(expanded, staged) {\n"
    "  %a = load A[x * 16 : rows, 0 : cols] : bf16<16x32>\n"
    "  %c = cast %a : fp32<16x32>\n"
    "  %p = mask %c where 8 <= row or col < 0 else 0 : fp32<16x32>\n"
    "  %m = rowmax %p along columns : fp32<16x1>\n"
    "  %c.1, %m.1 = revise %c, %m where any %m >= 3 : fp32<16x32>, fp32<16x1> {\n"
    "    %n = negate %c : fp32<16x32>\n"
    "    %z = subtract %m, %m : fp32<16x1>\n"
    "    yield %n, %z\n"
    "  }\n"
    "  %d = add %c.1, %m.1 : fp32<16x32>\n"
    "  store %d, C[x * 16 : rows, 0 : cols]\n"
    "}\n";

/* Every row of A has a 3, since 3 j takes all values modulo 7. */
static double revised_at(int i, int j)
{
    return i % 16 >= 8 ? -a_at(i, j) : a_at(i, j);
}

static double not_revised_at(int i, int j)
{
    return a_at(i, j) + (i % 16 >= 8 ? 3 : 0);
}

static double all_revised_at(int i, int j)
{
    return -a_at(i, j);
}

static void revised(void **state)
{
    Fixture *f = *state;
    gives(f, REVISE, revised_at);
    gives(f, edit(f, REVISE, ">= 3", ">= 3.5"), not_revised_at);
    gives(f, edit(f, REVISE, ">= 3", ">= -inf"), all_revised_at);
    gives(f, edit(f, REVISE, "8 <= row or", "row == 11 or"), revised_at); /* one row decides for its group */
    gives(f, edit(f, REVISE, "warps 2", "warps 1"), all_revised_at);
    gives(f, edit(f, REVISE, "warps 2", "warps 4 warps_n 2"), revised_at);
    gives(f, edit(f, edit(f, edit(f, REVISE, "8 <= row or col < 0 else 0", "row < 8 else nan"), "any %m >= 3", "any %p >= 4"),
                  "add %c.1, %m.1", "cast %c.1"), revised_at);
}

static void verifier_of_revised(void **state)
{
    Fixture *f = *state;
    static const char *const lines[] = {
        "    store %n, C[0 : rows, 0 : cols]\n", "    barrier\n", "    %k = colmax %n along rows : fp32<1x32>\n",
        "    commit\n", "    if 1 <= x {\n      wait 0\n    }\n"};
    for (size_t i = 0; i < TW_COUNT(lines); i++)
        rejects(f, edit(f, REVISE, "    yield %n", arena_printf(f->arena, "%s    yield %%n", lines[i])), TW0754);
    rejects(f, edit(f, REVISE, "warps 2", "warps 3"), TW0755);
    rejects(f, edit(f, REVISE, "yield %n, %z", "yield %n"), TW0753);
    rejects(f, edit(f, REVISE, "yield %n, %z", "yield %z, %n"), TW0753);
    rejects(f, edit(f, REVISE, "    yield %n, %z\n", ""), TW0753);
    rejects(f, edit(f, REVISE, "%c, %m where", "%c, %p where"), TW0755);
    rejects(f, edit(f, REVISE, "  %c.1, %m.1 = revise", "  %k = fill 0 : fp32<1x1>\n  %c.1, %m.1 = revise %c, %k where any %m >= 1 : fp32<16x32>, fp32<1x1> {\n"
                    "    yield %c, %k\n  }\n  %c.2, %m.2 = revise"), TW0755);
}

/* The accumulator is revised while a product adds to it; a group that is revised
 * waits early. */
static const char REVISE_PENDING[] =
    HEAD
    "kernel main grid(x: 2) warps 2 facts(expanded, staged, synced) {\n"
    "  %A = buffer : bf16<1x16x32>\n"
    "  %B = buffer : bf16<1x32x32>\n"
    "  copy_async A[x * 16 : rows, 0 : cols], %A[0]\n"
    "  copy_async B[0 : rows, 0 : cols], %B[0]\n"
    "  commit\n"
    "  wait 0\n"
    "  barrier\n"
    "  %a = view %A[0] : shared bf16<16x32>\n"
    "  %b = view %B[0] : shared bf16<32x32>\n"
    "  %i = index row : fp32<16x1>\n"
    "  %o = issue %a, %b : pending fp32<16x32>\n"
    "  %o.1 = revise %o where any %i >= 9 : pending fp32<16x32> {\n"
    "    %o.2 = finish %o leaving 0 : fp32<16x32>\n"
    "    %o.3 = negate %o.2 : fp32<16x32>\n"
    "    yield %o.3\n"
    "  }\n"
    "  %c = finish %o.1 leaving 0 : fp32<16x32>\n"
    "  store %c, C[x * 16 : rows, 0 : cols]\n"
    "}\n";

static double product_revised_at(int i, int j)
{
    return i % 16 >= 8 ? -product_at(i, j) : product_at(i, j);
}

static double product_twice_at(int i, int j)
{
    return product_revised_at(i, j) + product_at(i, j);
}

static void pending_is_revised(void **state)
{
    Fixture *f = *state;
    gives(f, REVISE_PENDING, product_revised_at);
    gives(f, edit(f, REVISE_PENDING, ">= 9", ">= 16"), product_at);
    gives(f, edit(f, REVISE_PENDING, "yield %o.3", "yield %o"), product_at);
    const char *more = "  %d = issue %a, %b, %o.1 : pending fp32<16x32>\n  %c = finish %d leaving 0";
    gives(f, edit(f, REVISE_PENDING, "  %c = finish %o.1 leaving 0", more), product_twice_at);
}

static void faults_of_revised(void **state)
{
    Fixture *f = *state;
    /* That some warps have waited helps the others nothing. */
    const char *late = edit(f, REVISE_PENDING, "  %c = finish %o.1 leaving 0 : fp32<16x32>\n",
                            "  barrier\n  copy_async A[0 : rows, 0 : cols], %A[0]\n  commit\n  wait 0\n"
                            "  %c = finish %o.1 leaving 0 : fp32<16x32>\n");
    fails(f, late, "overwrites stage 0 of %A while a product");
    fails(f, edit(f, REVISE_PENDING, "%o.1 leaving 0", "%o.1 leaving 1"), "leaves the product of %o pending");
    rejects(f, edit(f, REVISE_PENDING, "yield %o.3", "%o.4 = issue %a, %b : pending fp32<16x32>\n    yield %o.4"), TW0754);
    rejects(f, edit(f, REVISE_PENDING, "%c = finish %o.1 leaving 0", "%c = move %o.1"), TW0755);
    /* A finished value does not become a pending one. */
    rejects(f, edit(f, edit(f, REVISE_PENDING, "  %o.1 = revise %o where", "  %w = finish %o leaving 0 : fp32<16x32>\n  %o.1 = revise %w where"),
                    ">= 9 : pending fp32<16x32> {\n    %o.2 = finish %o leaving 0 : fp32<16x32>\n    %o.3 = negate %o.2 : fp32<16x32>\n    yield %o.3\n",
                    ">= 9 : fp32<16x32> {\n    yield %o\n"), TW0753);
}

/* ---- turns --------------------------------------------------------------------------------------------- */

/* Instances write one after the other into the same place: the last turn's stays. */
static const char TURNS[] =
    HEAD
    "kernel main grid(w: 4 within) warps 4 facts(expanded, staged) {\n"
    "  roles {\n"
    "    part (warps 1 per w) {\n"
    "      for t = 0:3 {\n"
    "        take_turn\n"
    "        %i = index t * 4 + w : fp32<32x32>\n"
    "        store %i, C[0 : rows, 0 : cols]\n"
    "        give_turn\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

static double last;

static double last_at(int i, int j)
{
    (void)i, (void)j;
    return last;
}

static void turns(void **state)
{
    Fixture *f = *state;
    last = 11;
    gives(f, TURNS, last_at);
    gives(f, edit(f, TURNS, "        give_turn\n", "        if t <= 1 {\n          give_turn\n        }\n"), last_at);
    last = 12; /* 3 ends first, 0 has the last turn */
    gives(f, edit(f, TURNS, "t = 0:3", "t = 0:4 - w"), last_at);
    last = 15;
    gives(f, edit(f, TURNS, "t = 0:3", "t = 0:1 + w"), last_at);
    last = 8;
    gives(f, edit(f, TURNS, "w: 4 within) warps 4", "w: 1 within) warps 1"), last_at);
    gives(f, edit(f, edit(f, edit(f, TURNS, "4 within) warps 4", "4 within) warps 1"), "1 per w", "1"), "+ w", "+ 0"), last_at);
}

static void faults_of_turns(void **state)
{
    Fixture *f = *state;
    fails(f, edit(f, TURNS, "        give_turn\n", ""), "takes a turn that it has taken already");
    fails(f, edit(f, TURNS, "        take_turn\n", ""), "gives a turn that it has not taken");
    /* What 0 waits for in its turn comes in that of 1. */
    const char *crossed = edit(f, TURNS, "  roles {\n", "  %r = ring : fp32<1x32x32>\n  roles {\n");
    crossed = edit(f, crossed, "        give_turn\n",
                   "        if w == 0 {\n          %x = await %r : shared fp32<32x32>\n          release %r\n        }\n"
                   "        if w == 1 {\n          acquire %r\n          put %i, %r\n          filled %r\n        }\n"
                   "        give_turn\n");
    fails(f, crossed, "the roles are deadlocked: part (w = 0) waits in `%x = await %r : shared fp32<32x32>`, "
                      "part (w = 1) waits in `take_turn`");
    last = 11;
    gives(f, edit(f, edit(f, crossed, "if w == 0", "if w == 2"), "if w == 1", "if w == 0"), last_at);
    rejects(f, edit(f, TURNS, "  roles {\n", "  take_turn\n  roles {\n"), TW0754);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(rings),
        TEST(rings_of_puts),
        TEST(faults_of_rings),
        TEST(verifier_of_rings),
        TEST(sides_that_keep_step),
        TEST(sides_that_do_not),
        TEST(sides_that_data_decides),
        TEST(instances),
        TEST(verifier_of_instances),
        TEST(pending),
        TEST(faults_of_pending),
        TEST(verifier_of_pending),
        TEST(pending_is_carried),
        TEST(revised),
        TEST(verifier_of_revised),
        TEST(pending_is_revised),
        TEST(faults_of_revised),
        TEST(turns),
        TEST(faults_of_turns),
    };
    return cmocka_run_group_tests_name("tile_roles", tests, NULL, NULL);
}
