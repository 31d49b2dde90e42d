/* witness.c: other texts of a program, tried where it gives something else than its definition.
 *
 *   shape, inputs     those of the first disagreement (agree.c), with as few entries as show it
 *   what is wanted    every element of the outputs, by the definition, computed once
 *
 * So a try is a parse, a lowering and one short execution, and hundreds of edits can be tried where a check of each
 * would take too long. What agrees here is checked, and compared on all shapes, before it is suggested. */
#include "chain/agree.h"

#include <math.h>

static const double ALL_WORK = 1.3e9;      /* multiply-adds, of all tries: some 0.7 s */
static const double WORK_OF_LETTER = 400; /* as long as parsing and lowering one of a text take */
static const double LONG_TRY = 2e6;       /* of a try that is worth making shorter */
static const double MOST_MORE = 8e6;      /* of a try, beside some times what the program itself took */
enum { MOST_LONGER = 4, MOST_STEPS = 200000, FEW_ROUNDINGS = 8, FEW = 16, FEWEST_TRIES = 6 };

struct Witness {
    const Chain *chain; /* whose settings count */
    int tiles;          /* of a sketch */
    Small on;
    double **want;   /* by output */
    double *allowed; /* likewise, the error of an element: not sharply, since what agrees is compared again */
    bool *differs;   /* likewise, whether the program itself gives something else */
    int output;        /* that was found to differ, ... */
    double of_largest; /* ... where it may by this much of the largest element */
    double left;     /* work */
};

/* ---- what is wanted ------------------------------------------------------------------------ */

/* All elements of an output, by the definition; NULL: it could not be executed. */
static double *wanted(Small *on, Ref *ref, int output)
{
    const Tensor *t = on->outputs[output];
    int64_t all = tensor_count(t), cols = t->dims[t->rank - 1], at[TENSOR_MAX_RANK] = {0};
    double *want = arena_array(on->arena, double, (size_t)all + 1);

    for (int64_t done = 0; done < all; done += cols) {
        bool known = !on->some || !isnan(tensor_get(t, at));
        const double *row = known ? ref_row(ref, output, at) : NULL;

        if (known && !row)
            return NULL;
        for (int64_t k = 0; k < cols; k++)
            want[done + k] = known ? row[k] : NAN;
        tensor_step(t, t->rank - 1, at);
    }
    return want;
}

static bool want_all(Witness *w)
{
    Small *on = &w->on;
    const char *error;
    Ref *ref = ref_new(on->arena, on->chain->def, on->shape.data, on->shape.len, on->inputs, REF_EXACT, &error);

    for (int i = 0; i < on->chain->def->outputs.len; i++) {
        double largest = 0;

        w->want[i] = ref ? wanted(on, ref, i) : NULL;
        if (!w->want[i])
            return false;
        for (int64_t k = 0; k < tensor_count(on->outputs[i]); k++)
            largest = fmax(largest, isfinite(w->want[i][k]) ? fabs(w->want[i][k]) : 0);
        w->allowed[i] = largest * (i == w->output ? w->of_largest : fmax(w->of_largest, FEW_ROUNDINGS * dtype_epsilon(on->outputs[i]->dtype)));
    }
    return true;
}

/* Integers may be off by one, where a quotient lies between two, but few of them. */
static bool output_matches(const Witness *w, const Tensor *t, int output)
{
    bool integers = !dtype_is_float(t->dtype);
    int64_t at[TENSOR_MAX_RANK] = {0}, all = tensor_count(t), spare = integers ? all / FEW : 0;

    for (int64_t k = 0; k < all; k++, tensor_step(t, t->rank, at)) {
        double want = w->want[output][k], got = tensor_get(t, at);
        bool good = isnan(want) || got == want || fabs(got - want) <= (integers ? 0.5 : w->allowed[output]);

        if (!good && spare-- <= 0)
            return false;
    }
    return true;
}

static bool matches(const Witness *w, const Small *on)
{
    for (int i = 0; i < w->on.chain->def->outputs.len; i++)
        if (!output_matches(w, on->outputs[i], i))
            return false;
    return true;
}

/* ---- the shape -------------------------------------------------------------------------------- */

