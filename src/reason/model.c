/* model.c: what a choice costs: memory, registers, cycles.
 *
 * A block's turn through its main loop uses five resources of the multiprocessor,
 * each for some cycles:
 *
 *   mma      multiply-adds of the tensor cores
 *   shared   bytes that warps read from shared memory: every column of warps
 *            reads the first operand again, every row of warps the second. A warp
 *            with 16 rows is bound by this, one with 32 by the tensor cores
 *   exps     ex2 and its kin
 *   alu      other arithmetic
 *   traffic  bytes copied from L2 (or DRAM)
 *   prepare  instructions of the warpgroup that makes operands for the others, which are four
 *            warps' and so wait for themselves
 *
 * The most used one bounds the turn from below. The rest is hidden behind it as
 * far as independent warps are there to hide it: a block's own warps meet at a
 * barrier every turn, other blocks do not. A copy that is not started early
 * enough is waited for.
 *
 * Registers are counted at the statement where most tiles are live, plus what
 * operand fragments and addresses need.
 */
#include "layout/lay.h"
#include "reason/plan.h"

#include <math.h>

enum {
    WARP = 32,
    QUARTERS = 4,       /* of a multiprocessor, with tensor cores each */
    LATENCY = 800,      /* cycles from the start of a copy to its data */
    UNHIDDEN = 50,      /* of it, when a copy is waited for in the turn that starts it */
    TURN_OVERHEAD = 100, /* barrier, counters */
    PLACE_BYTES = 1024,  /* barriers and coordinates of persistent blocks */
    GROUP_OVERHEAD = 80, /* of a turn, for each warpgroup that computes in turn */
    PRODUCT_START = 30,  /* of a warpgroup's product behind another (seen there) */
    ALONE = 80,          /* of a turn of warps that no other block's run beside (seen there) */
    CHAIN_LATENCY = 200, /* from products to arithmetic and back */
    MEETING = 60,        /* of warps that share rows, where each needs what the others have */
    QUAD_STEPS = 2,      /* shuffles that reduce a row over the lanes that share it */
    PREPARED_STAGES = 3, /* of operands that a warpgroup prepares */
    SOFTMAX_REGS = 24,   /* that are to be left beside a softmax, where one more warpgroup prepares operands, */
    PER_SCORE = 16,      /* and one for so many of a thread's scores, */
    PER_MASKED = 3,      /* or for so many where quotients of each one's place decide */
    PLAIN_REGS = 24,     /* beside tiles, at least */
    ADDRESS_REGS = 26,  /* pointers, counters, predicates */
    WALKED_REGS = 16,   /* numbers of elements under way, of what is made of places in steps, */
    LOG_REGS = 2,       /* of a logarithm of each element, */
    ROUNDED_REGS = 8,   /* of a number that becomes an integer, */
    MANY_TERMS = 16,    /* comparisons, extremes and quotients of places: of more, too, few elements are under way; */
    FEW_MASKS = 4,      /* of several masks, where these are more than so many */
    READ_REGS = 12      /* addresses of elements that are read at computed places */
};

/* Of the cycles of resources that do not bind: they disturb the one that does. */
static const double CONTENTION = 0.15;

/* What a grid costs more that leaves all multiprocessors but one idle, where little else tells. */
static const double IDLE = 0.1;

/* What a stage more smooths out, of what the first of them does not. */
static const double STAGE_GAIN = 0.1;

/* Of the time of a block of few warps, in which its multiprocessor has nothing to do. */
static const double BETWEEN = 0.1;

/* Of the rate at which four warps alone issue instructions: they wait for their own results. */
static const double LONE_RATE = 0.5;

/* Of wgmma's rate, that of mma.sync where there are both. */
static const double WARP_RATE = 0.6;

typedef struct Work {
    double mma, shared, exps, alu, traffic, prepare; /* cycles, */
    double meetings;                                 /* and those of warps that wait for each other */
} Work;

typedef struct Modeler {
    Plan *plan;
    Choice *c;
    const Target *t;
    int warps_m;
    bool prepares;      /* a warpgroup of its own makes operands */
    Work *work;         /* of the region being walked */
    const Extent *loop; /* over which it is in one; NULL: it is in none */
    double most;        /* registers of tiles where most are live, */
    double looped;      /* and in loops alone */
    double fragments;   /* registers of operand fragments, the largest GEMM's */
    double product;     /* of the largest one that is added to nothing */
    int scratch;        /* of the arithmetic that needs most in between */
    int masks, terms;   /* of what decides on elements */
    Habits habits;      /* of the code */
    double grid;        /* blocks; 0: not known */
    double sharing;     /* blocks that a multiprocessor has at once */
    Work main;          /* of the loop with the most work a turn */
    double main_turns;
    double around;      /* turns that the loops around the one at hand make of it */
    double total;       /* cycles of a block */
} Modeler;

static double size_of(const Modeler *m, const Extent *extent)
{
    return (double)m->c->size[extent->id];
}

static double elements(const Modeler *m, const Tile *tile)
{
    return size_of(m, tile->row) * size_of(m, tile->col);
}

static bool is_matrix(const Modeler *m, const Tile *tile)
{
    return size_of(m, tile->row) > 1 && size_of(m, tile->col) > 1;
}

/* Vectors are repeated over the lanes of a quad. */
double plan_registers(const Choice *c, int64_t rows, int64_t cols)
{
    if (rows > 1 && cols > 1)
        return (double)rows * (double)cols / (WARP * c->warps);
    if (rows > 1)
        return (double)rows / (8.0 * c->warps / c->warps_n);
    return cols > 1 ? (double)cols / (4.0 * c->warps_n) : 1;
}

static double registers_of(const Modeler *m, const Tile *tile, int bytes)
{
    return plan_registers(m->c, m->c->size[tile->row->id], m->c->size[tile->col->id]) * bytes / 4;
}

