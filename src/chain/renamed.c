/* renamed.c: what a Kernel calls the dimensions of its tensors, where the Operator beside it calls them otherwise.
 *
 *   Operator f                         Kernel f
 *     Input  X (tokens, hidden)          Input  X (M, K)             M is tokens, K is hidden
 *     Input  W (hidden, 64)              Input  W (K, N)             N is 64
 *     Param  scale = 1 / hidden          ... scale ...               1 / K
 *     Input  Z (64, 512)                 Input  Z (T, 128)           T is 256: the same elements in another shape
 *
 * What launches the Kernel knows the Operator's names, so it gets these. A name that the Kernel has for two of them, or that
 * would come to mean two things, stays.
 */
#include "chain/beside.h"

enum { MOST_DEPTH = 64 };

/* ---- which is which ------------------------------------------------------------------------- */

static SizeName *find_own(SizeNames *names, const char *own)
{
    for (int i = 0; i < names->list.len; i++)
        if (strcmp(names->list.data[i].own, own) == 0)
            return &names->list.data[i];
    return NULL;
}

static bool same(const SizeName *a, const SizeName *b)
{
    return a->theirs && b->theirs ? strcmp(a->theirs, b->theirs) == 0 : !a->theirs && !b->theirs && a->number == b->number;
}

/* One that is said in two ways is marked by itself as its own name. */
static void note(SizeNames *names, SizeName said)
{
    SizeName *before = find_own(names, said.own);

    if (!before)
        vec_push(names->arena, &names->list, said);
    else if (!same(before, &said))
        *before = (SizeName){.own = said.own, .theirs = said.own};
}

/* The product of the numbers among the sizes, and how many sizes are none; the last of these. */
static int64_t product(const Stmt *tensor, int *others, const Expr **last)
{
    int64_t n = 1;

    *others = 0;
    for (int d = 0; d < tensor->n_shape; d++) {
        const Expr *dim = tensor->shape[d];
        bool small = dim->kind == EXPR_INT && dim->i > 0 && n <= INT64_MAX / dim->i;

        n *= small ? dim->i : 1;
        *last = small ? *last : dim;
        *others += !small;
    }
    return n;
}

/* In another shape: the one size that is left to say. */
static void note_left(SizeNames *names, const Stmt *own, const Stmt *theirs)
{
    const Expr *left = NULL, *none = NULL;
    int open, unknown;
    int64_t have = product(own, &open, &left), all = product(theirs, &unknown, &none);

    if (open != 1 || left->kind != EXPR_NAME)
        return;
    if (!unknown && all % have == 0)
        note(names, (SizeName){.own = left->name, .number = all / have});
    if (unknown == 1 && none->kind == EXPR_NAME && all == have)
        note(names, (SizeName){.own = left->name, .theirs = none->name});
}

/* Whether both have as many dimensions, and no two numbers are unlike. */
static bool same_dimensions(const Stmt *own, const Stmt *theirs)
{
    bool same = own->n_shape == theirs->n_shape;

    for (int d = 0; same && d < own->n_shape; d++)
        same = own->shape[d]->kind != EXPR_INT || theirs->shape[d]->kind != EXPR_INT || own->shape[d]->i == theirs->shape[d]->i;
    return same;
}

static void note_tensor(SizeNames *names, const Stmt *own, const Stmt *theirs)
{
    if (!same_dimensions(own, theirs)) {
        note_left(names, own, theirs);
        return;
    }
    for (int d = 0; d < own->n_shape; d++) {
        const Expr *mine = own->shape[d], *other = theirs->shape[d];

        if (mine->kind != EXPR_NAME || expr_is_name(other, mine->name))
            continue;
        if (other->kind == EXPR_NAME)
            note(names, (SizeName){.own = mine->name, .theirs = other->name});
        else if (other->kind == EXPR_INT)
            note(names, (SizeName){.own = mine->name, .number = other->i});
    }
}

/* Where both call it alike, it is no other one. */
static void note_alike(SizeNames *names, const Stmt *own, const Stmt *theirs)
{
    for (int d = 0; d < own->n_shape && same_dimensions(own, theirs); d++)
        if (own->shape[d]->kind == EXPR_NAME && expr_is_name(theirs->shape[d], own->shape[d]->name))
            note(names, (SizeName){.own = own->shape[d]->name, .theirs = own->shape[d]->name});
}

static bool is_own_name(const SizeName *n)
{
    return n->theirs && strcmp(n->own, n->theirs) == 0;
}

static bool says_number(const Unit *unit, const char *name)
{
    return block_find(&unit->body, STMT_PARAM, name) || block_find(&unit->body, STMT_LET, name) || block_find(&unit->body, STMT_ASSIGN, name);
}

/* Whether the Kernel has the name for another thing, which is not renamed itself. */
static bool is_taken(SizeNames *names, const Unit *kernel, const char *name)
{
    const SizeName *dim = find_own(names, name);

    return !dim && (beside_gives(&kernel->body, name) || block_mentions(&kernel->body, name));
}

/* Whether some was dropped: then another may have become a name that is taken. */
static bool drop_unclear(SizeNames *names, const Unit *kernel)
{
    int kept = 0, n = names->list.len;

    for (int i = 0; i < n; i++) {
        const SizeName *s = &names->list.data[i];
        bool known = !s->theirs && says_number(kernel, s->own);
        bool merged = s->theirs && !is_own_name(s) && find_own(names, s->theirs) && is_own_name(find_own(names, s->theirs));

        if (!known && (is_own_name(s) || merged || !s->theirs || !is_taken(names, kernel, s->theirs)))
            names->list.data[kept++] = *s;
    }
    names->list.len = kept;
    return kept < n;
}

