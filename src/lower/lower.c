/* lower.c: TL code to sequential tile IR: kernels, headers, names.
 *
 * Every statement becomes the tile operations that it means, in order; names
 * are bound to values, loops carry the names that their body replaces. TL is
 * sequential, so a Copy is complete at the next statement; making it
 * asynchronous is a pass's business.
 */
#include "lower/state.h"

#include "lang/prologue.h"
#include "pass/rows.h"

void lo_fail(Lower *lo, DiagCode code, Span span, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    diag_add(lo->diags, code, span, "%s", arena_vprintf(lo->arena, fmt, args));
    va_end(args);
    lo->failed = true;
}

/* ---- names ------------------------------------------------------------------------ */

Local *lo_local(Lower *lo, const char *name)
{
    for (int i = 0; i < lo->locals.len; i++)
        if (text_equal(lo->locals.data[i].name, name)) return &lo->locals.data[i];
    return NULL;
}

Local *lo_local_make(Lower *lo, const char *name)
{
    Local *local = lo_local(lo, name);
    if (local) return local;
    vec_push(lo->arena, &lo->locals, (Local){.name = name});
    return &lo->locals.data[lo->locals.len - 1];
}

Lineage *lo_lineage(Lower *lo, const TileValue *v)
{
    while (lo->lineage.len <= v->id) vec_push(lo->arena, &lo->lineage, (Lineage){0});
    return &lo->lineage.data[v->id];
}

static TileValue *convert(Lower *lo, TileValue *v, DType dtype)
{
    if (v->type.dtype == dtype) return v;
    TileType type = v->type;
    type.dtype = dtype;
    TileValue *cast = rw_insert(&lo->rw, TILE_CAST, 1, &v, 1, &type)->results[0];
    *lo_lineage(lo, cast) = *lo_lineage(lo, v);
    return cast;
}

/* The name's register copy is now v, in the dtype that it was allocated with. */
void lo_set_register(Lower *lo, const char *name, TileValue *v)
{
    Local *local = lo_local_make(lo, name);
    if (local->in_register) v = convert(lo, v, local->reg_type.dtype);
    local = lo_local(lo, name);
    local->reg = v;
    local->scalar = NULL;
    local->version = ++lo->versions;
    if (!v->name) v->name = local->name;
}

bool lo_shape(Lower *lo, Expr *const *shape, int n, int *extents)
{
    if (n < 1 || n > TENSOR_MAX_RANK) return false;
    for (int i = 0; i < n; i++) {
        int64_t value;
        const Aff *e = eval_aff(&lo->env, shape[i], lo->diags);
        if (!e) {
            lo->failed = true;
            return false;
        }
        if (!aff_is_const(e, &value) || value < 1 || value > 1 << 16) {
            lo_fail(lo, TW0410, shape[i]->span, "a tile's size must be a number from 1 to 65536 that is known when compiling");
            return false;
        }
        extents[i] = (int)value;
    }
    return true;
}

enum { MOST_ASSIGNED = 8 };

/* ---- header -------------------------------------------------------------------------- */

static bool setting(const Lower *lo, const char *name, double *value)
{
    Setting *found = settings_find(lo->settings, name);
    if (!found) return false;
    found->used = true;
    *value = found->value;
    return true;
}

/* What --set compiles in for a dimension; NULL: nothing. */
static const Aff *set_dimension(Lower *lo, const Expr *name)
{
    double value;
    if (!setting(lo, name->name, &value)) return NULL;
    if (value >= 1 && value <= INT32_MAX && value == (double)(int64_t)value)
        return aff_const(lo->program->aff, (int64_t)value);
    lo_fail(lo, TW0211, name->span, "%s is set to %.10g, not to an integer from 1 to %d", name->name, value,
            INT32_MAX);
    return NULL;
}

static const Aff *new_dimension(Lower *lo, const Expr *name)
{
    const Aff *known = set_dimension(lo, name);
    for (int i = 0; i < lo->program->dims.len; i++)
        if (strcmp(lo->program->dims.data[i]->name, name->name) == 0)
            known = aff_of(lo->program->aff, lo->program->dims.data[i]);
    if (!known) {
        const AffSym *sym = aff_sym_new(lo->program->aff, name->name, AFF_DIM, 0, INT32_MAX);
        tile_add_dim(lo->program, sym);
        known = aff_of(lo->program->aff, sym);
    }
    eval_bind(&lo->env, name->name, known);
    return known;
}

