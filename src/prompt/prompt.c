/* prompt.c: a stage's task as one text.
 *
 *   task ─ language ─ target ─ examples ─ what is given ─ [the last answer, what is
 *   wrong with it] ─ the form of the answer
 *
 * Examples get what room the rest leaves; so, after a wrong answer, does the list of
 * what is wrong.
 */
#include "prompt/prompt.h"

enum { LEAST_EXAMPLE = 250, LEAST_DIAGNOSTICS = 150, LEAST_LINE = 80, LAST_TITLES = 60 };

static const struct {
    const char *name;
    TlForm form;
    const char *unit, *given, *task;
} stages[] = {
#define PROMPT(id, name, form, unit, given, task) {name, form, unit, given, task},
#include "prompt/stages.def"
#undef PROMPT
};

const char *prompt_stage_name(PromptStage stage)
{
    return stages[stage].name;
}

bool prompt_stage_find(const char *name, PromptStage *stage)
{
    for (int i = 0; i < PROMPT_STAGES; i++)
        if (text_equal_nocase(name, stages[i].name))
            return *stage = (PromptStage)i, true;
    return false;
}

const char *prompt_unit(PromptStage stage)
{
    return stages[stage].unit;
}

const char *prompt_suffix(PromptStage stage)
{
    return strcmp(stages[stage].unit, "_block") == 0 ? "cu" : "tl";
}

TlForm prompt_form(PromptStage stage)
{
    return stages[stage].form;
}

Chain *prompt_chain(Arena *arena, const PromptRequest *r, const char *name, Source **source)
{
    Chain *chain;

    *source = arena_new_of(arena, Source);
    **source = (Source){name, r->text, strlen(r->text)};
    chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, *source), r->target, r->dtype);
    for (int i = 0; r->settings && i < r->settings->list.len; i++)
        chain_set(chain, arena_printf(arena, "%s=%.17g", r->settings->list.data[i].name, r->settings->list.data[i].value));
    return chain;
}

/* ---- the parts ---------------------------------------------------------------------- */

static void put_fenced(Str *out, const char *language, const char *text)
{
    size_t len = strlen(text);

    str_printf(out, "```%s\n%s%s```\n", language, text, len && text[len - 1] == '\n' ? "" : "\n");
}

static void put_known(Str *out, const PromptRequest *r)
{
    int n = r->settings ? r->settings->list.len : 0;

    str_printf(out, "\nTensors that name no type are %s.", dtype_name(r->dtype));
    for (int i = 0; i < n; i++)
        str_printf(out, "%s%s = %.10g", i ? ", " : " Known when compiling: ", r->settings->list.data[i].name,
                   r->settings->list.data[i].value);
    str_add(out, n ? "; all other sizes are given at launch.\n" : " Sizes that are not numbers are given at launch.\n");
}

static void put_given(Str *out, PromptStage stage, const PromptRequest *r, const PromptTranslation *asked)
{
    str_printf(out, "\n# %s\n\n", stages[stage].given);
    if (stage == PROMPT_DEFINE) {
        str_printf(out, "%s\n", r->text);
        return;
    }
    put_fenced(out, "tl", stage == PROMPT_TRANSLATE ? asked->code : r->text);
    if (stage == PROMPT_TRANSLATE) {
        str_add(out, "\nHow the function of each block begins:\n\n");
        put_fenced(out, "cpp", asked->heads);
        return;
    }
    put_known(out, r);
    if (prompt_is_cuda(stage))
        prompt_cuda_head(out, r);
}

/* The beginning of a line, in so many tokens. */
static size_t head_of_line(Arena *arena, const char *line, size_t len, int room)
{
    while (len > LEAST_LINE && prompt_tokens(arena_strndup(arena, line, len)) > room)
        len = len / 2;
    while (len > 0 && (line[len] & 0xc0) == 0x80)
        len--;
    return len;
}

/* Whole lines of a text, in so many tokens; of a first one that is longer, its beginning. */
static void put_lines(Str *out, const char *text, int room)
{
    Str kept = str_new(out->arena);

    while (*text) {
        size_t line = strcspn(text, "\n"), len = line += text[line] == '\n';

        if (!kept.len)
            len = head_of_line(out->arena, text, line, room);
        room -= prompt_tokens(arena_strndup(out->arena, text, len));
        if (room >= 0 || !kept.len)
            str_addn(&kept, text, len);
        if (room < 0 || len < line) {
            str_add(&kept, len < line ? "\n... and more.\n" : "... and more, when this is mended.\n");
            break;
        }
        text += len;
    }
    put_fenced(out, "", str_text(&kept));
}

/* What is wrong may take half of the room, and the answer the rest; where that is little, what is wrong says by itself
 * which lines it means. */
static void put_last(Str *out, const PromptRequest *r, int room)
{
    int wrong = prompt_tokens(r->diagnostics), answer = r->answer ? prompt_tokens(r->answer) : 0, most;

    room -= LAST_TITLES;
    most = wrong < room / 2 ? room - wrong : room / 2;
    if (r->answer && (answer <= most || most >= LEAST_DIAGNOSTICS)) {
        str_add(out, "\n# Your last answer\n\n");
        put_lines(out, r->answer, most);
        room -= answer < most ? answer : most;
    }
    str_add(out, r->answer ? "\n# What is wrong with your last answer\n\nMend this; keep what is right:\n\n"
                           : "\n# What is wrong with your last answer\n\nNo program could be taken from it:\n\n");
    put_lines(out, r->diagnostics, room > LEAST_DIAGNOSTICS ? room : LEAST_DIAGNOSTICS);
}

