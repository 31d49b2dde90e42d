/* test_gpu.c: loading, launching and verifying, on a driver that is a stand-in (gpu_rig.h). */
#include "gpu_rig.h"

/* The same in persistent blocks, with a tensor map of A. */
static void describe_turns(Fixture *f)
{
    AbiKernel *k = &f->abi->kernels.data[0];
    AbiMap map = {.tensor = 0, .box = {1, 16, 8}, .swizzle = 32};
    k->fast.name = "turns";
    k->any.name = "turns_any";
    k->fast.persistent = k->any.persistent = 1;
    abi_add_map(f->abi, map);
    abi_lay_out(f->abi);
}

/* ---- modules ------------------------------------------------------------------------ */

static void test_info(void **state)
{
    Fixture *f = *state;
    GpuInfo info;
    need_gpu(f);
    gpu_info(f->gpu, &info);
    assert_string_equal(info.name, "Fake GPU");
    assert_int_equal(info.cc_major, 75);
    assert_int_equal(info.sms, 16);
    assert_int_equal(info.driver, 12040);
}

static void test_load(void **state)
{
    Fixture *f = *state;
    const char *log, *error;
    GpuResources r;
    need_gpu(f);
    GpuModule *m = gpu_load(f->gpu, f->abi, "", &log, &error);
    assert_non_null(m);
    assert_string_equal(log, "ptxas info : Used 40 registers");
    assert_true(gpu_resources(m, 0, false, &r));
    assert_int_equal(r.regs, 40);
    assert_int_equal(r.local_bytes, 16);
    assert_null(gpu_load(f->gpu, f->abi, "fault=syntax", &log, &error));
    assert_string_equal(log, "ptxas fatal : Unresolved extern");
    f->abi->kernels.data[0].fast.name = "thrice";
    assert_null(gpu_load(f->gpu, f->abi, "", &log, &error));
    assert_non_null(strstr(error, "finding the entry thrice: an error (CUDA_ERROR, 500)"));
}

/* ---- what a module came out as ------------------------------------------------------- */

static bool agrees(Fixture *f, GpuModule *m)
{
    const RefBinding shape[] = {{"batch", 3}, {"n", 70}};
    VerifyOptions options = {.bindings = shape, .n_bindings = 2, .only_requested = true, .seed = 1, .bound = 2};
    VerifyReport report;
    const char *error = "";
    if (!gpu_verify(f->gpu, m, f->def, &options, &report, &error))
        fail_msg("%s", error);
    return report.failed == 0;
}

static GpuModule *load_image(Fixture *f, const GpuImage *image, GpuLoaded *loaded)
{
    const char *error = "";
    GpuModule *m = gpu_load_image(f->gpu, f->abi, image, loaded, &error);
    if (!m)
        fail_msg("%s", error);
    return m;
}

/* What did not come out as meant is launched by its other entry, where that is a schedule
 * of its own and came out well; and the user is told. */
static void test_conservative(void **state)
{
    static const struct {
        const char *ptx;
        bool apart; /* the other entry is a schedule of its own */
        const char *launched, *told;
    } rows[] = {
        {"", true, "turns", NULL},
        {"fault=spill", true, "turns_any", "the driver spilled registers of turns: 640 bytes of local memory a thread, "
                                           "where 0 were meant; turns_any is launched instead"},
        {"fault=serial", true, "turns_any", "the driver compiled turns to less than was meant (info    : (C7510)"},
        {"fault=spillall", true, "turns", "it is launched as it is, for there is no better schedule"},
        {"fault=spill", false, "turns", "it is launched as it is"},
        {"fault=serial", false, "turns", "C7510"},
    };
    Fixture *f = *state;
    need_gpu(f);
    describe_turns(f);
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        GpuImage image = {.ptx = rows[i].ptx};
        GpuLoaded loaded;
        f->abi->kernels.data[0].any.persistent = rows[i].apart ? 2 : 1;
        GpuModule *m = load_image(f, &image, &loaded);
        GpuResources r;
        bool conservative = strcmp(rows[i].launched, "turns_any") == 0;
        assert_string_equal(gpu_entry(m, 0)->name, rows[i].launched);
        assert_int_equal(loaded.told.len, rows[i].told != NULL);
        if (rows[i].told)
            assert_non_null(strstr(loaded.told.data[0], rows[i].told));
        assert_int_equal(loaded.made.len, 2);
        assert_int_equal(loaded.made.data[0].as_meant, rows[i].told == NULL);
        assert_true(gpu_resources(m, 0, true, &r));
        assert_int_equal(r.local_bytes, conservative ? 16 : loaded.made.data[0].local);
        /* which of them ran shows in the results */
        assert_int_equal(agrees(f, m), conservative || !rows[i].told || strcmp(rows[i].ptx, "fault=spillall") == 0);
    }
}

