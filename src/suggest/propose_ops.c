/* propose_ops.c: operations that there are elsewhere, as those that they are made of.
 *
 *   Compute Clamp C, 0, 6 and get new C        Compute Max C, 0 and get new C
 *                                              Compute Min C, 6 and get new C
 *   Compute Repeat K, 4 and get Kr             nothing: heads share, and Kr is K
 *   Compute Transpose K and get KT             nothing: KT is K.T
 *
 * What a step gives that is not the result has a name of its own, and in code a tile of its own.
 */
#include "suggest/cuts.h"
#include "suggest/forms.h"

/* ---- what they are made of --------------------------------------------------------------------- */

static const struct {
    const char *names; /* words, with spaces between them */
    int n_args;
    const char *steps;
} COMPOUNDS[] = {
#define COMPOUND(names, n_args, steps) {names, n_args, steps},
#include "suggest/compounds.def"
#undef COMPOUND
};

typedef struct Writer {
    Suggester *s;
    const Stmt *stmt;
    const char *result;
    const Stmt *like; /* the Allocate of the operand; NULL: tiles are not allocated here */
    Cuts cuts;
    VEC(const char *) given; /* names that have a value */
    Str text, tiles;
} Writer;

static const char *word_of(Suggester *s, const char *text)
{
    return arena_strndup(s->arena, text, strspn(text, "abcdefghijklmnopqrstuvwxyz_"));
}

static const char *operand_text(Writer *w, int i)
{
    return i < w->stmt->n_args ? suggest_expr(w->s, w->stmt->args[i]) : "";
}

/* A tile, or a column, of its own. */
static void allocate(Writer *w, const char *name, bool column)
{
    const char *rows;

    if (!w->like || w->like->n_shape != 2 || cuts_tile(&w->cuts, name, SPACE_REGISTER))
        return;
    rows = suggest_expr(w->s, w->like->shape[0]);
    str_printf(&w->tiles, "%sAllocate %s in register (%s, %s) fp32\n", suggest_indent(w->s, w->s->path[0]->span.start), name, rows,
               column ? "1" : suggest_expr(w->s, w->like->shape[1]));
}

/* A step's name, where it has one of its own; the text behind it. */
static const char *put(Writer *w, const char *at)
{
    static const char letters[] = "XAB";
    const char *letter = *at == '$' ? strchr(letters, at[1]) : NULL;

    if (letter) {
        str_add(&w->text, operand_text(w, (int)(letter - letters)));
        return at + 2;
    }
    if (*at == '$') {
        str_add(&w->text, w->result);
        return at + 2;
    }
    if (*at == '@' || *at == '%')
        return at + 1;
    str_addc(&w->text, *at);
    return at + 1;
}

static void put_result(Writer *w, const char *at, bool reduces)
{
    const char *name = *at == '$' ? w->result : word_of(w->s, at + 1);
    bool again = text_among(w->given.data, w->given.len, name);

    str_printf(&w->text, " and get %s%s", again ? "new " : "", name);
    if (again)
        return;
    vec_push(w->s->arena, &w->given, name);
    allocate(w, name, *at == '%' || reduces);
}

/* Along which dimension the statement is, so that its reductions are. */
static void put_over(Writer *w)
{
    if (w->stmt->over)
        str_printf(&w->text, " over %s", w->stmt->over);
    if (w->stmt->over && w->stmt->to)
        str_printf(&w->text, " to %s", suggest_expr(w->s, w->stmt->to));
}

static void put_steps(Writer *w, const char *steps)
{
    for (bool first = true; *steps; first = false) {
        const char *arrow = strstr(steps, " -> ");
        bool reduces = strncmp(steps, "Row", 3) == 0, along = reduces || strncmp(steps, "Group", 5) == 0 || strncmp(steps, "Softmax", 7) == 0;

        str_printf(&w->text, "%sCompute ", first ? "" : arena_printf(w->s->arena, "\n%s", suggest_indent(w->s, w->stmt->span.start)));
        while (steps < arrow)
            steps = put(w, steps);
        if (along)
            put_over(w);
        put_result(w, arrow + 4, reduces);
        steps = arrow + 4 + strcspn(arrow + 4, "\n");
        steps += *steps == '\n';
    }
}

