/* rewrite.c: small tools that passes share. */
#include "pass/rewrite.h"

TileOp *rw_insert(Rewriter *rw, TileOpKind kind, int n_args, TileValue *const *args, int n_results,
                  const TileType *types)
{
    TileOp *op = tile_op_new(rw->program, rw->kernel, kind, n_args, args, n_results, types);
    op->loc = rw->loc;
    tile_insert(rw->program, rw->block, rw->at++, op);
    return op;
}

TileValue *rw_fill(Rewriter *rw, double number)
{
    return rw_fill_tile(rw, number, 1, 1);
}

TileValue *rw_fill_tile(Rewriter *rw, double number, int rows, int cols)
{
    TileType type = tile_type(DT_F32, rows, cols, SPACE_REGISTER);
    TileOp *op = rw_insert(rw, TILE_FILL, 0, NULL, 1, &type);
    op->number = number;
    return op->results[0];
}

TileValue *rw_element(Rewriter *rw, OpId id, int n_args, TileValue *const *args)
{
    TileType type = tile_type(DT_F32, 1, 1, SPACE_REGISTER);
    for (int i = 0; i < n_args; i++) {
        if (args[i]->type.rows > type.rows) type.rows = args[i]->type.rows;
        if (args[i]->type.cols > type.cols) type.cols = args[i]->type.cols;
    }
    TileOp *op = rw_insert(rw, TILE_ELEMENT, n_args, args, 1, &type);
    op->op = id;
    return op->results[0];
}

TileValue *rw_unary(Rewriter *rw, OpId op, TileValue *a)
{
    return rw_element(rw, op, 1, &a);
}

TileValue *rw_binary(Rewriter *rw, OpId op, TileValue *a, TileValue *b)
{
    TileValue *args[] = {a, b};
    return rw_element(rw, op, 2, args);
}

TileValue *rw_mask(Rewriter *rw, TileValue *v, const Aff *cond, const Aff *unless, double number)
{
    TileOp *op = rw_insert(rw, TILE_MASK, 1, &v, 1, &v->type);
    op->cond = cond;
    op->unless = unless;
    op->number = number;
    return op->results[0];
}

TileValue *rw_reduce_rows(Rewriter *rw, OpId id, TileValue *a)
{
    TileType type = tile_type(DT_F32, a->type.rows, 1, SPACE_REGISTER);
    TileOp *op = rw_insert(rw, TILE_REDUCE, 1, &a, 1, &type);
    op->op = id;
    op->axis = 1;
    return op->results[0];
}

bool rw_number(const TileValue *v, double *number)
{
    if (!v->def || v->def->kind != TILE_FILL || v->def->param) return false;
    *number = v->def->number;
    return true;
}

int64_t rw_work(const TileBlock *block)
{
    int64_t n = 0;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind != TILE_GEMM) continue;
        TileType a = op->args[0]->type, d = op->results[0]->type;
        n += (int64_t)d.rows * d.cols * (op->trans_a ? a.rows : a.cols);
    }
    return n;
}

void rw_stand_for(TileBlock *scope, TileValue *old, TileValue *new)
{
    if (!new->name) new->name = old->name;
    tile_replace_uses(scope, old, new);
}

void rw_give(TileBlock *scope, const TileOp *op, TileValue *const *values)
{
    for (int i = 0; i < op->n_results; i++) rw_stand_for(scope, op->results[i], values[i]);
}

void rw_remove(TileBlock *block, const TileOp *op)
{
    tile_remove(block, tile_index_of(block, op));
}

void rw_inline(TileProgram *program, TileBlock *scope, TileBlock *block, int at)
{
    const TileOp *op = block->ops.data[at];
    const TileBlock *region = op->regions[0];
    int n = region->ops.len - 1;
    rw_give(scope, op, region->ops.data[n]->args);
    tile_remove(block, at);
    for (int i = 0; i < n; i++) tile_insert(program, block, at + i, region->ops.data[i]);
}

