/* propose_stream.c: rows that are too wide for registers, in pieces.
 *
 *   Copy X (BM, N) ...                       for p = 0:ceil(N / BN)
 *   Compute Multiply X, X and get Y            Copy X (BM, BN) in coordinate [..., N = p] ...
 *   Compute RowSum Y and get s           ->    Compute Multiply X, X and get Y
 *   ...                                        Compute RowSum Y and accumulate s
 *   Copy Y (BM, N) ... to global             end
 *                                            ... and another such loop for what is written
 *
 * A loop for each reduction and each tile that is written, with all that it is made of:
 * that is made again, of columns that nothing has changed since. Only of kernels without
 * loops, of operations on elements and rows, whose pieces are whole.
 */
#include "suggest/cuts.h"

typedef struct Stream {
    Suggester *s;
    const char *dim;         /* the wide dimension */
    VEC(const Stmt *) tiles; /* Allocates of what is as wide */
    VEC(const Stmt *) made;  /* statements so far that give such tiles */
    const char *indent;
    bool failed;
    Str out;
} Stream;

/* ---- what is wide --------------------------------------------------------------------------- */

static const Stmt *wide(const Stream *st, const char *name)
{
    for (int i = 0; name && i < st->tiles.len; i++)
        if (strcmp(st->tiles.data[i]->name, name) == 0)
            return st->tiles.data[i];
    return NULL;
}

