/* test_def.c: definitions: names, shapes, settings, and every diagnostic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "ref/def.h"
#include "ref/elem.h"

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Diags *diags;
    Settings settings;
} Fixture;

static int setup(void **state)
{
    static Fixture f;
    f = (Fixture){.heap = {.on_oom = &f.oom}};
    if (setjmp(f.oom))
        return -1;
    f.arena = arena_new(&f.heap);
    f.settings.dtype = DT_BF16;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    arena_free(((Fixture *)*state)->arena);
    return 0;
}

static void set(Fixture *f, const char *text)
{
    assert_null(settings_add(f->arena, &f->settings, text));
}

static Def *resolve_source(Fixture *f, const Source *source)
{
    Syms *syms = syms_new(f->arena);
    Program *program;

    f->diags = diags_new(f->arena, source);
    program = lang_parse(f->arena, syms, source, f->diags);
    if (f->diags->errors)
        diags_print(f->diags, stderr, false);
    assert_int_equal(f->diags->errors, 0);
    assert_int_equal(program->units.len, 1);
    return def_resolve(f->arena, syms, aff_ctx_new(f->arena), program, program->units.data[0], &f->settings,
                       f->diags);
}

/* The body of an operator t. */
static Def *resolve(Fixture *f, const char *body)
{
    Source *source = arena_new_of(f->arena, Source);

    source->path = "t.tl";
    source->text = arena_printf(f->arena, "Operator t\n%s\nend\n", body);
    source->len = strlen(source->text);
    return resolve_source(f, source);
}

static Def *resolved(Fixture *f, const char *body)
{
    Def *def = resolve(f, body);

    if (!def)
        diags_print(f->diags, stderr, false);
    assert_non_null(def);
    return def;
}

static Def *resolved_file(Fixture *f, const char *path)
{
    const char *error;
    Source *source = source_read(f->arena, path, &error);
    Def *def;

    assert_non_null(source);
    def = resolve_source(f, source);
    if (!def)
        diags_print(f->diags, stderr, false);
    assert_non_null(def);
    return def;
}

static const char *shape_of_output(Fixture *f, const Def *def)
{
    return def_shape_text(f->arena, def->outputs.data[0]);
}

/* ---- what resolves ------------------------------------------------------------------ */

static const DefOp *last_op(const Def *def, OpId op)
{
    for (int i = def->ops.len - 1; i >= 0; i--)
        if (def->ops.data[i]->op == op)
            return def->ops.data[i];
    return NULL;
}

static void attention_with_a_head_dimension(void **state)
{
    Fixture *f = *state;
    Def *def;
    double value;

    set(f, "HeadDim=128");
    def = resolved_file(f, "ops/attention.tl");
    assert_string_equal(shape_of_output(f, def), "O (batch, q_heads, q_len, VDim = 128)");
    assert_int_equal(def->ops.len, 5);
    assert_int_equal(def->params.len, 0);
    assert_true(def_const(def, "VDim", &value) && value == 128);
    assert_true(def_const(def, "scale", &value) && value == 1 / sqrt(128.0));
    assert_false(def_const(def, "q_len", &value));
    assert_string_equal(aff_text(f->arena, def->indices.data[0].from), "kv_len - q_len");
    assert_true(last_op(def, OP_MULTIPLY)->args[1].scalar.is_const);
    assert_true(isinf(last_op(def, OP_MASK)->otherwise));
    assert_int_equal(def->outputs.data[0]->dtype, DT_BF16);
    assert_true(def->outputs.data[0]->is_output);
}

static void attention_without_settings(void **state)
{
    Fixture *f = *state;
    Def *def = resolved_file(f, "ops/attention.tl");
    Str text = str_new(f->arena);

    assert_int_equal(def->params.len, 1);
    assert_string_equal(def->params.data[0].name, "scale");
    lang_print_expr(&text, def->params.data[0].default_value);
    assert_string_equal(str_text(&text), "1 / sqrt(HeadDim)");
    assert_string_equal(last_op(def, OP_MULTIPLY)->args[1].scalar.param, "scale");
    assert_ptr_equal(def_dim(def, "VDim")->size, def_dim(def, "HeadDim")->size);
    assert_ptr_equal(def_dim(def, "VDim")->sym, def_dim(def, "HeadDim")->sym);
}

static void static_if_folds(void **state)
{
    Fixture *f = *state;

    set(f, "causal=0");
    set(f, "VDim=64");
    assert_null(last_op(resolved_file(f, "ops/attention.tl"), OP_MASK));
    assert_string_equal(shape_of_output(f, resolved_file(f, "ops/attention.tl")),
                        "O (batch, q_heads, q_len, VDim = 64)");
    /* an `if` is decided by what is known of its parts; its branches declare */
    resolved(f, "Input X (M, N)\nParam a = 0\nOutput Y (M, N)\n"
                "if a and M > 3\nCompute Exp X and get Y\nelse\nInput Z (N)\nCompute Add X, Z and get Y\nend");
}

