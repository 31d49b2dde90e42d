/* test_reason.c: every .tl file of tests/reason is a sketch; its first line says
 * what to expect of it:
 *
 *   # expect: code; set HeadDim=64; target sm_86
 *   # expect: TW0605 4:3
 *
 *   code               the second Kernel of the file, word for word, which the
 *                      checker has nothing to say about
 *   CODE LINE:COLUMN   the one diagnostic
 *
 * Every code of TW06xx must be expected somewhere. Then the sketches of
 * tests/fuse are reasoned about for all targets and under many settings: what is
 * chosen fits the target, passes the checker and is said why. */
#include "check/check.h"

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>

#include "reason/plan.h"

#include <math.h>

typedef struct Case {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Syms *syms;
    const char *path;
    const Source *source;
    Diags *diags;
    Settings settings;
    ReasonOptions options;
    const char *expected; /* "code", or "TW0605 4:3" */
    char code[16];        /* its first word, which outlives the arena */
} Case;

/* ---- files ----------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static void read_option(Case *t, const char *option)
{
    if (starts_with(option, "set "))
        assert_null(settings_add(t->arena, &t->settings, option + 4));
    else if (starts_with(option, "target "))
        t->options.target = target_find(option + 7);
    else if (!starts_with(option, "bind ") && !starts_with(option, "splits ") && strcmp(option, "mended") != 0 &&
             strcmp(option, "fitting") != 0 && strcmp(option, "folded") != 0)
        fail_msg("%s: unknown option '%s'", t->path, option);
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

static void open_case(Case *t)
{
    const char *error;

    t->heap.on_oom = &t->oom;
    t->arena = arena_new(&t->heap);
    t->syms = syms_new(t->arena);
    t->source = source_read(t->arena, t->path, &error);
    assert_non_null(t->source);
    t->diags = diags_new(t->arena, t->source);
    t->settings = (Settings){.dtype = DT_BF16};
    t->options = (ReasonOptions){.target = target_find("sm_80"), .settings = &t->settings, .dtype = DT_BF16};
    read_first_line(t);
}

/* Without the comment above it, which may be the first line. */
static const char *unit_text(Arena *arena, const Unit *unit)
{
    Str text = str_new(arena);
    Unit bare = *unit;

    bare.comment = NULL;
    lang_print_unit(&text, &bare);
    return str_text(&text);
}

/* The n-th Kernel of a program as a program. */
static Program *kernel_alone(Arena *arena, const Program *program, int n)
{
    Program *alone = arena_new_of(arena, Program);

    alone->source = program->source;
    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == UNIT_KERNEL && n-- == 0)
            vec_push(arena, &alone->units, program->units.data[i]);
    return alone;
}

/* ---- what came of it ---------------------------------------------------------------- */

static const char *diag_text(Case *t, const Diag *diag)
{
    int line = 0, column = 0;

    if (diag->source)
        source_place(diag->source, diag->span.start, &line, &column);
    return arena_printf(t->arena, "%s %d:%d", diag_info(diag->code)->name, line, column);
}

/* Code parses back to itself and the checker has nothing to say. */
static void expect_clean(Arena *arena, const char *path, const Program *code, const Target *target)
{
    Source source = {"code.tl", NULL, 0};
    Diags *diags = diags_new(arena, &source);
    Settings settings = {.dtype = DT_BF16};
    CheckOptions options = {.target = target, .settings = &settings};
    Str text = str_new(arena);
    Syms *syms = syms_new(arena);

    lang_print(&text, code);
    source.text = str_text(&text);
    source.len = text.len;
    Program *back = lang_parse(arena, syms, &source, diags);
    if (diags->errors || !check_program(arena, syms, back, &options, diags) || diags->list.len) {
        diags_print(diags, stderr, false);
        fail_msg("%s: the checker does not like\n%s", path, source.text);
    }
    for (int i = 0; i < code->units.len; i++)
        assert_string_equal(unit_text(arena, back->units.data[i]), unit_text(arena, code->units.data[i]));
}

static void compare_code(Case *t, const Program *program, const ReasonResult *result)
{
    const Program *want = kernel_alone(t->arena, program, 1);

    if (!result) {
        diags_print(t->diags, stderr, false);
        fail_msg("%s: no code", t->path);
    }
    if (want->units.len == 0 ||
        strcmp(unit_text(t->arena, result->code->units.data[0]), unit_text(t->arena, want->units.data[0])) != 0)
        fail_msg("%s: the code is\n%s", t->path, unit_text(t->arena, result->code->units.data[0]));
    expect_clean(t->arena, t->path, result->code, t->options.target);
}

static void compare_diags(Case *t, const ReasonResult *result)
{
    if (result || t->diags->list.len != 1 || strcmp(diag_text(t, &t->diags->list.data[0]), t->expected) != 0) {
        diags_print(t->diags, stderr, false);
        fail_msg("%s: expected %s", t->path, t->expected);
    }
}

static void run_case(void **state)
{
    Case *t = *state;

    if (setjmp(t->oom))
        fail_msg("out of memory");
    open_case(t);
    Program *program = lang_parse(t->arena, t->syms, t->source, t->diags);
    if (program->units.len > 0)
        unit_say_sides(t->arena, program->units.data[0]);
    assert_int_equal(t->diags->errors, 0);
    const Program *sketch = kernel_alone(t->arena, program, 0);
    if (sketch->units.len == 0)
        sketch = program; /* a fragment */
    ReasonResult *result = reason(t->arena, t->syms, sketch, &t->options, t->diags);
    if (strcmp(t->expected, "code") == 0)
        compare_code(t, program, result);
    else
        compare_diags(t, result);
    arena_free(t->arena);
}

/* ---- choices ---------------------------------------------------------------------------- */

static void begin(Case *t)
{
    memset(t, 0, sizeof *t);
    t->heap.on_oom = &t->oom;
    t->arena = arena_new(&t->heap);
}

static ReasonResult *reason_at(Case *t, const char *text, const char *target, const char *const *sets, int n, const Settings *launch)
{
    Source *source = arena_new_of(t->arena, Source);
    DType dtype = target_has_dtype(target_find(target), DT_BF16) ? DT_BF16 : DT_F16;

    *source = (Source){"sketch.tl", text, strlen(text)};
    t->syms = syms_new(t->arena);
    t->diags = diags_new(t->arena, source);
    t->settings = (Settings){.dtype = dtype};
    for (int i = 0; i < n; i++)
        assert_null(settings_add(t->arena, &t->settings, sets[i]));
    t->options = (ReasonOptions){.target = target_find(target), .settings = &t->settings, .launch = launch, .dtype = dtype};
    Program *program = lang_parse(t->arena, t->syms, source, t->diags);
    return reason(t->arena, t->syms, program, &t->options, t->diags);
}

static ReasonResult *reason_text(Case *t, const char *text, const char *target, const char *const *sets, int n)
{
    return reason_at(t, text, target, sets, n, NULL);
}

static double code_number(Case *t, const ReasonResult *result, const char *name)
{
    Str text = str_new(t->arena);
    const char *at;

    lang_print(&text, result->code);
    at = strstr(str_text(&text), arena_printf(t->arena, " %s = ", name));
    return at ? strtod(at + strlen(name) + 4, NULL) : -1;
}

static const char attention[] =
    "Kernel attention\n"
    "  Input  Q (batch, q_heads, q_len, D)\n  Input  K (batch, kv_heads, kv_len, D)\n"
    "  Input  V (batch, kv_heads, kv_len, D)\n  Output O (batch, q_heads, q_len, D)\n"
    "  Grid over q_len, q_heads, batch\n"
    "  Copy Q from global to shared\n"
    "  for j over kv_len\n"
    "    Copy K from global to shared\n    Copy V from global to shared\n"
    "    Compute GEMM Q, K.T and get S\n    Compute Softmax S with M and L\n"
    "    Compute GEMM S, V and accumulate O\n"
    "  end\n"
    "  Compute Divide O, L else 0 and get new O\n  Copy O from register to global\nend\n";

