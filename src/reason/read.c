/* read.c: the header of a sketch: names, numbers that are known, the grid.
 *
 * A dimension without a value stays a symbol; what must be known is asked for
 * where it is needed. Variables are made up for the grid (`h` for q_heads).
 */
#include "reason/plan.h"

#include <ctype.h>

Diag *plan_fail(Plan *plan, DiagCode code, Span span, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    Diag *diag = diag_add(plan->diags, code, span, "%s", arena_vprintf(plan->arena, fmt, args));
    va_end(args);
    plan->failed = true;
    return diag;
}

/* ---- names --------------------------------------------------------------------------- */

static bool is_taken(const Plan *plan, const char *name)
{
    return text_among(plan->taken.data, plan->taken.len, name);
}

static void take(Plan *plan, const char *name)
{
    if (name && !is_taken(plan, name))
        vec_push(plan->arena, &plan->taken, name);
}

const char *plan_fresh(Plan *plan, const char *wanted)
{
    const char *name = wanted;

    for (int i = 2; is_taken(plan, name); i++)
        name = arena_printf(plan->arena, "%s%d", wanted, i);
    take(plan, name);
    return name;
}

static void take_expr(Plan *plan, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_NAME)
        take(plan, e->name);
    take_expr(plan, e->a);
    take_expr(plan, e->b);
    for (int i = 0; i < e->n_args; i++)
        take_expr(plan, e->args[i]);
}

static void take_block(Plan *plan, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < PLAN_DEPTH; i++) {
        const Stmt *s = block->data[i];

        take(plan, s->name);
        take(plan, s->as);
        take_expr(plan, s->dest);
        if (s->kind == STMT_ASSIGN || s->kind == STMT_LET) /* sizes are made of lengths that tensors of other kernels have */
            take_expr(plan, s->value);
        for (int k = 0; k < s->n_args; k++)
            take_expr(plan, s->args[k]);
        for (int k = 0; k < s->n_with; k++)
            take_expr(plan, s->with[k]);
        for (int k = 0; k < s->n_shape; k++)
            take_expr(plan, s->shape[k]);
        take_block(plan, &s->body, depth + 1);
        take_block(plan, &s->orelse, depth + 1);
    }
}

/* ---- settings and numbers ---------------------------------------------------------------- */

/* "scores.warps" is for the kernel `scores` of a program alone. */
static Setting *setting_for(const Plan *plan, const char *name)
{
    Settings *settings = plan->options->settings;
    Setting *own = settings && plan->unit ? settings_find(settings, arena_printf(plan->arena, "%s.%s", plan->unit->name, name)) : NULL;

    return own ? own : settings ? settings_find(settings, name) : NULL;
}

bool plan_is_set(const Plan *plan, const char *name)
{
    return setting_for(plan, name) != NULL;
}

bool plan_setting(Plan *plan, const char *name, double *value)
{
    Setting *found = setting_for(plan, name);

    if (!found)
        return false;
    found->used = true;
    *value = found->value;
    return true;
}

static void bind_setting(Plan *plan, const char *name, double value)
{
    if (value == (double)(int64_t)value)
        eval_bind(&plan->env, name, aff_const(plan->aff, (int64_t)value));
    else
        eval_bind_number(&plan->env, name, value);
}

/* A dimension: known, or a symbol. */
static void bind_dim(Plan *plan, const char *name)
{
    double value;

    if (eval_find(&plan->env, name))
        return;
    if (plan_setting(plan, name, &value)) {
        bind_setting(plan, name, value);
        vec_push(plan->arena, &plan->set, name);
    } else
        eval_bind(&plan->env, name,
                  aff_of(plan->aff, aff_sym_new(plan->aff, name, AFF_DIM, 0, INT32_MAX)));
}

static void bind_decl(Plan *plan, const Stmt *s)
{
    double value;

    if (eval_find(&plan->env, s->name))
        return;
    if (s->kind != STMT_LET && plan_setting(plan, s->name, &value))
        bind_setting(plan, s->name, value);
    else if (s->value)
        eval_assign(&plan->env, s->name, s->value, NULL);
}

static const Stmt *declared(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->decls.len; i++)
        if (plan->decls.data[i]->kind != STMT_INDEX && strcmp(plan->decls.data[i]->name, name) == 0)
            return plan->decls.data[i];
    return NULL;
}

/* Dimensions in an expression, and in what is assigned to those of its names that a
 * declaration gives a value, `rows = 2 * n`; these themselves only if asked. */