static void gemm_bias(void **state)
{
    Fixture *f = *state;
    Def *def = resolved_file(f, "ops/gemm_bias.tl");

    assert_string_equal(shape_of_output(f, def), "C (M, N)");
    assert_int_equal(def->values.len, 5);
    assert_string_equal(def->values.data[3]->name, "C");
    assert_int_equal(def->values.data[3]->dtype, DT_F32);
}

/* {body, first output} */
static void shapes(void **state)
{
    static const char *const cases[][2] = {
        {"Input X (b, M, N)\nOutput Y (b, M, 1)\nCompute RowSum X and get Y", "Y (b, M, 1)"},
        {"Input X (b, M, N)\nOutput Y (b, 1, N)\nCompute ColMax X and get Y", "Y (b, 1, N)"},
        {"Input A (K, M)\nInput B (K, N)\nOutput C (M, N)\nCompute GEMM A.T, B and get C", "C (M, N)"},
        {"Input A (h, M, K)\nInput B (K, N)\nOutput C (h, M, N)\nCompute GEMM A, B and get C", "C (h, M, N)"},
        {"Input A (M, K)\nInput B (h, K, N)\nOutput C (h, M, N)\nCompute GEMM A, B and get C", "C (h, M, N)"},
        {"Input A (8, M, K)\nInput B (2, N, K)\nOutput C (8, M, N)\nCompute GEMM A, B.T and get C",
         "C (8, M, N)"},
        {"Input S (q_heads, 1, 1)\nInput X (M, N)\nOutput Y (q_heads, M, N)\nCompute Multiply S, X and get Y",
         "Y (q_heads, M, N)"},
        {"Input X (M, N)\nOutput Y (M, N)\nCompute Define D (M, N) as row(D) - col(D)\nCompute Add X, D and get Y",
         "Y (M, N)"},
        {"Input X (M, Block * Inner)\nParam Block = 4\nParam Inner = 8\nOutput Y (M, 32)\nCompute Exp X and get Y",
         "Y (M, 32)"},
        {"Input X (M, N)\nLet half = (N + 1) div 2\nInput Z (half, N)\nOutput Y (ceil(N / 2), N)\n"
         "Compute Exp Z and get Y", "Y (half, N)"},
        {"Input X (M, N)\nOutput Y (M, N)\nCompute Exp X and get E\nCompute Log X and accumulate E\n"
         "Compute Neg E and get Y", "Y (M, N)"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        assert_string_equal(shape_of_output(f, resolved(f, cases[i][0])), cases[i][1]);
}

static void names_follow_through(void **state)
{
    Fixture *f = *state;
    Def *def = resolved(f, "Input A (M, K)\nInput B (N, K)\nOutput C (M, N)\nIndex i over M\nIndex j over N\n"
                           "Let d = i - j\nParam w = 4\nParam v\n"
                           "Compute GEMM A, B.T and get C\nCompute Mask C where d < w and d > -v and i < M else 0");
    const DefOp *op = last_op(def, OP_MASK);
    Str text = str_new(f->arena);

    lang_print_expr(&text, op->where);
    assert_string_equal(str_text(&text), "i - j < 4 and i - j > -v and i < M");
    assert_true(op->has_else && op->otherwise == 0);
    assert_int_equal(def->params.len, 1);
    assert_string_equal(def->params.data[0].name, "v");
    assert_int_equal(def_axis(op->result, "N"), 1);
    assert_int_equal(def_axis(op->result, "K"), -1);
}

static void params_and_lets(void **state)
{
    Fixture *f = *state;
    Def *def;
    double value;

    set(f, "a=2");
    def = resolved(f, "Input X (M, N)\nOutput Y (M, N)\nParam a\nParam b = a * 3\nLet c = b + 0.5\nParam e\n"
                      "Param g = e * c\nParam unused\nCompute Multiply X, g and get Y\nCompute Add Y, M * c");
    assert_true(def_const(def, "c", &value) && value == 6.5);
    assert_int_equal(def->params.len, 2); /* e, which g needs, then g */
    assert_string_equal(def->params.data[0].name, "e");
    assert_string_equal(def->params.data[1].name, "g");
    assert_null(last_op(def, OP_ADD)->args[1].scalar.param); /* an expression over M */
    assert_non_null(last_op(def, OP_ADD)->args[1].scalar.expr);
}

/* An offset that the launch supplies is an integer argument like a dimension. */
static void positions_from_a_param(void **state)
{
    Fixture *f = *state;
    Def *def = resolved(f, "Input X (M, N)\nOutput Y (M, N)\nParam offset\nIndex i over M from offset\nIndex j over N\n"
                           "Compute Mask X where j <= i and get Y");

    assert_non_null(def_dim(def, "offset")->sym);
    assert_int_equal(def->params.len, 0);
}

static void reads_of_tensors(void **state)
{
    Fixture *f = *state;
    Def *def = resolved(f, "Input S (b, q_heads, q, k)\nInput Seg (b, k) int32\nInput Sel (b, kv_heads, q, blocks)\n"
                           "Output Y (b, q_heads, q, k)\nIndex i over q from k - q\nIndex j over k\n"
                           "Compute Mask S where Seg[b, i] == Seg[b, j] and Sel[..., j div 4] and get Y");
    const DefOp *op = last_op(def, OP_MASK);

    assert_int_equal(op->reads.len, 2);
    assert_string_equal(op->reads.data[0].name, "Seg");
    assert_ptr_equal(op->reads.data[1].value, def->inputs.data[2]);
    assert_int_equal(def->inputs.data[1]->dtype, DT_I32);
}

static void sample_definitions(void **state)
{
    static const char *const names[] = {"DifferentialAttention", "DocumentCausalAttention", "Retention"};
    Fixture *f = *state;
    const char *error;
    Source *source = source_read(f->arena, "tests/lang/definitions.tl", &error);
    Syms *syms = syms_new(f->arena);
    Program *program;

    assert_non_null(source);
    f->diags = diags_new(f->arena, source);
    program = lang_parse(f->arena, syms, source, f->diags);
    for (size_t i = 0; i < TW_COUNT(names); i++)
        for (int u = 0; u < program->units.len; u++) {
            const Unit *unit = program->units.data[u];
            Def *def;

            if (strcmp(unit->name, names[i]) != 0)
                continue;
            def = def_resolve(f->arena, syms, aff_ctx_new(f->arena), program, unit, &f->settings, f->diags);
            if (!def)
                diags_print(f->diags, stderr, false);
            assert_non_null(def);
            assert_string_equal(shape_of_output(f, def), "O (batch, q_heads, q_len, VDim)");
        }
}

/* ---- what does not ------------------------------------------------------------------- */

#define MATRIX "Input X (M, N)\nOutput Y (M, N)\nIndex i over M\nIndex j over N\nParam p\n"

typedef struct Case {
    DiagCode code;
    const char *body;
    const char *message; /* a part of it */
} Case;

static const Case cases[] = {
    {TW0230, MATRIX "Compute Exp Z and get Y", "Z is not defined"},
    {TW0230, MATRIX "Compute Exp x and get Y", "did you mean X?"},
    {TW0230, MATRIX "Compute Mask X where kk < i and get Y", "kk is not defined"},
    {TW0230, MATRIX "Compute Exp Y and get Y", "Y has no value yet"},
    {TW0230, MATRIX "Compute Exp X and accumulate Y", "no value yet to accumulate"},
    {TW0230, MATRIX "Index h over H\nCompute Exp X and get Y", "H is not defined"},
    {TW0230, MATRIX "Compute GEMM Z.T, X and get Y", "Z is not defined"},
    {TW0230, MATRIX "Compute Mask X where Z[i] and get Y", "Z is not defined"},
    {TW0230, MATRIX "Compute Mask X where Y[i, j] and get Y", "Y has no value yet"},
    {TW0231, MATRIX "Input X (M)\nCompute Exp X and get Y", "X is declared twice"},
    {TW0231, MATRIX "Param M = 3\nInput M (N)\nCompute Exp X and get Y", "M is declared twice"},
    {TW0232, MATRIX "Copy X from global to shared\nCompute Exp X and get Y", "Copy does not belong"},
    {TW0714, MATRIX "Define A(P, R)\nCompute A P and get R\nend\nCompute A X and get Y", "made of itself"},
    {TW0234, MATRIX "Define A(P, R)\nCompute Exp P and get R\nend\nCompute A X, 3, 4 and get Y", "takes 2 operands"},
    {TW0232, MATRIX "for k = 0:4\nCompute Exp X and get Y\nend\nCompute Exp X and get Y", "for does not belong"},
    {TW0232, MATRIX "Compute Exp X.shared and get Y", "no memory spaces"},
    {TW0232, MATRIX "Compute Exp X and get Y[:, 0:4]", "needs a name"},
#define TENSOR "Input X (B, M, N)\nOutput Y (B, M, N)\nIndex i over M\nParam p\nCompute Exp X and get Y\n"
    {TW0230, TENSOR "Compute GroupSum X over Q to 2 and get Z", "Q is not defined"},
    {TW0234, TENSOR "Compute Unfold X by 4 and get Z", "Unfold lacks a part"},
    {TW0234, TENSOR "Compute Unfold X over M and get Z", "Unfold lacks a part"},
    {TW0234, TENSOR "Compute GroupSum X over M and get Z", "GroupSum lacks a part"},
    {TW0234, TENSOR "Compute Reshape X and get Z", "Reshape lacks a part"},
    {TW0234, TENSOR "Compute Reshape X over M and get Z (B, N, M)", "Reshape takes no `over`"},
    {TW0234, TENSOR "Compute Unfold X over M to 2 by 4 and get Z", "Unfold takes no `to`"},
    {TW0234, TENSOR "Compute TopK X, 2 over M by 4 and get Z", "TopK takes no `by`"},
    {TW0234, TENSOR "Compute GroupMax X over M to 2 step 3 and get Z", "GroupMax takes no `step`"},
    {TW0234, TENSOR "Compute TopK X and get Z", "TopK takes 2 operands, not 1"},
    {TW0235, TENSOR "Compute TopK X, Y and get Z", "a number of elements, not a tensor"},
    {TW0235, TENSOR "Compute Reshape 3 and get Z (B, N)", "a number where Reshape wants a tensor"},
    {TW0235, TENSOR "Compute Unfold X over i by Y and get Z", "Y is a tensor where a size is wanted"},
    {TW0247, MATRIX "Param s = 1 div 0\nCompute Exp X and get Y", "division by 0"},
    {TW0247, MATRIX "Let s = p + M / (3 - 3)\nCompute Multiply X, s and get Y", "division by 0"},
    {TW0247, MATRIX "Param z = 0\nCompute Multiply X, p mod z and get Y", "division by 0"},
    {TW0246, TENSOR "Input W (Q)\nCompute GroupSum X over Q to 2 and get Z", "there is no dimension Q"},
    {TW0246, "Input X (M, M)\nOutput Y (M, M)\nCompute TopK X, 3 over M and get Y", "several dimensions are M"},
    {TW0326, "Input X (M, 0)\nOutput Y (M, 1)\nCompute RowSum X and get Y", "a dimension of size 0"},
    {TW0326, "Input X (M, 2147483648)\nOutput Y (M, 1)\nCompute RowSum X and get Y", "a dimension of size 2147483648"},
    {TW0326, TENSOR "Compute Unfold X over M by 0 and get Z", "a length of 0"},
    {TW0326, TENSOR "Compute Unfold X over M by 4 step 0 and get Z", "a length of 0"},
    {TW0326, TENSOR "Compute GroupSum X over M to 1 - 1 and get Z", "a length of 0"},
    {TW0326, TENSOR "Compute TopK X, 0 - 1 and get Z", "-1 elements"},
    {TW0326, TENSOR "Compute TopK X, 2.5 and get Z", "2.5 elements"},
    {TW0323, TENSOR "Compute Unfold X over M by 4 and get Z (B, 4, N)", "but computed"},
    {TW0323, TENSOR "Compute Unfold X over M by 4 and get Z (B, max((M - 4) div 4 + 1, 0) + 1, 4, N)",
     "but computed"},
    {TW0323, TENSOR "Compute Unfold X over M by 4 and get Z (B, M div 4, 5, N)", "but computed"},
    {TW0323, TENSOR "Compute GroupSum X over M to 2 and get Z (B, 3, N)", "but computed"},
    {TW0325, "Input X (a, b, c, d, e, g, h, i)\nOutput Y (a, b, c, d, e, g, h, i)\n"
             "Compute Unfold X over i by 4 and get Z\nCompute Exp X and get Y", "more than 8 dimensions"},
    {TW0328, TENSOR "Compute Reshape X and get Z (B, M, N + 1 - N)\nInput A (4, 6)\n"
             "Compute Reshape A and get C (5, 5)", "does not have as many elements as (5, 5)"},
    {TW0328, TENSOR "Input A (12, N)\nCompute GroupSum A over L to 5 and get C\nLet L = 12",
     "12 entries do not make 5 groups"},
    {TW0233, MATRIX "Compute Sum X over N and get Y", "there is no operation Sum"},
    {TW0233, MATRIX "Compute LogSumExp X and get Y", "there is no operation LogSumExp"},
    {TW0233, MATRIX "Compute Exp X and get Y\nS = 1 + GEMM(X, X)\nCompute Multiply X, S and get Z", "no function GEMM"},
    {TW0235, MATRIX "Compute Exp X - p and get Y", "not a computation with tensors"},
    {TW0235, MATRIX "Compute Add X * 2, 1 and get Y", "not a computation with tensors"},
    {TW0235, MATRIX "Compute Add max(X, 2), 1 and get Y", "not a computation with tensors"},
    {TW0246, MATRIX "Compute ColSum X and get c\nCompute Softmax c over M and get Y", "there is no dimension M of c"},
    {TW0246, MATRIX "Compute Exp X and get Y\nCompute ColSum X over N and get Z\nCompute RowSum Z over N and get V", "there is no dimension N of Z"},
    {TW0248, "Input A (M, K) fp32\nInput B (N, K)\nOutput C (M, N)\nCompute GEMM A, B.T and get C", "A is fp32: its elements are rounded"},
    {TW0430, "Input A (M, K) fp16\nInput B (N, K) int32\nOutput C (M, N)\nCompute Cast B, bf16 and get D\nCompute GEMM A, D.T and get C",
     "A is fp16, D is bf16"},
    {TW0249, "Input X (H, M, N)\nOutput Y (H, M, N)\nCompute Define Y (H, M, N) as X[H - 1, row, col]", "H is the size of the dimension here"},
    {TW0234, MATRIX "Compute Exp X over N and get Y", "takes no `over`"},
    {TW0233, MATRIX "Compute Expp X and get Y", "did you mean Exp?"},
    {TW0233, MATRIX "Compute Multiply X, foo(p) and get Y", "no function foo of 1 argument"},
    {TW0233, MATRIX "Compute Mask X where gcd(i, j) < 3 and get Y", "no function gcd of 2 arguments"},
    {TW0234, MATRIX "Compute Add X and get Y", "Add takes 2 operands, not 1"},
    {TW0234, MATRIX "Compute Mask X and get Y", "Mask needs a condition"},
    {TW0234, MATRIX "Compute Exp X where i < j and get Y", "takes no `where`"},
    {TW0234, MATRIX "Compute Exp X else 3 and get Y", "takes no `else`"},
    {TW0234, MATRIX "Compute Softmax X with A and B and get Y", "takes no `with`"},
    {TW0235, MATRIX "Compute Add 1, 2 and get Y", "numbers alone"},
    {TW0235, MATRIX "Compute GEMM X, 3 and get Y", "a number where GEMM wants a tensor"},
    {TW0235, MATRIX "Compute Softmax 3 and get Y", "a number where Softmax wants a tensor"},
    {TW0235, MATRIX "Compute Multiply X, i and get Y", "i is a position"},
    {TW0235, MATRIX "Compute Multiply X, X + 1 and get Y", "not a computation with tensors"},
    {TW0235, MATRIX "Compute Mask X where X > 0 and get Y", "X[...]"},
    {TW0235, MATRIX "Compute Exp X[i, :] and get Y", "a bound or an entry"},
    {TW0235, MATRIX "Compute Exp X and get p\nCompute Exp X and get Y", "p is a Param and cannot be computed"},
    {TW0235, MATRIX "Compute Fill X, X and get Y", "Fill takes a number"},
    {TW0235, MATRIX "Compute Cast X, p and get Y", "element type"},
    {TW0235, MATRIX "Input Z (X, N)\nCompute Exp X and get Y", "X is a tensor where a size is wanted"},
    {TW0235, MATRIX "Compute Multiply X, 1 + X[i, 3] and get Y", "not a computation with tensors"},
    {TW0236, MATRIX "Compute Exp X and get X\nCompute Exp X and get Y", "X is an input"},
    {TW0236, MATRIX "Compute Mask X where i < j\nCompute Exp X and get Y", "X is an input"},
    {TW0237, MATRIX "Compute Exp X and get Z", "Y is never computed"},
    {TW0238, MATRIX "Param a = b\nParam b = a\nCompute Multiply X, a and get Y", "depends on itself"},
    {TW0238, MATRIX "Let a = b + 1\nLet b = a + 1\nCompute Mask X where a < i and get Y", "depends on itself"},
    {TW0238, MATRIX "Let a = a + 1\nInput Z (a)\nCompute Exp X and get Y", "depends on itself"},
    {TW0239, MATRIX "if p\nCompute Exp X and get Y\nend\nCompute Exp X and get Y", "must be known"},
    {TW0239, MATRIX "if M > 3\nCompute Exp X and get Y\nend\nCompute Exp X and get Y", "must be known"},
    {TW0240, "Input X (M, M)\nOutput Y (M, M)\nIndex i over M\nCompute Mask X where i < 3 and get Y", "ambiguous"},
    {TW0240, MATRIX "Input V (N)\nCompute Mask V where i < 3 and get Z\nCompute Exp X and get Y",
     "i is a position along M, which (N) does not have"},
    {TW0240, MATRIX "Input W (batch, M, N)\nInput Len (batch) int32\nOutput Z (batch, M, N)\nCompute Mask X where j < Len[batch] and get D\n"
             "Compute Multiply W, D and get Z\nCompute Exp X and get Y",
     "batch is a position along batch, which (M, N) does not have"},
    {TW0241, MATRIX "Compute Exp X and get new Z\nCompute Exp Z and get Y", "no Z to replace"},
    {TW0242, "Input X (M)\nCompute Exp X and get Y", "no output"},
    {TW0244, MATRIX "Compute Divide 1, X else p and get Y", "must be known"},
    {TW0320, "Input A (M, K)\nInput B (N, K)\nOutput C (M, N)\nCompute GEMM A, B and get C", "B must be transposed"},
    {TW0320, "Input A (M, K)\nInput B (K, N)\nOutput C (M, N)\nCompute GEMM A, B.T and get C",
     "B must not be transposed"},
    {TW0320, "Input A (K, M)\nInput B (K, N)\nOutput C (M, N)\nCompute GEMM A, B and get C", "A must be transposed"},
    {TW0321, "Input A (M, K)\nInput B (L, N)\nOutput C (M, N)\nCompute GEMM A, B and get C", "contracted dimensions"},
    {TW0322, "Input A (M, N)\nInput B (N, M)\nOutput C (M, N)\nCompute Add A, B and get C",
     "A (M, N) does not fit B (N, M)"},
    {TW0322, "Input A (8, M, K)\nInput B (3, K, N)\nOutput C (8, M, N)\nCompute GEMM A, B and get C", "does not fit"},
    {TW0322, "Input A (b, h, M, K)\nInput B (b, K, N)\nOutput C (b, h, M, N)\nCompute GEMM A, B and get C",
     "its b would meet h"},
    {TW0322, "Input A (b, h, M)\nInput B (b, h)\nOutput C (b, h, M)\nCompute Add A, B and get C", "its h would meet M"},
    {TW0323, "Input A (M, N)\nOutput C (N, M)\nCompute Exp A and get C", "C is declared (N, M) but computed (M, N)"},
    {TW0323, "Input A (M, N)\nOutput C (M)\nCompute RowSum A and get C", "but computed (M, 1)"},
    {TW0323, MATRIX "Compute Exp X and get Y (N, M)", "declared (N, M)"},
    {TW0329, "Input A (M, 8)\nOutput C (M, 4)\nCompute Exp A[:, 6:10] and get C", "from 0 up to"},
    {TW0325, "Input A (N)\nInput B (N, M)\nOutput C (M)\nCompute GEMM A, B and get C", "one dimension where GEMM"},
    {TW0325, "Input A (N)\nOutput C (N)\nCompute ColSum A and get C", "no columns"},
    {TW0325, "Input A (a, b, c, d, e, f, g, h, k)\nOutput C (a)\nCompute Exp A and get C", "9 dimensions"},
    {TW0326, "Input A (M, 0)\nOutput C (M, M)\nCompute Exp A and get C", "size 0"},
    {TW0326, "Input A (M, N / 2)\nOutput C (M, N)\nCompute Exp A and get C", "need not give an integer"},
    {TW0326, "Param D = 2.5\nInput A (M, D)\nOutput C (M, D)\nCompute Exp A and get C", "D is 2.5"},
    {TW0326, "Input A (M, N div 0)\nOutput C (M, N)\nCompute Exp A and get C", "division by 0"},
    {TW0326, "Input A (M, 9223372036854775807 * N * 9)\nOutput C (M, N)\nCompute Exp A and get C", "overflow"},
    {TW0327, MATRIX "Input Seg (M)\nCompute Mask X where Seg[i, j] and get Y", "2 coordinates for Seg (M)"},
    {TW0327, MATRIX "Input Seg (a, b, c)\nCompute Mask X where Seg[...] and get Y", "more dimensions"},
};

static bool mentions(const Diags *diags, DiagCode code, const char *text)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == code && strstr(diags->list.data[i].message, text))
            return true;
    return false;
}

