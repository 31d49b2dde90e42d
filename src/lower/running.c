/* running.c: sums of exponentials that a program brings to a running maximum by itself.
 *
 *   Compute RowMax S and get t
 *   Compute Max M, t and get m             the maximum so far
 *   Compute Subtract S, m; Exp             P, in units of exp(m): a term is exp(-m) times what is meant
 *   Compute Subtract M, m; Exp a           exp(M - m) takes what is in units of exp(M) to those of exp(m)
 *   Compute Multiply O, a; GEMM P, V and accumulate O;  m becomes M
 *
 * Of each sum that a loop carries one follows, from its end to its begin, what is added and what it is
 * multiplied by in between. All terms are to be in one unit at the end; the same, of what the loop hands
 * on, is the sum's at the begin of the next iteration. Where that does not come out, the sum is of numbers in
 * different units: TW0449. What is not understood is taken for right: only maxima that are found as such count,
 * of the rows or columns of some tile, so that logarithms of sums and decays are none of this.
 */
#include <math.h>

#include "lower/state.h"

enum { MOST_UNITS = 4, DEEPEST = 24, MOST_TERMS = 16, ALIKE = 4, MOST_VALUES = 4096 };

/* exp(of[0]) ^ times[0] * exp(of[1]) ^ times[1] ... */
typedef struct Units {
    const TileValue *of[MOST_UNITS];
    double times[MOST_UNITS];
    int n;
    bool unknown;
} Units;

typedef struct Term {
    Units units;
    Span loc;
} Term;

typedef struct Sum {
    Lower *lo;
    const TileOp *loop;
    const TileBlock *body;
    const TileValue *carried; /* the sum as an iteration finds it */
    bool *stems;              /* values that are computed from it, by id */
    Units factor;             /* by which that is multiplied in all */
    Term terms[MOST_TERMS];
    int n_terms;
    bool lost; /* not understood */
    int *left; /* values that may still be looked at */
} Sum;

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_element(const TileValue *v, OpId op)
{
    return v->def && v->def->kind == TILE_ELEMENT && v->def->op == op;
}

/* Without what changes no value: casts, copies, a maximum taken again; and without numbers that it is multiplied by, which
 * *scale is. */
static const TileValue *scaled(const TileValue *v, double *scale)
{
    double number;
    for (int depth = 0; v->def && depth < DEEPEST; depth++) {
        const TileValue *from = lo_without_zero(v);
        if (from == v && (v->def->kind == TILE_CAST || v->def->kind == TILE_MOVE)) from = v->def->args[0];
        for (int i = 0; i < 2 && from == v; i++) {
            const TileValue *other = is_element(v, OP_MAX) ? v->def->args[1 - i] : NULL;
            if (is_element(v, OP_MULTIPLY) && rw_number(v->def->args[i], &number) && number != 0) {
                from = v->def->args[1 - i];
                *scale *= number;
            }
            if (other && is_element(other, OP_MAX) && (other->def->args[0] == v->def->args[i] || other->def->args[1] == v->def->args[i]))
                from = other;
        }
        if (from == v) break;
        v = from;
    }
    return v;
}

static const TileValue *plain(const TileValue *v)
{
    double scale = 1;
    return scaled(v, &scale);
}

/* One value, or twice the same of the same values. */
static bool is_same(const TileValue *a, const TileValue *b, int depth)
{
    a = plain(a);
    b = plain(b);
    if (a == b || depth == 0 || !a->def || !b->def) return a == b;
    if (a->def->kind != b->def->kind || a->def->op != b->def->op || a->def->axis != b->def->axis || a->def->n_args != b->def->n_args ||
        (a->def->kind != TILE_ELEMENT && a->def->kind != TILE_REDUCE))
        return false;
    for (int i = 0; i < a->def->n_args; i++)
        if (!is_same(a->def->args[i], b->def->args[i], depth - 1)) return false;
    return true;
}

/* ---- units ----------------------------------------------------------------------------------- */

