/* machine.h: what the files of the emulator share.
 *
 * Text becomes a Module of Entries: arrays of Inst whose operands are places
 * in a warp's register block. Everything that an instruction reads or writes
 * is such a place; constants and special registers are registers that the
 * launch fills, so that executing needs no case for them.
 *
 *     add.s32 %r3, %r1, 4;   ─►   emu_exec_alu, fn = add_s32, op = { r3 | r1, const 4 }
 *
 *     a warp's block:  r1: 32 lanes x 4 bytes | r3 … | rd1: 32 x 8 | p1: a mask | const 4 …
 *
 * Vocabulary
 *   slot     a register, with its place; 16-bit ones use 4 bytes a lane, zero-extended
 *   place    where a slot's lanes lie in the block, and the slot whose "defined" mask it has
 *   mask     a bit a lane: active lanes, a predicate, lanes for which a slot is defined
 *   granule  the smallest unit of an address space that the race shadow tells apart
 *   clock    a count a warp of its releases (barriers); happens-before is a vector of them
 *   agent    who has a count in that vector: the warps, the cluster, and what async.h adds
 *   cluster  blocks that run at the same time and reach each other's shared memory (cluster.h)
 */
#ifndef TW_EMU_MACHINE_H
#define TW_EMU_MACHINE_H

#include "emu/emu.h"

/* Kept out of line, so that the path past it stays short. */
#define EMU_COLD __attribute__((__noinline__))

/* Registers are written as one type and read as another. */
#define EMU_ALIAS __attribute__((__may_alias__))
typedef uint32_t EMU_ALIAS Lane32;
typedef int32_t EMU_ALIAS LaneS32;
typedef uint64_t EMU_ALIAS Lane64;
typedef int64_t EMU_ALIAS LaneS64;
typedef float EMU_ALIAS LaneF32;
typedef double EMU_ALIAS LaneF64;

enum {
    LANES = 32,
    MAX_WARPS = 32,
    MAX_READERS = 2 * MAX_WARPS + MAX_WARPS / 4 + 1, /* agents but mbarriers; see async.h */
    MAX_MBARRIERS = 184,
    MAX_AGENTS = MAX_READERS + MAX_MBARRIERS,
    MAX_BARRIERS = 16,
    MAX_THREADS = 1024,
    MAX_SHARED = 1 << 20,    /* bytes, static and dynamic */
    MAX_LOCAL = 1 << 16,     /* bytes a thread */
    MAX_REGISTERS = 1 << 18, /* declared in one entry */
    MAX_OPERANDS = 144
};
#define FULL 0xffffffffu

/* How far an access or a fence reaches (PTX ISA, "Scope"); .sys is SCOPE_DEVICE. */
typedef enum Scope { SCOPE_BLOCK, SCOPE_CLUSTER, SCOPE_DEVICE, SCOPES } Scope;

/* Generic addresses: shared and local memory are windows (PTX ISA, "Generic Addressing"). */
#define SHARED_WINDOW UINT64_C(0x00007e0000000000)
#define LOCAL_WINDOW UINT64_C(0x00007d0000000000)
#define PARAM_WINDOW UINT64_C(0x00007c0000000000)
#define WINDOW_BYTES UINT64_C(0x0000010000000000)

typedef enum TypeKind { TK_BITS, TK_UNSIGNED, TK_SIGNED, TK_FLOAT, TK_PREDICATE } TypeKind;

typedef enum EmuType {
#define TYPE(id, suffix, bytes, kind) ET_##id,
#include "emu/types.def"
#undef TYPE
    ET_COUNT
} EmuType;

typedef struct TypeInfo {
    const char *suffix;
    int bytes;
    TypeKind kind;
} TypeInfo;
extern const TypeInfo emu_types[ET_COUNT];

typedef enum Special {
#define SPECIAL(id, name) SP_##id,
#include "emu/specials.def"
#undef SPECIAL
    SP_COUNT
} Special;

/* SPACE_SHARED is the own block's, SPACE_CLUSTER that of all blocks of a cluster. */
typedef enum Space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_CLUSTER, SPACE_LOCAL, SPACE_PARAM } Space;

/* ---- decoded code --------------------------------------------------------- */

typedef struct Warp Warp;
typedef struct Machine Machine;
typedef struct Inst Inst;

