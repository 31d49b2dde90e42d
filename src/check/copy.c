/* copy.c: Copy statements: the two places, the shape, the coordinates.
 *
 *   Copy K (BN, D) in coordinate [batch = z, len = j] from global to shared
 *
 * takes the j-th tile of BN rows along len: the sizes are those of the tensor's
 * last dimensions. A dimension without a coordinate is taken from its start. Where
 * coordinates say of each row of the tile where it lies, they follow a table as a rule.
 */
#include "check/walk.h"

/* ---- coordinates -------------------------------------------------------------------------- */

static int dimension_named(const Place *p, const char *name)
{
    for (int i = 0; i < p->rank; i++)
        if (p->dims[i].axis && strcmp(p->dims[i].axis, name) == 0)
            return i;
    return -1;
}

static const char *nearest_dimension(const Place *p, const char *name)
{
    int best = name_edits(name) + 1;
    const char *nearest = NULL;
    for (int i = 0; i < p->rank; i++) {
        int d = p->dims[i].axis ? name_distance(name, p->dims[i].axis, best) : best;
        if (d < best) {
            best = d;
            nearest = p->dims[i].axis;
        }
    }
    return nearest;
}

/* The first dimension that no coordinate names. */
static int free_dimension(const Stmt *s, const Place *p, const bool *taken)
{
    for (int i = 0; i < p->rank; i++) {
        bool named = false;
        for (int j = 0; j < s->n_coords; j++)
            named |= s->coords[j].name && dimension_named(p, s->coords[j].name) == i;
        if (!named && !taken[i])
            return i;
    }
    return -1;
}

static void say_no_dimension(Checker *c, const Stmt *s, const Coord *coord, const Place *p)
{
    Diag *d =
        diag_add(c->diags, TW0411, coord->span, "'%s' has no dimension '%s'", copy_tensor(s), coord->name);
    const char *nearest = nearest_dimension(p, coord->name);
    int len = (int)strlen(coord->name);
    if (nearest)
        diag_fix(c->diags, d, (Span){coord->span.start, coord->span.start + len}, nearest,
                 arena_printf(c->arena, "did you mean '%s'?", nearest));
}

/* A coordinate without a name: as many as the tile has dimensions are of those, more
 * are of the first ones. */
static int dimension_in_order(const Stmt *s, int i, const Place *p)
{
    int n = s->has_shape ? s->n_shape : p->rank < 2 ? p->rank : 2;

    if (s->n_coords > n || n > p->rank)
        return i < p->rank ? i : -1;
    return p->rank - n + i;
}

/* Which dimension a coordinate is of. A name that is none (`L = i`, as in the
 * paper) means the first dimension that no other coordinate names, as long as
 * it cannot be a misspelt one. */
static int dimension_of(Checker *c, const Stmt *s, int i, const Place *p, bool *taken)
{
    const Coord *coord = &s->coords[i];
    int at = coord->name ? dimension_named(p, coord->name) : dimension_in_order(s, i, p);
    bool part = p->decl && p->decl->kind == STMT_ALLOCATE; /* it may name its sizes otherwise */
    bool declared = (p->is_input || p->is_output) && !part && p->rank > 0 && p->dims[0].axis;
    int free = at < 0 ? free_dimension(s, p, taken) : -1;
    bool nameless = free >= 0 && !p->dims[free].axis; /* of (M, 256) whatever the second one is called */
    if (at < 0 && coord->name && (s->n_coords == 1 || !declared || nameless) && !nearest_dimension(p, coord->name))
        at = free;
    for (int d = 0; c->sketch && d < p->rank && coord->name && at < 0; d++) /* a size that is assigned: the reasoner compares it */
        if (!p->dims[d].axis && !taken[d] && block_find(&c->unit->body, STMT_ASSIGN, coord->name))
            at = d;
    if (at < 0 && coord->name)
        say_no_dimension(c, s, coord, p);
    else if (at < 0)
        diag_add(c->diags, TW0327, coord->span, "%d coordinates of a tensor with %d dimensions",
                 s->n_coords, p->rank);
    else if (taken[at])
        diag_add(c->diags, TW0411, coord->span, "this dimension has a coordinate already");
    if (at >= 0)
        taken[at] = true;
    return at;
}

