/* propose_functions.c: functions that there are elsewhere, as formulas of those that there are here.
 *
 *   Define Y (M, N) as clamp(X[i, j], 0, 6)        Define Y (M, N) as min(max(X[i, j], 0), 6)
 *   Define Y (M, N) as expf(X[i, j] - m)           Define Y (M, N) as exp(X[i, j] - m)
 */
#include "suggest/forms.h"

#include <ctype.h>

enum { MOST_ARGS = 3, LONGEST = 2000 /* of a formula: operands stand in some twice */ };

static const struct {
    const char *names; /* words, with spaces between them */
    int n_args;
    const char *formula;
} FUNCTIONS[] = {
#define FUNCTION(names, n_args, formula) {names, n_args, formula},
#include "suggest/functions.def"
#undef FUNCTION
};

/* A function's name with its operands, as they stand in the text. */
typedef struct Called {
    const char *name;
    Span args[MOST_ARGS], whole;
    int n_args;
} Called;

/* The operands behind the bracket at an offset, each up to its comma; false: the bracket does not close, or they are too many. */
static bool read_operands(const char *text, int at, Called *call)
{
    int start = at + 1;

    for (int depth = 0; text[at]; at++) {
        char c = text[at];
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (c == '\n')
            return false;
        if ((c != ',' || depth != 1) && depth != 0)
            continue;
        if (call->n_args == MOST_ARGS)
            return false;
        while (text[start] == ' ')
            start++;
        call->args[call->n_args++] = (Span){start, at};
        start = at + 1;
        if (depth == 0) {
            call->whole.end = at + 1;
            return true;
        }
    }
    return false;
}

static bool read_call(Suggester *s, const char *text, int start, Called *call)
{
    int end = start;

    while (is_name_char(text[end]))
        end++;
    *call = (Called){.name = arena_strndup(s->arena, text + start, (size_t)(end - start)), .whole = {start, end}};
    return end > start && text[end] == '(' && read_operands(text, end, call);
}

static const char *in_table(const char *name, int n_args)
{
    for (size_t i = 0; i < TW_COUNT(FUNCTIONS); i++)
        if (FUNCTIONS[i].n_args == n_args && suggest_among(name, FUNCTIONS[i].names))
            return FUNCTIONS[i].formula;
    return NULL;
}

/* The formula, or a function with its operands as they are, by the name or by what is left of `__expf` without what C adds to it; NULL: there is none. */
static const char *formula_of(Suggester *s, const Called *call)
{
    const char *name = call->name + strspn(call->name, "_");
    size_t len = strlen(name);
    OpId op;

    const char *formula = in_table(name, call->n_args);
    if (formula || len < 3 || name[len - 1] != 'f')
        return formula;
    name = arena_strndup(s->arena, name, len - 1);
    formula = in_table(name, call->n_args);
    if (formula)
        return formula;
    if (!op_find(name, &op) || op_info(op)->class != OPC_ELEMENT || op_info(op)->arity != call->n_args)
        return NULL;
    return arena_printf(s->arena, "%s(%s)", name, call->n_args == 1 ? "$X" : call->n_args == 2 ? "$X, $A" : "$X, $A, $B");
}

/* ---- the text ---------------------------------------------------------------------------------------- */

/* Whether an operand has to stand in brackets beside an operator. */
static bool is_compound(const char *text)
{
    int depth = 0;

    for (; *text; text++) {
        depth += (*text == '(' || *text == '[') - (*text == ')' || *text == ']');
        if (depth == 0 && strchr("+-*/%<>=! ", *text))
            return true;
    }
    return false;
}

static const char *expanded(Suggester *s, const char *text, Span span, int depth); /* NULL: it is too long */

/* Whether what an operand's hole stands between sets it apart. */
static bool is_apart(const char *formula, const char *hole)
{
    bool opened = hole > formula && (hole[-1] == '(' || (hole[-1] == ' ' && hole[-2] == ','));

    return opened && (hole[2] == ',' || hole[2] == ')');
}

static const char *filled(Suggester *s, const char *text, const Called *call, const char *formula, int depth)
{
    static const char letters[] = "XAB";
    Str out = str_new(s->arena);

    for (const char *at = formula; *at; at++) {
        if (*at != '$') {
            str_addc(&out, *at);
            continue;
        }
        const char *operand = expanded(s, text, call->args[strchr(letters, at[1]) - letters], depth + 1);
        if (!operand || out.len + (int)strlen(operand) > LONGEST)
            return NULL;
        str_printf(&out, !is_apart(formula, at) && is_compound(operand) ? "(%s)" : "%s", operand);
        at++;
    }
    return str_text(&out);
}

/* Whether an operator beside it would take a part of what stands there. */
static bool stands_beside(const char *text, Span whole)
{
    int before = whole.start - 1, after = whole.end;

    while (before > 0 && text[before] == ' ')
        before--;
    while (text[after] == ' ')
        after++;
    return (before >= 0 && strchr("+-*/%", text[before])) || (text[after] && strchr("*/%", text[after]));
}

/* A part of the text with all functions as their formulas. */
static const char *expanded(Suggester *s, const char *text, Span span, int depth)
{
    Str out = str_new(s->arena);
    Called call;

    for (int at = span.start; at < span.end;) {
        bool word = (isalpha((unsigned char)text[at]) || text[at] == '_') && (at == 0 || !is_name_char(text[at - 1]));
        const char *formula = word && depth < SUGGEST_MAX_DEPTH && read_call(s, text, at, &call) ? formula_of(s, &call) : NULL;
        if (!formula) {
            str_addc(&out, text[at++]);
            continue;
        }
        const char *made = filled(s, text, &call, formula, depth);
        if (!made)
            return NULL;
        str_printf(&out, stands_beside(text, call.whole) && is_compound(made) ? "(%s)" : "%s", made);
        at = call.whole.end;
    }
    return str_text(&out);
}

const char *functions_expanded(Suggester *s, const char *text)
{
    return expanded(s, text, (Span){0, (int)strlen(text)}, 0);
}

/* The function that the diagnostic is of, and if that is not all, those behind it. */
bool propose_formula_of_function(Suggester *s)
{
    static const char label[] = "a formula of what there is";
    Called call;
    const char *text = s->source->text;
    int start = s->diag->span.start;

    if (!read_call(s, text, start, &call) || !formula_of(s, &call))
        return false;
    Span rest = {start, suggest_line_end(s, start)};
    const char *alone = expanded(s, text, call.whole, 0), *all = expanded(s, text, rest, 0);
    return (alone && suggest_edit(s, call.whole, alone, label)) || (all && suggest_edit(s, rest, all, label));
}
