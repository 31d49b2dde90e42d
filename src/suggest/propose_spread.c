/* propose_spread.c: a tile whose columns are too many for a block, cut over one more axis of the grid.
 *
 *   Grid m = ceil(L / BM)                         VDim_part = 256
 *   Allocate V in shared (BN, VDim)         ─►    Grid m = ceil(L / BM), part = ceil(VDim / VDim_part)
 *   Copy V (BN, VDim) in coordinate [T = j]       Allocate V in shared (BN, VDim_part)
 *   Compute GEMM P, V and accumulate O            Copy V (BN, VDim_part) in coordinate [T = j, VDim = part]
 *
 * Columns of a product come from columns of its second operand, each by itself: so blocks can have a part of them, and
 * each makes the first operand anew. Nothing may go along those columns: no sum of rows, and no other product. Tiles whose
 * columns merely have the same size, as queries and keys where values are as wide, stay whole.
 */
#include "suggest/cuts.h"

enum { MOST_EDITS = 48 };

static const int PARTS[] = {256, 128, 64};

typedef struct Spread {
    Suggester *s;
    const char *dim; /* that is cut */
    VEC(const char *) tiles;
    const Stmt *grid;
    Fix edits[MOST_EDITS];
    int n;
    bool refused;
} Spread;

static bool is_cut(const Spread *p, const char *name)
{
    for (int i = 0; name && i < p->tiles.len; i++)
        if (strcmp(p->tiles.data[i], name) == 0)
            return true;
    return false;
}

