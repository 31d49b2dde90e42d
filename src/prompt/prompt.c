/* prompt.c: a stage's task as one text.
 *
 *   task ─ language ─ target ─ examples ─ what is given ─ [the last answer, what is
 *   wrong with it] ─ the form of the answer
 *
 * Examples get what room the rest leaves; so, after a wrong answer, does the list of
 * what is wrong.
 */
#include "prompt/prompt.h"

enum { LEAST_EXAMPLE = 250, LEAST_DIAGNOSTICS = 400, LEAST_LINE = 80 };

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

static void put_given(Str *out, PromptStage stage, const PromptRequest *r)
{
    str_printf(out, "\n# %s\n\n", stages[stage].given);
    if (stage == PROMPT_DEFINE) {
        str_printf(out, "%s\n", r->text);
        return;
    }
    put_fenced(out, "tl", r->text);
    put_known(out, r);
    if (stage == PROMPT_TRANSLATE) {
        Str heads = str_new(out->arena);

        str_add(out, "\nHow the function of each block begins; the parameters stand in this order:\n\n");
        put_fenced(out, "cpp", prompt_heads(&heads, r) ? str_text(&heads) : "");
    }
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

static void put_last(Str *out, const PromptRequest *r, int room)
{
    int most = room / 2 > LEAST_DIAGNOSTICS ? room / 2 : LEAST_DIAGNOSTICS, taken = r->answer ? prompt_tokens(r->answer) : 0;

    if (r->answer) {
        str_add(out, "\n# Your last answer\n\n");
        put_lines(out, r->answer, most);
        room -= taken < most ? taken : most;
    }
    str_add(out, r->answer ? "\n# What is wrong with it\n\nIt was checked and executed. Mend this, and keep what is right:\n\n"
                           : "\n# What is wrong with your last answer\n\nNo program could be taken from it:\n\n");
    put_lines(out, r->diagnostics, room > LEAST_DIAGNOSTICS ? room : LEAST_DIAGNOSTICS);
}

static void put_form(Str *out, PromptStage stage)
{
    if (stage == PROMPT_TRANSLATE) {
        prompt_cute_form(out);
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

/* Tokens that the answer may need: code is some two and a half times its sketch, C++ four times its code. */
static int reserve(PromptStage stage, int given)
{
    switch (stage) {
    case PROMPT_DEFINE: return 900;
    case PROMPT_SKETCH: return 300 + given + given / 4;
    case PROMPT_REASON: return 300 + 5 * given / 2;
    case PROMPT_CODE: return 500 + 5 * given / 2;
    case PROMPT_TRANSLATE: return 300 + 4 * given;
    case PROMPT_THINK: return 2000 + 5 * given;
    case PROMPT_VANILLA: return 1000 + 5 * given;
    case PROMPT_STAGES: break;
    }
    return 0;
}

const char *prompt_write(Arena *arena, PromptStage stage, const PromptRequest *r)
{
    Str out = str_new(arena), given = str_new(arena), form = str_new(arena);
    int room;

    str_printf(&out, "# Task\n\n%s\n", stages[stage].task);
    if (stage == PROMPT_TRANSLATE)
        prompt_cute(&out, r);
    else
        prompt_language(&out, stages[stage].form);
    prompt_hardware(&out, stage == PROMPT_THINK ? IN_CODE : stages[stage].form, r->target, r->dtype);
    put_given(&given, stage, r);
    put_form(&form, stage);
    room = (r->room ? r->room : PROMPT_ROOM) - reserve(stage, prompt_tokens(r->text)) - prompt_tokens(str_text(&out)) -
           prompt_tokens(str_text(&given)) - prompt_tokens(str_text(&form));
    if (!r->diagnostics && room > LEAST_EXAMPLE && !prompt_is_cuda(stage))
        prompt_examples(&out, stage, r, room);
    str_add(&out, str_text(&given));
    if (r->diagnostics)
        put_last(&out, r, room);
    str_add(&out, str_text(&form));
    return str_text(&out);
}
