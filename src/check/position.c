/* position.c: positions that run along another dimension than is meant.
 *
 *   Operator f                                        Kernel f
 *     Index q_pos over q_len from kv_len - q_len        Index q_pos over kv_len
 *     Compute Mask S where kv_pos <= q_pos              Compute Mask S where kv_pos <= q_pos
 *
 * The same condition says something else there. And where two positions run along one dimension of a tile, of which
 * either its rows or its columns do, what compares them is the same for all elements.
 */
#include "check/walk.h"

/* ---- beside the definition ------------------------------------------------------------------ */

static const Unit *definition(const Checker *c)
{
    for (int i = 0; i < c->program->units.len; i++)
        if (c->program->units.data[i]->kind == UNIT_OPERATOR)
            return c->program->units.data[i];
    return NULL;
}

static bool says_condition(const Block *block, const Expr *where)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *said = stmt_condition(s);
        if ((said && expr_equal(said, where)) || says_condition(&s->body, where) || says_condition(&s->orelse, where))
            return true;
    }
    return false;
}

static bool is_our_size(const void *checker, const char *name)
{
    return check_is_size(checker, name);
}

static bool same_begin(Checker *c, const Stmt *a, const Stmt *b)
{
    const Aff *zero = aff_const(c->aff, 0);
    const Aff *x = a->value ? eval_aff(&c->env, a->value, NULL) : zero, *y = b->value ? eval_aff(&c->env, b->value, NULL) : zero;
    return !x || !y || aff_always(c->aff, aff_eq(c->aff, x, y));
}

/* What the definition says of our Index; NULL: the same, or nothing that could be said here. */
static const Stmt *said_otherwise(Checker *c, const Unit *def, const Stmt *ours)
{
    const Stmt *theirs = unit_index(def, ours->name);
    if (!theirs || theirs == ours || !source_text(c, theirs->span) || !check_is_size(c, theirs->over) || !expr_names_all(theirs->value, is_our_size, c))
        return NULL;
    return strcmp(ours->over, theirs->over) == 0 && same_begin(c, ours, theirs) ? NULL : theirs;
}

/* Positions that follow one another are mended together. */
void position_beside(Checker *c, const Expr *where)
{
    const Unit *def = definition(c);
    Diag *d = NULL;
    if (!def || def == c->unit || !says_condition(&def->body, where))
        return;
    for (int i = 0; i < c->unit->body.len; i++) {
        const Stmt *ours = c->unit->body.data[i];
        bool named = ours->kind == STMT_INDEX && expr_mentions(where, ours->name);
        const Stmt *theirs = named ? said_otherwise(c, def, ours) : NULL;
        if (!theirs || (!d && late_said(c, TW0250, ours->span))) {
            d = NULL;
            continue;
        }
        const char *text = source_text(c, theirs->span);
        if (d && d->fix.text) {
            const char *between = source_text(c, (Span){d->fix.span.end, ours->span.start});
            diag_fix(c->late, d, (Span){d->fix.span.start, ours->span.end}, arena_printf(c->arena, "%s%s%s", d->fix.text, between, text),
                     "say it as the definition does");
            continue;
        }
        d = diag_add(c->late, TW0250, ours->span, "'%s' is another position here than in the definition", ours->name);
        diag_note(c->late, d, "the definition says `%s`, and the same condition of it", text);
        diag_fix(c->late, d, ours->span, text, "say it as the definition does");
    }
}

/* ---- along one dimension ------------------------------------------------------------------------ */

static bool says_place(const Expr *e)
{
    if (!e)
        return false;
    if (e->kind == EXPR_CALL && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col")))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (says_place(e->args[i]))
            return true;
    return says_place(e->a) || says_place(e->b);
}

void position_cancels(Checker *c, const Expr *e)
{
    bool joins = (e->kind == EXPR_BINARY && (e->op == EO_AND || e->op == EO_OR)) || (e->kind == EXPR_UNARY && e->op == EO_NOT);
    if (joins && e->b)
        position_cancels(c, e->b);
    if (joins) {
        position_cancels(c, e->a);
        return;
    }
    const Aff *a = says_place(e) && !expr_reads(e, NULL) ? eval_aff(&c->env, e, NULL) : NULL;
    if (!a || aff_is_poison(a) || aff_uses(a, c->row) || aff_uses(a, c->col) || late_said(c, TW0250, e->span))
        return;
    diag_note(c->late, diag_add(c->late, TW0250, e->span, "the condition is the same for all elements: it compares positions along one dimension"),
              "rows have a position along the dimension that the tile's rows run along, columns one along the other");
}
