/* wire.h: how a question is put and its answer read; nothing here knows a network.
 *
 * Vocabulary
 *   wire    a form of questions and answers that several providers share
 *   reply   the answer to one attempt, as its bytes come: server-sent events, or one JSON
 *           text, of success or of failure
 *   word    a kind of error in a provider's own terms: "overloaded_error"
 */
#ifndef TW_MODEL_WIRE_H
#define TW_MODEL_WIRE_H

#include <jansson.h>

#include "model/client.h"
#include "model/sse.h"

typedef enum WireKind { WIRE_NONE, WIRE_OPENAI, WIRE_ANTHROPIC } WireKind;

/* What a provider's service does otherwise than others of its wire. */
enum {
    COMPLETION_TOKENS = 1, /* the bound of an answer is called max_completion_tokens */
    NO_SEED = 2,           /* refuses a seed */
    RANDOM_SEED = 4,       /* calls it random_seed */
    NO_STREAM_OPTIONS = 8, /* refuses to be told that it shall count; it does anyhow */
};

typedef struct Trouble {
    bool is;
    bool again; /* another attempt may help */
    DiagCode code;
    const char *what; /* without the key */
    const char *note; /* NULL: none */
} Trouble;

typedef enum ReplyForm { FORM_UNKNOWN, FORM_EVENTS, FORM_JSON, FORM_OTHER } ReplyForm;

typedef struct Wire Wire;

typedef struct Reply {
    Call *call;
    const Wire *wire;
    long status; /* of HTTP; known before the first byte */
    ReplyForm form;
    Sse events;
    Str body;     /* of what are no events */
    size_t bytes;
    json_t *tree; /* held here, so that it is let go even where memory runs out */
    bool closing; /* no more bytes come */
    bool ended;   /* the answer was said to end */
    bool cut;     /* it did because of a limit */
    Usage usage;
    Trouble trouble;
} Reply;

struct Wire {
    const char *path;
    const char *key_header; /* with what stands before the key */
    const char *header;     /* another one; NULL: none */
    void (*question)(const Call *call, Str *out);
    void (*event)(Reply *reply, const char *type, const json_t *data);
    void (*whole)(Reply *reply, const json_t *data);
};

extern const Wire wire_openai, wire_anthropic;
/* NULL for WIRE_NONE. */
const Wire *wire_of(WireKind kind);

/* ---- reply.c ------------------------------------------------------------------------- */

Reply reply_new(Call *call, const Wire *wire);
/* False: no more is wanted. */
bool reply_take(Reply *reply, const char *bytes, size_t len);
/* All bytes have come, or (broken) all that could. Without trouble, there is an answer. */
void reply_end(Reply *reply, bool broken);
void reply_free(Reply *reply);

/* What is no JSON for halves of characters in it, with U+FFFD in their place. */
const char *json_mended(Arena *arena, const char *text, size_t *len);

/* For wires: parts of the answer. */
void reply_text(Reply *reply, const json_t *text);
void reply_thought(Reply *reply, const json_t *text);
void reply_name(Reply *reply, const json_t *name);
/* value, if it is a count, into *count. */
void reply_count(Reply *reply, const json_t *value, int64_t *count);
/* Members of the question that all wires have: the name, the temperature. */
void wire_common(const Call *call, Str *out);
void wire_message(Str *out, const char *role, const char *text);
/* The seed, small enough for every service. */
int wire_seed(const Call *call);

/* ---- trouble.c ------------------------------------------------------------------------- */

/* The first trouble counts; the key is taken out of it. */
void reply_trouble(Reply *reply, DiagCode code, bool again, const char *note, const char *fmt, ...)
    TW_PRINTF(5, 6);
/* From a status that is no success, and a body that may say more. */
void trouble_status(Reply *reply, const json_t *body);
/* From an error in what began as a success. */
void trouble_error(Reply *reply, const json_t *body);
/* The model would not answer. */
void trouble_declined(Reply *reply, const char *why);

#endif
