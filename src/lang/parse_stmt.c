/* parse_stmt.c: statements: dispatch by the first word, blocks, declarations and
 * control. Copy, Compute and their like are in parse_flow.c. */
#include "lang/parser.h"
#include "lang/lines.h"

/* ---- comments and line ends ---------------------------------------------------------- */

static const char *join_comments(Parser *p, const char *before, int n)
{
    Lines *lines = &p->lexer.comments;
    Str text = str_new(p->arena);

    if (before)
        str_add(&text, before);
    for (int i = 0; i < n; i++) {
        if (i > 0 || before)
            str_addc(&text, '\n');
        str_add(&text, lines->data[i]);
    }
    *lines = (Lines){0};
    return n > 0 || before ? str_text(&text) : NULL;
}

const char *take_comments(Parser *p, const char *before)
{
    return join_comments(p, before, p->lexer.comments.len);
}

const char *take_tail(Parser *p)
{
    const Lines *lines = &p->lexer.comments;
    int n = lines->len;

    while (n > 0 && !*lines->data[n - 1])
        n--;
    return join_comments(p, NULL, n);
}

/* Words of other languages, and of none, for clauses of ours. */
static const struct { const char *word, *clause; StmtKind kind; } others[] = {
    {"along", "over", STMT_COMPUTE}, {"across", "over", STMT_COMPUTE}, {"if", "where", STMT_COMPUTE},
    {"when", "where", STMT_COMPUTE}, {"unless", "where not", STMT_COMPUTE}, {"otherwise", "else", STMT_COMPUTE},
    {"if", "where", STMT_COPY},      {"then", "", STMT_IF},            {"do", "", STMT_FOR},
};

/* What has no place behind s: the clause that was meant, if the word says it. */
static void refuse_rest(Parser *p, const Stmt *s)
{
    const char *text = p->source->text + p->tok.start;
    size_t len = (size_t)(p->tok.end - p->tok.start);

    if (s && s->value && p->tok.kind == TOK_NAME && text_is(text, len, "if")) {
        parse_fail(p, TW0102, token_span(p), "'if' means nothing here: where(c, a, b) is a where c holds, else b");
        return;
    }
    for (size_t i = 0; p->tok.kind == TOK_NAME && i < TW_COUNT(others); i++)
        if (others[i].kind == p->kind && text_is(text, len, others[i].word)) {
            parse_fail_fix(p, TW0102, token_span(p), others[i].clause,
                           *others[i].clause ? arena_printf(p->arena, "write '%s'", others[i].clause) : "remove it",
                           "'%s' means nothing here", others[i].word);
            return;
        }
    parse_expected(p, "the end of the statement");
}

static void expect_line_end(Parser *p, const Stmt *s)
{
    settle_comment(p);
    if (s && s->where && p->tok.kind == TOK_ASSIGN)
        parse_fail_fix(p, TW0111, token_span(p), "==", "write '=='", "'=' does not compare");
    else if (!at_line_end(p))
        refuse_rest(p, s);
}

