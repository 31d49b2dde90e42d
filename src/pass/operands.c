/* operands.c: first operands of products that stay in registers.
 *
 *   %q = load Q[…] : shared bf16<128x64>       %q = load Q[…] : shared bf16<128x64>
 *   for … { %s = gemm %q, %k.T }          ->   %r = move %q : bf16<128x64>
 *                                              for … { %s = gemm %r, %k.T }
 *
 * A tile that no loop streams and that is nothing but a first operand may be read before the loop, as the
 * fragments that tensor cores take. Products then read half as much from shared memory, or a third less, and it may be
 * filled for the next place of the grid; but a lane holds it as long as the loop runs.
 */
#include "pass/operands.h"

#include "pass/decide.h"

enum { MOST_WORDS = 64 }; /* that a lane may hold of such tiles: a quarter of its registers */

/* Words of it that a lane holds: each warp has its own rows of it. */
static int words_of(const TileKernel *kernel, const TileType *t)
{
    enum { LANES = 32 };
    return t->rows * t->cols * dtype_bytes(t->dtype) / ((int)sizeof(uint32_t) * tile_warps(kernel) * LANES);
}

static bool is_first_operand(const TileProgram *program, const TileKernel *kernel, const TileValue *v)
{
    bool in_loop = false;
    Uses uses = rw_uses(program->arena, kernel->body, v);
    for (int i = 0; i < uses.len; i++) {
        const TileOp *op = uses.data[i];
        if (op->kind != TILE_GEMM || op->trans_a || op->args[0] != v || op->args[1] == v) return false;
        in_loop |= tile_index_of(kernel->body, op) < 0;
    }
    return in_loop;
}

static bool may_move(const TileProgram *program, const TileKernel *kernel, const TileOp *op)
{
    if (op->kind != TILE_LOAD || op->results[0]->type.space != SPACE_SHARED || kernel->warps_n > 1) return false;
    return words_of(kernel, &op->results[0]->type) <= MOST_WORDS && is_first_operand(program, kernel, op->results[0]);
}

static void move(TileProgram *program, TileKernel *kernel, const TileOp *load, int at)
{
    TileValue *shared = load->results[0];
    TileType type = shared->type;
    type.space = SPACE_REGISTER;
    Rewriter rw = {program, kernel, kernel->body, at, load->loc};
    TileOp *op = rw_insert(&rw, TILE_MOVE, 1, &shared, 1, &type);
    op->results[0]->name = shared->name;
    tile_replace_uses(kernel->body, shared, op->results[0]);
    op->args[0] = shared;
}

void operands_to_registers(TileProgram *program, TileKernel *kernel, Diags *diags)
{
    uint64_t either = DECIDE(SCHED_OPERANDS_SHARED) | DECIDE(SCHED_OPERANDS_REGISTERS);
    int words = 0;
    for (int i = 0; i < kernel->body->ops.len; i++) {
        TileOp *op = kernel->body->ops.data[i];
        if (!may_move(program, kernel, op)) continue;
        SchedValue value = pass_decide(kernel, SCHED_OPERANDS, SCHED_OPERANDS_SHARED, either, "registers stay free", diags);
        words += words_of(kernel, &op->results[0]->type);
        if (value != SCHED_OPERANDS_REGISTERS || words > MOST_WORDS) continue;
        move(program, kernel, op, i + 1);
    }
}