/* The tile that an operand is, or is a part of. */
static const char *tile_of(const Expr *e)
{
    while (e && (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE || e->kind == EXPR_INDEX))
        e = e->a;
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

static const Expr *columns(const Stmt *stmt)
{
    return (stmt->kind == STMT_ALLOCATE || stmt->kind == STMT_COPY) && stmt->n_shape >= 2 ? stmt->shape[stmt->n_shape - 1] : NULL;
}

static bool has_columns(const Spread *p, const Stmt *stmt)
{
    const Expr *last = columns(stmt);

    return last && last->kind == EXPR_NAME && strcmp(last->name, p->dim) == 0;
}

/* Whether a tile of that name, of so many columns, is allocated. */
static bool is_wide(const Spread *p, const char *name)
{
    for (int i = 0; name && i < p->s->unit->body.len; i++) {
        const Stmt *stmt = p->s->unit->body.data[i];
        if (stmt->kind == STMT_ALLOCATE && has_columns(p, stmt) && strcmp(stmt->name, name) == 0)
            return true;
    }
    return false;
}

static void take(Spread *p, const char *name)
{
    if (!is_cut(p, name) && is_wide(p, name))
        vec_push(p->s->arena, &p->tiles, name);
}

/* What is stored, what it is made of column by column, and what is made of that. */
static void note_tile(void *user, const Stmt *stmt)
{
    Spread *p = user;
    const Expr *result = stmt->kind == STMT_COMPUTE ? compute_result(stmt) : NULL;
    bool product = stmt->op_known && stmt->op == OP_GEMM, element = stmt->op_known && op_info(stmt->op)->class == OPC_ELEMENT;
    const char *name = result ? tile_of(result) : NULL;

    if (stmt->kind == STMT_GRID)
        p->grid = stmt;
    if (stmt->kind == STMT_COPY && stmt->to_space == SPACE_GLOBAL && has_columns(p, stmt))
        take(p, stmt->name);
    for (int i = product ? 1 : 0; is_cut(p, name) && (product || element) && i < stmt->n_args; i++)
        take(p, tile_of(stmt->args[i]));
    for (int i = 0; element && i < stmt->n_args; i++)
        if (is_cut(p, tile_of(stmt->args[i])))
            take(p, name);
}

/* Until there are no more. */
static void note_tiles(Spread *p)
{
    for (int before = -1; before != p->tiles.len;) {
        before = p->tiles.len;
        suggest_each(&p->s->unit->body, note_tile, p);
    }
}

/* ---- whether columns stay by themselves -------------------------------------------------------------------- */

static bool crosses_columns(const Spread *p, const Stmt *stmt)
{
    OpClass class = stmt->op_known ? op_info(stmt->op)->class : OPC_GEMM;
    bool product = stmt->op_known && stmt->op == OP_GEMM && stmt->n_args == 2;

    for (int i = 0; i < stmt->n_args; i++) {
        if (!is_cut(p, tile_of(stmt->args[i])) || (stmt->op_known && class == OPC_ELEMENT) || (stmt->op_known && stmt->op == OP_FILL))
            continue;
        if (!product || i == 0 || stmt->args[i]->kind != EXPR_NAME)
            return true;
    }
    for (int i = 0; i < p->tiles.len; i++)
        if (expr_mentions(stmt->where, p->tiles.data[i]))
            return true;
    return false;
}

/* ---- the edits -------------------------------------------------------------------------------------------------- */

static void edit(Spread *p, int start, int end, const char *text)
{
    if (p->n < MOST_EDITS)
        p->edits[p->n++] = (Fix){{start, end}, text, NULL};
    p->refused |= p->n == MOST_EDITS || (p->n > 1 && p->edits[p->n - 2].span.end > start);
}

static void cut_copy(Spread *p, const Stmt *stmt)
{
    const Coord *last = stmt->n_coords ? &stmt->coords[stmt->n_coords - 1] : NULL;

    for (int i = 0; i < stmt->n_coords; i++)
        p->refused |= !stmt->coords[i].name || !stmt->coords[i].value || strcmp(stmt->coords[i].name, p->dim) == 0;
    p->refused |= !last || stmt->listed;
    if (!p->refused)
        edit(p, last->value->span.end, last->value->span.end, arena_printf(p->s->arena, ", %s = part", p->dim));
}

static void cut_one(void *user, const Stmt *stmt)
{
    Spread *p = user;
    const Expr *last = columns(stmt);
    bool outside = stmt->kind == STMT_COPY && (stmt->space == SPACE_GLOBAL || stmt->to_space == SPACE_GLOBAL);

    p->refused |= stmt->kind == STMT_COMPUTE && crosses_columns(p, stmt);
    p->refused |= stmt->kind == STMT_RESHAPE && is_cut(p, stmt->name);
    if (stmt == p->grid) {
        edit(p, stmt->span.start, stmt->span.start, arena_printf(p->s->arena, "%s_part = SIZE\n%s", p->dim, suggest_indent(p->s, stmt->span.start)));
        edit(p, stmt->span.end, stmt->span.end, arena_printf(p->s->arena, ", part = ceil(%s / %s_part)", p->dim, p->dim));
    } else if (has_columns(p, stmt) && is_cut(p, stmt->kind == STMT_COPY && stmt->as ? stmt->as : stmt->name)) {
        edit(p, last->span.start, last->span.end, arena_printf(p->s->arena, "%s_part", p->dim));
        if (outside)
            cut_copy(p, stmt);
    } else if (outside && is_cut(p, stmt->as ? stmt->as : stmt->name)) {
        p->refused = true; /* which columns it copies, its shape does not say */
    }
}

/* So many columns a block. */
static bool try_parts(Spread *p, int size)
{
    Fix edits[MOST_EDITS];

    memcpy(edits, p->edits, sizeof(Fix) * (size_t)p->n);
    for (int i = 0; i < p->n; i++)
        if (strstr(edits[i].text, "= SIZE\n"))
            edits[i].text = arena_printf(p->s->arena, "%s_part = %d%s", p->dim, size, strchr(edits[i].text, '\n'));
    return suggest_edits(p->s, edits, p->n, arena_printf(p->s->arena, "each block has a part of %s, and makes what it is multiplied by anew", p->dim));
}

static bool try_dimension(Suggester *s, const char *dim)
{
    Spread p = {.s = s, .dim = dim};

    note_tiles(&p);
    if (!p.grid || p.tiles.len == 0 || strcmp(suggest_words(s, s->source->text, "part", ""), s->source->text) != 0)
        return false;
    suggest_each(&s->unit->body, cut_one, &p);
    for (size_t i = 0; !p.refused && i < TW_COUNT(PARTS); i++)
        if (try_parts(&p, PARTS[i]))
            return true;
    return false;
}

/* Columns of outputs. */
bool propose_spread_columns(Suggester *s)
{
    for (int i = 0; s->unit && i < s->unit->body.len; i++) {
        const Stmt *output = s->unit->body.data[i];
        const Expr *last = output->kind == STMT_OUTPUT && output->n_shape >= 2 ? output->shape[output->n_shape - 1] : NULL;
        if (last && last->kind == EXPR_NAME && try_dimension(s, last->name))
            return true;
    }
    return false;
}