/* The statement's first line ends here; its trailing comment joins it. */
static void finish_line(Parser *p, Stmt *s)
{
    expect_line_end(p, s);
    s->span.end = p->prev_end > s->span.start ? p->prev_end : s->span.start;
    s->comment = take_comments(p, s->comment);
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* A header that ends in ':' may be followed by an indented body without `end`. */
typedef struct Layout {
    bool by_indent;
    int indent; /* of the header */
} Layout;

static bool starts_unit(const Parser *p)
{
    return p->tok.first && (at_word(p, WORD_OPERATOR) || at_word(p, WORD_KERNEL)) && peek(p).kind == TOK_NAME;
}

static bool at_else(const Parser *p)
{
    return (at_word(p, WORD_ELSE) || at_word(p, WORD_ELIF)) && peek(p).kind != TOK_ASSIGN;
}

static bool at_end(const Parser *p)
{
    return at_word(p, WORD_END) && peek(p).kind != TOK_ASSIGN;
}

/* In a block laid out by indentation: does the token here stand outside of it? */
static bool outdented(const Parser *p, const Layout *layout)
{
    int indent = line_indent(p->source, p->tok.start);
    bool closes = at_end(p) || at_else(p);

    return layout->by_indent && indent >= 0 && (closes ? indent < layout->indent : indent <= layout->indent);
}

static Layout layout_of(const Parser *p, Span header)
{
    Layout layout = {false, 0};

    if (header.end > header.start && p->source->text[header.end - 1] == ':') {
        layout.by_indent = true;
        layout.indent = line_indent(p->source, header.start);
        layout.by_indent = !at_line_end(p) && !outdented(p, &layout);
    }
    return layout;
}

static void skip_newlines(Parser *p)
{
    while (p->tok.kind == TOK_NEWLINE && !p->stop) {
        p->failed = false;
        advance(p);
    }
}

void parse_stray(Parser *p)
{
    p->failed = p->in_statement = false;
    if (at_word(p, WORD_END))
        parse_fail(p, TW0107, token_span(p), "%s closes nothing: no block is open here", token_show(p, &p->tok));
    else
        parse_fail(p, TW0107, token_span(p), "%s belongs to no 'if'", token_show(p, &p->tok));
}

/* Does the block end here? `else` ends it only where one may stand. */
static bool at_block_end(const Parser *p, bool may_else)
{
    return at_end(p) || (may_else && at_else(p));
}

BlockStop parse_block(Parser *p, Block *out, Span header, bool may_else)
{
    Layout layout;

    skip_newlines(p);
    p->lexer.gap = false;
    layout = layout_of(p, header);
    while (!at_line_end(p) && !p->stop && !starts_unit(p) && !outdented(p, &layout) && !at_block_end(p, may_else)) {
        if (at_else(p))
            parse_stray(p);
        else
            parse_statement(p, out);
        skip_newlines(p);
    }
    if (!outdented(p, &layout) && at_block_end(p, may_else)) {
        out->comment = take_tail(p);
        return at_end(p) ? BLOCK_END : BLOCK_ELSE;
    }
    return layout.by_indent ? BLOCK_OUTDENTED : BLOCK_OUTSIDE;
}

/* "end" ["for" | "if" | "operator" | ... | NAME of the unit] */
static void parse_end(Parser *p)
{
    StmtKind kind;
    const char *text;
    size_t len;

    p->failed = false;
    advance(p);
    text = p->source->text + p->tok.start;
    len = (size_t)(p->tok.end - p->tok.start);
    if (p->tok.kind == TOK_NAME && (keyword_find(text, len, &kind) || at_word(p, WORD_OPERATOR) ||
                                    at_word(p, WORD_KERNEL) || (p->unit && text_is(text, len, p->unit))))
        advance(p);
    if (!at_line_end(p))
        parse_expected(p, "the end of the line after 'end'");
}

void close_block(Parser *p, BlockStop stop, const char *what, Span opened)
{
    p->in_statement = false;
    if (p->stop || stop == BLOCK_OUTDENTED)
        return;
    p->failed = false;
    if (stop == BLOCK_END) {
        parse_end(p);
    } else {
        Diag *diag = diag_add(p->diags, TW0105, opened, "%s is not closed by 'end'", what);

        diag_fix(p->diags, diag, (Span){p->prev_end, p->prev_end}, "\nend", "close it");
        p->stop = p->diags->full;
    }
}

/* Reads the statements of a FOR, IF, DEFINE or SCHEDULE, up to what ends them. */
static BlockStop parse_body(Parser *p, Block *out, Span header, bool may_else)
{
    BlockStop stop;

    if (p->blocks >= LANG_MAX_DEPTH) {
        p->failed = false;
        parse_fail(p, TW0103, header, "blocks may nest %d levels deep", LANG_MAX_DEPTH);
        p->stop = true;
        return BLOCK_OUTSIDE;
    }
    p->blocks++;
    stop = parse_block(p, out, header, may_else);
    p->blocks--;
    return stop;
}

/* The statement's first line ends here, with or without ':'. Whether it failed. */
static bool finish_header(Parser *p, Stmt *s)
{
    bool failed;

    accept_token(p, TOK_COLON);
    finish_line(p, s);
    failed = p->failed;
    p->failed = false;
    return failed;
}

/* A header, then a body up to `end`. */
static Stmt *parse_closed(Parser *p, Stmt *s, const char *what)
{
    bool failed = finish_header(p, s);

    close_block(p, parse_body(p, &s->body, s->span, false), what, s->span);
    return failed ? NULL : s;
}

/* ---- declarations ---------------------------------------------------------------------------- */

Stmt *another_stmt(Parser *p, Stmt *s, Block *out)
{
    Stmt *next = stmt_new(p->arena, s->kind);

    s->span.end = p->prev_end;
    if (!s->listed)
        s->list_start = s->span.start;
    vec_push(p->arena, out, s);
    join_line(p);
    next->span = token_span(p);
    next->list_start = s->list_start;
    s->listed = next->listed = true;
    return next;
}

static void share_declaration(Parser *p, Stmt *to, const Stmt *from)
{
    Exprs shape = {0};

    for (int i = 0; i < from->n_shape; i++)
        vec_push(p->arena, &shape, expr_copy(p->arena, from->shape[i]));
    to->shape = shape.data;
    to->n_shape = shape.len;
    to->has_shape = from->has_shape;
    to->has_dtype = from->has_dtype;
    to->dtype = from->dtype;
    to->dtype_span = from->dtype_span;
}

/* Also understood: `Q: (a, b)` and `Q [a, b]`. */
static void parse_dims(Parser *p, Stmt *s)
{
    if (p->tok.kind == TOK_COLON && (peek(p).kind == TOK_LPAREN || peek(p).kind == TOK_LBRACKET))
        advance(p);
    if (p->tok.kind == TOK_LPAREN || p->tok.kind == TOK_LBRACKET)
        parse_shape(p, s);
}

/* names = NAME {"," NAME} ["(" dims ")"] [[":"] DTYPE] */
static Stmt *parse_tensors(Parser *p, Stmt *s, Block *out)
{
    int first = out->len;

    s->name = take_name(p, &s->name_span);
    while (accept_token(p, TOK_COMMA)) {
        s = another_stmt(p, s, out);
        s->name = take_name(p, &s->name_span);
    }
    parse_dims(p, s);
    if (!s->has_shape) {
        parse_dtype(p, s);
        parse_dims(p, s);
    }
    if (!s->has_dtype)
        parse_dtype(p, s);
    for (int i = first; i < out->len; i++)
        share_declaration(p, out->data[i], s);
    return s;
}

/* input = ("Input" | "Output") names {"," names} */
static Stmt *parse_tensor(Parser *p, Stmt *s, Block *out)
{
    s = parse_tensors(p, s, out);
    while (!p->failed && s->has_shape && accept_token(p, TOK_COMMA)) {
        s = another_stmt(p, s, out);
        s = parse_tensors(p, s, out);
    }
    return s;
}

/* `S = GEMM(Q, K.T)`: `=` names numbers, and tensors are computed by statements. */
static void refuse_tensor(Parser *p, const Stmt *s)
{
    const Expr *e = s->value;
    OpId op;

    if (p->failed || e->kind != EXPR_CALL || !op_find(e->name, &op) || op_info(op)->class == OPC_ELEMENT)
        return;
    int from = e->span.start + (int)strlen(e->name), to = e->span.end - 1;
    while (p->source->text[from] != '(')
        from++;
    const char *args = arena_strndup(p->arena, p->source->text + from + 1, (size_t)(to - from - 1));
    parse_fail_fix(p, TW0102, (Span){s->name_span.start, e->span.end},
                   arena_printf(p->arena, "Compute %s %s and get %s", op_info(op)->name, args, s->name), "compute it",
                   "'=' names a number; %s gives a tensor", op_info(op)->name);
}

/* param = "Param" NAME ["=" expr] {"," NAME ["=" expr]};  let = "Let" NAME "=" expr {...} */
static Stmt *parse_binding(Parser *p, Stmt *s, Block *out)
{
    for (;;) {
        s->name = take_name(p, &s->name_span);
        if (s->kind != STMT_PARAM || p->tok.kind == TOK_ASSIGN) {
            expect(p, TOK_ASSIGN);
            join_line(p);
            s->value = parse_expr(p);
            refuse_tensor(p, s);
        }
        if (!accept_token(p, TOK_COMMA))
            return s;
        s = another_stmt(p, s, out);
    }
}

/* names = exprs: `BM, BN = 64, 32`, an assignment each. */
static Stmt *parse_assignments(Parser *p, Stmt *s, Block *out)
{
    int first = out->len, n = 1;

    s->name = take_name(p, &s->name_span);
    for (; accept_token(p, TOK_COMMA); n++) {
        s = another_stmt(p, s, out);
        s->name = take_name(p, &s->name_span);
    }
    expect(p, TOK_ASSIGN);
    for (int i = 0; i < n && !p->failed; i++) {
        Stmt *to = i < n - 1 ? out->data[first + i] : s;

        if (i > 0)
            expect(p, TOK_COMMA);
        join_line(p);
        to->value = parse_expr(p);
        to->listed = false;
        to->span = (Span){to->name_span.start, p->prev_end};
    }
    if (p->failed)
        out->len = first;
    return s;
}

static bool at_assignments(Parser *p)
{
    Lexer lexer = p->lexer;
    Token next = lex_next(&lexer);

    while (next.kind == TOK_COMMA) {
        if (lex_next(&lexer).kind != TOK_NAME)
            return false;
        next = lex_next(&lexer);
    }
    return next.kind == TOK_ASSIGN;
}

static Stmt *parse_assign(Parser *p, Stmt *s, Block *out)
{
    return peek(p).kind == TOK_COMMA ? parse_assignments(p, s, out) : parse_binding(p, s, out);
}

/* `Index b over 16`, `over 2 * N`: what a position goes along has a name in the shapes, which says along which of two
 * dimensions of one size it goes. */
static void refuse_size(Parser *p, const char *position)
{
    Token next = p->tok.kind == TOK_NAME ? peek(p) : p->tok;
    bool divides = next.kind == TOK_NAME && (next.word == WORD_DIV || next.word == WORD_MOD);
    int start = p->tok.start;

    if (next.kind != TOK_INT && next.kind != TOK_LPAREN && (next.kind < TOK_PLUS || next.kind > TOK_POWER) && !divides)
        return;
    parse_expr(p);
    Span span = {start, p->prev_end};
    const char *size = arena_printf(p->arena, "%.*s", span.end - span.start, p->source->text + span.start);
    parse_fail(p, TW0102, span, "a position goes along a dimension that has a name: say `Let %s_len = %s`, and %s_len in place "
               "of %s in the shapes and here", position, size, position, size);
}

/* index = "Index" NAME "over" NAME ["from" expr] {"," NAME "over" NAME ["from" expr]} */
static Stmt *parse_position(Parser *p, Stmt *s, Block *out)
{
    for (;;) {
        s->name = take_name(p, &s->name_span);
        if (at_word(p, WORD_IN) && peek(p).kind == TOK_NAME)
            parse_fail_fix(p, TW0102, token_span(p), "over", "write 'over'", "a position goes over a dimension");
        expect_word(p, WORD_OVER, "'over' and a dimension");
        refuse_size(p, s->name);
        s->over = take_name(p, NULL);
        if (accept_word(p, WORD_FROM))
            s->value = parse_expr(p);
        if (!accept_token(p, TOK_COMMA))
            return s;
        s = another_stmt(p, s, out);
    }
}

typedef VEC(Coord) Coords;

/* grid = "Grid" "over" NAME {"," NAME} | "Grid" NAME "=" expr {"," NAME "=" expr} */
static Stmt *parse_grid(Parser *p, Stmt *s, Block *out)
{
    Coords coords = {0};
    bool sketch = accept_word(p, WORD_OVER);

    (void)out;
    do {
        Coord coord = {0};

        join_line(p);
        coord.name = take_name(p, &coord.span);
        if (!sketch && expect(p, TOK_ASSIGN))
            coord.value = parse_expr(p);
        vec_push(p->arena, &coords, coord);
    } while (accept_token(p, TOK_COMMA));
    s->coords = coords.data;
    s->n_coords = coords.len;
    return s;
}

/* ---- control ------------------------------------------------------------------------------------ */

/* `range(lo, hi)`, `range(hi)`: understood as well. */
static bool is_range(const Expr *e)
{
    return e && e->kind == EXPR_CALL && e->n_args >= 1 && e->n_args <= 2 && strcmp(e->name, "range") == 0;
}

/* bounds = expr ":" expr */
static void parse_bounds(Parser *p, Stmt *s)
{
    Expr *first = parse_expr(p);

    if (is_range(first)) {
        s->lo = first->n_args == 2 ? first->args[0] : expr_int(p->arena, 0);
        s->hi = first->args[first->n_args - 1];
        return;
    }
    s->lo = first;
    expect(p, TOK_COLON);
    s->hi = parse_expr(p);
}

/* for = "for" NAME ("=" | "in") bounds [":"] | "for" NAME "over" NAME ["by" NAME] [":"] */
static Stmt *parse_for(Parser *p, Stmt *s, Block *out)
{
    (void)out;
    s->name = take_name(p, &s->name_span);
    if (accept_word(p, WORD_OVER)) {
        s->over = take_name(p, &s->over_span);
        if (accept_word(p, WORD_BY))
            s->by = parse_reference(p);
    } else if (accept_token(p, TOK_ASSIGN) || accept_word(p, WORD_IN)) {
        parse_bounds(p, s);
    } else {
        parse_expected(p, "'= first:last', 'in first:last' or 'over' a dimension");
    }
    return parse_closed(p, s, "the loop");
}

static BlockStop parse_branches(Parser *p, Stmt *s, bool *failed);

static bool at_keyword_if(const Token *token, const Source *source)
{
    return token->kind == TOK_NAME && text_is(source->text + token->start, (size_t)(token->end - token->start), "if");
}

static BlockStop parse_else_if(Parser *p, Block *orelse)
{
    Stmt *inner = stmt_new(p->arena, STMT_IF);
    bool failed;
    BlockStop stop;

    inner->span.start = p->tok.start;
    p->blocks++;
    stop = parse_branches(p, inner, &failed);
    p->blocks--;
    if (!failed)
        vec_push(p->arena, orelse, inner);
    return stop;
}

/* else = "else" [":"] { statement } | ("else" "if" | "elif") condition { statement } [else] */
static BlockStop parse_else(Parser *p, Block *orelse)
{
    Span header = token_span(p);
    Token next = peek(p);

    p->failed = false;
    if (at_word(p, WORD_ELIF))
        return parse_else_if(p, orelse);
    advance(p);
    if (at_keyword_if(&next, p->source))
        return parse_else_if(p, orelse);
    accept_token(p, TOK_COLON);
    header.end = p->prev_end;
    expect_line_end(p, NULL);
    return parse_body(p, orelse, header, false);
}

/* From the condition's word on, up to `end`, which is not read. */
static BlockStop parse_branches(Parser *p, Stmt *s, bool *failed)
{
    BlockStop stop;

    advance(p);
    if (p->tok.kind == TOK_NAME && lex_reads_as_prose(&p->lexer, p->tok.start))
        s->where = parse_prose(p);
    else
        s->where = parse_expr(p);
    *failed = finish_header(p, s);
    stop = parse_body(p, &s->body, s->span, true);
    return stop == BLOCK_ELSE ? parse_else(p, &s->orelse) : stop;
}

/* if = "if" condition [":"] { statement } [else] "end" */
static Stmt *parse_if(Parser *p, Stmt *s, Block *out)
{
    bool failed;
    BlockStop stop = parse_branches(p, s, &failed);

    (void)out;
    close_block(p, stop, "the 'if'", s->span);
    return failed ? NULL : s;
}

/* define = "Define" NAME "(" [NAME {"," NAME}] ")" { statement } "end" */
static Stmt *parse_define(Parser *p, Stmt *s, Block *out)
{
    (void)out;
    s->name = take_name(p, &s->name_span);
    vec_push(p->arena, &p->defined, s->name);
    parse_shape(p, s);
    return parse_closed(p, s, "the operation");
}

/* schedule = "Schedule" NAME { NAME "=" expr } "end" */
static Stmt *parse_schedule(Parser *p, Stmt *s, Block *out)
{
    (void)out;
    s->name = take_name(p, &s->name_span);
    return parse_closed(p, s, "the schedule");
}

/* ---- dispatch ------------------------------------------------------------------------------------- */

/* assign = NAME "=" expr {"," NAME "=" expr} is a binding without its word. */
static const struct {
    Stmt *(*parse)(Parser *p, Stmt *s, Block *out); /* NULL: not understood */
    bool has_body;                                  /* then it finishes its line itself */
} statements[STMT_COUNT] = {
    [STMT_INPUT] = {parse_tensor, false},     [STMT_OUTPUT] = {parse_tensor, false},
    [STMT_PARAM] = {parse_binding, false},    [STMT_LET] = {parse_binding, false},
    [STMT_INDEX] = {parse_position, false},   [STMT_GRID] = {parse_grid, false},
    [STMT_ASSIGN] = {parse_assign, false},   [STMT_ALLOCATE] = {parse_allocate, false},
    [STMT_COPY] = {parse_copy, false},        [STMT_COMPUTE] = {parse_compute, false},
    [STMT_RESHAPE] = {parse_reshape, false},  [STMT_FOR] = {parse_for, true},
    [STMT_IF] = {parse_if, true},             [STMT_DEFINE] = {parse_define, true},
    [STMT_SCHEDULE] = {parse_schedule, true},
};

/* First words that say what one of ours says. */
static bool verb_find(const char *text, size_t len, StmtKind *kind)
{
    static const struct { const char *verb; StmtKind kind; } verbs[] = {
        {"Load", STMT_COPY}, {"Store", STMT_COPY},     {"Move", STMT_COPY}, {"Alloc", STMT_ALLOCATE},
        {"Loop", STMT_FOR},  {"Calculate", STMT_COMPUTE}, {"Parameter", STMT_PARAM},
        {"Dim", STMT_PARAM}, {"Const", STMT_PARAM},    {"Constant", STMT_PARAM}, {"Position", STMT_INDEX},
    };

    for (size_t i = 0; i < TW_COUNT(verbs); i++)
        if (text_is(text, len, verbs[i].verb)) {
            *kind = verbs[i].kind;
            return true;
        }
    return false;
}

/* The statement whose first word is a letter or two away. */
static bool keyword_nearest(const char *word, StmtKind *kind)
{
    int limit = strlen(word) < 4 ? 1 : 2;
    bool found = false;

    for (int i = 0; i < STMT_COUNT; i++) {
        const char *keyword = stmt_keyword((StmtKind)i);
        int distance = *keyword ? word_distance(word, keyword, limit) : limit + 1;

        if (distance <= limit) {
            *kind = (StmtKind)i;
            limit = distance - 1;
            found = true;
        }
    }
    return found;
}

/* An unknown first word. Where it is clear what was meant it is reported, with
 * the edit, and the statement is read as that, so that no other error follows. */
static bool guess_kind(Parser *p, StmtKind *kind)
{
    const char *text = p->source->text + p->tok.start;
    size_t len = (size_t)(p->tok.end - p->tok.start);
    const char *word = arena_strndup(p->arena, text, len < 64 ? len : 64), *fix = NULL;
    Span span = token_span(p);
    OpId op;
    Diag *diag;

    if (verb_find(text, len, kind) || (!op_find(word, &op) && keyword_nearest(word, kind))) {
        fix = stmt_keyword(*kind);
    } else if (op_find(word, &op) && peek(p).kind == TOK_NAME) {
        *kind = STMT_COMPUTE;
        span.end = span.start;
        fix = "Compute ";
    } else {
        return false;
    }
    diag = diag_add(p->diags, TW0106, token_span(p), "no statement begins with %s", token_show(p, &p->tok));
    diag_fix(p->diags, diag, span, fix, arena_printf(p->arena, "write '%s'", stmt_keyword(*kind)));
    p->stop = p->diags->full;
    if (*kind != STMT_COMPUTE || span.end > span.start)
        advance(p);
    return true;
}

/* The line that the token stands in, its end included. */
static Span line_here(const Parser *p)
{
    const char *text = p->source->text;
    Span line = token_span(p);

    while (line.start > 0 && text[line.start - 1] != '\n')
        line.start--;
    while ((size_t)line.end < p->source->len && text[line.end - 1] != '\n')
        line.end++;
    return line;
}

/* `Sync`, `T.sync_threads()`, `cp.async.wait_group 0`: the words in front of blanks and brackets. */
static bool says_wait(const Parser *p)
{
    static const char *const words[] = {"sync", "barrier", "wait", "commit", "fence", "cp_async", "cp.async"};
    const char *text = p->source->text + p->tok.start;
    size_t len = 0;

    while (is_name_char(text[len]) || text[len] == '.')
        len++;
    if (len >= 3 && text_is(text, 3, "mma")) /* mma_sync multiplies */
        return false;
    for (size_t i = 0; i < TW_COUNT(words); i++)
        for (size_t at = 0; at + strlen(words[i]) <= len; at++)
            if (text_is(text + at, strlen(words[i]), words[i]))
                return true;
    return false;
}

/* A statement is complete when the next one starts. */
static bool refuse_waiting(Parser *p)
{
    int n = p->diags->list.len;
    Span line = line_here(p);

    if (!says_wait(p))
        return false;
    parse_fail(p, TW0106, token_span(p), "nothing waits in TL: a statement is complete when the next one starts");
    if (p->diags->list.len > n)
        diag_fix(p->diags, &p->diags->list.data[n], line, "", "remove it");
    return true;
}

/* `Define X (M, N) as e`: what elements are, an operation without its Compute. It is reported, and read as that. */
static bool at_defined_elements(Parser *p)
{
    Lexer lexer = p->lexer;
    Token name = lex_next(&lexer), next = lex_next(&lexer);
    TokenKind open = next.kind, close = open == TOK_LPAREN ? TOK_RPAREN : TOK_RBRACKET;
    Span before = {p->tok.start, p->tok.start};
    int depth = 0;

    if (name.kind != TOK_NAME || (open != TOK_LPAREN && open != TOK_LBRACKET))
        return false;
    do {
        depth += (next.kind == open) - (next.kind == close);
        next = lex_next(&lexer);
    } while (depth > 0 && !token_ends_line(next.kind));
    if (depth > 0 || next.kind != TOK_NAME || next.word != WORD_AS)
        return false;
    diag_fix(p->diags, diag_add(p->diags, TW0106, token_span(p), "a Define with 'as' is an operation: it stands behind 'Compute'"),
             before, "Compute ", "write 'Compute'");
    p->stop = p->diags->full;
    return true;
}

/* Decides by the first word, and reads it, except in an assignment and an `if`. */
static bool read_kind(Parser *p, StmtKind *kind)
{
    size_t len = (size_t)(p->tok.end - p->tok.start);

    if (p->tok.kind != TOK_NAME) {
        parse_fail(p, TW0102, token_span(p), "a statement begins with a word, not with %s", token_show(p, &p->tok));
        return false;
    }
    if (peek(p).kind == TOK_ASSIGN || (peek(p).kind == TOK_COMMA && at_assignments(p))) {
        *kind = STMT_ASSIGN;
    } else if (keyword_find(p->source->text + p->tok.start, len, kind)) {
        if (*kind == STMT_DEFINE && at_defined_elements(p))
            *kind = STMT_COMPUTE;
        else if (*kind != STMT_IF)
            advance(p);
    } else if (refuse_waiting(p)) {
        return false;
    } else if (!guess_kind(p, kind)) {
        parse_fail(p, TW0106, token_span(p), "no statement begins with %s", token_show(p, &p->tok));
        return false;
    }
    return true;
}

/* A line of dots stands for statements that were left out. */
static bool skip_elision(Parser *p)
{
    int start = p->tok.start;

    if (p->tok.kind != TOK_ELLIPSIS && p->tok.kind != TOK_DOT)
        return false;
    while (p->tok.kind == TOK_ELLIPSIS || p->tok.kind == TOK_DOT)
        advance(p);
    if (p->unit)
        parse_fail(p, TW0102, (Span){start, p->prev_end}, "dots stand for statements: write them out");
    else
        diag_add(p->diags, TW0109, (Span){start, p->prev_end}, "dots stand for statements that are left out");
    expect_line_end(p, NULL);
    return true;
}

void parse_statement(Parser *p, Block *out)
{
    Stmt *s = stmt_new(p->arena, STMT_ASSIGN), *last = NULL;

    s->gap = p->lexer.gap;
    s->comment = take_comments(p, NULL);
    s->span = token_span(p);
    p->failed = p->in_statement = p->lone_comment = false;
    p->lexer.gap = false;
    p->tokens = p->nesting = 0;
    if (++p->statements > MAX_STATEMENTS) {
        parse_fail(p, TW0108, token_span(p), "a source may have %d statements", MAX_STATEMENTS);
        p->stop = true;
        return;
    }
    if (skip_elision(p) || !read_kind(p, &s->kind))
        return;
    p->kind = s->kind;
    p->in_statement = true;
    last = statements[s->kind].parse(p, s, out);
    if (!statements[s->kind].has_body) {
        finish_line(p, s);
        last->span.end = s->span.end;
        if (p->failed)
            return;
    }
    if (last)
        vec_push(p->arena, out, last);
}
