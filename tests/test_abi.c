/* test_abi.c: the launch ABI: order of arguments, packing, JSON there and back,
 * damaged comments, the generated C header compiled and run. */
#include "abi/abi.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const Target target = {.name = "sm_80"};

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Syms *syms;
    AffCtx *aff;
    AffSym *batch, *len, *keys;
    Abi *abi;
} Fixture;

static TileTensor *tensor(Fixture *f, TileProgram *p, const char *name, DType dtype, int rank, ...)
{
    TileTensor *t = arena_new_of(f->arena, TileTensor);
    va_list dims;
    *t = (TileTensor){.name = name, .dtype = dtype, .rank = rank, .index = p->tensors.len};
    va_start(dims, rank);
    for (int i = 0; i < rank; i++)
        t->dims[i] = va_arg(dims, const Aff *);
    va_end(dims);
    vec_push(f->arena, &p->tensors, t);
    return t;
}

/* Q (batch, 32, len, 128), K (batch, 8, keys, 128), Bias (keys), O like Q, a workspace. */
static void add_tensors(Fixture *f, TileProgram *p)
{
    const Aff *b = aff_of(f->aff, f->batch), *n = aff_of(f->aff, f->len),
              *k = aff_of(f->aff, f->keys);
    const Aff *d = aff_const(f->aff, 128);
    tensor(f, p, "Q", DT_BF16, 4, b, aff_const(f->aff, 32), n, d)->read = true;
    tensor(f, p, "K", DT_BF16, 4, b, aff_const(f->aff, 8), k, d)->read = true;
    tensor(f, p, "Bias", DT_F32, 1, k)->read = true;
    tensor(f, p, "O", DT_BF16, 4, b, aff_const(f->aff, 32), n, d)->written = true;
    TileTensor *w = tensor(f, p, "class", DT_F32, 2, b, aff_scale(f->aff, n, 2));
    w->read = w->written = w->workspace = true;
}

/* Reads 64 columns, for which addresses and strides should be aligned. */
static void add_load(Fixture *f, TileProgram *p, TileKernel *k, const TileTensor *t)
{
    TileType type = tile_type(t->dtype, 1, 64, SPACE_REGISTER);
    TileOp *op = tile_op_new(p, k, TILE_LOAD, 0, NULL, 1, &type);
    op->tensor = (TileTensor *)t;
    op->col_dim = t->rank - 1;
    op->coords = arena_array(f->arena, const Aff *, t->rank);
    for (int d = 0; d < t->rank; d++)
        op->coords[d] = aff_const(f->aff, 0);
    tile_append(p, k->body, op);
}

static void add_kernel(Fixture *f, TileProgram *p, const char *name, int64_t shared)
{
    const Aff *tiles = aff_ceildiv(f->aff, aff_of(f->aff, f->len), aff_const(f->aff, 128));
    TileKernel *k = tile_kernel_new(p, name);
    AffSym *m = aff_sym_new(f->aff, "m", AFF_GRID, 0, INT32_MAX);
    vec_push(f->arena, &k->grid, (TileAxis){.sym = m, .extent = tiles});
    vec_push(f->arena, &k->grid, (TileAxis){.sym = m, .extent = aff_const(f->aff, 32)});
    vec_push(f->arena, &k->grid, (TileAxis){.sym = m, .extent = aff_of(f->aff, f->batch)});
    k->shared_bytes = shared;
    for (int i = 0; i < p->tensors.len; i++)
        add_load(f, p, k, p->tensors.data[i]);
}

