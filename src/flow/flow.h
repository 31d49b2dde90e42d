/* flow.h: the workflow: stages done by authors, each answer checked and executed.
 *
 *   request ─► definition ─► sketch ─► code ─► tile IR ─► PTX
 *       define       sketch      reason        translate
 *                    └────── code ──────┘
 *
 * A stage is a function from text to text. Its author is built in, or a model, which is
 * told its task (src/prompt) and whose answer is text that anybody may have written: a
 * block is taken from it by fixed rules, parsed, checked, and executed on small shapes
 * against the definition. What is wrong goes back to the model as the checker's own
 * diagnostics, as often as rounds allow.
 *
 * Vocabulary
 *   step        one answer: asked for, taken, judged
 *   round       the how manieth answer of a stage, from 1
 *   piece       the translation of one kernel, where all at once would be too long to ask for
 *   transcript  a folder that holds all steps of a run, from which it is gone on with,
 *               or played again
 */
#ifndef TW_FLOW_H
#define TW_FLOW_H

#include "chain/small.h"
#include "emu/emu.h"
#include "foreign/foreign.h"
#include "model/model.h"
#include "prompt/prompt.h"

enum { FLOW_ROUNDS = 3 };

/* What a GPU says of a kernel, where there is one. */
typedef struct FlowMeasured {
    enum { FLOW_UNTRIED, FLOW_RIGHT, FLOW_WRONG } verdict; /* untried: no GPU, or it was interrupted */
    double ms, built_in_ms; /* of a launch; of the built-in stages' kernel beside it; 0: not known */
    char gpu[128], problem[512];
} FlowMeasured;

typedef struct FlowStep {
    PromptStage stage;
    int round;
    const char *kernel;  /* whose translation is asked for; NULL: all */
    bool asked;          /* of a model now; false: the answer stood in the transcript */
    const char *author;  /* "builtin", or the model's spec */
    const char *prompt;  /* NULL: of a built-in stage */
    ModelAnswer answer;
    Source *text;        /* what was taken from it; NULL: nothing */
    Diags *diags;        /* what is wrong with it */
    double judged;       /* seconds that the judgement took */
    const FlowMeasured *measured; /* NULL: on no GPU */
    bool ok;
} FlowStep;

/* Told of each answer when it is judged. */
typedef void FlowTell(void *user, const FlowStep *step);

/* What makes PTX of C++ that anybody may have written, without believing it. The source is the
 * answer; entry: our own text behind it, which defines the kernel. NULL: diagnostics. */
typedef struct FlowCompiler {
    const char *(*compile)(void *user, Arena *arena, const Source *answer, const char *entry, const char *name,
                           const Target *target, Diags *diags);
    void *user;
} FlowCompiler;

/* Verifies and times PTX, launched as the chain's ABI says, without believing it. */
typedef struct FlowGpu {
    FlowMeasured (*measure)(void *user, Chain *chain, const char *ptx);
    void *user;
} FlowGpu;

typedef struct FlowOptions {
    Model *by[PROMPT_STAGES]; /* NULL: the built-in stage */
    int rounds;               /* at least 1 */
    bool execute;             /* what built-in stages write is executed as well */
    uint64_t seed;            /* of random inputs */
    double bound;             /* largest error, over that of a plain implementation */
    Library *library;         /* NULL: prompts have no examples */
    const FlowCompiler *compiler; /* of CUDA; NULL: there is nothing to compile with */
    const char *folder;       /* where the transcript goes; NULL: nowhere */
    const ForeignTools *tools; /* what compiles what a model translates */
    const FlowGpu *gpu;       /* what runs that; NULL: the emulator has the last word */
    FlowTell *tell;           /* NULL: nobody */
    bool (*stopped)(void);    /* the user wants no more: an answer that is judged is not judged to its end, and not counted */
    void *user;
} FlowOptions;

/* What came of a translation that is right. */
typedef struct FlowTranslated {
    const char *ptx, *text;  /* without the launch ABI; the C++ with includes and entries */
    const int64_t *shared_bytes; /* by kernel */
    FlowMeasured measured;
} FlowTranslated;

/* A piece that is right. */
typedef struct FlowPiece {
    const char *kernel;
    const Source *text;
    ForeignText clean;
} FlowPiece;

