/* live.c: which register tiles are live at every statement.
 *
 * That does not depend on sizes, so it is found once for all candidates: what a
 * statement makes, what was made before it in its block and is read after, and
 * what its loop carries round or takes from outside. A tile that in a loop only
 * passes between elementwise statements that follow each other takes no registers:
 * its elements are made where they are used, unless one is a mask of it; and the result of a
 * function of one tile takes over that tile's registers where it ends there. Behind loops, where whole accumulators
 * are left over, nothing else is spared than what is reduced along rows as soon as it is made, so that the
 * checker's count is met as well.
 */
#include "reason/plan.h"

static bool stmt_reads(Plan *plan, const Stmt *s, const Tile *tile)
{
    for (int i = 0; i < s->n_args; i++)
        if (plan_operand(plan, s->args[i]) == tile)
            return true;
    for (int i = 0; i < s->n_with; i++)
        if (plan_operand(plan, s->with[i]) == tile)
            return true;
    return s->kind == STMT_COPY && s->space == SPACE_REGISTER && strcmp(s->name, tile->name) == 0;
}

static bool makes(const Stmt *s, const char *name)
{
    const char *result = s->kind == STMT_COMPUTE ? plan_result(s) : NULL;

    return result && strcmp(result, name) == 0;
}

static bool read_in(Plan *plan, const Block *block, int from, const Tile *tile)
{
    for (int i = from; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (stmt_reads(plan, s, tile) || read_in(plan, &s->body, 0, tile) || read_in(plan, &s->orelse, 0, tile))
            return true;
        if (makes(s, tile->name))
            return s->result == RESULT_ACCUMULATE;
    }
    return false;
}

static bool is_copied(const Stmt *s, const char *name)
{
    return s->kind == STMT_COPY && s->to_space == SPACE_REGISTER && strcmp(copy_dest(s), name) == 0;
}

/* Whether one of a block's first statements makes a tile anew. */
static bool made_in(const Block *block, int to, const char *name)
{
    for (int i = 0; i < to; i++) {
        const Stmt *s = block->data[i];

        if ((makes(s, name) && s->result != RESULT_ACCUMULATE) || is_copied(s, name))
            return true;
    }
    return false;
}

/* Whether a loop among a block's first statements leaves a tile behind. */
static bool left_by_loop(const Block *block, int to, const char *name)
{
    for (int i = 0; i < to; i++) {
        const Block *body = &block->data[i]->body;

        for (int k = 0; block->data[i]->kind == STMT_FOR && k < body->len; k++)
            if (makes(body->data[k], name))
                return true;
        if (block->data[i]->kind == STMT_FOR && left_by_loop(body, body->len, name))
            return true;
    }
    return false;
}

/* A tile that is computed and then multiplied is packed to 16 bits on the way;
 * one that is loaded is unpacked to be computed with. */
static int live_bytes(Plan *plan, const Stmt *s, const Tile *tile)
{
    bool operand = s->kind == STMT_COMPUTE && s->op_known && s->op == OP_GEMM && s->n_args == 2 &&
                   plan_operand(plan, s->args[0]) == tile && tile->computed && !tile->accumulated;

    return operand ? 2 : 4;
}

static bool is_elementwise(const Stmt *s)
{
    if (s->kind != STMT_COMPUTE || !s->op_known || s->result == RESULT_ACCUMULATE)
        return false;
    OpClass class = op_info(s->op)->class;
    return class == OPC_ELEMENT || class == OPC_MASK || class == OPC_DEFINE || class == OPC_CAST;
}

static bool is_live(Plan *plan, const Block *block, int at, bool in_loop, const Tile *tile)
{
    if (makes(block->data[at], tile->name))
        return true;
    if (made_in(block, at, tile->name) && read_in(plan, block, at, tile))
        return true;
    /* what is read element by element for the last time leaves its registers to the result */
    if (left_by_loop(block, at, tile->name) && read_in(plan, block, at + is_elementwise(block->data[at]), tile))
        return true;
    return in_loop && !made_in(block, block->len, tile->name) &&
           (tile->accumulated || read_in(plan, block, 0, tile) || read_in(plan, &plan->unit->body, 0, tile));
}

