/* propose_ones.c: tiles whose shape leaves out that rows stand elsewhere than in the last dimension but one.
 *
 *   Input KC (pages, page, heads, D)
 *   Copy KC (page, D) in coordinate [pages = p, heads = h]       Copy KC (page, 1, D) in coordinate [pages = p, heads = h]
 *
 * A shape of two covers the last two dimensions; one that a coordinate names the block's entry of is meant to be left out. So
 * do all Copies of the Kernel that say the same, as those of keys and of values. */
#include "suggest/cuts.h"

typedef struct Ones {
    Suggester *s;
    Cuts *cuts;
    int between; /* dimensions that tiles have one entry of */
    int n;       /* of edits */
    Fix edits[16];
} Ones;

static bool has_coordinate(const Stmt *copy, const Expr *dim)
{
    for (int i = 0; i < copy->n_coords; i++)
        if (copy->coords[i].name && expr_is_name(dim, copy->coords[i].name))
            return true;
    return false;
}

/* Where its coordinates name all of these. */
static void note_copy(void *user, const Stmt *copy)
{
    Ones *o = user;
    const Stmt *tensor = copy->kind == STMT_COPY && !copy->listed && copy->n_shape == 2 ? cuts_tensor(o->cuts, copy_tensor(copy)) : NULL;
    bool named = tensor && tensor->n_shape > 2 + o->between - 1;
    Str ones = str_new(o->s->arena);

    for (int i = 0; named && i < o->between; i++) {
        named = has_coordinate(copy, tensor->shape[tensor->n_shape - 2 - i]);
        str_add(&ones, ", 1");
    }
    if (named && o->n < (int)TW_COUNT(o->edits))
        o->edits[o->n++] = (Fix){{copy->shape[0]->span.end, copy->shape[0]->span.end}, str_text(&ones), NULL};
}

/* `(BM)` of a tensor (M, 1). */
static bool try_column(Suggester *s, const Cuts *cuts)
{
    const Stmt *copy = s->stmt, *tensor = cuts_tensor(cuts, copy_tensor(copy));
    bool column = tensor && copy->n_shape == 1 && tensor->n_shape > 1 && expr_is_one(tensor->shape[tensor->n_shape - 1]);

    return column && suggest_edit(s, (Span){copy->shape[0]->span.end, copy->shape[0]->span.end}, ", 1", "a column");
}

bool propose_ones(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    bool copies = s->unit && s->stmt && s->stmt->kind == STMT_COPY, found = copies && try_column(s, &cuts);

    for (int between = 1; copies && !found && between <= 2; between++) {
        Ones o = {.s = s, .cuts = &cuts, .between = between};

        suggest_each(&s->unit->body, note_copy, &o);
        found = o.n && suggest_edits(s, o.edits, o.n, "rows of another dimension, of which the tile has one entry of those between");
    }
    return found;
}
