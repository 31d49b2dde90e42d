/* test_abi_maps.c: tensor maps, counters and persistent kernels in the launch ABI:
 * which maps a program has, what a launch encodes, and that the boxes which TMA
 * writes (the emulator's) are the panels of the layout. */
#include "chain/emulated.h"
#include "fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const Target target = {.name = "sm_90a"};

/* ---- boxes -------------------------------------------------------------------------- */

static TileTensor *tensor_of_rank(Arena *arena, AffCtx *aff, DType dtype, int rank)
{
    TileTensor *t = arena_new_of(arena, TileTensor);

    *t = (TileTensor){.name = "T", .dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++)
        t->dims[d] = aff_const(aff, 1000);
    return t;
}

static void boxes_are_panels(void **state)
{
    static const struct {
        DType dtype;
        int rank, row_dim, col_dim, rows, cols;
        int box_rows, box_cols, swizzle; /* box_cols 0: there is no box */
    } cases[] = {
        {DT_BF16, 4, 2, 3, 128, 128, 128, 64, 128},
        {DT_BF16, 4, 1, 3, 128, 128, 128, 64, 128}, /* rows along another dimension */
        {DT_F16, 2, 0, 1, 64, 32, 64, 32, 64},
        {DT_BF16, 2, 0, 1, 64, 16, 64, 16, 32},
        {DT_BF16, 2, 0, 1, 64, 8, 64, 8, 0},
        {DT_BF16, 2, 0, 1, 64, 96, 64, 32, 64},
        {DT_E4M3, 3, 1, 2, 64, 256, 64, 128, 128},
        {DT_F32, 3, 1, 2, 64, 64, 64, 8, 32},
        {DT_BF16, 2, 0, 1, 264, 64, 88, 64, 128}, /* more rows than a box has */
        {DT_BF16, 2, 0, 1, 512, 64, 256, 64, 128},
        {DT_BF16, 5, 3, 4, 64, 64, 64, 64, 128},
        {DT_BF16, 3, -1, 2, 1, 512, 1, 256, 0},   /* vectors */
        {DT_F32, 3, 2, -1, 128, 1, 1, 128, 0},
        {DT_BF16, 3, -1, 2, 1, 264, 0, 0, 0},     /* of three boxes the second would begin at byte 176 */
        {DT_BF16, 6, 4, 5, 64, 64, 0, 0, 0},
        {DT_BF16, 2, 1, 0, 64, 64, 0, 0, 0},      /* across memory */
        {DT_BF16, 2, 0, 1, 60, 64, 0, 0, 0},      /* the swizzle repeats every eight rows */
        {DT_BF16, 2, 0, 1, 64, 12, 0, 0, 0},
        {DT_F32, 3, 2, -1, 3, 1, 0, 0, 0},
    };
    Arena *arena = ((Fixture *)*state)->arena;
    AffCtx *aff = aff_ctx_new(arena);

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        TileTensor *t = tensor_of_rank(arena, aff, cases[i].dtype, cases[i].rank);
        TileType stage = {.kind = TT_BUFFER, .dtype = cases[i].dtype, .rows = cases[i].rows, .cols = cases[i].cols};
        TileBox box;

        if (!tile_box(t, cases[i].row_dim, cases[i].col_dim, &stage, &box)) {
            if (cases[i].box_cols)
                fail_msg("case %zu has no box", i);
            continue;
        }
        if (!cases[i].box_cols)
            fail_msg("case %zu has a box", i);
        assert_int_equal(box.size[t->rank - 1], cases[i].box_cols);
        if (cases[i].row_dim >= 0 && cases[i].row_dim < t->rank - 1)
            assert_int_equal(box.size[cases[i].row_dim], cases[i].box_rows);
        assert_int_equal(box.swizzle, cases[i].swizzle);
        for (int d = 0; d < t->rank - 1; d++)
            if (d != cases[i].row_dim)
                assert_int_equal(box.size[d], 1);
    }
}

/* ---- a program ---------------------------------------------------------------------- */

