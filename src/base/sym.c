/* sym.c: interned strings, in an open-addressed table that stays half empty. */
#include "base/base.h"

typedef struct Entry {
    const char *text; /* NULL: free */
    size_t len;
    uint64_t hash;
} Entry;

struct Syms {
    Arena *arena;
    Entry *entries;
    size_t count, cap; /* cap is a power of two */
};

enum { FIRST_CAP = 256 };

Syms *syms_new(Arena *arena)
{
    Syms *syms = arena_new_of(arena, Syms);

    syms->arena = arena;
    syms->cap = FIRST_CAP;
    syms->entries = arena_array(arena, Entry, syms->cap);
    return syms;
}

/* FNV-1a, 64 bits */
static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

/* The entry that holds the text, or the free one where it belongs. */
static Entry *find(Entry *entries, size_t cap, const char *text, size_t len, uint64_t hash)
{
    size_t i = (size_t)hash & (cap - 1);

    while (entries[i].text && (entries[i].hash != hash || entries[i].len != len ||
                               memcmp(entries[i].text, text, len) != 0))
        i = (i + 1) & (cap - 1);
    return &entries[i];
}

static void grow(Syms *syms)
{
    size_t cap = syms->cap * 2;
    Entry *entries = arena_array(syms->arena, Entry, cap);

    for (size_t i = 0; i < syms->cap; i++) {
        const Entry *old = &syms->entries[i];

        if (old->text)
            *find(entries, cap, old->text, old->len, old->hash) = *old;
    }
    syms->entries = entries;
    syms->cap = cap;
}

const char *symn(Syms *syms, const char *text, size_t len)
{
    uint64_t hash = hash_of(text, len);
    Entry *entry = find(syms->entries, syms->cap, text, len, hash);

    if (entry->text)
        return entry->text;
    if (syms->count >= syms->cap / 2) {
        grow(syms);
        entry = find(syms->entries, syms->cap, text, len, hash);
    }
    entry->text = arena_strndup(syms->arena, text, len);
    entry->len = len;
    entry->hash = hash;
    syms->count++;
    return entry->text;
}

const char *sym(Syms *syms, const char *text)
{
    return symn(syms, text, strlen(text));
}
