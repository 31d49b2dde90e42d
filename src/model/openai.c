/* openai.c: chat completions, as OpenAI has them and most others do.
 *
 *   data: {"choices":[{"delta":{"content":"Cop"},"finish_reason":null}]}
 *   data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}
 *   data: [DONE]
 *
 * What was thought comes as reasoning_content (DeepSeek, llama.cpp, vLLM), reasoning
 * (OpenRouter, newer vLLM), parts of type "thinking" (Mistral), or in tags.
 */
#include "model/wire.h"

static const char *const ROLES[] = {
    [MODEL_SYSTEM] = "system", [MODEL_USER] = "user", [MODEL_ASSISTANT] = "assistant"};

/* A server at an address of the user's need not be what the provider's own is. */
static unsigned flags_of(const Call *call)
{
    return call->model->net.own_address ? 0 : call->model->provider->flags;
}

static void question(const Call *call, Str *out)
{
    int64_t most = call_most_tokens(call);
    unsigned flags = flags_of(call);

    str_addc(out, '{');
    wire_common(call, out);
    if (!(flags & NO_STREAM_OPTIONS))
        str_add(out, ",\"stream_options\":{\"include_usage\":true}");
    if (most > 0)
        str_printf(out, ",\"%s\":%lld", flags & COMPLETION_TOKENS ? "max_completion_tokens" : "max_tokens",
                   (long long)most);
    if (call->model->options.has_seed && !(flags & NO_SEED))
        str_printf(out, ",\"%s\":%d", flags & RANDOM_SEED ? "random_seed" : "seed", wire_seed(call));
    str_add(out, ",\"messages\":[");
    for (int i = 0; i < call->n; i++) {
        str_add(out, i ? "," : "");
        wire_message(out, ROLES[call->messages[i].role], call->messages[i].text);
    }
    str_add(out, "]}");
}

static void take_usage(Reply *reply, const json_t *usage)
{
    const json_t *cost = json_object_get(usage, "cost");

    reply_count(reply, json_object_get(usage, "prompt_tokens"), &reply->usage.in);
    reply_count(reply, json_object_get(usage, "completion_tokens"), &reply->usage.out);
    if (!json_is_number(cost) || json_number_value(cost) < 0)
        return;
    reply->usage.has_cost = true;
    reply->usage.cost = json_number_value(cost);
}

/* A string, or parts: {"type":"text","text":..}, {"type":"thinking","thinking":[parts]}. */
static void take_content(Reply *reply, const json_t *content)
{
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i), *thought = json_object_get(part, "thinking");

        reply_text(reply, json_object_get(part, "text"));
        reply_thought(reply, thought);
        for (size_t k = 0; k < json_array_size(thought); k++)
            reply_thought(reply, json_object_get(json_array_get(thought, k), "text"));
    }
    reply_text(reply, content);
}

static void take_message(Reply *reply, const json_t *message)
{
    const json_t *thought = json_object_get(message, "reasoning_content");
    const char *refusal = json_string_value(json_object_get(message, "refusal"));

    reply_thought(reply, json_is_string(thought) ? thought : json_object_get(message, "reasoning"));
    take_content(reply, json_object_get(message, "content"));
    if (refusal && *refusal)
        trouble_declined(reply, refusal);
}

static void take_finish(Reply *reply, const char *reason)
{
    reply->ended = true;
    if (strcmp(reason, "length") == 0)
        reply->cut = true;
    else if (strcmp(reason, "content_filter") == 0)
        trouble_declined(reply, NULL);
    else if (strcmp(reason, "insufficient_system_resource") == 0 || strcmp(reason, "error") == 0)
        reply_trouble(reply, TW1012, true, NULL, "%s has trouble (%s)", reply->call->model->spec, reason);
}

static void take_choice(Reply *reply, const json_t *choice)
{
    const json_t *message = json_object_get(choice, "delta");
    const char *reason = json_string_value(json_object_get(choice, "finish_reason"));

    take_message(reply, message ? message : json_object_get(choice, "message"));
    if (reason)
        take_finish(reply, reason);
}

static void event(Reply *reply, const char *type, const json_t *data)
{
    (void)type;
    reply_name(reply, json_object_get(data, "model"));
    take_choice(reply, json_array_get(json_object_get(data, "choices"), 0));
    take_usage(reply, json_object_get(data, "usage"));
}

static void whole(Reply *reply, const json_t *data)
{
    if (!json_array_size(json_object_get(data, "choices")))
        reply_trouble(reply, TW1013, false, NULL, "the answer of %s has no choices", reply->call->model->spec);
    event(reply, "", data);
}

const Wire wire_openai = {"/chat/completions", "Authorization: Bearer ", NULL, question, event, whole};
