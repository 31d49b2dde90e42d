/* propose_einsum.c: a sum over letters, as numpy and PyTorch write it, as a product of matrices.
 *
 *   einsum("bhqd,bhkd->bhqk", q, k)        (q @ k.T)
 *   einsum("b k q, b k d -> b q d", s, v)  (s.T @ v)
 *   einsum("ij->ji", x)                    (x.T)
 *
 * Letters ahead of the last two are those of all matrices; of the last two of each operand one is in the result, and the
 * other is summed over.
 */
#include "suggest/forms.h"

enum { MOST_LETTERS = 12, OPERANDS = 2 };

/* `...` is one letter, of as many dimensions as there are. */
static const char REST = '.';

typedef struct Einsum {
    char letters[OPERANDS + 1][MOST_LETTERS]; /* of the operands, then of the result */
    const char *operands[OPERANDS];
    int n;
    int end; /* behind its bracket */
} Einsum;

static int skip_blanks(const char *text, int at)
{
    return at + (int)strspn(text + at, " ");
}

/* Letters of one tensor, up to a comma or an arrow; false: something else stands there, or too much. */
static bool read_letters(const char *text, int *at, char *letters)
{
    int n = 0;

    for (;; ++*at) {
        *at = skip_blanks(text, *at);
        if (strncmp(text + *at, "...", 3) == 0)
            *at += 2;
        else if (!((text[*at] >= 'a' && text[*at] <= 'z') || (text[*at] >= 'A' && text[*at] <= 'Z')))
            break;
        if (n == MOST_LETTERS - 1)
            return false;
        letters[n++] = text[*at];
    }
    letters[n] = '\0';
    return n > 0;
}

/* An operand, up to the comma or the bracket behind it. */
static const char *read_operand(Arena *arena, const char *text, int *at)
{
    int from = skip_blanks(text, *at), depth = 0;

    for (*at = from; text[*at] && (depth > 0 || (text[*at] != ',' && text[*at] != ')')); ++*at)
        depth += (text[*at] == '(') - (text[*at] == ')');
    return text[*at] && *at > from ? arena_strndup(arena, text + from, (size_t)(*at - from)) : NULL;
}

/* What stands behind `einsum(`; false: it is of more operands, or says not what there is in the end. */
static bool read_einsum(Arena *arena, const char *text, int at, Einsum *e)
{
    *e = (Einsum){.n = 1};
    if (!read_letters(text, &at, e->letters[0]))
        return false;
    if (text[at] == ',' && !read_letters(text, (at++, &at), e->letters[e->n++]))
        return false;
    if (strncmp(text + at, "->", 2) != 0)
        return false;
    at += 2;
    if (!read_letters(text, &at, e->letters[OPERANDS]))
        return false;
    for (int i = 0; i < e->n; i++) {
        if (text[at++] != ',' || !(e->operands[i] = read_operand(arena, text, &at)))
            return false;
    }
    e->end = at + 1;
    return text[at] == ')';
}

/* Whether a tensor has the result's letters but the last two, or two alone, and then `first` and `second`. */
static bool is_matrix(const char *letters, const char *result, char first, char second)
{
    size_t n = strlen(letters), ahead = strlen(result) - 2;

    if (n < 2 || letters[n - 2] != first || letters[n - 1] != second)
        return false;
    return n == 2 || (n - 2 == ahead && strncmp(letters, result, ahead) == 0);
}

static const char *product_of(Arena *arena, const Einsum *e)
{
    const char *result = e->letters[OPERANDS];
    size_t n = strlen(result);

    for (int first = 0; e->n == OPERANDS && n >= 2 && first < OPERANDS; first++) {
        const char *a = e->letters[first], *b = e->letters[!first];
        char row = result[n - 2], col = result[n - 1];
        size_t at = strlen(a);
        char over = at < 2 ? '\0' : a[at - 1] == row ? a[at - 2] : a[at - 1];
        bool a_turned = is_matrix(a, result, over, row), b_turned = is_matrix(b, result, col, over);

        if (over && !strchr(result, over) && over != REST && (a_turned || is_matrix(a, result, row, over)) && (b_turned || is_matrix(b, result, over, col)))
            return arena_printf(arena, "(%s%s @ %s%s)", e->operands[first], a_turned ? ".T" : "", e->operands[!first], b_turned ? ".T" : "");
    }
    if (e->n == 1 && n >= 2 && is_matrix(e->letters[0], result, result[n - 1], result[n - 2]))
        return arena_printf(arena, "(%s.T)", e->operands[0]);
    return NULL;
}

const char *einsum_products(Suggester *s, const char *text)
{
    static const char word[] = "einsum(";
    Str out = str_new(s->arena);

    for (int at = 0; text[at];) {
        bool starts = strncmp(text + at, word, strlen(word)) == 0 && (at == 0 || !is_name_char(text[at - 1]));
        Einsum e;
        const char *product = starts && read_einsum(s->arena, text, at + (int)strlen(word), &e) ? product_of(s->arena, &e) : NULL;

        if (product) {
            str_add(&out, product);
            at = e.end;
        } else {
            str_addc(&out, text[at++]);
        }
    }
    return str_text(&out);
}

bool propose_einsum(Suggester *s)
{
    const char *text = form_plain(s, form_line(s));

    return s->unit && (strstr(text, "einsum(") || strstr(text, " Einsum ")) && propose_formula(s);
}
