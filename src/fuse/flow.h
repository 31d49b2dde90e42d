/* flow.h: the flow graph of a kernel; for this folder only.
 *
 * Vocabulary
 *   axis    how a tile covers a dimension: ROWS and COLS are tiled over blocks,
 *           STREAM is tiled over the steps of a loop, WHOLE is kept whole, ONE
 *           has size 1 (or is broadcast)
 *   node    a tile: a value of the definition seen along a row and a column axis
 *   root    outside of loops; a node that varies along a STREAM axis, or is made
 *           of one that does, is `in` that stream, unless it reduces it
 *   level   how many loops must have run before a root node exists; of a node
 *           in a stream: the first pass over the stream that can compute it
 *   form    a node in a stream as a sum of tiles times factors, factors being
 *           row constants that a linear consumer applies after its loop
 *   gauge   exp(x - running maximum of x's rows): what the online softmax leaves
 *           in place of x. Right only where it is accumulated, since the
 *           accumulator is rescaled whenever the maximum grows
 *
 *   softmax(S) over a stream   =   gauge(S) / sum        one term, one factor
 *   GEMM softmax(S), V         =   (GEMM gauge(S), V, accumulated) / sum
 *
 * A loop is a pair of stream and pass. Its body is whatever the reductions of
 * that pass need; a tile that two passes need is computed in both.
 */
#ifndef TW_FUSE_FLOW_H
#define TW_FUSE_FLOW_H

#include "fuse/fuse.h"

typedef enum AxisKind { AXIS_ONE, AXIS_ROWS, AXIS_COLS, AXIS_WHOLE, AXIS_STREAM } AxisKind;

typedef struct Axis {
    AxisKind kind;
    DefDim dim;
    const char *var;  /* STREAM: the loop variable */
    bool named_here;  /* the definition gives a number; the sketch needs a name */
    int id;
} Axis;

typedef enum NodeKind {
    NODE_LOAD,      /* a tile of an input */
    NODE_OP,        /* elementwise, mask, cast, define, fill, a reduction of whole rows */
    NODE_PRODUCT,   /* GEMM of whole operands */
    NODE_SHARED,    /* a computed tile put into shared memory */
    NODE_GAUGE,     /* args[0] becomes exp(args[0] - running maximum) */
    NODE_SUM,       /* after the loop: GEMM args[0], args[1] accumulated over a stream */
    NODE_REDUCE,    /* after the loop: row reduction of args[0], over a stream */
    NODE_STATE_MAX, /* after the loop: the maximum of gauge args[0]; */
    NODE_STATE_SUM, /* and the sum of its rows */
    NODE_COMBINE,   /* after the loop: args[0] of all parts, added, or the largest or smallest */
    NODE_STORE      /* args[0] to an output */
} NodeKind;

typedef struct Node Node;

/* An operand: a tile, or a number. */
typedef struct Operand {
    Node *node;       /* NULL: a number */
    bool transposed;
    const Expr *number;
} Operand;

struct Node {
    NodeKind kind;
    int id;
    DefValue *value;        /* what it is a tile of; NULL: an auxiliary */
    const char *name;       /* wanted */
    const Axis *row, *col;
    const Axis *stream;     /* the stream that it is in; NULL: root */
    int level;

    OpId op;                /* OP, REDUCE */
    Operand args[3];
    int n_args;
    const DefOp *source;    /* MASK, DEFINE: where its condition or expression stands */
    bool has_else;
    double otherwise;       /* DIVIDE, MASK */
    DType cast;

    const Node *gauge;      /* made of this gauge: fit for accumulation only */
    bool in_shared, in_register; /* LOAD: copies that are wanted */

    int place;              /* root: printed before the loops of this level */
    int uses;               /* order.c, write.c: uses not printed yet */
    const char *spelled;    /* write.c: the name that it got */
};

typedef struct Factor {
    Operand by;
    bool divide;
    bool has_else;
    double otherwise;
} Factor;

enum { FORM_TERMS = 4, FORM_FACTORS = 8 };
enum { FLOW_DEPTH = 4000, FLOW_NODES = 4000 }; /* what a definition of as many operations as there may be takes, mostly */

typedef struct Term {
    Node *tile;
    bool negative;
    Factor factors[FORM_FACTORS];
    int n_factors;
} Term;

typedef struct Form {
    Term terms[FORM_TERMS];
    int n; /* 0: there is none, a diagnostic was recorded */
} Form;