/* A size that the unit gives below the tensor that has it: `D2 = D`, `Param VDim = HeadDim`. NULL: it does not. */
static const Aff *assigned_size(Lower *lo, const Expr *name)
{
    const Stmt *assign = NULL;
    for (int i = 0; i < lo->unit->body.len; i++) {
        const Stmt *s = lo->unit->body.data[i];
        if ((s->kind == STMT_ASSIGN || s->kind == STMT_LET || s->kind == STMT_PARAM) && strcmp(s->name, name->name) == 0)
            assign = s;
    }
    if (!assign || !assign->value || lo->assigned >= MOST_ASSIGNED) return NULL;
    lo->assigned++; /* names may stand for each other in a ring */
    const Aff *size = eval_aff(&lo->env, assign->value, NULL);
    lo->assigned--;
    if (size) eval_bind(&lo->env, name->name, size);
    return size;
}

/* An unbound name in a declaration is a dimension of the program; in a condition
 * it may be the place of an element. */
static const Aff *unbound_name(void *user, const Expr *name, Diags *diags)
{
    Lower *lo = user;
    if (lo->declaring) {
        const Aff *size = assigned_size(lo, name);
        return size ? size : new_dimension(lo, name);
    }
    const Local *local = lo_local(lo, name->name);
    const Aff *integer = diags ? lo_local_integer(lo, name->name) : local ? local->scalar : NULL; /* a try reads nothing */
    if (!integer) integer = lo_param_integer(lo, name->name, diags != NULL);
    bool declared = local || lo_is_param(lo, name->name); /* also where a try leaves it unread */
    return integer || declared ? integer : lo_free_name(lo, name, diags);
}

/* What one kernel writes and a later one reads is the program's own. */
static void note_use(TileTensor *t, const Stmt *s, bool declared_before)
{
    t->workspace |= s->kind == STMT_INPUT && t->written && !t->read && declared_before;
    t->read |= s->kind == STMT_INPUT;
    t->written |= s->kind == STMT_OUTPUT;
}

/* Whole numbers that an earlier kernel has left, and that this one does not change, say where elements are as those of an Input do. */
static void note_places(const Lower *lo, TileTensor *t, const Stmt *s)
{
    if (s->kind != STMT_INPUT || !t->workspace || t->dtype != DT_I32 || block_find(&lo->unit->body, STMT_OUTPUT, s->name)) return;
    t->holds_places = true;
    t->least = INT32_MIN;
    t->most = INT32_MAX;
}

/* Whether an earlier kernel of the program has declared it. */
static bool in_earlier_kernel(const Lower *lo, const char *name)
{
    for (int i = 0; i < lo->code->units.len && lo->code->units.data[i] != lo->unit; i++) {
        const Unit *unit = lo->code->units.data[i];
        if (unit->kind == UNIT_KERNEL && unit_tensor(unit, name)) return true;
    }
    return false;
}

enum { PROBED = 4096 };

/* Of dimensions a multiple of what tiles measure each, so that what a Require makes equal is. */
static bool differ_at(Lower *lo, const Aff *a, const Aff *b, int least)
{
    AffCtx *aff = lo->program->aff;
    int64_t *sizes = arena_array(lo->arena, int64_t, aff_sym_count(aff) + 1), x, y;
    for (int i = 0; i < aff_sym_count(aff); i++)
        sizes[i] = (int64_t)PROBED * (least + 2 * i);
    return aff_eval(a, sizes, &x) && aff_eval(b, sizes, &y) && x != y;
}

static bool differ(Lower *lo, const Aff *a, const Aff *b)
{
    return differ_at(lo, a, b, 3) || differ_at(lo, a, b, 4);
}

