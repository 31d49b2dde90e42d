/* chain.c: the stages from a definition to PTX. */
#include "chain/agree.h"
#include "chain/beside.h"
#include "chain/sketched.h"
#include "suggest/suggest.h"

#include "check/check.h"
#include "cute/cute.h"
#include "fuse/fuse.h"
#include "lower/lower.h"
#include "ptx/ptx.h"

#include <math.h>

/* Choices of the reasoner that --set may force; a definition need not know them. */
static bool is_forced(const char *name)
{
    const char *point = strchr(name, '.'); /* for one of several kernels */

    return sched_is_size(point ? point + 1 : name);
}

Chain *chain_new(Arena *arena, Syms *syms, AffCtx *aff, Diags *diags, const Target *target,
                 DType dtype)
{
    Chain *chain = arena_new_of(arena, Chain);

    chain->arena = arena;
    chain->syms = syms;
    chain->aff = aff;
    chain->diags = diags;
    chain->target = target;
    chain->settings.dtype = chain->own.dtype = dtype;
    return chain;
}

/* "NAME=word": perhaps meant for a pass. */
static bool is_word(const char *text)
{
    const char *equals = strchr(text, '=');

    return equals && ((equals[1] >= 'a' && equals[1] <= 'z') || (equals[1] >= 'A' && equals[1] <= 'Z'));
}

static const char *with_words(Arena *arena, const char *error)
{
    Str text = str_new(arena);

    str_printf(&text, "%s; words are for ", error);
    sched_text(&text);
    return str_text(&text);
}

static void copy_settings(Arena *arena, Settings *to, const Settings *from)
{
    to->dtype = from->dtype;
    for (int i = 0; i < from->list.len; i++)
        vec_push(arena, &to->list, from->list.data[i]);
}

Chain *chain_like(Arena *arena, const Chain *like, Diags *diags)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags, like->target, like->settings.dtype);

    copy_settings(arena, &chain->settings, &like->settings);
    copy_settings(arena, &chain->own, &like->own);
    copy_settings(arena, &chain->run_with, &like->run_with);
    chain->only_tried = like->only_tried;
    chain->schedule = like->schedule;
    return chain;
}

const char *chain_set(Chain *chain, const char *text)
{
    const char *error;
    Setting last;

    if (sched_set(chain->arena, &chain->schedule, text, &error))
        return error;
    error = settings_add(chain->arena, &chain->settings, text);
    if (error)
        return is_word(text) ? with_words(chain->arena, error) : error;
    last = chain->settings.list.data[chain->settings.list.len - 1];
    if (!is_forced(last.name))
        settings_put(chain->arena, &chain->own, last);
    return NULL;
}

static void drop_setting(Settings *settings, const char *name)
{
    int kept = 0;

    for (int i = 0; i < settings->list.len; i++)
        if (!text_equal_nocase(settings->list.data[i].name, name))
            settings->list.data[kept++] = settings->list.data[i];
    settings->list.len = kept;
}

void chain_unset(Chain *chain, const char *name)
{
    drop_setting(&chain->settings, name);
    drop_setting(&chain->own, name);
}

const char *chain_run_with(Chain *chain, const char *text)
{
    return settings_add(chain->arena, &chain->run_with, text);
}

static bool fail(Chain *chain, const char *failure)
{
    chain->failure = failure;
    return false;
}

static void timed(Chain *chain, const char *name, double since)
{
    vec_push(chain->arena, &chain->stages, (Stage){name, clock_seconds() - since});
}

Source *chain_text(Chain *chain, const char *path, const Str *text)
{
    Source *source = arena_new_of(chain->arena, Source);

    source->path = path;
    source->text = str_text(text);
    source->len = text->len;
    return source;
}

const Unit *program_unit(const Program *program, UnitKind kind)
{
    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == kind)
            return program->units.data[i];
    return NULL;
}

/* Whatever was understood; whether that is all, diags->errors says. */
static Program *parse(Chain *chain, const Source *source)
{
    chain->diags->source = source;
    return lang_parse(chain->arena, chain->syms, source, chain->diags);
}

/* What is wrong with a source was recorded. */
static bool give_up(Chain *chain, const Source *source, const Program *program, SuggestStage *stage)
{
    suggest_all(chain, source, program, stage, NULL, false);
    return false;
}

/* ---- definition, sketch, code ----------------------------------------------------- */

/* What the definition took need not be known to the sketch as well. */
static void mark_taken(Chain *chain)
{
    for (int i = 0; i < chain->settings.list.len; i++)
        if (!is_forced(chain->settings.list.data[i].name))
            chain->settings.list.data[i].used = true;
}

static bool declares_size(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        for (int d = 0; d < s->n_shape && (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT); d++)
            if (expr_mentions(s->shape[d], name))
                return true;
    }
    return false;
}

/* `--set BM=3` means the definition's own BM, where it has a Param or a dimension of that name; of a dimension every
 * later stage is told. */
