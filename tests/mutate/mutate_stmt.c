/* mutate_stmt.c: one part of a statement gone wrong. */
#include "mutate.h"

/* ---- Compute ---------------------------------------------------------------------------- */

static const struct {
    OpId from, to;
} OTHER_OPS[] = {
    {OP_ADD, OP_SUBTRACT},      {OP_ADD, OP_MULTIPLY},    {OP_SUBTRACT, OP_ADD},   {OP_MULTIPLY, OP_DIVIDE},
    {OP_MULTIPLY, OP_ADD},      {OP_DIVIDE, OP_MULTIPLY}, {OP_EXP, OP_EXP2},       {OP_ROW_SUM, OP_ROW_MAX},
    {OP_ROW_MEAN, OP_ROW_SUM},  {OP_SQRT, OP_RSQRT},      {OP_RSQRT, OP_SQRT},     {OP_ROW_MAX, OP_ROW_MIN},
    {OP_ROW_SUM, OP_COL_SUM},   {OP_ROW_MEAN, OP_COL_SUM}, {OP_SQUARE, OP_SQRT},
};

static void swap(Expr **a, Expr **b)
{
    Expr *kept = *a;

    *a = *b;
    *b = kept;
}

static bool commutes(OpId op)
{
    return op == OP_ADD || op == OP_MULTIPLY || op == OP_MAX || op == OP_MIN;
}

static void other_tile(Mutator *m, Expr *e, const char *kind)
{
    while (e && e->kind != EXPR_NAME)
        e = e->a;
    for (int i = 0; e && i < m->tiles.len && !m->done; i++) {
        bool is_tile = false;

        for (int k = 0; k < m->tiles.len; k++)
            is_tile |= strcmp(m->tiles.data[k], e->name) == 0;
        if (is_tile && strcmp(m->tiles.data[i], e->name) != 0 &&
            mutate_offer(m, kind, "%s for %s", m->tiles.data[i], e->name))
            e->name = m->tiles.data[i];
    }
}

static void transpositions(Mutator *m, Stmt *s)
{
    for (int i = 0; i < s->n_args && s->op == OP_GEMM && !m->done; i++) {
        Expr **e = &s->args[i];
        bool turned = (*e)->kind == EXPR_TRANSPOSE;

        if (mutate_offer(m, turned ? "lost .T" : "added .T", "in `%s`", mutate_line(m, s)))
            *e = turned ? (*e)->a : expr_transpose(m->arena, *e);
    }
}

static void results(Mutator *m, Stmt *s)
{
    ResultKind was = s->result;

    if (was == RESULT_ACCUMULATE && mutate_offer(m, "get for accumulate", "in `%s`", mutate_line(m, s)))
        s->result = RESULT_GET_NEW;
    else if ((was == RESULT_GET || was == RESULT_GET_NEW) &&
             mutate_offer(m, "accumulate for get", "in `%s`", mutate_line(m, s)))
        s->result = RESULT_ACCUMULATE;
}

static void softmax(Mutator *m, Stmt *s)
{
    if (s->n_with == 2 && mutate_offer(m, "swapped operands", "M and L of the softmax"))
        swap(&s->with[0], &s->with[1]);
    else if (s->n_with == 2 && mutate_offer(m, "lost softmax state", "in `%s`", mutate_line(m, s)))
        s->n_with = 0;
}

static void clauses(Mutator *m, Stmt *s)
{
    if (s->otherwise && mutate_offer(m, "lost else", "in `%s`", mutate_line(m, s)))
        s->otherwise = NULL;
    else if (s->otherwise)
        mutate_expr(m, &s->otherwise, "changed constant");
    else if (s->op == OP_MASK && mutate_offer(m, "changed constant", "else 0 in `%s`", mutate_line(m, s)))
        s->otherwise = expr_int(m->arena, 0);
    mutate_expr(m, &s->where, "wrong Mask");
}

static void compute(Mutator *m, Stmt *s)
{
    for (size_t i = 0; i < TW_COUNT(OTHER_OPS); i++)
        if (s->op == OTHER_OPS[i].from &&
            mutate_offer(m, "wrong operation", "%s for %s", op_info(OTHER_OPS[i].to)->name, op_info(s->op)->name)) {
            s->op = OTHER_OPS[i].to;
            s->op_name = op_info(s->op)->name;
        }
    if (!m->done && s->n_args == 2 && !commutes(s->op) &&
        mutate_offer(m, "swapped operands", "in `%s`", mutate_line(m, s)))
        swap(&s->args[0], &s->args[1]);
    transpositions(m, s);
    for (int i = 0; i < s->n_args && !m->done; i++) {
        other_tile(m, s->args[i], "wrong operand");
        mutate_expr(m, &s->args[i], "changed constant");
    }
    if (!m->done)
        results(m, s);
    if (!m->done && s->dest)
        other_tile(m, s->dest, "wrong result");
    if (!m->done)
        softmax(m, s);
    if (!m->done)
        clauses(m, s);
}

