/* extract.c: the program within an answer.
 *
 * An answer may be anything: a program alone, one between fences with prose round it,
 * several drafts, a megabyte of noise, nothing. These rules are all there is:
 *
 *   1. The last fenced block that has a line `Kernel NAME` (or `Operator NAME`) is it.
 *   2. Where no block has one, it is what stands outside of fences, from the first such
 *      line to the last line that is `end`.
 *   3. A fence is a line of three or more backticks or tildes, a word behind it or not;
 *      the next line of as many of them alone closes it, else the answer's end.
 *   4. It must be text: UTF-8 without control characters.
 *   5. Of C++ a unit is a function whose name ends with the word (`_block`); where no block has
 *      one, the text goes from the first line that begins as C++ does to the last `}`.
 *
 * Nothing is guessed beyond them; what is wrong with the program the parser says.
 */
#include "flow/flow.h"

typedef struct Piece {
    size_t from, to; /* from == to: none */
} Piece;

typedef struct Line {
    size_t from, to, next; /* without its end; where the next one begins */
} Line;

typedef struct Fence {
    char mark;  /* 0: none */
    size_t n;
    bool alone; /* nothing stands behind it */
} Fence;

static Line line_at(const char *text, size_t len, size_t at)
{
    const char *end = memchr(text + at, '\n', len - at);
    size_t to = end ? (size_t)(end - text) : len;
    Line line = {at, to, end ? to + 1 : len};

    if (line.to > line.from && text[line.to - 1] == '\r')
        line.to--;
    return line;
}

static size_t skip_blanks(const char *text, size_t at, size_t to)
{
    while (at < to && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return at;
}

static Fence fence_of(const char *text, Line line)
{
    size_t at = skip_blanks(text, line.from, line.to);
    Fence fence = {0};

    if (at < line.to && (text[at] == '`' || text[at] == '~'))
        fence.mark = text[at];
    while (fence.mark && at + fence.n < line.to && text[at + fence.n] == fence.mark)
        fence.n++;
    if (fence.n < 3)
        return (Fence){0};
    fence.alone = skip_blanks(text, at + fence.n, line.to) == line.to;
    return fence;
}

static size_t word_end(const char *text, size_t at, size_t to)
{
    while (at < to && is_name_char(text[at]))
        at++;
    return at;
}

static bool is_word(const char *text, size_t from, size_t to, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i < n && from + i < to; i++)
        if ((text[from + i] | 0x20) != (word[i] | 0x20))
            return false;
    return to - from == n;
}

/* ---- C++ ------------------------------------------------------------------------------- */

static bool is_cpp(const char *unit)
{
    return *unit == '_';
}

/* NAME_block( */
static bool names_function(const char *text, Line line, const char *unit)
{
    size_t n = strlen(unit);

    for (size_t at = line.from; at + n < line.to; at++) {
        size_t end = skip_blanks(text, at + n, line.to);

        if (memcmp(text + at, unit, n) == 0 && end < line.to && text[end] == '(')
            return true;
    }
    return false;
}

static bool begins_cpp(const char *text, Line line)
{
    static const char *const words[] = {"template", "using", "struct", "namespace", "constexpr", "static", "inline", "__device__",
                                        "CUTE_DEVICE", "CUTE_HOST_DEVICE", "__forceinline__", "void", "auto"};
    size_t at = skip_blanks(text, line.from, line.to), end = word_end(text, at, line.to);

    if (end - at > sizeof "_block" - 1 && memcmp(text + end - (sizeof "_block" - 1), "_block", sizeof "_block" - 1) == 0 && end < line.to &&
        text[end] == '(')
        return true;
    if (at < line.to && (text[at] == '#' || (text[at] == '/' && at + 1 < line.to && (text[at + 1] == '/' || text[at + 1] == '*'))))
        return true;
    for (size_t i = 0; i < TW_COUNT(words); i++)
        if (end - at == strlen(words[i]) && memcmp(text + at, words[i], end - at) == 0)
            return true;
    return false;
}

/* ---- TL ----------------------------------------------------------------------------------- */

/* `Kernel NAME`, and nothing else but a comment. */
static bool begins_unit(const char *text, Line line, const char *unit)
{
    size_t at = skip_blanks(text, line.from, line.to), end = word_end(text, at, line.to), name;

    if (is_cpp(unit))
        return names_function(text, line, unit);
    if (!is_word(text, at, end, unit))
        return false;
    name = skip_blanks(text, end, line.to);
    if (name == end)
        return false;
    end = word_end(text, name, line.to);
    at = skip_blanks(text, end, line.to);
    return end > name && (at == line.to || text[at] == '#');
}