static void give_own(Chain *chain, const Unit *unit)
{
    Settings kept = {.dtype = chain->settings.dtype};

    for (int i = 0; i < chain->settings.list.len; i++) {
        const Setting *set = &chain->settings.list.data[i];

        bool number = is_forced(set->name) && block_find(&unit->body, STMT_PARAM, set->name);
        if (number || (is_forced(set->name) && declares_size(unit, set->name)))
            settings_put(chain->arena, &chain->own, *set);
        if (!number)
            vec_push(chain->arena, &kept.list, *set);
    }
    chain->settings = kept;
}

static bool resolve(Chain *chain, Program *program, const Unit *unit)
{
    const Unit *typed = definition_typed(chain->arena, program, unit, chain->types.data, chain->types.len);
    Str text = str_new(chain->arena);

    give_own(chain, unit);
    chain->own.operands = chain->target && !target_has_dtype(chain->target, DT_BF16) ? DT_F16 : DT_BF16;
    chain->def = def_resolve(chain->arena, chain->syms, chain->aff, program, typed, &chain->own, chain->diags);
    if (!chain->def)
        return false;
    mark_taken(chain);
    lang_print_unit(&text, unit);
    chain->definition = str_text(&text);
    chain->beside = kernels_beside(chain->arena, kernels_complete(chain->arena, program, &chain->settings));
    if (chain->beside)
        chain->beside = kernels_as_defined(chain->arena, chain->beside, unit);
    if (!chain->name)
        chain->name = unit->name;
    return true;
}

static bool define_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    return chain_define(chain, source);
}

bool chain_define(Chain *chain, const Source *source)
{
    double since = clock_seconds();
    Program *program = parse(chain, source);
    const Unit *unit;
    bool done;

    chain->defined = source;
    chain->parsed = program;
    if (chain->diags->errors)
        return give_up(chain, source, program, define_again);
    unit = program_unit(program, UNIT_OPERATOR);
    if (!unit)
        return fail(chain, arena_printf(chain->arena,
                                        "%s holds no definition (Operator NAME ... end)",
                                        source->path));
    done = resolve(chain, program, unit) || give_up(chain, source, program, define_again);
    timed(chain, "definition", since);
    return done;
}

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

/* Sizes of the launch that choices are made for; NULL: none. */
static const Settings *launch_of(const Chain *chain)
{
    return chain->only_tried ? NULL : &chain->run_with;
}

/* The settings without the sizes of the launch, or with those that it will have. */
static Settings *settings_for(Chain *chain, bool launch)
{
    Settings *settings = arena_new_of(chain->arena, Settings);

    settings->dtype = chain->settings.dtype;
    for (int i = 0; i < chain->settings.list.len; i++)
        vec_push(chain->arena, &settings->list, chain->settings.list.data[i]);
    for (int i = 0; launch && i < chain->run_with.list.len; i++)
        vec_push(chain->arena, &settings->list, chain->run_with.list.data[i]);
    return settings;
}

/* How a sketch is judged before there is code. */
static ReasonOptions judging(Chain *chain, Settings *settings)
{
    return (ReasonOptions){.target = chain->target, .settings = settings, .launch = launch_of(chain), .dtype = chain->settings.dtype};
}

