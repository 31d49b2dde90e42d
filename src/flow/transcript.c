/* transcript.c: a run as a folder of texts.
 *
 *   request.json          all that the run depends on
 *   sketch-1.prompt.md    what was asked            sketch-1.tl (or .cu)       taken from it
 *   sketch-1.answer.md    what was answered         sketch-1.diagnostics.txt   what is wrong
 *   sketch-1.thoughts.md  what was thought before   sketch-1.json              how, and how long
 *   result.json           what came of it
 *
 * The answer is written as soon as there is one and as the last of its files, each whole
 * or not at all: whatever interrupts the run, an answer that was paid for is found again.
 * It belongs to its prompt; to another one it is no answer.
 */
#include "flow/flow.h"

#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

enum { KEPT = 1 << 20, ROUNDS_LOOKED_AT = 32 };

static const char *path_of(const Flow *flow, PromptStage stage, int round, const char *kind)
{
    return arena_printf(flow->arena, "%s/%s-%d.%s", flow->options.folder, prompt_stage_name(stage), round, kind);
}

static bool complain(const Flow *flow, DiagCode code, const char *message)
{
    Diags *diags = flow->chain->diags;
    Diag *diag = diag_add(diags, code, (Span){0, 0}, "%s", message);

    diag->source = NULL;
    return false;
}

static bool write_file(const Flow *flow, const char *path, const char *text)
{
    const char *error = file_write(flow->arena, path, text, strlen(text));

    return !error || complain(flow, TW1048, error);
}

/* NULL: it is not there, or cannot be read. */
static const char *read_file(Arena *arena, const char *path)
{
    struct stat st;
    const char *error;
    Source *source = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? source_read(arena, path, &error) : NULL;

    return source ? source->text : NULL;
}

/* ---- the run ---------------------------------------------------------------------------- */

bool transcript_begin(Flow *flow, const char *request)
{
    const char *path = arena_printf(flow->arena, "%s/request.json", flow->options.folder), *before;
    const char *error = folder_make(flow->arena, flow->options.folder, 0777);
    Diags *diags = flow->chain->diags;

    if (error)
        return complain(flow, TW1048, error);
    before = read_file(flow->arena, path);
    if (!before)
        return write_file(flow, path, request);
    if (strcmp(before, request) == 0)
        return true;
    complain(flow, TW1048, arena_printf(flow->arena, "%s holds the transcript of another run", flow->options.folder));
    diag_note(diags, &diags->list.data[diags->list.len - 1],
              "its request.json says which; name another folder with --transcript, or replay it");
    return false;
}

bool transcript_end(Flow *flow, bool ok, double seconds)
{
    Str out = str_new(flow->arena);
    int64_t in = 0, written = 0;
    double cost = 0;

    for (int i = 0; i < flow->steps.len; i++) {
        in += flow->steps.data[i].answer.tokens_in;
        written += flow->steps.data[i].answer.tokens_out;
        cost += flow->steps.data[i].answer.cost;
    }
    str_printf(&out, "{\"ok\":%s,\"seconds\":%.3f,\"tokens_in\":%lld,\"tokens_out\":%lld,\"cost\":%.6g,\n\"steps\":[",
               ok ? "true" : "false", seconds, (long long)in, (long long)written, cost);
    for (int i = 0; i < flow->steps.len; i++) {
        const FlowStep *step = &flow->steps.data[i];

        str_printf(&out, "%s\n {\"stage\":\"%s\",\"round\":%d,\"author\":", i ? "," : "", prompt_stage_name(step->stage),
                   step->round);
        str_json(&out, step->author);
        str_printf(&out, ",\"ok\":%s}", step->ok ? "true" : "false");
    }
    str_add(&out, "]}\n");
    return write_file(flow, arena_printf(flow->arena, "%s/result.json", flow->options.folder), str_text(&out));
}

/* ---- a step ------------------------------------------------------------------------------- */

static void put_answer(Str *out, const FlowStep *step)
{
    const ModelAnswer *a = &step->answer;

    str_printf(out, "{\"stage\":\"%s\",\"round\":%d,\"author\":", prompt_stage_name(step->stage), step->round);
    str_json(out, step->author);
    str_add(out, ",\"model\":");
    str_json(out, a->name ? a->name : "");
    str_printf(out, ",\"finish\":\"%s\",\"tokens_in\":%lld,\"tokens_out\":%lld,\"tokens_guessed\":%s",
               model_finish_name(a->finish), (long long)a->tokens_in, (long long)a->tokens_out,
               a->tokens_guessed ? "true" : "false");
    str_printf(out, ",\"cost\":%.9g,\"has_cost\":%s,\"seconds\":%.3f,\"attempts\":%d,\"continuations\":%d", a->cost,
               a->has_cost ? "true" : "false", a->seconds, a->attempts, a->continuations);
}

/* Of an answer that nobody will read, its head. */
static const char *kept(const Flow *flow, const ModelAnswer *answer)
{
    size_t len = strlen(answer->text);

    if (answer->finish != MODEL_LONG || len <= KEPT)
        return answer->text;
    for (len = KEPT; len > 0 && (answer->text[len] & 0xc0) == 0x80; len--)
        ;
    return arena_strndup(flow->arena, answer->text, len);
}