static void every_diagnostic(void **state)
{
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        bool error = diag_info(cases[i].code)->severity == SEV_ERROR;
        Def *def = resolve(f, cases[i].body);

        if (!mentions(f->diags, cases[i].code, cases[i].message) || (def != NULL) == error) {
            fprintf(stderr, "case %d, wanted %s: %s\n%s\n", (int)i, diag_info(cases[i].code)->name,
                    cases[i].message, cases[i].body);
            diags_print(f->diags, stderr, false);
            fail();
        }
        if (f->diags->errors != error) { /* one mistake, one error */
            diags_print(f->diags, stderr, false);
            fail();
        }
    }
}

static void fixes(void **state)
{
    Fixture *f = *state;

    resolve(f, "Input A (M, K)\nInput B (N, K)\nOutput C (M, N)\nCompute GEMM A, B and get C");
    assert_string_equal(f->diags->list.data[0].fix.text, "B.T");
    assert_string_equal(f->diags->list.data[0].note,
                        "a GEMM contracts the last dimension of the first operand with the second-last of the "
                        "second: A (M, K) and B (N, K)");
    resolve(f, "Input A (M, K)\nInput B (K, N)\nOutput C (M, N)\nCompute GEMM A, B.T and get C");
    assert_string_equal(f->diags->list.data[0].fix.text, "B");
    resolve(f, "Input Q (b, h, M, D)\nInput K (b, N, D)\nOutput S (b, h, M, N)\nCompute GEMM Q, K.T and get S");
    assert_string_equal(f->diags->list.data[0].fix.text, "b, 1, N, D");
    resolve(f, "Input Q (b, h, M, D)\nInput B (b, h)\nOutput S (b, h, M, D)\nCompute Add Q, B and get S");
    assert_string_equal(f->diags->list.data[0].fix.text, "b, h, 1, 1");
    resolve(f, "Input X (M, N)\nOutput s (M)\nCompute RowSum X and get s");
    assert_string_equal(f->diags->list.data[0].fix.text, ", 1");
    resolve(f, "Input X (M, M)\nOutput Y (M, M)\nIndex i over M\nCompute Mask X where i < 3 and get Y");
    assert_string_equal(f->diags->list.data[0].fix.text, "col");
}