/* By the sizes that are compiled in or that the kernel will be run with. */
static ReasonOptions as_it_will_run(Chain *chain)
{
    ReasonOptions options = judging(chain, settings_for(chain, !chain->only_tried));

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

/* A sketch as it is best: what shares folded into rows, long sums in loops. */
static Program *refined(Chain *chain, Program *sketch, int fold)
{
    return deepened(chain, folded(chain, sketch, fold));
}

static const Diag *misfit_of(Chain *chain, const Program *sketch, bool wide, bool own_rows)
{
    ReasonOptions options = {.target = chain->target, .settings = settings_for(chain, false), .dtype = chain->settings.dtype,
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

/* Several kernels for what one cannot do; a type that the target lacks is lacking in all of them. */
static Program *fuse_in_cuts(Chain *chain, const Program *whole, const Diags *failed)
{
    const Diag *why = whole ? misfit(chain, whole) : failed->list.len ? &failed->list.data[0] : NULL;
    static const Diag again = {.code = TW0502, .message = "each block would sum all of a tensor again"};
    Program *cut = NULL;

    if (why && why->code == TW0434)
        return NULL;
    if (whole && !why && fuse_repeats(chain->arena, chain->syms, chain->def))
        why = &again;
    if (why && !sizes_forced(chain))
        cut = fuse_cut(chain->arena, chain->syms, chain->def, why, misfit_wide, parts_of, chain);
    if (why && !cut && !sizes_forced(chain))
        cut = fuse_cut(chain->arena, chain->syms, chain->def, why, misfit, parts_of, chain);
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
        with = fuse_apart(chain->arena, chain->syms, chain->def, launch_of(chain), cycles, all ? free_if_it_fits : cycles_of, chain);
    return with ? folded(chain, with, fold) : sketch;
}

/* What fits if warps share rows, with its loops in parts where that is better, unless there are several kernels that take less:
 * then these. */
static Program *sharing_rows(Chain *chain, const Program *plain, Program *whole, Program *cut, int fold)
{
    ReasonOptions options = as_it_will_run(chain);

    if (!whole || misfit_of(chain, whole, false, false) || (cut && !reason_undercuts(chain->arena, chain->syms, whole, cut, &options)))
        return cut;
    int parts = parts_by_model(chain, fuse_joins(plain) ? plain : whole, false);
    Program *in_parts = parts > 1 ? refined(chain, fuse_parts(chain, parts, diags_new(chain->arena, chain->diags->source)), fold) : NULL;
    return in_parts ? in_parts : whole;
}

/* What the model thinks better is done if it can be. */
static Program *fuse_by_model(Chain *chain, int fold, int apart)
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

/* Whether all dimensions of the inputs are compiled in, or said to be given by the launch. */
static bool sizes_given(const Chain *chain)
{
    const Settings *launch = launch_of(chain);
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

/* With operands of 8 bits as numbers of 16, where warpgroups multiply then and did not before; else the sketch itself. */
static Program *widened(Chain *chain, Program *sketch, int fold, int apart)
{
    ReasonOptions options = judging(chain, settings_for(chain, !chain->only_tried));
    Def *as_it_is = chain->def;

    options.schedule = &chain->schedule;
    if (!sketch || !chain->target->has_wgmma || !fuse_can_widen(chain->def) || reason_divides(chain->arena, chain->syms, sketch, &options))
        return sketch;
    Def *def = def_resolve(chain->arena, chain->syms, aff_ctx_new(chain->arena), chain->parsed, as_it_is->unit, &chain->own, diags_new(chain->arena, chain->diags->source));
    if (!def)
        return sketch;
    fuse_widen(def, chain->own.operands);
    int errors = chain->diags->errors;
    chain->def = def;
    Program *wide = fuse_by_model(chain, fold, apart);
    chain->def = as_it_is;
    bool divides = wide && chain->diags->errors == errors && reason_divides(chain->arena, chain->syms, wide, &options);
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
    const Program *cut = fuse_cut(chain->arena, chain->syms, chain->def, &quiet->list.data[0], misfit, NULL, chain);
    if (cut)
        diag_note(chain->diags, &chain->diags->list.data[before],
                  "splits=%d cuts the loops of one kernel into parts, and %s takes %d kernels: leave splits out", parts,
                  chain->def->unit->name, cut->units.len);
    return NULL;
}

static Program *find_sketch(Chain *chain)
{
    int parts, fold, apart;

    if (chain->beside)
        return kernels_fit(chain->beside, chain->def, &chain->settings, chain->diags) ? chain->beside : NULL;
    parts = wanted(chain, "splits", 1, FUSE_MAX_PARTS);
    fold = wanted(chain, "fold", 0, 1);
    apart = wanted(chain, "apart", 0, 1);
    if (parts < 0)
        fail(chain, arena_printf(chain->arena, "splits is a number from 1 to %d", FUSE_MAX_PARTS));
    else if (fold < -1)
        fail(chain, "fold is 0 or 1");
    else if (apart < -1)
        fail(chain, "apart is 0 or 1");
    else if (parts && apart > 0)
        fail(chain, "splits says how many parts one kernel's loops are cut into; with apart=1 there is more than one");
    else if (parts)
        return refined(chain, fuse_as_asked(chain, parts), fold);
    else
        return widened(chain, fuse_by_model(chain, fold, apart), fold, apart);
    return NULL;
}

static bool fuse_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    return chain_define(chain, source) && chain_fuse(chain);
}

/* Of Kernels by hand that are several ways to do the same, those that will be code. */
static const Program *ways_taken(Chain *chain, const Program *sketch)
{
    ReasonOptions options = judging(chain, settings_for(chain, false));

    return chain->beside && chain->target ? reason_ways(chain->arena, chain->syms, sketch, &options) : sketch;
}

bool chain_fuse(Chain *chain)
{
    double since = clock_seconds();
    Str text = str_new(chain->arena);
    int before = chain->diags->list.len;
    Program *sketch = find_sketch(chain);

    if (!sketch)
        return give_up(chain, chain->defined, chain->parsed, fuse_again);
    if (chain->diags->list.len > before)
        suggest_all(chain, chain->defined, chain->parsed, fuse_again, NULL, false);
    lang_print(&text, ways_taken(chain, sketch));
    chain->sketch = chain_text(chain, arena_printf(chain->arena, "%s.sketch.tl", chain->name), &text);
    timed(chain, "sketch", since);
    return true;
}

/* Sketches become code; code that stands beside a definition is code already. */
static ReasonResult *reason_all(Chain *chain, Program *program)
{
    ReasonOptions options = {.target = chain->target, .settings = &chain->settings, .launch = launch_of(chain),
                             .dtype = chain->settings.dtype, .schedule = &chain->schedule};
    ReasonResult *result;

    for (int i = 0; i < program->units.len; i++)
        if (!chain->beside || program != chain->beside || check_is_sketch(program->units.data[i]))
            return reason(chain->arena, chain->syms, program, &options, chain->diags);
    result = arena_new_of(chain->arena, ReasonResult);
    result->code = program;
    return result;
}

void chain_rank(Chain *chain, int most, ReasonRanking *ranking)
{
    ReasonOptions options = {.target = chain->target, .settings = settings_for(chain, true),
                             .dtype = chain->settings.dtype};
    const Program *sketch = lang_parse(chain->arena, chain->syms, chain->sketch, diags_new(chain->arena, chain->sketch));

    reason_rank(chain->arena, chain->syms, sketch, &options, most, ranking);
}

static bool reason_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    return chain_reason(chain, source);
}

/* Types that the definition writes down: what is made of it would only repeat them. */
static bool types_written_fit(Chain *chain, const Block *block)
{
    bool fit = true;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        fit &= types_written_fit(chain, &s->body) && types_written_fit(chain, &s->orelse);
        if (!s->has_dtype || target_has_dtype(chain->target, s->dtype))
            continue;
        target_lacks(chain->diags, chain->target, s->span, s->kind == STMT_COMPUTE ? "the result" : s->name, s->dtype, true);
        fit = false;
    }
    return fit;
}

/* The type of those tensors that name none: one mistake, however many they are. */
static bool type_given_fits(Chain *chain, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        DType dtype = stmt_dtype(s, block, chain->own.dtype);

        if (s->has_dtype || (s->kind != STMT_INPUT && s->kind != STMT_OUTPUT) || target_has_dtype(chain->target, dtype))
            continue;
        target_lacks(chain->diags, chain->target, s->span, s->name, dtype, false);
        return false;
    }
    return true;
}

