/* fuzz_tile.c: any bytes as tile IR: parse, verify, print, parse what was
 * printed, and emit for a target of each kind. */
#include "fuzz.h"
#include "pass/pass.h"
#include "ptx/ptx.h"

#include <stdlib.h>

/* Through the passes of one target: those of warps that all do the same, or of warpgroups
 * with roles. */
static void schedule(Arena *arena, TileProgram *program, const char *name, const Source *source)
{
    const Target *target = target_find(name);
    Diags *diags = diags_new(arena, source);
    Str ptx = str_new(arena);

    if (pass_run(program, target, diags, NULL, NULL))
        ptx_emit(&ptx, program, abi_from_tile(arena, program, target), target, diags);
}

static void take(Arena *arena, const Source *source)
{
    Syms *syms = syms_new(arena);
    AffCtx *aff = aff_ctx_new(arena);
    Diags *diags = diags_new(arena, source), *again;
    TileProgram *program = tile_parse(arena, syms, aff, source, diags);
    Str text = str_new(arena);
    Source printed = {"printed", NULL, 0};

    if (!program)
        return;
    tile_print(&text, program);
    printed.text = str_text(&text);
    printed.len = text.len;
    again = diags_new(arena, &printed);
    if (!tile_parse(arena, syms, aff_ctx_new(arena), &printed, again)) {
        diags_print(again, stderr, false);
        abort();
    }
    if (!tile_verify(program, diags))
        return;
    schedule(arena, tile_clone(arena, program), "sm_90a", source);
    schedule(arena, program, "sm_80", source);
}

int fuzz_tile(const uint8_t *data, size_t size)
{
    fuzz_with(data, size, take);
    return 0;
}
