/* listed.c: turns of a loop that data keeps, with holes between them.
 *
 * Of a table of blocks, or of documents that are woven into each other, a tile of rows has tiles of columns here and there.
 * A kernel ahead lists those of which anything is left, and the loop goes over the list:
 *
 *   for t = 0:n {                                            kernel f_listed grid(m)
 *     %K = load K[t * 128 : rows, 0 : cols]                    for each turn of which Keep[m, t] == 1: its number,
 *     %S = gemm %Q, %K.T                                       to f_list[m, as many as were before it]
 *     %1 = mask %S where t * 128 + col < len                   how many there are, to f_count[m]
 *     %2 = index Keep[m, t] == 1                      ->     kernel f
 *     %3 = where %2, %1, -inf                                  for t = 0:f_count[m] {
 *     ...                                                        %K = load K[f_list[m, t] * 128 : rows, 0 : cols]
 *   }                                                            %S = gemm %Q, %K.T
 *                                                                %1 = mask %S where f_list[m, t] * 128 + col < len
 *                                                                ...
 * Where a tile lies is an element of the list then, as of any table that is only read: copies look it up ahead of their turn.
 *
 * So where a turn that keeps nothing changes nothing (mask.c). A turn is listed if some element of its tile is kept. Not all are
 * looked at: to a condition on `row div 64` 64 rows are alike, a cell of which it reads one. A few cells are looked at as
 * the list is made; of many a kernel before that says turn by turn whether any is kept (f_kept[m, t]). Where a tile is one
 * cell, what the list names is kept as a whole, and the choice is gone. Where it is a few, an entry of the list is twice the
 * turn's number, and one more if all are kept; the choice is a mask that jumps over those tiles:
 *
 *   %3 = mask %1 where Keep[m * 2 + row div 64, f_list[m, t] div 2] == 1 else -inf unless f_list[m, t] mod 2 == 1
 */
#include "pass/listed.h"

#include "pass/ends.h"
#include "pass/passes.h"
#include "pass/project.h"

enum {
    STEP = 64,         /* turns that the kernel which lists them looks at together, and places of the list that it fills */
    LIST_WARPS = 8,
    FEW_CELLS = 4,     /* that it looks at itself */
    WARP_CELLS = 128,  /* that a warp looks at together, */
    MOST_WARPS = 8,    /* and so many warps */
    CELLS_A_PART = 16  /* elements to a cell, so that looking at cells takes little beside products */
};

/* ---- cells ----------------------------------------------------------------------------------------------------- */

/* What an expression knows of an element's place along a side: `of div width`, where `of` is the place and what is alike for the
 * whole tile. */
typedef struct Along {
    AffCtx *aff;
    const AffSym *side;
    const Aff *of;  /* NULL: nothing */
    int64_t width;  /* 0: likewise */
} Along;

static bool is_place(const Along *l, const Aff *a)
{
    const Aff *times, *rest;
    int64_t n;
    return aff_linear(l->aff, a, l->side, &times, &rest) && aff_is_const(times, &n) && n == 1;
}

static void look_along(Along *l, const Aff *a)
{
    int64_t width;
    if (!a || !aff_uses(a, l->side)) return;
    bool quotient = a->kind == AFF_DIV && aff_is_const(a->b, &width) && width > 0 && is_place(l, a->a) && (!l->of || l->of == a->a);
    if (quotient || a->kind == AFF_SYM) {
        l->of = quotient ? a->a : a;
        l->width = common_divisor(l->width, quotient ? width : 1);
        return;
    }
    look_along(l, a->a);
    look_along(l, a->b);
}

static int so_many(int64_t all, int64_t width)
{
    return (int)((all + width - 1) / width);
}

/* Steps as wide as elements are alike miss nothing that a quotient is along the side, if the last element is one of them where
 * the tile does not begin with a multiple. */
static Cells cells_of(AffCtx *aff, const Aff *data, const AffSym *side, int extent)
{
    Along l = {.aff = aff, .side = side};
    look_along(&l, data);
    int width = l.of && l.width < extent ? (int)l.width : extent;
    bool begins = !l.of || l.of->kind == AFF_SYM;
    return (Cells){begins ? so_many(extent, width) : so_many(extent - 1, width) + 1, width, extent};
}

