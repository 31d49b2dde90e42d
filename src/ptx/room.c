/* room.c: the registers that a loop's tiles leave for addresses, operand fragments and arithmetic.
 *
 * ptxas makes what a loop does not change once and keeps it, and starts loads long before what they
 * are for; where that is more than a thread has, it spills. So the less room there is, the less is
 * left to it. Where room is short, a turn makes its addresses of the lane's own (shared.c). Where it is
 * scarce, each operation has a lane's number of its own, what comes behind the loop follows from
 * nothing ahead of it (anew.c), operands of few products are not loaded far ahead, and products that follow
 * each other are kept apart (mma.c). Arithmetic of many steps between two products, some of which ptxas begins while the
 * first multiplies, is kept apart from it, and from the second, for which it loads early. All of that costs instructions.
 * In an entry for any alignment, for which nobody counts registers, room always is scarce.
 */
#include "ptx/emit.h"

enum {
    FRAGMENTS = 44, /* wanted beside what a loop carries and its largest product: for operand fragments and addresses, */
    PER_STEP = 64,  /* and one for so many of a product in each step of arithmetic */
    SCARCE = 56,    /* beside all tiles of a turn too few for what ptxas would keep, */
    SCARCE_MIXED = 57, /* and beside arithmetic, too, where nothing else parts a product from the one that adds it up, */
    SCARCE_WIDE = 96, /* and beside what is made of places value by value, */
    SCARCE_HELD = 96, /* and where tiles are on their way through registers */
    HELD_MORE = 16, /* of each sum beside another, whose tiles are, too */
    APART = 60,     /* and with what comes from around the loop too few for operands of two products at once, */
    LEAST = 48,     /* and of what follows one that adds to a sum, */
    SORTED = 24,    /* of operands of 8 bits, which are sorted or widened ahead of their products */
    NONE = 32,      /* and for none of that, beside tiles of the entry for any alignment whose warps make what others prepare, */
    OF_POWER = 3,   /* steps that a power is: a logarithm, a product, an exponential */
    LONG = 9,       /* steps of arithmetic between two products that are many, */
    LONG_BESIDE = 8, /* where two tiles stand side by side, */
    LONG_DIVIDED = 7, /* where some of what they take is by quotients of places, */
    STRETCH = 6,    /* and in one stretch of code with more; */
    LONG_WANTS = 160, /* they want as many beside what a loop carries and its largest product, */
    LONG_FULL = 60, /* of which these are few; */
    BESIDE_ROWS = 64, /* and so are these for sums of rows beside all tiles of a turn; */
    BESIDE_FETCHED = 56, /* beside all tiles of a turn and elements of tables that are fetched too few to keep addresses, */
    BEHIND_TILES = 64, /* beside all tiles of a turn where another one is loaded behind its loop, */
    LEAST_FETCHED = 32, /* and for anything that ptxas would keep; */
    FEW_AROUND = 2, /* numbers from around the loop that are no rows' */
    OF_PLACE = 8,   /* of each way more that second operands lie in shared memory, or are read from there: addresses */
    OUTPUTS = 24,   /* of those beside another, where a loop carries more than */
    MUCH = 140,
    STRIDED_MANY = 32, /* elements, beside what a mask asks of columns */
    FEW_REGISTERS = 128, /* that blocks side by side leave a thread: */
    FEW = 60,       /* of them beside tiles and arithmetic too few to keep much over a loop, */
    SOME_REGISTERS = 168 /* and that many in all for ptxas to load far ahead */
};

/* What a loop's turn has in registers. */
typedef struct Tiles {
    int carried; /* from turn to turn */
    int product; /* the largest that a turn makes beside what it adds to */
    int most;    /* tiles with rows and columns, where most of them are there */
    int steps;   /* of arithmetic on such tiles */
    int products, sums; /* made in a turn; added to */
    const TileValue *second; /* operand, as last seen, */
    int places;         /* and how often one followed that lies in shared memory otherwise: in rows of another length, or turned */
    bool computes; /* what it multiplies, or with what it has multiplied */
    bool scales;   /* what it carries, in every turn */
    bool divides;  /* places, for its arithmetic */
    bool mixed;    /* a product follows another, and no row as a whole is made in between, */
    bool beside;   /* or nothing in between waits for it */
} Tiles;

