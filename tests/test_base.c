/* test_base.c: memory, strings, names, diagnostics, files, numbers. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Each test works in an arena of its own heap, which must be empty at the end. */
typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    if (!f || setjmp(f->oom))
        return -1;
    f->heap.on_oom = &f->oom;
    f->arena = arena_new(&f->heap);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    size_t live;

    arena_free(f->arena);
    live = f->heap.live;
    free(f);
    return live ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- memory ------------------------------------------------------------------ */

static void arena_gives_zeroed_aligned_memory(void **state)
{
    Fixture *f = *state;

    for (size_t size = 0; size < 40000; size = size * 3 + 1) {
        unsigned char *p = arena_alloc(f->arena, size);

        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
    }
}

static void arena_requests_do_not_overlap(void **state)
{
    enum { N = 3000 };
    Fixture *f = *state;
    Rng rng = {7};
    unsigned char *at[N];
    int size[N];

    for (int i = 0; i < N; i++) {
        size[i] = rng_below(&rng, i % 50 ? 200 : 100000);
        at[i] = arena_alloc(f->arena, (size_t)size[i]);
        memset(at[i], i & 0xff, (size_t)size[i]);
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < size[i]; k++)
            assert_int_equal(at[i][k], i & 0xff);
}

/* Fills a new arena with requests of sizes that share a block, have one of their own, and are too large for a slab. */
static Arena *full_arena(Heap *heap, unsigned char **at, const size_t *sizes, int n, int fill)
{
    Arena *arena = arena_new(heap);

    for (int i = 0; i < n; i++) {
        at[i] = arena_alloc(arena, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(at[i][k], 0);
        memset(at[i], fill, sizes[i]);
    }
    return arena;
}

/* What arenas gave back comes zeroed again, and what others hold stays as it is: also in a heap that is large (slab.c). */
static void memory_given_back_comes_zeroed(void **state)
{
    static const size_t sizes[] = {100, 40000, 17000, 30, 300000, 70000, 9000, 16000, 5000000};
    enum { N = TW_COUNT(sizes) };
    Fixture *f = *state;
    unsigned char *kept[N], *at[N];
    Heap heap = {.on_oom = &f->oom};
    Arena *stays = full_arena(&heap, kept, sizes, N, 0x5a);
    size_t live = heap.live, peak = 0;

    for (int round = 0; round < 20; round++) {
        Arena *first = full_arena(&heap, at, sizes, N, 0xff), *second = full_arena(&heap, at, sizes, N, 0xee);

        arena_free(first);
        arena_free(full_arena(&heap, at, sizes, N, 0xdd));
        arena_free(second);
        assert_int_equal(heap.live, live);
        peak = peak ? peak : heap.peak;
    }
    assert_int_equal(heap.peak, peak);
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(kept[i][k], 0x5a);
    arena_free(stays);
    assert_int_equal(heap.live, 0);
    assert_null(heap.slabs);
}

/* A heap that gives and takes the same again takes no more from the system. */
static void slabs_are_used_again(void **state)
{
    static const size_t sizes[] = {40000, 17000, 300000, 9000, 60000};
    enum { N = TW_COUNT(sizes) };
    Fixture *f = *state;
    unsigned char *at[N];
    Heap heap = {.on_oom = &f->oom};
    Arena *stays = arena_new(&heap);
    struct Slab *newest;

    arena_alloc(stays, 1 << 20);
    arena_free(full_arena(&heap, at, sizes, N, 0xff));
    newest = heap.slabs;
    for (int round = 0; round < 200; round++)
        arena_free(full_arena(&heap, at, sizes, N, 0xff));
    assert_ptr_equal(heap.slabs, newest);
    arena_free(stays);
}

static void heap_counts_live_and_peak(void **state)
{
    Fixture *f = *state;
    size_t before = f->heap.live;
    Arena *other = arena_new(&f->heap);

    arena_alloc(other, 10 << 20);
    assert_true(f->heap.live >= before + (10 << 20));
    arena_free(other);
    assert_int_equal(f->heap.live, before);
    assert_true(f->heap.peak >= before + (10 << 20));
    arena_free(NULL);
}

static void impossible_sizes_are_out_of_memory(void **state)
{
    Fixture *f = *state;
    jmp_buf here, *old = f->heap.on_oom;
    volatile int caught = 0;

    f->heap.on_oom = &here;
    if (setjmp(here) == 0)
        arena_alloc_array(f->arena, SIZE_MAX / 2, 3);
    else
        caught++;
    if (setjmp(here) == 0)
        arena_alloc(f->arena, SIZE_MAX - 5);
    else
        caught++;
    if (setjmp(here) == 0)
        arena_alloc(f->arena, SIZE_MAX / 2 - 64);
    else
        caught++;
    f->heap.on_oom = old;
    assert_int_equal(caught, 3);
}

typedef struct Guarded {
    Arena *arena;
    size_t size;
    int begun, done, ended;
} Guarded;

static void work(void *user)
{
    Guarded *g = user;
    g->begun++;
    arena_alloc(g->arena, g->size);
    g->done++;
}

static void end(void *user)
{
    Guarded *g = user;
    g->ended++;
}

static void what_is_guarded_ends_either_way(void **state)
{
    Fixture *f = *state;
    Guarded g = {.arena = f->arena, .size = 5};
    jmp_buf here, *old = f->heap.on_oom;
    volatile int caught = 0;

    f->heap.on_oom = &here;
    if (setjmp(here) == 0) {
        heap_guard(&f->heap, work, end, &g);
        assert_ptr_equal(f->heap.on_oom, &here);
        g.size = SIZE_MAX - 5;
        heap_guard(&f->heap, work, end, &g);
    } else {
        caught++;
    }
    assert_ptr_equal(f->heap.on_oom, &here);
    f->heap.on_oom = old;
    assert_int_equal(caught, 1);
    assert_true(g.begun == 2 && g.done == 1 && g.ended == 2);
}

/* A little of everything that allocates. */
static void exercise(Heap *heap, Arena **arena)
{
    static const Source source = {"x.tl", "a b\nc\n", 6};
    Syms *syms;
    Diags *diags;
    Str text;
    VEC(int) numbers = {0};

    *arena = arena_new(heap);
    syms = syms_new(*arena);
    for (int i = 0; i < 2000; i++) {
        sym(syms, arena_printf(*arena, "name%d", i));
        vec_push(*arena, &numbers, i);
    }
    diags = diags_new(*arena, &source);
    for (int i = 0; i < 30; i++)
        diag_note(diags, diag_add(diags, TW0101, (Span){0, 1}, "number %d", i), "note");
    text = str_new(*arena);
    diags_json(diags, &text);
    for (int i = 0; i < 4; i++)
        arena_alloc(*arena, 100000);
    assert_int_equal(numbers.data[1999], 1999);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    jmp_buf oom;
    Arena *volatile arena;
    volatile long failures = 0;
    volatile bool done = false;

    for (volatile long n = 1; !done; n++) {
        Heap heap = {.on_oom = &oom, .fail_in = n};
        Arena *made = NULL;
        Arena **volatile slot = &made;

        arena = NULL;
        if (setjmp(oom) == 0) {
            exercise(&heap, slot);
            done = true;
        } else {
            failures++;
        }
        arena = *slot;
        arena_free(arena);
        assert_int_equal(heap.live, 0);
    }
    assert_true(failures >= 5);
}

static void vec_keeps_its_elements(void **state)
{
    typedef struct Pair { int a; double b; } Pair;
    Fixture *f = *state;
    VEC(Pair) v = {0};

    for (int i = 0; i < 1000; i++) {
        vec_push(f->arena, &v, (Pair){i, i * 0.5});
        v.data[i].a += 1;
    }
    assert_int_equal(v.len, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(v.data[i].a, i + 1);
        assert_true(v.data[i].b == i * 0.5);
    }
}

/* ---- text -------------------------------------------------------------------- */

static void strings_grow(void **state)
{
    Fixture *f = *state;
    Str s = str_new(f->arena);

    assert_string_equal(str_text(&s), "");
    for (int i = 0; i < 5000; i++)
        str_printf(&s, "%d,", i % 10);
    str_add(&s, "end");
    str_addc(&s, '.');
    str_addn(&s, "xyz", 0);
    assert_int_equal(s.len, 10004);
    assert_int_equal(strlen(str_text(&s)), 10004);
    assert_string_equal(str_text(&s) + 9998, "9,end.");
}

static void TW_PRINTF(1, 2) format_both_ways(const char *fmt, ...)
{
    for (size_t size = 0; size < 80; size++) {
        char mine[80], theirs[80];
        va_list args;

        memset(mine, '~', sizeof mine);
        memset(theirs, '~', sizeof theirs);
        va_start(args, fmt);
        int wanted = vsnprintf(theirs, size, fmt, args);
        va_end(args);
        va_start(args, fmt);
        assert_int_equal(text_vformat(mine, size, fmt, args), wanted);
        va_end(args);
        if (size)
            assert_string_equal(mine, theirs);
        for (size_t i = size; i < sizeof mine; i++)
            assert_int_equal(mine[i], '~');
    }
}

/* With and without what is left to vsnprintf, in any room. */
static void formats_mean_what_vsnprintf_makes_of_them(void **state)
{
    (void)state;
    format_both_ways("plain");
    format_both_ways("%s", "");
    format_both_ways("a %s, %d%% of %c;", "word", -17, 'x');
    format_both_ways("%d %d %d %d", 0, 9, INT32_MAX, INT32_MIN);
    format_both_ways("%s at %lld of %d: %.3f %-5s|", "x", (long long)INT64_MIN, 3, 0.1, "ab");
    format_both_ways("%d then %08X and %s", 12, 0xbeefu, "more");
    format_both_ways("%.*s, %5d, %zu", 2, "abc", 7, sizeof(int));
}

static void json_strings_are_quoted(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"1\n2\t3\r", "\"1\\n2\\t3\\r\""},
        {"\001\033\177", "\"\\u0001\\u001b\\u007f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff" "a\xc3", "\"\\ufffda\\ufffd\""},          /* stray, truncated */
        {"\xc0\x80", "\"\\ufffd\\ufffd\""},               /* overlong */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},    /* surrogate */
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Str s = str_new(f->arena);

        str_json(&s, cases[i].text);
        assert_string_equal(str_text(&s), cases[i].json);
    }
}

