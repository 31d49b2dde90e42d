/* test_schedule.c: schedule parameters: every value at every level, what is decided
 * without one, and what cannot be obeyed.
 */
#include "fixture.h"
#include "levels.h"
#include "pass/explain.h"

#include <cmocka.h>

#include "texts.h"

/* An attention of two warpgroups, with one more setting. */
static LevelReport run_op(Arena *arena, const char *op, const char *setting, const char *target, FillKind fill)
{
    LevelCase c = {.definition = source_at(arena, op)->text, .dtype = DT_BF16, .fill = fill, .seed = 3, .target = target};
    static const char *const sets[] = {"HeadDim=64", "q_heads=1", "kv_heads=1", "BM=128", "BN=64", "warps=8", "stages=2"};

    for (size_t i = 0; i < TW_COUNT(sets); i++)
        c.sets[c.n_sets++] = sets[i];
    c.sets[c.n_sets++] = setting;
    levels_bind(&c, "batch", 1);
    levels_bind(&c, "q_len", 70);
    levels_bind(&c, "kv_len", 150);
    return levels_run(arena, &c);
}

static LevelReport run_with(Arena *arena, const char *setting, const char *target, FillKind fill)
{
    return run_op(arena, "ops/attention.tl", setting, target, fill);
}

static const char *assignment(Arena *arena, SchedValue value)
{
    return arena_printf(arena, "%s=%s", sched_info(sched_of(value))->name, sched_value_info(value)->name);
}

static void every_value_computes_the_same(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    for (int v = SCHED_AUTO + 1; v < SCHED_VALUES; v++) {
        const char *setting = assignment(arena, (SchedValue)v);
        const char *op = v == SCHED_SOFTMAX_BOUNDED ? "ops/softcap.tl" : sched_of((SchedValue)v) == SCHED_ENDS ? "ops/documents.tl" : "ops/attention.tl";
        LevelReport report = run_op(arena, op, setting, "sm_90a", v % 2 ? FILL_NORMAL : FILL_GROWING);

        if (report.verdict != LEVELS_AGREE)
            fail_msg("%s: %s: %s\n%s", setting, report.level, report.problem, str_text(&report.log));
    }
}

/* A value that a target has no way to run with is refused, others agree. */
static void what_is_not_possible_is_refused(void **state)
{
    static const char *const refused[] = {"softmax=checked", "softmax=bounded", "roles=on", "skew=on", "unroll=2", "wait=one"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(refused); i++)
        assert_int_equal(run_with(arena, refused[i], "sm_80", FILL_NORMAL).verdict, LEVELS_REJECTED);
    assert_int_equal(run_with(arena, "softmax=exact", "sm_80", FILL_NORMAL).verdict, LEVELS_AGREE);
    assert_int_equal(run_with(arena, "sums=exact", "sm_80", FILL_LARGE).verdict, LEVELS_AGREE);
}

/* ---- what is decided -------------------------------------------------------------------- */

static Chain *compile(Fixture *f, const char *path, const char *target, const char *setting)
{
    const char *error;
    Source *source = source_read(f->arena, path, &error);
    Diags *diags = diags_new(f->arena, source);
    Chain *chain = chain_new(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), diags, target_find(target), DT_BF16);

    assert_null(setting ? chain_set(chain, setting) : NULL);
    if (strstr(path, "attention"))
        assert_null(chain_set(chain, "HeadDim=64"));
    if (chain_define(chain, source) && chain_fuse(chain) && chain_reason(chain, chain->sketch) &&
        chain_lower(chain, chain->code) && chain_schedule(chain))
        chain_emit(chain);
    return chain;
}

static void expect_decided(Fixture *f, const char *target, const char *setting, SchedValue value)
{
    Chain *chain = compile(f, "ops/attention.tl", target, setting);

    assert_int_equal(chain->diags->errors, 0);
    assert_int_equal(chain->tile->kernels.data[0]->decided.value[sched_of(value)], value);
}

