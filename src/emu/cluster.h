/* cluster.h: thread block clusters (PTX ISA, "Cluster of Cooperative Thread Arrays").
 *
 * The blocks of a cluster run at the same time, warps of all of them taking turns.
 * They meet at one barrier, whose arrivals and waits are apart, and reach each
 * other's shared memory by addresses in the shared::cluster window:
 *
 *     rank + 1 | offset      (rank: of the block; below CLUSTER_UNIT: the own block's)
 *
 * Vocabulary
 *   rank   the place of a block in its cluster, x first
 *   phase  of the barrier: how many have completed since the cluster started
 *
 * What a warp knows of other blocks is the last phase that it, or a warp that it
 * synchronised with, has waited for: one more agent in the vector of clocks of its
 * block (shadow.c). What the arrivals of a phase released is kept a phase, as a clock
 * a block. Nothing else orders blocks.
 */
#ifndef TW_EMU_CLUSTER_H
#define TW_EMU_CLUSTER_H

#include "emu/machine.h"

enum {
    MAX_CLUSTER = 8,        /* blocks that every GPU with clusters takes */
    CLUSTER_UNIT = 1 << 24, /* of addresses; more than MAX_SHARED */
    PHASES = 32             /* whose clocks are kept */
};

/* The last time that a warp reached for the shared memory of another block. */
typedef struct Reach {
    uint32_t epoch;
    const Inst *in; /* NULL: never */
    int lane;
} Reach;

struct Cluster {
    int size;
    Machine *blocks;  /* by rank */
    uint32_t phase;
    int missing;      /* threads that have neither arrived nor exited */
    bool open;        /* some have arrived */
    Clock *arriving;  /* a block: what its arrivals have released so far; NULL: there is no barrier */
    Clock *released;  /* the same when a phase completed: by phase % PHASES, then by rank */
    Reach *reaches;   /* by the rank reached, then by that of the warp and its index; NULL: a cluster of one block */
};

void emu_cluster_check_launch(Machine *m);
Cluster *emu_cluster_new(const Machine *first); /* blocks are copies of the first */
void emu_cluster_start(Cluster *c);
/* Threads that have exited count as arrived. */
void emu_cluster_exit(Warp *w, uint32_t lanes);
/* A fence at cluster scope: what a later arrival releases though it is .relaxed. */
void emu_cluster_fence(Warp *w);
/* The last phase that a warp knows to have completed; 0: none. */
uint32_t emu_cluster_phase(const Warp *w);
/* Whether what an agent of another block did in an epoch comes before what warp w does
 * now, and whether a proxy fence lies between. */
bool emu_cluster_before(const Warp *w, int rank, int agent, uint32_t epoch);
bool emu_cluster_fenced(const Warp *w, int rank, int warp, uint32_t epoch);
/* The rank of a block of the grid in this cluster; -1: it is not one of it. */
int emu_cluster_rank(const Machine *m, uint64_t block);
/* The block whose shared memory holds so many bytes at an address; NULL after a fault. */
Machine *emu_cluster_target(Warp *w, const Inst *in, int l, uint64_t address, int bytes);
/* What those who wait at its barrier wait for, in words. */
void emu_cluster_describe(const Cluster *c, Str *out);

/* The lanes whose shared::cluster addresses lie in the own block, and where there. */
uint32_t emu_cluster_own(const Machine *m, const uint64_t address[LANES], uint64_t within[LANES]);
/* An access to shared memory of other blocks: as emu_access, of addresses that are aligned. */
uint32_t emu_cluster_access(Warp *w, const Inst *in, uint32_t mask, const uint64_t address[LANES], int bytes,
                            AccessMode mode, uint8_t *at[LANES]);

#endif
