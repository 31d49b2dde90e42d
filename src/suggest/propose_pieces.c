/* propose_pieces.c: a product whose result is too wide for registers, and only an operand of another.
 *
 *   Copy B (N, K) in coordinate [N = 0] ...       for p = 0:N div N_piece
 *   Compute GEMM Q, B.T and get S                   Copy B (N_piece, K) in coordinate [N = p] ...
 *   Reshape S from MMA_C to MMA_A             ─►    Compute GEMM Q, B.T and get S
 *   Compute GEMM S, B and get Y                     Reshape S from MMA_C to MMA_A
 *                                                   Compute GEMM S, B and accumulate Y
 *                                                 end
 *
 * What has that dimension is of one piece at a time; what sums along it, a product or a row's sum, accumulates. Only in
 * kernels without loops, where the pieces are whole and nothing but operations on elements stands between the products.
 */
#include "suggest/cuts.h"

typedef struct Pieces {
    Suggester *s;
    const char *dim, *piece; /* N, N_piece */
    VEC(const char *) wide;  /* tiles that have the dimension */
    Str before, within, behind;
    bool failed;
    bool sums, summed; /* of rows, so far; a product, so far: what does not have the dimension stands behind the loop then */
} Pieces;

/* ---- what has the dimension --------------------------------------------------------------------------- */

static bool is_wide(const Pieces *p, const Expr *e)
{
    while (e && (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE))
        e = e->a;
    return e && e->kind == EXPR_NAME && text_among(p->wide.data, p->wide.len, e->name);
}

static bool in_shape(const Pieces *p, const Stmt *stmt)
{
    for (int i = 0; i < stmt->n_shape; i++)
        if (expr_is_name(stmt->shape[i], p->dim))
            return true;
    return false;
}

static Stmt *narrowed(Pieces *p, const Stmt *stmt)
{
    Stmt *made = suggest_like(p->s, stmt);

    made->shape = arena_array(p->s->arena, Expr *, (size_t)stmt->n_shape + 1);
    for (int i = 0; i < stmt->n_shape; i++)
        made->shape[i] = expr_is_name(stmt->shape[i], p->dim) ? expr_name(p->s->arena, p->piece) : stmt->shape[i];
    return made;
}

/* The p-th one: the only tile along the dimension was the first. */
static Stmt *copied(Pieces *p, const Stmt *copy)
{
    Stmt *made = narrowed(p, copy);
    int n = 0;

    made->coords = arena_array(p->s->arena, Coord, (size_t)copy->n_coords + 1);
    for (int i = 0; i < copy->n_coords; i++) {
        const Coord *coord = &copy->coords[i];
        bool along = coord->name && strcmp(coord->name, p->dim) == 0;
        p->failed |= !coord->name || (along && !(coord->value && coord->value->kind == EXPR_INT && coord->value->i == 0));
        if (!along)
            made->coords[n++] = *coord;
    }
    made->coords[n++] = (Coord){.name = p->dim, .value = expr_name(p->s->arena, "p")};
    made->n_coords = n;
    p->failed |= copy->listed || copy->where || copy->stage || copy->to_space == SPACE_GLOBAL;
    return made;
}

/* ---- statements ------------------------------------------------------------------------------------------ */

static void say(Pieces *p, Str *where, const char *text)
{
    str_printf(where, "%s%s%s\n", suggest_indent(p->s, p->s->stmt->span.start), where == &p->within ? "  " : "", text);
}

/* As it stands in the source. */
static const char *words_of(Pieces *p, const Stmt *stmt)
{
    return arena_strndup(p->s->arena, p->s->source->text + stmt->span.start, (size_t)(stmt->span.end - stmt->span.start));
}

/* What sums along the dimension. */
static Stmt *summed(Pieces *p, const Stmt *stmt)
{
    bool product = stmt->op_known && stmt->op == OP_GEMM && is_wide(p, stmt->args[0]) && is_wide(p, stmt->args[1]);
    bool sum = stmt->op_known && stmt->op == OP_ROW_SUM;
    Stmt *made = suggest_like(p->s, stmt);

    p->failed |= (!product && !sum) || stmt->result != RESULT_GET || !stmt->dest;
    p->summed |= product;
    p->sums |= sum;
    made->result = RESULT_ACCUMULATE;
    return made;
}

static void one_compute(Pieces *p, const Stmt *stmt)
{
    OpClass class = stmt->op_known ? op_info(stmt->op)->class : OPC_DEFINE;
    const Expr *result = compute_result(stmt);
    bool reads = false, gives = result && is_wide(p, result), moves = class == OPC_GEMM || class == OPC_ELEMENT || class == OPC_CAST;

    for (int i = 0; i < stmt->n_args; i++)
        reads |= is_wide(p, stmt->args[i]);
    if (!reads && !gives) {
        p->failed |= p->sums && !p->summed;
        say(p, p->summed ? &p->behind : &p->before, words_of(p, stmt));
        return;
    }
    p->failed |= p->behind.len > 0 || stmt->where || stmt->n_with > 0 || (gives && !moves);
    say(p, &p->within, gives ? words_of(p, stmt) : suggest_text(p->s, summed(p, stmt)));
}

