/* test_fuse.c: every .tl file of tests/fuse is fused; its first line says what to
 * expect:
 *
 *   # expect: sketch; set HeadDim=64; bind q_len=70
 *   # expect: TW0505 4:3
 *
 *   sketch             the Kernels behind the Operator, word for word; the whole
 *                      chain from the definition then agrees at every level, at
 *                      the shape that is bound
 *   CODE LINE:COLUMN   the one diagnostic
 *   set NAME=VALUE     as --set
 *   splits N           as --set splits=N
 *   folded             as --set fold=1: entries that share what is streamed as rows of one tile
 *   fitting            as `tw gen` does it: in several kernels where one does not fit
 *   bind NAME=VALUE    of the launch; without any, nothing is executed
 *
 * Every code of TW05xx must be expected somewhere. */
#include "levels.h"

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>

#include "fuse/flow.h"
#include "reason/reason.h"

typedef struct Case {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    const char *path;
    const Source *source;
    Diags *diags;
    Settings settings;
    LevelCase levels;
    int parts;
    bool fitting, folded;
    const char *expected; /* "sketch", or "TW0505 4:3" */
    char code[16];        /* its first word, which outlives the arena */
} Case;

/* ---- the first line -------------------------------------------------------------- */

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static void read_option(Case *t, char *option)
{
    char *equals = strchr(option, '=');

    if (starts_with(option, "splits ") && t->levels.n_sets < LEVEL_SETS) {
        t->parts = atoi(option + 7);
        t->levels.sets[t->levels.n_sets++] = arena_printf(t->arena, "splits=%d", t->parts);
    } else if (strcmp(option, "folded") == 0) {
        t->folded = true;
        t->levels.sets[t->levels.n_sets++] = "fold=1";
    } else if (strcmp(option, "fitting") == 0) {
        t->fitting = true;
    } else if (starts_with(option, "set ") && t->levels.n_sets < LEVEL_SETS) {
        assert_null(settings_add(t->arena, &t->settings, option + 4));
        t->levels.sets[t->levels.n_sets++] = option + 4;
    } else if (starts_with(option, "bind ") && equals) {
        *equals = '\0';
        levels_bind(&t->levels, option + 5, strtod(equals + 1, NULL));
    } else {
        fail_msg("%s: unknown option '%s'", t->path, option);
    }
}

static void read_first_line(Case *t)
{
    const char *mark = "# expect: ";
    size_t len = strcspn(t->source->text, "\n");
    char *part, *rest;

    if (!starts_with(t->source->text, mark))
        fail_msg("%s: the first line must begin with '%s'", t->path, mark);
    part = arena_strndup(t->arena, t->source->text + strlen(mark), len - strlen(mark));
    for (bool first = true; part; first = false, part = rest) {
        rest = strstr(part, "; ");
        if (rest) {
            *rest = '\0';
            rest += 2;
        }
        if (first)
            t->expected = part;
        else
            read_option(t, part);
    }
    snprintf(t->code, sizeof t->code, "%.*s", (int)strcspn(t->expected, " "), t->expected);
}

/* ---- what came of it ---------------------------------------------------------------- */

static const Unit *unit_of(const Program *program, UnitKind kind)
{
    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == kind)
            return program->units.data[i];
    return NULL;
}

static const char *unit_text(Arena *arena, const Unit *unit)
{
    Str text = str_new(arena);

    lang_print_unit(&text, unit);
    return str_text(&text);
}

static const char *diag_text(Case *t, const Diag *diag)
{
    int line = 0, column = 0;

    if (diag->source)
        source_place(diag->source, diag->span.start, &line, &column);
    return arena_printf(t->arena, "%s %d:%d", diag_info(diag->code)->name, line, column);
}

static void compare_diags(Case *t, const Program *sketch)
{
    if (sketch || t->diags->list.len != 1 || strcmp(diag_text(t, &t->diags->list.data[0]), t->expected) != 0) {
        diags_print(t->diags, stderr, false);
        fail_msg("%s: expected %s", t->path, t->expected);
    }
    assert_non_null(t->diags->list.data[0].note); /* what to do instead */
}

