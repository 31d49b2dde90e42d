/* test_ref.c: the definition executor against direct loops, the verdict, the
 * choice of rows, tensors and their contents. */
#include "ref_rig.h"

/* ---- attention -------------------------------------------------------------------------- */

typedef struct Sizes {
    int b, hq, hk, q, k, d, v;
} Sizes;

/* One score; may be -inf. */
typedef double Score(const Fixture *f, const Sizes *s, int b, int h, int i, int j);

static double dot(const Fixture *f, const Sizes *s, int b, int h, int i, int j)
{
    double sum = 0;

    for (int c = 0; c < s->d; c++)
        sum += GET(f->in[0], b, h, i, c) * GET(f->in[1], b, h / (s->hq / s->hk), j, c);
    return sum;
}

static double causal_score(const Fixture *f, const Sizes *s, int b, int h, int i, int j)
{
    return j <= i + s->k - s->q ? dot(f, s, b, h, i, j) / sqrt(s->d) : -INFINITY;
}

static double full_score(const Fixture *f, const Sizes *s, int b, int h, int i, int j)
{
    return dot(f, s, b, h, i, j) / sqrt(s->d);
}

static void attention_row(const Fixture *f, const Sizes *s, Score *score, int b, int h, int i)
{
    double p[256], max = -INFINITY, sum = 0;

    for (int j = 0; j < s->k; j++)
        max = fmax(max, p[j] = score(f, s, b, h, i, j));
    for (int j = 0; j < s->k; j++)
        sum += p[j] = max == -INFINITY ? 0 : exp(p[j] - max);
    for (int c = 0; c < s->v; c++) {
        double o = 0;

        for (int j = 0; j < s->k && sum > 0; j++)
            o += p[j] / sum * GET(f->in[2], b, h / (s->hq / s->hk), j, c);
        near(GET(f->out[0], b, h, i, c), o, "O", i, c);
    }
}

static void check_attention(Fixture *f, const Sizes *s, Score *score)
{
    for (int b = 0; b < s->b; b++)
        for (int h = 0; h < s->hq; h++)
            for (int i = 0; i < s->q; i++)
                attention_row(f, s, score, b, h, i);
}

static void bind_sizes(Fixture *f, const Sizes *s)
{
    f->bindings.len = 0;
    bind(f, "batch", s->b);
    bind(f, "q_heads", s->hq);
    bind(f, "kv_heads", s->hk);
    bind(f, "q_len", s->q);
    bind(f, "kv_len", s->k);
}

static void attention(void **state)
{
    static const Sizes sizes[] = {
        {2, 4, 4, 7, 7, 8, 8},  {1, 6, 2, 5, 9, 4, 4}, {1, 4, 1, 1, 33, 16, 16},
        {1, 2, 2, 20, 20, 3, 3}, {1, 2, 1, 9, 5, 4, 4}, /* rows without a live key */
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(sizes); i++)
        for (int causal = 0; causal < 2; causal++) {
            f->settings.list.len = 0;
            set(f, causal ? "causal=1" : "causal=0");
            use_file(f, "ops/attention.tl", NULL);
            bind_sizes(f, &sizes[i]);
            bind(f, "HeadDim", sizes[i].d);
            execute(f);
            check_attention(f, &sizes[i], causal ? causal_score : full_score);
        }
}

/* Sizes compiled in, values narrower than keys. */
static void attention_with_settings(void **state)
{
    static const Sizes s = {1, 2, 1, 6, 6, 8, 5};
    Fixture *f = *state;

    set(f, "HeadDim=8");
    set(f, "VDim=5");
    use_file(f, "ops/attention.tl", NULL);
    bind_sizes(f, &s);
    execute(f);
    check_attention(f, &s, causal_score);
}

static void fully_masked_rows_are_zero(void **state)
{
    static const Sizes s = {1, 1, 1, 8, 3, 4, 4};
    Fixture *f = *state;

    use_file(f, "ops/attention.tl", NULL);
    bind_sizes(f, &s);
    bind(f, "HeadDim", 4);
    execute(f);
    for (int i = 0; i < 8; i++)
        for (int c = 0; c < 4; c++)
            assert_true((GET(f->out[0], 0, 0, i, c) == 0) == (i < 5));
}

static void empty_lengths(void **state)
{
    static const Sizes no_keys = {1, 1, 1, 4, 0, 4, 4}, no_queries = {1, 1, 1, 0, 4, 4, 4};
    Fixture *f = *state;

    use_file(f, "ops/attention.tl", NULL);
    bind_sizes(f, &no_keys);
    bind(f, "HeadDim", 4);
    execute(f);
    for (int i = 0; i < 4; i++)
        assert_true(GET(f->out[0], 0, 0, i, 0) == 0);
    bind_sizes(f, &no_queries);
    bind(f, "HeadDim", 4);
    execute(f);
}

static double soft_capped(const Fixture *f, const Sizes *s, int b, int h, int i, int j)
{
    return j <= i && j > i - 4 ? 2 * tanh(full_score(f, s, b, h, i, j) / 2) : -INFINITY;
}

static void soft_cap_and_window(void **state)
{
    static const Sizes s = {1, 2, 2, 12, 12, 8, 8};
    Fixture *f = *state;

    use(f, "Input Q (batch, heads, len, D)\nInput K (batch, heads, kv, D)\nInput V (batch, heads, kv, D)\n"
           "Output O (batch, heads, len, D)\nParam cap\nParam window = 4\nIndex i over len\nIndex j over kv\n"
           "Compute GEMM Q, K.T and get S\nCompute Multiply S, 1 / sqrt(D)\nCompute Divide S, cap\nCompute Tanh S\n"
           "Compute Multiply S, cap\nCompute Mask S where j <= i and j > i - window\nCompute Softmax S\n"
           "Compute GEMM S, V and get O");
    bind(f, "batch", 1);
    bind(f, "heads", 2);
    bind(f, "len", 12);
    bind(f, "kv", 12);
    bind(f, "D", 8);
    bind(f, "cap", 2);
    execute(f);
    check_attention(f, &s, soft_capped);
}

/* The sample: soft-capping, ALiBi and documents, with data read in the mask. */
static double document_score(const Fixture *f, const Sizes *s, int b, int h, int i, int j)
{
    int pos = i + s->k - s->q;
    double x = 50 * tanh(dot(f, s, b, h, i, j) * 0.25 / 50) - GET(f->in[4], h, 0, 0) * (pos - j);

    return j <= pos && GET(f->in[3], b, pos) == GET(f->in[3], b, j) ? x : -INFINITY;
}

