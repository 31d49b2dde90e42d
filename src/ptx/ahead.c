/* ahead.c: elements of tensors that a loop reads for each of a lane's values, some turns ahead.
 *
 * Words that bits are taken of come from memory as they are needed, and nothing else can go on until they are there.
 * So the first turns' are read ahead of a loop, and where a turn has taken its own apart, those of a later one take
 * their registers, on their way while turns multiply. So are the few numbers that they are multiplied by:
 *
 *   for k = lo:hi {                                      words and scales of lo, lo + 1
 *     %i = index W[n, k * 8 + col div 8] div … % 16      for k = lo:hi {
 *     %s = gather S[n, k div 2]                            %i = index …
 *     …                                            ->      words of k + 2, if that is a turn
 *     gemm %x, %w                                          %s = gather …
 *   }                                                      scales of k + 2
 *                                                          …
 *                                                          gemm %x, %w
 *                                                        }
 *
 * So many turns stand side by side, each with registers of its own: what is on its way cannot be moved.
 *
 * A tensor that is only read may be read earlier. Roles have no registers for that, and neither has a loop whose
 * tiles leave few.
 */
#include "ptx/cells.h"

enum {
    MOST_WORDS = 40,
    MOST_NUMBERS = 16,
    MOST_TURNS = 2,
    LONG_TURN = 64 /* values of a lane that products add to: of more, what was read for the next turn is there by then */
};

/* Words of a tensor. */
typedef struct Table {
    Cells cells;
    const Access *by; /* by cell */
} Table;

typedef struct Word {
    const TileOp *first, *last; /* those that are made of it */
    const Aff *element;
    Table *table;
    int cell;                   /* which of the table's it is, */
    Access by;                  /* and how it comes */
    const char *reg[MOST_TURNS];
} Word;

/* Elements of a gather; they wait as memory has them. */
typedef struct Numbers {
    const TileOp *op;
    Cells cells;
    const Access *by;                               /* by cell, */
    const char *(*words[MOST_TURNS])[ACCESS_WORDS]; /* and of the one that leads by turn, what comes */
    int registers;                                  /* for one turn */
} Numbers;

struct Ahead {
    const TileOp *loop;
    int turns; /* that are read ahead; 0: none are */
    VEC(Word) words;
    VEC(Table *) tables;
    VEC(Numbers) numbers;
};

static bool is_ahead(Emitter *e, const TileOp *loop)
{
    return e->aligned && !e->role && loop->unroll <= 1 && rm_of(e, loop) == ROOM_ENOUGH;
}

/* Which of the turns that stand side by side it is for, and addresses it has in common with others. */
typedef struct Reading {
    int side;
    const Aff *turn, *there; /* the counter's value then, and whether there is such a turn */
    Bases bases;
} Reading;

static Reading reading(Emitter *e, const Ahead *w, const Aff *turn, int side)
{
    return (Reading){.side = side, .turn = turn, .there = aff_lt(e->program->aff, turn, w->loop->hi)};
}

/* What takes the registers of the turn that is emitted. */
static Reading reading_next(Emitter *e, const Ahead *w)
{
    return reading(e, w, aff_offset(e->program->aff, aff_of(e->program->aff, w->loop->var), w->turns), e->side);
}

/* The address and the guard of cell x's access, as of another turn. */
static const char *place_of(Emitter *e, const Ahead *w, Reading *r, const TileOp *op, const Cells *c, const Cell *x, Access a, const char **guard)
{
    AffCtx *aff = e->program->aff;
    const Aff **coords = cl_coords(e, c, x, a.first);
    for (int d = 0; d < c->tensor->rank; d++) coords[d] = aff_subst(aff, coords[d], w->loop->var, r->turn);
    const Aff *inside = ga_inside(e, op, coords);
    const char *address = ga_address(e, op, &r->bases, coords);
    *guard = aff_always(aff, inside) ? gl_guard(e, r->there) : ga_guard_here(e, aff_and(aff, inside, r->there));
    return address;
}

