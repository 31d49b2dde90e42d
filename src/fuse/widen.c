/* widen.c: operands of 8 bits as numbers of 16, where they would be taken as they lie.
 *
 * Warpgroups multiply by 8 bits only what has the sum along its rows (PTX ISA, "wgmma": K-major alone), which keys have and
 * values have not, and keep too few bits of such sums for scores that exponentials are taken of (pass/split.c). Widened, which is
 * exact, all can be multiplied by them: second operands are prepared by a warpgroup of its own, first ones are taken into
 * registers, or become a kernel of their own.
 *
 *   Compute GEMM Q, K.T and get S     ->     Compute Cast Q, bf16 and get Q_wide
 *                                            Compute Cast K, bf16 and get K_wide
 *                                            Compute GEMM Q_wide, K_wide.T and get S
 *
 * (On an H200, two products with a softmax between, in e4m3, take 0.4 to 0.8 of the time.)
 *
 * Integers each kernel that multiplies widens in any case; seen as an operation, that can be made once, ahead (apart.c).
 */
#include "fuse/fuse.h"

typedef struct Widener {
    Def *def;
    DType wide;
} Widener;

static bool is_wanted(const DefValue *v, bool integers)
{
    bool of_kind = v && (integers ? v->dtype == DT_I8 || v->dtype == DT_U8 : dtype_is_float(v->dtype));

    return of_kind && v->is_input && dtype_bytes(v->dtype) == 1;
}

/* Whether an operand was cast to 8 bits, as the definition wants it. */
static bool is_narrowed(const DefOp *product)
{
    for (int k = 0; k < 2; k++) {
        const DefValue *v = product->args[k].value;

        if (v && v->op && v->op->op == OP_CAST && dtype_bytes(v->op->cast) == 1)
            return true;
    }
    return false;
}

/* Whether the operation is a product of an operand that is to be widened. */
static bool is_product(const DefOp *op, bool integers)
{
    return op->op == OP_GEMM && !is_narrowed(op) && (is_wanted(op->args[0].value, integers) || is_wanted(op->args[1].value, integers));
}

bool fuse_can_widen(const Def *def, bool integers)
{
    for (int i = 0; i < def->ops.len; i++)
        if (is_product(def->ops.data[i], integers))
            return true;
    return false;
}

static DefOp *cast_of(const Widener *w, const DefValue *v)
{
    for (int i = 0; i < w->def->ops.len; i++) {
        DefOp *op = w->def->ops.data[i];

        if (op->op == OP_CAST && op->cast == w->wide && op->args[0].value == v)
            return op;
    }
    return NULL;
}

static const char *name_for(const Widener *w, const char *name)
{
    const char *wide = arena_printf(w->def->arena, "%s_wide", name);

    for (int i = 0; i < w->def->values.len; i++)
        if (strcmp(w->def->values.data[i]->name, wide) == 0)
            return name_for(w, wide);
    return def_is_named(w->def, wide) ? name_for(w, wide) : wide;
}

/* At the end of the operations. */
static DefOp *add_cast(Widener *w, const DefOp *product, DefValue *v)
{
    DefOp *cast = arena_new_of(w->def->arena, DefOp);
    DefValue *result = arena_new_of(w->def->arena, DefValue);

    *result = *v;
    result->id = w->def->values.len;
    result->name = name_for(w, v->name);
    result->dtype = DT_F32;
    result->op = cast;
    result->is_input = result->is_output = false;
    *cast = (DefOp){.stmt = product->stmt, .op = OP_CAST, .n_args = 1, .cast = w->wide, .result = result};
    cast->args[0].value = v;
    vec_push(w->def->arena, &w->def->values, result);
    vec_push(w->def->arena, &w->def->ops, cast);
    return cast;
}

/* Ahead of the operation at `at`, which is one place further on then. */
static void move_last(Widener *w, int at)
{
    DefOp **ops = w->def->ops.data, *last = ops[w->def->ops.len - 1];

    memmove(ops + at + 1, ops + at, (size_t)(w->def->ops.len - 1 - at) * sizeof *ops);
    ops[at] = last;
}

void fuse_widen(Def *def, DType wide, bool integers)
{
    Widener w = {.def = def, .wide = wide};

    for (int i = 0; i < def->ops.len; i++) {
        DefOp *op = def->ops.data[i];
        bool widens = is_product(op, integers);

        for (int k = 0; widens && k < 2; k++) {
            DefValue *v = op->args[k].value;
            bool wanted = is_wanted(v, integers);
            DefOp *cast = wanted ? cast_of(&w, v) : NULL;

            if (wanted && !cast) {
                cast = add_cast(&w, op, v);
                move_last(&w, i++);
            }
            if (cast)
                op->args[k].value = cast->result;
        }
    }
}
