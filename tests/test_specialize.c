/* test_specialize.c: kernels that are divided among warpgroups with roles, at every level:
 * tile IR after each pass, PTX in the emulator, both entries, several schedules.
 */
#include "agree.h"
#include "fixture.h"

#include <cmocka.h>

#include "texts.h"

static void add_settings(Arena *arena, LevelCase *c, const char *sets, const char *binds)
{
    Settings settings = {0};

    for (const char *w = sets; *w;) {
        size_t n = strcspn(w, " ");

        assert_true(c->n_sets < LEVEL_SETS);
        c->sets[c->n_sets++] = arena_strndup(arena, w, n);
        w += n + strspn(w + n, " ");
    }
    for (const char *w = binds; *w;) {
        size_t n = strcspn(w, " ");

        assert_null(settings_add(arena, &settings, arena_strndup(arena, w, n)));
        w += n + strspn(w + n, " ");
    }
    for (int i = 0; i < settings.list.len; i++)
        levels_bind(c, settings.list.data[i].name, settings.list.data[i].value);
}

static void check_case(Arena *arena, LevelCase *c, const char *sets, const char *binds)
{
    add_settings(arena, c, sets, binds);
    expect_agreement(arena, c);
}

static void check_op(Arena *arena, const char *path, DType dtype, const char *sets, const char *binds)
{
    LevelCase c = {.definition = source_at(arena, path)->text, .dtype = dtype, .fill = FILL_NORMAL, .seed = 11, .target = "sm_90a"};

    check_case(arena, &c, sets, binds);
}

static void check_data(Arena *arena, const char *path, FillKind fill, const char *sets, const char *binds)
{
    LevelCase c = {.definition = source_at(arena, path)->text, .dtype = DT_BF16, .fill = fill, .seed = 12, .target = "sm_90a"};

    check_case(arena, &c, sets, binds);
}

/* One to four warpgroups, of as many rows. */
static void attention_of_any_groups(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    for (int groups = 1; groups <= 4; groups++)
        check_op(arena, "ops/attention.tl", groups % 2 ? DT_BF16 : DT_F16,
                 arena_printf(arena, "HeadDim=64 q_heads=2 kv_heads=1 BM=%d BN=64 warps=%d stages=2", 64 * groups, 4 * groups),
                 "batch=1 q_len=150 kv_len=170");
}

static void attention_of_any_length(void **state)
{
    static const int lengths[][2] = {{1, 1}, {1, 200}, {130, 0}, {64, 64}, {65, 63}, {200, 5}, {5, 200}, {0, 7}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(lengths); i++)
        check_op(arena, "ops/attention.tl", DT_BF16,
                 i % 2 ? "HeadDim=64 q_heads=2 kv_heads=2 BM=128 BN=64 warps=8 stages=3"
                       : "HeadDim=64 q_heads=2 kv_heads=2 causal=0 BM=128 BN=64 warps=8 stages=2",
                 arena_printf(arena, "batch=1 q_len=%d kv_len=%d", lengths[i][0], lengths[i][1]));
}

/* Narrower swizzles, more than a panel, keys and values of unequal dimensions. */
static void attention_of_any_dimension(void **state)
{
    static const char *const sets[] = {
        "HeadDim=32 q_heads=1 kv_heads=1 BM=64 BN=32 warps=4",  "HeadDim=80 q_heads=1 kv_heads=1 BM=128 BN=64 warps=8",
        "HeadDim=96 q_heads=1 kv_heads=1 BM=64 BN=128 warps=4", "HeadDim=192 VDim=128 q_heads=1 kv_heads=1 BM=128 BN=64 warps=8",
        "HeadDim=256 q_heads=1 kv_heads=1 BM=64 BN=64 warps=4",
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(sets); i++)
        check_op(arena, "ops/attention.tl", DT_BF16, sets[i], "batch=1 q_len=70 kv_len=150");
}

/* What the reference of a softmax that is checked after the fact meets. */
static void attention_on_any_data(void **state)
{
    static const FillKind fills[] = {FILL_GROWING, FILL_LARGE, FILL_UNIFORM};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(fills); i++)
        check_data(arena, "ops/attention.tl", fills[i], "HeadDim=64 q_heads=1 kv_heads=1 BM=128 BN=64 warps=8 stages=2",
                   "batch=1 q_len=100 kv_len=300");
}

