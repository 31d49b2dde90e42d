/* propose_spaces.c: the memory that an Allocate or a Copy names is another than was meant.
 *
 *   Copy K from shared to global            Copy K from global to shared             an Input is read, not written
 *   Allocate K, V in register (BN, D)       Allocate K, V in shared (BN, D)          where they are copied to
 *   Allocate K, S in shared (BN, D)         Allocate K in shared (BN, D)             one of a list
 *                                           Allocate S in register (BN, D)
 *   Copy X from global to shared            Copy X from global to shared
 *   Compute Exp X and get new X             Copy X from shared to register           where copies of one tensor differ
 *                                           Compute Exp X and get new X */
#include "suggest/proposal.h"

/* ---- both ways of a Copy ------------------------------------------------------------------------- */

/* The last word of the text that is this one; NULL: none. */
static const char *last_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    const char *found = NULL;

    for (const char *at = strstr(text, word); at; at = strstr(at + len, word))
        if (at > text && strchr(" \t", at[-1]) && at[len] && strchr(" \t", at[len]))
            found = at;
    return found;
}

static void find_computed(void *user, const Stmt *stmt)
{
    const char **tile = user;
    const Expr *result = stmt->kind == STMT_COMPUTE ? compute_result(stmt) : NULL;

    if (*tile && result && expr_base_name(result) && strcmp(expr_base_name(result), *tile) == 0)
        *tile = NULL;
}

/* What is computed is stored, whatever the tensor is called. */
static bool stores(const Suggester *s, const Stmt *copy)
{
    const char *tile = copy_tile(copy);

    if (copy->to_space == SPACE_GLOBAL && s->unit)
        suggest_each(&s->unit->body, find_computed, &tile);
    return !tile;
}

/* Of a list as well, whose last part says for all where they go. */
bool propose_exchanged_spaces(Suggester *s)
{
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && s->stmt->space != s->stmt->to_space ? s->stmt : NULL;
    int start = copy ? copy->span.start : 0, end = copy ? suggest_line_end(s, copy->span.end) : 0;
    const char *line = suggest_quoted(s, (Span){start, end}), *from = copy ? last_word(line, "from") : NULL, *to = from ? last_word(from, "to") : NULL;

    if (!to || stores(s, copy))
        return false;
    to += strlen("to") + strspn(to + strlen("to"), " \t");
    Span words = {start + (int)(from - line), start + (int)(to - line) + (int)strcspn(to, " \t\r\n;#[")};
    return suggest_edit(s, words, arena_printf(s->arena, "from %s to %s", space_name(copy->to_space), space_name(copy->space)), "the other way");
}

/* ---- an Allocate ------------------------------------------------------------------------------------- */

typedef struct List {
    Suggester *s;
    const Stmt *of;  /* one of it */
    const Stmt *last;
    Space to;
    Str text;
} List;

/* Whether the same is said of another tile. */
static bool is_said_of(const Suggester *s, const char *tile)
{
    const Diags *diags = s->chain->diags;

    for (int i = 0; i < diags->list.len; i++) {
        const Diag *d = &diags->list.data[i];
        if (d->code == s->diag->code && d->source == s->source && strcmp(suggest_quoted(s, d->span), tile) == 0)
            return true;
    }
    return false;
}

static void note_of_list(void *user, const Stmt *stmt)
{
    List *l = user;
    Stmt *one;

    if (stmt->kind != STMT_ALLOCATE || stmt->listed != l->of->listed || (stmt->listed ? stmt->list_start != l->of->list_start : stmt != l->of))
        return;
    one = suggest_like(l->s, stmt);
    one->listed = false;
    one->space = stmt == l->of || is_said_of(l->s, stmt->name) ? l->to : stmt->space;
    str_printf(&l->text, "%s%s%s", l->text.len ? "\n" : "", l->text.len ? suggest_indent(l->s, stmt->list_start) : "", suggest_text(l->s, one));
    l->last = stmt;
}

/* Of a list those that it is said of go to the other memory. */
static bool try_allocated(Suggester *s, const Stmt *place, Space to)
{
    List l = {.s = s, .of = place, .to = to, .text = str_new(s->arena)};

    suggest_each(&s->unit->body, note_of_list, &l);
    return suggest_edit(s, (Span){place->listed ? place->list_start : place->span.start, l.last->span.end}, str_text(&l.text), "where it is copied to, or computed");
}

typedef struct Place {
    const char *name;
    const Stmt *found; /* NULL: it is not allocated, or several times */
    int n;
} Place;

static void find_place(void *user, const Stmt *stmt)
{
    Place *p = user;

    if (stmt->kind != STMT_ALLOCATE || strcmp(stmt->name, p->name) != 0)
        return;
    p->found = stmt;
    p->n++;
}

/* The one Allocate of a tile names another memory than all else does. */
bool propose_allocated_space(Suggester *s)
{
    static const Space spaces[] = {SPACE_SHARED, SPACE_REGISTER};
    Place place = {.name = suggest_quoted(s, s->diag->span)};

    if (!s->unit || s->unit->kind != UNIT_KERNEL)
        return false;
    suggest_each(&s->unit->body, find_place, &place);
    for (size_t i = 0; place.n == 1 && i < TW_COUNT(spaces); i++)
        if (place.found->space != spaces[i] && try_allocated(s, place.found, spaces[i]))
            return true;
    return false;
}

/* ---- copies that differ ---------------------------------------------------------------------------------- */

/* The newer one takes the place of the older, or is said to be meant. */
bool propose_same_copies(Suggester *s)
{
    static const char *const ways[] = {"shared to register", "register to shared"}, *const meant[] = {".register", ".shared"};
    const char *tile = suggest_quoted(s, s->diag->span);
    int end = s->diag->span.end;

    for (size_t i = 0; s->stmt && i < TW_COUNT(ways); i++)
        if (suggest_edit(s, suggest_before(s, s->stmt), arena_printf(s->arena, "%sCopy %s from %s\n", suggest_indent(s, s->stmt->span.start), tile, ways[i]), "then both are the same"))
            return true;
    for (size_t i = 0; s->stmt && i < TW_COUNT(meant); i++)
        if (suggest_edit(s, (Span){end, end}, meant[i], "the one that is meant"))
            return true;
    return false;
}
