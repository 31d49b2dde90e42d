/* operand.c: what an operand of a statement is: which tensor, which of its
 * copies, which part of it, seen as rows and columns.
 *
 * One name may stand for a tensor in several memory spaces. Where the program
 * does not say which (`K.shared`), copies that hold the same version are as
 * good as each other; copies that differ are an error.
 */
#include "check/walk.h"

/* ---- tiles ------------------------------------------------------------------------------- */

static Extent extent_product_of_leading(Checker *c, const Place *p)
{
    const Aff *size = aff_const(c->aff, 1);
    for (int i = 0; i < p->rank - 2; i++) {
        if (!p->dims[i].size)
            return (Extent){0};
        size = aff_mul(c->aff, size, p->dims[i].size);
    }
    return (Extent){.size = size};
}

Tile tile_of(Checker *c, const Place *p)
{
    Tile t = {.rows = extent_one(c), .cols = extent_one(c)};
    if (p->rank == 1) {
        t.rows = p->dims[0];
        t.vector = !extent_is_one(t.rows);
    } else if (p->rank >= 2) {
        t.rows = p->dims[p->rank - 2];
        t.cols = p->dims[p->rank - 1];
    }
    t.unknown = p->rank == 2 && !t.rows.size && !t.cols.size;
    return t;
}

static const char *extent_text(Checker *c, Extent e)
{
    if (e.text)
        return e.text;
    return e.size ? aff_text(c->arena, e.size) : e.axis ? e.axis : "?";
}

const char *tile_text(Checker *c, const Tile *t)
{
    if (t->vector)
        return arena_printf(c->arena, "(%s)", extent_text(c, t->rows));
    return arena_printf(c->arena, "(%s, %s)", extent_text(c, t->rows), extent_text(c, t->cols));
}

/* ---- parts: KV[:, 0:256], KV[i % 2] ---------------------------------------------------------- */

static Extent range_extent(Checker *c, const Expr *range, Extent whole)
{
    const Aff *zero = aff_const(c->aff, 0);
    const Aff *lo = range->a ? values_integer(c, range->a) : zero;
    const Aff *hi = range->b ? values_integer(c, range->b) : whole.size;
    if (!range->a && !range->b)
        return whole;
    if (lo && hi && whole.size &&
        (aff_always(c->aff, aff_lt(c->aff, lo, zero)) ||
         aff_always(c->aff, aff_lt(c->aff, whole.size, hi)) ||
         aff_always(c->aff, aff_le(c->aff, hi, lo))))
        diag_add(c->diags, TW0412, range->span, "this part lies outside of a tile of %s",
                 extent_text(c, whole));
    return (Extent){.size = lo && hi ? aff_sub(c->aff, hi, lo) : NULL, .axis = whole.axis};
}

/* Numbers that go round, `i % 2`, take each of their values. */
static bool goes_beyond(const Aff *at, int64_t size, int64_t *last)
{
    int64_t first;
    aff_bounds(at, &first, last);
    return at->kind == AFF_MOD && *last >= size && *last < INT32_MAX;
}

void operand_index(Checker *c, const Expr *e, const Aff *at, const Place *p, int dim)
{
    Extent whole = p->dims[dim];
    int64_t size, last;
    if (!at || !whole.size)
        return;
    if (aff_always(c->aff, aff_le(c->aff, whole.size, at))) {
        diag_add(c->diags, TW0412, e->span, "index %s lies outside of 0:%s", aff_text(c->arena, at), extent_text(c, whole));
    } else if (aff_is_const(whole.size, &size) && goes_beyond(at, size, &last)) {
        Diag *d = diag_add(c->diags, TW0412, e->span, "index %s goes up to %lld, outside of 0:%lld", aff_text(c->arena, at),
                           (long long)last, (long long)size);
        if (p->decl && p->decl->n_shape == p->rank && p->decl->shape[dim]->kind == EXPR_INT)
            diag_fix(c->diags, d, p->decl->shape[dim]->span, arena_printf(c->arena, "%lld", (long long)last + 1), "as many as there are");
    }
}

/* Index e of a dimension of p: a range keeps the dimension, a number drops it. */
static bool index_dimension(Checker *c, const Expr *e, const Place *p, int dim, Place *part)
{
    if (e->kind == EXPR_RANGE) {
        part->dims[part->rank++] = range_extent(c, e, p->dims[dim]);
        return true;
    }
    const Aff *at = values_integer(c, e);
    operand_index(c, e, at, p, dim);
    return at != NULL;
}