static void symbols_are_equal_when_their_text_is(void **state)
{
    Fixture *f = *state;
    Syms *syms = syms_new(f->arena);
    const char *first = sym(syms, "n7");

    for (int i = 0; i < 5000; i++)
        sym(syms, arena_printf(f->arena, "n%d", i));
    assert_ptr_equal(sym(syms, "n7"), first);
    assert_ptr_equal(symn(syms, "n7xyz", 2), first);
    assert_ptr_not_equal(sym(syms, "N7"), first);
    assert_string_equal(symn(syms, "", 0), "");
}

static void words_are_compared(void **state)
{
    (void)state;
    assert_true(text_equal_nocase("GeMM", "gEmm"));
    assert_false(text_equal_nocase("gemm", "gemmm"));
    assert_int_equal(text_distance("softmax", "softmax", 2), 0);
    assert_int_equal(text_distance("sofmtax", "softmax", 2), 2);
    assert_int_equal(text_distance("", "abc", 5), 3);
    assert_int_equal(text_distance("kitten", "sitting", 9), 3);
    assert_int_equal(text_distance("kitten", "sitting", 1), 2);
}

/* ---- diagnostics -------------------------------------------------------------- */

static Source source_of(const char *text)
{
    return (Source){"in.tl", text, strlen(text)};
}

