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
