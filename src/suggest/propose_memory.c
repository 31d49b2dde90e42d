/* propose_memory.c: edits of where a tile lies: its Allocate, its Copy, its
 * coordinates, its size, type and layout.
 *
 * The rest of the kernel says how a dimension is cut: by the shapes and coordinates
 * of other Copies, by the grid, by loops. What lacks a coordinate gets the same. */
#include "suggest/vary.h"
#include "suggest/forms.h"

/* ---- copies ------------------------------------------------------------------------------------ */

/* The tile's sizes along the last dimensions, as many as it has. */
static const char *shape_text(Cuts *cuts, const Stmt *tensor, const Stmt *tile)
{
    Suggester *s = cuts->s;
    Str text = str_new(s->arena);
    int n = tile ? tile->n_shape : tensor->n_shape < 2 ? tensor->n_shape : 2;

    for (int i = 0; i < n; i++) {
        int at = tensor->n_shape - n + i;
        const char *dim = at >= 0 ? suggest_expr(s, tensor->shape[at]) : "1", *size = cut_of(cuts, dim)->size;

        str_printf(&text, "%s%s", i ? ", " : "", tile ? suggest_expr(s, tile->shape[i]) : size ? size : dim);
    }
    return str_text(&text);
}

static const char *coords_text(Cuts *cuts, const Stmt *tensor)
{
    Suggester *s = cuts->s;
    Str text = str_new(s->arena);

    for (int i = 0; i < tensor->n_shape; i++) {
        const char *dim = suggest_expr(s, tensor->shape[i]);
        const Cut *cut = cut_of(cuts, dim);
        bool whole = cut->size && strcmp(cut->size, dim) == 0;

        if (cut->coord && !whole && tensor->shape[i]->kind == EXPR_NAME)
            str_printf(&text, "%s%s = %s", text.len ? ", " : " in coordinate [", dim, cut->coord);
    }
    if (text.len)
        str_addc(&text, ']');
    return str_text(&text);
}

static bool is_sketch(const Cuts *cuts)
{
    return cuts->allocated.len == 0;
}

static const char *copy_text(Cuts *cuts, const Stmt *tensor, const Stmt *tile, Space from, Space to)
{
    if (is_sketch(cuts))
        return arena_printf(cuts->s->arena, "Copy %s from %s to %s", tensor->name, space_name(from), space_name(to));
    return arena_printf(cuts->s->arena, "Copy %s (%s)%s from %s to %s", tensor->name,
                        shape_text(cuts, tensor, tile), coords_text(cuts, tensor), space_name(from), space_name(to));
}

static const char *line(Suggester *s, const Stmt *before, const char *text)
{
    return arena_printf(s->arena, "%s%s\n", suggest_indent(s, before->span.start), text);
}

/* The statement, or the outermost loop round it that goes over none of the tensor's dimensions and stands in no other that does. */
static const Stmt *copied_ahead_of(const Suggester *s, const Stmt *tensor)
{
    int at = s->depth - 1;

    for (; at > 0 && s->path[at - 1]->kind == STMT_FOR && s->path[at - 1]->over; at--)
        for (int i = 0; i < tensor->n_shape; i++)
            if (expr_mentions(tensor->shape[i], s->path[at - 1]->over))
                return s->path[at];
    return at >= 0 ? s->path[at] : s->stmt;
}

/* An operand that lies in global memory alone. */
static bool try_copy_in(Suggester *s, Cuts *cuts, const Stmt *tensor, Space to)
{
    const Stmt *tile = cuts_tile(cuts, tensor->name, to);
    const char *text = copy_text(cuts, tensor, tile, SPACE_GLOBAL, to);
    const char *label = "copy it there first", *place;
    const Stmt *first = s->depth ? s->path[0] : NULL, *ahead = copied_ahead_of(s, tensor);

    if (is_sketch(cuts))
        return suggest_edit(s, suggest_before(s, ahead), line(s, ahead, text), label);
    if (tile)
        return suggest_edit(s, suggest_before(s, s->stmt), line(s, s->stmt, text), label);
    place = arena_printf(s->arena, "Allocate %s in %s (%s)", tensor->name, space_name(to),
                         shape_text(cuts, tensor, NULL));
    if (first == s->stmt)
        return suggest_edit(s, suggest_before(s, first),
                            arena_printf(s->arena, "%s%s", line(s, first, place), line(s, first, text)), label);
    return suggest_edits(s, (Fix[]){{suggest_before(s, first), line(s, first, place), NULL},
                                    {suggest_before(s, s->stmt), line(s, s->stmt, text), NULL}}, 2, label);
}

/* To where there is a tile; products take their operands from shared memory first, others from registers. */
static bool try_copy(Suggester *s, Cuts *cuts, const Stmt *tensor)
{
    bool product = s->stmt->op_known && s->stmt->op == OP_GEMM, in_register = cuts_tile(cuts, tensor->name, SPACE_REGISTER);
    Space likely = !in_register && (product || cuts_tile(cuts, tensor->name, SPACE_SHARED)) ? SPACE_SHARED : SPACE_REGISTER;

    return try_copy_in(s, cuts, tensor, likely) || try_copy_in(s, cuts, tensor, likely == SPACE_SHARED ? SPACE_REGISTER : SPACE_SHARED);
}

bool propose_copy(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        const Expr *e = s->stmt->args[i];
        const Stmt *tensor;

        while (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE)
            e = e->a;
        tensor = e->kind == EXPR_NAME ? cuts_tensor(&cuts, e->name) : NULL;
        if (tensor && (s->diag->span.start == s->stmt->span.start ||
                       (s->diag->span.start >= s->stmt->args[i]->span.start &&
                        s->diag->span.start < s->stmt->args[i]->span.end)) &&
            try_copy(s, &cuts, tensor))
            return true;
    }
    return false;
}

/* The output that is never written. */
bool propose_store(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *tensor = s->stmt && s->stmt->kind == STMT_OUTPUT ? s->stmt : NULL;
    Span end = s->unit ? suggest_line(s, (Span){s->unit->end, s->unit->end + 3}) : (Span){0, 0};
    const char *text;

    if (!tensor)
        return false;
    text = copy_text(&cuts, tensor, cuts_tile(&cuts, tensor->name, SPACE_REGISTER), SPACE_REGISTER, SPACE_GLOBAL);
    return suggest_edit(s, (Span){end.start, end.start}, line(s, tensor, text), "write it");
}