static int registers_of(const TileValue *v)
{
    const TileType *t = &v->type;
    if (t->kind != TT_TILE || t->space != SPACE_REGISTER || t->pending) return 0;
    return fl_packed(v) ? fr_words(v) : lay_fragment_values(t->layout, t->rows, t->cols);
}

static int words_of(const TileValue *v)
{
    return v->type.rows > 1 && v->type.cols > 1 ? registers_of(v) : 0;
}

static bool is_matrix_arithmetic(const TileOp *op)
{
    bool arithmetic = op->kind == TILE_ELEMENT || op->kind == TILE_MASK || op->kind == TILE_INDEX || op->kind == TILE_REDUCE;
    if (!arithmetic) return false; /* others need have neither operands nor results */
    const TileType *t = op->n_args > 0 ? &op->args[0]->type : &op->results[0]->type;
    return t->rows > 1 && t->cols > 1 && t->dtype == DT_F32;
}

/* Of a tile that the loop carries, in code that nothing jumps over. */
static bool is_scaling(const TileBlock *body, const TileOp *op)
{
    if (op->kind != TILE_ELEMENT || op->skip_ones || !is_matrix_arithmetic(op)) return false;
    for (int k = 0; k < body->params.len; k++)
        if (body->params.data[k] == op->args[0]) return true;
    return false;
}

/* What is made of positions alone comes into being element by element, where it is wanted. */
static bool is_passing(const bool *passing, const TileOp *op)
{
    if (op->kind == TILE_FILL || op->kind == TILE_INDEX) return true;
    for (int k = 0; k < op->n_args; k++)
        if (op->kind != TILE_ELEMENT || (words_of(op->args[k]) > 0 && !passing[op->args[k]->id])) return false;
    return op->kind == TILE_ELEMENT;
}

void rm_note_uses(const TileOp *op, int behind, int *used)
{
    for (int k = 0; k < op->n_args; k++) used[op->args[k]->id] = behind;
    for (int r = 0; r < op->n_regions; r++)
        for (int i = 0; i < op->regions[r]->ops.len; i++) rm_note_uses(op->regions[r]->ops.data[i], behind, used);
}

/* Registers of tiles that come and go in a block. */
typedef struct Live {
    const TileBlock *body;
    int *used, *ends; /* by value id: rm_note_uses; by operation: words of tiles that it is the last to use */
    bool *own;        /* by value id: a tile of the block */
    bool pending;     /* products that are under way count as well, and so do their operands */
    int now;
} Live;

static int live_words(const Live *l, const TileValue *v)
{
    const TileType *t = &v->type;
    return l->pending && t->pending ? lay_fragment_values(t->layout, t->rows, t->cols) : words_of(v);
}

static void begin_live(Live *l, const TileValue *v)
{
    l->own[v->id] = true;
    if (l->used[v->id]) l->ends[l->used[v->id] - 1] += live_words(l, v);
}

/* Where all products that were started by then are done. */
static int done_after(const TileBlock *body, int at)
{
    while (at < body->ops.len - 1 && (body->ops.data[at]->kind != TILE_FINISH || body->ops.data[at]->count > 0)) at++;
    return at;
}

/* Operands in registers stay until products are done. */
static void keep_operands(Live *l)
{
    for (int i = 0; i < l->body->ops.len; i++) {
        const TileOp *op = l->body->ops.data[i];
        int done = op->kind == TILE_ISSUE ? done_after(l->body, i) + 1 : 0;
        for (int k = 0; k < op->n_args && k < 2 && done; k++)
            if (l->used[op->args[k]->id] < done) l->used[op->args[k]->id] = done;
    }
}

