/* place.c: where in global memory a tile lies.
 *
 * A tensor is declared whole, `Input Q (batch, heads, len, D)`; a program may
 * then say which part of it a block works on:
 *
 *   Allocate Q in global (len, D) with offset (b * heads + h) * len * D
 *
 * The offset counts elements of the tensor row after row, so it is a coordinate
 * along each of its dimensions (b, h, 0, 0): the part is a view of the tensor's
 * last dimensions, and whatever strides a launch gives, they hold. What lies
 * outside of the part counts as outside of the tensor.
 */
#include "lower/state.h"

/* ---- offsets to coordinates ------------------------------------------------------------ */

typedef VEC(const Aff *) Terms;

static void find_terms(Lower *lo, const Aff *e, Terms *terms)
{
    if (e->kind != AFF_ADD) {
        vec_push(lo->arena, terms, e);
        return;
    }
    find_terms(lo, e->a, terms);
    find_terms(lo, e->b, terms);
}

/* term / size where that is proved to be whole; else NULL. */
static const Aff *whole_quotient(Lower *lo, const Aff *term, const Aff *size)
{
    AffCtx *aff = lo->program->aff;
    const Aff *coef, *rest;
    int64_t n, zero;
    if (aff_is_const(term, &zero) && zero == 0) return term;
    if (size->kind == AFF_SYM && aff_linear(aff, term, size->sym, &coef, &rest)
        && aff_is_const(rest, &zero) && zero == 0)
        return coef;
    if (aff_is_const(size, &n) && n > 0 && aff_is_const(aff_mod(aff, term, size), &zero) && zero == 0)
        return aff_div(aff, term, size);
    return NULL;
}

/* Whether 0 <= e < size: proved, or e is the block's own along an axis of that size. */
static bool is_below(Lower *lo, const Aff *e, const Aff *size)
{
    AffCtx *aff = lo->program->aff;
    for (int i = 0; i < lo->kernel->grid.len; i++)
        if (e == aff_of(aff, lo->kernel->grid.data[i].sym) && lo->kernel->grid.data[i].extent == size) return true;
    return aff_always(aff, aff_le(aff, aff_const(aff, 0), e)) && aff_always(aff, aff_lt(aff, e, size));
}

/* e = quotient * size + rest, 0 <= rest < size */
static void split(Lower *lo, const Aff *e, const Aff *size, const Aff **quotient, const Aff **rest)
{
    AffCtx *aff = lo->program->aff;
    Terms terms = {0};
    int64_t zero;
    *quotient = *rest = aff_const(aff, 0);
    find_terms(lo, e, &terms);
    for (int i = 0; i < terms.len; i++) {
        const Aff *q = whole_quotient(lo, terms.data[i], size);
        if (q) *quotient = aff_add(aff, *quotient, q);
        else *rest = aff_add(aff, *rest, terms.data[i]);
    }
    if ((aff_is_const(*rest, &zero) && zero == 0) || is_below(lo, *rest, size)) return;
    *quotient = aff_add(aff, *quotient, aff_div(aff, *rest, size));
    *rest = aff_mod(aff, *rest, size);
}

static void find_corner(Lower *lo, View *v, const Aff *offset)
{
    for (int k = v->tensor->rank - 1; k > 0; k--) split(lo, offset, v->tensor->dims[k], &offset, &v->corner[k]);
    v->corner[0] = offset;
}

/* ---- views ------------------------------------------------------------------------------- */

static View whole_tensor(Lower *lo, TileTensor *t)
{
    View v = {.tensor = t, .rank = t->rank};
    for (int d = 0; d < t->rank; d++) {
        v.dim[d] = d;
        v.dims[d] = t->dims[d];
        v.names[d] = t->dim_names[d];
        v.corner[d] = aff_const(lo->program->aff, 0);
    }
    return v;
}

static const char *shape_text(Lower *lo, const TileTensor *t)
{
    Str text = str_new(lo->arena);
    for (int d = 0; d < t->rank; d++)
        str_printf(&text, "%s%s", d ? ", " : "(", t->dim_names[d] ? t->dim_names[d] : aff_text(lo->arena, t->dims[d]));
    str_addc(&text, ')');
    return str_text(&text);
}

static bool is_one(const Aff *e)
{
    int64_t n;
    return aff_is_const(e, &n) && n == 1;
}

