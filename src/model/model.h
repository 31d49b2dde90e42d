/* model.h: a language model that is asked and answers.
 *
 * Vocabulary
 *   spec      how a user names a model:
 *               PROVIDER:NAME     a model of a provider's (providers.def)
 *               NAME              the same, where the name says whose it is
 *               exec:COMMAND      a program: the prompt on standard input, the answer on
 *                                 standard output
 *   provider  who answers, and in which form it is asked
 *   purse     what questions may cost and have cost; several models may share one
 *   watch     a function that is called while an answer is awaited, and may give up
 *
 * Nothing here remembers a conversation: each question carries all of its messages, so
 * who writes them down can ask again after an interruption.
 */
#ifndef TW_MODEL_H
#define TW_MODEL_H

#include "base/base.h"

typedef struct Model Model;

typedef enum ModelRole { MODEL_SYSTEM, MODEL_USER, MODEL_ASSISTANT } ModelRole;

/* System messages come first; a user's is the last. */
typedef struct ModelMessage {
    ModelRole role;
    const char *text;
} ModelMessage;

/* ---- options --------------------------------------------------------------------- */

/* In seconds; each is a limit of its own, and 0 is none. */
typedef struct ModelLimits {
    double connect; /* until there is a connection */
    double first;   /* from then until the first byte of an answer */
    double silence; /* between two bytes */
    double whole;   /* a question with all its attempts */
} ModelLimits;

typedef struct ModelPurse {
    double most_money;   /* US dollars; 0: any */
    int64_t most_tokens; /* read and written; 0: any */
    double money;        /* spent so far: set these to go on after an interruption */
    int64_t tokens;
} ModelPurse;

typedef enum ModelPhase {
    MODEL_CONNECTING,
    MODEL_WAITING,  /* for the first byte */
    MODEL_THINKING, /* reasoning comes */
    MODEL_ANSWERING,
    MODEL_PAUSING,  /* before another attempt */
} ModelPhase;

typedef struct ModelProgress {
    ModelPhase phase;
    int attempt;        /* from 1 */
    double seconds;     /* since the question was asked */
    double pause;       /* MODEL_PAUSING: seconds left */
    const char *reason; /* MODEL_PAUSING: why there is another attempt */
    size_t bytes;       /* of the answer so far, reasoning included */
} ModelProgress;

/* Called several times a second; false gives up (Ctrl-C). */
typedef bool ModelWatch(void *user, const ModelProgress *progress);

typedef struct ModelOptions {
    const char *base_url; /* NULL: the provider's; up to where /chat/completions begins */
    const char *key_file; /* NULL: the environment; else a file that only its owner reads */
    double temperature;   /* negative: the provider's default */
    int max_tokens;       /* of one answer; 0: the provider's default */
    bool has_seed;
    uint64_t seed;        /* of the model's dice, where it takes one, and of pauses */
    ModelLimits limits;
    int attempts;         /* of a question that fails for a while; at least 1 */
    double pause;         /* seconds before the second attempt; twice as long before the next */
    int continuations;    /* how often an answer that was cut is asked to go on */
    double price_in, price_out; /* US dollars for a million tokens; negative: as is known */
    ModelPurse *purse;    /* NULL: none */
    ModelWatch *watch;    /* NULL: none */
    void *user;           /* watch's */
} ModelOptions;

/* The defaults. */
ModelOptions model_options(void);

/* ---- providers --------------------------------------------------------------------- */

typedef struct ModelProvider {
    const char *name;
    int wire;              /* how it is asked (wire.h) */
    const char *address;   /* NULL: not over a network */
    const char *variables; /* of the environment, by space, for its key */
    const char *names;     /* how names of its models begin, by space; "": say the provider */
    unsigned flags;
} ModelProvider;

const ModelProvider *model_providers(int *n);
/* The variable for the key of a server at an address of the user's. */
extern const char MODEL_KEY_VARIABLE[];
/* The version of libcurl, or NULL and a sentence. */
const char *model_network(Arena *arena, const char **error);

/* ---- a model ----------------------------------------------------------------------- */

/* NULL with a diagnostic: a spec that names none, no key, nothing to reach it with. The
 * model lives in the arena; no network is touched until it is asked. */
Model *model_open(Arena *arena, const char *spec, const ModelOptions *options, Diags *diags);
/* Forgets the key and closes connections; NULL is fine. Also the way out after memory
 * was exhausted, where the arena still lives. */
void model_close(Model *model);

/* As the user wrote it; for people and transcripts. */
const char *model_spec(const Model *model);
/* Provider, name, address and parameters as a JSON object. Never a key. */
void model_json(const Model *model, Str *out);

/* ---- asking ------------------------------------------------------------------------- */

typedef enum ModelFinish {
    MODEL_DONE,     /* the model said all that it wanted */
    MODEL_CUT,      /* at a limit of tokens, and continuations were spent or not possible */
    MODEL_EMPTY,    /* it said nothing (TW1016) */
    MODEL_LONG,     /* it said more than is ever taken (TW1017) */
    MODEL_DECLINED, /* it would not answer (TW1020) */
    MODEL_BROKEN,   /* it came to no end: why stands in the diagnostics */
} ModelFinish;

const char *model_finish_name(ModelFinish finish);
/* Whether the model has had its say, be it nothing that can be used: asking the same again
 * would give the same. */
bool model_has_spoken(ModelFinish finish);

typedef struct ModelAnswer {
    const char *text;      /* what is to be parsed; never NULL */
    const char *reasoning; /* what was thought before; never NULL */
    ModelFinish finish;
    const char *name;      /* of the model, as the provider gives it; NULL: it does not */
    int64_t tokens_in, tokens_out; /* as the provider counts; where it does not, a guess: */
    bool tokens_guessed;
    bool has_cost;
    double cost;           /* US dollars */
    double seconds;
    int attempts;          /* more than one: there was trouble */
    int continuations;
} ModelAnswer;

/* Asks. The answer lies in the arena, and is filled in as far as it came where false is
 * returned, with a diagnostic that has no place. An answer that was cut is a true one
 * with a warning. */
bool model_ask(Model *model, Arena *arena, const ModelMessage *messages, int n,
               ModelAnswer *answer, Diags *diags);

/* ---- a provider of one's own --------------------------------------------------------- */

/* As model_ask. Text may hold thoughts in tags; they are taken apart afterwards. */
typedef bool ModelAsk(void *user, Arena *arena, const ModelMessage *messages, int n,
                      ModelAnswer *answer, Diags *diags);

/* A model whose answers come from a function: a replay, or a test's script. */
Model *model_of(Arena *arena, const char *spec, const ModelOptions *options, ModelAsk *ask,
                void *user);

#endif