/* Where ptxas needed as much, it is no spill; what is known of other entries counts for nothing. */
static void test_local_memory_that_was_meant(void **state)
{
    Fixture *f = *state;
    CubinSeal seal = {.target = "sm_80"};
    GpuImage image = {.ptx = "fault=spill", .seal = &seal};
    GpuLoaded loaded;
    need_gpu(f);
    describe_turns(f);
    f->abi->kernels.data[0].any.persistent = 2;
    vec_push(f->arena, &seal.local, (CubinLocal){"turns_any", 640, false});
    assert_string_equal(gpu_entry(load_image(f, &image, &loaded), 0)->name, "turns_any");
    vec_push(f->arena, &seal.local, (CubinLocal){"turns", 600, true}); /* serialised there, not here */
    assert_string_equal(gpu_entry(load_image(f, &image, &loaded), 0)->name, "turns");
    assert_int_equal(loaded.told.len, 0);
    assert_int_equal(loaded.made.data[0].meant, 600);
    seal.local.data[1].bytes = 500;
    assert_string_equal(gpu_entry(load_image(f, &image, &loaded), 0)->name, "turns_any");
    assert_non_null(strstr(loaded.told.data[0], "where 500 were meant"));
}

/* For this very device (the stand-in's compute capability is 75.76), and as the driver takes it. */
static void test_cubin(void **state)
{
    Fixture *f = *state;
    CubinSeal seal = {.target = "sm_826"};
    GpuImage image = {.ptx = "", .cubin = "\177ELF fault=cubin\n", .seal = &seal};
    GpuLoaded loaded;
    need_gpu(f);
    GpuModule *m = load_image(f, &image, &loaded);
    assert_true(loaded.cubin);
    assert_false(agrees(f, m));
    seal.target = "sm_80";
    m = load_image(f, &image, &loaded);
    assert_false(loaded.cubin);
    assert_true(agrees(f, m));
    assert_int_equal(loaded.told.len, 0);
    seal.target = "sm_826";
    image.cubin = "\177ELF fault=refuse";
    m = load_image(f, &image, &loaded);
    assert_false(loaded.cubin);
    assert_true(agrees(f, m));
    assert_string_equal(loaded.told.data[0], "the driver does not take the cubin: an error (CUDA_ERROR, 209); it "
                                             "compiles the PTX instead");
    image.seal = NULL; /* nobody knows what it is of */
    load_image(f, &image, &loaded);
    assert_int_equal(loaded.told.len, 0);
}

/* What ptxas said when it made the cubin holds for it. */
static void test_serialised_cubin(void **state)
{
    Fixture *f = *state;
    CubinSeal seal = {.target = "sm_826"};
    GpuImage image = {.ptx = "", .cubin = "\177ELF", .seal = &seal};
    GpuLoaded loaded;
    need_gpu(f);
    describe_turns(f);
    f->abi->kernels.data[0].any.persistent = 2;
    vec_push(f->arena, &seal.local, (CubinLocal){"turns", 0, true});
    assert_string_equal(gpu_entry(load_image(f, &image, &loaded), 0)->name, "turns_any");
    assert_non_null(strstr(loaded.told.data[0], "ptxas compiled turns to less than was meant"));
    image.cubin = NULL; /* the driver's own compiler said nothing of the kind */
    assert_string_equal(gpu_entry(load_image(f, &image, &loaded), 0)->name, "turns");
}

/* ---- verify ------------------------------------------------------------------------- */

static bool verify(Fixture *f, const char *ptx, bool only_requested, VerifyReport *report,
                   const char **error)
{
    VerifyOptions options = {.bindings = shape,
                             .n_bindings = 2,
                             .only_requested = only_requested,
                             .seed = 1,
                             .bound = 2};
    return gpu_verify(f->gpu, load(f, ptx), f->def, &options, report, error);
}

