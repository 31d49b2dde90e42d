/* client.h: what the files of this folder share.
 *
 * Vocabulary
 *   wire     how a question is put and an answer read: one row a kind of provider
 *   call     one question while it is asked: its clock, its attempts, what came so far
 */
#ifndef TW_MODEL_CLIENT_H
#define TW_MODEL_CLIENT_H

#include "model/model.h"

enum { ANSWER_LIMIT = 16 << 20 }; /* bytes; no honest answer is longer */

typedef struct Call {
    Model *model;
    Arena *arena; /* of the answer */
    Diags *diags;
    const ModelMessage *messages;
    int n;
    ModelAnswer *answer;
    double started;  /* clock_seconds */
    double heard;    /* when the last byte came; before the first, when it was asked */
    ModelProgress progress;
    Str text, reasoning;
} Call;

/* A program that answers. It stands in the model, so that it is ended even where memory
 * ran out in between. */
typedef struct Child {
    int pid;               /* and its process group; 0: none */
    int in, out, err;      /* our ends of its pipes; -1: closed */
} Child;

#define CHILD_NONE ((Child){0, -1, -1, -1})

struct Model {
    Arena *arena;
    const char *spec;
    ModelOptions options;
    const char *provider; /* "exec" */
    const char *name;     /* what stands behind the provider in the spec */
    bool (*ask)(Call *call);
    Child child;          /* exec's */
    ModelAsk *script;     /* model_of's */
    void *user;
};

/* Records a diagnostic without a place; false. */
bool call_fail(Call *call, DiagCode code, const char *note, const char *fmt, ...) TW_PRINTF(4, 5);
/* Bytes came. False, with a diagnostic: the answer is longer than any should be. */
bool call_heard(Call *call, size_t bytes);
/* Tells the watch, and looks at the clock. False, with a diagnostic: it was given up,
 * or took too long. */
bool call_goes_on(Call *call);

/* exec.c */
bool exec_ask(Call *call);
void exec_end(Child *child);

/* think.c: takes thoughts in tags out of text. */
void think_split(Arena *arena, const char *text, const char **answer, const char **reasoning);

#endif
