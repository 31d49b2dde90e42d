/* propose_agree.c: edits of Kernels that compute something else than the Operator beside them. Each is executed with the
 * definition before it is suggested (agree.c).
 *
 *   Compute Softmax S with M and L              Compute Multiply S, scale and get new S     in the other order
 *   Compute Multiply S, scale and get new S     Compute Softmax S with M and L
 *   Compute GEMM Q, K.T and get S               Compute GEMM Q, K.T and get S               what the definition does as well
 *                                               Compute Multiply S, scale and get new S
 *   Compute Mask S where kv_pos < q_pos         Compute Mask S where kv_pos <= q_pos        another bound, or side
 *   ... where col(S) <= row(S)                  ... where col(S) <= row(S) + kv_len - q_len what an Index begins at
 *   for j = 0:i                                 for j = 0:i + 1                             a turn more
 *   Compute GEMM X, Wg and accumulate U         Compute GEMM X, Wu and accumulate U         the definition's operand
 *   Compute Subtract m, S and get S             Compute Subtract S, m and get S             operands the other way round
 *   scale = 1 / D                               scale = 1 / sqrt(D)                         the definition's number
 *   Copy K ... [kv_heads = h % kv_heads]        Copy K ... [kv_heads = h div (q_heads div kv_heads)]
 *   Compute RowSum X and get m                  Compute RowSum X and get m; Compute Divide m, N and get new m
 *   Compute Divide s, BN and get m              Compute Divide s, N and get m               the length, not a tile's
 *   Compute RowSum X and accumulate s           Compute Mask X where j * BN + col(X) < N else 0, before it
 *   Compute Add s, eps and get m                Compute Divide s, N and get m               in the other order, step by step
 *   Compute Divide m, N and get new m           Compute Add m, eps and get new m
 *   Compute Relu C and get new C                (nothing)
 */
#include "suggest/vary.h"

typedef struct Beside {
    Suggester *s;
    const Unit *definition;
    Stmts computes; /* of the Kernel, in order, those of blocks within included */
} Beside;

/* ---- numbers ------------------------------------------------------------------------------------------ */

static bool try_numbers(Beside *b)
{
    const Block *body = &b->s->unit->body;

    for (int i = 0; i < body->len; i++) {
        const Stmt *own = body->data[i], *theirs = NULL;
        for (int k = 0; own->value && own->name && k < b->definition->body.len; k++) {
            const Stmt *stmt = b->definition->body.data[k];
            bool number = stmt->kind == STMT_PARAM || stmt->kind == STMT_LET || stmt->kind == STMT_ASSIGN;
            theirs = number && stmt->value && strcmp(stmt->name, own->name) == 0 ? stmt : theirs;
        }
        if (theirs && !expr_equal(theirs->value, own->value) &&
            suggest_edit(b->s, own->value->span, suggest_expr(b->s, theirs->value), "the number of the definition"))
            return true;
    }
    return false;
}

/* ---- order ----------------------------------------------------------------------------------------------- */

/* `Add s, eps and get m; Divide m, N and get m`: the second of what the first is done to, and the first of what that gives. */
static bool try_steps_exchanged(Beside *b, const Stmt *first, const Stmt *second)
{
    bool steps = first->op_known && second->op_known && first->n_args >= 1 && first->n_args <= 2 && second->n_args >= 1 && second->n_args <= 2 && first->dest && second->dest &&
                 expr_equal(first->dest, second->args[0]) && op_info(first->op)->class == OPC_ELEMENT && op_info(second->op)->class == OPC_ELEMENT;
    Stmt *now = suggest_like(b->s, first), *then = suggest_like(b->s, second);

    if (!steps)
        return false;
    now->op = second->op;
    now->op_name = second->op_name;
    then->op = first->op;
    then->op_name = first->op_name;
    now->args = arena_array(b->s->arena, Expr *, 2);
    then->args = arena_array(b->s->arena, Expr *, 2);
    now->n_args = second->n_args;
    then->n_args = first->n_args;
    now->args[0] = first->args[0];
    now->args[1] = second->n_args == 2 ? second->args[1] : NULL;
    then->args[0] = second->args[0];
    then->args[1] = first->n_args == 2 ? first->args[1] : NULL;
    Fix edits[] = {{first->span, suggest_text(b->s, now), NULL}, {second->span, suggest_text(b->s, then), NULL}};
    return suggest_edits(b->s, edits, 2, "in the other order it is what the Operator says");
}

