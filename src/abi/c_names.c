/* c_names.c: TL's names as C identifiers, and its texts as C strings and comments.
 *
 * A dimension may be called `long`, a tensor `class`, a message may hold the end
 * of a comment: whatever stands in a definition, the generated header compiles.
 */
#include "abi/c_names.h"

/* Words that C, C++, or their headers in the compilers' default modes take. */
/* clang-format off */
static const char *const reserved[] = {
    "EOF", "NULL", "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor",
    "bool", "break", "case", "catch", "char", "class", "compl", "concept", "const",
    "const_cast", "constexpr", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern", "false", "float",
    "for", "friend", "goto", "if", "inline", "int", "linux", "long", "mutable", "namespace",
    "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
    "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return",
    "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch",
    "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename",
    "typeof", "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
};
/* clang-format on */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_reserved(const char *name)
{
    return name[0] == '_' || text_among(reserved, (int)TW_COUNT(reserved), name);
}

char *c_identifier(Arena *arena, const char *name)
{
    Str s = str_new(arena);
    if (!is_letter(name[0]))
        str_addc(&s, 'x');
    for (const char *at = name; *at; at++)
        str_addc(&s, is_letter(*at) || (*at >= '0' && *at <= '9') ? *at : '_');
    if (name[0] == '_')
        return arena_printf(arena, "x%s", str_text(&s));
    return is_reserved(str_text(&s)) ? arena_printf(arena, "%s_", str_text(&s)) : s.data;
}

const char *c_unique(Arena *arena, const char *name, const char *const *taken, int n)
{
    const char *unique = c_identifier(arena, name);
    for (int i = 0; i < n; i++) {
        if (strcmp(taken[i], unique) == 0) {
            unique = arena_printf(arena, "%s_", unique);
            i = -1;
        }
    }
    return unique;
}

char *c_upper(Arena *arena, const char *name)
{
    char *upper = arena_strdup(arena, name);
    for (char *at = upper; *at; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    return upper;
}

/* ISO C promises string literals of 4095 characters. */
enum { LONGEST_STRING = 900 };

void c_string(Str *out, const char *text)
{
    str_addc(out, '"');
    for (size_t i = 0; text[i] && i < LONGEST_STRING; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c == '?') /* ?: no trigraphs */
            str_printf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            str_printf(out, "\\%03o", c);
        else
            str_addc(out, (char)c);
    }
    str_addc(out, '"');
}

void c_comment(Str *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        str_addc(out, c < 0x20 || c == 0x7f ? ' ' : *at);
        if ((at[0] == '*' && at[1] == '/') || (at[0] == '/' && at[1] == '*'))
            str_addc(out, ' ');
    }
}
