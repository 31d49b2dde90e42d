/* mend.c: a way out for code whose tiles the target cannot hold as its schedule
 * says: other numbers are tried until one compiles.
 *
 *   Schedule sm_80          a register tile of 32 x 64 does not fit 4 x 1 warps
 *     warps = 4    ─►  warps = 2
 *
 * Likewise where a part is taken of a tile that so many warps share. Lines of the
 * schedule come first, since they never change what is computed, then the sizes that
 * the code assigns. Where some schedule would do, but for want of registers or shared
 * memory, the program is right: it runs on the CPU, and on a target with more room. Then
 * a size and a line, or two sizes, are tried together:
 *
 *   BM = 32                 a register tile of 32 x 1 does not fit 4 x 1 warps, and 2 lack registers
 *   BN = 128     ─►  BN = 64
 *     warps = 4    ─►  warps = 2
 */
#include "chain/chain.h"

#include "check/check.h"

enum { MOST_TRIES = 26, MOST_PAIRS = 60 };

static const struct {
    const char *name;
    int values[7], n;
} LINES[] = {
    {"warps", {4, 8, 2, 1, 16, 3, 6}, 7},
    {"warps_n", {1, 2, 4}, 3},
    {"stages", {3, 2, 1}, 3},
};

typedef struct Mender {
    Chain *chain;
    const Source *source;
    const Unit *unit;
    Diag *diag;
    int tries, most;
    bool tight; /* some try failed for want of room alone */
    const Fix *with; /* is made as well; NULL: nothing */
    ChainMade *made;
} Mender;

/* ---- one try --------------------------------------------------------------------------- */

static const char *edited(Arena *arena, const Source *source, const Fix *fix)
{
    Str text = str_new(arena);

    str_addn(&text, source->text, (size_t)fix->span.start);
    str_add(&text, fix->text);
    str_addn(&text, source->text + fix->span.end, source->len - (size_t)fix->span.end);
    return str_text(&text);
}

static bool lacks_room(DiagCode code)
{
    return code == TW0460 || code == TW0461 || code == TW0771;
}

static bool compiles(Mender *m, Arena *arena, const char *text)
{
    const Chain *like = m->chain;
    Source *source = arena_new_of(arena, Source);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), like->target,
                             like->settings.dtype);

    *source = (Source){"trial", text, strlen(text)};
    chain->settings = like->settings;
    chain->reasoned = like->reasoned;
    if (m->made(chain, source))
        return true;
    for (int i = 0; i < chain->diags->list.len && chain->diags->errors == 1; i++)
        m->tight |= lacks_room(chain->diags->list.data[i].code);
    return false;
}

/* Both as one; they do not overlap. */
static Fix joined(Mender *m, const Fix *a, const Fix *b)
{
    const Fix *first = a->span.start <= b->span.start ? a : b, *second = first == a ? b : a;
    int between = second->span.start - first->span.end;

    return (Fix){{first->span.start, second->span.end},
                 arena_printf(m->chain->arena, "%s%.*s%s", first->text, between, m->source->text + first->span.end, second->text), a->label};
}

static bool try_fix(Mender *m, Fix fix)
{
    Arena *own;
    bool helps;

    if (m->tries++ >= m->most || (m->with && m->with->span.start == fix.span.start))
        return false;
    if (m->with)
        fix = joined(m, m->with, &fix);
    own = arena_new(arena_heap(m->chain->arena));
    helps = compiles(m, own, edited(own, m->source, &fix));
    arena_free(own);
    if (helps)
        diag_fix(m->chain->diags, m->diag, fix.span, fix.text, fix.label);
    return helps;
}

static bool try_number(Mender *m, const Stmt *line, int64_t value)
{
    const char *text = arena_printf(m->chain->arena, "%lld", (long long)value);

    return try_fix(m, (Fix){line->value->span, text, "with this it fits"});
}

/* ---- the schedule ------------------------------------------------------------------------ */

static const Stmt *find_line(const Stmt *schedule, const char *name)
{
    return schedule ? block_find(&schedule->body, STMT_ASSIGN, name) : NULL;
}

/* Where the `end` that closes a span begins; -1: it has none. */
static int closing_end(const Source *source, Span span)
{
    int at = span.end - 3;

    return at > span.start && (size_t)span.end <= source->len && strncmp(source->text + at, "end", 3) == 0 ? at : -1;
}

/* A line that the schedule, or a schedule that the unit, does not have yet. */
static bool try_new_line(Mender *m, const Stmt *schedule, const char *name, int value)
{
    Arena *arena = m->chain->arena;
    int at = closing_end(m->source, schedule ? schedule->span : m->unit->span);
    const char *text = schedule ? arena_printf(arena, "  %s = %d\n  ", name, value)
                                : arena_printf(arena, "  Schedule %s\n    %s = %d\n  end\n", m->chain->target->name,
                                               name, value);

    return at >= 0 && try_fix(m, (Fix){{at, at}, text, "with this it fits"});
}

