/* guard.c: the text of an answer, before a compiler sees any of it.
 *
 * No line of an answer reaches the preprocessor. Comments become blanks, includes that
 * are allowed are taken out (foreign_frame writes them anew), `#pragma unroll` becomes
 * CuTe's word for it; after that there is no `#` left, nor anything that the language
 * has for one (`%:`, `??=`, `\x23`, `_Pragma`), nor a way to join lines and literals to
 * one. There is no assembler either, for PTX has directives of its own.
 *
 * Vocabulary
 *   literal   a string or a character; only the escapes of ESCAPES may stand in it
 */
#include "foreign/foreign.h"

static const char ESCAPES[] = "nt0\"'\\";

typedef struct Guard {
    Arena *arena;
    const Source *answer;
    char *text;
    size_t at, len;
    bool line_begun; /* something but blanks stands on the line before `at` */
    ForeignText *clean;
    Diags *diags;
} Guard;

/* ---- words ----------------------------------------------------------------------------- */

static const struct {
    const char *word, *why;
} refused[] = {
    {"asm", "say it in C++: the header and CuTe have the target's instructions"},
    {"__asm", "say it in C++: the header and CuTe have the target's instructions"},
    {"__asm__", "say it in C++: the header and CuTe have the target's instructions"},
    {"_Pragma", "CUTE_UNROLL and CUTE_NO_UNROLL stand before loops"},
    {"__pragma", "CUTE_UNROLL and CUTE_NO_UNROLL stand before loops"},
    {"__has_include", "what may be included is there"},
    {"__has_include_next", "what may be included is there"},
    {"__has_embed", "no file is read"},
    {"import", "there are no modules"},
    {"module", "there are no modules; as a name, take another"},
    {"export", "there are no modules"},
    {"__global__", "the entries are written for you; define the __device__ function that they call"},
    {"__host__", "nothing runs on the host"},
    {"__managed__", "memory is what the arguments point to"},
    {"__attribute__", "CUTE_DEVICE, __forceinline__ and alignas are there"},
    {"__attribute", "CUTE_DEVICE, __forceinline__ and alignas are there"},
    {"__declspec", "CUTE_DEVICE, __forceinline__ and alignas are there"},
    {"printf", "nobody reads what a kernel prints"},
    {"malloc", "memory is what the arguments point to, and shared memory"},
    {"free", "memory is what the arguments point to, and shared memory"},
    {"clock", "a kernel has no use for the time"},
    {"clock64", "a kernel has no use for the time"},
    {"__clock", "a kernel has no use for the time"},
    {"__clock64", "a kernel has no use for the time"},
    {"__globaltimer", "a kernel has no use for the time"},
    {"__nanosleep", "a kernel has no use for the time"},
};

/* What may be included: a name, or all below a folder. */
static const struct {
    const char *name;
    bool kept; /* else our header has it already */
} headers[] = {
    {"cute/", true},          {"cutlass/", true},       {"tilewright_cute.cuh", false}, {"cuda_fp16.h", false},
    {"cuda_bf16.h", false},   {"cuda_fp8.h", false},    {"cuda_runtime.h", false},      {"cuda.h", false},
    {"cstdint", false},       {"stdint.h", false},      {"cmath", false},               {"math.h", false},
};

