/* propose_undivided.c: sums of a loop that are to be divided by another one behind it. Each is executed beside the definition
 * before it is suggested (vary.h).
 *
 *   for j = 0:n                                for j = 0:n
 *     Compute Softmax S with M and L             ...
 *     Compute RowSum T and accumulate d        end
 *   end                                        Compute Divide d, L else 0 and get new d
 *   Compute Log L and get new L                Compute Log L and get new L
 *
 * It belongs directly there: what stands behind may make another thing of either. */
#include "suggest/vary.h"

/* What a loop adds up, in turn upon turn; the sum of a softmax first. */
static void note_sum(Vary *v, Names *sums, const char *name)
{
    if (name && !vary_has(sums, name))
        vec_push(v->s->arena, sums, name);
}

static bool adds_to_itself(const Stmt *s)
{
    return s->op_known && s->op == OP_ADD && s->n_args == 2 && compute_result(s) && !vary_copies(s) &&
           (expr_equal(compute_result(s), s->args[0]) || expr_equal(compute_result(s), s->args[1]));
}

static void find_sums(Vary *v, const Block *block, Names *sums)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_COMPUTE && s->op_known && s->op == OP_SOFTMAX && s->n_with == 2)
            note_sum(v, sums, expr_base_name(s->with[1]));
    }
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_COMPUTE && (s->result == RESULT_ACCUMULATE || adds_to_itself(s)))
            note_sum(v, sums, vary_result(s));
        find_sums(v, &s->body, sums);
        find_sums(v, &s->orelse, sums);
    }
}

static bool try_behind(Vary *v, const Stmt *loop, const char *sum, const char *by)
{
    int end = suggest_end(v->s, loop);
    const char *text = arena_printf(v->s->arena, "\n%sCompute Divide %s, %s else 0 and get new %s", suggest_indent(v->s, loop->span.start), sum, by, sum);

    return end >= 0 && suggest_edit(v->s, (Span){end, end}, text, "divided by what the loop sums up");
}

static bool try_loops(Vary *v)
{
    for (int i = 0; i < v->all.len; i++) {
        Names sums = {0};

        if (v->all.data[i]->kind == STMT_FOR)
            find_sums(v, &v->all.data[i]->body, &sums);
        for (int by = 0; by < sums.len; by++)
            for (int k = 0; vary_has(&v->columns, sums.data[by]) && k < sums.len; k++)
                if (k != by && try_behind(v, v->all.data[i], sums.data[k], sums.data[by]))
                    return true;
    }
    return false;
}

bool propose_undivided(Suggester *s)
{
    return vary_each(s, try_loops);
}
