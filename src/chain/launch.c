/* launch.c: the numbers of one launch. */
#include "chain/launch.h"

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

/* What the launch binds, and what follows from that by the definition. */
static EvalEnv numbers(Arena *arena, const LaunchShape *shape, const Def *def)
{
    EvalEnv env;

    eval_init(&env, arena, def ? def->aff : NULL);
    if (def)
        ref_numbers(&env, def, shape->data, shape->len);
    for (int i = 0; i < shape->len && !def; i++)
        eval_bind_number(&env, shape->data[i].name, shape->data[i].value);
    return env;
}

bool launch_dims(Arena *arena, const LaunchShape *shape, const Def *def, const AffSym *const *syms, int n,
                 int64_t *values, const char **missing)
{
    EvalEnv env = numbers(arena, shape, def);

    for (int i = 0; i < n; i++) {
        const EvalName *found = eval_find(&env, syms[i]->name);

        *missing = syms[i]->name;
        if (!found)
            return false;
        if (!(found->number >= 0 && found->number < 0x1p53) || found->number != (double)(int64_t)found->number) {
            *missing = arena_printf(arena, "%s as a whole number (it is %g)", syms[i]->name, found->number);
            return false;
        }
        values[i] = (int64_t)found->number;
    }
    return true;
}

bool launch_params(Arena *arena, const LaunchShape *shape, const Def *def, const char *const *names, int n,
                   double *values, const char **missing)
{
    EvalEnv env = numbers(arena, shape, def);

    for (int i = 0; i < n; i++) {
        const EvalName *found = eval_find(&env, names[i]);

        *missing = names[i];
        if (!found)
            return false;
        values[i] = found->number;
    }
    return true;
}

/* The symbols' values, by id, for evaluating a program's extents. */
bool launch_symbols(Arena *arena, const AffCtx *aff, const LaunchShape *shape, const Def *def,
                    const AffSym *const *dims, int n, int64_t **values, const char **error)
{
    int64_t *at = arena_array(arena, int64_t, n + 1);
    const char *missing;

    *values = arena_array(arena, int64_t, aff_sym_count(aff) + 1);
    if (!launch_dims(arena, shape, def, dims, n, at, &missing)) {
        *error = arena_printf(arena, "the program needs %s", missing);
        return false;
    }
    for (int i = 0; i < n; i++)
        (*values)[dims[i]->id] = at[i];
    return true;
}

Tensor *launch_tensor(Arena *arena, const char *name, DType dtype, int rank, const Aff *const *dims,
                      const int64_t *values, int row_bytes, const char **error)
{
    int64_t sizes[TENSOR_MAX_RANK];

    for (int k = 0; k < rank; k++) {
        if (!aff_eval(dims[k], values, &sizes[k])) {
            *error = arena_printf(arena, "a dimension of %s overflows", name);
            return NULL;
        }
    }
    return tensor_new_rows(arena, name, dtype, rank, sizes, row_bytes, error);
}

Tensor *launch_seen(Arena *arena, Tensor *t, int rank, const Aff *const *dims, const int64_t *values)
{
    int64_t sizes[TENSOR_MAX_RANK];

    for (int k = 0; k < rank; k++)
        if (!aff_eval(dims[k], values, &sizes[k]))
            return t;
    return tensor_seen(arena, t, rank, sizes);
}
