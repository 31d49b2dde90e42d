/* generate_kernels.c: random kernels in TL code.
 *
 *   elementwise  a block has one tile of each tensor; ifs, small loops
 *   GEMM         a loop over K, an epilogue; a second product; operands that
 *                were transformed in registers
 *   GEMM GEMM    a loop over N: a product, something elementwise or an online
 *                softmax, a mask, a Reshape, another product
 *   stream       a loop over N that keeps maxima and sums, another one that
 *                uses them; or goes over the same rows again, which shared memory may keep
 *   chain        two of these, of which the second reads what the first left
 */
#include "generate.h"

#include <math.h>

static const Axis NONE = {0};

static Axis axis(const char *dim, const char *at, const char *size, int tile)
{
    return (Axis){dim, at, size, tile};
}

/* ---- the frame of a kernel ------------------------------------------------------------- */

static void start(Gen *g, int m_tile)
{
    if (g->n_passed == 0)
        g->batch = gen_chance(g, 25);
    gen_assign_size(g, "BM", m_tile);
    gen_declare_dim(g, "M", gen_pick_extent(g, m_tile), m_tile);
    g->counters[g->n_counters++] = "m";
    g->grid = "m = ceil(M / BM)";
    if (g->batch) {
        g->middle = g->n_passed ? g->middle : gen_chance(g, 40);
        g->z = gen_pick(g, 1, 3);
        g->z = gen_declare_dim(g, "Z", g->z, g->z);
        g->counters[g->n_counters++] = "z";
    }
}

static void add_grid_n(Gen *g, int n_tile)
{
    gen_assign_size(g, "BN", n_tile);
    gen_declare_dim(g, g->cols, gen_pick_extent(g, n_tile), n_tile);
    g->counters[g->n_counters++] = "n";
    g->grid = gen_text(g, gen_chance(g, 50) ? "m = ceil(M / BM), n = ceil(%s / BN)" : "n = ceil(%s / BN), m = ceil(M / BM)",
                       g->cols);
}

static void finish(Gen *g)
{
    Str out = str_new(g->arena);

    if (g->c->code)
        str_printf(&out, "%s\n", g->c->code);
    str_printf(&out, "Kernel %s\n%s", g->c->code ? "second" : "random", str_text(&g->head));
    str_printf(&out, "  Grid %s%s\n%s%s", g->grid, g->batch ? ", z = Z" : "", str_text(&g->allocs),
               str_text(&g->body));
    str_printf(&out, "  Schedule %s\n    warps = %d\n    warps_n = %d\n    stages = %d\n    kept = %d\n    cluster = %d\n  end\nend\n",
               g->c->target, g->warps, g->warps_n, g->stages, g->kept, g->cluster);
    g->c->code = str_text(&out);
}

/* The tiles that all warps together can hold. */
static int rows_of_warps(Gen *g)
{
    return 16 * (g->warps / g->warps_n) * (gen_chance(g, 25) ? 2 : 1);
}

/* ---- loops ---------------------------------------------------------------------------------- */

typedef struct Scope {
    Var vars[MAX_VARS];
    int n_vars, n_counters;
} Scope;

/* What was made before stays as it is in the loop, or is accumulated to. */
static Scope open_loop(Gen *g, const char *counter, const char *low, const char *high)
{
    Scope s = {.n_vars = g->n_vars, .n_counters = g->n_counters};

    memcpy(s.vars, g->vars, sizeof s.vars);
    gen_open_block(g, "for %s = %s:%s", counter, low, high);
    for (int i = 0; i < g->n_vars; i++)
        g->vars[i].frozen = true;
    g->counters[g->n_counters++] = counter;
    return s;
}

static void close_loop(Gen *g, const Scope *s)
{
    gen_close_block(g);
    memcpy(g->vars, s->vars, sizeof s->vars);
    g->n_vars = s->n_vars;
    g->n_counters = s->n_counters;
}