typedef struct Memo {
    const DefValue *value;
    const Axis *row, *col;
    bool linear;
    const Form *form;
} Memo;

/* What is known of a value before any axis is chosen; by value id. */
typedef struct ValueFacts {
    bool gemm;    /* there is a GEMM at or below it */
    bool splits;  /* computing it in tiles of columns repeats no GEMM */
    bool gauge;   /* a softmax of it, or exp(it - row constant), is taken */
    bool columns; /* what columns come to is needed for it */
    bool visited;
} ValueFacts;

typedef struct Flow {
    Arena *arena;
    Syms *syms;
    const Def *def;
    Diags *diags;
    VEC(Axis *) axes;
    const Axis *one, *rows, *cols; /* cols: of the outputs' last dimension, any kind */
    VEC(Node *) nodes;
    VEC(Memo) memos;
    VEC(Node *) stores;
    VEC(DefDim) streamed; /* dimensions that a root GEMM streams */
    ValueFacts *facts;
    int depth;
    bool failed;

    const char *cols_alias_of;    /* rows and cols follow dimensions of one name, this; cols has another here */

    /* of a kernel among several (split.c) */
    const char *kernel;           /* its name; NULL: the definition's, and it is alone */
    bool repeat;                  /* blocks are spread over columns even if each computes the same products */
    const Axis *parts;            /* the axis over the parts that loops are cut into */
    bool shared_loops;            /* its blocks each do one part of its loops */
    bool same_rows, same_cols;    /* its blocks are not spread over the outputs' */
    VEC(DefValue *) workspaces;   /* what it hands on or takes over */
} Flow;

/* ---- fuse.c ---------------------------------------------------------------- */

/* The kernels of a flow that has its definition. NULL: a diagnostic was recorded. */
Program *flow_program(Flow *flow, int parts);

/* ---- remake.c -------------------------------------------------------------- */

/* A definition that is made of another one, operation by operation. */
typedef struct Remade {
    Arena *arena;
    const Def *from;
    Def *def;
    Unit *unit;      /* the new one's: statements may be added, and replaced */
    DefValue **made; /* by id of a value of `from` */
} Remade;

/* All but the operations. */
Remade flow_remake(Arena *arena, const Def *from);
/* The next operation is that of `from`; returns it as it is in the new one. */
DefOp *flow_keep_op(const Remade *r, const DefOp *op);
/* What the operation took is what it gives: its result, an output included, becomes that. */
void flow_drop_op(const Remade *r, const DefOp *op);
/* Whether products round their operands to what they did, where values became inputs: what a
 * Define gives has no type of its own, while an input has. All operations must be kept ones. */
bool flow_rounds_alike(const Remade *r);

/* ---- spell.c --------------------------------------------------------------- */

/* The definition with formulas as operations (formula.c), and operations on whole tensors as operations on
 * elements and rows, where that is known how; itself, where it has none. */
const Def *flow_spell(Arena *arena, Syms *syms, const Def *written);

/* places.c: the definition with integers for all but one of the numbers that say where an element is; itself, where one does at most. */
const Def *flow_whole_places(Arena *arena, Syms *syms, const Def *def);
/* base.c: the definition with powers of two of what is left of rows' largest as exponentials; itself, where it has none. */
const Def *flow_in_natural_base(Arena *arena, const Def *def);

/* ---- formula.c ------------------------------------------------------------- */

/* The definition with formulas over elements of what it computes, where these stand at the place of the
 * element that is defined or masked, as operations; itself, where it has none. */
const Def *flow_spell_formulas(Arena *arena, Syms *syms, const Def *def);
/* The value that an expression of the operation is an element of; NULL: it is none. */
const DefValue *flow_read_value(const DefOp *op, const Expr *e);
/* The value of which this is the element at the operation's own place; NULL: it is read elsewhere, or this is no element. */
const DefValue *flow_own_element(const Def *def, const DefOp *op, const Expr *e);

/* ---- same.c ---------------------------------------------------------------- */

/* Whether an operation gives a value the shape that it has. */
bool flow_is_same(const DefOp *op);
/* The definition without such; itself, where there are none. */
const Def *flow_drop_same(Arena *arena, const Def *def);

/* ---- compose.c ------------------------------------------------------------- */

/* The definition with accesses of accesses of inputs as accesses of these; itself, where it has none. */
const Def *flow_compose(Arena *arena, const Def *def);

