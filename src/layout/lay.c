/* lay.c: see lay.h. Everything is arithmetic on coordinates; nothing is stored.
 *
 * An operand atom of 16 columns is two accumulator atoms side by side, which is
 * what makes a Reshape of an accumulator into an operand free of data movement:
 *
 *             columns 0..7   columns 8..15
 *   rows 0..7     a0 a1          a4 a5        (c0 c1 of the atom left and right)
 *   rows 8..15    a2 a3          a6 a7        (c2 c3)
 */
#include "layout/lay.h"

enum {
    LANES = 32,
    WIDEST_PANEL = 128,
    CHUNK = 16,     /* bytes that one ldmatrix row, or one cp.async, moves */
    SERVED = 128,   /* bytes that shared memory serves at a time: all of its banks */
    ATOM_ROWS = 16, /* of accumulators and A operands (PTX ISA, mma.m16n8k*) */
    ATOM_COLS = 8   /* of accumulators; an A operand has one or two of these */, MOST_WARPS = 32 /* 1,024 threads */ };

bool lay_equal(Layout a, Layout b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case LAY_NONE: return true;
    case LAY_PANELS: return a.panel == b.panel;
    case LAY_MMA_C: return a.warps_m == b.warps_m && a.warps_n == b.warps_n && a.quads == b.quads;
    case LAY_MMA_A:
    case LAY_CHUNKS:
    case LAY_ROWS:
        return a.warps_m == b.warps_m && a.warps_n == b.warps_n && a.k == b.k && a.quads == b.quads &&
               a.lanes == b.lanes;
    }
    return false;
}

void lay_print(Str *out, Layout layout)
{
    switch (layout.kind) {
    case LAY_NONE: str_add(out, "none"); break;
    case LAY_PANELS: str_printf(out, "panels(%d)", layout.panel); break;
    case LAY_MMA_C:
        str_printf(out, "mma_c(%dx%d%s)", layout.warps_m, layout.warps_n, layout.quads ? ", quads" : "");
        break;
    case LAY_MMA_A:
        str_printf(out, "mma_a(%dx%d, k%d%s)", layout.warps_m, layout.warps_n, layout.k,
                   layout.quads ? ", quads" : "");
        break;
    case LAY_CHUNKS:
        str_printf(out, "chunks(%dx%d, k%d)", layout.warps_m, layout.warps_n, layout.k);
        break;
    case LAY_ROWS:
        str_printf(out, "rows(%dx%d, k%d, lanes%d)", layout.warps_m, layout.warps_n, layout.k, layout.lanes);
        break;
    }
}

/* ---- shared tiles --------------------------------------------------------------- */

bool lay_is_ragged(int64_t tensor_cols, int cols, int elem_bytes)
{
    enum { SECTOR = 32 };
    return tensor_cols * elem_bytes % SECTOR == CHUNK && (int64_t)cols * elem_bytes > WIDEST_PANEL
           && lay_panel_for(cols, elem_bytes) < WIDEST_PANEL;
}

static int widest_panel(int64_t row, int most)
{
    for (int panel = most; panel >= CHUNK; panel /= 2)
        if (row > 0 && row % panel == 0)
            return panel;
    return 0;
}

int lay_panel_for(int cols, int elem_bytes)
{
    return widest_panel((int64_t)cols * elem_bytes, elem_bytes == 4 ? 32 : WIDEST_PANEL);
}

int lay_panel_in_rows(int cols, int elem_bytes)
{
    return widest_panel((int64_t)cols * elem_bytes, WIDEST_PANEL);
}

/* PTX ISA, "Swizzling modes". */
int lay_swizzle(int panel, int row)
{
    switch (panel) {
    case 128: return row & 7;
    case 64: return (row >> 1) & 3;
    case 32: return (row >> 2) & 1;
    }
    return 0;
}

int64_t lay_shared_byte(Layout layout, int rows, int elem_bytes, int r, int c)
{
    int panel_cols = layout.panel / elem_bytes;
    int in_row = c % panel_cols * elem_bytes;
    int chunk = in_row / CHUNK ^ lay_swizzle(layout.panel, r);
    return (int64_t)(c / panel_cols) * rows * layout.panel + (int64_t)r * layout.panel +
           chunk * CHUNK + in_row % CHUNK;
}