/* Tiles of T, and those of a neighbour's shape twice, go through rings; the plain kernel has smaller ones. */
static const char text[] =
    "program boxes\n"
    "dim b in 0..\n"
    "dim n in 0..\n"
    "dim k in 0..\n"
    "tensor T (b, n, %d) %s in\n"
    "tensor O (k) bf16 out\n"
    "kernel boxes grid(m: ceil(n / %d), h: b) warps 2 persistent 1 facts(expanded, staged) {\n"
    "  %%r = ring : %s<1x%dx%d>\n"
    "  %%s = ring : %s<2x%dx%d>\n"
    "  roles {\n"
    "    load (warps 1) {\n"
    "      acquire %%r\n"
    "      copy_async T[h, m * %d : rows, 0 : cols], %%r\n"
    "      filled %%r\n"
    "      acquire %%s\n"
    "      copy_async T[h, m * %d : rows, 0 : cols], %%s\n"
    "      filled %%s\n"
    "    }\n"
    "    use (warps 1) {\n"
    "      %%t = await %%r : shared %s<%dx%d>\n"
    "      release %%r\n"
    "      %%u = await %%s : shared %s<%dx%d>\n"
    "      release %%s\n"
    "    }\n"
    "  }\n"
    "}\n"
    "kernel plain grid(m: ceil(n / 32), h: b) warps 4 {\n"
    "}\n";

typedef struct Case {
    DType dtype;
    int rows, cols;
} Case;

typedef struct Made {
    Arena *arena;
    Syms *syms;
    AffCtx *aff;
    TileProgram *program;
    Abi *abi;
} Made;

static Made make(Arena *arena, Case c)
{
    Made m = {.arena = arena, .syms = syms_new(arena), .aff = aff_ctx_new(arena)};
    const char *type = dtype_name(c.dtype);
    Source *source = arena_new_of(arena, Source);
    Str shown = str_new(arena);

    source->path = "boxes.tile";
    source->text = arena_printf(arena, text, c.cols, type, c.rows, type, c.rows, c.cols, type, c.rows, c.cols, c.rows,
                                c.rows, type, c.rows, c.cols, type, c.rows, c.cols);
    source->len = strlen(source->text);
    Diags *diags = diags_new(arena, source);
    m.program = tile_parse(arena, m.syms, m.aff, source, diags);
    diags_text(diags, &shown);
    if (!m.program)
        fail_msg("%s", str_text(&shown));
    m.program->kernels.data[0]->plain = m.program->kernels.data[1];
    m.program->kernels.data[0]->shared_bytes = 200000;
    m.program->kernels.len = 1;
    m.abi = abi_from_tile(arena, m.program, &target);
    return m;
}

static const Case usual = {DT_BF16, 64, 128};

static const TileOp *copy_in(const TileBlock *block, int nth)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_COPY_ASYNC && nth-- == 0)
            return op;
        for (int r = 0; r < op->n_regions; r++) {
            const TileOp *found = copy_in(op->regions[r], nth);
            if (found)
                return found;
        }
    }
    return NULL;
}

static void a_program_has_maps(void **state)
{
    static const struct {
        const char *name;
        AbiArgKind kind;
        int offset, bytes;
    } want[] = {
        {"T_map", ABI_MAP, 0, 128},      {"T", ABI_ADDRESS, 128, 8},       {"O", ABI_ADDRESS, 136, 8},
        {"boxes_counter", ABI_COUNTER, 144, 8}, {"T_stride0", ABI_STRIDE, 152, 8}, {"T_stride1", ABI_STRIDE, 160, 8},
        {"b", ABI_DIM, 168, 4},          {"n", ABI_DIM, 172, 4},           {"k", ABI_DIM, 176, 4},
    };
    Made m = make(((Fixture *)*state)->arena, usual);
    const AbiKernel *k = &m.abi->kernels.data[0];
    const TileBlock *body = m.program->kernels.data[0]->body;

    assert_int_equal(m.abi->args.len, TW_COUNT(want));
    for (size_t i = 0; i < TW_COUNT(want); i++) {
        assert_string_equal(m.abi->args.data[i].name, want[i].name);
        assert_int_equal(m.abi->args.data[i].kind, want[i].kind);
        assert_int_equal(m.abi->args.data[i].offset, want[i].offset);
        assert_int_equal(m.abi->args.data[i].bytes, want[i].bytes);
    }
    assert_int_equal(m.abi->maps.len, 1); /* the same for both copies */
    assert_int_equal(m.abi->maps.data[0].box[1], 64);
    assert_int_equal(m.abi->tensors.data[0].alignment, 16);
    assert_int_equal(abi_map_of(m.abi, m.program, copy_in(body, 0)), 0);
    assert_int_equal(abi_map_of(m.abi, m.program, body->ops.data[0]), -1);
    assert_int_equal(k->fast.persistent, 1);
    assert_int_equal(k->fast.threads, 64);
    assert_int_equal(k->any.persistent, 0);
    assert_int_equal(k->any.threads, 128);
    assert_int_equal(k->any.shared_bytes, 0);
    assert_string_equal(k->any.name, "boxes_any");
    assert_true(abi_entry(k, true) == &k->fast && abi_entry(k, false) == &k->any);
}

