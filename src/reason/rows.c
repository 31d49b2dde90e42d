/* rows.c: sizes for kernels without products.
 *
 * Such a kernel is its copies: its tiles lie as memory does (lay.h, LAY_ROWS), 16
 * bytes a lane, and what is to be chosen is how many lanes and warps share a row,
 * how many rows a block takes, and how much a lane loads before it computes. For a
 * block, in cycles of its multiprocessor,
 *
 *   bound    bytes at the rate of the memory, or arithmetic, whichever is more; blocks start no faster than that
 *   alone    what the block would take by itself: latencies of its loads, one turn
 *            after the other, its reductions, and its share of the bound
 *
 * Elements that a Define or a condition reads at computed places are loaded one by one, each lane as many bytes from the
 * next as they have columns: so many lines of the first cache for each, unless rows or columns of a lane share them.
 * (Weights of 4 bits, eight rows to a word: 4 rows a lane take 0.6 of the time of one, on an H200.)
 *
 * R blocks that fit side by side take max(R bound, alone) together. A row that is
 * read again comes from L2 if the rows that are under way everywhere fit there.
 */
#include "reason/plan.h"

#include <math.h>

enum {
    LANES = 32,
    ACCESS = 16,          /* bytes of a lane */
    MAX_WARPS = 16,
    GOOD_VALUES = 32,     /* of a tile, a lane: more cost occupancy */
    VALUES_OF_THREE = 24, /* with which ptxas leaves room for three of the largest blocks */
    MOST_VALUES = 64,
    MOST_AHEAD = 160,     /* of all tiles that a turn copies: with more ptxas spills */
    LARGE_BLOCK = 14,     /* warps: two of which have room for 72 registers a lane, or fewer */
    THIRD_VALUES = 48,    /* of a row, a lane: with which there may still be room for three blocks */
    ADDRESS_REGS = 24,
    BESIDE_ROW = 40,      /* registers of a lane, beside half its elements of a row that is held whole */
    BLOCK_START = 1200,   /* cycles: launch, arguments, addresses, the end */
    NEXT_START = 145,     /* from one block's start to the next one's, of a multiprocessor with room for both: on an H200, however few warps
                             they have (blocks of 512 elements to fp8: 1.67 of the time of blocks of 1,024) */
    LATENCY = 900,        /* of a load */
    AT_ONCE = 48,         /* values of a lane that turns side by side load at once */
    LINE = 128,           /* bytes that the first cache gives in a cycle */
    SECTOR = 32,          /* bytes that memory gives at least */
    LEAST_BESIDE = 4,     /* lanes of a row, whose stores are of 64 bytes then, of a matrix that is transposed */
    SHUFFLES = 150,       /* of a reduction over 32 lanes */
    MEETING = 120,        /* of warps at a barrier */
    LONG_ROW = 8192,      /* elements of a row of which a block holds a part at a time, */
    LONG_WARPS = 8,       /* and warps that share it, at least; */
    MOST_OF_MANY = 122,   /* registers of a lane, as estimated, with which more of them do: with 124 ptxas spilled some */
    KEPT_VALUES = 16,     /* of a turn's columns, a lane: what it adds up stays in registers (src/pass/behind.c) */
    KEPT_THREADS = 1024,  /* of a multiprocessor, with 64 registers each, */
    KEPT_REGS = 48,       /* or that many more than are estimated */
    LONGEST_KEPT = 1 << 19 /* elements of a row that clusters keep, about */
};

/* Of what a block takes alone, even where others hide it; and of the resource that does
 * not bind, which disturbs the one that does. */
static const double UNEVEN = 0.1, CONTENTION = 0.25;

/* What of a long row's turns may lie beyond its end for turns that are larger. */
static const double BEYOND = 0.03;

/* Elements that a statement reads at computed places. */
typedef struct ReadsOf {
    const Stmt *stmt;
    Reads reads;
} ReadsOf;

