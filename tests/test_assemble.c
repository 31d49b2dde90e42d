/* test_assemble.c: the assembler that runs beside us, and what its log says. A
 * stand-in (tests/assemble/ptxas) does what a test asks for; the logs are of ptxas
 * 13.0, of a kernel whose accumulators are read while they are in flight, and of one
 * that may have too few registers. */
#include "assemble/cubin.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    AsmTool tool;
    char folder[64]; /* where temporary files go */
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    const char *error;
    if (!f || setjmp(f->oom))
        return -1;
    f->heap.on_oom = &f->oom;
    f->arena = arena_new(&f->heap);
    strcpy(f->folder, "/tmp/test_assemble.XXXXXX");
    *state = f;
    return !mkdtemp(f->folder) || setenv("TMPDIR", f->folder, 1) != 0 ||
                   !asm_find(f->arena, "ptxas", "tests/assemble/ptxas", &f->tool, &error)
               ? -1
               : 0;
}

/* Nothing may be left where temporary files go. */
static int teardown(void **state)
{
    Fixture *f = *state;
    int left = rmdir(f->folder);
    arena_free(f->arena);
    unsetenv("TMPDIR");
    free(f);
    return left;
}

static AsmJob *start(Fixture *f, const char *text, double limit)
{
    AsmSpec spec = {.name = "twice.ptx", .ptx = text, .len = strlen(text), .target = "sm_90a", .limit = limit};
    return asm_start(f->arena, &f->tool, &spec);
}

static const AsmResult *assemble(Fixture *f, const char *text)
{
    return asm_result(start(f, text, 20));
}

/* ---- finding ------------------------------------------------------------------------ */

static void test_find(void **state)
{
    Fixture *f = *state;
    AsmTool tool;
    const char *error = "";
    assert_string_equal(f->tool.version, "99.1.42");
    assert_false(asm_find(f->arena, "ptxas", "/nowhere/ptxas", &tool, &error));
    assert_string_equal(error, "/nowhere/ptxas is no program that can be run");
    assert_false(asm_find(f->arena, "ptxas", "/bin/true", &tool, &error));
    assert_non_null(strstr(error, "does not answer as a program of the CUDA toolkit"));
    assert_false(asm_find(f->arena, "no-such-tool", NULL, &tool, &error));
    assert_string_equal(error, "there is no no-such-tool on the PATH, in CUDA_HOME or in /usr/local/cuda");
}

/* On the PATH first, then where CUDA_HOME is. */
static void test_find_in_folders(void **state)
{
    Fixture *f = *state;
    AsmTool tool;
    const char *error;
    char *path = arena_strdup(f->arena, getenv("PATH"));
    setenv("PATH", "/nowhere::tests/assemble", 1);
    assert_true(asm_find(f->arena, "ptxas", NULL, &tool, &error));
    assert_string_equal(tool.path, "tests/assemble/ptxas");
    setenv("PATH", path, 1);
    setenv("CUDA_HOME", "tests/assemble/none", 1);
    assert_false(asm_find(f->arena, "no-such-tool", NULL, &tool, &error));
    unsetenv("CUDA_HOME");
}

/* ---- one text ----------------------------------------------------------------------- */

static void test_assembled(void **state)
{
    Fixture *f = *state;
    const AsmResult *r = assemble(f, "//log ptxas info    : Compiling entry function 'twice' for 'ARCH'\n"
                                     "//log     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                     "//log ptxas info    : Used 40 registers, used 1 barriers, 64 bytes smem\n"
                                     "//cubin machine code\n");
    assert_true(r->ok && asm_clean(r));
    assert_null(r->problem);
    assert_int_equal(r->bytes, 13);
    assert_memory_equal(r->cubin, "machine code\n", 13);
    assert_int_equal(r->entries.len, 1);
    assert_int_equal(r->notes.len, 0);
    const AsmEntry *e = asm_entry(r, "twice");
    assert_non_null(e);
    assert_null(asm_entry(r, "thrice"));
    assert_int_equal(e->registers, 40);
    assert_int_equal(e->barriers, 1);
    assert_int_equal(e->shared, 64);
    assert_false(e->serialised);
    assert_non_null(strstr(r->log, "for 'sm_90a'"));
}