static Live live_in(const Emitter *e, const TileBlock *body, const bool *passing, bool pending)
{
    int n = e->kernel->next_value;
    Live l = {body, arena_array(e->arena, int, n), arena_array(e->arena, int, body->ops.len), arena_array(e->arena, bool, n), pending, 0};
    for (int i = 0; i < body->ops.len; i++) rm_note_uses(body->ops.data[i], i + 1, l.used);
    if (pending) keep_operands(&l);
    for (int k = 0; k < body->params.len; k++) {
        const TileValue *v = body->params.data[k];
        begin_live(&l, v);
        if (l.used[v->id]) l.now += live_words(&l, v);
    }
    for (int i = 0; i < body->ops.len; i++)
        for (int k = 0; k < body->ops.data[i]->n_results; k++) {
            const TileValue *v = body->ops.data[i]->results[k];
            if (!passing[v->id]) begin_live(&l, v);
        }
    return l;
}

/* Words there once the operation at `at` is done, what comes before it having been asked. Arithmetic leaves the registers
 * of what it reads last to its result, a product does not. */
static int words_after(Live *l, int at)
{
    const TileOp *op = l->body->ops.data[at];
    const TileValue *first = op->kind == TILE_GEMM ? op->args[0] : NULL;
    int unused = 0;
    for (int k = 0; k < op->n_results; k++) {
        const TileValue *v = op->results[k];
        if (!l->own[v->id]) continue;
        l->now += live_words(l, v);
        if (!l->used[v->id]) unused += live_words(l, v);
    }
    l->now -= l->ends[at];
    int there = l->now + (first && l->own[first->id] && l->used[first->id] == at + 1 ? live_words(l, first) : 0);
    l->now -= unused;
    return there;
}

static void add_product(Tiles *t, const TileOp *op)
{
    const TileType *r = &op->results[0]->type;
    int n = lay_fragment_values(r->layout, r->rows, r->cols);
    t->sums += op->n_args == 3;
    t->products += op->n_args == 2;
    t->places += t->second && (t->second == op->args[1] || t->second->type.cols != op->args[1]->type.cols);
    t->second = op->args[1];
    t->computes |= op->n_args == 2 || op->args[0]->type.space == SPACE_REGISTER;
    if (op->n_args == 2 && n > t->product) t->product = n;
}

static bool has_quotient(const Aff *a)
{
    if (!a || !aff_uses_place(a)) return false;
    return a->kind == AFF_DIV || a->kind == AFF_MOD || has_quotient(a->a) || has_quotient(a->b);
}

/* Numbers that are quotients of places, or elements that such say the place of. */
static bool divides_places(const TileOp *op)
{
    bool divides = op->kind == TILE_INDEX && has_quotient(op->index);
    for (int d = 0; op->kind == TILE_GATHER && d < op->tensor->rank; d++) divides |= has_quotient(op->coords[d]);
    return divides;
}

/* Whether a tile, or code that is jumped over, takes what whole rows came to; else of_rows, by value id, tells who follows
 * from such. */
static bool waits_for_rows(bool *of_rows, const TileOp *op)
{
    bool follows = op->kind == TILE_REDUCE;
    for (int k = 0; k < op->n_args; k++) follows |= of_rows[op->args[k]->id];
    for (int k = 0; k < op->n_results && follows; k++) of_rows[op->results[k]->id] = true;
    return follows && op->kind != TILE_REDUCE && (is_matrix_arithmetic(op) || op->n_regions > 0);
}

static Tiles tiles_of(const Emitter *e, const TileBlock *body)
{
    Tiles t = {0};
    int sorted = 0;
    bool open = false, beside = false; /* a product stands before, with nothing but arithmetic since; and rows that nothing waits for */
    bool *passing = arena_array(e->arena, bool, e->kernel->next_value), *of_rows = arena_array(e->arena, bool, e->kernel->next_value);
    for (int k = 0; k < body->params.len; k++) {
        const TileValue *v = body->params.data[k];
        t.carried += fl_packed(v) ? fr_words(v) : e->frags[v->id].n;
    }
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        for (int k = 0; k < op->n_results; k++) passing[op->results[k]->id] = is_passing(passing, op);
    }
    Live live = live_in(e, body, passing, false);
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        int n = words_after(&live, i);
        t.most = n > t.most ? n : t.most;
        t.steps += is_matrix_arithmetic(op) * (op->op == OP_POWER ? OF_POWER : 1);
        t.divides |= divides_places(op);
        t.scales |= is_scaling(body, op);
        open &= op->kind != TILE_REDUCE;
        beside &= !waits_for_rows(of_rows, op);
        if (op->kind != TILE_GEMM) continue;
        t.mixed |= open;
        t.beside |= beside;
        open = beside = true;
        add_product(&t, op);
        if (f8_is(op->args[1]->type.dtype)) sorted = SORTED;
    }
    t.most += sorted;
    return t;
}

