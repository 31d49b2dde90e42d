/* state.h: what the lowering knows while it walks a kernel.
 *
 * Vocabulary
 *   local    a name of the program with its current value in each space
 *   alpha    the factor of the online softmax: what is accumulated from its
 *            result is first multiplied by it, once (docs/language.md)
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

/* What is known of a value beyond its definition; by value id. */
typedef struct Lineage {
    TileValue *alpha;     /* it stems from a softmax with this factor */
    TileValue *rescaled;  /* it has been multiplied by this factor already */
} Lineage;

/* One online softmax: its state before and after, and its factor. */
typedef struct SoftmaxStep {
    const TileValue *before, *after;
    TileValue *alpha;
} SoftmaxStep;

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
const Aff *lo_condition(Lower *lo, const Expr *e);      /* over row, col and what is uniform */

/* compute.c, copy.c, flow.c */
void lo_compute(Lower *lo, const Stmt *s);
void lo_reshape(Lower *lo, const Block *block, int at);
void lo_copy(Lower *lo, const Stmt *s);
void lo_allocate(Lower *lo, const Stmt *s);
void lo_for(Lower *lo, const Stmt *s);
void lo_if(Lower *lo, const Stmt *s);

#endif
