/* execute.c: a program executed on small shapes, and compared with its definition.
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

enum { SHAPES = 3, TRIES = 8, ROUND_AFTER = 4, DRAWS = 40, PROBE = 16, TILE = 64, LENGTHS = 4, COUNTS = 6 };
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
static void bind_params(FlowTrial *t)
{
    const Settings *meant = &t->on.chain->run_with;
    const Def *def = t->on.chain->def;

    for (int i = 0; i < def->params.len; i++) {
        const DefParam *param = &def->params.data[i];
        bool given = false;

        for (int k = 0; k < meant->list.len; k++) {
            if (strcmp(meant->list.data[k].name, param->name) != 0)
                continue;
            vec_push(t->on.arena, &t->on.shape, (RefBinding){param->name, meant->list.data[k].value});
            given = true;
        }
        if (!given && !param->default_value)
            vec_push(t->on.arena, &t->on.shape, (RefBinding){param->name, 40});
    }
}

/* What the number makes of it; attempt < 0: tiles of a few elements, to try counts. */
static void draw(FlowTrial *t, int shape, uint64_t number, int attempt)
{
    const Def *def = t->on.chain->def;
    Rng rng = {number};
    int tiled = 0;

    t->on.shape.len = 0;
    t->unlike = 0;
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        bool is = dim->sym && def_is_tiled(def, dim->sym), known = false;
        double size;

        if (!dim->sym || strcmp(dim->sym->name, dim->name) != 0)
            continue;
        size = is ? tiled_size(shape, tiled++, attempt) : count_of(shape, &rng);
        for (int k = 0; k < t->on.shape.len; k++)
            known |= t->on.shape.data[k].value == size;
        if (!is)
            t->unlike += !known && size > 1 ? 1 : -size / 100;
        vec_push(t->on.arena, &t->on.shape, (RefBinding){dim->name, size});
    }
    bind_params(t);
}

static bool make(FlowTrial *t, const char **error)
{
    const Def *def = t->on.chain->def;

    if (ref_flops(t->on.arena, def, t->on.shape.data, t->on.shape.len) / 2 > (t->module ? MOST_EMULATED : MOST_WORK))
        return *error = "it is too large to be executed here", false;
    return small_make(&t->on, error);
}

/* The number whose counts are most unlike each other, of those that the definition takes. */
static uint64_t best_number(FlowTrial *t, int shape)
{
    uint64_t first = t->on.options->seed * 1000 + (uint64_t)shape * 100, best = first;
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

static bool prepare(FlowTrial *t, int shape, const char **error)
{
    uint64_t number = best_number(t, shape);

    for (int attempt = 0; attempt < 2 * TRIES; attempt++) {
        draw(t, attempt < TRIES ? shape : 0, number, attempt % TRIES);
        if (make(t, error))
            return true;
    }
    return false;
}

/* ---- what differs ---------------------------------------------------------------------- */

static bool compare(FlowTrial *t)
{
    SmallFinding f;

    if (small_agrees(&t->on, t->diags->arena, &f))
        return true;
    Diag *diag = diag_add(t->diags, f.error ? TW1044 : TW1043, t->where, "%s", f.error ? f.error : f.message);
    if (t->module && !f.error)
        diag->source = NULL; /* no place of what it was compiled from is known */
    if (f.note)
        diag_note(t->diags, diag, "%s", f.note);
    return false;
}

/* ---- for all shapes ----------------------------------------------------------------------- */

/* In each way that it may be launched. */
static bool emulate(FlowTrial *t)
{
    for (int way = 0; way < TRIAL_WAYS; way++)
        if (!trial_emulate(t, (TrialWay)way) || !compare(t))
            return false;
    return true;
}

static bool execute(FlowTrial *t)
{
    const char *error;

    if (small_run(&t->on, 20 * MOST_WORK, 0, &error))
        return compare(t);
    diag_note(t->diags, diag_add(t->diags, TW1044, t->where, "%s", error), "executed at %s",
              launch_text(t->on.arena, &t->on.shape));
    return false;
}

static bool evaluate(FlowTrial *t)
{
    const Def *def = t->on.chain->def;
    const char *error;
    Ref *ref = ref_new(t->on.arena, def, t->on.shape.data, t->on.shape.len, t->on.inputs, REF_EXACT, &error);

    for (int i = 0; ref && i < def->outputs.len; i++) {
        int64_t lead[TENSOR_MAX_RANK] = {0}, cols = t->on.outputs[i]->dims[t->on.outputs[i]->rank - 1];
        const double *row = ref_row(ref, i, lead);
        bool finite = false;

        for (int64_t c = 0; row && c < cols; c++)
            finite |= isfinite(row[c]);
        if (finite || !cols)
            continue;
        diag_note(t->diags, diag_add(t->diags, TW1044, t->where, "the first row of %s has no number in it", t->on.outputs[i]->name),
                  "evaluated at %s", launch_text(t->on.arena, &t->on.shape));
        return false;
    }
    return ref;
}

static bool each_shape(const FlowTrial *like, bool (*f)(FlowTrial *))
{
    static const FillKind fills[SHAPES] = {FILL_NORMAL, FILL_LARGE, FILL_GROWING};
    int done = 0;
    const char *error = "";
    bool right = true;

    for (int i = 0; i < SHAPES && right; i++) {
        FlowTrial t = *like;

        t.on.arena = arena_new(arena_heap(like->on.chain->arena));
        t.on.fill = like->module ? fills[i] : FILL_NORMAL;
        if (prepare(&t, i, &error)) {
            right = f(&t);
            done++;
        } else if (i == SHAPES - 1 && !done) {
            diag_add(t.diags, TW1044, t.where, "no small shape was found at which the definition can be evaluated: %s", error);
            right = false;
        }
        arena_free(t.on.arena);
    }
    return right;
}

bool flow_execute(Chain *chain, const SmallOptions *trial, Span where, Diags *diags)
{
    return each_shape(&(FlowTrial){.on = {.chain = chain, .options = trial}, .where = where, .diags = diags}, execute);
}

bool flow_emulate(Chain *chain, const EmuModule *module, const Source *ptx, const SmallOptions *trial, Diags *diags)
{
    return each_shape(&(FlowTrial){.on = {.chain = chain, .options = trial}, .diags = diags, .module = module, .ptx = ptx}, emulate);
}

bool flow_evaluate(Chain *chain, const SmallOptions *trial, Diags *diags)
{
    return each_shape(&(FlowTrial){.on = {.chain = chain, .options = trial}, .where = chain->def->unit->name_span, .diags = diags}, evaluate);
}