typedef void (*Exec)(Warp *w, const Inst *in, uint32_t mask);
/* d = f(a, b, c, e) over 32 lanes; sources that the operation lacks are NULL. */
typedef void (*AluFn)(void *d, const void *a, const void *b, const void *c, const void *e);
/* The mask of lanes for which a relates to b. */
typedef uint32_t (*CmpFn)(const void *a, const void *b);

/* A place in a warp's register block. */
typedef struct Place {
    uint32_t at;   /* bytes from the start of the block */
    uint32_t slot; /* whose mask of defined lanes this place has */
} Place;

typedef enum InstFlag {
    IF_FTZ = 1,        /* .ftz: subnormal inputs and results become signed zeros */
    IF_SAT = 2,        /* .sat: the result is clamped to [0, 1], NaN becomes 0 */
    IF_GUARDED = 4,
    IF_GUARD_NOT = 8,
    IF_ALIGNED = 16,   /* all live threads of the warp must execute it together */
    IF_FULL = 32,      /* all 32 threads must */
    IF_SIGNED = 64,    /* loads extend the sign */
    IF_ARRIVE = 128,   /* a barrier that does not wait */
    IF_NO_RETURN = 256,/* red: an atomic without result */
    IF_TRANS = 512,
    IF_RELEASE = 1024, /* orders what was before it, see flags.c */
    IF_ACQUIRE = 2048,
    IF_RELU = 4096,    /* .relu: negative results become 0 (cvt) */
    IF_WIDE = 8192,    /* the address register has 8 bytes */
    IF_WIDE2 = 16384,  /* the second one has */
    IF_WGMMA = 32768,  /* minds its registers itself */
    IF_PARITY = 65536, /* an mbarrier's phase is named by its parity */
    IF_STRONG = 131072, /* .volatile, .relaxed, .acquire, .release: goes with atomic operations */
    IF_VOLATILE = 262144,
    IF_COPIES = 1 << 20, /* the result is as defined as what it copies, in whole or in part */
    IF_OTHERS = 524288  /* the first source is read from other lanes, so it minds whether that is defined */
} InstFlag;

struct Inst {
    Exec exec;
    union {
        AluFn alu;
        CmpFn cmp;
        const void *row; /* a row of the family's own table */
    } fn;
    const Place *op; /* destinations, then sources */
    Place guard;
    int64_t imm;     /* address offset, branch target, group count … by family */
    int64_t imm2;    /* a second address offset */
    uint32_t flags;
    int32_t line;
    uint8_t nd, ns;
    uint8_t cls;     /* EmuClass */
    uint8_t type, from; /* EmuType */
    uint8_t space;   /* Space */
    uint8_t bytes;   /* of one element in memory, or of one lane of the result */
    uint8_t vec;     /* elements an access */
    uint8_t scope;   /* Scope */
    int32_t aux;     /* by family */
};

typedef struct Slot {
    const char *name;
    EmuType type;
    uint32_t at;
} Slot;

typedef struct Constant {
    Place place;
    uint64_t value; /* added to the address of a variable, where there is one */
    bool wide;
    int variable;   /* of the module, from 1; 0: none */
} Constant;

typedef struct Param {
    const char *name;
    int offset, bytes;
} Param;

typedef struct Entry {
    const char *name;
    VEC(Inst) code;
    VEC(Slot) slots;
    VEC(Constant) constants;
    VEC(Param) params;
    Place special[SP_COUNT]; /* slot 0: not used */
    Place dynamic_base[2];   /* 4 and 8 bytes a lane: where dynamic shared memory starts */
    uint32_t block_bytes;    /* of a warp's register block */
    int param_bytes;
    int shared_bytes;        /* static; dynamic shared memory follows, aligned */
    int dynamic_align;
    int local_bytes;
    int max_threads;         /* .maxntid or .reqntid; 0: not given */
    int required[3];         /* .reqntid; 0: not given */
    int cluster[3];          /* .reqnctapercluster, else 1, 1, 1 */
    bool explicit_cluster;   /* .explicitcluster */
    bool sized_cluster;      /* .reqnctapercluster */
    bool cluster_barrier;    /* uses barrier.cluster */
    bool shared_atomics;     /* has atomic operations that may be on shared memory */
    int shared_shift, global_shift; /* log2 of the narrowest access */
    bool flags;              /* has fences, releases or acquires */
    bool async;              /* uses mbarriers, bulk copies, wgmma or setmaxnreg */
    int max_registers;       /* .maxnreg; 0: not given */
    int min_blocks;          /* .minnctapersm; 0: not given */
} Entry;

