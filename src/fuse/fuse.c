/* fuse.c: stage 1a: choose axes, build the graph of tiles, order it, write it. */
#include "fuse/flow.h"

Program *flow_program(Flow *flow, int parts)
{
    if (!flow_choose_axes(flow) || !flow_build(flow) || !flow_fits_whole(flow))
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

Program *fuse(Arena *arena, Syms *syms, const Def *def, int parts, Diags *diags)
{
    Permuted permuted;
    const Def *seen = flow_unpermute(arena, flow_spell(arena, syms, def), &permuted);
    Flow flow = {.arena = arena, .syms = syms, .def = seen, .diags = diags};
    Program *program = flow_program(&flow, parts);

    flow_put_back(arena, program, &permuted);
    return program;
}
