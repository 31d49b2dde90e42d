/* kernel.c: the file: its head, a function a kernel, its two entries.
 *
 *   template <bool Wide> __device__ void NAME_block(...)   what a block does
 *   extern "C" __global__ NAME(...)                        rows are aligned to 16 bytes
 *   extern "C" __global__ NAME_any(...)                    any addresses and strides
 */
#include "cute/emit.h"

static Cute *start(Arena *arena, const TileProgram *program, const TileKernel *kernel, const Target *target, Diags *diags)
{
    Cute *c = arena_new_of(arena, Cute);
    c->arena = arena;
    c->program = program;
    c->kernel = kernel;
    c->target = target;
    c->diags = diags;
    return c;
}

/* Maps of all loads that land by TMA. */
static void add_maps(const Cute *c, Abi *abi, const TileBlock *block)
{
    AbiMap map;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_LOAD && c->values[op->results[0]->id].boxes && cu_map(c, op, &map)) abi_add_map(abi, map);
        for (int r = 0; r < op->n_regions; r++) add_maps(c, abi, op->regions[r]);
    }
}

Abi *cute_plan(Arena *arena, TileProgram *program, const Target *target, Diags *diags)
{
    Cute **plans = arena_array(arena, Cute *, program->kernels.len ? program->kernels.len : 1);
    for (int k = 0; k < program->kernels.len; k++) {
        TileKernel *kernel = program->kernels.data[k];
        Cute *c = plans[k] = start(arena, program, kernel, target, diags);
        if (!cu_plan(c)) return NULL;
        kernel->shared_bytes = c->shared_bytes;
        kernel->persistent = 0;
    }
    Abi *abi = abi_from_tile(arena, program, target);
    for (int k = 0; k < program->kernels.len; k++) add_maps(plans[k], abi, program->kernels.data[k]->body);
    abi_lay_out(abi);
    return abi;
}

/* ---- arguments -------------------------------------------------------------------------- */

static void name_arguments(Cute *c)
{
    c->args = arena_array(c->arena, const char *, c->abi->args.len);
    for (int i = 0; i < c->abi->args.len; i++) {
        const AbiArg *a = &c->abi->args.data[i];
        c->args[i] = cu_name(c, a->name);
        if (a->kind == ABI_DIM) c->syms[c->program->dims.data[a->position]->id] = c->args[i];
    }
}

static const char *type_of(const Cute *c, const AbiArg *a, bool entry)
{
    const AbiTensor *t = &c->abi->tensors.data[a->tensor];
    switch (a->kind) {
    case ABI_ADDRESS: return arena_printf(c->arena, "%s%s *", cu_dtype(t->dtype), t->written ? "" : " const");
    case ABI_STRIDE: return "int64_t ";
    case ABI_DIM: return "int ";
    case ABI_PARAM: return "float ";
    case ABI_MAP: return entry ? "const __grid_constant__ TmaDescriptor " : "TmaDescriptor const &";
    case ABI_COUNTER: return "unsigned *";
    }
    return "int ";
}

typedef enum Form { FORM_NAMES, FORM_BLOCK, FORM_ENTRY } Form;

/* With types or without; a line a tensor's strides, say. */
static const char *arguments(Cute *c, Form form)
{
    Str s = str_new(c->arena);
    bool typed = form != FORM_NAMES;
    for (int i = 0; i < c->abi->args.len; i++) {
        const AbiArg *a = &c->abi->args.data[i], *b = i ? a - 1 : NULL;
        bool apart = b && typed && (a->kind != b->kind || (a->kind == ABI_STRIDE && a->tensor != b->tensor));
        str_printf(&s, "%s%s%s", i ? "," : "", apart ? "\n    " : i ? " " : "", typed ? type_of(c, a, form == FORM_ENTRY) : "");
        str_add(&s, c->args[i]);
    }
    return str_text(&s);
}

/* ---- the head of a block ------------------------------------------------------------------- */

static const char *atom(Cute *c)
{
    if (c->target->mma_k == 8) return "SM75_16x8x8_F32F16F16F32_TN";
    return c->place.dtype == DT_BF16 ? "SM80_16x8x16_F32BF16BF16F32_TN" : "SM80_16x8x16_F32F16F16F32_TN";
}

static void put_rows(Cute *c, const CuPlace *p, const char *name, const char *what)
{
    cu_line(c, "// %d x %d threads share %s, with runs of %d columns", p->threads_m, p->threads_n, what, p->run);
    cu_line(c, "using %s = tw::RowsPlace<%d, %d, %d>;", name, p->threads_m, p->threads_n, p->run);
}

