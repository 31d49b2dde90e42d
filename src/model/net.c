/* net.c: a question over the network: attempts until one succeeds, turns until the
 * answer is whole.
 *
 *   turn 1   attempt: 429, pause; attempt: reset, pause; attempt: "Copy Q", cut
 *   turn 2   attempt: " from global"                              -> "Copy Q from global"
 *
 * A pause is twice as long as the one before, within half of that at random, so that many
 * who were refused at once do not come back at once; and at least as long as the provider
 * asks.
 */
#include "model/net.h"

#include <time.h>
#include <unistd.h>

static const double LONGEST_PAUSE = 60;
static const char GO_ON[] = "Your answer was cut at a limit of its length. Go on with exactly the next character; "
                            "repeat nothing, explain nothing, and open no new code fence.";

/* ---- opening ------------------------------------------------------------------------------ */

static bool bad_address(Diags *diags, const char *url, const char *problem)
{
    Diag *diag = model_record(diags, TW1005, arena_printf(diags->arena, "'%s' is no address for questions", url));

    diag_note(diags, diag, "%s", problem);
    return false;
}

static bool find_address(Model *model, Diags *diags)
{
    const char *own = model->options.base_url, *problem = own ? url_problem(own) : NULL;
    const char *base = own ? own : model->provider->address;
    size_t len = strlen(base);

    if (problem)
        return bad_address(diags, strchr(own, '@') ? "..." : own, problem);
    while (len && base[len - 1] == '/')
        len--;
    model->net.own_address = own && !url_same_server(own, model->provider->address);
    model->net.url = arena_printf(model->arena, "%.*s%s", (int)len, base,
                                  wire_of((WireKind)model->provider->wire)->path);
    return true;
}

static bool load_library(Model *model, Diags *diags)
{
    const char *error;
    Diag *diag;

    model->net.loaded = curl_load(&model->net.curl, diags->arena, &error);
    if (model->net.loaded)
        return true;
    diag = model_record(diags, TW1004, arena_printf(diags->arena, "%s needs libcurl: %s", model->spec, error));
    diag_note(diags, diag, "on Debian and Ubuntu: apt-get install libcurl4");
    return false;
}

bool net_open(Model *model, Diags *diags)
{
    const ModelOptions *o = &model->options;

    model->net.rng.state = o->has_seed ? o->seed : (uint64_t)(clock_seconds() * 1e9) ^ (uint64_t)getpid() << 40;
    if (find_address(model, diags) && key_find(model, diags) && load_library(model, diags))
        return true;
    key_forget(&model->net.secret);
    return false;
}

const char *model_network(Arena *arena, const char **error)
{
    Curl curl;

    return curl_load(&curl, arena, error) ? arena_strdup(arena, curl.version()) : NULL;
}

typedef enum TurnEnd {
    TURN_WHOLE,
    TURN_CUT,
    TURN_DECLINED, /* an answer that was cut is not gone on with */
    TURN_UNPAID,   /* nor is it asked to */
} TurnEnd;

/* ---- attempts ------------------------------------------------------------------------------- */

static bool give_up(Call *call, const Trouble *trouble, const char *more)
{
    const char *note = trouble->note;

    if (more)
        note = note ? arena_printf(call->arena, "%s; %s", note, more) : more;
    return call_fail(call, trouble->code, note, "%s", trouble->what);
}

/* Before attempt + 1. False, with a diagnostic: there is no time for it. */
static bool pause_for(Call *call, const Trouble *trouble, double after, int attempt)
{
    const ModelOptions *o = &call->model->options;
    double seconds = o->pause, until, left;

    for (int i = 1; i < attempt && seconds < LONGEST_PAUSE; i++)
        seconds *= 2;
    seconds = (seconds < LONGEST_PAUSE ? seconds : LONGEST_PAUSE) * (0.5 + rng_uniform(&call->model->net.rng));
    seconds = after > seconds ? after : seconds;
    until = clock_seconds() + seconds;
    if (o->limits.whole > 0 && until - call->started > o->limits.whole)
        return give_up(call, trouble,
                       arena_printf(call->arena, "another attempt may be made after %.4g s, beyond the limit of %g s",
                                    seconds, o->limits.whole));
    call->progress.phase = MODEL_PAUSING;
    call->progress.reason = trouble->what;
    while ((left = until - clock_seconds()) > 0) {
        double nap = left < 0.05 ? left : 0.05;

        call->progress.pause = left;
        if (!call_goes_on(call))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = (long)(nap * 1e9)}, NULL);
    }
    return true;
}