static void document_masks(void **state)
{
    static const Sizes s = {2, 4, 2, 9, 13, 4, 6};
    Fixture *f = *state;

    use_file(f, "tests/lang/definitions.tl", "DocumentCausalAttention");
    bind_sizes(f, &s);
    bind(f, "HeadDim", 4);
    bind(f, "VDim", 6);
    bind(f, "scale", 0.25);
    make(f);
    for (int b = 0; b < 2; b++)
        for (int j = 0; j < 13; j++)
            PUT(f->in[3], j / 5, b, j);
    write_output(f, run(f, REF_EXACT), 0);
    check_attention(f, &s, document_score);
}

static double selected_score(const Fixture *f, const Sizes *s, int b, int h, int i, int j)
{
    return GET(f->in[3], b, h / 2, i, j / 4) != 0 ? full_score(f, s, b, h, i, j) : -INFINITY;
}

/* `...` is the element's own batch, head and query; heads share. */
static void selected_blocks(void **state)
{
    static const Sizes s = {2, 4, 2, 5, 11, 4, 4};
    Fixture *f = *state;

    use(f, "Input Q (batch, q_heads, q_len, D)\nInput K (batch, kv_heads, kv_len, D)\n"
           "Input V (batch, kv_heads, kv_len, D)\nInput Sel (batch, kv_heads, q_len, ceil(kv_len / 4)) bool\n"
           "Output O (batch, q_heads, q_len, D)\nIndex j over kv_len\nCompute GEMM Q, K.T and get S\n"
           "Compute Multiply S, 1 / sqrt(D)\nCompute Mask S where Sel[..., j div 4]\nCompute Softmax S\n"
           "Compute GEMM S, V and get O");
    bind_sizes(f, &s);
    bind(f, "D", 4);
    execute(f);
    check_attention(f, &s, selected_score);
}

/* A condition may read what was computed before, by its names of dimensions. */
static void reads_of_computed_values(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (B, M, N)\nOutput Y (B, M, N)\nIndex i over M\nIndex j over N\nCompute RowMean X and get m\n"
           "Compute Mask X where X[...] > m[B, i, 0] or X[B, i - 1, N] > 1 else -1 and get Y");
    bind(f, "B", 2);
    bind(f, "M", 3);
    bind(f, "N", 300); /* more than a block of columns */
    execute(f);
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 3; i++) {
            double mean = 0;

            for (int j = 0; j < 300; j++)
                mean += GET(f->in[0], b, i, j) / 300;
            for (int j = 0; j < 300; j++) {
                double x = GET(f->in[0], b, i, j), above = i > 0 ? GET(f->in[0], b, i - 1, j) : 0;

                near(GET(f->out[0], b, i, j), x > mean || above > 1 ? x : -1, "Y", i, j);
            }
        }
}

/* Of an input's row one element is wanted, a few, or all of them, one after the other and by turns. A long input costs its elements
 * then, not for each a row. */
static void reads_of_few_elements_of_a_row(void **state)
{
    enum { N = 20000 };
    Fixture *f = *state;

    use(f, "Input X (M, N)\nOutput Y (N, M) fp32\nOutput Z (M, N) fp32\nIndex i over M\nIndex j over N\n"
           "Compute Define Y (N, M) as X[i, j] + X[0, j]\nCompute Define Z (M, N) as X[i, j div 2] + X[(i + j) % 3, j]");
    bind(f, "M", 3);
    bind(f, "N", N);
    execute(f);
    write_output(f, run(f, REF_EXACT), 1);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < N; j++) {
            near(GET(f->out[0], j, i), GET(f->in[0], i, j) + GET(f->in[0], 0, j), "Y", j, i);
            near(GET(f->out[1], i, j), GET(f->in[0], i, j / 2) + GET(f->in[0], (i + j) % 3, j), "Z", i, j);
        }
}

/* ---- other operators -------------------------------------------------------------------------- */

static void gemm_bias(void **state)
{
    Fixture *f = *state;

    use_file(f, "ops/gemm_bias.tl", NULL);
    bind(f, "M", 5);
    bind(f, "K", 7);
    bind(f, "N", 37); /* not a multiple of a panel */
    execute(f);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 37; j++) {
            double sum = GET(f->in[2], j);

            for (int k = 0; k < 7; k++)
                sum += GET(f->in[0], i, k) * GET(f->in[1], k, j);
            near(GET(f->out[0], i, j), sum, "C", i, j);
        }
}

static void gemms_transposed_both_ways(void **state)
{
    Fixture *f = *state;

    use(f, "Input A (b, K, M)\nInput B (N, K)\nOutput C (b, M, N)\nCompute Neg A and get A2\n"
           "Compute GEMM A2.T, B.T and get C\nCompute GEMM A.T, B.T and accumulate C\n"
           "Compute GEMM A.T, B.T and accumulate C");
    bind(f, "b", 3);
    bind(f, "K", 6);
    bind(f, "M", 4);
    bind(f, "N", 5);
    execute(f);
    for (int b = 0; b < 3; b++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 5; j++) {
                double sum = 0;

                for (int k = 0; k < 6; k++)
                    sum += GET(f->in[0], b, k, i) * GET(f->in[1], j, k);
                near(GET(f->out[0], b, i, j), sum, "C", i, j);
            }
}

static void norms(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (M, N)\nInput g (N)\nOutput Y (M, N)\nParam eps = 1e-5\nCompute RowMean X and get mu\n"
           "Compute Subtract X, mu and get D\nCompute Square D and get V\nCompute RowMean V and get V\n"
           "Compute Add V, eps\nCompute Rsqrt V\nCompute Multiply D, V and get Y\nCompute Multiply Y, g");
    bind(f, "M", 4);
    bind(f, "N", 9);
    execute(f);
    for (int i = 0; i < 4; i++) {
        double mean = 0, square = 0;

        for (int j = 0; j < 9; j++)
            mean += GET(f->in[0], i, j) / 9;
        for (int j = 0; j < 9; j++)
            square += pow(GET(f->in[0], i, j) - mean, 2) / 9;
        for (int j = 0; j < 9; j++)
            near(GET(f->out[0], i, j),
                 (GET(f->in[0], i, j) - mean) / sqrt(square + 1e-5) * GET(f->in[1], j), "Y", i, j);
    }
}

