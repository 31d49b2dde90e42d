/* print.c: expressions as TL text.
 *
 * The canonical form is turned back into what a person writes: comparisons have
 * their negative terms moved to the other side, and ceil-divisions are found
 * again in the floor divisions that stand for them.
 *
 *   a - b + 1 <= 0          ->   a < b
 *   (x + 127) div 128       ->   ceil(x / 128)
 *   not (a - b == 0)        ->   a != b
 */
#include "affine/sum.h"

/* Binding strength, as in TL's grammar; an operand that binds less is put in
 * parentheses. */
typedef enum Level { L_OR, L_AND, L_NOT, L_COMPARE, L_SUM, L_PRODUCT, L_ATOM } Level;

/* Where the text goes, and how names and operations that languages write differently
 * are written; style NULL: as TL has it. */
typedef struct Printer {
    Str *out;
    const AffStyle *style;
} Printer;

static void print_at(Printer *p, const Aff *a, Level level);

static void open_if(Printer *p, bool needed)
{
    if (needed)
        str_addc(p->out, '(');
}

static void close_if(Printer *p, bool needed)
{
    if (needed)
        str_addc(p->out, ')');
}

/* ---- sums ------------------------------------------------------------------------- */

/* product * magnitude(coef). The first factor may be a div or mod, for * and
 * div associate to the left; later ones need parentheses. */
static void print_term(Printer *p, AffTerm t)
{
    const Aff *f[AFF_MAX_DEGREE];
    int n = aff_factors(t.product, f);
    for (int i = 0; i < n; i++) {
        if (i)
            str_add(p->out, " * ");
        print_at(p, f[i], i ? L_ATOM : L_PRODUCT);
    }
    if (magnitude(t.coef) != 1)
        str_printf(p->out, " * %llu", (unsigned long long)magnitude(t.coef));
}

/* The terms whose coefficients have the sign wanted; how many there were. */
static int print_side(Printer *p, const AffSum *s, bool positive, bool first)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        if ((s->terms[i].coef > 0) != positive)
            continue;
        if (!first)
            str_add(p->out, " + ");
        print_term(p, s->terms[i]);
        first = false;
        n++;
    }
    return n;
}

static bool is_single(const AffSum *s)
{
    return s->n == 1 && s->constant == 0 && s->terms[0].coef > 0;
}

static int count_positive(const AffSum *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += s->terms[i].coef > 0;
    return n;
}

/* Positive terms, then what is subtracted: `a - b + 3`; `3 - a`; `-a - b`. */
static void print_sum(Printer *p, const AffSum *s)
{
    bool any = print_side(p, s, true, true) > 0;
    bool constant_first = !any && s->constant > 0;
    if (constant_first)
        str_printf(p->out, "%lld", (long long)s->constant);
    for (int i = 0; i < s->n; i++) {
        if (s->terms[i].coef > 0)
            continue;
        str_add(p->out, any || constant_first ? " - " : "-");
        print_term(p, s->terms[i]);
        any = true;
    }
    if (s->constant && !constant_first)
        str_printf(p->out, s->constant > 0 ? " + %llu" : " - %llu",
                   (unsigned long long)magnitude(s->constant));
}

/* ---- division ------------------------------------------------------------------------- */

/* Whether a div b is ceil(s / b), where s becomes a - (b - 1). */
static bool is_ceiling(const Aff *a, const Aff *b, AffSum *s)
{
    int64_t k;
    sum_of(s, a);
    if (aff_is_const(b, &k)) {
        if (k < 2 || s->constant != k - 1)
            return false;
        s->constant = 0;
        return true;
    }
    if (s->constant != -1)
        return false;
    int before = s->n;
    sum_add(s, b, -1);
    sum_add_constant(s, 1);
    return !s->bad && s->n < before && s->n > 0;
}

/* C's division rounds towards zero: an operator where nothing is negative, else a function. */
static void print_quotient(Printer *p, const Aff *a, const char *op, const char *function, bool parens)
{
    bool plain = aff_never_negative(a->a) && aff_never_negative(a->b);
    if (!plain) str_printf(p->out, "%s(", function);
    else open_if(p, parens);
    print_at(p, a->a, plain ? L_PRODUCT : L_OR);
    str_add(p->out, plain ? op : ", ");
    print_at(p, a->b, plain ? L_ATOM : L_OR);
    if (!plain) str_addc(p->out, ')');
    else close_if(p, parens);
}

