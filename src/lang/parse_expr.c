/* parse_expr.c: expressions, by recursive descent, a function a level.
 *
 *   j * BN + col(S) <= q_lo and h // 4 == 0      lowest: or, and, not, comparison,
 *                                                sum, product, sign, power, postfix
 */
#include "lang/parser.h"
#include "lang/tree.h"

#include <math.h>

static Expr *parse_unary(Parser *p);
static Expr *parse_nested(Parser *p, Expr *(*parse)(Parser *p));

/* ---- nodes ------------------------------------------------------------------------ */

static Expr *spanned(Expr *e, int start, int end)
{
    e->span = (Span){start, end};
    return e;
}

/* What stands for an expression where none could be read. */
static Expr *nothing(Parser *p)
{
    return expr_int(p->arena, 0);
}

/* A new node, as long as the tree is not too high. */
static Expr *checked(Parser *p, Expr *e, int start)
{
    spanned(e, start, p->prev_end);
    if (e->depth <= LANG_MAX_DEPTH)
        return e;
    parse_fail(p, TW0103, e->span, "an expression may nest %d levels deep", LANG_MAX_DEPTH);
    return nothing(p);
}

static Expr *binary(Parser *p, ExprOp op, Expr *a, Expr *b)
{
    return checked(p, expr_binary(p->arena, op, a, b), a->span.start);
}

/* ---- operators by level -------------------------------------------------------------- */

typedef enum Level { LEVEL_NONE, LEVEL_OR, LEVEL_AND, LEVEL_COMPARE, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_POWER } Level;

typedef struct Operator {
    Level level;
    ExprOp op;
} Operator;

static Operator word_operator(Word word)
{
    static const Operator operators[] = {
        [WORD_OR] = {LEVEL_OR, EO_OR},          [WORD_AND] = {LEVEL_AND, EO_AND},
        [WORD_DIV] = {LEVEL_PRODUCT, EO_IDIV},  [WORD_MOD] = {LEVEL_PRODUCT, EO_MOD},
    };

    return (size_t)word < TW_COUNT(operators) ? operators[word] : (Operator){LEVEL_NONE, EO_ADD};
}

static Operator token_operator(const Token *token)
{
    static const Operator operators[TOK_COUNT] = {
        [TOK_LT] = {LEVEL_COMPARE, EO_LT},      [TOK_LE] = {LEVEL_COMPARE, EO_LE},
        [TOK_GT] = {LEVEL_COMPARE, EO_GT},      [TOK_GE] = {LEVEL_COMPARE, EO_GE},
        [TOK_EQ] = {LEVEL_COMPARE, EO_EQ},      [TOK_NE] = {LEVEL_COMPARE, EO_NE},
        [TOK_PLUS] = {LEVEL_SUM, EO_ADD},       [TOK_MINUS] = {LEVEL_SUM, EO_SUB},
        [TOK_STAR] = {LEVEL_PRODUCT, EO_MUL},   [TOK_SLASH] = {LEVEL_PRODUCT, EO_DIV},
        [TOK_SLASHES] = {LEVEL_PRODUCT, EO_IDIV}, [TOK_PERCENT] = {LEVEL_PRODUCT, EO_MOD},
        [TOK_POWER] = {LEVEL_POWER, EO_POW},
    };

    return token->kind == TOK_NAME ? word_operator(token->word) : operators[token->kind];
}

/* `and get X` and `and accumulate X` belong to the statement, not to the condition. */
static bool ends_condition(const Parser *p)
{
    Token next;

    if (!at_word(p, WORD_AND))
        return false;
    next = peek(p);
    if (next.kind == TOK_NEWLINE) { /* `and` ends the line: look at the next */
        Lexer lexer = p->lexer;

        lex_next(&lexer);
        next = lex_next(&lexer);
    }
    return next.kind == TOK_NAME && (next.word == WORD_GET || next.word == WORD_ACCUMULATE);
}

/* Reads an operator of this level, if one is there. */
static bool accept_operator(Parser *p, Level level, ExprOp *op)
{
    Operator operator = token_operator(&p->tok);

    if (operator.level != level || p->failed || ends_condition(p))
        return false;
    if (p->tok.kind == TOK_SLASHES && !lex_divides(&p->lexer, p->tok.start, p->lone_comment)) {
        settle_comment(p);
        return accept_operator(p, level, op);
    }
    *op = operator.op;
    advance(p);
    join_line(p);
    return true;
}

