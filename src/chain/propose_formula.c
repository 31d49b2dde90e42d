/* propose_formula.c: an expression of tensors as statements, one operation each.
 *
 *   P = exp(S * scale - M)       Compute Multiply S, scale and get P
 *                                Compute Subtract P, M and get new P
 *                                Compute Exp P and get new P
 *   C += A @ B                   Compute GEMM A, B and accumulate C
 *
 * In code, where tiles are allocated, each step replaces the result; so no more than one
 * operand of an operation may be computed. Elsewhere steps have names of their own.
 */
#include "chain/forms.h"

typedef struct Formula {
    Suggester *s;
    const char *result;
    bool allocates; /* steps go where the result goes */
    bool replaces;  /* the result is an operand as well */
    bool failed;
    int parts;  /* names of their own so far */
    int steps;
    Str text;
    const char *indent;
} Formula;

/* ---- expressions of a text ------------------------------------------------------------------------ */

/* `, axis = 1`: operations of rows are along the last dimension. */
static const char *without_names(Suggester *s, const char *text)
{
    static const char *const names[] = {"axis", "dim", "keepdim", "keepdims", "acc", "allow_tf32", "out_dtype", "clear"};
    Str out = str_new(s->arena);

    for (int at = 0; text[at];) {
        int word = at + 1, end;
        size_t i = text[at] == ',' ? 0 : TW_COUNT(names);

        word += (int)strspn(text + word, " ");
        while (i < TW_COUNT(names) && strncmp(text + word, names[i], strlen(names[i])) != 0)
            i++;
        end = i < TW_COUNT(names) ? word + (int)strlen(names[i]) : at;
        end += (int)strspn(text + end, " ");
        if (end > at && text[end] == '=') {
            at = end + 1 + (int)strcspn(text + end + 1, ",)");
            continue;
        }
        str_addc(&out, text[at++]);
    }
    return str_text(&out);
}

/* A product of matrices is written as what has no meaning for tensors. */
static const Expr *expression(Suggester *s, const char *text)
{
    Source *source = arena_new_of(s->arena, Source);
    char *line = arena_printf(s->arena, "x = 0 + (%s)", without_names(s, text));
    const Program *program;
    Diags *diags;

    for (char *c = line; *c; c++) {
        if (*c == '@')
            *c = '%';
        if (*c == '^' && c[1] == 'T')
            *c = '.';
    }
    *source = (Source){"expression", line, strlen(line)};
    diags = diags_new(s->arena, source);
    program = lang_parse(s->arena, s->chain->syms, source, diags);
    if (diags->errors || program->units.len != 1 || program->units.data[0]->body.len != 1)
        return NULL;
    return program->units.data[0]->body.data[0]->value->b;
}

/* ---- operations -------------------------------------------------------------------------------------- */

static const char *operand(Formula *f, const Expr *e, bool last);

static const char *step(Formula *f, const char *op, const char *operands, bool last)
{
    const char *to = f->allocates || last ? f->result : arena_printf(f->s->arena, "part%d", ++f->parts);
    bool again = f->allocates ? f->steps > 0 || f->replaces : f->replaces && last;

    str_printf(&f->text, "%s%sCompute %s %s and get %s%s", f->steps ? "\n" : "", f->steps ? f->indent : "", op, operands, again ? "new " : "", to);
    f->steps++;
    return to;
}

/* Operands in their order; where tiles are allocated only one may take steps, and it comes first. */
static const char *operands(Formula *f, Expr *const *args, int n)
{
    const char *texts[3];
    Str all = str_new(f->s->arena);
    int before = f->steps, taken = 0;

    f->failed |= n < 1 || n > 3;
    for (int i = 0; i < n && !f->failed; i++) {
        int was = f->steps;
        texts[i] = operand(f, args[i], false);
        taken += f->steps > was;
    }
    for (int i = 0; i < n && !f->failed; i++) {
        bool stale = f->allocates && f->steps > before && args[i]->kind == EXPR_NAME && strcmp(args[i]->name, f->result) == 0;
        f->failed |= stale; /* which the steps have replaced */
        str_printf(&all, "%s%s", i ? ", " : "", texts[i]);
    }
    f->failed |= f->allocates && taken > 1;
    return str_text(&all);
}