/* By 2 ** e, e up to 31: (a >> e), int(a & ((1u << e) - 1u)) */
static void print_shift(Printer *p, const Aff *a)
{
    bool modulo = a->kind == AFF_MOD;
    str_add(p->out, modulo ? "int(" : "(");
    print_at(p, a->a, L_ATOM);
    str_add(p->out, modulo ? " & ((1u << " : " >> ");
    print_at(p, a->b->a, L_ATOM);
    str_add(p->out, modulo ? ") - 1u))" : ")");
}

static void print_styled_div(Printer *p, const Aff *a, bool parens)
{
    AffSum s;
    if (a->b->kind == AFF_EXP2) {
        print_shift(p, a);
        return;
    }
    if (!aff_never_negative(a->a) || !is_ceiling(a->a, a->b, &s)) {
        print_quotient(p, a, " / ", p->style->floor_div, parens);
        return;
    }
    str_printf(p->out, "%s(", p->style->ceil_div);
    print_sum(p, &s);
    str_add(p->out, ", ");
    print_at(p, a->b, L_OR);
    str_addc(p->out, ')');
}

static void print_div(Printer *p, const Aff *a, bool parens)
{
    AffSum s;
    if (p->style) {
        print_styled_div(p, a, parens);
        return;
    }
    if (!is_ceiling(a->a, a->b, &s)) {
        open_if(p, parens);
        print_at(p, a->a, L_PRODUCT);
        str_add(p->out, " div ");
        print_at(p, a->b, L_ATOM);
        close_if(p, parens);
        return;
    }
    str_add(p->out, "ceil(");
    open_if(p, !is_single(&s));
    print_sum(p, &s);
    close_if(p, !is_single(&s));
    str_add(p->out, " / ");
    print_at(p, a->b, L_ATOM);
    str_addc(p->out, ')');
}

/* ---- comparisons ------------------------------------------------------------------------- */

