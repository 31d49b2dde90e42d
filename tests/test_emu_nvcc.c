/* test_emu_nvcc.c: what other compilers' text has and ours has not: functions, variables of the module, lists of
 * branch targets, wmma, products of integers, warp-wide instructions of several masks, copies of what is undefined.
 */
#include "emu_rig.h"

#include <math.h>

enum { WORDS = 1024 };

static uint32_t in[WORDS], out[WORDS];

/* Runs one block of a whole text's first entry with `in` and `out` as its parameters. */
static void run_text(Rig *rig, const char *text, int threads)
{
    struct { uint64_t in, out; } params;
    EmuModule *module;
    EmuMemory *memory;

    rig_open(rig);
    module = rig_parse_text(rig, text, strlen(text));
    if (!module) {
        diags_print(rig->diags, stderr, false);
        fail_msg("the text does not parse");
    }
    memory = emu_memory_new(rig->arena);
    params.in = emu_memory_add(memory, "in", in, sizeof in, true, true, 0);
    params.out = emu_memory_add(memory, "out", out, sizeof out, true, false, 0);
    rig->launch.params = &params;
    rig->launch.param_bytes = sizeof params;
    rig->launch.block[0] = threads;
    for (int launch = 0; launch < 2; launch++) { /* variables of the module outlive a launch */
        if (!emu_run(rig->arena, module, 0, memory, &rig->launch, &rig->report)) {
            rig_print_faults(rig);
            fail();
        }
    }
}

/* Runs a snippet of emu_rig.h; in has 0, 1, 2, … unless it has been set. */
static void run_body(const char *body, int threads)
{
    Rig rig;

    memset(out, 0, sizeof out);
    for (uint64_t seed = 0; seed < 3; seed++) {
        rig_open(&rig);
        rig.launch.block[0] = threads;
        rig.launch.seed = seed;
        rig.out_initialised = true;
        if (!rig_run(&rig, body, in, sizeof in, out, sizeof out)) {
            print_error("%s\n", body);
            rig_print_faults(&rig);
            fail();
        }
        rig_close(&rig);
    }
}

static void count_in(void)
{
    for (uint32_t i = 0; i < WORDS; i++)
        in[i] = i;
}

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY                                                                            \
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<9>;\n" \
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd3, %r1, 4, %rd2;\n"

/* ---- functions --------------------------------------------------------------------------- */

static void test_calls(void **state)
{
    static const char text[] = HEAD
        ".func (.param .b32 r) twice(.param .b32 x);\n" /* defined behind its use */
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ENTRY
        "setp.lt.u32 %p1, %r1, 8; and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 1; mov.u32 %r4, 1000;\n"
        "{ .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 retval0;\n"
        "@%p1 call (retval0), four, (param0);\n@!%p1 call.uni (retval0), twice, (param0);\nld.param.b32 %r4, [retval0+0]; }\n"
        "{ .param .b64 p0; st.param.b64 [p0], 0; .param .b64 p1; st.param.b64 [p1], 0; .param .b32 retval0;\n"
        "call.uni (retval0), vprintf, (p0, p1); ld.param.b32 %r5, [retval0]; add.u32 %r4, %r4, %r5; }\n"
        "st.global.u32 [%rd3], %r4; ret;\n}\n"
        ".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<4>; .reg .pred %p<2>; ld.param.b32 %r1, [x];\n"
        "setp.gt.u32 %p1, %r1, 60; st.param.b32 [r], 7; @%p1 ret; shl.b32 %r2, %r1, 1; st.param.b32 [r], %r2; bra L; L: ret;\n}\n"
        ".func (.param .b32 r) four(.param .b32 x)\n{\n.reg .b32 %r<4>; .local .align 4 .b8 kept[8]; ld.param.b32 %r1, [x]; st.local.u32 [kept+4], %r1;\n"
        "{ .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 retval0; call (retval0), twice, (param0);\n"
        "ld.param.b32 %r2, [retval0]; }\nld.local.u32 %r3, [kept+4]; mad.lo.u32 %r2, %r3, 2, %r2; L: st.param.b32 [r], %r2; ret;\n}\n";
    Rig rig;

    (void)state;
    run_text(&rig, text, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], i < 8 ? 4 * i : i > 60 ? 7 : 2 * i);
    rig_close(&rig);
}