/* ---- capacity --------------------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int64_t shared_bytes_of(const Modeler *m, const Tile *tile)
{
    return round_up((int64_t)elements(m, tile) * dtype_bytes(tile->shared_dtype), 128);
}

/* Without asynchronous copies, one of a ring's stages is in registers. */
static int ring_stages(const Modeler *m)
{
    return m->t->has_cp_async || m->c->stages < 2 ? m->c->stages : m->c->stages - 1;
}

/* Turns of the loop around a copy that others make again, which a ring may keep; 0: there are none, or no one knows how many (pass/stage.c). */
static int64_t turns_again(const Target *t, const Choice *c, const Step *step, const Extent *loop)
{
    bool rings = c->stages > 1 && t->has_cp_async;

    return rings && loop && step->again != AGAIN_NONE ? (loop->known + c->size[loop->id] - 1) / c->size[loop->id] : 0;
}

/* Those whose tiles stay for others. */
static int64_t turns_kept(const Modeler *m, const Step *step, const Extent *loop)
{
    int64_t turns = turns_again(m->t, m->c, step, loop);

    return turns <= m->c->kept ? turns : 0;
}

int plan_turns_again(const Plan *plan, const Choice *c)
{
    int64_t most = 0;

    for (int i = 0; i < plan->steps.len; i++)
        for (int k = 0; k < plan->steps.data[i].body.len; k++) {
            int64_t turns = turns_again(plan->options->target, c, &plan->steps.data[i].body.data[k], plan->steps.data[i].extent);

            most = turns > most ? turns : most;
        }
    return most <= SCHED_KEPT_MOST ? (int)most : 0;
}

/* A copy into shared memory has a place of its own: in a loop that loads it, a
 * ring of stages, or of all turns. */
static void count_copies(Modeler *m, const Steps *steps, const Step *loop)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        const Stmt *s = step->stmt;

        if (s->kind == STMT_COPY && s->to_space == SPACE_SHARED) {
            int64_t bytes = shared_bytes_of(m, step->dest), kept = loop ? turns_kept(m, step, loop->extent) : 0;

            if (kept > 0)
                m->c->ring_bytes += step->again == AGAIN_FIRST ? round_up(bytes * kept, 1024) : 0;
            else if (m->c->groups && loop && step->from && step->from->prepared)
                m->c->ring_bytes += round_up(bytes * (m->c->stages < PREPARED_STAGES ? m->c->stages : PREPARED_STAGES), 1024);
            else if (loop && s->space == SPACE_GLOBAL)
                m->c->ring_bytes += round_up(bytes * ring_stages(m), 1024);
            else
                m->c->resident_bytes += round_up(bytes, 1024);
        }
        count_copies(m, &step->body, s->kind == STMT_FOR ? step : loop);
        count_copies(m, &step->orelse, loop);
    }
}

/* What a role of its own makes of elements that lie as tiles do is brought there by bulk copies, at least one stage of
 * each (src/pass/prepare.c). */
static void count_elements(Modeler *m, const Steps *steps)
{
    for (int i = 0; i < steps->len && m->c->groups; i++) {
        const Step *step = &steps->data[i];

        for (int k = 0; step->prepared && k < step->reads.len; k++)
            if (step->reads.data[k].tile)
                m->c->ring_bytes += round_up((int64_t)elements(m, step->result) * step->reads.data[k].bytes, 1024);
        count_elements(m, &step->body);
        count_elements(m, &step->orelse);
    }
}

/* Operands that pass through shared memory have a place each. */
static void count_operands(Modeler *m)
{
    for (int i = 0; i < m->plan->tiles.len; i++) {
        const Tile *tile = &m->plan->tiles.data[i];

        if (plan_passes_through(m->c, tile))
            m->c->resident_bytes += round_up((int64_t)elements(m, tile) * 2, 1024);
    }
}

/* The warps of a row combine what each has reduced through numbers that lie side by side: for a softmax twice. */
static void count_parts(Modeler *m, const Steps *steps)
{
    for (int i = 0; i < steps->len && m->c->warps_n > 1; i++) {
        const Step *step = &steps->data[i];
        const Tile *tile = step->known && step->class == OPC_ROW_REDUCE ? step->args[0] : step->known && step->class == OPC_SOFTMAX ? step->result : NULL;

        if (tile && m->c->size[tile->col->id] > 1) {
            int64_t rows = (int64_t)m->c->size[tile->row->id], each = round_up(m->c->warps_n, 4) * dtype_bytes(DT_F32);

            m->c->resident_bytes += round_up(rows * each, 1024) * (step->class == OPC_SOFTMAX ? 2 : 1);
        }
        count_parts(m, &step->body);
        count_parts(m, &step->orelse);
    }
}

static void count_shared(Modeler *m)
{
    m->c->ring_bytes = m->c->resident_bytes = 0;
    count_copies(m, &m->plan->steps, NULL);
    count_elements(m, &m->plan->steps);
    count_operands(m);
    count_parts(m, &m->plan->steps);
    m->c->shared_bytes = m->c->ring_bytes + m->c->resident_bytes;
}

/* ---- registers ----------------------------------------------------------------------------- */

/* Of warpgroups what is only added to another product is that one's sum from the start. What is prepared another
 * warpgroup has; beside one, of a row of numbers that outputs meet as many are loaded as are used soon. */
static double live_registers(const Modeler *m, const Tile *tile, int bytes)
{
    enum { SOON = 32 };
    double n = registers_of(m, tile, bytes);

    if (m->c->groups && tile->addend)
        return 0;
    if (!m->prepares)
        return n;
    return tile->prepared ? 0 : tile->row->kind == EXT_ONE && n > SOON ? SOON : n;
}