static bool bad_part(Lower *lo, const Stmt *s, Span span, const View *v, const char *what)
{
    lo_fail(lo, TW0728, span, "'%s' is declared as %s: %s", s->name, shape_text(lo, v->tensor), what);
    return false;
}

/* The part's dimensions are the tensor's last ones, those of size 1 aside. All
 * but the first have the tensor's own sizes. */
static bool match_dims(Lower *lo, const Stmt *s, View *v)
{
    const TileTensor *t = v->tensor;
    int k = t->rank - 1;
    for (int d = v->rank - 1; d >= 0; d--, k--) {
        while (k > d && is_one(t->dims[k]) && !is_one(v->dims[d])) k--;
        if (k < d) return bad_part(lo, s, s->span, v, "its part has too many dimensions");
        v->dim[d] = k;
        if (!v->names[d]) v->names[d] = t->dim_names[k];
        bool larger = aff_always(lo->program->aff, aff_lt(lo->program->aff, t->dims[k], v->dims[d]));
        if (d > 0 ? v->dims[d] != t->dims[k] : larger)
            return bad_part(lo, s, s->shape[d]->span, v, "its part does not have this size along its last dimensions");
    }
    return true;
}

static bool part_of_tensor(Lower *lo, const Stmt *s, TileTensor *t, View *v)
{
    *v = (View){.tensor = t, .rank = s->n_shape};
    if (s->n_shape < 1 || s->n_shape > t->rank)
        return bad_part(lo, s, s->span, v, "its part has too many dimensions, or none");
    const Aff *offset = s->offset ? eval_aff(&lo->env, s->offset, lo->diags) : aff_const(lo->program->aff, 0);
    lo->failed |= !offset;
    for (int d = 0; d < v->rank && offset; d++) {
        v->dims[d] = eval_aff(&lo->env, s->shape[d], lo->diags);
        v->names[d] = s->shape[d]->kind == EXPR_NAME ? s->shape[d]->name : NULL;
        if (!v->dims[d]) offset = NULL;
    }
    lo->failed |= !offset;
    if (!offset || !match_dims(lo, s, v)) return false;
    find_corner(lo, v, offset);
    return true;
}

static bool find_view(Lower *lo, const Stmt *copy, View *v)
{
    const char *name = copy_tensor(copy);
    TileTensor *t = tile_tensor(lo->program, name);
    if (!t) {
        lo_fail(lo, TW0723, copy->span, "'%s' is no Input or Output", name);
        return false;
    }
    for (int i = 0; i < lo->views.len; i++)
        if (strcmp(lo->views.data[i]->name, name) == 0) return part_of_tensor(lo, lo->views.data[i], t, v);
    *v = whole_tensor(lo, t);
    return true;
}

/* ---- tiles within a view --------------------------------------------------------------------- */

/* The tile spans the view's last dimensions; the others one element each. */
static bool span_tile(Lower *lo, const Stmt *s, int n, const int *extents, Place *p)
{
    int rank = p->view.rank;
    if (n > rank) {
        lo_fail(lo, TW0325, s->span, "a tile of %d dimensions does not fit '%s', which has %d", n, copy_tensor(s), rank);
        return false;
    }
    p->row_dim = p->col_dim = -1;
    for (int d = 0; d < rank; d++) p->extents[d] = d < rank - n ? 1 : extents[d - (rank - n)];
    for (int d = rank - n; d < rank; d++) {
        if (p->extents[d] == 1 && n > 2) continue;
        if (n == 1 || (d == rank - 1 && p->col_dim < 0)) p->col_dim = d;
        else if (p->row_dim < 0) p->row_dim = d;
        else if (p->col_dim < 0) p->col_dim = d;
        else {
            lo_fail(lo, TW0325, s->span, "at most two dimensions of a tile may be longer than 1");
            return false;
        }
    }
    p->rows = p->row_dim < 0 ? 1 : p->extents[p->row_dim];
    p->cols = p->col_dim < 0 ? 1 : p->extents[p->col_dim];
    return true;
}

/* Whether positions along a dimension of the view may be asked for. */
static bool has_positions(const Lower *lo, const View *v, int d)
{
    for (int i = 0; i < lo->indices.len; i++)
        if (v->names[d] && strcmp(lo->indices.data[i]->over, v->names[d]) == 0) return true;
    return false;
}

/* Where coordinates say of each row where it lies, they count elements along all dimensions but the columns'. */
static void find_rows(const Stmt *s, Place *p)
{
    p->by_rows = p->row_dim >= 0 && copy_by_rows(s);
    if (!p->by_rows) return;
    p->extents[p->row_dim] = 1;
    p->row_dim = -1;
}

