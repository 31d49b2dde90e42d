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

/* ---- all ------------------------------------------------------------------------------------- */

/* A fresh tree, so that a mutation may change it in place. */
static bool make(Arena *arena, const Source *source, int wanted, Mutant *mutant)
{
    Diags *diags = diags_new(arena, source);
    Program *program = lang_parse(arena, syms_new(arena), source, diags);
    Mutator m = {.arena = arena, .wanted = wanted};
    Str text = str_new(arena);

    if (diags->errors || program->units.len != 1)
        return false;
    m.unit = program->units.data[0];
    collect(&m, &m.unit->body);
    mutate_blocks(&m, &m.unit->body, NULL, 0);
    if (!m.done)
        return false;
    lang_print(&text, program);
    *mutant = (Mutant){m.kind, m.what, str_text(&text)};
    return true;
}

static bool is_new(const Mutants *all, const char *original, const char *text)
{
    if (strcmp(original, text) == 0)
        return false;
    for (int i = 0; i < all->list.len; i++)
        if (strcmp(all->list.data[i].text, text) == 0)
            return false;
    return true;
}

Mutants *mutate_all(Arena *arena, const char *text)
{
    Mutants *all = arena_new_of(arena, Mutants);
    Source source = {"mutant.tl", text, strlen(text)};
    Arena *own = arena_new(arena_heap(arena));
    Mutant mutant;

    for (int n = 0; make(own, &source, n, &mutant); n++) {
        if (is_new(all, text, mutant.text))
            vec_push(arena, &all->list,
                     (Mutant){arena_strdup(arena, mutant.kind), arena_strdup(arena, mutant.what),
                              arena_strdup(arena, mutant.text)});
        arena_free(own);
        own = arena_new(arena_heap(arena));
    }
    arena_free(own);
    return all;
}
