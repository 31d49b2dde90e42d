/* propose_masked.c: Kernels that give something else than the Operator beside them for want of a condition on elements.
 * Each change is executed beside the definition before it is suggested (vary.h).
 *
 *   Operator                                     Kernel
 *     Index q over q_len from kv_len - q_len       Compute Mask S where j * BN + col(S) <= m * BM + row(S) + (kv_len - q_len)
 *     Index k over kv_len                          Compute Softmax S with M and L
 *     Compute Mask S where k <= q
 *
 *     Compute Mask S where col < Len[batch]        Compute Mask S where j * page + col(S) < Len[b]      of pages that a table says
 *
 *     Compute RowSum X and get s                   Compute Mask X where c * BN + col(X) < N else 0
 *                                                  Compute RowSum X and accumulate s
 */
#include "suggest/forms.h"
#include "suggest/vary.h"

typedef struct Masking {
    Vary *v;
    Cuts *cuts;
    VEC(Cut) along; /* these, and the same dimensions cut by other counters, as rows and columns of self-attention are */
    const char *tile;
    const Cut *row, *col; /* along which dimensions it lies; NULL: it is not known */
    const Stmt *at;       /* the statement that reads it */
    bool turned;          /* of two positions along the dimension of both, the first is the columns' */
    bool lost;            /* a place has no coordinate here */
} Masking;

/* ---- places ------------------------------------------------------------------------------------- */

static const char *tile_begin(const Masking *m, const Cut *cut)
{
    bool simple = cut->coord[strspn(cut->coord, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';

    return arena_printf(m->v->s->arena, simple ? "%s * %s" : "(%s) * %s", cut->coord, cut->size);
}

/* `j * BN + col(S)` */
static const char *place(const Masking *m, const Cut *cut, const char *side)
{
    return arena_printf(m->v->s->arena, "%s + %s(%s)", tile_begin(m, cut), side, m->tile);
}

static const Cut *find_cut(const Masking *m, const char *dim)
{
    for (int i = 0; i < m->cuts->list.len; i++)
        if (strcmp(m->cuts->list.data[i].dim, dim) == 0)
            return &m->cuts->list.data[i];
    return NULL;
}

static bool lies_along(const Cut *cut, const char *dim)
{
    return cut && strcmp(cut->dim, dim) == 0;
}

/* Of positions along one dimension the first is that of the rows, the second of the columns; a single one is either. */
typedef enum Side { EITHER, ROWS, COLUMNS } Side;

static Side side_of(const Masking *m, const Stmt *index)
{
    const Block *body = &m->v->definition->body;
    int before = 0, all = 0;

    for (int i = 0; i < body->len; i++) {
        bool same = body->data[i]->kind == STMT_INDEX && strcmp(body->data[i]->over, index->over) == 0;

        all += same;
        before += same && body->data[i]->span.start < index->span.start;
    }
    return all < 2 ? EITHER : (before > 0) == m->turned ? ROWS : COLUMNS;
}

/* A position of the definition's, where the elements of the tile lie. */
static Expr *placed(void *user, const char *name)
{
    Masking *m = user;
    Arena *arena = m->v->s->arena;
    const Stmt *index = block_find(&m->v->definition->body, STMT_INDEX, name);
    const char *from = index && index->value ? arena_printf(arena, " + (%s)", suggest_expr(m->v->s, index->value)) : "", *text = NULL;
    const Cut *cut = index && index->over ? find_cut(m, index->over) : NULL;

    if (!index && strcmp(name, "row") != 0 && strcmp(name, "col") != 0) { /* a leading dimension is its place, as in `Seg[batch, q]` */
        const Cut *lead = find_cut(m, name);
        return lead && lead->coord && (!lead->size || strcmp(lead->size, "1") == 0) ? formula_expr(m->v->s, lead->coord) : NULL;
    }
    if (index ? side_of(m, index) != COLUMNS && lies_along(m->row, index->over) : *name == 'r' && m->row)
        text = place(m, m->row, "row");
    else if (index ? side_of(m, index) != ROWS && lies_along(m->col, index->over) : *name == 'c' && m->col)
        text = place(m, m->col, "col");
    else if (cut && cut->coord && (!cut->size || strcmp(cut->size, "1") == 0))
        text = cut->coord; /* of the block */
    m->lost |= !text;
    return text ? formula_expr(m->v->s, arena_printf(arena, "%s%s", text, from)) : NULL;
}

/* ---- conditions ----------------------------------------------------------------------------------- */

/* In place of what a Mask says, or in front of a statement that reads the tile. */
static bool try_mask(Masking *m, const char *where, const char *otherwise, const char *label)
{
    Suggester *s = m->v->s;
    bool says = m->at->kind == STMT_COMPUTE && m->at->op_known && m->at->op == OP_MASK && m->at->where;

    if (says)
        return suggest_edit(s, m->at->where->span, where, label);
    const char *text = arena_printf(s->arena, "%sCompute Mask %s where %s%s%s\n", suggest_indent(s, m->at->span.start), m->tile, where, otherwise ? " else " : "", otherwise ? otherwise : "");

    return suggest_edit(s, suggest_before(s, m->at), text, label);
}

static const char *end_of(const Masking *m, const Cut *cut, const char *side)
{
    return arena_printf(m->v->s->arena, "%s < %s", place(m, cut, side), cut->dim);
}

/* The definition's condition, alone, and with the end of what the tile's rows reach over. */
static bool try_condition(Masking *m, const Stmt *mask)
{
    Suggester *s = m->v->s;
    bool code = m->row || m->col;
    static const char label[] = "without what the Operator leaves out";
    const char *where, *otherwise = mask->otherwise ? suggest_expr(s, mask->otherwise) : NULL;

    m->lost = false;
    where = suggest_expr(s, code ? expr_subst(s->arena, mask->where, placed, m) : mask->where);
    return !m->lost && (try_mask(m, where, otherwise, label) || (m->col && try_mask(m, arena_printf(s->arena, "%s and %s", where, end_of(m, m->col, "col")), otherwise, label)));
}

static bool try_masks_of(Masking *m, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool mask = s->kind == STMT_COMPUTE && s->op_known && s->op == OP_MASK && s->where;

        if ((mask && try_condition(m, s)) || try_masks_of(m, &s->body) || try_masks_of(m, &s->orelse))
            return true;
    }
    return false;
}

static const Stmt *allocated(const Vary *v, const char *tile)
{
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_ALLOCATE && v->all.data[i]->space == SPACE_REGISTER && strcmp(v->all.data[i]->name, tile) == 0)
            return v->all.data[i];
    return NULL;
}