typedef struct RowSearch {
    Plan *plan;
    const Target *t;
    Choice now, best;
    int bytes_of;         /* of an element of the widest tensor with columns */
    int lanes, k, warps_m;
    int most_values;
    int down, along;      /* steps of a lane down the rows and along them */
    bool whole;           /* a row is held whole, */
    bool unpadded;        /* and nothing beside it */
    const Extent *open;   /* the row whose length the kernel's range says; NULL: it has none */
    const Extent *part;   /* of a long row, a turn; NULL: rows are not long */
    double parts;         /* into which loops are taken to be cut */
    int kept_column;      /* bytes of what loops read again, a column; 0: nothing, or nothing is to be kept */
    bool found;
    int considered;
    int warps_forced, warps_n_forced;
    double bytes, again, row, alu, reads, latency; /* of the block that is being rated; row: what is read again */
    VEC(ReadsOf) read_by;
} RowSearch;

/* ---- which sketches ------------------------------------------------------------------------ */

static bool has_part(const Expr *e)
{
    if (!e)
        return false;
    if (e->kind == EXPR_INDEX)
        return true;
    return has_part(e->a) || has_part(e->b);
}

static bool stmt_in_rows(const Stmt *s)
{
    if (s->kind == STMT_RESHAPE || s->kind == STMT_DEFINE || s->stage)
        return false;
    if (s->kind == STMT_COPY)
        return s->to_space != SPACE_SHARED || s->space == SPACE_GLOBAL;
    if (s->kind != STMT_COMPUTE)
        return true;
    if (!s->op_known || op_info(s->op)->class == OPC_GEMM || op_info(s->op)->class == OPC_COL_REDUCE)
        return false;
    for (int i = 0; i < s->n_args; i++)
        if (has_part(s->args[i]))
            return false;
    return !has_part(s->dest);
}

static bool block_in_rows(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (!stmt_in_rows(s) || !block_in_rows(&s->body) || !block_in_rows(&s->orelse))
            return false;
    }
    return true;
}

static bool is_matrix(const Tile *tile)
{
    return tile->col->kind >= EXT_ROWS;
}

/* Bytes of the widest element in a tile with columns; 0: nothing is copied. */
static int widest_element(const Plan *plan)
{
    int bytes = 0;

    for (int i = 0; i < plan->tiles.len; i++) {
        const char *name = plan->tiles.data[i].name;

        if (!is_matrix(&plan->tiles.data[i]))
            continue;
        const char *origin = copied_as(&plan->unit->body, name);
        const PlanTensor *tensor = plan_tensor(plan, origin ? origin : name);
        if (tensor && dtype_bytes(tensor->dtype) > bytes)
            bytes = dtype_bytes(tensor->dtype);
    }
    return bytes == 0 && plan_looks_up(plan) ? 4 : bytes; /* columns alone: rows are looked up one by one */
}

bool plan_in_rows(const Plan *plan)
{
    int bytes = widest_element(plan);

    return bytes > 0 && bytes <= 8 && block_in_rows(&plan->unit->body);
}

/* ---- what a choice costs ------------------------------------------------------------------- */

static double size_of(const RowSearch *s, const Extent *extent)
{
    return (double)s->now.size[extent->id];
}

/* How long a dimension is, in the kernel's range if it has one; 0: nobody knows. */
static int64_t expected_of(const RowSearch *s, const Extent *extent)
{
    return extent == s->open ? s->plan->range.typical : extent->expected;
}

/* The part of a tile's side that exists. */
static double inside(const RowSearch *s, const Extent *extent)
{
    double size = size_of(s, extent), expected = (double)expected_of(s, extent);

    return expected > 0 && expected < size ? expected : size;
}

static double turns_of(const RowSearch *s, const Extent *extent)
{
    double unknown = extent->kind < EXT_ROWS ? PLAN_TYPICAL_ENTRIES : PLAN_TYPICAL_LENGTH;
    double expected = (double)expected_of(s, extent);

    return ceil((expected > 0 ? expected : unknown) / size_of(s, extent));
}

static double registers_of(const RowSearch *s, const Tile *tile, int bytes)
{
    double rows = size_of(s, tile->row) / (s->warps_m * (LANES / s->lanes));
    double cols = size_of(s, tile->col) / (s->now.warps_n * s->lanes);

    return (rows < 1 ? 1 : rows) * (cols < 1 ? 1 : cols) * bytes / 4;
}

static double most_live(const RowSearch *s)
{
    double most = 0;

    for (int i = 0; i < s->plan->live.len; i++) {
        const LivePoint *point = &s->plan->live.data[i];
        double live = 0;

        for (int k = 0; k < point->tiles.len; k++)
            live += registers_of(s, point->tiles.data[k].tile, point->tiles.data[k].bytes);
        most = fmax(most, live);
    }
    return most;
}

