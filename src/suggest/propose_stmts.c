/* propose_stmts.c: edits of the statement that a diagnostic is about. */
#include "suggest/proposal.h"

/* ---- removal ------------------------------------------------------------------------------ */

bool propose_removal(Suggester *s)
{
    bool masks = s->diag->code == TW0234 && s->stmt && s->stmt->op_known && s->stmt->op == OP_MASK; /* which is meant, in other words */
    bool stores = s->diag->code == TW0406 && s->stmt && s->stmt->kind == STMT_COPY && s->stmt->to_space == SPACE_GLOBAL && s->unit &&
                  unit_tensor(s->unit, copy_tensor(s->stmt)); /* an output that nothing else writes */
    bool simple = !stores && s->stmt && s->stmt->kind != STMT_FOR && s->stmt->kind != STMT_IF && s->stmt->kind != STMT_DEFINE && !masks &&
                  !(s->stmt->kind == STMT_INPUT && s->diag->code == TW0442);

    bool lacks = s->diag->code == TW0442 && s->agrees && s->stage != s->agrees; /* what the definition has: it was to be used */

    return simple && !lacks && suggest_edit(s, suggest_line(s, s->stmt->span), "", "remove it");
}

/* Of what does not compute. */
bool propose_tidying(Suggester *s)
{
    return s->stmt && s->stmt->kind != STMT_COMPUTE && propose_removal(s);
}

/* Of what is no statement: `...`, an `end` too many. */
bool propose_line_removal(Suggester *s)
{
    bool words = s->diag->code == TW0102 && s->source->text[s->diag->span.start] != '.'; /* which say something */

    return !s->loose && !words && suggest_edit(s, suggest_line(s, s->diag->span), "", "remove it");
}

/* A bracket that was not closed where something else stands. */
bool propose_bracket(Suggester *s)
{
    static const struct { const char *text, *label; } missing[] = {{")", "close the bracket"}, {"]", "close the bracket"}, {",", "a comma"}};
    int at = s->diag->span.start;

    while (at > 0 && strchr(" \t", s->source->text[at - 1]))
        at--;
    for (size_t i = 0; i < TW_COUNT(missing) && !s->loose; i++)
        if (suggest_edit(s, (Span){at, at}, missing[i].text, missing[i].label))
            return true;
    return false;
}

/* ---- clauses and operands --------------------------------------------------------------------- */

static void drop_clause(Stmt *stmt, int which)
{
    switch (which) {
    case 0: stmt->n_coords = 0; break;
    case 1: stmt->over = NULL; break;
    case 2: stmt->by = NULL; break;
    case 3: stmt->step = NULL; break;
    case 4: stmt->to = NULL; break;
    case 5: stmt->n_with = 0; break;
    case 6: stmt->where = NULL; break;
    case 7: stmt->otherwise = NULL; break;
    case 8: stmt->stage = NULL; break;
    case 9: stmt->has_shape = false; stmt->n_shape = 0; break;
    case 10: stmt->offset = NULL; break;
    case 11: stmt->empty_rows = NULL; break;
    }
}

bool propose_fewer_clauses(Suggester *s)
{
    bool fits = s->stmt && (s->stmt->kind == STMT_COMPUTE || s->stmt->kind == STMT_COPY);
    const char *whole = fits ? suggest_text(s, s->stmt) : NULL;

    for (int i = 0; fits && i <= 11; i++) {
        Stmt *changed = suggest_like(s, s->stmt);

        drop_clause(changed, i);
        if (strcmp(suggest_text(s, changed), whole) != 0 &&
            suggest_stmt(s, s->stmt, changed, "without what it does not take"))
            return true;
    }
    return false;
}

/* `Multiply S by x`, `Multiply S with x`: operands stand behind each other. */
bool propose_operand_of_clause(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 1 ? s->stmt : NULL;
    Stmt *changed;
    Expr *other;

    if (!stmt)
        return false;
    other = stmt->by ? stmt->by : stmt->to ? stmt->to : stmt->n_with == 1 ? stmt->with[0] : NULL;
    if (!other)
        return false;
    changed = suggest_like(s, stmt);
    changed->args = arena_array(s->arena, Expr *, 2);
    changed->args[0] = stmt->args[0];
    changed->args[1] = other;
    changed->n_args = 2;
    changed->by = changed->to = NULL;
    changed->n_with = 0;
    return suggest_stmt(s, stmt, changed, "operands stand behind each other");
}

/* `Max S over N`, `Sum S`: of one operand, the rows' own reduction. */
bool propose_reduction(Suggester *s)
{
    static const struct { const char *name; OpId op; } ROWS[] = {
        {"Max", OP_ROW_MAX}, {"Min", OP_ROW_MIN}, {"Sum", OP_ROW_SUM}, {"Add", OP_ROW_SUM}, {"Mean", OP_ROW_MEAN}};
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 1 ? s->stmt : NULL;

    for (size_t i = 0; stmt && i < TW_COUNT(ROWS); i++) {
        Stmt *changed = suggest_like(s, stmt);

        if (!text_equal_nocase(stmt->op_name, ROWS[i].name))
            continue;
        changed->op = ROWS[i].op;
        changed->op_known = true;
        changed->op_name = op_info(ROWS[i].op)->name;
        return suggest_stmt(s, stmt, changed, "of each row");
    }
    return false;
}