/* The statement at hand, or what a call in the manner of other languages says. */
static const Stmt *statement_of(Suggester *s)
{
    const char *text = form_plain(s, form_line(s));
    Source *source = arena_new_of(s->arena, Source);
    const Program *program;
    Diags *diags;
    Holes holes;
    Stmt *stmt;

    if (s->stmt && s->stmt->kind == STMT_COMPUTE)
        return s->stmt;
    if (strlen(text) > FORM_LONGEST || !form_match("$c = $f($A)", text, &holes))
        return NULL;
    const char *line = form_filled(s, "Compute $f $A and get new $c", text, &holes);
    *source = (Source){"call", line, strlen(line)};
    diags = diags_new(s->arena, source);
    program = lang_parse(s->arena, s->chain->syms, source, diags);
    if (diags->errors || program->units.len != 1 || program->units.data[0]->body.len != 1)
        return NULL;
    stmt = suggest_like(s, program->units.data[0]->body.data[0]);
    stmt->span = form_line(s);
    return stmt->kind == STMT_COMPUTE ? stmt : NULL;
}

static bool is_called(const Stmt *stmt, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (op_same_letters(stmt->op_name, names[i]))
            return true;
    return false;
}

static bool try_compound(Suggester *s, const Stmt *stmt, const char *steps)
{
    const Expr *to = stmt->dest ? stmt->dest : stmt->args[0];
    Writer w = {.s = s, .stmt = stmt, .cuts = cuts_of(s), .text = str_new(s->arena), .tiles = str_new(s->arena)};
    Fix edits[2];

    if (to->kind != EXPR_NAME || stmt->result == RESULT_ACCUMULATE)
        return false;
    w.result = to->name;
    if (w.cuts.allocated.len && stmt->args[0]->kind == EXPR_NAME) {
        w.like = cuts_tile(&w.cuts, stmt->args[0]->name, SPACE_REGISTER);
        w.like = w.like ? w.like : cuts_tile(&w.cuts, stmt->args[0]->name, SPACE_SHARED);
    }
    if (stmt->result != RESULT_GET || expr_is_name(stmt->args[0], w.result))
        vec_push(s->arena, &w.given, w.result);
    put_steps(&w, steps);
    edits[0] = (Fix){stmt->span, str_text(&w.text), NULL};
    if (w.tiles.len == 0 || !s->depth)
        return suggest_edit(s, stmt->span, str_text(&w.text), "what it is made of");
    edits[1] = edits[0];
    edits[0] = (Fix){suggest_before(s, s->path[0]), str_text(&w.tiles), NULL};
    return suggest_edits(s, edits, 2, "what it is made of");
}

static bool try_compounds(Suggester *s, const Stmt *stmt)
{
    for (size_t i = 0; i < TW_COUNT(COMPOUNDS); i++)
        if (COMPOUNDS[i].n_args == stmt->n_args && suggest_among(stmt->op_name, COMPOUNDS[i].names) && try_compound(s, stmt, COMPOUNDS[i].steps))
            return true;
    return false;
}

bool propose_compound(Suggester *s)
{
    const Stmt *stmt = s->unit ? statement_of(s) : NULL;

    return stmt && stmt->n_args && try_compounds(s, stmt);
}

/* ---- where the largest is --------------------------------------------------------------------------- */

/* Places are whole numbers, of which bf16 has those up to 256. */
static Fix as_fp32(Suggester *s, const Stmt *tensor)
{
    Stmt *changed = suggest_like(s, tensor);

    changed->has_dtype = true;
    changed->dtype = DT_F32;
    return (Fix){tensor->span, suggest_text(s, changed), NULL};
}

static const char *dims_text(Suggester *s, const Stmt *tensor, int n)
{
    Str text = str_new(s->arena);

    for (int i = 0; i < n; i++)
        str_printf(&text, "%s%s", i ? ", " : "", suggest_expr(s, tensor->shape[i]));
    return str_text(&text);
}

