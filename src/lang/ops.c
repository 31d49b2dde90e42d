/* ops.c: the table of operations, and the words of statements. */
#include "lang/lines.h"

#include <math.h>

const OpInfo *op_info(OpId op)
{
    static const OpInfo infos[] = {
#define OP(id, name, class, arity, expr, help) [OP_##id] = {name, class, arity, help},
#include "lang/ops.def"
#undef OP
    };
    return &infos[op];
}

bool op_is_exponential(OpId op)
{
    return op == OP_EXP || op == OP_EXP2;
}

bool op_is_whole(OpId op)
{
    OpClass class = op_info(op)->class;

    return class == OPC_GROUP_REDUCE || class == OPC_REARRANGE || class == OPC_SELECT;
}

/* Other names that writers use for the same thing. */
static const struct { const char *name; OpId op; } synonyms[] = {
    {"Sub", OP_SUBTRACT},      {"Minus", OP_SUBTRACT},   {"Mul", OP_MULTIPLY},      {"Multiplication", OP_MULTIPLY},
    {"Scale", OP_MULTIPLY},    {"Div", OP_DIVIDE},       {"Plus", OP_ADD},          {"Maximum", OP_MAX},
    {"Minimum", OP_MIN},       {"Pow", OP_POWER},        {"Neg", OP_NEGATE},        {"Inverse", OP_RECIPROCAL},
    {"Swish", OP_SILU},        {"Matmul", OP_GEMM},      {"MMA", OP_GEMM},          {"Convert", OP_CAST},
    {"Exponential", OP_EXP},   {"Ln", OP_LOG},           {"ReduceMax", OP_ROW_MAX}, {"ReduceMin", OP_ROW_MIN},
    {"ReduceSum", OP_ROW_SUM}, {"ReduceMean", OP_ROW_MEAN}, {"ColumnMax", OP_COL_MAX}, {"ColumnSum", OP_COL_SUM},
    {"CeilDiv", OP_CEIL_DIVIDE}, {"CDiv", OP_CEIL_DIVIDE}, {"DivUp", OP_CEIL_DIVIDE}, {"Rint", OP_ROUND}, {"BatchMatMul", OP_GEMM}, {"BatchedGEMM", OP_GEMM}, {"BatchGEMM", OP_GEMM},
    {"Sgn", OP_SIGN}, {"ErrorFunction", OP_ERF}, {"Rcp", OP_RECIPROCAL}, {"Recip", OP_RECIPROCAL}, {"Invert", OP_RECIPROCAL}, {"InvSqrt", OP_RSQRT},
    {"ReciprocalSqrt", OP_RSQRT}, {"Absolute", OP_ABS}, {"Fabs", OP_ABS}, {"Logistic", OP_SIGMOID}, {"Ceiling", OP_CEIL}, {"Sqr", OP_SQUARE}, {"Squared", OP_SQUARE},
    {"MultiplyAdd", OP_FMA}, {"MulAdd", OP_FMA}, {"Mad", OP_FMA}, {"RowAverage", OP_ROW_MEAN}, {"RowAvg", OP_ROW_MEAN},
    {"GreaterThan", OP_GREATER}, {"LessThan", OP_LESS},  {"GreaterOrEqual", OP_GREATER_EQUAL}, {"LessOrEqual", OP_LESS_EQUAL},
};

/* `row_max` is RowMax: underscores do not count. */
bool op_same_letters(const char *name, const char *op)
{
    for (;; name++, op++) {
        while (*name == '_')
            name++;
        if ((*name | 0x20) != (*op | 0x20))
            return !*name && !*op;
        if (!*name)
            return true;
    }
}

bool op_find(const char *name, OpId *op)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (op_same_letters(name, op_info((OpId)i)->name)) {
            *op = (OpId)i;
            return true;
        }
    for (size_t i = 0; i < TW_COUNT(synonyms); i++)
        if (op_same_letters(name, synonyms[i].name)) {
            *op = synonyms[i].op;
            return true;
        }
    return false;
}

const char *op_nearest(const char *name)
{
    const char *best = NULL;
    int limit = strlen(name) < 5 ? 1 : 2;

    for (int i = 0; i < OP_COUNT; i++) {
        int distance = word_distance(name, op_info((OpId)i)->name, limit);

        if (distance <= limit) {
            best = op_info((OpId)i)->name;
            limit = distance - 1;
        }
    }
    return best;
}