/* A .global or .const variable of a module; every memory that its entries run in has its own. */
typedef struct ModuleVariable {
    const char *name;
    int64_t bytes, align;
    uint8_t *data;  /* what it starts as; NULL: zeros */
    bool constant;
    VEC(struct Pointer) pointers;
} ModuleVariable;
typedef struct Pointer { /* in its data: the address of a variable */
    int64_t at, offset;
    int variable; /* from 1 */
} Pointer;

struct EmuModule {
    VEC(Entry *) entries;
    VEC(ModuleVariable) variables;
};

/* Where brx.idx goes, by index. */
typedef struct BranchTargets {
    int count;
    int pc[];
} BranchTargets;

/* ---- global memory --------------------------------------------------------- */

typedef struct Buffer {
    const char *name;
    uint8_t *host;
    uint64_t base, size;
    bool initialised, read_only;
    uint64_t *written;  /* a bit a byte, index from base rounded down to 256 */
    /* Marks a granule of who used it in this launch, see global.c; NULL: nobody did so. */
    uint32_t *writers, *changers, (*readers)[2];
    uint64_t launch;    /* the launch that they belong to */
} Buffer;

/* Where the variables of a module lie. */
typedef struct ModuleBases {
    const EmuModule *module;
    uint64_t *bases;
} ModuleBases;

struct EmuMemory {
    Arena *arena;
    VEC(ModuleBases) modules;
    VEC(Buffer) buffers; /* ascending base */
    uint64_t next;
    uint64_t launches;
    int recent;
};

/* ---- a running block --------------------------------------------------------- */

typedef enum WarpState { WARP_READY, WARP_WAITING, WARP_DONE } WarpState;

/* Lanes that wait for others to catch up with their place in the code, or at a barrier to
 * which the others need not come with them. */
enum { RUNNABLE = -1 };
typedef struct Group {
    int pc;
    uint32_t mask;
    int barrier, line; /* that they wait at, or RUNNABLE; the line of it */
} Group;

/* One lane's part of a cp.async that has not been waited for. */
typedef struct Copy {
    const uint8_t *from;
    uint32_t to, group;
    uint32_t reader; /* in Run.writers, who stands for its reads; 0: of nothing that may be written */
    uint8_t bytes, valid, lane; /* valid: bytes that come from memory; zeros follow */
    bool landed;
} Copy;

enum { MEMO = 64 };
typedef struct Memo {
    uint32_t state, version, next;
} Memo;

/* Epochs that have come before, of all blocks; NULL: none (flags.c). */
typedef struct Known Known;
typedef struct KnownBy { /* what reaches so far at least */
    const Known *scope[SCOPES];
} KnownBy;

/* What a release hands to who acquires it. */
typedef struct Clock {
    uint32_t seen[MAX_AGENTS];
    uint32_t fenced[MAX_WARPS + 1]; /* epochs whose writes the asynchronous proxy may read; the cluster last */
    const Known *others; /* of other blocks */
    KnownBy behind;      /* what fences released */
} Clock;

typedef struct AsyncWarp AsyncWarp; /* see async.h */
typedef struct Parts Parts;         /* see lanes.c */

struct Warp {
    Machine *m;
    uint8_t *regs;
    uint32_t *defined; /* a mask a slot */
    int index;
    WarpState state;
    uint32_t live, active;
    int pc, merge_pc; /* merge_pc: the lowest pc in runnable groups; INT32_MAX: none */
    int group_count;
    Group groups[LANES];
    uint64_t executed; /* instructions, in this block */
    int wait_line; /* of the barrier that it waits at */
    int wait_barrier; /* CLUSTER_BARRIER: the cluster's */
    Clock *fence;             /* what its fences at cluster scope released; NULL: there were none */
    uint32_t arrived, passed; /* lanes that have to wait at the cluster's: for a phase still open, completed */
    uint32_t wait_mask;       /* lanes that do; 0: the warp does not wait there */
    const Inst *reduces;      /* the bar.red that it waits at, for these lanes; NULL */
    uint32_t reduce_lanes;