static const char *low_bound(Gen *g)
{
    switch (rng_below(&g->rng, 10)) {
    case 0: return "1";
    case 1: return "m";
    case 2: return "max(m - 1, 0)";
    }
    return "0";
}

static const char *high_bound(Gen *g, const char *all)
{
    switch (rng_below(&g->rng, 11)) {
    case 3: return gen_text(g, "min(%s, %s)", gen_count(g), all);
    case 0: return gen_text(g, "min(m + 1, %s)", all);
    case 1: return gen_text(g, "min(2 * m, %s)", all);
    case 2: return gen_text(g, "max(%s - 1, 0)", all);
    }
    return all;
}

/* ---- accumulators ------------------------------------------------------------------------------ */

enum { MOST_ITERATIONS = 10 };

typedef enum AccKind { ACC_SUM, ACC_MAX, ACC_MEAN, ACC_LAST, ACC_BEFORE, ACC_KINDS } AccKind;

typedef struct Acc {
    Var var, other; /* other: BEFORE: the sum's value an iteration ago */
    AccKind kind;
} Acc;

static Acc new_accumulator(Gen *g, int rows, int cols)
{
    Acc a = {.kind = (AccKind)rng_below(&g->rng, ACC_KINDS)};
    double first = gen_pick_number(g, -1, 1);
    Var *v = gen_new_var(g, "A", rows, cols, -2 * MOST_ITERATIONS, 2 * MOST_ITERATIONS);

    gen_line(g, "Compute Fill %s, %g and get new %s", v->name, a.kind == ACC_MAX && gen_chance(g, 50) ? -30 : first,
         v->name);
    if (a.kind == ACC_MAX)
        v->lo = -30;
    a.var = *v;
    if (a.kind == ACC_BEFORE) {
        a.other = *gen_new_var(g, "A", rows, cols, v->lo, v->hi);
        gen_line(g, "Compute Fill %s, 0 and get new %s", a.other.name, a.other.name);
    }
    return a;
}

static void accumulate(Gen *g, const Acc *a)
{
    const Var *v = &a->var;
    Var *x = gen_chance(g, 60) ? gen_some_var(g, v->rows, v->cols) : NULL;

    if (!x || x->frozen)
        x = gen_make_value(g, v->rows, v->cols);
    gen_make_finite(g, x);
    if (!x->taken)
        gen_squash(g, x, 2);
    switch (a->kind) {
    case ACC_BEFORE: /* a mask that keeps all leaves the value itself */
        gen_line(g, "Compute Mask %s where row(%s) >= %d else 0 and get new %s", v->name, v->name,
                 gen_chance(g, 50) ? 0 : gen_pick(g, 1, 20), a->other.name);
        gen_line(g, "Compute Add %s, %s and get new %s", v->name, x->name, v->name);
        break;
    case ACC_SUM: gen_line(g, "Compute Add %s, %s and get new %s", v->name, x->name, v->name); break;
    case ACC_MAX: gen_line(g, "Compute Max %s, %s and get new %s", v->name, x->name, v->name); break;
    case ACC_MEAN:
        gen_line(g, "Compute Multiply %s, 0.5 and get new %s", v->name, v->name);
        gen_line(g, "Compute Add %s, %s and get new %s", v->name, x->name, v->name);
        break;
    case ACC_LAST:
    case ACC_KINDS: gen_line(g, "Compute Add %s, 0.25 and get new %s", x->name, v->name); break;
    }
}

/* ---- elementwise ---------------------------------------------------------------------------------- */

static void load_something(Gen *g, Axis r, Axis c)
{
    switch (rng_below(&g->rng, 6)) {
    case 0: gen_load_row(g, c); break;
    case 1: gen_load_column(g, r); break;
    case 2: gen_load_matrix(g, r, c, g->c->dtype, SPACE_SHARED); break;
    case 3: gen_load_matrix(g, r, c, DT_F32, SPACE_REGISTER); break;
    default: gen_load_matrix(g, r, c, gen_narrow(g), SPACE_REGISTER); break;
    }
}

