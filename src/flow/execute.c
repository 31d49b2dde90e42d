/* execute.c: a program executed on small shapes, and compared with its definition.
 *
 * What differs is told so that somebody who cannot see the numbers can use it: the first
 * wrong place, and within which part of the output all wrong elements lie.
 *
 *   shape   tiled dimensions        counts (all others)
 *   usual   200                     2
 *   unlike  70, 150, 33, ...        unlike each other
 *   small   17, 1, 65, ...          likewise, others
 *
 * A definition may refuse a shape (heads that do not divide), so counts are drawn, and
 * tried on tiles of a few elements: those are taken that are most unlike each other, for
 * where two are equal one may stand for the other.
 */
#include "flow/trial.h"

#include <math.h>

enum { SHAPES = 3, TRIES = 8, ROUND_AFTER = 4, DRAWS = 40, PROBE = 16, TILE = 64, LENGTHS = 4, COUNTS = 6, PLACES = 4000000 };
static const double MOST_WORK = 4e9, MOST_EMULATED = 6e7; /* multiply-adds of a shape */


/* ---- shapes ------------------------------------------------------------------------- */

static double tiled_size(int shape, int k, int attempt)
{
    static const int lengths[SHAPES][LENGTHS] = {{200, 200, 200, 200}, {70, 150, 33, 160}, {17, 1, 65, 40}};

    if (attempt < 0)
        return PROBE;
    if (attempt < ROUND_AFTER)
        return lengths[shape][(k + attempt) % LENGTHS];
    return TILE * (1 + (k + attempt) % 3);
}

static double count_of(int shape, Rng *rng)
{
    static const int counts[COUNTS] = {1, 2, 3, 4, 6, 8};

    return shape == 0 ? 2 : counts[rng_below(rng, COUNTS)];
}

/* Parameters are taken as the launch that is meant has them. */
static void bind_params(Trial *t)
{
    const Settings *meant = &t->chain->run_with;
    const Def *def = t->chain->def;

    for (int i = 0; i < def->params.len; i++) {
        const DefParam *param = &def->params.data[i];
        bool given = false;

        for (int k = 0; k < meant->list.len; k++) {
            if (strcmp(meant->list.data[k].name, param->name) != 0)
                continue;
            vec_push(t->arena, &t->shape, (RefBinding){param->name, meant->list.data[k].value});
            given = true;
        }
        if (!given && !param->default_value)
            vec_push(t->arena, &t->shape, (RefBinding){param->name, 40});
    }
}

/* What the number makes of it; attempt < 0: tiles of a few elements, to try counts. */
static void draw(Trial *t, int shape, uint64_t number, int attempt)
{
    const Def *def = t->chain->def;
    Rng rng = {number};
    int tiled = 0;

    t->shape.len = 0;
    t->unlike = 0;
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        bool is = dim->sym && def_is_tiled(def, dim->sym), known = false;
        double size;

        if (!dim->sym || strcmp(dim->sym->name, dim->name) != 0)
            continue;
        size = is ? tiled_size(shape, tiled++, attempt) : count_of(shape, &rng);
        for (int k = 0; k < t->shape.len; k++)
            known |= t->shape.data[k].value == size;
        if (!is)
            t->unlike += !known && size > 1 ? 1 : -size / 100;
        vec_push(t->arena, &t->shape, (RefBinding){dim->name, size});
    }
    bind_params(t);
}

static bool make(Trial *t, const char **error)
{
    const Def *def = t->chain->def;

    if (ref_flops(t->arena, def, t->shape.data, t->shape.len) / 2 > (t->module ? MOST_EMULATED : MOST_WORK))
        return *error = "it is too large to be executed here", false;
    t->inputs = arena_array(t->arena, Tensor *, def->inputs.len + 1);
    t->outputs = arena_array(t->arena, Tensor *, def->outputs.len + 1);
    return ref_make_tensors(t->arena, def, t->shape.data, t->shape.len, t->fill, t->options->seed, t->inputs,
                            t->outputs, error) &&
           ref_new(t->arena, def, t->shape.data, t->shape.len, t->inputs, REF_EXACT, error);
}

/* The number whose counts are most unlike each other, of those that the definition takes. */
static uint64_t best_number(Trial *t, int shape)
{
    uint64_t first = t->options->seed * 1000 + (uint64_t)shape * 100, best = first;
    double most = -INFINITY;
    const char *error;

    for (uint64_t number = first; shape > 0 && number < first + DRAWS; number++) {
        draw(t, shape, number, -1);
        if (t->unlike <= most || !make(t, &error))
            continue;
        most = t->unlike;
        best = number;
    }
    return best;
}

static bool prepare(Trial *t, int shape, const char **error)
{
    uint64_t number = best_number(t, shape);

    for (int attempt = 0; attempt < 2 * TRIES; attempt++) {
        draw(t, attempt < TRIES ? shape : 0, number, attempt % TRIES);
        if (make(t, error))
            return true;
    }
    return false;
}

/* ---- running ---------------------------------------------------------------------------- */