static void test_verify_passes(void **state)
{
    Fixture *f = *state;
    VerifyReport report;
    const char *error;
    bool empty = false, transposed = false;
    need_gpu(f);
    assert_true(verify(f, "", false, &report, &error));
    for (int i = 0; i < report.cases.len; i++) {
        const VerifyCase *c = &report.cases.data[i];
        if (!c->ok)
            fail_msg("%s: %s", c->what, c->problem);
        empty |= strstr(c->what, "n=0") != NULL;
        transposed |= strstr(c->what, "transposed") != NULL;
    }
    assert_int_equal(report.failed, 0);
    assert_true(report.cases.len >= 15);
    assert_true(empty && transposed);
}

static void test_verify_only_requested(void **state)
{
    Fixture *f = *state;
    VerifyReport report;
    const char *error;
    need_gpu(f);
    assert_true(verify(f, "", true, &report, &error));
    assert_int_equal(report.cases.len, 6);
    assert_string_equal(report.cases.data[1].what, "batch=3 n=70, large, contiguous");
}

static void test_verify_finds_faults(void **state)
{
    static const struct {
        const char *ptx, *problem;
        bool all_cases;
    } faults[] = {
        {"fault=wrong", "error is too large", true},
        {"fault=nan", "not finite", true},
        {"fault=flaky", "run again, it gave other bits in O", true},
        {"fault=ragged", "error is too large", false},
        {"fault=unwritten", "unwritten", true},
        {"fault=gap", "between the rows of O", false},
        {"fault=contiguous", "", false},
        {"fault=before", "before the beginning of O", true},
        {"fault=after", "behind the end of O", true},
        {"fault=input", "it changed A", true},
        {"fault=usual", "error is too large", false},
        {"fault=small", "error is too large", false},
    };
    Fixture *f = *state;
    need_gpu(f);
    for (size_t i = 0; i < TW_COUNT(faults); i++) {
        VerifyReport report;
        const char *error;
        bool found = false;
        assert_true(verify(f, faults[i].ptx, false, &report, &error));
        for (int c = 0; c < report.cases.len; c++)
            found |=
                !report.cases.data[c].ok && strstr(report.cases.data[c].problem, faults[i].problem);
        if (!found || (faults[i].all_cases && report.failed < 8))
            fail_msg("%s: %d of %d cases failed", faults[i].ptx, report.failed, report.cases.len);
    }
}

/* Blocks that add to memory give other bits in each run, and what is near is right. */
static void test_verify_sums_in_any_order(void **state)
{
    Fixture *f = *state;
    VerifyReport report;
    const char *error;
    bool graph = false;
    need_gpu(f);
    f->abi->unordered = true;
    assert_true(verify(f, "fault=rounding", false, &report, &error));
    for (int i = 0; i < report.cases.len; i++) {
        graph |= strstr(report.cases.data[i].what, "as a CUDA graph") != NULL;
        if (!report.cases.data[i].ok)
            fail_msg("%s: %s", report.cases.data[i].what, report.cases.data[i].problem);
    }
    assert_true(graph);
    assert_true(verify(f, "fault=flaky", false, &report, &error));
    assert_true(report.failed >= 8);
    f->abi->unordered = false;
    assert_true(verify(f, "fault=rounding", false, &report, &error));
    assert_true(report.failed > 0);
}

/* Through maps and counters, in every mode: two at once have counters of their own. */
static void test_persistent(void **state)
{
    Fixture *f = *state;
    VerifyReport report;
    const char *error = "";
    need_gpu(f);
    describe_turns(f);
    assert_true(verify(f, "", false, &report, &error));
    for (int i = 0; i < report.cases.len; i++)
        if (!report.cases.data[i].ok)
            fail_msg("%s: %s", report.cases.data[i].what, report.cases.data[i].problem);
    assert_true(verify(f, "fault=maps", false, &report, &error)); /* a driver that takes none */
    assert_int_equal(report.failed, 0);
    assert_true(verify(f, "fault=fast", false, &report, &error)); /* only where tensors are aligned */
    assert_true(report.failed > 2 && report.failed < report.cases.len);
    assert_true(verify(f, "fault=counter", true, &report, &error));
    assert_true(report.failed > 0);
    assert_non_null(strstr(report.cases.data[0].problem, "a counter that is not 0"));
    BenchEntry entry = {.module = load(f, ""), .def = f->def, .bindings = shape, .n_bindings = 2};
    if (!gpu_bench(f->gpu, &entry, 1, &(BenchOptions){.rounds = 4, .seed = 1}, &error))
        fail_msg("%s", error);
}

