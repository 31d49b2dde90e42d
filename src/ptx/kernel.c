/* kernel.c: entries, control flow, and who emits which operation. */
#include "ptx/meet.h"
#include "ptx/roles.h"
#include "ptx/window.h"

enum { FEW_REGISTERS = 128 };

/* ---- lanes ------------------------------------------------------------------------ */

/* A lane's first row: warp / warps_n * (rows / warps_m) + lane / 4; its first
 * column: warp % warps_n * (cols / warps_n) + 2 * (lane % 4), or 4 * (lane % 4)
 * in fours (lay.h). */
static const AffSym *lane_symbol(Emitter *e, bool is_row, bool quads, int extent, int warps, int share, int atom)
{
    const char *base = em_new(e, REG_R), *warp = e->warp;
    if (is_row) em_at(e, 0, "shr.u32 %s, %s, 2;", base, e->lane);
    else em_at(e, 0, "and.b32 %s, %s, 3;", base, e->lane);
    if (!is_row) em_at(e, 0, "shl.b32 %s, %s, %d;", base, base, quads ? 2 : 1);
    if (warps > 1 && extent > 1) {
        const char *along = em_new(e, REG_R);
        int warps_n = e->kernel->warps_n > 0 ? e->kernel->warps_n : 1;
        ix_divide(e, 0, along, warp, warps_n);
        if (!is_row) ix_remainder(e, 0, along, warp, along, warps_n);
        em_at(e, 0, "mad.lo.s32 %s, %s, %d, %s;", base, along, share, base);
    }
    return ix_symbol(e, is_row ? "lane_row" : "lane_col", base, 0, extent - share + atom);
}

/* In rows (lay.h): lane / lanes, and lane % lanes * k; the warps of a row lie side
 * by side in every step along it. */
static const AffSym *lane_symbol_in_rows(Emitter *e, bool is_row, const Layout *l, int extent)
{
    const char *base = em_new(e, REG_R), *along = em_new(e, REG_R);
    int warps = is_row ? l->warps_m : l->warps_n, share = is_row ? extent / l->warps_m : l->lanes * l->k;
    if (is_row) {
        ix_divide(e, 0, base, e->lane, l->lanes);
    } else {
        em_at(e, 0, "and.b32 %s, %s, %d;", base, e->lane, l->lanes - 1);
        em_at(e, 0, "mul.lo.s32 %s, %s, %d;", base, base, l->k);
    }
    if (warps > 1 && extent > 1) {
        ix_divide(e, 0, along, e->warp, l->warps_n);
        if (!is_row) ix_remainder(e, 0, along, e->warp, along, l->warps_n);
        em_at(e, 0, "mad.lo.s32 %s, %s, %d, %s;", base, along, share, base);
    }
    int64_t hi = is_row ? extent - share + 32 / l->lanes - 1 : warps * share - l->k;
    return ix_symbol(e, is_row ? "lane_row" : "lane_col", base, 0, hi);
}

static const AffSym *lane_symbol_of(Emitter *e, bool is_row, const Layout *l, int extent)
{
    int warps = is_row ? l->warps_m : l->warps_n, share = extent / (warps > 0 ? warps : 1);
    if (l->kind == LAY_ROWS) return lane_symbol_in_rows(e, is_row, l, extent);
    return lane_symbol(e, is_row, !is_row && l->quads, extent, warps, share, is_row ? 7 : l->quads ? 12 : 6);
}

/* Whether lanes begin at the same rows, or columns. Fragments of all kinds of operands do. */
static bool begins_alike(const Layout *a, const Layout *b, bool is_row)
{
    if (a->warps_m != b->warps_m || a->warps_n != b->warps_n) return false;
    if (a->kind == LAY_ROWS || b->kind == LAY_ROWS) return a->kind == b->kind && a->k == b->k && a->lanes == b->lanes;
    return is_row || a->quads == b->quads;
}

static LaneSym *cached_lane(Emitter *e, bool is_row, Layout layout, int extent)
{
    for (int i = 0; i < e->lanes.len; i++) {
        LaneSym *l = &e->lanes.data[i];
        if (l->is_row == is_row && l->extent == extent && begins_alike(&l->layout, &layout, is_row)) return l;
    }
    const AffSym *sym = lane_symbol_of(e, is_row, &layout, extent);
    vec_push(e->arena, &e->lanes, (LaneSym){layout, is_row, extent, sym, NULL});
    return &e->lanes.data[e->lanes.len - 1];
}

