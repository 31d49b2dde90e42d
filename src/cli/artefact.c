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

static bool block_is_sketch(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *stmt = block->data[i];

        if (stmt->kind == STMT_FOR && stmt->over)
            return true;
        if (stmt->kind == STMT_GRID)
            for (int k = 0; k < stmt->n_coords; k++)
                if (!stmt->coords[k].value)
                    return true;
        if (block_is_sketch(&stmt->body) || block_is_sketch(&stmt->orelse))
            return true;
    }
    return false;
}

bool unit_is_sketch(const Unit *unit)
{
    return unit->kind == UNIT_KERNEL && block_is_sketch(&unit->body);
}