/* A tile beside the one at hand, perhaps outside of the tensor. */
static Axis neighbour(Gen *g, Axis a)
{
    a.at = gen_text(g, "%s %s 1", a.at, gen_chance(g, 50) ? "+" : "-");
    return a;
}

static void inner_loop(Gen *g, Axis r, Axis c)
{
    Acc acc = new_accumulator(g, gen_chance(g, 80) ? r.tile : 1, gen_chance(g, 60) ? c.tile : 1);
    Scope scope = open_loop(g, "j", low_bound(g), gen_chance(g, 50) ? "3" : "min(m + 2, 4)");

    if (gen_chance(g, 60))
        load_something(g, r, axis(c.dim, "j", c.size, c.tile));
    gen_some_statements(g, r, c, gen_pick(g, 1, 3));
    accumulate(g, &acc);
    close_loop(g, &scope);
}

static void store_some(Gen *g, Axis r, Axis c)
{
    Var *v = gen_some_var(g, r.tile, c.tile);

    if (!v || v->taken)
        v = gen_make_value(g, r.tile, c.tile);
    gen_store(g, v, r, c);
    if (gen_chance(g, 30) && (v = gen_some_var(g, r.tile, 1)))
        gen_store(g, v, r, c);
    if (gen_chance(g, 20) && (v = gen_some_var(g, 1, c.tile)))
        gen_store(g, v, r, c);
    if (gen_chance(g, 25))
        gen_store(g, gen_make_value(g, r.tile, c.tile), r, c);
    if (gen_chance(g, g->chained ? 40 : 15))
        gen_sum(g, r, c);
}

static void elementwise(Gen *g)
{
    int rows = rows_of_warps(g), cols = gen_columns(g) * g->warps_n * gen_pick(g, 1, 6 / g->warps_n);
    Axis r = axis("M", "m", "BM", rows), c = axis(g->cols, "n", "BN", cols);

    start(g, rows);
    add_grid_n(g, cols);
    for (int n = gen_pick(g, 1, 3); n > 0; n--)
        load_something(g, gen_chance(g, 10) ? neighbour(g, r) : r, gen_chance(g, 15) ? neighbour(g, c) : c);
    gen_some_statements(g, r, c, gen_pick(g, 2, 6));
    if (gen_chance(g, 40)) {
        inner_loop(g, r, c);
        gen_some_statements(g, r, c, gen_pick(g, 0, 3));
    }
    store_some(g, r, c);
}

/* ---- GEMM ------------------------------------------------------------------------------------------ */

static const char *load_operand(Gen *g, Axis r, Axis c, bool transposed)
{
    Var *v = transposed ? gen_load_matrix(g, c, r, gen_operand(g), SPACE_SHARED)
                        : gen_load_matrix(g, r, c, gen_operand(g), SPACE_SHARED);

    g->n_vars--; /* not for elementwise operations of this shape */
    return transposed ? gen_text(g, "%s.T", v->name) : v->name;
}

/* Through registers, where something is done to it. A function of the few numbers of 8 bits
 * would be rounded the same way wherever such a number stands, which is no noise. */
static const char *load_register_operand(Gen *g, Axis r, Axis c)
{
    DType dtype = gen_chance(g, 70) ? g->c->dtype : DT_F32;
    bool exact = gen_of_8_bits(g) || gen_chance(g, 50);
    Var *v = gen_load_matrix(g, r, c, dtype, SPACE_REGISTER);
    const char *name = v->name, *changed = gen_new_var(g, "P", r.tile, c.tile, 0, 0)->name;
    const char *operand = gen_fresh(g, "P");

    g->n_vars -= 2;
    gen_line(g, "Compute %s %s and get %s", exact ? "Multiply 0.5," : "Tanh", name, changed);
    gen_allocate(g, "%s in register (%s, %s) %s", operand, r.size, c.size, dtype_name(g->c->dtype));
    gen_line(g, "Compute Cast %s, %s and get %s", changed, dtype_name(g->c->dtype), operand);
    return operand;
}

