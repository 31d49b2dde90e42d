/* propose_last_turn.c: what a loop does in its last turn, or its first, where there may be none. Each change is executed beside the definition
 * before it is suggested (vary.h).
 *
 *   for k = 0:tiles                          for k = 0:tiles
 *     Compute GEMM A, B and accumulate C       Compute GEMM A, B and accumulate C
 *     if k == tiles - 1                      end
 *       Compute Add C, R and get new C       Compute Add C, R and get new C
 *     end
 *   end
 */
#include "suggest/vary.h"

static bool is_last_turn(const Stmt *loop, const Expr *e)
{
    const Expr *last = e && e->kind == EXPR_BINARY && e->op == EO_EQ && expr_is_name(e->a, loop->name) ? e->b : NULL;

    return last && last->kind == EXPR_BINARY && last->op == EO_SUB && expr_is_one(last->b) && loop->hi && expr_equal(last->a, loop->hi);
}

static bool is_first_turn(const Stmt *loop, const Expr *e)
{
    return e && e->kind == EXPR_BINARY && e->op == EO_EQ && expr_is_name(e->a, loop->name) && loop->lo && expr_equal(e->b, loop->lo);
}

static bool try_behind(Vary *v, const Stmt *loop, const Stmt *branch)
{
    Suggester *s = v->s;
    int end = suggest_end(s, loop), branch_end = suggest_end(s, branch);
    Str text = str_new(s->arena);

    if (end < 0 || branch_end < 0 || branch->orelse.len)
        return false;
    for (int i = 0; i < branch->body.len; i++) {
        const Stmt *stmt = branch->body.data[i];

        if (stmt->kind == STMT_FOR || stmt->kind == STMT_IF)
            return false;
        str_printf(&text, "\n%s%s", suggest_indent(s, loop->span.start), suggest_text(s, stmt));
    }
    Fix edits[] = {{suggest_line(s, (Span){branch->span.start, branch_end}), "", NULL}, {{end, end}, str_text(&text), NULL}};
    return suggest_edits(s, edits, 2, "behind the loop, which may have no turn");
}

static bool try_last_turns(Vary *v)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *loop = v->all.data[i];

        for (int k = 0; loop->kind == STMT_FOR && k < loop->body.len; k++) {
            const Stmt *branch = loop->body.data[k];

            if (branch->kind == STMT_IF && (is_last_turn(loop, branch->where) || is_first_turn(loop, branch->where)) && try_behind(v, loop, branch))
                return true;
        }
    }
    return false;
}

bool propose_no_last_turn(Suggester *s)
{
    return vary_each(s, try_last_turns);
}
