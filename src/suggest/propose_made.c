/* propose_made.c: what a statement takes or gives under a wrong name, and tiles that nothing makes, where the Operator beside the
 * Kernel shows what was meant: each edit is executed beside the definition before it is suggested (vary.h).
 *
 *   Compute Max m, t and get new x      ─►    Compute Max m, t and get new m           the tile that was meant
 *
 *   Compute GEMM Q, K.T and get S       ─►    Copy K (BN, D) in ...                    an Input that is not copied
 *                                             Compute GEMM Q, K.T and get S
 *   Compute GEMM H, Wd and get Y        ─►    Compute Cast G, bf16 and get H           what makes the operand
 *                                             Compute GEMM H, Wd and get Y
 *   Compute Multiply S, scale           ─►    Compute GEMM Q, K.T and get S            in this order
 *   Compute GEMM Q, K.T and get S             Compute Multiply S, scale
 */
#include "suggest/vary.h"

enum { MOST_TRIES = 60 };

/* Whether there is something to compare with; edits are such that both agree. */
static bool begin(Suggester *s, Vary *v)
{
    if (!s->agrees || s->stage != s->agrees || !s->stmt || !s->unit || s->unit->kind != UNIT_KERNEL || !vary_definition(s))
        return false;
    *v = vary_kernel(s, s->unit);
    return true;
}

/* The name within `X`, `X.T`, `X.shared`; NULL: it is something else. */
static const Expr *named(const Expr *e)
{
    while (e && (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE || e->kind == EXPR_INDEX))
        e = e->a;
    return e && e->kind == EXPR_NAME && e->span.end > e->span.start ? e : NULL;
}

/* ---- another name --------------------------------------------------------------------------------------- */

static bool try_names(Vary *v, const Expr *e)
{
    const Names *lists[] = {&v->columns, &v->tiles};

    for (size_t k = 0; e && k < TW_COUNT(lists); k++)
        for (int i = lists[k]->len - 1; i >= 0; i--)
            if (strcmp(lists[k]->data[i], e->name) != 0 && suggest_edit(v->s, e->span, lists[k]->data[i], "with this tile it is what the Operator says"))
                return true;
    return false;
}

static bool is_said_of(const Suggester *s, const Expr *e)
{
    return e && s->diag->span.start <= e->span.start && s->diag->span.end >= e->span.end;
}

/* The tile that the diagnostic is said of first. */
static bool try_compute(Vary *v, const Stmt *stmt)
{
    for (int said = 1; said >= 0; said--) {
        const Expr *result = named(stmt->dest);

        if (result && is_said_of(v->s, result) == (said == 1) && try_names(v, result))
            return true;
        for (int i = 0; i < stmt->n_args; i++) {
            const Expr *e = stmt->op_known && stmt->op == OP_DEFINE ? NULL : named(stmt->args[i]);

            if (e && is_said_of(v->s, e) == (said == 1) && try_names(v, e))
                return true;
        }
        for (int i = 0; i < stmt->n_with; i++)
            if (named(stmt->with[i]) && is_said_of(v->s, named(stmt->with[i])) == (said == 1) && try_names(v, named(stmt->with[i])))
                return true;
    }
    return false;
}

/* The tile of a Copy: its name, or the one behind `as`. */
static bool try_copied(Vary *v, const Stmt *copy)
{
    const Names *lists[] = {&v->columns, &v->tiles};
    bool to_global = copy->to_space == SPACE_GLOBAL, within = copy->space != SPACE_GLOBAL && !to_global;

    for (size_t k = 0; !copy->listed && k < TW_COUNT(lists); k++)
        for (int i = 0; i < lists[k]->len; i++) {
            const char *name = lists[k]->data[i], *tensor = copy_tensor(copy);
            Stmt *changed = suggest_like(v->s, copy);

            changed->name = to_global || within ? name : copy->name;
            changed->as = to_global ? tensor : within ? copy->as : name;
            if (changed->as && strcmp(changed->as, changed->name) == 0)
                changed->as = NULL;
            if (!stmt_equal(changed, copy) && suggest_stmt(v->s, copy, changed, "with this tile it is what the Operator says"))
                return true;
        }
    return false;
}