/* ---- Copy -------------------------------------------------------------------------------- */

static bool is_head_mapping(const Expr *e)
{
    return e->kind == EXPR_BINARY;
}

static void coordinate(Mutator *m, Stmt *s, int i)
{
    Coord *c = &s->coords[i];
    const char *kind = is_head_mapping(c->value) ? "wrong head mapping" : "wrong coordinate";

    mutate_expr(m, &c->value, kind);
    if (mutate_offer(m, "wrong coordinate", "%s + 1 in `%s`", c->name, mutate_line(m, s))) {
        c->value = expr_binary(m->arena, EO_ADD, c->value, expr_int(m->arena, 1));
    } else if (mutate_offer(m, "wrong coordinate", "%s - 1 in `%s`", c->name, mutate_line(m, s))) {
        c->value = expr_binary(m->arena, EO_SUB, c->value, expr_int(m->arena, 1));
    } else if (i + 1 < s->n_coords &&
               mutate_offer(m, "swapped coordinates", "%s and %s in `%s`", c->name, c[1].name, mutate_line(m, s))) {
        swap(&c->value, &c[1].value);
    } else if (mutate_offer(m, "dropped coordinate", "%s in `%s`", c->name, mutate_line(m, s))) {
        memmove(c, c + 1, (size_t)(s->n_coords - 1 - i) * sizeof *c);
        s->n_coords--;
    }
}

static void shape(Mutator *m, Stmt *s)
{
    for (int i = 0; i < s->n_shape && !m->done; i++)
        mutate_expr(m, &s->shape[i], "wrong tile shape");
    if (!m->done && s->n_shape == 2 && mutate_offer(m, "wrong tile shape", "turned in `%s`", mutate_line(m, s)))
        swap(&s->shape[0], &s->shape[1]);
    else if (!m->done && s->n_shape == 2 &&
             mutate_offer(m, "wrong tile shape", "one size in `%s`", mutate_line(m, s)))
        s->n_shape = 1;
}

static Space other_space(Space space, int n)
{
    return (Space)(((int)space - (int)SPACE_GLOBAL + n) % 3 + (int)SPACE_GLOBAL);
}

static void spaces(Mutator *m, Stmt *s)
{
    for (int n = 1; n <= 2 && !m->done; n++) {
        if (mutate_offer(m, "wrong memory space", "%s in `%s`", space_name(other_space(s->space, n)),
                         mutate_line(m, s)))
            s->space = other_space(s->space, n);
        else if (s->kind == STMT_COPY && mutate_offer(m, "wrong memory space", "to %s in `%s`",
                                                      space_name(other_space(s->to_space, n)), mutate_line(m, s)))
            s->to_space = other_space(s->to_space, n);
    }
}

/* A sum over blocks that is stored, and the other way round. */
static void sums(Mutator *m, Stmt *s)
{
    if (s->to_space != SPACE_GLOBAL)
        return;
    if (s->result == RESULT_ACCUMULATE && mutate_offer(m, "store for accumulate", "`%s`", mutate_line(m, s)))
        s->result = RESULT_NONE;
    else if (s->result == RESULT_NONE && mutate_offer(m, "accumulate for store", "`%s`", mutate_line(m, s)))
        s->result = RESULT_ACCUMULATE;
}

/* Another tensor of the kernel. */
static void other_tensor(Mutator *m, Stmt *s)
{
    const char **name = s->as && s->to_space == SPACE_GLOBAL ? &s->as : &s->name;

    for (int i = 0; copy_tensor(s) && i < m->unit->body.len && !m->done; i++) {
        const Stmt *t = m->unit->body.data[i];

        if ((t->kind == STMT_INPUT || t->kind == STMT_OUTPUT) && strcmp(t->name, *name) != 0 && s->as &&
            mutate_offer(m, "wrong tensor", "%s in `%s`", t->name, mutate_line(m, s)))
            *name = t->name;
    }
}

static void copy(Mutator *m, Stmt *s)
{
    sums(m, s);
    if (!m->done)
        other_tensor(m, s);
    for (int i = 0; i < s->n_coords && !m->done; i++)
        coordinate(m, s, i);
    shape(m, s);
    spaces(m, s);
    for (int i = 0; i < m->tiles.len && !m->done; i++)
        if (strcmp(m->tiles.data[i], s->name) != 0 &&
            mutate_offer(m, "wrong operand", "%s in `%s`", m->tiles.data[i], mutate_line(m, s)))
            s->name = m->tiles.data[i];
}

