/* test_emu_async.c: what the asynchronous instructions of sm_90a compute, against
 * answers written down here or computed another way, under several schedules. */
#include "async_rig.h"

enum { SEEDS = 6 };

static void run_right(AsyncRig *a, const char *body, const char *what)
{
    bool ok = async_run(a, body);

    if (!ok) {
        print_error("%s, seed %d:\n", what, (int)a->rig.launch.seed);
        rig_print_faults(&a->rig);
        print_error("%s\n", body);
    }
    assert_true(ok);
}

/* ---- mbarriers -------------------------------------------------------------------- */

typedef struct Words {
    const char *body; /* 32 threads; thread 0 stores words to %rd2 */
    uint32_t expect[4];
} Words;

/* PTX ISA, "mbarrier: phase", "mbarrier.test_wait": parity of the phase before the
 * current one is true, of the current one false. */
static const Words mbarrier_words[] = {
    { INIT(2) "mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r2], 0; mbarrier.test_wait.parity.shared::cta.b64 %p5, [%r2], 1;\n"
      "@%p1 mbarrier.arrive.shared::cta.b64 %rd10, [%r2]; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];\n"
      "mbarrier.test_wait.parity.shared::cta.b64 %p6, [%r2], 0; mbarrier.test_wait.parity.shared::cta.b64 %p7, [%r2], 1;\n"
      "selp.u32 %r10, 1, 0, %p4; selp.u32 %r11, 1, 0, %p5; selp.u32 %r12, 1, 0, %p6; selp.u32 %r13, 1, 0, %p7;\n"
      "@%p1 st.global.v4.b32 [%rd2], {%r10,%r11,%r12,%r13};", { 0, 1, 1, 0 } },
    /* by the state that arriving gives; the count it has in it is of before */
    { INIT(3) "@!%p1 exit; mbarrier.arrive.shared::cta.b64 %rd10, [%r2]; mbarrier.pending_count.b64 %r10, %rd10;\n"
      "mbarrier.test_wait.shared::cta.b64 %p4, [%r2], %rd10; mbarrier.arrive.release.cta.shared::cta.b64 %rd11, [%r2], 2;\n"
      "mbarrier.test_wait.acquire.cta.shared::cta.b64 %p5, [%r2], %rd10; mbarrier.arrive.shared.b64 %rd12, [%r2];\n"
      "mbarrier.pending_count.b64 %r11, %rd12;\n"
      "selp.u32 %r12, 1, 0, %p4; selp.u32 %r13, 1, 0, %p5; st.global.v4.b32 [%rd2], {%r10,%r11,%r12,%r13};",
      { 3, 3, 0, 1 } },
    /* a phase waits for the bytes too; expect_tx comes after complete_tx; arrive_drop lowers the count */
    { INIT(2) "@!%p1 exit; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], 32;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64; mbarrier.arrive_drop.shared::cta.b64 %rd11, [%r2];\n"
      "mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r2], 0; mbarrier.complete_tx.shared::cta.b64 [%r2], 32;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 %p5, [%r2], 0; mbarrier.arrive.shared::cta.b64 %rd12, [%r2];\n"
      "mbarrier.test_wait.parity.shared::cta.b64 %p6, [%r2], 1; mbarrier.pending_count.b64 %r13, %rd12;\n"
      "selp.u32 %r10, 1, 0, %p4; selp.u32 %r11, 1, 0, %p5; selp.u32 %r12, 1, 0, %p6;"
      "st.global.v4.b32 [%rd2], {%r10,%r11,%r12,%r13};", { 0, 1, 1, 1 } },
    /* invalidated, initialised anew with another count; generic addresses; mapa */
    { INIT(1) "@!%p1 exit; mbarrier.arrive.shared::cta.b64 _, [%r2]; mbarrier.inval.shared::cta.b64 [%r2];\n"
      "mbarrier.init.shared::cta.b64 [%r2], 5; cvt.u64.u32 %rd10, %r2; cvta.shared.u64 %rd10, %rd10;\n"
      "mapa.u64 %rd11, %rd10, 0; mbarrier.arrive.b64 %rd12, [%rd11]; mbarrier.pending_count.b64 %r10, %rd12;\n"
      "mbarrier.test_wait.parity.b64 %p4, [%rd10], 0; mapa.shared::cluster.u32 %r20, %r2, 0; sub.u32 %r12, %r20, %r2;\n"
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 16; selp.u32 %r11, 1, 0, %p4; mov.u32 %r13, 7;\n"
      "st.global.v4.b32 [%rd2], {%r10,%r11,%r12,%r13};", { 5, 0, 0, 7 } },
};

