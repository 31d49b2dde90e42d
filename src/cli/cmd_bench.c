/* cmd_bench.c: times kernels on the GPU, beside each other and over shapes, and
 * shows that, or what was recorded before: a table, JSON, a page. */
#include "cli/device.h"
#include "cli/sweep.h"
#include "report/report.h"

#include <time.h>

typedef struct Bench {
    Session *s;
    Device devices[REPORT_CONTESTANTS]; /* a file each; the first has the GPU open */
    int n;
    const Target *gpu; /* what the GPU is; NULL: not known */
    Sweep sweep;
    Results *results;
    const char *at; /* the shape under way, for the progress line */
} Bench;

/* ---- what is shown ------------------------------------------------------------------ */

/* The page is written first: what stands on the terminal then is no promise. */
static int show(Session *s, Results *const *results, int n)
{
    Str page = str_new(s->arena), out = str_new(s->arena);
    int status = EXIT_DONE;

    if (s->options.html) {
        report_html(s->arena, results, n, &page);
        status = session_write_path(s, s->options.html, page.data, page.len);
    }
    if (status)
        return status;
    for (int i = 0; i < n; i++) {
        if (s->options.json)
            results_json(results[i], &out);
        else
            results_table(s->arena, results[i], s->colour_out, &out);
        if (i + 1 < n)
            str_addc(&out, '\n');
    }
    return session_write(s, out.data, out.len);
}

static int show_recorded(Session *s)
{
    const Options *o = &s->options;
    int n = o->from.len;
    Results **results = arena_array(s->arena, Results *, n);

    if (o->files.len || o->binds.len || o->sets.len || o->against)
        return session_usage(s, "--from shows what was recorded: it takes no kernels and no shapes");
    if (o->json && n > 1)
        return session_usage(s, "--json writes one document: give one --from");
    for (int i = 0; i < n; i++) {
        Source *source = session_read_path(s, o->from.data[i]);

        if (!source)
            return EXIT_LACKS;
        results[i] = results_read(s->arena, source, s->diags);
        if (!results[i])
            return session_diagnose(s);
    }
    return show(s, results, n);
}

/* ---- what is known before ----------------------------------------------------------- */

static const char *label_of(Session *s, const char *path, bool whole)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash && !whole ? slash + 1 : path;
    size_t n = strlen(base);

    if (n > 4 && strcmp(base + n - 4, ".ptx") == 0)
        n -= 4;
    return report_text(s->arena, arena_strndup(s->arena, base, n));
}

static bool same_label(const Bench *b, bool whole, int file)
{
    for (int i = 0; i < b->n; i++)
        if (i != file && strcmp(label_of(b->s, b->devices[i].ptx->path, whole),
                                label_of(b->s, b->devices[file].ptx->path, whole)) == 0)
            return true;
    return false;
}

/* The file's name; its path where two have one name; its number where it is given twice. */
static Contestant contestant_of(const Bench *b, int file)
{
    const char *path = b->devices[file].ptx->path;
    bool twice = same_label(b, true, file);
    const char *label = label_of(b->s, path, !twice && same_label(b, false, file));

    if (twice)
        label = arena_printf(b->s->arena, "%s (%d)", label, file + 1);
    return (Contestant){.name = label, .label = label};
}

static void add_fact(Bench *b, const char *name, const char *value, bool plain)
{
    vec_push(b->s->arena, &b->results->conditions, (Fact){name, report_text(b->s->arena, value), plain});
}

static void add_conditions(Bench *b)
{
    Arena *arena = b->s->arena;
    const GpuInfo *info = &b->devices[0].info;

    add_fact(b, "gpu", info->name, false);
    add_fact(b, "sms", arena_printf(arena, "%d", info->sms), true);
    add_fact(b, "driver", arena_printf(arena, "CUDA %d.%d", info->driver / 1000, info->driver % 1000 / 10), false);
    add_fact(b, "tw", TW_VERSION, false);
}

static void add_note(Bench *b, const char *text)
{
    vec_push(b->s->arena, &b->results->notes, report_text(b->s->arena, text));
}

/* What a file is, what ptxas or the driver made of its entries, and what of that is not as
 * it was meant. */
