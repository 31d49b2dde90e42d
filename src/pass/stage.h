/* stage.h: what stage.c and hold.c share. */
#ifndef TW_STAGE_H
#define TW_STAGE_H

#include "pass/passes.h"

/* What a loop of a block brought and left in shared memory. */
typedef struct Stays {
    const TileBlock *block;
    const TileOp *loop, *load;
    TileValue *buffer; /* a stage for each turn */
} Stays;

typedef struct Stager {
    TileProgram *program;
    TileKernel *kernel;
    int64_t room; /* bytes of shared memory that may keep turns of loops for others */
    int buffers;  /* inserted so far at the head of the kernel */
    VEC(Stays) stays;
} Stager;

bool stage_is_load(const TileOp *op); /* into shared memory */
bool stage_is_move(const TileOp *op); /* the same */
/* A load may start early when its place does not depend on data. */
bool stage_can_run_ahead(const TileOp *load);
/* Of tiles with one stage each, those that are used first are early and the others late.
 * Returns where the early ones are done with and the late ones not begun; -1: there is no such place. */
int stage_turn(Arena *arena, const TileBlock *body, TileValue *const *tiles, int n, bool *early);
/* A buffer for tiles like this one. Buffers are declared at the head of the
 * kernel. Shifts the caller's place when that is in the kernel's own block. */
TileValue *stage_buffer(Stager *s, const TileValue *tile, int stages, Rewriter *rw);
/* The load or move at block[at] becomes a view. */
void stage_view(TileProgram *program, TileKernel *kernel, TileBlock *block, int at, TileValue *buffer,
                const Aff *index);
/* The move at block[*at] becomes a put into a buffer and a view; *at moves along. */
void stage_move(Stager *s, TileBlock *block, int *at);

/* hold.c: instead of asynchronous copies. */
void hold_block(Stager *s, TileBlock *block);

#endif
