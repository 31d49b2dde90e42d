/* conditions.c: choices that a condition on places makes are masks.
 *
 * Who writes a mask as a tensor to add, or as a choice between numbers, means no other than one who writes Mask:
 *
 *   %c = index j * 64 + col <= m * 64 + row
 *   %b = where %c, 0, -inf                            %t = mask %s where j * 64 + col <= m * 64 + row else -inf
 *   %t = add %s, %b                            ->
 *
 *   %t = where %c, %s, 0                              %t = mask %s where j * 64 + col <= m * 64 + row else 0
 *   %t = multiply %s, %c
 *
 * In loops with products, where it says which turns count for nothing (mask.c). What is finite makes -inf no less by being
 * added to it, and 0 no more by being multiplied with it.
 */
#include "pass/conditions.h"
#include "pass/rewrite.h"

#include <math.h>

typedef struct Choice {
    const Aff *keeps; /* where the condition holds, */
    TileValue *kept;  /* this; */
    double otherwise; /* elsewhere a number */
} Choice;

/* The condition on places that a value is 1 or 0 for; NULL: it is none. */
static const Aff *condition_of(const TileValue *v)
{
    if (!v->def || v->def->kind != TILE_INDEX || aff_uses_kind(v->def->index, AFF_TABLE)) return NULL;
    return aff_is_condition(v->def->index) ? v->def->index : NULL;
}

/* A choice between something and a number: `wanted`, if that is one of two. */
static bool is_choice(AffCtx *aff, const TileOp *op, double wanted, Choice *c)
{
    double first = 0, second = 0;
    const Aff *condition = op && op->kind == TILE_ELEMENT && op->op == OP_WHERE ? condition_of(op->args[0]) : NULL;
    if (!condition) return false;
    bool number = rw_number(op->args[1], &first), other = rw_number(op->args[2], &second);
    if (!number && !other) return false;
    if (other && !(number && first == wanted)) *c = (Choice){condition, op->args[1], second};
    else *c = (Choice){aff_not(aff, condition), op->args[2], first};
    return true;
}

static TileValue *mask(Rewriter *rw, TileValue *v, const Choice *c)
{
    return rw_mask(rw, v, c->keeps, NULL, c->otherwise);
}

/* A condition by itself is 1 where it holds, else 0. */
static bool is_part(Rewriter *rw, const TileValue *v, double wanted, Choice *c)
{
    const Aff *condition = condition_of(v);
    if (condition) *c = (Choice){condition, NULL, 0};
    return condition || is_choice(rw->program->aff, v->def, wanted, c);
}

/* What is added is -inf where the choice says, once, or what is multiplied with 0. */
static TileValue *masked_sum(Rewriter *rw, const TileOp *op)
{
    bool adds = op->kind == TILE_ELEMENT && op->op == OP_ADD, scales = op->kind == TILE_ELEMENT && op->op == OP_MULTIPLY;
    for (int k = 0; k < 2 && (adds || scales); k++) {
        TileValue *v = op->args[!k], *by = op->args[k];
        double number = scales, nothing = scales, wanted = adds ? -INFINITY : 0;
        Choice c;
        if (!is_part(rw, by, wanted, &c) || c.otherwise != wanted || tile_count_uses(rw->kernel->body, by) != 1) continue;
        if ((adds && !c.kept) || !tile_type_equal(v->type, op->results[0]->type)) continue;
        bool changes = c.kept && (!rw_number(c.kept, &number) || number != nothing);
        return mask(rw, changes ? rw_binary(rw, op->op, v, c.kept) : v, &c);
    }
    return NULL;
}

static TileValue *masked_choice(Rewriter *rw, const TileOp *where)
{
    Choice c;
    if (!is_choice(rw->program->aff, where, -INFINITY, &c) || !tile_type_equal(c.kept->type, where->results[0]->type)) return NULL;
    return c.kept->type.rows > 1 && c.kept->type.cols > 1 ? mask(rw, c.kept, &c) : NULL;
}

static void rewrite(TileProgram *program, TileKernel *kernel, TileBlock *body, TileValue *(*masked)(Rewriter *rw, const TileOp *op))
{
    for (int i = 0; i < body->ops.len; i++) {
        TileOp *op = body->ops.data[i];
        Rewriter rw = {program, kernel, body, i, op->loc};
        TileValue *made = masked(&rw, op);
        if (!made) continue;
        rw_stand_for(kernel->body, op->results[0], made);
        rw_remove(body, op);
        i = rw.at - 1;
    }
}

void conditions_to_masks(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) conditions_to_masks(program, kernel, op->regions[r]);
        if (op->kind != TILE_FOR || rw_work(op->regions[0]) == 0) continue;
        rewrite(program, kernel, op->regions[0], masked_sum); /* what is added before it is a mask of its own */
        rewrite(program, kernel, op->regions[0], masked_choice);
    }
}
