/* cover.c: whether the tiles that a Copy visits, over the blocks of the grid and
 * the iterations of its loops, are those of the tensor: none outside, none left
 * out.
 *
 *   Grid m = ceil(M / BM)            M of ceil(M / BM) tiles: all
 *   Copy A (BM, BK) in coordinate [M = m, K = m] ...
 *                                    along K there are ceil(K / BK) tiles
 *
 * Only what is plain is judged: a counter, or a counter and a constant; along
 * dimensions of single elements (heads) whatever a block's place says, by trying
 * small sizes. Copies in branches, and tensors that several Copies read parts of, are
 * left alone, and so is what is read under a condition; a store of which a condition
 * leaves less misses no less.
 */
#include "check/walk.h"

enum { TRY_DIMS = 4, TRY_COUNTERS = 3, TRY_MOST = 4096, TRY_WORK = 1 << 21 };

static const int64_t try_sizes[] = {1, 2, 3, 4, 6, 8};

typedef struct Range { /* of a counter */
    const char *name;
    const AffSym *sym;
    const Aff *lo, *end;
    const Expr *bound; /* where `end` is written */
    bool loop;
} Range;

typedef struct Cover {
    const Stmt *stmt;
    const Place *global;
    const Aff *const *coords; /* by dimension */
    int n_coords;
    bool store, only; /* only: no other Copy of the tensor this way */
    Extent tile;      /* along the dimension at hand */
    bool within;      /* which is one of the tile's own */
} Cover;

/* ---- counters ------------------------------------------------------------------------ */

static Range loop_range(const Loop *loop)
{
    return (Range){loop->stmt->name, loop->sym, loop->lo, loop->end, loop->stmt->hi, true};
}

static Range axis_range(Checker *c, const Axis *axis)
{
    return (Range){axis->name, axis->sym, aff_const(c->aff, 0), axis->extent, axis->bound, false};
}

static bool find_range(Checker *c, const AffSym *sym, Range *range)
{
    for (int i = 0; i < c->n_loops; i++)
        if (c->loops[i].sym == sym) {
            *range = loop_range(&c->loops[i]);
            return range->lo && range->end;
        }
    for (int i = 0; i < c->grid.len; i++)
        if (c->grid.data[i].sym == sym) {
            *range = axis_range(c, &c->grid.data[i]);
            return range->end != NULL;
        }
    return false;
}

/* at = counter + constant */
static bool take_plain(Checker *c, const Aff *at, Range *range, int64_t *offset)
{
    const Aff *coef, *rest;
    int64_t one;
    for (int i = 0; i < c->n_loops + c->grid.len; i++) {
        const AffSym *sym =
            i < c->n_loops ? c->loops[i].sym : c->grid.data[i - c->n_loops].sym;
        if (sym && aff_uses(at, sym))
            return aff_linear(c->aff, at, sym, &coef, &rest) && aff_is_const(coef, &one) &&
                   one == 1 && aff_is_const(rest, offset) && find_range(c, sym, range);
    }
    return false;
}

/* A counter that visits just so many tiles and has no other place in the Copy. */
static const char *fitting(Checker *c, const Cover *v, const Aff *tiles)
{
    for (int i = 0; i < c->n_loops + c->grid.len; i++) {
        Range r = i < c->n_loops ? loop_range(&c->loops[i])
                                 : axis_range(c, &c->grid.data[i - c->n_loops]);
        bool used = !r.sym || r.end != tiles;
        for (int d = 0; d < v->n_coords && !used; d++)
            used = v->coords[d] && aff_uses(v->coords[d], r.sym);
        if (!used)
            return r.name;
    }
    return NULL;
}

/* ---- saying so ----------------------------------------------------------------------------- */

static const char *dim_name(Checker *c, const Cover *v, int d)
{
    const Extent *e = &v->global->dims[d];
    return e->axis   ? arena_printf(c->arena, "'%s'", e->axis)
           : e->text ? arena_printf(c->arena, "dimension %d (%s)", d + 1, e->text)
                     : arena_printf(c->arena, "dimension %d", d + 1);
}

