/* test_layout.c: layouts are bijections, swizzles are free of bank conflicts,
 * fragments are those of the figures in the PTX ISA manual. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout/lay.h"

static const int panels[] = {128, 64, 32, 16};

static Layout panels_of(int panel)
{
    return (Layout){.kind = LAY_PANELS, .panel = panel};
}

static Layout mma_c(int m, int n)
{
    return (Layout){.kind = LAY_MMA_C, .warps_m = m, .warps_n = n};
}

static Layout mma_a(int m, int n, int k)
{
    return (Layout){.kind = LAY_MMA_A, .warps_m = m, .warps_n = n, .k = k};
}

static Layout in_rows(int m, int n, int k, int lanes)
{
    return (Layout){.kind = LAY_ROWS, .warps_m = m, .warps_n = n, .k = k, .lanes = lanes};
}

/* ---- shared tiles ---------------------------------------------------------------- */

static void widest_panel(void **state)
{
    (void)state;
    assert_int_equal(lay_panel_for(64, 2), 128);
    assert_int_equal(lay_panel_for(192, 2), 128);
    assert_int_equal(lay_panel_for(96, 2), 64);
    assert_int_equal(lay_panel_for(40, 2), 16);
    assert_int_equal(lay_panel_for(16, 2), 32);
    assert_int_equal(lay_panel_for(32, 4), 32);
    assert_int_equal(lay_panel_for(7, 2), 0);
    assert_int_equal(lay_panel_for(0, 2), 0);
}

static void check_bijective(int panel, int rows, int cols, int elem)
{
    static unsigned char seen[64 * 256 * 4];
    int64_t bytes = lay_shared_bytes(rows, cols, elem);
    assert_true(bytes <= (int64_t)sizeof seen);
    memset(seen, 0, sizeof seen);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            int64_t at = lay_shared_byte(panels_of(panel), rows, elem, r, c);
            assert_true(at >= 0 && at + elem <= bytes && at % elem == 0);
            assert_int_equal(seen[at], 0);
            seen[at] = 1;
        }
}

static void shared_layouts_are_bijections(void **state)
{
    (void)state;
    for (size_t p = 0; p < TW_COUNT(panels); p++)
        for (int elem = 1; elem <= 4; elem *= 2)
            for (int rows = 8; rows <= 64; rows *= 2)
                for (int n = 1; n <= 2; n++)
                    check_bijective(panels[p], rows, n * panels[p] / elem, elem);
}

/* Banks of 4 bytes, 32 of them: eight 16-byte accesses are free of conflicts
 * when they touch all 128 bytes of the banks. */
static bool conflict_free(const int64_t at[8])
{
    unsigned chunks = 0;
    for (int i = 0; i < 8; i++)
        chunks |= 1u << (at[i] / 16 % 8);
    return chunks == 0xff;
}

/* ldmatrix reads, in one phase, 16 bytes of each of 8 successive rows. */
static void ldmatrix_phases_have_no_conflicts(void **state)
{
    (void)state;
    for (size_t p = 0; p < TW_COUNT(panels); p++)
        for (int row0 = 0; row0 < 64; row0 += 8)
            for (int c = 0; c < 2 * panels[p] / 2; c += 8) {
                int64_t at[8];
                for (int i = 0; i < 8; i++)
                    at[i] = lay_shared_byte(panels_of(panels[p]), 64, 2, row0 + i, c);
                assert_true(conflict_free(at));
            }
}

/* Eight neighbouring threads write neighbouring 16-byte chunks, row by row. */
static void row_writes_have_no_conflicts(void **state)
{
    (void)state;
    for (size_t p = 0; p < TW_COUNT(panels); p++) {
        int chunks = panels[p] / 16;
        for (int first = 0; first < 64 * chunks; first += 8) {
            int64_t at[8];
            for (int i = 0; i < 8; i++)
                at[i] = lay_shared_byte(panels_of(panels[p]), 64, 2, (first + i) / chunks,
                                        (first + i) % chunks * 8);
            assert_true(conflict_free(at));
        }
    }
}

/* 16 bytes that belong together stay together. */
static void chunks_stay_whole(void **state)
{
    (void)state;
    for (int r = 0; r < 16; r++)
        for (int c = 0; c < 128; c++) {
            int64_t at = lay_shared_byte(panels_of(128), 16, 2, r, c);
            assert_int_equal(at % 16, c % 8 * 2);
            assert_int_equal(at - c % 8 * 2, lay_shared_byte(panels_of(128), 16, 2, r, c / 8 * 8));
        }
}

