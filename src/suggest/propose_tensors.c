/* propose_tensors.c: what other libraries do to a tensor's shape or elements, in a word behind it or by an index of its own.
 *
 *   Compute Divide O, L[:, None] and get new O                 Compute Divide O, L and get new O
 *   Compute GEMM Q, K.mT and get S                             Compute GEMM Q, K.T and get S
 *   offs_n = j * BN + arange(0, BN)                            (nothing)
 *   Compute Mask S where offs_m[:, None] >= offs_n[None, :]    Compute Mask S where m * BM + row(S) >= j * BN + col(S)
 */
#include "suggest/cuts.h"
#include "suggest/forms.h"

/* ---- words behind a tensor ------------------------------------------------------------------------ */

static int behind_brackets(const char *text, int at)
{
    int depth = 0;

    if (text[at] != '(')
        return at;
    for (; text[at] && text[at] != '\n'; at++) {
        depth += (text[at] == '(') - (text[at] == ')');
        if (depth == 0)
            return at + 1;
    }
    return -1;
}

/* `.unsqueeze(-1)`, `.float()`: sizes of 1 fit any, and types are converted where they must be. */
bool propose_method(Suggester *s)
{
    static const struct { const char *word, *means; } methods[] = {
        {"mT", ".T"}, {"t", ".T"}, {"transpose", ".T"}, {"permute", ".T"}, {"swapaxes", ".T"}, {"unsqueeze", ""}, {"squeeze", ""}, {"expand", ""},
        {"expand_as", ""}, {"repeat", ""}, {"repeat_interleave", ""}, {"broadcast_to", ""}, {"contiguous", ""}, {"float", ""}, {"half", ""}, {"bfloat16", ""}, {"to", ""}, {"type", ""}, {"astype", ""},
        {"detach", ""}, {"clone", ""}, {"cuda", ""}, {"data", ""},
    };
    const char *text = s->source->text;
    Span span = s->diag->span;

    if (span.start == 0 || text[span.start - 1] != '.')
        return false;
    span.start--;
    for (size_t i = 0; i < TW_COUNT(methods); i++) {
        size_t len = strlen(methods[i].word);
        int end = strncmp(text + span.start + 1, methods[i].word, len) == 0 ? behind_brackets(text, span.start + 1 + (int)len) : -1;
        char behind = end > 0 ? text[span.start + 1 + (int)len] : 'x';

        if (!(behind >= 'a' && behind <= 'z') && behind != '_' &&
            suggest_edit(s, (Span){span.start, end}, methods[i].means, *methods[i].means ? "a transposed matrix is X.T" : "the tensor itself"))
            return true;
    }
    return false;
}

/* `[:, None]`: a number for each row is a column as it is. */
bool propose_no_axis(Suggester *s)
{
    const char *text = s->source->text;
    Span span = s->diag->span;

    while (span.start > 0 && text[span.start] != '[' && text[span.start] != '\n')
        span.start--;
    while (text[span.end] && text[span.end] != ']' && text[span.end] != '\n')
        span.end++;
    if (text[span.start] != '[' || text[span.end] != ']')
        return false;
    span.end++;
    const char *inner = arena_strndup(s->arena, text + span.start, (size_t)(span.end - span.start));
    return strspn(suggest_words(s, inner, "None", ""), "[]:,. ") == strlen(suggest_words(s, inner, "None", "")) &&
           suggest_edit(s, span, "", "sizes of 1 fit any");
}

/* ---- places counted by arange ------------------------------------------------------------------------ */

typedef struct Places {
    Suggester *s;
    Cuts cuts;
    VEC(const Stmt *) counted; /* NAME = ... arange(...) */
    VEC(Fix) edits;
    const Stmt *tile; /* the Allocate of what is masked */
    const char *masked;
} Places;

static bool counts_places(const void *user, const Expr *e)
{
    (void)user;
    return e->kind == EXPR_CALL && strcmp(e->name, "arange") == 0 && e->n_args > 0;
}

static const Stmt *counted_as(const Places *p, const Expr *e)
{
    for (int i = 0; e->kind == EXPR_NAME && i < p->counted.len; i++)
        if (strcmp(p->counted.data[i]->name, e->name) == 0)
            return p->counted.data[i];
    return NULL;
}

static void note_counted(void *user, const Stmt *stmt)
{
    Places *p = user;

    if ((stmt->kind != STMT_ASSIGN && stmt->kind != STMT_LET) || stmt->listed || !expr_any(stmt->value, counts_places, p))
        return;
    vec_push(p->s->arena, &p->counted, stmt);
}

