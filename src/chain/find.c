/* find.c: which sketch a definition becomes.
 *
 *   by hand      the Kernels that stand beside it
 *   one kernel   with its loops whole or in parts, entries folded into rows, long sums in loops of their own
 *   several      where one cannot do it, or the model thinks them faster (fuse_cut, fuse_apart)
 *   widened      operands of 8 bits as numbers of 16, where warpgroups multiply only these, or kernels ahead make integers such
 *
 * What is not forced by --set (splits, fold, apart) the model of the hardware decides (src/reason).
 */
#include "chain/beside.h"
#include "chain/stages.h"
#include "fuse/fuse.h"

#include <math.h>

/* What --set says of how to fuse, from `least` to `most`; least - 1: nothing, least - 2: no such number. */
static int wanted(Chain *chain, const char *name, int least, int most)
{
    int number = least - 1;

    for (int i = 0; i < chain->settings.list.len; i++) {
        Setting *set = &chain->settings.list.data[i];

        if (!text_equal_nocase(set->name, name) || def_is_named(chain->def, set->name))
            continue;
        set->used = true;
        number = set->value >= least && set->value <= most && set->value == (int)set->value ? (int)set->value : least - 2;
    }
    return number;
}

/* By the sizes that are compiled in or that the kernel will be run with. */
static ReasonOptions as_it_will_run(Chain *chain)
{
    ReasonOptions options = chain_judging(chain, chain_settings(chain, !chain->only_tried));

    options.roomy = true;
    return options;
}

static int parts_by_model(Chain *chain, const Program *sketch, bool own_rows)
{
    ReasonOptions options = as_it_will_run(chain);

    options.own_rows = own_rows;
    return reason_parts(chain->arena, chain->syms, sketch, &options);
}

static Program *fuse_parts(Chain *chain, int parts, Diags *diags)
{
    return fuse(chain->arena, chain->syms, chain->def, parts, diags);
}

static Program *fuse_in_cuts(Chain *chain, const Program *whole, const Diags *failed);

/* The same in several kernels, of which the last joins dimensions of an output; NULL: there is no need, or no way. */
static Program *fuse_unjoined(Chain *chain, const Program *sketch)
{
    Def *def = chain->def, *unjoined = arena_new_of(chain->arena, Def);
    Diags *quiet = diags_new(chain->arena, chain->diags->source);

    if (def->unjoined || !fuse_joins(sketch))
        return NULL;
    *unjoined = *def;
    unjoined->unjoined = true;
    chain->def = unjoined;
    Program *cut = fuse_in_cuts(chain, fuse_parts(chain, 1, quiet), quiet);
    chain->def = def;
    return cut;
}

/* The sketch with entries folded into rows, where that is wanted, or the model thinks it better; else itself. Rows of
 * several entries go to no one part of an output. */
static Program *folded(Chain *chain, Program *sketch, int fold)
{
    ReasonOptions options = as_it_will_run(chain);
    Program *with = sketch && fold != 0 ? fuse_fold(chain->arena, chain->def, sketch) : NULL;
    Program *apart = sketch && !with && fold != 0 ? fuse_unjoined(chain, sketch) : NULL;

    if (apart)
        with = fuse_fold(chain->arena, chain->def, apart);
    return with && (fold > 0 || reason_prefers(chain->arena, chain->syms, with, sketch, &options)) ? with : sketch;
}

/* The sketch with long sums in loops of their own, where the model thinks it better, or nothing else fits; else itself. */
static Program *deepened(Chain *chain, Program *sketch)
{
    ReasonOptions options = as_it_will_run(chain);
    Program *with = sketch ? fuse_deepen(chain->arena, chain->def, sketch) : NULL;

    return with && reason_undercuts(chain->arena, chain->syms, with, sketch, &options) ? with : sketch;
}

/* The sketch with parts of tiles that it copies whole taken from these, but where warpgroups multiply, who take whole tiles. */
static Program *copied_once(Chain *chain, Program *sketch)
{
    ReasonOptions options = as_it_will_run(chain);
    Program *with = sketch ? fuse_within(chain->arena, chain->def, sketch) : NULL;

    return with && !(chain->target->has_wgmma && reason_divides(chain->arena, chain->syms, sketch, &options)) ? with : sketch;
}

