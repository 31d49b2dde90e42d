/* judge.c: the shapes, what is right on each, and the verdict. */
#include "judge.h"

#include <math.h>
#include <stdlib.h>

/* ---- tensors --------------------------------------------------------------------------- */

static MachineTensor *add_tensor(Judge *j, JudgeCase *c, Rng *rng, const char *name, int rank, const int64_t *dims)
{
    MachineTensor *t = &c->tensors[c->n_tensors++];
    size_t count = 1;

    *t = (MachineTensor){.name = name, .dtype = DT_BF16, .rank = rank, .output = !rng};
    for (int d = 0; d < rank; d++)
        count *= (size_t)(t->dims[d] = dims[d]);
    t->data = arena_array(j->arena, double, count + 1);
    if (!rng)
        t->writer = arena_array(j->arena, int, count + 1);
    for (size_t i = 0; rng && i < count; i++)
        t->data[i] = rng_normal(rng);
    return t;
}

static size_t count_of(const MachineTensor *t)
{
    size_t count = 1;

    for (int d = 0; d < t->rank; d++)
        count *= (size_t)t->dims[d];
    return count;
}

#define DIMS(...) (const int64_t[]){__VA_ARGS__}

/* ---- what is right: plain loops ------------------------------------------------------------ */

static void attend(const double *q, const double *k, const double *v, double *o, int64_t n, int64_t seen, int64_t d,
                   int64_t dv)
{
    double most = -INFINITY, sum = 0, scores[256];

    for (int64_t j = 0; j < n && j < seen; j++) {
        scores[j] = 0;
        for (int64_t x = 0; x < d; x++)
            scores[j] += q[x] * k[j * d + x] / sqrt((double)d);
        most = fmax(most, scores[j]);
    }
    for (int64_t j = 0; j < n && j < seen; j++) {
        double p = exp(scores[j] - most);

        sum += p;
        for (int64_t x = 0; x < dv; x++)
            o[x] += p * v[j * dv + x];
    }
    for (int64_t x = 0; x < dv && sum > 0; x++)
        o[x] /= sum;
}

static void add_attention(Judge *j, const Task *t, int64_t b, int64_t hq, int64_t hk, int64_t m, int64_t n)
{
    JudgeCase c = {.outputs = 1, .what = arena_printf(j->arena, "batch=%d q_heads=%d kv_heads=%d q_len=%d kv_len=%d", (int)b,
                                        (int)hq, (int)hk, (int)m, (int)n)};
    Rng rng = {(uint64_t)(m * 1000 + n)};
    int64_t d = t->head_dim, dv = t->v_dim;
    const double *q = add_tensor(j, &c, &rng, "Q", 4, DIMS(b, hq, m, d))->data,
                 *k = add_tensor(j, &c, &rng, "K", 4, DIMS(b, hk, n, d))->data,
                 *v = add_tensor(j, &c, &rng, "V", 4, DIMS(b, hk, n, dv))->data;

    add_tensor(j, &c, NULL, "O", 4, DIMS(b, hq, m, dv));
    c.want[0] = arena_array(j->arena, double, (size_t)(b * hq * m * dv + 1));
    for (int64_t x = 0; x < b; x++)
        for (int64_t h = 0; h < hq; h++)
            for (int64_t i = 0; i < m; i++) {
                int64_t kv = x * hk + h / (hq / hk);
                int64_t seen = t->causal ? i + n - m + 1 : n;

                attend(q + ((x * hq + h) * m + i) * d, k + kv * n * d, v + kv * n * dv,
                       c.want[0] + ((x * hq + h) * m + i) * dv, n, seen, d, dv);
            }
    vec_push(j->arena, &j->cases, c);
}