/* ---- fragments -------------------------------------------------------------------------- */

typedef struct Figure {
    int lane, value, row, col;
} Figure;

static void check_figures(Layout layout, int rows, int cols, const Figure *figures, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int row, col;
        lay_fragment_at(layout, rows, cols, 0, figures[i].lane, figures[i].value, &row, &col);
        assert_int_equal(row, figures[i].row);
        assert_int_equal(col, figures[i].col);
    }
}

/* Read off the figures in PTX ISA, "Matrix fragments for mma.m16n8k16 with
 * floating point type" and "... mma.m16n8k8". */
static void fragments_are_those_of_the_manual(void **state)
{
    (void)state;
    static const Figure c[] = {{0, 0, 0, 0},   {0, 1, 0, 1},   {0, 2, 8, 0},  {0, 3, 8, 1},
                               {3, 1, 0, 7},   {4, 0, 1, 0},   {5, 2, 9, 2},  {31, 0, 7, 6},
                               {31, 3, 15, 7}, {28, 2, 15, 0}, {13, 1, 3, 3}, {18, 3, 12, 5}};
    static const Figure a16[] = {{0, 0, 0, 0},    {0, 1, 0, 1},   {0, 2, 8, 0},   {0, 3, 8, 1},
                                 {0, 4, 0, 8},    {0, 5, 0, 9},   {0, 6, 8, 8},   {0, 7, 8, 9},
                                 {31, 7, 15, 15}, {31, 0, 7, 6},  {31, 4, 7, 14}, {7, 5, 1, 15},
                                 {10, 6, 10, 12}, {29, 3, 15, 3}, {16, 2, 12, 0}, {1, 4, 0, 10}};
    static const Figure a8[] = {{0, 0, 0, 0}, {0, 1, 0, 1},   {0, 2, 8, 0}, {0, 3, 8, 1},
                                {9, 0, 2, 2}, {31, 3, 15, 7}, {6, 2, 9, 4}, {20, 1, 5, 1}};
    check_figures(mma_c(1, 1), 16, 8, c, TW_COUNT(c));
    check_figures(mma_a(1, 1, 16), 16, 16, a16, TW_COUNT(a16));
    check_figures(mma_a(1, 1, 8), 16, 8, a8, TW_COUNT(a8));
}

static void check_covers(Layout layout, int rows, int cols)
{
    static unsigned char seen[256 * 256];
    int warps = layout.warps_m * layout.warps_n;
    int values = lay_fragment_values(layout, rows, cols);
    assert_null(lay_fragment_misfit(layout, rows, cols));
    assert_int_equal((int64_t)values * 32 * warps, (int64_t)rows * cols);
    memset(seen, 0, sizeof seen);
    for (int w = 0; w < warps; w++)
        for (int lane = 0; lane < 32; lane++)
            for (int v = 0; v < values; v++) {
                int r, c;
                lay_fragment_at(layout, rows, cols, w, lane, v, &r, &c);
                assert_true(r >= 0 && r < rows && c >= 0 && c < cols);
                assert_int_equal(seen[r * cols + c], 0);
                seen[r * cols + c] = 1;
            }
}

static void matrix_fragments_are_bijections(void **state)
{
    (void)state;
    for (int m = 1; m <= 4; m *= 2)
        for (int n = 1; n <= 2; n++)
            for (int rows = 64; rows <= 128; rows += 64)
                for (int cols = 64; cols <= 192; cols += 64) {
                    check_covers(mma_c(m, n), rows, cols);
                    check_covers(mma_a(m, n, 16), rows, cols);
                    check_covers(mma_a(m, n, 8), rows, cols);
                }
    check_covers(mma_c(4, 1), 64, 8);
    for (int lanes = 1; lanes <= 32; lanes *= 2)
        for (int k = 4; k <= 16; k *= 2)
            for (int m = 1; m <= 4; m *= 2) {
                check_covers(in_rows(m, 1, k, lanes), 32 / lanes * m * 2, lanes * k * (lanes * k > 64 ? 1 : 3));
                if (lanes * k <= 64) check_covers(in_rows(m, 4, k, lanes), 32 / lanes * m, 4 * lanes * k);
            }
    check_covers(in_rows(1, 1, 8, 32), 1, 256);
    check_covers(mma_a(1, 1, 16), 16, 48);
}