static const Coord *coord_of(const Cover *v, int d)
{
    for (int i = 0; i < v->stmt->n_coords; i++) {
        const Coord *coord = &v->stmt->coords[i];
        const char *axis = v->global->dims[d].axis;
        if (coord->name ? axis && strcmp(coord->name, axis) == 0 : i == d)
            return coord;
    }
    return NULL;
}

static DiagCode part_code(const Cover *v)
{
    return v->store ? TW0453 : TW0414;
}

static const char *verb(const Cover *v)
{
    return v->store ? "written" : "read";
}

/* How many tiles there are, in the program's own words. */
static const char *count_text(Checker *c, const Cover *v, int d, const Aff *tiles)
{
    const char *whole = v->global->dims[d].text;
    if (!whole || !v->tile.text || extent_is_one(v->tile))
        return aff_text(c->arena, tiles);
    return arena_printf(c->arena, "ceil(%s / %s)", whole, v->tile.text);
}

/* Another Copy said so of the same counter. */
static bool was_said(const Checker *c, const Range *r)
{
    for (int i = 0; i < c->late->list.len; i++) {
        const Fix *fix = &c->late->list.data[i].fix;
        if (fix->text && r->bound && fix->span.start == r->bound->span.start)
            return true;
    }
    return false;
}

/* The counter visits other tiles than there are. */
static void say_other_count(Checker *c, const Cover *v, int d, const Range *r, const Aff *tiles,
                            DiagCode code)
{
    const Coord *coord = coord_of(v, d);
    const char *other = fitting(c, v, tiles), *count = count_text(c, v, d, tiles);
    if (was_said(c, r))
        return;
    Diag *diag = diag_add(c->late, code, coord ? coord->span : v->stmt->span,
                          "'%s' goes up to %s, but there are %s tiles of '%s' along %s", r->name,
                          aff_text(c->arena, r->end), count, copy_tensor(v->stmt), dim_name(c, v, d));
    if (other && coord)
        diag_fix(c->late, diag, coord->value->span, other,
                 arena_printf(c->arena, "'%s' goes over these", other));
    else if (r->bound && !aff_is_const(tiles, NULL)) /* what has one tile is not what it counts */
        diag_fix(c->late, diag, r->bound->span, count, "visit them all");
}

static void say_outside(Checker *c, const Cover *v, int d, const Range *r, bool before)
{
    const Coord *coord = coord_of(v, d);
    Diag *diag = diag_add(c->late, v->store ? TW0453 : TW0415, coord ? coord->span : v->stmt->span,
                          before ? "the first tile lies before the begin of %s"
                                 : "the last tile lies behind the end of %s",
                          dim_name(c, v, d));
    if (coord)
        diag_fix(c->late, diag, coord->value->span, r->name, "count from the first tile");
}

static void say_first_left_out(Checker *c, const Cover *v, int d)
{
    const Coord *coord = coord_of(v, d);
    diag_add(c->late, part_code(v), coord ? coord->span : v->stmt->span,
             "the first tile of '%s' along %s is not %s", copy_tensor(v->stmt), dim_name(c, v, d), verb(v));
}

static void say_one_tile(Checker *c, const Cover *v, int d, const Aff *tiles)
{
    const char *axis = v->global->dims[d].axis, *other = fitting(c, v, tiles);
    const Stmt *s = v->stmt;
    Diag *diag = diag_add(c->late, part_code(v), s->span, "only one tile of '%s' along %s is %s",
                          copy_tensor(s), dim_name(c, v, d), verb(v));
    if (!v->store && axis)
        diag_note(c->late, diag, "say which with a coordinate, were it the first: %s = 0", axis);
    else if (!v->store)
        diag_note(c->late, diag, "say which with a coordinate for each dimension, in their order");
    else if (!other)
        diag_note(c->late, diag, "let an axis of the grid go over all %s of them", aff_text(c->arena, tiles));
    if (other && axis && s->n_coords > 0 && s->coords[0].name) {
        int at = s->coords[0].span.start;
        diag_fix(c->late, diag, (Span){at, at}, arena_printf(c->arena, "%s = %s, ", axis, other),
                 arena_printf(c->arena, "'%s' goes over these", other));
    }
}

/* ---- a counter, and perhaps a constant ------------------------------------------------------- */

