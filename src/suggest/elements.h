/* elements.h: lines of a kernel that say what one thread does with elements (for this folder only).
 *
 * They are read as text, since most of them are no statements. Names of coordinates are told from names of values; elements
 * of tensors at these coordinates are tiles. */
#ifndef TW_SUGGEST_ELEMENTS_H
#define TW_SUGGEST_ELEMENTS_H

#include "suggest/cuts.h"
#include "suggest/forms.h"

enum { ELEMENTS_NAMES = 32, ELEMENTS_TEXT = 4096 /* characters of a formula */ };

typedef struct Named {
    const char *name, *text;
    int places; /* names of coordinates before it: it stands in so many loops */
} Named;

typedef struct Elements {
    Suggester *s;
    Cuts cuts;
    Named values[ELEMENTS_NAMES];       /* what a name stands for */
    const char *places[ELEMENTS_NAMES]; /* names of coordinates */
    int n_values, n_places;
    const char *read[ELEMENTS_NAMES];   /* tensors, in order */
    int n_read;
    const Stmt *output;
    const char *indent;
    Str body, stores;
    bool failed;
} Elements;

/* Where the declarations of a kernel stop, and where its own `end` stands, which braces may have taken for that of a
 * condition. */
int elements_begin(const Unit *unit);
int elements_end(const Suggester *s, int from);
/* A line without blanks, comments, types and what ends it. */
const char *elements_line(Suggester *s, int from, int to);
/* Whether a text has no names but those of coordinates, sizes and numbers that are assigned: as a guard of threads has. */
bool elements_of_places(const Elements *el, const char *text);
/* `NAME = TEXT`: a coordinate, or a value. */
void elements_note_value(Elements *el, const char *name, const char *text);
/* An expression of tiles: elements without their coordinates, names by what they stand for. */
const char *elements_of_tiles(Elements *el, const char *text);
/* Whether `i`, `i, j`, `i * N + j`, `i, 0` is the element at hand. */
bool elements_at_hand(const Elements *el, const Stmt *tensor, const char *inner);

#endif