/* The size of the tile along a dimension; 1 along those that the shape leaves out. */
static Extent size_along(Checker *c, const Extent *shape, int n_shape, int rank, int dim)
{
    int at = dim - (rank - n_shape);
    return at >= 0 && at < n_shape ? shape[at] : extent_one(c);
}

/* A copy of stages runs ahead: at the end of a loop, or of few turns in all, it brings what nothing reads. */
static void check_range(Checker *c, const Coord *coord, const Aff *at, Extent size, Extent whole, bool ahead)
{
    if (!at || !size.size || !whole.size)
        return;
    const Aff *first = aff_mul(c->aff, at, size.size), *zero = aff_const(c->aff, 0);
    if (aff_is_poison(first))
        return;
    bool beyond = !ahead && aff_always(c->aff, aff_le(c->aff, whole.size, first)) && !aff_uses_kind(first, AFF_DIM);
    if (beyond || aff_always(c->aff, aff_lt(c->aff, first, zero)))
        diag_add(c->diags, TW0412, coord->span, "the tile starts at %s, outside of 0:%s",
                 aff_text(c->arena, first), aff_text(c->arena, whole.size));
}

/* A coordinate of a sketch that names a dimension of the grid says where the block lies along it, whatever its size is. */
static bool follows_grid(const Checker *c, const Expr *at)
{
    bool found = false;
    for (int i = 0; c->sketch && i < c->unit->body.len && !found; i++) {
        const Stmt *s = c->unit->body.data[i];
        for (int k = 0; s->kind == STMT_GRID && k < s->n_coords && !found; k++)
            found = !s->coords[k].value && expr_mentions(at, s->coords[k].name);
    }
    return found;
}

/* The coordinates' values, by dimension of the tensor; NULL where there is none. */
static int check_coords(Checker *c, const Stmt *s, const Place *global, const Extent *shape,
                        int n_shape, const Aff **values)
{
    bool taken[TENSOR_MAX_RANK] = {false};
    for (int i = 0; i < s->n_coords; i++) {
        const Aff *at = values_integer(c, s->coords[i].value);
        if (follows_grid(c, s->coords[i].value))
            at = NULL;
        if (global->given) {
            if (i < TENSOR_MAX_RANK)
                values[i] = at;
            continue;
        }
        int dim = dimension_of(c, s, i, global, taken);
        if (dim < 0)
            continue;
        values[dim] = at;
        bool entry = c->sketch && s->coords[i].value->kind == EXPR_NAME; /* of the block, or of a loop */
        if (!copy_by_rows(s) && !entry)
            check_range(c, &s->coords[i], at, size_along(c, shape, n_shape, global->rank, dim),
                        global->dims[dim], s->stage != NULL);
    }
    return global->given ? (s->n_coords < TENSOR_MAX_RANK ? s->n_coords : TENSOR_MAX_RANK)
                         : global->rank;
}

/* ---- shapes ------------------------------------------------------------------------------------
 */

/* Sizes that the statement says, else those of the tile on the near side. */
static int copy_shape(Checker *c, const Stmt *s, const Place *near, Extent *shape)
{
    int n = s->n_shape < TENSOR_MAX_RANK ? s->n_shape : TENSOR_MAX_RANK;
    for (int i = 0; i < n; i++)
        shape[i] = extent_of(c, s->shape[i]);
    if (s->has_shape || !near->exists || near->given)
        return n;
    for (n = 0; n < near->rank; n++)
        shape[n] = near->dims[n];
    return n;
}

