/* explain.c: a sentence for every parameter, with the numbers it was chosen by. */
#include "reason/plan.h"

typedef struct Explainer {
    Plan *plan;
    const Choice *c;
    const Target *t;
    ReasonResult *result;
} Explainer;

static void because(Explainer *e, const char *name, const char *value, const char *why)
{
    vec_push(e->plan->arena, &e->result->why, (Why){name, value, why});
}

static const char *number(Explainer *e, int64_t n)
{
    return arena_printf(e->plan->arena, "%lld", (long long)n);
}

static void explain_rows(Explainer *e, const Extent *extent)
{
    Arena *arena = e->plan->arena;
    int warps_m = e->c->warps / e->c->warps_n;
    int64_t rows = e->c->size[extent->id];

    if (extent->fixed) {
        because(e, extent->tile, number(e, rows),
                extent->looked_up ? "a coordinate that differs from row to row is one integer for a tile of one row" : "set by hand");
        return;
    }
    if (e->c->in_rows) {
        because(e, extent->tile, number(e, rows),
                arena_printf(arena, "rows of %s a block, %d x %d warps over them", extent->dim_name, warps_m, e->c->warps_n));
        return;
    }
    because(e, extent->tile, number(e, rows),
            arena_printf(arena, "rows of %s a block; %lld rows a warp, each of which reads the second operand of a "
                                "GEMM from shared memory once: %.0f cycles of shared memory to %.0f of tensor cores "
                                "a turn", extent->dim_name, (long long)(rows / warps_m), e->c->shared, e->c->mma));
}

static void explain_tile(Explainer *e, const Extent *extent)
{
    Arena *arena = e->plan->arena;
    int64_t size = e->c->size[extent->id];
    bool divides = !plan_ragged(e->c, extent);

    if (extent->fixed) {
        because(e, extent->tile, number(e, size), "set by hand");
        return;
    }
    because(e, extent->tile, number(e, size),
            arena_printf(arena, "%s of %s %s; %s", extent->kind == EXT_LOOP ? "steps" : "columns", extent->dim_name,
                         extent->kind == EXT_LOOP ? "a turn" : "a block",
                         divides ? "it divides the length" : "the last tile may be ragged"));
}

static void explain_whole(Explainer *e, const Extent *extent)
{
    int64_t size = e->c->size[extent->id], step = e->plan->contracted_step;
    const char *to = e->c->in_rows                   ? "a multiple of what the lanes of a row load at once"
                     : size - extent->known >= step ? "wider panels of shared memory"
                                                    : "a multiple of 16, the tensor cores' depth";

    if (size != extent->known)
        because(e, extent->dim_name ? extent->dim_name : "width", number(e, size),
                arena_printf(e->plan->arena, "%lld padded to %s; copies read 0 past the end", (long long)extent->known, to));
}

static void explain_warps(Explainer *e)
{
    Arena *arena = e->plan->arena;

    because(e, "warps", number(e, e->c->warps),
            arena_printf(arena, "%d x %d over the tile; about %d registers a thread of %d", e->c->warps / e->c->warps_n,
                         e->c->warps_n, e->c->registers, e->t->regs_per_thread));
    if (e->c->in_rows)
        because(e, "warps_n", number(e, e->c->warps_n),
                e->c->warps_n > 1 ? "a row is shared by so many warps, so that a lane holds few of its elements"
                                  : "a warp has rows of its own: its lanes lie side by side along them, 16 bytes each");
    else if (e->c->warps_n > 1)
        because(e, "warps_n", number(e, e->c->warps_n),
                plan_whole_cols(e->plan)   ? "a column reduction needs whole columns in a warp"
                : plan_whole_rows(e->plan) ? "no warp has registers for rows as wide as the sum: warps share them, and computed operands pass through shared memory"
                                           : "columns are split as well, since nothing needs whole rows in a warp");
    else if (plan_whole_cols(e->plan))
        because(e, "warps_n", "1", "a column reduction needs whole columns in a warp");
    else if (plan_whole_rows(e->plan))
        because(e, "warps_n", "1", "a row reduction or a computed operand needs whole rows in a warp");
}

static void explain_memory(Explainer *e)
{
    Arena *arena = e->plan->arena;
    const Choice *c = e->c;

    if (c->spare)
        because(e, "spare", number(e, c->spare), "registers a thread that are left to the assembler, beside those that are counted");
    if (c->in_rows) {
        because(e, "blocks_per_sm", number(e, c->blocks_per_sm),
                arena_printf(arena, "by registers, warps and shared memory; %.0f cycles of memory and %.0f of arithmetic a block, which "
                                    "alone takes about %.0f", c->traffic, c->alu, c->turn));
        if (c->kept)
            because(e, "kept", number(e, c->kept),
                    "turns whose tiles stay in shared memory: a row is read once, and all of it is on its way at once");
        if (c->cluster > 1)
            because(e, "cluster", number(e, c->cluster), "blocks that keep a row together, each a part of its turns: one has no room for it, or for others beside it");
        return;
    }
    because(e, "stages", number(e, c->stages),
            c->stages > 1 ? arena_printf(arena, "copies run %d turn%s of about %.0f cycles ahead", c->stages - 1,
                                         c->stages == 2 ? "" : "s", c->turn)
                          : "tiles that are used early and late in a turn are copied in turns; other blocks cover the rest");
    if (c->kept)
        because(e, "kept", number(e, c->kept), "turns whose tiles stay in shared memory: what loops behind the first would copy again is there");
    because(e, "shared memory", arena_printf(arena, "%lld bytes", (long long)c->shared_bytes),
            arena_printf(arena, "%lld resident and %lld in rings, of %d for a block", (long long)c->resident_bytes,
                         (long long)c->ring_bytes, e->t->shared_per_block));
    because(e, "blocks_per_sm", number(e, c->blocks_per_sm),
            arena_printf(arena, "%lld of %d bytes of shared memory and %d of %d registers", (long long)
                         (c->shared_bytes + e->t->shared_reserved) * c->blocks_per_sm, e->t->shared_per_sm,
                         (c->registers + 7) / 8 * 8 * 32 * c->warps * c->blocks_per_sm, e->t->regs_per_sm));
}

