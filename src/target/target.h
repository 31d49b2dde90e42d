/* target.h: what a GPU architecture can do, as data.
 *
 * A target is one struct of facts; passes ask facts, never architecture
 * numbers. Sources: CUDA C++ Programming Guide, "Technical specifications per
 * compute capability" and "Throughput of native arithmetic instructions"; PTX
 * ISA for instruction shapes.
 */
#ifndef TW_TARGET_H
#define TW_TARGET_H

#include "base/base.h"

typedef struct Target {
    const char *name;        /* "sm_80": the .target line */
    const char *ptx_version; /* least ".version" that has what we emit */
    const char *summary;     /* a GPU of this kind, for `tw targets` */

    /* capacities */
    int sms;                 /* multiprocessors of the typical GPU (model only) */
    int shared_per_block;    /* bytes a block may ask for */
    int shared_per_sm;
    int shared_reserved;     /* bytes the system takes a block */
    int regs_per_sm, regs_per_thread;
    int warps_per_sm, blocks_per_sm;
    int64_t l2_bytes;

    /* throughput per multiprocessor and clock (model only) */
    double mma_macs;         /* multiply-adds of 16-bit operands in the tensor cores */
    double fp32_ops;         /* FMA or other fp32 instructions, lanes */
    double exp_ops;          /* ex2 and friends, lanes */
    double shared_bytes;     /* bytes read from shared memory */
    double clock_ghz;
    double dram_gbs;         /* bytes 1e9 a second, whole GPU */
    double l2_gbs;

    /* instructions */
    int mma_m, mma_n, mma_k; /* shape of mma.sync for 16-bit operands */
    unsigned operands;       /* 1 << DType of what the tensor cores multiply and tensors may hold */
    bool has_mma_bytes;      /* mma.sync of 8-bit operands (PTX ISA 8.4, sm_89); where the tensor cores take them
                                by wgmma alone, ptxas makes conversions and products of 16 bits of it */
    bool has_cvt_pack;       /* cvt of two fp32 numbers to a pair of 16 bits (PTX ISA 7.0, sm_80) */
    bool has_cp_async;       /* cp.async (PTX ISA 7.0, sm_80) */
    bool has_ldmatrix;
    bool has_tma;            /* tensors are copied a box at a time by the asynchronous proxy, which mbarriers
                                count: cp.async.bulk.tensor over tensor maps (PTX ISA 8.0, sm_90) */
    int cluster_blocks;      /* blocks that run at the same time and reach each other's shared memory, at most: mapa,
                                barrier.cluster (PTX ISA 7.8, sm_90); 0: none do */
    bool has_wgmma;          /* four warps multiply from shared memory, asynchronously, and registers move
                                between warpgroups: wgmma.mma_async, setmaxnreg (PTX ISA 8.0, sm_90a) */
} Target;

/* All targets, NULL-terminated. */
const Target *const *target_all(void);
const Target *target_default(void); /* where none is named: what newer GPUs run as well */
const Target *target_find(const char *name); /* NULL: unknown */
/* The same, or one with other numbers: "sm_80:sms=20,shared_per_block=48k". NULL: unknown, or, with an error, not a GPU. */
const Target *target_described(Arena *arena, const char *text, const char **error);
/* Whether machine code for a target of this name ("sm_90a") is for devices of a compute
 * capability, and for no others: its own. */
bool target_is_of(const char *name, int major, int minor);
/* What a GPU of this compute capability is; NULL: none that is known. */
const Target *target_of_gpu(int major, int minor);
/* Operations (two a multiply-add) of one multiprocessor's tensor cores in a clock; 0: they
 * do not multiply numbers of this type. */
double target_flops_per_clock(const Target *t, DType dtype);
/* Whether tensors may have this type: numbers of 16 and 8 bits need tensor cores
 * and conversions for them, all others do not. */
bool target_has_dtype(const Target *t, DType dtype);
/* Columns of an operand that one instruction takes: mma_k, or twice that of 8 bits. */
int target_mma_k(const Target *t, DType dtype);
/* A warpgroup (PTX ISA, "wgmma"): its warps, the rows that it multiplies, the most columns of
 * an instruction; and the most that a block has to compute, beside one that copies. */
enum { TARGET_GROUP_WARPS = 4, TARGET_GROUP_ROWS = 64, TARGET_GROUP_COLUMNS = 256, TARGET_GROUPS = 4 };
/* Registers that a thread of a block of so many warps starts with, at most. */
int target_launch_registers(const Target *t, int warps);
/* Those that it is assembled for, whatever numbers the target was given: ptxas knows the architecture's. */
int target_assembled_registers(const Target *t, int warps);
/* Warpgroups beside those that compute: one that starts bulk copies, one that prepares operands, one whose lanes copy, and which
 * looks up where each row lies. */
typedef enum TargetBeside { TARGET_COPIER = 1, TARGET_PREPARER = 2, TARGET_LANES = 4, TARGET_LOOKUPS = 8 } TargetBeside;
/* Registers of a thread where a block has so many warpgroups that compute and such beside them, which have the rest
 * (PTX ISA, setmaxnreg: multiples of 8). Of tiles that bulk copies bring those that
 * a loop streams count twice, since each has a stage of its own; and so many of these, of which each warpgroup has rows of
 * its own, once more where they are several, and none are prepared. */
int target_copies(int copies, int own);
int target_group_registers(const Target *t, int groups, int copies, unsigned beside);
int target_copier_registers(const Target *t, int groups, int copies);
/* Of a thread of one that prepares operands, or copies, lane by lane. */
int target_preparer_registers(const Target *t, int groups, unsigned beside);
/* "fp16, bf16": of 16 and 8 bits, as a list. */
const char *target_dtypes(Arena *arena, const Target *t);
/* Says that t lacks an element type, and what to do: another that it has, to be written where
 * the type was declared, else given by an option; or a target that has it. */
void target_lacks(Diags *diags, const Target *t, Span span, const char *what, DType dtype, bool declared);

#endif