/* Sizes of 1 among more than two dimensions only say where the tile lies. */
static Tile shape_tile(Checker *c, const Extent *shape, int n)
{
    Place p = {.space = SPACE_SHARED};
    for (int i = 0; i < n; i++)
        if (n <= 2 || !extent_is_one(shape[i]))
            p.dims[p.rank++] = shape[i];
    return tile_of(c, &p);
}

/* A ring of stages holds tiles: its first dimension is the stage. */
static Tile near_tile(Checker *c, const Stmt *s, const Place *p)
{
    return s->stage && p->rank == 3
               ? tile_of(c, &(Place){.rank = 2, .dims = {p->dims[1], p->dims[2]}})
               : tile_of(c, p);
}

/* A column of memory may be a row of the block, and the other way round: what is allocated says how it lies. */
static void lie_as_allocated(const Place *near, Tile *copied)
{
    bool column = extent_is_one(copied->cols) && !extent_is_one(copied->rows), row = extent_is_one(copied->rows) && !extent_is_one(copied->cols);
    if (near->rank != 2 || copied->vector || column == row)
        return;
    Extent across = near->dims[column ? 0 : 1], along = near->dims[column ? 1 : 0], own = column ? copied->rows : copied->cols;
    if (extent_is_one(across) && extent_same(along, own))
        *copied = (Tile){.rows = own, .cols = across, .vector = true};
}

static void check_shape(Checker *c, const Stmt *s, const Tile *copied, Place *near)
{
    Tile tile = near_tile(c, s, near);
    if (!near->exists || near->given || s->target || shape_agrees(c, copied, &tile))
        return;
    Span span =
        s->n_shape ? (Span){s->shape[0]->span.start, s->shape[s->n_shape - 1]->span.end} : s->span;
    Diag *d = diag_add(c->diags, TW0413, span, "'%s' has shape %s in %s memory, not %s", copy_tile(s),
                       tile_text(c, &tile), space_name(near->space), tile_text(c, copied));
    const char *text = tile_text(c, &tile);
    bool turned = extent_same(copied->rows, tile.cols) && extent_same(copied->cols, tile.rows); /* either may be meant */
    if (s->n_shape && !turned)
        diag_fix(c->diags, d, span, arena_strndup(c->arena, text + 1, strlen(text) - 2),
                 "copy the tile that is allocated");
    if (turned && near->rank >= 2) /* nothing follows from it */
        near->dims[near->rank - 1] = near->dims[near->rank - 2] = (Extent){0};
}

/* `Copy bias (1, BN)` of a tensor (N): its tiles have no ones in front. */
static void refuse_rank(Checker *c, const Stmt *s, const Place *global, const Extent *shape, int n)
{
    Diag *d = diag_add(c->diags, TW0325, s->span, "a tile with %d dimensions of '%s', which has %d", n, copy_tensor(s), global->rank);
    int more = n - global->rank;
    bool ones = s->n_shape == n;
    for (int i = 0; ones && i < more; i++)
        ones = s->shape[i]->kind == EXPR_INT && s->shape[i]->i == 1;
    if (ones)
        diag_fix(c->diags, d, (Span){s->shape[0]->span.start, s->shape[more]->span.start}, "", "the dimensions of the tensor");
    if (!s->has_shape && !s->as && n == 2 && extent_is_one(shape[0]) && shape[1].text) /* that of the tile was taken */
        diag_fix(c->diags, d, (Span){s->name_span.end, s->name_span.end}, arena_printf(c->arena, " (%s)", shape[1].text),
                 "the dimensions of the tensor");
}

/* The shape of a sketch's Copy says which dimensions its tile runs along; of columns `2 * D`, or a number, no more than that
 * they are some. */
static bool take_named_axes(const Stmt *s, const Place *global, Extent *shape, int n)
{
    const char *axes[TENSOR_MAX_RANK] = {NULL};
    for (int i = 0; i < n; i++) {
        const Expr *e = s->shape[i];
        int at = e->kind == EXPR_NAME ? dimension_named(global, e->name) : -1;
        bool columns = i > 0 && i == n - 1 && e->kind != EXPR_NAME;
        if (at < 0 && !columns && !(e->kind == EXPR_INT && e->i == 1))
            return false;
        axes[i] = at < 0 ? NULL : global->dims[at].axis;
    }
    for (int i = 0; i < n; i++)
        shape[i].axis = axes[i];
    return true;
}

