/* whole.c: a tensor that a sketch copies in front of the loop over its dimension, all of it.
 *
 *   Copy K from global to shared      (kv_len, D): every key at once, so their number must be known when compiling
 *   for j over kv_len
 *     Compute GEMM Q, K.T and get S
 *
 * Where the number is given that may be meant.
 */
#include "check/walk.h"

static bool is_known(const Checker *c, const char *dim)
{
    bool known = c->options->settings && settings_find(c->options->settings, dim);

    for (int i = 0; i < c->program->units.len; i++)
        for (int k = 0; k < c->program->units.data[i]->body.len; k++) {
            const Stmt *s = c->program->units.data[i]->body.data[k];

            known |= (s->kind == STMT_PARAM || s->kind == STMT_ASSIGN || s->kind == STMT_LET) && s->name && strcmp(s->name, dim) == 0;
        }
    return known;
}

/* Blocks along it have a part each. */
static bool is_of_blocks(const Checker *c, const char *dim)
{
    const Stmt *grid = block_find(&c->unit->body, STMT_GRID, NULL);
    bool found = false;

    for (int i = 0; grid && i < grid->n_coords; i++)
        found |= (grid->coords[i].name && strcmp(grid->coords[i].name, dim) == 0) || (grid->coords[i].value && expr_mentions(grid->coords[i].value, dim));
    return found;
}

static bool has_coord(const Stmt *copy, const char *dim)
{
    for (int i = 0; i < copy->n_coords; i++)
        if (!copy->coords[i].name || strcmp(copy->coords[i].name, dim) == 0)
            return true;
    return false;
}

static bool takes(const Block *block, const char *tile)
{
    bool found = false;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_COMPUTE && k < s->n_args; k++)
            found |= expr_mentions(s->args[k], tile);
        found |= takes(&s->body, tile) || takes(&s->orelse, tile);
    }
    return found;
}

static bool covers(const Stmt *tensor, const char *dim)
{
    for (int d = tensor->n_shape - 1; d >= 0 && d >= tensor->n_shape - 2; d--)
        if (expr_is_name(tensor->shape[d], dim))
            return true;
    return false;
}

void whole_check(Checker *c, const Block *block, int at)
{
    const Stmt *loop = block->data[at];
    const char *dim = c->sketch && loop->kind == STMT_FOR ? loop->over : NULL;

    if (!dim || is_known(c, dim) || is_of_blocks(c, dim))
        return;
    for (int i = 0; i < at; i++) {
        const Stmt *s = block->data[i], *tensor = s->kind == STMT_COPY && s->to_space != SPACE_GLOBAL && !s->has_shape && !s->target && !has_coord(s, dim) ? unit_tensor(c->unit, copy_tensor(s)) : NULL;

        if (!tensor || !covers(tensor, dim) || !takes(&loop->body, copy_tile(s)))
            continue;
        Diag *d = diag_add(c->late, TW0456, s->span, "in front of the loop over '%s' this copies all of '%s' along it", dim, s->name);
        diag_note(c->late, d, "within the loop it takes one tile after the other; else give '%s' with --set", dim);
    }
}
