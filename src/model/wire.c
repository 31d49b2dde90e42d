/* wire.c: what questions have in common. */
#include "model/wire.h"

const Wire *wire_of(WireKind kind)
{
    switch (kind) {
    case WIRE_NONE: return NULL;
    case WIRE_OPENAI: return &wire_openai;
    case WIRE_ANTHROPIC: return &wire_anthropic;
    }
    return NULL;
}

void wire_common(const Call *call, Str *out)
{
    str_add(out, "\"model\":");
    str_json(out, call->model->name);
    str_add(out, ",\"stream\":true");
    if (call->model->options.temperature >= 0)
        str_printf(out, ",\"temperature\":%g", call->model->options.temperature);
}

void wire_message(Str *out, const char *role, const char *text)
{
    str_printf(out, "{\"role\":\"%s\",\"content\":", role);
    str_json(out, text);
    str_addc(out, '}');
}

int wire_seed(const Call *call)
{
    uint64_t seed = call->model->options.seed;

    return (int)((seed ^ seed >> 31) & 0x7fffffff);
}