static bool types_fit(Chain *chain)
{
    const Block *body = &chain->def->unit->body;
    const Source *source = chain->diags->source;

    chain->diags->source = chain->defined;
    if (!types_written_fit(chain, body) || !type_given_fits(chain, body))
        return false;
    chain->diags->source = source;
    return true;
}

static bool code_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    return chain_define(chain, source) && chain_fuse(chain) && chain_reason(chain, chain->sketch);
}

bool chain_has_types(Chain *chain)
{
    return types_fit(chain) || give_up(chain, chain->defined, chain->parsed, code_again);
}

/* A sketch whose code cannot be worked out: what is wrong with it as it stands says more plainly
 * why than the size that was not found, which may only follow from it. */
static void say_of_sketch(Chain *chain, const Program *sketch, const Diags *before)
{
    Diags *found = diags_new(chain->arena, sketch->source);
    CheckOptions options = {.target = chain->target, .settings = &chain->settings};

    for (int i = 0; i < sketch->units.len; i++)
        if (sketch->units.data[i]->kind == UNIT_KERNEL && !check_is_sketch(sketch->units.data[i]))
            return;
    if (check_program(chain->arena, chain->syms, sketch, &options, found) || !found->errors)
        return;
    *chain->diags = *before;
    diags_take(chain->diags, found);
}

/* What is said of a whole kernel of a sketch that nobody wrote, as that a size does not fit, is said of its definition. */
static void say_of_definition(Chain *chain, const Program *sketch, int first)
{
    for (int i = first; i < chain->diags->list.len; i++)
        for (int u = 0; u < sketch->units.len; u++) {
            Diag *d = &chain->diags->list.data[i];
            if (d->source != chain->sketch || d->span.start != sketch->units.data[u]->name_span.start)
                continue;
            d->source = chain->defined;
            d->span = chain->def->unit->name_span;
        }
}

bool chain_reason(Chain *chain, const Source *sketch)
{
    double since = clock_seconds();
    bool beside = chain->beside && sketch == chain->sketch;
    Program *program = beside ? chain->beside : parse(chain, sketch);
    const Unit *unit = program_unit(program, UNIT_KERNEL);
    Str text = str_new(chain->arena);

    if (!beside && chain->defined && sketch == chain->sketch && !chain_has_types(chain))
        return false;
    if (!beside && chain->diags->errors)
        return give_up(chain, sketch, program, reason_again);
    if (!unit)
        return fail(chain, arena_printf(chain->arena, "%s holds no sketch (Kernel NAME ... end)",
                                        sketch->path));
    if (!chain->name)
        chain->name = unit->name;
    if (beside)
        chain->diags->source = program->source;
    const Diags before = *chain->diags;
    Program *complete = beside ? program : kernels_complete(chain->arena, program, &chain->settings);
    chain->reasoned = reason_all(chain, complete);
    if (!chain->reasoned)
        say_of_sketch(chain, complete, &before);
    if (!chain->reasoned && chain->def && sketch == chain->sketch && !beside)
        say_of_definition(chain, complete, before.list.len);
    if (!chain->reasoned)
        return beside                                     ? false
               : chain->def && sketch == chain->sketch ? give_up(chain, chain->defined, chain->parsed, code_again)
                                                       : give_up(chain, sketch, program, reason_again);
    lang_print(&text, chain->reasoned->code);
    chain->derived = chain->def && sketch == chain->sketch && !beside;
    chain->code = chain_text(chain, arena_printf(chain->arena, "%s.code.tl", chain->name), &text);
    timed(chain, "code", since);
    return true;
}

