/* client.h: what the files of this folder share.
 *
 * Vocabulary
 *   call     one question while it is asked: its clock, its attempts, what came so far
 *   attempt  a question put once; over a network it may fail for a while
 *   turn     a question, or a request to go on with an answer that was cut
 *   trouble  why an attempt failed, and whether another may help
 *   secret   a key; never printed, and taken out of whatever a server echoes
 */
#ifndef TW_MODEL_CLIENT_H
#define TW_MODEL_CLIENT_H

#include <signal.h>

#include "model/curl.h"
#include "model/model.h"

enum { ANSWER_LIMIT = 16 << 20 }; /* bytes; no honest answer is longer */

/* What an attempt used. */
typedef struct Usage {
    int64_t in, out;
    bool counted; /* by the provider */
    bool has_cost;
    double cost;
} Usage;

typedef struct Call {
    Model *model;
    Arena *arena; /* of the answer */
    Diags *diags;
    const ModelMessage *messages;
    int n;
    ModelAnswer *answer;
    double started; /* clock_seconds */
    double heard;   /* when the last byte came; before the first, when it was asked */
    bool begun;     /* a byte of an answer came */
    ModelProgress progress;
    Str text, reasoning;
} Call;

/* A program that answers. It stands in the model, so that it is ended even where memory
 * ran out in between. */
typedef struct Child {
    int pid;          /* and its process group; 0: none */
    int in, out, err; /* our ends of its pipes; -1: closed */
} Child;

#define CHILD_NONE ((Child){0, -1, -1, -1})

typedef struct Secret {
    char *text;       /* NULL: none */
    const char *from; /* the variable or file that held it */
} Secret;

/* A provider over a network; what libcurl holds is let go by net_end. */
typedef struct Net {
    bool loaded;
    Curl curl;
    void *multi, *easy, *headers;
    const char *url;
    bool own_address; /* --base-url: not where the provider's key belongs */
    Secret secret;
    Rng rng;
} Net;

struct Model {
    Arena *arena;
    const char *spec;
    ModelOptions options;
    const ModelProvider *provider; /* NULL: a script */
    const char *name;              /* what stands behind the provider in the spec */
    bool (*ask)(Call *call);
    Child child;
    Net net;
    ModelAsk *script;              /* model_of's */
    void *user;
};

/* Records a diagnostic without a place; false. */
bool call_fail(Call *call, DiagCode code, const char *note, const char *fmt, ...) TW_PRINTF(4, 5);
/* Bytes of an answer came. */
void call_heard(Call *call, size_t bytes);
/* Tells the watch, and looks at the clock. False, with a diagnostic: it was given up,
 * or took too long. */
bool call_goes_on(Call *call);
/* False, with a diagnostic: the purse is empty. */
bool call_may_spend(Call *call);
/* Whether the purse has more than the question costs. */
bool call_has_left(const Call *call);
/* How long an answer may be for the options and what is left; 0: no bound. */
int64_t call_most_tokens(const Call *call);
/* Adds to the answer and to the purse. */
void call_spend(Call *call, const Usage *usage);
/* Where nobody counted: of the messages, and of so many bytes of an answer. */
Usage call_guess(const Call *call, size_t bytes);

/* think.c: adds bytes of an answer; a NUL, which ends text everywhere else, as U+FFFD. */
void text_add(Str *out, const char *bytes, size_t len);

/* model.c: a diagnostic without a place, whatever is being read otherwise. */
Diag *model_record(Diags *diags, DiagCode code, const char *message);

/* exec.c */
bool exec_ask(Call *call);
void exec_end(Child *child);

/* net.c: several attempts at each turn. */
bool net_open(Model *model, Diags *diags);
bool net_ask(Call *call);
void net_end(Net *net);

/* key.c: from the file that the options name, or the environment; true with no text where
 * none is needed. */
bool key_find(Model *model, Diags *diags);
void key_forget(Secret *secret);
/* The text without the key. */
const char *key_redact(Arena *arena, const Secret *secret, const char *text);

/* url.c: where questions may go; NULL, or what is wrong with an address. */
const char *url_problem(const char *url);
bool url_is_loopback(const char *url);
bool url_same_server(const char *a, const char *b);

/* quiet.c: SIGPIPE held back, so that who reads no more is an error and not the end. */
void quiet_begin(sigset_t *before);
void quiet_end(const sigset_t *before);

/* think.c: takes thoughts in tags out of text. */
void think_split(Arena *arena, const char *text, const char **answer, const char **reasoning);

#endif