static bool try_other_axis(Suggester *s, const Stmt *stmt)
{
    static const OpId pairs[][2] = {{OP_ROW_SUM, OP_COL_SUM}, {OP_ROW_MAX, OP_COL_MAX}};

    for (size_t i = 0; stmt->op_known && i < TW_COUNT(pairs); i++)
        for (int k = 0; k < 2; k++) {
            Stmt *changed = stmt->op == pairs[i][k] ? suggest_like(s, stmt) : NULL;

            if (!changed)
                continue;
            changed->op = pairs[i][!k];
            changed->op_name = op_info(changed->op)->name;
            return suggest_stmt(s, stmt, changed, k ? "of each row" : "of each column");
        }
    return false;
}

typedef struct Axes {
    Suggester *s;
    bool done;
} Axes;

static void turn_axis(void *user, const Stmt *stmt)
{
    Axes *a = user;

    a->done = a->done || (stmt->kind == STMT_COMPUTE && try_other_axis(a->s, stmt));
}

/* A reduction along the other dimension of its tile, where the result has a place for that; of what is stored, any that there is. */
bool propose_other_axis(Suggester *s)
{
    Axes axes = {.s = s};

    if (s->stmt && s->stmt->kind == STMT_COPY && s->unit)
        suggest_each(&s->unit->body, turn_axis, &axes);
    return axes.done || (s->stmt && s->stmt->kind == STMT_COMPUTE && try_other_axis(s, s->stmt));
}

typedef struct Before {
    int at;           /* offset in the source */
    const Expr *last; /* result before it; NULL: none */
} Before;

static void note_result(void *user, const Stmt *stmt)
{
    Before *before = user;

    if (stmt->kind == STMT_COMPUTE && stmt->span.start < before->at && compute_result(stmt))
        before->last = compute_result(stmt);
}

/* `Cast bf16, S`, as languages write it that convert by a type's name. */
bool propose_type_behind(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_CAST && s->stmt->n_args == 2 ? s->stmt : NULL;
    DType type;

    if (!stmt || stmt->args[0]->kind != EXPR_NAME || !dtype_parse(stmt->args[0]->name, &type))
        return false;
    Span both = {stmt->args[0]->span.start, stmt->args[1]->span.end}, tile = stmt->args[1]->span;
    return suggest_edit(s, both, arena_printf(s->arena, "%.*s, %s", tile.end - tile.start, s->source->text + tile.start, dtype_name(type)), "the type stands behind what is cast");
}

/* `Mask S, j <= i, -inf`, `Mask S with M`: the condition stands behind `where`, the value behind `else`. What is masked,
 * where it is not said, is what was computed last. */
bool propose_condition(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_MASK ? s->stmt : NULL;
    Expr *where = !stmt || stmt->where ? NULL : stmt->n_args > 1 ? stmt->args[1] : stmt->n_with == 1 ? stmt->with[0] : NULL;
    Stmt *changed;

    if (!where)
        return false;
    if (where->kind == EXPR_NAME) /* a tensor: only the text is wanted */
        where = expr_name(s->arena, arena_printf(s->arena, "%s[...]", where->name));
    changed = suggest_like(s, stmt);
    if (stmt->n_args == 0) {
        Before before = {.at = stmt->span.start};
        suggest_each(&s->unit->body, note_result, &before);
        if (!before.last)
            return false;
        changed->args = arena_array(s->arena, Expr *, 1);
        changed->args[0] = expr_copy(s->arena, before.last);
    }
    changed->where = where;
    changed->otherwise = stmt->n_args > 2 ? stmt->args[2] : stmt->otherwise;
    changed->n_args = 1;
    changed->n_with = 0;
    return suggest_stmt(s, stmt, changed, "the condition stands behind 'where'");
}

/* Of a sum that nothing has begun. */
bool propose_get(Suggester *s)
{
    Stmt *changed;

    if (!s->stmt || s->stmt->kind != STMT_COMPUTE || s->stmt->result != RESULT_ACCUMULATE)
        return false;
    changed = suggest_like(s, s->stmt);
    changed->result = RESULT_GET;
    return suggest_stmt(s, s->stmt, changed, "there is nothing to add to");
}

/* A product by a number is none of matrices. */
bool propose_multiply(Suggester *s)
{
    Stmt *changed = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_GEMM ? suggest_like(s, s->stmt) : NULL;

    if (!changed)
        return false;
    changed->op = OP_MULTIPLY;
    changed->op_name = op_info(OP_MULTIPLY)->name;
    return suggest_stmt(s, s->stmt, changed, "each element by the number");
}

/* `num_warps = 4` among sizes: a line of the Schedule. */
bool propose_scheduled(Suggester *s)
{
    const Stmt *line = s->stmt && s->stmt->kind == STMT_ASSIGN ? s->stmt : NULL, *schedule = NULL;
    const char *name = line ? line->name : "", *text;
    Fix edits[2];

    if (strncmp(name, "num_", 4) == 0)
        name += 4;
    for (int i = 0; line && i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind == STMT_SCHEDULE)
            schedule = s->unit->body.data[i];
    if (!line || line->listed || !line->value || line->value->kind != EXPR_INT)
        return false;
    text = arena_printf(s->arena, "%s = %lld", name, (long long)line->value->i);
    edits[0] = (Fix){suggest_line(s, line->span), "", NULL};
    if (schedule && schedule->body.len)
        edits[1] = (Fix){suggest_before(s, schedule->body.data[0]), arena_printf(s->arena, "%s%s\n", suggest_indent(s, schedule->body.data[0]->span.start), text), NULL};
    else
        edits[1] = (Fix){suggest_before(s, &(Stmt){.span = {s->unit->end, s->unit->end}}),
                         arena_printf(s->arena, "  Schedule %s\n    %s\n  end\n", s->chain->target->name, text), NULL};
    return suggest_edits(s, edits, 2, "a line of the Schedule");
}

