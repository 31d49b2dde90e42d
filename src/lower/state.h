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

/* What a stage of a shared tile holds; newest first. Lists are never changed, so
 * a copy of a Local keeps what it had. */
/* A Copy to a stage. */
typedef struct StageCopy {
    const char *name;
    Span loc;
} StageCopy;

typedef struct Staged {
    const Aff *stage; /* the constant 0 where there is but one */
    TileValue *value;
    int version;
    Span loc;         /* of the statement that put it there */
    const struct Staged *arms[2]; /* what the branches left there, where both did; NULL: one statement put it there */
    const struct Staged *next;
} Staged;

typedef struct Local {
    bool spoiled;          /* the statement that writes it was refused: say no more of it */
    const char *name;
    bool in_register, in_shared;      /* allocated */
    TileType reg_type, shared_type;   /* as allocated */
    int stages;                       /* of the shared tile, as allocated; 0: it has no such dimension */
    TileValue *reg;                   /* current value; NULL: none */
    int version;                      /* of reg: copies that hold the same elements have the same one */
    const Staged *shared;             /* NULL: none */
    const Aff *scalar;                /* reg, or the value without one, as an integer; NULL: not known as one */
} Local;

typedef struct Turns Turns;

/* What a branch left in a stage, from global memory; it is there wherever the same condition holds later. */
typedef struct Kept {
    const char *name;
    const Aff *stage, *cond; /* NULL: any stage, of which nothing is known */
    bool orelse;
    const TileOp *load;      /* NULL: something else made it */
    const Turns *turns;      /* NULL: no loop's turns left it */
    Span loc;
} Kept;

/* A branch round the statement at hand. */
typedef struct Arm {
    const Aff *cond;
    bool orelse;
} Arm;

/* What one branch of an if gave a name in registers: a result of the if, which is there wherever the branch's condition holds later
 * in the block that the if stands in. */
typedef struct Held {
    const char *name;
    const Aff *holds;
    TileValue *value; /* 0 where the branch was not taken; NULL: the name was given something else since */
} Held;

/* What both branches of an if left in a stage: a result of the if, which goes to shared memory behind it. */
typedef struct Joined {
    TileOp *branch;
    TileValue *result; /* in registers */
} Joined;

/* A loop round the statement at hand. */
typedef struct LowerLoop {
    const AffSym *var;
    const Aff *lo, *hi;
    const Block *body;
    struct { const char *name; const Staged *before; const Turns *turns; } *written; /* names whose shared tiles the body writes */
    int n_written, kept;
    Rewriter *before;   /* behind the loop's operation, in its block */
    const struct LowerLoop *outer;
} LowerLoop;

typedef struct Axis {
    const char *dim;   /* NULL: unnamed */
    const Aff *start;  /* position of the first element; NULL: unknown */
} Axis;

/* What is known of a value beyond its definition; by value id. */
typedef struct Lineage {
    Axis axis[2];         /* of rows, of columns */
    TileValue *alpha;     /* it stems from a softmax with this factor */
    TileValue *rescaled;  /* it has been multiplied by this factor already */
    bool doubtful;        /* it has been multiplied by another one that is made of maxima */
    const TileValue *doubted; /* the maximum that it was in units of then; NULL: none */
    bool lost;            /* it stems from a softmax whose factor is not known here */
    const TileValue *unit;  /* the maximum that it is in units of; NULL: none, or the one that a loop carries */
    const TileValue *param; /* it stems from this value, which a loop carries */
    const TileValue *owes;  /* that one was added to it, in units that are not known yet */
} Lineage;

/* One online softmax: its state before and after, and its factor. */
typedef struct SoftmaxStep {
    const TileValue *before, *after;
    const TileValue *sum; /* before */
    Span loc;
    TileValue *alpha;
    const struct LowerLoop *loop;
    bool closed; /* it stands in a branch that is over: no factor behind it is made of its alpha */
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
    bool by_rows; /* coordinates say of each row where it lies; row_dim is -1 then */
} Place;