/* Whether a copy reads what another one before it has read. */
static bool read_before(const Block *block, const Stmt *copy, bool *found)
{
    for (int i = 0; i < block->len && !*found; i++) {
        const Stmt *s = block->data[i];

        if (s == copy) {
            *found = true;
            return false;
        }
        if (s->kind == STMT_COPY && s->space == SPACE_GLOBAL && strcmp(s->name, copy->name) == 0)
            return true;
        if (read_before(&s->body, copy, found) || read_before(&s->orelse, copy, found))
            return true;
    }
    return false;
}

static void add_copy(RowSearch *s, const Stmt *copy, double turns)
{
    const Tile *tile = plan_tile(s->plan, copy_tile(copy));
    double n = inside(s, tile->row) * inside(s, tile->col) * turns;
    double bytes = n * dtype_bytes(plan_copied(s->plan, copy)->dtype);
    bool found = false, shared_rows = tile->row->kind == EXT_ONE; /* every block reads it */

    if (copy->space == SPACE_GLOBAL && (shared_rows || read_before(&s->plan->unit->body, copy, &found))) {
        s->again += bytes;
        s->row = shared_rows || bytes < s->row ? s->row : bytes;
    } else {
        s->bytes += bytes;
    }
    s->alu += 2 * size_of(s, tile->row) * size_of(s, tile->col) * turns / s->t->fp32_ops;
}

/* Of a side of which a lane has so many one after the other: how many of them are told apart. */
static double apart_in(int64_t every, int values)
{
    return every == 0 ? 1 : ceil((double)values / (double)every);
}

/* What lies as the tile's elements do, and is as wide as what is copied, is loaded as a tile (src/pass/direct.c). */
static bool is_tile(const RowSearch *s, const Read *read)
{
    return read->rows == 1 && read->cols == 1 && !read->apart && !read->stepped && !read->below && read->bytes * s->k <= ACCESS;
}

static const Reads *reads_of(const RowSearch *s, const Stmt *stmt)
{
    for (int i = 0; i < s->read_by.len; i++)
        if (s->read_by.data[i].stmt == stmt)
            return &s->read_by.data[i].reads;
    return NULL;
}

static int rows_of(const RowSearch *s);

/* Bytes of memory, or cycles of the first cache. */
static void add_reads(RowSearch *s, const Reads *reads, double elements, double turns)
{
    for (int i = 0; reads && i < reads->len; i++) {
        const Read *read = &reads->data[i];
        double loads = apart_in(read->rows, s->down) * apart_in(read->cols, s->k * s->along);
        double bytes = read->cols == 0 ? 0 : (double)LANES * fmax(1, (double)s->k / (double)read->cols) * read->bytes;

        if (is_tile(s, read)) {
            s->bytes += elements * read->bytes;
        } else if (read->below) { /* a block's rows share sectors, a warp's lines */
            s->bytes += elements * fmax(read->bytes, (double)SECTOR / (rows_of(s) * s->down));
            s->reads += turns * s->now.warps * loads * s->lanes;
        } else
            s->reads += turns * s->now.warps * loads * fmax(1, bytes / LINE);
    }
}

static void add_compute(RowSearch *s, const Stmt *stmt, double turns)
{
    const Tile *tile = plan_tile(s->plan, plan_result(stmt));
    const Tile *first = stmt->n_args > 0 ? plan_operand(s->plan, stmt->args[0]) : NULL;
    OpClass class = op_info(stmt->op)->class;
    double plain, special;

    if (first && is_matrix(first))
        tile = first;
    double n = size_of(s, tile->row) * size_of(s, tile->col) * turns;
    plan_op_cost(stmt->op, &plain, &special);
    if (class == OPC_SOFTMAX) {
        plain = 3;
        special = 1;
    }
    s->alu += n * (plain / s->t->fp32_ops + special / s->t->exp_ops);
    add_reads(s, reads_of(s, stmt), n, turns);
    if (class == OPC_ROW_REDUCE || class == OPC_SOFTMAX)
        s->latency += turns * (class == OPC_SOFTMAX ? 2 : 1) * (SHUFFLES + (s->now.warps_n > 1 ? MEETING : 0));
}