static void check_refused(const char *text, const char *code)
{
    Rig rig;

    rig_open(&rig);
    assert_null(rig_parse_text(&rig, text, strlen(text)));
    assert_string_equal(diag_info(rig.diags->list.data[0].code)->name, code);
    rig_close(&rig);
}

static void test_refused_calls(void **state)
{
    (void)state;
    check_refused(HEAD ENTRY "call nobody; ret;\n}\n", "TW0825");
    check_refused(HEAD ".func f()\n{ call f; ret; }\n" ENTRY "call f; ret;\n}\n", "TW0822");
    check_refused(HEAD ".func f(.param .b32 x)\n{ ret; }\n" ENTRY "call f; ret;\n}\n", "TW0824");
    check_refused(HEAD ".func f(.param .b32 x)\n{ ret; }\n" ENTRY "call f, (%r1); ret;\n}\n", "TW0824");
    check_refused(HEAD ".func f()\n{ frob.u32 %r1; ret; }\n" ENTRY "call f; ret;\n}\n", "TW0822");
}

/* ---- variables ------------------------------------------------------------------------------ */

static void test_variables(void **state)
{
    static const char text[] = HEAD
        ".const .align 4 .f32 table[4] = {1.0, 0f40000000, {3.5}};\n.global .align 2 .u16 halves[3] = {1, 2, 65535};\n"
        ".global .u32 counter;\n.global .u64 where[2] = {0, generic(table)+4};\n" ENTRY
        "and.b32 %r2, %r1, 3; mov.u64 %rd4, table; mad.wide.u32 %rd4, %r2, 4, %rd4; ld.const.b32 %r3, [%rd4];\n"
        "atom.global.add.u32 %r4, [counter], 1; ld.global.u16 %r5, [halves+4]; ld.global.u64 %rd5, [where+8]; ld.b32 %r6, [%rd5];\n"
        "st.global.u32 [%rd3], %r3; st.global.u32 [%rd3+256], %r5; st.global.u32 [%rd3+512], %r6;\n"
        "bar.sync 0; setp.eq.u32 %p1, %r1, 0; @%p1 ld.volatile.global.u32 %r7, [counter]; @%p1 st.global.u32 [%rd2+1024], %r7; ret;\n}\n";
    static const uint32_t table[] = { 0x3f800000, 0x40000000, 0x40600000, 0 };
    Rig rig;

    (void)state;
    run_text(&rig, text, 64);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(out[i], table[i % 4]);
        assert_int_equal(out[64 + i], 65535);
        assert_int_equal(out[128 + i], 0x40000000);
    }
    assert_int_equal(out[256], 128);
    rig_close(&rig);
    check_refused(HEAD ".global .u32 two[2] = {1, 2, 3};\n" ENTRY "ret;\n}\n", "TW0821");
    check_refused(HEAD ".global .u64 two = generic(nobody);\n" ENTRY "ret;\n}\n", "TW0825");
    check_refused(HEAD ".extern .global .u32 far;\n" ENTRY "ld.global.u32 %r1, [far]; ret;\n}\n", "TW0825");
}

/* Parameters are read by an address that is computed, too, and as generic addresses. */
static void test_parameters(void **state)
{
    static const char text[] = HEAD ENTRY
        "mov.b64 %rd5, in; ld.param.u64 %rd6, [%rd5+8]; cvta.param.u64 %rd8, %rd5; ld.u64 %rd7, [%rd8+8];\n"
        "setp.eq.u64 %p1, %rd6, %rd2; setp.eq.and.u64 %p1, %rd7, %rd2, %p1; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd3], %r2; ret;\n}\n";
    Rig rig;

    (void)state;
    run_text(&rig, text, 32);
    assert_int_equal(out[31], 1);
    rig_close(&rig);
}

/* ---- control ---------------------------------------------------------------------------------- */

static void test_branch_lists(void **state)
{
    static const char body[] =
        "and.b32 %r2, %r1, 3; T: .branchtargets A, B, C, A; brx.idx %r2, T;\n"
        "A: mov.u32 %r3, 10; bra E; B: mov.u32 %r3, 20; bra E; C: mov.u32 %r3, 30;\nE: st.global.u32 [%rd5], %r3;";
    static const uint32_t wanted[] = { 10, 20, 30, 10 };
    Rig rig;

    (void)state;
    run_body(body, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], wanted[i % 4]);
    rig_open(&rig);
    assert_false(rig_run(&rig, "T: .branchtargets A; brx.idx %r1, T;\nA: ret;", in, sizeof in, out, sizeof out));
    assert_int_equal(rig.report.faults[0].kind, EMU_OUT_OF_BOUNDS);
    rig_close(&rig);
}