static void compare_sketch(Case *t, const Program *program, const Program *sketch)
{
    int kernels = 0;

    if (!sketch || !unit_of(program, UNIT_KERNEL)) {
        diags_print(t->diags, stderr, false);
        fail_msg("%s: no sketch", t->path);
    }
    for (int i = 0; i < program->units.len; i++) {
        const Unit *want = program->units.data[i], *got = NULL;

        if (want->kind != UNIT_KERNEL)
            continue;
        if (kernels < sketch->units.len)
            got = sketch->units.data[kernels++];
        if (!got || strcmp(unit_text(t->arena, got), unit_text(t->arena, want)) != 0)
            fail_msg("%s: the sketch is\n%s", t->path, got ? unit_text(t->arena, got) : "shorter");
    }
    assert_int_equal(kernels, sketch->units.len);
}

static void run_levels(Case *t, const Program *program)
{
    t->levels.definition = unit_text(t->arena, unit_of(program, UNIT_OPERATOR));
    t->levels.dtype = DT_BF16;
    t->levels.fill = FILL_NORMAL;
    t->levels.seed = 1;
    if (t->levels.n_binds == 0)
        return;
    LevelReport report = levels_run(t->arena, &t->levels);
    if (report.verdict != LEVELS_AGREE)
        fail_msg("%s: %s\n%s", t->path, report.problem, str_text(&report.log));
}

/* The sketch by way of the chain, which knows what fits. */
static Program *fuse_fitting(Case *t, Syms *syms, const Program *program)
{
    Chain *chain = chain_new(t->arena, syms, aff_ctx_new(t->arena), t->diags, target_find("sm_80"), DT_BF16);
    Str text = str_new(t->arena);

    for (int i = 0; i < t->levels.n_sets; i++)
        assert_null(chain_set(chain, t->levels.sets[i]));
    lang_print_unit(&text, unit_of(program, UNIT_OPERATOR));
    if (!chain_define(chain, chain_text(chain, t->path, &text)) || !chain_fuse(chain))
        return NULL;
    return lang_parse(t->arena, syms, chain->sketch, t->diags);
}

static void run_case(void **state)
{
    Case *t = *state;
    const char *error;
    Syms *syms;

    t->heap.on_oom = &t->oom;
    if (setjmp(t->oom))
        fail_msg("out of memory");
    t->arena = arena_new(&t->heap);
    t->source = source_read(t->arena, t->path, &error);
    assert_non_null(t->source);
    t->diags = diags_new(t->arena, t->source);
    t->settings.dtype = DT_BF16;
    read_first_line(t);
    syms = syms_new(t->arena);
    Program *program = lang_parse(t->arena, syms, t->source, t->diags);
    const Unit *unit = unit_of(program, UNIT_OPERATOR);
    assert_non_null(unit);
    Def *def = def_resolve(t->arena, syms, aff_ctx_new(t->arena), program, unit, &t->settings, t->diags);
    Program *sketch = !def         ? NULL
                      : t->fitting ? fuse_fitting(t, syms, program)
                                   : fuse(t->arena, syms, def, t->parts ? t->parts : 1, t->diags);
    Program *folded = sketch && t->folded ? fuse_fold(t->arena, def, sketch) : NULL;
    sketch = folded ? folded : sketch;
    if (strcmp(t->expected, "sketch") == 0) {
        compare_sketch(t, program, sketch);
        run_levels(t, program);
    } else {
        compare_diags(t, sketch);
    }
    arena_free(t->arena);
}

/* ---- what no definition of today reaches ------------------------------------------------ */

static Def *small_def(Arena *arena, Diags *diags, const char *text)
{
    Source *source = arena_new_of(arena, Source);
    Settings *settings = arena_new_of(arena, Settings);
    Syms *syms = syms_new(arena);

    *source = (Source){"test.tl", text, strlen(text)};
    diags->source = source;
    settings->dtype = DT_BF16;
    Program *program = lang_parse(arena, syms, source, diags);
    return def_resolve(arena, syms, aff_ctx_new(arena), program, program->units.data[0], settings, diags);
}

static void begin(Case *t)
{
    memset(t, 0, sizeof *t);
    t->heap.on_oom = &t->oom;
    t->arena = arena_new(&t->heap);
    t->diags = diags_new(t->arena, NULL);
}