static double values_of(const RowSearch *s);

/* How many turns that take an entry each are on their way at once, written out side by side (src/pass/direct.c). */
static double turns_at_once(const RowSearch *s, const Extent *extent)
{
    return extent->kind == EXT_ENTRY && extent->known > 0 ? fmax(1, fmin((double)extent->known, AT_ONCE / fmax(1, values_of(s)))) : 1;
}

/* Into how many parts the rating takes loops to be cut. Rows that are read again are kept, by clusters of blocks if they are long; but
 * those of which a block would read all again, as a row that is all of a tensor, may well be in parts. */
static double parts_assumed(Plan *plan)
{
    const Extent *row = plan_one_loop(plan);

    return plan_reads_again(plan) && !(row && row->expected > LONGEST_KEPT) ? 1 : plan_parts_assumed(plan);
}

static void add_block(RowSearch *s, const Block *block, double turns)
{
    bool loads = false;

    for (int i = 0; i < block->len; i++) {
        const Stmt *stmt = block->data[i];
        const Extent *extent;

        if (stmt->kind == STMT_COPY && (stmt->space == SPACE_GLOBAL || stmt->to_space == SPACE_GLOBAL)) {
            add_copy(s, stmt, turns);
            loads |= stmt->space == SPACE_GLOBAL;
        } else if (stmt->kind == STMT_COMPUTE) {
            add_compute(s, stmt, turns);
            loads |= reads_of(s, stmt) != NULL;
        } else if (stmt->kind == STMT_FOR && (extent = plan_loop(s->plan, stmt))) {
            const Extent *parts = plan_parts(s->plan, stmt);
            double before = s->latency;

            add_block(s, &stmt->body, turns * turns_of(s, extent) / (parts ? turns_of(s, parts) : block == &s->plan->unit->body ? s->parts : 1));
            s->latency = before + (s->latency - before) / turns_at_once(s, extent);
        } else if (stmt->kind == STMT_IF) {
            add_block(s, &stmt->body, turns);
            add_block(s, &stmt->orelse, turns);
        }
    }
    s->latency += loads ? turns * LATENCY : 0;
}

/* Rows of a block, were a lane to have one. */
static int rows_of(const RowSearch *s)
{
    return s->warps_m * (LANES / s->lanes);
}

/* Whether the choice keeps rows. What is asked to be kept is not counted: it may be nothing. */
static bool keeps(const RowSearch *s)
{
    return s->now.kept > 0 && s->kept_column > 0;
}

/* Blocks whose kept rows have room beside each other. */
static int shared_blocks(const RowSearch *s)
{
    int64_t bytes = (int64_t)(s->now.kept * size_of(s, plan_one_loop(s->plan))) * s->kept_column * rows_of(s) * s->down;
    int64_t n = s->t->shared_per_sm / (bytes + s->t->shared_reserved);

    return n < s->t->blocks_per_sm ? (int)n : s->t->blocks_per_sm;
}

static int resident_blocks(const RowSearch *s)
{
    int warps = s->now.warps, by_regs = s->t->regs_per_sm / ((s->now.registers + 7) / 8 * 8 * LANES * warps);
    int n = s->t->warps_per_sm / warps;

    n = n < by_regs ? n : by_regs;
    if (keeps(s) && shared_blocks(s) < n)
        n = shared_blocks(s);
    return n < s->t->blocks_per_sm ? n : s->t->blocks_per_sm;
}

static double blocks_of(const RowSearch *s)
{
    double blocks = s->parts;

    for (int i = 0; i < s->plan->grid.len; i++)
        blocks *= turns_of(s, s->plan->grid.data[i]);
    return blocks;
}

/* Cycles of the grid times multiprocessors: of many blocks, `resident` of which share one, each by itself takes
 * `alone` cycles and of what all share `bound`. Of few, one after the other what the busiest multiprocessor has. */
static double time_of(const RowSearch *s, double bound, double alone, int resident)
{
    double blocks = blocks_of(s), each = ceil(blocks / s->t->sms), rounds = ceil(each / resident);

    if (plan_expects_launch(s->plan))
        return (fmax(each * bound, rounds * alone) + UNEVEN * alone) * s->t->sms;
    return (fmax(bound, alone / resident) + UNEVEN * alone / resident) * blocks;
}