/* Whether the program itself is still wrong, with another number instead of one of the shape's. */
static bool differs_with(Witness *w, int which, double value)
{
    Small was = w->on;
    const char *error;

    w->on.shape = (LaunchShape){0};
    for (int i = 0; i < was.shape.len; i++)
        vec_push(was.arena, &w->on.shape, (i == which ? (RefBinding){was.shape.data[i].name, value} : was.shape.data[i]));
    if (small_make(&w->on, &error) && small_run(&w->on, 0, MOST_STEPS, &error) && want_all(w) && !matches(w, &w->on))
        return true;
    w->on = was;
    return false;
}

/* Whether another number leaves the order of all: a program may be right only where queries are no more than keys. */
static bool keeps_order(const Witness *w, int which, double value)
{
    for (int i = 0; i < w->on.shape.len; i++) {
        double was = w->on.shape.data[which].value - w->on.shape.data[i].value, is = value - w->on.shape.data[i].value;

        if (i != which && (was > 0) - (was < 0) != (is > 0) - (is < 0))
            return false;
    }
    return true;
}

/* One entry of what there are few of, as long as it shows, and fewer tiles where a try is long. */
static void shrink(Witness *w)
{
    enum { ENTRIES = 4, LEAST_TILED = 24 };

    for (int round = 0; round < 2; round++) /* one may have to be a multiple of another */
        for (int i = 0; i < w->on.shape.len; i++)
            if (w->on.shape.data[i].value > 1 && w->on.shape.data[i].value <= ENTRIES)
                differs_with(w, i, 1);
    for (int i = 0; i < w->on.shape.len && w->on.work > LONG_TRY && !w->on.some; i++)
        for (double less = floor(0.6 * w->on.shape.data[i].value); less >= LEAST_TILED && keeps_order(w, i, less) && differs_with(w, i, less);)
            less = floor(0.6 * less);
}

/* With the tensors that the program itself has written. */
static void note_differing(Witness *w)
{
    for (int i = 0; i < w->on.chain->def->outputs.len; i++)
        w->differs[i] = !output_matches(w, w->on.outputs[i], i);
}

Witness *witness_new(const Chain *chain, const Small *on, const SmallFinding *finding, int tiles)
{
    Witness *w = arena_new_of(on->arena, Witness);
    int n = on->chain->def->outputs.len;

    *w = (Witness){.chain = chain, .tiles = tiles, .on = *on, .output = finding->output, .of_largest = finding->allowed};
    w->want = arena_array(on->arena, double *, n);
    w->allowed = arena_array(on->arena, double, n);
    w->differs = arena_array(on->arena, bool, n);
    shrink(w);
    w->left = fmax(ALL_WORK, FEWEST_TRIES * w->on.work);
    if (!want_all(w))
        return NULL;
    note_differing(w);
    return w;
}

bool witness_differs(const Witness *w, const char *output)
{
    for (int i = 0; i < w->on.chain->def->outputs.len; i++)
        if (strcmp(w->on.outputs[i]->name, output) == 0)
            return w->differs[i];
    return false;
}

/* ---- tries ---------------------------------------------------------------------------------- */

/* With the tensors of the shape. */
static bool runs(Witness *w, Arena *arena, const Source *source)
{
    Chain *own = agree_chain_with(arena, w->chain, source, w->tiles);
    Small on = w->on;
    const char *error;

    if (!own)
        return false;
    own->def = w->on.chain->def; /* which is the same: the executor sees to it that tensors fit */
    on.chain = own;
    on.arena = arena;
    w->left -= w->on.work;
    return small_run(&on, MOST_LONGER * w->on.work + MOST_MORE, MOST_STEPS, &error) && matches(w, &on);
}

/* But for blanks at the start of lines and comments. */
static double count_letters(const Source *source)
{
    double letters = 0;
    bool begins = true, comment = false;

    for (size_t i = 0; i < source->len; i++) {
        char c = source->text[i];

        begins = c == '\n' || (begins && (c == ' ' || c == '\t'));
        comment = c != '\n' && (comment || c == '#');
        letters += !begins && !comment;
    }
    return letters;
}

bool witness_agrees(Witness *w, const Source *source)
{
    Arena *arena;
    bool good;

    if (w->left <= 0)
        return false;
    w->left -= WORK_OF_LETTER * count_letters(source);
    arena = arena_new(arena_heap(w->chain->arena));
    good = runs(w, arena, source);
    arena_free(arena);
    return good;
}