static void test_bar_red(void **state)
{
    (void)state;
    run_body("setp.lt.u32 %p1, %r1, 40; bar.red.popc.u32 %r2, 0, %p1; bar.red.popc.u32 %r3, 0, 96, !%p1;\n"
             "bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 1, %p1; selp.u32 %r4, 1, 0, %p2; selp.u32 %r5, 2, 0, %p3;\n"
             "mad.lo.u32 %r2, %r2, 1000, %r3; add.u32 %r4, %r4, %r5; mad.lo.u32 %r2, %r2, 10, %r4; st.global.u32 [%rd5], %r2;", 96);
    for (int i = 0; i < 96; i++)
        assert_int_equal(out[i], 400562);
    /* of a block that fills no warp, threads that are not there have no vote against */
    run_body("setp.lt.u32 %p1, %r1, 99; bar.red.and.pred %p2, 0, %p1; selp.u32 %r4, 1, 0, %p2; st.global.u32 [%rd5], %r4;", 40);
    assert_int_equal(out[39], 1);
}

/* Tiles of a warp execute one instruction together, each with a mask of its own. */
static void test_tiles(void **state)
{
    (void)state;
    run_body("and.b32 %r2, %r1, 24; shl.b32 %r3, 0xff, %r2; redux.sync.add.u32 %r4, %r1, %r3; shfl.sync.idx.b32 %r5, %r1, 3, 0x181f, %r3;\n"
             "setp.eq.u32 %p1, %r1, %r5; vote.sync.ballot.b32 %r6, %p1, %r3; shr.u32 %r6, %r6, %r2; mad.lo.u32 %r4, %r5, 1000, %r4; mad.lo.u32 %r4, %r6, 100000, %r4;\n"
             "bar.warp.sync %r3; st.global.u32 [%rd5], %r4;", 32);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t first = i / 8 * 8;

        assert_int_equal(out[i], 800000 + 1000 * (first + 3) + 8 * first + 28);
    }
}

/* A register that nobody wrote may be copied, as half of a pair or by a shuffle from lanes that have it. */
static void test_undefined_copies(void **state)
{
    Rig rig;

    (void)state;
    run_body("mov.u32 %r2, 7; mov.u32 %r4, %r3; mov.b64 %rd6, {%r2, %r4}; cvt.u32.u64 %r5, %rd6;\n"
             "setp.eq.u32 %p1, %r1, 4; @%p1 mov.u32 %r6, 9; shfl.sync.idx.b32 %r6, %r6, 4, 31, -1; add.u32 %r5, %r5, %r6; st.global.u32 [%rd5], %r5;", 32);
    assert_int_equal(out[31], 16);
    for (int i = 0; i < 2; i++) {
        rig_open(&rig);
        assert_false(rig_run(&rig, i ? "mov.u32 %r4, %r3; add.u32 %r5, %r4, 1;"
                                     : "setp.eq.u32 %p1, %r1, 4; @%p1 mov.u32 %r6, 9; shfl.sync.idx.b32 %r6, %r6, 5, 31, -1;",
                             in, sizeof in, out, sizeof out));
        assert_int_equal(rig.report.faults[0].kind, EMU_UNINITIALISED);
        rig_close(&rig);
    }
}

/* ---- matrices ----------------------------------------------------------------------------------- */

static int8_t byte(int i)
{
    return (int8_t)(i * 37 % 201 - 100);
}

static void byte_in(void)
{
    for (int i = 0; i < WORDS * 4; i++)
        ((int8_t *)in)[i] = byte(i);
}

#define REGISTERS4(r) "{%" r "20,%" r "21,%" r "22,%" r "23}"
#define REGISTERS8(r) "{%" r "20,%" r "21,%" r "22,%" r "23,%" r "24,%" r "25,%" r "26,%" r "27}"

