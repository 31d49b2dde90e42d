/* wgmma.c: matrix products of a warpgroup, which run while its warps go on.
 *
 * PTX ISA, "Asynchronous warpgroup level matrix instructions". A warpgroup
 * multiplies 64 rows; D lies as accumulators of mma.m16n8 do, its warps one below
 * the other (LAY_MMA_C, 4x1), and A in registers as its operand (LAY_MMA_A, 4x1).
 * Operands in shared memory are named by descriptors ("Matrix descriptor format"):
 *
 *   bits 0-13   address / 16        16-29  leading offset / 16
 *   bits 32-45  stride offset / 16  62-63  swizzle: 1 of 128 bytes, 2 of 64, 3 of 32
 *
 * Tiles lie in panels (lay.h). Of an operand whose rows run along k ("K-major") a
 * step is 32 bytes further in its panel, and the leading offset does not matter; of
 * one whose rows run along m or n the leading offset leads from panel to panel, and a
 * step is as many rows further. The stride offset leads from eight rows to the next.
 *
 * Where an operand is as wide as a panel, the next panel may lie anywhere behind it. So a
 * product by a constant (pass/ones.c), which any bytes of its tile can be, is eight columns
 * more of the product before it: the leading offset leads to the constant, from wherever
 * a step begins.
 */
#include "ptx/roles.h"

enum { JOINED = 8 }; /* columns that a constant adds to a product */

typedef struct Operand {
    SharedTile tile;
    bool along;          /* rows run along m or n, not along k */
    int step_k;
    const SharedTile *constant; /* its next panel, or NULL */
    const char *low;     /* register: the lower word for the first step, columns 0 */
} Operand;

static int panel_of(const Operand *o)
{
    return o->tile.type->layout.panel;
}

/* What a step of `bytes` adds to the lower word: where the next panel is fixed, that comes
 * nearer. */
static int64_t step_word(const Operand *o, int64_t bytes)
{
    return o->constant ? bytes / 16 * (1 - (1 << 16)) : bytes / 16;
}

static const char *first_step(Emitter *e, const Operand *o)
{
    const char *low = em_new(e, REG_R);
    if (o->constant) {
        int64_t stage = step_word(o, o->tile.bytes);
        em(e, "shr.u32 %s, %s, 4;", low, e->smem);
        em(e, "add.s32 %s, %s, %s;", low, low, ix_value(e, aff_scale(e->program->aff, o->tile.index, stage)));
    } else {
        em(e, "shr.u32 %s, %s, 4;", low, sh_base(e, &o->tile));
    }
    return low;
}

static void find_operand(Emitter *e, Operand *o)
{
    const TileType *t = o->tile.type;
    int64_t leading = o->constant ? o->constant->offset - o->tile.offset : o->along ? (int64_t)t->rows * panel_of(o) : 16;
    o->low = first_step(e, o);
    em(e, "add.s32 %s, %s, %lld;", o->low, o->low, (long long)(o->tile.offset / 16 + (leading / 16 << 16)));
}

/* Bytes from the operand's first element to where a step begins, of columns (rows of
 * the product's other side) from `first` on. */
static int64_t step_offset(const Operand *o, int step, int first)
{
    const TileType *t = o->tile.type;
    int panel = panel_of(o), size = dtype_bytes(t->dtype);
    if (o->along) return (int64_t)step * o->step_k * panel + (int64_t)first * size / panel * t->rows * panel;
    int byte = step * o->step_k * size;
    return (int64_t)(byte / panel) * t->rows * panel + byte % panel + (int64_t)first * panel;
}

static const char *descriptor(Emitter *e, const Operand *o, int step, int first)
{
    const char *low = em_new(e, REG_R), *d = em_new(e, REG_RD);
    int panel = panel_of(o);
    unsigned swizzle = panel == 128 ? 1 : panel == 64 ? 2 : panel == 32 ? 3 : 0;
    em(e, "add.s32 %s, %s, %lld;", low, o->low, (long long)step_word(o, step_offset(o, step, first)));
    em(e, "mov.b64 %s, {%s, 0x%x};", d, low, swizzle << 30 | (unsigned)(8 * panel / 16));
    return d;
}

