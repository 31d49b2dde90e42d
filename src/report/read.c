/* read.c: results from JSON, of whoever wrote it: every member's type and range
 * is checked, members that are not known are passed over.
 *
 * Vocabulary
 *   where  the place of what is read, for messages: "cells[3].times.ours"
 */
#include "report/report.h"

#include <jansson.h>
#include <math.h>

enum { VERSION = 1, MOST_CELLS = 5000, MOST_FACTS = 100 };

typedef struct Reader {
    Arena *arena;
    Diags *diags;
    Results *results;
    json_t *root;    /* not the arena's */
    bool failed;
} Reader;

static void wrong(Reader *r, const char *fmt, ...) TW_PRINTF(2, 3);
static void wrong(Reader *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!r->failed) /* one mistake often makes others */
        diag_add(r->diags, TW0904, (Span){0, 0}, "%s", arena_vprintf(r->arena, fmt, args));
    va_end(args);
    r->failed = true;
}

/* ---- members ------------------------------------------------------------------------ */

static const char *to_text(Reader *r, const json_t *value)
{
    return report_text(r->arena, json_string_value(value));
}

/* NULL: there is none. */
static const char *get_text(Reader *r, const json_t *object, const char *where, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!value || json_is_null(value))
        return NULL;
    if (!json_is_string(value)) {
        wrong(r, "%s%s is not a string", where, key);
        return NULL;
    }
    return to_text(r, value);
}

static const char *need_text(Reader *r, const json_t *object, const char *where, const char *key)
{
    const char *text = get_text(r, object, where, key);

    if (!text)
        wrong(r, "%s%s is missing", where, key);
    return text ? text : "";
}

/* 0: there is none. */
static double get_positive(Reader *r, const json_t *object, const char *where, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double x = json_is_number(value) ? json_number_value(value) : 0;

    if (value && !json_is_null(value) && !(x > 0 && x < 1e300))
        wrong(r, "%s%s is not a positive number", where, key);
    return x;
}

/* Of any type but an object or a list, as text. */
static Fact to_fact(Reader *r, const char *name, const json_t *value)
{
    Fact fact = {.name = report_text(r->arena, name), .plain = true};

    if (json_is_string(value))
        return fact.value = to_text(r, value), fact.plain = false, fact;
    if (json_is_integer(value))
        fact.value = arena_printf(r->arena, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        fact.value = arena_printf(r->arena, "%.6g", json_real_value(value));
    else if (json_is_boolean(value))
        fact.value = json_is_true(value) ? "true" : "false";
    else if (json_is_null(value))
        fact.value = "null";
    else
        wrong(r, "conditions.%s is neither text nor a number", fact.name);
    return fact;
}

/* ---- lists -------------------------------------------------------------------------- */

/* NULL, with the complaint made, where there is none or more than the most. */
static const json_t *get_list(Reader *r, const json_t *object, const char *where, const char *key, size_t most)
{
    const json_t *list = json_object_get(object, key);

    if (!json_is_array(list))
        wrong(r, "%s%s is %s", where, key, list ? "not a list" : "missing");
    else if (json_array_size(list) > most)
        wrong(r, "%s%s has %zu entries; at most %zu can be", where, key, json_array_size(list), most);
    return r->failed ? NULL : list;
}

/* Positive numbers; null becomes 0 where it may. */
static double *get_numbers(Reader *r, const json_t *object, const char *where, const char *key, bool null, int *n)
{
    const json_t *list = get_list(r, object, where, key, REPORT_ROUNDS);
    double *values;

    *n = (int)json_array_size(list);
    values = arena_array(r->arena, double, *n + 1);
    for (int i = 0; i < *n; i++) {
        const json_t *value = json_array_get(list, (size_t)i);

        if (null && json_is_null(value))
            continue;
        values[i] = json_number_value(value);
        if (!json_is_number(value) || !(values[i] > 0 && values[i] < 1e300))
            wrong(r, "%s%s[%d] is not a positive number", where, key, i);
    }
    return values;
}

static int find_contestant(const Results *results, const char *name)
{
    for (int i = 0; i < results->contestants.len; i++)
        if (strcmp(results->contestants.data[i].name, name) == 0)
            return i;
    return -1;
}

static void read_contestants(Reader *r, const json_t *root)
{
    const json_t *list = get_list(r, root, "", "contestants", REPORT_CONTESTANTS);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *where = arena_printf(r->arena, "contestants[%zu].", i);
        Contestant c = {.name = need_text(r, item, where, "name")};

        c.label = get_text(r, item, where, "label");
        c.label = c.label ? c.label : c.name;
        if (find_contestant(r->results, c.name) >= 0)
            wrong(r, "%sname: there is another '%s'", where, c.name);
        vec_push(r->arena, &r->results->contestants, c);
    }
}