static void count_registers(Modeler *m)
{
    for (int i = 0; i < m->plan->live.len; i++) {
        const LivePoint *point = &m->plan->live.data[i];
        double live = 0;

        for (int k = 0; k < point->tiles.len; k++)
            live += live_registers(m, point->tiles.data[k].tile, point->tiles.data[k].bytes);
        if (point->loaded && !m->t->has_cp_async && (!point->in_loop || m->c->stages < 2)) /* all of it is on its way at once */
            live += (double)shared_bytes_of(m, point->loaded) / (4 * WARP * m->c->warps);
        m->most = fmax(m->most, live);
        if (point->in_loop)
            m->looped = fmax(m->looped, live);
    }
}

static bool computes_with(const Step *step, const Tile *tile)
{
    for (int i = 0; step->stmt->kind == STMT_COMPUTE && i < step->stmt->n_args; i++)
        if (step->args[i] == tile)
            return true;
    return false;
}

static bool copied_for(const Steps *steps, int copy, int at)
{
    const Tile *tile = steps->data[copy].dest;

    if (!plan_fills_shared(steps->data[copy].stmt))
        return false;
    for (int i = copy + 1; i < at; i++)
        if (computes_with(&steps->data[i], tile))
            return false;
    return computes_with(&steps->data[at], tile);
}

/* Without asynchronous copies: registers of tiles on their way. Those that a
 * statement of a loop is the first to use are under way together. */
static double tiles_held(const Modeler *m, const Steps *steps, bool in_loop)
{
    double most = 0;

    if (m->t->has_cp_async || m->c->stages < 2)
        return 0;
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        double held = 0, inner = tiles_held(m, &step->body, step->stmt->kind == STMT_FOR);

        for (int k = 0; in_loop && k < i; k++)
            if (copied_for(steps, k, i))
                held += (double)shared_bytes_of(m, steps->data[k].dest);
        most = fmax(most, fmax(held / (4 * WARP * m->c->warps), inner));
    }
    return most;
}

static double held_registers(const Modeler *m)
{
    const Steps *steps = &m->plan->steps;
    double held = tiles_held(m, steps, false);

    return held > 0 && m->plan->counts.products > 1 ? held + PLAN_HELD_REGS : held;
}

/* Tiles that a warpgroup will copy into shared memory; those of loops count twice (target.h), vectors not. */
static int copies_in(const Steps *steps, bool in_loop)
{
    int n = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        n += plan_fills_shared(step->stmt) && !plan_is_vector(step->dest) ? 1 + in_loop : 0;
        n += copies_in(&step->body, in_loop || step->stmt->kind == STMT_FOR) + copies_in(&step->orelse, in_loop);
    }
    return n;
}

/* Of those that loops copy, the ones of which each warpgroup has rows of its own. */
static int own_copies_in(const Steps *steps, bool in_loop)
{
    int n = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        n += in_loop && plan_fills_shared(step->stmt) && !plan_is_vector(step->dest) && step->dest->row->kind == EXT_ROWS;
        n += own_copies_in(&step->body, in_loop || step->stmt->kind == STMT_FOR) + own_copies_in(&step->orelse, in_loop);
    }
    return n;
}

static int all_copies(const Modeler *m)
{
    const Steps *steps = &m->plan->steps;

    return target_copies(copies_in(steps, false), m->prepares ? 0 : own_copies_in(steps, false));
}

static bool is_late(const Step *step)
{
    return step->gemm && step->args[0] && step->args[0]->first_operand && step->args[0]->computed;
}

/* Whether a product before the first one of an operand that is computed reads a tile that one from there on reads as
 * well: such a turn stays as it is. */
static bool shares_tiles(const Steps *steps)
{
    int cut = 0;

    while (cut < steps->len && !is_late(&steps->data[cut]))
        cut++;
    for (int i = 0; i < cut; i++)
        for (int k = cut; k < steps->len && steps->data[i].gemm; k++)
            for (int n = 0; n < 2 && steps->data[k].gemm; n++)
                for (int copy = 0; copy < cut && steps->data[k].args[n]; copy++)
                    if (plan_fills_shared(steps->data[copy].stmt) && steps->data[copy].dest == steps->data[k].args[n] &&
                        computes_with(&steps->data[i], steps->data[k].args[n]))
                        return true;
    return false;
}

static bool stores(const Step *step, const Tile *tile)
{
    return step->from == tile && step->stmt->to_space == SPACE_GLOBAL;
}

/* Whether what was computed before a product, beside its operands, is read or stored behind it, and not by products alone. */
static bool leaves_beside(const Modeler *m, const Steps *steps, int at)
{
    const Step *product = &steps->data[at];

    for (int i = 0; i < at; i++) {
        const Tile *made = steps->data[i].stmt->kind == STMT_COMPUTE ? steps->data[i].result : NULL;
        if (!made || made->accumulated || !is_matrix(m, made) || computes_with(product, made))
            continue;
        for (int k = at + 1; k < steps->len; k++)
            if (stores(&steps->data[k], made) || (!steps->data[k].gemm && computes_with(&steps->data[k], made)))
                return true;
    }
    return false;
}

/* Of operands that are computed: while a product reads one, the next is made, if the turn's products stand beside those
 * of the next (rotate.c). Else a softmax has a maximum more of each row, and what it scales sums by, beside both products. */
static double operand_registers(const Modeler *m, const Steps *steps)
{
    enum { OF_ROW = 2 };
    double n = 0;
    bool turned = !shares_tiles(steps);

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        if (turned && is_late(step))
            n += registers_of(m, step->args[0], dtype_bytes(step->args[1]->shared_dtype)) * (leaves_beside(m, steps, i) ? 2 : 1);
        if (!turned && step->known && step->class == OPC_SOFTMAX)
            n += OF_ROW * plan_registers(m->c, m->c->size[step->result->row->id], 1);
        n = fmax(n, fmax(operand_registers(m, &step->body), operand_registers(m, &step->orelse)));
    }
    return n;
}

/* ---- work of statements ----------------------------------------------------------------------- */