/* The tile whose elements a condition is about. */
typedef struct Frame {
    Axis axis[2];
    int extent[2];
    bool number; /* numbers are wanted, so parameters keep their fractions; false: a condition */
} Frame;

/* An integer that was read from a tensor, or is a parameter: element.c. */
typedef struct Read {
    const char *param;        /* NULL: an element of tensor */
    const TileTensor *tensor;
    const Aff **coords;
    const AffSym *sym;
    const struct LowerLoop *loop; /* that it is known in; NULL: none */
} Read;

typedef struct Lower {
    Arena *arena;
    Syms *syms;
    const Program *code;
    const Unit *unit;
    const Settings *settings;
    Diags *diags;
    TileProgram *program;
    TileKernel *kernel;
    EvalEnv env;
    VEC(Local) locals;
    VEC(Lineage) lineage;
    VEC(StageCopy) stage_copies;
    VEC(int) stages_read;      /* where the Copies begin that some read gets its stage from, one below it in a loop among them */
    VEC(Kept) kept;            /* newest last, by branches that are over in this turn */
    VEC(Arm) arms;             /* outermost first */
    VEC(Joined) joined;
    VEC(Held) held;            /* newest last */
    VEC(SoftmaxStep) steps;
    VEC(const Stmt *) views;   /* Allocate in global */
    VEC(const Stmt *) indices; /* Index */
    const LowerLoop *loop;     /* NULL: none */
    int versions;              /* handed out */
    int inlined, nested;       /* operations of one's own: so far, within each other now */
    int loops_behind;          /* that what a stage holds is looked for in now */
    bool declaring;            /* unbound names are dimensions */
    int assigned;              /* sizes that are assigned, within each other now */
    VEC(Read) reads;           /* known here */
    const Frame *frame;        /* NULL: no condition is at hand */
    bool exact;                /* an integer of elements of the tile is at hand: element.c */
    bool doubted;              /* what is at hand is within what may round integers: element.c */
    bool bringing;             /* a coordinate of a tile that comes from memory is at hand: element.c */
    const Expr *condition;
    Rewriter rw;          /* where operations go: always the end of a block */
    bool failed;
} Lower;

/* lower.c */
void lo_fail(Lower *lo, DiagCode code, Span span, const char *fmt, ...) TW_PRINTF(4, 5);
Local *lo_local(Lower *lo, const char *name);           /* NULL: unknown */
Local *lo_local_make(Lower *lo, const char *name);
Lineage *lo_lineage(Lower *lo, const TileValue *v);
void lo_set_register(Lower *lo, const char *name, TileValue *v);
bool lo_shape(Lower *lo, Expr *const *shape, int n, int *extents); /* constants, at most 3 */
void lo_block(Lower *lo, const Block *block);

/* held.c: what one branch gave a name in registers, for later ones under its condition */
void lo_hold_enter(Lower *lo); /* of an arm, which is the last of lo->arms by now */
/* Behind the if: names that an arm gave a value, which they had none of before; `ends` are the values at the ends of the arms, by
 * the places of their names. */
typedef struct ArmEnd {
    TileValue *reg;
    bool integer;
} ArmEnd;
void lo_hold_arms(Lower *lo, TileOp *branch, const ArmEnd *const *ends, int n_ends);
void lo_hold_no_more(Lower *lo, const char *name);
/* What a sum starts from of which a branch alone gave a part; NULL: none did. */
TileValue *lo_held_start(Lower *lo, const char *name);

