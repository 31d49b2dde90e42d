/* propose_rounding.c: a number that is rounded within a formula.
 *
 *   Compute Define Y (M, N) as cast(2 * X[row, col], bf16) + 1     Compute Define Y_exact (M, N) as 2 * X[row, col]
 *                                                                  Compute Cast Y_exact, bf16 and get Y_rounded
 *                                                                  Compute Define Y (M, N) as Y_rounded[row, col] + 1
 *
 * A formula is of real numbers; tensors have types.
 */
#include "suggest/cuts.h"

/* The call that the diagnostic is said of. */
typedef struct Call {
    int start;
    const Expr **found;
} Call;

static bool is_call(const void *user, const Expr *e)
{
    const Call *call = user;

    if (e->kind == EXPR_CALL && e->span.start == call->start)
        *call->found = e;
    return *call->found != NULL;
}

/* The type that a call rounds to: `bf16(e)`, `cast(e, bf16)`; NULL: it is no such call. */
static const char *type_of(const Expr *call)
{
    static const char *const words[] = {"cast", "to", "astype", "convert", "round_to", "static_cast"};
    DType dtype;

    if (call->n_args == 1 && dtype_parse(call->name, &dtype))
        return dtype_name(dtype);
    if (call->n_args != 2 || call->args[1]->kind != EXPR_NAME || !dtype_parse(call->args[1]->name, &dtype))
        return NULL;
    for (size_t i = 0; i < TW_COUNT(words); i++)
        if (text_equal_nocase(call->name, words[i]))
            return dtype_name(dtype);
    return NULL;
}

static const char *shape_text(Suggester *s, const Stmt *stmt)
{
    Str text = str_new(s->arena);

    for (int i = 0; i < stmt->n_shape; i++)
        str_printf(&text, "%s%s", i ? ", " : "", suggest_expr(s, stmt->shape[i]));
    return str_text(&text);
}

static const char *source_text(const Suggester *s, int from, int to)
{
    return arena_strndup(s->arena, s->source->text + from, (size_t)(to - from));
}

bool propose_rounding(Suggester *s)
{
    const Expr *found = NULL;
    const Call call = {s->diag->span.start, &found};
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_DEFINE ? s->stmt : NULL;

    if (!stmt || !s->unit || s->unit->kind != UNIT_OPERATOR || stmt->n_shape != 2 || stmt->n_args < 1 || !expr_any(stmt->value, is_call, &call))
        return false;
    const char *type = type_of(found), *name = expr_base_name(stmt->args[0]);
    if (!type || !name)
        return false;
    bool all = found == stmt->value;
    const char *exact = arena_printf(s->arena, "%s_exact", name), *rounded = all ? name : arena_printf(s->arena, "%s_rounded", name);
    const char *indent = suggest_indent(s, stmt->span.start), *shape = shape_text(s, stmt);
    const char *inner = source_text(s, found->args[0]->span.start, found->args[0]->span.end);
    Str text = str_new(s->arena);

    str_printf(&text, "Compute Define %s (%s) as %s\n%sCompute Cast %s, %s and get %s", exact, shape, inner, indent, exact, type, rounded);
    if (!all)
        str_printf(&text, "\n%s%s%s[row, col]%s", indent, source_text(s, stmt->span.start, found->span.start), rounded,
                   source_text(s, found->span.end, stmt->span.end));
    return suggest_edit(s, stmt->span, str_text(&text), "a tensor is rounded");
}
