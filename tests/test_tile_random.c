/* test_tile_random.c: kernels with roles, drawn at random: a product of matrices
 * through rings, with any number of instances, stages and products in flight. All
 * give the right product under every schedule, read back as they were printed, and
 * are refused or stopped when any step of their protocol is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "tile/tile.h"

enum { N = 32, PROGRAMS = 60, SEEDS = 4 };

/* ---- drawing a kernel --------------------------------------------------------------- */

typedef struct Pipeline {
    int instances, step, stages_a, stages_b;
    int lag;            /* products that stay pending from one iteration to the next */
    bool turns, revises, copies_first, through_ring, peels;
} Pipeline;

static Pipeline draw(uint64_t seed)
{
    Rng rng = {seed};
    Pipeline p = {.instances = 1 << rng_below(&rng, 3), .step = 4 << rng_below(&rng, 3)};
    p.lag = rng_below(&rng, N / p.step < 3 ? N / p.step : 3);
    p.stages_a = p.lag + 1 + rng_below(&rng, 2);
    p.stages_b = p.lag + 1 + rng_below(&rng, 3);
    p.turns = rng_below(&rng, 2);
    p.revises = rng_below(&rng, 2);
    p.copies_first = rng_below(&rng, 2);
    p.through_ring = rng_below(&rng, 2);
    p.peels = rng_below(&rng, 2);
    return p;
}

static void write_copy_b(Str *s, const Pipeline *p, const char *t)
{
    str_printf(s, "acquire %%b\n copy_async B[%s * %d : rows, 0 : cols], %%b\n filled %%b\n", t, p->step);
}

static void write_copies(Str *s, const Pipeline *p, const char *t)
{
    if (!p->copies_first)
        write_copy_b(s, p, t);
    for (int i = 0; i < p->instances; i++) {
        const char *copy = p->instances > 1 ? arena_printf(s->arena, "[%d]", i) : "";
        str_printf(s, "acquire %%a%s\n copy_async A[%d : rows, %s * %d : cols], %%a%s\n filled %%a%s\n", copy,
                   i * (N / p->instances), t, p->step, copy, copy);
    }
    if (p->copies_first)
        write_copy_b(s, p, t);
}

static void write_producer(Str *s, const Pipeline *p)
{
    str_add(s, "load (warps 1, regs 24) {\n");
    if (p->peels)
        write_copies(s, p, "0");
    str_printf(s, "for t = %d:%d {\n", p->peels, N / p->step);
    write_copies(s, p, "t");
    str_add(s, "}\n}\n");
}

static void write_release(Str *s, const Pipeline *p)
{
    str_printf(s, "release %%a%s\n release %%b\n", p->instances > 1 ? "[w]" : "");
}

/* The products of this iteration and, `lag` later, what it waits for. */
static void write_iteration(Str *s, const Pipeline *p, int rows)
{
    static const char *const oldest[] = {"%s.2", "%s.1", "%p.1"};
    str_add(s, p->turns ? "take_turn\n" : "");
    str_printf(s, "%%a.1 = await %%a%s : shared bf16<%dx%d>\n", p->instances > 1 ? "[w]" : "", rows, p->step);
    str_printf(s, "%%b.1 = await %%b : shared bf16<%dx%d>\n", p->step, N);
    str_printf(s, "%%s.2 = issue %%a.1, %%b.1, %%s.1 : pending fp32<%dx%d>\n", rows, N);
    str_add(s, p->turns ? "give_turn\n" : "");
    str_printf(s, "if %d <= t {\n%%s.3 = finish %s leaving %d : fp32<%dx%d>\n", p->lag, oldest[p->lag], p->lag, rows, N);
    write_release(s, p);
    str_add(s, "}\nyield %s.2, %s.1\n");
}

static void write_result(Str *s, const Pipeline *p, int rows)
{
    const char *copy = p->instances > 1 ? "[w]" : "";
    str_printf(s, "%%c = finish %%s leaving 0 : fp32<%dx%d>\n", rows, N);
    for (int i = 0; i < p->lag; i++)
        write_release(s, p);
    if (p->revises) /* which changes nothing */
        str_printf(s, "%%m = rowmax %%c along columns : fp32<%dx1>\n"
                      "%%c.1 = revise %%c where any %%m >= 40 : fp32<%dx%d> {\n"
                      "%%n = negate %%c : fp32<%dx%d>\n%%n.1 = negate %%n : fp32<%dx%d>\nyield %%n.1\n}\n",
                   rows, rows, N, rows, N, rows, N);
    const char *result = p->revises ? "%c.1" : "%c";
    if (p->through_ring)
        str_printf(s, "acquire %%d%s\n put %s, %%d%s\n filled %%d%s\n", copy, result, copy, copy);
    else
        str_printf(s, "store %s, C[%s : rows, 0 : cols]\n", result, p->instances > 1 ? arena_printf(s->arena, "w * %d", rows) : "0");
}

