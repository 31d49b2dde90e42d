/* test_machine.c: machine code beside its PTX. The texts under tests/assemble are of a
 * kernel of warpgroups with roles (64 columns a head, every key seen), cut down to the
 * lines that count: the PTX, and what nvdisasm showed of it as ptxas 13.0 assembled it;
 * of the same with an accumulator read while it is in flight, so that products are
 * serialised; with a wait that leaves no product in flight; and with too few registers in
 * the other entry. */
#include "assemble/machine.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    Diags *diags;
    Source *ptx;
    MachineCodes meant;
} Fixture;

static Source *read_file(Fixture *f, const char *name)
{
    const char *error = "";
    Source *source = source_read(f->arena, arena_printf(f->arena, "tests/assemble/%s", name), &error);
    if (!source)
        fail_msg("%s", error);
    return source;
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    if (!f || setjmp(f->oom))
        return -1;
    f->heap.on_oom = &f->oom;
    f->arena = arena_new(&f->heap);
    f->ptx = read_file(f, "flow.ptx");
    f->diags = diags_new(f->arena, f->ptx);
    machine_read_ptx(f->arena, f->ptx->text, &f->meant);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    arena_free(f->arena);
    free(f);
    return 0;
}

/* All entries compared; the diagnostics are in f->diags. */
static int compare(Fixture *f, const char *sass)
{
    MachineCodes made;
    int found = 0;
    machine_read_sass(f->arena, sass, &made);
    f->diags = diags_new(f->arena, f->ptx);
    for (int i = 0; i < f->meant.len; i++) {
        const MachineCode *code = machine_find(&made, f->meant.data[i].entry);
        assert_non_null(code);
        found += machine_compare(f->diags, f->ptx, &f->meant.data[i], code);
    }
    assert_int_equal(found, f->diags->list.len);
    return found;
}

static void expect(Fixture *f, const char *sass, DiagCode code, const char *words)
{
    Str all = str_new(f->arena);
    bool seen = false;
    compare(f, sass);
    for (int i = 0; i < f->diags->list.len; i++)
        seen |= f->diags->list.data[i].code == code && strstr(f->diags->list.data[i].message, words);
    diags_text(f->diags, &all);
    if (!seen)
        fail_msg("no %s with '%s' in:\n%s", diag_info(code)->name, words, str_text(&all));
}

/* The text with the n-th line that contains `what` replaced; NULL: dropped. */
static const char *edit(Fixture *f, const char *text, const char *what, int n, const char *line)
{
    Str out = str_new(f->arena);
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        size_t len = strcspn(text, "\n");
        const char *at = strstr(text, what);
        if (at && at < text + len && n-- == 0) {
            if (line)
                str_printf(&out, "%s\n", line);
            continue;
        }
        str_addn(&out, text, len);
        str_addc(&out, '\n');
    }
    return str_text(&out);
}

/* ---- reading ------------------------------------------------------------------------ */

static void test_counts(void **state)
{
    Fixture *f = *state;
    MachineCodes made;
    machine_read_sass(f->arena, read_file(f, "flow.sass")->text, &made);
    assert_int_equal(f->meant.len, 2);
    assert_int_equal(made.len, 2);
    for (int i = 0; i < 2; i++) {
        const MachineCode *code = machine_find(&f->meant, i ? "flow_any" : "flow");
        MachineCount a = machine_count(code), b = machine_count(machine_find(&made, code->entry));
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(a.products, i ? 0 : 16);
        assert_int_equal(a.waits, i ? 0 : 4);
        assert_int_equal(a.multiplies, i ? 68 : 0);
        assert_int_equal(a.exps, i ? 34 : 100);
    }
    assert_null(machine_find(&made, "other"));
}