/* A line of the schedule that the kernel cannot be run by. */
/* All lines that the message names: no number of the one goes with the other. */
bool propose_no_lines(Suggester *s)
{
    for (int i = 0; s->unit && i < s->unit->body.len; i++) {
        const Stmt *schedule = s->unit->body.data[i];
        Fix *edits = arena_array(s->arena, Fix, schedule->body.len + 1);
        int n = 0;

        for (int k = 0; schedule->kind == STMT_SCHEDULE && k < schedule->body.len; k++)
            if (strstr(s->diag->message, schedule->body.data[k]->name))
                edits[n++] = (Fix){suggest_line(s, schedule->body.data[k]->span), "", NULL};
        if (n > 1 && suggest_edits(s, edits, n, "let the compiler decide"))
            return true;
    }
    return false;
}

bool propose_no_line(Suggester *s)
{
    for (int i = 0; s->unit && i < s->unit->body.len; i++) {
        const Stmt *schedule = s->unit->body.data[i];
        for (int k = 0; schedule->kind == STMT_SCHEDULE && k < schedule->body.len; k++)
            if (strstr(s->diag->message, schedule->body.data[k]->name) &&
                suggest_edit(s, suggest_line(s, schedule->body.data[k]->span), "", "let the compiler decide"))
                return true;
    }
    return false;
}

/* What changes a tile in place, of which the first operand is none. */
bool propose_named_result(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && !s->stmt->dest ? s->stmt : NULL;

    for (int i = 0; stmt && i < stmt->n_args; i++)
        if (stmt->args[i]->kind == EXPR_NAME &&
            suggest_edit(s, (Span){stmt->span.end, stmt->span.end}, arena_printf(s->arena, " and get new %s", stmt->args[i]->name), "in place of the operand"))
            return true;
    return false;
}

bool propose_fewer_operands(Suggester *s)
{
    Stmt *changed;

    if (!s->stmt || s->stmt->kind != STMT_COMPUTE || s->stmt->n_args < 2)
        return false;
    changed = suggest_like(s, s->stmt);
    changed->n_args--;
    return suggest_stmt(s, s->stmt, changed, "without the last operand");
}

/* ---- transposition -------------------------------------------------------------------------------- */

static Stmt *with_operand(Suggester *s, const Stmt *stmt, int i, Expr *e)
{
    Stmt *changed = suggest_like(s, stmt);

    changed->args = arena_array(s->arena, Expr *, stmt->n_args);
    for (int k = 0; k < stmt->n_args; k++)
        changed->args[k] = k == i ? e : stmt->args[k];
    return changed;
}

bool propose_untransposed(Suggester *s)
{
    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++)
        if (s->stmt->args[i]->kind == EXPR_TRANSPOSE &&
            suggest_stmt(s, s->stmt, with_operand(s, s->stmt, i, s->stmt->args[i]->a), "take it as it is"))
            return true;
    return false;
}

/* Of a GEMM: the one, the other, both, and the operands exchanged. */
bool propose_other_transposes(Suggester *s)
{
    const Stmt *stmt = s->stmt;

    if (!stmt || stmt->kind != STMT_COMPUTE || stmt->n_args != 2 || !stmt->op_known || stmt->op != OP_GEMM)
        return false;
    for (int which = 1; which < 8; which++) {
        Stmt *changed = with_operand(s, stmt, 0, which & 2 ? expr_turned(s->arena, stmt->args[0]) : stmt->args[0]);

        if (which & 1)
            changed->args[1] = expr_turned(s->arena, stmt->args[1]);
        if (which & 4) {
            Expr *first = changed->args[0];
            changed->args[0] = changed->args[1];
            changed->args[1] = first;
        }
        if (suggest_stmt(s, stmt, changed, which & 4 ? "exchange the operands" : "so the dimensions meet"))
            return true;
    }
    return false;
}

typedef struct Turns {
    Suggester *s;
    bool done;
} Turns;

static void turn_operands(void *user, const Stmt *stmt)
{
    Turns *t = user;
    bool product = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_GEMM && stmt->n_args == 2;

    for (int i = 0; product && !t->done && i < 2; i++)
        t->done = suggest_stmt(t->s, stmt, with_operand(t->s, stmt, i, expr_turned(t->s->arena, stmt->args[i])), "so the dimensions meet");
}

/* `GEMM Q, K.T` for `GEMM K, Q.T`. */
static void exchange_operands(void *user, const Stmt *stmt)
{
    Turns *t = user;
    bool product = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_GEMM && stmt->n_args == 2;
    Stmt *changed = product && !t->done ? suggest_like(t->s, stmt) : NULL;

    if (!changed || stmt->args[1]->kind != EXPR_TRANSPOSE || stmt->listed)
        return;
    changed->args = arena_array(t->s->arena, Expr *, 2);
    changed->args[0] = expr_turned(t->s->arena, stmt->args[1]);
    changed->args[1] = expr_turned(t->s->arena, stmt->args[0]);
    t->done = suggest_stmt(t->s, stmt, changed, "exchange the operands");
}

