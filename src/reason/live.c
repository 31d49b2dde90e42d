/* live.c: which register tiles are live at every statement.
 *
 * That does not depend on sizes, so it is found once for all candidates: what a
 * statement makes, what was made before it in its block and is read after, and
 * what its loop carries round or takes from outside. A tile that in a loop only
 * passes between elementwise statements that follow each other takes no registers:
 * its elements are made where they are used, unless one is a mask of it, or it lasts over a mask; and the result of a
 * function of one tile takes over that tile's registers where it ends there. Behind loops, where whole accumulators
 * are left over, nothing else is spared than what is reduced along rows as soon as it is made, so that the
 * checker's count is met as well.
 */
#include "reason/plan.h"

static bool step_reads(const Step *step, const Tile *tile)
{
    for (int i = 0; i < step->stmt->n_args; i++)
        if (step->args[i] == tile)
            return true;
    for (int i = 0; i < step->stmt->n_with; i++)
        if (step->with[i] == tile)
            return true;
    return step->from == tile;
}

static bool makes(const Step *step, const Tile *tile)
{
    return step->result == tile;
}

static bool is_copied(const Step *step, const Tile *tile)
{
    return step->dest == tile && step->stmt->to_space == SPACE_REGISTER;
}

/* Whether it is read in a block before it is made anew. */
static bool read_in(const Steps *steps, const Tile *tile)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        if (step_reads(step, tile) || read_in(&step->body, tile) || read_in(&step->orelse, tile))
            return true;
        if (makes(step, tile) || is_copied(step, tile))
            return makes(step, tile) && step->stmt->result == RESULT_ACCUMULATE;
    }
    return false;
}

/* A tile in a block: at its statement i, */
typedef struct Life {
    int made;     /* i > made: it was made anew before */
    int again;    /* i > again: it is not made anew from there on */
    int left;     /* i > left: a loop before has left it behind */
    bool *read;   /* whether it is read from there on, before it is made again */
} Life;

static bool is_made_anew(const Step *step, const Tile *tile)
{
    return (makes(step, tile) && step->stmt->result != RESULT_ACCUMULATE) || is_copied(step, tile);
}

/* Whether a loop makes a tile, or one in it does. */
static bool leaves(const Step *loop, const Tile *tile)
{
    if (loop->stmt->kind != STMT_FOR)
        return false;
    for (int i = 0; i < loop->body.len; i++)
        if (makes(&loop->body.data[i], tile) || leaves(&loop->body.data[i], tile))
            return true;
    return false;
}

static bool reads_in(const Step *step, const Tile *tile)
{
    return step_reads(step, tile) || read_in(&step->body, tile) || read_in(&step->orelse, tile);
}

static Life life_in(Arena *arena, const Steps *steps, const Tile *tile)
{
    Life life = {steps->len, -1, steps->len, arena_array(arena, bool, steps->len + 1)};

    for (int i = steps->len - 1; i >= 0; i--) {
        const Step *step = &steps->data[i];

        if (is_made_anew(step, tile))
            life.made = i;
        if (is_made_anew(step, tile) && life.again < i)
            life.again = i;
        if (leaves(step, tile))
            life.left = i;
        bool sums = makes(step, tile) && step->stmt->result == RESULT_ACCUMULATE;
        life.read[i] = reads_in(step, tile) || sums || (!is_made_anew(step, tile) && life.read[i + 1]);
    }
    return life;
}

/* A tile that is computed and then multiplied is packed to 16 bits on the way;
 * one that is loaded is unpacked to be computed with. */
static int live_bytes(const Step *step, const Tile *tile)
{
    bool operand = step->gemm && step->stmt->n_args == 2 && step->args[0] == tile && tile->computed && !tile->accumulated;

    return operand ? 2 : 4;
}

static bool is_elementwise(const Step *step)
{
    if (!step->known || step->stmt->result == RESULT_ACCUMULATE)
        return false;
    return step->class == OPC_ELEMENT || step->class == OPC_MASK || step->class == OPC_DEFINE || step->class == OPC_CAST;
}

/* What is known of a tile in the whole unit. */
typedef struct Whole {
    bool read;    /* before it is made anew */
    bool operand; /* loops read it as a first operand, and nothing else does */
    int touched;  /* statements that make or read it */
} Whole;

static bool multiplies(const Step *step, const Tile *tile)
{
    return step->gemm && step->args[0] == tile && step->args[1] != tile;
}

/* Whether loops do nothing with a tile that is computed before them but multiply it, and nothing behind them reads it. */
static bool is_operand(const Steps *steps, bool in_loop, bool *looped, const Tile *tile)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        bool loop = step->stmt->kind == STMT_FOR;

        if (in_loop ? makes(step, tile) || (step_reads(step, tile) && !multiplies(step, tile)) : *looped && step_reads(step, tile))
            return false;
        if (!is_operand(&step->body, in_loop || loop, looped, tile) || !is_operand(&step->orelse, in_loop, looped, tile))
            return false;
        *looped |= loop && reads_in(step, tile);
    }
    return true;
}

