/* describe.c: a GPU with other numbers than the typical one of its architecture.
 *
 *   sm_80:sms=20,shared_per_block=48k,clock_ghz=1.2
 *
 * What is not said is as with the architecture's target; what it can do always is.
 */
#include <math.h>
#include <stdlib.h>

#include "target/facts.h"

typedef enum FactKind { FACT_INT, FACT_INT64, FACT_DOUBLE } FactKind;

typedef struct Fact {
    const char *name;
    FactKind kind;
    size_t offset;
    double least, most;
} Fact;

enum { SIZES = 1 << 30 };

#define FACT(kind, name, least, most) {#name, kind, offsetof(Target, name), least, most}
static const Fact facts[] = {
    FACT(FACT_INT, sms, 1, 4096),
    FACT(FACT_INT, shared_per_block, 1024, 1 << 20),
    FACT(FACT_INT, shared_per_sm, 1024, 1 << 20),
    FACT(FACT_INT, regs_per_sm, 4096, 1 << 20),
    FACT(FACT_INT, regs_per_thread, 32, 255),
    FACT(FACT_INT, warps_per_sm, 4, 1024),
    FACT(FACT_INT, blocks_per_sm, 1, 1024),
    FACT(FACT_INT64, l2_bytes, 1024, SIZES),
    FACT(FACT_DOUBLE, mma_macs, 1, 1e6),
    FACT(FACT_DOUBLE, fp32_ops, 1, 1e6),
    FACT(FACT_DOUBLE, exp_ops, 1, 1e6),
    FACT(FACT_DOUBLE, shared_bytes, 1, 1e6),
    FACT(FACT_DOUBLE, clock_ghz, 1e-3, 1e3),
    FACT(FACT_DOUBLE, dram_gbs, 1, 1e6),
    FACT(FACT_DOUBLE, l2_gbs, 1, 1e6),
};

static const Fact *find_fact(const char *name)
{
    for (size_t i = 0; i < TW_COUNT(facts); i++)
        if (strcmp(facts[i].name, name) == 0)
            return &facts[i];
    return NULL;
}

static const char *near_fact(const char *name)
{
    enum { FAR = 4 };
    const char *near = NULL;
    int best = FAR;

    for (size_t i = 0; i < TW_COUNT(facts); i++) {
        int d = name_distance(name, facts[i].name, best);
        if (d < best) {
            best = d;
            near = facts[i].name;
        }
    }
    return near;
}

/* `48k` and `6M` are multiples of 1024. */
static bool read_number(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end != text && (*end == 'k' || *end == 'K' || *end == 'M') && end[1] == '\0')
        *value *= *end++ == 'M' ? 1024 * 1024 : 1024;
    return end != text && *end == '\0' && isfinite(*value);
}

static void set_fact(Target *t, const Fact *fact, double value)
{
    char *at = (char *)t + fact->offset;

    switch (fact->kind) {
    case FACT_INT: *(int *)(void *)at = (int)value; break;
    case FACT_INT64: *(int64_t *)(void *)at = (int64_t)value; break;
    case FACT_DOUBLE: *(double *)(void *)at = value; break;
    }
}

/* "NAME=VALUE"; NULL, or what is wrong. */
static const char *set_one(Arena *arena, Target *t, char *text)
{
    char *equals = strchr(text, '=');
    double value;

    if (!equals)
        return arena_printf(arena, "'%s' is no NAME=VALUE", text);
    *equals = '\0';
    const Fact *fact = find_fact(text);
    if (!fact) {
        const char *near = near_fact(text);
        return near ? arena_printf(arena, "a GPU has no '%s'; did you mean '%s'?", text, near)
                    : arena_printf(arena, "a GPU has no '%s': see docs/adding-a-target.md", text);
    }
    if (!read_number(equals + 1, &value) || value < fact->least || value > fact->most)
        return arena_printf(arena, "%s is a number from %g to %g", fact->name, fact->least, fact->most);
    set_fact(t, fact, value);
    return NULL;
}

const Target *target_described(Arena *arena, const char *text, const char **error)
{
    size_t len = strcspn(text, ":");
    const Target *base = target_find(arena_strndup(arena, text, len));

    *error = NULL;
    if (!base || text[len] == '\0')
        return base;
    Target *t = arena_new_of(arena, Target);
    *t = *base;
    char *rest = arena_strndup(arena, text + len + 1, strlen(text + len + 1));
    for (char *one = rest; one && !*error; one = rest) {
        rest = strchr(one, ',');
        if (rest)
            *rest++ = '\0';
        *error = set_one(arena, t, one);
    }
    if (t->shared_per_block == base->shared_per_block && t->shared_per_block + t->shared_reserved > t->shared_per_sm)
        t->shared_per_block = t->shared_per_sm - t->shared_reserved; /* a block has no more than the multiprocessor that was given */
    if (!*error && t->shared_per_block + t->shared_reserved > t->shared_per_sm)
        *error = arena_printf(arena, "a block's shared memory, %d bytes and %d of the system's, is more than a multiprocessor's %d: "
                              "give shared_per_sm=%d or more", t->shared_per_block, t->shared_reserved, t->shared_per_sm,
                              t->shared_per_block + t->shared_reserved);
    return *error ? NULL : t;
}