/* Of what is stored otherwise than it lies: some product that it may be made of. */
bool propose_turned_product(Suggester *s)
{
    Turns turns = {.s = s};
    bool stored = s->unit && s->stmt && s->stmt->kind == STMT_COPY;

    if (stored)
        suggest_each(&s->unit->body, turn_operands, &turns);
    if (stored)
        suggest_each(&s->unit->body, exchange_operands, &turns);
    return turns.done;
}

/* A Reshape of another tile than the first operand of a product below it. */
bool propose_reshaped(Suggester *s)
{
    const Block *block = s->depth > 1 ? &s->path[s->depth - 2]->body : s->unit ? &s->unit->body : NULL;
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_RESHAPE ? s->stmt : NULL;

    for (int i = 0; stmt && block && i < block->len; i++) {
        const Stmt *gemm = block->data[i];
        if (gemm->span.start > stmt->span.start && gemm->kind == STMT_COMPUTE && gemm->op_known && gemm->op == OP_GEMM &&
            gemm->n_args == 2 && gemm->args[0]->kind == EXPR_NAME &&
            suggest_edit(s, stmt->name_span, gemm->args[0]->name, "what is multiplied again"))
            return true;
    }
    return false;
}

void suggest_maker(void *user, const Stmt *s)
{
    Maker *maker = user;

    if (s->kind == STMT_COMPUTE && s->op_known && s->op == OP_GEMM && s->n_args == 2 && s->span.start < maker->before
        && expr_is_name(s->dest, maker->name))
        maker->last = s;
}

static bool exchange_maker(Suggester *s, Maker *maker)
{
    suggest_each(&s->unit->body, suggest_maker, maker);
    if (!maker->last)
        return false;
    Stmt *changed = with_operand(s, maker->last, 0, expr_turned(s->arena, maker->last->args[1]));
    changed->args[1] = expr_turned(s->arena, maker->last->args[0]);
    return suggest_stmt(s, maker->last, changed, "exchange the operands");
}

/* The first operand, or what is stored, is a product whose rows and columns are exchanged: K Q' in place of Q K'. */
bool propose_exchanged_maker(Suggester *s)
{
    const Stmt *stmt = s->stmt;
    Maker maker = {.before = stmt ? stmt->span.start : 0};
    bool stores = stmt && stmt->kind == STMT_COPY && stmt->name;

    if (s->unit && stores) {
        maker.name = stmt->name;
        return exchange_maker(s, &maker);
    }
    if (!stmt || !s->unit || stmt->kind != STMT_COMPUTE || !stmt->op_known || stmt->op != OP_GEMM || stmt->n_args != 2 ||
        stmt->args[0]->kind != EXPR_NAME)
        return false;
    maker.name = stmt->args[0]->name;
    return exchange_maker(s, &maker);
}

/* ---- a statement of its own for an expression ---------------------------------------------------------- */

static const char *operation_of(const Expr *e)
{
    static const struct {
        ExprOp op;
        OpId is;
    } same[] = {{EO_ADD, OP_ADD}, {EO_SUB, OP_SUBTRACT}, {EO_MUL, OP_MULTIPLY}, {EO_DIV, OP_DIVIDE}};

    for (size_t i = 0; e->kind == EXPR_BINARY && i < TW_COUNT(same); i++)
        if (same[i].op == e->op)
            return op_info(same[i].is)->name;
    return NULL;
}

/* `Compute Exp S - M and get P`: Subtract first, in the place of the result. */
static bool try_split(Suggester *s, int i, const char *result)
{
    const Expr *e = s->stmt->args[i];
    Stmt *second = with_operand(s, s->stmt, i, expr_name(s->arena, result));
    Str text = str_new(s->arena);

    if (second->result == RESULT_GET)
        second->result = RESULT_GET_NEW;
    str_printf(&text, "Compute %s ", operation_of(e));
    lang_print_expr(&text, e->a);
    str_add(&text, ", ");
    lang_print_expr(&text, e->b);
    str_printf(&text, " and get %s\n%s%s", result, suggest_indent(s, s->stmt->span.start), suggest_text(s, second));
    return suggest_edit(s, s->stmt->span, str_text(&text), "one operation a statement");
}

bool propose_split_operand(Suggester *s)
{
    const Stmt *stmt = s->stmt;
    bool fits = stmt && stmt->kind == STMT_COMPUTE;

    for (int i = 0; fits && i < stmt->n_args; i++)
        if (operation_of(stmt->args[i]) &&
            try_split(s, i, stmt->dest && stmt->dest->kind == EXPR_NAME ? stmt->dest->name : "part"))
            return true;
    return false;
}

/* ---- integers, conditions ------------------------------------------------------------------------------- */

/* Where the sign of a real division between two offsets stands; -1: nowhere. */
static int slash_in(const Suggester *s, Span span)
{
    for (int i = span.start; i < span.end; i++)
        if (s->source->text[i] == '/')
            return i;
    return -1;
}