static bool try_schedule(Mender *m)
{
    const Stmt *schedule = block_find(&m->unit->body, STMT_SCHEDULE, NULL);

    for (size_t i = 0; i < TW_COUNT(LINES); i++) {
        const Stmt *line = find_line(schedule, LINES[i].name);

        for (int k = 0; k < LINES[i].n; k++) {
            int value = LINES[i].values[k];
            bool known = line && line->value && line->value->kind == EXPR_INT;

            if (known && line->value->i != value && try_number(m, line, value))
                return true;
            if (!line && i == 0 && try_new_line(m, schedule, LINES[i].name, value))
                return true;
        }
    }
    return false;
}

/* Warps side by side as well, where rows alone do not give enough of them work. */
static bool try_beside(Mender *m)
{
    static const int pairs[][2] = {{4, 2}, {8, 2}, {8, 4}, {16, 4}, {2, 2}};
    const Stmt *schedule = block_find(&m->unit->body, STMT_SCHEDULE, NULL), *warps = find_line(schedule, "warps");

    if (!warps || !warps->value || find_line(schedule, "warps_n"))
        return false;
    for (size_t i = 0; i < TW_COUNT(pairs); i++) {
        const char *text = arena_printf(m->chain->arena, "%d\n    warps_n = %d", pairs[i][0], pairs[i][1]);

        if (try_fix(m, (Fix){warps->value->span, text, "with this it fits"}))
            return true;
    }
    return false;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool try_sizes(Mender *m)
{
    Block sizes = check_tile_sizes(m->chain->arena, m->unit);

    for (int shift = 1; shift <= 3; shift++)
        for (int i = 0; i < sizes.len; i++) {
            int64_t size = sizes.data[i]->value->i;

            if (size > 16 && try_number(m, sizes.data[i], ((size >> shift) + 15) / 16 * 16))
                return true;
        }
    return false;
}

/* Sizes that are less than what tensor cores take, or no multiple of it, the next one. */
static bool try_whole_sizes(Mender *m)
{
    Block sizes = check_tile_sizes(m->chain->arena, m->unit);

    for (int i = 0; i < sizes.len; i++) {
        int64_t size = sizes.data[i]->value->i;

        if (size % 16 && try_number(m, sizes.data[i], (size + 15) / 16 * 16))
            return true;
    }
    return false;
}

/* ---- a size, and something else ------------------------------------------------------------- */

static bool try_pairs(Mender *m)
{
    Block sizes = check_tile_sizes(m->chain->arena, m->unit);

    m->tries = 0;
    m->most = MOST_PAIRS;
    for (int shift = 1; shift <= 2; shift++)
        for (int i = 0; i < sizes.len; i++) {
            const Expr *value = sizes.data[i]->value;
            Fix size = {value->span, arena_printf(m->chain->arena, "%lld", (long long)(value->i >> shift)), "two changes, of which neither does alone"};

            m->with = &size;
            if (value->i >> shift >= 16 && (value->i >> shift) % 16 == 0 && (try_schedule(m) || try_sizes(m)))
                return true;
        }
    return false;
}

/* ---- entry ------------------------------------------------------------------------------------ */

/* About tiles that are right but have no room as they are, or not among so many warps. */
static bool is_of_room(DiagCode code)
{
    return lacks_room(code) || code == TW0774 || code == TW0775 || code == TW0776 || code == TW0803;
}

static const Unit *unit_at(const Program *program, int offset)
{
    const Unit *found = NULL;

    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->span.start <= offset)
            found = program->units.data[i];
    return found;
}

void chain_mend(Chain *chain, const Source *source, const Program *program, ChainMade *made)
{
    Diags *diags = chain->diags;
    Diag *last = diags->list.len ? &diags->list.data[diags->list.len - 1] : NULL;
    Mender m = {.chain = chain, .source = source, .diag = last, .most = MOST_TRIES, .made = made};

    if (!last || diags->errors != 1 || !is_of_room(last->code))
        return;
    m.unit = unit_at(program, last->span.start);
    if (!m.unit || last->fix.text || try_schedule(&m) || try_beside(&m) || (last->code == TW0774 && try_whole_sizes(&m)) || try_sizes(&m) || lacks_room(last->code) || !m.tight)
        return;
    last->code = TW0778;
    last->note = "what else its Schedule may say lacks registers or shared memory, or divides its tiles no better";
    diags->errors = 0;
    if (chain->edits)
        try_pairs(&m);
}
