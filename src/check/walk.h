/* walk.h: the state that the files of the checker share; for this folder only.
 *
 * Vocabulary
 *   tensor   a name that stands for elements, in up to three memory spaces
 *   place    a tensor in one space: what is known of it at this statement
 *   extent   a size, as an expression, with the words it was written in and the
 *            dimension of a global tensor that it runs along
 *   tile     a place, or a part of it, as an operation sees it: rows and columns
 *   loose    of fragments and sketches: undeclared names are taken as given
 *   version  copies of a tensor that hold the same elements have the same one
 */
#ifndef TW_CHECK_WALK_H
#define TW_CHECK_WALK_H

#include "check/check.h"
#include "data/tensor.h"
#include "lang/eval.h"

enum { WALK_MAX_NESTING = 64, WALK_MAX_TENSORS = 4000 };

typedef struct Extent {
    const Aff *size;  /* NULL: unknown, agrees with everything */
    const char *text; /* as written; NULL: not written */
    const char *axis; /* dimension of the global tensor; NULL: unknown */
    const Aff *first; /* where along it the tile begins; NULL: unknown */
} Extent;

typedef enum Written { WRITTEN_NO, WRITTEN_MAYBE, WRITTEN_YES } Written;

/* How the elements of a register tile lie in the lanes. */
typedef enum Fragment {
    FRAG_FREE,        /* as the first use wants them */
    FRAG_UNKNOWN,     /* what made them could not be worked out: as any use wants them */
    FRAG_ACCUMULATOR, /* as a GEMM leaves its result: MMA_C */
    FRAG_OPERAND      /* as a GEMM wants its first operand: MMA_A */
} Fragment;

/* A softmax without a state, of a piece of a row, and the loop along the row. */
typedef struct Piece {
    const Stmt *softmax, *loop; /* NULL: none */
} Piece;

/* What changes as statements are walked; saved and merged around an if. */
typedef struct PlaceState {
    Written written;
    int version;
    Fragment fragment;
    bool exponentials;  /* as an online softmax leaves its tile */
    const Stmt *cast;   /* that made it, in registers; NULL: another statement */
    const Stmt *copied; /* what brought it from global memory; NULL: something else made it, or a part of it */
    Piece piece;        /* computed from it */
    int set_at;         /* moment of the last assignment (not accumulation) */
    int accumulated_at; /* moment of the last accumulation */
    const Stmt *accumulated_in[WALK_MAX_NESTING]; /* the loops round it */
    int accumulated_depth;
    bool masked;         /* by some condition, since it was computed */
    bool starts;         /* accumulated or the state of a softmax before anything set it */
    const Stmt *only_in; /* WRITTEN_MAYBE: the loop or the if that alone writes it */
    const Stmt *guessed_gemm; /* loose: a GEMM whose second operand has no known shape */
    bool guessed_streams;     /* and whose result went through a softmax */
} PlaceState;

typedef struct Place {
    bool exists;
    bool given; /* not declared: taken as given */
    Space space;
    Span span; /* its declaration */
    const Stmt *decl;
    int rank;
    Extent dims[TENSOR_MAX_RANK];
    bool has_dtype;
    DType dtype;
    bool is_input, is_output; /* global */
    bool was_copied_to;       /* global: by some Copy */
    int copies[2][SPACE_REGISTER + 1]; /* global: that the unit has of it to and from a space; 0: not counted yet */
    PlaceState now;
} Place;

typedef struct Named {
    const char *name;
    Place places[SPACE_REGISTER + 1];
    const Place *origin; /* of the tensor that some Copy gives this name to; NULL: none */
    const Aff *scalar; /* its value as an integer symbol, once asked for */
} Named;

typedef struct Tile {
    Extent rows, cols;
    bool vector;  /* written with one size: a column or a row, as it fits */
    bool unknown; /* nothing is known of its shape */
} Tile;

typedef struct Operand {
    const Expr *expr;
    bool is_number;
    bool transposed, part; /* part: a slice or a stage of the place */
    Named *tensor;         /* NULL: a number, or nothing that is known */
    Place *place;
    Tile tile; /* transposition applied */
} Operand;

typedef struct Axis { /* of the grid */
    const char *name;
    Span span;
    const AffSym *sym; /* NULL: extent 1 */
    const Aff *extent; /* NULL: unknown */
    const Expr *bound; /* where it is written */
} Axis;

typedef struct Loop {
    const Stmt *stmt;
    const AffSym *sym; /* NULL: unknown */
    int entered_at;
    const Aff *lo, *end; /* NULL: unknown */
} Loop;

/* A sum that grows in each turn of a loop, along a dimension of which each turn has a part. */
typedef struct Sum {
    const Stmt *loop;
    const Expr *dest;
} Sum;

/* A Copy to global memory. */
typedef struct Store {
    const Stmt *stmt;
    bool misses; /* under a condition that fails in some block */
    const Named *tensor;
    int n_arms;
    struct {
        const Stmt *stmt;
        bool orelse;
    } arms[WALK_MAX_NESTING];
} Store;