bool propose_whole_division(Suggester *s)
{
    int at = slash_in(s, s->diag->span);

    if (at < 0 && s->stmt)
        at = slash_in(s, s->stmt->span);
    if (at >= 0 && suggest_edit(s, (Span){at, at + 1}, "div", "round down"))
        return true;
    for (int i = 0; s->unit && i < s->unit->body.len; i++) { /* of a name that is assigned */
        const Stmt *stmt = s->unit->body.data[i];
        int len = stmt->name ? (int)strlen(stmt->name) : 0;
        bool meant = stmt->kind == STMT_ASSIGN && s->diag->span.end - s->diag->span.start == len &&
                     strncmp(s->source->text + s->diag->span.start, stmt->name, (size_t)len) == 0;
        at = meant ? slash_in(s, stmt->span) : -1;
        if (at >= 0 && suggest_edit(s, (Span){at, at + 1}, "div", "round down"))
            return true;
    }
    return false;
}

bool propose_compared(Suggester *s)
{
    return suggest_edit(s, (Span){s->diag->span.end, s->diag->span.end}, " != 0", "say what the number is compared with");
}

/* A letter that nothing declares, for the place of the element in its tile. */
bool propose_place(Suggester *s)
{
    static const char *const places[] = {"col", "row"};
    const Expr *tile = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args ? s->stmt->args[0] : NULL;

    for (size_t i = 0; tile && tile->kind == EXPR_NAME && i < TW_COUNT(places); i++)
        if (suggest_edit(s, s->diag->span, arena_printf(s->arena, "%s(%s)", places[i], tile->name),
                         arena_printf(s->arena, "its %s in the tile", i ? "row" : "column")))
            return true;
    return false;
}

/* ---- coordinates of an element ------------------------------------------------------------------------------ */

/* Of `Seg[i, j]` in the span: from the bracket to its end. */
static Span brackets_in(const Suggester *s, Span span)
{
    Span found = {-1, -1};

    for (int i = span.start; (size_t)i < s->source->len && s->source->text[i] != '\n'; i++) {
        if (s->source->text[i] == '[' && found.start < 0)
            found.start = i;
        if (s->source->text[i] == ']' && found.start >= 0)
            return (Span){found.start, i + 1};
    }
    return (Span){-1, -1};
}

/* Fewer of them, or the element's own for all that are not said. */
bool propose_coordinates_of_element(Suggester *s)
{
    Span span = brackets_in(s, s->diag->span);
    const char *inner, *comma;

    if (span.start < 0)
        return false;
    inner = arena_strndup(s->arena, s->source->text + span.start + 1, (size_t)(span.end - span.start - 2));
    comma = strrchr(inner, ',');
    if (comma && suggest_edit(s, span, arena_printf(s->arena, "[%.*s]", (int)(comma - inner), inner),
                              "one for each dimension"))
        return true;
    return suggest_edit(s, span, arena_printf(s->arena, "[..., %s]", inner), "`...` for the dimensions before") ||
           suggest_edit(s, span, "[...]", "the element's own");
}

/* ---- definitions ---------------------------------------------------------------------------------------------- */

static Expr *bare(Expr *e)
{
    while (e->kind == EXPR_SPACE || (e->kind == EXPR_INDEX && e->a))
        e = e->a;
    return e;
}

/* `X.shared`, `Y[:, 0:4]`: whole tensors are in no memory space and have no parts. */
bool propose_without_space(Suggester *s)
{
    const Stmt *stmt = s->stmt;
    Stmt *changed;

    if (!stmt || stmt->kind != STMT_COMPUTE)
        return false;
    changed = stmt->n_args ? with_operand(s, stmt, 0, bare(stmt->args[0])) : suggest_like(s, stmt);
    for (int i = 1; i < stmt->n_args; i++)
        changed->args[i] = bare(stmt->args[i]);
    changed->dest = stmt->dest ? bare(stmt->dest) : NULL;
    return strcmp(suggest_text(s, changed), suggest_text(s, stmt)) != 0 &&
           suggest_stmt(s, stmt, changed, "the whole tensor");
}

/* `Q[m]` of a tile: its row m, where the tile is meant that coordinates say. */
bool propose_whole_tiles(Suggester *s)
{
    Stmt *changed = s->stmt && s->stmt->kind == STMT_COMPUTE ? suggest_like(s, s->stmt) : NULL;
    bool any = false;

    for (int i = 0; changed && i < s->stmt->n_args; i++) {
        Expr *e = changed->args[i], *whole = e->kind == EXPR_TRANSPOSE ? e->a : e;
        if (whole->kind != EXPR_INDEX || !whole->a || whole->n_args != 1 || whole->args[0]->kind == EXPR_RANGE)
            continue;
        changed = with_operand(s, changed, i, e->kind == EXPR_TRANSPOSE ? expr_transpose(s->arena, whole->a) : whole->a);
        any = true;
    }
    return any && suggest_stmt(s, s->stmt, changed, "the tile, not a row of it");
}

/* A tile that each turn fills anew before it adds to it. */
bool propose_fill_before(Suggester *s)
{
    int len = s->diag->span.end - s->diag->span.start;
    const char *name = arena_strndup(s->arena, s->source->text + s->diag->span.start, (size_t)len);
    const Block *body = s->unit ? &s->unit->body : NULL;

    for (int i = 0; body && i < body->len; i++)
        for (int k = 0; body->data[i]->kind == STMT_FOR && k < body->data[i]->body.len; k++) {
            const Stmt *loop = body->data[i], *fill = loop->body.data[k];
            bool fills = fill->kind == STMT_COMPUTE && fill->op_known && fill->op == OP_FILL && fill->n_args && expr_is_name(fill->args[0], name);
            Fix edits[2] = {{suggest_before(s, loop), NULL, NULL}, {suggest_line(s, fill->span), "", NULL}};

            if (!fills)
                continue;
            edits[0].text = arena_printf(s->arena, "%s%s\n", suggest_indent(s, loop->span.start), suggest_text(s, fill));
            if (suggest_edits(s, edits, 2, "set it once, before the loop"))
                return true;
        }
    return false;
}