/* The part of a place that e's brackets select; a NULL shape where it is unknown. */
static Tile part_of(Checker *c, const Expr *e, const Place *p)
{
    Place part = {.rank = 0};
    bool ellipsis = e->n_args > 0 && e->args[0]->kind == EXPR_ELLIPSIS;
    if (p->given || ellipsis)
        return (Tile){.unknown = true};
    if (e->n_args > p->rank) {
        diag_add(c->diags, TW0327, e->span, "%d indices of a tile with %d dimension%s", e->n_args,
                 p->rank, p->rank == 1 ? "" : "s");
        return (Tile){.unknown = true};
    }
    for (int i = 0; i < p->rank; i++) {
        if (i >= e->n_args)
            part.dims[part.rank++] = p->dims[i];
        else if (!index_dimension(c, e->args[i], p, i, &part))
            return (Tile){.unknown = true};
    }
    return tile_of(c, &part);
}

const char *operand_name(const Operand *o)
{
    const Expr *e = o->expr;
    while (e && e->kind != EXPR_NAME)
        e = e->a;
    return e ? e->name : o->tensor ? o->tensor->name : "it";
}

/* ---- finding the tensor ---------------------------------------------------------------------- */

/* The parts of an operand's syntax: base[index].space.T in any order. */
typedef struct Syntax {
    const Expr *whole, *name, *index;
    Space space;
    bool transposed;
} Syntax;

static bool take_apart(const Expr *e, Syntax *s)
{
    *s = (Syntax){.whole = e};
    for (; e; e = e->a) {
        switch (e->kind) {
        case EXPR_TRANSPOSE: s->transposed = !s->transposed; break;
        case EXPR_SPACE: s->space = e->space; break;
        case EXPR_INDEX:
            if (s->index)
                return false;
            s->index = e;
            break;
        case EXPR_NAME: s->name = e; return true;
        case EXPR_INT:
        case EXPR_FLOAT:
        case EXPR_UNARY:
        case EXPR_BINARY:
        case EXPR_CALL:
        case EXPR_RANGE:
        case EXPR_ELLIPSIS:
        case EXPR_WORDS: return false;
        }
    }
    return false;
}

static bool is_scalar_name(const Checker *c, const char *name)
{
    if (eval_find(&c->env, name))
        return true;
    for (int i = 0; i < c->given.len; i++)
        if (strcmp(c->given.data[i].name, name) == 0)
            return true;
    return false;
}

static Named *find_tensor(Checker *c, Syntax *s)
{
    Space space = SPACE_NONE;
    Named *t = names_find(c, s->name->name);
    if (!t) {
        t = names_suffixed(c, s->name->name, &space);
        if (t && s->space == SPACE_NONE)
            s->space = space;
    }
    return t;
}

/* ---- choosing among copies ------------------------------------------------------------------- */

static bool readable(const Place *p)
{
    return p->exists && p->now.written != WRITTEN_NO;
}

static void say_copies_differ(Checker *c, const Expr *e, const Named *t)
{
    Diag *d = diag_add(c->diags, TW0409, e->span,
                       "'%s' differs between shared memory and registers here", t->name);
    diag_note(c->diags, d,
              "write %s.shared or %s.register, or copy the newer one to the other space", t->name,
              t->name);
    diag_fix(c->diags, d, e->span, arena_printf(c->arena, "%s.register", t->name),
             "read the one in registers");
}

/* What a read without a space means; prefer: the space that serves best. */
static Place *choose(Checker *c, const Expr *e, Named *t, Space prefer)
{
    Place *shared = &t->places[SPACE_SHARED], *reg = &t->places[SPACE_REGISTER];
    if (readable(shared) && readable(reg)) {
        if (shared->now.version != reg->now.version && !c->loose && e->kind == EXPR_NAME)
            say_copies_differ(c, e, t);
        return prefer == SPACE_SHARED ? shared : reg;
    }
    if (readable(shared) || readable(reg))
        return readable(shared) ? shared : reg;
    if (reg->exists || shared->exists)
        return reg->exists ? reg : shared;
    return NULL;
}

