/* propose_elements.c: a kernel that says what one thread does with one element, as the sketch of it.
 *
 *   i = blockIdx.x * blockDim.x + threadIdx.x        Grid over N
 *   if i < N                                         Copy A from global to register
 *     x = A[i]                                ─►     Copy B from global to register
 *     C[i] = x / (1 + exp(-x)) * B[i]                Compute Negate A and get ...
 *   end                                              Copy C from register to global
 *
 * Indices, guards and loops over elements are what tiles have by themselves. An element is the one at hand: its coordinates
 * are names and nothing else, or `i * N + j` of a matrix. What reads a neighbour, or adds up, is left to its writer.
 */
#include <ctype.h>

#include "suggest/elements.h"

/* ---- words ---------------------------------------------------------------------------------------------- */

static int word_end(const char *text, int at)
{
    while (isalnum((unsigned char)text[at]) || text[at] == '_')
        at++;
    return at;
}

static bool begins_word(const char *text, int at)
{
    return (isalpha((unsigned char)text[at]) || text[at] == '_') && (at == 0 || (!isalnum((unsigned char)text[at - 1]) && text[at - 1] != '_' && text[at - 1] != '.'));
}

/* Functions of CUDA's mathematics by their names here. */
static const char *plain_function(const char *word)
{
    static const char *const functions[][2] = {{"expf", "exp"}, {"__expf", "exp"}, {"tanhf", "tanh"}, {"sqrtf", "sqrt"}, {"rsqrtf", "rsqrt"}, {"logf", "log"}, {"__logf", "log"},
                                               {"fmaxf", "max"}, {"fmax", "max"}, {"fminf", "min"}, {"fmin", "min"}, {"fabsf", "abs"}, {"fabs", "abs"}, {"powf", "pow"},
                                               {"float", ""}, {"__float2half", ""}, {"__half2float", ""}, {"__float2bfloat16", ""}, {"__bfloat162float", ""}};

    for (size_t i = 0; i < TW_COUNT(functions); i++)
        if (strcmp(word, functions[i][0]) == 0)
            return functions[i][1];
    return word;
}

static bool is_place(const Elements *el, const char *word)
{
    static const char *const made[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", "program_id", "arange", "tl", "get_global_id", "tid", "x", "y", "z", "ceil", "min", "max", "div", "mod"};

    return text_among(el->places, el->n_places, word) || text_among(made, TW_COUNT(made), word);
}

bool elements_of_places(const Elements *el, const char *text)
{
    bool any = false;

    for (int at = 0; text[at]; at++) {
        if (!begins_word(text, at))
            continue;
        const char *word = arena_strndup(el->s->arena, text + at, (size_t)(word_end(text, at) - at));
        if (cuts_tensor(&el->cuts, word))
            return false;
        for (int i = 0; i < el->n_values; i++)
            if (strcmp(el->values[i].name, word) == 0)
                return false;
        any |= is_place(el, word);
        at = word_end(text, at) - 1;
    }
    return any;
}

/* ---- elements -------------------------------------------------------------------------------------------- */

bool elements_at_hand(const Elements *el, const Stmt *tensor, const char *inner)
{
    Holes holes;
    bool flat = tensor->n_shape > 1 && form_match(arena_printf(el->s->arena, "$i * %s + $j", suggest_expr(el->s, tensor->shape[tensor->n_shape - 1])), inner, &holes);

    if (flat)
        inner = arena_printf(el->s->arena, "%s, %s", form_hole(el->s, inner, &holes, 'i'), form_hole(el->s, inner, &holes, 'j'));
    for (int at = 0; inner[at];) {
        at += (int)strspn(inner + at, " ,");
        int end = word_end(inner, at);
        const char *word = arena_strndup(el->s->arena, inner + at, (size_t)(end - at));
        if (end == at || !(text_among(el->places, el->n_places, word) || strcmp(word, "0") == 0))
            return false;
        at = end + (int)strspn(inner + end, " ");
        if (inner[at] && inner[at] != ',')
            return false;
    }
    return true;
}

static void note_read(Elements *el, const char *name)
{
    if (!text_among(el->read, el->n_read, name) && el->n_read < ELEMENTS_NAMES)
        el->read[el->n_read++] = name;
}

const char *elements_of_tiles(Elements *el, const char *text)
{
    Str out = str_new(el->s->arena);

    for (int at = 0; text[at] && !el->failed;) {
        if (!begins_word(text, at)) {
            bool suffix = (text[at] == 'f' || text[at] == 'F') && at > 0 && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == '.'); /* 1.0f */
            if (!suffix)
                str_addc(&out, text[at]);
            at++;
            continue;
        }
        int end = word_end(text, at);
        const char *word = arena_strndup(el->s->arena, text + at, (size_t)(end - at)), *value = NULL;
        const Stmt *tensor = cuts_tensor(&el->cuts, word);
        for (int i = 0; i < el->n_values; i++)
            value = strcmp(el->values[i].name, word) == 0 ? el->values[i].text : value;
        at = end;
        if (tensor && text[at] == '[') {
            int close = at + (int)strcspn(text + at, "]");
            const char *inner = arena_strndup(el->s->arena, text + at + 1, (size_t)(close - at - 1));
            if (text[close] == ']' && text[close + 1] == '[') { /* X[i][j] */
                int second = close + 1 + (int)strcspn(text + close + 1, "]");
                inner = arena_printf(el->s->arena, "%s, %.*s", inner, second - close - 2, text + close + 2);
                close = second;
            }
            el->failed |= text[close] != ']' || !elements_at_hand(el, tensor, inner);
            at = text[close] ? close + 1 : close;
            if (tensor->kind == STMT_INPUT)
                note_read(el, word);
            el->failed |= tensor->kind != STMT_INPUT;
        } else {
            el->failed |= tensor || text_among(el->places, el->n_places, word);
        }
        str_add(&out, value ? arena_printf(el->s->arena, "(%s)", value) : tensor ? word : plain_function(word));
        el->failed |= out.len > ELEMENTS_TEXT; /* names that stand for two of the last one each double it */
    }
    return str_text(&out);
}

