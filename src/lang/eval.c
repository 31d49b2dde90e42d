/* eval.c: see eval.h. One table of functions serves integers and numbers. */
#include "lang/eval.h"

#include <math.h>

enum { EVAL_MAX_DEPTH = 500 };

void eval_init(EvalEnv *env, Arena *arena, AffCtx *aff)
{
    *env = (EvalEnv){.arena = arena, .aff = aff};
}

/* ---- names -------------------------------------------------------------------------- */

static unsigned hash_of(const char *name)
{
    unsigned hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static int *head_of(const EvalEnv *env, unsigned hash)
{
    return &env->heads[hash & (unsigned)(env->n_heads - 1)];
}

/* The last entry of each chain is the one that was bound first. */
static void chain_up(EvalEnv *env, int i)
{
    int *head = head_of(env, env->names.data[i].hash);

    env->names.data[i].below = *head;
    *head = i;
}

static void grow(EvalEnv *env)
{
    env->n_heads = env->n_heads ? env->n_heads * 2 : 32;
    env->heads = arena_array(env->arena, int, env->n_heads);
    for (int i = 0; i < env->n_heads; i++)
        env->heads[i] = -1;
    for (int i = 0; i < env->names.len; i++)
        chain_up(env, i);
}

static void bind(EvalEnv *env, EvalName entry)
{
    if (env->names.len >= env->n_heads)
        grow(env);
    entry.hash = hash_of(entry.name);
    vec_push(env->arena, &env->names, entry);
    chain_up(env, env->names.len - 1);
}

void eval_bind_unknown(EvalEnv *env, const char *name)
{
    bind(env, (EvalName){.name = name});
}

void eval_bind(EvalEnv *env, const char *name, const Aff *value)
{
    int64_t v;
    bool known = aff_is_const(value, &v);
    bind(env,
         (EvalName){
             .name = name, .aff = value, .has_number = known, .number = known ? (double)v : 0});
}

void eval_bind_number(EvalEnv *env, const char *name, double value)
{
    bind(env, (EvalName){.name = name, .has_number = true, .number = value});
}

void eval_bind_block(EvalEnv *env, int i, const Aff *value)
{
    static const char *const names[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

    if (i < (int)TW_COUNT(names))
        eval_bind(env, names[i], value);
}

const EvalName *eval_find(const EvalEnv *env, const char *name)
{
    unsigned hash = hash_of(name);

    for (int i = env->n_heads ? *head_of(env, hash) : -1; i >= 0; i = env->names.data[i].below)
        if (env->names.data[i].hash == hash && text_equal(env->names.data[i].name, name))
            return &env->names.data[i];
    return NULL;
}

int eval_mark(const EvalEnv *env)
{
    return env->names.len;
}

void eval_reset(EvalEnv *env, int mark)
{
    while (env->names.len > mark) {
        const EvalName *last = &env->names.data[--env->names.len];
        *head_of(env, last->hash) = last->below;
    }
}

const char *eval_nearest(const EvalEnv *env, const char *name)
{
    int limit = strlen(name) < 2 ? 0 : strlen(name) < 4 ? 1 : 2, best = limit + 1;
    const char *nearest = NULL;
    for (int i = 0; i < env->names.len; i++) {
        int d = name_distance(name, env->names.data[i].name, limit);
        if (d < best) {
            best = d;
            nearest = env->names.data[i].name;
        }
    }
    return nearest;
}

/* ---- diagnostics --------------------------------------------------------------- */

static const Aff *unknown_name(EvalEnv *env, const Expr *e, Diags *diags)
{
    int before = diags ? diags->errors : 0;
    const Aff *value = env->unknown ? env->unknown(env->user, e, diags) : NULL;
    if (value || !diags || diags->errors > before)
        return value;
    Diag *d = diag_add(diags, TW0220, e->span, "'%s' has no value here", e->name);
    const char *nearest = eval_nearest(env, e->name);
    if (nearest)
        diag_fix(diags, d, e->span, nearest,
                 arena_printf(env->arena, "did you mean '%s'?", nearest));
    return NULL;
}

static const Aff *not_integer(const Expr *e, Diags *diags, const char *what)
{
    if (diags)
        diag_add(diags, TW0221, e->span, "%s is not an integer", what);
    return NULL;
}

static const Aff *eval(EvalEnv *env, const Expr *e, Diags *diags, int depth);

static bool divides(const Expr *e)
{
    return e->kind == EXPR_BINARY && (e->op == EO_DIV || e->op == EO_IDIV || e->op == EO_MOD);
}

/* The part of e, which may be NULL, that divides by what is 0; NULL: none. */
static const Expr *divided_by_zero(EvalEnv *env, const Expr *e, int depth)
{
    const Aff *by = e && divides(e) ? eval(env, e->b, NULL, depth) : NULL;
    const Expr *found = NULL;
    int64_t n;

    if (!e || depth >= EVAL_MAX_DEPTH || (by && aff_is_const(by, &n) && n == 0))
        return depth >= EVAL_MAX_DEPTH ? NULL : e;
    if (!(found = divided_by_zero(env, e->a, depth + 1)))
        found = divided_by_zero(env, e->b, depth + 1);
    for (int i = 0; i < e->n_args && !found; i++)
        found = divided_by_zero(env, e->args[i], depth + 1);
    return found;
}

static const Aff *by_zero(const Expr *e, Diags *diags)
{
    if (diags)
        diag_add(diags, TW0247, e->span, e->b->kind == EXPR_NAME ? "division by '%s', which is 0" : "division by 0", e->b->name);
    return NULL;
}

static const Aff *checked(EvalEnv *env, const Aff *value, const Expr *e, Diags *diags, int depth)
{
    if (value && !aff_is_poison(value))
        return value;
    const Expr *quotient = value && diags ? divided_by_zero(env, e, depth) : NULL;
    if (quotient)
        return by_zero(quotient, diags);
    if (value && diags)
        diag_add(diags, TW0222, e->span, "the value is beyond 64 bits, or of too many terms");
    return NULL;
}

/* ---- integers --------------------------------------------------------------------- */

/* a ** b as a power of two, its exponent; NULL: it is none that is an integer for sure. */
static const Aff *exponent_of_two(EvalEnv *env, const Aff *a, const Aff *b)
{
    int64_t base, lo, hi;
    if (!aff_is_const(a, &base) || base < 2 || (base & (base - 1)))
        return NULL;
    const Aff *exponent = aff_scale(env->aff, b, __builtin_ctzll((uint64_t)base));
    aff_bounds(exponent, &lo, &hi);
    return lo >= 0 && !aff_is_poison(exponent) ? exponent : NULL;
}

static const Aff *power(EvalEnv *env, const Aff *a, const Aff *b)
{
    const Aff *result = aff_const(env->aff, 1), *exponent;
    int64_t n;
    if (!aff_is_const(b, NULL) && (exponent = exponent_of_two(env, a, b)) != NULL) {
        result = aff_exp2(env->aff, exponent);
        return aff_is_poison(result) ? NULL : result;
    }
    if (!aff_is_const(b, &n) || n < 0)
        return NULL;
    if (n > 64) /* what is not -1, 0 or 1 is beyond 64 bits long before */
        n = 64 - n % 2;
    for (; n > 0; n--)
        result = aff_mul(env->aff, result, a);
    return result;
}

static const Aff *exact_quotient(EvalEnv *env, const Expr *e, const Aff *a, const Aff *b,
                                 Diags *diags)
{
    int64_t rest = 1;
    if (aff_is_const(b, &rest) && rest == 0)
        return by_zero(e, diags);
    if (env->round_division || (aff_is_const(aff_mod(env->aff, a, b), &rest) && rest == 0))
        return aff_div(env->aff, a, b);
    if (!diags)
        return NULL;
    Diag *d =
        diag_add(diags, TW0221, e->span, "a quotient that is not always whole is not an integer");
    if (diags->source && (size_t)e->span.end <= diags->source->len) {
        Str fix = str_new(env->arena);
        str_add(&fix, "ceil(");
        str_addn(&fix, diags->source->text + e->span.start, (size_t)(e->span.end - e->span.start));
        str_addc(&fix, ')');
        diag_fix(diags, d, e->span, str_text(&fix), "round up; or round down with 'div'");
    }
    return NULL;
}

/* What a is divided by: of a power of two whose exponent has no end, one that is larger than a. NULL: it is no such. */
static const Aff *large_divisor(EvalEnv *env, const Expr *e, const Aff *a, int depth)
{
    int64_t lo, hi, most = INT64_C(1) << AFF_MOST_EXPONENT;
    if (!a || (e->op != EO_IDIV && e->op != EO_MOD) || e->b->kind != EXPR_BINARY || e->b->op != EO_POW)
        return NULL;
    const Aff *base = eval(env, e->b->a, NULL, depth), *power = eval(env, e->b->b, NULL, depth);
    const Aff *exponent = base && power ? exponent_of_two(env, base, power) : NULL;
    aff_bounds(a, &lo, &hi);
    if (!exponent || lo < (e->op == EO_MOD ? 0 : -most) || hi >= most)
        return NULL;
    return aff_exp2(env->aff, aff_min(env->aff, exponent, aff_const(env->aff, AFF_MOST_EXPONENT)));
}

static const Aff *eval_binary(EvalEnv *env, const Expr *e, Diags *diags, int depth)
{
    AffCtx *c = env->aff;
    const Aff *a = eval(env, e->a, diags, depth), *b = large_divisor(env, e, a, depth);
    b = b ? b : eval(env, e->b, diags, depth);
    if (!a || !b)
        return NULL;
    switch (e->op) {
    case EO_ADD: return aff_add(c, a, b);
    case EO_SUB: return aff_sub(c, a, b);
    case EO_MUL: return aff_mul(c, a, b);
    case EO_DIV: return exact_quotient(env, e, a, b, diags);
    case EO_IDIV: return aff_div(c, a, b);
    case EO_MOD: return aff_mod(c, a, b);
    case EO_LT: return aff_lt(c, a, b);
    case EO_LE: return aff_le(c, a, b);
    case EO_GT: return aff_lt(c, b, a);
    case EO_GE: return aff_le(c, b, a);
    case EO_EQ: return aff_eq(c, a, b);
    case EO_NE: return aff_not(c, aff_eq(c, a, b));
    case EO_AND: return aff_and(c, a, b);
    case EO_OR: return aff_or(c, a, b);
    case EO_POW: {
        const Aff *p = power(env, a, b);
        return p ? p : not_integer(e, diags, "a power with such an exponent");
    }
    case EO_NEG:
    case EO_NOT: break;
    }
    return NULL;
}

/* ceil(a / b), floor(a / b); of anything else that is an integer, itself */
static const Aff *eval_rounding(EvalEnv *env, const Expr *e, Diags *diags, int depth, bool up)
{
    const Expr *x = e->args[0];
    if (x->kind != EXPR_BINARY || x->op != EO_DIV)
        return eval(env, x, diags, depth);
    const Aff *a = eval(env, x->a, diags, depth), *b = eval(env, x->b, diags, depth);
    if (!a || !b)
        return NULL;
    return up ? aff_ceildiv(env->aff, a, b) : aff_div(env->aff, a, b);
}

static const Aff *eval_fold(EvalEnv *env, const Expr *e, Diags *diags, int depth, bool least)
{
    const Aff *result = NULL;
    for (int i = 0; i < e->n_args; i++) {
        const Aff *x = eval(env, e->args[i], diags, depth);
        if (!x)
            return NULL;
        result = !result ? x : least ? aff_min(env->aff, result, x) : aff_max(env->aff, result, x);
    }
    return result;
}

typedef enum Function {
    F_MIN,
    F_MAX,
    F_CEIL,
    F_FLOOR,
    F_ABS,
    F_SQRT,
    F_RSQRT,
    F_EXP,
    F_EXP2,
    F_LOG,
    F_LOG2,
    F_TANH,
    F_CEILDIV,
    F_NONE
} Function;

static const struct {
    const char *name;
    int least_args, most_args;
    bool integer; /* means something for integers */
} functions[F_NONE] = {
    [F_MIN] = {"min", 1, 64, true},        [F_MAX] = {"max", 1, 64, true},
    [F_CEIL] = {"ceil", 1, 1, true},       [F_FLOOR] = {"floor", 1, 1, true},
    [F_ABS] = {"abs", 1, 1, true},         [F_SQRT] = {"sqrt", 1, 1, false},
    [F_RSQRT] = {"rsqrt", 1, 1, false},    [F_EXP] = {"exp", 1, 1, false},
    [F_EXP2] = {"exp2", 1, 1, false},      [F_LOG] = {"log", 1, 1, false},
    [F_LOG2] = {"log2", 1, 1, false},      [F_TANH] = {"tanh", 1, 1, false},
    [F_CEILDIV] = {"ceildiv", 2, 2, true},
};

static Function find_function(const char *name)
{
    for (int f = 0; f < F_NONE; f++)
        if (text_equal_nocase(name, functions[f].name))
            return (Function)f;
    OpId op;
    return op_find(name, &op) && op == OP_CEIL_DIVIDE ? F_CEILDIV : F_NONE; /* whatever it is called */
}

bool eval_has_function(const char *name)
{
    OpId op;

    return find_function(name) != F_NONE || (op_find(name, &op) && op_info(op)->class == OPC_ELEMENT);
}

static const Aff *eval_function(EvalEnv *env, const Expr *e, Function f, Diags *diags, int depth)
{
    const Aff *x, *y;
    switch (f) {
    case F_MIN: return eval_fold(env, e, diags, depth, true);
    case F_MAX: return eval_fold(env, e, diags, depth, false);
    case F_CEIL: return eval_rounding(env, e, diags, depth, true);
    case F_FLOOR: return eval_rounding(env, e, diags, depth, false);
    case F_ABS:
        x = eval(env, e->args[0], diags, depth);
        return x ? aff_max(env->aff, x, aff_scale(env->aff, x, -1)) : NULL;
    case F_CEILDIV:
        x = eval(env, e->args[0], diags, depth);
        y = eval(env, e->args[1], diags, depth);
        return x && y ? aff_ceildiv(env->aff, x, y) : NULL;
    case F_SQRT:
    case F_RSQRT:
    case F_EXP:
    case F_EXP2:
    case F_LOG:
    case F_LOG2:
    case F_TANH:
    case F_NONE: break;
    }
    return not_integer(e, diags, "the value of this function");
}

static const Aff *eval_call(EvalEnv *env, const Expr *e, Diags *diags, int depth)
{
    Function f = find_function(e->name);
    if (f == F_NONE) {
        int before = diags ? diags->errors : 0;
        const Aff *value = env->call ? env->call(env->user, e, diags) : NULL;
        if (!value && diags && diags->errors == before)
            diag_add(diags, TW0223, e->span, "'%s' is no function of integers", e->name);
        return value;
    }
    if (e->n_args < functions[f].least_args || e->n_args > functions[f].most_args) {
        if (diags)
            diag_add(diags, TW0223, e->span, "'%s' takes %d argument%s, not %d", functions[f].name,
                     functions[f].least_args, functions[f].least_args == 1 ? "" : "s", e->n_args);
        return NULL;
    }
    return eval_function(env, e, f, diags, depth);
}

static const Aff *eval_name(EvalEnv *env, const Expr *e, Diags *diags)
{
    const EvalName *n = eval_find(env, e->name);
    if (!n)
        return unknown_name(env, e, diags);
    if (n->aff)
        return n->aff;
    return not_integer(e, diags, arena_printf(env->arena, "'%s'", e->name));
}

static const Aff *eval_element(EvalEnv *env, const Expr *e, Diags *diags)
{
    int before = diags ? diags->errors : 0;
    const Aff *value = env->element ? env->element(env->user, e, diags) : NULL;
    return value || !diags || diags->errors > before
               ? value
               : not_integer(e, diags, "an element of a tensor");
}

static const Aff *eval_unary(EvalEnv *env, const Expr *e, Diags *diags, int depth)
{
    const Aff *a = eval(env, e->a, diags, depth);
    if (!a)
        return NULL;
    return e->op == EO_NOT ? aff_not(env->aff, a) : aff_scale(env->aff, a, -1);
}

static const Aff *eval_kind(EvalEnv *env, const Expr *e, Diags *diags, int depth)
{
    switch (e->kind) {
    case EXPR_INT: return aff_const(env->aff, e->i);
    case EXPR_NAME: return eval_name(env, e, diags);
    case EXPR_UNARY: return eval_unary(env, e, diags, depth);
    case EXPR_BINARY: return eval_binary(env, e, diags, depth);
    case EXPR_CALL: return eval_call(env, e, diags, depth);
    case EXPR_INDEX: return eval_element(env, e, diags);
    case EXPR_FLOAT: return not_integer(e, diags, "a number with a fraction");
    case EXPR_TRANSPOSE: return not_integer(e, diags, "a transposed tensor");
    case EXPR_SPACE: return not_integer(e, diags, "a tensor");
    case EXPR_RANGE: return not_integer(e, diags, "a range");
    case EXPR_ELLIPSIS: return not_integer(e, diags, "'...'");
    case EXPR_WORDS: return not_integer(e, diags, "a condition in words");
    }
    return NULL;
}

static const Aff *eval(EvalEnv *env, const Expr *e, Diags *diags, int depth)
{
    if (depth >= EVAL_MAX_DEPTH) {
        if (diags)
            diag_add(diags, TW0103, e->span, "the expression is nested too deeply");
        return NULL;
    }
    return checked(env, eval_kind(env, e, diags, depth + 1), e, diags, depth);
}

const Aff *eval_aff(EvalEnv *env, const Expr *e, Diags *diags)
{
    return eval(env, e, diags, 0);
}

/* ---- numbers ------------------------------------------------------------------------- */

static bool number(EvalEnv *env, const Expr *e, double *v, int depth);

static double floor_mod_double(double x, double y)
{
    return x - y * floor(x / y);
}

static bool number_binary(EvalEnv *env, const Expr *e, double *v, int depth)
{
    double x, y;
    if (!number(env, e->a, &x, depth) || !number(env, e->b, &y, depth))
        return false;
    switch (e->op) {
    case EO_ADD: *v = x + y; return true;
    case EO_SUB: *v = x - y; return true;
    case EO_MUL: *v = x * y; return true;
    case EO_DIV: *v = x / y; return true;
    case EO_IDIV: *v = floor(x / y); return y != 0;
    case EO_MOD: *v = floor_mod_double(x, y); return y != 0;
    case EO_POW: *v = pow(x, y); return true;
    case EO_LT: *v = x < y; return true;
    case EO_LE: *v = x <= y; return true;
    case EO_GT: *v = x > y; return true;
    case EO_GE: *v = x >= y; return true;
    case EO_EQ: *v = x == y; return true;
    case EO_NE: *v = x != y; return true;
    case EO_AND: *v = x != 0 && y != 0; return true;
    case EO_OR: *v = x != 0 || y != 0; return true;
    case EO_NEG:
    case EO_NOT: break;
    }
    return false;
}

static double apply(Function f, double v, double x)
{
    switch (f) {
    case F_MIN: return fmin(v, x);
    case F_MAX: return fmax(v, x);
    case F_CEIL: return ceil(x);
    case F_FLOOR: return floor(x);
    case F_ABS: return fabs(x);
    case F_SQRT: return sqrt(x);
    case F_RSQRT: return 1 / sqrt(x);
    case F_EXP: return exp(x);
    case F_EXP2: return exp2(x);
    case F_LOG: return log(x);
    case F_LOG2: return log2(x);
    case F_TANH: return tanh(x);
    case F_CEILDIV: return ceil(v / x);
    case F_NONE: break;
    }
    return 0;
}

static bool number_call(EvalEnv *env, const Expr *e, double *v, int depth)
{
    Function f = find_function(e->name);
    if (f == F_NONE || e->n_args < functions[f].least_args || e->n_args > functions[f].most_args)
        return false;
    for (int i = 0; i < e->n_args; i++) {
        double x;
        if (!number(env, e->args[i], &x, depth))
            return false;
        *v = i == 0 && functions[f].most_args > 1 ? x : apply(f, *v, x);
    }
    return true;
}

static bool number_name(EvalEnv *env, const Expr *e, double *v)
{
    const EvalName *n = eval_find(env, e->name);
    if (n)
        *v = n->number;
    return n && n->has_number;
}

static bool number(EvalEnv *env, const Expr *e, double *v, int depth)
{
    *v = 0;
    if (depth >= EVAL_MAX_DEPTH)
        return false;
    switch (e->kind) {
    case EXPR_INT: *v = (double)e->i; return true;
    case EXPR_FLOAT: *v = e->f; return true;
    case EXPR_NAME: return number_name(env, e, v);
    case EXPR_BINARY: return number_binary(env, e, v, depth + 1);
    case EXPR_CALL: return number_call(env, e, v, depth + 1);
    case EXPR_UNARY:
        if (!number(env, e->a, v, depth + 1))
            return false;
        *v = e->op == EO_NOT ? *v == 0 : -*v;
        return true;
    case EXPR_INDEX:
    case EXPR_TRANSPOSE:
    case EXPR_SPACE:
    case EXPR_RANGE:
    case EXPR_ELLIPSIS:
    case EXPR_WORDS: break;
    }
    return false;
}

bool eval_float(EvalEnv *env, const Expr *e, double *value)
{
    return number(env, e, value, 0);
}

/* ---- assignments -------------------------------------------------------------------- */

/* Quietly as an integer, then as a number, then once more for its diagnostics. */
bool eval_assign(EvalEnv *env, const char *name, const Expr *e, Diags *diags)
{
    double value;
    const Aff *a = eval_aff(env, e, NULL);
    if (a) {
        eval_bind(env, name, a);
        return true;
    }
    if (eval_float(env, e, &value)) {
        eval_bind_number(env, name, value);
        return true;
    }
    a = eval_aff(env, e, diags);
    if (a)
        eval_bind(env, name, a);
    return a != NULL;
}
