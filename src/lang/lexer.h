/* lexer.h: TL text to tokens, one at a time (internal to src/lang).
 *
 * The lexer knows lines: it gives TOK_NEWLINE where a statement may end, which
 * is not inside brackets and not before a line that starts with a word that can
 * only continue a statement (`and`, `from`, `to`, ...). It holds no memory but
 * the comments that it passed; a copy of a Lexer is a place to come back to.
 *
 * Two spellings need help from the parser: `//` after an operand is given as
 * TOK_SLASHES, which is integer division or starts a comment, see lex_divides
 * and lex_comment.
 */
#ifndef TW_LANG_LEXER_H
#define TW_LANG_LEXER_H

#include "lang/lang.h"

typedef enum TokenKind {
#define TOKEN(id, text) TOK_##id,
#include "lang/tokens.def"
#undef TOKEN
    TOK_COUNT
} TokenKind;

/* Words with a meaning somewhere. None is a keyword everywhere: a TOK_NAME
 * carries the word that it could be. */
typedef enum Word {
    WORD_NONE,
    WORD_AND, WORD_OR, WORD_NOT, WORD_DIV, WORD_MOD, /* operators: never names */
    WORD_WHERE, WORD_ELSE, WORD_GET, WORD_ACCUMULATE, /* never names either */
    WORD_LAST_RESERVED = WORD_ACCUMULATE,
    WORD_INF,
    WORD_NEW, WORD_IN, WORD_INTO, WORD_OVER, WORD_FROM, WORD_TO, WORD_WITH, WORD_AS, WORD_BY, WORD_STEP,
    WORD_OFFSET, WORD_COORDINATE, WORD_STAGE, WORD_EMPTY, WORD_ROWS, WORD_MEMORY,
    WORD_OPERATOR, WORD_KERNEL, WORD_END, WORD_ELIF
} Word;

typedef struct Token {
    TokenKind kind;
    Word word;   /* NAME */
    int start, end;
    uint64_t i;  /* INT */
    double f;    /* FLOAT */
    bool huge;   /* a number that does not fit */
    bool first;  /* the first of its line */
} Token;

typedef VEC(const char *) Lines;

typedef struct Lexer {
    Arena *arena;
    const Source *source;
    int pos;
    int brackets;      /* open ( and [ */
    TokenKind prev;
    bool line_start;   /* nothing but blanks and comments so far on this line */
    bool fences;       /* the source has ``` fences; text outside of them is prose */
    bool gap;          /* a blank line was passed before the comments, or before the token */
    Lines comments;    /* passed and not yet taken; "" is a blank line between them */
} Lexer;

Lexer lex_start(Arena *arena, const Source *source);
Token lex_next(Lexer *lexer);
/* Goes to the end of the line that contains the offset, and forgets open brackets. */
void lex_skip_line(Lexer *lexer, int offset);
/* Is the TOK_SLASHES at this offset a division? Reads on in its line: prose has
 * two words side by side, an expression has not. With `sole` a lone word up to
 * the end of the line is a comment too. */
bool lex_divides(const Lexer *lexer, int offset, bool sole);
/* Reads on behind a TOK_SLASHES that is a comment. */
Token lex_comment(Lexer *lexer, Token slashes);
/* The word starting at an offset (WORD_NONE: none of ours). */
Word lex_word(const char *text, size_t len);
/* Does the line that begins at this offset start a statement, by its keyword? */
bool lex_starts_statement(const Lexer *lexer, int offset);
/* Do the words here read as prose ("block j crosses ..."), not as an expression? */
bool lex_reads_as_prose(const Lexer *lexer, int offset);

const char *token_text(TokenKind kind);
bool token_ends_line(TokenKind kind); /* NEWLINE, FENCE, EOF */
bool keyword_find(const char *text, size_t len, StmtKind *kind); /* a statement's first word */

#endif
