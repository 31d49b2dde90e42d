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

/* Two instances share the tiles of B and have each their copy of A's ring; two
 * stages of B are held at once. */
static const char SHARED[] =
    HEAD
    "kernel main grid(w: 2 within) warps 3 facts(expanded, staged, synced) {\n"
    "  %a = ring 2 : bf16<2x16x8>\n"
    "  %b = ring : bf16<3x8x32>\n"
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
    fails(f, edit(f, text, "      acquire %c[w]\n", ""), "has not acquired");
    fails(f, edit(f, text, "put %c.1, %c[w]", "put %c.1, %c[1 - w]"), "has not acquired");
    fails(f, edit(f, text, "      put %c.1, %c[w]\n", ""), "nothing was written");
    fails(f, edit(f, text, "u = 0:2", "u = 0:1"), "not released when the roles end");
    rejects(f, edit(f, text, "put %c.1, %c[w]", "put %c.1, %c"), TW0750);
}

static void faults_of_rings(void **state)
{
    Fixture *f = *state;
    fails(f, edit(f, SHARED, "bf16<3x8x32>", "bf16<1x8x32>"), "deadlock"); /* two are held at once */
    fails(f, edit(f, SHARED, "        release %b\n        %a.2", "        %a.2"), "not released when");
    fails(f, edit(f, SHARED, "await %a[w]", "await %a[0]"), "(w = "); /* both have all of copy 0, or one of neither */
    fails(f, edit(f, SHARED, "acquire %a[i]", "acquire %a[i + 1]"), "has not acquired");
    fails(f, edit(f, SHARED, "for i = 0:2", "for i = 0:3"), "copy 2 of a ring of 2");
    fails(f, edit(f, SHARED, "        release %b\n        yield", "        yield"), "not released when");
    fails(f, edit(f, SHARED, "t = 0:4", "t = 0:3"), "deadlock");
    fails(f, edit(f, SHARED, "        %c.4 = gemm %a.2, %b.2", "        %c.4 = gemm %a.2, %b.1"), "has released");
    fails(f, edit(f, SHARED, "      %c = fill", "      acquire %b\n      filled %b\n      %c = fill"), "which another role fills");
    fails(f, edit(f, SHARED, "copy_async B[t * 8 : rows, 0 : cols], %b\n",
                  "copy_async B[t * 8 : rows, 0 : cols], %b if t == 0\n"), "nothing was written");
    /* A view of a stage is one of what it held, not of what comes after it. */
    fails(f, edit(f, edit(f, SHARED, "bf16<2x16x8>", "bf16<1x16x8>"), "        %a.2 = await %a[w] : shared bf16<16x8>\n        release %a[w]\n",
                  "        release %a[w]\n        %a.2 = await %a[w] : shared bf16<16x8>\n        %old = move %a.1 : bf16<16x8>\n"),
          "has released");
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
    rejects(f, edit(f, SHARED, "await %b : shared bf16<8x32>", "await %b : shared bf16<8x16>"), TW0755);
    rejects(f, edit(f, SHARED, "ring 2", "ring 0"), TW0750);
    rejects(f, edit(f, SHARED, "ring 2", "ring 65"), TW0750);
    rejects(f, edit(f, SHARED, "  roles {", "  acquire %b\n  roles {"), TW0754);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(rings),
        TEST(rings_of_puts),
        TEST(faults_of_rings),
        TEST(verifier_of_rings),
        TEST(instances),
        TEST(verifier_of_instances),
    };
    return cmocka_run_group_tests_name("tile_roles", tests, NULL, NULL);
}
