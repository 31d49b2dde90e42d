/* copy.c: between global memory, shared memory and registers.
 *
 * Copies into shared memory go in chunks of 16 bytes, dealt to the threads in
 * turn (lay.h, LayDeal). Aligned, a chunk is one cp.async whose source size, 0 to 16, zero-fills what lies
 * outside (PTX ISA, cp.async); otherwise its elements are loaded one by one and
 * stored at once. A tile that is held in registers on its way (lay.h, LAY_CHUNKS)
 * is loaded and put in the same chunks: one access of 16 bytes each.
 */
#include "ptx/emit.h"
#include "ptx/global.h"
#include "ptx/integer.h"
#include "ptx/roles.h"
#include "ptx/stretch.h"
#include "ptx/window.h"

enum {
    TOGETHER = 4,     /* chunks whose elements are loaded at once */
    PLACE_REGS = 4,   /* of a row's address and what it follows from; where there are not so many for all, */
    AHEAD = 16,       /* that is read for some rows at once */
    BESIDE_PRODUCTS = 60, /* operand fragments and addresses, in a turn whose warps multiply as well, */
    BESIDE_WORDS = 96 /* and take words apart that were read ahead */
};

/* ---- chunks --------------------------------------------------------------------- */

typedef struct Chunks {
    const TileOp *op;
    SharedTile tile;
    LayDeal deal;
    int elements;                /* of a chunk */
    int last_row, last_chunk;    /* regular: greatest row and chunk that a first chunk is at */
    const char *row0, *chunk0;   /* of the thread's first chunk */
    const int *words;            /* registers that hold the chunks, 4 each; NULL: none do */
    const char *address;         /* regular: of the first chunk, */
    const AffSym *row_sym;       /* its row */
    const Aff *column;           /* and its first element's column, */
    const char *right;           /* as a register where rows lie where each says */
    bool in_window;              /* the row begins with the kernel's window */
} Chunks;

/* One chunk of the thread: where it is, and the last may not exist. */
typedef struct Chunk {
    int i;                    /* of the thread's */
    const char *row, *chunk;  /* registers */
    const Aff *row_aff, *col_aff;
    const char *shared;       /* "[...]" */
    const char *address;      /* in global memory */
    int byte;                 /* from there */
    const char *exists;       /* predicate; NULL: always */
} Chunk;

/* Row and chunk number of what is dealt as a number (lay_deal_at). */
static void deal_registers(Emitter *e, const LayDeal *d, const char *number, const char *row, const char *chunk)
{
    if (!d->by_panels) {
        ix_divide(e, 0, row, number, d->per_row);
        ix_remainder(e, 0, chunk, number, row, d->per_row);
        return;
    }
    const char *rows = em_new(e, REG_R), *panel = em_new(e, REG_R), *in_row = em_new(e, REG_R);
    ix_divide(e, 0, rows, number, d->per_panel);
    ix_remainder(e, 0, in_row, number, rows, d->per_panel);
    ix_divide(e, 0, panel, rows, d->rows);
    ix_remainder(e, 0, row, rows, panel, d->rows);
    em_at(e, 0, "mad.lo.s32 %s, %s, %d, %s;", chunk, panel, d->per_panel, in_row);
}

/* How far the first chunks reach, of threads that have one: down a panel, or a row's
 * chunks all along, and where there are more threads into the panels beside it. */
static void find_last(Chunks *c)
{
    const LayDeal *d = &c->deal;
    int abreast = d->by_panels ? d->per_panel : d->per_row, down = abreast * d->rows, total = d->rows * d->per_row;
    int last = (d->threads < total ? d->threads : total) - 1;
    c->last_row = (last < down ? last : down - 1) / abreast;
    c->last_chunk = last / down * abreast + abreast - 1;
}

static Chunks chunks_new(Emitter *e, const TileOp *op, SharedTile tile)
{
    const TileType *t = tile.type;
    int elements = 16 / dtype_bytes(t->dtype);
    const char *row0 = em_new(e, REG_R), *chunk0 = em_new(e, REG_R);
    Chunks c = {.op = op, .tile = tile, .elements = elements, .row0 = row0, .chunk0 = chunk0};
    int bytes = dtype_bytes(t->dtype), panel = t->layout.kind == LAY_PANELS ? t->layout.panel : lay_panel_for(t->cols, bytes);
    c.deal = lay_deal(t->rows, t->cols, bytes, panel, (e->role ? e->role->warps : e->kernel->warps) * 32);
    deal_registers(e, &c.deal, e->tid, c.row0, c.chunk0);
    find_last(&c);
    return c;
}

static const Aff *element_column(Emitter *e, const Chunks *c, const char *chunk, int last)
{
    AffCtx *aff = e->program->aff;
    const AffSym *sym = ix_symbol(e, "chunk", chunk, 0, last);
    return aff_scale(aff, aff_of(aff, sym), c->elements);
}

/* Does chunk i of the thread exist? Only the last may be missing. */
static const char *existence(Emitter *e, const Chunks *c, int i)
{
    int threads = c->deal.threads, total = c->deal.rows * c->deal.per_row;
    if ((i + 1) * threads <= total) return NULL;
    const char *p = em_new(e, REG_P);
    em_at(e, 0, "setp.lt.s32 %s, %s, %d;", p, e->tid, total - i * threads);
    return p;
}

/* Chunk i where its place follows from the first one's. */
static void regular_chunk(Emitter *e, const Chunks *c, int i, LanePlace *place, Chunk *chunk)
{
    int rows, chunks;
    lay_deal_at(&c->deal, i * c->deal.threads, &rows, &chunks);
    chunk->i = i;
    if (c->tile.index) chunk->shared = sh_address(e, &c->tile, place, rows, chunks);
}

/* The chunk that is dealt as the number `from`, or so many turns of all threads later. */
static void irregular_chunk(Emitter *e, const Chunks *c, const char *from, int i, Chunk *chunk)
{
    chunk->i = i;
    const char *number = em_new(e, REG_R), *row = em_new(e, REG_R), *column = em_new(e, REG_R);
    em_at(e, 0, "add.s32 %s, %s, %d;", number, from, i * c->deal.threads);
    deal_registers(e, &c->deal, number, row, column);
    chunk->row = row;
    chunk->chunk = column;
    chunk->row_aff = aff_of(e->program->aff, ix_symbol(e, "row", row, 0, c->tile.type->rows - 1));
    chunk->col_aff = element_column(e, c, column, c->deal.per_row - 1);
    LanePlace place = {.row = row, .chunk = column};
    if (c->tile.index) chunk->shared = sh_address(e, &c->tile, &place, 0, 0);
}

/* ---- from global memory --------------------------------------------------------------- */

/* How many of a chunk's bytes lie inside the tensor: an operand, 0 to 16. */
static const char *source_bytes(Emitter *e, const Chunks *c, const Chunk *chunk, const Aff *uniform)
{
    AffCtx *aff = e->program->aff;
    const TileOp *op = c->op;
    const Aff *column = aff_add(aff, op->coords[op->col_dim], chunk->col_aff);
    const Aff *left = aff_sub(aff, op->tensor->dims[op->col_dim], column), *most = aff_const(aff, c->elements);
    const Aff *inside = aff_and(aff, uniform,
                                gl_offset_inside(e, op, op->row_dim, chunk->row_aff, c->tile.type->rows));
    inside = aff_and(aff, inside, aff_le(aff, aff_const(aff, 0), column));
    inside = aff_and(aff, inside, gl_where(e, op, chunk->row_aff, chunk->col_aff));

    const char *size = em_new(e, REG_R), *all = "16";
    if (!aff_always(aff, aff_le(aff, most, left))) {
        left = aff_min(aff, aff_max(aff, left, aff_const(aff, 0)), most);
        all = ix_value(e, aff_scale(aff, left, dtype_bytes(op->tensor->dtype)));
    }
    if (aff_always(aff, inside)) return all;
    em(e, "selp.b32 %s, %s, 0, %s;", size, all, ix_condition_here(e, inside));
    return size;
}

