/* cmd_fmt.c: TL in its canonical form. */
#include "cli/artefact.h"
#include "lang/lang.h"

int cmd_fmt(Session *s)
{
    Source *source = session_read(s, 0);
    Program *program;
    Str out = str_new(s->arena);

    if (!source)
        return EXIT_LACKS;
    if (!artefact_is_tl(s, source))
        return EXIT_USAGE;
    s->diags->source = source;
    program = lang_parse(s->arena, s->syms, source, s->diags);
    if (session_diagnose(s))
        return EXIT_WRONG;
    lang_print(&out, program);
    return session_write(s, str_text(&out), out.len);
}