static void test_mbarrier(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(mbarrier_words); i++) {
        uint32_t in[4] = { 0 }, out[4] = { 9, 9, 9, 9 };
        AsyncRig a;

        async_open(&a, 32);
        a.in = in;
        a.in_bytes = sizeof in;
        a.out = out;
        a.out_bytes = sizeof out;
        run_right(&a, mbarrier_words[i].body, "mbarrier");
        for (int k = 0; k < 4; k++)
            assert_int_equal(out[k], mbarrier_words[i].expect[k]);
        rig_close(&a.rig);
    }
}

/* A ring of two stages that a producer warp fills by bulk copies and three
 * consumer warps add up; the phases alternate. */
static void test_ring(void **state)
{
    enum { STEPS = 7, BYTES = 512 };
    static const char body[] =
        "@%p1 mbarrier.init.shared.b64 [%r2], 1; @%p1 mbarrier.init.shared.b64 [%r2+8], 1;\n"
        "@%p1 mbarrier.init.shared.b64 [%r2+16], 96; @%p1 mbarrier.init.shared.b64 [%r2+24], 96; @%p1 fence.proxy.async;\n"
        "bar.sync 0; mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r30, 0;\n" /* step stage phase sum */
        "setp.ge.u32 %p4, %r1, 32; @%p4 bra CONSUME; setp.ne.u32 %p5, %r1, 0; @%p5 bra OUT;\n"
        "FILL: mad.lo.u32 %r13, %r11, 8, %r2; xor.b32 %r14, %r12, 1;\n"
        "FREE: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r13+16], %r14; @!%p6 bra FREE;\n"
        "mad.lo.u32 %r15, %r11, 512, %r3; mad.wide.u32 %rd10, %r10, 512, %rd1;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r13], 512;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd10], 512, [%r13];\n"
        "add.u32 %r10, %r10, 1; xor.b32 %r11, %r11, 1; setp.eq.u32 %p7, %r11, 0; @%p7 xor.b32 %r12, %r12, 1;\n"
        "setp.lt.u32 %p8, %r10, 7; @%p8 bra FILL; bra OUT;\n"
        "CONSUME: mad.lo.u32 %r13, %r11, 8, %r2;\n"
        "FULL: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r13], %r12, 1000; @!%p6 bra FULL;\n"
        "sub.u32 %r16, %r1, 32; mad.lo.u32 %r15, %r11, 512, %r3; mad.lo.u32 %r15, %r16, 4, %r15; ld.shared.u32 %r17, [%r15];\n"
        "add.u32 %r30, %r30, %r17; mbarrier.arrive.shared::cta.b64 _, [%r13+16];\n"
        "add.u32 %r10, %r10, 1; xor.b32 %r11, %r11, 1; setp.eq.u32 %p7, %r11, 0; @%p7 xor.b32 %r12, %r12, 1;\n"
        "setp.lt.u32 %p8, %r10, 7; @%p8 bra CONSUME; mad.wide.u32 %rd11, %r16, 4, %rd2; st.global.u32 [%rd11], %r30;\nOUT: ";
    uint32_t in[STEPS * BYTES / 4], out[96];

    (void)state;
    for (int i = 0; i < STEPS * BYTES / 4; i++)
        in[i] = (uint32_t)(i * i);
    for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
        AsyncRig a;

        async_open(&a, 128);
        a.rig.launch.seed = seed;
        a.in = in;
        a.in_bytes = sizeof in;
        a.out = out;
        a.out_bytes = sizeof out;
        run_right(&a, body, "ring");
        for (int t = 0; t < 96; t++) {
            uint32_t sum = 0;

            for (int s = 0; s < STEPS; s++)
                sum += in[s * BYTES / 4 + t];
            assert_int_equal(out[t], sum);
        }
        rig_close(&a.rig);
    }
}

/* ---- bulk copies ---------------------------------------------------------------------- */

