/* fix.c: suggested edits are made, one after the other, and what they changed is shown.
 *
 * Which edits are sure, mends.def says. Each is made by itself and the text checked
 * again: one that leaves no fewer diagnostics is not made, since an edit may have been
 * thought of for a place that another one has changed.
 */
#include "cli/fix.h"

#include "cli/stages.h"

enum { MOST_EDITS = 64, CONTEXT = 3, MOST_CELLS = 4000000 };

/* ---- edits --------------------------------------------------------------------------- */

static bool check(Session *s, Source *source)
{
    s->diags = diags_new(s->arena, source);
    Chain *chain = session_chain(s);

    if (chain)
        chain_check(chain, source, s->options.fragment);
    return chain != NULL;
}

static Source *edited(Arena *arena, const Source *source, const Fix *fix)
{
    Str text = str_new(arena);
    Source *new = arena_new_of(arena, Source);

    str_addn(&text, source->text, (size_t)fix->span.start);
    str_add(&text, fix->text);
    str_addn(&text, source->text + fix->span.end, source->len - (size_t)fix->span.end);
    *new = (Source){source->path, str_text(&text), text.len};
    return new;
}

static bool is_sure(const Diag *diag, const Source *source)
{
    return diag->fix.text && diag->source == source && diag_mend(diag->code)->sure;
}

/* The first edit that leaves fewer diagnostics; NULL: none, and s->diags is as it was. */
static Source *next_edit(Session *s, Source *source)
{
    Diags *before = s->diags;

    for (int i = 0; i < before->list.len; i++) {
        if (!is_sure(&before->list.data[i], source))
            continue;
        Source *new = edited(s->arena, source, &before->list.data[i].fix);
        if (check(s, new) && s->diags->list.len < before->list.len)
            return new;
    }
    s->diags = before;
    return NULL;
}

Source *fix_source(Session *s, Source *source, int *edits)
{
    Source *new = source;

    *edits = 0;
    if (!check(s, source))
        return NULL;
    while (new && *edits < MOST_EDITS) {
        source = new;
        new = next_edit(s, source);
        *edits += new != NULL;
    }
    return new ? new : source;
}

/* ---- the difference -------------------------------------------------------------------- */

typedef struct Line {
    const char *text;
    int len; /* with its end */
} Line;

typedef VEC(Line) Lines;

static Lines lines_of(Arena *arena, const Source *source)
{
    Lines lines = {0};
    const char *at = source->text, *end = source->text + source->len;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;

        vec_push(arena, &lines, ((Line){at, (int)(next - at)}));
        at = next;
    }
    return lines;
}

static bool same(Line a, Line b)
{
    return a.len == b.len && memcmp(a.text, b.text, (size_t)a.len) == 0;
}

/* common[i * (m + 1) + j]: how many lines old[i..] and new[j..] have in common, in
 * order; the texts are cut to what differs. NULL: too long, all is replaced. */
static int *common_lines(Arena *arena, const Line *old, int n, const Line *new, int m)
{
    if ((int64_t)(n + 1) * (m + 1) > MOST_CELLS)
        return NULL;
    int *common = arena_array(arena, int, (size_t)(n + 1) * (size_t)(m + 1));

    for (int i = n - 1; i >= 0; i--)
        for (int j = m - 1; j >= 0; j--) {
            int *at = &common[i * (m + 1) + j], skip_old = at[m + 1], skip_new = at[1];

            *at = same(old[i], new[j]) ? at[m + 2] + 1 : skip_old > skip_new ? skip_old : skip_new;
        }
    return common;
}

/* One line of the diff: ' ' of both, '-' of the old text, '+' of the new one. */
typedef struct Step {
    char sign;
    Line line;
} Step;

typedef VEC(Step) Steps;

static Steps steps_between(Arena *arena, Lines a, Lines b)
{
    Steps steps = {0};
    int from = 0, tail = 0;

    while (from < a.len && from < b.len && same(a.data[from], b.data[from]))
        from++;
    while (tail < a.len - from && tail < b.len - from && same(a.data[a.len - 1 - tail], b.data[b.len - 1 - tail]))
        tail++;
    int n = a.len - tail - from, m = b.len - tail - from, i = 0, j = 0;
    const int *common = common_lines(arena, a.data + from, n, b.data + from, m);

    for (int k = 0; k < from; k++)
        vec_push(arena, &steps, ((Step){' ', a.data[k]}));
    while (i < n || j < m) {
        if (common && i < n && j < m && same(a.data[from + i], b.data[from + j])) {
            vec_push(arena, &steps, ((Step){' ', a.data[from + i++]}));
            j++;
        } else if (i < n && (j == m || !common || common[(i + 1) * (m + 1) + j] >= common[i * (m + 1) + j + 1])) {
            vec_push(arena, &steps, ((Step){'-', a.data[from + i++]}));
        } else {
            vec_push(arena, &steps, ((Step){'+', b.data[from + j++]}));
        }
    }
    for (int k = a.len - tail; k < a.len; k++)
        vec_push(arena, &steps, ((Step){' ', a.data[k]}));
    return steps;
}

/* Whether a change lies within CONTEXT lines of a step. */
static bool is_shown(const Steps *steps, int at)
{
    for (int i = at - CONTEXT; i <= at + CONTEXT; i++)
        if (i >= 0 && i < steps->len && steps->data[i].sign != ' ')
            return true;
    return false;
}

static void put_step(Str *out, const Step *step)
{
    bool ended = step->line.len > 0 && step->line.text[step->line.len - 1] == '\n';

    str_addc(out, step->sign);
    str_addn(out, step->line.text, (size_t)step->line.len);
    if (!ended)
        str_add(out, "\n\\ No newline at end of file\n");
}

static void put_hunk(Str *out, const Steps *steps, int from, int to, int old, int new)
{
    int n_old = 0, n_new = 0;

    for (int i = from; i < to; i++) {
        n_old += steps->data[i].sign != '+';
        n_new += steps->data[i].sign != '-';
    }
    str_printf(out, "@@ -%d,%d +%d,%d @@\n", n_old ? old + 1 : old, n_old, n_new ? new + 1 : new, n_new);
    for (int i = from; i < to; i++)
        put_step(out, &steps->data[i]);
}

void fix_diff(Str *out, const Source *old, const Source *new)
{
    Steps steps = steps_between(out->arena, lines_of(out->arena, old), lines_of(out->arena, new));
    int a = 0, b = 0;

    str_printf(out, "--- %s\n+++ %s\n", old->path, old->path);
    for (int i = 0; i < steps.len;) {
        int from = i, old_at = a, new_at = b;

        while (i < steps.len && is_shown(&steps, i)) {
            a += steps.data[i].sign != '+';
            b += steps.data[i].sign != '-';
            i++;
        }
        if (i > from) {
            put_hunk(out, &steps, from, i, old_at, new_at);
            continue;
        }
        a++;
        b++;
        i++;
    }
}
