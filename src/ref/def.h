/* def.h: a definition resolved: every name bound, every shape known.
 *
 * A definition (an Operator unit) is a list of whole-tensor statements. Here it
 * becomes a graph in single assignment: `get new S` makes a new value. Static
 * ifs are folded (their condition must be known from Params and --set), Lets
 * and Params are substituted, shapes are symbolic expressions over dimensions.
 *
 * Rules of shape
 *   - dimensions bound with --set, or by a Param with a default, are constants;
 *     all others are symbols (AFF_DIM) that a launch supplies.
 *   - leading (batch) dimensions align from the right; size 1 broadcasts; when
 *     two differ (q_heads against kv_heads) the first operand's counts and must
 *     be a multiple of the other's: consecutive entries share one (`group`).
 *   - a GEMM contracts the last dimension of A with the second-last of B, or
 *     the last of B.T.
 *   - elementwise operands broadcast like that from the right, their last two
 *     dimensions without sharing; a row reduction gives last dimension 1, a
 *     column reduction second-last dimension 1.
 *
 * Operations on whole tensors take one operand and an axis of it: Unfold makes
 * two axes of it, groups shrink it, TopK marks elements along it; Reshape gives
 * the elements another shape. None shares consecutive entries.
 *
 * `and accumulate X` becomes the operation and an Add. In a condition or a
 * Define, a position is the name of an Index, or row and col (coordinates along
 * the last two dimensions). Between the brackets of an element access, the name
 * of a dimension alone is the element's own coordinate along it, and `...`
 * stands for all coordinates that are not written out. Outside the tensor,
 * elements read as 0.
 */
#ifndef TW_DEF_H
#define TW_DEF_H

#include "affine/aff.h"
#include "lang/lang.h"

/* One --set NAME=VALUE. */
typedef struct Setting {
    const char *name;
    double value;
    bool used;
} Setting;

typedef struct Settings {
    VEC(Setting) list;
    DType dtype; /* of inputs and outputs without one of their own */
    DType operands; /* what products multiply where nothing says: a type of 16 bits; bf16 where it is none */
    bool by_hand; /* of code that nobody chose numbers for: what is set of its schedule goes before what that says */
} Settings;
/* In place of one of the same name. */
void settings_put(Arena *arena, Settings *settings, Setting setting);
/* The last of a name; NULL: there is none. */
Setting *settings_find(const Settings *settings, const char *name);
/* Its value, of the last of a name: a LangSetting. */
bool settings_value(const void *settings, const char *name, double *value);
/* Parses "NAME=VALUE", the last of a name counts; NULL, or a sentence on failure. */
const char *settings_add(Arena *arena, Settings *settings, const char *text);

/* A dimension: its size and, where it has one, its name in the source. */
typedef struct DefDim {
    const Aff *size;
    const char *name; /* NULL: an expression or a number */
} DefDim;

/* An expression resolved to be evaluated: see ref/elem.h. */
typedef struct DefElem DefElem;

/* A scalar operand: a constant, a launch-time parameter, or an expression over
 * launch-time parameters and symbolic dimensions. */
typedef struct DefScalar {
    bool is_const;
    double value;
    const char *param;   /* not a constant: the parameter's name; NULL: an expression */
    const Expr *expr;    /* always: the operand, Lets and known Params substituted */
    const DefElem *elem;
} DefScalar;

typedef struct DefOp DefOp;

typedef struct DefValue {
    int id;
    const char *name;       /* source name; several values may share one */
    DType dtype;            /* inputs and outputs: declared; else F32 */
    int rank;
    DefDim dims[8];
    DefOp *op;              /* NULL: an input */
    bool is_input, is_output;
    bool is_part;           /* of an input, which has other dimensions (src/fuse/view.c) */
    bool is_passed_on;      /* from kernels of one definition to those of another, in the shape that it has (src/fuse/stages.c) */
    bool is_within;         /* a step of what one operation was spelled in: nobody else wants it (src/fuse/spell.c) */
} DefValue;

typedef struct DefArg {
    DefValue *value;        /* NULL: a scalar */
    bool transposed;        /* X.T: the last two dimensions swapped */
    DefScalar scalar;
} DefArg;

/* A tensor that a condition or a Define reads elements of, under its name there. */
typedef struct DefRead {
    const char *name;
    DefValue *value;
} DefRead;