static const char *name_of(const Expr *e)
{
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

static const char *result_of(const Stmt *s)
{
    if (s->kind == STMT_COPY)
        return copy_tile(s);
    return name_of(compute_result(s));
}

static bool reads_name(const Stmt *s, const char *name)
{
    for (int i = 0; s->kind == STMT_COMPUTE && i < s->n_args; i++)
        if (expr_mentions(s->args[i], name))
            return true;
    return false;
}

static bool is_reduction(const Stmt *s)
{
    return s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == OPC_ROW_REDUCE && s->n_args == 1 && s->result != RESULT_ACCUMULATE;
}

static bool is_of_elements(const Stmt *s)
{
    OpClass class = s->op_known ? op_info(s->op)->class : OPC_DEFINE;

    return (class == OPC_ELEMENT || class == OPC_FILL || class == OPC_CAST) && s->result != RESULT_ACCUMULATE && !s->where && !s->n_with;
}

/* The number that the dimension is; 0: not known. */
static int64_t size_of(const Stream *st)
{
    const Settings *set = &st->s->chain->settings;
    int64_t size = 0;

    for (int i = 0; i < st->s->unit->body.len; i++) {
        const Stmt *stmt = st->s->unit->body.data[i];
        if ((stmt->kind == STMT_PARAM || stmt->kind == STMT_ASSIGN) && strcmp(stmt->name, st->dim) == 0 && stmt->value && stmt->value->kind == EXPR_INT)
            size = stmt->value->i;
    }
    for (int i = 0; i < set->list.len; i++)
        if (strcmp(set->list.data[i].name, st->dim) == 0)
            size = (int64_t)set->list.data[i].value;
    return size;
}

/* ---- statements in pieces ---------------------------------------------------------------------- */

static void say(Stream *st, const char *text, bool within)
{
    str_printf(&st->out, "%s%s%s\n", st->indent, within ? "  " : "", text);
}

static void narrow(Stream *st, Stmt *stmt)
{
    Expr **shape = arena_array(st->s->arena, Expr *, (size_t)stmt->n_shape + 1);

    for (int i = 0; i < stmt->n_shape; i++)
        shape[i] = i == stmt->n_shape - 1 ? expr_name(st->s->arena, "BN") : stmt->shape[i];
    stmt->shape = shape;
}

/* A Copy of the p-th piece. */
static Stmt *piece(Stream *st, const Stmt *copy)
{
    Stmt *made = suggest_like(st->s, copy);
    Coord *coords = arena_array(st->s->arena, Coord, (size_t)copy->n_coords + 1);

    for (int i = 0; i < copy->n_coords; i++) {
        coords[i] = copy->coords[i];
        st->failed |= !coords[i].name || strcmp(coords[i].name, st->dim) == 0;
    }
    coords[copy->n_coords] = (Coord){.name = st->dim, .value = expr_name(st->s->arena, "p")};
    made->coords = coords;
    made->n_coords = copy->n_coords + 1;
    st->failed |= copy->n_shape < 1 || !expr_is_name(copy->shape[copy->n_shape - 1], st->dim);
    narrow(st, made);
    return made;
}

/* What the tile is made of, from the first to the last. */
static void say_made(Stream *st, const char *name)
{
    int n = st->made.len;
    bool *taken = arena_array(st->s->arena, bool, (size_t)n + 1);
    VEC(const char *) needed = {0};

    vec_push(st->s->arena, &needed, name);
    for (int i = n - 1; i >= 0; i--) {
        const Stmt *stmt = st->made.data[i];
        const char *to = result_of(stmt);
        int at = 0;

        while (at < needed.len && strcmp(needed.data[at], to) != 0)
            at++;
        taken[i] = at < needed.len;
        if (!taken[i])
            continue;
        if (stmt->dest || stmt->kind == STMT_COPY || op_info(stmt->op)->class == OPC_FILL)
            needed.data[at] = "";
        for (int k = 0; stmt->kind == STMT_COMPUTE && k < stmt->n_args; k++)
            if (wide(st, name_of(stmt->args[k])))
                vec_push(st->s->arena, &needed, stmt->args[k]->name);
    }
    for (int i = 0; i < n; i++)
        if (taken[i])
            say(st, suggest_text(st->s, st->made.data[i]->kind == STMT_COPY ? piece(st, st->made.data[i]) : st->made.data[i]), true);
}

static void begin_loop(Stream *st)
{
    say(st, arena_printf(st->s->arena, "for p = 0:ceil(%s / BN)", st->dim), false);
}

static void say_reduction(Stream *st, const Stmt *stmt)
{
    Arena *arena = st->s->arena;
    const char *tile = stmt->args[0]->name, *to = result_of(stmt);
    bool sums = stmt->op == OP_ROW_SUM || stmt->op == OP_ROW_MEAN;

    st->failed |= !stmt->dest || !to || wide(st, to) != NULL;
    if (st->failed)
        return;
    say(st, arena_printf(arena, "Compute Fill %s, %s", to, sums ? "0" : stmt->op == OP_ROW_MAX ? "-inf" : "inf"), false);
    begin_loop(st);
    say_made(st, tile);
    if (sums) {
        say(st, arena_printf(arena, "Compute RowSum %s and accumulate %s", tile, to), true);
    } else {
        say(st, arena_printf(arena, "Compute %s %s and get %s_piece", op_info(stmt->op)->name, tile, to), true);
        say(st, arena_printf(arena, "Compute %s %s, %s_piece and get new %s", stmt->op == OP_ROW_MAX ? "Max" : "Min", to, to, to), true);
    }
    say(st, "end", false);
    if (stmt->op == OP_ROW_MEAN)
        say(st, arena_printf(arena, "Compute Divide %s, %s and get new %s", to, st->dim, to), false);
}

static void say_stored(Stream *st, const Stmt *copy)
{
    begin_loop(st);
    say_made(st, copy->name);
    say(st, suggest_text(st->s, piece(st, copy)), true);
    say(st, "end", false);
}

/* A column that what was made is made of must stay as it is. */
static void keep_columns(Stream *st, const char *changed)
{
    for (int i = 0; changed && i < st->made.len; i++)
        st->failed |= reads_name(st->made.data[i], changed);
}

static void one_statement(Stream *st, const Stmt *stmt)
{
    const char *to = stmt->kind == STMT_COMPUTE || stmt->kind == STMT_COPY ? result_of(stmt) : NULL;
    bool reduces = is_reduction(stmt) && wide(st, name_of(stmt->args[0]));

    if (stmt->kind == STMT_COPY && wide(st, to)) {
        if (stmt->to_space == SPACE_GLOBAL)
            say_stored(st, stmt);
        else
            vec_push(st->s->arena, &st->made, stmt);
        st->failed |= stmt->target || stmt->stage || stmt->where || stmt->listed || (stmt->space != SPACE_GLOBAL && stmt->to_space != SPACE_GLOBAL);
    } else if (reduces) {
        keep_columns(st, to);
        say_reduction(st, stmt);
    } else if (stmt->kind == STMT_COMPUTE && wide(st, to)) {
        vec_push(st->s->arena, &st->made, stmt);
        st->failed |= !is_of_elements(stmt);
    } else if (stmt->kind == STMT_COMPUTE || stmt->kind == STMT_COPY) {
        for (int i = 0; i < stmt->n_args; i++)
            st->failed |= wide(st, name_of(stmt->args[i])) != NULL;
        keep_columns(st, to);
        say(st, suggest_text(st->s, stmt), false);
    } else if (stmt->kind == STMT_ALLOCATE) {
        Stmt *made = suggest_like(st->s, stmt);
        if (wide(st, stmt->name))
            narrow(st, made);
        st->failed |= stmt->listed;
        say(st, suggest_text(st->s, made), false);
    } else {
        say(st, suggest_text(st->s, stmt), false);
        st->failed |= stmt->kind == STMT_FOR || stmt->kind == STMT_IF || stmt->kind == STMT_DEFINE || stmt->kind == STMT_RESHAPE;
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------ */

/* Columns in which the maximum of a piece goes. */
static void allocate_pieces(Stream *st)
{
    const Block *body = &st->s->unit->body;

    for (int i = 0; i < body->len; i++)
        for (int k = 0; k < body->len; k++) {
            const Stmt *column = body->data[k], *stmt = body->data[i];
            bool largest = is_reduction(stmt) && stmt->op != OP_ROW_SUM && stmt->op != OP_ROW_MEAN && wide(st, name_of(stmt->args[0]));
            if (!largest || column->kind != STMT_ALLOCATE || !result_of(stmt) || strcmp(column->name, result_of(stmt)) != 0)
                continue;
            Stmt *made = suggest_like(st->s, column);
            made->name = arena_printf(st->s->arena, "%s_piece", column->name);
            say(st, suggest_text(st->s, made), false);
        }
}

static bool find_width(Stream *st)
{
    const Block *body = &st->s->unit->body;

    for (int i = 0; i < body->len && !st->dim; i++) {
        const Stmt *tile = body->data[i];
        const Expr *last = tile->kind == STMT_ALLOCATE && tile->space == SPACE_REGISTER && tile->n_shape > 1 ? tile->shape[tile->n_shape - 1] : NULL;
        for (int k = 0; last && last->kind == EXPR_NAME && k < body->len; k++)
            if (body->data[k]->kind == STMT_INPUT && body->data[k]->n_shape && expr_is_name(body->data[k]->shape[body->data[k]->n_shape - 1], last->name))
                st->dim = last->name;
    }
    for (int i = 0; st->dim && i < body->len; i++) {
        const Stmt *tile = body->data[i];
        if (tile->kind == STMT_ALLOCATE && tile->n_shape && expr_is_name(tile->shape[tile->n_shape - 1], st->dim))
            vec_push(st->s->arena, &st->tiles, tile);
    }
    return st->dim && !block_mentions(body, "BN") && !block_mentions(body, "p");
}

static bool try_width(Stream *st, int width)
{
    const Block *body = &st->s->unit->body;
    int first = 0, last = body->len - 1;

    while (first < body->len && body->data[first]->kind != STMT_ALLOCATE)
        first++;
    while (last > first && body->data[last]->kind == STMT_SCHEDULE)
        last--;
    if (first >= last)
        return false;
    st->indent = suggest_indent(st->s, body->data[first]->span.start);
    st->out = str_new(st->s->arena);
    st->made.len = 0;
    str_printf(&st->out, "BN = %d\n", width);
    allocate_pieces(st);
    for (int i = first; i <= last && !st->failed; i++)
        one_statement(st, body->data[i]);
    while (st->out.len && st->out.data[st->out.len - 1] == '\n')
        st->out.data[--st->out.len] = '\0';
    return !st->failed && suggest_edit(st->s, (Span){body->data[first]->span.start, body->data[last]->span.end}, str_text(&st->out),
                                       "pieces of the rows, in loops");
}

bool propose_stream(Suggester *s)
{
    static const int widths[] = {1024, 512, 256, 128, 64};
    Stream st = {.s = s};
    int64_t size = s->unit && s->unit->kind == UNIT_KERNEL && find_width(&st) ? size_of(&st) : 0;

    for (size_t i = 0; i < TW_COUNT(widths) && !st.failed; i++)
        if (size > widths[i] && size % widths[i] == 0 && try_width(&st, widths[i]))
            return true;
    return false;
}
