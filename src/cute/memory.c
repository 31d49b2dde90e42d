/* memory.c: tiles from and to tensors, and between shared memory and registers. */
#include "cute/emit.h"

const char *cu_shared(Cute *c, const TileValue *v)
{
    const CuValue *s = &c->values[v->id];
    return s->stage ? arena_printf(c->arena, "%s[%s]", s->name, s->stage) : s->name;
}

/* ---- windows ------------------------------------------------------------------------- */

static const char *stride(Cute *c, const TileTensor *t, int dim)
{
    return dim + 1 == t->rank ? "1" : cu_arg(c, ABI_STRIDE, t->index, dim);
}

/* The element at the corner: T + m * 128 * T_stride0 + ... */
static const char *corner(Cute *c, const TileOp *op)
{
    const TileTensor *t = op->tensor;
    Str s = str_new(c->arena);
    str_add(&s, cu_arg(c, ABI_ADDRESS, t->index, 0));
    for (int d = 0; d < t->rank; d++) {
        const Aff *at = op->coords[d];
        int64_t value;
        if (aff_is_const(at, &value) && value == 0) continue;
        const char *text = cu_expr(c, at);
        bool sum = at->kind != AFF_SYM && at->kind != AFF_CONST;
        if (d + 1 == t->rank) str_printf(&s, " + %s%s%s", sum ? "(" : "", text, sum ? ")" : "");
        else str_printf(&s, " + %s%s%s * %s", sum ? "(" : "", text, sum ? ")" : "", stride(c, t, d));
    }
    return str_text(&s);
}

/* Rows (columns) of the tile that are inside: from, to. */
static void range(Cute *c, const TileOp *op, int dim, int extent, const char **from, const char **to)
{
    AffCtx *aff = c->program->aff;
    *from = "0";
    *to = "1";
    if (dim < 0) return;
    const Aff *at = op->coords[dim], *left = aff_sub(aff, op->tensor->dims[dim], at);
    if (!aff_always(aff, aff_le(aff, aff_const(aff, 0), at)))
        *from = cu_expr(c, aff_sub(aff, aff_const(aff, 0), at));
    *to = aff_always(aff, aff_le(aff, aff_const(aff, extent), left)) ? arena_printf(c->arena, "%d", extent)
                                                                     : cu_expr(c, left);
}

/* Grid coordinates are below their extents, which their symbols' ranges need not say. */
static bool is_grid_of(const Cute *c, const Aff *at, const Aff *dim)
{
    for (int i = 0; at->kind == AFF_SYM && i < c->kernel->grid.len; i++)
        if (c->kernel->grid.data[i].sym == at->sym && c->kernel->grid.data[i].extent == dim) return true;
    return false;
}

/* What must hold of the coordinates of the other dimensions for anything to be inside. */
static const char *others(Cute *c, const TileOp *op)
{
    AffCtx *aff = c->program->aff;
    Str s = str_new(c->arena);
    for (int d = 0; d < op->tensor->rank; d++) {
        if (d == op->row_dim || d == op->col_dim) continue;
        const Aff *at = op->coords[d], *low = aff_le(aff, aff_const(aff, 0), at), *high = aff_lt(aff, at, op->tensor->dims[d]);
        if (!aff_always(aff, low)) str_printf(&s, "%s%s", s.len ? " and " : "", cu_expr(c, low));
        if (!aff_always(aff, high) && !is_grid_of(c, at, op->tensor->dims[d])) str_printf(&s, "%s%s", s.len ? " and " : "", cu_expr(c, high));
    }
    return s.len ? str_text(&s) : NULL;
}

static const char *window(Cute *c, const TileOp *op, const TileType *tile, bool reads)
{
    const TileTensor *t = op->tensor;
    const char *row_from, *row_to, *col_from, *col_to, *cond = others(c, op);
    range(c, op, op->row_dim, tile->rows, &row_from, &row_to);
    range(c, op, op->col_dim, tile->cols, &col_from, &col_to);
    if (cond) row_to = arena_printf(c->arena, "%s ? %s : 0", cond, row_to);
    const char *first = op->onto ? arena_printf(c->arena, "reinterpret_cast<tw::Sum *>(%s)", corner(c, op)) : corner(c, op);
    return arena_printf(c->arena, "tw::Window<%s%s>{%s, %s, %s, %s, %s, %s, %s}", op->onto ? "tw::Sum" : cu_dtype(t->dtype),
                        reads ? " const" : "", first, op->row_dim < 0 ? "0" : stride(c, t, op->row_dim),
                        op->col_dim < 0 ? "0" : stride(c, t, op->col_dim), row_from, row_to, col_from, col_to);
}

static const char *where(Cute *c, const TileOp *op)
{
    return op->where ? arena_printf(c->arena, ", [&](int row, int col) { return %s; }", cu_expr(c, op->where)) : "";
}

