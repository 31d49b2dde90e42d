/* fuzz_compile.c: any bytes as TL, through every stage that takes them. The first
 * line, a comment, may say settings and a target: `# set HeadDim=64; sm_75`. */
#include "chain/chain.h"
#include "fuzz.h"

enum { MOST_SETTING = 64 };

static const Target *wanted_target(const char *line, size_t len)
{
    for (size_t i = 0; i + 5 <= len; i++) {
        char name[6] = {0};
        const Target *target;

        memcpy(name, line + i, 5);
        if ((target = target_find(name)))
            return target;
    }
    return target_find("sm_80");
}

static void take_settings(Chain *chain, const char *line, size_t len)
{
    for (size_t i = 0; i + 4 < len; i++) {
        char setting[MOST_SETTING] = {0};
        size_t n = 0;

        if (memcmp(line + i, "set ", 4) != 0)
            continue;
        while (n < MOST_SETTING - 1 && i + 4 + n < len && line[i + 4 + n] != ';' && line[i + 4 + n] != ' ')
            n++;
        memcpy(setting, line + i + 4, n);
        chain_set(chain, arena_strdup(chain->arena, setting));
    }
}

static void take(Arena *arena, const Source *source)
{
    size_t line = strcspn(source->text, "\n") * (source->text[0] == '#');
    Diags *diags = diags_new(arena, source);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags,
                             wanted_target(source->text, line), DT_F16);
    Str out = str_new(arena);

    chain->edits = true;
    take_settings(chain, source->text, line);
    if (chain_define(chain, source) && chain_fuse(chain) && chain_reason(chain, chain->sketch) &&
        chain_lower(chain, chain->code) && chain_schedule(chain))
        chain_emit(chain);
    else if (chain_lower(chain, source) && chain_schedule(chain))
        chain_emit(chain);
    diags_text(diags, &out);
    diags_json(diags, &out);
}

int fuzz_compile(const uint8_t *data, size_t size)
{
    fuzz_with(data, size, take);
    return 0;
}