/* The assigned value, its arange as a place in the tile. */
static Expr *placed(Places *p, const Expr *e, const char *place)
{
    Expr *made = e ? arena_new_of(p->s->arena, Expr) : NULL;

    if (!e)
        return NULL;
    *made = *e;
    if (counts_places(p, e)) {
        made->name = place;
        made->n_args = 1;
        made->args = arena_array(p->s->arena, Expr *, 1);
        made->args[0] = expr_name(p->s->arena, p->masked);
        return made;
    }
    made->a = placed(p, e->a, place);
    made->b = placed(p, e->b, place);
    return made;
}

/* `[:, None]` says that it is of rows; without it, how many there are. */
static const char *place_of(const Places *p, const Expr *index, const Stmt *counted)
{
    const Expr *e = counted->value;

    if (index)
        return index->n_args == 2 && index->args[0]->kind == EXPR_NAME ? "col" : "row";
    while (e && !counts_places(NULL, e))
        e = e->b && expr_any(e->b, counts_places, NULL) ? e->b : e->a;
    return e && p->tile && p->tile->n_shape == 2 && expr_equal(e->args[e->n_args - 1], p->tile->shape[1]) ? "col" : "row";
}

static Expr *with_places(Places *p, const Expr *e)
{
    const Expr *name = e && e->kind == EXPR_INDEX ? e->a : e;
    const Stmt *counted = name ? counted_as(p, name) : NULL;
    Expr *made;

    if (!e)
        return NULL;
    if (counted)
        return placed(p, counted->value, place_of(p, name == e ? NULL : e, counted));
    made = arena_new_of(p->s->arena, Expr);
    *made = *e;
    made->a = with_places(p, e->a);
    made->b = with_places(p, e->b);
    return made;
}

static bool names_places(const void *user, const Expr *e)
{
    return counted_as(user, e) != NULL;
}

static void edit_places(void *user, const Stmt *stmt)
{
    Places *p = user;
    const Expr *masked = stmt->kind == STMT_COMPUTE && stmt->n_args ? stmt->args[0] : NULL;

    for (int i = 0; i < p->counted.len; i++)
        if (p->counted.data[i] == stmt)
            vec_push(p->s->arena, &p->edits, ((Fix){suggest_line(p->s, stmt->span), "", NULL}));
    if (!masked || masked->kind != EXPR_NAME || !stmt->where || !expr_any(stmt->where, names_places, p))
        return;
    p->masked = masked->name;
    p->tile = cuts_tile(&p->cuts, p->masked, SPACE_REGISTER);
    vec_push(p->s->arena, &p->edits, ((Fix){stmt->where->span, suggest_expr(p->s, with_places(p, stmt->where)), NULL}));
}

bool propose_places(Suggester *s)
{
    Places p = {.s = s, .cuts = cuts_of(s)};

    if (!s->unit)
        return false;
    suggest_each(&s->unit->body, note_counted, &p);
    if (p.counted.len)
        suggest_each(&s->unit->body, edit_places, &p);
    return p.edits.len > p.counted.len && suggest_edits(s, p.edits.data, p.edits.len, "an element's place in its tile");
}

/* ---- shapes ---------------------------------------------------------------------------------------------- */

/* Statements that say the shape of one tile. */
typedef struct Shapes {
    Suggester *s;
    const Stmt *tile;
    const char *shape; /* instead */
    const Stmt *turns; /* whose operand is transposed as well; NULL: none */
    VEC(Fix) edits;
} Shapes;

/* The same sizes, those of 1 left out: of a vector they may not have been kept. */
static bool same_shape(const Stmt *a, const Stmt *b)
{
    int i = 0, k = 0;

    for (;;) {
        while (i < a->n_shape && expr_is_one(a->shape[i]))
            i++;
        while (k < b->n_shape && expr_is_one(b->shape[k]))
            k++;
        if (i == a->n_shape || k == b->n_shape)
            return i == a->n_shape && k == b->n_shape;
        if (!expr_equal(a->shape[i++], b->shape[k++]))
            return false;
    }
}

/* What stands between the brackets round the shape. */
static Span between_brackets(const Suggester *s, const Stmt *stmt)
{
    Span span = stmt->shape[0]->span;
    int depth = 0;

    while (span.start > stmt->span.start && s->source->text[span.start - 1] != '(')
        span.start--;
    for (span.end = span.start; span.end < stmt->span.end; span.end++) {
        depth += (s->source->text[span.end] == '(') - (s->source->text[span.end] == ')');
        if (depth < 0)
            break;
    }
    return span;
}

static void reshape_one(void *user, const Stmt *stmt)
{
    Shapes *r = user;
    const char *name = stmt->kind == STMT_COPY ? copy_tile(stmt) : stmt->name;
    bool ours = (stmt == r->tile || stmt->kind == STMT_COPY) && stmt->n_shape && name && strcmp(name, r->tile->name) == 0 && same_shape(stmt, r->tile);

    if (ours)
        vec_push(r->s->arena, &r->edits, ((Fix){between_brackets(r->s, stmt), r->shape, NULL}));
    for (int i = 0; stmt == r->turns && i < stmt->n_args; i++) {
        const Expr *e = stmt->args[i];
        bool turned = e->kind == EXPR_TRANSPOSE;
        if (expr_is_name(turned ? e->a : e, r->tile->name))
            vec_push(r->s->arena, &r->edits, ((Fix){e->span, turned ? r->tile->name : arena_printf(r->s->arena, "%s.T", r->tile->name), NULL}));
    }
}

