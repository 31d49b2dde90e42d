/* exec.h: what the files of the definition executor share; for this folder only.
 *
 * Vocabulary
 *   node    a value of the definition with its concrete sizes and what is kept of it
 *   row     one vector along the last dimension, numbered by its leading coordinates
 *   link    how an operand's coordinates follow from the result's
 *   matrix  an operand of a GEMM that is read whole: K x N as it is multiplied
 *
 * Rows are asked for, never pushed: rows_get on a value asks for the rows of its
 * operands. Operations form a graph without cycles, so each one has scratch rows
 * of its own; recursion is as deep as the definition is long (RES_MAX_OPS).
 */
#ifndef TW_EXEC_H
#define TW_EXEC_H

#include "ref/elem.h"
#include "ref/ref.h"

/* Along an axis of an operand: coordinate = at[axis] / share. A size of 1 has a
 * share so large that the coordinate is 0. */
typedef struct Link {
    int rank; /* of the operand */
    int axis[8];
    int64_t share[8];
} Link;

/* A direct-mapped store: row `key` lives in slot key % n or nowhere. */
typedef struct Slot {
    int64_t key; /* 1 + the number of the row or matrix; 0: empty */
    void *data;
} Slot;

typedef struct Store {
    Slot *slots; /* NULL until it is used first */
    int64_t n;
    int64_t count;     /* rows or matrices that there are */
    int64_t item_size; /* bytes */
    bool keep;         /* more than the last item is worth keeping */
} Store;

/* An element of a row and where it stands; TOP_K. */
typedef struct Ranked {
    double value;
    int64_t at;
} Ranked;

typedef struct Node {
    const DefValue *value;
    const DefOp *op;  /* NULL: an input */
    const Tensor *tensor;
    int rank;
    int64_t dims[8];
    int uses;
    Store rows;
    double *args[3];  /* rows of the operands */
    double scalars[3];
    Link links[3];
    ElemRun *elem;
    /* GEMM */
    Store matrices[2];      /* of the operands; [0] only when it is transposed */
    double *operand_row;    /* of an operand whose matrix is being filled */
    float *narrow;          /* REF_PLAIN: the row of A */
    bool single[2];         /* the matrix holds floats: REF_PLAIN, or an input that fits */
    bool rounds[2];         /* REF_PLAIN: the operand is rounded to its type */
    DType types[2];
    int64_t step;           /* UNFOLD */
    Ranked *ranked;         /* TOP_K: as many as a row of the operand has */
} Node;

struct Ref {
    Arena *arena;
    const Def *def;
    RefPrecision precision;
    int64_t *syms;   /* by AffSym id */
    double *params;
    Node *nodes;     /* by DefValue id */
    double *row;     /* what ref_row gives */
    ElemEnv env;
    size_t limit;    /* bytes of all stores */
    int n_stores;
};

static inline bool ref_is_plain(const Ref *ref)
{
    return ref->precision != REF_EXACT;
}

/* ref.c */
bool ref_fail(Ref *ref, const char **error, const char *fmt, ...) TW_PRINTF(3, 4); /* false */

/* bind.c */
bool bind_symbols(Ref *ref, const RefBinding *bindings, int n, Tensor *const *inputs,
                  const char **error);
bool bind_dims(Ref *ref, const DefValue *value, int64_t *dims, const char **error);

/* again.c: the definition in which products that are used twice are computed twice */
const Def *again_def(Arena *arena, const Def *def);
/* The value under its number, in a definition whose values may be replaced, its operation free to be changed. */
DefOp *ref_own_op(Arena *arena, Def *def, int id);

/* terms.c: the definition in which products take the terms of a sum one by one */
const Def *terms_def(Arena *arena, const Def *def);

/* rows.c: the row of a value at its leading coordinates */
void rows_get(Ref *ref, const DefValue *value, const int64_t *lead, double *row);
Node *rows_node(Ref *ref, const DefValue *value);
int64_t rows_number(const Node *node, const int64_t *lead);
void rows_follow(const Link *link, const int64_t *at, int64_t *to);
/* A step of a reduction, in the precision of the run. */
double rows_reduce(const Ref *ref, OpId op, double sum, double x);

/* arrange.c: operations on whole tensors */
bool arrange_set(Ref *ref, Node *node, const char **error);
void arrange_row(Ref *ref, Node *node, const int64_t *at, double *row);
void group_row(Ref *ref, Node *node, const int64_t *at, double *row);
void top_row(Ref *ref, Node *node, const int64_t *at, double *row);

/* store.c */
/* The slot of item `index`; *filled says whether it holds that already. */
void *store_slot(Ref *ref, Store *store, int64_t index, bool *filled);

/* gemm.c */
void gemm_row(Ref *ref, Node *node, const int64_t *lead, double *row);

#endif
