/* tree.c: building, copying, rewriting and comparing syntax trees. */
#include "lang/lang.h"
#include "lang/tree.h"

#include <math.h>

/* ---- building ------------------------------------------------------------------ */

static int depth_of(const Expr *e)
{
    return e ? e->depth : 0;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

Expr *expr_node(Arena *arena, ExprKind kind, Expr *a, Expr *b)
{
    Expr *e = arena_new_of(arena, Expr);

    e->kind = kind;
    e->a = a;
    e->b = b;
    e->depth = 1 + max_int(depth_of(a), depth_of(b));
    return e;
}

static void set_args(Expr *e, Expr **args, int n_args)
{
    e->args = args;
    e->n_args = n_args;
    for (int i = 0; i < n_args; i++)
        e->depth = max_int(e->depth, 1 + depth_of(args[i]));
}

Expr *expr_int(Arena *arena, int64_t value)
{
    Expr *e = expr_node(arena, EXPR_INT, NULL, NULL);
    e->i = value;
    return e;
}

Expr *expr_float(Arena *arena, double value)
{
    Expr *e = expr_node(arena, EXPR_FLOAT, NULL, NULL);
    e->f = value;
    return e;
}

Expr *expr_name(Arena *arena, const char *name)
{
    Expr *e = expr_node(arena, EXPR_NAME, NULL, NULL);
    e->name = name;
    return e;
}

Expr *expr_binary(Arena *arena, ExprOp op, Expr *a, Expr *b)
{
    Expr *e = expr_node(arena, EXPR_BINARY, a, b);
    e->op = op;
    return e;
}

/* A negated number is a number: there is one tree for -3, however it came about. */
Expr *expr_unary(Arena *arena, ExprOp op, Expr *a)
{
    if (op == EO_NEG && a->kind == EXPR_INT && a->i != INT64_MIN)
        return expr_int(arena, -a->i);
    if (op == EO_NEG && a->kind == EXPR_FLOAT)
        return expr_float(arena, -a->f);
    Expr *e = expr_node(arena, EXPR_UNARY, a, NULL);
    e->op = op;
    return e;
}

Expr *expr_call(Arena *arena, const char *name, Expr **args, int n_args)
{
    Expr *e = expr_node(arena, EXPR_CALL, NULL, NULL);
    e->name = name;
    set_args(e, args, n_args);
    return e;
}

Expr *expr_index(Arena *arena, Expr *base, Expr **args, int n_args)
{
    Expr *e = expr_node(arena, EXPR_INDEX, base, NULL);
    set_args(e, args, n_args);
    return e;
}

Expr *expr_transpose(Arena *arena, Expr *a)
{
    return expr_node(arena, EXPR_TRANSPOSE, a, NULL);
}

Expr *expr_turned(Arena *arena, Expr *e)
{
    return e->kind == EXPR_TRANSPOSE ? e->a : expr_transpose(arena, e);
}

Expr *expr_space(Arena *arena, Expr *base, Space space)
{
    Expr *e = expr_node(arena, EXPR_SPACE, base, NULL);
    e->space = space;
    return e;
}

Expr *expr_range(Arena *arena, Expr *lo, Expr *hi)
{
    return expr_node(arena, EXPR_RANGE, lo, hi);
}

Stmt *stmt_new(Arena *arena, StmtKind kind)
{
    Stmt *stmt = arena_new_of(arena, Stmt);
    stmt->kind = kind;
    return stmt;
}

/* ---- rewriting -------------------------------------------------------------------- */

Expr *expr_subst(Arena *arena, const Expr *e, Expr *(*lookup)(void *user, const char *name), void *user)
{
    if (!e)
        return NULL;
    if (e->kind == EXPR_NAME && lookup) {
        Expr *replacement = lookup(user, e->name);

        if (replacement && !replacement->span.end) /* made for this place */
            replacement->span = e->span;
        if (replacement)
            return replacement;
    }
    Expr *copy = expr_node(arena, e->kind, expr_subst(arena, e->a, lookup, user),
                           expr_subst(arena, e->b, lookup, user));
    Expr **args = arena_array(arena, Expr *, e->n_args);

    copy->span = e->span;
    copy->op = e->op;
    copy->i = e->i;
    copy->f = e->f;
    copy->name = e->name;
    copy->space = e->space;
    for (int i = 0; i < e->n_args; i++)
        args[i] = expr_subst(arena, e->args[i], lookup, user);
    set_args(copy, e->n_args ? args : NULL, e->n_args);
    return copy;
}

Expr *expr_copy(Arena *arena, const Expr *e)
{
    return expr_subst(arena, e, NULL, NULL);
}

/* ---- comparing -------------------------------------------------------------------------- */

static bool names_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool exprs_equal(Expr *const *a, int n_a, Expr *const *b, int n_b)
{
    if (n_a != n_b)
        return false;
    for (int i = 0; i < n_a; i++)
        if (!expr_equal(a[i], b[i]))
            return false;
    return true;
}

bool expr_is_name(const Expr *e, const char *name)
{
    return e && name && e->kind == EXPR_NAME && text_equal(e->name, name);
}

bool expr_is_one(const Expr *e)
{
    return e && e->kind == EXPR_INT && e->i == 1;
}

const char *expr_base_name(const Expr *e)
{
    while (e && (e->kind == EXPR_INDEX || e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE))
        e = e->a;
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

bool expr_mentions(const Expr *e, const char *name)
{
    if (!e)
        return false;
    if (expr_is_name(e, name) || expr_mentions(e->a, name) || expr_mentions(e->b, name))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (expr_mentions(e->args[i], name))
            return true;
    return false;
}

bool expr_names_all(const Expr *e, NameTest *test, const void *user)
{
    if (!e)
        return true;
    if (e->kind == EXPR_NAME && !test(user, e->name))
        return false;
    for (int i = 0; i < e->n_args; i++)
        if (!expr_names_all(e->args[i], test, user))
            return false;
    return expr_names_all(e->a, test, user) && expr_names_all(e->b, test, user);
}

bool expr_any(const Expr *e, ExprTest *test, const void *user)
{
    if (!e || test(user, e))
        return e != NULL;
    for (int i = 0; i < e->n_args; i++)
        if (expr_any(e->args[i], test, user))
            return true;
    return expr_any(e->a, test, user) || expr_any(e->b, test, user);
}

static bool any_mentions(Expr *const *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (expr_mentions(list[i], name))
            return true;
    return false;
}

static bool stmt_mentions(const Stmt *s, const char *name)
{
    const Expr *const single[] = {s->target, s->offset, s->stage, s->value, s->lo, s->hi, s->where, s->otherwise,
                                  s->empty_rows, s->to, s->by, s->step, s->dest};
    bool found = names_equal(s->over, name) || any_mentions(s->shape, s->n_shape, name) ||
                 any_mentions(s->to_shape, s->n_to_shape, name) || any_mentions(s->args, s->n_args, name) ||
                 any_mentions(s->with, s->n_with, name);

    for (size_t i = 0; i < TW_COUNT(single) && !found; i++)
        found = expr_mentions(single[i], name);
    for (int i = 0; i < s->n_coords && !found; i++)
        found = expr_mentions(s->coords[i].value, name);
    return found || block_mentions(&s->body, name) || block_mentions(&s->orelse, name);
}

bool block_mentions(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++)
        if (stmt_mentions(block->data[i], name))
            return true;
    return false;
}

bool expr_reads(const Expr *e, const char *tensor)
{
    if (!e)
        return false;
    if (e->kind == EXPR_INDEX && (!tensor || expr_is_name(e->a, tensor)))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (expr_reads(e->args[i], tensor))
            return true;
    return expr_reads(e->a, tensor) || expr_reads(e->b, tensor);
}

const char *copy_dest(const Stmt *copy)
{
    return copy->as ? copy->as : copy->name;
}

Expr *compute_result(const Stmt *compute)
{
    return compute->dest ? compute->dest : compute->n_args ? compute->args[0] : NULL;
}

const char *copy_tensor(const Stmt *copy)
{
    return copy->space == SPACE_GLOBAL ? copy->name : copy->to_space == SPACE_GLOBAL ? copy_dest(copy) : NULL;
}

const char *copy_tile(const Stmt *copy)
{
    return copy->to_space == SPACE_GLOBAL ? copy->name : copy_dest(copy);
}

static bool says_row(const Expr *e)
{
    if (!e)
        return false;
    bool says = e->kind == EXPR_CALL && text_equal_nocase(e->name, "row");
    for (int i = 0; i < e->n_args && !says; i++)
        says = says_row(e->args[i]);
    return says || says_row(e->a) || says_row(e->b);
}

bool copy_by_rows(const Stmt *copy)
{
    bool says = false;

    bool global = copy->space == SPACE_GLOBAL || copy->to_space == SPACE_GLOBAL;

    for (int i = 0; global && i < copy->n_coords && !says; i++)
        says = says_row(copy->coords[i].value);
    return says;
}

const char *copied_as(const Block *block, const char *tile)
{
    const char *tensor = NULL;

    for (int i = 0; i < block->len && !tensor; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_COPY && s->as && s->space == SPACE_GLOBAL && names_equal(s->as, tile))
            tensor = s->name;
        if (!tensor)
            tensor = copied_as(&s->body, tile);
        if (!tensor)
            tensor = copied_as(&s->orelse, tile);
    }
    return tensor;
}

