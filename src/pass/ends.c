/* ends.c: turns at both ends of a loop that data leaves nothing of.
 *
 * A mask that reads tensors, as ids of documents, mostly leaves a stretch of a row's keys. Which one nobody knows before
 * the launch; a kernel ahead finds it, once for all heads, and the loop runs there:
 *
 *   for t = 0:n {                                     kernel f_ends grid(m, b)
 *     %S = gemm %Q, %K.T                                least, most = of Seg[b, m * 128 + row], over all rows
 *     %1 = mask %S where t * 128 + col < len            for k = 0:ceil(n * 128 / 1024) {
 *     %3 = index Seg[b, t * 128 + col] == ...             %k = index least <= Seg[b, k * 1024 + col] and ... <= most
 *     %4 = where %3, %1, -inf                 ->          first, last = of turns that have a column of which %k is 1
 *     ...                                               }
 *   }                                                   store first, f_first[b, m]; store last + 1, f_behind[b, m]
 *                                                     kernel f
 *                                                       for t = f_first[b, m]:f_behind[b, m] { ... }
 *
 * So where a turn that keeps nothing changes nothing (mask.c), and the loop multiplies. Of what is read for each row
 * only the least and the greatest count, so that a column is looked at once, not for every row: turns may be found that
 * keep nothing after all, never too few. What is read by rows and columns together, as a table of blocks, is not looked at: turns that
 * it leaves are listed (listed.c).
 * Masks on places alone bound loops without all this (mask.c), here and there.
 */
#include "pass/decide.h"
#include "pass/ends.h"
#include "pass/listed.h"
#include "pass/passes.h"
#include "pass/project.h"
#include "pass/truth.h"

enum {
    WARPS = 8,
    COLUMNS = 1024,    /* that a turn of the kernel ahead looks at */
    MOST_READ = 4,     /* elements that a condition reads for each row */
    MOST_RANGES = MOST_READ + 1
};

/* Numbers of fp32 in place of integers are off by less than this part of themselves, which the ends of ranges are given. */
static const double WIDER = 0x1p-22;
/* The first of no turns; minus that, the one behind the last. Turns from the one to the other are a number of 32 bits, too. */
enum { FAR = LEAVE_MOST_TURNS };

/* An element that is read for each row of a tile, whatever the column. */
typedef struct Read {
    const Aff *element;
    const AffSym *sym;         /* that stands for it, */
    const AffSym *least, *most; /* and for the least and the greatest over all rows */
} Read;

typedef struct Ends {
    Leaving left;
    TileProgram *program;
    TileKernel *kernel;         /* that has the loop */
    TileOp *loop;
    const TileOp *choice;       /* where data, x, number */
    const Aff *kept;            /* columns of which a row may keep something, over `column` and the ends of what is read */
    const AffSym *column;       /* counted over all turns */
    Read reads[MOST_READ];
    int n_reads;
    TileTensor *first, *behind; /* an integer for each of their places */
} Ends;

/* ---- what a mask keeps, column by column -------------------------------------------------------------------- */

const Aff *ends_data(TileProgram *program, const TileOp *op)
{
    double number;
    if (op->kind != TILE_ELEMENT || op->op != OP_WHERE || !rw_number(op->args[2], &number)) return NULL;
    const Aff *data = truth_of(program, op->args[0]);
    return data && aff_uses_kind(data, AFF_TABLE) ? data : NULL;
}

const Aff *ends_places(AffCtx *aff, const TileOp *choice)
{
    double number = choice->args[2]->def->number;
    const Aff *places = aff_const(aff, 1);
    for (const TileOp *mask = choice->args[1]->def; mask && mask->kind == TILE_MASK && mask->number == number; mask = mask->args[0]->def)
        if (!aff_uses_kind(mask->cond, AFF_SCALAR)) places = aff_and(aff, places, mask->cond);
    return places;
}

/* Integers that fp32 numbers bound, and 32 bits hold the bounds of. */
static bool is_narrow(const TileTensor *t)
{
    return t && dtype_bytes(t->dtype) <= 4;
}