int64_t lay_shared_bytes(int rows, int cols, int elem_bytes)
{
    return (int64_t)rows * cols * elem_bytes;
}

/* ---- register tiles ------------------------------------------------------------------ */

/* Columns of an atom, in units of ATOM_COLS. */
static int atom_halves(Layout layout)
{
    return layout.kind == LAY_MMA_A ? layout.k / ATOM_COLS : 1;
}

/* Units of columns that must lie in one warp. */
static int units_together(Layout layout)
{
    int units = atom_halves(layout);
    return layout.quads && units < 2 ? 2 : units;
}

static bool is_fragment(Layout layout)
{
    return layout.kind == LAY_MMA_C || layout.kind == LAY_MMA_A;
}

/* ---- tiles in chunks --------------------------------------------------------------- */

static int threads_of(Layout layout)
{
    return layout.warps_m * layout.warps_n * LANES;
}

/* Chunks that a thread holds, counting one that may not exist. */
static int chunks_of_thread(Layout layout, int rows, int cols)
{
    int chunks = rows * (cols / layout.k), threads = threads_of(layout);
    return (chunks + threads - 1) / threads;
}

static const char *chunks_misfit(Layout layout, int rows, int cols)
{
    if (layout.warps_m < 1 || layout.warps_n < 1)
        return "there are no warps to hold it";
    if (rows < 1 || cols < 1)
        return "the tile is empty";
    if (layout.k < 1 || layout.k > CHUNK || cols % layout.k != 0)
        return "its columns are not a multiple of a chunk's";
    return NULL;
}

/* Whether steps of so many rows, from first rows below that, change the swizzle alike. */
static bool even_steps(int rows)
{
    return rows % 8 == 0 || 8 % rows == 0;
}

/* Whether all of a thread's chunks follow from its first, in either order. */
static bool steps_of_rows(const LayDeal *d)
{
    return d->threads % d->per_row == 0 && (even_steps(d->threads / d->per_row) || d->count == 1);
}

static bool steps_of_panels(const LayDeal *d)
{
    if (d->threads % d->per_panel != 0)
        return false;
    int pass = d->threads / d->per_panel; /* rows that all threads take at a time */
    return pass % d->rows == 0 || (d->rows % pass == 0 && even_steps(pass));
}

/* Rows first where whole groups of 8 rows are taken at a time. */
static bool rows_first(const LayDeal *d)
{
    return d->per_panel * CHUNK == WIDEST_PANEL && steps_of_rows(d) &&
           (d->threads / d->per_row % 8 == 0 || d->count == 1);
}

LayDeal lay_deal(int rows, int cols, int elem_bytes, int panel, int threads)
{
    LayDeal d = {.rows = rows, .per_row = cols * elem_bytes / CHUNK, .per_panel = panel / CHUNK, .threads = threads};
    d.count = (rows * d.per_row + threads - 1) / threads;
    d.by_panels = d.per_row > d.per_panel && !rows_first(&d);
    d.regular = d.by_panels ? steps_of_panels(&d) : steps_of_rows(&d);
    return d;
}

void lay_deal_at(const LayDeal *d, int number, int *row, int *chunk)
{
    int in_row = d->by_panels ? d->per_panel : d->per_row;
    *row = number / in_row % d->rows;
    *chunk = number % in_row + number / (in_row * d->rows) * in_row;
}

int lay_deal_down(const LayDeal *d)
{
    int down = d->rows * d->per_panel / d->threads;
    return d->by_panels ? (down > 1 ? down : 1) : d->count;
}

static void chunk_value_at(Layout layout, int rows, int cols, int thread, int v, int *row, int *col)
{
    int bytes = CHUNK / layout.k;
    LayDeal deal = lay_deal(rows, cols, bytes, lay_panel_for(cols, bytes), threads_of(layout));
    lay_deal_at(&deal, v / layout.k * deal.threads + thread, row, col);
    *col = *col * layout.k + v % layout.k;
}

/* ---- tiles in rows ------------------------------------------------------------------ */