static void decisions_are_recorded(void **state)
{
    Fixture *f = *state;

    expect_decided(f, "sm_90a", NULL, SCHED_SOFTMAX_CHECKED);
    expect_decided(f, "sm_90a", "roles=off", SCHED_SOFTMAX_LAGGING);
    expect_decided(f, "sm_90a", "softmax=exact", SCHED_SOFTMAX_EXACT);
    expect_decided(f, "sm_90a", NULL, SCHED_SKEW_ON);
    expect_decided(f, "sm_90a", "skew=off", SCHED_SKEW_OFF);
    expect_decided(f, "sm_80", NULL, SCHED_ROLES_OFF);
}

/* The schedule that the reasoner writes is what the code then says. */
static void code_carries_it(void **state)
{
    Fixture *f = *state;
    Chain *chain = compile(f, "ops/attention.tl", "sm_90a", "unroll=2");

    assert_non_null(strstr(chain->code->text, "    unroll = 2\n"));
    chain = compile(f, "ops/attention.tl", "sm_90a", "softmax=lagging");
    assert_non_null(strstr(chain->code->text, "    softmax = lagging\n"));
    for (int i = 0; i < chain->reasoned->why.len; i++)
        if (strcmp(chain->reasoned->why.data[i].name, "softmax") == 0)
            return;
    fail_msg("softmax is not explained");
}

static void without_effect_is_refused(void **state)
{
    Chain *chain = compile(*state, "ops/gemm.tl", "sm_80", "softmax=exact");

    assert_int_equal(chain->diags->errors, 1);
    assert_int_equal(chain->diags->list.data[0].code, TW0779);
}

static void unknown_ones_list_what_there_is(void **state)
{
    Fixture *f = *state;
    Chain *chain = chain_new(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), diags_new(f->arena, NULL),
                             target_find("sm_80"), DT_BF16);
    const char *error = chain_set(chain, "softmax=fast");

    assert_non_null(error);
    assert_non_null(strstr(error, "exact, lagging, bounded or checked"));
    error = chain_set(chain, "sofmax=exact");
    assert_non_null(error);
    assert_non_null(strstr(error, "softmax (exact, lagging, bounded or checked)"));
    assert_null(chain_set(chain, "softmax=auto"));
    assert_int_equal(chain->schedule.value[SCHED_SOFTMAX], SCHED_AUTO);
}

/* ---- what the passes chose --------------------------------------------------------------- */

static const Why *row_of(const WhyList *list, const char *name)
{
    for (int i = 0; i < list->len; i++)
        if (strcmp(list->data[i].name, name) == 0)
            return &list->data[i];
    fail_msg("%s is not explained", name);
    return NULL;
}

static WhyList explained(Fixture *f, const char *path, const char *target, const char *setting)
{
    Chain *chain = compile(f, path, target, setting);
    const TileKernel *kernel = chain->tile->kernels.data[0];
    WhyList list = {0};

    assert_int_equal(chain->diags->errors, 0);
    pass_explain(chain->tile, kernel, chain->target, &list);
    for (int i = 0; i < SCHED_COUNT; i++) /* whatever was decided, with a reason */
        if (kernel->decided.value[i] != SCHED_AUTO) {
            const Why *row = row_of(&list, sched_info((SchedId)i)->name);

            assert_string_equal(row->value, sched_value_info(kernel->decided.value[i])->name);
            assert_non_null(strstr(row->why, ": "));
        }
    return list;
}

