/* test_postcheck.c: the online softmax that is checked after the fact, and that of bounded
 * scores which needs no maximum, give what the sequential step gives, whatever the data
 * and whatever is shown of it; and each is taken where it may be and nowhere else. */
#include "tails.h"

#include <math.h>

#include "pass/passes.h"

enum { ROWS = 64, WIDTH = 16, BLOCK = 32 };

/* ---- values that are revised, at the sequential level --------------------------------- */

#define REVISED_HEAD(kernel)                          \
    "program flow\n"                                  \
    "tensor X (32, 16) fp32 in\n"                     \
    "tensor Y (32, 16) fp32 out\n"                    \
    "\n"                                              \
    "kernel flow " kernel " specialized 1 {\n"        \
    "  %x = load X[0 : rows, 0 : cols] : fp32<32x16>\n"

/* A group of rows in which an element is 2 or more becomes 0; a warp has 16 rows. */
static const char ZEROED[] =
    "%y = revise %x where any %x >= 2 : fp32<32x16> {\n"
    "%z = subtract %x, %x : fp32<32x16>\n"
    "yield %z\n"
    "}\n"
    "store %y, Y[0 : rows, 0 : cols]\n";

static void run_revised(Arena *arena, const char *head, double large, bool first, bool second)
{
    const char *error = NULL;
    TileProgram *p = parse_tail(arena, head, ZEROED, "revised");
    Tensor *x = tensor_new(arena, "X", DT_F32, 2, (int64_t[]){32, 16}, &error);
    Tensor *y = tensor_new(arena, "Y", DT_F32, 2, (int64_t[]){32, 16}, &error);
    TileRun run = {.tensors = (Tensor *[]){x, y}};
    for (int i = 0; i < 32 * 16; i++) ((float *)x->data)[i] = 1;
    ((float *)x->data)[21 * 16 + 3] = (float)large;
    if (!tile_run(arena, p, &run, &error)) fail_msg("%s", error);
    assert_true((tensor_get(y, (int64_t[]){0, 0}) == 1) == !first);
    assert_true((tensor_get(y, (int64_t[]){15, 15}) == 1) == !first);
    assert_true((tensor_get(y, (int64_t[]){16, 0}) == 1) == !second);
    assert_true((tensor_get(y, (int64_t[]){31, 15}) == 1) == !second);
}

static void revised_by_groups(void **state)
{
    Fixture *f = *state;
    static const char *const heads[] = {
        REVISED_HEAD("grid(m: 1) warps 2"),
        REVISED_HEAD("grid(w: 2 within, m: 1) warps 4"), /* of which two hold these rows */
    };
    for (size_t i = 0; i < TW_COUNT(heads); i++) {
        run_revised(f->arena, heads[i], 1.99, false, false);
        run_revised(f->arena, heads[i], 2, false, true);
        run_revised(f->arena, heads[i], -3, false, false);
        run_revised(f->arena, heads[i], INFINITY, false, true);
        run_revised(f->arena, heads[i], NAN, false, true);
    }
    run_revised(f->arena, REVISED_HEAD("grid(m: 1) warps 1"), 2, true, true);
}

/* ---- flows ------------------------------------------------------------------------------ */

/* @ stands for the dtype of operands; what differs is put between the parts. */
typedef struct Flow {
    const char *what;
    const char *kernel; /* attributes; NULL: grid(m: 1) warps 4 specialized 1 */
    const char *start;  /* %M0 and %L0; NULL: nothing seen */
    const char *scores; /* makes %S1 of %S; NULL: a quarter of it, masked at the end */
    const char *more;   /* in the loop, before the yield */
    const char *tail;   /* NULL: the quotient and the log-sum-exp */
    bool fits;
    unsigned bounded; /* DTYPE bits: with such operands it has neither a maximum nor a check */
} Flow;

#define DTYPE(d) (1u << (d))

static const char HEAD[] =
    "program flow\n"
    "dim n in 0..2147483647\n"
    "tensor Q (64, 16) @ in\n"
    "tensor K (n, 16) @ in\n"
    "tensor V (n, 16) @ in\n"
    "tensor Sink (64, 1) fp32 in\n"
    "tensor O (64, 16) fp32 out\n"
    "tensor Y (64, 1) fp32 out\n"
    "\n";

