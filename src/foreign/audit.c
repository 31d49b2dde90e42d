/* audit.c: may this PTX be launched? Read as text, apart from what the emulator makes of it.
 *
 *   .visible .entry NAME(...) {...}   one that was asked for
 *   .extern .shared ...;              shared memory
 *   .const ...;                       numbers that nobody can change
 *   .global ...;                      left out where no entry names it: constants of headers;
 *                                     else state, which the next launch would find
 *   .func, call, %clock, ...          refused
 *
 * (PTX ISA, "Syntax", "State Spaces", "Special Registers".)
 */
#include "foreign/foreign.h"

#include <stdlib.h>

typedef struct Piece {
    const char *from, *to;
} Piece;

typedef struct Audit {
    Arena *arena;
    const char *const *entries;
    VEC(Piece) kept;      /* in order */
    VEC(Piece) variables; /* of them and others: .global statements */
    VEC(Piece) bodies;
    unsigned found;       /* of the entries, as bits */
    Diags *diags;
} Audit;

static bool is_wordy(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%' || c == '.';
}

static const char *skip(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (strncmp(at, "//", 2) == 0)
            at += strcspn(at, "\n");
        else if (strncmp(at, "/*", 2) == 0)
            at = strstr(at + 2, "*/") ? strstr(at + 2, "*/") + 2 : at + strlen(at);
        else
            return at;
    }
}

static Piece word_at(const char *at)
{
    const char *to = at;

    while (is_wordy(*to))
        to++;
    return (Piece){at, to};
}

static bool is(Piece word, const char *text)
{
    return (size_t)(word.to - word.from) == strlen(text) && memcmp(word.from, text, strlen(text)) == 0;
}

static bool refuse(Audit *a, const char *what)
{
    diag_add(a->diags, TW1052, (Span){0, 0}, "%s", what)->source = NULL;
    return false;
}

/* Whether a statement has a block, behind whose brace it ends: its words say so. */
static bool has_block(const char *at)
{
    for (Piece word = word_at(at); word.from < word.to; word = word_at(skip(word.to)))
        if (is(word, ".entry") || is(word, ".func") || is(word, ".section"))
            return true;
    return false;
}

/* Behind its semicolon, or its block. */
static const char *end_of(const char *at)
{
    bool block = has_block(at);
    int depth = 0;

    for (; *at; at++) {
        if (*at == '"')
            at += 1 + strcspn(at + 1, "\"\n");
        if (!*at)
            break;
        depth += (*at == '{' || *at == '(') - (*at == '}' || *at == ')');
        if (depth == 0 && (*at == ';' || (block && *at == '}')))
            return at + 1;
    }
    return at;
}

/* ---- what stands at the top ----------------------------------------------------------------- */

static bool take_entry(Audit *a, Piece name, Piece whole)
{
    for (int i = 0; a->entries[i]; i++) {
        if (!is(name, a->entries[i]))
            continue;
        a->found |= 1u << (i % 32);
        vec_push(a->arena, &a->kept, whole);
        vec_push(a->arena, &a->bodies, whole);
        return true;
    }
    return refuse(a, arena_printf(a->arena, "an entry %.*s that nobody asked for", (int)(name.to - name.from), name.from));
}

static bool ends_with_line(Piece word)
{
    static const char *const words[] = {".version", ".target", ".address_size"};

    for (size_t i = 0; i < TW_COUNT(words); i++)
        if (is(word, words[i]))
            return true;
    return false;
}

/* Of a statement at the top: its words say what it is. */
static bool take_statement(Audit *a, Piece whole)
{
    bool external = false;

    for (const char *at = whole.from; at < whole.to;) {
        Piece word = word_at(at);

        if (word.from == word.to)
            break;
        at = skip(word.to);
        external |= is(word, ".extern");
        if (ends_with_line(word) || is(word, ".shared") || (is(word, ".const") && !external))
            return vec_push(a->arena, &a->kept, whole), true;
        if (is(word, ".global") && !external)
            return vec_push(a->arena, &a->variables, whole), true;
        if (is(word, ".entry"))
            return take_entry(a, word_at(at), whole);
        if (is(word, ".file") || is(word, ".section"))
            return true; /* for debuggers */
        if (is(word, ".func"))
            return refuse(a, "a function that is called: `printf`, `assert`, memory from a heap, or what is not inlined");
        if (!is(word, ".visible") && !is(word, ".extern") && !is(word, ".weak") && !is(word, ".common"))
            return refuse(a, arena_printf(a->arena, "a directive %.*s", (int)(word.to - word.from), word.from));
    }
    return refuse(a, "a statement that is no directive");
}

