/* exec.h: the executor's parts; for the files of this folder only.
 *
 *   exec.c       blocks, frames, threads: what runs next
 *   exec_do.c    one operation: its operands fetched, its result bound
 *   exec_ops.c   arithmetic on whole tiles, without any state
 *   exec_sync.c  shared storage: asynchronous copies, barriers, rings
 *
 * Vocabulary
 *   tile    rows x cols floats; counted references, for values are immutable
 *           and carried ones are passed on rather than copied
 *   slot    what a value is bound to: a tile, a stage (a view), or a buffer
 *   thread  a sequence of frames: the block's own, or one a role. A thread
 *           stands for all warps that run it
 *   frame   a region being executed: its place and its loop's counter
 */
#ifndef TW_TILE_EXEC_H
#define TW_TILE_EXEC_H

#include "tile/tile.h"

enum {
    DEPTH_LIMIT = 64, /* nested regions */
    ROLE_LIMIT = 16,
    MAIN_THREAD = ROLE_LIMIT /* number of the block's own thread; roles have theirs below */
};

typedef struct ExecTile {
    int rows, cols;
    float *at;
    int refs;
    size_t room; /* floats that `at` has place for */
    struct ExecTile *next; /* in the list of free tiles */
} ExecTile;

typedef struct ExecStage ExecStage;

typedef struct ExecBuffer {
    const TileValue *value;
    ExecStage *stages;
    bool ring;          /* in the current roles: handed over by acquire ... release */
    unsigned consumers; /* ring: the roles that await it, a bit each */
} ExecBuffer;

/* One stage of a buffer and what is known about who touched it. */
struct ExecStage {
    ExecBuffer *buffer;
    int index;
    ExecTile tile;
    bool written;      /* holds data */
    bool in_flight;    /* a copy into it was started and not waited for */
    int64_t *live;     /* which elements the copy in flight has, where it has a condition */
    bool fresh;        /* written since the last barrier: not visible to all warps */
    int writer;        /* the thread that wrote it last */
    unsigned readers;  /* threads that read it since their last barrier, a bit each */
    unsigned role_readers; /* threads that read it since the roles started */
    bool role_written;     /* it was written since the roles started */

    /* ring protocol */
    bool held;         /* by its producer, between acquire and filled */
    int64_t filled;    /* how many times it was handed over */
    int64_t released[ROLE_LIMIT]; /* how many times each consumer gave it back */
    bool awaited[ROLE_LIMIT];     /* the consumer holds it now */
};

typedef struct ExecCopy {
    ExecStage *stage;
    const TileOp *op;
    int64_t coords[TENSOR_MAX_RANK];
    int thread;
    int64_t group;     /* number of the commit that closes its group */
    bool landed;
} ExecCopy;

typedef struct ExecSlot {
    ExecTile *tile;
    ExecStage *stage;
    ExecBuffer *buffer;
} ExecSlot;

typedef struct ExecFrame {
    const TileBlock *block;
    const TileOp *op;  /* whose region it is; NULL: the outermost */
    int pc;
    int64_t at, end;   /* FOR: the counter */
} ExecFrame;

typedef struct ExecThread {
    int number;        /* of the role, or MAIN_THREAD */
    const TileRole *role;
    ExecFrame frames[DEPTH_LIMIT];
    int depth;         /* frames in use; 0: it has ended */
    bool blocked;      /* could not go on when last tried */
    int64_t *symbols;  /* values of all symbols, by id */
    int64_t committed; /* groups of copies closed */
} ExecThread;

/* Rows of integers for evaluating expressions along the columns of a tile. */
typedef struct ExecRows {
    VEC(int64_t *) rows;
    int width;
} ExecRows;

typedef struct Exec {
    Arena *arena;       /* lives as long as the run */
    Arena *error_arena; /* lives on */
    const TileProgram *program;
    const TileRun *run;
    const TileKernel *kernel;
    int kernel_index, n_symbols;
    ExecSlot *slots;    /* by value id */
    ExecTile *free_tiles;
    VEC(ExecSlot) moving;      /* yielded values on their way */
    VEC(ExecBuffer *) buffers; /* of the block */
    VEC(ExecCopy) copies;      /* in flight */
    ExecThread main;
    ExecThread *roles[ROLE_LIMIT];
    int n_roles;        /* > 0: roles are running */
    ExecThread *thread; /* the one that runs */
    const TileOp *op;   /* the operation that runs */
    int64_t *axes;      /* the block's coordinates */
    float *pack_a, *pack_b; /* scratch of gemm */
    int64_t *integers;         /* scratch of masks and indices: a row */
    size_t room_a, room_b, room_integers;
    ExecRows scratch;
    Rng rng;
    const char *error;
} Exec;

typedef enum ExecStep { STEP_ON, STEP_BLOCKED, STEP_FAILED } ExecStep;

/* exec.c: records the first error, with where it happened; returns false. */
bool exec_fail(Exec *x, const char *fmt, ...) TW_PRINTF(2, 3);
bool exec_eval(Exec *x, const Aff *a, int64_t *result);
void exec_bind(Exec *x, const TileValue *value, ExecSlot slot);
ExecTile *exec_new_tile(Exec *x, int rows, int cols);

/* exec_do.c: operations that neither change the flow nor synchronise. */
bool exec_do(Exec *x, const TileOp *op);
/* Zeroes elements for which the condition (over row, col; NULL: none) is false. */
bool exec_clear_outside(Exec *x, const Aff *where, ExecTile *r);

/* exec_sync.c */
bool exec_read_stage(Exec *x, ExecStage *stage);
bool exec_find_stage(Exec *x, const TileOp *op, int arg, ExecStage **stage);
bool exec_buffer(Exec *x, const TileOp *op);
bool exec_put(Exec *x, const TileOp *op, const ExecTile *tile);
bool exec_copy_async(Exec *x, const TileOp *op);
void exec_wait(Exec *x, int64_t count);
void exec_barrier(Exec *x);
ExecStep exec_ring(Exec *x, const TileOp *op); /* ACQUIRE FILLED AWAIT RELEASE */
void exec_land_some(Exec *x); /* at a random moment, a copy of a random choice */
void exec_start_roles(Exec *x, const TileOp *op);
bool exec_end_roles(Exec *x);

/* exec_ops.c: whole tiles. Results have their size set. */
void exec_round(DType dtype, ExecTile *r);
void exec_fill(ExecTile *r, double value);
void exec_element(OpId op, const double *zero_else, const ExecTile *const *args, int n_args, ExecTile *r);
void exec_reduce(OpId op, int axis, const ExecTile *a, ExecTile *r);
void exec_softmax(const ExecTile *s, const ExecTile *m, const ExecTile *l, ExecTile *const *results);
void exec_load(const Tensor *t, const int64_t *coords, int row_dim, int col_dim, ExecTile *r);
void exec_store(Tensor *t, const int64_t *coords, int row_dim, int col_dim, const ExecTile *a);
void exec_gemm(Exec *x, const TileOp *op, const ExecTile *a, const ExecTile *b, const ExecTile *acc,
               ExecTile *r);
/* The values of `a` in one row of a tile. False on overflow or division by 0. */
bool exec_row(Exec *x, const Aff *a, int row, int cols, int64_t *out);

#endif
