/* examples.c: worked examples of other operators.
 *
 * What an example shows is found by the built-in stages at the moment it is needed, so
 * that examples never lag behind the language. One is taken that is unlike the request
 * as a whole, and shows much of what it takes:
 *
 *   library ─► not alike (what they compute, counted) ─► made by the built-in stages
 *           ─► a single unit, there is room ─► most that was not shown yet
 *
 * Vocabulary
 *   traits    how often each operation is computed, and which statements there are
 *   alike     sharing so many operations that the example would be half the answer
 */
#include "prompt/prompt.h"

enum { MOST_EXAMPLES = 2, SMALL = 3, STEM = 5, WORTH = 100 };

typedef struct Traits {
    int ops[OP_COUNT];
    bool stmts[STMT_COUNT];
    int all; /* operations */
} Traits;

typedef struct Example {
    bool made;
    const char *text; /* NULL: it cannot be made */
    Traits given, shown; /* what is given in it, and what its answer shows */
    int tokens;
} Example;

typedef struct Entry {
    Source *source;
    const char *name, *heading;
    Traits traits;
    bool taken; /* or of no use, for the request at hand */
    Example examples[PROMPT_STAGES];
} Entry;

/* Examples are made once, for one target and type. */
struct Library {
    Arena *arena;
    const Target *target;
    DType dtype;
    VEC(Entry) list;
};

/* ---- traits ------------------------------------------------------------------------- */

static void count_stmt(Traits *traits, const Stmt *s);

static void count_block(Traits *traits, const Block *block)
{
    for (int i = 0; i < block->len; i++)
        count_stmt(traits, block->data[i]);
}

static void count_stmt(Traits *traits, const Stmt *s)
{
    traits->stmts[s->kind] = true;
    if (s->kind == STMT_COMPUTE && s->op_known) {
        traits->ops[s->op]++;
        traits->all++;
    }
    count_block(traits, &s->body);
    count_block(traits, &s->orelse);
}

static Program *parse(Arena *arena, const Source *source)
{
    return lang_parse(arena, syms_new(arena), source, diags_new(arena, source));
}

static Traits traits_of(const Program *program, bool definitions)
{
    Traits traits = {0};

    for (int i = 0; i < program->units.len; i++)
        if (!definitions || program->units.data[i]->kind == UNIT_OPERATOR)
            count_block(&traits, &program->units.data[i]->body);
    return traits;
}

static bool alike(const Traits *a, const Traits *b)
{
    int both = 0, either = 0, least = a->all < b->all ? a->all : b->all;

    for (int i = 0; i < OP_COUNT; i++) {
        both += a->ops[i] < b->ops[i] ? a->ops[i] : b->ops[i];
        either += a->ops[i] > b->ops[i] ? a->ops[i] : b->ops[i];
    }
    return 2 * both >= either || (least >= SMALL && 10 * both >= 7 * least);
}

/* What it shows that was not shown yet, most of all what the request takes as well; its
 * length is held against it. */
static int worth(const Example *example, const Traits *asked, const Traits *shown)
{
    int news = 0;

    for (int i = 0; i < OP_COUNT; i++)
        if (example->shown.ops[i] && !shown->ops[i])
            news += asked->ops[i] ? 4 : 1;
    for (int i = 0; i < STMT_COUNT; i++)
        if (example->shown.stmts[i] && !shown->stmts[i])
            news += 10;
    return WORTH * news - example->tokens;
}

/* ---- plain words ---------------------------------------------------------------------- */

static size_t word_len(const char *at)
{
    size_t n = 0;

    while ((at[n] >= 'a' && at[n] <= 'z') || (at[n] >= 'A' && at[n] <= 'Z'))
        n++;
    return n;
}

static bool same_letters(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((a[i] | 0x20) != (b[i] | 0x20))
            return false;
    return true;
}

static bool has_stem(const char *text, const char *stem, size_t n)
{
    for (size_t len; *text; text += len ? len : 1) {
        len = word_len(text);
        if (len >= n && same_letters(text, stem, n))
            return true;
    }
    return false;
}

/* Not `of`, nor `the`; but what is short in capitals is an abbreviation. */
static bool says_something(const char *word, size_t len)
{
    for (size_t i = 0; i < len && len == 3; i++)
        if (word[i] & 0x20)
            return false;
    return len >= 3;
}

/* Whether more than a third of the words of one stand in the other. */
static bool told_of(const char *words, const char *text)
{
    int all = 0, found = 0;

    for (size_t len; *words; words += len ? len : 1) {
        len = word_len(words);
        if (!says_something(words, len))
            continue;
        all++;
        found += has_stem(text, words, len < STEM ? len : STEM);
    }
    return 3 * found > all;
}

