/* cmd_tune.c: the search for the fastest choices on the GPU of this machine.
 *
 * The GPU is never opened here: a process that has done that cannot start others.
 */
#include "cli/artefact.h"
#include "cli/gen.h"
#include "cli/ptxas.h"
#include "cli/tune_report.h"

#include <math.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { MAKE_LIMIT = 60, CHECK_LIMIT = 30, TIME_LIMIT = 10, PATIENCE = 40, REGRET_ROUNDS = 21 };

typedef struct Tuner {
    Session *s;
    Source *source;
    const char *folder;
    GpuInfo info;
    Ptxas ptxas;
    TuneShapes shapes;
    Tunings done;
    /* of the shape at hand */
    Chain *chain;
    TuneEntry entry;
    TuneGpu gpu;
    double started;
} Tuner;

/* ---- the device ------------------------------------------------------------------------- */

/* What gpu_guarded leaves its answer in: the parent reads it from a file without a name. */
typedef struct Asked {
    Session *s;
    FILE *answer;
} Asked;

static int ask_gpu(void *user)
{
    const Asked *a = user;
    const char *error;
    GpuInfo info;
    Gpu *gpu = gpu_open(a->s->arena, &error);

    if (!gpu)
        return session_fail(a->s, EXIT_LACKS, "%s", error);
    gpu_info(gpu, &info);
    gpu_close(gpu);
    return fwrite(&info, sizeof info, 1, a->answer) == 1 && fflush(a->answer) == 0 ? EXIT_DONE : EXIT_LACKS;
}

static int find_gpu(Tuner *t)
{
    Asked asked = {t->s, tmpfile()};
    const char *problem;
    int status;

    if (!asked.answer)
        return session_fail(t->s, EXIT_LACKS, "no temporary file can be made");
    status = gpu_guarded(CHECK_LIMIT, ask_gpu, &asked, &problem);
    rewind(asked.answer);
    if (status < 0)
        status = session_fail(t->s, EXIT_LACKS, "%s", problem);
    else if (!status && fread(&t->info, sizeof t->info, 1, asked.answer) != 1)
        status = session_fail(t->s, EXIT_LACKS, "the GPU does not say what it is");
    fclose(asked.answer);
    return status;
}

/* ---- what the search asks of us ---------------------------------------------------------------- */

/* Ctrl-C is held back, so that what is known is kept before we end. */
static bool interrupted(void *user)
{
    sigset_t pending;

    (void)user;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGINT);
}