/* What an attempt used counts, whatever became of it: it will be charged. */
static void spend(Call *call, const Reply *reply, size_t text, size_t reasoning)
{
    size_t bytes = call->text.len - text + call->reasoning.len - reasoning;
    Usage usage = reply->usage.counted ? reply->usage : call_guess(call, bytes);

    if (bytes || reply->usage.counted)
        call_spend(call, &usage);
}

static void begin_attempt(Call *call, int attempt)
{
    call->answer->attempts += attempt > 1;
    call->progress.attempt = attempt;
    call->progress.phase = MODEL_CONNECTING;
    call->progress.reason = NULL;
    call->progress.pause = 0;
    call->begun = false;
    call->heard = clock_seconds();
}

static void shorten(Str *s, size_t len)
{
    s->len = len;
    if (s->data)
        s->data[len] = '\0';
}

/* What a model would not go on with, say because the question has grown too long, stays
 * the cut answer that it was. */
static bool declines_to_go_on(const Call *call, const Trouble *trouble)
{
    return call->answer->continuations > 0 && trouble->code == TW1009;
}

/* One turn; *end tells how it ended. False, with a diagnostic. */
static bool take_turn(Call *call, TurnEnd *end)
{
    size_t text = call->text.len, reasoning = call->reasoning.len;

    for (int attempt = 1;; attempt++) {
        Reply *reply = arena_new_of(call->arena, Reply);
        double after = 0;
        bool ended;

        if (!call_may_spend(call))
            return false;
        begin_attempt(call, attempt);
        *reply = reply_new(call, wire_of((WireKind)call->model->provider->wire));
        ended = transfer(reply, &after);
        reply_free(reply);
        spend(call, reply, text, reasoning);
        *end = reply->cut ? TURN_CUT : TURN_WHOLE;
        if (!ended || !reply->trouble.is)
            return ended;
        *end = TURN_DECLINED;
        if (declines_to_go_on(call, &reply->trouble))
            return true;
        if (!reply->trouble.again || attempt >= call->model->options.attempts)
            return give_up(call, &reply->trouble,
                           attempt > 1 ? arena_printf(call->arena, "after %d attempts", attempt) : NULL);
        if (!pause_for(call, &reply->trouble, after, attempt))
            return false;
        shorten(&call->text, text);
        shorten(&call->reasoning, reasoning);
    }
}

/* ---- turns ------------------------------------------------------------------------------------ */

/* The messages, what was answered so far, and the request to go on. */
static void ask_for_more(Call *call, const ModelMessage *messages, int n)
{
    ModelMessage *more = arena_array(call->arena, ModelMessage, n + 2);

    memcpy(more, messages, (size_t)n * sizeof *more);
    more[n] = (ModelMessage){MODEL_ASSISTANT, arena_strdup(call->arena, str_text(&call->text))};
    more[n + 1] = (ModelMessage){MODEL_USER, GO_ON};
    call->messages = more;
    call->n = n + 2;
}

static bool is_blank(const Str *s)
{
    return !str_text(s)[strspn(str_text(s), " \t\r\n")];
}

static bool say_cut(Call *call, TurnEnd end)
{
    static const char *const notes[] = {
        [TURN_CUT] = "allow more tokens",
        [TURN_DECLINED] = "it would not go on",
        [TURN_UNPAID] = "the budget does not allow to go on",
    };

    call->answer->finish = MODEL_CUT;
    if (!is_blank(&call->text))
        call_fail(call, TW1015, notes[end], "the answer of %s was cut at a limit of its length", call->model->spec);
    return true;
}

bool net_ask(Call *call)
{
    const ModelMessage *messages = call->messages;
    int n = call->n;
    TurnEnd end = TURN_WHOLE;

    for (;; call->answer->continuations++) {
        if (!take_turn(call, &end))
            return false;
        if (end == TURN_WHOLE)
            return true;
        if (end == TURN_DECLINED || is_blank(&call->text) ||
            call->answer->continuations >= call->model->options.continuations)
            return say_cut(call, end);
        ask_for_more(call, messages, n);
        if (!call_has_left(call))
            return say_cut(call, TURN_UNPAID);
    }
}
