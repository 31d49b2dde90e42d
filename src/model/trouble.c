/* trouble.c: what a provider's refusal means, and whether to ask again.
 *
 * A status speaks first, an error's own word where there is none: what began as a success
 * may end in one. An empty purse hides behind several statuses, so its words come before.
 */
#include "model/wire.h"

typedef struct Verdict {
    DiagCode code;
    bool again;
} Verdict;

static const struct {
    const char *word;
    Verdict verdict;
} WORDS[] = {
    {"insufficient_quota", {TW1010, false}},
    {"insufficient_balance", {TW1010, false}},
    {"insufficient_credits", {TW1010, false}},
    {"billing_error", {TW1010, false}},
    {"billing_hard_limit_reached", {TW1010, false}},
    {"authentication_error", {TW1008, false}},
    {"permission_error", {TW1008, false}},
    {"invalid_api_key", {TW1008, false}},
    {"invalid_request_error", {TW1009, false}},
    {"not_found_error", {TW1009, false}},
    {"request_too_large", {TW1009, false}},
    {"context_length_exceeded", {TW1009, false}},
    {"rate_limit_error", {TW1012, true}},
    {"rate_limit_exceeded", {TW1012, true}},
    {"overloaded_error", {TW1012, true}},
    {"overloaded", {TW1012, true}},
    {"api_error", {TW1012, true}},
    {"server_error", {TW1012, true}},
    {"internal_server_error", {TW1012, true}},
    {"service_unavailable", {TW1012, true}},
    {"timeout_error", {TW1012, true}},
};

/* Of messages, where a provider has no word of its own for it. */
static const char *const EMPTY_PURSE[] = {"credit balance is too low", "Insufficient Balance"};

static Verdict of_status(long status)
{
    switch (status) {
    case 401:
    case 403: return (Verdict){TW1008, false};
    case 402: return (Verdict){TW1010, false};
    case 408:
    case 409:
    case 429: return (Verdict){TW1012, true};
    }
    if (status >= 300 && status < 400)
        return (Verdict){TW1005, false};
    return status >= 500 ? (Verdict){TW1012, true} : (Verdict){TW1009, false};
}

/* ---- what an error says ------------------------------------------------------------------- */

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text && *text ? text : NULL;
}

/* The object that describes the error: {"error": {...}}, [{"error": {...}}], itself. */
static const json_t *error_of(const json_t *body)
{
    const json_t *first = json_is_array(body) ? json_array_get(body, 0) : body;
    const json_t *error = json_object_get(first, "error");

    return json_is_object(error) ? error : first;
}

static const char *message_of(const json_t *body)
{
    static const char *const keys[] = {"message", "error", "detail", "msg"};
    const json_t *error = error_of(body);

    if (json_is_string(body))
        return json_string_value(body);
    for (size_t i = 0; i < TW_COUNT(keys); i++)
        if (text_at(error, keys[i]))
            return text_at(error, keys[i]);
    return NULL;
}

static bool has_word(const json_t *error, const char *word)
{
    static const char *const keys[] = {"code", "type", "status"};

    for (size_t i = 0; i < TW_COUNT(keys); i++)
        if (text_at(error, keys[i]) && text_equal_nocase(text_at(error, keys[i]), word))
            return true;
    return false;
}

static const Verdict *of_word(const json_t *body)
{
    for (size_t i = 0; i < TW_COUNT(WORDS); i++)
        if (has_word(error_of(body), WORDS[i].word))
            return &WORDS[i].verdict;
    return NULL;
}

static bool says_empty_purse(const json_t *body)
{
    const char *message = message_of(body);
    const Verdict *verdict = of_word(body);

    for (size_t i = 0; message && i < TW_COUNT(EMPTY_PURSE); i++)
        if (strstr(message, EMPTY_PURSE[i]))
            return true;
    return verdict && verdict->code == TW1010;
}

/* ---- trouble -------------------------------------------------------------------------------- */

void reply_trouble(Reply *reply, DiagCode code, bool again, const char *note, const char *fmt, ...)
{
    const Secret *secret = &reply->call->model->net.secret;
    Arena *arena = reply->call->arena;
    va_list args;

    if (reply->trouble.is)
        return;
    va_start(args, fmt);
    reply->trouble = (Trouble){true, again, code,
                               key_redact(arena, secret, arena_vprintf(arena, fmt, args)),
                               note ? key_redact(arena, secret, note) : NULL};
    va_end(args);
}

/* What it said, short enough for a note. The key goes first: a piece of it is one too. */
static const char *quoted(Reply *reply, const char *message)
{
    enum { MOST = 600 };
    Arena *arena = reply->call->arena;

    message = key_redact(arena, &reply->call->model->net.secret, message);
    return arena_printf(arena, "it says: %.*s%s", MOST, message, strlen(message) > MOST ? "..." : "");
}

static const char *note_for(Reply *reply, Verdict verdict, const json_t *body)
{
    const Net *net = &reply->call->model->net;
    const char *message = message_of(body);

    if (message && reply->status == 404) /* the model, or the address */
        return arena_printf(reply->call->arena, "%s; %s was asked", quoted(reply, message), net->url);
    if (message)
        return quoted(reply, message);
    if (verdict.code == TW1005)
        return "a question and its key go to the address that was given and to no other";
    if (!reply->tree && reply->body.len && reply->body.data[0] != '<')
        return quoted(reply, str_text(&reply->body));
    return arena_printf(reply->call->arena, "%s was asked", net->url);
}

static void refuse(Reply *reply, Verdict verdict, const json_t *body, const char *how)
{
    const Model *model = reply->call->model;
    const char *note = note_for(reply, verdict, body);

    if (verdict.code == TW1008)
        note = arena_printf(reply->call->arena, "%s; %s%s", note,
                            model->net.secret.text ? "the key is from " : "no key was sent: set ",
                            model->net.secret.text ? model->net.secret.from : MODEL_KEY_VARIABLE);
    reply_trouble(reply, verdict.code, verdict.again, note, "%s %s", model->spec, how);
}

static const char *refusal(DiagCode code, bool again)
{
    return code == TW1010   ? "wants to be paid first"
           : code == TW1008 ? "does not accept the key"
           : code == TW1005 ? "sends its questions elsewhere"
           : again          ? "has trouble"
                            : "refuses the question";
}

void trouble_status(Reply *reply, const json_t *body)
{
    Verdict verdict = says_empty_purse(body) ? (Verdict){TW1010, false} : of_status(reply->status);

    refuse(reply, verdict, body,
           arena_printf(reply->call->arena, "%s (status %ld)", refusal(verdict.code, verdict.again),
                        reply->status));
}

void trouble_error(Reply *reply, const json_t *body)
{
    json_int_t number = json_integer_value(json_object_get(error_of(body), "code"));
    const Verdict *verdict = of_word(body);

    if (verdict)
        refuse(reply, *verdict, body, refusal(verdict->code, verdict->again));
    else if (number >= 400 && number < 600)
        refuse(reply, of_status((long)number), body, "answers with an error");
    else
        refuse(reply, (Verdict){TW1014, true}, body, "broke off with an error");
}

void trouble_declined(Reply *reply, const char *why)
{
    reply_trouble(reply, TW1020, false, why ? quoted(reply, why) : NULL, "%s declines to answer",
                  reply->call->model->spec);
}
