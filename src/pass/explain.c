/* explain.c: what the passes chose for a kernel, and why.
 *
 * Of choices between several ways (schedule.def) each pass has said the reason when it decided
 * (decide.c). The rest is read off the kernel itself: who runs side by side, what lies where in shared
 * memory, what tensor cores are given, in which order the places of the grid are taken.
 */
#include "pass/explain.h"

#include "lang/schedule.h"

#include <math.h>

typedef struct Explainer {
    const TileProgram *program;
    const TileKernel *kernel;
    const Target *target;
    WhyList *list;
    int barriers;
} Explainer;

static void because(Explainer *e, const char *name, const char *value, const char *why)
{
    vec_push(e->program->arena, e->list, (Why){name, value, why});
}

static void explain_decided(Explainer *e)
{
    for (int i = 0; i < SCHED_COUNT; i++) {
        SchedValue value = e->kernel->decided.value[i];
        if (value == SCHED_AUTO) continue;
        const SchedInfo *info = sched_value_info(value);
        const char *why = e->kernel->because[i];
        because(e, sched_info((SchedId)i)->name, info->name, why ? arena_printf(e->program->arena, "%s: %s", info->help, why) : info->help);
    }
}

/* ---- who runs side by side ------------------------------------------------------------------------ */

static const char *work_of(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_COPY_ASYNC && op->args[0]->def->lanes) return "copies 16 bytes a lane what bulk copies do not bring, or bring slowly";
        if (op->kind == TILE_COPY_ASYNC) return "starts every copy, a tensor map's box at a time";
        if (op->kind == TILE_PUT) return "computes operands for the others";
        for (int k = 0; k < op->n_regions; k++) {
            const char *within = work_of(op->regions[k]);
            if (within) return within;
        }
    }
    return NULL;
}

static void explain_role(Explainer *e, const TileOp *roles, int k)
{
    const TileRole *role = &roles->roles[k];
    Arena *arena = e->program->arena;
    int instances = tile_instances(e->kernel, role->per);
    const char *value = instances > 1 ? arena_printf(arena, "%d x %d warps", instances, role->warps) : arena_printf(arena, "%d warps", role->warps);
    const char *work = work_of(roles->regions[k]), *what = work ? work : "multiplies and computes";
    because(e, arena_printf(arena, "role %s", role->name), value,
            role->regs ? arena_printf(arena, "%s; %d registers a thread (setmaxnreg)", what, role->regs) : what);
}

/* ---- what lies in shared memory ------------------------------------------------------------------- */

static const char *place_of(const Explainer *e, const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    int copies = op->kind == TILE_RING && op->count > 1 ? op->count : 1;
    const char *tile = arena_printf(e->program->arena, "%d x %d x %d %s", t->stages > 1 ? t->stages : 1, t->rows, t->cols, dtype_name(t->dtype));
    return copies > 1 ? arena_printf(e->program->arena, "%d x %s", copies, tile) : tile;
}

static const char *filled_by(const TileOp *op)
{
    if (op->kind == TILE_RING) return "stages go round between copies and products, a pair of mbarriers each";
    if (op->kind == TILE_FILL) return "filled once, at the start";
    return op->results[0]->type.stages > 1 ? "stages take turns, so that copies run ahead of what reads them" : "stays, or is used at once";
}

static void explain_storage(Explainer *e, const TileOp *op)
{
    Arena *arena = e->program->arena;
    const TileValue *v = op->results[0];
    Str layout = str_new(arena);
    lay_print(&layout, v->type.layout);
    const char *why = arena_printf(arena, "%s; %lld bytes at %lld, %s", filled_by(op), (long long)tile_storage_bytes(op),
                                   (long long)op->offset, str_text(&layout));
    if (v->type.layout.kind == LAY_PANELS)
        why = arena_printf(arena, "%s: rows of so many bytes, swizzled, so that neither copies nor products meet in a bank", why);
    because(e, arena_printf(arena, "shared %s", v->name ? v->name : "tile"), place_of(e, op), why);
}

/* ---- what tensor cores are given ------------------------------------------------------------------ */

