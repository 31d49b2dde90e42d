/* device.c: a PTX file on the GPU of this machine. */
#include "cli/device.h"

enum { PATIENCE = 60 }; /* seconds that the GPU may take for one launch, or a round of them */

static int load(Session *s, Device *device, const Source *ptx)
{
    const char *log = "", *error;

    device->gpu = gpu_open(s->arena, &error);
    if (!device->gpu)
        return session_fail(s, EXIT_LACKS, "%s", error);
    gpu_set_patience(device->gpu, PATIENCE);
    gpu_info(device->gpu, &device->info);
    device->module = gpu_load(device->gpu, device->abi, ptx->text, &log, &error);
    if (!device->module)
        return session_fail(s, EXIT_WRONG, "%s%s%s", error, log && *log ? "\n" : "", log ? log : "");
    return EXIT_DONE;
}

int device_open(Session *s, Device *device)
{
    const Options *o = &s->options;
    Source *ptx = session_read(s, 0), *against = NULL;

    if (!ptx || (o->against && !(against = session_read_path(s, o->against))))
        return EXIT_LACKS;
    *device = (Device){.chain = chain_new(s->arena, s->syms, s->aff, s->diags, o->target, o->dtype)};
    s->diags->source = ptx;
    device->abi = abi_from_ptx(s->arena, s->syms, s->aff, ptx, s->diags);
    if (!device->abi)
        return s->diags->errors ? session_chain_failed(s, device->chain, "PTX")
                                : session_fail(s, EXIT_WRONG, "%s has no launch ABI in its head",
                                               ptx->path);
    if (!chain_define_from_abi(device->chain, device->abi, against))
        return session_chain_failed(s, device->chain, "definition");
    if (!launch_parse(s, "set", o->sets.data, o->sets.len, &device->shape) ||
        !launch_parse(s, "bind", o->binds.data, o->binds.len, &device->shape) ||
        !launch_complete(s, device->chain->def, &device->chain->own, &device->shape))
        return EXIT_USAGE;
    return load(s, device, ptx);
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