/* stage.c: what shared memory holds */
void lo_set_shared(Lower *lo, const char *name, const Aff *stage, TileValue *v, int version);
void lo_stage_copied(Lower *lo, const char *name, Span loc);
void lo_stages_finish(Lower *lo); /* warns of those that nothing reads */
const Staged *lo_shared(Lower *lo, const char *name, const Aff *stage, Span span); /* NULL: none */
const Aff *lo_stage(Lower *lo, const Local *local, const Expr *e); /* e: NULL or the index */
/* Of a block that is entered as a loop's body; and what holds after it. */
void lo_enter_loop(Lower *lo, LowerLoop *loop);
void lo_leave_loop(Lower *lo, const LowerLoop *loop);
/* At the end of a loop's body: notes of the i-th tile that it writes how its turns do. */
void lo_end_turns(Lower *lo, const LowerLoop *loop, int i);
/* At the end of a branch: notes what its copies left in the stages of a tile, by the condition that they were made under. */
void lo_keep_branch(Lower *lo, const char *name, const Staged *before, const Staged *now, const Arm *arm);
/* What both arms of an if left in the same stages of a tile is there behind it: `ends` are what the stages held at the ends of
 * its arms, `before` what they held above it. */
void lo_join_arms(Lower *lo, TileOp *branch, const char *name, const Staged *before, const Staged *const *ends);
/* Without results of ifs that nothing reads; where the kernel ends. */
void lo_joined_finish(Lower *lo);
/* What of `before` still holds after one of two branches, which ended with `after`. */
const Staged *lo_staged_after(Lower *lo, const Staged *before, const Staged *after);

/* A part of a tile, X[rows, cols]; none: X. */
typedef struct Part {
    bool is_part;
    int row0, col0, rows, cols;
} Part;

/* operand.c */
/* X, X.shared, X_shared, X[i % 2], X[:, 0:256] and any of them .T */
typedef struct Ref {
    const char *name;
    Space space;         /* SPACE_NONE: any */
    const Expr *index;   /* NULL: none */
    bool transposed;
} Ref;
bool lo_ref(Lower *lo, const Expr *e, Ref *ref); /* false: something else */
const char *lo_base_name(Lower *lo, const char *name, Space *space); /* Q_shared: Q */
/* The part that the index selects of a tile with so many stages; false: diagnosed. */
bool lo_part(Lower *lo, const Local *local, const Expr *index, TileType whole, Part *part, const Aff **stage);
TileValue *lo_slice(Lower *lo, TileValue *v, const Part *part);
const Aff *lo_integer(Lower *lo, const Expr *e); /* an integer, computed ones included; NULL: none */
const Aff *lo_local_integer(Lower *lo, const char *name);
bool lo_is_param(const Lower *lo, const char *name);
TileValue *lo_param(Lower *lo, const char *name);
TileValue *lo_index(Lower *lo, const Aff *e); /* an integer that is not known when compiling, as a number */
const char *lo_fresh_symbol(Lower *lo, const char *name); /* as names of integers are unique in dumps */
/* For a coordinate or a counter of this kernel, whose name may be that of another kernel's dimension. */
const char *lo_counter_symbol(Lower *lo, const char *name);
TileValue *lo_operand(Lower *lo, const Expr *e);        /* in registers */
TileValue *lo_gemm_operand(Lower *lo, const Expr *e, bool *transposed);

/* place.c */
/* Where the statement's tile lies; shapes that it leaves out are the allocation's.
 * A vector lies as it was allocated. False: diagnosed. */
bool lo_place(Lower *lo, const Stmt *s, const TileType *allocated, Place *p);
Axis lo_place_axis(const Place *p, int d);
/* The operation's tensor, coordinates and condition; where: more of it, or NULL. */
void lo_place_set(Lower *lo, TileOp *op, const Place *p, const Aff *where);
/* cond without what already follows from the bounds of the view. */
const Aff *lo_place_drop_implied(Lower *lo, const Place *p, const Aff *cond);