/* The first column that has what the row's maximum is, or its minimum; flat: without the dimension of size 1. */
static bool try_place(Suggester *s, const Stmt *stmt, const Stmt *operand, const Stmt *output, bool max, bool flat)
{
    const char *x = operand->name, *y = stmt->dest->name, *in = suggest_indent(s, stmt->span.start);
    const char *n = suggest_expr(s, operand->shape[operand->n_shape - 1]);
    Str text = str_new(s->arena);

    str_printf(&text, "Compute %s %s and get %s_value\n", max ? "RowMax" : "RowMin", x, y);
    str_printf(&text, "%sCompute Equal %s, %s_value and get %s_equal\n", in, x, y, y);
    str_printf(&text, "%sCompute Define %s_at (%s) as col\n", in, y, dims_text(s, operand, operand->n_shape));
    str_printf(&text, "%sCompute Where %s_equal, %s_at, %s and get %s_places\n", in, y, y, n, y);
    str_printf(&text, "%sCompute RowMin %s_places and get %s%s", in, y, y, flat ? "_first" : "");
    if (flat)
        str_printf(&text, "\n%sCompute Reshape %s_first and get %s (%s)", in, y, y, dims_text(s, operand, operand->n_shape - 1));
    if (!output || output->has_dtype || output->listed)
        return suggest_edit(s, stmt->span, str_text(&text), "the first place of it");
    const Fix edits[] = {as_fp32(s, output), (Fix){stmt->span, str_text(&text), NULL}};
    return suggest_edits(s, edits, 2, "the first place of it, exact in fp32");
}

/* `Compute ArgMax X and get I`. */
bool propose_place_of_largest(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && !s->stmt->op_known && s->stmt->n_args == 1 ? s->stmt : NULL;
    static const char *const largest[] = {"ArgMax", "RowArgMax"}, *const smallest[] = {"ArgMin", "RowArgMin"};
    bool max = stmt && is_called(stmt, largest, TW_COUNT(largest)), min = stmt && is_called(stmt, smallest, TW_COUNT(smallest));
    Cuts cuts = cuts_of(s);
    const Stmt *operand = (max || min) && stmt->args[0]->kind == EXPR_NAME ? cuts_tensor(&cuts, stmt->args[0]->name) : NULL;

    if (!operand || operand->n_shape < 2 || stmt->result != RESULT_GET || !stmt->dest || stmt->dest->kind != EXPR_NAME)
        return false;
    const Stmt *output = cuts_tensor(&cuts, stmt->dest->name);
    return try_place(s, stmt, operand, output, max, false) || try_place(s, stmt, operand, output, max, true);
}

/* What the statement is called behind "Col" or "Column"; NULL: it begins otherwise. */
static const char *of_columns(const Stmt *stmt)
{
    static const char *const words[] = {"Column", "Col"};

    for (size_t i = 0; i < TW_COUNT(words); i++)
        if (strncmp(stmt->op_name, words[i], strlen(words[i])) == 0)
            return stmt->op_name + strlen(words[i]) + (stmt->op_name[strlen(words[i])] == '_');
    return NULL;
}

/* `Compute ColMean X and get m`, which is a mean over another dimension than the last; so with others, and what is made of them. */
bool propose_over_rows(Suggester *s)
{
    bool defined = s->stmt && s->unit && s->unit->kind == UNIT_OPERATOR && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 1;
    const char *word = defined && !s->stmt->over && s->stmt->args[0]->kind == EXPR_NAME ? of_columns(s->stmt) : NULL;
    Cuts cuts = cuts_of(s);
    const Stmt *shape = word ? cuts_shaped_as(&cuts, s->stmt->args[0]->name, 0) : NULL;
    Stmt *changed = shape && shape->n_shape >= 2 && shape->shape[shape->n_shape - 2]->kind == EXPR_NAME ? suggest_like(s, s->stmt) : NULL;

    if (!changed)
        return false;
    const char *row = arena_printf(s->arena, "Row%s", word);
    changed->over = shape->shape[shape->n_shape - 2]->name;
    changed->op_name = op_find(row, &changed->op) ? row : word;
    changed->op_known = op_find(changed->op_name, &changed->op);
    if (changed->op_known && op_info(changed->op)->class != OPC_ROW_REDUCE && changed->op != OP_SOFTMAX)
        return false;
    changed->op_name = changed->op_known ? op_info(changed->op)->name : row;
    return changed->op_known ? suggest_stmt(s, s->stmt, changed, "over the rows") : try_compounds(s, changed);
}