/* Rows that a warp holds at once. */
static int rows_at_once(Layout layout)
{
    return LANES / layout.lanes;
}

/* Columns that a row's lanes hold at once, over all warps along it. */
static int cols_at_once(Layout layout)
{
    return layout.warps_n * layout.lanes * layout.k;
}

static const char *rows_misfit(Layout layout, int rows, int cols)
{
    if (layout.warps_m < 1 || layout.warps_n < 1)
        return "there are no warps to hold it";
    if (layout.lanes < 1 || layout.lanes > LANES || (layout.lanes & (layout.lanes - 1)) || layout.k < 1 ||
        layout.k > CHUNK)
        return "lanes along a row are a power of two up to 32, of up to 16 values each";
    if (rows < 1 || cols < 1)
        return "the tile is empty";
    if (rows > 1 && rows % (layout.warps_m * rows_at_once(layout)) != 0)
        return "its rows are not a multiple of those that the warps hold at once";
    if (cols > 1 && cols % cols_at_once(layout) != 0)
        return "its columns are not a multiple of those that the lanes of a row hold at once";
    return NULL;
}

/* What a lane has, by (row step, column step, value of the chunk). */
static int rows_values(Layout layout, int rows, int cols)
{
    int down = rows > 1 ? rows / layout.warps_m / rows_at_once(layout) : 1;
    return cols > 1 ? down * (cols / cols_at_once(layout)) * layout.k : down;
}

/* Values of a lane in one row. */
static int values_in_row(Layout layout, int cols)
{
    return cols > 1 ? cols / cols_at_once(layout) * layout.k : 1;
}

static void rows_value_at(Layout layout, int rows, int cols, int warp, int lane, int v, int *row, int *col)
{
    int in_row = values_in_row(layout, cols), along = warp % layout.warps_n * layout.lanes + lane % layout.lanes;
    int first = warp / layout.warps_n * (rows / layout.warps_m);
    *row = rows > 1 ? first + v / in_row * rows_at_once(layout) + lane / layout.lanes : 0;
    *col = cols > 1 ? v % in_row / layout.k * cols_at_once(layout) + along * layout.k + v % layout.k : 0;
}

/* Of the lanes from `first` on, in an access of so many bytes a lane that begins with value v. */
static int lanes_meet(Layout layout, int rows, int cols, int elem_bytes, int first, int v, int bytes)
{
    Layout panels = {.kind = LAY_PANELS, .panel = lay_panel_in_rows(cols, elem_bytes)};
    int taken[LANES] = {0}, most = 0, lanes = SERVED / bytes;
    for (int i = first; i < first + lanes; i++) {
        int row, col;
        rows_value_at(layout, rows, cols, i / LANES, i % LANES, v, &row, &col);
        int *bank = &taken[lay_shared_byte(panels, rows, elem_bytes, row, col) / bytes % lanes];
        if (++*bank > most)
            most = *bank;
    }
    return most;
}

int lay_rows_meet(Layout layout, int rows, int cols, int elem_bytes)
{
    int values = rows_values(layout, rows, cols), stretch = layout.k * elem_bytes, most = 1;
    int bytes = stretch < CHUNK ? stretch : CHUNK;
    for (int first = 0; first < threads_of(layout); first += SERVED / bytes)
        for (int v = 0; v < values; v += bytes / elem_bytes) {
            int meet = lanes_meet(layout, rows, cols, elem_bytes, first, v, bytes);
            most = meet > most ? meet : most;
        }
    return most;
}

/* ---- fragments ----------------------------------------------------------------------- */