/* ---- tile IR, PTX ------------------------------------------------------------------ */

static void keep(Chain *chain, const char *name, bool exact, const TileProgram *program)
{
    Snapshot snapshot = {name, exact, NULL};

    if (!chain->keep_snapshots)
        return;
    snapshot.program = tile_clone(chain->arena, program);
    vec_push(chain->arena, &chain->snapshots, snapshot);
}

/* ---- schedules -------------------------------------------------------------------------- */

static int count_schedules(const Unit *unit, const char *target)
{
    int n = 0;

    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        n += s->kind == STMT_SCHEDULE && (!target || text_equal_nocase(s->name, target));
    }
    return n;
}

/* Of schedules for several targets that for the one at hand; a schedule alone is for any. */
static void choose_schedules(const Chain *chain, const Program *program)
{
    const char *target = chain->target ? chain->target->name : NULL;

    for (int i = 0; target && i < program->units.len; i++) {
        Block *body = &program->units.data[i]->body;
        int kept = 0;

        if (count_schedules(program->units.data[i], NULL) < 2 ||
            count_schedules(program->units.data[i], NULL) == count_schedules(program->units.data[i], target))
            continue;
        for (int k = 0; k < body->len; k++)
            if (body->data[k]->kind != STMT_SCHEDULE || text_equal_nocase(body->data[k]->name, target))
                body->data[kept++] = body->data[k];
        body->len = kept;
    }
}

/* Whether the code is as it was written. Of another the reasoner has used or refused all settings already. */
static bool is_by_hand(const Chain *chain)
{
    return !chain->reasoned || (chain->beside && chain->reasoned->code == chain->beside);
}

static bool check(Chain *chain, const Program *program, const Source *code)
{
    CheckOptions options = {.target = chain->target, .settings = &chain->settings, .derived = chain->derived && code == chain->code};
    double since = clock_seconds();
    chain->settings.by_hand = is_by_hand(chain);
    bool right = check_program(chain->arena, chain->syms, program, &options, chain->diags);

    timed(chain, "check", since);
    return right;
}

/* Whether a later setting has the same name. */
static bool overridden(const Chain *chain, int index)
{
    const Setting *setting = &chain->settings.list.data[index];

    return settings_find(&chain->settings, setting->name) != setting;
}

static bool all_used(Chain *chain, const Unit *unit)
{
    for (int i = 0; i < chain->settings.list.len && is_by_hand(chain); i++)
        if (!chain->settings.list.data[i].used && !overridden(chain, i)) {
            const char *name = chain->settings.list.data[i].name, *flow = sched_about_flow(name);
            Diag *d = diag_add(chain->diags, TW0210, unit->name_span, "%s has no dimension, Param or assignment %s", unit->name, name);

            if (flow)
                diag_note(chain->diags, d, "%s", flow);
        }
    return !chain->diags->errors;
}

/* What is forced goes before what the code says. */
static void force_schedule(const Chain *chain)
{
    for (int k = 0; chain->tile && k < chain->tile->kernels.len; k++)
        for (int i = 0; i < SCHED_COUNT; i++)
            if (chain->schedule.value[i] != SCHED_AUTO)
                chain->tile->kernels.data[k]->schedule.value[i] = chain->schedule.value[i];
}

static bool lower_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    return chain_lower(chain, source) && chain_schedule(chain) && chain_emit(chain);
}

/* What the definition gives is no workspace, though a later kernel reads it as well. */
static void keep_outputs(const Chain *chain)
{
    for (int i = 0; chain->def && chain->tile && i < chain->def->outputs.len; i++) {
        TileTensor *tensor = tile_tensor(chain->tile, chain->def->outputs.data[i]->name);

        if (tensor)
            tensor->workspace = false;
    }
}

/* Of a definition, or a sketch: what makes code of it. */
static bool no_code(Chain *chain, const Source *source, const Program *program, const Unit *unit, const char *what, const char *by)
{
    Diag *d = diag_add(chain->diags, TW0715, unit->name_span, "%s is %s", unit->name, what);

    diag_note(chain->diags, d, "%s %s", by, source->path);
    return give_up(chain, source, program, lower_again);
}

bool chain_lower(Chain *chain, const Source *code)
{
    Program *program = parse(chain, code);
    const Unit *unit;
    double since;

    if (chain->diags->errors)
        return give_up(chain, code, program, lower_again);
    unit = program_unit(program, UNIT_KERNEL);
    if (!unit && program_unit(program, UNIT_OPERATOR))
        return no_code(chain, code, program, program_unit(program, UNIT_OPERATOR), "a definition: it says nothing of tiles and copies", "tw gen");
    if (!unit)
        return fail(chain, arena_printf(chain->arena, "%s holds no code (Kernel NAME ... end)",
                                        code->path));
    if (!chain->name)
        chain->name = unit->name;
    if (check_is_sketch(unit))
        return no_code(chain, code, program, unit, "a sketch: it has no sizes yet", "tw reason");
    choose_schedules(chain, program);
    Program *complete = kernels_complete(chain->arena, program, &chain->settings);
    if (!check(chain, complete, code))
        return give_up(chain, code, program, lower_again);
    since = clock_seconds();
    chain->tile = lower(chain->arena, chain->syms, chain->aff, complete, &chain->settings, chain->diags);
    chain->lowered = code;
    keep_outputs(chain);
    force_schedule(chain);
    if (!chain->tile || !tile_verify(chain->tile, chain->diags) || !all_used(chain, unit))
        return give_up(chain, code, program, lower_again);
    timed(chain, "lower", since);
    keep(chain, "lower", true, chain->tile);
    return true;
}

