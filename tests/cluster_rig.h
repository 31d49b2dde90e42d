/* cluster_rig.h: runs entries whose blocks form clusters in the emulator, for test_emu_cluster*.c.
 *
 * HEAD(directives) gives an entry's first lines: %r1 the thread, %r2 the rank, %r3 how many
 * there are, %r4 the block's own 4 KB of shared memory `sm`, %rd1 and %rd2 the buffers `in` and
 * `out`, %rd4 and %rd5 the thread's word of each, by blocks of as many threads as are launched.
 * A line that a fault must name ends in "//!".
 */
#ifndef CLUSTER_RIG_H
#define CLUSTER_RIG_H

#include "emu_rig.h"

#define HEAD(directives)                                                                             \
    ".version 8.0\n.target sm_90a\n.address_size 64\n"                                               \
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n" directives "\n{\n"         \
    ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<99>; .reg .b64 %rd<40>; .reg .f32 %f<40>;\n"  \
    ".shared .align 128 .b8 sm[4096];\n"                                                             \
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank;\n" \
    "mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, sm; mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x;\n" \
    "mad.lo.u32 %r7, %r5, %r6, %r1; mul.wide.u32 %rd3, %r7, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n"
#define CLUSTER(n) ".explicitcluster\n.reqnctapercluster " #n ", 1, 1\n.maxntid 256, 1, 1"
#define SYNC "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"

enum { WORDS = 4096 };

/* Runs a text over words of `in`; false when it faulted. */
static inline bool cluster_run(Rig *rig, const char *text, const uint32_t *in, uint32_t *out)
{
    struct { uint64_t in, out; uint32_t n; } params;
    EmuModule *module = rig_parse_text(rig, text, strlen(text));
    EmuMemory *memory = emu_memory_new(rig->arena);
    uint32_t *copy = arena_array(rig->arena, uint32_t, WORDS);

    if (!module) {
        diags_print(rig->diags, stderr, false);
        fail_msg("the text does not parse");
    }
    memcpy(copy, in, WORDS * sizeof *in);
    params.in = emu_memory_add(memory, "in", copy, WORDS * sizeof *in, true, true, 0);
    params.out = emu_memory_add(memory, "out", out, WORDS * sizeof *out, rig->out_initialised, false, 0);
    params.n = WORDS;
    rig->launch.params = &params;
    rig->launch.param_bytes = 20;
    return emu_run(rig->arena, module, 0, memory, &rig->launch, &rig->report);
}

/* ---- bodies of one entry -------------------------------------------------------------------- */

typedef struct ClusterEntry {
    const char *head; /* see HEAD */
    int blocks, threads;
} ClusterEntry;

static inline const char *cluster_text(Arena *arena, const ClusterEntry *entry, const char *body)
{
    return arena_printf(arena, "%s%s\nret;\n}\n", entry->head, body);
}

static inline void cluster_fill(uint32_t in[WORDS])
{
    for (uint32_t i = 0; i < WORDS; i++)
        in[i] = i * i % 1009;
}

/* Opens the rig. */
static inline bool cluster_run_body(Rig *rig, const ClusterEntry *entry, const char *body, uint64_t seed, uint32_t *out)
{
    uint32_t in[WORDS];

    cluster_fill(in);
    rig_open(rig);
    rig->launch.grid[0] = entry->blocks;
    rig->launch.block[0] = entry->threads;
    rig->launch.seed = seed;
    return cluster_run(rig, cluster_text(rig->arena, entry, body), in, out);
}

/* ---- planted faults --------------------------------------------------------------------------- */

/* A body with one mistake, in the lines marked, and the same put right. */
typedef struct ClusterCase {
    const char *name;
    EmuFaultKind kind;
    const char *wrong, *right;
    const char *says; /* part of the message; NULL: anything */
    bool alone;       /* nothing else may be reported */
} ClusterCase;

static inline bool cluster_marked(const char *text, int line)
{
    int at = 1;

    for (const char *c = text; *c; c++) {
        if (at == line && strncmp(c, "//!", 3) == 0)
            return true;
        at += *c == '\n';
    }
    return false;
}

static inline bool cluster_found(const Rig *rig, const ClusterCase *c, const char *text)
{
    bool seen = false;

    for (int i = 0; i < rig->report.fault_count && i < EMU_FAULT_LIMIT; i++) {
        const EmuFault *f = &rig->report.faults[i];

        if (f->kind == c->kind && cluster_marked(text, f->line) && (!c->says || strstr(f->message, c->says)))
            seen = true;
        else if (c->alone)
            return false;
    }
    return seen;
}

static inline bool cluster_check_case(const ClusterEntry *entry, const ClusterCase *c, bool right, uint64_t seed)
{
    const char *body = right ? c->right : c->wrong;
    uint32_t out[WORDS] = { 0 };
    Rig rig;
    bool clean = cluster_run_body(&rig, entry, body, seed, out);
    bool ok = right ? clean : !clean && cluster_found(&rig, c, cluster_text(rig.arena, entry, body));

    if (!ok) {
        print_error("%s, seed %d: %s\n", c->name, (int)seed, right ? "put right, not clean" : "not found as it should be");
        rig_print_faults(&rig);
    }
    rig_close(&rig);
    return ok;
}

/* Every case under several schedules; returns how many are not as they should be. */
static inline int cluster_check_cases(const ClusterEntry *entry, const ClusterCase *cases, size_t count)
{
    int wrong = 0;

    for (size_t i = 0; i < count; i++) {
        bool ok = true;

        for (uint64_t seed = 0; seed < 12 && ok; seed++)
            ok = cluster_check_case(entry, &cases[i], false, seed) && cluster_check_case(entry, &cases[i], true, seed);
        wrong += !ok;
    }
    return wrong;
}

/* A body with random edits, of whose pieces some are put in. */
static inline const char *cluster_mutant(Arena *arena, Rng *rng, const char *body, const char *const *pieces, size_t count)
{
    int edits = 1 + rng_below(rng, 4);

    for (int e = 0; e < edits; e++) {
        size_t len = strlen(body), at = (size_t)rng_below(rng, (int)len + 1);
        Str changed = str_new(arena);

        str_addn(&changed, body, at);
        str_add(&changed, pieces[rng_below(rng, (int)count)]);
        at += (size_t)rng_below(rng, 8);
        if (at < len)
            str_add(&changed, body + at);
        body = str_text(&changed);
    }
    return body;
}

/* ---- refused texts ------------------------------------------------------------------------------ */

typedef struct ClusterRefusal {
    const char *directives, *body, *code;
} ClusterRefusal;

static inline void cluster_check_refusal(const ClusterRefusal *refusal)
{
    const char *text;
    Rig rig;

    rig_open(&rig);
    text = arena_printf(rig.arena, ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n%s\n{\n"
                                   ".reg .b16 %%h<4>; .reg .b32 %%r<16>; .reg .b64 %%rd<8>;\n%s\nret;\n}\n",
                        refusal->directives, refusal->body);
    if (rig_parse_text(&rig, text, strlen(text)))
        fail_msg("taken: %s", refusal->body);
    if (strcmp(diag_info(rig.diags->list.data[0].code)->name, refusal->code) != 0)
        diags_print(rig.diags, stderr, false);
    assert_string_equal(diag_info(rig.diags->list.data[0].code)->name, refusal->code);
    rig_close(&rig);
}

#endif
