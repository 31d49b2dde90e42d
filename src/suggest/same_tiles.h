/* same_tiles.h: whether two texts in tile IR compute the same, tried on a small shape (for this folder only). */
#ifndef TW_SUGGEST_SAME_TILES_H
#define TW_SUGGEST_SAME_TILES_H

#include "suggest/proposal.h"

/* Whether the source with another text in place of its own gives, of the same random inputs, the same outputs but for
 * how sums are rounded. False too where that cannot be told with little work. */
bool same_tiles(Suggester *s, const char *text);

#endif
