/* tune_report.h: what a search found, for people and for programs. */
#ifndef TW_TUNE_REPORT_H
#define TW_TUNE_REPORT_H

#include "cli/tune_shapes.h"
#include "cli/tuned.h"
#include "tune/on_gpu.h"

typedef struct Tuning {
    const char *shape;
    double flops;
    TuneResult result;
    double regret;               /* untuned over tuned, timed anew; 0: not known */
    double untuned_ms, tuned_ms; /* of that */
    const char *problem;         /* why it is not known */
} Tuning;

typedef VEC(Tuning) Tunings;

void tune_print(Session *s, Str *out, const Tunings *done, const GpuInfo *info);
void tune_json(Str *out, const Tunings *done, const GpuInfo *info);
/* --list, --forget. The exit status. */
int tune_remembered(Session *s, const char *folder);

#endif