static const char *printed(Arena *arena, const Diags *diags, bool colour)
{
    char *data = NULL, *copy;
    size_t len = 0;
    FILE *out = open_memstream(&data, &len);

    assert_non_null(out);
    diags_print(diags, out, colour);
    fclose(out);
    copy = arena_strndup(arena, data, len);
    free(data);
    return copy;
}

static void places_count_from_one(void **state)
{
    (void)state;
    Source source = source_of("ab\n\ncd");
    int line, column;

    source_place(&source, 0, &line, &column);
    assert_true(line == 1 && column == 1);
    source_place(&source, 2, &line, &column);
    assert_true(line == 1 && column == 3);
    source_place(&source, 3, &line, &column);
    assert_true(line == 2 && column == 1);
    source_place(&source, 5, &line, &column);
    assert_true(line == 3 && column == 2);
    source_place(&source, 99, &line, &column);
    assert_true(line == 3 && column == 3);
    source_place(&source, -4, &line, &column);
    assert_true(line == 1 && column == 1);
}

static void a_diagnostic_shows_its_line_and_fix(void **state)
{
    Fixture *f = *state;
    Source source = source_of("for i\n\tCompute GEMM Q, K\nend\n");
    Diags *diags = diags_new(f->arena, &source);
    Diag *diag = diag_add(diags, TW0102, (Span){23, 24}, "expected %s", "K.T");

    diag_note(diags, diag, "S is (%d, %d)", 64, 32);
    diag_fix(diags, diag, (Span){23, 24}, "K.T", "transpose it");
    assert_int_equal(diags->errors, 1);
    assert_string_equal(
        printed(f->arena, diags, false),
        "in.tl:2:18: error: expected K.T [TW0102]\n"
        "    2 |     Compute GEMM Q, K\n"
        "      |                     ^\n"
        "      |                     K.T\n"
        "        note: S is (64, 32)\n"
        "        why: the statement does not have the form that its first word asks for\n"
        "        fix: transpose it\n");
}

