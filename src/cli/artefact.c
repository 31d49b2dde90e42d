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
