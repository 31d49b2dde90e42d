/* vary.c: what there is in a Kernel that may be changed. */
#include "suggest/vary.h"

bool vary_has(const Names *names, const char *name)
{
    for (int i = 0; name && i < names->len; i++)
        if (strcmp(names->data[i], name) == 0)
            return true;
    return false;
}

static void add_name(Vary *v, Names *names, const char *name)
{
    if (name && !vary_has(names, name))
        vec_push(v->s->arena, names, name);
}

static void drop_name(Names *names, const char *name)
{
    int kept = 0;

    for (int i = 0; i < names->len; i++)
        if (strcmp(names->data[i], name) != 0)
            names->data[kept++] = names->data[i];
    names->len = kept;
}

/* ---- tiles ---------------------------------------------------------------------------------- */

static bool one_wide(const Stmt *s)
{
    return s->n_shape && expr_is_one(s->shape[s->n_shape - 1]);
}

/* A number for each row: of columns and numbers alone. */
static bool gives_column(const Vary *v, const Stmt *s)
{
    bool column = false;

    if (s->op_known && op_info(s->op)->class == OPC_ROW_REDUCE)
        return true;
    for (int i = 0; s->op_known && op_info(s->op)->class == OPC_ELEMENT && i < s->n_args; i++) {
        const char *name = expr_base_name(s->args[i]);

        if (name && vary_has(&v->tiles, name))
            return false;
        column |= vary_has(&v->columns, name);
    }
    return column;
}