/* `Copy O (BM, D) in ...` as one of another tile: `Copy T (BM, D) as O in ...`. */
static const char *stored_as(Suggester *s, const char *text, const Stmt *output, const char *tile)
{
    const char *rest = text + strlen("Copy ") + strlen(output->name), *at = strstr(rest, " in ");

    at = at ? at : strstr(rest, " from ");
    return at ? arena_printf(s->arena, "Copy %s%.*s as %s%s", tile, (int)(at - rest), rest, output->name, at) : text;
}

/* Behind what computes it, or at the end of all; where blocks add up, as a sum. */
static bool try_stored(Suggester *s, const Stmt *at, const Stmt *output, const char *text)
{
    Span end = suggest_line(s, (Span){s->unit->end, s->unit->end + 3});

    for (int sum = 0; sum < 2; sum++) {
        const char *store = arena_printf(s->arena, "%s%s", text, sum ? " and accumulate" : "");

        if (suggest_edit(s, (Span){at->span.end, at->span.end}, arena_printf(s->arena, "\n%s%s", suggest_indent(s, at->span.start), store), "write it") ||
            suggest_edit(s, (Span){end.start, end.start}, line(s, output, store), "write it"))
            return true;
    }
    return false;
}

/* An output that is some tile on its way to another: behind what computes that, where both agree with the Operator then. */
bool propose_store_of_another(Suggester *s)
{
    enum { MOST_TRIES = 40 };
    const Stmt *tensor = s->stmt && s->stmt->kind == STMT_OUTPUT && s->agrees && s->stage == s->agrees && vary_definition(s) ? s->stmt : NULL;
    Vary v = tensor ? vary_kernel(s, s->unit) : (Vary){0};
    Cuts cuts = cuts_of(s);
    int tries = s->tries;
    bool strict = s->strict, found = false;

    s->tries = MOST_TRIES;
    s->strict = true;
    for (int i = v.computes.len - 1; tensor && !found && i >= 0; i--) {
        const Stmt *at = v.computes.data[i];
        const char *name = vary_result(at);
        const Stmt *tile = name ? cuts_tile(&cuts, name, SPACE_REGISTER) : NULL;
        const char *text = name && (tile || is_sketch(&cuts)) ? copy_text(&cuts, tensor, tile, SPACE_REGISTER, SPACE_GLOBAL) : NULL;

        found = text && (try_stored(s, at, tensor, strcmp(name, tensor->name) == 0 ? text : stored_as(s, text, tensor, name)));
    }
    s->tries = tries;
    s->strict = strict;
    return found;
}

/* `return C`: an output is written by a Copy. */
bool propose_return(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    Span line = form_line(s);
    const char *text = form_plain(s, line);
    Holes holes;
    const Stmt *tensor, *tile;

    if (!s->unit || strlen(text) > FORM_LONGEST || !form_match("return $c", text, &holes))
        return false;
    tensor = cuts_tensor(&cuts, form_hole(s, text, &holes, 'c'));
    tile = tensor ? cuts_tile(&cuts, tensor->name, SPACE_REGISTER) : NULL;
    return tensor && tensor->kind == STMT_OUTPUT &&
           suggest_edit(s, line, copy_text(&cuts, tensor, tile, SPACE_REGISTER, SPACE_GLOBAL), "write it");
}

/* ---- coordinates ---------------------------------------------------------------------------------- */

/* Which dimension a coordinate of a Copy in code is of; -1: it names none. */
static int dimension_of(const Stmt *copy, int i, const Stmt *tensor)
{
    int n = copy->has_shape ? copy->n_shape : tensor->n_shape < 2 ? tensor->n_shape : 2, found = -1;

    if (!copy->coords[i].name)
        return copy->n_coords > n ? (i < tensor->n_shape ? i : -1) : tensor->n_shape - n + i;
    for (int d = 0; d < tensor->n_shape; d++)
        if (expr_is_name(tensor->shape[d], copy->coords[i].name))
            found = d;
    return found;
}

/* As other Copies, the grid and the loops have them; one by one, then all, with what a dimension without a name has here. */
bool propose_coordinates(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *stmt = s->stmt, *tensor = stmt && stmt->kind == STMT_COPY ? cuts_tensor(&cuts, copy_tensor(stmt)) : NULL;
    const Expr *own[TENSOR_MAX_RANK] = {NULL};
    Stmt *changed;
    int n = 0;

    for (int i = 0; tensor && i < stmt->n_coords; i++) {
        const char *dim = stmt->coords[i].name ? stmt->coords[i].name
                        : i < tensor->n_shape ? suggest_expr(s, tensor->shape[i]) : "";
        const char *coord = cut_of(&cuts, dim)->coord;
        int at = dimension_of(stmt, i, tensor);

        if (at >= 0 && at < TENSOR_MAX_RANK)
            own[at] = stmt->coords[i].value;
        if (coord && stmt->coords[i].value && suggest_edit(s, stmt->coords[i].value->span, coord, "as elsewhere"))
            return true;
    }
    if (!tensor || tensor->n_shape > TENSOR_MAX_RANK)
        return false;
    changed = suggest_like(s, stmt);
    changed->coords = arena_array(s->arena, Coord, tensor->n_shape + 1);
    for (int i = 0; i < tensor->n_shape; i++) {
        const char *dim = suggest_expr(s, tensor->shape[i]), *coord = cut_of(&cuts, dim)->coord;
        bool known = coord && tensor->shape[i]->kind == EXPR_NAME;

        if (known || (own[i] && tensor->shape[i]->kind == EXPR_INT))
            changed->coords[n++] = (Coord){.name = dim, .value = known ? expr_name(s->arena, coord) : expr_copy(s->arena, own[i])};
    }
    changed->n_coords = n;
    if (suggest_stmt(s, stmt, changed, "as the grid and the loops count"))
        return true;
    changed->n_coords = 0;
    for (int i = 0; i < n; i++) /* what has no name may have been meant for another dimension */
        if (*changed->coords[i].name < '0' || *changed->coords[i].name > '9')
            changed->coords[changed->n_coords++] = changed->coords[i];
    return changed->n_coords < n && suggest_stmt(s, stmt, changed, "as the grid and the loops count");
}

/* Every coordinate that is said like this one, as of keys and of values. */
typedef struct Alike {
    const Coord *coord;
    const char *text;
    Fix edits[8];
    int n;
} Alike;

static void find_alike(void *user, const Stmt *stmt)
{
    Alike *a = user;

    for (int i = 0; stmt->kind == STMT_COPY && !stmt->listed && i < stmt->n_coords && a->n < (int)TW_COUNT(a->edits); i++) {
        const Coord *coord = &stmt->coords[i];

        if (coord->name && coord->value && strcmp(coord->name, a->coord->name) == 0 && expr_equal(coord->value, a->coord->value))
            a->edits[a->n++] = (Fix){coord->value->span, a->text, NULL};
    }
}