/* A tile along two streams, and along one stream in both directions. */
static void two_streams_at_once(void **state)
{
    Case t;
    (void)state;

    begin(&t);
    Def *def = small_def(t.arena, t.diags, "Operator f\n  Input X (M, N)\n  Output Y (M, N)\n"
                                           "  Compute Tanh X and get Y\nend\n");
    assert_non_null(def);
    Flow flow = {.arena = t.arena, .def = def, .diags = t.diags};
    assert_true(flow_choose_axes(&flow));
    const Axis *m = flow_axis(&flow, AXIS_STREAM, def->inputs.data[0]->dims[0]);
    const Axis *n = flow_axis(&flow, AXIS_STREAM, def->inputs.data[0]->dims[1]);
    assert_null(flow_finish(&flow, flow_node(&flow, NODE_LOAD, m, n)));
    assert_int_equal(t.diags->list.data[0].code, TW0503);
    assert_null(flow_finish(&flow, flow_node(&flow, NODE_LOAD, m, m)));
    assert_int_equal(t.diags->list.data[1].code, TW0503);
    arena_free(t.arena);
}

/* Each statement of a chain is a step of recursion; as many as a definition may have are followed. */
static void long_chain(void **state)
{
    Case t;
    (void)state;

    begin(&t);
    Str text = str_new(t.arena);
    str_add(&text, "Operator f\n  Input X (M, N)\n  Output Y (M, N)\n  Compute Tanh X and get Y\n");
    for (int i = 0; i < 990; i++)
        str_add(&text, "  Compute Tanh Y and get new Y\n");
    str_add(&text, "end\n");
    Def *def = small_def(t.arena, t.diags, str_text(&text));
    assert_non_null(def);
    assert_non_null(fuse(t.arena, syms_new(t.arena), def, 1, t.diags));
    assert_int_equal(t.diags->list.len, 0);
    arena_free(t.arena);
}

/* Tiles of one value along ever other axes. */
static void too_many_tiles(void **state)
{
    Case t;
    (void)state;

    begin(&t);
    Def *def = small_def(t.arena, t.diags, "Operator f\n  Input X (M, N)\n  Output Y (M, N)\n  Compute Tanh X and get Y\nend\n");
    Flow flow = {.arena = t.arena, .def = def, .diags = t.diags};
    for (int i = 0; i <= FLOW_NODES; i++)
        vec_push(t.arena, &flow.nodes, NULL);
    assert_false(flow_enter(&flow, def->outputs.data[0]));
    assert_int_equal(t.diags->list.data[0].code, TW0108);
    arena_free(t.arena);
}

/* ---- how long the search for cuts may take ------------------------------------------------ */

typedef struct Asked {
    Arena *arena;
    Syms *syms;
    Settings settings;
    int sketches;
    int parts; /* how often it was asked into how many */
} Asked;

static const Diag *misfit_of(Asked *asked, const Program *sketch, bool own_rows)
{
    ReasonOptions options = {.target = target_find("sm_80"), .settings = &asked->settings, .dtype = DT_BF16, .roomy = true, .hasty = true, .own_rows = own_rows};

    asked->sketches++;
    return reason_misfit(asked->arena, asked->syms, sketch, &options);
}

static const Diag *ask(void *user, const Program *sketch)
{
    return misfit_of(user, sketch, true);
}

static const Diag *ask_for_less(void *user, const Program *sketch)
{
    return misfit_of(user, sketch, false);
}

static int ask_parts(void *user, const Program *sketch)
{
    Asked *asked = user;
    (void)sketch;

    asked->parts++;
    return 1;
}

/* `ops/rotary_attention.tl` with halves of 64. */
static Def *rotary_attention(Case *t, Syms *syms)
{
    const char *error;
    const Source *source = source_read(t->arena, "ops/rotary_attention.tl", &error);

    assert_non_null(source);
    t->settings.dtype = DT_BF16;
    assert_null(settings_add(t->arena, &t->settings, "Half=64"));
    Program *program = lang_parse(t->arena, syms, source, t->diags);
    Def *def = def_resolve(t->arena, syms, aff_ctx_new(t->arena), program, program->units.data[0], &t->settings, t->diags);
    assert_non_null(def);
    return def;
}

static const Diag too_large = {.code = TW0611, .message = "it does not fit"};

/* The kernels that it is cut into, by as few questions. */
static void no_sketch_is_judged_twice(void **state)
{
    Case t;
    Syms *syms;
    (void)state;

    begin(&t);
    syms = syms_new(t.arena);
    const Def *def = rotary_attention(&t, syms);
    Asked asked = {t.arena, syms, t.settings, 0, 0};
    Program *cut = fuse_cut(t.arena, syms, def, &too_large, fuse_asked_new(t.arena), ask, NULL, &asked);
    assert_non_null(cut);
    assert_true(cut->units.len > 1);
    assert_in_range(asked.sketches, 2, 60);
    arena_free(t.arena);
}