static const char *load_a(Gen *g, Axis r, Axis k)
{
    return g->warps_n == 1 && gen_chance(g, 20) ? load_register_operand(g, r, k) : load_operand(g, r, k, gen_chance(g, 20));
}

static Var *product(Gen *g, Axis r, Axis c)
{
    Var *v = gen_new_var(g, "D", r.tile, c.tile, -100, 100);

    if (gen_chance(g, 50))
        gen_line(g, "Compute Fill %s, %g and get new %s", v->name, gen_chance(g, 50) ? 0 : 0.5, v->name);
    return v;
}

static void scale_product(Gen *g, Var *v, double terms)
{
    double by = ldexp(1, -(int)ceil(log2(sqrt(terms) * 0.7 + 1)));

    gen_line(g, "Compute Multiply %s, %g and get new %s", v->name, by, v->name);
    v->lo = -8, v->hi = 8;
    if (g->c->fill != FILL_UNIFORM)
        v->lo = -30, v->hi = 30;
}

static void gemm(Gen *g)
{
    int rows = rows_of_warps(g), cols = gen_columns(g) * g->warps_n * (g->warps_n > 1 ? gen_one_of(g, 1, 2, 4) : gen_pick(g, 1, 6));
    int depth = gen_step(g) * gen_pick(g, 1, 3), k_extent;
    Axis r = axis("M", "m", "BM", rows), c = axis("N", "n", "BN", cols), k = axis("K", "k", "BK", depth);
    Var *d, *e = NULL;
    Scope scope;

    start(g, rows);
    add_grid_n(g, cols);
    gen_assign_size(g, "BK", depth);
    k_extent = gen_declare_dim(g, "K", gen_pick_extent(g, depth), depth);
    d = product(g, r, c);
    if (gen_chance(g, 25))
        e = product(g, r, c);
    scope = open_loop(g, "k", gen_chance(g, 85) ? "0" : low_bound(g),
                      gen_chance(g, 85) ? "ceil(K / BK)" : high_bound(g, "ceil(K / BK)"));
    const char *a = load_a(g, r, k), *b = load_operand(g, k, c, gen_chance(g, 40));
    gen_line(g, "Compute GEMM %s, %s and accumulate %s", a, b, d->name);
    if (e)
        gen_line(g, "Compute GEMM %s, %s and accumulate %s", a, load_operand(g, k, c, gen_chance(g, 40)), e->name);
    close_loop(g, &scope);
    scale_product(g, d, k_extent);
    if (e)
        scale_product(g, e, k_extent);
    if (gen_chance(g, 50))
        load_something(g, r, c);
    gen_some_statements(g, r, c, gen_pick(g, 0, 5));
    store_some(g, r, c);
}

/* ---- GEMM GEMM ----------------------------------------------------------------------------------------- */

typedef struct Online {
    const char *m, *l; /* state; NULL: no softmax */
    bool by_hand;
} Online;

static Online start_online(Gen *g, int rows)
{
    Online o = {0};
    int kind = rng_below(&g->rng, 4);

    if (kind == 3)
        return o;
    o.by_hand = kind == 2;
    o.m = gen_new_var(g, "M", rows, 1, -100, 100)->name;
    o.l = gen_new_var(g, "L", rows, 1, 0, 100)->name;
    g->n_vars -= 2;
    if (o.by_hand) {
        gen_line(g, "Compute Fill %s, -1000 and get new %s", o.m, o.m);
        gen_line(g, "Compute Fill %s, 0 and get new %s", o.l, o.l);
    } else if (gen_chance(g, 30)) {
        gen_line(g, "Compute Fill %s, -inf and get new %s", o.m, o.m);
        gen_line(g, "Compute Fill %s, 0 and get new %s", o.l, o.l);
    } else if (gen_chance(g, 20)) { /* a sink: one more element that is always there */
        gen_line(g, "Compute Fill %s, 0.5 and get new %s", o.m, o.m);
        gen_line(g, "Compute Fill %s, 1 and get new %s", o.l, o.l);
    }
    return o;
}

