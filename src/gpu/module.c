/* module.c: a cubin, or PTX compiled by the driver: its messages, its resources. */
#include "gpu/driver.h"

enum { LOG_BYTES = 64 << 10 };

/* The driver's log without the blank lines at its end; NULL: it said nothing. */
static const char *tidy(char *log)
{
    size_t len = strlen(log);
    while (len > 0 && (log[len - 1] == '\n' || log[len - 1] == ' '))
        log[--len] = '\0';
    return len ? log : NULL;
}

/* What the driver's compiler is told: an option takes a number or a pointer, both as
 * void *. */
typedef struct Jit {
    int options[5];
    void *values[5];
    char *info, *errors;
} Jit;

static Jit new_jit(Arena *arena)
{
    Jit jit = {{CU_JIT_INFO_LOG, CU_JIT_INFO_SIZE, CU_JIT_ERROR_LOG, CU_JIT_ERROR_SIZE, CU_JIT_LOG_VERBOSE}, {0},
               arena_array(arena, char, LOG_BYTES), arena_array(arena, char, LOG_BYTES)};
    jit.values[0] = jit.info;
    jit.values[2] = jit.errors;
    jit.values[1] = jit.values[3] = (void *)(uintptr_t)(LOG_BYTES - 1);
    jit.values[4] = (void *)(uintptr_t)1;
    return jit;
}

static bool compile(GpuModule *m, const char *image, const char *what, const char **log)
{
    Gpu *gpu = m->gpu;
    Jit jit = new_jit(gpu->arena);
    int status = gpu->cu.module_load(&m->module, image, TW_COUNT(jit.options), jit.options, jit.values);
    *log = tidy(jit.info);
    if (status == 0)
        return true;
    m->module = NULL;
    gpu_ok(gpu, status, what);
    *log = tidy(jit.errors) ? jit.errors : *log;
    return false;
}

/* The link owns the cubin until it is destroyed. */
static bool complete_link(Gpu *gpu, void *link, const char *ptx, const char **cubin, size_t *bytes)
{
    static const char doing[] = "the driver cannot compile the PTX";
    void *made = NULL;
    if (!gpu_ok(gpu, gpu->cu.link_add(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, strlen(ptx) + 1, "kernel", 0, NULL, NULL), doing) ||
        !gpu_ok(gpu, gpu->cu.link_complete(link, &made, bytes), doing))
        return false;
    char *copy = arena_alloc(gpu->arena, *bytes + 1);
    memcpy(copy, made, *bytes);
    *cubin = copy;
    return true;
}

bool gpu_compile(Gpu *gpu, const char *ptx, const char **cubin, size_t *bytes, const char **log, const char **error)
{
    Jit jit = new_jit(gpu->arena);
    void *link = NULL;
    *log = NULL;
    *error = "the driver has no compiler of its own";
    if (!gpu->cu.link_create || !gpu->cu.link_add || !gpu->cu.link_complete || !gpu->cu.link_destroy)
        return false;
    bool ok = gpu_ok(gpu, gpu->cu.link_create(TW_COUNT(jit.options), jit.options, jit.values, &link), "asking for the driver's compiler") &&
              complete_link(gpu, link, ptx, cubin, bytes);
    if (link)
        gpu->cu.link_destroy(link);
    *log = tidy(jit.info);
    if (!ok)
        *log = tidy(jit.errors) ? jit.errors : *log;
    *error = ok ? NULL : gpu->error;
    return ok;
}

static bool find_entry(GpuModule *m, const AbiEntry *entry, void **function)
{
    Gpu *gpu = m->gpu;
    int shared = (int)entry->shared_bytes;
    const char *doing = arena_printf(gpu->arena, "finding the entry %s", entry->name);
    if (!gpu_ok(gpu, gpu->cu.module_function(function, m->module, entry->name), doing))
        return false;
    doing = arena_printf(gpu->arena, "giving %s %d bytes of shared memory", entry->name, shared);
    return gpu_ok(gpu, gpu->cu.function_set(*function, CU_FUNC_DYNAMIC_SHARED, shared), doing);
}

static bool find_entries(GpuModule *m)
{
    const Abi *abi = m->abi;
    m->entries = arena_array(m->gpu->arena, GpuEntry, abi->kernels.len);
    for (int i = 0; i < abi->kernels.len; i++) {
        const AbiKernel *kernel = &abi->kernels.data[i];
        GpuEntry *entry = &m->entries[i];
        if (!find_entry(m, &kernel->fast, &entry->fast))
            return false;
        entry->any = entry->fast;
        if (kernel->any.name && !find_entry(m, &kernel->any, &entry->any))
            return false;
    }
    return true;
}

static bool is_for(Gpu *gpu, const CubinSeal *seal)
{
    GpuInfo info;
    gpu_info(gpu, &info);
    return target_is_of(seal->target, info.cc_major, info.cc_minor);
}

/* What the driver does not take, the PTX stands in for. */
static bool load_cubin(GpuModule *m, const GpuImage *image, GpuLoaded *loaded)
{
    if (!image->cubin || !image->seal || !is_for(m->gpu, image->seal))
        return false;
    loaded->cubin = compile(m, image->cubin, "the driver does not take the cubin", &loaded->log) && find_entries(m);
    if (!loaded->cubin) {
        if (m->module)
            m->gpu->cu.module_unload(m->module);
        m->module = NULL;
        vec_push(m->gpu->arena, &loaded->told,
                 arena_printf(m->gpu->arena, "%s; it compiles the PTX instead", m->gpu->error));
    }
    return loaded->cubin;
}

GpuModule *gpu_load_image(Gpu *gpu, const Abi *abi, const GpuImage *image, GpuLoaded *loaded,
                          const char **error)
{
    GpuModule *m = arena_new_of(gpu->arena, GpuModule);
    m->gpu = gpu;
    m->abi = abi;
    *loaded = (GpuLoaded){0};
    if ((load_cubin(m, image, loaded) ||
         (compile(m, image->ptx, "the driver cannot compile the PTX", &loaded->log) && find_entries(m))) &&
        gpu_judge(m, image, loaded))
        return m;
    if (m->module)
        gpu->cu.module_unload(m->module);
    *error = gpu->error;
    return NULL;
}

GpuModule *gpu_load(Gpu *gpu, const Abi *abi, const char *ptx, const char **log, const char **error)
{
    GpuImage image = {.ptx = ptx};
    GpuLoaded loaded;
    GpuModule *m = gpu_load_image(gpu, abi, &image, &loaded, error);
    *log = loaded.log;
    return m;
}

const AbiEntry *gpu_entry(const GpuModule *module, int kernel)
{
    return abi_entry(&module->abi->kernels.data[kernel], !module->entries[kernel].conservative);
}

bool gpu_resources(GpuModule *module, int kernel, bool aligned, GpuResources *r)
{
    Gpu *gpu = module->gpu;
    const GpuEntry *entry = &module->entries[kernel];
    void *f = aligned && !entry->conservative ? entry->fast : entry->any;
    const struct {
        int *value, attribute;
    } wanted[] = {{&r->regs, CU_FUNC_REGS},
                  {&r->local_bytes, CU_FUNC_LOCAL_BYTES},
                  {&r->static_shared, CU_FUNC_STATIC_SHARED},
                  {&r->max_threads, CU_FUNC_MAX_THREADS}};
    for (size_t i = 0; i < TW_COUNT(wanted); i++)
        if (!gpu_ok(gpu, gpu->cu.function_get(wanted[i].value, wanted[i].attribute, f),
                    "asking for a kernel's resources"))
            return false;
    return true;
}