static const char gemm[] = "Kernel gemm\n"
                           "  Input  A (M, K)\n  Input  B (K, N)\n  Output C (M, N)\n"
                           "  Grid over M, N\n"
                           "  for k over K\n"
                           "    Copy A from global to shared\n    Copy B from global to shared\n"
                           "    Compute GEMM A, B and accumulate C\n"
                           "  end\n"
                           "  Copy C from register to global\nend\n";

typedef struct Expectation {
    const char *sketch, *sets[4];
    int n_sets;
    const char *name;
    double value;
} Expectation;

/* What the model must find: the shapes that hand-written libraries arrived at. */
static void known_good_choices(void **state)
{
    static const Expectation rows[] = {
        {attention, {"D=128"}, 1, "BM", 128},
        {attention, {"D=128"}, 1, "BN", 64},
        {attention, {"D=128"}, 1, "warps", 4},
        {attention, {"D=128"}, 1, "stages", 1}, /* two blocks share the 164 KiB */
        {attention, {"D=128"}, 1, "blocks_per_sm", 2},
        {attention, {"D=64"}, 1, "BM", 128},
        {attention, {"D=64"}, 1, "warps", 4},
        {attention, {"D=64"}, 1, "stages", 2},
        {attention, {"D=128", "q_len=1"}, 2, "BM", 16}, /* the least, of one warp */
        {gemm, {NULL}, 0, "BM", 128},
        {gemm, {NULL}, 0, "BN", 128},
        {gemm, {NULL}, 0, "warps_n", 2},
        /* forced */
        {attention, {"D=128", "BM=64", "BN=32"}, 3, "BM", 64},
        {attention, {"D=128", "BM=64", "BN=32"}, 3, "BN", 32},
        {attention, {"D=128", "warps=8"}, 2, "warps", 8},
        {attention, {"D=128", "stages=1"}, 2, "stages", 1},
        {attention, {"D=128", "blocks_per_sm=1"}, 2, "blocks_per_sm", 1},
        {gemm, {"BK=32"}, 1, "BK", 32},
        /* with more registers left to the assembler than there are beside 64 columns */
        {attention, {"D=128", "spare=16"}, 2, "spare", 16},
        {attention, {"D=128", "spare=16"}, 2, "BN", 32},
    };
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, rows[i].sketch, "sm_80", rows[i].sets, rows[i].n_sets);
        if (!result)
            diags_print(t.diags, stderr, false);
        assert_non_null(result);
        if (code_number(&t, result, rows[i].name) != rows[i].value)
            fail_msg("%s is %g where %g is expected (row %zu)", rows[i].name, code_number(&t, result, rows[i].name),
                     rows[i].value, i);
        arena_free(t.arena);
    }
}

/* S times what a mask leaves of G */
static const char decayed[] =
    "Kernel decayed\n"
    "  Input  Q (q_len, D)\n  Input  K (kv_len, D)\n  Input  V (kv_len, D)\n  Output O (q_len, D)\n"
    "  Grid over q_len\n"
    "  Copy Q from global to shared\n"
    "  for j over kv_len\n"
    "    Copy K from global to shared\n    Copy V from global to shared\n"
    "    Compute GEMM Q, K.T and get S\n    Compute Exp S and get G\n"
    "    Compute Mask G where col(G) <= row(G) else 0\n    Compute Multiply S, G and get new S\n"
    "    Compute GEMM S, V and accumulate O\n"
    "  end\n"
    "  Copy O from register to global\nend\n";

static const char gated[] = "Kernel gated\n"
                            "  Input  A (M, K)\n  Input  B (K, N)\n  Input  C (K, N)\n  Output D (M, N)\n"
                            "  Grid over M, N\n"
                            "  for k over K\n"
                            "    Copy A from global to shared\n    Copy B from global to shared\n"
                            "    Copy C from global to shared\n"
                            "    Compute GEMM A, B and accumulate G\n    Compute GEMM A, C and accumulate H\n"
                            "  end\n"
                            "  Compute Silu G and get D\n  Compute Multiply D, H and get new D\n"
                            "  Copy D from register to global\nend\n";

/* The accumulator of the first is stored behind the loop, beside what was made of it; of the second,
 * what was made is at once reduced. */
static const char both_stored[] = "Kernel both\n"
                                  "  Input  A (M, K)\n  Input  B (K, N)\n  Output C (M, N)\n  Output D (M, N) fp32\n"
                                  "  Grid over M, N\n"
                                  "  for k over K\n"
                                  "    Copy A from global to shared\n    Copy B from global to shared\n"
                                  "    Compute GEMM A, B and accumulate D\n"
                                  "  end\n"
                                  "  Compute Gelu D and get C\n"
                                  "  Copy C from register to global\n  Copy D from register to global\nend\n";

static const char quantized[] = "Kernel quantized\n"
                                "  Input  A (M, K)\n  Input  B (K, N)\n  Output C (M, N)\n  Output s (M, 1) fp32\n"
                                "  Grid over M\n"
                                "  for k over K\n"
                                "    Copy A from global to shared\n    Copy B from global to shared\n"
                                "    Compute GEMM A, B and accumulate D\n"
                                "  end\n"
                                "  Compute Abs D and get E\n  Compute RowMax E and get s\n"
                                "  Compute Divide D, s and get C\n"
                                "  Copy C from register to global\n  Copy s from register to global\nend\n";

#define EIGHT_BITS(output, more)                                                                               \
    "Kernel eight\n"                                                                                           \
    "  Input  Q (q_len, D) e4m3\n  Input  K (kv_len, D) e4m3\n  Input  V (kv_len, D) e4m3\n"                   \
    "  Output O (q_len, D)\n" output "  Grid over q_len\n"                                                     \
    "  Copy Q from global to shared\n"                                                                         \
    "  for j over kv_len\n"                                                                                    \
    "    Copy K from global to shared\n    Copy V from global to shared\n"                                     \
    "    Compute GEMM Q, K.T and get S\n    Compute Softmax S with M and L\n"                                  \
    "    Compute GEMM S, V and accumulate O\n"                                                                 \
    "  end\n"                                                                                                  \
    "  Compute Divide O, L else 0 and get new O\n  Copy O from register to global\n" more "end\n"

static const char eight[] = EIGHT_BITS("", "");

/* `mask`: what S loses or gets by elements of tensors */
#define MASKED(mask)                                                                                           \
    "Kernel masked\n"                                                                                          \
    "  Input  Q (q_len, D)\n  Input  K (kv_len, D)\n  Input  V (kv_len, D)\n  Output O (q_len, D)\n"           \
    "  Input  Keep (q_len, kv_len) bool\n  Input  Doc (1, kv_len) int32\n  Input  Table (1, 32) fp32\n"         \
    "  Index  q over q_len\n  Index  k over kv_len\n"                                                          \
    "  Grid over q_len\n"                                                                                      \
    "  Copy Q from global to shared\n"                                                                         \
    "  for j over kv_len\n"                                                                                    \
    "    Copy K from global to shared\n    Copy V from global to shared\n"                                     \
    "    Compute GEMM Q, K.T and get S\n" mask                                                                 \
    "    Compute Softmax S with M and L\n    Compute GEMM S, V and accumulate O\n"                             \
    "  end\n"                                                                                                  \
    "  Compute Divide O, L else 0 and get new O\n  Copy O from register to global\nend\n"

static const char kept[] = MASKED("    Compute Mask S where Keep[q, k]\n");
static const char documents[] = MASKED("    Compute Mask S where Doc[0, k] == q\n");
static const char distances[] = MASKED("    Compute Define B (q_len, kv_len) as Table[0, min(max(q - k, 0), 31)]\n"
                                       "    Compute Add S, B and get new S\n");

static const char capped[] = MASKED("    Compute Multiply S, 0.02 and get new S\n    Compute Tanh S and get new S\n");

/* An operand that is computed before the loop from tiles which nothing reads in it. */
static const char turned[] =
    "Kernel turned\n"
    "  Input  Q (q_len, D)\n  Input  C (q_len, D) fp32\n  Input  K (kv_len, D)\n  Input  V (kv_len, D)\n"
    "  Output O (q_len, D)\n  Grid over q_len\n"
    "  Compute Define P (q_len, D) as Q[row, col]\n  Copy C from global to register\n"
    "  Compute Multiply P, C and get T\n"
    "  for j over kv_len\n"
    "    Copy K from global to shared\n    Copy V from global to shared\n"
    "    Compute GEMM T, K.T and get S\n    Compute Softmax S with M and L\n"
    "    Compute GEMM S, V and accumulate O\n"
    "  end\n"
    "  Compute Divide O, L else 0 and get new O\n  Copy O from register to global\nend\n";