/* Values of the largest tile, a lane. */
static double values_of(const RowSearch *s)
{
    double most = 0;

    for (int i = 0; i < s->plan->tiles.len; i++)
        if (s->plan->tiles.data[i].reg)
            most = fmax(most, registers_of(s, &s->plan->tiles.data[i], 4));
    return most;
}

/* Kept rows are as many as shared memory has room for, which ptxas does not see: told nothing, it spills some for more. */
static int kept_blocks(const RowSearch *s)
{
    int by_shared = shared_blocks(s), by_threads = KEPT_THREADS / (s->now.warps * LANES);
    int by_regs = s->t->regs_per_sm / ((s->now.registers + KEPT_REGS) * LANES * s->now.warps);
    int n = by_shared < by_threads ? by_shared : by_threads;

    n = n < by_regs ? n : by_regs;
    return n > 0 ? n : 1;
}

/* Whether rows that are held whole end within a lane's elements, which are then told one by one. */
static bool ends_within(const RowSearch *s)
{
    for (int i = 0; i < s->plan->extents.len; i++) {
        const Extent *extent = s->plan->extents.data[i];

        if (extent->kind == EXT_WHOLE && extent->known > 1 && extent->known % s->k)
            return true;
    }
    return false;
}

/* Two of the largest blocks stand side by side where a lane takes at most 64 registers, or 68 of 15 warps. Holding more
 * values than three would leave it, ptxas takes a few more, unless it is told. In loops over parts of a row it would spill
 * some then, as it does, told nothing, where two are as many warps as a multiprocessor has. */
static int aimed_blocks(const RowSearch *s)
{
    double values = values_of(s);

    if (keeps(s))
        return kept_blocks(s);
    if (s->now.warps < LARGE_BLOCK)
        return 0;
    if (s->part)
        return 2 * s->now.warps > s->t->warps_per_sm - LARGE_BLOCK ? 1 : 0;
    return s->now.spare ? 1 : values > VALUES_OF_THREE && values <= GOOD_VALUES && !ends_within(s) ? 2 : 0;
}

/* Whether the tiles that a turn copies first fit into shared memory, and, as they will mostly go straight to registers
 * (src/pass/direct.c), into those: all of them are on their way before the first is used. */
static bool copies_fit(const RowSearch *s)
{
    double bytes = 0, values = 0;

    for (int i = 0; i < s->plan->tiles.len; i++) {
        const Tile *tile = &s->plan->tiles.data[i];

        if (tile->shared) {
            bytes += size_of(s, tile->row) * size_of(s, tile->col) * dtype_bytes(tile->shared_dtype);
            values += registers_of(s, tile, 4);
        }
    }
    return bytes <= s->t->shared_per_block && (values <= MOST_AHEAD || s->most_values > GOOD_VALUES);
}

static void rate(RowSearch *s)
{
    const Target *t = s->t;
    double clock = t->sms * t->clock_ghz, dram = t->dram_gbs / clock, l2 = t->l2_gbs / clock;
    int blocks;

    s->now.registers = (int)most_live(s) + ADDRESS_REGS + s->now.spare;
    if (s->now.registers > t->regs_per_thread || (blocks = resident_blocks(s)) < 1)
        return;
    s->bytes = s->again = s->row = s->alu = s->reads = s->latency = 0;
    add_block(s, &s->plan->unit->body, 1);
    bool kept = blocks * s->row * t->sms < 0.5 * (double)t->l2_bytes;
    double memory = fmax((s->bytes + (kept ? 0 : s->again)) / dram, (s->bytes + s->again) / l2);
    double warps = fmax(s->alu, s->reads), bound = fmax(fmax(memory, warps) + CONTENTION * fmin(memory, warps), NEXT_START);
    double alone = BLOCK_START + s->latency + memory + s->alu * fmax(1, 4.0 / s->now.warps);

    s->now.blocks_per_sm = blocks;
    s->now.blocks_aimed = s->now.blocks_forced ? s->now.blocks_forced : aimed_blocks(s);
    s->now.alu = s->alu;
    s->now.traffic = memory;
    s->now.turn = alone;
    s->now.limiter = bound * blocks < alone ? "latency" : memory >= warps ? "memory" : s->reads > s->alu ? "elements read one by one" : "arithmetic";
    s->now.cost = time_of(s, bound, alone, blocks);
    s->considered++;
    plan_rank(s->plan, &s->now);
    if (!s->found || s->now.cost < s->best.cost * 0.995)
        s->best = s->now;
    s->found = true;
}