/* Two statements one after the other, of one tile. */
static bool try_orders(Beside *b, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *first = block->data[i], *second = i + 1 < block->len ? block->data[i + 1] : first;
        const Expr *result = first->kind == STMT_COMPUTE ? compute_result(first) : NULL;
        bool related = second->kind == STMT_COMPUTE && result && second->n_args && expr_mentions(second->args[0], expr_base_name(result));
        if (related && !first->listed && !second->listed && first != second) {
            Fix edits[] = {{first->span, suggest_text(b->s, second), NULL}, {second->span, suggest_text(b->s, first), NULL}};
            if (suggest_edits(b->s, edits, 2, "in the other order it is what the Operator says") || try_steps_exchanged(b, first, second))
                return true;
        }
        if (try_orders(b, &first->body) || try_orders(b, &first->orelse))
            return true;
    }
    return false;
}

/* ---- what the definition does as well ------------------------------------------------------------------------ */

static bool is_done(const Beside *b, const Stmt *theirs)
{
    for (int i = 0; i < b->computes.len; i++)
        if (stmt_equal(b->computes.data[i], theirs))
            return true;
    return false;
}

/* `Divide S, 24` for `Multiply S, scale`. */
static bool scales(const Stmt *own, const Stmt *theirs)
{
    bool both = own->op_known && theirs->op_known && own->n_args == 2 && theirs->n_args == 2 && expr_equal(own->args[0], theirs->args[0]);

    return both && (own->op == OP_MULTIPLY || own->op == OP_DIVIDE) && (theirs->op == OP_MULTIPLY || theirs->op == OP_DIVIDE);
}

/* In place of one that gives a tile of this name, or behind it. */
static bool try_done_as(Beside *b, const Stmt *theirs, const Stmt *own, bool in_place)
{
    Span behind = {own->span.end, own->span.end};
    bool alike = own->op_known && theirs->op_known && (own->op == theirs->op || scales(own, theirs));

    if (!expr_is_name(compute_result(own), expr_base_name(theirs->args[0])))
        return false;
    if (in_place)
        return alike && suggest_edit(b->s, own->span, suggest_text(b->s, theirs), "as the definition has it");
    return suggest_edit(b->s, behind, arena_printf(b->s->arena, "\n%s%s", suggest_indent(b->s, own->span.start), suggest_text(b->s, theirs)),
                        "what the Operator does as well");
}

/* A statement of the definition that changes a tensor: sooner one of the Kernel is meant to be this than that there is another. */
static bool try_missing(Beside *b)
{
    for (int k = 0; k < b->definition->body.len; k++) {
        const Stmt *theirs = b->definition->body.data[k];
        const char *name = theirs->kind == STMT_COMPUTE && theirs->n_args ? expr_base_name(theirs->args[0]) : NULL;
        bool changes = name && expr_is_name(compute_result(theirs), name) && !is_done(b, theirs);

        for (int behind = 0; behind < 2; behind++)
            for (int i = 0; changes && i < b->computes.len; i++)
                if (try_done_as(b, theirs, b->computes.data[i], !behind))
                    return true;
    }
    return false;
}

/* ---- means -------------------------------------------------------------------------------------------------- */

/* Behind the outermost loop that a statement stands in, or itself; -1: nowhere. */
static int behind_loops(const Beside *b, const Stmt *stmt)
{
    const Stmt *outer = stmt;

    for (int i = 0; i < b->s->unit->body.len; i++)
        if (b->s->unit->body.data[i]->span.start <= stmt->span.start)
            outer = b->s->unit->body.data[i];
    return outer == stmt ? stmt->span.end : suggest_end(b->s, outer);
}

