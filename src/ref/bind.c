/* bind.c: numbers for the symbols of a definition, for one run. */
#include "ref/exec.h"

#include <math.h>

static const DefDimSym *symbol_named(const Def *def, const char *name)
{
    for (int i = 0; i < def->dims.len; i++)
        if (def->dims.data[i].sym && strcmp(def->dims.data[i].sym->name, name) == 0)
            return &def->dims.data[i];
    return NULL;
}

static int param_named(const Def *def, const char *name)
{
    for (int i = 0; i < def->params.len; i++)
        if (strcmp(def->params.data[i].name, name) == 0)
            return i;
    return -1;
}

enum { UNBOUND = -1 };

static bool bind_dim(Ref *ref, const DefDimSym *dim, double value, const char **error)
{
    if (value != floor(value) || value < 0 || value > INT32_MAX)
        return ref_fail(ref, error, "%s = %.10g; a dimension is an integer from 0 to %d", dim->name, value,
                        INT32_MAX);
    ref->syms[dim->sym->id] = (int64_t)value;
    return true;
}

/* A name that was settled when the definition was resolved may be given again,
 * but not with another value. */
static bool bind_settled(Ref *ref, const RefBinding *b, const char **error)
{
    double value;

    if (!def_const(ref->def, b->name, &value))
        return def_dim(ref->def, b->name)
                   ? ref_fail(ref, error, "%s follows from other dimensions", b->name)
                   : ref_fail(ref, error, "%s is not a dimension or parameter", b->name);
    if (value != b->value)
        return ref_fail(ref, error, "%s = %g, but the definition was resolved with %g", b->name, b->value,
                        value);
    return true;
}

static bool bind_one(Ref *ref, const RefBinding *b, bool *given, const char **error)
{
    const DefDimSym *dim = symbol_named(ref->def, b->name);
    int param = param_named(ref->def, b->name);

    if (dim)
        return bind_dim(ref, dim, b->value, error);
    if (param < 0)
        return bind_settled(ref, b, error);
    ref->params[param] = (float)b->value; /* as a launch gives it */
    given[param] = true;
    return true;
}

/* Symbols that no binding names are read off the inputs. */
static void infer_dims(Ref *ref, Tensor *const *inputs)
{
    for (int i = 0; inputs && i < ref->def->inputs.len; i++) {
        const DefValue *value = ref->def->inputs.data[i];

        for (int d = 0; d < value->rank && d < inputs[i]->rank; d++) {
            const Aff *size = value->dims[d].size;

            if (size->kind == AFF_SYM && ref->syms[size->sym->id] == UNBOUND)
                ref->syms[size->sym->id] = inputs[i]->dims[d];
        }
    }
}

static bool all_bound(Ref *ref, const char **error)
{
    for (int i = 0; i < ref->def->dims.len; i++) {
        const AffSym *sym = ref->def->dims.data[i].sym;

        if (sym && ref->syms[sym->id] == UNBOUND)
            return ref_fail(ref, error, "%s has no value", sym->name);
    }
    return true;
}

/* Defaults of the params; a later one may use those before it. */
static bool bind_defaults(Ref *ref, const bool *given, const char **error)
{
    for (int i = 0; i < ref->def->params.len; i++) {
        const DefParam *param = &ref->def->params.data[i];

        if (given[i])
            continue;
        if (!param->elem)
            return ref_fail(ref, error, "%s has no value", param->name);
        ref->params[i] = elem_scalar(ref->arena, param->elem, &ref->env);
    }
    return true;
}

bool bind_symbols(Ref *ref, const RefBinding *bindings, int n, Tensor *const *inputs,
                  const char **error)
{
    int n_syms = aff_sym_count(ref->def->aff), n_params = ref->def->params.len;
    bool *given = arena_array(ref->arena, bool, n_params + 1);

    ref->syms = arena_array(ref->arena, int64_t, n_syms + 1);
    ref->params = arena_array(ref->arena, double, n_params + 1);
    ref->env.syms = ref->syms;
    ref->env.params = ref->params;
    for (int i = 0; i < n_syms; i++)
        ref->syms[i] = UNBOUND;
    for (int i = 0; i < n; i++)
        if (!bind_one(ref, &bindings[i], given, error))
            return false;
    infer_dims(ref, inputs);
    return all_bound(ref, error) && bind_defaults(ref, given, error);
}

/* ---- by name ------------------------------------------------------------------------------ */

/* The size that a dimension has by the sizes of those that are bound; false: they do not give it. */
static bool follows(const EvalEnv *env, const Def *def, const Aff *size, int64_t *value)
{
    int64_t *syms = arena_array(env->arena, int64_t, aff_sym_count(def->aff) + 1);

    for (int i = 0; i < def->dims.len; i++) {
        const AffSym *sym = def->dims.data[i].sym;
        const EvalName *found = sym ? eval_find(env, sym->name) : NULL;

        if (sym && !found && aff_uses(size, sym))
            return false;
        if (found)
            syms[sym->id] = (int64_t)found->number;
    }
    return aff_eval(size, syms, value);
}

void ref_numbers(EvalEnv *env, const Def *def, const RefBinding *bindings, int n)
{
    for (int i = 0; i < def->consts.len; i++)
        eval_bind_number(env, def->consts.data[i].name, def->consts.data[i].value);
    for (int i = 0; i < n; i++)
        eval_bind_number(env, bindings[i].name, bindings[i].value);
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        int64_t size;

        if (!eval_find(env, dim->name) && follows(env, def, dim->size, &size))
            eval_bind_number(env, dim->name, (double)size);
    }
    for (int i = 0; i < def->params.len; i++) {
        const DefParam *param = &def->params.data[i];
        double value;

        if (!eval_find(env, param->name) && param->default_value && eval_float(env, param->default_value, &value))
            eval_bind_number(env, param->name, value);
    }
}

bool bind_dims(Ref *ref, const DefValue *value, int64_t *dims, const char **error)
{
    for (int d = 0; d < value->rank; d++) {
        if (!aff_eval(value->dims[d].size, ref->syms, &dims[d]))
            return ref_fail(ref, error, "dimension %d of %s has no size", d,
                            def_shape_text(ref->arena, value));
        if (dims[d] < 0)
            return ref_fail(ref, error, "dimension %d of %s would have the size %lld", d,
                            def_shape_text(ref->arena, value), (long long)dims[d]);
    }
    return true;
}