/* ---- candidates ------------------------------------------------------------------------------- */

/* Elements that a row of its own block may have before it in a window (src/pass/window.c): it begins anywhere. */
static int64_t before_row(const RowSearch *s, const Extent *row)
{
    return rows_of(s) * s->down == 1 && row->known * s->bytes_of % ACCESS ? ACCESS / s->bytes_of - 1 : 0;
}

/* The size of an extent under the choice at hand; 0: it does not fit. */
static int64_t size_for(const RowSearch *s, const Extent *extent)
{
    int64_t rows = rows_of(s), cols = (int64_t)s->now.warps_n * s->lanes * s->k, size;

    switch (extent->kind) {
    case EXT_ROWS:
        size = extent->fixed ? extent->fixed : rows * s->down;
        return size % rows == 0 ? size : 0;
    case EXT_COLS:
    case EXT_LOOP:
        size = extent->fixed ? extent->fixed : cols * s->along;
        return size % cols == 0 ? size : 0;
    case EXT_WHOLE:
        if ((s->unpadded || extent->part) && extent->known % cols) /* beside a part stands another */
            return 0;
        return extent->known <= 1 ? 1 : (extent->known + before_row(s, extent) + cols - 1) / cols * cols;
    case EXT_ONE:
    case EXT_ENTRY:
    case EXT_LEAD: return 1;
    }
    return 0;
}

/* Whether lanes share out the rows of all tiles: where these are along a loop or a whole dimension, size_for sees to columns alone. */
static bool rows_fit(const RowSearch *s)
{
    for (int i = 0; i < s->plan->tiles.len; i++) {
        const Tile *tile = &s->plan->tiles.data[i];
        int64_t rows = s->now.size[tile->row->id];

        if (tile->reg && rows > 1 && rows % rows_of(s) != 0)
            return false;
    }
    return true;
}

/* Whether one that fits is enough, and found. */
static bool is_enough(const RowSearch *s)
{
    return s->found && s->plan->options->hasty;
}

static void try_sizes(RowSearch *s)
{
    if (is_enough(s))
        return;
    for (int i = 0; i < s->plan->extents.len; i++)
        if ((s->now.size[i] = size_for(s, s->plan->extents.data[i])) <= 0)
            return;
    if (!rows_fit(s))
        return;
    if (values_of(s) <= s->most_values && copies_fit(s) && plan_kept_fits(s->plan, &s->now))
        rate(s);
}

/* The row is kept, up to this length, by so many blocks: a lane has few of its elements a turn. */
static void keep_row(RowSearch *s, int64_t length, int blocks)
{
    for (s->along = KEPT_VALUES / (s->k * s->down); s->along > 1 && s->along / 2 * s->lanes * s->k >= length; s->along /= 2)
        ;
    s->along = s->along > 0 ? s->along : 1;
    int64_t size = size_for(s, plan_one_loop(s->plan)), all = size * blocks;
    s->now.kept = (int)((length + all - 1) / all);
    s->now.cluster = blocks;
    if (plan_can_keep(s->t, s->now.kept * size * s->kept_column * rows_of(s) * s->down))
        try_sizes(s);
}

/* Rows of a range, and as much of one a turn as the lanes hold. */
static void each_turn(RowSearch *s)
{
    int before = s->considered;

    s->down = s->plan->range.down;
    if (s->plan->range.kept) {
        keep_row(s, s->plan->range.kept, s->plan->range.cluster);
        return;
    }
    for (s->along = 8; s->along >= 1 && s->considered == before; s->along /= 2)
        try_sizes(s);
}

static bool has_integers(const Plan *plan)
{
    for (int i = 0; i < plan->tensors.len; i++)
        if (!dtype_is_float(plan->tensors.data[i].dtype) && dtype_bytes(plan->tensors.data[i].dtype) > 2)
            return true;
    return false;
}

