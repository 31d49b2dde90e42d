/* cmd_check.c: diagnostics; nothing when all is well. */
#include "check/check.h"
#include "cli/artefact.h"
#include "cli/stages.h"
#include "emu/emu.h"

static void check_tl(Session *s, const Source *source, Settings *settings)
{
    CheckOptions options = {.target = s->options.target, .settings = settings,
                            .fragment = s->options.fragment};
    Program *program = lang_parse(s->arena, s->syms, source, s->diags);

    /* What was not understood leaves holes, of which the checker would complain
     * a second time. */
    if (!s->diags->errors)
        check_program(s->arena, s->syms, program, &options, s->diags);
}

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
    case ARTEFACT_TL: check_tl(s, source, &chain->settings); break;
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