static void test_verify_stops_when_the_gpu_is_lost(void **state)
{
    Fixture *f = *state;
    VerifyReport report;
    const char *error;
    need_gpu(f);
    assert_false(verify(f, "fault=illegal", false, &report, &error));
    assert_int_equal(report.cases.len, 1);
    assert_non_null(strstr(error, "does not answer any more after batch=3 n=70"));
    assert_non_null(strstr(error, "illegal memory access"));
}

static void test_verify_wants_all_dimensions(void **state)
{
    Fixture *f = *state;
    VerifyOptions options = {.bindings = shape, .n_bindings = 1, .only_requested = true};
    VerifyReport report;
    const char *error;
    need_gpu(f);
    assert_true(gpu_verify(f->gpu, load(f, ""), f->def, &options, &report, &error));
    assert_int_equal(report.failed, report.cases.len);
    assert_non_null(strstr(report.cases.data[0].problem, "n has no value"));
}

/* ---- guard -------------------------------------------------------------------------- */

static int return_seven(void *user)
{
    (void)user;
    return 7;
}

static int sleep_on(void *user)
{
    (void)user;
    return (int)sleep(600);
}

static int crash(void *user)
{
    raise(*(int *)user);
    return 0;
}

static void test_guard(void **state)
{
    const char *problem;
    (void)state;
    assert_int_equal(gpu_guarded(20, return_seven, NULL, &problem), 7);
    assert_int_equal(gpu_guarded(0.05, sleep_on, NULL, &problem), -1);
    assert_non_null(strstr(problem, "hung"));
    int signal_number = SIGKILL;
    assert_int_equal(gpu_guarded(20, crash, &signal_number, &problem), -1);
    assert_non_null(strstr(problem, "crashed"));
}

static int verify_hanging(void *user)
{
    Fixture *f = user;
    VerifyReport report;
    const char *error;
    return verify(f, "fault=hang", true, &report, &error);
}

static void test_hanging_kernel(void **state)
{
    Fixture *f = *state;
    const char *problem;
    need_gpu(f);
    assert_int_equal(gpu_guarded(0.5, verify_hanging, f, &problem), -1);
    assert_non_null(strstr(problem, "the kernel hung"));
    gpu_set_patience(f->gpu, 1);
    assert_int_equal(gpu_guarded(0, verify_hanging, f, &problem), -1);
    assert_non_null(strstr(problem, "the kernel hung"));
}

/* ---- buffers, shapes ---------------------------------------------------------------- */

static Tensor *small_tensor(Fixture *f)
{
    const char *error;
    Tensor *t = tensor_new(f->arena, "T", DT_BF16, 3, (const int64_t[]){2, 3, 5}, &error);
    tensor_fill(t, FILL_NORMAL, 1);
    return t;
}

static void test_placings(void **state)
{
    static const struct {
        Placing placing;
        int64_t strides[3];
        size_t lead, bytes;
    } want[] = {
        {PLACE_PLAIN, {15, 5, 1}, GUARD_BYTES, 60},
        {PLACE_OFFSET, {15, 5, 1}, GUARD_BYTES + 2, 60},
        {PLACE_PADDED, {39, 13, 1}, GUARD_BYTES, 2 * (39 + 26 + 5)},
        {PLACE_ODD, {18, 6, 1}, GUARD_BYTES, 2 * (18 + 12 + 5)},
        {PLACE_TRANSPOSED, {5, 10, 1}, GUARD_BYTES, 60},
    };
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(want); i++) {
        Buffer b;
        buffer_plan(f->arena, &b, small_tensor(f), want[i].placing, false);
        assert_memory_equal(b.view.strides, want[i].strides, sizeof want[i].strides);
        assert_int_equal(b.lead, want[i].lead);
        assert_int_equal(b.view.bytes, want[i].bytes);
        assert_true(b.bytes >= b.lead + b.view.bytes + GUARD_BYTES);
    }
}

