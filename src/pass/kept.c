/* kept.c: the greater or lesser of two indices, where a mask decides which that is.
 *
 *   %d = index max(i - j, j - i)                   %d = index i - j
 *   %x = subtract %s, ... %d                ->     %x = subtract %s, ... %d
 *   %y = mask %x where j <= i else -inf            %y = mask %x where j <= i else -inf
 *
 * Elements that are masked in the end, with nothing but arithmetic on each alone before, may
 * be anything. What is left is linear in rows and columns. An index with a sign before it is the
 * other of the two, without.
 */
#include "pass/kept.h"

#include "pass/rewrite.h"

enum { MAX_DEPTH = 12 };

typedef struct Kept {
    TileProgram *program;
    TileKernel *kernel;
    const TileType *type; /* of the index */
    const Aff *ahead;     /* by how much the one is ahead of the other: not negative wherever a mask keeps something? */
} Kept;

/* Whether the condition says that, by a conjunct 0 <= x of which ahead is one or two, and more. */
static bool keeps(const Kept *k, const Aff *cond)
{
    AffCtx *aff = k->program->aff;
    int64_t more;
    if (cond->kind == AFF_AND) return keeps(k, cond->a) || keeps(k, cond->b);
    if (cond->kind != AFF_LE) return false;
    const Aff *x = aff_sub(aff, cond->b, cond->a);
    for (int by = 1; by <= 2; by++)
        if (aff_is_const(aff_sub(aff, k->ahead, aff_scale(aff, x, by)), &more) && more >= 0) return true;
    return false;
}

/* Whether all that is made of v is masked, and the masks keep no element where the one is behind. */
static bool is_masked(const Kept *k, const TileValue *v, int depth)
{
    Uses uses = rw_uses(k->program->arena, k->kernel->body, v);
    if (depth > MAX_DEPTH || uses.len == 0) return false;
    for (int i = 0; i < uses.len; i++) {
        const TileOp *op = uses.data[i];
        if (op->kind == TILE_MASK && keeps(k, op->cond)) continue;
        if (op->kind != TILE_ELEMENT && op->kind != TILE_MASK) return false;
        const TileType *made = &op->results[0]->type;
        if (made->rows != k->type->rows || made->cols != k->type->cols) return false;
        if (!is_masked(k, op->results[0], depth + 1)) return false;
    }
    return true;
}

static void settle_index(TileProgram *program, TileKernel *kernel, TileOp *op)
{
    const Aff *either[] = {op->index->a, op->index->b};
    for (int i = 0; i < 2; i++) {
        const Aff *greater = either[op->index->kind == AFF_MAX ? i : 1 - i], *lesser = either[op->index->kind == AFF_MAX ? 1 - i : i];
        Kept k = {program, kernel, &op->results[0]->type, aff_sub(program->aff, greater, lesser)};
        if (!is_masked(&k, op->results[0], 0)) continue;
        op->index = either[i];
        return;
    }
}

/* -max(x, y) is min(-x, -y), and the other way round. */
static const Aff *without_sign(AffCtx *aff, const Aff *a)
{
    const Aff *x = a->kind == AFF_MUL ? aff_scale(aff, a, -1) : a;
    if (x == a || (x->kind != AFF_MAX && x->kind != AFF_MIN)) return a;
    const Aff *first = aff_scale(aff, x->a, -1), *second = aff_scale(aff, x->b, -1);
    return x->kind == AFF_MAX ? aff_min(aff, first, second) : aff_max(aff, first, second);
}

static void settle_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) settle_block(program, kernel, op->regions[r]);
        if (op->kind == TILE_INDEX) op->index = without_sign(program->aff, op->index);
        if (op->kind == TILE_INDEX && (op->index->kind == AFF_MAX || op->index->kind == AFF_MIN)) settle_index(program, kernel, op);
    }
}

void kept_indices(TileProgram *program, TileKernel *kernel)
{
    settle_block(program, kernel, kernel->body);
}