/* In and out again by plain copies, out in two groups. */
static void test_bulk(void **state)
{
    static const char body[] = INIT(1) COPY_IN(1040) WAIT("W", 0, 0)
        "@!%p1 exit; cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 1024; cp.async.bulk.commit_group;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%rd2+1024], [%r3+1024], 16; cp.async.bulk.commit_group;\n"
        "cp.async.bulk.wait_group.read 1; cp.async.bulk.wait_group 0; ld.global.u32 %r10, [%rd2+1028];\n"
        "st.shared.u32 [%r3], %r10;";
    uint32_t in[260], out[260];

    (void)state;
    for (int i = 0; i < 260; i++)
        in[i] = (uint32_t)(i * 77 + 5);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        AsyncRig a;

        memset(out, 0, sizeof out);
        async_open(&a, 64);
        a.rig.launch.seed = seed;
        a.in = in;
        a.in_bytes = sizeof in;
        a.out = out;
        a.out_bytes = sizeof out;
        run_right(&a, body, "bulk");
        assert_int_equal(a.rig.unwritten, 0);
        assert_memory_equal(in, out, sizeof in);
        rig_close(&a.rig);
    }
}

typedef struct Box {
    int rank, bytes, swizzle;
    int dims[5], box[5], steps[5], at[5];
    bool nan;
} Box;

static const Box boxes[] = {
    { 1, 4, 0, { 100 }, { 64 }, { 1 }, { 50 }, false },
    { 2, 2, 128, { 96, 40 }, { 64, 16 }, { 1, 1 }, { 0, 8 }, false },
    { 2, 2, 128, { 96, 40 }, { 64, 16 }, { 1, 1 }, { 40, 30 }, false }, /* over both ends */
    { 2, 2, 64, { 64, 64 }, { 32, 24 }, { 1, 1 }, { -8, -3 }, false },
    { 2, 2, 32, { 64, 64 }, { 16, 20 }, { 1, 1 }, { 8, 9 }, true },
    { 2, 1, 128, { 256, 32 }, { 128, 8 }, { 1, 1 }, { 144, 28 }, true },
    { 2, 4, 0, { 20, 30 }, { 12, 10 }, { 1, 3 }, { 2, 3 }, false },    /* every third row */
    { 3, 2, 128, { 64, 33, 5 }, { 64, 8, 2 }, { 1, 1, 1 }, { 0, 28, 4 }, false },
    { 3, 4, 128, { 32, 9, 4 }, { 32, 5, 2 }, { 2, 2, 1 }, { 0, 1, 1 }, false },
    { 4, 2, 64, { 32, 5, 4, 3 }, { 32, 3, 2, 2 }, { 1, 1, 1, 1 }, { 0, 1, 3, 1 }, false },
    { 5, 2, 128, { 64, 20, 2, 3, 2 }, { 64, 16, 2, 1, 1 }, { 1, 1, 1, 1, 1 }, { 0, 10, 0, 2, 1 }, false },
    { 5, 8, 0, { 6, 3, 2, 3, 2 }, { 4, 2, 2, 2, 2 }, { 1, 1, 1, 1, 1 }, { 3, 2, 1, 2, -1 }, true },
};

static int box_count(const Box *b, int i)
{
    return i ? (b->box[i] + b->steps[i] - 1) / b->steps[i] : b->box[i];
}

/* Elements of dimension 0 lie in memory with this pitch. */
static size_t padded_row(const Box *b)
{
    return ((size_t)b->dims[0] * (size_t)b->bytes + 15) / 16 * 16 + 16;
}

static EmuTensorMap box_map(const Box *b)
{
    EmuTensorMap map = { .rank = b->rank, .element_bytes = b->bytes, .swizzle = b->swizzle, .nan_fill = b->nan };
    uint64_t stride = padded_row(b);

    for (int i = 0; i < b->rank; i++) {
        map.dims[i] = (uint64_t)b->dims[i];
        map.box[i] = (uint32_t)b->box[i];
        map.steps[i] = (uint32_t)b->steps[i];
        if (i + 1 < b->rank)
            map.strides[i] = stride;
        stride *= i ? (uint64_t)b->dims[i] : 1;
        if (i + 1 < b->rank && i > 0)
            map.strides[i] = stride;
    }
    return map;
}

