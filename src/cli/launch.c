/* launch.c: the numbers of one launch. */
#include "cli/launch.h"

enum { TILED_DEFAULT = 200, OTHER_DEFAULT = 2, TRIED_TILE = 8, MOST_COUNT = 128 };

/* Multiplications and additions, and elements, of a shape that nobody chose. */
static const double MOST_WORK = 4e9, MOST_ELEMENTS = 3e7;

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

/* Whether tiles lie along a dimension: of most values, those that are computed as well, it is one of the last two. Those of
 * heads, batches and experts stand before. */
static bool is_tiled(const Def *def, const char *name)
{
    int last = 0, leading = 0;

    for (int i = 0; i < def->values.len; i++) {
        const DefValue *v = def->values.data[i];

        for (int k = 0; k < v->rank; k++)
            if (v->dims[k].name && strcmp(v->dims[k].name, name) == 0)
                *(k >= v->rank - 2 ? &last : &leading) += 1;
    }
    return last > 0 && last >= leading;
}

/* A name that is not open: fine when it repeats what was compiled in. */
static bool repeats(const Settings *compiled, const char *name, double value)
{
    for (int i = 0; compiled && i < compiled->list.len; i++)
        if (strcmp(compiled->list.data[i].name, name) == 0)
            return compiled->list.data[i].value == value;
    return false;
}

/* Whether a launch gives it: VDim = HeadDim is another name of HeadDim. */
static bool is_open(const DefDimSym *dim)
{
    return dim->sym && strcmp(dim->sym->name, dim->name) == 0;
}

static void unknown(Session *s, const Def *def, const char *name)
{
    const char **names = arena_array(s->arena, const char *, def->dims.len + def->params.len + 1), *near;
    int n = 0;

    for (int i = 0; i < def->dims.len; i++)
        if (is_open(&def->dims.data[i]))
            names[n++] = def->dims.data[i].name;
    for (int i = 0; i < def->params.len; i++)
        names[n++] = def->params.data[i].name;
    near = nearest_name(name, names, n);
    if (near)
        session_usage(s, "'%s' is neither a dimension nor a parameter; did you mean '%s'?", name, near);
    else
        session_usage(s, "'%s' is neither a dimension nor a parameter", name);
}

static bool all_known(Session *s, const Def *def, const Settings *compiled, const LaunchShape *shape)
{
    for (int i = 0; i < shape->len; i++) {
        const RefBinding *b = &shape->data[i];
        const DefDimSym *dim = def_dim(def, b->name);
        double constant;

        if ((dim && dim->sym) || def_param(def, b->name) || repeats(compiled, b->name, b->value))
            continue;
        if (def_const(def, b->name, &constant)) {
            if (constant == b->value)
                continue;
            session_usage(s, "%s is %g by definition or was compiled in, not %g: compile it in, --set %s=%g", b->name,
                          constant, b->value, b->name, b->value);
        } else {
            unknown(s, def, b->name);
        }
        return false;
    }
    return true;
}

bool launch_known(Session *s, const Def *def, const Settings *compiled)
{
    LaunchShape shape = {0};

    return launch_parse(s, "bind", s->options.binds.data, s->options.binds.len, &shape) && all_known(s, def, compiled, &shape);
}

bool launch_known_by(Session *s, const Program *program)
{
    LaunchShape shape = {0};
    bool all = launch_parse(s, "bind", s->options.binds.data, s->options.binds.len, &shape);

    for (int i = 0; i < shape.len && all; i++) {
        bool known = false;

        for (int u = 0; u < program->units.len; u++)
            known |= unit_has_size(program->units.data[u], shape.data[i].name) ||
                     block_find(&program->units.data[u]->body, STMT_PARAM, shape.data[i].name);
        if (!known)
            session_usage(s, "'%s' is neither a dimension nor a parameter", shape.data[i].name);
        all = known;
    }
    return all;
}

/* ---- counts that a definition takes ------------------------------------------------------- */

