/* test_edits.c: how each diagnostic is mended (src/base/mends.def) is true. A code
 * that promises an edit has a program whose edit leaves nothing to say: under
 * tests/check, where test_check.c makes it, or a sketch under tests/reason, which is
 * mended here; one that is mended by hand has none. docs/diagnostics.md holds the
 * same as a table; TW_WRITE_DOCS=1 build/test_edits writes it anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <time.h>

#include "chain/chain.h"
#include "fixture.h"

static const char PAGE[] = "docs/diagnostics.md";

/* ---- programs that are mended ------------------------------------------------------------ */

static int is_program(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);

    return len > 3 && strcmp(entry->d_name + len - 3, ".tl") == 0;
}

static Source *read_program(Arena *arena, const char *path)
{
    const char *error;
    Source *source = source_read(arena, path, &error);

    assert_non_null(source);
    return source;
}

/* The text with all edits made; they do not overlap. */
static Source *mended(Arena *arena, const Source *source, const Diags *diags)
{
    Source *result = arena_new_of(arena, Source);
    Str text = str_new(arena);
    int at = 0;

    for (int i = 0; i < diags->list.len; i++) {
        const Fix *fix = &diags->list.data[i].fix;

        assert_non_null(fix->text);
        assert_true(fix->span.start >= at);
        str_addn(&text, source->text + at, (size_t)(fix->span.start - at));
        str_add(&text, fix->text);
        at = fix->span.end;
    }
    str_add(&text, source->text + at);
    *result = (Source){source->path, str_text(&text), text.len};
    return result;
}

/* As `tw reason` does it. */
static Diags *reason_about(Arena *arena, const Source *source, const char *first_line)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source),
                             target_find("sm_80"), DT_BF16);

    for (const char *set = strstr(first_line, "; set "); set; set = strstr(set + 1, "; set "))
        assert_null(chain_set(chain, arena_strndup(arena, set + 6, strcspn(set + 6, ";\n"))));
    chain->edits = true;
    assert_true(chain_reason(chain, source) == (chain->diags->errors == 0));
    return chain->diags;
}

static void mend_sketch(Arena *arena, const char *path, const char *first_line)
{
    Source *source = read_program(arena, path);
    Diags *diags = reason_about(arena, source, first_line), *after;

    assert_true(diags->list.len > 0);
    after = reason_about(arena, mended(arena, source, diags), first_line);
    if (after->list.len == 0)
        return;
    diags_print(after, stderr, false);
    fail_msg("%s: the suggested edits leave something to say", path);
}

/* Notes the codes whose programs say that they are mended. */
static void read_folder(Arena *arena, const char *folder, bool sketches, bool *proved)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_program, alphasort);

    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const char *path = arena_printf(arena, "%s/%s", folder, entries[i]->d_name);
        const char *text = read_program(arena, path)->text;
        const char *line = arena_strndup(arena, text, strcspn(text, "\n"));

        for (int code = 0; code < DIAG_CODES && strstr(line, "; mended"); code++)
            proved[code] |= strstr(line, diag_info((DiagCode)code)->name) != NULL;
        if (sketches && strstr(line, "; mended"))
            mend_sketch(arena, path, line);
        free(entries[i]);
    }
    free(entries);
}

/* ---- settings that are suggested ----------------------------------------------------------- */

typedef struct Command {
    const char *path, *sets; /* as "K=64 N=64" */
    bool sketch;             /* tw reason; else tw gen */
    DiagCode code;
    const char *drop, *set; /* what is suggested */
} Command;

static void set_each(Chain *chain, const char *sets, const char *but)
{
    for (; sets && *sets; sets += strspn(sets, " ")) {
        size_t len = strcspn(sets, " "), name = strcspn(sets, "=");

        if (!but || strlen(but) != name || strncmp(sets, but, name) != 0)
            assert_null(chain_set(chain, arena_strndup(chain->arena, sets, len)));
        sets += len;
    }
}

/* But for the settings that are dropped, and with others. */
static Diags *command(Arena *arena, const Command *c, const char *drop, const char *set)
{
    Source *source = read_program(arena, c->path);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), target_find("sm_80"), DT_BF16);

    set_each(chain, c->sets, drop);
    set_each(chain, set, NULL);
    chain->edits = true;
    if (c->sketch)
        chain_reason(chain, source);
    else if (chain_define(chain, source) && chain_fuse(chain))
        chain_reason(chain, chain->sketch);
    assert_null(chain->failure);
    return chain->diags;
}

