/* small.c: a program executed on one small shape, and compared with its definition. */
#include "chain/small.h"

#include <float.h>
#include <math.h>

enum { TILE = 64, PLACES = 4000000 };

/* ---- tensors ---------------------------------------------------------------------------- */

bool small_make(Small *t, const char **error)
{
    const Def *def = t->chain->def;

    t->inputs = arena_array(t->arena, Tensor *, def->inputs.len + 1);
    t->outputs = arena_array(t->arena, Tensor *, def->outputs.len + 1);
    return ref_make_tensors(t->arena, def, t->shape.data, t->shape.len, t->fill, t->options->seed, t->inputs,
                            t->outputs, error) &&
           ref_new(t->arena, def, t->shape.data, t->shape.len, t->inputs, REF_EXACT, error);
}

Tensor *small_find(const Small *t, const char *name)
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
static bool bind_tensors(Small *t, Tensor **tensors, const char **error)
{
    const TileProgram *p = t->chain->tile;
    int64_t *values;

    if (!launch_symbols(t->arena, p->aff, &t->shape, t->chain->def, (const AffSym *const *)p->dims.data, p->dims.len, &values, error))
        return false;
    for (int i = 0; i < p->tensors.len; i++) {
        const TileTensor *tensor = p->tensors.data[i];

        tensors[i] = small_find(t, tensor->name);
        if (tensors[i])
            tensors[i] = launch_seen(t->arena, tensors[i], tensor->rank, tensor->dims, values);
        else
            tensors[i] = launch_tensor(t->arena, tensor->name, tensor->dtype, tensor->rank, tensor->dims, values, 0, error);
        if (!tensors[i])
            return false;
        if (tensor->written)
            tensor_poison(tensors[i]);
    }
    return true;
}

/* ---- some blocks ------------------------------------------------------------------------- */

/* How blocks store rows. */
typedef struct Rows {
    const AffSym *axis; /* of the grid, along which they lie; NULL: none */
    bool parted;        /* a row may be of several blocks, as where one number of a block says rows and columns, or one adds to others' */
} Rows;

static const AffSym *grid_symbol(const TileKernel *kernel, const Aff *e)
{
    for (int k = 0; k < kernel->grid.len; k++)
        if (kernel->grid.data[k].sym && aff_uses(e, kernel->grid.data[k].sym))
            return kernel->grid.data[k].sym;
    return NULL;
}

static void find_rows(Rows *rows, const TileKernel *kernel, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        const AffSym *axis = op->kind == TILE_STORE && op->row_dim >= 0 ? grid_symbol(kernel, op->coords[op->row_dim]) : NULL;

        rows->parted |= op->kind == TILE_STORE && (op->onto || (rows->axis && axis && rows->axis != axis));
        rows->axis = axis ? axis : rows->axis;
        for (int k = 0; k < op->n_regions; k++)
            find_rows(rows, kernel, op->regions[k]);
    }
}

static void find_columns(Rows *rows, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];

        rows->parted |= op->kind == TILE_STORE && op->col_dim >= 0 && aff_uses(op->coords[op->col_dim], rows->axis);
        for (int k = 0; k < op->n_regions; k++)
            find_columns(rows, op->regions[k]);
    }
}

/* What was not written says so only where it is no number. */
static bool shows_what_is_written(const TileProgram *p)
{
    for (int i = 0; i < p->tensors.len; i++)
        if (p->tensors.data[i]->written && !dtype_is_float(p->tensors.data[i]->dtype))
            return false;
    return true;
}

static int row_axis(const TileProgram *p)
{
    const TileKernel *kernel = p->kernels.len == 1 ? p->kernels.data[0] : NULL;
    Rows rows = {0};

    if (kernel && shows_what_is_written(p))
        find_rows(&rows, kernel, kernel->body);
    if (rows.axis)
        find_columns(&rows, kernel->body);
    for (int i = 0; rows.axis && !rows.parted && i < kernel->grid.len; i++)
        if (kernel->grid.data[i].sym == rows.axis)
            return i;
    return -1;
}

bool small_may_run_some(const Chain *chain)
{
    return row_axis(chain->tile) >= 0;
}

/* One in the middle along the axis of rows, and the last: rows of the first may see so few terms that others look like rounding beside
 * theirs. */
typedef struct Some {
    int axis;
    int64_t extent;
} Some;

static bool is_of_some(void *user, int kernel, const int64_t *axes, int n)
{
    const Some *some = user;
    int64_t at = axes[some->axis];

    (void)kernel, (void)n;
    return at == some->extent / 2 || at == some->extent - 1;
}

static bool find_some(Small *t, Some *some, const char **error)
{
    const TileProgram *p = t->chain->tile;
    int64_t *values;

    some->axis = row_axis(p);
    *error = "no axis of the grid says which rows a block stores";
    return some->axis >= 0 && launch_symbols(t->arena, p->aff, &t->shape, t->chain->def, (const AffSym *const *)p->dims.data, p->dims.len, &values, error) &&
           aff_eval(p->kernels.data[0]->grid.data[some->axis].extent, values, &some->extent);
}

