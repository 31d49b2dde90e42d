/* tune_report.c: what a search found, and what is remembered. */
#include "cli/tune_report.h"

#include <math.h>

enum { SHOWN = 8 };

/* ---- a search ------------------------------------------------------------------------------ */

static const char *in_words(const char *settings)
{
    return *settings ? settings : "(untuned)";
}

/* The fates of variants: "3 invalid, 2 spilled, 12 timed". */
static void put_fates(Str *out, const TuneResult *r)
{
    int n = 0;

    for (int f = 0; f < TUNE_FATES; f++) {
        int count = 0;

        for (int i = 0; i < r->all.len; i++)
            count += (int)r->all.data[i].fate == f;
        if (count)
            str_printf(out, "%s%d %s", n++ ? ", " : "", count, tune_fate_name((TuneFate)f));
    }
}

/* The i-th of those that were timed, the fastest first; -1: there are no more. */
static int nth(const TuneResult *r, int n)
{
    for (int i = 0; i < r->all.len; i++) {
        const TuneVariant *v = &r->all.data[i];
        int before = 0;

        if (v->rounds == 0)
            continue;
        for (int k = 0; k < r->all.len; k++) {
            const TuneVariant *w = &r->all.data[k];

            before += w->rounds && (w->ms < v->ms || (w->ms == v->ms && k < i));
        }
        if (before == n)
            return i;
    }
    return -1;
}

static void put_timed(Str *out, const Tuning *t)
{
    const TuneResult *r = &t->result;

    for (int n = 0; n < SHOWN; n++) {
        int i = nth(r, n);
        const TuneVariant *v = i >= 0 ? &r->all.data[i] : NULL;

        if (!v)
            break;
        str_printf(out, "  %s %9.4f ms %8.1f TFLOPS  %3d rounds  %s%s\n", i == r->winner ? "*" : " ", v->ms,
                   t->flops / v->ms * 1e-9, v->rounds, in_words(v->settings), v->fate == TUNE_TIMED ? "" : "  (left early)");
    }
}

/* Wrong results are worth a person's attention: they are mistakes in tw. */
static void put_faults(Str *out, const TuneResult *r)
{
    for (int i = 0; i < r->all.len; i++) {
        const TuneVariant *v = &r->all.data[i];

        if (v->fate == TUNE_WRONG || v->fate == TUNE_HUNG || v->fate == TUNE_CRASHED || v->fate == TUNE_FAILED ||
            (i == 0 && v->fate != TUNE_TIMED))
            str_printf(out, "    %s: %s%s%s\n", tune_fate_name(v->fate), in_words(v->settings), v->problem ? ": " : "",
                       v->problem ? v->problem : "");
    }
}

static void put_regret(Str *out, const Tuning *t)
{
    if (t->regret > 0 && t->untuned_ms > 0)
        str_printf(out, "  anew: untuned %.4f ms, tuned %.4f ms: %.4f\n", t->untuned_ms, t->tuned_ms, t->regret);
    else if (t->regret > 0)
        str_add(out, "  the untuned choice is the best one: 1.0000\n");
    else if (t->problem)
        str_printf(out, "  not timed anew: %s\n", t->problem);
}

static void put_mean(Str *out, const Tunings *done)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < done->len; i++)
        if (done->data[i].regret > 0) {
            sum += log(done->data[i].regret);
            n++;
        }
    if (n)
        str_printf(out, "regret: untuned takes %.4f of the tuned time (geometric mean of %d shape%s)\n", exp(sum / n), n,
                   n > 1 ? "s" : "");
}

void tune_print(Session *s, Str *out, const Tunings *done, const GpuInfo *info)
{
    for (int i = 0; i < done->len; i++) {
        const Tuning *t = &done->data[i];

        put_title(s, out, t->shape);
        str_printf(out, "  %s, driver %d: ", info->name, info->driver);
        put_fates(out, &t->result);
        str_printf(out, "; %.1f s\n", t->result.seconds);
        put_timed(out, t);
        put_faults(out, &t->result);
        if (t->result.winner < 0)
            str_printf(out, "  no winner: %s\n", t->result.problem);
        put_regret(out, t);
    }
    put_mean(out, done);
}

static void variant_json(Str *out, const TuneVariant *v)
{
    str_add(out, "{\"settings\":");
    str_json(out, v->settings);
    str_printf(out, ",\"fate\":\"%s\"", tune_fate_name(v->fate));
    if (v->rounds)
        str_printf(out, ",\"ms\":%.6g,\"rounds\":%d", v->ms, v->rounds);
    if (v->problem) {
        str_add(out, ",\"problem\":");
        str_json(out, v->problem);
    }
    str_addc(out, '}');
}