/* Walks a box: where element n lies in the tensor's bytes (-1: outside) and in
 * shared memory. Swizzles are written by rows here: a row of `span` bytes shares
 * its 128 bytes with others, and the units of 16 bytes are exchanged by which
 * 128 bytes of the pattern those are. */
static long box_element(const Box *b, int n, size_t *shared)
{
    long offset = 0, pitch = (long)padded_row(b);
    int column = n % box_count(b, 0), row = n / box_count(b, 0), rest = row, x = b->at[0] + column;
    int row_bytes = box_count(b, 0) * b->bytes, byte = column * b->bytes, units = b->swizzle / 16;
    bool inside = x >= 0 && x < b->dims[0];

    if (inside)
        offset = (long)x * b->bytes;
    for (int i = 1; i < b->rank; i++) {
        int y = b->at[i] + rest % box_count(b, i) * b->steps[i];

        rest /= box_count(b, i);
        inside = inside && y >= 0 && y < b->dims[i];
        offset += y * pitch;
        pitch *= b->dims[i];
    }
    if (units && row_bytes == b->swizzle)
        byte = (byte / 16 ^ row * row_bytes / 128 % units) * 16 + byte % 16;
    *shared = (size_t)(row * row_bytes + byte);
    return inside ? offset : -1;
}

static int box_elements(const Box *b)
{
    int n = 1;

    for (int i = 0; i < b->rank; i++)
        n *= box_count(b, i);
    return n;
}

static size_t tensor_bytes(const Box *b)
{
    size_t bytes = padded_row(b);

    for (int i = 1; i < b->rank; i++)
        bytes *= (size_t)b->dims[i];
    return bytes;
}

static const char *coordinates(Arena *arena, const Box *b)
{
    Str s = str_new(arena);

    for (int i = 0; i < b->rank; i++)
        str_printf(&s, "%s%d", i ? ", " : "", b->at[i]);
    return str_text(&s);
}

static bool is_nan(const uint8_t *x, int bytes)
{
    return x[bytes - 1] == 0x7f && x[0] == (bytes == 1 ? 0x7f : 0xff);
}

static void check_loaded(const Box *b, const uint8_t *in, const uint8_t *got)
{
    static const uint8_t zeros[8];

    for (int n = 0; n < box_elements(b); n++) {
        size_t shared;
        long from = box_element(b, n, &shared);

        if (from >= 0)
            assert_memory_equal(got + shared, in + from, (size_t)b->bytes);
        else if (b->nan)
            assert_true(is_nan(got + shared, b->bytes));
        else
            assert_memory_equal(got + shared, zeros, (size_t)b->bytes);
    }
}

static void load_box(const Box *b, uint64_t seed)
{
    size_t bytes = (size_t)box_elements(b) * (size_t)b->bytes;
    AsyncRig a;
    uint8_t *in;

    async_open(&a, (int)((bytes / 16 + 31) / 32 * 32));
    a.rig.launch.seed = seed;
    a.in_bytes = tensor_bytes(b);
    a.in = in = arena_alloc(a.rig.arena, a.in_bytes);
    for (size_t i = 0; i < a.in_bytes; i++)
        in[i] = (uint8_t)(i * 7 + i / 251);
    a.out_bytes = bytes;
    a.out = arena_alloc(a.rig.arena, bytes);
    a.in_map = box_map(b);
    run_right(&a, arena_printf(a.rig.arena,
                  "%s@%%p1 prefetch.tensormap [%%rd6];\n@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r2], %d;\n"
                  "@%%p1 cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%r3], "
                  "[%%rd6, {%s}], [%%r2];\n%ssetp.ge.u32 %%p4, %%r1, %d; @%%p4 exit;\n%s",
                  INIT(1), (int)bytes, b->rank, coordinates(a.rig.arena, b), WAIT("W", 0, 0), (int)(bytes / 16), DUMP), "box");
    check_loaded(b, in, a.out);
    rig_close(&a.rig);
}

static void test_load_boxes(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(boxes); i++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            load_box(&boxes[i], seed);
    }
}

/* The box lies in shared memory as a load would have put it; what is outside the
 * tensor is not written. */
