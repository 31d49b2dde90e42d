/* generate_memory.c: tensors, and copies of tiles of them. */
#include "generate.h"

/* ---- memory ---------------------------------------------------------------------------------------------- */

/* Of two batch entries one may serve both, as a key's head does several queries. */
typedef struct Batch {
    const char *dim, *at;
} Batch;

static Batch own_entry(const Gen *g)
{
    return g->batch ? (Batch){"Z", "z"} : (Batch){0};
}

static Batch some_entry(Gen *g)
{
    if (!g->batch || g->z < 2 || gen_chance(g, 70))
        return own_entry(g);
    for (int i = 0; i < g->c->n_binds; i++)
        if (strcmp(g->c->binds[i].name, "ZH") == 0)
            return (Batch){"ZH", "z div 2"};
    levels_bind(g->c, "ZH", (g->z + 1) / 2);
    return (Batch){"ZH", "z div 2"};
}

static const char *coordinate(Gen *g, Batch b, Axis r, Axis c)
{
    const char *const pairs[][2] = {{b.dim, b.at}, {r.dim, r.at}, {c.dim, c.at}};
    Str s = str_new(g->arena);
    int first = rng_below(&g->rng, 3); /* in any order */

    str_add(&s, "[");
    for (int i = 0; i < 3; i++) {
        const char *const *p = pairs[(first + i) % 3];

        if (p[0])
            str_printf(&s, "%s%s = %s", s.len > 1 ? ", " : "", p[0], p[1]);
    }
    str_add(&s, "]");
    return str_text(&s);
}

static void declare_tensor(Gen *g, const char *keyword, const char *name, Batch b, Axis r, Axis c, DType dtype)
{
    bool middle = g->middle && r.dim && c.dim;
    const char *const dims[] = {middle ? NULL : b.dim, r.dim, middle ? b.dim : NULL, c.dim};
    Str s = str_new(g->arena);

    for (int i = 0; i < 4; i++)
        if (dims[i])
            str_printf(&s, "%s%s", s.len ? ", " : "", dims[i]);
    gen_head(g, "%s %s (%s) %s", keyword, name, str_text(&s), dtype_name(dtype));
}

/* The tile of a matrix's tensor that a copy moves. */
static const char *tile_shape(Gen *g, const char *rows, const char *cols)
{
    return gen_text(g, "(%s, %s%s)", rows, g->batch && g->middle ? "1, " : "", cols);
}

static double reach(const Gen *g)
{
    return g->c->fill == FILL_UNIFORM ? 1 : 4.5;
}

static DType any_float(Gen *g)
{
    return gen_chance(g, 50) ? g->c->dtype : gen_chance(g, 50) ? DT_F32 : gen_narrow(g);
}

static Var *loaded(Gen *g, const char *name, int rows, int cols)
{
    Var *v = gen_add_var(g, name, rows, cols, -reach(g), reach(g));

    v->taken = v->exact = true;
    return v;
}

/* ---- from kernel to kernel -------------------------------------------------------------------------- */