typedef struct Flow {
    Arena *arena;
    Chain *chain;             /* that goes on with what was written */
    FlowOptions options;
    VEC(FlowStep) steps;
    VEC(FlowPiece) pieces;
    FlowTranslated translated;
    const char *failure;      /* NULL, or why the last function failed without a diagnostic */
} Flow;

Flow *flow_new(Chain *chain, const FlowOptions *options);
/* Begins a transcript, or goes on with one of the same run. request: all that the run
 * depends on, as JSON. False: diagnostics were recorded with the chain. */
bool flow_begin(Flow *flow, const char *request);
/* Has the stage done. Of what a model wrote chain->sketch and chain->code become it (of a
 * translation chain->cute, chain->ptx and chain->abi);
 * define makes the source that chain_define then reads. False: diagnostics of the last
 * answer were recorded with the chain, or flow->failure is a sentence. */
bool flow_stage(Flow *flow, PromptStage stage, const char *given, Source **definition);
/* Ends the transcript with what came of the run, as JSON: a file result.json. */
bool flow_end(Flow *flow, bool ok, double seconds);

/* ---- the parts ---------------------------------------------------------------------- */

/* extract.c: the block of an answer that holds units of this word; NULL with a
 * diagnostic: there is none, or it is no text. */
Source *flow_extract(Arena *arena, const char *name, const char *unit, const char *answer, size_t len, Diags *diags);

/* judge.c: whether a text is what the stage asks for. Its diagnostics go to `diags`. like:
 * settings, target, and (but for define) the definition that it must agree with. */
bool flow_judge(const Flow *flow, PromptStage stage, const Source *text, Diags *diags);

/* translate.c: C++ to PTX that computes the definition; what came of it goes to *made. like: as
 * above, and the code. kernel: whose translation it is, beside flow->pieces and, of kernels that
 * have none yet, the built-in translator's; NULL: it is all. */
bool flow_judge_translation(const Flow *flow, const char *kernel, const Source *text, FlowTranslated *made, Diags *diags);
/* A piece that was judged right is kept for the others. */
void flow_keep_piece(Flow *flow, const char *kernel, const Source *text);
/* {"ok":true,"gpu":"NVIDIA H200","ms":0.12,"built_in_ms":0.1} */
void flow_measured_json(Str *out, const FlowMeasured *measured);
/* "0.12 ms on NVIDIA H200, 0.83 of the built-in kernel's speed" */
const char *flow_measured_text(Arena *arena, const FlowMeasured *measured);
/* The built chain goes on with it. False: diagnostics of the chain. */
bool flow_adopt_translation(Flow *flow);
/* cuda.c: the same for CUDA C++ that was written straight from the definition. The arena is dropped
 * afterwards. */
bool flow_judge_cuda(const Flow *flow, Arena *arena, const Source *text, Diags *diags);
/* Its PTX, behind its ABI, which a new chain then has. NULL: diagnostics. */
Source *flow_cuda_ptx(const Flow *flow, Chain *chain, const Source *text, Diags *diags);
/* Guards, compiles and audits it (src/foreign). */
FlowCompiler flow_cuda_compiler(ForeignTools *tools);

/* execute.c: executes chain->tile on small shapes against chain->def. */
bool flow_execute(Chain *chain, const SmallOptions *trial, Span where, Diags *diags);
/* The same of PTX, launched as chain->abi says, by the emulator. */
bool flow_emulate(Chain *chain, const EmuModule *module, const Source *ptx, const SmallOptions *trial, Diags *diags);
/* Whether the definition gives numbers at all. */
bool flow_evaluate(Chain *chain, const SmallOptions *trial, Diags *diags);

/* transcript.c: files of a step; all but the answer's are for people. */
bool transcript_begin(Flow *flow, const char *request);
/* The answer to this prompt, where the transcript has it. */
bool transcript_find(Flow *flow, PromptStage stage, int round, const char *prompt, ModelAnswer *answer);
bool transcript_answer(Flow *flow, const FlowStep *step);
bool transcript_verdict(Flow *flow, const FlowStep *step);
bool transcript_end(Flow *flow, bool ok, double seconds);
/* A model that answers as a transcript does; NULL: it has no answer for the stage. */
Model *transcript_model(Arena *arena, const char *spec, const char *folder, PromptStage stage);

#endif