static const char *registers(Emitter *e, const char *prefix, const int *regs, int n)
{
    Str list = str_new(e->arena);
    for (int i = 0; i < n; i++) str_printf(&list, "%s%s%d", i ? ", " : "", prefix, regs[i]);
    return str_text(&list);
}

static bool fits(Emitter *e, const TileOp *op)
{
    const TileType *a = &op->args[0]->type, *b = &op->args[1]->type, *r = &op->results[0]->type;
    int k = op->trans_a ? a->rows : a->cols, step = target_mma_k(e->target, b->dtype);
    if (r->rows != 64 || r->layout.warps_m != 4 || r->layout.warps_n != 1 || r->cols % 8)
        em_fail(e, op->loc, TW0433, "a warpgroup multiplies 64 rows by a multiple of 8 columns, not %d by %d", r->rows, r->cols);
    else if (k % step || !dtype_is_narrow(b->dtype))
        em_fail(e, op->loc, TW0433, "a contraction of %d elements of %s", k, dtype_name(b->dtype));
    else if (dtype_bytes(b->dtype) == 1 && (op->trans_a || !op->trans_b))
        em_fail(e, op->loc, TW0777, "operands of 8 bits must run along the contraction");
    return !e->failed;
}

static bool is_zero(const Emitter *e, const TileValue *v)
{
    const char *number = e->frags[v->id].uniform;
    return number && strcmp(number, "0f00000000") == 0;
}

/* ---- what runs meanwhile ----------------------------------------------------------------- */

/* ptxas mixes arithmetic that is to run beside products among their issues, which then wait
 * for it, and waits for products before it. What ends a stretch of code neither is moved
 * over: a trap that never happens, which ptxas cannot know. */
const char *wg_never(Emitter *e)
{
    const char *p = em_new(e, REG_P);
    em(e, "setp.eq.s32 %s, %s, -1;", p, e->smem);
    return p;
}

/* Behind the loop of a role that was handed no registers ptxas has the trap itself wait for what it is not moved over,
 * and says that it waits (C7517). */
static bool may_hold(const Emitter *e)
{
    return e->loops > 0 || e->role->regs > 0;
}

static bool is_arithmetic(const TileOp *op)
{
    return op->kind == TILE_ELEMENT || op->kind == TILE_REDUCE;
}

/* Comparisons of a number a row take no time to speak of, and what they leave is no number. */
static bool is_worth_it(const TileOp *op)
{
    bool compares = op->kind == TILE_ELEMENT && op->op >= OP_GREATER && op->op <= OP_NOT_EQUAL;
    return is_arithmetic(op) && !(compares && op->results[0]->type.cols == 1);
}

/* By value id: whether a turn makes it anew. Of what comes from around the loop arithmetic is done ahead of it, by ptxas at the
 * latest: a trap that asks for that would part the warps of the role, and products wait for each other where ways part (C7518). */
static bool *made_in_turn(const Emitter *e)
{
    bool *made = arena_array(e->arena, bool, e->kernel->next_value);
    bool in_turn = e->turn && em_level(e) == e->turn_level;
    for (int i = 0; i < e->kernel->next_value; i++) made[i] = !in_turn;
    for (int k = 0; k < e->block->params.len; k++) made[e->block->params.data[k]->id] = true;
    for (int i = 0; i < e->at && in_turn; i++) {
        const TileOp *op = e->block->ops.data[i];
        bool makes = !is_arithmetic(op) && op->kind != TILE_FILL;
        for (int k = 0; k < op->n_args; k++) makes |= made[op->args[k]->id];
        for (int k = 0; k < op->n_results; k++) made[op->results[k]->id] = makes;
    }
    return made;
}

