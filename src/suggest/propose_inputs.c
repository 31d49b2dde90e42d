/* propose_inputs.c: the tensors of a Kernel that declares none.
 *
 *   Allocate K in global (len, D) with offset (b * heads + h) * len * D
 *   Grid m = ceil(len / BM), h = heads, b = batch                          Input K (batch, heads, len, D)
 *
 *   Copy K (BN, D) in coordinate [b, h, j, 0] from global to shared        likewise, of `for j = 0:ceil(len / BN)`
 *
 * Where a block's part begins is a sum of coordinates, each times all the dimensions behind
 * its own: the one with the fewest factors is the innermost. How far the outermost goes the
 * grid says. Without an offset each coordinate of a Copy goes along a dimension: that of
 * which its grid or loop counts tiles.
 */
#include "suggest/cuts.h"

enum { MOST_FACTORS = 16, MOST_DIMS = 8 };

/* A product of names, numbers, and what is neither a sum nor a product. */
typedef struct Term {
    const Expr *factors[MOST_FACTORS];
    int n;
} Term;

typedef struct Terms {
    Term data[MOST_DIMS];
    int n;
} Terms;

typedef struct Shape {
    const char *dims[MOST_DIMS];
    int n;
} Shape;

typedef struct Declarer {
    Suggester *s;
    Cuts cuts;
    VEC(const Stmt *) flow; /* all Grids and loops */
    VEC(const Stmt *) copies; /* from and to global memory */
    bool by_coordinates; /* dimensions are called as coordinates call them */
} Declarer;

/* ---- what coordinates count ------------------------------------------------------------------ */

static void note_flow(void *user, const Stmt *stmt)
{
    Declarer *d = user;

    if (stmt->kind == STMT_GRID || stmt->kind == STMT_FOR)
        vec_push(d->s->arena, &d->flow, stmt);
    if (stmt->kind == STMT_COPY && (stmt->space == SPACE_GLOBAL || stmt->to_space == SPACE_GLOBAL) && copy_tensor(stmt))
        vec_push(d->s->arena, &d->copies, stmt);
}

