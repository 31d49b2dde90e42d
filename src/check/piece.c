/* piece.c: a softmax without a state, of a piece of a row whose pieces are added up.
 *
 *   for j = 0:ceil(kv_len / BN)
 *     Copy K (BN, D) in coordinate [kv_len = j] ...
 *     Compute GEMM Q, K.T and get S
 *     Compute Softmax S                      each piece divided by a sum of its own
 *     Compute GEMM S, V and accumulate O     and the quotients added: no softmax of the row
 *
 * Where the columns of a tile begin tells which loop goes along its rows (copy.c). What is
 * computed from such a softmax is marked with it, until something that the loop finds set
 * takes it up.
 */
#include "check/walk.h"

/* The loop that the columns of the tile move along with; NULL: none does. */
static const Stmt *loop_along(const Checker *c, const Operand *x)
{
    const Aff *first = x->tile.cols.first;
    for (int i = c->n_loops - 1; i >= 0 && first; i--)
        if (c->loops[i].sym && aff_uses(first, c->loops[i].sym))
            return c->loops[i].stmt;
    return NULL;
}

void piece_softmax(Checker *c, const Stmt *s, const Operand *x)
{
    const Stmt *loop = loop_along(c, x);
    c->piece = loop && s->n_with == 0 ? (Piece){s, loop} : (Piece){0};
}

/* One that goes round in the loop: nothing has set it since the loop began. */
static bool goes_round(const Checker *c, const PlaceState *now, const Stmt *loop)
{
    for (int i = 0; i < c->n_loops; i++)
        if (c->loops[i].stmt == loop)
            return now->set_at <= c->loops[i].entered_at;
    return false;
}

void piece_summed(Checker *c, const Operand *sum)
{
    const Stmt *softmax = c->piece.softmax;
    if (!softmax || !sum->tensor || !goes_round(c, &sum->place->now, c->piece.loop) ||
        late_said(c, TW0447, softmax->span))
        return;
    Diag *d = diag_add(c->late, TW0447, softmax->span,
                       "a softmax of each tile by itself, and '%s' sums over all of them",
                       sum->tensor->name);
    diag_note(c->late, d,
              "the rows run on along the loop '%s': write `with M and L`, which keeps their "
              "maximum and sum from tile to "
              "tile, and divide '%s' by L behind the loop",
              c->piece.loop->name, sum->tensor->name);
}

static bool adds(const Stmt *s)
{
    return s->op_known && (s->op == OP_ADD || s->op == OP_SUBTRACT || s->op == OP_FMA);
}

/* `Add O, PV and get new O` */
void piece_added(Checker *c, const Stmt *s, const Operand *operands, int n)
{
    const Expr *dest = s->dest ? s->dest : s->args[0];
    for (int i = 0; i < n && adds(s) && s->result != RESULT_ACCUMULATE; i++)
        if (!operands[i].is_number && operands[i].place && expr_equal(operands[i].expr, dest))
            piece_summed(c, &operands[i]);
}
