/* test_lang.c: the TL front end: tables, lexer, parser, printer. */
#include "lang/lang.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Syms *syms;
    Source *source;
    Diags *diags;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    if (!f || setjmp(f->oom))
        return -1;
    f->heap.on_oom = &f->oom;
    f->arena = arena_new(&f->heap);
    f->syms = syms_new(f->arena);
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

/* ---- helpers ------------------------------------------------------------------------ */

/* Parses a copy that ends where its memory ends, so that a sanitizer sees a
 * read beyond it. */
static Program *parse_bytes(Fixture *f, const char *text, size_t len)
{
    f->source = arena_new_of(f->arena, Source);
    f->source->path = "test.tl";
    f->source->text = arena_strndup(f->arena, text, len);
    f->source->len = len;
    f->diags = diags_new(f->arena, f->source);
    return lang_parse(f->arena, f->syms, f->source, f->diags);
}

static Program *parse(Fixture *f, const char *text)
{
    return parse_bytes(f, text, strlen(text));
}

static Program *parse_whole(Fixture *f, const char *text)
{
    Program *program = parse(f, text);

    if (f->diags->errors > 0)
        diags_print(f->diags, stderr, false);
    assert_int_equal(f->diags->errors, 0);
    return program;
}

static const char *printed(Fixture *f, const Program *program)
{
    Str out = str_new(f->arena);

    lang_print(&out, program);
    return str_text(&out);
}

/* The only statement of a text without mistakes. */
static Stmt *one(Fixture *f, const char *text)
{
    Program *program = parse_whole(f, text);

    assert_int_equal(program->units.len, 1);
    assert_int_equal(program->units.data[0]->body.len, 1);
    return program->units.data[0]->body.data[0];
}

static const char *shown(Fixture *f, const Expr *e)
{
    Str out = str_new(f->arena);

    if (!e)
        return "-";
    lang_print_expr(&out, e);
    return str_text(&out);
}

static void assert_prints(Fixture *f, const char *text, const char *expected)
{
    assert_string_equal(printed(f, parse_whole(f, text)), expected);
}

/* ---- tables ---------------------------------------------------------------------------- */

static void operations_are_found_by_any_spelling(void **state)
{
    static const struct { const char *name; OpId op; } rows[] = {
        {"GEMM", OP_GEMM}, {"gemm", OP_GEMM}, {"MatMul", OP_GEMM}, {"row_max", OP_ROW_MAX}, {"ROWSUM", OP_ROW_SUM},
        {"Sub", OP_SUBTRACT}, {"Mul", OP_MULTIPLY}, {"where", OP_WHERE}, {"Ceil_Divide", OP_CEIL_DIVIDE},
    };
    OpId op;

    (void)state;
    for (int i = 0; i < OP_COUNT; i++) {
        assert_true(op_find(op_info((OpId)i)->name, &op));
        assert_int_equal(op, i);
    }
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        assert_true(op_find(rows[i].name, &op));
        assert_int_equal(op, rows[i].op);
    }
    assert_false(op_find("BottomK", &op));
    assert_false(op_find("", &op));
    assert_string_equal(op_nearest("Sofmax"), "Softmax");
    assert_string_equal(op_nearest("mutliply"), "Multiply");
    assert_null(op_nearest("Frobnicate"));
}

static void operations_have_values(void **state)
{
    (void)state;
    assert_float_equal(op_eval(OP_SUBTRACT, 5, 3, 0), 2, 0);
    assert_float_equal(op_eval(OP_SILU, 1, 0, 0), 1 / (1 + exp(-1)), 1e-15);
    assert_float_equal(op_eval(OP_WHERE, 1, 2, 3), 2, 0);
    assert_float_equal(op_eval(OP_WHERE, 0, 2, 3), 3, 0);
    assert_float_equal(op_eval(OP_CEIL_DIVIDE, 7, 2, 0), 4, 0);
    assert_true(op_identity(OP_ROW_MAX) == -INFINITY);
    assert_true(op_identity(OP_ROW_MIN) == INFINITY);
    assert_true(op_identity(OP_COL_MAX) == -INFINITY);
    assert_true(op_identity(OP_ROW_SUM) == 0);
    assert_true(op_identity(OP_ROW_MEAN) == 0);
}

/* ---- the texts under tests/lang ------------------------------------------------------------ */

static void assert_round_trip(Fixture *f, const char *text)
{
    Program *first = parse_whole(f, text);
    const char *once = printed(f, first);
    Program *second = parse_whole(f, once);

    assert_true(program_equal(first, second));
    assert_string_equal(once, printed(f, second));
}

static void every_text_parses_and_round_trips(void **state)
{
    Fixture *f = *state;
    DIR *dir = opendir("tests/lang");
    struct dirent *entry;
    int files = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        const char *error = NULL;
        size_t len = strlen(entry->d_name);

        if (len < 3 || strcmp(entry->d_name + len - 3, ".tl") != 0)
            continue;
        Source *source = source_read(f->arena, arena_printf(f->arena, "tests/lang/%s", entry->d_name), &error);

        assert_non_null(source);
        assert_round_trip(f, source->text);
        files++;
    }
    closedir(dir);
    assert_true(files >= 11);
}

static Source *read_text(Fixture *f, const char *path)
{
    const char *error = NULL;
    Source *source = source_read(f->arena, path, &error);

    assert_non_null(source);
    return source;
}

