/* judge.c: whether an answer is what its stage asks for: one row a stage.
 *
 *   define   resolves; gives numbers
 *   sketch   fits the definition; the checker has nothing against it; the built-in
 *            reasoner finds its parameters; what comes of it computes the definition
 *   reason   fits; checked; lowered; computes the definition; the target takes it
 *   code     likewise
 *   think, vanilla   see cuda.c
 *
 * A text is judged in a chain of its own, which is dropped afterwards; only the
 * diagnostics stay.
 */
#include "flow/flow.h"

#include "check/check.h"

typedef struct Judgement {
    const Flow *flow;
    Arena *arena; /* dropped afterwards */
    const Source *text;
    Diags *diags;
} Judgement;

static Chain *new_chain(const Judgement *j)
{
    Chain *chain = chain_like(j->arena, j->flow->chain, j->diags);

    chain->edits = true;
    return chain;
}

static SmallOptions trial_of(const Judgement *j)
{
    return (SmallOptions){j->flow->options.seed, j->flow->options.bound, 0};
}

/* A sentence of the chain's is a diagnostic of the text. */
static bool failed(const Judgement *j, const Chain *chain)
{
    if (!j->diags->errors) {
        j->diags->source = j->text;
        diag_add(j->diags, TW1046, (Span){0, 0}, "%s", chain->failure ? chain->failure : "it cannot be used");
    }
    return false;
}

static const Program *parsed(const Judgement *j, Syms *syms)
{
    return lang_parse(j->arena, syms, j->text, diags_new(j->arena, j->text));
}

/* A chain that knows the definition, whose tensors the kernels are to read and write;
 * whether they are sketches as well. */
static Chain *fitting(const Judgement *j, bool sketch)
{
    Chain *chain = new_chain(j);
    const Program *program;

    if (!chain_define(chain, j->flow->chain->defined))
        return failed(j, chain), NULL;
    chain->beside = NULL;
    program = parsed(j, chain->syms);
    j->diags->source = j->text;
    for (int i = 0; i < program->units.len; i++) {
        const Unit *unit = program->units.data[i];

        if (unit->kind != UNIT_KERNEL || check_is_sketch(unit) == sketch)
            continue;
        diag_add(j->diags, TW1046, unit->name_span, sketch ? "%s is code; a sketch allocates no tiles and has no coordinates"
                                                           : "%s is a sketch; code allocates its tiles", unit->name);
        return NULL;
    }
    return kernels_fit(kernels_beside(j->arena, program), chain->def, &chain->settings, j->diags) ? chain : NULL;
}

/* What the checker has to say, with edits. */
static bool checked(const Judgement *j)
{
    Chain *chain = new_chain(j);

    return chain_check(chain, j->text, false) || failed(j, chain);
}

static Span unit_place(const Chain *chain, const Source *text, Arena *arena)
{
    const Program *program = lang_parse(arena, chain->syms, text, diags_new(arena, text));
    const Unit *unit = program_unit(program, UNIT_KERNEL);

    return unit ? unit->name_span : (Span){0, 0};
}

static bool computes(const Judgement *j, Chain *chain, const Source *code)
{
    SmallOptions trial = trial_of(j);

    if (!chain_lower(chain, code))
        return failed(j, chain);
    j->diags->source = j->text;
    return flow_execute(chain, &trial, unit_place(chain, j->text, j->arena), j->diags);
}

/* ---- a stage each ---------------------------------------------------------------------- */

static bool judge_definition(const Judgement *j)
{
    Chain *chain = new_chain(j);
    SmallOptions trial = trial_of(j);

    return (chain_define(chain, j->text) || failed(j, chain)) && flow_evaluate(chain, &trial, j->diags);
}

static bool judge_sketch(const Judgement *j)
{
    Chain *chain;

    if (!checked(j) || !(chain = fitting(j, true)))
        return false;
    return (chain_reason(chain, j->text) || failed(j, chain)) && computes(j, chain, chain->code);
}

static bool judge_code(const Judgement *j)
{
    Chain *chain;

    if (!checked(j) || !(chain = fitting(j, false)))
        return false;
    return computes(j, chain, j->text) && ((chain_schedule(chain) && chain_emit(chain)) || failed(j, chain));
}

static bool judge_cuda(const Judgement *j)
{
    return flow_judge_cuda(j->flow, j->arena, j->text, j->diags);
}

static bool (*const judges[PROMPT_STAGES])(const Judgement *) = {
    [PROMPT_DEFINE] = judge_definition,
    [PROMPT_SKETCH] = judge_sketch,
    [PROMPT_REASON] = judge_code,
    [PROMPT_CODE] = judge_code,
    [PROMPT_THINK] = judge_cuda,
    [PROMPT_VANILLA] = judge_cuda,
};

static const char *keep(Arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

/* Diagnostics of texts that are made on the way outlive them, and so does what they say. */
static void keep_sources(Arena *arena, const Source *text, Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++) {
        Diag *diag = &diags->list.data[i];
        Source *kept;

        diag->message = keep(arena, diag->message);
        diag->note = keep(arena, diag->note);
        diag->fix.text = keep(arena, diag->fix.text);
        diag->fix.label = keep(arena, diag->fix.label);
        if (!diag->source || diag->source == text)
            continue;
        kept = arena_new_of(arena, Source);
        kept->path = arena_strdup(arena, diag->source->path);
        kept->text = arena_strndup(arena, diag->source->text, diag->source->len);
        kept->len = diag->source->len;
        diag->source = kept;
    }
    diags->source = text;
}

bool flow_judge(const Flow *flow, PromptStage stage, const Source *text, Diags *diags)
{
    Judgement j = {flow, arena_new(arena_heap(flow->arena)), text, diags};
    bool right = judges[stage](&j) && !diags->errors;

    keep_sources(flow->arena, text, diags);
    arena_free(j.arena);
    return right;
}
