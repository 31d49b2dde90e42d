/* reply.c: bytes of a response into an answer.
 *
 * Whether events come or one JSON text is told by the first byte, not by a header that a
 * proxy may have lost: no event begins with a brace.
 */
#include "model/wire.h"

static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";
enum { MARK = sizeof BYTE_ORDER_MARK - 1 };
enum { RAW_LIMIT = 512 << 20 }; /* bytes of a response; an event has far more than its text */

static bool take_event(void *user, const char *type, const char *data, size_t len);

Reply reply_new(Call *call, const Wire *wire)
{
    Reply reply = {.call = call, .wire = wire, .status = 200};

    reply.body = str_new(call->arena);
    reply.events = sse_new(call->arena, take_event, NULL);
    return reply;
}

void reply_free(Reply *reply)
{
    json_decref(reply->tree);
    reply->tree = NULL;
}

/* ---- parts of an answer ------------------------------------------------------------------ */

static void add_part(Reply *reply, Str *out, ModelPhase phase, const json_t *text)
{
    if (!json_is_string(text) || !json_string_length(text))
        return;
    reply->call->progress.phase = phase;
    text_add(out, json_string_value(text), json_string_length(text));
}

void reply_text(Reply *reply, const json_t *text)
{
    add_part(reply, &reply->call->text, MODEL_ANSWERING, text);
}

void reply_thought(Reply *reply, const json_t *text)
{
    add_part(reply, &reply->call->reasoning, MODEL_THINKING, text);
}

void reply_name(Reply *reply, const json_t *name)
{
    Call *call = reply->call;

    if (json_is_string(name) && !call->answer->name)
        call->answer->name = key_redact(
            call->arena, &call->model->net.secret,
            arena_strndup(call->arena, json_string_value(name), strnlen(json_string_value(name), 200)));
}

void reply_count(Reply *reply, const json_t *value, int64_t *count)
{
    const int64_t most = (int64_t)1 << 40; /* nobody answers a trillion tokens */

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return;
    *count = json_integer_value(value) < most ? json_integer_value(value) : most;
    reply->usage.counted = true;
}

/* ---- bytes --------------------------------------------------------------------------------- */

static json_t *parse(Reply *reply, const char *text, size_t len)
{
    json_error_t error;

    reply_free(reply);
    reply->tree = json_loadb(text, len, JSON_ALLOW_NUL, &error);
    if (!reply->tree) {
        text = json_mended(reply->call->arena, text, &len);
        reply->tree = json_loadb(text, len, JSON_ALLOW_NUL, &error);
    }
    return reply->tree;
}

/* Providers say an error as a member, or as a type of its own. */
static bool is_error(const json_t *data)
{
    const json_t *error = json_object_get(data, "error");
    const char *type = json_string_value(json_object_get(data, "type"));
    const char *object = json_string_value(json_object_get(data, "object"));

    return (error && !json_is_null(error)) || (type && strcmp(type, "error") == 0) ||
           (object && strcmp(object, "error") == 0);
}

static bool take_event(void *user, const char *type, const char *data, size_t len)
{
    Reply *reply = user;
    const json_t *tree;

    if (len >= 6 && memcmp(data, "[DONE]", 6) == 0) {
        reply->ended = true;
        return true;
    }
    tree = parse(reply, data, len);
    if (!json_is_object(tree) && reply->closing)
        reply_trouble(reply, TW1014, true, NULL, "the answer broke off within an event");
    else if (!json_is_object(tree))
        reply_trouble(reply, TW1013, false, NULL, "an event of the answer is no JSON object");
    else if (is_error(tree) || strcmp(type, "error") == 0)
        trouble_error(reply, tree);
    else
        reply->wire->event(reply, type, tree);
    return !reply->trouble.is;
}

static size_t mark_length(const Reply *reply)
{
    return strncmp(str_text(&reply->body), BYTE_ORDER_MARK, MARK) == 0 ? MARK : 0;
}

static ReplyForm form_of(const Reply *reply)
{
    const char *text = str_text(&reply->body) + mark_length(reply);
    char c = text[strspn(text, " \t\r\n")];

    if (reply->body.len < MARK && memcmp(str_text(&reply->body), BYTE_ORDER_MARK, reply->body.len) == 0)
        return FORM_UNKNOWN;
    if (c == '{' || c == '[')
        return FORM_JSON;
    return c == '<' ? FORM_OTHER : c ? FORM_EVENTS : FORM_UNKNOWN;
}

/* Bytes before the form is known wait in the body. */
static bool take_bytes(Reply *reply, const char *bytes, size_t len)
{
    reply->events.user = reply;
    if (reply->form == FORM_EVENTS)
        return sse_feed(&reply->events, bytes, len);
    str_addn(&reply->body, bytes, len);
    if (reply->form == FORM_UNKNOWN)
        reply->form = reply->status == 200 ? form_of(reply) : FORM_JSON;
    return reply->form != FORM_EVENTS || sse_feed(&reply->events, reply->body.data, reply->body.len);
}

static bool too_long(const Reply *reply)
{
    const Call *call = reply->call;

    return reply->bytes > RAW_LIMIT || reply->body.len > ANSWER_LIMIT ||
           reply->events.line.len + reply->events.data.len > ANSWER_LIMIT ||
           call->text.len + call->reasoning.len > ANSWER_LIMIT;
}

bool reply_take(Reply *reply, const char *bytes, size_t len)
{
    Call *call = reply->call;
    size_t before = call->text.len + call->reasoning.len;
    bool more;

    reply->bytes += len;
    more = take_bytes(reply, bytes, len);
    call_heard(call, call->text.len + call->reasoning.len - before);
    if (too_long(reply))
        reply_trouble(reply, TW1017, false, "bound its tokens", "the answer of %s is longer than %d MB",
                      call->model->spec, ANSWER_LIMIT >> 20);
    return more && !reply->trouble.is;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void end_json(Reply *reply, bool broken)
{
    size_t mark = mark_length(reply);
    const json_t *tree = parse(reply, str_text(&reply->body) + mark, reply->body.len - mark);

    if (json_is_object(tree) && !is_error(tree))
        reply->wire->whole(reply, tree);
    else if (tree)
        trouble_error(reply, tree);
    else if (broken)
        reply_trouble(reply, TW1014, true, NULL, "the answer broke off");
    else
        reply_trouble(reply, TW1013, false, NULL, "the answer is no JSON");
}

static void end_events(Reply *reply, bool broken)
{
    if (!broken)
        sse_end(&reply->events);
    if (!reply->ended)
        reply_trouble(reply, TW1014, true, NULL, "the answer broke off after %zu bytes", reply->bytes);
}

void reply_end(Reply *reply, bool broken)
{
    reply->closing = true;
    if (reply->trouble.is)
        return;
    if (reply->status != 200) {
        trouble_status(reply, parse(reply, str_text(&reply->body), reply->body.len));
        return;
    }
    switch (reply->form) {
    case FORM_UNKNOWN:
        reply_trouble(reply, TW1014, true, NULL, "the connection was closed without an answer");
        break;
    case FORM_EVENTS: end_events(reply, broken); break;
    case FORM_JSON: end_json(reply, broken); break;
    case FORM_OTHER:
        reply_trouble(reply, TW1013, false, "is the address right?", "%s answered with a page for people",
                      reply->call->model->net.url);
        break;
    }
}
