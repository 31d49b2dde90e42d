/* choose.c: every combination of sizes, warps and stages, rated; the cheapest wins.
 *
 * Sizes are multiples of the tensor cores' shape; what --set forces is the only
 * candidate for its parameter. Among equals the smaller one wins, so that less
 * memory and fewer registers are held.
 */
#include "reason/plan.h"

#include <math.h>

enum {
    MAX_SIZES = 8,
    MAX_CANDIDATES = 40000,
    PANEL_BYTES = 128,
    A_LITTLE = 24 /* registers that ptxas may be short of, and mostly is not */
};

typedef struct Search {
    Plan *plan;
    Choice now, best, nearest; /* nearest: does not fit, but least of all */
    bool found, near_found;
    int considered;
    int tried;
    bool gemm;
    bool in_rows; /* rows.c chooses, if it can */
    bool doubted; /* something was refused for what ptxas may take */
    bool padded;  /* whole dimensions fill the panels that warps beside each other take */
    bool through; /* operands pass through shared memory, so that warps share rows: through.c */
    int warps_from, warps_to, stages_from, stages_to, warps_n_forced;
    int tried_from, tried_to; /* warps that an earlier round tried; 0: none */
} Search;

/* ---- settings ------------------------------------------------------------------------ */

static bool forced_number(Plan *plan, const char *name, int lo, int hi, int *value)
{
    double number;

    if (!plan_setting(plan, name, &number))
        return false;
    if (number < lo || number > hi || number != (int)number) {
        plan_fail(plan, TW0610, plan->unit->name_span, "%s = %g is not a number from %d to %d", name, number, lo, hi);
        return false;
    }
    *value = (int)number;
    return true;
}

/* Known to be fewer rows than four warps multiply: one may do. */
static bool few_rows(const Plan *plan)
{
    for (int i = 0; i < plan->extents.len; i++)
        if (plan->extents.data[i]->kind == EXT_ROWS)
            return plan->extents.data[i]->known > 0 && plan->extents.data[i]->known <= 32;
    return false;
}

static void read_forced(Search *s)
{
    int value;

    s->warps_from = s->gemm && !few_rows(s->plan) && !plan_whole_cols(s->plan) ? 4 : 1;
    s->warps_to = s->gemm && s->plan->options->target->has_wgmma ? 16 : 8;
    s->stages_from = 1;
    s->stages_to = s->gemm && plan_expects_launch(s->plan) ? 8 : 4; /* of few blocks, each has to keep much on its way */
    if (forced_number(s->plan, "warps", 1, 16, &value))
        s->warps_from = s->warps_to = value;
    if (forced_number(s->plan, "stages", 1, 8, &value))
        s->stages_from = s->stages_to = value;
    if (forced_number(s->plan, "warps_n", 1, 16, &value))
        s->warps_n_forced = value;
    if (forced_number(s->plan, "blocks_per_sm", 1, 32, &value))
        s->now.blocks_forced = value;
    if (forced_number(s->plan, "spare", 0, SCHED_SPARE_MOST, &value))
        s->now.spare = value;
    if (plan_is_set(s->plan, "kept") && plan_reads_again(s->plan) && forced_number(s->plan, "kept", 0, SCHED_KEPT_MOST, &value)) /* else it is without effect */
        s->now.kept = value;
    if (s->now.kept > 0 && forced_number(s->plan, "cluster", 0, SCHED_CLUSTER_MOST, &value))
        s->now.cluster = value;
    for (int i = 0; i < s->plan->extents.len; i++) {
        const Extent *extent = s->plan->extents.data[i];

        if (extent->tile && extent->fixed && (extent->fixed < 0 || (!s->in_rows && extent->fixed % 16 != 0)))
            plan_fail(s->plan, TW0610, s->plan->unit->name_span, s->in_rows ? "%s is not a positive number"
                                                                            : "%s is not a positive multiple of 16",
                      extent->tile);
    }
}

/* ---- candidates ---------------------------------------------------------------------------- */

/* Whether a register tile reaches along an extent. */
static bool in_registers(const Plan *plan, const Extent *extent)
{
    for (int i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];

        if (tile->reg && (tile->row == extent || tile->col == extent))
            return true;
    }
    return false;
}

