/* spare.c: what ptxas spills is chosen again, with more registers left to it.
 *
 * The reasoner estimates how many registers a thread needs, and ptxas may want a few more. Where it is at hand and
 * spills some, or makes asynchronous products wait for each other, the kernels concerned are made anew with `spare = 8`
 * in their schedules, then 16, 32 and 64, until there is nothing of that. Else what had least of it is taken.
 */
#include "cli/spare.h"

#include "tune/on_gpu.h"

static const int STEPS[] = {0, 8, 16, 32, 64};
enum { LAST_STEP = TW_COUNT(STEPS) - 1, SERIALISED = 1 << 16 /* as bytes: worse than anything that is spilled */ };

typedef struct Sparing {
    Session *s;
    const Chain *first;
    int *steps; /* by kernel: of its sketch, whose first it is */
} Sparing;

static int bytes_of(const AsmEntry *e)
{
    return e->spill_stores + e->spill_loads + (e->serialised ? SERIALISED : 0);
}

/* What was spilled and serialised at first. */
static Spared without(const AsmResult *r)
{
    Spared spared = {0};

    for (int i = 0; i < r->entries.len; i++) {
        spared.spilled += r->entries.data[i].spill_stores + r->entries.data[i].spill_loads;
        spared.serialised |= r->entries.data[i].serialised;
    }
    return spared;
}

static int bytes_of_all(const AsmResult *r)
{
    int bytes = 0;

    for (int i = 0; i < r->entries.len; i++)
        bytes += bytes_of(&r->entries.data[i]);
    return bytes;
}

static bool is_of(const AbiKernel *kernel, const AsmEntry *e)
{
    return strcmp(kernel->fast.name, e->name) == 0 || (kernel->any.name && strcmp(kernel->any.name, e->name) == 0);
}

static const char *name_of(const Chain *chain, int kernel)
{
    return chain->tile->kernels.data[kernel]->name;
}

/* Kernels for rows of several lengths have one sketch, whose name is that of the first. */
static int first_of_sketch(const Chain *chain, int kernel)
{
    for (int i = 0; i < chain->tile->kernels.len; i++) {
        size_t len = strlen(name_of(chain, i));

        if (strncmp(name_of(chain, kernel), name_of(chain, i), len) == 0 && strncmp(name_of(chain, kernel) + len, "_rows", 5) == 0)
            return i;
    }
    return kernel;
}

static bool is_spilled(const Chain *chain, int kernel, const AsmResult *r)
{
    bool spilled = false;

    for (int i = 0; i < r->entries.len && kernel < chain->abi->kernels.len; i++)
        spilled |= bytes_of(&r->entries.data[i]) && is_of(&chain->abi->kernels.data[kernel], &r->entries.data[i]);
    return spilled;
}

/* One step more for those sketches of which something is spilled. False: there is none, for any. */
static bool step_further(Sparing *sp, const Chain *chain, const AsmResult *r)
{
    int n = sp->first->tile->kernels.len;
    bool *wants = arena_array(sp->s->arena, bool, n), further = false;

    for (int k = 0; k < n; k++)
        wants[first_of_sketch(sp->first, k)] |= is_spilled(chain, k, r);
    for (int k = 0; k < n; k++) {
        further |= wants[k] && sp->steps[k] < LAST_STEP;
        sp->steps[k] += wants[k] && sp->steps[k] < LAST_STEP;
    }
    return further;
}

/* "scores.spare=8 values.spare=16" */
static const char *in_words(const Sparing *sp)
{
    Str text = str_new(sp->s->arena);

    for (int k = 0; k < sp->first->tile->kernels.len; k++)
        if (sp->steps[k])
            str_printf(&text, "%s%s.spare=%d", text.len ? " " : "", name_of(sp->first, k), STEPS[sp->steps[k]]);
    return str_text(&text);
}

/* NULL: there is no such choice. */
static Chain *make(const Sparing *sp, const char *settings)
{
    Arena *arena = sp->s->arena;
    Chain *chain = chain_like(arena, sp->first, diags_new(arena, sp->first->defined));

    chain->keep_snapshots = sp->first->keep_snapshots;
    bool made = !tune_set_all(chain, settings) && chain_make(chain, sp->first->defined);
    return made && chain->tile->kernels.len == sp->first->tile->kernels.len ? chain : NULL;
}

/* What the reasoner chose may be chosen anew, unless somebody said how much is spare. */
static bool may_choose(const Chain *chain)
{
    for (int i = 0; i < chain->settings.list.len; i++) {
        const char *name = chain->settings.list.data[i].name, *point = strchr(name, '.');

        if (text_equal_nocase(point ? point + 1 : name, "spare"))
            return false;
    }
    return chain->defined && chain->reasoned && chain->reasoned->considered > 0;
}

Spared spare_registers(Session *s, Chain **chain, Ptxas *ptxas)
{
    Sparing sp = {.s = s, .first = *chain};
    Spared spared = {0};
    const AsmResult *r = ptxas->job && may_choose(*chain) ? ptxas_wait(ptxas) : NULL;
    Chain *last = *chain;

    if (!r || !r->ok || !bytes_of_all(r))
        return spared;
    sp.steps = arena_array(s->arena, int, sp.first->tile->kernels.len);
    spared = without(r);
    for (int least = bytes_of_all(r); least && step_further(&sp, last, r);) {
        const char *settings = in_words(&sp);
        Ptxas other = {0};

        session_progress(s, "ptxas spills registers: another choice, with %s", settings);
        last = make(&sp, settings);
        if (!last || ptxas_begin(s, &other, last->ptx) || !(r = ptxas_wait(&other))->ok)
            break;
        if (bytes_of_all(r) >= least)
            continue;
        least = bytes_of_all(r);
        *chain = last;
        *ptxas = other;
        spared.settings = settings;
        s->diags = last->diags;
    }
    session_progress_end(s);
    return spared;
}