static const char UNSEEN[] = "%M0 = fill -inf : fp32<64x1>\n%L0 = fill 0 : fp32<64x1>\n";

static const char LOOP[] =
    "%Q = load Q[0 : rows, 0 : cols] : shared @<64x16>\n"
    "%O0 = fill 0 : fp32<64x16>\n"
    "%c = fill 0.25 : fp32<1x1>\n"
    "%M, %L, %O, %Z = for j = 0:ceil(n / 32) carry (%M1 = %M0, %L1 = %L0, %O1 = %O0, %Z1 = %O0) {\n"
    "%K = load K[j * 32 : rows, 0 : cols] : shared @<32x16>\n"
    "%V = load V[j * 32 : rows, 0 : cols] : shared @<32x16>\n"
    "%S = gemm %Q, %K.T : fp32<64x32>\n";

static const char QUARTER[] =
    "%S0 = multiply %S, %c : fp32<64x32>\n"
    "%S1 = mask %S0 where j * 32 + col < n else -inf : fp32<64x32>\n";

static const char STEP[] =
    "%P, %M2, %L2, %alpha = softmax %S1, %M1, %L1 : fp32<64x32>, fp32<64x1>, fp32<64x1>, fp32<64x1>\n"
    "%R = reshape %P : @<64x32>\n"
    "%A = multiply %O1, %alpha : fp32<64x16>\n"
    "%O2 = gemm %R, %V, %A : fp32<64x16>\n";

static const char QUOTIENT[] =
    "%x = divide %O, %L else 0 : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n"
    "%y = log %L : fp32<64x1>\n%z = add %y, %M : fp32<64x1>\nstore %z, Y[0 : rows, 0 : cols]\n";

/* The sum only divides, so that weights need no maximum to be summed as they are rounded. */
static const char DIVIDED[] =
    "%x = divide %O, %L else 0 : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n"
    "%y = fill 1 : fp32<64x1>\nstore %y, Y[0 : rows, 0 : cols]\n";