/* ---- lines -------------------------------------------------------------------------------------------------- */

void elements_note_value(Elements *el, const char *name, const char *text)
{
    bool place = elements_of_places(el, text);

    el->failed |= el->n_values == ELEMENTS_NAMES || el->n_places == ELEMENTS_NAMES;
    if (el->failed)
        return;
    for (int i = 0; i < el->n_values; i++) /* a number that a loop of elements changes is no element */
        el->failed |= strcmp(el->values[i].name, name) == 0 && el->values[i].places != el->n_places;
    const char *value = place ? NULL : elements_of_tiles(el, text);
    if (place)
        el->places[el->n_places++] = name;
    else
        el->values[el->n_values++] = (Named){name, value, el->n_places};
}

static void store(Elements *el, const char *name, const char *inner, const char *text)
{
    const Stmt *output = cuts_tensor(&el->cuts, name);
    const Expr *e;
    const char *steps;

    el->failed |= !output || output->kind != STMT_OUTPUT || !elements_at_hand(el, output, inner);
    e = el->failed ? NULL : formula_expr(el->s, elements_of_tiles(el, text));
    steps = e && !el->failed ? formula_text(el->s, name, e, el->indent) : NULL;
    if (steps)
        str_printf(&el->body, "%s%s\n", el->indent, steps);
    if (steps)
        str_printf(&el->stores, "%sCopy %s from register to global\n", el->indent, name);
    el->failed |= !steps;
    el->output = el->output ? el->output : output;
}

/* `const float x = ...`. */
static const char *without_types(Suggester *s, const char *text)
{
    static const char *const types[] = {"const", "int", "float", "auto", "half", "__half", "bool", "long", "unsigned", "size_t", "int64_t", "int32_t", "constexpr"};

    for (;;) {
        int end = word_end(text, 0);

        if (!text_among(types, TW_COUNT(types), arena_strndup(s->arena, text, (size_t)end)) || text[end] != ' ')
            return text;
        text += end + (int)strspn(text + end, " ");
    }
}

const char *elements_line(Suggester *s, int from, int to)
{
    char *line = arena_strndup(s->arena, s->source->text + from, (size_t)(to - from));
    const char *stops[] = {"#", "//"};

    for (size_t i = 0; i < TW_COUNT(stops); i++)
        if (strstr(line, stops[i]))
            *strstr(line, stops[i]) = '\0';
    size_t len = strlen(line);
    while (len && strchr(" \t;\r{:", line[len - 1]))
        line[--len] = '\0';
    line += strspn(line, " \t");
    char *type = strncmp(line, "for (", 5) == 0 ? line + 5 : line; /* for (int i = ... */
    const char *bare = without_types(s, type);
    return type == line ? bare : arena_printf(s->arena, "for (%s", bare);
}

