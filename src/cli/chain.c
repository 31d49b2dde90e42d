/* chain.c: the stages from a definition to PTX. */
#include "cli/chain.h"

#include "fuse/fuse.h"
#include "lower/lower.h"
#include "ptx/ptx.h"

/* Choices of the reasoner that --set may force; a definition need not know them. */
static const char *const forced[] = {"BM", "BN", "BK", "warps", "stages", "blocks_per_sm"};

static bool is_forced(const char *name)
{
    for (size_t i = 0; i < TW_COUNT(forced); i++)
        if (text_equal_nocase(name, forced[i]))
            return true;
    return false;
}

Chain *chain_new(Session *s)
{
    Chain *chain = arena_new_of(s->arena, Chain);

    chain->s = s;
    chain->settings.dtype = chain->own.dtype = s->options.dtype;
    for (int i = 0; i < s->options.sets.len; i++) {
        const char *error = settings_add(s->arena, &chain->settings, s->options.sets.data[i]);

        if (error) {
            session_usage(s, "--set: %s", error);
            return NULL;
        }
    }
    for (int i = 0; i < chain->settings.list.len; i++)
        if (!is_forced(chain->settings.list.data[i].name))
            vec_push(s->arena, &chain->own.list, chain->settings.list.data[i]);
    return chain;
}

int chain_failed(Chain *chain, const char *stage)
{
    if (chain->told)
        return EXIT_WRONG;
    if (session_diagnose(chain->s))
        return EXIT_WRONG;
    return session_fail(chain->s, EXIT_WRONG, "%s failed and did not say why: a mistake in tw", stage);
}

static bool tell(Chain *chain, const char *text)
{
    session_diagnose(chain->s);
    session_fail(chain->s, EXIT_WRONG, "%s", text);
    chain->told = true;
    return false;
}

static void timed(Chain *chain, const char *name, double since)
{
    vec_push(chain->s->arena, &chain->stages, (Stage){name, clock_seconds() - since});
}

