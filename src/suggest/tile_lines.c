/* tile_lines.c: a text in tile IR line by line. */
#include "suggest/tile_lines.h"

static const char WORD[] = WORD_LETTERS;
static const char DIGITS[] = "0123456789";

const char *lines_text(Suggester *s, int from, int to)
{
    return arena_strndup(s->arena, s->source->text + from, (size_t)(to - from));
}

/* ---- from line to line -------------------------------------------------------------------------- */

Span lines_at(const Suggester *s, int offset)
{
    int start = suggest_line_start(s, offset);

    return (Span){start, suggest_line_end(s, start)};
}

bool lines_next(const Suggester *s, Span *line)
{
    if ((size_t)line->end + 1 >= s->source->len)
        return false;
    *line = lines_at(s, line->end + 1);
    return true;
}

bool lines_before(const Suggester *s, Span *line)
{
    if (line->start == 0)
        return false;
    *line = lines_at(s, line->start - 1);
    return true;
}

Span lines_whole(Span line)
{
    return (Span){line.start, line.end + 1};
}

int lines_indent(const Suggester *s, Span line)
{
    return (int)strspn(s->source->text + line.start, " ");
}

const char *lines_said(Suggester *s, Span line)
{
    return lines_text(s, line.start + lines_indent(s, line), line.end);
}

bool lines_opens(const Suggester *s, Span line)
{
    const char *text = s->source->text;
    int end = line.end;

    while (end > line.start && text[end - 1] == ' ')
        end--;
    return end > line.start && text[end - 1] == '{';
}

Span lines_close(Suggester *s, Span line)
{
    int depth = lines_indent(s, line);
    Span close = line;

    if (lines_opens(s, line))
        while (lines_next(s, &close) && (lines_indent(s, close) > depth || close.end == close.start || lines_opens(s, close)))
            ;
    return close;
}

Span lines_kernel(Suggester *s, Span line)
{
    while (!word_begins(lines_said(s, line), "kernel") && lines_before(s, &line))
        ;
    return line;
}

/* ---- what a line says ----------------------------------------------------------------------------- */

bool lines_word(const Suggester *s, Span line, int at, Span *word)
{
    const char *text = s->source->text;

    while (at < line.end && text[at] != '%' && !letter_among(text[at], WORD))
        at++;
    if (at >= line.end || text[at] == '#')
        return false;
    *word = (Span){at, at + 1};
    word->end += (int)strspn(text + at + 1, WORD);
    if (letter_among(text[at], DIGITS)) /* the sizes of 32x16 are two numbers */
        word->end = at + (int)strspn(text + at, DIGITS);
    return word->end <= line.end;
}

/* What `%a.T` transposes is %a. */
static const char *value_at(Suggester *s, Span word)
{
    bool transposed = word.end - word.start > 3 && strncmp(s->source->text + word.end - 2, ".T", 2) == 0;

    return lines_text(s, word.start, word.end - (transposed ? 2 : 0));
}

Words lines_values(Suggester *s, Span line)
{
    Words words = {.n = 0};
    Span word;

    for (int at = line.start; lines_word(s, line, at, &word); at = word.end)
        if (s->source->text[word.start] == '%')
            words_add(&words, value_at(s, word));
    return words;
}

bool lines_says(Suggester *s, Span line, const char *value)
{
    Words words = lines_values(s, line);

    return text_among(words.data, words.n, value);
}

bool lines_defines(Suggester *s, Span line, const char *value)
{
    const char *text = lines_said(s, line), *equals = strstr(text, " = ");
    Span head = {line.start, equals ? line.start + lines_indent(s, line) + (int)(equals - text) : line.start};

    return *text == '%' && equals && lines_says(s, head, value);
}

const char *lines_value(Suggester *s, Span line, int n)
{
    Span word;

    for (int at = line.start; lines_word(s, line, at, &word); at = word.end)
        if (s->source->text[word.start] == '%' && n-- == 0)
            return value_at(s, word);
    return NULL;
}

bool lines_defining(Suggester *s, Span *line, const char *value, bool step(const Suggester *s, Span *line))
{
    while (step(s, line))
        if (lines_defines(s, *line, value))
            return true;
    return false;
}