static void try_settings(Arena *arena, bool *proved)
{
    static const Command commands[] = {
        {"ops/attention.tl", "HeadDimm=64", false, TW0210, "HeadDimm", "HeadDim=64"},
        {"ops/attention.tl", "HeadDim=64 kv_len=0", false, TW0211, "kv_len", "kv_len=1"},
        {"tests/fuse/outputs_with_other_rows.tl", "BM=8192", false, TW0502, "BM", NULL},
        {"tests/fuse/powers_of_a_matrix.tl", "BM=8192", false, TW0503, "BM", NULL},
        {"tests/fuse/softmax_along_tiled_columns.tl", "BM=8192", false, TW0504, "BM", NULL},
        {"tests/fuse/columns_and_rows_reduced.tl", "warps=32", false, TW0505, "warps", NULL},
        {"tests/fuse/mask_reads_what_is_computed.tl", "warps=32", false, TW0506, "warps", NULL},
        {"tests/fuse/product_of_a_single_row.tl", "BM=8192", false, TW0508, "BM", NULL},
        {"tests/fuse/places_that_two_loops_share.tl", "BM=8192", false, TW0509, "BM", NULL},
        {"tests/fuse/nothing_to_cut.tl", "splits=2", false, TW0520, "splits", NULL},
        {"ops/mlp.tl", "", false, TW0522, NULL, "K=128 N=128"},
        {"ops/rotary_attention.tl", "", false, TW0522, NULL, "Half=32"}, /* with 64 or 128 there are several kernels as well */
        {"ops/attention.tl", "BM=64", false, TW0605, NULL, "HeadDim=128 VDim=128"},
        {"ops/attention.tl", "HeadDim=64 stages=40", false, TW0610, "stages", "stages=8"},
        {"tests/reason/size_not_of_sixteen.tl", "BM=50", true, TW0610, "BM", "BM=48"},
        {"tests/reason/forced_size_does_not_fit.tl", "BM=512 BN=512", true, TW0611, "BM", NULL},
        {"tests/reason/width_does_not_fit.tl", "HeadDim=8192", true, TW0611, "HeadDim", "HeadDim=2048"},
        {"ops/attention.tl", "HeadDim=64 kept=4", false, TW0612, "kept", NULL},
        {"tests/reason/setting_misspelt.tl", "HeadDimm=64", true, TW0612, "HeadDimm", "HeadDim=64"},
    };

    for (size_t i = 0; i < TW_COUNT(commands); i++) {
        const Command *c = &commands[i];
        const Diags *diags = command(arena, c, NULL, NULL);
        const Option *option = &diags->list.data[0].option;

        assert_true(diags->list.len > 0);
        assert_int_equal(diags->list.data[0].code, c->code);
        assert_non_null(option->label);
        assert_string_equal(option->drop ? option->drop : "", c->drop ? c->drop : "");
        assert_string_equal(option->set ? option->set : "", c->set ? c->set : "");
        assert_int_equal(command(arena, c, option->drop, option->set)->list.len, 0);
        proved[c->code] = true;
    }
}

/* ---- definitions that are mended ------------------------------------------------------------ */

/* What is found when a flow is looked for. */
static void mend_definitions(Arena *arena, bool *proved)
{
    static const struct {
        const char *path;
        DiagCode code;
    } definitions[] = {{"tests/fuse/dimension_of_an_expression.tl", TW0509}, {"tests/fuse/whole_tensor_operation.tl", TW0519}};

    for (size_t i = 0; i < TW_COUNT(definitions); i++) {
        const Source *source = read_program(arena, definitions[i].path);

        for (int after = 0; after < 2; after++) {
            Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), target_find("sm_80"), DT_BF16);
            chain->edits = true;
            assert_true(chain_define(chain, source));
            assert_int_equal(chain_fuse(chain), after);
            assert_int_equal(chain->diags->list.len, !after);
            assert_true(after || chain->diags->list.data[0].code == definitions[i].code);
            source = mended(arena, source, chain->diags);
        }
        proved[definitions[i].code] = true;
    }
}

/* ---- definitions and sketches that are to be compiled ----------------------------------------- */

static void write_code(Arena *arena, bool *proved)
{
    static const char *const paths[] = {"ops/gemm_bias.tl", "ops/attention.tl", "tests/reason/width_does_not_fit.tl", "tests/fuse/heads_with_values_of_their_own.tl"};

    for (size_t i = 0; i < TW_COUNT(paths); i++) {
        const Source *source = read_program(arena, paths[i]);

        for (int after = 0; after < 2; after++) {
            Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), target_find("sm_80"), DT_BF16);
            chain->edits = true;
            assert_int_equal(chain_lower(chain, source) && chain_schedule(chain) && chain_emit(chain), after);
            assert_int_equal(chain->diags->list.len, !after);
            assert_true(after || chain->diags->list.data[0].code == TW0715);
            source = mended(arena, source, chain->diags);
        }
    }
    proved[TW0715] = true;
}

/* ---- tile IR that is mended ------------------------------------------------------------------- */

static Diags *check_tile(Arena *arena, const Source *dump)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, dump), target_find("sm_80"), DT_BF16);

    chain->edits = true;
    assert_true(chain_check_tile(chain, dump) == (chain->diags->errors == 0));
    return chain->diags;
}