/* A sketch as it is best: what shares folded into rows, nothing copied twice, long sums in loops. */
static Program *refined(Chain *chain, Program *sketch, int fold)
{
    return deepened(chain, copied_once(chain, folded(chain, sketch, fold)));
}

static const Diag *misfit_of(Chain *chain, const Program *sketch, bool wide, bool own_rows)
{
    ReasonOptions options = {.target = chain->target, .settings = chain_settings(chain, false), .dtype = chain->settings.dtype,
                             .roomy = true, .hasty = true, .wide = wide, .own_rows = own_rows};

    return reason_misfit(chain->arena, chain->syms, sketch, &options);
}

static const Diag *misfit(void *user, const Program *sketch)
{
    return misfit_of(user, sketch, false, true);
}

/* Several kernels are to be good ones each, if they can. */
static const Diag *misfit_wide(void *user, const Program *sketch)
{
    return misfit_of(user, sketch, true, true);
}

/* Warps of a kernel among several may share rows. */
static const Diag *misfit_shared(void *user, const Program *sketch)
{
    return misfit_of(user, sketch, false, false);
}

/* Of one kernel among several. */
static int parts_of(void *user, const Program *sketch)
{
    return parts_by_model(user, sketch, true);
}

static bool leaves_sizes(const char *name)
{
    return text_equal_nocase(name, "apart") || text_equal_nocase(name, "fold") || text_equal_nocase(name, "spare");
}

/* A choice of the reasoner that is forced and does not fit is said, not helped. One for a kernel of several
 * (keys.BM=64) is for them as they come. */
static bool sizes_forced(const Chain *chain)
{
    for (int i = 0; i < chain->settings.list.len; i++) {
        const char *name = chain->settings.list.data[i].name;

        if (sched_is_size(name) && !leaves_sizes(name) && !settings_find(&chain->own, name))
            return true;
    }
    return false;
}

/* A size that is left to the launch may be so for no reason. */
static void warn_of_kernels(Chain *chain, const Program *cut, const Diag *why)
{
    if (!cut || why->code != TW0605)
        return;
    Diag *diag = diag_add(chain->diags, TW0522, chain->def->unit->name_span, "%s becomes %d kernels: for one, %s",
                          chain->def->unit->name, cut->units.len, why->message);
    for (int i = 0; i < chain->run_with.list.len; i++) {
        const Setting *bound = &chain->run_with.list.data[i];

        if (strstr(why->message, arena_printf(chain->arena, "--set %s=", bound->name)))
            diag_note(chain->diags, diag, "--bind %s=%.10g says what the launch will give; --set %s=%.10g compiles it in",
                      bound->name, bound->value, bound->name, bound->value);
    }
}

/* Whether a product makes rows of which a warp has hardly registers for sixteen beside what it multiplies. */
static bool has_wide_rows(const Def *def)
{
    enum { WIDE = 192 };
    int64_t cols;

    for (int i = 0; i < def->ops.len; i++) {
        const DefValue *made = def->ops.data[i]->result;

        if (def->ops.data[i]->op == OP_GEMM && aff_is_const(made->dims[made->rank - 1].size, &cols) && cols > WIDE)
            return true;
    }
    return false;
}

/* Kernels of which one may have warps that share rows, where these are fewer and take less than those in which each has its own. */
static Program *fuse_in_fewer(Chain *chain, const Diag *why, FuseAsked *asked, Program *cut)
{
    enum { FEW_KERNELS = 2 };
    ReasonOptions options = as_it_will_run(chain);

    if ((cut && cut->units.len <= FEW_KERNELS) || !has_wide_rows(chain->def) || (cut && !chain->in_stages && fuse_rearranges(cut) > 0))
        return cut; /* what is rearranged is cut at first (fuse_in_stages) */
    Program *fewer = fuse_cut(chain->arena, chain->syms, chain->def, why, asked, misfit_shared, parts_of, chain);
    if (!fewer || !cut)
        return fewer ? fewer : cut;
    return fewer->units.len < cut->units.len && reason_undercuts(chain->arena, chain->syms, fewer, cut, &options) ? fewer : cut;
}