static void read_conditions(Reader *r, const json_t *root)
{
    json_t *object = json_object_get(root, "conditions");
    const char *name;
    json_t *value;

    if (object && !json_is_object(object))
        wrong(r, "conditions is not an object");
    if (json_object_size(object) > MOST_FACTS)
        wrong(r, "conditions has more than %d members", MOST_FACTS);
    if (r->failed || !object)
        return;
    json_object_foreach(object, name, value) vec_push(r->arena, &r->results->conditions, to_fact(r, name, value));
}

static void read_notes(Reader *r, const json_t *root)
{
    const json_t *list = json_object_get(root, "notes") ? get_list(r, root, "", "notes", MOST_FACTS) : NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);

        if (json_is_string(item))
            vec_push(r->arena, &r->results->notes, to_text(r, item));
        else
            wrong(r, "notes[%zu] is not a string", i);
    }
}

/* ---- cells -------------------------------------------------------------------------- */

/* The member that says how much work a launch does; 0: there is none. */
static double get_work(Reader *r, const json_t *object, const char *where, Work *work)
{
    double flops = get_positive(r, object, where, "flops"), bytes = get_positive(r, object, where, "bytes");

    if (flops > 0 && bytes > 0)
        wrong(r, "%sflops and %sbytes: only one of them can be", where, where);
    if (flops > 0 || bytes > 0)
        *work = flops > 0 ? WORK_FLOPS : WORK_BYTES;
    return flops > 0 ? flops : bytes;
}

static void read_timed(Reader *r, const json_t *item, const char *where, Timed *t, Work *work)
{
    double own = get_work(r, item, where, work);
    int clocks;

    t->work = own > 0 ? own : t->work;
    t->flops_per_clock = get_positive(r, item, where, "flops_per_clock");
    if (!(t->work > 0))
        wrong(r, "%sms: neither here nor in its cell is there flops or bytes", where);
    t->ms = get_numbers(r, item, where, "ms", false, &t->rounds);
    if (!r->failed && !t->rounds)
        wrong(r, "%sms is empty", where);
    if (r->failed || !json_object_get(item, "mhz"))
        return;
    t->mhz = get_numbers(r, item, where, "mhz", true, &clocks);
    if (clocks != t->rounds)
        wrong(r, "%smhz has %d entries, and ms %d", where, clocks, t->rounds);
}

static void read_times(Reader *r, const json_t *item, const char *where, Cell *cell, Work *work)
{
    json_t *times = json_object_get(item, "times");
    double common = get_work(r, item, where, work);
    const char *name;
    json_t *value;

    if (times && !json_is_object(times))
        wrong(r, "%stimes is not an object", where);
    if (r->failed || !times)
        return;
    json_object_foreach(times, name, value)
    {
        Timed t = {.contestant = find_contestant(r->results, report_text(r->arena, name)), .work = common};
        Work own = *work;

        if (t.contestant < 0)
            wrong(r, "%stimes: '%s' is none of the contestants", where, report_text(r->arena, name));
        else
            read_timed(r, value, arena_printf(r->arena, "%stimes.%s.", where, report_text(r->arena, name)), &t, &own);
        if (cell->timed.len && own != *work)
            wrong(r, "%stimes: some count flops, others bytes", where);
        *work = own;
        vec_push(r->arena, &cell->timed, t);
    }
}

static void read_x(Reader *r, const json_t *item, const char *where, Cell *cell)
{
    const json_t *x = json_object_get(item, "x");

    cell->numeric = json_is_number(x);
    cell->x = json_is_number(x) ? json_number_value(x) : 0;
    if (json_is_string(x))
        cell->at = to_text(r, x);
    else if (cell->numeric && fabs(cell->x) < 1e300)
        cell->at = report_number(r->arena, cell->x);
    else
        wrong(r, "%sx is %s", where, x ? "neither a number nor a string" : "missing");
}

