/* language.c: TL in two pages, from the tables of the parser and the manual. */
#include "prompt/prompt.h"

static const char *const intro[TL_FORMS] = {
    [IN_DEFINITION] = "TL is a small language for GPU operators. A definition is one unit `Operator NAME ... end`.\n",
    [IN_SKETCH] = "TL is a small language for GPU operators. A sketch is a unit `Kernel NAME ... end`.\n",
    [IN_CODE] = "TL is a small language for GPU operators. Code is a unit `Kernel NAME ... end`.\n",
};

static const char lines[] =
    "One statement a line; blocks end with `end`; comments begin with `#`. TL is sequential: a Copy is\n"
    "complete when the next statement begins. Nothing that is not listed here exists.\n";

static const char expressions[] =
    "In expressions: + - * / div % **, < <= > >= == !=, and or not, min max ceil floor abs sqrt exp log,\n"
    "inf, row(S) and col(S) for an element's place in S, X[i, j] for an element of an Input in a condition,\n"
    "X.T for the last two dimensions swapped. `/` is real division, `div` rounds down.\n";

/* "FORM: what it is" as "`FORM`: what it is". */
static void put_form(Str *out, const char *help)
{
    const char *colon = strstr(help, ": ");
    int form = colon ? (int)(colon - help) : (int)strlen(help);

    str_printf(out, "- `%.*s`%s.", form, help, help + form);
}

static void put_statements(Str *out, TlForm form)
{
    str_add(out, "\n## Statements\n\n");
    for (int i = 0; i < STMT_COUNT; i++) {
        const char *rule = stmt_rule((StmtKind)i, form);

        if (!rule)
            continue;
        put_form(out, stmt_help((StmtKind)i));
        str_printf(out, " %s\n", rule);
    }
}

static const char *class_name(OpClass class)
{
    switch (class) {
    case OPC_ELEMENT: return "For each element, with broadcasting";
    case OPC_ROW_REDUCE: return "One number a row, a column (rows, 1)";
    case OPC_COL_REDUCE: return "One number a column, a row (1, columns)";
    case OPC_GROUP_REDUCE:
    case OPC_REARRANGE:
    case OPC_SELECT: return "On whole tensors";
    case OPC_GEMM:
    case OPC_SOFTMAX:
    case OPC_MASK:
    case OPC_FILL:
    case OPC_CAST:
    case OPC_DEFINE: break;
    }
    return "Others";
}

static void put_operation(Str *out, const OpInfo *op)
{
    static const char *const operands[] = {"", " a", " a, b", " a, b, c"};

    str_printf(out, "%s%s = %s", op->name, op->class == OPC_ELEMENT ? operands[op->arity] : "", op->help);
}

/* What one instruction of a tile cannot do stands in definitions alone. */
static void put_operations(Str *out, TlForm form)
{
    const char *last = NULL;

    str_add(out, "\n## Operations of Compute\n");
    for (int i = 0; i < OP_COUNT; i++) {
        const OpInfo *op = op_info((OpId)i);
        const char *class = class_name(op->class);

        if (op_is_whole((OpId)i) && form != IN_DEFINITION)
            continue;
        if (class == last)
            str_add(out, "; ");
        else
            str_printf(out, "\n%s: ", class);
        put_operation(out, op);
        last = class;
    }
    str_addc(out, '\n');
}

void prompt_language(Str *out, TlForm form)
{
    str_add(out, "# The language TL\n\n");
    str_add(out, intro[form]);
    str_add(out, lines);
    put_statements(out, form);
    str_addc(out, '\n');
    str_add(out, expressions);
    put_operations(out, form);
}

/* ---- what a reader needs ------------------------------------------------------------------- */

/* "FORM (code) or FORM of a sketch: what it is" has a form that he does not meet. */
static void put_form_of_code(Str *out, const char *help)
{
    const char *code = strstr(help, " (code)"), *colon = strstr(help, ": ");

    if (!code || (colon && colon < code))
        put_form(out, help);
    else
        str_printf(out, "- `%.*s`%s.", (int)(code - help), help, colon ? colon : "");
}

void prompt_language_used(Str *out, const bool *stmts, const bool *ops)
{
    const char *between = "";

    str_add(out, "# The language TL, as far as it occurs\n\nTL is sequential: a Copy is complete when the next statement begins. "
                 "Masks leave out what is not\ntrue (-inf); a tile of a Copy may stand over the end of a tensor, where it has zeros.\n\n");
    for (int i = 0; i < STMT_COUNT; i++) {
        if (!stmts[i] || i == STMT_INPUT || i == STMT_OUTPUT) /* the parameters of the function say it */
            continue;
        put_form_of_code(out, stmt_help((StmtKind)i));
        str_addc(out, '\n');
    }
    str_add(out, "\nOperations: ");
    for (int i = 0; i < OP_COUNT; i++) {
        if (!ops[i])
            continue;
        str_add(out, between);
        put_operation(out, op_info((OpId)i));
        between = "; ";
    }
    str_addc(out, '\n');
    if (ops[OP_SOFTMAX])
        str_add(out, "\nSoftmax S with M and L, in a loop: m = max(M, row maximum of S), S = exp(S - m), f = exp(M - m),\n"
                     "L = L * f + row sum of S, M = m, and what S is accumulated into afterwards is multiplied by f before.\n"
                     "M begins as -inf, L and accumulators as 0; a row that is masked whole stays 0.\n");
}