/* Registers of what a loop's body reads from around it: of values that are not known. */
static int read_around(const TileBlock *body, bool *known)
{
    int n = 0;
    for (int k = 0; k < body->params.len; k++) known[body->params.data[k]->id] = true;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        for (int k = 0; k < op->n_args; k++) {
            n += known[op->args[k]->id] ? 0 : registers_of(op->args[k]);
            known[op->args[k]->id] = true;
        }
        for (int k = 0; k < op->n_regions; k++) n += read_around(op->regions[k], known);
        for (int k = 0; k < op->n_results; k++) known[op->results[k]->id] = true;
    }
    return n;
}

/* Registers that a thread has where as many blocks as the kernel aims at stand side by side, less what is left to the assembler. */
static int share(const Emitter *e)
{
    int blocks = e->kernel->blocks_per_sm > 0 ? e->kernel->blocks_per_sm : 1;
    int n = e->target->regs_per_sm / (blocks * e->kernel->warps * 32) / 8 * 8;
    return (n < e->target->regs_per_thread ? n : e->target->regs_per_thread) - e->kernel->spare;
}

/* Elements of tables, as ids of documents, that a lane reads of the columns of a turn's tiles. */
static int read_of_columns(const TileBlock *body)
{
    int n = 0;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        const TileType *t = op->kind == TILE_INDEX ? &op->results[0]->type : NULL;
        if (t && t->rows > 1 && aff_uses_kind(op->index, AFF_TABLE) && aff_uses_kind(op->index, AFF_COL)) n += lay_fragment_values(t->layout, 1, t->cols);
    }
    return n;
}

/* Registers beside all tiles of a turn, and elements of tables that it reads of columns, of which ptxas fetches those of the next steps
 * as well; where there are no such elements, more than are few. */
static int beside_fetched(const Emitter *e, const TileBlock *body, const Tiles *t)
{
    int n = e->aligned && e->target->has_cp_async && share(e) > SOME_REGISTERS ? read_of_columns(body) : 0;
    return n > 0 ? share(e) - t->most - 2 * n : BESIDE_FETCHED;
}

/* Whether a tile is loaded behind the loop at hand, whose addresses ptxas makes before it, where a turn's tiles leave little beside those of
 * operands. */
static bool loads_tile_behind(const Emitter *e, const Tiles *t)
{
    bool may = e->aligned && e->target->has_cp_async && share(e) > SOME_REGISTERS && share(e) - t->most <= BEHIND_TILES;
    for (int i = e->at + 1; may && i < e->block->ops.len; i++) {
        const TileOp *op = e->block->ops.data[i];
        const TileType *r = op->kind == TILE_LOAD ? &op->results[0]->type : NULL;
        if (r && r->space == SPACE_REGISTER && r->rows > 1 && r->cols > 1) return true;
    }
    return false;
}

/* Whether what a loop carries and its largest product leave few registers. */
static bool is_short(const Emitter *e, const TileBlock *body, const Tiles *t)
{
    if (e->role || t->product == 0) return false;
    if (beside_fetched(e, body, t) < BESIDE_FETCHED || loads_tile_behind(e, t)) return true;
    return share(e) - t->carried - t->product < FRAGMENTS + t->steps * t->product / PER_STEP;
}

static bool has(const TileBlock *block, bool (*is_one)(const TileOp *op))
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (is_one(op) && op->results[0]->type.rows > 1) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (has(op->regions[k], is_one)) return true;
    }
    return false;
}

/* Where warpgroups multiply, blocks have more warps for as many rows, and ptxas has kept within its registers, unless tiles fill them,
 * in turns of two products, or many elements have an address each. */