/* The first element of a cell. */
static const Aff *first_of(AffCtx *aff, const Cells *c, const Aff *cell)
{
    return aff_min(aff, aff_scale(aff, cell, c->width), aff_const(aff, c->extent - 1));
}

static int64_t cells(const Listing *x)
{
    return (int64_t)x->rows.n * x->cols.n;
}

/* The condition for one of the cells, in the turn's number. */
static const Aff *at_cell(const Listing *x, const Aff *row, const Aff *col)
{
    const TileProgram *program = x->left.program;
    AffCtx *aff = program->aff;
    const Aff *cond = aff_subst(aff, x->data, program->row, first_of(aff, &x->rows, row));
    return aff_subst(aff, cond, program->col, first_of(aff, &x->cols, col));
}

/* Whether any of a few cells keeps something, or all do. */
static const Aff *at_cells(const Listing *x, bool all)
{
    AffCtx *aff = x->left.program->aff;
    const Aff *kept = aff_const(aff, all);
    for (int row = 0; row < x->rows.n; row++)
        for (int col = 0; col < x->cols.n; col++) {
            const Aff *cell = at_cell(x, aff_const(aff, row), aff_const(aff, col));
            kept = all ? aff_and(aff, kept, cell) : aff_or(aff, kept, cell);
        }
    return kept;
}

/* Whether an entry of the list says beside a turn's number, which is half of it, that all of the tile is kept: so tiles that are
 * need not be masked. A tile that is one cell is kept as a whole if it is listed. */
static bool tells_whole(const Listing *x)
{
    const TileOp *choice = x->choice;
    return cells(x) > 1 && cells(x) <= FEW_CELLS && tile_type_equal(choice->args[1]->type, choice->results[0]->type);
}

bool listed_is_cheap(const Listing *x)
{
    const TileType *tile = &x->choice->results[0]->type;
    return cells(x) * CELLS_A_PART <= (int64_t)tile->rows * tile->cols;
}

/* ---- which loops ------------------------------------------------------------------------------------------------- */

/* Whether an element of a tensor may stand in place of the counter: where tiles come from, and for their elements. */
static bool may_look_up(const TileBlock *body, const AffSym *counter)
{
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        bool looks = op->kind == TILE_LOAD || op->kind == TILE_GATHER || op->kind == TILE_INDEX || op->kind == TILE_MASK;
        if (!looks && rw_names(op, counter)) return false;
        for (int r = 0; r < op->n_regions; r++)
            if (!may_look_up(op->regions[r], counter)) return false;
    }
    return true;
}

/* The first choice by data that tells turns apart, without which a turn changes nothing. */
static bool find_choice(Listing *x)
{
    TileProgram *program = x->left.program;
    const TileBlock *body = x->loop->regions[0];
    for (int i = 0; i < body->ops.len; i++) {
        x->choice = body->ops.data[i];
        x->data = ends_data(program, x->choice);
        bool tells = x->data && ends_is_known(x->data) && aff_uses(x->data, x->loop->var);
        if (tells && !mask_turns_count(program, x->left.kernel, x->loop, x->choice)) return true;
    }
    return false;
}

/* What an expression is at most, for any block; NULL: that cannot be said. */
static const Aff *most_of_all(const Listing *x, const Aff *a)
{
    AffCtx *aff = x->left.program->aff;
    for (int i = 0; i < x->left.kernel->grid.len && a; i++) {
        const TileAxis *axis = &x->left.kernel->grid.data[i];
        a = aff_upper_over(aff, a, axis->sym, aff_const(aff, 0), aff_offset(aff, axis->extent, -1));
    }
    return a ? aff_max(aff, a, aff_const(aff, 0)) : NULL;
}

/* So many turns as no block has more of, of whose parts begin and end are not seen together: as many as there are numbers
 * of turns. */
static const Aff *most_turns(const Listing *x)
{
    const Aff *most = most_of_all(x, aff_sub(x->left.program->aff, x->loop->hi, x->loop->lo));
    return most ? most : aff_never_negative(x->loop->lo) ? most_of_all(x, x->loop->hi) : NULL;
}

/* Whether a coordinate of the grid says which rows of its outputs a block makes. */
static bool places_rows(const TileBlock *block, const AffSym *axis)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_STORE && op->row_dim >= 0 && aff_uses(op->coords[op->row_dim], axis)) return true;
    }
    return false;
}