/* Whole chunks move where the entry wants them aligned; a condition on columns may cut one. */
static const char *wide(const TileOp *op)
{
    bool cut = op->where && aff_uses_kind(op->where, AFF_COL);
    return tile_in_chunks(op) && !cut && !op->onto ? "Wide" : "false";
}

/* ---- operations ------------------------------------------------------------------------- */

/* The window of a tile, or of each of its rows. */
static const char *windows(Cute *c, const TileOp *op, const TileType *tile, bool reads)
{
    const char *w = window(c, op, tile, reads);
    if (!tile_by_rows(op)) return w;
    return arena_printf(c->arena, "tw::by_rows<%s%s>([&](int row) { return %s; })", op->onto ? "tw::Sum" : cu_dtype(op->tensor->dtype),
                        reads ? " const" : "", w);
}

void cu_copy_in(Cute *c, const TileOp *load, const char *to)
{
    cu_line(c, "tw::copy_in<%d, %s>(", 32 * c->kernel->warps, wide(load));
    const char *from = windows(c, load, &load->results[0]->type, true);
    cu_line(c, "    %s, %s%s);", from, to, where(c, load));
}

/* Coordinates, the innermost first. */
static const char *box_coordinates(Cute *c, const TileOp *load)
{
    Str s = str_new(c->arena);
    for (int d = load->tensor->rank - 1; d >= 0; d--)
        str_printf(&s, "%s%s", s.len ? ", " : "", cu_expr(c, load->coords[d]));
    return str_text(&s);
}

void cu_copy_boxes(Cute *c, const TileOp *load, const char *to, const char *landed)
{
    AbiMap map;
    int rank = load->tensor->rank;
    if (!cu_map(c, load, &map)) return;
    cu_open(c, "if constexpr (Wide) {");
    cu_line(c, "tw::copy_boxes<%d, %d, %d>(&%s, %s, %s, {%s});", rank, rank - 1 - load->row_dim, map.box[load->row_dim],
            cu_arg(c, ABI_MAP, 0, abi_find_map(c->abi, &map)), landed, to, box_coordinates(c, load));
    c->depth--;
    cu_open(c, "} else {");
    cu_copy_in(c, load, to);
    cu_close(c, "}");
}

void cu_load(Cute *c, const TileOp *op)
{
    const TileValue *v = op->results[0];
    const char *name = c->values[v->id].name, *from = window(c, op, &v->type, true), *only = where(c, op), *place = cu_place_name(c, v);
    if (cu_is_matrix(v))
        cu_line(c, "tw::load<%s, %s, %d, %d>(%s, %s%s);", place, wide(op), v->type.rows, v->type.cols, from, name, only);
    else if (cu_is_column(v)) cu_line(c, "tw::load_column<%s, %d>(%s, %s%s);", place, v->type.rows, from, name, only);
    else if (cu_is_row(v)) cu_line(c, "tw::load_row<%s, %s, %d>(%s, %s%s);", place, wide(op), v->type.cols, from, name, only);
    else cu_line(c, "%s = tw::load_one(%s%s);", name, from, only);
}

void cu_store(Cute *c, const TileOp *op)
{
    const TileValue *v = op->args[0];
    const char *name = c->values[v->id].name, *to = windows(c, op, &v->type, false), *only = where(c, op), *place = cu_place_name(c, v);
    if (v->type.space == SPACE_SHARED) {
        const char *held = cu_name(c, "held");
        cu_line(c, "auto %s = tw::tile<Place, %s, %d, %d>();", held, cu_dtype(v->type.dtype), v->type.rows, v->type.cols);
        cu_line(c, "tw::read<Place>(%s, %s);", cu_shared(c, v), held);
        name = held;
    }
    if (cu_is_matrix(v))
        cu_line(c, "tw::store<%s, %s, %d, %d>(%s, %s%s);", place, wide(op), v->type.rows, v->type.cols, name, to, only);
    else if (cu_is_column(v)) cu_line(c, "tw::store_column<%s, %d>(%s, %s%s);", place, v->type.rows, name, to, only);
    else if (cu_is_row(v)) cu_line(c, "tw::store_row<%s, %s, %d>(%s, %s%s);", place, wide(op), v->type.cols, name, to, only);
    else cu_line(c, "tw::store_one(%s, %s%s);", name, to, only);
}

void cu_move(Cute *c, const TileOp *op)
{
    const TileValue *a = op->args[0], *v = op->results[0];
    const char *what = cu_is_row(v) ? "_row" : "";
    if (v->type.space == SPACE_SHARED) cu_line(c, "tw::write%s<%s>(%s, %s);", what, cu_place_name(c, a), c->values[a->id].name, cu_shared(c, v));
    else cu_line(c, "tw::read%s<%s>(%s, %s);", what, cu_place_name(c, v), cu_shared(c, a), c->values[v->id].name);
}
