/* cmd_translate.c: stage 2 with another target: code to CuTe C++, and what nvcc makes of it.
 *
 *   DIR/NAME.sm_80.cu            the kernel          DIR/tilewright_cute.cuh  what it includes
 *   DIR/NAME.sm_80.ptx           with --cutlass
 */
#include "cli/artefact.h"
#include "cli/ptxas.h"
#include "cli/stages.h"
#include "cute/cute.h"

#include <unistd.h>

static int write_into(Session *s, const char *folder, const char *name, const char *text)
{
    return session_write_path(s, arena_printf(s->arena, "%s/%s", folder, name), text, strlen(text));
}

/* Where CUTLASS's headers are: DIR/include, or DIR itself. */
static const char *find_cutlass(Session *s)
{
    for (int i = 0; i < 2; i++) {
        const char *include = i ? s->options.cutlass : arena_printf(s->arena, "%s/include", s->options.cutlass);

        if (access(arena_printf(s->arena, "%s/cute/tensor.hpp", include), R_OK) == 0)
            return include;
    }
    return NULL;
}

/* nvcc keeps no comments: the launch ABI is put before what it wrote. */
static int add_head(Session *s, const Chain *chain, const char *folder, const char *made)
{
    Source *ptx = session_read_path(s, made);
    Str text = str_new(s->arena);

    if (!ptx)
        return EXIT_LACKS;
    unlink(made);
    abi_ptx_comment(&text, chain->abi);
    str_add(&text, ptx->text);
    return write_into(s, folder, arena_printf(s->arena, "%s.%s.ptx", chain->name, s->options.target->name), str_text(&text));
}

static int run_nvcc(Session *s, const Chain *chain, const char *folder)
{
    const char *include[] = {find_cutlass(s), folder, NULL}, *why;
    AsmSource source = {.path = arena_printf(s->arena, "%s/%s", folder, chain->cute->path), .include = include,
                        .target = s->options.target->name,
                        .out = arena_printf(s->arena, "%s/%s.%s.nvcc", folder, chain->name, s->options.target->name)};
    AsmTool nvcc;

    if (!include[0])
        return session_fail(s, EXIT_LACKS, "no cute/tensor.hpp below %s or %s/include", s->options.cutlass, s->options.cutlass);
    if (!asm_find(s->arena, "nvcc", NULL, &nvcc, &why))
        return session_fail(s, EXIT_LACKS, "%s", why);
    session_progress(s, "nvcc %s", source.path);
    if (!asm_nvcc(s->arena, &nvcc, &source, &why))
        return session_fail(s, EXIT_WRONG, "nvcc does not compile %s:\n%s", source.path, why);
    return add_head(s, chain, folder, source.out);
}

static int assemble(Session *s, const Chain *chain, const char *folder)
{
    const char *path = arena_printf(s->arena, "%s/%s.%s.ptx", folder, chain->name, s->options.target->name);
    Source *ptx = session_read_path(s, path);
    Str out = str_new(s->arena);
    Ptxas ptxas = {0};
    int status;

    if (!ptx)
        return EXIT_LACKS;
    status = ptxas_begin(s, &ptxas, ptx);
    if (!status)
        status = ptxas_end(s, &ptxas, ptx, path);
    ptxas_print(&out, &ptxas);
    session_write_path(s, NULL, str_text(&out), out.len);
    return status ? status : ptxas_failed(s, &ptxas) ? EXIT_WRONG : EXIT_DONE;
}

static int write_folder(Session *s, const Chain *chain)
{
    const char *folder = s->options.output, *error;
    int status;

    if ((error = folder_make(s->arena, folder, 0777)))
        return session_fail(s, EXIT_LACKS, "%s", error);
    status = write_into(s, folder, chain->cute->path, chain->cute->text);
    if (!status)
        status = write_into(s, folder, CUTE_HEADER_NAME, cute_header);
    if (!status && s->options.cutlass)
        status = run_nvcc(s, chain, folder);
    if (!status && s->options.ptxas)
        status = assemble(s, chain, folder);
    return status;
}

int cmd_translate(Session *s)
{
    Source *source;
    Chain *chain;
    int status;

    if (!s->options.output && (s->options.cutlass || s->options.ptxas))
        return session_usage(s, "--cutlass and --ptxas want a folder, -o DIR");
    if (s->options.ptxas && !s->options.cutlass)
        return session_usage(s, "--ptxas wants PTX, which nvcc makes with --cutlass DIR");
    source = session_read(s, 0);
    if (!source)
        return EXIT_LACKS;
    if (artefact_of(source) == ARTEFACT_PTX)
        return session_usage(s, "%s is PTX: there is nothing left to translate", source->path);
    chain = session_chain(s);
    if (!chain)
        return EXIT_USAGE;
    status = session_against(s, chain, source, true);
    if (status)
        return status;
    if (!session_lower(chain, source) || !chain_translate(chain))
        return session_chain_failed(s, chain, "translate");
    session_diagnose(s); /* warnings */
    return s->options.output ? write_folder(s, chain) : session_write(s, chain->cute->text, chain->cute->len);
}