/* The slots of vectors: what a lane needs to combine a matrix with a vector
 * lies in the lane itself. */
static void check_vectors(Layout layout, int rows, int cols)
{
    int values = lay_fragment_values(layout, rows, cols);
    for (int w = 0; w < layout.warps_m * layout.warps_n; w++)
        for (int lane = 0; lane < 32; lane++)
            for (int v = 0; v < values; v++) {
                int r, c, vr, vc, unused;
                int rs = lay_fragment_row_slot(layout, rows, cols, v);
                int cs = lay_fragment_col_slot(layout, rows, cols, v);
                assert_in_range(rs, 0, lay_fragment_values(layout, rows, 1) - 1);
                assert_in_range(cs, 0, lay_fragment_values(layout, 1, cols) - 1);
                lay_fragment_at(layout, rows, cols, w, lane, v, &r, &c);
                lay_fragment_at(layout, rows, 1, w, lane, rs, &vr, &unused);
                assert_int_equal(unused, 0);
                lay_fragment_at(layout, 1, cols, w, lane, cs, &unused, &vc);
                assert_int_equal(unused, 0);
                assert_int_equal(vr, r);
                assert_int_equal(vc, c);
            }
}

static void vectors_lie_beside_their_matrix(void **state)
{
    (void)state;
    check_vectors(mma_c(4, 1), 64, 128);
    check_vectors(mma_c(2, 2), 128, 64);
    check_vectors(mma_a(4, 1, 16), 128, 64);
    check_vectors(mma_a(4, 1, 8), 64, 24);
    check_vectors(in_rows(4, 1, 8, 32), 12, 768);
    check_vectors(in_rows(2, 2, 4, 8), 16, 192);
    check_vectors(in_rows(1, 4, 8, 32), 1, 2048);
    assert_int_equal(lay_fragment_values(in_rows(2, 2, 4, 8), 16, 1), 2);
    assert_int_equal(lay_fragment_values(in_rows(2, 2, 4, 8), 1, 192), 12);
    assert_int_equal(lay_fragment_values(in_rows(2, 2, 4, 8), 1, 1), 1);
    assert_int_equal(lay_fragment_values(mma_c(4, 1), 64, 1), 2);
    assert_int_equal(lay_fragment_values(mma_c(4, 1), 1, 64), 16);
    assert_int_equal(lay_fragment_values(mma_c(4, 1), 1, 1), 1);
}

/* An accumulator row of two atoms has, in the same order of lanes, the values
 * of one operand atom: a Reshape moves nothing between lanes. */
static void reshape_stays_in_the_lane(void **state)
{
    (void)state;
    Layout c = mma_c(4, 1), a = mma_a(4, 1, 16);
    for (int lane = 0; lane < 32; lane++)
        for (int v = 0; v < lay_fragment_values(a, 64, 64); v++) {
            int r, col, cr, cc, found = 0;
            lay_fragment_at(a, 64, 64, 2, lane, v, &r, &col);
            for (int u = 0; u < lay_fragment_values(c, 64, 64); u++) {
                lay_fragment_at(c, 64, 64, 2, lane, u, &cr, &cc);
                found += cr == r && cc == col;
            }
            assert_int_equal(found, 1);
        }
}

/* Threads take the chunks of a tile in turn; the last ones may find none left. */
static void chunks_are_dealt_in_turn(void **state)
{
    (void)state;
    static char taken[24 * 40];
    Layout chunks = {.kind = LAY_CHUNKS, .warps_m = 2, .warps_n = 1, .k = 8};
    memset(taken, 0, sizeof taken);
    assert_int_equal(lay_fragment_values(chunks, 24, 40), 16);
    for (int w = 0; w < 2; w++)
        for (int lane = 0; lane < 32; lane++)
            for (int v = 0; v < 16; v++) {
                int row, col;
                lay_fragment_at(chunks, 24, 40, w, lane, v, &row, &col);
                if (row >= 24 || col >= 40)
                    continue;
                assert_int_equal(col % 8, v % 8);
                assert_int_equal(taken[row * 40 + col]++, 0);
            }
    for (size_t i = 0; i < sizeof taken; i++)
        assert_int_equal(taken[i], 1);
    assert_non_null(lay_fragment_misfit(chunks, 24, 44));
    assert_null(lay_fragment_misfit(chunks, 1, 8));
}

