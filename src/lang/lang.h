/* lang.h: TL, the Thinking Language: syntax tree, parser, printer, tables.
 *
 * One grammar serves all artefacts. A source holds units, each an
 * `Operator NAME ... end` (a definition: mathematics on whole tensors), a
 * `Kernel NAME ... end` (a sketch or code: the flow through a GPU), or bare
 * statements (a fragment, as in the paper's listings).
 *
 *   Operator softmax_gemm               Kernel softmax_gemm
 *     Input  Q (b, len, D)                Input Q (b, len, D) bf16
 *     ...                                 D = 128            # value known: assignment
 *     Param  scale = 1 / sqrt(D)          BM = 64
 *     Index  q over len                   Grid m = ceil(len / BM), z = b
 *     Compute GEMM Q, K.T and get S       Allocate Q in shared (BM, D)
 *     Compute Softmax S and get P         Copy Q (BM, D) in coordinate [b = z, len = m] from global to shared
 *   end                                   for j = 0:ceil(len / BN) ... end
 *                                       end
 *
 * A sketch is a Kernel without sizes and coordinates; its grid says only which
 * dimensions are spread over blocks (`Grid over len, b`), its loops only which
 * dimension they stream (`for j over kv_len`).
 *
 * Parsing is liberal about what writers get wrong without harm (case of
 * keywords, code fences, prose between fenced blocks, coor/coordinate,
 * `i = 0:N` or `i in 0:N` with an optional colon at the end, missing `new`)
 * and strict about meaning. Names keep their case.
 */
#ifndef TW_LANG_H
#define TW_LANG_H

#include "base/base.h"

/* ---- operations ---------------------------------------------------------- */

/* How an operation computes; decides what the checker, the fuser and the
 * lowering do with it. */
typedef enum OpClass {
    OPC_ELEMENT,    /* elementwise with broadcasting; arity 1, 2 or 3 */
    OPC_ROW_REDUCE, /* a tile's rows to a column vector (R, 1) */
    OPC_COL_REDUCE, /* a tile's columns to a row vector (1, C) */
    OPC_GEMM,
    OPC_SOFTMAX,    /* of rows; with two state names: the online form */
    OPC_MASK,       /* Mask X where cond [else v]: v (default -inf) where cond is false */
    OPC_FILL,       /* Fill X, v */
    OPC_CAST,       /* Cast X, dtype */
    OPC_DEFINE,     /* Define X (shape) as expr: an element from its coordinates */
    /* on whole tensors, in definitions alone: */
    OPC_GROUP_REDUCE, /* groups of consecutive entries along a dimension */
    OPC_REARRANGE,  /* elements move, none is computed */
    OPC_SELECT      /* which elements of a dimension are the largest */
} OpClass;

/* One row an operation in ops.def: OP(id, name, class, arity, c_expr, help).
 * c_expr gives an element's value from doubles a, b, c; a reduction's step from
 * accumulator a and element b. */
typedef enum OpId {
#define OP(id, name, class, arity, expr, help) OP_##id,
#include "lang/ops.def"
#undef OP
    OP_COUNT
} OpId;

typedef struct OpInfo {
    const char *name; /* canonical spelling, as in `Compute NAME` */
    OpClass class;
    int arity;
    const char *help;
} OpInfo;
const OpInfo *op_info(OpId op);
bool op_is_exponential(OpId op);                /* of each element, to any base */
bool op_is_whole(OpId op);                      /* works on whole tensors alone, so in definitions */
bool op_find(const char *name, OpId *op);       /* case-insensitive, knows synonyms */
bool op_same_letters(const char *name, const char *op); /* but for underscores in the name, and whatever their case */
const char *op_nearest(const char *name);       /* a likely meant name, or NULL */
/* How to write what a word means that is no operation, but is often taken for one; or NULL. */
const char *op_hint(const char *name);
double op_eval(OpId op, double a, double b, double c); /* OPC_ELEMENT and reduce steps */
double op_identity(OpId op);                    /* neutral element of a reduction */

/* ---- expressions ----------------------------------------------------------- */

typedef enum ExprKind {
    EXPR_INT, EXPR_FLOAT, EXPR_NAME,
    EXPR_UNARY,     /* - a, not a */
    EXPR_BINARY,
    EXPR_CALL,      /* f(args): min max ceil floor sqrt exp log abs row col ... */
    EXPR_INDEX,     /* base[args]: an element, a slice or a stage */
    EXPR_TRANSPOSE, /* base.T */
    EXPR_SPACE,     /* base.shared, base.register, base.global */
    EXPR_RANGE,     /* lo:hi, either may be NULL (`:`) */
    EXPR_ELLIPSIS,  /* ... */
    EXPR_WORDS      /* a condition in plain words (sketches only) */
} ExprKind;