/* A tile that is stored as what is no Output. */
static bool try_outputs(Vary *v, const Stmt *copy)
{
    bool lost = copy->to_space == SPACE_GLOBAL && !copy->listed && !unit_tensor(v->kernel, copy_tensor(copy));
    const Names *lists[] = {&v->tiles, &v->columns};

    for (int i = 0; lost && i < v->kernel->body.len; i++)
        for (size_t k = 0; v->kernel->body.data[i]->kind == STMT_OUTPUT && k < TW_COUNT(lists); k++)
            for (int t = 0; t < lists[k]->len; t++) {
                const char *output = v->kernel->body.data[i]->name, *name = lists[k]->data[t];
                Stmt *changed = suggest_like(v->s, copy);

                changed->name = name;
                changed->as = strcmp(name, output) == 0 ? NULL : output;
                if (suggest_stmt(v->s, copy, changed, "with this tile it is what the Operator says"))
                    return true;
            }
    return false;
}

bool propose_other_tile(Suggester *s)
{
    Vary v;
    int tries = s->tries;
    bool strict = s->strict, found;

    if (!begin(s, &v))
        return false;
    s->tries = MOST_TRIES;
    s->strict = true;
    found = s->stmt->kind == STMT_COMPUTE ? try_compute(&v, s->stmt) : s->stmt->kind == STMT_COPY && (try_copied(&v, s->stmt) || try_outputs(&v, s->stmt));
    s->tries = tries;
    s->strict = strict;
    return found;
}

/* ---- what makes it ---------------------------------------------------------------------------------------- */

typedef struct Made {
    Vary *v;
    Cuts cuts;
    const char *tile;
    const Stmt *place; /* its Allocate; NULL: a sketch */
    const Stmt *at;    /* that reads it */
} Made;

static bool try_line(const Made *m, const char *text)
{
    Suggester *s = m->v->s;

    return suggest_edit(s, suggest_before(s, m->at), arena_printf(s->arena, "%s%s\n", suggest_indent(s, m->at->span.start), text), "what makes it");
}

static const Stmt *place_of(const Vary *v, const char *tile)
{
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_ALLOCATE && strcmp(v->all.data[i]->name, tile) == 0)
            return v->all.data[i];
    return NULL;
}

static bool same_shape(const Stmt *a, const Stmt *b)
{
    if (a->n_shape != b->n_shape)
        return false;
    for (int i = 0; i < a->n_shape; i++)
        if (!expr_equal(a->shape[i], b->shape[i]))
            return false;
    return true;
}

/* turned: a row as a column, or a column as a row; NULL: it is neither. */
static const char *shape_text(const Made *m, bool turned)
{
    Str text = str_new(m->v->s->arena);
    int n = m->place->n_shape;

    if (turned && (n != 2 || expr_is_one(m->place->shape[0]) == expr_is_one(m->place->shape[1])))
        return NULL;
    for (int i = 0; i < n; i++)
        str_printf(&text, "%s%s", i ? ", " : "", suggest_expr(m->v->s, m->place->shape[turned ? n - 1 - i : i]));
    return str_text(&text);
}

/* As another statement makes it: of a loop that is over, or of another branch. */
static bool try_again(const Made *m)
{
    for (int i = 0; i < m->v->all.len; i++) {
        const Stmt *s = m->v->all.data[i];
        bool copies = s->kind == STMT_COPY && !s->listed && s->to_space != SPACE_GLOBAL && strcmp(copy_tile(s), m->tile) == 0;

        if ((copies || (vary_result(s) && !s->listed && strcmp(vary_result(s), m->tile) == 0)) && try_line(m, suggest_text(m->v->s, s)))
            return true;
    }
    return false;
}