static void a_fix_may_insert_lines_elsewhere(void **state)
{
    Fixture *f = *state;
    Source source = source_of("one\ntwo three\n");
    Diags *diags = diags_new(f->arena, &source);
    Diag *diag = diag_add(diags, TW0105, (Span){4, 7}, "no end");

    diag_fix(diags, diag, (Span){0, 0}, "x\ny\n", "add");
    assert_string_equal(
        printed(f->arena, diags, false),
        "in.tl:2:1: error: no end [TW0105]\n"
        "    2 | two three\n"
        "      | ^~~\n"
        "        why: without its 'end' it is not known which statements the block repeats or guards\n"
        "        fix: add\n"
        "    + | x\n"
        "    + | y\n"
        "    1 | one\n");
}

static void colour_is_only_added(void **state)
{
    Fixture *f = *state;
    Source source = source_of("x\n");
    Diags *diags = diags_new(f->arena, &source);
    const char *with, *without;
    Str plain = str_new(f->arena);

    diag_add(diags, TW0101, (Span){0, 1}, "bad");
    with = printed(f->arena, diags, true);
    without = printed(f->arena, diags, false);
    assert_non_null(strstr(with, "\033["));
    assert_null(strchr(without, '\033'));
    for (; *with; with++) {
        if (*with == '\033')
            with = strchr(with, 'm');
        else
            str_addc(&plain, *with);
    }
    assert_string_equal(str_text(&plain), without);
}

