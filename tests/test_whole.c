/* test_whole.c: operations on whole tensors (Unfold, Reshape, groups, TopK) by
 * loops of their own, alone and together in a definition that selects what it
 * attends to. */
#include "ref_rig.h"

/* ---- Unfold ---------------------------------------------------------------------------- */

static void overlapping_blocks(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (B, L, D)\nParam n = 4\nParam m = 3\nLet blocks = max((L - n) div m + 1, 0)\n"
           "Output Y (B, blocks, n, D)\nCompute Unfold X over L by n step m and get Y");
    bind(f, "B", 2);
    bind(f, "L", 12);
    bind(f, "D", 3);
    execute(f);
    assert_int_equal(f->out[0]->dims[1], 3); /* rows 9 to 11 begin no whole block */
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 3; i++)
            for (int p = 0; p < 4; p++)
                for (int d = 0; d < 3; d++)
                    near(GET(f->out[0], b, i, p, d), GET(f->in[0], b, 3 * i + p, d), "Y", i, p);
}

/* Along the last axis, without a step, and without a name for the number of blocks. */
static void blocks_of_a_row(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (M, N)\nOutput Y (M, N div 4, 4)\nCompute Unfold X over N by 4 and get Y");
    bind(f, "M", 3);
    bind(f, "N", 12);
    execute(f);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 12; j++)
            near(GET(f->out[0], i, j / 4, j % 4), GET(f->in[0], i, j), "Y", i, j);
}

static void blocks_of_the_first_axis(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (A, B, C)\nIndex a over A\nOutput Y (A div 2, 1, B)\nCompute Unfold X over a by 2 and get U\n"
           "Compute RowSum U and get s\nCompute Reshape s and get t (A div 2, 2, B)\nCompute ColSum t and get Y");
    bind(f, "A", 6);
    bind(f, "B", 3);
    bind(f, "C", 5);
    execute(f);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double want = 0;

            for (int k = 0; k < 10; k++)
                want += GET(f->in[0], 2 * i + k / 5, j, k % 5);
            near(GET(f->out[0], i, 0, j), want, "Y", i, j);
        }
}

/* Shorter than a block: there is none, and what is computed from none is 0. */
static void no_whole_block(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (L, D)\nOutput Y (1, D)\nLet n = max((L - 8) div 2 + 1, 0)\n"
           "Compute Unfold X over L by 8 step 2 and get U (n, 8, D)\nCompute ColSum U and get V\n"
           "Compute Reshape V and get W (n, D)\nCompute ColSum W and get Y");
    bind(f, "L", 5);
    bind(f, "D", 3);
    execute(f);
    for (int d = 0; d < 3; d++)
        near(GET(f->out[0], 0, d), 0, "Y", 0, d);
}

/* ---- Reshape ---------------------------------------------------------------------------- */

static void other_shapes(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (M, N)\nOutput Y (M * N div 10, 2, 5)\nCompute Reshape X and get Z (N, M)\n"
           "Compute Reshape Z and get Y (M * N div 10, 2, 5)");
    bind(f, "M", 4);
    bind(f, "N", 15);
    execute(f);
    for (int k = 0; k < 60; k++)
        near(GET(f->out[0], k / 10, k / 5 % 2, k % 5), GET(f->in[0], k / 15, k % 15), "Y", k, 0);
}

/* Heads are split off, used, and joined again. */
static void heads_of_a_projection(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (len, heads * D)\nOutput Y (len, heads * D)\nCompute Reshape X and get H (len, heads, D)\n"
           "Compute RowMean H and get m\nCompute Subtract H, m\nCompute Reshape H and get Y (len, heads * D)");
    bind(f, "len", 5);
    bind(f, "heads", 3);
    bind(f, "D", 4);
    execute(f);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 12; j++) {
            double mean = 0;

            for (int k = 0; k < 4; k++)
                mean += GET(f->in[0], i, j / 4 * 4 + k) / 4;
            near(GET(f->out[0], i, j), GET(f->in[0], i, j) - mean, "Y", i, j);
        }
}