static void bind_names(Plan *plan, const Expr *e, bool all, int depth)
{
    const Stmt *decl = e && e->kind == EXPR_NAME ? declared(plan, e->name) : NULL;

    if (!e || depth > PLAN_DEPTH)
        return;
    if (e->kind == EXPR_NAME && (all || !decl))
        bind_dim(plan, e->name);
    if (decl && !all && decl->value != e)
        bind_names(plan, decl->value, all, depth + 1);
    bind_names(plan, e->a, all, depth + 1);
    bind_names(plan, e->b, all, depth + 1);
    for (int i = 0; i < e->n_args; i++)
        bind_names(plan, e->args[i], all, depth + 1);
}

static void bind_shapes(Plan *plan, bool all)
{
    for (int i = 0; i < plan->tensors.len; i++)
        for (int k = 0; k < plan->tensors.data[i].rank; k++)
            bind_names(plan, plan->tensors.data[i].stmt->shape[k], all, 0);
}

static void bind_decls(Plan *plan)
{
    for (int i = 0; i < plan->decls.len; i++)
        if (plan->decls.data[i]->kind != STMT_INDEX)
            bind_decl(plan, plan->decls.data[i]);
}

/* Dimensions, then what is declared by them (twice, since names may be used
 * before they are declared), then dimensions that no declaration gave a value, and
 * what is declared by those. */
static void bind_all(Plan *plan)
{
    bind_shapes(plan, false);
    bind_decls(plan);
    bind_decls(plan);
    bind_shapes(plan, true);
    bind_decls(plan);
}

const Expr *plan_let(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->decls.len; i++)
        if (plan->decls.data[i]->kind == STMT_LET && strcmp(plan->decls.data[i]->name, name) == 0)
            return plan->decls.data[i]->value;
    return NULL;
}

const Stmt *plan_index(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->decls.len; i++)
        if (plan->decls.data[i]->kind == STMT_INDEX && strcmp(plan->decls.data[i]->name, name) == 0)
            return plan->decls.data[i];
    return NULL;
}

bool plan_is_param(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->decls.len; i++)
        if (plan->decls.data[i]->kind == STMT_PARAM && strcmp(plan->decls.data[i]->name, name) == 0)
            return true;
    return false;
}

/* ---- extents -------------------------------------------------------------------------------- */

/* What the launch is said to give for a size; 0: nothing is said. */
static int64_t said(const Plan *plan, const AffSym *size)
{
    const Setting *given = plan->options->launch ? settings_find(plan->options->launch, size->name) : NULL;

    return given && given->value >= 0 && given->value <= INT32_MAX && given->value == (double)(int64_t)given->value ? (int64_t)given->value : 0;
}

/* What a size is usually: those of leading dimensions, as batches and heads, are small. */
static int64_t usual(const Plan *plan, const AffSym *size)
{
    for (int i = 0; i < plan->unit->body.len; i++) {
        const Stmt *s = plan->unit->body.data[i];

        for (int d = 0; (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT) && d < s->n_shape - 2; d++)
            if (expr_mentions(s->shape[d], size->name))
                return PLAN_TYPICAL_ENTRIES;
    }
    return PLAN_TYPICAL_LENGTH;
}

int64_t plan_at_launch(Plan *plan, const Aff *length)
{
    int64_t value;

    for (int i = 0; (plan->options->launch || plan->options->typical) && i < aff_sym_count(plan->aff); i++) {
        const AffSym *sym = aff_sym_at(plan->aff, i);
        int64_t size = aff_uses(length, sym) ? said(plan, sym) : 0;

        if (size == 0 && plan->options->typical && aff_uses(length, sym))
            size = usual(plan, sym);
        if (size > 0)
            length = aff_subst(plan->aff, length, sym, aff_const(plan->aff, size));
    }
    return aff_is_const(length, &value) && value > 0 ? value : 0;
}