static const Flow FLOWS[] = {
    {.what = "as it is", .fits = true},
    {.what = "causal, some rows see nothing", .fits = true,
     .scores = "%S0 = multiply %S, %c : fp32<64x32>\n"
               "%S1 = mask %S0 where j * 32 + col < n and j * 32 + col + 9 <= row else -inf : fp32<64x32>\n"},
    {.what = "a window, whose rows see nothing at first", .fits = true,
     .scores = "%S0 = multiply %S, %c : fp32<64x32>\n"
               "%S1 = mask %S0 where j * 32 + col < n and row <= j * 32 + col + 3 else -inf : fp32<64x32>\n"},
    {.what = "a cap on the scores", .fits = true, .tail = DIVIDED, .bounded = DTYPE(DT_BF16),
     .scores = "%cap = fill 40 : fp32<1x1>\n%t = divide %S, %cap : fp32<64x32>\n%u = tanh %t : fp32<64x32>\n"
               "%S0 = multiply %u, %cap : fp32<64x32>\n"
               "%S1 = mask %S0 where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "a low cap on shifted scores", .fits = true, .tail = DIVIDED, .bounded = DTYPE(DT_BF16) | DTYPE(DT_F16),
     .scores = "%cap = fill -8 : fp32<1x1>\n%far = fill 300 : fp32<1x1>\n%t = tanh %S : fp32<64x32>\n"
               "%u = fma %t, %cap, %far : fp32<64x32>\n%S1 = mask %u where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "a cap, and the log-sum-exp", .fits = true,
     .scores = "%cap = fill 40 : fp32<1x1>\n%t = divide %S, %cap : fp32<64x32>\n%u = tanh %t : fp32<64x32>\n"
               "%S0 = multiply %u, %cap : fp32<64x32>\n"
               "%S1 = mask %S0 where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "a cap that is taken apart", .fits = true, .tail = DIVIDED, .bounded = DTYPE(DT_BF16) | DTYPE(DT_F16),
     .scores = "%one = fill 1 : fp32<1x1>\n%cap = fill 16 : fp32<1x1>\n%t = exp %S : fp32<64x32>\n"
               "%u = add %t, %one : fp32<64x32>\n%r = reciprocal %u : fp32<64x32>\n%S0 = multiply %r, %cap : fp32<64x32>\n"
               "%S1 = mask %S0 where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "scores that are clamped", .fits = true, .tail = DIVIDED, .bounded = DTYPE(DT_BF16),
     .scores = "%top = fill 20 : fp32<1x1>\n%low = fill -50 : fp32<1x1>\n%t = min %S, %top : fp32<64x32>\n"
               "%u = max %t, %low : fp32<64x32>\n%S1 = mask %u where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "clamped from above alone", .fits = true,
     .scores = "%top = fill 20 : fp32<1x1>\n%t = min %S, %top : fp32<64x32>\n"
               "%S1 = mask %t where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "a cap too high", .fits = true,
     .scores = "%cap = fill 60 : fp32<1x1>\n%t = tanh %S : fp32<64x32>\n%u = multiply %t, %cap : fp32<64x32>\n"
               "%S1 = mask %u where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "capped, with a sink to begin with", .fits = true,
     .start = "%M0 = load Sink[0 : rows, 0 : cols] : fp32<64x1>\n%L0 = fill 1 : fp32<64x1>\n",
     .scores = "%cap = fill 4 : fp32<1x1>\n%t = tanh %S : fp32<64x32>\n%u = multiply %t, %cap : fp32<64x32>\n"
               "%S1 = mask %u where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "capped, and the accumulator squared",
     .scores = "%cap = fill 4 : fp32<1x1>\n%t = tanh %S : fp32<64x32>\n%u = multiply %t, %cap : fp32<64x32>\n"
               "%S1 = mask %u where j * 32 + col < n else -inf : fp32<64x32>\n",
     .tail = "%q = square %O : fp32<64x16>\n%l = square %L : fp32<64x1>\n%x = divide %q, %l else 0 : fp32<64x16>\n"
             "store %x, O[0 : rows, 0 : cols]\n%y = log %L : fp32<64x1>\n%z = add %y, %M : fp32<64x1>\n"
             "store %z, Y[0 : rows, 0 : cols]\n"},
    {.what = "a slope", .fits = true,
     .scores = "%S0 = multiply %S, %c : fp32<64x32>\n%i = index j * 32 + col - row : fp32<64x32>\n"
               "%a = multiply %i, %c : fp32<64x32>\n%b = add %S0, %a : fp32<64x32>\n"
               "%S1 = mask %b where j * 32 + col < n else -inf : fp32<64x32>\n"},
    {.what = "columns added to scores", .fits = true,
     .scores = "%s0 = load Sink[0 : rows, 0 : cols] : fp32<64x1>\n%S0 = mask %S where j * 32 + col < n else -inf : fp32<64x32>\n"
               "%S1 = subtract %S0, %s0 : fp32<64x32>\n"},
    {.what = "a sink to begin with", .fits = true,
     .start = "%M0 = load Sink[0 : rows, 0 : cols] : fp32<64x1>\n%L0 = fill 1 : fp32<64x1>\n"},
    {.what = "a sum to begin with", .fits = true,
     .start = "%M0 = fill 3 : fp32<64x1>\n%s = load Sink[0 : rows, 0 : cols] : fp32<64x1>\n%L0 = square %s : fp32<64x1>\n"},
    {.what = "a sink at the end", .fits = true,
     .tail = "%sink = load Sink[0 : rows, 0 : cols] : fp32<64x1>\n"
             "%n = max %M, %sink : fp32<64x1>\n%d = subtract %M, %n : fp32<64x1>\n%a = exp %d : fp32<64x1>\n"
             "%l = multiply %L, %a : fp32<64x1>\n%f = subtract %sink, %n : fp32<64x1>\n%g = exp %f : fp32<64x1>\n"
             "%s = add %l, %g : fp32<64x1>\n%o = multiply %O, %a : fp32<64x16>\n%x = divide %o, %s : fp32<64x16>\n"
             "store %x, O[0 : rows, 0 : cols]\n%y = log %s : fp32<64x1>\n%z = add %y, %n : fp32<64x1>\n"
             "store %z, Y[0 : rows, 0 : cols]\n"},
    {.what = "an accumulator over its own size", /* whose fourth power leaves fp32 */
     .tail = "%q = square %O : fp32<64x16>\n%r = square %q : fp32<64x16>\n%s = rowsum %r along columns : fp32<64x1>\n"
             "%t = sqrt %s : fp32<64x1>\n%u = sqrt %t : fp32<64x1>\n%x = divide %O, %u else 0 : fp32<64x16>\n"
             "store %x, O[0 : rows, 0 : cols]\n%y = log %L : fp32<64x1>\n%z = add %y, %M : fp32<64x1>\n"
             "store %z, Y[0 : rows, 0 : cols]\n"},
    {.what = "two accumulators", .fits = true,
     .more = "%B = multiply %alpha, %Z1 : fp32<64x16>\n%Z2 = gemm %R, %K, %B : fp32<64x16>\n",
     .tail = "%w = add %O, %Z : fp32<64x16>\n%x = divide %w, %L else 0 : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n"
             "%y = log %L : fp32<64x1>\n%z = add %y, %M : fp32<64x1>\nstore %z, Y[0 : rows, 0 : cols]\n"},
    {.what = "three warpgroups", .fits = true, .kernel = "grid(w: 3 within, m: 1) warps 12 specialized 1"},
    {.what = "the reference is shown", .tail = "%x = divide %O, %L else 0 : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n"
                                               "store %M, Y[0 : rows, 0 : cols]\n"},
    {.what = "not specialized", .kernel = "grid(m: 1) warps 4"},
    {.what = "rows that warps share", .kernel = "grid(m: 1) warps 4 warps_n 2 specialized 1"},
};