/* `end`, one more word behind it or not. */
static bool is_end(const char *text, Line line)
{
    size_t at = skip_blanks(text, line.from, line.to), end = word_end(text, at, line.to);

    if (!is_word(text, at, end, "end"))
        return false;
    at = word_end(text, skip_blanks(text, end, line.to), line.to);
    at = skip_blanks(text, at, line.to);
    return at == line.to || text[at] == '#';
}

/* The rules 1 and 3. */
static Piece last_block(const char *text, size_t len, const char *unit)
{
    Piece found = {0}, block = {0};
    Fence open = {0};
    bool has_unit = false;

    for (size_t at = 0; at < len;) {
        Line line = line_at(text, len, at);
        Fence fence = fence_of(text, line);

        at = line.next;
        if (!open.mark && fence.mark) {
            open = fence;
            block.from = at;
            has_unit = false;
        } else if (open.mark && fence.mark == open.mark && fence.n >= open.n && fence.alone) {
            block.to = line.from;
            found = has_unit ? block : found;
            open.mark = 0;
        } else if (open.mark) {
            has_unit |= begins_unit(text, line, unit);
        }
    }
    block.to = len;
    return open.mark && has_unit ? block : found;
}

/* The rule 2. */
static Piece unfenced(const char *text, size_t len, const char *unit)
{
    Piece found = {0};
    Fence open = {0};
    bool begun = false, has_unit = false;

    for (size_t at = 0; at < len;) {
        Line line = line_at(text, len, at);
        Fence fence = fence_of(text, line);

        at = line.next;
        if (open.mark) {
            if (fence.mark == open.mark && fence.n >= open.n && fence.alone)
                open.mark = 0;
        } else if (fence.mark) {
            open = fence;
        } else if (!begun && (is_cpp(unit) ? begins_cpp(text, line) : begins_unit(text, line, unit))) {
            begun = true;
            found = (Piece){line.from, len};
        } else if (begun && (is_cpp(unit) ? text[skip_blanks(text, line.from, line.to)] == '}' : is_end(text, line))) {
            found.to = line.next;
        }
        has_unit |= begun && !open.mark && begins_unit(text, line, unit);
    }
    return has_unit ? found : (Piece){0};
}

/* The rule 4: how far the piece is text. */
static size_t text_until(const char *text, Piece piece)
{
    size_t at = piece.from;

    while (at < piece.to) {
        unsigned char c = (unsigned char)text[at];
        int n = utf8_length(text + at);

        if (n <= 0 || at + (size_t)n > piece.to || c == 0x7f || (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f'))
            return at;
        at += (size_t)n;
    }
    return at;
}

static Source *nothing(Diags *diags, const char *name, const char *unit, size_t len)
{
    const char *what = is_cpp(unit) ? "function of a block" : unit;
    Diag *diag = diag_add(diags, TW1041, (Span){0, 0}, len ? "%s holds no %s" : "%s is empty: it holds no %s", name, what);

    diag->source = NULL;
    if (is_cpp(unit)) {
        diag_note(diags, diag, "give the functions NAME%s whole, in one block between lines of three backticks", unit);
        return NULL;
    }
    diag_note(diags, diag, "give it whole, from the line `%s NAME` to its `end`, in one block between lines of three backticks",
              unit);
    return NULL;
}

Source *flow_extract(Arena *arena, const char *name, const char *unit, const char *answer, size_t len, Diags *diags)
{
    size_t mark = len >= 3 && memcmp(answer, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, until; /* of the byte order */
    const char *text = arena_strndup(arena, answer + mark, len - mark); /* so that it ends with a zero */
    Source *source = arena_new_of(arena, Source);
    Piece piece;

    len -= mark;
    piece = last_block(text, len, unit);
    if (piece.from == piece.to)
        piece = unfenced(text, len, unit);
    if (piece.from == piece.to)
        return nothing(diags, name, unit, len);
    until = text_until(text, piece);
    if (until < piece.to) {
        Diag *diag = diag_add(diags, TW1042, (Span){0, 0}, "byte %zu of %s, 0x%02x, is no text", until + 1, name,
                              (unsigned char)text[until]);

        diag->source = NULL;
        return NULL;
    }
    source->path = name;
    source->len = piece.to - piece.from;
    source->text = arena_strndup(arena, text + piece.from, source->len);
    return source;
}