/* What the definition makes under the name, of what has names here. */
static bool try_defined(const Made *m)
{
    const Block *body = &m->v->definition->body;

    for (int i = 0; i < body->len; i++) {
        const Stmt *theirs = body->data[i];
        bool elements = theirs->kind == STMT_COMPUTE && theirs->op_known && theirs->op == OP_DEFINE && !m->place && expr_is_name(theirs->args[0], m->tile);

        if (elements && try_line(m, suggest_text(m->v->s, theirs))) /* of a sketch, which has the same positions */
            return true;
        Stmt *own = vary_result(theirs) && !theirs->listed && theirs->op_known ? suggest_like(m->v->s, theirs) : NULL;

        if (!own || strcmp(vary_result(theirs), m->tile) != 0)
            continue;
        own->result = RESULT_GET;
        own->dest = expr_name(m->v->s->arena, m->tile);
        own->n_shape = 0;
        own->has_shape = false;
        if (try_line(m, suggest_text(m->v->s, own)))
            return true;
    }
    return false;
}

static const char *coords_of(Made *m, const Stmt *tensor)
{
    Suggester *s = m->v->s;
    Str text = str_new(s->arena);

    for (int d = 0; d < tensor->n_shape; d++) {
        const Cut *cut = tensor->shape[d]->kind == EXPR_NAME ? cut_of(&m->cuts, tensor->shape[d]->name) : NULL;

        if (cut && cut->coord && !(cut->size && strcmp(cut->size, cut->dim) == 0))
            str_printf(&text, "%s%s = %s", text.len ? ", " : " in coordinate [", cut->dim, cut->coord);
    }
    if (text.len)
        str_addc(&text, ']');
    return str_text(&text);
}

static bool copies_of(const Stmt *s, const char *tensor)
{
    return s->kind == STMT_COPY && copy_tensor(s) && strcmp(copy_tensor(s), tensor) == 0;
}

/* An Input, those first that nothing else copies. */
static bool try_inputs(Made *m)
{
    for (int read = 0; read < 2; read++)
        for (int i = 0; i < m->v->kernel->body.len; i++) {
            const Stmt *input = m->v->kernel->body.data[i];
            bool copied = false;

            for (int k = 0; input->kind == STMT_INPUT && k < m->v->all.len; k++)
                copied |= copies_of(m->v->all.data[k], input->name);
            if (input->kind != STMT_INPUT || copied != (read == 1))
                continue;
            const char *as = strcmp(input->name, m->tile) == 0 ? "" : arena_printf(m->v->s->arena, " as %s", m->tile);
            for (int turned = 0; turned < 2; turned++) {
                const char *shape = shape_text(m, turned == 1);

                if (shape && try_line(m, arena_printf(m->v->s->arena, "Copy %s (%s)%s%s from global to %s", input->name, shape, as, coords_of(m, input), space_name(m->place->space))))
                    return true;
            }
        }
    return false;
}

/* A tile in registers of its shape: copied to shared memory, or cast. */
static bool try_moved(const Made *m)
{
    for (int i = 0; i < m->v->all.len; i++) {
        const Stmt *of = m->v->all.data[i];
        bool cast = m->place->has_dtype && of->has_dtype && of->dtype != m->place->dtype;
        bool alike = of->kind == STMT_ALLOCATE && of->space == SPACE_REGISTER && of != m->place && same_shape(of, m->place);
        const char *text = m->place->space == SPACE_SHARED ? arena_printf(m->v->s->arena, "Copy %s (%s)%s from register to shared", of->name, shape_text(m, false), alike && strcmp(of->name, m->tile) == 0 ? "" : arena_printf(m->v->s->arena, " as %s", m->tile))
                         : cast ? arena_printf(m->v->s->arena, "Compute Cast %s, %s and get %s", of->name, dtype_name(m->place->dtype), m->tile) : NULL;

        if (alike && text && try_line(m, text))
            return true;
    }
    return false;
}