static void canonical_texts_print_as_they_stand(void **state)
{
    Fixture *f = *state;
    const char *text = read_text(f, "tests/lang/pipeline.tl")->text;

    assert_string_equal(printed(f, parse_whole(f, text)), text);
}

static void fences_separate_fragments(void **state)
{
    Fixture *f = *state;
    Program *program = parse_whole(f, read_text(f, "tests/lang/paper_listing4.tl")->text);

    assert_int_equal(program->units.len, 7);
    assert_int_equal(program->units.data[0]->kind, UNIT_FRAGMENT);
    assert_int_equal(program->units.data[0]->body.len, 2);
    assert_int_equal(program->units.data[6]->body.len, 3);
}

static void fences_in_other_languages_are_skipped(void **state)
{
    Fixture *f = *state;
    Program *program = parse_whole(f, "Here it is: $ ^ &\n```python\nx = {\n```\n```tl\nx = 1\n```\nThanks!\n");

    assert_int_equal(program->units.len, 1);
    assert_string_equal(program->units.data[0]->body.data[0]->name, "x");
}

/* ---- statements ---------------------------------------------------------------------------------- */

/* What is written in another way and means the same. */
static void spellings_are_understood(void **state)
{
    static const char *const pairs[][2] = {
        {"Compute GEMM(Q, K.T) -> S", "Compute GEMM Q, K.T and get S"},
        {"Compute S = Softmax(S)", "Compute Softmax (S) and get S"},
        {"Compute O = GEMM P, V", "Compute GEMM P, V and get O"},
        {"Compute Max(m, max(a, 3)) and get new m", "Compute Max m, max(a, 3) and get new m"},
        {"Compute Where(a < b), S, 0 => T", "Compute Where (a < b), S, 0 and get T"},
        {"Compute GEMM P, V into O", "Compute GEMM P, V and get O"},
        {"Compute Cast S to bf16 and get P", "Compute Cast S, bf16 and get P"},
        {"Compute Cast S as bf16 and get P", "Compute Cast S, bf16 and get P"},
        {"Index i over M, j over N from 2", "Index i over M\nIndex j over N from 2"},
        {"if a\n  x = 1\nendif", "if a\n  x = 1\nend"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(pairs); i++) {
        const char *other = printed(f, parse_whole(f, pairs[i][0]));

        assert_string_equal(other, printed(f, parse_whole(f, pairs[i][1])));
    }
}

static void tensors_are_declared(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "Input Q (batch, len * 2) : bfloat16");

    assert_int_equal(s->kind, STMT_INPUT);
    assert_string_equal(s->name, "Q");
    assert_int_equal(s->n_shape, 2);
    assert_string_equal(shown(f, s->shape[1]), "len * 2");
    assert_true(s->has_dtype && s->dtype == DT_BF16);
    assert_int_equal(s->name_span.start, 6);
    assert_int_equal(s->name_span.end, 7);
    s = one(f, "Output n");
    assert_false(s->has_shape || s->has_dtype);
}

static void several_names_share_a_declaration(void **state)
{
    Fixture *f = *state;

    assert_prints(f, "Input A, Bc (n, d) fp16\nParam x, y = 2, z\nLet a = 1, b = 2\nu = 1, v = 2\n",
                  "Input  A  (n, d) fp16\nInput  Bc (n, d) fp16\nParam  x\nParam  y = 2\nParam  z\n"
                  "Let    a = 1\nLet    b = 2\nu = 1\nv = 2\n");
}

static void grids_have_two_forms(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "Grid m = ceil(len / BM), h = heads");

    assert_int_equal(s->n_coords, 2);
    assert_string_equal(s->coords[0].name, "m");
    assert_string_equal(shown(f, s->coords[0].value), "ceil(len / BM)");
    s = one(f, "grid over len, heads");
    assert_int_equal(s->n_coords, 2);
    assert_string_equal(s->coords[1].name, "heads");
    assert_null(s->coords[1].value);
}

static void positions_have_an_origin(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "Index q_pos over q_len from kv_len - q_len");

    assert_string_equal(s->name, "q_pos");
    assert_string_equal(s->over, "q_len");
    assert_string_equal(shown(f, s->value), "kv_len - q_len");
    assert_null(one(f, "Index kv_pos over kv_len")->value);
}

static void copies_take_their_parts_in_any_order(void **state)
{
    Fixture *f = *state;
    static const char canonical[] = "Copy KV[i % 2] (BN, D) in coordinate [b, L = i + 1] from global to shared "
                                    "[stage = i % 2] where i < n else 0\n";
    Stmt *s = one(f, "Copy KV[i % 2] (BN, D) in coor [b, L = i+1] from global memory to smem [stage = i % 2] "
                     "where i < n else 0");

    assert_string_equal(s->name, "KV");
    assert_int_equal(s->target->kind, EXPR_INDEX);
    assert_int_equal(s->space, SPACE_GLOBAL);
    assert_int_equal(s->to_space, SPACE_SHARED);
    assert_int_equal(s->n_coords, 2);
    assert_null(s->coords[0].name);
    assert_string_equal(s->coords[1].name, "L");
    assert_string_equal(shown(f, s->stage), "i % 2");
    assert_prints(f, "copy KV[i % 2] to shared from global where i < n [stage = i % 2] else 0 (BN, D) "
                     "in coordinates [b, L = i + 1]", canonical);
    assert_prints(f, canonical, canonical);
}