static void explain_added(Explainer *e, const Added *added)
{
    if (added->bounds)
        because(e, "bounds", number(e, added->bounds),
                "masks of tiles that may reach past the end, where zeros would count as elements");
    if (added->reshapes)
        because(e, "Reshape", number(e, added->reshapes),
                "a computed tile is multiplied again: accumulator fragments become operand fragments");
}

static void explain_parts(Explainer *e, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Extent *parts = plan_parts(e->plan, block->data[i]);

        if (parts) {
            because(e, parts->dim_name, number(e, parts->known),
                    arena_printf(e->plan->arena, "parts that %s is cut into, each for blocks of its own: the rest of the "
                                                 "grid is small for %d multiprocessors", block->data[i]->over, e->t->sms));
            return;
        }
    }
}

/* Choices of the passes: those made for them, and which there are. */
static void explain_schedule(Explainer *e)
{
    const Schedule *schedule = e->plan->options->schedule;
    Str open = str_new(e->plan->arena);

    for (int i = 0; i < SCHED_COUNT; i++) {
        const SchedInfo *info = sched_info((SchedId)i);
        SchedValue value = schedule ? schedule->value[i] : SCHED_AUTO;

        if (value != SCHED_AUTO) {
            because(e, info->name, sched_value_info(value)->name,
                    arena_printf(e->plan->arena, "set by hand: %s", sched_value_info(value)->help));
            continue;
        }
        str_printf(&open, "%s%s (", open.len ? ", " : "", info->name);
        sched_values_text(&open, (SchedId)i);
        str_addc(&open, ')');
    }
    if (open.len && !e->c->in_rows)
        because(e, "schedule", "auto", arena_printf(e->plan->arena, "left to the passes: %s", str_text(&open)));
}

/* A dimension may be spread over blocks and streamed as well. */
static bool named_before(const Plan *plan, int i)
{
    for (int k = 0; k < i; k++)
        if (plan->extents.data[k]->dim_name && strcmp(plan->extents.data[k]->dim_name, plan->extents.data[i]->dim_name) == 0)
            return true;
    return false;
}

/* Sizes that are not compiled in, but chosen for. */
static void explain_launch(Explainer *e)
{
    Str sizes = str_new(e->plan->arena);

    for (int i = 0; i < e->plan->extents.len; i++) {
        const Extent *extent = e->plan->extents.data[i];

        if (extent->expected > extent->known && extent->dim_name && !named_before(e->plan, i))
            str_printf(&sizes, "%s%s=%lld", sizes.len ? " " : "", extent->dim_name, (long long)extent->expected);
    }
    if (sizes.len)
        because(e, "launch", str_text(&sizes), "what the tiles are chosen for; other sizes are as right");
}

void plan_explain(Plan *plan, const Choice *c, const Added *added, ReasonResult *result)
{
    Explainer e = {plan, c, plan->options->target, result};

    if (plan->range.typical)
        because(&e, "kernel", plan->kernel_name,
                plan->range.to ? arena_printf(plan->arena, "for rows of up to %lld", (long long)plan->range.to)
                               : "for all longer rows: only their length, at launch, says how many warps share one");

    for (int i = 0; i < plan->extents.len; i++) {
        const Extent *extent = plan->extents.data[i];

        if (extent->kind == EXT_ROWS)
            explain_rows(&e, extent);
        else if (extent->kind == EXT_COLS || extent->kind == EXT_LOOP)
            explain_tile(&e, extent);
        else if (extent->kind == EXT_WHOLE)
            explain_whole(&e, extent);
    }
    explain_launch(&e);
    explain_parts(&e, &plan->unit->body);
    explain_warps(&e);
    explain_memory(&e);
    explain_added(&e, added);
    explain_schedule(&e);
    if (c->in_rows) {
        because(&e, "bound", c->limiter, "nothing is multiplied, so tiles lie as memory does and go straight to registers");
        return;
    }
    because(&e, "bound", c->limiter,
            arena_printf(plan->arena, "a turn: tensor cores %.0f, shared memory %.0f, exponentials %.0f, arithmetic "
                                      "%.0f, copies %.0f; %.0f cycles in all", c->mma, c->shared, c->exps, c->alu,
                         c->traffic, c->turn));
}