/* ---- unnamed.c ------------------------------------------------------------- */

/* The definition with names for sizes of what is seen of inputs; itself, where all have some. */
const Def *flow_name_sizes(Arena *arena, Syms *syms, const Def *def);

/* ---- reshape.c ------------------------------------------------------------- */

/* The definition with tensors in the shape that their rows are reduced in; itself, where there are none. */
const Def *flow_reshape(Arena *arena, Syms *syms, const Def *def);

/* ---- turn.c ------------------------------------------------------------------ */

/* The definition with products that are taken the other way around made so; itself, where there are none. */
const Def *flow_turn(Arena *arena, const Def *def);

/* ---- elsewhere.c ----------------------------------------------------------- */

/* Whether a product has the value among what it is made of. */
bool flow_feeds_products(const Def *def, const DefValue *value);

/* What is read by elements that are worked out. */
typedef struct ElementReads {
    const Def *def;
    VEC(DefRead) list;
    bool ambiguous; /* some of it has a name that means something else as well */
} ElementReads;

/* One number for each row, or each column, of what it is combined with. */
bool flow_is_vector(const DefValue *value);
/* Whether a value is made of inputs, and of a number for each row or column, element by element, in few steps. */
bool flow_is_made_by_element(const DefValue *value);
/* An element of such a value, at these coordinates. */
Expr *flow_element(ElementReads *reads, const DefValue *value, Expr *const *at);
/* where(condition, a, b) */
Expr *flow_choice(Arena *arena, Expr *condition, Expr *a, Expr *b);

typedef VEC(int) Readers; /* ids of the values whose formulas they are */

/* The definition with elements that formulas read at other places than their own worked out where they are read, of values that
 * are made element by element; itself, where there are none. Not of what products take; and of that alone. */
const Def *flow_read_elsewhere(Arena *arena, const Def *def);
const Def *flow_read_for_products(Arena *arena, Syms *syms, const Def *def, Readers *readers);

/* ---- permute.c ------------------------------------------------------------- */

/* A tensor that the definition sees with its dimensions in another order, or as a column. */
typedef struct PermutedTensor {
    const char *tensor, *seen;
    int rank;            /* of what is seen */
    int axes[8];         /* by dimension of the tensor: which of what is seen it is, of the last one if two are joined there */
    int joined, with;    /* which of what is seen lies with which in one of the tensor; -1: none */
    DefDim sides[2];     /* these two */
    const char *names[2]; /* of these two, if the second one is the columns, else of the places of blocks along them */
    int missing;         /* which of what is seen the tensor has not, since it is 1; -1: none */
    bool output;
    DType dtype;
    Expr *by;             /* in a Kernel, of entries below each other: how many each of them has, */
    const char *together; /* and a name for all */
} PermutedTensor;

typedef VEC(PermutedTensor) Permuted;

/* Which dimension of a value a position goes along; -1: none, -2: it does not say which of several. */
int flow_axis_along(const Def *def, const DefValue *value, const DefIndex *index);
/* Of which dimension of a value a coordinate is its element's own place; -1: of none. */
int flow_own_axis(const Def *def, const DefValue *value, const Expr *coordinate);
/* The definition with what is seen for inputs and outputs; itself, where there is none. */
const Def *flow_unpermute(Arena *arena, const Def *def, Permuted *list);
/* Gives the Kernels of such a definition its tensors as they lie. */
void flow_put_back(Arena *arena, const Def *def, Program *program, const Permuted *list);

/* ---- divide.c ------------------------------------------------------------------ */

/* The definition with products of parts for parts of products; itself, where there are none. */
const Def *flow_divide(Arena *arena, const Def *def);

/* ---- view.c ------------------------------------------------------------------ */

/* A part of an input, or an entry of it, that products take as a tensor of its own. */
typedef struct View {
    const DefValue *tensor;
    const DefValue *seen;
    const char *name; /* of what is seen */
    Expr **shape;  /* of the tensor, as declared */
    int axes[8];   /* by dimension of the tensor: which of what is seen runs along it; -1: none does */
    Expr *at[8];   /* by dimension: which entry, or which part of the last one; NULL: it is seen whole */
    bool told;     /* entries are of each row: told.c */
} View;

typedef struct Views {
    VEC(View) list;
    VEC(const Stmt *) indices; /* positions that coordinates name */
} Views;