static void columns_and_constants(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (b, M, N)\nOutput Y (b, M, N)\nCompute ColSum X and get s\nCompute ColMax X and get m\n"
           "Compute Divide s, m else 5 and get q\nCompute Fill X, 3 and get T\nCompute Cast X, int32 and get I\n"
           "Compute Where I, q, T and get Y");
    bind(f, "b", 2);
    bind(f, "M", 3);
    bind(f, "N", 4);
    make(f);
    for (int i = 0; i < 3; i++)
        PUT(f->in[0], i == 1 ? 0 : -2 * i, 1, i, 2); /* largest 0: the quotient is 5 */
    write_output(f, run(f, REF_EXACT), 0);
    for (int b = 0; b < 2; b++)
        for (int j = 0; j < 4; j++) {
            double sum = 0, max = -INFINITY;

            for (int i = 0; i < 3; i++) {
                sum += GET(f->in[0], b, i, j);
                max = fmax(max, GET(f->in[0], b, i, j));
            }
            for (int i = 0; i < 3; i++)
                near(GET(f->out[0], b, i, j),
                     (int)GET(f->in[0], b, i, j) == 0 ? 3 : max == 0 ? 5 : sum / max, "Y", i, j);
        }
}

/* Words have all their bits where they are only taken apart; elsewhere integers are few. */
static void words_are_full(void **state)
{
    Fixture *f = *state;
    double least = 0, most = 0;

    use(f, "Input Q (M, N) int32\nInput P (M, N) int32\nOutput Y (M, N)\nOutput Z (M, N)\nIndex i over M\nIndex j over N\n"
           "Compute Define Y (M, N) as Q[i, j] div 2 ** (4 * (j % 8)) % 16 + P[i, j] % 3\nCompute Define Z (M, N) as P[i, j] + 1");
    bind(f, "M", 40);
    bind(f, "N", 16);
    make(f);
    Ref *ref = run(f, REF_EXACT);
    write_output(f, ref, 0);
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 16; j++) {
            int32_t q = (int32_t)GET(f->in[0], i, j), p = (int32_t)GET(f->in[1], i, j);

            least = fmin(least, q), most = fmax(most, q);
            assert_true(p >= 0 && p <= 3);
            assert_true(GET(f->out[0], i, j) == ((uint32_t)q >> 4 * (j % 8) & 15) + p % 3);
        }
    assert_true(least < -0x1p30 && most > 0x1p30);
}

/* Retention's decay: Power and Define; more than one output. */
static void defined_tensors(void **state)
{
    Fixture *f = *state;

    use(f, "Input G (h, 1, 1)\nOutput Y (h, M, N)\nOutput Z (M, 1)\nIndex i over M from 1\nIndex j over N\nLet d = i - j\n"
           "Compute Define D (M, N) as max(d, 0) + M mod 3\nCompute Abs G and get A\nCompute Power A, D and get Y\n"
           "Compute RowSum D and get Z");
    bind(f, "h", 2);
    bind(f, "M", 4);
    bind(f, "N", 5);
    make(f);
    Ref *ref = run(f, REF_EXACT);
    write_output(f, ref, 0);
    write_output(f, ref, 1);
    for (int i = 0; i < 4; i++) {
        double sum = 0;

        for (int j = 0; j < 5; j++) {
            double d = fmax(i + 1 - j, 0) + 1;

            sum += d;
            for (int h = 0; h < 2; h++)
                near(GET(f->out[0], h, i, j), pow(fabs(GET(f->in[0], h, 0, 0)), d), "Y", i, j);
        }
        near(GET(f->out[1], i, 0), sum, "Z", i, 0);
    }
}

static void vectors(void **state)
{
    Fixture *f = *state;
    const char *error;
    RefVerdict v;

    use(f, "Input X (N)\nOutput Y (N)\nOutput Z (1)\nIndex j over N\nCompute Mask X where X[...] > 0 and j > 2 else 0 and get Y\n"
           "Compute RowMax Y and get Z");
    bind(f, "N", 7);
    make(f);
    Ref *ref = run(f, REF_EXACT);
    const double *row = ref_row(ref, 0, NULL);
    for (int j = 0; j < 7; j++) {
        near(row[j], j > 2 ? fmax(GET(f->in[0], j), 0) : 0, "Y", 0, j);
        PUT(f->out[0], row[j], j);
    }
    assert_true(ref_compare(f->arena, f->def, f->bindings.data, f->bindings.len, f->in, f->out, 0,
                            rows_choose(f->arena, f->out[0], 99, 64, 999, 1), 2, &v, &error));
    assert_true(v.ok && v.got.compared == 7);
}

/* Results do not depend on what is kept. */
static void small_caches(void **state)
{
    Fixture *f = *state;
    const char *error;
    RefVerdict v;

    use(f, "Input X (b, M, M)\nOutput Y (b, M, M)\nCompute GEMM X, X.T and get A\nCompute GEMM A, A and get B\n"
           "Compute Subtract B, A and get C\nCompute ColSum C and get s\nCompute GEMM C, A.T and get Y\n"
           "Compute Multiply Y, s\nCompute Add Y, C");
    bind(f, "b", 3);
    bind(f, "M", 10);
    make(f);
    Ref *ref = run(f, REF_EXACT);
    ref_cache_limit(ref, 100);
    write_output(f, ref, 0);
    assert_true(ref_compare(f->arena, f->def, f->bindings.data, f->bindings.len, f->in, f->out, 0,
                            rows_choose(f->arena, f->out[0], 99, 64, 999, 1), 2, &v, &error));
    assert_true(v.got.frobenius < 1e-7);
    assert_int_equal(v.got.compared, 300);
}

/* How exact an output in fp32 must be is seen through Defines, and soon. */
static void floors(void **state)
{
    Fixture *f = *state;
    Str chain = str_new(f->arena);

    use(f, "Input X (M, N)\nOutput Y (M, N) fp32\nCompute RowSum X and get s\n"
           "Compute Define Y (M, N) as X[row, col] - s[row, 0] * 0.1");
    assert_true(ref_floor(f->def, 0).relative == 4 * dtype_epsilon(DT_F32));
    use(f, "Input X (M, N)\nOutput Y (M, N) fp32\nCompute Log X and get s\nCompute Define Y (M, N) as s[row, col] + 1");
    assert_true(ref_floor(f->def, 0).absolute > 0);
    str_printf(&chain, "Input X (M, N)\nOutput Y (M, N) fp32\nCompute Add X, X and get Y");
    for (int i = 0; i < 60; i++)
        str_printf(&chain, "\nCompute Add Y, Y and get new Y");
    use(f, str_text(&chain));
    assert_true(ref_floor(f->def, 0).relative == dtype_epsilon(DT_F32) && ref_floor(f->def, 0).absolute == 0);
}