static bool try_shape(Suggester *s, const Stmt *tile, const char *shape, const Stmt *turns, const char *label)
{
    Shapes r = {.s = s, .tile = tile, .shape = shape, .turns = turns};

    suggest_each(&s->unit->body, reshape_one, &r);
    return r.edits.len && suggest_edits(s, r.edits.data, r.edits.len, label);
}

/* Both of its Allocate and of its Copies: a column as a row, a vector as either. */
bool propose_row(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        const Expr *e = s->stmt->args[i];
        const Stmt *tile = e->kind == EXPR_NAME ? cuts_tile(&cuts, e->name, SPACE_REGISTER) : NULL;

        if (!tile || tile->n_shape < 1 || tile->n_shape > 2 || tile->listed)
            continue;
        const char *first = suggest_expr(s, tile->shape[0]), *second = tile->n_shape == 2 ? suggest_expr(s, tile->shape[1]) : "1";
        bool vector = strcmp(first, "1") == 0 || strcmp(second, "1") == 0;
        if (vector && try_shape(s, tile, arena_printf(s->arena, "%s, %s", second, first), NULL,
                                strcmp(second, "1") == 0 ? "a number for each column" : "a number for each row"))
            return true;
    }
    return false;
}

/* A tile that is allocated and copied the other way round than it lies, and read so. */
bool propose_turned_tile(Suggester *s)
{
    Cuts cuts = cuts_of(s);

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        const Expr *e = s->stmt->args[i]->kind == EXPR_TRANSPOSE ? s->stmt->args[i]->a : s->stmt->args[i];
        const Stmt *tile = e->kind == EXPR_NAME ? cuts_tile(&cuts, e->name, SPACE_SHARED) : NULL;

        if (tile && tile->n_shape == 2 && !tile->listed &&
            try_shape(s, tile, arena_printf(s->arena, "%s, %s", suggest_expr(s, tile->shape[1]), suggest_expr(s, tile->shape[0])), s->stmt,
                      "a tile as it lies in memory"))
            return true;
    }
    return false;
}

/* Whoever reads or says the shape of one tensor, whose two dimensions are exchanged in memory. */
typedef struct Across {
    Suggester *s;
    const char *name;
    VEC(Fix) edits;
    bool known; /* no statement says it in another way */
} Across;

static const char *exchanged(Suggester *s, const Stmt *stmt, int i, int k);

static void lay_across(void *user, const Stmt *stmt)
{
    Across *a = user;
    Suggester *s = a->s;
    const char *name = stmt->kind == STMT_COPY ? copy_tile(stmt) : stmt->name;
    bool says = stmt->n_shape && name && strcmp(name, a->name) == 0;

    if (says && (stmt->n_shape != 2 || stmt->listed || (stmt->kind == STMT_COPY && stmt->as)))
        a->known = false;
    else if (says)
        vec_push(s->arena, &a->edits, ((Fix){stmt->span, exchanged(s, stmt, 0, 1), NULL}));
    for (int i = 0; stmt->kind == STMT_COMPUTE && i < stmt->n_args; i++) {
        const Expr *e = stmt->args[i];
        bool turned = e->kind == EXPR_TRANSPOSE, ours = expr_is_name(turned ? e->a : e, a->name);
        a->known &= ours || !expr_mentions(e, a->name);
        if (ours)
            vec_push(s->arena, &a->edits, ((Fix){e->span, turned ? a->name : arena_printf(s->arena, "%s.T", a->name), NULL}));
    }
}

/* The second operand of the product as its transpose lies in memory, which the Input then has to be. */
bool propose_laid_across(Suggester *s)
{
    const Stmt *gemm = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 2 ? s->stmt : NULL;
    const Expr *second = gemm ? gemm->args[1] : NULL;
    Across a = {.s = s, .name = second && second->kind == EXPR_NAME ? second->name : NULL, .known = true};

    if (!a.name)
        return false;
    suggest_each(&s->unit->body, lay_across, &a);
    return a.known && suggest_edits(s, a.edits.data, a.edits.len,
                                    arena_printf(s->arena, "%s is transposed in memory: its caller lays it so", a.name));
}

/* ---- declarations of a definition --------------------------------------------------------------------------- */

