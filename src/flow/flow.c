/* flow.c: a stage, done by its author, in as many rounds as it takes. */
#include "flow/flow.h"

Flow *flow_new(Chain *chain, const FlowOptions *options)
{
    Flow *flow = arena_new_of(chain->arena, Flow);

    flow->arena = chain->arena;
    flow->chain = chain;
    flow->options = *options;
    if (flow->options.rounds < 1)
        flow->options.rounds = 1;
    return flow;
}

bool flow_begin(Flow *flow, const char *request)
{
    return !flow->options.folder || transcript_begin(flow, request);
}

bool flow_end(Flow *flow, bool ok, double seconds)
{
    return !flow->options.folder || transcript_end(flow, ok, seconds);
}

static bool fail(Flow *flow, const char *failure)
{
    flow->failure = failure;
    return false;
}

/* ---- authors -------------------------------------------------------------------------- */

/* The built-in stages work in the chain that goes on, and give what they wrote. */
static const Source *write_built_in(Flow *flow, PromptStage stage)
{
    Chain *chain = flow->chain;

    switch (stage) {
    case PROMPT_DEFINE:
        fail(flow, "a request in plain words takes a model: --model SPEC");
        return NULL;
    case PROMPT_SKETCH: return chain_fuse(chain) ? chain->sketch : NULL;
    case PROMPT_REASON: return chain_reason(chain, chain->sketch) ? chain->code : NULL;
    case PROMPT_CODE: return chain_fuse(chain) && chain_reason(chain, chain->sketch) ? chain->code : NULL;
    case PROMPT_TRANSLATE:
        return chain_lower(chain, chain->code) && chain_schedule(chain) && chain_emit(chain) ? chain->ptx : NULL;
    case PROMPT_THINK:
    case PROMPT_VANILLA:
        fail(flow, "nobody is built in who writes CUDA from a definition");
        return NULL;
    case PROMPT_STAGES: break;
    }
    return NULL;
}

static bool ask_built_in(Flow *flow, FlowStep *step)
{
    double since = clock_seconds();
    const Source *text = write_built_in(flow, step->stage);

    if (!text)
        return false;
    step->answer = (ModelAnswer){.text = text->text, .reasoning = "", .seconds = clock_seconds() - since, .attempts = 1};
    return true;
}

/* What stands in the transcript is not asked for again. What the question has recorded is
 * told by the answer's finish as well, so that an answer means the same when it is found. */
static bool ask_model(Flow *flow, FlowStep *step, Model *model)
{
    ModelMessage message = {MODEL_USER, step->prompt};
    Diags *said = diags_new(flow->arena, NULL);
    bool done;

    if (flow->options.folder && transcript_find(flow, step->stage, step->round, step->prompt, &step->answer))
        return true;
    step->asked = true;
    done = model_ask(model, flow->arena, &message, 1, &step->answer, said) || model_has_spoken(step->answer.finish);
    if (!done)
        diags_take(flow->chain->diags, said);
    return done && (!flow->options.folder || transcript_answer(flow, step));
}

static bool ask(Flow *flow, FlowStep *step)
{
    Model *model = flow->options.by[step->stage];

    return model ? ask_model(flow, step, model) : ask_built_in(flow, step);
}

/* ---- a round ----------------------------------------------------------------------------- */

static void tell_finish(const FlowStep *step, DiagCode code, const char *message, const char *note)
{
    Diag *diag = diag_add(step->diags, code, (Span){0, 0}, "%s", message);

    diag->source = NULL;
    if (note)
        diag_note(step->diags, diag, "%s", note);
}

/* Whether there is anything to be taken; what it came to is told to its author. */
static bool holds_text(const FlowStep *step)
{
    switch (step->answer.finish) {
    case MODEL_DONE: return true;
    case MODEL_CUT:
        tell_finish(step, TW1015, "the answer was cut at a limit of its length", "say less beside the program");
        return true;
    case MODEL_EMPTY:
        tell_finish(step, TW1016, "the answer is empty",
                    *step->answer.reasoning ? "what was only thought is no answer: think less, and write it down" : NULL);
        return false;
    case MODEL_LONG:
        tell_finish(step, TW1017, "the answer is too long to be read", "give the program, once, and no more");
        return false;
    case MODEL_DECLINED:
        tell_finish(step, TW1020, "there was no answer: it was declined", NULL);
        return false;
    case MODEL_BROKEN: break;
    }
    return false;
}

static bool judge(Flow *flow, FlowStep *step)
{
    if (step->stage == PROMPT_TRANSLATE) {
        bool ok = flow_judge_translation(flow, step->kernel, step->text, &flow->translated, step->diags);
        FlowMeasured *kept = arena_new_of(flow->arena, FlowMeasured);

        *kept = flow->translated.measured;
        step->measured = kept->verdict == FLOW_UNTRIED ? NULL : kept;
        return ok;
    }
    return flow_judge(flow, step->stage, step->text, step->diags);
}

