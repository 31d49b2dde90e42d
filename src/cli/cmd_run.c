/* cmd_run.c: executes a definition, code or tile IR on the CPU. */
#include "check/check.h"
#include "cli/artefact.h"
#include "cli/stages.h"
#include "cli/trial.h"

/* --set and --bind together: nothing is compiled in here that could not also be
 * given at launch. */
static bool parse_shape(Session *s, bool with_sets, LaunchShape *shape)
{
    const Options *o = &s->options;

    return (!with_sets || launch_parse(s, "set", o->sets.data, o->sets.len, shape)) &&
           launch_parse(s, "bind", o->binds.data, o->binds.len, shape);
}

static int write_tensors(Session *s, const LaunchShape *shape, Tensor *const *tensors, int n)
{
    Str out = str_new(s->arena);

    if (s->options.json) {
        str_add(&out, "{\"ok\":true,\"shape\":");
        str_json(&out, launch_text(s->arena, shape));
        str_add(&out, ",\"tensors\":[");
    } else {
        str_printf(&out, "at %s\n", launch_text(s->arena, shape));
    }
    for (int i = 0; i < n; i++) {
        if (s->options.json && i)
            str_add(&out, ",\n ");
        if (s->options.json)
            tensor_json(&out, tensors[i]);
        else
            tensor_print(&out, tensors[i]);
    }
    str_add(&out, s->options.json ? "]}\n" : "");
    return session_write(s, out.data, out.len);
}

/* ---- tile IR and code ---------------------------------------------------------------- */

static int run_alone(Session *s, const TileProgram *program, LaunchShape *shape)
{
    Tensor **tensors = arena_array(s->arena, Tensor *, program->tensors.len + 1);
    Tensor **written = arena_array(s->arena, Tensor *, program->tensors.len + 1);
    const char *error;
    int n = 0;

    if (!launch_complete_tile(s, program, shape))
        return EXIT_USAGE;
    if (!tile_make_tensors(s, program, shape, NULL, tensors, &error) ||
        !tile_execute(s, program, shape, NULL, tensors, &error))
        return session_fail(s, EXIT_WRONG, "%s", error);
    for (int i = 0; i < program->tensors.len; i++)
        if (program->tensors.data[i]->written)
            written[n++] = tensors[i];
    return write_tensors(s, shape, written, n);
}

static int run_against(Session *s, const char *what, const TileProgram *program, const Chain *chain,
                       LaunchShape *shape)
{
    const char *error;
    Trial *trial;

    if (!launch_complete(s, chain->def, &chain->own, shape))
        return EXIT_USAGE;
    trial = trial_new(s, chain->def, shape, &error);
    if (!trial)
        return session_fail(s, EXIT_WRONG, "%s", error);
    trial_tile(trial, what, program);
    return trial_write(s, trial);
}

static int run_program(Session *s, const Source *source, const TileProgram *program, Chain *chain,
                       bool with_sets)
{
    LaunchShape shape = {0};

    if (!parse_shape(s, with_sets, &shape))
        return EXIT_USAGE;
    if (session_diagnose(s)) /* warnings so far */
        return EXIT_WRONG;
    if (chain->def)
        return run_against(s, source->path, program, chain, &shape);
    return run_alone(s, program, &shape);
}

static int run_tile(Session *s, const Source *source, Chain *chain)
{
    TileProgram *program;

    s->diags->source = source;
    program = tile_parse(s->arena, s->syms, s->aff, source, s->diags);
    if (!program || !tile_verify(program, s->diags))
        return session_chain_failed(s, chain, "tile IR");
    return run_program(s, source, program, chain, true);
}

static int run_code(Session *s, const Source *source, Chain *chain)
{
    if (!chain_lower(chain, source))
        return session_chain_failed(s, chain, "run");
    return run_program(s, source, chain->tile, chain, false);
}

/* ---- definitions ----------------------------------------------------------------------- */

/* Every row of every output as the oracle gives it. */
static void evaluate(Session *s, Ref *ref, const Def *def, Tensor *const *outputs)
{
    for (int i = 0; i < def->outputs.len; i++) {
        const Tensor *t = outputs[i];
        int64_t at[TENSOR_MAX_RANK] = {0}, cols = t->rank ? t->dims[t->rank - 1] : 1;
        int64_t rows = cols ? tensor_count(t) / cols : 0;
        int last = t->rank ? t->rank - 1 : 0;

        for (int64_t r = 0; r < rows; r++) {
            const double *row = ref_row(ref, i, at);

            session_progress(s, "row %lld of %lld", (long long)r + 1, (long long)rows);
            for (at[last] = 0; at[last] < cols; at[last]++)
                tensor_set(outputs[i], at, row[at[last]]);
            at[last] = 0;
            tensor_step(t, last, at);
        }
    }
}