/* The word with a byte put in at a place. */
static const char *add_byte(Emitter *e, const char *word, const char *byte, int at)
{
    if (!word) return byte;
    const char *result = em_new(e, REG_R);
    em(e, "bfi.b32 %s, %s, %s, %d, 8;", result, byte, word, 8 * at);
    return result;
}

/* Element k of a chunk, a register of its bytes (2: of class H, 8: RD), into the chunk's words. */
static void place_element(Emitter *e, const char *words[4], int bytes, int k, const char *value)
{
    const char **word = &words[k * bytes / 4];
    if (bytes == 4) {
        *word = value;
    } else if (bytes == 1) {
        *word = add_byte(e, *word, value, k % 4);
    } else if (bytes == 8) {
        word[0] = em_new(e, REG_R), word[1] = em_new(e, REG_R);
        em(e, "mov.b64 {%s, %s}, %s;", word[0], word[1], value);
    } else if (k % 2 == 0) {
        *word = value; /* until the next one comes */
    } else {
        const char *low = *word;
        *word = em_new(e, REG_R);
        em(e, "mov.b32 %s, {%s, %s};", *word, low, value);
    }
}

static const char *next_element(Emitter *e, const char *at, const char *step)
{
    const char *next = em_new(e, REG_RD);
    em(e, "add.s64 %s, %s, %s;", next, at, step);
    return next;
}

/* The elements of one chunk, one by one; outside reads as 0. */
static void copy_elements(Emitter *e, const Chunks *c, const Chunk *chunk, const Aff *uniform)
{
    AffCtx *aff = e->program->aff;
    const TileOp *op = c->op;
    int bytes = dtype_bytes(op->tensor->dtype);
    bool near = gl_columns_contiguous(op);
    const char *words[4] = {0}, *step = near ? NULL : gl_step(e, op->tensor, op->col_dim);
    if (!uniform) uniform = aff_const(aff, 1);
    const Aff *rows = gl_offset_inside(e, op, op->row_dim, chunk->row_aff, c->tile.type->rows);
    const Aff *inside = aff_and(aff, uniform, rows);
    const char *at = chunk->address;
    RegClass kind = bytes == 8 ? REG_RD : bytes == 2 ? REG_H : REG_R;
    if (chunk->byte) {
        at = em_new(e, REG_RD);
        em(e, "add.s64 %s, %s, %d;", at, chunk->address, chunk->byte);
    }
    const Aff *known = NULL;
    const char *p = NULL;
    for (int k = 0; k < c->elements; k++) {
        const Aff *column = aff_offset(aff, chunk->col_aff, k);
        const Aff *cond = aff_and(aff, inside, gl_offset_inside(e, op, op->col_dim, column, c->tile.type->cols));
        cond = aff_and(aff, cond, gl_where(e, op, chunk->row_aff, column));
        const char *value = em_new(e, kind);
        if (cond != known) p = ix_condition_here(e, cond);
        known = cond;
        em(e, "mov.b%d %s, 0;", bytes == 1 ? 32 : bytes * 8, value);
        em(e, "@%s ld.global.b%d %s, [%s+%d];", p, bytes * 8, value, at, near ? k * bytes : 0);
        if (!near && k + 1 < c->elements) at = next_element(e, at, step);
        place_element(e, words, bytes, k, value);
    }
    if (c->words)
        for (int k = 0; k < 4; k++) em(e, "mov.b32 %%r%d, %s;", c->words[4 * chunk->i + k], words[k]);
    else
        em(e, "st.shared.v4.b32 %s, {%s, %s, %s, %s};", chunk->shared, words[0], words[1], words[2], words[3]);
}

/* offset + x * step in 64 bits, x in 32 */
static const char *add_product(Emitter *e, int level, const char *x, const char *step, const char *sum)
{
    const char *wide = em_new(e, REG_RD), *result = em_new(e, REG_RD);
    em_at(e, level, "cvt.s64.s32 %s, %s;", wide, x);
    em_at(e, level, "mad.lo.s64 %s, %s, %s, %s;", result, wide, step, sum);
    return result;
}

/* Whether a loop looks up where the tile lies. */
static bool is_looked_up(Emitter *e, const TileOp *op)
{
    for (int d = 0; d < op->tensor->rank; d++)
        if (aff_uses_kind(op->coords[d], AFF_TABLE) && ix_level(e, op->coords[d]) > 0) return true;
    return false;
}

/* Address of the chunk's first element. Where the tile's first row is a loop's, its
 * row is added before it is multiplied, and the column's place last: what stays the
 * same all through the loop is then a row and a column of 32 bits, the same for all
 * tiles that are dealt alike, and no address of each. */
static const char *chunk_address(Emitter *e, const Chunks *c, const char *row, const char *chunk)
{
    const TileOp *op = c->op;
    const TileTensor *t = op->tensor;
    const char *column = em_new(e, REG_R), *row_step = gl_step(e, t, op->row_dim), *step = gl_step(e, t, op->col_dim);
    bool moving = op->row_dim >= 0 && (ix_level(e, op->coords[op->row_dim]) > 0 || is_looked_up(e, op));
    int level = 0;
    em_at(e, 0, "mul.lo.s32 %s, %s, %d;", column, chunk, c->elements);
    if (!moving) {
        const char *lane = add_product(e, 0, column, step, add_product(e, 0, row, row_step, kn_base(e, t->index)));
        return gl_corner(e, op, lane, 0, -1, &level);
    }
    const char *corner = gl_corner(e, op, NULL, 0, op->row_dim, &level), *place = em_new(e, REG_R);
    const Aff *first = op->coords[op->row_dim];
    int at = ix_level(e, first) > level ? ix_level(e, first) : level;
    em_at(e, at, "add.s32 %s, %s, %s;", place, ix_value(e, first), row);
    return add_product(e, at, column, step, add_product(e, at, place, row_step, corner));
}

/* One cp.async takes a chunk whole, or its first bytes. */
bool cp_is_whole_chunks(Emitter *e, const TileOp *op)
{
    return tile_in_chunks(op) && !(op->where && aff_uses(op->where, e->program->col));
}

static const char *word_list(Emitter *e, const Chunks *c, int i)
{
    const int *w = &c->words[4 * i];
    return arena_printf(e->arena, "{%%r%d, %%r%d, %%r%d, %%r%d}", w[0], w[1], w[2], w[3]);
}

/* A chunk that is inside as a whole or not at all, into the registers that hold it. */
static void load_chunk(Emitter *e, const Chunks *c, const Chunk *chunk, const Aff *inside)
{
    const char *guard = "";
    if (!aff_always(e->program->aff, inside)) {
        for (int k = 0; k < 4; k++) em(e, "mov.b32 %%r%d, 0;", c->words[4 * chunk->i + k]);
        guard = arena_printf(e->arena, "@%s ", ix_condition_here(e, inside));
    }
    em(e, "%sld.global.v4.b32 %s, [%s+%d];", guard, word_list(e, c, chunk->i), chunk->address, chunk->byte);
}