bool chain_read_tile(Chain *chain, const Source *dump)
{
    double since = clock_seconds();

    chain->dump = dump;
    if (!chain_check_tile(chain, dump))
        return false;
    if (!chain->name)
        chain->name = chain->tile->name;
    timed(chain, "tile IR", since);
    keep(chain, chain->tile->after ? chain->tile->after : "lower", true, chain->tile);
    return true;
}

static bool check_tile_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    chain->diags->source = source;
    chain->tile = tile_parse(chain->arena, chain->syms, chain->aff, source, chain->diags);
    return chain->tile && tile_verify(chain->tile, chain->diags);
}

bool chain_check_tile(Chain *chain, const Source *dump)
{
    bool right = check_tile_again(chain, dump, false);

    suggest_all(chain, dump, NULL, check_tile_again, NULL, false);
    return right;
}

static bool after_pass(void *user, const Pass *pass, TileProgram *program)
{
    keep(user, pass->name, pass_was_exact(pass, program), program);
    return true;
}

static bool compile_tile_again(Chain *chain, const Source *source, bool fragment)
{
    return check_tile_again(chain, source, fragment) && chain_schedule(chain) && chain_emit(chain);
}

/* What passes and the emitter say of tile IR that somebody wrote. Returns false. */
static bool give_up_tiles(Chain *chain)
{
    if (chain->dump)
        suggest_all(chain, chain->dump, NULL, compile_tile_again, NULL, false);
    return false;
}

bool chain_schedule(Chain *chain)
{
    double since = clock_seconds();
    bool done = pass_run(chain->tile, chain->target, chain->diags, after_pass, chain);

    timed(chain, "passes", since);
    return done || give_up_tiles(chain);
}

/* What was compiled in: "NAME=VALUE ...". */
static const char *settings_text(const Chain *chain)
{
    Str text = str_new(chain->arena);

    for (int i = 0; i < chain->own.list.len; i++)
        str_printf(&text, "%s%s=%.17g", i ? " " : "", chain->own.list.data[i].name,
                   chain->own.list.data[i].value);
    return str_text(&text);
}

void chain_describe(Chain *chain, Abi *abi)
{
    abi->definition = chain->definition;
    abi->settings = settings_text(chain);
    abi->dtype = chain->own.dtype;
}

static void describe(Chain *chain)
{
    chain_describe(chain, chain->abi);
}

static bool translation_made(Chain *chain, const Source *code)
{
    return chain_lower(chain, code) && chain_translate(chain);
}

static bool translate_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    return translation_made(chain, source);
}

/* What the translation says of code. Returns false. */
static bool give_up_translation(Chain *chain)
{
    const Program *program = chain->edits && chain->lowered ? lang_parse(chain->arena, chain->syms, chain->lowered, diags_new(chain->arena, chain->lowered)) : NULL;

    if (program)
        chain_mend(chain, chain->lowered, program, translation_made);
    return program && give_up(chain, chain->lowered, program, translate_again);
}

bool chain_translate(Chain *chain)
{
    double since = clock_seconds();
    Str text = str_new(chain->arena);

    if (!pass_run_sequential(chain->tile, chain->target, chain->diags))
        return give_up_translation(chain);
    chain->abi = cute_plan(chain->arena, chain->tile, chain->target, chain->diags);
    if (!chain->abi)
        return give_up_translation(chain);
    describe(chain);
    if (!cute_emit(&text, chain->tile, chain->abi, chain->target, chain->diags))
        return give_up_translation(chain);
    chain->cute = chain_text(chain, arena_printf(chain->arena, "%s.%s.cu", chain->name,
                                                 chain->target->name), &text);
    timed(chain, "CuTe", since);
    return true;
}

bool chain_frame(Chain *chain, const int64_t *shared_bytes)
{
    if (!chain->tile->after && !pass_run_sequential(chain->tile, chain->target, chain->diags))
        return false;
    chain->abi = cute_frame(chain->arena, chain->tile, chain->target, shared_bytes);
    describe(chain);
    return true;
}

const char *chain_head(Chain *chain, int kernel)
{
    Str text = str_new(chain->arena);

    cute_emit_head(&text, chain->tile, kernel, chain->abi, chain->target);
    return str_text(&text);
}

