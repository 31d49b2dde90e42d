/* generate_whole.c: random definitions: mathematics on whole tensors of M x N,
 * with rows, columns, masks, reductions, softmaxes, a product in front of it all
 * and one behind.
 *
 * The machinery of tiles serves: a variable's rows and cols are M and N as they
 * are at most, and differ, so that they tell the shape.
 */
#include "generate.h"

#include <math.h>

enum { MOST_M = 72, MOST_N = 104, MOST_K = 40, MOST_E = 88 };

typedef struct Whole {
    Gen g;
    Str outputs;
    const char *batch; /* "Z, ", or nothing */
    int m, n, k, e;    /* extents of the case */
    int values;        /* columns of what is at hand: MOST_N or MOST_E */
    bool product;      /* the tensor of M x N is a product */
} Whole;

static const char *dims_of(const Whole *w, int rows, int cols)
{
    const char *r = rows > 1 ? "M" : "1", *c = cols == MOST_E ? "E" : cols > 1 ? "N" : "1";

    if (rows == 1)
        return arena_printf(w->g.arena, "%s", c);
    return arena_printf(w->g.arena, "%s%s, %s", w->batch, r, c);
}

static const char *any_dtype(Gen *g)
{
    static const char *const names[] = {"", "", "", " fp32", " fp32", " fp16", " bf16"};

    const char *name = names[rng_below(&g->rng, (int)TW_COUNT(names))];

    return g->c->dtype == DT_F16 && strcmp(name, " bf16") == 0 ? " fp16" : name; /* not every target has both */
}

static Var *input(Whole *w, int rows, int cols)
{
    Gen *g = &w->g;
    const char *name = gen_fresh(g, "X");
    double reach = g->c->fill == FILL_UNIFORM ? 1 : 4.5;
    Var *v;

    gen_head(g, "Input %s (%s)%s", name, dims_of(w, rows, cols), any_dtype(g));
    v = gen_add_var(g, name, rows, cols, -reach, reach);
    v->taken = v->exact = true;
    return v;
}

/* ---- products ------------------------------------------------------------------------- */

static void scaled(Gen *g, Var *v, int terms)
{
    gen_line(g, "Compute Multiply %s, %g and get new %s", v->name, ldexp(1, -(int)ceil(log2(sqrt(terms) + 1))),
             v->name);
    v->lo = g->c->fill == FILL_UNIFORM ? -8 : -30;
    v->hi = -v->lo;
}

static const char *operand(Whole *w, const char *rows, const char *cols, bool batch)
{
    Gen *g = &w->g;
    const char *name = gen_fresh(g, "X");
    bool turned = gen_chance(g, 40);

    gen_head(g, "Input %s (%s%s, %s)", name, batch ? w->batch : "", turned ? cols : rows, turned ? rows : cols);
    return gen_text(g, "%s%s", name, turned ? ".T" : "");
}

static void first_product(Whole *w)
{
    Gen *g = &w->g;
    const char *a = operand(w, "M", "K", true), *b = operand(w, "K", "N", gen_chance(g, 50)), *name = gen_fresh(g, "S");

    gen_line(g, "Compute GEMM %s, %s and get %s", a, b, name);
    scaled(g, gen_add_var(g, name, MOST_M, MOST_N, -30, 30), MOST_K);
    w->product = true;
}

/* From here on what is at hand is M x E. */
static void second_product(Whole *w)
{
    Gen *g = &w->g;
    Var *p = gen_some_var(g, MOST_M, MOST_N);
    const char *v = operand(w, "N", "E", gen_chance(g, 50)), *name = gen_fresh(g, "O");

    if (p->taken) { /* of 32 bits it may be; a product takes what was made */
        const char *copy = gen_fresh(g, "T");

        gen_line(g, "Compute Add %s, 0 and get %s", p->name, copy);
        p = gen_add_var(g, copy, MOST_M, MOST_N, p->lo, p->hi);
    }
    gen_make_finite(g, p);
    gen_squash(g, p, 8);
    gen_line(g, "Compute GEMM %s, %s and get %s", p->name, v, name);
    for (int i = 0; i < g->n_vars; i++) /* of these no more */
        if (g->vars[i].cols == MOST_N)
            g->vars[i].rows = 0;
    scaled(g, gen_add_var(g, name, MOST_M, MOST_E, -30, 30), MOST_N * 8);
    w->values = MOST_E;
}

/* ---- masks ------------------------------------------------------------------------------ */

