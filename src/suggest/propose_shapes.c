/* propose_shapes.c: tiles in registers that code does not allocate: how large each is follows from what all statements make of
 * those that are known.
 *
 *   Compute Fill M, -inf                 Allocate M in register (BM, 1) fp32
 *   for j = 0:n                          Compute Fill M, -inf
 *     Compute RowMax S and get m    ─►   for j = 0:n
 *     Compute Max M, m and get N           ...
 *     Compute Add N, 0 and get M
 *
 * A number is of one row and one column, and what elements of two tiles give of as many as the larger one has; so the smallest
 * sizes are found that fit all statements.
 */
#include "suggest/cuts.h"

enum { MOST_TILES = 64 };

/* NULL: one row, or column, as far as is known. */
typedef struct Sized {
    const char *name;
    const Expr *rows, *cols;
} Sized;

typedef struct Shapes {
    Suggester *s;
    Sized tiles[MOST_TILES];
    int n;
    bool grown; /* with the last statement */
} Shapes;

static Sized *tile_of(Shapes *p, const char *name)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->tiles[i].name, name) == 0)
            return &p->tiles[i];
    if (p->n == MOST_TILES)
        return NULL;
    p->tiles[p->n] = (Sized){.name = name};
    return &p->tiles[p->n++];
}

static void grow(Shapes *p, const Expr **side, const Expr *to)
{
    p->grown |= to && !*side;
    *side = *side ? *side : to;
}

static void note(Shapes *p, const char *name, const Expr *rows, const Expr *cols)
{
    Sized *tile = name ? tile_of(p, name) : NULL;

    if (tile) {
        grow(p, &tile->rows, rows);
        grow(p, &tile->cols, cols);
    }
}

static const Expr *side(const Expr *e)
{
    return e && e->kind == EXPR_INT && e->i == 1 ? NULL : e;
}

/* Of a tile that is allocated, or copied. */
static void note_declared(void *user, const Stmt *s)
{
    bool copied = s->kind == STMT_COPY && s->to_space != SPACE_GLOBAL && s->space == SPACE_GLOBAL;
    const char *name = copied ? copy_tile(s) : s->kind == STMT_ALLOCATE && s->space != SPACE_GLOBAL ? s->name : NULL;
    int n = s->n_shape;

    if (name && n)
        note(user, name, side(s->shape[n == 1 ? 0 : n - 2]), n == 1 ? NULL : side(s->shape[n - 1]));
}

/* Of an operand; a part of a tile is of a size that is not worked out. */
static Sized operand(Shapes *p, const Expr *e)
{
    const Sized *tile;

    if (e->kind == EXPR_TRANSPOSE) {
        Sized turned = operand(p, e->a);
        return (Sized){turned.name, turned.cols, turned.rows};
    }
    if (e->kind == EXPR_SPACE)
        return operand(p, e->a);
    tile = e->kind == EXPR_NAME ? tile_of(p, e->name) : NULL;
    return tile ? *tile : (Sized){0};
}

static Sized elements(Shapes *p, const Stmt *s)
{
    Sized all = {0};

    for (int i = 0; i < s->n_args; i++) {
        Sized one = operand(p, s->args[i]);
        all.rows = all.rows ? all.rows : one.rows;
        all.cols = all.cols ? all.cols : one.cols;
    }
    return all;
}

static Sized result_of(Shapes *p, const Stmt *s)
{
    Sized first = s->n_args ? operand(p, s->args[0]) : (Sized){0};

    switch (op_info(s->op)->class) {
    case OPC_ROW_REDUCE: return (Sized){.rows = first.rows};
    case OPC_COL_REDUCE: return (Sized){.cols = first.cols};
    case OPC_GEMM: return s->n_args == 2 ? (Sized){.rows = first.rows, .cols = operand(p, s->args[1]).cols} : (Sized){0};
    case OPC_DEFINE: return s->n_shape == 2 ? (Sized){.rows = side(s->shape[0]), .cols = side(s->shape[1])} : (Sized){0};
    case OPC_ELEMENT: case OPC_FILL: return elements(p, s);
    case OPC_SOFTMAX: case OPC_MASK: case OPC_CAST: return first;
    case OPC_GROUP_REDUCE: case OPC_REARRANGE: case OPC_SELECT: return (Sized){0};
    }
    return (Sized){0};
}

static void note_computed(void *user, const Stmt *s)
{
    Shapes *p = user;
    const Expr *to = s->kind == STMT_COMPUTE && s->op_known ? compute_result(s) : NULL;
    Sized made = to && to->kind == EXPR_NAME ? result_of(p, s) : (Sized){0};

    if (to && to->kind == EXPR_NAME)
        note(p, to->name, made.rows, made.cols);
    for (int i = 0; s->kind == STMT_COMPUTE && s->n_args && i < s->n_with; i++)
        if (s->with[i]->kind == EXPR_NAME)
            note(p, s->with[i]->name, operand(p, s->args[0]).rows, NULL);
}

static const char *size_text(Suggester *s, const Expr *size)
{
    return size ? suggest_expr(s, size) : "1";
}

bool propose_worked_out(Suggester *s)
{
    int len = s->diag->span.end - s->diag->span.start;
    const char *name = arena_strndup(s->arena, s->source->text + s->diag->span.start, (size_t)len), *line;
    Shapes shapes = {.s = s, .grown = true};
    const Sized *tile;
    Cuts cuts = cuts_of(s);

    if (!s->unit || !s->stmt || s->stmt->kind != STMT_COMPUTE || cuts_tile(&cuts, name, SPACE_SHARED)) /* where it is may be wrong, not its size */
        return false;
    suggest_each(&s->unit->body, note_declared, &shapes);
    while (shapes.grown) {
        shapes.grown = false;
        suggest_each(&s->unit->body, note_computed, &shapes);
    }
    tile = tile_of(&shapes, name);
    if (!tile || (!tile->rows && !tile->cols))
        return false;
    line = arena_printf(s->arena, "%sAllocate %s in register (%s, %s) fp32\n", suggest_indent(s, s->path[0]->span.start), name, size_text(s, tile->rows), size_text(s, tile->cols));
    return suggest_edit(s, suggest_before(s, s->path[0]), line, "allocate it");
}