/* Every symbol is the size of some tensor, no parameter of the operator. */
static bool uses_only_dims(const Checker *c, const Aff *a)
{
    bool found = false;
    if (!a)
        return true;
    if (a->kind != AFF_SYM)
        return uses_only_dims(c, a->a) && uses_only_dims(c, a->b);
    for (int i = 0; i < c->tensors.len && !found; i++) {
        const Place *p = &c->tensors.data[i]->places[SPACE_GLOBAL];
        for (int d = 0; p->exists && d < p->rank; d++)
            found |= p->dims[d].size && p->dims[d].size->sym == a->sym;
    }
    return found;
}

/* Whether an expression is written with the length of a dimension, known or not. */
static bool names_a_dim(const Checker *c, const Expr *e)
{
    bool found = false;
    for (int i = 0; e && i < c->tensors.len && !found; i++) {
        const Place *p = &c->tensors.data[i]->places[SPACE_GLOBAL];
        for (int d = 0; p->exists && d < p->rank; d++)
            found |= p->dims[d].axis && expr_mentions(e, p->dims[d].axis);
    }
    return found;
}

/* Loops may stop early, or begin late, on purpose; where they do it by other
 * sizes than the tensor's, it is a mistake. */
static bool may_be_meant(Checker *c, const Cover *v, const Range *r, const Aff *tiles)
{
    if (!v->store && !v->only)
        return true;
    if (!r->loop)
        return false;
    if (v->within && extent_is_one(v->tile)) /* a scale for each group of what the loop goes over */
        return true;
    return aff_uses_kind(r->end, AFF_GRID) || aff_uses_kind(r->end, AFF_LOOP) ||
           aff_uses_kind(r->end, AFF_SCALAR) || r->end->kind == AFF_MIN || r->end->kind == AFF_MAX ||
           (aff_is_const(r->end, NULL) && !aff_is_const(tiles, NULL) && !names_a_dim(c, r->bound)) ||
           !uses_only_dims(c, r->end);
}

/* The only length that both hang on. */
static const AffSym *only_length(const Checker *c, const Aff *end, const Aff *tiles)
{
    const AffSym *only = NULL;
    for (int i = 0; i < c->tensors.len; i++) {
        const Place *p = &c->tensors.data[i]->places[SPACE_GLOBAL];
        for (int d = 0; p->exists && d < p->rank; d++) {
            const Aff *size = p->dims[d].size;
            if (!size || size->kind != AFF_SYM || size->sym == only || !(aff_uses(end, size->sym) || aff_uses(tiles, size->sym)))
                continue;
            if (only)
                return NULL;
            only = size->sym;
        }
    }
    return only;
}

/* All, and one more at most, of lengths up to some tiles, and of many: quotients say the same of each tile more. */
static bool reaches_each(Checker *c, const Aff *end, const Aff *tiles)
{
    enum { LENGTHS = 600, LONG = 1 << 20 };
    const AffSym *length = only_length(c, end, tiles);
    bool all = length != NULL;
    for (int n = 0; n < 2 * LENGTHS && all; n++) {
        const Aff *of = aff_const(c->aff, n < LENGTHS ? n + 1 : LONG + n - LENGTHS);
        int64_t last, count;
        all = aff_is_const(aff_subst(c->aff, end, length, of), &last) && aff_is_const(aff_subst(c->aff, tiles, length, of), &count) &&
              count <= last && last <= count + 1;
    }
    return all;
}

/* Whether all tiles are visited, and one more at most, or some where there are few: `max(1, ceil(N / BN))`, `K div BK + 1`. */
static bool reaches_all(Checker *c, const Aff *end, const Aff *tiles)
{
    if (end->kind == AFF_MAX && (reaches_all(c, end->a, tiles) || reaches_all(c, end->b, tiles)))
        return true;
    return end == tiles || reaches_each(c, end, tiles);
}

static void check_count(Checker *c, const Cover *v, int d, const Range *r, const Aff *tiles)
{
    if (r->end == tiles || aff_always(c->aff, aff_eq(c->aff, r->end, tiles)))
        return;
    bool elements = r->end == v->global->dims[d].size; /* counted one by one: no fewer than tiles of several, whatever the size */
    if (elements || aff_always(c->aff, aff_lt(c->aff, tiles, r->end)))
        say_other_count(c, v, d, r, tiles, TW0415);
    else if (!may_be_meant(c, v, r, tiles) && !reaches_all(c, r->end, tiles))
        say_other_count(c, v, d, r, tiles, part_code(v));
}