/* Two positions over a dimension that a tensor has twice: the first is of its rows. */
static void positions_of_rows_and_columns(void **state)
{
    static const char *const declared[] = {"Index i over M\nIndex j over M", "Index j over M\nIndex row over M"};
    static const char *const masks[] = {"j <= i", "j <= row"};

    for (int k = 0; k < 2; k++) {
        Fixture *f = *state;
        Def *def = resolve(f, arena_printf(f->arena, "Input X (M, M)\nOutput Y (M, M)\n%s\nCompute Mask X where %s and get Y",
                                           declared[k], masks[k]));
        assert_non_null(def);
        const DefElem *elem = def->ops.data[0]->elem;
        assert_int_equal(elem->nodes.data[0].axis, 1);
        assert_int_equal(elem->nodes.data[1].axis, 0);
    }
}

/* ---- settings --------------------------------------------------------------------------- */

static void setting_that_nothing_uses(void **state)
{
    Fixture *f = *state;

    set(f, "HeadDin=128");
    assert_null(resolve(f, "Input X (M, HeadDim)\nOutput Y (M, HeadDim)\nCompute Exp X and get Y"));
    assert_true(mentions(f->diags, TW0210, "HeadDin; did you mean HeadDim?"));
}

static void setting_of_a_let(void **state)
{
    Fixture *f = *state;

    set(f, "c=1");
    assert_null(resolve(f, "Input X (M, N)\nOutput Y (M, N)\nLet c = 2\nCompute Multiply X, c and get Y"));
    assert_true(mentions(f->diags, TW0210, "c is a Let of t"));
}

