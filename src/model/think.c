/* think.c: the text of an answer; takes what a model thought out of it.
 *
 *   <think>first the tiles</think>Copy Q ...   ->  "Copy Q ...", "first the tiles"
 *
 * Tags count where an answer begins with one: later ones may be what was asked for. A
 * template may have opened the tag in the prompt already: an answer that only closes it
 * was thought up to there. A thought that was never closed leaves no answer.
 */
#include "model/client.h"

static const char *const TAGS[] = {"think", "thinking", "thought", "reasoning"};

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

/* Behind <NAME> or </NAME> at text; NULL: another text stands there. */
static const char *behind_tag(const char *text, const char *name, bool closing)
{
    size_t len = strlen(name);

    if (*text++ != '<' || (closing && *text++ != '/'))
        return NULL;
    return strncmp(text, name, len) == 0 && text[len] == '>' ? text + len + 1 : NULL;
}

/* The first closing tag of that name; *end is set behind it. */
static const char *find_closing(const char *text, const char *name, const char **end)
{
    for (; (text = strchr(text, '<')); text++)
        if ((*end = behind_tag(text, name, true)))
            return text;
    return NULL;
}

static bool opens_inside(const char *from, const char *to, const char *name)
{
    for (; (from = strchr(from, '<')) && from < to; from++)
        if (behind_tag(from, name, false))
            return true;
    return false;
}

static void add_thought(Str *thoughts, const char *from, const char *to)
{
    from = skip_space(from);
    while (to > from && strchr(" \t\r\n", to[-1]))
        to--;
    if (to > from)
        str_printf(thoughts, "%s%.*s", thoughts->len ? "\n\n" : "", (int)(to - from), from);
}

/* One thought at the head of text; behind it, or NULL: there is none. */
static const char *take_thought(const char *text, bool first, Str *thoughts)
{
    for (size_t i = 0; i < TW_COUNT(TAGS); i++) {
        const char *inner = behind_tag(skip_space(text), TAGS[i], false), *end, *close;

        if (!inner && !first)
            continue;
        close = find_closing(inner ? inner : text, TAGS[i], &end);
        if (!inner && (!close || opens_inside(text, close, TAGS[i])))
            continue;
        if (!close)
            close = end = inner + strlen(inner);
        add_thought(thoughts, inner ? inner : text, close);
        return end;
    }
    return NULL;
}

void think_split(Arena *arena, const char *text, const char **answer, const char **reasoning)
{
    Str thoughts = str_new(arena);
    const char *at = text, *next;

    for (bool first = true; (next = take_thought(at, first, &thoughts)); first = false)
        at = next;
    *answer = at == text ? text : skip_space(at);
    *reasoning = str_text(&thoughts);
}

void text_add(Str *out, const char *bytes, size_t len)
{
    for (const char *end = bytes + len, *nul; bytes < end; bytes = nul + 1) {
        nul = memchr(bytes, '\0', (size_t)(end - bytes));
        if (!nul) {
            str_addn(out, bytes, (size_t)(end - bytes));
            return;
        }
        str_addn(out, bytes, (size_t)(nul - bytes));
        str_add(out, "\xef\xbf\xbd");
    }
}
