/* values.c: integers and numbers of a kernel: dimensions, assignments, the grid,
 * loop counters; and what may stand in a condition. */
#include "check/walk.h"

/* ---- names that stand for integers ------------------------------------------------ */

static const Aff *given_integer(Checker *c, const char *name)
{
    for (int i = 0; i < c->given.len; i++)
        if (strcmp(c->given.data[i].name, name) == 0)
            return c->given.data[i].aff;
    const Aff *a = aff_of(c->aff, aff_sym_new(c->aff, name, AFF_DIM, INT64_MIN, INT64_MAX));
    vec_push(c->arena, &c->given, (EvalName){.name = name, .aff = a});
    return a;
}

static const Aff *fresh_scalar(Checker *c, const char *name)
{
    return aff_of(c->aff, aff_sym_new(c->aff, name, AFF_SCALAR, INT64_MIN, INT64_MAX));
}

/* A tensor of one element may stand for an integer: a length read from memory. */
static const Aff *tensor_integer(Checker *c, Named *tensor)
{
    bool single = false;
    for (Space s = SPACE_GLOBAL; s <= SPACE_REGISTER; s++) {
        Tile tile = tile_of(c, &tensor->places[s]);
        single |= tensor->places[s].exists &&
                  (tile.unknown || (extent_is_one(tile.rows) && extent_is_one(tile.cols)));
    }
    if (single && !tensor->scalar)
        tensor->scalar = fresh_scalar(c, tensor->name);
    return single ? tensor->scalar : NULL;
}

static bool is_refused(const Checker *c, const char *name)
{
    return text_among(c->refused.data, c->refused.len, name);
}

bool check_is_size(const Checker *c, const char *name)
{
    for (int i = 0; i < c->tensors.len; i++) {
        const Place *p = &c->tensors.data[i]->places[SPACE_GLOBAL];
        for (int k = 0; p->exists && k < p->rank; k++)
            if (p->dims[k].axis && strcmp(p->dims[k].axis, name) == 0)
                return true;
    }
    return false;
}

bool values_refused(const Checker *c, const Expr *e)
{
    for (int i = 0; i < c->refused.len; i++)
        if (expr_mentions(e, c->refused.data[i]))
            return true;
    return false;
}

/* In a formula the element's own may be meant. */
static void suggest_element(Checker *c, Diags *diags, Diag *d)
{
    if (c->of_elements)
        diag_fix(diags, d, (Span){d->span.end, d->span.end}, "[...]", "the element's own");
}

