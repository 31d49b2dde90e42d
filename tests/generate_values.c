/* generate_values.c: operations within their domains, and predicates. */
#include "generate.h"

#include <math.h>

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

static bool multiply_add(Gen *g, Operand a, Operand b, Operand c, double *lo, double *hi, const char **statement)
{
    if (a.minus_inf || b.minus_inf || c.minus_inf)
        return false;
    product_interval(&a, &b, lo, hi);
    *lo += c.lo;
    *hi += c.hi;
    *statement = gen_text(g, "Fma %s, %s, %s", a.text, b.text, c.text);
    return true;
}

static bool power(Gen *g, Operand a, double *lo, double *hi, const char **statement)
{
    double by = gen_pick_number(g, -1, 2), x = pow(a.lo, by), y = pow(a.hi, by);

    if (a.minus_inf || a.lo < 0.1)
        return false;
    *lo = fmin(x, y);
    *hi = fmax(x, y);
    *statement = gen_text(g, "Power %s, %g", a.text, by);
    return true;
}

/* Any operation on what is there, as the text behind `Compute`. */
static bool operation(Gen *g, Operand a, int rows, int cols, double *lo, double *hi, bool *inf,
                      const char **statement)
{
    *inf = false;
    if (gen_chance(g, 40))
        return unary(g, a, lo, hi, statement);
    if (gen_chance(g, 8))
        return power(g, a, lo, hi, statement);
    if (gen_chance(g, 8))
        return multiply_add(g, a, any_operand(g, rows, cols), any_operand(g, rows, cols), lo, hi, statement);
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

/* An integer of each element's place. */
static Var *define(Gen *g, int rows, int cols)
{
    int a = gen_pick(g, -3, 3), b = gen_pick(g, -3, 3);
    const char *counter = g->n_counters ? g->counters[rng_below(&g->rng, g->n_counters)] : "1";
    Var *v = gen_new_var(g, "I", rows, cols, -700, 700);
    const char *name = v->name;

    gen_line(g, "Compute Define %s (%d, %d) as %d * row(%s) + %d * col(%s)%s - %s", name, rows, cols, a, name, b,
             name, gen_chance(g, 30) ? gen_text(g, " mod %d", gen_pick(g, 2, 7)) : "", counter);
    gen_squash(g, v, 8);
    return v;
}

/* One of two, element by element, by what is exact. */
static Var *select(Gen *g, int rows, int cols)
{
    Operand a = any_operand(g, rows, cols), b = any_operand(g, rows, cols);
    Var *which = gen_new_var(g, "W", rows, cols, 0, 1), *v, *exact = NULL;

    for (int i = 0; i < g->n_vars && !exact; i++)
        if (g->vars[i].exact && broadcasts_to(&g->vars[i], rows, cols))
            exact = &g->vars[i];
    if (a.minus_inf || b.minus_inf)
        return which->hi = 0, gen_line(g, "Compute Fill %s, 0 and get new %s", which->name, which->name), which;
    if (exact && exact->rows == rows && exact->cols == cols && gen_chance(g, 60))
        gen_line(g, "Compute Greater %s, %g and get %s", exact->name, gen_pick_number(g, -1, 1), which->name);
    else
        gen_line(g, "Compute Fill %s, %d and get new %s", which->name, gen_pick(g, 0, 1), which->name);
    v = gen_new_var(g, "T", rows, cols, fmin(a.lo, b.lo), fmax(a.hi, b.hi));
    gen_line(g, "Compute Where %s, %s, %s and get %s", which->name, a.text, b.text, v->name);
    return v;
}

/* Of whole rows of a tile. */
static Var *row_softmax(Gen *g, int rows, int cols)
{
    Var *x = gen_some_var(g, rows, cols), *v;

    if (!x || g->warps_n > 1)
        return NULL;
    v = gen_new_var(g, "T", rows, cols, 0, 1);
    gen_line(g, "Compute Softmax %s and get %s", x->name, v->name);
    return v;
}

/* A variable of few bits, also when it is changed later. */
static Var *narrow(Gen *g, int rows, int cols)
{
    Var *x = gen_some_var(g, rows, cols), *v;
    const char *name = gen_fresh(g, "H"), *dtype = dtype_name(gen_chance(g, 20) ? g->c->dtype : gen_narrow(g));

    if (!x)
        return NULL;
    gen_allocate(g, "%s in register (%d, %d) %s", name, rows, cols, dtype);
    v = gen_add_var(g, name, rows, cols, x->lo, x->hi);
    v->minus_inf = x->minus_inf;
    gen_line(g, "Compute Cast %s, %s and get %s", x->name, dtype, name);
    return v;
}

static Var *special_value(Gen *g, int rows, int cols)
{
    switch (rng_below(&g->rng, 4)) {
    case 2: return narrow(g, rows, cols);
    case 0: return define(g, rows, cols);
    case 1: return select(g, rows, cols);
    }
    return row_softmax(g, rows, cols);
}

Var *gen_make_value(Gen *g, int rows, int cols)
{
    Var *v = rows > 1 && cols > 1 && !g->whole && gen_chance(g, 12) ? special_value(g, rows, cols) : NULL;

    for (int tries = 0; tries < 20 && !v; tries++) {
        Operand a = any_operand(g, rows, cols);
        double lo, hi;
        bool inf, done;
        const char *statement;

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
    }
    if (v || g->whole)
        return v;
    v = gen_new_var(g, "T", rows, cols, 0.5, 0.5);
    gen_line(g, "Compute Fill %s, 0.5 and get new %s", v->name, v->name);
    return v;
}

void gen_update(Gen *g, Var *v)
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
        gen_update(g, v);
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
        if (!g->whole && gen_chance(g, 20))
            return gen_count(g);
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
    if (gen_chance(g, 25)) {
        int by = gen_pick(g, 2, 9);
        const char *a = linear(g, tile, r, c);

        if (tile && gen_chance(g, 50)) /* of both signs */
            a = gen_text(g, "%s - (%s)", position(g, tile, c, false), position(g, tile, r, true));
        return gen_text(g, "(%s) %s %d %s %d", a, gen_chance(g, 60) ? "mod" : "div", by, how,
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

static Var *mask_target(Gen *g, Var *v)
{
    Var *copy;

    if (gen_chance(g, 30)) { /* a scale that may want to move behind the mask */
        double by = gen_pick_number(g, -2, 2), most = fmax(fabs(v->lo), fabs(v->hi)) * fabs(by);

        gen_line(g, "Compute Multiply %s, %g and get new %s", v->name, by ? by : -1, v->name);
        v->lo = -fmax(most, 1), v->hi = fmax(most, 1);
    }
    if (v->frozen || gen_chance(g, 75))
        return v;
    copy = gen_new_var(g, "T", v->rows, v->cols, v->lo, v->hi);
    copy->minus_inf = v->minus_inf;
    return copy;
}

void gen_mask(Gen *g, Var *v, Axis r, Axis c)
{
    const char *where = gen_predicate(g, v->name, r, c), *get = "", *otherwise = "";
    double other = gen_chance(g, 40) ? 0 : gen_pick_number(g, -2, 2);
    bool inf = gen_chance(g, 40);
    Var *to;

    gen_make_finite(g, v);
    to = mask_target(g, v);
    if (to != v)
        get = gen_text(g, " and get %s", to->name);
    if (!inf)
        otherwise = gen_text(g, " else %g", other);
    if (!inf && gen_chance(g, 15))
        gen_line(g, "Compute Where %s, %s, %g and get %s%s", where, v->name, other, to == v ? "new " : "",
                 to->name);
    else
        gen_line(g, "Compute Mask %s where %s%s%s", v->name, where, otherwise, get);
    to->minus_inf |= inf;
    if (inf)
        return;
    to->lo = fmin(to->lo, other);
    to->hi = fmax(to->hi, other);
}