static void tuning_json(Str *out, const Tuning *t)
{
    const TuneResult *r = &t->result;

    str_add(out, "{\"shape\":");
    str_json(out, t->shape);
    str_add(out, ",\"winner\":");
    if (r->winner >= 0)
        variant_json(out, &r->all.data[r->winner]);
    else
        str_add(out, "null");
    str_printf(out, ",\"flops\":%.6g,\"seconds\":%.3f,\"interrupted\":%s", t->flops, r->seconds, r->stopped ? "true" : "false");
    if (t->regret > 0)
        str_printf(out, ",\"regret\":%.6g", t->regret);
    str_add(out, ",\"variants\":[");
    for (int i = 0; i < r->all.len; i++) {
        str_add(out, i ? ",\n  " : "\n  ");
        variant_json(out, &r->all.data[i]);
    }
    str_add(out, "]}");
}

void tune_json(Str *out, const Tunings *done, const GpuInfo *info)
{
    str_add(out, "{\"ok\":true,\"gpu\":");
    str_json(out, info->name);
    str_printf(out, ",\"driver\":%d,\"shapes\":[", info->driver);
    for (int i = 0; i < done->len; i++) {
        str_add(out, i ? ",\n " : "\n ");
        tuning_json(out, &done->data[i]);
    }
    str_add(out, "]}\n");
}

/* ---- what is remembered ------------------------------------------------------------------------ */

static void put_entry(Str *out, const TuneEntry *e)
{
    str_printf(out, "%s, %s, %s (driver %d), %s\n", e->key.name, e->key.target, e->key.device, e->key.driver, e->key.shapes);
    if (e->winner)
        str_printf(out, "  %.4f ms, %.3f of the untuned: %s\n", e->ms, e->untuned_ms > 0 ? e->ms / e->untuned_ms : 1,
                   in_words(e->winner));
    else
        str_printf(out, "  no winner yet; %d variants are known\n", e->all.len);
}

static void entry_json(Str *out, const TuneEntry *e)
{
    str_add(out, "{\"name\":");
    str_json(out, e->key.name);
    str_printf(out, ",\"target\":\"%s\",\"driver\":%d,\"device\":", e->key.target, e->key.driver);
    str_json(out, e->key.device);
    str_add(out, ",\"shapes\":");
    str_json(out, e->key.shapes);
    str_add(out, ",\"winner\":");
    if (e->winner)
        str_json(out, e->winner);
    else
        str_add(out, "null");
    str_printf(out, ",\"ms\":%.6g,\"untuned_ms\":%.6g}", e->ms, e->untuned_ms);
}

static int list_all(Session *s, const TuneEntries *entries, int ignored)
{
    Str out = str_new(s->arena);

    if (s->options.json)
        str_addc(&out, '[');
    for (int i = 0; i < entries->len; i++) {
        if (s->options.json && i)
            str_add(&out, ",\n ");
        (s->options.json ? entry_json : put_entry)(&out, &entries->data[i]);
    }
    if (s->options.json)
        str_add(&out, "]\n");
    if (ignored)
        fprintf(stderr, "tw: note: %d file%s cannot be read\n", ignored, ignored > 1 ? "s" : "");
    return session_write_path(s, NULL, str_text(&out), out.len);
}

/* Of one operator, whatever it was compiled with, or of all. */
static bool is_meant(const TuneEntry *e, const char *definition)
{
    return !definition || strncmp(e->key.operator, definition, strlen(definition)) == 0;
}

static int forget(Session *s, const TuneEntries *entries, const char *definition)
{
    int n = 0;

    for (int i = 0; i < entries->len; i++) {
        const char *error = is_meant(&entries->data[i], definition) ? tune_cache_forget(s->arena, &entries->data[i]) : NULL;

        if (error)
            return session_fail(s, EXIT_LACKS, "%s", error);
        n += is_meant(&entries->data[i], definition);
    }
    fprintf(stderr, "tw: %d forgotten\n", n);
    return EXIT_DONE;
}

int tune_remembered(Session *s, const char *folder)
{
    TuneEntries entries = {0}, meant = {0};
    const char *definition = NULL;
    int ignored;

    if (s->options.files.len) {
        Source *source = session_read(s, 0);
        Chain *chain = source ? session_chain(s) : NULL;

        if (!chain)
            return source ? EXIT_USAGE : EXIT_LACKS;
        if (!chain_define(chain, source))
            return session_chain_failed(s, chain, "definition");
        definition = chain->definition;
    }
    tune_cache_list(s->arena, folder, &entries, &ignored);
    if (s->options.forget)
        return forget(s, &entries, definition);
    for (int i = 0; i < entries.len; i++)
        if (is_meant(&entries.data[i], definition))
            vec_push(s->arena, &meant, entries.data[i]);
    return list_all(s, &meant, ignored);
}
