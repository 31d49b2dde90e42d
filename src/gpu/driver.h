/* driver.h: what the files of this folder share: the driver's functions, the
 * device, modules, buffers on the device, launches.
 *
 * Vocabulary
 *   status   what every function of the driver returns; 0 is success
 *   buffer   device memory of one tensor: guard, tensor with its gaps, guard
 *   image    the bytes of a buffer as the host sent them
 *   call     everything that one launch of a program needs
 */
#ifndef TW_GPU_DRIVER_H
#define TW_GPU_DRIVER_H

#include "gpu/gpu.h"

typedef struct Driver {
    void *library;
#define CU(field, symbol, parameters) int(*field) parameters;
#include "gpu/driver.def"
#undef CU
} Driver;

/* Values of the driver API's enumerations. */
enum {
    CU_ATTR_CLOCK_KHZ = 13, /* CUdevice_attribute */
    CU_ATTR_SMS = 16,
    CU_ATTR_MEMORY_KHZ = 36,
    CU_ATTR_BUS_BITS = 37,
    CU_ATTR_L2_BYTES = 38,
    CU_ATTR_CC_MAJOR = 75,
    CU_ATTR_CC_MINOR = 76,

    CU_FUNC_MAX_THREADS = 0, /* CUfunction_attribute */
    CU_FUNC_STATIC_SHARED = 1,
    CU_FUNC_LOCAL_BYTES = 3,
    CU_FUNC_REGS = 4,
    CU_FUNC_DYNAMIC_SHARED = 8,

    CU_JIT_INFO_LOG = 3, /* CUjit_option */
    CU_JIT_INFO_SIZE = 4,
    CU_JIT_ERROR_LOG = 5,
    CU_JIT_ERROR_SIZE = 6,
    CU_JIT_LOG_VERBOSE = 12,

    CU_JIT_INPUT_PTX = 1, /* CUjitInputType */

    CU_MAP_INTERLEAVE_NONE = 0, /* CUtensorMapInterleave, CUtensorMapL2promotion, CUtensorMapFloatOOBfill */
    CU_MAP_L2_PROMOTION_256 = 3,
    CU_MAP_FILL_ZEROS = 0,

    CU_STREAM_NON_BLOCKING = 1,
    CU_CAPTURE_RELAXED = 2
};

struct Gpu {
    Arena *arena;
    Driver cu;
    int device, sms;
    void *context;
    int patience;      /* seconds that one wait may take; 0: any time */
    const char *error; /* the last failure, as a sentence */
};

typedef struct GpuEntry {
    void *fast, *any;  /* CUfunction */
    bool conservative; /* the fast one did not come out as it was meant: `any` for all tensors */
} GpuEntry;

struct GpuModule {
    Gpu *gpu;
    const Abi *abi;
    void *module;
    GpuEntry *entries; /* one a kernel */
};

/* True when the status is success; else records a sentence that says what was
 * being done. */
bool gpu_ok(Gpu *gpu, int status, const char *doing);
/* Records a failure of our own; returns false. */
bool gpu_fail(Gpu *gpu, const char *fmt, ...) TW_PRINTF(2, 3);
/* Waits for everything, a stream, an event; no longer than gpu->patience. */
bool gpu_wait(Gpu *gpu, const char *doing);
bool gpu_wait_stream(Gpu *gpu, void *stream, const char *doing);
bool gpu_wait_event(Gpu *gpu, void *event, const char *doing);

/* ---- judging (judge.c) -------------------------------------------------------------- */

/* What became of a loaded module's entries; settles which are launched. */
bool gpu_judge(GpuModule *module, const GpuImage *image, GpuLoaded *loaded);

/* ---- buffers (buffer.c) ------------------------------------------------------------- */

enum { GUARD_BYTES = 64 << 10 };

/* How a tensor lies in device memory. */
typedef enum Placing {
    PLACE_PLAIN,      /* as on the host, without gaps but for those of workspaces; aligned as the driver does */
    PLACE_OFFSET,     /* no gaps, one element further: unaligned */
    PLACE_PADDED,     /* rows 8 elements apart: still aligned */
    PLACE_ODD,        /* rows 1 element apart: unaligned strides */
    PLACE_TRANSPOSED, /* the second- and third-last dimensions change places in memory */
    PLACE_COUNT
} Placing;
const char *placing_name(Placing placing);

