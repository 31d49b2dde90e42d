/* aim.c: for how many blocks side by side a kernel of rows has ptxas leave registers.
 *
 * Told nothing, ptxas spills some where a lane could use many, for more blocks. So there it is told as many as what a
 * lane needs has room for. A stretch of code without branches makes elements one by one, in whatever order takes
 * fewest registers, and what was loaded waits as narrow as memory has it. But what is wanted on both sides of a branch
 * is there whole: of a load or a store, which look whether a row ends there, and of a mask, which tiles that need none
 * jump over. So is what is wanted behind a reduction of all of it; elements that are read one by one are all on
 * their way at once; and each of several rows of a tile has an address.
 */
#include "ptx/emit.h"

enum {
    MANY = 88,    /* words of tiles that arithmetic has at once, of which ptxas would rather spill some, */
    BESIDE = 42,  /* registers that it needs beside those that it must hold, at most; */
    STEPS = 32,   /* and for functions in many steps, of which several are under way; */
    STEPS_WANTED = 16, /* which count as so many words that are wanted; */
    PASSING = 4,  /* and one for so many more that are wanted, some of which it makes ahead; */
    LEAST = 24,   /* or at least, without those, where that makes a second block */
    LEAST_KEPT = 25, /* or beside addresses of what shared memory keeps; */
    QUARTERS = 4, /* of a multiprocessor, which have warps and registers of their own */
    WARP = 32
};

typedef struct Need {
    int wanted, held; /* words of tiles, most at once */
    bool steps;       /* some are made by functions in many steps */
} Need;

static bool is_tile(const TileValue *v)
{
    return v->type.kind == TT_TILE && v->type.space == SPACE_REGISTER && !(v->def && v->def->kind == TILE_FILL);
}

static int words(const TileValue *v)
{
    return is_tile(v) ? lay_fragment_values(v->type.layout, v->type.rows, v->type.cols) : 0;
}

static bool is_read_one_by_one(const TileValue *v)
{
    return v->def && v->def->kind == TILE_GATHER;
}

/* Of pairs that were loaded, or are stored. What is read one by one is counted as it is read (at_once). */
static int packed_words(const TileValue *v)
{
    if (is_read_one_by_one(v)) return 0;
    return dtype_bytes(v->type.dtype) == 2 ? (words(v) + 1) / 2 : words(v);
}

static bool parts_code(const TileOp *op)
{
    return op->kind == TILE_LOAD || op->kind == TILE_STORE || op->kind == TILE_MASK || op->kind == TILE_REDUCE || op->n_regions > 0;
}

/* Whether the result takes the registers of operand v, which nothing else wants. */
static bool takes_over(const TileOp *op, const TileValue *v, bool ends)
{
    if (!ends || op->n_results != 1) return false;
    if (op->kind == TILE_MASK || op->kind == TILE_REDUCE || op->n_args == 1) return op->args[0] == v;
    return op->kind == TILE_ELEMENT && dtype_bytes(v->type.dtype) == 4 && words(v) == words(op->results[0]);
}

/* Adds v, if operation i of its block or one behind it uses it. */
static void add_live(Need *n, const TileOp *op, int i, const TileValue *v, const int *used, bool *taken)
{
    if (used[v->id] <= i) return;
    bool over = !*taken && takes_over(op, v, used[v->id] == i + 1);
    *taken |= over;
    n->wanted += over ? 0 : words(v);
    n->held += over ? 0 : packed_words(v);
}

static Need need_at(const TileBlock *block, int i, Need around, const int *used)
{
    bool taken = false;
    const TileOp *op = block->ops.data[i];
    for (int k = 0; k < block->params.len; k++) add_live(&around, op, i, block->params.data[k], used, &taken);
    for (int j = 0; j <= i; j++)
        for (int k = 0; k < block->ops.data[j]->n_results; k++) add_live(&around, op, i, block->ops.data[j]->results[k], used, &taken);
    return around;
}

/* Rows of a tile that a lane has, each with an address. */
static int rows_of(const TileValue *v)
{
    const Layout *l = &v->type.layout;
    return v->type.rows > 1 ? v->type.rows / (l->warps_m * (WARP / l->lanes)) : 1;
}

/* Elements that a block reads one by one, with those that it makes of places in 64 bits meanwhile, and addresses of rows that
 * its tiles come from, where they have several. */