bool block_computes(const Block *block, OpClass class)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == class) || block_computes(&s->body, class) ||
            block_computes(&s->orelse, class))
            return true;
    }
    return false;
}

bool expr_equal(const Expr *a, const Expr *b)
{
    if (a == b || !a || !b)
        return a == b;
    bool same_number = a->f == b->f || (isnan(a->f) && isnan(b->f));
    return a->kind == b->kind && a->op == b->op && a->i == b->i && same_number && a->space == b->space &&
           names_equal(a->name, b->name) && expr_equal(a->a, b->a) && expr_equal(a->b, b->b) &&
           exprs_equal(a->args, a->n_args, b->args, b->n_args);
}

static bool blocks_equal(const Block *a, const Block *b)
{
    if (a->len != b->len)
        return false;
    for (int i = 0; i < a->len; i++)
        if (!stmt_equal(a->data[i], b->data[i]))
            return false;
    return true;
}

static bool coords_equal(const Stmt *a, const Stmt *b)
{
    if (a->n_coords != b->n_coords)
        return false;
    for (int i = 0; i < a->n_coords; i++)
        if (!names_equal(a->coords[i].name, b->coords[i].name) ||
            !expr_equal(a->coords[i].value, b->coords[i].value))
            return false;
    return true;
}

static bool declarations_equal(const Stmt *a, const Stmt *b)
{
    return names_equal(a->name, b->name) && names_equal(a->as, b->as) && expr_equal(a->target, b->target) && a->has_shape == b->has_shape &&
           exprs_equal(a->shape, a->n_shape, b->shape, b->n_shape) &&
           exprs_equal(a->to_shape, a->n_to_shape, b->to_shape, b->n_to_shape) &&
           a->has_dtype == b->has_dtype && a->dtype == b->dtype && a->space == b->space &&
           a->to_space == b->to_space && expr_equal(a->offset, b->offset) && coords_equal(a, b);
}

