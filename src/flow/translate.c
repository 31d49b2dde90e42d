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
    const char *kernel; /* NULL: all */
    const Source *text;
    const char *const *ours; /* what the built-in translator writes, by kernel; NULL: not asked */
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

static bool translate_others(Translation *t)
{
    const Chain *like = t->flow->chain;
    Chain *own = chain_like(t->arena, like, diags_new(t->arena, like->code));

    t->ours = chain_define(own, like->defined) && chain_lower(own, like->code) ? chain_blocks(own) : NULL;
    return t->ours || fail(t, TW1044, own->failure ? own->failure : "the other kernels cannot be translated");
}

static const FlowPiece *piece_of(const Translation *t, const char *kernel)
{
    for (int i = t->flow->pieces.len - 1; i >= 0; i--)
        if (strcmp(t->flow->pieces.data[i].kernel, kernel) == 0)
            return &t->flow->pieces.data[i];
    return NULL;
}

/* Whether the text at hand is, or has, this kernel's. */
static bool is_here(const Translation *t, const char *kernel)
{
    return !t->kernel || strcmp(t->kernel, kernel) == 0;
}

static const char *text_of(const Translation *t, int k)
{
    const char *kernel = t->chain->tile->kernels.data[k]->name;
    const FlowPiece *piece = piece_of(t, kernel);

    return is_here(t, kernel) ? t->text->text : piece ? piece->text->text : t->ours[k];
}

/* "// shared memory of NAME_block: N bytes"; whoever says nothing takes none. */
static int64_t shared_of(const Translation *t, int k)
{
    const char *note = arena_printf(t->arena, CUTE_SHARED_NOTE, t->chain->tile->kernels.data[k]->name);
    const char *at = strstr(text_of(t, k), note);

    return at ? strtoll(at + strlen(note), NULL, 10) : 0;
}

static bool take_shared(Translation *t)
{
    const TileProgram *program = t->chain->tile;
    int64_t *bytes = arena_array(t->arena, int64_t, program->kernels.len + 1);

    for (int k = 0; k < program->kernels.len; k++) {
        bytes[k] = shared_of(t, k);
        if (bytes[k] >= 0 && bytes[k] <= t->chain->target->shared_per_block)
            continue;
        return fail(t, TW1050, arena_printf(t->diags->arena, "%s_block wants %lld bytes of shared memory; a block of %s has %d",
                                            program->kernels.data[k]->name, (long long)bytes[k], t->chain->target->name,
                                            t->chain->target->shared_per_block));
    }
    t->made->shared_bytes = bytes;
    return chain_frame(t->chain, bytes);
}

/* The kernels that are not asked for, each with names of its own. flat: for the compiler. */
static void put_others(Translation *t, Str *out, bool flat)
{
    for (int k = 0; k < t->chain->tile->kernels.len; k++) {
        const char *kernel = t->chain->tile->kernels.data[k]->name, *text = text_of(t, k);
        const FlowPiece *piece = piece_of(t, kernel);

        if (is_here(t, kernel))
            continue;
        if (piece)
            text = prompt_unfold(t->arena, t->chain, piece->clean.text, flat ? piece->clean.text : text, flat);
        str_printf(out, "namespace of_%s {\n%s\n}\nusing of_%s::%s_block;\n\n", kernel, text, kernel, kernel);
    }
}

static void add_headers(Translation *t, ForeignText *clean)
{
    for (int i = 0; i < t->flow->pieces.len; i++)
        for (int h = 0; h < t->flow->pieces.data[i].clean.headers.len; h++)
            vec_push(t->arena, &clean->headers, t->flow->pieces.data[i].clean.headers.data[h]);
}

static bool frame(Translation *t)
{
    ForeignText clean;
    Str behind = str_new(t->arena), entries = str_new(t->arena), others = str_new(t->arena);
    const char *marked; /* where comments cannot be taken for heads */

    if (!foreign_guard(t->arena, t->text, &clean, t->diags) || !lower_code(t) || (t->kernel && !translate_others(t)) || !take_shared(t))
        return false;
    cute_emit_entries(&entries, t->chain->tile, t->chain->abi, t->chain->target);
    put_others(t, &behind, true);
    str_add(&behind, str_text(&entries));
    marked = clean.text;
    clean.text = prompt_unfold(t->arena, t->chain, marked, marked, true);
    add_headers(t, &clean);
    t->framed = foreign_frame(t->arena, &clean, CUTE_HEADER_NAME, "cute", str_text(&behind));
    put_others(t, &others, false);
    t->whole = arena_printf(t->arena, "#include \"%s\"\nusing namespace cute;\n\n%s\n%s%s", CUTE_HEADER_NAME,
                            prompt_unfold(t->arena, t->chain, marked, t->text->text, false), str_text(&others), str_text(&entries));
    return true;
}

void flow_keep_piece(Flow *flow, const char *kernel, const Source *text)
{
    FlowPiece piece = {.kernel = kernel, .text = text};

    foreign_guard(flow->arena, text, &piece.clean, diags_new(flow->arena, text));
    vec_push(flow->arena, &flow->pieces, piece);
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
    SmallOptions trial = {t->flow->options.seed, t->flow->options.bound, 0};
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

bool flow_judge_translation(const Flow *flow, const char *kernel, const Source *text, FlowTranslated *made, Diags *diags)
{
    Translation t = {.flow = flow, .arena = flow->arena, .kernel = kernel, .text = text, .diags = diags, .made = made};
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
