/* ptxas.c: texts being assembled, several at once. */
#include "assemble/assemble.h"
#include "assemble/child.h"

struct AsmJob {
    Arena *arena;
    AsmSpec spec;
    Child child;
    const char *in; /* what ptxas takes for the text's name */
    AsmResult result;
    bool ended;     /* the result stands */
};

static void fail(AsmJob *job, const char *problem)
{
    job->result.problem = problem;
    job->ended = true;
    child_drop(&job->child);
}

AsmJob *asm_start(Arena *arena, const AsmTool *tool, const AsmSpec *spec)
{
    AsmJob *job = arena_new_of(arena, AsmJob);
    const char *error;

    job->arena = arena;
    job->spec = *spec;
    job->result.log = "";
    child_init(&job->child);
    if (!child_files(arena, &job->child, spec->ptx, spec->len, &error)) {
        fail(job, error);
        return job;
    }
    job->in = child_file(arena, job->child.in);
    char *argv[] = {arena_strdup(arena, tool->path), arena_printf(arena, "-arch=%s", spec->target), "-v", "-o",
                    arena_strdup(arena, child_file(arena, job->child.out)), arena_strdup(arena, job->in), NULL};
    if (!child_start(arena, &job->child, argv, spec->limit > 0 ? spec->limit : ASM_LIMIT, &error))
        fail(job, error);
    return job;
}

/* The log with the text's own name in the place of the file that has none. */
static const char *rename_in(AsmJob *job, const char *log)
{
    Str out = str_new(job->arena);
    size_t len = strlen(job->in);

    while (*log) {
        const char *at = strstr(log, job->in);

        if (!at || (at[len] >= '0' && at[len] <= '9'))
            break;
        str_addn(&out, log, (size_t)(at - log));
        str_add(&out, job->spec.name ? job->spec.name : "PTX");
        log = at + len;
    }
    str_add(&out, log);
    return str_text(&out);
}

static const char *first_error(const AsmJob *job)
{
    const AsmNotes *notes = &job->result.notes;

    for (int i = 0; i < notes->len; i++)
        if (notes->data[i].kind == ASM_ERROR)
            return notes->data[i].text;
    return "ptxas failed and did not say why";
}

static void conclude(AsmJob *job)
{
    AsmResult *r = &job->result;
    Child *child = &job->child;
    size_t len;

    r->log = rename_in(job, child_read(job->arena, child->log, &len));
    r->seconds = child->ended - child->started;
    asm_read_log(job->arena, r->log, &r->entries, &r->notes);
    if (child->late)
        r->problem = arena_printf(job->arena, "ptxas took more than %g s and was ended", child->limit);
    else if (child->status != 0)
        r->problem = first_error(job);
    else
        r->cubin = child_read(job->arena, child->out, &r->bytes);
    if (r->cubin && r->bytes < 4)
        r->problem = "ptxas wrote no cubin";
    r->ok = !r->problem;
    job->ended = true;
    child_drop(child);
}

int asm_wait(AsmJob *const *jobs, int n, double seconds)
{
    Child *children[256] = {0};

    n = n < (int)TW_COUNT(children) ? n : (int)TW_COUNT(children);
    for (int i = 0; i < n; i++)
        children[i] = &jobs[i]->child;
    if (n == 0 || !child_wait(children, n, seconds))
        return -1;
    for (int i = 0; i < n; i++) {
        if (jobs[i]->child.pid)
            continue;
        if (!jobs[i]->ended)
            conclude(jobs[i]);
        return i;
    }
    return -1;
}

const AsmResult *asm_result(AsmJob *job)
{
    while (!job->ended)
        asm_wait(&job, 1, ASM_LIMIT);
    return &job->result;
}

void asm_cancel(AsmJob *job)
{
    if (!job->ended)
        fail(job, "it was cancelled");
}

/* ---- what came of it ---------------------------------------------------------------- */

const AsmEntry *asm_entry(const AsmResult *result, const char *name)
{
    for (int i = 0; i < result->entries.len; i++)
        if (strcmp(result->entries.data[i].name, name) == 0)
            return &result->entries.data[i];
    return NULL;
}

bool asm_clean(const AsmResult *result)
{
    for (int i = 0; i < result->entries.len; i++)
        if (result->entries.data[i].spill_stores || result->entries.data[i].spill_loads)
            return false;
    for (int i = 0; i < result->notes.len; i++)
        if (result->notes.data[i].kind == ASM_ADVISORY)
            return false;
    return result->ok;
}