static bool not_in_space(Checker *c, const Syntax *s, Space space)
{
    const Named *t = names_find(c, s->name->name);
    if (space == SPACE_NONE && t && t->places[SPACE_GLOBAL].exists) {
        Diag *d = diag_add(c->diags, TW0406, s->name->span, "'%s' is only in global memory here",
                           s->name->name);
        diag_note(c->diags, d, "Copy it to shared memory or to registers first");
    } else {
        diag_add(c->diags, TW0406, s->name->span, "'%s' is not in %s memory", s->name->name,
                 space_name(space));
    }
    return false;
}

static Place *place_to_read(Checker *c, const Syntax *s, Named *t, Space prefer)
{
    if (s->space != SPACE_NONE) {
        Place *p = &t->places[s->space];
        return p->exists || !c->loose ? p : names_given(c, t, s->space);
    }
    Place *p = choose(c, s->name, t, prefer);
    return p || !c->loose ? p : names_given(c, t, prefer);
}

/* An operand that is a tensor: finds the place and the tile. */
static bool read_tensor(Checker *c, Syntax *s, Named *t, Space prefer, Operand *out)
{
    Place *p = place_to_read(c, s, t, prefer);
    if (!p || !p->exists)
        return not_in_space(c, s, s->space);
    if (p->space == SPACE_GLOBAL)
        return not_in_space(c, s, SPACE_NONE);
    out->tensor = t;
    out->place = p;
    out->part = s->index != NULL;
    out->tile = s->index ? part_of(c, s->index, p) : tile_of(c, p);
    out->transposed = s->transposed;
    if (!s->index && p->rank > 2 && !extent_is_one(extent_product_of_leading(c, p)) && !p->given)
        diag_add(c->diags, TW0325, out->expr->span,
                 "'%s' has %d dimensions: say which part is meant, as in %s[i %% 2]", t->name,
                 p->rank, t->name);
    if (s->transposed) {
        Extent rows = out->tile.rows;
        out->tile.rows = out->tile.cols;
        out->tile.cols = rows;
    }
    return true;
}

/* Whether some statement of a sketch gives the name a tile. */
static bool gives(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *dest = s->dest ? s->dest : s->kind == STMT_COMPUTE && s->n_args ? s->args[0] : NULL;
        bool given = s->kind != STMT_COMPUTE && ((s->name && strcmp(s->name, name) == 0) || (s->as && strcmp(s->as, name) == 0));
        while (dest && dest->kind != EXPR_NAME)
            dest = dest->a;
        given |= dest && dest->kind == EXPR_NAME && strcmp(dest->name, name) == 0 && (s->dest || s->op == OP_FILL || s->op == OP_DEFINE);
        for (int k = 0; k < s->n_with; k++)
            given |= expr_mentions(s->with[k], name);
        for (int k = 0; s->kind == STMT_DEFINE && k < s->n_shape; k++)
            given |= expr_mentions(s->shape[k], name);
        if (given || gives(&s->body, name) || gives(&s->orelse, name))
            return true;
    }
    return false;
}

/* A position differs from element to element, and only conditions and a Define have elements. */
static bool is_position(Checker *c, const Syntax *s)
{
    const char *name = s->name->name;
    for (int i = 0; i < c->unit->body.len; i++) {
        const Stmt *index = c->unit->body.data[i];
        if (index->kind != STMT_INDEX || strcmp(index->name, name) != 0)
            continue;
        Diag *d = diag_add(c->diags, TW0235, s->name->span, "%s is a position along %s and differs from element to element; "
                           "it stands where a tile is wanted", name, index->over);
        diag_note(c->diags, d, "`Compute Define At (1, %s) as %s` makes a tile of it, with one number a column; of shape "
                  "(%s, 1), one a row", index->over, name, index->over);
        return true;
    }
    return false;
}

