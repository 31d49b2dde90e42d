/* tile_lines.h: a text in tile IR line by line, each an operation or the end of a region (for this folder only). */
#ifndef TW_SUGGEST_TILE_LINES_H
#define TW_SUGGEST_TILE_LINES_H

#include "suggest/words.h"

const char *lines_text(Suggester *s, int from, int to); /* what stands between two offsets */

Span lines_at(const Suggester *s, int offset);
/* The one behind a line, or before it; false: there is none. */
bool lines_next(const Suggester *s, Span *line);
bool lines_before(const Suggester *s, Span *line);
Span lines_whole(Span line); /* with its end */

int lines_indent(const Suggester *s, Span line); /* blanks before its words */
const char *lines_said(Suggester *s, Span line); /* from its first word on */
bool lines_opens(const Suggester *s, Span line); /* a region */
Span lines_close(Suggester *s, Span line);       /* that of the `}` of what a line opens, or the line itself */

Span lines_kernel(Suggester *s, Span line);     /* that of the `kernel` that a line is in */

/* The next word from `at` on, within the line: a name, a number, or a value with its `%`; false: none. */
bool lines_word(const Suggester *s, Span line, int at, Span *word);

Words lines_values(Suggester *s, Span line); /* all that it says */
bool lines_says(Suggester *s, Span line, const char *value);
bool lines_defines(Suggester *s, Span line, const char *value); /* gives it its meaning */
const char *lines_value(Suggester *s, Span line, int n);        /* the n-th from 0 on; NULL: fewer */

/* The nearest line that defines a value; `step`: lines_next or lines_before. */
bool lines_defining(Suggester *s, Span *line, const char *value, bool step(const Suggester *s, Span *line));

#endif