static void hostile_bytes_never_reach_the_terminal(void **state)
{
    Fixture *f = *state;
    Source source = source_of("a\033[31m\x01\x7f\xc3\xa9\xff\xc2\x9b\xe2\x80\xae\r\n");
    Diags *diags = diags_new(f->arena, &source);

    diag_add(diags, TW0101, (Span){-5, 4000}, "got '%s'", "\033");
    assert_string_equal(
        printed(f->arena, diags, false),
        "in.tl:1:1: error: got '<1B>' [TW0101]\n"
        "    1 | a<1B>[31m<01><7F>\xc3\xa9<FF><C2><9B><E2><80><AE>\n"
        "      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "        why: the character has no meaning in this language; the rest of the line cannot be trusted\n");
}

static void only_a_part_of_a_long_line_is_shown(void **state)
{
    enum { LONG = 100000 };
    Fixture *f = *state;
    char *text = arena_alloc(f->arena, LONG + 1);
    Source source;
    Diags *diags;
    const char *out;

    memset(text, 'x', LONG);
    text[50000] = '!';
    source = source_of(text);
    diags = diags_new(f->arena, &source);
    diag_add(diags, TW0101, (Span){50000, 50001}, "bad");
    out = printed(f->arena, diags, false);
    assert_true(strlen(out) < 600);
    out = strchr(out, '\n') + 1;
    assert_int_equal(out[strcspn(out, "!")], '!');
    /* the caret stands right below */
    assert_int_equal(strchr(out, '\n')[1 + strcspn(out, "!")], '^');
}

static void long_words_are_cut_in_messages(void **state)
{
    enum { LONG = 100000 };
    Fixture *f = *state;
    Source source = source_of("x");
    Diags *diags = diags_new(f->arena, &source);
    char *word = arena_alloc(f->arena, LONG + 1);
    Diag *diag;

    memset(word, 'x', LONG);
    word[199] = '\xc3', word[200] = '\xa9';
    diag = diag_add(diags, TW0101, (Span){0, 1}, "no %s here", word);
    diag_note(diags, diag, "short words stay: %s", word);
    assert_int_equal(strlen(diag->message), 3 + 201 + 3 + 5);
    assert_string_equal(diag->message + 3 + 199, "\xc3\xa9... here");
    assert_memory_equal(diag->note, "short words stay: x", 19);
    assert_true(strlen(diag->note) < 300);
}

static void errors_are_bounded_and_counted(void **state)
{
    Fixture *f = *state;
    Source source = source_of("x");
    Diags *diags = diags_new(f->arena, &source);

    for (int i = 0; i < DIAG_LIMIT; i++)
        diag_add(diags, TW0101, (Span){0, 1}, "number %d", i);
    assert_false(diags->full);
    for (int i = 0; i < 5; i++) {
        Diag *diag = diag_add(diags, TW0101, (Span){0, 1}, "more");

        diag_note(diags, diag, "note");
        diag_fix(diags, diag, (Span){0, 1}, "y", "label");
    }
    assert_true(diags->full);
    assert_int_equal(diags->list.len, DIAG_LIMIT);
    assert_int_equal(diags->errors, DIAG_LIMIT + 5);
    assert_non_null(strstr(printed(f->arena, diags, false), "5 more errors"));
}

static void diagnostics_are_json_too(void **state)
{
    Fixture *f = *state;
    Source source = source_of("ab cd");
    Diags *diags = diags_new(f->arena, &source);
    Str out = str_new(f->arena);
    Diag *diag = diag_add(diags, TW0101, (Span){3, 5}, "say \"%s\"", "hi");

    diag_note(diags, diag, "n");
    diag_fix(diags, diag, (Span){0, 2}, "x", "l");
    diags_json(diags, &out);
    assert_string_equal(
        str_text(&out),
        "[{\"code\":\"TW0101\",\"severity\":\"error\",\"path\":\"in.tl\","
        "\"start\":3,\"end\":5,\"line\":1,\"column\":4,\"end_line\":1,\"end_column\":6,"
        "\"message\":\"say \\\"hi\\\"\",\"note\":\"n\","
        "\"why\":\"the character has no meaning in this language; the rest of the line cannot be trusted\","
        "\"fix\":{\"start\":0,\"end\":2,\"line\":1,\"column\":1,\"end_line\":1,\"end_column\":3,"
        "\"text\":\"x\",\"label\":\"l\"}}]");
}

static void every_code_has_its_facts(void **state)
{
    (void)state;
    for (int i = 0; i < DIAG_CODES; i++) {
        const DiagInfo *info = diag_info((DiagCode)i);

        assert_int_equal(strlen(info->name), 6);
        assert_true(*info->title && *info->why);
        if (i) /* the table is sorted, and so nothing is there twice */
            assert_true(strcmp(diag_info((DiagCode)(i - 1))->name, info->name) < 0);
    }
}

/* ---- files ------------------------------------------------------------------- */

static const char *temporary_folder(Arena *arena)
{
    char *name = arena_strdup(arena, "/tmp/tilewright-test-XXXXXX");

    assert_non_null(mkdtemp(name));
    return name;
}

static void files_are_written_whole_and_read_back(void **state)
{
    Fixture *f = *state;
    const char *folder = temporary_folder(f->arena), *error;
    const char *path = arena_printf(f->arena, "%s/a.txt", folder);
    Source *source;

    assert_null(file_write(f->arena, path, "x\0y", 3));
    assert_null(file_write(f->arena, path, "new\0text", 8));
    source = source_read(f->arena, path, &error);
    assert_non_null(source);
    assert_null(error);
    assert_int_equal(source->len, 8);
    assert_memory_equal(source->text, "new\0text", 9);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* and nothing was left beside it */
}

static void a_link_is_written_through(void **state)
{
    Fixture *f = *state;
    const char *folder = temporary_folder(f->arena), *error;
    const char *path = arena_printf(f->arena, "%s/real", folder);
    const char *link = arena_printf(f->arena, "%s/link", folder);
    struct stat st;

    assert_int_equal(symlink(path, link), 0);
    assert_null(file_write(f->arena, link, "abc", 3));
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_string_equal(source_read(f->arena, path, &error)->text, "abc");
    assert_null(file_write(f->arena, "/dev/null", "abc", 3));
    assert_int_equal(lstat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    unlink(link);
    unlink(path);
    rmdir(folder);
}

static void failures_of_files_are_sentences(void **state)
{
    Fixture *f = *state;
    const char *error;

    assert_null(source_read(f->arena, "/nonexistent/x", &error));
    assert_string_equal(error, "cannot open /nonexistent/x: No such file or directory");
    assert_null(source_read(f->arena, "/tmp", &error));
    assert_string_equal(error, "cannot read /tmp: Is a directory");
    assert_string_equal(file_write(f->arena, "/nonexistent/x", "a", 1),
                        "cannot create /nonexistent/x: No such file or directory");
}

/* ---- numbers ------------------------------------------------------------------ */

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void every_16_bit_value_survives_the_round_trip(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        float half = f16_to_f32((uint16_t)i), brain = bf16_to_f32((uint16_t)i);

        assert_int_equal(f32_to_f16(half), isnan(half) ? 0x7fff : i);
        assert_int_equal(f32_to_bf16(brain), isnan(brain) ? 0x7fff : i);
    }
}

/* The value of a finite fp16 or bf16 number by its definition. */
static double value_of(uint16_t x, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = x >> mantissa_bits & ((1 << exponent_bits) - 1);
    int mantissa = x & ((1 << mantissa_bits) - 1);
    double sign = x & 0x8000 ? -1 : 1;

    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

static void widening_follows_the_definition(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        if ((i & 0x7c00) != 0x7c00)
            assert_true(f16_to_f32((uint16_t)i) == value_of((uint16_t)i, 5, 10));
        if ((i & 0x7f80) != 0x7f80)
            assert_true(bf16_to_f32((uint16_t)i) == value_of((uint16_t)i, 8, 7));
    }
}

/* Between neighbours a and b of a 16-bit format: just under the middle gives a,
 * the middle gives the even one, just above gives b. */
static void check_between(uint16_t a, double va, double vb, uint16_t (*round)(float))
{
    float middle = (float)((va + vb) / 2);

    assert_int_equal(round(nextafterf(middle, 0)), a);
    assert_int_equal(round(middle), a & 1 ? a + 1 : a);
    assert_int_equal(round(nextafterf(middle, INFINITY)), a + 1);
    assert_int_equal(round(-middle), 0x8000 | (a & 1 ? a + 1 : a));
}

static void rounding_is_to_nearest_even(void **state)
{
    (void)state;
    for (int a = 0; a < 0x7bff; a++)
        check_between((uint16_t)a, value_of((uint16_t)a, 5, 10), value_of((uint16_t)(a + 1), 5, 10),
                      f32_to_f16);
    for (int a = 0; a < 0x7f7f; a++)
        check_between((uint16_t)a, value_of((uint16_t)a, 8, 7), value_of((uint16_t)(a + 1), 8, 7),
                      f32_to_bf16);
}

static void overflow_gives_infinity(void **state)
{
    (void)state;
    assert_int_equal(f32_to_f16(65504.0f), 0x7bff);
    assert_int_equal(f32_to_f16(65519.996f), 0x7bff);
    assert_int_equal(f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(f32_to_f16(1e30f), 0x7c00);
    assert_int_equal(f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(f32_to_bf16(3.4e38f), 0x7f80);
    assert_int_equal(f32_to_bf16(3.38e38f), 0x7f7e);
    assert_int_equal(f32_to_bf16(INFINITY), 0x7f80);
    assert_int_equal(f32_to_f16(NAN), 0x7fff);
    assert_int_equal(f32_to_bf16(-NAN), 0x7fff);
    assert_int_equal(bits_of(f16_to_f32(0x8000)), 0x80000000u);
}

/* The magnitude of an 8-bit number by its definition; its NaNs are left out. */
static double value_of_8(int x, int exponent_bits, int mantissa_bits)
{
    return fabs(value_of((uint16_t)(x & 0x7f), exponent_bits, mantissa_bits));
}

static void check_8_bits(int exponent_bits, int mantissa_bits, int most, float (*widen)(uint8_t),
                         uint8_t (*round)(float))
{
    for (int a = 0; a <= most; a++) {
        double value = value_of_8(a, exponent_bits, mantissa_bits);
        float middle = (float)((value + value_of_8(a + 1, exponent_bits, mantissa_bits)) / 2);

        assert_true(widen((uint8_t)a) == value && widen((uint8_t)(a | 0x80)) == -value);
        assert_int_equal(round((float)value), a);
        assert_int_equal(round(-(float)value), a | 0x80);
        if (a == most)
            continue;
        assert_int_equal(round(nextafterf(middle, 0)), a);
        assert_int_equal(round(middle), a & 1 ? a + 1 : a);
        assert_int_equal(round(nextafterf(middle, INFINITY)), a + 1);
    }
    assert_int_equal(round(1e30f), most);
    assert_int_equal(round(-INFINITY), 0x80 | most);
    assert_int_equal(round(NAN), 0x7f);
    assert_true(isnan(widen(0x7f)) && isnan(widen(0xff)));
    assert_int_equal(round(1e-30f), 0);
    assert_int_equal(round(-1e-45f), 0x80);
}

static void numbers_of_8_bits(void **state)
{
    (void)state;
    check_8_bits(4, 3, 0x7e, e4m3_to_f32, f32_to_e4m3);
    check_8_bits(5, 2, 0x7b, e5m2_to_f32, f32_to_e5m2);
    assert_true(e4m3_to_f32(0x7e) == 448 && e5m2_to_f32(0x7b) == 57344);
    assert_int_equal(f32_to_e4m3(463.0f), 0x7e);
    assert_int_equal(f32_to_e4m3(479.0f), 0x7e);
    assert_true(e5m2_to_f32(0x7c) == INFINITY && isnan(e5m2_to_f32(0x7d)));
}

static void dtypes_have_names_and_synonyms(void **state)
{
    (void)state;
    DType t;

    for (int i = 0; i < DT_COUNT; i++) {
        assert_true(dtype_parse(dtype_name((DType)i), &t));
        assert_int_equal(t, i);
    }
    assert_true(dtype_parse("half", &t) && t == DT_F16);
    assert_true(dtype_parse("BFloat16", &t) && t == DT_BF16);
    assert_true(dtype_parse("float", &t) && t == DT_F32);
    assert_true(dtype_parse("f64", &t) && t == DT_F64);
    assert_true(dtype_parse("fp8", &t) && t == DT_E4M3);
    assert_true(dtype_parse("fp8_e5m2", &t) && t == DT_E5M2);
    assert_false(dtype_parse("fp3", &t));
    assert_false(dtype_parse("", &t));
    assert_int_equal(dtype_bytes(DT_BF16), 2);
    assert_true(dtype_is_float(DT_F16) && !dtype_is_float(DT_I64));
    assert_true(dtype_epsilon(DT_BF16) == 0x1p-7 && dtype_epsilon(DT_I32) == 0);
}

static void elements_are_stored_and_loaded(void **state)
{
    static const struct {
        DType type;
        double value, back;
    } cases[] = {
        {DT_F32, 0.1, 0.1f}, {DT_F64, 0.1, 0.1}, {DT_F16, 0.1, 0x1.998p-4}, {DT_BF16, 0.1, 0x1.9ap-4},
        {DT_I32, -3.7, -3}, {DT_I32, 1e30, 2147483647}, {DT_I32, -1e30, -2147483648.0},
        {DT_I32, NAN, 0}, {DT_I64, 1e30, 0x1p63}, {DT_I64, -1e30, -0x1p63}, {DT_I64, 12345678901, 12345678901},
        {DT_I8, 200, 127}, {DT_I8, -1e9, -128}, {DT_I8, -2.9, -2}, {DT_I8, NAN, 0}, {DT_U8, 300, 255}, {DT_U8, -3, 0}, {DT_U8, 254.9, 254},
        {DT_BOOL, 2.5, 1}, {DT_BOOL, 0, 0}, {DT_F16, 1e9, INFINITY}, {DT_E4M3, 0.1, 0x1.ap-4}, {DT_E5M2, -1e9, -57344}, {DT_F32, 1e300, INFINITY},
    };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++)
        assert_true(dtype_round(cases[i].type, cases[i].value) == cases[i].back);
}

static void random_numbers_are_the_same_everywhere(void **state)
{
    (void)state;
    Rng rng = {1234567};
    double sum = 0, squares = 0;

    /* the published values of SplitMix64 for this seed */
    assert_true(rng_next(&rng) == 6457827717110365317u);
    assert_true(rng_next(&rng) == 3203168211198807973u);
    assert_true(rng_next(&rng) == 9817491932198370423u);
    for (int i = 0; i < 20000; i++) {
        double u = rng_uniform(&rng), n = rng_normal(&rng);
        int k = rng_below(&rng, 6);

        assert_true(u >= 0 && u < 1 && k >= 0 && k < 6);
        sum += n;
        squares += n * n;
    }
    assert_true(fabs(sum / 20000) < 0.03);
    assert_true(fabs(squares / 20000 - 1) < 0.05);
    assert_int_equal(rng_below(&rng, 0), 0);
}

/* FIPS 180-2's examples, and lengths round the ends of blocks as sha256sum has them. */
static void test_sha256(void **state)
{
    Fixture *f = *state;
    char *as = arena_alloc(f->arena, 1000001);

    memset(as, 'a', 1000000);
    assert_string_equal(sha256_text(f->arena, "", 0),
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(sha256_text(f->arena, "abc", 3),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(sha256_text(f->arena, as, 55),
                        "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    assert_string_equal(sha256_text(f->arena, as, 56),
                        "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    assert_string_equal(sha256_text(f->arena, as, 64),
                        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    assert_string_equal(sha256_text(f->arena, as, 1000000),
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(arena_gives_zeroed_aligned_memory),
        TEST(arena_requests_do_not_overlap),
        TEST(memory_given_back_comes_zeroed),
        TEST(slabs_are_used_again),
        TEST(heap_counts_live_and_peak),
        TEST(impossible_sizes_are_out_of_memory),
        TEST(what_is_guarded_ends_either_way),
        TEST(every_allocation_may_fail),
        TEST(vec_keeps_its_elements),
        TEST(strings_grow),
        TEST(formats_mean_what_vsnprintf_makes_of_them),
        TEST(json_strings_are_quoted),
        TEST(symbols_are_equal_when_their_text_is),
        TEST(words_are_compared),
        TEST(places_count_from_one),
        TEST(a_diagnostic_shows_its_line_and_fix),
        TEST(a_fix_may_insert_lines_elsewhere),
        TEST(colour_is_only_added),
        TEST(hostile_bytes_never_reach_the_terminal),
        TEST(only_a_part_of_a_long_line_is_shown),
        TEST(long_words_are_cut_in_messages),
        TEST(errors_are_bounded_and_counted),
        TEST(diagnostics_are_json_too),
        TEST(every_code_has_its_facts),
        TEST(files_are_written_whole_and_read_back),
        TEST(a_link_is_written_through),
        TEST(failures_of_files_are_sentences),
        TEST(every_16_bit_value_survives_the_round_trip),
        TEST(widening_follows_the_definition),
        TEST(rounding_is_to_nearest_even),
        TEST(overflow_gives_infinity),
        TEST(numbers_of_8_bits),
        TEST(dtypes_have_names_and_synonyms),
        TEST(elements_are_stored_and_loaded),
        TEST(random_numbers_are_the_same_everywhere),
        TEST(test_sha256),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
