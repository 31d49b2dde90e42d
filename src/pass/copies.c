/* copies.c: operations again, with other operands and at other counters. */
#include "pass/copies.h"

Copier copier_new(TileProgram *program, TileKernel *kernel, const AffSym *sym, const Aff *by)
{
    return (Copier){program, kernel, arena_array(program->arena, TileValue *, kernel->next_value), kernel->next_value, sym, by};
}

void copier_map(Copier *c, const TileValue *from, TileValue *to)
{
    c->values[from->id] = to;
}

TileValue *copied(const Copier *c, TileValue *v)
{
    return v->id < c->n_values && c->values[v->id] ? c->values[v->id] : v;
}

static const Aff *moved(const Copier *c, const Aff *a)
{
    return a && c->sym ? aff_subst(c->program->aff, a, c->sym, c->by) : a;
}

static TileBlock *copy_region(Copier *c, const TileBlock *from)
{
    TileBlock *to = tile_block_new(c->program);
    for (int i = 0; i < from->params.len; i++) {
        const TileValue *param = from->params.data[i];
        TileValue *v = tile_value_new(c->program, c->kernel, param->type, param->name);
        copier_map(c, param, v);
        vec_push(c->program->arena, &to->params, v);
    }
    copy_ops(c, from, 0, from->ops.len, to);
    return to;
}

static TileOp *copy_op(Copier *c, const TileOp *from)
{
    Arena *arena = c->program->arena;
    TileOp *op = arena_new_of(arena, TileOp);
    *op = *from;
    op->args = arena_array(arena, TileValue *, from->n_args);
    for (int i = 0; i < from->n_args; i++) op->args[i] = copied(c, from->args[i]);
    op->regions = arena_array(arena, TileBlock *, from->n_regions);
    for (int i = 0; i < from->n_regions; i++) op->regions[i] = copy_region(c, from->regions[i]);
    op->results = arena_array(arena, TileValue *, from->n_results);
    for (int i = 0; i < from->n_results; i++) {
        op->results[i] = tile_value_new(c->program, c->kernel, from->results[i]->type, from->results[i]->name);
        op->results[i]->def = op;
        copier_map(c, from->results[i], op->results[i]);
    }
    if (from->coords) op->coords = arena_array(arena, const Aff *, from->tensor->rank);
    for (int i = 0; from->coords && i < from->tensor->rank; i++) op->coords[i] = moved(c, from->coords[i]);
    op->where = moved(c, from->where);
    op->lo = moved(c, from->lo);
    op->hi = moved(c, from->hi);
    op->until = moved(c, from->until);
    op->cond = moved(c, from->cond);
    op->unless = moved(c, from->unless);
    op->index = moved(c, from->index);
    return op;
}

void copy_ops(Copier *c, const TileBlock *from, int begin, int end, TileBlock *to)
{
    for (int i = begin; i < end; i++) tile_append(c->program, to, copy_op(c, from->ops.data[i]));
}