/* A dump with a few words changed. */
static void mend_tile(Arena *arena, bool *proved)
{
    static const char dump[] = "program gemm\ndim M in 0..2147483647\ndim N in 0..2147483647\n"
                               "tensor A (M, 64) bf16 in\ntensor B (64, N) bf16 in\ntensor C (M, N) bf16 out\n\n"
                               "kernel gemm grid(n: ceil(N / 64), m: ceil(M / 64)) warps 4 {\n"
                               "  %%C = fill 0 : fp32<64x64>\n"
                               "  %%D = for k = 0:2 carry (%%E = %%C) {\n"
                               "    %%A = load A[m * 64 : rows, k * 32 : cols] : shared bf16<64x32>\n"
                               "    %%B = load B[k * 32 : rows, %s * 64 : cols] : shared bf16<32x64>\n"
                               "    %%F = %s %%A, %%B, %%E : fp32<64x64>\n"
                               "    yield%s\n  }\n"
                               "  %%G = cast %%D : %s\n"
                               "  store %%%s, %s[m * 64 : rows, %s * 64 : cols]\n}\n";
    static const struct {
        const char *symbol, *op, *yield, *type, *stored, *tensor, *again;
        DiagCode code;
    } cases[] = {
        {"n", "gem", " %F", "bf16<64x64>", "G", "C", "n", TW0751},  {"nn", "gemm", " %F", "bf16<64x64>", "G", "C", "nn", TW0751},
        {"n", "gemm", " %FF", "bf16<64x64>", "G", "C", "n", TW0751}, {"n", "gemm", " %F", "bf61<64x64>", "G", "C", "n", TW0751},
        {"n", "gemm", " %F", "bf16<64x64>", "G", "CC", "n", TW0751}, {"n", "gemm", "", "bf16<64x64>", "G", "C", "n", TW0753},
        {"n", "gemm", " %F", "bf16<64x32>", "G", "C", "n", TW0755}, {"n", "gemm", " %F", "bf16<64x64>", "D", "C", "n", TW0755},
    };

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *text = arena_printf(arena, dump, cases[i].symbol, cases[i].op, cases[i].yield, cases[i].type, cases[i].stored, cases[i].tensor, cases[i].again);
        const Source source = {"dump.tile", text, strlen(text)};
        const Diags *diags = check_tile(arena, &source);

        assert_int_equal(diags->list.len, 1);
        assert_int_equal(diags->list.data[0].code, cases[i].code);
        if (!diags->list.data[0].fix.text)
            fail_msg("no edit for case %d of tile IR", (int)i);
        assert_int_equal(check_tile(arena, mended(arena, &source, diags))->list.len, 0);
        proved[cases[i].code] = true;
    }
}

/* One place of a text changed, each time. */
static const char PRODUCT[] = "program product\ntensor A (32, 16) bf16 in\ntensor B (16, 16) bf16 in\ntensor C (32, 16) fp32 out\n\n"
                              "kernel main warps 2 shared_bytes 1536 facts(expanded, staged, assigned, allocated, synced) {\n"
                              "  %A = buffer : bf16<1x32x16> panels(32) at 0\n"
                              "  %B = buffer : bf16<1x16x16> panels(32) at 1024\n"
                              "  copy_async A[0 : rows, 0 : cols], %A[0]\n"
                              "  copy_async B[0 : rows, 0 : cols], %B[0]\n"
                              "  commit\n  wait 0\n  barrier\n"
                              "  %a = view %A[0] : shared bf16<32x16> panels(32)\n"
                              "  %b = view %B[0] : shared bf16<16x16> panels(32)\n"
                              "  %s = gemm %a, %b : fp32<32x16> mma_c(2x1)\n"
                              "  store %s, C[0 : rows, 0 : cols]\n}\n";
static const char SIDES[] = "program sides\ndim len in 0..2147483647\ntensor X (len, 16) bf16 in\ntensor Y (len, 16) bf16 out\n\n"
                            "kernel main grid(m: 1) warps 2 facts(expanded, staged, synced) {\n"
                            "  %K = ring : bf16<2x16x16>\n"
                            "  roles {\n"
                            "    load (warps 1) {\n"
                            "      for j = 0:ceil(len / 16) {\n"
                            "        acquire %K\n"
                            "        copy_async X[j * 16 : rows, 0 : cols], %K\n"
                            "        filled %K\n"
                            "      }\n    }\n"
                            "    compute (warps 1) {\n"
                            "      for i = 0:ceil(len / 16) {\n"
                            "        %k = await %K : shared bf16<16x16>\n"
                            "        %y = move %k : bf16<16x16>\n"
                            "        store %y, Y[i * 16 : rows, 0 : cols]\n"
                            "        release %K\n"
                            "      }\n    }\n  }\n}\n";
static const char CLUSTER[] = "program p\ntensor X (4, 64) fp32 in\ntensor Y (4) fp32 out\n\n"
                              "kernel main grid(part: 4 cluster, m: 4) warps 1 facts(expanded, staged) {\n"
                              "  %parts = buffer : fp32<1x1x8>\n"
                              "  %x = load X[m : rows, part * 16 : cols] : fp32<1x16>\n"
                              "  barrier across\n"
                              "  %sum = rowsum %x, %parts along columns across : fp32<1x1>\n"
                              "  if part == 0 {\n    store %sum, Y[m]\n  }\n}\n";
static const char RUNNING[] = "program running\ndim k in 0..2147483647\ntensor A (64, k) bf16 in\ntensor B (k, 16) bf16 in\ntensor C (64, 16) fp32 out\n\n"
                              "kernel main warps 4 {\n"
                              "  %o = fill 0 : fp32<64x16>\n"
                              "  %r = for j = 0:ceil(k / 16) carry (%s = %o) {\n"
                              "    %a = load A[0 : rows, j * 16 : cols] : shared bf16<64x16>\n"
                              "    %b = load B[j * 16 : rows, 0 : cols] : shared bf16<16x16>\n"
                              "    %t = gemm %a, %b, %s : fp32<64x16>\n"
                              "    yield %t\n  }\n"
                              "  %u = negate %r : fp32<64x16>\n"
                              "  store %u, C[0 : rows, 0 : cols]\n}\n";

