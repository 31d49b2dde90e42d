/* place.c: how a kernel's register tiles are spread over its threads.
 *
 * With products: as mma.sync leaves its accumulators. Without: a thread has a run of
 * neighbouring columns, 16 bytes of the widest element if the tiles' extents allow it,
 * and threads lie side by side along a row, as memory does.
 *
 * Tiles that meet no product's, as operands that are widened on their way to shared memory, may have
 * another place, where their extents are not what the products' is made of.
 */
#include "cute/emit.h"

typedef struct Shapes {
    int rows, cols;   /* greatest common divisors of those above 1; 0: there are none */
    int bytes;        /* of the widest element that is copied */
    const TileOp *gemm;
} Shapes;

/* ---- which tiles meet ------------------------------------------------------------------- */

typedef struct Meeting {
    int *parent;   /* by value id */
    bool *product; /* by root: a product's result is among them, or its operand */
    bool *aside;   /* by root: in the place beside */
} Meeting;

static bool has_place(const TileValue *v)
{
    return v->type.kind == TT_TILE && v->type.space == SPACE_REGISTER && !cu_is_scalar(v);
}

static void meet(Meeting *m, const TileValue *a, const TileValue *b)
{
    if (!has_place(a) || !has_place(b)) return;
    int x = tile_group_of(m->parent, a->id), y = tile_group_of(m->parent, b->id);
    m->parent[x] = y;
    m->product[y] |= m->product[x];
}

static void meet_region(Meeting *m, const TileOp *op, const TileBlock *region)
{
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    for (int k = 0; k < op->n_results && k < yield->n_args; k++) {
        meet(m, op->results[k], yield->args[k]);
        if (op->kind != TILE_FOR) continue;
        meet(m, op->results[k], op->args[k]);
        meet(m, op->results[k], region->params.data[k]);
    }
}

static void meet_block(Meeting *m, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool moves = op->kind == TILE_MOVE || op->kind == TILE_STORE || op->kind == TILE_LOAD;
        for (int k = 0; k < op->n_args && op->n_results == 1 && !moves && op->n_regions == 0; k++) meet(m, op->args[k], op->results[0]);
        if (op->kind == TILE_GEMM) m->product[tile_group_of(m->parent, op->results[0]->id)] = true;
        for (int r = 0; r < op->n_regions; r++) {
            meet_block(m, op->regions[r]);
            meet_region(m, op, op->regions[r]);
        }
    }
}

static void find_meetings(Cute *c, Meeting *m)
{
    int n = c->kernel->next_value;
    m->parent = arena_array(c->arena, int, n);
    m->product = arena_array(c->arena, bool, n);
    m->aside = arena_array(c->arena, bool, n);
    memset(m->product, 0, (size_t)n * sizeof *m->product);
    memset(m->aside, 0, (size_t)n * sizeof *m->aside);
    tile_groups(m->parent, n);
    meet_block(m, c->kernel->body);
}

/* ---- their extents ------------------------------------------------------------------------- */

/* Whether a value counts: all do, or those that meet products, or those in the place beside. */
typedef enum Whose { WHOSE_ALL, WHOSE_PRODUCTS, WHOSE_ASIDE } Whose;

static void add_value(Shapes *s, const Meeting *m, Whose whose, const TileValue *v)
{
    int root = has_place(v) ? tile_group_of(m->parent, v->id) : -1;
    if (root < 0 || (whose == WHOSE_PRODUCTS && !m->product[root]) || (whose == WHOSE_ASIDE && !m->aside[root])) return;
    if (v->type.rows > 1) s->rows = (int)common_divisor(v->type.rows, s->rows);
    if (v->type.cols > 1) s->cols = (int)common_divisor(v->type.cols, s->cols);
}

static void find_shapes(const TileBlock *block, const Meeting *m, Whose whose, Shapes *s)
{
    for (int i = 0; i < block->params.len; i++) add_value(s, m, whose, block->params.data[i]);
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool copies = op->kind == TILE_LOAD || op->kind == TILE_STORE;
        if (copies && dtype_bytes(op->tensor->dtype) > s->bytes) s->bytes = dtype_bytes(op->tensor->dtype);
        if (op->kind == TILE_GEMM && !s->gemm) s->gemm = op;
        for (int k = 0; k < op->n_results; k++) add_value(s, m, whose, op->results[k]);
        for (int r = 0; r < op->n_regions; r++) find_shapes(op->regions[r], m, whose, s);
    }
}

static Shapes shapes_of(const Cute *c, const Meeting *m, Whose whose)
{
    Shapes s = {0};
    find_shapes(c->kernel->body, m, whose, &s);
    return s;
}

/* ---- places -------------------------------------------------------------------------------- */

static bool divides(int n, int extent)
{
    return extent == 0 || extent % n == 0;
}

/* Whether whole warpgroups can multiply: 64 rows each, whole rows of tiles. */
static bool fits_warpgroups(const Cute *c, const Shapes *s)
{
    bool two_bytes = dtype_bytes(s->gemm->args[0]->type.dtype) == 2; /* of fewer, wgmma wants all rows along K */
    return c->target->has_wgmma && two_bytes && c->kernel->warps % 4 == 0 && c->kernel->warps_n <= 1 &&
           divides(16 * c->kernel->warps, s->rows) && divides(8, s->cols);
}