/* Elements along an extent that a swizzled panel of shared memory holds: 128 bytes of the widest type that lies
 * there, of which tensor cores take 8 or 16 bits. Bulk copies bring a panel's row at once; where a thread
 * brings 16 bytes, panels of 64 bytes are as good, and less is in them. */
static int64_t panel_of(const Plan *plan, const Extent *extent)
{
    int widest = plan->options->target->has_tma ? 1 : 2;

    for (int i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];

        if (tile->shared && (tile->row == extent || tile->col == extent) && dtype_bytes(tile->shared_dtype) > 1)
            widest = 2;
    }
    return PANEL_BYTES / widest;
}

/* Sizes worth trying for an extent, ascending. What is only contracted fills at
 * most one swizzled panel of shared memory: deeper is more stages. */
static int sizes_for(const Search *s, const Extent *extent, int64_t *sizes)
{
    static const int64_t rows[] = {16, 32, 64, 128, 256}, cols[] = {32, 64, 128, 256}, loop[] = {16, 32, 64, 128},
                         wide[] = {64, 128, 256, 512};
    bool columns = !s->gemm && extent->kind == EXT_LOOP && plan_whole_cols(s->plan); /* a warp has all rows of a tile */
    const int64_t *list = extent->kind == EXT_ROWS   ? rows
                          : extent->kind == EXT_COLS ? cols
                          : s->gemm || columns       ? loop
                                                     : wide;
    int n = extent->kind == EXT_ROWS ? (int)TW_COUNT(rows) : columns ? 3 : 4, kept = 0;

    if (extent->kind == EXT_LOOP && s->gemm && !in_registers(s->plan, extent))
        while (n > 1 && list[n - 1] > panel_of(s->plan, extent))
            n--;

    if (extent->fixed > 0) {
        sizes[0] = extent->fixed;
        return !extent->part || extent->known % extent->fixed == 0;
    }
    for (int i = 0; i < n; i++) {
        if (extent->contracted && list[i] % s->plan->contracted_step != 0)
            continue;
        /* a tile twice as long as the dimension has nothing to do in its second half */
        if (extent->part && extent->known % list[i] != 0)
            continue;
        bool pointless = extent->known > 0 && i > 0 && list[i - 1] >= extent->known && kept > 0;
        if (!pointless || extent->kind == EXT_ROWS)
            sizes[kept++] = list[i];
    }
    if (extent->part && kept == 0 && extent->known <= list[n - 1]) /* which none of them divides */
        sizes[kept++] = extent->known;
    return kept;
}

/* Whether shares of so many columns end where panels of tiles in shared memory do, or such panels where shares do. */
static bool ends_with_panels(const Plan *plan, const Extent *extent, int64_t share)
{
    for (int i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];
        int64_t panel = tile->shared && tile->col == extent ? PANEL_BYTES / dtype_bytes(tile->shared_dtype) : 1;

        if (share % panel != 0 && panel % share != 0)
            return false;
    }
    return true;
}

/* Whether warps have shares of the columns: those that products only sum along each reads whole. */
static bool is_shared_out(const Plan *plan, const Extent *extent)
{
    for (int i = 0; i < plan->tiles.len; i++)
        if (plan->tiles.data[i].reg && plan->tiles.data[i].col == extent)
            return true;
    return false;
}

static bool panels_whole(const Search *s)
{
    for (int i = 0; i < s->plan->extents.len; i++) {
        const Extent *extent = s->plan->extents.data[i];

        if (extent->kind == EXT_COLS || (extent->kind == EXT_WHOLE && s->now.warps_n > 1 && is_shared_out(s->plan, extent))) {
            int64_t share = s->now.size[i] / s->now.warps_n;

            if (share % 16 != 0 || (share % 64 != 0 && 64 % share != 0) || (s->through && !ends_with_panels(s->plan, extent, share)))
                return false;
        }
    }
    return true;
}

/* Of what does not fit, what needs least memory says most; that warps cannot share a
 * tile, only where nothing was counted. */
static void note_misfit(Search *s, const Choice *choice)
{
    bool counted = choice->shared_bytes > 0, best = s->nearest.shared_bytes > 0;

    if (!s->near_found || (counted && (!best || choice->shared_bytes < s->nearest.shared_bytes)))
        s->nearest = *choice;
    s->near_found = true;
}

