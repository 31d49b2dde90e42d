/* sse.h: server-sent events, from bytes that come in pieces.
 *
 *   event: delta            each line is a field; an empty line ends the event
 *   data: {"text":
 *   data: "x"}              its data: {"text":\n"x"}
 *   : a comment             nothing but a sign of life
 *
 * Lines end with LF, CR or CRLF, and pieces anywhere: what is taken does not depend on
 * where they were cut.
 */
#ifndef TW_MODEL_SSE_H
#define TW_MODEL_SSE_H

#include "base/base.h"

/* An event; data may hold any byte. False ends the reading. */
typedef bool SseTake(void *user, const char *type, const char *data, size_t len);

typedef struct Sse {
    SseTake *take;
    void *user;
    Str line, type, data;
    bool started;  /* what may be a byte order mark is behind */
    bool has_data;
    bool after_cr; /* a LF now belongs to the line end before */
} Sse;

Sse sse_new(Arena *arena, SseTake *take, void *user);
/* False: take ended it. */
bool sse_feed(Sse *sse, const char *bytes, size_t len);
/* The stream is over; an event without its empty line counts all the same. */
bool sse_end(Sse *sse);

#endif