static void copies_may_accumulate(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "Copy dQ (BM, D) in coordinate [m = i] from register to global and accumulate");

    assert_int_equal(s->result, RESULT_ACCUMULATE);
    assert_null(s->dest);
}

static void allocations_have_offsets(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "Allocate K in global (len, D) fp16 with offset (b * H + h) * len * D");

    assert_int_equal(s->space, SPACE_GLOBAL);
    assert_true(s->has_dtype && s->dtype == DT_F16);
    assert_string_equal(shown(f, s->offset), "(b * H + h) * len * D");
    assert_prints(f, "Allocate K (len, D) in register", "Allocate K in register (len, D)\n");
}

static void computations_have_results(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "Compute GEMM Q, KV[i % 2].T and get S");

    assert_true(s->op_known && s->op == OP_GEMM);
    assert_int_equal(s->n_args, 2);
    assert_int_equal(s->args[1]->kind, EXPR_TRANSPOSE);
    assert_int_equal(s->args[1]->a->kind, EXPR_INDEX);
    assert_int_equal(s->result, RESULT_GET);
    assert_string_equal(s->dest->name, "S");
    s = one(f, "Compute GEMM P, V and accumulate O[:, 0:256]");
    assert_int_equal(s->result, RESULT_ACCUMULATE);
    assert_string_equal(shown(f, s->dest), "O[:, 0:256]");
    s = one(f, "Compute Multiply S, scale and get new S");
    assert_int_equal(s->result, RESULT_GET_NEW);
    s = one(f, "Compute Softmax S with Smax and Ssum");
    assert_int_equal(s->result, RESULT_NONE);
    assert_int_equal(s->n_with, 2);
    assert_string_equal(s->with[1]->name, "Ssum");
    s = one(f, "Compute Softmax S with M and L and get P");
    assert_int_equal(s->n_with, 2);
    assert_string_equal(s->dest->name, "P");
}

static void computations_have_modifiers(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "Compute Mask S where a <= b and not c else 0 and get new S");

    assert_string_equal(shown(f, s->where), "a <= b and not c");
    assert_string_equal(shown(f, s->otherwise), "0");
    assert_int_equal(s->result, RESULT_GET_NEW);
    s = one(f, "Compute Divide O, Ssum else 0 and get new O");
    assert_string_equal(shown(f, s->otherwise), "0");
    s = one(f, "Compute Unfold K over len by 32 step 16 and get KB (len, 32)");
    assert_int_equal(s->op, OP_UNFOLD);
    assert_string_equal(s->over, "len");
    assert_string_equal(shown(f, s->by), "32");
    assert_string_equal(shown(f, s->step), "16");
    assert_int_equal(s->n_shape, 2);
    s = one(f, "Compute GroupSum B over q_heads to kv_heads and get new B (a, b)");
    assert_string_equal(shown(f, s->to), "kv_heads");
    s = one(f, "Compute Softmax S with empty rows 0 and get P");
    assert_string_equal(shown(f, s->empty_rows), "0");
    assert_int_equal(s->n_with, 0);
    s = one(f, "Compute Where (k <= q), St, -inf and get new St");
    assert_int_equal(s->n_args, 3);
    assert_int_equal(s->args[0]->op, EO_LE);
    assert_true(s->args[2]->f == -INFINITY);
    s = one(f, "Compute Define M (a, b) as row_pos - key_pos");
    assert_string_equal(s->args[0]->name, "M");
    assert_int_equal(s->n_shape, 2);
    assert_string_equal(shown(f, s->value), "row_pos - key_pos");
    s = one(f, "Compute Cast S, bf16 and get P");
    assert_true(s->has_dtype && s->dtype == DT_BF16);
}

static void loops_have_three_spellings(void **state)
{
    Fixture *f = *state;
    static const char *const texts[] = {"for i = 0:ceil(n / 4)\nx = i\nend", "FOR i in 0:ceil(n / 4):\nx = i\nend for",
                                        "for i in 0 : ceil(n/4):\n  x = i\n"};

    for (size_t i = 0; i < TW_COUNT(texts); i++)
        assert_prints(f, texts[i], "for i = 0:ceil(n / 4)\n  x = i\nend\n");
    Stmt *s = one(f, "for j over kv_len\nx = j\nend");
    assert_string_equal(s->over, "kv_len");
    assert_null(s->lo);
}

static void blocks_by_indentation_end_without_end(void **state)
{
    Fixture *f = *state;

    assert_prints(f, "for i in 0:n:\n  if a:\n    x = 1\n  else:\n    x = 2\n  y = 3\nz = 4\n",
                  "for i = 0:n\n  if a\n    x = 1\n  else\n    x = 2\n  end\n  y = 3\nend\nz = 4\n");
    assert_prints(f, "for i in range(n):\n  for j in range(i + 1, min(n, 4)):\n    x = 1\n", "for i = 0:n\n  for j = i + 1:min(n, 4)\n    x = 1\n  end\nend\n");
    assert_prints(f, "for i in 0:n:\n  x = 1;y = 2\n", "for i = 0:n\n  x = 1\n  y = 2\nend\n");
    assert_prints(f, "if c\n  for i in 0:n:\n    x = 1\nend\n", "if c\n  for i = 0:n\n    x = 1\n  end\nend\n");
}