static void store_box(const Box *b, uint64_t seed)
{
    size_t bytes = (size_t)box_elements(b) * (size_t)b->bytes;
    AsyncRig a;
    uint8_t *in, *expect;

    async_open(&a, 32);
    a.rig.launch.seed = seed;
    a.in_bytes = bytes;
    a.in = in = arena_alloc(a.rig.arena, bytes);
    for (size_t i = 0; i < bytes; i++)
        in[i] = (uint8_t)(i * 5 + i / 253 + 1);
    a.out_bytes = tensor_bytes(b);
    a.out = arena_alloc(a.rig.arena, a.out_bytes);
    expect = arena_alloc(a.rig.arena, a.out_bytes);
    for (int n = 0; n < box_elements(b); n++) {
        size_t shared;
        long to = box_element(b, n, &shared);

        if (to >= 0)
            memcpy(expect + to, in + shared, (size_t)b->bytes);
    }
    a.out_map = box_map(b);
    run_right(&a, arena_printf(a.rig.arena,
                  "%s@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r2], %d;\n"
                  "@%%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%r3], [%%rd1], %d, [%%r2];\n"
                  "%select.sync _|%%p8, -1; @!%%p8 exit;\n"
                  "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group [%%rd7, {%s}], [%%r3];\n"
                  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
                  INIT(1), (int)bytes, (int)bytes, WAIT("W", 0, 0), b->rank, coordinates(a.rig.arena, b)), "box");
    assert_memory_equal(a.out, expect, a.out_bytes);
    rig_close(&a.rig);
}

static void test_store_boxes(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(boxes); i++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            store_box(&boxes[i], seed);
    }
}

/* What cuTensorMapEncodeTiled would refuse. */
static void test_bad_maps(void **state)
{
    static const EmuTensorMap good = { .base = 4096, .rank = 2, .element_bytes = 2, .dims = { 64, 64 },
                                       .strides = { 128 }, .box = { 64, 8 }, .swizzle = 128 };
    uint8_t handle[EMU_TENSOR_MAP_BYTES];
    EmuTensorMap bad[13];

    (void)state;
    for (size_t i = 0; i < TW_COUNT(bad); i++)
        bad[i] = good;
    bad[0].base = 8;
    bad[1].rank = 0;
    bad[2].rank = 6;
    bad[3].element_bytes = 3;
    bad[4].dims[1] = 0;
    bad[5].strides[0] = 120;
    bad[6].box[1] = 257;
    bad[7].box[0] = 4;
    bad[8].box[0] = 128;
    bad[9].swizzle = 16;
    bad[10].steps[1] = 9;
    bad[11].interleave = 16;
    bad[12].rank = 3;
    bad[12].dims[2] = bad[12].box[1] = bad[12].box[2] = 256;
    assert_null(emu_tensor_map_encode(&good, handle));
    for (size_t i = 0; i < TW_COUNT(bad); i++)
        assert_non_null(emu_tensor_map_encode(&bad[i], handle));
}

/* ---- wgmma against plain loops ------------------------------------------------------------ */

typedef struct Product {
    char a, b;              /* formats: b bf16, h f16, t tf32, e e4m3, f e5m2 */
    int n, a_span, b_span;  /* bytes of the swizzle, 16: none; a_span 0: A in registers */
    bool a_across, b_across; /* M- or N-major */
    bool negate_a, negate_b, add;
} Product;

static const Product products[] = {
    { 'b', 'b', 8, 128, 128, false, false, false, false, false },
    { 'b', 'b', 128, 128, 128, false, true, false, false, true },
    { 'b', 'b', 72, 0, 128, false, true, false, false, true },
    { 'b', 'b', 256, 0, 64, false, false, true, false, true },
    { 'b', 'b', 64, 64, 64, true, true, false, true, true },
    { 'h', 'h', 24, 32, 32, false, false, true, true, false },
    { 'h', 'h', 48, 32, 32, true, true, false, false, true },
    { 'h', 'h', 40, 16, 16, false, false, false, false, true },
    { 'h', 'h', 16, 16, 16, true, true, false, false, true },
    { 'h', 'h', 136, 128, 16, true, false, false, false, false },
    { 't', 't', 32, 128, 64, false, false, false, false, true },
    { 't', 't', 88, 0, 16, false, false, true, false, true },
    { 'e', 'e', 96, 128, 128, false, false, false, false, true },
    { 'e', 'f', 8, 0, 32, false, false, false, false, true },
    { 'f', 'e', 128, 64, 16, false, false, false, true, true },
    { 'f', 'f', 16, 32, 128, false, false, false, false, false },
};

