/* model.c: opening a model, and asking it: what all providers have in common. */
#include "model/wire.h"

/* ---- providers ------------------------------------------------------------------------ */

static const ModelProvider PROVIDERS[] = {
#define PROVIDER(name, wire, address, variables, names, flags) \
    {#name, WIRE_##wire, address, variables, names, flags},
#include "model/providers.def"
#undef PROVIDER
};

const ModelProvider *model_providers(int *n)
{
    *n = (int)TW_COUNT(PROVIDERS);
    return PROVIDERS;
}

ModelOptions model_options(void)
{
    return (ModelOptions){.temperature = -1,
                          .limits = {.connect = 20, .first = 600, .silence = 300, .whole = 3600},
                          .attempts = 5,
                          .pause = 1,
                          .continuations = 2,
                          .price_in = -1,
                          .price_out = -1};
}

/* "openai:NAME": whose name stands before the colon. */
static const ModelProvider *provider_named(const char *spec, size_t len)
{
    for (size_t i = 0; i < TW_COUNT(PROVIDERS); i++)
        if (strlen(PROVIDERS[i].name) == len && strncmp(spec, PROVIDERS[i].name, len) == 0)
            return &PROVIDERS[i];
    return NULL;
}

static bool begins_with_one(const char *name, const char *list)
{
    while (*list) {
        size_t len = strcspn(list, " ");

        if (strncmp(name, list, len) == 0)
            return true;
        list += len + (list[len] == ' ');
    }
    return false;
}

/* "claude-...": whose models are called so. */
static const ModelProvider *provider_of(const char *name)
{
    for (size_t i = 0; i < TW_COUNT(PROVIDERS); i++)
        if (begins_with_one(name, PROVIDERS[i].names))
            return &PROVIDERS[i];
    return NULL;
}

/* ---- opening ---------------------------------------------------------------------------- */

static Model *model_new(Arena *arena, const char *spec, const ModelOptions *options)
{
    Model *model = arena_new_of(arena, Model);

    model->child = CHILD_NONE;
    model->arena = arena;
    model->spec = arena_strdup(arena, spec);
    model->options = options ? *options : model_options();
    return model;
}

Diag *model_record(Diags *diags, DiagCode code, const char *message)
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
    Diag *diag = model_record(diags, TW1001, arena_printf(diags->arena, "'%s' names no model", spec));
    Str list = str_new(diags->arena);

    for (size_t i = 0; i < TW_COUNT(PROVIDERS); i++)
        str_printf(&list, "%s%s:", i ? " " : "", PROVIDERS[i].name);
    diag_note(diags, diag, "write PROVIDER:NAME with one of %s; exec:COMMAND asks a program", str_text(&list));
    return NULL;
}

Model *model_open(Arena *arena, const char *spec, const ModelOptions *options, Diags *diags)
{
    const char *colon = strchr(spec, ':');
    Model *model = model_new(arena, spec, options);

    model->provider = colon ? provider_named(spec, (size_t)(colon - spec)) : NULL;
    model->name = arena_strdup(arena, model->provider ? colon + 1 : spec);
    if (!model->provider)
        model->provider = provider_of(spec);
    if (!model->provider || !*model->name)
        return no_model(diags, spec);
    model->ask = model->provider->address ? net_ask : exec_ask;
    return model->ask == exec_ask || net_open(model, diags) ? model : NULL;
}

static bool script_ask(Call *call)
{
    Model *model = call->model;
    ModelAnswer *answer = call->answer;
    Usage usage;
    bool done;

    *answer = (ModelAnswer){.attempts = 1};
    done = model->script(model->user, call->arena, call->messages, call->n, answer, call->diags);
    str_add(&call->text, answer->text ? answer->text : "");
    str_add(&call->reasoning, answer->reasoning ? answer->reasoning : "");
    usage = (Usage){answer->tokens_in, answer->tokens_out, !answer->tokens_guessed, answer->has_cost, answer->cost};
    if (!usage.in && !usage.out)
        usage = call_guess(call, call->text.len + call->reasoning.len);
    answer->tokens_in = answer->tokens_out = 0;
    answer->cost = 0;
    call_spend(call, &usage);
    return done;
}

Model *model_of(Arena *arena, const char *spec, const ModelOptions *options, ModelAsk *ask, void *user)
{
    Model *model = model_new(arena, spec, options);

    model->name = model->spec;
    model->ask = script_ask;
    model->script = ask;
    model->user = user;
    return model;
}

void model_close(Model *model)
{
    if (!model)
        return;
    exec_end(&model->child);
    net_end(&model->net);
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
    str_json(out, model->provider ? model->provider->name : "script");
    str_add(out, ",\"name\":");
    str_json(out, model->name);
    if (model->net.url) {
        str_add(out, ",\"address\":");
        str_json(out, model->net.url);
    }
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
    case MODEL_EMPTY: return "empty";
    case MODEL_LONG: return "long";
    case MODEL_DECLINED: return "declined";
    case MODEL_BROKEN: return "broken";
    }
    return "";
}

bool model_has_spoken(ModelFinish finish)
{
    return finish != MODEL_BROKEN;
}

/* ---- a call -------------------------------------------------------------------------- */

bool call_fail(Call *call, DiagCode code, const char *note, const char *fmt, ...)
{
    Diag *diag;
    va_list args;

    va_start(args, fmt);
    diag = model_record(call->diags, code, arena_vprintf(call->diags->arena, fmt, args));
    va_end(args);
    if (note)
        diag_note(call->diags, diag, "%s", note);
    return false;
}