typedef enum ExprOp {
    EO_NEG, EO_NOT,
    EO_ADD, EO_SUB, EO_MUL, EO_DIV /* real */, EO_IDIV /* floor: `div` or `//` */, EO_MOD, EO_POW,
    EO_LT, EO_LE, EO_GT, EO_GE, EO_EQ, EO_NE, EO_AND, EO_OR
} ExprOp;

typedef enum Space { SPACE_NONE, SPACE_GLOBAL, SPACE_SHARED, SPACE_REGISTER } Space;
const char *space_name(Space space);

typedef struct Expr {
    ExprKind kind;
    Span span;
    ExprOp op;          /* UNARY, BINARY */
    int64_t i;          /* INT */
    double f;           /* FLOAT (also inf: written `inf`) */
    const char *name;   /* NAME, CALL; WORDS: the text */
    Space space;        /* SPACE */
    struct Expr *a, *b; /* operands; base of INDEX/TRANSPOSE/SPACE in a; RANGE lo, hi */
    struct Expr **args; /* CALL, INDEX */
    int n_args;
    int depth;          /* height of the tree; the parser keeps it below LANG_MAX_DEPTH */
} Expr;

/* How deep expressions and, apart from them, blocks may nest in a source. */
enum { LANG_MAX_DEPTH = 200 };

/* ---- statements -------------------------------------------------------------- */

typedef enum StmtKind {
#define STMT(id, keyword, help, in_definition, in_sketch, in_code) STMT_##id,
#include "lang/stmts.def"
#undef STMT
    STMT_COUNT
} StmtKind;

typedef struct Stmt Stmt;
typedef struct Block {
    Stmt **data;
    int len, cap;
    const char *comment; /* comment lines behind the last statement; NULL: none */
} Block;

/* [L = i, K = k] or positional [b, h, i]: name NULL. */
typedef struct Coord {
    const char *name;
    Span span;
    Expr *value;
} Coord;

typedef enum ResultKind {
    RESULT_NONE,       /* the statement works in place (Softmax S with M and L; Mask S ...) */
    RESULT_GET,        /* and get X: X becomes the value */
    RESULT_GET_NEW,    /* and get new X: X, which exists, is replaced */
    RESULT_ACCUMULATE  /* and accumulate X */
} ResultKind;

struct Stmt {
    StmtKind kind;
    Span span;          /* the statement; of FOR, IF and DEFINE its first line */
    const char *comment;/* comment lines above, joined by \n, an empty one being a blank line; NULL: none */
    bool gap;           /* a blank line stands above (the comment) */
    const char *name;   /* declared, copied or assigned name; loop variable; schedule target */
    Span name_span;
    Expr *target;       /* COPY: the thing copied where it is more than a name (X[...]) */
    const char *as;     /* COPY: the name that the elements get where they go; NULL: the one that they had */
    Span as_span;
    bool listed;        /* one of several behind commas, `Allocate Q, K in ...`, which begin at: */
    int list_start;

    /* INPUT OUTPUT ALLOCATE COPY: shape; RESHAPE: the `from` shape; DEFINE: its
     * parameters; COMPUTE: the result's shape (`and get KB (a, b)`, `Define M (a, b)`) */
    Expr **shape; int n_shape; bool has_shape;
    Expr **to_shape; int n_to_shape;      /* RESHAPE */
    bool has_dtype; DType dtype; Span dtype_span;
    Space space;        /* ALLOCATE; COPY: from */
    Space to_space;     /* COPY */
    Expr *offset;       /* ALLOCATE ... with offset e */
    Coord *coords; int n_coords;          /* COPY; GRID: name = extent (code) or name alone (sketch) */
    Expr *stage;        /* COPY ... [stage = e] */
    Expr *value;        /* PARAM LET ASSIGN (also a schedule's lines): right-hand side or NULL; INDEX: from;
                         * COMPUTE: as expr */
    const char *over;   /* INDEX over DIM; FOR j over DIM (sketch); COMPUTE over DIM */
    Span over_span;
    Expr *lo, *hi;      /* FOR i = lo:hi */
    Expr *where;        /* COPY, COMPUTE: condition; IF: condition */
    Expr *otherwise;    /* ... else v */