static Need at_once(const Emitter *e, const TileBlock *block)
{
    Need n = {0};
    int wide = 0;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_GATHER) n.wanted += words(op->results[0]);
        if (op->kind == TILE_INDEX && ix_is_wide_part(e, op->index)) wide += words(op->results[0]);
        if (op->kind == TILE_LOAD && rows_of(op->results[0]) > 1) n.held += 2 * rows_of(op->results[0]);
    }
    n.wanted += n.wanted ? wide : 0;
    n.held += n.wanted;
    return n;
}

static int more(int a, int b)
{
    return a > b ? a : b;
}

/* A function in many steps of a tile's elements; quotients by one number of a row share theirs. */
static bool is_in_steps(const TileOp *op)
{
    static const OpId stepped[] = {OP_POWER, OP_TANH, OP_GELU, OP_ERF, OP_LOG1P, OP_EXPM1, OP_CEIL_DIVIDE, OP_SIN, OP_COS};
    if (op->kind != TILE_ELEMENT || words(op->results[0]) <= 1) return false;
    for (size_t i = 0; i < TW_COUNT(stepped); i++)
        if (op->op == stepped[i]) return true;
    return op->op == OP_DIVIDE && op->args[1]->type.cols > 1;
}

static void measure(const Emitter *e, const TileBlock *block, Need around, Need *most)
{
    int *used = arena_array(e->arena, int, e->kernel->next_value);
    Need whole = at_once(e, block);
    most->wanted = more(most->wanted, around.wanted + whole.wanted);
    around.held += whole.held;
    most->held = more(most->held, around.held);
    for (int i = 0; i < block->ops.len; i++) rm_note_uses(block->ops.data[i], i + 1, used);
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        Need n = need_at(block, i, around, used);
        most->wanted = more(most->wanted, n.wanted);
        most->steps |= is_in_steps(op);
        if (parts_code(op)) most->held = more(most->held, n.held);
        for (int r = 0; r < op->n_regions; r++) measure(e, op->regions[r], n, most);
    }
}

/* Blocks side by side that leave a thread so many registers. */
static int blocks_with(const Emitter *e, int registers)
{
    int warps = e->target->regs_per_sm / QUARTERS / ((registers + 7) / 8 * 8 * WARP);
    int n = QUARTERS * warps / e->kernel->warps;
    return n < e->target->blocks_per_sm ? n : e->target->blocks_per_sm;
}

static bool has_rows(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++)
            if (is_tile(op->results[k]) && op->results[k]->type.layout.kind != LAY_ROWS) return false;
        for (int r = 0; r < op->n_regions; r++)
            if (!has_rows(op->regions[r])) return false;
    }
    return true;
}

/* A quotient, or a remainder, of elements that each value reads at its own place. */
static bool divides_elements(const Aff *a)
{
    if (!a || !aff_uses_kind(a, AFF_TABLE) || !aff_uses_place(a)) return false;
    return a->kind == AFF_DIV || a->kind == AFF_MOD || divides_elements(a->a) || divides_elements(a->b);
}

/* Integers that come by such: ptxas goes through their steps in an order that takes few registers, unless it is given more. */
static bool divides_integers(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_INDEX && words(op->results[0]) > 1 && divides_elements(op->index)) return true;
        for (int r = 0; r < op->n_regions; r++)
            if (divides_integers(op->regions[r])) return true;
    }
    return false;
}

int ai_most(const Emitter *e)
{
    Need none = {0}, most = {0};
    if (!has_rows(e->kernel->body)) return e->target->blocks_per_sm;
    measure(e, e->kernel->body, none, &most);
    return more(1, blocks_with(e, most.held + LEAST_KEPT));
}

int ai_blocks(const Emitter *e)
{
    Need none = {0}, most = {0};
    if (!has_rows(e->kernel->body) || divides_integers(e->kernel->body)) return 0;
    measure(e, e->kernel->body, none, &most);
    if (most.wanted + (most.steps ? STEPS_WANTED : 0) <= MANY) return 0;
    int passing = most.wanted > MANY ? (most.wanted - MANY) / PASSING : 0;
    int held = most.held + e->kernel->spare, n = blocks_with(e, held + BESIDE + passing + (most.steps ? STEPS : 0)), few = n > 0 ? n : 1;
    return n < 2 && !most.steps ? more(few, blocks_with(e, held + LEAST)) : few;
}
