/* mask.c: conditions of a Mask, or of a Where: that they are conditions, and that they follow
 * the tile that they are about.
 *
 *   Copy K (BN, D) in coordinate [len = j] ...; Compute GEMM Q, K.T and get S
 *   Compute Mask S where col(S) < len            the same columns of every tile
 *   Compute Mask S where j * BN + col(S) < len   of the whole row: right
 *
 * Where a tile's rows and columns begin is known from the Copies that it was
 * made of. With col(S) written as position - begin the counters in the begin
 * must cancel.
 */
#include "check/walk.h"

/* ---- conditions ------------------------------------------------------------------------ */

static bool is_arithmetic(const Expr *e)
{
    return (e->kind == EXPR_BINARY && e->op <= EO_POW) || e->kind == EXPR_CALL ||
           e->kind == EXPR_INT || e->kind == EXPR_FLOAT;
}

static bool check_condition(Checker *c, const Expr *e)
{
    if (e->kind == EXPR_BINARY && (e->op == EO_AND || e->op == EO_OR))
        return check_condition(c, e->a) && check_condition(c, e->b);
    if (e->kind == EXPR_UNARY && e->op == EO_NOT)
        return check_condition(c, e->a);
    if (!is_arithmetic(e))
        return true;
    diag_add(c->late, TW0425, e->span, "a number where a condition is expected");
    return false;
}

/* ---- positions -------------------------------------------------------------------------- */

/* a with the element's place replaced by its position along the dimension. */
static const Aff *from_begin(Checker *c, const Aff *a, const AffSym *place, const Aff *begin)
{
    AffSym *position = aff_sym_new(c->aff, "position", AFF_SCALAR, 0, INT32_MAX);
    return aff_subst(c->aff, a, place, aff_sub(c->aff, aff_of(c->aff, position), begin));
}

/* A counter that a uses and that is part of where the tile begins. */
static const AffSym *left_over(const Checker *c, const Aff *a, const Aff *begin)
{
    for (int i = 0; i < c->n_loops + c->grid.len; i++) {
        const AffSym *sym =
            i < c->n_loops ? c->loops[i].sym : c->grid.data[i - c->n_loops].sym;
        if (sym && aff_uses(begin, sym) && aff_uses(a, sym))
            return sym;
    }
    return NULL;
}

static const AffSym *stray_counter(Checker *c, const Aff *comparison, const Tile *tile)
{
    const Aff *a = comparison;
    const AffSym *sym = NULL;
    bool rows = aff_uses(a, c->row), cols = aff_uses(a, c->col);
    if ((!rows && !cols) || (rows && !tile->rows.first) || (cols && !tile->cols.first))
        return NULL;
    if (rows)
        a = from_begin(c, a, c->row, tile->rows.first);
    if (cols)
        a = from_begin(c, a, c->col, tile->cols.first);
    if (rows)
        sym = left_over(c, a, tile->rows.first);
    return sym || !cols ? sym : left_over(c, a, tile->cols.first);
}

static const AffSym *find_stray(Checker *c, const Aff *a, const Tile *tile)
{
    if (!a)
        return NULL;
    if (a->kind == AFF_LE || a->kind == AFF_EQ)
        return stray_counter(c, a, tile);
    const AffSym *sym = find_stray(c, a->a, tile);
    return sym ? sym : find_stray(c, a->b, tile);
}

static const char *begin_text(Checker *c, Extent e, const char *call)
{
    return arena_printf(c->arena, "%s + %s", aff_text(c->arena, e.first), call);
}

/* ---- what a condition leaves beyond the end -------------------------------------------------- */

enum { SAMPLES = 256, LARGEST_SAMPLE = 300 };

/* Some value within a symbol's bounds, small as sizes of tests are; often the least. */
static int64_t sample_of(const AffSym *sym, uint32_t *state)
{
    int64_t lo = sym->lo > 0 ? sym->lo : sym->hi < 0 ? sym->hi : 0, hi = sym->hi < LARGEST_SAMPLE ? sym->hi : LARGEST_SAMPLE;
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    if (*state >> 30 == 0)
        return lo;
    return lo >= hi ? lo : lo + (int64_t)(*state >> 8) % (hi - lo + 1);
}

