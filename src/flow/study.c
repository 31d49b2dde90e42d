/* study.c: cells of a study, and what came of them as tables. */
#include "flow/study.h"

#include <math.h>

static const struct {
    const char *name;
    PromptStage stages[STUDY_STAGES];
} modes[] = {
#define MODE(id, name, first, second, help) {name, {first, second}},
#include "flow/modes.def"
#undef MODE
};

const char *study_mode_name(StudyMode mode)
{
    return modes[mode].name;
}

bool study_mode_find(const char *name, StudyMode *mode)
{
    for (int i = 0; i < STUDY_MODES; i++)
        if (text_equal_nocase(name, modes[i].name))
            return *mode = (StudyMode)i, true;
    return false;
}

int study_mode_stages(StudyMode mode, PromptStage stages[STUDY_STAGES])
{
    int n = 0;

    while (n < STUDY_STAGES && modes[mode].stages[n] != PROMPT_STAGES) {
        stages[n] = modes[mode].stages[n];
        n++;
    }
    return n;
}

bool study_mode_is_tl(StudyMode mode)
{
    return !prompt_is_cuda(modes[mode].stages[0]);
}

/* ---- a cell ---------------------------------------------------------------------------- */

static void add_failure(Arena *arena, StudyRow *row, DiagCode code)
{
    for (int i = 0; i < row->failures.len; i++) {
        if (row->failures.data[i].code != code)
            continue;
        row->failures.data[i].times++;
        return;
    }
    vec_push(arena, &row->failures, (StudyFailure){code, 1});
}

static void add_step(Arena *arena, StudyRow *row, const FlowStep *step)
{
    row->answers++;
    row->asked += step->asked;
    row->tokens_in += step->answer.tokens_in;
    row->tokens_out += step->answer.tokens_out;
    row->cost += step->answer.cost;
    row->seconds += step->answer.seconds;
    row->judged += step->judged;
    row->first &= step->ok;
    for (int i = 0; i < step->diags->list.len && !step->ok; i++) {
        if (diag_info(step->diags->list.data[i].code)->severity != SEV_ERROR)
            continue;
        add_failure(arena, row, step->diags->list.data[i].code);
        return;
    }
}

static const char *given(const Flow *flow, PromptStage stage)
{
    return stage == PROMPT_REASON ? flow->chain->sketch->text : prompt_definition(flow->arena, flow->chain->defined);
}

StudyRow study_run(Arena *arena, Flow *flow, StudyMode mode)
{
    PromptStage stages[STUDY_STAGES] = {0};
    int n = study_mode_stages(mode, stages);
    Model *model = flow->options.by[stages[0]];
    StudyRow row = {.op = arena_strdup(arena, flow->chain->name), .mode = mode, .ok = true, .first = true, .answered = true,
                    .author = arena_strdup(arena, model ? model_spec(model) : "builtin")};

    for (int i = 0; i < n && row.ok; i++)
        row.ok = flow_stage(flow, stages[i], given(flow, stages[i]), NULL);
    row.answered = row.ok || flow->failure || !model;
    row.first &= row.ok;
    for (int i = 0; i < flow->steps.len; i++)
        add_step(arena, &row, &flow->steps.data[i]);
    for (int i = 0; i < flow->chain->diags->list.len && !row.ok && !flow->failure; i++)
        add_failure(arena, &row, flow->chain->diags->list.data[i].code);
    return row;
}

void study_wrong(Arena *arena, StudyRow *row, DiagCode code)
{
    row->first = row->ok = false;
    row->speed = 0;
    add_failure(arena, row, code);
}

static const Source *last_right(const Flow *flow)
{
    for (int i = flow->steps.len - 1; i >= 0; i--)
        if (flow->steps.data[i].ok)
            return flow->steps.data[i].text;
    return NULL;
}

Source *study_ptx(Flow *flow, StudyMode mode, Chain *chain)
{
    const Source *text = last_right(flow);

    if (!text)
        return NULL;
    if (!study_mode_is_tl(mode))
        return flow_cuda_ptx(flow, chain, text, chain->diags);
    if (!chain_define(chain, flow->chain->defined) || !chain_lower(chain, flow->chain->code) || !chain_schedule(chain) ||
        !chain_emit(chain))
        return NULL;
    return chain->ptx;
}

/* ---- tables ------------------------------------------------------------------------------ */

static void put_failures(Str *out, const StudyRow *row, const char *between)
{
    for (int i = 0; i < row->failures.len; i++)
        str_printf(out, "%s%s:%d", i ? between : "", diag_info(row->failures.data[i].code)->name, row->failures.data[i].times);
}

/* A field of RFC 4180. */
static void put_field(Str *out, const char *text)
{
    bool plain = !text[strcspn(text, ",\"\r\n")];

    if (plain) {
        str_add(out, text);
        return;
    }
    str_addc(out, '"');
    for (; *text; text++)
        str_printf(out, *text == '"' ? "\"\"" : "%c", *text);
    str_addc(out, '"');
}

