/* roles.h: what the emitter's files for kernels with roles share.
 *
 * Vocabulary
 *   role       a part of the block's warps with a program of its own, and registers of
 *              its own number (PTX ISA, setmaxnreg)
 *   copier     a role that does nothing but start copies: one thread of it works
 *   place      coordinates of the grid that a persistent block takes next
 */
#ifndef TW_PTX_ROLES_H
#define TW_PTX_ROLES_H

#include "ptx/emit.h"

typedef VEC(const Aff *) Affs;

typedef struct Coordinates {    /* of boxes in a turn */
    Affs kept;                  /* those that a loop does not change, or that several copies have */
    Affs once;                  /* others */
    int before;                 /* of them, by other copies than the one at hand */
} Coordinates;

/* The parity of the phase that a role waits for next. */
typedef struct Phase {
    const char *reg;
    int bit;                    /* of the role's register of phases; -1: a register of its own */
} Phase;

struct RingPlace {
    const char *stage;          /* register; NULL: the role has not touched the ring yet */
    Phase phase;
    VEC(const Aff *) held;      /* numbers of stages that it holds, oldest first */
    VEC(int) levels;            /* and the scopes in which it came by them */
    bool carried;               /* a loop gives back what was awaited before its iteration */
};

/* roles.c */
void ro_roles(Emitter *e, const TileOp *op);
void ro_turn(Emitter *e, const TileOp *op);
bool ro_is_copier(const TileOp *roles, int role);
int ro_first_copier(const TileOp *roles); /* -1: there is none */

/* places.c: what a role does at each place of a persistent block, jumping to $place and
 * $last with the label's number */
void pl_init(Emitter *e, const TileOp *roles);
void pl_hand_out(Emitter *e, const TileOp *roles, int role, int label);
/* Where no role is a copier alone: lanes of the first role tell each other, too, once it is done with a place. */
void pl_hand_out_among(Emitter *e, const TileOp *roles, int role, int label);
void pl_take(Emitter *e, const TileOp *roles, int role, int label);
void pl_draw(Emitter *e, const TileBlock *block, int at); /* the next place, where that is the point for it */

/* late.c: stages that a role's lanes fill; barriers are addresses, "register+constant" */
void lt_begin(Emitter *e, int stages); /* ahead of the role's work; the fewest that a ring of them has */
void lt_filled(Emitter *e, const char *barrier);
void lt_show_all(Emitter *e); /* waits for all copies; nothing in a role that has none */
void lt_before_waiting(Emitter *e, const char *barrier, const char *parity); /* shows all, unless the phase has ended */

/* ring.c */
void rg_init(Emitter *e, const TileOp *roles);
/* Where its barriers begin; of NULL: where those of all rings end. */
int64_t rg_barriers(const TileKernel *kernel, const TileOp *ring);
void rg_wait(Emitter *e, const char *address, Phase phase);
void rg_acquire(Emitter *e, const TileOp *op);
const Aff *rg_held(Emitter *e, const TileOp *op, int arg); /* the stage that is acquired, of the ring that is this argument */
/* The stage that a copy goes to and the address of its full barrier. */
const Aff *rg_acquired(Emitter *e, const TileOp *op, const char **barrier);
void rg_filled(Emitter *e, const TileOp *op);

void rg_await(Emitter *e, const TileOp *op);
void rg_enter(Emitter *e, const TileBlock *body); /* ahead of a loop that awaits */
void rg_fence(Emitter *e); /* what lanes did with shared memory stands before what copies do behind it */
void rg_release(Emitter *e, const TileOp *op);

/* A stage that a store read is given back. */
void rg_settle(Emitter *e);

/* tma.c */
void tm_copy(Emitter *e, const TileOp *op);
void tm_store(Emitter *e, const TileOp *op);
void tm_prefetch(Emitter *e);
void tm_note_coordinates(Emitter *e, const TileOp *op, const AffSym *turn, Coordinates *c); /* of a copy */
const char **tm_maps_here(Emitter *e); /* a copy of the addresses that are known, for a scope that keeps what it adds */

/* copier.c: the turn of a loop; what it changes for places of copies comes back behind it */
typedef struct CopierTurn {
    bool late;                  /* it changes anything */
    int floor;
    const char **maps, *zero;
} CopierTurn;
CopierTurn co_enter(Emitter *e, const TileOp *loop);
void co_leave(Emitter *e, const CopierTurn *kept);
void co_take_anew(Emitter *e); /* ahead of a copy: Emitter.zero */

/* wgmma.c */
void wg_issue(Emitter *e, const TileOp *op);
void wg_finish(Emitter *e, const TileOp *op);
const char *wg_never(Emitter *e); /* a predicate that is false, which ptxas cannot know */

/* again.c: a revision whose region says again what stands ahead of it. */
Again ag_begin(Emitter *e); /* at the one that may be jumped back to, ahead of its code */
/* True: the jump is there, and where it was taken already the one to `behind`, a label of revise.c. */
bool ag_jump(Emitter *e, const TileOp *op, int behind);

/* revise.c */
void rv_revise(Emitter *e, const TileOp *op);
/* Whether none of its elements can be below 0. */
bool rv_is_positive(const TileValue *v);
/* Votes over what an iteration began with while there is still something to wait for. */
void rv_vote_ahead(Emitter *e, const TileBlock *body);

#endif