static bool may_be_scarce(const Emitter *e, const TileBlock *body, const Tiles *t)
{
    if (e->role) return false;
    if (e->target->has_wgmma && !e->aligned && has(body, tile_is_scattered)) return true;
    if (e->target->has_wgmma) return !e->aligned && (t->products + t->sums > 2 || share(e) - t->most <= NONE);
    return !e->aligned || e->kernel->warps_n <= 1;
}

static bool has_outputs_beside_another(const Emitter *e)
{
    return tile_count(e->kernel->body, TILE_STORE) > 1;
}

/* Outputs beside another have addresses of their own, for which ptxas has no room where a loop carries much. */
static int of_outputs(const Emitter *e, const Tiles *t)
{
    return t->carried > MUCH && has_outputs_beside_another(e) ? OUTPUTS : 0;
}

/* Of two sums and more of one product, with outputs beside theirs, which a loop behind makes: ptxas keeps what these want over both. */
static bool has_sums_beside_outputs(const Emitter *e, const Tiles *t)
{
    return !e->role && t->products == 1 && t->sums > 1 && tile_count(e->kernel->body, TILE_STORE) > t->sums;
}

/* Numbers in between each step of arithmetic. */
static int between_steps(const Tiles *t)
{
    return t->steps * t->product / PER_STEP;
}

/* Where blocks side by side leave a thread few, half of which a loop fills that does nothing but add to them. */
static bool only_adds_to_many(const Emitter *e, const Tiles *t)
{
    bool only_adds = t->products == 0 && t->sums > 0, of_warps = e->target->has_wgmma && e->aligned && !e->role;
    return of_warps && only_adds && share(e) <= FEW_REGISTERS && 2 * t->carried >= share(e);
}

/* Elements of a lane that a turn reads at computed places. */
static int elements_gathered(const TileBlock *body)
{
    int n = 0;
    for (int i = 0; i < body->ops.len; i++) {
        const TileType *t = body->ops.data[i]->kind == TILE_GATHER ? &body->ops.data[i]->results[0]->type : NULL;
        if (t && t->space == SPACE_REGISTER) n += lay_fragment_values(t->layout, t->rows, t->cols);
    }
    return n;
}

/* For any alignment each element has an address: of more than a thread has registers, ptxas keeps what their places have in common. */
static bool gathers_beyond(const Emitter *e, const TileBlock *body)
{
    return !e->aligned && !e->role && elements_gathered(body) > share(e);
}

/* Where tiles are on their way through registers: rows of numbers that a turn loads from memory, which come while it multiplies, with
 * what it reads from around it, where those are more than what it carries. */
static int of_rows(const Emitter *e, const TileBlock *body, const Tiles *t)
{
    int rows = 0;
    if (e->target->has_cp_async) return 0;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind == TILE_LOAD && op->results[0]->type.rows == 1) rows += registers_of(op->results[0]);
    }
    if (rows == 0) return 0;
    int beside = rows + read_around(body, arena_array(e->arena, bool, e->kernel->next_value));
    return beside > t->carried ? beside : 0;
}

static bool is_scarce(const Emitter *e, const TileBlock *body, const Tiles *t)
{
    if (only_adds_to_many(e, t) || gathers_beyond(e, body)) return true;
    if (!may_be_scarce(e, body, t)) return false;
    if (!e->aligned) return t->products + t->sums > 0;
    int left = share(e) - t->most - of_outputs(e, t) - t->places * OF_PLACE - of_rows(e, body, t);
    if (t->mixed && t->products == 1 && left - between_steps(t) <= SCARCE_MIXED) return true;
    if (t->computes && left <= SCARCE_WIDE && ch_is_in(e, body)) return true;
    if (t->computes && (has_sums_beside_outputs(e, t) || beside_fetched(e, body, t) < LEAST_FETCHED)) return true;
    int more = t->products == 1 && t->sums > 1 ? t->sums - 1 : 0;
    return t->computes && left <= (e->target->has_cp_async ? SCARCE : SCARCE_HELD + more * HELD_MORE);
}

/* Elements a length of the launch from each other, each of which has an address: more than a role has beside all else. */
static bool is_strided_by_many(const TileOp *op)
{
    if (!tile_is_strided(op)) return false;
    const TileType *t = &op->results[0]->type;
    return lay_fragment_values(t->layout, t->rows, t->cols) > STRIDED_MANY;
}

