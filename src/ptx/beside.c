/* beside.c: elements at computed places that come together.
 *
 * Each of a lane's values has a place of its own. Those that lie beside each other come at once (cells.c), those that are
 * one element, as W[col div 64] is for neighbours, once, and so do those of operations that follow and read the same lines:
 *
 *   %a = gather W[n * 256 + col, 0]                ld.global.v2.b32 {%r1, %r2}, [%rd5];   W[c, 0 .. 3]
 *   %b = gather W[n * 256 + col, 1]         ->     ld.global.v2.b32 {%r3, %r4}, [%rd6];   W[c + 1, 0 .. 3]
 *   ...                                            ...
 *
 * Kernels whose tiles lie as memory does have registers for that.
 */
#include "ptx/cells.h"

enum { MOST_ELEMENTS = 64 }; /* of one lane, that come together */

typedef struct Beside {
    Cells cells;
    const Access *by; /* by cell */
    int *regs;        /* of fp32, by cell */
    const TileOp *ops[MOST_ELEMENTS];
    int n_ops;
} Beside;

static bool may_come_together(const Emitter *e, const TileOp *op)
{
    return e->aligned && !e->role && tile_reads_lines(op) && !ah_has(e, op);
}

/* ---- operations that read the same lines ------------------------------------------------------- */

static bool meets(const Cells *c, const Cell *x, int before)
{
    for (int i = 0; i < before; i++)
        if (cl_may_meet(c, x, &c->all.data[i])) return true;
    return false;
}

/* Its elements too, if some come with those that are there. */
static void join(Emitter *e, Beside *b, const TileOp *op)
{
    Cells *c = &b->cells;
    int before = c->all.len;
    bool met = false;
    cl_add_values(e, c, op);
    for (int i = before; i < c->all.len && !met; i++) met = meets(c, &c->all.data[i], before);
    if (met && c->all.len <= MOST_ELEMENTS) b->ops[b->n_ops++] = op;
    else c->all.len = before;
}

/* Behind which nothing is brought ahead of. */
static bool is_between(const TileOp *op)
{
    bool reads = op->kind == TILE_GATHER || (op->kind == TILE_LOAD && op->results[0]->type.space == SPACE_REGISTER);
    return reads || op->kind == TILE_ELEMENT || op->kind == TILE_FILL || op->kind == TILE_INDEX || op->kind == TILE_CAST || op->kind == TILE_MASK;
}

static int index_in_block(const Emitter *e, const TileOp *op)
{
    int i = e->at;
    while (i < e->block->ops.len && e->block->ops.data[i] != op) i++;
    return i;
}

static void join_others(Emitter *e, Beside *b, const TileOp *op)
{
    for (int i = index_in_block(e, op) + 1; i < e->block->ops.len && is_between(e->block->ops.data[i]); i++) {
        const TileOp *other = e->block->ops.data[i];
        bool alike = other->kind == TILE_GATHER && other->tensor == op->tensor && may_come_together(e, other);
        if (alike && tile_type_equal(other->results[0]->type, op->results[0]->type)) join(e, b, other);
    }
}

/* ---- loading ------------------------------------------------------------------------------------ */

/* Registers of all operations that come; those that follow are passed over then. */
static void begin_results(Emitter *e, Beside *b)
{
    int each = b->cells.all.len / b->n_ops;
    b->regs = arena_array(e->arena, int, b->cells.all.len);
    for (int k = 0; k < b->n_ops; k++) {
        const TileValue *v = b->ops[k]->results[0];
        fr_new_f32(e, v);
        if (k > 0) vec_push(e->arena, &e->beside, b->ops[k]);
        memcpy(&b->regs[k * each], e->frags[v->id].f, (size_t)each * sizeof *b->regs);
    }
}

/* What comes with the cell that leads an access. */
static void load(Emitter *e, const Beside *b, int lead, Bases *bases)
{
    const Cells *c = &b->cells;
    Access a = b->by[lead];
    const Aff **coords = cl_coords(e, c, &c->all.data[lead], a.first);
    const char *words[ACCESS_WORDS], *address = ga_address(e, b->ops[0], bases, coords), *guard = gl_guard(e, ga_inside(e, b->ops[0], coords));
    for (int k = 0; a.n > 1 && k < cl_words(c, a); k++) words[k] = em_new(e, REG_R);
    if (a.n > 1) cl_load(e, c, a, guard, address, words);
    else gl_load_value(e, c->tensor->dtype, guard, address, b->regs[lead]);
    for (int i = lead; i < c->all.len; i++) {
        if (b->by[i].lead != lead) continue;
        if (a.n > 1) cl_take(e, c, a, words, &c->all.data[i], b->regs[i]);
        else if (i > lead) em(e, "mov.f32 %%f%d, %%f%d;", b->regs[i], b->regs[lead]);
    }
}

bool bs_has_come(Emitter *e, const TileOp *op)
{
    for (int i = 0; i < e->beside.len; i++)
        if (e->beside.data[i] == op) {
            e->beside.data[i] = e->beside.data[--e->beside.len];
            return true;
        }
    return false;
}

bool bs_gather(Emitter *e, const TileOp *op)
{
    if (!may_come_together(e, op)) return false;
    Beside b = {.cells = {.tensor = op->tensor}, .ops = {op}, .n_ops = 1};
    Bases bases = {.n = 0};
    bool some = false;
    cl_add_values(e, &b.cells, op);
    join_others(e, &b, op);
    b.by = cl_accesses(e, &b.cells);
    for (int i = 0; i < b.cells.all.len && !some; i++) some = b.by[i].n > 1 || b.by[i].lead != i;
    if (!some) return false;
    begin_results(e, &b);
    for (int i = 0; i < b.cells.all.len; i++)
        if (b.by[i].lead == i) load(e, &b, i, &bases);
    return true;
}