static void a_vector_and_back(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (N)\nOutput Y (N)\nCompute Reshape X and get A (N, 1)\nCompute Multiply A, 2\n"
           "Compute Reshape A and get Y (N)");
    bind(f, "N", 7);
    execute(f);
    for (int i = 0; i < 7; i++)
        near(GET(f->out[0], i), 2 * GET(f->in[0], i), "Y", i, 0);
}

/* ---- tensors seen otherwise ----------------------------------------------------------- */

static void parts_and_transposes(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (B, M, 2 * N)\nInput W (2, M, N)\nInput c (3)\nOutput Y (B, N, M)\nIndex row over M\n"
           "Compute Multiply X[..., N:], W[1] and get A\nCompute Subtract A, X[:, :, 0:N] and get new A\n"
           "Compute Multiply A.T, c[2] and get Y");
    bind(f, "B", 2);
    bind(f, "M", 5);
    bind(f, "N", 3);
    execute(f);
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 3; j++) {
                double a = GET(f->in[0], b, i, 3 + j) * GET(f->in[1], 1, i, j) - GET(f->in[0], b, i, j);

                near(GET(f->out[0], b, j, i), a * GET(f->in[2], 2), "Y", i, j);
            }
}

/* Axes of which one entry is taken; a part of what was computed, transposed for a product. */
static void entries_of_axes(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (B, n, 2, D)\nOutput S (B, n, n - 1)\nCompute Negate X and get Z\n"
           "Compute GEMM X[:, :, 0], Z[:, 1:, 1, :].T and get S");
    bind(f, "B", 2);
    bind(f, "n", 4);
    bind(f, "D", 3);
    execute(f);
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 3; j++) {
                double sum = 0;

                for (int d = 0; d < 3; d++)
                    sum -= GET(f->in[0], b, i, 0, d) * GET(f->in[0], b, j + 1, 1, d);
                near(GET(f->out[0], b, i, j), sum, "S", i, j);
            }
}

/* ---- groups ------------------------------------------------------------------------------- */

static void groups(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (B, H, M, N)\nInput W (G)\nOutput S (B, G, M, N)\nOutput L (B, H, M, 2)\nOutput A (B, H, 1, N)\n"
           "Output all (1, H, M, N)\nCompute GroupSum X over H to G and get S (B, G, M, N)\n"
           "Compute GroupMax X over N to 2 and get L\nCompute GroupMean X over M to 1 and get A\n"
           "Compute GroupSum X over B to 1 and get all");
    bind(f, "B", 2);
    bind(f, "H", 6);
    bind(f, "G", 2);
    bind(f, "M", 3);
    bind(f, "N", 8);
    make(f);
    for (int i = 0; i < 4; i++)
        write_output(f, run(f, REF_EXACT), i);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 8; j++) {
            double sum = 0, mean = 0, largest = -INFINITY;

            for (int k = 0; k < 3; k++)
                sum += GET(f->in[0], 1, 3 + k, i, j), mean += GET(f->in[0], 1, 4, k, j) / 3;
            for (int k = 0; k < 4; k++)
                largest = fmax(largest, GET(f->in[0], 0, 5, i, j / 4 * 4 + k));
            near(GET(f->out[0], 1, 1, i, j), sum, "S", i, j);
            near(GET(f->out[1], 0, 5, i, j / 4), largest, "L", i, j);
            near(GET(f->out[2], 1, 4, 0, j), mean, "A", i, j);
            near(GET(f->out[3], 0, 2, i, j), GET(f->in[0], 0, 2, i, j) + GET(f->in[0], 1, 2, i, j), "all", i, j);
        }
}

/* ---- TopK ----------------------------------------------------------------------------------- */

/* Whether element `at` is among the k largest of n; quadratic, unlike what is tested. */
static bool among_top(const double *x, int n, int at, int k)
{
    int before = 0;

    for (int i = 0; i < n; i++)
        before += x[i] > x[at] || (x[i] == x[at] && i < at);
    return x[at] > -INFINITY && before < k;
}

