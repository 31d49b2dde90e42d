/* parser.c: from a source to its units; tokens and errors.
 *
 *   Operator a ... end      a definition
 *   Kernel b ... end        a sketch or code
 *   Compute ...             statements outside of both make a fragment, which a
 *                           fence or a unit ends
 */
#include "lang/parser.h"
#include "lang/lines.h"

#include <ctype.h>

/* ---- errors -------------------------------------------------------------------------- */

Span token_span(const Parser *p)
{
    return (Span){p->tok.start, p->tok.end};
}

const char *token_show(Parser *p, const Token *token)
{
    int len = token->end - token->start;

    if (token_ends_line(token->kind) || len <= 0)
        return token_text(token->kind);
    return arena_printf(p->arena, "'%.*s%s'", len > MAX_SHOWN ? MAX_SHOWN : len, p->source->text + token->start,
                        len > MAX_SHOWN ? "..." : "");
}

/* Leaves the line. The parser stands at its end, where nothing can be accepted. */
static void skip_line(Parser *p)
{
    p->failed = true;
    if (!token_ends_line(p->tok.kind)) {
        lex_skip_line(&p->lexer, p->tok.start);
        p->tok = lex_next(&p->lexer);
    }
    if (p->diags->full)
        p->stop = true;
}

static Diag *report(Parser *p, DiagCode code, Span span, const char *fmt, va_list args)
{
    Diag *diag = diag_add(p->diags, code, span, "%s", arena_vprintf(p->arena, fmt, args));

    if (code == TW0102 && p->in_statement)
        diag_note(p->diags, diag, "the form is: %s", stmt_help(p->kind));
    return diag;
}

void parse_fail(Parser *p, DiagCode code, Span span, const char *fmt, ...)
{
    va_list args;

    if (p->failed)
        return;
    va_start(args, fmt);
    report(p, code, span, fmt, args);
    va_end(args);
    skip_line(p);
}

void parse_fail_fix(Parser *p, DiagCode code, Span span, const char *fix, const char *label, const char *fmt, ...)
{
    va_list args;

    if (p->failed)
        return;
    va_start(args, fmt);
    diag_fix(p->diags, report(p, code, span, fmt, args), span, fix, label);
    va_end(args);
    skip_line(p);
}

/* `Or`: a word of the language, spelt as a name might be. */
static bool is_word_as_name(const Parser *p)
{
    bool upper = false;

    for (int i = p->tok.start; i < p->tok.end; i++)
        upper |= isupper((unsigned char)p->source->text[i]) != 0;
    return upper && p->tok.kind == TOK_NAME && p->tok.word != WORD_NONE && p->tok.word <= WORD_LAST_RESERVED;
}

void parse_expected(Parser *p, const char *what)
{
    parse_fail(p, TW0102, token_span(p), "expected %s, found %s%s", what, token_show(p, &p->tok),
               is_word_as_name(p) ? ", a word of the language in whatever case" : "");
}

/* ---- tokens ------------------------------------------------------------------------------ */