/* Tanh of numbers all small, all large, and some of each; a sigmoid of both. */
static void functions_by_polynomial(void **state)
{
    static const struct {
        const char *path, *sets;
        FillKind fill;
    } cases[] = {{"ops/softcap.tl", "cap=50", FILL_NORMAL}, {"ops/softcap.tl", "cap=10", FILL_LARGE}, {"ops/softcap.tl", "cap=2", FILL_NORMAL},
                 {"ops/softcap.tl", "cap=60 softmax=checked", FILL_GROWING}, {"ops/sigmoid_attention.tl", "shift=-4", FILL_NORMAL},
                 {"ops/sigmoid_attention.tl", "shift=0", FILL_LARGE}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        check_data(arena, cases[i].path, cases[i].fill,
                   arena_printf(arena, "HeadDim=64 q_heads=1 kv_heads=1 BM=128 BN=64 warps=8 stages=2 %s", cases[i].sets),
                   "batch=1 q_len=100 kv_len=200");
}

/* Bounds of the columns of a row that are kept, one and both, within a tile and beyond it. */
static void masks_by_bounds(void **state)
{
    static const struct {
        const char *path, *sets;
    } cases[] = {
        {"ops/sliding_window.tl", "window=50 BM=128 BN=64 warps=8 stages=2"}, {"ops/sliding_window.tl", "window=200 BM=128 BN=128 warps=8 stages=2"},
        {"ops/sliding_window.tl", "window=1 BM=64 BN=128 warps=4 stages=2"},  {"ops/sliding_window.tl", "window=33 BM=64 BN=256 warps=4 stages=1"},
        {"ops/prefix_lm.tl", "BM=128 BN=128 warps=8 stages=2"},               {"ops/attention.tl", "causal=0 BM=128 BN=128 warps=8 stages=2"},
        {"ops/sinks_window.tl", "window=100 BM=128 BN=128 warps=8 stages=2"}, {"ops/softcap_window.tl", "window=100 BM=128 BN=128 warps=8 stages=2"},
        {"ops/softcap_window.tl", "window=30 cap=2 BM=128 BN=64 warps=8 stages=2"},
    };
    static const int lengths[][2] = {{150, 290}, {257, 257}, {100, 3}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        check_data(arena, cases[i].path, i % 4 == 3 ? FILL_LARGE : FILL_NORMAL, arena_printf(arena, "HeadDim=32 q_heads=1 kv_heads=1 %s", cases[i].sets),
                   arena_printf(arena, "batch=1 q_len=%d kv_len=%d", lengths[i % 3][0], lengths[i % 3][1]));
}

/* What is added to a score depends on its place: on one side of the diagonal or on both, by
 * head, by row, by a number, subtracted or added, with and without a scale and a mask. */
static void scores_by_place(void **state)
{
    static const struct {
        const char *bias, *rest;
        FillKind fill;
    } cases[] = {
        {"Define I (q_len, kv_len) as abs(q_pos - kv_pos)\n  Compute Multiply Slopes, I and get B\n  Compute Subtract S, B and get new S",
         "Compute Mask S where kv_pos <= q_pos", FILL_NORMAL},
        {"Define I (q_len, kv_len) as abs(q_pos - kv_pos)\n  Compute Multiply Slopes, I and get B\n  Compute Subtract S, B and get new S", "", FILL_NORMAL},
        {"Define I (q_len, kv_len) as kv_pos - q_pos\n  Compute Multiply I, 0.125 and get B\n  Compute Add S, B and get new S",
         "Compute Mask S where kv_pos <= q_pos and q_pos - kv_pos < 70", FILL_LARGE},
        {"Define I (q_len, kv_len) as max(q_pos, kv_pos)\n  Compute Multiply I, Rows and get B\n  Compute Add S, B and get new S",
         "Compute Mask S where q_pos <= kv_pos", FILL_NORMAL},
        {"Define I (q_len, kv_len) as min(q_pos - kv_pos, 40)\n  Compute Multiply I, Slopes and get B\n  Compute Subtract S, B and get new S",
         "Compute Mask S where kv_pos <= q_pos", FILL_GROWING},
        {"Define I (q_len, kv_len) as max(q_pos, kv_pos)\n  Compute Add S, I and get new S", "", FILL_NORMAL},
        {"Define I (q_len, kv_len) as abs(q_pos - kv_pos) mod 7\n  Compute Multiply I, I and get I2\n  Compute Multiply I2, Slopes and get B\n"
         "  Compute Subtract S, B and get new S", "Compute Mask S where kv_pos <= q_pos", FILL_GROWING},
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *text = arena_printf(arena,
                                        "Operator biased\n  Input Q (h, q_len, 32)\n  Input K (h, kv_len, 32)\n  Input V (h, kv_len, 32)\n"
                                        "  Input %s\n  Output O (h, q_len, 32)\n  Index q_pos over q_len from kv_len - q_len\n"
                                        "  Index kv_pos over kv_len\n  Compute GEMM Q, K.T and get S\n  Compute Multiply S, 0.2 and get new S\n"
                                        "  Compute %s\n  %s\n  Compute Softmax S and get P\n  Compute GEMM P, V and get O\nend\n",
                                        strstr(cases[i].bias, "Slopes") ? "Slopes (h, 1, 1) fp32" : strstr(cases[i].bias, "Rows") ? "Rows (h, q_len, 1) fp32" : "Unused (h, 1, 1) fp32",
                                        cases[i].bias, cases[i].rest);
        LevelCase c = {.definition = text, .dtype = DT_BF16, .fill = cases[i].fill, .seed = 13, .target = "sm_90a"};
        check_case(arena, &c, "BM=128 BN=64 warps=8 stages=2", "h=2 q_len=150 kv_len=190");
    }
}

static Chain *chain_for(Arena *arena, const char *path, const char *sets, const char *target)
{
    const char *error;
    Source *source = source_read(arena, path, &error);
    Diags *diags = diags_new(arena, source);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags, target_find(target), DT_BF16);
    LevelCase c = {0};

    add_settings(arena, &c, sets, "");
    for (int i = 0; i < c.n_sets; i++)
        assert_null(chain_set(chain, c.sets[i]));
    assert_true(chain_define(chain, source) && chain_fuse(chain) && chain_reason(chain, chain->sketch));
    assert_true(chain_lower(chain, chain->code) && chain_schedule(chain));
    return chain;
}

static Chain *chain_of(Arena *arena, const char *path, const char *sets)
{
    return chain_for(arena, path, sets, "sm_90a");
}

static TileProgram *schedule(Arena *arena, const char *path, const char *sets)
{
    return chain_of(arena, path, sets)->tile;
}

/* The tile IR that a kernel ends as. */
static const char *scheduled(Arena *arena, const char *path, const char *sets)
{
    Str text = str_new(arena);

    tile_print(&text, schedule(arena, path, sets));
    return str_text(&text);
}

/* How often a word stands in a text before another does. */
static int count_before(const char *text, const char *word, const char *end)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, word)) && p < end; p++)
        n++;
    return n;
}

/* An element takes two multiply-adds; scores themselves are only for revisions, of which there
 * is none in a first turn. */
static void places_take_a_multiply_add(void **state)
{
    const char *text = scheduled(((Fixture *)*state)->arena, "ops/alibi.tl", "HeadDim=64 q_heads=2 BM=128 BN=64 warps=8 stages=2");
    const char *loop = strstr(text, "= for j"), *end = text + strlen(text);

    assert_non_null(loop);
    assert_int_equal(count_before(text, "= revise", loop), 0);
    assert_int_equal(count_before(text, "fma %Distance", loop), 1);
    assert_int_equal(count_before(text, "subtract", strstr(loop, "= revise")), count_before(text, "subtract", loop));
    assert_int_equal(count_before(loop, "fma %Distance", end), 2);
}