static void declare_tensor(Lower *lo, const Stmt *s)
{
    TileTensor *t = tile_tensor(lo->program, s->name);
    if (s->n_shape < 1 || s->n_shape > TENSOR_MAX_RANK) {
        lo_fail(lo, TW0711, s->span, "tensor '%s' has %d dimensions; 1 to %d are possible", s->name, s->n_shape,
                TENSOR_MAX_RANK);
        return;
    }
    if (!t) {
        t = arena_new_of(lo->arena, TileTensor);
        t->name = s->name;
        t->index = lo->program->tensors.len;
        vec_push(lo->arena, &lo->program->tensors, t);
    }
    DType dtype = stmt_dtype(s, &lo->unit->body, lo->settings->dtype);
    bool other_rank = t->rank > 0 && t->rank != s->n_shape;
    if (other_rank || (t->rank > 0 && t->dtype != dtype))
        lo_fail(lo, TW0711, s->span, "'%s' was declared with another dtype or number of dimensions before", s->name);
    t->dtype = dtype;
    t->rank = s->n_shape;
    note_use(t, s, in_earlier_kernel(lo, s->name));
    note_places(lo, t, s);
    lo->declaring = true;
    bool other_size = false; /* which is said once */
    for (int d = 0; d < t->rank; d++) {
        const Aff *before = t->dims[d];
        t->dims[d] = eval_aff(&lo->env, s->shape[d], lo->diags);
        if (!other_rank && !other_size && before && t->dims[d] && differ(lo, before, t->dims[d]) && (other_size = true))
            lo_fail(lo, TW0711, s->shape[d]->span, "dimension %d of '%s' is %s here and %s where it was declared before", d + 1,
                    s->name, aff_text(lo->arena, t->dims[d]), aff_text(lo->arena, before));
        t->dim_names[d] = s->shape[d]->kind == EXPR_NAME ? s->shape[d]->name : NULL;
        if (!t->dims[d]) {
            lo->failed = true;
            t->dims[d] = aff_const(lo->program->aff, 1);
        }
    }
    lo->declaring = false;
}

static void add_param(Lower *lo, const char *name)
{
    for (int i = 0; i < lo->program->params.len; i++)
        if (strcmp(lo->program->params.data[i], name) == 0) return;
    vec_push(lo->arena, &lo->program->params, name);
}

static void bind_number(Lower *lo, const char *name, double value)
{
    Expr number = {.kind = value == (double)(int64_t)value ? EXPR_INT : EXPR_FLOAT, .i = (int64_t)value, .f = value};
    eval_assign(&lo->env, name, &number, NULL);
}

/* What is known before anything else: --set, then Params and assignments that
 * need no more than that. */
static void bind_constants(Lower *lo, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        double value;
        if (s->kind != STMT_PARAM && s->kind != STMT_ASSIGN && s->kind != STMT_LET) continue;
        if (setting(lo, s->name, &value)) bind_number(lo, s->name, value);
        else if (s->value && eval_float(&lo->env, s->value, &value)) eval_assign(&lo->env, s->name, s->value, NULL);
    }
}

static void lower_param(Lower *lo, const Stmt *s)
{
    if (eval_find(&lo->env, s->name)) return;
    if (s->value && eval_assign(&lo->env, s->name, s->value, NULL)) return;
    add_param(lo, s->name);
}

static void lower_grid(Lower *lo, const Stmt *s)
{
    AffCtx *aff = lo->program->aff;
    for (int i = 0; i < s->n_coords; i++) {
        const Coord *c = &s->coords[i];
        if (!c->name || !c->value) {
            lo_fail(lo, TW0404, c->span, "an axis of the grid is written 'name = extent'");
            continue;
        }
        const Aff *extent = eval_aff(&lo->env, c->value, lo->diags);
        if (!extent) {
            lo->failed = true;
            continue;
        }
        if (aff_uses_kind(extent, AFF_SCALAR)) {
            lo_fail(lo, TW0221, c->value->span, "the host makes the grid: of dimensions, not of numbers that the kernel reads");
            continue;
        }
        int64_t low, high;
        aff_bounds(extent, &low, &high);
        const AffSym *sym = aff_sym_new(aff, lo_counter_symbol(lo, c->name), AFF_GRID, 0, high == INT64_MAX ? INT32_MAX : high == INT64_MIN ? high : high - 1);
        vec_push(lo->arena, &lo->kernel->grid, (TileAxis){.sym = sym, .extent = extent});
        eval_bind(&lo->env, c->name, aff_of(aff, sym));
        eval_bind_block(&lo->env, i, aff_of(aff, sym));
    }
}

static void lower_assign(Lower *lo, const Stmt *s)
{
    if (eval_find(&lo->env, s->name)) return; /* a constant, or --set */
    if (!eval_assign(&lo->env, s->name, s->value, lo->diags)) lo->failed = true;
}

/* ---- schedule ----------------------------------------------------------------------------- */

/* An edit for what was just said. */
static void suggest(Lower *lo, Span span, const char *text, const char *label)
{
    if (lo->diags->list.len && !lo->diags->full)
        diag_fix(lo->diags, &lo->diags->list.data[lo->diags->list.len - 1], span, text, label);
}