static void check_plain(Checker *c, const Cover *v, int d, const Range *r, int64_t offset,
                        const Aff *tiles)
{
    int64_t lo;
    bool known = aff_is_const(r->lo, &lo);
    if (known && lo + offset < 0)
        say_outside(c, v, d, r, true);
    else if (offset > 0 && r->end == tiles && (v->only || !r->loop))
        say_outside(c, v, d, r, false);
    else if (known && lo + offset > 0 && (v->store || v->only))
        say_first_left_out(c, v, d);
    else if (offset == 0)
        check_count(c, v, d, r, tiles);
}

/* ---- other expressions of a block's place: h div (q_heads div kv_heads) ------------------------ */

typedef struct Try {
    const Aff *at, *size;
    const AffSym *dims[TRY_DIMS], *counters[TRY_COUNTERS];
    int64_t units[TRY_DIMS]; /* lengths are tried that are multiples of these */
    Range ranges[TRY_COUNTERS];
    int n_dims, n_counters, work;
    int64_t *values; /* by symbol */
    bool *seen;      /* TRY_MOST elements of the dimension */
    int n_seen;
    bool ever;       /* with some sizes just all of the dimension is visited */
} Try;

/* Every dimension and counter in a; false: too many, or others. */
static bool collect(Checker *c, Try *t, const Aff *a)
{
    bool known = false;
    if (!a)
        return true;
    if (a->kind != AFF_SYM)
        return collect(c, t, a->a) && collect(c, t, a->b);
    for (int i = 0; i < t->n_dims; i++)
        known |= t->dims[i] == a->sym;
    for (int i = 0; i < t->n_counters; i++)
        known |= t->counters[i] == a->sym;
    if (known)
        return true;
    if (a->sym->kind == AFF_DIM && t->n_dims < TRY_DIMS) {
        t->dims[t->n_dims++] = a->sym;
        return true;
    }
    if (a->sym->kind != AFF_GRID || t->n_counters == TRY_COUNTERS ||
        !find_range(c, a->sym, &t->ranges[t->n_counters]))
        return false;
    t->counters[t->n_counters++] = a->sym;
    return collect(c, t, t->ranges[t->n_counters - 1].end);
}

/* Sizes that the expression divides are multiples of what it divides them by. */
static bool is_plausible(const Aff *a, const int64_t *values)
{
    int64_t x, y;
    if (!a)
        return true;
    if (a->kind == AFF_DIV && !aff_uses_kind(a, AFF_GRID) &&
        !(aff_eval(a->a, values, &x) && aff_eval(a->b, values, &y) && y > 0 && x > 0 && x % y == 0))
        return false;
    return is_plausible(a->a, values) && is_plausible(a->b, values);
}

static bool stays_within(Try *t, int counter, int64_t size)
{
    int64_t end, at;
    if (counter == t->n_counters) {
        if (!aff_eval(t->at, t->values, &at) || at < 0 || at >= size)
            return false;
        t->n_seen += !t->seen[at];
        t->seen[at] = true;
        return true;
    }
    if (!aff_eval(t->ranges[counter].end, t->values, &end) || end < 1 || end > TRY_MOST)
        return false;
    for (int64_t i = 0; i < end; i++) {
        if (++t->work > TRY_WORK)
            return false;
        t->values[t->counters[counter]->id] = i;
        if (!stays_within(t, counter + 1, size))
            return false;
    }
    return true;
}

/* Whether the counters take the expression to just 0 ... size - 1. */
static bool visits_all(Try *t, int64_t size)
{
    t->n_seen = 0;
    memset(t->seen, 0, (size_t)size);
    return stays_within(t, 0, size) && t->n_seen == size;
}