/* ---- precision ------------------------------------------------------------------------------------ */

static RefVerdict compare(Fixture *f, const char **error)
{
    RefVerdict v = {0};
    RowList *rows = rows_choose(f->arena, f->out[0], 999, 64, 1 << 20, 1);

    *error = NULL;
    ref_compare(f->arena, f->def, f->bindings.data, f->bindings.len, f->in, f->out, 0, rows, 2, &v, error);
    return v;
}

static void plain_errors(void **state)
{
    static const struct {
        DType dtype;
        double least, most; /* of the Frobenius error, in epsilons */
    } cases[] = {{DT_BF16, 0.15, 0.5}, {DT_F16, 0.15, 0.5}, {DT_F32, 0.05, 0.5}};
    static const Sizes s = {1, 2, 1, 40, 100, 32, 32};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *error;
        double epsilon = dtype_epsilon(dtype_is_narrow(cases[i].dtype) ? cases[i].dtype : DT_BF16); /* of the products */
        RefVerdict v;

        f->settings.dtype = cases[i].dtype;
        use_file(f, "ops/attention.tl", NULL);
        bind_sizes(f, &s);
        bind(f, "HeadDim", 32);
        make(f);
        write_output(f, run(f, REF_PLAIN), 0);
        v = compare(f, &error);
        assert_null(error);
        assert_true(v.ok);
        assert_true(v.got.frobenius == v.plain.frobenius && v.got.max_abs == v.plain.max_abs);
        assert_true(v.plain.frobenius > cases[i].least * epsilon && v.plain.frobenius < cases[i].most * epsilon);
        /* rounding the exact result once is better still */
        write_output(f, run(f, REF_EXACT), 0);
        v = compare(f, &error);
        assert_true(v.ok && v.ratio_frobenius < 1);
    }
}

/* A sum that comes out right in one order and not in another: what any of them gives
 * passes, what none of them gives does not. */
static void lucky_order(void **state)
{
    static const double got[] = {1, 0, 4};
    Fixture *f = *state;
    const char *error;

    f->settings.dtype = DT_BF16;
    use(f, "Input X (M, 3)\nInput W (3, N)\nOutput Y (M, N) fp32\nCompute GEMM X, W and get Y");
    bind(f, "M", 1);
    bind(f, "N", 1);
    make(f);
    PUT(f->in[0], 0x1p25, 0, 0);
    PUT(f->in[0], -0x1p25, 0, 1); /* which 1 is lost beside, but not beside their sum */
    PUT(f->in[0], 1, 0, 2);
    for (int k = 0; k < 3; k++)
        PUT(f->in[1], 1, k, 0);
    for (int i = 0; i < 3; i++) {
        PUT(f->out[0], got[i], 0, 0);
        RefVerdict v = compare(f, &error);
        assert_null(error);
        assert_true(v.ok == (i < 2));
        assert_true(v.plain_max == (i == 0 ? 0 : 1));
    }
}

/* One wrong element, a row off by one, a factor, a NaN: each is seen. */
static void verdict_sees_mistakes(void **state)
{
    static const Sizes s = {1, 2, 1, 40, 100, 32, 32};
    Fixture *f = *state;
    const char *error;

    f->settings.dtype = DT_BF16;
    use_file(f, "ops/attention.tl", NULL);
    bind_sizes(f, &s);
    bind(f, "HeadDim", 32);
    for (int mistake = 0; mistake < 5; mistake++) {
        RefVerdict v;

        make(f);
        write_output(f, run(f, REF_PLAIN), 0);
        for (int i = 0; i < 40; i++)
            for (int c = 0; c < 32; c++) {
                double x = GET(f->out[0], 0, 1, i, c);

                if (mistake == 0 && i == 17 && c == 3)
                    PUT(f->out[0], x + 0.1, 0, 1, i, c);
                if (mistake == 1 && i + 1 < 40)
                    PUT(f->out[0], GET(f->out[0], 0, 1, i + 1, c), 0, 1, i, c);
                if (mistake == 2)
                    PUT(f->out[0], x * 1.02, 0, 1, i, c);
                if (mistake == 3 && i == 39 && c == 31)
                    PUT(f->out[0], NAN, 0, 1, i, c);
                if (mistake == 4 && i == 0 && c == 0)
                    PUT(f->out[0], INFINITY, 0, 1, i, c);
            }
        v = compare(f, &error);
        assert_null(error);
        assert_false(v.ok);
        assert_int_equal(v.got.not_finite, mistake >= 3);
    }
}

/* Where the plain error is nothing, one rounding is allowed and no more. */
static void verdict_with_an_exact_baseline(void **state)
{
    Fixture *f = *state;
    const char *error;

    f->settings.dtype = DT_BF16;
    use(f, "Input X (M, N)\nOutput Y (M, N)\nCompute Neg X and get Y");
    bind(f, "M", 3);
    bind(f, "N", 4);
    make(f);
    write_output(f, run(f, REF_PLAIN), 0);
    assert_true(compare(f, &error).ok && compare(f, &error).plain.max_abs == 0);
    PUT(f->out[0], GET(f->out[0], 1, 1) * (1 + 1.0 / 32), 1, 1);
    assert_false(compare(f, &error).ok);
}

/* A single element may be off by all of a rounding, where many are by half of it in the norm. */
static void verdict_on_one_element(void **state)
{
    Fixture *f = *state;
    const char *error;

    f->settings.dtype = DT_F32;
    use(f, "Input X (N)\nOutput Y (N)\nCompute Neg X and get Y");
    f->fill = FILL_ONES;
    for (int n = 1; n <= 64; n *= 64) {
        bind(f, "N", n);
        make(f);
        for (int units = 0; units <= 2; units++) {
            for (int i = 0; i < n; i++)
                PUT(f->out[0], -1 - units * 0x1p-23, i);
            assert_true(compare(f, &error).ok == (units == 0 || (units == 1 && n == 1)));
        }
    }
}

