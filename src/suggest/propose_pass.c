/* propose_pass.c: Kernels that go over their rows once too seldom: a column is taken for a sum, or a maximum, of each row, and
 * no loop makes it. The loop is made of another that goes over the same rows, as far as that makes what is reduced, and of what
 * the definition reduces.
 *
 *   Compute Fill var, 0                          Compute Fill var, 0
 *   Compute Divide var, N and get new var        for j = 0:ceil(N / BN)
 *   ...                                            Copy X (BM, BN) in coordinate [M = m, N = j] from global to register
 *   for j = 0:ceil(N / BN)                 ─►      Compute Subtract X, mu and get x
 *     Copy X (BM, BN) in coordinate ...            Compute Square x and get new x
 *     Compute Subtract X, mu and get x             Compute RowSum x and accumulate var
 *     Compute Multiply x, var and get new x      end
 *                                                Compute Divide var, N and get new var
 *
 * Of each loop it is tried whether both agree then (vary.h).
 */
#include "suggest/vary.h"

enum { MOST_TRIES = 12 }; /* where each is a whole check */

/* What the definition reduces, and what makes that. */
typedef struct Reduced {
    const Stmt *by; /* the definition's statement */
    OpId op;     /* RowSum, RowMax, RowMin */
    OpId maker;  /* of its operand */
    bool made;   /* it is no Input */
    bool square; /* `Multiply d, d` */
} Reduced;

typedef struct Lost {
    Vary *v;
    const char *column; /* that no loop makes */
    const Stmt *before; /* the statement of the Kernel that takes it */
    bool unset;         /* nothing gives it a value before */
    const Stmt *like;   /* of code: the Allocate of such a column; NULL: it is allocated */
    const char *behind; /* statements behind the loop */
    Fix use;            /* a statement that takes the column; no text: there is one */
    VEC(Reduced) reduced;
} Lost;

static bool is_of_class(const Stmt *s, OpClass class)
{
    return s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == class;
}

/* ---- what is reduced --------------------------------------------------------------------------------- */

static void note_reduced(Lost *p, const Stmt *by, OpId op, const Stmt *maker)
{
    Reduced r = {.by = by, .op = op == OP_ROW_MEAN ? OP_ROW_SUM : op, .made = maker != NULL, .maker = maker ? maker->op : OP_ADD};

    r.square = maker && maker->op == OP_MULTIPLY && maker->n_args == 2 && expr_equal(maker->args[0], maker->args[1]);
    vec_push(p->v->s->arena, &p->reduced, r);
}

static const Stmt *maker_of(const Vary *v, int before, const char *name)
{
    const Stmt *maker = NULL;

    for (int i = 0; name && i < before; i++) {
        const Stmt *s = v->definition->body.data[i];
        maker = vary_result(s) && strcmp(vary_result(s), name) == 0 && s->op_known ? s : maker;
    }
    return maker;
}

/* A softmax has a maximum, and a sum of exponentials. */
static void note_all_reduced(Lost *p)
{
    const Block *body = &p->v->definition->body;

    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];
        const Stmt *maker = s->kind == STMT_COMPUTE && s->n_args ? maker_of(p->v, i, expr_base_name(s->args[0])) : NULL;

        if (is_of_class(s, OPC_ROW_REDUCE))
            note_reduced(p, s, s->op, maker);
        if (is_of_class(s, OPC_SOFTMAX)) {
            note_reduced(p, s, OP_ROW_MAX, maker);
            vec_push(p->v->s->arena, &p->reduced, ((Reduced){.by = s, .op = OP_ROW_SUM, .maker = OP_EXP, .made = true}));
        }
    }
}

/* ---- the loop ------------------------------------------------------------------------------------------- */

