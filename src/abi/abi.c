/* abi.c: the launch ABI of a scheduled program, and the order of its arguments.
 *
 *   tensors Q (b, n, 64), O (b, n, 64); dims b, n; param scale
 *
 *   offset  0  .u64 Q            16  .s64 Q_stride0   32  .s64 O_stride0   48  .s32 b
 *           8  .u64 O            24  .s64 Q_stride1   40  .s64 O_stride1   52  .s32 n
 *                                                                          56  .f32 scale
 *
 * Tensor maps, of 128 bytes, come before all of them and counters, of eight, before
 * the strides, so that nothing is padded and a C struct with the same members is the
 * parameter space byte for byte.
 */
#include "abi/parts.h"


const char *abi_arg_kind_name(AbiArgKind kind)
{
    static const char *const names[] = {[ABI_MAP] = "map",
                                        [ABI_ADDRESS] = "address",
                                        [ABI_COUNTER] = "counter",
                                        [ABI_STRIDE] = "stride",
                                        [ABI_DIM] = "dim",
                                        [ABI_PARAM] = "param"};
    return names[kind];
}

static bool is_taken(const Abi *abi, const char *name)
{
    for (int i = 0; i < abi->args.len; i++)
        if (strcmp(abi->args.data[i].name, name) == 0)
            return true;
    return false;
}

/* A dimension may have a tensor's name, or a tensor that of a stride. */
static void add_arg(Abi *abi, AbiArg arg)
{
    while (is_taken(abi, arg.name))
        arg.name = arena_printf(abi->arena, "%s_", arg.name);
    arg.offset = abi->param_bytes;
    abi->param_bytes += arg.bytes;
    vec_push(abi->arena, &abi->args, arg);
}

static void add_maps(Abi *abi)
{
    for (int i = 0; i < abi->maps.len; i++) {
        int t = abi->maps.data[i].tensor;
        add_arg(abi, (AbiArg){.kind = ABI_MAP,
                              .tensor = t,
                              .position = i,
                              .bytes = ABI_MAP_BYTES,
                              .name = arena_printf(abi->arena, "%s_map", abi->tensors.data[t].name)});
    }
}

static void add_addresses(Abi *abi)
{
    for (int i = 0; i < abi->tensors.len; i++)
        add_arg(abi, (AbiArg){.kind = ABI_ADDRESS,
                              .tensor = i,
                              .bytes = 8,
                              .name = abi->tensors.data[i].name});
}

bool abi_has_counter(const AbiKernel *kernel)
{
    return kernel->fast.persistent > 0 || kernel->any.persistent > 0;
}

bool abi_has_counters(const Abi *abi)
{
    for (int i = 0; i < abi->kernels.len; i++)
        if (abi_has_counter(&abi->kernels.data[i]))
            return true;
    return false;
}

static void add_counters(Abi *abi)
{
    for (int i = 0; i < abi->kernels.len; i++)
        if (abi_has_counter(&abi->kernels.data[i]))
            add_arg(abi, (AbiArg){.kind = ABI_COUNTER,
                                  .position = i,
                                  .bytes = 8,
                                  .name = arena_printf(abi->arena, "%s_counter",
                                                       abi->kernels.data[i].fast.name)});
}

static void add_strides(Abi *abi)
{
    for (int t = 0; t < abi->tensors.len; t++)
        for (int axis = 0; axis < abi->tensors.data[t].rank - 1; axis++)
            add_arg(abi, (AbiArg){.kind = ABI_STRIDE,
                                  .tensor = t,
                                  .axis = axis,
                                  .bytes = 8,
                                  .name = arena_printf(abi->arena, "%s_stride%d",
                                                       abi->tensors.data[t].name, axis)});
}

static void add_numbers(Abi *abi)
{
    for (int i = 0; i < abi->dims.len; i++)
        add_arg(
            abi,
            (AbiArg){.kind = ABI_DIM, .position = i, .bytes = 4, .name = abi->dims.data[i]->name});
    for (int i = 0; i < abi->params.len; i++)
        add_arg(
            abi,
            (AbiArg){.kind = ABI_PARAM, .position = i, .bytes = 4, .name = abi->params.data[i]});
}

void abi_lay_out(Abi *abi)
{
    abi->args.len = 0;
    abi->param_bytes = 0;
    add_maps(abi);
    add_addresses(abi);
    add_counters(abi);
    add_strides(abi);
    add_numbers(abi);
}

static AbiTensor tensor_of(const TileTensor *t)
{
    AbiTensor tensor = {.name = t->name,
                        .dtype = t->dtype,
                        .rank = t->rank,
                        .read = t->read,
                        .written = t->written,
                        .workspace = t->workspace};
    memcpy(tensor.dims, t->dims, sizeof tensor.dims);
    tensor.alignment = dtype_bytes(t->dtype);
    return tensor;
}

static void align_tensor(Abi *abi, const TileTensor *tensor, int wanted)
{
    int *alignment = &abi->tensors.data[tensor->index].alignment;
    if (*alignment < wanted)
        *alignment = wanted;
}