static int format_bytes(char format)
{
    return format == 't' ? 4 : format == 'b' || format == 'h' ? 2 : 1;
}

/* Small integers, exact in every format. */
static uint32_t encode(char format, int x)
{
    union { float f; uint32_t u; } bits = { (float)x };
    uint32_t sign = bits.u >> 31, exponent = (bits.u >> 23 & 255), mantissa = bits.u & 0x7fffff;

    switch (format) {
    case 'b': return bits.u >> 16;
    case 't': return bits.u | 0x1fff; /* bits that tf32 ignores */
    case 'h': return x ? sign << 15 | (exponent - 112) << 10 | mantissa >> 13 : 0;
    case 'e': return x ? sign << 7 | (exponent - 120) << 3 | mantissa >> 20 : 0;
    }
    return x ? sign << 7 | (exponent - 112) << 2 | mantissa >> 21 : 0;
}

/* Where element (row, k) of a matrix lies; the whole matrix has `rows` rows. By the
 * pictures of the manual ("Shared Memory Matrix Layout"): without a swizzle core
 * matrices of 8 by 16 bytes lie one after the other, here those of one k side by
 * side; with one, 8 lines of `span` bytes make an atom whose 16-byte units are
 * exchanged by line. */
static int place(int span, bool across, int rows, int bytes, int row, int k)
{
    int line = across ? k : row, byte = (across ? row : k) * bytes, unit = byte / 16, atoms, at;
    int lines_in_128 = 128 / span, per = span / 16;

    if (span == 16)
        return across ? (line / 8 * (rows * bytes / 16) + unit) * 128 + line % 8 * 16 + byte % 16
                      : (unit * (rows / 8) + line / 8) * 128 + line % 8 * 16 + byte % 16;
    atoms = across ? 2 : rows / 8; /* along the lines; k is at most 16 where across */
    at = (byte / span * atoms + line / 8) * 8 * span;
    unit = unit % per ^ line % 8 / lines_in_128 % per;
    return at + line % 8 * span + unit * 16 + byte % 16;
}

static uint64_t descriptor(int span, bool across, int rows, int bytes, uint32_t at)
{
    uint64_t swizzle = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
    uint64_t leading = 1, stride = (uint64_t)span * 8;

    if (span == 16 && across) { /* leading: along k; stride: along M or N */
        leading = (uint64_t)(rows * bytes / 16) * 128;
        stride = 128;
    } else if (span == 16) { /* leading: along k; stride: along M or N */
        leading = (uint64_t)rows / 8 * 128;
        stride = 128;
    } else if (across) { /* leading: from span to span */
        leading = (uint64_t)span * 16;
    }
    return swizzle << 62 | stride >> 4 << 32 | leading >> 4 << 16 | at >> 4;
}

typedef struct Matrices {
    int a[64][32], b[256][32], c[64][256];
    uint8_t shared[32 * 1024]; /* A at 0, B at 16 K */
    uint32_t fragments[128][4];
    float d[128][128], out[128][128];
} Matrices;

enum { B_AT = 16 * 1024 };

static void put(uint8_t *to, char format, int x)
{
    uint32_t bits = encode(format, x);

    memcpy(to, &bits, (size_t)format_bytes(format));
}

static void fill_matrices(Matrices *m, const Product *p, int k)
{
    int ab = format_bytes(p->a), bb = format_bytes(p->b);

    memset(m, 0, sizeof *m);
    for (int r = 0; r < 64; r++) {
        for (int i = 0; i < k; i++) {
            m->a[r][i] = (r * 5 + i * 3 + r * i) % 9 - 4;
            if (p->a_span)
                put(m->shared + place(p->a_span, p->a_across, 64, ab, r, i), p->a, m->a[r][i]);
        }
    }
    for (int c = 0; c < p->n; c++) {
        for (int i = 0; i < k; i++) {
            m->b[c][i] = (c * 7 + i * 2 + c * i / 3) % 7 - 3;
            put(m->shared + B_AT + place(p->b_span, p->b_across, p->n, bb, c, i), p->b, m->b[c][i]);
        }
    }
}

