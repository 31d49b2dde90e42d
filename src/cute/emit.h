/* emit.h: what the parts of the CuTe translator share.
 *
 * Vocabulary
 *   variable  the C++ name of a value in registers. A result takes over its operand's
 *             where nothing else reads that any more: S = S * scale
 *   inlined   a value that is part of the one expression that uses it
 *   spot      an element's place in the tile: row and col
 *   ring      the loads of a loop that run ahead of it, in stages; turns: with one
 *             stage, early and late tiles are copied while the others are used
 *   place     how tiles are spread over threads (tilewright_cute.cuh)
 */
#ifndef TW_CUTE_EMIT_H
#define TW_CUTE_EMIT_H

#include "cute/cute.h"

/* How the copies of a loop's tiles are scheduled. */
typedef enum CuCopies { CU_NOW, CU_ONCE, CU_RING, CU_EARLY, CU_LATE } CuCopies;

typedef struct CuValue {
    const char *name;      /* the variable; shared tiles: of all stages */
    bool inlined, declared;
    const TileOp *def;     /* NULL: a parameter of a loop */
    const TileBlock *home; /* the block that defines it */
    int last;              /* position of its last use in that block; -1: none */
    int uses;
    /* in shared memory */
    CuCopies copies;
    int stages;
    const char *stage;     /* the variable that says which; NULL: the only one */
    int64_t offset;
    bool boxes;            /* it lands by TMA */
    const char *landing;   /* the barriers that count it */
    int64_t barrier_at;
} CuValue;

typedef struct CuLoop { /* a loop whose tiles are copied ahead */
    const TileOp *loop, *turn; /* turn: before which early tiles are done with; NULL: a ring */
    const char *early, *late;  /* names of the objects that copy; ring: early */
    int stages;
    int boxes;                 /* of its tiles land by TMA */
    bool freely;               /* all do, once: warps say when they are done with a stage */
    int64_t barrier_at;
    const char *landing;
} CuLoop;

typedef struct CuPlace {
    bool warpgroups;           /* of wgmma's accumulators */
    bool products;             /* of mma.sync's accumulators; else rows as in memory */
    bool quads;                /* of operands of 8 bits */
    bool wide;                 /* all tiles are as wide as pairs of accumulators */
    int threads_m, threads_n, run; /* without products */
    int warps_m, warps_n;
    int unit_m, unit_n;        /* rows and columns after which the spread repeats */
    int each_m, each_n;        /* of these, a thread's */
    DType dtype;               /* of the operands */
} CuPlace;

typedef struct Cute {
    Arena *arena;
    const TileProgram *program;
    const TileKernel *kernel;
    const Abi *abi;            /* while emitting */
    const Target *target;
    Diags *diags;
    Str *out;
    int depth;                 /* of indentation */
    bool failed;
    CuValue *values;           /* by id */
    const char **syms;         /* by id */
    const char **args;         /* of the launch ABI, by position */
    VEC(const char *) taken;   /* C++ names */
    VEC(CuLoop) loops;
    CuPlace place, beside;     /* beside: of tiles that meet no product's */
    bool *aside;               /* by id: values in that; NULL: none are */
    bool parts;                /* reductions need shared memory */
    int64_t parts_at, shared_bytes;
    const char *statement;     /* the TL line that was written last, as a comment */
    int inside;                /* loops round the operation at hand */
    VEC(const char *) landing; /* barriers of copies that nothing has waited for */
    bool started;              /* copies are under way that nothing has waited for */
    bool by_threads;           /* some of them by threads, in the entry for aligned rows as well */
} Cute;

/* plan.c, place.c */
bool cu_plan(Cute *c);
void cu_place(Cute *c);
const CuPlace *cu_place_of(const Cute *c, const TileValue *v);
const char *cu_place_name(const Cute *c, const TileValue *v); /* in C++ */
CuLoop *cu_loop(Cute *c, const TileOp *loop);
/* The tensor map through which a load into shared memory goes; false: it goes otherwise. */
bool cu_map(const Cute *c, const TileOp *load, AbiMap *map);
bool cu_fail(Cute *c, DiagCode code, const TileOp *op, const char *fmt, ...) TW_PRINTF(4, 5);

/* names.c */
const char *cu_name(Cute *c, const char *wish);
const char *cu_sym(void *cute, const AffSym *sym);
const char *cu_expr(Cute *c, const Aff *a);
/* Of an element: without branches, so that lanes stay together. */
const char *cu_select(Cute *c, const Aff *a);
const char *cu_arg(Cute *c, AbiArgKind kind, int tensor, int which); /* an argument's name */
const char *cu_dtype(DType t);
bool cu_is_matrix(const TileValue *v);
bool cu_is_column(const TileValue *v);
bool cu_is_row(const TileValue *v);
bool cu_is_scalar(const TileValue *v);

/* write.c */
void cu_line(Cute *c, const char *fmt, ...) TW_PRINTF(2, 3);
void cu_open(Cute *c, const char *fmt, ...) TW_PRINTF(2, 3);
void cu_close(Cute *c, const char *text);
void cu_comment(Cute *c, const TileOp *op);

/* element.c */
bool cu_is_expression(const TileOp *op);
void cu_declare(Cute *c, const TileValue *v);
void cu_elements(Cute *c, const TileOp *op);
void cu_mask(Cute *c, const TileOp *op);
void cu_gather(Cute *c, const TileOp *op);
void cu_assign(Cute *c, const TileValue *to, const TileValue *from);

/* memory.c */
const char *cu_shared(Cute *c, const TileValue *v); /* Q, K[stage] */
void cu_copy_in(Cute *c, const TileOp *load, const char *to);
/* By TMA, where the entry wants tensors aligned; `landed`: the barrier that counts. */
void cu_copy_boxes(Cute *c, const TileOp *load, const char *to, const char *landed);
void cu_load(Cute *c, const TileOp *op);
void cu_store(Cute *c, const TileOp *op);
void cu_move(Cute *c, const TileOp *op);

/* flow.c */
void cu_block(Cute *c, const TileBlock *block);
void cu_for(Cute *c, const TileOp *op);
void cu_if(Cute *c, const TileOp *op);

#endif