static void settings_of_dimensions(void **state)
{
    static const char *const bad[] = {"M=0", "M=-4", "M=1.5", "M=1e30", "M=9223372036854775808", "M=inf"};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        f->settings = (Settings){0};
        set(f, bad[i]);
        assert_null(resolve(f, "Input X (M, N)\nOutput Y (M, N)\nCompute Exp X and get Y"));
        assert_int_equal(f->diags->list.data[0].code, TW0211);
        assert_int_equal(f->diags->errors, 1);
    }
    f->settings = (Settings){0};
    set(f, "M=5");
    set(f, "M=7"); /* the last one counts */
    assert_string_equal(shape_of_output(f, resolved(f, "Input X (M, N)\nOutput Y (M, N)\nCompute Exp X and get Y")),
                        "Y (M = 7, N)");
}

static void settings_are_parsed(void **state)
{
    static const char *const bad[] = {"", "=3", "a", "a=", "3a=4", "a b=3", "a=3x", "a= 3", "a=nan", "a=--3"};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(bad); i++)
        assert_non_null(settings_add(f->arena, &f->settings, bad[i]));
    set(f, "a=1e-5");
    assert_true(f->settings.list.data[0].value == 1e-5);
    set(f, "b=true");
    assert_true(f->settings.list.data[1].value == 1);
    set(f, "a=2"); /* the last counts, alone */
    assert_int_equal(f->settings.list.len, 2);
    assert_string_equal(f->settings.list.data[1].name, "a");
    assert_true(f->settings.list.data[1].value == 2);
}