typedef struct Checker {
    Arena *arena;
    Syms *syms;
    AffCtx *aff;
    const Program *program;
    const Unit *unit;
    const CheckOptions *options;
    Diags *diags;
    Diags *late; /* said when nothing else is wrong: it may well follow from that */
    bool loose;
    bool sketch; /* loose, and stage 1b still adds each Reshape */
    EvalEnv env;
    VEC(EvalName) given; /* loose: integers taken as given */
    VEC(const char *) refused; /* numbers that no size can be, which was said */
    const AffSym *row, *col;
    bool of_elements; /* the condition at hand is about the elements of a tile */
    VEC(Named *) tensors;
    bool too_long;        /* which has been said: there are more of them than are taken */
    VEC(const Stmt *) defines;
    VEC(Axis) grid;
    VEC(Store) stores;
    VEC(Sum) sums;
    Loop loops[WALK_MAX_NESTING];
    int n_loops;
    Store path;           /* the ifs round the statement at hand */
    const Stmt *computing; /* the Compute at hand, or the last one */
    Piece piece;          /* what the statement at hand reads is computed from */
    const Stmt *top;      /* the statement of the unit's body that is walked */
    int moment;           /* counts statements */
    int versions;         /* handed out */
    const Stmt *schedule; /* NULL: none */
    bool reshape_missed;  /* a Reshape of what needs none was said to be wrong: the next product's operand was meant */
} Checker;

/* walk.c */
const char *source_text(const Checker *c, Span span);
/* A suggested edit that adds a line before a statement, indented like it. */
void fix_line_before(Checker *c, Diag *d, const Stmt *stmt, const char *line, const char *label);
/* One that moves the statement `late`, which stands further down in a line of its own, there. */
void fix_move_before(Checker *c, Diag *d, const Stmt *late, const Stmt *stmt, const char *label);
/* Likewise an earlier one, of the same block, behind it. */
void fix_move_behind(Checker *c, Diag *d, const Stmt *early, const Stmt *stmt, const char *label);
/* One that removes the statement. */
void fix_removal(Checker *c, Diag *d, const Stmt *stmt, const char *label);
/* Whether this was said of what begins there, late. */
bool late_said(const Checker *c, DiagCode code, Span span);
/* The statement to put a declaration before: the outermost one round the walk. */
const Stmt *walk_outermost(const Checker *c);

/* values.c: integers and numbers */
void values_start(Checker *c);
/* The declarations before the first statement that does something. */
int values_declare(Checker *c, const Block *body);
void values_assign(Checker *c, const Stmt *s);
/* The name of a dimension of an Input or an Output. */
bool check_is_size(const Checker *c, const char *name);
/* A number that values_declare left for later. */
bool values_late(const Checker *c, const Stmt *s);
/* The expression is made of a number that was refused as a size. */
bool values_refused(const Checker *c, const Expr *e);
void values_grid(Checker *c, const Stmt *s);
void values_loop(Checker *c, const Stmt *s);
const Aff *values_integer(Checker *c, const Expr *e);
void values_condition(Checker *c, const Expr *e);
/* One on the elements of a tile, where `j * BN + c` may have a letter for the place. */
void values_element_condition(Checker *c, const Expr *e);
/* e is a number: every name in it is one. Says which is not. */
bool values_number(Checker *c, const Expr *e);
Extent extent_of(Checker *c, const Expr *e);
Extent extent_one(Checker *c);

/* names.c: tensors */
Named *names_find(const Checker *c, const char *name);
Named *names_add(Checker *c, const char *name);
/* Q_shared, O_reg: the tensor and the space that the name's ending says; NULL: none. */
Named *names_suffixed(Checker *c, const char *name, Space *space);
void names_tensor(Checker *c, const Stmt *s); /* Input, Output */
void names_allocate(Checker *c, const Stmt *s);
/* Returns the tensor that is likely meant, or NULL. */
Named *names_undefined(Checker *c, const char *name, Span span);
Place *names_given(Checker *c, Named *tensor, Space space);
void names_unallocated(Checker *c, const char *name, Span span, Space space, const Tile *shape);

/* operand.c */
bool operand_read(Checker *c, const Expr *e, Operand *out); /* chooses among the copies */
bool operand_gemm(Checker *c, const Expr *e, bool second, Operand *out);
/* Where a result goes: a register tile. shape: the result's, for suggestions. */
bool operand_dest(Checker *c, const Expr *e, const Tile *shape, Operand *out);
const char *operand_name(const Operand *o); /* as written: K_shared */
/* Whether an index of a dimension, a stage, is one that there is. */
void operand_index(Checker *c, const Expr *e, const Aff *at, const Place *p, int dim);
/* A result that could not be worked out: counts as written, so that nothing
 * more is said of it. */
