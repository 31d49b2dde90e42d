/* sse.c: server-sent events, as the HTML standard has them ("Interpreting an event
 * stream"). */
#include "model/sse.h"

Sse sse_new(Arena *arena, SseTake *take, void *user)
{
    return (Sse){.take = take, .user = user, .line = str_new(arena), .type = str_new(arena),
                 .data = str_new(arena)};
}

static void clear(Str *s)
{
    s->len = 0;
    if (s->data)
        s->data[0] = '\0';
}

/* Events without data are none. */
static bool dispatch(Sse *sse)
{
    bool go_on = true;

    if (sse->has_data)
        go_on = sse->take(sse->user, str_text(&sse->type), str_text(&sse->data), sse->data.len);
    sse->has_data = false;
    clear(&sse->type);
    clear(&sse->data);
    return go_on;
}

static void field(Sse *sse, const char *name, size_t name_len, const char *value, size_t len)
{
    if (name_len == 4 && memcmp(name, "data", 4) == 0) {
        if (sse->has_data)
            str_addc(&sse->data, '\n');
        str_addn(&sse->data, value, len);
        sse->has_data = true;
    } else if (name_len == 5 && memcmp(name, "event", 5) == 0) {
        clear(&sse->type);
        str_addn(&sse->type, value, len);
    }
}

static bool end_line(Sse *sse)
{
    const char *line = str_text(&sse->line), *colon;
    size_t len = sse->line.len, name_len;

    if (len == 0)
        return dispatch(sse);
    colon = memchr(line, ':', len);
    name_len = colon ? (size_t)(colon - line) : len;
    if (name_len > 0) {
        size_t from = name_len + (colon ? 1 : 0);

        from += from < len && line[from] == ' ';
        field(sse, line, name_len, line + from, len - from);
    }
    clear(&sse->line);
    return true;
}

/* A line is whole once its end was seen, and a byte order mark once it may be one. */
static void drop_mark(Sse *sse)
{
    if (sse->started)
        return;
    sse->started = true;
    if (sse->line.len >= 3 && memcmp(sse->line.data, "\xef\xbb\xbf", 3) == 0) {
        sse->line.len -= 3;
        memmove(sse->line.data, sse->line.data + 3, sse->line.len + 1);
    }
}

static size_t line_length(const char *bytes, size_t len)
{
    size_t n = 0;

    while (n < len && bytes[n] != '\n' && bytes[n] != '\r')
        n++;
    return n;
}

bool sse_feed(Sse *sse, const char *bytes, size_t len)
{
    while (len) {
        size_t n;

        if (sse->after_cr && *bytes == '\n') {
            bytes++;
            len--;
        }
        sse->after_cr = false;
        n = line_length(bytes, len);
        str_addn(&sse->line, bytes, n);
        if (n == len)
            return true;
        sse->after_cr = bytes[n] == '\r';
        bytes += n + 1;
        len -= n + 1;
        drop_mark(sse);
        if (!end_line(sse))
            return false;
    }
    return true;
}

bool sse_end(Sse *sse)
{
    drop_mark(sse);
    if (sse->line.len && !end_line(sse))
        return false;
    return dispatch(sse);
}
