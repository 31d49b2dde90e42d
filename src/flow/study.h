/* study.h: how well authors do, over operators and modes.
 *
 * Vocabulary
 *   mode   which stages an author does one after the other: a row of modes.def
 *   cell   one operator, author and mode; a run with a transcript of its own
 *   row    what came of a cell
 */
#ifndef TW_STUDY_H
#define TW_STUDY_H

#include "flow/flow.h"

enum { STUDY_STAGES = 2 };

typedef enum StudyMode {
#define MODE(id, name, first, second, help) MODE_##id,
#include "flow/modes.def"
#undef MODE
    STUDY_MODES
} StudyMode;

const char *study_mode_name(StudyMode mode);
bool study_mode_find(const char *name, StudyMode *mode);
/* Its stages in order; how many. */
int study_mode_stages(StudyMode mode, PromptStage stages[STUDY_STAGES]);
/* Whether somebody built in could do it: it is TL that is written. */
bool study_mode_is_tl(StudyMode mode);

/* How often wrong answers had a diagnostic as their first. */
typedef struct StudyFailure {
    DiagCode code;
    int times;
} StudyFailure;

typedef struct StudyRow {
    const char *op, *author;
    StudyMode mode;
    bool answered;      /* the author said something to each prompt */
    bool first, ok;     /* right at the first answer of each stage; in the end */
    int answers, asked; /* asked: now, the others stood in the transcript */
    int64_t tokens_in, tokens_out;
    double cost, seconds, judged;
    double speed;       /* over that of the built-in stages' kernel; 0: not known */
    VEC(StudyFailure) failures;
} StudyRow;

/* PTX of what a cell came to, in a new chain that then has its ABI. NULL: it has come to nothing
 * that compiles. */
Source *study_ptx(Flow *flow, StudyMode mode, Chain *chain);

/* Runs a cell; the chain has the definition. The row's memory is the arena's. */
StudyRow study_run(Arena *arena, Flow *flow, StudyMode mode);

/* What seemed right was found wrong afterwards. */
void study_wrong(Arena *arena, StudyRow *row, DiagCode code);

/* All rows as CSV, and as a JSON array. */
void study_csv(Str *out, const StudyRow *rows, int n);
void study_json(Str *out, const StudyRow *rows, int n);
/* A line for each author and mode. */
void study_table(Str *out, const StudyRow *rows, int n);

#endif
