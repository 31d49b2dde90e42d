/* test_rank.c: the reasoner's best choices in words: each, forced, is what is compiled.
 */
#include "chain/chain.h"
#include "fixture.h"

#include <cmocka.h>

enum { MOST = 10 };

static Chain *start(Arena *arena, const char *path, const char *target, const char *const *sets)
{
    const char *error;
    Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    Diags *diags = diags_new(arena, source);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags, target_find(target), DT_BF16);

    for (; *sets; sets++)
        assert_null(chain_set(chain, *sets));
    assert_true(chain_define(chain, source));
    return chain;
}

/* The words of settings, set one by one. */
static void set_all(Arena *arena, Chain *chain, const char *settings)
{
    for (const char *at = settings; *at;) {
        size_t len = strcspn(at, " ");

        assert_null(chain_set(chain, arena_strndup(arena, at, len)));
        at += len + strspn(at + len, " ");
    }
}

static bool compiles(Arena *arena, const char *path, const char *target, const char *const *sets, const char *const *binds,
                     const char *settings)
{
    Chain *chain = start(arena, path, target, sets);

    set_all(arena, chain, settings);
    for (; *binds; binds++)
        assert_null(chain_run_with(chain, *binds));
    return chain_fuse(chain) && chain_reason(chain, chain->sketch) && chain_lower(chain, chain->code) &&
           chain_schedule(chain) && chain_emit(chain);
}

static ReasonRanking rank(Arena *arena, const char *path, const char *target, const char *const *sets, const char *const *binds)
{
    Chain *chain = start(arena, path, target, sets);
    ReasonRanking ranking;

    for (; *binds; binds++)
        assert_null(chain_run_with(chain, *binds));
    assert_true(chain_fuse(chain));
    chain_rank(chain, MOST, &ranking);
    return ranking;
}

static void expect_choices(Arena *arena, const char *path, const char *target, const char *const *sets, const char *const *binds,
                           int least)
{
    ReasonRanking ranking = rank(arena, path, target, sets, binds);
    int compiled = 0;

    if (ranking.list.len < least || ranking.list.len > MOST)
        fail_msg("%s: %d choices", path, ranking.list.len);
    for (int i = 0; i < ranking.list.len; i++) {
        const ReasonRanked *r = &ranking.list.data[i];

        compiled += compiles(arena, path, target, sets, binds, r->settings);
        assert_true(i == 0 || r->cost >= r[-1].cost);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(r->settings, ranking.list.data[k].settings);
    }
    if (compiled < ranking.list.len * 3 / 4)
        fail_msg("%s: only %d of %d choices compile", path, compiled, ranking.list.len);
}

static void choices_compile(void **state)
{
    static const char *const heads[] = {"HeadDim=64", "q_heads=2", "kv_heads=2", NULL}, *none[] = {NULL};
    static const char *const lengths[] = {"batch=4", "q_len=4096", "kv_len=4096", NULL};
    static const char *const sizes[] = {"M=4096", "N=4096", "K=4096", NULL};
    static const char *const rows[] = {"M=8192", "N=4096", NULL};
    Arena *arena = ((Fixture *)*state)->arena;

    expect_choices(arena, "ops/attention.tl", "sm_90a", heads, lengths, 6);
    expect_choices(arena, "ops/attention.tl", "sm_80", heads, lengths, 6);
    expect_choices(arena, "ops/gemm.tl", "sm_90a", none, sizes, 6);
    expect_choices(arena, "ops/row_softmax.tl", "sm_80", none, rows, 3);
}

/* Of several kernels the dearest is meant, by name; what is forced there does not touch others. */
static void one_of_several_kernels_is_named(void **state)
{
    static const char *const sets[] = {"HeadDim=64", "q_heads=1", "kv_heads=1", "splits=4", NULL};
    static const char *const binds[] = {"batch=1", "q_len=64", "kv_len=8192", NULL};
    Arena *arena = ((Fixture *)*state)->arena;
    ReasonRanking ranking = rank(arena, "ops/attention.tl", "sm_80", sets, binds);

    assert_true(ranking.list.len > 3);
    assert_non_null(strchr(ranking.list.data[0].settings, '.'));
    expect_choices(arena, "ops/attention.tl", "sm_80", sets, binds, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(choices_compile, setup, teardown),
        cmocka_unit_test_setup_teardown(one_of_several_kernels_is_named, setup, teardown),
    };

    return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
