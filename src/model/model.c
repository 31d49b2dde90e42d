/* model.c: opening a model, and asking it: what all providers have in common. */
#include "model/client.h"

/* ---- specs ------------------------------------------------------------------------- */

typedef struct Provider {
    const char *name;
    bool (*ask)(Call *call);
} Provider;

static const Provider PROVIDERS[] = {
    {"exec", exec_ask},
};

ModelOptions model_options(void)
{
    return (ModelOptions){.temperature = -1,
                          .limits = {.connect = 20, .first = 600, .silence = 180, .whole = 3600},
                          .attempts = 5,
                          .continuations = 2,
                          .price_in = -1,
                          .price_out = -1};
}

static Model *model_new(Arena *arena, const char *spec, const ModelOptions *options)
{
    Model *model = arena_new_of(arena, Model);

    model->child = CHILD_NONE;
    model->arena = arena;
    model->spec = arena_strdup(arena, spec);
    model->options = options ? *options : model_options();
    return model;
}

/* A diagnostic without a place, whatever is being read otherwise. */
static Diag *record(Diags *diags, DiagCode code, const char *message)
{
    const Source *source = diags->source;
    Diag *diag;

    diags->source = NULL;
    diag = diag_add(diags, code, (Span){0, 0}, "%s", message);
    diags->source = source;
    return diag;
}

static Model *no_model(Diags *diags, const char *spec)
{
    Diag *diag = record(diags, TW1001, arena_printf(diags->arena, "'%s' names no model", spec));

    diag_note(diags, diag, "exec:COMMAND asks a program: the prompt on its standard input, the answer on its output");
    return NULL;
}

Model *model_open(Arena *arena, const char *spec, const ModelOptions *options, Diags *diags)
{
    const char *colon = strchr(spec, ':');
    Model *model = model_new(arena, spec, options);

    for (size_t i = 0; colon && i < TW_COUNT(PROVIDERS); i++) {
        size_t len = strlen(PROVIDERS[i].name);

        if (len != (size_t)(colon - spec) || strncmp(spec, PROVIDERS[i].name, len) != 0 || !colon[1])
            continue;
        model->provider = PROVIDERS[i].name;
        model->name = arena_strdup(arena, colon + 1);
        model->ask = PROVIDERS[i].ask;
        return model;
    }
    return no_model(diags, spec);
}

static bool script_ask(Call *call)
{
    Model *model = call->model;

    return model->script(model->user, call->arena, call->messages, call->n, call->answer, call->diags);
}

Model *model_of(Arena *arena, const char *spec, const ModelOptions *options, ModelAsk *ask, void *user)
{
    Model *model = model_new(arena, spec, options);

    model->provider = "own";
    model->name = model->spec;
    model->ask = script_ask;
    model->script = ask;
    model->user = user;
    return model;
}

void model_close(Model *model)
{
    if (model)
        exec_end(&model->child);
}

const char *model_spec(const Model *model)
{
    return model->spec;
}

void model_json(const Model *model, Str *out)
{
    const ModelOptions *o = &model->options;

    str_add(out, "{\"spec\":");
    str_json(out, model->spec);
    str_add(out, ",\"provider\":");
    str_json(out, model->provider);
    str_add(out, ",\"name\":");
    str_json(out, model->name);
    if (o->temperature >= 0)
        str_printf(out, ",\"temperature\":%g", o->temperature);
    if (o->max_tokens > 0)
        str_printf(out, ",\"max_tokens\":%d", o->max_tokens);
    if (o->has_seed)
        str_printf(out, ",\"seed\":%llu", (unsigned long long)o->seed);
    str_addc(out, '}');
}

const char *model_finish_name(ModelFinish finish)
{
    switch (finish) {
    case MODEL_DONE: return "done";
    case MODEL_CUT: return "cut";
    case MODEL_BROKEN: return "broken";
    }
    return "";
}

/* ---- a call -------------------------------------------------------------------------- */

bool call_fail(Call *call, DiagCode code, const char *note, const char *fmt, ...)
{
    Diag *diag;
    va_list args;

    va_start(args, fmt);
    diag = record(call->diags, code, arena_vprintf(call->diags->arena, fmt, args));
    va_end(args);
    if (note)
        diag_note(call->diags, diag, "%s", note);
    return false;
}

bool call_heard(Call *call, size_t bytes)
{
    call->heard = clock_seconds();
    call->progress.bytes += bytes;
    if (call->progress.bytes <= ANSWER_LIMIT)
        return true;
    return call_fail(call, TW1017, "it may repeat itself; give --max-tokens a bound",
                     "the answer of %s is longer than %d MB", call->model->spec, ANSWER_LIMIT >> 20);
}

typedef struct Limit {
    const char *what; /* NULL: none has passed */
    double seconds;
} Limit;

