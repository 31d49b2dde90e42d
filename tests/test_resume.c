/* test_resume.c: every stage behind the code starts from a text that a person may have
 * edited. A dump after each pass goes on to the instructions that the code itself gives
 * (in which order a condition's parts are asked depends on which symbol was met first);
 * an edit of it shows. */
#include "chain/chain.h"
#include "fixture.h"

#include <stdlib.h>

#include <cmocka.h>

static const char *read_text(Arena *arena, const char *path)
{
    const char *error;
    Source *source = source_read(arena, path, &error);

    if (!source)
        fail_msg("%s", error);
    return source->text;
}

static Chain *new_chain(Arena *arena, DType dtype, const char *target)
{
    return chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target_find(target), dtype);
}

static Source *text_source(Arena *arena, const char *path, const char *text)
{
    Source *source = arena_new_of(arena, Source);

    *source = (Source){path, text, strlen(text)};
    return source;
}

/* Without the lines that say where in the source an instruction comes from. */
static const char *without_places(Arena *arena, const char *ptx)
{
    Str out = str_new(arena);

    while (*ptx) {
        const char *word = ptx + strspn(ptx, " \t"), *end = strchr(ptx, '\n');
        size_t len = end ? (size_t)(end + 1 - ptx) : strlen(ptx);

        if (strncmp(word, ".loc", 4) != 0 && strncmp(word, ".file", 5) != 0 && strncmp(word, "//", 2) != 0)
            str_addn(&out, ptx, len);
        ptx += len;
    }
    return str_text(&out);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The first word of each line, sorted. */
static const char **instructions(Arena *arena, const char *ptx, int *n)
{
    const char **words = arena_array(arena, const char *, strlen(ptx) + 1);

    for (*n = 0; *ptx; ptx += strcspn(ptx, "\n"), ptx += *ptx == '\n') {
        const char *word = ptx + strspn(ptx, " \t");

        words[(*n)++] = arena_strndup(arena, word, strcspn(word, " \t\n"));
    }
    qsort(words, (size_t)*n, sizeof *words, by_text);
    return words;
}

static bool same_instructions(Arena *arena, const char *a, const char *b)
{
    int n, m;
    const char **one = instructions(arena, a, &n), **two = instructions(arena, b, &m);

    for (int i = 0; i < n && n == m; i++)
        if (strcmp(one[i], two[i]) != 0)
            return false;
    return n == m;
}

static const char *finish(Arena *arena, Chain *chain)
{
    if (chain_schedule(chain) && chain_emit(chain))
        return without_places(arena, chain->ptx->text);
    diags_print(chain->diags, stderr, false);
    fail_msg("%s", chain->failure ? chain->failure : "no PTX");
    return NULL;
}

static const char *dumped(Arena *arena, const Snapshot *snapshot)
{
    Str text = str_new(arena);

    tile_print(&text, snapshot->program);
    return str_text(&text);
}

static const char *resumed(Arena *arena, const char *text, DType dtype, const char *target)
{
    Chain *chain = new_chain(arena, dtype, target);

    if (!chain_read_tile(chain, text_source(arena, "dump.tile", text))) {
        diags_print(chain->diags, stderr, false);
        fail_msg("the dump does not read back");
    }
    return finish(arena, chain);
}

/* Code of an operator, compiled, with all that was on the way. */
static Chain *compiled(Arena *arena, const char *path, DType dtype, const char *target, const char **ptx)
{
    static const char *const sizes[] = {"HeadDim=64", "VDim=64", "N=128", "K=128"};
    Chain *first = new_chain(arena, dtype, target), *chain = new_chain(arena, dtype, target);
    const char *text = read_text(arena, path);

    for (size_t i = 0; i < TW_COUNT(sizes); i++)
        if (strstr(text, arena_strndup(arena, sizes[i], strcspn(sizes[i], "="))) && (i < 2 || !strstr(text, "HeadDim")))
            assert_null(chain_set(first, sizes[i]));
    if (!chain_define(first, text_source(arena, path, text)) || !chain_fuse(first) ||
        !chain_reason(first, first->sketch)) {
        diags_print(first->diags, stderr, false);
        fail_msg("%s has no code", path);
    }
    chain->keep_snapshots = true;
    assert_true(chain_lower(chain, first->code));
    *ptx = finish(arena, chain);
    return chain;
}

static void every_dump_goes_on(void **state)
{
    static const struct {
        const char *path, *target;
        DType dtype;
    } cases[] = {
        {"ops/attention.tl", "sm_80", DT_BF16}, {"ops/attention.tl", "sm_75", DT_F16},
        {"ops/row_softmax.tl", "sm_80", DT_BF16}, {"ops/gemm_bias.tl", "sm_86", DT_F16},
        {"ops/softcap_window.tl", "sm_80", DT_BF16},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *ptx;
        Chain *chain = compiled(f->arena, cases[i].path, cases[i].dtype, cases[i].target, &ptx);

        assert_true(chain->snapshots.len > 8);
        for (int k = 0; k < chain->snapshots.len; k++) {
            const Snapshot *snapshot = &chain->snapshots.data[k];
            const char *got = resumed(f->arena, dumped(f->arena, snapshot), cases[i].dtype, cases[i].target);

            if (!same_instructions(f->arena, got, ptx))
                fail_msg("%s for %s: other PTX from the dump after %s", cases[i].path, cases[i].target, snapshot->name);
        }
    }
}

/* The first of `from` as `to`. */
static const char *edited(Arena *arena, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);

    if (!at)
        fail_msg("the dump has no '%s'", from);
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void an_edit_shows(void **state)
{
    Fixture *f = *state;
    const char *ptx;
    Chain *chain = compiled(f->arena, "ops/row_softmax.tl", DT_BF16, "sm_80", &ptx);
    const char *lowered = dumped(f->arena, &chain->snapshots.data[0]);

    assert_string_not_equal(resumed(f->arena, edited(f->arena, lowered, "fill -1e+30 ", "fill -1 "), DT_BF16, "sm_80"), ptx);
}

static void what_is_edited_wrongly_is_refused(void **state)
{
    static const struct {
        const char *from, *to;
    } edits[] = {{"program row_softmax", "program row_softmax after lunch"}, {"fill -1e+30 ", "fill nothing "}, {"rowmax %", "rowmix %"}};
    Fixture *f = *state;
    const char *ptx;
    Chain *chain = compiled(f->arena, "ops/row_softmax.tl", DT_BF16, "sm_80", &ptx);
    const char *lowered = dumped(f->arena, &chain->snapshots.data[0]);

    for (size_t i = 0; i < TW_COUNT(edits); i++) {
        Chain *other = new_chain(f->arena, DT_BF16, "sm_80");
        const char *text = edited(f->arena, lowered, edits[i].from, edits[i].to);

        assert_false(chain_read_tile(other, text_source(f->arena, "dump.tile", text)) && chain_schedule(other));
        assert_true(other->diags->errors > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_dump_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(an_edit_shows, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_edited_wrongly_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