    /* COMPUTE */
    OpId op; Span op_span;
    const char *op_name;                  /* as written; a user-defined operation when not in the table */
    bool op_known;
    Expr **args; int n_args;              /* `Define M (a, b) as e`: args[0] is M; `Cast X, fp16`: args[1] is
                                           * the name, dtype is set where it names one */
    Expr **with; int n_with;              /* with Smax and Ssum */
    Expr *empty_rows;                     /* with empty rows v: what a row without live elements gives */
    Expr *to, *by, *step;                 /* over DIM [to DIM2] by e step e */
    ResultKind result;                    /* COPY: RESULT_ACCUMULATE adds atomically */
    Expr *dest;                           /* NAME, INDEX (slice) or SPACE */

    Block body, orelse; /* FOR, IF, DEFINE, SCHEDULE */
};

typedef enum UnitKind { UNIT_OPERATOR, UNIT_KERNEL, UNIT_FRAGMENT } UnitKind;

typedef struct Unit {
    UnitKind kind;
    const char *name;   /* "" for a fragment */
    Span span, name_span;
    int end;            /* offset of its `end`; of the text's end where that is missing */
    const char *comment;
    Block body;
} Unit;

typedef struct Program {
    const Source *source;
    VEC(Unit *) units;
    const char *comment; /* comment lines behind the last unit; NULL: none */
} Program;

/* Parses a source. Always returns a tree of what was understood; whether it is
 * whole is diags->errors == 0. Recovers at line ends. */
Program *lang_parse(Arena *arena, Syms *syms, const Source *source, Diags *diags);

/* Canonical text; parses back to an equal tree. */
void lang_print(Str *out, const Program *program);
void lang_print_unit(Str *out, const Unit *unit);
void lang_print_stmt(Str *out, const Stmt *stmt, int indent);
void lang_print_expr(Str *out, const Expr *expr);

/* Whether two trees mean the same (spans and comments aside). */
bool expr_equal(const Expr *a, const Expr *b);
bool stmt_equal(const Stmt *a, const Stmt *b);
bool unit_equal(const Unit *a, const Unit *b);
/* The Input or Output of this name, which may be NULL, that the unit declares; NULL: none. */
const Stmt *unit_tensor(const Unit *unit, const char *name);
bool unit_has_dimension(const Unit *unit, const char *name); /* of some Input or Output */
bool unit_has_size(const Unit *unit, const char *name); /* whether a size of its Inputs and Outputs is made of it */
/* The first statement of this kind, and of this name, which may be NULL, that a block has, not within another; NULL: none. */
const Stmt *block_find(const Block *block, StmtKind kind, const char *name);
bool block_multiplies(const Block *block); /* whether there is a product in it, or in its loops */
/* The coordinate, or the axis of a grid, of this name; NULL: none. */
const Coord *stmt_coord(const Stmt *s, const char *name);
/* The condition on the elements of a tile that a Mask, a Where or a Copy has, and what a Mask or a Where chooses from by it; NULL: none. */
const Expr *stmt_condition(const Stmt *s);
const Expr *stmt_chosen_from(const Stmt *s);
/* The Index of this name that the unit declares; NULL: none. */
const Stmt *unit_index(const Unit *unit, const char *name);
bool program_equal(const Program *a, const Program *b);

/* Whether an expression, which may be NULL, is a name, or has it anywhere. */
bool expr_is_name(const Expr *e, const char *name);
bool expr_is_one(const Expr *e); /* the number 1 */
bool expr_is_condition(const Expr *e); /* a comparison, or what `and`, `or` and `not` make of some */
bool expr_mentions(const Expr *e, const char *name);
/* The name of which an expression, which may be NULL, is a part, transposed, or in some space; NULL: of none. */
const char *expr_base_name(const Expr *e);
/* Whether all names in an expression, which may be NULL, pass a test. */
typedef bool NameTest(const void *user, const char *name);
bool expr_names_all(const Expr *e, NameTest *test, const void *user);
/* Whether an expression, which may be NULL, or one that it is made of, passes a test. */
typedef bool ExprTest(const void *user, const Expr *e);
bool expr_any(const Expr *e, ExprTest *test, const void *user);
/* Whether an expression of the block's statements, or of those within them, does, or one goes over it. */
bool block_mentions(const Block *block, const char *name);
/* Whether an expression reads elements of a tensor (NULL: of any). */
bool expr_reads(const Expr *e, const char *tensor);

/* Which of the two a position is along where rows and columns both run along its
 * dimension: positions.c. */
typedef enum IndexSide { INDEX_UNSAID, INDEX_ROWS, INDEX_COLS } IndexSide;
IndexSide index_side(const Block *body, const char *name, const char *over);

/* The names of a Copy: of the elements where they go; of the tensor in global memory
 * (NULL: it stays within a block); and of the tile in shared memory or registers, the
 * one it writes where both are. */
