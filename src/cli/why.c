/* why.c: the reasoner's choices, as a table and as JSON. */
#include "cli/why.h"

static int longest(const ReasonResult *result, bool value)
{
    int most = 4;

    for (int i = 0; i < result->why.len; i++) {
        const ReasonWhy *w = &result->why.data[i];
        int len = (int)strlen(value ? w->value : w->name);

        if (len > most && len <= 32)
            most = len;
    }
    return most;
}

void why_print(Str *out, const ReasonResult *result)
{
    int names = longest(result, false), values = longest(result, true);

    for (int i = 0; i < result->why.len; i++) {
        const ReasonWhy *w = &result->why.data[i];

        str_printf(out, "  %-*s  %-*s  %s\n", names, w->name, values, w->value, w->why ? w->why : "");
    }
    str_printf(out, "  %d candidates ranked; predicted %.0f cycles an iteration", result->considered,
               result->predicted_cycles);
    if (result->limiter)
        str_printf(out, ", bound by %s", result->limiter);
    str_addc(out, '\n');
}

void why_json(Str *out, const ReasonResult *result)
{
    str_addc(out, '[');
    for (int i = 0; i < result->why.len; i++) {
        const ReasonWhy *w = &result->why.data[i];

        str_add(out, i ? ",\n  {\"name\":" : "\n  {\"name\":");
        str_json(out, w->name);
        str_add(out, ",\"value\":");
        str_json(out, w->value);
        str_add(out, ",\"why\":");
        str_json(out, w->why ? w->why : "");
        str_addc(out, '}');
    }
    str_add(out, "\n]");
}
