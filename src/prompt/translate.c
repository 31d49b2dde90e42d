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

static const Program *parse(Arena *arena, const char *code)
{
    Source *source = arena_new_of(arena, Source);

    *source = (Source){"code", code, strlen(code)};
    return lang_parse(arena, syms_new(arena), source, diags_new(arena, source));
}

static void put_used(Str *out, const char *code)
{
    const Program *program = parse(out->arena, code);
    Used used = {.stmts = {false}};

    for (int i = 0; i < program->units.len; i++)
        find_used(&used, &program->units.data[i]->body);
    prompt_language_used(out, used.stmts, used.ops);
}

/* ---- the header -------------------------------------------------------------------------- */

static const char MARK[] = "//> ";

static bool has_word(const char *text, const char *word, size_t len)
{
    for (const char *at = text; (at = strchr(at, *word)); at++)
        if (strncmp(at, word, len) == 0 && !is_name_char(at[len]) && (at == text || !is_name_char(at[-1])))
            return true;
    return false;
}

/* Whether it is of use here: one of its names, which stand behind `::` and not before `{`, occurs in
 * what the built-in translator makes of the code; and what has no such name always is. */
static bool is_needed(const char *line, size_t len, const char *ours)
{
    bool has_name = false;

    for (const char *at = line; (at = strstr(at, "::")) && at < line + len;) {
        size_t n = 0;

        at += 2;
        at += strncmp(at, "template ", 9) == 0 ? 9 : 0;
        while (is_name_char(at[n]))
            n++;
        if (at[n] == '{')
            continue;
        if (has_word(ours, at, n))
            return true;
        has_name = true;
    }
    return !has_name;
}

static bool takes_bytes(const Target *target)
{
    return (target->operands >> DT_E4M3 & 1) != 0;
}

static bool is_for(const char *line, size_t len, const Target *target)
{
    const char *groups = strstr(line, "wgmma"), *quads = strstr(line, "Quad");

    return (target->has_wgmma || !groups || groups >= line + len) && (takes_bytes(target) || !quads || quads >= line + len);
}

static void put_header(Str *out, const Target *target, const char *ours)
{
    str_printf(out, "\n# The header %s\n\nBesides CuTe (`using namespace cute`), in namespace tw:\n\n", CUTE_HEADER_NAME);
    for (const char *at = cute_header; (at = strstr(at, MARK));) {
        size_t len;

        at += sizeof MARK - 1;
        len = strcspn(at, "\n");
        if (is_for(at, len, target) && (!ours || is_needed(at, len, ours)))
            str_printf(out, "- %.*s\n", (int)len, at);
    }
}

/* ---- the target ---------------------------------------------------------------------------- */

/* Sizes are settled; what is left are the instructions, and how much a block may hold. */
static void put_atoms(Str *out, const Target *t)
{
    str_printf(out, "\n# The target %s, %s\n\nThe header takes its atoms: mma.sync of %d x %d x %d for 16-bit operands%s with fp32 sums%s%s%s. "
                    "A warp of\nMmaPlace has 16 rows and 16 columns of a tile at a time. A block may use %d bytes of shared memory, a\nthread %d "
                    "registers of 4 bytes.\n",
               t->name, t->summary, t->mma_m, t->mma_n, t->mma_k,
               takes_bytes(t) ? arena_printf(out->arena, ", x %d for 8-bit ones", 2 * t->mma_k) : "", t->has_ldmatrix ? ", ldmatrix" : "",
               t->has_cp_async ? ", cp.async of 16 bytes" : ", copies through registers",
               t->has_wgmma ? ", wgmma of 64 rows by a warpgroup" : "", t->shared_per_block, t->regs_per_thread);
}

void prompt_cute(Str *out, const PromptRequest *r, const PromptTranslation *asked)
{
    put_used(out, asked->code);
    put_header(out, r->target, asked->ours);
    put_atoms(out, r->target);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static Chain *lowered(Arena *arena, const PromptRequest *r)
{
    Source *source;
    Chain *chain = prompt_chain(arena, r, "code", &source);

    for (int i = 0; i < chain->settings.list.len; i++) /* whether they are, the definition has said */
        chain->settings.list.data[i].used = true;
    return chain_lower(chain, source) ? chain : NULL;
}

static const char *unit_text(Arena *arena, const PromptRequest *r)
{
    const Program *program = parse(arena, r->text);
    Str text = str_new(arena);

    for (int i = 0; i < program->units.len; i++)
        if (text_equal_nocase(program->units.data[i]->name, r->kernel))
            lang_print_unit(&text, program->units.data[i]);
    return str_text(&text);
}

static bool asks_for(const PromptRequest *r, const TileKernel *kernel)
{
    return !r->kernel || strcmp(r->kernel, kernel->name) == 0;
}

/* "int64_t K_stride0, int64_t K_stride1, int64_t K_stride2,": the first and the last. */
static const char *with_short_strides(Arena *arena, const char *head)
{
    static const char word[] = "    int64_t ";
    Str out = str_new(arena);

    for (size_t len; *head; head += len + (head[len] == '\n')) {
        const char *first, *last;

        len = strcspn(head, "\n");
        first = memchr(head, ',', len);
        last = head + len;
        while (last > head && *last != ' ')
            last--;
        if (strncmp(head, word, sizeof word - 1) == 0 && first && last > first + 1 && last[-1] != ',')
            str_printf(&out, "%.*s ...%.*s\n", (int)(first - head) + 1, head, (int)(head + len - last), last);
        else
            str_printf(&out, "%.*s\n", (int)len, head);
    }
    return str_text(&out);
}

PromptTranslation prompt_translation(Arena *arena, const PromptRequest *r)
{
    Chain *frame = lowered(arena, r), *own = frame ? lowered(arena, r) : NULL;
    const char *const *blocks = own ? chain_blocks(own) : NULL;
    Str heads = str_new(arena), ours = str_new(arena);

    if (frame && !chain_frame(frame, NULL))
        frame = NULL;
    for (int k = 0; frame && k < frame->tile->kernels.len; k++) {
        const TileKernel *kernel = frame->tile->kernels.data[k];
        const char *head = chain_head(frame, k);

        if (!asks_for(r, kernel))
            continue;
        str_printf(&heads, "%s// %s: %d threads a block\n%s    ...\n}\n", heads.len ? "\n" : "", kernel->name,
                   frame->abi->kernels.data[k].fast.threads, with_short_strides(arena, head));
        if (blocks)
            str_printf(&ours, "%s%s", ours.len ? "\n" : "", prompt_brief(arena, kernel->name, blocks[k], head));
    }
    return (PromptTranslation){r->kernel ? unit_text(arena, r) : r->text, str_text(&heads), blocks ? str_text(&ours) : NULL, false};
}

void prompt_cute_form(Str *out, bool terse)
{
    str_add(out, "\n# The answer\n\n"
                 "Give C++ in one block: a line of three backticks, the functions, a line of three backticks. Do not\n"
                 "repeat how a function begins: the line `NAME_block(...) {` stands for all that is given above, behind\n"
                 "it comes what the last `...` stands for. Above each function a line `");
    str_printf(out, CUTE_SHARED_NOTE, "NAME");
    str_printf(out, "N bytes`, N a\nnumber%s. Wide is true where rows are aligned to 16 bytes. Entries, includes and the launch are written for you: no lines that\n"
                 "begin with # (CUTE_UNROLL and CUTE_NO_UNROLL stand before loops), no __global__, no asm, no variables\n"
                 "outside of functions.\n", terse ? "; no other comments nor empty lines: there is little room" : "");
}