/* ---- conditions ----------------------------------------------------------------------------------------------- */

/* What stands within an `if` without it, moved to the left as far. */
static bool try_without_condition(Suggester *s, const Stmt *cond)
{
    const char *text = s->source->text;
    int end = suggest_end(s, cond), at = suggest_line(s, cond->span).end;
    int outer = (int)strlen(suggest_indent(s, cond->span.start));
    int inner = cond->body.len ? (int)strlen(suggest_indent(s, cond->body.data[0]->span.start)) : 0;
    Str out = str_new(s->arena);

    if (end < 0 || cond->orelse.len || inner < outer || at <= cond->span.end)
        return false;
    while (at < end) {
        const char *line = text + at;
        size_t len = strcspn(line, "\n"), drop = 0;
        while (drop < len && drop < (size_t)(inner - outer) && strchr(" \t", line[drop]))
            drop++;
        at += (int)len + 1;
        if (at <= end)
            str_printf(&out, "%.*s\n", (int)(len - drop), line + drop);
    }
    if (out.len)
        out.data[--out.len] = '\0';
    return suggest_edit(s, (Span){suggest_before(s, cond).start, end}, str_text(&out), "whatever the condition is");
}

typedef struct Conditions {
    Suggester *s;
    bool done;
} Conditions;

static void without_each(void *user, const Stmt *stmt)
{
    Conditions *c = user;

    if (!c->done && stmt->kind == STMT_IF)
        c->done = try_without_condition(c->s, stmt);
}

/* The conditions round the statement, then those of its loop. */
bool propose_unconditional(Suggester *s)
{
    Conditions c = {s, false};

    for (int i = s->depth - 1; i >= 0 && !c.done; i--)
        if (s->path[i]->kind == STMT_IF)
            c.done = try_without_condition(s, s->path[i]);
    for (int i = s->depth - 1; i >= 0 && !c.done; i--)
        if (s->path[i]->kind == STMT_FOR)
            suggest_each(&s->path[i]->body, without_each, &c);
    return c.done;
}

/* The same of the opposite: `a <= b` for `a > b`. */
static const char *opposite(Suggester *s, const Expr *e)
{
    static const struct { ExprOp op, is; } pairs[] = {{EO_LT, EO_GE}, {EO_LE, EO_GT}, {EO_GT, EO_LE}, {EO_GE, EO_LT}, {EO_EQ, EO_NE}, {EO_NE, EO_EQ}};
    Expr *made = arena_new_of(s->arena, Expr);
    Str text = str_new(s->arena);

    *made = *e;
    for (size_t i = 0; e->kind == EXPR_BINARY && i < TW_COUNT(pairs); i++)
        if (pairs[i].op == e->op) {
            made->op = pairs[i].is;
            lang_print_expr(&text, made);
            return str_text(&text);
        }
    str_add(&text, "not (");
    lang_print_expr(&text, e);
    str_add(&text, ")");
    return str_text(&text);
}

/* `if col(S) > row(S)` round `Compute Fill S, v`: a Mask of the opposite. */
bool propose_masked(Suggester *s)
{
    const Stmt *cond = s->stmt && s->stmt->kind == STMT_IF && s->stmt->body.len == 1 && !s->stmt->orelse.len ? s->stmt : NULL;
    const Stmt *fill = cond ? cond->body.data[0] : NULL;
    int end = cond ? suggest_end(s, cond) : -1;
    Str text = str_new(s->arena);

    if (end < 0 || fill->kind != STMT_COMPUTE || !fill->op_known || fill->op != OP_FILL || fill->n_args != 2)
        return false;
    str_add(&text, "Compute Mask ");
    lang_print_expr(&text, fill->args[0]);
    str_printf(&text, " where %s", opposite(s, cond->where));
    if (!(fill->args[1]->kind == EXPR_UNARY && fill->args[1]->a->kind == EXPR_FLOAT) && fill->args[1]->kind != EXPR_FLOAT) {
        str_add(&text, " else ");
        lang_print_expr(&text, fill->args[1]);
    }
    return suggest_edit(s, (Span){cond->span.start, end}, str_text(&text), "choose the elements");
}

/* ---- loops --------------------------------------------------------------------------------------------------------- */

/* To before the loop that holds it. */
bool propose_before_the_loop(Suggester *s)
{
    const Stmt *loop = s->stmt && s->stmt->kind == STMT_FOR ? s->stmt : NULL;

    for (int i = 0; loop && i < loop->body.len; i++) {
        const Stmt *stmt = loop->body.data[i];
        Fix edits[2] = {{suggest_before(s, loop), NULL, NULL}, {suggest_line(s, stmt->span), "", NULL}};

        edits[0].text = arena_printf(s->arena, "%s%s\n", suggest_indent(s, loop->span.start), suggest_text(s, stmt));
        if (stmt->kind == STMT_RESHAPE && suggest_edits(s, edits, 2, "once, before the loop"))
            return true;
    }
    return false;
}