/* Text with every @ replaced. */
static const char *of_dtype(Arena *arena, const char *text, DType dtype)
{
    Str out = str_new(arena);
    for (const char *at = text; *at; at++) {
        if (*at == '@') str_add(&out, dtype_name(dtype));
        else str_printf(&out, "%c", *at);
    }
    return str_text(&out);
}

static TileProgram *parse_flow(Arena *arena, const Flow *f, DType dtype)
{
    Str text = str_new(arena);
    str_printf(&text, "%skernel flow %s {\n", HEAD, f->kernel ? f->kernel : "grid(m: 1) warps 4 specialized 1");
    str_printf(&text, "%s%s", f->start ? f->start : UNSEEN, LOOP);
    str_printf(&text, "%s%s%s", f->scores ? f->scores : QUARTER, STEP, f->more ? f->more : "%Z2 = fill 0 : fp32<64x16>\n");
    str_printf(&text, "yield %%M2, %%L2, %%O2, %%Z2\n}\n");
    return parse_tail(arena, of_dtype(arena, str_text(&text), dtype),
                      of_dtype(arena, f->tail ? f->tail : QUOTIENT, dtype), f->what);
}

/* ---- data ----------------------------------------------------------------------------------- */

static const struct Data {
    const char *what;
    double size, growth; /* of the scores; how many times larger the last key's are */
    double shift;        /* of all scores */
    double odd;          /* put into one element of a key: 0: nothing */
} DATA[] = {
    {"normal", 1, 1, 0, 0},           {"growing", 1, 12, 0, 0},    {"steep", 2, 1200, 0, 0},
    {"large", 300, 1, 0, 0},          {"negative", 1, 1, -900, 0}, {"falling", 40, 0.01, 0, 0},
    {"small at first", 1e-3, 1e5, 0, 0}, {"a NaN", 1, 2, 0, NAN},     {"an infinity", 1, 2, 0, INFINITY},
    {"all low", 1, 1, -60000, 0},
};

enum { Q, K, V, SINK, O, Y, TENSORS };

typedef struct Case {
    Tensor *tensors[TENSORS];
    int64_t n;
} Case;

static void set(Tensor *t, int64_t i, int64_t j, double value)
{
    tensor_set(t, (int64_t[]){i, j}, value);
}

