/* gpu_rig.h: a program for a driver that is a stand-in (tests/gpu/fake_cuda.c), whose kernel
 * has faults planted in it; for test_gpu*.c.
 *
 * The stand-in has the real library's name inside, so that once it is loaded
 * the loader takes it for the real one.
 */
#ifndef GPU_RIG_H
#define GPU_RIG_H

#include "abi/parts.h"
#include "gpu/driver.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char definition[] = "Operator twice\n"
                                 "  Input  A (batch, n, 32) fp32\n"
                                 "  Output O (batch, n, 32) fp32\n"
                                 "  Compute Multiply A, 2 and get O\n"
                                 "end\n";

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Def *def;
    Abi *abi;
    Gpu *gpu;
} Fixture;

static void *library; /* the stand-in; NULL: there is no compiler to make it */

/* ---- a program ---------------------------------------------------------------------- */

static void resolve(Fixture *f)
{
    Syms *syms = syms_new(f->arena);
    Source *source = arena_new_of(f->arena, Source);
    Settings *settings = arena_new_of(f->arena, Settings);
    *source = (Source){.path = "twice.tl", .text = definition, .len = strlen(definition)};
    Diags *diags = diags_new(f->arena, source);
    Program *program = lang_parse(f->arena, syms, source, diags);
    f->def = def_resolve(f->arena, syms, aff_ctx_new(f->arena), program, program->units.data[0],
                         settings, diags);
    assert_non_null(f->def);
}

static void add_tensor(Fixture *f, TileProgram *p, const char *name, const AffSym *batch,
                       const AffSym *n)
{
    TileTensor *t = arena_new_of(f->arena, TileTensor);
    *t = (TileTensor){.name = name,
                      .dtype = DT_F32,
                      .rank = 3,
                      .index = p->tensors.len,
                      .read = *name == 'A',
                      .written = *name == 'O'};
    t->dims[0] = aff_of(p->aff, batch);
    t->dims[1] = aff_of(p->aff, n);
    t->dims[2] = aff_const(p->aff, 32);
    vec_push(f->arena, &p->tensors, t);
}

static void describe(Fixture *f)
{
    static const Target target = {.name = "sm_80"};
    AffCtx *aff = aff_ctx_new(f->arena);
    TileProgram *p = tile_program_new(f->arena, aff, "twice");
    TileKernel *k = tile_kernel_new(p, "twice");
    const AffSym *batch = aff_sym_new(aff, "batch", AFF_DIM, 0, INT32_MAX);
    const AffSym *n = aff_sym_new(aff, "n", AFF_DIM, 0, INT32_MAX);
    vec_push(f->arena, &p->dims, batch);
    vec_push(f->arena, &p->dims, n);
    add_tensor(f, p, "A", batch, n);
    add_tensor(f, p, "O", batch, n);
    vec_push(f->arena, &k->grid,
             (TileAxis){.extent = aff_ceildiv(aff, aff_of(aff, n), aff_const(aff, 16))});
    vec_push(f->arena, &k->grid, (TileAxis){.extent = aff_of(aff, batch)});
    k->warps = 2;
    k->shared_bytes = 60000;
    f->abi = abi_from_tile(f->arena, p, &target);
    for (int i = 0; i < f->abi->tensors.len; i++) f->abi->tensors.data[i].alignment = 16; /* ld.v4 and st.v4 */
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    const char *error;
    if (!f || setjmp(f->oom))
        return -1;
    f->heap.on_oom = &f->oom;
    f->arena = arena_new(&f->heap);
    resolve(f);
    describe(f);
    f->gpu = library ? gpu_open(f->arena, &error) : NULL;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    if (f->gpu)
        gpu_close(f->gpu);
    arena_free(f->arena);
    size_t live = f->heap.live;
    free(f);
    return live ? -1 : 0;
}

static void need_gpu(Fixture *f)
{
    if (!library)
        skip();
    assert_non_null(f->gpu);
}

static GpuModule *load(Fixture *f, const char *ptx)
{
    const char *log, *error = "";
    GpuModule *m = gpu_load(f->gpu, f->abi, ptx, &log, &error);
    if (!m)
        fail_msg("%s", error);
    return m;
}

static const RefBinding shape[] = {{"batch", 3}, {"n", 70}};

/* ---- the stand-in
 * -------------------------------------------------------------------------------- */

static void make_library(void)
{
    char folder[] = "/tmp/test_gpu.XXXXXX", command[512], path[64];
    if (!mkdtemp(folder))
        return;
    snprintf(path, sizeof path, "%s/fake.so", folder);
    snprintf(command, sizeof command,
             "cc -D_POSIX_C_SOURCE=200809L -shared -fPIC -O1 -Wl,-soname,libcuda.so.1 -o %s "
             "tests/gpu/fake_cuda.c",
             path);
    if (system(command) == 0)
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    remove(path);
    rmdir(folder);
}

#endif