/* The last arithmetic since a product was started, with nothing but such between. */
static const TileValue *done_meanwhile(const Emitter *e)
{
    if (!may_hold(e)) return NULL;
    const bool *made = made_in_turn(e);
    const TileValue *last = NULL;
    bool worth_it = false;
    for (int i = e->at - 1; i >= 0; i--) {
        const TileOp *op = e->block->ops.data[i];
        if (op->kind == TILE_ISSUE) return worth_it ? last : NULL;
        if (!is_arithmetic(op) && op->kind != TILE_FILL) return NULL;
        if (!is_arithmetic(op) || !made[op->results[0]->id]) continue;
        if (!last) last = op->results[0];
        worth_it |= is_worth_it(op);
    }
    return NULL;
}

static void begin_meanwhile(Emitter *e)
{
    const TileOp *next = e->at + 1 < e->block->ops.len ? e->block->ops.data[e->at + 1] : NULL;
    if (next && is_arithmetic(next) && may_hold(e)) em(e, "@%s trap;", wg_never(e));
}

static void end_meanwhile(Emitter *e, const TileValue *last)
{
    const char *p = wg_never(e);
    for (int i = 0; i < e->frags[last->id].n; i++) {
        const char *q = em_new(e, REG_P), *f = fr_operand(e, last, i);
        em(e, "setp.nan.and.f32 %s, %s, %s, %s;", q, f, f, p);
        em(e, "@%s trap;", q);
    }
}

/* ---- starting --------------------------------------------------------------------------- */

static bool adds(const Emitter *e, const TileOp *op)
{
    return op->n_args == 3 && !is_zero(e, op->args[2]);
}

/* The product by a constant that becomes part of this one, and the constant; or NULL. */
static const TileOp *joined(const Emitter *e, const TileOp *op, const SharedTile *b_tile, SharedTile *constant)
{
    const TileOp *next = e->at + 1 < e->block->ops.len ? e->block->ops.data[e->at + 1] : NULL;
    const TileType *b = &op->args[1]->type;
    if (!next || next->kind != TILE_ISSUE || next->args[0] != op->args[0] || op->trans_a || op->trans_b) return NULL;
    const TileOp *def = next->args[1]->def;
    bool fills = b->cols * dtype_bytes(b->dtype) == b->layout.panel;
    if (!def || def->kind != TILE_FILL || def->results[0]->type.dtype != b->dtype || !fills) return NULL;
    if (!sh_view(e, next->args[1], constant) || constant->offset <= b_tile->offset) return NULL;
    return next->results[0]->type.cols == JOINED && adds(e, op) == adds(e, next) ? next : NULL;
}

/* The registers of a product's result; where they are in flight, the same. */
static const int *accumulators(Emitter *e, const TileOp *op)
{
    const TileValue *r = op->results[0];
    if (adds(e, op) && op->args[2]->type.pending) e->frags[r->id] = e->frags[op->args[2]->id];
    else if (adds(e, op)) fr_take(e, r, op->args[2]);
    else fr_new_f32(e, r);
    return e->frags[r->id].f;
}

/* The registers of columns `first` to `first` + n. */
static const char *destination(Emitter *e, const int *acc, int first, int n, const int *more)
{
    const char *list = registers(e, "%f", &acc[first / 2], n / 2);
    return more ? arena_printf(e->arena, "%s, %s", list, registers(e, "%f", more, JOINED / 2)) : list;
}

/* Columns of an instruction. All of its registers must be among those that a thread starts with (ptxas, C7602),
 * however many its role has. */
static int columns_at_once(const Emitter *e, int cols)
{
    enum { BESIDE = 26 };
    int most = 2 * (target_launch_registers(e->target, e->kernel->warps) - BESIDE), parts = 1;
    if (most > TARGET_GROUP_COLUMNS) most = TARGET_GROUP_COLUMNS;
    while ((cols + parts - 1) / parts > most || (parts > 1 && cols % (8 * parts))) parts++;
    return cols > most ? cols / parts : TARGET_GROUP_COLUMNS;
}