static bool in_groups(Suggester *s, const Coord *coord, const char *text)
{
    Alike a = {.coord = coord, .text = text};

    if (suggest_edit(s, coord->value->span, text, "consecutive ones share"))
        return true;
    suggest_each(&s->unit->body, find_alike, &a);
    return a.n > 1 && suggest_edits(s, a.edits, a.n, "consecutive ones share");
}

/* Where a name gets its value; the expression itself: it is none, or gets none here. */
static const Expr *value_of(const Suggester *s, const Expr *e)
{
    for (int i = 0; e && e->kind == EXPR_NAME && i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];

        if (stmt->kind == STMT_ASSIGN && stmt->value && !stmt->listed && strcmp(stmt->name, e->name) == 0)
            return stmt->value;
    }
    return e;
}

/* The head of a group: `h div (heads div kv_heads)`, as a coordinate or under its name. */
bool propose_group(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COPY ? s->stmt : NULL;

    for (int i = 0; stmt && i < stmt->n_coords; i++) {
        const Coord *coord = &stmt->coords[i];
        const Expr *value = value_of(s, coord->value);

        for (int k = 0; coord->name && value && k < cuts.list.len; k++) {
            const Cut *cut = &cuts.list.data[k];
            const char *text = arena_printf(s->arena, "%s div (%s div %s)", cut->coord ? cut->coord : "", cut->dim, coord->name);

            bool one = !cut->size || strcmp(cut->size, "1") == 0;

            if (!cut->coord || !one || !expr_mentions(value, cut->coord))
                continue;
            if (value != coord->value ? suggest_edit(s, value->span, text, "consecutive ones share") : in_groups(s, coord, text))
                return true;
        }
    }
    return false;
}

/* ---- spaces ------------------------------------------------------------------------------------------- */

typedef struct Moves {
    Suggester *s;
    const char *name;
    Space to;
    Fix edits[16];
    int n;
    int list; /* the list at hand, its statements one by one, and where it ends */
    Str text;
    int end;
} Moves;

/* The statement with its tile in the other memory of a block; NULL: it is not of that tile. */
static Stmt *moved(const Moves *m, const Stmt *stmt)
{
    Space from = m->to == SPACE_SHARED ? SPACE_REGISTER : SPACE_SHARED;
    Stmt *changed;

    if ((stmt->kind != STMT_ALLOCATE && stmt->kind != STMT_COPY) || !stmt->name || strcmp(stmt->name, m->name) != 0)
        return NULL;
    changed = suggest_like(m->s, stmt);
    changed->listed = false;
    if ((stmt->kind == STMT_ALLOCATE || m->to == SPACE_REGISTER) && stmt->space == from)
        changed->space = m->to;
    else if (stmt->kind == STMT_COPY && stmt->to_space == from)
        changed->to_space = m->to;
    else
        return NULL;
    return changed;
}

static void add_of_list(void *user, const Stmt *stmt)
{
    Moves *m = user;

    if (!stmt->listed || stmt->list_start != m->list)
        return;
    Stmt *one = moved(m, stmt);
    if (!one) {
        one = suggest_like(m->s, stmt);
        one->listed = false;
    }
    str_printf(&m->text, "%s%s%s", m->text.len ? "\n" : "", m->text.len ? suggest_indent(m->s, m->list) : "", suggest_text(m->s, one));
    m->end = stmt->span.end;
}

static void move_one(void *user, const Stmt *stmt)
{
    Moves *m = user;
    Stmt *changed = m->n < (int)TW_COUNT(m->edits) ? moved(m, stmt) : NULL;

    if (!changed)
        return;
    if (!stmt->listed) {
        m->edits[m->n++] = (Fix){stmt->span, suggest_text(m->s, changed), NULL};
        return;
    }
    m->list = stmt->list_start;
    m->text = str_new(m->s->arena);
    suggest_each(&m->s->unit->body, add_of_list, m);
    m->edits[m->n++] = (Fix){{m->list, m->end}, str_text(&m->text), NULL};
}

/* Keep it in shared memory: its Allocate and its Copies. */
bool propose_shared(Suggester *s)
{
    const Expr *e = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 2 ? s->stmt->args[1] : NULL;

    if (e && s->stmt->args[0]->span.start == s->diag->span.start)
        e = s->stmt->args[0];
    Moves moves = {.s = s, .to = SPACE_SHARED};

    while (e && (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE))
        e = e->a;
    if (!e || e->kind != EXPR_NAME)
        return false;
    moves.name = e->name;
    suggest_each(&s->unit->body, move_one, &moves);
    return moves.n && suggest_edits(s, moves.edits, moves.n, "keep it in shared memory");
}

/* In front of the statement, a line of its own. */
static bool try_line(Suggester *s, const char *line, const char *label)
{
    Span before = {s->stmt->span.start, s->stmt->span.start};

    return suggest_edit(s, before, arena_printf(s->arena, "%s\n%s", line, suggest_indent(s, s->stmt->span.start)), label);
}

/* Of a sketch: what was computed goes there. */
bool propose_copy_to_shared(Suggester *s)
{
    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_GEMM && i < s->stmt->n_args; i++) {
        const Expr *e = s->stmt->args[i];

        while (e->kind == EXPR_TRANSPOSE)
            e = e->a;
        if (e->kind == EXPR_NAME &&
            try_line(s, arena_printf(s->arena, "Copy %s from register to shared", e->name), "bring it to shared memory"))
            return true;
    }
    return false;
}

/* A tile that is computed, in registers: its Allocate and its Copies. */
bool propose_registers(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    Span span = s->diag->span;
    Moves moves = {.s = s, .name = suggest_quoted(s, span), .to = SPACE_REGISTER};

    if (!s->stmt || s->stmt->kind != STMT_COMPUTE || !cuts_tile(&cuts, moves.name, SPACE_SHARED))
        return false;
    suggest_each(&s->unit->body, move_one, &moves);
    return moves.n && suggest_edits(s, moves.edits, moves.n, "what is computed is in registers");
}

