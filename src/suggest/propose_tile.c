/* propose_tile.c: edits of tile IR that somebody changed by hand.
 *
 *   %S = gem %Q, %K.T : fp32<64x64>      %S = gemm %Q, %K.T : fp32<64x64>
 *   %P = cast %S : bf16<64x32>           %P = cast %S : bf16<64x64>
 *   store %S, O[...]                     %cast = cast %S : bf16<64x64>
 *                                        store %cast, O[...]
 *   yield                                yield %S
 */
#include "suggest/words.h"

#include "tile/tile.h"

#include <stdlib.h>

enum { MOST_NEAR = 12 };

static const char WORD[] = WORD_LETTERS;

/* ---- words --------------------------------------------------------------------------------------------- */

static const char *lowered(Suggester *s, const char *name)
{
    char *word = arena_strndup(s->arena, name, strlen(name));

    for (char *c = word; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return word;
}

/* What the text says, and what operations and types are called. */
static Words *words_of(Suggester *s)
{
    Words *words = arena_new_of(s->arena, Words);

    for (const char *at = s->source->text; *at && words->n < MOST_WORDS / 2;) {
        size_t len = strspn(at, WORD);
        words_add(words, arena_strndup(s->arena, at, len));
        at += len ? len : 1;
    }
    for (int i = 0; i < TILE_OP_COUNT; i++)
        words_add(words, tile_op_text((TileOpKind)i));
    for (int i = 0; i < OP_COUNT; i++)
        words_add(words, lowered(s, op_info((OpId)i)->name));
    for (int i = 0; i < DT_COUNT; i++)
        words_add(words, dtype_name((DType)i));
    return words;
}

/* How often a value is said, transposed or not. */
static int times(const Suggester *s, const char *value)
{
    size_t len = strlen(value);
    int n = 0;

    for (const char *at = strchr(s->source->text, '%'); at; at = strchr(at + 1, '%')) {
        size_t said = strspn(at + 1, WORD);
        said -= said > 2 && strncmp(at + said - 1, ".T", 2) == 0 ? 2 : 0;
        n += said == len && strncmp(at + 1, value, len) == 0;
    }
    return n;
}

/* Whether one word may be the other, misspelt. Values are told apart by numbers, and one that is not there was hardly
 * called like another that is: but for a value of other letters that nothing uses. */
static bool may_be(Suggester *s, const char *word, const char *other, bool value)
{
    const char *letters = arena_strndup(s->arena, word, strcspn(word, "0123456789.")), *others = arena_strndup(s->arena, other, strcspn(other, "0123456789."));
    int far = name_distance(letters, others, 2);

    if (!*letters || !*others || far >= (int)strlen(letters) || name_distance(word, other, 2) >= (int)strlen(word))
        return false;
    return !value || (far > 0 && times(s, other) == 1);
}

/* The word that has no meaning there, as others that are nearly the same, the nearest first. */
bool propose_tile_word(Suggester *s)
{
    Span span = s->diag->span;
    const char *text = s->source->text;

    span.start += text[span.start] == '%';
    while (span.start > 0 && strchr(WORD, text[span.start - 1])) /* said behind it */
        span.start--;
    span.end = span.start + (int)strspn(text + span.start, WORD);
    const char *word = arena_strndup(s->arena, text + span.start, (size_t)(span.end - span.start));
    const Words *words = *word ? words_of(s) : NULL;
    bool value = span.start > 0 && text[span.start - 1] == '%';
    for (int far = 1, tried = 0; words && far <= 2; far++)
        for (int i = 0; i < words->n && tried < MOST_NEAR; i++) {
            if (name_distance(word, words->data[i], 2) != far || !may_be(s, word, words->data[i], value))
                continue;
            const char *label = arena_printf(s->arena, "did you mean '%s'?", words->data[i]);
            Span rest = {span.start, (int)s->source->len}; /* where it stands again */
            tried++;
            if (suggest_edit(s, span, words->data[i], label) || suggest_edit(s, rest, suggest_words(s, text + span.start, word, words->data[i]), label))
                return true;
        }
    return false;
}

/* ---- types ------------------------------------------------------------------------------------------------ */

static int find_in(const Suggester *s, int from, int to, const char *what)
{
    int len = (int)strlen(what);

    for (int at = from; len && at + len <= to; at++)
        if (strncmp(s->source->text + at, what, (size_t)len) == 0)
            return at;
    return -1;
}

/* `%cast = cast %S : bf16<64x64>` before the line that stores %S, of some shape that the text has. */
static bool try_cast(Suggester *s, const char *dtype)
{
    const char *text = s->source->text;
    int line = suggest_line_start(s, s->diag->span.start), value = find_in(s, line, suggest_line_end(s, line), "%");
    Words shapes = {.n = 0};

    if (value < 0)
        return false;
    const char *name = arena_strndup(s->arena, text + value, 1 + strspn(text + value + 1, WORD));
    for (const char *at = strchr(text, '<'); at; at = strchr(at + 1, '<'))
        words_add(&shapes, arena_strndup(s->arena, at, strcspn(at, ">") + 1));
    for (int i = 0; i < shapes.n && i < MOST_NEAR; i++) {
        Fix edits[] = {{{line, line}, arena_printf(s->arena, "%s%%cast = cast %s : %s%s\n", suggest_indent(s, line), name, dtype, shapes.data[i]), NULL},
                       {{value, value + (int)strlen(name)}, "%cast", NULL}};
        if (suggest_edits(s, edits, 2, "memory holds the tensor's type"))
            return true;
    }
    return false;
}

/* What a message says behind a word, up to a comma or a colon. */
static const char *said_behind(Suggester *s, const char *word)
{
    const char *at = strstr(s->diag->message, word);

    return at ? arena_strndup(s->arena, at + strlen(word), strcspn(at + strlen(word), ",:")) : NULL;
}

/* `64 x 32` as types say it. */
static const char *as_shape(Suggester *s, const char *size)
{
    int rows, cols;

    return size && sscanf(size, "%d x %d", &rows, &cols) == 2 ? arena_printf(s->arena, "<%dx%d>", rows, cols) : size;
}

/* What is said to be wanted, in place of what is there. */
bool propose_tile_type(Suggester *s)
{
    const char *have = as_shape(s, said_behind(s, " is ")), *want = as_shape(s, said_behind(s, "wanted ")), *dtype = said_behind(s, "a tensor of ");
    int line = suggest_line_start(s, s->diag->span.start), end = suggest_line_end(s, line), at = have && want ? find_in(s, line, end, have) : -1;

    if (dtype)
        return try_cast(s, dtype);
    return at >= 0 && suggest_edit(s, (Span){at, at + (int)strlen(have)}, want, "what its operands give");
}

/* ---- what a region yields ------------------------------------------------------------------------------------ */

/* The values that its last lines define, as many as are wanted. */
bool propose_tile_yield(Suggester *s)
{
    const char *text = s->source->text, *wanted = said_behind(s, "wanted ");
    int at = s->diag->span.start, n = wanted ? atoi(wanted) : 0;
    const char *indent = suggest_indent(s, at), *values = "";

    if (n < 1 || n > 64 || strncmp(text + at, "yield", 5) != 0)
        return false;
    for (int line = suggest_line_start(s, at); n > 0 && line > 0;) {
        line = suggest_line_start(s, line - 1);
        size_t blank = strspn(text + line, " ");
        if (blank < strlen(indent))
            return false;
        if (blank > strlen(indent) || text[line + (int)blank] != '%')
            continue;
        const char *name = arena_strndup(s->arena, text + line + blank, 1 + strspn(text + line + blank + 1, WORD));
        values = arena_printf(s->arena, "%s%s%s", name, *values ? ", " : "", values);
        n--;
    }
    return n == 0 && suggest_edit(s, (Span){at, suggest_line_end(s, at)}, arena_printf(s->arena, "yield %s", values), "what was computed last");
}