const char *lay_fragment_misfit(Layout layout, int rows, int cols)
{
    if (layout.kind == LAY_CHUNKS)
        return chunks_misfit(layout, rows, cols);
    if (layout.kind == LAY_ROWS)
        return rows_misfit(layout, rows, cols);
    if (!is_fragment(layout))
        return "the layout is not one of fragments";
    if (layout.warps_m < 1 || layout.warps_n < 1)
        return "there are no warps to hold it";
    if (layout.warps_m > MOST_WARPS || layout.warps_n > MOST_WARPS)
        return "no block has so many warps";
    if (layout.kind == LAY_MMA_A && layout.k != 8 && layout.k != 16 && layout.k != 32)
        return "an operand atom has 8, 16 or 32 columns";
    if (rows < 1 || cols < 1)
        return "the tile is empty";
    if (rows > 1 && rows % (ATOM_ROWS * layout.warps_m) != 0)
        return "its rows are not 16 times the number of warps along them";
    if (cols > 1 && cols % (ATOM_COLS * units_together(layout) * layout.warps_n) != 0)
        return "its columns are not a multiple of an atom's times the number of warps along them";
    return NULL;
}

/* Atom rows and 8-column units that one warp owns; 0 along an extent of 1. */
static int warp_atom_rows(Layout layout, int rows)
{
    return rows > 1 ? rows / layout.warps_m / ATOM_ROWS : 0;
}

static int warp_col_units(Layout layout, int cols)
{
    return cols > 1 ? cols / layout.warps_n / ATOM_COLS : 0;
}

int lay_fragment_values(Layout layout, int rows, int cols)
{
    if (layout.kind == LAY_CHUNKS)
        return chunks_of_thread(layout, rows, cols) * layout.k;
    if (layout.kind == LAY_ROWS)
        return rows_values(layout, rows, cols);
    int m = warp_atom_rows(layout, rows), n = warp_col_units(layout, cols);
    if (m && n)
        return m * n * 4;
    return m ? m * 2 : n ? n * 2 : 1;
}

/* Where value v lies among the warp's values: which 8 rows, which 8 columns,
 * which of the pair of neighbouring columns. */
typedef struct Slot {
    int half_row, col_unit, pair;
} Slot;

static Slot slot_of(Layout layout, int rows, int cols, int v)
{
    int halves = atom_halves(layout), per_atom = 4 * halves;
    int m = warp_atom_rows(layout, rows), n = warp_col_units(layout, cols);
    if (!m)
        return (Slot){0, v / 2, v % 2};
    if (!n)
        return (Slot){v, 0, 0};
    int atom = v / per_atom, i = v % per_atom, atoms_in_row = n / halves;
    if (halves == 4) /* registers of four values: rows 0..7 and 8..15 of two units, then of the next */
        return (Slot){atom / atoms_in_row * 2 + i / 4 % 2, atom % atoms_in_row * 4 + i / 8 * 2 + i / 2 % 2, i % 2};
    return (Slot){atom / atoms_in_row * 2 + i / 2 % 2, atom % atoms_in_row * halves + i / 4, i % 2};
}

void lay_fragment_at(Layout layout, int rows, int cols, int warp, int lane, int v, int *row,
                     int *col)
{
    if (layout.kind == LAY_CHUNKS) {
        chunk_value_at(layout, rows, cols, warp * LANES + lane, v, row, col);
        return;
    }
    if (layout.kind == LAY_ROWS) {
        rows_value_at(layout, rows, cols, warp, lane, v, row, col);
        return;
    }
    Slot s = slot_of(layout, rows, cols, v);
    int m = warp_atom_rows(layout, rows), n = warp_col_units(layout, cols);
    int first_row = warp / layout.warps_n * m * ATOM_ROWS;
    int first_col = warp % layout.warps_n * n * ATOM_COLS;
    *row = m ? first_row + s.half_row * 8 + lane / 4 : 0;
    int in_warp = layout.quads ? s.col_unit / 2 * 16 + s.col_unit % 2 * 2 + lane % 4 * 4
                               : s.col_unit * ATOM_COLS + lane % 4 * 2;
    *col = n ? first_col + in_warp + s.pair : 0;
}

int lay_fragment_row_slot(Layout layout, int rows, int cols, int v)
{
    if (layout.kind == LAY_ROWS)
        return v / values_in_row(layout, cols);
    return slot_of(layout, rows, cols, v).half_row;
}

int lay_fragment_col_slot(Layout layout, int rows, int cols, int v)
{
    if (layout.kind == LAY_ROWS)
        return v % values_in_row(layout, cols);
    Slot s = slot_of(layout, rows, cols, v);
    return s.col_unit * 2 + s.pair;
}