void operand_spoiled(Checker *c, const Expr *dest);
Tile tile_of(Checker *c, const Place *place);
const char *tile_text(Checker *c, const Tile *tile);

/* compute.c */
void check_compute(Checker *c, const Stmt *s);

/* gemm.c */
void check_gemm(Checker *c, const Stmt *s);
void check_reshape(Checker *c, const Stmt *s);
void gemm_note_softmax(Checker *c, Place *place);

/* shape.c */
bool extent_same(Extent a, Extent b); /* both known, and equal */
bool extent_is_one(Extent e);
/* Both known, and not equal; in loose units: whatever the given names are. */
bool extent_clashes(Checker *c, Extent a, Extent b);
bool shape_agrees(Checker *c, const Tile *a, const Tile *b);
bool shape_fits(Checker *c, const Operand *dest, const Tile *result);
bool shape_broadcast(Checker *c, const Operand *operands, int n, Tile *result);
/* Says of a row or column that it lies across the others: its elements go with theirs along the other dimension. */
bool shape_crosses(Checker *c, const Operand *operands, int n);
/* Dimensions of the launch that may have different sizes. */
bool extent_axes_differ(const Checker *c, Extent a, Extent b);
/* What a use says of a place that was taken as given; and where axes come from. */
void shape_learn(Operand *o, const Tile *tile);
bool shape_column(Checker *c, const Operand *state, const Operand *of);

/* copy.c */
void check_copy(Checker *c, const Stmt *s);

/* mask.c */
/* Returns whether the condition may be taken for a bound of the tile's columns. */
bool mask_check(Checker *c, const Expr *where, const Tile *tile, const char *name);
/* Whether a condition of sizes, blocks and turns holds for some of them, for sure: they are tried. */
bool mask_holds_somewhere(Checker *c, const Aff *condition);
/* Whether a condition leaves out what a tile holds beyond the end of its dimension, as far as is known. */
bool mask_leaves_out(Checker *c, const Expr *where, const Tile *tile);
void mask_ragged(Checker *c, const Stmt *s, const Operand *x); /* of a softmax */

/* position.c */
void position_beside(Checker *c, const Expr *where); /* a condition of a sketch, and the definition's */
void position_cancels(Checker *c, const Expr *where); /* one of code */

/* piece.c */
void piece_softmax(Checker *c, const Stmt *s, const Operand *x);
void piece_summed(Checker *c, const Operand *sum); /* it is accumulated to */
void piece_added(Checker *c, const Stmt *s, const Operand *operands, int n); /* or added to by hand */

/* early.c */
/* A product or a reduction, and what it sums over in its operands; b NULL: there is one. */
void early_sum(Checker *c, const Stmt *s, const Operand *a, const Extent *along_a, const Operand *b, const Extent *along_b);
bool early_begins_anew(const Stmt *loop, const char *sum); /* each turn sets it, so that none goes round */
void early_loop(Checker *c, const Stmt *loop); /* behind its statements */

/* dead.c */
void dead_finish(Checker *c);

/* whole.c */
void whole_check(Checker *c, const Block *block, int at);
/* repeat.c */
void repeat_check(Checker *c, const Block *block, int at);

/* same.c */
void same_check(Checker *c, const Stmt *loop);

/* state.c */
void state_finish(Checker *c);

/* cover.c */
/* coords: by dimension of the tensor, NULL where there is none. */
void cover_copy(Checker *c, const Stmt *s, Place *global, const Extent *shape, int n_shape,
                const Aff *const *coords, int n_coords);

/* dtype.c */
void dtype_known(Checker *c, const Stmt *s); /* to the target: of a declaration or Cast */
int dtype_mma_k(Checker *c, const Operand *a, const Operand *b); /* columns that an instruction takes */
void dtype_gemm(Checker *c, const Operand *a, const Operand *b, const Operand *dest);
void dtype_state(Checker *c, const Operand *o);
void dtype_sum(Checker *c, const Operand *dest); /* of an online softmax */
void dtype_copy(Checker *c, const Stmt *s, const Place *from, const Place *to);
void dtype_cast(Checker *c, const Stmt *s);

/* init.c */
void init_read(Checker *c, const Operand *o);
void init_write(Checker *c, Operand *o, Fragment fragment);
void init_accumulate(Checker *c, Operand *o, Fragment fragment);
PlaceState *init_save(Checker *c);
void init_restore(Checker *c, const PlaceState *saved, int n);
/* The state after one of two arms was taken. */
void init_merge(Checker *c, const Stmt *by, const PlaceState *other, int n);
void init_take_written(Checker *c, const PlaceState *other, int n); /* what the other branch alone writes */
void init_take_registers(Checker *c, PlaceState *saved, int n); /* as they are now: behind a loop that has a turn for sure */

/* output.c */
void output_store(Checker *c, const Stmt *s, Named *tensor, const Aff *const *coords, int n);
void output_finish(Checker *c);

/* capacity.c */
void capacity_finish(Checker *c);

#endif
