/* judge.c: did the driver make of a program what was meant?
 *
 * A driver compiles PTX with the assembler that came with it, not with the one that a
 * kernel was measured with. Where it runs out of registers it spills them into local
 * memory; where it cannot follow asynchronous products it serialises them, and says so
 * in its log (C7510 and its kin). Results stay right, speed does not. So each entry's
 * local bytes and the log are read when a module is loaded.
 *
 *     made       as meant?     launched
 *     fast       yes           fast
 *     fast       no            any, where that is a schedule of its own that came out well
 *     fast       no            fast, where there is nothing better; the user is told
 *
 * Beside a kernel of warpgroups with roles `any` is such a schedule: by synchronous
 * products, with fewer registers a thread. Beside others it is the same one with slower
 * copies, and nothing is won.
 *
 * A few registers that are kept outside of a loop do no harm, and assemblers differ in
 * them: SLACK bytes more than ptxas needed, or than none, are no spill.
 */
#include "gpu/driver.h"

enum { SLACK = 64 };

typedef struct Judge {
    GpuModule *module;
    const GpuImage *image;
    GpuLoaded *loaded;
    AsmEntries entries; /* of the driver's log */
    AsmNotes notes;
} Judge;

/* The advisory of lost speed that the driver's compiler, or ptxas, gave for an entry. One
 * that names none counts for all. */
static const char *advisory_of(const Judge *j, const char *entry)
{
    const CubinLocal *known = j->image->seal ? cubin_local(j->image->seal, entry) : NULL;
    for (int i = 0; i < j->notes.len; i++) {
        const AsmNote *note = &j->notes.data[i];
        if (note->kind == ASM_ADVISORY && (!note->entry || strcmp(note->entry, entry) == 0))
            return note->text;
    }
    return j->loaded->cubin && known && known->serialised ? "ptxas said so when the cubin was made" : NULL;
}

static bool examine(Judge *j, const char *entry, void *function, GpuMade *made)
{
    Gpu *gpu = j->module->gpu;
    const CubinLocal *known = j->image->seal ? cubin_local(j->image->seal, entry) : NULL;
    *made = (GpuMade){.entry = entry, .meant = known ? known->bytes : -1, .advisory = advisory_of(j, entry)};
    if (!gpu_ok(gpu, gpu->cu.function_get(&made->registers, CU_FUNC_REGS, function), "asking for registers") ||
        !gpu_ok(gpu, gpu->cu.function_get(&made->local, CU_FUNC_LOCAL_BYTES, function),
                "asking for local memory"))
        return false;
    made->as_meant = !made->advisory && made->local <= (made->meant > 0 ? made->meant : 0) + SLACK;
    vec_push(gpu->arena, &j->loaded->made, *made);
    return true;
}

static const char *what_happened(const Judge *j, const GpuMade *made)
{
    Arena *arena = j->module->gpu->arena;
    const char *who = j->loaded->cubin ? "ptxas" : "the driver";
    if (made->advisory)
        return arena_printf(arena, "%s compiled %s to less than was meant (%s)", who, made->entry, made->advisory);
    return arena_printf(arena, "%s spilled registers of %s: %d bytes of local memory a thread, where %d were meant",
                        who, made->entry, made->local, made->meant > 0 ? made->meant : 0);
}

static void tell(Judge *j, const GpuMade *made, const char *instead)
{
    Arena *arena = j->module->gpu->arena;
    const char *what = what_happened(j, made);
    vec_push(arena, &j->loaded->told,
             instead ? arena_printf(arena, "%s; %s is launched instead, a more conservative schedule", what, instead)
                     : arena_printf(arena, "%s; it is launched as it is, for there is no better schedule of it", what));
}

static bool judge_kernel(Judge *j, int k)
{
    const AbiKernel *kernel = &j->module->abi->kernels.data[k];
    GpuEntry *entry = &j->module->entries[k];
    GpuMade fast, any = {0};
    if (!examine(j, kernel->fast.name, entry->fast, &fast) ||
        (kernel->any.name && !examine(j, kernel->any.name, entry->any, &any)))
        return false;
    bool other = kernel->any.name && !abi_same_launch(&kernel->fast, &kernel->any);
    entry->conservative = !fast.as_meant && other && any.as_meant;
    if (!fast.as_meant)
        tell(j, &fast, entry->conservative ? any.entry : NULL);
    return true;
}

bool gpu_judge(GpuModule *module, const GpuImage *image, GpuLoaded *loaded)
{
    Judge j = {.module = module, .image = image, .loaded = loaded};
    asm_read_log(module->gpu->arena, loaded->log ? loaded->log : "", &j.entries, &j.notes);
    for (int k = 0; k < module->abi->kernels.len; k++)
        if (!judge_kernel(&j, k))
            return false;
    return true;
}