static void choices_of_passes_are_explained(void **state)
{
    Fixture *f = *state;
    WhyList hopper = explained(f, "ops/attention.tl", "sm_90a", NULL);
    WhyList ampere = explained(f, "ops/attention.tl", "sm_80", NULL);
    WhyList asked = explained(f, "ops/attention.tl", "sm_90a", "last=full");
    WhyList norm = explained(f, "ops/rmsnorm.tl", "sm_90a", NULL);

    assert_string_equal(row_of(&hopper, "shared K")->value, "4 x 64 x 64 bf16");
    assert_non_null(strstr(row_of(&hopper, "shared K")->why, "mbarriers"));
    assert_non_null(strstr(row_of(&hopper, "role load")->why, "tensor map"));
    assert_string_equal(row_of(&hopper, "role compute")->value, "4 x 4 warps");
    assert_non_null(strstr(row_of(&hopper, "role compute")->why, "setmaxnreg"));
    assert_non_null(strstr(row_of(&hopper, "product O")->why, "wgmma"));
    assert_string_equal(row_of(&hopper, "persistent")->value, "1");
    assert_non_null(strstr(row_of(&hopper, "order")->why, "the last m first"));
    assert_non_null(strstr(row_of(&hopper, "order")->why, "L2"));
    assert_non_null(strstr(row_of(&ampere, "product O")->why, "of warps; the first operand is in registers"));
    row_of(&ampere, "barriers");
    assert_non_null(strstr(row_of(&asked, "last")->why, "as asked"));
    assert_true(row_of(&norm, "order")->value[0] == 'm');
}

static void what_a_mask_costs_is_explained(void **state)
{
    Fixture *f = *state;
    WhyList list = explained(f, "tests/gen/masked_with_a_number.tl", "sm_80", "D=64");
    bool told = false;

    for (int i = 0; i < list.len; i++)
        told |= strncmp(list.data[i].name, "mask ", 5) == 0 && strstr(list.data[i].why, "all turns are computed");
    assert_true(told);
    list = explained(f, "ops/sliding_window.tl", "sm_80", "HeadDim=64");
    for (int i = 0; i < list.len; i++)
        assert_false(strncmp(list.data[i].name, "mask ", 5) == 0);
}

static void operands_stay_where_they_are_asked_to(void **state)
{
    static const char *const targets[] = {"sm_80", "sm_89", "sm_90a"};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(targets); i++) {
        WhyList shared = explained(f, "ops/attention.tl", targets[i], NULL);
        WhyList held = explained(f, "ops/attention.tl", targets[i], "operands=registers");

        assert_non_null(strstr(row_of(&shared, "product S")->why, "in shared memory"));
        assert_non_null(strstr(row_of(&held, "product S")->why, "in registers"));
        assert_int_equal(run_with(f->arena, "operands=registers", targets[i], FILL_NORMAL).verdict, LEVELS_AGREE);
    }
    assert_int_equal(compile(f, "ops/gemm.tl", "sm_80", "operands=registers")->diags->list.data[0].code, TW0779);
}

/* The manual's table has the words of the compiler's. */
static void the_manual_lists_them(void **state)
{
    const char *manual = source_at(((Fixture *)*state)->arena, "docs/language.md")->text;
    Arena *arena = ((Fixture *)*state)->arena;

    for (int v = SCHED_AUTO + 1; v < SCHED_VALUES; v++) {
        const SchedInfo *p = sched_info(sched_of((SchedValue)v)), *value = sched_value_info((SchedValue)v);

        if (!strstr(manual, arena_printf(arena, "| `%s` | %s |", p->name, p->help)) ||
            !strstr(manual, arena_printf(arena, "`%s`: %s", value->name, value->help)))
            fail_msg("docs/language.md does not say %s = %s", p->name, value->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_value_computes_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_possible_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(decisions_are_recorded, setup, teardown),
        cmocka_unit_test_setup_teardown(choices_of_passes_are_explained, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_mask_costs_is_explained, setup, teardown),
        cmocka_unit_test_setup_teardown(operands_stay_where_they_are_asked_to, setup, teardown),
        cmocka_unit_test_setup_teardown(code_carries_it, setup, teardown),
        cmocka_unit_test_setup_teardown(without_effect_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_manual_lists_them, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_ones_list_what_there_is, setup, teardown),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
