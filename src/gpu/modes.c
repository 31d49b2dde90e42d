/* modes.c: on the default stream, on a stream, as a captured graph, two at once.
 *
 * Whatever way a program is launched, its outputs have the same bits, or where blocks add
 * in any order nearly the same numbers.
 */
#include "gpu/modes.h"

#include <math.h>

static bool run_default(Stand *s)
{
    return gpu_launch(&s->call, NULL);
}

/* Calls `use` with a stream of its own and waits for what was put into it. */
static bool with_stream(Stand *s, bool (*use)(Stand *s, void *stream))
{
    Driver *cu = &s->gpu->cu;
    void *stream;
    if (!gpu_ok(s->gpu, cu->stream_create(&stream, CU_STREAM_NON_BLOCKING), "making a stream"))
        return false;
    bool ok = use(s, stream) && gpu_wait_stream(s->gpu, stream, "running on a stream");
    cu->stream_destroy(stream);
    return ok;
}

static bool use_stream(Stand *s, void *stream)
{
    return gpu_launch(&s->call, stream);
}

static bool run_stream(Stand *s)
{
    return with_stream(s, use_stream);
}

/* ---- a graph ------------------------------------------------------------------------ */

static bool capture(Stand *s, void *stream, void **graph)
{
    Driver *cu = &s->gpu->cu;
    *graph = NULL;
    if (!gpu_ok(s->gpu, cu->capture_begin(stream, CU_CAPTURE_RELAXED),
                "beginning to capture a graph"))
        return false;
    bool launched = gpu_launch(&s->call, stream);
    int status = cu->capture_end(stream, graph);
    return launched && gpu_ok(s->gpu, status, "capturing a graph");
}

/* Replays twice: outputs depend on nothing that the first replay left behind. */
static bool replay(Stand *s, void *stream, void *exec)
{
    Driver *cu = &s->gpu->cu;
    for (int i = 0; i < 2; i++)
        if (!gpu_ok(s->gpu, cu->graph_launch(exec, stream), "launching a graph"))
            return false;
    return gpu_wait_stream(s->gpu, stream, "running a graph");
}

static bool use_graph(Stand *s, void *stream)
{
    Driver *cu = &s->gpu->cu;
    void *graph, *exec = NULL;
    bool ok = capture(s, stream, &graph) &&
              gpu_ok(s->gpu, cu->graph_instantiate(&exec, graph, 0), "making a graph executable") &&
              replay(s, stream, exec);
    if (exec)
        cu->graph_exec_destroy(exec);
    if (graph)
        cu->graph_destroy(graph);
    return ok;
}

static bool run_graph(Stand *s)
{
    return with_stream(s, use_graph);
}

/* ---- two at once -------------------------------------------------------------------- */

static Tensor **new_outputs(const Stand *s)
{
    Tensor **to = arena_array(s->arena, Tensor *, s->abi->tensors.len + 1);
    const char *error;
    for (int i = 0; i < s->abi->tensors.len; i++) {
        const Tensor *like = s->hosts[i];
        if (stand_is_output(s, i))
            to[i] = tensor_new(s->arena, like->name, like->dtype, like->rank, like->dims, &error);
    }
    return to;
}

/* Whether two runs that add in other orders may have given these: they differ by little
 * beside the largest number. */
static bool is_near(const Tensor *a, const Tensor *b)
{
    int64_t at[TENSOR_MAX_RANK] = {0};
    double largest = 0, apart = 0;
    if (tensor_count(a) == 0)
        return true;
    do {
        double x = tensor_get(a, at), y = tensor_get(b, at);
        if (isfinite(x))
            largest = fmax(largest, fabs(x));
        if (x != y && !(isnan(x) && isnan(y)))
            apart = isfinite(x - y) ? fmax(apart, fabs(x - y)) : INFINITY;
    } while (tensor_step(a, a->rank, at));
    return apart <= largest / 64;
}

static bool is_same(const Stand *s, const Tensor *a, const Tensor *b)
{
    return memcmp(a->data, b->data, a->bytes) == 0 || (s->abi->unordered && is_near(a, b));
}

/* The twin's outputs against this stand's, which a run before this one fetched. */
static bool check_twin(Stand *s, Stand *twin)
{
    Tensor **to = new_outputs(s);
    const char *problem;
    if (!stand_fetch(twin, to, &problem))
        return false;
    for (int i = 0; i < s->abi->tensors.len && !problem; i++)
        if (to[i] && !is_same(s, to[i], s->hosts[i]))
            problem = "the other of two launches gave something else";
    return problem ? gpu_fail(s->gpu, "%s", problem) : true;
}

/* Several launches each, so that they really overlap. */
static bool launch_both(Stand *s, Stand *twin, void *a, void *b)
{
    for (int i = 0; i < 4; i++)
        if (!gpu_launch(&s->call, a) || !gpu_launch(&twin->call, b))
            return false;
    return gpu_wait(s->gpu, "running two launches at once");
}

static bool run_pair(Stand *s)
{
    Driver *cu = &s->gpu->cu;
    void *a = NULL, *b = NULL;
    Stand twin;
    bool ok = stand_twin(&twin, s) &&
              gpu_ok(s->gpu, cu->stream_create(&a, CU_STREAM_NON_BLOCKING), "making a stream") &&
              gpu_ok(s->gpu, cu->stream_create(&b, CU_STREAM_NON_BLOCKING), "making a stream") &&
              launch_both(s, &twin, a, b) && check_twin(s, &twin);
    if (a)
        cu->stream_destroy(a);
    if (b)
        cu->stream_destroy(b);
    stand_free(&twin);
    return ok;
}

const Mode *modes_all(void)
{
    static const Mode modes[] = {
        {"run again", run_default},
        {"on a stream", run_stream},
        {"as a CUDA graph", run_graph},
        {"two at once", run_pair},
        {NULL, NULL},
    };
    return modes;
}
