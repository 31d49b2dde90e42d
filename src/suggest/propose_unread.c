/* propose_unread.c: Inputs of the Operator that a Kernel beside it does not read at all: it is copied, and what the Operator does with
 * it done, where both agree then (vary.h). Likewise what a Kernel computes and does not take is taken by what stands behind it.
 *
 *                                            Allocate bias in register (1, BN) fp32
 *   ...                                      ...
 *                                      ─►    Copy bias (1, BN) in coordinate [N = n] from global to register
 *                                            Compute Add acc, bias and get new acc
 *   Copy acc as C from register to global    Copy acc as C from register to global
 */
#include "suggest/vary.h"

typedef struct Unread {
    Vary *v;
    Cuts cuts;
    const Stmt *input; /* the Operator's */
    const Stmt *step;  /* that takes it */
} Unread;

static bool is_code(const Vary *v)
{
    return block_find(&v->kernel->body, STMT_ALLOCATE, NULL) != NULL;
}

/* Whether it is copied, or some value or condition has elements of it. */
static bool reads(const Vary *v, const char *tensor)
{
    for (int i = 0; i < v->all.len; i++) {
        const Stmt *s = v->all.data[i];
        bool copied = s->kind == STMT_COPY && copy_tensor(s) && strcmp(copy_tensor(s), tensor) == 0, found = expr_mentions(s->where, tensor) || expr_mentions(s->value, tensor);

        for (int k = 0; s->kind == STMT_COMPUTE && k < s->n_args; k++)
            found |= expr_mentions(s->args[k], tensor);
        for (int k = 0; k < s->n_coords; k++)
            found |= expr_mentions(s->coords[k].value, tensor);
        if (copied || found)
            return true;
    }
    return false;
}

/* The shape of a tile of it and where that lies: `(1, BN) in coordinate [N = n]`, and the shape alone; false: that is not known. */
static bool place_of(Unread *u, const char **copied, const char **shape)
{
    Suggester *s = u->v->s;
    const Stmt *in = u->input;
    Str sizes = str_new(s->arena), coords = str_new(s->arena);

    for (int d = 0; d < in->n_shape; d++) {
        bool one = expr_is_one(in->shape[d]), covered = d >= in->n_shape - 2;
        const Cut *cut = in->shape[d]->kind == EXPR_NAME ? cut_of(&u->cuts, in->shape[d]->name) : NULL;

        if (!one && (!cut || !cut->coord || (covered && !cut->size)))
            return false;
        if (in->n_shape == 1)
            str_add(&sizes, "1, ");
        if (covered)
            str_printf(&sizes, "%s%s", d == in->n_shape - 2 || in->n_shape == 1 ? "" : ", ", one ? "1" : cut->size);
        if (!one)
            str_printf(&coords, "%s%s = %s", coords.len ? ", " : "", cut->dim, cut->coord);
    }
    *shape = str_text(&sizes);
    *copied = coords.len ? arena_printf(s->arena, "(%s) in coordinate [%s]", *shape, str_text(&coords)) : arena_printf(s->arena, "(%s)", *shape);
    return in->n_shape > 0;
}

/* Behind the tensors of the Kernel, where it does not declare it; of the type of these, if the Operator says none. */
static Fix declaration(const Unread *u)
{
    const Stmt *last = NULL;
    Stmt *own = suggest_like(u->v->s, u->input);

    for (int i = 0; i < u->v->kernel->body.len; i++)
        last = u->v->kernel->body.data[i]->kind == STMT_INPUT ? u->v->kernel->body.data[i] : last;
    if (!last || unit_tensor(u->v->kernel, u->input->name))
        return (Fix){{-1, -1}, NULL, NULL};
    if (!own->has_dtype) {
        own->has_dtype = last->has_dtype;
        own->dtype = last->dtype;
    }
    own->listed = false;
    return (Fix){{last->span.end, last->span.end}, arena_printf(u->v->s->arena, "\n%s%s", suggest_indent(u->v->s, last->span.start), suggest_text(u->v->s, own)), NULL};
}

/* The step of a tile, in place, the Input on the side where the Operator has it. */
static const char *step_text(const Unread *u, const char *tile)
{
    Suggester *s = u->v->s;
    Stmt *own = suggest_like(s, u->step);
    bool second = expr_is_name(u->step->args[1], u->input->name);

    own->args = arena_array(s->arena, Expr *, 2);
    own->args[second ? 1 : 0] = expr_name(s->arena, u->input->name);
    own->args[second ? 0 : 1] = own->dest = expr_name(s->arena, tile);
    own->result = RESULT_GET_NEW;
    return suggest_text(s, own);
}

static bool try_before(Unread *u, const Stmt *at, const char *tile, const char *copied, const char *shape)
{
    Suggester *s = u->v->s;
    const Stmt *like = block_find(&u->v->kernel->body, STMT_ALLOCATE, NULL);
    const char *indent = suggest_indent(s, at->span.start), *name = u->input->name;
    Fix edits[3], declared = declaration(u);
    int n = 0;

    if (declared.text)
        edits[n++] = declared;
    if (like && !cuts_tile(&u->cuts, name, SPACE_REGISTER))
        edits[n++] = (Fix){suggest_before(s, like), arena_printf(s->arena, "%sAllocate %s in register (%s) fp32\n", suggest_indent(s, like->span.start), name, shape), NULL};
    edits[n++] = (Fix){suggest_before(s, at), arena_printf(s->arena, "%sCopy %s%s%s from global to register\n%s%s\n", indent, name, *copied ? " " : "", copied, indent, step_text(u, tile)), NULL};
    return n == 1 ? suggest_edit(s, edits[0].span, edits[0].text, "what the Operator does with it") : suggest_edits(s, edits, n, "what the Operator does with it");
}

