/* driver.c: the CUDA driver, found at run time.
 *
 * libcuda.so.1 is installed with the kernel driver and nothing else of CUDA is
 * needed. A machine without it gets a sentence, and everything else of the
 * compiler works there.
 */
#include "gpu/driver.h"

#include <dlfcn.h>
#include <unistd.h>

static const char *missing_symbol(Driver *cu)
{
    static const struct {
        const char *name;
        bool optional;
    } symbols[] = {
#define CU(field, symbol, parameters) {symbol, false},
#define CU_MAY(field, symbol, parameters) {symbol, true},
#include "gpu/driver.def"
#undef CU
    };
    void *const *const functions[] = {
#define CU(field, symbol, parameters) (void *const *)(void *)&cu->field,
#include "gpu/driver.def"
#undef CU
    };
    for (size_t i = 0; i < TW_COUNT(symbols); i++) {
        void *found = dlsym(cu->library, symbols[i].name);
        memcpy((void *)functions[i], &found, sizeof found);
        if (!found && !symbols[i].optional)
            return symbols[i].name;
    }
    return NULL;
}

static bool load(Gpu *gpu)
{
    gpu->cu.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!gpu->cu.library)
        return gpu_fail(gpu, "no NVIDIA driver was found: libcuda.so.1 cannot be loaded");
    const char *missing = missing_symbol(&gpu->cu);
    if (missing)
        return gpu_fail(gpu, "the NVIDIA driver is too old: it lacks %s (CUDA 11.4 has it)",
                        missing);
    return true;
}

bool gpu_fail(Gpu *gpu, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    gpu->error = arena_vprintf(gpu->arena, fmt, args);
    va_end(args);
    return false;
}

bool gpu_ok(Gpu *gpu, int status, const char *doing)
{
    const char *name = NULL, *text = NULL;
    if (status == 0)
        return true;
    if (gpu->cu.error_name(status, &name) != 0 || !name)
        name = "unknown error";
    if (gpu->cu.error_string(status, &text) != 0 || !text)
        text = "no description";
    return gpu_fail(gpu, "%s: %s (%s, %d)", doing, text, name, status);
}

/* ---- waiting ------------------------------------------------------------------------ */

/* A wait for a kernel that never ends does not return. The alarm ends the whole
 * process, which is why only a guarded one has a limit to its patience. */
static void set_alarm(const Gpu *gpu, bool on)
{
    if (gpu->patience > 0)
        alarm(on ? (unsigned)gpu->patience : 0);
}

bool gpu_wait(Gpu *gpu, const char *doing)
{
    set_alarm(gpu, true);
    int status = gpu->cu.context_sync();
    set_alarm(gpu, false);
    return gpu_ok(gpu, status, doing);
}

bool gpu_wait_stream(Gpu *gpu, void *stream, const char *doing)
{
    set_alarm(gpu, true);
    int status = gpu->cu.stream_sync(stream);
    set_alarm(gpu, false);
    return gpu_ok(gpu, status, doing);
}

bool gpu_wait_event(Gpu *gpu, void *event, const char *doing)
{
    set_alarm(gpu, true);
    int status = gpu->cu.event_sync(event);
    set_alarm(gpu, false);
    return gpu_ok(gpu, status, doing);
}

void gpu_set_patience(Gpu *gpu, int seconds)
{
    gpu->patience = seconds;
}

/* ---- the device --------------------------------------------------------------------- */

static int attribute(Gpu *gpu, int which)
{
    int value = 0;
    return gpu->cu.device_attribute(&value, which, gpu->device) == 0 ? value : 0;
}

static bool open_device(Gpu *gpu)
{
    Driver *cu = &gpu->cu;
    int count = 0;
    if (!gpu_ok(gpu, cu->init(0), "starting the NVIDIA driver") ||
        !gpu_ok(gpu, cu->device_count(&count), "counting GPUs"))
        return false;
    if (count == 0)
        return gpu_fail(gpu, "there is an NVIDIA driver, but no GPU");
    return gpu_ok(gpu, cu->device_get(&gpu->device, 0), "opening GPU 0") &&
           gpu_ok(gpu, cu->context_retain(&gpu->context, gpu->device),
                  "opening a context on the GPU") &&
           gpu_ok(gpu, cu->context_set(gpu->context), "entering the GPU's context");
}

Gpu *gpu_open(Arena *arena, const char **error)
{
    Gpu *gpu = arena_new_of(arena, Gpu);
    gpu->arena = arena;
    if (load(gpu) && open_device(gpu)) {
        gpu->sms = attribute(gpu, CU_ATTR_SMS);
        return gpu;
    }
    *error = gpu->error;
    gpu_close(gpu);
    return NULL;
}

/* The library stays: its threads may still be at work. */
void gpu_close(Gpu *gpu)
{
    if (gpu->context)
        gpu->cu.context_release(gpu->device);
    gpu->context = NULL;
}

void gpu_info(Gpu *gpu, GpuInfo *info)
{
    size_t memory = 0;
    *info = (GpuInfo){.cc_major = attribute(gpu, CU_ATTR_CC_MAJOR),
                      .cc_minor = attribute(gpu, CU_ATTR_CC_MINOR),
                      .sms = attribute(gpu, CU_ATTR_SMS),
                      .l2 = attribute(gpu, CU_ATTR_L2_BYTES),
                      .clock_khz = attribute(gpu, CU_ATTR_CLOCK_KHZ)};
    if (gpu->cu.device_name(info->name, (int)sizeof info->name, gpu->device) != 0)
        strcpy(info->name, "unknown GPU");
    if (gpu->cu.device_memory(&memory, gpu->device) == 0)
        info->memory = (int64_t)memory;
    if (gpu->cu.driver_version(&info->driver) != 0)
        info->driver = 0;
}