/* Whether a part of so many rows or columns can be tiles of its tensor. */
bool flow_is_tile_width(int64_t width, DType dtype);
/* The definition with what is seen for inputs; itself, where there is nothing. */
const Def *flow_view(Arena *arena, Syms *syms, const Def *def, Views *views);
/* Gives the Kernels of such a definition its tensors. False: their tiles cannot be copied so. */
bool flow_unview(Arena *arena, const Def *def, Program *program, const Views *views);

/* ---- axes.c ---------------------------------------------------------------- */

const Axis *flow_axis(Flow *flow, AxisKind kind, DefDim dim);
bool flow_same_dim(DefDim a, DefDim b);
/* Whether blocks can be spread over the rows of both. Where rows of one number have other names, positions tell them apart. */
bool flow_same_rows(const DefValue *a, const DefValue *b);
bool flow_is_one(DefDim dim);
/* Known when compiling and small enough for a row of it to live in registers. */
bool flow_is_small(const Flow *flow, DefDim dim);
/* Whether a product outside of other streams sums along it. */
bool flow_is_streamed(const Flow *flow, DefDim dim);
/* Dimensions of a value's tile, size 1 where it has too few. */
DefDim flow_rows(const Flow *flow, const DefValue *value);
DefDim flow_cols(const Flow *flow, const DefValue *value);
/* The axis that a GEMM contracts along; root: its result is in no stream. */
const Axis *flow_contracted(Flow *flow, const DefOp *gemm, bool root);
/* The axis that a row reduction or softmax of a value runs along. */
const Axis *flow_reduced(Flow *flow, const DefValue *value, bool root);
/* Chooses rows and cols from the outputs. */
bool flow_choose_axes(Flow *flow);
/* Once the graph is built: no tile holds all of a dimension that the flow itself takes for long. */
bool flow_fits_whole(Flow *flow);

/* ---- lookup.c -------------------------------------------------------------- */

/* Whether elements are read where elements say that differ within a tile, for each element anew, not for each row or column. */
bool flow_looks_up_each(const Flow *flow, const DefOp *op);
bool flow_has_products(const Flow *flow);

/* ---- graph.c --------------------------------------------------------------- */

Node *flow_node(Flow *flow, NodeKind kind, const Axis *row, const Axis *col);
/* Completes stream and level from the operands; NULL on failure. */
Node *flow_finish(Flow *flow, Node *node);
Node *flow_op(Flow *flow, OpId op, const char *name, Operand a, Operand b);
Operand flow_tile_operand(Node *node);
Operand flow_number(const Expr *number);
Diag *flow_fail(Flow *flow, DiagCode code, const DefValue *value, const char *fmt, ...) TW_PRINTF(4, 5);

/* Axes of an operand that is broadcast against the result's axes. */
const Axis *flow_broadcast_rows(Flow *flow, const DefOp *op, const DefValue *operand, const Axis *row);
const Axis *flow_broadcast_cols(Flow *flow, const DefOp *op, const DefValue *operand, const Axis *col);
Operand flow_scalar(Flow *flow, const DefOp *op, int arg);
const Form *flow_recall(Flow *flow, const DefValue *value, const Axis *row, const Axis *col, bool linear);
void flow_remember(Flow *flow, const DefValue *value, const Axis *row, const Axis *col, bool linear,
              const Form *form);
/* Enters a level of recursion; false, with a diagnostic, when there are too many. */
bool flow_enter(Flow *flow, const DefValue *value);

/* The tile of a value along two axes. NULL: a diagnostic was recorded. */
Node *flow_tile(Flow *flow, DefValue *value, const Axis *row, const Axis *col);
/* Builds the graph of all outputs. */
bool flow_build(Flow *flow);
/* What a GEMM's operand is rounded to. */
DType flow_operand_dtype(const Def *def, const DefOp *gemm, int operand);

/* ---- linear.c --------------------------------------------------------------- */

/* The value as a form, for a consumer that is linear in it. NULL: a diagnostic
 * was recorded. */
const Form *flow_form(Flow *flow, DefValue *value, const Axis *row, const Axis *col);
const Form *flow_one_term(Flow *flow, Node *tile);
/* The sum over all terms of parts[i], which stands for the term's tile, times
 * the term's factors; after the loop. */
Node *flow_combine(Flow *flow, const Form *form, Node *const *parts, const char *name);
/* The gauge that stands for exp(value - row constant) or softmax(value). */
Node *flow_gauge(Flow *flow, DefValue *value, const Axis *row, const Axis *col);
Node *flow_state(Flow *flow, NodeKind kind, Node *gauge);