bool transcript_answer(Flow *flow, const FlowStep *step)
{
    Str about = str_new(flow->arena);

    put_answer(&about, step);
    str_add(&about, "}\n");
    return write_file(flow, path_of(flow, step->stage, step->round, "prompt.md"), step->prompt) &&
           (!*step->answer.reasoning ||
            write_file(flow, path_of(flow, step->stage, step->round, "thoughts.md"), step->answer.reasoning)) &&
           write_file(flow, path_of(flow, step->stage, step->round, "json"), str_text(&about)) &&
           write_file(flow, path_of(flow, step->stage, step->round, "answer.md"), kept(flow, &step->answer));
}

bool transcript_verdict(Flow *flow, const FlowStep *step)
{
    Str about = str_new(flow->arena), wrong = str_new(flow->arena);

    put_answer(&about, step);
    str_printf(&about, ",\"judged_seconds\":%.3f,\"ok\":%s", step->judged, step->ok ? "true" : "false");
    if (step->measured) {
        str_add(&about, ",\"measured\":");
        flow_measured_json(&about, step->measured);
    }
    str_add(&about, ",\"diagnostics\":");
    diags_json(step->diags, &about);
    str_add(&about, "}\n");
    diags_text(step->diags, &wrong);
    return (!step->text || write_file(flow, path_of(flow, step->stage, step->round, prompt_suffix(step->stage)), step->text->text)) &&
           write_file(flow, path_of(flow, step->stage, step->round, "diagnostics.txt"), str_text(&wrong)) &&
           write_file(flow, path_of(flow, step->stage, step->round, "json"), str_text(&about));
}

/* Nobody is paid for having asked, whatever a file says that was edited. */
static int64_t count(const json_t *object, const char *key)
{
    const int64_t most = (int64_t)1 << 30;
    int64_t n = json_integer_value(json_object_get(object, key));

    return n < 0 ? 0 : n < most ? n : most;
}

/* What was counted; nothing where the file is damaged, for the answer is what counts. */
static void read_about(Arena *arena, const char *text, ModelAnswer *answer)
{
    json_t *about = text ? json_loads(text, 0, NULL) : NULL;
    const char *name = json_string_value(json_object_get(about, "model")), *finish;

    answer->name = name && *name ? arena_strdup(arena, name) : NULL;
    finish = json_string_value(json_object_get(about, "finish"));
    for (int i = MODEL_DONE; i <= MODEL_BROKEN; i++)
        if (finish && strcmp(finish, model_finish_name((ModelFinish)i)) == 0)
            answer->finish = (ModelFinish)i;
    answer->tokens_in = count(about, "tokens_in");
    answer->tokens_out = count(about, "tokens_out");
    answer->tokens_guessed = json_is_true(json_object_get(about, "tokens_guessed"));
    answer->has_cost = json_is_true(json_object_get(about, "has_cost"));
    answer->cost = fmax(json_number_value(json_object_get(about, "cost")), 0);
    answer->seconds = json_number_value(json_object_get(about, "seconds"));
    answer->attempts = (int)count(about, "attempts");
    answer->continuations = (int)count(about, "continuations");
    json_decref(about);
}

static bool read_answer(Arena *arena, const char *folder, PromptStage stage, int round, ModelAnswer *answer)
{
    const char *base = arena_printf(arena, "%s/%s-%d", folder, prompt_stage_name(stage), round);
    const char *text = read_file(arena, arena_printf(arena, "%s.answer.md", base));
    const char *thoughts = read_file(arena, arena_printf(arena, "%s.thoughts.md", base));

    if (!text)
        return false;
    *answer = (ModelAnswer){.text = text, .reasoning = thoughts ? thoughts : ""};
    read_about(arena, read_file(arena, arena_printf(arena, "%s.json", base)), answer);
    return true;
}

bool transcript_find(Flow *flow, PromptStage stage, int round, const char *prompt, ModelAnswer *answer)
{
    const char *before = read_file(flow->arena, path_of(flow, stage, round, "prompt.md"));

    return before && strcmp(before, prompt) == 0 && read_answer(flow->arena, flow->options.folder, stage, round, answer);
}

/* ---- played again ---------------------------------------------------------------------------- */

typedef struct Replay {
    const char *folder;
    PromptStage stage;
    int round;
} Replay;

static bool replay(void *user, Arena *arena, const ModelMessage *messages, int n, ModelAnswer *answer, Diags *diags)
{
    Replay *r = user;
    Diag *diag;

    (void)messages;
    (void)n;
    if (read_answer(arena, r->folder, r->stage, ++r->round, answer))
        return true;
    diag = diag_add(diags, TW1047, (Span){0, 0}, "%s has no answer %d for the stage '%s'", r->folder, r->round,
                    prompt_stage_name(r->stage));
    diag->source = NULL;
    return false;
}

/* Whether any of its answers is there: one that lacks the first is damaged, which replay says. */
static bool has_answers(Arena *arena, const char *folder, PromptStage stage)
{
    bool found = false;

    for (int round = 1; round <= ROUNDS_LOOKED_AT && !found; round++)
        found = read_file(arena, arena_printf(arena, "%s/%s-%d.answer.md", folder, prompt_stage_name(stage), round)) != NULL;
    return found;
}

Model *transcript_model(Arena *arena, const char *spec, const char *folder, PromptStage stage)
{
    Replay *r = arena_new_of(arena, Replay);

    *r = (Replay){folder, stage, 0};
    return has_answers(arena, folder, stage) ? model_of(arena, spec, NULL, replay, r) : NULL;
}