/* Of a Copy of tiles that the loop goes along, `j * BN + col(x) < N`. */
static const char *along_text(const Lost *p, const Stmt *copy, const Stmt *loop, const char *tile)
{
    Suggester *s = p->v->s;
    const Stmt *tensor = copy->kind == STMT_COPY && copy->n_shape ? unit_tensor(p->v->kernel, copy_tensor(copy)) : NULL;
    int lead = tensor ? tensor->n_shape - copy->n_shape : 0;

    for (int d = tensor && lead >= 0 ? tensor->n_shape - 1 : -1; d >= 0 && d >= lead; d--)
        for (int k = 0; k < copy->n_coords; k++) {
            const Coord *c = &copy->coords[k];
            if (c->name && expr_is_name(tensor->shape[d], c->name) && expr_is_name(c->value, loop->name) && !expr_is_one(copy->shape[d - lead]))
                return arena_printf(s->arena, "%s * %s + col(%s) < %s", loop->name, suggest_expr(s, copy->shape[d - lead]), tile, c->name);
        }
    return NULL;
}

/* What of a tile lies within the tensor along which the loop goes; NULL: it does not go along any by tiles. */
static const char *within_text(const Lost *p, const Stmt *loop, const char *tile)
{
    const char *text = NULL;

    for (int i = 0; i < loop->body.len && !text; i++)
        text = along_text(p, loop->body.data[i], loop, tile);
    return text;
}

static bool is_allocated(const Vary *v, const char *name)
{
    return block_find(&v->kernel->body, STMT_ALLOCATE, name) != NULL;
}

static bool is_code(const Vary *v)
{
    return block_find(&v->kernel->body, STMT_ALLOCATE, NULL) != NULL;
}

/* The reduction of a tile into the column; an Allocate for what it takes on the way where code has none. */
static const char *reduction(const Lost *p, OpId op, const char *tile, const char *indent, const char **allocate)
{
    Arena *arena = p->v->s->arena;
    const char *c = p->column, *here = arena_printf(arena, "%s_here", c);
    const Stmt *like = block_find(&p->v->kernel->body, STMT_ALLOCATE, c);
    Stmt *tile_here = like ? suggest_like(p->v->s, like) : NULL;

    if (op == OP_ROW_SUM)
        return arena_printf(arena, "%sCompute RowSum %s and accumulate %s\n", indent, tile, c);
    if (tile_here && !is_allocated(p->v, here)) {
        tile_here->name = here;
        tile_here->listed = false;
        *allocate = arena_printf(arena, "%s%s\n", suggest_indent(p->v->s, p->before->span.start), suggest_text(p->v->s, tile_here));
    }
    return arena_printf(arena, "%sCompute %s %s and get %s\n%sCompute %s %s, %s and get new %s\n", indent, op_info(op)->name, tile, here, indent,
                        op == OP_ROW_MAX ? "Max" : "Min", c, here, c);
}

/* In front of what takes the column, or of the loop in which another statement then does. */
static bool suggest_pass(Lost *p, const char *loop)
{
    static const char label[] = "what the Operator reduces, in a loop of its own";
    Suggester *s = p->v->s;
    Fix edits[3];
    int n = 0;

    if (p->like) {
        Stmt *column = suggest_like(s, p->like);
        column->name = p->column;
        column->listed = false;
        edits[n++] = (Fix){suggest_before(s, p->like), arena_printf(s->arena, "%s%s\n", suggest_indent(s, p->like->span.start), suggest_text(s, column)), NULL};
    }
    edits[n++] = (Fix){suggest_before(s, p->before), arena_printf(s->arena, "%s%s", loop, p->behind ? p->behind : ""), NULL};
    if (p->use.text)
        edits[n++] = p->use;
    return n == 1 ? suggest_edit(s, edits[0].span, edits[0].text, label) : suggest_edits(s, edits, n, label);
}

