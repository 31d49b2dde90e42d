/* propose_formula.c: an expression of tensors as statements, one operation each.
 *
 *   P = exp(S * scale - M)       Compute Multiply S, scale and get P
 *                                Compute Subtract P, M and get new P
 *                                Compute Exp P and get new P
 *   C += A @ B                   Compute GEMM A, B and accumulate C
 *
 * In code, where tiles are allocated, each step replaces the result; so no more than one
 * operand of an operation may be computed, or steps have tiles of their own. Elsewhere they
 * have names of their own.
 */
#include "suggest/cuts.h"
#include "suggest/forms.h"

#include <math.h>

/* ---- names of tensors -------------------------------------------------------------------------------- */

enum { MOST_KNOWN = 512 }; /* a definition has no more names */

typedef struct Known {
    VEC(const char *) names;
} Known;

static bool is_known(const void *user, const Expr *e)
{
    const Known *known = user;

    return e->kind == EXPR_NAME && text_among(known->names.data, known->names.len, e->name);
}

/* The tensor that a statement declares or computes; NULL: none. */
static const char *tensor_of(const Stmt *stmt)
{
    if (stmt->kind == STMT_COMPUTE)
        return stmt->dest && stmt->dest->kind == EXPR_NAME ? stmt->dest->name : NULL;
    return stmt->kind == STMT_INPUT || stmt->kind == STMT_OUTPUT || stmt->kind == STMT_ALLOCATE ? stmt->name : NULL;
}

static Known known_of(Suggester *s)
{
    Known known = {0};

    for (int i = 0; i < s->unit->body.len; i++) {
        const char *name = tensor_of(s->unit->body.data[i]);
        if (name)
            vec_push(s->arena, &known.names, name);
    }
    return known;
}

/* Whether a line of a definition gives a name to an expression of known tensors: then that is known as well. */
static bool bind(Suggester *s, Known *known, const Stmt *stmt)
{
    bool binds = s->unit->kind == UNIT_OPERATOR && (stmt->kind == STMT_ASSIGN || stmt->kind == STMT_LET) && stmt->value &&
                 known->names.len < MOST_KNOWN && expr_any(stmt->value, is_known, known);

    if (binds && stmt->name)
        vec_push(s->arena, &known->names, stmt->name);
    return binds;
}

/* ---- what is written ---------------------------------------------------------------------------------- */

typedef struct Part {
    const char *name, *rows, *cols;
} Part;