static void build(Fixture *f)
{
    TileProgram *p = tile_program_new(f->arena, f->aff, "flow");
    f->batch = aff_sym_new(f->aff, "batch", AFF_DIM, 0, INT32_MAX);
    f->len = aff_sym_new(f->aff, "long", AFF_DIM, 0, INT32_MAX);
    f->keys = aff_sym_new(f->aff, "Q", AFF_DIM, 0, 1 << 20); /* named like a tensor */
    vec_push(f->arena, &p->dims, f->batch);
    vec_push(f->arena, &p->dims, f->len);
    vec_push(f->arena, &p->dims, f->keys);
    vec_push(f->arena, &p->params, "scale");
    add_tensors(f, p);
    add_kernel(f, p, "flow", 98304);
    add_kernel(f, p, "combine", 0);
    vec_push(f->arena, &p->requires,
             (TileRequire){.cond = aff_le(f->aff, aff_of(f->aff, f->len), aff_of(f->aff, f->keys)),
                           .message = "long */ must not exceed \"Q\" ?\?/"});
    f->abi = abi_from_tile(f->arena, p, &target);
    f->abi->definition =
        "Operator flow\n  # na\xc3\xafve \xf0\x9f\x99\x82     with      gaps\nend\n";
    f->abi->settings = "q_heads=32 HeadDim=128";
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    if (!f || setjmp(f->oom))
        return -1;
    f->heap.on_oom = &f->oom;
    f->arena = arena_new(&f->heap);
    f->syms = syms_new(f->arena);
    f->aff = aff_ctx_new(f->arena);
    build(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    arena_free(f->arena);
    size_t live = f->heap.live;
    free(f);
    return live ? -1 : 0;
}

/* ---- arguments ---------------------------------------------------------------------- */

static void test_argument_order(void **state)
{
    static const struct {
        const char *name;
        AbiArgKind kind;
        int offset;
    } want[] = {
        {"Q", ABI_ADDRESS, 0},
        {"K", ABI_ADDRESS, 8},
        {"Bias", ABI_ADDRESS, 16},
        {"O", ABI_ADDRESS, 24},
        {"class", ABI_ADDRESS, 32},
        {"Q_stride0", ABI_STRIDE, 40},
        {"Q_stride1", ABI_STRIDE, 48},
        {"Q_stride2", ABI_STRIDE, 56},
        {"K_stride0", ABI_STRIDE, 64},
        {"K_stride1", ABI_STRIDE, 72},
        {"K_stride2", ABI_STRIDE, 80},
        {"O_stride0", ABI_STRIDE, 88},
        {"O_stride1", ABI_STRIDE, 96},
        {"O_stride2", ABI_STRIDE, 104},
        {"class_stride0", ABI_STRIDE, 112},
        {"batch", ABI_DIM, 120},
        {"long", ABI_DIM, 124},
        {"Q_", ABI_DIM, 128},
        {"scale", ABI_PARAM, 132},
    };
    const Abi *abi = ((Fixture *)*state)->abi;
    assert_int_equal(abi->args.len, TW_COUNT(want));
    for (size_t i = 0; i < TW_COUNT(want); i++) {
        assert_string_equal(abi->args.data[i].name, want[i].name);
        assert_int_equal(abi->args.data[i].kind, want[i].kind);
        assert_int_equal(abi->args.data[i].offset, want[i].offset);
    }
    assert_int_equal(abi->param_bytes, 136);
    assert_string_equal(abi->kernels.data[0].fast.name, "flow");
    assert_string_equal(abi->kernels.data[0].any.name, "flow_any");
    assert_int_equal(abi->kernels.data[0].fast.threads, 128);
}

typedef struct Launch {
    Tensor *tensors[5];
    uint64_t addresses[5];
    int64_t dims[3];
    double params[1];
    char space[136];
    bool fast;
} Launch;

static Launch launch_of(Fixture *f, int64_t batch, int64_t len, int64_t keys)
{
    const char *error;
    int64_t q[] = {batch, 32, len, 128}, k[] = {batch, 8, keys, 128}, w[] = {batch, 2 * len};
    Launch l = {.dims = {batch, len, keys}, .params = {0.125}};
    l.tensors[0] = tensor_new(f->arena, "Q", DT_BF16, 4, q, &error);
    l.tensors[1] = tensor_new(f->arena, "K", DT_BF16, 4, k, &error);
    l.tensors[2] = tensor_new(f->arena, "Bias", DT_F32, 1, &keys, &error);
    l.tensors[3] = tensor_new(f->arena, "O", DT_BF16, 4, q, &error);
    l.tensors[4] = tensor_new(f->arena, "class", DT_F32, 2, w, &error);
    for (int i = 0; i < 5; i++) {
        assert_non_null(l.tensors[i]);
        l.addresses[i] = 0x7000000000u + (uint64_t)i * 0x100000;
    }
    return l;
}

static bool pack(Fixture *f, Launch *l, const char **error)
{
    const AbiHost host = {.sms = 4};
    return abi_pack(f->abi, l->tensors, l->addresses, l->dims, l->params, &host, l->space, &l->fast, error);
}

static bool is_fast(Fixture *f, Launch *l)
{
    const char *error;
    assert_true(pack(f, l, &error));
    return l->fast;
}

static void test_pack(void **state)
{
    Fixture *f = *state;
    Launch l = launch_of(f, 2, 3, 5);
    const char *error;
    int64_t stride;
    int32_t dim;
    float scale;
    assert_true(pack(f, &l, &error));
    assert_memory_equal(l.space + 24, &l.addresses[3], 8);
    memcpy(&stride, l.space + 40, 8);
    assert_int_equal(stride, 32 * 3 * 128);
    memcpy(&stride, l.space + 80, 8);
    assert_int_equal(stride, 128);
    memcpy(&dim, l.space + 128, 4);
    assert_int_equal(dim, 5);
    memcpy(&scale, l.space + 132, 4);
    assert_true(scale == 0.125f);
}

static void assert_refused(Fixture *f, Launch *l, const char *want)
{
    const char *error = NULL;
    assert_false(pack(f, l, &error));
    if (!strstr(error, want))
        fail_msg("'%s' does not say '%s'", error, want);
}

static void test_pack_refuses(void **state)
{
    Fixture *f = *state;
    Launch good = launch_of(f, 2, 3, 5), l = good;
    l.dims[2] = (1 << 20) + 1;
    assert_refused(f, &l, "dimension Q is 1048577");
    l = good, l.dims[0] = -1;
    assert_refused(f, &l, "dimension batch is -1");
    l = launch_of(f, 2, 6, 5);
    assert_refused(f, &l, "must not exceed");
    l = good, l.addresses[2] += 2;
    assert_refused(f, &l, "address of Bias");
    l = good, l.tensors[0] = l.tensors[2];
    assert_refused(f, &l, "Q is fp32; it must be bf16");
    l = good, l.tensors[1] = l.tensors[0];
    assert_refused(f, &l, "dimension 1 of K is 32");
    l = good, l.tensors[3] = NULL;
    assert_refused(f, &l, "tensor O is missing");
    l = good, l.tensors[0]->strides[3] = 2;
    assert_refused(f, &l, "innermost stride of Q");
    good.tensors[0]->strides[3] = 1, good.tensors[0]->strides[1] = -4, l = good;
    assert_refused(f, &l, "stride 1 of Q is -4");
}

static void test_aligned(void **state)
{
    Fixture *f = *state;
    Launch l = launch_of(f, 1, 4, 8);
    assert_true(is_fast(f, &l));
    l.addresses[1] += 2;
    assert_false(is_fast(f, &l));
    l.addresses[1] += 14;
    assert_true(is_fast(f, &l));
    l.tensors[3]->strides[2] = 132;
    assert_false(is_fast(f, &l));
    l.tensors[3]->strides[2] = 136;
    assert_true(is_fast(f, &l));
}

/* What is accessed an element at a time, across memory, or from the middle of a
 * chunk may lie anywhere. */
static void test_aligned_as_accessed(void **state)
{
    Fixture *f = *state;
    TileType narrow = tile_type(DT_F32, 128, 1, SPACE_REGISTER), wide = tile_type(DT_F32, 16, 16, SPACE_REGISTER);
    const struct {
        TileType type;
        int row_dim, col_dim;
        int64_t corner;
        int alignment;
    } accesses[] = {
        {narrow, 1, -1, 0, 4}, {narrow, 0, 1, 0, 4}, {wide, 1, 0, 0, 4}, {wide, 0, 1, 2, 4}, {wide, 0, 1, 4, 16},
    };
    for (size_t i = 0; i < TW_COUNT(accesses); i++) {
        TileProgram *p = tile_program_new(f->arena, f->aff, "accesses");
        TileTensor *t = tensor(f, p, "L", DT_F32, 2, aff_of(f->aff, f->len), aff_of(f->aff, f->keys));
        TileKernel *k = tile_kernel_new(p, "accesses");
        TileOp *op = tile_op_new(p, k, TILE_LOAD, 0, NULL, 1, &accesses[i].type);
        op->tensor = t;
        op->row_dim = accesses[i].row_dim;
        op->col_dim = accesses[i].col_dim;
        op->coords = arena_array(f->arena, const Aff *, 2);
        op->coords[0] = aff_const(f->aff, 0);
        op->coords[1] = aff_const(f->aff, accesses[i].corner);
        tile_append(p, k->body, op);
        assert_int_equal(abi_from_tile(f->arena, p, &target)->tensors.data[0].alignment, accesses[i].alignment);
    }
}

static void test_blocks(void **state)
{
    Fixture *f = *state;
    const char *error = NULL;
    int64_t blocks, dims[3] = {3, 129, 1000};
    assert_true(abi_blocks(f->abi, &f->abi->kernels.data[0].fast, dims, 4, &blocks, &error));
    assert_int_equal(blocks, 2 * 32 * 3);
    dims[1] = 0;
    assert_true(abi_blocks(f->abi, &f->abi->kernels.data[1].any, dims, 4, &blocks, &error));
    assert_int_equal(blocks, 0);
    dims[0] = INT32_MAX, dims[1] = 1 << 20, dims[2] = 1 << 20;
    assert_false(abi_blocks(f->abi, &f->abi->kernels.data[0].fast, dims, 4, &blocks, &error));
    assert_non_null(strstr(error, "ceil(long / 128)"));
    dims[2] = 5;
    assert_false(abi_blocks(f->abi, &f->abi->kernels.data[0].fast, dims, 4, &blocks, &error));
}

/* ---- JSON --------------------------------------------------------------------------- */

static Source as_source(Fixture *f, const Abi *abi, const char *after)
{
    Str s = str_new(f->arena);
    str_add(&s, "// made by hand\n\n");
    abi_ptx_comment(&s, abi);
    str_add(&s, after);
    return (Source){.path = "test.ptx", .text = str_text(&s), .len = s.len};
}

static Abi *read_back(Fixture *f, const Source *source, Diags **diags)
{
    *diags = diags_new(f->arena, source);
    return abi_from_ptx(f->arena, f->syms, f->aff, source, *diags);
}

static void test_round_trip(void **state)
{
    Fixture *f = *state;
    Diags *diags;
    Source source = as_source(f, f->abi, "\n.version 8.0\n.target sm_80\n");
    Abi *back = read_back(f, &source, &diags);
    Str before = str_new(f->arena), after = str_new(f->arena);
    assert_non_null(back);
    assert_int_equal(diags->list.len, 0);
    abi_json(&before, f->abi);
    abi_json(&after, back);
    assert_string_equal(str_text(&before), str_text(&after));
    assert_string_equal(back->definition, f->abi->definition);
    assert_int_equal(back->kernels.data[0].fast.shared_bytes, 98304);
    int64_t blocks, dims[3] = {3, 129, 1000};
    const char *error;
    assert_true(abi_blocks(back, &back->kernels.data[0].fast, dims, 4, &blocks, &error));
    assert_int_equal(blocks, 192);
    assert_ptr_equal(back->kernels.data[0].fast.blocks, back->kernels.data[1].any.blocks);
}

static void test_comment_lines(void **state)
{
    Fixture *f = *state;
    Source source = as_source(f, f->abi, "");
    for (const char *line = strstr(source.text, "//tw"); *line;) {
        size_t len = strcspn(line, "\n");
        assert_true(len <= 100);
        assert_memory_equal(line, "//tw ", 5);
        assert_true(line[len - 1] != ' ');
        for (size_t i = 0; i < len; i++)
            assert_true(line[i] >= 0x20 && line[i] < 0x7f);
        line += len + (line[len] == '\n');
    }
}

static void test_line_ends_of_windows(void **state)
{
    Fixture *f = *state;
    Source unix_text = as_source(f, f->abi, ".version 8.0\n");
    Str s = str_new(f->arena);
    Diags *diags;
    for (size_t i = 0; i < unix_text.len; i++) {
        if (unix_text.text[i] == '\n')
            str_addc(&s, '\r');
        str_addc(&s, unix_text.text[i]);
    }
    Source source = {.path = "crlf.ptx", .text = str_text(&s), .len = s.len};
    assert_non_null(read_back(f, &source, &diags));
}

static void test_no_comment(void **state)
{
    Fixture *f = *state;
    Diags *diags;
    Source source = {.path = "x.ptx", .text = "// a\n.version 8.0\n//tw {}\n", .len = 26};
    assert_null(read_back(f, &source, &diags));
    assert_int_equal(diags->list.len, 1);
    assert_int_equal(diags->list.data[0].code, TW0901);
    source.len = 0;
    assert_null(read_back(f, &source, &diags));
}

/* The text with its first `from` replaced. */
static Source edited(Fixture *f, const char *from, const char *to)
{
    Source source = as_source(f, f->abi, "");
    const char *at = strstr(source.text, from);
    Str s = str_new(f->arena);
    assert_non_null(at);
    str_addn(&s, source.text, (size_t)(at - source.text));
    str_add(&s, to);
    str_add(&s, at + strlen(from));
    return (Source){.path = "edited.ptx", .text = str_text(&s), .len = s.len};
}

static void test_damage_is_named(void **state)
{
    static const struct {
        const char *from, *to;
        DiagCode code;
        const char *message;
    } cases[] = {
        {"\"tilewright\": 2", "\"tilewright\": 1", TW0903, "version 1"},
        {"\"tilewright\": 2", "\"tilewright\": \"2\"", TW0902, "tilewright is not an integer"},
        {"\"target\": \"sm_80\",", "", TW0902, "target is missing"},
        {"\"name\": \"flow\"", "\"name\": \"a b\"", TW0902, "name is not a name"},
        {"\"dtype\": \"bf16\"", "\"dtype\": \"bf61\"", TW0902, "no element type"},
        {"\"threads\": 128", "\"threads\": 4096", TW0902, "threads is 4096; it can be 1 to 1024"},
        {"\"read\": true", "\"read\": 1", TW0902, "tensors[0].read"},
        {"ceil(long / 128)", "ceil(short / 128)", TW0902, "kernels[0].blocks"},
        {"ceil(long / 128)", "ceil(long / 0)", TW0902, "kernels[0].blocks"},
        {"ceil(long / 128)", "2 +", TW0902, "kernels[0].blocks"},
        {"\"offset\": 8,", "\"offset\": 16,", TW0902, "args[1]"},
        {"\"param_bytes\": 136", "\"param_bytes\": 140", TW0902, "param_bytes"},
        {"\"alignment\": 16", "\"alignment\": 0", TW0902, "alignment is 0"},
        {"\"params\": [", "\"params\": [3,", TW0902, "params[0] is not a string"},
        {"\"max\": 1048576", "\"max\": 1048576, \"max\": 3", TW0902, "not JSON"},
        {"{", "[", TW0902, "not JSON"},
    };
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Diags *diags;
        Source source = edited(f, cases[i].from, cases[i].to);
        assert_null(read_back(f, &source, &diags));
        assert_int_equal(diags->list.data[0].code, cases[i].code);
        if (!strstr(diags->list.data[0].message, cases[i].message))
            fail_msg("'%s' does not say '%s'", diags->list.data[0].message, cases[i].message);
    }
}

