/* fuse.c: stage 1a: choose axes, build the graph of tiles, order it, write it. */
#include "fuse/flow.h"

/* Whether each of many blocks would sum all of a tensor, as for its norm, by which all of it is divided. */
static bool repeats_sums(const Flow *flow)
{
    bool spread = (flow->rows->kind == AXIS_ROWS && !flow_is_one(flow->rows->dim)) || flow->cols->kind == AXIS_COLS;

    for (int i = 0; i < flow->nodes.len && spread && !def_multiplies(flow->def); i++) {
        const Node *node = flow->nodes.data[i];

        if (node->kind == NODE_REDUCE && node->row->kind != AXIS_ROWS && node->col->kind != AXIS_COLS)
            return true;
    }
    return false;
}

bool fuse_repeats(Arena *arena, Syms *syms, const Def *def)
{
    Permuted permuted;
    Flow flow = {.arena = arena, .syms = syms, .def = flow_unpermute(arena, flow_spell(arena, syms, def), &permuted), .diags = diags_new(arena, NULL)};

    return !def_multiplies(def) && flow_choose_axes(&flow) && flow_build(&flow) && repeats_sums(&flow);
}

Program *flow_program(Flow *flow, int parts)
{
    if (!flow_choose_axes(flow) || !flow_build(flow) || !flow_fits_whole(flow) || (flow->kernel && !flow->repeat && repeats_sums(flow)))
        return NULL;
    if (parts > 1)
        return flow_split(flow, parts);
    if (flow_stores_differ(flow))
        return flow_apart(flow);
    Program *program = arena_new_of(flow->arena, Program);
    Unit *unit = flow_write(flow, flow_order(flow));
    if (unit)
        vec_push(flow->arena, &program->units, unit);
    return unit ? program : NULL;
}

static Program *fuse_seen(Arena *arena, Syms *syms, const Def *def, int parts, Diags *diags)
{
    Permuted permuted;
    const Def *seen = flow_unpermute(arena, def, &permuted);
    Flow flow = {.arena = arena, .syms = syms, .def = seen, .diags = diags};
    Program *program = flow_program(&flow, parts);

    flow_put_back(arena, def, program, &permuted);
    return program;
}

Program *fuse(Arena *arena, Syms *syms, const Def *def, int parts, Diags *diags)
{
    Views views;
    const Def *spelled = flow_spell(arena, syms, def), *seen = flow_view(arena, syms, flow_divide(arena, spelled), &views);

    if (views.list.len > 0) {
        Program *program = fuse_seen(arena, syms, seen, parts, diags_new(arena, NULL));

        if (program && flow_unview(arena, seen, program, &views))
            return program;
    }
    return fuse_seen(arena, syms, spelled, parts, diags);
}