/* ---- order.c: nodes in sequence --------------------------------------------------- */

typedef struct Loop {
    const Axis *stream;
    int level;
    VEC(Node *) body; /* nodes in the stream and what they reduce to, by id */
} Loop;

typedef struct Order {
    VEC(Node *) root; /* by place, then by id; the loops of a level stand after its place */
    VEC(Loop) loops;  /* by level */
    int levels;
} Order;

Order *flow_order(Flow *flow);
bool flow_reduces(const Node *node);

/* ---- items.c: statements in sequence, without names -------------------------------- */

typedef enum ItemKind {
    ITEM_TO_SHARED,   /* Copy from global to shared */
    ITEM_TO_REGISTER, /* Copy from global to register */
    ITEM_UNSHARE,     /* Copy from shared to register */
    ITEM_FILL,        /* the identity of a running reduction */
    ITEM_LOOP,
    ITEM_END,
    ITEM_COMPUTE      /* whatever else a node is */
} ItemKind;

typedef struct Item {
    ItemKind kind;
    Node *node;
    const Loop *loop; /* that it stands in (of LOOP and END: that it is); NULL: root */
} Item;

typedef struct Items {
    VEC(Item) list;
} Items;

Items *flow_items(Flow *flow, const Order *order);
/* Whether its tile has several rows and columns. */
bool flow_is_matrix(const Node *node);
/* Whether a node's tile is read after item `at`. */
bool flow_used_later(const Items *items, const Node *node, int at);

/* ---- split.c: several kernels ------------------------------------------------------ */

/* The program that does each loop in so many parts, in blocks of their own, and
 * combines them in later kernels. NULL: a diagnostic was recorded. */
Program *flow_split(Flow *flow, int parts);
/* Whether blocks are spread over other axes for one output than for another;
 * then each of these has a kernel, which shares nothing with the others. */
bool flow_stores_differ(const Flow *flow);
Program *flow_apart(Flow *flow);

/* ---- header.c: declarations ----------------------------------------------------------- */

/* Names for the numbers that blocks and loops go over. */
bool flow_name_axes(Flow *flow);
/* A dimension's name in the sketch; NULL: none. */
/* What a tensor's second-last (or last) dimension is called: a name of its own, or that of the axis that it
 * follows; NULL: neither has one. */
const char *flow_name_along(const Flow *flow, const DefValue *value, DefDim dim, bool rows);
const char *flow_dim_name(const Flow *flow, DefDim dim);
/* Whether the tensor is declared with the other name of the columns' dimension: all its
 * tiles follow that there, along their rows or columns. */
bool flow_has_alias(const Flow *flow, const DefValue *value, bool rows);
void flow_header(Flow *flow, Block *body);
/* A name like `wanted` that means nothing yet. */
const char *flow_fresh(const Flow *flow, const char *wanted);
/* Integer expressions print as TL: as one of it. NULL: not this one. */
Expr *flow_written(Arena *arena, Syms *syms, const Aff *a);
/* A dimension as the sketch writes it; NULL: it has neither a name nor a value. */
Expr *flow_dim_expr(const Flow *flow, DefDim dim);
/* Its value, whatever names there are for rows or columns of as many; NULL: it is made of nothing that is known. */
Expr *flow_size_expr(const Flow *flow, DefDim dim);
/* Names that mean something else than a tile. */
bool flow_reserves(const Flow *flow, const char *name);

/* ---- write.c: items with names ---------------------------------------------------------- */

/* Gives every loop its variable. */
void flow_name_loops(Flow *flow);
/* NULL: a diagnostic was recorded. */
Unit *flow_write(Flow *flow, const Order *order);

/* ---- sketch.c: sketches that are rewritten ------------------------------------------------ */

/* A name like `wanted` that means nothing yet. */
const char *sketch_fresh(Arena *arena, const Def *def, const Unit *unit, const char *wanted);
bool sketch_is_product(const Stmt *s);
/* The tile that an operand is all of, in some space, or transposed; NULL: it is none. */
const char *sketch_operand(const Expr *operand);
/* The sketch with each Kernel as `rewritten` gives it; NULL: all are to stay as they are, for which that gives NULL. */
Program *sketch_rewritten(Arena *arena, const Def *def, const Program *sketch, Unit *(*rewritten)(Arena *, const Def *, const Unit *));

#endif