Tensor *trial_find(const Trial *t, const char *name)
{
    const Def *def = t->chain->def;

    for (int i = 0; i < def->inputs.len; i++)
        if (strcmp(t->inputs[i]->name, name) == 0)
            return t->inputs[i];
    for (int i = 0; i < def->outputs.len; i++)
        if (strcmp(t->outputs[i]->name, name) == 0)
            return t->outputs[i];
    return NULL;
}

/* What the definition does not have is what kernels hand on. */
static bool bind_tensors(Trial *t, Tensor **tensors, const char **error)
{
    const TileProgram *p = t->chain->tile;
    int64_t *values;

    if (!launch_symbols(t->arena, p->aff, &t->shape, t->chain->def, (const AffSym *const *)p->dims.data, p->dims.len, &values, error))
        return false;
    for (int i = 0; i < p->tensors.len; i++) {
        const TileTensor *tensor = p->tensors.data[i];

        tensors[i] = trial_find(t, tensor->name);
        if (!tensors[i])
            tensors[i] = launch_tensor(t->arena, tensor->name, tensor->dtype, tensor->rank, tensor->dims, values, 0, error);
        if (!tensors[i])
            return false;
        if (tensor->written)
            tensor_poison(tensors[i]);
    }
    return true;
}

static bool run(Trial *t, const char **error)
{
    const TileProgram *p = t->chain->tile;
    Tensor **tensors = arena_array(t->arena, Tensor *, p->tensors.len + 1);
    int64_t *dims = arena_array(t->arena, int64_t, p->dims.len + 1);
    double *params = arena_array(t->arena, double, p->params.len + 1);
    TileRun run = {.tensors = tensors, .dims = dims, .params = params, .seed = t->options->seed, .most = 20 * MOST_WORK};
    const char *missing;

    if (!launch_dims(t->arena, &t->shape, t->chain->def, (const AffSym *const *)p->dims.data, p->dims.len, dims, &missing) ||
        !launch_params(t->arena, &t->shape, t->chain->def, p->params.data, p->params.len, params, &missing)) {
        *error = arena_printf(t->arena, "it needs %s, which the definition does not have", missing);
        return false;
    }
    return bind_tensors(t, tensors, error) && tile_run(t->arena, p, &run, error);
}

/* ---- what differs ---------------------------------------------------------------------- */

/* The part of an output that holds all wrong elements. */
typedef struct Box {
    int64_t least[TENSOR_MAX_RANK], most[TENSOR_MAX_RANK], first[TENSOR_MAX_RANK];
    int64_t wrong, all, never; /* elements; those that were never written */
    double got, want;          /* of the first one */
} Box;

static void add_place(Box *box, const Tensor *t, const int64_t *at, double got, double want)
{
    if (!box->wrong) {
        memcpy(box->first, at, sizeof box->first);
        memcpy(box->least, at, sizeof box->least);
        memcpy(box->most, at, sizeof box->most);
        box->got = got;
        box->want = want;
    }
    for (int k = 0; k < t->rank; k++) {
        box->least[k] = at[k] < box->least[k] ? at[k] : box->least[k];
        box->most[k] = at[k] > box->most[k] ? at[k] : box->most[k];
    }
    box->wrong++;
    box->never += isnan(got);
}

static Box find_wrong(Trial *t, Ref *ref, int output, double allowed)
{
    const Tensor *tensor = t->outputs[output];
    int64_t at[TENSOR_MAX_RANK] = {0}, all = tensor_count(tensor), cols = tensor->dims[tensor->rank - 1];
    Box box = {0};

    for (int64_t r = 0; r < all / (cols ? cols : 1) && r * cols < PLACES; r++) {
        const double *row = ref_row(ref, output, at);

        for (int64_t c = 0; c < cols; c++) {
            double got;

            at[tensor->rank - 1] = c;
            got = tensor_get(tensor, at);
            box.all++;
            if (!isnan(row[c]) && got != row[c] && !(fabs(got - row[c]) <= allowed))
                add_place(&box, tensor, at, got, row[c]);
        }
        at[tensor->rank - 1] = 0;
        tensor_step(tensor, tensor->rank - 1, at);
    }
    return box;
}

static const char *part_text(Trial *t, const DefValue *value, const Tensor *tensor, const Box *box)
{
    Str text = str_new(t->arena);

    for (int k = 0; k < tensor->rank; k++) {
        const char *name = value->dims[k].name;

        str_printf(&text, "%s%s %lld", k ? ", " : "", name ? name : "dimension", (long long)box->least[k]);
        if (box->most[k] > box->least[k])
            str_printf(&text, " to %lld", (long long)box->most[k]);
        if (box->least[k] == 0 && box->most[k] == tensor->dims[k] - 1 && box->most[k] > 0)
            str_add(&text, " (all)");
    }
    return str_text(&text);
}

static const char *place_text(Trial *t, const Tensor *tensor, const int64_t *at)
{
    Str text = str_new(t->arena);

    for (int k = 0; k < tensor->rank; k++)
        str_printf(&text, "%s%lld", k ? ", " : "", (long long)at[k]);
    return str_text(&text);
}

