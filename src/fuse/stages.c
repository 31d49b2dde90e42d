/* stages.c: one definition as two, of which the second takes what the first leaves in memory.
 *
 *   GEMM X, W and get P                                       Operator f: X, W -> P
 *   Define Q (b, heads, n, D) as P[b, row, head * D + col]    Operator f_2: P -> O
 *   GEMM Q, K.T and get S ...                           ->
 *
 * Elements of what is computed are read elsewhere, by a Reshape or a Define that computes nothing: heads that lie beside
 * each other in the rows of a product. So that is left in memory whatever becomes of the rest. To a kernel behind it, among
 * those of one definition, its elements are read one by one (cut.c). In a definition of its own it is an Input, of which
 * products take tiles where they lie (view.c, permute.c); or an Output, which tiles are stored to where they are to lie.
 *
 * Vocabulary
 *   rearrangement  an operation that gives a value's elements other places, and computes nothing
 */
#include "fuse/cutter.h"

#include "lang/eval.h"

enum { MOST_LINKS = 8 }; /* rearrangements of what is rearranged */

/* The first that is computed and rearranged, to go on with; NULL: none is. Outputs are stored as they are to lie by one kernel as well. */
static const DefValue *first_rearranged(const Def *def)
{
    for (int i = 0; i < def->ops.len; i++) {
        const DefValue *value = def->ops.data[i]->result->is_output || flow_is_same(def->ops.data[i]) ? NULL : cut_rearranged(def->ops.data[i]);

        if (value && value->op && !cut_rearranged(value->op))
            return value;
    }
    return NULL;
}

static bool has_whole_rows(const DefValue *value, const DefValue *of)
{
    int64_t width, part;

    return aff_is_const(value->dims[value->rank - 1].size, &width) && aff_is_const(of->dims[of->rank - 1].size, &part) && part > 0 && width % part == 0;
}

/* What becomes of it where nothing else does, and its rows stay whole, one or several in a row: kernels store them so. Else itself. */
static const DefValue *as_it_is_taken(const Def *def, const DefValue *value)
{
    const DefValue *last = value;

    for (int i = 0; i < MOST_LINKS; i++) {
        const DefOp *use = last->is_output ? NULL : def_only_use(def, last);

        if (!use || cut_rearranged(use) != last)
            break;
        last = use->result;
    }
    return last->is_output || last->rank == 0 || value->rank == 0 || !has_whole_rows(last, value) ? value : last;
}

bool fuse_stages(Arena *arena, Syms *syms, const Def *def, FuseStages *stages)
{
    const DefValue *found = first_rearranged(def);
    Cutter c = {.arena = arena, .syms = syms, .def = def};

    if (!found || found->is_output)
        return false;
    for (int i = 0; i < def->values.len; i++)
        if (def->values.data[i]->id >= c.n_values)
            c.n_values = def->values.data[i]->id + 1;
    DefValue *value = (DefValue *)as_it_is_taken(def, found);
    Goal first = {.values = &value, .n = 1, .keeps = true}, rest = {.values = def->outputs.data, .n = def->outputs.len};
    if (!cut_has_shape(&c, value) || cut_repeated_product(&c, &rest, &first))
        return false;
    Kept kept = cut_keep(&c, value);
    vec_push(arena, &c.kept, kept);
    stages->first = cut_as_definition(&c, &first);
    stages->rest = cut_as_definition(&c, &rest);
    stages->left = kept.name;
    return true;
}

/* A size that the kernel declares; NULL: it is not known. */
static const Aff *declared_size(Arena *arena, const Def *def, const Unit *unit, const Expr *size)
{
    EvalEnv env;

    eval_init(&env, arena, def->aff);
    for (int i = 0; i < def->dims.len; i++)
        eval_bind(&env, def->dims.data[i].name, def->dims.data[i].size);
    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_ASSIGN)
            eval_assign(&env, unit->body.data[i]->name, unit->body.data[i]->value, NULL);
    return eval_aff(&env, size, NULL);
}

static bool shapes_agree(Arena *arena, const Def *def, const Unit *first, const Unit *rest)
{
    for (int i = 0; i < first->body.len; i++) {
        const Stmt *a = first->body.data[i], *b = a->kind == STMT_INPUT ? block_find(&rest->body, STMT_INPUT, a->name) : NULL;

        if (b && a->n_shape != b->n_shape)
            return false;
        for (int d = 0; b && d < a->n_shape; d++) {
            const Aff *one = declared_size(arena, def, first, a->shape[d]), *other = declared_size(arena, def, rest, b->shape[d]);

            if (one && other && one != other)
                return false;
        }
    }
    return true;
}

bool fuse_shapes_agree(Arena *arena, const Def *def, const Program *first, const Program *rest)
{
    for (int i = 0; i < first->units.len; i++)
        for (int k = 0; k < rest->units.len; k++)
            if (!shapes_agree(arena, def, first->units.data[i], rest->units.data[k]))
                return false;
    return true;
}

static bool writes(const Program *program, int units, const char *name)
{
    for (int i = 0; i < units; i++)
        if (block_find(&program->units.data[i]->body, STMT_OUTPUT, name))
            return true;
    return false;
}

static int rearrangements(const Program *program, int unit, const Block *block)
{
    int n = 0;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *e = s->kind == STMT_COMPUTE && s->op_known && s->op == OP_DEFINE ? s->value : NULL;

        n += e && e->kind == EXPR_INDEX && e->a->kind == EXPR_NAME && writes(program, unit, e->a->name);
        n += rearrangements(program, unit, &s->body);
    }
    return n;
}

int fuse_rearranges(const Program *program)
{
    int n = 0;

    for (int i = 0; i < program->units.len; i++)
        n += rearrangements(program, i, &program->units.data[i]->body);
    return n;
}