static void add_gemm(Judge *j, int64_t m, int64_t n, int64_t k)
{
    JudgeCase c = {.outputs = 1, .what = arena_printf(j->arena, "M=%d N=%d K=%d", (int)m, (int)n, (int)k)};
    Rng rng = {(uint64_t)(m * 1000 + n * 100 + k)};
    const double *a = add_tensor(j, &c, &rng, "A", 2, DIMS(m, k))->data,
                 *b = add_tensor(j, &c, &rng, "B", 2, DIMS(k, n))->data,
                 *bias = add_tensor(j, &c, &rng, "bias", 1, DIMS(n))->data;

    add_tensor(j, &c, NULL, "C", 2, DIMS(m, n));
    c.want[0] = arena_array(j->arena, double, (size_t)(m * n + 1));
    for (int64_t x = 0; x < m; x++)
        for (int64_t y = 0; y < n; y++) {
            c.want[0][x * n + y] = bias[y];
            for (int64_t z = 0; z < k; z++)
                c.want[0][x * n + y] += a[x * k + z] * b[z * n + y];
        }
    vec_push(j->arena, &j->cases, c);
}

/* Y = X / sqrt(mean X^2 + 1/16) * weight, along rows of n. */
static void add_norm(Judge *j, int64_t b, int64_t m, int64_t n)
{
    JudgeCase c = {.outputs = 1, .what = arena_printf(j->arena, "batch=%d M=%d N=%d", (int)b, (int)m, (int)n)};
    Rng rng = {(uint64_t)(m * 1000 + n)};
    const double *x = add_tensor(j, &c, &rng, "X", 3, DIMS(b, m, n))->data,
                 *w = add_tensor(j, &c, &rng, "W", 1, DIMS(n))->data;

    add_tensor(j, &c, NULL, "Y", 3, DIMS(b, m, n));
    c.want[0] = arena_array(j->arena, double, (size_t)(b * m * n + 1));
    for (int64_t r = 0; r < b * m; r++) {
        double sum = 0;

        for (int64_t i = 0; i < n; i++)
            sum += x[r * n + i] * x[r * n + i];
        for (int64_t i = 0; i < n; i++)
            c.want[0][r * n + i] = x[r * n + i] / sqrt(sum / (double)n + 0.0625) * w[i];
    }
    vec_push(j->arena, &j->cases, c);
}

/* ---- shapes -------------------------------------------------------------------------------- */

enum { LENGTHS = 9 };

/* From 0 to a bit over two tiles. Ragged ones first: they show most. */
static void lengths_round(int tile, int *lengths)
{
    const int all[LENGTHS] = {tile + 1, 2 * tile + 1, 1, tile, tile - 1, 2 * tile, 2 * tile - 1, 5, 0};

    memcpy(lengths, all, sizeof all);
}

static void attention_shapes(Judge *j, const Task *t)
{
    int rows[LENGTHS], keys[LENGTHS];

    lengths_round(t->tile_rows, rows);
    lengths_round(t->tile_streamed, keys);
    for (int batch = 3; batch >= 1; batch--)
        for (int hk = 3; hk >= 1; hk--)
            for (int group = 2; group >= 1; group--) {
                bool fits = (!t->q_heads || t->q_heads == hk * group) && (!t->kv_heads || t->kv_heads == hk);

                if (!fits)
                    continue;
                add_attention(j, t, batch, hk * group, hk, rows[0], keys[1]);
                add_attention(j, t, batch, hk * group, hk, 1, keys[0]);
                add_attention(j, t, batch, hk * group, hk, rows[0], 1);
            }
    for (int x = 0; x < LENGTHS - 1; x++) /* without queries there is nothing to be seen */
        for (int y = 0; y < LENGTHS; y++)
            add_attention(j, t, 1, t->q_heads ? t->q_heads : 1, t->kv_heads ? t->kv_heads : 1, rows[x], keys[y]);
}

static void gemm_shapes(Judge *j, const Task *t)
{
    int rows[LENGTHS], cols[LENGTHS], depth[LENGTHS];

    lengths_round(t->tile_rows, rows);
    lengths_round(t->tile_cols, cols);
    lengths_round(t->tile_streamed, depth);
    for (int x = 0; x < LENGTHS - 1; x++)
        for (int y = 0; y < (t->n ? 1 : LENGTHS - 1); y++)
            for (int z = 0; z < (t->k ? 1 : LENGTHS); z++)
                add_gemm(j, rows[x], t->n ? t->n : cols[y], t->k ? t->k : depth[z]);
}