/* A function in many steps between two products. */
static const char hidden[] =
    "Kernel hidden\n"
    "  Input  X (M, K)\n  Input  W (K, F)\n  Input  U (F, N)\n  Output Y (M, N)\n  Grid over M\n"
    "  Copy X from global to shared\n"
    "  for j over F\n"
    "    Copy W from global to shared\n    Copy U from global to shared\n"
    "    Compute GEMM X, W and get H\n    Compute Gelu H and get new H\n    Compute GEMM H, U and accumulate Y\n"
    "  end\n"
    "  Copy Y from register to global\nend\n";

/* Two products of an operand that is computed, by a row that each turn loads into registers. */
static const char by_row[] =
    "Kernel by_row\n"
    "  Input  X (M, K)\n  Input  g (K)\n  Input  A (F, K)\n  Input  B (F, K)\n  Output Y (M, F)\n  Grid over M, F\n"
    "  for k over K\n"
    "    Copy X from global to shared\n    Copy A from global to shared\n    Copy B from global to shared\n"
    "    Copy X from shared to register\n    Copy g from global to register\n"
    "    Compute Multiply X, g and get T\n"
    "    Compute GEMM T, A.T and accumulate G\n    Compute GEMM T, B.T and accumulate U\n"
    "  end\n"
    "  Compute Silu G and get new G\n  Compute Multiply G, U and get Y\n  Copy Y from register to global\nend\n";

/* Transposed scores, an operand that is wanted as it was computed while a product reads it, and rows of numbers that a
 * loop streams; earlier and later products share tiles. */
static const char keys[] =
    "Kernel keys\n"
    "  Input  Q (b, q_len, D)\n  Input  K (b, kv_len, D)\n  Input  V (b, kv_len, D)\n  Input  G (b, q_len, D)\n"
    "  Input  M (b, q_len) fp32\n  Input  R (b, q_len) fp32\n  Input  C (b, q_len) fp32\n"
    "  Output X (b, kv_len, D)\n  Output Y (b, kv_len, D)\n  Grid over kv_len, b\n"
    "  Copy K from global to shared\n  Copy V from global to shared\n"
    "  for i over q_len\n"
    "    Copy Q from global to shared\n    Copy G from global to shared\n    Copy M from global to shared\n"
    "    Copy R from global to shared\n    Copy C from global to shared\n"
    "    Compute GEMM K, Q.T and get S\n    Compute GEMM V, G.T and get T\n    Compute Subtract S, M and get new S\n"
    "    Compute Exp S and get new S\n    Compute Multiply S, R and get new S\n    Compute GEMM S, G and accumulate Y\n"
    "    Compute Subtract T, C and get new T\n    Compute Multiply S, T and get new T\n    Compute GEMM T, Q and accumulate X\n"
    "  end\n"
    "  Copy X from register to global\n  Copy Y from register to global\nend\n";

/* A tile that lasts over a loop which does not touch it. */
static const char lasting[] =
    "Kernel lasting\n"
    "  Input X (M, K)\n"
    "  Input W (K, F)\n"
    "  Input U (F, K)\n"
    "  Output Y (M, K)\n"
    "  Grid over M\n"
    "  Copy X from global to register\n"
    "  Compute Silu X and get N\n"
    "  for j over F\n"
    "    Copy W from global to shared\n"
    "    Copy U from global to shared\n"
    "    Compute GEMM N, W and get H\n"
    "    Compute GEMM H, U and accumulate Y\n"
    "  end\n"
    "  Compute Add Y, X and get new Y\n"
    "  Copy Y from register to global\n"
    "end\n";

/* A sum that each turn makes anew of the turn before's, beside two tiles. */
static const char carried[] =
    "Kernel carried\n"
    "  Input Q (q_len, D)\n"
    "  Input K (kv_len, D)\n"
    "  Input V (kv_len, D)\n"
    "  Output O (q_len, D)\n"
    "  Grid over q_len\n"
    "  Copy Q from global to shared\n"
    "  Compute Fill O, 0\n"
    "  for t over kv_len\n"
    "    Copy K from global to shared\n"
    "    Copy V from global to shared\n"
    "    Compute GEMM Q, K.T and get S\n"
    "    Compute GEMM Q, V.T and get T\n"
    "    Compute RowMax T and get a\n"
    "    Compute Multiply S, T and get new S\n"
    "    Compute Multiply O, a and get new O\n"
    "    Compute GEMM S, V and accumulate O\n"
    "  end\n"
    "  Copy O from register to global\n"
    "end\n";

/* A tile that is multiplied where it lies in shared memory, and then computed with: nothing of it is left for the next turn. */
static const char both_places[] =
    "Kernel both_places\n"
    "  Input X (M, D)\n"
    "  Input Y (N, D)\n"
    "  Output R (M, N) fp32\n"
    "  Grid over M, N\n"
    "  for k over D\n"
    "    Copy X from global to shared\n"
    "    Copy Y from global to shared\n"
    "    Compute GEMM X.shared, Y.T and accumulate R\n"
    "    Copy X from shared to register\n"
    "    Compute Square X and get S\n"
    "    Compute RowSum S and accumulate x\n"
    "  end\n"
    "  Compute Add R, x and get new R\n"
    "  Copy R from register to global\n"
    "end\n";

/* What ptxas 13.0 made of a choice: the blocks for which it spilled nothing, 0 for none. */
typedef struct Assembled {
    const char *sketch, *target, *sets[6];
    int blocks;
} Assembled;

/* Registers are an estimate: these are the choices that it was fitted to. What spills must
 * be refused, or given to fewer blocks, and what is fastest and does not must be had. */