/* Whether it takes this shape, tried with tiles of a few elements where sizes are defaults. */
static bool takes(Session *s, const Def *def, const LaunchShape *shape, const bool *is_default)
{
    Arena *own = arena_new(&s->heap);
    Tensor **inputs = arena_array(own, Tensor *, def->inputs.len + 1), **outputs = arena_array(own, Tensor *, def->outputs.len + 1);
    RefBinding *small = arena_array(own, RefBinding, shape->len + 1);
    const char *error;
    bool taken;

    for (int i = 0; i < shape->len; i++) {
        small[i] = shape->data[i];
        if (is_default[i] && small[i].value == TILED_DEFAULT)
            small[i].value = TRIED_TILE;
    }
    taken = ref_make_tensors(own, def, small, shape->len, FILL_NORMAL, 1, inputs, outputs, &error) &&
            ref_new(own, def, small, shape->len, inputs, REF_EXACT, &error);
    arena_free(own);
    return taken;
}

/* Heads that share others are a multiple of those, which may be compiled in: the first count that is
 * taken, of one dimension, else of all. */
static void settle_counts(Session *s, const Def *def, LaunchShape *shape, const bool *is_default)
{
    bool counts = false;

    for (int i = 0; i < shape->len; i++)
        counts |= is_default[i] && shape->data[i].value == OTHER_DEFAULT;
    if (!counts || takes(s, def, shape, is_default))
        return;
    for (int all = 0; all < 2; all++)
        for (int i = 0; i < shape->len; i++)
            for (int count = 1; count <= MOST_COUNT && is_default[i] && shape->data[i].value == OTHER_DEFAULT; count++) {
                LaunchShape tried = {0};

                for (int k = 0; k < shape->len; k++) {
                    bool changed = k == i || (all && is_default[k] && shape->data[k].value == OTHER_DEFAULT);

                    vec_push(s->arena, &tried, (RefBinding){shape->data[k].name, changed ? count : shape->data[k].value});
                }
                if (takes(s, def, &tried, is_default)) {
                    *shape = tried;
                    return;
                }
            }
}

static bool is_heavy(Session *s, const Def *def, const LaunchShape *shape)
{
    return ref_flops(s->arena, def, shape->data, shape->len) > MOST_WORK || ref_elements(s->arena, def, shape->data, shape->len) > MOST_ELEMENTS;
}

/* Of many tiled dimensions left open, defaults that are less, until it takes seconds on a CPU, not hours. */
static void lighten(Session *s, const Def *def, const LaunchShape *shape, const bool *is_default)
{
    static const int less[] = {TILED_DEFAULT, 65, 24, 9};

    for (size_t k = 1; k < TW_COUNT(less) && is_heavy(s, def, shape); k++)
        for (int i = 0; i < shape->len; i++)
            if (is_default[i] && shape->data[i].value == less[k - 1])
                shape->data[i].value = less[k];
}

bool launch_complete(Session *s, const Def *def, const Settings *compiled, LaunchShape *shape)
{
    bool *is_default = arena_array(s->arena, bool, shape->len + def->dims.len + 1);
    double value;

    if (!all_known(s, def, compiled, shape))
        return false;
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];

        if (!is_open(dim) || launch_find(shape, dim->name, &value))
            continue;
        is_default[shape->len] = true;
        vec_push(s->arena, shape, (RefBinding){dim->name, is_tiled(def, dim->name) ? TILED_DEFAULT : OTHER_DEFAULT});
    }
    for (int i = 0; i < def->params.len; i++) {
        const DefParam *param = &def->params.data[i];

        if (!param->default_value && !launch_find(shape, param->name, &value)) {
            session_usage(s, "parameter '%s' has no default: give it with --bind", param->name);
            return false;
        }
    }
    settle_counts(s, def, shape, is_default);
    lighten(s, def, shape, is_default);
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
    return text_among(program->params.data, program->params.len, name);
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