static void add_gemm(Modeler *m, const Step *step)
{
    const Stmt *s = step->stmt;
    const Tile *a = step->args[0], *b = step->args[1];
    double rows = size_of(m, plan_transposed(s->args[0]) ? a->col : a->row);
    double k = size_of(m, plan_transposed(s->args[0]) ? a->row : a->col);
    double cols = size_of(m, plan_transposed(s->args[1]) ? b->row : b->col);
    bool through = plan_passes_through(m->c, a), from_shared = through || (a->shared && !a->computed);
    double size = b->shared ? dtype_bytes(b->shared_dtype) : 2;
    double bytes = (from_shared ? rows * k * size * m->c->warps_n : 0) + cols * k * size * m->warps_m;
    double fragments = (from_shared ? rows / m->warps_m / m->t->mma_m * 4 : 0) +
                       (cols / m->c->warps_n > 32 ? 8 : 4);

    if (m->c->groups) /* a warpgroup reads operands from shared memory once, and no fragments */
        bytes = (from_shared ? rows * k * size : 0) + cols * k * size * m->c->groups;
    double rate = m->t->mma_macs * (m->t->has_wgmma && !m->c->groups ? WARP_RATE : 1);
    int fetched = (int)(cols / m->c->warps_n / m->t->mma_n);
    m->habits.fetched = fetched > m->habits.fetched ? fetched : m->habits.fetched;
    if (s->result != RESULT_ACCUMULATE)
        m->product = fmax(m->product, plan_registers(m->c, (int64_t)rows, (int64_t)cols));
    bool widened = size == 1 && !m->c->groups && !m->t->has_mma_bytes;
    m->work->mma += rows * cols * k * (widened ? 2 : size) / (2 * rate); /* twice as many of 8 bits */
    m->habits.widened |= widened;
    if (widened) { /* every warp converts its operands, those of a step at a time */
        m->work->alu += (rows * m->c->warps_n + cols * m->warps_m) * k / m->t->fp32_ops;
        fragments += rows / m->warps_m / m->t->mma_m * 8 + PLAN_WIDE_REGS;
    }
    if (m->c->groups && size == 1) { /* each turn's product is added to the sum (pass/split.c) */
        int product = (int)plan_registers(m->c, (int64_t)rows, (int64_t)cols);

        m->work->alu += rows * cols / m->t->fp32_ops;
        m->scratch = product > m->scratch ? product : m->scratch;
    }
    m->work->shared += (bytes + (through ? rows * k * size : 0)) / m->t->shared_bytes;
    m->work->meetings += through ? MEETING : 0;
    if (!m->c->groups && fragments > m->fragments)
        m->fragments = fragments;
}

/* Instructions an element, where they are not one of plain arithmetic. */
typedef struct OpCost {
    double plain, special;
    int scratch; /* registers in between, of the few elements that are under way at once */
} OpCost;

static const OpCost op_costs[OP_COUNT] = {
    [OP_EXP] = {1, 1, 0},     [OP_EXP2] = {0.5, 1, 0},  [OP_LOG] = {1, 1, 0},   [OP_LOG2] = {0.5, 1, 0},
    [OP_SQRT] = {11, 1, 4},   [OP_RSQRT] = {0.5, 1, 0}, [OP_TANH] = {0.5, 1, 4}, [OP_RECIPROCAL] = {0.5, 1, 0},
    [OP_SIGMOID] = {2, 2, 0}, [OP_SILU] = {3, 2, 0},    [OP_POWER] = {2, 2, 4}, [OP_DIVIDE] = {2, 1, 0},
    [OP_GELU] = {12, 2, 12},  [OP_CEIL_DIVIDE] = {8, 1, 2}, [OP_FLOOR] = {0, 1, 0},
    [OP_ERF] = {15, 2, 6},    [OP_LOG1P] = {10, 2, 4},  [OP_EXPM1] = {10, 1, 4}, [OP_SIGN] = {3, 0, 2},
    [OP_CEIL] = {0, 1, 0},    [OP_ROUND] = {0, 1, 0},   [OP_SIN] = {4, 2, 2},     [OP_COS] = {4, 2, 2},
};

bool plan_op_is_special(OpId op)
{
    return op_costs[op].special > 0;
}

void plan_op_cost(OpId op, double *plain, double *special)
{
    *plain = op_costs[op].plain > 0 ? op_costs[op].plain : 1;
    *special = op_costs[op].special;
}

static void add_scratch(Modeler *m, int registers)
{
    m->scratch = registers > m->scratch ? registers : m->scratch;
    m->habits.steps = registers > m->habits.steps ? registers : m->habits.steps;
}

static void add_element(Modeler *m, OpId op, double n)
{
    double plain, special;

    plan_op_cost(op, &plain, &special);
    add_scratch(m, op_costs[op].scratch);
    m->habits.chained |= special > 1;
    m->work->exps += special * n / m->t->exp_ops;
    m->work->alu += plain * n / m->t->fp32_ops;
}

/* Shuffles among the four lanes that share a row. */
static void add_row_reduction(Modeler *m, const Tile *tile, int times)
{
    m->work->alu += times * QUAD_STEPS * 4 * size_of(m, tile->row) / WARP;
    m->work->meetings += m->c->warps_n > 1 ? times * MEETING : 0;
}

/* What is accumulated from a softmax is rescaled every turn. */
static double accumulated_elements(const Modeler *m)
{
    double n = 0;

    for (int i = 0; i < m->plan->tiles.len; i++)
        if (m->plan->tiles.data[i].accumulated)
            n += elements(m, &m->plan->tiles.data[i]);
    return n;
}

/* Elements of tensors that are read, and their addresses. */
static void add_reads(Modeler *m, const Step *step)
{
    double n = plan_read_registers(m->c, step);
    int registers = n >= 2 ? (int)n + READ_REGS : 0;

    m->scratch = registers > m->scratch ? registers : m->scratch;
    m->habits.looked |= registers > 0 && step->class == OPC_MASK;
}

/* Whether so many terms decide on elements that few are under way: of one mask, but for those that are asked one by one
 * (tile_decides_by_many), or of all masks so far. */