/* Whether an element is read of which both the row and the turn decide. */
static bool reads_table(const Listing *x, const Aff *a)
{
    if (!a) return false;
    if (a->kind != AFF_AT) return reads_table(x, a->a) || reads_table(x, a->b);
    bool by_row = aff_uses(a, x->left.program->row);
    for (int i = 0; i < x->left.kernel->grid.len && !by_row; i++) {
        const AffSym *axis = x->left.kernel->grid.data[i].sym;
        by_row = aff_uses(a, axis) && places_rows(x->left.kernel->body, axis);
    }
    return by_row && aff_uses(a, x->loop->var);
}

/* What is worth to be looked at: a table, or what was asked for. */
static bool is_candidate(Listing *x)
{
    if (!find_choice(x)) return false;
    x->is_table = reads_table(x, x->data);
    return x->is_table || x->left.kernel->schedule.value[SCHED_ENDS] == SCHED_ENDS_LISTED;
}

bool listed_find(Listing *x, TileProgram *program, TileKernel *kernel, TileOp *loop)
{
    *x = (Listing){.left = {.program = program, .kernel = kernel, .loc = loop->loc}, .loop = loop};
    if (loop->var->lo < 0 || loop->until || !may_look_up(loop->regions[0], loop->var) || !is_candidate(x)) return false;
    const TileType *tile = &x->choice->results[0]->type;
    MaskTurns turns = mask_turns(program, kernel, loop);
    x->lo = turns.lo;
    x->hi = turns.hi;
    x->more = turns.more;
    x->most = most_turns(x);
    x->places = project_tile(program, ends_places(program->aff, x->choice), tile->rows, tile->cols, true);
    x->rows = cells_of(program->aff, x->data, program->row, tile->rows);
    x->cols = cells_of(program->aff, x->data, program->col, tile->cols);
    x->sharers = leave_find_axes(&x->left, (const Aff *const[]){x->data, x->places, x->lo, x->hi}, 4);
    return x->most && x->left.axes.len < TENSOR_MAX_RANK && ends_is_known(x->lo) && ends_is_known(x->hi) && ends_is_known(x->places);
}

/* ---- the kernels ahead -------------------------------------------------------------------------------------------- */

/* Turns 0 to n, which carry values; its body is still empty but for what it carries. */
static TileOp *turns_of(const Listing *x, Rewriter *rw, const char *name, const Aff *n, int carried, TileValue *const *init)
{
    TileProgram *program = x->left.program;
    TileOp *loop = rw_same_turns(rw, x->loop, carried, init);
    loop->lo = aff_const(program->aff, 0);
    loop->hi = n;
    loop->var = aff_sym_new(program->aff, name, AFF_LOOP, 0, LEAVE_MOST_TURNS);
    for (int i = 0; i < carried; i++)
        vec_push(program->arena, &loop->regions[0]->params, tile_value_new(program, rw->kernel, init[i]->type, init[i]->name));
    return loop;
}

/* In turns from the first on, so many there are. */
static const Aff *turns(const Listing *x)
{
    return aff_sub(x->left.program->aff, x->hi, x->lo);
}

static const Aff *in_turn(const Listing *x, const Aff *cond, const Aff *turn)
{
    AffCtx *aff = x->left.program->aff;
    return aff_subst(aff, cond, x->loop->var, aff_add(aff, x->lo, turn));
}

static TileTensor *places_workspace(Listing *x, const char *name, int64_t most)
{
    TileTensor *t = leave_workspace(&x->left, name, x->most);
    t->holds_places = true;
    t->most = most;
    return t;
}

