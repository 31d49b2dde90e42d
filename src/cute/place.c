/* place.c: how a kernel's register tiles are spread over its threads.
 *
 * With products: as mma.sync leaves its accumulators. Without: a thread has a run of
 * neighbouring columns, 16 bytes of the widest element if the tiles' extents allow it,
 * and threads lie side by side along a row, as memory does.
 */
#include "cute/emit.h"

typedef struct Shapes {
    int rows, cols;   /* greatest common divisors of those above 1; 0: there are none */
    int bytes;        /* of the widest element that is copied */
    const TileOp *gemm;
} Shapes;

static int common(int a, int b)
{
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void add_value(Shapes *s, const TileValue *v)
{
    if (v->type.kind != TT_TILE || v->type.space != SPACE_REGISTER) return;
    if (v->type.rows > 1) s->rows = common(v->type.rows, s->rows);
    if (v->type.cols > 1) s->cols = common(v->type.cols, s->cols);
}

static void find_shapes(const TileBlock *block, Shapes *s)
{
    for (int i = 0; i < block->params.len; i++) add_value(s, block->params.data[i]);
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool copies = op->kind == TILE_LOAD || op->kind == TILE_STORE;
        if (copies && dtype_bytes(op->tensor->dtype) > s->bytes) s->bytes = dtype_bytes(op->tensor->dtype);
        if (op->kind == TILE_GEMM && !s->gemm) s->gemm = op;
        for (int k = 0; k < op->n_results; k++) add_value(s, op->results[k]);
        for (int r = 0; r < op->n_regions; r++) find_shapes(op->regions[r], s);
    }
}

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

static void place_products(Cute *c, const Shapes *s)
{
    CuPlace *p = &c->place;
    if (fits_warpgroups(c, s)) {
        place_warpgroups(c, s);
        return;
    }
    p->products = true;
    p->dtype = s->gemm->args[0]->type.dtype;
    p->warps_n = c->kernel->warps_n > 0 ? c->kernel->warps_n : 1;
    p->warps_m = c->kernel->warps / p->warps_n;
    p->unit_m = 16 * p->warps_m;
    p->quads = dtype_bytes(p->dtype) == 1;
    p->wide = p->quads || divides(16 * p->warps_n, s->cols);
    p->unit_n = (p->wide ? 16 : 8) * p->warps_n;
    p->each_m = 2;
    p->each_n = p->wide ? 4 : 2;
    if (!divides(p->unit_m, s->rows) || !divides(p->unit_n, s->cols))
        cu_fail(c, s->gemm, "%d x %d warps multiply %d x %d elements at a time, which do not divide tiles of multiples "
                "of %d x %d", p->warps_m, p->warps_n, p->unit_m, p->unit_n, s->rows, s->cols);
}

static bool fits(const Shapes *s, int threads_m, int threads_n, int run)
{
    return divides(threads_m, s->rows) && divides(threads_n * run, s->cols);
}

static void place_rows(Cute *c, const Shapes *s)
{
    CuPlace *p = &c->place;
    int threads = 32 * c->kernel->warps, widest = s->bytes ? 16 / s->bytes : 4;
    for (int run = s->cols ? widest : 1; run >= 1; run /= 2)
        for (int n = threads; n >= 1; n--) {
            bool whole = n <= 32 ? 32 % n == 0 : n % 32 == 0;
            if (threads % n != 0 || !whole || (s->cols == 0 && n > 1) || !fits(s, threads / n, n, run)) continue;
            p->threads_m = threads / n;
            p->threads_n = n;
            p->run = run;
            p->warps_n = n > 32 ? n / 32 : 1;
            p->warps_m = c->kernel->warps / p->warps_n;
            p->unit_m = p->threads_m;
            p->unit_n = n * run;
            p->each_m = 1;
            p->each_n = run;
            return;
        }
    cu_fail(c, NULL, "%d threads cannot share tiles of multiples of %d x %d equally", threads, s->rows, s->cols);
}

void cu_place(Cute *c)
{
    Shapes s = {0};
    find_shapes(c->kernel->body, &s);
    if (s.gemm) place_products(c, &s);
    else place_rows(c, &s);
}
