/* async.h: what runs beside the warps of a block on sm_90a.
 *
 * Bulk copies and wgmma are operations of their own: an instruction issues one,
 * it happens at some moment that the seed draws, and a wait says that it has
 * happened. Whether accesses are ordered is decided when they are issued, by
 * clocks and not by the moment drawn, so what is found does not depend on luck.
 *
 * The vector of clocks (shadow.c) has these agents, in this order:
 *
 *     a warp         its epochs end with its releases
 *     a warpgroup    reads of shared memory by its wgmma; its epoch is their number
 *     a bulk reader  a warp's copies out of shared memory; likewise
 *     the cluster    see cluster.h; only where it has several blocks
 *     an mbarrier    writes by copies and st.async that complete on it; its epoch is a phase
 *
 *     producer                     mbarrier f (agent 40)            consumer
 *     expect f; copy into s ─────► s: written by 40, epoch 1
 *                                  phase 1 completes ────────────► try_wait: seen[40] = 1
 *                                                                  wgmma 7 reads s: read by 32, epoch 7
 *                                                                  wait_group: seen[32] = 7
 *     try_wait e: seen[32] = 7 ◄── mbarrier e ◄─────────────────── arrive e
 *     copy into s: allowed
 *
 * Vocabulary
 *   phase     of an mbarrier: how many have completed; never goes back in a block
 *   landing   a copy's lines arriving, in an order that the seed draws
 *   fenced    up to which epoch of each warp a proxy fence lies on the way to here
 */
#ifndef TW_EMU_ASYNC_H
#define TW_EMU_ASYNC_H

#include "emu/machine.h"

enum {
    REGISTER_FILE = 65536, /* registers of a multiprocessor, and so of a block at most */
    WARPGROUP = 4,         /* warps */
    MAX_WARPGROUPS = MAX_WARPS / WARPGROUP,
    GROUP_RING = 64        /* wgmma groups that can be waited for */
};

/* ---- bulk copies ------------------------------------------------------------------------------ */

typedef struct TensorMap {
    EmuTensorMap m;
    uint32_t count[EMU_TENSOR_RANK]; /* elements of a box in shared memory */
    uint32_t row_bytes, lines;       /* of a box in shared memory */
} TensorMap;

typedef struct Bulk {
    const Inst *in;
    int warp, lane;
    const TensorMap *map; /* NULL: a plain run of bytes */
    int32_t at[EMU_TENSOR_RANK];
    uint32_t shared, bytes;
    uint64_t global;
    uint32_t lines, landed, start, stride; /* the order of landing */
    int barrier;          /* loads: which mbarrier, -1: a store */
    uint32_t phase;       /* loads: that it belongs to */
    uint32_t number, group; /* stores: in the order of the warp; of the lane's groups */
    uint32_t writer;      /* stores: in Run.writers */
    bool read;            /* stores: waited for with .read */
} Bulk;

/* ---- st.async ------------------------------------------------------------------------------------ */

typedef struct AsyncStore { /* one lane's, into the block that has it in Async.stores */
    const Inst *in;
    Machine *from; /* of the thread that issued it */
    int thread;
    uint32_t at, bytes;
    int barrier;
    uint32_t phase; /* that it belongs to */
    bool wrong;     /* only its end is simulated */
    uint8_t data[16];
} AsyncStore;

/* ---- mbarriers (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier") */

typedef struct MBarrier {
    uint32_t address;
    bool valid;          /* initialised, not invalidated */
    uint32_t expected;   /* arrivals a phase */
    uint32_t pending;    /* that this phase still lacks */
    int64_t bytes;       /* the transaction count */
    uint32_t phase, first; /* `first`: the phase in which it was initialised */
    int init_warp, init_lane;
    uint32_t init_epoch;
    bool init_fenced;    /* fence.mbarrier_init followed */
    uint32_t announced;  /* behind that fence: by which phase of the cluster's barrier; 0: none */
    Bulk load;           /* the last that completes on it */
    AsyncStore store;    /* likewise */
    Clock arriving, completed;
} MBarrier;