static void softmax_by_hand(Gen *g, const Online *o, const char *s, int rows, const char *out)
{
    const char *before = gen_new_var(g, "B", rows, 1, 0, 0)->name, *factor = gen_new_var(g, "F", rows, 1, 0, 0)->name;
    const char *sum = gen_new_var(g, "U", rows, 1, 0, 0)->name;

    g->n_vars -= 3;
    gen_line(g, "Compute Add %s, 0 and get %s", o->m, before);
    gen_line(g, "Compute RowMax %s and get %s", s, sum);
    gen_line(g, "Compute Max %s, %s and get new %s", o->m, sum, o->m);
    gen_line(g, "Compute Subtract %s, %s and get new %s", s, o->m, s);
    gen_line(g, "Compute Exp %s and get new %s", s, s);
    gen_line(g, "Compute Subtract %s, %s and get %s", before, o->m, factor);
    gen_line(g, "Compute Exp %s and get new %s", factor, factor);
    gen_line(g, "Compute RowSum %s and get new %s", s, sum);
    gen_line(g, "Compute Multiply %s, %s and get new %s", o->l, factor, o->l);
    gen_line(g, "Compute Add %s, %s and get new %s", o->l, sum, o->l);
    gen_line(g, "Compute Multiply %s, %s and get new %s", out, factor, out);
}

/* From scores to weights, somehow, and to the form of an operand. */
static void weights(Gen *g, const Online *o, Var *s, Axis r, Axis n, const char *out)
{
    const char *name = s->name;

    if (gen_chance(g, 60))
        gen_mask(g, s, r, n);
    if (o->m && o->by_hand) {
        softmax_by_hand(g, o, name, r.tile, out);
    } else if (o->m) {
        gen_line(g, "Compute Softmax %s with %s and %s", name, o->m, o->l);
    } else {
        gen_make_finite(g, s);
        gen_squash(g, s, 8);
        gen_line(g, "Compute %s %s and get new %s", gen_chance(g, 50) ? "Sigmoid" : "Gelu", name, name);
        if (gen_chance(g, 40))
            gen_line(g, "Compute Mask %s where %s else 0", name, gen_predicate(g, name, r, n));
    }
}

static void second_product(Gen *g, const char *s, const char *v, const char *out, Axis r, Axis n)
{
    if (gen_chance(g, 20)) { /* through shared memory */
        const char *cast = gen_fresh(g, "P"), *dtype = dtype_name(g->c->dtype);

        gen_allocate(g, "%s in register (%s, %s) %s", cast, r.size, n.size, dtype);
        gen_allocate(g, "%s in shared (%s, %s) %s", cast, r.size, n.size, dtype);
        gen_line(g, "Compute Cast %s, %s and get %s", s, dtype, cast);
        gen_line(g, "Copy %s from register to shared", cast);
        gen_line(g, "Compute GEMM %s.shared, %s and accumulate %s", cast, v, out);
        return;
    }
    gen_line(g, "Reshape %s from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)", s);
    gen_line(g, "Compute GEMM %s, %s and accumulate %s", s, v, out);
}

