/* define.c: operations of one's own, in line.
 *
 *   Define SoftCap(X, cap, Y)                Compute SoftCap S, 30 and get T
 *     Compute Divide X, cap and get Y    ->  Compute Divide S, 30 and get T
 *     Compute Tanh Y and get new Y           Compute Tanh T and get new T
 *   end
 *
 * The parameters stand for the operands and, where there is one more, for the
 * result; without `and get` that is the first operand. Other names that the body
 * gives values to are its own: every use of the operation has fresh ones.
 */
#include "lower/state.h"

enum { MOST_NESTED = 32, MOST_IN_LINE = 2000 };

typedef struct Inline {
    Lower *lo;
    VEC(const char *) names;
    VEC(Expr *) by;
} Inline;

const Stmt *lo_find_define(const Lower *lo, const char *name)
{
    return unit_define(lo->unit, name);
}

static Expr *replacement(void *user, const char *name)
{
    const Inline *in = user;
    for (int i = 0; i < in->names.len; i++)
        if (strcmp(in->names.data[i], name) == 0) return in->by.data[i];
    return NULL;
}

static void replace(Inline *in, const char *name, Expr *by)
{
    vec_push(in->lo->arena, &in->names, name);
    vec_push(in->lo->arena, &in->by, by);
}

static Block subst_block(Inline *in, const Block *block)
{
    Block copy = {.data = arena_array(in->lo->arena, Stmt *, block->len), .len = block->len, .cap = block->len};
    for (int i = 0; i < block->len; i++) copy.data[i] = stmt_subst(in->lo->arena, block->data[i], replacement, in);
    return copy;
}

/* ---- names of its own ------------------------------------------------------------------------ */

static void own_names(Inline *in, const Stmt *define, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *dest = s->kind == STMT_COMPUTE ? s->dest : NULL;
        while (dest && dest->kind != EXPR_NAME) dest = dest->a;
        const char *name = dest ? dest->name : s->kind == STMT_ALLOCATE ? s->name : NULL;
        if (name && !replacement(in, name) && !lo_local(in->lo, name))
            replace(in, name, expr_name(in->lo->arena, arena_printf(in->lo->arena, "%s_%s_%d", name, define->name,
                                                                    in->lo->inlined)));
        own_names(in, define, &s->body);
        own_names(in, define, &s->orelse);
    }
}

/* ---- the call ---------------------------------------------------------------------------------- */

static bool bind_parameters(Inline *in, const Stmt *define, const Stmt *s)
{
    Lower *lo = in->lo;
    int n = define->n_shape, result = n == s->n_args + 1 ? s->n_args : -1;
    Expr *dest = compute_result(s);
    if (n != s->n_args && (result < 0 || !dest)) {
        lo_fail(lo, TW0234, s->span, "'%s' takes %d operands and results, not %d", define->name, n, s->n_args);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (define->shape[i]->kind == EXPR_NAME)
            replace(in, define->shape[i]->name, i == result ? dest : s->args[i]);
    return true;
}

/* `and get Y` where the operation has no parameter for it: what it did to its
 * first operand would be lost, so that is what Y becomes. */
static void copy_result(Lower *lo, const Stmt *define, const Stmt *s)
{
    if (!s->dest || define->n_shape != s->n_args || s->n_args == 0) return;
    Stmt *copy = stmt_new(lo->arena, STMT_COMPUTE);
    Expr **args = arena_array(lo->arena, Expr *, 2);
    args[0] = s->args[0];
    args[1] = expr_int(lo->arena, 0);
    *copy = (Stmt){.kind = STMT_COMPUTE, .span = s->span, .op = OP_ADD, .op_known = true, .op_name = "Add", .args = args,
                   .n_args = 2, .result = s->result, .dest = s->dest};
    lo_compute(lo, copy);
}

void lo_inline(Lower *lo, const Stmt *define, const Stmt *s)
{
    Inline in = {.lo = lo};
    if (lo->nested >= MOST_NESTED || lo->inlined >= MOST_IN_LINE) {
        if (lo->failed) return; /* that was said */
        lo_fail(lo, TW0714, s->span, "'%s' is made of itself, or of too many others within each other", define->name);
        return;
    }
    lo->inlined++;
    if (!bind_parameters(&in, define, s)) return;
    own_names(&in, define, &define->body);
    Block body = subst_block(&in, &define->body);
    lo->nested++;
    lo_block(lo, &body);
    lo->nested--;
    copy_result(lo, define, s);
}