static void top_of_rows_and_columns(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (M, N)\nOutput R (M, N)\nOutput C (M, N)\nIndex i over M\nIndex j over N\nParam k\n"
           "Compute Mask X where j <= 2 * i and get X2\nCompute TopK X2, k over j and get R\n"
           "Compute TopK X2, 2 over M and get C");
    bind(f, "M", 6);
    bind(f, "N", 7);
    bind(f, "k", 3);
    make(f);
    for (int i = 0; i < 6; i++) /* equal elements: the lower index is first */
        for (int j = 0; j < 7; j++)
            PUT(f->in[0], (i * 5 + j * 3) % 4, i, j);
    for (int o = 0; o < 2; o++)
        write_output(f, run(f, REF_EXACT), o);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 7; j++) {
            double row[7], col[6];

            for (int k = 0; k < 7; k++)
                row[k] = k <= 2 * i ? GET(f->in[0], i, k) : -INFINITY;
            for (int k = 0; k < 6; k++)
                col[k] = j <= 2 * k ? GET(f->in[0], k, j) : -INFINITY;
            near(GET(f->out[0], i, j), among_top(row, 7, j, 3), "R", i, j);
            near(GET(f->out[1], i, j), among_top(col, 6, i, 2), "C", i, j);
        }
}

/* A selection is a tensor of truths: it multiplies, masks and is summed. */
static void experts_of_a_router(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (T, E)\nOutput W (T, E)\nCompute TopK X, 2 and get sel\nIndex e over E\nIndex t over T\n"
           "Compute Mask X where sel[t, e] and get X2\nCompute Softmax X2 and get W");
    bind(f, "T", 5);
    bind(f, "E", 8);
    execute(f);
    for (int t = 0; t < 5; t++) {
        double x[8], sum = 0;

        for (int e = 0; e < 8; e++)
            x[e] = GET(f->in[0], t, e);
        for (int e = 0; e < 8; e++)
            sum += among_top(x, 8, e, 2) ? exp(x[e]) : 0;
        for (int e = 0; e < 8; e++)
            near(GET(f->out[0], t, e), among_top(x, 8, e, 2) ? exp(x[e]) / sum : 0, "W", t, e);
    }
}

/* Pages of a cache, found through a table: elements of tensors give coordinates of others. */
static void pages_of_a_cache(void **state)
{
    enum { PAGE = 4, LEN = 10, SIZE = 3 };
    static const int pages[] = {2, 0, 3};
    Fixture *f = *state;

    use(f, "Input Q (heads, 1, D)\nInput Kc (pages, heads, Page, D)\nInput Table (most) int32\nInput len (1) int32\n"
           "Output P (heads, 1, most * Page)\nParam Page = 4\nLet longest = most * Page\nIndex at over longest\n"
           "Compute Define K (heads, longest, D) as Kc[Table[at div Page], heads, at mod Page, D]\n"
           "Compute GEMM Q, K.T and get S\nCompute Mask S where at < len[0]\nCompute Softmax S and get P");
    bind(f, "heads", 2);
    bind(f, "D", SIZE);
    bind(f, "pages", 4);
    bind(f, "most", 3);
    make(f);
    for (int i = 0; i < 3; i++)
        PUT(f->in[2], pages[i], i);
    PUT(f->in[3], LEN, 0);
    write_output(f, run(f, REF_EXACT), 0);
    for (int h = 0; h < 2; h++) {
        double s[12], sum = 0;

        for (int k = 0; k < 12; k++) {
            s[k] = 0;
            for (int d = 0; d < SIZE; d++)
                s[k] += GET(f->in[0], h, 0, d) * GET(f->in[1], pages[k / PAGE], h, k % PAGE, d);
            sum += k < LEN ? exp(s[k]) : 0;
        }
        for (int k = 0; k < 12; k++)
            near(GET(f->out[0], h, 0, k), k < LEN ? exp(s[k]) / sum : 0, "P", h, k);
    }
}

