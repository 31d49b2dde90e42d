/* compare.c: how far one tensor is from another.
 *
 * The relative Frobenius norm sees an error everywhere, the maximum one
 * anywhere. What is not finite is counted apart, or it would swallow both.
 */
#include "data/tensor.h"

#include <math.h>

void distance_start(Distance *d)
{
    memset(d, 0, sizeof *d);
}

static void remember(Distance *d, const Tensor *t, const int64_t *at)
{
    for (int k = 0; k < t->rank; k++)
        d->worst[k] = at[k];
}

void distance_add(Distance *d, const Tensor *t, const int64_t *at, double got, double want)
{
    double difference = fabs(got - want);

    d->compared++;
    if (!isfinite(got) || !isfinite(want)) {
        if (got != want && d->not_finite++ == 0) /* a NaN equals nothing */
            remember(d, t, at);
        return;
    }
    d->sum_difference += difference * difference;
    d->sum_want += want * want;
    if (fabs(want) > d->max_want)
        d->max_want = fabs(want);
    if (difference > d->max_abs) {
        d->max_abs = difference;
        if (d->not_finite == 0)
            remember(d, t, at);
    }
}

void distance_finish(Distance *d)
{
    if (d->sum_difference == 0)
        d->frobenius = 0;
    else
        d->frobenius = d->sum_want > 0 ? sqrt(d->sum_difference / d->sum_want) : INFINITY;
}
