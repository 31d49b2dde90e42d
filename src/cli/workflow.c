/* workflow.c: stages with authors: models opened, watched and let go of. */
#include "cli/workflow.h"

#include "cli/asking.h"
#include "cli/contest.h"
#include "cli/ops_folder.h"
#include "cli/stages.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static const char REPLAY[] = "replay:", BUILT_IN[] = "builtin";
enum { MOST_FOLDERS = 10000, SLUG = 40 };

/* ---- models ----------------------------------------------------------------------------- */

static bool is_replay(const char *spec)
{
    return strncmp(spec, REPLAY, sizeof REPLAY - 1) == 0;
}

/* Of its own accord tw has a model translate where there is something to compile that with. */
static const char *spec_of(const Session *s, PromptStage stage)
{
    const Options *o = &s->options;
    const char *model = o->models.len ? o->models.data[o->models.len - 1] : NULL;

    switch (stage) {
    case PROMPT_DEFINE: return model;
    case PROMPT_SKETCH: return o->sketch_by ? o->sketch_by : model;
    case PROMPT_REASON: return o->reason_by ? o->reason_by : model;
    case PROMPT_TRANSLATE: return o->translate_by ? o->translate_by : o->cutlass || (model && is_replay(model)) ? model : NULL;
    case PROMPT_CODE:
    case PROMPT_THINK:
    case PROMPT_VANILLA:
    case PROMPT_STAGES: break;
    }
    return NULL;
}

Model *workflow_model(Session *s, const char *spec)
{
    ModelOptions options;

    asking_options(s, &options);
    options.has_seed = true;
    options.seed = s->options.seed;
    asking_catch();
    return model_open(s->arena, spec, &options, s->diags);
}

static bool open_model(Workflow *w, PromptStage stage, const char *spec)
{
    Session *s = w->s;

    for (int i = 0; i < (int)stage && !is_replay(spec); i++)
        if (w->models[i] && strcmp(model_spec(w->models[i]), spec) == 0)
            w->models[stage] = w->models[i];
    if (w->models[stage])
        return true;
    if (is_replay(spec)) {
        w->models[stage] = transcript_model(s->arena, spec, spec + sizeof REPLAY - 1, stage);
        return true; /* what has no answers there was built in */
    }
    w->models[stage] = workflow_model(s, spec);
    return w->models[stage];
}

static int no_transcript(Session *s, const char *spec)
{
    return session_fail(s, EXIT_LACKS, "%s: no transcript is there (a folder with an answer, such as sketch-1.answer.md)",
                        spec + sizeof REPLAY - 1);
}

static int open_models(Workflow *w)
{
    Session *s = w->s;
    const char *replayed = NULL;
    int found = 0;

    for (int i = 0; i < PROMPT_STAGES; i++) {
        const char *spec = spec_of(s, (PromptStage)i);

        if (!spec || text_equal_nocase(spec, BUILT_IN))
            continue;
        if (is_replay(spec))
            replayed = spec;
        if (!open_model(w, (PromptStage)i, spec))
            return session_diagnose(s) ? EXIT_USAGE : EXIT_WRONG;
        found += w->models[i] != NULL;
    }
    w->asks = found;
    return replayed && !found ? no_transcript(s, replayed) : EXIT_DONE;
}

/* Before anybody is asked. */
static int find_tools(Workflow *w)
{
    Session *s = w->s;
    const char *error;

    w->tools.unconfined = s->options.no_sandbox;
    if (foreign_find(s->arena, s->options.cutlass, &w->tools, &error))
        return EXIT_DONE;
    diag_add(s->diags, TW1053, (Span){0, 0}, "%s", error)->source = NULL;
    session_diagnose(s);
    return EXIT_LACKS;
}

/* ---- what is told meanwhile ------------------------------------------------------------------ */

static void put_codes(Str *out, const Diags *diags)
{
    const char *before = "";

    for (int i = 0; i < diags->list.len; i++) {
        const DiagInfo *info = diag_info(diags->list.data[i].code);

        if (info->severity != SEV_ERROR || strcmp(before, info->name) == 0)
            continue;
        str_printf(out, "%s%s", *before ? ", " : "", info->name);
        before = info->name;
    }
}

void workflow_pay(Session *s, const FlowStep *step)
{
    if (step->asked || !step->prompt)
        return;
    s->options.purse.money += step->answer.cost;
    s->options.purse.tokens += step->answer.tokens_in + step->answer.tokens_out;
}

