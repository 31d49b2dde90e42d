/* rows.h: kernels that no tensor core works for; what direct.c and assign.c ask. */
#ifndef TW_ROWS_H
#define TW_ROWS_H

#include "pass/passes.h"

/* Whether nothing in the kernel wants fragments of the tensor cores' instruction:
 * no products, reductions along rows, or parts of register tiles. */
bool rows_without_fragments(const TileKernel *kernel);
/* Bytes of the widest element that is copied in tiles with columns, which says how many of them a lane has; 0: there are none. */
int rows_widest(const TileKernel *kernel);
/* The layout (LAY_ROWS) for all register tiles of the kernel; false: there is none. */
bool rows_layout(const TileKernel *kernel, Layout *layout);
/* Whether all its register tiles could be fragments. */
bool rows_fit_fragments(const TileKernel *kernel);
/* The least number of columns, more than there are, with which there would be one; 0: none. */
int rows_wider(const TileKernel *kernel);
/* How a loop takes reductions along rows, turn by turn, into what it carries. */
typedef struct RowStep {
    OpId step;      /* of two values */
    OpId along;     /* a row */
    double nothing; /* what it leaves as it is */
} RowStep;
/* The one by which `step` takes r, the result of a reduction; NULL: it is none. */
const RowStep *rows_step(const TileOp *step, const TileValue *r);
/* The one whose reduction r is, whatever step takes it; NULL: it is none. */
const RowStep *rows_step_along(const TileValue *r);
/* unpinned.c: gives tiles of words that no product pins, in a kernel with products, layouts of their own (LAY_ROWS). */
void unpinned_give(TileProgram *program, TileKernel *kernel);
/* panels.c: by value id, the shared tiles that register tiles in rows (LAY_ROWS) meet, and none in fragments. */
bool *panels_of_rows(TileProgram *program, const TileKernel *kernel);
/* Gives reductions over rows that several warps share a buffer to combine through. */
void rows_combine(TileProgram *program, TileKernel *kernel);

#endif