static Extent *new_extent(Plan *plan, ExtentKind kind, const Expr *dim)
{
    Extent *extent = arena_new_of(plan->arena, Extent);
    int64_t known;

    extent->kind = kind;
    extent->dim = dim;
    extent->dim_name = dim && dim->kind == EXPR_NAME ? dim->name : NULL;
    extent->length = dim ? eval_aff(&plan->env, dim, plan->diags) : aff_const(plan->aff, 1);
    if (!extent->length) {
        plan->failed = true;
        extent->length = aff_const(plan->aff, 1);
    }
    if (aff_is_const(extent->length, &known))
        extent->known = known;
    extent->expected = plan_at_launch(plan, extent->length);
    if (plan->extents.len == PLAN_MAX_EXTENTS) {
        plan_fail(plan, TW0108, dim ? dim->span : plan->unit->name_span, "more than %d dimensions in one sketch",
                  PLAN_MAX_EXTENTS);
        return plan->extents.data[0];
    }
    extent->id = plan->extents.len;
    vec_push(plan->arena, &plan->extents, extent);
    return extent;
}

Extent *plan_extent(Plan *plan, ExtentKind kind, const Expr *dim)
{
    for (int i = 0; i < plan->extents.len; i++) {
        Extent *extent = plan->extents.data[i];

        if (extent->kind == kind && (kind == EXT_ONE || expr_equal(extent->dim, dim)))
            return extent;
    }
    return new_extent(plan, kind, kind == EXT_ONE ? NULL : dim);
}

const PlanTensor *plan_copied(const Plan *plan, const Stmt *copy)
{
    const char *name = copy_tensor(copy);

    return name ? plan_tensor(plan, name) : NULL;
}

bool plan_is_tile_size(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->extents.len; i++)
        if (plan->extents.data[i]->tile && strcmp(plan->extents.data[i]->tile, name) == 0)
            return true;
    return false;
}

/* A sketch may settle a size itself: `BM = 64`. */
static bool assigned(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->decls.len; i++)
        if (plan->decls.data[i]->kind == STMT_ASSIGN && strcmp(plan->decls.data[i]->name, name) == 0)
            return true;
    return false;
}

/* Whether a tensor has a dimension of that name, which is no tile's then. */
static bool is_dimension(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->tensors.len; i++)
        for (int d = 0; d < plan->tensors.data[i].rank; d++)
            if (expr_mentions(plan->tensors.data[i].stmt->shape[d], name))
                return true;
    return false;
}

/* The first free of the names that sizes have: BM, BN, BK, BK2, ... */
static void name_tile(Plan *plan, Extent *extent)
{
    double forced;
    const char *names[] = {"BM", "BN", "BK"};
    size_t from = extent->kind == EXT_ROWS ? 0 : 1;

    for (size_t i = from; i < TW_COUNT(names) && !extent->tile; i++)
        if (!plan_is_tile_size(plan, names[i]) && !is_dimension(plan, names[i]) && (!is_taken(plan, names[i]) || assigned(plan, names[i])))
            extent->tile = names[i];
    if (!extent->tile)
        extent->tile = plan_fresh(plan, "BK");
    take(plan, extent->tile);
    const EvalName *known = assigned(plan, extent->tile) ? eval_find(&plan->env, extent->tile) : NULL;
    if (plan_setting(plan, extent->tile, &forced) || (known && known->has_number && (forced = known->number, true)))
        extent->fixed = forced >= 1 && forced <= 65536 && forced == (int64_t)forced ? (int64_t)forced : -1;
}

bool plan_covers(Covered sides, int d)
{
    return d == sides.col || d == sides.row;
}

/* Whether a dimension is among the two that tiles cover of a tensor that a block copies:
 * then a loop over it takes tiles, else entries. */
static bool tiled_in(Plan *plan, const Block *block, const char *dim)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const PlanTensor *t = s->kind == STMT_COPY ? plan_copied(plan, s) : NULL;

        for (int d = 0; t && d < t->rank; d++)
            if (plan_covers(plan_sides(plan, s, t), d) && expr_is_name(t->stmt->shape[d], dim))
                return true;
        if (tiled_in(plan, &s->body, dim) || tiled_in(plan, &s->orelse, dim))
            return true;
    }
    return false;
}

static bool leads_in(Plan *plan, const Block *block, const Expr *dim)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const PlanTensor *t = s->kind == STMT_COPY ? plan_copied(plan, s) : NULL;

        for (int d = 0; t && d < t->rank; d++)
            if (!plan_covers(plan_sides(plan, s, t), d) && expr_equal(t->stmt->shape[d], dim))
                return true;
        if (leads_in(plan, &s->body, dim) || leads_in(plan, &s->orelse, dim))
            return true;
    }
    return false;
}

