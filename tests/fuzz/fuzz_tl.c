/* fuzz_tl.c: any bytes as TL: parse, print, parse what was printed, and take the
 * chain as far as it goes. Nothing may crash, hang, or run out of memory; what
 * was printed must parse. */
#include "chain/chain.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reparse(Arena *arena, Syms *syms, const Program *program)
{
    Str text = str_new(arena);
    Source source = {"printed", NULL, 0};
    Diags *diags;

    lang_print(&text, program);
    source.text = str_text(&text);
    source.len = text.len;
    diags = diags_new(arena, &source);
    lang_parse(arena, syms, &source, diags);
    if (diags->errors) {
        diags_print(diags, stderr, false);
        abort();
    }
}

static void take_chain(Arena *arena, Syms *syms, const Source *source)
{
    Diags *diags = diags_new(arena, source);
    Chain *chain = chain_new(arena, syms, aff_ctx_new(arena), diags, target_find("sm_80"), DT_BF16);
    Str out = str_new(arena);

    if (chain_define(chain, source) && chain_fuse(chain) && chain_reason(chain, chain->sketch) &&
        chain_lower(chain, chain->code) && chain_schedule(chain))
        chain_emit(chain);
    else if (chain_lower(chain, source) && chain_schedule(chain))
        chain_emit(chain);
    diags_text(diags, &out);
    diags_json(diags, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Heap heap = {0};
    jmp_buf oom;
    Arena *volatile arena = NULL;

    heap.on_oom = &oom;
    if (setjmp(oom) == 0) {
        Syms *syms;
        Source source = {"input", NULL, size};
        Diags *diags;
        Program *program;

        arena = arena_new(&heap);
        syms = syms_new(arena);
        source.text = arena_strndup(arena, (const char *)data, size);
        diags = diags_new(arena, &source);
        program = lang_parse(arena, syms, &source, diags);
        if (!diags->errors)
            reparse(arena, syms, program);
        take_chain(arena, syms, &source);
    }
    arena_free(arena);
    return 0;
}
