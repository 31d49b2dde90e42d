/* sketch.c: what those have in common that rewrite a sketch when it is whole: fold.c, deepen.c, within.c. */
#include "fuse/flow.h"

static bool mentions(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->name && strcmp(s->name, name) == 0) || (s->as && strcmp(s->as, name) == 0) || expr_mentions(s->dest, name) ||
            mentions(&s->body, name))
            return true;
        for (int k = 0; k < s->n_with; k++)
            if (expr_mentions(s->with[k], name))
                return true;
        for (int k = 0; k < s->n_shape; k++)
            if (expr_mentions(s->shape[k], name))
                return true;
    }
    return false;
}

const char *sketch_fresh(Arena *arena, const Def *def, const Unit *unit, const char *wanted)
{
    const char *name = wanted;

    for (int i = 2; def_is_named(def, name) || mentions(&unit->body, name); i++)
        name = arena_printf(arena, "%s%d", wanted, i);
    return name;
}

bool sketch_is_product(const Stmt *s)
{
    return s->kind == STMT_COMPUTE && s->op_known && s->op == OP_GEMM && s->n_args == 2;
}

const char *sketch_operand(const Expr *operand)
{
    while (operand->kind == EXPR_TRANSPOSE || operand->kind == EXPR_SPACE)
        operand = operand->a;
    return operand->kind == EXPR_NAME ? operand->name : NULL;
}

Program *sketch_rewritten(Arena *arena, const Def *def, const Program *sketch, Unit *(*rewritten)(Arena *, const Def *, const Unit *))
{
    Program *with = arena_new_of(arena, Program);
    bool any = false;

    *with = *sketch;
    with->units.data = NULL;
    with->units.len = with->units.cap = 0;
    for (int i = 0; i < sketch->units.len; i++) {
        Unit *unit = sketch->units.data[i], *other = unit->kind == UNIT_KERNEL ? rewritten(arena, def, unit) : NULL;

        vec_push(arena, &with->units, other ? other : unit);
        any |= other != NULL;
    }
    return any ? with : NULL;
}