/* Whether no chunk lies across the end of its row of the tensor. */
static bool ends_between_chunks(const Chunks *c)
{
    const TileOp *op = c->op;
    return aff_divisor(op->tensor->dims[op->col_dim]) % c->elements == 0 &&
           aff_divisor(op->coords[op->col_dim]) % c->elements == 0;
}

static const Aff *chunk_inside(Emitter *e, const Chunks *c, const Chunk *chunk, const Aff *uniform)
{
    AffCtx *aff = e->program->aff;
    const TileOp *op = c->op;
    const Aff *rows = gl_offset_inside(e, op, op->row_dim, chunk->row_aff, c->tile.type->rows);
    const Aff *columns = gl_offset_inside(e, op, op->col_dim, chunk->col_aff, c->tile.type->cols);
    return aff_and(aff, aff_and(aff, uniform, rows), aff_and(aff, columns, gl_where(e, op, chunk->row_aff, chunk->col_aff)));
}

/* Whether a chunk moves in one access, and not element by element. */
static bool at_once(Emitter *e, const Chunks *c, const Aff *uniform)
{
    if (!(e->aligned || c->in_window) || !cp_is_whole_chunks(e, c->op)) return false;
    return c->words ? !uniform || ends_between_chunks(c) : e->target->has_cp_async;
}

/* The first bytes of a chunk are what cp.async copies. */
static void copy_at_once(Emitter *e, const Chunks *c, const Chunk *chunk, const Aff *uniform)
{
    em(e, "cp.async.cg.shared.global %s, [%s+%d], 16, %s;", chunk->shared, chunk->address, chunk->byte,
       source_bytes(e, c, chunk, uniform));
}

/* A chunk in which the row begins: its elements one by one. */
static void copy_in_window(Emitter *e, const Chunks *c, const Chunk *chunk, const Aff *uniform)
{
    AffCtx *aff = e->program->aff;
    const Aff *before = aff_lt(aff, aff_add(aff, c->op->coords[c->op->col_dim], chunk->col_aff), aff_const(aff, 0));
    int label = em_label(e);
    if (aff_never(aff, before)) {
        copy_at_once(e, c, chunk, uniform);
        return;
    }
    em_open(e);
    em(e, "@!%s bra $whole%d;", ix_condition_here(e, before), label);
    em_open(e);
    copy_elements(e, c, chunk, uniform);
    em_close(e);
    em(e, "bra $begun%d;\n$whole%d:", label, label);
    em_open(e);
    copy_at_once(e, c, chunk, uniform);
    em_close(e);
    em(e, "$begun%d:", label);
    em_close(e);
}

static void copy_chunk(Emitter *e, const Chunks *c, const Chunk *chunk, const Aff *uniform)
{
    int label = em_label(e);
    for (int k = 0; c->words && chunk->exists && k < 4; k++) em(e, "mov.b32 %%r%d, 0;", c->words[4 * chunk->i + k]);
    if (chunk->exists) em_open(e);
    if (chunk->exists) em(e, "@!%s bra $chunk%d;", chunk->exists, label);
    if (!at_once(e, c, uniform))
        copy_elements(e, c, chunk, uniform);
    else if (c->words)
        load_chunk(e, c, chunk, uniform ? chunk_inside(e, c, chunk, uniform) : aff_const(e->program->aff, 1));
    else if (c->in_window)
        copy_in_window(e, c, chunk, uniform);
    else
        copy_at_once(e, c, chunk, uniform);
    if (!chunk->exists) return;
    em_close(e);
    em(e, "$chunk%d:", label);
}

/* Register with the address of the thread's chunk of a later row: the last one's
 * plus a constant step. */
static const char *next_row(Emitter *e, const Chunks *c, const char *address, int rows)
{
    const char *step = em_new(e, REG_RD), *next = em_new(e, REG_RD);
    em_at(e, 0, "mul.lo.s64 %s, %s, %d;", step, gl_step(e, c->op->tensor, c->op->row_dim), rows);
    em(e, "add.s64 %s, %s, %s;", next, address, step);
    return next;
}

/* The address of a chunk some chunks to the right, as register and bytes. */
static void move_right(Emitter *e, const Chunks *c, Chunk *chunk, int chunks)
{
    if (chunks == 0) return;
    if (gl_columns_contiguous(c->op)) {
        chunk->byte = chunks * 16;
        return;
    }
    const char *step = em_new(e, REG_RD), *next = em_new(e, REG_RD);
    em_at(e, 0, "mul.lo.s64 %s, %s, %d;", step, gl_step(e, c->op->tensor, c->op->col_dim), chunks * c->elements);
    em(e, "add.s64 %s, %s, %s;", next, chunk->address, step);
    chunk->address = next;
}

/* Chunk i, at the address of its row in the first panel. */
static void copy_one(Emitter *e, const Chunks *c, int i, LanePlace *place, const char *address, const Aff *uniform)
{
    AffCtx *aff = e->program->aff;
    int rows, chunks;
    Chunk chunk = {.row = c->row0, .chunk = c->chunk0, .address = address, .exists = existence(e, c, i)};
    regular_chunk(e, c, i, place, &chunk);
    lay_deal_at(&c->deal, i * c->deal.threads, &rows, &chunks);
    chunk.row_aff = aff_offset(aff, aff_of(aff, c->row_sym), rows);
    chunk.col_aff = aff_offset(aff, c->column, (int64_t)chunks * c->elements);
    move_right(e, c, &chunk, chunks);
    copy_chunk(e, c, &chunk, uniform);
}

static int step_rows(const Chunks *c, int step)
{
    int rows, chunks;
    lay_deal_at(&c->deal, step * c->deal.threads, &rows, &chunks);
    return rows;
}

/* Steps down the rows, each over all panels: so one row's address is held at a time. */
static void copy_steps(Emitter *e, const Chunks *c, int from, int to, LanePlace *place, const char *address,
                       const Aff *uniform)
{
    for (int step = from; step < to; step++) {
        if (step > from) address = next_row(e, c, address, step_rows(c, step) - step_rows(c, step - 1));
        for (int i = step; i < c->deal.count; i += lay_deal_down(&c->deal))
            copy_one(e, c, i, place, address, uniform);
    }
}

static void put_words(Emitter *e, const Chunk *chunk, const char *words)
{
    const char *guard = chunk->exists ? arena_printf(e->arena, "@%s ", chunk->exists) : "";
    em(e, "%sst.shared.v4.b32 %s, %s;", guard, chunk->shared, words);
}

static void clear_steps(Emitter *e, const Chunks *c, int from, int to, LanePlace *place)
{
    const char *zero = em_new(e, REG_R);
    em(e, "mov.b32 %s, 0;", zero);
    for (int i = 0; i < c->deal.count; i++) {
        Chunk chunk = {.exists = existence(e, c, i)};
        if (i % lay_deal_down(&c->deal) < from || i % lay_deal_down(&c->deal) >= to) continue;
        for (int k = 0; c->words && k < 4; k++) em(e, "mov.b32 %%r%d, %s;", c->words[4 * i + k], zero);
        if (c->words) continue;
        regular_chunk(e, c, i, place, &chunk);
        put_words(e, &chunk, arena_printf(e->arena, "{%s, %s, %s, %s}", zero, zero, zero, zero));
    }
}

/* Steps whose rows all lie past the tensor's end are jumped over. The jumps also keep ptxas
 * from loading the elements of all chunks at once, for which there are not registers enough. */
