/* launch.c: the numbers of one launch. */
#include "chain/launch.h"

#include "lang/eval.h"

bool launch_find(const LaunchShape *shape, const char *name, double *value)
{
    for (int i = shape->len - 1; i >= 0; i--)
        if (strcmp(shape->data[i].name, name) == 0)
            return *value = shape->data[i].value, true;
    return false;
}

const char *launch_text(Arena *arena, const LaunchShape *shape)
{
    Str text = str_new(arena);

    for (int i = 0; i < shape->len; i++)
        str_printf(&text, "%s%s=%.10g", i ? " " : "", shape->data[i].name, shape->data[i].value);
    return str_text(&text);
}

bool launch_dims(Arena *arena, const LaunchShape *shape, const AffSym *const *syms, int n, int64_t *values,
                const char **missing)
{
    for (int i = 0; i < n; i++) {
        double value;

        *missing = syms[i]->name;
        if (!launch_find(shape, syms[i]->name, &value))
            return false;
        if (!(value >= 0 && value < 0x1p53) || value != (double)(int64_t)value) {
            *missing = arena_printf(arena, "%s as a whole number (it is %g)", syms[i]->name, value);
            return false;
        }
        values[i] = (int64_t)value;
    }
    return true;
}

/* The default of a parameter may speak of dimensions: 1 / sqrt(D). */
static bool param_default(Arena *arena, AffCtx *aff, const LaunchShape *shape, const Def *def, const DefParam *param,
                          double *value)
{
    EvalEnv env;

    if (!param->default_value)
        return false;
    eval_init(&env, arena, aff);
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        double number;

        if (dim->sym ? launch_find(shape, dim->sym->name, &number) : def_const(def, dim->name, &number))
            eval_bind_number(&env, dim->name, number);
    }
    return eval_float(&env, param->default_value, value);
}

bool launch_params(Arena *arena, AffCtx *aff, const LaunchShape *shape, const Def *def, const char *const *names, int n,
                  double *values, const char **missing)
{
    for (int i = 0; i < n; i++) {
        bool found = launch_find(shape, names[i], &values[i]);

        for (int k = 0; def && !found && k < def->params.len; k++)
            if (strcmp(def->params.data[k].name, names[i]) == 0)
                found = param_default(arena, aff, shape, def, &def->params.data[k], &values[i]);
        if (!found && def)
            found = def_const(def, names[i], &values[i]);
        *missing = names[i];
        if (!found)
            return false;
    }
    return true;
}

/* The symbols' values, by id, for evaluating a program's extents. */
bool launch_symbols(Arena *arena, const AffCtx *aff, const LaunchShape *shape,
                    const AffSym *const *dims, int n, int64_t **values, const char **error)
{
    int64_t *at = arena_array(arena, int64_t, n + 1);
    const char *missing;

    *values = arena_array(arena, int64_t, aff_sym_count(aff) + 1);
    if (!launch_dims(arena, shape, dims, n, at, &missing)) {
        *error = arena_printf(arena, "the program needs %s", missing);
        return false;
    }
    for (int i = 0; i < n; i++)
        (*values)[dims[i]->id] = at[i];
    return true;
}

Tensor *launch_tensor(Arena *arena, const char *name, DType dtype, int rank, const Aff *const *dims,
                      const int64_t *values, const char **error)
{
    int64_t sizes[TENSOR_MAX_RANK];

    for (int k = 0; k < rank; k++) {
        if (!aff_eval(dims[k], values, &sizes[k])) {
            *error = arena_printf(arena, "a dimension of %s overflows", name);
            return NULL;
        }
    }
    return tensor_new(arena, name, dtype, rank, sizes, error);
}