const AffSym *ix_lane_row(Emitter *e, Layout layout, int rows)
{
    return cached_lane(e, true, layout, rows)->sym;
}

const AffSym *ix_lane_col(Emitter *e, Layout layout, int cols)
{
    return cached_lane(e, false, layout, cols)->sym;
}

const Aff *ix_lane_units(Emitter *e, Layout layout, int cols)
{
    AffCtx *aff = e->program->aff;
    LaneSym *lane = cached_lane(e, false, layout, cols);
    int unit = layout.kind == LAY_ROWS ? layout.k : layout.quads ? 4 : 2;
    bool whole = layout.kind == LAY_ROWS || layout.warps_n < 2 || cols / layout.warps_n % unit == 0;
    if (lane->units || unit == 1 || !whole) return lane->units ? lane->units : aff_of(aff, lane->sym);
    const char *first = ix_value(e, aff_of(aff, lane->sym)), *number = em_new(e, REG_R);
    ix_divide(e, 0, number, first, unit);
    lane->units = aff_scale(aff, aff_of(aff, ix_symbol(e, "lane_unit", number, 0, lane->sym->hi / unit)), unit);
    ix_know(e, lane->units, first, 0);
    return lane->units;
}

const Aff *ix_lane_parts(Emitter *e, Layout layout, int rows)
{
    AffCtx *aff = e->program->aff;
    LaneSym *lane = cached_lane(e, true, layout, rows);
    int share = rows / layout.warps_m;
    if (lane->units || layout.kind != LAY_ROWS || layout.warps_m < 2) return lane->units ? lane->units : aff_of(aff, lane->sym);
    const char *row = ix_value(e, aff_of(aff, lane->sym)), *warp = em_new(e, REG_R), *own = em_new(e, REG_R);
    ix_divide(e, 0, warp, row, share);
    ix_remainder(e, 0, own, row, warp, share);
    const Aff *first = aff_scale(aff, aff_of(aff, ix_symbol(e, "warp_row", warp, 0, layout.warps_m - 1)), share);
    lane->units = aff_add(aff, first, aff_of(aff, ix_symbol(e, "own_row", own, 0, 32 / layout.lanes - 1)));
    ix_know(e, lane->units, row, 0);
    return lane->units;
}

const char *ix_lane_bit(Emitter *e, int level, int bit)
{
    const char *t = em_new(e, REG_R), *p = em_new(e, REG_P);
    em_at(e, level, "and.b32 %s, %s, %d;", t, e->lane, bit);
    em_at(e, level, "setp.ne.s32 %s, %s, 0;", p, t);
    return p;
}

/* ---- operations --------------------------------------------------------------------------- */

/* Operations come mostly in the order of the text: lines are counted on from that of the one before. */
static void emit_place(Emitter *e, const TileOp *op)
{
    const Source *source = e->program->source;
    const char *newline;
    int at = op->loc.start;
    if (!source || op->loc.end == 0 || at < 0 || (size_t)at > source->len) return;
    if (at < e->line_from) e->line = e->line_from = 0;
    while ((newline = memchr(source->text + e->line_from, '\n', (size_t)(at - e->line_from)))) {
        e->line++;
        e->line_from = (int)(newline - source->text) + 1;
    }
    em(e, ".loc 1 %d %d", e->line + 1, at - e->line_from + 1);
}

static void unsupported(Emitter *e, const TileOp *op)
{
    em_fail(e, op->loc, TW0803, "'%s' has no code for this target", tile_op_text(op->kind));
}

