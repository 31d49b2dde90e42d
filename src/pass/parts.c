/* parts.c: sums of rows that are carried round a loop in parts.
 *
 *   %L = for ... carry (%l = %l0) {              R x 1
 *     %a = multiply %l, %alpha
 *     %b = rowsum %p along columns
 *     %c = add %a, %b
 *     yield %c }
 * becomes
 *   %s = for ... carry (%l = %l0 / 8 ...) {      R x 8: column c sums columns c, c + 8, c + 16, ...
 *     the same
 *   }
 *   %L = rowsum %s along columns
 *
 * The lanes that share a row then exchange their sums once, and not in every turn.
 * It holds for any value that is only multiplied by columns and added sums of rows, also
 * where revised values stand between.
 *
 * And sums of operands, of 16 bits, in two steps:
 *
 *   %f = rowsum %p along columns : bf16<R x C/4>    four at a time, rounded
 *   %b = rowsum %f along columns
 *
 * An instruction adds two pairs of them, which is less work than to sum what they were rounded from.
 * Those that are added up lie half a tile and a quarter apart, where most rows have but one that counts;
 * and of many the roundings cancel.
 */
#include "pass/parts.h"

#include "pass/rewrite.h"

typedef struct Parting {
    const TileOp *loop;
    int k;
    bool *parted; /* by value id */
    bool changed, failed;
} Parting;

static bool is_column(const TileValue *v)
{
    return v->type.kind == TT_TILE && v->type.cols == 1;
}

static void part(Parting *p, const TileValue *v)
{
    if (p->parted[v->id]) return;
    p->parted[v->id] = p->changed = true;
    p->failed |= !is_column(v) || v->type.rows == 1 || v->type.dtype != DT_F32;
}

static bool touches(const Parting *p, const TileOp *op)
{
    for (int i = 0; i < op->n_args; i++)
        if (p->parted[op->args[i]->id]) return true;
    for (int i = 0; i < op->n_results; i++)
        if (p->parted[op->results[i]->id]) return true;
    return false;
}

/* A factor is a column or a number, and whole. */
static void part_product(Parting *p, const TileOp *op)
{
    bool first = p->parted[op->args[0]->id], second = p->parted[op->args[1]->id];
    p->failed |= first == second || !is_column(op->args[first]);
    part(p, op->results[0]);
}

static void part_all(Parting *p, const TileOp *op)
{
    for (int i = 0; i < op->n_args; i++) part(p, op->args[i]);
    part(p, op->results[0]);
}

static void part_element(Parting *p, const TileOp *op)
{
    if (op->op == OP_MULTIPLY) part_product(p, op);
    else if (op->op == OP_ADD) part_all(p, op);
    else p->failed = true;
}

static void part_sum(Parting *p, const TileOp *op)
{
    p->failed |= p->parted[op->args[0]->id] || op->op != OP_ROW_SUM || op->axis != 1 || op->n_args != 1
                 || op->args[0]->type.cols % PARTS != 0;
}

/* A revised value, what it was and what it becomes are of one kind. */
static void part_revised(Parting *p, const TileOp *op)
{
    const TileBlock *region = op->regions[0];
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    p->failed |= p->parted[op->args[op->n_results]->id];
    for (int i = 0; i < op->n_results; i++) {
        if (!p->parted[op->args[i]->id] && !p->parted[op->results[i]->id] && !p->parted[yield->args[i]->id]) continue;
        part(p, op->args[i]);
        part(p, op->results[i]);
        part(p, yield->args[i]);
    }
}

static void part_yielded(Parting *p, const TileOp *yield, const TileOp *owner)
{
    for (int i = 0; i < yield->n_args; i++)
        if (p->parted[yield->args[i]->id]) p->failed |= owner->kind != TILE_REVISE && (owner != p->loop || i != p->k);
    if (owner == p->loop) part(p, yield->args[p->k]);
}

static void part_op(Parting *p, const TileOp *op, const TileOp *owner);

static void part_block(Parting *p, const TileBlock *block, const TileOp *owner)
{
    for (int i = 0; i < block->ops.len && !p->failed; i++) part_op(p, block->ops.data[i], owner);
}

static void part_op(Parting *p, const TileOp *op, const TileOp *owner)
{
    if (op->kind == TILE_YIELD) part_yielded(p, op, owner);
    else if (op->kind == TILE_REVISE) part_revised(p, op);
    else if (touches(p, op) && op->kind == TILE_ELEMENT) part_element(p, op);
    else if (touches(p, op) && op->kind == TILE_REDUCE) part_sum(p, op);
    else p->failed |= touches(p, op);
    for (int r = 0; r < op->n_regions; r++) part_block(p, op->regions[r], op);
}

static void widen(const Parting *p, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++)
            if (p->parted[op->results[k]->id]) op->results[k]->type.cols = PARTS;
        for (int r = 0; r < op->n_regions; r++) widen(p, op->regions[r]);
    }
}

/* Parts that add up to v: each an eighth of it. */
static TileValue *divided(Rewriter *rw, TileValue *v)
{
    double number;
    int rows = v->type.rows;
    if (rw_number(v, &number)) return rw_fill_tile(rw, number / PARTS, rows, PARTS);
    TileValue *part = rw_binary(rw, OP_MULTIPLY, v, rw_fill(rw, 1.0 / PARTS));
    return rw_binary(rw, OP_ADD, rw_fill_tile(rw, 0, rows, PARTS), part);
}

TileValue *parts_fold(Rewriter *rw, TileValue *p)
{
    enum { AT_ONCE = 4, ATOM = 16 }; /* an operand is as many columns wide at least, PTX ISA, mma.m16n8k16 */
    int cols = p->type.cols, by = dtype_bytes(p->type.dtype) == 2 ? AT_ONCE : 1;
    while (by > 1 && cols % (by * ATOM)) by /= 2;
    if (by == 1) return rw_reduce_rows(rw, OP_ROW_SUM, p);
    TileValue *folded = rw_reduce_rows(rw, OP_ROW_SUM, p);
    folded->type = p->type;
    folded->type.cols = cols / by;
    return rw_reduce_rows(rw, OP_ROW_SUM, folded);
}

bool parts_carry(TileProgram *program, TileKernel *kernel, TileOp *loop, int k)
{
    TileBlock *body = loop->regions[0];
    Parting p = {.loop = loop, .k = k, .parted = arena_array(program->arena, bool, kernel->next_value)};
    part(&p, body->params.data[k]);
    while (p.changed && !p.failed) {
        p.changed = false;
        part_block(&p, body, loop);
    }
    if (p.failed) return false;
    widen(&p, body);
    parts_of(body->params.data[k]);
    parts_close(program, kernel, loop, k);
    return true;
}

TileValue *parts_of(TileValue *sum)
{
    sum->type.cols = PARTS;
    return sum;
}

void parts_close(TileProgram *program, TileKernel *kernel, TileOp *loop, int k)
{
    Rewriter rw = {.program = program, .kernel = kernel, .loc = loop->loc};
    rw.block = rw_block_of(kernel->body, loop, &rw.at);
    loop->args[k] = divided(&rw, loop->args[k]);
    TileValue *whole = loop->results[k], *parts = rw_renew(&rw, loop, k);
    parts_of(parts);
    rw.at++;
    rw_serve(whole, rw_reduce_rows(&rw, OP_ROW_SUM, parts));
}
