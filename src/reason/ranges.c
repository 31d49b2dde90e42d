/* ranges.c: rows that a loop streams: how long they may be, and which of them shared memory keeps.
 *
 * A row is read once for each loop over it. Where shared memory has room for it, it is kept there (src/pass/keep.c),
 * all of it on its way at once: a block asks for the room before it knows how long its row is, so there is a kernel
 * for each range of lengths. What is longer, or is read by one loop alone, is read in parts that lanes hold:
 *
 *   in_range = min(1, 8192 div max(N, 1)) - min(1, 4096 div max(N, 1))     blocks of the kernel for 4097 to 8192
 *
 * Rows that no loop streams have tiles beside each other: of short ones those would be empty for the most part, so that they have
 * kernels of their own as well.
 */
#include "reason/plan.h"

enum {
    LANES = 32,
    LONG_WARPS = 8,  /* of a row that is read twice, however long */
    MOST_WARPS = 16,
    MOST_COLUMN = 8, /* bytes: of more tensors a lane has no registers for as many columns a turn */
    BESIDE = 1024    /* bytes, for what warps tell each other */
};

/* ---- which loop --------------------------------------------------------------------------------- */

const Extent *plan_one_loop(const Plan *plan)
{
    const Extent *loop = NULL;

    for (int i = 0; i < plan->extents.len; i++) {
        const Extent *extent = plan->extents.data[i];

        if (extent->kind == EXT_ENTRY || (extent->kind == EXT_LOOP && (loop || extent->fixed)))
            return NULL;
        if (extent->kind == EXT_LOOP)
            loop = extent;
    }
    return loop;
}

static bool rows_fixed(const Plan *plan)
{
    for (int i = 0; i < plan->extents.len; i++)
        if (plan->extents.data[i]->kind == EXT_ROWS && plan->extents.data[i]->fixed)
            return true;
    return false;
}

/* The one dimension that tiles lie beside each other along, of several rows, where nothing loops; NULL: there is none, or another. */
static const Extent *one_side(const Plan *plan)
{
    const Extent *side = NULL;
    bool rows = false;

    for (int i = 0; i < plan->extents.len; i++) {
        const Extent *extent = plan->extents.data[i];

        if (extent->kind >= EXT_COLS && (side || extent->kind != EXT_COLS || extent->fixed || extent->part))
            return NULL;
        if (extent->kind == EXT_COLS)
            side = extent;
        rows |= extent->kind == EXT_ROWS;
    }
    return rows ? side : NULL;
}

const Extent *plan_open_row(const Plan *plan)
{
    const Extent *loop = plan_one_loop(plan), *row = loop ? loop : one_side(plan);

    return row && row->known <= 0 && row->dim_name && !rows_fixed(plan) ? row : NULL;
}

/* ---- rows that shared memory keeps ------------------------------------------------------------- */

/* Whether the block itself copies of the tensor, or to it. */
static bool copies(const Block *block, const char *tensor, bool to)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_COPY && (to ? s->to_space : s->space) == SPACE_GLOBAL && strcmp(to ? copy_dest(s) : s->name, tensor) == 0)
            return true;
    }
    return false;
}

/* How many of the loops over the row that stand side by side copy of the tensor; none, where one of them writes it. */
static int loops_that_copy(Plan *plan, const Extent *row, const char *tensor)
{
    const Block *body = &plan->unit->body;
    int n = 0;

    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];

        if (s->kind != STMT_FOR || plan_loop(plan, s) != row)
            continue;
        if (copies(&s->body, tensor, true))
            return 0;
        n += copies(&s->body, tensor, false);
    }
    return n;
}

bool plan_reads_again(Plan *plan)
{
    for (int e = 0; e < plan->extents.len; e++)
        for (int i = 0; i < plan->tensors.len; i++)
            if (loops_that_copy(plan, plan->extents.data[e], plan->tensors.data[i].name) > 1)
                return true;
    return false;
}

int plan_kept_column(Plan *plan)
{
    const Extent *row = plan_one_loop(plan);
    int bytes = 0;

    for (int i = 0; row && i < plan->tensors.len; i++)
        if (loops_that_copy(plan, row, plan->tensors.data[i].name) > 1)
            bytes += dtype_bytes(plan->tensors.data[i].dtype);
    return bytes <= MOST_COLUMN ? bytes : 0;
}

bool plan_kept_fits(Plan *plan, const Choice *c)
{
    const Extent *row = plan_one_loop(plan);
    int64_t elements = row ? c->kept * c->size[row->id] : 0;
    int narrowest = 0;

    for (int i = 0; i < plan->extents.len; i++)
        elements *= plan->extents.data[i]->kind == EXT_ROWS ? c->size[i] : 1;
    for (int i = 0; elements > 0 && i < plan->tensors.len; i++) {
        int bytes = dtype_bytes(plan->tensors.data[i].dtype);

        if (loops_that_copy(plan, row, plan->tensors.data[i].name) > 1 && (narrowest == 0 || bytes < narrowest))
            narrowest = bytes;
    }
    return elements * narrowest + BESIDE <= plan->options->target->shared_per_block;
}

/* ---- rows of any length --------------------------------------------------------------------- */

/* A row is read twice, and the second time from near only if few rows are under way:
 * so short ones are a warp's, long ones a block's, and each length has a kernel in
 * which a lane loads as much at once as it holds. Ends of ranges as measured. */