static void add_notes(Bench *b, const Device *d, const char *label)
{
    Arena *arena = b->s->arena;

    add_note(b, arena_printf(arena, "%s: %s for %s, %s", label, dtype_name(d->abi->dtype), d->abi->target,
                             d->abi->settings && *d->abi->settings ? d->abi->settings : "nothing compiled in"));
    for (int k = 0; k < d->abi->kernels.len; k++) {
        GpuResources r;

        if (gpu_resources(d->module, k, true, &r))
            add_note(b, arena_printf(arena, "%s, %s: %d registers, %d bytes of local memory, %s", label,
                                     gpu_entry(d->module, k)->name, r.regs, r.local_bytes,
                                     d->loaded.cubin ? "from the cubin" : "compiled by the driver"));
    }
    for (int i = 0; i < d->loaded.told.len; i++)
        add_note(b, arena_printf(arena, "%s: %s", label, d->loaded.told.data[i]));
}

static const char *now(Arena *arena)
{
    char text[32];
    time_t seconds = time(NULL);
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return NULL;
    return arena_strdup(arena, text);
}

static void begin(Bench *b)
{
    Session *s = b->s;
    const GpuInfo *info = &b->devices[0].info;

    b->gpu = target_of_gpu(info->cc_major, info->cc_minor);
    b->results = arena_new_of(s->arena, Results);
    b->results->benchmark = arena_printf(s->arena, "%s on %s", b->devices[0].abi->name, info->name);
    b->results->date = now(s->arena);
    b->results->data = arena_printf(s->arena, "random normal, seed %llu", (unsigned long long)s->options.seed);
    b->results->rounds = s->options.rounds;
    for (int i = 0; i < b->n; i++)
        vec_push(s->arena, &b->results->contestants, contestant_of(b, i));
    add_conditions(b);
    for (int i = 0; i < b->n; i++)
        add_notes(b, &b->devices[i], b->results->contestants.data[i].label);
}

/* ---- one shape ---------------------------------------------------------------------- */

static Timed timed_of(const Bench *b, const BenchEntry *e, int who, double work)
{
    const Device *d = &b->devices[who];

    return (Timed){.contestant = who,
                   .rounds = b->s->options.rounds,
                   .ms = e->ms,
                   .mhz = e->mhz,
                   .work = work,
                   .flops_per_clock =
                       b->gpu ? b->devices[0].info.sms * target_flops_per_clock(b->gpu, d->abi->dtype) : 0};
}

/* Floating-point operations where all of them have some, else bytes. */
static Work work_of(const Bench *b, const BenchEntry *entries, double *work)
{
    bool flops = true;

    for (int i = 0; i < b->n; i++) {
        work[i] = ref_flops(b->s->arena, entries[i].def, entries[i].bindings, entries[i].n_bindings);
        flops &= work[i] > 0;
    }
    for (int i = 0; !flops && i < b->n; i++)
        work[i] = (double)entries[i].bytes;
    return flops ? WORK_FLOPS : WORK_BYTES;
}

static void say(void *user, int round)
{
    const Bench *b = user;

    session_progress(b->s, "%s: round %d of %d", b->at, round + 1, b->s->options.rounds);
}

static Cell cell_of(const Bench *b, const SweepPoint *point, const LaunchShape *shape)
{
    Arena *arena = b->s->arena;
    Cell cell = {.shape = launch_text(arena, shape)};

    if (!b->sweep.axis)
        return cell.at = cell.shape, cell.shape = NULL, cell;
    cell.numeric = true;
    cell.x = point->x;
    cell.at = report_number(arena, point->x);
    return cell;
}

