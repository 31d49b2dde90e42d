/* parse_flow.c: the statements of data flow: Allocate, Copy, Compute, Reshape.
 *
 * What stands behind the names may come in any order; the printer has the
 * canonical one.
 */
#include "lang/parser.h"
#include "lang/lines.h"

/* ---- spaces, dtypes, shapes ------------------------------------------------------------- */

static bool space_find(const char *text, size_t len, Space *space)
{
    static const struct { const char *name; Space space; } names[] = {
        {"global", SPACE_GLOBAL},     {"shared", SPACE_SHARED}, {"register", SPACE_REGISTER},
        {"registers", SPACE_REGISTER}, {"reg", SPACE_REGISTER}, {"regs", SPACE_REGISTER},
        {"gmem", SPACE_GLOBAL},       {"smem", SPACE_SHARED},   {"rmem", SPACE_REGISTER},
    };

    for (size_t i = 0; i < TW_COUNT(names); i++)
        if (text_is(text, len, names[i].name)) {
            *space = names[i].space;
            return true;
        }
    return false;
}

static const char *word_here(Parser *p)
{
    int len = p->tok.end - p->tok.start;

    return arena_strndup(p->arena, p->source->text + p->tok.start, (size_t)(len < 32 ? len : 32));
}

/* A tile that is called as itself and its memory space, `K_smem`: the space. */
static bool space_of_name(const char *name, Space *space)
{
    const char *last = strrchr(name, '_');

    return last && last > name && space_find(last + 1, strlen(last + 1), space);
}

static void unknown_space(Parser *p, bool may_rename)
{
    const char *word = word_here(p);
    Space within;

    if (may_rename && space_of_name(word, &within)) {
        parse_fail_fix(p, TW0110, token_span(p), arena_printf(p->arena, "%s as %s", space_name(within), word),
                       "the elements' name there stands behind 'as'", "there is no memory space '%s'", word);
        return;
    }
    for (Space s = SPACE_GLOBAL; s <= SPACE_REGISTER; s++)
        if (word_distance(word, space_name(s), 2) <= 2) {
            parse_fail_fix(p, TW0110, token_span(p), space_name(s),
                           arena_printf(p->arena, "write '%s'", space_name(s)),
                           "there is no memory space '%s'", word);
            return;
        }
    parse_fail(p, TW0110, token_span(p), "there is no memory space '%s': use global, shared or register", word);
}

/* space = ("global" | "shared" | "register") ["memory"]; may_rename: a name may stand behind it with `as` */
static Space parse_space(Parser *p, bool may_rename)
{
    Space space = SPACE_NONE;

    if (p->tok.kind != TOK_NAME)
        parse_expected(p, "a memory space (global, shared or register)");
    else if (!space_find(p->source->text + p->tok.start, (size_t)(p->tok.end - p->tok.start), &space))
        unknown_space(p, may_rename);
    if (p->failed)
        return SPACE_NONE;
    advance(p);
    accept_last_word(p, WORD_MEMORY);
    return space;
}

static void unknown_dtype(Parser *p)
{
    const char *word = word_here(p);
    Span span = token_span(p);

    for (int t = 0; t < DT_COUNT; t++)
        if (word_distance(word, dtype_name((DType)t), 1) <= 1) {
            const char *name = dtype_name((DType)t);

            parse_fail_fix(p, TW0112, span, name, arena_printf(p->arena, "write '%s'", name),
                           "there is no element type '%s'", word);
            return;
        }
    parse_fail(p, TW0112, span, "there is no element type '%s'", word);
}

/* dtype = [":"] NAME, where the name can be nothing else */
void parse_dtype(Parser *p, Stmt *s)
{
    bool colon = accept_token(p, TOK_COLON);

    if (p->tok.kind != TOK_NAME || (p->tok.word != WORD_NONE && !colon)) {
        if (colon)
            parse_expected(p, "an element type");
        return;
    }
    s->dtype_span = token_span(p);
    s->has_dtype = dtype_parse(word_here(p), &s->dtype);
    if (s->has_dtype)
        advance(p);
    else
        unknown_dtype(p);
}

/* "(" items ")", or, understood as well, "[" items "]" */
void parse_shape(Parser *p, Stmt *s)
{
    TokenKind close = p->tok.kind == TOK_LBRACKET ? TOK_RBRACKET : TOK_RPAREN;
    Exprs items;

    if (close == TOK_RBRACKET)
        advance(p);
    else if (!expect(p, TOK_LPAREN))
        return;
    items = parse_items(p, close);
    settle_comment(p);
    s->has_shape = true;
    s->shape = items.data;
    s->n_shape = items.len;
}