static const char *binary(Formula *f, const Expr *e, bool last)
{
    static const struct { ExprOp op; OpId is; } same[] = {{EO_ADD, OP_ADD}, {EO_SUB, OP_SUBTRACT}, {EO_MUL, OP_MULTIPLY},
                                                          {EO_DIV, OP_DIVIDE}, {EO_MOD, OP_GEMM}, {EO_POW, OP_POWER}};
    Expr *const args[] = {e->a, e->b};

    bool product = e->op == EO_MUL && (e->a->kind == EXPR_TRANSPOSE || e->b->kind == EXPR_TRANSPOSE); /* Q * K.T */

    for (size_t i = 0; i < TW_COUNT(same); i++)
        if (same[i].op == e->op) {
            const char *list = operands(f, args, 2);
            return step(f, op_info(product ? OP_GEMM : same[i].is)->name, list, last);
        }
    f->failed = true;
    return "";
}

/* `sum(P)`, `max(S)`: of one operand, the rows' own reduction. */
static const char *operation_name(const Expr *call)
{
    static const struct { const char *name; OpId op; } rows[] = {{"max", OP_ROW_MAX}, {"amax", OP_ROW_MAX}, {"reduce_max", OP_ROW_MAX},
        {"sum", OP_ROW_SUM}, {"reduce_sum", OP_ROW_SUM}, {"min", OP_ROW_MIN}, {"mean", OP_ROW_MEAN}};
    static const struct { const char *name; OpId op; } others[] = {{"maximum", OP_MAX}, {"minimum", OP_MIN}, {"dot", OP_GEMM}};
    OpId op;

    for (size_t i = 0; call->n_args == 1 && i < TW_COUNT(rows); i++)
        if (strcmp(call->name, rows[i].name) == 0)
            return op_info(rows[i].op)->name;
    for (size_t i = 0; i < TW_COUNT(others); i++)
        if (strcmp(call->name, others[i].name) == 0)
            return op_info(others[i].op)->name;
    return op_find(call->name, &op) ? op_info(op)->name : NULL;
}

static const char *call(Formula *f, const Expr *e, bool last)
{
    const char *name = operation_name(e), *list;
    bool turns = e->n_args == 1 && e->args[0]->kind == EXPR_NAME && (strcmp(e->name, "trans") == 0 || strcmp(e->name, "transpose") == 0);

    if (turns)
        return arena_printf(f->s->arena, "%s.T", e->args[0]->name);
    f->failed |= !name;
    list = name ? operands(f, e->args, e->n_args) : "";
    return name ? step(f, name, list, last) : "";
}

static bool is_tensor(const void *user, const Expr *e)
{
    const Formula *f = user;
    const Unit *unit = f->s->unit;
    const char *name = e->kind == EXPR_NAME ? e->name : NULL;

    for (int i = 0; name && i < unit->body.len; i++) {
        const Stmt *stmt = unit->body.data[i];
        bool tensor = stmt->kind == STMT_INPUT || stmt->kind == STMT_OUTPUT || stmt->kind == STMT_ALLOCATE ||
                      (stmt->kind == STMT_COMPUTE && stmt->dest && stmt->dest->kind == EXPR_NAME);
        const char *made = stmt->kind == STMT_COMPUTE && tensor ? stmt->dest->name : stmt->name;

        if (tensor && made && strcmp(made, name) == 0)
            return true;
    }
    return false;
}