/* A turn of a loop makes it anew, of what the turn before, or what stands ahead of the loop, has left. Of rows and columns the model
 * has enough beside tiles; what is in shared memory as well may be read there. */
static bool is_carried(int at, const Tile *tile, const Life *life, bool elementwise)
{
    return !plan_is_vector(tile) && !tile->shared && life->read[0] && (at <= life->made ? life->read[at + elementwise] : at > life->again);
}

static bool is_live(const Steps *steps, int at, bool in_loop, const Tile *tile, const Life *life, const Whole *whole)
{
    if (makes(&steps->data[at], tile))
        return true;
    if (at > life->made && life->read[at])
        return true;
    /* what is read element by element for the last time leaves its registers to the result */
    if (at > life->left && life->read[at + is_elementwise(&steps->data[at])])
        return true;
    if (!in_loop)
        return false;
    return life->made < steps->len ? is_carried(at, tile, life, is_elementwise(&steps->data[at])) : tile->accumulated || life->read[0] || whole->read;
}

/* ---- tiles in passing ------------------------------------------------------ */

static bool touches(const Step *step, const Tile *tile)
{
    return makes(step, tile) || step_reads(step, tile) || is_copied(step, tile);
}

/* Statements among some of a block that make or read the tile. */
static int touched(const Steps *steps, int first, int end, const Tile *tile)
{
    int n = 0;

    for (int i = first; i < end; i++) {
        const Step *step = &steps->data[i];

        n += touches(step, tile) + touched(&step->body, 0, step->body.len, tile) +
             touched(&step->orelse, 0, step->orelse.len, tile);
    }
    return n;
}

/* Whether a mask changes the tile, or another one that is computed meanwhile: a block that needs none jumps over all of it, so
 * that the tile is there whole. */
static bool is_masked(const Steps *steps, int first, int end, const Tile *tile)
{
    for (int i = first; i < end; i++)
        if (steps->data[i].class == OPC_MASK &&
            (makes(&steps->data[i], tile) || (touched(steps, first, i, tile) && touched(steps, i + 1, end, tile))))
            return true;
    return false;
}

static bool is_passing(const Steps *steps, int at, const Tile *tile, const Whole *whole)
{
    int first = at, end = at;

    if (!is_elementwise(&steps->data[at]))
        return false;
    while (first > 0 && is_elementwise(&steps->data[first - 1]))
        first--;
    while (end < steps->len && is_elementwise(&steps->data[end]))
        end++;
    return !is_masked(steps, first, end, tile) && touched(steps, first, end, tile) == whole->touched;
}

/* Of what loops left behind: made of it and at once reduced along its rows, so that no element is kept. */
static bool is_reduced(const Steps *steps, int at, const Tile *tile, const Whole *whole)
{
    int first = at > 0 && !makes(&steps->data[at], tile) ? at - 1 : at;

    if (first + 1 >= steps->len || !makes(&steps->data[first], tile) || !is_elementwise(&steps->data[first]) ||
        is_masked(steps, first, first + 1, tile))
        return false;
    const Step *step = &steps->data[first + 1];
    const Tile *of = steps->data[first].stmt->n_args > 0 ? steps->data[first].args[0] : NULL;
    bool left = false;
    for (int i = 0; of && i < first && !left; i++)
        left = leaves(&steps->data[i], of);
    return left && step->known && step->class == OPC_ROW_REDUCE && touched(steps, first, first + 2, tile) == whole->touched;
}

/* A function of one tile: its result takes over the registers of what nothing reads later. */
static bool is_taken_over(const Steps *steps, int at, const Tile *tile, const Life *life)
{
    const Step *step = &steps->data[at];
    const Tile *result = is_elementwise(step) && step->stmt->n_args == 1 ? step->result : NULL;

    return result && result != tile && result->row == tile->row && result->col == tile->col && !tile->accumulated &&
           step_reads(step, tile) && at > life->made && !life->read[at + 1];
}

/* ---- all statements -------------------------------------------------------- */

typedef struct Finder {
    Plan *plan;
    Whole *wholes; /* by tile */
} Finder;

static void add_tile(const Finder *f, LivePoint *point, const Steps *steps, int at, bool in_loop, int t, const Life *life)
{
    const Tile *tile = &f->plan->tiles.data[t];
    const Whole *whole = &f->wholes[t];

    if (!is_live(steps, at, in_loop, tile, life, whole))
        return;
    bool spared = in_loop ? is_passing(steps, at, tile, whole) || is_taken_over(steps, at, tile, life)
                          : is_reduced(steps, at, tile, whole);
    if (!spared)
        vec_push(f->plan->arena, &point->tiles,
                 (LiveTile){tile, in_loop && whole->operand ? 2 : live_bytes(&steps->data[at], tile)});
}