/* The loop over a dimension of a tensor that a Copy in front of it brings; NULL: there is none. */
static const Stmt *loop_behind(const Block *block, const Stmt *copy, const Stmt *tensor)
{
    bool behind = false;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i], *within = loop_behind(&s->body, copy, tensor);

        for (int d = 0; behind && s->kind == STMT_FOR && s->over && d < tensor->n_shape; d++)
            if (expr_is_name(tensor->shape[d], s->over))
                return s;
        behind |= s == copy;
        if (within)
            return within;
    }
    return NULL;
}

/* Into the loop over its dimension, behind what is copied there. */
bool propose_in_each_turn(Suggester *s)
{
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && !s->stmt->listed ? s->stmt : NULL, *tensor = copy && s->unit ? unit_tensor(s->unit, copy_tensor(copy)) : NULL;
    const Stmt *loop = tensor ? loop_behind(&s->unit->body, copy, tensor) : NULL, *first = loop && loop->body.len ? loop->body.data[0] : NULL;
    Fix edits[2];

    if (!first)
        return false;
    edits[0] = (Fix){suggest_line(s, copy->span), "", NULL};
    edits[1] = (Fix){suggest_before(s, first), arena_printf(s->arena, "%s%s\n", suggest_indent(s, first->span.start), suggest_text(s, copy)), NULL};
    return suggest_edits(s, edits, 2, "a tile in each turn");
}

typedef struct Earlier {
    const Stmt *than, *found;
} Earlier;

static void find_store(void *user, const Stmt *stmt)
{
    Earlier *e = user;

    if (stmt->kind == STMT_COPY && stmt->to_space == SPACE_GLOBAL && !stmt->listed && stmt->span.start < e->than->span.start &&
        strcmp(copy_dest(stmt), copy_dest(e->than)) == 0)
        e->found = stmt;
}

/* Of two stores the last one stays: the one before it came too early. */
bool propose_last_store(Suggester *s)
{
    Earlier e = {s->stmt, NULL};

    if (!s->unit || !s->stmt || s->stmt->kind != STMT_COPY || s->stmt->to_space != SPACE_GLOBAL)
        return false;
    suggest_each(&s->unit->body, find_store, &e);
    return e.found && suggest_edit(s, suggest_line(s, e.found->span), "", "store it once, at the end");
}

/* The next tile instead of one that another Copy has written, or an Output that none has. */
bool propose_other_place(Suggester *s)
{
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && !s->stmt->listed ? s->stmt : NULL;
    bool strict = s->strict, found = false;

    s->strict = s->agrees && s->stage == s->agrees;
    for (int i = 0; copy && !found && i < copy->n_coords; i++)
        if (copy->coords[i].value && copy->coords[i].value->kind == EXPR_INT)
            found = suggest_edit(s, copy->coords[i].value->span, arena_printf(s->arena, "%lld", (long long)copy->coords[i].value->i + 1), "the next tile");
    for (int i = 0; copy && s->unit && !found && i < s->unit->body.len; i++) {
        const Stmt *output = s->unit->body.data[i];
        if (output->kind == STMT_OUTPUT && copy->as && strcmp(output->name, copy->as) != 0)
            found = suggest_edit(s, copy->as_span, output->name, "the other output");
    }
    s->strict = strict;
    return found;
}

/* `for j over L by NS` of a grid without NS: blocks along that as well. */
bool propose_cut_in_grid(Suggester *s)
{
    const Stmt *grid = s->unit ? block_find(&s->unit->body, STMT_GRID, NULL) : NULL;
    bool cuts = s->stmt && s->stmt->kind == STMT_FOR && s->stmt->by && s->stmt->by->kind == EXPR_NAME;

    for (int i = 0; cuts && grid && i < grid->n_coords; i++)
        if (grid->coords[i].name && !grid->coords[i].value &&
            suggest_edit(s, (Span){grid->coords[i].span.end, grid->coords[i].span.end}, arena_printf(s->arena, ", %s", s->stmt->by->name), "a block for each part"))
            return true;
    return false;
}

enum { MOST_MOVED = 4 };

/* Moves the statement behind a loop round it; what the loop copies for it alone goes with it. */
static bool move_behind(Suggester *s, const Stmt *loop, bool with_copies)
{
    const char *indent = suggest_indent(s, loop->span.start);
    Fix edits[MOST_MOVED + 2];
    Str behind = str_new(s->arena);
    int end = suggest_end(s, loop), n = 0;

    for (int i = 0; with_copies && i < loop->body.len && n < MOST_MOVED; i++) {
        const Stmt *copy = loop->body.data[i];
        bool ours = false;

        for (int k = 0; copy->kind == STMT_COPY && !copy->listed && copy->span.end <= s->stmt->span.start && k < s->stmt->n_args; k++)
            ours |= expr_mentions(s->stmt->args[k], copy_dest(copy));
        if (!ours)
            continue;
        edits[n++] = (Fix){suggest_line(s, copy->span), "", NULL};
        str_printf(&behind, "\n%s%s", indent, suggest_text(s, copy));
    }
    if (end < 0 || (with_copies && n == 0))
        return false;
    str_printf(&behind, "\n%s%s", indent, suggest_text(s, s->stmt));
    edits[n++] = (Fix){suggest_line(s, s->stmt->span), "", NULL};
    edits[n++] = (Fix){{end, end}, str_text(&behind), NULL};
    return suggest_edits(s, edits, n, "do it behind the loop");
}

