/* elem.h: expressions evaluated for every element of a row; for this folder only.
 *
 * The condition of a Mask, the value of a Define and the scalars that a launch
 * supplies are resolved once, when the definition is, into postfix code whose
 * names are bound, and run over a row in blocks of columns:
 *
 *   kv_pos <= q_pos   in S (batch, q_len, kv_len), q_pos over q_len from kv_len - q_len
 *
 *   AXIS 2            coordinates along kv_len: one for each column
 *   AXIS 1 + from     the row's own: computed once a block
 *   OPERATOR <=
 *
 * What does not depend on the column is a single number on the stack.
 */
#ifndef TW_ELEM_H
#define TW_ELEM_H

#include "ref/def.h"

enum { ELEM_BLOCK = 256, ELEM_MAX_NODES = 4096, ELEM_MAX_DEPTH = 128 };

typedef enum ElemKind {
    ELEM_NUMBER,
    ELEM_AXIS,     /* a coordinate: at[axis] div `share` + from */
    ELEM_SIZE,     /* the value of an Aff over dimensions */
    ELEM_PARAM,    /* a launch-time parameter */
    ELEM_OPERATOR, /* one operand (NEG, NOT) or two */
    ELEM_CALL,
    ELEM_READ      /* an element of `value`; one operand for each of its axes */
} ElemKind;

typedef struct ElemNode {
    ElemKind kind;
    double number;
    int axis;
    const Aff *share_of, *share_by; /* AXIS: share = share_of div share_by; NULL: 1 */
    const Aff *size;                /* SIZE; AXIS: from, NULL: 0 */
    int param;                      /* index into def->params */
    ExprOp op;
    OpId fn;
    int n_args;
    DefValue *value;                /* READ */
} ElemNode;

struct DefElem {
    VEC(ElemNode) nodes;
    int depth;   /* of the stack */
    int rank;    /* of the tensor whose elements are computed; 0: a scalar */
    int n_reads;
};

double elem_operator(ExprOp op, double a, double b);
bool elem_function(const char *name, int n_args, OpId *fn); /* an elementwise operation; Max and Min of any number */
double elem_call(OpId fn, const double *args);

/* What names stand for in one run. */
typedef struct ElemEnv {
    const int64_t *syms;   /* by AffSym id */
    const double *params;  /* by index into def->params */
    /* A row of a value, written to row; lead: its leading coordinates. */
    void (*read)(void *user, const DefValue *value, const int64_t *lead, double *row);
    double (*read_one)(void *user, const DefValue *input, const int64_t *at); /* an element of an input */
    void *user;
    bool plain;            /* arithmetic is rounded to fp32 */
} ElemEnv;

typedef struct ElemRun ElemRun;
ElemRun *elem_run_new(Arena *arena, const DefElem *elem, const ElemEnv *env);
/* Columns [0, n) of the row at `lead`. */
void elem_row(ElemRun *run, const int64_t *lead, double *row, int64_t n);
/* Value of an elem of rank 0. */
double elem_scalar(Arena *arena, const DefElem *elem, const ElemEnv *env);

#endif
