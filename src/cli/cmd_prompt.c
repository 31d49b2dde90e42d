/* cmd_prompt.c: what a model is sent for a stage, to the letter. */
#include "cli/artefact.h"
#include "cli/ops_folder.h"
#include "cli/stages.h"

static int unknown_stage(Session *s, const char *name)
{
    const char *names[PROMPT_STAGES], *near;
    Str list = str_new(s->arena);

    for (int i = 0; i < PROMPT_STAGES; i++) {
        names[i] = prompt_stage_name((PromptStage)i);
        str_printf(&list, "%s%s", i == 0 ? "" : i == PROMPT_STAGES - 1 ? " or " : ", ", names[i]);
    }
    near = nearest_name(name, names, PROMPT_STAGES);
    if (near)
        return session_usage(s, "no stage '%s'; did you mean '%s'?", name, near);
    return session_usage(s, "no stage '%s'; it is %s", name, str_text(&list));
}

static bool is_kernel(Session *s, const Source *source)
{
    Diags *quiet = diags_new(s->arena, source);
    const Program *program = lang_parse(s->arena, s->syms, source, quiet);

    return program_unit(program, UNIT_KERNEL) && !program_unit(program, UNIT_OPERATOR);
}

/* What is given: for the reasoner a sketch, found by the fuser where a definition was
 * named. NULL: *status says why. */
static const char *given(Session *s, Chain *chain, PromptStage stage, const Source *source, int *status)
{
    if (stage == PROMPT_DEFINE)
        return source->text;
    if (!artefact_is_tl(s, source))
        return *status = EXIT_USAGE, NULL;
    if ((stage == PROMPT_REASON || stage == PROMPT_TRANSLATE) && is_kernel(s, source))
        return source->text;
    *status = EXIT_WRONG;
    if (!chain_define(chain, source))
        return *status = session_chain_failed(s, chain, "definition"), NULL;
    if (stage != PROMPT_REASON && stage != PROMPT_TRANSLATE)
        return prompt_definition(s->arena, source);
    if (!chain_fuse(chain))
        return *status = session_chain_failed(s, chain, "fuse"), NULL;
    if (stage == PROMPT_REASON)
        return chain->sketch->text;
    if (!chain_reason(chain, chain->sketch))
        return *status = session_chain_failed(s, chain, "reason"), NULL;
    return chain->code->text;
}

/* The request may be typed as the last word. */
static Source *read_request(Session *s, PromptStage stage)
{
    Source *source;
    const char *word = s->options.files.len < 2 ? "" : s->options.files.data[1];

    if (stage != PROMPT_DEFINE || !has_words(word))
        return session_read(s, 1);
    source = arena_new_of(s->arena, Source);
    *source = (Source){"request", word, strlen(word)};
    return source;
}

/* Kernels that are asked for one by one have a prompt each. */
static void put_prompts(Str *out, PromptStage stage, PromptRequest *request)
{
    const char *const *kernels;
    int n = stage == PROMPT_TRANSLATE ? prompt_apart(out->arena, request, &kernels) : 0;

    if (!n)
        str_add(out, prompt_write(out->arena, stage, request));
    for (int k = 0; k < n; k++) {
        request->kernel = kernels[k];
        str_printf(out, "%s======== %d of %d: %s\n\n%s", k ? "\n" : "", k + 1, n, kernels[k], prompt_write(out->arena, stage, request));
    }
}

int cmd_prompt(Session *s)
{
    PromptRequest request = {.target = s->options.target, .dtype = s->options.dtype};
    PromptStage stage;
    Source *source;
    Chain *chain;
    Str out = str_new(s->arena);
    int status = EXIT_DONE;

    if (!s->options.files.len)
        return session_usage(s, "which stage?");
    if (!prompt_stage_find(s->options.files.data[0], &stage))
        return unknown_stage(s, s->options.files.data[0]);
    source = read_request(s, stage);
    if (!source)
        return EXIT_LACKS;
    chain = session_chain(s);
    if (!chain)
        return EXIT_USAGE;
    request.text = given(s, chain, stage, source, &status);
    if (!request.text)
        return status;
    request.settings = &chain->settings;
    request.library = ops_library(s);
    put_prompts(&out, stage, &request);
    return session_write_text(s, "prompt", &out);
}