/* Two softmaxes with a product each: a turn's products stand beside the next turn's where there are registers for both. */
static void turns_that_fill_registers_stay(void **state)
{
    static const char *const sets[] = {"D=32", "D=64"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (int i = 0; i < 2; i++)
        assert_int_equal(strstr(scheduled(arena, "tests/gen/difference_of_sums.tl", sets[i]), " = for t = 0:") != NULL, i == 0);
}

/* Instances that see fewer keys than others of their block leave its loop before them. */
static void instances_leave_loops(void **state)
{
    static const struct {
        const char *path, *sets;
    } ops[] = {
        {"ops/attention.tl", "HeadDim=64 BM=256 BN=64 warps=16 stages=2"},
        {"ops/attention.tl", "HeadDim=64 BM=256 BN=32 warps=16 stages=3 skew=off"},
        {"ops/attention.tl", "HeadDim=64 BM=128 BN=32 warps=8 stages=2 unroll=2"},
        {"ops/attention.tl", "HeadDim=64 BM=256 BN=64 warps=16 stages=2 turns=on"},
        {"ops/sliding_window.tl", "HeadDim=64 window=50 BM=192 BN=32 warps=12 stages=2"},
    };
    static const int lengths[][2] = {{256, 256}, {300, 310}, {40, 500}, {500, 200}, {257, 1}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(ops); i++) {
        const char *sets = arena_printf(arena, "%s q_heads=1 kv_heads=1", ops[i].sets);

        assert_non_null(strstr(scheduled(arena, ops[i].path, sets), "# for the others"));
        for (size_t k = 0; k < TW_COUNT(lengths); k++)
            check_op(arena, ops[i].path, DT_BF16, sets, arena_printf(arena, "batch=1 q_len=%d kv_len=%d", lengths[k][0], lengths[k][1]));
    }
    assert_null(strstr(scheduled(arena, "ops/attention.tl", "HeadDim=64 causal=0 BM=256 BN=64 warps=16 stages=2"), "# for the others"));
}

static const char *behind(const char *text, const char *line)
{
    const char *at = text ? strstr(text, line) : NULL;
    return at ? at + strlen(line) : NULL;
}

/* Where there is room for one stage of the queries, the next place's come when these were given back,
 * behind its keys; given back they are where the loop has ended, before the last values come. */
static void attention_with_one_stage_of_queries(void **state)
{
    static const int lengths[][2] = {{300, 170}, {129, 0}, {64, 300}, {1, 1}};
    static const char *const more[] = {"causal=0", "causal=1", "causal=1 skew=off"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(lengths); i++)
        check_op(arena, "ops/attention.tl", DT_BF16,
                 arena_printf(arena, "HeadDim=256 q_heads=2 kv_heads=1 BM=128 BN=64 warps=8 %s", more[i % TW_COUNT(more)]),
                 arena_printf(arena, "batch=1 q_len=%d kv_len=%d", lengths[i][0], lengths[i][1]));
    const char *one = scheduled(arena, "ops/attention.tl", "HeadDim=256 causal=0 BM=128 BN=64 warps=8");
    const char *two = scheduled(arena, "ops/attention.tl", "HeadDim=128 causal=0 BM=128 BN=64 warps=8");
    assert_non_null(behind(behind(behind(behind(one, "acquire %K"), "acquire %Q[0]"), "acquire %Q[1]"), "acquire %K"));
    assert_non_null(behind(behind(behind(behind(one, "= await %Q"), "= await %V"), "release %Q"), "= await %V"));
    assert_null(behind(behind(one, "release %Q"), "acquire %Q"));
    assert_non_null(behind(behind(behind(two, "acquire %Q[0]"), "acquire %Q[1]"), "acquire %K"));
}

/* Instances start their products in turn, also those that leave a loop before others. */
static void instances_take_turns(void **state)
{
    static const char *const sets[] = {"HeadDim=64 causal=0 BM=256 BN=64 warps=16 stages=2", "HeadDim=64 causal=0 BM=128 BN=64 warps=8 stages=2",
                                       "HeadDim=64 BM=256 BN=64 warps=16 stages=2"};
    static const char *const none[] = {"HeadDim=64 causal=0 BM=256 BN=64 warps=16 stages=2 turns=off", "HeadDim=64 causal=0 BM=128 BN=64 warps=8 stages=2 turns=off",
                                       "HeadDim=64 causal=0 BM=256 BN=64 warps=16 stages=2 skew=off"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(none); i++)
        assert_null(strstr(scheduled(arena, "ops/attention.tl", none[i]), "take_turn"));
    for (size_t i = 0; i < TW_COUNT(sets); i++) {
        assert_non_null(strstr(scheduled(arena, "ops/attention.tl", sets[i]), "take_turn"));
        check_op(arena, "ops/attention.tl", DT_BF16, arena_printf(arena, "%s q_heads=2 kv_heads=1", sets[i]), "batch=1 q_len=300 kv_len=150");
        check_op(arena, "ops/attention.tl", DT_F16, arena_printf(arena, "%s q_heads=1 kv_heads=1", sets[i]), "batch=1 q_len=40 kv_len=0");
    }
}

/* Whatever the arithmetic is that they do between their turns. */
static void uneven_instances_take_turns(void **state)
{
    static const char *const ops[] = {"ops/alibi.tl", "ops/sigmoid_attention.tl", "ops/softcap.tl", "ops/attention.tl", "ops/sliding_window.tl"};
    static const char *const sets = "HeadDim=32 q_heads=1 kv_heads=1 BM=256 BN=64 warps=16 stages=2";
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(ops); i++) {
        const char *own = strstr(ops[i], "sigmoid") ? arena_printf(arena, "%s shift=-3", sets) : sets;
        assert_non_null(strstr(scheduled(arena, ops[i], own), "take_turn"));
        check_op(arena, ops[i], DT_BF16, own, "batch=1 q_len=300 kv_len=290");
        check_op(arena, ops[i], DT_BF16, own, "batch=1 q_len=270 kv_len=70");
    }
}