/* ---- elements ------------------------------------------------------------------------------------- */

/* What the definition says that the tile's elements are, where they lie here. */
static bool try_elements(Masking *m)
{
    Suggester *s = m->v->s;
    const Block *body = &m->v->definition->body;

    for (int i = 0; i < body->len; i++) {
        const Stmt *theirs = body->data[i];
        bool same = theirs->kind == STMT_COMPUTE && theirs->op_known && theirs->op == OP_DEFINE && theirs->value && expr_is_name(theirs->args[0], m->tile);
        const Stmt *tile = same ? allocated(m->v, m->tile) : NULL;
        const char *value;

        m->lost = false;
        value = tile && tile->n_shape == 2 ? suggest_expr(s, expr_subst(s->arena, theirs->value, placed, m)) : NULL;
        if (value && !m->lost &&
            suggest_edit(s, suggest_before(s, m->at), arena_printf(s->arena, "%sCompute Define %s (%s, %s) as %s\n", suggest_indent(s, m->at->span.start), m->tile,
                                                                   suggest_expr(s, tile->shape[0]), suggest_expr(s, tile->shape[1]), value), "as the Operator says it"))
            return true;
    }
    return false;
}

/* ---- ends ----------------------------------------------------------------------------------------- */

static const char *neutral(OpId op)
{
    switch (op_info(op)->class) {
    case OPC_SOFTMAX: return "-inf";
    case OPC_ROW_REDUCE:
    case OPC_COL_REDUCE: return op == OP_ROW_MAX || op == OP_COL_MAX ? "-inf" : op == OP_ROW_MIN ? "inf" : "0";
    case OPC_ELEMENT:
    case OPC_GEMM:
    case OPC_MASK:
    case OPC_FILL:
    case OPC_CAST:
    case OPC_DEFINE:
    case OPC_GROUP_REDUCE:
    case OPC_REARRANGE:
    case OPC_SELECT: return NULL;
    }
    return NULL;
}