/* What a product takes from shared memory is computed in registers first: an Allocate more, and a Copy. */
bool propose_computed_first(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    Span span = s->diag->span;
    const char *name = suggest_quoted(s, span);
    const Stmt *shared = s->stmt && s->stmt->kind == STMT_COMPUTE ? cuts_tile(&cuts, name, SPACE_SHARED) : NULL;

    if (!shared || shared->span.start > s->stmt->span.start)
        return false;
    Stmt *tile = suggest_like(s, shared), *copy = stmt_new(s->arena, STMT_COPY);
    tile->space = copy->space = SPACE_REGISTER;
    tile->listed = false;
    copy->name = name;
    copy->to_space = SPACE_SHARED;
    Fix edits[] = {{suggest_before(s, shared), line(s, shared, suggest_text(s, tile)), NULL},
                   {{s->stmt->span.end, s->stmt->span.end}, arena_printf(s->arena, "\n%s%s", suggest_indent(s, s->stmt->span.start), suggest_text(s, copy)), NULL}};

    return suggest_edits(s, edits, 2, "what is computed is in registers, and is copied to shared memory from there");
}

/* A result goes to one of the tiles in registers. */
bool propose_destination(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = cuts.allocated.len - 1; s->stmt && s->stmt->dest && i >= 0; i--)
        if (cuts.allocated.data[i]->space == SPACE_REGISTER &&
            suggest_edit(s, s->stmt->dest->span, cuts.allocated.data[i]->name, "a tile in registers"))
            return true;
    return false;
}

/* ---- sizes -------------------------------------------------------------------------------------------------- */

typedef struct Resize {
    Suggester *s;
    const Stmt *decl;
    int at;
    const char *size;
    Fix edits[16];
    int n;
} Resize;

static void resize_one(void *user, const Stmt *stmt)
{
    Resize *r = user;
    bool same = stmt->n_shape == r->decl->n_shape && (stmt->kind == STMT_COPY || stmt == r->decl);

    if (same && stmt->name && strcmp(stmt->name, r->decl->name) == 0 && r->n < (int)TW_COUNT(r->edits) &&
        expr_equal(stmt->shape[r->at], r->decl->shape[r->at]))
        r->edits[r->n++] = (Fix){stmt->shape[r->at]->span, r->size, NULL};
}

/* The tile, and what is copied to it, with another of the sizes that there are. */
static bool try_sizes_of(Suggester *s, const Stmt *decl)
{
    for (int k = 0; k < decl->n_shape; k++)
        for (int i = 0; i < s->unit->body.len; i++) {
            Resize r = {.s = s, .decl = decl, .at = k, .size = s->unit->body.data[i]->name};

            if (s->unit->body.data[i]->kind != STMT_ASSIGN || expr_is_name(decl->shape[k], r.size))
                continue;
            suggest_each(&s->unit->body, resize_one, &r);
            if (suggest_edits(s, r.edits, r.n, "another of the sizes that there are"))
                return true;
        }
    return false;
}

/* A dimension that nothing counts the tiles of is held whole: some number, behind the tensors that have it. */
bool propose_size_number(Suggester *s)
{
    static const int guesses[] = {128, 64, 32, 16};
    Cuts cuts = cuts_of(s);
    Span span = s->diag->span;
    const char *name = suggest_quoted(s, span);
    const Stmt *last = cuts.tensors.len ? cuts.tensors.data[cuts.tensors.len - 1] : NULL;
    bool dimension = false;

    for (int i = 0; i < cuts.tensors.len; i++)
        for (int k = 0; k < cuts.tensors.data[i]->n_shape; k++)
            dimension |= expr_is_name(cuts.tensors.data[i]->shape[k], name);
    for (size_t i = 0; dimension && !cut_of(&cuts, name)->coord && i < TW_COUNT(guesses); i++)
        if (suggest_edit(s, (Span){last->span.end, last->span.end},
                         arena_printf(s->arena, "\n%s%s = %d", suggest_indent(s, last->span.start), name, guesses[i]),
                         arena_printf(s->arena, "%d is a guess; or give it with --set %s=...", guesses[i], name)))
            return true;
    return false;
}

/* Of the Allocate at hand, or of the operands of the statement. */
bool propose_sizes(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    if (s->stmt && s->stmt->kind == STMT_ALLOCATE)
        return try_sizes_of(s, s->stmt);
    for (int i = cuts.allocated.len - 1; s->stmt && s->stmt->kind == STMT_COMPUTE && i >= 0; i--) {
        bool meant = false;

        for (int k = 0; k < s->stmt->n_args; k++)
            meant |= expr_mentions(s->stmt->args[k], cuts.allocated.data[i]->name);
        if (meant && try_sizes_of(s, cuts.allocated.data[i]))
            return true;
    }
    return false;
}

static bool try_column(Suggester *s, const Cuts *cuts, const Expr *e)
{
    const Stmt *tile = s->stmt->n_args && s->stmt->args[0]->kind == EXPR_NAME
                           ? cuts_tile(cuts, s->stmt->args[0]->name, SPACE_REGISTER) : NULL,
               *state = e->kind == EXPR_NAME ? cuts_tile(cuts, e->name, SPACE_REGISTER) : NULL;
    Expr *shape[2];
    Stmt *changed;

    if (!tile || !state || tile == state || tile->n_shape != 2)
        return false;
    shape[0] = tile->shape[0];
    shape[1] = expr_int(s->arena, 1);
    changed = suggest_like(s, state);
    changed->shape = shape;
    changed->n_shape = 2;
    return suggest_stmt(s, state, changed, "a number for each row");
}

/* A column that should be a row, or the other way round: as long as the other operand is on that side. */
static bool try_turned(Suggester *s, const Cuts *cuts, const Expr *e, const Expr *other)
{
    const Stmt *vector = e->kind == EXPR_NAME ? cuts_tile(cuts, e->name, SPACE_REGISTER) : NULL,
               *tile = other->kind == EXPR_NAME ? cuts_tile(cuts, other->name, SPACE_REGISTER) : NULL;
    Stmt *changed;
    bool column;

    if (!vector || !tile || vector == tile || vector->n_shape != 2 || tile->n_shape != 2)
        return false;
    column = vector->shape[1]->kind == EXPR_INT && vector->shape[1]->i == 1;
    changed = suggest_like(s, vector);
    changed->shape = arena_array(s->arena, Expr *, 2);
    changed->shape[column] = tile->shape[column];
    changed->shape[!column] = expr_int(s->arena, 1);
    return suggest_stmt(s, vector, changed, column ? "a number for each column" : "a number for each row");
}

bool propose_turned(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++)
        for (int k = 0; k < s->stmt->n_args; k++)
            if (i != k && try_turned(s, &cuts, s->stmt->args[i], s->stmt->args[k]))
                return true;
    return false;
}

/* What goes with a tile as one number a row. */
bool propose_column(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; s->stmt && i < s->stmt->n_with; i++)
        if (try_column(s, &cuts, s->stmt->with[i]))
            return true;
    for (int i = 1; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++)
        if (try_column(s, &cuts, s->stmt->args[i]))
            return true;
    return false;
}