    /* happens-before */
    uint32_t epoch, version;
    uint32_t seen[MAX_AGENTS];
    uint32_t write_state, async_state;
    uint32_t span; /* see lanes.c */
    uint32_t span_epoch; /* behind the last barrier of all its lanes */
    Parts *parts;        /* barriers of some of its lanes since; NULL: there never were */
    const Known *others; /* see flags.c, like those up to part_lanes */
    KnownBy behind, heard, part;
    uint32_t heard_lanes, part_lanes;
    uint32_t writer_id; /* of uses of global memory in this epoch; 0: none yet */
    uint32_t ordered_id; /* a writer that is known to come before */
    Memo reads[MEMO], writes[MEMO], atomics[MEMO];
    bool overwrites; /* the race that emu_shadow_access found is of two writes alone */

    /* cp.async */
    VEC(Copy) copies;
    uint32_t commits[LANES];
    uint32_t copy_reader, copy_group; /* the last Copy.reader, and its group */

    uint8_t *local; /* lanes x local_bytes, NULL until used */
    uint64_t *local_written; /* a bit a byte */
    AsyncWarp *async; /* NULL: the entry has nothing asynchronous but cp.async */
};

enum { CLUSTER_BARRIER = -1 };

typedef struct Barrier {
    int expected, arrived; /* threads; expected 0: nobody has arrived */
    uint32_t waiting;      /* warps, with some of their lanes at least */
    int votes;             /* threads whose predicate holds, of bar.red */
    uint32_t came[MAX_WARPS]; /* of a warp that does not come whole: the lanes that did */
    int line;
    Clock join;
} Barrier;

typedef struct Writer { /* a warp's epoch, or a bulk copy, that uses global memory */
    uint64_t block;
    uint32_t epoch;
    int warp;
    bool pending;  /* a copy that has not been waited for */
    bool bulk;     /* a bulk copy */
} Writer;

typedef struct Shadow Shadow;   /* of shared memory; see shadow.c */
typedef struct LaneShadow LaneShadow; /* likewise; see lanes.c */
typedef struct Async Async;     /* see async.h */
typedef struct Cluster Cluster; /* see cluster.h */

typedef struct Flags Flags;
struct Flags { /* locations that say something: a hash table, see flags.c */
    struct Flag *table;
    int count, cap;
};

/* What all blocks of a launch share. */
typedef struct Run {
    Rng rng;
    bool stop;       /* no use in going on */
    int fault_total; /* occurrences */
    uint64_t left;   /* warp instructions that may still run */
    uint64_t most_of_warp;
    VEC(Writer) writers; /* [0] is nobody */
    Flags flags;         /* in global memory */
} Run;

struct Machine {
    Arena *arena;
    const Entry *entry;
    EmuMemory *memory;
    const uint64_t *variables; /* addresses of the module's */
    const EmuLaunch *launch;
    EmuReport *report;
    Run *run;
    Cluster *cluster;
    int rank; /* of the block in its cluster */
    bool checks;

    int block[3];
    uint64_t block_index;
    int threads, warp_count;
    int running;    /* warps that have not exited */
    int agent_count, reader_count; /* readers come first, among them warps first */
    Warp *warps;
    Async *async; /* NULL: see Warp.async */
    Barrier barriers[MAX_BARRIERS];
    uint8_t *shared;
    uint32_t shared_bytes;
    uint64_t *shared_written; /* a bit a byte */
    Shadow *shadow;
    LaneShadow *lanes;   /* NULL: no checks */
    Flags flags;         /* in shared memory */
};

/* ---- the parts ------------------------------------------------------------- */

/* The lanes of operand k: destinations first, then sources. */
static inline void *op_at(Warp *w, const Inst *in, int k)
{
    return w->regs + in->op[k].at;
}
static inline void *src_at(Warp *w, const Inst *in, int k)
{
    return w->regs + in->op[in->nd + k].at;
}

/* What lane l has in a register of so many bytes. */
static inline uint64_t lane_bits(const void *lanes, int width, int l)
{
    return width == 8 ? ((const Lane64 *)lanes)[l] : ((const Lane32 *)lanes)[l];
}
static inline bool lane_on(uint32_t mask, int lane)
{
    return mask >> lane & 1;
}
static inline int first_lane(uint32_t mask)
{
    return __builtin_ctz(mask);
}
/* Copies the lanes of mask: 4 or 8 bytes a lane. */
void emu_merge32(void *to, const void *from, uint32_t mask);
void emu_merge64(void *to, const void *from, uint32_t mask);
/* Sets the lanes of mask in the predicate that is operand k. */
void emu_merge_pred(Warp *w, const Inst *in, int k, uint32_t value, uint32_t mask);
/* Subnormal f32 become zeros of their sign. */
void emu_flush(Lane32 *to, const Lane32 *from);