static void try_dims(Try *t, int dim)
{
    int64_t size;
    for (size_t i = 0; i < TW_COUNT(try_sizes) && dim < t->n_dims && !t->ever; i++) {
        t->values[t->dims[dim]->id] = try_sizes[i] * t->units[dim];
        try_dims(t, dim + 1);
    }
    if (dim < t->n_dims || t->ever || !is_plausible(t->at, t->values) ||
        !aff_eval(t->size, t->values, &size) || size < 2 || size > TRY_MOST)
        return;
    t->ever = visits_all(t, size);
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Lengths that are divided by numbers, as in `ceil(N / 128)`, are long enough for several quotients where they are multiples of these. */
static void find_units(Try *t, const Aff *a)
{
    int64_t by, unit;
    if (!a)
        return;
    find_units(t, a->a);
    find_units(t, a->b);
    if (a->kind != AFF_DIV || !aff_is_const(a->b, &by) || by < 2 || by > TRY_MOST)
        return;
    for (int i = 0; i < t->n_dims; i++) {
        unit = common_multiple(t->units[i], by);
        if (aff_uses(a->a, t->dims[i]) && unit <= TRY_MOST)
            t->units[i] = unit;
    }
}

/* Of lengths as they are, and, where these are too short to say anything, of longer ones. */
static void try_lengths(Try *t)
{
    for (int i = 0; i < t->n_dims; i++)
        t->units[i] = 1;
    try_dims(t, 0);
    if (t->ever)
        return;
    find_units(t, t->at);
    find_units(t, t->size);
    for (int i = 0; i < t->n_counters; i++)
        find_units(t, t->ranges[i].end);
    try_dims(t, 0);
}

static void check_single_elements(Checker *c, const Cover *v, int d)
{
    Try t = {.at = v->coords[d], .size = v->global->dims[d].size};
    const Coord *coord = coord_of(v, d);
    int64_t size;
    if (!coord || !collect(c, &t, t.at) || !collect(c, &t, t.size) || t.n_counters == 0)
        return;
    t.seen = arena_array(c->arena, bool, TRY_MOST);
    t.values = arena_array(c->arena, int64_t, aff_sym_count(c->aff) + 1);
    try_lengths(&t);
    if (t.ever || t.work > TRY_WORK || (aff_is_const(t.size, &size) && (size < 2 || size > TRY_MOST)))
        return;
    Diag *diag = diag_add(c->late, part_code(v), coord->span,
                          "%s does not visit all of %s, whatever the sizes are",
                          aff_text(c->arena, t.at), dim_name(c, v, d));
    const char *other = fitting(c, v, t.size);
    if (other)
        diag_fix(c->late, diag, coord->value->span, other,
                 arena_printf(c->arena, "'%s' goes over these", other));
}

/* Whether a counter is named in what is but one number: of a loop of one turn, or as few heads as in `h div 4`. */
static bool names_counter(const Checker *c, const Expr *e)
{
    bool found = false;
    for (int i = 0; i < c->n_loops && !found; i++)
        found = expr_mentions(e, c->loops[i].stmt->name);
    for (int i = 0; i < c->grid.len && !found; i++)
        found = expr_mentions(e, c->grid.data[i].name);
    return found;
}

/* A number, read in a loop that goes over just these tiles and says nothing else here. */
static bool check_loop_of_one(Checker *c, const Cover *v, int d, const Aff *tiles)
{
    const Coord *coord = coord_of(v, d);
    for (int i = 0; i < c->n_loops && coord && !v->store && v->only; i++) {
        Range r = loop_range(&c->loops[i]);
        bool used = !r.sym || !r.end || r.end != tiles || aff_is_const(tiles, NULL);
        for (int k = 0; k < v->n_coords && !used; k++)
            used = v->coords[k] && aff_uses(v->coords[k], r.sym);
        if (used)
            continue;
        Diag *diag = diag_add(c->late, TW0414, coord->span, "'%s' goes over the tiles of '%s' along %s, but each turn takes the same one",
                              r.name, copy_tensor(v->stmt), dim_name(c, v, d));
        diag_fix(c->late, diag, coord->value->span, r.name, "the tile of each turn");
        return true;
    }
    return false;
}

/* A loop of one turn, whose counter is the number 0, as the length of another dimension wants it. */
static bool check_turn_of_another(Checker *c, const Cover *v, int d, const Aff *tiles)
{
    const Coord *coord = coord_of(v, d);
    for (int i = 0; i < c->n_loops && coord; i++) {
        Range r = loop_range(&c->loops[i]);
        if (!r.end || !expr_is_name(coord->value, r.name) || !names_a_dim(c, r.bound))
            continue;
        int before = c->late->list.len;
        check_count(c, v, d, &r, tiles);
        return c->late->list.len > before;
    }
    return false;
}

static void check_constant(Checker *c, const Cover *v, int d, const Aff *tiles)
{
    if (check_loop_of_one(c, v, d, tiles) || check_turn_of_another(c, v, d, tiles))
        return;
    const Coord *coord = coord_of(v, d);
    int64_t at, n;
    if (!coord || (!v->store && !v->only) || !aff_is_const(v->coords[d], &at) || !aff_is_const(tiles, &n) || n < 2)
        return;
    if (!names_counter(c, coord->value)) { /* of what is read, a number is meant */
        if (v->store)
            say_one_tile(c, v, d, tiles);
        return;
    }
    Diag *diag = diag_add(c->late, part_code(v), coord->span, "%s is %lld in all blocks and turns, but '%s' has %lld tiles along %s",
                          source_text(c, coord->value->span), (long long)at, copy_tensor(v->stmt), (long long)n, dim_name(c, v, d));
    const char *other = fitting(c, v, tiles);
    if (other)
        diag_fix(c->late, diag, coord->value->span, other, arena_printf(c->arena, "'%s' goes over these", other));
}

/* One counter cannot say two places at once. */
static bool check_shared_counter(Checker *c, const Cover *v, int d)
{
    Range r;
    int64_t offset;
    for (int other = 0; other < v->n_coords; other++) {
        if (other == d || !v->coords[other] || !take_plain(c, v->coords[other], &r, &offset) ||
            !aff_uses(v->coords[d], r.sym))
            continue;
        const Coord *coord = coord_of(v, d);
        diag_add(c->late, part_code(v), coord ? coord->span : v->stmt->span,
                 "'%s' says already where the tile lies along %s; along %s it goes diagonally",
                 r.name, dim_name(c, v, other), dim_name(c, v, d));
        return true;
    }
    return false;
}

/* Of an output whose tiles lie along two dimensions where one counter says only those of the diagonal are written. */
static bool check_diagonal(Checker *c, const Cover *v, int d, const Range *r, const Aff *tiles)
{
    const Coord *coord = coord_of(v, d);
    Range before;
    int64_t offset, one;
    bool several = v->store && coord && !(aff_is_const(tiles, &one) && one < 2);
    for (int other = 0; other < d && several; other++) {
        if (!v->coords[other] || !take_plain(c, v->coords[other], &before, &offset) || before.sym != r->sym)
            continue;
        diag_add(c->late, TW0453, coord->span, "'%s' goes along %s and along %s: only tiles of the diagonal are written", r->name,
                 dim_name(c, v, d), dim_name(c, v, other));
        return true;
    }
    return false;
}

/* ---- elements in place of tiles ------------------------------------------------------------ */

/* `m * BM` where m counts the tiles: the tile would begin at m * BM * BM. */
static bool counts_elements(Checker *c, const Cover *v, int d, const AffSym *sym, Extent tile, Range *r)
{
    const Aff *coef, *rest, *whole = v->global->dims[d].size;
    int64_t n, size;
    if (!sym || !aff_uses(v->coords[d], sym) || !aff_linear(c->aff, v->coords[d], sym, &coef, &rest) ||
        !aff_is_const(coef, &n) || n < 2 || !aff_is_const(tile.size, &size) || n != size || !find_range(c, sym, r))
        return false;
    return r->end == aff_ceildiv(c->aff, whole, tile.size) || r->end == aff_div(c->aff, whole, tile.size);
}

static void say_elements(Checker *c, const Cover *v, int d, Extent tile, const Range *r)
{
    const Coord *coord = coord_of(v, d);
    const Aff *coef, *rest;
    int64_t zero;
    Diag *diag = diag_add(c->diags, TW0412, coord ? coord->span : v->stmt->span,
                          "coordinates count tiles, not elements, and '%s' goes over the tiles along %s already", r->name,
                          dim_name(c, v, d));
    if (coord && tile.text)
        diag_note(c->diags, diag, "this tile would begin at element (%s) * %s", source_text(c, coord->value->span), tile.text);
    if (coord && aff_linear(c->aff, v->coords[d], r->sym, &coef, &rest) && aff_is_const(rest, &zero) && zero == 0)
        diag_fix(c->diags, diag, coord->value->span, r->name, "count tiles");
}

static bool check_elements(Checker *c, const Cover *v, const Extent *shape, int n_shape)
{
    bool said = false;
    for (int d = 0; d < v->n_coords; d++) {
        int at = d - (v->global->rank - n_shape);
        Range r;
        if (at < 0 || at >= n_shape || !v->coords[d] || !shape[at].size || !v->global->dims[d].size)
            continue;
        bool found = false;
        for (int i = 0; i < c->n_loops + c->grid.len && !found; i++) {
            const AffSym *sym = i < c->n_loops ? c->loops[i].sym : c->grid.data[i - c->n_loops].sym;
            found = counts_elements(c, v, d, sym, shape[at], &r);
        }
        if (found)
            say_elements(c, v, d, shape[at], &r);
        said |= found;
    }
    return said;
}

/* ---- the Copy ------------------------------------------------------------------------------- */

static int count_copies(const Block *block, const Stmt *like)
{
    int n = 0;
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        n += s->kind == STMT_COPY && s->name && s->space == like->space && s->to_space == like->to_space &&
             strcmp(copy_tensor(s), copy_tensor(like)) == 0;
        n += count_copies(&s->body, like) + count_copies(&s->orelse, like);
    }
    return n;
}

