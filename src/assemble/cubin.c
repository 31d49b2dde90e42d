/* cubin.c: machine code as it is shipped beside the PTX that it was made of. */
#include "assemble/cubin.h"

#include <stdlib.h>

static const char head[] = "\n//tw cubin=1 ";

const char *cubin_path(Arena *arena, const char *ptx_path)
{
    size_t len = ptx_path ? strlen(ptx_path) : 0;

    if (len <= 4 || strcmp(ptx_path + len - 4, ".ptx") != 0)
        return NULL;
    return arena_printf(arena, "%.*s.cubin", (int)(len - 4), ptx_path);
}

void cubin_write(Str *out, const AsmResult *result, const Source *ptx, const char *target, const char *ptxas)
{
    str_addn(out, result->cubin, result->bytes);
    str_printf(out, "%scode=%zu sha256=%s ptx=%s target=%s ptxas=%s local", head, result->bytes,
               sha256_text(out->arena, result->cubin, result->bytes),
               sha256_text(out->arena, ptx->text, ptx->len), target, ptxas);
    for (int i = 0; i < result->entries.len; i++)
        str_printf(out, " %s=%d%s", result->entries.data[i].name, result->entries.data[i].stack,
                   result->entries.data[i].serialised ? "s" : "");
    str_addc(out, '\n');
}

/* ---- reading ------------------------------------------------------------------------ */

/* Of the last line; NULL: it is none of ours. */
static const char *find_seal(const Source *file)
{
    size_t at = file->len, least = sizeof head - 1;

    if (at < least || file->text[at - 1] != '\n')
        return NULL;
    for (at--; at > 0 && file->text[at - 1] != '\n'; at--)
        ;
    if (at == 0 || file->len - at < least - 1 || memcmp(file->text + at - 1, head, least) != 0)
        return NULL;
    return file->text + at - 1;
}

static const char *value_of(Arena *arena, const char *line, const char *key)
{
    const char *at = strstr(line, arena_printf(arena, " %s=", key));

    if (!at)
        return NULL;
    at += strlen(key) + 2;
    return arena_strndup(arena, at, strcspn(at, " \n"));
}

static void read_local(Arena *arena, CubinSeal *seal, const char *at)
{
    while ((at = strchr(at, ' '))) {
        size_t len = strcspn(++at, "= \n");
        const char *value = at + len + (at[len] == '=');
        CubinLocal local = {arena_strndup(arena, at, len), atoi(value), false};

        local.serialised = value[strspn(value, "0123456789")] == 's';
        if (*value >= '0' && *value <= '9')
            vec_push(arena, &seal->local, local);
    }
}

bool cubin_read(Arena *arena, const Source *file, CubinSeal *seal, const char **error)
{
    const char *line = find_seal(file), *code, *local;

    *seal = (CubinSeal){0};
    *error = arena_printf(arena, "%s has no line of tw at its end: it does not say what it was made of", file->path);
    if (!line)
        return false;
    code = value_of(arena, line, "code");
    seal->sha256 = value_of(arena, line, "sha256");
    seal->ptx = value_of(arena, line, "ptx");
    seal->target = value_of(arena, line, "target");
    seal->ptxas = value_of(arena, line, "ptxas");
    *error = arena_printf(arena, "%s is damaged", file->path);
    if (!code || !seal->sha256 || !seal->ptx || !seal->target || !seal->ptxas)
        return false;
    seal->code = strtoul(code, NULL, 10);
    local = strstr(line, " local ");
    if (local)
        read_local(arena, seal, local + 6);
    return seal->code == (size_t)(line - file->text) &&
           strcmp(sha256_text(arena, file->text, seal->code), seal->sha256) == 0;
}

bool cubin_is_of(Arena *arena, const CubinSeal *seal, const Source *ptx)
{
    return strcmp(sha256_text(arena, ptx->text, ptx->len), seal->ptx) == 0;
}

const CubinLocal *cubin_local(const CubinSeal *seal, const char *entry)
{
    for (int i = 0; i < seal->local.len; i++)
        if (strcmp(seal->local.data[i].entry, entry) == 0)
            return &seal->local.data[i];
    return NULL;
}
