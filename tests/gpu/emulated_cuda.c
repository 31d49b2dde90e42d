/* emulated_cuda.c: a stand-in for libcuda.so.1 whose GPU is the PTX emulator, so that
 * whole commands run where there is no GPU. tune.sh and translate.sh compile it.
 *
 * Device memory is what the emulator keeps; a module is its PTX, and so is a cubin. A
 * launch takes as long as its instructions say. EMULATED_HANG names an entry whose
 * launches never end, if their blocks have so many threads: "NAME:THREADS" (with EMULATED_HASTE
 * the limit on them comes at once; the file that EMULATED_SIGN names tells of them; none does
 * while there is a file that EMULATED_MENDED names); EMULATED_WRONG one that leaves its outputs as they are.
 */
#include "emu/emu.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, BAD_PTX = 218, NOT_FOUND = 500, FAULT = 700, MOST = 4096, MOST_PARAMS = 256 };

/* Nanoseconds of an instruction that a warp executes, of a pass over shared memory: slow
 * enough that few launches make a measurement. */
static const double instruction_ns = 2000, wavefront_ns = 4000;

typedef struct Memory {
    uint64_t address;
    char *host;
    size_t bytes;
} Memory;

typedef struct Module {
    EmuModule *emu;
    const char *ptx;
} Module;

typedef struct Function {
    Module *module;
    const char *name;
    int entry, n_params;
    size_t offsets[MOST_PARAMS], sizes[MOST_PARAMS], bytes;
} Function;

typedef struct Pending { /* a launch */
    const Function *function;
    EmuLaunch launch;
} Pending;

typedef VEC(Pending) Graph;

static struct {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    EmuMemory *memory;
    Memory blocks[MOST];
    int n_blocks, dead, hangs;
    double clock_ms;
    Graph *captured; /* what is launched goes there; NULL: nothing is captured */
} gpu;

int cuInit(unsigned flags)
{
    if (gpu.arena)
        return OK;
    if (setjmp(gpu.oom))
        abort();
    gpu.heap.on_oom = &gpu.oom;
    gpu.arena = arena_new(&gpu.heap);
    gpu.memory = emu_memory_new(gpu.arena);
    return flags ? INVALID : OK;
}

/* ---- the device ------------------------------------------------------------------------ */

int cuDriverGetVersion(int *version) { return *version = 12080, OK; }
int cuGetErrorName(int status, const char **name) { return *name = status == FAULT ? "FAULT" : "ERROR", OK; }
int cuGetErrorString(int status, const char **text) { return *text = status == FAULT ? "the emulator found a fault" : "an error", OK; }
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)1 << 32, device; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &gpu, device; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device; }
int cuCtxSetCurrent(void *context) { return context == &gpu ? OK : INVALID; }
/* A launch that never ends is met by whoever waits for it. */
static int settled(void)
{
    FILE *sign = gpu.hangs && getenv("EMULATED_SIGN") ? fopen(getenv("EMULATED_SIGN"), "w") : NULL;

    if (sign) {
        fprintf(sign, "%ld\n", (long)getpid());
        fclose(sign);
    }
    if (gpu.hangs && getenv("EMULATED_HASTE") && alarm(0) > 0)
        raise(SIGALRM);
    while (gpu.hangs)
        pause();
    return gpu.dead;
}

int cuCtxSynchronize(void) { return settled(); }
int cuMemGetInfo_v2(size_t *available, size_t *total) { return *available = *total = (size_t)1 << 32, OK; }
int cuStreamCreate(void **stream, unsigned flags) { return *stream = &gpu, (void)flags, OK; }
int cuStreamDestroy_v2(void *stream) { return (void)stream, OK; }
int cuStreamSynchronize(void *stream) { return (void)stream, settled(); }
int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Emulated GPU");
    return device;
}

/* CUdevice_attribute: multiprocessors, bytes of L2, the capability. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 16 ? 4 : attribute == 38 ? 1 << 16 : attribute == 75 ? 9 : 0;
    return device;
}

/* ---- memory ---------------------------------------------------------------------------- */

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    char *host = bytes && gpu.n_blocks < MOST ? calloc(1, bytes) : NULL;

    if (!host)
        return NO_MEMORY;
    *address = emu_memory_add(gpu.memory, "memory", host, bytes, true, false, 0);
    gpu.blocks[gpu.n_blocks++] = (Memory){*address, host, bytes};
    return gpu.dead;
}