static void put_form(Str *out, PromptStage stage, const PromptTranslation *asked)
{
    if (stage == PROMPT_TRANSLATE) {
        prompt_cute_form(out, asked->terse);
        return;
    }
    if (prompt_is_cuda(stage)) {
        prompt_cuda_form(out);
        return;
    }
    str_printf(out, "\n# The answer\n\n"
                    "Give %s in one block: a line of three backticks, the units `%s NAME ... end` whole, a line of\n"
                    "three backticks. What stands outside of the block is not read; of several blocks the last one\n"
                    "counts.\n",
               stages[stage].form == IN_DEFINITION ? "the definition" : stages[stage].form == IN_SKETCH ? "the sketch" : "the code",
               stages[stage].unit);
}

/* ---- the whole ----------------------------------------------------------------------- */

/* Tokens that the answer may need, rather too many: code is some two and a half times its sketch; of C++ it is known what the built-in
 * translator writes. */
static int reserve(PromptStage stage, int given, const PromptTranslation *asked)
{
    switch (stage) {
    case PROMPT_DEFINE: return 900;
    case PROMPT_SKETCH: return 700 + 5 * given / 2;
    case PROMPT_REASON: return 1300 + 5 * given / 2;
    case PROMPT_CODE: return 1700 + 5 * given;
    case PROMPT_TRANSLATE: return asked->ours ? 100 + 17 * prompt_tokens(asked->ours) / 16 : 300 + 3 * given;
    case PROMPT_THINK: return 2000 + 5 * given;
    case PROMPT_VANILLA: return 2000 + 5 * given;
    case PROMPT_STAGES: break;
    }
    return 0;
}

/* What stands before the examples and behind them, and the tokens that are left for those. */
typedef struct Parts {
    Str before, given, form;
    PromptTranslation asked;
    int room;
} Parts;

static Parts parts_of(Arena *arena, PromptStage stage, const PromptRequest *r)
{
    Parts p = {str_new(arena), str_new(arena), str_new(arena), {r->text, "", NULL, false}, r->room ? r->room : PROMPT_ROOM};

    str_printf(&p.before, "# Task\n\n%s\n", stages[stage].task);
    if (stage == PROMPT_TRANSLATE) {
        p.asked = prompt_translation(arena, r);
        prompt_cute(&p.before, r, &p.asked);
    } else {
        prompt_language(&p.before, stages[stage].form);
        prompt_hardware(&p.before, stage == PROMPT_THINK ? IN_CODE : stages[stage].form, r->target, r->dtype);
    }
    put_given(&p.given, stage, r, &p.asked);
    put_form(&p.form, stage, &p.asked);
    p.room -= reserve(stage, prompt_tokens(p.asked.code), &p.asked) + prompt_tokens(str_text(&p.before)) +
              prompt_tokens(str_text(&p.given)) + prompt_tokens(str_text(&p.form));
    return p;
}

/* An answer that is too long beside its question is asked for without comments. */
static void make_room(Arena *arena, PromptStage stage, Parts *p)
{
    int before = prompt_tokens(str_text(&p->form));

    if (p->room >= 0 || !p->asked.ours)
        return;
    p->room += prompt_tokens(p->asked.ours);
    p->asked.ours = prompt_terse(arena, p->asked.ours);
    p->asked.terse = true;
    p->form = str_new(arena);
    put_form(&p->form, stage, &p->asked);
    p->room -= prompt_tokens(p->asked.ours) + prompt_tokens(str_text(&p->form)) - before;
}

const char *prompt_write(Arena *arena, PromptStage stage, const PromptRequest *r)
{
    Parts p = parts_of(arena, stage, r);

    make_room(arena, stage, &p);
    if (!r->diagnostics && p.room > LEAST_EXAMPLE && !prompt_is_cuda(stage))
        prompt_examples(&p.before, stage, r, p.room);
    str_add(&p.before, str_text(&p.given));
    if (r->diagnostics)
        put_last(&p.before, r, p.room);
    str_add(&p.before, str_text(&p.form));
    return str_text(&p.before);
}

int prompt_apart(Arena *arena, const PromptRequest *r, const char *const **kernels)
{
    Source source = {"code", r->text, strlen(r->text)};
    const Program *program = lang_parse(arena, syms_new(arena), &source, diags_new(arena, &source));
    const char **names = arena_array(arena, const char *, program->units.len + 1);
    PromptRequest first = *r;
    int n = 0;

    first.kernel = first.diagnostics = NULL;
    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == UNIT_KERNEL)
            names[n++] = program->units.data[i]->name;
    *kernels = names;
    return n > 1 && prompt_translation(arena, &first).ours && parts_of(arena, PROMPT_TRANSLATE, &first).room < 0 ? n : 0;
}