/* What stands behind the names of a list holds for each of them. */
static void share_parts(Parser *p, Stmt *to, const Stmt *from)
{
    Stmt own = *to;

    *to = *from;
    to->name = own.name;
    to->name_span = own.name_span;
    to->target = own.target;
    to->span = own.span;
    to->comment = own.comment;
    to->gap = own.gap;
    to->shape = arena_array(p->arena, Expr *, from->n_shape);
    for (int i = 0; i < from->n_shape; i++)
        to->shape[i] = expr_copy(p->arena, from->shape[i]);
    to->coords = arena_array(p->arena, Coord, from->n_coords);
    for (int i = 0; i < from->n_coords; i++) {
        to->coords[i] = from->coords[i];
        to->coords[i].value = expr_copy(p->arena, from->coords[i].value);
    }
    to->offset = expr_copy(p->arena, from->offset);
    to->stage = expr_copy(p->arena, from->stage);
    to->where = expr_copy(p->arena, from->where);
    to->otherwise = expr_copy(p->arena, from->otherwise);
}

/* The statements of a list from `first` on, of which the last one, s, has all the parts. */
static void finish_list(Parser *p, Block *out, int first, const Stmt *s)
{
    if (p->failed)
        out->len = first;
    for (int i = first; i < out->len; i++)
        share_parts(p, out->data[i], s);
}

/* ---- Allocate ------------------------------------------------------------------------------ */

/* allocate = "Allocate" NAME { "," NAME } { "in" space | "(" items ")" | [":"] DTYPE | "with" "offset" expr } */
Stmt *parse_allocate(Parser *p, Stmt *s, Block *out)
{
    int first = out->len;

    s->name = take_name(p, &s->name_span);
    while (accept_token(p, TOK_COMMA)) {
        s = another_stmt(p, s, out);
        s->name = take_name(p, &s->name_span);
    }
    while (!at_line_end(p) && p->tok.kind != TOK_COMMA && !p->failed) {
        if (accept_word(p, WORD_IN)) {
            s->space = parse_space(p, false);
        } else if (p->tok.kind == TOK_LPAREN) {
            parse_shape(p, s);
        } else if (accept_word(p, WORD_WITH)) {
            expect_word(p, WORD_OFFSET, "'offset'");
            s->offset = parse_expr(p);
        } else if (p->tok.kind == TOK_COLON || (p->tok.kind == TOK_NAME && p->tok.word == WORD_NONE)) {
            parse_dtype(p, s);
        } else {
            parse_expected(p, "'in' a memory space, a shape, an element type or 'with offset'");
        }
    }
    if (s->space == SPACE_NONE)
        parse_expected(p, "'in' and a memory space");
    finish_list(p, out, first, s);
    return !p->failed && accept_token(p, TOK_COMMA) ? parse_allocate(p, another_stmt(p, s, out), out) : s;
}

/* ---- Copy --------------------------------------------------------------------------------------- */

typedef VEC(Coord) Coords;

/* coordinate = [(NAME | NUMBER) "="] item; the number is the size of a dimension that has no name (numbers.c) */
static Coord parse_coordinate(Parser *p)
{
    Coord coord = {0};
    bool sized = p->tok.kind == TOK_INT && peek(p).kind == TOK_ASSIGN;

    coord.span = token_span(p);
    if (sized) {
        coord.name = arena_printf(p->arena, "%llu", (unsigned long long)p->tok.i);
        advance(p);
    } else if (p->tok.kind == TOK_NAME && peek(p).kind == TOK_ASSIGN)
        coord.name = take_name(p, NULL);
    if (coord.name)
        advance(p);
    coord.value = parse_item(p);
    coord.span.end = p->prev_end;
    return coord;
}

/* coordinates = ["coordinate"] "[" coordinate { "," coordinate } "]" */
static void parse_coordinates(Parser *p, Stmt *s)
{
    Coords coords = {0};
    TokenKind close = TOK_RBRACKET;

    accept_word(p, WORD_COORDINATE);
    if (accept_token(p, TOK_LPAREN))
        close = TOK_RPAREN;
    else
        expect(p, TOK_LBRACKET);
    do
        vec_push(p->arena, &coords, parse_coordinate(p));
    while (accept_token(p, TOK_COMMA));
    expect(p, close);
    s->coords = coords.data;
    s->n_coords = coords.len;
}