static void leave_state(Gen *g, const Online *o, Var *out, Axis r, Axis e)
{
    Axis first = axis("E", "0", "BE", e.tile);

    if (gen_chance(g, 85))
        gen_line(g, "Compute Divide %s, %s else 0 and get new %s", out->name, o->l, out->name);
    if (gen_chance(g, 25)) {
        Var *lse = gen_new_var(g, "S", r.tile, 1, 0, 0);

        gen_line(g, "Compute Log %s and get %s", o->l, lse->name);
        gen_line(g, "Compute Add %s, %s and get new %s", lse->name, o->m, lse->name);
        gen_store(g, lse, r, NONE);
        g->n_vars--;
    }
    if (gen_chance(g, 15))
        gen_store(g, &(Var){.name = o->m, .rows = r.tile, .cols = 1}, r, first);
    if (gen_chance(g, 15))
        gen_store(g, &(Var){.name = o->l, .rows = r.tile, .cols = 1}, r, NONE);
}

/* The product of Q and K for tile n, a chunk of D at a time or all at once. */
static Var *scores(Gen *g, const char *q, Axis r, Axis n, Axis d, const char *chunks)
{
    Var *s = gen_new_var(g, "S", r.tile, n.tile, -100, 100);

    if (!chunks) {
        const char *k = load_operand(g, d, n, gen_chance(g, 75));

        gen_line(g, "Compute GEMM %s, %s and get %s%s", q, k, g->depth > 1 && gen_chance(g, 50) ? "new " : "", s->name);
        return s;
    }
    gen_line(g, "Compute Fill %s, 0 and get new %s", s->name, s->name);
    Scope scope = open_loop(g, "i", "0", chunks);
    d.at = "i";
    const char *a = load_operand(g, r, d, false), *b = load_operand(g, d, n, gen_chance(g, 75));
    gen_line(g, "Compute GEMM %s, %s and accumulate %s", a, b, s->name);
    close_loop(g, &scope);
    return &g->vars[g->n_vars - 1];
}

static void gemm_gemm(Gen *g)
{
    int rows = rows_of_warps(g), n_tile = gen_step(g) * gen_pick(g, 1, 3);
    int d_tile = gen_step(g) * gen_pick(g, 1, gen_of_8_bits(g) ? 2 : 4), e_tile = 8 * gen_pick(g, 1, 8);

    if (gen_of_8_bits(g))
        e_tile = (e_tile + 15) / 16 * 16;
    int d_extent = gen_chance(g, 75) ? d_tile : gen_pick_extent(g, d_tile);
    Axis r = axis("M", "m", "BM", rows), n = axis("N", "j", "BN", n_tile), d = axis("D", "0", "BD", d_tile);
    Axis e = axis("E", "0", "BE", e_tile);
    const char *q = NULL, *chunks = gen_chance(g, 20) ? "ceil(D / BD)" : NULL;
    Var *out, *s;
    Online o;
    Scope scope;

    start(g, rows);
    gen_assign_size(g, "BN", n_tile);
    gen_declare_dim(g, "N", gen_pick_extent(g, n_tile), n_tile);
    gen_assign_size(g, "BD", d_tile);
    gen_declare_dim(g, "D", d_extent, chunks ? d_tile : 0);
    gen_assign_size(g, "BE", e_tile);
    gen_declare_dim(g, "E", gen_chance(g, 75) ? e_tile : gen_pick(g, 1, e_tile), 0);
    if (!chunks)
        q = load_operand(g, r, d, false);
    o = start_online(g, rows);
    out = gen_new_var(g, "O", rows, e_tile, -8, 8);
    if (gen_chance(g, 50) || o.by_hand)
        gen_line(g, "Compute Fill %s, 0 and get new %s", out->name, out->name);
    out->rows = 0; /* not to be read before it was accumulated to */
    scope = open_loop(g, "j", low_bound(g), high_bound(g, "ceil(N / BN)"));
    s = scores(g, q, r, n, d, chunks);
    scale_product(g, s, d_extent);
    const char *v = load_operand(g, n, e, false), *name = s->name;
    if (gen_chance(g, 30))
        gen_some_statements(g, r, n, gen_pick(g, 1, 2));
    weights(g, &o, s, r, n, out->name);
    second_product(g, name, v, out->name, r, n);
    close_loop(g, &scope);
    out->rows = rows;
    if (o.m)
        leave_state(g, &o, out, r, e);
    else
        scale_product(g, out, 100);
    if (gen_chance(g, 30))
        gen_some_statements(g, r, e, gen_pick(g, 1, 3));
    store_some(g, r, e);
}

