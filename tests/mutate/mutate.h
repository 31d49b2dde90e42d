/* mutate.h: mistakes that a writer of TL code makes, put into right programs.
 *
 * A program offers a number of mutations in a fixed order: every mutator, at
 * every place where it applies. Each is a change of the syntax tree; the mutant
 * is printed, so that what follows starts from its text.
 */
#ifndef TW_TESTS_MUTATE_H
#define TW_TESTS_MUTATE_H

#include "lang/lang.h"

typedef struct Mutant {
    const char *kind; /* "dropped Reshape"; one of a few dozen */
    const char *what; /* where and how */
    const char *text;
} Mutant;

/* The kinds of all mutations that the kernels in the text offer, in order. */
typedef struct Offers {
    VEC(const char *) kinds;
} Offers;
Offers *mutate_offers(Arena *arena, const char *text);
/* The mutant of the offer; false: it changes nothing. */
bool mutate_make(Arena *arena, const char *text, int offer, Mutant *mutant);

/* ---- for the files that mutate ---------------------------------------------------------- */

typedef struct Mutator {
    Arena *arena;
    Unit *unit; /* at hand */
    int wanted, offered; /* wanted < 0: none, the kinds go to `offers` */
    Offers *offers;
    bool done;        /* the wanted one was made */
    const char *kind, *what;
    VEC(const char *) counters, dims, sizes, tiles; /* names of the unit, by what they stand for */
} Mutator;

/* Whether the mutation at hand is the wanted one; then the caller makes it. */
bool mutate_offer(Mutator *m, const char *kind, const char *fmt, ...) TW_PRINTF(3, 4);
const char *mutate_line(Mutator *m, const Stmt *s); /* a statement's first line */

void mutate_blocks(Mutator *m, Block *block, Block *outer, int at); /* mutate_block.c: whole statements */
void mutate_stmt(Mutator *m, Stmt *s);                             /* mutate_stmt.c: parts of one */
void mutate_expr(Mutator *m, Expr **slot, const char *kind);       /* mutate_expr.c */

#endif
