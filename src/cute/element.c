/* element.c: arithmetic on tiles in registers: one loop over a thread's rows and columns
 * for each value that has a variable, with the values that only it uses in its expression.
 *
 *   %x = fma %s, %c, %m ; %e = exp2 %x       S(y, x) = tw::exp2(fmaf(S(y, x), 0.1275f, m(y)));
 */
#include "cute/emit.h"

#include <math.h>

static const struct {
    OpId op;
    const char *text; /* $a $b $c: operands */
} TEMPLATES[] = {
    {OP_ADD, "($a + $b)"}, {OP_SUBTRACT, "($a - $b)"}, {OP_MULTIPLY, "($a * $b)"}, {OP_DIVIDE, "($a / $b)"},
    {OP_MAX, "fmaxf($a, $b)"}, {OP_MIN, "fminf($a, $b)"}, {OP_POWER, "powf($a, $b)"}, {OP_NEGATE, "(-$a)"},
    {OP_ABS, "fabsf($a)"}, {OP_SIGN, "tw::sign($a)"}, {OP_ERF, "erff($a)"}, {OP_LOG1P, "log1pf($a)"}, {OP_EXPM1, "expm1f($a)"},
    {OP_EXP, "tw::exp($a)"}, {OP_EXP2, "tw::exp2($a)"}, {OP_LOG, "tw::log($a)"},
    {OP_LOG2, "tw::log2($a)"}, {OP_SQRT, "sqrtf($a)"}, {OP_RSQRT, "rsqrtf($a)"}, {OP_TANH, "tanhf($a)"},
    {OP_SIGMOID, "tw::sigmoid($a)"}, {OP_SILU, "tw::silu($a)"}, {OP_GELU, "tw::gelu($a)"}, {OP_RELU, "fmaxf($a, 0.0f)"},
    {OP_RECIPROCAL, "tw::reciprocal($a)"}, {OP_CEIL_DIVIDE, "ceilf($a / $b)"}, {OP_SQUARE, "tw::square($a)"},
    {OP_FLOOR, "floorf($a)"}, {OP_CEIL, "ceilf($a)"}, {OP_ROUND, "rintf($a)"}, {OP_SIN, "sinf($a)"}, {OP_COS, "cosf($a)"},
    {OP_GREATER, "float($a > $b)"}, {OP_GREATER_EQUAL, "float($a >= $b)"}, {OP_LESS, "float($a < $b)"},
    {OP_LESS_EQUAL, "float($a <= $b)"}, {OP_EQUAL, "float($a == $b)"}, {OP_NOT_EQUAL, "float($a != $b)"},
    {OP_WHERE, "($a != 0.0f ? $b : $c)"}, {OP_FMA, "fmaf($a, $b, $c)"},
};

static const char *template_of(OpId op)
{
    for (size_t i = 0; i < TW_COUNT(TEMPLATES); i++)
        if (TEMPLATES[i].op == op) return TEMPLATES[i].text;
    return NULL;
}

bool cu_is_expression(const TileOp *op)
{
    return op->kind == TILE_ELEMENT || op->kind == TILE_INDEX || (op->kind == TILE_MASK && !op->unless) ||
           op->kind == TILE_FILL;
}

/* ---- operands ------------------------------------------------------------------------ */

static const char *number(Cute *c, double x)
{
    if (isnan(x)) return "NAN";
    if (isinf(x)) return x > 0 ? "INFINITY" : "-INFINITY";
    const char *text = arena_printf(c->arena, "%.9g", (double)(float)x);
    bool whole = !strpbrk(text, ".e");
    if (x != 0 && (float)x == 0) text = arena_printf(c->arena, "%.9g", x), whole = !strpbrk(text, ".e");
    return arena_printf(c->arena, "%s%sf", text, whole ? ".0" : "");
}

static const char *element_of(Cute *c, const TileValue *v)
{
    const char *name = c->values[v->id].name;
    if (v->type.space == SPACE_SHARED) return arena_printf(c->arena, "%s(%s, %s)", cu_shared(c, v), v->type.rows > 1 ? "row" : "0",
                                                           v->type.cols > 1 ? "col" : "0");
    if (cu_is_matrix(v)) return arena_printf(c->arena, "%s(y, x)", name);
    if (cu_is_column(v)) return arena_printf(c->arena, "%s(y)", name);
    if (cu_is_row(v)) return arena_printf(c->arena, "%s(x)", name);
    return name;
}

static const char *expression(Cute *c, const TileOp *op);

static const char *operand(Cute *c, const TileValue *v)
{
    if (c->values[v->id].inlined) return expression(c, c->values[v->id].def);
    const char *element = element_of(c, v);
    return v->type.dtype == DT_F32 ? element : arena_printf(c->arena, "float(%s)", element);
}