static bool computes_equal(const Stmt *a, const Stmt *b)
{
    return a->op_known == b->op_known && (a->op_known ? a->op == b->op : names_equal(a->op_name, b->op_name)) &&
           exprs_equal(a->args, a->n_args, b->args, b->n_args) &&
           exprs_equal(a->with, a->n_with, b->with, b->n_with) && expr_equal(a->empty_rows, b->empty_rows) &&
           expr_equal(a->to, b->to) && expr_equal(a->by, b->by) && expr_equal(a->step, b->step) &&
           a->result == b->result && expr_equal(a->dest, b->dest);
}

bool stmt_equal(const Stmt *a, const Stmt *b)
{
    return a->kind == b->kind && declarations_equal(a, b) && computes_equal(a, b) &&
           names_equal(a->over, b->over) && expr_equal(a->stage, b->stage) && expr_equal(a->value, b->value) &&
           expr_equal(a->lo, b->lo) && expr_equal(a->hi, b->hi) && expr_equal(a->where, b->where) &&
           expr_equal(a->otherwise, b->otherwise) && blocks_equal(&a->body, &b->body) &&
           blocks_equal(&a->orelse, &b->orelse);
}

const Stmt *unit_tensor(const Unit *unit, const char *name)
{
    for (int i = 0; name && i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        if ((s->kind == STMT_INPUT || s->kind == STMT_OUTPUT) && names_equal(s->name, name))
            return s;
    }
    return NULL;
}

bool unit_has_dimension(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        for (int d = 0; (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT) && d < s->n_shape; d++)
            if (expr_is_name(s->shape[d], name))
                return true;
    }
    return false;
}

bool unit_has_size(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        for (int d = 0; d < s->n_shape && (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT); d++)
            if (expr_mentions(s->shape[d], name))
                return true;
    }
    return false;
}

const Stmt *block_find(const Block *block, StmtKind kind, const char *name)
{
    for (int i = 0; i < block->len; i++)
        if (block->data[i]->kind == kind && (!name || names_equal(block->data[i]->name, name)))
            return block->data[i];
    return NULL;
}

const Coord *stmt_coord(const Stmt *s, const char *name)
{
    for (int i = 0; i < s->n_coords; i++)
        if (s->coords[i].name && strcmp(s->coords[i].name, name) == 0)
            return &s->coords[i];
    return NULL;
}

bool block_multiplies(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_COMPUTE && s->op_known && s->op == OP_GEMM) || block_multiplies(&s->body) || block_multiplies(&s->orelse))
            return true;
    }
    return false;
}

bool expr_is_condition(const Expr *e)
{
    return (e->kind == EXPR_BINARY && e->op >= EO_LT) || (e->kind == EXPR_UNARY && e->op == EO_NOT);
}

static bool is_choice(const Stmt *s)
{
    return s->kind == STMT_COMPUTE && s->op_known && s->op == OP_WHERE && s->n_args == 3 && expr_is_condition(s->args[0]);
}

const Expr *stmt_condition(const Stmt *s)
{
    return is_choice(s) ? s->args[0] : s->where;
}

const Expr *stmt_chosen_from(const Stmt *s)
{
    if (is_choice(s))
        return s->args[expr_base_name(s->args[1]) ? 1 : 2];
    return s->kind == STMT_COMPUTE && s->where && s->n_args ? s->args[0] : NULL;
}

const Stmt *unit_index(const Unit *unit, const char *name)
{
    return block_find(&unit->body, STMT_INDEX, name);
}

bool unit_equal(const Unit *a, const Unit *b)
{
    return a->kind == b->kind && names_equal(a->name, b->name) && blocks_equal(&a->body, &b->body);
}

bool program_equal(const Program *a, const Program *b)
{
    if (a->units.len != b->units.len)
        return false;
    for (int i = 0; i < a->units.len; i++)
        if (!unit_equal(a->units.data[i], b->units.data[i]))
            return false;
    return true;
}