/* ---- too much ------------------------------------------------------------------------------ */

static void too_many_statements(void **state)
{
    Fixture *f = *state;
    Str body = str_new(f->arena);

    str_add(&body, "Input X (M, N)\nOutput Y (M, N)\nCompute Exp X and get A\n");
    for (int i = 0; i < 2000; i++)
        str_add(&body, "Compute Exp A and get new A\n");
    str_add(&body, "Compute Exp A and get Y\n");
    assert_null(resolve(f, str_text(&body)));
    assert_true(mentions(f->diags, TW0108, "more than"));
}

static void too_many_names(void **state)
{
    Fixture *f = *state;
    Str body = str_new(f->arena);

    str_add(&body, "Input X (M, N)\nOutput Y (M, N)\nCompute Exp X and get Y\n");
    for (int i = 0; i < 3000; i++)
        str_printf(&body, "Param p%d = 1\n", i);
    assert_null(resolve(f, str_text(&body)));
    assert_true(mentions(f->diags, TW0108, "more than"));
}

/* Lets that double: 2^60 parts if they were written out. */
static const char *doubling(Fixture *f, const char *first, int n)
{
    Str body = str_new(f->arena);

    str_printf(&body, "Input X (M, N)\nOutput Y (M, N)\nIndex i over M\nParam p\nLet a0 = %s\n", first);
    for (int k = 1; k <= n; k++)
        str_printf(&body, "Let a%d = a%d + a%d\n", k, k - 1, k - 1);
    return str_text(&body);
}

