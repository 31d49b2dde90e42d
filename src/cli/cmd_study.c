/* cmd_study.c: operators x authors x modes, each cell a run with a transcript.
 *
 *   DIR/study.csv, study.json                all rows so far
 *   DIR/attention/two-stage/AUTHOR/...       a cell's transcript
 */
#include "cli/asking.h"
#include "cli/ops_folder.h"
#include "cli/study_speed.h"
#include "cli/workflow.h"
#include "flow/study.h"

static const char BUILT_IN[] = "builtin", FOLDER[] = "study";

typedef struct Author {
    const char *spec, *slug;
    Model *model; /* NULL: built in */
} Author;

typedef struct Study {
    Session *s;
    const char *folder;
    Library *library;
    VEC(Source *) ops;
    VEC(Author) authors;
    bool modes[STUDY_MODES];
    StudySpeed speed;
    ForeignTools tools;    /* that CUDA is compiled with */
    FlowCompiler compiler; /* compile: NULL where there are none */
    VEC(StudyRow) rows;
} Study;

/* ---- what is studied -------------------------------------------------------------------- */

static bool no_mode(Study *st, const char *name)
{
    const char *names[STUDY_MODES], *near;
    Str list = str_new(st->s->arena);

    for (int i = 0; i < STUDY_MODES; i++) {
        names[i] = study_mode_name((StudyMode)i);
        str_printf(&list, "%s%s", i == 0 ? "" : i == STUDY_MODES - 1 ? " or " : ", ", names[i]);
    }
    near = nearest_name(name, names, STUDY_MODES);
    session_usage(st->s, near ? "--mode '%s': did you mean '%s'?" : "--mode '%s': it is %s", name, near ? near : str_text(&list));
    return false;
}

static bool read_modes(Study *st)
{
    const char *text = st->s->options.modes;

    for (int i = 0; i < STUDY_MODES && !text; i++)
        st->modes[i] = true;
    while (text && *text) {
        size_t len = strcspn(text, ",");
        StudyMode mode;

        if (!study_mode_find(arena_strndup(st->s->arena, text, len), &mode))
            return no_mode(st, arena_strndup(st->s->arena, text, len));
        st->modes[mode] = true;
        text += len + (text[len] == ',');
    }
    return true;
}

static int add_author(Study *st, const char *spec)
{
    Author author = {.spec = spec};

    for (int i = 0; i < st->authors.len; i++)
        if (strcmp(st->authors.data[i].spec, spec) == 0)
            return EXIT_DONE;
    author.slug = arena_printf(st->s->arena, "%d-%s", st->authors.len + 1, workflow_slug(st->s->arena, spec));
    if (!text_equal_nocase(spec, BUILT_IN) && !(author.model = workflow_model(st->s, spec)))
        return session_diagnose(st->s) ? EXIT_USAGE : EXIT_WRONG;
    vec_push(st->s->arena, &st->authors, author);
    return EXIT_DONE;
}

static int read_authors(Study *st)
{
    const Options *o = &st->s->options;
    int status = EXIT_DONE;

    for (int i = 0; i < o->models.len && !status; i++)
        status = add_author(st, o->models.data[i]);
    return status || o->models.len ? status : add_author(st, BUILT_IN);
}

static int read_ops(Study *st)
{
    const Options *o = &st->s->options;
    const char *folder = ops_folder(st->s->arena);
    OpsNames names = {0};

    for (int i = 0; i < o->files.len; i++)
        vec_push(st->s->arena, &names, o->files.data[i]);
    if (!names.len && !ops_list(st->s->arena, folder, &names))
        return session_fail(st->s, EXIT_LACKS, "cannot read the folder '%s'", folder);
    for (int i = 0; i < names.len; i++) {
        const char *path = o->files.len ? names.data[i]
                                        : arena_printf(st->s->arena, "%s/%s.tl", folder, names.data[i]);
        Source *source = session_read_path(st->s, path);

        if (!source)
            return EXIT_LACKS;
        vec_push(st->s->arena, &st->ops, source);
    }
    return st->ops.len ? EXIT_DONE : session_fail(st->s, EXIT_LACKS, "there is no operator in the folder '%s'", folder);
}

/* ---- a cell -------------------------------------------------------------------------------- */

static void tell(void *user, const FlowStep *step)
{
    session_progress_end(user);
    workflow_pay(user, step);
}

static int define(Study *st, Chain *chain, const Source *source)
{
    const Options *o = &st->s->options;
    bool headed = prompt_set_as_headed(chain, source);

    for (int i = 0; i < o->sets.len; i++) {
        const char *error = chain_set(chain, o->sets.data[i]);

        if (error)
            return session_usage(st->s, "--set: %s", error);
    }
    if (headed && chain_define(chain, source))
        return EXIT_DONE;
    diags_print(chain->diags, stderr, st->s->colour_err);
    return chain->failure ? session_fail(st->s, EXIT_WRONG, "%s: it cannot be studied", chain->failure)
                          : session_fail(st->s, EXIT_WRONG, "%s cannot be studied", source->path);
}

static Chain *new_chain(Study *st, Arena *arena, const Source *source)
{
    const Options *o = &st->s->options;

    return chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), o->target, o->dtype);
}

/* Before anything is asked: all operators can be. */
static int define_all(Study *st)
{
    int status = EXIT_DONE;

    for (int i = 0; i < st->ops.len && !status; i++) {
        Arena *own = arena_new(&st->s->heap);

        status = define(st, new_chain(st, own, st->ops.data[i]), st->ops.data[i]);
        arena_free(own);
    }
    return status;
}