/* `RowMean X` of each tile, and a division by how many tiles there are: the mean of all but those that are not full. */
static bool try_mean_of_tiles(Beside *b, const Stmt *mean)
{
    Cuts cuts = cuts_of(b->s);
    Stmt *sum = suggest_like(b->s, mean);

    sum->op = OP_ROW_SUM;
    sum->op_name = op_info(OP_ROW_SUM)->name;
    for (int i = 0; i < b->computes.len; i++) {
        const Stmt *quotient = b->computes.data[i];
        bool later = quotient->op_known && quotient->op == OP_DIVIDE && quotient->n_args == 2 && quotient->span.start > mean->span.start;
        for (int k = 0; later && k < cuts.list.len; k++) {
            Fix edits[] = {{mean->span, suggest_text(b->s, sum), NULL}, {quotient->args[1]->span, cuts.list.data[k].dim, NULL}};
            if (expr_mentions(quotient->args[1], cuts.list.data[k].dim) && suggest_edits(b->s, edits, 2, "the sum of all tiles, divided by how long the row is"))
                return true;
        }
    }
    return false;
}

/* What the parts of a sum are added to, `Add m, part`; the sum itself, where they are to nothing. */
static const char *whole_of(const Beside *b, const char *part)
{
    for (int i = 0; i < b->computes.len; i++) {
        const Stmt *s = b->computes.data[i];
        bool adds = s->op_known && s->op == OP_ADD && s->n_args == 2 && expr_is_name(s->args[1], part);

        if (adds && expr_is_name(compute_result(s), expr_base_name(s->args[0])))
            return expr_base_name(s->args[0]);
    }
    return part;
}

/* A sum of rows where the definition takes their mean. */
static bool try_means(Beside *b)
{
    for (int i = 0; i < b->computes.len; i++)
        if (b->computes.data[i]->op_known && b->computes.data[i]->op == OP_ROW_MEAN && try_mean_of_tiles(b, b->computes.data[i]))
            return true;

    const Stmt *mean = NULL;

    for (int i = 0; i < b->definition->body.len; i++) {
        const Stmt *stmt = b->definition->body.data[i];
        mean = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_ROW_MEAN ? stmt : mean;
    }
    for (int i = 0; mean && i < b->computes.len; i++) {
        const Stmt *sum = b->computes.data[i];
        const char *name = sum->op_known && sum->op == OP_ROW_SUM ? expr_base_name(compute_result(sum)) : NULL;
        int at = name ? behind_loops(b, sum) : -1;
        name = name ? whole_of(b, name) : NULL;
        for (int k = 0; at >= 0 && k < b->definition->body.len; k++) {
            const Stmt *input = b->definition->body.data[k];
            const Expr *last = input->kind == STMT_INPUT && input->n_shape ? input->shape[input->n_shape - 1] : NULL;
            if (last && suggest_edit(b->s, (Span){at, at}, arena_printf(b->s->arena, "\n  Compute Divide %s, %s and get new %s", name, suggest_expr(b->s, last), name), "a mean is the sum, divided"))
                return true;
        }
    }
    return false;
}

/* ---- heads ------------------------------------------------------------------------------------------------------ */

/* `h % kv_heads`, `h div kv_heads`, and along what, kv_heads. */
typedef struct Entry {
    const Expr *e;
    const char *dim;
} Entry;

typedef struct Shared {
    Suggester *s;
    const Stmt *grid; /* that has `h` */
    VEC(Entry) own;
    const Expr *wrong; /* of these, wherever it stands, ... */
    VEC(Fix) edits;
    const char *text; /* ... instead */
} Shared;

/* How many blocks there are along a coordinate of the grid; NULL: it has none of this name. */
static const Expr *grid_extent(const Stmt *grid, const char *name)
{
    const Coord *axis = grid ? stmt_coord(grid, name) : NULL;

    return axis ? axis->value : NULL;
}

static bool is_known(const Shared *h, const Expr *e)
{
    for (int i = 0; i < h->own.len; i++)
        if (expr_equal(h->own.data[i].e, e))
            return true;
    return false;
}