/* A tile runs along the last dimensions of the global tensor. */
static void take_axes(Checker *c, const Stmt *s, const Place *global, Extent *shape, int n)
{
    if (global->given || global->rank == 0)
        return;
    for (int i = 0; i < 2 && n == 0;
         i++) /* a sketch: the last two, of sizes that nothing says yet */
        if (global->rank > 1 - i)
            shape[i].axis = global->dims[global->rank - 2 + i].axis;
    if (c->sketch && s->has_shape && n > 0 && take_named_axes(s, global, shape, n))
        return;
    if (n > global->rank)
        refuse_rank(c, s, global, shape, n);
    for (int i = 0; i < n && n <= global->rank; i++)
        shape[i].axis = i < n - 1 && copy_by_rows(s) ? NULL : global->dims[global->rank - n + i].axis;
}

/* What was copied, to a place that says little of itself. */
static void learn_place(Checker *c, Named *t, Place *near, const Tile *copied)
{
    Operand o = {.tensor = t, .place = near, .tile = tile_of(c, near)};
    if (copied->vector && near->rank == 2 && extent_is_one(near->dims[0]) != extent_is_one(near->dims[1]))
        near->dims[extent_is_one(near->dims[0])].axis = copied->rows.axis; /* a column or a row of it */
    shape_learn(&o, copied);
}

/* ---- places -------------------------------------------------------------------------------------
 */

static Named *copied_tensor(Checker *c, const Stmt *s)
{
    Space unused;
    Named *t = names_find(c, s->name);
    if (!t)
        t = names_suffixed(c, s->name, &unused);
    if (!t && !c->loose) {
        Named *meant = names_undefined(c, s->name, s->name_span);
        if (meant && meant->places[s->to_space].exists) /* say no more of it */
            meant->places[s->to_space].now.written = WRITTEN_MAYBE;
    }
    return t ? t : c->loose ? names_add(c, s->name) : NULL;
}

static Place *source_place_of(Checker *c, const Stmt *s, Named *t)
{
    Place *p = &t->places[s->space];
    if (p->exists)
        return p;
    if (c->loose)
        return names_given(c, t, s->space);
    diag_add(c->diags, TW0406, s->name_span, "'%s' is not in %s memory", t->name,
             space_name(s->space));
    return NULL;
}

/* What the elements are called where they go: `as Y`. */
static Named *dest_tensor(Checker *c, const Stmt *s, Named *t)
{
    Space unused;
    if (!s->as)
        return t;
    Named *to = names_find(c, s->as);
    if (!to)
        to = names_suffixed(c, s->as, &unused);
    return to ? to : names_add(c, s->as);
}

static Place *dest_place_of(Checker *c, const Stmt *s, Named *t, const Place *from)
{
    Span name = s->as ? s->as_span : s->name_span;
    Place *p = &t->places[s->to_space];
    if (p->exists)
        return p;
    if (c->loose)
        return names_given(c, t, s->to_space);
    if (s->to_space == SPACE_GLOBAL) {
        Diag *d = diag_add(c->diags, TW0406, name, "'%s' is not declared in global memory",
                           t->name);
        diag_note(c->diags, d, "declare it with `Output %s (...)`", t->name);
        return NULL;
    }
    Extent shape[TENSOR_MAX_RANK];
    int n = copy_shape(c, s, from, shape);
    Tile tile = shape_tile(c, shape, n);
    names_unallocated(c, t->name, name, s->to_space, n ? &tile : NULL);
    return names_given(c, t, s->to_space);
}