static bool masks_columns(const TileOp *op)
{
    return op->kind == TILE_MASK && aff_uses_kind(op->cond, AFF_COL);
}

Room rm_of_role(const TileBlock *body)
{
    if (tile_has(body, TILE_ISSUE)) return ROOM_ENOUGH;
    if (has(body, tile_is_scattered) || (has(body, is_strided_by_many) && has(body, masks_columns))) return ROOM_SCARCE;
    return has(body, tile_is_strided) ? ROOM_SHORT : ROOM_ENOUGH;
}

Room rm_of(const Emitter *e, const TileOp *loop)
{
    if (e->role && e->room != ROOM_ENOUGH) return e->room;
    Tiles t = tiles_of(e, loop->regions[0]);
    return is_scarce(e, loop->regions[0], &t) ? ROOM_SCARCE : is_short(e, loop->regions[0], &t) ? ROOM_SHORT : ROOM_ENOUGH;
}

/* Of what blocks side by side leave a thread, with numbers in between each step of arithmetic. */
static bool are_few(const Emitter *e, const Tiles *t)
{
    return share(e) <= FEW_REGISTERS && t->products > 0 && share(e) - t->most - between_steps(t) <= FEW;
}

/* Another loop wants what the one before it did. */
static bool is_last_loop(const Emitter *e)
{
    for (int i = e->at + 1; i < e->block->ops.len; i++)
        if (e->block->ops.data[i]->kind == TILE_FOR) return false;
    return true;
}

/* Many warps with several outputs may lack some there as well, where each row and column that they store is looked at. */
static bool may_lack_behind(const Emitter *e, const Tiles *t)
{
    return !e->role && !e->aligned && t->products > 0 && share(e) <= FEW_REGISTERS && has_outputs_beside_another(e);
}

bool rm_anew_behind(const Emitter *e, const TileOp *loop)
{
    Tiles t = tiles_of(e, loop->regions[0]);
    if (!may_be_scarce(e, loop->regions[0], &t)) return may_lack_behind(e, &t);
    if (!e->aligned) return t.products + t.sums > 0;
    bool wanted = t.products > 1 || (t.products > 0 && !e->target->has_cp_async) || are_few(e, &t) || is_scarce(e, loop->regions[0], &t) ||
                  (t.products > 0 && ch_is_in(e, loop->regions[0]));
    return wanted && (is_last_loop(e) || has_sums_beside_outputs(e, &t));
}

int rm_stretch(const Emitter *e)
{
    Tiles t = tiles_of(e, e->block);
    bool few = t.products + t.sums <= 2 || (!e->target->has_cp_async && t.products <= t.sums);
    few |= !e->aligned && e->target->has_wgmma; /* scarce in turns of more (may_be_scarce) */
    if (e->room != ROOM_SCARCE || !few || e->kernel->warps_n > 1) return 0;
    return !e->aligned ? 1 : share(e) > SOME_REGISTERS ? 2 : 0;
}

bool rm_apart(const Emitter *e, const TileOp *last)
{
    Tiles t = tiles_of(e, e->block);
    int left = share(e) - t.most - read_around(e->block, arena_array(e->arena, bool, e->kernel->next_value));
    bool adds = last->n_args == 3 && left > LEAST;
    return e->turn && t.products > 1 && !adds && may_be_scarce(e, e->block, &t) && share(e) > SOME_REGISTERS &&
           left <= (e->target->has_cp_async ? APART : SCARCE_HELD);
}

static bool has_mask_in_steps(const Emitter *e)
{
    for (int i = 0; i < e->block->ops.len; i++)
        if (el_masks_in_steps(e, e->block->ops.data[i])) return true;
    return false;
}

/* Arithmetic of many steps, or of some where another tile stands beside the one that a product made. */
static bool is_long(const Tiles *t)
{
    return t->steps >= (t->divides ? LONG_DIVIDED : t->most > t->carried + t->product ? LONG_BESIDE : LONG);
}

/* Of fewer steps, but in one stretch of code with more: with what the loop carries, or with both products, since no row as a
 * whole is wanted in between. */