/* What is another word for an operation that there is. */
bool propose_same_operation(Suggester *s)
{
    static const struct { const char *name; OpId op; } same[] = {{"Einsum", OP_GEMM}, {"Dot", OP_GEMM}, {"MatVec", OP_GEMM}, {"BMM", OP_GEMM}, {"Contract", OP_GEMM},
                                                                 {"Hadamard", OP_MULTIPLY}, {"HadamardProduct", OP_MULTIPLY}, {"ElementwiseMultiply", OP_MULTIPLY}, {"Times", OP_MULTIPLY}, {"Plus", OP_ADD}, {"Minus", OP_SUBTRACT}, {"Average", OP_ROW_MEAN}, {"Total", OP_ROW_SUM}, {"AMax", OP_ROW_MAX}, {"AMin", OP_ROW_MIN}};
    Stmt *changed = s->stmt && s->stmt->kind == STMT_COMPUTE && !s->stmt->op_known ? suggest_like(s, s->stmt) : NULL;

    for (size_t i = 0; changed && i < TW_COUNT(same); i++)
        if (op_same_letters(s->stmt->op_name, same[i].name)) {
            changed->op = same[i].op;
            changed->op_known = true;
            changed->op_name = op_info(same[i].op)->name;
            return suggest_stmt(s, s->stmt, changed, "which is called so here");
        }
    return false;
}

/* ---- what nothing need be done for ------------------------------------------------------------------- */

static const struct {
    const char *name, *label;
    bool turned; /* what it gives is its operand, transposed */
} NOTHING[] = {
#define SHARED "sizes of 1 and heads are shared as they are"
    {"Repeat", SHARED, false},    {"RepeatInterleave", SHARED, false}, {"RepeatKV", SHARED, false}, {"Expand", SHARED, false},
    {"Broadcast", SHARED, false}, {"BroadcastTo", SHARED, false},      {"Unsqueeze", SHARED, false},
#undef SHARED
    {"Contiguous", "a tensor is what it is in any order", false},
    {"Detach", "there are no gradients here", false},
    {"Dropout", "nothing is dropped but in training", false},
    {"Identity", "it is its operand", false},
    {"Assign", "it is its operand", false},
    {"Transpose", "a product takes it transposed", true},
    {"Permute", "a product takes it transposed", true},
    {"SwapAxes", "a product takes it transposed", true},
};

/* Which of these a statement is; -1: none. */
static int nothing_in(const Stmt *stmt)
{
    bool fits = stmt && stmt->kind == STMT_COMPUTE && !stmt->op_known && stmt->n_args && stmt->result != RESULT_ACCUMULATE;

    for (size_t i = 0; fits && i < TW_COUNT(NOTHING); i++)
        if (op_same_letters(stmt->op_name, NOTHING[i].name))
            return (int)i;
    return -1;
}

/* A name's text from an offset on as another one, what is transposed twice as it is. */
static Str renamed(Suggester *s, const Str *text, int from, const char *name, const char *to)
{
    Str out = str_new(s->arena);

    str_addn(&out, text->data, (size_t)from);
    for (const char *at = suggest_words(s, text->data + from, name, to), *next; *at; at = next) {
        const char *twice = strstr(at, ".T.T");
        next = twice ? twice + 4 : at + strlen(at);
        str_addn(&out, at, (size_t)((twice ? twice : next) - at));
    }
    return out;
}