/* Whether a loop's variable says of which entries the tiles in it are: `[pages = Table[b, j]]`. */
static bool names_entries(Plan *plan, const Block *block, const char *var)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const PlanTensor *t = s->kind == STMT_COPY ? plan_copied(plan, s) : NULL;

        for (int d = 0; t && d < t->rank; d++) {
            const Coord *coord = plan_covers(plan_sides(plan, s, t), d) ? NULL : plan_coord(plan, s, t, d);

            if (coord && coord->value && expr_mentions(coord->value, var))
                return true;
        }
        if (names_entries(plan, &s->body, var) || names_entries(plan, &s->orelse, var))
            return true;
    }
    return false;
}

const Extent *plan_parts(const Plan *plan, const Stmt *loop)
{
    for (int i = 0; loop->by && i < plan->grid.len; i++)
        if (loop->by->kind == EXPR_NAME && plan->grid.data[i]->kind == EXT_LEAD &&
            strcmp(plan->grid.data[i]->dim_name, loop->by->name) == 0)
            return plan->grid.data[i];
    return NULL;
}

/* Whether a size is the loop's dimension, by this name or by another. */
static bool is_dim(Plan *plan, const Expr *e, const char *dim)
{
    const EvalName *over = eval_find(&plan->env, dim);
    const Aff *length = eval_aff(&plan->env, e, NULL);

    return expr_mentions(e, dim) || (over && over->aff && over->aff == length);
}

/* Whether some statement of the block copies or computes what has the loop's dimension, or names the loop itself. */
static bool any_has(Plan *plan, const Block *block, const Stmt *loop)
{
    bool any = false;

    for (int i = 0; i < block->len && !any; i++) {
        const Stmt *s = block->data[i];
        bool moves = s->kind == STMT_COPY && (s->space == SPACE_GLOBAL || s->to_space == SPACE_GLOBAL);
        const PlanTensor *copied = moves ? plan_copied(plan, s) : NULL;

        for (int k = 0; copied && k < copied->rank; k++)
            any |= is_dim(plan, copied->stmt->shape[k], loop->over);
        for (int k = 0; k < s->n_shape; k++)
            any |= is_dim(plan, s->shape[k], loop->over);
        for (int k = 0; k < s->n_coords; k++)
            any |= s->coords[k].value && expr_mentions(s->coords[k].value, loop->name);
        any |= (s->over && strcmp(s->over, loop->over) == 0) || (s->where && expr_mentions(s->where, loop->name)) || (s->value && expr_mentions(s->value, loop->name)) ||
               any_has(plan, &s->body, loop) || any_has(plan, &s->orelse, loop);
    }
    return any;
}

Extent *plan_loop(Plan *plan, const Stmt *loop)
{
    Expr *dim = expr_name(plan->arena, loop->over);

    dim->span = loop->span;
    if (!eval_find(&plan->env, loop->over)) {
        plan_fail(plan, TW0602, loop->over_span, "%s is no dimension of a tensor here", loop->over);
        return NULL;
    }
    if (loop->by && !plan_parts(plan, loop)) {
        plan_fail(plan, TW0602, loop->span, "what cuts the loop over %s into parts is no leading dimension of the grid",
                  loop->over);
        return NULL;
    }
    if (plan_in_grid(plan, loop->over) && !any_has(plan, &loop->body, loop)) {
        plan_fail(plan, TW0602, loop->over_span, "the loop goes over %s, as the grid does, and copies nothing that has this dimension", loop->over);
        return NULL;
    }
    bool entries = !tiled_in(plan, &loop->body, loop->over) &&
                   (leads_in(plan, &loop->body, dim) || names_entries(plan, &loop->body, loop->name));
    Extent *extent = plan_extent(plan, entries ? EXT_ENTRY : EXT_LOOP, dim);
    if (!extent->tile && !entries)
        name_tile(plan, extent);
    extent->var = loop->name;
    return extent;
}

/* ---- the grid ---------------------------------------------------------------------------------- */

static bool output_has(const Plan *plan, const char *name, bool rows)
{
    for (int i = 0; i < plan->tensors.len; i++) {
        const PlanTensor *t = &plan->tensors.data[i];
        int d = rows ? t->row : t->col;

        if (t->is_output && d >= 0 && expr_is_name(t->stmt->shape[d], name))
            return true;
    }
    return false;
}

/* Whether tiles with rows along it are stored where coordinates say of each row. */
static bool stored_by_rows(const Plan *plan, const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool stored = s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL && plan_by_rows(plan, s);

        if ((stored && expr_is_name(s->shape[0], name)) || stored_by_rows(plan, &s->body, name) || stored_by_rows(plan, &s->orelse, name))
            return true;
    }
    return false;
}