static void registers_are_as_ptxas_found(void **state)
{
    static const Assembled rows[] = {
        {attention, "sm_80", {"D=128", "BM=128", "BN=64", "warps=4", "stages=1"}, 2},
        {attention, "sm_80", {"D=64", "BM=128", "BN=128", "warps=4", "stages=2"}, 2},
        {attention, "sm_80", {"D=40", "BM=128", "BN=64", "warps=4", "stages=2"}, 3},
        {attention, "sm_80", {"D=128", "BM=128", "BN=128", "warps=4", "stages=1"}, 0},
        {attention, "sm_86", {"D=128", "BM=128", "BN=32", "warps=8", "stages=1"}, 2},
        {attention, "sm_75", {"D=128", "BM=128", "BN=64", "warps=8", "stages=2"}, 1},
        {attention, "sm_75", {"D=256", "BM=64", "BN=32", "warps=4", "stages=1"}, 1},
        {attention, "sm_75", {"D=256", "BM=64", "BN=32", "warps=4", "stages=2"}, 0},
        {gemm, "sm_80", {"BM=128", "BN=128", "BK=64", "warps=4", "stages=2"}, 2},
        {gemm, "sm_75", {"BM=128", "BN=128", "BK=64", "warps=4", "stages=2"}, 2},
        {gated, "sm_75", {"BM=128", "BN=64", "BK=64", "warps=4", "stages=2"}, 0},
        {decayed, "sm_80", {"D=128", "BM=128", "BN=64", "warps=4", "stages=1"}, 0},
        {decayed, "sm_80", {"D=128", "BM=128", "BN=32", "warps=4", "stages=2"}, 2},
        {kept, "sm_80", {"D=64", "BM=128", "BN=128", "warps=4", "stages=2"}, 0},
        {kept, "sm_80", {"D=64", "BM=128", "BN=64", "warps=4", "stages=2"}, 2},
        {documents, "sm_80", {"D=64", "BM=128", "BN=64", "warps=4", "stages=2"}, 2},
        {capped, "sm_80", {"D=96", "BM=128", "BN=64", "warps=8", "stages=1"}, 1},
        {capped, "sm_80", {"D=96", "BM=128", "BN=64", "warps=4", "stages=2"}, 2},
        {capped, "sm_80", {"D=64", "BM=64", "BN=64", "warps=4", "stages=2"}, 4},
        {distances, "sm_80", {"D=64", "BM=128", "BN=128", "warps=4", "stages=2"}, 0},
        {distances, "sm_90a", {"D=64", "BM=256", "BN=64", "warps=16", "stages=4"}, 0},
        {both_stored, "sm_80", {"BM=128", "BN=128", "BK=64", "warps=4", "stages=2"}, 0},
        {both_stored, "sm_80", {"BM=128", "BN=128", "BK=64", "warps=8", "stages=2"}, 1},
        {quantized, "sm_80", {"N=256", "BM=64", "warps=4", "BN=64", "stages=1"}, 3},
        {eight, "sm_89", {"D=48", "BM=128", "BN=128", "warps=4", "stages=2"}, 2},
        {eight, "sm_90a", {"D=48", "BM=128", "BN=128", "warps=4", "stages=2"}, 0},
        {eight, "sm_90a", {"D=48", "BM=128", "BN=64", "warps=4", "stages=2"}, 2},
        {turned, "sm_80", {"D=64", "BM=128", "BN=64", "warps=8", "stages=2"}, 1},
        {turned, "sm_90a", {"D=64", "BM=128", "BN=128", "warps=8", "stages=2"}, 1},
        {hidden, "sm_80", {"K=64", "N=64", "BM=64", "BN=64", "warps=4"}, 3},
        {lasting, "sm_80", {"K=160", "BM=64", "BN=64", "warps=4", "stages=1"}, 2},
        {lasting, "sm_80", {"K=192", "BM=64", "BN=64", "warps=4", "stages=1"}, 0},
        {carried, "sm_80", {"D=64", "BM=128", "BN=64", "warps=4", "stages=1"}, 2},
        {carried, "sm_80", {"D=96", "BM=128", "BN=64", "warps=4", "stages=1"}, 0},
        {both_places, "sm_80", {"BM=128", "BN=128", "BK=64", "warps=4", "stages=2"}, 2},
        {by_row, "sm_80", {"BM=64", "BN=64", "BK=64", "warps=4", "stages=1"}, 2},
        {keys, "sm_90a", {"D=128", "BM=128", "BN=64", "warps=8", "stages=2"}, 1},
        {keys, "sm_90a", {"D=48", "BM=128", "BN=128", "warps=8", "stages=2"}, 0},
        {keys, "sm_90a", {"D=64", "BM=192", "BN=64", "warps=12", "stages=2"}, 0},
    };
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, rows[i].sketch, rows[i].target, rows[i].sets, 5);
        double blocks = result ? code_number(&t, result, "blocks_per_sm") : 0;
        if (!result && rows[i].blocks)
            diags_print(t.diags, stderr, false);
        if (blocks != rows[i].blocks)
            fail_msg("row %zu: %g blocks where %d is expected", i, blocks, rows[i].blocks);
        arena_free(t.arena);
    }
}

/* Where a table says which blocks count, larger tiles compute what does not. */
static void tiles_are_no_larger_than_blocks(void **state)
{
    static const char *const masks[] = {MASKED("    Compute Mask S where Keep[q div 64, k div 64]\n"), MASKED("    Compute Mask S where Keep[q div 128, k div 128]\n"),
                                        MASKED("    Compute Mask S where Keep[q div 4096, k div 4096]\n")};
    static const struct { const char *target; int most[3]; } cases[] = {{"sm_90a", {64, 128, 128}}, {"sm_80", {64, 128, 128}}};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        for (size_t k = 0; k < TW_COUNT(masks); k++) {
            const char *sets[] = {"D=64"};
            begin(&t);
            ReasonResult *result = reason_text(&t, masks[k], cases[i].target, sets, 1);
            assert_non_null(result);
            double rows = code_number(&t, result, "BM"), columns = code_number(&t, result, "BN"), most = rows > columns ? rows : columns;
            if (most != cases[i].most[k]) fail_msg("%s, mask %zu: tiles of %g rows and %g columns", cases[i].target, k, rows, columns);
            arena_free(t.arena);
        }
}

#define WIDENED(output, more)                                                                                   \
    "Kernel widened\n  Input  X (M, K)\n  Input  W (N, K) int8\n  Input  s (N, 1) fp32\n  Output Y (M, N)\n" output  \
    "  Grid over M, N\n  for k over K\n    Copy W from global to shared\n    Copy X from global to shared\n"         \
    "    Compute Define S (N, K) as s[row, 0]\n    Copy W from shared to register\n"                                   \
    "    Compute Multiply W, S and get D\n    Compute Cast D, bf16 and get E\n" more                                   \
    "    Copy E from register to shared\n    Compute GEMM X, E.shared.T and accumulate Y\n  end\n"                    \
    "  Copy Y from register to global\nend\n"

/* A second operand that is computed is in the registers of a warpgroup that does nothing else, where it is made of loaded
 * tiles alone; what another statement reads as well is not, and warps multiply. */
static void operands_that_are_prepared(void **state)
{
    static const struct {
        const char *sketch, *target;
        bool apart;
    } rows[] = {{WIDENED("", ""), "sm_90a", true},
                {WIDENED("", ""), "sm_89", false},
                {WIDENED("  Output T (N, 1) fp32\n", "    Compute RowSum D and accumulate T\n"), "sm_90a", false}};
    const char *sets[] = {"N=4096", "K=4096"};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, rows[i].sketch, rows[i].target, sets, 2);
        assert_non_null(result);
        bool apart = code_number(&t, result, "BM") == 128 && code_number(&t, result, "BN") == 256 && code_number(&t, result, "warps") == 8;
        if (apart != rows[i].apart)
            fail_msg("row %zu: blocks of %g x %g", i, code_number(&t, result, "BM"), code_number(&t, result, "BN"));
        arena_free(t.arena);
    }
}

static const char two_maps[] =
    "Kernel maps\n  Input  Q (M, D)\n  Input  R (M, D)\n  Input  K (N, D)\n  Input  L (N, D)\n  Input  V (N, D)\n"
    "  Output O (M, D)\n  Grid over M\n  Copy Q from global to shared\n  Copy R from global to shared\n"
    "  for j over N\n    Copy K from global to shared\n    Copy L from global to shared\n    Copy V from global to shared\n"
    "    Compute GEMM Q, K.T and get S\n    Compute Softmax S with Smax and Ssum\n"
    "    Compute GEMM R, L.T and get T\n    Compute Softmax T with Tmax and Tsum\n"
    "    Compute GEMM S, V and accumulate O\n    Compute GEMM T, V and accumulate P\n  end\n"
    "  Compute Divide O, Ssum and get new O\n  Compute Divide P, Tsum and get new P\n"
    "  Compute Subtract O, P and get new O\n  Copy O from register to global\nend\n";

/* Of four products in a turn and three tensors that are streamed, ptxas spills what the estimate says
 * would just fit: that is taken only where all else fits less. */
static void what_may_spill_is_taken_last(void **state)
{
    static const char *const targets[] = {"sm_75", "sm_80"};
    const char *sets[] = {"D=48"}, *forced[] = {"D=128", "BM=64", "BN=16", "warps=4", "stages=1"};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(targets); i++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, two_maps, targets[i], sets, 1);
        assert_non_null(result);
        if (i == 0)
            assert_true(code_number(&t, result, "BN") <= 64);
        arena_free(t.arena);
        begin(&t);
        assert_non_null(reason_text(&t, two_maps, targets[i], forced, 5));
        arena_free(t.arena);
    }
}

static const char plain_weights[] =
    "Kernel weights\n  Input  Q (M, D)\n  Input  K (N, D)\n  Input  V (N, D)\n  Output O (M, D)\n"
    "  Grid over M\n  Copy Q from global to shared\n"
    "  for j over N\n    Copy K from global to shared\n    Copy V from global to shared\n"
    "    Compute GEMM Q, K.T and get S\n    Compute GEMM S, V and accumulate O\n  end\n"
    "  Copy O from register to global\nend\n";

/* So are large tiles that threads load in the turn that uses them, and a second output where
 * operands are widened. */