static bool decides_by_many(Modeler *m, const MadeOf *made)
{
    m->masks++;
    m->terms += made->terms;
    return made->most_terms > MANY_TERMS || made->quotients > MANY_TERMS || (m->masks > FEW_MASKS && m->terms > MANY_TERMS);
}

/* Of what is made of places in steps, value by value, numbers of several elements are under way (ptx/chain.c), and beside
 * them those that were read. */
static void add_places(Modeler *m, const Step *step)
{
    const MadeOf *made = step->made;

    if (!made || !is_matrix(m, step->result))
        return;
    bool many = step->class == OPC_MASK && decides_by_many(m, made);
    bool masked = many || (step->class == OPC_MASK && made->divides_places);
    if (made->parted || (made->read && made->quotients > 0 && !masked)) /* words that are taken apart: add_reads knows */
        return;
    for (int i = 0; i < made->n; i++)
        add_element(m, made->ops[i], elements(m, step->result));
    m->habits.walked |= made->n > 0 || many;
    m->habits.masked |= m->loop && masked;
    if ((made->n > 0 || many) && (made->read || m->scratch < WALKED_REGS))
        m->scratch = WALKED_REGS + (made->read ? m->scratch : 0);
}

static void add_compute(Modeler *m, const Step *step)
{
    const Stmt *s = step->stmt;
    const Tile *first = s->n_args > 0 ? step->args[0] : NULL;
    double n = elements(m, first && is_matrix(m, first) ? first : step->result);

    add_reads(m, step);
    add_places(m, step);
    switch (step->class) {
    case OPC_GEMM:
        add_gemm(m, step);
        return;
    case OPC_SOFTMAX: /* maximum, difference, exponential, sum, packing */
        add_row_reduction(m, first, 2);
        m->work->exps += n / m->t->exp_ops;
        m->work->alu += (3.5 * n + (s->n_with ? accumulated_elements(m) : 0)) / m->t->fp32_ops;
        return;
    case OPC_MASK: /* only some tiles need it */
        m->work->alu += 0.5 * n / m->t->fp32_ops;
        return;
    case OPC_ROW_REDUCE:
        add_row_reduction(m, first, 1);
        add_element(m, s->op, n);
        return;
    case OPC_ELEMENT:
    case OPC_COL_REDUCE:
    case OPC_FILL:
    case OPC_CAST:
    case OPC_DEFINE:
        if (step->class == OPC_CAST && s->has_dtype && !dtype_is_float(s->dtype) && is_matrix(m, step->result))
            add_scratch(m, ROUNDED_REGS);
        if ((s->op == OP_LOG || s->op == OP_LOG2) && is_matrix(m, step->result)) /* of subnormal numbers, too */
            add_scratch(m, LOG_REGS);
        add_element(m, s->op, n);
        return;
    case OPC_GROUP_REDUCE: /* on whole tensors: refused before */
    case OPC_REARRANGE:
    case OPC_SELECT:
        return;
    }
}

static void add_copy(Modeler *m, const Step *step)
{
    const Stmt *s = step->stmt;
    const Tile *tile = step->copied;

    if (step->again == AGAIN_LATER && turns_kept(m, step, m->loop) > 0)
        return;
    if (s->space == SPACE_GLOBAL || s->to_space == SPACE_GLOBAL)
        m->work->traffic += plan_copy_cycles(m->plan, m->c, m->grid, step) * (s->result == RESULT_ACCUMULATE ? 2 : 1); /* read, written */
    if (s->space == SPACE_SHARED || s->to_space == SPACE_SHARED)
        m->work->shared += elements(m, tile) * dtype_bytes(tile->shared_dtype) / m->t->shared_bytes;
}

/* ---- time -------------------------------------------------------------------------------------- */

static double bound_of(const Work *w, const char **limiter)
{
    const double values[] = {w->mma, w->shared, w->exps, w->alu, w->traffic, w->prepare};
    static const char *const names[] = {"tensor cores", "shared-memory bandwidth", "exponentials", "arithmetic",
                                        "copies from L2", "operands that are prepared"};
    int most = 0;

    for (int i = 1; i < (int)TW_COUNT(values); i++)
        if (values[i] > values[most])
            most = i;
    if (limiter)
        *limiter = names[most];
    return values[most];
}

static double independent(const Modeler *m)
{
    if (m->c->groups) /* products of the next turn run beside this one's arithmetic */
        return 1 + m->c->groups;

    double quarters = m->c->warps / 4.0;

    return m->sharing * (quarters < 1 ? quarters : 1 + 0.6 * (quarters - 1));
}

/* Of so few warps that each has a quarter of a multiprocessor for itself, and a quarter of its rates: a grid that is known
 * to be small has no other blocks for the rest. */
static bool has_own_quarters(const Modeler *m)
{
    return m->grid > 0 && !m->c->groups && m->c->warps < QUARTERS;
}

/* Cycles of one pass over work that what a warp does one after the other adds to what bounds it. */
static double waits_of(const Modeler *m, const Work *w, double bound)
{
    bool arithmetic = w->exps + w->alu > 0;
    double own = has_own_quarters(m) ? (double)QUARTERS / m->c->warps : 1, products = w->mma * own;
    double chain = (products > w->shared ? products : w->shared) + (w->exps + w->alu) * own + w->meetings + TURN_OVERHEAD + (arithmetic ? CHAIN_LATENCY : 0);

    if (has_own_quarters(m))
        return chain > bound * m->sharing ? chain / m->sharing - bound : 0;
    return chain > bound ? (chain - bound) / independent(m) : 0;
}

/* Cycles of one pass over work, copies started `ahead` turns before; of one of
 * the blocks that share a multiprocessor, at the rate that they reach together.
 * A warp reads the next operands while the tensor cores multiply, so those two
 * overlap by themselves; arithmetic waits for products and products for it. The
 * latency of a copy is covered by the turns that it is started ahead, and by the
 * other blocks' turns (seen on an H200: at head dimension 128 one stage with two
 * blocks a multiprocessor is as fast as two stages). */
