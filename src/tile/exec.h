/* exec.h: the executor's parts; for the files of this folder only.
 *
 *   exec.c          blocks and frames: what runs next
 *   exec_role.c     roles, their instances, whose turn it is
 *   exec_do.c       one operation: its operands fetched, its result bound
 *   exec_ops.c      arithmetic on whole tiles, without any state
 *   exec_sync.c     shared storage: asynchronous copies, barriers
 *   exec_cluster.c  blocks that run side by side and meet
 *   exec_ring.c     storage that goes round between roles
 *   exec_pending.c  products in flight, values that are revised
 *
 * Vocabulary
 *   tile    rows x cols floats; counted references, for values are immutable
 *           and carried ones are passed on rather than copied
 *   slot    what a value is bound to: a tile, a stage (a view), or a buffer
 *   thread  a sequence of frames and its values: the block's own, or one for
 *           each instance of a role. A thread stands for all warps that run it
 *   frame   a region being executed: its place and its loop's counter
 */
#ifndef TW_TILE_EXEC_H
#define TW_TILE_EXEC_H

#include "tile/tile.h"

enum {
    DEPTH_LIMIT = 64, /* nested regions */
    INSTANCE_LIMIT = 31, /* of roles: a bit each in a mask */
    MAIN_THREAD = INSTANCE_LIMIT, /* number of the block's own thread; instances have theirs below */
    NO_THREAD = -1
};

typedef struct ExecTile {
    int rows, cols;
    float *at;
    int refs;
    size_t room; /* floats that `at` has place for */
    int64_t product; /* pending until this product of its thread is finished; 0: it never was */
    bool passed_on;  /* another product adds to it, in the same registers */
    bool is_integer; /* one number that was read from a tensor of integers: */
    int64_t integer; /* as it stands there, of 32 bits */
    struct ExecTile *next; /* in the list of free tiles */
} ExecTile;

typedef struct ExecStage ExecStage;
typedef struct ExecBuffer ExecBuffer;

/* One copy of a ring. Its stages are filled in order, again and again; the
 * place of everybody follows from how many stages they have passed. */
typedef struct ExecRing {
    const ExecBuffer *buffer;
    ExecStage *stages;
    int copy;
    int producer;       /* the thread that fills it; NO_THREAD: none yet */
    bool held;          /* the producer has acquired a stage and not handed it over */
    int64_t filled;     /* stages handed over; the next one is number `filled` */
    unsigned consumers; /* the threads that await it, a bit each */
    int64_t awaited[INSTANCE_LIMIT], released[INSTANCE_LIMIT]; /* stages, by thread */
} ExecRing;

struct ExecBuffer {
    const TileValue *value;
    int copies;        /* 1 unless a ring has more */
    ExecStage *stages; /* of all copies */
    ExecRing *rings;   /* one a copy; NULL: a plain buffer */
};

/* One stage of a buffer and what is known about who touched it. */
struct ExecStage {
    ExecBuffer *buffer;
    ExecRing *ring;    /* that it is of; NULL: of a plain buffer */
    int index;
    ExecTile tile;
    bool written;      /* holds data */
    bool in_flight;    /* a copy into it was started and not waited for */
    int64_t *places;   /* where the rows of the copy in flight lie, where each has coordinates of its own */
    int64_t *live;     /* which elements the copy in flight has, where it has a condition */
    bool fresh;        /* written since the last barrier: not visible to all warps */
    int writer;        /* the thread that wrote it last */
    unsigned readers;  /* threads that read it since their last barrier, a bit each */
    unsigned role_readers; /* threads that read it since the roles started */
    bool role_written;     /* it was written since the roles started */
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
    int64_t round;     /* of a ring's stage: the number under which it was awaited */
    ExecBuffer *buffer;
    bool gone;         /* the value is in the registers of a product that adds to it */
} ExecSlot;

/* A matrix product that was issued and that no FINISH has covered for good. */
typedef struct ExecProduct {
    const TileOp *op;
    ExecSlot args[3];
    ExecTile *result;
    int64_t number;    /* the first of a thread is 1 */
    bool computed;
} ExecProduct;

