/* tilewright.c: the public interface, a thin shell round the chain of stages. */
#include "tilewright.h"

#include "api/api.h"
#include "chain/chain.h"

enum { ARTEFACTS = TW_HEADER + 1 };

struct tw_kernel {
    Heap *heap;
    Arena *arena; /* holds this object too */
    bool ok;
    const char *name;
    const char *messages, *messages_json;
    const char *texts[ARTEFACTS];
};

const char *tw_version(void)
{
    return TW_VERSION;
}

static bool fail(Chain *chain, const char *failure)
{
    chain->failure = failure;
    return false;
}

static bool apply(Chain *chain, const tw_options *o)
{
    const char *target = o->target ? o->target : target_default()->name, *dtype = o->dtype ? o->dtype : "bf16", *error;

    chain->target = target_described(chain->arena, target, &error);
    if (!chain->target)
        return fail(chain, error ? error : arena_printf(chain->arena, "no target '%s'", target));
    if (!dtype_parse(dtype, &chain->settings.dtype))
        return fail(chain, arena_printf(chain->arena, "no element type '%s'", dtype));
    chain->own.dtype = chain->settings.dtype;
    for (int i = 0; i < o->n_settings; i++) {
        const char *error = chain_set(chain, o->settings[i]);

        if (error)
            return fail(chain, error);
    }
    return true;
}

static void keep_texts(tw_kernel *k, const Chain *chain)
{
    Str abi = str_new(k->arena), header = str_new(k->arena);

    k->name = chain->name;
    k->texts[TW_SKETCH] = chain->sketch ? chain->sketch->text : NULL;
    k->texts[TW_CODE] = chain->code ? chain->code->text : NULL;
    k->texts[TW_PTX] = chain->ptx ? chain->ptx->text : NULL;
    if (!chain->ptx)
        return;
    abi_json(&abi, chain->abi);
    abi_c_header(&header, chain->abi);
    k->texts[TW_ABI] = str_text(&abi);
    k->texts[TW_HEADER] = str_text(&header);
}

static void keep_messages(tw_kernel *k, const Chain *chain)
{
    Str json = str_new(k->arena), text = str_new(k->arena);

    diags_json(chain->diags, &json);
    diags_text(chain->diags, &text);
    if (chain->failure)
        str_printf(&text, "error: %s\n", chain->failure);
    k->messages_json = str_text(&json);
    k->messages = str_text(&text);
}

static void generate(tw_kernel *k, const char *definition, const tw_options *options)
{
    Source *source;
    Chain *chain;

    source = arena_new_of(k->arena, Source);
    source->path = "<definition>";
    source->len = strlen(definition);
    source->text = arena_strndup(k->arena, definition, source->len);
    chain = chain_new(k->arena, syms_new(k->arena), aff_ctx_new(k->arena),
                      diags_new(k->arena, source), NULL, DT_BF16);
    chain->edits = true;
    k->ok = apply(chain, options) && chain_make(chain, source);
    keep_texts(k, chain);
    keep_messages(k, chain);
}

/* NULL when memory does not suffice. */
static tw_kernel *kernel_new(Heap *heap)
{
    Arena *arena;
    tw_kernel *k;
    jmp_buf oom;

    heap->on_oom = &oom;
    if (setjmp(oom))
        return NULL; /* the arena's first block is what failed */
    arena = arena_new(heap);
    k = arena_new_of(arena, tw_kernel);
    k->heap = heap;
    k->arena = arena;
    k->name = "";
    k->messages_json = "[]";
    k->messages = "error: out of memory\n"; /* until it is known better */
    return k;
}

tw_kernel *tw_generate(const char *definition, const tw_options *options)
{
    return api_generate(heap_new(), definition, options);
}

tw_kernel *api_generate(Heap *heap, const char *definition, const tw_options *options)
{
    static const tw_options defaults = {0};
    tw_kernel *k = heap ? kernel_new(heap) : NULL;
    jmp_buf oom;

    if (!k) {
        heap_free(heap);
        return NULL;
    }
    heap->on_oom = &oom;
    if (setjmp(oom) == 0)
        generate(k, definition, options ? options : &defaults);
    else
        k->ok = false;
    heap->on_oom = NULL;
    return k;
}

void tw_free(tw_kernel *k)
{
    Heap *heap;

    if (!k)
        return;
    heap = k->heap;
    arena_free(k->arena);
    heap_free(heap);
}

int tw_ok(const tw_kernel *k)
{
    return k->ok;
}

const char *tw_messages(const tw_kernel *k)
{
    return k->messages;
}

const char *tw_messages_json(const tw_kernel *k)
{
    return k->messages_json;
}

const char *tw_text(const tw_kernel *k, tw_artefact artefact)
{
    return (unsigned)artefact < ARTEFACTS ? k->texts[artefact] : NULL;
}

const char *tw_name(const tw_kernel *k)
{
    return k->name;
}