/* The last statements of the loop, from the first that computes what is copied otherwise than by adding to it. */
static bool move_end_behind(Suggester *s, const Stmt *loop)
{
    const char *indent = suggest_indent(s, loop->span.start);
    int last = loop->body.len - 1, first = last, end = suggest_end(s, loop);
    Str behind = str_new(s->arena);
    Fix edits[MOST_MOVED + 1];

    if (end < 0 || s->stmt->kind != STMT_COPY || last < 0 || loop->body.data[last] != s->stmt)
        return false;
    while (first > 0 && last - first < MOST_MOVED - 1 && loop->body.data[first - 1]->kind == STMT_COMPUTE &&
           loop->body.data[first - 1]->result != RESULT_ACCUMULATE && expr_is_name(compute_result(loop->body.data[first - 1]), s->stmt->name))
        first--;
    if (first == last)
        return false;
    for (int i = first; i <= last; i++) {
        edits[i - first] = (Fix){suggest_line(s, loop->body.data[i]->span), "", NULL};
        str_printf(&behind, "\n%s%s", indent, suggest_text(s, loop->body.data[i]));
    }
    edits[last - first + 1] = (Fix){{end, end}, str_text(&behind), NULL};
    return suggest_edits(s, edits, last - first + 2, "do it behind the loop");
}

bool propose_behind_the_loop(Suggester *s)
{
    for (int i = s->depth - 2; s->stmt && i >= 0; i--)
        if (s->path[i]->kind == STMT_FOR && (move_behind(s, s->path[i], true) || move_behind(s, s->path[i], false) || move_end_behind(s, s->path[i])))
            return true;
    return false;
}

/* What the loop sums up: the tile that is divided behind it, in place of what is summed. */
typedef struct Sums {
    Arena *arena;
    VEC(const char *) list;
} Sums;

static void note_sum(void *user, const Stmt *stmt)
{
    Sums *sums = user;

    if (stmt->kind == STMT_COMPUTE && stmt->result == RESULT_ACCUMULATE && stmt->dest->kind == EXPR_NAME)
        vec_push(sums->arena, &sums->list, stmt->dest->name);
}

bool propose_divided_behind(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_DIVIDE && s->stmt->n_args == 2 ? s->stmt : NULL;

    for (int i = s->depth - 2; stmt && i >= 0; i--) {
        const Stmt *loop = s->path[i];
        int end = loop->kind == STMT_FOR ? suggest_end(s, loop) : -1;
        Sums sums = {.arena = s->arena};

        if (end < 0)
            continue;
        suggest_each(&loop->body, note_sum, &sums);
        for (int k = sums.list.len - 1; k >= 0; k--) {
            Stmt *moved = suggest_like(s, stmt);
            moved->args = arena_array(s->arena, Expr *, 2);
            moved->args[0] = expr_name(s->arena, sums.list.data[k]);
            moved->args[1] = stmt->args[1];
            moved->dest = moved->args[0];
            moved->result = RESULT_GET_NEW;
            Fix edits[2] = {{suggest_line(s, stmt->span), "", NULL},
                            {{end, end}, arena_printf(s->arena, "\n%s%s", suggest_indent(s, loop->span.start), suggest_text(s, moved)), NULL}};
            if (suggest_edits(s, edits, 2, "divide the sum behind the loop"))
                return true;
        }
    }
    return false;
}

typedef struct Divided {
    const char *sum;
    int from; /* offset in the source */
    bool found;
} Divided;

static void find_divided(void *user, const Stmt *stmt)
{
    Divided *d = user;

    d->found |= stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_DIVIDE && stmt->span.start >= d->from && stmt->n_args == 2 && expr_is_name(stmt->args[0], d->sum);
}

/* The mean of what a loop brings piece by piece: the sum, divided behind it by the length, unless it is. */
bool propose_summed_mean(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_ROW_MEAN && s->stmt->dest ? s->stmt : NULL;
    const Stmt *loop = NULL;
    int end;

    for (int i = s->depth - 1; stmt && i >= 0 && !loop; i--)
        loop = s->path[i]->kind == STMT_FOR ? s->path[i] : NULL;
    end = loop && loop->over ? suggest_end(s, loop) : -1;
    if (end < 0 || stmt->dest->kind != EXPR_NAME)
        return false;
    for (int i = 0; i < loop->body.len; i++) { /* read where only a part of it is known */
        const Stmt *other = loop->body.data[i];
        for (int k = 0; other != stmt && k < other->n_args; k++)
            if (expr_mentions(other->args[k], stmt->dest->name))
                return false;
    }
    Stmt *sum = suggest_like(s, stmt);
    sum->op = OP_ROW_SUM;
    sum->op_name = op_info(OP_ROW_SUM)->name;
    sum->result = RESULT_ACCUMULATE;
    const char *name = stmt->dest->name;
    Divided divided = {.sum = name, .from = end};
    suggest_each(&s->unit->body, find_divided, &divided);
    if (divided.found)
        return suggest_edit(s, stmt->span, suggest_text(s, sum), "sum it up: it is divided behind the loop");
    Fix edits[2] = {{stmt->span, suggest_text(s, sum), NULL},
                    {{end, end}, arena_printf(s->arena, "\n%sCompute Divide %s, %s and get new %s", suggest_indent(s, loop->span.start), name, loop->over, name), NULL}};
    return suggest_edits(s, edits, 2, "sum it up, and divide behind the loop");
}