static void note_tiles(void *user, const Stmt *s)
{
    Vary *v = user;

    vec_push(v->s->arena, &v->all, s);
    if (s->kind == STMT_COMPUTE && !s->listed)
        vec_push(v->s->arena, &v->computes, s);
    for (int i = 0; i < s->n_with; i++) /* the state of a softmax */
        add_name(v, &v->columns, expr_base_name(s->with[i]));
    if (s->kind == STMT_ALLOCATE && s->space != SPACE_GLOBAL)
        add_name(v, one_wide(s) ? &v->columns : &v->tiles, s->name);
    if (s->kind == STMT_COPY) {
        const Stmt *tensor = unit_tensor(v->kernel, copy_tensor(s) ? copy_tensor(s) : s->name);
        bool column = s->has_shape ? one_wide(s) : tensor && one_wide(tensor);

        add_name(v, column ? &v->columns : &v->tiles, copy_tile(s));
    }
    if (s->kind == STMT_COMPUTE && compute_result(s) && !(s->op_known && s->op == OP_FILL)) /* which fits any shape */
        add_name(v, gives_column(v, s) ? &v->columns : &v->tiles, expr_base_name(compute_result(s)));
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static bool is_counter(const void *user, const Expr *e)
{
    const Vary *v = user;

    return e->kind == EXPR_NAME && vary_has(&v->counters, e->name);
}

static void note_numbers(void *user, const Stmt *s)
{
    Vary *v = user;

    for (int i = 0; s->kind == STMT_GRID && i < s->n_coords; i++)
        if (s->coords[i].value) /* of code */
            add_name(v, &v->counters, s->coords[i].name);
    if (s->kind == STMT_FOR)
        add_name(v, &v->counters, s->name);
    if (s->kind == STMT_ASSIGN || s->kind == STMT_LET)
        add_name(v, expr_any(s->value, is_counter, v) ? &v->counters : &v->sizes, s->name);
    if (s->kind == STMT_PARAM)
        add_name(v, &v->sizes, s->name);
    for (int i = 0; (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT) && i < s->n_shape; i++)
        if (s->shape[i]->kind == EXPR_NAME)
            add_name(v, &v->sizes, s->shape[i]->name);
}

bool vary_copies(const Stmt *s)
{
    bool element = s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == OPC_ELEMENT && s->n_args == 2;
    const Expr *by = element ? s->args[1] : NULL;
    bool none = by && ((by->kind == EXPR_INT && by->i == 0) || (by->kind == EXPR_FLOAT && by->f == 0));

    return none ? s->op == OP_ADD || s->op == OP_SUBTRACT : by && expr_is_one(by) && (s->op == OP_MULTIPLY || s->op == OP_DIVIDE);
}

static bool is_size(const void *user, const Expr *e)
{
    const Unit *kernel = *(const Unit *const *)user;

    for (int i = 0; e->kind == EXPR_NAME && i < kernel->body.len; i++) {
        const Stmt *s = kernel->body.data[i];

        for (int d = 0; (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT) && d < s->n_shape; d++)
            if (expr_is_name(s->shape[d], e->name))
                return true;
    }
    return false;
}

bool vary_names_size(const Unit *kernel, const Expr *e)
{
    return e && expr_any(e, is_size, &kernel);
}

bool vary_counts_all(const Unit *kernel, const Expr *e)
{
    const Expr *of = e->kind == EXPR_CALL && e->n_args == 1 && text_equal_nocase(e->name, "ceil") ? e->args[0] : NULL;

    return of && of->kind == EXPR_BINARY && of->op == EO_DIV && (is_size(&kernel, of->a) || vary_counts_all(kernel, of->a));
}

/* ---- what makes what ------------------------------------------------------------------------------------ */

const char *vary_result(const Stmt *s)
{
    return s->kind == STMT_COMPUTE && compute_result(s) ? expr_base_name(compute_result(s)) : NULL;
}

bool vary_takes(const Stmt *s, const char *name)
{
    bool found = s->kind == STMT_COMPUTE && s->where && expr_mentions(s->where, name);

    for (int i = 0; s->kind == STMT_COMPUTE && !(s->op_known && s->op == OP_FILL) && i < s->n_args; i++)
        found |= expr_mentions(s->args[i], name);
    for (int i = 0; i < s->body.len; i++)
        found |= vary_takes(s->body.data[i], name);
    for (int i = 0; i < s->orelse.len; i++)
        found |= vary_takes(s->orelse.data[i], name);
    return found;
}

bool vary_makes(const Stmt *loop, int i, int k, const char *tile)
{
    const Stmt *s = loop->body.data[i];
    const char *makes = s->kind == STMT_COPY ? copy_tile(s) : vary_result(s);
    bool found = makes && strcmp(makes, tile) == 0;

    for (int m = i + 1; makes && !found && m < k; m++)
        found = vary_takes(loop->body.data[m], makes) && vary_makes(loop, m, k, tile);
    return found;
}

/* ---- entry --------------------------------------------------------------------------------------- */

const Unit *vary_definition(const Suggester *s)
{
    for (int i = 0; i < s->program->units.len; i++)
        if (s->program->units.data[i]->kind == UNIT_OPERATOR)
            return s->program->units.data[i];
    return NULL;
}

Vary vary_kernel(Suggester *s, const Unit *kernel)
{
    Vary v = {.s = s, .kernel = kernel, .definition = vary_definition(s)};

    suggest_each(&kernel->body, note_tiles, &v);
    suggest_each(&kernel->body, note_numbers, &v);
    for (int i = 0; i < v.columns.len; i++)
        drop_name(&v.tiles, v.columns.data[i]);
    return v;
}

bool vary_each(Suggester *s, VaryKernel *f)
{
    const Unit *own = s->unit;
    bool found = false;

    if (!vary_definition(s) || !own || own->kind != UNIT_KERNEL)
        return false;
    for (int i = -1; i < s->program->units.len && !found; i++) {
        const Unit *unit = i < 0 ? own : s->program->units.data[i];
        Vary v;

        if (unit->kind != UNIT_KERNEL || (i >= 0 && unit == own) || spared_unit(s, unit))
            continue;
        s->unit = unit;
        v = vary_kernel(s, unit);
        found = f(&v);
    }
    s->unit = own;
    return found;
}

bool vary_own(Suggester *s, VaryKernel *f)
{
    enum { MOST_TRIES = 24 };
    bool known = s->unit && s->unit->kind == UNIT_KERNEL && s->agrees && s->stage == s->agrees && vary_definition(s), strict = s->strict, found;
    int tries = s->tries;
    Vary v;

    if (!known)
        return false;
    v = vary_kernel(s, s->unit);
    s->tries = MOST_TRIES;
    s->strict = true;
    found = f(&v);
    s->tries = tries;
    s->strict = strict;
    return found;
}