/* Numbers of 16 rows are 64 bytes, but a copy of them begins at a multiple of 128. */
static void rings_of_few_numbers(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    check_op(arena, "ops/attention_backward.tl", DT_BF16, "HeadDim=192 BN=16", "batch=1 heads=2 q_len=70 kv_len=90");
    check_op(arena, "ops/attention_bias.tl", DT_BF16, "HeadDim=64 BN=16", "batch=1 q_heads=2 kv_heads=1 q_len=70 kv_len=90");
}

/* A diagonal leaves half of the last tile to the first of two instances: ragged, with rows
 * that see nothing, and with a tile of queries that is given back behind it. */
static void last_turns_of_half_width(void **state)
{
    static const int lengths[][2] = {{150, 300}, {300, 150}, {70, 449}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(lengths); i++)
        check_op(arena, "ops/attention.tl", i % 2 ? DT_F16 : DT_BF16, i == 2 ? "HeadDim=192 VDim=128 q_heads=1 kv_heads=1 last=half BM=128 BN=128 warps=8"
                                                                            : "HeadDim=64 q_heads=1 kv_heads=1 last=half BM=128 BN=128 warps=8",
                 arena_printf(arena, "batch=1 q_len=%d kv_len=%d", lengths[i][0], lengths[i][1]));
    check_op(arena, "ops/attention.tl", DT_BF16, "HeadDim=128 q_heads=1 kv_heads=1 last=half BM=128 BN=96 warps=8", "batch=1 q_len=150 kv_len=300");
    /* a tile that is used further on is awaited behind either turn */
    check_op(arena, "ops/attention_backward.tl", DT_BF16, "HeadDim=80 BM=64 warps=4", "batch=1 heads=1 q_len=130 kv_len=200");
    check_data(arena, "ops/attention.tl", FILL_GROWING, "HeadDim=64 q_heads=1 kv_heads=1 last=half BM=128 BN=128 warps=8", "batch=1 q_len=256 kv_len=256");
    static const struct { const char *sets; bool half; } chosen[] = {
        {"HeadDim=128 causal=1 last=half", true}, {"HeadDim=128 causal=1 last=full", false},
        {"HeadDim=128 causal=1", true}, {"HeadDim=128 causal=0", false}, {"HeadDim=256 causal=1", false},
        {"HeadDim=192 VDim=128 causal=1", true}, {"HeadDim=160 causal=1 BM=128 BN=128", false}, {"HeadDim=160 causal=1 last=half", true}};
    assert_null(strstr(scheduled(arena, "ops/alibi.tl", "HeadDim=128 causal=1"), "pending fp32<64x64>"));
    for (size_t i = 0; i < TW_COUNT(chosen); i++)
        assert_int_equal(strstr(scheduled(arena, "ops/attention.tl", chosen[i].sets), "pending fp32<64x64>") != NULL
                         && strstr(chosen[i].sets, "256") == NULL, chosen[i].half);
}

/* In the first entry, which is the one for aligned addresses. */
static int count(const char *text, const char *what)
{
    const char *end = strstr(text, "\n}\n");
    int n = 0;
    while ((text = strstr(text, what)) && text < end) n++, text++;
    return n;
}

static const char *ptx_of(Arena *arena, const char *path, const char *sets)
{
    Chain *chain = chain_of(arena, path, sets);
    assert_true(chain_emit(chain));
    return chain->ptx->text;
}

/* Distances of elements are made where they are added: not while their product is awaited, and where a maximum is
 * looked for behind a vote, anew. */
static void indices_are_made_in_place(void **state)
{
    const char *ptx = ptx_of(((Fixture *)*state)->arena, "ops/alibi.tl", "HeadDim=64 causal=0 BM=128 BN=64 warps=8");
    const char *first = strstr(ptx, "abs.f32"), *wait = strstr(ptx, "wgmma.wait_group");
    int distances = count(ptx, "abs.f32");

    assert_true(first && wait && wait < first);
    assert_true(distances % 32 == 0 && distances / 32 >= 3);
}

/* Where V fills a panel, the product by it has eight columns more, which sum the weights'
 * rows: no product besides, and no wait; elsewhere lanes sum them, four at a time, and where sums are more
 * than divisors, one by one before they are rounded. */
static void products_sum_rows(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *joined = ptx_of(arena, "ops/attention.tl", "HeadDim=64 causal=0");
    assert_true(count(joined, "m64n72k16") > 0);
    assert_int_equal(count(joined, "m64n8k16"), 0);
    const char *wide = ptx_of(arena, "ops/attention.tl", "HeadDim=128 causal=0"), *seen = ptx_of(arena, "ops/attention_lse.tl", "HeadDim=64 causal=0");
    assert_int_equal(count(wide, "m64n136k16") + count(wide, "m64n8k16"), 0);
    assert_int_equal(count(seen, "m64n72k16") + count(seen, "m64n8k16"), 0);
    static const char *const folds[] = {"ops/attention.tl", "ops/softcap.tl"};
    for (size_t i = 0; i < TW_COUNT(folds); i++) {
        assert_true(count(ptx_of(arena, folds[i], "HeadDim=128 causal=0"), "fma.rn.bf16x2") > 0);
        assert_int_equal(count(ptx_of(arena, folds[i], "HeadDim=128 causal=0 sums=exact"), "fma.rn.bf16x2"), 0);
    }
    assert_int_equal(count(seen, "fma.rn.bf16x2"), 0);
    const char *both = ptx_of(arena, "ops/attention_lse.tl", "HeadDim=64 causal=0 sums=ones");
    assert_true(count(both, "m64n72k16") > 0);
    const char *by_lanes = ptx_of(arena, "ops/attention.tl", "HeadDim=64 causal=0 sums=rounded");
    assert_int_equal(count(by_lanes, "m64n72k16"), 0);
    assert_true(count(by_lanes, "fma.rn.bf16x2") > 0);
    assert_true(count(ptx_of(arena, "ops/attention_lse.tl", "HeadDim=256 causal=0"), "fma.rn.bf16x2") > 0);
    check_op(arena, "ops/attention_lse.tl", DT_BF16, "HeadDim=64 q_heads=1 kv_heads=1 sums=ones splits=1 BM=128 BN=64 warps=8", "batch=1 q_len=70 kv_len=200");
    check_op(arena, "ops/attention_lse.tl", DT_F16, "HeadDim=80 q_heads=1 kv_heads=1 sums=rounded splits=1 BM=128 BN=64 warps=8", "batch=1 q_len=70 kv_len=200");
}

