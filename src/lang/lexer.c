/* lexer.c: tokens of TL. What a line means (does it continue, is `//` a comment,
 * is this prose) is decided in lines.c.
 *
 *   Compute GEMM Q, K.T and      NAME NAME NAME COMMA NAME DOT NAME NAME
 *     get S  # scores            NAME NAME NEWLINE, and the comment "scores"
 */
#include "lang/lexer.h"
#include "lang/lines.h"

#include <math.h>
#include <stdlib.h>

const char *token_text(TokenKind kind)
{
    static const char *const texts[] = {
#define TOKEN(id, text) [TOK_##id] = text,
#include "lang/tokens.def"
#undef TOKEN
    };
    return texts[kind];
}

bool token_ends_line(TokenKind kind)
{
    return kind == TOK_NEWLINE || kind == TOK_FENCE || kind == TOK_EOF;
}

/* ---- words ------------------------------------------------------------------ */

enum { LETTERS = 'z' - 'a' + 1, ALIKE = 7 };

/* By their first letters; most names are none of them. */
static const struct { const char *text; Word word; } WORDS[LETTERS][ALIKE] = {
    ['a' - 'a'] = {{"and", WORD_AND}, {"accumulate", WORD_ACCUMULATE}, {"as", WORD_AS}},
    ['b' - 'a'] = {{"by", WORD_BY}},
    ['c' - 'a'] = {{"coordinate", WORD_COORDINATE}, {"coordinates", WORD_COORDINATE}, {"coor", WORD_COORDINATE},
                   {"coord", WORD_COORDINATE}, {"coords", WORD_COORDINATE}},
    ['d' - 'a'] = {{"div", WORD_DIV}},
    ['e' - 'a'] = {{"else", WORD_ELSE}, {"empty", WORD_EMPTY}, {"end", WORD_END}, {"endif", WORD_END}, {"endfor", WORD_END},
                   {"elif", WORD_ELIF}, {"elseif", WORD_ELIF}},
    ['f' - 'a'] = {{"from", WORD_FROM}},
    ['g' - 'a'] = {{"get", WORD_GET}},
    ['i' - 'a'] = {{"in", WORD_IN}, {"into", WORD_INTO}, {"inf", WORD_INF}, {"infinity", WORD_INF}},
    ['k' - 'a'] = {{"kernel", WORD_KERNEL}},
    ['m' - 'a'] = {{"mod", WORD_MOD}, {"memory", WORD_MEMORY}},
    ['n' - 'a'] = {{"not", WORD_NOT}, {"new", WORD_NEW}},
    ['o' - 'a'] = {{"or", WORD_OR}, {"over", WORD_OVER}, {"offset", WORD_OFFSET}, {"operator", WORD_OPERATOR}},
    ['r' - 'a'] = {{"rows", WORD_ROWS}},
    ['s' - 'a'] = {{"step", WORD_STEP}, {"stage", WORD_STAGE}},
    ['t' - 'a'] = {{"to", WORD_TO}},
    ['w' - 'a'] = {{"where", WORD_WHERE}, {"with", WORD_WITH}},
};

Word lex_word(const char *text, size_t len)
{
    int letter = (text[0] | 0x20) - 'a';

    for (int i = 0; letter >= 0 && letter < LETTERS && i < ALIKE && WORDS[letter][i].text; i++)
        if (text_is(text, len, WORDS[letter][i].text))
            return WORDS[letter][i].word;
    return WORD_NONE;
}

/* ---- comments ---------------------------------------------------------------- */

/* Keeps a comment's text, from behind its mark to the line's end. A comment of
 * nothing is kept as "#", so that "" can stand for a blank line. */
static void keep_comment(Lexer *lexer, int start, int end)
{
    const char *text = lexer->source->text;
    const char *nul = memchr(text + start, '\0', (size_t)(end - start));

    if (nul)
        end = (int)(nul - text);
    while (start < end && text[start] == '#')
        start++;
    if (start < end && text[start] == ' ')
        start++;
    while (end > start && is_blank(text[end - 1]))
        end--;
    vec_push(lexer->arena, &lexer->comments,
             end > start ? arena_strndup(lexer->arena, text + start, (size_t)(end - start)) : "#");
}

/* A comment mark of `mark` bytes stands at pos. */
static void pass_comment(Lexer *lexer, int mark)
{
    int end = line_end(lexer->source, lexer->pos);

    keep_comment(lexer, lexer->pos + mark, end);
    lexer->pos = end;
    lexer->prev = TOK_COUNT;
}

static void pass_blank_line(Lexer *lexer)
{
    Lines *lines = &lexer->comments;

    if (lines->len == 0)
        lexer->gap = true;
    else if (*lines->data[lines->len - 1])
        vec_push(lexer->arena, lines, "");
}

/* ---- numbers and names ---------------------------------------------------------- */

static bool digit_at(const Lexer *lexer, int pos)
{
    char c = byte_at(lexer->source, pos);
    return c >= '0' && c <= '9';
}

static int skip_digits(const Lexer *lexer, int pos)
{
    while (digit_at(lexer, pos))
        pos++;
    return pos;
}