/* The session as this cell's author has it, for the request that its transcript begins with. */
static const char *request_of(Study *st, Flow *flow, const Source *source)
{
    Workflow w = {.s = st->s, .flow = flow};

    memcpy(w.models, flow->options.by, sizeof w.models);
    return workflow_request(&w, source->text);
}

static int lost(Study *st, Chain *chain)
{
    diags_print(chain->diags, stderr, st->s->colour_err);
    return session_fail(st->s, asking_stopped() ? EXIT_STOPPED : EXIT_LACKS, "the study stops here; the same command goes on with it");
}

static int run(Study *st, Chain *chain, const Author *author, StudyMode mode, const Source *source)
{
    const Options *o = &st->s->options;
    FlowOptions options = {.rounds = o->has_rounds ? o->rounds : FLOW_ROUNDS, .execute = true, .seed = o->seed,
                           .bound = o->bound, .library = st->library, .tell = tell, .stopped = asking_stopped, .user = st->s,
                           .compiler = st->compiler.compile ? &st->compiler : NULL};
    double since = clock_seconds();
    Flow *flow;
    StudyRow row;

    for (int i = 0; i < PROMPT_STAGES; i++)
        options.by[i] = author->model;
    if (author->model)
        options.folder = arena_printf(chain->arena, "%s/%s/%s/%s", st->folder, chain->name, study_mode_name(mode), author->slug);
    flow = flow_new(chain, &options);
    if (!flow_begin(flow, request_of(st, flow, source)))
        return lost(st, chain);
    row = study_run(st->s->arena, flow, mode);
    if (!row.answered)
        return lost(st, chain);
    if (row.ok)
        row.speed = author->model ? study_speed(&st->speed, flow, mode) : 1;
    if (asking_stopped())
        return lost(st, chain);
    if (row.speed < 0)
        study_wrong(st->s->arena, &row, TW1061);
    vec_push(st->s->arena, &st->rows, row);
    return flow_end(flow, row.ok, clock_seconds() - since) ? EXIT_DONE : lost(st, chain);
}

/* In memory of its own, of which the row alone stays. */
static int run_cell(Study *st, const Author *author, StudyMode mode, const Source *source)
{
    Arena *own = arena_new(&st->s->heap);
    Chain *chain = new_chain(st, own, source);
    int status = define(st, chain, source);

    session_progress(st->s, "%s, %s, %s", source->path, study_mode_name(mode), author->spec);
    if (!status)
        status = run(st, chain, author, mode, source);
    arena_free(own);
    return status;
}

/* ---- what is written --------------------------------------------------------------------------- */

static int write_tables(Study *st)
{
    Str csv = str_new(st->s->arena), json = str_new(st->s->arena);
    int status;

    study_csv(&csv, st->rows.data, st->rows.len);
    str_printf(&json, "{\"ok\":true,\"target\":\"%s\",\"rows\":", st->s->options.target->name);
    study_json(&json, st->rows.data, st->rows.len);
    str_add(&json, "}\n");
    status = session_write_path(st->s, arena_printf(st->s->arena, "%s/study.csv", st->folder), csv.data, csv.len);
    if (!status)
        status = session_write_path(st->s, arena_printf(st->s->arena, "%s/study.json", st->folder), json.data, json.len);
    if (!status && st->s->options.json)
        status = session_write_path(st->s, NULL, json.data, json.len);
    return status;
}

static int print_table(Study *st)
{
    Str out = str_new(st->s->arena);

    if (st->s->options.json)
        return EXIT_DONE;
    study_table(&out, st->rows.data, st->rows.len);
    return session_write_path(st->s, NULL, out.data, out.len);
}

/* What is built in writes TL. */
static bool is_done(const Study *st, int author, StudyMode mode)
{
    return st->modes[mode] && (st->authors.data[author].model || study_mode_is_tl(mode));
}

/* Whether any author writes anything. */
static bool has_cells(const Study *st)
{
    bool some = false;

    for (int a = 0; a < st->authors.len; a++)
        for (int m = 0; m < STUDY_MODES; m++)
            some |= is_done(st, a, (StudyMode)m);
    return some;
}

static int run_all(Study *st)
{
    int status = EXIT_DONE;

    for (int a = 0; a < st->authors.len; a++)
        for (int m = 0; m < STUDY_MODES; m++)
            for (int i = 0; i < st->ops.len && is_done(st, a, (StudyMode)m) && !status; i++)
                status = run_cell(st, &st->authors.data[a], (StudyMode)m, st->ops.data[i]);
    return status;
}

static void find_compiler(Study *st)
{
    const char *error;

    st->tools.unconfined = st->s->options.no_sandbox;
    if (foreign_find_cuda(st->s->arena, st->s->options.cutlass, &st->tools, &error))
        st->compiler = flow_cuda_compiler(&st->tools);
}

int cmd_study(Session *s)
{
    Study st = {.s = s, .folder = s->options.output ? s->options.output : FOLDER};
    const char *error;
    int status;

    if (!read_modes(&st))
        return EXIT_USAGE;
    status = read_authors(&st);
    if (!status && !has_cells(&st))
        status = session_usage(s, "--mode %s: nobody built in writes that; --model SPEC names who does", s->options.modes);
    if (!status)
        status = read_ops(&st);
    if (!status)
        status = define_all(&st);
    if (!status && (error = folder_make(s->arena, st.folder, 0777)))
        status = session_fail(s, EXIT_LACKS, "%s", error);
    if (status)
        return status;
    st.library = ops_library(s);
    st.speed = study_speed_new(s);
    find_compiler(&st);
    status = run_all(&st);
    if (st.rows.len && (write_tables(&st) || print_table(&st)))
        status = EXIT_LACKS;
    for (int i = 0; i < st.authors.len; i++)
        model_close(st.authors.data[i].model);
    return status;
}