/* stage = "[" "stage" "=" expr "]" */
static void parse_stage(Parser *p, Stmt *s)
{
    advance(p);
    expect_word(p, WORD_STAGE, "'stage = ' and the stage of the ring");
    expect(p, TOK_ASSIGN);
    s->stage = parse_expr(p);
    expect(p, TOK_RBRACKET);
}

/* One modifier of Copy, if one is there. */
static bool parse_copy_part(Parser *p, Stmt *s)
{
    if (accept_word(p, WORD_IN))
        parse_coordinates(p, s);
    else if (accept_word(p, WORD_FROM))
        s->space = parse_space(p, false);
    else if (accept_word(p, WORD_TO) || accept_word(p, WORD_INTO))
        s->to_space = parse_space(p, !s->as);
    else if (accept_word(p, WORD_WHERE))
        s->where = parse_expr(p);
    else if (accept_word(p, WORD_ELSE))
        s->otherwise = parse_expr(p);
    else if (p->tok.kind == TOK_LPAREN)
        parse_shape(p, s);
    else if (p->tok.kind == TOK_LBRACKET)
        parse_stage(p, s);
    else if (accept_word(p, WORD_AS))
        s->as = take_name(p, &s->as_span);
    else if (accept_word(p, WORD_AND)) {
        if (accept_last_word(p, WORD_ACCUMULATE))
            s->result = RESULT_ACCUMULATE;
        else if (accept_word(p, WORD_GET)) {
            accept_word(p, WORD_NEW);
            s->as = take_name(p, &s->as_span);
        } else
            parse_expected(p, "'accumulate'");
    } else
        return false;
    return !p->failed;
}

static const char *root_name(const Expr *e)
{
    while (e->a)
        e = e->a;
    return e->name;
}

static void parse_copied(Parser *p, Stmt *s)
{
    Expr *target = parse_reference(p);

    s->name = root_name(target);
    s->name_span = (Span){target->span.start, target->span.start + (s->name ? (int)strlen(s->name) : 0)};
    if (target->kind != EXPR_NAME)
        s->target = target;
}

/* One name cannot stand for all of a list. */
static void refuse_shared_name(Parser *p, const Stmt *s)
{
    if (s->as)
        parse_fail(p, TW0102, s->as_span, "'as %s' is the name of one copy: write a Copy for each", s->as);
}

/* `from register to global O`: a name that is given without its `as`. */
static void refuse_bare_name(Parser *p, const Stmt *s)
{
    const char *word = word_here(p);

    if (s->as || s->to_space == SPACE_NONE || p->tok.kind != TOK_NAME || p->tok.word != WORD_NONE || p->failed)
        return;
    if (strncmp(word, "atomic", 6) == 0) /* it is no name: propose_foreign.c */
        parse_fail(p, TW0102, token_span(p), "'%s' is said as `and accumulate`", word);
    else
        parse_fail_fix(p, TW0102, token_span(p), arena_printf(p->arena, "as %s", word), "the elements' name there",
                       "'%s' stands behind the memory space without an 'as'", word);
}

/* `Copy O to global`: what lies in global memory is made in registers, and what lies there came from global memory. */
static void refuse_no_source(Parser *p, const Stmt *s, Span to)
{
    const char *from = s->to_space == SPACE_GLOBAL ? "register" : "global";

    if (s->to_space == SPACE_NONE)
        parse_expected(p, "'from' and a memory space");
    else
        parse_fail_fix(p, TW0102, to, arena_printf(p->arena, "from %s to", from), "say where they are",
                       "a Copy says where the elements come from as well");
}

/* copy = "Copy" reference { "," reference } { "(" items ")" | "as" NAME | "in" coordinates | "from" space
 *        | "to" space | stage | "where" expr | "else" expr | "and" "accumulate" } */
/* `Copy X[i % 2] as x from shared to register`, as products take X[i % 2]: the stage that is read. */
static void take_stage(Stmt *s)
{
    const Expr *e = s->target;

    if (s->space != SPACE_SHARED || s->stage || !e || e->kind != EXPR_INDEX || e->n_args != 1 || e->a->kind != EXPR_NAME ||
        e->args[0]->kind == EXPR_RANGE || e->args[0]->kind == EXPR_ELLIPSIS)
        return;
    s->stage = e->args[0];
    s->target = NULL;
}