void study_csv(Str *out, const StudyRow *rows, int n)
{
    str_add(out, "operator,author,mode,first,ok,answers,tokens_in,tokens_out,cost,seconds,judged_seconds,speed,failures\n");
    for (int i = 0; i < n; i++) {
        const StudyRow *row = &rows[i];

        put_field(out, row->op);
        str_addc(out, ',');
        put_field(out, row->author);
        str_printf(out, ",%s,%d,%d,%d,%lld,%lld,%.6g,%.3f,%.3f,", study_mode_name(row->mode), row->first, row->ok,
                   row->answers, (long long)row->tokens_in, (long long)row->tokens_out, row->cost, row->seconds, row->judged);
        if (row->speed > 0)
            str_printf(out, "%.4g", row->speed);
        str_addc(out, ',');
        put_failures(out, row, " ");
        str_addc(out, '\n');
    }
}

static void put_row(Str *out, const StudyRow *row)
{
    str_add(out, "{\"operator\":");
    str_json(out, row->op);
    str_add(out, ",\"author\":");
    str_json(out, row->author);
    str_printf(out, ",\"mode\":\"%s\",\"first\":%s,\"ok\":%s,\"answers\":%d,\"tokens_in\":%lld,\"tokens_out\":%lld",
               study_mode_name(row->mode), row->first ? "true" : "false", row->ok ? "true" : "false", row->answers,
               (long long)row->tokens_in, (long long)row->tokens_out);
    str_printf(out, ",\"cost\":%.6g,\"seconds\":%.3f,\"judged_seconds\":%.3f,\"speed\":%s,\"failures\":{", row->cost,
               row->seconds, row->judged, row->speed > 0 ? arena_printf(out->arena, "%.4g", row->speed) : "null");
    for (int i = 0; i < row->failures.len; i++)
        str_printf(out, "%s\"%s\":%d", i ? "," : "", diag_info(row->failures.data[i].code)->name, row->failures.data[i].times);
    str_add(out, "}}");
}

void study_json(Str *out, const StudyRow *rows, int n)
{
    str_addc(out, '[');
    for (int i = 0; i < n; i++) {
        str_add(out, i ? ",\n " : "\n ");
        put_row(out, &rows[i]);
    }
    str_add(out, "\n]");
}

/* The rows of an author in a mode as one; their speed is the geometric mean of those that are known. */
static StudyRow sum(Arena *arena, const StudyRow *rows, int n, const StudyRow *like, int *all, int *first, int *ok)
{
    StudyRow total = {.author = like->author, .mode = like->mode};
    double logs = 0;
    int timed = 0;

    *all = *first = *ok = 0;
    for (int i = 0; i < n; i++) {
        const StudyRow *row = &rows[i];

        if (row->mode != like->mode || strcmp(row->author, like->author) != 0)
            continue;
        ++*all;
        *first += row->first;
        *ok += row->ok;
        total.answers += row->answers;
        total.tokens_in += row->tokens_in;
        total.tokens_out += row->tokens_out;
        total.cost += row->cost;
        total.seconds += row->seconds;
        timed += row->speed > 0;
        logs += row->speed > 0 ? log(row->speed) : 0;
        for (int k = 0; k < row->failures.len; k++)
            for (int times = 0; times < row->failures.data[k].times; times++)
                add_failure(arena, &total, row->failures.data[k].code);
    }
    total.speed = timed ? exp(logs / timed) : 0;
    return total;
}

static bool seen_before(const StudyRow *rows, int at)
{
    for (int i = 0; i < at; i++)
        if (rows[i].mode == rows[at].mode && strcmp(rows[i].author, rows[at].author) == 0)
            return true;
    return false;
}

void study_table(Str *out, const StudyRow *rows, int n)
{
    str_printf(out, "%-24s %-16s %9s %7s %7s %8s %10s %10s %9s %9s %7s  %s\n", "author", "mode", "operators", "first", "right",
               "answers", "tokens in", "out", "cost $", "seconds", "speed", "failures");
    for (int i = 0; i < n; i++) {
        int all, first, ok;
        StudyRow total;

        if (seen_before(rows, i))
            continue;
        total = sum(out->arena, rows, n, &rows[i], &all, &first, &ok);
        str_printf(out, "%-24.60s %-16s %9d %5.0f %% %5.0f %% %8d %10lld %10lld %9.4f %9.1f %7s  ", total.author,
                   study_mode_name(total.mode), all, 100.0 * first / all, 100.0 * ok / all, total.answers,
                   (long long)total.tokens_in, (long long)total.tokens_out, total.cost, total.seconds,
                   total.speed > 0 ? arena_printf(out->arena, "%.2f", total.speed) : "-");
        put_failures(out, &total, " ");
        str_addc(out, '\n');
    }
}