/* "cute/..., cutlass/..., cuda_fp16.h, ...": what an answer may include. */
static const char *list_headers(Arena *arena)
{
    Str out = str_new(arena);

    for (size_t i = 0; i < TW_COUNT(headers); i++)
        str_printf(&out, "%s%s%s", i ? ", " : "", headers[i].name, headers[i].name[strlen(headers[i].name) - 1] == '/' ? "..." : "");
    return str_text(&out);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

/* ---- saying so --------------------------------------------------------------------------- */

static Diag *say(Guard *g, DiagCode code, size_t from, size_t to, const char *what)
{
    return diag_add(g->diags, code, (Span){(int)from, (int)to}, "%s", what);
}

static void say_why(Guard *g, DiagCode code, size_t from, size_t to, const char *what, const char *why)
{
    diag_note(g->diags, say(g, code, from, to, what), "%s", why);
}

static char next(const Guard *g, size_t n)
{
    return g->at + n < g->len ? g->answer->text[g->at + n] : '\0';
}

static void blank(Guard *g, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (g->text[i] != '\n')
            g->text[i] = ' ';
}

/* ---- what joins lines, and other ways to write a sign ------------------------------------- */

static bool joins_lines(const char *text, size_t at, size_t len)
{
    at++;
    while (at < len && is_blank(text[at]))
        at++;
    return at == len || text[at] == '\n';
}

/* Before anything else is looked at, for the language does so as well. */
static void find_disguises(Guard *g)
{
    const char *text = g->answer->text;

    for (size_t i = 0; i < g->len; i++) {
        if (text[i] == '\\' && joins_lines(text, i, g->len))
            say_why(g, TW1049, i, i + 1, "a backslash that joins lines", "write the line as one");
        if (text[i] == '?' && i + 2 < g->len && text[i + 1] == '?' && strchr("=/'()!<>-", text[i + 2]) && text[i + 2])
            say_why(g, TW1049, i, i + 3, "a trigraph", "write the sign itself");
    }
}

/* ---- comments and literals ------------------------------------------------------------------ */

static void skip_line_comment(Guard *g)
{
    size_t from = g->at;

    while (g->at < g->len && g->answer->text[g->at] != '\n')
        g->at++;
    blank(g, from, g->at);
}

static void skip_block_comment(Guard *g)
{
    size_t from = g->at;
    const char *end = strstr(g->answer->text + g->at + 2, "*/");

    g->at = end ? (size_t)(end - g->answer->text) + 2 : g->len;
    blank(g, from, g->at);
}

static void check_escape(Guard *g)
{
    char c = next(g, 1);

    if (!c || !strchr(ESCAPES, c))
        say_why(g, TW1050, g->at, g->at + 2, "an escape that is not allowed", "\\n, \\t and \\0 are, quotes and \\\\");
}

static void skip_literal(Guard *g)
{
    size_t from = g->at;
    char quote = next(g, 0);

    for (g->at++; g->at < g->len && next(g, 0) != quote && next(g, 0) != '\n'; g->at++) {
        if (next(g, 0) == '#' || (next(g, 0) == '%' && next(g, 1) == ':'))
            say(g, TW1050, g->at, g->at + 1, "a sign of the preprocessor within a literal");
        if (next(g, 0) != '\\')
            continue;
        check_escape(g);
        g->at++;
    }
    if (next(g, 0) != quote)
        say(g, TW1050, from, from + 1, "a literal that does not end on its line");
    g->at += next(g, 0) == quote;
}

/* ---- lines for the preprocessor ----------------------------------------------------------------- */

static bool is_path(const char *name)
{
    for (const char *p = name; *p; p++)
        if ((!is_letter(*p) && !is_digit(*p) && *p != '/' && *p != '.' && *p != '-') || (unsigned char)*p >= 0x80 ||
            *p == '$' || (p[0] == '.' && p[1] == '.') || (p[0] == '/' && p[1] == '/'))
            return false;
    return *name && *name != '/';
}

static bool may_include(Guard *g, const char *name)
{
    for (size_t i = 0; i < TW_COUNT(headers); i++) {
        size_t n = strlen(headers[i].name);
        bool folder = headers[i].name[n - 1] == '/';

        if (folder ? strncmp(name, headers[i].name, n) != 0 || !name[n] : strcmp(name, headers[i].name) != 0)
            continue;
        if (headers[i].kept)
            vec_push(g->arena, &g->clean->headers, name);
        return true;
    }
    return false;
}

/* What stands between <> or "" on a line of which nothing else follows; NULL: not that. */
static const char *included(Guard *g, const char *line)
{
    char close = *line == '<' ? '>' : *line == '"' ? '"' : '\0';
    const char *end = close ? strchr(line + 1, close) : NULL, *after = end ? end + 1 : NULL;

    while (after && is_blank(*after))
        after++;
    if (!after || (*after && strncmp(after, "//", 2) != 0 && strncmp(after, "/*", 2) != 0) || strstr(after, "*/"))
        return NULL;
    return arena_strndup(g->arena, line + 1, (size_t)(end - line - 1));
}

static void take_include(Guard *g, size_t from, size_t to, const char *rest)
{
    const char *name = included(g, rest);

    if (!name || !is_path(name) || !may_include(g, name))
        say_why(g, TW1049, from, to, name ? arena_printf(g->arena, "%s may not be included", name) : "an include of no header",
                arena_printf(g->arena, "these may: %s", list_headers(g->arena)));
}

/* CuTe's words take no more room than the lines that they stand for. */
static bool take_pragma(Guard *g, size_t from, const char *rest)
{
    const char *word = "CUTE_UNROLL";
    size_t n = strspn(rest, " \t"), digits;

    if (strncmp(rest + n, "once", 4) == 0 && !rest[n + 4 + strspn(rest + n + 4, " \t\r")])
        return true;
    if (strncmp(rest + n, "unroll", 6) != 0)
        return false;
    rest += n + 6;
    rest += strspn(rest, " \t(");
    digits = strspn(rest, "0123456789");
    if (digits == 1 && *rest == '1')
        word = "CUTE_NO_UNROLL";
    rest += digits;
    if (rest[strspn(rest, " \t\r)")] && strncmp(rest + strspn(rest, " \t\r)"), "//", 2) != 0)
        return false;
    memcpy(g->text + from, word, strlen(word));
    return true;
}

static bool begins(const char *text, const char *word)
{
    size_t n = strlen(word);

    return strncmp(text, word, n) == 0 && !is_letter(text[n]) && !is_digit(text[n]);
}

/* A `#` that begins a line. */
static void take_line(Guard *g)
{
    const char *text = g->answer->text;
    size_t from = g->at, to = from, end;
    const char *rest;

    while (to < g->len && text[to] != '\n')
        to++;
    end = to;
    while (end > from && is_blank(text[end - 1]))
        end--;
    rest = arena_strndup(g->arena, text + from + 1, end - from - 1);
    rest += strspn(rest, " \t");
    blank(g, from, to);
    g->at = to;
    if (begins(rest, "include"))
        take_include(g, from, end, rest + 7 + strspn(rest + 7, " \t"));
    else if (!begins(rest, "pragma") || !take_pragma(g, from, rest + 6))
        say_why(g, TW1049, from, end, "a line for the preprocessor",
                "constexpr, templates and `if constexpr` do without; #include and #pragma unroll are all that may stand there");
}

/* ---- everything else --------------------------------------------------------------------------- */

static void check_word(Guard *g, size_t from)
{
    const char *text = g->answer->text;
    size_t n = g->at - from;

    for (size_t i = 0; i < TW_COUNT(refused); i++)
        if (strlen(refused[i].word) == n && memcmp(text + from, refused[i].word, n) == 0)
            say_why(g, TW1050, from, g->at, arena_printf(g->arena, "`%s` in a kernel", refused[i].word), refused[i].why);
    if (next(g, 0) == '"' && text[g->at - 1] == 'R')
        say(g, TW1050, from, g->at + 1, "a raw string");
}

static void skip_word(Guard *g)
{
    size_t from = g->at;

    while (is_letter(next(g, 0)) || is_digit(next(g, 0)))
        g->at++;
    check_word(g, from);
}

/* 1'000'000 has quotes that begin nothing. */
static void skip_number(Guard *g)
{
    while (is_letter(next(g, 0)) || is_digit(next(g, 0)) || next(g, 0) == '.' ||
           (next(g, 0) == '\'' && (is_letter(next(g, 1)) || is_digit(next(g, 1)))))
        g->at++;
}

static void check_sign(Guard *g)
{
    char c = next(g, 0);

    if (c == '#' || (c == '%' && next(g, 1) == ':'))
        say(g, TW1049, g->at, g->at + 1, "a sign of the preprocessor");
    if (c == '\\')
        say(g, TW1050, g->at, g->at + 1, "a backslash outside of a literal");
    g->at++;
}

static void take_token(Guard *g)
{
    char c = next(g, 0);
    bool first = !g->line_begun;

    if (c == '\n' || is_blank(c)) {
        g->line_begun &= c != '\n';
        g->at++;
        return;
    }
    if (c == '/' && next(g, 1) == '/') {
        skip_line_comment(g);
        return;
    }
    if (c == '/' && next(g, 1) == '*') {
        skip_block_comment(g);
        return;
    }
    g->line_begun = true;
    if (c == '#' && first)
        take_line(g);
    else if (is_letter(c))
        skip_word(g);
    else if (is_digit(c) || (c == '.' && is_digit(next(g, 1))))
        skip_number(g);
    else if (c == '"' || c == '\'')
        skip_literal(g);
    else
        check_sign(g);
}

bool foreign_guard(Arena *arena, const Source *answer, ForeignText *clean, Diags *diags)
{
    Guard g = {.arena = arena, .answer = answer, .text = arena_strndup(arena, answer->text, answer->len),
               .len = answer->len, .clean = clean, .diags = diags};
    int before = diags->errors;

    *clean = (ForeignText){.text = g.text};
    diags->source = answer;
    find_disguises(&g);
    while (g.at < g.len && !diags->full)
        take_token(&g);
    return diags->errors == before;
}

const char *foreign_frame(Arena *arena, const ForeignText *clean, const char *header_name, const char *space,
                          const char *entries)
{
    Str out = str_new(arena);

    str_printf(&out, "#include \"%s\"\n", header_name);
    for (int i = 0; i < clean->headers.len; i++)
        str_printf(&out, "#include <%s>\n", clean->headers.data[i]);
    if (space)
        str_printf(&out, "using namespace %s;\n", space);
    str_printf(&out, "#line 1 \"%s\"\n%s\n#line 1 \"%s\"\n%s", FOREIGN_ANSWER, clean->text, FOREIGN_ENTRIES, entries);
    return str_text(&out);
}