/* A coordinate counts tiles along the dimensions that the tile spans. */
static bool set_coord(Lower *lo, const Stmt *s, const Coord *c, int d, Place *p)
{
    Frame frame = {.extent = {p->rows, p->cols}};
    lo->bringing = s->space == SPACE_GLOBAL && (p->extents[d] == 1 || !has_positions(lo, &p->view, d));
    if (p->by_rows) lo_enter_frame(lo, &frame, c->value);
    const Aff *e = eval_aff(&lo->env, c->value, lo->diags);
    if (p->by_rows) lo_leave_frame(lo);
    lo->bringing = false;
    if (!e) {
        lo->failed = true;
        return false;
    }
    p->coords[d] = aff_scale(lo->program->aff, e, p->extents[d]);
    return true;
}

static int find_dim(const View *v, const char *name)
{
    for (int d = 0; d < v->rank; d++)
        if (v->names[d] && strcmp(v->names[d], name) == 0) return d;
    return -1;
}

/* The first dimension that neither a coordinate before this one nor a name takes. */
static int free_dim(const Stmt *s, const View *v, const bool *taken)
{
    for (int d = 0; d < v->rank; d++) {
        bool named = taken[d];
        for (int i = 0; i < s->n_coords; i++) named |= s->coords[i].name && find_dim(v, s->coords[i].name) == d;
        if (!named) return d;
    }
    return -1;
}

/* Names that no dimension has, as in the paper's [L = i], take what is left. Without
 * names, as many as the tile has dimensions are of those, more are of the first ones. */
static int dim_of_coord(const Stmt *s, int i, int n, const View *v, const bool *taken)
{
    const Coord *c = &s->coords[i];
    int d = c->name ? find_dim(v, c->name) : s->n_coords > n ? i : v->rank - n + i;
    if (d >= 0 || !c->name) return d;
    return s->n_coords == 1 ? v->rank - n : free_dim(s, v, taken);
}

static bool set_coords(Lower *lo, const Stmt *s, int n, Place *p)
{
    bool taken[TENSOR_MAX_RANK] = {false};
    for (int d = 0; d < p->view.rank; d++) p->coords[d] = aff_const(lo->program->aff, 0);
    for (int i = 0; i < s->n_coords; i++) {
        const Coord *c = &s->coords[i];
        int d = dim_of_coord(s, i, n, &p->view, taken);
        if (d < 0 || d >= p->view.rank || taken[d]) {
            if (c->name) lo_fail(lo, TW0411, c->span, "'%s' is no dimension of '%s'", c->name, copy_tensor(s));
            else lo_fail(lo, TW0327, c->span, "'%s' has no dimension for this coordinate: write DIM = before each",
                         copy_tensor(s));
            return false;
        }
        taken[d] = true;
        if (!set_coord(lo, s, c, d, p)) return false;
    }
    return true;
}

/* A vector lies as it was allocated: down the rows or along them. */
static void orient(const TileType *allocated, Place *p)
{
    if (!allocated || p->by_rows) return;
    bool stands = p->rows == 1 && allocated->cols == 1 && allocated->rows > 1;
    bool lies = p->cols == 1 && allocated->rows == 1 && allocated->cols > 1;
    if (!stands && !lies) return;
    int dim = stands ? p->col_dim : p->row_dim, n = stands ? p->cols : p->rows;
    p->row_dim = stands ? dim : -1;
    p->col_dim = stands ? -1 : dim;
    p->rows = stands ? n : 1;
    p->cols = stands ? 1 : n;
}

/* The shape that the statement leaves to the allocation. */
static int allocated_shape(const TileType *allocated, int rank, int *extents)
{
    bool vector = rank == 1 || allocated->rows == 1;
    extents[0] = allocated->rows;
    extents[1] = allocated->cols;
    if (vector && allocated->rows == 1) extents[0] = allocated->cols;
    return vector ? 1 : 2;
}

bool lo_place(Lower *lo, const Stmt *s, const TileType *allocated, Place *p)
{
    int extents[TENSOR_MAX_RANK] = {0}, n = 0;
    if (!find_view(lo, s, &p->view)) return false;
    if (s->n_shape > 0) {
        if (!lo_shape(lo, s->shape, s->n_shape, extents)) return false;
        n = s->n_shape;
    } else if (allocated) {
        n = allocated_shape(allocated, p->view.rank, extents);
    }
    if (!span_tile(lo, s, n, extents, p)) return false;
    find_rows(s, p);
    if (!set_coords(lo, s, n, p)) return false;
    orient(allocated, p);
    return true;
}

