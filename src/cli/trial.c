/* trial.c: executing artefacts on the CPU and comparing with the definition. */
#include "cli/trial.h"

#include <math.h>

enum { ALL_BELOW = 1024, TILE = 64, ROWS_AT_MOST = 2000 };

/* ---- the oracle -------------------------------------------------------------------- */

static const int64_t *row_at(const RowList *rows, int row)
{
    return rows->rank1 ? rows->coords.data + (size_t)row * (size_t)rows->rank1 : NULL;
}

static int row_count(const RowList *rows)
{
    return rows->rank1 ? rows->coords.len / rows->rank1 : 1;
}

/* Calls the oracle for every chosen row of an output; keeps it, or measures
 * it against what was kept. */
static void ask_oracle(Trial *trial, Ref *ref, int output, RefPrecision precision)
{
    TrialOutput *o = &trial->wanted[output];
    const Tensor *t = trial->outputs[output];
    int64_t at[TENSOR_MAX_RANK] = {0};

    for (int r = 0; r < o->n_rows; r++) {
        const int64_t *lead = row_at(o->rows, r);
        const double *row = ref_row(ref, output, lead);
        double *want = o->want + (int64_t)r * o->cols;

        session_progress(trial->s, "evaluating the definition: row %d of %d", r + 1, o->n_rows);
        if (precision == REF_EXACT) {
            memcpy(want, row, (size_t)o->cols * sizeof *want);
            continue;
        }
        if (lead)
            memcpy(at, lead, (size_t)o->rows->rank1 * sizeof *at);
        for (int64_t c = 0; c < o->cols; c++) {
            at[o->rows->rank1] = c;
            distance_add(&o->plain, t, at, row[c], want[c]);
        }
    }
}

static bool consult(Trial *trial, RefPrecision precision, const char **error)
{
    Ref *ref = ref_new(trial->s->arena, trial->def, trial->shape.data, trial->shape.len,
                       trial->inputs, precision, error);

    if (!ref)
        return false;
    for (int i = 0; i < trial->def->outputs.len; i++)
        ask_oracle(trial, ref, i, precision);
    return true;
}

static void choose_rows(Trial *trial, int output)
{
    Arena *arena = trial->s->arena;
    TrialOutput *o = &trial->wanted[output];
    const Tensor *t = trial->outputs[output];

    o->rows = rows_choose(arena, t, ALL_BELOW, TILE, ROWS_AT_MOST, trial->s->options.seed);
    o->cols = t->rank ? t->dims[t->rank - 1] : 1;
    o->n_rows = tensor_count(t) ? row_count(o->rows) : 0;
    o->want = arena_alloc_array(arena, (size_t)o->n_rows * (size_t)o->cols, sizeof *o->want);
    distance_start(&o->plain);
}

Trial *trial_new(Session *s, const Def *def, const LaunchShape *shape, const char **error)
{
    Trial *trial = arena_new_of(s->arena, Trial);
    double since = clock_seconds();

    trial->s = s;
    trial->def = def;
    trial->shape = *shape;
    trial->inputs = arena_array(s->arena, Tensor *, def->inputs.len + 1);
    trial->outputs = arena_array(s->arena, Tensor *, def->outputs.len + 1);
    trial->wanted = arena_array(s->arena, TrialOutput, def->outputs.len + 1);
    if (!ref_make_tensors(s->arena, def, shape->data, shape->len, s->options.data,
                          s->options.seed, trial->inputs, trial->outputs, error))
        return NULL;
    for (int i = 0; i < def->outputs.len; i++)
        choose_rows(trial, i);
    if (!consult(trial, REF_EXACT, error) || !consult(trial, REF_PLAIN, error))
        return NULL;
    for (int i = 0; i < def->outputs.len; i++)
        distance_finish(&trial->wanted[i].plain);
    trial->oracle_seconds = clock_seconds() - since;
    return trial;
}