/* A few of the rows of an output that were written. */
static RowList *rows_written(const Small *t, const Tensor *output)
{
    enum { FEW = 24 };
    RowList *rows = arena_new_of(t->arena, RowList);
    int64_t at[TENSOR_MAX_RANK] = {0}, all = output->rank ? tensor_count(output) / (output->dims[output->rank - 1] > 0 ? output->dims[output->rank - 1] : 1) : 0, written = 0, seen = 0;

    for (int64_t i = 0; i < all; i++, tensor_step(output, output->rank - 1, at))
        written += !isnan(tensor_get(output, at));
    memset(at, 0, sizeof at);
    rows->rank1 = output->rank - 1;
    for (int64_t i = 0; i < all; i++, tensor_step(output, output->rank - 1, at)) {
        bool taken = !isnan(tensor_get(output, at)) && (seen++ * FEW) / written >= rows->count;

        for (int d = 0; taken && d < rows->rank1; d++)
            vec_push(t->arena, &rows->coords, at[d]);
        rows->count += taken;
    }
    return rows;
}

bool small_run(Small *t, double most, int64_t most_steps, const char **error)
{
    const TileProgram *p = t->chain->tile;
    Tensor **tensors = arena_array(t->arena, Tensor *, p->tensors.len + 1);
    int64_t *dims = arena_array(t->arena, int64_t, p->dims.len + 1);
    double *params = arena_array(t->arena, double, p->params.len + 1);
    TileRun run = {.tensors = tensors, .dims = dims, .params = params, .seed = t->options->seed, .most = most, .most_steps = most_steps, .work = &t->work};
    Some some;
    const char *missing;

    if (t->some && !find_some(t, &some, error))
        return false;
    if (t->some) {
        run.want_block = is_of_some;
        run.user = &some;
    }
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

static Box find_wrong(Small *t, Ref *ref, int output, double allowed)
{
    const Tensor *tensor = t->outputs[output];
    int64_t at[TENSOR_MAX_RANK] = {0}, all = tensor_count(tensor), cols = tensor->dims[tensor->rank - 1];
    Box box = {0};

    for (int64_t r = 0; r < all / (cols ? cols : 1) && r * cols < PLACES; r++) {
        bool known = !t->some || !isnan(tensor_get(tensor, at));
        const double *row = known ? ref_row(ref, output, at) : NULL;

        for (int64_t c = 0; known && c < cols; c++) {
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

static const char *part_text(Small *t, const DefValue *value, const Tensor *tensor, const Box *box)
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

static const char *place_text(Small *t, const Tensor *tensor, const int64_t *at)
{
    Str text = str_new(t->arena);

    for (int k = 0; k < tensor->rank; k++)
        str_printf(&text, "%s%lld", k ? ", " : "", (long long)at[k]);
    return str_text(&text);
}

/* Few elements may be rounded so much, to 8 bits, that some times as much is anything: what is off by most of an output is so for
 * more than rounding. */
static bool is_far_off(const RefVerdict *v)
{
    return v->got.frobenius > 0.75 && v->plain_frobenius < 0.5;
}

static void tell(Small *t, Arena *arena, int output, const RefVerdict *v, SmallFinding *f)
{
    const DefValue *value = t->chain->def->outputs.data[output];
    const Tensor *tensor = t->outputs[output];
    const char *error;
    Ref *ref = ref_new(t->arena, t->chain->def, t->shape.data, t->shape.len, t->inputs, REF_EXACT, &error);
    RefFloor least = ref_floor(t->chain->def, output);
    double allowed = fmax(t->options->bound * v->plain_max, least.relative * v->got.max_want + least.absolute);
    if (is_far_off(v))
        allowed = fmin(allowed, 0.5 * v->got.max_want);
    Box box = ref ? find_wrong(t, ref, output, allowed) : (Box){0};

    *f = (SmallFinding){.output = output, .wrong = box.wrong};
    f->worst = v->got.not_finite ? INFINITY : v->got.max_abs / fmax(v->got.max_want, DBL_MIN);
    f->allowed = allowed / fmax(v->got.max_want, DBL_MIN);
    f->message = arena_printf(arena, "%s[%s] is %.6g, and %.6g by the definition", tensor->name,
                              place_text(t, tensor, box.first), box.got, box.want);
    if (!box.wrong)
        f->message = arena_printf(arena, "the error of %s is %.3g times that of a plain implementation", tensor->name,
                                  v->ratio_frobenius);
    if (!box.wrong) {
        f->note = arena_printf(arena, "executed at %s: no element is far off, but more of them are than rounding explains", launch_text(t->arena, &t->shape));
        return;
    }
    f->note = arena_printf(arena, "%s at %s: %lld of %lld elements are wrong, all within %s%s", t->some ? "some blocks executed" : "executed",
                           launch_text(t->arena, &t->shape), (long long)box.wrong, (long long)box.all,
                           part_text(t, value, tensor, &box), box.never ? "; NaN where nothing was written, or computed from it" : "");
}

bool small_agrees(Small *t, Arena *arena, SmallFinding *finding)
{
    const Def *def = t->chain->def;

    for (int i = 0; i < def->outputs.len; i++) {
        RowList *rows = t->some ? rows_written(t, t->outputs[i]) : rows_choose(t->arena, t->outputs[i], 1024, TILE, 20000, t->options->seed);
        const char *error;
        RefVerdict v;

        if (!ref_compare(t->arena, def, t->shape.data, t->shape.len, t->inputs, t->outputs, i, rows, t->options->bound,
                         &v, &error)) {
            *finding = (SmallFinding){.output = i, .error = arena_strdup(arena, error)};
            return false;
        }
        if (!v.ok || is_far_off(&v)) {
            tell(t, arena, i, &v, finding);
            return false;
        }
    }
    return true;
}
