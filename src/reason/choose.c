/* choose.c: every combination of sizes, warps and stages, rated; the cheapest wins.
 *
 * Sizes are multiples of the tensor cores' shape; what --set forces is the only
 * candidate for its parameter. Among equals the smaller one wins, so that less
 * memory and fewer registers are held.
 */
#include "reason/plan.h"

enum { MAX_SIZES = 8, MAX_CANDIDATES = 40000 };

typedef struct Search {
    Plan *plan;
    Choice now, best, nearest; /* nearest: does not fit, but least of all */
    bool found, near_found;
    int considered;
    int tried;
    bool gemm;
    bool in_rows; /* rows.c chooses, if it can */
    bool padded;  /* whole dimensions fill the panels that warps beside each other take */
    int warps_from, warps_to, stages_from, stages_to, warps_n_forced;
} Search;

static bool has_gemm(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if ((s->kind == STMT_COMPUTE && s->op_known && s->op == OP_GEMM) || has_gemm(&s->body) ||
            has_gemm(&s->orelse))
            return true;
    }
    return false;
}

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
    s->stages_to = 4;
    if (forced_number(s->plan, "warps", 1, 16, &value))
        s->warps_from = s->warps_to = value;
    if (forced_number(s->plan, "stages", 1, 8, &value))
        s->stages_from = s->stages_to = value;
    if (forced_number(s->plan, "warps_n", 1, 8, &value))
        s->warps_n_forced = value;
    if (forced_number(s->plan, "blocks_per_sm", 1, 32, &value))
        s->now.blocks_forced = value;
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

/* Sizes worth trying for an extent, ascending. What is only contracted fills at
 * most one swizzled panel of shared memory, 64 elements: deeper is more stages. */
static int sizes_for(const Search *s, const Extent *extent, int64_t *sizes)
{
    static const int64_t rows[] = {16, 32, 64, 128, 256}, cols[] = {32, 64, 128, 256}, loop[] = {16, 32, 64, 128},
                         wide[] = {64, 128, 256, 512};
    const int64_t *list = extent->kind == EXT_ROWS   ? rows
                          : extent->kind == EXT_COLS ? cols
                          : s->gemm                  ? loop
                                                     : wide;
    int n = extent->kind == EXT_ROWS ? (int)TW_COUNT(rows) : 4, kept = 0;

    if (extent->kind == EXT_LOOP && s->gemm && !in_registers(s->plan, extent))
        n = 3;

    if (extent->fixed > 0) {
        sizes[0] = extent->fixed;
        return 1;
    }
    for (int i = 0; i < n; i++) {
        if (extent->contracted && list[i] % plan_contracted_step(s->plan) != 0)
            continue;
        /* a tile twice as long as the dimension has nothing to do in its second half */
        bool pointless = extent->known > 0 && i > 0 && list[i - 1] >= extent->known && kept > 0;
        if (!pointless || extent->kind == EXT_ROWS)
            sizes[kept++] = list[i];
    }
    return kept;
}

static bool panels_whole(const Search *s)
{
    for (int i = 0; i < s->plan->extents.len; i++) {
        const Extent *extent = s->plan->extents.data[i];

        if (extent->kind == EXT_COLS || (extent->kind == EXT_WHOLE && s->now.warps_n > 1)) {
            int64_t share = s->now.size[i] / s->now.warps_n;

            if (share % 16 != 0 || (share % 64 != 0 && 64 % share != 0))
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

static void rate(Search *s)
{
    Choice choice = s->now;

    s->tried++;
    if ((s->found && s->plan->options->hasty) || !panels_whole(s))
        return;
    plan_rate(s->plan, &choice);
    if (choice.misfit) {
        note_misfit(s, &choice);
        return;
    }
    s->considered++;
    plan_rank(s->plan, &choice);
    if (!s->found || choice.cost < s->best.cost * 0.995)
        s->best = choice;
    s->found = true;
}

static void each_stage(Search *s)
{
    for (s->now.stages = s->stages_from; s->now.stages <= s->stages_to; s->now.stages++)
        rate(s);
}

static void each_warps(Search *s)
{
    bool whole = plan_whole_rows(s->plan), columns = plan_whole_cols(s->plan);

    for (s->now.warps = s->warps_from; s->now.warps <= s->warps_to;
         s->now.warps = s->warps_from == s->warps_to ? s->warps_to + 1 : s->now.warps * 2)
        for (int n = 1; n <= (whole ? 1 : columns ? 8 : 4) || n == s->warps_n_forced; n *= 2) {
            if (s->now.warps % n != 0 || (s->warps_n_forced && n != s->warps_n_forced) ||
                (columns && n != s->now.warps))
                continue;
            s->now.warps_n = n;
            each_stage(s);
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

    if (s->tried > MAX_CANDIDATES)
        return;
    if (at == s->plan->extents.len) {
        each_warps(s);
        return;
    }
    const Extent *extent = s->plan->extents.data[at];
    bool open = extent->kind == EXT_ROWS || extent->kind == EXT_COLS || extent->kind == EXT_LOOP;
    if (!open) {
        s->now.size[at] = extent->kind != EXT_WHOLE ? 1 : s->padded ? in_panels(extent->fixed) : extent->fixed;
        each_size(s, at + 1);
        return;
    }
    int n = sizes_for(s, extent, sizes);
    for (int i = 0; i < n; i++) {
        s->now.size[at] = sizes[i];
        each_size(s, at + 1);
    }
}

/* What is rarely good is tried where nothing else fits: what may be spilled, wider padding, and
 * warps that are too few to hide much or so many that they wait for each other. */
static void search(Search *s)
{
    bool any_warps = s->warps_from < s->warps_to;

    each_size(s, 0);
    if (!s->found && s->gemm) {
        s->plan->daring = true;
        s->tried = 0;
        each_size(s, 0);
    }
    for (int round = 0; round < 2 && !s->found && s->gemm; round++) {
        s->padded = round == 0;
        if (any_warps && round > 0) {
            s->warps_from = 1;
            s->warps_to = 16;
        }
        s->tried = 0;
        each_size(s, 0);
    }
}

static const Choice *choose_in_rows(const Search *s, ReasonResult *result)
{
    Choice forced = {.stages = s->stages_from == s->stages_to ? s->stages_to : 1, .blocks_forced = s->now.blocks_forced,
                     .warps = s->warps_from == s->warps_to ? s->warps_to : 0, .warps_n = s->warps_n_forced};

    return plan_choose_rows(s->plan, &forced, result);
}

const Choice *plan_choose(Plan *plan, ReasonResult *result)
{
    Search s = {.plan = plan, .gemm = has_gemm(&plan->unit->body)};
    const Choice *chosen;
    Choice *best;

    s.in_rows = !s.gemm && plan_in_rows(plan);
    read_forced(&s);
    if (plan->failed)
        return NULL;
    plan_find_live(plan);
    if (s.in_rows && (chosen = choose_in_rows(&s, result)))
        return chosen;
    search(&s);
    result->considered += s.considered;
    if (!s.found && (plan->spread = plan_spread(plan)))
        return NULL;
    if (!s.found) {
        Diag *diag = plan_fail(plan, TW0611, plan->unit->name_span, "no choice of tiles, warps and stages fits %s",
                               plan->options->target->name);
        if (s.near_found)
            diag_note(plan->diags, diag, "the one that needs least %s",
                      s.nearest.misfit);
        return NULL;
    }
    best = arena_new_of(plan->arena, Choice);
    *best = s.best;
    return best;
}