/* Predicates, other spellings, a listing of cuobjdump, text that is neither. */
static void test_spellings(void **state)
{
    Fixture *f = *state;
    MachineCodes codes;
    machine_read_ptx(f->arena, "ex2.approx.ftz.f32 a, b;\n.visible .entry k(\n)\n{\n  @!%p1 wgmma.wait_group.sync.aligned 3;\n"
                               "{ mma.sync.aligned.m16n8k16;\n// wgmma.fence\nmma.syncopate\n.entry other()\n", &codes);
    assert_int_equal(codes.len, 2);
    assert_string_equal(codes.data[0].entry, "k");
    assert_int_equal(codes.data[0].events.len, 3);
    assert_int_equal(codes.data[0].events.data[0].pending, 3);
    machine_read_sass(f->arena, "\t\tFunction : k\n\t.headerflags\n"
                                "        /*0000*/    LDL R1, [R2] ;   /* 0x00 */\n"
                                "                                     /* 0x01 */\n"
                                "        /*0010*/ @!UP0 HMMA.16816.F32 R1, R2 ;  /* 0x00 */\n"
                                "        /*0020*/    STL [R1], R2 ;\n"
                                "        /*0030*/    LDLX R2 ;\n"
                                "        /*0040*/ @P1 BRA 0x10 ;\n"
                                "        /*0050*/    STL [R1], R2 ;\n"
                                "\t\tFunction : k2\n /*0000*/ QGMMA.64x64x32.F32.E4M3.E4M3 R24, gdesc[UR8], R24, gsb0 ;\n",
                      &codes);
    assert_int_equal(codes.len, 2);
    MachineCount n = machine_count(&codes.data[0]);
    assert_int_equal(n.multiplies, 1);
    assert_int_equal(n.local, 3);
    assert_int_equal(n.hot_local, 1);
    assert_int_equal(codes.data[1].events.len, 2);
    machine_read_sass(f->arena, "\t.section\t.text.k,\"ax\",@progbits\n\t.sectioninfo\t@\"SHI_REGISTERS=255\"\n"
                                "        /*0000*/ IMMA.16832.S8.S8 R1, R2 ;\n\t.section\t.nv.info,\"\"\n/*0000*/ HMMA\n",
                      &codes);
    assert_int_equal(codes.len, 1);
    assert_int_equal(machine_count(&codes.data[0]).multiplies, 1);
    machine_read_sass(f->arena, "nvdisasm error: no\n.L_x_1:\n/*\n/*00*/ HMMA", &codes);
    assert_int_equal(codes.len, 0);
    machine_read_sass(f->arena, ".section .text.k,\n/*\n.L\n/*0000*/\n/*0000*/ BRA `(\n/*00*/ BRA\n WARPGROUP.DEPBAR", &codes);
    assert_int_equal(codes.len, 1);
}

/* ---- comparing ---------------------------------------------------------------------- */

static void test_as_meant(void **state)
{
    Fixture *f = *state;
    assert_int_equal(compare(f, read_file(f, "flow.sass")->text), 0);
}

static void test_serialised(void **state)
{
    Fixture *f = *state;
    expect(f, read_file(f, "flow_serialised.sass")->text, TW0911, "products of flow wait one for the other: 16 of 16");
    assert_int_equal(f->diags->list.len, 1);
}

/* Of the assembler: that leaves no product in flight. */
static void test_other_wait(void **state)
{
    Fixture *f = *state;
    expect(f, read_file(f, "flow_moved.sass")->text, TW0912,
           "here flow has a wait that leaves 1 in flight, and machine code a wait that leaves 0");
    const Diag *d = &f->diags->list.data[0];
    assert_memory_equal(f->ptx->text + d->span.start, "wgmma.wait_group.sync.aligned", 29);
    assert_int_equal(d->span.end - d->span.start, 29);
}

/* Waits moved, dropped and added by hand. */
static void test_moved_waits(void **state)
{
    Fixture *f = *state;
    const char *sass = read_file(f, "flow.sass")->text, *wait = "        /*9990*/ WARPGROUP.DEPBAR.LE gsb0, 0x0 ;",
               *last = "WARPGROUP.DEPBAR.LE gsb0, 0x0";
    for (int i = 0; i < 3; i++)
        expect(f, edit(f, sass, last, i, NULL), TW0912, "here flow has");
    expect(f, edit(f, sass, "MUFU.EX2", 40, wait), TW0912, "machine code a wait that leaves 0");
    assert_int_equal(compare(f, edit(f, sass, "MUFU.EX2", 40, NULL)), 0); /* one more or less */
}