/* An axis that numbers instances of a role is no axis of blocks. */
static void axes_within_a_block_are_not_blocks(void **state)
{
    Made m = make(((Fixture *)*state)->arena, usual);
    const AffSym *w = aff_sym_new(m.aff, "w", AFF_GRID, 0, 1);
    TileAxis within = {.sym = w, .extent = aff_const(m.aff, 2), .within = true};
    const Aff *blocks = m.abi->kernels.data[0].fast.blocks;

    vec_push(m.arena, &m.program->kernels.data[0]->grid, within);
    vec_push(m.arena, &m.program->kernels.data[0]->plain->grid, within); /* has no roles */
    Abi *abi = abi_from_tile(m.arena, m.program, &target);
    assert_ptr_equal(abi->kernels.data[0].fast.blocks, blocks);
    assert_ptr_equal(abi->kernels.data[0].any.blocks, aff_mul(m.aff, m.abi->kernels.data[0].any.blocks, aff_const(m.aff, 2)));
}

static void persistent_blocks_are_as_many_as_fit(void **state)
{
    Made m = make(((Fixture *)*state)->arena, usual);
    AbiEntry *entry = &m.abi->kernels.data[0].fast;
    int64_t blocks, dims[] = {3, 1000, 5};
    const char *error;

    assert_true(abi_blocks(m.abi, entry, dims, 100, &blocks, &error));
    assert_int_equal(blocks, 3 * 16); /* fewer places than room */
    assert_true(abi_blocks(m.abi, entry, dims, 7, &blocks, &error));
    assert_int_equal(blocks, 7);
    entry->persistent = 2;
    assert_true(abi_blocks(m.abi, entry, dims, 7, &blocks, &error));
    assert_int_equal(blocks, 14);
    assert_true(abi_blocks(m.abi, &m.abi->kernels.data[0].any, dims, 7, &blocks, &error));
    assert_int_equal(blocks, 3 * 32);
    dims[0] = 0;
    assert_true(abi_blocks(m.abi, entry, dims, 7, &blocks, &error));
    assert_int_equal(blocks, 0);
}

/* ---- packing ------------------------------------------------------------------------ */

typedef struct Seen {
    AbiTensorMap map;
    int calls;
    bool refuse;
} Seen;

static bool see(void *user, const AbiTensorMap *map, void *handle)
{
    Seen *seen = user;

    assert_int_equal((uintptr_t)handle % 64, 0);
    seen->map = *map;
    seen->calls++;
    memset(handle, 0x5a, ABI_MAP_BYTES);
    return !seen->refuse;
}

typedef struct Launch {
    Tensor *tensors[2];
    uint64_t addresses[2], counters[1];
    int64_t dims[3];
    unsigned char space[192];
    Seen seen;
    AbiHost host;
} Launch;

static Launch *launch_of(Arena *arena, int64_t b, int64_t n)
{
    Launch *l = arena_new_of(arena, Launch);
    const int64_t t[] = {b, n, 128}, k[] = {16};
    const char *error;

    *l = (Launch){.addresses = {0x10000, 0x20000}, .counters = {0x30000}, .dims = {b, n, 16}};
    l->tensors[0] = tensor_new(arena, "T", DT_BF16, 3, t, &error);
    l->tensors[1] = tensor_new(arena, "O", DT_BF16, 1, k, &error);
    l->host = (AbiHost){.sms = 2, .encode = see, .user = &l->seen, .counters = l->counters};
    return l;
}