static void what_was_found_out_is_not_asked_again(void **state)
{
    Case t;
    Syms *syms;
    FuseAsked *known;
    (void)state;

    begin(&t);
    syms = syms_new(t.arena);
    known = fuse_asked_new(t.arena);
    const Def *def = rotary_attention(&t, syms);
    Asked asked = {t.arena, syms, t.settings, 0, 0};
    Program *first = fuse_cut(t.arena, syms, def, &too_large, known, ask, NULL, &asked);
    int sketches = asked.sketches;
    Program *again = fuse_cut(t.arena, syms, def, &too_large, known, ask, NULL, &asked);
    assert_int_equal(asked.sketches, sketches);
    Str one = str_new(t.arena), other = str_new(t.arena);
    lang_print(&one, first);
    lang_print(&other, again);
    assert_string_equal(str_text(&one), str_text(&other));
    /* of a misfit that asks for less, only what did not fit */
    assert_non_null(fuse_cut(t.arena, syms, def, &too_large, known, ask_for_less, NULL, &asked));
    assert_true(asked.sketches < 2 * sketches);
    arena_free(t.arena);
}

/* Most kernels that a search considers are none of those that it ends with: parts are asked of these. */
static void parts_are_asked_of_kernels_that_are_written(void **state)
{
    Case t;
    Syms *syms;
    (void)state;

    begin(&t);
    syms = syms_new(t.arena);
    const Def *def = rotary_attention(&t, syms);
    Asked asked = {t.arena, syms, t.settings, 0, 0};
    Program *cut = fuse_cut(t.arena, syms, def, &too_large, fuse_asked_new(t.arena), ask, ask_parts, &asked);
    assert_non_null(cut);
    assert_in_range(asked.parts, 1, cut->units.len);
    arena_free(t.arena);
}

/* ---- all files ------------------------------------------------------------------------------ */

enum { MAX_CASES = 500 };

static Case cases[MAX_CASES];

static int by_path(const void *a, const void *b)
{
    return strcmp(((const Case *)a)->path, ((const Case *)b)->path);
}

static int find_cases(Arena *arena, const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;

    for (struct dirent *entry; dir && (entry = readdir(dir)) && n < MAX_CASES;)
        if (strstr(entry->d_name, ".tl"))
            cases[n++].path = arena_printf(arena, "%s/%s", folder, entry->d_name);
    if (dir)
        closedir(dir);
    qsort(cases, (size_t)n, sizeof cases[0], by_path);
    return n;
}

static int n_cases;

static void every_code_is_expected(void **state)
{
    static const DiagCode elsewhere[] = {TW0503, TW0108, TW0521, TW0522, TW0523, TW0524};
    (void)state;

    for (int code = 0; code < DIAG_CODES; code++) {
        const char *name = diag_info((DiagCode)code)->name;
        bool found = !starts_with(name, "TW05");

        for (size_t i = 0; i < TW_COUNT(elsewhere); i++)
            found |= elsewhere[i] == (DiagCode)code;
        for (int i = 0; i < n_cases; i++)
            found |= strcmp(cases[i].code, name) == 0;
        if (!found)
            fail_msg("no test expects %s", name);
    }
}

int main(void)
{
    struct CMUnitTest tests[MAX_CASES + 7];
    Heap heap = {0};
    jmp_buf oom;
    int n = 0;

    heap.on_oom = &oom;
    if (setjmp(oom))
        return 1;
    Arena *arena = arena_new(&heap);
    n_cases = find_cases(arena, "tests/fuse");
    for (int i = 0; i < n_cases; i++) {
        const char *name = strrchr(cases[i].path, '/') + 1;
        tests[n++] = (struct CMUnitTest){name, run_case, NULL, NULL, &cases[i]};
    }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(two_streams_at_once);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(long_chain);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(too_many_tiles);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(no_sketch_is_judged_twice);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_was_found_out_is_not_asked_again);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(parts_are_asked_of_kernels_that_are_written);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_code_is_expected);
    int failed = _cmocka_run_group_tests("fuse", tests, (size_t)n, NULL, NULL);
    arena_free(arena);
    return failed;
}