static bool is_told(const Explainer *e, const char *name)
{
    for (int i = 0; i < e->list->len; i++)
        if (strcmp(e->list->data[i].name, name) == 0) return true;
    return false;
}

/* Once for each, however often a pass has written it. */
static void explain_product(Explainer *e, const TileOp *op)
{
    const TileType *a = &op->args[0]->type, *r = &op->results[0]->type;
    const char *name = arena_printf(e->program->arena, "product %s", op->results[0]->name ? op->results[0]->name : "");
    if (is_told(e, name)) return;
    because(e, name, arena_printf(e->program->arena, "%d x %d x %d", r->rows, r->cols, op->trans_a ? a->rows : a->cols),
            arena_printf(e->program->arena, "%s; the first operand is in %s", op->kind == TILE_ISSUE ? "of warpgroups (wgmma), which go on beside it"
                                                                                                      : "of warps",
                         a->space == SPACE_SHARED ? "shared memory" : "registers"));
}

/* ---- what masks cost ------------------------------------------------------------------------------ */

/* A number in the place of minus infinity, as far as a softmax sees it. */
static void explain_mask(Explainer *e, const TileOp *op)
{
    static const double FAR_BELOW = -1000;
    const char *name = arena_printf(e->program->arena, "mask %s", op->results[0]->name ? op->results[0]->name : "");
    if (!isfinite(op->number) || op->number > FAR_BELOW || op->results[0]->type.cols == 1 || is_told(e, name)) return;
    because(e, name, arena_printf(e->program->arena, "else %g", op->number),
            "a number like others: all turns are computed, for of a row of which nothing is kept a softmax would be an average; "
            "`else -inf`, or none, leaves turns out of which nothing is kept, and gives zeros there");
}

static void explain_block(Explainer *e, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        e->barriers += op->kind == TILE_BARRIER;
        if (tile_is_storage(op)) explain_storage(e, op);
        if (op->kind == TILE_ISSUE || op->kind == TILE_GEMM) explain_product(e, op);
        if (op->kind == TILE_MASK) explain_mask(e, op);
        for (int k = 0; k < op->n_regions; k++) {
            if (op->kind == TILE_ROLES) explain_role(e, op, k);
            explain_block(e, op->regions[k]);
        }
    }
}

/* ---- where blocks go ------------------------------------------------------------------------------- */

static void explain_axes(Explainer *e)
{
    Arena *arena = e->program->arena;
    Str order = str_new(arena), why = str_new(arena);
    for (int i = 0; i < e->kernel->grid.len; i++) {
        const TileAxis *axis = &e->kernel->grid.data[i];
        if (axis->within) continue;
        str_printf(&order, "%s%s", order.len ? ", " : "", axis->sym->name);
        if (axis->reversed) str_printf(&why, "; the last %s first, since it has most to do", axis->sym->name);
        if (axis->note) str_printf(&why, "; %s: %s", axis->sym->name, axis->note);
    }
    if (order.len) because(e, "order", str_text(&order), arena_printf(arena, "places of the grid, the first changing fastest%s", str_text(&why)));
}

static void explain_blocks(Explainer *e)
{
    Arena *arena = e->program->arena;
    const TileKernel *k = e->kernel;
    because(e, "shared bytes", arena_printf(arena, "%lld", (long long)k->shared_bytes),
            arena_printf(arena, "of the %d that a block may have", e->target->shared_per_block));
    if (e->barriers)
        because(e, "barriers", arena_printf(arena, "%d", e->barriers), "where warps would race on shared memory");
    if (k->persistent)
        because(e, "persistent", arena_printf(arena, "%d", k->persistent),
                "blocks a multiprocessor, which take one place after the other from a counter: the next one's copies begin before this one's end");
    if (k->plain)
        because(e, "beside it", arena_printf(arena, "%s_any", k->name), "runs where a tensor's address or strides are no multiples of 16 bytes");
}

void pass_explain(const TileProgram *program, const TileKernel *kernel, const Target *target, WhyList *list)
{
    Explainer e = {program, kernel, target, list, 0};
    explain_decided(&e);
    explain_block(&e, kernel->body);
    explain_blocks(&e);
    explain_axes(&e);
}
