/* emu_cases.h: kernels with one mistake, whose line is marked //!, and the same put right, which
 * must be clean. Both run under several schedules: what is found must not depend on luck.
 */
#ifndef EMU_CASES_H
#define EMU_CASES_H

#include "emu_rig.h"

typedef struct Case {
    const char *name;
    EmuFaultKind kind;
    const char *wrong, *right;
    int threads;          /* 0: 64 */
    int blocks;           /* 0: 1 */
    bool uninitialised_in;
    bool initialised_out;
    uint64_t limit;
} Case;

#define SHARED_WORD "mov.u32 %r2, sm; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; xor.b32 %r5, %r3, 128; add.u32 %r5, %r5, %r2;\n"
/* %r4 a lane's own word, %r6 its neighbour's. */
#define LANE_WORD SHARED_WORD "xor.b32 %r6, %r3, 4; add.u32 %r6, %r6, %r2;\n"

static inline bool run_case(Rig *rig, const Case *c, const char *body, uint64_t seed)
{
    uint32_t in[1024], out[1024];

    for (int i = 0; i < 1024; i++)
        in[i] = out[i] = (uint32_t)i;
    out[0] = 0;
    rig_open(rig);
    rig->launch.block[0] = c->threads ? c->threads : 64;
    rig->launch.grid[0] = c->blocks ? c->blocks : 1;
    rig->launch.max_instructions = c->limit;
    rig->launch.seed = seed;
    rig->out_initialised = c->initialised_out;
    return rig_run(rig, body, in, sizeof in, out, sizeof out);
}

/* Whether a line of the text is marked. */
static inline bool marked(const char *body, int line)
{
    int at = rig_marked_line("//!");

    for (const char *c = body; *c; c++) {
        if (at == line && strncmp(c, "//!", 3) == 0)
            return true;
        at += *c == '\n';
    }
    return false;
}

/* A race may show as something else first, so any of the faults will do. */
static inline bool found(const EmuReport *report, const Case *c)
{
    for (int i = 0; i < report->fault_count && i < EMU_FAULT_LIMIT; i++) {
        if (report->faults[i].kind == c->kind && report->faults[i].message &&
            marked(c->wrong, report->faults[i].line))
            return true;
    }
    return false;
}

static inline void check_wrong(const Case *c, uint64_t seed)
{
    Rig rig;
    bool ok = run_case(&rig, c, c->wrong, seed);

    if (ok || !found(&rig.report, c)) {
        print_error("%s, seed %d: not found as it should be\n", c->name, (int)seed);
        rig_print_faults(&rig);
        fail();
    }
    rig_close(&rig);
}

static inline void check_right(const Case *c, uint64_t seed)
{
    Rig rig;
    bool ok = run_case(&rig, c, c->right, seed);

    if (!ok) {
        print_error("%s, put right, seed %d:\n", c->name, (int)seed);
        rig_print_faults(&rig);
    }
    assert_true(ok);
    rig_close(&rig);
}

static inline void check_cases(const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (uint64_t seed = 0; seed < 6; seed++) {
            check_wrong(&cases[i], seed);
            check_right(&cases[i], seed);
        }
    }
}

#endif