/* ---- tiles in passing ------------------------------------------------------ */

/* Statements of a block, from `first` up to before `end`, that make or read the tile. */
static int touches(Plan *plan, const Block *block, int first, int end, const Tile *tile)
{
    int n = 0;

    for (int i = first; i < end; i++) {
        const Stmt *s = block->data[i];

        n += makes(s, tile->name) || stmt_reads(plan, s, tile) || is_copied(s, tile->name);
        n += touches(plan, &s->body, 0, s->body.len, tile) + touches(plan, &s->orelse, 0, s->orelse.len, tile);
    }
    return n;
}

/* Whether a mask changes the tile: a block that needs none jumps over all of it, so
 * that the tile is there whole. */
static bool is_masked(const Block *block, int first, int end, const Tile *tile)
{
    for (int i = first; i < end; i++)
        if (op_info(block->data[i]->op)->class == OPC_MASK && makes(block->data[i], tile->name))
            return true;
    return false;
}

static bool is_passing(Plan *plan, const Block *block, int at, const Tile *tile)
{
    int first = at, end = at;

    while (first > 0 && is_elementwise(block->data[first - 1]))
        first--;
    while (end < block->len && is_elementwise(block->data[end]))
        end++;
    return is_elementwise(block->data[at]) && !is_masked(block, first, end, tile) &&
           touches(plan, block, first, end, tile) ==
               touches(plan, &plan->unit->body, 0, plan->unit->body.len, tile);
}

/* Of what loops left behind: made of it and at once reduced along its rows, so that no element is kept. */
static bool is_reduced(Plan *plan, const Block *block, int at, const Tile *tile)
{
    int first = at > 0 && !makes(block->data[at], tile->name) ? at - 1 : at;

    if (first + 1 >= block->len || !makes(block->data[first], tile->name) || !is_elementwise(block->data[first]) ||
        is_masked(block, first, first + 1, tile))
        return false;
    const Stmt *s = block->data[first + 1];
    const Tile *of = block->data[first]->n_args > 0 ? plan_operand(plan, block->data[first]->args[0]) : NULL;
    return of && left_by_loop(block, first, of->name) && s->kind == STMT_COMPUTE && s->op_known &&
           op_info(s->op)->class == OPC_ROW_REDUCE &&
           touches(plan, block, first, first + 2, tile) ==
               touches(plan, &plan->unit->body, 0, plan->unit->body.len, tile);
}

/* A function of one tile: its result takes over the registers of what nothing reads later. */
static bool is_taken_over(Plan *plan, const Block *block, int at, const Tile *tile)
{
    const Stmt *s = block->data[at];
    const Tile *result = is_elementwise(s) && s->n_args == 1 ? plan_tile(plan, plan_result(s)) : NULL;

    return result && result != tile && result->row == tile->row && result->col == tile->col && !tile->accumulated &&
           stmt_reads(plan, s, tile) && made_in(block, at, tile->name) && !read_in(plan, block, at + 1, tile);
}

static void find_in(Plan *plan, const Block *block, bool in_loop)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        LivePoint point = {0};

        find_in(plan, &s->body, in_loop || s->kind == STMT_FOR);
        find_in(plan, &s->orelse, in_loop);
        if (s->kind != STMT_COMPUTE && s->kind != STMT_COPY)
            continue;
        for (int t = 0; t < plan->tiles.len; t++) {
            const Tile *tile = &plan->tiles.data[t];

            if (!tile->reg) continue;
            bool spared = in_loop ? is_passing(plan, block, i, tile) || is_taken_over(plan, block, i, tile)
                                  : is_reduced(plan, block, i, tile);
            if (!spared && is_live(plan, block, i, in_loop, tile))
                vec_push(plan->arena, &point.tiles, (LiveTile){tile, live_bytes(plan, s, tile)});
        }
        vec_push(plan->arena, &plan->live, point);
    }
}

void plan_find_live(Plan *plan)
{
    find_in(plan, &plan->unit->body, false);
}