static void place_warpgroups(Cute *c, const Shapes *s)
{
    c->place = (CuPlace){.warpgroups = true, .products = true, .warps_m = c->kernel->warps, .warps_n = 1,
                         .unit_m = 16 * c->kernel->warps, .unit_n = 8, .each_m = 2, .each_n = 2,
                         .dtype = s->gemm->args[0]->type.dtype};
}

static void place_warps(Cute *c, const Shapes *s)
{
    CuPlace *p = &c->place;
    *p = (CuPlace){.products = true, .dtype = s->gemm->args[0]->type.dtype, .each_m = 2};
    p->warps_n = c->kernel->warps_n > 0 ? c->kernel->warps_n : 1;
    p->warps_m = c->kernel->warps / p->warps_n;
    p->unit_m = 16 * p->warps_m;
    p->quads = dtype_bytes(p->dtype) == 1;
    p->wide = p->quads || divides(16 * p->warps_n, s->cols);
    p->unit_n = (p->wide ? 16 : 8) * p->warps_n;
    p->each_n = p->wide ? 4 : 2;
}

static bool fits_place(const CuPlace *p, const Shapes *s)
{
    return divides(p->unit_m, s->rows) && divides(p->unit_n, s->cols);
}

static bool fits(const Shapes *s, int threads_m, int threads_n, int run)
{
    return divides(threads_m, s->rows) && divides(threads_n * run, s->cols);
}

static bool place_rows(const Cute *c, const Shapes *s, CuPlace *p)
{
    int threads = 32 * c->kernel->warps, widest = s->bytes ? 16 / s->bytes : 4;
    for (int run = s->cols ? widest : 1; run >= 1; run /= 2)
        for (int n = threads; n >= 1; n--) {
            bool whole = n <= 32 ? 32 % n == 0 : n % 32 == 0;
            if (threads % n != 0 || !whole || (s->cols == 0 && n > 1) || !fits(s, threads / n, n, run)) continue;
            int warps_n = n > 32 ? n / 32 : 1;
            *p = (CuPlace){.threads_m = threads / n, .threads_n = n, .run = run, .warps_n = warps_n,
                           .warps_m = c->kernel->warps / warps_n, .unit_m = threads / n, .unit_n = n * run, .each_m = 1, .each_n = run};
            return true;
        }
    return false;
}

/* ---- a place beside --------------------------------------------------------------------------- */

static void put_aside(const CuPlace *p, Meeting *m, const TileValue *v)
{
    Shapes s = {.rows = v->type.rows > 1 ? v->type.rows : 0, .cols = v->type.cols > 1 ? v->type.cols : 0};
    int root = has_place(v) ? tile_group_of(m->parent, v->id) : -1;
    if (root >= 0 && !m->product[root] && !fits_place(p, &s)) m->aside[root] = true;
}

static void find_aside(const CuPlace *p, const TileBlock *block, Meeting *m)
{
    for (int i = 0; i < block->params.len; i++) put_aside(p, m, block->params.data[i]);
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++) put_aside(p, m, op->results[k]);
        for (int r = 0; r < op->n_regions; r++) find_aside(p, op->regions[r], m);
    }
}

/* What does not fit the products' place and meets none of theirs has one of its own. */
static bool place_beside(Cute *c, Meeting *m)
{
    find_aside(&c->place, c->kernel->body, m);
    Shapes s = shapes_of(c, m, WHOSE_ASIDE);
    if (!place_rows(c, &s, &c->beside)) return false;
    c->aside = arena_array(c->arena, bool, c->kernel->next_value);
    for (int i = 0; i < c->kernel->next_value; i++) c->aside[i] = m->aside[tile_group_of(m->parent, i)];
    return true;
}

static void place_products(Cute *c, Meeting *m, const Shapes *all)
{
    Shapes products = shapes_of(c, m, WHOSE_PRODUCTS);
    if (fits_warpgroups(c, all)) {
        place_warpgroups(c, all);
        return;
    }
    if (fits_warpgroups(c, &products)) {
        place_warpgroups(c, &products);
        if (place_beside(c, m)) return;
    }
    place_warps(c, all);
    if (fits_place(&c->place, all)) return;
    const CuPlace whole = c->place;
    place_warps(c, &products);
    if (!fits_place(&c->place, &products) || !place_beside(c, m))
        cu_fail(c, TW0774, all->gemm, "%d x %d warps multiply %d x %d elements at a time, which do not divide tiles of multiples "
                "of %d x %d", whole.warps_m, whole.warps_n, whole.unit_m, whole.unit_n, all->rows, all->cols);
}

void cu_place(Cute *c)
{
    Meeting m;
    find_meetings(c, &m);
    Shapes all = shapes_of(c, &m, WHOSE_ALL);
    if (all.gemm) place_products(c, &m, &all);
    else if (!place_rows(c, &all, &c->place))
        cu_fail(c, TW0774, NULL, "%d threads cannot share tiles of multiples of %d x %d equally", 32 * c->kernel->warps, all.rows, all.cols);
}

const CuPlace *cu_place_of(const Cute *c, const TileValue *v)
{
    return c->aside && c->aside[v->id] ? &c->beside : &c->place;
}

const char *cu_place_name(const Cute *c, const TileValue *v)
{
    return cu_place_of(c, v) == &c->beside ? "Beside" : "Place";
}