static Limit limit_passed(const Call *call, double now)
{
    const ModelLimits *most = &call->model->options.limits;
    Limit limit = {"no answer was complete after", most->whole};

    if (limit.seconds > 0 && now - call->started > limit.seconds)
        return limit;
    switch (call->progress.phase) {
    case MODEL_CONNECTING: limit = (Limit){"there was no connection after", most->connect}; break;
    case MODEL_WAITING: limit = (Limit){"no answer began within", most->first}; break;
    case MODEL_THINKING:
    case MODEL_ANSWERING: limit = (Limit){"nothing more of the answer came for", most->silence}; break;
    case MODEL_PAUSING: limit = (Limit){NULL, 0}; break;
    }
    return limit.seconds > 0 && now - call->heard > limit.seconds ? limit : (Limit){NULL, 0};
}

bool call_goes_on(Call *call)
{
    const ModelOptions *options = &call->model->options;
    double now = clock_seconds();
    Limit limit = limit_passed(call, now);

    call->progress.seconds = now - call->started;
    if (options->watch && !options->watch(options->user, &call->progress))
        return call_fail(call, TW1018, "what was answered before is kept; ask again to go on",
                         "the question to %s was given up", call->model->spec);
    if (!limit.what)
        return true;
    return call_fail(call, TW1007, arena_printf(call->diags->arena, "%s %g s", limit.what, limit.seconds),
                     "%s took too long", call->model->spec);
}

/* ---- what it costs --------------------------------------------------------------------- */

static int64_t guess_tokens(size_t bytes)
{
    return (int64_t)(bytes + 3) / 4; /* English and code: about four bytes a token */
}

static void guess_usage(Call *call)
{
    ModelAnswer *answer = call->answer;

    answer->tokens_guessed = true;
    for (int i = 0; i < call->n; i++)
        answer->tokens_in += guess_tokens(strlen(call->messages[i].text));
    answer->tokens_out = guess_tokens(strlen(answer->text) + strlen(answer->reasoning));
}

static void settle(Call *call)
{
    const ModelOptions *options = &call->model->options;
    ModelAnswer *answer = call->answer;

    if (!answer->tokens_in && !answer->tokens_out)
        guess_usage(call);
    if (!answer->has_cost && options->price_in >= 0 && options->price_out >= 0) {
        answer->has_cost = true;
        answer->cost = ((double)answer->tokens_in * options->price_in +
                        (double)answer->tokens_out * options->price_out) * 1e-6;
    }
    if (!options->purse)
        return;
    options->purse->tokens += answer->tokens_in + answer->tokens_out;
    options->purse->money += answer->has_cost ? answer->cost : 0;
}

static bool may_spend(Call *call)
{
    const ModelOptions *options = &call->model->options;
    const ModelPurse *purse = options->purse;

    if (!purse)
        return true;
    if (purse->most_money > 0 && purse->money >= purse->most_money)
        return call_fail(call, TW1011, NULL, "the budget of $%.4g is spent", purse->most_money);
    if (purse->most_tokens > 0 && purse->tokens >= purse->most_tokens)
        return call_fail(call, TW1011, NULL, "the budget of %lld tokens is spent",
                         (long long)purse->most_tokens);
    if (purse->most_money > 0 && !call->model->script && (options->price_in < 0 || options->price_out < 0))
        return call_fail(call, TW1011, "say what a million tokens costs, or bound the tokens instead",
                         "the price of %s is not known, so no budget in dollars can be kept",
                         call->model->spec);
    return true;
}

/* ---- asking ---------------------------------------------------------------------------- */

static void take_thoughts(Call *call)
{
    ModelAnswer *answer = call->answer;
    const char *thought, *reasoning = answer->reasoning;

    think_split(call->arena, answer->text, &answer->text, &thought);
    if (*thought)
        answer->reasoning =
            *reasoning ? arena_printf(call->arena, "%s\n\n%s", reasoning, thought) : thought;
}

static bool finish(Call *call, bool done)
{
    ModelAnswer *answer = call->answer;

    answer->text = answer->text ? answer->text : str_text(&call->text);
    answer->reasoning = answer->reasoning ? answer->reasoning : str_text(&call->reasoning);
    take_thoughts(call);
    answer->seconds = clock_seconds() - call->started;
    settle(call);
    if (!done)
        answer->finish = MODEL_BROKEN;
    if (done && !answer->text[strspn(answer->text, " \t\r\n")])
        return call_fail(call, TW1016, *answer->reasoning ? "it only thought; give it more tokens" : NULL,
                         "%s answered nothing", call->model->spec);
    return done;
}

bool model_ask(Model *model, Arena *arena, const ModelMessage *messages, int n, ModelAnswer *answer,
               Diags *diags)
{
    double now = clock_seconds();
    Call call = {.model = model, .arena = arena, .diags = diags, .messages = messages, .n = n,
                 .answer = answer, .started = now, .heard = now, .progress = {.attempt = 1},
                 .text = str_new(arena), .reasoning = str_new(arena)};

    *answer = (ModelAnswer){.attempts = 1};
    if (!may_spend(&call)) {
        *answer = (ModelAnswer){.text = "", .reasoning = "", .finish = MODEL_BROKEN};
        return false;
    }
    return finish(&call, model->ask(&call));
}