typedef enum MbarrierOp { /* Inst.aux */
    MB_INIT, MB_INVAL, MB_ARRIVE, MB_ARRIVE_EXPECT, MB_DROP, MB_EXPECT, MB_COMPLETE, MB_TEST, MB_TRY,
    MB_PENDING, MB_COUNT
} MbarrierOp;

/* ---- wgmma -------------------------------------------------------------------------------------- */

typedef struct WgmmaOp {
    const Inst *in;
    uint64_t a, b;  /* matrix descriptors */
    bool add;       /* scale-d: the accumulator is an input */
    bool bad;       /* its descriptors point outside shared memory */
    uint8_t issued; /* a bit a warp */
} WgmmaOp;

typedef struct Warpgroup {
    VEC(WgmmaOp) ops;
    int head;       /* ops before it are done and gone */
    uint32_t first; /* the number of ops.data[head] */
} Warpgroup;

/* When a register of a warp was last touched. */
typedef struct RegState {
    uint32_t touched;     /* the count of wgmma.fence then */
    uint32_t d, a;        /* the last wgmma that has it as accumulator, as part of A */
} RegState;

typedef enum WaitKind { WAIT_BARRIER, WAIT_CLUSTER, WAIT_MBARRIER, WAIT_WGMMA, WAIT_REGISTERS } WaitKind;

enum { MAX_ANSWERS = 8 };
typedef struct Answer {
    const Inst *in;
    uint32_t lanes;
} Answer;

struct AsyncWarp {
    uint32_t fenced[MAX_WARPS + 1];        /* see Clock */
    WaitKind wait;
    uint32_t wait_address, wait_phase; /* WAIT_MBARRIER */
    int wait_registers;
    uint32_t polls, poll_progress;     /* test_wait in vain since */
    const Inst *gave_up;               /* the try_wait that came too early, until it comes true */
    Answer answers[MAX_ANSWERS];       /* of waits, that nobody has read yet; the last ones */
    int answer_count;

    RegState *registers;
    uint32_t fences;                   /* wgmma.fence so far */
    uint32_t issued, waited, commits;  /* wgmma */
    int issued_line;                   /* of the last */
    uint32_t group_end[GROUP_RING];    /* the last wgmma of a committed group */

    uint32_t bulk_number;              /* copies out of shared memory issued */
    uint32_t bulk_commits[LANES];
    int register_count;                /* a thread */
};

struct Async {
    MBarrier *barriers;     /* MAX_MBARRIERS */
    int barrier_count;
    uint8_t *barrier_at;    /* an index + 1 for each 8 bytes of shared memory */
    VEC(Bulk) copies;       /* in flight; those that landed stay until they are waited for */
    VEC(AsyncStore) stores; /* into this block's shared memory, in flight */
    VEC(const TensorMap *) maps;
    Warpgroup groups[MAX_WARPGROUPS];
    int free_registers;     /* of the block, given back by setmaxnreg.dec */
    int launch_registers;
    int eager;              /* how likely something happens between two turns, of 16 */
    uint32_t progress;      /* counts what a waiting warp may have waited for */
    float fp8[2][256];      /* values of e4m3 and e5m2 */
};

/* ---- async.c ---- */
void emu_async_start(Machine *m);
void emu_async_start_block(Machine *m);
void emu_async_start_warp(Warp *w);
Warp *emu_async_pick(Cluster *c, const Warp *last); /* lets things happen; the next warp, NULL: none */
void emu_async_end_block(Machine *m);       /* reports what is stuck, or was not waited for */
void emu_async_release(const Warp *w, Clock *join);
void emu_async_acquire(Warp *w, const Clock *join);
bool emu_async_fenced(const Warp *w, int warp, uint32_t epoch);
void emu_async_barrier(Warp *w, WaitKind kind); /* waits at bar.sync, or at the cluster's barrier */
void emu_async_registers(Warp *w, const Inst *in);
/* Makes the warp wait and execute the instruction again when it is woken. */
void emu_async_block(Warp *w, const Inst *in, WaitKind kind);

static inline int warpgroup_agent(const Machine *m, int group)
{
    return m->warp_count + group;
}
static inline int bulk_agent(const Machine *m, int warp)
{
    return m->warp_count + (m->warp_count + WARPGROUP - 1) / WARPGROUP + warp;
}
static inline int mbarrier_agent(const Machine *m, int index)
{
    return m->reader_count + index;
}