struct DefOp {
    const Stmt *stmt;       /* where it was written */
    OpId op;
    DefArg args[3];
    int n_args;
    const Expr *where;      /* MASK: condition; DEFINE: the element (in Index and dimension names) */
    bool has_else;
    double otherwise;       /* MASK: value where the condition is false (-inf by default);
                               DIVIDE ... else v: value where the divisor is 0 */
    DType cast;             /* CAST */
    int axis;               /* of the operand that UNFOLD, groups and TOP_K work along */
    const Aff *step;        /* UNFOLD */
    DefValue *result;
    VEC(DefRead) reads;     /* tensors named in `where` */
    const DefElem *elem;    /* `where`, resolved */
    int again;              /* 1: computed once more, for another use (again.c) */
};

/* Index NAME over DIM from e: the position along DIM is coordinate + from. */
typedef struct DefIndex {
    const char *name, *over;
    const Aff *from;
} DefIndex;

/* A name of a dimension. An alias (`Param VDim = HeadDim`) has the size and the
 * symbol of what it follows. */
typedef struct DefDimSym {
    const char *name;
    const Aff *size;        /* a constant, aff_of(sym), or an expression */
    const AffSym *sym;      /* NULL: a constant or an expression */
} DefDimSym;

typedef struct DefParam {   /* float parameters left to the launch */
    const char *name;
    const Expr *default_value; /* over dimensions and earlier params; NULL: none */
    const DefElem *elem;
} DefParam;

/* A dimension, Param or Let whose value is known. */
typedef struct DefConst {
    const char *name;
    double value;
} DefConst;

typedef struct Def {
    const Unit *unit;
    Arena *arena;
    AffCtx *aff;
    VEC(DefDimSym) dims;     /* all named dimensions, in order of appearance */
    VEC(DefIndex) indices;
    VEC(DefParam) params;
    VEC(DefConst) consts;
    VEC(DefValue *) values;
    VEC(DefOp *) ops;        /* in order */
    VEC(DefValue *) inputs;
    VEC(DefValue *) outputs; /* the declared outputs, bound to their final values */
    Settings *settings;
    VEC(const char *) taken; /* names of tensors that are inputs or outputs under other ones (src/fuse/permute.c, view.c) */
    bool reshaped;           /* tensors have other shapes than they are declared with, and lack dimensions (src/fuse/reshape.c) */
    bool unjoined;           /* no output's last dimension is made of two in the kernel that computes it (src/fuse/permute.c) */
    const struct Def *whole; /* of which this is a part: what products multiply where nothing says; NULL: itself */
} Def;

/* Resolves an Operator unit. NULL when diagnostics were recorded. */
Def *def_resolve(Arena *arena, Syms *syms, AffCtx *aff, const Program *program, const Unit *unit,
                 Settings *settings, Diags *diags);
/* The constant that a name (dimension, Param, Let) is known to have. */
bool def_const(const Def *def, const char *name, double *value);
/* What has this name; NULL: nothing of the kind. */
const DefDimSym *def_dim(const Def *def, const char *name);
const DefIndex *def_index(const Def *def, const char *name);
const DefParam *def_param(const Def *def, const char *name);
DefValue *def_input(const Def *def, const char *name);
DefValue *def_output(const Def *def, const char *name);
/* Whether an input, an output, a dimension, a Param or a Let is called so. */
bool def_is_named(const Def *def, const char *name);
/* Whether the value is one of the operation's operands, and whether elements of it are read. */
bool def_op_takes(const DefOp *op, const DefValue *value);
bool def_op_reads(const DefOp *op, const DefValue *value);
bool def_multiplies(const Def *def); /* whether one of its operations is a product */
/* The only operation that takes the value, or reads elements of it; NULL: there are none, or several. */
const DefOp *def_only_use(const Def *def, const DefValue *value);
/* Whether both have as many dimensions, of the same sizes, whatever they are called. */
bool def_same_shape(const DefValue *a, const DefValue *b);
/* Whether one of the last two dimensions of an input or output, which tiles cut, is made of this. A vector or a matrix says
 * nothing of what leads others: batches and heads, which are few. */
bool def_is_tiled(const Def *def, const AffSym *sym);
/* The type that a GEMM's operand is multiplied in: its own (an input's, a Cast's), of
 * unlike widths the wider one; of a value that has none, or one of more than 16 bits, the
 * other's, else the widest one of 16 or 8 bits among the inputs, else that of the settings. */
DType def_operand_type(const Def *def, const DefOp *gemm, int operand);
/* Which axis of a value has this dimension's name; -1: none, -2: more than one. */
int def_axis(const DefValue *value, const char *dim);
/* `name (batch, q_len, HeadDim = 128)` */
const char *def_shape_text(Arena *arena, const DefValue *value);

#endif