static const char *position(Gen *g, bool row)
{
    int by = gen_pick(g, 2, 6);
    const char *at = row ? "mi" : "nj";

    switch (rng_below(&g->rng, 6)) {
    case 0: return gen_text(g, "%s div %d", at, by);
    case 1: return gen_text(g, "%s %% %d", at, by);
    case 2: return gen_text(g, "%s - %d", at, by * 4);
    case 3: return gen_text(g, "%d * %s", by, at);
    }
    return at;
}

static const char *atom(Gen *g)
{
    static const char *const compare[] = {"<=", "<", ">=", ">", "==", "!="};
    const char *how = compare[rng_below(&g->rng, 20) < 17 ? rng_below(&g->rng, 4) : gen_pick(g, 4, 5)];

    switch (rng_below(&g->rng, 5)) {
    case 0: return gen_text(g, "%s %s %d", position(g, gen_chance(g, 50)), how, gen_pick(g, 0, 50));
    case 1: return gen_text(g, "mi - nj %s %d", how, gen_pick(g, -20, 40));
    case 2: return gen_text(g, "nj %s M - %d", how, gen_pick(g, 0, 9));
    }
    return gen_text(g, "%s %s %s", position(g, false), how, position(g, true));
}

static void mask(Whole *w)
{
    Gen *g = &w->g;
    Var *v = gen_some_var(g, MOST_M, w->values);
    const char *where = atom(g);

    if (!v || v->taken || w->values == MOST_E)
        return;
    if (gen_chance(g, 35))
        where = gen_text(g, "%s %s %s", where, gen_chance(g, 60) ? "and" : "or", atom(g));
    gen_make_finite(g, v);
    if (gen_chance(g, 50)) {
        gen_line(g, "Compute Mask %s where %s", v->name, where);
        v->minus_inf = true;
    } else {
        gen_line(g, "Compute Mask %s where %s else %g", v->name, where, gen_pick_number(g, v->lo, v->hi));
    }
}

/* ---- statements ---------------------------------------------------------------------------- */

static void softmax(Whole *w)
{
    Gen *g = &w->g;
    Var *v = gen_some_var(g, MOST_M, w->values);
    const char *name;

    if (!v)
        return;
    name = gen_fresh(g, "P");
    gen_line(g, "Compute Softmax %s%s and get %s", v->name, gen_chance(g, 25) ? " over M" : "", name);
    gen_add_var(g, name, MOST_M, w->values, 0, 1);
}

/* Elements that lie elsewhere: of what is computed they take a kernel more. */
static void moved(Whole *w)
{
    static const char *const at[] = {"mi, N - 1 - nj", "M - 1 - mi, nj", "mi, nj - 3", "(mi + 5) % M, nj", "mi div 2, nj"};
    Gen *g = &w->g;
    Var *v = gen_some_var(g, MOST_M, w->values);
    const char *name;

    if (!v || w->values != MOST_N || v->minus_inf)
        return;
    name = gen_fresh(g, "D");
    gen_line(g, "Compute Define %s (%s) as %s[%s%s]", name, dims_of(w, MOST_M, MOST_N), v->name, w->batch,
             at[rng_below(&g->rng, (int)TW_COUNT(at))]);
    gen_add_var(g, name, MOST_M, MOST_N, fmin(v->lo, 0), fmax(v->hi, 0));
}

/* Groups along the columns, each element beside its group's sum. */
static void grouped(Whole *w)
{
    Gen *g = &w->g;
    Var *v = gen_some_var(g, MOST_M, w->values);
    const char *column;

    if (!v || w->values != MOST_N || v->minus_inf)
        return;
    column = gen_fresh(g, "G");
    gen_line(g, "Compute %s %s over N to 1 and get %s", gen_chance(g, 50) ? "GroupMax" : "GroupMean", v->name, column);
    gen_add_var(g, column, MOST_M, 1, v->lo, v->hi);
}

/* What a norm is made of. */
static void norm(Whole *w)
{
    Gen *g = &w->g;
    Var *v = gen_some_var(g, MOST_M, w->values);
    const char *square = gen_fresh(g, "Q"), *mean = gen_fresh(g, "r"), *y = gen_fresh(g, "Y");

    if (!v || v->minus_inf)
        return;
    gen_line(g, "Compute Square %s and get %s", v->name, square);
    gen_line(g, "Compute %s %s and get %s", gen_chance(g, 80) ? "RowMean" : "RowMax", square, mean);
    gen_line(g, "Compute Add %s, 0.125 and get new %s", mean, mean);
    gen_line(g, "Compute Rsqrt %s and get new %s", mean, mean);
    gen_line(g, "Compute Multiply %s, %s and get %s", v->name, mean, y);
    gen_add_var(g, y, MOST_M, w->values, -12, 12);
}