/* The first column of Q is 16, so that of K shifts all scores. */
static Case make_case(Arena *arena, const struct Data *d, DType dtype, int64_t n, uint64_t seed)
{
    static const char *const names[] = {"Q", "K", "V", "Sink", "O", "Y"};
    const int64_t dims[TENSORS][2] = {{ROWS, WIDTH}, {n, WIDTH}, {n, WIDTH}, {ROWS, 1}, {ROWS, WIDTH}, {ROWS, 1}};
    Case c = {.n = n};
    Rng rng = {seed};
    const char *error = NULL;
    for (int i = 0; i < TENSORS; i++)
        c.tensors[i] = tensor_new(arena, names[i], i < SINK ? dtype : DT_F32, 2, dims[i], &error);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < WIDTH; j++) set(c.tensors[Q], i, j, j ? rng_normal(&rng) : 16);
    for (int64_t i = 0; i < ROWS; i++) set(c.tensors[SINK], i, 0, 2 * rng_normal(&rng));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < WIDTH; j++) {
            double growth = 1 + (d->growth - 1) * (double)i / (double)n;
            set(c.tensors[K], i, j, j ? d->size * growth * rng_normal(&rng) : d->shift / 4);
            set(c.tensors[V], i, j, rng_normal(&rng));
        }
    if (d->odd != 0 && n > 20) set(c.tensors[K], n / 2, 5, d->odd);
    return c;
}

/* Runs the program, and gives what it wrote. */
static void run(Arena *arena, const TileProgram *p, const Case *c, Tensor **o, Tensor **y)
{
    const char *error = NULL;
    Tensor *tensors[TENSORS];
    memcpy(tensors, c->tensors, sizeof tensors);
    *o = tensors[O] = tensor_new(arena, "O", DT_F32, 2, (int64_t[]){ROWS, WIDTH}, &error);
    *y = tensors[Y] = tensor_new(arena, "Y", DT_F32, 2, (int64_t[]){ROWS, 1}, &error);
    tensor_poison(*o);
    tensor_poison(*y);
    TileRun r = {.tensors = tensors, .dims = &c->n};
    if (!tile_run(arena, p, &r, &error)) fail_msg("%s", error);
}

/* ---- comparing --------------------------------------------------------------------------------- */

static void compare(const char *what, const Tensor *got, const Tensor *want, double allowed)
{
    for (int64_t i = 0; i < want->dims[0]; i++)
        for (int64_t j = 0; j < want->dims[1]; j++) {
            double g = tensor_get(got, (int64_t[]){i, j}), w = tensor_get(want, (int64_t[]){i, j});
            if (g == w || (isnan(g) && isnan(w))) continue;
            if (!(fabs(g - w) <= allowed * (1 + fabs(w))))
                fail_msg("%s: %s[%d, %d] is %.9g, must be %.9g", what, want->name, (int)i, (int)j, g, w);
        }
}

static TileProgram *passed(Arena *arena, const TileProgram *p, const char *target, bool simplify)
{
    TileProgram *q = tile_clone(arena, p);
    TileKernel *kernel = q->kernels.data[0];
    Diags *diags = diags_new(arena, q->source);
    Str shown = str_new(arena);
    pass_expand(q, kernel, target_find(target), diags);
    kernel->facts |= TF_EXPANDED;
    if (simplify) pass_simplify(q, kernel, target_find(target), diags);
    if (tile_verify(q, diags)) return q;
    diags_text(diags, &shown);
    fail_msg("%s", str_text(&shown));
    return NULL;
}

static void check_flow(Arena *arena, const Flow *f, const struct Data *d, DType dtype, int64_t n)
{
    static const char *const names[] = {"expanded", "simplified", "simplified for others"};
    TileProgram *p = parse_flow(arena, f, dtype);
    Case c = make_case(arena, d, dtype, n, 3 + (uint64_t)n);
    Tensor *want[2], *got[2];
    run(arena, p, &c, &want[0], &want[1]);
    for (int k = 0; k < 3; k++) {
        run(arena, passed(arena, p, k < 2 ? "sm_90a" : "sm_80", k > 0), &c, &got[0], &got[1]);
        const char *what = arena_printf(arena, "%s, %s, %s, %d keys, %s", f->what, dtype_name(dtype), d->what, (int)n, names[k]);
        compare(what, got[0], want[0], 4 * dtype_epsilon(dtype));
        compare(what, got[1], want[1], 4e-5);
    }
}