/* sum OP 0 with the negative part on the right. */
static void print_comparison(Printer *p, const Aff *sum, const char *op)
{
    AffSum s;
    sum_of(&s, sum);
    bool less = op[0] == '<';
    bool left = count_positive(&s) > 0, right = count_positive(&s) < s.n;
    if (!left && less) { /* c - a <= 0: a >= c */
        print_side(p, &s, false, true);
        str_printf(p->out, " >= %lld", (long long)s.constant);
        return;
    }
    bool strict = less && s.constant == 1;
    if (strict)
        s.constant = 0;
    print_side(p, &s, true, true);
    if (s.constant > 0 && right)
        str_printf(p->out, " + %lld", (long long)s.constant);
    str_printf(p->out, " %s ", strict ? "<" : op);
    print_side(p, &s, false, true);
    if (!right)
        str_printf(p->out, s.constant > 0 ? "-%llu" : "%llu",
                   (unsigned long long)magnitude(s.constant));
    else if (s.constant < 0)
        str_printf(p->out, " + %llu", (unsigned long long)magnitude(s.constant));
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void print_list(Printer *p, const Aff *a, AffKind kind, const char *separator, Level level)
{
    if (a->kind != kind) {
        print_at(p, a, level);
        return;
    }
    print_list(p, a->a, kind, separator, level);
    str_add(p->out, separator);
    print_at(p, a->b, level);
}

/* min and max of two each, as C++ has them. */
static void print_styled_call(Printer *p, const Aff *a, const char *name)
{
    str_printf(p->out, "%s(", name);
    print_at(p, a->a, L_OR);
    str_add(p->out, ", ");
    print_at(p, a->b, L_OR);
    str_addc(p->out, ')');
}

static void print_call(Printer *p, const Aff *a, const char *name)
{
    str_printf(p->out, "%s(", name);
    print_list(p, a, a->kind, ", ", L_OR);
    str_addc(p->out, ')');
}

static void print_element(Printer *p, const Aff *a)
{
    const AffSym *table;
    const Aff *coords[AFF_MAX_COORDS];
    int n = aff_coords(a, &table, coords);
    if (p->style) {
        str_add(p->out, p->style->element(p->style->user, table, coords, n));
        return;
    }
    str_printf(p->out, "%s[", table->name);
    for (int i = 0; i < n; i++) {
        str_add(p->out, i ? ", " : "");
        print_at(p, coords[i], L_OR);
    }
    str_addc(p->out, ']');
}

static void print_not(Printer *p, const Aff *a)
{
    if (a->kind == AFF_EQ) {
        print_comparison(p, a->a, "!=");
        return;
    }
    str_add(p->out, "not ");
    print_at(p, a, L_ATOM);
}

static Level level_of(const Aff *a)
{
    switch (a->kind) {
    case AFF_OR: return L_OR;
    case AFF_AND: return L_AND;
    case AFF_NOT: return a->a->kind == AFF_EQ ? L_COMPARE : L_NOT;
    case AFF_LE:
    case AFF_EQ: return L_COMPARE;
    case AFF_ADD: return L_SUM;
    case AFF_MUL: return a->b->kind == AFF_CONST && a->b->value < 0 ? L_SUM : L_PRODUCT;
    case AFF_CONST: return a->value < 0 ? L_SUM : L_ATOM;
    case AFF_DIV: /* parenthesised by print_div, unless it is a ceil call */
    case AFF_MOD: return L_PRODUCT;
    case AFF_SYM:
    case AFF_EXP2:
    case AFF_MIN:
    case AFF_MAX:
    case AFF_AT:
    case AFF_POISON: break;
    }
    return L_ATOM;
}

static void print_open(Printer *p, const Aff *a)
{
    AffSum s;
    switch (a->kind) {
    case AFF_CONST: str_printf(p->out, "%lld", (long long)a->value); break;
    case AFF_SYM: str_add(p->out, p->style ? p->style->name(p->style->user, a->sym) : a->sym->name); break;
    case AFF_ADD:
    case AFF_MUL:
        sum_of(&s, a);
        print_sum(p, &s);
        break;
    case AFF_DIV: print_div(p, a, false); break;
    case AFF_MOD:
        if (p->style) {
            if (a->b->kind == AFF_EXP2) print_shift(p, a);
            else print_quotient(p, a, " % ", p->style->floor_mod, false);
            break;
        }
        print_at(p, a->a, L_PRODUCT);
        str_add(p->out, " mod ");
        print_at(p, a->b, L_ATOM);
        break;
    case AFF_EXP2:
        str_add(p->out, p->style ? "(1 << " : "2 ** ");
        print_at(p, a->a, L_ATOM);
        if (p->style) str_addc(p->out, ')');
        break;
    case AFF_MIN: (p->style ? print_styled_call : print_call)(p, a, p->style ? p->style->min : "min"); break;
    case AFF_MAX: (p->style ? print_styled_call : print_call)(p, a, p->style ? p->style->max : "max"); break;
    case AFF_LE: print_comparison(p, a->a, "<="); break;
    case AFF_EQ: print_comparison(p, a->a, "=="); break;
    case AFF_AND: print_list(p, a, AFF_AND, p->style ? p->style->conjunction : " and ", L_NOT); break;
    case AFF_OR: print_list(p, a, AFF_OR, p->style ? p->style->disjunction : " or ", L_AND); break;
    case AFF_NOT: print_not(p, a->a); break;
    case AFF_AT: print_element(p, a); break;
    case AFF_POISON: str_add(p->out, "overflow"); break;
    }
}

static void print_at(Printer *p, const Aff *a, Level level)
{
    bool parens = level_of(a) < level;
    if (a->kind == AFF_DIV) {
        print_div(p, a, parens);
        return;
    }
    open_if(p, parens);
    print_open(p, a);
    close_if(p, parens);
}

void aff_print_styled(Str *out, const Aff *a, const AffStyle *style)
{
    Printer p = {out, style};
    print_at(&p, a, L_OR);
}

const char *aff_text(Arena *arena, const Aff *a)
{
    Str s = str_new(arena);
    aff_print_styled(&s, a, NULL);
    return str_text(&s);
}
