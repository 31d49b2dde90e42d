/* test_foreign.c: C++ that somebody else wrote: what the guard takes, what a compiler says of
 * it, what the audit takes of PTX, what a sandbox keeps away, and kernels that look right and
 * are not. The compiler is a stand-in (tests/foreign/bin/nvcc), in a real sandbox. */
#define _GNU_SOURCE
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cute/cute.h"
#include "flow/flow.h"
#include "foreign/foreign.h"
#include "sandbox/sandbox.h"
#include "texts.h"

static const char *first_code(const Diags *diags)
{
    return diags->list.len ? diag_info(diags->list.data[0].code)->name : "";
}

/* ---- the guard ----------------------------------------------------------------------------- */

static const char *guarded(Arena *arena, const char *text, const char **clean)
{
    Diags *diags = diags_new(arena, NULL);
    ForeignText out;
    bool ok = foreign_guard(arena, source_of(arena, "answer.cu", text), &out, diags);

    assert_int_equal(ok, diags->errors == 0);
    assert_int_equal(strlen(out.text), strlen(text));
    *clean = out.text;
    return first_code(diags);
}

static void lines_for_the_preprocessor_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"#define A 1\n", "TW1049"},
        {"  #  include </etc/passwd>\n", "TW1049"},
        {"#include \"/etc/passwd\"\n", "TW1049"},
        {"#include <../x.h>\n", "TW1049"},
        {"#include <cute/../../x.h>\n", "TW1049"},
        {"#include <cute/>\n", "TW1049"},
        {"#include <cute//x.hpp>\n", "TW1049"},
        {"#include <fstream>\n", "TW1049"},
        {"#include FILE\n", "TW1049"},
        {"#include <cute/a.hpp> int x;\n", "TW1049"},
        {"#include <cute/a.hpp> /* */ #include </etc/passwd>\n", "TW1049"},
        {"#embed \"/etc/passwd\"\n", "TW1049"},
        {"#import <x>\n", "TW1049"},
        {"#include_next <cute/x.hpp>\n", "TW1049"},
        {"#line 1 \"entries.cu\"\n", "TW1049"},
        {"#if 1\n", "TW1049"},
        {"#error x\n", "TW1049"},
        {"#pragma message(\"x\")\n", "TW1049"},
        {"#pragma GCC dependency \"/etc/passwd\"\n", "TW1049"},
        {"#pragma nv_abi\n", "TW1049"},
        {"#pragma unroll 4 x\n", "TW1049"},
        {"#\n", "TW1049"},
        {"/* */ #define A\n", "TW1049"},
        {"int x; #define A\n", "TW1049"},
        {"%:define A\n", "TW1049"},
        {"%:%:\n", "TW1049"},
        {"\?\?=define A\n", "TW1049"},
        {"int a; // \?\?/\nint b;\n", "TW1049"},
        {"#inc\\\nlude </etc/passwd>\n", "TW1049"},
        {"#def\\  \nine A\n", "TW1049"},
        {"// a comment that goes on \\\n#define A\n", "TW1049"},
        {"int a = 1; \\", "TW1049"},
        {"_Pragma(\"message\")\n", "TW1050"},
        {"__pragma(x)\n", "TW1050"},
        {"static_assert(__has_include(\"/etc/passwd\"));\n", "TW1050"},
        {"int x = __has_embed(</etc/passwd>);\n", "TW1050"},
        {"import std;\n", "TW1050"},
        {"export module x;\n", "TW1050"},
        {"asm(\".include \\\"/etc/passwd\\\"\");\n", "TW1050"},
        {"__asm__ volatile(\"x\");\n", "TW1050"},
        {"const char *s = R\"(x)\";\n", "TW1050"},
        {"const char *s = u8R\"(x)\";\n", "TW1050"},
        {"const char *s = \"\\x23include\";\n", "TW1050"},
        {"const char *s = \"\\43\";\n", "TW1050"},
        {"const char *s = \"\\u0023\";\n", "TW1050"},
        {"const char *s = \"#\";\n", "TW1050"},
        {"const char *s = \"%:\";\n", "TW1050"},
        {"const char *s = \"x\n\";\n", "TW1050"},
        {"int \\u0061;\n", "TW1050"},
        {"extern \"C\" __global__ void scale() {}\n", "TW1050"},
        {"void f() { printf(\"x\"); }\n", "TW1050"},
        {"long t = clock64();\n", "TW1050"},
        {"__attribute__((constructor)) void f();\n", "TW1050"},
    };
    Fixture *f = *state;
    const char *clean;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        if (strcmp(guarded(f->arena, cases[i][0], &clean), cases[i][1]) != 0)
            fail_msg("'%s': %s", cases[i][0], guarded(f->arena, cases[i][0], &clean));
}