/* Whether the sizes ask for more than --steps allows; outputs: NULL before there are any. */
static bool is_too_much(Session *s, const Chain *chain, const LaunchShape *shape, Tensor *const *outputs)
{
    double work = ref_flops(s->arena, chain->def, shape->data, shape->len) / 2;

    for (int i = 0; outputs && i < chain->def->outputs.len; i++)
        work += (double)tensor_count(outputs[i]);
    if (s->options.steps == 0 || work <= s->options.steps)
        return false;
    session_fail(s, EXIT_WRONG, "that is %.2g elements and multiply-adds to compute, more than %g; bind smaller sizes, "
                 "or lift the bound with --steps=0", work, s->options.steps);
    return true;
}

static int run_definition(Session *s, const Source *source, Chain *chain)
{
    LaunchShape shape = {0};
    const char *error;
    Tensor **inputs, **outputs;
    Ref *ref;

    if (!chain_define(chain, source))
        return session_chain_failed(s, chain, "definition");
    if (!parse_shape(s, false, &shape) || !launch_complete(s, chain->def, &chain->own, &shape))
        return EXIT_USAGE;
    if (is_too_much(s, chain, &shape, NULL)) /* before memory is asked for */
        return EXIT_WRONG;
    inputs = arena_array(s->arena, Tensor *, chain->def->inputs.len + 1);
    outputs = arena_array(s->arena, Tensor *, chain->def->outputs.len + 1);
    if (!ref_make_tensors(s->arena, chain->def, shape.data, shape.len, s->options.data,
                          s->options.seed, inputs, outputs, &error))
        return session_fail(s, EXIT_WRONG, "%s", error);
    if (is_too_much(s, chain, &shape, outputs))
        return EXIT_WRONG;
    ref = ref_new(s->arena, chain->def, shape.data, shape.len, inputs, REF_EXACT, &error);
    if (!ref)
        return session_fail(s, EXIT_WRONG, "%s", error);
    evaluate(s, ref, chain->def, outputs);
    session_diagnose(s); /* warnings */
    return write_tensors(s, &shape, outputs, chain->def->outputs.len);
}

/* ---- the command -------------------------------------------------------------------------- */

static int run_tl(Session *s, const Source *source, Chain *chain)
{
    const Unit *kernel, *definition;
    const Program *program;

    s->diags->source = source;
    program = lang_parse(s->arena, s->syms, source, s->diags);
    if (session_diagnose(s))
        return EXIT_WRONG;
    kernel = program_unit(program, UNIT_KERNEL);
    definition = program_unit(program, UNIT_OPERATOR);
    if (kernel && definition && check_is_sketch(kernel))
        kernel = NULL; /* the sketch is how the definition is compiled, not what runs here */
    if (kernel && check_is_sketch(kernel))
        return session_fail(s, EXIT_WRONG, "%s is a sketch: it has no sizes yet; see 'tw reason'",
                            source->path);
    if (kernel)
        return run_code(s, source, chain);
    if (definition && s->options.against)
        return session_usage(s, "%s is a definition; --against compares code or tile IR with one",
                             source->path);
    if (definition)
        return run_definition(s, source, chain);
    return session_fail(s, EXIT_WRONG, "%s holds neither an Operator nor a Kernel", source->path);
}

int cmd_run(Session *s)
{
    Source *source = session_read(s, 0);
    Chain *chain;
    int status;

    if (!source)
        return EXIT_LACKS;
    chain = session_chain(s);
    if (!chain)
        return EXIT_USAGE;
    status = session_against(s, chain, source, false);
    if (status)
        return status;
    switch (artefact_of(source)) {
    case ARTEFACT_TL: return run_tl(s, source, chain);
    case ARTEFACT_TILE: return run_tile(s, source, chain);
    case ARTEFACT_PTX: break;
    }
    return session_usage(s, "%s is PTX: 'tw emulate' runs that", source->path);
}