/* The loop's statements up to the k-th, a step that makes of their tile what is reduced, or none, and the reduction. */
static bool try_loop(Lost *p, const Stmt *loop, int k, const char *tile, const Reduced *r, bool step, bool masked)
{
    Suggester *s = p->v->s;
    const char *indent = suggest_indent(s, loop->span.start), *within = suggest_indent(s, loop->body.data[0]->span.start), *allocate = "", *condition = within_text(p, loop, tile);
    bool copied = loop->body.data[k - 1]->kind == STMT_COPY, sum = r->op == OP_ROW_SUM;
    const char *made = step && copied ? arena_printf(s->arena, "%s_part", tile) : tile;
    Str text = str_new(s->arena);

    if ((masked && !condition) || (made != tile && is_code(p->v)))
        return false;
    if (p->unset && !sum)
        str_printf(&text, "%sCompute Fill %s, %s\n", indent, p->column, r->op == OP_ROW_MAX ? "-inf" : "inf");
    str_printf(&text, "%s%.*s\n", indent, loop->span.end - loop->span.start, s->source->text + loop->span.start);
    for (int i = 0; i < k; i++)
        if (vary_makes(loop, i, k, tile))
            str_printf(&text, "%s%s\n", within, suggest_text(s, loop->body.data[i]));
    if (masked && !sum)
        str_printf(&text, "%sCompute Mask %s where %s%s\n", within, tile, condition, r->op == OP_ROW_MIN ? " else inf" : "");
    if (step)
        str_printf(&text, r->square ? "%sCompute %s %s, %s and get %s%s\n" : "%sCompute %s %s%.0s and get %s%s\n", within, op_info(r->maker)->name, tile, tile, made == tile ? "new " : "", made);
    if (masked && sum)
        str_printf(&text, "%sCompute Mask %s where %s else 0\n", within, made, within_text(p, loop, made));
    const char *last = reduction(p, r->op, made, within, &allocate);
    str_printf(&text, "%s%send\n", last, indent);
    return suggest_pass(p, arena_printf(s->arena, "%s%s", allocate, str_text(&text)));
}

/* Whether the loop ends its tile at the k-th statement as the definition's operand is made, or with a step more is. */
static bool try_at(Lost *p, const Stmt *loop, int k, const char *tile, const Reduced *r)
{
    const Stmt *last = loop->body.data[k - 1];
    bool same = r->made && last->kind == STMT_COMPUTE && last->op_known && last->op == r->maker;
    bool plain = last->kind == STMT_COPY || is_of_class(last, OPC_CAST) || is_of_class(last, OPC_MASK);
    bool step = r->made && !same && (r->square || op_info(r->maker)->arity == 1);

    if (r->made && !same && !step && !plain)
        return false;
    if (!r->made && !plain)
        return false;
    if (r->made && !same && step && r->maker == OP_EXP && plain) /* of what nothing was subtracted from */
        return false;
    return try_loop(p, loop, k, tile, r, step, false) || (is_code(p->v) && try_loop(p, loop, k, tile, r, step, true));
}

/* The tile that a statement of a loop leaves to the next. */
static const char *tile_of(const Vary *v, const Stmt *s)
{
    const char *name = s->kind == STMT_COPY && s->to_space != SPACE_GLOBAL ? copy_tile(s) : vary_result(s);

    return name && vary_has(&v->tiles, name) ? name : NULL;
}

static bool ends_pass(const Stmt *s)
{
    bool stores = s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL;

    return stores || s->result == RESULT_ACCUMULATE || s->n_with || is_of_class(s, OPC_ROW_REDUCE) || (s->kind != STMT_COPY && s->kind != STMT_COMPUTE);
}

static bool try_pass(Lost *p, const Stmt *loop, const Reduced *r)
{
    for (int k = 1; k <= loop->body.len && !ends_pass(loop->body.data[k - 1]); k++) {
        const char *tile = tile_of(p->v, loop->body.data[k - 1]);
        bool copies = k < loop->body.len && loop->body.data[k]->kind == STMT_COPY && loop->body.data[k]->to_space != SPACE_GLOBAL;

        if (tile && !copies && !expr_mentions(loop->body.data[k - 1]->where, p->column) && try_at(p, loop, k, tile, r))
            return true;
    }
    return false;
}