/* What lies beyond the end of a dimension, left out before it is reduced. */
static bool try_end(Masking *m)
{
    const Stmt *s = m->at;
    const char *beyond = s->kind == STMT_COMPUTE && s->op_known && s->n_args == 1 ? neutral(s->op) : NULL;
    bool columns = beyond && op_info(s->op)->class == OPC_COL_REDUCE;
    const Cut *cut = columns ? m->row : m->col;

    return beyond && cut && try_mask(m, end_of(m, cut, columns ? "row" : "col"), beyond, "leave out what lies beyond the end");
}

/* ---- every tile -------------------------------------------------------------------------------------- */

typedef bool TryHere(Masking *m);

static bool try_conditions(Masking *m)
{
    bool square = m->row && m->col && strcmp(m->row->dim, m->col->dim) == 0, found = false;

    for (int turned = 0; turned <= square && !found; turned++) {
        m->turned = turned == 1;
        found = try_masks_of(m, &m->v->definition->body);
    }
    return found;
}

static bool has_cut(const Masking *m, const Cut *cut)
{
    for (int i = 0; i < m->along.len; i++) {
        const Cut *c = &m->along.data[i];

        if (c->coord && c->size && strcmp(c->dim, cut->dim) == 0 && strcmp(c->coord, cut->coord) == 0 && strcmp(c->size, cut->size) == 0)
            return true;
    }
    return false;
}

/* How a Copy cuts its tensor's last dimensions, as its coordinates name them. */
static void add_cuts(Masking *m, const Stmt *copy)
{
    Suggester *s = m->v->s;
    const Stmt *tensor = copy->kind == STMT_COPY && copy->has_shape ? cuts_tensor(m->cuts, copy_tensor(copy)) : NULL;
    int lead = tensor ? tensor->n_shape - copy->n_shape : -1;

    for (int i = 0; lead >= 0 && i < copy->n_coords; i++)
        for (int d = lead; copy->coords[i].name && copy->coords[i].value && d < tensor->n_shape; d++) {
            Cut cut = {.dim = copy->coords[i].name, .size = suggest_expr(s, copy->shape[d - lead]), .coord = suggest_expr(s, copy->coords[i].value)};

            if (!expr_is_name(tensor->shape[d], cut.dim) || strcmp(cut.size, "1") == 0)
                continue;
            if (!has_cut(m, &cut))
                vec_push(s->arena, &m->along, cut);
            for (int k = 0; copy->coords[i].value->kind == EXPR_BINARY && k < m->v->counters.len; k++) { /* `n + 1`, of a Copy that runs ahead */
                cut.coord = m->v->counters.data[k];
                if (expr_mentions(copy->coords[i].value, cut.coord) && !has_cut(m, &cut))
                    vec_push(s->arena, &m->along, cut);
            }
        }
}

/* The counter that a table is read at, `[pages = Table[b, j]]`; NULL: none is. */
static const char *counter_of_pages(const Masking *m, const Stmt *copy)
{
    for (int i = 0; copy->kind == STMT_COPY && i < copy->n_coords; i++) {
        const Expr *e = copy->coords[i].value, *last = e && e->kind == EXPR_INDEX && e->n_args ? e->args[e->n_args - 1] : NULL;

        if (last && last->kind == EXPR_NAME && vary_has(&m->v->counters, last->name))
            return last->name;
    }
    return NULL;
}

/* Whole pages that a table says lie one behind the other as its entries do. */
static void add_pages(Masking *m, const Stmt *copy)
{
    Suggester *s = m->v->s;
    const char *counter = counter_of_pages(m, copy);
    const Stmt *tensor = counter && copy->has_shape ? cuts_tensor(m->cuts, copy_tensor(copy)) : NULL;
    int lead = tensor ? tensor->n_shape - copy->n_shape : -1;

    for (int d = lead; lead >= 0 && d < tensor->n_shape - 1; d++) {
        Cut cut = {.size = suggest_expr(s, copy->shape[d - lead]), .coord = counter};

        if (tensor->shape[d]->kind != EXPR_NAME || stmt_coord(copy, tensor->shape[d]->name) || strcmp(cut.size, "1") == 0)
            continue;
        cut.dim = tensor->shape[d]->name;
        if (!has_cut(m, &cut))
            vec_push(s->arena, &m->along, cut);
    }
}