/* Whether tiles with columns along it are stored to a part of a longer dimension: `Copy Y (M, D) as O in coordinate [head]`. */
static bool stored_in_parts(const Plan *plan, const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool part = s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL && s->n_coords > 0 && s->n_shape == 2;

        if ((part && expr_is_name(s->shape[1], name)) || stored_in_parts(plan, &s->body, name) || stored_in_parts(plan, &s->orelse, name))
            return true;
    }
    return false;
}

/* `h` for q_heads: the first letter of the last word. */
static const char *letter_for(Plan *plan, const char *dim)
{
    const char *word = strrchr(dim, '_');
    char letter[2] = {0};

    word = word && word[1] ? word + 1 : dim;
    letter[0] = (char)tolower((unsigned char)*word);
    return plan_fresh(plan, isalpha((unsigned char)letter[0]) ? arena_strdup(plan->arena, letter) : "g");
}

static void read_axis(Plan *plan, const Coord *coord)
{
    Expr *dim = expr_name(plan->arena, coord->name);

    dim->span = coord->span;
    if (!eval_find(&plan->env, coord->name)) {
        plan_fail(plan, TW0602, coord->span, "%s is no dimension of a tensor here", coord->name);
        return;
    }
    bool rows = output_has(plan, coord->name, true) || stored_by_rows(plan, &plan->unit->body, coord->name);
    bool columns = output_has(plan, coord->name, false) || stored_in_parts(plan, &plan->unit->body, coord->name);
    ExtentKind kind = rows ? EXT_ROWS : columns ? EXT_COLS : EXT_LEAD;
    if (kind != EXT_LEAD && plan_in_grid(plan, coord->name)) /* of two with one name the first is that of tiles */
        kind = EXT_LEAD;
    Extent *extent = new_extent(plan, kind, dim);
    extent->var = kind == EXT_ROWS   ? plan_fresh(plan, "m")
                  : kind == EXT_COLS ? plan_fresh(plan, "n")
                                     : letter_for(plan, coord->name);
    if (kind != EXT_LEAD)
        name_tile(plan, extent);
    vec_push(plan->arena, &plan->grid, extent);
}

static void read_grid(Plan *plan, const Stmt *grid)
{
    for (int i = 0; i < grid->n_coords; i++) {
        if (grid->coords[i].value || !grid->coords[i].name) {
            plan_fail(plan, TW0603, grid->span, "%s has extents for its grid: it is code already",
                      plan->unit->name);
            return;
        }
        read_axis(plan, &grid->coords[i]);
    }
}

/* ---- all ------------------------------------------------------------------------------------------ */

PlanTensor plan_shaped(const Stmt *s, const char *name)
{
    return (PlanTensor){.stmt = s, .name = name, .rank = s->n_shape, .row = s->n_shape - 2, .col = s->n_shape - 1,
                        .is_output = s->kind == STMT_OUTPUT};
}

static void read_tensor(Plan *plan, const Stmt *s)
{
    PlanTensor tensor = plan_shaped(s, s->name);

    if (s->n_shape < 1 || s->n_shape > 8) {
        plan_fail(plan, TW0602, s->span, "%s has %d dimensions; 1 to 8 are possible", s->name, s->n_shape);
        return;
    }
    tensor.dtype = stmt_dtype(s, &plan->unit->body, plan->options->dtype);
    if (!target_has_dtype(plan->options->target, tensor.dtype)) {
        target_lacks(plan->diags, plan->options->target, s->span, s->name, tensor.dtype, s->has_dtype);
        plan->failed = true;
        return;
    }
    vec_push(plan->arena, &plan->tensors, tensor);
}

/* The dimension that is declared in these words, `len` or `2 * D`. A number is the size of a tile, unless it stands
 * where the tensor's last dimension is that number. */
static int dim_called(const PlanTensor *tensor, const Expr *words, bool last)
{
    for (int d = words->kind != EXPR_INT ? 0 : tensor->rank - (last && !expr_is_one(words)); d < tensor->rank; d++)
        if (expr_equal(tensor->stmt->shape[d], words))
            return d;
    return -1;
}