static RowRange range_read_twice(int i)
{
    static const RowRange ranges[] = {
        {0, 3072, 2048, 1, LANES, 0, 1, 1, 1}, {3072, 6144, 4096, 2, LANES, 0, 1, 1, 1}, {6144, 0, 16384, LONG_WARPS, LANES, 0, 1, 1, 1},
    };

    return i < (int)TW_COUNT(ranges) ? ranges[i] : (RowRange){0};
}

/* Tiles beside each other: tiles of 1,024 columns move 0.04 of what a copy does where rows have 16, 0.15 where they have 64 and 0.29
 * where they have 128; those that are chosen for these ranges 0.48, 1.04 and 0.90. As measured. */
static RowRange range_beside(int i)
{
    static const RowRange ranges[] = {{.to = 64, .typical = 64}, {.from = 64, .to = 512, .typical = 256}, {.from = 512, .typical = PLAN_TYPICAL_LENGTH}};

    return i < (int)TW_COUNT(ranges) ? ranges[i] : (RowRange){0};
}

/* Rows that are kept: bytes, warps that share one, and lanes of each that do. A block has room for the longest of its range: of
 * one half as long half as much is under way. Of the shortest a warp has 32, for blocks start one after the other, and no lane computes
 * what lies behind their ends: of 32 to 128 columns that moves 0.87 to 1.02 of what a copy does, where four to a warp moved 0.2 to 0.8. Long ones are kept by clusters, each of whose blocks leaves room for others
 * beside it: of 40 KB that moves 1.02 times as much as one large block does, of 100 KB 1.04 and of 128 KB 1.2 times. As measured;
 * ranges that end at 20 KB and at 384 KB as well would move no more. */
static const KeptRow OF_A_BLOCK[] = {
    {256, 1, 4, 1, 1, 4},          {3 << 9, 1, 8, 1, 1, 1},       {6 << 10, 1, LANES, 1, 1, 1},           {12 << 10, 2, LANES, 1, 1, 1},
    {28 << 10, 4, LANES, 1, 1, 1}, {64 << 10, 8, LANES, 1, 1, 1}, {128 << 10, MOST_WARPS, LANES, 1, 1, 1},
};
static const KeptRow OF_A_CLUSTER[] = {
    {64 << 10, 4, LANES, 2, 1, 1}, {128 << 10, 4, LANES, 4, 1, 1}, {256 << 10, 4, LANES, 8, 1, 1}, {512 << 10, 8, LANES, 8, 1, 1},
};

static bool has_clusters(const Target *t)
{
    return t->cluster_blocks >= SCHED_CLUSTER_MOST;
}

bool plan_can_keep(const Target *t, int64_t bytes)
{
    return t->has_cp_async && bytes + BESIDE <= t->shared_per_block;
}

/* Number i of the rows that are kept, the shortest first: where there are clusters, a block alone keeps none of the longest.
 * NULL: there are no more. */
static const KeptRow *kept_row(const Target *t, int i)
{
    int shared = has_clusters(t) ? (int)TW_COUNT(OF_A_CLUSTER) : 0, alone = (int)TW_COUNT(OF_A_BLOCK);

    while (shared && OF_A_BLOCK[alone - 1].bytes >= OF_A_CLUSTER[0].bytes)
        alone--;
    const KeptRow *row = i >= alone + shared ? NULL : i < alone ? &OF_A_BLOCK[i] : &OF_A_CLUSTER[i - alone];

    return row && plan_can_keep(t, row->bytes / row->blocks) ? row : NULL;
}

KeptRow plan_kept_row(const Target *t, int64_t bytes)
{
    const KeptRow *row;

    for (int i = 0; (row = kept_row(t, i)) != NULL; i++)
        if (bytes <= row->bytes)
            return *row;
    return (KeptRow){0, MOST_WARPS, LANES, has_clusters(t) ? SCHED_CLUSTER_MOST : 1, 1, 1};
}

RowRange plan_row_range(Plan *plan, int i)
{
    const Target *t = plan->options->target;
    int column = plan_kept_column(plan), kept = 0;

    if (plan_open_row(plan)->kind == EXT_COLS)
        return range_beside(i);
    while (column > 0 && kept_row(t, kept))
        kept++;
    if (kept == 0)
        return range_read_twice(i);
    if (i > kept)
        return (RowRange){0};
    int64_t from = i > 0 ? kept_row(t, i - 1)->bytes / column : 0;
    if (i == kept)
        return (RowRange){from, 0, 2 * from, LONG_WARPS, LANES, 0, 1, 1, 1};
    const KeptRow *row = kept_row(t, i);
    int64_t to = row->bytes / column;
    return (RowRange){from, to, (from + to) / 2, row->warps, row->lanes, to, row->blocks, row->beside, row->down};
}

/* min(1, to div max(N, 1)): whether N is at most `to`. */
static Expr *at_most(Plan *plan, const char *name, int64_t to)
{
    Expr **most = arena_array(plan->arena, Expr *, 2), **least = arena_array(plan->arena, Expr *, 2);

    most[0] = expr_name(plan->arena, name);
    most[1] = expr_int(plan->arena, 1);
    least[0] = expr_int(plan->arena, 1);
    least[1] = expr_binary(plan->arena, EO_IDIV, expr_int(plan->arena, to), expr_call(plan->arena, "max", most, 2));
    return expr_call(plan->arena, "min", least, 2);
}

Expr *plan_in_range(Plan *plan)
{
    const char *name = plan_open_row(plan)->dim_name;
    const RowRange *r = &plan->range;
    Expr *to = r->to ? at_most(plan, name, r->to) : expr_int(plan->arena, 1);

    return r->from ? expr_binary(plan->arena, EO_SUB, to, at_most(plan, name, r->from)) : to;
}

