/* log.c: what a compiler said, as diagnostics at places of the answer.
 *
 *   answer.cu(12): error: identifier "S" is undefined
 *   tilewright_cute.cuh(411): error: static assertion failed with "..."
 *             detected during instantiation of "void tw::gemm<...>" at line 25 of answer.cu
 *   entries.cu(4): error: no instance of function template "scale_block" matches ...
 */
#include "foreign/foreign.h"

#include <stdlib.h>

enum { MOST_WORDS = 600 };

typedef struct Line {
    const char *text;
    size_t len;
} Line;

static Line line_at(const char *text)
{
    return (Line){text, strcspn(text, "\n")};
}

static const char *next_line(Line line)
{
    return line.text + line.len + (line.text[line.len] == '\n');
}

/* The error's text in "FILE(LINE): error: TEXT", also "catastrophic error" and "error #20: "; NULL:
 * the line is none. */
static const char *error_text(Line line, Line *file, int *number)
{
    const char *end = line.text + line.len, *mark = NULL;

    for (const char *p = line.text; p + 2 < end && !mark; p++)
        if (*p == '(' && p[1] >= '0' && p[1] <= '9')
            mark = p;
    if (!mark || *line.text == ' ')
        return NULL;
    *file = (Line){line.text, (size_t)(mark - line.text)};
    *number = (int)strtol(mark + 1, NULL, 10);
    mark = memchr(mark, ')', (size_t)(end - mark));
    mark = mark ? strstr(mark, "error") : NULL;
    if (!mark || mark >= end)
        return NULL;
    mark += strlen("error");
    while (mark < end && *mark != ':')
        mark++;
    return mark + 1 < end ? mark + 1 + (mark[1] == ' ') : NULL;
}

static bool is_file(Line file, const char *name)
{
    size_t n = strlen(name);

    return file.len >= n && memcmp(file.text + file.len - n, name, n) == 0;
}

/* The line of the answer that asked for what failed, in the lines that belong to an error: they are
 * indented. The last one that names the answer is the outermost. */
static int asked_from(const char *text)
{
    static const char at[] = " at line ";
    int found = 0;

    for (Line line = line_at(text); line.len && *line.text == ' '; line = line_at(next_line(line))) {
        for (const char *p = strstr(line.text, at); p && p < line.text + line.len; p = strstr(p + 1, at)) {
            char *end;
            int number = (int)strtol(p + sizeof at - 1, &end, 10);

            if (!found && strncmp(end, " of \"" FOREIGN_ANSWER, strlen(" of \"" FOREIGN_ANSWER)) == 0)
                found = number;
            if (!found && strncmp(end, " of " FOREIGN_ANSWER, strlen(" of " FOREIGN_ANSWER)) == 0)
                found = number;
        }
    }
    return found;
}

/* A line without the blanks round it. */
static Span line_span(const Source *answer, int number)
{
    const char *text = answer->text;
    size_t from, to;

    for (int i = 1; i < number && *text; i++)
        text = next_line(line_at(text));
    from = (size_t)(text - answer->text);
    to = from + strcspn(text, "\n");
    while (from < to && (answer->text[from] == ' ' || answer->text[from] == '\t'))
        from++;
    while (to > from && (answer->text[to - 1] == ' ' || answer->text[to - 1] == '\r'))
        to--;
    return (Span){(int)from, (int)to};
}

static void add(const Source *answer, Diags *diags, Line file, int number, const char *message, size_t len, const char *more)
{
    bool own = is_file(file, FOREIGN_ANSWER);
    int from = own ? number : asked_from(more);
    Diag *diag;

    len = len > MOST_WORDS ? MOST_WORDS : len;
    diag = diag_add(diags, TW1051, from ? line_span(answer, from) : (Span){0, 0}, "%.*s", (int)len, message);
    if (!own && !from)
        diag->source = NULL;
    if (is_file(file, FOREIGN_ENTRIES))
        diag_note(diags, diag, "an entry that is written for you calls the block function that the answer defines, by its name, "
                               "with the template argument Wide and the parameters that the task gives");
    else if (!own)
        diag_note(diags, diag, "found in %.*s, line %d, which this asks for", (int)file.len, file.text, number);
}

static bool same_as_before(const Diags *diags, int before)
{
    const Diag *last = &diags->list.data[diags->list.len - 1];

    for (int i = before; i + 1 < diags->list.len; i++) {
        const Diag *other = &diags->list.data[i];

        if (other->span.start == last->span.start && strcmp(other->message, last->message) == 0)
            return true;
    }
    return false;
}

void foreign_read_log(const Source *answer, const char *log, Diags *diags)
{
    int before = diags->list.len;

    diags->source = answer;
    for (const char *at = log; *at && !diags->full;) {
        Line line = line_at(at), file;
        int number;
        const char *message = error_text(line, &file, &number);

        at = next_line(line);
        if (!message)
            continue;
        add(answer, diags, file, number, message, (size_t)(line.text + line.len - message), at);
        if (diags->list.len > before + 1 && same_as_before(diags, before)) { /* once for each entry */
            diags->list.len--;
            diags->errors--;
        }
    }
    if (diags->list.len == before)
        diag_add(diags, TW1051, (Span){0, 0}, "%.*s", MOST_WORDS, *log ? log : "the compiler failed and did not say why")->source = NULL;
}
