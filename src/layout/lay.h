/* lay.h: where the elements of a tile live, as pure functions.
 *
 * Shared tiles: panels. A row of the tile is cut into panels of `panel` bytes
 * (128, 64, 32 or 16); a panel holds all rows of its columns, row after row:
 *
 *   byte(r, c) = (c / pc) * rows * panel + r * panel + swizzle(r, c % pc)
 *
 * with pc = panel / element size. Within a panel the 16-byte chunk index is
 * XORed with bits of the row, so that eight rows read by one ldmatrix phase and
 * a row written by neighbouring threads fall into different banks. This is the
 * layout that TMA's 128-, 64- and 32-byte swizzles write (PTX ISA, tensor
 * swizzling modes): 128: chunk ^= r & 7; 64: chunk ^= (r >> 1) & 3;
 * 32: chunk ^= (r >> 2) & 1; 16: none.
 *
 * Register tiles: fragments. Warps are arranged warps_m x warps_n over the tile
 * (warp w is at row w / warps_n, column w % warps_n), each owning a contiguous
 * part of rows / warps_m by cols / warps_n, cut into atoms of the tensor-core
 * instruction (PTX ISA, "Matrix fragments for mma.m16n8k16", "... m16n8k8"):
 *
 *   LAY_MMA_C  16 x 8 accumulator atoms, 4 values a lane: rows lane/4 and +8,
 *              columns 2 * (lane % 4) and +1
 *   LAY_MMA_A  16 x k operand atoms, k = 16 (8 values a lane) or 8 (4 values) of
 *              16 bits, k = 32 (16 values) of 8 bits
 *
 * `quads` turns pairs of columns into fours: of each 16 columns a lane has
 * 4 * (lane % 4) to + 3, in place of 2 * (lane % 4), + 1, + 8 and + 9. An operand
 * of 8 bits wants fours; but since a sum does not mind its order, pairs do as
 * well when the other operand's rows come in the same order. Accumulators have
 * fours where the other operand's columns were read in pairs (ptx/mma.c).
 *
 * A tile on its way from global to shared memory through registers lies in
 * chunks of 16 bytes, as copies move it: chunk i of a thread is the one that is
 * dealt as number i * threads + thread (LayDeal).
 *
 *   LAY_CHUNKS  k values a chunk; the last chunks of a thread may not exist
 *
 * Tiles that no tensor core touches lie as memory does: a lane has k neighbours of
 * a row, which one access of up to 16 bytes moves, `lanes` lanes lie side by side,
 * and the warps of a row beside them; rows of 32 / lanes follow one another in a
 * warp. A lane's next values are one such stretch to the right, or the next rows.
 *
 *   LAY_ROWS    row  = its warp's first + 32 / lanes * i + lane / lanes
 *               col  = k * (lanes * (warps_n * j + its warp) + lane % lanes) + e
 *
 * A column vector (R,1) holds for each lane the values of the rows that it has in
 * the matrix (in LAY_MMA_C 2 an atom row; the 4 lanes of a quad hold the same); a
 * row vector (1,C) those of its columns; a scalar (1,1) one value in every lane.
 */
#ifndef TW_LAY_H
#define TW_LAY_H

#include "base/base.h"

typedef enum LayoutKind { LAY_NONE, LAY_PANELS, LAY_MMA_C, LAY_MMA_A, LAY_CHUNKS, LAY_ROWS } LayoutKind;

typedef struct Layout {
    LayoutKind kind;
    int panel;             /* LAY_PANELS: bytes */
    int warps_m, warps_n;  /* LAY_MMA_*, LAY_CHUNKS, LAY_ROWS */
    bool quads;            /* LAY_MMA_* */
    int k;                 /* LAY_MMA_A: columns of an atom; LAY_CHUNKS, LAY_ROWS: of a chunk */
    int lanes;             /* LAY_ROWS: side by side along a row; a power of two */
} Layout;

bool lay_equal(Layout a, Layout b);
/* The layout in dumps: "panels(128)", "mma_c(4x1)", "mma_a(4x1, k32, quads)", "chunks(4x1, k8)",
 * "rows(1x4, k8, lanes32)". */
void lay_print(Str *out, Layout layout);

/* The panel for rows of `cols` elements: the largest of 128, 64, 32, 16 that
 * divides cols * elem_bytes; 0 when none does. Of elements of 4 bytes at most 32,
 * since the pairs that a fragment has in four rows are read together. */
int lay_panel_for(int cols, int elem_bytes);
/* The same where the register tiles that meet it lie as memory does: a row is read by lanes beside each other, whatever its elements. */
int lay_panel_in_rows(int cols, int elem_bytes);
/* Whether a bulk copy brings rows of a tensor slowly to a tile `cols` wide: where they are an odd number of 16 bytes apart in
 * memory, every other one begins in the middle of a sector of 32 bytes, and each of its pieces, a panel wide, reads one sector
 * more (seen on an H200: some 13 clocks a row of two to five pieces, where lanes take 10). Pieces of 128 bytes are few.
 * tensor_cols: what the length of the tensor's rows is a multiple of. */
bool lay_is_ragged(int64_t tensor_cols, int cols, int elem_bytes);
/* Byte of element (r, c) of a shared tile. */
int64_t lay_shared_byte(Layout layout, int rows, int elem_bytes, int r, int c);
int64_t lay_shared_bytes(int rows, int cols, int elem_bytes);
/* What the index of a chunk within its panel is XORed with in a row: bits of the row,
 * so that for rows a and b without a common bit that of a + b is the XOR of theirs. */
int lay_swizzle(int panel, int row);

/* What lanes whose stretches move between registers and a shared tile (LAY_ROWS) cost, with 16 bytes an access or a stretch of
 * 8: of those that are served together, the most that meet in the same banks. 1: none do. */
int lay_rows_meet(Layout layout, int rows, int cols, int elem_bytes);

/* Why a rows x cols tile cannot have this fragment layout, or NULL if it can. */
const char *lay_fragment_misfit(Layout layout, int rows, int cols);
/* Values a lane of a register tile; vectors and scalars included. */
int lay_fragment_values(Layout layout, int rows, int cols);
/* Row and column of value `v` of lane `lane` of warp `warp`. Order of values:
 * atom rows, then atom columns, then the atom's own order (PTX ISA). */
void lay_fragment_at(Layout layout, int rows, int cols, int warp, int lane, int v, int *row, int *col);

/* Chunks of 16 bytes dealt to threads in turn: row by row, or where that would
 * put neighbours into the same banks, or a thread's chunks at steps that differ,
 * panel by panel. Regular: each of a thread's chunks is a constant step of rows
 * and panels from its first; the step's rows have no bit below 8 in common with the
 * first's, so that the step changes the swizzle in the same way for all threads. */
typedef struct LayDeal {
    int rows, per_row, per_panel; /* per_: chunks */
    int threads, count;           /* count: chunks of a thread; its last may not exist */
    bool by_panels, regular;
} LayDeal;
LayDeal lay_deal(int rows, int cols, int elem_bytes, int panel, int threads);
void lay_deal_at(const LayDeal *deal, int number, int *row, int *chunk);
/* A thread's chunks in a panel, one below another, before the next panel's. */
int lay_deal_down(const LayDeal *deal);

/* Index, among a lane's values of the (R,1) vector / (1,C) vector, of the entry
 * that belongs to value v of the matrix. */
int lay_fragment_row_slot(Layout layout, int rows, int cols, int v);
int lay_fragment_col_slot(Layout layout, int rows, int cols, int v);

#endif
