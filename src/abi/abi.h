/* abi.h: how a host launches a compiled program: the written launch ABI.
 *
 * Everything a launcher needs is in NAME.json, in the generated C header, and
 * (the same JSON) in the first comment lines of the PTX, so that the PTX file
 * alone is enough for `tw emulate`, `tw verify` and `tw bench`.
 *
 * Parameters of every entry, in this order, each naturally aligned:
 *   for each tensor   .u64 address of element (0, ..., 0)
 *   for each tensor   .s64 stride, in elements, of every dimension but the
 *                     innermost (whose stride is 1), outermost first
 *   for each dim      .s32 value of each symbolic dimension (at most 2^31 - 1)
 *   for each param    .f32
 * The grid is one-dimensional: gridDim.x = product of the axes' extents; a
 * launch whose grid is 0 is skipped. Block: 32 * warps threads. Shared memory
 * is dynamic. A kernel has two entries with the same parameters: `entry` wants
 * each tensor's address and strides to be multiples of its `alignment` (16 bytes,
 * or its element); `entry_any` takes any element-aligned ones and is slower.
 */
#ifndef TW_ABI_H
#define TW_ABI_H

#include "target/target.h"
#include "tile/tile.h"

typedef enum AbiArgKind { ABI_ADDRESS, ABI_STRIDE, ABI_DIM, ABI_PARAM } AbiArgKind;

typedef struct AbiArg {
    AbiArgKind kind;
    const char *name;  /* "Q", "Q_stride0", "q_len", "scale" */
    int tensor, axis;  /* ADDRESS, STRIDE */
    int position;      /* DIM, PARAM: index among them */
    int offset, bytes; /* in the parameter space */
} AbiArg;

typedef struct AbiKernel {
    const char *entry;     /* aligned variant */
    const char *entry_any; /* NULL: `entry` takes any alignment */
    const Aff *blocks;     /* gridDim.x */
    int threads;
    int64_t shared_bytes;
} AbiKernel;

typedef struct AbiTensor {
    const char *name;
    DType dtype;
    int rank;
    const Aff *dims[TENSOR_MAX_RANK];
    bool read, written, workspace;
    int alignment; /* bytes that `entry` wants its address and strides to be multiples of */
} AbiTensor;

typedef struct Abi {
    Arena *arena; /* where messages about it go */
    const char *name;
    const char *target;
    VEC(AbiTensor) tensors;
    VEC(const AffSym *) dims;
    VEC(const char *) params;
    VEC(AbiArg) args; /* the same for all kernels */
    int param_bytes;
    VEC(AbiKernel) kernels;
    VEC(TileRequire) requires;
    const char *definition; /* TL text that the program must agree with; NULL: unknown */
    const char *settings;   /* space-separated NAME=VALUE that were compiled in */
    DType dtype;            /* --dtype it was compiled with */
} Abi;

/* From a fully scheduled program. */
Abi *abi_from_tile(Arena *arena, const TileProgram *program, const Target *target);

/* One JSON object (also parsed back from the head of a PTX file). */
void abi_json(Str *out, const Abi *abi);
void abi_c_header(Str *out,
                  const Abi *abi); /* self-contained: structs, grid function, argument packing */
/* The PTX comment lines `//tw ...` that carry the JSON, and back. NULL: none or
 * damaged, with diagnostics. */
void abi_ptx_comment(Str *out, const Abi *abi);
Abi *abi_from_ptx(Arena *arena, Syms *syms, AffCtx *aff, const Source *ptx, Diags *diags);

/* Packs the parameter space. tensors[i].data is replaced by addresses[i].
 * Returns false with *error when a tensor does not fit the ABI. */
bool abi_pack(const Abi *abi, Tensor *const *tensors, const uint64_t *addresses,
              const int64_t *dims, const double *params, void *space, const char **error);
/* Which entry fits these addresses and strides. */
bool abi_aligned(const Abi *abi, Tensor *const *tensors, const uint64_t *addresses);
/* A tensor's dimensions (to allocate a workspace); false on overflow. */
bool abi_dims(const Abi *abi, int tensor, const int64_t *dims, int64_t *sizes);
/* gridDim.x; false on overflow or a violated requirement (*error). */
bool abi_blocks(const Abi *abi, int kernel, const int64_t *dims, int64_t *blocks,
                const char **error);

#endif
