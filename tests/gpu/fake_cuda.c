/* fake_cuda.c: a stand-in for libcuda.so.1 that gpu_rig.h compiles and loads.
 *
 * Device memory is host memory. A module has the entries `twice` and
 * `twice_any`, which write O = 2 A for A (batch, n, 32) fp32 in blocks of 16
 * rows; a word in the "PTX" plants a fault. The driver itself insists on what a
 * real one does: no launch of 0 blocks, no unaligned address in the aligned
 * entry, nothing after a launch that failed.
 *
 * A word may also say what the driver makes of a module: it spills registers of the fast
 * entries (`spill`) or of all (`spillall`), or serialises products of `turns` (`serial`), and
 * then `turns` gives something else, so that a test sees which was launched; it does not
 * take the image (`refuse`). `cubin` changes all results: of which image they are.
 *
 * Some faults are those of a kernel that is out to deceive: it does its work once for each
 * buffer (`memo`), gives again what it gave before (`cached`), does nothing for numbers that
 * it has seen (`again`), does it while it is young
 * (`tired`), at one shape (`usual`), for small numbers (`small`), or after events have been
 * taken (`late`); or its events say what no hardware can do (`instant`), or launches fail
 * when nobody looks any more (`status`). An honest one may be kept waiting by its host (`pause`).
 *
 * `turns` and `turns_any` do the same in persistent blocks, 16 and 32 at most, that take
 * places from a counter; `turns` knows A by its tensor map alone. Launches on two
 * streams must not share a counter.
 *
 * The probe of src/gpu/clock.c is a module of its own: it writes down that
 * multiprocessors run at 1500 MHz, all but the first of them, which has just started.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    OK = 0,
    INVALID = 1,
    NO_BINARY = 209,
    BAD_PTX = 218,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    MISALIGNED = 716
};
enum { WIDTH = 32, ROWS = 16, ARGS = 8, MAX_LAUNCHES = 16, LONG_USED = 150, WHOLE = 1 << 16, MOST_SEEN = 4096 };

typedef struct Map {
    uint64_t address, dims[3], strides[2];
} Map;

typedef struct Launch {
    void *function;
    unsigned blocks;
    int64_t args[ARGS];
    Map map;
    uint32_t *counter; /* NULL: blocks are not persistent */
} Launch;

static struct {
    char fault[32];
    int dead; /* what every call returns from now on */
    long launches;
    int allocations;
    void *capturing; /* a stream */
    Launch captured[MAX_LAUNCHES];
    int n_captured;
    uint32_t *counter; /* of the last launch that had one, and its stream */
    void *counting;
    void *staged; /* an upload that has not landed */
    uint64_t to;
    size_t bytes;
    long recorded; /* launches when the event before the last was recorded, and the last */
    long recording;
    int paused;    /* `pause` has kept somebody waiting */
} fake;

/* What `memo` and `cached` remember of buffers. */
static struct {
    float *at, *copy;
} known[256];
static int n_known;
static uint64_t seen[MOST_SEEN]; /* digests of what `again` has seen */
static int n_seen;

static char clock_module; /* its address stands for the probe */

static int has(const char *fault)
{
    return strcmp(fake.fault, fault) == 0;
}

/* ---- the kernel --------------------------------------------------------------------- */

typedef struct Args {
    float *a, *o;
    int64_t a_stride[2], o_stride[2];
    int32_t batch, n;
} Args;

static Args unpack(const Launch *l)
{
    Args args = {(float *)(uintptr_t)l->args[0],
                 (float *)(uintptr_t)l->args[1],
                 {l->args[2], l->args[3]},
                 {l->args[4], l->args[5]},
                 (int32_t)l->args[6],
                 (int32_t)l->args[7]};
    return args;
}