/* A reduction of a tile that has its rows, or its columns. */
static bool try_reduced(const Made *m)
{
    static const char *const rows[] = {"RowSum", "RowMax"}, *const cols[] = {"ColSum", "ColMax"};
    bool row = m->place->n_shape == 2 && expr_is_one(m->place->shape[0]), column = m->place->n_shape == 2 && expr_is_one(m->place->shape[1]);

    for (int i = m->v->all.len - 1; row != column && i >= 0; i--) {
        const Stmt *of = m->v->all.data[i];
        bool alike = of->kind == STMT_ALLOCATE && of->space == SPACE_REGISTER && of->n_shape == 2 && !same_shape(of, m->place) && expr_equal(of->shape[row], m->place->shape[row]);

        for (size_t k = 0; alike && k < TW_COUNT(rows); k++)
            if (try_line(m, arena_printf(m->v->s->arena, "Compute %s %s and get %s", row ? cols[k] : rows[k], of->name, m->tile)))
                return true;
    }
    return false;
}

/* A product of two tiles in shared memory. */
static bool try_product(const Made *m)
{
    static const char *const forms[] = {"Compute GEMM %s, %s.T and get %s", "Compute GEMM %s, %s and get %s", "Compute GEMM %s.T, %s and get %s"};
    Names shared = {0};

    for (int i = 0; i < m->v->all.len; i++)
        if (m->v->all.data[i]->kind == STMT_ALLOCATE && m->v->all.data[i]->space == SPACE_SHARED)
            vec_push(m->v->s->arena, &shared, m->v->all.data[i]->name);
    for (size_t f = 0; f < TW_COUNT(forms); f++)
        for (int a = 0; a < shared.len; a++)
            for (int b = 0; b < shared.len; b++) {
                char text[256];

                if (a != b && snprintf(text, sizeof text, forms[f], shared.data[a], shared.data[b], m->tile) < (int)sizeof text && try_line(m, text))
                    return true;
            }
    return false;
}

/* The block that the statement stands in. */
static const Block *block_of(const Suggester *s)
{
    const Stmt *outer = s->depth > 1 ? s->path[s->depth - 2] : NULL;

    if (!outer)
        return &s->unit->body;
    for (int i = 0; i < outer->orelse.len; i++)
        if (outer->orelse.data[i] == s->stmt)
            return &outer->orelse;
    return &outer->body;
}

/* The statement behind the one that makes the tile, or that one before it. */
static bool try_order(const Made *m)
{
    Suggester *s = m->v->s;
    const Block *block = block_of(s);

    for (int i = 0; i < block->len; i++) {
        const Stmt *maker = block->data[i];
        bool makes = (vary_result(maker) && strcmp(vary_result(maker), m->tile) == 0) || (maker->kind == STMT_COPY && maker->to_space != SPACE_GLOBAL && strcmp(copy_tile(maker), m->tile) == 0);
        Span reader = suggest_line(s, m->at->span), own = suggest_line(s, maker->span);

        if (!makes || maker->listed || m->at->listed || own.start <= reader.start)
            continue;
        const char *read = arena_strndup(s->arena, s->source->text + reader.start, (size_t)(reader.end - reader.start));
        const char *made = arena_strndup(s->arena, s->source->text + own.start, (size_t)(own.end - own.start));
        Fix behind[] = {{reader, "", NULL}, {{own.end, own.end}, read, NULL}}, before[] = {{{reader.start, reader.start}, made, NULL}, {own, "", NULL}};

        if (suggest_edits(s, behind, 2, "behind what makes it") || suggest_edits(s, before, 2, "what makes it first"))
            return true;
    }
    return false;
}

/* A tile that is read, and that nothing makes before. */
bool propose_maker(Suggester *s)
{
    Vary v;
    int tries = s->tries;
    bool strict = s->strict, found = false;

    if (!begin(s, &v))
        return false;
    const char *tile = s->diag->message[0] == '\'' ? arena_strndup(s->arena, s->diag->message + 1, strcspn(s->diag->message + 1, "'")) : NULL;
    Made m = {.v = &v, .cuts = cuts_of(s), .tile = tile, .place = tile ? place_of(&v, tile) : NULL, .at = s->stmt};
    s->tries = MOST_TRIES;
    s->strict = true;
    if (tile)
        found = try_order(&m) || try_again(&m) || try_defined(&m) || (m.place && (try_inputs(&m) || try_moved(&m) || (m.place->space == SPACE_REGISTER && (try_reduced(&m) || try_product(&m)))));
    s->tries = tries;
    s->strict = strict;
    return found;
}
