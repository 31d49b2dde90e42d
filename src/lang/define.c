/* define.c: operations of one's own, in line.
 *
 *   Define SoftCap(X, cap, Y)                Compute SoftCap S, 30 and get T
 *     Compute Divide X, cap and get Y    ->  Compute Divide S, 30 and get T
 *     Compute Tanh Y and get new Y           Compute Tanh T and get new T
 *   end
 *
 * The parameters stand for the operands and, where there is one more, for the result;
 * without `and get` that is the first operand. Other names that the body gives values to
 * are its own: every use of the operation has fresh ones.
 */
#include "lang/lang.h"

enum { MOST_NESTED = 32, MOST_INLINED = 4096 };

typedef struct Binding {
    const char *name;
    Expr *by;
} Binding;

typedef struct Inliner {
    Arena *arena;
    const Unit *unit;
    Diags *diags;
    int uses, nested, made;
    bool failed;
} Inliner;

typedef struct Use {
    Inliner *in;
    VEC(Binding) bindings;
} Use;

/* ---- statements with names replaced ----------------------------------------------------- */

typedef struct Rename {
    Arena *arena;
    Expr *(*lookup)(void *user, const char *name);
    void *user;
} Rename;

static Expr *renamed(const Rename *r, const Expr *e)
{
    return e ? expr_subst(r->arena, e, r->lookup, r->user) : NULL;
}

static Expr **renamed_all(const Rename *r, Expr *const *list, int n)
{
    Expr **copy = arena_array(r->arena, Expr *, n);

    for (int i = 0; i < n; i++)
        copy[i] = renamed(r, list[i]);
    return copy;
}

static const char *renamed_name(const Rename *r, const char *name)
{
    const Expr *by = name ? r->lookup(r->user, name) : NULL;

    return by && by->kind == EXPR_NAME ? by->name : name;
}

static Block renamed_block(const Rename *r, const Block *block)
{
    Block copy = {.data = arena_array(r->arena, Stmt *, block->len), .len = block->len, .cap = block->len};

    for (int i = 0; i < block->len; i++)
        copy.data[i] = stmt_subst(r->arena, block->data[i], r->lookup, r->user);
    return copy;
}

Stmt *stmt_subst(Arena *arena, const Stmt *s, Expr *(*lookup)(void *user, const char *name), void *user)
{
    const Rename r = {arena, lookup, user};
    Stmt *copy = stmt_new(arena, s->kind);

    *copy = *s;
    copy->name = renamed_name(&r, s->name);
    copy->as = renamed_name(&r, s->as);
    copy->shape = renamed_all(&r, s->shape, s->n_shape);
    copy->args = renamed_all(&r, s->args, s->n_args);
    copy->with = renamed_all(&r, s->with, s->n_with);
    copy->coords = arena_array(arena, Coord, s->n_coords);
    for (int i = 0; i < s->n_coords; i++) {
        copy->coords[i] = s->coords[i];
        copy->coords[i].value = renamed(&r, s->coords[i].value);
    }
    copy->stage = renamed(&r, s->stage);
    copy->value = renamed(&r, s->value);
    copy->lo = renamed(&r, s->lo);
    copy->hi = renamed(&r, s->hi);
    copy->where = renamed(&r, s->where);
    copy->otherwise = renamed(&r, s->otherwise);
    copy->dest = renamed(&r, s->dest);
    copy->body = renamed_block(&r, &s->body);
    copy->orelse = renamed_block(&r, &s->orelse);
    return copy;
}

const Stmt *unit_define(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        if (s->kind == STMT_DEFINE && name && text_equal_nocase(s->name, name))
            return s;
    }
    return NULL;
}

/* ---- one use ------------------------------------------------------------------------------- */

static Expr *binding_of(void *user, const char *name)
{
    const Use *use = user;

    for (int i = 0; i < use->bindings.len; i++)
        if (strcmp(use->bindings.data[i].name, name) == 0)
            return use->bindings.data[i].by;
    return NULL;
}

static void bind(Use *use, const char *name, Expr *by)
{
    vec_push(use->in->arena, &use->bindings, (Binding){name, by});
}

