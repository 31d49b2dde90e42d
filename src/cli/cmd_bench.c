/* cmd_bench.c: times a kernel on the GPU. */
#include "cli/device.h"

static void put_resources(Str *out, const Device *device)
{
    for (int i = 0; i < device->abi->kernels.len; i++) {
        GpuResources r;

        if (gpu_resources(device->module, i, true, &r))
            str_printf(out, "  %s: %d registers, %d bytes of local memory, %s\n",
                       gpu_entry(device->module, i)->name, r.regs, r.local_bytes,
                       device->loaded.cubin ? "from the cubin" : "compiled by the driver");
    }
}

static void put_json(Session *s, Str *out, const Device *device, const BenchResult *r, double flops)
{
    str_add(out, "{\"ok\":true,\"gpu\":");
    str_json(out, device->info.name);
    str_printf(out, ",\"driver\":%d,\"shape\":", device->info.driver);
    str_json(out, launch_text(s->arena, &device->shape));
    device_json(out, device);
    str_printf(out,
               ",\"ms_median\":%.6g,\"ms_min\":%.6g,\"ms_max\":%.6g,\"rounds\":%d,\"flops\":%.6g,"
               "\"tflops\":%.6g}\n",
               r->ms_median, r->ms_min, r->ms_max, r->rounds, flops, flops / r->ms_median * 1e-9);
}

static int bench(Session *s, Device *device)
{
    BenchResult result;
    const char *error;
    double flops;
    Str out = str_new(s->arena);

    if (!gpu_bench(device->gpu, device->module, device->chain->def, device->shape.data,
                   device->shape.len, s->options.rounds, s->options.seed, &result, &error))
        return session_fail(s, EXIT_WRONG, "%s", error);
    flops = ref_flops(s->arena, device->chain->def, device->shape.data, device->shape.len);
    if (s->options.json) {
        put_json(s, &out, device, &result, flops);
        return session_write(s, out.data, out.len);
    }
    str_printf(&out, "%s on %s at %s\n", device->abi->name, device->info.name,
               launch_text(s->arena, &device->shape));
    str_printf(&out, "  %.4f ms (median of %d; %.4f to %.4f), %.1f TFLOPS\n", result.ms_median,
               result.rounds, result.ms_min, result.ms_max, flops / result.ms_median * 1e-9);
    put_resources(&out, device);
    return session_write(s, out.data, out.len);
}

static int run_bench(Session *s)
{
    Device device = {0};
    int status = device_open(s, &device);

    if (!status)
        status = bench(s, &device);
    device_close(&device);
    return status;
}

int cmd_bench(Session *s)
{
    return device_guarded(s, run_bench);
}