/* Words that an index reads. */
static void align_tables(Abi *abi, const TileProgram *program, const Aff *index)
{
    const AffSym *table;
    const Aff *coords[AFF_MAX_COORDS];
    if (!index)
        return;
    if (index->kind == AFF_AT) {
        aff_coords(index, &table, coords);
        const TileTensor *tensor = tile_table_of(program, table);
        if (tensor && tensor->dtype == DT_I32 && !tensor->written)
            align_tensor(abi, tensor, tile_row_alignment(tensor));
    }
    align_tables(abi, program, index->a);
    align_tables(abi, program, index->b);
}

/* What is only ever accessed an element at a time need not be aligned; what several elements at once are gathered of
 * as its rows are without gaps. */
static void align_tensors(Abi *abi, const TileProgram *program, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (tile_in_chunks(op))
            align_tensor(abi, op->tensor, TILE_CHUNK);
        if (tile_reads_lines(op))
            align_tensor(abi, op->tensor, tile_row_alignment(op->tensor));
        if (tile_reads_words(op))
            align_tables(abi, program, op->index);
        for (int r = 0; r < op->n_regions; r++)
            align_tensors(abi, program, op->regions[r]);
    }
}

bool abi_same_launch(const AbiEntry *a, const AbiEntry *b)
{
    return a->blocks == b->blocks && a->persistent == b->persistent && a->threads == b->threads &&
           a->shared_bytes == b->shared_bytes;
}

/* An axis within a block numbers instances of roles; without roles it is one like the others. */
static AbiEntry entry_of(const TileProgram *program, const TileKernel *kernel, const char *name)
{
    const Aff *blocks = aff_const(program->aff, 1);
    for (int i = 0; i < kernel->grid.len; i++)
        if (!kernel->grid.data[i].within || !tile_has(kernel->body, TILE_ROLES))
            blocks = aff_mul(program->aff, blocks, kernel->grid.data[i].extent);
    return (AbiEntry){.name = name,
                      .blocks = blocks,
                      .persistent = kernel->persistent,
                      .threads = 32 * kernel->warps,
                      .shared_bytes = kernel->shared_bytes};
}

static AbiKernel kernel_of(const Abi *abi, const TileProgram *program, const TileKernel *kernel)
{
    const TileKernel *plain = kernel->plain ? kernel->plain : kernel;
    return (AbiKernel){
        .fast = entry_of(program, kernel, kernel->name),
        .any = entry_of(program, plain, arena_printf(abi->arena, "%s_any", kernel->name))};
}

/* What 16-bit tensors of the program hold; the caller knows better. */
static DType guess_dtype(const Abi *abi)
{
    for (int i = 0; i < abi->tensors.len; i++)
        if (dtype_bytes(abi->tensors.data[i].dtype) == 2)
            return abi->tensors.data[i].dtype;
    return DT_F16;
}

Abi *abi_from_tile(Arena *arena, const TileProgram *program, const Target *target)
{
    Abi *abi = arena_new_of(arena, Abi);
    abi->arena = arena;
    abi->name = program->name;
    abi->target = target->name;
    abi->settings = "";
    for (int i = 0; i < program->tensors.len; i++)
        vec_push(arena, &abi->tensors, tensor_of(program->tensors.data[i]));
    for (int i = 0; i < program->kernels.len; i++)
        align_tensors(abi, program, program->kernels.data[i]->body);
    for (int i = 0; i < program->dims.len; i++)
        vec_push(arena, &abi->dims, program->dims.data[i]);
    for (int i = 0; i < program->params.len; i++)
        vec_push(arena, &abi->params, program->params.data[i]);
    for (int i = 0; i < program->requires.len; i++)
        vec_push(arena, &abi->requires, program->requires.data[i]);
    for (int i = 0; i < program->kernels.len; i++)
        vec_push(arena, &abi->kernels, kernel_of(abi, program, program->kernels.data[i]));
    for (int i = 0; i < program->kernels.len; i++)
        abi_collect_maps(abi, program, program->kernels.data[i]->body);
    for (int i = 0; i < program->kernels.len; i++)
        abi->unordered |= tile_adds(program->kernels.data[i]->body);
    abi->dtype = guess_dtype(abi);
    abi_lay_out(abi);
    return abi;
}

bool abi_add_kernel(Abi *abi, Syms *syms, AffCtx *aff, const AbiLaunch *launch, const char **error)
{
    const Aff *blocks = abi_expr_parse(abi->arena, syms, aff, abi, launch->blocks, error);
    AbiKernel kernel = {.fast = {.name = abi->name, .blocks = blocks, .threads = launch->threads,
                                 .shared_bytes = launch->shared_bytes}};

    if (!blocks)
        return false;
    kernel.any = kernel.fast;
    kernel.any.name = NULL;
    vec_push(abi->arena, &abi->kernels, kernel);
    return true;
}