static void copy_if_reached(Emitter *e, const Chunks *c, int from, int to, LanePlace *place, const char *address,
                            const Aff *uniform)
{
    AffCtx *aff = e->program->aff;
    const TileOp *op = c->op;
    int label = em_label(e), d = op->row_dim, row = step_rows(c, from);
    const Aff *reached = d < 0 ? NULL : aff_lt(aff, aff_offset(aff, op->coords[d], row), op->tensor->dims[d]);
    if (!reached || at_once(e, c, uniform) || aff_always(aff, reached)) {
        if (from > 0 && !at_once(e, c, uniform)) em(e, "bar.warp.sync -1;");
        copy_steps(e, c, from, to, place, address, uniform);
        return;
    }
    em(e, "@!%s bra.uni $past%d;", ix_condition_here(e, reached), label);
    em_open(e);
    copy_steps(e, c, from, to, place, address, uniform);
    em_close(e);
    em(e, "bra.uni $reached%d;\n$past%d:", label, label);
    em_open(e);
    clear_steps(e, c, from, to, place);
    em_close(e);
    em(e, "$reached%d:", label);
}

/* ---- rows that lie where each says ---------------------------------------------------------- */

/* The operation as it is for one of its rows. */
static TileOp of_row(Emitter *e, const TileOp *op, const Aff *row)
{
    TileOp at = *op;
    at.coords = arena_array(e->arena, const Aff *, op->tensor->rank);
    for (int d = 0; d < op->tensor->rank; d++) at.coords[d] = tile_row_coord(e->program, op, d, row);
    return at;
}

/* The greatest row that chunk i of a thread is numbered with. What elements say is read for all threads, also for
 * those that have no such chunk. */
static int last_row(const Chunks *c, int i)
{
    const LayDeal *d = &c->deal;
    int last = ((i + 1) * d->threads - 1) / (d->by_panels ? d->per_panel : d->per_row);
    return d->by_panels && last > d->rows - 1 ? d->rows - 1 : last;
}

/* The only dim in which two rows' places differ, and by what number; -1: they differ by more. */
static int differs_in(Emitter *e, const TileOp *row, const TileOp *before, int64_t *by)
{
    int dim = -1;
    for (int d = 0; d < row->tensor->rank; d++) {
        if (row->coords[d] == before->coords[d]) continue;
        if (dim >= 0 || !aff_is_const(aff_sub(e->program->aff, row->coords[d], before->coords[d]), by)) return -1;
        dim = d;
    }
    return dim;
}

/* Of a row's first chunk of the thread. Rows of one page lie a number of rows apart. */
static const char *row_address(Emitter *e, const Chunks *c, const TileOp *row, const TileOp *before, const char *address)
{
    int64_t by;
    int level, d = address ? differs_in(e, row, before, &by) : -1;
    if (d < 0) {
        const char *corner = gl_corner(e, row, NULL, 0, -1, &level), *right = gl_step(e, row->tensor, row->col_dim);
        return add_product(e, level, c->right, right, corner);
    }
    const char *step = em_new(e, REG_RD), *next = em_new(e, REG_RD);
    em_at(e, 0, "mul.lo.s64 %s, %s, %lld;", step, gl_step(e, row->tensor, d), (long long)by);
    em(e, "add.s64 %s, %s, %s;", next, address, step);
    return next;
}

static TileOp of_step(Emitter *e, const Chunks *c, int step)
{
    AffCtx *aff = e->program->aff;
    return of_row(e, c->op, aff_offset(aff, aff_of(aff, c->row_sym), step_rows(c, step)));
}

/* Steps down the rows, each over all panels. */
static void copy_each_row(Emitter *e, const Chunks *c, int from, int to, LanePlace *place)
{
    bool whole = at_once(e, c, aff_const(e->program->aff, 0));
    const char *address = NULL;
    TileOp before = *c->op;
    for (int step = from; step < to; step++) {
        TileOp row = of_step(e, c, step);
        if (step > from && !whole) em(e, "bar.warp.sync -1;"); /* not the elements of all chunks at once */
        address = row_address(e, c, &row, &before, address);
        before = row;
        Chunks in_row = *c;
        in_row.op = &row;
        for (int i = step; i < c->deal.count; i += lay_deal_down(&c->deal))
            copy_one(e, &in_row, i, place, address, gl_corner_inside(e, &row));
    }
}

/* ---- loops of elements ---------------------------------------------------------------------
 *
 * Written out, the elements of large tiles are thousands of instructions, for which ptxas takes
 * longer than for all else. So a thread goes down its rows in a loop, as far in a turn as loads
 * are to be under way at once:
 *
 *   $rows:  chunks of row + 0, row + 8; row += 16; address += 16 rows; until all are done
 */

enum { LEAST_TURNS = 2 };

/* Steps that a turn takes, at most so many and more than half of them, since fewer loads under
 * way cost time; 0: there is no loop. Rows that a turn adds to the lane's own must not reach into
 * bits that swizzles are made of (shared.c). */
static int steps_a_turn(const Chunks *c, int most)
{
    const LayDeal *d = &c->deal;
    int down = lay_deal_down(d);
    if (c->words || !c->tile.index || d->count * d->threads != d->rows * d->per_row || down < 2) return 0;
    for (int k = most; 2 * k > most; k--)
        if (down % k == 0 && down / k >= LEAST_TURNS && (k == 1 || k * step_rows(c, 1) % 8 == 0)) return k;
    return 0;
}

/* Where rows lie where each says, there is no address to go down with. */
static void copy_in_turns(Emitter *e, const Chunks *c, int steps, const Aff *uniform)
{
    int label = em_label(e), turns = lay_deal_down(&c->deal) / steps, rows = steps * step_rows(c, 1);
    bool by_rows = tile_by_rows(c->op);
    const char *row = em_new(e, REG_R), *address = em_new(e, REG_RD), *turn = em_new(e, REG_R), *more = em_new(e, REG_P);
    const char *further = em_new(e, REG_RD);
    if (!by_rows) em(e, "mul.lo.s64 %s, %s, %d;", further, gl_step(e, c->op->tensor, c->op->row_dim), rows);
    em(e, "mov.b32 %s, %s;", row, c->row0);
    if (!by_rows) em(e, "mov.b64 %s, %s;", address, c->address);
    em(e, "mov.b32 %s, 0;", turn);
    em_open(e);
    em(e, ".pragma \"nounroll\";\n$rows%d:", label);
    Chunks in_turn = *c;
    in_turn.row0 = row;
    in_turn.row_sym = ix_symbol(e, "row", row, em_level(e), c->last_row + (int64_t)(turns - 1) * rows);
    LanePlace place = {.row = row, .chunk = c->chunk0, .level = em_level(e)};
    if (by_rows) copy_each_row(e, &in_turn, 0, steps, &place);
    else copy_steps(e, &in_turn, 0, steps, &place, address, uniform);
    em(e, "add.s32 %s, %s, %d;", row, row, rows);
    if (!by_rows) em(e, "add.s64 %s, %s, %s;", address, address, further);
    em(e, "add.s32 %s, %s, 1;", turn, turn);
    em(e, "setp.lt.s32 %s, %s, %d;", more, turn, turns);
    em(e, "@%s bra.uni $rows%d;", more, label);
    em_close(e);
}