static void emit_op(Emitter *e, const TileOp *op)
{
    switch (op->kind) {
    case TILE_LOAD:       cp_load(e, op); break;
    case TILE_STORE:
        if (op->n_args > 1) tm_store(e, op);
        else cp_store(e, op);
        break;
    case TILE_MOVE:       pr_move(e, op); break;
    case TILE_FILL:
        if (tile_is_storage(op)) sh_fill(e, op);
        else el_fill(e, op);
        break;
    case TILE_INDEX:      el_index(e, op); break;
    case TILE_GATHER:     ga_gather(e, op); break;
    case TILE_ELEMENT:    el_element(e, op); break;
    case TILE_MASK:       el_mask(e, op); break;
    case TILE_REDUCE:     el_reduce(e, op); break;
    case TILE_CAST:       el_cast(e, op); break;
    case TILE_RESHAPE:    el_reshape(e, op); break;
    case TILE_SLICE:      el_slice(e, op); break;
    case TILE_PATCH:      el_patch(e, op); break;
    case TILE_SCALAR:     el_scalar(e, op); break;
    case TILE_GEMM:       mm_gemm(e, op); break;
    case TILE_FOR:        fl_for(e, op); break;
    case TILE_IF:         fl_if(e, op); break;
    case TILE_PUT:        cp_put(e, op); break;
    case TILE_COPY_ASYNC:
        if (op->args[0]->def->kind == TILE_RING && !op->args[0]->def->lanes) tm_copy(e, op);
        else cp_async(e, op);
        break;
    case TILE_COMMIT:
        if (wn_copies_at_once(e)) em(e, "cp.async.commit_group;");
        break;
    case TILE_WAIT:
        if (wn_copies_at_once(e)) em(e, "cp.async.wait_group %d;", op->count);
        break;
    case TILE_BARRIER:
        if (op->across) me_wait_for_all(e);
        else em(e, "bar.sync %d;", op->count);
        break;
    case TILE_YIELD: case TILE_BUFFER: case TILE_VIEW: case TILE_RING:
        break; /* the region's owner, alloc, and the users take care */
    case TILE_ROLES:      ro_roles(e, op); break;
    case TILE_ACQUIRE:    rg_acquire(e, op); break;
    case TILE_FILLED:     rg_filled(e, op); break;
    case TILE_AWAIT:      rg_await(e, op); break;
    case TILE_RELEASE:    rg_release(e, op); break;
    case TILE_ISSUE:      wg_issue(e, op); break;
    case TILE_FINISH:     wg_finish(e, op); break;
    case TILE_REVISE:     rv_revise(e, op); break;
    case TILE_TAKE_TURN: case TILE_GIVE_TURN: ro_turn(e, op); break;
    case TILE_SOFTMAX: case TILE_PREPARE: case TILE_OP_COUNT:
        unsupported(e, op);
        break;
    }
}

void kn_block(Emitter *e, const TileBlock *block)
{
    const TileBlock *outer = e->block;
    int at = e->at;
    Known known = an_known(e);
    for (int i = 0; i < block->ops.len && !e->failed; i++) {
        const TileOp *op = block->ops.data[i];
        pl_draw(e, block, i);
        if (op->kind != TILE_FILL && op->kind != TILE_VIEW && op->kind != TILE_BUFFER && op->kind != TILE_YIELD)
            emit_place(e, op);
        e->block = block;
        e->at = i;
        e->fenced &= op->kind == TILE_RELEASE || op->kind == TILE_FILLED;
        int chain = ch_length(e, block, i);
        LaneNumbers kept = an_enter(e);
        if (chain > 0) ch_emit(e, block, i, chain);
        else emit_op(e, op);
        an_leave(e, &kept);
        i += chain > 0 ? chain - 1 : 0;
    }
    pl_draw(e, block, block->ops.len);
    an_forget(e, &known);
    e->block = outer;
    e->at = at;
}

bool kn_used_behind(const Emitter *e, const TileValue *v)
{
    return tile_used_in(e->block, e->at + 1, e->block->ops.len, v);
}

/* ---- entries ------------------------------------------------------------------------------- */

const char *kn_param(Emitter *e, AbiArgKind kind, int tensor, int which)
{
    for (int i = 0; i < e->abi->args.len; i++) {
        const AbiArg *a = &e->abi->args.data[i];
        if (a->kind != kind) continue;
        bool of_tensor = kind == ABI_ADDRESS || kind == ABI_STRIDE;
        if (of_tensor ? a->tensor == tensor && (kind == ABI_ADDRESS || a->axis == which) : a->position == which)
            return arena_printf(e->arena, "arg%d", i);
    }
    em_fail(e, (Span){0, 0}, TW0802, "the launch ABI lacks an argument");
    return "arg0";
}

static const char *param_type(const AbiArg *a)
{
    switch (a->kind) {
    case ABI_MAP:     return "align 64 .b8"; /* CUtensorMap */
    case ABI_ADDRESS: return "u64";
    case ABI_COUNTER: return "u64";
    case ABI_STRIDE:  return "s64";
    case ABI_DIM:     return "s32";
    case ABI_PARAM:   return "f32";
    }
    return "b64";
}

