/* texts.h: the texts that tests read, name and change. To be included behind cmocka.h. */
#ifndef TW_TEST_TEXTS_H
#define TW_TEST_TEXTS_H

#include "base/base.h"

/* A file as it stands; a test that lacks it fails. */
static inline const Source *source_at(Arena *arena, const char *path)
{
    const char *error;
    const Source *source = source_read(arena, path, &error);

    if (!source)
        fail_msg("%s", error);
    return source;
}

static inline Source *source_of(Arena *arena, const char *path, const char *text)
{
    Source *source = arena_new_of(arena, Source);

    *source = (Source){path, text, strlen(text)};
    return source;
}

/* The first `old`, which there must be, as `new`. */
static inline const char *replaced(Arena *arena, const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);

    assert_non_null(at);
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

#endif