static void conditions_may_be_words(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "if block j crosses the diagonal (or doesn't) # so\nx = 1\nend");

    assert_int_equal(s->where->kind, EXPR_WORDS);
    assert_string_equal(s->where->name, "block j crosses the diagonal (or doesn't)");
    assert_string_equal(s->comment, "so");
    assert_int_equal(one(f, "if not fully visible:\nx = 1\nend")->where->kind, EXPR_WORDS);
    assert_int_equal(one(f, "if not visible\nx = 1\nend")->where->kind, EXPR_UNARY);
    assert_int_equal(one(f, "if i div 2 == 1 or last\nx = 1\nend")->where->kind, EXPR_BINARY);
}

static void else_if_chains_share_one_end(void **state)
{
    Fixture *f = *state;
    static const char text[] = "if a\n  x = 1\nelse if b\n  x = 2\nelse\n  x = 3\nend\n";
    Stmt *s = one(f, text);

    assert_int_equal(s->orelse.len, 1);
    assert_int_equal(s->orelse.data[0]->orelse.len, 1);
    assert_prints(f, text, text);
    assert_prints(f, "if a\nx = 1\nelif b\nx = 2\nelse\nx = 3\nend if\n", text);
}

static void schedules_hold_lines(void **state)
{
    Fixture *f = *state;
    Stmt *s = one(f, "Schedule sm_80\n  warps = 4\n  order = reversed\nend");

    assert_string_equal(s->name, "sm_80");
    assert_int_equal(s->body.len, 2);
    assert_int_equal(s->body.data[1]->kind, STMT_ASSIGN);
}

static void statements_continue_when_they_must(void **state)
{
    Fixture *f = *state;

    assert_prints(f, "Compute GEMM Q,\nK.T and\nget\nnew S\nand_so = 1 +\n  2\nCopy Q\n  from global\n  to shared\n",
                  "Compute GEMM Q, K.T and get new S\nand_so = 1 + 2\nCopy Q from global to shared\n");
    assert_prints(f, "x = max(1, # one\n\n  2)\nto = 3\n", "# one\nx = max(1, 2)\nto = 3\n");
    assert_prints(f, "Copy Q from global to shared memory\n# next\nx = 1\n",
                  "Copy Q from global to shared\n# next\nx = 1\n");
    assert_prints(f, "x = 1 +\n# two\n2\n", "# two\nx = 1 + 2\n");
    assert_prints(f, "a = 1; b = 2;\nc = 3\n", "a = 1\nb = 2\nc = 3\n");
}

static void own_operations_hide_those_of_the_table(void **state)
{
    Fixture *f = *state;
    Program *program = parse_whole(f, "Compute Sub A, B\nDefine Sub(X, Y)\nCompute Sub X, Y\nend\nCompute Sub A, B\n");
    const Block *body = &program->units.data[0]->body;

    assert_true(body->data[0]->op_known);
    assert_false(body->data[1]->body.data[0]->op_known);
    assert_false(body->data[2]->op_known);
    assert_int_equal(body->data[1]->n_shape, 2);
}

/* ---- comments -------------------------------------------------------------------------------------- */

static void comments_stay_with_their_statements(void **state)
{
    Fixture *f = *state;

    assert_prints(f,
                  "#head\n\n\n\n#  about x\nx = 1 # trailing\n\n#\n## y\ny = 2\nfor i = 0:2  # loop\n\n# in\nx = 3\n"
                  "# tail\n\nend\n\n# last\n",
                  "# head\n\n#  about x\n# trailing\nx = 1\n\n#\n# y\ny = 2\n# loop\nfor i = 0:2\n  # in\n  x = 3\n"
                  "  # tail\nend\n# last\n");
}

static void slashes_divide_or_comment(void **state)
{
    Fixture *f = *state;
    static const struct { const char *text, *printed; } rows[] = {
        {"x = a // b", "x = a div b\n"},
        {"x = (a + 1) // (b // c)", "x = (a + 1) div (b div c)\n"},
        {"x = a // 2 // then what", "# then what\nx = a div 2\n"},
        {"x = a // the size of a tile", "# the size of a tile\nx = a\n"},
        {"x = a //", "#\nx = a\n"},
        {"x = f(a // b, // first\n c)", "# first\nx = f(a div b, c)\n"},
        {"Compute Exp S // scores", "# scores\nCompute Exp S\n"},
        {"Compute Max a // b, 1 and get S", "Compute Max a div b, 1 and get S\n"},
        {"Compute GEMM Q, K and get S //K should be transposed", "# K should be transposed\nCompute GEMM Q, K and get S\n"},
        {"Copy Q from global to shared // (once)", "# (once)\nCopy Q from global to shared\n"},
        {"for i = 0:n // 4 // tiles of four\nend", "# tiles of four\nfor i = 0:n div 4\nend\n"},
        {"// alone\nx = 1", "# alone\nx = 1\n"},
    };

    for (size_t i = 0; i < TW_COUNT(rows); i++)
        assert_prints(f, rows[i].text, rows[i].printed);
}

/* ---- expressions ------------------------------------------------------------------------------------ */

