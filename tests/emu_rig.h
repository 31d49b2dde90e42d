/* emu_rig.h: runs PTX snippets in the emulator, for test_emu*.c.
 *
 * A snippet is the body of an entry whose first lines are given: registers of
 * every kind, 16 KB of shared memory `sm`, the buffers `in` (%rd1) and `out`
 * (%rd2), %r1 the thread, %rd4 and %rd5 the thread's 32-bit word of each. The
 * line that a fault must name ends in "//!".
 */
#ifndef EMU_RIG_H
#define EMU_RIG_H

#include "emu/emu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Rig {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Diags *diags;
    EmuReport report;
    EmuLaunch launch;  /* set before rig_run: block, grid, seed … */
    bool in_initialised, out_read_only, out_initialised;
    size_t unwritten;  /* bytes of out */
} Rig;

static const char rig_head[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n"
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
    ".reg .pred %p<16>; .reg .b16 %h<32>; .reg .b32 %r<99>; .reg .b64 %rd<40>; .reg .f32 %f<99>; "
    ".reg .f64 %d<16>; .shared .align 128 .b8 sm[16384]; .local .align 16 .b8 loc[64];\n"
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; "
    "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n";

static inline void rig_open(Rig *rig)
{
    memset(rig, 0, sizeof *rig);
    rig->heap.on_oom = &rig->oom;
    rig->arena = arena_new(&rig->heap);
    rig->launch.grid[0] = rig->launch.grid[1] = rig->launch.grid[2] = 1;
    rig->launch.block[0] = 32;
    rig->launch.block[1] = rig->launch.block[2] = 1;
    rig->in_initialised = true;
}

static inline void rig_close(Rig *rig)
{
    arena_free(rig->arena);
}

static inline EmuModule *rig_parse_text(Rig *rig, const char *text, size_t len)
{
    Source *source = arena_new_of(rig->arena, Source);

    *source = (Source){ "test.ptx", text, len };
    rig->diags = diags_new(rig->arena, source);
    return emu_parse(rig->arena, rig->diags, source);
}

static inline EmuModule *rig_parse(Rig *rig, const char *body)
{
    char *text = arena_printf(rig->arena, "%s%s\nret;\n}\n", rig_head, body);

    return rig_parse_text(rig, text, strlen(text));
}

/* Runs a body; false when it faulted. */
static inline bool rig_run(Rig *rig, const char *body, void *in, size_t in_bytes, void *out,
                           size_t out_bytes)
{
    struct { uint64_t in, out; uint32_t n; } params;
    EmuModule *module = rig_parse(rig, body);
    EmuMemory *memory = emu_memory_new(rig->arena);
    bool ok;

    if (!module) {
        diags_print(rig->diags, stderr, false);
        fail_msg("the snippet does not parse");
    }
    params.in = emu_memory_add(memory, "in", in, in_bytes, rig->in_initialised, true, 0);
    params.out = emu_memory_add(memory, "out", out, out_bytes, rig->out_initialised,
                                rig->out_read_only, 0);
    params.n = (uint32_t)(out_bytes / 4);
    rig->launch.params = &params;
    rig->launch.param_bytes = 20;
    ok = emu_run(rig->arena, module, 0, memory, &rig->launch, &rig->report);
    rig->unwritten = emu_memory_unwritten(memory, params.out);
    return ok;
}

static inline void rig_print_faults(const Rig *rig)
{
    for (int i = 0; i < rig->report.fault_count && i < EMU_FAULT_LIMIT; i++) {
        const EmuFault *f = &rig->report.faults[i];

        print_error("%s at line %d, thread %d: %s\n", emu_fault_name(f->kind), f->line, f->thread,
                    f->message);
    }
}

/* The line of the text at which the body's "//!" stands; 0: nowhere. */
static inline int rig_marked_line(const char *body)
{
    const char *mark = strstr(body, "//!");
    int line = 1;

    if (!mark)
        return 0;
    for (const char *c = rig_head; *c; c++)
        line += *c == '\n';
    for (const char *c = body; c < mark; c++)
        line += *c == '\n';
    return line;
}

#endif
