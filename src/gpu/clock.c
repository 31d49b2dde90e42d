/* clock.c: a probe that has multiprocessors write down two counters of theirs:
 * their own clock and the GPU's timer in nanoseconds (PTX ISA, "Special
 * Registers": %clock64, %globaltimer, %smid).
 *
 *   mark  launch launch ... launch  mark        ticks between the marks over
 *                                               nanoseconds between them: the mean
 *                                               clock while the launches ran
 *
 * Counters of different multiprocessors do not agree, so a difference is taken of one
 * multiprocessor, and the median over those that both marks met.
 */
#include "gpu/clock.h"

#include <stdlib.h>

enum {
    SLOTS = 1024, /* multiprocessors, by %smid */
    BLOCKS_EACH = 4
};

typedef struct Mark {
    uint64_t ticks, nanoseconds;
} Mark;

static const double least_mhz = 50, most_mhz = 10000;

static const char probe[] = ".address_size 64\n"
                            ".visible .entry tw_clock(.param .u64 marks)\n"
                            "{\n"
                            ".reg .b64 %slot, %offset, %ticks, %time;\n"
                            ".reg .b32 %sm;\n"
                            ".reg .pred %beyond;\n"
                            "ld.param.u64 %slot, [marks];\n"
                            "cvta.to.global.u64 %slot, %slot;\n"
                            "mov.u32 %sm, %smid;\n"
                            "setp.ge.u32 %beyond, %sm, 1024;\n"
                            "@%beyond bra done;\n"
                            "mul.wide.u32 %offset, %sm, 16;\n"
                            "add.u64 %slot, %slot, %offset;\n"
                            "mov.u64 %ticks, %clock64;\n"
                            "mov.u64 %time, %globaltimer;\n"
                            "st.global.v2.u64 [%slot], {%ticks, %time};\n"
                            "done:\n"
                            "ret;\n"
                            "}\n";

static bool load(Clock *c, const Target *target)
{
    Driver *cu = &c->gpu->cu;
    const char *ptx = arena_printf(c->gpu->arena, ".version %s\n.target %s\n%s", target->ptx_version,
                                   target->name, probe);
    if (cu->module_load(&c->module, ptx, 0, NULL, NULL) != 0)
        c->module = NULL;
    return c->module && cu->module_function(&c->function, c->module, "tw_clock") == 0;
}

void clock_open(Clock *c, Gpu *gpu, const Target *target)
{
    *c = (Clock){.gpu = gpu};
    if (!target || !load(c, target))
        return;
    if (gpu->cu.memory_alloc(&c->memory, 2 * SLOTS * sizeof(Mark)) != 0)
        c->memory = 0;
    clock_mhz(c); /* clears the marks */
}

void clock_mark(const Clock *c, int which)
{
    Driver *cu = &c->gpu->cu;
    uint64_t at = c->memory + (uint64_t)which * SLOTS * sizeof(Mark);
    void *params[] = {&at};
    if (c->memory)
        cu->launch(c->function, (unsigned)(c->gpu->sms * BLOCKS_EACH), 1, 1, 1, 1, 1, 0, NULL, params,
                   NULL);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A multiprocessor that a mark did not meet has the zeros that were uploaded before. */
static double between(const Mark *first, const Mark *second)
{
    double mhz[SLOTS];
    int n = 0;
    for (int i = 0; i < SLOTS; i++) {
        if (first[i].nanoseconds == 0 || second[i].nanoseconds <= first[i].nanoseconds ||
            second[i].ticks <= first[i].ticks)
            continue;
        double at = (double)(second[i].ticks - first[i].ticks) /
                    (double)(second[i].nanoseconds - first[i].nanoseconds) * 1e3;
        if (at >= least_mhz && at <= most_mhz)
            mhz[n++] = at;
    }
    qsort(mhz, (size_t)n, sizeof *mhz, compare);
    return n ? mhz[n / 2] : 0;
}

/* The marks are cleared again, so that none is taken twice. */
double clock_mhz(const Clock *c)
{
    Driver *cu = &c->gpu->cu;
    Mark marks[2 * SLOTS], none[2 * SLOTS];
    memset(none, 0, sizeof none);
    if (!c->memory || cu->memory_download(marks, c->memory, sizeof marks) != 0 ||
        cu->memory_upload(c->memory, none, sizeof none) != 0)
        return 0;
    return between(marks, marks + SLOTS);
}

void clock_close(Clock *c)
{
    if (c->memory)
        c->gpu->cu.memory_free(c->memory);
    if (c->module)
        c->gpu->cu.module_unload(c->module);
    *c = (Clock){.gpu = c->gpu};
}
