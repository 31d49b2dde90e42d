/* cells.c: elements of a tensor that lie beside each other.
 *
 * Elements of one line, whose coordinates differ along the last dimension by constants, come by accesses of up to 16
 * bytes, each of which begins at a multiple of its length:
 *
 *   W[c, 0], W[c, 1], W[c, 2], W[c, 3]   ->   ld.global.v2.b32 {%r1, %r2}, [%rd5];
 *
 * Where each row of a tensor without gaps begins at such a multiple the entry for aligned tensors may ask for it
 * (tile_row_alignment), and an access is inside of the tensor as a whole or not at all.
 */
#include "ptx/cells.h"

#include "affine/sum.h"

void cl_add(Emitter *e, Cells *c, const Aff *const *coords)
{
    int last = c->tensor->rank - 1;
    Cell cell = {.line = arena_array(e->arena, const Aff *, c->tensor->rank)};
    memcpy(cell.line, coords, (size_t)c->tensor->rank * sizeof *coords);
    cell.line[last] = aff_without_constant(e->program->aff, coords[last], &cell.place);
    vec_push(e->arena, &c->all, cell);
}

void cl_add_values(Emitter *e, Cells *c, const TileOp *gather)
{
    const TileType *t = &gather->results[0]->type;
    const Aff *coords[TENSOR_MAX_RANK];
    Lane lane = {.row = ix_lane_row(e, t->layout, t->rows)};
    lane.col = ix_lane_col(e, t->layout, t->cols);
    if (t->cols > 1) lane.units = ix_lane_units(e, t->layout, t->cols);
    for (int i = 0, n = lay_fragment_values(t->layout, t->rows, t->cols); i < n; i++) {
        for (int d = 0; d < c->tensor->rank; d++) coords[d] = el_at_lane(e, gather->coords[d], &lane, gather->results[0], i);
        cl_add(e, c, coords);
    }
}

/* ---- accesses ---------------------------------------------------------------------------- */

/* Elements of the widest access of its line. */
static int widest(const Cells *c, const Cell *x)
{
    int n = tile_row_alignment(c->tensor) / dtype_bytes(c->tensor->dtype);
    int64_t divisor = aff_divisor(x->line[c->tensor->rank - 1]);
    while (divisor % n) n /= 2;
    return n;
}

/* Which of its line's accesses of n elements a place is of. */
static int64_t access_of(int64_t place, int n)
{
    int64_t q = 0;
    floor_div(place, n, &q);
    return q;
}

static bool is_same_line(const Cells *c, const Cell *x, const Cell *y)
{
    for (int d = 0; d < c->tensor->rank; d++)
        if (x->line[d] != y->line[d]) return false;
    return true;
}

bool cl_may_meet(const Cells *c, const Cell *x, const Cell *y)
{
    int n = widest(c, x);
    return n > 1 && is_same_line(c, x, y) && access_of(x->place, n) == access_of(y->place, n);
}

static Access access_for(const Cells *c, int at)
{
    const Cell *x = &c->all.data[at];
    int n = widest(c, x);
    int64_t lo = x->place, hi = x->place;
    for (int i = 0; i < c->all.len && n > 1; i++) {
        const Cell *y = &c->all.data[i];
        if (!cl_may_meet(c, x, y)) continue;
        lo = y->place < lo ? y->place : lo;
        hi = y->place > hi ? y->place : hi;
    }
    while (n > 1 && access_of(lo, n / 2) == access_of(hi, n / 2)) n /= 2;
    return (Access){access_of(lo, n) * n, n, at};
}

Access *cl_accesses(Emitter *e, const Cells *c)
{
    Access *by = arena_array(e->arena, Access, c->all.len);
    for (int i = 0; i < c->all.len; i++) {
        const Cell *x = &c->all.data[i];
        int k = 0;
        while (k < i && !(x->place >= by[k].first && x->place < by[k].first + by[k].n && is_same_line(c, &c->all.data[k], x))) k++;
        by[i] = k < i ? by[k] : access_for(c, i);
    }
    return by;
}

const Aff **cl_coords(Emitter *e, const Cells *c, const Cell *x, int64_t place)
{
    int rank = c->tensor->rank;
    const Aff **coords = arena_array(e->arena, const Aff *, rank);
    memcpy(coords, x->line, (size_t)rank * sizeof *coords);
    coords[rank - 1] = aff_offset(e->program->aff, coords[rank - 1], place);
    return coords;
}

/* ---- words -------------------------------------------------------------------------------- */

int cl_words(const Cells *c, Access a)
{
    int bytes = a.n * dtype_bytes(c->tensor->dtype);
    return bytes < 4 ? 1 : bytes / 4;
}

void cl_load(Emitter *e, const Cells *c, Access a, const char *guard, const char *address, const char *const *words)
{
    Str list = str_new(e->arena);
    int n = cl_words(c, a);
    for (int k = 0; k < n; k++) {
        if (*guard) em(e, "mov.b32 %s, 0;", words[k]);
        str_printf(&list, "%s%s", k ? ", " : "", words[k]);
    }
    if (n > 1) em(e, "%sld.global.v%d.b32 {%s}, %s;", guard, n, str_text(&list), address);
    else em(e, "%sld.global.%s %s, %s;", guard, a.n * dtype_bytes(c->tensor->dtype) < 4 ? "u16" : "b32", words[0], address);
}

void cl_take(Emitter *e, const Cells *c, Access a, const char *const *words, const Cell *x, int f)
{
    int at = (int)(x->place - a.first);
    if (c->tensor->dtype == DT_F32) em(e, "mov.b32 %%f%d, %s;", f, words[at]);
    else fr_half(e, c->tensor->dtype, words[at / 2], at % 2, f);
}