static const char HOISTED[] = "program running\ndim k in 0..2147483647\ntensor A (64, k) bf16 in\ntensor B (k, 16) bf16 in\ntensor C (64, 16) fp32 out\n\n"
                              "kernel main warps 4 {\n"
                              "  %o = fill 0 : fp32<64x16>\n"
                              "  %b = load B[0 : rows, 0 : cols] : shared bf16<16x16>\n"
                              "  %r = for j = 0:ceil(k / 16) carry (%s = %o) {\n"
                              "    %a = load A[0 : rows, j * 16 : cols] : shared bf16<64x16>\n"
                              "    %t = gemm %a, %b, %s : fp32<64x16>\n"
                              "    yield %t\n  }\n"
                              "  store %r, C[0 : rows, 0 : cols]\n}\n";
static const char PAGES[] = "program pages\ndim n in 1..2147483647\ntensor X (6, 4, 8) fp32 in\ntensor Which (2, n) int32 in\ntensor Y (n, 4, 8) fp32 out\n\n"
                            "kernel main grid(b: n) warps 1 {\n"
                            "  for t = 0:2 {\n"
                            "    %x = load X[Which[t, b], 0 : rows, 0 : cols] : fp32<4x8>\n"
                            "    store %x, Y[b, 0 : rows, 0 : cols]\n"
                            "  }\n}\n";
static const char INSTANCES[] = "program halves\ntensor A (32, 32) bf16 in\ntensor C (32, 32) bf16 out\n\n"
                                "kernel main grid(w: 4 within, x: 2) warps 4 facts(expanded, staged) {\n"
                                "  roles {\n"
                                "    part (warps 1 per w) {\n"
                                "      %a = load A[w * 8 : rows, x * 16 : cols] : bf16<8x16>\n"
                                "      store %a, C[w * 8 : rows, x * 16 : cols]\n"
                                "    }\n  }\n}\n";

static const struct {
    const char *text, *from, *to;
    DiagCode code;
    bool otherwise; /* than the text was */
} FAULTS[] = {
    {SIDES, "main grid(m: 1) warps 2", "main grid(m: 1) warps 1", TW0750, false},
    {RUNNING, "  %u = negate %r : fp32<64x16>\n  store %u, C[0 : rows, 0 : cols]\n",
     "  store %u, C[0 : rows, 0 : cols]\n  %u = negate %r : fp32<64x16>\n", TW0751, false},
    {RUNNING, "negate %r", "negate %t", TW0752, false},
    {RUNNING, "warps 4 {", "warps 4 facts(staged) {", TW0754, false},
    {PRODUCT, "bf16<1x32x16> panels(32)", "bf16<1x32x16> panels(64)", TW0756, false},
    {PRODUCT, "bf16<1x32x16> panels(32)", "bf16<1x32x16>", TW0756, false},
    {PRODUCT, "at 1024", "at 1008", TW0759, true},
    {PRODUCT, "shared_bytes 1536", "shared_bytes 1535", TW0759, false},
    {RUNNING, "    %a = load A[0 : rows, j", "    %a = load A[0, j", TW0758, false},
    {RUNNING, "C (64, 16) fp32 out", "C (64, 16) fp32 in", TW0758, false},
    {RUNNING, "A (64, k) bf16 in", "A (64, k) bf16 out", TW0758, false},
    {CLUSTER, "    store", "    %late = buffer : fp32<1x1x8>\n    store", TW0759, true},
    {CLUSTER, "  barrier across\n", "", TW0754, false},
    {CLUSTER, "  barrier across\n", "  barrier across\n  barrier across\n", TW0754, false},
    {SIDES, "        acquire %K\n", "", TW0760, false},
    {SIDES, "        filled %K\n", "", TW0760, false},
    {SIDES, "        release %K\n", "", TW0760, false},
    {SIDES, "        filled %K\n", "        filled %K\n        filled %K\n", TW0760, false},
    {SIDES, "j = 0:ceil(len / 16)", "j = 0:ceil(len / 16) + 1", TW0760, false},
    {SIDES, "i = 0:ceil(len / 16)", "i = 0:len div 16", TW0760, false},
    {RUNNING, "C[0 : rows, 0 : cols]", "C[row : rows, col : cols]", TW0757, false},
    {PAGES, "Y[b, 0 : rows", "Y[b, 0 + row : rows", TW0757, false},
    {PAGES, "for t = 0:2", "for t = 0:Which[0, b]", TW0757, true},
    {RUNNING, "main warps", "main grid(j: 1) warps", TW0757, true},
    {PAGES, "    store %x, Y[b, 0 : rows, 0 : cols]\n", "    if col < 6 {\n      store %x, Y[b, 0 : rows, 0 : cols]\n    }\n", TW0757, true},
    {PAGES, "Y[b, 0 : rows", "Y[y, 0 : rows", TW0751, false},
    {RUNNING, "C[0 : rows", "C[j * 64 : rows", TW0751, true},
    {INSTANCES, "warps 1 per w", "warps 4", TW0757, false},
    {RUNNING, "tensor B", "tensor C (64, 16) fp32 in\ntensor B", TW0758, true},
    {HOISTED, "  %b = load B[0 : rows", "  %b = load B[j * 16 : rows", TW0751, true},
};

/* What the passes and the emitter find. */
static const char TWICE[] = "program twice\ntensor A (64, 64) bf16 in\ntensor B (64, 64) bf16 in\ntensor C (64, 64) fp32 out\n\n"
                            "kernel main warps 4 {\n"
                            "  %a = load A[0 : rows, 0 : cols] : shared bf16<64x64>\n"
                            "  %b = load B[0 : rows, 0 : cols] : shared bf16<64x64>\n"
                            "  %s = gemm %a, %b : fp32<64x64>\n"
                            "  %p = reshape %s : bf16<64x64>\n"
                            "  %c = gemm %p, %b : fp32<64x64>\n"
                            "  store %c, C[0 : rows, 0 : cols]\n}\n";
