/* cuda.c: CUDA C++ that a model wrote straight from a definition, judged.
 *
 *   launch lines ─► ABI from the definition ─► guarded, framed, compiled, audited (src/foreign)
 *   ─► the emulator, on small shapes, against the definition
 *
 * Nothing of it runs here: its PTX is interpreted.
 */
#include "flow/flow.h"

#include <errno.h>
#include <stdlib.h>

enum { MOST_THREADS = 1024, MOST_LETTERS = 300 /* of an expression */ };
static const uint64_t MOST_INSTRUCTIONS = 100000000; /* an element a thread takes many */

/* What it may include is there already; of CuTe only its words for loops, which the guard writes. */
#define HEADER_NAME "tilewright_cuda.cuh"
static const char header[] = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
                             "#if __has_include(<cute/config.hpp>)\n#include <cute/config.hpp>\n#else\n"
                             "#define CUTE_UNROLL _Pragma(\"unroll\")\n#define CUTE_NO_UNROLL _Pragma(\"unroll 1\")\n#endif\n";

typedef struct Launch {
    const char *blocks;
    long threads, shared; /* negative: not said */
} Launch;

/* What follows `// NAME =` in a line of the text; NULL: there is no such line. */
static const char *value_of(Arena *arena, const Source *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = text->text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strspn(line, " \t");

        if (strncmp(at, "//", 2) != 0)
            continue;
        at += 2 + strspn(at + 2, " \t");
        if (strncmp(at, name, n) != 0)
            continue;
        at += n + strspn(at + n, " \t");
        if (*at != '=')
            continue;
        at += 1 + strspn(at + 1, " \t");
        return arena_strndup(arena, at, strcspn(at, "\r\n"));
    }
    return NULL;
}

static long number_of(Arena *arena, const Source *text, const char *name)
{
    const char *value = value_of(arena, text, name);
    char *end;
    long number;

    errno = 0;
    number = value && *value >= '0' && *value <= '9' ? strtol(value, &end, 10) : -1;
    return errno ? -1 : number;
}

static bool no_launch(Diags *diags, const char *what)
{
    diag_note(diags, diag_add(diags, TW1060, (Span){0, 0}, "%s", what),
              "three lines above the code say it: `// blocks = EXPRESSION`, `// threads = N`, `// shared = BYTES`");
    return false;
}

/* An expression may be followed by words, two blanks apart. */
static bool read_launch(Arena *arena, const Source *text, const Target *target, Launch *launch, Diags *diags)
{
    char *blocks = (char *)value_of(arena, text, "blocks"), *words = blocks ? strstr(blocks, "  ") : NULL;

    if (words)
        *words = '\0';
    *launch = (Launch){blocks, number_of(arena, text, "threads"), number_of(arena, text, "shared")};
    if (!blocks || !*blocks)
        return no_launch(diags, "it is not said how many blocks there are");
    if (strlen(blocks) > MOST_LETTERS)
        return no_launch(diags, "the number of blocks is too long an expression");
    if (launch->threads < 1 || launch->threads > MOST_THREADS)
        return no_launch(diags, "it is not said how many threads a block has, from 1 to 1024");
    if (launch->shared < 0 || launch->shared > target->shared_per_block)
        return no_launch(diags, arena_printf(arena, "it is not said how much shared memory a block has, at most %d bytes",
                                             target->shared_per_block));
    return true;
}

static Abi *abi_of(Chain *chain, const Launch *launch, Diags *diags)
{
    Abi *abi = chain_signature(chain);
    AbiLaunch how = {launch->blocks, (int)launch->threads, launch->shared};
    const char *error;

    if (abi_add_kernel(abi, chain->syms, chain->aff, &how, &error))
        return abi;
    no_launch(diags, arena_printf(diags->arena, "'%s' is no number of blocks: %s", launch->blocks, error));
    return NULL;
}

/* ---- the compiler -------------------------------------------------------------------------- */

static const char *compile_guarded(void *user, Arena *arena, const Source *answer, const char *entry, const char *name,
                                   const Target *target, Diags *diags)
{
    const char *const entries[] = {name, NULL};
    ForeignJob job = {NULL, target->name, HEADER_NAME, header};
    const char *error;
    ForeignText clean;
    ForeignMade made;

    if (!foreign_guard(arena, answer, &clean, diags))
        return NULL;
    job.text = foreign_frame(arena, &clean, HEADER_NAME, NULL, entry);
    if (!foreign_compile(arena, user, &job, &made, &error)) {
        diag_add(diags, TW1053, (Span){0, 0}, "%s", error)->source = NULL;
        return NULL;
    }
    if (!made.ptx) {
        foreign_read_log(answer, made.log, diags);
        return NULL;
    }
    return foreign_audit(arena, made.ptx, entries, answer, diags);
}

FlowCompiler flow_cuda_compiler(ForeignTools *tools)
{
    return (FlowCompiler){compile_guarded, tools};
}

static const char *compile(const Flow *flow, Arena *arena, const Source *text, const Abi *abi, Diags *diags)
{
    const FlowCompiler *compiler = flow->options.compiler;
    Str entry = str_new(arena);

    if (!compiler) {
        diag_add(diags, TW1053, (Span){0, 0}, "there is nothing here to compile CUDA with: neither NVRTC nor nvcc, on the PATH, "
                 "in CUDA_HOME or in /usr/local/cuda")->source = NULL;
        return NULL;
    }
    chain_cuda_entry(&entry, abi);
    return compiler->compile(compiler->user, arena, text, str_text(&entry), abi->name, flow->chain->target, diags);
}

Source *flow_cuda_ptx(const Flow *flow, Chain *chain, const Source *text, Diags *diags)
{
    Str out = str_new(chain->arena);
    const char *ptx;
    Launch launch;

    if (!chain_define(chain, flow->chain->defined))
        return NULL;
    diags->source = text;
    if (!read_launch(chain->arena, text, chain->target, &launch, diags) || !(chain->abi = abi_of(chain, &launch, diags)) ||
        !(ptx = compile(flow, chain->arena, text, chain->abi, diags)))
        return NULL;
    abi_ptx_comment(&out, chain->abi);
    str_add(&out, ptx);
    return chain_text(chain, arena_printf(chain->arena, "%s.%s.ptx", chain->name, chain->target->name), &out);
}

/* ---- the judgement -------------------------------------------------------------------------- */

/* What the emulator does not know is told by its first message. */
static EmuModule *parse(Arena *arena, const Source *text, const Source *ptx, Diags *diags)
{
    Diags *said = diags_new(arena, ptx);
    EmuModule *module = emu_parse(arena, said, ptx);

    if (module)
        return module;
    diags->source = text;
    diag_add(diags, TW1044, (Span){0, 0}, "its PTX is not executed here: %s",
             said->list.len ? said->list.data[0].message : "it is none");
    return NULL;
}

bool flow_judge_cuda(const Flow *flow, Arena *arena, const Source *text, Diags *diags)
{
    Chain *chain = chain_like(arena, flow->chain, diags);
    SmallOptions trial = {flow->options.seed, flow->options.bound, MOST_INSTRUCTIONS};
    Source *ptx = flow_cuda_ptx(flow, chain, text, diags);
    EmuModule *module = ptx ? parse(arena, text, ptx, diags) : NULL;

    diags->source = text;
    return module && flow_emulate(chain, module, ptx, &trial, diags);
}