static float value_of(float a, const Args *args, int64_t row)
{
    if (has("instant"))
        return 2 * a;
    if (has("wrong") || has("cubin"))
        return 2.001f * a;
    if (has("nan") && row == args->n - 1)
        return 0.0f / (a - a);
    if (has("flaky") && row == 0)
        return 2 * a + (float)(fake.launches % 2);
    if (has("rounding") && row == 0 && a < 0 && args->n > ROWS)
        return 2 * a * (1 - 0x1p-24f * (float)(fake.launches % 2));
    if (has("usual") && (args->batch != 3 || args->n != 70))
        return a;
    if (has("small") && a > 8)
        return a;
    if (has("tired") && fake.launches > LONG_USED)
        return a;
    if (has("ragged") && args->n % ROWS == 1 && row == args->n - 1)
        return a;
    return 2 * a;
}

static void write_row(const Args *args, int64_t b, int64_t row)
{
    const float *a = args->a + b * args->a_stride[0] + row * args->a_stride[1];
    float *o = args->o + b * args->o_stride[0] + row * args->o_stride[1];
    if (has("unwritten") && row == args->n / 2)
        return;
    for (int i = 0; i < WIDTH; i++)
        o[i] = value_of(a[i], args, row);
    if (has("gap"))
        o[WIDTH] = 0;
    if (has("contiguous")) /* a kernel that does not look at strides */
        args->o[(b * args->n + row) * WIDTH] = 2 * a[0];
}

static void run_block(const Launch *l, unsigned block)
{
    Args args = unpack(l);
    unsigned tiles = (unsigned)((args.n + ROWS - 1) / ROWS);
    int64_t b = block / tiles, first = (int64_t)(block % tiles) * ROWS;
    for (int64_t row = first; row < first + ROWS && row < args.n; row++)
        write_row(&args, b, row);
}

/* One persistent block; every one fetches a place in vain at its end. */
static void run_turns(const Launch *l)
{
    Args args = unpack(l);
    unsigned places = (unsigned)((args.n + ROWS - 1) / ROWS * args.batch);
    unsigned last = places + l->blocks - 1;
    for (;;) {
        uint32_t place = *l->counter;
        *l->counter = place >= last && !has("counter") ? 0 : place + 1;
        if (place >= places)
            return;
        run_block(l, place);
    }
}

/* Where a buffer is remembered; -1: it is seen for the first time. */
static int find_known(const float *at)
{
    for (int i = 0; i < n_known; i++)
        if (known[i].at == at)
            return i;
    return -1;
}

static size_t output_bytes(const Args *args)
{
    size_t bytes = (size_t)args->batch * (size_t)args->n * WIDTH * sizeof(float);
    return bytes < WHOLE ? bytes : WHOLE;
}

/* Nonzero: there is nothing left to do. */
static int remembered(const Args *args)
{
    int i = has("memo") || has("cached") ? find_known(args->o) : -1;
    if (i >= 0 && has("cached"))
        memcpy(args->o, known[i].copy, output_bytes(args));
    return i >= 0;
}

static void remember(const Args *args)
{
    if ((!has("memo") && !has("cached")) || n_known == 256)
        return;
    known[n_known].at = args->o;
    known[n_known].copy = malloc(WHOLE);
    memcpy(known[n_known++].copy, args->o, output_bytes(args));
}

/* Nonzero: the same numbers as once before. */
static int seen_before(const Args *args)
{
    uint64_t digest = 14695981039346656037u;
    if (!has("again"))
        return 0;
    for (int i = 0; i < WIDTH; i++) {
        uint32_t bits;
        memcpy(&bits, args->a + i, sizeof bits);
        digest = (digest ^ bits) * 1099511628211u;
    }
    for (int i = 0; i < n_seen; i++)
        if (seen[i] == digest)
            return 1;
    if (n_seen < MOST_SEEN)
        seen[n_seen++] = digest;
    return 0;
}

static void forget(void)
{
    n_seen = 0;
    while (n_known > 0)
        free(known[--n_known].copy);
}