/* The largest error, over what is allowed, where a key far behind the first ones is four fifths of every row, by a
 * weight that lies halfway between two numbers of its type. */
static double error_of_late_key(Arena *arena, const char *sets)
{
    static const char late[] = "Operator late\n  Input Q (M, 128)\n  Input K (N, 128)\n  Input V (N, 128)\n"
                               "  Output O (M, 128)\n  Index key over N\n\n  Compute GEMM Q, K.T and get S\n"
                               "  Compute Multiply S, 0.0001 and get new S\n  Compute Mask S where key != 299 else 7\n"
                               "  Compute Softmax S and get P\n  Compute GEMM P, V and get O\nend\n";
    LevelCase c = {.definition = late, .dtype = DT_BF16, .seed = 1, .target = "sm_90a"};
    add_settings(arena, &c, sets, "M=128 N=350");
    LevelReport report = levels_run(arena, &c);
    assert_int_equal(report.verdict, LEVELS_AGREE);
    return report.worst;
}

static void roundings_cancel(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    assert_true(error_of_late_key(arena, "sums=rounded splits=1") < 0.8 * error_of_late_key(arena, "sums=exact splits=1"));
}

/* Whether the loop goes on, and whether a maximum is taken first, is voted on at an
 * iteration's start; behind its products there is the vote over the weights alone. */
static void loops_vote_ahead(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *ptx = ptx_of(arena, "ops/attention.tl", "HeadDim=64 causal=0"), *last = ptx;
    for (const char *at = ptx; (at = strstr(at, "m64n72k16")) && at < strstr(ptx, "\n}\n"); at++) last = at;
    const char *loop = last;
    while (loop > ptx && strncmp(loop, "\n$loop", 6) != 0) loop--;
    assert_true(loop > ptx);
    assert_int_equal(count(loop, "vote.sync.any.pred"), 3);
}

/* What takes long to work out of a place, such as heads by division, the copier does for all,
 * and it draws the next place ahead of the last tile that it waits with. */
static void places_are_told(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *ptx = ptx_of(arena, "ops/attention.tl", "HeadDim=128 causal=1"), *end = strstr(ptx, "\n}\n"), *drawn = strstr(ptx, "atom.global.inc");
    const char *computing = strstr(ptx, "setmaxnreg.inc"), *last = drawn;
    assert_true(drawn && computing && drawn < computing && computing < end);
    const char *divided = strstr(computing, "div.u32");
    assert_true(!divided || divided > end);
    for (const char *at = drawn; (at = strstr(at, "cp.async.bulk.tensor")) && at < computing; at++) last = at;
    assert_true(last > drawn);
}

/* Where blocks are of different lengths, what is made of a row's sum is made while the last
 * product is under way. */
static void sums_end_beside_products(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *causal = scheduled(arena, "ops/attention.tl", "HeadDim=128 causal=1"), *last = NULL;
    for (const char *at = causal; (at = strstr(at, "= issue ")); at++) last = at;
    const char *divided = strstr(last, "divide"), *finished = strstr(last, "finish");
    assert_true(divided && finished && divided < finished);
}

/* Scores are on their way before the last turn's weights meet V, so that arithmetic begins beside that product:
 * those of queries that stay in registers, and those that two products add up to, as well. */
static void scores_come_first(void **state)
{
    static const struct {
        const char *path, *sets;
    } cases[] = {{"ops/attention.tl", "HeadDim=128"}, {"ops/qk_norm_attention.tl", "HeadDim=128"}, {"ops/rotary_attention.tl", "Half=64 apart=1"}};
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *text = scheduled(arena, cases[i].path, cases[i].sets), *loop = NULL;
        for (const char *at = text; (at = strstr(at, " carry (")); at++) loop = at;
        assert_non_null(loop);
        const char *finished = strstr(loop, "= finish ");
        assert_non_null(finished);
        if (strncmp(strstr(finished, "leaving"), "leaving 1", 9) != 0) fail_msg("%s: %.80s", cases[i].path, finished);
    }
}

/* What lanes decide by themselves takes registers that the warp has as a whole from all that
 * comes behind: so lanes meet again where they stored, before the role's next place. Bulk
 * copies store for all, and nobody parts. */
static void lanes_meet_again(void **state)
{
    static const char *const by_lanes[] = {"ops/attention_lse.tl", "ops/attention.tl"};
    static const char *const sets[] = {"HeadDim=64 causal=1", "HeadDim=256 causal=1"};
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(sets); i++) {
        const char *ptx = ptx_of(arena, by_lanes[i], sets[i]), *end = strstr(ptx, "\n}\n"), *stored = NULL;
        for (const char *at = ptx; (at = strstr(at, "st.global")) && at < end; at++) stored = at;
        assert_non_null(stored);
        const char *met = strstr(stored, "bar.warp.sync -1;"), *next = strstr(stored, "bra.uni $place");
        assert_true(met && next && met < next && next < end);
    }
    assert_int_equal(count(ptx_of(arena, "ops/attention.tl", "HeadDim=64 causal=1"), "bar.warp.sync"), 0);
}

/* Where a thread has few registers, what only an output wants is loaded behind the loop; elsewhere
 * with all else. */