static void note_shared(Shared *h, const Expr *e, const char *dim)
{
    if (!dim || !e || e->kind != EXPR_BINARY || (e->op != EO_MOD && e->op != EO_IDIV && e->op != EO_DIV) || e->a->kind != EXPR_NAME || !grid_extent(h->grid, e->a->name))
        return;
    if (!h->text && !is_known(h, e))
        vec_push(h->s->arena, &h->own, ((Entry){e, dim}));
    if (h->text && expr_equal(e, h->wrong))
        vec_push(h->s->arena, &h->edits, ((Fix){e->span, h->text, NULL}));
}

/* The dimension along which a name is a coordinate; NULL: along none. */
static const char *dim_of_name(const Block *block, const char *name)
{
    const char *found = NULL;

    for (int i = 0; i < block->len && !found; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_COPY && k < s->n_coords; k++)
            if (s->coords[k].value && s->coords[k].name && expr_is_name(s->coords[k].value, name))
                return s->coords[k].name;
        found = dim_of_name(&s->body, name);
        found = found ? found : dim_of_name(&s->orelse, name);
    }
    return found;
}

/* In a coordinate, or under a name that is one. */
static void find_shared(void *user, const Stmt *stmt)
{
    Shared *h = user;

    for (int i = 0; stmt->kind == STMT_COPY && i < stmt->n_coords; i++)
        note_shared(h, stmt->coords[i].value, stmt->coords[i].name);
    if (stmt->kind == STMT_ASSIGN && stmt->value && stmt->value->kind == EXPR_BINARY) {
        const char *dim = dim_of_name(&h->s->unit->body, stmt->name);

        note_shared(h, stmt->value, dim ? dim : expr_base_name(stmt->value->b));
    }
}

static bool try_shared(Shared *h, const Entry *entry, const char *by)
{
    h->wrong = entry->e;
    h->text = arena_printf(h->s->arena, "%s div %s", entry->e->a->name, by);
    h->edits.len = 0;
    suggest_each(&h->s->unit->body, find_shared, h);
    return h->edits.len && suggest_edits(h->s, h->edits.data, h->edits.len, "consecutive ones share");
}

/* `kv_heads = h % kv_heads`, `kv_heads = h div kv_heads`, `kv_heads = h % group`, `h div 4`: consecutive heads share one in a definition. */
static bool try_groups(Beside *b)
{
    Shared h = {.s = b->s, .grid = block_find(&b->s->unit->body, STMT_GRID, NULL)};

    suggest_each(&b->s->unit->body, find_shared, &h);
    for (int i = 0; i < h.own.len; i++) {
        const Entry *entry = &h.own.data[i];
        const char *all = suggest_expr(b->s, grid_extent(h.grid, entry->e->a->name));

        if (try_shared(&h, entry, arena_printf(b->s->arena, "(%s div %s)", all, entry->dim)) || try_shared(&h, entry, suggest_expr(b->s, entry->e->b)))
            return true;
    }
    return false;
}

/* ---- one statement ---------------------------------------------------------------------------------------------- */

static bool try_exchanged(Beside *b, const Stmt *stmt)
{
    bool ordered = stmt->op_known && (stmt->op == OP_SUBTRACT || stmt->op == OP_DIVIDE) && stmt->n_args == 2;
    Stmt *changed = suggest_like(b->s, stmt);

    if (!ordered || !stmt->dest)
        return false;
    changed->args = arena_array(b->s->arena, Expr *, 2);
    changed->args[0] = stmt->args[1];
    changed->args[1] = stmt->args[0];
    return suggest_stmt(b->s, stmt, changed, "the other way round it is what the Operator says");
}

/* A number that conditions of the definition say, or a Param of its. */
static bool try_number_of(Beside *b, const Expr *own, const Expr *theirs)
{
    const Stmt *param = theirs && theirs->kind == EXPR_NAME ? block_find(&b->definition->body, STMT_PARAM, theirs->name) : NULL;

    if (!theirs)
        return false;
    if (((theirs->kind == EXPR_INT && theirs->i != own->i) || param) && suggest_edit(b->s, own->span, suggest_expr(b->s, theirs), "the number of the definition"))
        return true;
    for (int i = 0; i < theirs->n_args; i++)
        if (try_number_of(b, own, theirs->args[i]))
            return true;
    return try_number_of(b, own, theirs->a) || try_number_of(b, own, theirs->b);
}