/* ---- rows that loops go over again ------------------------------------------------------------------------- */

/* Of a row's elements, whose turns may be anybody's: what it starts with, and in each turn what the tile at hand gives. */
static Acc start_fold(Gen *g, int rows, int cols)
{
    Acc a = {.kind = gen_chance(g, 50) ? ACC_SUM : ACC_MAX};
    double most = 2.0 * cols * MOST_ITERATIONS;

    a.var = *gen_new_var(g, "A", rows, 1, -most, most);
    gen_line(g, "Compute Fill %s, %g and get new %s", a.var.name, gen_pick_number(g, -1, 1), a.var.name);
    return a;
}

static void fold(Gen *g, const Acc *a, int cols)
{
    Var *x = gen_make_value(g, a->var.rows, cols), *t;
    bool sum = a->kind == ACC_SUM;

    gen_make_finite(g, x);
    if (!x->taken)
        gen_squash(g, x, 2);
    t = gen_new_var(g, "T", a->var.rows, 1, -2 * cols, 2 * cols);
    gen_line(g, "Compute %s %s and get %s", sum ? "RowSum" : "RowMax", x->name, t->name);
    gen_line(g, "Compute %s %s, %s and get new %s", sum ? "Add" : "Max", a->var.name, t->name, a->var.name);
}

static void rows_again(Gen *g)
{
    int rows = rows_of_warps(g), cols = gen_columns(g) * gen_pick(g, 1, 4), n = gen_pick(g, 1, 2);
    Axis r = axis("M", "m", "BM", rows), c = axis("N", "j", "BN", cols);
    const char *high = "ceil(N / BN)", *name, *copy;
    Acc folds[2];
    Scope scope;

    g->kept = gen_pick(g, 1, 3);
    g->cluster = gen_chance(g, 75) ? gen_pick(g, 2, 8) : 0;
    start(g, rows);
    gen_assign_size(g, "BN", cols);
    gen_declare_dim(g, "N", gen_pick_extent(g, cols), cols);
    for (int i = 0; i < n; i++)
        folds[i] = start_fold(g, rows, cols);
    scope = open_loop(g, "j", "0", high);
    name = gen_load_matrix(g, r, c, g->c->dtype, gen_chance(g, 60) ? SPACE_SHARED : SPACE_REGISTER)->name;
    copy = g->last_copy;
    for (int i = 0; i < n; i++)
        fold(g, &folds[i], cols);
    close_loop(g, &scope);
    scope = open_loop(g, "j", "0", high);
    gen_load_again(g, name, copy, r, c);
    gen_some_statements(g, r, c, gen_pick(g, 0, 2));
    gen_store(g, gen_make_value(g, rows, cols), r, c);
    close_loop(g, &scope);
    if (gen_chance(g, 60))
        gen_store(g, gen_make_value(g, rows, 1), r, NONE);
}

/* ---- stream ---------------------------------------------------------------------------------------------- */