static double cycles_of(const Modeler *m, const Work *w, double ahead)
{
    double bound = bound_of(w, NULL), hidden = has_own_quarters(m) ? m->sharing : independent(m);

    if (m->grid > 0 && m->c->groups && w->exps + w->alu == 0 && ahead > 0) /* one turn's products after the other's */
        return bound + PRODUCT_START;
    double turn = bound + waits_of(m, w, bound) + CONTENTION * (w->mma + w->shared + w->exps + w->alu + w->traffic - bound);
    if (m->c->groups) /* barriers, votes and jumps that nothing hides */
        turn += GROUP_OVERHEAD * (w->exps > 0 ? m->c->groups : 1);
    if (m->grid > 0 && !m->c->groups && (m->sharing == 1 || has_own_quarters(m)))
        turn += ALONE;
    double covered = ahead * turn * m->sharing + (m->sharing - 1) * bound + (has_own_quarters(m) ? turn / 2 : 0);
    double exposed = LATENCY - covered, least = ahead > 0 ? 0 : UNHIDDEN;

    exposed = exposed > least ? exposed : least;

    return turn + (w->traffic > 0 ? exposed / hidden : 0);
}

static void add_steps(Modeler *m, const Steps *steps);

/* Turns that copies are ahead. A stage comes free when the last warpgroup has let go of
 * it, which half a turn later than the first one does. */
static double ahead_of(const Modeler *m)
{
    return m->c->groups > 1 && m->c->stages > 1 ? m->c->stages - 1.5 : m->c->stages - 1;
}

static void add_loop(Modeler *m, const Step *step)
{
    const Extent *parts = step->parts;
    Work *outer = m->work, mine = {0};
    const Extent *around_it = m->loop;
    double around = m->around;

    if (!step->extent)
        return;
    double turns = around * plan_turns(m->c, step->extent) / (parts && parts->known > 0 ? (double)parts->known : around_it ? 1 : plan_parts_assumed(m->plan));
    m->habits.single |= step->extent->known > 0 && m->c->size[step->extent->id] >= step->extent->known;
    m->work = &mine;
    m->loop = step->extent;
    m->around = turns;
    add_steps(m, &step->body);
    m->around = around;
    m->loop = around_it;
    m->work = outer;
    double turn = cycles_of(m, &mine, ahead_of(m));
    m->total += turns * turn;
    if (bound_of(&mine, NULL) * turns > bound_of(&m->main, NULL) * m->main_turns) {
        m->main = mine;
        m->main_turns = turns;
        m->c->turn = turn;
    }
}

/* What another warpgroup does beside those that multiply. */
static void add_prepared(Modeler *m, const Step *step)
{
    Modeler apart = *m;
    Work mine = {0};

    apart.work = &mine;
    if (step->stmt->kind == STMT_COPY)
        add_copy(&apart, step);
    else
        add_compute(&apart, step);
    m->work->prepare += (mine.alu + mine.exps) / LONE_RATE;
    m->work->shared += mine.shared;
    m->work->traffic += mine.traffic;
}

static void add_steps(Modeler *m, const Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        if (m->c->groups && step->prepared)
            add_prepared(m, step);
        else if (step->stmt->kind == STMT_COPY)
            add_copy(m, step);
        else if (step->stmt->kind == STMT_COMPUTE)
            add_compute(m, step);
        else if (step->stmt->kind == STMT_FOR)
            add_loop(m, step);
        else if (step->stmt->kind == STMT_IF) {
            add_steps(m, &step->body);
            add_steps(m, &step->orelse);
        }
    }
}

/* ---- rating -------------------------------------------------------------------------------------- */

bool plan_whole_cols(const Plan *plan)
{
    return block_computes(&plan->unit->body, OPC_COL_REDUCE);
}

/* Warps side by side combine what they reduced along rows; other warps than those that columns keep
 * there are the better ones, though. */
bool plan_whole_rows(const Plan *plan)
{
    if (block_computes(&plan->unit->body, OPC_ROW_REDUCE) && !plan_whole_cols(plan)) /* of one row as well */
        return true;
    if (block_computes(&plan->unit->body, OPC_SOFTMAX))
        return true;
    for (int i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];

        if (tile->first_operand)
            return true;
        if (tile->reg && tile->col->kind == EXT_ONE && tile->row->kind != EXT_ONE && tile->computed && !plan_whole_cols(plan))
            return true;
    }
    return false;
}

static int blocks_by_registers(const Modeler *m, int registers)
{
    return m->t->regs_per_sm / ((registers + 7) / 8 * 8 * WARP * m->c->warps);
}

/* Where they leave a thread fewer than it could have, with room for what ptxas may take. */
static int blocks_in_registers(const Modeler *m)
{
    int n = blocks_by_registers(m, m->c->registers), share = m->t->regs_per_sm / (n * WARP * m->c->warps);
    bool half = 2 * share <= m->t->regs_per_thread + 1;
    int doubted = m->c->registers + plan_doubt_shared(m->plan, m->habits, half), there = m->t->regs_per_thread;
    int fewer = blocks_by_registers(m, doubted < there ? doubted : there);

    return fewer > 0 ? fewer : n;
}

/* Blocks a multiprocessor holds by each limit; at least 1 by what is checked before. */
static int resident_blocks(const Modeler *m)
{
    int by_regs = blocks_in_registers(m);
    int64_t shared = m->c->shared_bytes + m->t->shared_reserved;
    int by_shared = shared > 0 ? (int)(m->t->shared_per_sm / shared) : m->t->blocks_per_sm;
    int by_warps = m->t->warps_per_sm / m->c->warps;
    int n = by_regs < by_shared ? by_regs : by_shared;

    n = n < by_warps ? n : by_warps;
    return n < 1 ? 1 : n > 4 ? 4 : n;
}

