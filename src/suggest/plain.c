/* plain.c: a formula without what Python's array languages write and tiles need not.
 *
 *   acc / l[:, None]                   acc / l                 sizes of 1 fit any
 *   dot(p.to(float16), v)              dot(p, v)               operands have the type that a product takes
 *   where(a & b, s, -infinity(f32))    where(a and b, s, -inf) */
#include "suggest/forms.h"

/* Behind the bracket that closes what opens at a place; the place itself: nothing does. */
static int behind(const char *text, int at)
{
    int depth = 0;

    for (int i = at; text[i]; i++) {
        depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
        if (depth == 0)
            return i + 1;
    }
    return at;
}

/* `[:, None]`, `[None, :]`: how much of the text; 0: none. */
static int axes_of(const char *text)
{
    int end = *text == '[' ? behind(text, 0) : 0;
    bool none = false;

    for (int i = 1; i < end - 1; i++) {
        bool word = strncmp(text + i, "None", 4) == 0;

        if (!word && !strchr(":, ", text[i]))
            return 0;
        none |= word;
        i += word ? 3 : 0;
    }
    return none ? end : 0;
}

/* `.to(T)`, `.astype(T)`, `.unsqueeze(-1)` */
static int kept_of(const char *text)
{
    static const char *const words[] = {".to(", ".astype(", ".type(", ".unsqueeze(", ".expand_dims(", ".contiguous(", ".float(", ".half("};

    for (size_t i = 0; i < TW_COUNT(words); i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return behind(text, (int)strlen(words[i]) - 1);
    return 0;
}

/* `infinity(T)`, `float(inf)` */
static int infinity_of(const char *text)
{
    static const char *const words[] = {"infinity(", "float(inf)", "float(+inf)", "float(infinity)"};

    for (size_t i = 0; i < TW_COUNT(words); i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return behind(text, (int)strcspn(text, "("));
    return 0;
}

const char *formula_plain(Suggester *s, const char *text)
{
    Str out = str_new(s->arena);

    for (int at = 0; text[at];) {
        int left = axes_of(text + at) + kept_of(text + at), infinite = at == 0 || !is_name_char(text[at - 1]) ? infinity_of(text + at) : 0;
        bool least = strncmp(text + at, "float(-inf)", 11) == 0;

        if (left) {
            at += left;
        } else if (infinite || least) {
            str_add(&out, least ? "-inf" : "inf");
            at += least ? 11 : infinite;
        } else if ((text[at] == '&' || text[at] == '|') && text[at + 1] == ' ' && at > 0 && text[at - 1] == ' ') {
            str_add(&out, text[at++] == '&' ? "and" : "or");
        } else {
            str_addc(&out, text[at++]);
        }
    }
    return str_text(&out);
}
