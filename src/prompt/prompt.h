/* prompt.h: what a writer of TL is told: a stage's task as text.
 *
 * A prompt has everything that a model needs and nothing that it must know
 * beforehand: the language (from the tables that parser and manual are made of),
 * the target's facts, worked examples, the request, the form of the answer.
 * The same request always gives the same text.
 *
 * Vocabulary
 *   stage     what is asked for; a row of stages.def
 *   library   definitions that examples are drawn from. The answers of examples are
 *             made on the spot by the built-in stages, never of what is asked for
 *   token     what models count text in; here a guess that is rather too high
 *   room      tokens that prompt and answer may have together
 */
#ifndef TW_PROMPT_H
#define TW_PROMPT_H

#include "chain/chain.h"

enum { PROMPT_ROOM = 8192 };

typedef enum PromptStage {
#define PROMPT(id, name, form, unit, given, task) PROMPT_##id,
#include "prompt/stages.def"
#undef PROMPT
    PROMPT_STAGES
} PromptStage;

const char *prompt_stage_name(PromptStage stage);
bool prompt_stage_find(const char *name, PromptStage *stage);
/* "Operator" or "Kernel": the word that units of its answer begin with; "_block": what the names
 * of its functions end with. */
const char *prompt_unit(PromptStage stage);
/* Of files that hold its answer: "tl". */
const char *prompt_suffix(PromptStage stage);
TlForm prompt_form(PromptStage stage);

/* ---- examples -------------------------------------------------------------------- */

typedef struct Library Library;

/* sources: definitions, each with a heading that says what it is and has a line
 * `tw gen ... --set NAME=VALUE ...`. */
Library *library_new(Arena *arena, Source *const *sources, int n);

/* Sets what the heading's command sets. False: that is no setting. */
bool prompt_set_as_headed(Chain *chain, const Source *source);
/* A definition without its heading and what stands beside it, in canonical form; what
 * does not parse as it is. */
const char *prompt_definition(Arena *arena, const Source *source);

/* ---- a prompt ---------------------------------------------------------------------- */

typedef struct PromptRequest {
    const Target *target;
    DType dtype;
    const Settings *settings; /* what is compiled in; NULL: nothing */
    const char *text;         /* what is given: plain words, a definition, a sketch or code */
    Library *library;         /* NULL: no examples */
    int room;                 /* 0: PROMPT_ROOM */
    const char *kernel;       /* the one whose translation is asked for; NULL: all */
    /* After a wrong answer: what it was, and what is wrong with it; NULL: none. */
    const char *answer, *diagnostics;
} PromptRequest;

const char *prompt_write(Arena *arena, PromptStage stage, const PromptRequest *request);
/* A chain with its settings, for what is given, a source of this name. */
Chain *prompt_chain(Arena *arena, const PromptRequest *request, const char *name, Source **source);
/* A guess that is rather too high. */
int prompt_tokens(const char *text);

/* ---- translations ------------------------------------------------------------------- */

/* The kernels that are asked for one by one, for a question of all and its answer would not fit
 * into the room together; their number, or 0: all are asked for at once. */
int prompt_apart(Arena *arena, const PromptRequest *request, const char *const **kernels);
/* brief.c: the function of a block without its head, and with no more of its comments than says
 * which statement is meant. */
const char *prompt_brief(Arena *arena, const char *name, const char *block, const char *head);
/* Without comments but those that stand above functions. */
const char *prompt_terse(Arena *arena, const char *text);
/* A text of C++ with the heads that are left out in it. framed: its kernels, by chain_frame; shown: the
 * same text, with comments say; flat: all stays on the line where it stands. */
const char *prompt_unfold(Arena *arena, Chain *framed, const char *text, const char *shown, bool flat);

/* The parts, for tests. */
void prompt_language(Str *out, TlForm form);
void prompt_hardware(Str *out, TlForm form, const Target *target, DType dtype);
/* What a reader of TL must know: the statements and operations that are marked. */
void prompt_language_used(Str *out, const bool *stmts, const bool *ops);
/* translate.c: a translation as it is asked for. */
typedef struct PromptTranslation {
    const char *code;   /* of the kernels that are asked for */
    const char *heads;  /* how their functions begin; "": the code cannot be lowered */
    const char *ours;   /* what the built-in translator writes, in brief; NULL: it cannot */
    bool terse;         /* there is little room: without comments */
} PromptTranslation;
PromptTranslation prompt_translation(Arena *arena, const PromptRequest *request);
/* What a writer of CuTe C++ must know; the form of the answer. */
void prompt_cute(Str *out, const PromptRequest *request, const PromptTranslation *asked);
void prompt_cute_form(Str *out, bool terse);
/* cuda.c: stages that ask for CUDA C++; how its function begins; the form of the answer. */
bool prompt_is_cuda(PromptStage stage);
void prompt_cuda_head(Str *out, const PromptRequest *request);
void prompt_cuda_form(Str *out);
/* Worked examples in at most so many tokens, at most two. */
void prompt_examples(Str *out, PromptStage stage, const PromptRequest *request, int room);

#endif
