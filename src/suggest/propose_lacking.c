/* propose_lacking.c: Kernels that give something else than the Operator beside them, and lack an operation that it has, or
 * that they do elsewhere. Each change is executed beside the definition before it is suggested (vary.h).
 *
 *   Compute Sqrt ms and get new r             Compute Rsqrt ms and get new r           the definition's, which is nowhere else
 *   Compute RowMax X and get m                Compute Abs X and get a                  what the definition does first
 *                                             Compute RowMax a and get m
 *   Compute Gelu Y and get new Y              Compute Add Y, bias and get new Y
 *                                             Compute Gelu Y and get new Y
 *   Compute Subtract X, lse and get Y         Compute Divide X, t and get z            as another loop has it
 *                                             Compute Subtract z, lse and get Y
 *   Compute Multiply a, c; Compute Multiply b, s   ... a, s; ... b, c                  operands exchanged
 */
#include "suggest/vary.h"

static bool is_step(const Stmt *s)
{
    OpClass class = s->kind == STMT_COMPUTE && s->op_known && !s->listed ? op_info(s->op)->class : OPC_GEMM;

    return (class == OPC_ELEMENT || (class == OPC_SOFTMAX && !s->over)) && (s->n_args == 1 || s->n_args == 2) && s->args[0]->kind == EXPR_NAME && compute_result(s) && compute_result(s)->kind == EXPR_NAME;
}

/* Whether the Kernel has the operation, with the second operand if that is given; not as a copy. */
static bool has_step(const Vary *v, OpId op, const Expr *second)
{
    for (int i = 0; i < v->computes.len; i++) {
        const Stmt *s = v->computes.data[i];
        bool same = s->op_known && s->op == op && !vary_copies(s);

        if (same && (!second || (s->n_args == 2 && (expr_equal(s->args[1], second) || expr_equal(s->args[0], second)))))
            return true;
    }
    return false;
}

static bool defines_step(const Vary *v, OpId op)
{
    for (int i = 0; i < v->definition->body.len; i++) {
        const Stmt *s = v->definition->body.data[i];

        if (s->kind == STMT_COMPUTE && s->op_known && s->op == op)
            return true;
    }
    return false;
}

/* ---- the definition's operation ------------------------------------------------------------------- */

/* An operation that the definition does not have, where it has another that the Kernel does not have. */
static bool try_lacking_operation(Vary *v)
{
    for (int i = 0; i < v->computes.len; i++) {
        const Stmt *s = v->computes.data[i];

        for (int k = 0; s->op_known && !defines_step(v, s->op) && k < v->definition->body.len; k++) {
            const Stmt *theirs = v->definition->body.data[k];
            bool other = theirs->kind == STMT_COMPUTE && theirs->op_known && op_info(theirs->op)->class == op_info(s->op)->class && theirs->n_args == s->n_args;
            Stmt *changed = other && !has_step(v, theirs->op, NULL) ? suggest_like(v->s, s) : NULL;

            if (!changed)
                continue;
            changed->op = theirs->op;
            changed->op_name = op_info(theirs->op)->name;
            if (suggest_stmt(v->s, s, changed, "the operation that the Operator has"))
                return true;
        }
    }
    return false;
}

/* ---- one more step ------------------------------------------------------------------------------------ */

static const Stmt *allocated(const Vary *v, const char *tile)
{
    const Stmt *found = NULL;

    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_ALLOCATE && strcmp(v->all.data[i]->name, tile) == 0)
            found = v->all.data[i];
    return found;
}

/* Of code: a tile for what the step gives, as large as its operand. */
static Fix tile_for(Vary *v, const char *of, const char *name)
{
    const Stmt *like = vary_has(&v->tiles, name) || vary_has(&v->columns, name) ? NULL : allocated(v, of);
    Stmt *tile = like ? suggest_like(v->s, like) : NULL;

    if (!tile)
        return (Fix){{-1, -1}, NULL, NULL};
    tile->name = name;
    tile->listed = false;
    tile->space = SPACE_REGISTER;
    tile->has_dtype = true;
    tile->dtype = DT_F32;
    return (Fix){suggest_before(v->s, like), arena_printf(v->s->arena, "%s%s\n", suggest_indent(v->s, like->span.start), suggest_text(v->s, tile)), NULL};
}

