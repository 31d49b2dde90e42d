/* propose_tile_type.c: types of operands in tile IR that tensor cores do not multiply.
 *
 *   %a = load A[...] : shared fp32<64x32>         %a_wide = load A[...] : fp32<64x32>
 *                                           ->    %a_cast = cast %a_wide : bf16<64x32>
 *                                                 %a = move %a_cast : shared bf16<64x32>
 *
 *   tensor A (M, 64) bf16 in                ->    tensor A (M, 64) fp16 in       # sm_75
 */
#include "suggest/tile_lines.h"

static const char WORD[] = WORD_LETTERS;
static const DType HALVES[] = {DT_BF16, DT_F16};

/* ---- rounded behind its load --------------------------------------------------------------------------- */

/* The type that a line gives its value, `fp32<64x32>`, and where it begins; NULL: it says none. */
static const char *type_said(Suggester *s, Span line, int *at)
{
    const char *text = lines_text(s, line.start, line.end), *angle = strrchr(text, '<');
    const char *start = angle;

    while (start && start > text && letter_among(start[-1], WORD))
        start--;
    if (!start || !strchr(start, '>'))
        return NULL;
    *at = line.start + (int)(start - text);
    return arena_strndup(s->arena, start, strcspn(start, ">") + 1);
}

/* The line that loads an operand of another type into shared memory, as three that round it there; NULL: it does not. */
static const char *rounded_load(Suggester *s, Span line, const char *value, const char *dtype)
{
    int at = 0;
    const char *type = type_said(s, line, &at), *text = lines_text(s, line.start, line.end), *load = strstr(text, " = load "), *shared = strstr(text, "] : shared ");
    const char *blanks = suggest_indent(s, line.start), *shape = type ? strchr(type, '<') : "";

    if (!type || !load || !shared || strncmp(type, dtype, strlen(dtype)) == 0)
        return NULL;
    return arena_printf(s->arena, "%s%s_wide%.*s] : %s\n%s%s_cast = cast %s_wide : %s%s\n%s%s = move %s_cast : shared %s%s", blanks, value, (int)(shared - load), load, type,
                        blanks, value, value, dtype, shape, blanks, value, value, dtype, shape);
}

/* Lines with another text each, in order of their places. */
typedef struct Lines {
    Fix data[4];
    int n;
} Lines;

static void change(Lines *lines, Span line, const char *text)
{
    int at = lines->n;

    for (int i = 0; i < lines->n; i++)
        if (lines->data[i].span.start == line.start)
            return;
    for (; at > 0 && lines->data[at - 1].span.start > line.start; at--)
        lines->data[at] = lines->data[at - 1];
    lines->data[at] = (Fix){line, text, NULL};
    lines->n++;
}

/* The line that loads the i-th operand of the product; false: it comes from elsewhere. */
static bool load_of(Suggester *s, int i, Span *line, const char **value)
{
    *line = lines_at(s, s->diag->span.start);
    *value = lines_value(s, *line, i);
    return *value && lines_defining(s, line, *value, lines_before) && strstr(lines_said(s, *line), " = load ");
}

/* What a product multiplies, rounded where it is loaded. */
static bool try_rounded(Suggester *s, const char *dtype)
{
    Lines lines = {.n = 0};
    const char *value;
    Span line;

    for (int i = 1; i <= 2; i++) {
        const char *text = load_of(s, i, &line, &value) ? rounded_load(s, line, value, dtype) : NULL;
        if (text)
            change(&lines, line, text);
    }
    return lines.n > 0 && suggest_edits(s, lines.data, lines.n, arena_printf(s->arena, "rounded to %s, which tensor cores multiply", dtype));
}

/* The line that declares what another one loads; false: none. */
static bool declared(Suggester *s, Span load, Span *line)
{
    const char *name = strstr(lines_said(s, load), " = load ") + 8;
    const char *said = arena_printf(s->arena, "tensor %s (", arena_strndup(s->arena, name, strspn(name, WORD)));

    *line = lines_at(s, 0);
    do {
        if (strncmp(lines_said(s, *line), said, strlen(said)) == 0)
            return true;
    } while (lines_next(s, line));
    return false;
}

/* What a product multiplies, in memory of the type already. */
static bool try_declared(Suggester *s, const char *dtype)
{
    Lines lines = {.n = 0};
    const char *value;
    Span line, tensor;
    int at;

    for (int i = 1; i <= 2; i++) {
        const char *type = load_of(s, i, &line, &value) && declared(s, line, &tensor) ? type_said(s, line, &at) : NULL;
        const char *from = type ? arena_strndup(s->arena, type, strcspn(type, "<")) : dtype;
        if (strcmp(from, dtype) == 0)
            continue;
        change(&lines, tensor, suggest_words(s, lines_text(s, tensor.start, tensor.end), from, dtype));
        change(&lines, line, suggest_words(s, lines_text(s, line.start, line.end), from, dtype));
    }
    return lines.n > 0 && suggest_edits(s, lines.data, lines.n, arena_printf(s->arena, "tensors of %s, which tensor cores multiply", dtype));
}

/* Operands of 32 bits, or of two types. */
bool propose_tile_rounding(Suggester *s)
{
    for (size_t i = 0; i < TW_COUNT(HALVES); i++)
        if (target_has_dtype(s->chain->target, HALVES[i]) && (try_rounded(s, dtype_name(HALVES[i])) || try_declared(s, dtype_name(HALVES[i]))))
            return true;
    return false;
}

/* ---- another type everywhere ------------------------------------------------------------------------------- */

/* A type that the target has no instructions for. */
bool propose_tile_dtype(Suggester *s)
{
    static const char said[] = " for ";
    const char *at = strstr(s->diag->message, said), *name = at ? at + strlen(said) : NULL;
    Span whole = {0, (int)s->source->len};

    for (size_t i = 0; name && i < TW_COUNT(HALVES); i++) {
        const char *by = dtype_name(HALVES[i]);
        if (strcmp(by, name) != 0 && target_has_dtype(s->chain->target, HALVES[i]) &&
            suggest_edit(s, whole, suggest_words(s, s->source->text, name, by), arena_printf(s->arena, "%s in place of %s, tensors included: %s multiplies it", by, name, s->chain->target->name)))
            return true;
    }
    return false;
}
