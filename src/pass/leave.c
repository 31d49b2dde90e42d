/* leave.c: kernels ahead, and integers that they leave for the blocks of another kernel.
 *
 * What data decides on, as which turns a loop has, nobody knows before the launch. A kernel ahead finds it, once for all
 * blocks that share it, which are those of the same places along the axes of the grid that decide:
 *
 *   kernel f grid(m, h, b) {          kernel f_ends grid(m, b) { ... store %n, f_first[b, m] }
 *     ...                        ->   kernel f grid(m, h, b) { %0 = load f_first[b, m]; scalar first = %0; ... }
 */
#include "pass/leave.h"

int64_t leave_find_axes(Leaving *l, const Aff *const *of, int n)
{
    int64_t sharers = 1, extent;
    l->axes.len = 0;
    for (int i = 0; i < l->kernel->grid.len; i++) {
        const TileAxis *axis = &l->kernel->grid.data[i];
        bool decides = false;
        for (int k = 0; k < n; k++) decides |= aff_uses(of[k], axis->sym);
        if (decides) vec_push(l->program->arena, &l->axes, axis);
        else sharers *= aff_is_const(axis->extent, &extent) ? extent : 0;
    }
    return sharers;
}

static const char *fresh(const Leaving *l, const char *end)
{
    const char *name = arena_printf(l->program->arena, "%s_%s", l->kernel->name, end);
    for (bool taken = true; taken;) {
        taken = tile_tensor(l->program, name) != NULL;
        for (int k = 0; k < l->program->kernels.len && !taken; k++) taken = strcmp(l->program->kernels.data[k]->name, name) == 0;
        if (taken) name = arena_printf(l->program->arena, "%s_", name);
    }
    return name;
}

TileTensor *leave_workspace(Leaving *l, const char *name, const Aff *row)
{
    TileTensor *t = arena_new_of(l->program->arena, TileTensor);
    *t = (TileTensor){.name = fresh(l, name), .dtype = DT_I32, .read = true, .written = true, .workspace = true, .index = l->program->tensors.len};
    for (int i = 0; i < l->axes.len; i++) t->dims[t->rank++] = l->axes.data[i]->extent;
    if (row) t->dims[t->rank++] = row;
    if (t->rank == 0) t->dims[t->rank++] = aff_const(l->program->aff, 1); /* of all blocks together */
    vec_push(l->program->arena, &l->program->tensors, t);
    return t;
}

const Aff **leave_coords(const Leaving *l, const TileTensor *t, const Aff *at)
{
    const Aff **coords = arena_array(l->program->arena, const Aff *, t->rank);
    coords[0] = aff_const(l->program->aff, 0);
    for (int i = 0; i < l->axes.len; i++) coords[i] = aff_of(l->program->aff, l->axes.data[i]->sym);
    if (at) coords[l->axes.len] = at;
    return coords;
}

static void place(const Leaving *l, TileOp *op, TileTensor *t, const Aff *at)
{
    op->tensor = t;
    op->coords = leave_coords(l, t, at);
    op->col_dim = t->rank - 1;
    op->row_dim = t->rank - 2;
}

/* Kernels stand in the order in which they are launched. */
TileKernel *leave_kernel(Leaving *l, const char *name, int warps)
{
    TileProgram *program = l->program;
    TileKernel *ahead = tile_kernel_new(program, fresh(l, name));
    ahead->loc = l->kernel->loc;
    ahead->warps = ahead->warps_n = warps;
    for (int i = 0; i < l->axes.len; i++)
        vec_push(program->arena, &ahead->grid, (TileAxis){.sym = l->axes.data[i]->sym, .extent = l->axes.data[i]->extent});
    int at = program->kernels.len - 1;
    for (; program->kernels.data[at - 1] != l->kernel; at--) program->kernels.data[at] = program->kernels.data[at - 1];
    program->kernels.data[at] = l->kernel;
    program->kernels.data[at - 1] = ahead;
    return ahead;
}

void leave(Leaving *l, Rewriter *rw, TileValue *v, TileTensor *to, const Aff *at)
{
    TileValue *integers = leave_integers(rw, v);
    place(l, rw_insert(rw, TILE_STORE, 1, &integers, 0, NULL), to, at);
}

const Aff *leave_read(Leaving *l, Rewriter *rw, TileTensor *from, int64_t least, int64_t most)
{
    TileType type = tile_type(DT_I32, 1, 1, SPACE_REGISTER);
    TileOp *load = rw_insert(rw, TILE_LOAD, 0, NULL, 1, &type);
    const AffSym *sym = aff_sym_new(l->program->aff, from->name, AFF_SCALAR, least, most);
    place(l, load, from, NULL);
    leave_scalar(rw, load->results[0], sym);
    return aff_of(l->program->aff, sym);
}

TileValue *leave_index(Rewriter *rw, const Aff *index, int rows, int cols)
{
    TileType type = tile_type(DT_F32, rows, cols, SPACE_REGISTER);
    TileOp *op = rw_insert(rw, TILE_INDEX, 0, NULL, 1, &type);
    op->index = index;
    return op->results[0];
}

TileValue *leave_integers(Rewriter *rw, TileValue *v)
{
    TileType type = tile_type(DT_I32, v->type.rows, v->type.cols, SPACE_REGISTER);
    return rw_insert(rw, TILE_CAST, 1, &v, 1, &type)->results[0];
}

void leave_scalar(Rewriter *rw, TileValue *v, const AffSym *sym)
{
    rw_insert(rw, TILE_SCALAR, 1, &v, 0, NULL)->var = sym;
}