void wg_issue(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *b = op->args[1], *r = op->results[0];
    Operand x = {.along = op->trans_a}, y = {.along = !op->trans_b};
    SharedTile constant;
    if (e->joined == op) {
        e->joined = NULL;
        return; /* started with the one before */
    }
    bool a_shared = sh_view(e, a, &x.tile);
    const int *packed = NULL;
    if (!sh_view(e, b, &y.tile)) em_fail(e, op->loc, TW0773, "the second operand of a product is not in shared memory");
    if (e->failed || !fits(e, op)) {
        fr_new_f32(e, r);
        return;
    }
    DType type_a = dtype_is_narrow(a->type.dtype) ? a->type.dtype : b->type.dtype; /* of 8 bits they may differ */
    e->joined = joined(e, op, &y.tile, &constant);
    e->groups = e->groups << 1 | 1;
    if (e->joined) e->groups <<= 1;
    y.constant = e->joined ? &constant : NULL;
    x.step_k = y.step_k = target_mma_k(e->target, b->type.dtype);
    if (a_shared) find_operand(e, &x);
    else packed = fr_packed(e, a, type_a);
    find_operand(e, &y);
    const char *more = adds(e, op) ? e->always : e->never;
    const int *acc = accumulators(e, op), *sums = e->joined ? accumulators(e, e->joined) : NULL;
    int k = op->trans_a ? a->type.rows : a->type.cols;
    em(e, "wgmma.fence.sync.aligned;");
    int columns = columns_at_once(e, r->type.cols);
    for (int first = 0; first < r->type.cols; first += columns) {
        int n = r->type.cols - first < columns ? r->type.cols - first : columns;
        for (int step = 0; step * x.step_k < k; step++) {
            const char *left = packed ? arena_printf(e->arena, "{%s}", registers(e, "%r", &packed[step * 4], 4))
                                      : descriptor(e, &x, step, 0);
            const char *right = descriptor(e, &y, step, first);
            bool halves = dtype_bytes(b->type.dtype) == 2;
            em(e, "wgmma.mma_async.sync.aligned.m64n%dk%d.f32.%s.%s {%s}, %s, %s, %s, 1, 1%s%s;", n + (sums ? JOINED : 0), x.step_k, mm_type(type_a),
               mm_type(b->type.dtype), destination(e, acc, first, n, sums), left, right, step ? e->always : more,
               halves && !packed ? (op->trans_a ? ", 1" : ", 0") : "", halves ? (op->trans_b ? ", 0" : ", 1") : "");
        }
    }
    em(e, "wgmma.commit_group.sync.aligned;");
    if (!e->settled) rg_settle(e); /* while the first product is under way */
    e->settled = true;
    begin_meanwhile(e);
}

/* ---- waiting ------------------------------------------------------------------------------ */

/* Groups among the last products: one that joined is in the group of the one before. */
static int groups_in(const Emitter *e, int products)
{
    int n = 0;
    for (int i = 0; i < products; i++) n += e->groups >> i & 1;
    return n;
}

/* Whether the block has waited for as much since it started a product. */
static bool has_waited(const Emitter *e, int leaving)
{
    for (int i = e->at - 1; i >= 0; i--) {
        const TileOp *op = e->block->ops.data[i];
        if (op->kind == TILE_ISSUE || op->n_regions) return false;
        if (op->kind == TILE_FINISH && groups_in(e, op->count) <= leaving) return true;
    }
    return false;
}

/* The registers stay the same, so that nothing in flight is moved. */
void wg_finish(Emitter *e, const TileOp *op)
{
    int leaving = groups_in(e, op->count);
    const TileValue *meanwhile = done_meanwhile(e);
    if (meanwhile) end_meanwhile(e, meanwhile);
    if (!has_waited(e, leaving)) em(e, "wgmma.wait_group.sync.aligned %d;", leaving);
    e->frags[op->results[0]->id] = e->frags[op->args[0]->id];
    e->frags[op->results[0]->id].packed = NULL;
}