static void tell(void *user, const FlowStep *step)
{
    Session *s = user;
    Str line = str_new(s->arena);

    if (!step->prompt)
        return;
    session_progress_end(s);
    workflow_pay(s, step);
    str_printf(&line, "tw: %s%s%s, answer %d of %s%s, %.1f s: ", prompt_stage_name(step->stage), step->kernel ? " of " : "",
               step->kernel ? step->kernel : "", step->round, step->author, step->asked ? "" : ", from the transcript",
               step->answer.seconds);
    if (step->ok) {
        str_printf(&line, "right%s%s", step->measured ? "; " : "", step->measured ? flow_measured_text(s->arena, step->measured) : "");
    } else {
        str_add(&line, "wrong, ");
        put_codes(&line, step->diags);
    }
    fprintf(stderr, "%s\n", str_text(&line));
}

/* ---- the transcript ---------------------------------------------------------------------------- */

const char *workflow_slug(Arena *arena, const char *request)
{
    Str out = str_new(arena);

    for (; *request && out.len < SLUG; request++) {
        bool wordy = (*request >= 'a' && *request <= 'z') || (*request >= '0' && *request <= '9') ||
                     (*request >= 'A' && *request <= 'Z');

        if (wordy)
            str_addc(&out, (char)(*request >= 'A' && *request <= 'Z' ? *request | 0x20 : *request));
        else if (out.len && out.data[out.len - 1] != '-')
            str_addc(&out, '-');
    }
    while (out.len && out.data[out.len - 1] == '-')
        out.data[--out.len] = '\0';
    return out.len ? str_text(&out) : "request";
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The first folder of the name that holds no finished run. */
static const char *default_folder(Session *s, const char *name)
{
    const char *base = s->options.output ? s->options.output : ".";

    for (int i = 1;; i++) {
        const char *folder = i == 1 ? arena_printf(s->arena, "%s/%s.transcript", base, name)
                                    : arena_printf(s->arena, "%s/%s.transcript.%d", base, name, i);

        if (i >= MOST_FOLDERS || !exists(arena_printf(s->arena, "%s/result.json", folder)))
            return folder;
    }
}

static const char *folder_of(const Workflow *w, const char *name)
{
    Session *s = w->s;

    if (!w->asks)
        return NULL;
    if (s->options.transcript)
        return s->options.transcript;
    for (int i = 0; i < PROMPT_STAGES; i++)
        if (w->models[i] && !is_replay(model_spec(w->models[i])))
            return default_folder(s, name);
    return NULL; /* it is a transcript already */
}

static void put_words(Str *out, const char *member, const char *const *words, int n)
{
    str_printf(out, ",\n\"%s\":[", member);
    for (int i = 0; i < n; i++) {
        str_add(out, i ? "," : "");
        str_json(out, words[i]);
    }
    str_addc(out, ']');
}

const char *workflow_request(const Workflow *w, const char *text)
{
    const Options *o = &w->s->options;
    Str out = str_new(w->s->arena);

    str_printf(&out, "{\"target\":\"%s\",\"dtype\":\"%s\",\"rounds\":%d,\"seed\":%llu,\"bound\":%g", o->target->name,
               dtype_name(o->dtype), w->flow->options.rounds, (unsigned long long)o->seed, o->bound);
    put_words(&out, "set", o->sets.data, o->sets.len);
    put_words(&out, "bind", o->binds.data, o->binds.len);
    str_add(&out, ",\n\"authors\":{");
    for (int i = 0; i < PROMPT_STAGES; i++) {
        str_printf(&out, "%s\n \"%s\":", i ? "," : "", prompt_stage_name((PromptStage)i));
        if (w->models[i])
            model_json(w->models[i], &out);
        else
            str_add(&out, "\"builtin\"");
    }
    str_add(&out, "},\n\"text\":");
    str_json(&out, text);
    str_add(&out, "}\n");
    return str_text(&out);
}

/* ---- a run --------------------------------------------------------------------------------------- */

bool workflow_is_request(const Session *s)
{
    const char *word = s->options.files.len ? s->options.files.data[0] : "-";

    return has_words(word) && !exists(word);
}

/* A translation on the GPU, beside what the built-in stages make of the definition. */
static FlowMeasured measure(void *user, Chain *chain, const char *ptx)
{
    Workflow *w = user;
    Contest contest = {.s = w->s, .arena = w->s->arena, .theirs = chain, .ptx = ptx};

    if (!contest_shape(&contest))
        return (FlowMeasured){0};
    if (!w->looked)
        w->built_in = contest_built_in(w->s->arena, w->flow->chain);
    w->looked = true;
    contest.built_in = w->built_in;
    session_progress(w->s, "on the GPU, at %s", launch_text(w->s->arena, &contest.shape));
    return contest_run(&contest);
}

Workflow *workflow_new(Session *s, Chain *chain, int *status)
{
    Workflow *w = arena_new_of(s->arena, Workflow);
    FlowOptions options = {.rounds = s->options.has_rounds ? s->options.rounds : FLOW_ROUNDS, .seed = s->options.seed,
                           .bound = s->options.bound, .tell = tell, .stopped = asking_stopped, .user = s};

    *w = (Workflow){.s = s, .started = clock_seconds()};
    *status = open_models(w);
    if (!*status && w->models[PROMPT_TRANSLATE])
        *status = find_tools(w);
    if (*status)
        return NULL;
    options.tools = &w->tools;
    w->gpu = (FlowGpu){measure, w};
    if (w->models[PROMPT_TRANSLATE] && contest_has_gpu(s))
        options.gpu = &w->gpu;
    memcpy(options.by, w->models, sizeof options.by);
    if (w->asks)
        options.library = ops_library(s);
    w->flow = flow_new(chain, &options);
    return w;
}

int workflow_begin(Workflow *w, const char *name, const char *text)
{
    Session *s = w->s;
    const char *folder = folder_of(w, name);

    w->flow->options.folder = folder;
    if (!flow_begin(w->flow, workflow_request(w, text)))
        return session_diagnose(s) ? EXIT_LACKS : EXIT_WRONG;
    if (folder)
        fprintf(stderr, "tw: the transcript is %s; run the same command again to go on with it\n", folder);
    return EXIT_DONE;
}

/* What no answer was right for, or nobody answered. */
static int failed(Workflow *w, PromptStage stage)
{
    Session *s = w->s;

    if (asking_stopped()) {
        session_diagnose(s);
        return session_fail(s, EXIT_STOPPED, "interrupted; the same command goes on with it");
    }
    if (!w->models[stage] && !w->flow->failure)
        return session_chain_failed(s, w->flow->chain, prompt_stage_name(stage));
    if (!session_diagnose(s))
        return session_fail(s, EXIT_WRONG, "%s", w->flow->failure ? w->flow->failure : "no answer");
    if (w->flow->failure && !s->options.json)
        session_fail(s, EXIT_WRONG, "%s", w->flow->failure);
    return w->flow->failure ? EXIT_WRONG : EXIT_LACKS;
}

int workflow_stage(Workflow *w, PromptStage stage, const char *given, Source **definition)
{
    return flow_stage(w->flow, stage, given, definition) ? EXIT_DONE : failed(w, stage);
}

/* A run that nobody answered is not at its end. */
int workflow_end(Workflow *w, int status)
{
    if (status != EXIT_LACKS && status != EXIT_STOPPED && !flow_end(w->flow, status == EXIT_DONE, clock_seconds() - w->started))
        status = session_diagnose(w->s) ? EXIT_LACKS : status;
    for (int i = 0; i < PROMPT_STAGES; i++) {
        bool again = false;

        for (int k = 0; k < i; k++)
            again |= w->models[k] == w->models[i];
        if (!again)
            model_close(w->models[i]);
    }
    if (w->asks)
        asking_release();
    return status;
}

void workflow_json(const Workflow *w, Str *out)
{
    str_addc(out, '[');
    for (int i = 0; i < w->flow->steps.len; i++) {
        const FlowStep *step = &w->flow->steps.data[i];

        str_printf(out, "%s{\"stage\":\"%s\",\"round\":%d,\"author\":", i ? ",\n " : "", prompt_stage_name(step->stage),
                   step->round);
        str_json(out, step->author);
        str_printf(out, ",\"ok\":%s", step->ok ? "true" : "false");
        if (step->measured) {
            str_add(out, ",\"measured\":");
            flow_measured_json(out, step->measured);
        }
        str_addc(out, '}');
    }
    str_addc(out, ']');
}
