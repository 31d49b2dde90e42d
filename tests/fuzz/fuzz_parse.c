/* fuzz_parse.c: any bytes as TL: parse, print; what was printed must parse, and
 * print as itself. */
#include "fuzz.h"
#include "lang/lang.h"

#include <stdlib.h>

static Program *reparse(Arena *arena, Syms *syms, const Str *printed)
{
    Source source = {"printed", str_text(printed), printed->len};
    Diags *diags = diags_new(arena, &source);
    Program *program = lang_parse(arena, syms, &source, diags);

    if (!diags->errors)
        return program;
    fputs(source.text, stderr);
    diags_print(diags, stderr, false);
    abort();
}

static void take(Arena *arena, const Source *source)
{
    Syms *syms = syms_new(arena);
    Diags *diags = diags_new(arena, source);
    Program *program = lang_parse(arena, syms, source, diags);
    Str once = str_new(arena), twice = str_new(arena), out = str_new(arena);

    diags_text(diags, &out);
    diags_json(diags, &out);
    if (diags->errors)
        return;
    lang_print(&once, program);
    lang_print(&twice, reparse(arena, syms, &once));
    if (strcmp(str_text(&once), str_text(&twice)) == 0)
        return;
    fprintf(stderr, "%s\n---- prints as ----\n%s", str_text(&once), str_text(&twice));
    abort();
}

int fuzz_parse(const uint8_t *data, size_t size)
{
    fuzz_with(data, size, take);
    return 0;
}