/* Counts the grid's blocks, and how many share a multiprocessor of those that could. Returns what the grid counts as:
 * where all of it is known, as many blocks as if every multiprocessor had what the busiest has; else half of them idle
 * at the end. */
static double count_grid(Modeler *m)
{
    bool known = plan_expects_launch(m->plan);
    double sms = m->t->sms, blocks = plan_blocks(m->plan, m->c), each = ceil(blocks / sms);

    m->grid = known ? blocks : 0;
    m->sharing = known && each < m->c->blocks_per_sm ? each : m->c->blocks_per_sm;
    return known ? each * sms : blocks + sms / 2;
}

/* Notes what is wrong with the choice; words only where they will be read, since most choices are no good. */
static void TW_PRINTF(3, 4) misfit(Modeler *m, Misfit kind, const char *fmt, ...)
{
    va_list args;

    m->c->misfit = kind;
    if (!m->plan->in_words)
        return;
    va_start(args, fmt);
    m->c->misfit_text = arena_vprintf(m->plan->arena, fmt, args);
    va_end(args);
}

static bool sums_fit(Modeler *m)
{
    int step = m->plan->contracted_step;

    for (int i = 0; i < m->plan->extents.len; i++) {
        const Extent *extent = m->plan->extents.data[i];
        int64_t size = m->c->size[extent->id];

        if (extent->contracted && size % step != 0) {
            misfit(m, MISFIT_SHARE, "products sum over %lld elements, which is no multiple of %d", (long long)size, step);
            return false;
        }
    }
    return true;
}

/* Whether warps can share a side of a tile: multiples of what the tensor cores take. */
static bool side_fits(Modeler *m, const Tile *tile, const char *side, int64_t size, int warps, int atom)
{
    if (size <= 1 || size % (atom * warps) == 0)
        return true;
    misfit(m, MISFIT_SHARE, "%s has %lld %s, which %d warps cannot share in multiples of %d", tile->name, (long long)size,
           side, warps, atom);
    return false;
}

/* Of a first operand that is transposed warps share the columns, which none may begin within a panel (ptx/mma.c). */
static bool turned_fits(Modeler *m, const Tile *tile)
{
    int64_t size = m->c->size[tile->col->id];

    if (!tile->shared || tile->col->kind != EXT_ROWS || m->c->groups || m->warps_m == 1)
        return true;
    int bytes = dtype_bytes(tile->shared_dtype), panel = lay_panel_for((int)size, bytes);
    int64_t share = size / m->warps_m * bytes;
    if (share > 0 && panel > 0 && (share % panel == 0 || panel % share == 0))
        return true;
    misfit(m, MISFIT_SHARE, "%s has %lld columns, of which the shares of %d warps begin within panels of %d bytes", tile->name,
           (long long)size, m->warps_m, panel);
    return false;
}

static bool fragments_fit(Modeler *m)
{
    if (!sums_fit(m))
        return false;
    for (int i = 0; i < m->plan->tiles.len; i++) {
        const Tile *tile = &m->plan->tiles.data[i];

        if (!turned_fits(m, tile))
            return false;
        if (m->c->groups && tile->prepared)
            continue; /* rows of it are shared as may be (src/pass/prepare.c) */
        if (tile->reg && (!side_fits(m, tile, "rows", m->c->size[tile->row->id], m->warps_m, m->t->mma_m) ||
                          !side_fits(m, tile, "columns", m->c->size[tile->col->id], m->c->warps_n, m->t->mma_n)))
            return false;
    }
    return true;
}

static bool shared_fits(Modeler *m)
{
    const Choice *c = m->c;

    if (c->shared_bytes > m->t->shared_per_block) {
        misfit(m, MISFIT_SHARED, "needs %lld bytes of shared memory (%lld resident, %lld in rings); a "
               "block of %s has %d", (long long)c->shared_bytes, (long long)c->resident_bytes,
               (long long)c->ring_bytes, m->t->name, m->t->shared_per_block);
        return false;
    }
    if (m->plan->counts.products == 0 && !plan_kept_fits(m->plan, c)) {
        misfit(m, MISFIT_SHARED, "is to keep the tiles of %d turns; a block of %s has %d bytes of shared memory", c->kept, m->t->name,
               m->t->shared_per_block);
        return false;
    }
    if (c->groups && c->stages > 2 && c->shared_bytes + c->resident_bytes + PLACE_BYTES > m->t->shared_per_block) {
        misfit(m, MISFIT_ROOM, "%d stages leave no room for the next block's first tiles (%lld bytes)",
               c->stages, (long long)c->resident_bytes);
        return false;
    }
    return true;
}

static bool multiplies_first(const Steps *steps, const Tile *tile)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        if ((step->gemm && step->args[0] == tile) || multiplies_first(&step->body, tile) || multiplies_first(&step->orelse, tile))
            return true;
    }
    return false;
}

/* Of first operands that no loop copies, where they are asked to stay in registers (pass/operands.c). */
static double kept_operands(const Modeler *m)
{
    const Schedule *schedule = m->plan->options->schedule;
    double kept = 0;

    for (int i = 0; schedule && schedule->value[SCHED_OPERANDS] == SCHED_OPERANDS_REGISTERS && i < m->plan->steps.len; i++) {
        const Step *step = &m->plan->steps.data[i];

        if (step->stmt->kind == STMT_COPY && plan_fills_shared(step->stmt) && multiplies_first(&m->plan->steps, step->dest))
            kept += registers_of(m, step->dest, dtype_bytes(step->dest->shared_dtype));
    }
    return m->c->groups ? 2 * kept : kept; /* ptxas serialises products that leave it little room */
}

