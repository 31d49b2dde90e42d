/* fuse.c: stage 1a: choose axes, build the graph of tiles, order it, write it. */
#include "fuse/flow.h"

Program *fuse(Arena *arena, Syms *syms, const Def *def, Diags *diags)
{
    Flow flow = {.arena = arena, .syms = syms, .def = def, .diags = diags};

    if (!flow_choose_axes(&flow) || !flow_build(&flow))
        return NULL;
    return flow_write(&flow, flow_order(&flow));
}
