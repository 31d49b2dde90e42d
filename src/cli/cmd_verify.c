/* cmd_verify.c: runs a kernel on the GPU and compares it with its definition. */
#include "cli/device.h"
#include "cli/tensors.h"

static void say(void *user, const char *what)
{
    session_progress(user, "%s", what);
}

static void put_case(Str *out, const VerifyCase *c)
{
    if (c->says_nothing)
        str_printf(out, "  %-52s the definition gives no number here\n", c->what);
    else
        str_printf(out, "  %-52s %9.2e %6.2f  %9.2e %6.2f%s%s\n", c->what, c->verdict.got.frobenius,
                   c->verdict.ratio_frobenius, c->verdict.got.max_abs, c->verdict.ratio_max,
                   c->ok ? "" : "  WRONG: ", c->ok ? "" : c->problem ? c->problem : "error beyond the bound");
}

static void print_report(Session *s, Str *out, const Device *device, const VerifyReport *report)
{
    str_printf(out, "%s on %s: %d cases, %d wrong\n", device->abi->name, device->info.name,
               report->cases.len, report->failed);
    str_printf(out, "  %-52s %9s %6s  %9s %6s\n", "case", "Frobenius", "ratio", "largest", "ratio");
    for (int i = 0; i < report->cases.len; i++)
        put_case(out, &report->cases.data[i]);
    (void)s;
}

static void json_report(Str *out, const Device *device, const VerifyReport *report)
{
    str_printf(out, "{\"ok\":%s,\"gpu\":", report->failed ? "false" : "true");
    str_json(out, device->info.name);
    str_printf(out, ",\"driver\":%d", device->info.driver);
    device_json(out, device);
    str_add(out, ",\"cases\":[");
    for (int i = 0; i < report->cases.len; i++) {
        const VerifyCase *c = &report->cases.data[i];

        str_add(out, i ? ",\n {\"what\":" : "\n {\"what\":");
        str_json(out, c->what);
        str_printf(out, ",\"ok\":%s", c->ok ? "true" : "false");
        json_number(out, "frobenius", c->verdict.got.frobenius);
        json_number(out, "frobenius_ratio", c->verdict.ratio_frobenius);
        json_number(out, "max", c->verdict.got.max_abs);
        json_number(out, "max_ratio", c->verdict.ratio_max);
        if (c->says_nothing)
            str_add(out, ",\"undefined\":true");
        if (c->problem) {
            str_add(out, ",\"problem\":");
            str_json(out, c->problem);
        }
        str_addc(out, '}');
    }
    str_add(out, "]}\n");
}

static int verify(Session *s, Device *device)
{
    VerifyOptions options = {.bindings = device->shape.data, .n_bindings = device->shape.len,
                             .seed = s->options.seed, .bound = s->options.bound,
                             .progress = say, .user = s};
    VerifyReport report = {0};
    const char *error;
    Str out = str_new(s->arena);
    int status;

    if (!gpu_verify(device->gpu, device->module, device->chain->def, &options, &report, &error))
        return session_fail(s, EXIT_WRONG, "%s", error);
    if (s->options.json)
        json_report(&out, device, &report);
    else
        print_report(s, &out, device, &report);
    status = session_write(s, out.data, out.len);
    return status ? status : report.failed ? EXIT_WRONG : EXIT_DONE;
}

static int run_verify(Session *s)
{
    Device device = {0};
    int status = device_open(s, &device);

    if (!status)
        status = verify(s, &device);
    device_close(&device);
    return status;
}

int cmd_verify(Session *s)
{
    return device_guarded(s, run_verify);
}
