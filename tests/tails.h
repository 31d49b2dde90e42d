/* tails.h: what passes make of one kernel in tile IR with different ends, and of code. */
#ifndef TW_TEST_TAILS_H
#define TW_TEST_TAILS_H

#include "fixture.h"
#include "chain/chain.h"
#include "pass/pass.h"
#include "target/target.h"
#include "tile/tile.h"

#include <cmocka.h>

/* The program of `head`, which leaves its kernel open, and `tail`. */
static inline TileProgram *parse_tail(Arena *arena, const char *head, const char *tail, const char *what)
{
    Str text = str_new(arena), shown = str_new(arena);
    str_printf(&text, "%s%s}\n", head, tail);
    Source *source = arena_new_of(arena, Source);
    *source = (Source){"tail.tile", str_text(&text), text.len};
    Diags *diags = diags_new(arena, source);
    TileProgram *program = tile_parse(arena, syms_new(arena), aff_ctx_new(arena), source, diags);
    if (!program || !tile_verify(program, diags)) {
        diags_text(diags, &shown);
        fail_msg("%s: %s", what, str_text(&shown));
    }
    return program;
}

/* What the passes make of code; NULL: diagnostics say why nothing. */
static inline TileProgram *compiled(Arena *arena, const char *code, const char *target, Diags **diags, DType dtype)
{
    Source *source = arena_new_of(arena, Source);
    Syms *syms = syms_new(arena);
    AffCtx *aff = aff_ctx_new(arena);

    *source = (Source){"code.tl", code, strlen(code)};
    *diags = diags_new(arena, source);
    Chain *chain = chain_new(arena, syms, aff, *diags, target_find(target), dtype);
    return chain_lower(chain, source) && pass_run(chain->tile, chain->target, *diags, NULL, NULL) ? chain->tile : NULL;
}

#endif