/* A wait that was put behind exponentials, and stands before them. */
static void test_hoisted_wait(void **state)
{
    static const char wait_line[] = "wgmma.wait_group.sync.aligned 0;\n";
    Fixture *f = *state;
    Str ptx = str_new(f->arena), late = str_new(f->arena), early = str_new(f->arena);
    Source source = {.path = "k.ptx"};
    MachineCodes meant, made;
    str_add(&ptx, ".visible .entry k(\nwgmma.mma_async.x;\nwgmma.commit_group;\n");
    str_add(&late, ".section .text.k,\n/*00*/ HGMMA.64 R1, gsb0 ;\n");
    str_printf(&early, "%s/*00*/ WARPGROUP.DEPBAR.LE gsb0, 0x0 ;\n", str_text(&late));
    for (int i = 0; i < 64; i++) {
        str_add(&ptx, "ex2.approx.ftz.f32 a, b;\n");
        str_add(&early, "/*00*/ MUFU.EX2 R1, R2 ;\n");
        str_add(&late, i == 60 ? "/*00*/ WARPGROUP.DEPBAR.LE gsb0, 0x0 ;\n" : "");
        str_add(&late, "/*00*/ MUFU.EX2 R1, R2 ;\n");
    }
    str_add(&ptx, wait_line);
    source.text = str_text(&ptx);
    source.len = ptx.len;
    machine_read_ptx(f->arena, source.text, &meant);
    machine_read_sass(f->arena, str_text(&early), &made);
    assert_int_equal(machine_compare(f->diags, &source, &meant.data[0], &made.data[0]), 1);
    assert_int_equal(f->diags->list.data[0].code, TW0912);
    assert_non_null(strstr(f->diags->list.data[0].message, "was put behind 64 exponentials, and stands behind 0"));
    machine_read_sass(f->arena, str_text(&late), &made); /* four moved across */
    assert_int_equal(machine_compare(f->diags, &source, &meant.data[0], &made.data[0]), 0);
}

static void test_other_products(void **state)
{
    Fixture *f = *state;
    const char *sass = read_file(f, "flow.sass")->text;
    expect(f, edit(f, sass, "HGMMA", 3, NULL), TW0913, "(and 16 and 15 that are asynchronous)");
    expect(f, edit(f, sass, " HMMA", 3, NULL), TW0913, "flow_any has 68 products in PTX and 67 in machine code");
}

static void test_spilled(void **state)
{
    Fixture *f = *state;
    MachineCodes made;
    const char *sass = read_file(f, "flow_spilled.sass")->text;
    expect(f, sass, TW0914, "flow_any keeps values in local memory within a loop that multiplies");
    assert_int_equal(f->diags->list.len, 1);
    machine_read_sass(f->arena, sass, &made);
    MachineCount n = machine_count(machine_find(&made, "flow_any"));
    assert_true(n.hot_local > 0 && n.hot_local < n.local);
    /* outside of such loops they do no harm */
    sass = edit(f, read_file(f, "flow.sass")->text, "EXIT", 0, "        /*9990*/ STL [R1], R2 ;");
    assert_int_equal(compare(f, sass), 0);
}

/* ---- the disassembler --------------------------------------------------------------- */

static void test_disassembler(void **state)
{
    Fixture *f = *state;
    AsmTool tool = {.path = "/bin/cat"};
    const char *text, *error = "";
    assert_false(machine_tool(f->arena, "/nowhere/nvdisasm", &tool, &error));
    tool.path = "/nowhere/nvdisasm";
    assert_false(machine_disassemble(f->arena, &tool, "code", 4, &text, &error));
    assert_non_null(strstr(error, "/nowhere/nvdisasm cannot read the cubin"));
    tool.path = "tests/assemble/cuobjdump"; /* one that prints its file */
    if (!machine_disassemble(f->arena, &tool, "code", 4, &text, &error))
        fail_msg("%s", error);
    assert_string_equal(text, "-sass code");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_counts), TEST(test_spellings), TEST(test_as_meant), TEST(test_serialised),
        TEST(test_other_wait), TEST(test_moved_waits), TEST(test_hoisted_wait), TEST(test_other_products),
        TEST(test_spilled), TEST(test_disassembler),
#undef TEST
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
