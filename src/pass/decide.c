/* decide.c: schedule parameters: what is asked for, or what a pass thinks best.
 *
 * A schedule is obeyed or refused. What a pass decided stays with the kernel, for
 * reports.
 */
#include "pass/decide.h"

static void refuse(TileKernel *kernel, SchedId id, uint64_t possible, Diags *diags)
{
    const SchedInfo *parameter = sched_info(id);
    Str values = str_new(diags->arena);

    for (int v = 0, n = 0; v < SCHED_VALUES; v++)
        if (possible & DECIDE(v))
            str_printf(&values, "%s%s", n++ ? ", " : "", sched_value_info((SchedValue)v)->name);
    diag_note(diags,
              diag_add(diags, TW0779, kernel->loc, "%s has no way to run with %s = %s", kernel->name, parameter->name,
                       sched_value_info(kernel->schedule.value[id])->name),
              "possible here: %s", str_text(&values));
}

SchedValue pass_decide(TileKernel *kernel, SchedId id, SchedValue best, uint64_t possible, const char *why, Diags *diags)
{
    SchedValue wanted = kernel->schedule.value[id];

    if (wanted != SCHED_AUTO && !(possible & DECIDE(wanted))) {
        if (!kernel->is_plain)
            refuse(kernel, id, possible, diags);
        wanted = SCHED_AUTO;
    }
    kernel->decided.value[id] = wanted == SCHED_AUTO ? best : wanted;
    kernel->because[id] = wanted == SCHED_AUTO ? why : "as asked";
    return kernel->decided.value[id];
}

static bool decided(const TileProgram *program, SchedId id)
{
    for (int k = 0; k < program->kernels.len; k++)
        if (program->kernels.data[k]->decided.value[id] != SCHED_AUTO)
            return true;
    return false;
}

bool pass_decided_all(const TileProgram *program, Diags *diags)
{
    for (int k = 0; k < program->kernels.len; k++)
        for (int i = 0; i < SCHED_COUNT; i++) {
            const TileKernel *kernel = program->kernels.data[k];

            if (kernel->schedule.value[i] == SCHED_AUTO || decided(program, (SchedId)i))
                continue;
            diag_note(diags,
                      diag_add(diags, TW0779, kernel->loc, "%s has nothing that %s = %s could change", kernel->name,
                               sched_info((SchedId)i)->name, sched_value_info(kernel->schedule.value[i])->name),
                      "%s says %s", sched_info((SchedId)i)->name, sched_info((SchedId)i)->help);
            return false;
        }
    return true;
}