/* What fp16 cannot hold is infinite, and rightly so. */
static void verdict_beyond_the_range(void **state)
{
    Fixture *f = *state;
    const char *error;

    f->settings.dtype = DT_F16;
    use(f, "Input X (M, N)\nOutput Y (M, N)\nCompute Multiply X, 1e9 and get Y");
    bind(f, "M", 3);
    bind(f, "N", 4);
    f->fill = FILL_ONES;
    make(f);
    write_output(f, run(f, REF_PLAIN), 0);
    assert_true(isinf(GET(f->out[0], 0, 0)));
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], 65504, 2, 3);
    assert_false(compare(f, &error).ok);
}

/* What an integer loses of a number is no mistake, though the plain implementation came upon the next one. */
static void verdict_on_integers_cut(void **state)
{
    Fixture *f = *state;
    const char *error;

    use(f, "Input X (N) fp32\nOutput Y (N) int32\nCompute Multiply X, 0.99999999 and get Y");
    bind(f, "N", 2);
    f->fill = FILL_ONES;
    make(f);
    write_output(f, run(f, REF_PLAIN), 0);
    assert_true(GET(f->out[0], 0) == 1);
    for (int y = -1; y <= 2; y++) {
        PUT(f->out[0], y, 0);
        assert_true(compare(f, &error).ok == (y == 0 || y == 1));
    }
}

/* Of nothing there is no mean: that is right where an input is empty, and nowhere else. */
static void verdict_where_nothing_is_defined(void **state)
{
    static const struct { const char *body; int rows; bool ok; } cases[] = {
        {"Input X (M, N)\nOutput Y (1, N)\nCompute ColSum X and get s\nCompute Divide s, M and get Y", 0, true},
        {"Input X (N, M)\nOutput Y (N, 1)\nCompute RowMean X and get Y", 0, true},
        {"Input X (M, N)\nOutput Y (1, N)\nCompute ColSum X and get s\nCompute Divide s, 0 and get t\nCompute Subtract t, t and get Y", 3,
         false},
    };
    Fixture *f = *state;
    const char *error;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        use(f, cases[i].body);
        f->bindings.len = 0;
        bind(f, "M", cases[i].rows);
        bind(f, "N", 4);
        make(f);
        write_output(f, run(f, REF_PLAIN), 0);
        RefVerdict v = compare(f, &error);
        assert_true(v.undefined > 0 && v.got.compared == 0);
        assert_true(v.ok == cases[i].ok);
    }
}

/* An infinity for a number near the end of the range is as wrong as its distance;
 * for any other it is not a result. */
static void verdict_near_the_end_of_the_range(void **state)
{
    Fixture *f = *state;
    const char *error;

    f->settings.dtype = DT_F16;
    use(f, "Input X (M, N)\nOutput Y (M, N)\nCompute Multiply X, 1 and get Y");
    bind(f, "M", 3);
    bind(f, "N", 4);
    f->fill = FILL_ONES;
    make(f);
    for (int j = 0; j < 4; j++)
        PUT(f->in[0], 65504, 1, j);
    write_output(f, run(f, REF_PLAIN), 0);
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], INFINITY, 1, 1);
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], -INFINITY, 1, 1);
    assert_false(compare(f, &error).ok);
    PUT(f->out[0], 30000, 1, 1);
    assert_false(compare(f, &error).ok);
    PUT(f->out[0], 65504, 1, 1);
    PUT(f->out[0], INFINITY, 0, 1);
    assert_false(compare(f, &error).ok);
}

/* Operands of 8 bits stop at their largest number, so that an infinity may be any number: one that is as far off as the plain
 * implementation's is right; none is. */
static void verdict_where_8_bits_end(void **state)
{
    Fixture *f = *state;
    const char *error;

    f->settings.dtype = DT_E4M3;
    use(f, "Input X (M, K)\nInput U (K, N)\nOutput Y (M, N)\nCompute Multiply X, 1e30 and get H\n"
           "Compute GEMM H, U and get Z\nCompute Multiply Z, 1e10 and get Y");
    bind(f, "M", 2);
    bind(f, "N", 8);
    bind(f, "K", 2);
    f->fill = FILL_ONES;
    make(f);
    PUT(f->in[0], 448, 1, 0);
    for (int j = 0; j < 8; j++)
        PUT(f->in[1], -2, 1, j);
    write_output(f, run(f, REF_PLAIN), 0);
    assert_true(GET(f->out[0], 1, 3) < 0 && isfinite(GET(f->out[0], 1, 3)));
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], INFINITY, 1, 3);
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], -INFINITY, 1, 3);
    assert_false(compare(f, &error).ok);
    PUT(f->out[0], NAN, 1, 3);
    assert_false(compare(f, &error).ok);
}

/* A number on the way that the precision does not hold: no output is right or wrong
 * there, and everywhere else it is compared as ever. */
static void verdict_where_plain_overflows(void **state)
{
    Fixture *f = *state;
    const char *error;

    f->settings.dtype = DT_F16;
    use(f, "Input X (M, K)\nInput W (K, N)\nInput U (N, K)\nOutput Y (M, K)\nCompute GEMM X, W and get H\n"
           "Compute GEMM H, U and get Y\nCompute Multiply Y, 1e-4");
    bind(f, "M", 2);
    bind(f, "N", 16);
    bind(f, "K", 16);
    f->fill = FILL_ONES;
    make(f);
    for (int j = 0; j < 16; j++)
        PUT(f->in[0], 6e4, 0, j);
    write_output(f, run(f, REF_PLAIN), 0);
    RefVerdict v = compare(f, &error);
    assert_true(v.ok && v.beyond == 16 && v.got.compared == 16);
    PUT(f->out[0], 1, 1, 3);
    assert_false(compare(f, &error).ok);
}

/* A number less itself is nothing to one who keeps it, and a rounding to one who sums it
 * again: a kernel that is off by as much is right, one that is off by far more is not. */
static void verdict_where_products_are_computed_again(void **state)
{
    Fixture *f = *state;
    const char *error;
    double most = 0;
    Ref *again;

    use(f, "Input X (M, K)\nInput W (K, N)\nInput A (M, N)\nOutput Y (M, 1)\nCompute GEMM X, W and get P\n"
           "Compute Multiply A, P and get B\nCompute RowSum B and get D\nCompute Subtract P, D and get S\n"
           "Compute Multiply S, A and get T\nCompute RowSum T and get Y");
    bind(f, "M", 8);
    bind(f, "N", 16);
    bind(f, "K", 64);
    make(f);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 16; j++)
            PUT(f->in[2], i == j, i, j); /* all weight on one */
    write_output(f, run(f, REF_PLAIN), 0);
    again = run(f, REF_PLAIN_2);
    for (int64_t i = 0; i < 8; i++) {
        assert_true(tensor_get(f->out[0], (const int64_t[]){i, 0}) == 0);
        most = fmax(most, fabs(*ref_row(again, 0, &i)));
    }
    assert_true(most > 0 && most < 1e-4);
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], 1.5 * most, 2, 0);
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], 50 * most, 2, 0);
    assert_false(compare(f, &error).ok);
}

