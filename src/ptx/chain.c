/* chain.c: arithmetic on a tile in several operations, value by value.
 *
 * Operations are made one after the other, each of a whole tile: ptxas sees that values do not wait for
 * each other, and starts more of them than there are registers for where each takes many steps. Those
 * of a quotient that is rounded up, or down, go through all of
 * their operations before the next value does; and so do exponentials of what takes several steps, as behind
 * a cap: the special function units, which they wait for, have work from the first value on. And so does what is made
 * of places in several steps, or of other tiles, where no registers are left for it beside the tile that it meets. Of that
 * ptxas starts as much as it can all the same, ahead of the product even. So a few values wait for some before them: of
 * their lane's place, or of a number that a function takes first, they have a copy that is there when those are. Of many
 * terms of places (tile.h) each value waits.
 */
#include "ptx/emit.h"

static bool is_link(const Emitter *e, const TileOp *op, const TileOp *first, bool places)
{
    if (places ? !el_is_walked(op) : !el_is_plain(e, op)) return false;
    const TileType *t = &op->results[0]->type, *like = &first->results[0]->type;
    return t->rows > 1 && t->cols > 1 && t->dtype == DT_F32 && tile_type_equal(*t, *like);
}

static bool is_small(const TileType *t)
{
    return t->rows == 1 || t->cols == 1;
}

/* What links take besides: numbers, indices of their elements, and what is made of numbers, rows and columns. */
static bool is_beside(const Emitter *e, const TileOp *op, bool places)
{
    bool made = op->kind == TILE_ELEMENT || (op->kind == TILE_GATHER && op->n_args == 0);
    if (places && (el_is_place(e, op) || (made && is_small(&op->results[0]->type)))) return true;
    return op->kind == TILE_FILL && op->n_args == 0 && !tile_is_storage(op) && op->results[0]->type.rows == 1 && op->results[0]->type.cols == 1;
}

/* Operations [at, end) of a block, of which some are links. */
typedef struct Chain {
    const TileBlock *block;
    int at, end, links;
    int terms; /* of what is made of places */
    bool by_value, of_places;
} Chain;

static bool makes(const Chain *c, const TileValue *v)
{
    for (int i = c->at; i < c->end; i++)
        if (c->block->ops.data[i]->results[0] == v) return true;
    return false;
}

/* Whether operand k of operation i is a tile from ahead of the chain, and is not seen before. */
static bool brings(const Emitter *e, const Chain *c, int i, int k)
{
    const TileOp *op = c->block->ops.data[i];
    const TileValue *v = op->args[k];
    for (int other = 0; other < k; other++)
        if (op->args[other] == v) return false;
    bool tile = v->type.rows > 1 && v->type.cols > 1 && !(v->def && el_is_place(e, v->def));
    return tile && !makes(c, v) && !tile_used_in(c->block, c->at, i, v);
}

enum {
    OPERANDS = 3,     /* of an elementwise operation, at most */
    MOST_LINKS = 64,  /* that are looked at together, */
    MOST_OPS = 1024   /* of a block with so many: of longer ones ptxas keeps nothing anyway, and to find out takes long */
};

/* Where in the block a value is used last; -1: nowhere. */
static int last_use(const Chain *c, const TileValue *v)
{
    for (int i = c->block->ops.len - 1; i >= c->at; i--)
        if (tile_used_in(c->block, i, i + 1, v)) return i;
    return -1;
}

/* Of a link's result, and of the operands that it brings; -1: of what is none of the chain's. */
typedef struct LastUses {
    int result, args[OPERANDS];
} LastUses;

static void find_last_uses(const Emitter *e, const Chain *c, LastUses *last)
{
    for (int i = c->at; i < c->end; i++) {
        const TileOp *op = c->block->ops.data[i];
        LastUses *l = &last[i - c->at];
        *l = (LastUses){.result = -1, .args = {-1, -1, -1}};
        if (op->kind != TILE_ELEMENT || is_small(&op->results[0]->type)) continue;
        l->result = last_use(c, op->results[0]);
        for (int k = 0; k < op->n_args && k < OPERANDS; k++)
            if (brings(e, c, i, k)) l->args[k] = last_use(c, op->args[k]);
    }
}

/* Of the chain's tiles, those that are there when its operations before `now` are done. */
static int tiles_at(const Chain *c, const LastUses *last, int now)
{
    int n = 0;
    for (int i = c->at; i < c->end; i++) {
        const LastUses *l = &last[i - c->at];
        n += i < now && l->result >= now;
        for (int k = 0; k < OPERANDS; k++) n += l->args[k] >= now;
    }
    return n;
}

/* Whether tiles that come and go within the chain, beyond those that stand ahead of it or behind it, are more than
 * there are registers for: value by value there are none. */
