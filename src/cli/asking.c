/* asking.c: what commands that ask a model share. */
#include "cli/asking.h"

#include <signal.h>

/* Ctrl-C reaches a process, not an invocation's state. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = 1;
    signal(number, SIG_DFL);
}

void asking_catch(void)
{
    signal(SIGINT, on_interrupt);
}

void asking_release(void)
{
    signal(SIGINT, SIG_DFL);
}

bool asking_stopped(void)
{
    return interrupted;
}

/* Progress on a terminal; the watch of a model. False: there was Ctrl-C. */
static bool tell(void *user, const ModelProgress *p)
{
    static const char *const phases[] = {
        [MODEL_CONNECTING] = "connecting", [MODEL_WAITING] = "waiting",         [MODEL_THINKING] = "it thinks",
        [MODEL_ANSWERING] = "it answers",  [MODEL_PAUSING] = "a pause before another attempt",
    };

    session_progress(user, "asking the model: %s, %.0f s, %zu bytes", phases[p->phase], p->seconds, p->bytes);
    return !interrupted;
}

void asking_options(Session *s, ModelOptions *options)
{
    Options *o = &s->options;

    *options = model_options();
    options->base_url = o->base_url;
    options->key_file = o->key_file;
    options->max_tokens = o->max_tokens;
    if (o->has_temperature)
        options->temperature = o->temperature;
    if (o->has_price) {
        options->price_in = o->price_in;
        options->price_out = o->price_out;
    }
    options->purse = &o->purse;
    options->watch = tell;
    options->user = s;
}

void asking_json(Str *out, const ModelAnswer *answer)
{
    str_add(out, "{\"text\":");
    str_json(out, answer->text);
    str_add(out, ",\"reasoning\":");
    str_json(out, answer->reasoning);
    str_printf(out, ",\"finish\":\"%s\",\"name\":", model_finish_name(answer->finish));
    if (answer->name)
        str_json(out, answer->name);
    else
        str_add(out, "null");
    str_printf(out, ",\"tokens_in\":%lld,\"tokens_out\":%lld,\"tokens_guessed\":%s,\"cost\":", (long long)answer->tokens_in,
               (long long)answer->tokens_out, answer->tokens_guessed ? "true" : "false");
    if (answer->has_cost)
        str_printf(out, "%.9g", answer->cost);
    else
        str_add(out, "null");
    str_printf(out, ",\"seconds\":%.3f,\"attempts\":%d,\"continuations\":%d}", answer->seconds, answer->attempts,
               answer->continuations);
}
