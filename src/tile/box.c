/* box.c: the boxes in which a tile goes between a tensor and shared memory.
 *
 *   T (b, h, s, d) bf16, tile 128 x 192 along s and d, panels of 128 bytes
 *
 *       box 1 x 1 x 128 x 64, three of them        | 128 x 64 | 128 x 64 | 128 x 64 |
 *
 * A box lies in shared memory densely, so one that is a panel wide is a panel of
 * the layout, or whole rows of one where a box cannot have so many; and a vector,
 * whose elements follow one another, is not swizzled, and where it takes several boxes each begins where a box may.
 */
#include "tile/tile.h"

enum { REPEAT = 8, RANK_MOST = 5, SIDE_MOST = TILE_BOX_MOST }; /* CUDA Driver API, cuTensorMapEncodeTiled: tensorRank, boxDim */

/* The largest part of n, of whole units, that divides it and is a side of a box; 0: none. */
static int part_of(int n, int unit)
{
    for (int parts = 1; parts * unit <= n; parts++)
        if (n % parts == 0 && n / parts % unit == 0 && n / parts <= SIDE_MOST)
            return n / parts;
    return 0;
}

static bool set_vector(const TileTensor *tensor, int n, TileBox *box)
{
    int bytes = dtype_bytes(tensor->dtype);
    box->size[tensor->rank - 1] = part_of(n, (n > SIDE_MOST ? TILE_BOX_ALIGN : TILE_CHUNK) / bytes);
    box->swizzle = 0;
    return box->size[tensor->rank - 1] > 0;
}

/* Bytes of a panel; before a layout was assigned, those that it would give. */
static int panel_of(const TileType *stage)
{
    if (stage->layout.kind == LAY_NONE)
        return lay_panel_for(stage->cols, dtype_bytes(stage->dtype));
    return stage->layout.kind == LAY_PANELS ? stage->layout.panel : 0;
}

/* Rows of a panel repeat their swizzle every eight, at any width of it (lay.h). */
static bool set_matrix(const TileTensor *tensor, int row_dim, const TileType *stage, TileBox *box)
{
    int panel = panel_of(stage), columns = panel / dtype_bytes(stage->dtype);
    if (panel < TILE_CHUNK || stage->cols % columns != 0)
        return false;
    box->size[row_dim] = part_of(stage->rows, REPEAT);
    box->size[tensor->rank - 1] = columns;
    box->swizzle = panel > TILE_CHUNK ? panel : 0;
    return box->size[row_dim] > 0;
}

/* ---- strips of rows ----------------------------------------------------------------------- */

/* Whether row `first + k` lies k behind row `first` along one dimension (-1: not known yet), and beside it along all others. */
static bool follows(const TileProgram *program, const TileOp *op, int first, int k, int *dim)
{
    AffCtx *aff = program->aff;
    const Aff *from = aff_const(aff, first), *to = aff_const(aff, first + k);
    int64_t step;
    int along = -1;
    for (int d = 0; d < op->tensor->rank; d++) {
        const Aff *a = tile_row_coord(program, op, d, from), *b = tile_row_coord(program, op, d, to);
        if (a == b)
            continue;
        if (along >= 0 || !aff_is_const(aff_sub(aff, b, a), &step) || step != k)
            return false;
        along = d;
    }
    if (*dim < 0)
        *dim = along;
    bool alike = !op->where || aff_subst(aff, op->where, program->row, from) == aff_subst(aff, op->where, program->row, to);
    return alike && along >= 0 && along == *dim;
}

static bool has_strips(const TileProgram *program, const TileOp *op, int rows, TileStrip *strip)
{
    strip->dim = -1;
    for (int first = 0; first < rows; first += strip->rows)
        for (int k = 1; k < strip->rows; k++)
            if (!follows(program, op, first, k, &strip->dim))
                return false;
    return true;
}

bool tile_strips(const TileProgram *program, const TileOp *op, int rows, TileStrip *strip)
{
    *strip = (TileStrip){rows, op->row_dim};
    if (!tile_by_rows(op))
        return !op->where;
    if (op->where && aff_uses_kind(op->where, AFF_COL))
        return false;
    for (int parts = 1; parts <= rows; parts++) {
        strip->rows = rows / parts;
        if (rows % parts == 0 && strip->rows % REPEAT == 0 && strip->rows <= SIDE_MOST && has_strips(program, op, rows, strip))
            return true;
    }
    return false;
}

bool tile_box(const TileTensor *tensor, int row_dim, int col_dim, const TileType *stage, TileBox *box)
{
    int inner = tensor->rank - 1;
    if (inner < 0 || tensor->rank > RANK_MOST || stage->dtype != tensor->dtype)
        return false;
    for (int d = 0; d < tensor->rank; d++)
        box->size[d] = 1;
    if (stage->cols == 1 && row_dim == inner)
        return set_vector(tensor, stage->rows, box);
    if (col_dim != inner || (row_dim < 0 && stage->rows != 1))
        return false;
    return stage->rows == 1 ? set_vector(tensor, stage->cols, box) : set_matrix(tensor, row_dim, stage, box);
}

bool tile_boxes_begin(const TileOp *op)
{
    int64_t divisor = aff_divisor(op->coords[op->tensor->rank - 1]);
    return divisor * dtype_bytes(op->tensor->dtype) % TILE_CHUNK == 0;
}