void call_heard(Call *call, size_t bytes)
{
    call->heard = clock_seconds();
    call->begun = true;
    call->progress.bytes += bytes;
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
    case MODEL_CONNECTING: /* libcurl looks after it */
    case MODEL_PAUSING: limit = (Limit){NULL, 0}; break;
    case MODEL_WAITING:
    case MODEL_THINKING:
    case MODEL_ANSWERING:
        limit = call->begun ? (Limit){"nothing more of the answer came for", most->silence}
                            : (Limit){"no answer began within", most->first};
        break;
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

Usage call_guess(const Call *call, size_t bytes)
{
    Usage usage = {.out = guess_tokens(bytes)};

    for (int i = 0; i < call->n; i++)
        usage.in += guess_tokens(strlen(call->messages[i].text));
    return usage;
}

static bool has_price(const ModelOptions *options)
{
    return options->price_in >= 0 && options->price_out >= 0;
}

void call_spend(Call *call, const Usage *usage)
{
    const ModelOptions *options = &call->model->options;
    ModelAnswer *answer = call->answer;
    double cost = usage->cost;

    if (!usage->has_cost && has_price(options))
        cost = ((double)usage->in * options->price_in + (double)usage->out * options->price_out) * 1e-6;
    answer->has_cost |= usage->has_cost || has_price(options);
    answer->cost += cost;
    answer->tokens_in += usage->in;
    answer->tokens_out += usage->out;
    answer->tokens_guessed |= !usage->counted;
    if (!options->purse)
        return;
    options->purse->tokens += usage->in + usage->out;
    options->purse->money += cost;
}

/* Tokens that an answer may have for what is left, once the question is paid; negative:
 * not even that can be. */
static int64_t affordable(const Call *call)
{
    const ModelOptions *o = &call->model->options;
    int64_t in = call_guess(call, 0).in, most = INT64_MAX;

    if (o->purse->most_tokens > 0)
        most = o->purse->most_tokens - o->purse->tokens - in;
    if (o->purse->most_money > 0 && has_price(o) && o->price_out > 0) {
        double left = (o->purse->most_money - o->purse->money) * 1e6 - (double)in * o->price_in;
        double tokens = left / o->price_out;

        most = tokens < (double)most ? (int64_t)tokens : most;
    }
    return most;
}

int64_t call_most_tokens(const Call *call)
{
    int64_t most = call->model->options.max_tokens > 0 ? call->model->options.max_tokens : 0;
    int64_t left = call->model->options.purse ? affordable(call) : INT64_MAX;

    if (left == INT64_MAX || (most && most <= left))
        return most;
    return left > 1 ? left : 1;
}

bool call_has_left(const Call *call)
{
    return !call->model->options.purse || affordable(call) > 0;
}

bool call_may_spend(Call *call)
{
    const ModelOptions *options = &call->model->options;
    const ModelPurse *purse = options->purse;

    if (!purse)
        return true;
    if (purse->most_money > 0 && !call->model->script && !has_price(options))
        return call_fail(call, TW1011, "say what a million tokens costs, or bound the tokens instead",
                         "the price of %s is not known, so no budget in dollars can be kept",
                         call->model->spec);
    if (purse->most_money > 0 && (purse->money >= purse->most_money || !call_has_left(call)))
        return call_fail(call, TW1011, arena_printf(call->diags->arena, "$%.4g was spent", purse->money),
                         "the budget of $%.4g is spent", purse->most_money);
    if (purse->most_tokens > 0 && !call_has_left(call))
        return call_fail(call, TW1011, arena_printf(call->diags->arena, "%lld were used", (long long)purse->tokens),
                         "the budget of %lld tokens is spent", (long long)purse->most_tokens);
    return true;
}

/* ---- asking ---------------------------------------------------------------------------- */

/* The answer without thoughts, and without the key, should somebody have echoed it. */
static void take_text(Call *call)
{
    ModelAnswer *answer = call->answer;
    const Secret *secret = &call->model->net.secret;
    const char *text, *thought, *reasoning = key_redact(call->arena, secret, str_text(&call->reasoning));

    think_split(call->arena, key_redact(call->arena, secret, str_text(&call->text)), &text, &thought);
    if (*thought)
        reasoning = *reasoning ? arena_printf(call->arena, "%s\n\n%s", reasoning, thought) : thought;
    answer->text = text;
    answer->reasoning = reasoning;
}

static bool is_recorded(const Diags *diags, DiagCode code)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == code)
            return true;
    return false;
}

/* How what failed came to its end. */
static ModelFinish unfinished(const Diags *diags)
{
    if (is_recorded(diags, TW1017))
        return MODEL_LONG;
    return is_recorded(diags, TW1020) ? MODEL_DECLINED : MODEL_BROKEN;
}

static bool finish(Call *call, bool done)
{
    ModelAnswer *answer = call->answer;

    take_text(call);
    answer->seconds = clock_seconds() - call->started;
    if (!done)
        answer->finish = unfinished(call->diags);
    if (done && !answer->text[strspn(answer->text, " \t\r\n")]) {
        answer->finish = MODEL_EMPTY;
        return call_fail(call, TW1016, *answer->reasoning ? "it only thought; give it more tokens" : NULL,
                         "%s answered nothing", call->model->spec);
    }
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
    return finish(&call, call_may_spend(&call) && model->ask(&call));
}