static void copy_regular(Emitter *e, Chunks *c, const Aff *uniform)
{
    if (!c->address) c->address = chunk_address(e, c, c->row0, c->chunk0);
    c->row_sym = ix_symbol(e, "row", c->row0, 0, c->last_row);
    c->column = element_column(e, c, c->chunk0, c->last_chunk);
    LanePlace place = {.row = c->row0, .chunk = c->chunk0};
    const char *address = c->address;
    int down = lay_deal_down(&c->deal), n = c->deal.count;
    bool whole = at_once(e, c, uniform);
    int steps = whole ? down : (TOGETHER * down + n - 1) / n, in_turn = whole ? 0 : steps_a_turn(c, steps);
    if (in_turn) {
        copy_in_turns(e, c, in_turn, uniform);
        return;
    }
    for (int from = 0; from < down; from += steps) {
        if (from > 0) address = next_row(e, c, address, step_rows(c, from) - step_rows(c, from - steps));
        copy_if_reached(e, c, from, from + steps < down ? from + steps : down, &place, address, uniform);
    }
}

/* Whether what elements say of a row's place is the same in every turn, so that ptxas keeps the place. */
static bool stays(Emitter *e, const TileOp *row)
{
    bool same = true;
    for (int d = 0; d < row->tensor->rank; d++)
        same &= !aff_uses_kind(row->coords[d], AFF_TABLE) || ix_level(e, row->coords[d]) < e->turn_level;
    return same;
}

/* Whether so many rows have places of their own that there are no registers for all of them: beside what else a turn takes,
 * where they are kept. */
static bool has_many_places(Emitter *e, const Chunks *c)
{
    int n = 0, beside = 0;
    int64_t by;
    TileOp before = *c->op;
    for (int step = 0; step < lay_deal_down(&c->deal); step++) {
        TileOp row = of_step(e, c, step);
        n += step == 0 || differs_in(e, &row, &before, &by) < 0;
        before = row;
    }
    if (!e->role && e->turn && stays(e, &before)) {
        int ahead = ah_registers(e->ahead);
        beside = ahead + (ahead > 0 ? BESIDE_WORDS : BESIDE_PRODUCTS);
    }
    return n * PLACE_REGS + beside >= rm_left(e, e->block);
}

/* What elements say is read ahead of some rows' copies, or each would wait for that. */
static void copy_looked_up(Emitter *e, const Chunks *c, LanePlace *place)
{
    int down = lay_deal_down(&c->deal);
    for (int from = 0; from < down; from += AHEAD) {
        int to = from + AHEAD < down ? from + AHEAD : down;
        for (int step = from; step < to; step++) {
            TileOp row = of_step(e, c, step);
            for (int d = 0; d < row.tensor->rank; d++) ix_look_up(e, row.coords[d]);
        }
        copy_each_row(e, c, from, to, place);
    }
}

static void copy_rows_regular(Emitter *e, Chunks *c)
{
    c->row_sym = ix_symbol(e, "row", c->row0, 0, last_row(c, 0));
    c->column = element_column(e, c, c->chunk0, c->last_chunk);
    c->right = em_new(e, REG_R);
    em_at(e, 0, "mul.lo.s32 %s, %s, %d;", c->right, c->chunk0, c->elements);
    LanePlace place = {.row = c->row0, .chunk = c->chunk0};
    int down = lay_deal_down(&c->deal), n = c->deal.count;
    bool whole = at_once(e, c, aff_const(e->program->aff, 0));
    int in_turn = whole ? (e->role ? steps_a_turn(c, TOGETHER) : 0) : steps_a_turn(c, (TOGETHER * down + n - 1) / n);
    if (in_turn) {
        copy_in_turns(e, c, in_turn, NULL);
    } else if (whole && has_many_places(e, c)) {
        e->floor = em_level(e);
        copy_looked_up(e, c, &place);
    } else {
        copy_each_row(e, c, 0, down, &place);
    }
}

/* Chunk i of those that are dealt from a number on, whose rows are `last` at most. */
static void copy_dealt(Emitter *e, const Chunks *c, const char *from, int i, const char *exists, int last, const Aff *uniform)
{
    Chunk chunk = {.exists = exists};
    irregular_chunk(e, c, from, i, &chunk);
    if (!tile_by_rows(c->op)) {
        chunk.address = chunk_address(e, c, chunk.row, chunk.chunk);
        copy_chunk(e, c, &chunk, uniform);
        return;
    }
    chunk.row_aff = aff_of(e->program->aff, ix_symbol(e, "row", chunk.row, 0, last));
    TileOp row = of_row(e, c->op, chunk.row_aff);
    Chunks in_row = *c;
    in_row.op = &row;
    chunk.address = chunk_address(e, &in_row, chunk.row, chunk.chunk);
    copy_chunk(e, &in_row, &chunk, gl_corner_inside(e, &row));
}

/* As copy_in_turns: some chunks in each turn, of which the last may not exist. */
static void copy_dealt_in_turns(Emitter *e, const Chunks *c, const Aff *uniform)
{
    int label = em_label(e), threads = c->deal.threads, total = c->deal.rows * c->deal.per_row;
    int floor = e->floor, step = TOGETHER * threads, turns = (total + step - 1) / step;
    const char *number = em_new(e, REG_R), *turn = em_new(e, REG_R), *more = em_new(e, REG_P);
    em(e, "mov.b32 %s, %s;", number, e->tid);
    em(e, "mov.b32 %s, 0;", turn);
    em_open(e);
    e->floor = em_level(e);
    em(e, ".pragma \"nounroll\";\n$rows%d:", label);
    for (int i = 0; i < TOGETHER; i++) {
        const char *exists = em_new(e, REG_P);
        em(e, "setp.lt.s32 %s, %s, %d;", exists, number, total - i * threads);
        copy_dealt(e, c, number, i, exists, last_row(c, turns * TOGETHER - 1), uniform);
    }
    em(e, "add.s32 %s, %s, %d;", number, number, step);
    em(e, "add.s32 %s, %s, 1;", turn, turn);
    em(e, "setp.lt.s32 %s, %s, %d;", more, turn, turns);
    em(e, "@%s bra.uni $rows%d;", more, label);
    e->floor = floor;
    em_close(e);
}

static void copy_irregular(Emitter *e, const Chunks *c, const Aff *uniform)
{
    bool whole = at_once(e, c, tile_by_rows(c->op) ? aff_const(e->program->aff, 0) : uniform);
    if (!whole && !c->words && c->tile.index && c->deal.count >= LEAST_TURNS * TOGETHER) {
        copy_dealt_in_turns(e, c, uniform);
        return;
    }
    for (int i = 0; i < c->deal.count; i++) copy_dealt(e, c, e->tid, i, existence(e, c, i), last_row(c, i), uniform);
}

/* Element by element, or where they are many, places of rows are made where each is copied: ptxas makes all of them
 * ahead of the first copy otherwise. */
static void copy_rows(Emitter *e, Chunks *c)
{
    int floor = e->floor;
    if (!at_once(e, c, aff_const(e->program->aff, 0))) e->floor = em_level(e);
    if (c->deal.regular) copy_rows_regular(e, c);
    else copy_irregular(e, c, NULL);
    e->floor = floor;
}

static void copy_all(Emitter *e, Chunks *c, const Aff *uniform)
{
    if (tile_by_rows(c->op)) {
        copy_rows(e, c);
        return;
    }
    if (c->deal.regular) copy_regular(e, c, uniform);
    else copy_irregular(e, c, uniform);
}

/* Where the row begins with the window, or each element for itself. */
static void copy_window(Emitter *e, Chunks *c, const Aff *uniform)
{
    int label = em_label(e), level;
    const char *begins = wn_begins(e, c->op, gl_corner(e, c->op, NULL, 0, -1, &level), TILE_CHUNK);
    if (begins) em(e, "@!%s bra.uni $apart%d;", begins, label);
    c->in_window = true;
    em_open(e);
    copy_all(e, c, uniform);
    em_close(e);
    c->in_window = false;
    c->address = NULL;
    if (!begins) return;
    em(e, "bra.uni $copied%d;\n$apart%d:", label, label);
    em_open(e);
    copy_all(e, c, uniform);
    em_close(e);
    em(e, "$copied%d:", label);
}

