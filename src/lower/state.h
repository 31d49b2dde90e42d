/* state.h: what the lowering knows while it walks a kernel.
 *
 * Vocabulary
 *   local    a name of the program with its current value in each space
 *   alpha    the factor of the online softmax: what is accumulated from its
 *            result is first multiplied by it, once (docs/language.md)
 *   axis     what a tile's rows or columns run along, and from which position on
 *   view     the part of a tensor that `Allocate X in global` names
 *   frame    the axes of the tile that a condition is about
 */
#ifndef TW_LOWER_STATE_H
#define TW_LOWER_STATE_H

#include "lang/eval.h"
#include "lower/lower.h"
#include "pass/rewrite.h"

typedef struct Local {
    const char *name;
    bool in_register, in_shared;      /* allocated */
    TileType reg_type, shared_type;   /* as allocated */
    TileValue *reg, *shared;          /* current values; NULL: none */
} Local;

typedef struct Axis {
    const char *dim;   /* NULL: unnamed */
    const Aff *start;  /* position of the first element; NULL: unknown */
} Axis;

/* What is known of a value beyond its definition; by value id. */
typedef struct Lineage {
    Axis axis[2];         /* of rows, of columns */
    TileValue *alpha;     /* it stems from a softmax with this factor */
    TileValue *rescaled;  /* it has been multiplied by this factor already */
} Lineage;

/* One online softmax: its state before and after, and its factor. */
typedef struct SoftmaxStep {
    const TileValue *before, *after;
    TileValue *alpha;
} SoftmaxStep;

typedef struct View {
    TileTensor *tensor;
    int rank, dim[TENSOR_MAX_RANK]; /* its dimension d is the tensor's dim[d] */
    const Aff *dims[TENSOR_MAX_RANK];
    const char *names[TENSOR_MAX_RANK];
    const Aff *corner[TENSOR_MAX_RANK]; /* its first element, in the tensor */
} View;

/* Where a tile lies in a view. */
typedef struct Place {
    View view;
    int extents[TENSOR_MAX_RANK]; /* of the tile along each dimension of the view */
    const Aff *coords[TENSOR_MAX_RANK];
    int row_dim, col_dim, rows, cols;
} Place;

struct Frame;

typedef struct Lower {
    Arena *arena;
    Syms *syms;
    const Program *code;
    const Settings *settings;
    Diags *diags;
    TileProgram *program;
    TileKernel *kernel;
    EvalEnv env;
    VEC(Local) locals;
    VEC(Lineage) lineage;
    VEC(SoftmaxStep) steps;
    VEC(const Stmt *) views;   /* Allocate in global */
    VEC(const Stmt *) indices; /* Index */
    bool declaring;            /* unbound names are dimensions */
    const struct Frame *frame; /* NULL: no condition is at hand */
    const Expr *condition;
    Rewriter rw;          /* where operations go: always the end of a block */
    bool failed;
} Lower;

/* lower.c */
void lo_fail(Lower *lo, DiagCode code, Span span, const char *fmt, ...) TW_PRINTF(4, 5);
TileTensor *lo_tensor(Lower *lo, const char *name);
Local *lo_local(Lower *lo, const char *name);           /* NULL: unknown */
Local *lo_local_make(Lower *lo, const char *name);
Lineage *lo_lineage(Lower *lo, const TileValue *v);
void lo_set_register(Lower *lo, const char *name, TileValue *v);
bool lo_shape(Lower *lo, Expr *const *shape, int n, int *extents); /* constants, at most 3 */
void lo_block(Lower *lo, const Block *block);

/* operand.c */
TileValue *lo_operand(Lower *lo, const Expr *e);        /* in registers */
TileValue *lo_gemm_operand(Lower *lo, const Expr *e, bool *transposed);

/* place.c */
/* Where the statement's tile lies; shapes that it leaves out are the allocation's.
 * oriented: a vector lies as it was allocated. False: diagnosed. */
bool lo_place(Lower *lo, const Stmt *s, const TileType *allocated, bool oriented, Place *p);
Axis lo_place_axis(const Place *p, int d);
/* The operation's tensor, coordinates and condition; where: more of it, or NULL. */
void lo_place_set(Lower *lo, TileOp *op, const Place *p, const Aff *where);
/* cond without what already follows from the bounds of the view. */
const Aff *lo_place_drop_implied(Lower *lo, const Place *p, const Aff *cond);

/* position.c: conditions over row, col and what is uniform; NULL: diagnosed */
const Aff *lo_condition(Lower *lo, const Expr *e, Axis rows, Axis cols, int n_rows, int n_cols);
const Aff *lo_condition_on(Lower *lo, const Expr *e, const TileValue *tile);
const Aff *lo_free_name(Lower *lo, const Expr *e, Diags *diags); /* NULL: none */

/* require.c: conditions on a launch, added to program->requires */
void lo_requirements(TileProgram *program);

/* compute.c, copy.c, flow.c */
void lo_compute(Lower *lo, const Stmt *s);
void lo_reshape(Lower *lo, const Block *block, int at);
void lo_copy(Lower *lo, const Stmt *s);
void lo_allocate(Lower *lo, const Stmt *s);
void lo_for(Lower *lo, const Stmt *s);
void lo_if(Lower *lo, const Stmt *s);

#endif