/* The dimensions that a Copy's shape names: their number, 0 where it says sizes of tiles. */
static int named_sides(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int *named)
{
    int n = 0;

    for (int i = 0; i < copy->n_shape; i++) {
        int side = i == copy->n_shape - 1 ? tensor->col : tensor->row;
        bool own = side >= 0 && copy->shape[i]->kind == EXPR_NAME && expr_is_name(tensor->stmt->shape[side], copy->shape[i]->name);
        int d = copy->n_shape == 2 && side >= 0 && (own || plan_part(plan, copy, tensor, side)) ? side : dim_called(tensor, copy->shape[i], i > 0 && i == copy->n_shape - 1);

        if (d >= 0 && n < 2)
            named[n++] = d;
        else if (d >= 0 || !expr_is_one(copy->shape[i]))
            return 0;
    }
    return n;
}

/* Whether blocks, or the turns of a loop, have each an entry, or a tile, of the dimension, or it has one alone. */
static bool is_spread(const Block *block, const Expr *dim)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_GRID && k < s->n_coords; k++)
            if (s->coords[k].name && expr_is_name(dim, s->coords[k].name))
                return true;
        if ((s->kind == STMT_FOR && s->over && expr_is_name(dim, s->over)) || is_spread(&s->body, dim) || is_spread(&s->orelse, dim))
            return true;
    }
    return expr_is_one(dim);
}

/* `Copy M (len, 1)` has a number for each row; `(1, len)` one for each column, and so has `(len)` where the tensor's own
 * tiles are no rows along that: those have one row where the dimension before it has an entry for each block. */
static Covered sides_of_vector(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int d)
{
    Covered whole = {tensor->row, tensor->col};
    bool tall = copy->n_shape >= 2 && expr_is_one(copy->shape[copy->n_shape - 1]), wide = copy->n_shape == 1 || expr_is_one(copy->shape[0]);
    bool grouped = wide && tensor->row >= 0 && d == tensor->col && !is_spread(&plan->unit->body, tensor->stmt->shape[tensor->row]);

    if (!tall)
        return d == tensor->col && !grouped ? whole : (Covered){-1, d};
    return d == tensor->row && tensor->col >= 0 && expr_is_one(tensor->stmt->shape[tensor->col]) ? whole : (Covered){d, -1};
}

Covered plan_sides(Plan *plan, const Stmt *copy, const PlanTensor *tensor)
{
    Covered whole = {tensor->row, tensor->col};
    int named[2], n = named_sides(plan, copy, tensor, named);

    if (n == 1)
        return sides_of_vector(plan, copy, tensor, named[0]);
    if (n == 0 && tensor->row == tensor->rank - 1) /* another Copy has columns of the last dimension */
        return (Covered){-1, tensor->row};
    return n == 0 ? whole : (Covered){named[0], named[1]};
}

/* Whether something is defined of which a tile is but one entry along the dimension. */
static bool leads_in_defined(const Block *block, const Expr *dim)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        for (int d = 0; s->kind == STMT_COMPUTE && s->op_known && s->op == OP_DEFINE && d < s->n_shape - 2; d++)
            if (expr_equal(s->shape[d], dim))
                return true;
        if (leads_in_defined(&s->body, dim) || leads_in_defined(&s->orelse, dim))
            return true;
    }
    return false;
}

/* `Copy O (1, D)` of O (batch, heads, D) has one row where tiles of another tensor, K (batch, heads, kv_len, D), or of what
 * is defined, are of one head as well. */
static bool has_one_row(Plan *plan, const Stmt *copy, const PlanTensor *tensor)
{
    bool said = tensor->is_output && copy->n_shape == 2 && expr_is_one(copy->shape[0]) && tensor->row >= 0 && tensor->col == tensor->rank - 1 &&
                expr_equal(copy->shape[1], tensor->stmt->shape[tensor->col]);
    const Expr *rows = said ? tensor->stmt->shape[tensor->row] : NULL;

    return rows && (leads_in(plan, &plan->unit->body, rows) || leads_in_defined(&plan->unit->body, rows));
}

/* `Copy O (packed, D) in coordinate [heads = head + row]`: rows lie where coordinates say, along no dimension that has a
 * place for a tile's. */
static bool says_of_each_row(Plan *plan, const Stmt *copy, const PlanTensor *tensor)
{
    bool rows = tensor->is_output && tensor->col == tensor->rank - 1 && plan_by_rows(plan, copy) && copy->shape[0]->kind == EXPR_NAME;

    return rows && dim_called(tensor, copy->shape[0], false) < 0;
}