/* The tile of this name that is copied. */
typedef struct Copied {
    const char *name;
    const Stmt *found; /* NULL: none */
} Copied;

/* Of a sketch: a tensor of one dimension lies as a column, `Copy T (len, 1)`, or as a row, `Copy T`. */
static void note_laid(void *user, const Stmt *stmt)
{
    Copied *c = user;

    if (stmt->kind == STMT_COPY && !stmt->listed && stmt->space == SPACE_GLOBAL && strcmp(copy_tile(stmt), c->name) == 0)
        c->found = stmt;
}

bool propose_laid_otherwise(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        Copied copied = {.name = expr_base_name(s->stmt->args[i])};
        const Stmt *tensor = copied.name && is_sketch(&cuts) ? cuts_tensor(&cuts, copied.name) : NULL;

        if (!tensor || tensor->n_shape != 1)
            continue;
        suggest_each(&s->unit->body, note_laid, &copied);
        Stmt *changed = copied.found ? suggest_like(s, copied.found) : NULL;
        if (!changed)
            continue;
        changed->has_shape = !copied.found->has_shape;
        changed->shape = arena_array(s->arena, Expr *, 2);
        changed->shape[0] = tensor->shape[0];
        changed->shape[1] = expr_int(s->arena, 1);
        changed->n_shape = changed->has_shape ? 2 : 0;
        if (suggest_stmt(s, copied.found, changed, changed->has_shape ? "a number for each row" : "a number for each column"))
            return true;
    }
    return false;
}

/* A part of a global tensor is as wide as the tensor. */
bool propose_part(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_ALLOCATE ? s->stmt : NULL,
               *tensor = stmt ? cuts_tensor(&cuts, stmt->name) : NULL;
    Stmt *changed;

    if (!tensor || tensor->n_shape < stmt->n_shape)
        return false;
    changed = suggest_like(s, stmt);
    changed->shape = tensor->shape + (tensor->n_shape - stmt->n_shape);
    return suggest_stmt(s, stmt, changed, "as wide as the tensor");
}

/* A tensor declared the other way round. */
bool propose_exchanged_sizes(Suggester *s)
{
    const Stmt *stmt = s->stmt;
    Stmt *changed;

    if (!stmt || (stmt->kind != STMT_INPUT && stmt->kind != STMT_OUTPUT) || stmt->n_shape < 2)
        return false;
    changed = suggest_like(s, stmt);
    changed->shape = arena_array(s->arena, Expr *, stmt->n_shape);
    for (int i = 0; i < stmt->n_shape; i++)
        changed->shape[i] = stmt->shape[i];
    changed->shape[stmt->n_shape - 1] = stmt->shape[stmt->n_shape - 2];
    changed->shape[stmt->n_shape - 2] = stmt->shape[stmt->n_shape - 1];
    return suggest_stmt(s, stmt, changed, "as it is computed");
}

/* One dimension is a row, or a column. */
bool propose_rank(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        const Stmt *tensor = s->stmt->args[i]->kind == EXPR_NAME ? cuts_tensor(&cuts, s->stmt->args[i]->name) : NULL;

        if (!tensor || tensor->n_shape != 1)
            continue;
        if (suggest_edit(s, (Span){tensor->shape[0]->span.start, tensor->shape[0]->span.start}, "1, ", "a row") ||
            suggest_edit(s, (Span){tensor->shape[0]->span.end, tensor->shape[0]->span.end}, ", 1", "a column"))
            return true;
    }
    return false;
}

/* ---- layouts, masks, types --------------------------------------------------------------------------------------- */

/* In a block, a Reshape of the tile behind a statement; NULL: there is none. */
static const Stmt *later_reshape(const Block *block, const Stmt *behind, const char *tile)
{
    for (int i = 0; tile && i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_RESHAPE && s->span.start > behind->span.start && strcmp(s->name, tile) == 0)
            return s;
    }
    return NULL;
}

/* Before the statement, where the operand or what is made of it is reshaped later in place of there. */
static bool try_reshape(Suggester *s, const char *operand)
{
    static const char label[] = "so that both lie alike";
    const Block *block = s->depth > 1 ? &s->path[s->depth - 2]->body : &s->unit->body;
    const Expr *dest = compute_result(s->stmt);
    const Stmt *later = later_reshape(block, s->stmt, dest ? expr_base_name(dest) : NULL), *own = later_reshape(block, s->stmt, operand);
    const char *text = line(s, s->stmt, arena_printf(s->arena, "Reshape %s from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)", operand));
    Fix edits[2] = {{suggest_before(s, s->stmt), text, NULL}, {{0, 0}, "", NULL}};

    for (int i = 0; i < 2; i++) {
        const Stmt *moved = i ? own : later;

        if (!moved || (i && own == later))
            continue;
        edits[1].span = suggest_line(s, moved->span);
        if (suggest_edits(s, edits, 2, label))
            return true;
    }
    return suggest_edit(s, edits[0].span, text, label);
}

bool propose_reshape(Suggester *s)
{
    for (int i = 0; s->unit && s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++)
        if (s->stmt->args[i]->kind == EXPR_NAME && try_reshape(s, s->stmt->args[i]->name))
            return true;
    return false;
}

static bool is_place(const Expr *e, const char *which)
{
    return e->kind == EXPR_CALL && strcmp(e->name, which) == 0;
}

/* row() and col() in the condition: from the tile's own corner on, in place of what stands there or before it. */
static bool try_follow(Suggester *s, const Expr *e, const Stmt *tile, const char *counter)
{
    const Expr *place = e->kind == EXPR_BINARY && e->op == EO_ADD ? e->b : e;
    bool row = is_place(place, "row"), col = is_place(place, "col");

    if ((row || col) && tile->n_shape == 2) {
        const char *begin = arena_printf(s->arena, "%s * %s", counter, suggest_expr(s, tile->shape[row ? 0 : 1]));
        Span words = {place->span.start, place->span.start + 3}; /* row, col */

        if (place != e && suggest_edit(s, e->a->span, begin, "where the tile begins"))
            return true;
        if (suggest_edit(s, (Span){place->span.start, place->span.start}, arena_printf(s->arena, "%s + ", begin),
                         "from where the tile begins") ||
            suggest_edit(s, words, row ? "col" : "row", "the other place"))
            return true;
        if (place != e)
            return try_follow(s, e->a, tile, counter);
    }
    return (e->a && try_follow(s, e->a, tile, counter)) || (e->b && try_follow(s, e->b, tile, counter));
}