const char *kn_base(Emitter *e, int tensor)
{
    if (e->base[tensor]) return e->base[tensor];
    const char *generic = em_new(e, REG_RD);
    int floor = e->floor;
    e->base[tensor] = em_new(e, REG_RD);
    e->floor = 0;
    em_at(e, 0, "ld.param.u64 %s, [%s];", generic, kn_param(e, ABI_ADDRESS, tensor, 0));
    em_at(e, 0, "cvta.to.global.u64 %s, %s;", e->base[tensor], generic);
    e->floor = floor;
    return e->base[tensor];
}

const char *kn_stride(Emitter *e, int tensor, int dim)
{
    if (e->stride[tensor][dim]) return e->stride[tensor][dim];
    const char *elements = em_new(e, REG_RD);
    int bytes = dtype_bytes(e->program->tensors.data[tensor]->dtype); /* 1, 2, 4 or 8 */
    int floor = e->floor;
    e->stride[tensor][dim] = em_new(e, REG_RD);
    e->floor = 0;
    em_at(e, 0, "ld.param.s64 %s, [%s];", elements, kn_param(e, ABI_STRIDE, tensor, dim));
    em_at(e, 0, "shl.b64 %s, %s, %d;", e->stride[tensor][dim], elements, bytes == 8 ? 3 : bytes / 2);
    e->floor = floor;
    return e->stride[tensor][dim];
}

/* Whether the blocks that are to stand side by side leave a thread few registers. */
static bool has_few_registers(const Emitter *e)
{
    int threads = e->kernel->blocks_per_sm * e->kernel->warps * 32;
    return e->aligned && threads * FEW_REGISTERS >= e->target->regs_per_sm;
}

/* Of all tensors at once; in a role and where registers are few, where each is needed first: what
 * only an output wants is not kept through the loops before it. */
static void load_tensor_arguments(Emitter *e)
{
    int n = e->program->tensors.len;
    bool at_once = !e->role && !has_few_registers(e);
    e->base = arena_array(e->arena, const char *, n);
    e->stride = arena_alloc_array(e->arena, (size_t)n, sizeof *e->stride);
    memset(e->stride, 0, (size_t)n * sizeof *e->stride);
    for (int t = 0; at_once && t < n; t++) {
        kn_base(e, t);
        for (int d = 0; d + 1 < e->program->tensors.data[t]->rank; d++) kn_stride(e, t, d);
    }
}

void kn_dimensions(Emitter *e)
{
    for (int i = 0; i < e->program->dims.len; i++) {
        const char *reg = em_new(e, REG_R);
        em(e, "ld.param.s32 %s, [%s];", reg, kn_param(e, ABI_DIM, 0, i));
        ix_bind(e, e->program->dims.data[i], reg, em_level(e));
    }
}

static void divide_by_extent(Emitter *e, const TileAxis *axis, const char *extent, const char *x, const char *quotient,
                             const char *rest)
{
    int64_t number;
    if (aff_is_const(axis->extent, &number) && number > 0 && number <= INT32_MAX) {
        ix_divide(e, em_level(e), quotient, x, number);
        ix_remainder(e, em_level(e), rest, x, quotient, number);
        return;
    }
    em(e, "div.u32 %s, %s, %s;", quotient, x, extent);
    em(e, "mul.lo.s32 %s, %s, %s;", rest, quotient, extent);
    em(e, "sub.s32 %s, %s, %s;", rest, x, rest);
}

/* Whether all blocks have the same place along it, as where an axis says whether there are any. */
static bool has_one_place(const TileAxis *axis)
{
    int64_t lo, hi;
    aff_bounds(axis->extent, &lo, &hi);
    return hi <= 1;
}

static bool more_axes(const TileKernel *kernel, int after)
{
    for (int i = after + 1; i < kernel->grid.len; i++)
        if (!kernel->grid.data[i].within && !has_one_place(&kernel->grid.data[i])) return true;
    return false;
}