/* Of short rows of integers a lane has two: with four, of which each has an address and a condition beside its quotients, ptxas spills some. */
static void each_step(RowSearch *s)
{
    int most_down = s->open && s->plan->range.to && has_integers(s->plan) ? 2 : 4;

    for (s->down = 1; s->down <= most_down; s->down *= 2)
        for (s->along = 1; s->along <= 8; s->along *= 2)
            try_sizes(s);
}

/* Whether rows below each other read side by side, so that a warp should have several. */
static bool reads_below(const RowSearch *s)
{
    for (int i = 0; i < s->read_by.len; i++)
        for (int k = 0; k < s->read_by.data[i].reads.len; k++)
            if (s->read_by.data[i].reads.data[k].below)
                return true;
    return false;
}

/* Fewer lanes than all only where rows are shorter, are to be filled exactly, or read what lies below each other. */
static bool lanes_of_use(const RowSearch *s)
{
    int64_t longest = 0;

    if (s->lanes >= LEAST_BESIDE && reads_below(s))
        return true;

    for (int i = 0; i < s->plan->extents.len; i++) {
        const Extent *extent = s->plan->extents.data[i];
        bool along = extent->kind == EXT_COLS || extent->kind == EXT_LOOP || extent->kind == EXT_WHOLE;
        int64_t length = extent == s->open ? s->plan->range.typical : extent->known;
        int64_t size = extent->fixed && extent->kind != EXT_WHOLE ? extent->fixed : length;

        if (along && !extent->part && extent->known != 1)
            longest = size <= 0 ? INT32_MAX : size > longest ? size : longest;
    }
    return s->lanes == LANES || longest <= (int64_t)s->lanes * s->k;
}

static void each_lanes(RowSearch *s)
{
    if (s->plan->range.lanes) {
        s->lanes = s->plan->range.lanes;
        each_turn(s);
        return;
    }
    for (s->lanes = LANES; s->lanes >= 1; s->lanes /= 2)
        if (lanes_of_use(s) && (s->lanes == LANES || s->now.warps_n == 1))
            each_step(s);
}

static bool holds_rows_whole(const RowSearch *s)
{
    for (int i = 0; i < s->plan->extents.len; i++)
        if (s->plan->extents.data[i]->kind == EXT_WHOLE && s->plan->extents.data[i]->known > 1)
            return true;
    return false;
}

/* Powers of two; but a row that is held whole is padded least by some other number. */
static void each_warps(RowSearch *s)
{
    for (s->now.warps_n = 1; s->now.warps_n <= MAX_WARPS; s->now.warps_n = s->whole ? s->now.warps_n + 1 : 2 * s->now.warps_n)
        for (s->warps_m = 1; s->warps_m * s->now.warps_n <= MAX_WARPS; s->warps_m *= 2) {
            if (s->plan->range.lanes && s->warps_m != s->plan->range.beside)
                continue;
            s->now.warps = s->warps_m * s->now.warps_n;
            if ((s->warps_forced && s->now.warps != s->warps_forced) ||
                (s->warps_n_forced && s->now.warps_n != s->warps_n_forced))
                continue;
            each_lanes(s);
        }
}

/* The row that loops go over, long, and of a length compiled in; NULL: there is none. */
static const Extent *long_row(const RowSearch *s)
{
    const Extent *row = plan_one_loop(s->plan);

    return row && row->known >= LONG_ROW && !s->warps_forced && !s->warps_n_forced ? row : NULL;
}

/* The largest part of a long row that a lane has room for, of those whose last turn ends about where the row does. */
static void choose_part(RowSearch *s, int most_warps)
{
    const Extent *row = s->part;
    int64_t least = INT64_MAX, largest = 0;
    RowSearch best = *s;

    for (int choose = 0; choose < 2; choose++)
        for (s->now.warps = LONG_WARPS; s->now.warps <= most_warps; s->now.warps++)
            for (int quarters = 3; quarters <= 4; quarters++) {
                s->now.warps_n = s->now.warps;
                s->along = GOOD_VALUES * quarters / 4 / s->k;
                int64_t size = size_for(s, row), turns = (row->known + size - 1) / size;

                if (!choose && turns * size < least)
                    least = turns * size;
                if (choose && size > largest && (double)(turns * size) <= (1 + BEYOND) * (double)least) {
                    largest = size;
                    best = *s;
                }
            }
    *s = best;
}