static void find_along(Masking *m)
{
    for (int i = 0; i < m->cuts->list.len; i++)
        vec_push(m->v->s->arena, &m->along, m->cuts->list.data[i]);
    for (int i = 0; i < m->v->all.len; i++)
        add_cuts(m, m->v->all.data[i]);
    for (int i = 0; i < m->v->all.len; i++)
        add_pages(m, m->v->all.data[i]);
}

/* Along each pair of dimensions that are cut into tiles of its sizes; of a sketch, whose tiles have none, along any. */
static bool try_along(Masking *m, TryHere *try)
{
    const Stmt *tile = allocated(m->v, m->tile);
    const char *rows = tile && tile->n_shape == 2 ? suggest_expr(m->v->s, tile->shape[0]) : NULL, *cols = rows ? suggest_expr(m->v->s, tile->shape[1]) : NULL;
    const Cuts *cuts = m->cuts;

    m->row = m->col = NULL;
    if (!cuts->allocated.len)
        return try(m);
    for (int i = -1; rows && i < m->along.len; i++)
        for (int k = -1; k < m->along.len; k++) {
            const Cut *row = i < 0 ? NULL : &m->along.data[i], *col = k < 0 ? NULL : &m->along.data[k];
            bool fits = (!row || (row->coord && row->size && strcmp(row->size, rows) == 0)) && (!col || (col->coord && col->size && strcmp(col->size, cols) == 0));

            m->row = row;
            m->col = col;
            if (fits && (row || col) && row != col && try(m))
                return true;
        }
    return false;
}

static bool reads(const Stmt *s, const char *tile)
{
    bool stores = s->kind == STMT_COPY && s->space == SPACE_REGISTER && strcmp(copy_tile(s), tile) == 0;

    return !s->listed && (stores || (s->kind == STMT_COMPUTE && vary_takes(s, tile)));
}

/* In front of what reads a tile. */
static bool try_tiles(Vary *v, TryHere *try)
{
    const Stmt *said = v->s->stmt;
    Masking m = {.v = v};

    v->s->stmt = NULL; /* all Copies count, that at hand as well */
    Cuts cuts = cuts_of(v->s);
    v->s->stmt = said;
    m.cuts = &cuts;
    find_along(&m);
    for (int i = 0; i < v->tiles.len; i++)
        for (int k = v->all.len - 1; k >= 0; k--) {
            m.tile = v->tiles.data[i];
            m.at = v->all.data[k];
            if (reads(m.at, m.tile) && try_along(&m, try))
                return true;
        }
    return false;
}

static bool try_missing_masks(Vary *v)
{
    return try_tiles(v, try_conditions);
}

static bool try_missing_ends(Vary *v)
{
    return try_tiles(v, try_end);
}

/* Of scores whose last tile is not masked (TW0446): the definition's condition as well, before the end alone. */
bool propose_masked_as_defined(Suggester *s)
{
    enum { MOST_TRIES = 24 };
    const char *tile = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args ? expr_base_name(s->stmt->args[0]) : NULL;
    bool known = tile && s->unit && s->unit->kind == UNIT_KERNEL && s->agrees && s->stage == s->agrees && vary_definition(s), strict = s->strict, found;
    int tries = s->tries;

    if (!known)
        return false;
    Vary v = vary_kernel(s, s->unit);
    Cuts cuts = cuts_of(s);
    Masking m = {.v = &v, .cuts = &cuts, .tile = tile, .at = s->stmt};
    find_along(&m);
    s->tries = MOST_TRIES;
    s->strict = true;
    found = try_along(&m, try_conditions);
    s->tries = tries;
    s->strict = strict;
    return found;
}

/* Of code: a tile of elements that is read, and whose Define is missing (TW0440). */
bool propose_defined_tile(Suggester *s)
{
    bool known = s->stmt && s->unit && s->unit->kind == UNIT_KERNEL && s->agrees && s->stage == s->agrees && vary_definition(s), strict = s->strict, found;

    if (!known)
        return false;
    Vary v = vary_kernel(s, s->unit);
    Cuts cuts = cuts_of(s);
    Masking m = {.v = &v, .cuts = &cuts, .tile = suggest_quoted(s, s->diag->span), .at = s->stmt};
    find_along(&m);
    if (!allocated(&v, m.tile))
        return false;
    s->strict = true;
    found = try_along(&m, try_elements);
    s->strict = strict;
    return found;
}

bool propose_missing_mask(Suggester *s)
{
    return vary_each(s, try_missing_ends) || vary_each(s, try_missing_masks);
}