Axis lo_place_axis(const Place *p, int d)
{
    return d < 0 ? (Axis){0} : (Axis){p->view.names[d], p->coords[d]};
}

/* ---- what is inside ------------------------------------------------------------------------ */

/* Position, within the view, of the element at hand along dimension d. */
static const Aff *position(Lower *lo, const Place *p, int d)
{
    AffCtx *aff = lo->program->aff;
    const AffSym *sym = d == p->row_dim ? lo->program->row : d == p->col_dim ? lo->program->col : NULL;
    return sym && p->extents[d] > 1 ? aff_add(aff, p->coords[d], aff_of(aff, sym)) : p->coords[d];
}

/* Inside of the view, as far as the tensor's own bounds do not see to it. */
static const Aff *inside_view(Lower *lo, const Place *p, int d)
{
    AffCtx *aff = lo->program->aff;
    const View *v = &p->view;
    const Aff *at = position(lo, p, d), *corner = v->corner[v->dim[d]], *inside = aff_const(aff, 1);
    const Aff *low = aff_le(aff, aff_const(aff, 0), at);
    int64_t zero;
    if (!aff_is_const(corner, &zero) || zero != 0) inside = aff_always(aff, low) ? inside : low;
    if (aff_add(aff, corner, v->dims[d]) != v->tensor->dims[v->dim[d]])
        inside = aff_and(aff, inside, aff_lt(aff, at, v->dims[d]));
    return inside;
}

/* Rows that follow one another are a tile like others. */
static void join_rows(Lower *lo, TileOp *op, int rows)
{
    TileStrip strip;
    if (op->where || !tile_strips(lo->program, op, rows, &strip) || strip.rows != rows) return;
    for (int d = 0; d < op->tensor->rank; d++)
        op->coords[d] = tile_row_coord(lo->program, op, d, aff_const(lo->program->aff, 0));
    op->row_dim = strip.dim;
}

void lo_place_set(Lower *lo, TileOp *op, const Place *p, const Aff *where)
{
    AffCtx *aff = lo->program->aff;
    const View *v = &p->view;
    const Aff *inside = where ? where : aff_const(aff, 1);
    int64_t known;
    op->tensor = v->tensor;
    op->row_dim = p->row_dim < 0 ? -1 : v->dim[p->row_dim];
    op->col_dim = p->col_dim < 0 ? -1 : v->dim[p->col_dim];
    op->coords = arena_array(lo->arena, const Aff *, v->tensor->rank);
    for (int k = 0; k < v->tensor->rank; k++) op->coords[k] = v->corner[k];
    for (int d = 0; d < v->rank; d++) op->coords[v->dim[d]] = aff_add(aff, v->corner[v->dim[d]], p->coords[d]);
    for (int d = 0; d < v->rank; d++) inside = aff_and(aff, inside, inside_view(lo, p, d));
    op->where = aff_is_const(inside, &known) && known ? NULL : inside;
    if (p->by_rows) join_rows(lo, op, p->rows);
}

/* cond follows from position < size along a dimension of the view: both are
 * `0 <= ...`, and the one's right side is never smaller than the other's. */
static bool is_implied(Lower *lo, const Place *p, const Aff *cond)
{
    AffCtx *aff = lo->program->aff;
    if (cond->kind != AFF_LE) return false;
    for (int d = 0; d < p->view.rank; d++) {
        const Aff *at = position(lo, p, d), *slack = aff_sub(aff, aff_offset(aff, p->view.dims[d], -1), at);
        const Aff *more = aff_sub(aff, aff_sub(aff, cond->b, cond->a), slack);
        if (aff_always(aff, aff_le(aff, aff_const(aff, 0), more))) return true;
    }
    return false;
}

const Aff *lo_place_drop_implied(Lower *lo, const Place *p, const Aff *cond)
{
    AffCtx *aff = lo->program->aff;
    if (cond->kind == AFF_AND)
        return aff_and(aff, lo_place_drop_implied(lo, p, cond->a), lo_place_drop_implied(lo, p, cond->b));
    return is_implied(lo, p, cond) ? aff_const(aff, 1) : cond;
}