/* Reads the closing bracket; at a line's end it was forgotten. */
static void close_bracket(Parser *p, TokenKind close, const char *what)
{
    Span gap = {p->prev_end, p->prev_end};

    if (p->tok.kind == close)
        advance_operand(p);
    else if (at_line_end(p))
        parse_fail_fix(p, TW0102, gap, close == TOK_RPAREN ? ")" : "]", "close the bracket",
                       "expected %s, found %s", what, token_show(p, &p->tok));
    else
        parse_expected(p, what);
}

/* ---- primaries -------------------------------------------------------------------------- */

static Expr *parse_number(Parser *p)
{
    Token tok = p->tok;
    Expr *e;

    if (tok.huge || (tok.kind == TOK_INT && tok.i > INT64_MAX)) {
        parse_fail(p, TW0104, token_span(p), "the number %s does not fit in 64 bits", token_show(p, &tok));
        return nothing(p);
    }
    e = tok.kind == TOK_INT ? expr_int(p->arena, (int64_t)tok.i) : expr_float(p->arena, tok.f);
    advance_operand(p);
    return checked(p, e, tok.start);
}

/* `true`, `True`: 1; `false`, `False`: 0 */
static bool is_truth(const Parser *p, const Token *tok, const char *word)
{
    const char *text = p->source->text + tok->start;
    size_t len = strlen(word);

    return tok->kind == TOK_NAME && (size_t)(tok->end - tok->start) == len && (text[0] | 0x20) == word[0] &&
           memcmp(text + 1, word + 1, len - 1) == 0;
}

/* `where (c, a, b)` among operands is the function, which is called like the clause. */
static bool is_choice(const Parser *p)
{
    return at_word(p, WORD_WHERE) && peek(p).kind == TOK_LPAREN;
}

/* `blockIdx.x` is one name. */
static Expr *parse_name(Parser *p)
{
    Token tok = p->tok;
    Expr *e;

    if (tok.word != WORD_NONE && tok.word <= WORD_LAST_RESERVED && !is_choice(p)) {
        parse_expected(p, "an operand");
        return nothing(p);
    }
    advance_operand(p);
    if (tok.word == WORD_INF)
        e = expr_float(p->arena, INFINITY);
    else if (is_truth(p, &tok, "true") || is_truth(p, &tok, "false"))
        e = expr_int(p->arena, is_truth(p, &tok, "true"));
    else
        e = expr_name(p->arena, symn(p->syms, p->source->text + tok.start, (size_t)(tok.end - tok.start)));
    return checked(p, e, tok.start);
}

/* `i >> 2`, `i << 2` */
static void refuse_shift(Parser *p)
{
    const char *text = p->source->text;
    bool sign = p->tok.kind == TOK_GT || p->tok.kind == TOK_LT;

    if (sign && p->tok.start > 0 && p->prev_end == p->tok.start && text[p->tok.start - 1] == text[p->tok.start])
        parse_fail(p, TW0102, (Span){p->tok.start - 1, p->tok.end}, "'%c%c' is not an operator: `i div 2 ** n` shifts down, "
                   "`i * 2 ** n` up", text[p->tok.start], text[p->tok.start]);
}

/* primary = INT | FLOAT | NAME | "(" expr ")" */
static Expr *parse_primary(Parser *p)
{
    int start = p->tok.start;
    Expr *e;

    if (p->tok.kind == TOK_INT || p->tok.kind == TOK_FLOAT)
        return parse_number(p);
    if (p->tok.kind == TOK_NAME)
        return parse_name(p);
    if (!accept_token(p, TOK_LPAREN)) {
        refuse_shift(p);
        parse_expected(p, "an operand");
        return nothing(p);
    }
    e = parse_expr(p);
    close_bracket(p, TOK_RPAREN, "')'");
    e->span = (Span){start, p->prev_end};
    return e;
}

/* ---- postfixes ------------------------------------------------------------------------- */

/* item = "..." | [expr] ":" [expr] | expr */
Expr *parse_item(Parser *p)
{
    int start = p->tok.start;
    Expr *lo = NULL, *hi = NULL;

    if (accept_token(p, TOK_ELLIPSIS))
        return checked(p, expr_node(p->arena, EXPR_ELLIPSIS, NULL, NULL), start);
    if (p->tok.kind != TOK_COLON)
        lo = parse_expr(p);
    if (!accept_token(p, TOK_COLON))
        return lo;
    if (p->tok.kind != TOK_COMMA && p->tok.kind != TOK_RBRACKET && p->tok.kind != TOK_RPAREN)
        hi = parse_expr(p);
    return checked(p, expr_range(p->arena, lo, hi), start);
}