/* A kernel that multiplies the terms of a difference one by one rounds each of them: it is right, one that is off by
 * far more is not. */
static void verdict_where_terms_are_multiplied_one_by_one(void **state)
{
    static const char *const between[] = {"", "Compute Multiply P, 0.5 and get new P\n", "Compute Negate P and get new P\n"};
    Fixture *f = *state;
    const char *error;

    for (size_t b = 0; b < TW_COUNT(between); b++) {
        double most = 0;

        use(f, arena_printf(f->arena, "Input A (M, K) fp32\nInput B (M, K) fp32\nInput W (K, N)\nOutput Y (M, N) fp32\n"
                                      "Compute Subtract A, B and get P\n%sCompute GEMM P, W and get Y", between[b]));
        f->bindings.len = 0;
        bind(f, "M", 4);
        bind(f, "N", 8);
        bind(f, "K", 64);
        make(f);
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 64; k++) {
                double x = GET(f->in[0], i, k);

                PUT(f->in[0], 8 + x / 64, i, k);
                PUT(f->in[1], 8 - x / 64, i, k);
            }
        write_output(f, run(f, REF_PLAIN), 0);
        assert_true(compare(f, &error).ok);
        write_output(f, run(f, REF_PLAIN_4), 0);
        for (int64_t i = 0; i < 4; i++)
            for (int64_t j = 0; j < 8; j++)
                most = fmax(most, fabs(GET(f->out[0], i, j) - ref_row(run(f, REF_EXACT), 0, &i)[j]));
        RefVerdict v = compare(f, &error);
        assert_true(v.ok && most > 0.01);
        PUT(f->out[0], GET(f->out[0], 2, 3) + 5 * most, 2, 3);
        assert_false(compare(f, &error).ok);
    }
}

/* Tensor cores cut their sums off: of many numbers of one sign they come out low, which a
 * difference of two such sums shows. */
static void plain_sums_of_tensor_cores(void **state)
{
    enum { K = 2000, STEPS = K / 8 };
    Fixture *f = *state;
    const char *error;
    const double exact = STEPS * (8 + 0x1p-6 + 0x1p-14); /* the last bit is lost from 1024 on */

    use(f, "Input X (M, K) bf16\nInput W (K, N) bf16\nOutput Y (M, N) fp32\nCompute GEMM X, W and get P\n"
           "Compute Subtract P, 2000 and get Y");
    bind(f, "M", 1);
    bind(f, "N", 1);
    bind(f, "K", K);
    make(f);
    for (int k = 0; k < K; k++) {
        PUT(f->in[0], k % 8 ? 1 : 1 + 0x1p-7, 0, k);
        PUT(f->in[1], k % 8 ? 1 : 1 + 0x1p-7, k, 0);
    }
    double low = exact - 2000 - *ref_row(run(f, REF_PLAIN_5), 0, (const int64_t[]){0});
    assert_true(low > STEPS / 8 * 0x1p-13 && low < STEPS * 0x1p-13);
    PUT(f->out[0], exact - 2000 - 1.5 * low, 0, 0);
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], exact - 2000 - 20 * low, 0, 0);
    assert_false(compare(f, &error).ok);
}

/* exp(-90) is a subnormal number of fp32, which a kernel flushes: its logarithm may be lost, that of a
 * larger one may not. */
static void verdict_where_subnormals_are_flushed(void **state)
{
    Fixture *f = *state;
    const char *error;

    use(f, "Input X (M, N) fp32\nOutput Y (M, N) fp32\nCompute Exp X and get E\nCompute Log E and get Y");
    bind(f, "M", 2);
    bind(f, "N", 8);
    f->fill = FILL_ONES;
    make(f);
    PUT(f->in[0], -90, 1, 3);
    PUT(f->in[0], -80, 1, 4);
    write_output(f, run(f, REF_PLAIN), 0);
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], -INFINITY, 1, 3);
    RefVerdict v = compare(f, &error);
    assert_true(v.ok && v.beyond == 1 && v.got.compared == 15);
    PUT(f->out[0], -INFINITY, 1, 4);
    assert_false(compare(f, &error).ok);
}

/* What GELU leaves of negative numbers: an erf near -1 and 1 cancel, so it is as far off as 1 is, not
 * as what is left. What is larger than that is wrong. */
static void verdict_on_the_tail_of_gelu(void **state)
{
    Fixture *f = *state;
    const char *error;

    use(f, "Input X (M, N) fp32\nOutput Y (M, N) fp32\nCompute Gelu X and get Y");
    bind(f, "M", 2);
    bind(f, "N", 8);
    f->fill = FILL_NEGATIVE;
    make(f);
    write_output(f, run(f, REF_PLAIN), 0);
    PUT(f->out[0], tensor_get(f->out[0], (const int64_t[]){1, 3}) + 2.6e-7, 1, 3);
    assert_true(compare(f, &error).ok);
    PUT(f->out[0], tensor_get(f->out[0], (const int64_t[]){1, 3}) + 2.6e-6, 1, 3);
    assert_false(compare(f, &error).ok);
}

/* A quotient among coordinates is as far off as one of tiles: div.full of a GPU is (PTX ISA, 2 units). Sums and
 * products of small integers are exact. */
static void verdict_on_quotients_of_coordinates(void **state)
{
    static const struct {
        const char *element;
        bool off;
    } rows[] = {{"i / 7", true}, {"sqrt(i)", true}, {"(1 + i) * 0.25", false}};
    Fixture *f = *state;
    const char *error;

    for (size_t k = 0; k < TW_COUNT(rows); k++) {
        use(f, arena_printf(f->arena, "Input X (M, N) fp32\nOutput Y (M, N) fp32\nIndex i over N\n"
                                      "Compute Define R (M, N) as %s\nCompute Max X, R and get Y", rows[k].element));
        bind(f, "M", 2);
        bind(f, "N", 8);
        f->fill = FILL_NEGATIVE;
        make(f);
        write_output(f, run(f, REF_PLAIN), 0);
        for (int64_t j = 0; j < 8; j++)
            PUT(f->out[0], tensor_get(f->out[0], (const int64_t[]){1, j}) * (1 + 3 * 0x1p-23), 1, j);
        assert_int_equal(compare(f, &error).ok, rows[k].off);
    }
}

