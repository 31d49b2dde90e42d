/* generate.c: text, declarations, variables and statements of random code. */
#include "generate.h"

#include <math.h>

/* ---- choices ------------------------------------------------------------------------ */

int gen_pick(Gen *g, int low, int high)
{
    return low + rng_below(&g->rng, high - low + 1);
}

bool gen_chance(Gen *g, int percent)
{
    return rng_below(&g->rng, 100) < percent;
}

double gen_pick_number(Gen *g, double low, double high)
{
    double x = low + (high - low) * rng_uniform(&g->rng);

    return round(x * 64) / 64;
}

int gen_pick_extent(Gen *g, int tile)
{
    switch (rng_below(&g->rng, 9)) {
    case 0: return gen_chance(g, 30) ? 0 : 1;
    case 1: return tile - 1;
    case 2: return tile;
    case 3: return tile + 1;
    case 4: return 2 * tile;
    case 5: return 2 * tile - 1;
    case 6: return 2 * tile + 1;
    }
    return gen_pick(g, 1, 5 * tile / 2 < 120 ? 5 * tile / 2 : 120);
}

/* ---- types --------------------------------------------------------------------------- */

bool gen_of_8_bits(const Gen *g)
{
    return dtype_bytes(g->c->dtype) == 1;
}

DType gen_narrow(Gen *g)
{
    bool both = target_has_dtype(target_find(g->c->target), DT_BF16);

    return both && gen_chance(g, 50) ? DT_BF16 : DT_F16;
}

DType gen_operand(Gen *g)
{
    if (!gen_of_8_bits(g) || gen_chance(g, 70))
        return g->c->dtype;
    return g->c->dtype == DT_E4M3 ? DT_E5M2 : DT_E4M3;
}

int gen_columns(const Gen *g)
{
    return gen_of_8_bits(g) ? 16 : 8;
}

int gen_step(const Gen *g)
{
    return gen_of_8_bits(g) ? 32 : 16;
}

/* ---- text ------------------------------------------------------------------------------ */

const char *gen_text(Gen *g, const char *fmt, ...)
{
    va_list args;
    const char *t;

    va_start(args, fmt);
    t = arena_vprintf(g->arena, fmt, args);
    va_end(args);
    return t;
}

static void put_line(Str *out, int depth, const char *statement)
{
    for (int i = 0; i <= depth; i++)
        str_add(out, "  ");
    str_printf(out, "%s\n", statement);
}

void gen_line(Gen *g, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_line(&g->body, g->depth, arena_vprintf(g->arena, fmt, args));
    va_end(args);
}

void gen_head(Gen *g, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_line(&g->head, 0, arena_vprintf(g->arena, fmt, args));
    va_end(args);
}

void gen_allocate(Gen *g, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_line(&g->allocs, 0, gen_text(g, "Allocate %s", arena_vprintf(g->arena, fmt, args)));
    va_end(args);
}

void gen_open_block(Gen *g, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_line(&g->body, g->depth++, arena_vprintf(g->arena, fmt, args));
    va_end(args);
}

void gen_close_block(Gen *g)
{
    g->depth--;
    gen_line(g, "end");
}

const char *gen_fresh(Gen *g, const char *prefix)
{
    return gen_text(g, "%s%d", prefix, g->next++);
}

/* ---- declarations ------------------------------------------------------------------------ */

int gen_declare_dim(Gen *g, const char *name, int value, int tile)
{
    bool known = !g->chained && value > tile && gen_chance(g, 40);

    for (int i = 0; i < g->c->n_binds; i++)
        if (strcmp(g->c->binds[i].name, name) == 0) {
            g->dims[g->n_dims++] = name;
            return (int)g->c->binds[i].value;
        }
    levels_bind(g->c, name, value);
    if (known && gen_chance(g, 50)) {
        gen_head(g, "%s = %d", name, value);
    } else {
        if (known)
            levels_set(g->arena, g->c, name, value);
        g->dims[g->n_dims++] = name;
    }
    return value;
}

void gen_assign_size(Gen *g, const char *name, int value)
{
    gen_head(g, "%s = %d", name, value);
}

Var *gen_add_var(Gen *g, const char *name, int rows, int cols, double lo, double hi)
{
    Var *v = &g->vars[g->n_vars < MAX_VARS ? g->n_vars++ : MAX_VARS - 1];

    *v = (Var){.name = name, .rows = rows, .cols = cols, .lo = lo, .hi = hi};
    return v;
}

Var *gen_new_var(Gen *g, const char *prefix, int rows, int cols, double lo, double hi)
{
    const char *name = gen_fresh(g, prefix);

    gen_allocate(g, "%s in register (%d, %d)", name, rows, cols);
    return gen_add_var(g, name, rows, cols, lo, hi);
}

Var *gen_some_var(Gen *g, int rows, int cols)
{
    int first = rng_below(&g->rng, g->n_vars + 1);

    for (int i = 0; i < g->n_vars; i++) {
        Var *v = &g->vars[(first + i) % g->n_vars];

        if (v->rows == rows && v->cols == cols)
            return v;
    }
    return NULL;
}

/* One for the kernel, or one for each entry of the batch. */
const char *gen_count(Gen *g)
{
    if (!g->has_count)
        gen_head(g, "Input Count (%s) int32", g->batch ? "Z" : "1");
    g->has_count = true;
    return g->batch ? "Count[z]" : "Count[0]";
}

/* ---- statements ---------------------------------------------------------------------------------------------- */

static void branch(Gen *g, Axis r, Axis c)
{
    int vars = g->n_vars;

    gen_some_statements(g, r, c, gen_pick(g, 1, 2));
    g->n_vars = vars;
}

/* Both ways through an if, and what either may leave behind. */
static void choice(Gen *g, Axis r, Axis c)
{
    Var before[MAX_VARS];

    memcpy(before, g->vars, sizeof before);
    gen_open_block(g, "if %s", gen_predicate(g, NULL, r, c));
    branch(g, r, c);
    if (gen_chance(g, 50)) {
        Var then[MAX_VARS];

        memcpy(then, g->vars, sizeof then);
        memcpy(g->vars, before, sizeof before);
        g->depth--;
        gen_line(g, "else");
        g->depth++;
        branch(g, r, c);
        memcpy(before, then, sizeof before);
    }
    gen_close_block(g);
    for (int i = 0; i < g->n_vars; i++) {
        g->vars[i].lo = fmin(g->vars[i].lo, before[i].lo);
        g->vars[i].hi = fmax(g->vars[i].hi, before[i].hi);
        g->vars[i].minus_inf |= before[i].minus_inf;
    }
}

static Var *changeable(Gen *g)
{
    int first = rng_below(&g->rng, g->n_vars + 1);

    for (int i = 0; i < g->n_vars; i++) {
        Var *v = &g->vars[(first + i) % g->n_vars];

        if (!v->frozen && !v->taken)
            return v;
    }
    return NULL;
}

void gen_some_statements(Gen *g, Axis r, Axis c, int n)
{
    for (; n > 0; n--) {
        Var *v = changeable(g);
        int what = rng_below(&g->rng, 100);

        if (g->n_vars > MAX_VARS - 8)
            return;
        if (what < 35 && v)
            gen_change(g, v, r, c);
        else if (what < 70)
            gen_make_value(g, r.tile, c.tile);
        else if (what < 80)
            gen_make_value(g, r.tile, 1);
        else if (what < 85)
            gen_make_value(g, 1, c.tile);
        else if (what < 90)
            gen_load_row(g, c);
        else if (what < 95)
            gen_load_column(g, r);
        else if (g->depth < 3)
            choice(g, r, c);
    }
}
