/* translate.c: is C++ of whatever origin the code that it was to translate?
 *
 *   guarded ─► between our includes and entries ─► compiled in a sandbox ─► audited
 *           ─► executed by the emulator on small shapes, against the definition
 *           ─► where there is a GPU, verified and timed there
 *
 * The text is compiled for the device and its PTX interpreted; nothing of it runs on this machine's
 * processor.
 */
#include "flow/flow.h"

#include "cute/cute.h"

#include <stdlib.h>

typedef struct Translation {
    const Flow *flow;
    Arena *arena; /* of the flow: what came of it stays */
    const Source *text;
    Chain *chain; /* one of its own */
    Diags *diags;
    FlowTranslated *made;
    const char *framed;
    const char *whole; /* as a person reads it, comments and all */
} Translation;

static bool fail(Translation *t, DiagCode code, const char *message)
{
    diag_add(t->diags, code, (Span){0, 0}, "%s", message)->source = NULL;
    return false;
}

/* ---- the frame ---------------------------------------------------------------------------- */

/* In a chain of its own, whose tile IR goes no further than a translation needs. */
static bool lower_code(Translation *t)
{
    const Chain *like = t->flow->chain;

    t->chain = chain_like(t->arena, like, diags_new(t->arena, like->code));
    if (chain_define(t->chain, like->defined) && chain_lower(t->chain, like->code) && chain_frame(t->chain, NULL))
        return true;
    diags_take(t->diags, t->chain->diags);
    return t->diags->errors ? false : fail(t, TW1044, t->chain->failure ? t->chain->failure : "the code cannot be lowered");
}

/* "// shared memory of NAME_block: N bytes"; whoever says nothing takes none. */
static int64_t shared_of(const Translation *t, const char *kernel)
{
    const char *note = arena_printf(t->arena, CUTE_SHARED_NOTE, kernel), *at = strstr(t->text->text, note);

    return at ? strtoll(at + strlen(note), NULL, 10) : 0;
}

static bool take_shared(Translation *t)
{
    const TileProgram *program = t->chain->tile;
    int64_t *bytes = arena_array(t->arena, int64_t, program->kernels.len + 1);

    for (int k = 0; k < program->kernels.len; k++) {
        const char *name = program->kernels.data[k]->name;

        bytes[k] = shared_of(t, name);
        if (bytes[k] >= 0 && bytes[k] <= t->chain->target->shared_per_block)
            continue;
        return fail(t, TW1050, arena_printf(t->diags->arena, "%s_block wants %lld bytes of shared memory; a block of %s has %d", name,
                                            (long long)bytes[k], t->chain->target->name, t->chain->target->shared_per_block));
    }
    t->made->shared_bytes = bytes;
    return chain_frame(t->chain, bytes);
}

static bool frame(Translation *t)
{
    ForeignText clean;
    Str entries = str_new(t->arena);

    if (!foreign_guard(t->arena, t->text, &clean, t->diags) || !lower_code(t) || !take_shared(t))
        return false;
    cute_emit_entries(&entries, t->chain->tile, t->chain->abi, t->chain->target);
    t->framed = foreign_frame(t->arena, &clean, CUTE_HEADER_NAME, "cute", str_text(&entries));
    t->whole = arena_printf(t->arena, "#include \"%s\"\nusing namespace cute;\n\n%s\n%s", CUTE_HEADER_NAME, t->text->text,
                            str_text(&entries));
    return true;
}

/* ---- PTX ------------------------------------------------------------------------------------- */

static bool compile(Translation *t, const char **ptx)
{
    const ForeignTools *tools = t->flow->options.tools;
    ForeignJob job = {t->framed, t->chain->target->name, CUTE_HEADER_NAME, cute_header};
    const char *error;
    ForeignMade made;

    if (!tools)
        return fail(t, TW1053, "nobody said what to compile with");
    if (!foreign_compile(t->arena, tools, &job, &made, &error))
        return fail(t, TW1053, error);
    if (!made.ptx)
        foreign_read_log(t->text, made.log, t->diags);
    *ptx = made.ptx;
    return made.ptx != NULL;
}