static void units_add(Units *u, const TileValue *of, double times)
{
    for (int i = 0; i < u->n; i++)
        if (is_same(u->of[i], of, ALIKE)) {
            u->times[i] += times;
            if (fabs(u->times[i]) < 1e-4) { /* log2(e) may have few digits */
                u->n--;
                u->of[i] = u->of[u->n];
                u->times[i] = u->times[u->n];
            }
            return;
        }
    if (u->n == MOST_UNITS) {
        u->unknown = true;
        return;
    }
    u->of[u->n] = of;
    u->times[u->n++] = times;
}

static Units units_times(Units a, Units b, int sign)
{
    for (int i = 0; i < b.n; i++) units_add(&a, b.of[i], sign * b.times[i]);
    a.unknown |= b.unknown;
    return a;
}

static bool units_equal(Units a, Units b)
{
    return units_times(a, b, -1).n == 0;
}

static bool is_vector(const TileValue *v)
{
    return (v->type.rows == 1) != (v->type.cols == 1);
}

static bool is_matrix(const TileValue *v)
{
    return v->type.rows > 1 && v->type.cols > 1;
}

static bool is_carried_by(const Sum *s, const TileValue *v)
{
    return tile_param_of(s->body, v) >= 0;
}

static Units units_of(const Sum *s, const TileValue *v, int depth);

/* exp(S - m): in units of exp(m); exp(M - m): what takes those of M to those of m. */
static Units units_of_exponential(const TileValue *v, double base)
{
    Units u = {0};
    const TileValue *a, *b;
    double of_a, of_b;
    v = scaled(v, &base);
    if (!is_element(v, OP_SUBTRACT)) return u;
    of_a = of_b = base;
    a = scaled(v->def->args[0], &of_a);
    b = scaled(v->def->args[1], &of_b);
    if (!is_vector(b) || (!is_matrix(a) && !is_vector(a))) return u;
    units_add(&u, b, of_b);
    if (is_vector(a)) units_add(&u, a, -of_a);
    return u;
}

static Units units_of_element(const Sum *s, const TileOp *op, int depth)
{
    Units u = {0}, first = op->n_args ? units_of(s, op->args[0], depth) : u;
    switch ((int)op->op) {
    case OP_EXP: return units_of_exponential(op->args[0], 1);
    case OP_EXP2: return units_of_exponential(op->args[0], log(2));
    case OP_MULTIPLY: return units_times(first, units_of(s, op->args[1], depth), 1);
    case OP_DIVIDE: return units_times(first, units_of(s, op->args[1], depth), -1);
    case OP_NEGATE: return first;
    default: break;
    }
    for (int i = 0; i < op->n_args; i++) {
        u = units_of(s, op->args[i], depth);
        if (u.n || u.unknown) return (Units){.unknown = true};
    }
    return u;
}

static Units units_of(const Sum *s, const TileValue *v, int depth)
{
    const TileOp *op = v->def;
    if (!op) return (Units){.unknown = is_matrix(v) && is_carried_by(s, v)};
    if (depth == 0 || --*s->left < 0) return (Units){.unknown = true};
    switch ((int)op->kind) {
    case TILE_CAST: case TILE_MOVE: case TILE_RESHAPE: case TILE_SLICE: case TILE_MASK: return units_of(s, op->args[0], depth - 1);
    case TILE_ELEMENT: return units_of_element(s, op, depth - 1);
    case TILE_GEMM: return units_of(s, op->args[0], depth - 1);
    case TILE_REDUCE:
        if (op->op == OP_ROW_SUM || op->op == OP_COL_SUM) return units_of(s, op->args[0], depth - 1);
        return (Units){0};
    case TILE_LOAD: case TILE_FILL: case TILE_INDEX: case TILE_GATHER: return (Units){0};
    default: return (Units){.unknown = true};
    }
}

/* ---- the sum ------------------------------------------------------------------------------------ */

/* Marks what the body computes from the sum as an iteration finds it. */
static void mark_stems(Sum *s)
{
    s->stems = arena_array(s->lo->arena, bool, (size_t)s->lo->kernel->next_value + 1);
    s->stems[s->carried->id] = true;
    for (int i = 0; i < s->body->ops.len; i++) {
        const TileOp *op = s->body->ops.data[i];
        bool from = false;
        for (int k = 0; k < op->n_args; k++) from |= s->stems[op->args[k]->id];
        if (from && (op->kind == TILE_CAST || op->kind == TILE_ELEMENT || op->kind == TILE_GEMM || op->kind == TILE_MOVE))
            for (int k = 0; k < op->n_results; k++) s->stems[op->results[k]->id] = true;
    }
}

