/* launch.c: the numbers of one launch. */
#include "cli/launch.h"

enum { TILED_DEFAULT = 200, OTHER_DEFAULT = 2 };

bool launch_parse(Session *s, const char *option, const char *const *words, int n, LaunchShape *shape)
{
    Settings parsed = {0};

    for (int i = 0; i < n; i++) {
        const char *error = settings_add(s->arena, &parsed, words[i]);

        if (error) {
            session_usage(s, "--%s: %s", option, error);
            return false;
        }
    }
    for (int i = 0; i < parsed.list.len; i++)
        vec_push(s->arena, shape,
                 (RefBinding){parsed.list.data[i].name, parsed.list.data[i].value});
    return true;
}

/* Whether a dimension is one of the last two of some tensor. */
static bool among_last(const Def *def, const char *name)
{
    for (int i = 0; i < def->inputs.len; i++) {
        const DefValue *v = def->inputs.data[i];

        for (int k = v->rank > 2 ? v->rank - 2 : 0; k < v->rank; k++)
            if (v->dims[k].name && strcmp(v->dims[k].name, name) == 0)
                return true;
    }
    return false;
}

static bool is_param(const Def *def, const char *name)
{
    for (int i = 0; i < def->params.len; i++)
        if (strcmp(def->params.data[i].name, name) == 0)
            return true;
    return false;
}

/* A name that is not open: fine when it repeats what was compiled in. */
static bool repeats(const Settings *compiled, const char *name, double value)
{
    for (int i = 0; compiled && i < compiled->list.len; i++)
        if (strcmp(compiled->list.data[i].name, name) == 0)
            return compiled->list.data[i].value == value;
    return false;
}

static bool all_known(Session *s, const Def *def, const Settings *compiled, const LaunchShape *shape)
{
    for (int i = 0; i < shape->len; i++) {
        const RefBinding *b = &shape->data[i];
        const DefDimSym *dim = def_dim(def, b->name);
        double constant;

        if ((dim && dim->sym) || is_param(def, b->name) || repeats(compiled, b->name, b->value))
            continue;
        if (def_const(def, b->name, &constant)) {
            if (constant == b->value)
                continue;
            session_usage(s, "%s is %g by definition or was compiled in, not %g: compile it in, --set %s=%g", b->name,
                          constant, b->value, b->name, b->value);
        } else {
            session_usage(s, "'%s' is neither a dimension nor a parameter", b->name);
        }
        return false;
    }
    return true;
}

/* Whether a launch gives it: VDim = HeadDim is another name of HeadDim. */
static bool is_open(const DefDimSym *dim)
{
    return dim->sym && strcmp(dim->sym->name, dim->name) == 0;
}

bool launch_complete(Session *s, const Def *def, const Settings *compiled, LaunchShape *shape)
{
    double value;

    if (!all_known(s, def, compiled, shape))
        return false;
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];

        if (is_open(dim) && !launch_find(shape, dim->name, &value))
            vec_push(s->arena, shape,
                     (RefBinding){dim->name, among_last(def, dim->name) ? TILED_DEFAULT
                                                                        : OTHER_DEFAULT});
    }
    for (int i = 0; i < def->params.len; i++) {
        const DefParam *param = &def->params.data[i];

        if (!param->default_value && !launch_find(shape, param->name, &value)) {
            session_usage(s, "parameter '%s' has no default: give it with --bind", param->name);
            return false;
        }
    }
    return true;
}

static bool among_last_tile(const TileProgram *program, const AffSym *sym)
{
    for (int i = 0; i < program->tensors.len; i++) {
        const TileTensor *t = program->tensors.data[i];

        for (int k = t->rank > 2 ? t->rank - 2 : 0; k < t->rank; k++)
            if (aff_uses(t->dims[k], sym))
                return true;
    }
    return false;
}

static bool open_in_tile(const TileProgram *program, const char *name)
{
    for (int i = 0; i < program->dims.len; i++)
        if (strcmp(program->dims.data[i]->name, name) == 0)
            return true;
    for (int i = 0; i < program->params.len; i++)
        if (strcmp(program->params.data[i], name) == 0)
            return true;
    return false;
}

/* The size that a dimension was compiled to; false: there is none of this name. */
static bool compiled_in_tile(const TileProgram *program, const char *name, int64_t *size)
{
    for (int i = 0; i < program->tensors.len; i++) {
        const TileTensor *t = program->tensors.data[i];

        for (int k = 0; k < t->rank; k++)
            if (t->dim_names[k] && strcmp(t->dim_names[k], name) == 0 && aff_is_const(t->dims[k], size))
                return true;
    }
    return false;
}

static bool all_known_to_tile(Session *s, const TileProgram *program, const LaunchShape *shape)
{
    for (int i = 0; i < shape->len; i++) {
        const RefBinding *b = &shape->data[i];
        int64_t size;

        if (open_in_tile(program, b->name))
            continue;
        if (!compiled_in_tile(program, b->name, &size))
            session_usage(s, "'%s' is neither a dimension nor a parameter of %s", b->name, program->name);
        else if ((double)size != b->value)
            session_usage(s, "%s was compiled in as %lld, not %.10g", b->name, (long long)size, b->value);
        else
            continue;
        return false;
    }
    return true;
}

bool launch_complete_tile(Session *s, const TileProgram *program, LaunchShape *shape)
{
    double value;

    if (!all_known_to_tile(s, program, shape))
        return false;
    for (int i = 0; i < program->dims.len; i++) {
        const AffSym *sym = program->dims.data[i];

        if (!launch_find(shape, sym->name, &value))
            vec_push(s->arena, shape,
                     (RefBinding){sym->name, among_last_tile(program, sym) ? TILED_DEFAULT
                                                                           : OTHER_DEFAULT});
    }
    return true;
}