/* Whether something in a case says what it counts. */
static bool is_counted(const Case *c)
{
    for (int i = 0; i < c->cells.len; i++)
        if (c->cells.data[i].timed.len)
            return true;
    return false;
}

static void read_cell(Reader *r, const json_t *item, const char *where)
{
    const char *name = need_text(r, item, where, "case"), *axis = get_text(r, item, where, "axis");
    const json_t *ok = json_object_get(item, "ok");
    Cell cell = {.shape = get_text(r, item, where, "shape"),
                 .data = get_text(r, item, where, "data"),
                 .error = get_text(r, item, where, "error"),
                 .wrong = json_is_false(ok)};
    Work work = WORK_FLOPS;
    Case *c;

    if (ok && !json_is_boolean(ok))
        wrong(r, "%sok is neither true nor false", where);
    read_x(r, item, where, &cell);
    read_times(r, item, where, &cell, &work);
    if (r->failed)
        return;
    c = results_case(r->arena, r->results, name, axis ? axis : "", work);
    if (cell.timed.len && !is_counted(c))
        c->work = work;
    if (cell.timed.len && c->work != work)
        wrong(r, "%stimes: its case counts %s elsewhere", where, work == WORK_FLOPS ? "bytes" : "flops");
    vec_push(r->arena, &c->cells, cell);
}

static void read_cells(Reader *r, const json_t *root)
{
    const json_t *list = get_list(r, root, "", "cells", MOST_CELLS);

    for (size_t i = 0; i < json_array_size(list) && !r->failed; i++) {
        const char *where = arena_printf(r->arena, "cells[%zu].", i);

        if (json_is_object(json_array_get(list, i)))
            read_cell(r, json_array_get(list, i), where);
        else
            wrong(r, "cells[%zu] is not an object", i);
    }
}

/* ---- the whole ---------------------------------------------------------------------- */

static void read_version(Reader *r, const json_t *root)
{
    const json_t *version = json_object_get(root, "tilewright_results");

    if (!version)
        wrong(r, "no member \"tilewright_results\": this is no record of a benchmark");
    else if (!json_is_integer(version) || json_integer_value(version) != VERSION)
        wrong(r, "tilewright_results is not %d, the version that this program knows", VERSION);
}

static void read_root(Reader *r, const json_t *root)
{
    Results *results = r->results;

    read_version(r, root);
    if (r->failed)
        return;
    results->benchmark = need_text(r, root, "", "benchmark");
    results->commit = get_text(r, root, "", "commit");
    results->date = get_text(r, root, "", "date");
    results->data = get_text(r, root, "", "data");
    results->rounds = (int)fmin(get_positive(r, root, "", "rounds"), REPORT_ROUNDS);
    results->flops_per_clock = get_positive(r, root, "", "flops_per_clock");
    read_conditions(r, root);
    read_notes(r, root);
    read_contestants(r, root);
    if (!r->failed)
        read_cells(r, root);
}

static void read_json(void *reader)
{
    Reader *r = reader;

    read_root(r, r->root);
}

static void drop_json(void *reader)
{
    Reader *r = reader;

    json_decref(r->root);
}

Results *results_read(Arena *arena, const Source *source, Diags *diags)
{
    Reader r = {.arena = arena, .diags = diags, .results = arena_new_of(arena, Results)};
    json_error_t error;

    r.root = json_loadb(source->text, source->len, JSON_REJECT_DUPLICATES, &error);
    if (!r.root && (json_error_code(&error) == json_error_out_of_memory || !error.text[0]))
        heap_exhausted(arena_heap(arena));
    diags->source = source;
    if (!r.root) {
        int at = error.position > 0 && (size_t)error.position <= source->len ? error.position - 1 : 0;

        diag_note(diags, diag_add(diags, TW0904, (Span){at, at}, "this is not JSON"), "%s",
                  report_text(arena, error.text));
        return NULL;
    }
    heap_guard(arena_heap(arena), read_json, drop_json, &r);
    if (!r.failed)
        results_finish(arena, r.results);
    return r.failed ? NULL : r.results;
}