/* `step` of what an operand of `at` is, under the name, in front of it, and there instead. */
static bool try_step_before(Vary *v, const Stmt *at, const Expr *operand, const Stmt *step, const char *name, const char *label)
{
    Arena *arena = v->s->arena;
    Stmt *added = suggest_like(v->s, step);
    Fix edits[3];
    int n = 0;

    added->args = arena_array(arena, Expr *, step->n_args);
    memcpy(added->args, step->args, (size_t)step->n_args * sizeof *step->args);
    added->args[0] = expr_name(arena, operand->name);
    added->result = RESULT_GET;
    added->dest = expr_name(arena, name);
    edits[n] = tile_for(v, operand->name, name);
    n += edits[n].text != NULL;
    edits[n++] = (Fix){suggest_before(v->s, at), arena_printf(arena, "%s%s\n", suggest_indent(v->s, at->span.start), suggest_text(v->s, added)), NULL};
    edits[n++] = (Fix){operand->span, name, NULL};
    return suggest_edits(v->s, edits, n, label);
}

/* `step` of a tile, in its place. */
static const Stmt *in_place(Vary *v, const char *name, const Stmt *step)
{
    Arena *arena = v->s->arena;
    Stmt *added = suggest_like(v->s, step);

    added->args = arena_array(arena, Expr *, step->n_args);
    memcpy(added->args, step->args, (size_t)step->n_args * sizeof *step->args);
    added->args[0] = expr_name(arena, name);
    added->result = RESULT_GET_NEW;
    added->dest = expr_name(arena, name);
    return added;
}

/* Behind the statement that gives the tile. */
static bool try_step_behind(Vary *v, const Stmt *at, const char *name, const Stmt *step, const char *label)
{
    const char *text = arena_printf(v->s->arena, "\n%s%s", suggest_indent(v->s, at->span.start), suggest_text(v->s, in_place(v, name, step)));

    return suggest_edit(v->s, (Span){at->span.end, at->span.end}, text, label);
}

/* Likewise in front of a statement that reads it. */
static bool try_step_in_place(Vary *v, const Stmt *at, const char *name, const Stmt *step, const char *label)
{
    return suggest_edit(v->s, suggest_before(v->s, at), arena_printf(v->s->arena, "%s%s\n", suggest_indent(v->s, at->span.start), suggest_text(v->s, in_place(v, name, step))), label);
}

/* The operand's name, without what transposes it. */
static const Expr *named(const Expr *e)
{
    while (e->kind == EXPR_TRANSPOSE)
        e = e->a;
    return e->kind == EXPR_NAME ? e : NULL;
}

static bool is_tile(const Vary *v, const char *name)
{
    return vary_has(&v->tiles, name) || vary_has(&v->columns, name);
}

static const char *new_name(const Vary *v, const Stmt *step, const char *of)
{
    const char *theirs = compute_result(step)->name;
    bool taken = is_tile(v, theirs) || strcmp(theirs, expr_base_name(step->args[0])) == 0 || unit_tensor(v->kernel, theirs);

    return taken ? arena_printf(v->s->arena, "%s_part", of) : theirs;
}

/* `P * dP` for `dP`, which the definition has on the right. */
static bool try_whole_step(Vary *v, const Stmt *at, const Expr *operand, const Stmt *step, const char *label)
{
    Stmt *turned = suggest_like(v->s, step);

    turned->args = arena_array(v->s->arena, Expr *, 2);
    turned->args[0] = step->args[1];
    turned->args[1] = step->args[0];
    return (step->op == OP_MULTIPLY || step->op == OP_ADD || step->op == OP_MAX || step->op == OP_MIN) && try_step_before(v, at, operand, turned, new_name(v, step, operand->name), label);
}

/* The tile of the output that is wrong. */
static bool is_stored(const Vary *v, const Expr *result)
{
    const Stmt *store = v->s->stmt;

    return store && store->kind == STMT_COPY && store->to_space == SPACE_GLOBAL && expr_is_name(result, copy_tile(store));
}

/* stored: of that tile, or of the others. */
static bool try_step_of(Vary *v, const Stmt *step, bool stored)
{
    static const char label[] = "what the Operator does as well";

    for (int i = v->computes.len - 1; i >= 0; i--) {
        const Stmt *s = v->computes.data[i];
        const Expr *result = compute_result(s);

        if (is_stored(v, result) != stored)
            continue;
        if (result && result->kind == EXPR_NAME && try_step_behind(v, s, result->name, step, label))
            return true;
        for (int k = 0; k < s->n_args; k++) {
            const Expr *e = named(s->args[k]);
            if (e && step->n_args == 2 && expr_is_name(step->args[1], e->name) && is_tile(v, expr_base_name(step->args[0])) && try_whole_step(v, s, e, step, label))
                return true;
            if (e && is_tile(v, e->name) && (try_step_in_place(v, s, e->name, step, label) || try_step_before(v, s, e, step, new_name(v, step, e->name), label)))
                return true;
        }
    }
    return false;
}