/* Says of each turn whether any of its cells keeps something. A block a turn. */
static TileTensor *say_what_is_kept(Listing *x)
{
    TileProgram *program = x->left.program;
    AffCtx *aff = program->aff;
    int warps = 1;
    while (warps < MOST_WARPS && warps * WARP_CELLS < cells(x)) warps *= 2;
    const int width = warps * WARP_CELLS;
    TileTensor *kept = places_workspace(x, "kept", 1);
    TileKernel *kernel = leave_kernel(&x->left, "keeps", warps);
    const Aff *turn = aff_of(aff, rw_last_axis(program, kernel, "turn", x->most));
    Rewriter rw = {program, kernel, kernel->body, 0, x->left.loc};
    TileValue *none = rw_fill_tile(&rw, 0, 1, width);
    TileOp *loop = turns_of(x, &rw, "c", aff_const(aff, so_many(cells(x), width)), 1, &none);
    TileBlock *body = loop->regions[0];
    Rewriter in = {program, kernel, body, 0, x->left.loc};
    const Aff *cell = aff_of(aff, aff_sym_new(aff, "cell", AFF_DIM, 0, cells(x) - 1)), *cols = aff_const(aff, x->cols.n);
    const Aff *cond = in_turn(x, at_cell(x, aff_div(aff, cell, cols), aff_mod(aff, cell, cols)), turn);
    const Aff *number = aff_add(aff, aff_scale(aff, aff_of(aff, loop->var), width), aff_of(aff, program->col));
    const Aff *is_cell = aff_lt(aff, number, aff_const(aff, cells(x)));
    TileValue *keeps = leave_index(&in, aff_and(aff, is_cell, aff_subst(aff, cond, cell->sym, number)), 1, width);
    TileValue *any = rw_binary(&in, OP_MAX, body->params.data[0], keeps);
    rw_yield_all(program, kernel, body, &any, 1);
    leave(&x->left, &rw, rw_reduce_rows(&rw, OP_ROW_MAX, loop->results[0]), kept, turn);
    return kept;
}

static TileValue *sum_of_rows(Rewriter *rw, TileValue *v)
{
    TileType type = tile_type(DT_F32, 1, v->type.cols, SPACE_REGISTER);
    TileOp *sum = rw_insert(rw, TILE_REDUCE, 1, &v, 1, &type);
    sum->op = OP_COL_SUM;
    sum->axis = 0;
    return sum->results[0];
}

/* What the list says of a turn. */
static const Aff *entry_of(const Listing *x, const Aff *turn)
{
    AffCtx *aff = x->left.program->aff;
    const Aff *number = aff_add(aff, x->lo, turn);
    return tells_whole(x) ? aff_add(aff, aff_scale(aff, number, 2), in_turn(x, at_cells(x, true), turn)) : number;
}

/* In a turn of the kernel: adds the entries of turns k to those of the list that have their place in this part of it, and how many there
 * are to those before. */
static void add_turns(Listing *x, Rewriter *in, const Aff *kept, const AffSym *turn, const Aff *part, const Aff *step)
{
    const TileProgram *program = x->left.program;
    AffCtx *aff = program->aff;
    TileBlock *body = in->block;
    const Aff *first = aff_scale(aff, step, STEP), *row = aff_of(aff, program->row), *col = aff_of(aff, program->col);
    const Aff *by_row = aff_subst(aff, kept, turn, aff_add(aff, first, row)), *by_col = aff_subst(aff, kept, turn, aff_add(aff, first, col));
    TileValue *is_kept = leave_index(in, by_row, STEP, 1);
    TileValue *kept_before = leave_index(in, aff_and(aff, aff_lt(aff, col, row), by_col), STEP, STEP);
    TileValue *place = rw_binary(in, OP_ADD, rw_reduce_rows(in, OP_ROW_SUM, kept_before), body->params.data[1]);
    TileValue *here = leave_index(in, aff_add(aff, aff_scale(aff, part, STEP), col), 1, STEP);
    TileValue *entry = leave_index(in, entry_of(x, aff_add(aff, first, row)), STEP, 1);
    TileValue *is_here = rw_binary(in, OP_EQUAL, place, here), *listed = rw_binary(in, OP_MULTIPLY, entry, is_kept);
    TileValue *now[2];
    now[0] = rw_binary(in, OP_ADD, body->params.data[0], sum_of_rows(in, rw_binary(in, OP_MULTIPLY, is_here, listed)));
    now[1] = rw_binary(in, OP_ADD, body->params.data[1], sum_of_rows(in, is_kept));
    rw_yield_all(in->program, in->kernel, body, now, 2);
}