SizeNames size_names(Arena *arena, const Unit *kernel, const Unit *definition)
{
    SizeNames names = {.arena = arena}, clear = {.arena = arena};

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < kernel->body.len; i++) {
            const Stmt *own = kernel->body.data[i];
            bool tensor = own->kind == STMT_INPUT || own->kind == STMT_OUTPUT;
            const Stmt *theirs = tensor && own->name ? unit_tensor(definition, own->name) : NULL;

            if (theirs)
                (pass ? note_tensor : note_alike)(&names, own, theirs);
        }
    while (drop_unclear(&names, kernel))
        continue;
    for (int i = 0; i < names.list.len; i++)
        if (!is_own_name(&names.list.data[i]))
            vec_push(arena, &clear.list, names.list.data[i]);
    return clear;
}

/* ---- statements with other names ---------------------------------------------------------------- */

typedef const char *OtherName(const SizeNames *names, const char *name);

typedef struct Renaming {
    const SizeNames *names;
    OtherName *other;
} Renaming;

static const char *as_defined(const SizeNames *names, const char *name)
{
    for (int i = 0; name && i < names->list.len; i++)
        if (names->list.data[i].theirs && strcmp(names->list.data[i].own, name) == 0)
            return names->list.data[i].theirs;
    return name;
}

static const char *as_in_kernel(const SizeNames *names, const char *name)
{
    for (int i = 0; name && i < names->list.len; i++)
        if (names->list.data[i].theirs && strcmp(names->list.data[i].theirs, name) == 0)
            return names->list.data[i].own;
    return name;
}

static Expr *lookup(void *user, const char *name)
{
    const Renaming *r = user;
    const char *other = r->other(r->names, name);

    return other == name ? NULL : expr_name(r->names->arena, other);
}

static Expr *renamed(const Renaming *r, const Expr *e)
{
    return e ? expr_subst(r->names->arena, e, lookup, (void *)r) : NULL;
}

/* What stmt_subst leaves, since an operation of one's own has none of it: names that dimensions are called by. */
static void rename_places(const Renaming *r, Stmt *s, int depth)
{
    Arena *arena = r->names->arena;
    Expr **to_shape = arena_array(arena, Expr *, s->n_to_shape);

    s->over = r->other(r->names, s->over);
    for (int i = 0; i < s->n_coords; i++)
        s->coords[i].name = r->other(r->names, s->coords[i].name);
    for (int i = 0; i < s->n_to_shape; i++)
        to_shape[i] = renamed(r, s->to_shape[i]);
    s->to_shape = to_shape;
    s->offset = renamed(r, s->offset);
    s->to = renamed(r, s->to);
    s->by = renamed(r, s->by);
    s->step = renamed(r, s->step);
    for (int i = 0; i < s->body.len && depth < MOST_DEPTH; i++)
        rename_places(r, s->body.data[i], depth + 1);
    for (int i = 0; i < s->orelse.len && depth < MOST_DEPTH; i++)
        rename_places(r, s->orelse.data[i], depth + 1);
}

static Stmt *rename_stmt(const Renaming *r, const Stmt *s)
{
    Stmt *copy = stmt_subst(r->names->arena, s, lookup, (void *)r);

    rename_places(r, copy, 0);
    return copy;
}

Stmt *stmt_as_kernel(const SizeNames *names, const Stmt *s)
{
    return rename_stmt(&(Renaming){names, as_in_kernel}, s);
}

/* ---- Kernels ------------------------------------------------------------------------------------------ */

static bool is_tensor(const Stmt *s)
{
    return s->kind == STMT_INPUT || s->kind == STMT_OUTPUT;
}

static Stmt *param(Arena *arena, const SizeName *n)
{
    Stmt *s = stmt_new(arena, STMT_PARAM);

    s->name = n->own;
    s->value = expr_int(arena, n->number);
    return s;
}

/* Sizes that the Operator has as numbers stand behind the tensors. */
static void add_numbers(const SizeNames *names, Unit *unit)
{
    for (int i = 0; i < names->list.len; i++)
        if (!names->list.data[i].theirs)
            vec_push(names->arena, &unit->body, param(names->arena, &names->list.data[i]));
}

static Unit *as_the_definition(Arena *arena, const Unit *kernel, const SizeNames *names)
{
    const Renaming r = {names, as_defined};
    Unit *unit = arena_new_of(arena, Unit);
    int behind = 0;

    *unit = *kernel;
    unit->body = (Block){.comment = kernel->body.comment};
    for (int i = 0; i < kernel->body.len; i++)
        behind = is_tensor(kernel->body.data[i]) ? i + 1 : behind;
    for (int i = 0; i < kernel->body.len; i++) {
        if (i == behind)
            add_numbers(names, unit);
        vec_push(arena, &unit->body, rename_stmt(&r, kernel->body.data[i]));
    }
    return unit;
}

Program *kernels_as_defined(Arena *arena, const Program *kernels, const Unit *definition)
{
    Program *program = arena_new_of(arena, Program);

    *program = *kernels;
    program->units.data = arena_array(arena, Unit *, kernels->units.len + 1);
    for (int i = 0; i < kernels->units.len; i++) {
        Unit *unit = kernels->units.data[i];
        const SizeNames names = size_names(arena, unit, definition);

        program->units.data[i] = names.list.len ? as_the_definition(arena, unit, &names) : unit;
    }
    return program;
}