/* Of 96, four tiles of 24, or three of 32; of columns, two of 20. */
static const char SIZES[] = "program sizes\ndim M in 0..2147483647\ntensor A (M, 96) TYPE in\ntensor B (96, 40) TYPE in\ntensor C (M, 40) fp32 out\n\n"
                            "kernel main grid(n: COUNT, m: ceil(M / 64)) warps WARPS {\n"
                            "  %c = fill 0 : fp32<64xCOLS>\n"
                            "  %d = for k = 0:TURNS carry (%e = %c) {\n"
                            "    %a = load A[m * 64 : rows, k * DEPTH : cols] : shared TYPE<64xDEPTH>\n"
                            "    %b = load B[k * DEPTH : rows, n * COLS : cols] : shared TYPE<DEPTHxCOLS>\n"
                            "    %f = gemm %a, %b, %e : fp32<64xCOLS>\n"
                            "    yield %f\n  }\n"
                            "  store %d, C[m * 64 : rows, n * COLS : cols]\n}\n";

typedef struct Sizes {
    const char *type, *count, *warps, *cols, *turns, *depth;
} Sizes;

static const char *with(Arena *arena, const char *text, const char *from, const char *to)
{
    for (const char *at; (at = strstr(text, from));)
        text = arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return text;
}

static const char *sized(Arena *arena, Sizes sizes)
{
    const char *text = with(arena, with(arena, with(arena, SIZES, "TYPE", sizes.type), "COUNT", sizes.count), "WARPS", sizes.warps);

    return with(arena, with(arena, with(arena, text, "COLS", sizes.cols), "TURNS", sizes.turns), "DEPTH", sizes.depth);
}

static void mend_compiled(Arena *arena, const char *wrong, const char *right, const char *target, DiagCode code)
{
    const Source source = {"dump.tile", wrong, strlen(wrong)};
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, &source), target_find(target), DT_BF16);

    chain->edits = true;
    assert_true(chain_read_tile(chain, &source) && !(chain_schedule(chain) && chain_emit(chain)));
    if (chain->diags->list.len != 1 || chain->diags->list.data[0].code != code || !chain->diags->list.data[0].fix.text)
        fail_msg("%s has no edit of\n%s", diag_info(code)->name, wrong);
    assert_string_equal(mended(arena, &source, chain->diags)->text, right);
}

static void mend_operands(Arena *arena, bool *proved)
{
    static const struct {
        const char *from, *to;
        DiagCode code;
    } faults[] = {{"reshape", "cast", TW0772}, {"0 : cols] : shared bf16<64x64>\n  %s", "0 : cols] : bf16<64x64>\n  %s", TW0773}};

    for (size_t i = 0; i < TW_COUNT(faults); i++) {
        const char *at = strstr(TWICE, faults[i].from);
        const char *wrong = arena_printf(arena, "%.*s%s%s", (int)(at - TWICE), TWICE, faults[i].to, at + strlen(faults[i].from));
        mend_compiled(arena, wrong, TWICE, "sm_80", faults[i].code);
        proved[faults[i].code] = true;
    }
}

static void mend_sizes(Arena *arena, bool *proved)
{
    static const struct {
        Sizes wrong, right;
        const char *target;
        DiagCode code;
    } faults[] = {
        {{"bf16", "1", "4", "40", "4", "24"}, {"bf16", "1", "4", "40", "3", "32"}, "sm_80", TW0433},
        {{"bf16", "2", "4", "20", "3", "32"}, {"bf16", "2", "4", "32", "3", "32"}, "sm_80", TW0776},
        {{"bf16", "1", "8", "40", "3", "32"}, {"bf16", "1", "4", "40", "3", "32"}, "sm_80", TW0774},
        {{"fp32", "1", "4", "40", "3", "32"}, {"bf16", "1", "4", "40", "3", "32"}, "sm_80", TW0430},
        {{"bf16", "1", "4", "40", "3", "32"}, {"fp16", "1", "4", "40", "3", "32"}, "sm_75", TW0434},
        {{"bf16", "1", "4 stages 16", "40", "1", "96"}, {"bf16", "1", "4 stages 3", "40", "1", "96"}, "sm_80", TW0771},
    };

    for (size_t i = 0; i < TW_COUNT(faults); i++) {
        mend_compiled(arena, sized(arena, faults[i].wrong), sized(arena, faults[i].right), faults[i].target, faults[i].code);
        proved[faults[i].code] = true;
    }
}

/* ---- what is too long ---------------------------------------------------------------------------- */

/* Statements that stand there so many times, each with its number. */
static const char *repeated(Arena *arena, const char *before, const char *each, int n, const char *behind)
{
    Str text = str_new(arena);

    str_add(&text, before);
    for (int i = 0; i < n; i++)
        str_add(&text, with(arena, with(arena, each, "NEXT", arena_printf(arena, "%d", i + 1)), "THIS", arena_printf(arena, "%d", i)));
    str_add(&text, behind);
    return str_text(&text);
}

#define KERNEL "Kernel k\n  Input X (M, 64) fp32\n  Output Y (M, 64) fp32\n  Grid m = ceil(M / 64)\n  Allocate X in register (64, 64)\n  Allocate Y in register (64, 64)\n"
#define OPERATOR "Operator f\n  Input X (M, N)\n  Output Y (M, N)\n"

