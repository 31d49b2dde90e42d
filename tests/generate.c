/* generate.c: values, operations, predicates, loads and stores of random code. */
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

void gen_declare_dim(Gen *g, const char *name, int value, int tile)
{
    bool known = value > tile && gen_chance(g, 40);

    levels_bind(g->c, name, value);
    if (known && gen_chance(g, 50)) {
        gen_head(g, "%s = %d", name, value);
    } else {
        if (known)
            levels_set(g->arena, g->c, name, value);
        g->dims[g->n_dims++] = name;
    }
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

/* ---- operands ------------------------------------------------------------------------------ */

/* What a statement reads: a variable, a parameter or a number. */
typedef struct Operand {
    const char *text;
    double lo, hi;
    bool minus_inf;
    int rows, cols;
} Operand;

static Operand operand_of(const Var *v)
{
    return (Operand){v->name, v->lo, v->hi, v->minus_inf, v->rows, v->cols};
}

static Operand scalar_operand(Gen *g)
{
    double x = gen_pick_number(g, -3, 3);

    switch (rng_below(&g->rng, 5)) {
    case 0:
        if (!g->has_alpha) {
            g->has_alpha = true;
            gen_head(g, "Param alpha");
            levels_bind(g->c, "alpha", 0.75);
        }
        return (Operand){"alpha", 0.75, 0.75, false, 1, 1};
    case 1:
        if (g->n_counters)
            return (Operand){g->counters[rng_below(&g->rng, g->n_counters)], 0, 130, false, 1, 1};
        break;
    }
    if (x == 0)
        x = 1;
    return (Operand){gen_text(g, "%g", x), x, x, false, 1, 1};
}

static bool broadcasts_to(const Var *v, int rows, int cols)
{
    return (v->rows == rows || v->rows == 1) && (v->cols == cols || v->cols == 1);
}

static Operand any_operand(Gen *g, int rows, int cols)
{
    int first = rng_below(&g->rng, g->n_vars + 1);

    if (gen_chance(g, 12))
        return scalar_operand(g);
    for (int i = 0; i < g->n_vars; i++) {
        Var *v = &g->vars[(first + i) % g->n_vars];

        if (broadcasts_to(v, rows, cols))
            return operand_of(v);
    }
    return scalar_operand(g);
}

/* ---- intervals ---------------------------------------------------------------------------------- */

static double magnitude(const Var *v)
{
    return fmax(fabs(v->lo), fabs(v->hi));
}

void gen_squash(Gen *g, Var *v, double limit)
{
    double most = magnitude(v), by = limit / most;

    if (most <= limit)
        return;
    by = ldexp(1, (int)floor(log2(by)));
    gen_line(g, "Compute Multiply %s, %g and get new %s", v->name, by, v->name);
    v->lo *= by;
    v->hi *= by;
}

void gen_make_finite(Gen *g, Var *v)
{
    if (!v->minus_inf)
        return;
    v->lo = fmin(v->lo, -9);
    gen_line(g, "Compute Max %s, %g and get new %s", v->name, v->lo, v->name);
    v->minus_inf = false;
}

/* ---- operations ------------------------------------------------------------------------------------ */

typedef struct Unary {
    const char *name;
    double least, most;  /* its domain here */
    bool takes_inf;      /* -inf gives a number */
    double (*f)(double); /* monotone; NULL: of no sign, see bound */
    double bound;        /* NULL f: results are within [-bound, bound] of what came in */
} Unary;

static double relu(double x) { return x > 0 ? x : 0; }
static double negate(double x) { return -x; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double reciprocal(double x) { return 1 / x; }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double zero_to(double x) { return x; }

static const Unary UNARY[] = {
    {"Negate", -100, 100, false, negate, 0},
    {"Abs", -100, 100, false, NULL, 1},
    {"Square", -8, 8, false, NULL, 8},
    {"Exp", -20, 5, true, exp, 0},
    {"Exp2", -30, 6, true, exp2, 0},
    {"Log", 0.05, 100, false, log, 0},
    {"Log2", 0.05, 100, false, log2, 0},
    {"Sqrt", 0.05, 100, false, sqrt, 0},
    {"Rsqrt", 0.05, 100, false, rsqrt, 0},
    {"Tanh", -30, 30, true, tanh, 0},
    {"Sigmoid", -30, 30, true, sigmoid, 0},
    {"Silu", -30, 30, false, NULL, 1},
    {"Gelu", -30, 30, false, NULL, 1},
    {"Relu", -100, 100, true, relu, 0},
    {"Reciprocal", 0.05, 100, false, reciprocal, 0},
    {"Add 0,", -100, 100, true, zero_to, 0},
};

static bool in_domain(const Unary *u, const Operand *a)
{
    return a->lo >= u->least && a->hi <= u->most && (!a->minus_inf || u->takes_inf);
}

static void unary_interval(const Unary *u, const Operand *a, double *lo, double *hi)
{
    double most = fmax(fabs(a->lo), fabs(a->hi));

    if (u->f) {
        double x = u->f(a->lo), y = u->f(a->hi);

        *lo = a->minus_inf ? fmin(fmin(x, y), -1) : fmin(x, y);
        *hi = fmax(x, y);
        if (a->minus_inf && (u->f == exp || u->f == exp2 || u->f == relu || u->f == sigmoid))
            *lo = 0;
        return;
    }
    *lo = u->name[0] == 'A' || u->name[0] == 'S' ? -0.5 * (u->name[1] == 'i') : -0.5;
    *hi = most * u->bound;
}

static bool unary(Gen *g, Operand a, double *lo, double *hi, const char **statement)
{
    const Unary *u = &UNARY[rng_below(&g->rng, (int)TW_COUNT(UNARY))];

    if (!in_domain(u, &a))
        return false;
    unary_interval(u, &a, lo, hi);
    *statement = gen_text(g, "%s %s", u->name, a.text);
    return true;
}

static void product_interval(const Operand *a, const Operand *b, double *lo, double *hi)
{
    double v[] = {a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi};

    *lo = fmin(fmin(v[0], v[1]), fmin(v[2], v[3]));
    *hi = fmax(fmax(v[0], v[1]), fmax(v[2], v[3]));
}

static bool divide(Gen *g, Operand a, Operand b, double *lo, double *hi, const char **statement)
{
    Operand inverse = b;

    if (a.minus_inf || b.minus_inf || (b.lo < 0.1 && b.hi > -0.1))
        return false;
    inverse.lo = 1 / b.hi;
    inverse.hi = 1 / b.lo;
    product_interval(&a, &inverse, lo, hi);
    *statement = gen_text(g, "Divide %s, %s%s", a.text, b.text, gen_chance(g, 30) ? " else 0" : "");
    return true;
}

static bool binary(Gen *g, Operand a, Operand b, double *lo, double *hi, bool *inf, const char **statement)
{
    *inf = false;
    switch (rng_below(&g->rng, 8)) {
    case 0: case 1:
        *lo = a.lo + b.lo, *hi = a.hi + b.hi;
        *inf = a.minus_inf || b.minus_inf;
        *statement = gen_text(g, "Add %s, %s", a.text, b.text);
        return true;
    case 2:
        if (b.minus_inf)
            return false;
        *lo = a.lo - b.hi, *hi = a.hi - b.lo;
        *inf = a.minus_inf;
        *statement = gen_text(g, "Subtract %s, %s", a.text, b.text);
        return true;
    case 3: case 4:
        if (a.minus_inf || b.minus_inf)
            return false;
        product_interval(&a, &b, lo, hi);
        *statement = gen_text(g, "Multiply %s, %s", a.text, b.text);
        return true;
    case 5:
        *lo = fmax(a.lo, b.lo), *hi = fmax(a.hi, b.hi);
        if (a.minus_inf != b.minus_inf)
            *lo = fmin(a.lo, b.lo);
        *inf = a.minus_inf && b.minus_inf;
        *statement = gen_text(g, "Max %s, %s", a.text, b.text);
        return true;
    case 6:
        *lo = fmin(a.lo, b.lo), *hi = fmin(a.hi, b.hi);
        *inf = a.minus_inf || b.minus_inf;
        *statement = gen_text(g, "Min %s, %s", a.text, b.text);
        return true;
    }
    return divide(g, a, b, lo, hi, statement);
}

/* Any operation on what is there, as the text behind `Compute`. */
static bool operation(Gen *g, Operand a, int rows, int cols, double *lo, double *hi, bool *inf,
                      const char **statement)
{
    *inf = false;
    if (gen_chance(g, 40))
        return unary(g, a, lo, hi, statement);
    return binary(g, a, any_operand(g, rows, cols), lo, hi, inf, statement);
}

static bool reduction(Gen *g, int rows, double *lo, double *hi, bool *inf, const char **statement)
{
    int first = rng_below(&g->rng, g->n_vars + 1), kind = rng_below(&g->rng, 4);

    *inf = false;
    for (int i = 0; i < g->n_vars && g->warps_n == 1; i++) {
        const Var *v = &g->vars[(first + i) % g->n_vars];

        if (v->rows != rows || v->cols == 1 || (v->minus_inf && kind > 1))
            continue;
        *lo = v->lo, *hi = v->hi, *inf = v->minus_inf;
        if (kind == 2)
            *lo *= v->cols, *hi *= v->cols;
        *statement = gen_text(g, "%s %s", ((const char *[]){"RowMax", "RowMin", "RowSum", "RowMean"})[kind],
                          v->name);
        return true;
    }
    return false;
}

Var *gen_make_value(Gen *g, int rows, int cols)
{
    for (int tries = 0; tries < 20; tries++) {
        Operand a = any_operand(g, rows, cols);
        double lo, hi;
        bool inf, done;
        const char *statement;
        Var *v;

        if (cols == 1 && rows > 1 && gen_chance(g, 50))
            done = reduction(g, rows, &lo, &hi, &inf, &statement);
        else
            done = a.rows == rows && a.cols == cols &&
                   operation(g, a, rows, cols, &lo, &hi, &inf, &statement);
        if (!done)
            continue;
        v = gen_new_var(g, "T", rows, cols, lo, hi);
        v->minus_inf = inf;
        gen_line(g, "Compute %s and get %s", statement, v->name);
        gen_squash(g, v, 30);
        return v;
    }
    Var *v = gen_new_var(g, "T", rows, cols, 0.5, 0.5);
    gen_line(g, "Compute Fill %s, 0.5 and get new %s", v->name, v->name);
    return v;
}

static void update(Gen *g, Var *v)
{
    double lo, hi;
    bool inf;
    const char *statement;

    if (!operation(g, operand_of(v), v->rows, v->cols, &lo, &hi, &inf, &statement))
        return;
    gen_line(g, "Compute %s and get new %s", statement, v->name);
    v->lo = lo, v->hi = hi, v->minus_inf = inf;
    gen_squash(g, v, 30);
}

void gen_change(Gen *g, Var *v, Axis r, Axis c)
{
    if (v->rows > 1 && v->cols > 1 && gen_chance(g, 35))
        gen_mask(g, v, r, c);
    else
        update(g, v);
}

/* ---- predicates --------------------------------------------------------------------------------------- */

static const char *position(Gen *g, const char *tile, Axis a, bool row)
{
    return gen_text(g, "%s * %s + %s(%s)", a.at, a.size, row ? "row" : "col", tile);
}

static const char *term(Gen *g, const char *tile, Axis r, Axis c)
{
    switch (rng_below(&g->rng, tile ? 6 : 2)) {
    case 0:
        if (g->n_counters)
            return g->counters[rng_below(&g->rng, g->n_counters)];
        break;
    case 1:
        if (g->n_dims)
            return g->dims[rng_below(&g->rng, g->n_dims)];
        break;
    case 2: return gen_text(g, "row(%s)", tile);
    case 3: return gen_text(g, "col(%s)", tile);
    case 4: return gen_text(g, "(%s)", position(g, tile, r, true));
    case 5: return gen_text(g, "(%s)", position(g, tile, c, false));
    }
    return gen_text(g, "%d", gen_pick(g, 0, 40));
}

static const char *linear(Gen *g, const char *tile, Axis r, Axis c)
{
    const char *sum = term(g, tile, r, c);

    if (gen_chance(g, 30))
        sum = gen_text(g, "%d * %s", gen_pick(g, 2, 3), sum);
    for (int n = gen_pick(g, 0, 2); n > 0; n--)
        sum = gen_text(g, "%s %s %s", sum, gen_chance(g, 50) ? "+" : "-", term(g, tile, r, c));
    if (gen_chance(g, 50))
        sum = gen_text(g, "%s %s %d", sum, gen_chance(g, 50) ? "+" : "-", gen_pick(g, 1, 40));
    return sum;
}

static const char *atom(Gen *g, const char *tile, Axis r, Axis c)
{
    static const char *const compare[] = {"<=", "<", ">=", ">", "==", "!="};
    const char *how = compare[rng_below(&g->rng, 20) < 16 ? rng_below(&g->rng, 4) : gen_pick(g, 4, 5)];

    if (tile && gen_chance(g, 45)) { /* as masks of operators are */
        const char *p = position(g, tile, r, true), *q = position(g, tile, c, false);

        switch (rng_below(&g->rng, 4)) {
        case 0: return gen_text(g, "%s %s %s", q, how, p);
        case 1: return gen_text(g, "%s %s %s - %d", q, how, p, gen_pick(g, 0, 40));
        case 2: return gen_text(g, "%s < %s", q, c.dim);
        case 3: return gen_text(g, "%s %s %s + %d", q, how, p, gen_pick(g, 0, 40));
        }
    }
    if (gen_chance(g, 20)) {
        int by = gen_pick(g, 2, 9);

        return gen_text(g, "(%s) %s %d %s %d", linear(g, tile, r, c), gen_chance(g, 60) ? "mod" : "div", by, how,
                    gen_pick(g, 0, by - 1));
    }
    return gen_text(g, "%s %s %s", linear(g, tile, r, c), how, linear(g, tile, r, c));
}

const char *gen_predicate(Gen *g, const char *tile, Axis r, Axis c)
{
    int n = rng_below(&g->rng, 10) < 6 ? 1 : gen_pick(g, 2, 3);
    const char *p = atom(g, tile, r, c);

    for (int i = 1; i < n; i++) {
        const char *q = atom(g, tile, r, c);

        if (gen_chance(g, 20))
            q = gen_text(g, "not (%s)", q);
        p = i == 1 ? gen_text(g, "%s %s %s", p, gen_chance(g, 65) ? "and" : "or", q)
                   : gen_text(g, "(%s) %s %s", p, gen_chance(g, 65) ? "and" : "or", q);
    }
    return gen_chance(g, 10) ? gen_text(g, "not (%s)", p) : p;
}

void gen_mask(Gen *g, Var *v, Axis r, Axis c)
{
    const char *where = gen_predicate(g, v->name, r, c);
    double other = gen_pick_number(g, -2, 2);

    if (gen_chance(g, 40)) {
        gen_line(g, "Compute Mask %s where %s", v->name, where);
        v->minus_inf = true;
        return;
    }
    if (gen_chance(g, 40))
        other = 0;
    gen_line(g, "Compute Mask %s where %s else %g", v->name, where, other);
    v->lo = fmin(v->lo, other);
    v->hi = fmax(v->hi, other);
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

const char *gen_coordinate(Gen *g, Axis r, Axis c)
{
    Str s = str_new(g->arena);

    str_add(&s, "[");
    if (g->batch)
        str_add(&s, "Z = z");
    if (r.dim)
        str_printf(&s, "%s%s = %s", s.len > 1 ? ", " : "", r.dim, r.at);
    if (c.dim)
        str_printf(&s, "%s%s = %s", s.len > 1 ? ", " : "", c.dim, c.at);
    str_add(&s, "]");
    return str_text(&s);
}

static void declare_tensor(Gen *g, const char *keyword, const char *name, const char *r, const char *c,
                           DType dtype)
{
    gen_head(g, "%s %s (%s%s%s%s) %s", keyword, name, g->batch ? "Z, " : "", r ? r : "", r && c ? ", " : "",
         c ? c : "", dtype_name(dtype));
}

static double reach(const Gen *g)
{
    return g->c->fill == FILL_UNIFORM ? 1 : 4.5;
}

static DType any_float(Gen *g)
{
    return gen_chance(g, 50) ? g->c->dtype : (DType)gen_one_of(g, DT_F32, DT_F32, DT_F16, DT_BF16);
}

Var *gen_load_matrix(Gen *g, Axis r, Axis c, DType dtype, Space space)
{
    const char *name = gen_fresh(g, "X");
    Var *v;

    declare_tensor(g, "Input", name, r.dim, c.dim, dtype);
    gen_allocate(g, "%s in %s (%s, %s) %s", name, space_name(space), r.size, c.size, dtype_name(dtype));
    gen_line(g, "Copy %s (%s, %s) in coordinate %s from global to %s", name, r.size, c.size, gen_coordinate(g, r, c),
         space_name(space));
    v = gen_add_var(g, name, r.tile, c.tile, -reach(g), reach(g));
    v->taken = true;
    return v;
}

Var *gen_load_row(Gen *g, Axis c)
{
    const char *name = gen_fresh(g, "R");
    Var *v;

    declare_tensor(g, "Input", name, NULL, c.dim, any_float(g));
    gen_allocate(g, "%s in register (1, %s)", name, c.size);
    gen_line(g, "Copy %s (%s) in coordinate %s from global to register", name, c.size,
         gen_coordinate(g, (Axis){0}, c));
    v = gen_add_var(g, name, 1, c.tile, -reach(g), reach(g));
    v->taken = true;
    return v;
}

Var *gen_load_column(Gen *g, Axis r)
{
    const char *name = gen_fresh(g, "C");
    Var *v;

    declare_tensor(g, "Input", name, r.dim, NULL, any_float(g));
    gen_allocate(g, "%s in register (%s, 1)", name, r.size);
    gen_line(g, "Copy %s (%s) in coordinate %s from global to register", name, r.size,
         gen_coordinate(g, r, (Axis){0}));
    v = gen_add_var(g, name, r.tile, 1, -reach(g), reach(g));
    v->taken = true;
    return v;
}

/* A column is one column of the tensor, a row one row, at the tiles' numbers. */
void gen_store(Gen *g, Var *v, Axis r, Axis c)
{
    const char *name = v->name;

    if (v->taken || gen_chance(g, 10)) {
        Var *copy = gen_new_var(g, "Y", v->rows, v->cols, v->lo, v->hi);

        gen_line(g, "Compute Add %s, 0 and get %s", v->name, copy->name);
        copy->minus_inf = v->minus_inf;
        v = copy;
        name = copy->name;
    }
    v->taken = true;
    declare_tensor(g, "Output", name, r.dim, c.dim, any_float(g));
    if (r.dim && c.dim)
        gen_line(g, "Copy %s (%s, %s) in coordinate %s from register to global", name,
             v->rows == 1 ? "1" : r.size, v->cols == 1 ? "1" : c.size, gen_coordinate(g, r, c));
    else
        gen_line(g, "Copy %s (%s) in coordinate %s from register to global", name, r.dim ? r.size : c.size,
             gen_coordinate(g, r, c));
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