bool plan_is_vector(const Tile *tile)
{
    return tile->row->kind < EXT_ROWS || tile->col->kind < EXT_ROWS;
}

/* Whether the first operand of product k is wanted as it was computed behind it, so that it is there twice. */
static bool is_kept(const Steps *steps, int k)
{
    const Tile *a = steps->data[k].gemm ? steps->data[k].args[0] : NULL;
    bool kept = false;

    for (int i = k + 1; a && a->computed && a->first_operand && i < steps->len && !kept; i++) {
        if (makes(&steps->data[i], a) && !step_reads(&steps->data[i], a))
            return false;
        kept = step_reads(&steps->data[i], a) && !multiplies(&steps->data[i], a);
    }
    return kept;
}

/* While products of warpgroups are under way their operands in registers are, too. */
static void add_under_way(const Finder *f, LivePoint *point, const Steps *steps, int at)
{
    if (!f->plan->options->target->has_wgmma)
        return;
    for (int k = 0; k <= at; k++)
        if (is_kept(steps, k))
            vec_push(f->plan->arena, &point->tiles, (LiveTile){steps->data[k].args[0], k == at ? 4 : 2});
}

/* Vectors that are read from shared memory come as their elements are wanted, a few ahead. */
static void add_brought(const Finder *f, LivePoint *point, const Step *step)
{
    for (int i = 0; is_elementwise(step) && i < step->stmt->n_args; i++)
        if (step->args[i] && step->args[i]->shared && !step->args[i]->reg && plan_is_vector(step->args[i]))
            vec_push(f->plan->arena, &point->tiles, (LiveTile){step->args[i], 1});
}

/* Tiles that blocks around this one have made, and what stands behind it there reads. */
typedef struct Around {
    const struct Around *outer;
    const Steps *steps;
    const Life *lives; /* by tile */
    int at;            /* the block's statement among the steps */
} Around;

static bool is_wanted_behind(const Around *around, int t)
{
    for (const Around *a = around; a; a = a->outer)
        if (a->lives[t].read && a->lives[t].read[a->at + 1] && a->at > a->lives[t].made)
            return true;
    return false;
}

/* What nothing in a loop touches lasts over it, as it was loaded, if it was; numbers of rows are few. */
static void add_lasting(const Finder *f, LivePoint *point, const Steps *steps, const Around *around)
{
    for (int t = 0; t < f->plan->tiles.len; t++) {
        const Tile *tile = &f->plan->tiles.data[t];

        if (tile->reg && !tile->shared && tile->col->kind != EXT_ONE && is_wanted_behind(around, t) && touched(steps, 0, steps->len, tile) == 0)
            vec_push(f->plan->arena, &point->tiles, (LiveTile){tile, tile->computed ? 4 : dtype_bytes(tile->reg_dtype)});
    }
}

static void find_in(const Finder *f, const Steps *steps, bool in_loop, const Around *around)
{
    Plan *plan = f->plan;
    Life *lives = arena_array(plan->arena, Life, plan->tiles.len);

    for (int t = 0; t < plan->tiles.len; t++)
        if (plan->tiles.data[t].reg)
            lives[t] = life_in(plan->arena, steps, &plan->tiles.data[t]);
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        LivePoint point = {.in_loop = in_loop};

        Around here = {around, steps, lives, i};

        if (step->body.len)
            find_in(f, &step->body, in_loop || step->stmt->kind == STMT_FOR, &here);
        if (step->orelse.len)
            find_in(f, &step->orelse, in_loop, &here);
        if (step->stmt->kind != STMT_COMPUTE && step->stmt->kind != STMT_COPY)
            continue;
        for (int t = 0; t < plan->tiles.len; t++)
            if (plan->tiles.data[t].reg)
                add_tile(f, &point, steps, i, in_loop, t, &lives[t]);
        add_brought(f, &point, step);
        if (in_loop)
            add_under_way(f, &point, steps, i);
        add_lasting(f, &point, steps, around);
        point.loaded = plan_fills_shared(step->stmt) ? step->dest : NULL;
        vec_push(plan->arena, &plan->live, point);
    }
}

void plan_find_live(Plan *plan)
{
    Finder f = {plan, arena_array(plan->arena, Whole, plan->tiles.len)};

    for (int t = 0; t < plan->tiles.len; t++) {
        const Tile *tile = &plan->tiles.data[t];

        bool looped = false, operand = tile->computed && !tile->accumulated && is_operand(&plan->steps, false, &looped, tile);
        f.wholes[t] = (Whole){read_in(&plan->steps, tile), operand && looped, touched(&plan->steps, 0, plan->steps.len, tile)};
    }
    find_in(&f, &plan->steps, false, NULL);
}