static void what_a_kernel_needs_passes(void **state)
{
    static const char *const cases[][2] = {
        {"int a = 1'000'000 % b; // # and asm \"\n", "int a = 1'000'000 % b;               \n"},
        {"/* #define\n asm */ int a;\n", "          \n        int a;\n"},
        {"char q = '\"', r = '\\'', s = '\\\\';\n", "char q = '\"', r = '\\'', s = '\\\\';\n"},
        {"#include <cute/tensor.hpp>\nint a;", "                          \nint a;"},
        {"  # include \"tilewright_cute.cuh\" // ours\r\n", "                                          \n"},
        {"#pragma unroll\nfor", "CUTE_UNROLL   \nfor"},
        {"  #pragma unroll 4 // so\nfor", "  CUTE_UNROLL           \nfor"},
        {"#pragma unroll 1\nfor", "CUTE_NO_UNROLL  \nfor"},
        {"#pragma unroll(8)\nfor", "CUTE_UNROLL      \nfor"},
        {"#pragma once\n", "            \n"},
        {"int asmx = importance + a.b;\n", "int asmx = importance + a.b;\n"},
        {"static_assert(x, \"it must\");\n", "static_assert(x, \"it must\");\n"},
        {"/* never ends", "             "},
        {"", ""},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *clean;

        assert_string_equal(guarded(f->arena, cases[i][0], &clean), "");
        assert_string_equal(clean, cases[i][1]);
    }
}

/* Whatever is written: what is left has no sign that the preprocessor knows. */
static void nothing_is_left_for_the_preprocessor(void **state)
{
    static const char *const parts[] = {"#", "include", " ", "\n", "<cute/x.hpp>", "\"", "'", "/*", "*/", "//", "\\", "\\\n", "%:", "?\?=", "R", "(",
                                        "pragma unroll", "_Pragma", "asm", "1'", "x", ";", "\r\n", "define A"};
    Fixture *f = *state;
    Rng rng = {11};

    for (int n = 0; n < 20000; n++) {
        Str text = str_new(f->arena);
        const char *clean;

        for (int i = rng_below(&rng, 12); i >= 0; i--)
            str_add(&text, parts[rng_below(&rng, (int)TW_COUNT(parts))]);
        if (*guarded(f->arena, str_text(&text), &clean))
            continue;
        if (strstr(clean, "#") || strstr(clean, "%:") || strstr(clean, "\?\?=") || strstr(clean, "\\\n"))
            fail_msg("'%s' becomes '%s'", str_text(&text), clean);
    }
}

static void a_megabyte_is_guarded(void **state)
{
    Fixture *f = *state;
    Str text = str_new(f->arena);
    const char *clean;

    while (text.len < 1 << 20)
        str_add(&text, "#define A\n\"/*'");
    assert_string_equal(guarded(f->arena, str_text(&text), &clean), "TW1049");
}