/* Without tensor maps, which frames do not have. */
const char *const *chain_blocks(Chain *chain)
{
    int n = chain->tile->kernels.len;
    const char **blocks = arena_array(chain->arena, const char *, n + 1);
    Target plain = *chain->target;
    Abi *abi;

    plain.has_tma = false;
    if (!pass_run_sequential(chain->tile, &plain, chain->diags) ||
        !(abi = cute_plan(chain->arena, chain->tile, &plain, chain->diags)))
        return NULL;
    for (int k = 0; k < n; k++) {
        Str text = str_new(chain->arena);

        if (!cute_emit_block(&text, chain->tile, k, abi, &plain, chain->diags))
            return NULL;
        blocks[k] = str_text(&text);
    }
    return blocks;
}

bool chain_emit(Chain *chain)
{
    double since = clock_seconds();
    Str text = str_new(chain->arena);

    chain->abi = abi_from_tile(chain->arena, chain->tile, chain->target);
    if (!chain->abi)
        return false;
    describe(chain);
    if (!ptx_emit(&text, chain->tile, chain->abi, chain->target, chain->diags))
        return give_up_tiles(chain);
    chain->ptx = chain_text(chain, arena_printf(chain->arena, "%s.%s.ptx", chain->name,
                                                chain->target->name), &text);
    timed(chain, "PTX", since);
    return true;
}

bool chain_make(Chain *chain, const Source *definition)
{
    return chain_define(chain, definition) && chain_fuse(chain) && chain_reason(chain, chain->sketch) && chain_lower(chain, chain->code) &&
           chain_schedule(chain) && chain_emit(chain);
}

/* ---- checking alone ------------------------------------------------------------------ */

/* What only shows when tiles get their storage: whether stages are what a read
 * asks for, warps divide tiles, results meet in the same lanes. */
static bool try_compile(Chain *chain, const Program *program)
{
    chain->tile = lower(chain->arena, chain->syms, chain->aff, program, &chain->settings, chain->diags);
    return chain->tile && chain_schedule(chain) && chain_emit(chain);
}

static int count_of(const Diags *diags, DiagCode code)
{
    int n = 0;

    for (int i = 0; i < diags->list.len; i++)
        n += diags->list.data[i].code == code;
    return n;
}

static void drop_code(Diags *diags, DiagCode code)
{
    int kept = 0;

    for (int i = 0; i < diags->list.len; i++) {
        if (diags->list.data[i].code != code)
            diags->list.data[kept++] = diags->list.data[i];
        else
            diags->errors -= diag_info(code)->severity == SEV_ERROR;
    }
    diags->list.len = kept;
}

static bool begins(const Diag *d, const char *word)
{
    return d->source && strncmp(d->source->text + d->span.start, word, strlen(word)) == 0;
}

static bool kernel_made(Chain *chain, const Source *code)
{
    return chain_lower(chain, code) && chain_schedule(chain) && chain_emit(chain);
}

/* A block is closed, but not by `end`, or `return` is all that it would have held. */
static bool ends_otherwise(const Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++) {
        const Diag *d = &diags->list.data[i];
        if ((d->code == TW0101 && begins(d, "}")) || (d->code == TW0102 && begins(d, "return")))
            return true;
    }
    return false;
}

/* A block begins, but not by a word of ours. */
static bool begins_otherwise(const Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == TW0106 && (begins(&diags->list.data[i], "while") || begins(&diags->list.data[i], "def ") || begins(&diags->list.data[i], "__global__")))
            return true;
    return false;
}

/* What may well follow from something else that is wrong. */
static void drop_consequences(Diags *diags)
{
    static const struct { DiagCode cause, follows; } pairs[] = {
        {TW0733, TW0442}, /* where units are wrong, what is not used */
        {TW0444, TW0446}, /* a tile whose mask stands behind its softmax */
        {TW0723, TW0730}, /* what was not copied was not found either */
        {TW0220, TW0452}, /* a coordinate that has no value */
        {TW0402, TW0440}, /* what was to go to a tile that there is not */
        {TW0402, TW0432},
        {TW0245, TW0421}, /* what a tile operation would have left */
        {TW0232, TW0237}, /* what statements that are none of a definition's would have computed */
        {TW0238, TW0235}, /* a tensor that a line is thought to give a number */
        {TW0711, TW0414}, /* coordinates of a tensor that is another */
        {TW0711, TW0416},
        {TW0731, TW0719}, /* of parts whose size is not known */
    };

    if (ends_otherwise(diags))
        drop_code(diags, TW0105);
    if (begins_otherwise(diags))
        drop_code(diags, TW0107);
    for (size_t i = 0; i < TW_COUNT(pairs); i++)
        if (count_of(diags, pairs[i].cause))
            drop_code(diags, pairs[i].follows);
}

/* Errors before warnings, which may well follow from them. */
static void errors_first(Chain *chain)
{
    Diags *diags = chain->diags;
    Diag *sorted = arena_array(chain->arena, Diag, diags->list.len + 1);
    int n = 0;

    for (int warnings = 0; warnings < 2; warnings++)
        for (int i = 0; i < diags->list.len; i++)
            if ((diag_info(diags->list.data[i].code)->severity != SEV_ERROR) == (warnings == 1))
                sorted[n++] = diags->list.data[i];
    for (int i = 0; i < n; i++)
        diags->list.data[i] = sorted[i];
}