static const char *exchanged(Suggester *s, const Stmt *stmt, int i, int k)
{
    Stmt *changed = suggest_like(s, stmt);

    changed->shape = arena_array(s->arena, Expr *, stmt->n_shape);
    for (int d = 0; d < stmt->n_shape; d++)
        changed->shape[d] = stmt->shape[d == i ? k : d == k ? i : d];
    return suggest_text(s, changed);
}

static bool has_dimension(const Stmt *tensor, const char *dim)
{
    for (int i = 0; i < tensor->n_shape; i++)
        if (expr_is_name(tensor->shape[i], dim))
            return true;
    return false;
}

/* A tensor declared with two of its dimensions exchanged. */
bool propose_exchanged_dims(Suggester *s)
{
    const Stmt *stmt = s->stmt && (s->stmt->kind == STMT_INPUT || s->stmt->kind == STMT_OUTPUT) && !s->stmt->listed ? s->stmt : NULL;

    for (int k = stmt ? stmt->n_shape - 1 : 0; k > 0; k--)
        for (int i = k - 1; i >= 0; i--)
            if (suggest_edit(s, stmt->span, exchanged(s, stmt, i, k), "as it is computed"))
                return true;
    return false;
}

/* The dimension of an Index lies elsewhere in the tensor at hand, since Inputs are declared in another order: all that have it. */
bool propose_exchanged_inputs(Suggester *s)
{
    const Stmt *index = NULL;
    Fix edits[8];

    for (int i = 0; s->unit && s->unit->kind == UNIT_OPERATOR && i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        size_t len = stmt->kind == STMT_INDEX ? strlen(stmt->name) : 0;
        if (len && (int)len == s->diag->span.end - s->diag->span.start && strncmp(s->source->text + s->diag->span.start, stmt->name, len) == 0)
            index = stmt;
    }
    for (int at = 0; index && index->over && at < 6; at++) {
        static const int pairs[6][2] = {{1, 2}, {0, 1}, {0, 2}, {2, 3}, {1, 3}, {0, 3}};
        int n = 0;
        for (int i = 0; i < s->unit->body.len && n < (int)TW_COUNT(edits); i++) {
            const Stmt *input = s->unit->body.data[i];
            if (input->kind == STMT_INPUT && !input->listed && pairs[at][1] < input->n_shape && has_dimension(input, index->over))
                edits[n++] = (Fix){input->span, exchanged(s, input, pairs[at][0], pairs[at][1]), NULL};
        }
        if (n && suggest_edits(s, edits, n, "in the order in which they are multiplied"))
            return true;
    }
    return false;
}

/* `Output C` without a shape: what some Input has, or two of them multiplied. */
bool propose_shape(Suggester *s)
{
    const Stmt *stmt = s->stmt && (s->stmt->kind == STMT_OUTPUT) && s->stmt->n_shape == 0 ? s->stmt : NULL;
    const Block *body = s->unit ? &s->unit->body : NULL;

    if (stmt && (suggest_edit(s, stmt->span, arena_printf(s->arena, "Output %s (1, 1)", stmt->name), "one number") ||
                 suggest_edit(s, stmt->span, arena_printf(s->arena, "Output %s (1)", stmt->name), "one number")))
        return true;
    for (int i = 0; stmt && i < body->len; i++)
        for (int k = 0; k < body->len; k++) {
            const Stmt *a = body->data[i], *b = body->data[k];
            if (a->kind != STMT_INPUT || b->kind != STMT_INPUT || a->n_shape < 1 || b->n_shape < 1)
                continue;
            for (int last = 1; last <= 2 && last <= b->n_shape; last++) {
                Stmt *changed = suggest_like(s, stmt);
                changed->shape = arena_array(s->arena, Expr *, a->n_shape);
                changed->n_shape = a->n_shape;
                changed->has_shape = true;
                for (int d = 0; d < a->n_shape; d++)
                    changed->shape[d] = a->shape[d];
                changed->shape[a->n_shape - 1] = b->shape[b->n_shape - last];
                if (suggest_stmt(s, stmt, changed, "as it is computed"))
                    return true;
            }
        }
    return false;
}

/* `declared (..), but computed (M, N = 64)`: what is computed, without what the sizes are. */
bool propose_computed_shape(Suggester *s)
{
    static const char words[] = "but computed (";
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_OUTPUT && !s->stmt->listed && s->stmt->n_shape ? s->stmt : NULL;
    const char *at = strstr(s->diag->message, words);
    Str shape = str_new(s->arena);
    int depth = 0;

    if (!stmt || !at)
        return false;
    for (at += strlen(words); *at && depth >= 0; at++) {
        if (strncmp(at, " = ", 3) == 0)
            at += 3 + strspn(at + 3, "0123456789");
        depth += (*at == '(') - (*at == ')');
        if (*at && depth >= 0)
            str_addc(&shape, *at);
    }
    return suggest_edit(s, between_brackets(s, stmt), str_text(&shape), "as it is computed");
}