Exprs parse_items(Parser *p, TokenKind close)
{
    Exprs items = {0};

    while (p->tok.kind != close && !p->failed) {
        vec_push(p->arena, &items, parse_item(p));
        if (!accept_token(p, TOK_COMMA))
            break;
    }
    close_bracket(p, close, close == TOK_RPAREN ? "',' or ')'" : "',' or ']'");
    return items;
}

static Expr *parse_call(Parser *p, Expr *name)
{
    Exprs args;

    advance(p);
    args = parse_items(p, TOK_RPAREN);
    return checked(p, expr_call(p->arena, name->name, args.data, args.len), name->span.start);
}

/* base [i], but not the modifier `[stage = e]` */
static Expr *parse_index(Parser *p, Expr *base)
{
    Exprs items;

    advance(p);
    items = parse_items(p, TOK_RBRACKET);
    if (items.len == 0)
        parse_fail(p, TW0102, (Span){base->span.start, p->prev_end}, "an index is missing between '[' and ']'");
    return checked(p, expr_index(p->arena, base, items.data, items.len), base->span.start);
}

static bool is_member(const Parser *p, const char *name)
{
    size_t len = (size_t)(p->tok.end - p->tok.start);

    return p->tok.kind == TOK_NAME && len == strlen(name) &&
           memcmp(p->source->text + p->tok.start, name, len) == 0;
}

/* `.x` behind a plain name is part of it: blockIdx.x */
static Expr *parse_dotted_name(Parser *p, Expr *base)
{
    const char *name = arena_printf(p->arena, "%s.%c", base->name, p->source->text[p->tok.start]);

    advance_operand(p);
    return checked(p, expr_name(p->arena, sym(p->syms, name)), base->span.start);
}

static bool parse_space_member(Parser *p, Space *space)
{
    for (Space s = SPACE_GLOBAL; s <= SPACE_REGISTER; s++)
        if (is_member(p, space_name(s))) {
            *space = s;
            return true;
        }
    return false;
}

/* member = "T" | "shared" | "register" | "global" | "x" | "y" | "z" */
static Expr *parse_member(Parser *p, Expr *base)
{
    Space space;

    advance(p);
    if (is_member(p, "T") || is_member(p, "t")) {
        advance_operand(p);
        return checked(p, expr_transpose(p->arena, base), base->span.start);
    }
    if (parse_space_member(p, &space)) {
        advance_operand(p);
        return checked(p, expr_space(p->arena, base, space), base->span.start);
    }
    if (base->kind == EXPR_NAME && (is_member(p, "x") || is_member(p, "y") || is_member(p, "z")))
        return parse_dotted_name(p, base);
    parse_expected(p, "'T', 'global', 'shared' or 'register' after '.'");
    return base;
}

/* Is the "[" here the modifier `[stage = e]`? */
static bool at_stage(const Parser *p)
{
    Lexer lexer = p->lexer;
    Token name = lex_next(&lexer);

    return name.kind == TOK_NAME && name.word == WORD_STAGE && lex_next(&lexer).kind == TOK_ASSIGN;
}

/* postfix = primary { "(" items ")" | "[" items "]" | "." member } */
static Expr *parse_postfix(Parser *p)
{
    Expr *e = parse_primary(p);

    while (!p->failed) {
        if (p->tok.kind == TOK_LPAREN && e->kind == EXPR_NAME)
            e = parse_call(p, e);
        else if (p->tok.kind == TOK_LBRACKET && !at_stage(p))
            e = parse_index(p, e);
        else if (p->tok.kind == TOK_DOT)
            e = parse_member(p, e);
        else
            break;
    }
    return e;
}

/* reference = NAME { "[" items "]" | "." member } */
Expr *parse_reference(Parser *p)
{
    Expr *e;

    if (p->tok.kind != TOK_NAME) {
        parse_expected(p, "a name");
        return nothing(p);
    }
    e = parse_name(p);
    while (!p->failed) {
        if (p->tok.kind == TOK_LBRACKET && !at_stage(p))
            e = parse_index(p, e);
        else if (p->tok.kind == TOK_DOT)
            e = parse_member(p, e);
        else
            break;
    }
    settle_comment(p);
    return e;
}

/* ---- levels ------------------------------------------------------------------------------- */

/* power = postfix [ "**" unary ] */
static Expr *parse_power(Parser *p)
{
    Expr *e = parse_postfix(p);
    ExprOp op;

    return accept_operator(p, LEVEL_POWER, &op) ? binary(p, op, e, parse_unary(p)) : e;
}

