/* propose_alike.c: Kernels that give something else than the Operator beside them for one thing that they say in several places, as
 * of keys and of values. Each change is made in all of these, and executed beside the definition before it is suggested (vary.h).
 *
 *   Copy KC as K in coordinate [pages = Table[j, b]]       Copy KC as K in coordinate [pages = Table[b, j]]
 *   Copy VC as V in coordinate [pages = Table[j, b]]       Copy VC as V in coordinate [pages = Table[b, j]]
 *
 *   n = Len[h]                                             n = Len[b]
 *
 *   ... [pages = j, heads = h]                             ... [pages = Table[b, j], heads = h]      of what nothing reads
 *
 * An element has a coordinate for each dimension of its tensor; which one, other Copies say, that name the dimension. */
#include "suggest/vary.h"

static const char LABEL[] = "wherever it is said, so that it is what the Operator says";

typedef struct Site {
    const Expr *e;
    const char *text;
    const char *tile; /* that its statement brings, or makes; NULL: none */
} Site;

typedef struct Alike {
    Vary *v;
    Cuts *cuts;
    VEC(Site) elements; /* of Inputs */
    VEC(Site) coords;   /* names that are coordinates of Copies */
    const char *tile;   /* of the statement at hand; NULL: it has none */
} Alike;

/* ---- what is said ------------------------------------------------------------------------------ */

static const Stmt *tensor_of(const Alike *a, const Expr *e)
{
    const Stmt *tensor = e->kind == EXPR_INDEX && e->a->kind == EXPR_NAME ? block_find(&a->v->kernel->body, STMT_INPUT, e->a->name) : NULL;

    return tensor && tensor->n_shape == e->n_args ? tensor : NULL;
}

static bool note_element(const void *user, const Expr *e)
{
    Alike *a = *(Alike *const *)user;

    if (tensor_of(a, e))
        vec_push(a->v->s->arena, &a->elements, ((Site){e, suggest_expr(a->v->s, e), a->tile}));
    return false;
}

static void note_sites(Alike *a, const Stmt *s)
{
    const Expr *said[] = {s->value, s->where, s->lo, s->hi};

    a->tile = s->kind == STMT_COPY ? copy_tile(s) : s->kind != STMT_COMPUTE ? NULL : s->dest ? vary_result(s) : s->n_args ? expr_base_name(s->args[0]) : NULL;
    for (int i = 0; s->kind == STMT_COPY && i < s->n_coords; i++) {
        const Expr *e = s->coords[i].value;

        if (e && e->kind == EXPR_NAME && s->coords[i].name)
            vec_push(a->v->s->arena, &a->coords, ((Site){e, arena_printf(a->v->s->arena, "%s = %s", s->coords[i].name, e->name), NULL}));
        expr_any(e, note_element, &a);
    }
    for (size_t i = 0; i < TW_COUNT(said); i++)
        expr_any(said[i], note_element, &a);
}

/* ---- said otherwise ---------------------------------------------------------------------------- */

/* In all places that say the same as the first. */
static bool try_all(Alike *a, const Site *sites, int n, int first, const char *text)
{
    Fix *edits = arena_array(a->v->s->arena, Fix, n);
    int count = 0;

    for (int i = first; i < n; i++)
        if (strcmp(sites[i].text, sites[first].text) == 0)
            edits[count++] = (Fix){sites[i].e->span, text, NULL};
    return suggest_edits(a->v->s, edits, count, LABEL);
}

static const char *coordinate_along(const Cuts *cuts, const Expr *dim)
{
    for (int i = 0; dim->kind == EXPR_NAME && i < cuts->list.len; i++)
        if (strcmp(cuts->list.data[i].dim, dim->name) == 0)
            return cuts->list.data[i].coord;
    return NULL;
}

/* Of tiles that a counter counts, each row's own place: `m * BM + row(A)`; NULL: they are of one, or it is not known. */
static const char *row_along(Suggester *s, const Cuts *cuts, const Expr *dim, const char *tile)
{
    for (int i = 0; tile && dim->kind == EXPR_NAME && i < cuts->list.len; i++) {
        const Cut *cut = &cuts->list.data[i];

        if (cut->coord && cut->size && strcmp(cut->dim, dim->name) == 0 && strcmp(cut->size, "1") != 0)
            return arena_printf(s->arena, "%s * %s + row(%s)", cut->coord, cut->size, tile);
    }
    return NULL;
}