/* ---- declarations -------------------------------------------------------------------------- */

static void dtypes(Mutator *m, Stmt *s)
{
    static const DType others[] = {DT_F32, DT_BF16, DT_F16};

    for (int i = 0; i < 3 && s->has_dtype && !m->done; i++)
        if (others[i] != s->dtype && mutate_offer(m, "wrong dtype", "%s in `%s`", dtype_name(others[i]), mutate_line(m, s)))
            s->dtype = others[i];
    if (!m->done && s->has_dtype && mutate_offer(m, "wrong dtype", "none in `%s`", mutate_line(m, s)))
        s->has_dtype = false;
}

static void tensor(Mutator *m, Stmt *s)
{
    for (int i = 0; i + 1 < s->n_shape && !m->done; i++)
        if (mutate_offer(m, "wrong dimensions", "%d and %d in `%s`", i, i + 1, mutate_line(m, s)))
            swap(&s->shape[i], &s->shape[i + 1]);
    for (int i = 0; i < s->n_shape && !m->done; i++)
        mutate_expr(m, &s->shape[i], "wrong dimensions");
    dtypes(m, s);
}

static void grid(Mutator *m, Stmt *s)
{
    for (int i = 0; i < s->n_coords && !m->done; i++) {
        mutate_expr(m, &s->coords[i].value, "wrong grid");
        if (!m->done && i + 1 < s->n_coords && mutate_offer(m, "wrong grid", "extents %d and %d swapped", i, i + 1)) {
            swap(&s->coords[i].value, &s->coords[i + 1].value);
        } else if (!m->done && mutate_offer(m, "wrong grid", "without %s", s->coords[i].name)) {
            memmove(s->coords + i, s->coords + i + 1, (size_t)(s->n_coords - 1 - i) * sizeof *s->coords);
            s->n_coords--;
        } else if (!m->done && s->coords[i].value->kind == EXPR_NAME &&
                   mutate_offer(m, "wrong grid", "%s + 1", s->coords[i].value->name)) {
            s->coords[i].value = expr_binary(m->arena, EO_ADD, s->coords[i].value, expr_int(m->arena, 1));
        }
    }
}

static bool is_schedule_line(const Mutator *m, const Stmt *s)
{
    for (int i = 0; i < m->unit->body.len; i++)
        if (m->unit->body.data[i] == s)
            return false;
    return true;
}

static void assignment(Mutator *m, Stmt *s)
{
    bool schedule = is_schedule_line(m, s);

    if (schedule && mutate_offer(m, "wrong Schedule", "%s = 0", s->name))
        s->value = expr_int(m->arena, 0);
    else if (!schedule && s->value->kind == EXPR_INT &&
             mutate_offer(m, "changed constant", "half of %lld for %s", (long long)s->value->i, s->name))
        s->value = expr_int(m->arena, s->value->i / 2);
    else
        mutate_expr(m, &s->value, schedule ? "wrong Schedule" : "changed constant");
}

static void loop(Mutator *m, Stmt *s)
{
    mutate_expr(m, &s->lo, "wrong loop bound");
    mutate_expr(m, &s->hi, "wrong loop bound");
}

static void reshape(Mutator *m, Stmt *s)
{
    if (mutate_offer(m, "wrong Reshape", "the other way round")) {
        Expr **from = s->shape;

        s->shape = s->to_shape;
        s->to_shape = from;
    }
    for (int i = 0; i < m->tiles.len && !m->done; i++)
        if (strcmp(m->tiles.data[i], s->name) != 0 && mutate_offer(m, "wrong Reshape", "of %s", m->tiles.data[i]))
            s->name = m->tiles.data[i];
}

void mutate_stmt(Mutator *m, Stmt *s)
{
    if (m->done)
        return;
    switch (s->kind) {
    case STMT_INPUT:
    case STMT_OUTPUT: tensor(m, s); break;
    case STMT_ASSIGN: assignment(m, s); break;
    case STMT_GRID: grid(m, s); break;
    case STMT_ALLOCATE:
        shape(m, s);
        spaces(m, s);
        dtypes(m, s);
        break;
    case STMT_COPY: copy(m, s); break;
    case STMT_COMPUTE: compute(m, s); break;
    case STMT_RESHAPE: reshape(m, s); break;
    case STMT_FOR: loop(m, s); break;
    case STMT_PARAM:
    case STMT_LET:
    case STMT_INDEX:
    case STMT_IF:
    case STMT_DEFINE:
    case STMT_SCHEDULE:
    case STMT_COUNT: break;
    }
}