static bool pack(const Made *m, Launch *l, bool *fast, const char **error)
{
    return abi_pack(m->abi, l->tensors, l->addresses, l->dims, NULL, &l->host, l->space, fast, error);
}

static void a_launch_encodes_its_maps(void **state)
{
    Made m = make(((Fixture *)*state)->arena, usual);
    Launch *l = launch_of(m.arena, 3, 1000);
    const char *error;
    bool fast;

    l->tensors[0]->strides[1] = 136; /* padded rows, and batches the other way round */
    l->tensors[0]->strides[0] = 8;
    assert_true(pack(&m, l, &fast, &error));
    assert_true(fast);
    assert_int_equal(l->seen.calls, 1);
    const AbiTensorMap *map = &l->seen.map;
    assert_int_equal(map->address, 0x10000);
    assert_int_equal(map->rank, 3);
    assert_int_equal(map->dtype, DT_BF16);
    assert_int_equal(map->swizzle, 128);
    assert_true(map->dims[0] == 128 && map->dims[1] == 1000 && map->dims[2] == 3);
    assert_true(map->strides[0] == 272 && map->strides[1] == 16);
    assert_true(map->box[0] == 64 && map->box[1] == 64 && map->box[2] == 1);
    assert_int_equal(l->space[0], 0x5a);
    assert_int_equal(l->space[127], 0x5a);
    assert_memory_equal(l->space + 144, l->counters, 8);
}

static void what_has_no_map_takes_any_entry(void **state)
{
    Made m = make(((Fixture *)*state)->arena, usual);
    Launch *l = launch_of(m.arena, 3, 1000);
    const char *error;
    bool fast;

    l->seen.refuse = true; /* the driver does not take it */
    assert_true(pack(&m, l, &fast, &error) && !fast);
    l = launch_of(m.arena, 3, 1000);
    l->host.encode = NULL;
    assert_true(pack(&m, l, &fast, &error) && !fast);
    assert_int_equal(l->space[0], 0);
    l = launch_of(m.arena, 3, 0); /* of nothing there is no map */
    assert_true(pack(&m, l, &fast, &error) && !fast && l->seen.calls == 0);
    l = launch_of(m.arena, 3, 1000);
    l->tensors[0]->strides[0] = INT64_C(1) << 40;
    assert_true(pack(&m, l, &fast, &error) && !fast && l->seen.calls == 0);
    l = launch_of(m.arena, 3, 1000);
    l->tensors[0]->strides[1] = 129;
    assert_true(pack(&m, l, &fast, &error) && !fast && l->seen.calls == 0);
    l = launch_of(m.arena, 3, 1000);
    l->addresses[0] += 2;
    assert_true(pack(&m, l, &fast, &error) && !fast && l->seen.calls == 0);
}

static void a_launch_wants_its_counter(void **state)
{
    Made m = make(((Fixture *)*state)->arena, usual);
    Launch *l = launch_of(m.arena, 3, 1000);
    const char *error = "";
    bool fast;

    l->counters[0] = 2;
    assert_false(pack(&m, l, &fast, &error));
    assert_non_null(strstr(error, "boxes has no counter"));
    l->host.counters = NULL;
    assert_false(pack(&m, l, &fast, &error));
}

/* ---- JSON --------------------------------------------------------------------------- */

static Source *comment_of(Made *m, const char *from, const char *to)
{
    Source *source = arena_new_of(m->arena, Source);
    Str s = str_new(m->arena), edited = str_new(m->arena);

    abi_ptx_comment(&s, m->abi);
    const char *all = str_text(&s), *at = from ? strstr(all, from) : NULL;
    assert_true(!from || at);
    str_addn(&edited, all, from ? (size_t)(at - all) : s.len);
    if (from)
        str_printf(&edited, "%s%s", to, at + strlen(from));
    *source = (Source){"boxes.ptx", str_text(&edited), edited.len};
    return source;
}

