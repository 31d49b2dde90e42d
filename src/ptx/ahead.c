/* ahead.c: integers that a loop reads for each element, a turn ahead.
 *
 * Words that bits are taken of come from memory as they are needed, and nothing else can go on until they are there.
 * So the first turn's are read ahead of a loop, and where a turn has taken its own apart, those of the next take
 * their registers, on their way while the turn multiplies:
 *
 *   for k = lo:hi {                                      words of lo
 *     %i = index W[n, k * 8 + col div 8] div … % 16      for k = lo:hi {
 *     …                                            ->      %i = index …
 *     gemm %x, %s                                          words of k + 1, if that is a turn
 *   }                                                      …
 *                                                          gemm %x, %s
 *                                                        }
 *
 * A tensor that is only read may be read earlier. Roles have no registers for that, and neither has a loop whose
 * tiles leave few.
 */
#include "ptx/gather.h"

enum { MOST_WORDS = 40 };

typedef struct Word {
    const TileOp *first, *last; /* those that are made of it */
    const Aff *read;            /* within the first one's index, */
    int value;                  /* for this one of its values */
    const Aff *element;
    const char *reg;
} Word;

struct Ahead {
    const TileOp *loop;
    VEC(Word) words;
};

static bool is_ahead(Emitter *e, const TileOp *loop)
{
    return e->aligned && !e->role && loop->unroll <= 1 && rm_of(e, loop) == ROOM_ENOUGH;
}

static TileTensor *tensor_of(const Emitter *e, const Aff *element)
{
    const Aff *coords[AFF_MAX_COORDS];
    const AffSym *table;
    aff_coords(element, &table, coords);
    return tile_table_of(e->program, table);
}

/* An element that changes from turn to turn, of a tensor of words that are only read, whose place no other says. */
static bool may_be_ahead(Emitter *e, const TileOp *loop, const Aff *element)
{
    const Aff *coords[AFF_MAX_COORDS];
    const AffSym *table;
    if (element->kind != AFF_AT || !aff_uses(element, loop->var)) return false;
    int n = aff_coords(element, &table, coords);
    const TileTensor *tensor = tensor_of(e, element);
    for (int d = 0; d < n; d++)
        if (aff_uses_kind(coords[d], AFF_TABLE)) return false;
    return tensor && !tensor->written && tensor->dtype != DT_I64;
}

/* False: there are too many, or some cannot be. */
static bool add_value(Emitter *e, Ahead *w, const TileOp *index, const Aff *read, int value)
{
    const Aff *element = el_at(e, read, index->results[0], value);
    if (!aff_uses(element, w->loop->var)) return true;
    if (!may_be_ahead(e, w->loop, element)) return false;
    for (int i = 0; i < w->words.len; i++)
        if (w->words.data[i].element == element) {
            w->words.data[i].last = index;
            return true;
        }
    vec_push(e->arena, &w->words, (Word){index, index, read, value, element, NULL});
    return w->words.len <= MOST_WORDS;
}

static bool add_all(Emitter *e, Ahead *w, const TileOp *index, const Aff *a)
{
    if (!a) return true;
    if (a->kind != AFF_AT) return add_all(e, w, index, a->a) && add_all(e, w, index, a->b);
    const TileType *t = &index->results[0]->type;
    for (int i = 0, n = lay_fragment_values(t->layout, t->rows, t->cols); i < n; i++)
        if (!add_value(e, w, index, a, i)) return false;
    return true;
}

/* An index that reads the word's tensor, which bases refer to. */
static const TileOp *reader_of(Emitter *e, const Word *word)
{
    TileOp *op = arena_new_of(e->arena, TileOp);
    *op = *word->first;
    op->tensor = tensor_of(e, word->element);
    return op;
}

/* Reads it as of another turn: of the counter's value `turn`, if `there` says that there is one. */
static void read_of(Emitter *e, const Ahead *w, const Word *word, const TileOp *op, const Aff *turn, const Aff *there, Bases *bases)
{
    AffCtx *aff = e->program->aff;
    const Aff *read = aff_subst(aff, word->read, w->loop->var, turn), *coords[AFF_MAX_COORDS];
    const AffSym *table;
    aff_coords(el_at(e, read, word->first->results[0], word->value), &table, coords);
    const Aff *inside = ga_inside(e, op, coords);
    const char *address = ga_address(e, op, bases, coords);
    const char *guard = aff_always(aff, inside) ? gl_guard(e, there) : ga_guard_here(e, aff_and(aff, inside, there));
    in_load_integer(e, em_level(e), op->tensor->dtype, false, guard, address, word->reg);
}

/* Those whose registers are free behind `last`; NULL: all. */
static void read_all(Emitter *e, const Ahead *w, const TileOp *last, const Aff *turn, const Aff *there)
{
    const TileOp *op = NULL;
    Bases bases = {.n = 0};
    e->each = true;
    for (int i = 0; i < w->words.len; i++) {
        const Word *word = &w->words.data[i];
        if (last && word->last != last) continue;
        if (!op || op->tensor != tensor_of(e, word->element)) { /* places in one tensor may have a part in common */
            op = reader_of(e, word);
            bases.n = 0;
        }
        read_of(e, w, word, op, turn, there, &bases);
    }
    e->each = false;
}

const Ahead *ah_begin(Emitter *e, const TileOp *loop)
{
    const TileBlock *body = loop->regions[0];
    Ahead *w = arena_new_of(e->arena, Ahead);
    w->loop = loop;
    if (!is_ahead(e, loop)) return w;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind == TILE_INDEX && aff_uses_kind(op->index, AFF_TABLE) && !add_all(e, w, op, op->index)) w->words.len = 0;
    }
    for (int i = 0; i < w->words.len; i++) w->words.data[i].reg = em_new(e, REG_R);
    if (w->words.len) read_all(e, w, NULL, loop->lo, aff_lt(e->program->aff, loop->lo, loop->hi));
    return w;
}

void ah_take(Emitter *e, const TileOp *index)
{
    for (int i = 0; e->ahead && i < e->ahead->words.len; i++) {
        const Word *word = &e->ahead->words.data[i];
        if (word->first == index) ix_know(e, word->element, word->reg, em_level(e));
    }
}

void ah_next(Emitter *e, const TileOp *index)
{
    AffCtx *aff = e->program->aff;
    const Ahead *w = e->ahead;
    bool any = false;
    for (int i = 0; w && i < w->words.len; i++) {
        if (w->words.data[i].last != index) continue;
        ix_forget(e, w->words.data[i].element);
        any = true;
    }
    if (!any) return;
    const Aff *next = aff_offset(aff, aff_of(aff, w->loop->var), 1);
    read_all(e, w, index, next, aff_lt(aff, next, w->loop->hi));
}
