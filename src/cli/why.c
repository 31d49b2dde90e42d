/* why.c: choices of the reasoner and of the passes, as tables and as JSON. */
#include "cli/why.h"

#include "pass/explain.h"

enum { WIDEST = 32 }; /* of a column that others are aligned with */

static int longest(const WhyList *list, bool value)
{
    int most = 4;

    for (int i = 0; i < list->len; i++) {
        int len = (int)strlen(value ? list->data[i].value : list->data[i].name);

        if (len > most && len <= WIDEST)
            most = len;
    }
    return most;
}

static void print_list(Str *out, const WhyList *list)
{
    int names = longest(list, false), values = longest(list, true);

    for (int i = 0; i < list->len; i++) {
        const Why *w = &list->data[i];

        str_printf(out, "  %-*s  %-*s  %s\n", names, w->name, values, w->value, w->why ? w->why : "");
    }
}

static void json_list(Str *out, const WhyList *list)
{
    str_addc(out, '[');
    for (int i = 0; i < list->len; i++) {
        const Why *w = &list->data[i];

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

void why_print(Str *out, const ReasonResult *result)
{
    print_list(out, &result->why);
    str_printf(out, "  %d candidates ranked; predicted %.0f cycles an iteration", result->considered,
               result->predicted_cycles);
    if (result->limiter)
        str_printf(out, ", bound by %s", result->limiter);
    str_addc(out, '\n');
}

void why_json(Str *out, const ReasonResult *result)
{
    json_list(out, &result->why);
}

static int scheduled_kernels(const Chain *chain)
{
    return chain->tile && chain->tile->after ? chain->tile->kernels.len : 0;
}

static WhyList of_passes(const Chain *chain, int k)
{
    WhyList list = {0};

    pass_explain(chain->tile, chain->tile->kernels.data[k], chain->target, &list);
    return list;
}

void why_print_passes(Str *out, const Chain *chain)
{
    for (int k = 0; k < scheduled_kernels(chain); k++) {
        WhyList list = of_passes(chain, k);

        if (scheduled_kernels(chain) > 1)
            str_printf(out, " %s\n", chain->tile->kernels.data[k]->name);
        print_list(out, &list);
    }
}

void why_json_passes(Str *out, const Chain *chain)
{
    str_addc(out, '[');
    for (int k = 0; k < scheduled_kernels(chain); k++) {
        WhyList list = of_passes(chain, k);

        str_add(out, k ? ",\n {\"kernel\":" : "\n {\"kernel\":");
        str_json(out, chain->tile->kernels.data[k]->name);
        str_add(out, ",\"choices\":");
        json_list(out, &list);
        str_addc(out, '}');
    }
    str_addc(out, ']');
}