/* Every element of a placed tensor comes back; every other byte is watched. */
static void test_inspection(void **state)
{
    Fixture *f = *state;
    Tensor *t = small_tensor(f);
    for (int p = 0; p < PLACE_COUNT; p++) {
        Buffer b;
        int64_t unwritten;
        Tensor *back = small_tensor(f);
        buffer_plan(f->arena, &b, t, (Placing)p, false);
        char *bytes = arena_alloc(f->arena, b.bytes);
        memcpy(bytes, b.image, b.bytes);
        memset(back->data, 0, back->bytes);
        assert_int_equal(buffer_inspect(&b, bytes, true, back, &unwritten), DAMAGE_NONE);
        assert_memory_equal(back->data, t->data, t->bytes);
        assert_int_equal(unwritten, 30); /* nothing differs from the image */
        bytes[b.lead - 1] ^= 1;
        assert_int_equal(buffer_inspect(&b, bytes, true, NULL, &unwritten), DAMAGE_BEFORE);
        bytes[b.lead - 1] ^= 1;
        bytes[b.lead + b.view.bytes] ^= 1;
        assert_int_equal(buffer_inspect(&b, bytes, true, NULL, &unwritten), DAMAGE_AFTER);
        bytes[b.lead + b.view.bytes] ^= 1;
        bytes[b.lead] ^= 1;
        assert_int_equal(buffer_inspect(&b, bytes, false, NULL, &unwritten), DAMAGE_ELEMENT);
        assert_int_equal(buffer_inspect(&b, bytes, true, NULL, &unwritten), DAMAGE_NONE);
        assert_int_equal(unwritten, 29);
    }
}

/* What no conversion to 8 bits gives. */
static void test_bytes_are_poisoned_with_nan(void **state)
{
    static const DType types[] = {DT_E4M3, DT_E5M2};
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        Buffer b;
        Tensor t = *small_tensor(f);
        t.dtype = types[i];
        buffer_plan(f->arena, &b, &t, PLACE_PADDED, true);
        for (int k = 0; k < 5; k++)
            assert_int_equal((uint8_t)b.image[b.lead + (size_t)k], 0xFF);
        assert_int_not_equal((uint8_t)b.image[b.lead - 1] & (uint8_t)b.image[b.lead - 2], 0xFF); /* the guard */
    }
}

/* Any pattern of 8 bits is a number of these: -1, as the poison is, is as good as any other. */
static void test_integers_of_bytes_have_no_poison(void **state)
{
    static const DType types[] = {DT_I8, DT_U8};
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(types); i++) {
        Buffer b;
        int64_t unwritten;
        Tensor t = *small_tensor(f);
        t.dtype = types[i];
        buffer_plan(f->arena, &b, &t, PLACE_PADDED, true);
        char *bytes = arena_alloc(f->arena, b.bytes);
        memcpy(bytes, b.image, b.bytes);
        assert_int_equal(buffer_inspect(&b, bytes, true, NULL, &unwritten), DAMAGE_NONE);
        assert_int_equal(unwritten, 0);
    }
}

static void test_guard_words_are_nan(void **state)
{
    (void)state;
    for (size_t i = 0; i < 64; i++) {
        uint16_t w = guard_word(i);
        uint16_t words[4] = {guard_word(i), guard_word(i + 1), guard_word(i + 2),
                             guard_word(i + 3)};
        double wide = dtype_load(DT_F64, words), single = dtype_load(DT_F32, words);
        double half = dtype_load(DT_F16, &w), brain = dtype_load(DT_BF16, &w);
        assert_true(half != half && brain != brain && single != single && wide != wide);
        assert_int_not_equal(w, 0x7fff); /* the NaN that arithmetic gives */
    }
}

static bool has_shape(const GpuShapes *shapes, const char *text)
{
    for (int i = 0; i < shapes->list.len; i++)
        if (strstr(shapes->list.data[i].what, text))
            return true;
    return false;
}

static void test_shapes(void **state)
{
    static const char *const wanted[] = {" n=0",  " n=1",   " n=15",   " n=16",  " n=17",
                                         " n=35", " n=256", "batch=0", "batch=3"};
    Fixture *f = *state;
    GpuShapes *shapes = gpu_shapes(f->arena, f->abi, f->def, shape, 2, 5);
    assert_int_equal(gpu_grid_tile(f->abi, "n"), 16);
    assert_int_equal(gpu_grid_tile(f->abi, "batch"), 0);
    for (size_t i = 0; i < TW_COUNT(wanted); i++)
        if (!has_shape(shapes, wanted[i]))
            fail_msg("no shape has%s", wanted[i]);
}