/* The caret stands where the JSON goes wrong, lines and prefixes counted. */
static void test_syntax_error_has_its_place(void **state)
{
    Fixture *f = *state;
    Diags *diags;
    Source source = edited(f, "\"shared_bytes\": 98304", "\"shared_bytes\": @98304");
    assert_null(read_back(f, &source, &diags));
    int at = (int)(strchr(source.text, '@') - source.text);
    assert_in_range(diags->list.data[0].span.start, at - 1, at + 1);
}

static void test_every_truncation_is_refused(void **state)
{
    Fixture *f = *state;
    Source whole = as_source(f, f->abi, "");
    size_t last = whole.len - 1; /* the newline */
    for (size_t len = 0; len < last; len += len % 7 + 1) {
        Diags *diags;
        Source cut = {
            .path = "cut.ptx", .text = arena_strndup(f->arena, whole.text, len), .len = len};
        assert_null(read_back(f, &cut, &diags));
        assert_true(diags->errors > 0);
    }
}

/* Whatever one wrong byte makes of it: a diagnostic, or an ABI that can be used. */
static void test_wrong_bytes(void **state)
{
    Fixture *f = *state;
    Source whole = as_source(f, f->abi, "");
    Rng rng = {7};
    for (int i = 0; i < 2000; i++) {
        Arena *arena = arena_new(&f->heap);
        char *text = arena_strndup(arena, whole.text, whole.len);
        text[rng_below(&rng, (int)whole.len)] = (char)(rng_next(&rng) & 0xff);
        Source source = {.path = "wrong.ptx", .text = text, .len = whole.len};
        Diags *diags = diags_new(arena, &source);
        Abi *abi = abi_from_ptx(arena, syms_new(arena), aff_ctx_new(arena), &source, diags);
        assert_true(abi ? diags->errors == 0 : diags->errors > 0);
        if (abi) {
            Str s = str_new(arena);
            abi_c_header(&s, abi);
            abi_ptx_comment(&s, abi);
        }
        arena_free(arena);
    }
}