static void test_refused(void **state)
{
    Fixture *f = *state;
    const AsmResult *r = assemble(f, "//log ptxas FILE, line 7; error   : Unknown symbol 'x'\n"
                                     "//log ptxas fatal   : Ptx assembly aborted due to errors\n//exit 255\n");
    assert_false(r->ok || asm_clean(r));
    assert_string_equal(r->problem, "ptxas twice.ptx, line 7; error   : Unknown symbol 'x'");
    assert_int_equal(r->notes.len, 2);
    r = assemble(f, "//exit 3\n");
    assert_string_equal(r->problem, "ptxas failed and did not say why");
    r = assemble(f, "//log all is well\n"); /* and it writes nothing */
    assert_string_equal(r->problem, "ptxas wrote no cubin");
}

static void test_no_program(void **state)
{
    Fixture *f = *state;
    f->tool.path = "/nowhere/ptxas";
    assert_non_null(assemble(f, "//cubin x\n")->problem);
}

static void test_no_room(void **state)
{
    Fixture *f = *state;
    setenv("TMPDIR", "/nowhere", 1);
    const AsmResult *r = assemble(f, "//cubin x\n");
    setenv("TMPDIR", f->folder, 1);
    assert_false(r->ok);
    assert_non_null(strstr(r->problem, "temporary file"));
}

static void test_limit(void **state)
{
    Fixture *f = *state;
    double before = clock_seconds();
    const AsmResult *r = asm_result(start(f, "//sleep 60\n", 0.05));
    assert_false(r->ok);
    assert_string_equal(r->problem, "ptxas took more than 0.05 s and was ended");
    assert_true(clock_seconds() - before < 30);
}

static void test_cancel(void **state)
{
    Fixture *f = *state;
    AsmJob *job = start(f, "//sleep 60\n", 0);
    assert_int_equal(asm_wait(&job, 1, 0.01), -1);
    asm_cancel(job);
    assert_string_equal(asm_result(job)->problem, "it was cancelled");
}

/* ---- several at once ---------------------------------------------------------------- */

static void test_several(void **state)
{
    enum { N = 7 };
    Fixture *f = *state;
    AsmJob *jobs[N + 1];
    const char *texts[N];
    int n = 0, i, seen = 0;
    AsmJob *slow = start(f, "//sleep 60\n", 0);
    for (; n < N; n++) {
        texts[n] = arena_printf(f->arena, "//cubin text %d\n", n);
        jobs[n] = start(f, texts[n], 20);
    }
    jobs[n++] = slow;
    while (n > 1 && (i = asm_wait(jobs, n, 20)) >= 0) {
        const AsmResult *r = asm_result(jobs[i]);
        assert_true(r->ok);
        assert_memory_equal(r->cubin, "text ", 5);
        seen |= 1 << (r->cubin[5] - '0');
        jobs[i] = jobs[--n];
    }
    assert_int_equal(seen, (1 << N) - 1);
    assert_ptr_equal(jobs[0], slow);
    asm_cancel(slow);
}

/* ---- logs --------------------------------------------------------------------------- */

static void read_log(Fixture *f, const char *path, AsmResult *r)
{
    const char *error = "";
    Source *log = source_read(f->arena, path, &error);
    if (!log)
        fail_msg("%s", error);
    *r = (AsmResult){.ok = true};
    asm_read_log(f->arena, log->text, &r->entries, &r->notes);
}

static void test_serialised_log(void **state)
{
    Fixture *f = *state;
    AsmResult r;
    read_log(f, "tests/assemble/serialised.log", &r);
    assert_int_equal(r.entries.len, 2);
    assert_int_equal(r.notes.len, 1);
    assert_int_equal(r.notes.data[0].kind, ASM_ADVISORY);
    assert_string_equal(r.notes.data[0].code, "C7518");
    assert_string_equal(r.notes.data[0].entry, "attention");
    assert_true(asm_entry(&r, "attention")->serialised);
    assert_false(asm_entry(&r, "attention_any")->serialised);
    assert_int_equal(asm_entry(&r, "attention_any")->registers, 223);
    assert_int_equal(asm_entry(&r, "attention")->registers, 168);
    assert_false(asm_clean(&r));
}

static void test_spilled_log(void **state)
{
    Fixture *f = *state;
    AsmResult r;
    read_log(f, "tests/assemble/spilled.log", &r);
    const AsmEntry *e = asm_entry(&r, "attention_any");
    assert_int_equal(e->registers, 96);
    assert_int_equal(e->stack, 720);
    assert_int_equal(e->spill_stores, 1268);
    assert_int_equal(e->spill_loads, 1216);
    assert_int_equal(asm_entry(&r, "attention")->stack, 8);
    assert_int_equal(r.notes.len, 0);
    assert_false(asm_clean(&r));
}