int cuMemFree_v2(uint64_t address)
{
    return address ? OK : INVALID;
}

static char *host_of(uint64_t address, size_t bytes)
{
    for (int i = 0; i < gpu.n_blocks; i++)
        if (gpu.blocks[i].address <= address && address + bytes <= gpu.blocks[i].address + gpu.blocks[i].bytes)
            return gpu.blocks[i].host + (address - gpu.blocks[i].address);
    return NULL;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    char *host = host_of(to, bytes);

    if (!host)
        return INVALID;
    memcpy(host, from, bytes);
    return gpu.dead;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    const char *host = host_of(from, bytes);

    if (!host)
        return INVALID;
    memcpy(to, host, bytes);
    return gpu.dead;
}

/* ---- modules ------------------------------------------------------------------------------ */

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
    Module *m = arena_new_of(gpu.arena, Module);
    Source *source = arena_new_of(gpu.arena, Source);

    (void)count, (void)options, (void)values;
    *source = (Source){"module", arena_strdup(gpu.arena, image), strlen(image)};
    *m = (Module){emu_parse(gpu.arena, diags_new(gpu.arena, source), source), source->text};
    *module = m;
    return m->emu ? gpu.dead : BAD_PTX;
}

int cuModuleUnload(void *module)
{
    return module ? OK : INVALID;
}

int cuLinkCreate_v2(unsigned count, int *options, void **values, void **link)
{
    (void)count, (void)options, (void)values;
    *link = arena_new_of(gpu.arena, Module);
    return OK;
}

int cuLinkAddData_v2(void *link, int type, void *data, size_t bytes, const char *name, unsigned count, int *options, void **values)
{
    (void)name, (void)count, (void)options, (void)values;
    ((Module *)link)->ptx = arena_strndup(gpu.arena, data, bytes - 1);
    return type == 1 ? OK : INVALID;
}

int cuLinkComplete(void *link, void **cubin, size_t *bytes)
{
    *cubin = (void *)(uintptr_t)((Module *)link)->ptx;
    *bytes = strlen(*cubin) + 1;
    return OK;
}

int cuLinkDestroy(void *link)
{
    return link ? OK : INVALID;
}

/* "  .param .align 64 .b8 NAME[128]," or "  .param .u64 NAME," */
static size_t param_size(const char *line, size_t *align)
{
    int elements = 1, bits = 0, aligned = 0;
    const char *type = strstr(line, ".param ") + 7, *bracket;

    if (sscanf(type, ".align %d ", &aligned) == 1)
        type = strchr(type + 1, '.');
    bits = atoi(type + 2);
    bracket = memchr(type, '[', strcspn(type, ",)"));
    if (bracket)
        elements = atoi(bracket + 1);
    *align = aligned ? (size_t)aligned : (size_t)bits / 8;
    return (size_t)bits / 8 * (size_t)elements;
}

static void read_params(Function *f)
{
    const char *at = strstr(f->module->ptx, arena_printf(gpu.arena, ".entry %s(", f->name)), *end = strchr(at + strcspn(at, "("), ')');

    while ((at = strstr(at, ".param ")) && at < end && f->n_params < MOST_PARAMS) {
        size_t align, size = param_size(at, &align);

        f->bytes = (f->bytes + align - 1) / align * align;
        f->offsets[f->n_params] = f->bytes;
        f->sizes[f->n_params++] = size;
        f->bytes += size;
        at += 7;
    }
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    Function *f = arena_new_of(gpu.arena, Function);

    *f = (Function){.module = module, .name = arena_strdup(gpu.arena, name)};
    f->entry = emu_find_entry(f->module->emu, name);
    *function = f;
    if (f->entry < 0)
        return NOT_FOUND;
    read_params(f);
    return OK;
}