static bool read_as(Checker *c, const Expr *e, Space prefer, Operand *out)
{
    Syntax s;
    *out = (Operand){.expr = e};
    bool named = take_apart(e, &s);
    Named *t = named ? find_tensor(c, &s) : NULL;
    if (named && !t && is_position(c, &s))
        return false;
    if (!named || (!t && is_scalar_name(c, s.name->name))) {
        out->is_number = true;
        out->tile = (Tile){.rows = extent_one(c), .cols = extent_one(c)};
        return values_number(c, e);
    }
    if (t)
        return read_tensor(c, &s, t, prefer, out);
    bool below = c->sketch && gives(&c->unit->body, s.name->name);
    if (!c->loose || (c->sketch && !below))
        names_undefined(c, s.name->name, s.name->span);
    t = names_add(c, s.name->name); /* once is enough */
    Place *p = names_given(c, t, s.space != SPACE_NONE ? s.space : prefer);
    if (below) /* too late */
        p->now.written = WRITTEN_NO;
    return read_tensor(c, &s, t, p->space, out) && c->loose;
}

bool operand_read(Checker *c, const Expr *e, Operand *out)
{
    if (!read_as(c, e, SPACE_REGISTER, out))
        return false;
    if (!out->transposed || (c->loose && !c->sketch)) /* a fragment may be a definition's */
        return true;
    Diag *d = diag_add(c->diags, TW0324, e->span, "only a GEMM takes a transposed operand");
    diag_note(c->diags, d, "of a tensor in global memory, a tile that is read the other way round is `Compute Define T (N, M) as "
                           "%s[col, row]`, of its dimensions", out->tensor->name);
    return false;
}

bool operand_gemm(Checker *c, const Expr *e, bool second, Operand *out)
{
    Syntax s;
    Space prefer = SPACE_SHARED;
    if (take_apart(e, &s)) {
        Named *t = find_tensor(c, &s);
        bool newer =
            t && t->places[SPACE_REGISTER].now.version > t->places[SPACE_SHARED].now.version;
        prefer = newer && !second ? SPACE_REGISTER : SPACE_SHARED;
    }
    return read_as(c, e, prefer, out);
}

/* ---- results ------------------------------------------------------------------------------------
 */

static Place *place_to_write(Checker *c, Syntax *s, const Tile *shape)
{
    Named *t = find_tensor(c, s);
    if (s->space == SPACE_SHARED || s->space == SPACE_GLOBAL) {
        Diag *d = diag_add(c->diags, TW0408, s->name->span, "a result goes to registers; Copy it on from there");
        if (t && t->places[SPACE_REGISTER].exists)
            diag_fix(c->diags, d, s->whole->span, arena_printf(c->arena, "%s.register", t->name), "put it there");
        return NULL;
    }
    if (t && t->places[SPACE_REGISTER].exists)
        return &t->places[SPACE_REGISTER];
    if (!t && is_scalar_name(c, s->name->name) && !c->loose)
        diag_add(c->diags, TW0235, s->name->span, "'%s' is a number, not a tile", s->name->name);
    else if (!c->loose)
        names_unallocated(c, s->name->name, s->name->span, SPACE_REGISTER, s->index ? NULL : shape);
    t = t ? t : names_add(c, s->name->name);
    Place *p = names_given(c, t, SPACE_REGISTER);
    p->now.written = c->loose ? WRITTEN_MAYBE : WRITTEN_NO;
    return p;
}

bool operand_dest(Checker *c, const Expr *e, const Tile *shape, Operand *out)
{
    Syntax s;
    *out = (Operand){.expr = e};
    if (!take_apart(e, &s) || s.transposed) {
        diag_add(c->diags, TW0234, e->span, "a result goes to a tile or to a part of one");
        return false;
    }
    out->place = place_to_write(c, &s, shape);
    if (!out->place)
        return false;
    out->tensor = find_tensor(c, &s);
    out->part = s.index != NULL;
    out->tile = s.index ? part_of(c, s.index, out->place) : tile_of(c, out->place);
    return true;
}

void operand_spoiled(Checker *c, const Expr *dest)
{
    Syntax s;
    bool named = dest && take_apart(dest, &s);
    Named *t = named ? find_tensor(c, &s) : NULL;
    if (named && !t && c->sketch) /* it would have got its tile here */
        names_given(c, names_add(c, s.name->name), SPACE_REGISTER);
    if (!t)
        return;
    if (t->places[SPACE_REGISTER].now.written == WRITTEN_NO)
        t->places[SPACE_REGISTER].now.written = WRITTEN_MAYBE;
    t->places[SPACE_REGISTER].now.starts = true;
    t->places[SPACE_REGISTER].now.fragment = FRAG_UNKNOWN;
}