/* Whether it holds for some sizes, for sure: they are tried. */
bool mask_holds_somewhere(Checker *c, const Aff *condition)
{
    int n = aff_sym_count(c->aff);
    int64_t *values = arena_array(c->arena, int64_t, n + 1), result;
    uint32_t state = 1;
    for (int k = 0; k < SAMPLES; k++) {
        for (int i = 0; i < n; i++)
            values[i] = sample_of(aff_sym_at(c->aff, i), &state);
        if (aff_eval(condition, values, &result) && result)
            return true;
    }
    return false;
}

/* The position of a row that there is: as far before its dimension's end as an unknown says. */
static const Aff *some_row(Checker *c, const Aff *whole)
{
    const AffSym *before = aff_sym_new(c->aff, "before", AFF_DIM, 0, INT32_MAX);
    return aff_sub(c->aff, aff_offset(c->aff, whole, -1), aff_of(c->aff, before));
}

/* A condition of elements keeps the column behind the dimension's last one, in a row that there is, for some sizes: then it is no
 * bound. Where it reads elements, or is not understood, it is taken for one. */
static bool keeps_rest(Checker *c, const Aff *condition, const Tile *tile)
{
    const EvalName *cols = tile->cols.axis ? eval_find(&c->env, tile->cols.axis) : NULL;
    const EvalName *rows = tile->rows.axis ? eval_find(&c->env, tile->rows.axis) : NULL;
    const Aff *a = condition, *row;
    if (!a || !cols || !cols->aff || !tile->cols.first || !tile->cols.size || aff_uses_kind(a, AFF_SCALAR))
        return false;
    if (!aff_uses(a, c->col)) /* of the whole tile: of that which the end is in */
        a = aff_and(c->aff, a, aff_and(c->aff, aff_le(c->aff, tile->cols.first, cols->aff),
                                       aff_lt(c->aff, cols->aff, aff_add(c->aff, tile->cols.first, tile->cols.size))));
    a = aff_subst(c->aff, a, c->col, aff_sub(c->aff, cols->aff, tile->cols.first));
    if (aff_uses(a, c->row)) {
        if (!rows || !rows->aff || !tile->rows.first)
            return false;
        row = some_row(c, rows->aff);
        a = aff_subst(c->aff, a, c->row, aff_sub(c->aff, row, tile->rows.first));
        a = aff_and(c->aff, a, aff_le(c->aff, aff_const(c->aff, 0), row));
    }
    return !aff_is_poison(a) && !aff_never(c->aff, a) && mask_holds_somewhere(c, a);
}

/* ---- conditions that are the same everywhere --------------------------------------------------- */