static void write_consumer(Str *s, const Pipeline *p)
{
    int rows = N / p->instances;
    str_printf(s, "multiply (warps 4%s) {\n", p->instances > 1 ? " per w" : "");
    str_printf(s, "%%z = fill 0 : fp32<%dx%d>\n", rows, N);
    str_printf(s, "%%s, %%p = for t = 0:%d unroll 2 carry (%%s.1 = %%z : pending fp32<%dx%d>, %%p.1 = %%z : pending fp32<%dx%d>) {\n",
               N / p->step, rows, N, rows, N);
    write_iteration(s, p, rows);
    str_add(s, "}\n");
    write_result(s, p, rows);
    str_add(s, "}\n");
}

static void write_writer(Str *s, const Pipeline *p)
{
    int rows = N / p->instances;
    const char *copy = p->instances > 1 ? "[i]" : "";
    str_printf(s, "write (warps 1) {\nfor i = 0:%d {\n%%d.1 = await %%d%s : shared fp32<%dx%d>\n", p->instances, copy, rows, N);
    str_printf(s, "store %%d.1, C[i * %d : rows, 0 : cols]\nrelease %%d%s\n}\n}\n", rows, copy);
}

static void write_ring(Str *s, const char *name, int copies, const char *dtype, int stages, int rows, int cols)
{
    const char *number = copies > 1 ? arena_printf(s->arena, " %d", copies) : "";
    str_printf(s, "%%%s = ring%s : %s<%dx%dx%d>\n", name, number, dtype, stages, rows, cols);
}

static const char *write(Fixture *f, const Pipeline *p)
{
    Str s = str_new(f->arena);
    int n = p->instances, rows = N / n;
    str_printf(&s, "program drawn\ntensor A (%d, %d) bf16 in\ntensor B (%d, %d) bf16 in\ntensor C (%d, %d) fp32 out\n", N, N, N, N, N, N);
    str_printf(&s, "kernel main%s warps %d persistent 1 facts(expanded, staged, synced) {\n",
               n > 1 ? arena_printf(f->arena, " grid(w: %d within)", n) : "", 1 + 4 * n + p->through_ring);
    write_ring(&s, "a", n, "bf16", p->stages_a, rows, p->step);
    write_ring(&s, "b", 1, "bf16", p->stages_b, p->step, N);
    if (p->through_ring)
        write_ring(&s, "d", n, "fp32", 1, rows, N);
    str_add(&s, "roles {\n");
    write_producer(&s, p);
    write_consumer(&s, p);
    if (p->through_ring)
        write_writer(&s, p);
    str_add(&s, "}\n}\n");
    return str_text(&s);
}

/* ---- running it ---------------------------------------------------------------------- */

static Diags *diags;

static TileProgram *parse(Fixture *f, const char *text)
{
    Source *source = arena_new_of(f->arena, Source);
    *source = (Source){"drawn.tile", text, strlen(text)};
    diags = diags_new(f->arena, source);
    return tile_parse(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), source, diags);
}

static double a_at(int i, int j)
{
    return (i * 5 + j * 3) % 7 - 3;
}

static double b_at(int i, int j)
{
    return (i * 2 + j * 7) % 5 - 2;
}

static double product_at(int i, int j)
{
    double sum = 0;
    for (int k = 0; k < N; k++)
        sum += a_at(i, k) * b_at(k, j);
    return sum;
}

static void make_tensors(Fixture *f, Tensor **tensors)
{
    const char *error = NULL;
    int64_t dims[] = {N, N};
    for (int i = 0; i < 3; i++)
        tensors[i] = tensor_new(f->arena, "t", i == 2 ? DT_F32 : DT_BF16, 2, dims, &error);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            dtype_store(DT_BF16, (char *)tensors[0]->data + 2 * (i * N + j), a_at(i, j));
            dtype_store(DT_BF16, (char *)tensors[1]->data + 2 * (i * N + j), b_at(i, j));
        }
    tensor_poison(tensors[2]);
}

