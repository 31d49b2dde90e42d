/* trial_report.c: what became of a trial, as a table and as JSON. */
#include "cli/trial.h"

static void put_line(Str *out, const char *what, int64_t compared, double frobenius, double ratio,
                     double max_abs, double ratio_max, double seconds)
{
    str_printf(out, "  %-28s %9lld  %9.2e %6.2f  %9.2e %6.2f %8.2f s", what, (long long)compared,
               frobenius, ratio, max_abs, ratio_max, seconds);
}

static void put_plain(Str *out, const Trial *trial)
{
    double frobenius = 0, max_abs = 0;
    int64_t compared = 0;

    for (int i = 0; i < trial->def->outputs.len; i++) {
        keep_worst(&frobenius, trial->wanted[i].plain.frobenius);
        keep_worst(&max_abs, trial->wanted[i].plain.max_abs);
        compared += trial->wanted[i].plain.compared;
    }
    put_line(out, "definition, same precision", compared, frobenius, 1, max_abs, 1,
             trial->oracle_seconds);
    str_addc(out, '\n');
}

void trial_print(Str *out, const Trial *trial)
{
    str_printf(out, "  at %s, against the definition in fp64\n", launch_text(trial->s->arena, &trial->shape));
    str_printf(out, "  %-28s %9s  %9s %6s  %9s %6s %10s\n", "artefact", "elements", "Frobenius", "ratio",
               "largest", "ratio", "time");
    put_plain(out, trial);
    for (int i = 0; i < trial->results.len; i++) {
        const TrialResult *r = &trial->results.data[i];

        if (r->compared || r->ok)
            put_line(out, r->what, r->compared, r->frobenius, r->ratio_frobenius, r->max_abs,
                     r->ratio_max, r->seconds);
        else
            str_printf(out, "  %-28s", r->what);
        if (!r->ok)
            str_printf(out, "  WRONG: %s", r->problem ? r->problem : "");
        str_addc(out, '\n');
    }
}

static void json_report(Str *out, const EmuReport *report)
{
    str_printf(out, ",\"instructions\":{\"warp\":%llu,\"thread\":%llu",
               (unsigned long long)report->warp_instructions,
               (unsigned long long)report->thread_instructions);
    for (int c = 0; c < EMU_CLASSES; c++) {
        str_addc(out, ',');
        str_json(out, emu_class_name((EmuClass)c));
        str_printf(out, ":%llu", (unsigned long long)report->counts[c]);
    }
    str_printf(out, "},\"shared_wavefronts\":%llu,\"shared_ideal\":%llu,\"blocks\":%llu,\"processor_seconds\":%.6f",
               (unsigned long long)report->shared_wavefronts,
               (unsigned long long)report->shared_ideal, (unsigned long long)report->blocks, report->seconds);
}

void trial_json(Str *out, const Trial *trial)
{
    str_add(out, "[");
    for (int i = 0; i < trial->results.len; i++) {
        const TrialResult *r = &trial->results.data[i];

        str_add(out, i ? ",\n  {\"what\":" : "\n  {\"what\":");
        str_json(out, r->what);
        str_printf(out, ",\"ok\":%s,\"compared\":%lld", r->ok ? "true" : "false",
                   (long long)r->compared);
        json_number(out, "frobenius", r->frobenius);
        json_number(out, "frobenius_ratio", r->ratio_frobenius);
        json_number(out, "max", r->max_abs);
        json_number(out, "max_ratio", r->ratio_max);
        json_number(out, "seconds", r->seconds);
        if (r->has_report)
            json_report(out, &r->report);
        if (r->problem) {
            str_add(out, ",\"problem\":");
            str_json(out, r->problem);
        }
        str_addc(out, '}');
    }
    str_add(out, trial->results.len ? "\n]" : "]");
}

static void put_counts(Str *out, const TrialResult *result)
{
    const EmuReport *r = &result->report;

    str_printf(out, "  %llu blocks", (unsigned long long)r->blocks);
    if (result->grid_blocks > r->blocks)
        str_printf(out, " of %llu (--all runs all)", (unsigned long long)result->grid_blocks);
    str_printf(out, ", %llu warp instructions:", (unsigned long long)r->warp_instructions);
    for (int c = 0; c < EMU_CLASSES; c++)
        if (r->counts[c])
            str_printf(out, " %s %llu", emu_class_name((EmuClass)c), (unsigned long long)r->counts[c]);
    str_printf(out, "\n  shared memory: %llu passes where %llu would do\n",
               (unsigned long long)r->shared_wavefronts, (unsigned long long)r->shared_ideal);
    if (r->seconds > 0)
        str_printf(out, "  emulated %.0f million thread instructions a second\n",
                   (double)r->thread_instructions / r->seconds / 1e6);
}

int trial_write(Session *s, const Trial *trial)
{
    Str out = str_new(s->arena);
    int status;

    if (s->options.json) {
        str_printf(&out, "{\"ok\":%s,\"shape\":", trial->failed ? "false" : "true");
        str_json(&out, launch_text(s->arena, &trial->shape));
        str_add(&out, ",\"checks\":");
        trial_json(&out, trial);
        str_add(&out, "}\n");
    } else {
        trial_print(&out, trial);
        if (trial->results.len && trial->results.data[0].has_report)
            put_counts(&out, &trial->results.data[0]);
    }
    status = session_write(s, out.data, out.len);
    return status ? status : trial->failed ? EXIT_WRONG : EXIT_DONE;
}