static void few_registers_are_kept_free(void **state)
{
    static const char *const sets[] = {"HeadDim=128 BM=128 BN=32 warps=8 blocks_per_sm=2", "HeadDim=128 BM=128 BN=64 warps=4 blocks_per_sm=2"};
    Arena *arena = ((Fixture *)*state)->arena;
    for (int i = 0; i < 2; i++) {
        Chain *chain = chain_for(arena, "ops/attention.tl", sets[i], "sm_80");
        assert_true(chain_emit(chain));
        const char *ptx = chain->ptx->text, *loop = strstr(ptx, "\n$loop"), *output = strstr(ptx, "[arg3]");
        assert_true(loop && output);
        assert_int_equal(output > loop, i == 0);
    }
}

static int64_t *dim_value(const TileProgram *program, int64_t *values, const char *name)
{
    for (int i = 0; i < program->dims.len; i++)
        if (strcmp(program->dims.data[i]->name, name) == 0)
            return &values[program->dims.data[i]->id];
    fail_msg("there is no %s", name);
    return NULL;
}

/* Heads are taken in groups that divide them, of as many as the L2 cache holds keys and
 * values for: so many places of equal weight follow one another. */
static void places_go_in_groups(void **state)
{
    static const struct {
        int heads, kv_len, group;
    } cases[] = {{32, 512, 32}, {6, 512, 6}, {32, 4096, 16}, {32, 8192, 8}, {32, 16384, 4}, {32, 32768, 2},
                 {32, 65536, 1}, {50, 8192, 2}, {36, 8192, 4}, {31, 8192, 1}, {7, 8192, 7}};
    static const struct {
        const char *path, *sets, *length;
        int unit;
    } ops[] = {{"ops/attention.tl", "", "kv_len", 1}, {"ops/attention_paged.tl", " page=16", "most", 16}}; /* tiles that are looked up as well */
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t k = 0; k < TW_COUNT(ops); k++) {
        TileProgram *program = schedule(arena, ops[k].path, arena_printf(arena, "HeadDim=64 BM=256 BN=64 warps=16%s", ops[k].sets));
        const TileKernel *kernel = program->kernels.data[0];
        int64_t *values = arena_array(arena, int64_t, aff_sym_count(program->aff)), group, groups;

        assert_string_equal(kernel->grid.data[1].sym->name, "h_in");
        assert_string_equal(kernel->grid.data[3].sym->name, "h_out");
        for (size_t i = 0; i < TW_COUNT(cases); i++) {
            *dim_value(program, values, "q_heads") = cases[i].heads;
            *dim_value(program, values, ops[k].length) = cases[i].kv_len / ops[k].unit;
            assert_true(aff_eval(kernel->grid.data[1].extent, values, &group) && aff_eval(kernel->grid.data[3].extent, values, &groups));
            assert_int_equal(group, cases[i].group);
            assert_int_equal(group * groups, cases[i].heads);
        }
    }
}

/* Roles are told of more coordinates than most grids have. */
static void grids_of_many_axes(void **state)
{
    static const char code[] =
        "Kernel many\n"
        "  Input  Q (batch, len, D) bf16\n"
        "  Input  K (batch, kv_len, D) bf16\n"
        "  Input  V (batch, kv_len, D) bf16\n"
        "  Output O (batch, len, D) bf16\n"
        "  D = 64\n"
        "  BM = 64\n"
        "  BN = 32\n"
        "  Grid m = ceil(len / BM), a = 2, b = 1, c = 1, d = 2, e = 1, f = 1, g = 1, h = 1, i = 3\n"
        "  Allocate Q in shared (BM, D) bf16\n"
        "  Allocate K in shared (BN, D) bf16\n"
        "  Allocate V in shared (BN, D) bf16\n"
        "  Allocate S in register (BM, BN) fp32\n"
        "  Allocate Smax in register (BM, 1) fp32\n"
        "  Allocate Ssum in register (BM, 1) fp32\n"
        "  Allocate O in register (BM, D) fp32\n"
        "  at = (a + 2 * (b + c + d + e + f + g + h)) * 3 + i\n"
        "  Copy Q (BM, D) in coordinate [batch = at, len = m] from global to shared\n"
        "  for j = 0:ceil(kv_len / BN)\n"
        "    Copy K (BN, D) in coordinate [batch = at, kv_len = j] from global to shared\n"
        "    Copy V (BN, D) in coordinate [batch = at, kv_len = j] from global to shared\n"
        "    Compute GEMM Q, K.T and get S\n"
        "    Compute Mask S where j * BN + col(S) < kv_len\n"
        "    Compute Softmax S with Smax and Ssum\n"
        "    Reshape S from MMA_C to MMA_A\n"
        "    Compute GEMM S, V and accumulate O\n"
        "  end\n"
        "  Compute Divide O, Ssum else 0 and get new O\n"
        "  Copy O (BM, D) in coordinate [batch = at, len = m] from register to global\n"
        "  Schedule sm_90a\n"
        "    warps = 4\n"
        "    stages = 2\n"
        "  end\n"
        "end\n";
    LevelCase c = {.code = code, .dtype = DT_BF16, .fill = FILL_NORMAL, .seed = 13, .target = "sm_90a"};

    check_case(((Fixture *)*state)->arena, &c, "", "batch=12 len=70 kv_len=40");
}

static void products(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    check_op(arena, "ops/gemm.tl", DT_BF16, "BM=128 BN=256 BK=64 warps=8 stages=4", "M=150 N=300 K=200");
    check_op(arena, "ops/gemm.tl", DT_F16, "BM=64 BN=64 BK=32 warps=4 stages=2", "M=65 N=40 K=24");
    check_op(arena, "ops/gemm_bias.tl", DT_BF16, "BM=128 BN=128 BK=64 warps=8 stages=3", "M=130 N=144 K=64");
    check_op(arena, "ops/gemm.tl", DT_BF16, "BM=192 BN=64 BK=64 warps=12 stages=3", "M=200 N=64 K=0");
}

