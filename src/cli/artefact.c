/* artefact.c: what kind of text a file holds. */
#include "cli/artefact.h"

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* The first line that is neither empty nor a comment decides. */
Artefact artefact_of(const Source *source)
{
    const char *at = source->text;

    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at != '#' && !starts_with(at, "//"))
            break;
        at += strcspn(at, "\n");
    }
    if (starts_with(at, ".version"))
        return ARTEFACT_PTX;
    if (starts_with(at, "program "))
        return ARTEFACT_TILE;
    return ARTEFACT_TL;
}

bool artefact_is_tl(Session *s, const Source *source)
{
    switch (artefact_of(source)) {
    case ARTEFACT_TL: return true;
    case ARTEFACT_TILE: session_usage(s, "%s is tile IR: 'tw run' executes that", source->path); break;
    case ARTEFACT_PTX: session_usage(s, "%s is PTX: 'tw emulate' runs that", source->path); break;
    }
    return false;
}