static void put_place(Cute *c)
{
    const CuPlace *p = &c->place;
    if (p->warpgroups) {
        cu_line(c, "// %d warpgroup%s multipl%s, 64 rows each", p->warps_m / 4, p->warps_m > 4 ? "s" : "", p->warps_m > 4 ? "y" : "ies");
        cu_line(c, "using Place = tw::WgmmaPlace<%s, %d>;", cu_dtype(p->dtype), p->warps_m / 4);
        return;
    }
    if (p->quads) {
        cu_line(c, "// %d x %d warps multiply, 16 rows and 16 columns each at a time", p->warps_m, p->warps_n);
        cu_line(c, "using Place = tw::QuadPlace<%d, %d>;", p->warps_m, p->warps_n);
        return;
    }
    if (p->products) {
        cu_line(c, "// %d x %d warps multiply, 16 rows and %d columns each at a time", p->warps_m, p->warps_n, p->wide ? 16 : 8);
        cu_line(c, "using Place = tw::MmaPlace<%s, %d, %d, %s>;", atom(c), p->warps_m, p->warps_n, p->wide ? "true" : "false");
        return;
    }
    put_rows(c, p, "Place", "a tile");
}

static void put_places(Cute *c)
{
    put_place(c);
    if (c->aside) put_rows(c, &c->beside, "Beside", "a tile that meets no product's");
}

static void put_shared(Cute *c, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool tile = op->n_results == 1 && op->results[0]->type.space == SPACE_SHARED;
        if (tile && (op->kind == TILE_LOAD || op->kind == TILE_MOVE)) {
            CuValue *v = &c->values[op->results[0]->id];
            const TileType *t = &op->results[0]->type;
            const char *type = cu_dtype(t->dtype);
            v->name = cu_name(c, arena_printf(c->arena, "s%s", op->results[0]->name ? op->results[0]->name : "Tile"));
            cu_line(c, "tw::Shared<%s, %d, %d> %s{(%s *)(shared + %lld)};%s", type, t->rows, t->cols, v->name, type,
                    (long long)v->offset, v->stages > 1 ? arena_printf(c->arena, " // %d stages", v->stages) : "");
        }
        for (int r = 0; r < op->n_regions; r++) put_shared(c, op->regions[r]);
    }
}

/* What lands by TMA is counted by barriers: of a tile that is copied once its own, of a ring one a stage. */
static void put_landings(Cute *c, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        CuValue *v = op->kind == TILE_LOAD ? &c->values[op->results[0]->id] : NULL;
        CuLoop *l = op->kind == TILE_FOR ? cu_loop(c, op) : NULL;
        if (v && v->boxes && v->copies == CU_ONCE) {
            v->landing = cu_name(c, arena_printf(c->arena, "%s_lands", v->name));
            cu_line(c, "tw::Landings<1> %s(shared + %lld, 1);", v->landing, (long long)v->barrier_at);
        }
        if (l && l->boxes) {
            l->landing = cu_name(c, arena_printf(c->arena, "%s_lands", cu_sym(c, op->var)));
            const char *readers = l->freely ? arena_printf(c->arena, ", %d", c->kernel->warps) : "";
            cu_line(c, "tw::Landings<%d%s> %s(shared + %lld, %d);", l->stages, readers, l->landing, (long long)l->barrier_at, l->boxes);
        }
        for (int r = 0; r < op->n_regions; r++) put_landings(c, op->regions[r]);
    }
}

/* First axis fastest. */
static void put_grid(Cute *c)
{
    int n = c->kernel->grid.len;
    if (n) cu_line(c, "int block = blockIdx.x;");
    for (int i = 0; i < n; i++) {
        const TileAxis *axis = &c->kernel->grid.data[i];
        const char *name = cu_sym(c, axis->sym), *extent = cu_expr(c, axis->extent);
        if (strpbrk(extent, "+-*/ ") && strncmp(extent, "ceil_div(", 9) != 0) extent = arena_printf(c->arena, "(%s)", extent);
        const char *at = i + 1 < n ? arena_printf(c->arena, "block %% %s", extent) : "block";
        if (axis->reversed) cu_line(c, "int %s = %s - 1 - %s; // what is heavy first", name, extent, at);
        else cu_line(c, "int %s = %s;", name, at);
        if (i + 1 < n) cu_line(c, "block /= %s;", extent);
    }
}

static void put_block(Cute *c, const char *typed)
{
    cu_line(c, "template <bool Wide>");
    cu_line(c, "__device__ __forceinline__ void %s_block(", c->kernel->name);
    cu_line(c, "    %s)", typed);
    cu_line(c, "{");
    c->depth++;
    put_places(c);
    if (c->shared_bytes) cu_line(c, "extern __shared__ __align__(1024) unsigned char shared[];");
    put_shared(c, c->kernel->body);
    put_landings(c, c->kernel->body);
    if (c->parts) cu_line(c, "float *parts = (float *)(shared + %lld);", (long long)c->parts_at);
    put_grid(c);
    cu_block(c, c->kernel->body);
    cu_close(c, "}");
}

