/* write.c: results as JSON, which read.c reads again. */
#include "report/report.h"

static void put_member(Str *out, const char *name, const char *text)
{
    if (!text)
        return;
    str_printf(out, ",\n \"%s\": ", name);
    str_json(out, text);
}

static void put_numbers(Str *out, const double *values, int n)
{
    str_addc(out, '[');
    for (int i = 0; i < n; i++)
        if (values[i] > 0)
            str_printf(out, "%s%.9g", i ? ", " : "", values[i]);
        else
            str_printf(out, "%snull", i ? ", " : "");
    str_addc(out, ']');
}

static void put_timed(Str *out, const Results *results, const Case *c, const Timed *t)
{
    str_json(out, results->contestants.data[t->contestant].name);
    str_printf(out, ": {\"%s\": %.17g, \"ms\": ", c->work == WORK_FLOPS ? "flops" : "bytes", t->work);
    put_numbers(out, t->ms, t->rounds);
    if (t->flops_per_clock > 0)
        str_printf(out, ", \"flops_per_clock\": %.17g", t->flops_per_clock);
    if (t->mhz) {
        str_add(out, ", \"mhz\": ");
        put_numbers(out, t->mhz, t->rounds);
    }
    str_addc(out, '}');
}

static void put_text(Str *out, const char *name, const char *text)
{
    if (!text)
        return;
    str_printf(out, ", \"%s\": ", name);
    str_json(out, text);
}

static void put_cell(Str *out, const Results *results, const Case *c, const Cell *cell)
{
    str_add(out, "{\"case\": ");
    str_json(out, c->name);
    put_text(out, "axis", c->axis);
    if (cell->numeric)
        str_printf(out, ", \"x\": %.17g", cell->x);
    else
        put_text(out, "x", cell->at);
    put_text(out, "shape", cell->shape);
    put_text(out, "data", cell->data);
    put_text(out, "error", cell->error);
    if (cell->wrong)
        str_add(out, ", \"ok\": false");
    str_add(out, ", \"times\": {");
    for (int i = 0; i < cell->timed.len; i++) {
        str_add(out, i ? ",\n   " : "\n   ");
        put_timed(out, results, c, &cell->timed.data[i]);
    }
    str_add(out, "}}");
}

static void put_conditions(Str *out, const Results *results)
{
    str_add(out, ",\n \"conditions\": {");
    for (int i = 0; i < results->conditions.len; i++) {
        const Fact *fact = &results->conditions.data[i];

        str_add(out, i ? ", " : "");
        str_json(out, fact->name);
        str_add(out, ": ");
        if (fact->plain)
            str_add(out, fact->value);
        else
            str_json(out, fact->value);
    }
    str_addc(out, '}');
}

static void put_lists(Str *out, const Results *results)
{
    str_add(out, ",\n \"notes\": [");
    for (int i = 0; i < results->notes.len; i++) {
        str_add(out, i ? ",\n  " : "");
        str_json(out, results->notes.data[i]);
    }
    str_add(out, "],\n \"contestants\": [");
    for (int i = 0; i < results->contestants.len; i++) {
        str_add(out, i ? ", {\"name\": " : "{\"name\": ");
        str_json(out, results->contestants.data[i].name);
        put_text(out, "label", results->contestants.data[i].label);
        str_addc(out, '}');
    }
    str_addc(out, ']');
}

void results_json(const Results *results, Str *out)
{
    bool first = true;

    str_printf(out, "{\"ok\": %s,\n \"tilewright_results\": 1", results_bad(results) ? "false" : "true");
    put_member(out, "benchmark", results->benchmark);
    put_member(out, "commit", results->commit);
    put_member(out, "date", results->date);
    put_member(out, "data", results->data);
    if (results->rounds)
        str_printf(out, ",\n \"rounds\": %d", results->rounds);
    if (results->flops_per_clock > 0)
        str_printf(out, ",\n \"flops_per_clock\": %.17g", results->flops_per_clock);
    put_conditions(out, results);
    put_lists(out, results);
    str_add(out, ",\n \"cells\": [");
    for (int i = 0; i < results->cases.len; i++) {
        for (int k = 0; k < results->cases.data[i].cells.len; k++) {
            str_add(out, first ? "\n  " : ",\n  ");
            put_cell(out, results, &results->cases.data[i], &results->cases.data[i].cells.data[k]);
            first = false;
        }
    }
    str_add(out, "]}\n");
}
