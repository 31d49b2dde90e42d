/* parser.h: the parser's state and helpers (internal to src/lang).
 *
 * After an error the parser stands at the end of the line: what is called next
 * finds nothing to accept and stays silent (p->failed) until the next statement.
 * Parse functions for expressions therefore never return NULL.
 */
#ifndef TW_LANG_PARSER_H
#define TW_LANG_PARSER_H

#include "lang/lexer.h"

enum {
    MAX_TOKENS = 20000,     /* in one statement */
    MAX_STATEMENTS = 65536, /* in one source */
    MAX_SHOWN = 40          /* bytes of a token quoted in a message */
};

typedef VEC(Expr *) Exprs;

typedef struct Parser {
    Arena *arena;
    Syms *syms;
    const Source *source;
    Diags *diags;
    Lexer lexer;
    Token tok;       /* the token to be read next */
    int prev_end;    /* where the last one read ended */
    int nesting;     /* expressions and brackets open */
    int blocks;      /* blocks open */
    int tokens;      /* read in this statement */
    int statements;
    StmtKind kind;   /* of this statement, for notes */
    bool in_statement;
    bool failed;     /* this statement has been diagnosed */
    bool stop;       /* nothing more is read */
    bool lone_comment; /* here `// word` at a line's end is a comment */
    const char *unit; /* the name of the unit that is open, or NULL */
    VEC(const char *) defined; /* operations that a Define above gives a meaning */
} Parser;

/* parser.c: tokens, errors */
void parse_fail(Parser *p, DiagCode code, Span span, const char *fmt, ...) TW_PRINTF(4, 5);
/* The same with an edit that replaces the span. */
void parse_fail_fix(Parser *p, DiagCode code, Span span, const char *fix, const char *label, const char *fmt, ...)
    TW_PRINTF(6, 7);
void parse_expected(Parser *p, const char *what); /* "expected WHAT, found ..." */
Span token_span(const Parser *p);
const char *token_show(Parser *p, const Token *token);
void advance(Parser *p);          /* a `//` that follows is a comment */
void advance_operand(Parser *p);  /* a `//` that follows may divide */
void settle_comment(Parser *p);   /* after an operand: a `//` left over is a comment */
bool at_line_end(const Parser *p);
bool at_word(const Parser *p, Word word);
bool accept_token(Parser *p, TokenKind kind);
bool accept_word(Parser *p, Word word);      /* and what must follow it, see join_line */
bool accept_last_word(Parser *p, Word word); /* nothing need follow */
bool expect(Parser *p, TokenKind kind);
bool expect_word(Parser *p, Word word, const char *what);
void join_line(Parser *p); /* something must follow: goes on in the next line if need be */
Token peek(const Parser *p);
const char *take_name(Parser *p, Span *span); /* reads a NAME; "" on failure */

/* parse_expr.c */
Expr *parse_expr(Parser *p);
Expr *parse_operand(Parser *p);    /* an expression without `and`, `or`, `not` outside of brackets */
Expr *parse_reference(Parser *p);  /* a name with indices, .T or .shared behind it */
Expr *parse_item(Parser *p);       /* an expression, a range or ... */
/* Reads items up to the closing token, which is read too. */
Exprs parse_items(Parser *p, TokenKind close);
Expr *parse_prose(Parser *p);      /* the rest of the line as EXPR_WORDS */

/* parse_stmt.c: one statement; more than one is added to out for `Param a, b`. */
void parse_statement(Parser *p, Block *out);
/* Comments passed since the last call, behind those of `before`; NULL: none. */
const char *take_comments(Parser *p, const char *before);
const char *take_tail(Parser *p); /* the same at the end of a block */
typedef enum BlockStop {
    BLOCK_END,      /* at `end` */
    BLOCK_ELSE,     /* at `else` or `elif`, where it may stand */
    BLOCK_OUTDENTED,/* behind an indented block that needs no `end` */
    BLOCK_OUTSIDE   /* at what cannot stand in a block: `end` is missing */
} BlockStop;
/* Reads statements up to, not over, what ends them. */
BlockStop parse_block(Parser *p, Block *out, Span header, bool may_else);
/* Another statement of the same kind, behind a comma; s, which is done, is added to out. */
Stmt *another_stmt(Parser *p, Stmt *s, Block *out);
void parse_stray(Parser *p); /* an `end` or `else` that belongs to nothing */
/* Reads the `end` of a block, or says that it is missing. */
void close_block(Parser *p, BlockStop stop, const char *what, Span opened);

/* parse_flow.c: Allocate, Copy, Compute, Reshape */
Stmt *parse_allocate(Parser *p, Stmt *s, Block *out);
Stmt *parse_copy(Parser *p, Stmt *s, Block *out);
Stmt *parse_compute(Parser *p, Stmt *s, Block *out);
Stmt *parse_reshape(Parser *p, Stmt *s, Block *out);
void parse_shape(Parser *p, Stmt *s);         /* "(" items ")" */
void parse_dtype(Parser *p, Stmt *s);         /* [":"] DTYPE, if one is there */

#endif