static void test_out_of_memory(void **state)
{
    Fixture *f = *state;
    Source source = as_source(f, f->abi, "");
    for (int fail_in = 1; fail_in < 6; fail_in++) {
        Heap heap = {.fail_in = 0};
        jmp_buf oom;
        Arena *volatile arena = NULL;
        heap.on_oom = &oom;
        if (setjmp(oom) == 0) {
            arena = arena_new(&heap);
            Diags *diags = diags_new(arena, &source);
            heap.fail_in = fail_in;
            abi_from_ptx(arena, syms_new(arena), aff_ctx_new(arena), &source, diags);
        }
        arena_free(arena);
        assert_int_equal(heap.live, 0);
    }
}

/* ---- the C header ------------------------------------------------------------------- */

static const char program[] =
    "#include \"flow.h\"\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "int main(void)\n"
    "{\n"
    "    flow_sm_80_args args;\n"
    "    flow_sm_80_launch launch;\n"
    "    const unsigned char *bytes = (const unsigned char *)&args;\n"
    "    const char *error;\n"
    "    int i, k;\n"
    "    memset(&args, 0, sizeof args);\n"
    "    args.Q = 0x7000000000u; args.K = 0x7000100000u; args.Bias = 0x7000200000u;\n"
    "    args.O = 0x7000300000u; args.class_ = 0x7000400000u;\n"
    "    args.batch = 2; args.long_ = 130; args.Q_ = 200; args.scale = 0.125f;\n"
    "    flow_sm_80_contiguous(&args);\n"
    "    for (k = 0; k < FLOW_SM_80_KERNELS; k++) {\n"
    "        error = flow_sm_80_prepare(k, &args, &launch);\n"
    "        printf(\"%s %s %u %u %u\\n\", error ? error : \"-\", launch.entry, launch.grid, "
    "launch.threads,\n"
    "               launch.shared_bytes);\n"
    "    }\n"
    "    printf(\"%d %d\\n\", launch.params[0] == (void *)&args.Q, launch.params[18] == (void "
    "*)&args.scale);\n"
    "    for (i = 0; i < FLOW_SM_80_PARAM_BYTES; i++)\n"
    "        printf(\"%02x\", bytes[i]);\n"
    "    printf(\"\\n%ld\\n\", (long)flow_sm_80_bytes_class_(&args));\n"
    "    args.K += 2;\n"
    "    error = flow_sm_80_prepare(0, &args, &launch);\n"
    "    printf(\"%s %s\\n\", error ? error : \"-\", launch.entry);\n"
    "    args.batch = 2147483647; args.long_ = 1048576; args.Q_ = 1048576;\n"
    "    puts(flow_sm_80_prepare(0, &args, &launch));\n"
    "    args.Q_ = 3;\n"
    "    puts(flow_sm_80_check(&args));\n"
    "    args.batch = -1;\n"
    "    puts(flow_sm_80_check(&args));\n"
    "    args.Bias += 2;\n"
    "    puts(flow_sm_80_check(&args));\n"
    "    return 0;\n"
    "}\n";