typedef struct Begins {
    const Stmt *tile;
    Fix edits[8];
    int n;
} Begins;

/* `j * BM + col(S)`, of tiles of BN columns. */
static void note_begins(Suggester *s, Begins *b, const Expr *e)
{
    const Expr *begin = e && e->kind == EXPR_BINARY && e->op == EO_ADD ? e->a : NULL;
    bool row = begin && is_place(e->b, "row"), col = begin && is_place(e->b, "col");

    if (!e)
        return;
    if ((row || col) && begin->kind == EXPR_BINARY && begin->op == EO_MUL && !expr_equal(begin->b, b->tile->shape[col]) && b->n < (int)TW_COUNT(b->edits))
        b->edits[b->n++] = (Fix){begin->b->span, suggest_expr(s, b->tile->shape[col]), NULL};
    note_begins(s, b, e->a);
    note_begins(s, b, e->b);
}

/* Every place from where its tile begins, of which more than one counts in another size. */
static bool try_begins(Suggester *s, const Stmt *stmt, const Stmt *tile)
{
    Begins b = {.tile = tile};

    if (tile->n_shape == 2)
        note_begins(s, &b, stmt_condition(stmt));
    return b.n > 1 && suggest_edits(s, b.edits, b.n, "where the tile begins");
}

bool propose_follow(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *stmt = s->stmt, *tile;
    const Expr *where = stmt ? stmt_condition(stmt) : NULL, *of = stmt ? stmt_chosen_from(stmt) : NULL;
    const Stmt *grid = NULL;

    if (!where || !of || of->kind != EXPR_NAME)
        return false;
    tile = cuts_tile(&cuts, of->name, SPACE_REGISTER);
    if (tile && try_begins(s, stmt, tile))
        return true;
    for (int i = s->depth - 1; tile && i >= 0; i--)
        if (s->path[i]->kind == STMT_FOR && try_follow(s, where, tile, s->path[i]->name))
            return true;
    for (int i = 0; tile && i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind == STMT_GRID)
            grid = s->unit->body.data[i];
    for (int i = 0; grid && i < grid->n_coords; i++)
        if (grid->coords[i].name && try_follow(s, where, tile, grid->coords[i].name))
            return true;
    return false;
}

static bool try_types(Suggester *s, const Stmt *decl)
{
    static const DType types[] = {DT_F32, DT_F16, DT_BF16, DT_F32};

    for (size_t i = decl->dtype != DT_F64; decl->has_dtype && i < TW_COUNT(types); i++)
        if (types[i] != decl->dtype && suggest_edit(s, decl->dtype_span, dtype_name(types[i]), "a type that fits"))
            return true;
    return false;
}

bool propose_type(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    if (s->stmt && s->stmt->has_dtype && try_types(s, s->stmt))
        return true;
    for (int i = 0; s->stmt && i < cuts.tensors.len + cuts.allocated.len; i++) {
        const Stmt *decl = i < cuts.tensors.len ? cuts.tensors.data[i] : cuts.allocated.data[i - cuts.tensors.len];
        bool meant = s->stmt->name && strcmp(s->stmt->name, decl->name) == 0;

        for (int k = 0; k < s->stmt->n_args; k++)
            meant |= expr_mentions(s->stmt->args[k], decl->name);
        if (meant && try_types(s, decl))
            return true;
    }
    return false;
}

/* ---- bounds --------------------------------------------------------------------------------------------------------- */

/* `for j over len` in code: the tiles that its Copies take. */
bool propose_loop_bounds(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *loop = s->stmt && s->stmt->kind == STMT_FOR ? s->stmt : NULL;

    if (!loop || !loop->over)
        return false;
    if (cut_of(&cuts, loop->over)->size)
        return suggest_edit(s, loop->span, arena_printf(s->arena, "for %s = 0:ceil(%s / %s)", loop->name, loop->over,
                                                        cut_of(&cuts, loop->over)->size), "all tiles");
    return suggest_edit(s, loop->span, arena_printf(s->arena, "for %s = 0:%s", loop->name, loop->over), "all entries");
}

/* In a sketch: which dimension a loop or the grid goes over, not how far. */
static const char *loosened(Suggester *s, const Cuts *cuts, const Expr *extent)
{
    for (int i = 0; i < cuts->tensors.len; i++)
        for (int k = 0; k < cuts->tensors.data[i]->n_shape; k++)
            if (cuts->tensors.data[i]->shape[k]->kind == EXPR_NAME &&
                expr_mentions(extent, cuts->tensors.data[i]->shape[k]->name))
                return suggest_expr(s, cuts->tensors.data[i]->shape[k]);
    return NULL;
}

bool propose_loose(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *stmt = s->stmt;
    Str text = str_new(s->arena);
    bool known = stmt && (stmt->kind == STMT_GRID || (stmt->kind == STMT_FOR && stmt->hi));

    if (known && stmt->kind == STMT_FOR)
        known = loosened(s, &cuts, stmt->hi);
    if (known && stmt->kind == STMT_FOR)
        str_printf(&text, "for %s over %s", stmt->name, loosened(s, &cuts, stmt->hi));
    for (int i = 0; known && stmt->kind == STMT_GRID && i < stmt->n_coords; i++) {
        const char *dim = stmt->coords[i].value ? loosened(s, &cuts, stmt->coords[i].value) : stmt->coords[i].name;

        known = dim != NULL;
        str_printf(&text, "%s%s", i ? ", " : "Grid over ", dim ? dim : "");
    }
    return known && suggest_edit(s, stmt->span, str_text(&text), "stage 1b works out how far");
}

/* `m = blockIdx.x`, of which nothing is made: what other languages have in place of a grid. */
static const Stmt *block_by_number(const Suggester *s)
{
    for (int i = 0; s->unit && i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        const Expr *value = stmt->kind == STMT_ASSIGN ? stmt->value : NULL;
        const char *text = value ? s->source->text + value->span.start : "";

        if (strncmp(text, "blockIdx.", strlen("blockIdx.")) == 0 && !block_mentions(&s->unit->body, stmt->name))
            return stmt;
    }
    return NULL;
}

/* A sketch's, behind the declarations: the dimensions of the first output, all but the
 * last or all. */
