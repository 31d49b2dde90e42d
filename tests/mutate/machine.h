/* machine.h: a tiny interpreter of TL code, written straight from the manual:
 * tiles are arrays of doubles, kernels and blocks run one after the other, a
 * statement is done when the next one starts. It is slow, knows no hardware, and shares
 * nothing but the syntax tree with the compiler that it judges.
 *
 * Vocabulary
 *   passed  a tensor that one kernel leaves for a later one; what nothing wrote in
 *           it, or in an output, is no number
 *   fault   what the manual does not allow, in words; it ends the run
 *   raw     a register tile as a GEMM left it, which needs a Reshape before it
 *           is an operand of another
 *   unit    of what a `Softmax S with M and L` made: the M, a number a row, that
 *           its exponents are relative to
 */
#ifndef TW_TESTS_MACHINE_H
#define TW_TESTS_MACHINE_H

#include <setjmp.h>

#include "lang/lang.h"

enum { MACHINE_RANK = 5, MACHINE_TENSORS = 12 };

typedef struct MachineTensor {
    const char *name;
    bool output;
    bool passed;
    bool reads, writes;   /* as the kernel at hand declares it */
    bool stored, added;   /* what that kernel has done to it */
    DType dtype;
    int rank;
    int64_t dims[MACHINE_RANK];
    double *data;
    int *writer; /* outputs, passed ones: the block that wrote the element, from 1; 0: none did; -1: it began as 0 */
} MachineTensor;

typedef struct Value {
    int rows, cols;
    double *x;
    bool raw;
    double *unit;  /* NULL: none */
    double *alpha; /* exp(M before - M) of that softmax */
} Value;

typedef struct Cell {
    bool allocated, written;
    Value value;
    struct Cell *stages; /* of a ring in shared memory; NULL: it is none */
    int n_stages;
} Cell;

typedef struct MachineVar {
    const char *name;
    Cell cells[SPACE_REGISTER + 1];
} MachineVar;

typedef struct Scalar {
    const char *name;
    double value;
} Scalar;

typedef struct Machine {
    Arena *arena;       /* of one block */
    const Program *program;
    const Unit *unit;   /* the kernel at hand */
    MachineTensor *tensors;
    int n_tensors;
    VEC(Scalar) scalars; /* dimensions, grid coordinates, loop counters */
    VEC(MachineVar) vars;
    const char *dims[MACHINE_TENSORS][MACHINE_RANK]; /* names of the tensors' dimensions; NULL: none */
    double *newest;     /* M of the last online softmax */
    int newest_rows;
    int block, depth;
    int first;          /* block of the kernel at hand */
    long work;
    int row, col;       /* of the element at hand; -1: none */
    const char *fault;
    jmp_buf stop;
} Machine;

/* Runs all kernels on all blocks. NULL, or the fault. Memory beyond that of blocks
 * comes from `arena`. */
const char *machine_run(Arena *arena, const Program *program, const MachineTensor *tensors, int n_tensors);

/* ---- for the files of the machine ------------------------------------------------------ */

/* Numbers of the kernel: what dimensions, coordinates and counters are; NULL: none. */
void machine_bind(Machine *m, const char *name, double value);
const Scalar *machine_bound(const Machine *m, const char *name);
/* The assignment of the kernel's own body that gives the name its value. */
const Stmt *machine_assigned(Machine *m, const char *name);
MachineTensor *machine_tensor(Machine *m, const char *name, int *at); /* NULL: none */
void machine_body(Machine *m); /* of one block */
_Noreturn void machine_fault(Machine *m, const char *fmt, ...) TW_PRINTF(2, 3);
void machine_spend(Machine *m, long work);
double machine_number(Machine *m, const Expr *e);
int64_t machine_integer(Machine *m, const Expr *e);
MachineVar *machine_var(Machine *m, const char *name); /* NULL: none */
Value machine_value(Machine *m, int rows, int cols);
void machine_compute(Machine *m, const Stmt *s);
/* KV[i % 2]: a stage that was written. */
Cell *machine_staged(Machine *m, const Expr *e);
/* A tile by name; SPACE_NONE: whichever space has it. */
Cell *machine_readable(Machine *m, MachineVar *v, Space space);

#endif
