/* parse_text.c: tokens, numbers, strings and types of tile text. */
#include "tile/parse.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

bool tile_parse_fail(Parser *p, const char *fmt, ...)
{
    va_list args;
    if (p->failed)
        return false;
    p->failed = true;
    va_start(args, fmt);
    diag_add(p->diags, TW0751, p->token.span, "%s", arena_vprintf(p->arena, fmt, args));
    va_end(args);
    return false;
}

/* ---- tokens ------------------------------------------------------------------ */

static char peek(const Parser *p, int ahead)
{
    size_t at = (size_t)p->at + (size_t)ahead;
    return at < p->source->len ? p->source->text[at] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_word(Parser *p)
{
    while (is_name_char(peek(p, 0)))
        p->at++;
}

static void skip_digits(Parser *p)
{
    while (is_digit(peek(p, 0)))
        p->at++;
}

/* Blank space and, once a line has ended, whole empty lines and comments. */
static void lex_line(Parser *p, Token *t)
{
    t->kind = TOK_LINE;
    for (;;) {
        char c = peek(p, 0);
        if (c == '#') {
            int start = ++p->at;
            while (peek(p, 0) && peek(p, 0) != '\n')
                p->at++;
            if (t->note.end == 0)
                t->note = (Span){start, p->at};
        } else if (c == '\n') {
            if (t->note.end == 0)
                t->note = (Span){p->at, p->at}; /* comments on later lines are no notes */
            p->at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            p->at++;
        } else {
            return;
        }
    }
}

static void lex_number(Parser *p, Token *t)
{
    t->kind = TOK_INT;
    for (; is_digit(peek(p, 0)); p->at++) {
        uint64_t digit = (uint64_t)(peek(p, 0) - '0');
        bool fits = t->value <= (UINT64_MAX - digit) / 10;
        t->value = fits ? t->value * 10 + digit : UINT64_MAX;
    }
    if (peek(p, 0) == '.' && is_digit(peek(p, 1))) {
        t->kind = TOK_FLOAT;
        p->at++;
        skip_digits(p);
    }
    int sign = peek(p, 1) == '+' || peek(p, 1) == '-';
    if ((peek(p, 0) == 'e' || peek(p, 0) == 'E') && is_digit(peek(p, 1 + sign))) {
        t->kind = TOK_FLOAT;
        p->at += 1 + sign;
        skip_digits(p);
    }
}

static void lex_value(Parser *p, Token *t)
{
    t->kind = is_name_char(peek(p, 1)) ? TOK_VALUE : TOK_BAD;
    t->span.start = ++p->at;
    skip_word(p);
    if (peek(p, 0) == '.' && is_digit(peek(p, 1))) {
        p->at++;
        skip_digits(p);
    }
}

static void lex_string(Parser *p, Token *t)
{
    p->at++;
    while (peek(p, 0) && peek(p, 0) != '"' && peek(p, 0) != '\n')
        p->at += peek(p, 0) == '\\' && peek(p, 1) && peek(p, 1) != '\n' ? 2 : 1;
    t->kind = peek(p, 0) == '"' ? TOK_STRING : TOK_BAD;
    p->at += t->kind == TOK_STRING;
}

static void lex_punct(Parser *p, Token *t)
{
    static const char *const doubles[] = {"<=", ">=", "==", "!=", "..", "**"};
    char c = peek(p, 0);
    t->kind = strchr("{}()[]<>=:,.+-*/", c) ? TOK_PUNCT : TOK_BAD;
    for (size_t i = 0; i < TW_COUNT(doubles); i++)
        if (c == doubles[i][0] && peek(p, 1) == doubles[i][1]) {
            t->kind = TOK_PUNCT;
            p->at++;
            break;
        }
    p->at++;
}

void parse_next(Parser *p)
{
    Token t = {.kind = TOK_END};
    while (peek(p, 0) == ' ' || peek(p, 0) == '\t' || peek(p, 0) == '\r')
        p->at++;
    char c = peek(p, 0);
    t.span.start = p->at;
    if (c == '\n' || c == '#')
        lex_line(p, &t);
    else if (is_digit(c))
        lex_number(p, &t);
    else if (is_name_char(c)) {
        t.kind = TOK_NAME;
        skip_word(p);
    } else if (c == '%')
        lex_value(p, &t);
    else if (c == '"')
        lex_string(p, &t);
    else if ((size_t)p->at < p->source->len)
        lex_punct(p, &t);
    t.span.end = p->at;
    p->token = t;
}

static size_t length(const Parser *p)
{
    return (size_t)(p->token.span.end - p->token.span.start);
}

static const char *start_of(const Parser *p)
{
    return p->source->text + p->token.span.start;
}

bool parse_at(const Parser *p, const char *text)
{
    return (p->token.kind == TOK_NAME || p->token.kind == TOK_PUNCT) && strlen(text) == length(p) &&
           memcmp(text, start_of(p), length(p)) == 0;
}

bool parse_take(Parser *p, const char *text)
{
    if (!parse_at(p, text))
        return false;
    parse_next(p);
    return true;
}

bool parse_want(Parser *p, const char *text)
{
    return parse_take(p, text) || tile_parse_fail(p, "expected '%s'", text);
}

const char *parse_word(Parser *p)
{
    return symn(p->syms, start_of(p), length(p));
}

bool parse_name(Parser *p, const char **name)
{
    if (p->token.kind != TOK_NAME)
        return tile_parse_fail(p, "expected a name");
    *name = parse_word(p);
    parse_next(p);
    return true;
}

/* ---- numbers, strings ------------------------------------------------------------ */

bool parse_int(Parser *p, int64_t *value)
{
    bool negative = parse_take(p, "-");
    uint64_t most = (uint64_t)INT64_MAX + negative;
    if (p->token.kind != TOK_INT)
        return tile_parse_fail(p, "expected an integer");
    if (p->token.value > most)
        return tile_parse_fail(p, "the number does not fit into 64 bits");
    uint64_t v = p->token.value;
    *value = !negative ? (int64_t)v : v == most ? INT64_MIN : -(int64_t)v;
    parse_next(p);
    return true;
}

bool parse_small(Parser *p, int *value)
{
    int64_t wide;
    if (p->token.kind == TOK_INT && p->token.value > INT_MAX)
        return tile_parse_fail(p, "the number is too large");
    if (!parse_int(p, &wide))
        return false;
    *value = (int)wide;
    return true;
}

static bool at_special(const Parser *p)
{
    return parse_at(p, "inf") || parse_at(p, "nan");
}

bool parse_is_number(const Parser *p)
{
    return p->token.kind == TOK_INT || p->token.kind == TOK_FLOAT || parse_at(p, "-") || at_special(p);
}

bool parse_number(Parser *p, double *value)
{
    bool negative = parse_take(p, "-");
    if (parse_take(p, "inf"))
        *value = INFINITY;
    else if (parse_take(p, "nan"))
        *value = NAN;
    else if (p->token.kind == TOK_INT || p->token.kind == TOK_FLOAT) {
        *value = strtod(arena_strndup(p->arena, start_of(p), length(p)), NULL);
        parse_next(p);
    } else {
        return tile_parse_fail(p, "expected a number");
    }
    if (negative)
        *value = -*value;
    return true;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void add_utf8(Str *s, int c)
{
    if (c < 0x80) {
        str_addc(s, (char)c);
    } else if (c < 0x800) {
        str_addc(s, (char)(0xc0 | c >> 6));
        str_addc(s, (char)(0x80 | (c & 0x3f)));
    } else {
        str_addc(s, (char)(0xe0 | c >> 12));
        str_addc(s, (char)(0x80 | (c >> 6 & 0x3f)));
        str_addc(s, (char)(0x80 | (c & 0x3f)));
    }
}

/* One escape of a JSON string; returns the characters it took. */
static int unescape(Str *s, const char *at)
{
    static const char escapes[] = "n\nt\tr\rb\bf\f";
    int c = 0;
    for (const char *e = escapes; *e; e += 2)
        if (at[1] == e[0]) {
            str_addc(s, e[1]);
            return 2;
        }
    if (at[1] != 'u') {
        str_addc(s, at[1]);
        return 2;
    }
    for (int i = 2; i < 6; i++) {
        if (hex_digit(at[i]) < 0)
            return i;
        c = c * 16 + hex_digit(at[i]);
    }
    if (c)
        add_utf8(s, c);
    return 6;
}

bool parse_string(Parser *p, const char **text)
{
    if (p->token.kind != TOK_STRING)
        return tile_parse_fail(p, "expected a text in quotes");
    Str s = str_new(p->arena);
    const char *at = start_of(p) + 1, *end = start_of(p) + length(p) - 1;
    while (at < end) {
        if (*at == '\\')
            at += unescape(&s, at);
        else
            str_addc(&s, *at++);
    }
    *text = str_text(&s);
    parse_next(p);
    return true;
}

/* ---- types ------------------------------------------------------------------------ */

/* `64x128`, right after the token looked at; at most `most` numbers. */
static bool parse_extents(Parser *p, int *extents, int most, int *n)
{
    for (*n = 0; *n < most; (*n)++) {
        long value = 0;
        if (!is_digit(peek(p, 0)))
            return tile_parse_fail(p, "expected extents such as 64x128");
        for (; is_digit(peek(p, 0)); p->at++)
            value = value > INT_MAX / 10 - 1 ? INT_MAX / 10 : value * 10 + (peek(p, 0) - '0');
        extents[*n] = (int)value;
        if (peek(p, 0) != 'x') {
            (*n)++;
            break;
        }
        p->at++;
    }
    parse_next(p);
    return true;
}

/* `, k16` */
static bool parse_numbered(Parser *p, const char *name, int *number)
{
    if (!parse_want(p, ","))
        return false;
    const char *word = p->token.kind == TOK_NAME ? parse_word(p) : "";
    size_t n = strlen(name);
    if (strncmp(word, name, n) != 0 || strlen(word) > n + 2 || !is_digit(word[n]))
        return tile_parse_fail(p, "expected a number such as %s16", name);
    *number = atoi(word + n);
    parse_next(p);
    return true;
}

static bool parse_fragment(Parser *p, Layout *layout, LayoutKind kind)
{
    int warps[2], n;
    layout->kind = kind;
    if (!parse_at(p, "("))
        return parse_want(p, "(");
    if (!parse_extents(p, warps, 2, &n) || n != 2)
        return tile_parse_fail(p, "expected warps such as 4x1");
    layout->warps_m = warps[0];
    layout->warps_n = warps[1];
    if (kind != LAY_MMA_C && !parse_numbered(p, "k", &layout->k))
        return false;
    if (kind == LAY_ROWS && !parse_numbered(p, "lanes", &layout->lanes))
        return false;
    if (kind != LAY_ROWS && parse_take(p, ","))
        layout->quads = parse_take(p, "quads") || tile_parse_fail(p, "expected 'quads'");
    return parse_want(p, ")");
}

static bool parse_layout(Parser *p, Layout *layout)
{
    if (parse_take(p, "mma_c"))
        return parse_fragment(p, layout, LAY_MMA_C);
    if (parse_take(p, "mma_a"))
        return parse_fragment(p, layout, LAY_MMA_A);
    if (parse_take(p, "chunks"))
        return parse_fragment(p, layout, LAY_CHUNKS);
    if (parse_take(p, "rows"))
        return parse_fragment(p, layout, LAY_ROWS);
    if (!parse_take(p, "panels"))
        return true;
    layout->kind = LAY_PANELS;
    return parse_want(p, "(") && parse_small(p, &layout->panel) && parse_want(p, ")");
}

static Space parse_space(Parser *p)
{
    if (parse_take(p, "shared"))
        return SPACE_SHARED;
    if (parse_take(p, "global"))
        return SPACE_GLOBAL;
    return parse_take(p, "nowhere") ? SPACE_NONE : SPACE_REGISTER;
}

bool parse_type(Parser *p, TileType *type)
{
    const char *dtype;
    int extents[3], n;
    *type = (TileType){.kind = TT_TOKEN};
    if (parse_take(p, "token"))
        return true;
    type->kind = TT_TILE;
    type->space = parse_space(p);
    type->pending = parse_take(p, "pending");
    if (!parse_name(p, &dtype))
        return false;
    if (!dtype_parse(dtype, &type->dtype))
        return tile_parse_fail(p, "'%s' is not a dtype", dtype);
    if (!parse_at(p, "<"))
        return parse_want(p, "<");
    if (!parse_extents(p, extents, 3, &n))
        return false;
    if (n < 2)
        return tile_parse_fail(p, "expected rows and columns");
    if (n == 3) {
        type->kind = TT_BUFFER;
        type->space = SPACE_SHARED;
        type->stages = extents[0];
    }
    type->rows = extents[n - 2];
    type->cols = extents[n - 1];
    return parse_want(p, ">") && parse_layout(p, &type->layout);
}
