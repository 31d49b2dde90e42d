/* parts.h: what the files of this folder share. */
#ifndef TW_ABI_PARTS_H
#define TW_ABI_PARTS_H

#include "abi/abi.h"

enum {
    ABI_VERSION = 1,
    ABI_MAX_PARAM_BYTES = 4096, /* PTX ISA, "Kernel Function Parameters": what every target takes */
    ABI_MAX_THREADS = 1024,
    ABI_MAX_DIM = INT32_MAX
};

/* The argument list follows from tensors, dims and params alone: fills
 * abi->args and abi->param_bytes. */
void abi_lay_out(Abi *abi);

/* The value of an expression over abi->dims; false on overflow, division by
 * zero, or a symbol that is none of them. */
bool abi_eval(const Abi *abi, const Aff *a, const int64_t *dims, int64_t *value);

/* Expressions over abi->dims as C, over `args->NAME` of the generated header.
 * names: one a dimension. */
void abi_c_expr(Str *out, const Abi *abi, const Aff *a, const char *const *names);

/* TL text to an expression over abi->dims; NULL with *error set. What the
 * language cannot write down is refused: line ends, other names. */
const Aff *abi_expr_parse(Arena *arena, Syms *syms, AffCtx *aff, const Abi *abi, const char *text,
                          const char **error);

const char *abi_arg_kind_name(AbiArgKind kind);

#endif