static void maps_and_entries_read_back(void **state)
{
    Made m = make(((Fixture *)*state)->arena, usual);
    Source *source = comment_of(&m, NULL, NULL);
    Str before = str_new(m.arena), after = str_new(m.arena);
    Abi *back = abi_from_ptx(m.arena, m.syms, aff_ctx_new(m.arena), source, diags_new(m.arena, source));

    assert_non_null(back);
    abi_json(&before, m.abi);
    abi_json(&after, back);
    assert_string_equal(str_text(&before), str_text(&after));
    assert_int_equal(back->maps.data[0].swizzle, 128);
    assert_int_equal(back->kernels.data[0].any.threads, 128);
    assert_int_equal(back->kernels.data[0].fast.persistent, 1);
    assert_int_equal(back->args.data[0].kind, ABI_MAP);
}

static void damaged_maps_are_refused(void **state)
{
    static const char *const edits[][3] = {
        {"\"box\": [1, 64, 64]", "\"box\": [1, 64]", "maps[0].box"},
        {"\"box\": [1, 64, 64]", "\"box\": [1, 0, 64]", "maps[0]: a side"},
        {"\"box\": [1, 64, 64]", "\"box\": [1, 512, 64]", "maps[0]: a side"},
        {"\"box\": [1, 64, 64]", "\"box\": [1, 64, 128]", "wider than its swizzle"},
        {"\"box\": [1, 64, 64]", "\"box\": [1, 64, 3]", "multiple of 16"},
        {"\"box\": [1, 64, 64]", "\"box\": [1, 64, \"x\"]", "maps[0]: a side"},
        {"\"swizzle\": 128", "\"swizzle\": 96", "a swizzle is"},
        {"\"tensor\": \"T\", \"box\"", "\"tensor\": \"U\", \"box\"", "none of the tensors"},
        {"\"persistent\": 1", "\"persistent\": 0", "args"},
        {"\"persistent\": 1", "\"persistent\": -1", "persistent is -1"},
        {"\"any\": {\"blocks\"", "\"any\": {\"block\"", "kernels[0].any.blocks"},
    };
    Made m = make(((Fixture *)*state)->arena, usual);

    for (size_t i = 0; i < TW_COUNT(edits); i++) {
        Source *source = comment_of(&m, edits[i][0], edits[i][1]);
        Diags *diags = diags_new(m.arena, source);

        assert_null(abi_from_ptx(m.arena, m.syms, aff_ctx_new(m.arena), source, diags));
        if (!strstr(diags->list.data[0].message, edits[i][2]))
            fail_msg("'%s' does not say '%s'", diags->list.data[0].message, edits[i][2]);
    }
}

/* ---- in the emulator ---------------------------------------------------------------- */

/* A block takes places from the counter; each tile comes by boxes and goes, as it
 * lies in shared memory, to its part of O. */