static bool is_wide(const Emitter *e, const Chain *c)
{
    const TileType *t = &c->block->ops.data[c->at]->results[0]->type;
    int values = lay_fragment_values(t->layout, t->rows, t->cols), most = 0;
    if (c->block->ops.len > MOST_OPS) return false;
    if (!e->aligned && c->of_places) return true; /* nobody counts registers */
    if (c->terms > TILE_TERMS) return true;       /* as many numbers as a lane has no registers for, each for all elements */
    int left = rm_left(e, c->block);
    if (left >= c->links * values) return false;
    LastUses *last = arena_array(e->arena, LastUses, c->end - c->at);
    find_last_uses(e, c, last);
    int ahead = tiles_at(c, last, c->at), behind = tiles_at(c, last, c->end);
    for (int now = c->at + 1; now < c->end; now++) {
        int n = tiles_at(c, last, now);
        most = n > most ? n : most;
    }
    return left < (most - (ahead > behind ? ahead : behind)) * values;
}

enum { GROUP = 4 }; /* values of a wide chain under way together, with as many of the group before */

enum { STEPS = 3 }; /* ahead of an exponential, from which on it is made value by value */

/* Operations from `at` on that hang together, with places or without. */
static Chain chain_at(const Emitter *e, const TileBlock *block, int at, bool places)
{
    const TileOp *first = block->ops.data[at];
    Chain c = {.block = block, .at = at, .end = at};
    for (int i = at; i < block->ops.len && is_link(e, first, first, places); i++) {
        const TileOp *op = block->ops.data[i];
        bool link = is_link(e, op, first, places);
        if (!link && !is_beside(e, op, places)) break;
        if (link) c.end = i + 1;
        c.by_value |= link && (op->op == OP_CEIL_DIVIDE || (op_is_exponential(op->op) && c.links >= STEPS));
        c.links += link;
        c.of_places |= el_is_place(e, op);
        c.terms += el_is_place(e, op) ? tile_terms(op->index) : 0;
        if (c.links == MOST_LINKS) break;
    }
    return c;
}

int ch_length(const Emitter *e, const TileBlock *block, int at)
{
    Chain plain = chain_at(e, block, at, false), whole = chain_at(e, block, at, true);
    if (plain.by_value) return plain.end - at;
    return whole.links > STEPS && is_wide(e, &whole) ? whole.end - at : 0;
}

bool ch_is_in(const Emitter *e, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        if (el_masks_in_steps(e, block->ops.data[i])) return true;
        if (ch_length(e, block, i) > 0 && !chain_at(e, block, i, false).by_value) return true;
    }
    return false;
}

/* Registers of a tile from ahead of the chain; NULL: all is made of places. */
static const int *brought(const Emitter *e, const Chain *c)
{
    for (int i = c->at; i < c->end; i++) {
        const TileOp *op = c->block->ops.data[i];
        for (int k = 0; k < op->n_args && op->kind == TILE_ELEMENT; k++)
            if (!is_small(&op->args[k]->type) && brings(e, c, i, k) && e->frags[op->args[k]->id].f) return e->frags[op->args[k]->id].f;
    }
    return NULL;
}

/* The register that values from i on wait for: of the chain's result in the group before the last, or of what it begins with. */
static int awaited(const int *result, const int *first, int i)
{
    return i >= 2 * GROUP ? result[i - GROUP - 1] : first ? first[i] : -1;
}

void ch_emit(Emitter *e, const TileBlock *block, int at, int n)
{
    TileOp *const *ops = &block->ops.data[at];
    Chain whole = {.block = block, .at = at, .end = at + n};
    Walk **walks = arena_array(e->arena, Walk *, n);
    for (int k = 0; k < n; k++)
        if (ops[k]->kind == TILE_FILL) el_fill(e, ops[k]);
        else if (ops[k]->kind == TILE_INDEX) el_index(e, ops[k]);
        else if (ops[k]->kind == TILE_GATHER) ga_gather(e, ops[k]);
        else if (is_small(&ops[k]->results[0]->type)) el_element(e, ops[k]);
        else walks[k] = el_begin(e, ops[k]);
    bool wide = !chain_at(e, block, at, false).by_value;
    bool many = chain_at(e, block, at, true).terms > TILE_TERMS;
    int group = many ? 1 : GROUP;
    const char *never = wide ? el_never(e) : NULL;
    const int *result = e->frags[ops[n - 1]->results[0]->id].f, *first = brought(e, &whole);
    for (int i = 0; i < e->frags[ops[0]->results[0]->id].n; i++) {
        int after = wide && i % group == 0 ? awaited(result, first, i) : -1;
        for (int k = 0; k < n && after >= 0; k++)
            if (walks[k]) el_wait(e, walks[k], many, never, after);
        for (int k = 0; k < n; k++)
            if (walks[k]) el_value(e, walks[k], i);
    }
}
