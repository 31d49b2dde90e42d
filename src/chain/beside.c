/* beside.c: Kernels that stand beside a definition, written by hand.
 *
 * A file may hold an Operator and its flow: sketches, or code. Then the fuser is
 * not asked, and the chain goes on from them; what comes of them is compared with
 * the definition like anything else.
 */
#include "chain/chain.h"

Program *kernels_beside(Arena *arena, const Program *program)
{
    Program *kernels = arena_new_of(arena, Program);

    kernels->source = program->source;
    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == UNIT_KERNEL)
            vec_push(arena, &kernels->units, program->units.data[i]);
    return kernels->units.len ? kernels : NULL;
}

static const Stmt *declaration(const Unit *unit, StmtKind kind, const char *name)
{
    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == kind && strcmp(unit->body.data[i]->name, name) == 0)
            return unit->body.data[i];
    return NULL;
}

static const DefValue *find_value(const Def *def, const char *name, bool output)
{
    int n = output ? def->outputs.len : def->inputs.len;

    for (int i = 0; i < n; i++) {
        const DefValue *value = output ? def->outputs.data[i] : def->inputs.data[i];

        if (strcmp(value->name, name) == 0)
            return value;
    }
    return NULL;
}

static bool same_rank(const Stmt *s, const DefValue *value, Diags *diags)
{
    if (!value || value->rank == s->n_shape)
        return true;
    diag_add(diags, TW0521, s->span, "%s has %d dimensions here and %d in the definition", s->name, s->n_shape,
             value->rank);
    return false;
}

/* What a kernel reads is the definition's, or was written by a kernel before it. */
static bool input_fits(const Program *kernels, int at, const Stmt *s, const Def *def, Diags *diags)
{
    const DefValue *value = find_value(def, s->name, false);

    if (value)
        return same_rank(s, value, diags);
    for (int i = 0; i < at; i++)
        if (declaration(kernels->units.data[i], STMT_OUTPUT, s->name))
            return true;
    diag_add(diags, TW0521, s->span, "%s is neither an input of the definition nor written by a kernel before %s",
             s->name, kernels->units.data[at]->name);
    return false;
}

static bool outputs_fit(const Program *kernels, const Def *def, Diags *diags)
{
    bool fit = true;

    for (int i = 0; i < def->outputs.len; i++) {
        const DefValue *value = def->outputs.data[i];
        const Stmt *s = NULL;

        for (int k = 0; k < kernels->units.len && !s; k++)
            s = declaration(kernels->units.data[k], STMT_OUTPUT, value->name);
        if (!s)
            diag_add(diags, TW0521, kernels->units.data[kernels->units.len - 1]->name_span,
                     "no kernel writes %s, an output of the definition", value->name);
        fit &= s && same_rank(s, value, diags);
    }
    return fit;
}

bool kernels_fit(const Program *kernels, const Def *def, Diags *diags)
{
    bool fit = true;

    for (int i = 0; i < kernels->units.len; i++)
        for (int k = 0; k < kernels->units.data[i]->body.len; k++) {
            const Stmt *s = kernels->units.data[i]->body.data[k];

            if (s->kind == STMT_INPUT)
                fit &= input_fits(kernels, i, s, def, diags);
        }
    return outputs_fit(kernels, def, diags) && fit;
}