/* ---- words ------------------------------------------------------------------------------------ */

/* An element that changes from turn to turn, of a tensor of words that are only read, whose place no other says: its tensor, or NULL. */
static TileTensor *tensor_ahead(Emitter *e, const TileOp *loop, const Aff *element, const Aff **coords)
{
    const AffSym *table;
    if (element->kind != AFF_AT || !aff_uses(element, loop->var)) return NULL;
    int n = aff_coords(element, &table, coords);
    TileTensor *tensor = tile_table_of(e->program, table);
    for (int d = 0; d < n; d++)
        if (aff_uses_kind(coords[d], AFF_TABLE)) return NULL;
    return tensor && !tensor->written && tensor->dtype != DT_I64 ? tensor : NULL;
}

static Table *table_of(Emitter *e, Ahead *w, const TileTensor *tensor)
{
    for (int i = 0; i < w->tables.len; i++)
        if (w->tables.data[i]->cells.tensor == tensor) return w->tables.data[i];
    Table *table = arena_new_of(e->arena, Table);
    table->cells.tensor = tensor;
    vec_push(e->arena, &w->tables, table);
    return table;
}

/* False: there are too many, or some cannot be. */
static bool add_value(Emitter *e, Ahead *w, const TileOp *index, const Aff *read, int value)
{
    const Aff *element = el_at(e, read, index->results[0], value), *coords[AFF_MAX_COORDS];
    if (!aff_uses(element, w->loop->var)) return true;
    const TileTensor *tensor = tensor_ahead(e, w->loop, element, coords);
    if (!tensor) return false;
    for (int i = 0; i < w->words.len; i++)
        if (w->words.data[i].element == element) {
            w->words.data[i].last = index;
            return true;
        }
    Table *table = table_of(e, w, tensor);
    cl_add(e, &table->cells, coords);
    vec_push(e->arena, &w->words, (Word){.first = index, .last = index, .element = element, .table = table, .cell = table->cells.all.len - 1});
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

static const Cell *cell_of(const Word *word)
{
    return &word->table->cells.all.data[word->cell];
}

static bool may_come_together(const Word *word)
{
    return word->table->cells.tensor->dtype == DT_I32 && tile_reads_words(word->first);
}

/* Together with neighbours that are done with at the same time. */
static Access access_of(const Ahead *w, const Word *word)
{
    Access by = word->table->by[word->cell];
    for (int i = 0; i < w->words.len; i++) {
        const Word *other = &w->words.data[i];
        if (other->table != word->table || other->table->by[other->cell].lead != by.lead) continue;
        if (other->last != word->last || !may_come_together(other)) return (Access){cell_of(word)->place, 1, word->cell};
    }
    return by;
}

static void find_accesses(Emitter *e, Ahead *w)
{
    for (int i = 0; i < w->tables.len; i++) w->tables.data[i]->by = cl_accesses(e, &w->tables.data[i]->cells);
    for (int i = 0; i < w->words.len; i++) {
        Word *word = &w->words.data[i];
        for (int k = 0; k < w->turns; k++) word->reg[k] = em_new(e, REG_R);
        word->by = access_of(w, word);
    }
}

/* An operation on the word's tensor, which bases refer to. */
static const TileOp *reader_of(Emitter *e, const Word *word)
{
    TileOp *op = arena_new_of(e->arena, TileOp);
    *op = *word->first;
    op->tensor = (TileTensor *)word->table->cells.tensor;
    return op;
}

/* The registers of those that come with it, in their order. */
static void registers_of(Emitter *e, const Ahead *w, const Word *word, int side, const char **regs)
{
    for (int k = 0; k < word->by.n; k++) regs[k] = NULL;
    for (int i = 0; i < w->words.len; i++) {
        const Word *other = &w->words.data[i];
        if (other->table == word->table && other->by.lead == word->by.lead) regs[cell_of(other)->place - word->by.first] = other->reg[side];
    }
    for (int k = 0; k < word->by.n; k++)
        if (!regs[k]) regs[k] = em_new(e, REG_R);
}

static void read_word(Emitter *e, const Ahead *w, const Word *word, const TileOp *op, Reading *r)
{
    const char *regs[ACCESS_WORDS], *guard, *address = place_of(e, w, r, op, &word->table->cells, cell_of(word), word->by, &guard);
    if (word->by.n == 1) {
        in_load_integer(e, em_level(e), op->tensor->dtype, false, guard, address, word->reg[r->side]);
        return;
    }
    registers_of(e, w, word, r->side, regs);
    cl_load(e, &word->table->cells, word->by, guard, address, regs);
}

/* Those whose registers are free behind `last`; NULL: all. */
static void read_words(Emitter *e, const Ahead *w, const TileOp *last, Reading r)
{
    const TileOp *op = NULL;
    e->each = true;
    for (int i = 0; i < w->words.len; i++) {
        const Word *word = &w->words.data[i];
        if ((last && word->last != last) || word->by.lead != word->cell) continue;
        if (!op || op->tensor != word->table->cells.tensor) { /* places in one tensor may have a part in common */
            op = reader_of(e, word);
            r.bases.n = 0;
        }
        read_word(e, w, word, op, &r);
    }
    e->each = false;
}

/* Of one turn. */
static int registers_ahead(const Ahead *w)
{
    int n = w->words.len;
    for (int i = 0; i < w->numbers.len; i++) n += w->numbers.data[i].registers;
    return n;
}

int ah_registers(const Ahead *w)
{
    return w ? w->turns * registers_ahead(w) : 0;
}

/* Registers for what is ahead: addresses, too, take of what tiles leave. */
static int room_of(Emitter *e, const Ahead *w)
{
    return rm_left(e, w->loop->regions[0]) / 3;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static bool may_be_ahead(const TileOp *loop, const TileOp *op)
{
    if (op->kind != TILE_GATHER || op->n_args || op->tensor->written || op->results[0]->type.layout.kind != LAY_ROWS) return false;
    DType t = op->tensor->dtype;
    bool changes = false, placed = false;
    for (int d = 0; d < op->tensor->rank; d++) {
        changes |= aff_uses(op->coords[d], loop->var);
        placed |= aff_uses_kind(op->coords[d], AFF_TABLE);
    }
    return changes && !placed && (t == DT_F32 || (dtype_is_narrow(t) && dtype_bytes(t) == 2));
}

static void add_numbers(Emitter *e, Ahead *w, const TileOp *op)
{
    Numbers n = {.op = op, .cells = {.tensor = op->tensor}};
    Cells *c = &n.cells;
    cl_add_values(e, c, op);
    n.by = cl_accesses(e, c);
    for (int i = 0; i < c->all.len; i++)
        if (n.by[i].lead == i) n.registers += cl_words(c, n.by[i]);
    if (n.registers <= MOST_NUMBERS && registers_ahead(w) + n.registers <= room_of(e, w)) vec_push(e->arena, &w->numbers, n);
}

static void take_registers(Emitter *e, Numbers *n, int side)
{
    const Cells *c = &n->cells;
    n->words[side] = arena_alloc(e->arena, (size_t)c->all.len * sizeof *n->words[side]);
    for (int i = 0; i < c->all.len; i++)
        for (int k = 0; n->by[i].lead == i && k < cl_words(c, n->by[i]); k++) n->words[side][i][k] = em_new(e, REG_R);
}

static void read_numbers(Emitter *e, const Ahead *w, const Numbers *n, Reading r)
{
    const Cells *c = &n->cells;
    e->each = true;
    for (int i = 0; i < c->all.len; i++) {
        if (n->by[i].lead != i) continue;
        const char *guard, *address = place_of(e, w, &r, n->op, c, &c->all.data[i], n->by[i], &guard);
        cl_load(e, c, n->by[i], guard, address, n->words[r.side][i]);
    }
    e->each = false;
}

static const Numbers *numbers_of(const Emitter *e, const TileOp *op)
{
    for (int i = 0; e->ahead && i < e->ahead->numbers.len; i++)
        if (e->ahead->numbers.data[i].op == op) return &e->ahead->numbers.data[i];
    return NULL;
}

bool ah_has(const Emitter *e, const TileOp *gather)
{
    return numbers_of(e, gather) != NULL;
}

/* ---- the loop ------------------------------------------------------------------------------------ */

/* A lane's values that the loop carries. */
static int carried(const TileOp *loop)
{
    int n = 0;
    for (int k = 0; k < loop->n_results; k++)
        if (loop->results[k]->type.kind == TT_TILE) n += lay_fragment_values(loop->results[k]->type.layout, loop->results[k]->type.rows, loop->results[k]->type.cols);
    return n;
}

/* As many turns as there are registers for, and iterations. */
static int turns_of(Emitter *e, const Ahead *w)
{
    int registers = registers_ahead(w), turns = carried(w->loop) > LONG_TURN ? 1 : MOST_TURNS;
    int64_t least, most;
    while (turns > 1 && turns * registers > room_of(e, w)) turns--;
    aff_bounds(aff_sub(e->program->aff, w->loop->hi, w->loop->lo), &least, &most);
    while (turns > 1 && most < turns) turns--;
    return turns;
}

static void read_first(Emitter *e, Ahead *w)
{
    AffCtx *aff = e->program->aff;
    find_accesses(e, w);
    for (int side = 0; side < w->turns; side++) {
        Reading r = reading(e, w, aff_offset(aff, w->loop->lo, side), side);
        read_words(e, w, NULL, r);
        for (int i = 0; i < w->numbers.len; i++) {
            take_registers(e, &w->numbers.data[i], side);
            read_numbers(e, w, &w->numbers.data[i], r);
        }
    }
}

const Ahead *ah_begin(Emitter *e, const TileOp *loop)
{
    const TileBlock *body = loop->regions[0];
    Ahead *w = arena_new_of(e->arena, Ahead);
    w->loop = loop;
    if (!is_ahead(e, loop)) return w;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind == TILE_INDEX && aff_uses_kind(op->index, AFF_TABLE) && !add_all(e, w, op, op->index)) w->words.len = w->tables.len = 0;
    }
    if (w->words.len > room_of(e, w)) w->words.len = 0;
    if (w->words.len == 0) return w;
    for (int i = 0; i < body->ops.len; i++)
        if (may_be_ahead(loop, body->ops.data[i])) add_numbers(e, w, body->ops.data[i]);
    w->turns = turns_of(e, w);
    read_first(e, w);
    return w;
}

int ah_turns(const Ahead *w)
{
    return w->turns;
}

void ah_take(Emitter *e, const TileOp *index)
{
    for (int i = 0; e->ahead && i < e->ahead->words.len; i++) {
        const Word *word = &e->ahead->words.data[i];
        if (word->first == index) ix_know(e, word->element, word->reg[e->side], em_level(e));
    }
}

void ah_next(Emitter *e, const TileOp *index)
{
    const Ahead *w = e->ahead;
    bool any = false;
    for (int i = 0; w && i < w->words.len; i++) {
        if (w->words.data[i].last != index) continue;
        ix_forget(e, w->words.data[i].element);
        any = true;
    }
    if (any) read_words(e, w, index, reading_next(e, w));
}

void ah_gather(Emitter *e, const TileOp *gather)
{
    const Numbers *n = numbers_of(e, gather);
    const Cells *c = &n->cells;
    const TileValue *v = gather->results[0];
    fr_new_f32(e, v);
    for (int i = 0; i < c->all.len; i++)
        cl_take(e, c, n->by[i], n->words[e->side][n->by[i].lead], &c->all.data[i], e->frags[v->id].f[i]);
    read_numbers(e, e->ahead, n, reading_next(e, e->ahead));
}