static const char *with_coordinates(const Suggester *s, const char *name, const char *const *coords, int n)
{
    Str text = str_new(s->arena);

    str_printf(&text, "%s[", name);
    for (int i = 0; i < n; i++)
        str_printf(&text, "%s%s", i ? ", " : "", coords[i]);
    str_add(&text, "]");
    return str_text(&text);
}

static bool try_element(Alike *a, int site)
{
    Suggester *s = a->v->s;
    const Expr *e = a->elements.data[site].e;
    const Stmt *tensor = tensor_of(a, e);
    int n = e->n_args;
    const char **own = arena_array(s->arena, const char *, n + 1), **coords = arena_array(s->arena, const char *, n + 1);

    for (int i = 0; i < n; i++)
        own[i] = suggest_expr(s, e->args[i]);
    for (int i = 0; i < n; i++)
        coords[i] = own[n - 1 - i];
    if (n > 1 && try_all(a, a->elements.data, a->elements.len, site, with_coordinates(a->v->s, tensor->name, coords, n)))
        return true;
    for (int i = 0; i < n; i++) {
        const char *along = coordinate_along(a->cuts, tensor->shape[i]);

        const char *row = row_along(s, a->cuts, tensor->shape[i], a->elements.data[site].tile);

        memcpy(coords, own, (size_t)n * sizeof *own);
        coords[i] = along ? along : own[i];
        if (strcmp(coords[i], own[i]) != 0 && try_all(a, a->elements.data, a->elements.len, site, with_coordinates(a->v->s, tensor->name, coords, n)))
            return true;
        coords[i] = row ? row : own[i];
        if (row && try_all(a, a->elements.data, a->elements.len, site, with_coordinates(a->v->s, tensor->name, coords, n)))
            return true;
    }
    return false;
}

static bool brings(const Stmt *s, const char *tensor)
{
    return s->kind == STMT_COPY && s->space == SPACE_GLOBAL && strcmp(s->name, tensor) == 0;
}

/* An Input of integers that nothing reads. */
static bool is_unread(const Alike *a, const Stmt *tensor)
{
    bool read = false;

    if (tensor->kind != STMT_INPUT || !tensor->has_dtype || dtype_is_float(tensor->dtype))
        return false;
    for (int i = 0; i < a->elements.len; i++)
        read |= strcmp(a->elements.data[i].e->a->name, tensor->name) == 0;
    for (int i = 0; i < a->v->all.len; i++)
        read |= brings(a->v->all.data[i], tensor->name);
    return !read;
}

/* An element of it for a coordinate that is its own: along dimensions that other Copies name, theirs. */
static bool try_unread(Alike *a, int site, const Stmt *tensor)
{
    const char **coords = arena_array(a->v->s->arena, const char *, tensor->n_shape + 1);
    int open = 0;

    for (int i = 0; i < tensor->n_shape; i++) {
        coords[i] = coordinate_along(a->cuts, tensor->shape[i]);
        open += !coords[i];
        coords[i] = coords[i] ? coords[i] : a->coords.data[site].e->name;
    }
    return open == 1 && try_all(a, a->coords.data, a->coords.len, site, with_coordinates(a->v->s, tensor->name, coords, tensor->n_shape));
}

/* A tensor that no Copy brings, in place of another that has its dimensions and that is called otherwise where it goes. */
static bool try_other_tensor(Vary *v, const Stmt *tensor)
{
    bool copied = tensor->kind != STMT_INPUT;

    for (int i = 0; i < v->all.len && !copied; i++)
        copied = brings(v->all.data[i], tensor->name);
    for (int i = 0; i < v->all.len && !copied; i++) {
        const Stmt *copy = v->all.data[i], *own = copy->kind == STMT_COPY && copy->as && copy->space == SPACE_GLOBAL ? unit_tensor(v->kernel, copy->name) : NULL;
        bool alike = own && own != tensor && own->n_shape == tensor->n_shape;

        for (int d = 0; alike && d < own->n_shape; d++)
            alike = expr_equal(own->shape[d], tensor->shape[d]);
        if (alike && !copy->listed && suggest_edit(v->s, copy->name_span, tensor->name, "of which nothing is copied"))
            return true;
    }
    return false;
}