static void check_target(Checker *c, const Stmt *s)
{
    for (const Expr *e = s->target; e; e = e->a)
        if (e->kind == EXPR_INDEX)
            for (int i = 0; i < e->n_args; i++) {
                const Expr *at = e->args[i];
                if (at->kind == EXPR_RANGE) {
                    if (at->a)
                        values_integer(c, at->a);
                    if (at->b)
                        values_integer(c, at->b);
                } else if (at->kind != EXPR_ELLIPSIS) {
                    values_integer(c, at);
                }
            }
}

/* ---- the statement
 * --------------------------------------------------------------------------------- */

static void check_clauses(Checker *c, const Stmt *s)
{
    if (s->where)
        values_element_condition(c, s->where);
    if (s->otherwise)
        values_number(c, s->otherwise);
    check_target(c, s);
}

/* The stage of a ring that a tile goes to, or comes from. */
static void check_stage(Checker *c, const Stmt *s, const Place *near)
{
    const Aff *at = s->stage ? values_integer(c, s->stage) : NULL;
    if (near && near->exists && !near->given && near->rank == 3)
        operand_index(c, s->stage, at, near, 0);
}

static void read_source(Checker *c, const Stmt *s, Named *t, Place *from)
{
    Expr *name = expr_name(c->arena, s->name);
    name->span = s->name_span;
    Operand o = {.expr = name, .tensor = t, .place = from};
    init_read(c, &o);
}

static bool copy_depends(const Stmt *s, const char *name)
{
    bool depends = expr_mentions(s->where, name);
    for (int i = 0; i < s->n_coords; i++)
        depends |= expr_mentions(s->coords[i].value, name);
    return depends;
}

/* Whether a tile was copied from the same place to the other memory, in this turn of the loops that the place follows. */
static bool same_copy(const Checker *c, const Stmt *s, const Place *from, const Place *other)
{
    const Stmt *copied = other->now.copied;
    Stmt as_there = *s;
    if (!copied || s->stage || s->target || !from->is_input || copy_by_rows(s))
        return false;
    as_there.to_space = copied->to_space;
    if (!stmt_equal(&as_there, copied))
        return false;
    for (int i = c->n_loops - 1; i >= 0 && c->loops[i].entered_at > other->now.set_at; i--)
        if (copy_depends(s, c->loops[i].stmt->name))
            return false;
    return true;
}

static void write_dest(Checker *c, const Stmt *s, Named *t, const Place *from, Place *to)
{
    Operand o = {.tensor = t, .place = to};
    int version = from->now.version;
    init_write(c, &o, FRAG_FREE);
    if (from->space != SPACE_GLOBAL && to->space != SPACE_GLOBAL) /* the same elements */
        to->now.version = version;
    if (from->space != SPACE_GLOBAL)
        return;
    const Place *other = &t->places[to->space == SPACE_SHARED ? SPACE_REGISTER : SPACE_SHARED];
    if (same_copy(c, s, from, other))
        to->now.version = other->now.version;
    to->now.copied = s;
}

/* Where the tile begins along a dimension. */
static const Aff *begin_of(Checker *c, const Aff *at, Extent size)
{
    const Aff *begin = !size.size ? NULL : at ? aff_mul(c->aff, at, size.size) : aff_const(c->aff, 0);
    return begin && !aff_is_poison(begin) ? begin : NULL;
}

/* The same in a sketch, of a size that nothing says yet: the counter of the loop over it. */
static const Aff *begin_along(const Checker *c, const char *axis)
{
    for (int i = c->n_loops - 1; i >= 0 && axis; i--)
        if (c->loops[i].sym && c->loops[i].stmt->over && strcmp(c->loops[i].stmt->over, axis) == 0)
            return aff_of(c->aff, c->loops[i].sym);
    return NULL;
}

