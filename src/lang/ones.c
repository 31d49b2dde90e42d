/* ones.c: a row of one gets a name, where a sketch multiplies it.
 *
 * Tensor cores take 16 rows or more. Of a dimension with a name tiles have as many as they take, and what lies beyond
 * it reads as 0 and is stored nowhere; a number of one means that a tile has one row.
 *
 *   Input  Q (batch, heads, 1, D)             Input  Q (batch, heads, rows, D)
 *   Output O (batch, heads, 1, D)             Output O (batch, heads, rows, D)
 *   Grid over heads, batch             ->     rows = 1
 *   Copy Q from global to shared              Grid over rows, heads, batch
 *   ...                                       ...
 *   Compute GEMM Q, K.T and get S
 *
 * That is done for what becomes the first operand of a product, and for what is stored.
 */
#include "lang/tree.h"

enum { MOST_DEPTH = 64 };

typedef struct Namer {
    Arena *arena;
    Unit *unit;
    VEC(const char *) tall;     /* tiles of several rows */
    VEC(const char *) operands; /* tiles that are first operands, and what these are made of */
    const char *rows;
    bool changed;
} Namer;

static const char *plain_name(const Expr *e)
{
    while (e && e->kind == EXPR_SPACE)
        e = e->a;
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

static bool is_operand(const Namer *n, const char *name)
{
    for (int i = 0; name && i < n->operands.len; i++)
        if (strcmp(n->operands.data[i], name) == 0)
            return true;
    return false;
}

static void add_operand(Namer *n, const char *name)
{
    if (!name || is_operand(n, name))
        return;
    vec_push(n->arena, &n->operands, name);
    n->changed = true;
}

static bool is_tall(const Namer *n, const char *name)
{
    for (int i = 0; name && i < n->tall.len; i++)
        if (strcmp(n->tall.data[i], name) == 0)
            return true;
    return false;
}

/* Whether a Copy brings several rows, as far as it says, or the tensor. */
static bool copies_rows(const Namer *n, const Stmt *s)
{
    const Stmt *tensor = s->space == SPACE_GLOBAL ? unit_tensor(n->unit, s->name) : NULL;

    if (s->space != SPACE_GLOBAL)
        return is_tall(n, s->name);
    if (s->has_shape)
        return s->n_shape == 2 && !expr_is_one(s->shape[0]);
    return tensor && tensor->n_shape >= 2 && !expr_is_one(tensor->shape[tensor->n_shape - 2]);
}

/* Whether an operation on elements has an operand of several rows, with which one row meets each of them. */
static bool meets_rows(const Namer *n, const Stmt *s)
{
    bool meets = false;

    for (int i = 0; op_info(s->op)->class == OPC_ELEMENT && i < s->n_args; i++)
        meets |= is_tall(n, plain_name(s->args[i]));
    return meets;
}

static bool computes_rows(const Namer *n, const Stmt *s)
{
    switch (op_info(s->op)->class) {
    case OPC_ELEMENT:
        return meets_rows(n, s);
    case OPC_ROW_REDUCE:
    case OPC_GEMM:
    case OPC_SOFTMAX:
    case OPC_MASK:
    case OPC_CAST:
        return s->n_args > 0 && is_tall(n, plain_name(s->args[0]));
    case OPC_COL_REDUCE:
    case OPC_FILL:
    case OPC_DEFINE:
    case OPC_GROUP_REDUCE:
    case OPC_REARRANGE:
    case OPC_SELECT:
        return false;
    }
    return false;
}

static void find_tall(Namer *n, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        const Stmt *s = block->data[i];
        const char *name = s->kind == STMT_COPY && s->to_space != SPACE_GLOBAL ? copy_dest(s)
                           : s->kind == STMT_COMPUTE && s->op_known            ? plain_name(compute_result(s))
                                                                               : NULL;

        if (name && !is_tall(n, name) && (s->kind == STMT_COPY ? copies_rows(n, s) : computes_rows(n, s))) {
            vec_push(n->arena, &n->tall, name);
            n->changed = true;
        }
        find_tall(n, &s->body, depth + 1);
        find_tall(n, &s->orelse, depth + 1);
    }
}

/* A first operand's rows are those of the first operand that it is made of, unless another has several. */
static void find_operands(Namer *n, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        const Stmt *s = block->data[i];
        bool computes = s->kind == STMT_COMPUTE && s->op_known && s->n_args > 0;

        if (computes && (op_info(s->op)->class == OPC_GEMM || (is_operand(n, plain_name(compute_result(s))) && !meets_rows(n, s))))
            add_operand(n, plain_name(s->args[0]));
        find_operands(n, &s->body, depth + 1);
        find_operands(n, &s->orelse, depth + 1);
    }
}