/* A part of the source as it becomes. */
typedef struct Rest {
    Suggester *s;
    Str text;
    Span span; /* of the source, as far as the text differs */
} Rest;

/* Without one of these statements: what it would have given is its operand. False: it stands there otherwise by now. */
static bool take_away(Rest *rest, const Stmt *stmt, bool turned)
{
    Suggester *s = rest->s;
    Span line = suggest_line(s, stmt->span);
    const char *operand = suggest_expr(s, stmt->args[0]), *result = stmt->dest ? suggest_expr(s, stmt->dest) : operand;
    const char *to = turned ? arena_printf(s->arena, "%s.T", operand) : operand;
    const char *gone = arena_strndup(s->arena, s->source->text + line.start, (size_t)(line.end - line.start));
    char *at = strstr(str_text(&rest->text), gone);

    if (!at)
        return false;
    memmove(at, at + strlen(gone), strlen(at + strlen(gone)) + 1);
    rest->text.len -= (int)strlen(gone);
    if (strcmp(result, to) != 0)
        rest->text = renamed(s, &rest->text, (int)(at - rest->text.data), result, to);
    return true;
}

/* The last lines that are as they were are left alone. */
static void leave_the_same(Rest *rest)
{
    const char *source = rest->s->source->text;

    while (rest->text.len && rest->span.end > rest->span.start && rest->text.data[rest->text.len - 1] == source[rest->span.end - 1]) {
        rest->text.data[--rest->text.len] = '\0';
        rest->span.end--;
    }
    for (; rest->span.end < rest->s->unit->end && source[rest->span.end] != '\n'; rest->span.end++)
        str_addc(&rest->text, source[rest->span.end]);
}

/* Without all such statements. */
bool propose_nothing(Suggester *s)
{
    int which = s->unit ? nothing_in(s->stmt) : -1;
    Rest rest = {.s = s, .text = str_new(s->arena)};

    if (which < 0)
        return false;
    rest.span = (Span){s->unit->end, s->unit->end};
    for (int i = s->unit->body.len - 1; i >= 0; i--)
        if (nothing_in(s->unit->body.data[i]) >= 0)
            rest.span.start = suggest_line(s, s->unit->body.data[i]->span).start;
    str_addn(&rest.text, s->source->text + rest.span.start, (size_t)(rest.span.end - rest.span.start));
    for (int i = 0; i < s->unit->body.len; i++) {
        int kind = nothing_in(s->unit->body.data[i]);
        if (kind >= 0 && !take_away(&rest, s->unit->body.data[i], NOTHING[kind].turned))
            return false;
    }
    leave_the_same(&rest);
    return rest.span.start < s->unit->end && suggest_edit(s, rest.span, str_text(&rest.text), NOTHING[which].label);
}

/* ---- elements by their places ---------------------------------------------------------------------------- */

static const Stmt *input_of(const Cuts *cuts, const Expr *e)
{
    const Stmt *tensor = e->kind == EXPR_NAME ? cuts_tensor(cuts, e->name) : NULL;

    return tensor && tensor->n_shape == 2 ? tensor : NULL;
}

/* `Transpose X and get Y`: of the tile that Y is, or of the shape that X has not. */
bool propose_transposed(Suggester *s)
{
    static const char *const names[] = {"Transpose", "Transposed", "Permute"};
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 1 && s->stmt->dest ? s->stmt : NULL;
    Cuts cuts = cuts_of(s);

    if (!stmt || !is_called(stmt, names, TW_COUNT(names)) || stmt->args[0]->kind != EXPR_NAME || stmt->dest->kind != EXPR_NAME)
        return false;
    const Stmt *tile = cuts_tile(&cuts, stmt->dest->name, SPACE_REGISTER), *input = s->unit->kind == UNIT_OPERATOR ? input_of(&cuts, stmt->args[0]) : NULL;
    const Stmt *like = tile && tile->n_shape == 2 ? tile : input;
    if (!like)
        return false;
    const char *first = suggest_expr(s, like->shape[like == input]), *second = suggest_expr(s, like->shape[like != input]);
    return suggest_edit(s, stmt->span, arena_printf(s->arena, "Compute Define %s (%s, %s) as %s[col, row]", stmt->dest->name, first, second, stmt->args[0]->name), "each element from its place");
}

