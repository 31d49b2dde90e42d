/* brief.c: functions of blocks in brief.
 *
 * How the function of a block begins is settled by the launch ABI and the code: its parameters, how
 * threads share tiles, where the block is. A writer is told it and does not repeat it:
 *
 *   template <bool Wide>                                scale_block(...) {
 *   __device__ __forceinline__ void scale_block(            float s = 2.0f;
 *       float const *X, float *Y, int M)          <->       ...
 *   {                                                   }
 *       using Place = tw::RowsPlace<1, 32, 4>;
 *       int block = blockIdx.x;
 *       int m = block;
 *       float s = 2.0f;
 *       ...
 *
 * Vocabulary
 *   head     how it begins, up to the coordinates of the block
 *   fold     `NAME_block(...) {`, which stands for the head; one that writes the head out has none
 *   terse    without comments and empty lines as well, where there is little room
 */
#include "prompt/prompt.h"

static size_t line_len(const char *at)
{
    return strcspn(at, "\n");
}

static const char *next_line(const char *at)
{
    at += line_len(at);
    return at + (*at == '\n');
}

/* ---- to brief --------------------------------------------------------------------------- */

static bool has_line(const char *text, const char *line, size_t len)
{
    for (; *text; text = next_line(text))
        if (line_len(text) == len && memcmp(text, line, len) == 0)
            return true;
    return false;
}

static bool is_line(const char *line, size_t len, const char *word)
{
    size_t blanks = strspn(line, " ");

    return len - blanks == strlen(word) && memcmp(line + blanks, word, len - blanks) == 0;
}

/* Of a comment that quotes a statement, what says which one it is. */
static size_t first_words(const char *line, size_t len)
{
    static const char *const rest[] = {" (", " in ", " where ", " from ", " as ", " with ", " and get ", " and accumulate "};
    size_t blanks = strspn(line, " "), least = len;

    if (strncmp(line + blanks, "// ", 3) != 0 || !blanks)
        return len;
    for (size_t i = 0; i < TW_COUNT(rest); i++) {
        const char *at = strstr(line, rest[i]);

        if (at && (size_t)(at - line) < least)
            least = (size_t)(at - line);
    }
    return least;
}

const char *prompt_brief(Arena *arena, const char *name, const char *block, const char *head)
{
    Str out = str_new(arena);
    const char *at = block;
    bool top = true; /* where lines of the head may stand, and what lies in shared memory */

    for (; *at && strncmp(at, "template", 8) != 0; at = next_line(at))
        str_printf(&out, "%.*s\n", (int)line_len(at), at);
    while (*at && !is_line(at, line_len(at), "{"))
        at = next_line(at);
    str_printf(&out, "%s_block(...) {\n", name);
    for (at = next_line(at); *at; at = next_line(at)) {
        size_t len = line_len(at);

        top &= len > 0;
        if (!(top && has_line(head, at, len)) && !is_line(at, len, "(void)row, (void)col;"))
            str_printf(&out, "%.*s\n", (int)first_words(at, len), at);
    }
    return str_text(&out);
}

const char *prompt_terse(Arena *arena, const char *text)
{
    Str out = str_new(arena);

    for (; *text; text = next_line(text)) {
        size_t len = line_len(text), blanks = strspn(text, " ");

        if (blanks < len && (blanks == 0 || strncmp(text + blanks, "//", 2) != 0))
            str_printf(&out, "%.*s\n", (int)len, text);
    }
    return str_text(&out);
}

/* ---- from brief ---------------------------------------------------------------------------- */

typedef struct Fold {
    size_t from, to;
    const char *head;
} Fold;

static size_t skip(const char *text, size_t at, const char *what)
{
    return at + strspn(text + at, what);
}

/* Where `word` stands, behind blanks, its end; 0: it does not. */
static size_t follow(const char *text, size_t at, const char *blanks, const char *word)
{
    size_t n = strlen(word);

    at = skip(text, at, blanks);
    return strncmp(text + at, word, n) == 0 ? at + n : 0;
}

/* What stands before the name is the head's as well, `template <bool Wide>` on a line of its own too. */
static size_t begin(const char *text, size_t at)
{
    size_t line = at, before;

    while (line > 0 && text[line - 1] != '\n' && text[line - 1] != '}' && text[line - 1] != ';')
        line--;
    before = line;
    while (before > 0 && strchr(" \t\r\n", text[before - 1]))
        before--;
    while (before > 0 && text[before - 1] != '\n')
        before--;
    return strncmp(text + skip(text, before, " \t"), "template", 8) == 0 ? before : line;
}

/* `NAME_block(...) {` at `at`, and another `...` behind it or not. */
static bool find_fold(const char *text, size_t at, const char *name, Fold *fold)
{
    size_t n = strlen(name), to = at + n, more;

    if ((at > 0 && is_name_char(text[at - 1])) || strncmp(text + at, name, n) != 0 || !(to = follow(text, to, "", "_block")) ||
        !(to = follow(text, to, " \t", "(")) || !(to = follow(text, to, " \t", "...")) || !(to = follow(text, to, " \t", ")")) ||
        !(to = follow(text, to, " \t\r\n", "{")))
        return false;
    more = follow(text, to, " \t\r\n", "...");
    *fold = (Fold){begin(text, at), more ? more : to, NULL};
    return true;
}

static bool find_any(Chain *framed, const char *text, size_t at, Fold *fold)
{
    for (int k = 0; k < framed->tile->kernels.len; k++)
        if (find_fold(text, at, framed->tile->kernels.data[k]->name, fold)) {
            fold->head = chain_head(framed, k);
            return true;
        }
    return false;
}

/* In one line, without its comments; then as many lines as the fold had. */
static void put_flat(Str *out, const Fold *fold, const char *text)
{
    for (const char *at = fold->head; *at; at = next_line(at)) {
        size_t len = line_len(at);
        const char *comment = strstr(at, "//");

        str_printf(out, "%.*s ", (int)(comment && comment < at + len ? (size_t)(comment - at) : len), at);
    }
    for (size_t i = fold->from; i < fold->to; i++)
        if (text[i] == '\n')
            str_addc(out, '\n');
}

static void put_fold(Str *out, const Fold *fold, const char *text, bool flat)
{
    if (flat) {
        put_flat(out, fold, text);
        return;
    }
    str_addn(out, fold->head, strlen(fold->head) - (text[fold->to] == '\n'));
}

const char *prompt_unfold(Arena *arena, Chain *framed, const char *text, const char *shown, bool flat)
{
    Str out = str_new(arena);
    size_t done = 0;
    Fold fold;

    for (size_t at = 0; text[at]; at++) {
        if (!find_any(framed, text, at, &fold) || fold.from < done)
            continue;
        str_addn(&out, shown + done, fold.from - done);
        put_fold(&out, &fold, text, flat);
        done = fold.to;
        at = fold.to - 1;
    }
    str_add(&out, shown + done);
    return str_text(&out);
}