/* The one number whose magnitude only fits when negated. */
static bool at_smallest(const Parser *p)
{
    return p->tok.kind == TOK_INT && !p->tok.huge && p->tok.i == (uint64_t)INT64_MAX + 1;
}

/* unary = "-" unary | "+" unary | power */
static Expr *parse_sign(Parser *p)
{
    int start = p->tok.start;
    bool minus = p->tok.kind == TOK_MINUS;

    advance(p);
    if (minus && at_smallest(p)) {
        advance_operand(p);
        return checked(p, expr_int(p->arena, INT64_MIN), start);
    }
    Expr *e = parse_unary(p);
    return minus ? checked(p, expr_unary(p->arena, EO_NEG, e), start) : e;
}

static Expr *parse_unary(Parser *p)
{
    bool sign = p->tok.kind == TOK_MINUS || p->tok.kind == TOK_PLUS;

    return sign ? parse_nested(p, parse_sign) : parse_power(p);
}

/* operand { operator operand }, from left to right */
static Expr *parse_level(Parser *p, Level level, Expr *(*operand)(Parser *))
{
    Expr *e = operand(p);
    ExprOp op;

    while (accept_operator(p, level, &op))
        e = binary(p, op, e, operand(p));
    return e;
}

/* product = unary { ("*" | "/" | "//" | "div" | "%" | "mod") unary } */
static Expr *parse_product(Parser *p)
{
    return parse_level(p, LEVEL_PRODUCT, parse_unary);
}

/* sum = product { ("+" | "-") product } */
static Expr *parse_sum(Parser *p)
{
    return parse_level(p, LEVEL_SUM, parse_product);
}

/* compare = sum { ("<" | "<=" | ">" | ">=" | "==" | "!=") sum }
 * 0 <= i < N means 0 <= i and i < N. */
static Expr *parse_compare(Parser *p)
{
    Expr *left = parse_sum(p), *all = NULL;
    ExprOp op;

    while (accept_operator(p, LEVEL_COMPARE, &op)) {
        Expr *right = parse_sum(p), *one = binary(p, op, left, right);

        all = all ? binary(p, EO_AND, all, one) : one;
        left = expr_copy(p->arena, right);
    }
    return all ? all : left;
}

static Expr *parse_not(Parser *p);

static Expr *parse_negation(Parser *p)
{
    int start = p->tok.start;

    advance(p);
    return checked(p, expr_unary(p->arena, EO_NOT, parse_not(p)), start);
}

/* not = "not" not | compare */
static Expr *parse_not(Parser *p)
{
    return at_word(p, WORD_NOT) ? parse_nested(p, parse_negation) : parse_compare(p);
}

/* and = not { "and" not }, up to `and get` */
static Expr *parse_and(Parser *p)
{
    return parse_level(p, LEVEL_AND, parse_not);
}

/* or = and { "or" and } */
static Expr *parse_or(Parser *p)
{
    return parse_level(p, LEVEL_OR, parse_and);
}

/* One level of expressions more, as long as there are not too many. */
static Expr *parse_nested(Parser *p, Expr *(*parse)(Parser *p))
{
    Expr *e;

    if (p->nesting >= LANG_MAX_DEPTH) {
        parse_fail(p, TW0103, token_span(p), "an expression may nest %d levels deep", LANG_MAX_DEPTH);
        return nothing(p);
    }
    p->nesting++;
    e = parse(p);
    p->nesting--;
    return e;
}

/* expr = or */
Expr *parse_expr(Parser *p)
{
    Expr *e = parse_nested(p, parse_or);

    settle_comment(p);
    return e;
}

/* operand = compare: `and` outside of brackets ends it */
Expr *parse_operand(Parser *p)
{
    Expr *e = parse_nested(p, parse_compare);

    settle_comment(p);
    return e;
}

/* The rest of the line, in words: `if block j crosses the diagonal` */
Expr *parse_prose(Parser *p)
{
    Expr *e = expr_node(p->arena, EXPR_WORDS, NULL, NULL);
    int start = p->tok.start, end = start;
    const char *text = p->source->text;

    while (text[end] && text[end] != '\n' && text[end] != '#' && strncmp(text + end, "//", 2) != 0)
        end++;
    p->lexer.pos = end;
    p->lexer.brackets = 0;
    while (end > start && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r' || text[end - 1] == ':'))
        end--;
    e->name = symn(p->syms, text + start, (size_t)(end - start));
    p->tok.end = end;
    advance(p);
    return spanned(e, start, end);
}