/* The word or the number that a line gives a parameter; NULL: neither. */
static const char *value_word(Lower *lo, const Expr *value)
{
    if (value->kind == EXPR_NAME) return value->name;
    return value->kind == EXPR_INT ? arena_printf(lo->arena, "%lld", (long long)value->i) : NULL;
}

static void lower_choice(Lower *lo, const Stmt *s, SchedId id)
{
    const char *word = value_word(lo, s->value);
    Str values = str_new(lo->arena);
    lo->kernel->schedule.value[id] = word ? sched_value_find(id, word) : SCHED_AUTO;
    if (lo->kernel->schedule.value[id] != SCHED_AUTO || (word && text_equal_nocase(word, "auto"))) return;
    sched_values_text(&values, id);
    lo_fail(lo, TW0713, s->span, "'%s' is %s", s->name, str_text(&values));
    suggest(lo, s->value->span, "auto", "leave it to the compiler");
}

static void unknown_line(Lower *lo, const Stmt *s)
{
    Str lines = str_new(lo->arena);
    lo_fail(lo, TW0713, s->span, "the schedule has no line '%s'", s->name ? s->name : "");
    suggest(lo, s->span, "", "remove it");
    sched_numbers_text(&lines);
    str_add(&lines, ", and ");
    sched_text(&lines);
    if (lo->diags->list.len && !lo->diags->full)
        diag_note(lo->diags, &lo->diags->list.data[lo->diags->list.len - 1],
                  "there are %s", str_text(&lines));
}

/* A number of a kernel's schedule. */
typedef struct ScheduleNumber {
    int *place; /* in the kernel; NULL: there is none of the name */
    int low, high, usual;
} ScheduleNumber;

static ScheduleNumber schedule_number(TileKernel *kernel, const char *name)
{
    const struct { const char *name; ScheduleNumber number; } LINES[] = {
#define NUMBER(name, least, most, usual, unsaid) {#name, {&kernel->name, least, most, usual}},
#include "lang/schedule_numbers.def"
#undef NUMBER
    };
    for (size_t i = 0; i < TW_COUNT(LINES); i++)
        if (strcmp(LINES[i].name, name) == 0) return LINES[i].number;
    return (ScheduleNumber){0};
}

static void lower_schedule(Lower *lo, const Stmt *schedule)
{
    for (int i = 0; i < schedule->body.len; i++) {
        const Stmt *s = schedule->body.data[i];
        bool line = s->kind == STMT_ASSIGN && s->name;
        ScheduleNumber number = line ? schedule_number(lo->kernel, s->name) : (ScheduleNumber){0};
        SchedId id = !number.place && line && s->value ? sched_find(s->name) : SCHED_COUNT;
        double value;
        if (id != SCHED_COUNT) {
            lower_choice(lo, s, id);
        } else if (!number.place) {
            unknown_line(lo, s);
        } else if (!eval_float(&lo->env, s->value, &value) || value < number.low || value > number.high || value != (int)value) {
            lo_fail(lo, TW0713, s->span, "'%s' is a number from %d to %d", s->name, number.low, number.high);
            suggest(lo, s->value->span, arena_printf(lo->arena, "%d", number.usual), "the usual one");
        } else {
            *number.place = (int)value;
        }
    }
}

/* `--set warps=2`, or `--set kernel.warps=2`, for code by hand. */
static void force_number(Lower *lo, Setting *set)
{
    const char *point = strchr(set->name, '.'), *kernel = lo->kernel->name;
    size_t len = point ? (size_t)(point - set->name) : 0;
    ScheduleNumber number = schedule_number(lo->kernel, point ? point + 1 : set->name);
    if (!number.place || (point && (strlen(kernel) != len || strncmp(set->name, kernel, len) != 0))) return;
    set->used = true;
    if (set->value >= number.low && set->value <= number.high && set->value == (int)set->value)
        *number.place = (int)set->value;
    else
        lo_fail(lo, TW0713, lo->kernel->loc, "'%s' is a number from %d to %d", set->name, number.low, number.high);
}

static void force_numbers(Lower *lo)
{
    for (int i = 0; lo->settings->by_hand && i < lo->settings->list.len; i++) force_number(lo, &lo->settings->list.data[i]);
}

/* ---- statements ------------------------------------------------------------------------------ */

