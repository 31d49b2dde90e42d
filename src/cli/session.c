/* session.c: what commands share: reading, writing, complaining, progress. */
#include "cli/cli.h"

#include <stdarg.h>
#include <unistd.h>

static const double PROGRESS_AFTER = 2.0; /* seconds */

/* ---- reading and writing -------------------------------------------------------- */

Source *session_read_path(Session *s, const char *path)
{
    const char *error;
    Source *source = source_read(s->arena, path, &error);

    if (!source)
        session_fail(s, EXIT_LACKS, "%s", error);
    return source;
}

Source *session_read(Session *s, int file)
{
    return session_read_path(s, file < s->options.files.len ? s->options.files.data[file] : NULL);
}

int session_write_path(Session *s, const char *path, const char *text, size_t len)
{
    const char *error;

    session_progress_end(s);
    error = file_write(s->arena, path, text, len);
    return error ? session_fail(s, EXIT_LACKS, "%s", error) : EXIT_DONE;
}

int session_write(Session *s, const char *text, size_t len)
{
    return session_write_path(s, s->options.output, text, len);
}

int session_write_text(Session *s, const char *member, Str *text)
{
    Str out = str_new(s->arena);

    if (!s->options.json)
        return session_write(s, str_text(text), text->len);
    str_printf(&out, "{\"ok\":true,\"%s\":", member);
    str_json(&out, str_text(text));
    str_add(&out, "}\n");
    return session_write(s, out.data, out.len);
}

int session_write_json(Session *s, Str *object)
{
    str_add(object, ",\"diagnostics\":");
    diags_json(s->diags, object);
    str_add(object, "}\n");
    return session_write(s, object->data, object->len);
}

/* ---- complaining ---------------------------------------------------------------- */

int session_diagnose(Session *s)
{
    const Diags *diags = s->diags;
    int status = diags->errors ? EXIT_WRONG : EXIT_DONE;

    session_progress_end(s);
    if (!diags->list.len)
        return status;
    if (s->options.json && status) {
        Str out = str_new(s->arena);
        const char *error;

        str_add(&out, "{\"ok\":false,\"diagnostics\":");
        diags_json(diags, &out);
        str_add(&out, "}\n");
        error = file_write(s->arena, NULL, out.data, out.len);
        if (error)
            fprintf(stderr, "tw: %s\n", error);
    } else {
        diags_print(diags, stderr, s->colour_err);
    }
    return status;
}

static void put_prefix(const Session *s)
{
    fputs(s->colour_err ? "tw: \033[1;31merror:\033[0m " : "tw: error: ", stderr);
}

/* The complaint for a program that reads --json. */
static void put_json_error(Session *s, const char *text)
{
    Str out = str_new(s->arena);

    str_add(&out, "{\"ok\":false,\"error\":");
    str_json(&out, text);
    str_add(&out, "}\n");
    file_write(s->arena, NULL, out.data, out.len);
}

int session_usage(Session *s, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = arena_vprintf(s->arena, fmt, args);
    va_end(args);
    put_prefix(s);
    fputs(text, stderr);
    if (s->options.json)
        put_json_error(s, text);
    if (s->command)
        fprintf(stderr, "\nsee 'tw %s --help'\n", s->command);
    else
        fputs("\nsee 'tw --help'\n", stderr);
    return EXIT_USAGE;
}

int session_fail(Session *s, int status, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = arena_vprintf(s->arena, fmt, args);
    va_end(args);
    session_progress_end(s);
    put_prefix(s);
    fprintf(stderr, "%s\n", text);
    if (s->options.json)
        put_json_error(s, text);
    return status;
}

void session_warn(Session *s, const char *fmt, ...)
{
    va_list args;

    session_progress_end(s);
    fputs(s->colour_err ? "tw: \033[1;35mwarning:\033[0m " : "tw: warning: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

void session_progress(Session *s, const char *fmt, ...)
{
    va_list args;

    if (clock_seconds() - s->started < PROGRESS_AFTER || !isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fflush(stderr);
    s->progress = true;
}

void session_progress_end(Session *s)
{
    if (!s->progress)
        return;
    fputs("\r\033[K", stderr);
    s->progress = false;
}

/* ---- memory ------------------------------------------------------------------------ */

/* Memory of an execution is dropped with it; only its complaint stays. */
void session_drop(Session *s, Arena *arena, const char **error)
{
    if (*error)
        *error = arena_strdup(s->arena, *error);
    arena_free(arena);
}

/* ---- text ------------------------------------------------------------------------ */

const char *nearest_name(const char *name, const char *const *names, int n)
{
    const char *best = NULL;
    int limit = strlen(name) <= 3 ? 1 : 2, least = limit + 1;

    for (int i = 0; i < n; i++) {
        int distance = text_distance(name, names[i], limit);

        if (distance < least) {
            least = distance;
            best = names[i];
        }
    }
    return best;
}

bool has_words(const char *word)
{
    return strchr(word, ' ') && word[strspn(word, " ")];
}

void put_title(Session *s, Str *out, const char *title)
{
    str_printf(out, s->colour_out ? "\033[1m%s\033[0m\n" : "%s\n", title);
}
