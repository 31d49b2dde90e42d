/* exec_pending.c: matrix products in flight, and values that are revised.
 *
 * A product reads its operands and writes its result at some moment, drawn at
 * random, between its ISSUE and the FINISH that covers it; those of one thread
 * are made in order. A rule is broken by what might have happened, not by what
 * did: until the FINISH the operands may not change, and nothing may look at
 * the result, whether the product has been made or not.
 *
 * REVISE is a branch that each warp takes or not for its own rows, so what a
 * region of it has waited for, the warp beside it has not: behind the region
 * everything is as pending as it was before it.
 */
#include "tile/exec.h"

/* ---- products --------------------------------------------------------------------- */

static const ExecTile *tile_of(const ExecSlot *slot)
{
    return slot->stage ? &slot->stage->tile : slot->tile;
}

static void multiply(Exec *x, ExecProduct *p)
{
    const ExecTile *acc = p->op->n_args > 2 ? tile_of(&p->args[2]) : NULL;
    exec_gemm(x, p->op, tile_of(&p->args[0]), tile_of(&p->args[1]), acc, p->result);
    exec_round(p->op->results[0]->type.dtype, p->result);
    p->computed = true;
}

static void multiply_until(Exec *x, ExecThread *t, int64_t last)
{
    for (int i = 0; i < t->products.len && t->products.data[i].number <= last; i++)
        if (!t->products.data[i].computed)
            multiply(x, &t->products.data[i]);
}

void exec_multiply_some(Exec *x)
{
    int n = x->n_roles ? rng_below(&x->rng, x->n_roles) : 0;
    ExecThread *t = x->n_roles ? x->roles[n] : &x->main;
    for (int i = 0; i < t->products.len; i++)
        if (!t->products.data[i].computed) {
            if (rng_below(&x->rng, 4) == 0)
                multiply(x, &t->products.data[i]);
            return;
        }
}

/* Gives up what finished products held. */
static void forget_finished(Exec *x, ExecThread *t)
{
    int kept = 0;
    for (int i = 0; i < t->products.len; i++) {
        ExecProduct *p = &t->products.data[i];
        if (p->number > t->finished) {
            t->products.data[kept++] = *p;
            continue;
        }
        for (int k = 0; k < p->op->n_args; k++)
            exec_drop(x, p->args[k].tile);
        exec_drop(x, p->result);
    }
    t->products.len = kept;
}

const ExecProduct *exec_reader_of(const ExecThread *t, const ExecStage *stage)
{
    for (int i = 0; i < t->products.len; i++) {
        const ExecProduct *p = &t->products.data[i];
        if (p->number > t->finished && (p->args[0].stage == stage || p->args[1].stage == stage))
            return p;
    }
    return NULL;
}

bool exec_none_pending(Exec *x, const ExecThread *t)
{
    if (t->finished == t->issued)
        return true;
    const ExecProduct *p = &t->products.data[t->products.len - 1];
    return exec_fail(x, "the product `%s` is still pending at the end",
                     tile_op_line(x->error_arena, x->program, x->kernel, p->op));
}

/* What another product adds to is in its registers now, and no longer this value. */
static bool is_own(Exec *x, const TileValue *value, const ExecSlot *slot)
{
    if (!slot->gone && !slot->tile)
        return exec_fail(x, "uses a value that was never computed");
    return !(slot->gone || (value->type.pending && slot->tile->passed_on)) ||
           exec_fail(x, "uses a value that is in another product's registers by now");
}

bool exec_issue(Exec *x, const TileOp *op)
{
    ExecThread *t = x->thread;
    ExecProduct p = {.op = op, .number = t->issued + 1};
    for (int i = 0; i < op->n_args; i++) {
        p.args[i] = *exec_slot(x, op, i);
        if (p.args[i].stage ? !exec_read_stage(x, &p.args[i]) : !is_own(x, op->args[i], &p.args[i]))
            return false;
        if (p.args[i].tile)
            p.args[i].tile->refs++;
    }
    if (op->n_args > 2 && op->args[2]->type.pending)
        p.args[2].tile->passed_on = true;
    p.result = exec_new_tile(x, op->results[0]->type.rows, op->results[0]->type.cols);
    p.result->refs++;
    p.result->product = p.number;
    t->issued++;
    exec_bind(x, op->results[0], (ExecSlot){.tile = p.result});
    vec_push(x->arena, &t->products, p);
    return true;
}