static bool try_reduced(Lost *p, const Reduced *r)
{
    const Block *body = &p->v->kernel->body;

    for (int k = body->len - 1; k >= 0; k--)
        if (body->data[k]->kind == STMT_FOR && body->data[k]->body.len && try_pass(p, body->data[k], r))
            return true;
    return false;
}

static bool try_passes(Lost *p)
{
    note_all_reduced(p);
    for (int i = 0; p->before && i < p->reduced.len; i++)
        if (try_reduced(p, &p->reduced.data[i]))
            return true;
    return false;
}

/* ---- the column ---------------------------------------------------------------------------------------------- */

/* Whether some statement makes the column of rows, or of something that is one. */
static bool is_made(const Vary *v, const char *column)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *s = v->all.data[i];
        bool own = vary_result(s) && strcmp(vary_result(s), column) == 0;
        bool again = s->kind == STMT_COMPUTE && s->n_args && expr_is_name(s->args[0], column);

        for (int k = 0; k < s->n_with; k++)
            if (expr_is_name(s->with[k], column))
                return true;
        if (s->kind == STMT_COPY && s->to_space != SPACE_GLOBAL && strcmp(copy_tile(s), column) == 0)
            return true;
        if (own && !again && !(s->op_known && s->op == OP_FILL))
            return true;
    }
    return false;
}

static const Stmt *first_that_takes(const Vary *v, const char *column)
{
    for (int i = 0; i < v->kernel->body.len; i++)
        if (vary_takes(v->kernel->body.data[i], column))
            return v->kernel->body.data[i];
    return NULL;
}

/* What another loop copies, parts of which a kernel before has left one for each turn: their largest, or their sum. */
static bool try_parts(Lost *p, const Stmt *loop, const Stmt *copy)
{
    static const OpId ops[] = {OP_MAX, OP_ADD, OP_MIN};
    Suggester *s = p->v->s;
    const char *indent = suggest_indent(s, loop->span.start), *within = suggest_indent(s, copy->span.start), *part = copy_tile(copy);

    for (size_t i = 0; i < TW_COUNT(ops); i++)
        if (suggest_pass(p, arena_printf(s->arena, "%s%.*s\n%s%s\n%sCompute %s %s, %s and get new %s\n%send\n", indent, loop->span.end - loop->span.start, s->source->text + loop->span.start, within,
                                         suggest_text(s, copy), within, op_info(ops[i])->name, p->column, part, p->column, indent)))
            return true;
    return false;
}

static bool try_all_parts(Lost *p)
{
    const Block *body = &p->v->kernel->body;

    for (int i = 0; i < body->len; i++)
        for (int k = 0; body->data[i]->kind == STMT_FOR && k < body->data[i]->body.len; k++) {
            const Stmt *copy = body->data[i]->body.data[k];
            bool column = copy->kind == STMT_COPY && copy->space == SPACE_GLOBAL && !copy->listed && vary_has(&p->v->columns, copy_tile(copy));

            if (column && try_parts(p, body->data[i], copy))
                return true;
        }
    return false;
}

static bool try_column(Vary *v, const char *column)
{
    Lost p = {.v = v, .column = column, .before = first_that_takes(v, column)};

    return p.before && !is_made(v, column) && (try_all_parts(&p) || try_passes(&p));
}

/* What is only filled is a column of a sketch as well. */
static bool try_columns(Vary *v)
{
    for (int i = 0; i < v->columns.len; i++)
        if (try_column(v, v->columns.data[i]))
            return true;
    for (int i = 0; i < v->computes.len; i++) {
        const Stmt *s = v->computes.data[i];
        const char *name = s->op_known && s->op == OP_FILL ? vary_result(s) : NULL;
        if (name && !vary_has(&v->columns, name) && try_column(v, name))
            return true;
    }
    return false;
}

