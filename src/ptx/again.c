/* again.c: a region that says again what stands in front of it.
 *
 *   %r1 = revise %r where any %h >= 1 { RAISE of %r }
 *   %p  = MAKE of %r1
 *   %p1, %r2 = revise %p, %r1 where any %p >= 2 { RAISE of %r1; MAKE of what that gives }
 *
 * Where the second region is the first one and then what lies between, each operation with what
 * stands there for its operands, it needs no code of its own: it is a jump back to the first one's,
 * taken at most once a turn. That halves what a postchecked softmax has of code, and so what ptxas
 * takes for it.
 *
 * Vocabulary
 *   first      the earlier revision, to whose region the jump goes
 *   between    the operations from it to the later one: all are made again, so each must have its
 *              like in the later region, or be made of nothing
 *   like[v]    the value of the later region that repeats v
 */
#include "ptx/roles.h"

/* Operations of a region: longer ones are compared with nothing, so that the search, which goes as deep as they
 * depend on each other, has an end on any stack. */
enum { LONGEST = 4096 };

typedef struct Repeat {
    const TileBlock *block;
    int from, to;            /* where the two revisions stand */
    const TileOp *first, *later;
    const TileValue **like;  /* by tile value id; NULL: not known of any */
} Repeat;

static bool same_integers(const TileOp *a, const TileOp *b)
{
    return a->var == b->var && a->lo == b->lo && a->hi == b->hi && a->until == b->until && a->cond == b->cond &&
           a->unless == b->unless && a->index == b->index && a->where == b->where;
}

static bool same_numbers(const TileOp *a, const TileOp *b)
{
    return memcmp(&a->number, &b->number, sizeof a->number) == 0 && a->param == b->param && a->axis == b->axis &&
           a->row0 == b->row0 && a->col0 == b->col0 && a->count == b->count;
}

static bool same_choices(const TileOp *a, const TileOp *b)
{
    return a->op == b->op && a->has_else == b->has_else && a->skip_ones == b->skip_ones &&
           a->polynomial == b->polynomial && a->trans_a == b->trans_a && a->trans_b == b->trans_b;
}

/* One operation twice, whatever its operands; none that has to do with memory. */
static bool same_operation(const TileOp *a, const TileOp *b)
{
    if (a->kind != b->kind || a->n_args != b->n_args || a->n_results != 1 || b->n_results != 1) return false;
    if (a->tensor || b->tensor || a->n_regions || b->n_regions) return false;
    return tile_type_equal(a->results[0]->type, b->results[0]->type) && same_integers(a, b) && same_numbers(a, b) &&
           same_choices(a, b);
}

static int find_value(TileValue *const *values, int n, const TileValue *v)
{
    for (int k = 0; k < n; k++)
        if (values[k] == v) return k;
    return -1;
}

static const TileValue *yielded(const TileOp *revise, int k)
{
    const TileBlock *region = revise->regions[0];
    return region->ops.data[region->ops.len - 1]->args[k];
}

static bool is_between(const Repeat *r, const TileOp *op)
{
    int at = op ? tile_index_of(r->block, op) : -1;
    return at > r->from && at < r->to;
}

static bool repeats(Repeat *r, const TileValue *now, const TileValue *before, bool in_first);

static bool repeats_operation(Repeat *r, const TileValue *now, const TileValue *before, bool in_first)
{
    const TileOp *a = now->def, *b = before->def;
    if (r->like[before->id]) return r->like[before->id] == now;
    if (!a || tile_index_of(r->later->regions[0], a) < 0 || !same_operation(a, b)) return false;
    r->like[before->id] = now;
    for (int k = 0; k < a->n_args; k++)
        if (!repeats(r, a->args[k], b->args[k], in_first)) return false;
    return true;
}

/* Whether `now`, in the later region or ahead of it, is what `before` is when the first one's
 * region, `in_first`, and what lies between are made once more. */
static bool repeats(Repeat *r, const TileValue *now, const TileValue *before, bool in_first)
{
    const TileOp *first = r->first, *op = before->def;
    if (in_first) {
        int k = find_value(first->args, first->n_results, before);
        if (k >= 0) return now == first->results[k];
        if (op && tile_index_of(first->regions[0], op) >= 0) return repeats_operation(r, now, before, true);
        return now == before;
    }
    if (op == first) return repeats(r, now, yielded(first, find_value(first->results, first->n_results, before)), true);
    return is_between(r, op) ? repeats_operation(r, now, before, false) : now == before;
}

/* What is made once more nobody may use as it was. */
static bool used_behind(const Repeat *r, const TileOp *op)
{
    for (int k = 0; k < op->n_results; k++)
        if (tile_used_in(r->block, r->to + 1, r->block->ops.len, op->results[k])) return true;
    return false;
}

static bool may_be_made_again(const Repeat *r, const TileOp *op)
{
    return op->n_results == 1 && r->like[op->results[0]->id] && !used_behind(r, op);
}

static bool is_of_nothing(const TileOp *op)
{
    return (op->kind == TILE_FILL || op->kind == TILE_INDEX) && op->n_args == 0 && !tile_is_storage(op);
}

static bool is_repeat(Repeat *r)
{
    for (int k = 0; k < r->later->n_results; k++)
        if (!repeats(r, yielded(r->later, k), r->later->args[k], false)) return false;
    if (used_behind(r, r->first)) return false;
    for (int i = r->from + 1; i < r->to; i++)
        if (!is_of_nothing(r->block->ops.data[i]) && !may_be_made_again(r, r->block->ops.data[i])) return false;
    return true;
}

/* Whether the revision at `to` says again that at `from`, the one before it in the block. */
static bool says_again(const Emitter *e, int from, int to)
{
    TileOp *const *ops = e->block->ops.data;
    if (ops[to]->regions[0]->ops.len > LONGEST) return false;
    Repeat r = {e->block, from, to, ops[from], ops[to], arena_array(e->arena, const TileValue *, e->kernel->next_value)};
    return is_repeat(&r);
}

Again ag_begin(Emitter *e)
{
    const TileBlock *block = e->block;
    int next = e->at + 1;
    while (next < block->ops.len && block->ops.data[next]->kind != TILE_REVISE) next++;
    if (next == block->ops.len || !says_again(e, e->at, next)) return (Again){0};
    Again again = {.later = block->ops.data[next], .label = em_label(e)};
    again.gone = em_new(e, REG_P);
    em(e, "setp.ne.s32 %s, 0, 0;", again.gone);
    return again;
}

bool ag_jump(Emitter *e, const TileOp *op, int behind)
{
    const Again *again = &e->again;
    if (again->later != op) return false;
    em(e, "@%s bra.uni $revised%d;", again->gone, behind);
    em(e, "setp.eq.s32 %s, 0, 0;", again->gone);
    em(e, "bra.uni $again%d;", again->label);
    return true;
}