static void expressions_print_with_few_brackets(void **state)
{
    Fixture *f = *state;
    static const struct { const char *text, *printed; } rows[] = {
        {"((a) + (b * c))", "a + b * c"},
        {"a - (b - c) - d", "a - (b - c) - d"},
        {"a / (b * c) % d mod e", "a / (b * c) % d % e"},
        {"-2 ** 2", "-2 ** 2"},
        {"(-2) ** 2", "(-2) ** 2"},
        {"2 ** -1 ** 3", "2 ** -1 ** 3"},
        {"(a ** b) ** c", "(a ** b) ** c"},
        {"- - a + +b", "--a + b"},
        {"not (a and b) or !c && d || e", "not (a and b) or not c and d or e"},
        {"(a or b) and c", "(a or b) and c"},
        {"0 <= i < N", "0 <= i and i < N"},
        {"(a < b) == (c < d)", "(a < b) == (c < d)"},
        {"a \xe2\x89\xa4 b \xc3\x97 c", "a <= b * c"},
        {"1e-5 + .5 + 120.0 + 1e20 + 3.25e-300", "1e-5 + 0.5 + 120.0 + 1e20 + 3.25e-300"},
        {"-inf + Infinity", "-inf + inf"},
        {"9223372036854775807 + -9223372036854775808", "9223372036854775807 + -9223372036854775808"},
        {"Seg[..., k div B, :, 2:, :n]", "Seg[..., k div B, :, 2:, :n]"},
        {"K.T.shared[0].register", "K.T.shared[0].register"},
        {"(a + b).T", "(a + b).T"},
        {"blockIdx.x + f() * g(h(1), 2,)", "blockIdx.x + f() * g(h(1), 2)"},
    };

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        Stmt *s = one(f, arena_printf(f->arena, "x = %s", rows[i].text));

        assert_string_equal(shown(f, s->value), rows[i].printed);
        assert_true(expr_equal(s->value, one(f, arena_printf(f->arena, "x = %s", rows[i].printed))->value));
    }
}

static Expr *random_expr(Fixture *f, Rng *rng, int depth);

static Expr *random_leaf(Fixture *f, Rng *rng)
{
    static const char *const names[] = {"a", "S", "q_len", "T", "stage", "blockIdx.x"};

    switch (rng_below(rng, 4)) {
    case 0: return expr_int(f->arena, (int64_t)(rng_next(rng) >> rng_below(rng, 64)));
    case 1: return expr_float(f->arena, rng_below(rng, 20) ? ldexp(rng_normal(rng), rng_below(rng, 80) - 40) : INFINITY);
    default: return expr_name(f->arena, names[rng_below(rng, (int)TW_COUNT(names))]);
    }
}

static Expr **random_args(Fixture *f, Rng *rng, int n, int depth)
{
    Expr **args = arena_array(f->arena, Expr *, n);

    for (int i = 0; i < n; i++)
        args[i] = random_expr(f, rng, depth - 1);
    return args;
}

static Expr *random_expr(Fixture *f, Rng *rng, int depth)
{
    int n = rng_below(rng, 3);

    if (depth == 0)
        return random_leaf(f, rng);
    switch (rng_below(rng, 9)) {
    case 0: return expr_unary(f->arena, (ExprOp)rng_below(rng, 2), random_expr(f, rng, depth - 1));
    case 1: return expr_call(f->arena, "max", random_args(f, rng, n, depth), n);
    case 2: return expr_index(f->arena, random_expr(f, rng, depth - 1), random_args(f, rng, n + 1, depth), n + 1);
    case 3: return expr_transpose(f->arena, random_expr(f, rng, depth - 1));
    case 4: return expr_space(f->arena, random_expr(f, rng, depth - 1), SPACE_SHARED);
    default:
        return expr_binary(f->arena, (ExprOp)(EO_ADD + rng_below(rng, EO_OR - EO_ADD + 1)),
                           random_expr(f, rng, depth - 1), random_expr(f, rng, depth - 1));
    }
}

static void random_expressions_round_trip(void **state)
{
    Fixture *f = *state;
    Rng rng = {20261120};

    for (int i = 0; i < 2000; i++) {
        Expr *e = random_expr(f, &rng, 1 + rng_below(&rng, 5));
        const char *text = shown(f, e);
        Stmt *s = one(f, arena_printf(f->arena, "x = %s", text));

        if (!expr_equal(s->value, e))
            fail_msg("expression %d: %s reads as %s", i, text, shown(f, s->value));
    }
}

static Expr *twice_a(void *user, const char *name)
{
    Fixture *f = user;

    if (strcmp(name, "a") != 0)
        return NULL;
    return expr_binary(f->arena, EO_MUL, expr_int(f->arena, 2), expr_name(f->arena, "a"));
}

static void names_are_replaced(void **state)
{
    Fixture *f = *state;
    Expr *e = one(f, "x = max(a + b, S[a, 0:a]) - a.T")->value;
    Expr *copy = expr_copy(f->arena, e);

    assert_string_equal(shown(f, expr_subst(f->arena, e, twice_a, f)),
                        "max(2 * a + b, S[2 * a, 0:2 * a]) - (2 * a).T");
    assert_true(expr_equal(e, copy));
    assert_int_equal(e->depth, copy->depth);
    assert_false(expr_equal(e, e->a));
}

/* ---- mistakes --------------------------------------------------------------------------------------- */

typedef struct Mistake {
    const char *text;
    DiagCode code;
    int line, column;
    const char *fix; /* NULL: none is suggested */
} Mistake;