/* exec_warp.c: lanes that name the same members of the warp, in operand k of the sources, do something
 * together; it is a fault where one that is named does not come. */
typedef void (*Together)(Warp *w, const Inst *in, uint32_t group);
void emu_by_members(Warp *w, const Inst *in, uint32_t mask, int k, Together together);

/* report.c: records a fault of a lane; one record a kind and line. */
void emu_fault(Warp *w, const Inst *in, EmuFaultKind kind, int lane, const char *fmt, ...)
    TW_PRINTF(5, 6);
void emu_fault_block(Machine *m, EmuFaultKind kind, int line, int thread, const char *fmt, ...)
    TW_PRINTF(5, 6);

/* memory.c */
Buffer *emu_buffer_at(EmuMemory *memory, uint64_t address);
Buffer *emu_buffer_near(EmuMemory *memory, uint64_t address);
/* The addresses of a module's variables, which are made at the first launch. */
const uint64_t *emu_memory_variables(EmuMemory *memory, const EmuModule *module);
/* Bits [at, at + n) of a map, n at most 16 and not crossing a multiple of 64. */
static inline bool emu_bits_all(const uint64_t *map, uint64_t at, int n)
{
    uint64_t bits = (UINT64_C(1) << n) - 1;

    return (map[at / 64] >> at % 64 & bits) == bits;
}
static inline void emu_bits_set(uint64_t *map, uint64_t at, int n)
{
    map[at / 64] |= ((UINT64_C(1) << n) - 1) << at % 64;
}

/* access.c: resolves one access of `bytes` a lane. Sets at[lane] for the lanes
 * that may go ahead and returns their mask. */
typedef enum AccessMode { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } AccessMode;
void emu_addresses(Warp *w, const Inst *in, int k, bool wide, int64_t offset,
                   uint64_t address[LANES]);
uint32_t emu_access(Warp *w, const Inst *in, uint32_t mask, Space space,
                    const uint64_t address[LANES], int bytes, AccessMode mode,
                    uint8_t *at[LANES]);

/* exec_mem.c: whether memory has what a lane stores. */
bool emu_stores_same(Warp *w, const Inst *in, int l, const uint8_t *at);
/* exec_warp.c: the same of the row for which lane l gives the address. */
bool emu_stmatrix_same(Warp *w, const Inst *in, int l, const uint8_t *at);

/* shadow.c: who accessed a granule of shared memory, and whether that comes before. */
Shadow *emu_shadow_new(Machine *m, uint32_t bytes);
void emu_shadow_reset(Shadow *s);         /* a new block */
void emu_shadow_ordered(Shadow *s);       /* all accesses so far come before all later ones */
/* Deals with the lanes whose accesses are like earlier ones; returns the others. */
uint32_t emu_shadow_known(Warp *w, uint32_t mask, const uint64_t address[LANES], int bytes,
                          AccessMode mode);
/* Returns false when the access races; *kind says how. */
bool emu_shadow_access(Warp *w, int lane, uint32_t at, int bytes, AccessMode mode,
                       const char **why, EmuFaultKind *kind);
bool emu_shadow_issue(Warp *w, int lane, uint32_t at, int bytes, const char **why);
void emu_shadow_land(Warp *w, int lane, uint32_t at, int bytes);
/* Whether what an agent of block `rank` did in an epoch comes before what warp w does now. */
bool emu_known(const Warp *w, int rank, int agent, uint32_t epoch);
/* An access by the asynchronous proxy that warp w starts: a read that ends with
 * epoch `epoch` of a reading agent, or a write that ends with that of another; or one
 * of warp w to another block's shared memory, whose agent and epoch need not be given.
 * The proxy never need be. */
typedef enum Proxy { PROXY_GENERIC, PROXY_ASYNC, PROXY_LATER /* generic, but later */ } Proxy;
typedef struct FarAccess {
    Proxy proxy;
    AccessMode mode;
    int agent, lane;
    uint32_t epoch;
    uint32_t round, state, next; /* what became of the last granule; zero at first */
} FarAccess;
bool emu_shadow_async(Warp *w, FarAccess *access, uint32_t at, uint32_t bytes, const char **why, EmuFaultKind *kind);
bool emu_shadow_remote(Shadow *s, Warp *w, FarAccess *access, uint32_t at, uint32_t bytes, const char **why,
                       EmuFaultKind *kind);