typedef struct Formula {
    Suggester *s;
    const char *result;
    bool allocates; /* steps go where the result goes */
    bool own;       /* in code: steps have tiles of their own */
    bool replaces;  /* the result is an operand as well */
    Cuts cuts;
    Known known;
    VEC(Part) tiles; /* whose Allocate is to be added */
    bool failed;
    int parts;  /* names of their own so far, ... */
    const char *part; /* ... which begin with this */
    int steps;
    Str text;
    const char *indent;
    const char *clause; /* behind the operands of the next step; NULL: nothing */
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

/* NAME.METHOD or (...).METHOD, and what the method is. */
typedef struct Method {
    int end;     /* of what it is of; the place itself: there is nothing */
    int behind;  /* of all of it */
    const char *call; /* a function of that; NULL: it is transposed, or there is no such method */
    bool turned;
} Method;

/* Behind a name, or behind brackets that close. */
static int operand_end(const char *text, int at)
{
    int depth = 0, end = at;

    while (is_name_char(text[end]))
        end++;
    if (text[at] != '(')
        return end;
    for (; text[end]; end++) {
        depth += (text[end] == '(') - (text[end] == ')');
        if (depth == 0)
            return end + 1;
    }
    return at;
}

static Method method_at(Suggester *s, const char *text, int at)
{
    static const char *const turns[] = {"transpose", "permute", "swapaxes", "t", "mT"};
    static const char *const calls[] = {"exp", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "abs", "log", "sum", "mean", "max", "amax", "min", "softmax", "square"};
    Method m = {.end = operand_end(text, at)};

    m.behind = m.end;
    if (m.end == at || text[m.end] != '.')
        return m;
    for (m.behind++; is_name_char(text[m.behind]);)
        m.behind++;
    const char *word = arena_strndup(s->arena, text + m.end + 1, (size_t)(m.behind - m.end - 1));
    m.turned = text_among(turns, (int)TW_COUNT(turns), word);
    m.call = text[m.behind] == '(' && text_among(calls, (int)TW_COUNT(calls), word) ? word : NULL;
    if (text[m.behind] == '(') {
        m.behind += (int)strcspn(text + m.behind, ")");
        m.behind += text[m.behind] == ')';
    }
    return m;
}

/* `K.transpose(-2, -1)` as K.T, `x.exp()` as exp(x). */
static const char *without_methods(Suggester *s, const char *text)
{
    Str out = str_new(s->arena);

    if (strlen(text) > FORM_LONGEST)
        return text;
    for (int at = 0; text[at];) {
        Method m = method_at(s, text, at);
        bool any = m.turned || m.call, brackets = text[at] == '(';
        const char *of = any && brackets ? without_methods(s, arena_strndup(s->arena, text + at, (size_t)(m.end - at - 1)))
                                         : arena_strndup(s->arena, text + at, (size_t)(m.end - at));

        if (any)
            str_printf(&out, m.call ? "%s(%s%s)" : "%s%s%s.T", m.call ? m.call : "", of, brackets ? ")" : "");
        else if (brackets || m.end == at)
            str_addc(&out, text[at]);
        else
            str_add(&out, of);
        at = any ? m.behind : brackets || m.end == at ? at + 1 : m.end;
    }
    return str_text(&out);
}

/* A product of matrices is written as what has no meaning for tensors. */
Expr *formula_expr(Suggester *s, const char *text)
{
    Source *source = arena_new_of(s->arena, Source);
    char *line = arena_printf(s->arena, "x = 0 + (%s)", without_methods(s, without_names(s, formula_plain(s, text))));
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

enum { MOST_OPERANDS = 3 };

typedef struct Operands {
    const char *texts[MOST_OPERANDS];
    int n;
} Operands;

/* The tile's sizes; none of what is no tile. */
static Part sizes_of(const Formula *f, const char *name)
{
    const Stmt *tile = cuts_tile(&f->cuts, name, SPACE_REGISTER);

    for (int i = 0; i < f->tiles.len; i++)
        if (strcmp(f->tiles.data[i].name, name) == 0)
            return f->tiles.data[i];
    tile = tile ? tile : cuts_tile(&f->cuts, name, SPACE_SHARED);
    if (!tile || tile->n_shape < 1 || tile->n_shape > 2)
        return (Part){0};
    return (Part){name, suggest_expr(f->s, tile->shape[0]), tile->n_shape == 2 ? suggest_expr(f->s, tile->shape[1]) : "1"};
}

static bool is_longer(const char *size, const char *than)
{
    return size && (!than || strcmp(than, "1") == 0);
}

/* What a step gives has a tile. */
static void allocate(Formula *f, const char *op, const Operands *operands, const char *to)
{
    Part part = {.name = to};

    for (int i = 0; i < operands->n; i++) {
        Part of = sizes_of(f, operands->texts[i]);
        part.rows = is_longer(of.rows, part.rows) ? of.rows : part.rows;
        part.cols = is_longer(of.cols, part.cols) ? of.cols : part.cols;
    }
    if (strncmp(op, "Row", 3) == 0)
        part.cols = "1";
    f->failed |= !part.rows || strcmp(op, op_info(OP_GEMM)->name) == 0;
    vec_push(f->s->arena, &f->tiles, part);
}

static const char *step(Formula *f, const char *op, const Operands *operands, bool last)
{
    bool replaced = f->allocates && !f->own;
    const char *to = replaced || last ? f->result : arena_printf(f->s->arena, "%s%d", f->part, ++f->parts);
    bool again = replaced ? f->steps > 0 || f->replaces : f->replaces && last;

    if (f->own && !cuts_tile(&f->cuts, to, SPACE_REGISTER))
        allocate(f, op, operands, to);
    str_printf(&f->text, "%s%sCompute %s ", f->steps ? "\n" : "", f->steps ? f->indent : "", op);
    for (int i = 0; i < operands->n; i++)
        str_printf(&f->text, "%s%s", i ? ", " : "", operands->texts[i]);
    if (f->clause)
        str_add(&f->text, f->clause);
    f->clause = NULL;
    str_printf(&f->text, " and get %s%s", again ? "new " : "", to);
    f->steps++;
    return to;
}

/* Operands in their order; where steps replace the result only one may take steps, and it comes first. */
static Operands operands(Formula *f, Expr *const *args, int n)
{
    bool replaced = f->allocates && !f->own;
    Operands all = {.n = n};
    int before = f->steps, taken = 0;

    f->failed |= n < 1 || n > MOST_OPERANDS;
    for (int i = 0; i < n && !f->failed; i++) {
        int was = f->steps;
        all.texts[i] = operand(f, args[i], false);
        taken += f->steps > was;
    }
    for (int i = 0; i < n && !f->failed; i++) {
        bool stale = replaced && f->steps > before && args[i]->kind == EXPR_NAME && strcmp(args[i]->name, f->result) == 0;
        f->failed |= stale; /* which the steps have replaced */
    }
    f->failed |= replaced && taken > 1;
    all.n = f->failed ? 0 : n;
    return all;
}

/* ---- elements that a condition leaves ------------------------------------------------------------ */

/* `where(c, X, v)` */
static bool is_choice(const Expr *e)
{
    static const char *const names[] = {"where", "if_then_else", "select"};

    return e->kind == EXPR_CALL && e->n_args == 3 && text_among(names, (int)TW_COUNT(names), e->name);
}

/* Of places and numbers, not of elements. */
static bool is_of_places(const Formula *f, const Expr *e)
{
    bool place = e->kind == EXPR_CALL && (strcmp(e->name, "row") == 0 || strcmp(e->name, "col") == 0);
    bool inner = e->kind == EXPR_BINARY || e->kind == EXPR_UNARY;

    if (place || !inner)
        return place || !expr_any(e, is_known, &f->known);
    return is_of_places(f, e->a) && (e->kind == EXPR_UNARY || is_of_places(f, e->b));
}

static bool is_numeral(const Expr *e, double *value)
{
    bool minus = e->kind == EXPR_UNARY && e->op == EO_NEG;
    const Expr *of = minus ? e->a : e;

    if (of->kind != EXPR_INT && of->kind != EXPR_FLOAT)
        return false;
    *value = (minus ? -1 : 1) * (of->kind == EXPR_INT ? (double)of->i : of->f);
    return true;
}

static const char *expr_text(const Formula *f, const Expr *e)
{
    Str text = str_new(f->s->arena);

    lang_print_expr(&text, e);
    return str_text(&text);
}

/* A Mask, whose other elements are -inf unless it says otherwise. */
static const char *masked(Formula *f, const Expr *condition, Expr *of, double otherwise, bool last)
{
    Expr *const args[] = {of};
    Operands list = operands(f, args, 1);
    const char *number = isinf(otherwise) && otherwise < 0 ? "" : arena_printf(f->s->arena, " else %.9g", otherwise);

    if (f->failed)
        return "";
    f->clause = arena_printf(f->s->arena, " where %s%s", expr_text(f, condition), number);
    return step(f, op_info(OP_MASK)->name, &list, last);
}

/* `X + where(c, 0, -inf)`, or a number that no score is as small as: what is added; NULL: it is none. */
static const Expr *added_mask(const Expr *sum, Expr **of)
{
    static const double LEAST = -1e4;

    for (int i = 0; sum->op == EO_ADD && i < 2; i++) {
        const Expr *mask = i ? sum->b : sum->a;
        double kept, left;

        *of = i ? sum->a : sum->b;
        if (is_choice(mask) && is_numeral(mask->args[1], &kept) && is_numeral(mask->args[2], &left) && kept == 0 && left <= LEAST)
            return mask;
    }
    return NULL;
}

static const char *binary(Formula *f, const Expr *e, bool last)
{
    static const struct { ExprOp op; OpId is; } same[] = {{EO_ADD, OP_ADD}, {EO_SUB, OP_SUBTRACT}, {EO_MUL, OP_MULTIPLY},
                                                          {EO_DIV, OP_DIVIDE}, {EO_MOD, OP_GEMM}, {EO_POW, OP_POWER}};
    Expr *const args[] = {e->a, e->b};

    bool product = e->op == EO_MUL && (e->a->kind == EXPR_TRANSPOSE || e->b->kind == EXPR_TRANSPOSE); /* Q * K.T */

    Expr *of;
    const Expr *mask = added_mask(e, &of);

    if (mask && is_of_places(f, mask->args[0]))
        return masked(f, mask->args[0], of, -INFINITY, last);
    for (size_t i = 0; i < TW_COUNT(same); i++)
        if (same[i].op == e->op) {
            Operands list = operands(f, args, 2);
            return step(f, op_info(product ? OP_GEMM : same[i].is)->name, &list, last);
        }
    f->failed = true;
    return "";
}

/* `sum(P, 1)`: the axis of a reduction, not a second operand; of `max(m, 1)` only where that gives a number for each row. */
static bool names_axis(const Formula *f, const Expr *call)
{
    static const char *const reductions[] = {"sum", "mean", "reduce_sum", "reduce_max"}, *const either[] = {"max", "min", "amax"};
    bool last = call->n_args == 2 && (expr_is_one(call->args[1]) || (call->args[1]->kind == EXPR_UNARY && call->args[1]->op == EO_NEG && expr_is_one(call->args[1]->a)));
    Part of = last ? sizes_of(f, expr_base_name(call->args[0])) : (Part){0}, to = sizes_of(f, f->result);

    return last && (text_among(reductions, (int)TW_COUNT(reductions), call->name) ||
                    (text_among(either, (int)TW_COUNT(either), call->name) && is_longer(of.cols, "1") && to.cols && strcmp(to.cols, "1") == 0));
}

/* `sum(P)`, `max(S)`: of one operand, the rows' own reduction. */
static const char *operation_name(const Expr *call)
{
    static const struct { const char *name; OpId op; } rows[] = {{"max", OP_ROW_MAX}, {"amax", OP_ROW_MAX}, {"reduce_max", OP_ROW_MAX},
        {"sum", OP_ROW_SUM}, {"reduce_sum", OP_ROW_SUM}, {"min", OP_ROW_MIN}, {"mean", OP_ROW_MEAN}};
    static const struct { const char *name; OpId op; } others[] = {{"maximum", OP_MAX}, {"minimum", OP_MIN}, {"dot", OP_GEMM}, {"bmm", OP_GEMM}, {"mm", OP_GEMM}};
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
    const char *name = operation_name(e);
    bool turns = e->n_args == 1 && e->args[0]->kind == EXPR_NAME && (strcmp(e->name, "trans") == 0 || strcmp(e->name, "transpose") == 0);
    bool fills = e->n_args == 3 && strcmp(e->name, "masked_fill") == 0; /* a tensor, where, with what */
    Expr *const filled[] = {fills ? e->args[1] : NULL, fills ? e->args[2] : NULL, fills ? e->args[0] : NULL};

    double otherwise;

    if (turns)
        return arena_printf(f->s->arena, "%s.T", e->args[0]->name);
    if (names_axis(f, e)) {
        Expr *rows = arena_new_of(f->s->arena, Expr);
        *rows = *e;
        rows->n_args = 1;
        return call(f, rows, last);
    }
    if (is_choice(e) && is_of_places(f, e->args[0]) && is_numeral(e->args[2], &otherwise))
        return masked(f, e->args[0], e->args[1], otherwise, last);
    name = fills ? op_info(OP_WHERE)->name : name;
    f->failed |= !name;
    if (f->failed)
        return "";
    Operands list = operands(f, fills ? filled : e->args, e->n_args);
    return step(f, name, &list, last);
}

/* What computes it is written down; the name of what it gives, or what it is. */
static const char *operand(Formula *f, const Expr *e, bool last)
{
    if (f->failed)
        return "";
    if (expr_any(e, is_known, &f->known) || (e->kind == EXPR_CALL && last)) {
        if (e->kind == EXPR_BINARY)
            return binary(f, e, last);
        if (e->kind == EXPR_CALL)
            return call(f, e, last);
        if (e->kind == EXPR_UNARY && e->op == EO_NEG) {
            Expr *const args[] = {e->a};
            Operands list = operands(f, args, 1);
            return step(f, "Negate", &list, last);
        }
    }
    return expr_text(f, e);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static void find_allocated(void *user, const Stmt *stmt)
{
    bool *found = user;

    *found |= stmt->kind == STMT_ALLOCATE;
}

static Formula written(Suggester *s, const char *result, const Expr *e, const char *indent, bool own)
{
    Formula f = {.s = s, .result = result, .part = "part", .replaces = expr_mentions(e, result), .text = str_new(s->arena), .indent = indent, .own = own,
                 .cuts = cuts_of(s), .known = known_of(s)};

    for (int i = 0; i < s->unit->body.len; i++)
        bind(s, &f.known, s->unit->body.data[i]);
    suggest_each(&s->unit->body, find_allocated, &f.allocates);
    f.failed = own && !f.allocates;
    operand(&f, e, true);
    f.failed |= f.steps == 0;
    return f;
}

const char *formula_text(Suggester *s, const char *result, const Expr *e, const char *indent)
{
    Formula f = written(s, result, e, indent, false);

    return f.failed ? NULL : str_text(&f.text);
}

const char *formula_text_of(Suggester *s, const char *result, const Expr *e, const char *indent, const char *const *tiles, int n, const char *part)
{
    Formula f = {.s = s, .result = result, .part = part, .replaces = expr_mentions(e, result), .text = str_new(s->arena), .indent = indent,
                 .cuts = cuts_of(s), .known = known_of(s)};

    for (int i = 0; i < n; i++)
        vec_push(s->arena, &f.known.names, tiles[i]);
    operand(&f, e, true);
    return f.failed || f.steps == 0 ? NULL : str_text(&f.text);
}

bool formula_of_tensors(Suggester *s, const char *text)
{
    const Expr *e = s->unit && s->unit->kind == UNIT_KERNEL && strlen(text) <= FORM_LONGEST ? formula_expr(s, text) : NULL;
    Known known = e ? known_of(s) : (Known){0};

    return e && expr_any(e, is_known, &known);
}

static bool suggest_steps(Formula *f, Span span)
{
    Suggester *s = f->s;
    const char *label = f->steps > 1 ? "one operation a statement" : "as TL says it";
    Str tiles = str_new(s->arena);
    Fix edits[2];

    if (f->tiles.len == 0 || !s->depth)
        return suggest_edit(s, span, str_text(&f->text), label);
    for (int i = 0; i < f->tiles.len; i++)
        str_printf(&tiles, "%sAllocate %s in register (%s, %s) fp32\n", suggest_indent(s, s->path[0]->span.start), f->tiles.data[i].name,
                   f->tiles.data[i].rows, f->tiles.data[i].cols);
    edits[0] = (Fix){suggest_before(s, s->path[0]), str_text(&tiles), NULL};
    edits[1] = (Fix){span, str_text(&f->text), NULL};
    return suggest_edits(s, edits, 2, label);
}

static bool try_formula_at(Suggester *s, Span line, const char *result, const Expr *e, bool sums)
{
    for (int own = 0; own < 2; own++) {
        Formula f = written(s, result, e, suggest_indent(s, line.start), own);

        if (f.failed)
            continue;
        if (sums) { /* the last step is added */
            char *last = strstr(f.text.data, " and get ");
            for (char *next = last; next; next = strstr(next + 1, " and get "))
                last = next;
            f.text.len = (size_t)(last - f.text.data);
            str_printf(&f.text, " and accumulate %s", result);
        }
        if (suggest_steps(&f, line))
            return true;
    }
    return false;
}

static bool try_formula(Suggester *s, const char *result, const Expr *e, bool sums)
{
    return try_formula_at(s, form_line(s), result, e, sums);
}

/* `Compute Max M, RowMax(S) and get new M`: operands that are computed. */
bool propose_computed(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->unit && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && !s->stmt->where && !s->stmt->n_with && !s->stmt->listed ? s->stmt : NULL;
    const Expr *to = stmt && stmt->n_args ? stmt->dest ? stmt->dest : stmt->args[0] : NULL;
    Expr *made = arena_new_of(s->arena, Expr);

    if (!to || to->kind != EXPR_NAME || stmt->value)
        return false;
    made->kind = EXPR_CALL;
    made->name = op_info(stmt->op)->name;
    made->args = stmt->args;
    made->n_args = stmt->n_args;
    return try_formula_at(s, stmt->span, to->name, made, stmt->result == RESULT_ACCUMULATE);
}

/* In a definition: every line that gives a name to a computation with tensors. */
bool propose_bound(Suggester *s)
{
    Known known = s->unit && s->unit->kind == UNIT_OPERATOR ? known_of(s) : (Known){0};
    Fix edits[16];
    int n = 0;

    for (int i = 0; known.names.len && i < s->unit->body.len && n < (int)TW_COUNT(edits); i++) {
        const Stmt *stmt = s->unit->body.data[i];
        if (!bind(s, &known, stmt) || stmt->listed)
            continue;
        edits[n] = (Fix){stmt->span, formula_text(s, stmt->name, stmt->value, suggest_indent(s, stmt->span.start)), NULL};
        if (!edits[n++].text)
            return false;
    }
    return n && suggest_edits(s, edits, n, "one operation a statement");
}

/* `return O`, at the end of a definition: the Output, by this name. */
bool propose_returned(Suggester *s)
{
    const char *text = form_plain(s, form_line(s)), *steps;
    const Stmt *output = NULL, *maker = NULL;
    const Expr *e;
    Holes holes;

    if (!s->unit || s->unit->kind != UNIT_OPERATOR || strlen(text) > FORM_LONGEST || !form_match("return $E", text, &holes))
        return false;
    e = formula_expr(s, form_hole(s, text, &holes, 'E'));
    for (int i = 0; e && i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        output = stmt->kind == STMT_OUTPUT && !output ? stmt : output;
        maker = stmt->kind == STMT_COMPUTE && e->kind == EXPR_NAME && expr_is_name(stmt->dest, e->name) ? stmt : maker;
    }
    if (!output || (e->kind == EXPR_NAME && strcmp(e->name, output->name) == 0))
        return false;
    if (maker)
        return suggest_edits(s, (Fix[]){{maker->dest->span, output->name, NULL}, {suggest_line(s, form_line(s)), "", NULL}}, 2, "the result is the Output");
    steps = formula_text(s, output->name, e, suggest_indent(s, form_line(s).start));
    return steps && suggest_edit(s, form_line(s), steps, "the result is the Output");
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

    if (strlen(text) <= FORM_LONGEST && form_match("Compute Einsum $E and get $c", text, &holes))
        text = form_filled(s, "$c = einsum($E)", text, &holes);
    text = einsum_products(s, text);
    for (size_t i = 0; s->unit && strlen(text) <= FORM_LONGEST && i < TW_COUNT(lines); i++) {
        const char *result, *what;
        const Expr *e, *sum;

        if (!form_match(lines[i].form, text, &holes))
            continue;
        result = form_hole(s, text, &holes, 'c');
        what = form_hole(s, text, &holes, 'E');
        e = formula_expr(s, what);
        if (!e)
            return false;
        sum = lines[i].op[0] == '+' ? e : lines[i].op[0] ? NULL : added(s, e, result);
        if (sum && is_product(sum) && (try_formula(s, result, sum, true) || try_formula(s, result, sum, false)))
            return true;
        if (lines[i].op[0])
            e = formula_expr(s, arena_printf(s->arena, "%s %s (%s)", result, lines[i].op, what));
        return e && (try_formula(s, result, e, false) || (is_product(e) && try_formula(s, result, e, true)));
    }
    return false;
}
