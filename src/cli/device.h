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
    const Source *ptx;
    Abi *abi;
    Chain *chain; /* holds the definition */
    LaunchShape shape;
} Device;

/* Reads the PTX, its ABI, its definition and the shape; opens the GPU and loads
 * the module. EXIT_DONE, or the exit status of a failure that was printed. */
int device_open(Session *s, Device *device);
/* The parts of that, for who has several files or several shapes: the text, its
 * ABI and definition; one shape; the GPU; the module, once device->gpu is open. */
int device_read(Session *s, Device *device, int file);
int device_shape(Session *s, const Device *device, const char *const *binds, int n, LaunchShape *shape);
int device_start(Session *s, Device *device);
int device_load(Session *s, Device *device);
void device_close(Device *device);
/* ",\"loaded\":{...}": from what it was loaded, and what came of each entry. */
void device_json(Str *out, const Device *device);
/* Runs a command's work in a process of its own: a kernel that hangs ends that
 * process and not this one. The exit status. */
int device_guarded(Session *s, int (*work)(Session *s));

#endif