static void mend_long(Arena *arena, bool *proved)
{
    static const char in[] = "  Copy X (64, 64) in coordinate [M = m] from global to register\n  Compute Exp X and get Y\n",
                      out[] = "  Copy Y (64, 64) in coordinate [M = m] from register to global\nend\n";
    const struct {
        const char *before, *each;
        int n;
        const char *behind, *then; /* what the text says then */
    } texts[] = {
        {KERNEL, "  x = 1\n", 66000, arena_printf(arena, "%s%s", in, out), KERNEL "  x = 1\n  Copy"},
        {arena_printf(arena, "%s%s", KERNEL, in), "  Compute Add Y, 1 and get new Y\n  Compute Multiply Y, 2 and get new Y\n", 33000, out,
         "  for turn = 0:33000\n    Compute Add Y, 1 and get new Y\n    Compute Multiply Y, 2 and get new Y\n  end\n"},
        {arena_printf(arena, "%s%s", KERNEL, in), "  Compute Add Y, THIS and get new Y\n", 66000, out, "    Compute Add Y, turn and get new Y\n"},
        {KERNEL, "  Allocate T_THIS in register (16, 16)\n", 4100, arena_printf(arena, "%s%s", in, out), KERNEL "  Copy"},
        {OPERATOR, "  Param p_THIS = 3\n", 2500, "  Compute Multiply X, p_7 and get Y\nend\n", OPERATOR "  Param p_7 = 3\n  Compute"},
        {OPERATOR "  Compute Exp X and get A_0\n", "  Compute Exp A_THIS and get A_NEXT\n", 1200, "  Compute Multiply X, 2 and get Y\nend\n", OPERATOR "  Compute Multiply"},
        {OPERATOR "  Compute Exp X and get S\n", "  Compute Tanh X and get A_THIS\n  Compute Add S, A_THIS and get new S\n", 600, "  Compute Multiply S, 2 and get Y\nend\n",
         "  Compute Add S, A_0 and get new S\n  Compute Add S, A_0 and get new S\n"},
        {OPERATOR "  Param p\n  Let a_0 = p\n", "  Let a_NEXT = a_THIS + a_THIS\n", 40, "  Compute Multiply X, a_40 and get Y\nend\n", "  Let a_40 = 2 * a_39\n"},
    };

    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        const char *text = repeated(arena, texts[i].before, texts[i].each, texts[i].n, texts[i].behind);
        Source *source = arena_new_of(arena, Source);
        *source = (Source){"long.tl", text, strlen(text)};

        for (int after = 0; after < 2; after++) {
            Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), target_find("sm_80"), DT_BF16);
            chain->edits = true;
            chain_check(chain, source, false);
            if (chain->diags->list.len != !after || (!after && (chain->diags->list.data[0].code != TW0108 || !chain->diags->list.data[0].fix.text))) {
                diags_print(chain->diags, stderr, false);
                fail_msg("text %d that is too long has no edit that leaves nothing to say", (int)i);
            }
            source = mended(arena, source, chain->diags);
        }
        if (!strstr(source->text, texts[i].then))
            fail_msg("text %d that is too long became\n%.2000s", (int)i, source->text);
    }
    proved[TW0108] = true;
}

/* ---- code that is translated ------------------------------------------------------------------- */

static Diags *translated(Arena *arena, const Source *source, bool done)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), target_find("sm_89"), DT_BF16);

    chain->edits = true;
    assert_int_equal(chain_lower(chain, source) && chain_translate(chain), done);
    return chain->diags;
}

/* Code that is not translated as it stands (TW0790) is, when it is mended. */
static void expect_translated(Arena *arena, const char *code)
{
    const Source source = {"code.tl", code, strlen(code)};
    const Diags *diags = translated(arena, &source, false);

    assert_true(diags->list.len == 1 && diags->list.data[0].code == TW0790);
    assert_int_equal(translated(arena, mended(arena, &source, diags), true)->list.len, 0);
}

/* Parts of a tile in shared memory, which is read as a whole as well. */
static void mend_parts(Arena *arena)
{
    static const char code[] = "Kernel k\n  Input A (M, 64) bf16\n  Input B (N, 64) bf16\n  Output C (M, 64) fp32\n"
                               "  Grid m = ceil(M / 64)\n"
                               "  Allocate A in shared (64, 64) bf16\n  Allocate B in shared (64, 64) bf16\n"
                               "  Allocate S in register (64, 64) fp32\n  Allocate C in register (64, 64) fp32\n"
                               "  Copy A (64, 64) in coordinate [M = m] from global to shared\n"
                               "  Compute Fill C, 0\n"
                               "  for n = 0:ceil(N / 64)\n"
                               "    Copy B (64, 64) in coordinate [N = n] from global to shared\n"
                               "    Compute GEMM A, B.T and get S\n"
                               "    Reshape S from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)\n"
                               "    Compute GEMM S, B[:, 0:32] and accumulate C[:, 0:32]\n"
                               "    Compute GEMM S, B[:, 32:64] and accumulate C[:, 32:64]\n"
                               "  end\n"
                               "  Copy C (64, 64) in coordinate [M = m] from register to global\n"
                               "  Schedule sm_89\n    warps = 4\n  end\nend\n";
    expect_translated(arena, code);
}

