/* anthropic.c: Anthropic's messages.
 *
 *   event: content_block_delta
 *   data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Cop"}}
 *
 * Each event says its type twice; what stands in its data counts. Types that are not
 * known may come and mean nothing here.
 */
#include "model/wire.h"

enum { MOST_TOKENS = 16384 }; /* of an answer; this wire wants a bound */

static void question(const Call *call, Str *out)
{
    int64_t most = call_most_tokens(call);
    int systems = 0, turns = 0;

    str_addc(out, '{');
    wire_common(call, out);
    str_printf(out, ",\"max_tokens\":%lld", (long long)(most ? most : MOST_TOKENS));
    for (int i = 0; i < call->n; i++) {
        if (call->messages[i].role != MODEL_SYSTEM)
            continue;
        str_add(out, systems++ ? "," : ",\"system\":[");
        str_add(out, "{\"type\":\"text\",\"text\":");
        str_json(out, call->messages[i].text);
        str_addc(out, '}');
    }
    str_add(out, systems ? "],\"messages\":[" : ",\"messages\":[");
    for (int i = 0; i < call->n; i++) {
        ModelRole role = call->messages[i].role;

        if (role == MODEL_SYSTEM)
            continue;
        str_add(out, turns++ ? "," : "");
        wire_message(out, role == MODEL_USER ? "user" : "assistant", call->messages[i].text);
    }
    str_add(out, "]}");
}

/* What was read from or written to its cache was read all the same. */
static void take_usage(Reply *reply, const json_t *usage)
{
    static const char *const cached[] = {"cache_creation_input_tokens", "cache_read_input_tokens"};

    if (json_object_get(usage, "input_tokens")) {
        reply_count(reply, json_object_get(usage, "input_tokens"), &reply->usage.in);
        for (size_t i = 0; i < TW_COUNT(cached); i++) {
            int64_t more = 0;

            reply_count(reply, json_object_get(usage, cached[i]), &more);
            reply->usage.in += more;
        }
    }
    reply_count(reply, json_object_get(usage, "output_tokens"), &reply->usage.out);
}

static void take_block(Reply *reply, const json_t *block)
{
    reply_text(reply, json_object_get(block, "text"));
    reply_thought(reply, json_object_get(block, "thinking"));
}

static void take_stop(Reply *reply, const char *reason)
{
    if (!reason)
        return;
    reply->cut = strcmp(reason, "max_tokens") == 0 || strcmp(reason, "model_context_window_exceeded") == 0;
    if (strcmp(reason, "refusal") == 0)
        trouble_declined(reply, NULL);
}

static void event(Reply *reply, const char *type, const json_t *data)
{
    const json_t *message = json_object_get(data, "message"), *delta = json_object_get(data, "delta");
    const char *own = json_string_value(json_object_get(data, "type"));

    type = own ? own : type;
    if (strcmp(type, "message_start") == 0) {
        reply_name(reply, json_object_get(message, "model"));
        take_usage(reply, json_object_get(message, "usage"));
    } else if (strcmp(type, "content_block_start") == 0) {
        take_block(reply, json_object_get(data, "content_block"));
    } else if (strcmp(type, "content_block_delta") == 0) {
        take_block(reply, delta);
    } else if (strcmp(type, "message_delta") == 0) {
        take_stop(reply, json_string_value(json_object_get(delta, "stop_reason")));
        take_usage(reply, json_object_get(data, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        reply->ended = true;
    }
}

static void whole(Reply *reply, const json_t *data)
{
    const json_t *content = json_object_get(data, "content");

    if (!json_is_array(content))
        reply_trouble(reply, TW1013, false, NULL, "the answer of %s has no content", reply->call->model->spec);
    for (size_t i = 0; i < json_array_size(content); i++)
        take_block(reply, json_array_get(content, i));
    reply_name(reply, json_object_get(data, "model"));
    take_usage(reply, json_object_get(data, "usage"));
    take_stop(reply, json_string_value(json_object_get(data, "stop_reason")));
}

const Wire wire_anthropic = {"/messages", "x-api-key: ", "anthropic-version: 2023-06-01", question, event, whole};