/* ---- the library ----------------------------------------------------------------------- */

/* The paragraph at the head of a definition, without its comment marks. */
static const char *heading(Arena *arena, const Source *source)
{
    Str out = str_new(arena);

    for (const char *at = source->text; *at == '#';) {
        size_t len;

        at += 1 + strspn(at + 1, " ");
        len = strcspn(at, "\r\n");
        if (!len)
            break;
        str_add(&out, out.len ? " " : "");
        str_addn(&out, at, len);
        at += len + strspn(at + len, "\r\n");
    }
    return str_text(&out);
}

const char *prompt_definition(Arena *arena, const Source *source)
{
    const Program *program = parse(arena, source);
    const Unit *unit = program_unit(program, UNIT_OPERATOR);
    Str text = str_new(arena);
    Unit bare;

    if (!unit)
        return source->text;
    bare = *unit;
    bare.comment = NULL;
    lang_print_unit(&text, &bare);
    return str_text(&text);
}

Library *library_new(Arena *arena, Source *const *sources, int n)
{
    Library *library = arena_new_of(arena, Library);

    library->arena = arena;
    for (int i = 0; i < n; i++) {
        const Program *program = parse(arena, sources[i]);
        const Unit *unit = program_unit(program, UNIT_OPERATOR);
        Entry entry = {.source = sources[i], .name = unit ? unit->name : NULL};

        if (!unit)
            continue;
        entry.traits = traits_of(program, true);
        entry.heading = heading(arena, sources[i]);
        vec_push(arena, &library->list, entry);
    }
    return library;
}

/* ---- an example -------------------------------------------------------------------------- */

bool prompt_set_as_headed(Chain *chain, const Source *source)
{
    const char *end = strstr(source->text, "\nOperator"), *at = strstr(source->text, "tw gen ");
    const char *line = at ? at + strcspn(at, "\r\n") : NULL;

    if (!at || !end || at > end)
        return true;
    while ((at = strstr(at, "--set ")) && at < line) {
        at += strlen("--set ");
        if (chain_set(chain, arena_strndup(chain->arena, at, strcspn(at, " \r\n"))))
            return false;
    }
    return true;
}

static Chain *chain_for(Arena *arena, const Entry *entry, const PromptRequest *r)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, entry->source), r->target,
                             r->dtype);

    return prompt_set_as_headed(chain, entry->source) && chain_define(chain, entry->source) ? chain : NULL;
}

static void put_block(Str *out, const char *what, const char *language, const char *text)
{
    str_printf(out, "%s%s:\n\n```%s\n%s```\n", out->len ? "\n" : "", what, language, text);
}

static void put_settings(Str *out, const Chain *chain)
{
    for (int i = 0; i < chain->own.list.len; i++)
        str_printf(out, "%s%s = %.10g", i ? ", " : "With ", chain->own.list.data[i].name, chain->own.list.data[i].value);
    if (chain->own.list.len)
        str_add(out, " known when compiling.\n");
}

static const char *translation_of(Arena *arena, Chain *chain, const PromptRequest *r)
{
    PromptRequest request = {.target = r->target, .dtype = r->dtype, .settings = &chain->settings, .text = chain->code->text};

    return prompt_translation(arena, &request).ours;
}

/* What somebody else answered, and what was asked; *given, *shows: the TL that was given, and that it shows. NULL: the built-in stages cannot do
 * it, or by several units, which teach less. */
static const char *answer_of(Str *out, PromptStage stage, const Entry *entry, const PromptRequest *r, const char **given,
                             const char **shows)
{
    Arena *arena = out->arena;
    const char *definition = prompt_definition(arena, entry->source), *answer;
    Chain *chain;

    if (stage == PROMPT_DEFINE) {
        str_printf(out, "%s\n", entry->heading);
        return *shows = definition;
    }
    chain = chain_for(arena, entry, r);
    if (!chain || !chain_fuse(chain) || (stage != PROMPT_SKETCH && !chain_reason(chain, chain->sketch)))
        return NULL;
    answer = stage == PROMPT_SKETCH ? chain->sketch->text : chain->code->text;
    *shows = answer;
    *given = stage == PROMPT_REASON ? chain->sketch->text : stage == PROMPT_TRANSLATE ? answer : definition;
    if (stage == PROMPT_TRANSLATE) {
        put_block(out, "Code", "tl", answer);
        return strstr(answer, "\nKernel ") ? NULL : translation_of(arena, chain, r);
    }
    put_settings(out, chain);
    if (stage == PROMPT_REASON)
        put_block(out, "A sketch", "tl", chain->sketch->text);
    else
        put_block(out, "A definition", "tl", definition);
    return strstr(answer, "\nKernel ") ? NULL : answer;
}