/* The end of the exponent at pos, or pos where there is none. */
static int skip_exponent(const Lexer *lexer, int pos)
{
    char e = byte_at(lexer->source, pos), sign = byte_at(lexer->source, pos + 1);
    int digits = pos + 1 + (sign == '+' || sign == '-');

    return (e == 'e' || e == 'E') && digit_at(lexer, digits) ? skip_digits(lexer, digits) : pos;
}

static void set_int(const Lexer *lexer, Token *token)
{
    token->kind = TOK_INT;
    for (int i = token->start; i < token->end; i++) {
        unsigned digit = (unsigned)(lexer->source->text[i] - '0');

        if (token->i > (UINT64_MAX - digit) / 10) {
            token->huge = true;
            return;
        }
        token->i = token->i * 10 + digit;
    }
}

static void name_token(Lexer *lexer, Token *token)
{
    const char *text = lexer->source->text + token->start;

    token->kind = TOK_NAME;
    token->end = word_end(lexer->source, token->start);
    token->word = lex_word(text, (size_t)(token->end - token->start));
}

/* 12, 1.5, .5, 1e-5. A name may start with digits and '_' (`0_register`);
 * digits that run into letters are neither. */
static void number_token(Lexer *lexer, Token *token)
{
    int whole = skip_digits(lexer, token->start), end = whole;

    if (byte_at(lexer->source, whole) == '_' && word_end(lexer->source, whole) > whole + 1) {
        name_token(lexer, token);
        return;
    }
    if (byte_at(lexer->source, end) == '.' && byte_at(lexer->source, end + 1) != '.' &&
        !is_letter(byte_at(lexer->source, end + 1)))
        end = skip_digits(lexer, end + 1);
    end = skip_exponent(lexer, end);
    token->end = end;
    if (is_letter(byte_at(lexer->source, end))) {
        token->kind = TOK_BAD;
        token->end = word_end(lexer->source, end);
    } else if (end == whole) {
        set_int(lexer, token);
    } else {
        token->kind = TOK_FLOAT;
        token->f = strtod(lexer->source->text + token->start, NULL);
        token->huge = isinf(token->f);
    }
}

/* ---- signs ------------------------------------------------------------------------ */

typedef struct Sign {
    const char *text;
    TokenKind kind;
    Word word; /* signs that stand for a word */
} Sign;

/* Longer signs first. Look-alikes that models write are taken for what they mean. */
static const Sign signs[] = {
    {"...", TOK_ELLIPSIS, WORD_NONE}, {"**", TOK_POWER, WORD_NONE}, {"==", TOK_EQ, WORD_NONE},
    {"!=", TOK_NE, WORD_NONE},        {"<=", TOK_LE, WORD_NONE},    {">=", TOK_GE, WORD_NONE},
    {"&&", TOK_NAME, WORD_AND},       {"||", TOK_NAME, WORD_OR},    {"!", TOK_NAME, WORD_NOT},
    {"->", TOK_NAME, WORD_GET},       {"=>", TOK_NAME, WORD_GET},   {"\xe2\x86\x92", TOK_NAME, WORD_GET},
    {"(", TOK_LPAREN, WORD_NONE},     {")", TOK_RPAREN, WORD_NONE}, {"[", TOK_LBRACKET, WORD_NONE},
    {"]", TOK_RBRACKET, WORD_NONE},   {",", TOK_COMMA, WORD_NONE},  {":", TOK_COLON, WORD_NONE},
    {"=", TOK_ASSIGN, WORD_NONE},     {"<", TOK_LT, WORD_NONE},     {">", TOK_GT, WORD_NONE},
    {"+", TOK_PLUS, WORD_NONE},       {"-", TOK_MINUS, WORD_NONE},  {"*", TOK_STAR, WORD_NONE},
    {"//", TOK_SLASHES, WORD_NONE},   {"/", TOK_SLASH, WORD_NONE},  {"%", TOK_PERCENT, WORD_NONE},
    {".", TOK_DOT, WORD_NONE},        {"\xe2\x89\xa4", TOK_LE, WORD_NONE}, {"\xe2\x89\xa5", TOK_GE, WORD_NONE},
    {"\xe2\x89\xa0", TOK_NE, WORD_NONE}, {"\xc3\x97", TOK_STAR, WORD_NONE}, {"\xc2\xb7", TOK_STAR, WORD_NONE},
    {"\xe2\x88\x92", TOK_MINUS, WORD_NONE}, {"\xe2\x88\x9e", TOK_NAME, WORD_INF},
    {"\xe2\x80\xa6", TOK_ELLIPSIS, WORD_NONE},
};

/* Bytes of one unknown character; the bytes of a UTF-8 sequence stay together. */
static int skip_unknown(const Source *source, int pos)
{
    do
        pos++;
    while (((unsigned char)byte_at(source, pos) & 0xc0) == 0x80);
    return pos < (int)source->len ? pos : (int)source->len;
}

