/* report.c: faults and their names. */
#include "emu/machine.h"

enum { ENOUGH_FAULTS = 1000 }; /* occurrences; a launch so wrong need not go on */

const char *emu_fault_name(EmuFaultKind kind)
{
    static const char *const names[EMU_FAULT_KINDS] = {
        [EMU_OUT_OF_BOUNDS] = "out of bounds", [EMU_MISALIGNED] = "misaligned",
        [EMU_UNINITIALISED] = "uninitialised", [EMU_READ_ONLY] = "read-only",
        [EMU_RACE] = "race",                   [EMU_ASYNC_RACE] = "asynchronous race",
        [EMU_PROXY] = "proxy fence",           [EMU_IN_FLIGHT] = "registers in flight",
        [EMU_TRANSACTION] = "transaction count", [EMU_REGISTERS] = "register budget",
        [EMU_DIVERGENT] = "divergent",         [EMU_DEADLOCK] = "deadlock",
        [EMU_BARRIER] = "barrier",             [EMU_INSTRUCTION_LIMIT] = "instruction limit",
        [EMU_LAUNCH] = "launch",               [EMU_TRAP] = "trap",
    };

    return names[kind];
}

const char *emu_class_name(EmuClass c)
{
    static const char *const names[EMU_CLASSES] = {
        [EMU_MMA] = "mma",             [EMU_LDMATRIX] = "ldmatrix",
        [EMU_LD_SHARED] = "ld.shared", [EMU_ST_SHARED] = "st.shared",
        [EMU_LD_GLOBAL] = "ld.global", [EMU_ST_GLOBAL] = "st.global",
        [EMU_CP_ASYNC] = "cp.async",   [EMU_MUFU] = "mufu",
        [EMU_FP32] = "fp32",           [EMU_CONVERT] = "convert",
        [EMU_INTEGER] = "integer",     [EMU_MOVE] = "move",
        [EMU_SHUFFLE] = "shuffle",     [EMU_BARRIER_SYNC] = "barrier",
        [EMU_CONTROL] = "control",     [EMU_OTHER] = "other",
        [EMU_WGMMA] = "wgmma",         [EMU_BULK] = "cp.async.bulk",
        [EMU_MBARRIER] = "mbarrier",
    };

    return names[c];
}

/* Whether a fault of this kind at this line has a record already. */
static bool known(const EmuReport *r, EmuFaultKind kind, int line)
{
    int count = r->fault_count < EMU_FAULT_LIMIT ? r->fault_count : EMU_FAULT_LIMIT;

    for (int i = 0; i < count; i++) {
        if (r->faults[i].kind == kind && r->faults[i].line == line)
            return true;
    }
    return false;
}

static void record(Machine *m, EmuFaultKind kind, int line, int thread, const char *fmt, va_list args)
{
    EmuReport *r = m->report;
    EmuFault *fault;

    if (++m->run->fault_total >= ENOUGH_FAULTS)
        m->run->stop = true;
    if (known(r, kind, line))
        return;
    if (r->fault_count < EMU_FAULT_LIMIT) {
        fault = &r->faults[r->fault_count];
        fault->kind = kind;
        fault->line = line;
        memcpy(fault->block, m->block, sizeof fault->block);
        fault->thread = thread;
        fault->message = arena_vprintf(m->arena, fmt, args);
    } else {
        m->run->stop = true;
    }
    r->fault_count++;
}

void emu_fault(Warp *w, const Inst *in, EmuFaultKind kind, int lane, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    record(w->m, kind, in->line, w->index * LANES + lane, fmt, args);
    va_end(args);
}

void emu_fault_block(Machine *m, EmuFaultKind kind, int line, int thread, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    record(m, kind, line, thread, fmt, args);
    va_end(args);
}