/* Of the tile as it is stored. */
static bool try_step_at_store(Vary *v, const Stmt *step)
{
    const Stmt *store = v->s->stmt;
    const char *tile = store && store->kind == STMT_COPY && store->to_space == SPACE_GLOBAL && !store->listed ? copy_tile(store) : NULL;

    return tile && is_tile(v, tile) && try_step_in_place(v, store, tile, step, "what the Operator does as well");
}

static bool try_step(Vary *v, const Stmt *step)
{
    return try_step_at_store(v, step) || try_step_of(v, step, true) || try_step_of(v, step, false);
}

/* A number, or a tile of the Kernel's by this name, or none. */
static bool knows_second(const Vary *v, const Stmt *step)
{
    const Expr *e = step->n_args == 2 ? step->args[1] : NULL;

    return !e || e->kind != EXPR_NAME || is_tile(v, e->name) || block_find(&v->definition->body, STMT_PARAM, e->name) || block_find(&v->definition->body, STMT_LET, e->name);
}

/* With each column of the Kernel's instead of what has no such name there. */
static bool try_columns(Vary *v, const Stmt *step)
{
    for (int stored = 1; stored >= 0; stored--)
        for (int i = v->columns.len - 1; i >= 0; i--) {
            Stmt *with = suggest_like(v->s, step);

            with->args = arena_array(v->s->arena, Expr *, 2);
            with->args[0] = step->args[0];
            with->args[1] = expr_name(v->s->arena, v->columns.data[i]);
            if (try_step_of(v, with, stored == 1))
                return true;
        }
    return false;
}

/* A softmax, where the Kernel has exponentials. */
static bool is_by_hand(const Vary *v, const Stmt *step)
{
    return step->op_known && step->op == OP_SOFTMAX && (has_step(v, OP_EXP, NULL) || has_step(v, OP_EXP2, NULL));
}

/* Steps of the definition of which the Kernel has none, by the operation, or by it with this operand. */
static bool try_lacking_steps(Vary *v)
{
    for (int i = 0; i < v->definition->body.len; i++) {
        const Stmt *step = v->definition->body.data[i];
        bool known = is_step(step) && knows_second(v, step);

        if (is_by_hand(v, step))
            continue;
        if (known && !has_step(v, step->op, step->n_args == 2 ? step->args[1] : NULL) && try_step(v, step))
            return true;
        if (is_step(step) && !known && !has_step(v, step->op, NULL) && try_columns(v, step))
            return true;
    }
    return false;
}

/* Likewise, of what is stored alone. */
static bool try_lacking_at_store(Vary *v)
{
    for (int i = 0; i < v->definition->body.len; i++) {
        const Stmt *step = v->definition->body.data[i];

        if (is_step(step) && !is_by_hand(v, step) && knows_second(v, step) && !has_step(v, step->op, step->n_args == 2 ? step->args[1] : NULL) && try_step_at_store(v, step))
            return true;
    }
    return false;
}

/* What is copied, and nothing reads: some step takes it. */
static bool is_read(const Vary *v, const char *name)
{
    for (int i = 0; i < v->computes.len; i++) {
        const Stmt *s = v->computes.data[i];

        for (int k = 0; k < s->n_args; k++)
            if (expr_mentions(s->args[k], name))
                return true;
        if ((s->where && expr_mentions(s->where, name)) || (s->value && expr_mentions(s->value, name)))
            return true;
    }
    return false;
}

static bool try_unread(Vary *v)
{
    static const OpId ops[] = {OP_MULTIPLY, OP_ADD, OP_SUBTRACT, OP_DIVIDE};

    for (int i = 0; i < v->all.len; i++) {
        const Stmt *copy = v->all.data[i];
        const char *tile = copy->kind == STMT_COPY && copy->to_space == SPACE_REGISTER ? copy_tile(copy) : NULL;

        for (size_t k = 0; tile && !is_read(v, tile) && k < TW_COUNT(ops); k++) {
            Stmt *step = stmt_new(v->s->arena, STMT_COMPUTE);

            step->op = ops[k];
            step->op_name = op_info(ops[k])->name;
            step->op_known = true;
            step->n_args = 2;
            step->args = arena_array(v->s->arena, Expr *, 2);
            step->args[0] = step->args[1] = expr_name(v->s->arena, tile);
            step->dest = step->args[0];
            if (try_step(v, step))
                return true;
        }
    }
    return false;
}