void cp_async(Emitter *e, const TileOp *op)
{
    int label = em_label(e);
    bool ring = op->args[0]->def->kind == TILE_RING;
    Chunks c = chunks_new(e, op, sh_stage(op->args[0], ring ? rg_held(e, op, 0) : op->index));
    em_open(e);
    if (op->cond) em(e, "@!%s bra.uni $copy%d;", ix_condition(e, op->cond), label);
    if (wn_moves(e, op)) copy_window(e, &c, gl_corner_inside(e, op));
    else copy_all(e, &c, gl_corner_inside(e, op));
    em_close(e);
    if (op->cond) em(e, "$copy%d:", label);
}

/* ---- held in registers ------------------------------------------------------------------ */

/* Whether the tile is inside as a whole: the same for the whole block. */
static const Aff *tile_inside(Emitter *e, const TileOp *op, const TileType *t)
{
    AffCtx *aff = e->program->aff;
    if (tile_by_rows(op)) return aff_const(aff, 0);
    const Aff *inside = gl_corner_inside(e, op);
    const int dims[] = {op->row_dim, op->col_dim}, extents[] = {t->rows, t->cols};
    for (int k = 0; k < 2; k++) {
        if (dims[k] < 0) continue;
        const Aff *corner = op->coords[dims[k]];
        inside = aff_and(aff, inside, aff_le(aff, aff_const(aff, 0), corner));
        inside = aff_and(aff, inside, aff_le(aff, aff_offset(aff, corner, extents[k]), op->tensor->dims[dims[k]]));
    }
    return op->where ? aff_const(aff, 0) : inside;
}

static void hold_branch(Emitter *e, Chunks *c, const Aff *uniform)
{
    em_open(e);
    copy_all(e, c, uniform);
    em_close(e);
}

/* A tile that is inside as a whole is loaded without looking at each chunk. */
static void hold_either(Emitter *e, Chunks *c, const Aff *whole)
{
    int label = em_label(e);
    em_open(e);
    if (c->deal.regular) c->address = chunk_address(e, c, c->row0, c->chunk0);
    em(e, "@!%s bra.uni $part%d;", ix_condition(e, whole), label);
    hold_branch(e, c, NULL);
    em(e, "bra.uni $held%d;", label);
    em(e, "$part%d:", label);
    hold_branch(e, c, gl_corner_inside(e, c->op));
    em(e, "$held%d:", label);
    em_close(e);
}

static void load_held(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    int *words = e->frags[v->id].packed; /* reserved by a loop that carries the tile */
    Chunks c = chunks_new(e, op, (SharedTile){.type = &v->type});
    Frag *frag = fr_new(e, v);
    frag->packed = words ? words : fr_fresh(e, REG_R, fr_words(v));
    c.words = frag->packed;
    const Aff *whole = tile_inside(e, op, &v->type);
    if (aff_always(e->program->aff, whole)) hold_branch(e, &c, NULL);
    else if (e->aligned && cp_is_whole_chunks(e, op) && !op->where && !tile_by_rows(op)) hold_either(e, &c, whole);
    else hold_branch(e, &c, gl_corner_inside(e, op));
}

static void put_held(Emitter *e, const TileOp *op)
{
    Chunks c = chunks_new(e, op, sh_put(e, op));
    c.words = e->frags[op->args[0]->id].packed;
    LanePlace place = {.row = c.row0, .chunk = c.chunk0};
    for (int i = 0; i < c.deal.count; i++) {
        Chunk chunk = {.exists = existence(e, &c, i)};
        if (c.deal.regular) regular_chunk(e, &c, i, &place, &chunk);
        else irregular_chunk(e, &c, e->tid, i, &chunk);
        put_words(e, &chunk, word_list(e, &c, i));
    }
}

/* ---- fragments to and from global memory ---------------------------------------------- */

Place cp_place(Emitter *e, const TileValue *v, int i)
{
    AffCtx *aff = e->program->aff;
    Place p = {aff_const(aff, 0), aff_const(aff, 0), 0, 0};
    fr_place(v, i, &p.row_step, &p.col_step);
    if (v->type.rows > 1)
        p.row = aff_offset(aff, aff_of(aff, ix_lane_row(e, v->type.layout, v->type.rows)), p.row_step);
    if (v->type.cols > 1)
        p.col = aff_offset(aff, aff_of(aff, ix_lane_col(e, v->type.layout, v->type.cols)), p.col_step);
    return p;
}

/* The operation without what differs from row to row: along those dimensions it begins with the tensor. */
static TileOp without_rows(Emitter *e, const TileOp *op)
{
    TileOp at = *op;
    at.coords = arena_array(e->arena, const Aff *, op->tensor->rank);
    for (int d = 0; d < op->tensor->rank; d++)
        at.coords[d] = aff_uses_kind(op->coords[d], AFF_ROW) ? aff_const(e->program->aff, 0) : op->coords[d];
    return at;
}

/* Address of value (0, 0) of this lane; where each row's coordinates say where it lies, but for what they say. */
const char *cp_lane_corner(Emitter *e, const TileOp *op, const TileValue *v)
{
    AffCtx *aff = e->program->aff;
    const char *sum = kn_base(e, op->tensor->index);
    const AffSym *row = v->type.rows > 1 ? ix_lane_row(e, v->type.layout, v->type.rows) : NULL;
    const AffSym *col = v->type.cols > 1 ? ix_lane_col(e, v->type.layout, v->type.cols) : NULL;
    const struct { const AffSym *sym; int dim; } parts[] = {{row, op->row_dim}, {col, op->col_dim}};
    for (int k = 0; k < 2; k++) {
        if (!parts[k].sym || parts[k].dim < 0) continue;
        const char *wide = em_new(e, REG_RD), *next = em_new(e, REG_RD);
        em_at(e, 0, "cvt.s64.s32 %s, %s;", wide, ix_value(e, aff_of(aff, parts[k].sym)));
        em_at(e, 0, "mad.lo.s64 %s, %s, %s, %s;", next, wide, gl_step(e, op->tensor, parts[k].dim), sum);
        sum = next;
    }
    int level;
    TileOp start = without_rows(e, op);
    return gl_corner(e, &start, sum, 0, -1, &level);
}

/* corner + what the row's own coordinates say */
static const char *told_address(Emitter *e, const TileOp *op, const char *corner, const Aff *row)
{
    TileOp at = of_row(e, op, row);
    int level;
    for (int d = 0; d < op->tensor->rank; d++)
        if (at.coords[d] == op->coords[d]) at.coords[d] = aff_const(e->program->aff, 0);
    return gl_corner(e, &at, corner, em_level(e), -1, &level);
}

const char *cp_row_address(Emitter *e, const TileOp *op, const char *corner, const Place *place, RowAddress *last)
{
    int row = place->row_step;
    if (last->address && last->row == row) return last->address;
    *last = (RowAddress){row, corner};
    if (tile_by_rows(op)) return last->address = told_address(e, op, corner, place->row);
    if (row == 0) return corner;
    const char *address = em_new(e, REG_RD), *step = gl_step(e, op->tensor, op->row_dim);
    const char *offset = em_new(e, REG_RD);
    em(e, "mul.lo.s64 %s, %s, %d;", offset, step, row);
    em(e, "add.s64 %s, %s, %s;", address, corner, offset);
    last->address = address;
    return address;
}

