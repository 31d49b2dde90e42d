/* target.c: the list of targets, oldest first. A new one is a file of facts and
 * a row here. */
#include "target/facts.h"

static const Target *const targets[] = {
    &target_sm_75,
    &target_sm_80,
    &target_sm_86,
    &target_sm_89,
    &target_sm_90a,
    NULL,
};

const Target *const *target_all(void)
{
    return targets;
}

const Target *target_default(void)
{
    return &target_sm_80;
}

const Target *target_find(const char *name)
{
    for (int i = 0; targets[i]; i++)
        if (text_equal_nocase(targets[i]->name, name))
            return targets[i];
    return NULL;
}

bool target_is_of(const char *name, int major, int minor)
{
    int number = 0;

    if (strncmp(name, "sm_", 3) != 0)
        return false;
    for (name += 3; *name >= '0' && *name <= '9' && number < 100000; name++)
        number = number * 10 + (*name - '0');
    return number > 0 && number == major * 10 + minor;
}

const Target *target_of_gpu(int major, int minor)
{
    for (int i = 0; targets[i]; i++)
        if (target_is_of(targets[i]->name, major, minor))
            return targets[i];
    return NULL;
}

/* Operands of half the width go through at twice the rate (the same table of the
 * Programming Guide, "Throughput of native arithmetic instructions"). */
double target_flops_per_clock(const Target *t, DType dtype)
{
    if (!dtype_is_narrow(dtype) || !target_has_dtype(t, dtype))
        return 0;
    return 2 * t->mma_macs * (dtype_bytes(dtype) == 1 ? 2 : 1);
}

bool target_has_dtype(const Target *t, DType dtype)
{
    return dtype != DT_F64 && (!dtype_is_narrow(dtype) || (t->operands >> dtype & 1));
}

int target_mma_k(const Target *t, DType dtype)
{
    return dtype_bytes(dtype) == 1 ? 2 * t->mma_k : t->mma_k;
}

enum { WARP = 32, REGISTER_STEP = 8 };
enum { FEW_COPIES = 6 }; /* whose coordinates, stages and barriers fit into the registers of one that copies little */

int target_launch_registers(const Target *t, int warps)
{
    int share = t->regs_per_sm / (warps * WARP) / REGISTER_STEP * REGISTER_STEP;

    return share < t->regs_per_thread ? share : t->regs_per_thread;
}

int target_assembled_registers(const Target *t, int warps)
{
    const Target *known = target_find(t->name);

    return target_launch_registers(known ? known : t, warps);
}

int target_copies(int copies, int own)
{
    return own > 1 ? copies + own : copies;
}

int target_copier_registers(const Target *t, int groups, int copies)
{
    (void)t;
    return (groups > 2 ? 32 : 24) + (copies > FEW_COPIES ? REGISTER_STEP * groups : 0);
}

int target_preparer_registers(const Target *t, int groups, unsigned beside)
{
    (void)t;
    if (beside == TARGET_LANES)
        return 40;
    return groups > 2 ? 72 : groups > 1 ? 88 : 144; /* beside one that has as many as a thread may, some are left */
}

int target_group_registers(const Target *t, int groups, int copies, unsigned beside)
{
    bool copier = beside & TARGET_COPIER, lanes = beside & (TARGET_PREPARER | TARGET_LANES);
    int all = groups + copier + lanes, launched = target_launch_registers(t, all * TARGET_GROUP_WARPS);
    int others = (copier ? target_copier_registers(t, groups, copies) : 0) + (lanes ? target_preparer_registers(t, groups, beside) : 0);
    int each = (all * launched - others) / groups / REGISTER_STEP * REGISTER_STEP;

    return each < t->regs_per_thread ? each : t->regs_per_thread / REGISTER_STEP * REGISTER_STEP;
}

const char *target_dtypes(Arena *arena, const Target *t)
{
    Str list = str_new(arena);

    for (int d = 0; d < DT_COUNT; d++)
        if (t->operands >> d & 1)
            str_printf(&list, "%s%s", list.len ? ", " : "", dtype_name((DType)d));
    return str_text(&list);
}

static const char *first_that_has(DType dtype)
{
    for (const Target *const *t = target_all(); *t; t++)
        if (target_has_dtype(*t, dtype))
            return (*t)->name;
    return NULL;
}

void target_lacks(Diags *diags, const Target *t, Span span, const char *what, DType dtype, bool declared)
{
    const char *has = target_dtypes(diags->arena, t), *other = first_that_has(dtype);
    Diag *diag = diag_add(diags, TW0434, span, "%s is %s, which %s has no instructions for", what, dtype_name(dtype), t->name);

    if (dtype == DT_F64) {
        diag_note(diags, diag, "kernels compute in fp32: declare it so, and convert the data before");
        return;
    }
    diag_note(diags, diag, declared ? "%s has %s: write that instead%s%s" : "%s has %s: give that with --dtype, or declare it%s%s",
              t->name, has, other ? "; or compile for a target that has this type: --target " : "", other ? other : "");
}