static const Mistake mistakes[] = {
    {"x = 3 @ 4", TW0101, 1, 7, NULL},
    {"x = 64K", TW0101, 1, 5, NULL},
    {"x = a ^ b", TW0101, 1, 7, "**"},
    {"x = 1\ny = \x01", TW0101, 2, 5, NULL},
    {"x = ", TW0102, 1, 5, NULL},
    {"x = (1 + 2\ny = 3", TW0102, 1, 11, ")"},
    {"x = S[1, 2\nCopy Q from global to shared", TW0102, 1, 11, "]"},
    {"x = S[]", TW0102, 1, 5, NULL},
    {"x = 1 2", TW0102, 1, 7, NULL},
    {"Index b over 16", TW0102, 1, 14, NULL},
    {"Index b over 2 * N", TW0102, 1, 14, NULL},
    {"Index b over N div 2", TW0102, 1, 14, NULL},
    {"x = K.Z", TW0102, 1, 7, NULL},
    {"3 = x", TW0102, 1, 1, NULL},
    {"for i = 0\nend", TW0102, 1, 10, NULL},
    {"for i\nend", TW0102, 1, 6, NULL},
    {"Let x", TW0102, 1, 6, NULL},
    {"Index q over", TW0102, 1, 13, NULL},
    {"Grid x", TW0102, 1, 7, NULL},
    {"Compute", TW0102, 1, 8, NULL},
    {"Compute Add A, and get B", TW0102, 1, 16, NULL},
    {"Compute Add A, B and take C", TW0102, 1, 22, "get"},
    {"Compute Add A, B and acumulate C", TW0102, 1, 22, "accumulate"},
    {"Compute C = Add A, B and get D", TW0102, 1, 22, NULL},
    {"Compute Softmax(A, axis = 1) and get B", TW0102, 1, 20, NULL},
    {"Compute Softmax A along N and get B", TW0102, 1, 19, "over"},
    {"Compute Mask S if a < b", TW0102, 1, 16, "where"},
    {"Compute Mask S where a < b with -inf", TW0102, 1, 28, "else"},
    {"Compute Define B (M, N) as 0 if a < b else 1", TW0102, 1, 30, NULL},
    {"Compute Define B (M, N) as a < b ? 0 : 1", TW0101, 1, 34, NULL},
    {"if a == 3 then\nend", TW0102, 1, 11, ""},
    {"x = (i >> 2) == 1", TW0102, 1, 8, NULL},
    {"x = i & 1", TW0101, 1, 7, NULL},
    {"Compute GEMM Q, K\xe1\xb5\x80 and get S", TW0101, 1, 18, ".T"},
    {"S = GEMM(Q, K.T)", TW0102, 1, 1, "Compute GEMM Q, K.T and get S"},
    {"Index q in N", TW0102, 1, 9, "over"},
    {"Const D = 64", TW0106, 1, 1, "Param"},
    {"Compute Define M as 3", TW0102, 1, 18, NULL},
    {"Copy Q from global", TW0102, 1, 19, NULL},
    {"Copy Q to shared", TW0102, 1, 8, "from global to"},
    {"Copy O to global", TW0102, 1, 8, "from register to"},
    {"Copy Q from global to shared [x = 1]", TW0102, 1, 31, NULL},
    {"Allocate S (3, 4)", TW0102, 1, 18, NULL},
    {"Reshape S to (a, b)", TW0102, 1, 11, NULL},
    {"Kernel k\n...\nend", TW0102, 2, 1, NULL},
    {"x = 9223372036854775808", TW0104, 1, 5, NULL},
    {"x = 1e999", TW0104, 1, 5, NULL},
    {"x = 99999999999999999999999", TW0104, 1, 5, NULL},
    {"for i = 0:4\n  x = 1", TW0105, 1, 1, "\nend"},
    {"if a\n  x = 1\nelse\n  x = 2\n", TW0105, 1, 1, "\nend"},
    {"Operator a\nx = 1\nKernel b\nend", TW0105, 1, 1, "\nend"},
    {"```\nfor i = 0:4\n```\n```\nx = 1\n```", TW0105, 2, 1, "\nend"},
    {"Compte Exp S", TW0106, 1, 1, "Compute"},
    {"Fro i = 0:N\nend", TW0106, 1, 1, "for"},
    {"Load Q from global to shared", TW0106, 1, 1, "Copy"},
    {"Softmax S", TW0106, 1, 1, "Compute "},
    {"Please compute it", TW0106, 1, 1, NULL},
    {"end", TW0107, 1, 1, NULL},
    {"x = 1\nelse", TW0107, 2, 1, NULL},
    {"for i = 0:4\nelse\nend", TW0107, 2, 1, NULL},
    {"...", TW0109, 1, 1, NULL},
    {"Copy Q from globl to shared", TW0110, 1, 13, "global"},
    {"Copy Q from disk to shared", TW0110, 1, 13, NULL},
    {"if a = 3\nend", TW0111, 1, 6, "=="},
    {"Compute Mask S where a = b", TW0111, 1, 24, "=="},
    {"Input Q (a) bf61", TW0112, 1, 13, "bf16"},
    {"Input Q (a) complex", TW0112, 1, 13, NULL},
};

static void mistakes_are_placed_and_explained(void **state)
{
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(mistakes); i++) {
        const Mistake *m = &mistakes[i];
        int line, column;

        parse(f, m->text);
        if (f->diags->list.len != 1)
            diags_print(f->diags, stderr, false);
        assert_int_equal(f->diags->list.len, 1);
        const Diag *diag = &f->diags->list.data[0];
        source_place(f->source, diag->span.start, &line, &column);
        if (diag->code != m->code || line != m->line || column != m->column)
            fail_msg("%s: %s at %d:%d", m->text, diag_info(diag->code)->name, line, column);
        if (m->fix)
            assert_string_equal(diag->fix.text ? diag->fix.text : "none", m->fix);
        else
            assert_null(diag->fix.text);
    }
}