static int run(const Launch *l)
{
    Args args = unpack(l);
    fake.launches++;
    if (seen_before(&args) || remembered(&args))
        return OK;
    if (has("crash"))
        abort();
    if (has("illegal"))
        return fake.dead = ILLEGAL_ADDRESS;
    for (unsigned block = 0; block < l->blocks; block++)
        if (l->counter)
            run_turns(l);
        else
            run_block(l, block);
    if ((has("fast") || has("spill") || has("serial")) && l->function == (void *)3)
        args.o[0] += 1;
    if (has("before"))
        args.o[-3] = 1;
    if (has("after") && args.n > 0 && args.batch > 0)
        args.o[(args.batch - 1) * args.o_stride[0] + (args.n - 1) * args.o_stride[1] + WIDTH + 9] =
            1;
    if (has("input"))
        args.a[0] += 1;
    remember(&args);
    return OK;
}

static int misaligned(const Launch *l)
{
    int64_t bits = l->args[0] | l->args[1];
    for (int i = 2; i < 6; i++)
        bits |= l->args[i] * 4;
    return l->function == (void *)1 && bits % 16 != 0;
}

/* What the fast entry reads is where its map says. */
static int take_map(Launch *l)
{
    if (l->function != (void *)3)
        return OK;
    l->args[0] = (int64_t)l->map.address;
    if (l->map.dims[0] != WIDTH || (int64_t)l->map.dims[1] != (int32_t)l->args[7] ||
        (int64_t)l->map.dims[2] != (int32_t)l->args[6] || l->map.strides[0] != (uint64_t)l->args[3] * 4 ||
        l->map.strides[1] != (uint64_t)l->args[2] * 4)
        return INVALID;
    return OK;
}

/* Launches on different streams may overlap until the host has waited. */
static int take_counter(const Launch *l, void *stream)
{
    if (fake.counter == l->counter && fake.counting != stream)
        return INVALID;
    fake.counter = l->counter;
    fake.counting = stream;
    return OK;
}

static int unpack_turns(Launch *l, void *stream, void **params)
{
    memcpy(&l->map, params[0], sizeof l->map);
    memcpy(&l->counter, params[3], 8);
    for (int i = 0; i < 6; i++)
        memcpy(&l->args[i], params[i < 2 ? 1 + i : 2 + i], 8);
    for (int i = 6; i < 8; i++)
        l->args[i] = *(const int32_t *)params[2 + i];
    return l->blocks > (l->function == (void *)3 ? 16 : 32) || take_map(l) || take_counter(l, stream) ? INVALID : OK;
}

static void unpack_params(Launch *l, void **params)
{
    for (int i = 0; i < 6; i++)
        memcpy(&l->args[i], params[i], 8);
    for (int i = 6; i < 8; i++)
        l->args[i] = *(const int32_t *)params[i];
}

/* The driver wants an aligned handle and 16-byte strides; rank 3 is all we have. */
int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int fill)
{
    Map m = {(uint64_t)(uintptr_t)address, {dims[0], dims[1], dims[2]}, {strides[0], strides[1]}};
    if ((uintptr_t)map % 64 || type != 7 || rank != 3 || m.address % 16 || m.strides[0] % 16 ||
        m.strides[1] % 16 || box[0] != 8 || box[1] != 16 || box[2] != 1 || steps[0] != 1 ||
        steps[1] != 1 || steps[2] != 1 || interleave || swizzle != 1 || promotion != 3 || fill)
        return INVALID;
    memset(map, 0, 128);
    memcpy(map, &m, sizeof m);
    return has("maps") ? INVALID : OK;
}

/* The last upload lands when the default stream does something more, or the host waits
 * for all streams: a stream of one's own does not wait for it (CUDA driver API, "API
 * synchronization behavior"). */
static void land(void)
{
    if (fake.staged) memcpy((void *)(uintptr_t)fake.to, fake.staged, fake.bytes);
    free(fake.staged);
    fake.staged = NULL;
}