/* Several kernels for what one cannot do; a type that the target lacks is lacking in all of them. */
static Program *fuse_in_cuts(Chain *chain, const Program *whole, const Diags *failed)
{
    const Diag *why = whole ? misfit(chain, whole) : failed->list.len ? &failed->list.data[0] : NULL;
    static const Diag again = {.code = TW0502, .message = "each block would sum all of a tensor again"};
    FuseAsked *asked = fuse_asked_new(chain->arena); /* by misfits that ask for less and less */
    Program *cut = NULL;

    if (why && why->code == TW0434)
        return NULL;
    if (whole && !why && fuse_repeats(chain->arena, chain->syms, chain->def))
        why = &again;
    if (whole && sizes_forced(chain)) /* what does not fit may be what was forced */
        why = NULL;
    if (why)
        cut = fuse_cut(chain->arena, chain->syms, chain->def, why, asked, misfit_wide, parts_of, chain);
    if (why && !cut)
        cut = fuse_cut(chain->arena, chain->syms, chain->def, why, asked, misfit, parts_of, chain);
    if (why)
        cut = fuse_in_fewer(chain, why, asked, cut);
    if (cut && fuse_joins(cut) && misfit(chain, cut)) /* which it was asked about before dimensions were joined */
        cut = NULL;
    warn_of_kernels(chain, cut, why);
    return cut;
}

static double cycles_of(void *user, const Program *sketch)
{
    Chain *chain = user;
    ReasonOptions options = as_it_will_run(chain);

    return reason_cycles(chain->arena, chain->syms, sketch, &options);
}

static double free_if_it_fits(void *user, const Program *sketch)
{
    return misfit(user, sketch) ? INFINITY : 0;
}

/* With operands made apart, where that is wanted, or the model thinks it better; else the sketch itself. */
static Program *in_steps(Chain *chain, Program *sketch, int fold, int apart)
{
    bool all = apart > 0;
    double cycles = all || !sketch || apart == 0 || sizes_forced(chain) ? INFINITY : cycles_of(chain, sketch);
    Program *with = NULL;

    if (all || !isinf(cycles))
        with = fuse_apart(chain->arena, chain->syms, chain->def, chain_launch(chain), cycles, all ? free_if_it_fits : cycles_of, chain);
    return with ? folded(chain, with, fold) : sketch;
}

/* What fits if warps share rows, with its loops in parts where that is better, unless there are several kernels that take less:
 * then these. */
static Program *sharing_rows(Chain *chain, const Program *plain, Program *whole, Program *cut, int fold)
{
    ReasonOptions options = as_it_will_run(chain);

    if (!whole || misfit_of(chain, whole, false, false))
        return cut;
    int parts = parts_by_model(chain, fuse_joins(plain) ? plain : whole, false);
    Program *in_parts = parts > 1 ? refined(chain, fuse_parts(chain, parts, diags_new(chain->arena, chain->diags->source)), fold) : NULL;
    Program *shared = in_parts ? in_parts : whole;
    return !cut || reason_undercuts(chain->arena, chain->syms, shared, cut, &options) ? shared : cut;
}

static Program *fuse_by_model(Chain *chain, int fold, int apart);

static Program *fuse_stage(Chain *chain, Def *stage, int fold, int apart)
{
    Def *whole = chain->def;
    bool nested = chain->in_stages;

    chain->def = stage;
    chain->in_stages = true;
    Program *program = fuse_by_model(chain, fold, apart);
    chain->in_stages = nested;
    chain->def = whole;
    return program;
}

/* Kernels of two definitions, of which the second takes what the first leaves; NULL: they cannot be. */
static Program *fuse_in_stages(Chain *chain, int fold, int apart)
{
    FuseStages stages;

    if (!fuse_stages(chain->arena, chain->syms, chain->def, &stages))
        return NULL;
    Program *first = fuse_stage(chain, stages.first, fold, apart);
    if (!first)
        return NULL;
    chain->ahead += first->units.len;
    ((Unit *)stages.rest->unit)->name = arena_printf(chain->arena, "%s_%d", program_unit(chain->parsed, UNIT_OPERATOR)->name, chain->ahead + 1);
    Program *rest = fuse_stage(chain, stages.rest, fold, apart);
    chain->ahead -= first->units.len;
    if (rest && !fuse_shapes_agree(chain->arena, chain->def, first, rest))
        return NULL;
    Unit *last = first->units.data[first->units.len - 1];
    last->comment = last->comment ? last->comment : arena_printf(chain->arena, "leaves %s in memory for the next kernel, whose tiles have other rows of it", stages.left);
    for (int i = 0; rest && i < rest->units.len; i++)
        vec_push(chain->arena, &first->units, rest->units.data[i]);
    return rest ? first : NULL;
}