static const char *fill(Cute *c, const TileOp *op)
{
    for (int i = 0; op->param && i < c->program->params.len; i++)
        if (strcmp(c->program->params.data[i], op->param) == 0) return cu_arg(c, ABI_PARAM, 0, i);
    return number(c, op->number);
}

static const char *apply(Cute *c, const TileOp *op)
{
    const char *text = op->op == OP_DIVIDE && op->has_else ? "tw::divide_or($a, $b, $c)" : template_of(op->op);
    Str s = str_new(c->arena);
    if (!text) {
        cu_fail(c, TW0790, op, "there is no expression for this operation");
        return "0";
    }
    for (const char *p = text; *p; p++) {
        if (*p != '$') {
            str_addc(&s, *p);
            continue;
        }
        int k = *++p - 'a';
        str_add(&s, k < op->n_args ? operand(c, op->args[k]) : number(c, op->number));
    }
    return str_text(&s);
}

static const char *expression(Cute *c, const TileOp *op)
{
    if (op->kind == TILE_FILL) return fill(c, op);
    if (op->kind == TILE_INDEX) return arena_printf(c->arena, "float(%s)", cu_select(c, op->index));
    if (op->kind == TILE_MASK)
        return arena_printf(c->arena, "((%s) ? %s : %s)", cu_select(c, op->cond), operand(c, op->args[0]), number(c, op->number));
    return apply(c, op);
}

/* Without the parentheses that enclose all of it. */
static const char *bare(Cute *c, const char *text)
{
    size_t len = strlen(text);
    int depth = 0;
    if (len < 2 || text[0] != '(' || text[len - 1] != ')') return text;
    for (size_t i = 0; i + 1 < len; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        if (depth == 0) return text;
    }
    return arena_strndup(c->arena, text + 1, len - 2);
}

static bool needs_spot(Cute *c, const TileOp *op)
{
    if (op->kind == TILE_INDEX && aff_uses_place(op->index)) return true;
    if (op->kind == TILE_MASK || op->kind == TILE_GATHER) return true;
    for (int k = 0; k < op->n_args; k++) {
        const TileValue *v = op->args[k];
        if (v->type.space == SPACE_SHARED) return true;
        if (c->values[v->id].inlined && needs_spot(c, c->values[v->id].def)) return true;
    }
    return false;
}

/* ---- variables ------------------------------------------------------------------------- */

void cu_declare(Cute *c, const TileValue *v)
{
    const char *name = c->values[v->id].name, *type = cu_dtype(v->type.dtype), *place = cu_place_name(c, v);
    if (cu_is_scalar(v)) cu_line(c, "%s %s;", type, name);
    else if (cu_is_column(v)) cu_line(c, "auto %s = tw::column<%s, %s, %d>();", name, place, type, v->type.rows);
    else if (cu_is_row(v)) cu_line(c, "auto %s = tw::row<%s, %s, %d>();", name, place, type, v->type.cols);
    else cu_line(c, "auto %s = tw::tile<%s, %s, %d, %d>();", name, place, type, v->type.rows, v->type.cols);
}

void cu_assign(Cute *c, const TileValue *to, const TileValue *from)
{
    const char *a = c->values[to->id].name, *b = c->values[from->id].name;
    if (a == b) return;
    if (cu_is_scalar(to)) cu_line(c, "%s = %s;", a, b);
    else cu_line(c, "copy(%s, %s);", b, a);
}

/* ---- loops over elements ------------------------------------------------------------------ */

static void open_loops(Cute *c, const TileValue *v, bool spot)
{
    const char *name = c->values[v->id].name, *place = cu_place_name(c, v);
    int rows = v->type.rows, cols = v->type.cols;
    if (spot && cu_is_matrix(v)) cu_line(c, "auto at_%s = %s::template spots<%d, %d>();", name, place, rows, cols);
    if (rows > 1) cu_line(c, "CUTE_UNROLL");
    if (rows > 1) cu_open(c, "for (int y = 0; y < size<0>(%s); ++y)%s", name, cols > 1 || spot ? " {" : "");
    if (cols > 1) cu_line(c, "CUTE_UNROLL");
    if (cols > 1) cu_open(c, "for (int x = 0; x < size<%d>(%s); ++x)%s", rows > 1, name, spot ? " {" : "");
    if (!spot) return;
    if (cu_is_matrix(v)) cu_line(c, "int row = get<0>(at_%s(y, x)), col = get<1>(at_%s(y, x));", name, name);
    else if (rows > 1) cu_line(c, "int row = tw::row_at<%s, %d>(y), col = 0;", place, rows);
    else if (cols > 1) cu_line(c, "int row = 0, col = tw::col_at<%s, %d>(x);", place, cols);
    else cu_open(c, "{ int row = 0, col = 0;");
    cu_line(c, "(void)row, (void)col;");
}