static void all_flows_of_all_data(void **state)
{
    static const int64_t lengths[] = {101, 64, 0, 1};
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(FLOWS); i++)
        for (size_t k = 0; k < TW_COUNT(DATA); k++)
            check_flow(f->arena, &FLOWS[i], &DATA[k], k % 3 == 1 ? DT_F16 : DT_BF16, lengths[(i + k) % TW_COUNT(lengths)]);
}

/* Where exact sums divide: a key that is all of its row has the weight 1, not one that is rounded. */
static void a_dominant_key_is_exact(void **state)
{
    enum { KEYS = 96, DOMINANT = 70 };
    static const DType dtypes[] = {DT_BF16, DT_F16};
    static const struct Data even = {"even", 0, 1, 0, 0};
    Fixture *f = *state;
    for (size_t k = 0; k < TW_COUNT(dtypes); k++) {
        Case c = make_case(f->arena, &even, dtypes[k], KEYS, 9);
        Tensor *o, *y;
        set(c.tensors[K], DOMINANT, 0, 5.0625); /* 2^29.2 times the others' weight */
        run(f->arena, passed(f->arena, parse_flow(f->arena, &FLOWS[0], dtypes[k]), "sm_90a", true), &c, &o, &y);
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < WIDTH; j++) {
                double got = tensor_get(o, (int64_t[]){i, j}), v = tensor_get(c.tensors[V], (int64_t[]){DOMINANT, j});
                assert_true(fabs(got - v) < 1e-6 * (1 + fabs(v)));
            }
    }
}

/* ---- where it is taken ------------------------------------------------------------------------------ */

static int count_maxima(const TileBlock *block)
{
    int n = 0;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        n += op->kind == TILE_REDUCE && op->op == OP_ROW_MAX;
        for (int r = 0; r < op->n_regions; r++) n += count_maxima(op->regions[r]);
    }
    return n;
}

static void where_it_fits(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(FLOWS); i++)
        for (int k = 0; k < 3; k++) {
            static const DType dtypes[] = {DT_BF16, DT_F16, DT_E4M3};
            const TileProgram *p = parse_flow(f->arena, &FLOWS[i], dtypes[k]);
            const TileBlock *body = passed(f->arena, p, "sm_90a", true)->kernels.data[0]->body;
            bool bounded = FLOWS[i].bounded & DTYPE(dtypes[k]);
            int revised = tile_count(body, TILE_REVISE);
            if (revised != (FLOWS[i].fits && !bounded && dtypes[k] != DT_E4M3 ? 2 : 0))
                fail_msg("%s, %s: %d values are revised", FLOWS[i].what, dtype_name(dtypes[k]), revised);
            if (bounded != (count_maxima(body) == 0))
                fail_msg("%s, %s: %d maxima are taken", FLOWS[i].what, dtype_name(dtypes[k]), count_maxima(body));
        }
}

/* What no target without it may notice. */
static void nothing_changes_elsewhere(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(FLOWS); i++) {
        TileProgram *p = parse_flow(f->arena, &FLOWS[i], DT_BF16);
        Str with = str_new(f->arena), without = str_new(f->arena);
        p->kernels.data[0]->specialized = 0;
        tile_print(&with, passed(f->arena, p, "sm_80", false));
        tile_print(&without, passed(f->arena, p, "sm_90a", false));
        assert_string_equal(str_text(&with), str_text(&without));
    }
}

/* ---- where it is known beforehand ---------------------------------------------------------------------- */

