/* on_gpu.h: variants of an operator on the GPU of this machine. */
#ifndef TW_TUNE_ON_GPU_H
#define TW_TUNE_ON_GPU_H

#include "assemble/assemble.h"
#include "chain/chain.h"
#include "gpu/gpu.h"
#include "tune/tune.h"

typedef struct TuneGpu {
    const Source *source;          /* the operator */
    const Target *target;
    DType dtype;
    const char *const *sets, *const *binds; /* as given: NAME=VALUE */
    int n_sets, n_binds;
    const Def *def;
    const RefBinding *shape;       /* complete */
    int n_shape;
    Tensor **inputs, **outputs;    /* of that shape; made once, before there are processes */
    const AsmTool *ptxas;          /* NULL: the driver compiles */
    const char *machine;           /* the architecture that ptxas assembles for: "sm_90" runs PTX for sm_80, whose own machine code it does not */
    uint64_t seed;
    double bound;                  /* of errors, over those of a plain implementation */
    int patience;                  /* seconds that a wait for the GPU may take */
} TuneGpu;

/* Makes the tensors. NULL, or why the shape is not legal. */
const char *tune_gpu_prepare(Arena *arena, TuneGpu *g);
TuneDevice tune_on_gpu(TuneGpu *g);
/* Settings near some, as tune_neighbours: of what the passes decide for these kernels alone, and not as they did. */
void tune_gpu_neighbours(const TuneGpu *g, Arena *arena, const char *settings, TuneVariants *list);

/* Settings word by word, as --set would give them. NULL, or why one is not taken. */
const char *tune_set_all(Chain *chain, const char *settings);

#endif