static Var *changeable(Gen *g)
{
    for (int i = g->n_vars - 1; i >= 0; i--)
        if (!g->vars[i].taken && g->vars[i].rows == MOST_M && gen_chance(g, 70))
            return &g->vars[i];
    return NULL;
}

static void statement(Whole *w)
{
    Gen *g = &w->g;
    int what = rng_below(&g->rng, 100);
    Var *v;

    if (what < 35)
        gen_make_value(g, MOST_M, w->values);
    else if (what < 50)
        gen_make_value(g, MOST_M, 1);
    else if (what < 65)
        mask(w);
    else if (what < 72)
        softmax(w);
    else if (what < 78)
        norm(w);
    else if (what < 81)
        moved(w);
    else if (what < 83)
        grouped(w);
    else if (what < 90 && (v = changeable(g)))
        gen_update(g, v);
    else if (what < 95)
        input(w, 1, w->values);
    else
        input(w, MOST_M, 1);
}

static void output(Whole *w, Var *v)
{
    Gen *g = &w->g;
    const char *name = v->name;

    if (v->taken) {
        name = gen_fresh(g, "Y");
        gen_line(g, "Compute Add %s, 0 and get %s", v->name, name);
    }
    v->taken = true;
    str_printf(&w->outputs, "  Output %s (%s)%s\n", name, dims_of(w, v->rows, v->cols), any_dtype(g));
}

static void outputs(Whole *w)
{
    Gen *g = &w->g;
    Var *v = gen_some_var(g, MOST_M, w->values);

    for (int i = g->n_vars - 1; i >= 0; i--) /* rather what was made last */
        if (g->vars[i].rows == MOST_M && g->vars[i].cols == w->values && !g->vars[i].taken) {
            v = &g->vars[i];
            break;
        }
    output(w, v);
    if (gen_chance(g, 25) && (v = gen_some_var(g, MOST_M, 1)) && !v->taken)
        output(w, v);
}

/* ---- all --------------------------------------------------------------------------------------- */

static int extent(Gen *g, int most)
{
    static const int round[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65};
    int n = gen_chance(g, 60) ? round[rng_below(&g->rng, (int)TW_COUNT(round))] : gen_pick(g, 1, most);

    return n < most ? n : most;
}

static void bind(Whole *w, const char *name, int most, bool known)
{
    Gen *g = &w->g;
    int value = extent(g, most);

    levels_bind(g->c, name, value);
    if (known || gen_chance(g, 30))
        levels_set(g->arena, g->c, name, value);
}

static void write(Whole *w)
{
    Gen *g = &w->g;
    Str out = str_new(g->arena);

    str_printf(&out, "Operator random\n%s%s  Index mi over M\n", str_text(&g->head), str_text(&w->outputs));
    if (strstr(str_text(&g->body), "nj"))
        str_add(&out, "  Index nj over N\n");
    str_printf(&out, "%send\n", str_text(&g->body));
    g->c->definition = str_text(&out);
}

void generate_whole(Arena *arena, LevelCase *c, Rng *rng)
{
    Whole w = {.g = {.arena = arena, .c = c, .rng = *rng, .head = str_new(arena), .allocs = str_new(arena),
                     .body = str_new(arena), .warps_n = 1, .whole = true},
               .outputs = str_new(arena), .batch = "", .values = MOST_N};
    Gen *g = &w.g;
    bool two;

    c->fill = gen_chance(g, 60) ? FILL_UNIFORM : FILL_NORMAL;
    if (gen_chance(g, 25)) {
        w.batch = "Z, ";
        levels_bind(c, "Z", gen_pick(g, 1, 3));
    }
    two = gen_chance(g, 40);
    bind(&w, "M", MOST_M, false);
    bind(&w, "N", MOST_N, gen_chance(g, 50));
    if (gen_chance(g, 55)) {
        first_product(&w);
        bind(&w, "K", MOST_K, two);
    } else {
        input(&w, MOST_M, MOST_N);
    }
    for (int n = gen_pick(g, 1, two ? 4 : 6); n > 0; n--)
        statement(&w);
    if (two && gen_some_var(g, MOST_M, MOST_N)) {
        second_product(&w);
        bind(&w, "E", MOST_E, true);
        for (int n = gen_pick(g, 0, 2); n > 0; n--)
            statement(&w);
    }
    outputs(&w);
    write(&w);
}