/* A long row that has room in shared memory. */
static void keep_long(RowSearch *s)
{
    KeptRow row = plan_kept_row(s->t, s->part->known * s->kept_column);
    s->now.warps = s->now.warps_n = row.warps;
    keep_row(s, s->part->known + before_row(s, s->part), row.blocks);
    if (!s->found)
        s->now.kept = s->now.cluster = 0;
}

/* What is read again comes from near only if few rows are under way. So all warps of a large block share a long row,
 * and each lane has as many of its elements a turn as are good. Of 20,480 to 128,256 columns that moves 1.1 to 4 times
 * as much as small blocks, which would hide each other's latencies (measured). */
static void each_long(RowSearch *s)
{
    s->lanes = LANES;
    s->warps_m = s->down = 1;
    if (s->kept_column)
        keep_long(s);
    if (s->found)
        return;
    choose_part(s, MAX_WARPS);
    try_sizes(s);
    if (s->found && s->best.registers <= MOST_OF_MANY)
        return;
    s->found = false;
    choose_part(s, LONG_WARPS);
    try_sizes(s);
}

/* By what ptxas takes where a row is held whole: functions of it take its registers over, and the more there are the
 * fewer are taken for haste (56 for 32 elements, 64 for 48; what also keeps the row takes more). */
static bool three_fit(const RowSearch *s, const Choice *c)
{
    double values = 0;

    for (int i = 0; i < s->plan->extents.len; i++)
        if (s->plan->extents.data[i]->kind == EXT_WHOLE)
            values = fmax(values, (double)c->size[i] / (c->warps_n * LANES));
    return 3 * c->warps * LANES * (BESIDE_ROW + (int)(values / 2)) <= s->t->regs_per_sm;
}

/* Three blocks, of which one loads, one computes and one stores, are worth more elements a lane: a softmax then
 * moves 13 % more (measured, 12,800 to 15,360 columns), other rows 0 to 2. */
static void choose_third(RowSearch *s, int bytes)
{
    Choice best = s->best;

    if (three_fit(s, &best))
        return;
    s->found = false;
    s->unpadded = true;
    s->k = ACCESS / bytes;
    s->most_values = THIRD_VALUES;
    each_warps(s);
    if (!s->found || !three_fit(s, &s->best))
        s->best = best;
    s->found = true;
}

static void collect_reads(RowSearch *s, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *stmt = block->data[i];
        ReadsOf of = {.stmt = stmt};

        if (stmt->kind == STMT_COMPUTE)
            plan_find_reads(s->plan, stmt, plan_tile(s->plan, plan_result(stmt)), &of.reads);
        if (of.reads.len > 0)
            vec_push(s->plan->arena, &s->read_by, of);
        collect_reads(s, &stmt->body);
        collect_reads(s, &stmt->orelse);
    }
}

/* Of choices with the longest accesses, and with few values a lane, if there are such. */
static void search(RowSearch *s, int bytes)
{
    for (s->k = ACCESS / bytes; s->k >= 2 && !s->found; s->k /= 2)
        for (s->most_values = GOOD_VALUES; s->most_values <= MOST_VALUES && !s->found; s->most_values *= 2) {
            if (s->part)
                each_long(s);
            else
                each_warps(s);
        }
}

const Choice *plan_choose_rows(Plan *plan, const Choice *forced, ReasonResult *result)
{
    int bytes = widest_element(plan);
    RowSearch s = {.plan = plan, .t = plan->options->target, .bytes_of = bytes, .now = *forced, .warps_forced = forced->warps,
                   .warps_n_forced = plan->range.lanes ? plan->range.warps_n : forced->warps_n};

    s.now.in_rows = true;
    s.open = plan->range.typical ? plan_open_row(plan) : NULL;
    s.parts = parts_assumed(plan);
    s.whole = holds_rows_whole(&s);
    collect_reads(&s, &plan->unit->body);
    s.part = long_row(&s);
    if (!plan_is_set(plan, "kept"))
        s.kept_column = plan_kept_column(plan);
    search(&s, bytes);
    if (s.part && !s.found) {
        s.part = NULL;
        search(&s, bytes);
    }
    if (s.found && s.whole && !is_enough(&s))
        choose_third(&s, bytes);
    result->considered += s.considered;
    if (!s.found)
        return NULL;
    Choice *best = arena_new_of(plan->arena, Choice);
    *best = s.best;
    return best;
}
