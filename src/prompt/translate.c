/* translate.c: what a writer of CuTe C++ is told.
 *
 * Of TL what a reader of this code needs; of the header the lines that say how something
 * is used (`//>`); of the target its atoms; how each function begins. All from the tables
 * and the header itself.
 */
#include "prompt/prompt.h"

#include "cute/cute.h"

/* ---- TL, as far as it occurs ------------------------------------------------------------ */

typedef struct Used {
    bool stmts[STMT_COUNT], ops[OP_COUNT];
} Used;

static void find_used(Used *used, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        used->stmts[s->kind] = true;
        if (s->kind == STMT_COMPUTE && s->op_known)
            used->ops[s->op] = true;
        find_used(used, &s->body);
        find_used(used, &s->orelse);
    }
}

static void put_used(Str *out, const char *code)
{
    Source source = {"code", code, strlen(code)};
    const Program *program = lang_parse(out->arena, syms_new(out->arena), &source, diags_new(out->arena, &source));
    Used used = {.stmts = {false}};

    for (int i = 0; i < program->units.len; i++)
        find_used(&used, &program->units.data[i]->body);
    prompt_language_used(out, used.stmts, used.ops);
}

/* ---- the header -------------------------------------------------------------------------- */

static const char MARK[] = "//> ";

static bool is_for(const char *line, size_t len, const Target *target)
{
    const char *at = strstr(line, "wgmma");

    return target->has_wgmma || !at || at >= line + len;
}

static void put_header(Str *out, const Target *target)
{
    str_printf(out, "\n# The header %s\n\nBesides CuTe (`using namespace cute` is in force) there is, in namespace tw:\n\n", CUTE_HEADER_NAME);
    for (const char *at = cute_header; (at = strstr(at, MARK));) {
        size_t len;

        at += sizeof MARK - 1;
        len = strcspn(at, "\n");
        if (is_for(at, len, target))
            str_printf(out, "- %.*s\n", (int)len, at);
    }
}

/* ---- the target ---------------------------------------------------------------------------- */

static void put_atoms(Str *out, const Target *t)
{
    str_printf(out, "\n# Atoms of %s\n\nThe header takes them: mma.sync of %d x %d x %d for 16-bit operands with fp32 sums%s%s%s. A warp "
                    "of\nMmaPlace has 16 rows and 16 columns of a tile at a time.\n",
               t->name, t->mma_m, t->mma_n, t->mma_k, t->has_ldmatrix ? ", ldmatrix" : "",
               t->has_cp_async ? ", cp.async of 16 bytes" : ", copies through registers",
               t->has_wgmma ? ", wgmma of 64 rows by a warpgroup" : "");
}

void prompt_cute(Str *out, const PromptRequest *r)
{
    put_used(out, r->text);
    put_header(out, r->target);
    put_atoms(out, r->target);
}

/* ---- what is given ------------------------------------------------------------------------- */

static Chain *lowered(Str *out, const PromptRequest *r)
{
    Arena *arena = out->arena;
    Source *source = arena_new_of(arena, Source);
    Chain *chain;

    *source = (Source){"code", r->text, strlen(r->text)};
    chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), r->target, r->dtype);
    for (int i = 0; r->settings && i < r->settings->list.len; i++)
        chain_set(chain, arena_printf(arena, "%s=%.17g", r->settings->list.data[i].name, r->settings->list.data[i].value));
    return chain_lower(chain, source) && chain_frame(chain, NULL) ? chain : NULL;
}

bool prompt_heads(Str *out, const PromptRequest *r)
{
    Chain *chain = lowered(out, r);

    if (chain)
        cute_emit_heads(out, chain->tile, chain->abi, r->target);
    return chain != NULL;
}

void prompt_cute_form(Str *out)
{
    str_add(out, "\n# The answer\n\n"
                 "Give C++ in one block: a line of three backticks, the functions NAME_block whole, a line of three\n"
                 "backticks. Above each function a line `");
    str_printf(out, CUTE_SHARED_NOTE, "NAME");
    str_add(out, "N bytes`, N a number. Wide is true where\nrows are aligned to 16 bytes. Entries, includes and the launch are written for you: no lines that\n"
                 "begin with # (CUTE_UNROLL and CUTE_NO_UNROLL stand before loops), no __global__, no asm, no variables\n"
                 "outside of functions. Of several blocks the last one counts.\n");
}