/* `CumSum X`: a product with the matrix that has a 1 where a row is summed up. */
bool propose_running_sum(Suggester *s)
{
    static const char *const names[] = {"CumSum", "PrefixSum", "Scan"};
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args && s->stmt->result == RESULT_GET ? s->stmt : NULL;
    Cuts cuts = cuts_of(s);
    const Stmt *x = stmt ? input_of(&cuts, stmt->args[0]) : NULL;
    bool named = stmt && is_called(stmt, names, TW_COUNT(names));

    if (!named || !x)
        return false;
    const char *n = suggest_expr(s, x->shape[1]), *indent = suggest_indent(s, stmt->span.start);
    const char *there = s->unit->kind == UNIT_KERNEL ? arena_printf(s->arena, "\n%sCopy upto from register to shared", indent) : "";
    return suggest_edit(s, stmt->span,
                        arena_printf(s->arena, "Compute Define upto (%s, %s) as row <= col%s\n%sCompute GEMM %s, upto and get %s", n, n, there, indent, x->name,
                                     suggest_expr(s, stmt->dest)), "a product with a matrix of ones");
}

/* `RotateHalf X`: the second half, with its sign turned, before the first. */
bool propose_halves(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 1 && s->stmt->dest && s->stmt->args[0]->kind == EXPR_NAME ? s->stmt : NULL;
    Cuts cuts = cuts_of(s);
    const Stmt *x = stmt && op_same_letters(stmt->op_name, "RotateHalf") ? cuts_tensor(&cuts, stmt->args[0]->name) : NULL;
    Str shape = str_new(s->arena);

    if (!x || x->n_shape < 1)
        return false;
    for (int i = 0; i < x->n_shape; i++)
        str_printf(&shape, "%s%s", i ? ", " : "", suggest_expr(s, x->shape[i]));
    const char *d = suggest_expr(s, x->shape[x->n_shape - 1]);
    return suggest_edit(s, stmt->span,
                        arena_printf(s->arena, "Compute Define %s (%s) as where(col < %s div 2, -%s[..., col + %s div 2], %s[..., col - %s div 2])", suggest_expr(s, stmt->dest),
                                     str_text(&shape), d, x->name, d, x->name, d), "its halves exchanged");
}

/* `Gather X, at`: of each row the element that an index names, or the row that it names. */
bool propose_gathered(Suggester *s)
{
    static const char *const names[] = {"Gather", "Embedding", "Lookup", "IndexSelect", "Take"};
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args == 2 && s->stmt->dest && s->stmt->args[1]->kind == EXPR_NAME ? s->stmt : NULL;
    Cuts cuts = cuts_of(s);
    bool named = stmt && is_called(stmt, names, TW_COUNT(names));

    for (int swap = 0; named && swap < 2; swap++) {
        const Stmt *at = cuts_tensor(&cuts, suggest_expr(s, stmt->args[!swap])), *x = cuts_tensor(&cuts, suggest_expr(s, stmt->args[swap]));
        const char *from = suggest_expr(s, stmt->args[swap]), *to = suggest_expr(s, stmt->dest);
        if (!at || at->n_shape != 1)
            continue;
        const char *rows = suggest_expr(s, at->shape[0]);
        if (x && x->n_shape == 2 &&
            suggest_edit(s, stmt->span, arena_printf(s->arena, "Compute Define %s (%s, %s) as %s[%s[row], col]", to, rows, suggest_expr(s, x->shape[1]), from, at->name),
                         "the rows that it names"))
            return true;
        if (suggest_edit(s, stmt->span, arena_printf(s->arena, "Compute Define %s (%s, 1) as %s[row, %s[row]]", to, rows, from, at->name), "the element that it names"))
            return true;
    }
    return false;
}