static bool same_axis(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Its rows are written along the dimension that its columns run along, and the other way round. */
static void check_turned(Checker *c, const Stmt *s, const Place *near, const Extent *shape)
{
    const char *rows = near->dims[0].axis, *cols = near->dims[1].axis;
    if (near->rank != 2 || copy_by_rows(s) || !same_axis(rows, shape[1].axis) || !same_axis(cols, shape[0].axis) || same_axis(rows, cols))
        return;
    Diag *d = diag_add(c->late, TW0416, s->span, "the rows of '%s' run along '%s' and are stored along '%s'", s->name, rows, cols);
    diag_note(c->late, d, "a product's rows run along the dimension of its first operand's rows, its columns along that of the second's columns");
}

/* -inf, or another number below 0, of which exp makes little. */
static bool is_below_zero(const Expr *e)
{
    return e && ((e->kind == EXPR_UNARY && e->op == EO_NEG) || (e->kind == EXPR_FLOAT && e->f < 0) || (e->kind == EXPR_INT && e->i < 0));
}

/* What could not be copied counts as written, so that nothing more is said of it. */
static void spoil_tile(Checker *c, const Stmt *s)
{
    Named *t = s->to_space == SPACE_GLOBAL || s->to_space == SPACE_NONE ? NULL : names_find(c, copy_dest(s));
    if (t && t->places[s->to_space].exists)
        t->places[s->to_space].now.written = WRITTEN_YES;
}

void check_copy(Checker *c, const Stmt *s)
{
    Extent shape[TENSOR_MAX_RANK] = {{0}};
    const Aff *coords[TENSOR_MAX_RANK] = {NULL};
    int said = c->diags->list.len;
    if (!s->name) {
        diag_add(c->diags, TW0234, s->span, "a Copy names a tensor: Copy X from global to shared");
        return;
    }
    check_clauses(c, s);
    if (s->space == s->to_space) {
        diag_add(c->diags, TW0406, s->span, "a Copy goes from one memory space to another");
        return;
    }
    Named *t = copied_tensor(c, s), *dest = t ? dest_tensor(c, s, t) : NULL;
    Place *from = t ? source_place_of(c, s, t) : NULL,
          *to = from ? dest_place_of(c, s, dest, from) : NULL;
    if (!to) {
        check_stage(c, s, NULL);
        spoil_tile(c, s);
        return;
    }
    if (dest != t && from->space == SPACE_GLOBAL)
        dest->origin = from;
    read_source(c, s, t, from);
    Place *global = from->space == SPACE_GLOBAL ? from : to->space == SPACE_GLOBAL ? to : NULL;
    Place *near = global == to ? from : to;
    check_stage(c, s, near);
    int n = copy_shape(c, s, near, shape);
    if (global)
        take_axes(c, s, global, shape, n);
    Tile copied =
        n == 0 && c->loose ? (Tile){shape[0], shape[1], .unknown = true} : shape_tile(c, shape, n);
    if (global && n > 0)
        lie_as_allocated(near, &copied);
    if (n > 0)
        check_shape(c, s, &copied, near);
    dtype_copy(c, s, from, to);
    int n_coords = global ? check_coords(c, s, global, shape, n, coords) : 0;
    if (global && n == 2 && n_coords >= 2 && n_coords == global->rank) {
        copied.rows.first = copy_by_rows(s) ? NULL : begin_of(c, coords[n_coords - 2], shape[0]);
        copied.cols.first = begin_of(c, coords[n_coords - 1], shape[1]);
    }
    if (global && n == 0) {
        copied.rows.first = begin_along(c, copied.rows.axis);
        copied.cols.first = begin_along(c, copied.cols.axis);
    }
    if (global == from)
        learn_place(c, dest, near, &copied);
    if (global == to && n == 2)
        check_turned(c, s, near, shape);
    if (global == to)
        output_store(c, s, dest, coords, n_coords);
    if (global && c->diags->list.len == said && !copy_by_rows(s))
        cover_copy(c, s, global, shape, n, coords, n_coords);
    bool masked = global ? s->where && is_below_zero(s->otherwise) && mask_leaves_out(c, s->where, &copied) : from->now.masked;
    write_dest(c, s, dest, from, to);
    to->now.masked |= masked;
}
