/* stand.h: one program with tensors of one shape, placed on the device. */
#ifndef TW_GPU_STAND_H
#define TW_GPU_STAND_H

#include "gpu/driver.h"

enum { STAND_SETS = 64 };

typedef struct StandSpec {
    const RefBinding *bindings;
    int n_bindings;
    FillKind fill;
    Placing placing;
    uint64_t seed;
} StandSpec;

typedef struct Stand {
    Arena *arena;
    Gpu *gpu;
    const Abi *abi;
    const Def *def;
    Tensor **inputs, **outputs; /* in the definition's order; outputs hold what was fetched last */
    Tensor **hosts;             /* by tensor of the ABI; of a workspace: its shape */
    Buffer *buffers;            /* by tensor of the ABI */
    bool *owned;                /* the buffer is this stand's own, not its twin's */
    GpuCall call;
    uint64_t counters; /* memory of those of the call; 0: it has none */
    char *scratch; /* room for the largest buffer */
    size_t scratch_bytes;
} Stand;

/* Makes the tensors on the host. False: the shape is not legal for the
 * operator or the program; *error says why. */
bool stand_make(Stand *stand, Arena *arena, GpuModule *module, const Def *def,
                const StandSpec *spec, const char **error);
/* Places them on the device. False: gpu->error says why. */
bool stand_place(Stand *stand, Placing placing);
/* The same inputs, other outputs and workspaces, on the device. */
bool stand_twin(Stand *twin, const Stand *stand);
/* A stand of tensors that are there already. */
bool stand_take(Stand *stand, Arena *arena, GpuModule *module, const Def *def, const StandSpec *spec, Tensor **inputs,
                Tensor **outputs, const char **error);
/* The tensors of another program's stand, on the device as well; own workspaces. */
bool stand_share(Stand *stand, const Stand *from);
void stand_free(Stand *stand);
/* The same tensors at other addresses, contents included: another stand's with its own memory. */
bool stand_again(Stand *to, const Stand *from);
/* How many sets of a stand's tensors, together larger than the L2 cache by a factor, fit. */
int stand_sets(Gpu *gpu, const Stand *stand);

bool stand_is_output(const Stand *stand, int tensor);
/* Poisons outputs and workspaces again. */
bool stand_reset(const Stand *stand);
/* Waits, fetches the outputs into `to` (by tensor of the ABI), and sets *problem
 * to a sentence when anything else was changed or an output not written. */
bool stand_fetch(const Stand *stand, Tensor *const *to, const char **problem);

#endif