Stmt *parse_copy(Parser *p, Stmt *s, Block *out)
{
    int first = out->len;
    Span to = {0};

    parse_copied(p, s);
    while (accept_token(p, TOK_COMMA)) {
        s = another_stmt(p, s, out);
        parse_copied(p, s);
    }
    for (bool more = true; more;) {
        if (at_word(p, WORD_TO) || at_word(p, WORD_INTO))
            to = token_span(p);
        more = parse_copy_part(p, s);
    }
    take_stage(s);
    refuse_bare_name(p, s);
    if (s->space == SPACE_NONE)
        refuse_no_source(p, s, to);
    if (s->to_space == SPACE_NONE)
        parse_expected(p, "'to' and a memory space");
    if (out->len > first)
        refuse_shared_name(p, s);
    finish_list(p, out, first, s);
    return s;
}

/* ---- Compute -------------------------------------------------------------------------------------- */

static bool at_modifier(const Parser *p)
{
    static const Word words[] = {WORD_AND, WORD_GET, WORD_ACCUMULATE, WORD_INTO, WORD_WITH, WORD_WHERE, WORD_ELSE, WORD_OVER, WORD_TO, WORD_BY, WORD_STEP, WORD_AS};

    for (size_t i = 0; i < TW_COUNT(words); i++)
        if (at_word(p, words[i]))
            return true;
    return false;
}

/* `GEMM As, Bs`: a word of a clause is a name where what follows it cannot be of the clause. */
static bool at_operand_of_that_name(const Parser *p)
{
    static const Word never[] = {WORD_AND, WORD_GET, WORD_ACCUMULATE, WORD_WHERE, WORD_ELSE}; /* which are no names */
    static const Word behind[] = {WORD_AND, WORD_GET, WORD_WITH, WORD_OVER, WORD_ELSE};
    Token next = peek(p);
    bool clause = next.kind == TOK_COMMA || next.kind == TOK_DOT || next.kind == TOK_LBRACKET || token_ends_line(next.kind);

    for (size_t i = 0; i < TW_COUNT(never); i++)
        if (at_word(p, never[i]))
            return false;
    for (size_t i = 0; i < TW_COUNT(behind); i++)
        clause |= next.kind == TOK_NAME && next.word == behind[i];
    return clause;
}

/* `GEMM(Q, K.T)`: several operands in the brackets of a call, which hold no single expression. */
static bool at_call(const Parser *p)
{
    Lexer lexer = p->lexer;
    int depth = 1;

    if (p->tok.kind != TOK_LPAREN || p->tok.start != p->prev_end)
        return false;
    while (depth > 0) {
        Token next = lex_next(&lexer);

        if (token_ends_line(next.kind))
            return false;
        if (next.kind == TOK_COMMA && depth == 1)
            return true;
        depth += next.kind == TOK_LPAREN || next.kind == TOK_LBRACKET;
        depth -= next.kind == TOK_RPAREN || next.kind == TOK_RBRACKET;
    }
    return false;
}

/* `Softmax S, axis = -1`: operands have places and no names. */
static bool refuse_named_operand(Parser *p)
{
    const char *name = word_here(p);
    bool along = strcmp(name, "axis") == 0 || strcmp(name, "dim") == 0;

    if (p->tok.kind != TOK_NAME || peek(p).kind != TOK_ASSIGN)
        return false;
    if (along)
        parse_fail(p, TW0102, token_span(p), "an operand has no name: the dimension stands behind 'over', where it is not "
                   "the last one");
    else
        parse_fail(p, TW0102, token_span(p), "an operand has no name: '%s =' says nothing here", name);
    return true;
}

/* args = operand { "," operand }, where the first operand of Where is a whole expr:
 * elsewhere `and` ends the operands, so that `and store X` is not taken for one. */
static void parse_args(Parser *p, Stmt *s)
{
    bool condition = s->op_known && s->op == OP_WHERE;
    Exprs args = {0};

    if (at_line_end(p) || (at_modifier(p) && !at_operand_of_that_name(p)))
        return;
    bool called = at_call(p);
    if (called)
        advance(p);
    p->lone_comment = !called;
    do {
        join_line(p);
        if (refuse_named_operand(p))
            break;
        Expr *arg = condition ? parse_expr(p) : parse_operand(p);

        condition = false;
        vec_push(p->arena, &args, arg);
    } while (accept_token(p, TOK_COMMA));
    if (called)
        expect(p, TOK_RPAREN);
    p->lone_comment = false;
    s->args = args.data;
    s->n_args = args.len;
}

