/* honest.c: see honest.h. */
#include "gpu/honest.h"

enum { ROWS = 24, ALL_BELOW = 24 };

/* The largest error of few rows is a matter of luck, more than that of verify's many. */
static const double few_rows_bound = 3;

/* What a clock may run above its rating, and the host be late. */
static const double clock_slack = 0.9, host_factor = 4, host_slack_ms = 300;

/* ---- sets ----------------------------------------------------------------------------- */

bool honest_sets(Suspect *s, int wanted, const char **error)
{
    while (s->n < wanted) {
        Stand *set = &s->sets[s->n], *first = &s->sets[0];
        StandSpec spec = s->spec;

        spec.seed += (uint64_t)s->n * 7919;
        if (!stand_make(set, first->arena, first->call.module, first->def, &spec, error))
            return false;
        *error = NULL;
        s->n++;
        if (!stand_place(set, spec.placing))
            return false;
    }
    return true;
}

/* ---- a turn ----------------------------------------------------------------------------- */

/* The inputs of the next set become this one's: buffers stay, what is in them moves. */
static void go_round(Suspect *s)
{
    Tensor **inputs = s->sets[0].inputs;

    for (int k = 0; k + 1 < s->n; k++)
        s->sets[k].inputs = s->sets[k + 1].inputs;
    s->sets[s->n - 1].inputs = inputs;
    for (int i = 0; i < s->sets[0].abi->tensors.len; i++) {
        char *image = s->sets[0].buffers[i].image;
        Tensor *host = s->sets[0].hosts[i];

        if (s->sets[0].abi->tensors.data[i].written)
            continue;
        for (int k = 0; k + 1 < s->n; k++) {
            s->sets[k].buffers[i].image = s->sets[k + 1].buffers[i].image;
            s->sets[k].hosts[i] = s->sets[k + 1].hosts[i];
        }
        s->sets[s->n - 1].buffers[i].image = image;
        s->sets[s->n - 1].hosts[i] = host;
    }
}

/* Other numbers as likely as these: their signs are drawn anew. Indices stay. */
static void draw_signs(Suspect *s, Tensor *t)
{
    int size = dtype_bytes(t->dtype), n = 0;
    unsigned char *top = (unsigned char *)t->data + size - 1, *end = (unsigned char *)t->data + t->bytes;
    uint64_t bits = 0;

    for (; top < end; top += size, bits >>= 1, n--) {
        if (n == 0) {
            bits = rng_next(&s->rng);
            n = 64;
        }
        *top ^= (unsigned char)((bits & 1) << 7);
    }
}

static void freshen(Suspect *s, Stand *set)
{
    for (int i = 0; i < set->abi->tensors.len; i++) {
        const AbiTensor *t = &set->abi->tensors.data[i];

        if (t->written || t->workspace || !dtype_is_float(t->dtype))
            continue;
        draw_signs(s, set->hosts[i]);
        buffer_take(&set->buffers[i], set->hosts[i]);
    }
}

bool honest_prepare(Suspect *s)
{
    Gpu *gpu = s->sets[0].gpu;

    go_round(s);
    for (int k = 0; k < s->n; k++)
        freshen(s, &s->sets[k]);
    for (int k = 0; k < s->n; k++)
        for (int i = 0; i < s->sets[k].abi->tensors.len; i++)
            if (!buffer_reset(gpu, &s->sets[k].buffers[i]))
                return false;
    return gpu_wait(gpu, "copying to the GPU");
}

/* ---- what it left -------------------------------------------------------------------------- */

static const char *compare(const Suspect *s, const Stand *set)
{
    Arena *arena = arena_new(arena_heap(set->arena));
    const Def *def = set->def;
    const char *problem = NULL;

    for (int o = 0; o < def->outputs.len && !problem; o++) {
        RowList *rows = rows_choose(arena, set->outputs[o], ALL_BELOW, 64, ROWS, s->rng.state);
        const char *error;
        RefVerdict v;

        if (!ref_compare(arena, def, s->spec.bindings, s->spec.n_bindings, set->inputs, set->outputs, o, rows, few_rows_bound, &v, &error))
            problem = arena_strdup(set->gpu->arena, error);
        else if (!v.ok)
            problem = arena_printf(set->gpu->arena, "while it was timed, %s was wrong", def->outputs.data[o]->name);
    }
    arena_free(arena);
    return problem;
}

static bool check_one(const Suspect *s, const Stand *set, const char **problem)
{
    const char *found;

    if (!stand_fetch(set, set->hosts, &found))
        return false;
    *problem = found ? arena_printf(set->gpu->arena, "while it was timed, %s", found) : compare(s, set);
    return true;
}

bool honest_check(Suspect *s, bool all, const char **problem)
{
    int chosen = rng_below(&s->rng, s->n);

    *problem = NULL;
    for (int k = 0; k < s->n && !*problem; k++)
        if ((all || k == chosen) && !check_one(s, &s->sets[k], problem))
            return false;
    return true;
}

/* ---- what hardware can do ------------------------------------------------------------------- */

static double attribute(Gpu *gpu, int which)
{
    int value = 0;

    return gpu->cu.device_attribute(&value, which, gpu->device) == 0 ? value : 0;
}

/* Milliseconds of the products alone, by all tensor cores at the highest clock; 0: not known. */
static double products_ms(const Suspect *s)
{
    const Stand *set = &s->sets[0];
    const Target *t = target_of_gpu((int)attribute(set->gpu, CU_ATTR_CC_MAJOR), (int)attribute(set->gpu, CU_ATTR_CC_MINOR));
    double flops = ref_flops(set->arena, set->def, s->spec.bindings, s->spec.n_bindings);
    double each = t ? target_flops_per_clock(t, set->abi->dtype) : 0;
    double khz = attribute(set->gpu, CU_ATTR_CLOCK_KHZ) * set->gpu->sms * each;

    return khz > 0 ? flops / khz : 0;
}

/* Of writing the outputs to memory, where caches do not hold them; inputs may not all be read. */
static double writes_ms(const Suspect *s)
{
    const Stand *set = &s->sets[0];
    double khz = attribute(set->gpu, CU_ATTR_MEMORY_KHZ), bits = attribute(set->gpu, CU_ATTR_BUS_BITS), bytes = 0;

    for (int i = 0; i < set->abi->tensors.len; i++)
        if (stand_is_output(set, i))
            bytes += (double)set->hosts[i]->bytes;
    if (bytes * s->n < 2 * attribute(set->gpu, CU_ATTR_L2_BYTES) || khz * bits <= 0)
        return 0;
    return bytes / (2 * khz * bits / 8); /* twice a clock */
}

const char *honest_time(const Suspect *s, double ms)
{
    double products = products_ms(s) * clock_slack, writes = writes_ms(s) * clock_slack;
    Arena *arena = s->sets[0].gpu->arena;

    if (ms < products)
        return arena_printf(arena, "it cannot take %.4g ms: its products alone take %.4g ms on this GPU", ms, products);
    if (ms < writes)
        return arena_printf(arena, "it cannot take %.4g ms: writing its outputs alone takes %.4g ms on this GPU", ms, writes);
    return NULL;
}

const char *honest_wait(Suspect *s, double ms, int launches, double host_ms)
{
    if (host_ms <= host_factor * ms * launches + host_slack_ms)
        s->late = 0;
    else if (++s->late >= HONEST_TRIES)
        return arena_printf(s->sets[0].gpu->arena, "%d launches of %.4g ms kept the GPU busy for %.4g ms", launches, ms, host_ms);
    return NULL;
}