/* No other Copy goes the same way between the tensor and a space. */
static bool is_alone(Checker *c, const Stmt *s, Place *global)
{
    bool store = s->to_space == SPACE_GLOBAL;
    int *n = &global->copies[store][store ? s->space : s->to_space];
    if (*n == 0)
        *n = count_copies(&c->unit->body, s);
    return *n == 1;
}

static void check_dim(Checker *c, Cover *v, int d, Extent tile)
{
    const Aff *at = v->coords[d], *whole = v->global->dims[d].size, *tiles;
    Range range;
    int64_t offset;
    if (!whole || !tile.size || (at && aff_uses_kind(at, AFF_SCALAR)))
        return;
    tiles = extent_is_one(tile) ? whole : aff_ceildiv(c->aff, whole, tile.size);
    if (aff_is_poison(tiles))
        return;
    v->tile = tile;
    if (!at) {
        if ((v->store || v->only) && !aff_always(c->aff, aff_le(c->aff, whole, tile.size)))
            say_one_tile(c, v, d, tiles);
    } else if (take_plain(c, at, &range, &offset)) {
        if (!check_diagonal(c, v, d, &range, tiles))
            check_plain(c, v, d, &range, offset, tiles);
    } else if (aff_is_const(at, NULL)) {
        check_constant(c, v, d, tiles);
    } else if (extent_is_one(tile) && !check_shared_counter(c, v, d) && (v->store || v->only)) {
        check_single_elements(c, v, d);
    }
}

void cover_copy(Checker *c, const Stmt *s, Place *global, const Extent *shape, int n_shape,
                const Aff *const *coords, int n_coords)
{
    Cover v = {s, global, coords, n_coords, s->to_space == SPACE_GLOBAL, false, {0}, false};
    bool part = !global->decl || global->decl->kind == STMT_ALLOCATE;
    if (!c->loose && n_coords == global->rank && check_elements(c, &v, shape, n_shape))
        return;
    if (c->loose || part || c->path.n_arms || (s->where && !v.store) || s->stage || s->target ||
        s->result == RESULT_ACCUMULATE || n_shape > global->rank || n_coords != global->rank)
        return;
    bool alone = is_alone(c, s, global);
    if (v.store && !alone)
        return;
    for (int d = 0; d < global->rank; d++) {
        int before = c->late->list.len, at = d - (global->rank - n_shape);
        v.only = alone && !(s->as && at >= 0); /* what has another name may be a part of all */
        v.within = at >= 0;
        check_dim(c, &v, d, at >= 0 ? shape[at] : extent_one(c));
        if (c->late->list.len > before)
            return; /* the others likely follow from it */
    }
}