static void test_wmma_bytes(void **state)
{
    (void)state;
    byte_in();
    for (int i = 0; i < 2; i++) {
        run_body(i ? "wmma.load.a.sync.aligned.row.m32n8k16.global.s8 " REGISTERS4("r") ", [%rd1], 16; wmma.load.b.sync.aligned.row.m32n8k16.global.s8 {%r30}, [%rd1+1024];\n"
                     "mov.u32 %r40, 5; wmma.mma.sync.aligned.row.row.m32n8k16.s32.s8.s8.s32 {%r50,%r51,%r52,%r53,%r54,%r55,%r56,%r57}, " REGISTERS4("r") ", {%r30}, {%r40,%r40,%r40,%r40,%r40,%r40,%r40,%r40};\n"
                     "wmma.store.d.sync.aligned.row.m32n8k16.global.s32 [%rd2], {%r50,%r51,%r52,%r53,%r54,%r55,%r56,%r57}, 8;"
                   : "wmma.load.a.sync.aligned.col.m8n32k16.global.s8 {%r30}, [%rd1]; wmma.load.b.sync.aligned.col.m8n32k16.global.s8 " REGISTERS4("r") ", [%rd1+1024], 32;\n"
                     "mov.u32 %r40, 5; wmma.mma.sync.aligned.col.col.m8n32k16.s32.s8.s8.s32.satfinite {%r50,%r51,%r52,%r53,%r54,%r55,%r56,%r57}, {%r30}, " REGISTERS4("r") ", {%r40,%r40,%r40,%r40,%r40,%r40,%r40,%r40};\n"
                     "wmma.store.d.sync.aligned.col.m8n32k16.global.s32 [%rd2], {%r50,%r51,%r52,%r53,%r54,%r55,%r56,%r57};", 32);
        for (int row = 0; row < (i ? 32 : 8); row++) {
            for (int column = 0; column < (i ? 8 : 32); column++) {
                int32_t sum = 5;

                for (int k = 0; k < 16; k++)
                    sum += i ? byte(row * 16 + k) * byte(1024 + k * 8 + column) : byte(k * 8 + row) * byte(1024 + column * 32 + k);
                assert_int_equal((int32_t)out[i ? row * 8 + column : column * 8 + row], sum);
            }
        }
    }
}

static void test_wmma_halves(void **state)
{
    uint16_t *halves = (uint16_t *)in;

    (void)state;
    for (int i = 0; i < 2 * WORDS; i++)
        halves[i] = (uint16_t)(0x3c00 + (i % 7) * 0x100); /* 1 to 2.5 and on */
    run_body("wmma.load.a.sync.aligned.row.m16n16k16.f16 " REGISTERS8("r") ", [%rd1], 16; wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r50,%r51,%r52,%r53,%r54,%r55,%r56,%r57}, [%rd1+512], 16;\n"
             "mov.f32 %f1, 0f3F000000; wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " REGISTERS8("f") ", " REGISTERS8("r") ", {%r50,%r51,%r52,%r53,%r54,%r55,%r56,%r57}, {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};\n"
             "add.f32 %f20, %f20, %f20; add.f32 %f21, %f21, %f21; add.f32 %f22, %f22, %f22; add.f32 %f23, %f23, %f23; add.f32 %f24, %f24, %f24; add.f32 %f25, %f25, %f25; add.f32 %f26, %f26, %f26; add.f32 %f27, %f27, %f27;\n"
             "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [sm], " REGISTERS8("f") ", 20; bar.warp.sync -1;\n"
             "mov.u32 %r2, 0; L: mad.lo.u32 %r3, %r2, 32, %r1; shr.u32 %r4, %r3, 4; and.b32 %r5, %r3, 15; mad.lo.u32 %r4, %r4, 20, %r5; shl.b32 %r4, %r4, 2; mov.u32 %r6, sm; add.u32 %r4, %r4, %r6;\n"
             "ld.shared.f32 %f2, [%r4]; mad.wide.u32 %rd6, %r3, 4, %rd2; st.global.f32 [%rd6], %f2; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 8; @%p1 bra L;", 32);
    for (int i = 0; i < 256; i++) {
        float sum = 0.5f, got;

        for (int k = 0; k < 16; k++) {
            int a = (i / 16 * 16 + k) % 7, b = (256 + i % 16 * 16 + k) % 7;

            sum += (float)((a < 4 ? 1 + a * 0.25 : a * 0.5) * (b < 4 ? 1 + b * 0.25 : b * 0.5));
        }
        memcpy(&got, &out[i], 4);
        assert_true(fabsf(got - 2 * sum) < 1e-3f);
    }
}

