/* report.h: what a benchmark measured, as data, and what a person looks at: a
 * table in the terminal, one self-contained HTML page. docs/bench.md describes
 * the JSON.
 *
 * Vocabulary
 *   results     one run of a benchmark: conditions, contestants, cases
 *   contestant  one of those that were timed beside each other; the first is
 *               ours, the others are its peers
 *   case        cells that differ in one thing, the axis: a chart
 *   cell        one shape with one kind of data
 *   timed       one contestant in one cell: a time and a clock for each round
 *   work        floating-point operations of a launch, or the bytes that it moves
 *   ratio       the rate of ours over that of a peer: the median of the rounds' own
 *   use         rate over what the tensor cores could do at the clock of the moment
 */
#ifndef TW_REPORT_H
#define TW_REPORT_H

#include "base/base.h"

typedef enum Work { WORK_FLOPS, WORK_BYTES } Work;

/* What follows from the times; 0: not known. */
typedef struct Figures {
    double ms, least, most; /* the median, and the range of the rounds */
    double rate;            /* 1e12 operations or 1e9 bytes a second */
    double mhz;             /* the median */
    double use;             /* of 1 */
    double ratio;           /* of a peer: ours over it */
    double ratio_least, ratio_most;
} Figures;

typedef struct Timed {
    int contestant;
    int rounds;
    double *ms;  /* a launch, by round */
    double *mhz; /* by round; 0: not known. NULL: of none */
    double work; /* of a launch */
    double flops_per_clock; /* 0: as the results say */
    Figures figures;
} Timed;

typedef struct Cell {
    bool numeric;      /* x says where on the axis; else only the text does */
    double x;
    const char *at;    /* "4096", "16384x1024" */
    const char *shape; /* NULL, or all of it: "batch=4 q_len=4096" */
    const char *data;  /* NULL: as the results say */
    const char *error; /* NULL, or why it was not timed */
    bool wrong;        /* what ours computed is wrong: its times count for nothing */
    VEC(Timed) timed;
} Cell;

typedef struct Case {
    const char *name, *axis;
    Work work;
    VEC(Cell) cells;
} Case;

typedef struct Contestant {
    const char *name, *label;
} Contestant;

typedef struct Fact {
    const char *name, *value;
    bool plain; /* a number or a truth value in JSON, not a string */
} Fact;

typedef struct Results {
    const char *benchmark;      /* its title */
    const char *commit, *date, *data; /* NULL: not said */
    int rounds;                 /* 0: not said */
    double flops_per_clock;     /* of the whole GPU's tensor cores; 0: not known */
    VEC(Fact) conditions;
    VEC(const char *) notes;
    VEC(Contestant) contestants;
    VEC(Case) cases;
} Results;

enum { REPORT_CONTESTANTS = 64, REPORT_ROUNDS = 100000 };

/* ---- results.c ---------------------------------------------------------------------- */

/* Text of whoever: what is no character, and control characters, directions of
 * writing among them, become U+FFFD. */
const char *report_text(Arena *arena, const char *text);
/* 512, 16k; else a few digits. */
const char *report_number(Arena *arena, double x);

/* The case of this name, made where there is none. */
Case *results_case(Arena *arena, Results *results, const char *name, const char *axis, Work work);
/* Computes every figure; to be called once all is in. */
void results_finish(Arena *arena, Results *results);
/* How many cells were not timed, or are wrong. */
int case_bad(const Case *c);
int results_bad(const Results *results);
const Timed *cell_timed(const Cell *cell, int contestant); /* NULL: not timed */
/* The geometric mean of the ratios to a peer, over so many cells; 0: over none. */
double case_mean(const Case *c, int peer, int *cells);
bool case_has(const Case *c, int contestant);
/* Whether some use is known. */
bool case_has_use(const Case *c);
/* Whether its cells lie along an axis of numbers, two at least. */
bool case_is_line(const Case *c);
const char *work_unit(Work work); /* "TFLOPS", "GB/s" */

/* ---- JSON (read.c, write.c) ----------------------------------------------------------- */

/* NULL: diagnostics (TW0904) were recorded. */
Results *results_read(Arena *arena, const Source *source, Diags *diags);
void results_json(const Results *results, Str *out);

/* ---- what a person looks at ----------------------------------------------------------- */

void results_table(Arena *arena, const Results *results, bool colour, Str *out); /* table.c */
void report_html(Arena *arena, Results *const *results, int n, Str *out);         /* html.c */

#endif