typedef struct ExecFrame {
    const TileBlock *block;
    const TileOp *op;  /* whose region it is; NULL: the outermost */
    int pc;
    int64_t at, end;   /* FOR: the counter */
    int64_t finished;  /* REVISE: products that were finished when it began */
} ExecFrame;

typedef struct ExecThread {
    int number;        /* of the instance, or MAIN_THREAD */
    const TileRole *role;
    int role_index, instance; /* instance: its coordinate; 0 where the role has only one */
    bool in_turn;      /* it has taken its turn */
    ExecSlot *slots;   /* by value id */
    ExecFrame frames[DEPTH_LIMIT];
    int depth;         /* frames in use; 0: it has ended */
    bool blocked;      /* could not go on when last tried */
    int64_t *symbols;  /* values of all symbols, by id */
    int64_t committed; /* groups of copies closed */
    VEC(ExecProduct) products; /* in order of issue */
    int64_t issued, finished;  /* products: all, and those that a FINISH has covered */
    int revising;      /* nested REVISEs that it is in */
} ExecThread;

/* The instances of a role, which are threads `first` and following. */
typedef struct ExecCrew {
    int first, count;
    int turn;          /* the instance that has the turn, or may take it */
} ExecCrew;

typedef VEC(ExecBuffer *) ExecBuffers;
typedef VEC(ExecCopy) ExecCopies;
typedef struct ExecCluster ExecCluster; /* exec_cluster.c */

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
    bool has_roles;     /* the kernel: axes `within` number instances, not blocks */
    ExecTile *free_tiles;
    VEC(ExecSlot) moving;      /* yielded values on their way */
    ExecBuffers buffers;       /* of the block */
    ExecCopies copies;         /* in flight */
    ExecCluster *cluster;      /* blocks beside each other; NULL: none ran yet */
    ExecThread main;
    ExecThread *roles[INSTANCE_LIMIT]; /* an instance each */
    int n_roles;        /* > 0: roles are running, in so many instances */
    ExecCrew *crews;    /* by role */
    ExecThread *thread; /* the one that runs */
    const TileOp *op;   /* the operation that runs */
    int64_t *axes;      /* the block's coordinates */
    float *pack_a, *pack_b; /* scratch of gemm */
    int64_t *integers;         /* scratch of masks and indices: a row */
    size_t room_a, room_b, room_integers;
    ExecRows scratch;
    Rng rng;
    double done;        /* work: run->most at most */
    int64_t steps; /* operations executed */
    const char *error;
} Exec;

typedef enum ExecStep { STEP_ON, STEP_BLOCKED, STEP_FAILED } ExecStep;

/* exec.c: records the first error, with where it happened; returns false. */
bool exec_fail(Exec *x, const char *fmt, ...) TW_PRINTF(2, 3);
ExecStep exec_failed(Exec *x, const char *fmt, ...) TW_PRINTF(2, 3);
bool exec_eval(Exec *x, const Aff *a, int64_t *result);
void exec_bind(Exec *x, const TileValue *value, ExecSlot slot);
ExecSlot *exec_slot(Exec *x, const TileOp *op, int arg); /* of the thread that runs */
ExecTile *exec_new_tile(Exec *x, int rows, int cols);
void exec_drop(Exec *x, ExecTile *tile); /* gives up a reference; NULL does nothing */

bool exec_begin_block(Exec *x);
/* Runs the block to its end, or to the next operation across the blocks of a cluster, which it has done for itself then:
 * *meets is that one, or NULL. */
bool exec_go_on(Exec *x, const TileOp **meets);

/* exec_cluster.c: the blocks of a cluster, whose other coordinates are set. */
bool exec_run_cluster(Exec *x);

/* exec_do.c: operations that neither change the flow nor synchronise. */
bool exec_do(Exec *x, const TileOp *op);

/* exec_role.c */
bool exec_start_roles(Exec *x, const TileOp *op);
bool exec_end_roles(Exec *x);
bool exec_end_instance(Exec *x, ExecThread *t);
/* An instance that may be able to move, drawn at random; NULL: there is none. */
ExecThread *exec_draw_instance(Exec *x, int *living);
bool exec_deadlock(Exec *x); /* fails, saying what each waits for */
ExecStep exec_turn(Exec *x, const TileOp *op); /* TAKE_TURN GIVE_TURN */
void exec_print_instance(Str *out, const ExecThread *t); /* "load", "compute (w = 1)" */

