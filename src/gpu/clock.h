/* clock.h: the clock at which the multiprocessors ran between two marks, as they
 * count it themselves. */
#ifndef TW_GPU_CLOCK_H
#define TW_GPU_CLOCK_H

#include "gpu/driver.h"

typedef struct Clock {
    Gpu *gpu;
    void *module, *function;
    uint64_t memory; /* of the marks; 0: there is no clock */
} Clock;

/* target: of a kernel that this GPU runs. Where the probe does not work there is
 * no clock, and everything else goes on. */
void clock_open(Clock *clock, Gpu *gpu, const Target *target);
/* Queues a mark behind what was launched: 0 the first, 1 the second. */
void clock_mark(const Clock *clock, int which);
/* MHz between the marks, once both are passed; waits for them. 0: not known. */
double clock_mhz(const Clock *clock);
void clock_close(Clock *clock);

#endif
