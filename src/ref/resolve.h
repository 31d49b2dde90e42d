/* resolve.h: what the files that resolve a definition share; for this folder only.
 *
 * Vocabulary
 *   name     anything that the unit declares: a dimension, Param, Let, Index or tensor
 *   known    a number that is fixed when compiling: constants, --set, defaults
 *   shape    dims of a tensor, symbolic
 *
 * Every function that returns false or NULL has recorded a diagnostic, or met a
 * name that one was recorded for (a `bad` name); `known` questions are silent.
 */
#ifndef TW_RESOLVE_H
#define TW_RESOLVE_H

#include "ref/def.h"
#include "ref/elem.h"

enum {
    RES_MAX_NAMES = 2048,
    RES_MAX_OPS = 1000,    /* bounds the recursion of the executor */
    RES_MAX_NESTING = 64,  /* of ifs, and of names that stand for names */
    RES_MAX_RANK = 8
};

typedef enum NameKind { NAME_DIM, NAME_PARAM, NAME_LET, NAME_INDEX, NAME_TENSOR } NameKind;

typedef struct Name {
    const char *name;
    NameKind kind;
    Span span;            /* where it was declared */
    const Expr *value;    /* PARAM: default; LET: value; INDEX: from */
    Setting *setting;     /* DIM, PARAM: from --set */
    bool busy;            /* being evaluated: met again, it is a cycle */
    bool bad;             /* a diagnostic was recorded */
    bool is_number;       /* PARAM, LET: res_check_number said so */
    enum { KNOWN_NOT_ASKED, KNOWN_NO, KNOWN_YES } known;
    double known_value;
    const Aff *size;      /* DIM, and PARAM or LET used as one; INDEX: from */
    const char *over;     /* INDEX */
    int param;            /* PARAM: 1 + index into def->params; 0: none */
    DefValue *tensor;     /* TENSOR: its value so far; NULL: none yet */
    bool is_output;
} Name;

typedef struct Resolver {
    Arena *arena;
    Syms *syms;
    AffCtx *aff;
    const Program *program;
    const Unit *unit;
    Settings *settings;
    Diags *diags;
    Def *def;
    VEC(Name *) names;
    int nesting;             /* of names within names */
    bool too_long;           /* which has been said */
} Resolver;

typedef struct Shape {
    int rank;
    DefDim dims[RES_MAX_RANK];
} Shape;

/* names.c */
/* More than is taken: said once. Returns false. */
bool res_too_long(Resolver *r, Span span, const char *fmt, ...) TW_PRINTF(3, 4);
Name *res_find(const Resolver *r, const char *name);
Name *res_declare(Resolver *r, NameKind kind, const char *name, Span span);
void res_undefined(Resolver *r, const char *name, Span span);
const char *res_kind_text(const Name *name);
void res_unused_settings(Resolver *r);
void res_warn_of_late(const Def *def, Diags *diags);

/* Round the evaluation of a name's value: false when it is being evaluated
 * already, or names stand for names too deep. */
bool res_enter(Resolver *r, Name *name, Span use);
void res_leave(Resolver *r, Name *name);

/* scalar.c: numbers known when compiling */
bool res_known(Resolver *r, const Expr *e, double *value);
bool res_known_name(Resolver *r, Name *name, double *value);
void res_forget_known(Resolver *r); /* when more names were declared */
/* e is a number: made of dimensions, Params, Lets, numbers and functions alone. */
bool res_check_number(Resolver *r, const Expr *e);
/* The defaults of all Params are numbers, used or not; a Let may speak of positions. */
void res_check_values(Resolver *r);
/* e with Lets replaced by their values and known Params by numbers; only for an
 * e that res_elem accepted, whose size is bounded. */
const Expr *res_substitute(Resolver *r, const Expr *e);
/* Likewise for an element of a tensor of that shape: what is its own coordinate keeps its name. */
const Expr *res_substitute_in(Resolver *r, const Expr *e, const Shape *context);
/* A launch-time parameter for a Param that is not known; -1 on failure. */
int res_launch_param(Resolver *r, Name *name);
bool res_scalar(Resolver *r, const Expr *e, DefScalar *scalar);

/* size.c: integer expressions */
const Aff *res_size(Resolver *r, const Expr *e);
/* Gives a dimension its size: the setting, or a symbol. */
bool res_set_dim(Resolver *r, Name *name);

/* shape.c */
bool res_shape(Resolver *r, const Stmt *stmt, Shape *shape);
void shape_of(const DefValue *value, Shape *shape);
Shape shape_transposed(Shape shape);
const char *shape_text(Arena *arena, const Shape *shape);
bool shape_same_size(const DefDim *a, const DefDim *b);
bool shape_is_one(const DefDim *dim);
/* Shape of an operation's result from its operands. */
bool shape_elementwise(Resolver *r, const DefOp *op, Shape *shape);
bool shape_gemm(Resolver *r, const DefOp *op, Shape *shape);
bool shape_row_reduce(Resolver *r, const DefOp *op, Shape *shape);
bool shape_col_reduce(Resolver *r, const DefOp *op, Shape *shape);
bool shape_same(Resolver *r, const DefOp *op, Shape *shape);
/* Of an operation on whole tensors (whole.c); and a size that is not known and
 * was written down takes the place of the computed one. */
bool shape_whole(Resolver *r, DefOp *op, Shape *shape);
int shape_axis_over(Resolver *r, const DefOp *op); /* the axis that `over` names; -1: said that there is none */
void shape_settle(Resolver *r, const DefOp *op, const Shape *declared, Shape *computed);
/* A shape that was written down against the one computed; takes over its names. */
bool shape_declared(Resolver *r, const Stmt *stmt, const char *name, const Shape *declared,
                    Shape *computed);

/* elem.c: resolves e for the elements of a tensor of this shape (NULL: a scalar) */
const DefElem *res_elem(Resolver *r, const Expr *e, const Shape *context, DefOp *op);

/* compute.c */
bool res_compute(Resolver *r, const Stmt *stmt);
DefValue *res_new_value(Resolver *r, const char *name, DefOp *op, const Shape *shape);
bool res_room_left(Resolver *r, const Stmt *stmt); /* for more operations */
void res_no_value(Resolver *r, const Expr *name);

/* along.c: a reduction or softmax `over` a dimension that is not its own; done: it was one, or
 * there is no such dimension; then whether that went well */
bool res_along(Resolver *r, const Stmt *stmt, bool *done);

/* view.c: the value that a transposed tensor, or a part of one, stands for as an operand */
bool res_view(Resolver *r, const Stmt *stmt, const Expr *e, DefArg *arg);

#endif