/* Whether a byte can be shown as it is. */
static bool printable(const char *text, int len)
{
    for (int i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return true;
}

static void bad_token(Parser *p)
{
    const char *text = p->source->text + p->tok.start;
    int len = p->tok.end - p->tok.start;

    if (is_name_char(*text) || *text == '.')
        parse_fail(p, TW0101, token_span(p), "%s is neither a number nor a name", token_show(p, &p->tok));
    else if (*text == '@')
        parse_fail(p, TW0101, token_span(p), "'@' is not an operator; a matrix product is a statement: "
                   "`Compute GEMM A, B and get C`");
    else if (*text == '?')
        parse_fail(p, TW0101, token_span(p), "'?' is not an operator: where(c, a, b) is a where c holds, else b");
    else if (*text == '&' || *text == '|')
        parse_fail(p, TW0101, token_span(p), "'%c' is not an operator: conditions are joined by '%s', and a bit of an "
                   "integer is `i div 4 %% 2`", *text, *text == '&' ? "and" : "or");
    else if (strncmp(text, "\xe1\xb5\x80", 3) == 0 || *text == '\'')
        parse_fail_fix(p, TW0101, token_span(p), ".T", "a transposed matrix is X.T", "%s does not transpose", token_show(p, &p->tok));
    else if (*text == '^' && text[1] == 'T' && !is_name_char(text[2]))
        parse_fail_fix(p, TW0101, token_span(p), ".", "a transposed matrix is X.T", "'^' does not transpose");
    else if (*text == '^')
        parse_fail_fix(p, TW0101, token_span(p), "**", "write '**' for a power, '.T' for a transposed matrix",
                       "'^' is not an operator");
    else if (printable(text, len))
        parse_fail(p, TW0101, token_span(p), "%s means nothing here", token_show(p, &p->tok));
    else
        parse_fail(p, TW0101, token_span(p), "the byte 0x%02x means nothing here", (unsigned char)*text);
}

void advance_operand(Parser *p)
{
    if (token_ends_line(p->tok.kind) && p->failed)
        return;
    if (p->tok.kind != TOK_NEWLINE)
        p->prev_end = p->tok.end;
    p->tok = lex_next(&p->lexer);
    if (p->tok.kind == TOK_BAD)
        bad_token(p);
    else if (++p->tokens > MAX_TOKENS)
        parse_fail(p, TW0108, token_span(p), "a statement may have %d words and signs", MAX_TOKENS);
}

void settle_comment(Parser *p)
{
    while (p->tok.kind == TOK_SLASHES)
        p->tok = lex_comment(&p->lexer, p->tok);
    if (p->tok.kind == TOK_BAD)
        bad_token(p);
}

void advance(Parser *p)
{
    advance_operand(p);
    settle_comment(p);
}

Token peek(const Parser *p)
{
    Lexer lexer = p->lexer;

    return lex_next(&lexer);
}

bool at_line_end(const Parser *p)
{
    return token_ends_line(p->tok.kind);
}

bool at_word(const Parser *p, Word word)
{
    return p->tok.kind == TOK_NAME && p->tok.word == word;
}

bool accept_token(Parser *p, TokenKind kind)
{
    if (p->tok.kind != kind || p->failed)
        return false;
    advance(p);
    return true;
}

bool accept_last_word(Parser *p, Word word)
{
    if (!at_word(p, word) || p->failed)
        return false;
    advance(p);
    return true;
}

bool accept_word(Parser *p, Word word)
{
    if (!accept_last_word(p, word))
        return false;
    join_line(p);
    return true;
}

bool expect(Parser *p, TokenKind kind)
{
    if (accept_token(p, kind))
        return true;
    parse_expected(p, token_text(kind));
    return false;
}

bool expect_word(Parser *p, Word word, const char *what)
{
    if (accept_word(p, word))
        return true;
    parse_expected(p, what);
    return false;
}

void join_line(Parser *p)
{
    while (p->tok.kind == TOK_NEWLINE && !p->failed && !lex_starts_statement(&p->lexer, peek(p).start))
        advance(p);
}

const char *take_name(Parser *p, Span *span)
{
    Token tok = p->tok;

    if (tok.kind != TOK_NAME || (tok.word != WORD_NONE && tok.word <= WORD_LAST_RESERVED)) {
        parse_expected(p, "a name");
        return "";
    }
    if (span)
        *span = token_span(p);
    advance(p);
    return symn(p->syms, p->source->text + tok.start, (size_t)(tok.end - tok.start));
}

/* ---- units ----------------------------------------------------------------------------------- */

static Unit *new_unit(Parser *p, UnitKind kind)
{
    Unit *unit = arena_new_of(p->arena, Unit);

    unit->kind = kind;
    unit->name = "";
    unit->span = token_span(p);
    return unit;
}

/* unit = ("Operator" | "Kernel") NAME { statement } "end" */
static void parse_unit(Parser *p, Program *program)
{
    bool is_operator = at_word(p, WORD_OPERATOR);
    Unit *unit = new_unit(p, is_operator ? UNIT_OPERATOR : UNIT_KERNEL);
    const char *comment = take_comments(p, NULL);
    Span opened = token_span(p);
    BlockStop stop;

    vec_push(p->arena, &program->units, unit);
    p->failed = p->in_statement = false;
    advance(p);
    unit->name = take_name(p, &unit->name_span);
    accept_token(p, TOK_COLON);
    if (!at_line_end(p))
        parse_expected(p, "the end of the line");
    unit->comment = take_comments(p, comment);
    p->unit = unit->name;
    p->blocks = 1;
    stop = parse_block(p, &unit->body, (Span){0, 0}, false);
    unit->end = p->tok.start;
    close_block(p, stop, is_operator ? "the operator" : "the kernel", opened);
    p->blocks = 0;
    p->unit = NULL;
    unit->span.end = p->prev_end;
}

static bool at_unit(const Parser *p)
{
    return (at_word(p, WORD_OPERATOR) || at_word(p, WORD_KERNEL)) && peek(p).kind == TOK_NAME;
}

/* One statement into the fragment that is open, or into a new one. A fragment in
 * which nothing was understood is none. */
static Unit *parse_loose(Parser *p, Program *program, Unit *fragment)
{
    bool is_new = !fragment;

    if (is_new)
        fragment = new_unit(p, UNIT_FRAGMENT);
    parse_statement(p, &fragment->body);
    fragment->span.end = p->prev_end;
    if (is_new && fragment->body.len == 0)
        return NULL;
    if (is_new)
        vec_push(p->arena, &program->units, fragment);
    return fragment;
}

/* program = { unit | statement } */
static void parse_units(Parser *p, Program *program)
{
    Unit *fragment = NULL;

    while (p->tok.kind != TOK_EOF && !p->stop) {
        p->failed = false;
        if (p->tok.kind == TOK_FENCE && fragment)
            fragment->body.comment = take_tail(p);
        if (p->tok.kind == TOK_FENCE || at_unit(p))
            fragment = NULL;
        if (at_line_end(p))
            advance(p);
        else if (at_unit(p))
            parse_unit(p, program);
        else if (at_word(p, WORD_END) || at_word(p, WORD_ELSE) || at_word(p, WORD_ELIF))
            parse_stray(p);
        else
            fragment = parse_loose(p, program, fragment);
    }
    if (fragment)
        fragment->body.comment = take_tail(p);
    else
        program->comment = take_tail(p);
}

Program *lang_parse(Arena *arena, Syms *syms, const Source *source, Diags *diags)
{
    Program *program = arena_new_of(arena, Program);
    Parser p = {.arena = arena, .syms = syms, .source = source, .diags = diags};

    program->source = source;
    p.lexer = lex_start(arena, source);
    advance(&p);
    parse_units(&p, program);
    return program;
}