static void sign_token(Lexer *lexer, Token *token)
{
    char first = byte_at(lexer->source, token->start);

    for (size_t i = 0; i < TW_COUNT(signs); i++)
        if (signs[i].text[0] == first && text_at(lexer->source, token->start, signs[i].text)) {
            token->kind = signs[i].kind;
            token->word = signs[i].word;
            token->end = token->start + (int)strlen(signs[i].text);
            return;
        }
    token->kind = TOK_BAD;
    token->end = skip_unknown(lexer->source, token->start);
}

/* ---- lines ------------------------------------------------------------------------- */

/* At a line's end inside a statement: does the statement go on? Brackets keep a
 * statement open, unless the next line starts one, which shows that a bracket
 * was forgotten. */
static bool continues(const Lexer *lexer)
{
    int next = lexer->pos + 1;

    if (lexer->brackets > 0)
        return !lex_starts_statement(lexer, next) &&
               !(ends_operand(lexer->prev) && line_assigns(lexer->source, next));
    return lex_continues_statement(lexer->source, next);
}

/* Behind a closing fence: goes into the next fenced block that may hold TL. */
static void skip_prose(Lexer *lexer)
{
    const Source *source = lexer->source;
    bool inside = false;

    while (lexer->pos < (int)source->len) {
        int start = lexer->pos;

        lexer->pos = line_next(source, start);
        if (!line_is_fence(source, start))
            continue;
        if (!inside && fence_may_hold_tl(source, start))
            return;
        inside = !inside;
    }
}

/* `;` before a line's end is that line's end. */
static void pass_line_end(Lexer *lexer)
{
    int pos = skip_blanks(lexer->source, lexer->pos);

    if (byte_at(lexer->source, pos) == '\n')
        lexer->pos = pos + 1;
}

/* Passes blanks, comments and line ends that end no statement. True: a token
 * starts at pos; false: *token is the end of a line or of the text. */
static bool pass_space(Lexer *lexer, Token *token)
{
    const Source *source = lexer->source;

    for (;;) {
        lexer->pos = skip_blanks(source, lexer->pos);
        token->start = token->end = lexer->pos;
        if (lexer->pos >= (int)source->len)
            return false;
        if (lexer->line_start && lexer->fences && text_at(source, lexer->pos, "```")) {
            token->kind = TOK_FENCE;
            lexer->pos = line_next(source, lexer->pos);
            skip_prose(lexer);
            return false;
        }
        char c = source->text[lexer->pos];
        if (c == '#') {
            pass_comment(lexer, 1);
        } else if (c == '/' && text_at(source, lexer->pos, "//") && !ends_operand(lexer->prev)) {
            pass_comment(lexer, 2);
        } else if (c != '\n' && c != ';') {
            return true;
        } else if (lexer->line_start) {
            if (c == '\n' && lexer->prev != TOK_COUNT)
                pass_blank_line(lexer);
            lexer->prev = TOK_NEWLINE;
            lexer->pos++;
        } else if (c == '\n' && continues(lexer)) {
            lexer->pos++;
        } else {
            token->kind = TOK_NEWLINE;
            token->end = ++lexer->pos;
            if (c == ';')
                pass_line_end(lexer);
            lexer->line_start = true;
            lexer->brackets = 0;
            return false;
        }
    }
}

static void count_bracket(Lexer *lexer, TokenKind kind)
{
    if (kind == TOK_LPAREN || kind == TOK_LBRACKET)
        lexer->brackets++;
    else if ((kind == TOK_RPAREN || kind == TOK_RBRACKET) && lexer->brackets > 0)
        lexer->brackets--;
}

Token lex_next(Lexer *lexer)
{
    Token token = {.kind = TOK_EOF};

    if (pass_space(lexer, &token)) {
        char c = lexer->source->text[token.start];

        if (is_letter(c))
            name_token(lexer, &token);
        else if (digit_at(lexer, token.start) || (c == '.' && digit_at(lexer, token.start + 1)))
            number_token(lexer, &token);
        else
            sign_token(lexer, &token);
        token.first = lexer->line_start;
        lexer->line_start = false;
        lexer->pos = token.end;
        count_bracket(lexer, token.kind);
    }
    lexer->prev = token.kind;
    return token;
}

Token lex_comment(Lexer *lexer, Token slashes)
{
    lexer->pos = slashes.start;
    pass_comment(lexer, 2);
    return lex_next(lexer);
}

void lex_skip_line(Lexer *lexer, int offset)
{
    lexer->pos = line_end(lexer->source, offset);
    lexer->brackets = 0;
    lexer->line_start = false;
    lexer->prev = TOK_BAD;
}

Lexer lex_start(Arena *arena, const Source *source)
{
    Lexer lexer = {.arena = arena, .source = source, .prev = TOK_NEWLINE, .line_start = true};

    if (strncmp(source->text, "\xef\xbb\xbf", 3) == 0)
        lexer.pos = 3; /* a byte-order mark */
    for (int pos = 0; pos < (int)source->len && !lexer.fences; pos = line_next(source, pos))
        lexer.fences = line_is_fence(source, pos);
    if (lexer.fences)
        skip_prose(&lexer);
    return lexer;
}