/* A shape that is wrong ends everything; one that does not run is told in its cell. */
static int time_shape(Bench *b, const SweepPoint *point)
{
    Session *s = b->s;
    BenchOptions options = {.rounds = s->options.rounds, .seed = s->options.seed, .progress = say, .user = b};
    BenchEntry *entries = arena_array(s->arena, BenchEntry, b->n);
    LaunchShape *shapes = arena_array(s->arena, LaunchShape, b->n);
    double *work = arena_array(s->arena, double, b->n);
    Work unit = WORK_FLOPS;
    const char *error;
    Cell cell;

    for (int i = 0; i < b->n; i++) {
        const Device *d = &b->devices[i];
        int status = device_shape(s, d, point->words.data, point->words.len, &shapes[i]);

        if (status)
            return status;
        entries[i] = (BenchEntry){.module = d->module, .def = d->chain->def, .bindings = shapes[i].data, .n_bindings = shapes[i].len};
    }
    cell = cell_of(b, point, &shapes[0]);
    b->at = cell.shape ? cell.shape : cell.at;
    if (!gpu_bench(b->devices[0].gpu, entries, b->n, &options, &error))
        cell.error = report_text(s->arena, error);
    else
        unit = work_of(b, entries, work);
    for (int i = 0; i < b->n && !cell.error; i++)
        if (work[i] > 0)
            vec_push(s->arena, &cell.timed, timed_of(b, &entries[i], i, work[i]));
    Case *c = results_case(s->arena, b->results, report_text(s->arena, b->devices[0].abi->name),
                           b->sweep.axis ? b->sweep.axis : "shape", unit);
    if (!case_has(c, 0))
        c->work = unit;
    if (cell.timed.len && c->work != unit) {
        cell.timed.len = 0;
        cell.error = "this shape has nothing to compute";
    }
    vec_push(s->arena, &c->cells, cell);
    return EXIT_DONE;
}

/* ---- the whole ---------------------------------------------------------------------- */

static int open_all(Bench *b)
{
    Session *s = b->s;
    int status = EXIT_DONE;

    b->n = s->options.files.len ? s->options.files.len : 1;
    for (int i = 0; i < b->n && !status; i++)
        status = device_read(s, &b->devices[i], i);
    /* Shapes are looked at before a GPU is. */
    for (int p = 0; p < b->sweep.points.len && !status; p++)
        for (int i = 0; i < b->n && !status; i++) {
            const SweepPoint *point = &b->sweep.points.data[p];
            LaunchShape shape = {0};

            status = device_shape(s, &b->devices[i], point->words.data, point->words.len, &shape);
        }
    if (!status)
        status = device_start(s, &b->devices[0]);
    for (int i = 0; i < b->n && !status; i++) {
        b->devices[i].gpu = b->devices[0].gpu;
        status = device_load(s, &b->devices[i]);
    }
    return status;
}

/* What is written to files is written after each shape: of a long run that is
 * interrupted they keep what there was. */
static int keep(Bench *b, bool last)
{
    Session *s = b->s;

    results_finish(s->arena, b->results);
    if (last || s->options.output)
        return show(s, &b->results, 1);
    if (!s->options.html)
        return EXIT_DONE;
    Str page = str_new(s->arena);
    report_html(s->arena, &b->results, 1, &page);
    return session_write_path(s, s->options.html, page.data, page.len);
}

static const char *first_error(const Results *results)
{
    const Case *c = &results->cases.data[0];

    for (int i = 0; i < c->cells.len; i++)
        if (c->cells.data[i].error)
            return c->cells.data[i].error;
    return "nothing could be timed";
}

static int time_all(Bench *b)
{
    Session *s = b->s;
    int n = b->sweep.points.len, bad, status = EXIT_DONE;

    begin(b);
    for (int i = 0; i < n && !status; i++) {
        status = time_shape(b, &b->sweep.points.data[i]);
        if (!status && results_bad(b->results) <= i)
            status = keep(b, i + 1 == n);
    }
    if (status)
        return status;
    bad = results_bad(b->results);
    if (bad == n)
        return session_fail(s, EXIT_WRONG, "%s", first_error(b->results));
    if (bad)
        status = session_fail(s, EXIT_WRONG, "%d of %d shapes could not be timed: %s", bad, n, first_error(b->results));
    return status;
}

static int run_bench(Session *s)
{
    Bench *b = arena_new_of(s->arena, Bench);
    int status;

    b->s = s;
    if (!sweep_parse(s, s->options.binds.data, s->options.binds.len, &b->sweep))
        return EXIT_USAGE;
    status = open_all(b);
    if (!status)
        status = time_all(b);
    device_close(&b->devices[0]);
    return status;
}

int cmd_bench(Session *s)
{
    return s->options.from.len ? show_recorded(s) : device_guarded(s, run_bench);
}
