/* parts.h: what the files of this folder share. */
#ifndef TW_ABI_PARTS_H
#define TW_ABI_PARTS_H

#include "abi/abi.h"

enum {
    ABI_VERSION = 2,
    ABI_MAX_PARAM_BYTES = 4096, /* PTX ISA, "Kernel Function Parameters": what every target takes */
    ABI_MAX_THREADS = 1024,
    ABI_MAX_PERSISTENT = 64, /* blocks a multiprocessor: more than any has */
    ABI_MAX_DIM = INT32_MAX
};

/* Expressions over abi->dims as C, over `args->NAME` of the generated header.
 * names: one a dimension. */
void abi_c_expr(Str *out, const Abi *abi, const Aff *a, const char *const *names);

/* TL text to an expression over abi->dims; NULL with *error set. What the
 * language cannot write down is refused: line ends, other names. */
const Aff *abi_expr_parse(Arena *arena, Syms *syms, AffCtx *aff, const Abi *abi, const char *text,
                          const char **error);

const char *abi_arg_kind_name(AbiArgKind kind);

/* ---- maps (map.c) ------------------------------------------------------------------- */

/* Why no tensor has such a map; NULL: some do. */
const char *abi_map_misfit(const Abi *abi, const AbiMap *map);
/* Adds those that the operations of a block go through. */
void abi_collect_maps(Abi *abi, const TileProgram *program, const TileBlock *block);
/* Encodes all maps into the parameter space; false: one cannot be. */
bool abi_encode_maps(const Abi *abi, Tensor *const *tensors, const uint64_t *addresses,
                     const AbiHost *host, char *space);

#endif
