/* device.h: a PTX file, or the cubin beside it, on the GPU of this machine, for verify and
 * bench. */
#ifndef TW_DEVICE_H
#define TW_DEVICE_H

#include "cli/stages.h"
#include "cli/launch.h"
#include "gpu/gpu.h"

typedef struct Device {
    Gpu *gpu;
    GpuInfo info;
    GpuModule *module;
    GpuLoaded loaded;  /* what the driver made of it */
    Abi *abi;
    Chain *chain; /* holds the definition */
    LaunchShape shape;
} Device;

/* Reads the PTX, its ABI, its definition and the shape; opens the GPU and loads
 * the module. EXIT_DONE, or the exit status of a failure that was printed. */
int device_open(Session *s, Device *device);
void device_close(Device *device);
/* ",\"loaded\":{...}": from what it was loaded, and what came of each entry. */
void device_json(Str *out, const Device *device);
/* Runs a command's work in a process of its own: a kernel that hangs ends that
 * process and not this one. The exit status. */
int device_guarded(Session *s, int (*work)(Session *s));

#endif