/* ---- as another block has it ---------------------------------------------------------------------------- */

static bool has_stmt(const Block *block, const Stmt *s)
{
    for (int i = 0; i < block->len; i++)
        if (block->data[i] == s)
            return true;
    return false;
}

/* A step of another block, of what is read here as well. */
static bool try_block(Vary *v, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_COMPUTE && !s->listed && k < s->n_args; k++)
            for (int m = 0; named(s->args[k]) && m < v->computes.len; m++) {
                const Stmt *step = v->computes.data[m];
                bool other = is_step(step) && !has_stmt(block, step) && expr_is_name(step->args[0], named(s->args[k])->name);

                if (other && !expr_equal(compute_result(step), step->args[0]) &&
                    try_step_before(v, s, named(s->args[k]), step, compute_result(step)->name, "as it is done elsewhere"))
                    return true;
            }
        if (try_block(v, &s->body) || try_block(v, &s->orelse))
            return true;
    }
    return false;
}

static bool try_blocks(Vary *v)
{
    return try_block(v, &v->kernel->body);
}

/* ---- operands of two statements ----------------------------------------------------------------------------- */

static bool try_pair(Vary *v, const Stmt *a, const Stmt *b)
{
    for (int i = 0; i < a->n_args; i++)
        for (int k = 0; k < b->n_args; k++) {
            const Expr *one = named(a->args[i]), *other = named(b->args[k]);
            bool alike = one && other && strcmp(one->name, other->name) != 0 && is_tile(v, one->name) && is_tile(v, other->name) &&
                         vary_has(&v->columns, one->name) == vary_has(&v->columns, other->name);
            Fix edits[2] = {{alike ? one->span : a->span, alike ? other->name : "", NULL}, {alike ? other->span : b->span, alike ? one->name : "", NULL}};

            if (alike && suggest_edits(v->s, edits, 2, "these two the other way round"))
                return true;
        }
    return false;
}

static bool try_pairs(Vary *v)
{
    enum { NEAR = 4 }; /* statements from each other */

    for (int i = 0; i < v->computes.len; i++)
        for (int k = i + 1; k < v->computes.len && k <= i + NEAR; k++) {
            const Stmt *a = v->computes.data[i], *b = v->computes.data[k];
            bool elements = a->op_known && b->op_known && a->n_args == 2 && b->n_args == 2 && op_info(a->op)->class == op_info(b->op)->class;

            if (elements && try_pair(v, a, b))
                return true;
        }
    return false;
}

/* ---- of another shape ------------------------------------------------------------------------------------- */

/* A column of other rows was taken (TW0322): which one, the definition tells. */
bool propose_other_column(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->unit && s->unit->kind == UNIT_KERNEL ? s->stmt : NULL;
    bool strict = s->strict, found = false;
    Vary v = stmt ? vary_kernel(s, s->unit) : (Vary){0};

    s->strict = true;
    for (int i = 0; stmt && s->agrees && s->stage == s->agrees && i < stmt->n_args; i++) {
        const Expr *e = named(stmt->args[i]);

        for (int k = 0; e && vary_has(&v.columns, e->name) && k < v.columns.len && !found; k++)
            found = strcmp(v.columns.data[k], e->name) != 0 && suggest_edit(s, e->span, v.columns.data[k], "with this column it is what the Operator says");
    }
    s->strict = strict;
    return found;
}

/* ---- entry ---------------------------------------------------------------------------------------------------- */

bool propose_lacking_op(Suggester *s)
{
    return vary_each(s, try_lacking_operation);
}

bool propose_lacking_at_store(Suggester *s)
{
    return vary_each(s, try_lacking_at_store);
}

bool propose_lacking_stmt(Suggester *s)
{
    return vary_each(s, try_unread) || vary_each(s, try_lacking_steps) || vary_each(s, try_blocks);
}

bool propose_exchanged_operands(Suggester *s)
{
    return vary_each(s, try_pairs);
}