/* ---- what does not fit ------------------------------------------------------------------------------ */

static void bad_bindings(void **state)
{
    static const Sizes odd = {1, 5, 2, 4, 4, 4, 4};
    Fixture *f = *state;
    const char *error = NULL;

    set(f, "HeadDim=4");
    use_file(f, "ops/attention.tl", NULL);
    assert_false(ref_make_tensors(f->arena, f->def, NULL, 0, FILL_NORMAL, 1, f->in, f->out, &error));
    assert_string_equal(error, "batch has no value");
    bind_sizes(f, &odd);
    make(f);
    expect_error(f, "is 2, of which 5 is no multiple");
    bind(f, "length", 3);
    expect_error(f, "length is not a dimension or parameter");
    f->bindings.len--;
    bind(f, "HeadDim", 8);
    expect_error(f, "HeadDim = 8, but the definition was resolved with 4");
    f->bindings.len--;
    bind(f, "q_len", 2.5);
    expect_error(f, "an integer from 0");
    f->bindings.len--;
    bind(f, "kv_heads", 5);
    bind(f, "q_len", 5);
    expect_error(f, "dimension 2 of Q is 5, not 4");
}

static void dimensions_from_the_inputs(void **state)
{
    static const Sizes s = {1, 2, 1, 6, 7, 8, 8};
    Fixture *f = *state;

    use_file(f, "ops/attention.tl", NULL);
    bind_sizes(f, &s);
    bind(f, "HeadDim", 8);
    make(f);
    f->bindings.len = 0;
    write_output(f, run(f, REF_EXACT), 0);
    check_attention(f, &s, causal_score);
}

static void missing_param(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (M, N)\nOutput Y (M, N)\nParam c\nCompute Multiply X, c and get Y");
    bind(f, "M", 3);
    bind(f, "N", 4);
    bind(f, "c", 2);
    make(f);
    f->bindings.len = 2;
    expect_error(f, "c has no value");
}

/* What follows from what is bound has a number as well; what does not, has none. */
static void numbers_by_name(void **state)
{
    Fixture *f = *state;
    RefBinding some[] = {{"K", 6}, {"c", 1}, {"c", 2}};
    EvalEnv env;

    use(f, "Input A (M, K)\nInput B (K, N)\nOutput C (M, N)\nParam N = P\nParam P = 2 * K\nParam Q = M + 1\nParam c\n"
           "Param e = c / N\nParam g = Q * e\nCompute GEMM A, B and get C\nCompute Multiply C, g and get new C");
    eval_init(&env, f->arena, f->def->aff);
    ref_numbers(&env, f->def, some, 3);
    assert_true(eval_find(&env, "N")->number == 12);
    assert_true(eval_find(&env, "P")->number == 12);
    assert_true(eval_find(&env, "c")->number == 2);
    assert_true(eval_find(&env, "e")->number == 2.0 / 12);
    assert_null(eval_find(&env, "M"));
    assert_null(eval_find(&env, "g"));
}