bool exec_finish(Exec *x, const TileOp *op)
{
    ExecThread *t = x->thread;
    ExecTile *a = exec_slot(x, op, 0)->tile;
    if (!a)
        return exec_fail(x, "uses a value that was never computed");
    if (t->issued - op->count > t->finished)
        t->finished = t->issued - op->count;
    if (a->product > t->finished)
        return exec_fail(x, "leaves the product of %%%s pending", op->args[0]->name ? op->args[0]->name : "it");
    multiply_until(x, t, t->finished);
    if (!t->revising)
        forget_finished(x, t);
    bool gone = op->args[0]->type.pending && a->passed_on; /* waiting for it is all that is left */
    exec_bind(x, op->results[0], gone ? (ExecSlot){.gone = true} : (ExecSlot){.tile = a});
    return true;
}

/* ---- values that are revised ---------------------------------------------------------- */

/* Rows of which a warp holds all. */
static int group_rows(const Exec *x, const ExecTile *cond)
{
    int warps = x->thread->role ? x->thread->role->warps : tile_warps(x->kernel);
    int groups = warps / x->kernel->warps_n;
    return groups > 1 ? cond->rows / groups : cond->rows;
}

/* Whether all warps execute the region, whatever their elements are. */
static bool for_all(Exec *x, const TileOp *op)
{
    int64_t idle = 1;
    return op->unless && (!exec_eval(x, op->unless, &idle) || !idle);
}

/* NaN counts as large: what cannot be trusted is computed the careful way. */
static bool is_large(Exec *x, const TileOp *op, const ExecTile *cond, int row0, int rows)
{
    if (for_all(x, op)) return true;
    size_t n = (size_t)rows * (size_t)cond->cols;
    const float *at = cond->at + (size_t)row0 * (size_t)cond->cols;
    for (size_t i = 0; i < n; i++)
        if (!((double)at[i] < op->number))
            return true;
    return false;
}

bool exec_is_revised(Exec *x, const TileOp *op)
{
    const ExecTile *cond = exec_slot(x, op, op->n_args - 1)->tile;
    for (int i = 0; i < op->n_args; i++)
        if (!is_own(x, op->args[i], exec_slot(x, op, i)))
            return false;
    return is_large(x, op, cond, 0, cond->rows);
}

void exec_start_revise(Exec *x, ExecFrame *frame)
{
    frame->finished = x->thread->finished;
    x->thread->revising++;
}

/* Rows of groups with a large element from `region`, all others from `before`. */
static ExecTile *merge(Exec *x, const TileOp *op, const ExecTile *before, const ExecTile *region)
{
    const ExecTile *cond = exec_slot(x, op, op->n_args - 1)->tile;
    ExecTile *r = exec_new_tile(x, before->rows, before->cols);
    int rows = group_rows(x, cond);
    size_t n = (size_t)rows * (size_t)r->cols;
    for (int row = 0; row < r->rows; row += rows) {
        size_t at = (size_t)row * (size_t)r->cols;
        memcpy(r->at + at, (is_large(x, op, cond, row, rows) ? region : before)->at + at, sizeof(float) * n);
    }
    r->product = before->product > region->product ? before->product : region->product;
    return r;
}

void exec_end_revise(Exec *x, const ExecFrame *frame, const TileOp *yield)
{
    const TileOp *op = frame->op;
    ExecThread *t = x->thread;
    for (int i = 0; i < op->n_results; i++) {
        const ExecTile *before = exec_slot(x, op, i)->tile, *region = exec_slot(x, yield, i)->tile;
        multiply_until(x, t, before->product > region->product ? before->product : region->product);
        exec_bind(x, op->results[i], (ExecSlot){.tile = merge(x, op, before, region)});
    }
    t->finished = frame->finished;
    t->revising--;
}