/* ---- comparing ----------------------------------------------------------------------- */

/* FNV-1a over the outputs' bytes; outputs are contiguous. */
static uint64_t hash_bytes(uint64_t hash, const Tensor *t)
{
    const unsigned char *bytes = t->data;

    for (size_t i = 0; i < t->bytes; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static double over(double error, double plain)
{
    if (error == 0)
        return 0;
    return plain > 0 ? error / plain : INFINITY;
}

static void keep_worst(double *worst, double value)
{
    if (!(value <= *worst)) /* a NaN counts as worst */
        *worst = value;
}

static const char *place_text(Arena *arena, const Tensor *t, const int64_t *at)
{
    Str text = str_new(arena);

    str_printf(&text, "%s[", t->name);
    for (int k = 0; k < t->rank; k++)
        str_printf(&text, "%s%lld", k ? ", " : "", (long long)at[k]);
    str_addc(&text, ']');
    return str_text(&text);
}

static void compare_output(Trial *trial, int output, TrialResult *result)
{
    const TrialOutput *o = &trial->wanted[output];
    const Tensor *t = trial->outputs[output];
    int64_t at[TENSOR_MAX_RANK] = {0};
    Distance d;

    distance_start(&d);
    for (int r = 0; r < o->n_rows; r++) {
        if (o->rows->rank1)
            memcpy(at, row_at(o->rows, r), (size_t)o->rows->rank1 * sizeof *at);
        for (int64_t c = 0; c < o->cols; c++) {
            at[o->rows->rank1] = c;
            distance_add(&d, t, at, tensor_get(t, at), o->want[(int64_t)r * o->cols + c]);
        }
    }
    distance_finish(&d);
    keep_worst(&result->frobenius, d.frobenius);
    keep_worst(&result->max_abs, d.max_abs);
    keep_worst(&result->ratio_frobenius, over(d.frobenius, o->plain.frobenius));
    keep_worst(&result->ratio_max, over(d.max_abs, o->plain.max_abs));
    result->compared += d.compared;
    if (d.not_finite)
        result->problem = arena_printf(trial->s->arena, "%lld elements are not finite or wrongly so, %s",
                                       (long long)d.not_finite, place_text(trial->s->arena, t, d.worst));
    else if (!result->problem && over(d.max_abs, o->plain.max_abs) > trial->s->options.bound)
        result->problem = arena_printf(trial->s->arena, "largest error at %s",
                                       place_text(trial->s->arena, t, d.worst));
}

static void compare(Trial *trial, TrialResult *result)
{
    double bound = trial->s->options.bound;

    result->bits = 0xcbf29ce484222325u;
    for (int i = 0; i < trial->def->outputs.len; i++) {
        compare_output(trial, i, result);
        result->bits = hash_bytes(result->bits, trial->outputs[i]);
    }
    result->ok = !result->problem && result->ratio_frobenius <= bound && result->ratio_max <= bound;
    if (!result->ok && !result->problem)
        result->problem = "error beyond the bound";
}

static const TrialResult *record(Trial *trial, const TrialResult *result)
{
    TrialResult *kept;

    vec_push(trial->s->arena, &trial->results, *result);
    trial->failed += !result->ok;
    kept = arena_new_of(trial->s->arena, TrialResult); /* the list may move when it grows */
    *kept = *result;
    return kept;
}

/* ---- tile IR --------------------------------------------------------------------------- */

static const Tensor *find_tensor(Tensor *const *tensors, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(tensors[i]->name, name) == 0)
            return tensors[i];
    return NULL;
}

static Tensor *trial_tensor(Trial *trial, const char *name)
{
    const Tensor *t = find_tensor(trial->inputs, trial->def->inputs.len, name);

    if (!t)
        t = find_tensor(trial->outputs, trial->def->outputs.len, name);
    return (Tensor *)t;
}

static void poison_outputs(Trial *trial)
{
    for (int i = 0; i < trial->def->outputs.len; i++)
        tensor_poison(trial->outputs[i]);
}

/* The symbols' values, by id, for evaluating a program's extents. */
static bool symbol_values(Session *s, const AffCtx *aff, const LaunchShape *shape, const AffSym *const *dims,
                          int n, int64_t **values, const char **error)
{
    int64_t *at = arena_array(s->arena, int64_t, n + 1);
    const char *missing;

    *values = arena_array(s->arena, int64_t, aff_sym_count(aff) + 1);
    if (!launch_dims(s, shape, dims, n, at, &missing)) {
        *error = arena_printf(s->arena, "the program needs %s", missing);
        return false;
    }
    for (int i = 0; i < n; i++)
        (*values)[dims[i]->id] = at[i];
    return true;
}

static Tensor *make_tensor(Session *s, const char *name, DType dtype, int rank,
                           const Aff *const *dims, const int64_t *values, const char **error)
{
    int64_t sizes[TENSOR_MAX_RANK];

    for (int k = 0; k < rank; k++) {
        if (!aff_eval(dims[k], values, &sizes[k])) {
            *error = arena_printf(s->arena, "a dimension of %s overflows", name);
            return NULL;
        }
    }
    return tensor_new(s->arena, name, dtype, rank, sizes, error);
}

bool tile_make_tensors(Session *s, const TileProgram *program, const LaunchShape *shape, Tensor **tensors,
                       const char **error)
{
    int64_t *values;

    if (!symbol_values(s, program->aff, shape, (const AffSym *const *)program->dims.data,
                       program->dims.len, &values, error))
        return false;
    for (int i = 0; i < program->tensors.len; i++) {
        const TileTensor *t = program->tensors.data[i];

        if (tensors[i])
            continue;
        tensors[i] = make_tensor(s, t->name, t->dtype, t->rank, t->dims, values, error);
        if (!tensors[i])
            return false;
        if (t->written || t->workspace)
            tensor_poison(tensors[i]);
        else
            tensor_fill(tensors[i], s->options.data, s->options.seed + (uint64_t)i);
    }
    return true;
}

/* Memory of an execution is dropped with it; only its complaint stays. */
static void drop(Session *s, Arena *arena, const char **error)
{
    if (*error)
        *error = arena_strdup(s->arena, *error);
    arena_free(arena);
}

bool tile_execute(Session *s, const TileProgram *program, const LaunchShape *shape, const Def *def,
                  Tensor **tensors, const char **error)
{
    Arena *own;
    bool done;
    int64_t *dims = arena_array(s->arena, int64_t, program->dims.len + 1);
    double *params = arena_array(s->arena, double, program->params.len + 1);
    TileRun run = {.tensors = tensors, .dims = dims, .params = params, .seed = s->options.seed};
    const char *missing;

    if (!launch_dims(s, shape, (const AffSym *const *)program->dims.data, program->dims.len, dims,
                    &missing) ||
        !launch_params(s, shape, def, program->params.data, program->params.len, params, &missing)) {
        *error = arena_printf(s->arena, "the program needs %s", missing);
        return false;
    }
    own = arena_new(&s->heap);
    done = tile_run(own, program, &run, error);
    drop(s, own, error);
    return done;
}

const TrialResult *trial_tile(Trial *trial, const char *what, const TileProgram *program)
{
    Session *s = trial->s;
    Tensor **tensors = arena_array(s->arena, Tensor *, program->tensors.len + 1);
    TrialResult result = {.what = what};
    double since = clock_seconds();

    session_progress(s, "executing %s", what);
    poison_outputs(trial);
    for (int i = 0; i < program->tensors.len; i++)
        tensors[i] = trial_tensor(trial, program->tensors.data[i]->name);
    if (tile_make_tensors(s, program, &trial->shape, tensors, &result.problem) &&
        tile_execute(s, program, &trial->shape, trial->def, tensors, &result.problem))
        compare(trial, &result);
    result.seconds = clock_seconds() - since;
    return record(trial, &result);
}

/* ---- PTX --------------------------------------------------------------------------------- */

typedef struct Emulation {
    Session *s;
    Arena *arena; /* of this execution */
    const EmuModule *module;
    const Abi *abi;
    EmuMemory *memory;
    Tensor **tensors;
    uint64_t *addresses;
    int64_t *dims;
    unsigned char *space;
    uint64_t seed;
} Emulation;

static const char *fault_text(Arena *arena, const EmuReport *report)
{
    const EmuFault *f = &report->faults[0];

    return arena_printf(arena, "%s at line %d, block (%d, %d, %d), thread %d: %s%s",
                        emu_fault_name(f->kind), f->line, f->block[0], f->block[1], f->block[2],
                        f->thread, f->message,
                        report->fault_count > 1
                            ? arena_printf(arena, " (and %d more faults)", report->fault_count - 1)
                            : "");
}

/* Registers every tensor of the ABI; workspaces are made. */
static bool emulate_memory(Trial *trial, Emulation *e, bool aligned, const char **error)
{
    Arena *arena = e->arena;
    const Abi *abi = e->abi;
    int64_t *values;

    if (!symbol_values(e->s, e->s->aff, &trial->shape, (const AffSym *const *)abi->dims.data,
                       abi->dims.len, &values, error))
        return false;
    e->memory = emu_memory_new(arena);
    e->tensors = arena_array(arena, Tensor *, abi->tensors.len + 1);
    e->addresses = arena_array(arena, uint64_t, abi->tensors.len + 1);
    for (int i = 0; i < abi->tensors.len; i++) {
        const AbiTensor *t = &abi->tensors.data[i];

        e->tensors[i] = trial_tensor(trial, t->name);
        if (!e->tensors[i])
            e->tensors[i] = make_tensor(e->s, t->name, t->dtype, t->rank, t->dims, values, error);
        if (!e->tensors[i])
            return false;
        e->addresses[i] = emu_memory_add(e->memory, t->name, e->tensors[i]->data,
                                         e->tensors[i]->bytes, t->read && !t->written,
                                         t->read && !t->written,
                                         aligned ? 0 : dtype_bytes(t->dtype));
    }
    return true;
}

static bool emulate_params(Trial *trial, Emulation *e, const char **error)
{
    Arena *arena = e->arena;
    const Abi *abi = e->abi;
    double *params = arena_array(arena, double, abi->params.len + 1);
    const char *missing;

    e->dims = arena_array(arena, int64_t, abi->dims.len + 1);
    e->space = arena_alloc(arena, (size_t)abi->param_bytes + 16);
    if (!launch_dims(e->s, &trial->shape, (const AffSym *const *)abi->dims.data, abi->dims.len,
                    e->dims, &missing) ||
        !launch_params(e->s, &trial->shape, trial->def, abi->params.data, abi->params.len, params,
                      &missing)) {
        *error = arena_printf(arena, "the kernel needs %s", missing);
        return false;
    }
    return abi_pack(abi, e->tensors, e->addresses, e->dims, params, e->space, error);
}

static void add_report(EmuReport *sum, const EmuReport *one)
{
    for (int c = 0; c < EMU_CLASSES; c++)
        sum->counts[c] += one->counts[c];
    sum->warp_instructions += one->warp_instructions;
    sum->thread_instructions += one->thread_instructions;
    sum->shared_wavefronts += one->shared_wavefronts;
    sum->shared_ideal += one->shared_ideal;
    sum->blocks += one->blocks;
    sum->seconds += one->seconds;
}

static bool emulate_kernel(const Emulation *e, int kernel, EmuReport *sum, const char **error)
{
    const AbiKernel *k = &e->abi->kernels.data[kernel];
    bool fits = abi_aligned(e->abi, e->tensors, e->addresses);
    const char *name = fits || !k->entry_any ? k->entry : k->entry_any;
    int entry = emu_find_entry(e->module, name);
    EmuReport report = {0};
    EmuLaunch launch = {.grid = {1, 1, 1}, .block = {k->threads, 1, 1}, .seed = e->seed};
    int64_t blocks;
    bool done;

    if (!abi_blocks(e->abi, kernel, e->dims, &blocks, error))
        return false;
    if (entry < 0 || blocks > INT32_MAX) {
        *error = arena_printf(e->arena, entry < 0 ? "the PTX has no entry %s" : "grid too large for %s",
                              name);
        return false;
    }
    if (blocks == 0)
        return true;
    launch.grid[0] = (int)blocks;
    launch.shared_bytes = (size_t)k->shared_bytes;
    launch.params = e->space;
    launch.param_bytes = (size_t)e->abi->param_bytes;
    done = emu_run(e->arena, e->module, entry, e->memory, &launch, &report);
    add_report(sum, &report);
    if (!done)
        *error = fault_text(e->arena, &report);
    return done;
}

static bool emulate(Trial *trial, Emulation *e, bool aligned, EmuReport *sum, const char **error)
{
    if (!emulate_memory(trial, e, aligned, error) || !emulate_params(trial, e, error))
        return false;
    for (int i = 0; i < e->abi->kernels.len; i++)
        if (!emulate_kernel(e, i, sum, error))
            return false;
    for (int i = 0; i < e->abi->tensors.len; i++) {
        const AbiTensor *t = &e->abi->tensors.data[i];

        if (t->written && !t->workspace && emu_memory_unwritten(e->memory, e->addresses[i])) {
            *error = arena_printf(e->arena, "%zu bytes of %s were never written",
                                  emu_memory_unwritten(e->memory, e->addresses[i]), t->name);
            return false;
        }
    }
    return true;
}

const TrialResult *trial_ptx(Trial *trial, const char *what, const EmuModule *module,
                             const Abi *abi, bool aligned, uint64_t seed)
{
    Emulation e = {.s = trial->s, .module = module, .abi = abi, .seed = seed};
    TrialResult result = {.what = what, .has_report = true};
    double since = clock_seconds();

    session_progress(trial->s, "emulating %s", what);
    poison_outputs(trial);
    e.arena = arena_new(&trial->s->heap);
    if (emulate(trial, &e, aligned, &result.report, &result.problem))
        compare(trial, &result);
    drop(trial->s, e.arena, &result.problem);
    result.seconds = clock_seconds() - since;
    return record(trial, &result);
}

void trial_expect_equal(Trial *trial, const char *what, const TrialResult *a, const TrialResult *b)
{
    TrialResult result = {.what = what, .ok = true};

    if (!a->ok || !b->ok || a->bits == b->bits)
        return; /* what failed has been said */
    result.ok = false;
    result.problem = arena_printf(trial->s->arena, "%s and %s differ in some bit", a->what, b->what);
    record(trial, &result);
}

/* ---- reports ------------------------------------------------------------------------------- */

static void put_line(Str *out, const char *what, int64_t compared, double frobenius, double ratio,
                     double max_abs, double ratio_max, double seconds)
{
    str_printf(out, "  %-28s %9lld  %9.2e %6.2f  %9.2e %6.2f %8.2f s", what, (long long)compared,
               frobenius, ratio, max_abs, ratio_max, seconds);
}

static void put_plain(Str *out, const Trial *trial)
{
    double frobenius = 0, max_abs = 0;
    int64_t compared = 0;

    for (int i = 0; i < trial->def->outputs.len; i++) {
        keep_worst(&frobenius, trial->wanted[i].plain.frobenius);
        keep_worst(&max_abs, trial->wanted[i].plain.max_abs);
        compared += trial->wanted[i].plain.compared;
    }
    put_line(out, "definition, same precision", compared, frobenius, 1, max_abs, 1,
             trial->oracle_seconds);
    str_addc(out, '\n');
}

void trial_print(Str *out, const Trial *trial)
{
    str_printf(out, "  at %s, against the definition in fp64\n", launch_text(trial->s->arena, &trial->shape));
    str_printf(out, "  %-28s %9s  %9s %6s  %9s %6s %10s\n", "artefact", "elements", "Frobenius", "ratio",
               "largest", "ratio", "time");
    put_plain(out, trial);
    for (int i = 0; i < trial->results.len; i++) {
        const TrialResult *r = &trial->results.data[i];

        if (r->compared)
            put_line(out, r->what, r->compared, r->frobenius, r->ratio_frobenius, r->max_abs,
                     r->ratio_max, r->seconds);
        else
            str_printf(out, "  %-28s", r->what);
        if (!r->ok)
            str_printf(out, "  WRONG: %s", r->problem ? r->problem : "");
        str_addc(out, '\n');
    }
}

/* JSON has no infinity and no NaN. */
static void json_number(Str *out, const char *name, double value)
{
    if (isfinite(value))
        str_printf(out, ",\"%s\":%.6g", name, value);
    else
        str_printf(out, ",\"%s\":null", name);
}

static void json_report(Str *out, const EmuReport *report)
{
    str_printf(out, ",\"instructions\":{\"warp\":%llu,\"thread\":%llu",
               (unsigned long long)report->warp_instructions,
               (unsigned long long)report->thread_instructions);
    for (int c = 0; c < EMU_CLASSES; c++) {
        str_addc(out, ',');
        str_json(out, emu_class_name((EmuClass)c));
        str_printf(out, ":%llu", (unsigned long long)report->counts[c]);
    }
    str_printf(out, "},\"shared_wavefronts\":%llu,\"shared_ideal\":%llu,\"blocks\":%llu",
               (unsigned long long)report->shared_wavefronts,
               (unsigned long long)report->shared_ideal, (unsigned long long)report->blocks);
}

void trial_json(Str *out, const Trial *trial)
{
    str_add(out, "[");
    for (int i = 0; i < trial->results.len; i++) {
        const TrialResult *r = &trial->results.data[i];

        str_add(out, i ? ",\n  {\"what\":" : "\n  {\"what\":");
        str_json(out, r->what);
        str_printf(out, ",\"ok\":%s,\"compared\":%lld", r->ok ? "true" : "false",
                   (long long)r->compared);
        json_number(out, "frobenius", r->frobenius);
        json_number(out, "frobenius_ratio", r->ratio_frobenius);
        json_number(out, "max", r->max_abs);
        json_number(out, "max_ratio", r->ratio_max);
        json_number(out, "seconds", r->seconds);
        if (r->has_report)
            json_report(out, &r->report);
        if (r->problem) {
            str_add(out, ",\"problem\":");
            str_json(out, r->problem);
        }
        str_addc(out, '}');
    }
    str_add(out, trial->results.len ? "\n]" : "]");
}

void put_tensor_summary(Str *out, const Tensor *t)
{
    int64_t at[TENSOR_MAX_RANK] = {0}, n = tensor_count(t);
    double squares = 0, largest = 0;

    for (int64_t i = 0; i < n; i++) {
        double value = tensor_get(t, at);

        squares += value * value;
        keep_worst(&largest, fabs(value));
        for (int k = t->rank - 1; k >= 0 && ++at[k] == t->dims[k]; k--)
            at[k] = 0;
    }
    str_printf(out, "%s (", t->name);
    for (int k = 0; k < t->rank; k++)
        str_printf(out, "%s%lld", k ? ", " : "", (long long)t->dims[k]);
    str_printf(out, ") %s  rms %.6g  largest %.6g  bits %016llx\n", dtype_name(t->dtype),
               n ? sqrt(squares / (double)n) : 0, largest,
               (unsigned long long)hash_bytes(0xcbf29ce484222325u, t));
}
