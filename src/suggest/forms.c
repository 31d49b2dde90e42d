/* forms.c: text with holes, to find out what a line of another language says. */
#include "suggest/forms.h"

#include <ctype.h>
#include <stdlib.h>

static bool same_letter(char a, char b)
{
    return (a | ('A' <= a && a <= 'Z' ? 0x20 : 0)) == (b | ('A' <= b && b <= 'Z' ? 0x20 : 0));
}

static int skip_blanks(const char *text, int at)
{
    while (text[at] == ' ' || text[at] == '\t')
        at++;
    return at;
}

static bool match(const char *form, const char *text, int at, Holes *holes);

static bool fill(const char *form, const char *text, Span span, Holes *holes)
{
    Span *hole = &holes->at[(unsigned char)*form], old = *hole;
    int len = span.end - span.start;

    while (len > 0 && text[span.start + len - 1] == ' ')
        len--;
    span.end = span.start + len;
    if (len <= 0 || (old.end > old.start && (old.end - old.start != len || strncmp(text + old.start, text + span.start, (size_t)len) != 0)))
        return false;
    *hole = span;
    if (match(form + 1, text, skip_blanks(text, span.end), holes))
        return true;
    *hole = old;
    return false;
}

/* Any text that is not cut within brackets, the shortest first. */
static bool match_text(const char *form, const char *text, int at, Holes *holes)
{
    int depth = 0;

    for (int end = at; text[end];) {
        char c = text[end++];

        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (depth < 0)
            return false;
        if (depth == 0 && fill(form, text, (Span){at, end}, holes))
            return true;
    }
    return false;
}

static bool match(const char *form, const char *text, int at, Holes *holes)
{
    if (*form == ' ')
        return match(form + 1, text, skip_blanks(text, at), holes);
    if (!*form)
        return !text[skip_blanks(text, at)];
    if (*form == '$' && form[1] >= 'A' && form[1] <= 'Z')
        return match_text(form + 1, text, skip_blanks(text, at), holes);
    if (*form == '$') {
        int start = at = skip_blanks(text, at);
        while (is_name_char(text[at]))
            at++;
        return at > start && !(text[start] >= '0' && text[start] <= '9') && fill(form + 1, text, (Span){start, at}, holes);
    }
    if (!is_name_char(*form)) {
        at = skip_blanks(text, at);
        return text[at] == *form && match(form + 1, text, at + 1, holes);
    }
    for (; is_name_char(*form); form++, at++)
        if (!same_letter(*form, text[at]))
            return false;
    return !is_name_char(text[at]) && match(form, text, at, holes);
}

bool form_match(const char *form, const char *text, Holes *holes)
{
    *holes = (Holes){0};
    return match(form, text, 0, holes);
}

const char *form_hole(Suggester *s, const char *text, const Holes *holes, char name)
{
    Span hole = holes->at[(unsigned char)name];

    return arena_strndup(s->arena, text + hole.start, (size_t)(hole.end - hole.start));
}

const char *form_filled(Suggester *s, const char *to, const char *text, const Holes *holes)
{
    Str out = str_new(s->arena);

    for (; *to; to++) {
        const Span *hole = *to == '$' ? &holes->at[(unsigned char)to[1]] : NULL;

        if (hole)
            str_addn(&out, text + hole->start, (size_t)(hole->end - hole->start));
        else
            str_addc(&out, *to);
        to += hole != NULL;
    }
    return str_text(&out);
}

/* ---- the line at hand ---------------------------------------------------------------------------- */

/* Without blanks round it, a comment behind it, and what ends a line elsewhere. */
Span form_line(const Suggester *s)
{
    const char *text = s->source->text;
    Span span = {skip_blanks(text, suggest_line_start(s, s->diag->span.start)), 0};

    for (span.end = span.start; (size_t)span.end < s->source->len && !strchr("\n#", text[span.end]);)
        span.end++;
    while (span.end > span.start && strchr(" \t\r;:{", text[span.end - 1]))
        span.end--;
    return span;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Where a number stops that C ends by a letter, 0.5f, 2.f, 16u; the place itself: it is none. */
static int number_end(const char *text, int at)
{
    char *end;

    if (!isdigit((unsigned char)text[at + (text[at] == '.')]) || (text[at + 1] | 0x20) == 'x')
        return at;
    strtod(text + at, &end);
    if (!*end || !strchr("fFuU", *end) || is_name_char(end[1]))
        return at;
    return (int)(end - text);
}

/* Names of modules, types of counters and quotes say nothing; a rounded quotient has one name. */
const char *form_plain(Suggester *s, Span span)
{
    static const struct {
        const char *from, *to;
    } words[] = {{"T.", ""}, {"tl.", ""}, {"tilelang.", ""}, {"triton.", ""}, {"torch.", ""}, {"nn.functional.", ""}, {"jnp.", ""}, {"wmma::", ""}, {"F.softmax", "softmax"}, {"F.relu", "relu"}, {"F.silu", "silu"}, {"F.gelu", "gelu"}, {"math.", ""},
                                 {"np.", ""}, {"cute.", ""}, {"int ", ""}, {"const ", ""}, {"auto ", ""}, {"ceildiv(", "cdiv("},
                                 {"ceil_div(", "cdiv("}};
    const char *text = s->source->text;
    Str out = str_new(s->arena);
    bool within = false; /* a module: its own may follow, as in `tl.math.exp` */

    for (int at = span.start; at < span.end;) {
        bool starts = at == 0 || within || (!is_name_char(text[at - 1]) && text[at - 1] != '.');
        size_t i = starts ? 0 : TW_COUNT(words);

        while (i < TW_COUNT(words) && !begins(text + at, words[i].from))
            i++;
        if (i < TW_COUNT(words)) {
            str_add(&out, words[i].to);
            at += (int)strlen(words[i].from);
            within = text[at - 1] == '.';
            continue;
        }
        within = false;
        int number = starts ? number_end(text, at) : at;
        if (number > at) {
            str_addn(&out, text + at, (size_t)(number - at));
            at = number + 1; /* without what ends it */
            continue;
        }
        if (text[at] != '"' && text[at] != '\'')
            str_addc(&out, text[at]);
        at++;
    }
    return str_text(&out);
}