static void tell(Trial *t, int output, const RefVerdict *v)
{
    const DefValue *value = t->chain->def->outputs.data[output];
    const Tensor *tensor = t->outputs[output];
    const char *error;
    Ref *ref = ref_new(t->arena, t->chain->def, t->shape.data, t->shape.len, t->inputs, REF_EXACT, &error);
    RefFloor least = ref_floor(t->chain->def, output);
    double allowed = fmax(t->options->bound * v->plain_max, least.relative * v->got.max_want + least.absolute);
    Box box = ref ? find_wrong(t, ref, output, allowed) : (Box){0};
    Diag *diag;

    diag = diag_add(t->diags, TW1043, t->where, "%s[%s] is %.6g, and %.6g by the definition", tensor->name,
                    place_text(t, tensor, box.first), box.got, box.want);
    if (t->module)
        diag->source = NULL; /* no place of what it was compiled from is known */
    if (!box.wrong)
        diag->message = arena_printf(t->diags->arena, "the error of %s is %.3g times that of a plain implementation",
                                     tensor->name, v->ratio_frobenius);
    diag_note(t->diags, diag, "executed at %s: %lld of %lld elements are wrong, all within %s%s",
              launch_text(t->arena, &t->shape), (long long)box.wrong, (long long)box.all,
              part_text(t, value, tensor, &box), box.never ? "; NaN where nothing was written, or computed from it" : "");
}

static bool compare(Trial *t)
{
    const Def *def = t->chain->def;

    for (int i = 0; i < def->outputs.len; i++) {
        RowList *rows = rows_choose(t->arena, t->outputs[i], 1024, TILE, 20000, t->options->seed);
        const char *error;
        RefVerdict v;

        if (!ref_compare(t->arena, def, t->shape.data, t->shape.len, t->inputs, t->outputs, i, rows, t->options->bound,
                         &v, &error)) {
            diag_add(t->diags, TW1044, t->where, "%s", error);
            return false;
        }
        if (!v.ok) {
            tell(t, i, &v);
            return false;
        }
    }
    return true;
}

/* ---- for all shapes ----------------------------------------------------------------------- */

/* In each way that it may be launched. */
static bool emulate(Trial *t)
{
    for (int way = 0; way < TRIAL_WAYS; way++)
        if (!trial_emulate(t, (TrialWay)way) || !compare(t))
            return false;
    return true;
}

static bool execute(Trial *t)
{
    const char *error;

    if (run(t, &error))
        return compare(t);
    diag_note(t->diags, diag_add(t->diags, TW1044, t->where, "%s", error), "executed at %s",
              launch_text(t->arena, &t->shape));
    return false;
}

static bool evaluate(Trial *t)
{
    const Def *def = t->chain->def;
    const char *error;
    Ref *ref = ref_new(t->arena, def, t->shape.data, t->shape.len, t->inputs, REF_EXACT, &error);

    for (int i = 0; ref && i < def->outputs.len; i++) {
        int64_t lead[TENSOR_MAX_RANK] = {0}, cols = t->outputs[i]->dims[t->outputs[i]->rank - 1];
        const double *row = ref_row(ref, i, lead);
        bool finite = false;

        for (int64_t c = 0; row && c < cols; c++)
            finite |= isfinite(row[c]);
        if (finite || !cols)
            continue;
        diag_note(t->diags, diag_add(t->diags, TW1044, t->where, "the first row of %s has no number in it", t->outputs[i]->name),
                  "evaluated at %s", launch_text(t->arena, &t->shape));
        return false;
    }
    return ref;
}

static bool each_shape(const Trial *like, bool (*f)(Trial *))
{
    static const FillKind fills[SHAPES] = {FILL_NORMAL, FILL_LARGE, FILL_GROWING};
    int done = 0;
    const char *error = "";
    bool right = true;

    for (int i = 0; i < SHAPES && right; i++) {
        Trial t = *like;

        t.arena = arena_new(arena_heap(like->chain->arena));
        t.fill = like->module ? fills[i] : FILL_NORMAL;
        if (prepare(&t, i, &error)) {
            right = f(&t);
            done++;
        } else if (i == SHAPES - 1 && !done) {
            diag_add(t.diags, TW1044, t.where, "no small shape was found at which the definition can be evaluated: %s", error);
            right = false;
        }
        arena_free(t.arena);
    }
    return right;
}

bool flow_execute(Chain *chain, const FlowTrial *trial, Span where, Diags *diags)
{
    return each_shape(&(Trial){.chain = chain, .options = trial, .where = where, .diags = diags}, execute);
}

bool flow_emulate(Chain *chain, const EmuModule *module, const Source *ptx, const FlowTrial *trial, Diags *diags)
{
    return each_shape(&(Trial){.chain = chain, .options = trial, .diags = diags, .module = module, .ptx = ptx}, emulate);
}

bool flow_evaluate(Chain *chain, const FlowTrial *trial, Diags *diags)
{
    return each_shape(&(Trial){.chain = chain, .options = trial, .where = chain->def->unit->name_span, .diags = diags}, evaluate);
}