/* In two definitions, where kernels of one would read one by one what kernels before them left, and those of two do so less, and
 * are no more; else as it is. */
static Program *staged(Chain *chain, Program *sketch, int fold, int apart)
{
    int elements = sketch ? fuse_rearranges(sketch) : 0;
    Diags *diags = chain->diags;

    if (elements == 0)
        return sketch;
    chain->diags = diags_new(chain->arena, diags->source);
    Program *stages = fuse_in_stages(chain, fold, apart);
    chain->diags = diags;
    return stages && stages->units.len <= sketch->units.len && fuse_rearranges(stages) < elements ? stages : sketch;
}

static Program *fuse_as_one(Chain *chain, int fold, int apart);

/* What the model thinks better is done if it can be. What is one definition of several may be several again: kernels of the whole
 * were looked for already. */
static Program *fuse_by_model(Chain *chain, int fold, int apart)
{
    Program *stages = chain->in_stages ? fuse_in_stages(chain, fold, apart) : NULL;
    Program *sketch = stages ? stages : fuse_as_one(chain, fold, apart);

    return chain->in_stages ? sketch : staged(chain, sketch, fold, apart);
}

static Program *fuse_as_one(Chain *chain, int fold, int apart)
{
    Diags *quiet = diags_new(chain->arena, chain->diags->source);
    Program *plain = fuse_parts(chain, 1, quiet), *whole = refined(chain, plain, fold), *cut = NULL;
    int parts = whole ? parts_by_model(chain, fuse_joins(plain) ? plain : whole, true) : 0;
    bool misfits = whole && misfit(chain, whole);

    if (chain->run_with.list.len > 0 && misfits)
        parts = 0; /* what the launch gives is not known when compiling */
    if (whole && fuse_repeats(chain->arena, chain->syms, chain->def))
        parts = 0;
    if (parts > 1)
        cut = refined(chain, fuse_parts(chain, parts, quiet), fold);
    if (cut && misfit(chain, cut)) /* the model thought of other sizes */
        cut = NULL;
    if (parts < 1)
        cut = folded(chain, fuse_in_cuts(chain, whole, quiet), fold);
    if (misfits && !cut)
        cut = folded(chain, fuse_unjoined(chain, whole), fold);
    if (misfits)
        cut = sharing_rows(chain, plain, whole, cut, fold);
    if (!whole && !cut && !chain_has_types(chain))
        return NULL; /* perhaps why there is none */
    if (!whole && !cut)
        return fuse_parts(chain, 1, chain->diags);
    return in_steps(chain, cut ? cut : whole, fold, apart);
}

bool chain_fits_one(Chain *chain)
{
    Program *whole = refined(chain, fuse_parts(chain, 1, chain->diags), wanted(chain, "fold", 0, 1));
    const Diag *why = whole ? misfit(chain, whole) : NULL;

    if (why)
        diag_add(chain->diags, why->code, chain->def->unit->name_span, "%s", why->message);
    return whole && !why;
}

/* Whether all dimensions of the inputs are compiled in, or said to be given by the launch. */
static bool sizes_given(const Chain *chain)
{
    const Settings *launch = chain_launch(chain);
    int64_t size;

    for (int i = 0; i < chain->def->inputs.len; i++)
        for (int d = 0; d < chain->def->inputs.data[i]->rank; d++) {
            const Aff *dim = chain->def->inputs.data[i]->dims[d].size;

            if (!aff_is_const(dim, &size) && !(launch && dim->kind == AFF_SYM && settings_find(launch, dim->sym->name)))
                return false;
        }
    return true;
}

/* Whether kernels ahead widen little, for so little work that the model thinks the whole slower than the sketch: what launches take
 * is sure, else it has to be a quarter (src/reason/ways.c). */
static bool widens_in_vain(Chain *chain, const Program *wide, const Program *sketch)
{
    double less = wide->units.len > sketch->units.len ? 1 : 0.75;

    return wide->units.len > 1 && sizes_given(chain) && cycles_of(chain, sketch) < less * cycles_of(chain, wide);
}