/* The same for st.async, whose agent and epoch are those of its mbarrier. */
bool emu_shadow_later(Shadow *s, Warp *w, FarAccess *access, uint32_t at, uint32_t bytes, const char **why, EmuFaultKind *kind);

/* global.c: who used a granule of global memory; a mark is an index of Run.writers and a lane, or several. */
enum { MARK_LANE = 31, MARK_SEVERAL = 32, MARK_SHIFT = 6 };
typedef struct GlobalRace {
    Writer other;    /* with whom */
    const char *how; /* "written", "read" … by it */
    bool wrote;      /* it wrote, and nothing else is in the way of this write */
    bool lanes;      /* it is another lane of the same warp */
} GlobalRace;
bool emu_global_race(Warp *w, int lane, Buffer *b, uint64_t offset, int bytes, AccessMode mode, GlobalRace *race);
/* Whether a write of the block, or of its cluster, comes before what warp w does now. */
bool emu_writer_known(const Warp *w, const Writer *other);

/* flags.c: what fences and flags order. Nothing of it need be called where an entry has no Entry.flags. */
void emu_flags_fence(Warp *w, uint32_t lanes, Scope scope, uint32_t flags);
/* Lanes read or write by a strong access, and what that orders; `adds`: an atomic operation. */
void emu_flags_read(Warp *w, const Inst *in, uint32_t mask, uint8_t *const at[LANES]);
void emu_flags_write(Warp *w, const Inst *in, uint32_t mask, uint8_t *const at[LANES], bool adds);
void emu_flags_release(const Warp *w, Clock *join);
void emu_flags_acquire(Warp *w, const Clock *join);
void emu_flags_merge(const Machine *m, Clock *into, const Clock *from);
void emu_flags_clear(Flags *f);
/* What some lanes have acquired all lanes know from here on. */
void emu_flags_together(Warp *w);
/* Between the two the warp knows what Warp.part_lanes do. */
typedef struct WarpKnows {
    uint32_t seen[MAX_AGENTS];
    const Known *others;
} WarpKnows;
void emu_flags_enter(Warp *w, WarpKnows *before);
void emu_flags_leave(Warp *w, const WarpKnows *before);
/* Whether what another block did in an epoch comes before what warp w does now. */
bool emu_known_of_block(const Warp *w, uint64_t block, int agent, uint32_t epoch);

/* lanes.c: which lanes of a warp touched a granule of shared memory since the warp's last barrier. */
LaneShadow *emu_lanes_new(Machine *m, uint32_t bytes);
void emu_new_span(Warp *w); /* what lanes did so far comes before what any of them does now */
/* The same for groups of lanes: groups[l] has lane l and those that it met. */
void emu_new_part(Warp *w, const uint32_t groups[LANES]);
/* Whether what a lane, or several (-1), did in an epoch of its warp since the last barrier of all
 * lanes comes before what another does now. */
bool emu_lanes_ordered(const Warp *w, uint32_t epoch, int lane, int now);
/* Returns the lanes that race with another; `together`: all lanes access what the addresses of some
 * name (ldmatrix, stmatrix). Such a read comes before what follows it, since all execute it at once. */
uint32_t emu_lanes_access(const Warp *w, uint32_t mask, const uint64_t address[LANES], int bytes, AccessMode mode,
                          bool together);
/* Whether no other lane is in the way of a copy that this lane starts, which is not marked. */
bool emu_lanes_alone(const Warp *w, int lane, uint32_t at, int bytes, AccessMode mode);

/* sched.c: releases and acquires */
void emu_release(Warp *w, Clock *join);
void emu_acquire(Warp *w, const Clock *join);
void emu_clock_merge(const Machine *m, Clock *into, const Clock *from);
void emu_new_epoch(Warp *w);
void emu_branch(Warp *w, uint32_t taken, int target);
/* Lanes of mask go on where each has its target. */
void emu_branch_apart(Warp *w, uint32_t mask, const int target[LANES]);
/* Active lanes wait at a barrier apart from others of their warp, which goes on, if it can. */
void emu_park_at(Warp *w, uint32_t mask, int barrier, int line);
/* All lanes that wait at a barrier go on. */
void emu_unpark(Warp *w, int barrier);
/* exec_control.c: lanes have exited, so that those which wait at a barrier may be all. */
void emu_barrier_exit(Warp *w);
void emu_exit_lanes(Warp *w, uint32_t mask);
/* The next warp of a cluster that can run: after `last`, or any under a seed; NULL: none. */
Warp *emu_pick(Cluster *c, const Warp *last);