static void stream(Gen *g)
{
    int rows = rows_of_warps(g), cols = gen_columns(g) * gen_pick(g, 1, 6), n_accs = gen_pick(g, 1, 3);
    Axis r = axis("M", "m", "BM", rows), c = axis("N", "j", "BN", cols);
    Acc accs[3];
    Scope scope;

    start(g, rows);
    gen_assign_size(g, "BN", cols);
    gen_declare_dim(g, "N", gen_pick_extent(g, cols), cols);
    if (gen_chance(g, 40))
        gen_load_column(g, r);
    for (int i = 0; i < n_accs; i++)
        accs[i] = new_accumulator(g, rows, gen_chance(g, 70) ? 1 : cols);
    scope = open_loop(g, "j", low_bound(g), high_bound(g, "ceil(N / BN)"));
    gen_load_matrix(g, r, c, g->c->dtype, gen_chance(g, 60) ? SPACE_SHARED : SPACE_REGISTER);
    gen_some_statements(g, r, c, gen_pick(g, 1, 4));
    for (int i = 0; i < n_accs; i++)
        accumulate(g, &accs[i]);
    close_loop(g, &scope);
    gen_some_statements(g, r, axis("N", "0", "BN", cols), gen_pick(g, 0, 2));
    if (gen_chance(g, 60)) {
        scope = open_loop(g, "j", low_bound(g), high_bound(g, "ceil(N / BN)"));
        load_something(g, r, c);
        gen_some_statements(g, r, c, gen_pick(g, 1, 3));
        if (gen_chance(g, 30))
            gen_sum(g, r, c);
        gen_store(g, gen_make_value(g, rows, cols), r, c);
        close_loop(g, &scope);
    }
    gen_store(g, gen_make_value(g, rows, 1), r, gen_chance(g, 50) ? NONE : axis("N", "0", "BN", cols));
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

static void one_kernel(Gen *g, Family family)
{
    g->warps = gen_one_of(g, 1, 2, 4);
    g->warps_n = 1;
    g->stages = gen_pick(g, 1, 4);
    switch (family) {
    case FAMILY_ELEMENTWISE:
        g->warps_n = g->warps > 1 && gen_chance(g, 25) ? 2 : 1;
        elementwise(g);
        break;
    case FAMILY_GEMM:
        g->warps_n = g->warps > 1 && gen_chance(g, 25) ? 2 : 1;
        gemm(g);
        break;
    case FAMILY_GEMM_GEMM: gemm_gemm(g); break;
    case FAMILY_STREAM:
        if (gen_chance(g, 30))
            rows_again(g);
        else
            stream(g);
        break;
    case FAMILY_ATTENTION: case FAMILY_PRODUCT: case FAMILY_WHOLE: case FAMILY_CHAIN: case FAMILIES: break;
    }
    finish(g);
}

/* As it was when nothing was written, but for what other kernels have to know. */
static void next_kernel(Gen *g)
{
    g->head = str_new(g->arena);
    g->allocs = str_new(g->arena);
    g->body = str_new(g->arena);
    g->n_vars = g->n_counters = g->n_dims = 0;
    g->has_alpha = g->has_count = false;
    g->cols = "N";
}

/* What the first leaves has rows along M and columns along N, or along the K of a second with a GEMM. */
static void chain(Gen *g)
{
    bool elementwise_first = gen_chance(g, 50);
    Family second = (Family)gen_one_of(g, FAMILY_ELEMENTWISE, FAMILY_GEMM, FAMILY_GEMM, FAMILY_GEMM_GEMM, FAMILY_STREAM);

    g->chained = true;
    if (elementwise_first && second == FAMILY_GEMM)
        g->cols = "K";
    one_kernel(g, elementwise_first ? FAMILY_ELEMENTWISE : FAMILY_GEMM);
    next_kernel(g);
    one_kernel(g, second);
}

void generate_code(Arena *arena, LevelCase *c, Family family, Rng *rng)
{
    Gen g = {.arena = arena, .c = c, .rng = *rng, .head = str_new(arena), .allocs = str_new(arena),
             .body = str_new(arena), .cols = "N"};

    c->fill = gen_chance(&g, 70) ? FILL_UNIFORM : gen_chance(&g, 60) ? FILL_NORMAL : FILL_SMALL;
    if (family == FAMILY_CHAIN)
        chain(&g);
    else
        one_kernel(&g, family);
}
