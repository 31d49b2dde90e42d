/* chain.c: the stages from a definition to PTX, one function each, in their order; chain_make is all of them.
 *
 *   settings.c   what --set and --bind say        find.c     which sketch a definition becomes
 *   check.c      what is said of a text           mend.c     what fits where code does not
 *   agree.c      Kernels beside their definition, executed
 */
#include "chain/beside.h"
#include "chain/stages.h"

#include "check/check.h"
#include "cute/cute.h"
#include "fuse/fuse.h"
#include "lower/lower.h"
#include "ptx/ptx.h"

bool chain_fail(Chain *chain, const char *failure)
{
    chain->failure = failure;
    return false;
}

void chain_timed(Chain *chain, const char *name, double since)
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

Program *chain_parse(Chain *chain, const Source *source)
{
    chain->diags->source = source;
    return lang_parse(chain->arena, chain->syms, source, chain->diags);
}

bool chain_give_up(Chain *chain, const Source *source, const Program *program, SuggestStage *stage)
{
    suggest_all(chain, source, program, stage, NULL, false);
    return false;
}

/* ---- definition, sketch, code ----------------------------------------------------- */

static bool resolve(Chain *chain, Program *program, const Unit *unit)
{
    const Unit *typed = definition_typed(chain->arena, program, unit, chain->types.data, chain->types.len);
    Str text = str_new(chain->arena);

    chain_give_own(chain, unit);
    chain->own.operands = chain->target && !target_has_dtype(chain->target, DT_BF16) ? DT_F16 : DT_BF16;
    chain->def = def_resolve(chain->arena, chain->syms, chain->aff, program, typed, &chain->own, chain->diags);
    if (!chain->def)
        return false;
    chain_mark_taken(chain);
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
    Program *program = chain_parse(chain, source);
    const Unit *unit;
    bool done;

    chain->defined = source;
    chain->parsed = program;
    if (chain->diags->errors)
        return chain_give_up(chain, source, program, define_again);
    unit = program_unit(program, UNIT_OPERATOR);
    if (!unit)
        return chain_fail(chain, arena_printf(chain->arena,
                                        "%s holds no definition (Operator NAME ... end)",
                                        source->path));
    done = resolve(chain, program, unit) || chain_give_up(chain, source, program, define_again);
    chain_timed(chain, "definition", since);
    return done;
}

static bool fuse_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    return chain_define(chain, source) && chain_fuse(chain);
}

/* What a warning asks for, by which several kernels become one, can be known without a search for the best. */
static bool fuse_as_one_again(Chain *chain, const Source *source, bool fragment)
{
    (void)fragment;
    return chain_define(chain, source) && chain_fits_one(chain);
}

/* Of Kernels by hand that are several ways to do the same, those that will be code. */
static const Program *ways_taken(Chain *chain, const Program *sketch)
{
    ReasonOptions options = chain_judging(chain, chain_settings(chain, false));

    return chain->beside && chain->target ? reason_ways(chain->arena, chain->syms, sketch, &options) : sketch;
}

bool chain_fuse(Chain *chain)
{
    double since = clock_seconds();
    Str text = str_new(chain->arena);
    int before = chain->diags->list.len;
    Program *sketch = chain_find_sketch(chain);

    if (!sketch)
        return chain_give_up(chain, chain->defined, chain->parsed, fuse_again);
    if (chain->diags->list.len > before)
        suggest_all(chain, chain->defined, chain->parsed, fuse_as_one_again, NULL, false);
    lang_print(&text, ways_taken(chain, sketch));
    chain->sketch = chain_text(chain, arena_printf(chain->arena, "%s.sketch.tl", chain->name), &text);
    chain_timed(chain, "sketch", since);
    return true;
}

/* Sketches become code; code that stands beside a definition is code already. */
static ReasonResult *reason_all(Chain *chain, Program *program)
{
    ReasonOptions options = {.target = chain->target, .settings = &chain->settings, .launch = chain_launch(chain),
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
    ReasonOptions options = {.target = chain->target, .settings = chain_settings(chain, true),
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
    return types_fit(chain) || chain_give_up(chain, chain->defined, chain->parsed, code_again);
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
    Program *program = beside ? chain->beside : chain_parse(chain, sketch);
    const Unit *unit = program_unit(program, UNIT_KERNEL);
    Str text = str_new(chain->arena);

    if (!beside && chain->defined && sketch == chain->sketch && !chain_has_types(chain))
        return false;
    if (!beside && chain->diags->errors)
        return chain_give_up(chain, sketch, program, reason_again);
    if (!unit)
        return chain_fail(chain, arena_printf(chain->arena, "%s holds no sketch (Kernel NAME ... end)",
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
               : chain->def && sketch == chain->sketch ? chain_give_up(chain, chain->defined, chain->parsed, code_again)
                                                       : chain_give_up(chain, sketch, program, reason_again);
    lang_print(&text, chain->reasoned->code);
    chain->derived = chain->def && sketch == chain->sketch && !beside;
    chain->code = chain_text(chain, arena_printf(chain->arena, "%s.code.tl", chain->name), &text);
    chain_timed(chain, "code", since);
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

static int count_schedules(const Unit *unit, const char *target)
{
    int n = 0;

    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        n += s->kind == STMT_SCHEDULE && (!target || text_equal_nocase(s->name, target));
    }
    return n;
}

void chain_choose_schedules(const Chain *chain, const Program *program)
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

    chain_timed(chain, "check", since);
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
    return chain_give_up(chain, source, program, lower_again);
}

bool chain_lower(Chain *chain, const Source *code)
{
    Program *program = chain_parse(chain, code);
    const Unit *unit;
    double since;

    if (chain->diags->errors)
        return chain_give_up(chain, code, program, lower_again);
    unit = program_unit(program, UNIT_KERNEL);
    if (!unit && program_unit(program, UNIT_OPERATOR))
        return no_code(chain, code, program, program_unit(program, UNIT_OPERATOR), "a definition: it says nothing of tiles and copies", "tw gen");
    if (!unit)
        return chain_fail(chain, arena_printf(chain->arena, "%s holds no code (Kernel NAME ... end)",
                                        code->path));
    if (!chain->name)
        chain->name = unit->name;
    if (check_is_sketch(unit))
        return no_code(chain, code, program, unit, "a sketch: it has no sizes yet", "tw reason");
    chain_choose_schedules(chain, program);
    Program *complete = kernels_complete(chain->arena, program, &chain->settings);
    if (!check(chain, complete, code))
        return chain_give_up(chain, code, program, lower_again);
    since = clock_seconds();
    chain->tile = lower(chain->arena, chain->syms, chain->aff, complete, &chain->settings, chain->diags);
    chain->lowered = code;
    keep_outputs(chain);
    force_schedule(chain);
    if (!chain->tile || !tile_verify(chain->tile, chain->diags) || !all_used(chain, unit))
        return chain_give_up(chain, code, program, lower_again);
    chain_timed(chain, "lower", since);
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
    chain_timed(chain, "tile IR", since);
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

    chain_timed(chain, "passes", since);
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
    return program && chain_give_up(chain, chain->lowered, program, translate_again);
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
    chain_timed(chain, "CuTe", since);
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
    chain_timed(chain, "PTX", since);
    return true;
}

bool chain_make(Chain *chain, const Source *definition)
{
    return chain_define(chain, definition) && chain_fuse(chain) && chain_reason(chain, chain->sketch) && chain_lower(chain, chain->code) &&
           chain_schedule(chain) && chain_emit(chain);
}