static bool is_in_stretch(const Emitter *e, const Tiles *t, int left, int around)
{
    bool full = left <= LONG_FULL;
    bool scales = t->scales && full && has_outputs_beside_another(e);
    bool mixed = t->mixed && t->products == 1 && around <= FEW_AROUND && (t->sums == 1 || !full || !e->target->has_cp_async);
    return t->steps >= STRETCH && (scales || mixed);
}

/* Of few steps, but beside sums of rows, which nothing in between waits for, and with registers for little else: ptxas begins with
 * the second product while it ends the first. */
static bool is_beside_rows(const Emitter *e, const Tiles *t)
{
    return t->beside && !t->mixed && t->products == 1 && t->steps < STRETCH && share(e) - t->most <= BESIDE_ROWS;
}

/* Where what the loop carries fills nearly all registers, and little is read from around it, ptxas spills where the second product
 * waits. */
static bool may_not_wait(const Emitter *e, const Tiles *t, int left, int around)
{
    bool carries = t->carried > t->product && around <= FEW_AROUND;
    return left <= LONG_FULL && share(e) > SOME_REGISTERS && carries && t->sums == 1 && e->target->has_cp_async;
}

/* Of more steps than a softmax takes, whose numbers in between leave as few registers as are scarce, beside a product, a larger sum that
 * the loop carries, and what comes from around it; for any alignment they are scarce anyway, unless tiles come from around it. */
static bool fills_between(const Emitter *e, const Tiles *t, int around)
{
    bool alone = t->products == 1 && t->sums == 1 && t->carried > t->product && t->most <= t->carried + t->product;
    bool may = t->steps >= STRETCH && (e->aligned || around > FEW_AROUND) && share(e) > SOME_REGISTERS;
    return alone && may && share(e) - t->most - around - between_steps(t) <= SCARCE;
}

Parted rm_parted(const Emitter *e)
{
    if (e->role || !e->turn || has_mask_in_steps(e)) return PARTED_NOT;
    Tiles t = tiles_of(e, e->block);
    int left = share(e) - t.carried - t.product, around = read_around(e->block, arena_array(e->arena, bool, e->kernel->next_value));
    if (t.products == 0 || t.sums == 0 || left > LONG_WANTS) return PARTED_NOT;
    if (!is_long(&t) && (is_in_stretch(e, &t, left, around) || is_beside_rows(e, &t))) return PARTED_FROM_FIRST;
    if (fills_between(e, &t, around)) return PARTED_FROM_BOTH;
    if (!is_long(&t)) return PARTED_NOT;
    return may_not_wait(e, &t, left, around) ? PARTED_FROM_FIRST : PARTED_FROM_BOTH;
}

/* Of what a role has, or a share. */
static int registers_there(const Emitter *e)
{
    return e->role && e->role->regs > 0 ? e->role->regs : share(e);
}

/* In a role with the products that are under way. */
static int most_pending(const Emitter *e, const TileBlock *block)
{
    bool *passing = arena_array(e->arena, bool, e->kernel->next_value);
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++) passing[op->results[k]->id] = is_passing(passing, op);
    }
    Live live = live_in(e, block, passing, true);
    int most = 0;
    for (int i = 0; i < block->ops.len; i++) {
        int n = words_after(&live, i);
        most = n > most ? n : most;
    }
    return most;
}

int rm_left(const Emitter *e, const TileBlock *block)
{
    if (e->role) return registers_there(e) - most_pending(e, block);
    Tiles t = tiles_of(e, block);
    return share(e) - t.most;
}

bool rm_rows_are_long(const Emitter *e)
{
    int rows = 0, most = 0;
    for (int i = 0; i < e->block->ops.len; i++) {
        const TileOp *op = e->block->ops.data[i];
        for (int k = 0; k < op->n_results; k++) {
            const TileType *t = &op->results[k]->type;
            int n = registers_of(op->results[k]);
            if (op->kind == TILE_LOAD && t->space == SPACE_REGISTER && t->rows == 1) rows += n;
            else if (n > most) most = n;
        }
    }
    int beside = e->role && e->turn ? rm_left(e, e->block) : registers_there(e) - most;
    return beside - rows < FRAGMENTS;
}