/* Neighbouring lanes have neighbouring chunks, and so have neighbouring warps of a row:
 * one access of a warp reads one stretch of memory. */
static void rows_lie_as_in_memory(void **state)
{
    (void)state;
    Layout layout = in_rows(2, 2, 8, 16);
    for (int w = 0; w < 4; w++)
        for (int lane = 0; lane < 32; lane++)
            for (int v = 0; v < 32; v++) {
                int row, col;
                lay_fragment_at(layout, 8, 512, w, lane, v, &row, &col);
                assert_int_equal(row, w / 2 * 4 + v / 16 * 2 + lane / 16);
                assert_int_equal(col, v % 16 / 8 * 256 + w % 2 * 128 + lane % 16 * 8 + v % 8);
            }
}

/* What eight neighbouring threads write at a time falls into different banks, and
 * where a deal is called regular, every thread takes the same steps. */
static void check_deal(const LayDeal *d, Layout panels, int bytes)
{
    for (int number = 0; number < d->rows * d->per_row; number += 8) {
        int64_t at[8];
        for (int i = 0; i < 8; i++) {
            int row, chunk;
            lay_deal_at(d, number + i, &row, &chunk);
            at[i] = lay_shared_byte(panels, d->rows, bytes, row, chunk * 16 / bytes);
        }
        assert_true(conflict_free(at));
    }
    for (int i = 0; d->regular && i < d->count; i++)
        for (int thread = 0; thread < d->threads; thread++) {
            int first[2], here[2], own[2], step[2];
            lay_deal_at(d, 0, &first[0], &first[1]);
            lay_deal_at(d, i * d->threads, &step[0], &step[1]);
            lay_deal_at(d, thread, &own[0], &own[1]);
            lay_deal_at(d, i * d->threads + thread, &here[0], &here[1]);
            assert_int_equal(here[0] - own[0], step[0] - first[0]);
            assert_int_equal(here[1] - own[1], step[1] - first[1]);
            assert_int_equal((here[1] - own[1]) % d->per_panel, 0);
            int panel = d->per_panel * 16;
            assert_int_equal(lay_swizzle(panel, here[0]), lay_swizzle(panel, own[0]) ^ lay_swizzle(panel, step[0]));
        }
}

static void deals_have_no_conflicts(void **state)
{
    (void)state;
    for (int rows = 16; rows <= 128; rows *= 2)
        for (int cols = 16; cols <= 256; cols += 16)
            for (int threads = 32; threads <= 256; threads *= 2)
                for (int bytes = 1; bytes <= 4; bytes *= 2) {
                    LayDeal d = lay_deal(rows, cols, bytes, lay_panel_for(cols, bytes), threads);
                    assert_true(d.regular);
                    check_deal(&d, panels_of(lay_panel_for(cols, bytes)), bytes);
                }
}

/* A pass takes 16 lanes' pairs of fp32: four rows of an atom, 8 bytes each. */
static void pairs_of_fp32_have_no_conflicts(void **state)
{
    (void)state;
    for (int cols = 8; cols <= 128; cols += 8)
        for (int row = 0; row < 16; row += 4)
            for (int col = 0; col < cols; col += 8) {
                int64_t at[8];
                for (int i = 0; i < 8; i++)
                    at[i] = lay_shared_byte(panels_of(lay_panel_for(cols, 4)), 16, 4, row + i / 2, col + i % 2 * 4);
                assert_true(conflict_free(at));
            }
}

/* A lane with a row of its own meets no other, whatever the panel. Of 16 columns a lane, two lanes beside each other have every
 * other chunk of a panel of fp16: four fit those, and not the panels of 128 bytes that bytes are in. Words of 32 bits lie in
 * panels as wide, a row of which eight lanes of four columns have. */
static void lanes_in_rows_meet(void **state)
{
    (void)state;
    for (int cols = 16; cols <= 256; cols += 16)
        for (int bytes = 1; bytes <= 4; bytes *= 2)
            assert_int_equal(lay_rows_meet(in_rows(2, 1, 16, 1), 64, cols, bytes), 1);
    assert_int_equal(lay_rows_meet(in_rows(8, 1, 16, 4), 64, 128, 1), 2);
    assert_int_equal(lay_rows_meet(in_rows(8, 1, 16, 4), 64, 128, 2), 1);
    assert_int_equal(lay_rows_meet(in_rows(8, 1, 16, 4), 64, 64, 1), 1);
    assert_int_equal(lay_rows_meet(in_rows(4, 1, 16, 8), 16, 128, 1), 1);
    assert_int_equal(lay_rows_meet(in_rows(4, 1, 16, 8), 16, 128, 2), 2);
    assert_int_equal(lay_rows_meet(in_rows(4, 2, 16, 1), 128, 128, 2), 1);
    assert_int_equal(lay_rows_meet(in_rows(4, 1, 8, 8), 16, 64, 4), 2);
    assert_int_equal(lay_rows_meet(in_rows(4, 1, 4, 16), 16, 64, 4), 1);
}