/* First axis fastest. */
void kn_decode_grid(Emitter *e, const char *rest)
{
    for (int i = 0; i < e->kernel->grid.len; i++) {
        const TileAxis *axis = &e->kernel->grid.data[i];
        if (axis->within) continue;
        if (has_one_place(axis)) {
            const char *first = em_new(e, REG_R);
            em(e, "mov.b32 %s, 0;", first);
            ix_bind(e, axis->sym, first, em_level(e));
            continue;
        }
        const char *extent = ix_value(e, axis->extent), *at = rest;
        if (more_axes(e->kernel, i)) {
            const char *quotient = em_new(e, REG_R);
            at = em_new(e, REG_R);
            divide_by_extent(e, axis, extent, rest, quotient, at);
            rest = quotient;
        }
        if (axis->reversed) {
            const char *back = em_new(e, REG_R);
            em(e, "sub.s32 %s, %s, %s;", back, extent, at);
            em(e, "add.s32 %s, %s, -1;", back, back);
            at = back;
        }
        ix_bind(e, axis->sym, at, em_level(e));
    }
}

void kn_arguments(Emitter *e)
{
    load_tensor_arguments(e);
    kn_dimensions(e);
}

void kn_lanes(Emitter *e, const char *zero)
{
    e->tid = em_new(e, REG_R);
    e->lane = em_new(e, REG_R);
    e->warp = em_new(e, REG_R);
    e->smem = em_new(e, REG_R);
    const char *wide = em_new(e, REG_R);
    em(e, "mov.u32 %s, %%tid.x;", e->tid);
    if (zero) em(e, "add.s32 %s, %s, %s;", e->tid, e->tid, zero);
    em(e, "and.b32 %s, %s, 31;", e->lane, e->tid);
    /* The same in all lanes: a shuffle tells ptxas, which then keeps what depends
     * on it in uniform registers. */
    em(e, "shr.u32 %s, %s, 5;", wide, e->tid);
    em(e, "shfl.sync.idx.b32 %s, %s, 0, 31, -1;", e->warp, wide);
    em(e, "mov.u32 %s, tw_shared;", e->smem);
}

static void declare_registers(const Emitter *e, Str *out)
{
    static const struct { const char *type, *prefix; } CLASSES[REG_CLASSES] = {
        {"b32", "%r"}, {"b64", "%rd"}, {"f32", "%f"}, {"pred", "%p"}, {"b16", "%h"},
    };
    for (int c = 0; c < REG_CLASSES; c++)
        if (e->next[c] > 0)
            str_printf(out, "\t.reg .%s %s<%d>;\n", CLASSES[c].type, CLASSES[c].prefix, e->next[c]);
}

/* No more blocks than have room for what they keep, which ptxas does not see. Told nothing it spills some for more. */
static int as_room_is_shared(const Emitter *e, int blocks)
{
    int room = (int)(e->target->shared_per_sm / (e->kernel->shared_bytes + e->target->shared_reserved + 1));
    return blocks <= 0 || room < 1 ? 1 : blocks < room ? blocks : room;
}

static void print_signature(const Emitter *e, Str *out, const char *entry)
{
    str_printf(out, ".visible .entry %s(\n", entry);
    for (int i = 0; i < e->abi->args.len; i++)
        str_printf(out, "\t.param .%s arg%d%s%s // %s\n", param_type(&e->abi->args.data[i]), i,
                   e->abi->args.data[i].kind == ABI_MAP ? "[128]" : "",
                   i + 1 < e->abi->args.len ? "," : "", e->abi->args.data[i].name);
    int cluster = tile_cluster_blocks(e->kernel);
    str_add(out, ")\n");
    if (cluster > 1) str_printf(out, ".explicitcluster\n.reqnctapercluster %d, 1, 1\n", cluster);
    /* setmaxnreg wants to know the number of threads (PTX ISA, setmaxnreg) */
    str_printf(out, ".%s %d, 1, 1\n", tile_has(e->kernel->body, TILE_ROLES) ? "reqntid" : "maxntid", e->kernel->warps * 32);
    /* The entry for any addresses needs registers for elements one by one, which do not
     * count: it takes what it needs. That is said with 1; with nothing said ptxas spills some
     * of them for more blocks. */
    bool aims = e->aligned || wn_aims(e) || tile_has(e->kernel->body, TILE_ROLES);
    int blocks = !aims ? 1 : e->kernel->blocks_per_sm > 0 ? e->kernel->blocks_per_sm : ai_blocks(e);
    if (aims && e->kernel->kept > 0 && e->kernel->blocks_per_sm <= 0) blocks = as_room_is_shared(e, blocks);
    else if (aims && e->kernel->kept > 0) blocks = blocks < ai_most(e) ? blocks : ai_most(e);
    if (blocks > 0) str_printf(out, ".minnctapersm %d\n", blocks);
}

