/* sizes.c: which of the numbers that a unit assigns are sizes of its tiles: those that
 * shapes of tiles mention, or that such a name was worked out from.
 *
 *   BM = 64                          yes: H is made of it
 *   H = BM / 2                       no: it follows
 *   steps = 4                        no: no tile has it
 *   Allocate Q in shared (H, D)
 */
#include "check/check.h"

enum { MOST_NAMES = 256 };

typedef struct Mentioned {
    const char *names[MOST_NAMES];
    int n;
} Mentioned;

static bool has(const Mentioned *names, const char *name)
{
    return text_among(names->names, names->n, name);
}

static void add_names(Mentioned *names, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_NAME && names->n < MOST_NAMES && !has(names, e->name))
        names->names[names->n++] = e->name;
    add_names(names, e->a);
    add_names(names, e->b);
    for (int i = 0; i < e->n_args; i++)
        add_names(names, e->args[i]);
}

static void add_shapes(Mentioned *names, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; (s->kind == STMT_COPY || (s->kind == STMT_ALLOCATE && s->space != SPACE_GLOBAL)) && k < s->n_shape; k++)
            add_names(names, s->shape[k]);
        add_shapes(names, &s->body);
        add_shapes(names, &s->orelse);
    }
}

bool check_is_tile_size(const Unit *unit, const Stmt *s)
{
    if (s->kind != STMT_ASSIGN || s->value->kind != EXPR_INT || s->value->i < 1 || s->value->i > INT32_MAX)
        return false;
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *tensor = unit->body.data[i];

        for (int k = 0; (tensor->kind == STMT_INPUT || tensor->kind == STMT_OUTPUT) && k < tensor->n_shape; k++)
            if (expr_mentions(tensor->shape[k], s->name))
                return false;
    }
    return true;
}

Block check_tile_sizes(Arena *arena, const Unit *unit)
{
    Mentioned *names = arena_new_of(arena, Mentioned);
    Block sizes = {0};

    add_shapes(names, &unit->body);
    for (int i = unit->body.len - 1; i >= 0; i--) { /* what a name was made of stands before it */
        const Stmt *s = unit->body.data[i];
        if ((s->kind == STMT_ASSIGN || s->kind == STMT_LET) && s->name && has(names, s->name))
            add_names(names, s->value);
    }
    for (int i = 0; i < unit->body.len; i++) {
        Stmt *s = unit->body.data[i];
        if (s->kind == STMT_ASSIGN && s->name && has(names, s->name) && check_is_tile_size(unit, s))
            vec_push(arena, &sizes, s);
    }
    return sizes;
}