static void add_uses(Arena *arena, const TileBlock *block, const TileValue *v, Uses *uses)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            if (op->args[k] == v) {
                vec_push(arena, uses, op);
                break;
            }
        for (int r = 0; r < op->n_regions; r++) add_uses(arena, op->regions[r], v, uses);
    }
}

Uses rw_uses(Arena *arena, const TileBlock *block, const TileValue *v)
{
    Uses uses = {0};
    add_uses(arena, block, v, &uses);
    return uses;
}

TileBlock *rw_block_of(TileBlock *block, const TileOp *op, int *at)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *o = block->ops.data[i];
        *at = i;
        if (o == op) return block;
        for (int r = 0; r < o->n_regions; r++) {
            TileBlock *inner = rw_block_of(o->regions[r], op, at);
            if (inner) return inner;
        }
    }
    return NULL;
}

static TileValue **one_more(TileProgram *program, TileValue *const *values, int n, TileValue *last)
{
    TileValue **more = arena_array(program->arena, TileValue *, n + 1);
    for (int i = 0; i < n; i++) more[i] = values[i];
    more[n] = last;
    return more;
}

TileValue *rw_carry(TileProgram *program, TileKernel *kernel, TileOp *loop, TileValue *init)
{
    TileValue *param = tile_value_new(program, kernel, init->type, init->name);
    TileValue *result = tile_value_new(program, kernel, init->type, init->name);
    result->def = loop;
    loop->args = one_more(program, loop->args, loop->n_args++, init);
    loop->results = one_more(program, loop->results, loop->n_results++, result);
    vec_push(program->arena, &loop->regions[0]->params, param);
    return param;
}

TileValue *rw_result(TileProgram *program, TileKernel *kernel, TileOp *op, TileType type)
{
    TileValue *result = tile_value_new(program, kernel, type, NULL);
    result->def = op;
    op->results = one_more(program, op->results, op->n_results++, result);
    return result;
}

void rw_yield(TileProgram *program, TileBlock *region, TileValue *value)
{
    TileOp *yield = region->ops.data[region->ops.len - 1];
    yield->args = one_more(program, yield->args, yield->n_args++, value);
}

static void drop(TileValue **values, int *n, int i)
{
    (*n)--;
    for (; i < *n; i++) values[i] = values[i + 1];
}

void rw_carry_less(TileOp *loop, int i)
{
    TileBlock *body = loop->regions[0];
    TileOp *yield = body->ops.data[body->ops.len - 1];
    drop(loop->args, &loop->n_args, i);
    drop(loop->results, &loop->n_results, i);
    drop(body->params.data, &body->params.len, i);
    drop(yield->args, &yield->n_args, i);
}

void rw_drop_unused(TileBlock *body, TileOp *branch, const TileValue *result)
{
    int at = 0;
    if (tile_used_in(body, 0, body->ops.len, result)) return;
    while (at < branch->n_results && branch->results[at] != result) at++;
    if (at == branch->n_results) return;
    drop(branch->results, &branch->n_results, at);
    for (int r = 0; r < branch->n_regions; r++) {
        TileOp *yield = branch->regions[r]->ops.data[branch->regions[r]->ops.len - 1];
        drop(yield->args, &yield->n_args, at);
    }
    rw_remove_dead(body);
}

TileOp *rw_yield_all(TileProgram *program, TileKernel *kernel, TileBlock *block, TileValue *const *values, int n)
{
    TileOp *yield = tile_op_new(program, kernel, TILE_YIELD, n, values, 0, NULL);
    tile_append(program, block, yield);
    return yield;
}

TileOp *rw_same_turns(Rewriter *rw, const TileOp *loop, int n, TileValue *const *init)
{
    Arena *arena = rw->program->arena;
    TileType *types = arena_array(arena, TileType, n);
    for (int i = 0; i < n; i++) types[i] = init[i]->type;
    TileOp *same = rw_insert(rw, TILE_FOR, n, init, n, types);
    same->lo = loop->lo;
    same->hi = loop->hi;
    same->var = aff_sym_new(rw->program->aff, loop->var->name, AFF_LOOP, loop->var->lo, loop->var->hi);
    same->regions = arena_array(arena, TileBlock *, 1);
    same->regions[0] = tile_block_new(rw->program);
    same->n_regions = 1;
    return same;
}