/* Gives each element that only the row decides on a symbol of its own; false: there are too many. */
static bool find_reads(Ends *e, const Aff *a)
{
    const AffSym *table;
    const Aff *coords[AFF_MAX_COORDS];
    if (a->kind != AFF_AT) return (!a->a || find_reads(e, a->a)) && (!a->b || find_reads(e, a->b));
    aff_coords(a, &table, coords);
    if (!aff_uses(a, e->program->row) || aff_uses(a, e->program->col) || aff_uses(a, e->loop->var)) return true;
    for (int i = 0; i < e->n_reads; i++)
        if (e->reads[i].element == a) return true;
    if (e->n_reads == MOST_READ || !is_narrow(tile_table_of(e->program, table))) return false;
    AffCtx *aff = e->program->aff;
    e->reads[e->n_reads++] = (Read){a, aff_sym_new(aff, table->name, AFF_DIM, INT32_MIN, INT32_MAX),
                                    aff_sym_new(aff, arena_printf(e->program->arena, "%s_least", table->name), AFF_SCALAR, INT32_MIN, INT32_MAX),
                                    aff_sym_new(aff, arena_printf(e->program->arena, "%s_most", table->name), AFF_SCALAR, INT32_MIN, INT32_MAX)};
    return true;
}

/* The condition on a tile's rows and columns as one on columns, counted over all turns, of which some row may keep something. */
static const Aff *by_columns(Ends *e, const Aff *cond)
{
    AffCtx *aff = e->program->aff;
    const Aff *column = aff_of(aff, e->column), *width = aff_const(aff, e->choice->results[0]->type.cols);
    Range ranges[MOST_RANGES] = {{e->program->row, aff_const(aff, 0), aff_const(aff, e->choice->results[0]->type.rows - 1)}};
    for (int i = 0; i < e->n_reads; i++) {
        const Read *r = &e->reads[i];
        cond = aff_replace(aff, cond, r->element, aff_of(aff, r->sym));
        ranges[1 + i] = (Range){r->sym, aff_of(aff, r->least), aff_of(aff, r->most)};
    }
    cond = aff_subst(aff, cond, e->program->col, aff_mod(aff, column, width));
    cond = aff_subst(aff, cond, e->loop->var, aff_div(aff, column, width));
    return project(&(Projection){aff, ranges, 1 + e->n_reads}, cond, true);
}

/* ---- which loops ------------------------------------------------------------------------------------------- */

bool ends_is_known(const Aff *a)
{
    return !aff_uses_kind(a, AFF_SCALAR) && !aff_uses_kind(a, AFF_WINDOW);
}

/* The first choice by data that may tell turns apart, without which a turn changes nothing. */
static bool find(Ends *e)
{
    const TileBlock *body = e->loop->regions[0];
    for (int i = 0; i < body->ops.len; i++) {
        const Aff *data = ends_data(e->program, body->ops.data[i]);
        e->choice = body->ops.data[i];
        e->n_reads = 0;
        if (!data || !ends_is_known(data) || !find_reads(e, data) || mask_turns_count(e->program, e->kernel, e->loop, e->choice)) continue;
        const Aff *kept = by_columns(e, data);
        if (!aff_uses(kept, e->column)) continue;
        e->kept = aff_and(e->program->aff, kept, by_columns(e, ends_places(e->program->aff, e->choice)));
        return true;
    }
    return false;
}

/* By how many blocks the ends are shared. */
static int64_t sharers(Ends *e)
{
    const Aff *of[MOST_READ + 3] = {e->kept, e->loop->lo, e->loop->hi};
    for (int i = 0; i < e->n_reads; i++) of[3 + i] = e->reads[i].element;
    e->left = (Leaving){.program = e->program, .kernel = e->kernel, .loc = e->loop->loc};
    return leave_find_axes(&e->left, of, 3 + e->n_reads);
}

static bool has_ends(Ends *e, TileOp *loop)
{
    e->loop = loop;
    e->column = aff_sym_new(e->program->aff, "column", AFF_DIM, 0, INT32_MAX);
    return find(e);
}