static void test_wmma_faults(void **state)
{
    static const char *const bodies[] = {
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " REGISTERS8("r") ", [%rd1+4080], 16;", /* past the end */
        "mov.f32 %f1, 0f3F000000; wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [sm], {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1}, 16; ld.shared.f32 %f2, [sm+4];",
    };
    static const EmuFaultKind kinds[] = { EMU_OUT_OF_BOUNDS, EMU_RACE };

    (void)state;
    for (int i = 0; i < 2; i++) {
        Rig rig;

        rig_open(&rig);
        assert_false(rig_run(&rig, bodies[i], in, sizeof in, out, sizeof out));
        assert_int_equal(rig.report.faults[0].kind, kinds[i]);
        rig_close(&rig);
    }
}

/* A [g + 8 (r % 2)] [4 t + i + 16 (r / 2)], B [4 t + i + 16 r] [g], D [g + 8 (r / 2)] [2 t + r % 2]
 * (PTX ISA, "Matrix Fragments for mma.m16n8k32", .s8 and .u8). */
static void test_mma_bytes(void **state)
{
    (void)state;
    byte_in();
    run_body("mad.wide.u32 %rd6, %r1, 24, %rd1; ld.global.v2.u32 {%r10,%r11}, [%rd6]; ld.global.v2.u32 {%r12,%r13}, [%rd6+8]; ld.global.v2.u32 {%r14,%r15}, [%rd6+16]; mov.u32 %r5, 3;\n"
             "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r20,%r21,%r22,%r23}, {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r5,%r5,%r5,%r5};\n"
             "mad.wide.u32 %rd6, %r1, 16, %rd2; st.global.v4.u32 [%rd6], {%r20,%r21,%r22,%r23};", 32);
    for (int lane = 0; lane < 32; lane++) {
        for (int r = 0; r < 4; r++) {
            int row = lane / 4 + 8 * (r / 2), column = 2 * (lane % 4) + r % 2;
            int32_t sum = 3;

            for (int k = 0; k < 32; k++) {
                int a = (row % 8 * 4 + k % 16 / 4) * 24 + (row / 8 + 2 * (k / 16)) * 4 + k % 4;
                int b = (column * 4 + k % 16 / 4) * 24 + 16 + k / 16 * 4 + k % 4;

                sum += byte(a) * (uint8_t)byte(b);
            }
            assert_int_equal((int32_t)out[lane * 4 + r], sum);
        }
    }
}

static void test_mma_doubles_and_bits(void **state)
{
    double d[64];

    (void)state;
    count_in();
    run_body("cvt.rn.f64.u32 %d1, %r1; mov.f64 %d2, 0d0000000000000000; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3,%d4}, {%d1}, {%d1}, {%d2,%d1};\n"
             "mad.wide.u32 %rd6, %r1, 16, %rd2; st.global.v2.f64 [%rd6], {%d3,%d4};", 32);
    memcpy(d, out, sizeof d);
    for (int i = 0; i < 64; i++) {
        int row = i / 8, column = i % 8;
        double sum = i % 2 ? row * 4 + column / 2 : 0;

        for (int k = 0; k < 4; k++)
            sum += (row * 4 + k) * (column * 4 + k);
        assert_true(d[i] == sum);
    }
    run_body("mov.u32 %r2, 0; mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r3,%r4}, {%r1}, {%r2}, {%r2,%r2};\n"
             "mad.wide.u32 %rd6, %r1, 8, %rd2; st.global.v2.u32 [%rd6], {%r3,%r4};", 32);
    for (int i = 0; i < 64; i++) {
        int sum = 0;

        for (int t = 0; t < 4; t++)
            sum += __builtin_popcount((unsigned)(i / 8 * 4 + t));
        assert_int_equal(out[i], sum);
    }
}

static void test_half_atomics(void **state)
{
    (void)state;
    run_body("setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd2], 0; bar.sync 0; mov.b16 %h1, 0x3c00; red.global.add.noftz.f16 [%rd2+2], %h1; mov.b16 %h2, 0x3f80; red.global.add.noftz.bf16 [%rd2], %h2;", 32);
    assert_int_equal(out[0], 0x50004200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls), cmocka_unit_test(test_refused_calls), cmocka_unit_test(test_variables),
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_branch_lists), cmocka_unit_test(test_bar_red),
        cmocka_unit_test(test_tiles), cmocka_unit_test(test_undefined_copies), cmocka_unit_test(test_wmma_bytes),
        cmocka_unit_test(test_wmma_halves), cmocka_unit_test(test_wmma_faults), cmocka_unit_test(test_mma_bytes),
        cmocka_unit_test(test_mma_doubles_and_bits), cmocka_unit_test(test_half_atomics),
    };

    count_in();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