static bool read_top(Audit *a, const char *ptx)
{
    for (const char *at = skip(ptx); *at; at = skip(at)) {
        Piece word = word_at(at), whole = {at, NULL};

        whole.to = ends_with_line(word) || is(word, ".file") ? at + strcspn(at, "\n") : end_of(at);
        if (!take_statement(a, whole))
            return false;
        at = whole.to;
    }
    return true;
}

/* ---- what stands in entries --------------------------------------------------------------------- */

static bool begins(Piece word, const char *text)
{
    return (size_t)(word.to - word.from) >= strlen(text) && memcmp(word.from, text, strlen(text)) == 0;
}

static bool check_word(Audit *a, Piece word)
{
    static const struct {
        const char *word, *why;
    } refused[] = {
        {"%clock", "it reads a clock"},          {"%globaltimer", "it reads a clock"}, {"nanosleep", "it waits for time to pass"},
        {"%pm", "it reads a performance counter"}, {"call", "it calls a function"},      {"pmevent", "it counts events"},
        {"griddepcontrol", "it speaks of other launches"}, {".include", "it reads a file"}, {"brkpt", "it stops for a debugger"},
        {"discard", "it discards memory"},
    };

    for (size_t i = 0; i < TW_COUNT(refused); i++) {
        size_t n = strlen(refused[i].word);
        bool whole = refused[i].word[0] != '%';

        if (begins(word, refused[i].word) && (!whole || word.from[n] == '.' || word.to == word.from + n))
            return refuse(a, arena_printf(a->arena, "%s (%.*s)", refused[i].why, (int)(word.to - word.from), word.from));
    }
    return true;
}

static bool check_body(Audit *a, Piece body)
{
    for (const char *at = body.from; at < body.to; at = skip(at)) {
        Piece word = word_at(at);

        if (*at == '"') {
            at += 1 + strcspn(at + 1, "\"\n");
            at += *at == '"';
        } else if (word.from == word.to) {
            at++;
        } else if (!check_word(a, word)) {
            return false;
        } else {
            at = word.to;
        }
    }
    return true;
}

/* The name of a variable is its last word before a bracket, a value or the end. */
static Piece variable_name(Piece statement)
{
    Piece name = {statement.from, statement.from};

    for (const char *at = statement.from; at < statement.to; at = skip(at)) {
        Piece word = word_at(at);

        if (word.from == word.to)
            break;
        name = word;
        at = word.to;
    }
    return name;
}

static int compare_pieces(Piece a, Piece b)
{
    size_t n = (size_t)(a.to - a.from), m = (size_t)(b.to - b.from);
    int order = memcmp(a.from, b.from, n < m ? n : m);

    return order ? order : (n > m) - (n < m);
}

static int by_name(const void *a, const void *b)
{
    return compare_pieces(*(const Piece *)a, *(const Piece *)b);
}


/* No entry may name a variable; headers bring thousands that nobody names. */
static bool check_variables(Audit *a)
{
    Piece *names = arena_array(a->arena, Piece, a->variables.len + 1);

    for (int i = 0; i < a->variables.len; i++)
        names[i] = variable_name(a->variables.data[i]);
    qsort(names, (size_t)a->variables.len, sizeof *names, by_name);
    for (int i = 0; i < a->bodies.len; i++) {
        for (const char *at = a->bodies.data[i].from; at < a->bodies.data[i].to; at = skip(at)) {
            Piece word = word_at(at);

            if (word.from == word.to) {
                at++;
                continue;
            }
            at = word.to;
            if (bsearch(&word, names, (size_t)a->variables.len, sizeof *names, by_name))
                return refuse(a, arena_printf(a->arena, "memory that outlasts a launch: %.*s", (int)(word.to - word.from), word.from));
        }
    }
    return true;
}

static bool check_found(Audit *a)
{
    for (int i = 0; a->entries[i]; i++)
        if (!(a->found >> (i % 32) & 1))
            return refuse(a, arena_printf(a->arena, "there is no entry %s", a->entries[i]));
    return true;
}

const char *foreign_audit(Arena *arena, const char *ptx, const char *const *entries, const Source *answer, Diags *diags)
{
    Audit a = {.arena = arena, .entries = entries, .diags = diags};
    Str out = str_new(arena);

    diags->source = answer;
    if (!read_top(&a, ptx) || !check_found(&a) || !check_variables(&a))
        return NULL;
    for (int i = 0; i < a.bodies.len; i++)
        if (!check_body(&a, a.bodies.data[i]))
            return NULL;
    for (int i = 0; i < a.kept.len; i++) {
        str_addn(&out, a.kept.data[i].from, (size_t)(a.kept.data[i].to - a.kept.data[i].from));
        str_addc(&out, '\n');
    }
    return str_text(&out);
}