/* What it was to write has no value, and that was said. */
static void spoil(Lower *lo, const Stmt *s)
{
    Space space = SPACE_NONE;
    const Expr *to = compute_result(s);
    while (to && to->kind != EXPR_NAME) to = to->a;
    const char *name = s->kind == STMT_COMPUTE ? (to ? to->name : NULL) : s->kind == STMT_COPY ? copy_dest(s) : NULL;
    if (name) lo_local_make(lo, lo_base_name(lo, name, &space))->spoiled = true;
}

static void lower_statement(Lower *lo, const Block *block, int at)
{
    const Stmt *s = block->data[at];
    int errors = lo->diags->errors;
    lo->rw.loc = s->span;
    switch (s->kind) {
    case STMT_INPUT: case STMT_OUTPUT: declare_tensor(lo, s); break;
    case STMT_PARAM:    lower_param(lo, s); break;
    case STMT_LET: case STMT_ASSIGN: lower_assign(lo, s); break;
    case STMT_GRID:     lower_grid(lo, s); break;
    case STMT_ALLOCATE: lo_allocate(lo, s); break;
    case STMT_COPY:     lo_copy(lo, s); break;
    case STMT_COMPUTE:  lo_compute(lo, s); break;
    case STMT_RESHAPE:  lo_reshape(lo, block, at); break;
    case STMT_FOR:      lo_for(lo, s); break;
    case STMT_IF:       lo_if(lo, s); break;
    case STMT_SCHEDULE: lower_schedule(lo, s); break;
    case STMT_INDEX:    vec_push(lo->arena, &lo->indices, s); break;
    case STMT_DEFINE:   break; /* where it is used: define.c */
    case STMT_COUNT: break;
    }
    if (lo->diags->errors > errors) spoil(lo, s);
}

void lo_block(Lower *lo, const Block *block)
{
    for (int i = 0; i < block->len; i++) lower_statement(lo, block, i);
}

/* What warps may share of a kernel's tiles. */
typedef struct Shared {
    bool multiplies, in_shared;
    bool whole_rows, whole_columns; /* some operation needs these within a warp */
    int rows, cols; /* what those of the tiles that warps share, an atom's at least, are all multiples of; 0: there are none */
} Shared;

static void note_shared(void *user, TileBlock *block)
{
    enum { ATOM_ROWS = 16, ATOM_COLS = 8 };
    Shared *m = user;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        const TileType *of = op->n_args ? &op->args[0]->type : NULL;
        m->multiplies |= op->kind == TILE_GEMM;
        m->whole_rows |= op->kind == TILE_SOFTMAX || (op->kind == TILE_GEMM && of->space == SPACE_REGISTER);
        m->whole_columns |= op->kind == TILE_REDUCE && op->axis == 0 && of->kind == TT_TILE && of->rows > 1;
        for (int k = 0; k < op->n_results; k++) {
            const TileType *t = &op->results[k]->type;
            m->in_shared |= t->kind == TT_TILE && t->space == SPACE_SHARED;
            if (t->kind != TT_TILE || t->space == SPACE_SHARED) continue;
            if (t->rows >= ATOM_ROWS) m->rows = (int)common_divisor(t->rows, m->rows);
            if (t->cols >= ATOM_COLS) m->cols = (int)common_divisor(t->cols, m->cols);
        }
    }
}

static bool divides_rows(const TileKernel *kernel, int rows)
{
    int along_rows = kernel->warps / kernel->warps_n;
    return along_rows < 1 || (rows && kernel->warps % kernel->warps_n == 0 && rows % (along_rows * 16) == 0);
}

/* The most warps that rows without products could lie in as memory does; those that there are, if none. */
static int warps_of_rows(TileKernel *kernel)
{
    Layout layout;
    int all = kernel->warps, most = 0;
    for (kernel->warps = all; kernel->warps > 0 && !most; kernel->warps--)
        if (rows_layout(kernel, &layout)) most = kernel->warps;
    kernel->warps = all;
    return most ? most : all;
}

/* Of which the schedule does not say how many: 4, or fewer, that tiles of few rows have an atom, or lanes, for each. Where
 * columns are to be whole, they lie side by side, and what is reduced along rows they combine; where rows are to be whole as
 * well, there is one. */
