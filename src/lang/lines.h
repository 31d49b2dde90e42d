/* lines.h: looking at the raw text of lines (internal to src/lang). */
#ifndef TW_LANG_LINES_H
#define TW_LANG_LINES_H

#include "lang/lexer.h"

/* The byte at an offset; 0 at and behind the end. */
static inline char byte_at(const Source *source, int pos)
{
    return (size_t)pos < source->len ? source->text[pos] : '\0';
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool text_is(const char *text, size_t len, const char *word); /* case aside */
bool text_at(const Source *source, int pos, const char *text);
int skip_blanks(const Source *source, int pos);
int word_end(const Source *source, int pos);
int line_end(const Source *source, int pos);  /* its '\n', or the text's end */
int line_next(const Source *source, int pos); /* the start of the next line, or the text's end */
int line_indent(const Source *source, int pos); /* blanks before pos; -1 where a word stands before it */
bool line_is_fence(const Source *source, int pos);
bool fence_may_hold_tl(const Source *source, int pos);
/* Misspelling: how many edits from a to b, case aside, two letters swapped being one; at most limit + 1. */
int word_distance(const char *a, const char *b, int limit);
/* Does a token of this kind end an operand, so that `//` after it may divide? */
bool ends_operand(TokenKind kind);
/* Does the line at pos begin with a word that no statement begins with? */
bool lex_continues_statement(const Source *source, int pos);
/* Does it begin with NAME = ? */
bool line_assigns(const Source *source, int pos);

#endif
