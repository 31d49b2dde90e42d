/* tails.h: one kernel in tile IR with different ends: what a pass makes of each. */
#ifndef TW_TEST_TAILS_H
#define TW_TEST_TAILS_H

#include "fixture.h"
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

#endif