static void mend_translation(Arena *arena, bool *proved)
{
    static const char code[] = "Kernel k\n  Input A (M, 64) e4m3\n  Input B (N, 64) e4m3\n  Input U (64, 64) bf16\n  Output C (M, 64) fp32\n"
                               "  Grid m = ceil(M / 64)\n"
                               "  Allocate A in shared (64, 64) e4m3\n  Allocate B in shared (64, 64)\n"
                               "  Allocate U in shared (64, 64) bf16\n  Allocate S in register (64, 64) fp32\n"
                               "  Allocate C in register (64, 64) fp32\n"
                               "  Copy A (64, 64) in coordinate [M = m] from global to shared\n"
                               "  Copy B (64, 64) in coordinate [N = 0] from global to shared\n"
                               "  Copy U (64, 64) from global to shared\n"
                               "  Compute GEMM A, B.T and get S\n"
                               "  Reshape S from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)\n"
                               "  Compute GEMM S, U and get C\n"
                               "  Copy C (64, 64) in coordinate [M = m] from register to global\n"
                               "  Schedule sm_89\n    warps = 4\n  end\nend\n";
    expect_translated(arena, code);
    mend_parts(arena);
    proved[TW0790] = true;
}

static void mend_faults(Arena *arena, bool *proved)
{
    for (size_t i = 0; i < TW_COUNT(FAULTS); i++) {
        const char *right = FAULTS[i].text, *at = strstr(right, FAULTS[i].from);
        const char *text = arena_printf(arena, "%.*s%s%s", (int)(at - right), right, FAULTS[i].to, at + strlen(FAULTS[i].from));
        const Source source = {"dump.tile", text, strlen(text)};
        const Diags *diags = check_tile(arena, &source);

        if (diags->list.len != 1 || diags->list.data[0].code != FAULTS[i].code)
            fail_msg("fault %d of tile IR is not what is said of it", (int)i);
        if (!diags->list.data[0].fix.text)
            fail_msg("no edit for fault %d of tile IR", (int)i);
        const Source *then = mended(arena, &source, diags);
        assert_true(FAULTS[i].otherwise ? check_tile(arena, then)->list.len == 0 : strcmp(then->text, right) == 0);
        proved[FAULTS[i].code] = true;
    }
}

static void edits_do_what_is_promised(void **state)
{
    Fixture *f = *state;
    bool proved[DIAG_CODES] = {false}, set[DIAG_CODES] = {false};

    read_folder(f->arena, "tests/check", false, proved);
    read_folder(f->arena, "tests/reason", true, proved);
    mend_definitions(f->arena, proved);
    write_code(f->arena, proved);
    mend_tile(f->arena, proved);
    mend_faults(f->arena, proved);
    mend_operands(f->arena, proved);
    mend_sizes(f->arena, proved);
    mend_translation(f->arena, proved);
    mend_long(f->arena, proved);
    try_settings(f->arena, set);
    for (int code = 0; code < DIAG_CODES; code++) {
        const DiagMend *mend = diag_mend((DiagCode)code);
        const char *name = diag_info((DiagCode)code)->name;

        if (!mend->how || !*mend->how)
            fail_msg("%s has no row in src/base/mends.def", name);
        if (mend->edit && !proved[code])
            fail_msg("%s promises an edit, and no program shows one that leaves nothing to say", name);
        if (mend->option && !set[code])
            fail_msg("%s promises a setting, and no command shows one", name);
        if (!mend->edit && proved[code])
            fail_msg("%s is mended by an edit, which src/base/mends.def does not say", name);
    }
}

/* ---- a size that is written as a number in thirty places --------------------------------- */

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The text with another number in place of each of this one. */
static Source *with_numbers(Arena *arena, const Source *source, const char *from, const char *to)
{
    Source *result = arena_new_of(arena, Source);
    Str text = str_new(arena);
    size_t n = strlen(from);

    for (size_t i = 0; i < source->len;) {
        bool here = strncmp(source->text + i, from, n) == 0 && !is_word(source->text[i + n]) &&
                    (i == 0 || !is_word(source->text[i - 1]));

        str_addn(&text, here ? to : source->text + i, here ? strlen(to) : 1);
        i += here ? n : 1;
    }
    *result = (Source){source->path, str_text(&text), text.len};
    return result;
}

/* The rows of a cache are 32 at most; the queries, 64 as well, stay as they are. */
static void a_smaller_tile_everywhere(void **state)
{
    Fixture *f = *state;
    const Source *right = read_program(f->arena, "tests/lower/mla_decode_split.tl");
    Source *large = with_numbers(f->arena, right, "32", "64");
    Chain *chain = chain_new(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), diags_new(f->arena, large),
                             target_find("sm_80"), DT_BF16);

    chain->edits = true;
    assert_false(chain_check(chain, large, false));
    assert_int_equal(chain->diags->list.len, 1);
    assert_int_equal(chain->diags->list.data[0].code, TW0460);
    assert_string_equal(mended(f->arena, large, chain->diags)->text, right->text);
}