static void write_text(Fixture *f, const char *path, const char *text)
{
    const char *error = file_write(f->arena, path, text, strlen(text));
    if (error)
        fail_msg("%s", error);
}

/* Runs a command line; its output. Compilers may be absent. */
static char *output_of(Fixture *f, const char *command)
{
    Str s = str_new(f->arena);
    char buffer[512];
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        str_addn(&s, buffer, n);
    if (pclose(pipe) != 0)
        fail_msg("%s: %s", command, str_text(&s));
    return (char *)str_text(&s);
}

static const char *expected(Fixture *f)
{
    Launch l = launch_of(f, 2, 130, 200);
    const char *error;
    Str s = str_new(f->arena);
    assert_true(pack(f, &l, &error));
    str_add(&s, "- flow 128 128 98304\n- combine 128 128 0\n1 1\n");
    for (size_t i = 0; i < sizeof l.space; i++)
        str_printf(&s, "%02x", (unsigned char)l.space[i]);
    str_add(&s, "\n2080\n- flow_any\n"
                "the grid has more than 2^31 - 1 blocks\n"
                "long */ must not exceed \"Q\" ?\?/\n"
                "batch is out of its range\n"
                "the address of Bias is not a multiple of its element's size\n");
    return str_text(&s);
}

static void test_header_compiles_and_packs(void **state)
{
    static const char *const compilers[][2] = {
        {"cc", "cc -std=c99 -Wall -Wextra -Werror -pedantic -O1"},
        {"clang", "clang -std=c99 -Wall -Wextra -Werror -pedantic"},
        {"c++", "c++ -x c++ -Wall -Wextra -Werror -pedantic"},
    };
    Fixture *f = *state;
    char folder[] = "/tmp/test_abi.XXXXXX";
    Str header = str_new(f->arena);
    const char *base = arena_strdup(f->arena, mkdtemp(folder));
    int tried = 0;
    abi_c_header(&header, f->abi);
    write_text(f, arena_printf(f->arena, "%s/flow.h", base), str_text(&header));
    write_text(f, arena_printf(f->arena, "%s/main.c", base), program);
    for (size_t i = 0; i < TW_COUNT(compilers); i++) {
        if (system(arena_printf(f->arena, "command -v %s >/dev/null 2>&1", compilers[i][0])) != 0)
            continue;
        tried++;
        char *got = output_of(f, arena_printf(f->arena, "cd %s && %s -o main main.c 2>&1 && ./main",
                                              base, compilers[i][1]));
        assert_string_equal(got, expected(f));
    }
    output_of(f, arena_printf(f->arena, "rm -r %s", base));
    if (!tried)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_argument_order),
        TEST(test_pack),
        TEST(test_pack_refuses),
        TEST(test_aligned),
        TEST(test_aligned_as_accessed),
        TEST(test_blocks),
        TEST(test_round_trip),
        TEST(test_comment_lines),
        TEST(test_line_ends_of_windows),
        TEST(test_no_comment),
        TEST(test_damage_is_named),
        TEST(test_syntax_error_has_its_place),
        TEST(test_every_truncation_is_refused),
        TEST(test_wrong_bytes),
        TEST(test_out_of_memory),
        TEST(test_header_compiles_and_packs),
#undef TEST
    };
    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
