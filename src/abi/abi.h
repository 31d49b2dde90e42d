/* abi.h: how a host launches a compiled program: the written launch ABI.
 *
 * Everything a launcher needs is in NAME.json, in the generated C header, and
 * (the same JSON) in the first comment lines of the PTX, so that the PTX file
 * alone is enough for `tw emulate`, `tw verify` and `tw bench`.
 *
 * Parameters of every entry, in this order, each naturally aligned:
 *   for each map      .align 64 .b8[128] tensor map, by value
 *   for each tensor   .u64 address of element (0, ..., 0)
 *   for each counter  .u64 address of a zeroed 32-bit word
 *   for each tensor   .s64 stride, in elements, of every dimension but the
 *                     innermost (whose stride is 1), outermost first
 *   for each dim      .s32 value of each symbolic dimension (at most 2^31 - 1)
 *   for each param    .f32
 * The grid is one-dimensional; a launch whose grid is 0 is skipped. Shared
 * memory is dynamic. A kernel has two entries with the same parameters: the fast
 * one wants each tensor's address and strides to be multiples of its `alignment`
 * (16 bytes, or its element), and tensor maps that can be encoded; the other
 * takes any element-aligned ones and is slower.
 *
 * Vocabulary
 *   map         a tensor map (CUDA Driver API, "Tensor Map Object Management"):
 *               which boxes of a tensor TMA copies, and how they lie in shared memory
 *   places      points of the grid: what a kernel has to do, a block's work each
 *   persistent  of blocks that take one place after the other: so many of them run
 *               on a multiprocessor, and none starts later
 *   counter     a word of device memory that says which place is the next. A
 *               launch finds it zero and leaves it zero; no other launch may use it
 *               at the same time, so that it belongs to a stream like a workspace
 *   host        what a launch needs to know of the machine
 */
#ifndef TW_ABI_H
#define TW_ABI_H

#include "target/target.h"
#include "tile/tile.h"

typedef enum AbiArgKind { ABI_MAP, ABI_ADDRESS, ABI_COUNTER, ABI_STRIDE, ABI_DIM, ABI_PARAM } AbiArgKind;

typedef struct AbiArg {
    AbiArgKind kind;
    const char *name;  /* "Q_map", "Q", "main_counter", "Q_stride0", "q_len", "scale" */
    int tensor, axis;  /* MAP, ADDRESS, STRIDE */
    int position;      /* MAP, DIM, PARAM: index among them; COUNTER: of its kernel */
    int offset, bytes; /* in the parameter space */
} AbiArg;

enum { ABI_MAP_BYTES = 128, ABI_MAP_RANK = 5, ABI_BOX_MOST = 256 };

/* Its dimensions are the tensor's at launch, its strides the tensor's; what lies
 * outside the tensor is 0; nothing is interleaved; 256 bytes are promoted to L2. */
typedef struct AbiMap {
    int tensor;
    int box[TENSOR_MAX_RANK]; /* elements along each of the tensor's dimensions */
    int swizzle;              /* 0, 32, 64 or 128 bytes */
    bool written;             /* for stores; else for loads */
} AbiMap;

typedef struct AbiEntry {
    const char *name;
    const Aff *blocks;    /* places: gridDim.x, or what persistent blocks share */
    int persistent;       /* blocks a multiprocessor; 0: a block a place */
    int threads;
    int64_t shared_bytes;
} AbiEntry;

typedef struct AbiKernel {
    AbiEntry fast, any;   /* any.name NULL: the fast one takes any alignment */
} AbiKernel;

typedef struct AbiTensor {
    const char *name;
    DType dtype;
    int rank;
    const Aff *dims[TENSOR_MAX_RANK];
    bool read, written, workspace;
    int alignment; /* bytes that the fast entry wants its address and strides to be multiples of */
} AbiTensor;

typedef struct Abi {
    Arena *arena; /* where messages about it go */
    const char *name;
    const char *target;
    VEC(AbiTensor) tensors;
    VEC(const AffSym *) dims;
    VEC(const char *) params;
    VEC(AbiMap) maps; /* no two alike */
    VEC(AbiArg) args; /* the same for all kernels */
    int param_bytes;
    VEC(AbiKernel) kernels;
    VEC(TileRequire) requires;
    bool unordered;         /* blocks add to memory in any order: two runs may round otherwise */
    const char *definition; /* TL text that the program must agree with; NULL: unknown */
    const char *settings;   /* space-separated NAME=VALUE that were compiled in */
    DType dtype;            /* --dtype it was compiled with */
} Abi;

