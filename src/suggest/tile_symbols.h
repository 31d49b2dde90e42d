/* tile_symbols.h: counters of loops and coordinates of the grid in a text in tile IR, and tiles that they go over
 * (for this folder only). */
#ifndef TW_SUGGEST_TILE_SYMBOLS_H
#define TW_SUGGEST_TILE_SYMBOLS_H

#include "suggest/tile_lines.h"

enum { MOST_SYMBOLS = 32 };

/* A loop's counter, or a coordinate of the grid. */
typedef struct Symbol {
    Span line; /* that of the loop, or of the kernel */
    const char *name, *lo, *hi;
} Symbol;

typedef struct Symbols {
    Symbol data[MOST_SYMBOLS];
    int n;
} Symbols;

/* The coordinate of a tensor that a place in the text is in. */
typedef struct Where {
    const char *dim;    /* what is declared, as `q_len`, or a number */
    const char *coords; /* all of the tensor's */
    long step;          /* elements from one tile to the next */
} Where;

/* The expression that a text begins with, up to one of these letters. */
const char *symbol_part(Suggester *s, const char *text, const char *until);

bool symbol_of_loop(Suggester *s, Span line, Symbol *symbol); /* `for j = LO:HI`; false: the line is no loop */
Symbols symbols_at(Suggester *s, Span line);                  /* those that are known there */

/* The coordinate that a symbol stands in at a place; false: it does not say there which tile it is. */
bool symbol_where(Suggester *s, Span use, const char *name, Where *where);
bool symbol_goes_over(Suggester *s, const Symbol *symbol, const Where *where); /* whether it takes each tile once */

#endif