/* What `and` is followed by, in the next line if need be. */
static Word word_after_and(const Parser *p)
{
    Lexer lexer = p->lexer;
    Token next = lex_next(&lexer);

    if (next.kind == TOK_NEWLINE)
        next = lex_next(&lexer);
    return next.kind == TOK_NAME ? next.word : WORD_NONE;
}

/* with = "with" reference { ("and" | ",") reference } | "with" "empty" "rows" expr */
static void parse_with(Parser *p, Stmt *s)
{
    Exprs names = {0};

    if (at_word(p, WORD_EMPTY) && peek(p).kind == TOK_NAME) {
        advance(p);
        expect_word(p, WORD_ROWS, "'rows'");
        s->empty_rows = parse_expr(p);
        return;
    }
    if (p->tok.kind != TOK_NAME || p->tok.word == WORD_INF) {
        parse_fail_fix(p, TW0102, (Span){p->prev_end - 4, p->prev_end}, "else", "a value stands behind 'else'",
                       "'with' is followed by names, not by %s", token_show(p, &p->tok));
        return;
    }
    vec_push(p->arena, &names, parse_reference(p));
    while (!p->failed) {
        Word next = at_word(p, WORD_AND) ? word_after_and(p) : WORD_NONE;

        if (next == WORD_GET || next == WORD_ACCUMULATE || !(accept_token(p, TOK_COMMA) || accept_word(p, WORD_AND)))
            break;
        vec_push(p->arena, &names, parse_reference(p));
    }
    s->with = names.data;
    s->n_with = names.len;
}

/* `and store O`, `and acumulate O` */
static void refuse_result(Parser *p)
{
    const char *word = word_here(p), *meant = word_distance(word, "accumulate", 2) <= 2 ? "accumulate" : "get";

    if (p->tok.kind == TOK_NAME && peek(p).kind == TOK_NAME)
        parse_fail_fix(p, TW0102, token_span(p), meant, arena_printf(p->arena, "write '%s'", meant),
                       "expected 'get' or 'accumulate' after 'and', found '%s'", word);
    else
        parse_expected(p, "'get' or 'accumulate' after 'and'");
}

/* result = ["and"] ("get" ["new"] reference ["(" items ")"] | "accumulate" ["to" | "into"] reference)
 *        | "into" reference */
static void parse_result(Parser *p, Stmt *s)
{
    bool into = accept_word(p, WORD_INTO);

    if (s->result != RESULT_NONE) {
        parse_fail(p, TW0102, token_span(p), "the result has a name already, in front of the operation");
        return;
    }
    accept_word(p, WORD_AND);
    if (accept_word(p, WORD_ACCUMULATE)) {
        s->result = RESULT_ACCUMULATE;
        if ((at_word(p, WORD_INTO) || at_word(p, WORD_TO)) && peek(p).kind == TOK_NAME)
            advance(p);
        s->dest = parse_reference(p);
        return;
    }
    if (!into && !accept_word(p, WORD_GET)) {
        refuse_result(p);
        return;
    }
    s->result = accept_word(p, WORD_NEW) ? RESULT_GET_NEW : RESULT_GET;
    s->dest = parse_reference(p);
    if (p->tok.kind == TOK_LPAREN)
        parse_shape(p, s);
}

static bool parse_compute_part(Parser *p, Stmt *s)
{
    if (accept_word(p, WORD_WITH))
        parse_with(p, s);
    else if (accept_word(p, WORD_WHERE))
        s->where = parse_expr(p);
    else if (accept_word(p, WORD_ELSE))
        s->otherwise = parse_expr(p);
    else if (accept_word(p, WORD_OVER))
        s->over = take_name(p, &s->over_span);
    else if (accept_word(p, WORD_TO))
        s->to = parse_expr(p);
    else if (accept_word(p, WORD_BY))
        s->by = parse_expr(p);
    else if (accept_word(p, WORD_STEP))
        s->step = parse_expr(p);
    else if (accept_word(p, WORD_AS))
        s->value = parse_expr(p);
    else
        return false;
    return !p->failed;
}