/* ---- exec_mbarrier.c ---- */
/* An mbarrier at a shared address, for use by lane l; NULL after a fault. */
MBarrier *emu_mbarrier(Warp *w, const Inst *in, int l, uint64_t address);
/* The same at an offset in the shared memory of a block of the cluster. */
MBarrier *emu_mbarrier_in(Warp *w, const Inst *in, int l, Machine *to, uint64_t at);
/* Lanes arrive at the cluster's barrier, for a phase. */
void emu_mbarrier_announce(const Warp *w, uint32_t lanes, uint32_t phase);
/* What an instruction, before it is executed, does to answers of waits: one that is lost unread is a fault. */
void emu_mbarrier_answers(Warp *w, const Inst *in);
/* Whether anybody of the block has acquired a phase, or waits for it in vain. */
bool emu_mbarrier_awaited(const Machine *m, int index, uint32_t phase);
int emu_mbarrier_index(const Machine *m, const MBarrier *b);
void emu_mbarrier_bytes(Machine *m, MBarrier *b, const Inst *in, int thread, int64_t bytes);
/* The address within shared memory of what may be a generic address. */
uint64_t emu_shared_address(uint64_t address);
/* Ordinary accesses to an mbarrier's bytes, in a block's shared memory, are faults. */
void emu_mbarrier_touch(Warp *w, const Inst *in, const Async *a, uint32_t mask, const uint64_t *address, int bytes);

/* ---- tensor_map.c ---- */
bool emu_tensor_map_decode(const void *handle, TensorMap *map);
/* The part of a box's line that lies within the tensor: elements [*from, *to) of
 * the line, the first of them at *address. */
void emu_tensor_line(const TensorMap *map, const int32_t at[EMU_TENSOR_RANK], uint32_t line,
                     int *from, int *to, uint64_t *address);
/* Where a byte of a box lies: swizzling exchanges 16-byte units (see tensor_map.c). */
uint32_t emu_swizzle(int span, uint32_t address);

/* ---- exec_bulk.c ---- */
void emu_bulk_land(Machine *m, int copy, uint32_t lines); /* some more of its lines */
bool emu_bulk_landed(const Bulk *b);
void emu_bulk_end_block(Machine *m);

/* ---- exec_st_async.c ---- */
void emu_store_land(Machine *m, int store);
void emu_store_end_block(Machine *m);

/* ---- exec_wgmma.c, wgmma_math.c ---- */
typedef struct WgmmaRow {
    EmuType d, a, b;
    int k;
    bool transposes; /* operands may be M- or N-major */
} WgmmaRow;
extern const WgmmaRow emu_wgmma_rows[];
extern const int emu_wgmma_row_count;

typedef enum WgmmaBit { /* Inst.imm of wgmma.mma_async; Inst.aux is N */
    WG_A_REGISTERS = 1, WG_NEGATE_A = 2, WG_NEGATE_B = 4, WG_TRANS_A = 8, WG_TRANS_B = 16,
    WG_NOT_ADD = 32 /* scale-d is negated */
} WgmmaBit;

/* A matrix in shared memory: `rows` along M or N, `k` along K. */
typedef struct WgmmaMatrix {
    uint32_t start, leading, stride;
    int span;     /* of the swizzle, bytes; 16: none */
    int rows, k, bytes; /* of an element */
    bool major_k;
} WgmmaMatrix;
WgmmaMatrix emu_wgmma_matrix(uint64_t descriptor, int rows, int k, int bytes, bool major_k);
/* Where the 16-byte units of its rows lie, row by row; returns how many there are. */
enum { MAX_UNITS = 256 * 32 / 16 };
int emu_wgmma_units(const WgmmaMatrix *x, uint32_t at[MAX_UNITS]);
void emu_wgmma_multiply(Machine *m, int group, const WgmmaOp *op);

bool emu_wgmma_ready(const Machine *m, int group);
void emu_wgmma_execute(Machine *m, int group); /* the first that has not happened */
void emu_wgmma_end_block(Machine *m);

#endif