Source *chain_text(Chain *chain, const char *path, const Str *text)
{
    Source *source = arena_new_of(chain->s->arena, Source);

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

static Program *parse(Chain *chain, const Source *source)
{
    Session *s = chain->s;
    Program *program;

    s->diags->source = source;
    program = lang_parse(s->arena, s->syms, source, s->diags);
    return s->diags->errors ? NULL : program;
}

/* ---- definition, sketch, code ----------------------------------------------------- */

static bool resolve(Chain *chain, const Program *program, const Unit *unit)
{
    Session *s = chain->s;
    Str text = str_new(s->arena);

    chain->def = def_resolve(s->arena, s->syms, s->aff, program, unit, &chain->own, s->diags);
    if (!chain->def)
        return false;
    lang_print_unit(&text, unit);
    chain->definition = str_text(&text);
    if (!chain->name)
        chain->name = unit->name;
    return true;
}

bool chain_define(Chain *chain, const Source *source)
{
    double since = clock_seconds();
    Program *program = parse(chain, source);
    const Unit *unit;
    bool done;

    if (!program)
        return false;
    unit = program_unit(program, UNIT_OPERATOR);
    if (!unit)
        return tell(chain, arena_printf(chain->s->arena,
                                        "%s holds no definition (Operator NAME ... end)",
                                        source->path));
    done = resolve(chain, program, unit);
    timed(chain, "definition", since);
    return done;
}

bool chain_fuse(Chain *chain)
{
    Session *s = chain->s;
    double since = clock_seconds();
    Str text = str_new(s->arena);
    Program *sketch = fuse(s->arena, s->syms, chain->def, s->diags);

    if (!sketch)
        return false;
    lang_print(&text, sketch);
    chain->sketch = chain_text(chain, arena_printf(s->arena, "%s.sketch.tl", chain->name), &text);
    timed(chain, "sketch", since);
    return true;
}

bool chain_reason(Chain *chain, const Source *sketch)
{
    Session *s = chain->s;
    double since = clock_seconds();
    ReasonOptions options = {s->options.target, &chain->settings, s->options.dtype};
    Program *program = parse(chain, sketch);
    const Unit *unit = program ? program_unit(program, UNIT_KERNEL) : NULL;
    Str text = str_new(s->arena);

    if (!program)
        return false;
    if (!unit)
        return tell(chain, arena_printf(s->arena, "%s holds no sketch (Kernel NAME ... end)",
                                        sketch->path));
    if (!chain->name)
        chain->name = unit->name;
    chain->reasoned = reason(s->arena, s->syms, program, &options, s->diags);
    if (!chain->reasoned)
        return false;
    lang_print(&text, chain->reasoned->code);
    chain->code = chain_text(chain, arena_printf(s->arena, "%s.code.tl", chain->name), &text);
    timed(chain, "code", since);
    return true;
}

/* ---- tile IR, PTX ------------------------------------------------------------------ */

static void keep(Chain *chain, const char *name, bool exact, const TileProgram *program)
{
    Snapshot snapshot = {name, exact, NULL};

    if (!chain->keep_snapshots)
        return;
    snapshot.program = tile_clone(chain->s->arena, program);
    vec_push(chain->s->arena, &chain->snapshots, snapshot);
}

bool chain_lower(Chain *chain, const Source *code)
{
    Session *s = chain->s;
    double since = clock_seconds();
    Program *program = parse(chain, code);
    const Unit *unit;

    if (!program)
        return false;
    unit = program_unit(program, UNIT_KERNEL);
    if (!unit)
        return tell(chain, arena_printf(s->arena, "%s holds no code (Kernel NAME ... end)",
                                        code->path));
    if (!chain->name)
        chain->name = unit->name;
    chain->tile = lower(s->arena, s->syms, s->aff, program, &chain->settings, s->diags);
    if (!chain->tile || !tile_verify(chain->tile, s->diags))
        return false;
    timed(chain, "lower", since);
    keep(chain, "lower", true, chain->tile);
    return true;
}

static bool after_pass(void *user, const Pass *pass, TileProgram *program)
{
    keep(user, pass->name, pass->exact, program);
    return true;
}

bool chain_schedule(Chain *chain)
{
    double since = clock_seconds();
    bool done = pass_run(chain->tile, chain->s->options.target, chain->s->diags, after_pass, chain);

    timed(chain, "passes", since);
    return done;
}

/* What was compiled in: "NAME=VALUE ...". */
static const char *settings_text(const Chain *chain)
{
    Str text = str_new(chain->s->arena);

    for (int i = 0; i < chain->own.list.len; i++)
        str_printf(&text, "%s%s=%.17g", i ? " " : "", chain->own.list.data[i].name,
                   chain->own.list.data[i].value);
    return str_text(&text);
}

bool chain_emit(Chain *chain)
{
    Session *s = chain->s;
    double since = clock_seconds();
    Str text = str_new(s->arena);

    chain->abi = abi_from_tile(s->arena, chain->tile, s->options.target);
    if (!chain->abi)
        return false;
    chain->abi->definition = chain->definition;
    chain->abi->settings = settings_text(chain);
    chain->abi->dtype = s->options.dtype;
    if (!ptx_emit(&text, chain->tile, chain->abi, s->options.target, s->diags))
        return false;
    chain->ptx = chain_text(chain, arena_printf(s->arena, "%s.%s.ptx", chain->name,
                                                s->options.target->name), &text);
    timed(chain, "PTX", since);
    return true;
}

/* ---- back from a PTX file ------------------------------------------------------------ */

static bool take_settings(Chain *chain, const char *text)
{
    Session *s = chain->s;

    while (*text) {
        size_t len = strcspn(text, " ");

        if (len && settings_add(s->arena, &chain->own, arena_strndup(s->arena, text, len)))
            return tell(chain, "the settings in the PTX file's ABI are damaged");
        text += len + strspn(text + len, " ");
    }
    return true;
}

bool chain_define_from_abi(Chain *chain, const Abi *abi, const Source *against)
{
    Str text = str_new(chain->s->arena);

    if (!against && !abi->definition)
        return tell(chain, "the PTX file names no definition; give one with --against OP.tl");
    chain->own = (Settings){.dtype = abi->dtype};
    if (!take_settings(chain, abi->settings ? abi->settings : ""))
        return false;
    chain->name = abi->name;
    str_add(&text, abi->definition ? abi->definition : "");
    return chain_define(chain, against ? against
                                       : chain_text(chain, "the definition in the PTX file", &text));
}