/* exec_*.c: one function a form of instruction */
#define EXEC(name) void emu_exec_##name(Warp *w, const Inst *in, uint32_t mask);
#include "emu/execs.def"
#undef EXEC

/* exec_alu.c, exec_cvt.c: tables that the decoder searches */
typedef struct AluRow {
    const char *name; /* "add", "mul.wide" */
    EmuType type;     /* the type that the instruction names */
    AluFn fn;
    uint8_t sources;
    uint8_t d, src[4]; /* EmuType of each operand */
    uint8_t cls;       /* EmuClass */
} AluRow;
extern const AluRow emu_alu_rows[];
extern const int emu_alu_row_count;

/* exec_alu.c: Inst.aux of the instructions that give or take a carry */
typedef enum Carry { CARRY_ADD, CARRY_SUB, CARRY_MAD_LO, CARRY_MAD_HI } Carry;

/* Inst.aux of bar */
typedef enum BarReduce { BAR_PLAIN, BAR_POPC, BAR_AND, BAR_OR } BarReduce;

/* Inst.aux of the video instructions */
typedef enum Simd { SIMD_ADD, SIMD_SUB, SIMD_AVERAGE, SIMD_DIFFERENCE, SIMD_MIN, SIMD_MAX, SIMD_COUNT } Simd;

typedef enum Compare {
    CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE,
    CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN,
    CMP_COUNT
} Compare;
typedef enum NumberTest {
    TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NAN, TEST_NORMAL, TEST_SUBNORMAL, TEST_COUNT
} NumberTest;
CmpFn emu_compare(Compare op, EmuType type); /* NULL: there is none */

typedef enum Atomic {
#define ATOMIC(id, name) ATOM_##id,
#include "emu/atomics.def"
#undef ATOMIC
    ATOM_COUNT
} Atomic;
bool emu_atomic_known(Atomic op, EmuType type);

typedef enum Rounding { RND_NONE, RND_N, RND_Z, RND_M, RND_P, RND_NI, RND_ZI, RND_MI, RND_PI, RND_NA } Rounding;
/* A dedicated conversion, or NULL: then emu_exec_cvt does it by way of 64 bits. */
AluFn emu_convert_fast(EmuType to, EmuType from, Rounding rounding, uint32_t flags);
bool emu_convert_known(EmuType to, EmuType from);

/* format.c: number formats, one lane */
float emu_f16_load(uint32_t bits);
uint32_t emu_f16_store(float x);
/* Without a branch, so that it becomes vector code: see emu_f16_load. */
static inline float emu_half_value(uint32_t bits)
{
    union { uint32_t u; float f; } x = { (bits & 0x7fffu) << 13 };

    x.f *= 0x1p112f;
    x.u |= (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0;
    x.u |= (bits & 0x8000u) << 16;
    return x.f;
}
static inline float emu_bf16_load(uint32_t bits)
{
    union { uint32_t u; float f; } x = { bits << 16 };
    return x.f;
}
uint32_t emu_bf16_store(float x);
/* x rounded to an integer. */
double emu_round(double x, Rounding rounding);
/* x rounded to fp32: nearest, toward zero, down or up. */
float emu_single(double x, Rounding rounding);
/* x rounded to a small format: nearest even or toward zero. */
uint32_t emu_small_store(EmuType type, double x, Rounding rounding, bool finite);
double emu_small_load(EmuType type, uint32_t bits);

/* exec_mma.c */
typedef struct MmaRow {
    const char *shape;
    EmuType a, b, d; /* element types of A, B and of C, D */
    uint8_t na, nb, nd; /* registers; na is 2 nb */
} MmaRow;
/* exec_wmma.c: shapes of wmma, and those of mma whose products are integers or doubles */
typedef struct WmmaRow {
    const char *shape;
    EmuType a, b, d; /* element types of A, B and of C, D */
    int m, n, k;
    int na, nb, nd;  /* registers */
} WmmaRow;
extern const WmmaRow emu_wmma_rows[], emu_mma_exact_rows[];
extern const int emu_wmma_row_count, emu_mma_exact_row_count;
int emu_element_bits(EmuType type);

extern const MmaRow emu_mma_rows[];
extern const int emu_mma_row_count;

#endif