/* What a loop gives back behind it is the last tile that it awaited, not that of its first turn, which
 * stands before it: a block's next place has come to lie there. */
static void tiles_of_first_turns_are_given_back(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    check_op(arena, "ops/swiglu.tl", DT_BF16, "F=128 K=192 BM=128 BN=64 BK=64 warps=8 stages=4", "M=300");
    check_op(arena, "ops/swiglu.tl", DT_BF16, "F=128 K=64 BM=128 BN=64 BK=64 warps=8 stages=2", "M=300");
    /* nor is one kept past a loop that gives back older ones */
    check_op(arena, "ops/gated_mlp.tl", DT_BF16, "K=128 F=256 N=128", "M=300");
    check_op(arena, "ops/chunked_linear_attention.tl", DT_BF16, "chunk=64 HeadDim=256", "heads=2 chunks=2");
    /* and who leaves a loop early waits for nothing else until the others' turns have passed */
    check_op(arena, "ops/chunked_linear_attention.tl", DT_BF16, "chunk=112 HeadDim=72 BM=128 BN=128 stages=1", "heads=2 chunks=2");
}

/* A tile of the next turn is awaited before that of the last is given back, so there are two stages of it,
 * at the cost of other tiles; where they do not fit, there are no roles. */
static void tiles_that_are_held_at_once_fit(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    check_op(arena, "ops/lora.tl", DT_BF16, "N=320 K=384 BK=64", "M=70 Rank=100");
    check_op(arena, "ops/lora.tl", DT_F16, "N=64 K=384 BM=64 BN=256 BK=64", "M=70 Rank=100");
    check_op(arena, "tests/gen/keys_rotated_by_hand.tl", DT_BF16, "D=64", "b=1 n=150");
    assert_null(strstr(scheduled(arena, "tests/gen/keys_rotated_by_hand.tl", "D=64"), "prepare (warps"));
    /* tiles are chosen for which it has, and what is read thrice is brought once */
    const char *text = scheduled(arena, "tests/gen/keys_rotated_in_a_formula.tl", "D=64"), *load = strstr(text, "load (warps");
    assert_non_null(strstr(text, "prepare (warps"));
    assert_non_null(load);
    assert_int_equal(count_before(load, "copy_async K[", strstr(load, "prepare (warps")), 2 * 3); /* ahead of the loop, and in it */
}

/* Which page of a cache is next an element of a table says: whoever copies reads it, and bulk copies take it. */
static void pages_by_a_table(void **state)
{
    static const int lengths[][2] = {{150, 4}, {1, 3}, {64, 1}, {70, 0}};
    static const char *const sets[] = {"D=64 page=64", "D=128 page=128", "D=128 page=64 BM=128 warps=8 stages=2 skew=off", "D=64 page=32 BM=64 warps=4"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(sets); i++)
        for (size_t k = 0; k < TW_COUNT(lengths); k++)
            check_op(arena, "tests/gen/paged_by_hand.tl", DT_BF16, sets[i],
                     arena_printf(arena, "batch=2 q_heads=4 kv_heads=2 pages=9 q_len=%d most=%d", lengths[k][0], lengths[k][1]));
    const char *text = scheduled(arena, "tests/gen/paged_by_hand.tl", sets[0]), *load = strstr(text, "load (warps");
    assert_non_null(load);
    assert_non_null(behind(behind(load, "acquire %Kc"), "copy_async Kc[Table[b, "));
    assert_null(strstr(text, "gather Table"));
    /* from a definition: pages as long as tiles, longer, and several of them in one */
    static const struct {
        int page;
        const char *at;
    } pages[] = {{128, "KCache[Table[b, 0], 0 : rows, "}, {256, "KCache[Table[b, j div 2], j mod 2 * 128 : rows, "},
                 {64, "KCache[Table[b, j * 2 + row div 64], row mod 64, "}, {8, "KCache[Table[b, j * 16 + row div 8], row mod 8, "}};
    for (size_t i = 0; i < TW_COUNT(pages); i++) {
        text = scheduled(arena, "ops/attention_paged.tl", arena_printf(arena, "HeadDim=128 BN=128 page=%d", pages[i].page));
        load = strstr(text, "load (warps");
        assert_non_null(load);
        assert_non_null(strstr(load, pages[i].at));
        check_op(arena, "ops/attention_paged.tl", DT_BF16, arena_printf(arena, "HeadDim=128 BN=128 page=%d", pages[i].page),
                 arena_printf(arena, "batch=2 q_heads=2 kv_heads=1 pages=7 q_len=130 most=%d", 300 / pages[i].page + 1));
    }
    assert_null(strstr(scheduled(arena, "ops/attention_paged.tl", "HeadDim=128 page=64"), "bring (warps"));
    assert_non_null(strstr(scheduled(arena, "ops/attention_paged.tl", "HeadDim=128 page=12"), "bring (warps"));
}

/* What warps read from where bulk copies put it, a norm's rows and a bias, each instance has its own rows of. */
static void tiles_that_warps_read(void **state)
{
    static const char *const products[][3] = {
        {"ops/rmsnorm_gemm.tl", "N=64 K=128 BM=128 warps=8 warps_n=1", "M=150"},
        {"ops/rmsnorm_gemm.tl", "N=264 K=200 BM=64 BN=64 BK=32 stages=2 warps=4 warps_n=1", "M=70"},
        {"ops/layernorm_gemm.tl", "N=128 K=96 BM=128 BK=32 warps=8 warps_n=1", "M=65"},
        {"ops/rmsnorm_swiglu.tl", "F=64 K=128 BM=128 warps=8 warps_n=1", "M=130"},
    };
    static const char *const biased[] = {"HeadDim=64 q_heads=2 kv_heads=1", "HeadDim=128 q_heads=2 kv_heads=2 BM=64 BN=64 warps=4"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(products); i++) check_op(arena, products[i][0], DT_BF16, products[i][1], products[i][2]);
    for (size_t i = 0; i < TW_COUNT(biased); i++) check_op(arena, "ops/attention_bias.tl", DT_BF16, biased[i], "batch=1 q_len=150 kv_len=200");
    for (size_t i = 0; i < TW_COUNT(products); i++) assert_non_null(strstr(scheduled(arena, products[i][0], products[i][1]), "compute (warps"));
    const char *text = scheduled(arena, "ops/rmsnorm_gemm.tl", products[0][1]), *compute = strstr(text, "compute (warps");
    assert_non_null(behind(behind(behind(compute, "await %X[w]"), "move %X"), "release %X"));
}

