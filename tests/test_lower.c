/* test_lower.c: what people and models write in code, from its text to PTX.
 *
 * tests/lower/NAME.tl is code and NAME.def.tl, beside it, what it should compute;
 * small sizes replace its own, and every level from tile IR to the emulated PTX
 * must agree with the definition.
 */
#include "levels.h"

#include "check/check.h"
#include "lower/lower.h"

#include <stdlib.h>

#include <cmocka.h>

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
} Fixture;

static Fixture fixture; /* one test at a time */

static int setup(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    if (setjmp(fixture.oom))
        return -1;
    fixture.heap.on_oom = &fixture.oom;
    fixture.arena = arena_new(&fixture.heap);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    arena_free(f->arena);
    return f->heap.live ? -1 : 0;
}

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
static void agrees(Fixture *f, const char *name, const char *sizes, uint64_t seed)
{
    LevelCase c = {.definition = text_of(f->arena, name, ".def.tl"), .code = text_of(f->arena, name, ".tl"),
                   .dtype = DT_BF16, .fill = FILL_NORMAL, .seed = seed};
    set_sizes(f->arena, &c, sizes);
    LevelReport r = levels_run(f->arena, &c);

    if (r.verdict != LEVELS_AGREE)
        fail_msg("%s %s: %s: %s\n%s", name, sizes, r.level, r.problem, str_text(&r.log));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_window_and_sink, setup, teardown),
        cmocka_unit_test_setup_teardown(test_norm_before_two_products, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scores_computed_transposed, setup, teardown),
    };

    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