static void expressions_that_explode(void **state)
{
    Fixture *f = *state;

    assert_null(resolve(f, arena_printf(f->arena, "%sCompute Mask X where a60 < 4 and get Y", doubling(f, "i", 60))));
    assert_true(mentions(f->diags, TW0108, "parts"));
    assert_null(resolve(f, arena_printf(f->arena, "%sCompute Multiply X, a60 and get Y", doubling(f, "p", 60))));
    assert_true(mentions(f->diags, TW0108, "parts"));
    assert_null(resolve(f, arena_printf(f->arena, "%sCompute Multiply X, a490 and get Y", doubling(f, "1", 490))));
    assert_true(mentions(f->diags, TW0108, "deep"));
    resolved(f, arena_printf(f->arena, "%sCompute Multiply X, a60 and get Y", doubling(f, "1", 60)));
    assert_null(resolve(f, arena_printf(f->arena, "%sInput Z (a63)\nCompute Exp X and get Y", doubling(f, "M", 63))));
}

/* What tiles cut: rows and columns, not what leads them, of which vectors and matrices may have one element each. */
static void dimensions_that_tiles_cut(void **state)
{
    static const struct {
        const char *name;
        bool tiled;
    } dims[] = {{"B", false}, {"H", false}, {"n", true}, {"D", true}, {"M", true}, {"E", true}};
    Fixture *f = *state;
    Def *def = resolved(f, "Input Q (B, H, n, D)\nInput win (H)\nInput seg (B, n)\nInput X (M, D)\nInput W (E)\nOutput Y (M, D)\n"
                           "Compute Multiply X, 2 and get Y");

    for (size_t i = 0; i < TW_COUNT(dims); i++)
        for (int k = 0; k < def->dims.len; k++)
            if (strcmp(def->dims.data[k].name, dims[i].name) == 0)
                assert_int_equal(def_is_tiled(def, def->dims.data[k].sym), dims[i].tiled);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(attention_with_a_head_dimension),
        TEST(attention_without_settings),
        TEST(static_if_folds),
        TEST(gemm_bias),
        TEST(shapes),
        TEST(names_follow_through),
        TEST(params_and_lets),
        TEST(positions_from_a_param),
        TEST(reads_of_tensors),
        TEST(sample_definitions),
        TEST(every_diagnostic),
        TEST(fixes),
        TEST(positions_of_rows_and_columns),
        TEST(setting_that_nothing_uses),
        TEST(setting_of_a_let),
        TEST(settings_of_dimensions),
        TEST(settings_are_parsed),
        TEST(too_many_statements),
        TEST(too_many_names),
        TEST(expressions_that_explode),
        TEST(dimensions_that_tiles_cut),
    };
    return cmocka_run_group_tests_name("def", tests, NULL, NULL);
}