static void what_is_loaded_at_once_may_spill(void **state)
{
    static const char logarithm[] = EIGHT_BITS("  Output L (q_len, 1) fp32\n", "  Copy L from register to global\n");
    const char *sets[] = {"D=128"}, *forced[] = {"D=128", "BM=128", "BN=64", "warps=4", "stages=1"};
    const char *wide[] = {"D=256", "warps=4"};
    Case t;
    (void)state;

    begin(&t);
    assert_true(code_number(&t, reason_text(&t, plain_weights, "sm_75", sets, 1), "stages") == 2);
    arena_free(t.arena);
    begin(&t);
    assert_non_null(reason_text(&t, plain_weights, "sm_75", forced, 5));
    arena_free(t.arena);
    begin(&t);
    double alone = code_number(&t, reason_text(&t, eight, "sm_90a", wide, 2), "BN");
    double beside = code_number(&t, reason_text(&t, logarithm, "sm_90a", wide, 2), "BN");
    assert_true(beside < alone);
    arena_free(t.arena);
}

/* What a kernel of products becomes where there is more to keep than the estimate counts: a second
 * output beside tiles that threads load at once, a function in two steps of operands that are widened,
 * four products in a turn; of what is likely to be spilled, that which is so least. */
static void what_ptxas_keeps_is_doubted(void **state)
{
    static const char sums[] =
        "Kernel sums\n  Input  Q (q_len, D)\n  Input  K (kv_len, D)\n  Input  V (kv_len, E)\n"
        "  Output O (q_len, E)\n  Output L (q_len, 1) fp32\n  Grid over q_len\n  Copy Q from global to shared\n"
        "  for j over kv_len\n    Copy K from global to shared\n    Copy V from global to shared\n"
        "    Compute GEMM Q, K.T and get S\n    Compute Softmax S with M and L\n"
        "    Compute GEMM S, V and accumulate O\n  end\n"
        "  Compute Divide O, L else 0 and get new O\n  Copy O from register to global\n"
        "  Copy L from register to global\nend\n";
    static const char squashed[] =
        "Kernel squashed\n  Input  Q (q_len, D) e4m3\n  Input  K (kv_len, D) e4m3\n  Input  V (kv_len, D) e4m3\n"
        "  Output O (q_len, D)\n  Grid over q_len\n  Copy Q from global to shared\n"
        "  for j over kv_len\n    Copy K from global to shared\n    Copy V from global to shared\n"
        "    Compute GEMM Q, K.T and get S\n    Compute %s S and get new S\n"
        "    Compute GEMM S, V and accumulate O\n  end\n  Copy O from register to global\nend\n";
    const char *wide[] = {"D=256", "E=256"}, *deep[] = {"D=192", "E=128", "BM=256", "warps=8"}, *even[] = {"D=128", "E=128", "BM=256", "warps=8"};
    Case t;
    (void)state;

    begin(&t);
    assert_true(code_number(&t, reason_text(&t, sums, "sm_75", wide, 2), "BN") < 32);
    arena_free(t.arena);
    begin(&t); /* 32 rows a warp leave a second output no room beside tiles of three panels */
    assert_true(code_number(&t, reason_text(&t, sums, "sm_80", even, 4), "BN") == 64);
    assert_true(code_number(&t, reason_text(&t, sums, "sm_80", deep, 4), "BN") == 32);
    arena_free(t.arena);
    begin(&t);
    double plain = code_number(&t, reason_text(&t, arena_printf(t.arena, squashed, "Exp"), "sm_90a", wide, 1), "BN");
    double steps = code_number(&t, reason_text(&t, arena_printf(t.arena, squashed, "Sigmoid"), "sm_90a", wide, 1), "BN");
    assert_true(steps < plain);
    arena_free(t.arena);
}

/* Kernels of one name: of scores that go on in registers, or through shared memory, what the target does faster, or what
 * fits at all. */
static void of_several_ways_the_fastest_is_taken(void **state)
{
    static const char ways[] =
        "Kernel sums\n  Input  Q (q_len, D)\n  Input  K (kv_len, D)\n  Input  G (q_len, D)\n  Output V (kv_len, D)\n"
        "  Grid over kv_len\n  Copy K from global to shared\n"
        "  for i over q_len\n    Copy Q from global to shared\n    Copy G from global to shared\n"
        "    Compute GEMM K, Q.T and get S\n    Compute Exp S and get new S\n    Compute GEMM S, G and accumulate V\n  end\n"
        "  Copy V from register to global\nend\n"
        "Kernel sums\n  Input  Q (q_len, D)\n  Input  K (kv_len, D)\n  Input  G (q_len, D)\n  Output V (kv_len, D)\n"
        "  Grid over kv_len\n  Copy K from global to shared\n"
        "  for i over q_len\n    Copy Q from global to shared\n    Copy G from global to shared\n"
        "    Compute GEMM Q, K.T and get S\n    Compute Exp S and get new S\n    Copy S from register to shared\n"
        "    Compute GEMM S.shared.T, G and accumulate V\n  end\n"
        "  Copy V from register to global\nend\n";
    static const struct { const char *target, *set; bool fits, shared; } rows[] = {
        {"sm_90a", "D=128", true, false}, {"sm_80", "D=512", true, true}, {"sm_80", "D=8192", false, false}};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, ways, rows[i].target, &rows[i].set, 1);
        Str text = str_new(t.arena);
        assert_int_equal(result != NULL, rows[i].fits);
        if (result)
            lang_print(&text, result->code);
        else
            assert_true(t.diags->list.len == 1 && t.diags->list.data[0].code == TW0611 && t.diags->list.data[0].span.start < 20);
        assert_true(!result || result->code->units.len == 1);
        assert_int_equal(strstr(str_text(&text), ".shared") != NULL, rows[i].shared); /* by hand, or since warps share rows */
        arena_free(t.arena);
    }
}

/* Of operands of 8 bits, which reach no further than 448, factors of products come first where a way has them so: whatever
 * is multiplied behind, and through shared memory as well. Of other types the first way is as good. */
static void of_8_bits_factors_are_not_left_behind(void **state)
{
    static const char ways[] =
        "Kernel sums\n  Input  Q (M, D) %s\n  Input  K (L, D) %s\n  Input  r (M, 1) fp32\n  Output O (M, D) fp32\n"
        "  Grid over M\n  Copy Q from global to shared\n  Copy r from global to register\n"
        "  for j over L\n    Copy K from global to shared\n    Compute GEMM Q, K.T and get S\n    Compute Tanh S and get new S\n%s"
        "    Compute GEMM S, K and accumulate O\n  end\n%s  Copy O from register to global\nend\n";
    static const char late[] = "  Compute Multiply O, r and get new O\n", early[] = "    Compute Multiply S, r and get new S\n";
    static const struct { const char *type, *target, *line; } rows[] = {
        {"bf16", "sm_89", "Multiply O, r"}, {"fp16", "sm_90a", "Multiply O, r"}, {"e4m3", "sm_89", "Multiply S, r"}, {"e5m2", "sm_90a", "Multiply S, r"}};
    static const char *const sets[] = {"D=64"};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        begin(&t);
        const char *both = arena_printf(t.arena, "%s%s", arena_printf(t.arena, ways, rows[i].type, rows[i].type, "", late),
                                        arena_printf(t.arena, ways, rows[i].type, rows[i].type, early, ""));
        ReasonResult *result = reason_text(&t, both, rows[i].target, sets, 1);
        Str text = str_new(t.arena);
        assert_non_null(result);
        lang_print(&text, result->code);
        assert_non_null(strstr(str_text(&text), rows[i].line));
        arena_free(t.arena);
    }
}

static const char norm[] =
    "Kernel norm\n  Input X (M, N)\n  Output Y (M, N)\n  Grid over M\n"
    "  Copy X from global to register\n  Compute Square X and get X2\n  Compute RowSum X2 and get R\n"
    "  Compute Rsqrt R and get new R\n  Compute Multiply X, R and get Y\n  Copy Y from register to global\nend\n";

static const char norm_in_parts[] =
    "Kernel norm\n  Input X (M, N)\n  Output Y (M, N)\n  Grid over M\n  Compute Fill R, 0\n"
    "  for k over N\n    Copy X from global to register\n    Compute Square X and get X2\n    Compute RowSum X2 and get part\n"
    "    Compute Add R, part and get new R\n  end\n  Compute Rsqrt R and get new R\n"
    "  for k over N\n    Copy X from global to register\n    Compute Multiply X, R and get Y\n    Copy Y from register to global\n  end\nend\n";

