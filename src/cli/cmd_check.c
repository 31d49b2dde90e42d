/* cmd_check.c: diagnostics; nothing when all is well. */
#include "cli/artefact.h"
#include "cli/stages.h"
#include "emu/emu.h"

static void check_tile(Session *s, const Source *source)
{
    TileProgram *program = tile_parse(s->arena, s->syms, s->aff, source, s->diags);

    if (program)
        tile_verify(program, s->diags);
}

int cmd_check(Session *s)
{
    Source *source = session_read(s, 0);
    Chain *chain;
    Str out = str_new(s->arena);

    if (!source)
        return EXIT_LACKS;
    chain = session_chain(s);
    if (!chain)
        return EXIT_USAGE;
    s->diags->source = source;
    switch (artefact_of(source)) {
    case ARTEFACT_TL: chain_check(chain, source, s->options.fragment); break;
    case ARTEFACT_TILE: check_tile(s, source); break;
    case ARTEFACT_PTX: emu_parse(s->arena, s->diags, source); break;
    }
    if (!s->options.json || s->diags->errors)
        return session_diagnose(s);
    str_add(&out, "{\"ok\":true,\"diagnostics\":");
    diags_json(s->diags, &out);
    str_add(&out, "}\n");
    return session_write(s, out.data, out.len);
}