/* define = "Define" NAME "(" items ")" "as" expr */
static void parse_defined(Parser *p, Stmt *s)
{
    Exprs args = {0};

    Span span = token_span(p);
    Expr *name = expr_name(p->arena, take_name(p, &span)); /* a bracket behind it is its shape */

    name->span = span;
    vec_push(p->arena, &args, name);
    s->args = args.data;
    s->n_args = args.len;
    if (!p->failed && p->tok.kind != TOK_LPAREN && p->tok.kind != TOK_LBRACKET) {
        int n = p->diags->list.len;
        parse_fail(p, TW0102, token_span(p), "expected the shape of what is defined");
        if (p->diags->list.len > n)
            diag_note(p->diags, &p->diags->list.data[n], "the form is: Compute Define NAME (rows, columns) as expr");
        return;
    }
    parse_shape(p, s);
    expect_word(p, WORD_AS, "'as' and what an element is");
    s->value = parse_expr(p);
}

static bool is_defined(const Parser *p, const char *name)
{
    for (int i = 0; i < p->defined.len; i++)
        if (p->defined.data[i] == name)
            return true;
    return false;
}

/* A Define hides an operation of the table that has its name, or a synonym of it. */
static void parse_operation(Parser *p, Stmt *s)
{
    if (p->tok.kind != TOK_NAME) {
        parse_expected(p, "an operation");
        return;
    }
    s->op_span = token_span(p);
    s->op_name = symn(p->syms, p->source->text + p->tok.start, (size_t)(p->tok.end - p->tok.start));
    s->op_known = !is_defined(p, s->op_name) && op_find(s->op_name, &s->op);
    advance(p);
}

/* Cast X, fp16: the second operand is an element type. Also understood: `Cast X to fp16`, `Cast X as fp16`. */
static void note_cast(Parser *p, Stmt *s)
{
    Expr **type = s->to ? &s->to : &s->value;

    if (!s->op_known || op_info(s->op)->class != OPC_CAST)
        return;
    if (s->n_args == 1 && *type) {
        Exprs args = {0};

        vec_push(p->arena, &args, s->args[0]);
        vec_push(p->arena, &args, *type);
        s->args = args.data;
        s->n_args = args.len;
        *type = NULL;
    }
    if (s->n_args == 2 && s->args[1]->kind == EXPR_NAME) {
        s->has_dtype = dtype_parse(s->args[1]->name, &s->dtype);
        s->dtype_span = s->args[1]->span;
    }
}

/* `Compute S = GEMM Q, K.T` is understood like `Compute GEMM Q, K.T and get S`. */
static void parse_early_result(Parser *p, Stmt *s)
{
    if (p->tok.kind != TOK_NAME || peek(p).kind != TOK_ASSIGN)
        return;
    s->dest = parse_reference(p);
    s->result = RESULT_GET;
    advance(p);
    join_line(p);
}

/* compute = "Compute" [NAME "="] NAME [args] { modifier } [result] */
Stmt *parse_compute(Parser *p, Stmt *s, Block *out)
{
    (void)out;
    parse_early_result(p, s);
    parse_operation(p, s);
    if (s->op_known && op_info(s->op)->class == OPC_DEFINE) {
        parse_defined(p, s);
        return s;
    }
    parse_args(p, s);
    while (parse_compute_part(p, s))
        continue;
    if (at_word(p, WORD_AND) || at_word(p, WORD_GET) || at_word(p, WORD_ACCUMULATE) || at_word(p, WORD_INTO))
        parse_result(p, s);
    while (!p->failed && parse_compute_part(p, s)) /* liberal: modifiers behind the result */
        continue;
    note_cast(p, s);
    return s;
}

/* ---- Reshape ------------------------------------------------------------------------------------------ */

/* layout = "(" items ")" | NAME */
static Exprs parse_layout(Parser *p)
{
    Exprs items = {0};

    if (accept_token(p, TOK_LPAREN)) {
        items = parse_items(p, TOK_RPAREN);
        settle_comment(p);
    } else {
        vec_push(p->arena, &items, parse_reference(p));
    }
    return items;
}

/* reshape = "Reshape" NAME "from" layout "to" layout */
Stmt *parse_reshape(Parser *p, Stmt *s, Block *out)
{
    Exprs from, to;

    (void)out;
    s->name = take_name(p, &s->name_span);
    expect_word(p, WORD_FROM, "'from' and a layout");
    from = parse_layout(p);
    expect_word(p, WORD_TO, "'to' and a layout");
    to = parse_layout(p);
    s->has_shape = true;
    s->shape = from.data;
    s->n_shape = from.len;
    s->to_shape = to.data;
    s->n_to_shape = to.len;
    return s;
}
