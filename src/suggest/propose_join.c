/* propose_join.c: tensors beside each other, as a Define that reads the one or the other.
 *
 *   Compute Concat A, B and get C            Compute Define C (M, K + N) as where(col < K, A[..., col], B[..., col - K])
 *   Compute Concat -X[..., D div 2:],        Compute Define R (len, D) as
 *       X[..., :D div 2] and get R               where(col < D div 2, -X[..., col + D div 2], X[..., col - D div 2])
 *
 * An operand is a tensor, what arithmetic makes of one element by element, a part of its columns, with a sign or without,
 * or a name for that.
 */
#include "suggest/cuts.h"

/* Columns of a tensor. */
typedef struct Side {
    const Stmt *like;  /* the tensor whose other dimensions it has */
    const char *name;  /* what is read */
    const char *sign;  /* "-" or "" */
    const char *from;  /* the first column; NULL: all of them */
    const char *width;
} Side;

static const Expr *last_dim(const Stmt *tensor)
{
    return tensor->shape[tensor->n_shape - 1];
}

/* ---- operands ------------------------------------------------------------------------------------------ */

static const Stmt *maker_of(const Suggester *s, const char *name)
{
    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *made = s->unit->body.data[i];
        const Expr *result = made->kind == STMT_COMPUTE && made->op_known ? compute_result(made) : NULL;

        if (result && expr_is_name(result, name) && made->n_args > 0 && !expr_is_name(made->args[0], name) &&
            (op_info(made->op)->class == OPC_ELEMENT || op_info(made->op)->class == OPC_CAST))
            return made;
    }
    return NULL;
}

/* What a line of the definition gives a name to; NULL: none does. */
static const Expr *bound(const Suggester *s, const char *name)
{
    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];

        if ((stmt->kind == STMT_ASSIGN || stmt->kind == STMT_LET) && stmt->value && stmt->name && strcmp(stmt->name, name) == 0)
            return stmt->value;
    }
    return NULL;
}

/* An integer quotient where a real one was written. */
static const char *whole(Suggester *s, const Expr *e)
{
    const char *text = suggest_expr(s, e);

    return e->kind == EXPR_BINARY && e->op == EO_DIV ? arena_printf(s->arena, "%s div %s", suggest_expr(s, e->a), suggest_expr(s, e->b)) : text;
}

static bool side_of(Suggester *s, const Cuts *cuts, const Expr *e, int depth, Side *side);

static bool part_of(Suggester *s, const Cuts *cuts, const Expr *e, int depth, Side *side)
{
    const Expr *range = e->n_args ? e->args[e->n_args - 1] : NULL;

    for (int i = 0; i + 1 < e->n_args; i++)
        if (e->args[i]->kind != EXPR_ELLIPSIS && !(e->args[i]->kind == EXPR_RANGE && !e->args[i]->a && !e->args[i]->b))
            return false;
    if (!range || range->kind != EXPR_RANGE || !side_of(s, cuts, e->a, depth + 1, side) || side->from)
        return false;
    const char *lo = range->a ? whole(s, range->a) : NULL, *hi = range->b ? whole(s, range->b) : side->width;
    side->from = lo && strcmp(lo, "0") != 0 ? lo : NULL;
    side->width = side->from ? arena_printf(s->arena, "%s - %s", hi, lo) : hi;
    return true;
}

/* False: its columns are not known. */
static bool side_of(Suggester *s, const Cuts *cuts, const Expr *e, int depth, Side *side)
{
    const Stmt *tensor = e->kind == EXPR_NAME ? cuts_tensor(cuts, e->name) : NULL;
    const Stmt *made = e->kind == EXPR_NAME && !tensor ? maker_of(s, e->name) : NULL;
    const Expr *value = e->kind == EXPR_NAME && !tensor && !made ? bound(s, e->name) : NULL;

    if (depth > SUGGEST_MAX_DEPTH)
        return false;
    if (value)
        return side_of(s, cuts, value, depth + 1, side);
    if (made) { /* its elements, whose columns are counted from its own first one */
        if (!side_of(s, cuts, made->args[0], depth + 1, side))
            return false;
        *side = (Side){.like = side->like, .name = e->name, .sign = "", .width = side->width};
        return true;
    }
    if (tensor && tensor->n_shape) {
        *side = (Side){.like = tensor, .name = tensor->name, .sign = "", .width = suggest_expr(s, last_dim(tensor))};
        return true;
    }
    if (e->kind == EXPR_UNARY && e->op == EO_NEG) {
        bool known = side_of(s, cuts, e->a, depth + 1, side) && !*side->sign;
        side->sign = "-";
        return known;
    }
    return e->kind == EXPR_INDEX && e->a && part_of(s, cuts, e, depth, side);
}

