/* propose_indexed.c: formulas whose letters are places, as they stand in papers, in a definition.
 *
 *   y[i, j] = 2 * x[i, j] + b[j]            Compute Multiply x, 2 and get y
 *                                           Compute Add y, b and get new y
 *   y[j, i] = x[i, j] - x[i, 0]             Compute Define y (N, M) as x[col, row] - x[col, 0]
 *   s[i, j] = sum_d q[i, d] * k[j, d]       Compute GEMM q, k.T and get s
 *
 * Elements that all are the one at hand are those of whole tensors. Else a letter is the element's row or column, or its
 * place along the dimension that it goes over. A letter that the result does not have is summed over: that is a product of
 * matrices.
 */
#include "suggest/cuts.h"
#include "suggest/forms.h"

enum { MOST_LETTERS = 12 };

typedef struct Letter {
    const char *name, *dim;
} Letter;

typedef struct Letters {
    Letter list[MOST_LETTERS];
    int n;
    bool clash; /* one that goes over two dimensions, or too many */
} Letters;

static int letter_at(const Letters *letters, const char *name)
{
    for (int i = 0; i < letters->n; i++)
        if (strcmp(letters->list[i].name, name) == 0)
            return i;
    return -1;
}

static void add_letter(Letters *letters, const char *name, const char *dim)
{
    int at = letter_at(letters, name);

    if (at >= 0)
        letters->clash |= strcmp(letters->list[at].dim, dim) != 0;
    else if (letters->n < MOST_LETTERS)
        letters->list[letters->n++] = (Letter){name, dim};
    else
        letters->clash = true;
}

/* ---- which letters there are --------------------------------------------------------------------- */

static bool names_dimension(const Stmt *stmt, const char *name)
{
    for (int d = 0; d < stmt->n_shape; d++)
        if (expr_is_name(stmt->shape[d], name))
            return true;
    return false;
}

static bool is_declared(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *stmt = unit->body.data[i];

        if ((stmt->name && strcmp(stmt->name, name) == 0) || names_dimension(stmt, name))
            return true;
    }
    return strcmp(name, "row") == 0 || strcmp(name, "col") == 0;
}

/* Of all elements in the expression, as their tensors' dimensions say. */
static void find_letters(const Cuts *cuts, const Expr *e, Letters *letters)
{
    const Stmt *tensor = e && e->kind == EXPR_INDEX && e->a->kind == EXPR_NAME ? cuts_shaped_as(cuts, e->a->name, 0) : NULL;

    if (!e)
        return;
    for (int k = 0; tensor && k < e->n_args && k < tensor->n_shape; k++)
        if (e->args[k]->kind == EXPR_NAME && tensor->shape[k]->kind == EXPR_NAME && !is_declared(cuts->s->unit, e->args[k]->name))
            add_letter(letters, e->args[k]->name, tensor->shape[k]->name);
    find_letters(cuts, e->a, letters);
    find_letters(cuts, e->b, letters);
    for (int k = 0; k < e->n_args; k++)
        find_letters(cuts, e->args[k], letters);
}

/* The own place along a dimension of a result of that shape; NULL: it has none. */
static const char *own_place(const char *dim, Expr *const *shape, int n)
{
    for (int d = 0; d < n; d++)
        if (expr_is_name(shape[d], dim))
            return d == n - 1 ? "col" : d == n - 2 ? "row" : dim;
    return NULL;
}

/* The formula with places for letters; NULL: one goes over what the result does not have. */
static const char *with_places(Suggester *s, const Letters *letters, Expr *const *shape, int n, const char *text)
{
    for (int i = 0; i < letters->n && text; i++) {
        const char *place = own_place(letters->list[i].dim, shape, n);
        text = place ? suggest_words(s, text, letters->list[i].name, place) : NULL;
    }
    return letters->clash ? NULL : text;
}

/* ---- whole tensors -------------------------------------------------------------------------------- */

/* Whether coordinates are the last ones of the result, in their order, or `...`. */
static bool is_own_element(const Expr *e, const Letters *left)
{
    int ahead = left->n - e->n_args;

    if (e->kind != EXPR_INDEX || e->a->kind != EXPR_NAME || ahead < 0)
        return false;
    if (e->n_args == 1 && e->args[0]->kind == EXPR_ELLIPSIS)
        return true;
    for (int k = 0; k < e->n_args; k++)
        if (!expr_is_name(e->args[k], left->list[ahead + k].name))
            return false;
    return true;
}