static bool stems_from_sum(const Sum *s, const TileValue *v)
{
    return s->stems[v->id];
}

static void add_term(Sum *s, Units units, Units factor, Span loc)
{
    s->lost |= s->n_terms == MOST_TERMS;
    if (!s->lost) s->terms[s->n_terms++] = (Term){units_times(units, factor, 1), loc};
}

static void follow(Sum *s, const TileValue *v, Units factor, int depth);

/* One side leads to the sum as it was, the other is a factor. */
static void follow_product(Sum *s, const TileValue *a, const TileValue *b, Units factor, int sign, int depth)
{
    bool first = stems_from_sum(s, a);
    if (first == stems_from_sum(s, b) || (!first && sign < 0))
        s->lost = true;
    else
        follow(s, first ? a : b, units_times(factor, units_of(s, first ? b : a, DEEPEST), sign), depth);
}

static void follow_or_add(Sum *s, const TileValue *v, Units factor, Span loc, int depth)
{
    if (stems_from_sum(s, v))
        follow(s, v, factor, depth);
    else
        add_term(s, units_of(s, v, DEEPEST), factor, loc);
}

static void follow_element(Sum *s, const TileOp *op, Units factor, int depth)
{
    Units product;
    switch ((int)op->op) {
    case OP_MULTIPLY: follow_product(s, op->args[0], op->args[1], factor, 1, depth); break;
    case OP_DIVIDE: follow_product(s, op->args[0], op->args[1], factor, -1, depth); break;
    case OP_ADD:
        if (stems_from_sum(s, op->args[0]) && stems_from_sum(s, op->args[1])) s->lost = true;
        for (int i = 0; i < 2 && !s->lost; i++) follow_or_add(s, op->args[i], factor, op->loc, depth);
        break;
    case OP_FMA:
        product = units_times(units_of(s, op->args[0], DEEPEST), units_of(s, op->args[1], DEEPEST), 1);
        if (stems_from_sum(s, op->args[2])) {
            add_term(s, product, factor, op->loc);
            follow(s, op->args[2], factor, depth);
        } else {
            add_term(s, units_of(s, op->args[2], DEEPEST), factor, op->loc);
            follow_product(s, op->args[0], op->args[1], factor, 1, depth);
        }
        break;
    default: s->lost = true;
    }
}

/* From a value of the iteration back to the sum as the iteration found it; factor: by which v is multiplied below. */
static void follow(Sum *s, const TileValue *v, Units factor, int depth)
{
    const TileOp *op = v->def;
    if (v == s->carried) {
        s->factor = factor;
        return;
    }
    if (!op || depth == 0 || s->lost) {
        s->lost = true;
        return;
    }
    switch ((int)op->kind) {
    case TILE_CAST: case TILE_MOVE: follow(s, op->args[0], factor, depth - 1); break;
    case TILE_ELEMENT: follow_element(s, op, factor, depth - 1); break;
    case TILE_GEMM:
        if (op->n_args < 3 || !stems_from_sum(s, op->args[2])) {
            s->lost = true;
            break;
        }
        add_term(s, units_of(s, op->args[0], DEEPEST), factor, op->loc);
        follow(s, op->args[2], factor, depth - 1);
        break;
    default: s->lost = true;
    }
}

/* ---- maxima ---------------------------------------------------------------------------------------- */

/* A largest element of the rows or columns of a tile, or the largest of some. */
static bool is_maximum(const Sum *s, const TileValue *v, int depth)
{
    const TileBlock *body = s->body;
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    v = plain(v);
    if (depth == 0 || --*s->left < 0) return false;
    for (int i = 0; i < s->loop->n_results; i++)
        if (body->params.data[i] == v && yield->args[i] != v) return is_maximum(s, yield->args[i], depth - 1);
    if (!v->def) return false;
    if (v->def->kind == TILE_REDUCE) return v->def->op == OP_ROW_MAX || v->def->op == OP_COL_MAX;
    return is_element(v, OP_MAX) && (is_maximum(s, v->def->args[0], depth - 1) || is_maximum(s, v->def->args[1], depth - 1));
}