/* ptxas is told that two of the largest blocks stand side by side, where it would take a register too
 * many; of fewer values a lane it makes what leaves room for three. */
static void the_largest_blocks_of_rows_are_two(void **state)
{
    static const struct {
        const char *sets[2];
        double blocks;
    } rows[] = {{{"N=8192", "warps=16"}, -1}, {{"N=10240", "warps_n=16"}, -1}, {{"N=15000", "warps=16"}, 2}, {{"N=16384", "warps=16"}, 2}};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, norm, "sm_90a", rows[i].sets, 2);
        assert_non_null(result);
        assert_true(code_number(&t, result, "warps") == 16);
        assert_true(code_number(&t, result, "blocks_per_sm") == rows[i].blocks);
        arena_free(t.arena);
    }
}

/* Rows that three blocks can hold, without padding, have three; of others two are aimed at. */
static void long_rows_have_several_blocks(void **state)
{
    static const struct {
        const char *length;
        double warps, blocks;
    } rows[] = {{"N=11008", 11, -1}, {"N=12800", 10, -1}, {"N=13824", 9, -1}, {"N=15360", 10, -1}, {"N=14336", 14, 2}, {"N=16384", 16, 2}};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, norm, "sm_90a", &rows[i].length, 1);
        assert_non_null(result);
        if (code_number(&t, result, "warps") != rows[i].warps || code_number(&t, result, "blocks_per_sm") != rows[i].blocks)
            fail_msg("%s: %g warps, %g blocks", rows[i].length, code_number(&t, result, "warps"), code_number(&t, result, "blocks_per_sm"));
        arena_free(t.arena);
    }
}

/* Rows that lanes do not hold are kept in shared memory; of those that it has no room for large blocks take parts that
 * end where the row does, nearly. */
static void longer_rows_are_shared_by_many_warps(void **state)
{
    static const struct {
        const char *length;
        double warps, columns, kept;
        const char *target;
    } rows[] = {{"N=20480", 4, 2048, 5, "sm_90a"}, {"N=32768", 4, 2048, 8, "sm_90a"}, {"N=20480", 8, 4096, 5, "sm_80"}, {"N=50264", 4, 2048, 7, "sm_90a"}, {"N=50257", 4, 2048, 7, "sm_90a"}, {"N=128256", 4, 2048, 8, "sm_90a"},
                {"N=256000", 8, 4096, 8, "sm_90a"}, {"N=50264", 16, 8192, 7, "sm_80"}, {"N=128256", 16, 16384, -1, "sm_80"},
                {"N=24576", 12, 12288, -1, "sm_75"}, {"N=32768", 16, 16384, -1, "sm_75"}, {"N=50257", 10, 10240, -1, "sm_75"}};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, norm_in_parts, rows[i].target, &rows[i].length, 1);
        assert_non_null(result);
        if (code_number(&t, result, "warps") != rows[i].warps || code_number(&t, result, "BN") != rows[i].columns ||
            code_number(&t, result, "kept") != rows[i].kept)
            fail_msg("%s: %g warps, %g columns, %g kept", rows[i].length, code_number(&t, result, "warps"), code_number(&t, result, "BN"), code_number(&t, result, "kept"));
        arena_free(t.arena);
    }
}

/* Of a length that the launch says there is a kernel for each range; that of the shortest has as many rows a warp as hide a block's
 * start, and turns no longer than they are. */
static void short_rows_share_warps(void **state)
{
    Case t;
    (void)state;

    begin(&t);
    ReasonResult *result = reason_text(&t, norm_in_parts, "sm_90a", NULL, 0);
    assert_non_null(result);
    assert_true(code_number(&t, result, "BM") == 32 && code_number(&t, result, "warps") == 1);
    assert_true(code_number(&t, result, "BN") == 32 && code_number(&t, result, "kept") == 4);
    arena_free(t.arena);
}

/* Where loops read them again; a row that is held whole is read once. */
static void rows_are_kept_as_asked(void **state)
{
    static const char *const sets[] = {"kept=3", "N=1024"};
    static const char *const targets[] = {"sm_75", "sm_80", "sm_90a"};
    static const char *const sketches[] = {norm, norm_in_parts};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(targets); i++)
        for (size_t k = 0; k < TW_COUNT(sketches); k++)
            for (int n = k == 0 ? 2 : 1; n <= 2; n++) { /* a row that is held whole has a length */
                begin(&t);
                ReasonResult *result = reason_text(&t, sketches[k], targets[i], sets, n);
                assert_true(k == 0 ? !result && t.diags->list.data[0].code == TW0612 : code_number(&t, result, "kept") == 3);
                arena_free(t.arena);
            }
}

static const char normed_columns[] =
    "Kernel columns\n  Input  X (B, N, C)\n  Output Y (B, N, C)\n  Grid over C, B\n"
    "  Compute Fill m, -inf\n  for k over N\n    Copy X from global to shared\n    Copy X from shared to register\n"
    "    Compute ColMax X and get a\n    Compute Max m, a and get new m\n  end\n"
    "  for k over N\n    Copy X from global to shared\n    Copy X from shared to register\n    Compute Subtract X, m and get Y\n"
    "    Copy Y from register to global\n  end\nend\n";

/* Columns that are known to be short stay for the second loop: all turns, in a ring of their own alone. */
static void short_columns_are_kept(void **state)
{
    static const struct {
        const char *length, *target;
        bool kept;
    } cases[] = {{"N=1024", "sm_90a", true}, {"N=200", "sm_80", true}, {"N=65536", "sm_90a", false}, {"N=1024", "sm_75", false}, {NULL, "sm_90a", false}};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *sets[] = {"B=256", "C=256", cases[i].length};

        begin(&t);
        ReasonResult *result = reason_text(&t, normed_columns, cases[i].target, sets, cases[i].length ? 3 : 2);
        assert_non_null(result);
        double kept = code_number(&t, result, "kept"), step = code_number(&t, result, "BK"), length = code_number(&t, result, "N");
        if (!cases[i].kept) assert_true(kept == -1);
        else assert_true(kept == ceil(length / step) && code_number(&t, result, "stages") > 1);
        arena_free(t.arena);
    }
}

/* How many blocks keep a row says something where it is asked of how many turns they do. */
static void blocks_keep_rows_as_asked(void **state)
{
    static const char *const sets[] = {"cluster=3", "kept=2"};
    Case t;
    (void)state;

    for (int n = 1; n <= 2; n++) {
        begin(&t);
        ReasonResult *result = reason_text(&t, norm_in_parts, "sm_90a", sets, n);
        assert_true(n == 1 ? !result && t.diags->list.data[0].code == TW0612 && strstr(t.diags->list.data[0].message, "asked to be kept") != NULL
                           : code_number(&t, result, "cluster") == 3);
        arena_free(t.arena);
    }
}

/* Rows of which several are in one word are a lane's together: it loads a word once for them. */
static void rows_of_a_word_are_read_together(void **state)
{
    static const char *const sets[] = {"K=4096", "N=4096"};
    static const struct {
        const char *value;
        double rows;
    } defines[] = {{"q[k div 8, n] div 2 ** (4 * (k % 8)) % 16", 8}, {"q[k, n]", 1}};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(defines); i++) {
        begin(&t);
        Str text = str_new(t.arena);
        str_printf(&text, "Kernel widen\n  Input q (K, N) int32\n  Output W (K, N)\n  Index k over K\n  Index n over N\n"
                          "  Grid over N, K\n  Compute Define W (K, N) as %s\n  Copy W from register to global\nend\n", defines[i].value);
        ReasonResult *result = reason_text(&t, str_text(&text), "sm_90a", sets, 2);
        assert_non_null(result);
        if (code_number(&t, result, "BM") != defines[i].rows)
            fail_msg("%s: %g rows", defines[i].value, code_number(&t, result, "BM"));
        arena_free(t.arena);
    }
}

/* What is read below each other lies side by side in memory: a block that has several rows, and warps that have, leave
 * nothing of what they fetch. */
