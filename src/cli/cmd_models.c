/* cmd_models.c: who can be asked, with what is missing for it; and whether one answers. */
#include "cli/asking.h"

#include <stdlib.h>

static const char QUESTION[] = "Reply with the single word: ready";

/* ---- the list ---------------------------------------------------------------------------- */

/* The first of a provider's variables that is set; NULL: none is. */
static const char *variable_set(Arena *arena, const char *list)
{
    while (*list) {
        size_t len = strcspn(list, " ");
        const char *name = arena_strndup(arena, list, len), *value = getenv(name);

        if (value && *value)
            return name;
        list += len + (list[len] == ' ');
    }
    return NULL;
}

static void put_row(Session *s, Str *out, const ModelProvider *p)
{
    const char *set = variable_set(s->arena, p->variables);

    str_printf(out, "%-11s %-30s %-9s %s\n", p->name, p->variables, set ? "set" : *p->variables ? "not set" : "",
               p->address ? p->address : "a program: exec:COMMAND");
}

static void put_json(Session *s, Str *out, const ModelProvider *p)
{
    str_printf(out, "{\"name\":\"%s\",\"variables\":\"%s\",\"set\":%s,\"names\":\"%s\",\"address\":", p->name,
               p->variables, variable_set(s->arena, p->variables) ? "true" : "false", p->names);
    if (p->address)
        str_json(out, p->address);
    else
        str_add(out, "null");
    str_addc(out, '}');
}

static void list_as_json(Session *s, Str *out, const char *network, const char *error)
{
    int n;
    const ModelProvider *all = model_providers(&n);

    str_printf(out, "{\"ok\":true,\"%s\":", network ? "libcurl" : "missing");
    str_json(out, network ? network : error);
    str_add(out, ",\"providers\":[");
    for (int i = 0; i < n; i++) {
        str_add(out, i ? ",\n " : "");
        put_json(s, out, &all[i]);
    }
    str_add(out, "]}\n");
}

static int list(Session *s)
{
    const char *error = NULL, *network = model_network(s->arena, &error);
    Str out = str_new(s->arena);
    int n;
    const ModelProvider *all = model_providers(&n);

    if (s->options.json) {
        list_as_json(s, &out, network, error);
        return session_write(s, out.data, out.len);
    }
    put_title(s, &out, "provider    its key                                  asked at");
    for (int i = 0; i < n; i++)
        put_row(s, &out, &all[i]);
    if (network)
        str_printf(&out, "\nover the network by %s\n", network);
    else
        str_printf(&out, "\nnobody is asked over the network: %s (Debian, Ubuntu: apt-get install libcurl4)\n", error);
    return session_write(s, out.data, out.len);
}

/* ---- asking -------------------------------------------------------------------------------- */

/* For a terminal, which must not be told what to do by a model. */
static const char *visible(Arena *arena, const char *text)
{
    Str out = str_new(arena);

    while (*text) {
        int length = utf8_length(text);
        bool control = (*text >= 0 && *text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f ||
                       (text[0] == '\xc2' && (unsigned char)text[1] < 0xa0);

        if (control || length == 0)
            str_add(&out, "\xef\xbf\xbd");
        else
            str_addn(&out, text, (size_t)length);
        text += length ? length : 1;
    }
    return str_text(&out);
}

static void put_answer(Str *out, const Model *model, const ModelAnswer *answer)
{
    str_printf(out, "%s%s%s answers (%s) in %.1f s:\n\n%s\n\n", model_spec(model), answer->name ? ", " : "",
               answer->name ? visible(out->arena, answer->name) : "", model_finish_name(answer->finish),
               answer->seconds, visible(out->arena, answer->text));
    str_printf(out, "tokens %lld read, %lld written%s", (long long)answer->tokens_in,
               (long long)answer->tokens_out, answer->tokens_guessed ? " (a guess)" : "");
    if (answer->has_cost)
        str_printf(out, ", $%.4g", answer->cost);
    if (*answer->reasoning)
        str_printf(out, "; %zu bytes of thoughts", strlen(answer->reasoning));
    if (answer->attempts > 1)
        str_printf(out, "; %d attempts", answer->attempts);
    if (answer->continuations)
        str_printf(out, "; asked %d more times to go on", answer->continuations);
    str_addc(out, '\n');
}

static void put_answer_json(Str *out, const Model *model, const ModelAnswer *answer)
{
    str_add(out, "{\"ok\":true,\"model\":");
    model_json(model, out);
    str_add(out, ",\"answer\":");
    asking_json(out, answer);
    str_add(out, "}\n");
}

static int ask(Session *s, const char *spec)
{
    const ModelMessage message = {MODEL_USER, QUESTION};
    ModelOptions options;
    ModelAnswer answer;
    Model *model;
    Str out = str_new(s->arena);
    bool done;

    asking_options(s, &options);
    asking_catch();
    model = model_open(s->arena, spec, &options, s->diags);
    if (!model)
        return session_diagnose(s);
    done = model_ask(model, s->arena, &message, 1, &answer, s->diags);
    if (done && s->options.json)
        put_answer_json(&out, model, &answer);
    else if (done)
        put_answer(&out, model, &answer);
    model_close(model);
    asking_release();
    if (session_diagnose(s) != EXIT_DONE)
        return asking_stopped() ? EXIT_STOPPED : EXIT_WRONG;
    return session_write(s, out.data, out.len);
}

int cmd_models(Session *s)
{
    return s->options.files.len ? ask(s, s->options.files.data[0]) : list(s);
}
