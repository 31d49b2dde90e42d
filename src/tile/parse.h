/* parse.h: the parser's parts; for the files of this folder only.
 *
 *   parse.c        programs, kernels, blocks, operations
 *   parse_text.c   tokens, numbers, types
 *   parse_aff.c    integer expressions
 *
 * An operation stands on one line. Lines, not only punctuation, end it: a
 * `copy_async` without a condition may be followed by an `if`.
 */
#ifndef TW_TILE_PARSE_H
#define TW_TILE_PARSE_H

#include "tile/tile.h"

typedef enum TokenKind {
    TOK_END,
    TOK_LINE,    /* the end of one line or more; a comment before it is its note */
    TOK_NAME,
    TOK_VALUE,   /* %name, the text without the percent sign */
    TOK_INT,
    TOK_FLOAT,
    TOK_STRING,  /* with its quotes */
    TOK_PUNCT,   /* one or two characters */
    TOK_BAD
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Span span;
    Span note;      /* LINE */
    uint64_t value; /* INT */
} Token;

typedef struct ValueName {
    const char *name; /* interned */
    TileValue *value;
} ValueName;

typedef struct Parser {
    TileProgram *program;
    TileKernel *kernel;
    Arena *arena;
    Syms *syms;
    AffCtx *aff;
    const Source *source;
    Diags *diags;
    int at;         /* where the next token begins */
    Token token;    /* the one looked at */
    VEC(const AffSym *) symbols; /* known ones, innermost last */
    ValueName *values; /* of the kernel: open addressing by the name's address */
    int n_values, cap_values;
    int depth;
    bool failed;    /* only the first fault is reported */
} Parser;

/* parse_text.c: false means that a diagnostic was recorded. */
bool tile_parse_fail(Parser *p, const char *fmt, ...) TW_PRINTF(2, 3);
void parse_next(Parser *p);
bool parse_at(const Parser *p, const char *text);     /* a NAME or PUNCT with this text */
bool parse_take(Parser *p, const char *text);         /* the same, and goes on */
bool parse_want(Parser *p, const char *text);
const char *parse_word(Parser *p);                    /* the token's text, interned */
bool parse_name(Parser *p, const char **name);
bool parse_int(Parser *p, int64_t *value);            /* with an optional sign */
bool parse_small(Parser *p, int *value);              /* 0 to INT_MAX */
bool parse_number(Parser *p, double *value);          /* inf and nan too */
bool parse_string(Parser *p, const char **text);
bool parse_type(Parser *p, TileType *type);
bool parse_is_number(const Parser *p);

/* parse_aff.c */
const Aff *parse_aff(Parser *p); /* NULL: a diagnostic was recorded */

#endif