static void norm_shapes(Judge *j, const Task *t)
{
    int rows[LENGTHS];

    lengths_round(t->tile_rows, rows);
    for (int x = 0; x < LENGTHS - 1; x++)
        for (int b = 3; b >= 1; b--)
            add_norm(j, b, rows[x], t->n);
}

/* ---- what is right: what the original does ------------------------------------------------- */

typedef struct Shape {
    const char *names[8];
    int64_t values[8];
    int n;
} Shape;

static int64_t size_of(const Shape *shape, const Unit *unit, const Expr *e)
{
    if (e->kind == EXPR_INT)
        return e->i;
    for (int i = 0; i < shape->n && e->kind == EXPR_NAME; i++)
        if (strcmp(shape->names[i], e->name) == 0)
            return shape->values[i];
    for (int i = 0; i < unit->body.len && e->kind == EXPR_NAME; i++) {
        const Stmt *s = unit->body.data[i];

        if (s->kind == STMT_ASSIGN && strcmp(s->name, e->name) == 0)
            return size_of(shape, unit, s->value);
    }
    return -1;
}

static const char *shape_text(Judge *j, const Shape *shape)
{
    Str text = str_new(j->arena);

    for (int i = 0; i < shape->n; i++)
        str_printf(&text, "%s%s=%d", i ? " " : "", shape->names[i], (int)shape->values[i]);
    return str_text(&text);
}

/* Whether a kernel of the program declares the tensor so. */
static bool is_declared(const Program *program, StmtKind kind, const char *name)
{
    for (int i = 0; i < program->units.len; i++)
        for (int k = 0; k < program->units.data[i]->body.len; k++) {
            const Stmt *s = program->units.data[i]->body.data[k];

            if (s->kind == kind && strcmp(s->name, name) == 0)
                return true;
        }
    return false;
}

static bool is_known(const JudgeCase *c, const char *name)
{
    for (int i = 0; i < c->n_tensors; i++)
        if (strcmp(c->tensors[i].name, name) == 0)
            return true;
    return false;
}

static bool add_declared(Judge *j, JudgeCase *c, const Shape *shape, const Unit *unit, const Stmt *s, Rng *rng)
{
    int64_t dims[MACHINE_RANK];

    for (int d = 0; d < s->n_shape; d++)
        if (c->n_tensors == MACHINE_TENSORS || d == MACHINE_RANK || (dims[d] = size_of(shape, unit, s->shape[d])) < 0)
            return false;
    add_tensor(j, c, rng, s->name, s->n_shape, dims)->dtype = s->has_dtype ? s->dtype : DT_BF16;
    c->outputs += !rng;
    return true;
}

/* What comes from outside, then what goes there: not what kernels pass on. */
static bool add_all_declared(Judge *j, JudgeCase *c, const Shape *shape, const Program *program, Rng *rng)
{
    for (int outputs = 0; outputs < 2; outputs++)
        for (int i = 0; i < program->units.len; i++)
            for (int k = 0; k < program->units.data[i]->body.len; k++) {
                const Stmt *s = program->units.data[i]->body.data[k];

                if (s->kind != (outputs ? STMT_OUTPUT : STMT_INPUT) || is_known(c, s->name) ||
                    is_declared(program, outputs ? STMT_INPUT : STMT_OUTPUT, s->name))
                    continue;
                if (!add_declared(j, c, shape, program->units.data[i], s, outputs ? NULL : rng))
                    return false;
            }
    return true;
}