/* The dimensions that a Copy's shape names, `Copy Q (q_len, D)`, are those that tiles of the tensor cover where no Copy
 * says others; sizes of tiles say nothing. */
static void read_sides(Plan *plan, const Stmt *copy, PlanTensor *tensor)
{
    Covered sides = plan_sides(plan, copy, tensor);

    if (has_one_row(plan, copy, tensor) || says_of_each_row(plan, copy, tensor)) {
        tensor->row = -1;
        return;
    }
    if (sides.row >= 0 && sides.col >= 0 && sides.row > sides.col)
        plan_fail(plan, TW0602, copy->span, "rows of %s's tiles would run along a dimension behind that of their columns: "
                  "`Copy %s (%s, %s)`, and an operand of a product is %s.T", tensor->name, tensor->name,
                  tensor->stmt->shape[sides.col]->name, tensor->stmt->shape[sides.row]->name, copy_dest(copy));
    else if (sides.row >= 0 && tensor->row == tensor->rank - 2 && tensor->col == tensor->rank - 1) {
        tensor->row = sides.row;
        tensor->col = sides.col;
    }
}

static void read_copies(Plan *plan, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < PLAN_DEPTH; i++) {
        const Stmt *s = block->data[i];
        const PlanTensor *tensor = s->kind == STMT_COPY ? plan_copied(plan, s) : NULL;

        if (tensor && (s->space == SPACE_GLOBAL || s->to_space == SPACE_GLOBAL) && !plan->failed)
            read_sides(plan, s, &plan->tensors.data[tensor - plan->tensors.data]);
        read_copies(plan, &s->body, depth + 1);
        read_copies(plan, &s->orelse, depth + 1);
    }
}

static bool is_byte(DType dtype)
{
    return dtype_is_narrow(dtype) && dtype_bytes(dtype) == 1;
}

/* Whether something is rounded to numbers of 8 bits. */
static bool casts_to_bytes(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_COMPUTE && s->op_known && s->op == OP_CAST && s->has_dtype && is_byte(s->dtype)) ||
            casts_to_bytes(&s->body) || casts_to_bytes(&s->orelse))
            return true;
    }
    return false;
}

static int contracted_step(const Plan *plan)
{
    for (int i = 0; i < plan->tensors.len; i++)
        if (is_byte(plan->tensors.data[i].dtype))
            return 32;
    return casts_to_bytes(&plan->unit->body) ? 32 : 16;
}

const PlanTensor *plan_tensor(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->tensors.len; i++)
        if (text_equal(plan->tensors.data[i].name, name))
            return &plan->tensors.data[i];
    return NULL;
}

/* Tiles follow from the copies and computations; what is allocated is code. */
static void refuse_allocations(Plan *plan, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_ALLOCATE)
            plan_fail(plan, TW0603, s->span, "'%s' is allocated, which is code: a sketch leaves tiles and their sizes open", s->name);
        refuse_allocations(plan, &s->body);
        refuse_allocations(plan, &s->orelse);
    }
}

/* An element's name stands for the element, which has other coordinates in code: as with Let. */
static const Stmt *as_declared(Plan *plan, const Stmt *s)
{
    Stmt *let;

    if (s->kind != STMT_ASSIGN || !expr_reads(s->value, NULL))
        return s;
    let = arena_new_of(plan->arena, Stmt);
    *let = *s;
    let->kind = STMT_LET;
    return let;
}

bool plan_read(Plan *plan)
{
    const Block *body = &plan->unit->body;
    const Stmt *grid = NULL;

    take_block(plan, body, 0);
    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];

        if (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT)
            read_tensor(plan, s);
        if (s->kind == STMT_PARAM || s->kind == STMT_LET || s->kind == STMT_INDEX || s->kind == STMT_ASSIGN)
            vec_push(plan->arena, &plan->decls, as_declared(plan, s));
        if (s->kind == STMT_GRID)
            grid = s;
    }
    plan->contracted_step = contracted_step(plan);
    bind_all(plan);
    refuse_allocations(plan, body);
    read_copies(plan, body, 0);
    plan_extent(plan, EXT_ONE, NULL);
    if (!grid)
        plan_fail(plan, TW0601, plan->unit->name_span, "%s does not say which dimensions are spread over blocks",
                  plan->unit->kind == UNIT_KERNEL ? plan->unit->name : "this fragment");
    else if (!plan->failed)
        read_grid(plan, grid);
    return !plan->failed;
}
