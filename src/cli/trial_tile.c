/* trial_tile.c: executing tile IR, with or without a definition to compare with. */
#include "cli/trial.h"

bool tile_make_tensors(Session *s, const TileProgram *program, const LaunchShape *shape, const Def *def,
                       Tensor **tensors, const char **error)
{
    int64_t *values;

    if (!launch_symbols(s->arena, program->aff, shape, def, (const AffSym *const *)program->dims.data,
                       program->dims.len, &values, error))
        return false;
    for (int i = 0; i < program->tensors.len; i++) {
        const TileTensor *t = program->tensors.data[i];

        if (tensors[i]) {
            tensors[i] = launch_seen(s->arena, tensors[i], t->rank, t->dims, values);
            continue;
        }
        tensors[i] = launch_tensor(s->arena, t->name, t->dtype, t->rank, t->dims, values, 0, error);
        if (!tensors[i])
            return false;
        if (t->written || t->workspace)
            tensor_poison(tensors[i]);
        else
            tensor_fill(tensors[i], s->options.data, s->options.seed + (uint64_t)i);
    }
    return true;
}

bool tile_execute(Session *s, const TileProgram *program, const LaunchShape *shape, const Def *def,
                  Tensor **tensors, const char **error)
{
    Arena *own;
    bool done;
    int64_t *dims = arena_array(s->arena, int64_t, program->dims.len + 1);
    double *params = arena_array(s->arena, double, program->params.len + 1);
    TileRun run = {.tensors = tensors, .dims = dims, .params = params, .seed = s->options.seed,
                   .most = s->options.steps};
    const char *missing;

    if (!launch_dims(s->arena, shape, def, (const AffSym *const *)program->dims.data, program->dims.len, dims,
                    &missing) ||
        !launch_params(s->arena, shape, def, program->params.data, program->params.len, params, &missing)) {
        *error = arena_printf(s->arena, "the program needs %s", missing);
        return false;
    }
    own = arena_new(&s->heap);
    done = tile_run(own, program, &run, error);
    session_drop(s, own, error);
    if (!done && s->options.steps > 0 && strstr(*error, "is one too many"))
        *error = arena_printf(s->arena, "%s; bind smaller sizes, or lift the bound with --steps=0", *error);
    return done;
}

const TrialResult *trial_tile(Trial *trial, const char *what, const TileProgram *program)
{
    Session *s = trial->s;
    Tensor **tensors = arena_array(s->arena, Tensor *, program->tensors.len + 1);
    TrialResult result = {.what = what};
    double since = clock_seconds();

    session_progress(s, "executing %s", what);
    trial_poison(trial);
    for (int i = 0; i < program->tensors.len; i++)
        tensors[i] = trial_tensor(trial, program->tensors.data[i]->name);
    if (tile_make_tensors(s, program, &trial->shape, trial->def, tensors, &result.problem) &&
        tile_execute(s, program, &trial->shape, trial->def, tensors, &result.problem))
        trial_compare(trial, &result, NULL);
    result.seconds = clock_seconds() - since;
    return trial_record(trial, &result);
}