static bool try_grid(Suggester *s, const Cuts *cuts, const Stmt *output, int last)
{
    const Stmt *by_number = block_by_number(s);
    Str text = str_new(s->arena);

    for (int i = last; i >= 0; i--)
        if (output->shape[i]->kind == EXPR_NAME)
            str_printf(&text, "%s%s", text.len ? ", " : "Grid over ", output->shape[i]->name);
    if (by_number && text.len)
        return suggest_edit(s, by_number->span, str_text(&text), "spread the output over blocks");
    output = cuts->tensors.data[cuts->tensors.len - 1];
    return text.len && suggest_edit(s, (Span){output->span.end, output->span.end},
                                    arena_printf(s->arena, "\n%s%s", suggest_indent(s, output->span.start),
                                                 str_text(&text)),
                                    "spread the output over blocks");
}

bool propose_grid(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *output = NULL;

    for (int i = 0; i < cuts.tensors.len && !output; i++)
        output = cuts.tensors.data[i]->kind == STMT_OUTPUT ? cuts.tensors.data[i] : NULL;
    return output && is_sketch(&cuts) &&
           (try_grid(s, &cuts, output, output->n_shape - 2) || try_grid(s, &cuts, output, output->n_shape - 1));
}

static bool of_an_output(const Cuts *cuts, const char *dim)
{
    for (int i = 0; i < cuts->tensors.len; i++)
        for (int k = 0; k < cuts->tensors.data[i]->n_shape && cuts->tensors.data[i]->kind == STMT_OUTPUT; k++)
            if (expr_is_name(cuts->tensors.data[i]->shape[k], dim))
                return true;
    return false;
}

/* Blocks along a dimension that no output has are those of one that an output has: heads that share keys. */
static bool spread_otherwise(Suggester *s, const Cuts *cuts, const Stmt *grid, const char *dim)
{
    for (int i = 0; i < grid->n_coords; i++) {
        const Coord *coord = &grid->coords[i];

        if (!coord->value && coord->name && coord->span.end > coord->span.start && !of_an_output(cuts, coord->name) &&
            suggest_edit(s, coord->span, dim, "spread the output's own dimension over blocks"))
            return true;
    }
    return false;
}

/* `Grid over DIM` with one more of the outputs' dimensions. */
bool propose_wider_grid(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *grid = s->unit ? block_find(&s->unit->body, STMT_GRID, NULL) : NULL;

    for (int i = 0; grid && is_sketch(&cuts) && i < cuts.tensors.len; i++)
        for (int k = 0; k < cuts.tensors.data[i]->n_shape && cuts.tensors.data[i]->kind == STMT_OUTPUT; k++) {
            const Expr *dim = cuts.tensors.data[i]->shape[k];
            if (dim->kind == EXPR_NAME && !stmt_coord(grid, dim->name) &&
                (spread_otherwise(s, &cuts, grid, dim->name) ||
                 suggest_edit(s, (Span){grid->span.end, grid->span.end}, arena_printf(s->arena, ", %s", dim->name),
                              "spread it over blocks as well")))
                return true;
        }
    return false;
}

/* ---- loops, spaces, allocations ------------------------------------------------------------------------------------ */

/* `for j = 1:n` leaves out the first tile. */
bool propose_first(Suggester *s)
{
    for (int i = s->depth - 1; i >= 0; i--) {
        const Expr *lo = s->path[i]->kind == STMT_FOR ? s->path[i]->lo : NULL;
        const Expr *hi = lo ? s->path[i]->hi : NULL;
        bool more = hi && hi->kind == EXPR_BINARY && hi->op == EO_ADD && lo->kind == EXPR_INT && hi->b->kind == EXPR_INT && hi->b->i == lo->i;

        if (!lo || lo->kind != EXPR_INT || lo->i <= 0)
            continue;
        if (more && suggest_edits(s, (Fix[]){{lo->span, "0", NULL}, {hi->span, suggest_expr(s, hi->a), NULL}}, 2, "count from 0"))
            return true;
        if (suggest_edit(s, lo->span, "0", "begin with the first"))
            return true;
    }
    return false;
}

/* A Copy from or to another memory space than the one where the tile is. */
bool propose_space(Suggester *s)
{
    Space spaces[] = {SPACE_REGISTER, SPACE_SHARED, SPACE_GLOBAL};

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COPY && i < (int)TW_COUNT(spaces); i++)
        for (int from = 0; from < 2; from++) {
            Stmt *changed = suggest_like(s, s->stmt);
            Space *space = from ? &changed->space : &changed->to_space;
            if (*space == SPACE_GLOBAL || *space == spaces[i] || (!from && spaces[i] == SPACE_GLOBAL))
                continue;
            *space = spaces[i];
            if (changed->space != changed->to_space && suggest_stmt(s, s->stmt, changed, "where the tile is"))
                return true;
        }
    return false;
}

static bool try_allocation(Suggester *s, const char *name, const Stmt *like, bool column)
{
    Stmt *made = suggest_like(s, like);

    made->name = name;
    if (column) {
        made->shape = arena_array(s->arena, Expr *, 2);
        made->shape[0] = like->shape[0];
        made->shape[1] = expr_int(s->arena, 1);
        made->n_shape = 2;
    }
    made->has_dtype = true;
    made->dtype = DT_F32;
    return suggest_edit(s, suggest_before(s, s->path[0]), line(s, s->path[0], suggest_text(s, made)), "allocate it");
}

/* What elements, or rows, of a tile give: of its shape, or a column of it. */
static bool try_like_operand(Suggester *s, const Cuts *cuts, const char *name)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->n_args > 0 ? s->stmt : NULL;
    const char *operand = stmt && stmt->args[0]->kind == EXPR_NAME ? stmt->args[0]->name : NULL;
    const Stmt *tile = cuts_tile(cuts, operand, SPACE_REGISTER);
    OpClass class = stmt ? op_info(stmt->op)->class : OPC_GEMM;

    if (!tile || tile->n_shape != 2 || !s->depth || (class != OPC_ELEMENT && class != OPC_ROW_REDUCE))
        return false;
    Stmt *like = suggest_like(s, tile);
    like->listed = false;
    return try_allocation(s, name, like, class == OPC_ROW_REDUCE);
}

/* Elements of tiles whose size nothing says yet: a column would only seem to do. */
static bool is_of_unknown_size(const Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known ? s->stmt : NULL;
    bool unknown = false;

    for (int i = 0; i < s->chain->diags->list.len; i++)
        unknown |= s->chain->diags->list.data[i].code == TW0410;
    return unknown && stmt && op_info(stmt->op)->class == OPC_ELEMENT;
}

static void find_copied(void *user, const Stmt *stmt)
{
    Copied *c = user;

    if (stmt->kind == STMT_COPY && stmt->n_shape == 2 && strcmp(copy_tile(stmt), c->name) == 0)
        c->found = stmt;
}