/* Registers of each thread as the manual's figures number them. */
static void fill_fragments(Matrices *m, const Product *p)
{
    int ab = format_bytes(p->a), per = 4 / ab;

    for (int t = 0; t < 128; t++) {
        int row = t / 32 * 16 + t % 32 / 4, column = t % 4;

        for (int i = 0; i < 4 * per; i++) {
            int r = row + (i / per % 2 ? 8 : 0), c = column * per + i % per + (i / per >= 2 ? 4 * per : 0);

            put((uint8_t *)m->fragments[t] + i * ab, p->a, m->a[r][c]);
        }
        for (int i = 0; i < p->n / 2; i++) {
            int r = row + (i & 2 ? 8 : 0), c = i / 4 * 8 + column * 2 + (i & 1);

            m->c[r][c] = (r + 2 * c) % 11 - 5;
            m->d[t][i] = (float)m->c[r][c];
        }
    }
}

static void check_product(const Matrices *m, const Product *p, int k)
{
    for (int t = 0; t < 128; t++) {
        for (int i = 0; i < p->n / 2; i++) {
            int r = t / 32 * 16 + t % 32 / 4 + (i & 2 ? 8 : 0), c = i / 4 * 8 + t % 4 * 2 + (i & 1);
            int sum = p->add ? m->c[r][c] : 0;

            for (int j = 0; j < k; j++)
                sum += (p->negate_a ? -1 : 1) * (p->negate_b ? -1 : 1) * m->a[r][j] * m->b[c][j];
            if (m->out[t][i] != (float)sum)
                print_error("thread %d, register %d: %g, expected %d\n", t, i, (double)m->out[t][i], sum);
            assert_true(m->out[t][i] == (float)sum);
        }
    }
}

static const char *type_name(char format)
{
    return format == 'b' ? "bf16" : format == 'h' ? "f16" : format == 't' ? "tf32" : format == 'e' ? "e4m3" : "e5m2";
}

/* in: shared memory's 32 KB, then fragments of A, then the accumulators. */
static const char *product_body(Arena *arena, const Product *p, int k)
{
    int ab = format_bytes(p->a), bb = format_bytes(p->b);
    Str s = str_new(arena);

    str_add(&s, INIT(1) COPY_IN(32768) "mad.wide.u32 %rd10, %r1, 16, %rd1; ld.global.v4.b32 {%r31,%r32,%r33,%r34}, [%rd10+32768];\n"
                "mad.wide.u32 %rd11, %r1, 512, %rd1; mad.wide.u32 %rd12, %r1, 512, %rd2; cvt.u64.u32 %rd13, %r3; shr.u64 %rd13, %rd13, 4;\n");
    for (int i = 0; i < p->n / 2; i++)
        str_printf(&s, "ld.global.f32 %%f%d, [%%rd11+%d];\n", i, 32768 + 2048 + 4 * i);
    str_printf(&s, "add.u64 %%rd14, %%rd13, %lld; add.u64 %%rd15, %%rd13, %lld;\n",
               (long long)descriptor(p->a_span ? p->a_span : 16, p->a_across, 64, ab, 0),
               (long long)descriptor(p->b_span, p->b_across, p->n, bb, B_AT));
    str_add(&s, WAIT("W", 0, 0));
    str_printf(&s, "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n%dk%d.f32.%s.%s {", p->n, k,
               type_name(p->a), type_name(p->b));
    for (int i = 0; i < p->n / 2; i++)
        str_printf(&s, "%s%%f%d", i ? ", " : "", i);
    str_printf(&s, "}, %s, %%rd15, %%p%d, %d, %d", p->a_span ? "%rd14" : "{%r31, %r32, %r33, %r34}", p->add ? 3 : 2,
               p->negate_a ? -1 : 1, p->negate_b ? -1 : 1);
    if (ab == 2 && p->a_span)
        str_printf(&s, ", %d", p->a_across);
    if (ab == 2)
        str_printf(&s, ", %d", p->b_across);
    str_add(&s, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (int i = 0; i < p->n / 2; i++)
        str_printf(&s, "st.global.f32 [%%rd12+%d], %%f%d;\n", 4 * i, i);
    return str_text(&s);
}

static void run_product(const Product *p, uint64_t seed)
{
    int k = 32 / format_bytes(p->a);
    AsyncRig a;
    Matrices *m;

    async_open(&a, 128);
    a.rig.launch.seed = seed;
    m = arena_new_of(a.rig.arena, Matrices);
    fill_matrices(m, p, k);
    fill_fragments(m, p);
    a.in = m->shared;
    a.in_bytes = sizeof m->shared + sizeof m->fragments + sizeof m->d;
    assert_ptr_equal(m->fragments, m->shared + sizeof m->shared);
    assert_ptr_equal(m->d, (uint8_t *)m->fragments + sizeof m->fragments);
    a.out = m->out;
    a.out_bytes = sizeof m->out;
    run_right(&a, product_body(a.rig.arena, p, k), "wgmma");
    check_product(m, p, k);
    rig_close(&a.rig);
}

static void test_wgmma(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(products); i++) {
        for (uint64_t seed = 0; seed < 4; seed++)
            run_product(&products[i], seed);
    }
}