static void rows_outside(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (M, N)\nOutput Y (M, N)\nCompute Exp X and get Y");
    bind(f, "M", 3);
    bind(f, "N", 4);
    make(f);
    Ref *ref = run(f, REF_EXACT);
    assert_null(ref_row(ref, 0, (const int64_t[]){3}));
    assert_null(ref_row(ref, 0, (const int64_t[]){-1}));
    assert_non_null(ref_row(ref, 0, (const int64_t[]){2}));
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static bool has_row(const RowList *rows, int64_t position)
{
    for (int i = 0; i < rows->count; i++)
        if (rows->coords.data[i * rows->rank1 + rows->rank1 - 1] == position)
            return true;
    return false;
}

static void rows_round_tiles(void **state)
{
    Fixture *f = *state;
    const char *error;
    Tensor *t = tensor_new(f->arena, "O", DT_BF16, 4, (const int64_t[]){2, 4, 1000, 8}, &error);
    RowList *rows = rows_choose(f->arena, t, 999, 64, 300, 5);

    assert_int_equal(rows->rank1, 3);
    assert_in_range(rows->count, 80, 300);
    assert_true(has_row(rows, 0) && has_row(rows, 999));
    for (int m = 64; m < 1000; m += 64)
        assert_true(has_row(rows, m - 1) && has_row(rows, m));
    for (int i = 1; i < rows->count; i++) /* sorted, each once */
        assert_true(memcmp(&rows->coords.data[3 * i], &rows->coords.data[3 * i - 3], 3 * sizeof(int64_t)) != 0);
    assert_int_equal(rows_choose(f->arena, t, 1000, 64, 8000, 5)->count, 8000);
    rows = rows_choose(f->arena, t, 1000, 64, 1500, 5); /* every position, with some head */
    assert_int_equal(rows->count, 1500);
    for (int i = 0; i < 1000; i++)
        assert_true(has_row(rows, i));
    rows = rows_choose(f->arena, t, 10, 64, 7, 5);
    assert_int_equal(rows->count, 7);
    assert_true(has_row(rows, 0) && has_row(rows, 999));
}

static void rows_of_odd_shapes(void **state)
{
    Fixture *f = *state;
    const char *error;
    Tensor *vector = tensor_new(f->arena, "v", DT_F32, 1, (const int64_t[]){5}, &error);
    Tensor *empty = tensor_new(f->arena, "e", DT_F32, 3, (const int64_t[]){2, 0, 5}, &error);

    assert_int_equal(rows_choose(f->arena, vector, 9, 64, 9, 1)->count, 1);
    assert_int_equal(rows_choose(f->arena, empty, 9, 64, 9, 1)->count, 0);
    assert_int_equal(rows_choose(f->arena, vector, 9, 0, 0, 1)->count, 0);
}

/* ---- tensors -------------------------------------------------------------------------------------------- */

static void tensors(void **state)
{
    Fixture *f = *state;
    const char *error;
    Tensor *t = tensor_new(f->arena, "t", DT_BF16, 3, (const int64_t[]){2, 3, 5}, &error);

    assert_non_null(t);
    assert_int_equal(t->bytes, 60);
    assert_int_equal(t->strides[0], 15);
    assert_int_equal(tensor_index(t, (const int64_t[]){1, 2, 3}), 28);
    PUT(t, 1.0 / 3, 1, 2, 3);
    assert_true(GET(t, 1, 2, 3) == dtype_round(DT_BF16, 1.0 / 3));
    tensor_poison(t);
    assert_true(isnan(GET(t, 0, 0, 0)) && isnan(GET(t, 1, 2, 4)));
    assert_null(tensor_new(f->arena, "t", DT_F32, 2, (const int64_t[]){INT64_MAX, INT64_MAX}, &error));
    assert_non_null(error);
    assert_null(tensor_new(f->arena, "t", DT_F32, 2, (const int64_t[]){1 << 20, 1 << 20}, &error));
    assert_null(tensor_new(f->arena, "t", DT_F32, 2, (const int64_t[]){3, -1}, &error));
    assert_null(tensor_new(f->arena, "t", DT_F32, 9, (const int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, &error));
    t = tensor_new(f->arena, "t", DT_F32, 2, (const int64_t[]){INT64_MAX, 0}, &error);
    assert_null(t); /* a kernel could not address it either */
    t = tensor_new(f->arena, "t", DT_F32, 2, (const int64_t[]){7, 0}, &error);
    assert_true(t && t->bytes == 0 && tensor_count(t) == 0);
    tensor_fill(t, FILL_NORMAL, 1);
    t = tensor_new_rows(f->arena, "t", DT_F32, 3, (const int64_t[]){2, 3, 5}, 16, &error);
    assert_true(t->dims[2] == 5 && t->strides[2] == 1 && t->strides[1] == 8 && t->strides[0] == 24 && t->bytes == 192);
    t = tensor_new_rows(f->arena, "t", DT_F32, 1, (const int64_t[]){5}, 16, &error);
    assert_true(t->bytes == 20);
}

static void fills(void **state)
{
    Fixture *f = *state;
    const char *error;

    for (int64_t n = 100; n <= 1000; n *= 10)
        for (FillKind kind = 0; kind < FILL_COUNT; kind++) {
            Tensor *a = tensor_new(f->arena, "a", DT_F32, 2, (const int64_t[]){n, n}, &error);
            Tensor *b = tensor_new(f->arena, "b", DT_F32, 2, (const int64_t[]){n, n}, &error);
            FillKind parsed;
            double mean = 0, square = 0;

            assert_true(fill_parse(fill_name(kind), &parsed) && parsed == kind);
            tensor_fill(a, kind, 7);
            tensor_fill(b, kind, 7);
            assert_memory_equal(a->data, b->data, a->bytes);
            tensor_fill(b, kind, 8);
            assert_int_equal(memcmp(a->data, b->data, a->bytes) != 0, kind != FILL_ONES && kind != FILL_INDEX);
            for (int64_t i = 0; i < n * n; i++) {
                double x = GET(a, i / n, i % n);

                mean += x / (double)(n * n);
                square += x * x / (double)(n * n);
            }
            if (kind == FILL_NORMAL)
                assert_true(fabs(mean) < 0.05 && fabs(square - 1) < 0.05);
            if (kind == FILL_NEGATIVE)
                assert_true(mean < -4.5 && mean > -5.1);
            if (kind == FILL_OPPOSED)
                assert_true(mean > 2.3 && mean < 2.9);
            if (kind == FILL_GROWING) /* the mean of (1 + 11 t) squared */
                assert_true(fabs(square - 52.3) < 3);
        }
    FillKind kind;
    assert_false(fill_parse("noise", &kind));
}

static void distances(void **state)
{
    Fixture *f = *state;
    const char *error;
    Tensor *t = tensor_new(f->arena, "t", DT_F32, 2, (const int64_t[]){2, 2}, &error);
    Distance d;

    distance_start(&d);
    distance_add(&d, t, (const int64_t[]){0, 0}, 3, 3);
    distance_add(&d, t, (const int64_t[]){1, 0}, 4.5, 4);
    distance_add(&d, t, (const int64_t[]){1, 1}, -INFINITY, -INFINITY);
    distance_finish(&d);
    assert_true(d.frobenius == 0.1 && d.max_abs == 0.5 && d.max_want == 4);
    assert_true(d.worst[0] == 1 && d.worst[1] == 0);
    assert_int_equal(d.not_finite, 0);
    distance_add(&d, t, (const int64_t[]){0, 1}, NAN, 1);
    distance_add(&d, t, (const int64_t[]){0, 1}, NAN, NAN);
    distance_add(&d, t, (const int64_t[]){0, 1}, INFINITY, 1);
    distance_add(&d, t, (const int64_t[]){0, 1}, 1, INFINITY);
    assert_int_equal(d.not_finite, 4);
    assert_true(d.worst[0] == 0 && d.worst[1] == 1);
    distance_start(&d);
    distance_finish(&d);
    assert_true(d.frobenius == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(attention),
        TEST(attention_with_settings),
        TEST(fully_masked_rows_are_zero),
        TEST(empty_lengths),
        TEST(soft_cap_and_window),
        TEST(document_masks),
        TEST(selected_blocks),
        TEST(reads_of_computed_values),
        TEST(reads_of_few_elements_of_a_row),
        TEST(gemm_bias),
        TEST(gemms_transposed_both_ways),
        TEST(norms),
        TEST(columns_and_constants),
        TEST(words_are_full), TEST(defined_tensors),
        TEST(vectors),
        TEST(small_caches),
        TEST(floors),
        TEST(plain_errors),
        TEST(lucky_order),
        TEST(verdict_sees_mistakes),
        TEST(verdict_with_an_exact_baseline),
        TEST(verdict_on_one_element),
        TEST(verdict_beyond_the_range),
        TEST(verdict_on_integers_cut),
        TEST(verdict_where_nothing_is_defined),
        TEST(verdict_near_the_end_of_the_range),
        TEST(verdict_where_8_bits_end),
        TEST(verdict_where_plain_overflows), TEST(verdict_where_products_are_computed_again), TEST(verdict_where_terms_are_multiplied_one_by_one), TEST(plain_sums_of_tensor_cores),
        TEST(verdict_where_subnormals_are_flushed),
        TEST(verdict_on_the_tail_of_gelu),
        TEST(verdict_on_quotients_of_coordinates),
        TEST(bad_bindings),
        TEST(dimensions_from_the_inputs),
        TEST(missing_param),
        TEST(numbers_by_name),
        TEST(rows_outside),
        TEST(rows_round_tiles),
        TEST(rows_of_odd_shapes),
        TEST(tensors),
        TEST(fills),
        TEST(distances),
    };
    return cmocka_run_group_tests_name("ref", tests, NULL, NULL);
}