/* Many names beside the sizes that matter: each is looked up, and none of them is tried. */
static void sizes_among_many_names(void **state)
{
    Fixture *f = *state;
    Str text = str_new(f->arena);
    Source source = {.path = "long.tl"};
    Chain *chain;
    clock_t start;

    str_add(&text, "Kernel k\nInput A (M, 64) bf16\nInput B (64, N) bf16\nOutput C (M, N) bf16\nBM = 640\nBN = 512\n");
    for (int i = 0; i < 2000; i++)
        str_printf(&text, "p%d = %d\n", i, i + 1);
    str_add(&text, "Grid m = ceil(M / BM), n = ceil(N / BN)\n"
                   "Allocate A in shared (BM, 64)\nAllocate B in shared (64, BN)\nAllocate C in register (BM, BN)\n"
                   "Copy A (BM, 64) in coordinate [M = m] from global to shared\n"
                   "Copy B (64, BN) in coordinate [N = n] from global to shared\n"
                   "Compute GEMM A, B and get C\nCopy C (BM, BN) in coordinate [M = m, N = n] from register to global\nend\n");
    source.text = str_text(&text);
    source.len = text.len;
    chain = chain_new(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), diags_new(f->arena, &source), target_find("sm_80"), DT_BF16);
    chain->edits = true;
    start = clock();
    assert_false(chain_check(chain, &source, false));
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5); /* 15 when names were looked for one by one */
    assert_int_equal(chain->diags->list.data[0].code, TW0461);
    assert_string_equal(chain->diags->list.data[0].fix.text, "32");
}

/* A program of many words is tried likewise, as long as that takes little. */
static void a_wrong_number_in_a_long_program(void **state)
{
    Fixture *f = *state;
    Str text = str_new(f->arena);
    Source source = {.path = "long.tl"};
    Chain *chain;

    str_add(&text, "Operator sums\n  Input X (M, 64) fp32\n  Output Y (M, 1) fp32\n  Compute RowSum X and get Y\nend\n");
    for (int i = 0; i < 1500; i++)
        str_printf(&text, "# line %d, of what a kernel of many turns would do here\n", i);
    str_add(&text, "Kernel sums\n  Input X (M, 64) fp32\n  Output Y (M, 1) fp32\n  Grid m = ceil(M / 16)\n"
                   "  Allocate X in register (16, 16) fp32\n  Allocate Y in register (16, 1) fp32\n  Compute Fill Y, 2\n"
                   "  for k = 0:4\n    Copy X (16, 16) in coordinate [m, k] from global to register\n    Compute RowSum X and accumulate Y\n  end\n"
                   "  Copy Y (16, 1) in coordinate [M = m] from register to global\nend\n");
    source.text = str_text(&text);
    source.len = text.len;
    assert_true(source.len > 64 * 1024);
    chain = chain_new(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), diags_new(f->arena, &source), target_find("sm_80"), DT_BF16);
    chain->edits = true;
    assert_true(chain_check(chain, &source, false));
    assert_int_equal(chain->diags->list.len, 1);
    assert_int_equal(chain->diags->list.data[0].code, TW0523);
    assert_string_equal(chain->diags->list.data[0].fix.text, "0");
}

/* ---- the manual's table -------------------------------------------------------------------- */

static const char *page_text(Arena *arena)
{
    Str out = str_new(arena);

    str_add(&out, "# Diagnostics\n\n"
                  "Each diagnostic has a code that never changes, a place, what is wrong, why it matters on the\n"
                  "hardware, and mostly an edit that a program can make (`tw check --json` gives its bytes). An edit\n"
                  "has been tried before it is suggested, or has a rule behind it; the tests make it: the diagnostic\n"
                  "is gone, and there is no other. What the command line mends is suggested likewise, as a setting. Where a\n"
                  "statement is not understood at all, nothing is said yet of\n"
                  "what the others mean, and an edit may leave that. Where no edit is to be thought of, it is said what\n"
                  "to do by hand: what the command line or the machine gives, which number was meant, and what a\n"
                  "program of another tool wrote.\n"
                  "`tw check --fix` makes those that nothing else can have been meant by (`--dry-run`: shows them as a\n"
                  "diff). `tw explain CODE` shows the same with an example.\n\n"
                  "| code | says | mended | how |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < DIAG_CODES; i++) {
        const DiagInfo *info = diag_info((DiagCode)i);
        const DiagMend *mend = diag_mend((DiagCode)i);

        str_printf(&out, "| %s | %s%s | %s | %s |\n", info->name, info->title,
                   info->severity == SEV_WARNING ? " (warning)" : "", mend->sure ? "edit, `--fix`" : mend->edit ? "edit" : mend->option ? "setting" : "by hand", mend->how);
    }
    str_add(&out, "\nCodes that are no more, and what says now what they said: ");
    for (const DiagRetired *r = diag_retired(); r->name; r++)
        str_printf(&out, "%s%s (%s)", r > diag_retired() ? ", " : "", r->name, diag_info(r->now)->name);
    str_add(&out, ".\n");
    return str_text(&out);
}

static void the_manual_has_the_table(void **state)
{
    Fixture *f = *state;
    const char *text = page_text(f->arena);

    if (getenv("TW_WRITE_DOCS"))
        assert_null(file_write(f->arena, PAGE, text, strlen(text)));
    if (strcmp(read_program(f->arena, PAGE)->text, text) != 0)
        fail_msg("%s is not what src/base/mends.def says: TW_WRITE_DOCS=1 build/test_edits", PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(edits_do_what_is_promised, setup, teardown),
        cmocka_unit_test_setup_teardown(a_smaller_tile_everywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_among_many_names, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_number_in_a_long_program, setup, teardown),
        cmocka_unit_test_setup_teardown(the_manual_has_the_table, setup, teardown),
    };

    return cmocka_run_group_tests_name("edits", tests, NULL, NULL);
}
