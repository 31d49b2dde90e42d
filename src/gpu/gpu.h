/* gpu.h: the CUDA driver, loaded at run time; launch, verify, time.
 *
 * Only libcuda.so.1 through dlopen; nothing else of CUDA. A machine without a
 * driver gets a sentence.
 */
#ifndef TW_GPU_H
#define TW_GPU_H

#include "abi/abi.h"
#include "assemble/cubin.h"
#include "ref/ref.h"
#include "target/target.h"

typedef struct Gpu Gpu;

/* Opens device 0 (or CUDA_VISIBLE_DEVICES' first). NULL with *error set. */
Gpu *gpu_open(Arena *arena, const char **error);
void gpu_close(Gpu *gpu);

/* A wait for the GPU that takes longer ends the whole process: for guarded
 * processes, see gpu_guarded. 0: no limit. */
void gpu_set_patience(Gpu *gpu, int seconds);

typedef struct GpuInfo {
    char name[128];
    int cc_major, cc_minor, sms, driver;
    int64_t memory, l2;
    int clock_khz;
} GpuInfo;
void gpu_info(Gpu *gpu, GpuInfo *info);

typedef struct GpuModule GpuModule;

/* What a program is loaded from. */
typedef struct GpuImage {
    const char *ptx;
    const char *cubin;     /* machine code of this very PTX; NULL: none */
    const CubinSeal *seal; /* of that cubin; NULL: what ptxas made of the PTX is not known */
} GpuImage;

/* How a kernel came out of the driver's compiler, or of ptxas. Local memory is where
 * registers are spilled to; `meant` is what ptxas needed, -1 where it was not asked. */
typedef struct GpuMade {
    const char *entry;
    int registers, local, meant;
    const char *advisory; /* its products wait one for the other: why; NULL: they do not */
    bool as_meant;
} GpuMade;

typedef struct GpuLoaded {
    bool cubin;              /* it is the cubin; else the driver compiled the PTX */
    const char *log;         /* the driver's; NULL: it said nothing */
    VEC(GpuMade) made;       /* one an entry: of each kernel the fast one, then the other, if it has one */
    VEC(const char *) told;  /* what the user should know: sentences */
} GpuLoaded;

/* Takes the cubin where it is for this device and the driver takes it, else compiles the
 * PTX; then looks at what came out (judge.c). A kernel that spilled or whose products were
 * serialised is launched by its entry for any alignment, where that is a schedule of its own
 * and came out well. NULL: *error, and loaded->log. */
GpuModule *gpu_load_image(Gpu *gpu, const Abi *abi, const GpuImage *image, GpuLoaded *loaded,
                          const char **error);
/* The same with PTX alone; *log gets the driver's messages. */
GpuModule *gpu_load(Gpu *gpu, const Abi *abi, const char *ptx, const char **log, const char **error);
/* The entry that aligned tensors are launched by. */
const AbiEntry *gpu_entry(const GpuModule *module, int kernel);
/* Compiles PTX to a cubin, which gpu_load takes in its place. False: the driver has no
 * such compiler, or complained; *log has its messages. */
bool gpu_compile(Gpu *gpu, const char *ptx, const char **cubin, size_t *bytes, const char **log, const char **error);
typedef struct GpuResources {
    int regs, local_bytes, static_shared, max_threads;
} GpuResources;
/* Of the entry that aligned, or other, tensors are launched by. */
bool gpu_resources(GpuModule *module, int kernel, bool aligned, GpuResources *r);

/* Design.md's "verify": fresh random inputs for each of several fills and
 * shapes, poisoned outputs, guard bands round every buffer, inputs checked
 * unchanged, repeated runs compared bitwise, unaligned and strided variants,
 * error bounded against the oracle relative to the plain baseline. */
typedef struct VerifyOptions {
    const RefBinding *bindings; int n_bindings; /* the requested shape */
    bool quick;             /* a few small and ragged shapes alone, few rows of each */
    bool only_requested;    /* else other, smaller and ragged shapes as well */
    uint64_t seed;
    double bound;           /* 2 */
    void (*progress)(void *user, const char *what);
    void *user;
} VerifyOptions;
typedef struct VerifyCase {
    const char *what;       /* shape, fill, variant */
    RefVerdict verdict;
    bool ok;
    bool says_nothing;      /* of its data the definition makes no number anywhere */
    const char *problem;    /* NULL, or what went wrong */
} VerifyCase;
typedef struct VerifyReport {
    VEC(VerifyCase) cases;
    int failed;
} VerifyReport;
bool gpu_verify(Gpu *gpu, GpuModule *module, const Def *def, const VerifyOptions *options,
                VerifyReport *report, const char **error);

/* Times programs beside each other. Launches stand between two events; rotated sets of
 * tensors larger than L2 keep caches cold; after a warm-up come the rounds, in each of
 * which all programs take their turn in shuffled order. The clock is that of the
 * multiprocessors while the launches of a turn ran. */
typedef struct BenchEntry {
    GpuModule *module;
    const Def *def;
    const RefBinding *bindings; int n_bindings;
    /* what was measured, in the GPU's arena */
    double *ms;             /* of a launch, by round */
    double *mhz;            /* by round; 0: not known */
    int64_t bytes;          /* of the definition's inputs and outputs */
    bool failed;            /* it is this one that the error is about */
} BenchEntry;
typedef struct BenchOptions {
    int rounds;
    uint64_t seed;
    bool suspect; /* programs of others, which may be out to deceive: honest.h */
    void (*progress)(void *user, int round); /* NULL: nobody asks */
    void *user;
} BenchOptions;
bool gpu_bench(Gpu *gpu, BenchEntry *entries, int n, const BenchOptions *options, const char **error);

/* Programs for one definition timed in turn, on the same inputs and outputs. */
typedef struct GpuRace GpuRace;
/* inputs, outputs: as ref_make_tensors made them for the shape. Runs nothing. */
GpuRace *gpu_race_open(Gpu *gpu, const Def *def, const RefBinding *bindings, int n_bindings, Tensor **inputs,
                       Tensor **outputs, int programs);
/* Gives program number i of the race its module. False: *error. */
bool gpu_race_enter(GpuRace *race, int i, GpuModule *module, const char **error);
/* Milliseconds of a launch, caches cold, as the mean of a few milliseconds' launches. */
bool gpu_race_time(GpuRace *race, int i, double *ms, const char **error);
/* Runs program i, and compares its outputs with those of the one that this was asked of
 * first: *distance is the largest over outputs, relative, in the Frobenius norm. */
bool gpu_race_compare(GpuRace *race, int i, double *distance, const char **error);
void gpu_race_close(GpuRace *race);

/* Runs work(user) in a process of its own, which may take so many seconds (0:
 * any time). What it returned (0 to 255), or -1 with *problem: it hung, or it
 * crashed. Open the GPU within, and give it patience: then the time that the
 * CPU takes does not count. Ctrl-C ends it at once (base/stop.h): GPU_STOPPED,
 * where the process has a use for the signal; else it is ended by it. */
enum { GPU_STOPPED = -2 };
int gpu_guarded(double seconds, int (*work)(void *user), void *user, const char **problem);

#endif
