/* expr.c: expressions over dimensions, read from TL text.
 *
 *   "ceil(q_len / 128) * 32 * batch"   ->   Aff
 *
 * The grammar is the language's own: the text is parsed as the right-hand side
 * of an assignment.
 */
#include "abi/parts.h"
#include "lang/eval.h"

/* The right-hand side of the only statement; NULL when the text is something else. */
static const Expr *parse(Arena *arena, Syms *syms, const Source *source, Diags *diags)
{
    const Program *program = lang_parse(arena, syms, source, diags);
    if (diags->errors || program->units.len != 1)
        return NULL;
    const Block *body = &program->units.data[0]->body;
    if (body->len != 1 || body->data[0]->kind != STMT_ASSIGN)
        return NULL;
    return body->data[0]->value;
}

static const char *first_message(const Diags *diags)
{
    return diags->list.len ? diags->list.data[0].message : "it is not an integer expression";
}

const Aff *abi_expr_parse(Arena *arena, Syms *syms, AffCtx *aff, const Abi *abi, const char *text,
                          const char **error)
{
    EvalEnv env;
    Source source = {.path = "", .text = arena_printf(arena, "value = %s\n", text)};
    Diags *diags = diags_new(arena, &source);
    source.len = strlen(source.text);
    eval_init(&env, arena, aff);
    for (int i = 0; i < abi->dims.len; i++)
        eval_bind(&env, sym(syms, abi->dims.data[i]->name), aff_of(aff, abi->dims.data[i]));
    const Expr *e = parse(arena, syms, &source, diags);
    const Aff *a = e ? eval_aff(&env, e, diags) : NULL;
    *error = a ? NULL : first_message(diags);
    return a;
}
