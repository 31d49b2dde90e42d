/* emu.h: a PTX interpreter, the independent witness.
 *
 * It executes the text that a GPU would execute, with the semantics of the PTX
 * ISA manual, and watches what hardware does not: uninitialised reads, accesses
 * outside an allocation, data races, missing barriers and waits, deadlock, and
 * shared-memory bank conflicts. It sees only base: it shares no layout or
 * address code with the compiler, so that one cannot hide the other's mistake.
 *
 * Vocabulary
 *   memory    the emulated device's global memory: registered host buffers
 *   launch    one grid of one entry; blocks run one after the other, those of a cluster together
 *   fault     something that the kernel did wrong, with the PTX line
 *   schedule  the order in which warps take turns, drawn from a seed
 */
#ifndef TW_EMU_H
#define TW_EMU_H

#include "base/base.h"

typedef struct EmuModule EmuModule;
typedef struct EmuMemory EmuMemory;

/* Parses PTX text. Returns NULL and records diagnostics (TW08xx) when the text
 * is not PTX or uses what the emulator does not know. */
EmuModule *emu_parse(Arena *arena, Diags *diags, const Source *ptx);
int emu_entry_count(const EmuModule *module);
int emu_find_entry(const EmuModule *module, const char *name); /* -1: none */
int emu_cluster_size(const EmuModule *module, int entry); /* blocks that run together */

/* Global memory. Addresses handed out never touch: red zones lie between
 * allocations, whose base is aligned to 256 bytes plus `misalign`. */
EmuMemory *emu_memory_new(Arena *arena);
/* Registers `bytes` of the caller's buffer; returns the device address.
 * `initialised` false: reading a byte before it is written is a fault.
 * `read_only` true: writing is a fault. */
uint64_t emu_memory_add(EmuMemory *memory, const char *name, void *host, size_t bytes,
                        bool initialised, bool read_only, int misalign);
/* How many bytes of the buffer at `address` were never written by a kernel. */
size_t emu_memory_unwritten(const EmuMemory *memory, uint64_t address);
/* Whether a kernel wrote the byte at an address. */
bool emu_memory_wrote(const EmuMemory *memory, uint64_t address);

/* A tensor map, as the driver encodes one (CUDA Driver API, "Tensor Map Object
 * Management"): what cp.async.bulk.tensor copies boxes of. */
enum { EMU_TENSOR_RANK = 5, EMU_TENSOR_MAP_BYTES = 128 };
typedef struct EmuTensorMap {
    uint64_t base;                         /* device address, a multiple of 16 */
    int rank;                              /* 1 to 5; dimension 0 is the innermost */
    int element_bytes;                     /* 1, 2, 4 or 8 */
    uint64_t dims[EMU_TENSOR_RANK];        /* elements */
    uint64_t strides[EMU_TENSOR_RANK - 1]; /* bytes, of dimensions 1 and up, multiples of 16 */
    uint32_t box[EMU_TENSOR_RANK];         /* elements, at most 256 */
    uint32_t steps[EMU_TENSOR_RANK];       /* element strides, 1 to 8; 0 means 1 */
    int swizzle;                           /* 0, 32, 64 or 128 bytes */
    int interleave;                        /* bytes; only 0 is known */
    bool nan_fill;                         /* outside the tensor lie NaNs instead of zeros */
} EmuTensorMap;
/* Encodes a map for a launch's parameters. Returns NULL, or why the hardware
 * would not take it. The 128 bytes are the emulator's own, not the driver's. */
const char *emu_tensor_map_encode(const EmuTensorMap *map, void *handle);

typedef enum EmuFaultKind {
    EMU_OUT_OF_BOUNDS,    /* global, shared or parameter access outside an allocation */
    EMU_MISALIGNED,
    EMU_UNINITIALISED,    /* register, shared or global memory read before written */
    EMU_READ_ONLY,        /* write to a buffer registered as input */
    EMU_RACE,             /* two threads, one location, no barrier between, one writes */
    EMU_ASYNC_RACE,       /* an asynchronous operation and another access, unordered */
    EMU_PROXY,            /* generic and asynchronous proxy on one location, no proxy fence between */
    EMU_IN_FLIGHT,        /* registers of a wgmma touched before its wait, or without wgmma.fence */
    EMU_DIVERGENT,        /* a warp-wide instruction executed by part of the warp */
    EMU_DEADLOCK,         /* no warp can proceed */
    EMU_BARRIER,          /* a barrier count that does not match, a misused mbarrier */
    EMU_TRANSACTION,      /* an mbarrier's transaction count that does not match the copies */
    EMU_REGISTERS,        /* setmaxnreg asks for what the block does not have */
    EMU_INSTRUCTION_LIMIT,
    EMU_LAUNCH,           /* a launch that the entry or the hardware does not allow */
    EMU_TRAP,             /* the kernel executed trap */
    EMU_FAULT_KINDS
} EmuFaultKind;
const char *emu_fault_name(EmuFaultKind kind);

typedef struct EmuFault {
    EmuFaultKind kind;
    int line;            /* of the PTX text, from 1 */
    int block[3], thread; /* thread: linear within the block */
    const char *message;
} EmuFault;

/* Classes of executed warp instructions, for counts that CI can guard. */
typedef enum EmuClass {
    EMU_MMA, EMU_LDMATRIX, EMU_LD_SHARED, EMU_ST_SHARED, EMU_LD_GLOBAL, EMU_ST_GLOBAL,
    EMU_CP_ASYNC, EMU_MUFU, EMU_FP32, EMU_CONVERT, EMU_INTEGER, EMU_MOVE, EMU_SHUFFLE,
    EMU_BARRIER_SYNC, EMU_CONTROL, EMU_OTHER, EMU_WGMMA, EMU_BULK, EMU_MBARRIER,
    EMU_CLASSES
} EmuClass;
const char *emu_class_name(EmuClass c);

typedef struct EmuLaunch {
    int grid[3], block[3];
    size_t shared_bytes;          /* dynamic shared memory */
    const void *params;           /* the packed parameter space of the entry */
    size_t param_bytes;
    int registers;                /* a thread, as launched; 0: all that the hardware allows */
    uint64_t seed;                /* draws the warp schedule; 0: round robin */
    uint64_t max_instructions;    /* warp instructions in all; 0: 4e9 */
    uint64_t max_of_warp;         /* of one warp in its block; 0: 5e7, or max_instructions where that is given */
    /* NULL: every block; else run only the blocks for which it returns true, and their clusters. */
    bool (*want_block)(void *user, int x, int y, int z);
    void *user;
    bool no_checks;               /* skip races and initialisation (speed) */
} EmuLaunch;

enum { EMU_FAULT_LIMIT = 20 };

typedef struct EmuReport {
    EmuFault faults[EMU_FAULT_LIMIT];
    int fault_count;              /* distinct kinds and lines; only the first are kept */
    uint64_t counts[EMU_CLASSES]; /* warp instructions executed, by class */
    uint64_t warp_instructions;
    uint64_t thread_instructions; /* active lanes summed */
    uint64_t shared_wavefronts;   /* shared-memory passes taken by ld/st/ldmatrix */
    uint64_t shared_ideal;        /* passes that conflict-free accesses would take */
    uint64_t blocks;
    double seconds;               /* of the processor */
} EmuReport;

/* Runs a launch. Returns false when a fault was found (see report). */
bool emu_run(Arena *arena, const EmuModule *module, int entry, EmuMemory *memory,
             const EmuLaunch *launch, EmuReport *report);

#endif