TileOp *rw_choice(TileProgram *program, TileKernel *kernel, const Aff *cond, TileValue *const *results, int n, Span loc)
{
    TileType *types = arena_array(program->arena, TileType, n);
    for (int i = 0; i < n; i++) types[i] = results[i]->type;
    TileOp *choice = tile_op_new(program, kernel, TILE_IF, 0, NULL, n, types);
    choice->cond = cond;
    choice->loc = loc;
    choice->n_regions = 2;
    choice->regions = arena_array(program->arena, TileBlock *, 2);
    for (int i = 0; i < 2; i++) choice->regions[i] = tile_block_new(program);
    return choice;
}

TileValue *rw_renew(Rewriter *rw, TileOp *op, int result)
{
    const TileValue *old = op->results[result];
    TileValue *new = tile_value_new(rw->program, rw->kernel, old->type, old->name);
    new->def = op;
    op->results[result] = new;
    return new;
}

void rw_serve(TileValue *old, TileValue *made)
{
    old->def = made->def;
    old->def->results[0] = old;
}

TileValue *rw_gather_rows(Rewriter *rw, TileOp *load)
{
    AffCtx *aff = rw->program->aff;
    TileValue *gathered = load->results[0];
    const Aff *where = load->where;
    load->kind = TILE_GATHER;
    load->coords[load->col_dim] = aff_add(aff, load->coords[load->col_dim], aff_of(aff, rw->program->col));
    load->col_dim = -1;
    load->where = NULL;
    if (!where) return gathered;
    TileValue *fresh = rw_renew(rw, load, 0);
    TileOp *mask = rw_insert(rw, TILE_MASK, 1, &fresh, 1, &gathered->type);
    mask->cond = where;
    rw_serve(gathered, mask->results[0]);
    return gathered;
}

bool rw_awaits(const TileBlock *block, int from, int to, const TileValue *ring)
{
    for (int i = from; i < to; i++)
        if (block->ops.data[i]->kind == TILE_AWAIT && block->ops.data[i]->args[0] == ring) return true;
    return false;
}

bool tile_op_has_effect(const TileOp *op)
{
    switch (op->kind) {
    case TILE_STORE: case TILE_YIELD: case TILE_PUT: case TILE_COPY_ASYNC: case TILE_COMMIT:
    case TILE_WAIT: case TILE_BARRIER: case TILE_ROLES: case TILE_ACQUIRE: case TILE_FILLED:
    case TILE_AWAIT: case TILE_RELEASE: case TILE_SCALAR:
    case TILE_RING: case TILE_ISSUE: case TILE_FINISH: case TILE_TAKE_TURN: case TILE_GIVE_TURN:
        return true;
    case TILE_FOR: case TILE_IF: case TILE_REVISE: case TILE_PREPARE:
        for (int r = 0; r < op->n_regions; r++) {
            const TileBlock *block = op->regions[r];
            for (int i = 0; i < block->ops.len; i++) {
                const TileOp *inner = block->ops.data[i];
                if (inner->kind != TILE_YIELD && tile_op_has_effect(inner)) return true;
            }
        }
        return false;
    case TILE_LOAD: case TILE_MOVE: case TILE_FILL: case TILE_INDEX: case TILE_GATHER: case TILE_ELEMENT:
    case TILE_MASK: case TILE_REDUCE: case TILE_CAST: case TILE_RESHAPE: case TILE_GEMM:
    case TILE_SOFTMAX: case TILE_BUFFER: case TILE_VIEW: case TILE_SLICE: case TILE_PATCH:
    case TILE_OP_COUNT:
        return false;
    }
    return true;
}

/* What an operation makes is used behind it, most often at once. */
static bool is_dead(const TileBlock *block, int at)
{
    const TileOp *op = block->ops.data[at];
    if (tile_op_has_effect(op)) return false;
    for (int i = 0; i < op->n_results; i++)
        if (tile_used_in(block, at + 1, block->ops.len, op->results[i])) return false;
    return true;
}