/* 10 microseconds a launch, as an event has it. */
static int run_probe(const Launch *l, void **params)
{
    uint64_t *marks, time = 1000000 + (uint64_t)fake.launches * 10000;
    memcpy(&marks, params[0], sizeof marks);
    land();
    for (unsigned sm = 0; sm < l->blocks && sm < 16; sm++) {
        marks[2 * sm] = sm ? sm * 1000000 + time * 3 / 2 : 5;
        marks[2 * sm + 1] = time;
    }
    return OK;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
    Launch l = {.function = function, .blocks = gx};
    if (fake.dead)
        return fake.dead;
    if (has("status") && fake.launches > LONG_USED)
        return ILLEGAL_ADDRESS;
    if (function == &clock_module)
        return has("clock") ? INVALID : run_probe(&l, params);
    if (gx == 0 || gy != 1 || gz != 1 || bx != 64 || by != 1 || bz != 1 || shared != 60000 || extra)
        return INVALID;
    if (function <= (void *)2)
        unpack_params(&l, params);
    else if (unpack_turns(&l, stream, params))
        return INVALID;
    if (misaligned(&l))
        return MISALIGNED;
    if (!stream)
        land();
    if (!fake.capturing || stream != fake.capturing)
        return run(&l);
    fake.captured[fake.n_captured++ % MAX_LAUNCHES] = l;
    return OK;
}

/* ---- streams, graphs, events -------------------------------------------------------- */

int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    *stream = malloc(1);
    return fake.dead;
}

int cuStreamDestroy_v2(void *stream)
{
    free(stream);
    return OK;
}

int cuStreamSynchronize(void *stream)
{
    fake.counter = stream == fake.counting ? NULL : fake.counter;
    return fake.dead;
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    fake.capturing = stream;
    fake.n_captured = 0;
    return mode == 2 ? OK : INVALID;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    *graph = fake.captured;
    return stream == fake.capturing ? (fake.capturing = NULL, OK) : INVALID;
}

int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    *exec = graph;
    return flags ? INVALID : OK;
}

int cuGraphLaunch(void *exec, void *stream)
{
    (void)stream;
    for (int i = 0; exec && i < fake.n_captured; i++)
        run(&fake.captured[i]);
    return fake.dead;
}

int cuGraphExecDestroy(void *exec)
{
    return exec ? OK : INVALID;
}

int cuGraphDestroy(void *graph)
{
    return graph ? OK : INVALID;
}

/* An event remembers how many launches there were; each takes 10 microseconds. */
int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(long));
    return OK;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    return OK;
}

int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    *(long *)event = fake.launches;
    fake.recorded = fake.recording;
    fake.recording = fake.launches;
    return OK;
}

int cuEventSynchronize(void *event)
{
    int late = has("late") || (has("pause") && !fake.paused);
    if (late && fake.launches > LONG_USED && fake.recording - fake.recorded <= 64) {
        fake.paused = 1;
        nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL);
    }
    return event ? fake.dead : INVALID;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
    *ms = (has("instant") && fake.launches > LONG_USED ? 1e-4f : 1) * (float)(*(long *)to - *(long *)from);
    return OK;
}

/* ---- memory ------------------------------------------------------------------------- */

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    *available = *total = (size_t)1 << 30;
    return OK;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    void *at = NULL;
    if (fake.dead || posix_memalign(&at, 256, bytes ? bytes : 1) != 0)
        return fake.dead ? fake.dead : 2;
    *address = (uint64_t)(uintptr_t)at;
    fake.allocations++;
    return OK;
}

int cuMemFree_v2(uint64_t address)
{
    land();
    free((void *)(uintptr_t)address);
    fake.allocations--;
    return OK;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    land();
    fake.to = to;
    fake.bytes = bytes;
    fake.staged = malloc(bytes);
    memcpy(fake.staged, from, bytes);
    return fake.dead;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    land();
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return fake.dead;
}

