/* tensors.c: tensors in a few words. */
#include "cli/tensors.h"

#include <math.h>

void keep_worst(double *worst, double value)
{
    if (!(value <= *worst))
        *worst = value;
}

uint64_t tensor_hash(uint64_t hash, const Tensor *t)
{
    const unsigned char *bytes = t->data;

    for (size_t i = 0; i < t->bytes; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static void measure(const Tensor *t, double *rms, double *largest)
{
    int64_t at[TENSOR_MAX_RANK] = {0}, n = tensor_count(t);
    double squares = 0;

    *largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double value = tensor_get(t, at);

        squares += value * value;
        keep_worst(largest, fabs(value));
        tensor_step(t, t->rank, at);
    }
    *rms = n ? sqrt(squares / (double)n) : 0;
}

static void put_dims(Str *out, const Tensor *t)
{
    for (int k = 0; k < t->rank; k++)
        str_printf(out, "%s%lld", k ? ", " : "", (long long)t->dims[k]);
}

void tensor_print(Str *out, const Tensor *t)
{
    double rms, largest;

    measure(t, &rms, &largest);
    str_printf(out, "%s (", t->name);
    put_dims(out, t);
    str_printf(out, ") %s  rms %.6g  largest %.6g  bits %016llx\n", dtype_name(t->dtype), rms,
               largest, (unsigned long long)tensor_hash(TENSOR_HASH_START, t));
}

void json_number(Str *out, const char *name, double value)
{
    if (isfinite(value))
        str_printf(out, ",\"%s\":%.6g", name, value);
    else
        str_printf(out, ",\"%s\":null", name);
}

void tensor_json(Str *out, const Tensor *t)
{
    double rms, largest;

    measure(t, &rms, &largest);
    str_add(out, "{\"name\":");
    str_json(out, t->name);
    str_printf(out, ",\"dtype\":\"%s\",\"dims\":[", dtype_name(t->dtype));
    put_dims(out, t);
    str_addc(out, ']');
    json_number(out, "rms", rms);
    json_number(out, "largest", largest);
    str_printf(out, ",\"bits\":\"%016llx\"}", (unsigned long long)tensor_hash(TENSOR_HASH_START, t));
}