static Traits traits_in(Arena *arena, const char *text)
{
    Source source = {"example", text, strlen(text)};

    return traits_of(parse(arena, &source), false);
}

static void make(Library *library, Entry *entry, PromptStage stage, const PromptRequest *r)
{
    static const char *const title[TL_FORMS] = {"Its definition", "Its sketch", "Its code"};
    Example *example = &entry->examples[stage];
    Str text = str_new(library->arena);
    const char *answer, *given = "", *shows = "";
    bool translates = stage == PROMPT_TRANSLATE;

    example->made = true;
    answer = answer_of(&text, stage, entry, r, &given, &shows);
    if (!answer)
        return;
    put_block(&text, translates ? "Its CuTe C++" : title[prompt_form(stage)], translates ? "cpp" : "tl", answer);
    example->text = str_text(&text);
    example->tokens = prompt_tokens(example->text);
    example->given = traits_in(library->arena, given);
    example->shown = traits_in(library->arena, shows);
}

/* The one that is most worth and fits; NULL: none is left. */
static Entry *choose(Library *library, PromptStage stage, const Traits *asked, const Traits *shown, int room)
{
    Entry *best = NULL;

    for (int i = 0; i < library->list.len; i++) {
        Entry *entry = &library->list.data[i];
        const Example *example = &entry->examples[stage];

        if (!entry->taken && example->text && example->tokens <= room &&
            (!best || worth(example, asked, shown) > worth(&best->examples[stage], asked, shown)))
            best = entry;
    }
    return best;
}

/* What was made for another target says nothing of this one. */
static void aim(Library *library, const PromptRequest *r)
{
    if (library->target == r->target && library->dtype == r->dtype)
        return;
    library->target = r->target;
    library->dtype = r->dtype;
    for (int i = 0; i < library->list.len; i++)
        memset(library->list.data[i].examples, 0, sizeof library->list.data[i].examples);
}

static void leave_out_like(Library *library, const Traits *traits)
{
    for (int i = 0; i < library->list.len; i++)
        library->list.data[i].taken |= alike(traits, &library->list.data[i].traits);
}

/* Words may call an operator by anything: what they could mean is left out, and all that is like it. */
static void leave_out_meant(Library *library, const char *words)
{
    VEC(const Traits *) meant = {0};

    for (int i = 0; i < library->list.len; i++) {
        Entry *entry = &library->list.data[i];

        if (entry->taken || told_of(words, entry->source->text))
            vec_push(library->arena, &meant, &entry->traits);
    }
    for (int i = 0; i < meant.len; i++)
        leave_out_like(library, meant.data[i]);
}

/* Leaves out what is too much like the request, or is it. */
static void leave_out(Library *library, PromptStage stage, const PromptRequest *r, const Program *given,
                      const Traits *asked)
{
    for (int i = 0; i < library->list.len; i++) {
        Entry *entry = &library->list.data[i];
        const char *words = entry->heading;

        entry->taken = stage == PROMPT_DEFINE ? told_of(words, r->text) || told_of(r->text, words)
                                              : alike(asked, &entry->traits);
        for (int u = 0; u < given->units.len; u++)
            entry->taken |= text_equal_nocase(given->units.data[u]->name, entry->name);
        if (!entry->taken && !entry->examples[stage].made)
            make(library, entry, stage, r);
        if (stage != PROMPT_DEFINE) /* a sketch is not much like its definition, by what it computes */
            entry->taken |= alike(asked, &entry->examples[stage].given);
    }
    if (stage == PROMPT_DEFINE)
        leave_out_meant(library, r->text);
}

static void show(Traits *shown, const Traits *traits)
{
    for (int i = 0; i < OP_COUNT; i++)
        shown->ops[i] += traits->ops[i];
    for (int i = 0; i < STMT_COUNT; i++)
        shown->stmts[i] |= traits->stmts[i];
}

void prompt_examples(Str *out, PromptStage stage, const PromptRequest *r, int room)
{
    static const Program nothing;
    Source source = {"request", r->text, strlen(r->text)};
    const Program *given = stage == PROMPT_DEFINE ? &nothing : parse(out->arena, &source);
    Traits asked = traits_of(given, false), shown = {0};
    Entry *entry;

    if (!r->library)
        return;
    aim(r->library, r);
    leave_out(r->library, stage, r, given, &asked);
    for (int n = 1; n <= MOST_EXAMPLES && (entry = choose(r->library, stage, &asked, &shown, room)); n++) {
        const Example *example = &entry->examples[stage];

        str_printf(out, "\n# Example %d, another operator\n\n%s", n, example->text);
        room -= example->tokens + 10;
        show(&shown, &example->shown);
        leave_out_like(r->library, &entry->traits);
    }
}