bool propose_missing_pass(Suggester *s)
{
    return vary_each(s, try_columns);
}

/* ---- a column that nothing takes either -------------------------------------------------------------------- */

/* How many elements a mean is of. */
static const char *length_of_rows(const Lost *p)
{
    for (int i = 0; i < p->v->kernel->body.len; i++) {
        const Stmt *s = p->v->kernel->body.data[i];
        if (s->kind == STMT_INPUT && s->n_shape > 1)
            return suggest_expr(p->v->s, s->shape[s->n_shape - 1]);
    }
    return "1";
}

static bool is_number(const Vary *v, const Expr *e)
{
    const char *name = expr_base_name(e);

    return !name || block_find(&v->definition->body, STMT_PARAM, name) || block_find(&v->definition->body, STMT_LET, name);
}

/* The definition's step with the Kernel's names, in place. */
static const char *own_step(const Lost *p, const Stmt *step, const char *of, const Expr *second)
{
    Suggester *s = p->v->s;
    Stmt *own = suggest_like(s, step);

    own->args = arena_array(s->arena, Expr *, 2);
    own->args[0] = own->dest = expr_name(s->arena, of);
    own->args[1] = (Expr *)second;
    own->n_args = second ? 2 : 1;
    own->result = RESULT_GET_NEW;
    return suggest_text(s, own);
}

/* What the definition does with a column until a tile takes it; returns the statement where one does, or NULL. */
static const Stmt *follow(const Lost *p, const Reduced *r, Str *text)
{
    const char *name = vary_result(r->by), *indent = suggest_indent(p->v->s, p->before->span.start);
    const Block *body = &p->v->definition->body;
    bool behind = false;

    if (r->by->op == OP_ROW_MEAN)
        str_printf(text, "%sCompute Divide %s, %s and get new %s\n", indent, p->column, length_of_rows(p), p->column);
    for (int i = 0; name && i < body->len; i++) {
        const Stmt *step = body->data[i];
        bool element = behind && is_of_class(step, OPC_ELEMENT) && !step->listed;

        behind |= step == r->by;
        if (element && step->n_args == 2 && expr_is_name(step->args[1], name) && !is_number(p->v, step->args[0]))
            return step;
        if (element && expr_is_name(step->args[0], name) && (step->n_args == 1 || (step->n_args == 2 && is_number(p->v, step->args[1])))) {
            str_printf(text, "%s%s\n", indent, own_step(p, step, p->column, step->n_args == 2 ? step->args[1] : NULL));
            name = vary_result(step);
        }
    }
    return NULL;
}

static const Stmt *divided(Arena *arena)
{
    Stmt *s = stmt_new(arena, STMT_COMPUTE);

    s->op = OP_DIVIDE;
    s->op_name = op_info(OP_DIVIDE)->name;
    s->op_known = true;
    return s;
}

/* The loop and what follows it, and behind each statement of the loop before which it stands the step that takes the column. */
static bool try_taken(Lost *p, const Reduced *r)
{
    Suggester *s = p->v->s;
    bool softmax = is_of_class(r->by, OPC_SOFTMAX);
    Str text = str_new(s->arena);
    const Stmt *step = softmax ? divided(s->arena) : follow(p, r, &text);

    p->behind = str_text(&text);
    for (int i = p->before->body.len - 1; step && i >= 0; i--) {
        const Stmt *at = p->before->body.data[i];
        const char *tile = is_of_class(at, OPC_ELEMENT) || is_of_class(at, OPC_CAST) ? tile_of(p->v, at) : NULL;

        if (!tile)
            continue;
        p->use = (Fix){{at->span.end, at->span.end}, arena_printf(s->arena, "\n%s%s", suggest_indent(s, at->span.start), own_step(p, step, tile, expr_name(s->arena, p->column))), NULL};
        if (try_reduced(p, r))
            return true;
    }
    return false;
}