/* A name or a call that has another value for another element, tile or block; sizes have one for all. */
static bool varies(const Checker *c, const Expr *e)
{
    if (!e)
        return false;
    if (e->kind == EXPR_NAME) {
        const EvalName *name = eval_find(&c->env, e->name);
        return !name || !name->aff || !check_is_size(c, e->name);
    }
    if (e->kind == EXPR_CALL && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col")))
        return true;
    if (e->kind == EXPR_INDEX || e->kind == EXPR_WORDS || e->kind == EXPR_ELLIPSIS)
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (varies(c, e->args[i]))
            return true;
    return varies(c, e->a) || varies(c, e->b);
}

/* A size that stands in the condition, where a place was meant. */
static const Expr *some_size(const Checker *c, const Expr *e)
{
    const Expr *found;
    if (!e || (e->kind == EXPR_NAME && check_is_size(c, e->name)))
        return e;
    found = some_size(c, e->a);
    return found ? found : some_size(c, e->b);
}

static void check_varies(Checker *c, const Expr *e)
{
    const Expr *size = varies(c, e) ? NULL : some_size(c, e);
    if (!size)
        return;
    Diag *d = diag_add(c->late, TW0249, e->span, "the condition is the same for all elements: %s is the size of the dimension", size->name);
    diag_note(c->late, d, "the place along it is that of an Index: `Index i over %s`, and i in place of %s; in code row() and col(), "
              "from where the tile begins", size->name, size->name);
}

/* A counter of tiles whose size a sketch does not know, beside places of elements. */
static void check_counters(Checker *c, const Expr *e, const Tile *tile)
{
    if (e->kind == EXPR_BINARY && (e->op == EO_AND || e->op == EO_OR)) {
        check_counters(c, e->a, tile);
        check_counters(c, e->b, tile);
        return;
    }
    for (int i = 0; i < c->n_loops && e->kind == EXPR_BINARY; i++) {
        const Stmt *loop = c->loops[i].stmt;
        bool tiled = loop->over && ((tile->cols.axis && strcmp(tile->cols.axis, loop->over) == 0) ||
                                    (tile->rows.axis && strcmp(tile->rows.axis, loop->over) == 0));
        bool number = e->a->kind == EXPR_INT || e->b->kind == EXPR_INT;
        if (!tiled || number || !(expr_is_name(e->a, loop->name) || expr_is_name(e->b, loop->name)))
            continue;
        Diag *d = diag_add(c->late, TW0424, e->span, "'%s' counts tiles along '%s', of which a sketch knows no size", loop->name, loop->over);
        diag_note(c->late, d, "the place of an element is that of an Index: `Index at over %s`, and at in place of %s", loop->over, loop->name);
    }
}

/* What is added to row() or col() is where the tile begins, or that and something else. */
static bool is_begin(Checker *c, const Expr *e, const Aff *first)
{
    const Aff *a = first ? eval_aff(&c->env, e, NULL) : NULL;
    return a && left_over(c, a, first) && !left_over(c, aff_sub(c->aff, a, first), first);
}

/* `m * BM + row(S)`: from where the tile begins already. */
static bool begins(Checker *c, const Expr *e, const Tile *tile)
{
    bool sum = e->kind == EXPR_BINARY && e->op == EO_ADD && e->b->kind == EXPR_CALL;
    return sum && ((text_equal_nocase(e->b->name, "row") && is_begin(c, e->a, tile->rows.first)) ||
                   (text_equal_nocase(e->b->name, "col") && is_begin(c, e->a, tile->cols.first)));
}

/* row() and col() from where their tile begins, wherever the condition says them without. */
static Expr *from_begins(Checker *c, const Expr *e, const Tile *tile)
{
    bool row = e->kind == EXPR_CALL && text_equal_nocase(e->name, "row"), col = e->kind == EXPR_CALL && text_equal_nocase(e->name, "col");
    Extent extent = row ? tile->rows : tile->cols;
    Expr *made = arena_new_of(c->arena, Expr);
    Str call = str_new(c->arena);
    *made = *e;
    if (begins(c, e, tile))
        return made;
    if ((row || col) && extent.first) {
        lang_print_expr(&call, e);
        return expr_name(c->arena, arena_printf(c->arena, "(%s)", begin_text(c, extent, str_text(&call))));
    }
    made->a = e->a ? from_begins(c, e->a, tile) : NULL;
    made->b = e->b ? from_begins(c, e->b, tile) : NULL;
    return made;
}

static void fix_followed(Checker *c, Diag *d, const Expr *where, const Tile *tile)
{
    Str text = str_new(c->arena);
    lang_print_expr(&text, from_begins(c, where, tile));
    diag_fix(c->late, d, where->span, str_text(&text), "from where the tile begins");
}

/* The condition as it is meant, of places that follow their tile. */
static const Aff *followed(Checker *c, const Aff *a, const Tile *tile)
{
    if (tile->rows.first)
        a = aff_subst(c->aff, a, c->row, aff_add(c->aff, aff_of(c->aff, c->row), tile->rows.first));
    if (tile->cols.first)
        a = aff_subst(c->aff, a, c->col, aff_add(c->aff, aff_of(c->aff, c->col), tile->cols.first));
    return a;
}

bool mask_check(Checker *c, const Expr *where, const Tile *tile, const char *name)
{
    if (where->kind != EXPR_WORDS && (!c->loose || c->sketch))
        check_varies(c, where);
    if (c->sketch)
        check_counters(c, where, tile);
    if (c->sketch)
        position_beside(c, where);
    else if (!c->loose)
        position_cancels(c, where);
    const Aff *cond = c->loose || c->path.n_arms ? NULL : eval_aff(&c->env, where, NULL);
    const AffSym *sym;
    if (!cond || !check_condition(c, where))
        return true;
    if (!(sym = find_stray(c, cond, tile)))
        return !keeps_rest(c, cond, tile);
    bool rows = tile->rows.first && aff_uses(tile->rows.first, sym);
    Extent e = rows ? tile->rows : tile->cols;
    Diag *d = diag_add(c->late, TW0424, where->span,
                       "the condition does not follow the tile '%s' as '%s' counts", name, sym->name);
    diag_note(c->late, d, "the position along %s%s%s is %s", e.axis ? "'" : "",
              e.axis ? e.axis : "its dimension", e.axis ? "'" : "",
              begin_text(c, e, arena_printf(c->arena, rows ? "row(%s)" : "col(%s)", name)));
    fix_followed(c, d, where, tile);
    return !keeps_rest(c, followed(c, cond, tile), tile);
}

bool mask_leaves_out(Checker *c, const Expr *where, const Tile *tile)
{
    const Aff *cond = c->loose || c->path.n_arms ? NULL : eval_aff(&c->env, where, NULL);
    return !keeps_rest(c, cond, tile);
}

/* ---- ragged tiles ------------------------------------------------------------------------ */

/* A loop that visits every tile of the dimension, the last one included; NULL: there is none. */
static const Loop *visits_last(Checker *c, const Aff *first, const Aff *tiles)
{
    for (int i = 0; i < c->n_loops; i++) {
        const Loop *loop = &c->loops[i];
        if (loop->sym && loop->end && aff_uses(first, loop->sym))
            return loop->end == tiles || aff_always(c->aff, aff_eq(c->aff, loop->end, tiles)) ? loop : NULL;
    }
    return NULL;
}

/* Whether the statement at hand is in a branch that the loop's last turn does not take where its tile is ragged: where
 * the dimension is n * q + rest, and the turn is q. */
static bool is_for_whole_tiles(Checker *c, const Aff *whole, const Aff *size, const Loop *loop, const Aff *first)
{
    int64_t n;
    if (c->path.n_arms == 0 || whole->kind != AFF_SYM || !aff_is_const(size, &n) || first != aff_scale(c->aff, aff_of(c->aff, loop->sym), n))
        return false;
    const Aff *q = aff_of(c->aff, aff_sym_new(c->aff, "q", AFF_DIM, 0, INT32_MAX)), *rest = aff_of(c->aff, aff_sym_new(c->aff, "rest", AFF_DIM, 1, n - 1));
    for (int i = 0; i < c->path.n_arms; i++) {
        const Aff *cond = eval_aff(&c->env, c->path.arms[i].stmt->where, NULL);
        if (!cond)
            continue;
        cond = aff_subst(c->aff, aff_subst(c->aff, cond, loop->sym, q), whole->sym, aff_add(c->aff, aff_scale(c->aff, q, n), rest));
        if (c->path.arms[i].orelse ? aff_always(c->aff, cond) : aff_never(c->aff, cond))
            return true;
    }
    return false;
}

void mask_ragged(Checker *c, const Stmt *s, const Operand *x)
{
    Extent e = x->tile.cols;
    const EvalName *whole = e.axis ? eval_find(&c->env, e.axis) : NULL;
    if (c->loose || x->place->now.masked || !whole || !whole->aff || !e.first || !e.size ||
        !aff_is_const(e.size, NULL))
        return;
    const Aff *rest = aff_mod(c->aff, whole->aff, e.size), *tiles = aff_ceildiv(c->aff, whole->aff, e.size);
    const Loop *loop = aff_is_poison(rest) || aff_is_poison(tiles) ? NULL : visits_last(c, e.first, tiles);
    if (!loop || aff_always(c->aff, aff_eq(c->aff, rest, aff_const(c->aff, 0))) || is_for_whole_tiles(c, whole->aff, e.size, loop, e.first))
        return;
    const char *name = operand_name(x), *col = arena_printf(c->arena, "col(%s)", name);
    Diag *d = diag_add(c->late, TW0446, s->span, "the last tile of '%s' may reach beyond '%s', and is not masked",
                       name, e.axis);
    fix_line_before(c, d, s,
                    arena_printf(c->arena, "Compute Mask %s where %s < %s", name, begin_text(c, e, col), e.axis),
                    "leave out what lies beyond");
}
