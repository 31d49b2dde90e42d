/* workflow.h: stages with authors, under a session's options.
 *
 *   --model SPEC       all stages          --sketch-by, --reason-by, --translate-by   one each
 *   --transcript DIR   where it is kept    --rounds N                 answers a stage
 */
#ifndef TW_WORKFLOW_H
#define TW_WORKFLOW_H

#include "cli/cli.h"
#include "flow/flow.h"

typedef struct Workflow {
    Session *s;
    Flow *flow;
    Model *models[PROMPT_STAGES]; /* one that does several stages stands there several times */
    bool asks;                    /* some stage is a model's */
    ForeignTools tools;           /* where a model translates */
    double started;
    FlowGpu gpu;                  /* what runs translations, where there is one */
    bool looked;
    Chain *built_in;              /* what they compete with; NULL where looked: nothing */
} Workflow;

/* Whether the command's file is a request in plain words. */
bool workflow_is_request(const Session *s);
/* Opens the models. NULL: *status says why. */
Workflow *workflow_new(Session *s, Chain *chain, int *status);
/* Begins or goes on with the transcript of what is made from a definition or a request
 * of this name. */
int workflow_begin(Workflow *w, const char *name, const char *text);
int workflow_stage(Workflow *w, PromptStage stage, const char *given, Source **definition);
/* Ends the transcript, and lets go of the models. */
int workflow_end(Workflow *w, int status);
/* A model, whose questions Ctrl-C ends from now on. NULL: said why. */
Model *workflow_model(Session *s, const char *spec);
/* What was answered before an interruption counts as paid for. */
void workflow_pay(Session *s, const FlowStep *step);
/* All that a run depends on, as JSON. */
const char *workflow_request(const Workflow *w, const char *text);
/* A name for files, made of the first words of a request. */
const char *workflow_slug(Arena *arena, const char *request);
/* [{"stage":"sketch","author":...,"round":...,"ok":...}, ...] */
void workflow_json(const Workflow *w, Str *out);

#endif
