/* operand.c: what an operand of a Compute statement stands for. */
#include "lower/state.h"

static TileValue *move_to_register(Lower *lo, Local *local)
{
    TileType type = local->shared->type;
    if (local->in_register) {
        type.rows = local->reg_type.rows;
        type.cols = local->reg_type.cols;
    }
    type.space = SPACE_REGISTER;
    TileValue *from = local->shared;
    TileValue *to = rw_insert(&lo->rw, TILE_MOVE, 1, &from, 1, &type)->results[0];
    to->name = local->name;
    return to;
}

static TileValue *value_of_local(Lower *lo, const Expr *e, Local *local)
{
    if (local->reg) return local->reg;
    if (local->shared) return move_to_register(lo, local);
    lo_fail(lo, TW0716, e->span, "'%s' is used before it has a value", local->name);
    return rw_fill(&lo->rw, 0);
}

static bool is_param(const Lower *lo, const char *name)
{
    for (int i = 0; i < lo->program->params.len; i++)
        if (strcmp(lo->program->params.data[i], name) == 0) return true;
    return false;
}

static TileValue *param_value(Lower *lo, const char *name)
{
    TileType type = tile_type(DT_F32, 1, 1, SPACE_REGISTER);
    TileOp *op = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type);
    op->param = name;
    return op->results[0];
}

/* An integer that is not known when compiling, as a number. */
static TileValue *index_value(Lower *lo, const Aff *e)
{
    TileType type = tile_type(DT_F32, 1, 1, SPACE_REGISTER);
    TileOp *op = rw_insert(&lo->rw, TILE_INDEX, 0, NULL, 1, &type);
    op->index = e;
    return op->results[0];
}

TileValue *lo_operand(Lower *lo, const Expr *e)
{
    double number;
    if (e->kind == EXPR_SPACE && e->a->kind == EXPR_NAME && e->space == SPACE_REGISTER) e = e->a;
    if (e->kind == EXPR_NAME) {
        Local *local = lo_local(lo, e->name);
        if (local && (local->reg || local->shared || local->in_register || local->in_shared))
            return value_of_local(lo, e, local);
        if (is_param(lo, e->name)) return param_value(lo, e->name);
    }
    if (eval_float(&lo->env, e, &number)) return rw_fill(&lo->rw, number);
    const Aff *integer = eval_aff(&lo->env, e, lo->diags);
    if (integer) return index_value(lo, integer);
    lo->failed = true;
    return rw_fill(&lo->rw, 0);
}

/* The tensor cores take an operand from either space; a register copy is the
 * newer one where both exist. */
TileValue *lo_gemm_operand(Lower *lo, const Expr *e, bool *transposed)
{
    *transposed = e->kind == EXPR_TRANSPOSE;
    if (*transposed) e = e->a;
    Space wanted = SPACE_NONE;
    if (e->kind == EXPR_SPACE) {
        wanted = e->space;
        e = e->a;
    }
    Local *local = e->kind == EXPR_NAME ? lo_local(lo, e->name) : NULL;
    if (!local) {
        lo_fail(lo, TW0717, e->span, "a GEMM operand must be a tile that was copied or computed");
        return rw_fill(&lo->rw, 0);
    }
    if (local->shared && (wanted == SPACE_SHARED || !local->reg)) return local->shared;
    if (local->reg && wanted != SPACE_SHARED) return local->reg;
    lo_fail(lo, TW0716, e->span, "'%s' is used before it has a value", local->name);
    return rw_fill(&lo->rw, 0);
}
