/* cuts.c: how the statements of a kernel cut dimensions into tiles. */
#include "suggest/cuts.h"

const char *suggest_expr(Suggester *s, const Expr *e)
{
    Str text = str_new(s->arena);

    lang_print_expr(&text, e);
    return str_text(&text);
}

Cut *cut_of(Cuts *cuts, const char *dim)
{
    for (int i = 0; i < cuts->list.len; i++)
        if (strcmp(cuts->list.data[i].dim, dim) == 0)
            return &cuts->list.data[i];
    vec_push(cuts->s->arena, &cuts->list, (Cut){.dim = dim});
    return &cuts->list.data[cuts->list.len - 1];
}

static void note(Cuts *cuts, const char *dim, const char *size, const char *coord)
{
    Cut *cut = cut_of(cuts, dim);

    if (!cut->size)
        cut->size = size;
    if (!cut->coord)
        cut->coord = coord;
}

const Stmt *cuts_tensor(const Cuts *cuts, const char *name)
{
    for (int i = 0; name && i < cuts->tensors.len; i++)
        if (strcmp(cuts->tensors.data[i]->name, name) == 0)
            return cuts->tensors.data[i];
    return NULL;
}

const Stmt *cuts_tile(const Cuts *cuts, const char *name, Space space)
{
    for (int i = 0; name && i < cuts->allocated.len; i++)
        if (cuts->allocated.data[i]->space == space && strcmp(cuts->allocated.data[i]->name, name) == 0)
            return cuts->allocated.data[i];
    return NULL;
}

static void note_declared(void *user, const Stmt *stmt)
{
    Cuts *cuts = user;

    if (stmt->kind == STMT_INPUT || stmt->kind == STMT_OUTPUT)
        vec_push(cuts->s->arena, &cuts->tensors, stmt);
    if (stmt->kind == STMT_ALLOCATE)
        vec_push(cuts->s->arena, &cuts->allocated, stmt);
}

static void note_copy(void *user, const Stmt *stmt)
{
    Cuts *cuts = user;
    const Stmt *tensor = stmt->kind == STMT_COPY && stmt != cuts->s->stmt ? cuts_tensor(cuts, copy_tensor(stmt)) : NULL;

    int lead = tensor ? tensor->n_shape - stmt->n_shape : 0; /* dimensions that the tile does not run along */

    for (int i = lead < 0 ? -lead : 0; tensor && i < stmt->n_shape; i++)
        note(cuts, suggest_expr(cuts->s, tensor->shape[lead + i]), suggest_expr(cuts->s, stmt->shape[i]), NULL);
    for (int i = 0; tensor && i < stmt->n_coords; i++)
        if (stmt->coords[i].value && (stmt->coords[i].name || i < tensor->n_shape))
            note(cuts, stmt->coords[i].name ? stmt->coords[i].name : suggest_expr(cuts->s, tensor->shape[i]), NULL,
                 suggest_expr(cuts->s, stmt->coords[i].value));
}

/* `m = ceil(M / BM)`, of the grid or of a loop. */
static void note_count(Cuts *cuts, const char *counter, const Expr *end)
{
    const Expr *inner = end && end->kind == EXPR_CALL && end->n_args == 1 ? end->args[0] : end;

    if (inner && inner->kind == EXPR_BINARY && (inner->op == EO_DIV || inner->op == EO_IDIV))
        note(cuts, suggest_expr(cuts->s, inner->a), suggest_expr(cuts->s, inner->b), counter);
    else if (inner && inner->kind == EXPR_NAME)
        note(cuts, inner->name, NULL, counter);
}

static void note_counters(void *user, const Stmt *stmt)
{
    Cuts *cuts = user;

    for (int i = 0; stmt->kind == STMT_GRID && i < stmt->n_coords; i++)
        note_count(cuts, stmt->coords[i].name, stmt->coords[i].value);
    if (stmt->kind == STMT_FOR && stmt->hi)
        note_count(cuts, stmt->name, stmt->hi);
}

Cuts cuts_of(Suggester *s)
{
    Cuts cuts = {.s = s};

    if (s->unit) {
        suggest_each(&s->unit->body, note_declared, &cuts);
        suggest_each(&s->unit->body, note_copy, &cuts);
        suggest_each(&s->unit->body, note_counters, &cuts);
    }
    return cuts;
}

const Stmt *cuts_shaped_as(const Cuts *cuts, const char *name, int depth)
{
    const Stmt *tensor = cuts_tensor(cuts, name);
    const Unit *unit = cuts->s->unit;

    for (int i = 0; !tensor && depth < SUGGEST_MAX_DEPTH && i < unit->body.len; i++) {
        const Stmt *made = unit->body.data[i];
        const Expr *result = made->kind == STMT_COMPUTE && made->op_known ? compute_result(made) : NULL;

        if (result && expr_is_name(result, name) && made->n_args > 0 && made->args[0]->kind == EXPR_NAME &&
            !expr_is_name(made->args[0], name) && (op_info(made->op)->class == OPC_ELEMENT || op_info(made->op)->class == OPC_CAST))
            tensor = cuts_shaped_as(cuts, made->args[0]->name, depth + 1);
    }
    return tensor;
}