static void add_original(Judge *j, const Program *program, const Shape *shape)
{
    JudgeCase c = {.what = shape_text(j, shape)};
    Rng rng = {(uint64_t)j->cases.len + 7};
    Arena *own = arena_new(arena_heap(j->arena));
    const char *fault;

    if (!add_all_declared(j, &c, shape, program, &rng)) {
        j->failure = "a tensor has no size";
        return;
    }
    fault = machine_run(own, program, c.tensors, c.n_tensors);
    if (fault)
        j->failure = arena_printf(j->arena, "%s: %s", c.what, fault);
    for (int k = 0; k < c.outputs && !fault; k++) {
        MachineTensor *t = &c.tensors[c.n_tensors - c.outputs + k];
        size_t bytes = (count_of(t) + 1) * sizeof *t->data;

        c.want[k] = t->data;
        t->data = arena_alloc(j->arena, bytes);
        memcpy(t->data, c.want[k], bytes);
        for (size_t x = 0; x < count_of(t); x++) /* of a row of nothing a definition need not give a number */
            if (isinf(c.want[k][x]))
                c.want[k][x] = NAN;
    }
    arena_free(own);
    if (!fault)
        vec_push(j->arena, &j->cases, c);
}

/* name=1,2 name=~32 ...: every choice of one value each. */
static void expand_shapes(Judge *j, const Program *program, const char *text, Shape shape)
{
    size_t name = strcspn(text, "=");
    int all[LENGTHS];

    if (!*text) {
        add_original(j, program, &shape);
        return;
    }
    shape.names[shape.n++] = arena_strndup(j->arena, text, name);
    text += name + 1;
    const char *rest = text + strcspn(text, " ");
    rest += strspn(rest, " ");
    if (*text == '~') {
        lengths_round(atoi(text + 1), all);
        for (int i = 0; i < LENGTHS - 1; i++) {
            shape.values[shape.n - 1] = all[i];
            expand_shapes(j, program, rest, shape);
        }
        return;
    }
    for (; text < rest; text += strcspn(text, ", ") + 1) {
        shape.values[shape.n - 1] = atoi(text);
        expand_shapes(j, program, rest, shape);
        if (!strchr(text, ',') || strchr(text, ',') > rest)
            return;
    }
}

Judge *judge_new(Arena *arena, const Task *task, const Program *original)
{
    Judge *j = arena_new_of(arena, Judge);

    j->arena = arena;
    switch (task->kind) {
    case TASK_ORIGINAL:
        for (int i = 0; i < 4 && task->shapes[i]; i++)
            expand_shapes(j, original, task->shapes[i], (Shape){.n = 0});
        break;
    case TASK_ATTENTION: attention_shapes(j, task); break;
    case TASK_GEMM_BIAS: gemm_shapes(j, task); break;
    case TASK_NORM: norm_shapes(j, task); break;
    }
    return j;
}

/* ---- the verdict --------------------------------------------------------------------------- */

static const char *compare_one(Arena *arena, const JudgeCase *c, const MachineTensor *out, const double *want)
{
    size_t count = count_of(out);

    for (size_t i = 0; i < count; i++) {
        if (!out->writer[i])
            return arena_printf(arena, "%s: element %zu of '%s' is not written", c->what, i, out->name);
        if (!isnan(want[i]) && want[i] != out->data[i] &&
            !(fabs(out->data[i] - want[i]) <= 1e-9 * (1 + fabs(want[i]))))
            return arena_printf(arena, "%s: element %zu of '%s' is %g, not %g", c->what, i, out->name, out->data[i],
                                want[i]);
    }
    return NULL;
}

static const char *compare(Arena *arena, const JudgeCase *c)
{
    const char *why = NULL;

    for (int k = 0; k < c->outputs && !why; k++)
        why = compare_one(arena, c, &c->tensors[c->n_tensors - c->outputs + k], c->want[k]);
    return why;
}

Verdict judge(const Judge *j, Arena *arena, const Program *code)
{
    for (int i = 0; i < j->cases.len; i++) {
        const JudgeCase *c = &j->cases.data[i];
        Arena *own = arena_new(arena_heap(arena));
        const char *fault = machine_run(own, code, c->tensors, c->n_tensors), *why;

        why = fault ? arena_printf(arena, "%s: %s", c->what, fault) : compare(arena, c);
        arena_free(own);
        if (why)
            return (Verdict){true, why};
    }
    return (Verdict){false, NULL};
}