/* CUfunction_attribute: registers. */
int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    *value = attribute == 4 ? 64 : 0;
    return function ? OK : INVALID;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    return function && attribute == 8 && value >= 0 ? OK : INVALID;
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill)
{
    static const int bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    EmuTensorMap m = {.base = (uint64_t)(uintptr_t)address, .rank = (int)rank, .element_bytes = bytes[type],
                      .swizzle = swizzle ? 16 << swizzle : 0, .interleave = interleave, .nan_fill = fill};

    (void)promotion;
    for (uint32_t i = 0; i < rank; i++) {
        m.dims[i] = dims[i];
        m.box[i] = box[i];
        m.steps[i] = steps[i];
        if (i + 1 < rank)
            m.strides[i] = strides[i];
    }
    return emu_tensor_map_encode(&m, map) ? INVALID : OK;
}

/* ---- launches ------------------------------------------------------------------------------- */

/* Whether an environment variable plants a fault in this launch. */
static bool planted(const char *variable, const Function *f, unsigned threads)
{
    const char *wanted = getenv(variable);

    return wanted && strcmp(wanted, arena_printf(gpu.arena, "%s:%u", f->name, threads)) == 0;
}

static int run(const Pending *p)
{
    const Function *f = p->function;
    Arena *arena = arena_new(&gpu.heap);
    EmuReport *report = arena_new_of(arena, EmuReport);

    if (planted("EMULATED_HANG", f, (unsigned)p->launch.block[0]) && !(getenv("EMULATED_MENDED") && access(getenv("EMULATED_MENDED"), F_OK) == 0))
        return gpu.hangs = 1, OK;
    if (!planted("EMULATED_WRONG", f, (unsigned)p->launch.block[0]) && !gpu.dead &&
        !emu_run(arena, f->module->emu, f->entry, gpu.memory, &p->launch, report))
        gpu.dead = FAULT;
    gpu.clock_ms += 1e-6 * (instruction_ns * (double)report->warp_instructions + wavefront_ns * (double)report->shared_wavefronts);
    arena_free(arena);
    return gpu.dead;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **params, void **extra)
{
    const Function *f = function;
    Arena *arena = gpu.captured ? gpu.arena : arena_new(&gpu.heap);
    char *space = arena_alloc(arena, f->bytes + 1);
    Pending p = {f, {.grid = {(int)gx, (int)gy, (int)gz}, .block = {(int)bx, (int)by, (int)bz}, .shared_bytes = shared,
                     .params = space, .param_bytes = f->bytes, .no_checks = true}};
    int status = OK;

    (void)stream, (void)extra;
    for (int i = 0; i < f->n_params; i++)
        memcpy(space + f->offsets[i], params[i], f->sizes[i]);
    if (gpu.captured) {
        vec_push(gpu.arena, gpu.captured, p);
        return OK;
    }
    status = run(&p);
    arena_free(arena);
    return status;
}

/* ---- graphs: launches that are kept ---------------------------------------------------------- */

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    gpu.captured = arena_new_of(gpu.arena, Graph);
    return (void)stream, (void)mode, OK;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    *graph = gpu.captured;
    gpu.captured = NULL;
    return (void)stream, OK;
}

int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) { return *exec = graph, (void)flags, OK; }
int cuGraphExecDestroy(void *exec) { return exec ? OK : INVALID; }
int cuGraphDestroy(void *graph) { return graph ? OK : INVALID; }

int cuGraphLaunch(void *exec, void *stream)
{
    const Graph *graph = exec;

    for (int i = 0; i < graph->len; i++)
        run(&graph->data[i]);
    return (void)stream, gpu.dead;
}

/* ---- events ---------------------------------------------------------------------------------- */

int cuEventCreate(void **event, unsigned flags)
{
    *event = arena_new_of(gpu.arena, double);
    return flags ? INVALID : OK;
}

int cuEventDestroy_v2(void *event) { return event ? OK : INVALID; }
int cuEventSynchronize(void *event) { return event ? settled() : INVALID; }

int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    *(double *)event = gpu.clock_ms;
    return gpu.dead;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
    *ms = (float)(*(double *)to - *(double *)from);
    return gpu.dead;
}