/* How far a coordinate of the grid, or a loop's counter, goes; NULL: it is neither. */
static const Expr *extent_of(const Declarer *d, const Expr *e)
{
    static const char *const blocks[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

    for (int i = 0; e && i < d->flow.len; i++) {
        const Stmt *stmt = d->flow.data[i];

        if (stmt->kind == STMT_FOR && expr_is_name(e, stmt->name))
            return stmt->hi;
        for (int k = 0; stmt->kind == STMT_GRID && k < stmt->n_coords; k++)
            if (expr_is_name(e, stmt->coords[k].name) || (k < (int)TW_COUNT(blocks) && expr_is_name(e, blocks[k])))
                return stmt->coords[k].value;
    }
    return NULL;
}

static bool is_counted(const void *user, const Expr *e)
{
    return extent_of(user, e) != NULL;
}

/* Of `ceil(len / BM)` and `len / BM`, the quotient; NULL: it is none. */
static const Expr *quotient(const Expr *extent)
{
    if (extent && extent->kind == EXPR_CALL && extent->n_args == 1)
        extent = extent->args[0];
    return extent && extent->kind == EXPR_BINARY && (extent->op == EO_DIV || extent->op == EO_IDIV) ? extent : NULL;
}

/* Whether some grid or loop counts tiles of this size. */
static bool is_tile_size(const Declarer *d, const char *size)
{
    for (int i = 0; i < d->flow.len; i++) {
        const Stmt *stmt = d->flow.data[i];

        for (int k = -1; k < stmt->n_coords; k++) {
            const Expr *q = quotient(k < 0 ? stmt->hi : stmt->coords[k].value);
            if (q && strcmp(suggest_expr(d->s, q->b), size) == 0)
                return true;
        }
    }
    return false;
}

/* ---- from an offset ---------------------------------------------------------------------------- */

/* What stands for a coordinate, `h = blockIdx.y`: what it stands for. */
static const Expr *value_of(const Declarer *d, const Expr *e)
{
    const Stmt *stmt = e->kind == EXPR_NAME ? block_find(&d->s->unit->body, STMT_ASSIGN, e->name) : NULL;

    return stmt && stmt->value && expr_any(stmt->value, is_counted, d) ? stmt->value : NULL;
}

static bool add_factors(const Declarer *d, Terms *terms, const Expr *e, int depth);

/* Each term of one factor times each of the other. */
static bool multiply(const Declarer *d, Terms *terms, const Expr *a, const Expr *b, int depth)
{
    Terms left = {.n = 0}, right = {.n = 0};

    if (!add_factors(d, &left, a, depth) || !add_factors(d, &right, b, depth) || terms->n + left.n * right.n > MOST_DIMS)
        return false;
    for (int i = 0; i < left.n; i++)
        for (int k = 0; k < right.n; k++) {
            Term *term = &terms->data[terms->n++];

            *term = left.data[i];
            for (int f = 0; f < right.data[k].n; f++) {
                if (term->n == MOST_FACTORS)
                    return false;
                term->factors[term->n++] = right.data[k].factors[f];
            }
        }
    return true;
}

/* The terms that an expression is the sum of; false: too many. */
static bool add_factors(const Declarer *d, Terms *terms, const Expr *e, int depth)
{
    const Expr *value = value_of(d, e);

    if (depth > MOST_DIMS)
        return false;
    if (value)
        return add_factors(d, terms, value, depth + 1);
    if (e->kind == EXPR_BINARY && e->op == EO_ADD)
        return add_factors(d, terms, e->a, depth + 1) && add_factors(d, terms, e->b, depth + 1);
    if (e->kind == EXPR_BINARY && e->op == EO_MUL)
        return multiply(d, terms, e->a, e->b, depth + 1);
    if (terms->n == MOST_DIMS)
        return false;
    terms->data[terms->n++] = (Term){{e}, 1};
    return true;
}

/* Takes a factor out of a term; false: it has none such. */
static bool take(const Declarer *d, Term *term, const char *factor)
{
    for (int i = 0; i < term->n; i++)
        if (strcmp(suggest_expr(d->s, term->factors[i]), factor) == 0) {
            term->factors[i] = term->factors[--term->n];
            return true;
        }
    return false;
}

/* Takes the coordinate out of a term; NULL: it has none. */
static const Expr *take_coordinate(const Declarer *d, Term *term)
{
    for (int i = 0; i < term->n; i++)
        if (expr_any(term->factors[i], is_counted, d)) {
            const Expr *e = term->factors[i];
            term->factors[i] = term->factors[--term->n];
            return e;
        }
    return NULL;
}

static bool push_front(Shape *shape, const char *dim)
{
    if (shape->n == MOST_DIMS)
        return false;
    memmove(shape->dims + 1, shape->dims, sizeof shape->dims[0] * (size_t)shape->n);
    shape->dims[0] = dim;
    shape->n++;
    return true;
}

static Term *fewest(Terms *terms, int from)
{
    Term *best = &terms->data[from];

    for (int i = from + 1; i < terms->n; i++)
        if (terms->data[i].n < best->n)
            best = &terms->data[i];
    return best;
}

/* What lies before the dimensions that a block's part has, from the inside to the outside. */
static bool add_leading(const Declarer *d, Shape *shape, const Expr *offset)
{
    Terms terms = {.n = 0};
    const Expr *outer = NULL;

    if (!add_factors(d, &terms, offset, 0))
        return false;
    for (int i = 0; i < terms.n; i++) {
        Term *next = fewest(&terms, i), term = *next;

        *next = terms.data[i];
        for (int k = 0; k < shape->n; k++)
            if (!take(d, &term, shape->dims[k]))
                return false;
        outer = take_coordinate(d, &term);
        if (!outer || term.n != (i > 0) || (i > 0 && !push_front(shape, suggest_expr(d->s, term.factors[0]))))
            return false;
    }
    const Expr *extent = extent_of(d, outer);
    return extent && push_front(shape, suggest_expr(d->s, extent));
}

static bool shape_of_part(const Declarer *d, Shape *shape, const Stmt *part)
{
    for (int i = 0; i < part->n_shape && i < MOST_DIMS; i++)
        shape->dims[shape->n++] = suggest_expr(d->s, part->shape[i]);
    return shape->n > 0 && (!part->offset || (part->offset->kind == EXPR_INT && part->offset->i == 0) || add_leading(d, shape, part->offset));
}

/* ---- from a Copy ---------------------------------------------------------------------------------- */

/* The dimension that a coordinate counts tiles of, or entries; NULL: not known. */
static const char *counted_dim(const Declarer *d, const Coord *coord)
{
    const Expr *extent = extent_of(d, coord->value), *q = quotient(extent);

    if (d->by_coordinates && coord->name)
        return coord->name;
    return q ? suggest_expr(d->s, q->a) : extent ? suggest_expr(d->s, extent) : NULL;
}

/* The coordinate along which tiles have this size; NULL: none. */
static const Coord *coord_of_size(const Declarer *d, const Stmt *copy, int at, const char *size)
{
    if (copy->n_coords && !copy->coords[0].name)
        return at >= 0 && at < copy->n_coords ? &copy->coords[at] : NULL;
    for (int i = 0; i < copy->n_coords; i++) {
        const Expr *q = quotient(extent_of(d, copy->coords[i].value));
        if (q && strcmp(suggest_expr(d->s, q->b), size) == 0)
            return &copy->coords[i];
    }
    return NULL;
}

static bool shape_of_copy(const Declarer *d, Shape *shape, const Stmt *copy)
{
    const Stmt *tile = copy->n_shape ? copy : cuts_tile(&d->cuts, copy_tile(copy), copy->space == SPACE_GLOBAL ? copy->to_space : copy->space);
    bool used[MOST_DIMS] = {false};

    if (!tile || tile->n_shape > MOST_DIMS || copy->n_coords > MOST_DIMS)
        return false;
    for (int i = tile->n_shape - 1; i >= 0; i--) {
        const char *size = suggest_expr(d->s, tile->shape[i]);
        const Coord *coord = coord_of_size(d, copy, copy->n_coords - tile->n_shape + i, size);
        const char *dim = coord && coord->value->kind != EXPR_INT ? counted_dim(d, coord) : size;

        if (!dim || (dim == size && is_tile_size(d, size)) || !push_front(shape, dim))
            return false;
        if (coord)
            used[coord - copy->coords] = true;
    }
    for (int i = copy->n_coords - 1; i >= 0; i--) {
        const char *dim = used[i] ? "" : counted_dim(d, &copy->coords[i]);
        if (!dim || (!used[i] && !push_front(shape, dim)))
            return false;
    }
    return true;
}

/* ---- declarations ------------------------------------------------------------------------------------ */

static bool shape_of(const Declarer *d, Shape *shape, const char *name)
{
    const Stmt *part = cuts_tile(&d->cuts, name, SPACE_GLOBAL);

    *shape = (Shape){.n = 0};
    if (part)
        return shape_of_part(d, shape, part);
    for (int i = 0; i < d->copies.len; i++) {
        *shape = (Shape){.n = 0};
        if (strcmp(copy_tensor(d->copies.data[i]), name) == 0 && shape_of_copy(d, shape, d->copies.data[i]))
            return true;
    }
    return false;
}

static bool is_written(const Declarer *d, const char *name)
{
    bool written = false;

    for (int i = 0; i < d->copies.len; i++)
        written |= d->copies.data[i]->to_space == SPACE_GLOBAL && strcmp(copy_tensor(d->copies.data[i]), name) == 0;
    return written;
}

static bool is_first(const Declarer *d, int at)
{
    for (int i = 0; i < at; i++)
        if (strcmp(copy_tensor(d->copies.data[i]), copy_tensor(d->copies.data[at])) == 0)
            return false;
    return true;
}

static bool try_declarations(Declarer *d)
{
    Suggester *s = d->s;
    int line = suggest_line_end(s, s->unit->name_span.end) + 1;
    const char *indent = suggest_indent(s, s->unit->body.data[0]->span.start);
    Str text = str_new(s->arena);

    for (int i = 0; i < d->copies.len; i++) {
        const char *name = copy_tensor(d->copies.data[i]);
        Shape shape;

        if (!is_first(d, i))
            continue;
        if (!shape_of(d, &shape, name))
            return false;
        str_printf(&text, "%s%s %s (", indent, is_written(d, name) ? "Output" : "Input ", name);
        for (int k = 0; k < shape.n; k++)
            str_printf(&text, "%s%s", k ? ", " : "", shape.dims[k]);
        str_add(&text, ")\n");
    }
    return suggest_edit(s, (Span){line, line}, str_text(&text), "what is copied, with the sizes that its coordinates ask for");
}

bool propose_declarations(Suggester *s)
{
    Declarer d = {.s = s};

    if (!s->unit || !s->unit->body.len)
        return false;
    d.cuts = cuts_of(s);
    suggest_each(&s->unit->body, note_flow, &d);
    if (!d.copies.len || try_declarations(&d))
        return d.copies.len > 0;
    d.by_coordinates = true;
    return try_declarations(&d);
}