static void hold_interrupts(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void progress(void *user, const char *what)
{
    const Tuner *t = user;

    session_progress(t->s, "%s: %s", launch_text(t->s->arena, &t->shapes.data[t->done.len].shape), what);
}

static void keep(void *user, const TuneVariants *all)
{
    Tuner *t = user;

    t->entry.all = *all;
    t->entry.when = (int64_t)time(NULL);
    tune_cache_write(t->s->arena, t->folder, &t->entry);
}

/* ---- one shape ------------------------------------------------------------------------------------ */

static int define(Tuner *t, TuneShape *shape)
{
    Session *s = t->s;

    s->options.binds.data = shape->binds;
    s->options.binds.len = s->options.binds.cap = shape->n_binds;
    t->chain = session_chain(s);
    if (!t->chain)
        return EXIT_USAGE;
    if (!chain_define(t->chain, t->source))
        return session_chain_failed(s, t->chain, "definition");
    if (!chain_fuse(t->chain))
        return session_chain_failed(s, t->chain, "fuse");
    if (!launch_parse(s, "bind", shape->binds, shape->n_binds, &shape->shape) ||
        !launch_complete(s, t->chain->def, &t->chain->own, &shape->shape))
        return EXIT_USAGE;
    return EXIT_DONE;
}

static void make_key(Tuner *t, const TuneShape *shape)
{
    Session *s = t->s;
    const char *note;
    TuneKey key = {t->info.name, t->info.driver, s->options.target->name, t->chain->name,
                   tuned_operator(s, t->chain), tune_shape_class(s->arena, t->chain->def, shape->shape.data, shape->shape.len)};

    if (!tune_cache_read(s->arena, t->folder, &key, &t->entry, &note))
        t->entry = (TuneEntry){0};
    if (note)
        fprintf(stderr, "tw: note: %s\n", note);
    t->entry.key = key;
    t->entry.shape = launch_text(s->arena, &shape->shape);
}

static void add_known(const Tuner *t, TuneKnowns *list, const TuneVariants *all)
{
    for (int i = 0; i < all->len; i++) {
        const TuneVariant *v = &all->data[i];

        if (v->kernel && v->fate != TUNE_SAME)
            vec_push(t->s->arena, list, (TuneKnown){v->kernel, v->fate, v->image, v->image_len});
    }
}

/* From other shapes of this search, with what was compiled for them; from earlier ones. */
static TuneKnowns known(const Tuner *t)
{
    TuneKnowns list = {0};

    for (int i = 0; i < t->done.len; i++)
        add_known(t, &list, &t->done.data[i].result.all);
    add_known(t, &list, &t->entry.all);
    return list;
}

/* The first shape's kernels are those of the others as well: it has most to check. */
static double share_of_time(const Tuner *t)
{
    int left = t->shapes.len - t->done.len;
    double until = t->started + t->s->options.time, seconds = until - clock_seconds(), parts = t->done.len ? left : left + 2;

    return fmax(t->done.len ? seconds / parts : seconds * (left > 1 ? 3 / parts : 1), 1);
}

/* Machine code for another GPU's architecture does not run on this one; its PTX, assembled for this one, does. */
static const char *machine(const Tuner *t)
{
    const char *target = t->s->options.target->name;
    int major = t->info.cc_major, minor = t->info.cc_minor;

    return target_is_of(target, major, minor) ? target : arena_printf(t->s->arena, "sm_%d%d", major, minor);
}

static int prepare(Tuner *t, const TuneShape *shape)
{
    Session *s = t->s;
    const Options *o = &s->options;
    const char *error;

    t->gpu = (TuneGpu){.source = t->source, .target = o->target, .dtype = o->dtype, .sets = o->sets.data, .n_sets = o->sets.len,
                       .binds = shape->binds, .n_binds = shape->n_binds, .def = t->chain->def, .shape = shape->shape.data,
                       .n_shape = shape->shape.len, .ptxas = t->ptxas.found ? &t->ptxas.tool : NULL,
                       .machine = machine(t), .seed = o->seed, .bound = o->bound, .patience = PATIENCE};
    error = tune_gpu_prepare(s->arena, &t->gpu);
    return error ? session_fail(s, EXIT_WRONG, "%s: %s", launch_text(s->arena, &shape->shape), error) : EXIT_DONE;
}

static void neighbours(void *user, Arena *arena, const char *settings, TuneVariants *list)
{
    const Tuner *t = user;

    tune_gpu_neighbours(&t->gpu, arena, settings, list);
}

static TuneOptions search_options(Tuner *t)
{
    const Options *o = &t->s->options;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return (TuneOptions){.jobs = o->jobs ? o->jobs : cores > 0 ? (int)cores : 1, .seconds = share_of_time(t),
                         .make_limit = MAKE_LIMIT, .check_limit = CHECK_LIMIT, .time_limit = TIME_LIMIT, .rounds = o->has_rounds ? o->rounds : 0, .seed = o->seed,
                         .known = known(t), .neighbours = neighbours, .stopped = interrupted, .progress = progress,
                         .keep = keep, .user = t};
}

/* The untuned and the tuned one, anew. */
static void find_regret(Tuner *t, Tuning *tuning, const TuneDevice *device, TuneOptions options)
{
    TuneVariant a = tuning->result.all.data[0], b = tuning->result.all.data[tuning->result.winner];

    options.rounds = options.rounds ? options.rounds : REGRET_ROUNDS;
    options.seed += 1;
    tuning->regret = 1;
    if (tuning->result.winner == 0 || tuning->result.stopped)
        return;
    if (tune_compare(t->s->arena, device, &options, &a, &b, &tuning->problem)) {
        tuning->regret = a.ms / b.ms;
        tuning->untuned_ms = a.ms;
        tuning->tuned_ms = b.ms;
    } else {
        tuning->regret = 0;
    }
}

static void remember(Tuner *t, const Tuning *tuning)
{
    const TuneResult *r = &tuning->result;
    const TuneVariant *winner = &r->all.data[r->winner], *untuned = &r->all.data[0];
    const char *error;

    t->entry.winner = winner->settings;
    t->entry.ms = winner->ms;
    t->entry.untuned_ms = untuned->ms;
    t->entry.rounds = winner->rounds;
    t->entry.all = r->all;
    t->entry.when = (int64_t)time(NULL);
    error = tune_cache_write(t->s->arena, t->folder, &t->entry);
    if (error)
        fprintf(stderr, "tw: note: the result is not remembered: %s\n", error);
}

static void search(Tuner *t, Tuning *tuning)
{
    Session *s = t->s;
    TuneDevice device = tune_on_gpu(&t->gpu);
    TuneOptions options = search_options(t);
    ReasonRanking ranking;
    const char **settings;

    chain_rank(t->chain, s->options.top, &ranking);
    settings = arena_array(s->arena, const char *, ranking.list.len + 1);
    for (int i = 0; i < ranking.list.len; i++)
        settings[i] = ranking.list.data[i].settings;
    tune_search(s->arena, &device, &options, settings, ranking.list.len, &tuning->result);
    if (tuning->result.winner < 0)
        return;
    remember(t, tuning);
    if (s->options.regret)
        find_regret(t, tuning, &device, options);
}

static int tune_shape(Tuner *t, TuneShape *shape)
{
    Tuning tuning = {0};
    int status = define(t, shape);

    if (status)
        return status;
    make_key(t, shape);
    status = prepare(t, shape);
    if (status)
        return status;
    search(t, &tuning);
    tuning.shape = launch_text(t->s->arena, &shape->shape);
    tuning.flops = ref_flops(t->s->arena, t->chain->def, shape->shape.data, shape->shape.len);
    vec_push(t->s->arena, &t->done, tuning);
    return EXIT_DONE;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static bool was_interrupted(const Tuner *t)
{
    return t->done.len && t->done.data[t->done.len - 1].result.stopped;
}

static int tune_all(Tuner *t)
{
    int status = EXIT_DONE;

    for (int i = 0; i < t->shapes.len && !status && !was_interrupted(t); i++)
        status = tune_shape(t, &t->shapes.data[i]);
    return status;
}

static bool found_all(const Tuner *t)
{
    for (int i = 0; i < t->done.len; i++)
        if (t->done.data[i].result.winner < 0)
            return false;
    return t->done.len == t->shapes.len;
}

static int write_kernel(Tuner *t)
{
    const TuneResult *r = &t->done.data[0].result;

    if (!t->s->options.output || r->winner < 0)
        return EXIT_DONE;
    return gen_source(t->s, t->source, r->all.data[r->winner].settings);
}

static int report(Tuner *t)
{
    Str out = str_new(t->s->arena);
    bool quiet = t->s->options.json && t->s->options.output; /* gen's is the JSON then */

    if (t->s->options.json)
        tune_json(&out, &t->done, &t->info);
    else
        tune_print(t->s, &out, &t->done, &t->info);
    return quiet ? EXIT_DONE : session_write_path(t->s, NULL, out.data, out.len);
}

static int tune(Tuner *t)
{
    int status = tune_all(t);

    if (status)
        return status;
    status = report(t);
    if (!status && was_interrupted(t))
        fputs("tw: note: interrupted; what is known is kept, and the next search goes on from there\n", stderr);
    if (!status)
        status = write_kernel(t);
    return status ? status : was_interrupted(t) ? EXIT_STOPPED : found_all(t) ? EXIT_DONE : EXIT_WRONG;
}

int cmd_tune(Session *s)
{
    Tuner t = {.s = s, .folder = tuned_folder(s)};
    int status;

    if (!t.folder)
        return EXIT_LACKS;
    if (s->options.list || s->options.forget)
        return tune_remembered(s, t.folder);
    t.source = session_read(s, 0);
    if (!t.source)
        return EXIT_LACKS;
    if (!artefact_is_tl(s, t.source) || !tune_shapes(s, &t.shapes))
        return EXIT_USAGE;
    if (s->options.output && t.shapes.len > 1)
        return session_usage(s, "with -o there is one shape to write a kernel for, not %d", t.shapes.len);
    status = find_gpu(&t);
    if (status)
        return status;
    ptxas_find(s, &t.ptxas);
    hold_interrupts();
    t.started = clock_seconds();
    return tune(&t);
}