/* Whether one that fits is enough, and found. */
static bool is_enough(const Search *s)
{
    return s->found && s->plan->options->hasty;
}

/* Of choices that are likely to be spilled the one that is so least. */
static bool is_better(const Choice *a, const Choice *b)
{
    int first = a->excess > A_LITTLE ? a->excess : 0, second = b->excess > A_LITTLE ? b->excess : 0;

    return first != second ? first < second : a->cost < b->cost * 0.995;
}

static Misfit rate(Search *s)
{
    Choice choice = s->now;

    s->tried++;
    if (!panels_whole(s))
        return MISFIT_SHARE;
    plan_rate(s->plan, &choice);
    s->doubted |= choice.misfit == MISFIT_DOUBT;
    if (choice.misfit) {
        note_misfit(s, &choice);
        return choice.misfit;
    }
    s->considered++;
    plan_rank(s->plan, &choice);
    if (!s->found || is_better(&choice, &s->best))
        s->best = choice;
    s->found = true;
    return FITS;
}

/* Whether more stages cannot mend it: they take no less of anything, but for registers where
 * tiles wait in them. */
static bool is_final(const Search *s, Misfit misfit)
{
    return misfit == MISFIT_SHARE || misfit == MISFIT_SHARED || (misfit && s->plan->options->target->has_cp_async);
}

/* Also with all turns kept that loops would copy again; what is wrong otherwise. */
static Misfit rate_kept(Search *s)
{
    Misfit misfit = rate(s);

    if (!s->plan->counts.again || plan_is_set(s->plan, "kept"))
        return misfit;
    if ((s->now.kept = plan_turns_again(s->plan, &s->now)) > 0)
        rate(s);
    s->now.kept = 0;
    return misfit;
}

/* What is wrong with the fewest stages. */
static Misfit each_stage(Search *s)
{
    Misfit first = FITS;

    for (s->now.stages = s->stages_from; s->now.stages <= s->stages_to && !is_enough(s); s->now.stages++) {
        Misfit misfit = rate_kept(s);

        if (s->now.stages == s->stages_from)
            first = misfit;
        if (is_final(s, misfit))
            break;
    }
    return first;
}

static bool tried_before(const Search *s)
{
    return s->now.warps >= s->tried_from && s->now.warps <= s->tried_to;
}

/* Shared memory is as much for any number of warps. */
static void each_warps(Search *s)
{
    bool whole = plan_whole_rows(s->plan) && !s->through, columns = plan_whole_cols(s->plan);
    Misfit misfit = FITS;

    for (s->now.warps = s->warps_from; s->now.warps <= s->warps_to && misfit != MISFIT_SHARED && !is_enough(s);
         s->now.warps = s->warps_from == s->warps_to ? s->warps_to + 1 : s->now.warps * 2)
        for (int n = 1; (n <= (whole ? 1 : columns || s->through ? 8 : 4) || n == s->warps_n_forced) && misfit != MISFIT_SHARED; n *= 2) {
            if (s->now.warps % n != 0 || (s->warps_n_forced && n != s->warps_n_forced) ||
                (columns && n != s->now.warps) || tried_before(s))
                continue;
            s->now.warps_n = n;
            misfit = each_stage(s);
        }
}

/* Two warps beside each other take whole panels of 64 columns each. */
static int64_t in_panels(int64_t size)
{
    return size <= 64 ? size : (size + 127) / 128 * 128;
}

static void each_size(Search *s, int at)
{
    int64_t sizes[MAX_SIZES];

    if (s->tried > MAX_CANDIDATES || is_enough(s))
        return;
    if (at == s->plan->extents.len) {
        each_warps(s);
        return;
    }
    const Extent *extent = s->plan->extents.data[at];
    bool open = extent->kind == EXT_ROWS || extent->kind == EXT_COLS || extent->kind == EXT_LOOP;
    if (!open) {
        s->now.size[at] = extent->kind != EXT_WHOLE ? 1 : s->padded && !extent->part ? in_panels(extent->fixed) : extent->fixed;
        each_size(s, at + 1);
        return;
    }
    int n = sizes_for(s, extent, sizes);
    for (int i = 0; i < n; i++) {
        s->now.size[at] = sizes[i];
        each_size(s, at + 1);
    }
}