/* ---- modules ------------------------------------------------------------------------ */

static const char plain_log[] = "ptxas info : Used 40 registers\n\n";
static const char serial_log[] =
    "info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
    "insufficient register resources for the wgmma pipeline in the function 'turns'\n"
    "info    : Compiling entry function 'turns' for 'sm_90a'\n";

/* Fast entries have odd numbers. */
static int local_bytes(void *function)
{
    return has("spillall") || (has("spill") && (uintptr_t)function % 2) ? 640 : 16;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                       void **values)
{
    const char *fault = strstr(image, "fault=");
    (void)options;
    if (strstr(image, ".entry tw_clock(")) {
        *module = &clock_module;
        return count == 0 && strstr(image, ".target sm_80\n") ? fake.dead : INVALID;
    }
    memset(fake.fault, 0, sizeof fake.fault);
    for (size_t i = 0; fault && i + 1 < sizeof fake.fault && fault[6 + i] > ' '; i++)
        fake.fault[i] = fault[6 + i];
    fake.dead = OK;
    fake.launches = 0;
    fake.paused = 0;
    forget();
    *module = &fake;
    if (count != 5)
        return INVALID;
    strcpy(values[0], *(const char *)image == 0x7f ? "" : has("serial") ? serial_log : plain_log);
    if (has("refuse"))
        return NO_BINARY;
    strcpy(values[2], has("syntax") ? "ptxas fatal : Unresolved extern\n" : "");
    return has("syntax") ? BAD_PTX : OK;
}

int cuModuleUnload(void *module)
{
    return module == &fake || module == &clock_module ? OK : INVALID;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = strcmp(name, "twice") == 0       ? (void *)1
                : strcmp(name, "twice_any") == 0 ? (void *)2
                : strcmp(name, "turns") == 0     ? (void *)3
                : strcmp(name, "turns_any") == 0 ? (void *)4
                : strcmp(name, "tw_clock") == 0  ? (void *)&clock_module
                                                 : NULL;
    return module != (*function == &clock_module ? (void *)&clock_module : (void *)&fake) ? INVALID : *function ? OK : NOT_FOUND;
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    *value = attribute == 4 ? 40 : attribute == 3 ? local_bytes(function) : attribute == 0 ? 1024 : 0;
    return function ? OK : INVALID;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    return function && attribute == 8 && value == 60000 ? OK : INVALID;
}

/* ---- devices ------------------------------------------------------------------------ */

int cuInit(unsigned flags)
{
    return (int)flags;
}

int cuDriverGetVersion(int *version)
{
    *version = 12040;
    return OK;
}

int cuGetErrorName(int status, const char **name)
{
    *name = status == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
    return OK;
}

int cuGetErrorString(int status, const char **text)
{
    *text = status == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "an error";
    return OK;
}

int cuDeviceGetCount(int *count)
{
    *count = 1;
    return OK;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return OK;
}

int cuDeviceGetName(char *name, int size, int device)
{
    strncpy(name, "Fake GPU", (size_t)size);
    return device;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const char *capability = getenv("FAKE_CAPABILITY"); /* "80" */
    *value = attribute == 38 ? 1 << 20 : attribute == 36 ? 1000000 : attribute == 37 ? 4096 : attribute; /* L2; 1 TB/s */
    if (capability && (attribute == 75 || attribute == 76))
        *value = attribute == 75 ? atoi(capability) / 10 : atoi(capability) % 10;
    return device;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)1 << 30;
    return device;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &fake;
    return device;
}

/* The last thing that is called: everything must have been given back. */
int cuDevicePrimaryCtxRelease_v2(int device)
{
    if (fake.allocations && !fake.dead)
        abort();
    return device;
}

int cuCtxSetCurrent(void *context)
{
    return context == &fake ? OK : INVALID;
}

int cuCtxSynchronize(void)
{
    while (has("hang"))
        pause();
    land();
    fake.counter = NULL;
    return fake.dead;
}
