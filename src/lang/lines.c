/* lines.c: decisions about TL that need a look at whole lines.
 *
 * TL is written by people and by models: prose stands beside statements, `//` is
 * integer division or a comment, a condition of a sketch may be a phrase.
 * Each rule here is small, bounded and stated in docs/language.md.
 */
#include "lang/lines.h"

enum { LOOK_AHEAD = 1024 }; /* bytes; keeps hostile lines from costing squares */

bool text_is(const char *text, size_t len, const char *word)
{
    size_t i = 0;

    for (; i < len && word[i]; i++)
        if ((text[i] | 0x20) != (word[i] | 0x20))
            return false;
    return i == len && !word[i];
}

bool text_at(const Source *source, int pos, const char *text)
{
    size_t len = strlen(text);

    return (size_t)pos + len <= source->len && memcmp(source->text + pos, text, len) == 0;
}

int word_end(const Source *source, int pos)
{
    while (is_name_char(byte_at(source, pos)))
        pos++;
    return pos;
}

int line_end(const Source *source, int pos)
{
    const char *at = memchr(source->text + pos, '\n', source->len - (size_t)pos);

    return at ? (int)(at - source->text) : (int)source->len;
}

int line_next(const Source *source, int pos)
{
    int end = line_end(source, pos);

    return end < (int)source->len ? end + 1 : end;
}

int skip_blanks(const Source *source, int pos)
{
    while (is_blank(byte_at(source, pos)))
        pos++;
    return pos;
}

int line_indent(const Source *source, int pos)
{
    int start = pos;

    while (start > 0 && is_blank(source->text[start - 1]))
        start--;
    return start == 0 || source->text[start - 1] == '\n' ? pos - start : -1;
}

/* ---- misspelt words ------------------------------------------------------------ */

enum { LONGEST_WORD = 24 };

static void lower(char *out, const char *word)
{
    size_t i = 0;

    for (; word[i] && i < LONGEST_WORD; i++)
        out[i] = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] | 0x20) : word[i];
    out[i] = '\0';
}

static bool swapped(const char *a, const char *b)
{
    size_t i = 0;

    while (a[i] && a[i] == b[i])
        i++;
    return a[i] && a[i + 1] && a[i] == b[i + 1] && a[i + 1] == b[i] && strcmp(a + i + 2, b + i + 2) == 0;
}

int word_distance(const char *a, const char *b, int limit)
{
    char small_a[LONGEST_WORD + 1], small_b[LONGEST_WORD + 1];

    if (strlen(a) > LONGEST_WORD || strlen(b) > LONGEST_WORD)
        return limit + 1;
    lower(small_a, a);
    lower(small_b, b);
    return limit >= 1 && swapped(small_a, small_b) ? 1 : text_distance(small_a, small_b, limit);
}

/* ---- fences ------------------------------------------------------------------- */

bool line_is_fence(const Source *source, int pos)
{
    return text_at(source, skip_blanks(source, pos), "```");
}

/* A fence may name a language; blocks in one that is not TL are skipped. */
bool fence_may_hold_tl(const Source *source, int pos)
{
    static const char *const others[] = {"c",  "cc",     "cpp",  "c++", "cuda", "cu",  "python", "py",
                                         "sh", "bash",   "json", "ptx", "console", "shell", "diff", "yaml"};
    int start = skip_blanks(source, skip_blanks(source, pos) + 3), end = start;

    while (end < (int)source->len && byte_at(source, end) != '\n' && !is_blank(byte_at(source, end)))
        end++;
    for (size_t i = 0; i < TW_COUNT(others); i++)
        if (text_is(source->text + start, (size_t)(end - start), others[i]))
            return false;
    return true;
}

/* ---- statements over several lines ------------------------------------------------ */

bool keyword_find(const char *text, size_t len, StmtKind *kind)
{
    static const char *const keywords[] = {
#define STMT(id, keyword, help, in_definition, in_sketch, in_code) [STMT_##id] = keyword,
#include "lang/stmts.def"
#undef STMT
    };

    for (int i = 0; i < STMT_COUNT; i++)
        if (keywords[i][0] && text_is(text, len, keywords[i])) {
            *kind = (StmtKind)i;
            return true;
        }
    return false;
}