static void transposed_rows_are_read_together(void **state)
{
    static const char turned[] = "Kernel turned\n  Input  X (M, N)\n  Output Y (N, M)\n  Grid over N, M\n"
                                 "  Compute Define Y (N, M) as %s\n  Copy Y from register to global\nend\n";
    static const char *const set = "M=4096";
    Case t;
    (void)state;

    begin(&t);
    ReasonResult *apart = reason_text(&t, arena_printf(t.arena, turned, "X[col, row] * 2"), "sm_90a", &set, 1);
    assert_true(code_number(&t, apart, "BM") * dtype_bytes(DT_BF16) >= 32);
    assert_true(code_number(&t, apart, "BM") > code_number(&t, apart, "warps"));
    ReasonResult *beside = reason_text(&t, arena_printf(t.arena, turned, "X[0, col] * 2"), "sm_90a", &set, 1);
    assert_true(code_number(&t, beside, "BM") < code_number(&t, apart, "BM"));
    arena_free(t.arena);
}

/* Elementwise kernels have tiles for short rows as well; one kernel where those would be the same, or where there is one row. */
static void short_rows_have_kernels_of_their_own(void **state)
{
    static const struct {
        const char *inputs, *grid, *tile, *value;
        int kernels;
    } cases[] = {
        {"Input X (M, N)\n", "M, N", "(M, N)", "X[row, col] * 2", 3},
        {"Input X (M, N)\n", "N, M", "(N, M)", "X[col, row] * 2", 1},
        {"Input X (N)\n", "N", "(N)", "X[col] * 2", 1},
    };
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        begin(&t);
        ReasonResult *result = reason_text(
            &t, arena_printf(t.arena, "Kernel twice\n  %s  Output Y %s\n  Grid over %s\n  Compute Define Y %s as %s\n  Copy Y from register to global\nend\n",
                             cases[i].inputs, cases[i].tile, cases[i].grid, cases[i].tile, cases[i].value),
            "sm_90a", NULL, 0);
        assert_non_null(result);
        assert_int_equal(result->code->units.len, cases[i].kernels);
        arena_free(t.arena);
    }
}

/* A row that is held whole is padded to what its lanes load at once: by that many warps, of whatever number,
 * that little is added. */
static void whole_rows_are_padded_little(void **state)
{
    static const int lengths[] = {768, 1536, 3072, 3584, 5120, 5376, 7168, 10240, 11008, 12800, 13824, 14336, 15000};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(lengths); i++) {
        begin(&t);
        const char *set = arena_printf(t.arena, "N=%d", lengths[i]);
        ReasonResult *result = reason_text(&t, norm, "sm_90a", &set, 1);
        assert_non_null(result);
        Str text = str_new(t.arena);
        lang_print(&text, result->code);
        const char *tile = strstr(str_text(&text), "register (BM, ");
        assert_non_null(tile);
        tile += strlen("register (BM, ");
        int padded = *tile == 'N' ? lengths[i] : atoi(tile);
        if (padded < lengths[i] || padded > lengths[i] * 1.08) fail_msg("%d is padded to %d", lengths[i], padded);
        arena_free(t.arena);
    }
}

#define LATENT(before, after)                                                                                  \
    "Kernel latent\n  Input  Q (M, D)\n  Input  K (N, D)\n  Input  V (N, E)\n  Output O (M, E)\n"               \
    "  Grid over M\n  Copy Q from global to shared\n" before                                                   \
    "  for j over N\n    Copy K from global to shared\n    Copy V from global to shared\n"                      \
    "    Compute GEMM Q, K.T and get S\n    Compute Softmax S with Smax and Ssum\n"                             \
    "    Compute GEMM S, V and accumulate O\n  end\n"                                                          \
    "  Compute Divide O, Ssum and get new O\n" after "  Copy O from register to global\nend\n"

#define NORM "  Compute Square O and get P\n  Compute RowSum P and get r\n  Compute Divide O, r and get new O\n"

/* Whether a choice is explained like this. */
static bool explains(const ReasonResult *result, const char *name, const char *words)
{
    for (int i = 0; i < result->why.len; i++)
        if (strcmp(result->why.data[i].name, name) == 0 && strstr(result->why.data[i].why, words))
            return true;
    return false;
}

/* Accumulators that no warp has the registers for are spread over blocks, or warps share their rows, where something wants
 * these whole, and where that is cheaper; those that one warp can have are as ever. */
static void wide_outputs_are_shared(void **state)
{
    enum { NONE, PLAIN, SPREAD, SHARED };
    static const char *const targets[] = {"sm_75", "sm_80", "sm_86", "sm_90a"};
    static const struct {
        const char *sketch, *sets[2];
        int how[4];
    } rows[] = {
        {LATENT("", ""), {"D=64", "E=512"}, {SPREAD, SHARED, SHARED, SPREAD}},
        {LATENT("", ""), {"D=64", "E=768"}, {SPREAD, SPREAD, SPREAD, SPREAD}},
        {LATENT("", ""), {"D=64", "E=128"}, {PLAIN, PLAIN, PLAIN, PLAIN}},
        {LATENT("", NORM), {"D=64", "E=512"}, {SHARED, SHARED, SHARED, SHARED}},
        {LATENT("", "  Compute Softmax O and get new O\n"), {"D=64", "E=512"}, {SHARED, SHARED, SHARED, SHARED}},
        {attention, {"D=512", "H=1"}, {NONE, SHARED, SHARED, SHARED}}, /* what is multiplied is as wide, and summed along */
    };
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(rows) * TW_COUNT(targets); i++) {
        size_t row = i / TW_COUNT(targets), target = i % TW_COUNT(targets);
        begin(&t);
        ReasonResult *result = reason_text(&t, rows[row].sketch, targets[target],
                                           (const char *const *)rows[row].sets, rows[row].sketch == attention ? 1 : 2);
        int how = !result                                                      ? NONE
                  : explains(result, "Grid", "several share a row")            ? SPREAD
                  : explains(result, "warps_n", "pass through shared memory") ? SHARED
                                                                               : PLAIN;
        if (how != rows[row].how[target])
            fail_msg("row %zu for %s: %d", row, targets[target], how);
        arena_free(t.arena);
    }
    begin(&t);
    assert_null(reason_text(&t, LATENT("", NORM), "sm_80", (const char *const[]){"D=64", "E=4096"}, 2));
    assert_int_equal(t.diags->list.data[0].code, TW0611);
    arena_free(t.arena);
}

/* A known length decides between tiles as an unknown one cannot. */
static void few_blocks_get_smaller_tiles(void **state)
{
    const char *small[] = {"M=64", "N=512", "K=4096"};
    Case t;
    (void)state;

    begin(&t);
    ReasonResult *result = reason_text(&t, gemm, "sm_80", small, 3);
    assert_non_null(result);
    assert_true(code_number(&t, result, "BM") * code_number(&t, result, "BN") < 128 * 128);
    arena_free(t.arena);
}

/* Rows that are no multiple of 16 bytes, compiled in or at the launch, no tensor map copies: then nothing is chosen for warpgroups,
 * of which each would have 64 rows. */
static void unaligned_rows_are_for_warps(void **state)
{
    static const struct {
        const char *set, *launch;
        bool divided;
    } cases[] = {{"K=1000", "K=1001", true}, {"K=1001", "K=1000", false}, {NULL, "K=1001", false}, {NULL, "K=1000", true}};
    Case t;
    (void)state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Settings launch = {.dtype = DT_BF16};
        const char *sets[] = {"M=4096", "N=4096", cases[i].set};

        begin(&t);
        assert_null(settings_add(t.arena, &launch, cases[i].launch));
        ReasonResult *result = reason_at(&t, gemm, "sm_90a", sets, cases[i].set ? 3 : 2, &launch);
        assert_non_null(result);
        assert_int_equal(code_number(&t, result, "BM") == 16 * code_number(&t, result, "warps"), cases[i].divided);
        arena_free(t.arena);
    }
}