/* One that multiplies, in several turns that are known beforehand. */
static bool may_be_found(const TileOp *loop)
{
    int64_t lo, hi;
    if (loop->kind != TILE_FOR || rw_work(loop->regions[0]) == 0 || !ends_is_known(loop->lo) || !ends_is_known(loop->hi)) return false;
    return !aff_is_const(loop->lo, &lo) || !aff_is_const(loop->hi, &hi) || hi - lo >= 2;
}

/* ---- the kernel ahead ------------------------------------------------------------------------------------- */

/* A number that no integer of a row is above, though they were rounded to fp32. */
static TileValue *bound(Rewriter *rw, TileValue *v)
{
    TileValue *most = rw_reduce_rows(rw, OP_ROW_MAX, v);
    TileValue *size = rw_unary(rw, OP_ABS, most), *part = rw_fill(rw, WIDER);
    TileValue *more = rw_binary(rw, OP_MULTIPLY, size, part), *sum = rw_binary(rw, OP_ADD, most, more);
    return rw_unary(rw, OP_ROUND, sum);
}

/* The least and the greatest of an element over the rows of the block's tile, which lie along a row here, the last again and again,
 * so that all tiles of the kernel have as many columns (rows.c). */
static void find_range(Ends *e, Rewriter *rw, const Read *r)
{
    AffCtx *aff = e->program->aff;
    const Aff *last = aff_const(aff, e->choice->results[0]->type.rows - 1), *along = aff_min(aff, aff_of(aff, e->program->col), last);
    TileValue *v = leave_index(rw, aff_subst(aff, r->element, e->program->row, along), 1, COLUMNS);
    leave_scalar(rw, leave_integers(rw, bound(rw, v)), r->most);
    TileValue *negated = bound(rw, rw_unary(rw, OP_NEGATE, v));
    leave_scalar(rw, leave_integers(rw, rw_unary(rw, OP_NEGATE, negated)), r->least);
}

/* The greatest number so far, of columns that are kept. */
static TileValue *greater(Rewriter *rw, TileValue *before, TileValue *kept, const Aff *number)
{
    TileValue *at = leave_index(rw, number, 1, before->type.cols), *none = rw_fill(rw, -1.0 / 0.0), *args[] = {kept, at, none};
    TileValue *now = rw_element(rw, OP_WHERE, 3, args);
    return rw_binary(rw, OP_MAX, before, now);
}

/* Goes over all columns of all turns. Gives the greatest of minus a turn's number, and of the number behind it. */
static TileOp *find_turns(Ends *e, Rewriter *rw)
{
    AffCtx *aff = e->program->aff;
    const Aff *width = aff_const(aff, e->choice->results[0]->type.cols), *begin = aff_mul(aff, e->loop->lo, width), *end = aff_mul(aff, e->loop->hi, width);
    TileValue *none[2];
    for (int i = 0; i < 2; i++) none[i] = rw_fill_tile(rw, -1.0 / 0.0, 1, COLUMNS);
    TileOp *loop = rw_same_turns(rw, e->loop, 2, none);
    TileBlock *body = loop->regions[0];
    loop->lo = aff_const(aff, 0);
    loop->hi = aff_ceildiv(aff, aff_sub(aff, end, begin), aff_const(aff, COLUMNS));
    Rewriter in = {e->program, rw->kernel, body, 0, e->loop->loc};
    for (int i = 0; i < 2; i++)
        vec_push(e->program->arena, &body->params, tile_value_new(e->program, rw->kernel, none[i]->type, i ? "behind" : "first"));
    const Aff *column = aff_add(aff, begin, aff_add(aff, aff_scale(aff, aff_of(aff, loop->var), COLUMNS), aff_of(aff, e->program->col)));
    const Aff *kept = aff_and(aff, aff_lt(aff, column, end), aff_subst(aff, e->kept, e->column, column)), *turn = aff_div(aff, column, width);
    TileValue *keeps = leave_index(&in, kept, 1, COLUMNS);
    TileValue *now[2];
    now[0] = greater(&in, body->params.data[0], keeps, aff_scale(aff, turn, -1));
    now[1] = greater(&in, body->params.data[1], keeps, aff_offset(aff, turn, 1));
    rw_yield_all(e->program, rw->kernel, body, now, 2);
    return loop;
}