/* The list is filled part by part: each goes over all turns, and has those whose place is there. */
static void list_turns(Listing *x, const Aff *kept, const AffSym *turn, TileTensor *list, TileTensor *count)
{
    TileProgram *program = x->left.program;
    AffCtx *aff = program->aff;
    TileKernel *kernel = leave_kernel(&x->left, "listed", LIST_WARPS);
    Rewriter rw = {program, kernel, kernel->body, 0, x->left.loc};
    const Aff *steps = aff_const(aff, STEP);
    TileValue *none = rw_fill(&rw, 0);
    TileOp *parts = turns_of(x, &rw, "part", aff_ceildiv(aff, x->most, steps), 1, &none);
    Rewriter in = {program, kernel, parts->regions[0], 0, x->left.loc};
    TileValue *init[2];
    init[0] = rw_fill_tile(&in, 0, 1, STEP);
    init[1] = rw_fill(&in, 0);
    TileOp *all = turns_of(x, &in, "step", aff_ceildiv(aff, turns(x), steps), 2, init);
    Rewriter inner = {program, kernel, all->regions[0], 0, x->left.loc};
    add_turns(x, &inner, kept, turn, aff_of(aff, parts->var), aff_of(aff, all->var));
    leave(&x->left, &in, all->results[0], list, aff_scale(aff, aff_of(aff, parts->var), STEP));
    rw_yield_all(program, kernel, in.block, &all->results[1], 1);
    leave(&x->left, &rw, parts->results[0], count, NULL);
}

/* ---- the loop ------------------------------------------------------------------------------------------------------ */

/* Elements of tiles that are not kept as a whole, in place of the choice. */
static void mask_parts(Listing *x, const Aff *is_whole)
{
    TileBlock *body = x->loop->regions[0];
    Rewriter rw = {x->left.program, x->left.kernel, body, tile_index_of(body, x->choice), x->choice->loc};
    TileValue *masked = x->choice->args[1];
    double number;
    if (cells(x) > 1 && rw_number(x->choice->args[2], &number)) masked = rw_mask(&rw, masked, x->data, is_whole, number);
    tile_replace_uses(body, x->choice->results[0], masked);
    rw_remove_dead(body);
}

static void go_over(Listing *x, TileTensor *list, TileTensor *count)
{
    TileProgram *program = x->left.program;
    AffCtx *aff = program->aff;
    TileKernel *kernel = x->left.kernel;
    TileBlock *body = x->loop->regions[0];
    Rewriter rw = {program, kernel, kernel->body, tile_index_of(kernel->body, x->loop), x->left.loc};
    const AffSym *before = x->loop->var;
    x->loop->lo = aff_const(aff, 0);
    x->loop->hi = leave_read(&x->left, &rw, count, 0, LEAVE_MOST_TURNS);
    x->loop->var = aff_sym_new(aff, before->name, AFF_LOOP, 0, LEAVE_MOST_TURNS);
    const Aff *entry = tile_element(program, list, leave_coords(&x->left, list, aff_of(aff, x->loop->var))), *two = aff_const(aff, 2);
    if (tells_whole(x)) mask_parts(x, aff_eq(aff, aff_mod(aff, entry, two), aff_const(aff, 1)));
    else if (cells(x) == 1) mask_parts(x, NULL);
    rw_substitute(program, body, before, tells_whole(x) ? aff_div(aff, entry, two) : entry);
}

void listed_make(Listing *x)
{
    TileProgram *program = x->left.program;
    AffCtx *aff = program->aff;
    const AffSym *turn = aff_sym_new(aff, "turn", AFF_DIM, 0, LEAVE_MOST_TURNS); /* counted from the first */
    const Aff *kept;
    if (cells(x) <= FEW_CELLS) {
        kept = in_turn(x, at_cells(x, false), aff_of(aff, turn));
    } else {
        TileTensor *said = say_what_is_kept(x);
        kept = aff_eq(aff, tile_element(program, said, leave_coords(&x->left, said, aff_of(aff, turn))), aff_const(aff, 1));
    }
    kept = aff_and(aff, in_turn(x, x->places, aff_of(aff, turn)), kept);
    kept = aff_and(aff, aff_lt(aff, aff_of(aff, turn), turns(x)), kept);
    TileTensor *list = places_workspace(x, "list", tells_whole(x) ? 2 * LEAVE_MOST_TURNS : LEAVE_MOST_TURNS), *count = leave_workspace(&x->left, "count", NULL);
    list_turns(x, kept, turn, list, count);
    go_over(x, list, count);
    if (x->more >= 0) x->left.kernel->grid.data[x->more].reversed = true; /* blocks with more turns first (mask.c) */
}