/* The sketch of the definition with operands of 8 bits as numbers of 16; NULL: there is none. */
static Program *with_wide(Chain *chain, int fold, int apart, bool integers)
{
    Def *as_it_is = chain->def;
    Diags *said = chain->diags;

    chain->diags = diags_new(chain->arena, said->source);
    Def *def = def_resolve(chain->arena, chain->syms, aff_ctx_new(chain->arena), chain->parsed, as_it_is->unit, &chain->own, chain->diags);
    Program *wide = NULL;
    if (def) {
        fuse_widen(def, chain->own.operands, integers);
        chain->def = def;
        wide = fuse_by_model(chain, fold, apart);
        chain->def = as_it_is;
    }
    bool right = chain->diags->errors == 0;
    chain->diags = said;
    return right ? wide : NULL;
}

/* With integers of 8 bits made numbers of 16 by kernels ahead, where that is faster by a tenth; else the sketch itself. */
static Program *made_wide_once(Chain *chain, Program *sketch, int fold, int apart)
{
    if (!sketch || apart == 0 || !fuse_can_widen(chain->def, true) || (apart < 0 && !sizes_given(chain)))
        return sketch;
    Program *wide = with_wide(chain, fold, apart, true);
    bool ahead = wide && wide->units.len > sketch->units.len;
    return ahead && (apart > 0 || cycles_of(chain, wide) < (1 - FUSE_APART_GAIN) * cycles_of(chain, sketch)) ? wide : sketch;
}

/* With operands of 8 bits as numbers of 16, where warpgroups multiply then and did not before; else the sketch itself. */
static Program *widened(Chain *chain, Program *sketch, int fold, int apart)
{
    ReasonOptions options = chain_judging(chain, chain_settings(chain, !chain->only_tried));

    options.schedule = &chain->schedule;
    if (!sketch || !chain->target->has_wgmma || !fuse_can_widen(chain->def, false) || reason_divides(chain->arena, chain->syms, sketch, &options))
        return sketch;
    Program *wide = with_wide(chain, fold, apart, false);
    bool divides = wide && reason_divides(chain->arena, chain->syms, wide, &options);
    return divides && (apart > 0 || !widens_in_vain(chain, wide, sketch)) ? wide : sketch;
}

/* Parts that were asked for are those of one kernel's loops. */
static Program *fuse_as_asked(Chain *chain, int parts)
{
    Diags *quiet = diags_new(chain->arena, chain->diags->source);
    int before = chain->diags->list.len;
    Program *program = fuse_parts(chain, parts, chain->diags);

    if (program || chain->diags->list.len == before || fuse_parts(chain, 1, quiet) || quiet->list.len == 0)
        return program;
    const Program *cut = fuse_cut(chain->arena, chain->syms, chain->def, &quiet->list.data[0], fuse_asked_new(chain->arena), misfit, NULL, chain);
    if (cut)
        diag_note(chain->diags, &chain->diags->list.data[before],
                  "splits=%d cuts the loops of one kernel into parts, and %s takes %d kernels: leave splits out", parts,
                  chain->def->unit->name, cut->units.len);
    return NULL;
}

Program *chain_find_sketch(Chain *chain)
{
    int parts, fold, apart;

    if (chain->beside)
        return kernels_fit(chain->beside, chain->def, &chain->settings, chain->diags) ? chain->beside : NULL;
    parts = wanted(chain, "splits", 1, FUSE_MAX_PARTS);
    fold = wanted(chain, "fold", 0, 1);
    apart = wanted(chain, "apart", 0, 1);
    if (parts < 0)
        chain_fail(chain, arena_printf(chain->arena, "splits is a number from 1 to %d", FUSE_MAX_PARTS));
    else if (fold < -1)
        chain_fail(chain, "fold is 0 or 1");
    else if (apart < -1)
        chain_fail(chain, "apart is 0 or 1");
    else if (parts && apart > 0)
        chain_fail(chain, "splits says how many parts one kernel's loops are cut into; with apart=1 there is more than one");
    else if (parts)
        return refined(chain, fuse_as_asked(chain, parts), fold);
    else
        return made_wide_once(chain, widened(chain, fuse_by_model(chain, fold, apart), fold, apart), fold, apart);
    return NULL;
}