static void one_statement(Pieces *p, const Stmt *stmt)
{
    if (stmt->kind == STMT_ALLOCATE && in_shape(p, stmt)) {
        p->failed |= stmt->listed;
        say(p, &p->before, suggest_text(p->s, narrowed(p, stmt)));
    } else if (stmt->kind == STMT_COPY && in_shape(p, stmt)) {
        p->failed |= p->behind.len > 0;
        say(p, &p->within, suggest_text(p->s, copied(p, stmt)));
    } else if (stmt->kind == STMT_COMPUTE) {
        one_compute(p, stmt);
    } else if (stmt->kind == STMT_RESHAPE && text_among(p->wide.data, p->wide.len, stmt->name)) {
        say(p, &p->within, words_of(p, stmt));
    } else {
        p->failed |= stmt->kind == STMT_FOR || stmt->kind == STMT_IF || stmt->kind == STMT_DEFINE;
        say(p, p->summed && stmt->kind != STMT_ALLOCATE ? &p->behind : &p->before, words_of(p, stmt));
    }
}

/* ---- the kernel -------------------------------------------------------------------------------------------- */

static bool try_piece(Pieces *p, int size)
{
    const Block *body = &p->s->unit->body;
    const char *indent = suggest_indent(p->s, p->s->stmt->span.start);
    int first = 0, last = body->len - 1;
    Str text = str_new(p->s->arena);

    while (first < body->len && body->data[first]->kind != STMT_ALLOCATE)
        first++;
    while (last > first && body->data[last]->kind == STMT_SCHEDULE)
        last--;
    p->before = str_new(p->s->arena);
    p->within = str_new(p->s->arena);
    p->behind = str_new(p->s->arena);
    for (int i = first; i <= last && !p->failed; i++)
        one_statement(p, body->data[i]);
    if (p->failed || !p->summed || first >= last)
        return false;
    str_printf(&text, "%s%s = %d\n%s%sfor p = 0:%s div %s\n%s%send\n%s", indent, p->piece, size, str_text(&p->before), indent, p->dim, p->piece, str_text(&p->within), indent,
               str_text(&p->behind));
    Span whole = {suggest_before(p->s, body->data[first]).start, suggest_line(p->s, body->data[last]->span).end}, all = whole;
    const char *label = arena_printf(p->s->arena, "one piece of %s after the other", p->dim);
    if (suggest_edit(p->s, whole, str_text(&text), label))
        return true;
    for (int i = last + 1; i < body->len; i++) /* a Schedule may be for tiles that were as wide */
        all.end = suggest_end(p->s, body->data[i]) >= 0 ? suggest_line(p->s, (Span){body->data[i]->span.start, suggest_end(p->s, body->data[i])}).end : all.end;
    return all.end > whole.end && suggest_edit(p->s, all, str_text(&text), label);
}

/* The number that a dimension is; 0: nobody says. */
static int64_t size_of(Suggester *s, const char *dim)
{
    const Settings *set = &s->chain->settings;
    int64_t size = 0;

    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        if ((stmt->kind == STMT_PARAM || stmt->kind == STMT_ASSIGN) && strcmp(stmt->name, dim) == 0 && stmt->value && stmt->value->kind == EXPR_INT)
            size = stmt->value->i;
    }
    for (int i = 0; i < set->list.len; i++)
        if (strcmp(set->list.data[i].name, dim) == 0)
            size = (int64_t)set->list.data[i].value;
    return size;
}

static bool try_dim(Suggester *s, const char *dim)
{
    static const int sizes[] = {64, 32, 16};
    int64_t all = size_of(s, dim);
    Pieces p = {.s = s, .dim = dim, .piece = arena_printf(s->arena, "%s_piece", dim)};

    for (int i = 0; i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind == STMT_ALLOCATE && in_shape(&p, s->unit->body.data[i]))
            vec_push(s->arena, &p.wide, s->unit->body.data[i]->name);
    for (size_t i = 0; i < TW_COUNT(sizes) && !p.failed && !block_mentions(&s->unit->body, p.piece) && !block_mentions(&s->unit->body, "p"); i++)
        if (all > sizes[i] && all % sizes[i] == 0 && try_piece(&p, sizes[i]))
            return true;
    return false;
}

/* Of a tile that some product gives. */
bool propose_pieces(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; s->unit && s->unit->kind == UNIT_KERNEL && i < s->unit->body.len; i++) {
        const Stmt *product = s->unit->body.data[i];
        bool is = product->kind == STMT_COMPUTE && product->op_known && product->op == OP_GEMM && product->dest && product->dest->kind == EXPR_NAME;
        const Stmt *tile = is ? cuts_tile(&cuts, product->dest->name, SPACE_REGISTER) : NULL;
        const Expr *last = tile && tile->n_shape == 2 ? tile->shape[1] : NULL;
        s->stmt = product;
        if (last && last->kind == EXPR_NAME && try_dim(s, last->name))
            return true;
    }
    return false;
}