static void every_parameter_is_explained(void **state)
{
    static const char *const names[] = {"BM", "BN", "warps", "stages", "shared memory", "blocks_per_sm", "bound"};
    const char *sets[] = {"D=128"};
    Case t;
    (void)state;

    begin(&t);
    ReasonResult *result = reason_text(&t, attention, "sm_80", sets, 1);
    assert_non_null(result);
    assert_true(result->considered > 20 && result->predicted_cycles > 0);
    assert_string_equal(result->limiter, "tensor cores");
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        bool found = false;

        for (int k = 0; k < result->why.len; k++)
            if (strcmp(result->why.data[k].name, names[i]) == 0)
                found = *result->why.data[k].value && *result->why.data[k].why;
        if (!found)
            fail_msg("%s is not explained", names[i]);
    }
    arena_free(t.arena);
}

/* ---- a sweep over sketches, targets and settings ----------------------------------------- */

enum { MAX_CASES = 500 };

static Case cases[MAX_CASES], fused[MAX_CASES];
static int n_cases, n_fused;

/* Every choice the model accepts, forced or not, keeps to the target's limits. */
static void expect_limits(const char *path, Plan *plan, const Choice *choice, const Target *target)
{
    if (choice->shared_bytes > target->shared_per_block || choice->registers > target->regs_per_thread ||
        choice->warps % choice->warps_n != 0)
        fail_msg("%s: %lld bytes of shared memory, %d registers", path, (long long)choice->shared_bytes,
                 choice->registers);
    if (choice->registers * 32 * choice->warps * choice->blocks_per_sm > target->regs_per_sm)
        fail_msg("%s: %d blocks of %d registers do not fit", path, choice->blocks_per_sm, choice->registers);
    for (int i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];
        int64_t rows = choice->size[tile->row->id], cols = choice->size[tile->col->id];

        if (choice->in_rows) { /* whole accesses of 16 bytes by the lanes of a row */
            assert_true(cols == 1 || cols % (2 * choice->warps_n) == 0);
            assert_true(rows == 1 || rows % (choice->warps / choice->warps_n) == 0);
            continue;
        }
        if (choice->groups && tile->prepared)
            assert_true(rows == 1 || rows % 64 == 0);
        else if (tile->reg && rows > 1)
            assert_int_equal(rows % (16 * (choice->warps / choice->warps_n)), 0);
        if (tile->reg && cols > 1)
            assert_int_equal(cols % (8 * choice->warps_n), 0);
        if (tile->shared && cols > 1)
            assert_int_equal(cols * dtype_bytes(tile->shared_dtype) % 16, 0);
    }
}

static bool lacks_types(const Target *target, const Unit *unit)
{
    bool lacks = !target_has_dtype(target, DT_BF16);

    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->has_dtype && !target_has_dtype(target, unit->body.data[i]->dtype))
            lacks = true;
    return lacks;
}

static void sweep_target(Case *t, const Program *sketch, const Target *target, const char *forced)
{
    ReasonResult ignored = {0};
    Settings settings = {.dtype = DT_BF16};

    for (int i = 0; i < t->settings.list.len; i++)
        vec_push(t->arena, &settings.list, t->settings.list.data[i]);
    if (forced)
        assert_null(settings_add(t->arena, &settings, forced));
    t->options = (ReasonOptions){.target = target, .settings = &settings, .dtype = DT_BF16};
    t->diags = diags_new(t->arena, t->source);
    Plan plan = {.arena = t->arena, .syms = t->syms, .program = sketch, .unit = sketch->units.data[0],
                 .options = &t->options, .diags = t->diags, .aff = aff_ctx_new(t->arena)};
    eval_init(&plan.env, t->arena, plan.aff);
    bool read = plan_read(&plan) && plan_infer(&plan);
    if (!read) { /* for types that the target lacks, which is said, and nothing else */
        assert_true(lacks_types(target, sketch->units.data[0]));
        assert_int_equal(t->diags->list.data[0].code, TW0434);
        return;
    }
    const Choice *choice = plan_choose(&plan, &ignored);
    if (!choice && !plan.spread) { /* what is forced may not fit; that is said, and nothing else */
        assert_true(forced || target != target_find("sm_80"));
        assert_int_equal(t->diags->list.data[0].code, TW0611);
        return;
    }
    if (choice)
        expect_limits(t->path, &plan, choice, target);
    for (int i = 0; i < settings.list.len; i++)
        settings.list.data[i].used = true; /* not every sketch has what is forced */
    ReasonResult *result = reason(t->arena, t->syms, sketch, &t->options, t->diags);
    if (!result && plan.spread) { /* with blocks over its columns it may not fit either */
        assert_int_equal(t->diags->list.data[0].code, TW0611);
        return;
    }
    assert_non_null(result);
    expect_clean(t->arena, t->path, result->code, target);
}

static void sweep_case(Case *t)
{
    static const char *const forced[] = {"BM=16",  "BM=64",   "BM=256",  "BN=16",   "BN=128",
                                         "warps=1", "warps=8", "stages=1", "stages=4"};

    if (setjmp(t->oom))
        fail_msg("out of memory");
    open_case(t);
    if (strcmp(t->expected, "sketch") == 0) {
        const Program *program = lang_parse(t->arena, t->syms, t->source, t->diags);
        const Program *sketch = kernel_alone(t->arena, program, 0);

        for (const Target *const *target = target_all(); *target; target++)
            sweep_target(t, sketch, *target, NULL);
        for (size_t i = 0; i < TW_COUNT(forced); i++)
            sweep_target(t, sketch, target_find("sm_80"), forced[i]);
    }
    arena_free(t->arena);
}

static void sweep(void **state)
{
    (void)state;
    for (int i = 0; i < n_fused; i++)
        sweep_case(&fused[i]);
}

/* ---- all files ------------------------------------------------------------------------------ */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const Case *)a)->path, ((const Case *)b)->path);
}

static int find_cases(Arena *arena, const char *folder, Case *list)
{
    DIR *dir = opendir(folder);
    int n = 0;

    for (struct dirent *entry; dir && (entry = readdir(dir)) && n < MAX_CASES;)
        if (strstr(entry->d_name, ".tl"))
            list[n++].path = arena_printf(arena, "%s/%s", folder, entry->d_name);
    if (dir)
        closedir(dir);
    qsort(list, (size_t)n, sizeof list[0], by_path);
    return n;
}

static void every_code_is_expected(void **state)
{
    (void)state;
    for (int code = 0; code < DIAG_CODES; code++) {
        const char *name = diag_info((DiagCode)code)->name;
        bool found = !starts_with(name, "TW06");

        for (int i = 0; i < n_cases; i++)
            found |= strcmp(cases[i].code, name) == 0;
        if (!found)
            fail_msg("no test expects %s", name);
    }
}

int main(void)
{
    struct CMUnitTest tests[MAX_CASES + 24];
    Heap heap = {0};
    jmp_buf oom;
    int n = 0;

    heap.on_oom = &oom;
    if (setjmp(oom))
        return 1;
    Arena *arena = arena_new(&heap);
    n_cases = find_cases(arena, "tests/reason", cases);
    n_fused = find_cases(arena, "tests/fuse", fused);
    for (int i = 0; i < n_cases; i++) {
        const char *name = strrchr(cases[i].path, '/') + 1;
        tests[n++] = (struct CMUnitTest){name, run_case, NULL, NULL, &cases[i]};
    }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(known_good_choices);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(registers_are_as_ptxas_found);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(tiles_are_no_larger_than_blocks);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_ptxas_keeps_is_doubted);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(of_several_ways_the_fastest_is_taken);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(of_8_bits_factors_are_not_left_behind);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_largest_blocks_of_rows_are_two);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(long_rows_have_several_blocks);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(longer_rows_are_shared_by_many_warps);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(short_rows_share_warps);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_are_kept_as_asked);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(blocks_keep_rows_as_asked);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_of_a_word_are_read_together);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(transposed_rows_are_read_together);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(short_rows_have_kernels_of_their_own);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(whole_rows_are_padded_little);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(operands_that_are_prepared);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_may_spill_is_taken_last);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_is_loaded_at_once_may_spill);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(wide_outputs_are_shared);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(few_blocks_get_smaller_tiles);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(short_columns_are_kept);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(unaligned_rows_are_for_warps);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_parameter_is_explained);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(sweep);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_code_is_expected);
    int failed = _cmocka_run_group_tests("reason", tests, (size_t)n, NULL, NULL);
    arena_free(arena);
    return failed;
}
