/* tensors.h: tensors in a few words. */
#ifndef TW_TENSORS_H
#define TW_TENSORS_H

#include "data/tensor.h"

/* The larger of the two; a NaN counts as largest. */
void keep_worst(double *worst, double value);
/* Continues a hash (FNV-1a) over the bytes of a contiguous tensor. */
uint64_t tensor_hash(uint64_t hash, const Tensor *t);
#define TENSOR_HASH_START 0xcbf29ce484222325u

/* "O (2, 32, 200, 128) bf16  rms 0.1  largest 1.2  bits 0123456789abcdef" */
void tensor_print(Str *out, const Tensor *t);
void tensor_json(Str *out, const Tensor *t);

/* ,"name":value with null for what JSON cannot say (infinity, NaN). */
void json_number(Str *out, const char *name, double value);

#endif
