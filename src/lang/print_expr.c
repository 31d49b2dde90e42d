/* print_expr.c: expressions in canonical form, with the fewest brackets that
 * keep the tree. */
#include "lang/lang.h"
#include "lang/print.h"

#include <math.h>
#include <stdlib.h>

/* How tightly a node holds together; a looser one inside a tighter one needs brackets. */
typedef enum Tightness { LOOSEST, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, POWER, POSTFIX } Tightness;

static const struct { const char *text; Tightness tightness; } operators[] = {
    [EO_NEG] = {"-", SIGN},     [EO_NOT] = {"not ", NOT},   [EO_ADD] = {" + ", SUM},    [EO_SUB] = {" - ", SUM},
    [EO_MUL] = {" * ", PRODUCT}, [EO_DIV] = {" / ", PRODUCT}, [EO_IDIV] = {" div ", PRODUCT},
    [EO_MOD] = {" % ", PRODUCT}, [EO_POW] = {" ** ", POWER}, [EO_LT] = {" < ", COMPARE}, [EO_LE] = {" <= ", COMPARE},
    [EO_GT] = {" > ", COMPARE}, [EO_GE] = {" >= ", COMPARE}, [EO_EQ] = {" == ", COMPARE}, [EO_NE] = {" != ", COMPARE},
    [EO_AND] = {" and ", AND},  [EO_OR] = {" or ", OR},
};

static Tightness tightness_of(const Expr *e)
{
    switch (e->kind) {
    case EXPR_INT:
        return e->i < 0 ? SIGN : POSTFIX;
    case EXPR_FLOAT:
        return signbit(e->f) ? SIGN : POSTFIX;
    case EXPR_UNARY: case EXPR_BINARY:
        return operators[e->op].tightness;
    case EXPR_NAME: case EXPR_CALL: case EXPR_INDEX: case EXPR_TRANSPOSE: case EXPR_SPACE:
        return POSTFIX;
    case EXPR_RANGE: case EXPR_ELLIPSIS: case EXPR_WORDS:
        return LOOSEST;
    }
    return LOOSEST;
}

/* e, in brackets where it is looser than asked for. */
static void print_within(Str *out, const Expr *e, Tightness least)
{
    bool brackets = tightness_of(e) < least;

    if (brackets)
        str_addc(out, '(');
    lang_print_expr(out, e);
    if (brackets)
        str_addc(out, ')');
}

/* How many digits it takes to tell f from its neighbours. */
static int digits_of(double f)
{
    char text[40];

    for (int digits = 1; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, f);
        if (strtod(text, NULL) == f)
            return digits;
    }
    return 17;
}

/* 1e-05 and 1e+20 as 1e-5 and 1e20 */
static void print_exponent(Str *out, const char *exponent)
{
    str_add(out, exponent[0] == '-' ? "e-" : "e");
    exponent += exponent[0] == '-' || exponent[0] == '+';
    while (exponent[0] == '0' && exponent[1])
        exponent++;
    str_add(out, exponent);
}

/* The shortest text that reads back as the same number, and as no integer. */
static void print_float(Str *out, double f)
{
    char text[40];
    int digits = digits_of(f);
    double size = fabs(f);

    if (isinf(f) || isnan(f)) {
        str_add(out, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    if (size >= 1 && size < 1e15) /* no exponent */
        digits = digits > 15 ? digits : 15;
    snprintf(text, sizeof text, "%.*g", digits, f);
    str_addn(out, text, strcspn(text, "e"));
    if (strchr(text, 'e'))
        print_exponent(out, strchr(text, 'e') + 1);
    else if (!strchr(text, '.'))
        str_add(out, ".0");
}

/* Operators of one level associate to the left, powers to the right; comparisons
 * do not associate. */
static void print_binary(Str *out, const Expr *e)
{
    Tightness own = operators[e->op].tightness;
    Tightness left = own, right = (Tightness)(own + 1);

    if (own == COMPARE)
        left = SUM;
    if (own == POWER) {
        left = POSTFIX;
        right = SIGN;
    }
    print_within(out, e->a, left);
    str_add(out, operators[e->op].text);
    print_within(out, e->b, right);
}

void print_operand(Str *out, const Expr *e)
{
    print_within(out, e, COMPARE);
}

static void print_args(Str *out, const Expr *e, char open, char close)
{
    str_addc(out, open);
    print_list(out, e->args, e->n_args, ", ");
    str_addc(out, close);
}

void print_list(Str *out, Expr *const *items, int n, const char *between)
{
    for (int i = 0; i < n; i++) {
        if (i > 0)
            str_add(out, between);
        lang_print_expr(out, items[i]);
    }
}

static void print_range(Str *out, const Expr *e)
{
    if (e->a)
        lang_print_expr(out, e->a);
    str_addc(out, ':');
    if (e->b)
        lang_print_expr(out, e->b);
}

void lang_print_expr(Str *out, const Expr *e)
{
    switch (e->kind) {
    case EXPR_INT:
        str_printf(out, "%lld", (long long)e->i);
        break;
    case EXPR_FLOAT:
        print_float(out, e->f);
        break;
    case EXPR_NAME: case EXPR_WORDS:
        str_add(out, e->name);
        break;
    case EXPR_UNARY:
        str_add(out, operators[e->op].text);
        print_within(out, e->a, operators[e->op].tightness);
        break;
    case EXPR_BINARY:
        print_binary(out, e);
        break;
    case EXPR_CALL:
        str_add(out, e->name);
        print_args(out, e, '(', ')');
        break;
    case EXPR_INDEX:
        print_within(out, e->a, POSTFIX);
        print_args(out, e, '[', ']');
        break;
    case EXPR_TRANSPOSE:
        print_within(out, e->a, POSTFIX);
        str_add(out, ".T");
        break;
    case EXPR_SPACE:
        print_within(out, e->a, POSTFIX);
        str_printf(out, ".%s", space_name(e->space));
        break;
    case EXPR_RANGE:
        print_range(out, e);
        break;
    case EXPR_ELLIPSIS:
        str_add(out, "...");
        break;
    }
}