static bool bind_parameters(Use *use, const Stmt *define, const Stmt *s)
{
    int n = define->n_shape, result = n == s->n_args + 1 ? s->n_args : -1;
    Expr *dest = compute_result(s);

    if (n != s->n_args && (result < 0 || !dest)) {
        diag_add(use->in->diags, TW0234, s->span, "'%s' takes %d operands and results, not %d", define->name, n, s->n_args);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (define->shape[i]->kind == EXPR_NAME)
            bind(use, define->shape[i]->name, i == result ? dest : s->args[i]);
    return true;
}

static bool is_declared(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        if (s->kind != STMT_DEFINE && s->kind != STMT_COPY && s->name && strcmp(s->name, name) == 0)
            return true;
    }
    return false;
}

static void own_names(Use *use, const Stmt *define, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *dest = s->kind == STMT_COMPUTE ? s->dest : NULL;

        while (dest && dest->kind != EXPR_NAME)
            dest = dest->a;
        if (dest && !binding_of(use, dest->name) && !is_declared(use->in->unit, dest->name))
            bind(use, dest->name, expr_name(use->in->arena, arena_printf(use->in->arena, "%s_%s_%d", dest->name, define->name,
                                                                         use->in->uses)));
        own_names(use, define, &s->body);
        own_names(use, define, &s->orelse);
    }
}

/* `and get Y` where the operation has no parameter for it: what it did to its first
 * operand would be lost, so that is what Y becomes. */
static void add_result(Inliner *in, const Stmt *define, const Stmt *s, Block *out)
{
    if (!s->dest || define->n_shape != s->n_args || s->n_args == 0)
        return;
    Stmt *copy = stmt_new(in->arena, STMT_COMPUTE);
    copy->span = s->span;
    copy->op = OP_ADD;
    copy->op_known = true;
    copy->op_name = op_info(OP_ADD)->name;
    copy->args = arena_array(in->arena, Expr *, 2);
    copy->args[copy->n_args++] = s->args[0];
    copy->args[copy->n_args++] = expr_int(in->arena, 0);
    copy->result = s->result;
    copy->dest = s->dest;
    vec_push(in->arena, out, copy);
}

static void inline_block(Inliner *in, const Block *block, Block *out);

static void inline_use(Inliner *in, const Stmt *define, const Stmt *s, Block *out)
{
    Use use = {.in = in};

    if (in->nested >= MOST_NESTED) {
        diag_add(in->diags, TW0714, s->span, "'%s' is made of itself, or of too many others within each other", define->name);
        in->failed = true;
        return;
    }
    in->uses++;
    if (!bind_parameters(&use, define, s)) {
        in->failed = true;
        return;
    }
    own_names(&use, define, &define->body);
    Block body = {0};
    for (int i = 0; i < define->body.len; i++)
        vec_push(in->arena, &body, stmt_subst(in->arena, define->body.data[i], binding_of, &use));
    in->nested++;
    inline_block(in, &body, out);
    in->nested--;
    add_result(in, define, s, out);
}

/* ---- units ------------------------------------------------------------------------------------ */

static void inline_stmt(Inliner *in, Stmt *s, Block *out)
{
    const Stmt *define = s->kind == STMT_COMPUTE && !s->op_known ? unit_define(in->unit, s->op_name) : NULL;

    if (define) {
        inline_use(in, define, s, out);
        return;
    }
    if (s->body.len || s->orelse.len) {
        Stmt *copy = stmt_new(in->arena, s->kind);

        *copy = *s;
        copy->body = copy->orelse = (Block){0};
        inline_block(in, &s->body, &copy->body);
        inline_block(in, &s->orelse, &copy->orelse);
        s = copy;
    }
    if (++in->made > MOST_INLINED && !in->failed) {
        diag_add(in->diags, TW0108, s->span, "operations of one's own make more than %d statements", MOST_INLINED);
        in->failed = true;
    }
    vec_push(in->arena, out, s);
}

static void inline_block(Inliner *in, const Block *block, Block *out)
{
    for (int i = 0; i < block->len && !in->failed; i++)
        if (block->data[i]->kind != STMT_DEFINE || in->nested)
            inline_stmt(in, block->data[i], out);
}

const Unit *unit_inlined(Arena *arena, const Unit *unit, Diags *diags)
{
    Inliner in = {.arena = arena, .unit = unit, .diags = diags};
    bool any = false;
    Unit *result;

    for (int i = 0; i < unit->body.len; i++)
        any |= unit->body.data[i]->kind == STMT_DEFINE;
    if (!any)
        return unit;
    result = arena_new_of(arena, Unit);
    *result = *unit;
    result->body = (Block){0};
    inline_block(&in, &unit->body, &result->body);
    return in.failed ? NULL : result;
}
