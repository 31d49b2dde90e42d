/* device.c: a PTX file, or the cubin beside it, on the GPU of this machine. */
#include "cli/device.h"

#include <unistd.h>

enum { PATIENCE = 60 }; /* seconds that the GPU may take for one launch, or a round of them */

/* The cubin beside the PTX, if it was made of this PTX; EXIT_DONE, or a failure where one
 * must be. */
static int find_cubin(Session *s, const Source *ptx, CubinSeal *seal, GpuImage *image)
{
    const char *path = s->options.cubin == WHEN_NEVER ? NULL : cubin_path(s->arena, ptx->path), *error;
    Source *file = path && access(path, F_OK) == 0 ? source_read(s->arena, path, &error) : NULL;

    if (file && !cubin_read(s->arena, file, seal, &error))
        session_warn(s, "%s; it is not used", error);
    else if (file && !cubin_is_of(s->arena, seal, ptx))
        session_warn(s, "%s was made of other PTX than %s; it is not used", path, ptx->path);
    else if (file)
        *image = (GpuImage){ptx->text, file->text, seal};
    if (image->cubin || s->options.cubin != WHEN_ALWAYS)
        return EXIT_DONE;
    return session_fail(s, EXIT_LACKS, "there is no cubin of %s beside it; 'tw gen' and 'tw compile' write one where "
                                       "ptxas is at hand", ptx->path);
}

int device_start(Session *s, Device *device)
{
    const char *error;

    device->gpu = gpu_open(s->arena, &error);
    if (!device->gpu)
        return session_fail(s, EXIT_LACKS, "%s", error);
    gpu_set_patience(device->gpu, PATIENCE);
    gpu_info(device->gpu, &device->info);
    return EXIT_DONE;
}

int device_load(Session *s, Device *device)
{
    CubinSeal seal;
    GpuImage image = {.ptx = device->ptx->text};
    const char *error;
    int status = find_cubin(s, device->ptx, &seal, &image);

    if (status)
        return status;
    device->module = gpu_load_image(device->gpu, device->abi, &image, &device->loaded, &error);
    if (!device->module)
        return session_fail(s, EXIT_WRONG, "%s: %s%s%s", device->ptx->path, error, device->loaded.log ? "\n" : "",
                            device->loaded.log ? device->loaded.log : "");
    for (int i = 0; i < device->loaded.told.len; i++)
        session_warn(s, "%s", device->loaded.told.data[i]);
    if (s->options.cubin == WHEN_ALWAYS && !device->loaded.cubin)
        return session_fail(s, EXIT_LACKS, "the cubin is for %s; this is %s of compute capability %d.%d", seal.target,
                            device->info.name, device->info.cc_major, device->info.cc_minor);
    return EXIT_DONE;
}

static bool is_launched(const Device *device, const char *entry)
{
    for (int k = 0; k < device->abi->kernels.len; k++)
        if (strcmp(gpu_entry(device->module, k)->name, entry) == 0)
            return true;
    return false;
}

static void put_made(Str *out, const Device *device, const GpuMade *made)
{
    str_add(out, "{\"entry\":");
    str_json(out, made->entry);
    str_printf(out, ",\"registers\":%d,\"local_bytes\":%d,\"as_meant\":%s,\"launched\":%s}", made->registers,
               made->local, made->as_meant ? "true" : "false", is_launched(device, made->entry) ? "true" : "false");
}

void device_json(Str *out, const Device *device)
{
    const GpuLoaded *loaded = &device->loaded;

    str_printf(out, ",\"loaded\":{\"from\":\"%s\",\"entries\":[", loaded->cubin ? "cubin" : "ptx");
    for (int i = 0; i < loaded->made.len; i++) {
        str_add(out, i ? "," : "");
        put_made(out, device, &loaded->made.data[i]);
    }
    str_add(out, "],\"warnings\":[");
    for (int i = 0; i < loaded->told.len; i++) {
        str_add(out, i ? "," : "");
        str_json(out, loaded->told.data[i]);
    }
    str_add(out, "]}");
}

int device_read(Session *s, Device *device, int file)
{
    const Options *o = &s->options;
    Source *ptx = session_read(s, file), *against = NULL;

    if (!ptx || (o->against && !(against = session_read_path(s, o->against))))
        return EXIT_LACKS;
    *device = (Device){.ptx = ptx,
                       .chain = chain_new(s->arena, s->syms, s->aff, s->diags, o->target, o->dtype)};
    s->diags->source = ptx;
    device->abi = abi_from_ptx(s->arena, s->syms, s->aff, ptx, s->diags);
    if (!device->abi)
        return s->diags->errors ? session_chain_failed(s, device->chain, "PTX")
                                : session_fail(s, EXIT_WRONG, "%s has no launch ABI in its head",
                                               ptx->path);
    if (!chain_define_from_abi(device->chain, device->abi, against))
        return session_chain_failed(s, device->chain, "definition");
    return EXIT_DONE;
}

int device_shape(Session *s, const Device *device, const char *const *binds, int n, LaunchShape *shape)
{
    const Options *o = &s->options;

    if (!launch_parse(s, "set", o->sets.data, o->sets.len, shape) || !launch_parse(s, "bind", binds, n, shape) ||
        !launch_complete(s, device->chain->def, &device->chain->own, shape))
        return EXIT_USAGE;
    return EXIT_DONE;
}

int device_open(Session *s, Device *device)
{
    const Options *o = &s->options;
    int status = device_read(s, device, 0);

    if (!status)
        status = device_shape(s, device, o->binds.data, o->binds.len, &device->shape);
    if (!status)
        status = device_start(s, device);
    return status ? status : device_load(s, device);
}

void device_close(Device *device)
{
    if (device->gpu)
        gpu_close(device->gpu);
}

typedef struct Guarded {
    Session *s;
    int (*work)(Session *s);
} Guarded;

static int run_guarded(void *user)
{
    Guarded *g = user;

    return g->work(g->s);
}

int device_guarded(Session *s, int (*work)(Session *s))
{
    Guarded g = {s, work};
    const char *problem;
    int status = gpu_guarded(0, run_guarded, &g, &problem);

    return status >= 0 ? status : session_fail(s, EXIT_WRONG, "%s", problem);
}