static bool is_first(const Site *sites, int site)
{
    int i = 0;

    while (strcmp(sites[i].text, sites[site].text) != 0)
        i++;
    return i == site;
}

static bool try_kernel(Vary *v)
{
    const Stmt *said = v->s->stmt;
    Alike a = {.v = v};
    bool found = false;

    v->s->stmt = NULL; /* all Copies count */
    Cuts cuts = cuts_of(v->s);
    v->s->stmt = said;
    a.cuts = &cuts;
    for (int i = 0; i < v->all.len; i++)
        note_sites(&a, v->all.data[i]);
    for (int i = 0; i < a.elements.len && !found; i++)
        found = is_first(a.elements.data, i) && try_element(&a, i);
    for (int t = 0; t < v->kernel->body.len && !found; t++)
        found = try_other_tensor(v, v->kernel->body.data[t]);
    for (int t = 0; t < v->kernel->body.len && !found; t++)
        for (int i = 0; is_unread(&a, v->kernel->body.data[t]) && i < a.coords.len && !found; i++)
            found = is_first(a.coords.data, i) && try_unread(&a, i, v->kernel->body.data[t]);
    return found;
}

bool propose_alike(Suggester *s)
{
    return vary_each(s, try_kernel);
}

/* A tile that another Copy brings of another tensor (TW0730). */
typedef struct OtherSource {
    const Stmt *copy, *other;
} OtherSource;

static void note_source(void *user, const Stmt *s)
{
    OtherSource *source = user;

    if (s->kind == STMT_COPY && s->space == SPACE_GLOBAL && strcmp(copy_tile(s), copy_tile(source->copy)) == 0 && strcmp(s->name, source->copy->name) != 0)
        source->other = s;
}

typedef struct Sources {
    Suggester *s;
    const char *tile;
    bool found;
} Sources;

static void try_source(void *user, const Stmt *copy)
{
    Sources *of = user;
    bool own = copy->kind == STMT_COPY && copy->space == SPACE_GLOBAL && copy->as && strcmp(copy_tile(copy), of->tile) == 0;
    OtherSource source = {.copy = copy};

    if (own && !of->found)
        suggest_each(&of->s->unit->body, note_source, &source);
    if (source.other)
        of->found = suggest_edit(of->s, copy->name_span, source.other->name, "as the other Copy of this tile");
}

bool propose_same_source(Suggester *s)
{
    Sources of = {s, NULL, false};

    for (int i = 0; s->unit && s->stmt && i < s->stmt->n_args && !of.found; i++) {
        of.tile = expr_base_name(s->stmt->args[i]);
        if (of.tile)
            suggest_each(&s->unit->body, try_source, &of);
    }
    return of.found;
}

/* A tensor of integers where one of them is meant, `n = Len`: that of the block, or of each row of the tile that is copied. */
bool propose_own_element(Suggester *s)
{
    const char *name = s->unit ? suggest_quoted(s, s->diag->span) : "";
    const Stmt *tensor = s->unit ? block_find(&s->unit->body, STMT_INPUT, name) : NULL;
    const char *tile = s->stmt && s->stmt->kind == STMT_COPY ? copy_tile(s->stmt) : NULL;

    if (!tensor || !tensor->has_dtype || dtype_is_float(tensor->dtype))
        return false;
    const Stmt *said = s->stmt;
    s->stmt = NULL; /* all Copies count */
    Cuts cuts = cuts_of(s);
    s->stmt = said;
    for (int rows = tile != NULL; rows >= 0; rows--) {
        const char **coords = arena_array(s->arena, const char *, tensor->n_shape + 1);
        bool all = true;

        for (int i = 0; i < tensor->n_shape; i++) {
            const char *row = rows ? row_along(s, &cuts, tensor->shape[i], tile) : NULL;

            coords[i] = row ? row : coordinate_along(&cuts, tensor->shape[i]);
            all &= coords[i] != NULL;
        }
        if (all && suggest_edit(s, s->diag->span, with_coordinates(s, name, coords, tensor->n_shape), "the one of these places"))
            return true;
    }
    return false;
}