/* As models write when nobody looks. */
static void liberties(void **state)
{
    Fixture *f = *state;

    use(f, "Input A [M, N], B: (M, N)\nInput c (M, 1)\nOutput D: [M, N]\nParam on = True\nCompute Sub A, B -> E\n"
           "if on\nCompute Mul E, c -> E\nend\nCompute row_sum E over N -> r\nCompute Add E, r \xe2\x86\x92 D");
    bind(f, "M", 3);
    bind(f, "N", 5);
    execute(f);
    for (int i = 0; i < 3; i++) {
        double e[5], sum = 0;

        for (int j = 0; j < 5; j++)
            sum += e[j] = (GET(f->in[0], i, j) - GET(f->in[1], i, j)) * GET(f->in[2], i, 0);
        for (int j = 0; j < 5; j++)
            near(GET(f->out[0], i, j), e[j] + sum, "D", i, j);
    }
}

/* ---- what does not fit -------------------------------------------------------------------------- */

static void sizes_that_do_not_fit(void **state)
{
    Fixture *f = *state;

    use(f, "Input X (L, D)\nOutput Y (n, 4, D)\nCompute Unfold X over L by 4 and get Y (n, 4, D)");
    bind(f, "L", 12);
    bind(f, "D", 2);
    bind(f, "n", 4);
    make(f);
    expect_error(f, "there are 3 blocks, declared are 4");
    f->bindings.len = 0;
    use(f, "Input X (L, D)\nOutput Y (G, D)\nInput Z (G)\nCompute GroupSum X over L to G and get Y");
    bind(f, "L", 12);
    bind(f, "D", 2);
    bind(f, "G", 5);
    make(f);
    expect_error(f, "12 entries do not make 5 groups");
    f->bindings.len = 0;
    use(f, "Input X (L, D)\nOutput Y (D, G)\nInput Z (G)\nCompute Reshape X and get Y (D, G)");
    bind(f, "L", 12);
    bind(f, "D", 2);
    bind(f, "G", 5);
    make(f);
    expect_error(f, "another number of elements");
    f->bindings.len = 0;
    use(f, "Input X (L, D)\nInput Z (s)\nOutput Y (L, D)\nCompute Unfold X over L by s step 1 and get U\n"
           "Compute Exp X and get Y");
    bind(f, "L", 12);
    bind(f, "D", 2);
    bind(f, "s", 0);
    make(f);
    expect_error(f, "must be at least 1");
}

/* ---- all together --------------------------------------------------------------------------------- */

/* Sparse attention over compressed, selected and near keys, as its definition in
 * the samples says; sizes small, three heads a group, lengths ragged. */
enum { B = 2, HQ = 6, HK = 2, QL = 9, KL = 37, D = 4, V = 3, HID = 5, CB = 8, CS = 4, SB = 8, TOP = 2, WIN = 11 };
enum { NC = (KL - CB) / CS + 1, NS = (KL + SB - 1) / SB };

enum { IN_Q, IN_KC, IN_VC, IN_KS, IN_VS, IN_KW, IN_VW, IN_PK, IN_PV, IN_WK1, IN_WK2, IN_WV1, IN_WV2, IN_GC, IN_GS,
       IN_GW };

static const double attention_scale = 0.4;

/* One entry of a compressed tensor: position codes added, two layers with a Relu. */
static double compressed(const Fixture *f, int x, int pos, int w1, int w2, int width, int b, int h, int c, int d)
{
    double sum = 0;

    for (int u = 0; u < HID; u++) {
        double hidden = 0;

        for (int p = 0; p < CB; p++)
            for (int e = 0; e < width; e++)
                hidden += (GET(f->in[x], b, h, c * CS + p, e) + GET(f->in[pos], p, e)) *
                          GET(f->in[w1], p * width + e, u);
        sum += (hidden > 0 ? hidden : 0) * GET(f->in[w2], u, d);
    }
    return sum;
}

static void soft(double *x, int n)
{
    double max = -INFINITY, sum = 0;

    for (int i = 0; i < n; i++)
        max = fmax(max, x[i]);
    for (int i = 0; i < n; i++)
        sum += x[i] = max == -INFINITY ? 0 : exp(x[i] - max);
    for (int i = 0; i < n && sum > 0; i++)
        x[i] /= sum;
}

static void compressed_weights(const Fixture *f, int b, int h, int i, double *p)
{
    for (int c = 0; c < NC; c++) {
        p[c] = 0;
        for (int d = 0; d < D; d++)
            p[c] += GET(f->in[IN_Q], b, h, i, d) * attention_scale *
                    compressed(f, IN_KC, IN_PK, IN_WK1, IN_WK2, D, b, h / 3, c, d);
        if (c * CS + CB - 1 > i + KL - QL)
            p[c] = -INFINITY;
    }
    soft(p, NC);
}