static bool copies_operand(const Namer *n, const Block *block, const Stmt *tensor, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        const Stmt *s = block->data[i];
        const char *name = s->kind == STMT_COPY ? copy_tensor(s) : NULL;

        if ((name && tensor->name && strcmp(name, tensor->name) == 0 && is_operand(n, copy_dest(s))) ||
            copies_operand(n, &s->body, tensor, depth + 1) || copies_operand(n, &s->orelse, tensor, depth + 1))
            return true;
    }
    return false;
}

/* The dimension of one that a tensor's rows are; of an Output of columns, M (batch, heads, 1), the last; -1: none. */
static int row_of_one(const Namer *n, const Stmt *s)
{
    bool output = s->kind == STMT_OUTPUT;

    if (s->n_shape < 2 || (!output && (s->kind != STMT_INPUT || !copies_operand(n, &n->unit->body, s, 0))))
        return -1;
    if (expr_is_one(s->shape[s->n_shape - 2]))
        return s->n_shape - 2;
    return output && expr_is_one(s->shape[s->n_shape - 1]) ? s->n_shape - 1 : -1;
}

static void name_in_copies(Namer *n, const Block *block, const char *tensor, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        const Stmt *s = block->data[i];
        const char *name = s->kind == STMT_COPY ? copy_tensor(s) : NULL;

        if (name && tensor && strcmp(name, tensor) == 0 && s->n_shape == 2 && expr_is_one(s->shape[0]))
            s->shape[0] = expr_name(n->arena, n->rows);
        name_in_copies(n, &s->body, tensor, depth + 1);
        name_in_copies(n, &s->orelse, tensor, depth + 1);
    }
}

static const char *free_name(const Namer *n)
{
    const char *name = "rows";

    for (int i = 2; block_mentions(&n->unit->body, name); i++)
        name = arena_printf(n->arena, "rows%d", i);
    return name;
}

/* Whether an operand has such a dimension, without which an Output's of one is a column's. */
static bool has_row_of_one(const Namer *n)
{
    for (int i = 0; i < n->unit->body.len; i++)
        if (n->unit->body.data[i]->kind == STMT_INPUT && row_of_one(n, n->unit->body.data[i]) >= 0)
            return true;
    return false;
}

/* Calls it `rows`, wherever a tensor has it. */
static void name_rows(Namer *n)
{
    for (int i = 0; i < n->unit->body.len; i++) {
        Stmt *s = n->unit->body.data[i];
        int d = s->kind == STMT_INPUT || s->kind == STMT_OUTPUT ? row_of_one(n, s) : -1;

        if (d < 0)
            continue;
        Expr *one = s->shape[d];
        s->shape[d] = expr_name(n->arena, n->rows);
        s->shape[d]->span = one->span;
        name_in_copies(n, &n->unit->body, s->name, 0);
    }
}

static Stmt *one_row(const Namer *n, const Stmt *grid)
{
    Stmt *s = arena_new_of(n->arena, Stmt);

    s->kind = STMT_ASSIGN;
    s->span = s->name_span = grid->span;
    s->name = n->rows;
    s->value = expr_int(n->arena, 1);
    return s;
}

/* Blocks are spread over the rows first of all. */
static void spread_rows(Namer *n, Stmt *grid)
{
    Coord *coords = arena_array(n->arena, Coord, grid->n_coords + 1);

    coords[0] = (Coord){.name = n->rows, .span = grid->span};
    for (int i = 0; i < grid->n_coords; i++)
        coords[i + 1] = grid->coords[i];
    grid->coords = coords;
    grid->n_coords++;
}

void unit_name_ones(Arena *arena, Unit *unit)
{
    Namer n = {.arena = arena, .unit = unit};
    int at = -1;

    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_GRID)
            at = i;
    if (at < 0 || !block_computes(&unit->body, OPC_GEMM))
        return;
    do {
        n.changed = false;
        find_tall(&n, &unit->body, 0);
    } while (n.changed);
    do {
        n.changed = false;
        find_operands(&n, &unit->body, 0);
    } while (n.changed);
    if (!has_row_of_one(&n))
        return;
    n.rows = free_name(&n);
    name_rows(&n);
    Stmt *grid = unit->body.data[at];
    spread_rows(&n, grid);
    vec_push(arena, &unit->body, NULL);
    memmove(unit->body.data + at + 1, unit->body.data + at, (size_t)(unit->body.len - 1 - at) * sizeof *unit->body.data);
    unit->body.data[at] = one_row(&n, grid);
}