const char *op_hint(const char *name)
{
    static const struct { const char *names[6]; const char *hint; } hints[] = {
        {{"Sum", "Reduce", "Total"}, "RowSum adds up each row (the last dimension), ColSum each column; of two tensors: Add"},
        {{"Mean", "Average", "Avg"}, "RowMean is the mean of each row (the last dimension); GroupMean that of groups"},
        {{"Transpose", "Permute"}, "a GEMM takes `X.T`; elsewhere `Compute Define Y (N, M) as X[col, row]`"},
        {{"Concat", "Concatenate", "Cat", "Stack"}, "`Compute Define Y (M, 2 * N) as A[row, col] + B[row, col - N]`: outside of a "
         "tensor, elements read as 0"},
        {{"Slice", "Split", "Gather", "Select", "Index"}, "`Compute Define Y (M, N) as X[row, col + start]`: an element from its coordinates"},
        {{"Clamp", "Clip"}, "Max with the lower bound, then Min with the upper one"},
        {{"CumSum", "Scan", "PrefixSum"}, "a GEMM with the matrix of ones `Compute Define L (N, N) as row <= col`"},
        {{"Zero", "Zeros", "Clear", "Set", "Initialize", "Init"}, "`Compute Fill X, 0 and get new X`"},
        {{"Expand", "Broadcast", "Repeat", "Unsqueeze"}, "dimensions of size 1 fit any, and heads share: nothing need be written"},
        {{"View", "Flatten", "Squeeze"}, "`Compute Reshape X and get Y (shape)`"},
        {{"Dot", "BMM", "Einsum", "Linear"}, "`Compute GEMM A, B and get C`; leading dimensions are batches"},
        {{"Less", "LessEqual", "Equal", "Compare"}, "a condition stands in Where or Mask: `Compute Where a < b, x, y and get Z`"},
        {{"Normalize", "Norm", "RMSNorm"}, "its steps: Square, RowMean, Add, Rsqrt, Multiply"},
        {{"LayerNorm", "Variance", "Var", "Std"}, "its steps: RowMean, Subtract, Square, RowMean, and for a norm Add, Rsqrt, Multiply"},
        {{"ArgMax", "ArgMin"}, "RowMax, Equal, `Compute Define At (M, N) as col`, `Compute Where equal, At, N and get C`, RowMin"},
        {{"LogSoftmax"}, "its steps: RowMax, Subtract, Exp, RowSum, Log, Subtract"},
        {{"LogSumExp"}, "its steps: RowMax, Subtract, Exp, RowSum, Log, and Add of the maximum"},
        {{"LeakyReLU", "PReLU"}, "Multiply by the slope, then Max of that and the operand"},
        {{"ELU", "SELU", "CELU"}, "`Compute Greater X, 0 and get p`, Exp, Subtract 1, `Compute Where p, X, E and get Y`"},
        {{"Softplus"}, "its steps: Exp, Add 1, Log"},
        {{"Dropout"}, "`Compute Where keep, P, 0 and get Q`, with a tensor `keep` of bool, and Multiply"},
        {{"Copy", "Identity", "Assign", "Return"}, "the statement that computes it names its result: `and get O`"},
        {{"Mod", "Remainder", "Modulo"}, "`a % b` in a Define or a condition"},
        {{"Erfc"}, "1, less Erf"},
        {{"Relu6", "HardSwish", "HardSigmoid", "HardTanh"}, "Max with the lower bound, then Min with the upper one"},
        {{"Log10"}, "Log, Multiply by 0.43429448"},
        {{"Tan"}, "Sin, Cos, Divide"},
        {{"Sinh", "Cosh"}, "Exp, Reciprocal, of these Subtract or Add, Multiply by 0.5"},
        {{"Softmin"}, "Negate, Softmax"},
        {{"And", "Or", "Not", "Xor"}, "of conditions in Mask, Where and Define `and`, `or`, `not`; of tensors of 0 and 1 Multiply, Max, Equal to 0, NotEqual"},
        {{"RowVar", "RowVariance", "RowStd", "ColVar", "ColStd"}, "RowMean, Subtract, Square, RowMean, and for the deviation Sqrt"},
        {{"ColMin", "ColMean", "ColProd"}, "in a definition RowMin or RowMean `over` the rows' dimension; in code ColMax of the Negate, and ColSum over their number"},
        {{"Median", "RowMedian", "Sort", "RowSort", "ArgSort"}, "TopK says which are the largest; elsewhere an element's place is how many stand ahead of it"},
        {{"GroupMin"}, "GroupMax of the Negate, and Negate"},
        {{"RowProd", "CumProd", "CumMax"}, "a product along a row is Exp of the RowSum of its Log, where all are positive; what runs along a row is a loop in code"},
        {{"ColSoftmax", "ColumnSoftmax"}, "Softmax `over` the rows' dimension"},
        {{"Asin", "Acos", "Atan"}, "Power and Define with what there is; `tw explain TW0233` has all functions"},
    };

    for (size_t i = 0; i < TW_COUNT(hints); i++)
        for (size_t k = 0; k < TW_COUNT(hints[i].names) && hints[i].names[k]; k++)
            if (op_same_letters(name, hints[i].names[k]))
                return hints[i].hint;
    return NULL;
}

double op_eval(OpId op, double a, double b, double c)
{
    switch (op) {
#define OP(id, name, class, arity, expr, help) case OP_##id: return expr;
#include "lang/ops.def"
#undef OP
    case OP_COUNT:
        break;
    }
    return 0;
}

double op_identity(OpId op)
{
    OpClass class = op_info(op)->class;
    bool reduces = class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE || class == OPC_GROUP_REDUCE;

    /* A sum starts at 0; the largest and the smallest start where one step gives the other operand. */
    if (!reduces || op_eval(op, 0, 1, 0) + op_eval(op, 0, -1, 0) == 0)
        return 0;
    return op_eval(op, 0, 1, 0) == 1 ? -INFINITY : INFINITY;
}

const char *space_name(Space space)
{
    static const char *const names[] = {"", "global", "shared", "register"};
    return names[space];
}

static const struct { const char *keyword, *help, *rules[TL_FORMS]; } statements[] = {
#define STMT(id, keyword, help, in_definition, in_sketch, in_code) {keyword, help, {in_definition, in_sketch, in_code}},
#include "lang/stmts.def"
#undef STMT
};

const char *stmt_keyword(StmtKind kind)
{
    return statements[kind].keyword;
}

const char *stmt_help(StmtKind kind)
{
    return statements[kind].help;
}

const char *stmt_rule(StmtKind kind, TlForm form)
{
    return statements[kind].rules[form];
}