static bool same_dim(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* What the kernel before left of such a tensor; NULL: nothing, or it is not to be read. */
static Passed *take_passed(Gen *g, Axis r, Axis c)
{
    for (int i = 0; i < g->n_passed; i++) {
        Passed *p = &g->passed[i];

        if (!p->read && same_dim(p->row_dim, r.dim) && same_dim(p->col_dim, c.dim) && p->batch == g->batch &&
            gen_chance(g, 75))
            return p;
    }
    return NULL;
}

static Var *read_passed(Gen *g, Passed *p, int rows, int cols)
{
    Var *v = gen_add_var(g, p->var.name, rows, cols, p->var.lo, p->var.hi);

    p->read = v->taken = v->exact = true;
    return v;
}

/* Where each element of the tensor is written. */
static void leave(Gen *g, const Var *v, Axis r, Axis c, DType dtype, bool batch)
{
    if (g->chained && g->depth == 0 && g->n_passed < MAX_PASSED && (!r.dim || v->rows == r.tile) &&
        (!c.dim || v->cols == c.tile))
        g->passed[g->n_passed++] = (Passed){*v, r.dim, c.dim, dtype, batch, false};
}

/* ---- loads -------------------------------------------------------------------------------------------- */

/* Now and then a table says which entry a tile is of, or where each of its rows lies: for itself, or eight by eight. */
static void look_up(Gen *g, const char *tile, Batch *b, Axis *r)
{
    const char *table, *row;

    if (b->dim && gen_chance(g, 10)) {
        table = gen_fresh(g, "T");
        gen_head(g, "Input %s (%s) int32", table, b->dim);
        b->at = gen_text(g, "%s[%s]", table, b->at);
    }
    if (!r->dim || g->middle || gen_chance(g, 85))
        return;
    table = gen_fresh(g, "T");
    gen_head(g, "Input %s (%s) int32", table, r->dim);
    row = gen_text(g, "((%s) * %s + row(%s))", r->at, r->size, tile);
    r->at = gen_chance(g, 50) ? gen_text(g, "%s[%s]", table, row) : gen_text(g, "%s[%s div 8] * 8 + %s %% 8", table, row, row);
}

Var *gen_load_matrix(Gen *g, Axis r, Axis c, DType dtype, Space space)
{
    Passed *p = take_passed(g, r, c);
    bool fits = p && (space == SPACE_REGISTER || p->dtype == dtype);
    const char *name = fits ? p->var.name : gen_fresh(g, "X");
    Batch b = fits ? own_entry(g) : some_entry(g);

    if (fits)
        dtype = p->dtype;
    declare_tensor(g, "Input", name, b, r, c, dtype);
    gen_allocate(g, "%s in %s (%s, %s) %s", name, space_name(space), r.size, c.size, dtype_name(dtype));
    if (!fits)
        look_up(g, name, &b, &r);
    g->last_copy = gen_text(g, "Copy %s %s in coordinate %s from global to %s", name, tile_shape(g, r.size, c.size),
                            coordinate(g, b, r, c), space_name(space));
    gen_line(g, "%s", g->last_copy);
    return fits ? read_passed(g, p, r.tile, c.tile) : loaded(g, name, r.tile, c.tile);
}

void gen_load_again(Gen *g, const char *name, const char *copy, Axis r, Axis c)
{
    gen_line(g, "%s", copy);
    loaded(g, name, r.tile, c.tile);
}

Var *gen_load_row(Gen *g, Axis c)
{
    Passed *p = take_passed(g, (Axis){0}, c);
    const char *name = p ? p->var.name : gen_fresh(g, "R");
    Batch b = p ? own_entry(g) : some_entry(g);

    declare_tensor(g, "Input", name, b, (Axis){0}, c, p ? p->dtype : any_float(g));
    gen_allocate(g, "%s in register (1, %s)", name, c.size);
    gen_line(g, "Copy %s (%s) in coordinate %s from global to register", name, c.size,
             coordinate(g, b, (Axis){0}, c));
    return p ? read_passed(g, p, 1, c.tile) : loaded(g, name, 1, c.tile);
}

Var *gen_load_column(Gen *g, Axis r)
{
    Passed *p = take_passed(g, r, (Axis){0});
    const char *name = p ? p->var.name : gen_fresh(g, "C");
    Batch b = p ? own_entry(g) : some_entry(g);

    declare_tensor(g, "Input", name, b, r, (Axis){0}, p ? p->dtype : any_float(g));
    gen_allocate(g, "%s in register (%s, 1)", name, r.size);
    gen_line(g, "Copy %s (%s) in coordinate %s from global to register", name, r.size,
             coordinate(g, b, r, (Axis){0}));
    return p ? read_passed(g, p, r.tile, 1) : loaded(g, name, r.tile, 1);
}

/* A column is one column of the tensor, a row one row, at the tiles' numbers. */
void gen_store(Gen *g, Var *v, Axis r, Axis c)
{
    Batch b = own_entry(g);

    if (v->taken || gen_chance(g, 10)) {
        Var *copy = gen_new_var(g, "Y", v->rows, v->cols, v->lo, v->hi);

        gen_line(g, "Compute Add %s, 0 and get %s", v->name, copy->name);
        copy->minus_inf = v->minus_inf;
        v = copy;
    }
    if (g->chained) {
        gen_make_finite(g, v);
        gen_squash(g, v, 4);
    }
    v->taken = true;
    DType dtype = any_float(g);
    declare_tensor(g, "Output", v->name, b, r, c, dtype);
    leave(g, v, r, c, dtype, g->batch);
    gen_line(g, "Copy %s %s in coordinate %s from register to global", v->name,
             r.dim && c.dim ? tile_shape(g, v->rows == 1 ? "1" : r.size, v->cols == 1 ? "1" : c.size)
                            : gen_text(g, "(%s)", r.dim ? r.size : c.size),
             coordinate(g, b, r, c));
}

/* ---- sums over blocks ------------------------------------------------------------------------------------ */

enum { MOST_SUM = 2000 }; /* of few elements, each of which is at most 2 */

void gen_sum(Gen *g, Axis r, Axis c)
{
    Var *v = gen_make_value(g, r.tile, c.tile), *sum = v;
    int rows = g->warps_n == 1 ? 0 : 2, cols = g->warps == g->warps_n ? 1 : 2; /* a warp has them whole, or it is the tile */
    int kind = gen_one_of(g, rows, cols, 2);
    Batch b = gen_chance(g, 60) ? own_entry(g) : (Batch){0};
    bool middle = g->middle;

    gen_make_finite(g, v);
    gen_squash(g, v, 2);
    if (kind < 2) { /* of rows, of columns */
        sum = gen_new_var(g, "T", kind ? 1 : r.tile, kind ? c.tile : 1, -MOST_SUM, MOST_SUM);
        gen_line(g, "Compute %s %s and get %s", kind ? "ColSum" : "RowSum", v->name, sum->name);
        *(kind ? &r : &c) = (Axis){0};
    }
    sum->taken = true;
    sum->lo = -MOST_SUM, sum->hi = MOST_SUM;
    g->middle &= b.dim != NULL;
    declare_tensor(g, "Output", sum->name, b, r, c, DT_F32);
    leave(g, sum, r, c, DT_F32, b.dim != NULL);
    gen_line(g, "Copy %s %s in coordinate %s from register to global and accumulate", sum->name,
             r.dim && c.dim ? tile_shape(g, r.size, c.size) : gen_text(g, "(%s)", r.dim ? r.size : c.size),
             coordinate(g, b, r, c));
    g->middle = middle;
}