bool rw_uses_grid(const TileKernel *kernel, const Aff *a)
{
    for (int i = 0; i < kernel->grid.len; i++)
        if (aff_uses(a, kernel->grid.data[i].sym)) return true;
    return false;
}

bool rw_names(const TileOp *op, const AffSym *sym)
{
    const Aff *all[] = {op->where, op->lo, op->hi, op->until, op->cond, op->unless, op->index};
    for (size_t i = 0; i < TW_COUNT(all); i++)
        if (all[i] && aff_uses(all[i], sym)) return true;
    for (int d = 0; op->coords && d < op->tensor->rank; d++)
        if (aff_uses(op->coords[d], sym)) return true;
    return false;
}

void rw_substitute(TileProgram *program, TileBlock *block, const AffSym *sym, const Aff *by)
{
    AffCtx *aff = program->aff;
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        const Aff **all[] = {&op->where, &op->lo, &op->hi, &op->until, &op->cond, &op->unless, &op->index};
        for (size_t k = 0; k < TW_COUNT(all); k++)
            if (*all[k]) *all[k] = aff_subst(aff, *all[k], sym, by);
        for (int d = 0; op->coords && d < op->tensor->rank; d++) op->coords[d] = aff_subst(aff, op->coords[d], sym, by);
        for (int k = 0; k < op->n_regions; k++) rw_substitute(program, op->regions[k], sym, by);
    }
}

void rw_remove_dead(TileBlock *block)
{
    for (int i = block->ops.len - 1; i >= 0; i--) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) rw_remove_dead(op->regions[r]);
        if (is_dead(block, i)) tile_remove(block, i);
    }
}

void rw_each_block(TileBlock *block, void (*visit)(void *user, TileBlock *block), void *user)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) rw_each_block(op->regions[r], visit, user);
    }
    visit(user, block);
}

/* ---- the grid ------------------------------------------------------------------------------ */

static bool name_taken(const TileProgram *program, const TileKernel *kernel, const char *name)
{
    for (int i = 0; i < program->dims.len; i++)
        if (strcmp(program->dims.data[i]->name, name) == 0) return true;
    for (int i = 0; i < kernel->grid.len; i++)
        if (strcmp(kernel->grid.data[i].sym->name, name) == 0) return true;
    for (int i = 0; i < aff_sym_count(program->aff); i++) { /* other kernels' axes may be called alike */
        const AffSym *sym = aff_sym_at(program->aff, i);
        if (sym->kind != AFF_GRID && strcmp(sym->name, name) == 0) return true;
    }
    return false;
}

static const char *free_name(TileProgram *program, const TileKernel *kernel, const char *base)
{
    const char *name = base;
    for (int i = 1; name_taken(program, kernel, name); i++) name = arena_printf(program->arena, "%s%d", base, i);
    return name;
}

const AffSym *rw_last_axis(TileProgram *program, TileKernel *kernel, const char *base, const Aff *extent)
{
    int64_t least, most;
    aff_bounds(extent, &least, &most);
    const AffSym *sym = aff_sym_new(program->aff, free_name(program, kernel, base), AFF_GRID, 0, most == INT64_MAX ? most : most - 1);
    vec_push(program->arena, &kernel->grid, (TileAxis){.sym = sym, .extent = extent});
    return sym;
}

TileAxis *rw_first_axis(TileProgram *program, TileKernel *kernel, const char *base, int extent)
{
    const char *name = free_name(program, kernel, base);
    const AffSym *sym = aff_sym_new(program->aff, name, AFF_GRID, 0, extent - 1);
    vec_push(program->arena, &kernel->grid, (TileAxis){.sym = sym});
    for (int i = kernel->grid.len - 1; i > 0; i--) kernel->grid.data[i] = kernel->grid.data[i - 1];
    kernel->grid.data[0] = (TileAxis){.sym = sym, .extent = aff_const(program->aff, extent)};
    return &kernel->grid.data[0];
}