/* Whether padding to panels makes a difference. */
static bool can_pad(const Search *s)
{
    for (int i = 0; i < s->plan->extents.len; i++) {
        const Extent *extent = s->plan->extents.data[i];

        if (extent->kind == EXT_WHOLE && !extent->part && in_panels(extent->fixed) != extent->fixed)
            return true;
    }
    return false;
}

static void search_again(Search *s)
{
    s->tried = 0;
    each_size(s, 0);
}

/* What may be spilled, and wider padding. A round that would find what the last one found is left out. */
static void search_daring(Search *s, int registers)
{
    s->plan->daring = registers;
    if (s->doubted)
        search_again(s);
    s->padded = true;
    if (!s->found && can_pad(s))
        search_again(s);
    s->padded = false;
}

/* Warps that share rows, whose operands pass through shared memory. */
static void search_through(Search *s)
{
    if (s->found || s->plan->options->own_rows || !plan_may_pass_through(s->plan))
        return;
    s->through = true;
    s->plan->daring = 0;
    search_again(s);
}

/* Warps that are too few to hide much or so many that they wait for each other. */
static void search_rare(Search *s)
{
    if (s->warps_from == s->warps_to || s->plan->options->wide)
        return;
    s->tried_from = s->warps_from;
    s->tried_to = s->warps_to;
    s->warps_from = 1;
    s->warps_to = 16;
    search_again(s);
    s->warps_from = s->tried_from;
    s->warps_to = s->tried_to;
    s->tried_from = s->tried_to = 0;
}

/* What is rarely good is tried where nothing else fits, what may be spilled by a little first. */
static void search(Search *s)
{
    each_size(s, 0);
    if (s->found || !s->gemm)
        return;
    search_daring(s, A_LITTLE);
    s->plan->daring = INT32_MAX;
    if (!s->found && s->doubted)
        search_daring(s, INT32_MAX);
    if (!s->found)
        search_rare(s);
    search_through(s);
}

static const Choice *choose_in_rows(const Search *s, ReasonResult *result)
{
    Choice forced = {.stages = s->stages_from == s->stages_to ? s->stages_to : 1, .blocks_forced = s->now.blocks_forced, .kept = s->now.kept, .cluster = s->now.cluster,
                     .spare = s->now.spare, .warps = s->warps_from == s->warps_to ? s->warps_to : 0, .warps_n = s->warps_n_forced};

    return plan_choose_rows(s->plan, &forced, result);
}

static const char *misfit_in_words(Plan *plan, Choice *choice)
{
    plan->in_words = true;
    plan_rate(plan, choice);
    return choice->misfit_text;
}

/* With blocks over the outputs' columns as well, where that takes less; NULL: it cannot be, or does not. */
static const Unit *cheaper_spread(Plan *plan, double cost)
{
    const Unit *unit = plan_spread(plan);

    if (!unit || isinf(cost))
        return unit;
    Plan wider = plan_for(plan->arena, plan->syms, plan->program, unit, plan->options, diags_new(plan->arena, plan->program->source));
    const Choice *choice = plan_best(&wider);
    return choice && choice->cost < cost ? unit : NULL;
}

const Choice *plan_choose(Plan *plan, ReasonResult *result)
{
    Search s = {.plan = plan, .gemm = block_computes(&plan->unit->body, OPC_GEMM)};
    const Choice *chosen;
    Choice *best;

    plan_settle_launch(plan);
    s.in_rows = !s.gemm && plan_in_rows(plan);
    read_forced(&s);
    if (plan->failed)
        return NULL;
    plan_find_steps(plan);
    plan_find_prepared(plan);
    plan_find_live(plan);
    if (s.in_rows && (chosen = choose_in_rows(&s, result)))
        return chosen;
    search(&s);
    result->considered += s.considered;
    if ((!s.found || s.through) && (plan->spread = cheaper_spread(plan, s.found ? s.best.cost : INFINITY)))
        return NULL;
    if (!s.found) {
        Diag *diag = plan_fail(plan, TW0611, plan->unit->name_span, "no choice of tiles, warps and stages fits %s",
                               plan->options->target->name);
        if (s.near_found)
            diag_note(plan->diags, diag, "the one that needs least %s", misfit_in_words(plan, &s.nearest));
        return NULL;
    }
    best = arena_new_of(plan->arena, Choice);
    *best = s.best;
    return best;
}