static const char *kernel_text(const Made *m, Case c)
{
    const AbiMap *map = &m->abi->maps.data[0];
    int bytes = c.rows * c.cols * dtype_bytes(c.dtype), run = map->box[2] * dtype_bytes(c.dtype);
    Str s = str_new(m->arena);

    str_add(&s, ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n.visible .entry boxes(");
    for (int i = 0; i < m->abi->args.len; i++) {
        const AbiArg *arg = &m->abi->args.data[i];
        str_printf(&s, "%s.param .%s a%d%s", i ? ", " : "", arg->kind == ABI_MAP ? "align 64 .b8" : arg->bytes == 8 ? "b64" : "b32",
                   i, arg->kind == ABI_MAP ? "[128]" : "");
    }
    str_printf(&s, ") {\n.reg .b32 %%r<40>; .reg .b64 %%rd<20>; .reg .pred %%p<9>;\n"
               "mov.b64 %%rd0, a0; ld.param.u64 %%rd1, [a2]; ld.param.u64 %%rd2, [a3];\n"
               "ld.param.u32 %%r1, [a6]; ld.param.u32 %%r2, [a7];\n"           /* b, n */
               "add.u32 %%r3, %%r2, %d; div.u32 %%r3, %%r3, %d; mul.lo.u32 %%r4, %%r3, %%r1;\n" /* places */
               "mov.u32 %%r5, %%nctaid.x; add.u32 %%r5, %%r5, %%r4; sub.u32 %%r5, %%r5, 1;\n"
               "mov.u32 %%r6, sm; mov.u32 %%r7, %%tid.x; setp.eq.u32 %%p1, %%r7, 0; mov.u32 %%r8, 0;\n"
               "@%%p1 mbarrier.init.shared::cta.b64 [%%r6], 1; fence.mbarrier_init.release.cluster; bar.sync 0;\n"
               "next: @%%p1 atom.global.inc.u32 %%r9, [%%rd2], %%r5; @%%p1 st.shared.u32 [%%r6+8], %%r9; bar.sync 0;\n"
               "ld.shared.u32 %%r9, [%%r6+8]; bar.sync 0; setp.ge.u32 %%p2, %%r9, %%r4; @%%p2 bra.uni done;\n"
               "div.u32 %%r10, %%r9, %%r3; mul.lo.u32 %%r11, %%r10, %%r3; sub.u32 %%r11, %%r9, %%r11; mul.lo.u32 %%r11, %%r11, %d;\n"
               "@!%%p1 bra wait;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r6], %d;\n",
               c.rows - 1, c.rows, c.rows, bytes);
    for (int col = 0; col < c.cols; col += map->box[2])
        for (int row = 0; row < c.rows; row += map->box[1])
            str_printf(&s, "add.u32 %%r12, %%r11, %d; mov.u32 %%r13, %d; add.u32 %%r14, %%r6, %d;\n"
                       "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%r14], "
                       "[%%rd0, {%%r13, %%r12, %%r10}], [%%r6];\n",
                       row, col, 1024 + col / map->box[2] * c.rows * run + row * run);
    str_printf(&s, "wait: mbarrier.try_wait.parity.shared::cta.b64 %%p3, [%%r6], %%r8; @!%%p3 bra wait;\n"
               "xor.b32 %%r8, %%r8, 1; mad.wide.u32 %%rd3, %%r9, %d, %%rd1; mov.u32 %%r15, %%r7;\n"
               "dump: setp.ge.u32 %%p4, %%r15, %d; @%%p4 bra dumped; mad.lo.u32 %%r16, %%r15, 4, %%r6; ld.shared.u32 %%r17, [%%r16+1024]; mad.wide.u32 %%rd4, %%r15, 4, %%rd3;\n"
               "st.global.u32 [%%rd4], %%r17; add.u32 %%r15, %%r15, 64; bra dump;\n"
               "dumped: fence.proxy.async.shared::cta; bar.sync 0; bra.uni next;\ndone: ret;\n}\n", bytes, bytes / 4);
    return str_text(&s);
}

static void check_stage(const Made *m, Case c, const Tensor *t, const char *stage, int64_t h, int64_t first)
{
    int size = dtype_bytes(c.dtype);
    Layout layout = {.kind = LAY_PANELS, .panel = lay_panel_for(c.cols, size)};
    static const char zeros[8];

    (void)m;
    for (int r = 0; r < c.rows; r++)
        for (int col = 0; col < c.cols; col++) {
            int64_t at[] = {h, first + r, col};
            const char *want = at[1] < t->dims[1] ? (const char *)t->data + tensor_index(t, at) * size : zeros;
            if (memcmp(stage + lay_shared_byte(layout, c.rows, size, r, col), want, (size_t)size) != 0)
                fail_msg("%s %dx%d: element (%d, %d) of the tile at (%lld, %lld)", dtype_name(c.dtype), c.rows, c.cols, r,
                         col, (long long)h, (long long)first);
        }
}

static void run_boxes(Arena *arena, Case c, int64_t b, int64_t n, uint64_t seed)
{
    Made m = make(arena, c);
    int64_t tiles = (n + c.rows - 1) / c.rows, bytes = (int64_t)c.rows * c.cols * dtype_bytes(c.dtype);
    const int64_t shape[] = {b, n, c.cols}, out[] = {b * tiles * bytes / 2}, dims[] = {b, n, out[0]};
    const char *error, *ptx = kernel_text(&m, c);
    Tensor *tensors[] = {tensor_new(arena, "T", c.dtype, 3, shape, &error), tensor_new(arena, "O", DT_BF16, 1, out, &error)};
    Source source = {"boxes.ptx", ptx, strlen(ptx)};
    Diags *diags = diags_new(arena, &source);
    EmuModule *module = emu_parse(arena, diags, &source);
    EmuMemory *memory = emu_memory_new(arena);
    Emulated *emulated = emulated_host(arena, m.abi, memory);
    char *space = arena_alloc(arena, (size_t)m.abi->param_bytes);
    EmuReport report;
    int64_t blocks;
    bool fast;

    if (!module) {
        diags_print(diags, stderr, false);
        fail_msg("the kernel does not parse");
    }
    tensor_fill(tensors[0], FILL_NORMAL, seed);
    uint64_t addresses[] = {emu_memory_add(memory, "T", tensors[0]->data, tensors[0]->bytes, true, true, 0),
                            emu_memory_add(memory, "O", tensors[1]->data, tensors[1]->bytes, false, false, 0)};
    assert_true(abi_pack(m.abi, tensors, addresses, dims, NULL, &emulated->host, space, &fast, &error));
    assert_true(fast);
    assert_true(abi_blocks(m.abi, &m.abi->kernels.data[0].fast, dims, emulated->host.sms, &blocks, &error));
    assert_in_range(blocks, 1, 4);
    EmuLaunch launch = {.grid = {(int)blocks, 1, 1}, .block = {64, 1, 1}, .shared_bytes = 1024 + (size_t)bytes,
                        .params = space, .param_bytes = (size_t)m.abi->param_bytes, .seed = seed};
    if (!emu_run(arena, module, 0, memory, &launch, &report))
        fail_msg("line %d: %s", report.faults[0].line, report.faults[0].message);
    assert_true(emulated_at_rest(emulated));
    assert_int_equal(emu_memory_unwritten(memory, addresses[1]), 0);
    for (int64_t place = 0; place < b * tiles; place++)
        check_stage(&m, c, tensors[0], (const char *)tensors[1]->data + place * bytes, place / tiles,
                    place % tiles * c.rows);
}

static void boxes_in_shared_memory_are_the_layout(void **state)
{
    static const Case cases[] = {
        {DT_BF16, 64, 128}, {DT_F16, 128, 32}, {DT_BF16, 16, 16}, {DT_BF16, 8, 8},
        {DT_E4M3, 32, 256}, {DT_F32, 24, 32},  {DT_BF16, 264, 64}, {DT_BF16, 40, 192},
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        run_boxes(arena, cases[i], 2, 2 * cases[i].rows - 3, i);
}

/* ---- the C header ------------------------------------------------------------------- */

static const char program[] =
    "#include \"boxes.h\"\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "static int calls;\n"
    "static int encode(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,\n"
    "                  const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,\n"
    "                  int swizzle, int promotion, int fill)\n"
    "{\n"
    "    printf(\"%d %u %d: %d, %d %d %d, %d %d, %d %d %d, %d, %d %d %d %d\\n\", type, rank, (int)(uintptr_t)map % 64,\n"
    "           (int)(uintptr_t)address, (int)dims[0], (int)dims[1], (int)dims[2], (int)strides[0], (int)strides[1],\n"
    "           (int)box[0], (int)box[1], (int)box[2], (int)steps[2], interleave, swizzle, promotion, fill);\n"
    "    memset(map, 7, 128);\n"
    "    return calls++;\n"
    "}\n"
    "int main(void)\n"
    "{\n"
    "    boxes_sm_90a_args args;\n"
    "    boxes_sm_90a_launch launch;\n"
    "    tw_abi_machine machine = {5, encode};\n"
    "    const char *error;\n"
    "    memset(&args, 0, sizeof args);\n"
    "    args.T = 65536; args.O = 131072; args.b = 3; args.n = 1000; args.k = 16;\n"
    "    boxes_sm_90a_contiguous(&args);\n"
    "    puts(boxes_sm_90a_prepare(0, &args, &machine, &launch));\n"
    "    args.boxes_counter = 262144;\n"
    "    error = boxes_sm_90a_prepare(0, &args, &machine, &launch);\n"
    "    printf(\"%s %s %u %u %u %d %d\\n\", error ? error : \"-\", launch.entry, launch.grid, launch.threads,\n"
    "           launch.shared_bytes, args.T_map[127], launch.params[0] == (void *)args.T_map);\n"
    "    error = boxes_sm_90a_prepare(0, &args, &machine, &launch); /* the driver refuses */\n"
    "    printf(\"%s %s %u %u %u\\n\", error ? error : \"-\", launch.entry, launch.grid, launch.threads,\n"
    "           launch.shared_bytes);\n"
    "    machine.encode = NULL;\n"
    "    error = boxes_sm_90a_prepare(0, &args, &machine, &launch);\n"
    "    printf(\"%s %s\\n\", error ? error : \"-\", launch.entry);\n"
    "    machine.multiprocessors = 0;\n"
    "    puts(boxes_sm_90a_prepare(0, &args, &machine, &launch));\n"
    "    return (int)offsetof(boxes_sm_90a_args, T) - 128;\n"
    "}\n";

static void write_text(Arena *arena, const char *path, const char *contents)
{
    const char *error = file_write(arena, path, contents, strlen(contents));
    if (error)
        fail_msg("%s", error);
}

static char *output_of(Arena *arena, const char *command)
{
    Str s = str_new(arena);
    char buffer[512];
    FILE *pipe = popen(command, "r");

    assert_non_null(pipe);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        str_addn(&s, buffer, n);
    if (pclose(pipe) != 0)
        fail_msg("%s: %s", command, str_text(&s));
    return (char *)str_text(&s);
}

static void the_header_encodes_and_prepares(void **state)
{
    static const char *const compilers[] = {"cc -std=c99", "c++ -x c++"};
    static const char want[] = "boxes_counter is not the address of a 32-bit word\n"
                               "9 3 0: 65536, 128 1000 3, 256 256000, 64 64 1, 1, 0 3 3 0\n"
                               "- boxes 5 64 200000 7 1\n"
                               "9 3 0: 65536, 128 1000 3, 256 256000, 64 64 1, 1, 0 3 3 0\n"
                               "- boxes_any 96 128 0\n"
                               "- boxes_any\n"
                               "the machine has no multiprocessors\n";
    Made m = make(((Fixture *)*state)->arena, usual);
    char folder[] = "/tmp/test_abi_maps.XXXXXX";
    const char *base = arena_strdup(m.arena, mkdtemp(folder));
    Str header = str_new(m.arena);

    abi_c_header(&header, m.abi);
    write_text(m.arena, arena_printf(m.arena, "%s/boxes.h", base), str_text(&header));
    write_text(m.arena, arena_printf(m.arena, "%s/main.c", base), program);
    for (size_t i = 0; i < TW_COUNT(compilers); i++) {
        const char *word = arena_strndup(m.arena, compilers[i], strcspn(compilers[i], " "));
        if (system(arena_printf(m.arena, "command -v %s >/dev/null 2>&1", word)) != 0)
            continue;
        assert_string_equal(output_of(m.arena, arena_printf(m.arena, "cd %s && %s -Wall -Wextra -Werror -pedantic -o main "
                                                            "main.c 2>&1 && ./main", base, compilers[i])), want);
    }
    output_of(m.arena, arena_printf(m.arena, "rm -r %s", base));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(boxes_are_panels),
        TEST(a_program_has_maps),
        TEST(axes_within_a_block_are_not_blocks),
        TEST(persistent_blocks_are_as_many_as_fit),
        TEST(a_launch_encodes_its_maps),
        TEST(what_has_no_map_takes_any_entry),
        TEST(a_launch_wants_its_counter),
        TEST(maps_and_entries_read_back),
        TEST(damaged_maps_are_refused),
        TEST(boxes_in_shared_memory_are_the_layout),
        TEST(the_header_encodes_and_prepares),
    };
    return cmocka_run_group_tests_name("abi_maps", tests, NULL, NULL);
}
