/* test_eval.c: TL expressions to symbolic integers and numbers. Trees are built
 * by hand so that this needs no parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "lang/eval.h"

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Diags *diags;
    EvalEnv env;
} Fixture;

static int setup(void **state)
{
    static Fixture f;
    f = (Fixture){.heap = {.on_oom = &f.oom}};
    if (setjmp(f.oom))
        return -1;
    f.arena = arena_new(&f.heap);
    f.diags = diags_new(f.arena, NULL);
    AffCtx *ctx = aff_ctx_new(f.arena);
    eval_init(&f.env, f.arena, ctx);
    eval_bind(&f.env, "len", aff_of(ctx, aff_sym_new(ctx, "len", AFF_DIM, 0, INT64_MAX)));
    eval_bind(&f.env, "j", aff_of(ctx, aff_sym_new(ctx, "j", AFF_LOOP, 0, 1000)));
    eval_bind(&f.env, "BM", aff_const(ctx, 128));
    eval_bind_number(&f.env, "scale", 0.125);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    arena_free(((Fixture *)*state)->arena);
    return 0;
}

#define N(name)     expr_name(f->arena, name)
#define I(value)    expr_int(f->arena, value)
#define B(op, a, b) expr_binary(f->arena, EO_##op, a, b)
#define CALL(name, ...) \
    expr_call(f->arena, name, (Expr *[]){__VA_ARGS__}, (int)TW_COUNT(((Expr *[]){__VA_ARGS__})))

static void expect(Fixture *f, Expr *e, const char *text)
{
    const Aff *a = eval_aff(&f->env, e, f->diags);
    assert_non_null(a);
    assert_string_equal(aff_text(f->arena, a), text);
    assert_int_equal(f->diags->errors, 0);
}

static void expect_error(Fixture *f, Expr *e, DiagCode code)
{
    f->diags->errors = f->diags->list.len = 0;
    assert_null(eval_aff(&f->env, e, NULL));
    assert_int_equal(f->diags->errors, 0);
    assert_null(eval_aff(&f->env, e, f->diags));
    assert_int_equal(f->diags->errors, 1);
    assert_int_equal(f->diags->list.data[0].code, code);
}

static void integers(void **state)
{
    Fixture *f = *state;
    expect(f, CALL("ceil", B(DIV, N("len"), N("BM"))), "ceil(len / 128)");
    expect(f, CALL("floor", B(DIV, N("len"), N("BM"))), "len div 128");
    expect(f, B(DIV, B(MUL, N("j"), N("BM")), I(64)), "j * 2");
    expect(f, B(MOD, N("j"), I(2)), "j mod 2");
    expect(f, B(POW, I(2), I(10)), "1024");
    expect(f, B(POW, I(16), B(MOD, N("j"), I(8))), "2 ** (j mod 8 * 4)");
    expect(f, B(MOD, B(IDIV, N("j"), B(POW, I(2), N("len"))), I(2)), "j div 2 ** min(len, 62) mod 2");
    expect(f, B(MOD, N("j"), B(POW, I(2), N("len"))), "j mod 2 ** min(len, 62)");
    expect(f, CALL("MIN", N("len"), N("j"), I(7)), "min(len, j, 7)");
    expect(f, CALL("min", N("j")), "j");
    expect(f, B(AND, B(LE, N("j"), N("len")), B(NE, N("j"), I(3))), "j <= len and j != 3");
    expect(f, B(GT, N("j"), B(SUB, N("len"), I(1024))), "len <= j + 1023");
}

static void what_is_no_integer(void **state)
{
    Fixture *f = *state;
    expect_error(f, N("scale"), TW0221);
    expect_error(f, B(DIV, N("len"), I(2)), TW0221);
    expect_error(f, B(POW, I(2), B(SUB, N("j"), I(1))), TW0221); /* 1 / 2 where j is 0 */
    expect_error(f, B(POW, I(2), N("j")), TW0221);
    expect_error(f, B(POW, I(3), B(MOD, N("j"), I(4))), TW0221);
    expect_error(f, B(IDIV, N("len"), B(POW, I(2), N("j"))), TW0221); /* of more than 2 ** 62 */
    expect_error(f, CALL("sqrt", I(4)), TW0221);
    expect_error(f, expr_transpose(f->arena, N("len")), TW0221);
    expect_error(f, N("Len"), TW0220);
    assert_string_equal(f->diags->list.data[0].fix.text, "len");
    expect_error(f, B(IDIV, N("len"), I(0)), TW0247);
    expect_error(f, B(DIV, N("len"), I(0)), TW0247);
    expect_error(f, B(MUL, I(INT64_MAX), I(2)), TW0222);
    expect_error(f, CALL("row", N("S")), TW0223);
    expect_error(f, CALL("ceil", I(1), I(2)), TW0223);
    Expr *deep = I(1);
    for (int i = 0; i < 100000; i++)
        deep = expr_unary(f->arena, EO_NOT, deep);
    expect_error(f, deep, TW0103);
}

static void numbers(void **state)
{
    Fixture *f = *state;
    double v;
    assert_true(eval_float(&f->env, B(DIV, I(1), CALL("sqrt", N("BM"))), &v));
    assert_true(fabs(v - 1 / sqrt(128)) < 1e-15);
    assert_true(eval_float(&f->env, CALL("max", I(1), N("scale")), &v));
    assert_true(v == 1);
    assert_true(eval_float(&f->env, CALL("min", I(3)), &v));
    assert_true(v == 3);
    assert_false(eval_float(&f->env, B(MUL, N("len"), N("scale")), &v));
}

static void assignments_and_scopes(void **state)
{
    Fixture *f = *state;
    int mark = eval_mark(&f->env);
    assert_true(eval_assign(&f->env, "half", B(DIV, I(1), I(2)), f->diags));
    assert_true(eval_find(&f->env, "half")->number == 0.5);
    assert_null(eval_find(&f->env, "half")->aff);
    assert_true(eval_assign(&f->env, "BM", I(64), f->diags));
    expect(f, N("BM"), "64");
    eval_reset(&f->env, mark);
    expect(f, N("BM"), "128");
    assert_null(eval_find(&f->env, "half"));
    assert_false(eval_assign(&f->env, "x", N("nothing"), f->diags));
    assert_int_equal(f->diags->errors, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(integers),
        TEST(what_is_no_integer),
        TEST(numbers),
        TEST(assignments_and_scopes),
    };
    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}
