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
 */
#include "ptx/roles.h"

typedef struct Operand {
    SharedTile tile;
    bool along;          /* rows run along m or n, not along k */
    int step_k;
    const char *low;     /* register: the lower word for the first step, columns 0 */
} Operand;

static int panel_of(const Operand *o)
{
    return o->tile.type->layout.panel;
}

static void find_operand(Emitter *e, Operand *o)
{
    const TileType *t = o->tile.type;
    const char *base = sh_base(e, &o->tile);
    int64_t leading = o->along ? (int64_t)t->rows * panel_of(o) : 16;
    o->low = em_new(e, REG_R);
    em(e, "shr.u32 %s, %s, 4;", o->low, base);
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
    em(e, "add.s32 %s, %s, %lld;", low, o->low, (long long)(step_offset(o, step, first) / 16));
    em(e, "mov.b64 %s, {%s, 0x%x};", d, low, swizzle << 30 | (unsigned)(8 * panel / 16));
    return d;
}

static const char *type_name(DType dtype)
{
    return dtype == DT_F16 ? "f16" : dtype_name(dtype);
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
        em_fail(e, op->loc, TW0804, "a warpgroup multiplies 64 rows by a multiple of 8 columns, not %d by %d", r->rows, r->cols);
    else if (k % step || !dtype_is_narrow(b->dtype))
        em_fail(e, op->loc, TW0804, "a contraction of %d elements of %s", k, dtype_name(b->dtype));
    else if (dtype_bytes(b->dtype) == 1 && (op->trans_a || !op->trans_b))
        em_fail(e, op->loc, TW0804, "operands of 8 bits must run along the contraction");
    return !e->failed;
}

static bool is_zero(const Emitter *e, const TileValue *v)
{
    const char *number = e->frags[v->id].uniform;
    return number && strcmp(number, "0f00000000") == 0;
}

void wg_issue(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *b = op->args[1], *r = op->results[0];
    Operand x = {.along = op->trans_a}, y = {.along = !op->trans_b};
    bool a_shared = sh_view(e, a, &x.tile);
    const int *packed = NULL;
    if (!sh_view(e, b, &y.tile)) em_fail(e, op->loc, TW0804, "the second operand of a product is not in shared memory");
    if (e->failed || !fits(e, op)) {
        fr_new_f32(e, r);
        return;
    }
    x.step_k = y.step_k = target_mma_k(e->target, b->type.dtype);
    if (a_shared) find_operand(e, &x);
    else packed = fr_packed(e, a, b->type.dtype);
    find_operand(e, &y);
    bool adds = op->n_args == 3 && !is_zero(e, op->args[2]);
    if (adds && op->args[2]->type.pending) e->frags[r->id] = e->frags[op->args[2]->id]; /* it is in flight there */
    else if (adds) fr_take(e, r, op->args[2]);
    else fr_new_f32(e, r);
    const int *acc = e->frags[r->id].f;
    int k = op->trans_a ? a->type.rows : a->type.cols;
    const char *type = type_name(b->type.dtype);
    em(e, "wgmma.fence.sync.aligned;");
    for (int first = 0; first < r->type.cols; first += TARGET_GROUP_COLUMNS) {
        int n = r->type.cols - first < TARGET_GROUP_COLUMNS ? r->type.cols - first : TARGET_GROUP_COLUMNS;
        for (int step = 0; step * x.step_k < k; step++) {
            const char *left = packed ? arena_printf(e->arena, "{%s}", registers(e, "%r", &packed[step * 4], 4))
                                      : descriptor(e, &x, step, 0);
            const char *right = descriptor(e, &y, step, first);
            bool halves = dtype_bytes(b->type.dtype) == 2;
            em(e, "wgmma.mma_async.sync.aligned.m64n%dk%d.f32.%s.%s {%s}, %s, %s, %s, 1, 1%s%s;", n, x.step_k, type, type,
               registers(e, "%f", &acc[first / 2], n / 2), left, right, adds || step ? e->always : e->never,
               halves && !packed ? (op->trans_a ? ", 1" : ", 0") : "", halves ? (op->trans_b ? ", 0" : ", 1") : "");
        }
    }
    em(e, "wgmma.commit_group.sync.aligned;");
    if (!e->settled) rg_settle(e); /* while the first product is under way */
    e->settled = true;
}

/* The registers stay the same, so that nothing in flight is moved. */
void wg_finish(Emitter *e, const TileOp *op)
{
    em(e, "wgmma.wait_group.sync.aligned %d;", op->count);
    e->frags[op->results[0]->id] = e->frags[op->args[0]->id];
    e->frags[op->results[0]->id].packed = NULL;
}