/* Applying the suggested edit leaves no diagnostic, where there is one. */
static void suggested_edits_work(void **state)
{
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(mistakes); i++) {
        parse(f, mistakes[i].text);
        if (f->diags->list.len == 0)
            fail_msg("no diagnostic: %s", mistakes[i].text);
        Fix fix = f->diags->list.data[0].fix;

        if (!fix.text)
            continue;
        assert_true(fix.span.start >= 0 && fix.span.start <= fix.span.end && fix.span.end <= (int)f->source->len);
        parse_whole(f, arena_printf(f->arena, "%.*s%s%s", fix.span.start, f->source->text, fix.text,
                                    f->source->text + fix.span.end));
    }
}

static void parsing_goes_on_after_a_mistake(void **state)
{
    Fixture *f = *state;
    Program *program = parse(f, "x = @\nCompte Exp S\nfor i = \n  y = 1\nend\nz = 2\n");

    assert_int_equal(f->diags->errors, 3);
    assert_int_equal(program->units.len, 1);
    assert_int_equal(program->units.data[0]->body.len, 2);
    assert_string_equal(program->units.data[0]->body.data[1]->name, "z");
}

static void at_most_twenty_are_reported(void **state)
{
    Fixture *f = *state;
    Str text = str_new(f->arena);

    for (int i = 0; i < 100; i++)
        str_add(&text, "x = @\n");
    parse(f, str_text(&text));
    assert_int_equal(f->diags->list.len, DIAG_LIMIT);
}

/* ---- hostile input -------------------------------------------------------------------------------------- */

static void every_prefix_is_survived(void **state)
{
    Fixture *f = *state;
    const Source *sample = read_text(f, "tests/lang/forms.tl");
    const Source *fenced = read_text(f, "tests/lang/paper_listing4.tl");

    for (size_t len = 0; len <= sample->len; len++)
        printed(f, parse_bytes(f, sample->text, len));
    for (size_t len = 0; len <= fenced->len; len++)
        printed(f, parse_bytes(f, fenced->text, len));
}

/* Replaces, removes and doubles bytes. */
static void mutants_are_survived(void **state)
{
    Fixture *f = *state;
    static const char bytes[] = "()[],:=+-*/%.#`\n\n ;&|<>\"e0a9_\xe2\x01";
    const Source *sample = read_text(f, "tests/lang/forms.tl");
    Rng rng = {7};

    for (int i = 0; i < 1500; i++) {
        char *text = arena_strndup(f->arena, sample->text, sample->len);
        size_t len = sample->len;

        for (int k = 1 + rng_below(&rng, 8); k > 0; k--)
            text[rng_below(&rng, (int)len)] = bytes[rng_below(&rng, (int)sizeof bytes)];
        Program *program = parse_bytes(f, text, len);
        const char *once = printed(f, program);
        Program *again = parse(f, once);

        if (f->diags->errors > 0 || !program_equal(program, again)) {
            diags_print(f->diags, stderr, false);
            fail_msg("mutant %d reads otherwise when printed:\n%s\nfrom\n%s", i, once, text);
        }
    }
}

static void noise_is_survived(void **state)
{
    Fixture *f = *state;
    Rng rng = {99};
    char noise[400];

    for (int i = 0; i < 2000; i++) {
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (char)rng_next(&rng);
        printed(f, parse_bytes(f, noise, (size_t)rng_below(&rng, (int)sizeof noise)));
    }
}

static char *repeated(Fixture *f, const char *text, size_t n)
{
    size_t len = strlen(text);
    char *out = arena_alloc(f->arena, len * n + 1);

    for (size_t i = 0; i < n; i++)
        memcpy(out + i * len, text, len);
    return out;
}

static void nesting_is_bounded(void **state)
{
    Fixture *f = *state;
    static const char *const pieces[] = {"x = (", "(", "-", "not ", "S[", "f(", "1+", "a**", "S.T.T", "1<", "if a\n",
                                         "for i = 0:2\n", "if a\nelse if b\n", "if a\n else\n"};

    for (size_t i = 0; i < TW_COUNT(pieces); i++) {
        bool block = strchr(pieces[i], '\n') != NULL;

        parse(f, arena_printf(f->arena, "%s%s", block ? "" : "x = ", repeated(f, pieces[i], 30000)));
        assert_true(f->diags->errors > 0);
    }
    parse(f, arena_printf(f->arena, "x = %s1", repeated(f, "1 + ", LANG_MAX_DEPTH)));
    assert_int_equal(f->diags->list.data[0].code, TW0103);
    parse_whole(f, arena_printf(f->arena, "x = %s1", repeated(f, "1 + ", LANG_MAX_DEPTH - 1)));
}

static void sizes_are_bounded(void **state)
{
    Fixture *f = *state;

    parse(f, arena_printf(f->arena, "x = f(%s1)", repeated(f, "1, ", 5000000)));
    assert_int_equal(f->diags->list.data[0].code, TW0108);
    parse(f, repeated(f, "x=1\n", 1000000));
    assert_int_equal(f->diags->list.data[0].code, TW0108);
    parse(f, arena_printf(f->arena, "x = %s", repeated(f, "9", 10000000)));
    assert_int_equal(f->diags->list.data[0].code, TW0104);
    parse(f, repeated(f, "a", 10000000));
    assert_int_equal(f->diags->list.data[0].code, TW0106);
    parse(f, arena_printf(f->arena, "x = %s", repeated(f, "a // ", 100000)));
    assert_int_equal(f->diags->list.data[0].code, TW0103);
    parse_whole(f, repeated(f, "\n# x\n", 1000000));
    assert_true(f->heap.peak < (size_t)1 << 30);
}