static void settle_warps(TileKernel *kernel)
{
    Shared m = {0};
    if (kernel->warps) return;
    rw_each_block(kernel->body, note_shared, &m);
    kernel->warps = kernel->warps_n > 4 ? kernel->warps_n : 4;
    if (m.whole_columns && kernel->warps_n == 1) {
        while (kernel->warps > 1 && (m.whole_rows || m.cols % (kernel->warps * 8))) kernel->warps /= 2;
        kernel->warps_n = kernel->warps;
        return;
    }
    while (m.multiplies && kernel->warps > 1 && !divides_rows(kernel, m.rows)) kernel->warps--;
    if (!m.multiplies && (!m.in_shared || !rows_fit_fragments(kernel))) kernel->warps = warps_of_rows(kernel);
}

/* The line of the schedule that gave the kernel a number; NULL: none did. */
static const Stmt *schedule_line(const Unit *unit, const char *name, int number)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *schedule = unit->body.data[i];
        for (int k = 0; schedule->kind == STMT_SCHEDULE && k < schedule->body.len; k++) {
            const Stmt *s = schedule->body.data[k];
            if (s->name && strcmp(s->name, name) == 0 && s->value && s->value->kind == EXPR_INT && s->value->i == number) return s;
        }
    }
    return NULL;
}

static bool is_power_of_two(int n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Tiles have sides of powers of two, so that the number which is none was not meant. */
static void say_undivided(Lower *lo, const Unit *unit)
{
    int warps = lo->kernel->warps, across = lo->kernel->warps_n;
    bool more = !is_power_of_two(warps) && is_power_of_two(across);
    const Stmt *line = schedule_line(unit, more ? "warps" : "warps_n", more ? warps : across);
    int number = more ? across : 1;

    while (more ? number < warps : number * 2 <= across && number * 2 <= warps) number *= 2;
    lo_fail(lo, TW0713, line ? line->span : lo->kernel->loc, "%d warps are not to be shared out among columns by warps_n = %d: it divides their number",
            warps, across);
    if (line) suggest(lo, line->value->span, arena_printf(lo->arena, "%d", number), more ? "as many as it divides" : "which divides them");
}

static void lower_kernel(Lower *lo, const Unit *unit)
{
    lo->unit = unit;
    lo->kernel = tile_kernel_new(lo->program, unit->name);
    lo->kernel->warps = 0;
    lo->kernel->loc = unit->name_span;
    lo->kernel->warps_n = 1;
    lo->rw = (Rewriter){lo->program, lo->kernel, lo->kernel->body, 0, unit->span};
    eval_init(&lo->env, lo->arena, lo->program->aff);
    lo->env.user = lo;
    lo->env.unknown = unbound_name;
    lo->env.element = lo_element;
    for (int i = 0; i < lo->program->dims.len; i++)
        eval_bind(&lo->env, lo->program->dims.data[i]->name, aff_of(lo->program->aff, lo->program->dims.data[i]));
    lo->locals.len = 0;
    lo->lineage.len = 0;
    lo->steps.len = 0;
    lo->kept.len = lo->arms.len = lo->joined.len = lo->held.len = 0;
    lo->stage_copies.len = lo->stages_read.len = 0;
    lo->views.len = 0;
    lo->reads.len = 0;
    lo->indices.len = 0;
    lo->loop = NULL;
    bind_constants(lo, &unit->body);
    lo_block(lo, &unit->body);
    lo_stages_finish(lo);
    rw_remove_dead(lo->kernel->body); /* copies that were read as plain loads, above all */
    lo_joined_finish(lo);
    force_numbers(lo);
    settle_warps(lo->kernel);
    if (lo->kernel->warps % lo->kernel->warps_n != 0)
        say_undivided(lo, unit);
}

TileProgram *lower(Arena *arena, Syms *syms, AffCtx *aff, const Program *code, const Settings *settings,
                   Diags *diags)
{
    code = turns_write_out(arena, aff, prologue_write_out(arena, aff, again_write_out(arena, code), settings_value, settings), settings_value, settings);
    Lower lo = {.arena = arena, .syms = syms, .code = code, .settings = settings, .diags = diags};
    for (int i = 0; i < code->units.len; i++) {
        const Unit *unit = code->units.data[i];
        if (unit->kind != UNIT_KERNEL) continue;
        if (!lo.program) {
            lo.program = tile_program_new(arena, aff, unit->name);
            lo.program->source = code->source;
        }
        lower_kernel(&lo, unit);
    }
    if (!lo.program) {
        diag_add(diags, TW0715, (Span){0, 0}, "there is no Kernel to compile");
        return NULL;
    }
    if (lo.failed) return NULL;
    lo_zero(lo.program);
    lo_requirements(lo.program);
    return lo.program;
}
