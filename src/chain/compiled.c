/* compiled.c: back from what was compiled to the definition that it must agree with: under
 * the settings, sizes and types that were compiled in.
 */
#include "chain/chain.h"

/* A tensor as it was compiled. */
typedef struct Compiled {
    const char *name;
    DType dtype;
    int rank;
    const Aff *const *dims;
} Compiled;

/* Whether the tensor was compiled as the definition has it, dimension by dimension; code may see it in another shape. */
static bool is_seen_alike(const Compiled *compiled, const Stmt *tensor)
{
    int64_t size;

    for (int d = 0; d < compiled->rank && compiled->rank == tensor->n_shape; d++) {
        const Expr *dim = tensor->shape[d];
        bool known = aff_is_const(compiled->dims[d], &size);

        if (dim->kind == EXPR_NAME && !known && compiled->dims[d]->kind != AFF_SYM)
            return false;
        if (dim->kind == EXPR_INT && known && dim->i != size)
            return false;
    }
    return compiled->rank == tensor->n_shape;
}

/* Of a dimension that the definition only names; what was set stays. */
static void take_sizes(Chain *chain, const Compiled *compiled, const Stmt *tensor)
{
    int64_t size;

    for (int d = 0; d < compiled->rank && is_seen_alike(compiled, tensor); d++)
        if (tensor->shape[d]->kind == EXPR_NAME && aff_is_const(compiled->dims[d], &size) &&
            !settings_find(&chain->own, tensor->shape[d]->name))
            settings_put(chain->arena, &chain->own,
                         (Setting){.name = tensor->shape[d]->name, .value = (double)size, .used = true});
}

/* The type that tensors have of which the definition says none: the first Input's. */
static void take_type(Chain *chain, const Compiled *compiled, const Stmt *tensor, bool *taken)
{
    if (*taken || tensor->has_dtype || tensor->kind != STMT_INPUT)
        return;
    chain->own.dtype = compiled->dtype;
    *taken = true;
}

static void take_types(Chain *chain, const Compiled *compiled, int n)
{
    for (int i = 0; i < n; i++)
        vec_push(chain->arena, &chain->types, ((TensorType){compiled[i].name, compiled[i].dtype}));
}

/* typed: the type of tensors that name none is known. */
static bool define_as(Chain *chain, const Compiled *compiled, int n, const Source *definition, bool typed)
{
    const Program *program = lang_parse(chain->arena, chain->syms, definition, diags_new(chain->arena, definition));
    const Unit *unit = program_unit(program, UNIT_OPERATOR);

    take_types(chain, compiled, n);
    for (int i = 0; unit && i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        for (int k = 0; k < n && (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT); k++) {
            if (strcmp(compiled[k].name, s->name) != 0)
                continue;
            take_sizes(chain, &compiled[k], s);
            take_type(chain, &compiled[k], s, &typed);
        }
    }
    return chain_define(chain, definition);
}

/* ---- code, tile IR ------------------------------------------------------------------- */

bool chain_define_from_tile(Chain *chain, const TileProgram *tile, const Source *against)
{
    int n = tile ? tile->tensors.len : 0;
    Compiled *compiled = arena_array(chain->arena, Compiled, n + 1);

    for (int i = 0; i < n; i++) {
        const TileTensor *t = tile->tensors.data[i];

        compiled[i] = (Compiled){t->name, t->dtype, t->rank, t->dims};
    }
    return define_as(chain, compiled, n, against, false);
}

/* ---- a PTX file ----------------------------------------------------------------------- */

static bool take_settings(Chain *chain, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, " ");

        if (len && settings_add(chain->arena, &chain->own, arena_strndup(chain->arena, text, len))) {
            chain->failure = "the settings in the PTX file's ABI are damaged";
            return false;
        }
        text += len + strspn(text + len, " ");
    }
    return true;
}

bool chain_define_from_abi(Chain *chain, const Abi *abi, const Source *against)
{
    Compiled *compiled = arena_array(chain->arena, Compiled, abi->tensors.len + 1);
    Str text = str_new(chain->arena);

    if (!against && !abi->definition) {
        chain->failure = "the PTX file names no definition; give one with --against OP.tl";
        return false;
    }
    chain->own = (Settings){.dtype = abi->dtype};
    if (!take_settings(chain, abi->settings ? abi->settings : ""))
        return false;
    for (int i = 0; i < abi->tensors.len; i++) {
        const AbiTensor *t = &abi->tensors.data[i];

        compiled[i] = (Compiled){t->name, t->dtype, t->rank, t->dims};
    }
    chain->name = abi->name;
    str_add(&text, abi->definition ? abi->definition : "");
    for (int i = 0; !against && i < chain->own.list.len; i++)
        chain->own.list.data[i].used = true; /* one may be of a Kernel that stood beside it */
    return define_as(chain, compiled, abi->tensors.len, against ? against : chain_text(chain, "the definition in the PTX file", &text),
                     against == NULL);
}