static void close_loops(Cute *c, const TileValue *v, bool spot)
{
    int rows = v->type.rows, cols = v->type.cols;
    if (cols > 1 && spot) cu_close(c, "}");
    else if (cols > 1) c->depth--;
    if (rows > 1 && (cols > 1 || spot)) cu_close(c, "}");
    else if (rows > 1) c->depth--;
    if (rows == 1 && cols == 1 && spot) cu_close(c, "}");
}

static const char *rounded(Cute *c, const TileValue *v, const char *text)
{
    return v->type.dtype == DT_F32 ? bare(c, text) : arena_printf(c->arena, "%s(%s)", cu_dtype(v->type.dtype), bare(c, text));
}

static void put_number(Cute *c, const TileOp *op)
{
    const TileValue *v = op->results[0];
    const char *name = c->values[v->id].name;
    if (cu_is_scalar(v)) cu_line(c, "%s = %s;", name, rounded(c, v, fill(c, op)));
    else cu_line(c, "fill(%s, %s(%s));", name, cu_dtype(v->type.dtype), fill(c, op));
}

void cu_elements(Cute *c, const TileOp *op)
{
    const TileValue *v = op->results[0];
    bool spot = needs_spot(c, op);
    if (op->kind == TILE_FILL) {
        put_number(c, op);
        return;
    }
    bool skips = op->kind == TILE_ELEMENT && op->skip_ones && op->op == OP_MULTIPLY && cu_is_matrix(v) &&
                 c->values[op->args[0]->id].name == c->values[v->id].name && cu_is_column(op->args[1]);
    if (skips) cu_open(c, "if (tw::any_but_one(%s)) { // of this warp's rows", c->values[op->args[1]->id].name);
    const char *text = rounded(c, v, expression(c, op));
    open_loops(c, v, spot);
    cu_line(c, "%s = %s;", element_of(c, v), text);
    close_loops(c, v, spot);
    if (skips) cu_close(c, "}");
}

/* A guarded mask changes its operand in place, which is a copy where others read it. */
void cu_mask(Cute *c, const TileOp *op)
{
    const TileValue *v = op->results[0], *a = op->args[0];
    if (c->values[a->id].inlined) {
        const char *text = rounded(c, v, operand(c, a));
        open_loops(c, v, true);
        cu_line(c, "%s = %s;", element_of(c, v), text);
        close_loops(c, v, true);
    } else if (a->type.space == SPACE_SHARED) {
        cu_line(c, "tw::read<%s>(%s, %s);", cu_place_name(c, v), cu_shared(c, a), c->values[v->id].name);
    } else {
        cu_assign(c, v, a);
    }
    cu_open(c, "if (not(%s)) {", cu_expr(c, op->unless));
    open_loops(c, v, true);
    cu_line(c, "%s = (%s) ? %s : %s;", element_of(c, v), cu_select(c, op->cond), element_of(c, v),
            rounded(c, v, number(c, op->number)));
    close_loops(c, v, true);
    cu_close(c, "}");
}

void cu_gather(Cute *c, const TileOp *op)
{
    const TileValue *v = op->results[0];
    const TileTensor *t = op->tensor;
    Str inside = str_new(c->arena), at = str_new(c->arena);
    AffCtx *aff = c->program->aff;
    for (int d = 0; d < t->rank; d++) {
        if (op->n_args && d == op->row_dim) {
            const char *which = arena_printf(c->arena, "(int64_t(floorf(%s)) + %s)", element_of(c, op->args[0]), cu_expr(c, op->coords[d]));
            str_printf(&inside, "%s%s >= 0 and %s < %s", inside.len ? " and " : "", which, which, cu_expr(c, t->dims[d]));
            str_printf(&at, "%s%s", d ? " + " : "", which);
            if (d + 1 < t->rank) str_printf(&at, " * %s", cu_arg(c, ABI_STRIDE, t->index, d));
            continue;
        }
        const Aff *low = aff_le(aff, aff_const(aff, 0), op->coords[d]), *high = aff_lt(aff, op->coords[d], t->dims[d]);
        if (!aff_always(aff, low)) str_printf(&inside, "%s%s", inside.len ? " and " : "", cu_expr(c, low));
        if (!aff_always(aff, high)) str_printf(&inside, "%s%s", inside.len ? " and " : "", cu_expr(c, high));
        str_printf(&at, "%sint64_t(%s)", d ? " + " : "", cu_expr(c, op->coords[d]));
        if (d + 1 < t->rank) str_printf(&at, " * %s", cu_arg(c, ABI_STRIDE, t->index, d));
    }
    open_loops(c, v, true);
    cu_line(c, "%s = %s ? %s[%s] : %s(0.0f);", element_of(c, v), inside.len ? str_text(&inside) : "true",
            cu_arg(c, ABI_ADDRESS, t->index, 0),
            t->rank ? str_text(&at) : "0", cu_dtype(v->type.dtype));
    close_loops(c, v, true);
}
