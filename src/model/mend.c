/* mend.c: JSON from servers that cut characters. A token may end within a character, so that an event holds
 * half of a surrogate pair (`\ud83d`), or some of the bytes of UTF-8. Neither is JSON; each becomes U+FFFD, as
 * other servers write it themselves. */
#include "model/wire.h"

static const char LOST[] = "\xef\xbf\xbd";

/* Whether text begins with an escape `\udNxx` where N is one of the digits. */
static bool is_half(const char *text, size_t len, const char *digits)
{
    return len >= 6 && text[0] == '\\' && text[1] == 'u' && (text[2] == 'd' || text[2] == 'D') && text[3] &&
           strchr(digits, text[3]);
}

/* An escape: its length, and whether it is half of a pair. */
static size_t escape(const char *text, size_t len, bool *half)
{
    bool high = is_half(text, len, "89abAB"), low = is_half(text, len, "cdefCDEF");

    if (high && is_half(text + 6, len - 6, "cdefCDEF"))
        return 12;
    *half = high || low;
    return *half ? 6 : len < 2 ? len : 2;
}

const char *json_mended(Arena *arena, const char *text, size_t *len)
{
    Str out = str_new(arena);

    text = arena_strndup(arena, text, *len); /* with a zero behind it */
    for (size_t at = 0, n; at < *len; at += n) {
        bool lost = false;

        n = text[at] == '\\' ? escape(text + at, *len - at, &lost) : (size_t)utf8_length(text + at);
        if (n == 0)
            lost = true, n = 1;
        if (lost) str_add(&out, LOST);
        else str_addn(&out, text + at, n);
    }
    *len = out.len;
    return str_text(&out);
}