/* exec_ring.c */
void exec_make_rings(Exec *x, ExecBuffer *buffer);
void exec_start_rings(Exec *x, const TileOp *roles);
bool exec_end_rings(Exec *x);
/* The copy that the operation names of a ring that is its operand `arg`. */
bool exec_find_ring(Exec *x, const TileOp *op, int arg, ExecRing **ring);
/* The stage that the running thread has acquired and may fill. */
bool exec_held_stage(Exec *x, ExecRing *ring, ExecStage **stage);
bool exec_awaits(Exec *x, const ExecSlot *slot); /* a view of a stage that it still holds; fails otherwise */
ExecStep exec_ring(Exec *x, const TileOp *op); /* ACQUIRE FILLED AWAIT RELEASE */

/* exec_pending.c */
bool exec_issue(Exec *x, const TileOp *op);
bool exec_finish(Exec *x, const TileOp *op);
void exec_multiply_some(Exec *x); /* at a random moment, the next product of some thread */
/* The product of the thread that reads the stage and is not finished; NULL: none. */
const ExecProduct *exec_reader_of(const ExecThread *t, const ExecStage *stage);
bool exec_none_pending(Exec *x, const ExecThread *t); /* fails where a product is pending */
/* Whether some group of rows has a large element, so that the region is executed. */
bool exec_is_revised(Exec *x, const TileOp *op);
void exec_start_revise(Exec *x, ExecFrame *frame);
void exec_end_revise(Exec *x, const ExecFrame *frame, const TileOp *yield);

/* exec_sync.c */
bool exec_read_stage(Exec *x, const ExecSlot *view);
const char *exec_name_stage(Exec *x, const ExecStage *stage); /* "stage 1 of %K" */
int exec_stages(const ExecBuffer *buffer); /* of all copies */
void exec_arrive_at(Exec *x, const ExecStage *stage); /* lands copies into it */
bool exec_find_stage(Exec *x, const TileOp *op, int arg, ExecStage **stage);
bool exec_buffer(Exec *x, const TileOp *op);
bool exec_put(Exec *x, const TileOp *op, const ExecTile *tile);
bool exec_copy_async(Exec *x, const TileOp *op);
void exec_wait(Exec *x, int64_t count);
void exec_barrier(Exec *x);
void exec_land_some(Exec *x); /* at a random moment, a copy of a random choice */

/* exec_ops.c: whole tiles. Results have their size set. */
void exec_round(DType dtype, ExecTile *r);
void exec_fill(ExecTile *r, double value);
void exec_element(OpId op, const double *zero_else, const ExecTile *const *args, int n_args, ExecTile *r);
/* Along columns, to a power of two fewer of them, each sum rounded to `dtype`. */
void exec_fold(OpId op, DType dtype, const ExecTile *a, ExecTile *r);
void exec_reduce(OpId op, int axis, const ExecTile *a, ExecTile *r);
void exec_softmax(const ExecTile *s, const ExecTile *m, const ExecTile *l, ExecTile *const *results);
/* Of each of op's rows, where these have coordinates of their own; the next row's stand behind those of the one before. */
bool exec_row_places(Exec *x, const TileOp *op, int rows, int64_t *places);
void exec_load_rows(const Tensor *t, const int64_t *places, int col_dim, ExecTile *r);
void exec_load(const Tensor *t, const int64_t *coords, int row_dim, int col_dim, ExecTile *r);
void exec_store(Tensor *t, const int64_t *coords, int row_dim, int col_dim, bool onto, const ExecTile *a);
void exec_gemm(Exec *x, const TileOp *op, const ExecTile *a, const ExecTile *b, const ExecTile *acc,
               ExecTile *r);
/* The values of `a` in one row of a tile. False on overflow or division by 0. */
bool exec_row(Exec *x, const Aff *a, int row, int cols, int64_t *out);

#endif