static int lower(int a, int b)
{
    return a < b ? a : b;
}

static int upper(int a, int b)
{
    return a > b ? a : b;
}

/* Scores of the blocks of one group of heads, in one row. */
static void block_scores(const Fixture *f, int b, int group, int i, double *score)
{
    double p[NC];

    for (int s = 0; s < NS; s++)
        score[s] = s * SB <= i + KL - QL ? 0 : -INFINITY;
    for (int h = group * 3; h < group * 3 + 3; h++) {
        compressed_weights(f, b, h, i, p);
        for (int s = 0; s < NS; s++)
            for (int c = 0; c < NC; c++)
                score[s] += p[c] * upper(lower(c * CS + CB, (s + 1) * SB) - upper(c * CS, s * SB), 0) / CS;
    }
}

static double near_and_selected(const Fixture *f, int b, int h, int i, int v, const double *score, int k_in)
{
    int at = i + KL - QL;
    double p[KL], sum = 0;

    for (int k = 0; k < KL; k++) {
        bool live = k <= at && (score ? among_top(score, NS, k / SB, TOP) : k > at - WIN);

        p[k] = 0;
        for (int d = 0; d < D; d++)
            p[k] += GET(f->in[IN_Q], b, h, i, d) * attention_scale * GET(f->in[k_in], b, h / 3, k, d);
        p[k] = live ? p[k] : -INFINITY;
    }
    soft(p, KL);
    for (int k = 0; k < KL; k++)
        sum += p[k] * GET(f->in[k_in + 1], b, h / 3, k, v);
    return sum;
}

static double gate(const Fixture *f, int in, int b, int h, int i)
{
    return 1 / (1 + exp(-GET(f->in[in], b, h, i, 0)));
}

static double expected(const Fixture *f, int b, int h, int i, int v)
{
    double p[NC], score[NS], sum = 0;

    compressed_weights(f, b, h, i, p);
    block_scores(f, b, h / 3, i, score);
    for (int c = 0; c < NC; c++)
        sum += p[c] * compressed(f, IN_VC, IN_PV, IN_WV1, IN_WV2, V, b, h / 3, c, v);
    return sum * gate(f, IN_GC, b, h, i) +
           near_and_selected(f, b, h, i, v, score, IN_KS) * gate(f, IN_GS, b, h, i) +
           near_and_selected(f, b, h, i, v, NULL, IN_KW) * gate(f, IN_GW, b, h, i);
}

static void selected_attention(void **state)
{
    static const char *const names[] = {"CmpBlock=8", "CmpStride=4", "SlcBlock=8", "TopBlocks=2", "Window=11",
                                        "scale=0.4"};
    static const RefBinding sizes[] = {{"batch", B}, {"q_heads", HQ}, {"kv_heads", HK}, {"q_len", QL},
                                       {"kv_len", KL}, {"HeadDim", D}, {"VDim", V}, {"Hidden", HID}};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(names); i++)
        set(f, names[i]);
    use_file(f, "tests/lang/definitions.tl", "NativeSparseAttention");
    for (size_t i = 0; i < TW_COUNT(sizes); i++)
        bind(f, sizes[i].name, sizes[i].value);
    execute(f);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < HQ; h++)
            for (int i = 0; i < QL; i++)
                for (int v = 0; v < V; v++)
                    near(GET(f->out[0], b, h, i, v), expected(f, b, h, i, v), "O", i, v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(overlapping_blocks), TEST(blocks_of_a_row), TEST(blocks_of_the_first_axis), TEST(no_whole_block),
        TEST(other_shapes), TEST(heads_of_a_projection), TEST(a_vector_and_back), TEST(parts_and_transposes), TEST(entries_of_axes), TEST(groups),
        TEST(top_of_rows_and_columns), TEST(experts_of_a_router), TEST(pages_of_a_cache), TEST(liberties), TEST(sizes_that_do_not_fit),
        TEST(selected_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