/* A line of the kernel behind its declarations. */
static void one_line(Elements *el, const char *text)
{
    static const char *const nothing[] = {"end", "return", "__syncthreads"};
    Holes holes;
    int word = word_end(text, 0);
    const char *first = arena_strndup(el->s->arena, text, (size_t)word);

    if (!*text || strspn(text, "{} ") == strlen(text))
        return;
    if (form_match("for $i in $A", text, &holes) || form_match("for $i = $A", text, &holes) || form_match("for ($i = $A)", text, &holes)) {
        el->failed |= el->n_places == ELEMENTS_NAMES;
        if (!el->failed)
            el->places[el->n_places++] = form_hole(el->s, text, &holes, 'i');
    } else if (text_among(nothing, TW_COUNT(nothing), first) || (strcmp(first, "if") == 0 && elements_of_places(el, text + word))) {
        return; /* guards are what tiles have */
    } else if (form_match("$c[$A][$B] = $E", text, &holes)) {
        store(el, form_hole(el->s, text, &holes, 'c'), arena_printf(el->s->arena, "%s, %s", form_hole(el->s, text, &holes, 'A'), form_hole(el->s, text, &holes, 'B')),
              form_hole(el->s, text, &holes, 'E'));
    } else if (form_match("$c[$A] = $E", text, &holes)) {
        store(el, form_hole(el->s, text, &holes, 'c'), form_hole(el->s, text, &holes, 'A'), form_hole(el->s, text, &holes, 'E'));
    } else if (form_match("$c = $E", text, &holes)) {
        elements_note_value(el, form_hole(el->s, text, &holes, 'c'), form_hole(el->s, text, &holes, 'E'));
    } else {
        el->failed = true;
    }
}

/* ---- the kernel --------------------------------------------------------------------------------------------- */

/* A number for each row of the output, where the tensor has one dimension. */
static bool is_column(const Elements *el, const Stmt *tensor)
{
    const Stmt *out = el->output;

    return tensor->n_shape == 1 && out->n_shape > 1 && !expr_equal(tensor->shape[0], out->shape[out->n_shape - 1]) && expr_equal(tensor->shape[0], out->shape[out->n_shape - 2]);
}

static const char *sketch(Elements *el)
{
    Str text = str_new(el->s->arena);

    str_printf(&text, "%sGrid over ", el->indent);
    for (int i = 0; i < el->output->n_shape; i++)
        str_printf(&text, "%s%s", i ? ", " : "", suggest_expr(el->s, el->output->shape[i]));
    str_add(&text, "\n");
    for (int i = 0; i < el->n_read; i++) {
        const Stmt *tensor = cuts_tensor(&el->cuts, el->read[i]);
        str_printf(&text, "%sCopy %s%s from global to register\n", el->indent, el->read[i],
                   is_column(el, tensor) ? arena_printf(el->s->arena, " (%s, 1)", suggest_expr(el->s, tensor->shape[0])) : "");
    }
    str_printf(&text, "%s%s", str_text(&el->body), str_text(&el->stores));
    return str_text(&text);
}

int elements_begin(const Unit *unit)
{
    int end = -1;

    for (int i = 0; i < unit->body.len; i++) {
        StmtKind kind = unit->body.data[i]->kind;
        if (kind == STMT_INPUT || kind == STMT_OUTPUT || kind == STMT_PARAM)
            end = unit->body.data[i]->span.end;
    }
    return end;
}

int elements_end(const Suggester *s, int from)
{
    int at = suggest_line_start(s, s->unit->end), last = at;

    if (strncmp(s->source->text + s->unit->end, "end", 3) == 0)
        return at;
    for (at = from; at < s->unit->end; at = suggest_line_end(s, at) + 1)
        last = strncmp(s->source->text + at, "end", 3) == 0 ? at : last;
    return last;
}

bool propose_elements(Suggester *s)
{
    Elements el = {.s = s, .cuts = cuts_of(s), .body = str_new(s->arena), .stores = str_new(s->arena), .indent = "  "};
    int at = s->unit && s->unit->kind == UNIT_KERNEL ? elements_begin(s->unit) : -1;
    Span all = {at < 0 ? 0 : suggest_line_end(s, at) + 1, 0};

    if (at < 0)
        return false;
    all.end = elements_end(s, all.start);
    for (at = all.start; at < all.end && !el.failed;) {
        int end = suggest_line_end(s, at);

        one_line(&el, elements_line(s, at, end));
        at = end + 1;
    }
    return !el.failed && el.output && suggest_edit(s, all, sketch(&el), "what all threads do, of tiles");
}