static void count_all_registers(Modeler *m)
{
    Choice *c = m->c;

    count_registers(m);
    c->registers = (int)(m->most + m->fragments + held_registers(m) + kept_operands(m) + ADDRESS_REGS) + m->scratch;
    if (m->prepares) /* nothing is prepared outside of loops, nor read ahead there */
        c->registers = ADDRESS_REGS + (int)fmax(m->most + m->scratch, m->looped + operand_registers(m, &m->plan->steps));
    else if (c->groups)
        c->registers += (int)operand_registers(m, &m->plan->steps);
    c->registers += c->spare;
}

/* In the kernel for any alignment, whose warps make all operands themselves (src/check/capacity.c counts so, too). */
static bool plain_fits(Modeler *m)
{
    double kept = 0, most = 0;

    for (int i = 0; i < m->plan->tiles.len; i++) {
        const Tile *tile = &m->plan->tiles.data[i];
        double n = tile->reg ? registers_of(m, tile, 4) : 0;

        if (tile->accumulated)
            kept += n;
        else if (tile->prepared)
            most = fmax(most, n);
    }
    if (kept + most + PLAIN_REGS <= m->t->regs_per_thread)
        return true;
    misfit(m, MISFIT_REGISTERS, "needs %.0f registers a thread for tiles where its warps make all operands; there are %d", kept + most,
           m->t->regs_per_thread - PLAIN_REGS);
    return false;
}

/* Registers of a thread where one block has all of a multiprocessor's. */
static int least_share(const Modeler *m, int there)
{
    int share = m->t->regs_per_sm / (WARP * m->c->warps) / 8 * 8;

    return share < there ? share : there;
}

static bool registers_fit(Modeler *m)
{
    const Choice *c = m->c;
    int there = m->t->regs_per_thread - (m->plan->options->roomy ? PLAN_SPARE_REGS : 0);
    unsigned beside = plan_beside(m->plan, c);
    bool third = beside & (TARGET_PREPARER | TARGET_LOOKUPS) || (beside & TARGET_LANES && beside & TARGET_COPIER);
    int share = c->groups ? target_group_registers(m->t, c->groups, all_copies(m), beside) : 0;

    if (third && m->main.exps > 0) /* seen with less: ptxas makes products wait for each other */
        share -= SOFTMAX_REGS + (int)m->product / PER_SCORE;
    else if (m->main.exps > 0 && m->plan->counts.products > 2) /* the same, of two products at once */
        share -= m->habits.chained ? SOFTMAX_REGS : 2 * m->habits.steps;
    else if (m->habits.masked)
        share -= (int)m->product / PER_MASKED;
    if (c->groups && c->registers > share) {
        misfit(m, MISFIT_REGISTERS, "needs about %d registers a thread (%.0f of tiles); %d warpgroups beside one that "
               "copies have %d", c->registers, m->most, c->groups, share);
        return false;
    }
    if (m->prepares && !plain_fits(m))
        return false;
    if (m->plan->options->roomy && m->prepares && c->groups < 2 && m->work->exps + m->main.exps > 0) {
        misfit(m, MISFIT_SHARE, "has one warpgroup that multiplies beside two that do not");
        return false;
    }
    int excess = c->registers + (c->groups ? 0 : plan_doubt(m->plan, c, m->habits)) - (c->groups ? there : least_share(m, there));
    m->c->excess = excess > 0 ? excess : 0;
    if (c->registers > there || excess > m->plan->daring) {
        misfit(m, c->registers > there ? MISFIT_REGISTERS : MISFIT_DOUBT,
               "needs about %d registers a thread (%.0f of tiles); there are %d", c->registers, m->most, m->t->regs_per_thread);
        return false;
    }
    if (!c->groups && (c->registers + 7) / 8 * 8 * WARP * c->warps > m->t->regs_per_sm) {
        misfit(m, MISFIT_REGISTERS, "needs about %d registers in each of %d warps; a multiprocessor has %d for all",
               c->registers, c->warps, m->t->regs_per_sm);
        return false;
    }
    return true;
}

void plan_rate(Plan *plan, Choice *c)
{
    Work root = {0};
    Modeler m = {.plan = plan, .c = c, .t = plan->options->target, .warps_m = c->warps / c->warps_n, .work = &root, .around = 1};

    c->misfit = FITS;
    c->groups = plan_groups(plan, c);
    m.prepares = plan_prepares(plan, c);
    if (!fragments_fit(&m))
        return;
    count_shared(&m);
    if (!shared_fits(&m))
        return;
    c->blocks_per_sm = 1;
    m.sharing = 1;
    add_steps(&m, &plan->steps); /* finds the operand fragments */
    count_all_registers(&m);
    if (!registers_fit(&m))
        return;
    c->blocks_per_sm = c->groups ? 1 : c->blocks_forced ? c->blocks_forced : resident_blocks(&m);
    double counted = count_grid(&m);
    root = (Work){0};
    m.masks = m.terms = 0;
    m.total = 0;
    m.main = (Work){0};
    m.main_turns = 0;
    add_steps(&m, &plan->steps);
    double rest = cycles_of(&m, &root, 0);
    if (m.main_turns == 0) {
        m.main = root;
        c->turn = rest;
    }
    c->mma = m.main.mma;
    c->shared = m.main.shared;
    c->alu = m.main.alu;
    c->exps = m.main.exps;
    c->traffic = m.main.traffic;
    bound_of(&m.main, &c->limiter);
    c->cost = (m.total + rest) * counted * (plan->counts.blocks ? plan_left(c, &plan->steps) : 1);
    if (m.grid > 0 && m.grid < m.t->sms)
        c->cost *= 1 + IDLE * (1 - m.grid / m.t->sms);
    if (has_own_quarters(&m) && m.sharing == 1 && m.grid > m.t->sms) /* nothing runs while one block ends and the next begins */
        c->cost *= 1 + BETWEEN;
    if (c->groups || m.grid > 0) /* a block has a multiprocessor's memory for itself: it may as well run ahead */
        c->cost *= 1 + STAGE_GAIN / (has_own_quarters(&m) && c->stages > 3 ? 3 : c->stages);
}
