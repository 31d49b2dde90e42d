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

Var *gen_load_matrix(Gen *g, Axis r, Axis c, DType dtype, Space space)
{
    const char *name = gen_fresh(g, "X");
    Batch b = some_entry(g);

    declare_tensor(g, "Input", name, b, r, c, dtype);
    gen_allocate(g, "%s in %s (%s, %s) %s", name, space_name(space), r.size, c.size, dtype_name(dtype));
    gen_line(g, "Copy %s %s in coordinate %s from global to %s", name, tile_shape(g, r.size, c.size),
             coordinate(g, b, r, c), space_name(space));
    return loaded(g, name, r.tile, c.tile);
}

Var *gen_load_row(Gen *g, Axis c)
{
    const char *name = gen_fresh(g, "R");
    Batch b = some_entry(g);

    declare_tensor(g, "Input", name, b, (Axis){0}, c, any_float(g));
    gen_allocate(g, "%s in register (1, %s)", name, c.size);
    gen_line(g, "Copy %s (%s) in coordinate %s from global to register", name, c.size,
             coordinate(g, b, (Axis){0}, c));
    return loaded(g, name, 1, c.tile);
}

Var *gen_load_column(Gen *g, Axis r)
{
    const char *name = gen_fresh(g, "C");
    Batch b = some_entry(g);

    declare_tensor(g, "Input", name, b, r, (Axis){0}, any_float(g));
    gen_allocate(g, "%s in register (%s, 1)", name, r.size);
    gen_line(g, "Copy %s (%s) in coordinate %s from global to register", name, r.size,
             coordinate(g, b, r, (Axis){0}));
    return loaded(g, name, r.tile, 1);
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
    v->taken = true;
    declare_tensor(g, "Output", v->name, b, r, c, any_float(g));
    gen_line(g, "Copy %s %s in coordinate %s from register to global", v->name,
             r.dim && c.dim ? tile_shape(g, v->rows == 1 ? "1" : r.size, v->cols == 1 ? "1" : c.size)
                            : gen_text(g, "(%s)", r.dim ? r.size : c.size),
             coordinate(g, b, r, c));
}