/* From a fully scheduled program. */
Abi *abi_from_tile(Arena *arena, const TileProgram *program, const Target *target);
/* The position of the map through which an asynchronous copy between a tensor
 * and a ring goes; -1: it goes through none. */
int abi_map_of(const Abi *abi, const TileProgram *program, const TileOp *copy);
/* The map for tiles that lie in a stage of this type; false: there can be none. */
bool abi_map_make(const TileTensor *tensor, int row_dim, int col_dim, const TileType *stage,
                  bool written, AbiMap *map);

/* Adds a map unless there is one like it, and wants its tensor aligned; then arguments are
 * to be laid out again. */
void abi_add_map(Abi *abi, AbiMap map);
/* The argument list follows from all else: fills abi->args and
 * abi->param_bytes. */
void abi_lay_out(Abi *abi);
int abi_find_map(const Abi *abi, const AbiMap *map); /* where it is; -1: there is none like it */

/* Adds a kernel that takes any alignment; blocks: TL text over abi->dims. False: *error. */
typedef struct AbiLaunch {
    const char *blocks;
    int threads;
    int64_t shared_bytes;
} AbiLaunch;
bool abi_add_kernel(Abi *abi, Syms *syms, AffCtx *aff, const AbiLaunch *launch, const char **error);

/* One JSON object (also parsed back from the head of a PTX file). */
void abi_json(Str *out, const Abi *abi);
void abi_c_header(Str *out,
                  const Abi *abi); /* self-contained: structs, grid function, argument packing */
/* The PTX comment lines `//tw ...` that carry the JSON, and back. NULL: none or
 * damaged, with diagnostics. */
void abi_ptx_comment(Str *out, const Abi *abi);
Abi *abi_from_ptx(Arena *arena, Syms *syms, AffCtx *aff, const Source *ptx, Diags *diags);

/* A map as the driver encodes it (cuTensorMapEncodeTiled), dimension 0 innermost. */
typedef struct AbiTensorMap {
    uint64_t address;
    DType dtype;
    int rank;
    uint64_t dims[ABI_MAP_RANK];        /* elements */
    uint64_t strides[ABI_MAP_RANK - 1]; /* bytes, of dimensions 1 and up */
    uint32_t box[ABI_MAP_RANK];         /* elements */
    int swizzle;                        /* bytes */
} AbiTensorMap;

/* CUtensorMapDataType, CUtensorMapSwizzle (CUDA Driver API). */
int abi_driver_type(DType dtype);
int abi_driver_swizzle(int bytes);

typedef struct AbiHost {
    int sms; /* multiprocessors, over which persistent blocks are spread */
    /* Encodes 128 bytes, aligned to 64. False: the driver does not take such a
     * map. NULL: there are none; then the slower entries are launched. */
    bool (*encode)(void *user, const AbiTensorMap *map, void *handle);
    void *user;
    const uint64_t *counters; /* one a kernel, where it has one (abi_has_counter); else NULL */
} AbiHost;

/* Packs the parameter space. tensors[i].data is replaced by addresses[i]. *fast:
 * which entries fit these addresses and strides. Returns false with *error when a
 * tensor does not fit the ABI. */
bool abi_pack(const Abi *abi, Tensor *const *tensors, const uint64_t *addresses,
              const int64_t *dims, const double *params, const AbiHost *host, void *space,
              bool *fast, const char **error);
/* Whether a launch must supply a counter for a kernel. */
bool abi_has_counter(const AbiKernel *kernel);
bool abi_has_counters(const Abi *abi); /* for any of them */
/* Of a kernel, the entry to launch. */
const AbiEntry *abi_entry(const AbiKernel *kernel, bool fast);
/* Whether two entries are launched alike, but for their names: then they are one
 * schedule, that copies in two ways. */
bool abi_same_launch(const AbiEntry *a, const AbiEntry *b);
/* A tensor's dimensions (to allocate a workspace); false on overflow. */
bool abi_dims(const Abi *abi, int tensor, const int64_t *dims, int64_t *sizes);
/* gridDim.x; false on overflow or a violated requirement (*error). */
bool abi_blocks(const Abi *abi, const AbiEntry *entry, const int64_t *dims, int sms,
                int64_t *blocks, const char **error);

#endif