static const Aff *unknown_name(void *user, const Expr *e, Diags *diags)
{
    Checker *c = user;
    if (is_refused(c, e->name))
        return fresh_scalar(c, e->name);
    Named *tensor = names_find(c, e->name);
    if (tensor) {
        const Aff *a = tensor_integer(c, tensor);
        if (!a && diags)
            suggest_element(c, diags, diag_add(diags, c->of_elements ? TW0235 : TW0221, e->span,
                                               c->of_elements ? "'%s' is a tensor; this needs a number" : "'%s' is a tensor, not an integer", e->name));
        return a;
    }
    if (c->loose)
        return given_integer(c, e->name);
    if (!diags)
        return NULL;
    if (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"))
        return aff_of(c->aff, text_equal_nocase(e->name, "row") ? c->row : c->col);
    if (c->of_elements && strlen(e->name) == 1)
        return fresh_scalar(c, e->name);
    const char *nearest = eval_nearest(&c->env, e->name);
    Diag *d = diag_add(diags, TW0220, e->span, "'%s' has no value here", e->name);
    if (nearest)
        diag_fix(diags, d, e->span, nearest, arena_printf(c->arena, "did you mean '%s'?", nearest));
    else if (strncmp(e->name, "blockIdx.", 9) == 0)
        diag_note(diags, d, "the coordinates of a block are named where the grid is declared: `Grid m = EXTENT, "
                  "...`; blockIdx.x is the first of them");
    else
        diag_note(diags, d, "the place of an element in a tile S is row(S) and col(S)");
    return NULL;
}

/* row(S), col(S) */
static const Aff *position_call(void *user, const Expr *e, Diags *diags)
{
    Checker *c = user;
    bool row = text_equal_nocase(e->name, "row"), col = text_equal_nocase(e->name, "col");
    if ((!row && !col) || e->n_args > 1)
        return c->loose && !row && !col ? fresh_scalar(c, e->name) : NULL;
    if (e->n_args == 1 && e->args[0]->kind == EXPR_NAME && !names_find(c, e->args[0]->name)) {
        if (diags && !c->loose)
            names_undefined(c, e->args[0]->name, e->args[0]->span);
    }
    return aff_of(c->aff, row ? c->row : c->col);
}

static bool is_input(const Checker *c, const char *name)
{
    const Block *body = &c->unit->body;
    for (int i = 0; i < body->len; i++)
        if (body->data[i]->kind == STMT_INPUT && body->data[i]->name && strcmp(body->data[i]->name, name) == 0)
            return true;
    return false;
}

/* Where only what is known before the kernel runs has a value: the grid. */
static void known_late(Checker *c, const Expr *e, Diags *diags)
{
    const char *name = e->a->name;
    Diag *d = diag_add(diags, TW0221, e->span, "an element of '%s' is known only while the kernel runs", name);
    diag_note(c->diags, d, "elements may bound loops and be coordinates; the grid is made of what is known before: dimensions and "
              "numbers");
}

/* A coordinate with a function in it is computed as numbers are, and rounded down. */
static bool calls_function(const Expr *e)
{
    if (!e)
        return false;
    if (e->kind == EXPR_CALL && !text_equal_nocase(e->name, "row") && !text_equal_nocase(e->name, "col"))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (calls_function(e->args[i]))
            return true;
    return calls_function(e->a) || calls_function(e->b);
}

/* Seg[b, i]: an integer read from memory. */
static const Aff *element(void *user, const Expr *e, Diags *diags)
{
    Checker *c = user;
    const char *name = e->a->kind == EXPR_NAME ? e->a->name : NULL;
    Named *tensor = name ? names_find(c, name) : NULL;
    if (!tensor && !c->loose) {
        if (diags && name && is_input(c, name))
            known_late(c, e, diags);
        else if (diags && name)
            names_undefined(c, name, e->a->span);
        return NULL;
    }
    for (int i = 0; i < e->n_args; i++) {
        bool computed = calls_function(e->args[i]) && !eval_aff(&c->env, e->args[i], NULL);
        if (e->args[i]->kind == EXPR_ELLIPSIS || (computed && values_number(c, e->args[i])))
            continue;
        if (computed || !eval_aff(&c->env, e->args[i], diags))
            return NULL;
    }
    return fresh_scalar(c, name ? name : "element");
}

void values_start(Checker *c)
{
    eval_init(&c->env, c->arena, c->aff);
    c->env.unknown = unknown_name;
    c->env.call = position_call;
    c->env.element = element;
    c->env.user = c;
    c->env.round_division = c->loose;
    c->row = aff_sym_new(c->aff, "row", AFF_ROW, 0, INT32_MAX);
    c->col = aff_sym_new(c->aff, "col", AFF_COL, 0, INT32_MAX);
}

/* ---- asking -------------------------------------------------------------------------- */

const Aff *values_integer(Checker *c, const Expr *e)
{
    return eval_aff(&c->env, e, c->diags);
}

void values_condition(Checker *c, const Expr *e)
{
    if (e->kind != EXPR_WORDS) {
        eval_aff(&c->env, e, c->diags);
    } else if (!c->loose) {
        Diag *d = diag_add(c->diags, TW0404, e->span, "a condition in words belongs in a sketch");
        diag_note(c->diags, d, "write it with grid coordinates, loop counters, row() and col()");
    }
}

/* A tensor of one element counts as a number: its value is read when it is needed. */
static bool number_name(Checker *c, const Expr *e)
{
    Named *tensor = names_find(c, e->name);
    if (eval_find(&c->env, e->name) || c->loose || (tensor && tensor_integer(c, tensor)))
        return true;
    if (tensor)
        suggest_element(c, c->diags, diag_add(c->diags, TW0235, e->span, "'%s' is a tensor; this needs a number", e->name));
    else
        unknown_name(c, e, c->diags);
    return false;
}

static bool refuse_function(Checker *c, const Expr *e)
{
    if (c->loose || eval_has_function(e->name))
        return false;
    Diag *d = diag_add(c->diags, TW0223, e->span, "there is no function '%s' of numbers", e->name);
    if (strcmp(e->name, "program_id") == 0 || strcmp(e->name, "get_block_id") == 0)
        diag_note(c->diags, d, "the coordinates of a block are named where the grid is declared: `Grid m = EXTENT, ...`");
    return true;
}

bool values_number(Checker *c, const Expr *e)
{
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT: return true;
    case EXPR_NAME: return number_name(c, e);
    case EXPR_UNARY: return values_number(c, e->a);
    case EXPR_BINARY: return values_number(c, e->a) && values_number(c, e->b);
    case EXPR_CALL:
        if (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"))
            return true;
        if (refuse_function(c, e))
            return false;
        for (int i = 0; i < e->n_args; i++)
            if (!values_number(c, e->args[i]))
                return false;
        return true;
    case EXPR_INDEX: return element(c, e, c->diags) != NULL;
    case EXPR_TRANSPOSE:
    case EXPR_SPACE:
    case EXPR_RANGE:
    case EXPR_ELLIPSIS:
    case EXPR_WORDS: break;
    }
    diag_add(c->diags, TW0235, e->span, "this needs a number");
    return false;
}

/* A division, a function or a number that need not be whole. */
static bool may_have_fraction(Checker *c, const Expr *e)
{
    const EvalName *name = e && e->kind == EXPR_NAME ? eval_find(&c->env, e->name) : NULL;
    if (!e)
        return false;
    if (e->kind == EXPR_FLOAT || e->kind == EXPR_CALL || (name && !name->aff))
        return true;
    if (e->kind == EXPR_BINARY && (e->op == EO_DIV || e->op == EO_POW))
        return true;
    return may_have_fraction(c, e->a) || may_have_fraction(c, e->b);
}

/* What reads elements of tensors, or what has fractions, compares numbers; all else is of integers. */
static bool compares_numbers(Checker *c, const Expr *e)
{
    bool comparison = e->kind == EXPR_BINARY && e->op >= EO_LT && e->op <= EO_NE;
    if (e->kind != EXPR_BINARY || expr_reads(e, NULL))
        return e->kind == EXPR_BINARY;
    return comparison && may_have_fraction(c, e) && !eval_aff(&c->env, e, NULL);
}

static void element_condition(Checker *c, const Expr *e)
{
    bool joins = e->kind == EXPR_BINARY && (e->op == EO_AND || e->op == EO_OR);
    if (joins || (e->kind == EXPR_UNARY && e->op == EO_NOT)) {
        element_condition(c, e->a);
        if (joins)
            element_condition(c, e->b);
    } else if (compares_numbers(c, e)) {
        if (values_number(c, e->a))
            values_number(c, e->b);
    } else if (e->kind == EXPR_CALL && !eval_aff(&c->env, e, NULL)) {
        values_number(c, e);
    } else {
        values_condition(c, e);
    }
}

void values_element_condition(Checker *c, const Expr *e)
{
    c->of_elements = true;
    element_condition(c, e);
    c->of_elements = false;
}

/* ---- extents ---------------------------------------------------------------------------- */

Extent extent_one(Checker *c)
{
    return (Extent){.size = aff_const(c->aff, 1)};
}

Extent extent_of(Checker *c, const Expr *e)
{
    int64_t v;
    Extent x = {.size = values_integer(c, e), .text = source_text(c, e->span)};
    if (x.size && aff_is_const(x.size, &v) && (v < 1 || v > INT32_MAX)) {
        diag_add(c->diags, TW0326, e->span, "a size must be from 1 to 2147483647, not %lld",
                 (long long)v);
        x.size = NULL;
    }
    return x;
}

/* ---- declarations ------------------------------------------------------------------------- */

static const Stmt *assigned_in(const Block *body, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        const Stmt *s = body->data[i];
        bool binds = s->kind == STMT_ASSIGN || s->kind == STMT_PARAM || s->kind == STMT_LET;
        if (binds && strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

static const Aff *setting(const Checker *c, const char *name)
{
    const Settings *settings = c->options->settings;
    for (int i = settings ? settings->list.len - 1 : -1; i >= 0; i--) { /* the last one counts */
        double v = settings->list.data[i].value;
        if (strcmp(settings->list.data[i].name, name) == 0 && v >= 0 && v < 9e15 &&
            v == (double)(int64_t)v)
            return aff_const(c->aff, (int64_t)v);
    }
    return NULL;
}

static void declare_dim(Checker *c, const char *name)
{
    const Aff *fixed = setting(c, name);
    eval_bind(&c->env, name,
              fixed ? fixed : aff_of(c->aff, aff_sym_new(c->aff, name, AFF_DIM, 0, INT32_MAX)));
}

/* A name in the shape of an Input or Output that nothing assigns is a dimension; so is
 * one in what is assigned to a size, `rows = 2 * n`. */
static void declare_names(Checker *c, const Block *body, int n, const Expr *e, int depth)
{
    const Stmt *assign = e && e->kind == EXPR_NAME ? assigned_in(body, n, e->name) : NULL;
    if (!e || depth > WALK_MAX_NESTING || (e->kind == EXPR_NAME && eval_find(&c->env, e->name)))
        return;
    if (assign)
        declare_names(c, body, n, assign->value, depth + 1);
    else if (e->kind == EXPR_NAME)
        declare_dim(c, e->name);
    declare_names(c, body, n, e->a, depth + 1);
    declare_names(c, body, n, e->b, depth + 1);
    for (int i = 0; i < e->n_args; i++)
        declare_names(c, body, n, e->args[i], depth + 1);
}

/* m = blockIdx.x, where the grid calls its first coordinate m already */
static bool says_the_same(Checker *c, const Stmt *s)
{
    const EvalName *name = s->value && s->value->kind == EXPR_NAME ? eval_find(&c->env, s->value->name) : NULL;

    return name && name->aff && name->aff->kind == AFF_SYM && name->aff->sym->kind == AFF_GRID &&
           name->aff == eval_find(&c->env, s->name)->aff;
}

static bool already_bound(Checker *c, const Stmt *s)
{
    bool nested = c->n_loops > 0 || c->path.n_arms > 0;
    if (!eval_find(&c->env, s->name))
        return false;
    if (says_the_same(c, s) || setting(c, s->name))
        return true;
    Diag *d = diag_add(c->diags, TW0403, s->name_span, "'%s' already has a value%s", s->name, nested ? ", and what it is behind this does not follow from the loops' counters" : "");
    if (nested)
        diag_note(c->diags, d, "a turn may give a name a value before it reads it, make it grow by the same in each turn, go round, `%s = (%s + 1) %% n`, or "
                  "alternate, `%s = 1 - %s`; else write it with the counter", s->name, s->name, s->name, s->name);
    else
        fix_removal(c, d, s, "remove it");
    return true;
}

static bool sizes_a_tile(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        for (int k = 0; k < s->n_shape && s->kind == STMT_ALLOCATE && s->space != SPACE_GLOBAL; k++)
            if (expr_mentions(s->shape[k], name))
                return true;
    }
    return false;
}

/* BM = 0: said once, where it is assigned. */
static bool refuse_size(Checker *c, const Stmt *s)
{
    double v;
    if (c->loose || s->kind != STMT_ASSIGN || !s->value || !eval_float(&c->env, s->value, &v) ||
        (v >= 1 && v <= INT32_MAX && v == (double)(int64_t)v) || !sizes_a_tile(c->unit, s->name))
        return false;
    diag_add(c->diags, TW0326, s->value->span, "'%s' is the size of a tile: an integer from 1 to 2147483647, not %g", s->name, v);
    vec_push(c->arena, &c->refused, s->name);
    return true;
}

void values_assign(Checker *c, const Stmt *s)
{
    const Aff *fixed = setting(c, s->name);
    if (already_bound(c, s) || (!fixed && refuse_size(c, s)))
        return;
    if (fixed) {
        eval_bind(&c->env, s->name, fixed);
    } else if (!s->value) { /* a Param left to the launch: an integer, or a number */
        eval_bind(&c->env, s->name,
                  aff_of(c->aff, aff_sym_new(c->aff, s->name, AFF_DIM, INT64_MIN, INT64_MAX)));
    } else if (!eval_assign(&c->env, s->name, s->value, NULL)) {
        int errors = c->diags->errors;
        values_number(c, s->value); /* known at launch only, or wrong: then it says so */
        if (c->diags->errors > errors) /* what uses it later is not to blame */
            eval_bind(&c->env, s->name, fresh_scalar(c, s->name));
        else
            eval_bind_unknown(&c->env, s->name);
    }
}

static void grid_axis(Checker *c, const Coord *coord)
{
    int64_t lo, hi;
    const Aff *extent = values_integer(c, coord->value), *known = extent;
    const AffSym *axis = NULL;
    if (!extent)
        extent = aff_const(c->aff, 2);
    aff_bounds(extent, &lo, &hi);
    if (!aff_is_const(extent, &lo) || lo != 1)
        axis = aff_sym_new(c->aff, coord->name, AFF_GRID, 0, hi == INT64_MAX || hi == INT64_MIN ? hi : hi - 1);
    if (eval_find(&c->env, coord->name))
        diag_add(c->diags, TW0403, coord->span, "'%s' already has a value", coord->name);
    eval_bind(&c->env, coord->name, axis ? aff_of(c->aff, axis) : aff_const(c->aff, 0));
    eval_bind_block(&c->env, c->grid.len, axis ? aff_of(c->aff, axis) : aff_const(c->aff, 0));
    vec_push(c->arena, &c->grid, (Axis){coord->name, coord->span, axis, known, coord->value});
}

void values_grid(Checker *c, const Stmt *s)
{
    for (int i = 0; i < s->n_coords; i++) {
        if (s->coords[i].value)
            grid_axis(c, &s->coords[i]);
        else if (!c->loose)
            diag_add(c->diags, TW0404, s->span,
                     "'Grid over' belongs in a sketch; code says `Grid %s = ceil(...)`",
                     s->coords[i].name);
    }
}

/* Index q_pos over q_len: in code a position is known from where a tile lies. */
static void declare_index(Checker *c, const Stmt *s)
{
    if (!already_bound(c, s))
        eval_bind(&c->env, s->name, fresh_scalar(c, s->name));
    if (s->value)
        values_integer(c, s->value);
}

static bool is_flow(const Stmt *s)
{
    return s->kind == STMT_COPY || s->kind == STMT_COMPUTE || s->kind == STMT_FOR ||
           s->kind == STMT_IF || s->kind == STMT_RESHAPE;
}

static bool is_number(const Stmt *s)
{
    return s->kind == STMT_ASSIGN || s->kind == STMT_PARAM || s->kind == STMT_LET;
}

static bool is_known(Checker *c, const Stmt *s)
{
    double unused;

    return setting(c, s->name) || (s->value && eval_float(&c->env, s->value, &unused));
}

/* Made of an element of a tensor, or of a number that is, above it: once tensors are declared. */
static bool is_late(const Stmt *s, const Block *body, const bool *done, int at)
{
    if (!is_number(s) || !s->value)
        return false;
    if (expr_reads(s->value, NULL))
        return true;
    for (int i = 0; i < at; i++)
        if (!done[i] && is_number(body->data[i]) && expr_mentions(s->value, body->data[i]->name) &&
            is_late(body->data[i], body, done, i))
            return true;
    return false;
}

bool values_late(const Checker *c, const Stmt *s)
{
    return is_number(s) && s->value && !eval_find(&c->env, s->name) && !is_refused(c, s->name);
}

int values_declare(Checker *c, const Block *body)
{
    int n = 0;
    while (n < body->len && !is_flow(body->data[n]))
        n++;
    for (int i = 0; i < n; i++)
        if (body->data[i]->kind == STMT_INPUT || body->data[i]->kind == STMT_OUTPUT)
            for (int k = 0; k < body->data[i]->n_shape; k++)
                declare_names(c, body, n, body->data[i]->shape[k], 0);
    bool *done = arena_array(c->arena, bool, n + 1);
    for (int i = 0; i < n; i++) /* numbers first: a grid may use those that are assigned below it */
        if (is_number(body->data[i]) && is_known(c, body->data[i])) {
            values_assign(c, body->data[i]);
            done[i] = true;
        }
    for (int i = 0; i < n; i++) {
        const Stmt *s = body->data[i];
        if (done[i] || is_late(s, body, done, i))
            continue;
        if (is_number(s))
            values_assign(c, s);
        else if (s->kind == STMT_GRID)
            values_grid(c, s);
        else if (s->kind == STMT_INDEX)
            declare_index(c, s);
    }
    return n;
}

/* ---- loops ------------------------------------------------------------------------------------
 */

static bool is_declared(const Named *tensor)
{
    for (Space s = SPACE_GLOBAL; s <= SPACE_REGISTER; s++)
        if (tensor->places[s].decl)
            return true;
    return false;
}

static const AffSym *loop_counter(Checker *c, const Stmt *s, Loop *loop)
{
    int64_t lo = INT64_MIN, hi = INT64_MAX, unused;
    if (s->over) {
        if (!c->loose)
            diag_add(c->diags, TW0404, s->span,
                     "'over %s' belongs in a sketch; code says `for %s = 0:ceil(...)`", s->over,
                     s->name);
        return aff_sym_new(c->aff, s->name, AFF_LOOP, 0, INT64_MAX);
    }
    const Aff *first = values_integer(c, s->lo), *end = values_integer(c, s->hi);
    loop->lo = first;
    loop->end = end;
    if (first)
        aff_bounds(first, &lo, &unused);
    if (end)
        aff_bounds(end, &unused, &hi);
    return aff_sym_new(c->aff, s->name, AFF_LOOP, lo,
                       hi == INT64_MAX || hi == INT64_MIN ? hi : hi - 1);
}

void values_loop(Checker *c, const Stmt *s)
{
    Loop loop = {.stmt = s, .entered_at = c->moment};
    const AffSym *counter = loop_counter(c, s, &loop);
    const Named *tensor = names_find(c, s->name);
    if (tensor && is_declared(tensor))
        diag_add(c->diags, TW0403, s->name_span, "the loop counter '%s' is also a tensor", s->name);
    const EvalName *outer = s->hi ? eval_find(&c->env, s->name) : NULL;
    bool counts = outer && outer->aff && outer->aff->kind == AFF_SYM && (outer->aff->sym->kind == AFF_GRID || outer->aff->sym->kind == AFF_LOOP);
    if (counts)
        diag_add(c->diags, TW0403, s->name_span, "'%s' is a coordinate of %s already", s->name, outer->aff->sym->kind == AFF_GRID ? "the grid" : "a loop round this one");
    /* a single iteration has a constant counter, which says nothing of where it is used */
    bool single = counter->lo >= counter->hi;
    eval_bind(&c->env, s->name, single ? aff_const(c->aff, counter->lo) : aff_of(c->aff, counter));
    loop.sym = single ? NULL : counter;
    c->loops[c->n_loops++] = loop;
}
