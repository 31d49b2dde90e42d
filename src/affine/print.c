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

static void print_at(Str *out, const Aff *a, Level level);

static void open_if(Str *out, bool needed)
{
    if (needed)
        str_addc(out, '(');
}

static void close_if(Str *out, bool needed)
{
    if (needed)
        str_addc(out, ')');
}

/* ---- sums ------------------------------------------------------------------------- */

/* product * magnitude(coef). The first factor may be a div or mod, for * and
 * div associate to the left; later ones need parentheses. */
static void print_term(Str *out, AffTerm t)
{
    const Aff *f[AFF_MAX_DEGREE];
    int n = aff_factors(t.product, f);
    for (int i = 0; i < n; i++) {
        if (i)
            str_add(out, " * ");
        print_at(out, f[i], i ? L_ATOM : L_PRODUCT);
    }
    if (magnitude(t.coef) != 1)
        str_printf(out, " * %llu", (unsigned long long)magnitude(t.coef));
}

/* The terms whose coefficients have the sign wanted; how many there were. */
static int print_side(Str *out, const AffSum *s, bool positive, bool first)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        if ((s->terms[i].coef > 0) != positive)
            continue;
        if (!first)
            str_add(out, " + ");
        print_term(out, s->terms[i]);
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
static void print_sum(Str *out, const AffSum *s)
{
    bool any = print_side(out, s, true, true) > 0;
    bool constant_first = !any && s->constant > 0;
    if (constant_first)
        str_printf(out, "%lld", (long long)s->constant);
    for (int i = 0; i < s->n; i++) {
        if (s->terms[i].coef > 0)
            continue;
        str_add(out, any || constant_first ? " - " : "-");
        print_term(out, s->terms[i]);
        any = true;
    }
    if (s->constant && !constant_first)
        str_printf(out, s->constant > 0 ? " + %llu" : " - %llu",
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

static void print_div(Str *out, const Aff *a, bool parens)
{
    AffSum s;
    if (!is_ceiling(a->a, a->b, &s)) {
        open_if(out, parens);
        print_at(out, a->a, L_PRODUCT);
        str_add(out, " div ");
        print_at(out, a->b, L_ATOM);
        close_if(out, parens);
        return;
    }
    str_add(out, "ceil(");
    open_if(out, !is_single(&s));
    print_sum(out, &s);
    close_if(out, !is_single(&s));
    str_add(out, " / ");
    print_at(out, a->b, L_ATOM);
    str_addc(out, ')');
}

/* ---- comparisons ------------------------------------------------------------------------- */

/* sum OP 0 with the negative part on the right. */
static void print_comparison(Str *out, const Aff *sum, const char *op)
{
    AffSum s;
    sum_of(&s, sum);
    bool less = op[0] == '<';
    bool left = count_positive(&s) > 0, right = count_positive(&s) < s.n;
    if (!left && less) { /* c - a <= 0: a >= c */
        print_side(out, &s, false, true);
        str_printf(out, " >= %lld", (long long)s.constant);
        return;
    }
    bool strict = less && s.constant == 1;
    if (strict)
        s.constant = 0;
    print_side(out, &s, true, true);
    if (s.constant > 0 && right)
        str_printf(out, " + %lld", (long long)s.constant);
    str_printf(out, " %s ", strict ? "<" : op);
    print_side(out, &s, false, true);
    if (!right)
        str_printf(out, s.constant > 0 ? "-%llu" : "%llu",
                   (unsigned long long)magnitude(s.constant));
    else if (s.constant < 0)
        str_printf(out, " + %llu", (unsigned long long)magnitude(s.constant));
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void print_list(Str *out, const Aff *a, AffKind kind, const char *separator, Level level)
{
    if (a->kind != kind) {
        print_at(out, a, level);
        return;
    }
    print_list(out, a->a, kind, separator, level);
    str_add(out, separator);
    print_at(out, a->b, level);
}

static void print_call(Str *out, const Aff *a, const char *name)
{
    str_printf(out, "%s(", name);
    print_list(out, a, a->kind, ", ", L_OR);
    str_addc(out, ')');
}

static void print_not(Str *out, const Aff *a)
{
    if (a->kind == AFF_EQ) {
        print_comparison(out, a->a, "!=");
        return;
    }
    str_add(out, "not ");
    print_at(out, a, L_ATOM);
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
    case AFF_MIN:
    case AFF_MAX:
    case AFF_POISON: break;
    }
    return L_ATOM;
}

static void print_open(Str *out, const Aff *a)
{
    AffSum s;
    switch (a->kind) {
    case AFF_CONST: str_printf(out, "%lld", (long long)a->value); break;
    case AFF_SYM: str_add(out, a->sym->name); break;
    case AFF_ADD:
    case AFF_MUL:
        sum_of(&s, a);
        print_sum(out, &s);
        break;
    case AFF_DIV: print_div(out, a, false); break;
    case AFF_MOD:
        print_at(out, a->a, L_PRODUCT);
        str_add(out, " mod ");
        print_at(out, a->b, L_ATOM);
        break;
    case AFF_MIN: print_call(out, a, "min"); break;
    case AFF_MAX: print_call(out, a, "max"); break;
    case AFF_LE: print_comparison(out, a->a, "<="); break;
    case AFF_EQ: print_comparison(out, a->a, "=="); break;
    case AFF_AND: print_list(out, a, AFF_AND, " and ", L_NOT); break;
    case AFF_OR: print_list(out, a, AFF_OR, " or ", L_AND); break;
    case AFF_NOT: print_not(out, a->a); break;
    case AFF_POISON: str_add(out, "overflow"); break;
    }
}

static void print_at(Str *out, const Aff *a, Level level)
{
    bool parens = level_of(a) < level;
    if (a->kind == AFF_DIV) {
        print_div(out, a, parens);
        return;
    }
    open_if(out, parens);
    print_open(out, a);
    close_if(out, parens);
}

void aff_print(Str *out, const Aff *a)
{
    print_at(out, a, L_OR);
}

const char *aff_text(Arena *arena, const Aff *a)
{
    Str s = str_new(arena);
    aff_print(&s, a);
    return str_text(&s);
}