static bool is_within(const TileBlock *body, const TileValue *v)
{
    for (int i = 0; i < body->ops.len; i++)
        for (int k = 0; k < body->ops.data[i]->n_results; k++)
            if (body->ops.data[i]->results[k] == v) return true;
    return false;
}

/* What the next iteration finds in place of v, which is so many times as much: the first of the values that are handed on
 * as v. NULL: none is. */
static const TileValue *found_next(const Sum *s, const TileValue *v, double *times)
{
    *times = 1;
    const TileOp *yield = s->body->ops.data[s->body->ops.len - 1];
    for (int i = 0; i < s->loop->n_results; i++)
        if (is_same(yield->args[i], v, ALIKE)) {
            scaled(yield->args[i], times);
            return s->body->params.data[i];
        }
    return is_within(s->body, v) || is_carried_by(s, v) ? NULL : v;
}

/* Of values that are always the same in later iterations, the first. */
static Units as_first(const Sum *s, Units u)
{
    const TileOp *yield = s->body->ops.data[s->body->ops.len - 1];
    Units same = {.unknown = u.unknown};
    for (int i = 0; i < u.n; i++) {
        const TileValue *of = u.of[i];
        double own = 1, first = 1;
        for (int k = 0; k < s->loop->n_results; k++)
            if (s->body->params.data[k] == of) {
                of = found_next(s, scaled(yield->args[k], &own), &first);
                break;
            }
        units_add(&same, of ? of : u.of[i], of ? u.times[i] * own / first : u.times[i]);
    }
    return same;
}

/* ---- what is wrong ----------------------------------------------------------------------------------- */

static void say(const Sum *s, Span loc, const char *what)
{
    Diag *d = diag_add(s->lo->diags, TW0449, loc, "'%s' %s", s->carried->name ? s->carried->name : "the sum", what);
    diag_note(s->lo->diags, d, "with the new maximum m, exp(S - m) is added to what is multiplied by exp(M - m) once, M the "
              "maximum before; then m is the next iteration's M");
}

/* Returns whether something is wrong. */
static bool judge(const Sum *s)
{
    const Term *last = NULL;
    Units begin = {0};
    for (int i = 0; i < s->n_terms; i++) {
        if (s->terms[i].units.unknown || s->factor.unknown || s->terms[i].units.n == 0) return false;
        last = &s->terms[i];
    }
    for (int k = 0; last && k < last->units.n; k++)
        if (is_maximum(s, last->units.of[k], DEEPEST)) begin.n = -1;
    if (!last || begin.n == 0) return false; /* nothing that this is about */
    begin.n = 0;
    for (int i = 0; i < s->n_terms; i++)
        if (!units_equal(as_first(s, s->terms[i].units), as_first(s, last->units))) {
            say(s, s->terms[i].loc, "is the sum of exponentials that have different maxima subtracted");
            return true;
        }
    for (int k = 0; k < last->units.n; k++) {
        double times;
        const TileValue *next = found_next(s, last->units.of[k], &times);
        if (!next) {
            say(s, last->loc, "is summed up in units of a maximum that the next iteration does not know");
            return true;
        }
        units_add(&begin, next, last->units.times[k] / times);
    }
    bool right = units_equal(units_times(as_first(s, begin), as_first(s, s->factor), 1), as_first(s, last->units));
    if (!right)
        say(s, last->loc, "is added to in units of the new maximum, but is not multiplied by exp(M before - M after) once");
    return !right;
}

void lo_running_loop(Lower *lo, const TileOp *loop)
{
    const TileBlock *body = loop->regions[0];
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    for (int i = 0; i < loop->n_results; i++) {
        int left = MOST_VALUES;
        Sum s = {.lo = lo, .loop = loop, .body = body, .carried = body->params.data[i], .left = &left};
        if (yield->args[i] == s.carried) continue;
        mark_stems(&s);
        if (!stems_from_sum(&s, yield->args[i])) continue;
        follow(&s, yield->args[i], (Units){0}, DEEPEST);
        if (!s.lost && judge(&s)) return; /* other sums may well suffer from the same */
    }
}