/* ---- what it becomes ------------------------------------------------------------------------------------ */

/* The element of a side whose columns begin behind so many. */
static const char *element(Suggester *s, const Side *side, const char *behind)
{
    const char *at = "col";

    if (behind && side->from && strcmp(behind, side->from) == 0)
        behind = NULL, at = "col";
    else if (side->from)
        at = arena_printf(s->arena, "col + %s", side->from);
    if (behind)
        at = arena_printf(s->arena, strpbrk(behind, "+-") ? "%s - (%s)" : "%s - %s", at, behind);
    return arena_printf(s->arena, "%s%s[..., %s]", side->sign, side->name, at);
}

static bool try_width(Suggester *s, const Side sides[2], const char *width)
{
    const char *first = sides[0].width;
    Str shape = str_new(s->arena);

    for (int i = 0; i + 1 < sides[0].like->n_shape; i++)
        str_printf(&shape, "%s, ", suggest_expr(s, sides[0].like->shape[i]));
    return suggest_edit(s, s->stmt->span,
                        arena_printf(s->arena, "Compute Define %s (%s%s) as where(col < %s, %s, %s)", suggest_expr(s, s->stmt->dest), str_text(&shape), width, first,
                                     element(s, &sides[0], NULL), element(s, &sides[1], first)),
                        "one beside the other");
}

/* One below the other, of matrices: outside of a tensor elements read as 0. */
static bool try_rows(Suggester *s, const Side sides[2])
{
    const Stmt *a = sides[0].like, *b = sides[1].like;
    bool plain = !sides[0].from && !sides[1].from && !*sides[0].sign && !*sides[1].sign && a->n_shape == 2 && b->n_shape == 2;

    if (!plain)
        return false;
    const char *first = suggest_expr(s, a->shape[0]), *second = suggest_expr(s, b->shape[0]);
    const char *rows = strcmp(first, second) == 0 ? arena_printf(s->arena, "2 * %s", first) : arena_printf(s->arena, "%s + %s", first, second);
    return suggest_edit(s, s->stmt->span,
                        arena_printf(s->arena, "Compute Define %s (%s, %s) as %s[row, col] + %s[row - %s, col]", suggest_expr(s, s->stmt->dest), rows, suggest_expr(s, a->shape[1]),
                                     sides[0].name, sides[1].name, first),
                        "one below the other");
}

/* `Concat A, B`. */
bool propose_joined(Suggester *s)
{
    static const char *const names[] = {"Concat", "Concatenate", "Cat"};
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 2 && s->stmt->dest ? s->stmt : NULL;
    Cuts cuts = cuts_of(s);
    Side sides[2];
    bool named = false;

    for (size_t i = 0; stmt && i < TW_COUNT(names); i++)
        named |= text_equal_nocase(stmt->op_name, names[i]);
    if (!named || s->unit->kind != UNIT_OPERATOR || !side_of(s, &cuts, stmt->args[0], 0, &sides[0]) || !side_of(s, &cuts, stmt->args[1], 0, &sides[1]))
        return false;
    const char *all = suggest_expr(s, last_dim(sides[0].like)), *sum = arena_printf(s->arena, "%s + %s", sides[0].width, sides[1].width);
    bool halves = sides[0].like == sides[1].like && (sides[0].from || sides[1].from || strcmp(sides[0].width, all) != 0);
    return (halves && try_width(s, sides, all)) || try_width(s, sides, strcmp(sides[0].width, sides[1].width) == 0 ? arena_printf(s->arena, "2 * %s", sides[0].width) : sum) ||
           try_rows(s, sides);
}