/* An entry, and who emits it. */
typedef struct Emission {
    Str *out;
    TileProgram *program;
    const Abi *abi;
    const Target *target;
    Diags *diags;
    const TileKernel *kernel;
    const char *entry;
    Texts *texts;
    bool aligned, ok;
    Arena *own; /* what emitting needs: the next entry finds memory that the caches know */
} Emission;

static void emit(void *user)
{
    Emission *job = user;
    const TileProgram *program = job->program;
    const TileKernel *kernel = job->kernel;
    Str *out = job->out;
    Arena *arena = job->own = arena_new(arena_heap(program->arena));
    Emitter *e = arena_new_of(arena, Emitter);
    *e = (Emitter){.arena = arena, .program = program, .kernel = kernel, .abi = job->abi,
                   .target = job->target, .diags = job->diags, .texts = job->texts, .aligned = job->aligned};
    e->memos = mo_new(arena);
    e->n_syms = aff_sym_count(program->aff);
    e->syms = arena_array(arena, Memo, e->n_syms);
    e->frags = arena_array(arena, Frag, kernel->next_value + SPARE_FRAGS);
    int *uses = arena_array(arena, int, kernel->next_value);
    tile_count_all_uses(kernel->body, uses);
    e->uses = uses;
    e->reserved = arena_array(arena, int *, kernel->next_value + SPARE_FRAGS);
    e->votes = arena_array(arena, const char *, kernel->next_value);
    e->awaited = arena_array(arena, const Aff *, kernel->next_value);
    em_open(e);
    kn_lanes(e, NULL);
    if (!tile_has(kernel->body, TILE_ROLES)) {
        const char *block = em_new(e, REG_R);
        em(e, "mov.u32 %s, %%ctaid.x;", block);
        kn_arguments(e);
        kn_decode_grid(e, block);
        wn_open(e);
    }
    me_open(e);
    kn_block(e, kernel->body);
    em(e, "ret;");
    print_signature(e, out, job->entry);
    str_add(out, "{\n");
    declare_registers(e, out);
    str_addn(out, e->scopes.data[0].data, e->scopes.data[0].len);
    str_add(out, "}\n\n");
    em_give(e, e->scopes.data[0]);
    job->ok = !e->failed;
}

static void drop_own(void *user)
{
    const Emission *job = user;
    if (job->own) arena_free(job->own);
}

static bool emit_entry(Emission job, const TileKernel *kernel, const char *entry, bool aligned)
{
    job.kernel = kernel;
    job.entry = entry;
    job.aligned = aligned;
    heap_guard(arena_heap(job.program->arena), emit, drop_own, &job);
    return job.ok;
}

/* Most entries are as long as the first; but no more is taken for a guess. */
static void reserve_for_others(Str *out, int others)
{
    enum { MOST = 16 << 20 };
    size_t guess = out->len * (size_t)others;
    str_reserve(out, guess < MOST ? guess : MOST);
}

bool ptx_emit(Str *out, TileProgram *program, const Abi *abi, const Target *target, Diags *diags)
{
    Texts texts = {.arena = program->arena};
    const Emission job = {.out = out, .program = program, .abi = abi, .target = target, .diags = diags, .texts = &texts};
    abi_ptx_comment(out, abi);
    str_printf(out, ".version %s\n.target %s\n.address_size 64\n", target->ptx_version, target->name);
    if (program->source) {
        str_add(out, ".file 1 ");
        str_json(out, program->source->path);
        str_addc(out, '\n');
    }
    str_add(out, ".extern .shared .align 1024 .b8 tw_shared[];\n\n");
    for (int k = 0; k < program->kernels.len; k++) {
        const TileKernel *kernel = program->kernels.data[k];
        const AbiKernel *launch = &abi->kernels.data[k];
        if (!emit_entry(job, kernel, launch->fast.name, true)) return false;
        const TileKernel *other = launch->any.name ? ptx_kernel_for_any(program, kernel) : NULL;
        if (other && !emit_entry(job, other, launch->any.name, false)) return false;
        if (k == 0) reserve_for_others(out, program->kernels.len - 1);
    }
    return true;
}
