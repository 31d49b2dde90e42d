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

    str_printf(out, "- `%.*s`%s. ", form, help, help + form);
}

static void put_statements(Str *out, TlForm form)
{
    str_add(out, "\n## Statements\n\n");
    for (int i = 0; i < STMT_COUNT; i++) {
        const char *rule = stmt_rule((StmtKind)i, form);

        if (!rule)
            continue;
        put_form(out, stmt_help((StmtKind)i));
        str_printf(out, "%s\n", rule);
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
