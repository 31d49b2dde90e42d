/* ptxas.c: runs ptxas and reads what it says of each entry. */
#include "cli/ptxas.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a program with its output and errors collected; the exit status, or -1
 * when it could not be run. */
static int collect(char *const *argv, Str *text)
{
    int ends[2], status;
    char chunk[4096];
    ssize_t n;
    pid_t child;

    if (pipe(ends) != 0)
        return -1;
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDONLY);

        if (null >= 0)
            dup2(null, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    while ((n = read(ends[0], chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            str_addn(text, chunk, (size_t)n);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *find_version(Arena *arena)
{
    char *argv[] = {"ptxas", "--version", NULL};
    Str text = str_new(arena);
    const char *at;

    if (collect(argv, &text) != 0)
        return NULL;
    at = strstr(str_text(&text), "release ");
    return at ? arena_strndup(arena, at + 8, strcspn(at + 8, ",\n")) : "unknown";
}

static int number_before(const char *line, const char *words)
{
    const char *at = strstr(line, words);

    if (!at)
        return 0;
    while (at > line && at[-1] == ' ')
        at--;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return atoi(at);
}

static int number_after(const char *line, const char *words)
{
    const char *at = strstr(line, words);

    return at ? atoi(at + strlen(words)) : 0;
}

/* "ptxas info : Compiling entry function 'NAME' for 'sm_80'", then a line with
 * the stack and the spills, then "Used N registers". */
static void read_line(Arena *arena, Ptxas *result, Str *messages, const char *line)
{
    const char *name = strstr(line, "Compiling entry function '");
    PtxasEntry *last;

    if (name) {
        PtxasEntry entry = {0};

        name = strchr(name, '\'') + 1;
        entry.entry = arena_strndup(arena, name, strcspn(name, "'"));
        vec_push(arena, &result->entries, entry);
        return;
    }
    if (strstr(line, "error") || strstr(line, "warning") || strstr(line, "fatal"))
        str_printf(messages, "%s\n", line);
    if (!result->entries.len)
        return;
    last = &result->entries.data[result->entries.len - 1];
    if (strstr(line, "bytes stack frame")) {
        last->stack = number_before(line, "bytes stack frame");
        last->spill_stores = number_before(line, "bytes spill stores");
        last->spill_loads = number_before(line, "bytes spill loads");
    }
    if (strstr(line, "Used "))
        last->registers = number_after(line, "Used ");
}

void ptxas_run(Arena *arena, const char *ptx_path, const char *target, Ptxas *result)
{
    char *argv[] = {"ptxas", arena_printf(arena, "-arch=%s", target), "-v", "-o", "/dev/null",
                    arena_strdup(arena, ptx_path), NULL};
    Str text = str_new(arena), messages = str_new(arena);

    *result = (Ptxas){.messages = ""};
    result->version = find_version(arena);
    result->found = result->version != NULL;
    if (!result->found)
        return;
    result->ok = collect(argv, &text) == 0;
    for (const char *at = str_text(&text); *at;) {
        size_t len = strcspn(at, "\n");

        read_line(arena, result, &messages, arena_strndup(arena, at, len));
        at += len + (at[len] == '\n');
    }
    result->messages = str_text(&messages);
}

void ptxas_json(Str *out, const Ptxas *result)
{
    if (!result->found) {
        str_add(out, "null");
        return;
    }
    str_printf(out, "{\"version\":\"%s\",\"ok\":%s,\"messages\":", result->version,
               result->ok ? "true" : "false");
    str_json(out, result->messages);
    str_add(out, ",\"entries\":[");
    for (int i = 0; i < result->entries.len; i++) {
        const PtxasEntry *e = &result->entries.data[i];

        str_add(out, i ? ",{\"entry\":" : "{\"entry\":");
        str_json(out, e->entry);
        str_printf(out, ",\"registers\":%d,\"stack\":%d,\"spill_stores\":%d,\"spill_loads\":%d}",
                   e->registers, e->stack, e->spill_stores, e->spill_loads);
    }
    str_add(out, "]}");
}