/* "[address + col * stride]" */
const char *cp_column_address(Emitter *e, const TileOp *op, const char *row, int col)
{
    if (op->col_dim < 0 || col == 0) return arena_printf(e->arena, "[%s]", row);
    if (gl_columns_contiguous(op))
        return arena_printf(e->arena, "[%s+%d]", row, col * dtype_bytes(op->tensor->dtype));
    const char *offset = em_new(e, REG_RD), *address = em_new(e, REG_RD);
    em(e, "mul.lo.s64 %s, %s, %d;", offset, gl_step(e, op->tensor, op->col_dim), col);
    em(e, "add.s64 %s, %s, %s;", address, row, offset);
    return arena_printf(e->arena, "[%s]", address);
}

const Aff *cp_inside(Emitter *e, const TileOp *op, const TileValue *v, const Place *p, int columns)
{
    AffCtx *aff = e->program->aff;
    TileOp row = tile_by_rows(op) ? of_row(e, op, p->row) : *op;
    const Aff *inside = gl_corner_inside(e, &row);
    inside = aff_and(aff, inside, gl_offset_inside(e, op, op->row_dim, p->row, v->type.rows));
    for (int k = 0; k < columns; k += columns > 1 ? columns - 1 : 1)
        inside = aff_and(aff, inside,
                         gl_offset_inside(e, &row, op->col_dim, aff_offset(aff, p->col, k), v->type.cols));
    return aff_and(aff, inside, gl_where(e, op, p->row, p->col));
}

/* Whether all values are pairs of neighbouring columns. */
static bool is_of_pairs(const TileValue *v)
{
    int n = lay_fragment_values(v->type.layout, v->type.rows, v->type.cols);
    for (int i = 0; i < n; i += 2) {
        int row, col, next_row, next_col;
        fr_place(v, i, &row, &col);
        fr_place(v, i + 1, &next_row, &next_col);
        if (next_row != row || next_col != col + 1) return false;
    }
    return v->type.cols > 1 && n % 2 == 0;
}

/* Whether the block uses what it loads behind a loop that does not. */
static bool lasts_over_loop(const Emitter *e, const TileOp *op)
{
    const TileOp *const *ops = (const TileOp *const *)e->block->ops.data;
    int n = e->block->ops.len, i = e->at + 1;
    while (i < n && (ops[i]->kind != TILE_FOR || tile_used_in(e->block, i, i + 1, op->results[0]))) i++;
    return tile_used_in(e->block, i, n, op->results[0]);
}

/* One access of 4 or 8 bytes brings a pair: in aligned rows, of which an even number of columns is inside. */
static bool in_one_access(const Emitter *e, const TileOp *op)
{
    bool aligned = e->aligned && tile_in_chunks(op) && aff_divisor(op->tensor->dims[op->col_dim]) % 2 == 0;
    return aligned && !(op->where && aff_uses(op->where, e->program->col));
}

/* Two loads as well, where nobody counts registers, or where they are short: half of them until arithmetic takes the elements. */
static bool can_load_pairs(const Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    DType t = op->tensor->dtype;
    bool narrow = dtype_is_narrow(t) && dtype_bytes(t) == 2 && v->type.dtype == t;
    if ((t != DT_F32 && !narrow) || !is_of_pairs(v)) return false;
    return in_one_access(e, op) || (narrow && (!e->aligned || lasts_over_loop(e, op)));
}

static void load_wide_pair(Emitter *e, const char *guard, const char *address, const int *f)
{
    for (int k = 0; k < 2 && *guard; k++) em(e, "mov.f32 %%f%d, 0f00000000;", f[k]);
    em(e, "%sld.global.v2.f32 {%%f%d, %%f%d}, %s;", guard, f[0], f[1], address);
}

/* Values i and i + 1, each by an access of its own. */
static void load_halves(Emitter *e, const TileOp *op, int i, const char *row, int pair)
{
    const char *half[2];
    for (int k = 0; k < 2; k++) {
        Place p = cp_place(e, op->results[0], i + k);
        const char *guard = gl_guard(e, cp_inside(e, op, op->results[0], &p, 1));
        half[k] = em_new(e, REG_H);
        if (*guard) em(e, "mov.b16 %s, 0;", half[k]);
        em(e, "%sld.global.b16 %s, %s;", guard, half[k], cp_column_address(e, op, row, p.col_step));
    }
    em(e, "mov.b32 %%r%d, {%s, %s};", pair, half[0], half[1]);
}

/* Elements of 16 bits stay as they came, two in a register, until arithmetic takes them. */
static void load_pairs(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    Frag *frag = fr_new(e, v);
    bool wide = op->tensor->dtype == DT_F32, whole = in_one_access(e, op);
    const char *corner = cp_lane_corner(e, op, v);
    RowAddress last = {0};
    if (wide) frag->f = fr_fresh(e, REG_F, frag->n);
    else frag->packed = fr_fresh(e, REG_R, frag->n / 2);
    frag->loaded = !wide;
    for (int i = 0; i < frag->n; i += 2) {
        Place p = cp_place(e, v, i);
        const char *row = cp_row_address(e, op, corner, &p, &last);
        if (!whole) {
            load_halves(e, op, i, row, frag->packed[i / 2]);
            continue;
        }
        const char *guard = gl_guard(e, cp_inside(e, op, v, &p, 1)), *address = cp_column_address(e, op, row, p.col_step);
        if (wide) {
            load_wide_pair(e, guard, address, &frag->f[i]);
            continue;
        }
        if (*guard) em(e, "mov.b32 %%r%d, 0;", frag->packed[i / 2]);
        em(e, "%sld.global.b32 %%r%d, %s;", guard, frag->packed[i / 2], address);
    }
}

void cp_load(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    if (v->type.layout.kind == LAY_CHUNKS) {
        load_held(e, op);
        return;
    }
    if (!gl_known_type(e, op, true)) return;
    if (st_can(e, op, v)) {
        st_load(e, op);
        return;
    }
    bool later = lr_can(e, op);
    if (!later && can_load_pairs(e, op)) {
        load_pairs(e, op);
        return;
    }
    fr_new_f32(e, v);
    if (later) {
        lr_begin(e, op);
        return;
    }
    const char *corner = cp_lane_corner(e, op, v);
    RowAddress last = {0};
    for (int i = 0; i < e->frags[v->id].n; i++) {
        Place p = cp_place(e, v, i);
        const char *row = cp_row_address(e, op, corner, &p, &last);
        const char *guard = gl_guard(e, cp_inside(e, op, v, &p, 1));
        gl_load_value(e, op->tensor->dtype, guard, cp_column_address(e, op, row, p.col_step), e->frags[v->id].f[i]);
    }
}

static void store_one(Emitter *e, const TileOp *op, int i, const char *corner, RowAddress *last)
{
    const TileValue *v = op->args[0];
    Place p = cp_place(e, v, i);
    DType t = op->tensor->dtype;
    const char *address = cp_column_address(e, op, cp_row_address(e, op, corner, &p, last), p.col_step);
    const char *guard = gl_guard(e, cp_inside(e, op, v, &p, 1)), *value = fr_operand(e, v, i);
    if (t == DT_F32) { /* several blocks may add at once (PTX ISA, "red") */
        em(e, "%s%s %s, %s;", guard, op->onto ? "red.global.add.f32" : "st.global.f32", address, value);
        return;
    }
    if (f8_is(t)) {
        f8_store(e, t, guard, address, value);
        return;
    }
    if (in_is(t)) {
        in_store(e, t, guard, address, value);
        return;
    }
    const char *pair = em_new(e, REG_R), *half = em_new(e, REG_H), *rest = em_new(e, REG_H);
    fr_pack(e, t, pair, "0f00000000", value);
    em(e, "mov.b32 {%s, %s}, %s;", half, rest, pair);
    em(e, "%sst.global.b16 %s, %s;", guard, address, half);
}