static const char *const *entry_names(const Translation *t)
{
    const Abi *abi = t->chain->abi;
    const char **names = arena_array(t->arena, const char *, 2 * abi->kernels.len + 1);

    for (int k = 0; k < abi->kernels.len; k++) {
        names[2 * k] = abi->kernels.data[k].fast.name;
        names[2 * k + 1] = abi->kernels.data[k].any.name;
    }
    return names;
}

static bool execute(Translation *t, const char *text)
{
    FlowTrial trial = {t->flow->options.seed, t->flow->options.bound, 0};
    Source *ptx = arena_new_of(t->arena, Source);
    Diags *said = diags_new(t->arena, ptx);
    EmuModule *module;

    *ptx = (Source){"kernel.ptx", text, strlen(text)};
    module = emu_parse(t->arena, said, ptx);
    if (module)
        return flow_emulate(t->chain, module, ptx, &trial, t->diags);
    return fail(t, TW1044, arena_printf(t->diags->arena, "the emulator does not know an instruction that it became: %s",
                                        said->list.len ? said->list.data[0].message : "no reason"));
}

/* Where there is no GPU, the emulator has had the last word. */
static bool measure(Translation *t, const char *ptx)
{
    const FlowGpu *gpu = t->flow->options.gpu;
    FlowMeasured *m = &t->made->measured;

    if (!gpu)
        return true;
    *m = gpu->measure(gpu->user, t->chain, ptx);
    return m->verdict != FLOW_WRONG || fail(t, TW1061, arena_printf(t->diags->arena, "on the GPU (%s), %s", *m->gpu ? m->gpu : "it", m->problem));
}

bool flow_judge_translation(const Flow *flow, const Source *text, FlowTranslated *made, Diags *diags)
{
    Translation t = {.flow = flow, .arena = flow->arena, .text = text, .diags = diags, .made = made};
    const char *ptx = NULL;

    *made = (FlowTranslated){0};
    if (!frame(&t) || !compile(&t, &ptx) || !(ptx = foreign_audit(t.arena, ptx, entry_names(&t), text, diags)) ||
        !execute(&t, ptx) || diags->errors || !measure(&t, ptx))
        return false;
    made->ptx = ptx;
    made->text = t.whole;
    return true;
}

/* ---- adopted ----------------------------------------------------------------------------------- */

static Source *with_abi(Chain *chain, const char *suffix, const char *text)
{
    Str out = str_new(chain->arena);

    abi_ptx_comment(&out, chain->abi);
    str_add(&out, text);
    return chain_text(chain, arena_printf(chain->arena, "%s.%s.%s", chain->name, chain->target->name, suffix), &out);
}

bool flow_adopt_translation(Flow *flow)
{
    Chain *chain = flow->chain;

    if (!chain_lower(chain, chain->code) || !chain_frame(chain, flow->translated.shared_bytes))
        return false;
    chain->cute = with_abi(chain, "cu", flow->translated.text);
    chain->ptx = with_abi(chain, "ptx", flow->translated.ptx);
    return true;
}

/* ---- what was measured ----------------------------------------------------------------------------- */

void flow_measured_json(Str *out, const FlowMeasured *m)
{
    str_printf(out, "{\"ok\":%s,\"gpu\":", m->verdict == FLOW_RIGHT ? "true" : "false");
    str_json(out, m->gpu);
    if (m->ms > 0)
        str_printf(out, ",\"ms\":%.6g", m->ms);
    if (m->built_in_ms > 0)
        str_printf(out, ",\"built_in_ms\":%.6g", m->built_in_ms);
    str_addc(out, '}');
}

const char *flow_measured_text(Arena *arena, const FlowMeasured *m)
{
    if (m->ms <= 0)
        return arena_printf(arena, "on %s, not timed", m->gpu);
    if (m->built_in_ms <= 0)
        return arena_printf(arena, "%.4g ms on %s", m->ms, m->gpu);
    return arena_printf(arena, "%.4g ms on %s, %.2f of the built-in kernel's speed (%.4g ms)", m->ms, m->gpu, m->built_in_ms / m->ms,
                        m->built_in_ms);
}