typedef struct Buffer {
    Tensor view;      /* shape and strides on the device; no data */
    uint64_t base;    /* 0: none */
    size_t bytes;     /* guards and gaps included */
    size_t lead;      /* bytes before element (0, ..., 0) */
    uint64_t address; /* of that element */
    char *image;      /* in the case's arena */
} Buffer;

/* The 16-bit word that guards, gaps and poisoned outputs are made of: a NaN as
 * bf16, fp16, and as the upper half of fp32 and fp64, that no arithmetic gives. */
uint16_t guard_word(size_t index);

/* Strides, size and image of a host tensor (contents: those of `from`, or
 * poison when poison is set). Touches no device. */
void buffer_plan(Arena *arena, Buffer *buffer, const Tensor *from, Placing placing, bool poison);
/* Other elements into its image, from a tensor like the one that it was planned for. */
void buffer_take(Buffer *buffer, const Tensor *from);
bool buffer_create(Gpu *gpu, Buffer *buffer); /* allocates, uploads the image */
bool buffer_reset(Gpu *gpu, const Buffer *buffer);
void buffer_free(Gpu *gpu, Buffer *buffer);

/* What downloaded bytes of a buffer show, apart from its elements. */
typedef enum Damage { DAMAGE_NONE, DAMAGE_BEFORE, DAMAGE_GAP, DAMAGE_AFTER, DAMAGE_ELEMENT } Damage;
/* Compares bytes with the image. written: elements may differ, and are copied
 * to `to` (a host tensor without gaps; NULL: nowhere); else DAMAGE_ELEMENT. The
 * bytes are changed. *unwritten counts elements that still hold the poison, of types in which that is no number. */
Damage buffer_inspect(const Buffer *buffer, char *bytes, bool written, Tensor *to,
                      int64_t *unwritten);

/* ---- launches (launch.c) ------------------------------------------------------------ */

typedef struct GpuCall {
    GpuModule *module;
    Tensor **views; /* one a tensor of the ABI */
    uint64_t *addresses;
    int64_t *dims;
    double *params;
    uint64_t *counters; /* one a kernel: of this call alone, since others may run at the same time */
} GpuCall;

/* Dimensions and parameters in the ABI's order. */
bool gpu_bind(Arena *arena, const Abi *abi, const Def *def, const RefBinding *bindings,
              int n_bindings, int64_t *dims, double *params, const char **error);
/* All kernels in order; asynchronous. stream NULL: the default one. */
bool gpu_launch(const GpuCall *call, void *stream);

/* ---- shapes (shapes.c) -------------------------------------------------------------- */

typedef struct GpuShape {
    RefBinding *bindings;
    int n;
    const char *what; /* "batch=2 q_len=129" */
} GpuShape;

typedef struct GpuShapes {
    VEC(GpuShape) list;
} GpuShapes;

/* What inputs are filled with when nothing is said: numbers whose scores lie near
 * and far apart, whose maxima keep growing, all of one sign; and ones so small that
 * an epsilon beside them shows. */
const FillKind *gpu_fills(int *count);
/* Small, ragged and empty shapes round the boundaries of tiles. Not each one is
 * legal for the operator. */
GpuShapes *gpu_shapes(Arena *arena, const Abi *abi, const Def *def, const RefBinding *requested,
                      int n_requested, uint64_t seed);
/* Shapes at the ends of the ranges of a length, each of which has a kernel of its own; none, where all have the same one. */
GpuShapes *gpu_range_shapes(Arena *arena, const Abi *abi, const Def *def, const RefBinding *requested,
                            int n_requested, uint64_t seed);
/* Elements along `dim` that one block takes, as the grid's expressions say; 0:
 * they say nothing. */
int64_t gpu_grid_tile(const Abi *abi, const char *dim);
const char *gpu_shape_text(Arena *arena, const RefBinding *bindings, int n);

#endif