/* A tile that no operation says the shape of: as it is copied, or that of another tile, or of a column of it. */
bool propose_allocation(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    int len = s->diag->span.end - s->diag->span.start;
    const char *name = arena_strndup(s->arena, s->source->text + s->diag->span.start, (size_t)len);
    Copied copied = {.name = name};

    if (s->unit)
        suggest_each(&s->unit->body, find_copied, &copied);
    if (copied.found && s->depth) {
        Stmt *made = suggest_like(s, copied.found);
        made->kind = STMT_ALLOCATE;
        made->name = name;
        made->space = SPACE_REGISTER;
        made->listed = false;
        if (try_allocation(s, name, made, false))
            return true;
    }

    if (try_like_operand(s, &cuts, name))
        return true;
    for (int column = !is_of_unknown_size(s); s->depth && column >= 0; column--)
        for (int i = 0; i < cuts.allocated.len; i++) {
            const Stmt *like = cuts.allocated.data[i];
            bool again = false;
            for (int k = 0; k < i; k++)
                again |= cuts.allocated.data[k]->n_shape == 2 && like->n_shape == 2 &&
                         expr_equal(cuts.allocated.data[k]->shape[0], like->shape[0]) &&
                         (column || expr_equal(cuts.allocated.data[k]->shape[1], like->shape[1]));
            if (!again && like->space == SPACE_REGISTER && like->n_shape == 2 && try_allocation(s, name, like, column))
                return true;
        }
    return false;
}

static Stmt *turned(Suggester *s, const Stmt *stmt)
{
    Stmt *changed = suggest_like(s, stmt);
    int n = stmt->n_shape;

    changed->shape = arena_array(s->arena, Expr *, (size_t)n);
    for (int i = 0; i < n; i++)
        changed->shape[i] = stmt->shape[i < n - 2 ? i : 2 * n - 3 - i];
    return changed;
}

/* A tile that is allocated, or copied, with its sizes exchanged. */
bool propose_turned_sizes(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && s->stmt->n_shape == 2 ? s->stmt : NULL;

    for (int i = 0; copy && i < cuts.allocated.len; i++) {
        const Stmt *tile = cuts.allocated.data[i];
        if (tile->n_shape >= 2 && strcmp(tile->name, copy_tile(copy)) == 0 && tile->space != SPACE_GLOBAL &&
            suggest_stmt(s, tile, turned(s, tile), "allocate the tile that is copied"))
            return true;
    }
    return copy && suggest_stmt(s, copy, turned(s, copy), "copy the tile that is allocated");
}

/* `Compute Define Y as ..`: the shape of what is allocated, or declared, under the name, or of the first Output. */
bool propose_define_shape(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const char *text = form_plain(s, form_line(s)), *name;
    const Stmt *tile, *output = NULL;
    Holes holes;

    if (!s->unit || strlen(text) > FORM_LONGEST || !form_match("Compute Define $y as $E", text, &holes))
        return false;
    name = form_hole(s, text, &holes, 'y');
    for (int i = 0; i < cuts.tensors.len && !output; i++)
        output = cuts.tensors.data[i]->kind == STMT_OUTPUT ? cuts.tensors.data[i] : NULL;
    tile = cuts_tile(&cuts, name, SPACE_REGISTER);
    tile = tile ? tile : cuts_tensor(&cuts, name) ? cuts_tensor(&cuts, name) : output;
    return tile && tile->n_shape &&
           suggest_edit(s, form_line(s), arena_printf(s->arena, "Compute Define %s (%s) as %s", name, shape_text(&cuts, tile, tile), form_hole(s, text, &holes, 'E')),
                        "its shape");
}

/* A Copy to an Input, which is no place for a result: to the Output that nothing writes, or not at all. */
bool propose_to_output(Suggester *s)
{
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && s->stmt->to_space == SPACE_GLOBAL && !s->stmt->listed ? s->stmt : NULL;
    Cuts cuts = cuts_of(s);

    for (int i = 0; copy && i < cuts.tensors.len; i++) {
        Stmt *changed = suggest_like(s, copy);
        changed->as = cuts.tensors.data[i]->name;
        if (cuts.tensors.data[i]->kind == STMT_OUTPUT && suggest_stmt(s, copy, changed, arena_printf(s->arena, "write '%s'", changed->as)))
            return true;
    }
    return copy && suggest_edit(s, suggest_line(s, copy->span), "", "an Input stays as it is");
}

/* What a tile of another name holds, which nothing reads: the Output, by its name. */
typedef struct Unread {
    const char *name;
    bool read;
} Unread;

static void find_reader(void *user, const Stmt *stmt)
{
    Unread *u = user;

    for (int i = 0; i < stmt->n_args; i++)
        u->read |= stmt->kind == STMT_COMPUTE && !(stmt->op_known && stmt->op == OP_FILL) && expr_mentions(stmt->args[i], u->name);
    u->read |= stmt->kind == STMT_COPY && strcmp(stmt->name ? stmt->name : "", u->name) == 0;
}

bool propose_renamed_tile(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    int len = s->diag->span.end - s->diag->span.start;
    const char *name = arena_strndup(s->arena, s->source->text + s->diag->span.start, (size_t)len);
    const Stmt *output = cuts_tensor(&cuts, name);

    for (int i = 0; output && output->kind == STMT_OUTPUT && i < cuts.allocated.len; i++) {
        const Stmt *tile = cuts.allocated.data[i];
        Unread u = {.name = tile->name};
        suggest_each(&s->unit->body, find_reader, &u);
        if (u.read || tile->space != SPACE_REGISTER || cuts_tensor(&cuts, tile->name))
            continue;
        Span rest = {tile->span.start, s->unit->end};
        const char *text = arena_strndup(s->arena, s->source->text + rest.start, (size_t)(rest.end - rest.start));
        if (suggest_edit(s, rest, suggest_words(s, text, tile->name, name), arena_printf(s->arena, "'%s' is what '%s' gets", name, tile->name)))
            return true;
    }
    return false;
}

/* A sum that goes to a tile which nothing reads: to another in registers. */
bool propose_other_sum(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->result == RESULT_ACCUMULATE && s->stmt->dest->kind == EXPR_NAME ? s->stmt : NULL;

    for (int i = 0; stmt && i < cuts.allocated.len; i++) {
        const Stmt *tile = cuts.allocated.data[i];
        if (tile->space == SPACE_REGISTER && strcmp(tile->name, stmt->dest->name) != 0 &&
            suggest_edit(s, stmt->dest->span, tile->name, arena_printf(s->arena, "did you mean '%s'?", tile->name)))
            return true;
    }
    return false;
}