/* Kernels that share lengths among them are each tried on the longest of theirs; the definition would take long for longer ones. */
static void test_shapes_of_ranges(void **state)
{
    static const char *const wanted[] = {" n=63", " n=64", " n=4095", " n=4096", " n=4097", " n=5120"};
    static const int64_t ends[] = {64, 4096, 1 << 30};
    Fixture *f = *state;
    AffCtx *aff = aff_ctx_new(f->arena);
    const Aff *one = aff_const(aff, 1), *n = aff_of(aff, aff_sym_new(aff, "n", AFF_DIM, 0, INT32_MAX)), *blocks = n;

    assert_int_equal(gpu_range_shapes(f->arena, f->abi, f->def, shape, 2, 5)->list.len, 0);
    for (size_t i = 0; i < TW_COUNT(ends); i++) {
        GpuShapes *shapes;

        blocks = aff_mul(aff, blocks, aff_min(aff, one, aff_div(aff, aff_const(aff, ends[i]), aff_max(aff, one, n))));
        f->abi->kernels.data[0].fast.blocks = blocks;
        shapes = gpu_range_shapes(f->arena, f->abi, f->def, shape, 2, 5);
        assert_int_equal(shapes->list.len, (i == 0 ? 4 : i == 1 ? 6 : 4));
        for (size_t k = 0; i == 1 && k < TW_COUNT(wanted); k++)
            if (!has_shape(shapes, wanted[k]))
                fail_msg("no shape has%s", wanted[k]);
    }
}

static void test_binding(void **state)
{
    Fixture *f = *state;
    int64_t dims[2];
    double params[1];
    const char *error;
    RefBinding b[] = {{"n", 5}, {"batch", -1}};
    assert_false(gpu_bind(f->arena, f->abi, f->def, b, 2, dims, params, &error));
    assert_non_null(strstr(error, "batch"));
    b[1].value = 2;
    assert_true(gpu_bind(f->arena, f->abi, f->def, b, 2, dims, params, &error));
    assert_int_equal(dims[0], 2);
    assert_int_equal(dims[1], 5);
}

/* ---- without the stand-in -------------------------------------------------------------- */

static int open_real(void *user)
{
    Heap heap = {0};
    jmp_buf oom;
    const char *error = NULL;
    (void)user;
    heap.on_oom = &oom;
    if (setjmp(oom))
        return 0;
    Gpu *gpu = gpu_open(arena_new(&heap), &error);
    return gpu || (error && strlen(error) > 20);
}

/* A sentence, or a real GPU. In a process of its own: a real library, once it
 * is loaded, would be found instead of the stand-in. */
static void test_without_stand_in(void **state)
{
    const char *problem;
    (void)state;
    assert_int_equal(gpu_guarded(60, open_real, NULL, &problem), 1);
}

int main(void)
{
    const struct CMUnitTest before[] = {cmocka_unit_test(test_without_stand_in)};
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_info),
        TEST(test_load),
        TEST(test_conservative),
        TEST(test_local_memory_that_was_meant),
        TEST(test_cubin),
        TEST(test_serialised_cubin),
        TEST(test_verify_passes),
        TEST(test_verify_only_requested),
        TEST(test_verify_finds_faults),
        TEST(test_verify_sums_in_any_order), TEST(test_persistent),
        TEST(test_verify_stops_when_the_gpu_is_lost),
        TEST(test_verify_wants_all_dimensions),
        TEST(test_guard),
        TEST(test_hanging_kernel),
        TEST(test_placings),
        TEST(test_inspection),
        TEST(test_guard_words_are_nan),
        TEST(test_bytes_are_poisoned_with_nan),
        TEST(test_integers_of_bytes_have_no_poison),
        TEST(test_shapes),
        TEST(test_shapes_of_ranges),
        TEST(test_binding),
#undef TEST
    };
    int failed = cmocka_run_group_tests_name("gpu as it is", before, NULL, NULL);
    make_library();
    return failed + cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