/* Whether Kernels beside the one Operator are its flow: what they read and write is its own. */
static bool are_of_definition(Chain *chain, const Program *program)
{
    const Unit *unit = program_unit(program, UNIT_OPERATOR);
    const Program *kernels = kernels_beside(chain->arena, program);
    Settings *settings = arena_new_of(chain->arena, Settings);
    Def *def;

    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == UNIT_FRAGMENT || (program->units.data[i]->kind == UNIT_OPERATOR && program->units.data[i] != unit))
            return true;
    if (!unit || !kernels)
        return true;
    settings->dtype = chain->settings.dtype;
    settings->operands = DT_BF16;
    def = def_resolve(chain->arena, chain->syms, aff_ctx_new(chain->arena), program, unit, settings, diags_new(chain->arena, chain->diags->source));
    return !def || kernels_fit(kernels, def, &chain->settings, chain->diags);
}

/* What was not understood leaves holes, of which the checker would complain a
 * second time. */
static bool check_once(Chain *chain, const Source *source, const Program *program, bool fragment)
{
    CheckOptions options = {.target = chain->target, .settings = &chain->settings, .fragment = fragment};
    bool whole = !fragment && chain->target && program_unit(program, UNIT_KERNEL), sketch = check_has_sketch(program);

    chain->settings.by_hand = !sketch;
    if (!chain->diags->errors && (!check_program(chain->arena, chain->syms, program, &options, chain->diags) ||
                                  (whole && !sketch && !try_compile(chain, program)) ||
                                  (whole && sketch && !sketch_check_code(chain->arena, chain->syms, program, chain->target,
                                                                         &chain->settings, chain->diags))))
        chain_mend(chain, source, program, kernel_made);
    if (!chain->diags->errors && whole)
        are_of_definition(chain, program);
    return !chain->diags->errors;
}

static bool check_again(Chain *chain, const Source *source, bool fragment)
{
    Program *program = parse(chain, source);

    choose_schedules(chain, program);
    return check_once(chain, source, kernels_complete(chain->arena, program, &chain->settings), fragment);
}

/* A tensor may have more than what is computed takes: where Kernels agree with their definition as they are, all is read
 * that is to be. */
static void drop_unread(Chain *chain, const Source *source, const Program *program)
{
    Diags *diags = chain->diags;
    Arena *own;
    Chain *like;

    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code != TW0414)
            return;
    if (!diags->list.len)
        return;
    own = arena_new(arena_heap(chain->arena));
    like = chain_like(own, chain, diags_new(own, source));
    agree_check(own, like, source, program);
    if (like->executed && !like->diags->list.len)
        diags->list.len = 0;
    arena_free(own);
}

/* With what is found when Kernels are executed beside their definition. */
static bool agree_again(Chain *chain, const Source *source, bool fragment)
{
    Program *program = parse(chain, source);

    choose_schedules(chain, program);
    if (!check_once(chain, source, kernels_complete(chain->arena, program, &chain->settings), fragment))
        return false;
    drop_unread(chain, source, program);
    Arena *own = arena_new(arena_heap(chain->arena));
    agree_check(own, chain, source, program);
    arena_free(own);
    return true;
}

/* Of Kernels that give something else than their definition. */
static void suggest_differing(Chain *chain, const Source *source, const Program *program)
{
    Arena *own = arena_new(arena_heap(chain->arena));
    Witness *witness = agree_check(own, chain, source, program);

    if (witness)
        suggest_of(chain, source, program, agree_again, TW0523, witness);
    arena_free(own);
}

static bool has_edit(const Diags *diags)
{
    bool any = false;

    for (int i = 0; i < diags->list.len; i++)
        any |= diags->list.data[i].fix.text != NULL;
    return any;
}

/* What is said of parts that are not read, without an edit, is less than what executing both says. */
static void say_differing(Chain *chain, const Source *source, const Program *program)
{
    Diags *diags = chain->diags;
    int n = diags->list.len;
    Diag *unread = arena_array(chain->arena, Diag, n + 1);

    for (int i = 0; i < diags->list.len; i++) {
        unread[i] = diags->list.data[i];
        n = unread[i].code == TW0414 && !unread[i].fix.text ? n : 0;
    }
    diags->list.len = n ? 0 : diags->list.len;
    suggest_differing(chain, source, program);
    for (int i = 0; i < n && !has_edit(diags); i++)
        vec_push(chain->arena, &diags->list, unread[i]);
}

bool chain_check(Chain *chain, const Source *source, bool fragment)
{
    Program *program = parse(chain, source);
    bool right;

    choose_schedules(chain, program);
    right = check_once(chain, source, kernels_complete(chain->arena, program, &chain->settings), fragment);
    if (right && !fragment)
        drop_unread(chain, source, program);
    suggest_all(chain, source, program, check_again, fragment || !program_unit(program, UNIT_OPERATOR) || !program_unit(program, UNIT_KERNEL) ? NULL : agree_again, fragment);
    if (right && !fragment)
        say_differing(chain, source, program);
    drop_consequences(chain->diags);
    errors_first(chain);
    return right;
}