static const char *fresh_name(const Vary *v, const char *name)
{
    bool taken = !name || block_mentions(&v->kernel->body, name) || unit_tensor(v->kernel, name);

    return taken ? arena_printf(v->s->arena, "%s_rows", name ? name : "sum") : name;
}

static const Stmt *last_loop(const Vary *v)
{
    const Stmt *loop = NULL;

    for (int i = 0; i < v->kernel->body.len; i++)
        loop = v->kernel->body.data[i]->kind == STMT_FOR ? v->kernel->body.data[i] : loop;
    return loop;
}

/* Of sums alone, since a maximum that none takes changes nothing. */
static bool try_lost(Vary *v)
{
    Lost p = {.v = v, .before = last_loop(v)};

    for (int i = 0; i < v->columns.len && !p.like; i++)
        p.like = block_find(&v->kernel->body, STMT_ALLOCATE, v->columns.data[i]);
    note_all_reduced(&p);
    for (int i = p.reduced.len - 1; p.before && i >= 0; i--) {
        const Reduced *r = &p.reduced.data[i];

        p.column = fresh_name(v, is_of_class(r->by, OPC_SOFTMAX) ? "sums" : vary_result(r->by));
        if (r->op == OP_ROW_SUM && (p.like || !is_code(v)) && try_taken(&p, r))
            return true;
    }
    return false;
}

/* Neither the loop nor what takes its sum. */
bool propose_lost_pass(Suggester *s)
{
    return vary_each(s, try_lost);
}

/* ---- beyond the last element -------------------------------------------------------------------------------- */

static const char *otherwise(const Stmt *s)
{
    return is_of_class(s, OPC_SOFTMAX) || s->op == OP_ROW_MAX ? "" : s->op == OP_ROW_MIN ? " else inf" : " else 0";
}

/* What code reduces in a loop, without what the last tile has beyond its tensor. */
static bool try_bounded(Lost *p, const Block *block)
{
    Suggester *s = p->v->s;

    for (int i = 0; i < block->len; i++) {
        const Stmt *loop = block->data[i];

        for (int k = 0; loop->kind == STMT_FOR && k < loop->body.len; k++) {
            const Stmt *at = loop->body.data[k];
            bool reduces = is_of_class(at, OPC_SOFTMAX) || is_of_class(at, OPC_ROW_REDUCE);
            const char *tile = reduces && at->n_args ? expr_base_name(at->args[0]) : NULL, *within = tile ? within_text(p, loop, tile) : NULL;

            if (within && suggest_edit(s, suggest_before(s, at), arena_printf(s->arena, "%sCompute Mask %s where %s%s\n", suggest_indent(s, at->span.start), tile, within, otherwise(at)),
                                       "without what lies behind the last element"))
                return true;
        }
        if (try_bounded(p, &loop->body) || try_bounded(p, &loop->orelse))
            return true;
    }
    return false;
}

static bool try_last_tile(Vary *v)
{
    Lost p = {.v = v};

    return is_code(v) && try_bounded(&p, &v->kernel->body);
}

bool propose_last_tile(Suggester *s)
{
    return vary_each(s, try_last_tile);
}

/* A name that nothing gives a value to (TW0401). */
bool propose_undone_pass(Suggester *s)
{
    Span at = s->diag->span;
    const char *name = arena_strndup(s->arena, s->source->text + at.start, (size_t)(at.end - at.start));
    int tries = s->tries;
    bool strict = s->strict, found = false;

    if (!vary_definition(s) || !s->unit || s->unit->kind != UNIT_KERNEL || s->stage != s->agrees)
        return false;
    Vary v = vary_kernel(s, s->unit);
    Lost p = {.v = &v, .column = name, .before = first_that_takes(&v, name), .unset = true};
    s->tries = MOST_TRIES;
    s->strict = true;
    found = try_passes(&p);
    s->strict = strict;
    s->tries = tries;
    return found;
}
