/* text_aff.c: expressions as text that does not depend on how they came about.
 *
 * An Aff's terms are ordered by when their parts were first made in its
 * context. A dump must look the same whatever passes ran before, and the same
 * again when it has been read back, so an expression is made anew in a context
 * of its own: symbols first, in the order in which the program declares them,
 * then its parts from small to large, equally large ones by their own text.
 *
 *   dims, grid, loops, row, col:   j * 64 + m * 128 + row   ->   m * 128 + j * 64 + row
 */
#include "tile/text.h"

enum { PART_LIMIT = 128 }; /* beyond it the order is left to chance */

typedef struct Part {
    const Aff *aff;
    int size;
    const char *text; /* NULL: was not needed yet */
} Part;

typedef struct Remake {
    AffCtx *aff;
    const AffSym *const *order; /* symbols, as declared */
    int n_order;
    VEC(const AffSym *) from;   /* symbols met, in their order, and what they became */
    VEC(const Aff *) to;
    Part parts[PART_LIMIT];
    int n_parts;
} Remake;

/* ---- symbols ------------------------------------------------------------------- */

static int position_of(const Remake *r, const AffSym *sym)
{
    int i = 0;
    while (i < r->n_order && r->order[i] != sym)
        i++;
    return i;
}

/* As declared; row and col, and what a malformed program did not declare, come
 * last, by kind and name. */
static bool symbol_before(const Remake *r, const AffSym *a, const AffSym *b)
{
    int x = position_of(r, a), y = position_of(r, b);
    if (x != y)
        return x < y;
    return a->kind != b->kind ? a->kind < b->kind : strcmp(a->name, b->name) < 0;
}

static void add_symbol(Arena *arena, Remake *r, const AffSym *sym)
{
    for (int i = 0; i < r->from.len; i++)
        if (r->from.data[i] == sym)
            return;
    vec_push(arena, &r->from, sym);
    for (int i = r->from.len - 1; i > 0 && symbol_before(r, sym, r->from.data[i - 1]); i--) {
        r->from.data[i] = r->from.data[i - 1];
        r->from.data[i - 1] = sym;
    }
}

static void add_symbols(Arena *arena, Remake *r, const Aff *a)
{
    if (a->sym)
        add_symbol(arena, r, a->sym);
    if (a->a)
        add_symbols(arena, r, a->a);
    if (a->b)
        add_symbols(arena, r, a->b);
}

static void remake_symbols(Arena *arena, Remake *r)
{
    for (int i = 0; i < r->from.len; i++) {
        const AffSym *sym = r->from.data[i];
        AffSym *made = aff_sym_new(r->aff, sym->name, sym->kind, sym->lo, sym->hi);
        vec_push(arena, &r->to, aff_of(r->aff, made));
    }
}

/* ---- making anew ------------------------------------------------------------------ */

static const Aff *remake_symbol(const Remake *r, const AffSym *sym)
{
    for (int i = 0; i < r->from.len; i++)
        if (r->from.data[i] == sym)
            return r->to.data[i];
    return NULL; /* not reached: all were added */
}

static const Aff *remake(const Remake *r, const Aff *a);

static const Aff *remake_element(const Remake *r, const Aff *a)
{
    const AffSym *table;
    const Aff *coords[AFF_MAX_COORDS];
    int n = aff_coords(a, &table, coords);
    for (int i = 0; i < n; i++)
        coords[i] = remake(r, coords[i]);
    return aff_element(r->aff, remake_symbol(r, table)->sym, coords, n);
}

static const Aff *remake(const Remake *r, const Aff *a)
{
    const Aff *x = a->a ? remake(r, a->a) : NULL, *y = a->b ? remake(r, a->b) : NULL;
    switch (a->kind) {
    case AFF_CONST: return aff_const(r->aff, a->value);
    case AFF_SYM: return remake_symbol(r, a->sym);
    case AFF_ADD: return aff_add(r->aff, x, y);
    case AFF_MUL: return aff_mul(r->aff, x, y);
    case AFF_DIV: return aff_div(r->aff, x, y);
    case AFF_MOD: return aff_mod(r->aff, x, y);
    case AFF_EXP2: return aff_exp2(r->aff, x);
    case AFF_MIN: return aff_min(r->aff, x, y);
    case AFF_MAX: return aff_max(r->aff, x, y);
    case AFF_LE: return aff_le(r->aff, x, y);
    case AFF_EQ: return aff_eq(r->aff, x, y);
    case AFF_AND: return aff_and(r->aff, x, y);
    case AFF_OR: return aff_or(r->aff, x, y);
    case AFF_NOT: return aff_not(r->aff, x);
    case AFF_AT: return remake_element(r, a);
    case AFF_POISON: break;
    }
    return a;
}

/* ---- parts -------------------------------------------------------------------------- */

/* Without coefficients: a == b may be stored as a - b or b - a. */
static int size_of(const Aff *a)
{
    if (a->kind == AFF_MUL && a->b->kind == AFF_CONST)
        return size_of(a->a);
    return 1 + (a->a ? size_of(a->a) : 0) + (a->b ? size_of(a->b) : 0);
}

static bool is_list(const Aff *a)
{
    return a->kind == AFF_MIN || a->kind == AFF_MAX || a->kind == AFF_AND || a->kind == AFF_OR;
}

/* Everything whose order among others can be seen: not sums and terms, unless
 * they stand in a list; symbols have their order already. */
static bool is_part(const Aff *a, const Aff *around)
{
    if (is_list(around))
        return a->kind != AFF_SYM;
    if (a->kind == AFF_MUL)
        return a->b->kind != AFF_CONST;
    return a->kind != AFF_SYM && a->kind != AFF_ADD;
}

static const char *text_of(Arena *arena, const Remake *r, Part *part)
{
    if (!part->text)
        part->text = tile_aff_text(arena, part->aff, r->order, r->n_order);
    return part->text;
}

static bool comes_before(Arena *arena, const Remake *r, Part *a, Part *b)
{
    if (a->size != b->size)
        return a->size < b->size;
    return strcmp(text_of(arena, r, a), text_of(arena, r, b)) < 0;
}

static void add_part(Arena *arena, Remake *r, const Aff *a)
{
    Part part = {a, size_of(a), NULL};
    int at = r->n_parts;
    for (int i = 0; i < r->n_parts; i++)
        if (r->parts[i].aff == a)
            return;
    if (r->n_parts == PART_LIMIT)
        return;
    for (; at > 0 && comes_before(arena, r, &part, &r->parts[at - 1]); at--)
        r->parts[at] = r->parts[at - 1];
    r->parts[at] = part;
    r->n_parts++;
}

static void add_parts(Arena *arena, Remake *r, const Aff *a, const Aff *around)
{
    if (a->a)
        add_parts(arena, r, a->a, a);
    if (a->b)
        add_parts(arena, r, a->b, a);
    if (around && is_part(a, around))
        add_part(arena, r, a);
}

const char *tile_aff_text(Arena *arena, const Aff *a, const AffSym *const *order, int n_order)
{
    if (!a->a)
        return aff_text(arena, a);
    Remake *r = arena_new_of(arena, Remake);
    r->aff = aff_ctx_new(arena);
    r->order = order;
    r->n_order = n_order;
    add_symbols(arena, r, a);
    remake_symbols(arena, r);
    add_parts(arena, r, a, NULL);
    for (int i = 0; i < r->n_parts; i++)
        remake(r, r->parts[i].aff);
    return aff_text(arena, remake(r, a));
}