/* The formula of whole tensors, where it has nothing but elements at hand; NULL: it has. */
static Expr *of_tensors(Arena *arena, const Expr *e, const Letters *left)
{
    Expr *whole = arena_new_of(arena, Expr);

    if (is_own_element(e, left))
        return e->a;
    if (e->kind == EXPR_INDEX || (e->kind == EXPR_NAME && letter_at(left, e->name) >= 0))
        return NULL;
    *whole = *e;
    whole->args = arena_array(arena, Expr *, e->n_args + 1);
    for (int k = 0; k < e->n_args; k++)
        if (!(whole->args[k] = of_tensors(arena, e->args[k], left)))
            return NULL;
    if ((e->a && !(whole->a = of_tensors(arena, e->a, left))) || (e->b && !(whole->b = of_tensors(arena, e->b, left))))
        return NULL;
    return whole;
}

/* ---- products of matrices --------------------------------------------------------------------------- */

static bool is_product_of_elements(const Expr *e)
{
    return e && e->kind == EXPR_BINARY && e->op == EO_MUL && e->a->kind == EXPR_INDEX && e->b->kind == EXPR_INDEX;
}

/* What a formula adds up; NULL: nothing. */
static const char *summed(Suggester *s, const char *formula)
{
    static const char *const forms[] = {"sum($P for $k in $Q)", "sum($P, $k)", "sum($P)", "sum_{$k} $P", "sum over $k of $P", "sum over $k: $P", "sum[$k] $P"};
    Holes holes;
    int word = 0;

    for (size_t i = 0; i < TW_COUNT(forms); i++)
        if (form_match(forms[i], formula, &holes))
            return form_hole(s, formula, &holes, 'P');
    while (is_name_char(formula[word]))
        word++;
    return strncmp(formula, "sum_", 4) == 0 && formula[word] == ' ' ? formula + word : NULL;
}

/* Whether an operand has the result's letters but the last two, then `outer` and one that is summed over, turned or not. */
static bool is_operand(const Expr *e, const Letters *left, const char *outer, const char *over, bool outer_first, bool *turned)
{
    int n = e->n_args, ahead = left->n - 2;

    if (n < 2 || (n != 2 && n != left->n))
        return false;
    for (int k = 0; k < n - 2; k++)
        if (n - 2 != ahead || !expr_is_name(e->args[k], left->list[k].name))
            return false;
    *turned = !expr_is_name(e->args[outer_first ? n - 2 : n - 1], outer);
    return expr_is_name(e->args[*turned == outer_first ? n - 1 : n - 2], outer) && expr_is_name(e->args[*turned == outer_first ? n - 2 : n - 1], over);
}

/* The letter of an operand's last two that is not the result's. */
static const char *letter_summed(const Expr *e, const char *outer)
{
    for (int k = e->n_args - 2; k >= 0 && k < e->n_args; k++)
        if (e->args[k]->kind == EXPR_NAME && strcmp(e->args[k]->name, outer) != 0)
            return e->args[k]->name;
    return NULL;
}

static bool try_product(Suggester *s, const char *result, const Letters *left, const Expr *product)
{
    const Expr *sides[] = {product->a, product->b};

    for (int first = 0; left->n >= 2 && first < 2; first++) {
        const Expr *a = sides[first], *b = sides[!first];
        const char *row = left->list[left->n - 2].name, *col = left->list[left->n - 1].name, *over = letter_summed(a, row);
        bool a_turned, b_turned;

        if (!over || letter_at(left, over) >= 0 || !is_operand(a, left, row, over, true, &a_turned) || !is_operand(b, left, col, over, false, &b_turned))
            continue;
        return suggest_edit(s, form_line(s), arena_printf(s->arena, "Compute GEMM %s%s, %s%s and get %s", suggest_expr(s, a->a), a_turned ? ".T" : "",
                                                          suggest_expr(s, b->a), b_turned ? ".T" : "", result), "a product of matrices");
    }
    return false;
}

/* ---- the statement ---------------------------------------------------------------------------------- */

/* The tensor that `y[b, i, j]` is an element of, of the shape that it is declared with, or else that its letters go over in the
 * formula; and those letters. NULL: they are something else. */