const char *copy_dest(const Stmt *copy);

/* What a Compute's result goes to: behind `get`, or its first operand, in place; NULL: nothing. */
Expr *compute_result(const Stmt *compute);
const char *copy_tensor(const Stmt *copy);
const char *copy_tile(const Stmt *copy);
/* Whether coordinates of a Copy from or to global memory say `row(K)`: of each row of the tile where it lies. */
bool copy_by_rows(const Stmt *copy);
/* The tensor that some Copy of the block, or within it, brings to a tile of another name
 * (`Copy X as Xk from global to shared`); NULL: none. */
const char *copied_as(const Block *block, const char *tile);

/* A setting of this name; false: there is none. */
typedef bool LangSetting(const void *user, const char *name, double *value);
/* Numbers that only the launch knows and that are no integers are written where their names are said; the unit itself,
 * where it names none: reals.c. */
Unit *unit_spell_reals(Arena *arena, Unit *unit, LangSetting *setting, const void *user);

/* Elements of the Kernel's own tiles, at the place of the element that a Define or a Mask is about, are operands; the unit itself,
 * where it reads none: elements.c. */
Unit *unit_spell_elements(Arena *arena, Unit *unit);

/* Copies of a tensor of one dimension to or from a tile of two, `(1, BN)` or `(BM, 1)`, get the one size; so do columns along
 * the last dimension where blocks have one entry of the one before: vectors.c. */
void unit_drop_ones(Arena *arena, Unit *unit);

/* Dimensions of code that are numbers get the names that coordinates call them by: numbers.c. */
void unit_name_numbers(Arena *arena, Unit *unit);

/* Copies of a sketch that say no shape get one where what their tiles meet tells that they cover other dimensions of the
 * tensor than its last two: sides.c. A row of one that is multiplied, `Q (batch, heads, 1, D)`, gets a name first: ones.c. */
void unit_say_sides(Arena *arena, Unit *unit);

/* Whether a statement of the block, or within it, computes an operation of the class. */
bool block_computes(const Block *block, OpClass class);

/* A statement's first word ("" for an assignment) and its form, from stmts.def. */
const char *stmt_keyword(StmtKind kind);
const char *stmt_help(StmtKind kind);
/* What its writer must know, where it may stand in such a text; NULL: it may not. */
typedef enum TlForm { IN_DEFINITION, IN_SKETCH, IN_CODE, TL_FORMS } TlForm;
const char *stmt_rule(StmtKind kind, TlForm form);
/* Of an Input or Output of a unit: the type that it names, else `dtype`; but int32
 * where only conditions of the unit read its elements, and bf16 of an Output where
 * dtype has 8 bits. uses.c */
DType stmt_dtype(const Stmt *s, const Block *body, DType dtype);

/* ---- building trees (fuser, reasoner) ------------------------------------------ */

Expr *expr_int(Arena *arena, int64_t value);
Expr *expr_float(Arena *arena, double value);
Expr *expr_name(Arena *arena, const char *name);
Expr *expr_binary(Arena *arena, ExprOp op, Expr *a, Expr *b);
Expr *expr_unary(Arena *arena, ExprOp op, Expr *a);
Expr *expr_call(Arena *arena, const char *name, Expr **args, int n_args);
Expr *expr_transpose(Arena *arena, Expr *a);
Expr *expr_turned(Arena *arena, Expr *e); /* X.T of X, and X of X.T */
Expr *expr_index(Arena *arena, Expr *base, Expr **args, int n_args);
Expr *expr_space(Arena *arena, Expr *base, Space space);
Expr *expr_range(Arena *arena, Expr *lo, Expr *hi);
Expr *expr_copy(Arena *arena, const Expr *e);
/* e with names replaced: lookup returns a replacement or NULL to keep. */
Expr *expr_subst(Arena *arena, const Expr *e, Expr *(*lookup)(void *user, const char *name), void *user);
Stmt *stmt_new(Arena *arena, StmtKind kind);
/* The statement, and those in its blocks, with names replaced likewise. */
Stmt *stmt_subst(Arena *arena, const Stmt *s, Expr *(*lookup)(void *user, const char *name), void *user);

/* ---- operations of one's own: define.c ------------------------------------------------ */

/* The Define of an operation with this name; NULL: none. */
const Stmt *unit_define(const Unit *unit, const char *name);
/* The unit without its Defines, every use of them in line; itself where it has none.
 * NULL: a diagnostic was recorded. */
const Unit *unit_inlined(Arena *arena, const Unit *unit, Diags *diags);

#endif