/* A keyword with something behind it that can follow a keyword, but no name. */
bool lex_starts_statement(const Lexer *lexer, int offset)
{
    const Source *source = lexer->source;
    int start = skip_blanks(source, offset), end = word_end(source, start), next = skip_blanks(source, end);
    size_t len = (size_t)(end - start);
    char c = byte_at(source, next);
    StmtKind kind;
    Word word = lex_word(source->text + start, len);

    if (len == 0)
        return lexer->fences && line_is_fence(source, start);
    if (word == WORD_END || word == WORD_ELSE)
        return c == '\n' || c == '#' || c == '\0';
    if (word == WORD_OPERATOR || word == WORD_KERNEL || keyword_find(source->text + start, len, &kind))
        return is_letter(c) || (word == WORD_NONE && c == '(' && next > end);
    return false;
}

bool line_assigns(const Source *source, int pos)
{
    int start = skip_blanks(source, pos), end = word_end(source, start), next = skip_blanks(source, end);

    return is_letter(byte_at(source, start)) && byte_at(source, next) == '=' && byte_at(source, next + 1) != '=';
}

bool lex_continues_statement(const Source *source, int pos)
{
    int start = skip_blanks(source, pos), end = word_end(source, start), next = skip_blanks(source, end);

    switch (lex_word(source->text + start, (size_t)(end - start))) {
    case WORD_AND: case WORD_OR: case WORD_WHERE: case WORD_GET: case WORD_ACCUMULATE:
    case WORD_IN: case WORD_OVER: case WORD_FROM: case WORD_TO: case WORD_WITH: case WORD_AS:
        return byte_at(source, next) != '=';
    case WORD_NONE: case WORD_NOT: case WORD_DIV: case WORD_MOD: case WORD_ELSE: case WORD_INF: case WORD_NEW:
    case WORD_INTO: case WORD_BY: case WORD_STEP: case WORD_OFFSET: case WORD_COORDINATE: case WORD_STAGE:
    case WORD_EMPTY: case WORD_ROWS: case WORD_MEMORY: case WORD_OPERATOR: case WORD_KERNEL: case WORD_END:
    case WORD_ELIF:
        break;
    }
    return false;
}

/* ---- prose ---------------------------------------------------------------------------- */

bool ends_operand(TokenKind kind)
{
    return kind == TOK_NAME || kind == TOK_INT || kind == TOK_FLOAT || kind == TOK_RPAREN || kind == TOK_RBRACKET;
}

/* Words that join operands, so that a name may stand on either side. */
static bool joins(const Source *source, int start, int end)
{
    Word word = lex_word(source->text + start, (size_t)(end - start));

    return word != WORD_NONE && word != WORD_INF;
}

/* Do two words stand side by side, neither a joining one, before the line or
 * another `//` ends this? */
static bool has_words_in_a_row(const Source *source, int pos)
{
    bool after_word = false;

    for (int stop = pos + LOOK_AHEAD; pos < stop;) {
        char c = byte_at(source, pos);

        if (c == '\0' || c == '\n' || c == '#' || text_at(source, pos, "//"))
            return false;
        if (is_name_char(c)) {
            int end = word_end(source, pos);
            bool word = !joins(source, pos, end);

            if (word && after_word)
                return true;
            after_word = word;
            pos = end;
        } else {
            after_word = after_word && is_blank(c);
            pos++;
        }
    }
    return true;
}

bool lex_divides(const Lexer *lexer, int offset, bool sole)
{
    const Source *source = lexer->source;
    int start = skip_blanks(source, offset + 2), end = word_end(source, start);
    char first = byte_at(source, start), behind = byte_at(source, skip_blanks(source, end));

    if (!is_name_char(first) && first != '(' && first != '-' && first != '.')
        return false;
    if (sole && lexer->brackets == 0 && end > start && (behind == '\n' || behind == '\0'))
        return false;
    return !has_words_in_a_row(source, start);
}

bool lex_reads_as_prose(const Lexer *lexer, int offset)
{
    const Source *source = lexer->source;
    int start = offset, end = word_end(source, start), next = skip_blanks(source, end);

    if (lex_word(source->text + start, (size_t)(end - start)) == WORD_NOT) {
        start = next;
        end = word_end(source, start);
        next = skip_blanks(source, end);
    }
    return end > start && is_letter(byte_at(source, start)) && is_letter(byte_at(source, next)) &&
           !joins(source, start, end) && !joins(source, next, word_end(source, next));
}