static void includes_are_written_anew(void **state)
{
    Fixture *f = *state;
    Diags *diags = diags_new(f->arena, NULL);
    ForeignText clean;

    assert_true(foreign_guard(f->arena, source_of(f->arena, "answer.cu", "#include <cute/a.hpp>\n#include \"cutlass/b.h\"\n#include <cstdint>\nint x;"), &clean,
                              diags));
    assert_string_equal(foreign_frame(f->arena, &clean, "h.cuh", "cute", "entry\n"),
                        "#include \"h.cuh\"\n#include <cute/a.hpp>\n#include <cutlass/b.h>\nusing namespace cute;\n"
                        "#line 1 \"answer.cu\"\n                     \n                      \n                  \nint x;\n"
                        "#line 1 \"entries.cu\"\nentry\n");
}

/* ---- what compilers say ------------------------------------------------------------------------ */

static void errors_have_places(void **state)
{
    static const char text[] = "int a;\n  int b = c;\nint d;\n";
    static const char log[] = "answer.cu(2): error: identifier \"c\" is undefined\n"
                              "    int b = c;\n"
                              "            ^\n"
                              "\n"
                              "answer.cu(3): warning #177-D: variable \"d\" was declared but never referenced\n"
                              "tilewright_cute.cuh(411): error: static assertion failed with \"no\"\n"
                              "          detected during instantiation of \"void f<T>()\" at line 1 of answer.cu\n"
                              "          instantiation of \"void g()\" at line 4 of entries.cu\n"
                              "entries.cu(4): error: no instance of function template \"scale_block\" matches\n"
                              "answer.cu(2): error: identifier \"c\" is undefined\n"
                              "answer.cu(3): catastrophic error: too many\n"
                              "3 errors detected in the compilation of \"kernel.cu\".\n";
    Fixture *f = *state;
    Diags *diags = diags_new(f->arena, NULL);
    Source *answer = source_of(f->arena, "answer.cu", text);

    foreign_read_log(answer, log, diags);
    assert_int_equal(diags->list.len, 4);
    assert_string_equal(diags->list.data[0].message, "identifier \"c\" is undefined");
    assert_int_equal(diags->list.data[0].span.start, 9);
    assert_int_equal(diags->list.data[0].span.end, 19);
    assert_int_equal(diags->list.data[1].span.end, 6);
    assert_non_null(strstr(diags->list.data[1].note, "tilewright_cute.cuh, line 411"));
    assert_null(diags->list.data[2].source);
    assert_non_null(strstr(diags->list.data[2].note, "entry"));
    assert_int_equal(diags->list.data[3].span.start, 20);
    diags = diags_new(f->arena, NULL);
    foreign_read_log(answer, "Killed\n", diags);
    assert_int_equal(diags->list.data[0].code, TW1051);
    assert_string_equal(diags->list.data[0].message, "Killed\n");
}

/* ---- the audit ---------------------------------------------------------------------------------- */

static const char *audited(Arena *arena, const char *more, const char *body)
{
    static const char *const entries[] = {"k", NULL};
    Diags *diags = diags_new(arena, NULL);
    const char *ptx = arena_printf(arena, ".version 7.0\n.target sm_80 // here\n.address_size 64\n%s\n.visible .entry k(.param .u64 a)\n"
                                          ".maxntid 32\n{\n.reg .b32 %%r<4>;\n%s\nret;\n}\n", more, body);
    const char *kept = foreign_audit(arena, ptx, entries, NULL, diags);

    assert_int_equal(kept == NULL, diags->errors == 1);
    return kept ? kept : diags->list.data[0].message;
}