static bool try_numbers_of(Beside *b, const Expr *own)
{
    if (!own)
        return false;
    for (int i = 0; own->kind == EXPR_INT && i < b->definition->body.len; i++)
        if (b->definition->body.data[i]->kind == STMT_COMPUTE && try_number_of(b, own, stmt_condition(b->definition->body.data[i])))
            return true;
    return try_numbers_of(b, own->a) || try_numbers_of(b, own->b);
}

/* A comparison with its bound, or without it; the other side of it. */
static bool try_bounds(Beside *b, const Expr *e)
{
    static const struct { ExprOp op, others[3]; } bounds[] = {{EO_LT, {EO_LE, EO_GT, EO_GE}}, {EO_LE, {EO_LT, EO_GE, EO_GT}}, {EO_GT, {EO_GE, EO_LT, EO_LE}}, {EO_GE, {EO_GT, EO_LE, EO_LT}}};

    if (!e || e->kind != EXPR_BINARY)
        return false;
    for (size_t i = 0; i < TW_COUNT(bounds); i++)
        for (size_t k = 0; e->op == bounds[i].op && k < TW_COUNT(bounds[i].others); k++) {
            Expr other = *e;
            other.op = bounds[i].others[k];
            if (suggest_edit(b->s, e->span, suggest_expr(b->s, &other), k ? "this side of it is what the Operator says" : "with this bound it is what the Operator says"))
                return true;
        }
    return try_bounds(b, e->a) || try_bounds(b, e->b);
}