/* Parses and prints with ever more memory until it is enough. */
static void exhausted_memory_is_survived(void **state)
{
    Fixture *f = *state;
    const Source *sample = read_text(f, "tests/lang/definitions.tl");
    volatile bool done = false;

    for (volatile long n = 1; !done; n++) {
        jmp_buf oom;
        Heap heap = {.on_oom = &oom, .fail_in = n};
        Arena *volatile arena = NULL;

        if (setjmp(oom) == 0) {
            arena = arena_new(&heap);
            Str out = str_new(arena);

            lang_print(&out, lang_parse(arena, syms_new(arena), sample, diags_new(arena, sample)));
            done = true;
        }
        arena_free(arena);
        assert_int_equal(heap.live, 0);
        assert_true(n < 1000);
    }
}

/* ---- the manual ------------------------------------------------------------------------------------------ */

/* A cell of a table: bars are escaped. */
static const char *cell(Fixture *f, const char *text)
{
    Str out = str_new(f->arena);

    for (; *text; text++) {
        if (*text == '|')
            str_addc(&out, '\\');
        str_addc(&out, *text);
    }
    return str_text(&out);
}

static void assert_in_manual(const char *manual, const char *row)
{
    if (!strstr(manual, row))
        fail_msg("docs/language.md lacks: %s", row);
}

static void the_manual_has_every_row_of_the_tables(void **state)
{
    Fixture *f = *state;
    static const char *const kinds[] = {
        [OPC_ELEMENT] = "element", [OPC_ROW_REDUCE] = "row reduction", [OPC_COL_REDUCE] = "column reduction",
        [OPC_GEMM] = "GEMM", [OPC_SOFTMAX] = "softmax", [OPC_MASK] = "mask", [OPC_FILL] = "fill",
        [OPC_CAST] = "cast", [OPC_DEFINE] = "define",
        [OPC_GROUP_REDUCE] = "groups", [OPC_REARRANGE] = "rearrangement", [OPC_SELECT] = "selection"};
    const char *manual = read_text(f, "docs/language.md")->text;

    for (int i = 0; i < OP_COUNT; i++) {
        const OpInfo *op = op_info((OpId)i);

        assert_in_manual(manual, arena_printf(f->arena, "| `%s` | %s | %d | %s |\n", op->name, kinds[op->class],
                                              op->arity, cell(f, op->help)));
    }
    for (int i = 0; i < STMT_COUNT; i++) {
        const char *keyword = stmt_keyword((StmtKind)i), *help = cell(f, stmt_help((StmtKind)i));

        assert_in_manual(manual, *keyword ? arena_printf(f->arena, "| `%s` | %s |\n", keyword, help)
                                          : arena_printf(f->arena, "| assignment | %s |\n", help));
    }
    for (int i = 0; i < DT_COUNT; i++)
        assert_in_manual(manual, arena_printf(f->arena, "`%s`", dtype_name((DType)i)));
}

/* Each example is a block of its own, and stands in canonical form. */
static void the_examples_of_the_manual_parse(void **state)
{
    Fixture *f = *state;
    const char *at = read_text(f, "docs/language.md")->text;
    int examples = 0;

    while ((at = strstr(at, "\n```tl\n"))) {
        const char *start = at + 7, *end = strstr(start, "```\n");
        const char *example = arena_strndup(f->arena, start, (size_t)(end - start));

        assert_string_equal(printed(f, parse_whole(f, example)), example);
        at = end;
        examples++;
    }
    assert_true(examples >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(operations_are_found_by_any_spelling), TEST(operations_have_values),
        TEST(every_text_parses_and_round_trips), TEST(canonical_texts_print_as_they_stand),
        TEST(fences_separate_fragments), TEST(fences_in_other_languages_are_skipped),
        TEST(spellings_are_understood), TEST(tensors_are_declared), TEST(several_names_share_a_declaration), TEST(grids_have_two_forms),
        TEST(positions_have_an_origin), TEST(copies_take_their_parts_in_any_order), TEST(copies_may_accumulate),
        TEST(allocations_have_offsets), TEST(computations_have_results), TEST(computations_have_modifiers),
        TEST(loops_have_three_spellings), TEST(blocks_by_indentation_end_without_end),
        TEST(conditions_may_be_words), TEST(else_if_chains_share_one_end), TEST(schedules_hold_lines), TEST(own_operations_hide_those_of_the_table),
        TEST(statements_continue_when_they_must), TEST(comments_stay_with_their_statements),
        TEST(slashes_divide_or_comment), TEST(expressions_print_with_few_brackets),
        TEST(random_expressions_round_trip), TEST(names_are_replaced), TEST(mistakes_are_placed_and_explained),
        TEST(suggested_edits_work), TEST(parsing_goes_on_after_a_mistake), TEST(at_most_twenty_are_reported),
        TEST(every_prefix_is_survived), TEST(mutants_are_survived), TEST(noise_is_survived),
        TEST(nesting_is_bounded), TEST(sizes_are_bounded), TEST(exhausted_memory_is_survived),
        TEST(the_manual_has_every_row_of_the_tables), TEST(the_examples_of_the_manual_parse),
    };

    return cmocka_run_group_tests_name("lang", tests, NULL, NULL);
}