static const Stmt *element_of(const Cuts *cuts, const Expr *element, const Expr *formula, Letters *left)
{
    bool is_element = element && formula && element->kind == EXPR_INDEX && element->a->kind == EXPR_NAME;
    const Stmt *declared = is_element ? cuts_tensor(cuts, element->a->name) : NULL;
    Stmt *tensor = arena_new_of(cuts->s->arena, Stmt);
    Letters all = {0};

    if (!is_element || (declared && declared->n_shape != element->n_args))
        return NULL;
    find_letters(cuts, formula, &all);
    *tensor = (Stmt){.name = element->a->name, .n_shape = element->n_args, .shape = arena_array(cuts->s->arena, Expr *, element->n_args)};
    for (int k = 0; k < element->n_args; k++) {
        const Expr *letter = element->args[k];
        int at = letter->kind == EXPR_NAME && letter_at(left, letter->name) < 0 ? letter_at(&all, letter->name) : -1;

        if (!declared && at >= 0)
            tensor->shape[k] = expr_name(cuts->s->arena, all.list[at].dim);
        else if (declared && letter->kind == EXPR_NAME && letter_at(left, letter->name) < 0)
            tensor->shape[k] = declared->shape[k];
        if (!tensor->shape[k] || tensor->shape[k]->kind != EXPR_NAME)
            return NULL;
        add_letter(left, letter->name, tensor->shape[k]->name);
    }
    return left->clash ? NULL : tensor;
}

/* A Define of the tensor with that formula, as TL writes it; *formula: where it begins. */
static const char *define_of(Suggester *s, const Stmt *tensor, const char *formula, int *at)
{
    Str shape = str_new(s->arena), text = str_new(s->arena);

    for (int d = 0; d < tensor->n_shape; d++)
        str_printf(&shape, "%s%s", d ? ", " : "", suggest_expr(s, tensor->shape[d]));
    str_printf(&text, "Compute Define %s (%s) as ", tensor->name, str_text(&shape));
    *at = (int)text.len;
    str_add(&text, formula);
    return notation_plain(s, str_text(&text));
}

static bool try_indexed(Suggester *s, const Cuts *cuts, const Expr *element, const char *formula, bool adds)
{
    const char *sum = adds ? formula : summed(s, formula), *steps, *define, *places;
    const Expr *e = formula_expr(s, sum ? sum : notation_plain(s, formula)), *whole;
    Letters left = {0}, all;
    const Stmt *tensor = element_of(cuts, element, e, &left);
    int at;

    if (!tensor || sum)
        return tensor && is_product_of_elements(e) && try_product(s, tensor->name, &left, e);
    define = define_of(s, tensor, formula, &at);
    whole = of_tensors(s->arena, e, &left);
    steps = whole ? formula_text(s, tensor->name, whole, suggest_indent(s, form_line(s).start)) : NULL;
    if (steps && suggest_edit(s, form_line(s), steps, "one operation a statement"))
        return true;
    all = left;
    find_letters(cuts, e, &all);
    places = (int)strlen(define) > at ? with_places(s, &all, tensor->shape, tensor->n_shape, define + at) : NULL;
    return places && suggest_edit(s, form_line(s), arena_printf(s->arena, "%.*s%s", at, define, places), "each element, of those that it names");
}

bool propose_indexed(Suggester *s)
{
    static const struct { const char *form; bool adds; } lines[] = {{"$c[$I] = $E", false}, {"$c[$I] += $E", true}, {"$c[$I] := $E", false}};
    const char *text = form_plain(s, form_line(s));
    Cuts cuts = cuts_of(s);
    Holes holes;

    for (size_t i = 0; s->unit && s->unit->kind == UNIT_OPERATOR && strlen(text) <= FORM_LONGEST && i < TW_COUNT(lines); i++)
        if (form_match(lines[i].form, text, &holes))
            return try_indexed(s, &cuts, formula_expr(s, arena_printf(s->arena, "%s[%s]", form_hole(s, text, &holes, 'c'), form_hole(s, text, &holes, 'I'))),
                               form_hole(s, text, &holes, 'E'), lines[i].adds);
    return false;
}

/* The Define that the diagnostic is of, in a definition; NULL: there is none. */
static const Stmt *define_at_hand(const Suggester *s)
{
    return s->stmt && s->unit && s->unit->kind == UNIT_OPERATOR && s->stmt->kind == STMT_COMPUTE && s->stmt->value ? s->stmt : NULL;
}

/* Letters that nothing declares. */
bool propose_places_of_letters(Suggester *s)
{
    const Stmt *stmt = define_at_hand(s);
    Cuts cuts = cuts_of(s);
    Letters letters = {0};
    const char *places;

    if (!stmt)
        return false;
    find_letters(&cuts, stmt->value, &letters);
    places = letters.n ? with_places(s, &letters, stmt->shape, stmt->n_shape, suggest_quoted(s, stmt->value->span)) : NULL;
    return places && suggest_edit(s, stmt->value->span, places, "the element's own places");
}

/* `row` of what has one dimension: its elements lie side by side. */
bool propose_only_place(Suggester *s)
{
    const Stmt *stmt = define_at_hand(s);

    return stmt && stmt->n_shape == 1 && suggest_edit(s, stmt->value->span, suggest_words(s, suggest_quoted(s, stmt->value->span), "row", "col"), "its one dimension is along a row");
}