/* The place of an element along a dimension whose positions begin elsewhere. */
static bool try_begins(Beside *b, const Expr *e)
{
    bool place = e && e->kind == EXPR_CALL && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"));

    for (int i = 0; place && i < b->definition->body.len; i++) {
        const Stmt *index = b->definition->body.data[i];
        if (index->kind == STMT_INDEX && index->value &&
            suggest_edit(b->s, (Span){e->span.end, e->span.end}, arena_printf(b->s->arena, " + %s", suggest_expr(b->s, index->value)), "positions begin where the Operator's do"))
            return true;
    }
    return e && (try_begins(b, e->a) || try_begins(b, e->b));
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* The operand that the definition's statement of this operation and this result has in its place. */
static bool try_operands(Beside *b, const Stmt *own)
{
    const Expr *result = compute_result(own);

    for (int i = 0; own->op_known && result && i < b->definition->body.len; i++) {
        const Stmt *theirs = b->definition->body.data[i];
        bool alike = theirs->kind == STMT_COMPUTE && theirs->op_known && theirs->op == own->op && theirs->n_args == own->n_args && own->n_args > 1 &&
                     compute_result(theirs) && expr_is_name(compute_result(theirs), expr_base_name(result));
        for (int k = 0; alike && k < own->n_args; k++)
            if (!expr_equal(own->args[k], theirs->args[k]) && suggest_edit(b->s, own->args[k]->span, suggest_expr(b->s, theirs->args[k]), "the operand that the Operator has"))
                return true;
    }
    return false;
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

/* The size of a tile where that of the dimension is meant that it lies along. */
static bool try_lengths(Beside *b, Cuts *cuts, const Stmt *own)
{
    bool quotient = own->op_known && own->op == OP_DIVIDE && own->n_args == 2 && own->args[1]->kind == EXPR_NAME;

    for (int i = 0; quotient && i < cuts->list.len; i++)
        if (cuts->list.data[i].size && expr_is_name(own->args[1], cuts->list.data[i].size) &&
            suggest_edit(b->s, own->args[1]->span, cuts->list.data[i].dim, "the whole dimension, not a tile of it"))
            return true;
    return false;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* As many as there are tiles along what the counter moves along, or as one of several bounds says alone. */
static bool try_all_turns(Beside *b, const Cuts *cuts, const Stmt *loop)
{
    const Expr *hi = loop->hi;

    for (int i = 0; i < cuts->list.len; i++) {
        const Cut *cut = &cuts->list.data[i];
        const char *all = cut->size ? arena_printf(b->s->arena, "ceil(%s / %s)", cut->dim, cut->size) : NULL;
        if (all && cut->coord && strcmp(cut->coord, loop->name) == 0 && strcmp(suggest_expr(b->s, hi), all) != 0 &&
            suggest_edit(b->s, hi->span, all, "all tiles that there are"))
            return true;
    }
    for (int i = 0; hi->kind == EXPR_CALL && i < hi->n_args; i++)
        if (suggest_edit(b->s, hi->span, suggest_expr(b->s, hi->args[i]), "without the other bound"))
            return true;
    return false;
}

static bool try_one_more(Beside *b, const Stmt *loop)
{
    return !vary_counts_all(b->s->unit, loop->hi) && suggest_edit(b->s, loop->hi->span, arena_printf(b->s->arena, "%s + 1", suggest_expr(b->s, loop->hi)), "its last turn as well");
}

/* cuts: of all tiles there are; NULL: one more. */
static bool try_turns(Beside *b, const Cuts *cuts, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool counts = s->kind == STMT_FOR && s->hi && !s->over;
        if (counts && (cuts ? try_all_turns(b, cuts, s) : try_one_more(b, s)))
            return true;
        if (try_turns(b, cuts, &s->body) || try_turns(b, cuts, &s->orelse))
            return true;
    }
    return false;
}

static bool try_removal(Beside *b, const Stmt *stmt)
{
    const Expr *result = compute_result(stmt);
    bool in_place = result && stmt->n_args && expr_is_name(result, expr_base_name(stmt->args[0])) && stmt->result != RESULT_ACCUMULATE;

    return in_place && stmt->op_known && stmt->op != OP_FILL && suggest_edit(b->s, suggest_line(b->s, stmt->span), "", "without it it is what the Operator says");
}

/* ---- entry ------------------------------------------------------------------------------------------------------- */

static bool try_as_defined(Vary *v)
{
    Suggester *s = v->s;
    Beside b = {s, v->definition, v->computes};

    if (try_numbers(&b) || try_groups(&b) || try_means(&b) || try_orders(&b, &v->kernel->body))
        return true;
    for (int i = 0; i < b.computes.len; i++)
        if (try_exchanged(&b, b.computes.data[i]) || try_operands(&b, b.computes.data[i]) || try_bounds(&b, stmt_condition(b.computes.data[i])) ||
            try_begins(&b, stmt_condition(b.computes.data[i])))
            return true;
    Cuts cuts = cuts_of(s);
    for (int i = 0; i < b.computes.len; i++)
        if (try_lengths(&b, &cuts, b.computes.data[i]))
            return true;
    if (try_missing(&b))
        return true;
    for (int i = 0; i < b.computes.len; i++)
        if (try_removal(&b, b.computes.data[i]))
            return true;
    return false;
}

static bool try_compared(Vary *v)
{
    Beside b = {v->s, v->definition, v->computes};

    for (int i = 0; i < b.computes.len; i++)
        if (try_numbers_of(&b, stmt_condition(b.computes.data[i])))
            return true;
    return false;
}

/* Before all else: where only a large shape shows what differs, few tries can be made. */
bool propose_compared_number(Suggester *s)
{
    return vary_each(s, try_compared);
}

bool propose_agreement(Suggester *s)
{
    return vary_each(s, try_as_defined);
}

static bool try_turns_of_tiles(Vary *v)
{
    Beside b = {v->s, v->definition, v->computes};
    Cuts cuts = cuts_of(v->s);

    return try_turns(&b, &cuts, &v->kernel->body);
}

bool propose_turns_of_tiles(Suggester *s)
{
    return vary_each(s, try_turns_of_tiles);
}

static bool try_more_turns(Vary *v)
{
    Beside b = {v->s, v->definition, v->computes};

    return try_turns(&b, NULL, &v->kernel->body);
}

bool propose_more_turns(Suggester *s)
{
    return vary_each(s, try_more_turns);
}