/* ---- registers, small things ------------------------------------------------------------------ */

/* The first warpgroup gives registers, the second takes them; 168 each at first. */
static void test_setmaxnreg(void **state)
{
    static const char body[] = "setp.lt.u32 %p4, %r4, 4; @%p4 bra GIVE;\n"
                               "setmaxnreg.inc.sync.aligned.u32 240; bra OUT;\nGIVE: setmaxnreg.dec.sync.aligned.u32 24;\n"
                               "OUT: mad.wide.u32 %rd10, %r1, 4, %rd2; st.global.u32 [%rd10], %r1;";
    uint32_t in = 0, out[384];

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        AsyncRig a;

        async_open(&a, 384);
        a.rig.launch.seed = seed;
        a.in = &in;
        a.in_bytes = 4;
        a.out = out;
        a.out_bytes = sizeof out;
        run_right(&a, body, "setmaxnreg");
        assert_int_equal(out[383], 383);
        rig_close(&a.rig);
    }
}

/* Matrices go out by stmatrix of every count, then by a bulk store. */
static void test_stmatrix(void **state)
{
    static const char body[] =
        "mul.lo.u32 %r10, %r1, 0x10001; add.u32 %r11, %r10, 0x200020; add.u32 %r12, %r10, 0x400040; add.u32 %r13, %r10, 0x600060;\n"
        "and.b32 %r20, %r1, 7; mad.lo.u32 %r21, %r20, 16, %r3; mad.lo.u32 %r22, %r1, 16, %r3;\n"
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r22+1024], {%r10,%r11,%r12,%r13};\n"
        "and.b32 %r23, %r1, 15; mad.lo.u32 %r24, %r23, 16, %r3;\n"
        "stmatrix.sync.aligned.m8n8.x1.shared::cta.b16 [%r21], {%r10}; stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r21+128], {%r11};\n"
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r24+256], {%r12,%r13}; fence.proxy.async.shared::cta; bar.sync 0;\n"
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 512; @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2+512], [%r3+1024], 512;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    uint16_t out[512];
    uint32_t in = 0;
    AsyncRig a;

    (void)state;
    async_open(&a, 32);
    a.in = &in;
    a.in_bytes = 4;
    a.out = out;
    a.out_bytes = sizeof out;
    run_right(&a, body, "stmatrix");
    for (int i = 0; i < 64; i++) { /* lane l has elements 2 l and 2 l + 1 of a matrix, both l plus 32 a matrix */
        assert_int_equal(out[i], i / 2);
        assert_int_equal(out[64 + i % 8 * 8 + i / 8], 32 + i / 2);
        assert_int_equal(out[128 + i], 64 + i / 2);
        assert_int_equal(out[192 + i], 96 + i / 2);
        for (int m = 0; m < 4; m++)
            assert_int_equal(out[256 + 64 * m + i], 32 * m + i / 2);
    }
    rig_close(&a.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mbarrier),    cmocka_unit_test(test_ring),        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_load_boxes),  cmocka_unit_test(test_store_boxes), cmocka_unit_test(test_bad_maps),
        cmocka_unit_test(test_wgmma),       cmocka_unit_test(test_setmaxnreg),  cmocka_unit_test(test_stmatrix),
    };

    return cmocka_run_group_tests_name("emu_async", tests, NULL, NULL);
}