/* A first turn: HOT, and the bound of what it makes. */
static const char TURN[] =
    "%%h = fill %s : fp32<32x1>\n%%r = fill 8.5e37 : fp32<32x1>\n%%o = fill 0 : fp32<32x16>\n"
    "%%n = fill -1.5 : fp32<1x1>\n%%d = fill -4 : fp32<1x1>\n%%c = fill 1.5 : fp32<1x1>\n"
    "%%r1, %%o1 = revise %%r, %%o where any %%h >= 1 : fp32<32x1>, fp32<32x16> {\n"
    "  %%a = rowmax %%x along columns : fp32<32x1>\n%%b = multiply %%a, %%n : fp32<32x1>\n"
    "  %%e = add %%b, %%d : fp32<32x1>\n%%f = min %%e, %%r : fp32<32x1>\n%%g = subtract %%f, %%r : fp32<32x1>\n"
    "  %%i = exp2 %%g : fp32<32x1>\n%%k = multiply %%o, %%i : fp32<32x16>\nyield %%f, %%k\n}\n"
    "%%y = fma %%x, %%c, %%r1 : fp32<32x16>\n%%z = exp2 %%y : fp32<32x16>\n%%p = reshape %%z : bf16<32x16>\n"
    "%%l = rowsum %%p along columns : fp32<32x8>\n"
    "%%p1, %%o2 = revise %%p, %%o1 where any %%%s >= %s : bf16<32x16>, fp32<32x16> {\n"
    "  %%q = reshape %%x : bf16<32x16>\n%%m = multiply %%o1, %%n : fp32<32x16>\nyield %%q, %%m\n}\n"
    "%%s = cast %%p1 : fp32<32x16>\n%%t = add %%s, %%o2 : fp32<32x16>\nstore %%t, Y[0 : rows, 0 : cols]\n";

static void check_turn(Arena *arena, const char *hot, const char *looked_at, const char *bound, int revised, int multiplied)
{
    const char *error = NULL;
    TileProgram *p = parse_tail(arena, REVISED_HEAD("grid(m: 1) warps 2"), arena_printf(arena, TURN, hot, looked_at, bound), hot);
    TileProgram *q = passed(arena, p, "sm_90a", true);
    Tensor *x = tensor_new(arena, "X", DT_F32, 2, (int64_t[]){32, 16}, &error), *y[2];
    Rng rng = {5};
    for (int i = 0; i < 32 * 16; i++) ((float *)x->data)[i] = (float)rng_normal(&rng);
    for (int k = 0; k < 2; k++) {
        y[k] = tensor_new(arena, "Y", DT_F32, 2, (int64_t[]){32, 16}, &error);
        TileRun r = {.tensors = (Tensor *[]){x, y[k]}};
        if (!tile_run(arena, k ? q : p, &r, &error)) fail_msg("%s", error);
    }
    compare(hot, y[1], y[0], 0);
    assert_int_equal(tile_count(q->kernels.data[0]->body, TILE_REVISE), revised);
    int matrices = 0;
    for (int i = 0; i < q->kernels.data[0]->body->ops.len; i++) {
        const TileOp *op = q->kernels.data[0]->body->ops.data[i];
        matrices += op->kind == TILE_ELEMENT && op->op == OP_MULTIPLY && op->results[0]->type.cols > 1;
    }
    assert_int_equal(matrices, multiplied);
}

static void first_turns_are_settled(void **state)
{
    Fixture *f = *state;
    check_turn(f->arena, "1", "p", "2", 0, 0);      /* hot, and small: nothing is left to ask */
    check_turn(f->arena, "1", "p", "0.125", 0, 0);
    check_turn(f->arena, "1", "p", "0.0625", 1, 0); /* 2^-4 may well be reached */
    check_turn(f->arena, "1", "l", "0.25", 0, 0);   /* by twos, at most 2^-3 */
    check_turn(f->arena, "1", "l", "0.125", 1, 0);
    check_turn(f->arena, "0.5", "p", "2", 1, 0);    /* not hot: no reference is known */
    check_turn(f->arena, "nan", "p", "2", 0, 0);    /* as good as hot */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(revised_by_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(all_flows_of_all_data, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dominant_key_is_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(where_it_fits, setup, teardown),
        cmocka_unit_test_setup_teardown(first_turns_are_settled, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_changes_elsewhere, setup, teardown),
    };
    return cmocka_run_group_tests_name("postcheck", tests, NULL, NULL);
}
