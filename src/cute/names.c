/* names.c: names and integer expressions as C++. */
#include "cute/emit.h"

/* Keywords and what the generated code itself says. */
static const char *const reserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "class", "compl", "const", "constexpr", "continue", "decltype", "default", "delete", "do", "double", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable",
    "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected",
    "public", "register", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this",
    "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void",
    "volatile", "wchar_t", "while", "xor", "xor_eq", "tw", "cute", "cutlass", "std", "main", "row", "col", "x", "y",
    "at", "stage", "parts", "shared", "Place", "Beside", "Wide", "Tensor", "Shape", "Layout", "Int", "size", "copy", "clear",
    "fill", "get", "half_t", "bfloat16_t", "int64_t", "uint8_t", "threadIdx", "blockIdx", "block", "INFINITY", "NAN",
    "exp", "log", "max", "min", "abs", "sqrt", "gemm", "print", "select", "take", "shape", "rank", "signbit", "div", "index",
};

static bool is_taken(const Cute *c, const char *name)
{
    return text_among(reserved, (int)TW_COUNT(reserved), name) || text_among(c->taken.data, c->taken.len, name);
}

const char *cu_name(Cute *c, const char *wish)
{
    char *base = arena_printf(c->arena, "%s%s", *wish >= '0' && *wish <= '9' ? "v" : "", wish);
    const char *name;
    for (char *p = base; *p; p++)
        if (!is_name_char(*p)) *p = '_';
    name = base;
    for (int n = 2; is_taken(c, name); n++) name = arena_printf(c->arena, "%s_%d", base, n);
    vec_push(c->arena, &c->taken, name);
    return name;
}

const char *cu_arg(Cute *c, AbiArgKind kind, int tensor, int which)
{
    for (int i = 0; i < c->abi->args.len; i++) {
        const AbiArg *a = &c->abi->args.data[i];
        bool of_tensor = kind == ABI_ADDRESS || kind == ABI_STRIDE;
        if (a->kind != kind) continue;
        if (of_tensor ? a->tensor == tensor && (kind == ABI_ADDRESS || a->axis == which) : a->position == which)
            return c->args[i];
    }
    return "0";
}

const char *cu_sym(void *cute, const AffSym *sym)
{
    Cute *c = cute;
    if (sym->kind == AFF_ROW) return "row";
    if (sym->kind == AFF_COL) return "col";
    if (!c->syms[sym->id]) c->syms[sym->id] = cu_name(c, sym->name);
    return c->syms[sym->id];
}

/* (0 <= b and b < T_dim0 ? int(T[b * T_stride0 + j]) : 0) */
static const char *element(void *cute, const AffSym *table, const Aff *const *coords, int n)
{
    Cute *c = cute;
    AffCtx *aff = c->program->aff;
    const TileTensor *t = tile_table_of(c->program, table);
    Str inside = str_new(c->arena), at = str_new(c->arena);
    for (int d = 0; t && d < n; d++) {
        const Aff *low = aff_le(aff, aff_const(aff, 0), coords[d]), *high = aff_lt(aff, coords[d], t->dims[d]);
        if (!aff_always(aff, low)) str_printf(&inside, "%s%s", inside.len ? " and " : "", cu_expr(c, low));
        if (!aff_always(aff, high)) str_printf(&inside, "%s%s", inside.len ? " and " : "", cu_expr(c, high));
        str_printf(&at, "%sint64_t(%s)", d ? " + " : "", cu_expr(c, coords[d]));
        if (d + 1 < n) str_printf(&at, " * %s", cu_arg(c, ABI_STRIDE, t->index, d));
    }
    return arena_printf(c->arena, "(%s ? int(%s[%s]) : 0)", inside.len ? str_text(&inside) : "true",
                        t ? cu_arg(c, ABI_ADDRESS, t->index, 0) : "0", str_text(&at));
}

static const char *styled(Cute *c, const Aff *a, const char *conjunction, const char *disjunction)
{
    AffStyle style = {.conjunction = conjunction, .disjunction = disjunction,
                      .name = cu_sym, .user = c, .floor_div = "tw::floor_div", .floor_mod = "tw::floor_mod",
                      .ceil_div = "ceil_div", .min = "tw::least", .max = "tw::most", .element = element};
    Str s = str_new(c->arena);
    aff_print_styled(&s, a, &style);
    return str_text(&s);
}

const char *cu_dtype(DType t)
{
    static const char *const names[DT_COUNT] = {
        [DT_F32] = "float", [DT_F16] = "tw::half_t", [DT_BF16] = "tw::bfloat16_t", [DT_E4M3] = "cutlass::float_e4m3_t",
        [DT_E5M2] = "cutlass::float_e5m2_t", [DT_F64] = "double", [DT_I32] = "int", [DT_I64] = "int64_t",
        [DT_I8] = "int8_t", [DT_U8] = "uint8_t",
        [DT_BOOL] = "uint8_t"};
    return names[t];
}

const char *cu_expr(Cute *c, const Aff *a)
{
    return styled(c, a, " and ", " or ");
}

const char *cu_select(Cute *c, const Aff *a)
{
    return styled(c, a, " & ", " | ");
}

bool cu_is_matrix(const TileValue *v)
{
    return v->type.rows > 1 && v->type.cols > 1;
}

bool cu_is_column(const TileValue *v)
{
    return v->type.rows > 1 && v->type.cols == 1;
}

bool cu_is_row(const TileValue *v)
{
    return v->type.rows == 1 && v->type.cols > 1;
}

bool cu_is_scalar(const TileValue *v)
{
    return v->type.rows == 1 && v->type.cols == 1;
}