static void put_entry(Cute *c, const AbiEntry *entry, bool wide, const char *typed)
{
    if (!entry->name) return;
    str_addc(c->out, '\n');
    cu_line(c, "extern \"C\" __global__ void __launch_bounds__(%d%s) %s(", entry->threads,
            wide && c->kernel->blocks_per_sm > 0 ? arena_printf(c->arena, ", %d", c->kernel->blocks_per_sm) : "", entry->name);
    cu_line(c, "    %s)", typed);
    cu_line(c, "{");
    cu_line(c, "    %s_block<%s>(%s);", c->kernel->name, wide ? "true" : "false", arguments(c, FORM_NAMES));
    cu_line(c, "}");
}

static Cute *start_kernel(Str *out, const TileProgram *program, int index, const Abi *abi, const Target *target, Diags *diags)
{
    Cute *c = start(abi->arena, program, program->kernels.data[index], target, diags);
    c->out = out;
    c->abi = abi;
    if (!cu_plan(c)) return NULL;
    for (int i = 0; i < program->kernels.len; i++) {
        cu_name(c, abi->kernels.data[i].fast.name);
        if (abi->kernels.data[i].any.name) cu_name(c, abi->kernels.data[i].any.name);
        cu_name(c, arena_printf(c->arena, "%s_block", program->kernels.data[i]->name));
    }
    name_arguments(c);
    return c;
}

static void put_entries(Cute *c, int index)
{
    const char *typed = arguments(c, FORM_ENTRY);
    put_entry(c, &c->abi->kernels.data[index].fast, true, typed);
    put_entry(c, &c->abi->kernels.data[index].any, false, typed);
}

static bool put_kernel(Str *out, const TileProgram *program, int index, const Abi *abi, const Target *target, Diags *diags)
{
    Cute *c = start_kernel(out, program, index, abi, target, diags);
    if (!c) return false;
    str_addc(out, '\n');
    put_block(c, arguments(c, FORM_BLOCK));
    put_entries(c, index);
    return !c->failed;
}

bool cute_emit(Str *out, const TileProgram *program, const Abi *abi, const Target *target, Diags *diags)
{
    abi_ptx_comment(out, abi);
    str_printf(out, "//\n// %s for %s: CuTe C++ over the CUTLASS headers.\n", program->name, target->name);
    str_printf(out, "//     nvcc -std=c++17 -arch=%s --expt-relaxed-constexpr -I CUTLASS/include -I . -cubin\n", target->name);
    str_add(out, "// The lines above say how it is launched.\n#include \"" CUTE_HEADER_NAME "\"\n\nusing namespace cute;\n");
    for (int k = 0; k < program->kernels.len; k++)
        if (!put_kernel(out, program, k, abi, target, diags)) return false;
    return true;
}

/* ---- blocks of others ------------------------------------------------------------------------ */

bool cute_emit_block(Str *out, const TileProgram *program, int kernel, const Abi *abi, const Target *target, Diags *diags)
{
    Cute *c = start_kernel(out, program, kernel, abi, target, diags);
    if (!c) return false;
    cu_line(c, CUTE_SHARED_NOTE "%lld bytes", program->kernels.data[kernel]->name, (long long)c->shared_bytes);
    put_block(c, arguments(c, FORM_BLOCK));
    return !c->failed;
}

/* What is known without a plan: whoever writes the blocks makes his own. */
static Cute *start_frame(Str *out, const TileProgram *program, int index, const Abi *abi, const Target *target)
{
    Diags *quiet = diags_new(abi->arena, NULL);
    Cute *c = start(abi->arena, program, program->kernels.data[index], target, quiet);
    c->out = out;
    c->abi = abi;
    c->syms = arena_array(c->arena, const char *, aff_sym_count(program->aff));
    for (int i = 0; i < program->kernels.len; i++) {
        cu_name(c, program->kernels.data[i]->name);
        cu_name(c, arena_printf(c->arena, "%s_any", program->kernels.data[i]->name));
        cu_name(c, arena_printf(c->arena, "%s_block", program->kernels.data[i]->name));
    }
    name_arguments(c);
    return c;
}

Abi *cute_frame(Arena *arena, TileProgram *program, const Target *target, const int64_t *shared_bytes)
{
    for (int k = 0; k < program->kernels.len; k++) {
        program->kernels.data[k]->shared_bytes = shared_bytes ? shared_bytes[k] : 0;
        program->kernels.data[k]->persistent = 0;
    }
    Abi *abi = abi_from_tile(arena, program, target);
    abi_lay_out(abi);
    return abi;
}

void cute_emit_entries(Str *out, const TileProgram *program, const Abi *abi, const Target *target)
{
    for (int k = 0; k < program->kernels.len; k++) put_entries(start_frame(out, program, k, abi, target), k);
}

void cute_emit_head(Str *out, const TileProgram *program, int kernel, const Abi *abi, const Target *target)
{
    Cute *c = start_frame(out, program, kernel, abi, target);
    cu_line(c, "template <bool Wide>");
    cu_line(c, "__device__ __forceinline__ void %s_block(", program->kernels.data[kernel]->name);
    cu_line(c, "    %s)", arguments(c, FORM_BLOCK));
    cu_open(c, "{");
    cu_place(c);
    if (!c->failed) put_places(c);
    put_grid(c);
}