/* What computes it is written down; the name of what it gives, or what it is. */
static const char *operand(Formula *f, const Expr *e, bool last)
{
    if (f->failed)
        return "";
    if (expr_any(e, is_tensor, f) || (e->kind == EXPR_CALL && last)) {
        if (e->kind == EXPR_BINARY)
            return binary(f, e, last);
        if (e->kind == EXPR_CALL)
            return call(f, e, last);
        if (e->kind == EXPR_UNARY && e->op == EO_NEG) {
            Expr *const args[] = {e->a};
            const char *list = operands(f, args, 1);
            return step(f, "Negate", list, last);
        }
    }
    Str text = str_new(f->s->arena);
    lang_print_expr(&text, e);
    return str_text(&text);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static void find_allocated(void *user, const Stmt *stmt)
{
    bool *found = user;

    *found |= stmt->kind == STMT_ALLOCATE;
}

static bool try_formula(Suggester *s, const char *result, const Expr *e, bool sums)
{
    Formula f = {.s = s, .result = result, .replaces = expr_mentions(e, result), .text = str_new(s->arena)};
    Span line = form_line(s);

    f.indent = suggest_indent(s, line.start);
    suggest_each(&s->unit->body, find_allocated, &f.allocates);
    operand(&f, e, true);
    if (f.failed || f.steps == 0)
        return false;
    if (sums) { /* the last step is added */
        char *last = strstr(f.text.data, " and get ");
        for (char *next = last; next; next = strstr(next + 1, " and get "))
            last = next;
        f.text.len = (int)(last - f.text.data);
        str_printf(&f.text, " and accumulate %s", result);
    }
    return suggest_edit(s, line, str_text(&f.text), f.steps > 1 ? "one operation a statement" : "as TL says it");
}

/* `C = C + A @ B`, `O = dot(P, V, O)`: what is added to what there is. */
static const Expr *added(Suggester *s, const Expr *e, const char *result)
{
    Expr *less;

    if (e->kind == EXPR_BINARY && e->op == EO_ADD)
        return expr_is_name(e->a, result) ? e->b : expr_is_name(e->b, result) ? e->a : NULL;
    if (e->kind != EXPR_CALL || e->n_args != 3 || !expr_is_name(e->args[2], result))
        return NULL;
    less = arena_new_of(s->arena, Expr);
    *less = *e;
    less->n_args = 2;
    return less;
}

static bool is_product(const Expr *e)
{
    OpId op;

    return (e->kind == EXPR_BINARY && e->op == EO_MOD) || (e->kind == EXPR_CALL && op_find(e->name, &op) && op == OP_GEMM) ||
           (e->kind == EXPR_CALL && strcmp(e->name, "dot") == 0);
}

bool propose_formula(Suggester *s)
{
    static const struct { const char *form; const char *op; } lines[] = {
        {"$c += $E", "+"}, {"$c -= $E", "-"}, {"$c *= $E", "*"}, {"$c /= $E", "/"}, {"$c = $E", ""}, {"Compute $c += $E", "+"},
        {"$c <- $E", ""}, {"$c := $E", ""}, {"Let $c = $E", ""},
        {"Compute $c = $E", ""}, {"Compute $E and get new $c", ""}, {"Compute $E and get $c", ""}, {"Compute $E and accumulate $c", "+"},
    };
    const char *text = form_plain(s, form_line(s));
    Holes holes;

    for (size_t i = 0; s->unit && strlen(text) <= FORM_LONGEST && i < TW_COUNT(lines); i++) {
        const char *result, *what;
        const Expr *e, *sum;

        if (!form_match(lines[i].form, text, &holes))
            continue;
        result = form_hole(s, text, &holes, 'c');
        what = form_hole(s, text, &holes, 'E');
        e = expression(s, what);
        if (!e)
            return false;
        sum = lines[i].op[0] == '+' ? e : lines[i].op[0] ? NULL : added(s, e, result);
        if (sum && is_product(sum) && try_formula(s, result, sum, true))
            return true;
        if (lines[i].op[0])
            e = expression(s, arena_printf(s->arena, "%s %s (%s)", result, lines[i].op, what));
        return e && (try_formula(s, result, e, false) || (is_product(e) && try_formula(s, result, e, true)));
    }
    return false;
}
