/* propose_sorted.c: what sorts, as what there is.
 *
 *   Compute Sort X and get Y     ─►     Compute Define Y_ahead (M, N, N) as where(X[M, col] < X[M, row] or ..., 1, 0)
 *                                       Compute RowSum Y_ahead and get Y_rank
 *                                       Compute Define Y_moved (M, N, N) as where(Y_rank[M, col, 0] == row, X[M, col], 0)
 *                                       Compute RowSum Y_moved and get Y_sorted
 *                                       Compute Reshape Y_sorted and get Y (M, N)
 *
 * How many elements stand ahead of one, of equal ones those before it, is its place. What was at each place, and the
 * one in the middle, are made of the same counts.
 */
#include "suggest/cuts.h"

typedef struct Sorted {
    const char *x, *y;
    const char *shape, *lead, *n; /* lead: the dimensions but the last, each with a comma behind it */
    const char *indent;
} Sorted;

/* What is taken from the element that belongs at a place. */
static const struct {
    const char *names[3];
    const char *taken, *label; /* taken NULL: the element */
    bool middle;               /* of one place alone */
} KINDS[] = {
    {{"Sort", "RowSort", "SortRows"}, NULL, "each element where as many stand ahead of it", false},
    {{"ArgSort", "RowArgSort"}, "col", "each place where as many elements stand ahead of it", false},
    {{"Median", "RowMedian"}, NULL, "the element that half of the others stand ahead of", true},
};

static int kind_of(const Stmt *stmt)
{
    for (int i = 0; i < (int)TW_COUNT(KINDS); i++)
        for (size_t k = 0; k < TW_COUNT(KINDS[i].names) && KINDS[i].names[k]; k++)
            if (op_same_letters(stmt->op_name, KINDS[i].names[k]))
                return i;
    return -1;
}

static bool split_shape(Suggester *s, Sorted *w, const Stmt *tensor)
{
    Str shape = str_new(s->arena), lead = str_new(s->arena);

    for (int i = 0; i < tensor->n_shape; i++) {
        const char *dim = suggest_expr(s, tensor->shape[i]);
        if (i + 1 < tensor->n_shape && tensor->shape[i]->kind != EXPR_NAME)
            return false;
        str_printf(&shape, "%s%s", i ? ", " : "", dim);
        if (i + 1 < tensor->n_shape)
            str_printf(&lead, "%s, ", dim);
        w->n = dim;
    }
    w->shape = str_text(&shape);
    w->lead = str_text(&lead);
    return tensor->n_shape > 0;
}

static const char *written(Suggester *s, const Sorted *w, int kind)
{
    const char *in = w->indent, *x = w->x, *y = w->y;
    const char *taken = KINDS[kind].taken ? KINDS[kind].taken : arena_printf(s->arena, "%s[%scol]", x, w->lead);
    Str text = str_new(s->arena);

    str_printf(&text, "Compute Define %s_ahead (%s, %s) as where(%s[%scol] < %s[%srow] or %s[%scol] == %s[%srow] and col < row, 1, 0)\n", y, w->shape, w->n,
               x, w->lead, x, w->lead, x, w->lead, x, w->lead);
    str_printf(&text, "%sCompute RowSum %s_ahead and get %s_rank\n", in, y, y);
    if (KINDS[kind].middle) {
        str_printf(&text, "%sCompute Define %s_middle (%s) as where(%s_rank[%scol, 0] == (%s - 1) div 2, %s, 0)\n", in, y, w->shape, y, w->lead, w->n, taken);
        str_printf(&text, "%sCompute RowSum %s_middle and get %s", in, y, y);
        return str_text(&text);
    }
    str_printf(&text, "%sCompute Define %s_moved (%s, %s) as where(%s_rank[%scol, 0] == row, %s, 0)\n", in, y, w->shape, w->n, y, w->lead, taken);
    str_printf(&text, "%sCompute RowSum %s_moved and get %s_sorted\n", in, y, y);
    str_printf(&text, "%sCompute Reshape %s_sorted and get %s (%s)", in, y, y, w->shape);
    return str_text(&text);
}

/* Along the last dimension, in a definition. */
bool propose_sorted(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->unit && s->unit->kind == UNIT_OPERATOR && s->stmt->kind == STMT_COMPUTE && !s->stmt->op_known ? s->stmt : NULL;
    int kind = stmt ? kind_of(stmt) : -1;
    Cuts cuts = cuts_of(s);
    const Stmt *tensor = kind >= 0 && stmt->n_args == 1 && stmt->args[0]->kind == EXPR_NAME ? cuts_shaped_as(&cuts, stmt->args[0]->name, 0) : NULL;
    Sorted w = {0};

    if (!tensor || stmt->result != RESULT_GET || !stmt->dest || stmt->dest->kind != EXPR_NAME || !split_shape(s, &w, tensor))
        return false;
    if (stmt->over && strcmp(stmt->over, w.n) != 0)
        return false;
    w.x = stmt->args[0]->name;
    w.y = stmt->dest->name;
    w.indent = suggest_indent(s, stmt->span.start);
    return suggest_edit(s, stmt->span, written(s, &w, kind), KINDS[kind].label);
}