static void take_text(Flow *flow, FlowStep *step)
{
    const char *name = arena_printf(flow->arena, "%s-%d.%s", prompt_stage_name(step->stage), step->round,
                                    prompt_suffix(step->stage));
    bool built_in = !flow->options.by[step->stage];

    if (built_in && step->stage == PROMPT_TRANSLATE) {
        step->ok = true; /* PTX, that is executed with the others */
        return;
    }
    step->text = flow_extract(flow->arena, name, prompt_unit(step->stage), step->answer.text, strlen(step->answer.text),
                              step->diags);
    step->ok = step->text && ((built_in && !flow->options.execute) || judge(flow, step));
}

static bool take(Flow *flow, FlowStep *step)
{
    double since = clock_seconds();

    if (holds_text(step))
        take_text(flow, step);
    step->judged = clock_seconds() - since;
    return step->ok;
}

/* In canonical form, as a built-in stage would leave it. */
static Source *adopted(Flow *flow, const FlowStep *step, const char *kind)
{
    Chain *chain = flow->chain;
    Program *program = lang_parse(flow->arena, chain->syms, step->text, diags_new(flow->arena, step->text));
    Str text = str_new(flow->arena);
    const char *name = chain->name ? chain->name : program->units.data[0]->name;

    lang_print(&text, program);
    return chain_text(chain, arena_printf(flow->arena, "%s%s.tl", name, kind), &text);
}

static bool adopt(Flow *flow, const FlowStep *step, Source **definition)
{
    Chain *chain = flow->chain;

    switch (step->stage) {
    case PROMPT_DEFINE: *definition = adopted(flow, step, ""); return true;
    case PROMPT_SKETCH:
        chain->sketch = adopted(flow, step, ".sketch");
        chain->beside = NULL;
        return true;
    case PROMPT_REASON:
    case PROMPT_CODE:
        chain->code = adopted(flow, step, ".code");
        chain->beside = NULL;
        return true;
    case PROMPT_TRANSLATE:
        if (step->kernel)
            flow_keep_piece(flow, step->kernel, step->text);
        return flow_adopt_translation(flow);
    case PROMPT_THINK:
    case PROMPT_VANILLA:
    case PROMPT_STAGES: break;
    }
    return true;
}

/* False: there is nothing to go on with. step->ok says whether the answer is right. */
static bool do_round(Flow *flow, FlowStep *step)
{
    if (!ask(flow, step))
        return false;
    take(flow, step);
    if (flow->options.stopped && flow->options.stopped())
        return false;
    vec_push(flow->arena, &flow->steps, *step);
    if (flow->options.tell)
        flow->options.tell(flow->options.user, step);
    return !step->prompt || !flow->options.folder || transcript_verdict(flow, step);
}

/* What the next prompt says of an answer that is wrong. */
static void tell_next(Flow *flow, const FlowStep *step, PromptRequest *request)
{
    Str wrong = str_new(flow->arena);

    diags_text(step->diags, &wrong);
    request->answer = step->text ? step->text->text : NULL;
    request->diagnostics = str_text(&wrong);
}

static bool give_up(Flow *flow, const FlowStep *step, int rounds)
{
    const char *of = step->kernel ? arena_printf(flow->arena, ", kernel %s", step->kernel) : "";

    diags_take(flow->chain->diags, step->diags);
    return fail(flow, arena_printf(flow->arena, "no answer of %s for the stage '%s'%s was right, of %d; the last one is above",
                                   step->author, prompt_stage_name(step->stage), of, rounds));
}

/* How many answers of the stage there were. */
static int answered(const Flow *flow, PromptStage stage)
{
    int n = 0;

    for (int i = 0; i < flow->steps.len; i++)
        n += flow->steps.data[i].stage == stage;
    return n;
}

/* What is asked for once, in as many rounds as it takes. */
static bool do_rounds(Flow *flow, PromptStage stage, PromptRequest *request, Source **definition)
{
    Model *model = flow->options.by[stage];
    int rounds = model ? flow->options.rounds : 1, before = answered(flow, stage);
    FlowStep step = {0};

    for (int round = 1; round <= rounds; round++) {
        step = (FlowStep){.stage = stage, .round = before + round, .kernel = request->kernel,
                          .author = model ? model_spec(model) : "builtin"};
        step.diags = diags_new(flow->arena, NULL);
        step.prompt = model ? prompt_write(flow->arena, stage, request) : NULL;
        if (!do_round(flow, &step))
            return false;
        if (step.ok)
            return !model || adopt(flow, &step, definition);
        tell_next(flow, &step, request);
    }
    return give_up(flow, &step, rounds);
}

bool flow_stage(Flow *flow, PromptStage stage, const char *given, Source **definition)
{
    const Chain *chain = flow->chain;
    PromptRequest request = {.target = chain->target, .dtype = chain->settings.dtype, .settings = &chain->settings,
                             .text = given, .library = flow->options.library};
    const char *const *kernels;
    int n = stage == PROMPT_TRANSLATE && flow->options.by[stage] ? prompt_apart(flow->arena, &request, &kernels) : 0;

    for (int k = 0; k < n; k++) {
        PromptRequest one = request;

        one.kernel = kernels[k];
        if (!do_rounds(flow, stage, &one, definition))
            return false;
    }
    return n || do_rounds(flow, stage, &request, definition);
}