/* position.c: conditions over row, col and what is uniform; NULL: diagnosed */
const Aff *lo_condition(Lower *lo, const Expr *e, Axis rows, Axis cols, int n_rows, int n_cols);
void lo_enter_frame(Lower *lo, const Frame *frame, const Expr *condition);
void lo_leave_frame(Lower *lo);
Frame lo_frame_of(Lower *lo, const TileValue *tile);
/* The position of the element at hand along a dimension; NULL: it has none, or two and
 * side does not say which. */
const Aff *lo_place_along(Lower *lo, const char *dim, IndexSide side);
const Aff *lo_free_name(Lower *lo, const Expr *e, Diags *diags); /* NULL: none */

/* element.c: elements of tensors */
const Aff *lo_element(void *user, const Expr *e, Diags *diags); /* an EvalEnv's callback */
/* A parameter of the launch where an integer is wanted; made where create is set. NULL: it is none. */
const Aff *lo_param_integer(Lower *lo, const char *name, bool create);
/* x where the condition holds, else the number. */
TileValue *lo_mask(Lower *lo, const Expr *e, TileValue *x, double otherwise);
/* A tile of what the expression gives for each element; NULL: diagnosed. */
TileValue *lo_defined(Lower *lo, const Expr *e, int rows, int cols);
/* What is the same for all elements, `1 / sqrt(N)`, `2 * p`: a tile of one. */
TileValue *lo_number(Lower *lo, const Expr *e);

/* zero.c: kernels that set to 0 what the program only adds to */
void lo_zero(TileProgram *program);

/* require.c: conditions on a launch, added to program->requires */
void lo_requirements(TileProgram *program);

/* unit.c: which maximum a tile is in units of */
void lo_unit_step(Lower *lo, const TileOp *softmax);
/* acc as a's softmax wants it, multiplied by its factor unless it is already. */
TileValue *lo_unit_accumulator(Lower *lo, TileValue *acc, const TileValue *a);
void lo_unit_accumulated(Lower *lo, const TileValue *sum, const TileValue *acc, const TileValue *a);
void lo_unit_element(Lower *lo, TileOp *op);
void lo_unit_rescale(Lower *lo, TileOp *op); /* the program's own factor, if it is one */
/* Before a block that may run several times, or not at all: what it accumulates from a
 * softmax before it is multiplied there. */
void lo_unit_settle(Lower *lo, const Block *block);
void lo_unit_param(Lower *lo, const TileOp *loop, int i, const TileValue *param); /* of what it carries, the i-th */
void lo_unit_loop(Lower *lo, const TileOp *loop, const LowerLoop *at, Span span); /* behind its body */
/* A copy that an operation made which changes nothing, `Add M, 0`: what it was made of. */
const TileValue *lo_without_zero(const TileValue *v);

/* running.c: warns of sums of exponentials that are not brought to a running maximum; behind a loop's body */
void lo_running_loop(Lower *lo, const TileOp *loop);
const char *lo_unit_factor(Lower *lo, const Stmt *branch, const char *state); /* NULL: it does not move the state */
void lo_unit_arm(Lower *lo, const char *factor, const TileValue *before, int first_step); /* at its end */
void lo_unit_close(Lower *lo, int first_step); /* behind both arms: the steps that they made */
void lo_unit_branch(Lower *lo, const TileOp *branch, int i, int first_step, Span span);
void lo_unit_branch_step(Lower *lo, const TileOp *branch, int state, int factor, const TileValue *before, int first_step);

/* define.c */
const Stmt *lo_find_define(const Lower *lo, const char *name); /* NULL: none */
void lo_inline(Lower *lo, const Stmt *define, const Stmt *s);

/* compute.c, copy.c, flow.c */
void lo_compute(Lower *lo, const Stmt *s);
void lo_reshape(Lower *lo, const Block *block, int at);
void lo_copy(Lower *lo, const Stmt *s);
void lo_allocate(Lower *lo, const Stmt *s);
void lo_for(Lower *lo, const Stmt *s);
void lo_if(Lower *lo, const Stmt *s);

#endif