/* Other advisories, without a code or within an entry's own lines; what a driver writes. */
static void test_other_logs(void **state)
{
    Fixture *f = *state;
    AsmEntries entries;
    AsmNotes notes;
    asm_read_log(f->arena, "info    : 0 bytes gmem\r\n"
                           "info    : Compiling entry function 'a' for 'sm_90a'\r\n"
                           "info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.\r\n"
                           "info    : Function properties for a\r\n"
                           "info    : used 4 registers, 16 stack, 0 bytes smem\n"
                           "ptxas warning : something (C70) else",
                 &entries, &notes);
    assert_int_equal(entries.len, 1);
    assert_string_equal(entries.data[0].name, "a");
    assert_int_equal(notes.len, 2);
    assert_string_equal(notes.data[0].code, "C7508");
    assert_string_equal(notes.data[0].entry, "a");
    assert_false(entries.data[0].serialised);
    assert_int_equal(notes.data[1].kind, ASM_WARNING);
    asm_read_log(f->arena, "", &entries, &notes);
    assert_int_equal(entries.len + notes.len, 0);
    asm_read_log(f->arena, "Used 3 registers\nCompiling entry function 'x\n (C\n()\n", &entries, &notes);
    assert_int_equal(entries.len, 0);
}

/* ---- cubins ------------------------------------------------------------------------- */

static Source text_of(const char *text, size_t len)
{
    return (Source){.path = "twice.sm_90a.ptx", .text = text, .len = len};
}

static void test_cubin_path(void **state)
{
    Fixture *f = *state;
    assert_string_equal(cubin_path(f->arena, "a/twice.sm_90a.ptx"), "a/twice.sm_90a.cubin");
    assert_null(cubin_path(f->arena, "/dev/null"));
    assert_null(cubin_path(f->arena, ".ptx"));
    assert_null(cubin_path(f->arena, NULL));
}

static void test_seal(void **state)
{
    static const char code[] = "\177ELF\0\0 machine\n//tw cubin=1 code\n", ptx[] = ".version 8.0\n";
    Fixture *f = *state;
    AsmResult r = {.ok = true, .cubin = code, .bytes = sizeof code - 1};
    Source text = text_of(ptx, sizeof ptx - 1), file, other = text_of(ptx, sizeof ptx - 2);
    Str out = str_new(f->arena);
    CubinSeal seal;
    const char *error;
    vec_push(f->arena, &r.entries, (AsmEntry){.name = "twice", .stack = 8});
    vec_push(f->arena, &r.entries, (AsmEntry){.name = "twice_any", .stack = 120, .serialised = true});
    cubin_write(&out, &r, &text, "sm_90a", "13.0.88");
    file = text_of(out.data, out.len);
    if (!cubin_read(f->arena, &file, &seal, &error))
        fail_msg("%s", error);
    assert_int_equal(seal.code, sizeof code - 1);
    assert_memory_equal(file.text, code, sizeof code - 1);
    assert_string_equal(seal.target, "sm_90a");
    assert_string_equal(seal.ptxas, "13.0.88");
    assert_true(cubin_is_of(f->arena, &seal, &text));
    assert_false(cubin_is_of(f->arena, &seal, &other));
    assert_int_equal(seal.local.len, 2);
    assert_int_equal(cubin_local(&seal, "twice")->bytes, 8);
    assert_false(cubin_local(&seal, "twice")->serialised);
    assert_int_equal(cubin_local(&seal, "twice_any")->bytes, 120);
    assert_true(cubin_local(&seal, "twice_any")->serialised);
    assert_null(cubin_local(&seal, "thrice"));
    /* cut short, or with any byte of the image changed */
    for (size_t len = 0; len < out.len; len++) {
        Source cut = text_of(arena_strndup(f->arena, out.data, out.len), len);
        ((char *)cut.text)[len] = '\0';
        assert_false(cubin_read(f->arena, &cut, &seal, &error));
    }
    for (size_t i = 0; i < sizeof code; i++) {
        char *copy = arena_alloc(f->arena, out.len + 1);
        memcpy(copy, out.data, out.len);
        copy[i] ^= 1;
        file.text = copy;
        assert_false(cubin_read(f->arena, &file, &seal, &error));
    }
    assert_non_null(strstr(error, "twice.sm_90a.ptx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_find), TEST(test_find_in_folders), TEST(test_assembled), TEST(test_refused),
        TEST(test_no_program), TEST(test_no_room), TEST(test_limit), TEST(test_cancel), TEST(test_several),
        TEST(test_serialised_log), TEST(test_spilled_log), TEST(test_other_logs),
        TEST(test_cubin_path), TEST(test_seal),
#undef TEST
    };
    return cmocka_run_group_tests_name("assemble", tests, NULL, NULL);
}
