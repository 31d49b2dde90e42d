/* ref_rig.h: what tests of the definition executor share: a definition from text,
 * its tensors, and all rows of its outputs. */
#ifndef TW_TESTS_REF_RIG_H
#define TW_TESTS_REF_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "ref/ref.h"

enum { MAX = 16 };

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Settings settings;
    Def *def;
    VEC(RefBinding) bindings;
    Tensor *in[MAX], *out[MAX];
    FillKind fill;
} Fixture;

static inline int setup(void **state)
{
    static Fixture f;
    f = (Fixture){.heap = {.on_oom = &f.oom}};
    if (setjmp(f.oom))
        return -1;
    f.arena = arena_new(&f.heap);
    f.settings.dtype = DT_F32;
    *state = &f;
    return 0;
}

static inline int teardown(void **state)
{
    arena_free(((Fixture *)*state)->arena);
    return 0;
}

static inline void resolve(Fixture *f, const Source *source, const char *unit)
{
    Syms *syms = syms_new(f->arena);
    Diags *diags = diags_new(f->arena, source);
    Program *program = lang_parse(f->arena, syms, source, diags);

    f->def = NULL;
    for (int i = 0; i < program->units.len && !diags->errors; i++)
        if (!unit || strcmp(program->units.data[i]->name, unit) == 0)
            f->def = def_resolve(f->arena, syms, aff_ctx_new(f->arena), program, program->units.data[i],
                                 &f->settings, diags);
    diags_print(diags, stderr, false);
    assert_non_null(f->def);
}

static inline void use(Fixture *f, const char *body)
{
    Source *source = arena_new_of(f->arena, Source);

    source->path = "t.tl";
    source->text = arena_printf(f->arena, "Operator t\n%s\nend\n", body);
    source->len = strlen(source->text);
    resolve(f, source, NULL);
}

static inline void use_file(Fixture *f, const char *path, const char *unit)
{
    const char *error;
    Source *source = source_read(f->arena, path, &error);

    assert_non_null(source);
    resolve(f, source, unit);
}

static inline void set(Fixture *f, const char *text)
{
    assert_null(settings_add(f->arena, &f->settings, text));
}

static inline void bind(Fixture *f, const char *name, double value)
{
    vec_push(f->arena, &f->bindings, (RefBinding){name, value});
}

static inline void make(Fixture *f)
{
    const char *error = NULL;
    bool made = ref_make_tensors(f->arena, f->def, f->bindings.data, f->bindings.len, f->fill, 1, f->in, f->out,
                                 &error);

    if (!made)
        fail_msg("%s", error);
}

static inline Ref *run(Fixture *f, RefPrecision precision)
{
    const char *error = NULL;
    Ref *ref = ref_new(f->arena, f->def, f->bindings.data, f->bindings.len, f->in, precision, &error);

    if (!ref)
        fail_msg("%s", error);
    return ref;
}

/* Fills an output tensor from the executor. */
static inline void write_output(Fixture *f, Ref *ref, int output)
{
    Tensor *t = f->out[output];
    RowList *rows = rows_choose(f->arena, t, INT64_MAX, 64, 1 << 20, 1);

    for (int i = 0; i < rows->count; i++) {
        int64_t at[TENSOR_MAX_RANK];
        const double *row = ref_row(ref, output, rows->coords.data + (int64_t)i * rows->rank1);

        assert_non_null(row);
        if (rows->rank1)
            memcpy(at, rows->coords.data + (int64_t)i * rows->rank1, (size_t)rows->rank1 * sizeof *at);
        for (at[rows->rank1] = 0; at[rows->rank1] < t->dims[rows->rank1]; at[rows->rank1]++)
            tensor_set(t, at, row[at[rows->rank1]]);
    }
}

/* The whole output in fp64 precision; the output tensor is fp32. */
static inline void execute(Fixture *f)
{
    make(f);
    write_output(f, run(f, REF_EXACT), 0);
}

static inline void expect_error(Fixture *f, const char *message)
{
    const char *error = NULL;

    assert_null(ref_new(f->arena, f->def, f->bindings.data, f->bindings.len, f->in, REF_EXACT, &error));
    if (!error || !strstr(error, message))
        fail_msg("%s, not %s", error ? error : "no error", message);
}

#define GET(t, ...) tensor_get((t), (const int64_t[]){__VA_ARGS__})
#define PUT(t, x, ...) tensor_set((t), (const int64_t[]){__VA_ARGS__}, (x))

static inline void near(double got, double want, const char *what, int64_t i, int64_t j)
{
    if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want))))
        fail_msg("%s[%d, %d] is %.9g, not %.9g", what, (int)i, (int)j, got, want);
}

#endif