static bool run(Fixture *f, const TileProgram *p, uint64_t seed, const char **error, Tensor **tensors)
{
    make_tensors(f, tensors);
    TileRun r = {.tensors = tensors, .seed = seed};
    return tile_run(f->arena, p, &r, error);
}

static void check_product(Fixture *f, const TileProgram *p, const char *text)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        Tensor *tensors[3];
        const char *error = NULL;
        if (!run(f, p, seed, &error, tensors))
            fail_msg("%s\n%s", text, error);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++)
                if (tensor_get(tensors[2], (int64_t[]){i, j}) != product_at((int)i, (int)j))
                    fail_msg("%s\nelement %d, %d is wrong", text, (int)i, (int)j);
    }
}

static const char *print(Fixture *f, const TileProgram *p)
{
    Str s = str_new(f->arena);
    tile_print(&s, p);
    return str_text(&s);
}

static TileProgram *parse_good(Fixture *f, const char *text)
{
    TileProgram *p = parse(f, text);
    if (p && tile_verify(p, diags))
        return p;
    diags_print(diags, stderr, false);
    fail_msg("%s", text);
    return NULL;
}

static void drawn_kernels_multiply(void **state)
{
    Fixture *f = *state;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        Pipeline p = draw(seed);
        const char *text = write(f, &p);
        check_product(f, parse_good(f, text), text);
    }
}

static void drawn_kernels_read_back(void **state)
{
    Fixture *f = *state;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        Pipeline p = draw(seed);
        TileProgram *program = parse_good(f, write(f, &p));
        const char *once = print(f, program);
        assert_string_equal(print(f, parse_good(f, once)), once);
        assert_string_equal(print(f, tile_clone(f->arena, program)), once);
    }
}

/* ---- with a step missing -------------------------------------------------------------- */

static bool is_step(const char *line)
{
    static const char *const steps[] = {"acquire", "copy_async", "filled", "release", "put", "take_turn", "give_turn", "%s.3 = finish"};
    line += *line == ' ';
    for (size_t i = 0; i < TW_COUNT(steps); i++)
        if (strncmp(line, steps[i], strlen(steps[i])) == 0)
            return true;
    return false;
}

static const char *after(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Refused before it runs, or stopped whatever the schedule: never a wrong product. */
static void check_refused(Fixture *f, const char *text, const char *step)
{
    TileProgram *p = parse(f, text);
    if (!p || !tile_verify(p, diags))
        return;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        Tensor *tensors[3];
        const char *error = NULL;
        if (run(f, p, seed, &error, tensors))
            fail_msg("%s\nruns without %.*s", text, (int)(after(step) - step - 1), step);
    }
}

static void every_step_is_needed(void **state)
{
    Fixture *f = *state;
    int steps = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS / 3; seed++) {
        Pipeline p = draw(seed);
        const char *text = write(f, &p);
        for (const char *line = text; *line; line = after(line)) {
            if (!is_step(line))
                continue;
            check_refused(f, arena_printf(f->arena, "%.*s%s", (int)(line - text), text, after(line)), line);
            steps++;
        }
    }
    assert_true(steps > PROGRAMS);
}

/* ---- bad text ---------------------------------------------------------------------------- */

static void noise_does_no_harm(void **state)
{
    Fixture *f = *state;
    Rng rng = {3};
    for (uint64_t round = 1; round <= 400; round++) {
        Pipeline p = draw(round % 20);
        char *text = arena_strdup(f->arena, write(f, &p));
        int n = (int)strlen(text);
        for (int k = rng_below(&rng, 3); k >= 0; k--) {
            int from = rng_below(&rng, n), to = rng_below(&rng, n), many = rng_below(&rng, 12);
            if (rng_below(&rng, 2) || from + many > n || to + many > n)
                text[to] = (char)(32 + rng_below(&rng, 95));
            else
                memmove(text + to, text + from, (size_t)many);
        }
        TileProgram *program = parse(f, text);
        if (program && tile_verify(program, diags)) {
            const char *once = print(f, program);
            assert_string_equal(print(f, parse_good(f, once)), once);
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(drawn_kernels_multiply),
        TEST(drawn_kernels_read_back),
        TEST(every_step_is_needed),
        TEST(noise_does_no_harm),
    };
    return cmocka_run_group_tests_name("tile_random", tests, NULL, NULL);
}