/* Before what stores a tile, and what takes one. */
static bool try_places(Unread *u)
{
    const char *copied = "", *shape = "";

    if (is_code(u->v) && !place_of(u, &copied, &shape))
        return false;
    for (int stores = 1; stores >= 0; stores--)
        for (int i = u->v->all.len - 1; i >= 0; i--) {
            const Stmt *at = u->v->all.data[i];
            bool store = at->kind == STMT_COPY && at->to_space == SPACE_GLOBAL, takes = at->kind == STMT_COMPUTE && at->n_args && at->args[0]->kind == EXPR_NAME;
            const char *tile = store ? copy_tile(at) : takes ? at->args[0]->name : NULL;

            if (!at->listed && tile && store == (stores == 1) && (vary_has(&u->v->tiles, tile) || vary_has(&u->v->columns, tile)) && try_before(u, at, tile, copied, shape))
                return true;
        }
    return false;
}

static bool try_unread(Vary *v)
{
    const Block *body = &v->definition->body;
    const Stmt *at = v->s->stmt;

    for (int i = 0; i < body->len; i++)
        for (int k = 0; body->data[i]->kind == STMT_INPUT && body->data[i]->name && !reads(v, body->data[i]->name) && k < body->len; k++) {
            Unread u = {.v = v, .input = body->data[i], .step = body->data[k]};
            bool step = u.step->kind == STMT_COMPUTE && u.step->op_known && op_info(u.step->op)->class == OPC_ELEMENT && u.step->n_args == 2 &&
                        (expr_is_name(u.step->args[0], u.input->name) || expr_is_name(u.step->args[1], u.input->name));

            if (!step)
                continue;
            v->s->stmt = NULL; /* all Copies count */
            u.cuts = cuts_of(v->s);
            v->s->stmt = at;
            if (try_places(&u))
                return true;
        }
    return false;
}

/* ---- what is computed and not taken ------------------------------------------------------------------ */

/* Instead of another operand, one of its kind or not. */
static bool try_instead(Vary *v, const Stmt *s, const char *name)
{
    for (int i = 0; i < s->n_args; i++) {
        const Expr *e = s->args[i];
        bool tile = e->kind == EXPR_NAME && strcmp(e->name, name) != 0 && (vary_has(&v->columns, e->name) || vary_has(&v->tiles, e->name));

        if (tile && suggest_edit(v->s, e->span, name, "what is computed for it, and not used"))
            return true;
    }
    return false;
}

/* A step of what the statement takes, in place. */
static bool try_step(Vary *v, const Stmt *s, const char *name)
{
    static const char *const ops[] = {"Add", "Multiply", "Subtract", "Divide"};

    for (int i = s->n_args - 1; i >= 0; i--)
        for (size_t k = 0; s->args[i]->kind == EXPR_NAME && strcmp(s->args[i]->name, name) != 0 && k < TW_COUNT(ops); k++) {
            const char *of = s->args[i]->name, *indent = suggest_indent(v->s, s->span.start);
            bool tile = vary_has(&v->columns, of) || vary_has(&v->tiles, of);

            if (tile && suggest_edit(v->s, suggest_before(v->s, s), arena_printf(v->s->arena, "%sCompute %s %s, %s and get new %s\n", indent, ops[k], of, name, of), "what is computed for it, and not used"))
                return true;
        }
    return false;
}

static bool try_taken(Vary *v, const char *name, int behind)
{
    for (int steps = 0; steps < 2; steps++)
        for (int i = 0; i < v->computes.len; i++) {
            const Stmt *s = v->computes.data[i];

            if (s->span.start > behind && !s->listed && (steps ? try_step(v, s, name) : try_instead(v, s, name)))
                return true;
        }
    return false;
}

/* What is never used has the name of another: `Max m, t and get new m` for `get new z`. */
static bool try_renamed(Vary *v, const char *name, Span said)
{
    const Names *names = vary_has(&v->columns, name) ? &v->columns : &v->tiles;

    for (int i = 0; i < v->computes.len; i++) {
        const Stmt *s = v->computes.data[i];
        bool of = s->span.start <= said.start && s->span.end >= said.end && s->dest && expr_is_name(s->dest, name) && s->dest->span.end > s->dest->span.start;

        for (int k = 0; of && k < names->len; k++)
            if (strcmp(names->data[k], name) != 0 && suggest_edit(v->s, s->dest->span, names->data[k], "the tile that was meant"))
                return true;
    }
    return false;
}

static bool try_all_unused(Vary *v)
{
    const Diags *diags = v->s->chain->diags;

    for (int i = 0; i < diags->list.len; i++) {
        const Diag *d = &diags->list.data[i];
        const char *name = d->code == TW0442 && d->source == v->s->source && d->message[0] == '\'' ? arena_strndup(v->s->arena, d->message + 1, strcspn(d->message + 1, "'")) : NULL;

        if (name && (vary_has(&v->columns, name) || vary_has(&v->tiles, name)) && d->span.start > v->kernel->span.start && d->span.end < v->kernel->end && (try_renamed(v, name, d->span) || try_taken(v, name, d->span.end)))
            return true;
    }
    return false;
}

/* ---- entry ---------------------------------------------------------------------------------------------- */

bool propose_unused_result(Suggester *s)
{
    return vary_each(s, try_all_unused);
}

bool propose_unread_input(Suggester *s)
{
    return vary_each(s, try_unread);
}