static void what_does_not_fit(void **state)
{
    (void)state;
    assert_non_null(lay_fragment_misfit(mma_c(4, 1), 48, 64));
    assert_non_null(lay_fragment_misfit(mma_c(1, 1), 16, 12));
    assert_non_null(lay_fragment_misfit(mma_a(1, 1, 16), 16, 24));
    assert_non_null(lay_fragment_misfit(mma_a(1, 1, 4), 16, 16));
    assert_non_null(lay_fragment_misfit(mma_c(0, 1), 16, 16));
    assert_non_null(lay_fragment_misfit(mma_c(1, 1), 0, 16));
    assert_non_null(lay_fragment_misfit(panels_of(128), 16, 16));
    assert_null(lay_fragment_misfit(mma_c(4, 1), 64, 1));
    assert_null(lay_fragment_misfit(mma_c(4, 2), 1, 16));
    assert_null(lay_fragment_misfit(mma_c(4, 2), 1, 1));
    assert_non_null(lay_fragment_misfit(in_rows(4, 1, 8, 32), 6, 256));
    assert_non_null(lay_fragment_misfit(in_rows(4, 1, 8, 32), 4, 264));
    assert_non_null(lay_fragment_misfit(in_rows(4, 1, 8, 24), 4, 256));
    assert_non_null(lay_fragment_misfit(in_rows(4, 1, 0, 32), 4, 256));
    assert_non_null(lay_fragment_misfit(in_rows(4, 1, 8, 64), 4, 512));
    assert_null(lay_fragment_misfit(in_rows(4, 1, 8, 16), 8, 128));
}

static void texts_and_equality(void **state)
{
    (void)state;
    jmp_buf oom;
    Heap heap = {.on_oom = &oom};
    if (setjmp(oom))
        fail();
    Arena *arena = arena_new(&heap);
    Str s = str_new(arena);
    lay_print(&s, panels_of(128));
    str_addc(&s, ' ');
    lay_print(&s, mma_c(4, 1));
    str_addc(&s, ' ');
    lay_print(&s, mma_a(2, 2, 16));
    str_addc(&s, ' ');
    lay_print(&s, in_rows(1, 4, 8, 32));
    assert_string_equal(str_text(&s), "panels(128) mma_c(4x1) mma_a(2x2, k16) rows(1x4, k8, lanes32)");
    arena_free(arena);
    assert_true(lay_equal(mma_c(4, 1), mma_c(4, 1)));
    assert_false(lay_equal(mma_c(4, 1), mma_c(2, 2)));
    assert_false(lay_equal(mma_c(4, 1), mma_a(4, 1, 16)));
    assert_false(lay_equal(panels_of(64), panels_of(32)));
    assert_true(lay_equal(in_rows(1, 4, 8, 32), in_rows(1, 4, 8, 32)));
    assert_false(lay_equal(in_rows(1, 4, 8, 32), in_rows(1, 4, 8, 16)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widest_panel),
        cmocka_unit_test(shared_layouts_are_bijections),
        cmocka_unit_test(ldmatrix_phases_have_no_conflicts),
        cmocka_unit_test(row_writes_have_no_conflicts),
        cmocka_unit_test(chunks_stay_whole),
        cmocka_unit_test(fragments_are_those_of_the_manual),
        cmocka_unit_test(matrix_fragments_are_bijections),
        cmocka_unit_test(vectors_lie_beside_their_matrix),
        cmocka_unit_test(reshape_stays_in_the_lane),
        cmocka_unit_test(chunks_are_dealt_in_turn),
        cmocka_unit_test(rows_lie_as_in_memory),
        cmocka_unit_test(deals_have_no_conflicts),
        cmocka_unit_test(pairs_of_fp32_have_no_conflicts), cmocka_unit_test(lanes_in_rows_meet),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(texts_and_equality),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