/* Columns 2k and 2k + 1 of a row in one store. */
static void store_pair(Emitter *e, const TileOp *op, int i, const char *corner, RowAddress *last)
{
    const TileValue *v = op->args[0];
    Place p = cp_place(e, v, i);
    const char *address = cp_column_address(e, op, cp_row_address(e, op, corner, &p, last), p.col_step);
    const char *guard = gl_guard(e, cp_inside(e, op, v, &p, 2));
    if (op->tensor->dtype == DT_F32) {
        const char *high = fr_operand(e, v, i + 1), *low = fr_operand(e, v, i);
        em(e, "%sst.global.v2.f32 %s, {%s, %s};", guard, address, low, high);
    } else {
        em(e, "%sst.global.b32 %s, %%r%d;", guard, address, fr_packed(e, v, op->tensor->dtype)[i / 2]);
    }
}

/* Pairs need an even number of columns inside the tensor and aligned rows. */
static bool can_store_pairs(Emitter *e, const TileOp *op)
{
    if (op->onto || !e->aligned || !cp_is_whole_chunks(e, op) || op->args[0]->type.cols < 2) return false;
    if (f8_is(op->tensor->dtype) || in_is(op->tensor->dtype)) return false;
    return aff_divisor(op->tensor->dims[op->col_dim]) % 2 == 0 && aff_divisor(op->coords[op->col_dim]) % 2 == 0;
}

/* |= the warp's coordinate along an extent that the tile does not have */
static void add_warp_bits(Emitter *e, const char *bits, const char *instruction)
{
    const char *along = em_new(e, REG_R);
    em_at(e, 0, "%s.u32 %s, %s, %d;", instruction, along, e->warp, e->kernel->warps_n);
    em_at(e, 0, "or.b32 %s, %s, %s;", bits, bits, along);
}

/* Lanes, of all that hold a value of a vector, that store it: those of the first
 * row or column, in the first warp along it. NULL: no two hold the same. */
static const char *sole_owner(Emitter *e, const TileValue *v)
{
    const Layout *layout = &v->type.layout;
    bool column = v->type.cols == 1, row = v->type.rows == 1;
    int along = layout->kind == LAY_ROWS ? layout->lanes - 1 : 3, mask = (column ? along : 0) | (row ? 31 - along : 0);
    bool warps = (column && layout->warps_n > 1) || (row && layout->warps_m > 1);
    if (!mask && !warps) return NULL;
    const char *bits = em_new(e, REG_R), *p = em_new(e, REG_P);
    em_at(e, 0, "and.b32 %s, %s, %d;", bits, e->lane, mask);
    if (column && layout->warps_n > 1) add_warp_bits(e, bits, "rem");
    if (row && layout->warps_m > 1) add_warp_bits(e, bits, "div");
    em(e, "setp.eq.s32 %s, %s, 0;", p, bits);
    return p;
}

static void store_values(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->args[0];
    const char *corner = cp_lane_corner(e, op, v);
    RowAddress last = {0};
    bool pairs = can_store_pairs(e, op) && e->frags[v->id].n % 2 == 0;
    for (int i = 0; i < e->frags[v->id].n; i += pairs ? 2 : 1) {
        if (pairs) store_pair(e, op, i, corner, &last);
        else store_one(e, op, i, corner, &last);
    }
}

/* Lanes store or do not, each by itself, and ptxas makes ways of their own of it. Unless told
 * that they meet again, it keeps nothing in a register of the whole warp from there on, not even
 * where a role is in its rings. */
static void meet_again(Emitter *e)
{
    em(e, "bar.warp.sync -1;");
}

void cp_store(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->args[0];
    if (!gl_known_type(e, op, false)) return;
    const char *owner = sole_owner(e, v);
    int label = em_label(e);
    if (owner) em_open(e);
    if (owner) em(e, "@!%s bra $store%d;", owner, label);
    if (op->onto) store_values(e, op);
    else if (st_can(e, op, v)) st_store(e, op);
    else if (qd_can(e, op, v)) qd_store(e, op);
    else store_values(e, op);
    if (owner) em_close(e);
    if (owner) em(e, "$store%d:", label);
    if (e->role) meet_again(e);
}

/* ---- tiles into shared memory ------------------------------------------------------------- */

static bool is_matrix(const TileType *t)
{
    return t->rows > 1 && t->cols > 1;
}

/* Puts of the block into the same ring. */
static int parts_of(const Emitter *e, const TileOp *put)
{
    int n = 0;
    for (int i = 0; i < e->block->ops.len; i++) {
        const TileOp *op = e->block->ops.data[i];
        n += op->kind == TILE_PUT && op->args[1] == put->args[1];
    }
    return n;
}

/* Whether a tile is made in many steps with numbers of its rows, for which all of its parts wait at once, or of rows that are reduced
 * with several rows of numbers, which leave no registers for two parts at once. */
static bool waits_long(const Emitter *e, const TileOp *put)
{
    enum { MOST = 96 }; /* steps of a lane's elements */
    int steps = 0, least = 2 * e->frags[put->args[0]->id].n, rows = 0;
    bool waits = false, reduces = false;
    for (int i = e->at - 1; i >= 0 && e->block->ops.data[i]->kind != TILE_PUT; i--) {
        const TileOp *op = e->block->ops.data[i];
        reduces |= op->kind == TILE_REDUCE;
        if (op->kind != TILE_ELEMENT || !is_matrix(&op->results[0]->type)) continue;
        steps += e->frags[op->results[0]->id].n;
        for (int k = 0; k < op->n_args; k++) {
            waits |= op->args[k]->type.rows > 1 && op->args[k]->type.cols == 1;
            rows += op->args[k]->type.rows == 1 && op->args[k]->type.cols > 1;
        }
    }
    if (reduces) return rows > 1; /* lanes wait for each other as it is, */
    return waits && steps >= least && parts_of(e, put) * steps > MOST;
}

/* Whether warps of a block hold the same values. */
static bool in_several_warps(const TileType *t)
{
    return (t->cols == 1 && t->layout.warps_n > 1) || (t->rows == 1 && t->layout.warps_m > 1);
}

/* One warp of those puts them there. */
static void put_once(Emitter *e, const TileOp *op)
{
    const char *owner = sole_owner(e, op->args[0]);
    int label = em_label(e);
    em_open(e);
    em(e, "@!%s bra $put%d;", owner, label);
    pr_put(e, op);
    em_close(e);
    em(e, "$put%d:", label);
}

/* Of several parts that are put one after the other ptxas would make some at once, for which a role that prepares has no
 * registers: those of places wait for nothing, and elements that are read one by one have addresses and tests each. */
void cp_put(Emitter *e, const TileOp *op)
{
    enum { AT_ONCE = 32 }; /* such elements of a lane */
    if (op->args[0]->type.layout.kind == LAY_CHUNKS) put_held(e, op);
    else if (!e->role && in_several_warps(&op->args[0]->type)) put_once(e, op);
    else pr_put(e, op);
    if (!e->role) return;
    if (e->part.tested >= (e->part.of_places ? 1 : AT_ONCE) || waits_long(e, op)) an_part(e);
    else if (e->part.of_places) em(e, "@%s trap;", wg_never(e));
    e->part.of_places = false;
}