/* Of a first operand that is transposed each instance has its own columns. */
static void products_of_columns(void **state)
{
    static const char *const sets[][2] = {
        {"in=256 out=64 BM=64 BN=64 BK=64 warps=4 warps_n=1", "tokens=150"},
        {"in=200 out=72 BM=128 BN=128 BK=32 warps=8 warps_n=1", "tokens=70"},
        {"in=200 out=256 BM=192 BN=256 BK=16 warps=12 warps_n=1", "tokens=33"},
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(sets); i++) {
        assert_non_null(strstr(scheduled(arena, "ops/weight_gradient.tl", sets[i][0]), "compute (warps"));
        check_op(arena, "ops/weight_gradient.tl", i % 2 ? DT_F16 : DT_BF16, sets[i][0], sets[i][1]);
    }
    const char *text = scheduled(arena, "ops/weight_gradient.tl", sets[1][0]);
    assert_non_null(behind(behind(text, "m * 128 : cols], %X[0]"), "m * 128 + 64 : cols], %X[1]"));
}

/* A scale that a tile's columns have in common is read once a row, and counted so; one of smaller groups is not, but by those
 * who prepare operands slab by slab, a turn ahead. */
static void scales_are_read_by_rows(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    assert_non_null(strstr(scheduled(arena, "ops/gemm_weight_int8.tl", "N=256 K=256 Group=128 BN=64 BK=64 roles=off"), "gather scale[n * 64 + row, k div 2] : fp32<64x1>"));
    assert_non_null(strstr(scheduled(arena, "ops/gemm_weight_int8.tl", "N=256 K=256 Group=32 BN=64 BK=64 roles=off"), "div 32] : fp32<64x64>"));
    assert_non_null(strstr(scheduled(arena, "ops/gemm_weight_int8.tl", "N=4096 K=4096 Group=128"), "k * 64 : cols], %W"));
    assert_non_null(strstr(scheduled(arena, "ops/gemm_weight_int8.tl", "N=4096 K=4096 Group=32"), " : fp32<128x1> rows"));
}

/* What many turns add to a sum of 8-bit products goes through arithmetic, of 16-bit ones not. */
static void sums_of_bytes_are_added_apart(void **state)
{
    static const char sets[] = "N=128 K=200 BM=128 BN=128 BK=64 warps=8 warps_n=1";
    Arena *arena = ((Fixture *)*state)->arena;
    const char *text = behind(scheduled(arena, "ops/gemm_fp8.tl", sets), "compute (warps");

    assert_non_null(behind(behind(text, "finish %"), "= add %Y"));
    text = behind(scheduled(arena, "ops/gemm.tl", sets), "compute (warps");
    assert_null(strstr(text, "= add %"));
    check_op(arena, "ops/gemm_fp8.tl", DT_BF16, sets, "M=150");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attention_of_any_groups, setup, teardown), cmocka_unit_test_setup_teardown(attention_of_any_length, setup, teardown), cmocka_unit_test_setup_teardown(attention_of_any_dimension, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_by_polynomial, setup, teardown),
        cmocka_unit_test_setup_teardown(masks_by_bounds, setup, teardown), cmocka_unit_test_setup_teardown(scores_by_place, setup, teardown),
        cmocka_unit_test_setup_teardown(places_take_a_multiply_add, setup, teardown), cmocka_unit_test_setup_teardown(indices_are_made_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(attention_with_one_stage_of_queries, setup, teardown),
        cmocka_unit_test_setup_teardown(attention_on_any_data, setup, teardown),   cmocka_unit_test_setup_teardown(instances_leave_loops, setup, teardown), cmocka_unit_test_setup_teardown(turns_that_fill_registers_stay, setup, teardown), cmocka_unit_test_setup_teardown(instances_take_turns, setup, teardown), cmocka_unit_test_setup_teardown(uneven_instances_take_turns, setup, teardown), cmocka_unit_test_setup_teardown(places_go_in_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(rings_of_few_numbers, setup, teardown), cmocka_unit_test_setup_teardown(last_turns_of_half_width, setup, teardown), cmocka_unit_test_setup_teardown(sums_end_beside_products, setup, teardown),
        cmocka_unit_test_setup_teardown(scores_come_first, setup, teardown),
        cmocka_unit_test_setup_teardown(lanes_meet_again, setup, teardown), cmocka_unit_test_setup_teardown(few_registers_are_kept_free, setup, teardown),
        cmocka_unit_test_setup_teardown(products_sum_rows, setup, teardown), cmocka_unit_test_setup_teardown(roundings_cancel, setup, teardown), cmocka_unit_test_setup_teardown(loops_vote_ahead, setup, teardown),
        cmocka_unit_test_setup_teardown(places_are_told, setup, teardown), cmocka_unit_test_setup_teardown(grids_of_many_axes, setup, teardown),
        cmocka_unit_test_setup_teardown(products, setup, teardown), cmocka_unit_test_setup_teardown(tiles_of_first_turns_are_given_back, setup, teardown),
        cmocka_unit_test_setup_teardown(tiles_that_are_held_at_once_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_by_a_table, setup, teardown),
        cmocka_unit_test_setup_teardown(tiles_that_warps_read, setup, teardown),
        cmocka_unit_test_setup_teardown(products_of_columns, setup, teardown), cmocka_unit_test_setup_teardown(scales_are_read_by_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_of_bytes_are_added_apart, setup, teardown),
    };

    return cmocka_run_group_tests_name("specialize", tests, NULL, NULL);
}
