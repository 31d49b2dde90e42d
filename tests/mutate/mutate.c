/* mutate.c: enumerates mutants: walks the program once for each, until the
 * wanted mutation comes up. */
#include "mutate.h"

const char *mutate_line(Mutator *m, const Stmt *s)
{
    Str text = str_new(m->arena);

    lang_print_stmt(&text, s, 0);
    return arena_strndup(m->arena, str_text(&text), strcspn(str_text(&text), "\n"));
}

bool mutate_offer(Mutator *m, const char *kind, const char *fmt, ...)
{
    va_list args;

    if (m->wanted < 0)
        vec_push(m->arena, &m->offers->kinds, kind);
    if (m->done || m->offered++ != m->wanted)
        return false;
    m->done = true;
    m->kind = kind;
    va_start(args, fmt);
    m->what = arena_vprintf(m->arena, fmt, args);
    va_end(args);
    return true;
}

/* ---- names --------------------------------------------------------------------------------- */

typedef VEC(const char *) Names;

static void add(Arena *arena, Names *names, const char *name)
{
    for (int i = 0; i < names->len; i++)
        if (strcmp(names->data[i], name) == 0)
            return;
    vec_push(arena, names, name);
}

static void collect(Mutator *m, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_FOR)
            add(m->arena, (Names *)&m->counters, s->name);
        if (s->kind == STMT_GRID)
            for (int k = 0; k < s->n_coords; k++)
                add(m->arena, (Names *)&m->counters, s->coords[k].name);
        if (s->kind == STMT_ALLOCATE)
            add(m->arena, (Names *)&m->tiles, s->name);
        for (int k = 0; k < s->n_shape && s->kind == STMT_ALLOCATE; k++)
            if (s->shape[k]->kind == EXPR_NAME)
                add(m->arena, (Names *)&m->sizes, s->shape[k]->name);
        if (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT)
            for (int k = 0; k < s->n_shape; k++)
                if (s->shape[k]->kind == EXPR_NAME)
                    add(m->arena, (Names *)&m->dims, s->shape[k]->name);
        collect(m, &s->body);
    }
}

/* ---- one, and all ------------------------------------------------------------------------- */

static void walk_unit(Mutator *m, Unit *unit)
{
    m->unit = unit;
    m->counters.len = m->dims.len = m->sizes.len = m->tiles.len = 0;
    collect(m, &unit->body);
    mutate_blocks(m, &unit->body, NULL, 0);
}

/* Kernels that are lost or run in another order. */
static void kernels(Mutator *m, Program *program)
{
    for (int i = 0; i < program->units.len && program->units.len > 1 && !m->done; i++) {
        Unit **at = &program->units.data[i], *unit = *at;

        if (mutate_offer(m, "dropped kernel", "without %s", unit->name)) {
            memmove(at, at + 1, (size_t)(program->units.len - 1 - i) * sizeof *at);
            program->units.len--;
        } else if (i + 1 < program->units.len && mutate_offer(m, "swapped kernels", "%s after the next", unit->name)) {
            at[0] = at[1];
            at[1] = unit;
        }
    }
}

/* A fresh tree, so that a mutation may change it in place. NULL: it does not parse. */
static Program *walk(Mutator *m, const Source *source)
{
    Diags *diags = diags_new(m->arena, source);
    Program *program = lang_parse(m->arena, syms_new(m->arena), source, diags);

    if (diags->errors || program->units.len < 1)
        return NULL;
    for (int i = 0; i < program->units.len && !m->done; i++)
        walk_unit(m, program->units.data[i]);
    kernels(m, program);
    return program;
}

Offers *mutate_offers(Arena *arena, const char *text)
{
    Source source = {"mutant.tl", text, strlen(text)};
    Mutator m = {.arena = arena, .wanted = -1, .offers = arena_new_of(arena, Offers)};

    walk(&m, &source);
    return m.offers;
}

bool mutate_make(Arena *arena, const char *text, int offer, Mutant *mutant)
{
    Source source = {"mutant.tl", text, strlen(text)};
    Mutator m = {.arena = arena, .wanted = offer};
    Program *program = walk(&m, &source);
    Str mutated = str_new(arena);

    if (!program || !m.done)
        return false;
    lang_print(&mutated, program);
    *mutant = (Mutant){m.kind, m.what, str_text(&mutated)};
    return strcmp(mutant->text, text) != 0;
}