static void ptx_is_audited(void **state)
{
    static const char *const cases[][3] = {
        {".global .u32 x;", "st.global.u32 [x], 1;", "memory that outlasts a launch: x"},
        {".global .align 4 .b8 x[4] = {1, 2, 3, 4};", "{ mov.u32 %r1, x; }", "memory that outlasts a launch: x"},
        {".weak .global .u32 x;", "ld.global.u32 %r1, [x+4];", "memory that outlasts a launch: x"},
        {".extern .func (.param .b32 r) vprintf(.param .b64 f);", "", "a function that is called: `printf`, `assert`, memory from a heap, or what is not inlined"},
        {".func f() { ret; }", "", "a function that is called: `printf`, `assert`, memory from a heap, or what is not inlined"},
        {".visible .entry j() { ret; }", "", "an entry j that nobody asked for"},
        {".pragma \"x\";", "", "a directive .pragma"},
        {".alias a, b;", "", "a directive .alias"},
        {".extern .global .u32 x;", "", "a directive .global"},
        {"#include \"x\"", "", "a statement that is no directive"},
        {"", "mov.u32 %r1, %clock;", "it reads a clock (%clock)"},
        {"", "mov.u64 %rd1, %clock64;", "it reads a clock (%clock64)"},
        {"", "mov.u64 %rd1, %globaltimer;", "it reads a clock (%globaltimer)"},
        {"", "nanosleep.u32 4;", "it waits for time to pass (nanosleep.u32)"},
        {"", "call.uni f;", "it calls a function (call.uni)"},
        {"", "griddepcontrol.wait;", "it speaks of other launches (griddepcontrol.wait)"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        assert_string_equal(audited(f->arena, cases[i][0], cases[i][1]), cases[i][2]);
}

static void what_nobody_reads_is_left_out(void **state)
{
    Fixture *f = *state;
    const char *kept = audited(f->arena, ".global .u32 x = 3;\n.global .b8 y[2] = {1, 2};\n.const .u32 z = 1;\n.extern .shared .align 16 .b8 s[];\n",
                               "// x and call\nld.const.u32 %r1, [z];\nmov.u32 %r2, s;");

    assert_null(strstr(kept, "global"));
    assert_non_null(strstr(kept, ".const .u32 z = 1;"));
    assert_non_null(strstr(kept, ".extern .shared .align 16 .b8 s[];"));
    assert_non_null(strstr(kept, ".target sm_80 // here\n"));
    assert_non_null(strstr(kept, "ret;\n}\n"));
}

static void all_entries_must_be_there(void **state)
{
    static const char *const entries[] = {"a", "b", NULL};
    Fixture *f = *state;
    Diags *diags = diags_new(f->arena, NULL);

    assert_null(foreign_audit(f->arena, ".visible .entry a() { ret; }", entries, NULL, diags));
    assert_string_equal(diags->list.data[0].message, "there is no entry b");
    assert_null(foreign_audit(f->arena, "", entries, NULL, diags));
}

/* ---- sandboxes ------------------------------------------------------------------------------------ */

typedef struct Probe {
    const char *name;
    bool (*works)(const SandboxWork *work); /* something that must not work */
} Probe;

static bool reads(const char *path)
{
    int fd = open(path, O_RDONLY);
    char c;

    return fd >= 0 && read(fd, &c, 1) == 1;
}

static bool reads_passwords(const SandboxWork *work)
{
    (void)work;
    return reads("/etc/passwd");
}

static bool reads_processes(const SandboxWork *work)
{
    (void)work;
    return reads("/proc/self/environ") || reads("/proc/1/cmdline");
}

static bool reads_this_test(const SandboxWork *work)
{
    return reads(work->user);
}

static bool writes(const SandboxWork *work)
{
    (void)work;
    return open("/tmp/tw-sandboxed", O_WRONLY | O_CREAT, 0600) >= 0 || open("/usr/tw-sandboxed", O_WRONLY | O_CREAT, 0600) >= 0;
}

static bool connects(const SandboxWork *work)
{
    (void)work;
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool has_environment(const SandboxWork *work)
{
    (void)work;
    return getenv("PATH") || getenv("TW_SECRET");
}

static bool starts_programs(const SandboxWork *work)
{
    (void)work;
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    return child > 0;
}

static bool has_files_of_its_parent(const SandboxWork *work)
{
    for (int fd = 3; fd < 200; fd++)
        if (fd != work->out && fd != work->log && fcntl(fd, F_GETFD) >= 0)
            return true;
    return false;
}

static bool kills_its_parent(const SandboxWork *work)
{
    (void)work;
    return kill(getppid(), 0) == 0 && getppid() != 0;
}

static bool takes_memory(const SandboxWork *work)
{
    (void)work; /* with AddressSanitizer there is no limit (sandbox/limits.c) */
    return !TW_ASAN && malloc((size_t)4 << 30) != NULL;
}

static const Probe probes[] = {
    {"read /etc/passwd", reads_passwords}, {"read /proc", reads_processes}, {"read a file of the user's", reads_this_test},
    {"write", writes},                     {"make a socket", connects},     {"see the environment", has_environment},
    {"start a program", starts_programs},  {"see open files", has_files_of_its_parent}, {"signal its parent", kills_its_parent},
    {"take 4 GiB", takes_memory},
};

static int run_probes(SandboxWork *work)
{
    for (size_t i = 0; i < TW_COUNT(probes); i++)
        if (probes[i].works(work))
            dprintf(work->log, "%s; ", probes[i].name);
    dprintf(work->out, "%s", reads("/usr/include/stdio.h") ? "read what it may" : "");
    return 7;
}

static void a_sandbox_keeps_everything_away(void **state)
{
    static const char *const read[] = {"/usr/include", "/no/such/folder", NULL};
    Fixture *f = *state;
    char *secret = arena_strdup(f->arena, "/tmp/tw-secret-XXXXXX");
    int fd = mkstemp(secret), tried = 0;
    SandboxSpec spec = {.read = read, .seconds = 20, .memory = (size_t)2 << 30, .most = 4096, .run = run_probes, .user = secret};

    assert_true(fd >= 0 && write(fd, "secret", 6) == 6);
    setenv("TW_SECRET", "1", 1);
    for (int kind = 0; kind < SANDBOX_KINDS; kind++) {
        const char *error = "";
        SandboxResult r;

        if (!sandbox_can(f->arena, (SandboxKind)kind, &error))
            continue;
        tried++;
        assert_true(sandbox_run(f->arena, (SandboxKind)kind, &spec, &r, &error));
        assert_int_equal(r.status, 7);
        if (*r.log)
            fail_msg("with %s it can: %s", sandbox_kind_name((SandboxKind)kind), r.log);
        assert_string_equal(r.out, "read what it may");
    }
    unsetenv("TW_SECRET");
    unlink(secret);
    close(fd);
    if (!tried)
        skip();
}

static int never_end(SandboxWork *work)
{
    (void)work;
    for (;;)
        pause();
    return 0;
}

static int say_too_much(SandboxWork *work)
{
    for (;;)
        dprintf(work->out, "and so on ");
    return 0;
}

static int crash(SandboxWork *work)
{
    (void)work;
    abort();
    return 0;
}

static void limits_hold(void **state)
{
    static const char *const read[] = {NULL};
    Fixture *f = *state;
    SandboxSpec spec = {.read = read, .seconds = 0.2, .most = 4096};
    const char *error = "";
    SandboxResult r;

    spec.run = never_end;
    assert_true(sandbox_run(f->arena, SANDBOX_LIMITS_ALONE, &spec, &r, &error));
    assert_true(r.late && r.status == -1 && r.seconds < 5);
    spec.seconds = 20;
    spec.run = say_too_much;
    assert_true(sandbox_run(f->arena, SANDBOX_LIMITS_ALONE, &spec, &r, &error));
    assert_true(r.large && r.status == -1 && r.out_len <= 4096);
    spec.run = crash;
    assert_true(sandbox_run(f->arena, SANDBOX_LIMITS_ALONE, &spec, &r, &error));
    assert_true(!r.late && r.status == -1);
}

/* ---- kernels that look right ------------------------------------------------------------------------ */

static const char definition[] = "Operator scale\n"
                                 "  Input  X (M, 32) fp32\n"
                                 "  Output Y (M, 32) fp32\n"
                                 "  Compute Multiply X, 1.5 and get Y\n"
                                 "end\n";

static bool find_stand_in(Arena *arena, ForeignTools *tools)
{
    const char *error = "";
    const char *why;

    setenv("TW_NVCC", "tests/foreign/bin/nvcc", 1);
    if (!foreign_find(arena, "tests/foreign/cutlass", tools, &error))
        fail_msg("%s", error);
    unsetenv("TW_NVCC");
    tools->unconfined = sandbox_best(arena, &why) == SANDBOX_KINDS;
    return !tools->unconfined;
}

static Flow *flow_of(Arena *arena, const ForeignTools *tools)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target_find("sm_80"), DT_BF16);
    FlowOptions options = {.rounds = 1, .seed = 1, .bound = 2, .tools = tools};

    assert_true(chain_define(chain, source_of(arena, "answer.cu", definition)) && chain_fuse(chain) && chain_reason(chain, chain->sketch));
    return flow_new(chain, &options);
}

static Diags *judged(Flow *flow, const char *text)
{
    Diags *diags = diags_new(flow->arena, NULL);
    bool right = flow_judge_translation(flow, NULL, source_of(flow->arena, "answer.cu", text), &flow->translated, diags);

    assert_int_equal(right, diags->errors == 0);
    return diags;
}

static void planted_cheats_are_found(void **state)
{
    static const char *const cheats[][3] = {
        {"", "", ""},
        {"wrong", "TW1043", "Y["},                            /* another factor */
        {"constant", "TW1043", "Y["},                         /* whatever the inputs are */
        {"usual", "TW1043", "Y["},                            /* right at the shape that is tried first */
        {"small", "TW1043", "Y["},                            /* right for small numbers */
        {"unaligned", "TW1043", "Y["},                        /* right where tensors are aligned */
        {"unwritten", "TW1043", "never written"},             /* leaves a part as it was */
        {"beyond", "TW1054", "out of bounds"},                /* writes behind the tensor */
        {"input", "TW1054", "read-only"},                     /* changes its input */
        {"endless", "TW1054", "instruction"},                 /* does not end */
        {"kept", "TW1052", "outlasts a launch"},              /* remembers */
        {"clock", "TW1052", "clock"},                         /* looks at the time */
        {"printf", "TW1052", "called"},                       /* calls */
        {"entry", "TW1052", "nobody asked for"},              /* has another entry */
        {"error", "TW1051", "identifier"},                    /* does not compile */
        {"spy", "TW1051", "nothing more"},                    /* has the compiler look round: the first that is said */
    };
    Fixture *f = *state;
    ForeignTools tools = {0};
    bool sealed = find_stand_in(f->arena, &tools);
    Flow *flow = flow_of(f->arena, &tools);

    for (size_t i = 0; i < TW_COUNT(cheats); i++) {
        const char *text = arena_printf(f->arena, "void scale_block() { int planted_%s; }", cheats[i][0]);
        Diags *diags = judged(flow, text);

        if (strcmp(cheats[i][0], "spy") == 0 && !sealed)
            continue;
        if (strcmp(first_code(diags), cheats[i][1]) != 0 ||
            (diags->list.len && !strstr(diags->list.data[0].message, cheats[i][2])))
            fail_msg("%s: %s %s", cheats[i][0], first_code(diags), diags->list.len ? diags->list.data[0].message : "passes");
    }
}

static void a_translation_is_adopted(void **state)
{
    Fixture *f = *state;
    ForeignTools tools = {0};
    Flow *flow;

    find_stand_in(f->arena, &tools);
    flow = flow_of(f->arena, &tools);
    assert_int_equal(judged(flow, "// shared memory of scale_block: 512 bytes\nvoid scale_block() {}\n")->errors, 0);
    assert_true(flow_adopt_translation(flow));
    assert_int_equal(flow->chain->abi->kernels.data[0].fast.shared_bytes, 512);
    assert_non_null(abi_from_ptx(f->arena, flow->chain->syms, flow->chain->aff, flow->chain->ptx, flow->chain->diags));
    assert_non_null(strstr(flow->chain->ptx->text, ".entry scale_any("));
    assert_null(strstr(flow->chain->ptx->text, "constant_of_a_header"));
    assert_non_null(strstr(flow->chain->cute->text, "extern \"C\" __global__ void __launch_bounds__(32) scale("));
    assert_non_null(strstr(flow->chain->cute->text, "void scale_block() {}"));
    assert_string_equal(first_code(judged(flow, "// shared memory of scale_block: 999999999 bytes\nvoid scale_block() {}\n")), "TW1050");
    assert_string_equal(first_code(judged(flow, "// shared memory of scale_block: -5 bytes\nvoid scale_block() {}\n")), "TW1050");
}

static void limits_of_compiling_are_told(void **state)
{
    Fixture *f = *state;
    ForeignTools tools = {0};
    Diags *diags;

    find_stand_in(f->arena, &tools);
    tools.seconds = 0.5;
    diags = judged(flow_of(f->arena, &tools), "void scale_block() { int planted_hang; }");
    assert_string_equal(first_code(diags), "TW1053");
    assert_non_null(strstr(diags->list.data[0].message, "took more than 0.5 s"));
    tools.path = "/no/such/nvcc";
    tools.seconds = 0;
    assert_string_equal(first_code(judged(flow_of(f->arena, &tools), "void scale_block() {}")), "TW1051");
}

static void what_compiles_must_be_there(void **state)
{
    Fixture *f = *state;
    ForeignTools tools = {.unconfined = false};
    const char *error = "";

    assert_false(foreign_find(f->arena, NULL, &tools, &error));
    assert_non_null(strstr(error, "--cutlass DIR"));
    assert_false(foreign_find(f->arena, "tests", &tools, &error));
    assert_non_null(strstr(error, "no cute/tensor.hpp"));
    setenv("TW_NVCC", "/no/such/nvcc", 1);
    assert_false(foreign_find(f->arena, "tests/foreign/cutlass", &tools, &error));
    assert_string_equal(error, "/no/such/nvcc is not there");
    setenv("TW_NVCC", "", 1);
    setenv("TW_NVRTC", "", 1);
    assert_false(foreign_find(f->arena, "tests/foreign/cutlass", &tools, &error));
    assert_non_null(strstr(error, "no NVRTC or nvcc was found"));
    unsetenv("TW_NVCC");
    unsetenv("TW_NVRTC");
}

/* What the lines of the header that writers are told speak of is there. */
static void the_header_has_what_is_told(void **state)
{
    const char *body = strstr(cute_header, "namespace tw {");
    int told = 0;

    (void)state;
    for (const char *at = cute_header; (at = strstr(at, "//> ")); at++) {
        const char *end = at + strcspn(at, "\n");

        for (const char *p = at; (p = strstr(p, "tw::")) && p < end; p++) {
            size_t n = strspn(p + 4, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
            bool found = false;

            for (const char *q = body; (q = strchr(q, p[4])) && !found; q++)
                found = strncmp(q, p + 4, n) == 0 && strchr("( {;", q[n]) && q[-1] == ' ' && strncmp(q - 4, "tw::", 4) != 0;
            if (!found)
                fail_msg("the header has no tw::%.*s", (int)n, p + 4);
            told++;
        }
    }
    assert_true(told > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(lines_for_the_preprocessor_are_refused),
        TEST(what_a_kernel_needs_passes),
        TEST(nothing_is_left_for_the_preprocessor),
        TEST(a_megabyte_is_guarded),
        TEST(includes_are_written_anew),
        TEST(errors_have_places),
        TEST(ptx_is_audited),
        TEST(what_nobody_reads_is_left_out),
        TEST(all_entries_must_be_there),
        TEST(a_sandbox_keeps_everything_away),
        TEST(limits_hold),
        TEST(planted_cheats_are_found),
        TEST(a_translation_is_adopted),
        TEST(limits_of_compiling_are_told),
        TEST(what_compiles_must_be_there),
        TEST(the_header_has_what_is_told),
#undef TEST
    };

    return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
