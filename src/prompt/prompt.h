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
    /* After a wrong answer: what it was, and what is wrong with it; NULL: none. */
    const char *answer, *diagnostics;
} PromptRequest;

const char *prompt_write(Arena *arena, PromptStage stage, const PromptRequest *request);
/* A guess that is rather too high. */
int prompt_tokens(const char *text);

/* The parts, for tests. */
void prompt_language(Str *out, TlForm form);
void prompt_hardware(Str *out, TlForm form, const Target *target, DType dtype);
/* What a reader of TL must know: the statements and operations that are marked. */
void prompt_language_used(Str *out, const bool *stmts, const bool *ops);
/* translate.c: what a writer of CuTe C++ must know; how each function begins, of the code that is
 * given (false: it cannot be lowered); the form of the answer. */
void prompt_cute(Str *out, const PromptRequest *request);
bool prompt_heads(Str *out, const PromptRequest *request);
void prompt_cute_form(Str *out);
/* cuda.c: stages that ask for CUDA C++; how its function begins; the form of the answer. */
bool prompt_is_cuda(PromptStage stage);
void prompt_cuda_head(Str *out, const PromptRequest *request);
void prompt_cuda_form(Str *out);
/* Worked examples in at most so many tokens, at most two. */
void prompt_examples(Str *out, PromptStage stage, const PromptRequest *request, int room);

#endif