/* The greatest of all columns; -inf where there is none. */
static TileValue *last_of(Rewriter *rw, TileValue *v)
{
    TileValue *last = rw_reduce_rows(rw, OP_ROW_MAX, v), *none = rw_fill(rw, -FAR);
    return rw_binary(rw, OP_MAX, last, none);
}

static void make_kernel_ahead(Ends *e)
{
    Leaving *l = &e->left;
    TileTensor *first = leave_workspace(l, "first", NULL), *behind = leave_workspace(l, "behind", NULL);
    TileKernel *kernel = leave_kernel(l, "ends", WARPS);
    Rewriter rw = {e->program, kernel, kernel->body, 0, e->loop->loc};
    for (int i = 0; i < e->n_reads; i++) find_range(e, &rw, &e->reads[i]);
    TileOp *turns = find_turns(e, &rw);
    leave(l, &rw, rw_unary(&rw, OP_NEGATE, last_of(&rw, turns->results[0])), first, NULL);
    leave(l, &rw, last_of(&rw, turns->results[1]), behind, NULL);
    e->first = first;
    e->behind = behind;
}

/* ---- the loop ------------------------------------------------------------------------------------------------ */

static void narrow(Ends *e)
{
    Rewriter rw = {e->program, e->kernel, e->kernel->body, tile_index_of(e->kernel->body, e->loop), e->loop->loc};
    make_kernel_ahead(e);
    e->loop->lo = leave_read(&e->left, &rw, e->first, -FAR, FAR);
    e->loop->hi = leave_read(&e->left, &rw, e->behind, -FAR, FAR);
}

/* What is best for a loop, and why. */
typedef struct Best {
    SchedValue value;
    uint64_t possible;
    const char *why;
} Best;

/* A launch more is worth little where a block has rows of one place, as of a single query: nothing that its rows read, or are
 * placed by, decides, and blocks share no more than heads. */
static Best best_ends(Ends *e)
{
    int64_t shared = sharers(e);
    bool by_rows = e->n_reads > 0 || aff_uses(ends_places(e->program->aff, e->choice), e->program->row);
    bool possible = e->left.axes.len <= TENSOR_MAX_RANK, found = possible && (shared == 0 || (shared > 1 && by_rows));
    return (Best){found ? SCHED_ENDS_FOUND : SCHED_ENDS_ALL, DECIDE(SCHED_ENDS_ALL) | (possible ? DECIDE(SCHED_ENDS_FOUND) : 0),
                  found ? "its mask reads a tensor, and several blocks share what is found" : "too few blocks would share what is found"};
}

/* A table of rows and columns has holes as likely as ends; what compares a number of each row with one of each column, or with its
 * place, mostly leaves a stretch. */
static bool prefers_list(const Listing *x)
{
    enum { SHARED_BY_MANY = 8 };
    return x->is_table && (listed_is_cheap(x) || x->sharers == 0 || x->sharers >= SHARED_BY_MANY);
}

bool pass_ends(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    if (kernel->decided.value[SCHED_ENDS] != SCHED_AUTO) return true; /* seen, before a kernel was put ahead of it */
    for (int i = 0; i < kernel->body->ops.len; i++) {
        TileOp *loop = kernel->body->ops.data[i];
        Ends e = {.program = program, .kernel = kernel};
        Listing listing;
        if (!may_be_found(loop)) continue;
        bool ends = has_ends(&e, loop), list = listed_find(&listing, program, kernel, loop);
        if (!ends && !list) continue;
        Best best = ends ? best_ends(&e) : (Best){SCHED_ENDS_ALL, DECIDE(SCHED_ENDS_ALL), "first and last would tell little"};
        if (list) best.possible |= DECIDE(SCHED_ENDS_LISTED);
        if (list && prefers_list(&listing))
            best = (Best){SCHED_ENDS_LISTED, best.possible, "its mask reads a table by rows and columns, which may have holes anywhere"};
        SchedValue value = pass_decide(kernel, SCHED_ENDS, best.value, best.possible, best.why, diags);
        if (value == SCHED_ENDS_FOUND) narrow(&e);
        if (value == SCHED_ENDS_LISTED) listed_make(&listing);
        i = tile_index_of(kernel->body, loop);
    }
    return true;
}
