/* propose_names.c: edits that give something another name. */
#include "suggest/cuts.h"

typedef struct Names {
    Arena *arena;
    VEC(const char *) list;
} Names;

/* ---- what there is ------------------------------------------------------------------------ */

static void add(Names *names, const char *name)
{
    if (!name || !*name)
        return;
    for (int i = 0; i < names->list.len; i++)
        if (strcmp(names->list.data[i], name) == 0)
            return;
    vec_push(names->arena, &names->list, name);
}

static void add_sizes(void *user, const Stmt *stmt)
{
    Names *names = user;

    if (stmt->kind == STMT_INPUT || stmt->kind == STMT_OUTPUT)
        for (int i = 0; i < stmt->n_shape; i++)
            if (stmt->shape[i]->kind == EXPR_NAME)
                add(names, stmt->shape[i]->name);
}

static void add_names(void *user, const Stmt *stmt)
{
    Names *names = user;

    if (stmt->kind == STMT_SCHEDULE)
        return;
    if (stmt->kind != STMT_COPY)
        add(names, stmt->name);
    if (stmt->kind == STMT_COMPUTE && stmt->dest && stmt->dest->kind == EXPR_NAME)
        add(names, stmt->dest->name);
    for (int i = 0; stmt->kind == STMT_GRID && i < stmt->n_coords; i++)
        add(names, stmt->coords[i].name);
    add_sizes(user, stmt);
}

/* What a Kernel may take of the Operator beside it. */
static void add_numbers(void *user, const Stmt *stmt)
{
    if (stmt->kind == STMT_PARAM || stmt->kind == STMT_LET || stmt->kind == STMT_INDEX)
        add(user, stmt->name);
}

static Names names_of(Suggester *s, void (*f)(void *, const Stmt *))
{
    Names names = {.arena = s->arena};
    const Unit *def = program_unit(s->program, UNIT_OPERATOR);

    if (s->unit)
        suggest_each(&s->unit->body, f, &names);
    if (def && s->unit && s->unit->kind == UNIT_KERNEL && f == add_names)
        suggest_each(&def->body, add_numbers, &names);
    return names;
}

/* ---- the word at hand ------------------------------------------------------------------------ */

/* From an offset on. */
static Span word_at(const Suggester *s, int offset)
{
    Span word = {offset, offset};

    while ((size_t)word.end < s->source->len && is_name_char(s->source->text[word.end]))
        word.end++;
    return word;
}

static const char *meant(Suggester *s, const char *name)
{
    return arena_printf(s->arena, "did you mean '%s'?", name);
}

/* The nearest of the names, those at most `most` letters away. */
static const char *nearest(const Names *names, const char *word, int most)
{
    const char *found = NULL;
    int best = most + 1;

    for (int i = 0; i < names->list.len; i++) {
        int d = name_distance(word, names->list.data[i], best);

        if (d < best && strcmp(names->list.data[i], word) != 0) {
            best = d;
            found = names->list.data[i];
        }
    }
    return found;
}

/* `sm_scale` for `scale`: the one ends with the other. */
static const char *ending_alike(const Names *names, const char *word)
{
    size_t len = strlen(word);

    for (int i = 0; i < names->list.len; i++) {
        const char *name = names->list.data[i];
        size_t n = strlen(name), longer = n > len ? n : len, shorter = n > len ? len : n;
        const char *tail = (n > len ? name : word) + (longer - shorter);

        if (longer > shorter + 1 && shorter > 2 && tail[-1] == '_' && strcmp(tail, n > len ? word : name) == 0)
            return name;
    }
    return NULL;
}

/* A coordinate counts tiles, or is what an element is looked up by: how many there are along a dimension is none. */
static void drop_sizes(const Suggester *s, Names *names)
{
    Names sizes = {.arena = names->arena};
    int kept = 0;

    suggest_each(&s->unit->body, add_sizes, &sizes);
    for (int i = 0; i < names->list.len; i++) {
        bool size = false;
        for (int k = 0; k < sizes.list.len; k++)
            size |= strcmp(sizes.list.data[k], names->list.data[i]) == 0;
        if (!size)
            names->list.data[kept++] = names->list.data[i];
    }
    names->list.len = kept;
}

bool propose_nearest(Suggester *s)
{
    const Coord *coord = suggest_coordinate(s);
    Names names = names_of(s, add_names);
    Span word = word_at(s, s->diag->span.start);
    const char *text = suggest_quoted(s, word), *name;
    int len = word.end - word.start, most = len > 5 ? 2 : len > 1; /* of one letter any other is as near */

    if (coord && coord->value->kind == EXPR_NAME)
        drop_sizes(s, &names);
    name = word.end > word.start ? nearest(&names, text, most) : NULL;
    if (name && suggest_edit(s, word, name, meant(s, name)))
        return true;
    name = word.end > word.start ? ending_alike(&names, text) : NULL;
    return name && suggest_edit(s, word, name, meant(s, name));
}

bool propose_function(Suggester *s)
{
    static const char *const rounds[] = {"ceil", "div", "round", "up", "int", "trunc"};
    static const char *const functions[] = {"ceil", "floor", "abs", "min", "max", "sqrt", "exp", "log", "row", "col"};
    Names names = {.arena = s->arena};
    Span word = word_at(s, s->diag->span.start);
    const char *name;

    for (size_t i = 0; i < TW_COUNT(functions); i++)
        add(&names, functions[i]);
    name = nearest(&names, suggest_quoted(s, word), 2);
    if (name && suggest_edit(s, word, name, meant(s, name)))
        return true;
    for (size_t i = 0; word.end > word.start && !s->loose && i < TW_COUNT(rounds); i++)
        if (strstr(suggest_quoted(s, word), rounds[i]))
            return suggest_edit(s, word, "ceil", "round up; 'floor' rounds down");
    return false;
}

/* What another unit of the program, the definition mostly, declares under the name. */
bool propose_declared(Suggester *s)
{
    int len = s->diag->span.end - s->diag->span.start;
    const char *name = arena_strndup(s->arena, s->source->text + s->diag->span.start, (size_t)len);

    for (int i = 0; s->unit && i < s->program->units.len; i++) {
        const Unit *unit = s->program->units.data[i];
        for (int k = 0; unit != s->unit && k < unit->body.len; k++) {
            const Stmt *declared = unit->body.data[k], *first = NULL;
            bool tensor = declared->kind == STMT_INPUT || declared->kind == STMT_OUTPUT; /* what another kernel left */
            bool value = declared->kind == STMT_PARAM || declared->kind == STMT_LET || declared->kind == STMT_ASSIGN || tensor;
            for (int j = 0; j < s->unit->body.len && !first; j++) /* behind the tensors */
                if (s->unit->body.data[j]->kind != STMT_INPUT && s->unit->body.data[j]->kind != STMT_OUTPUT)
                    first = s->unit->body.data[j];
            if (tensor) {
                Stmt *own = suggest_like(s, declared);
                own->kind = s->stmt && s->stmt->kind == STMT_COPY && s->stmt->to_space == SPACE_GLOBAL ? STMT_OUTPUT : STMT_INPUT;
                declared = own;
            }
            if (value && first && strcmp(declared->name, name) == 0 &&
                suggest_edit(s, suggest_before(s, first),
                             arena_printf(s->arena, "%s%s\n", suggest_indent(s, first->span.start), suggest_text(s, declared)),
                             "declare it here as well"))
                return true;
        }
    }
    return false;
}

/* Another operand, of all that there are. */
bool propose_other_name(Suggester *s)
{
    Names names = names_of(s, add_names);
    const Stmt *stmt = s->stmt;

    for (int i = 0; stmt && stmt->kind == STMT_COMPUTE && i < stmt->n_args; i++)
        for (int k = 0; stmt->args[i]->kind == EXPR_NAME && k < names.list.len; k++)
            if (text_distance(stmt->args[i]->name, names.list.data[k], 2) == 1 &&
                suggest_edit(s, stmt->args[i]->span, names.list.data[k], meant(s, names.list.data[k])))
                return true;
    return false;
}

typedef struct Uses {
    const char *name;
    int read;
} Uses;

static void count_reads(void *user, const Stmt *stmt)
{
    Uses *uses = user;

    for (int i = 0; i < stmt->n_args; i++)
        uses->read += expr_mentions(stmt->args[i], uses->name);
    for (int i = 0; i < stmt->n_with; i++)
        uses->read += expr_mentions(stmt->with[i], uses->name);
    uses->read += expr_mentions(stmt->where, uses->name) || expr_mentions(stmt->value, uses->name);
}

static void add_results(void *user, const Stmt *stmt)
{
    if (stmt->kind == STMT_INPUT)
        add(user, stmt->name);
    if (stmt->kind == STMT_COMPUTE && stmt->dest && stmt->dest->kind == EXPR_NAME)
        add(user, stmt->dest->name);
}

/* What no statement reads, in place of a name that nothing is called, nor nearly. */
bool propose_unused(Suggester *s)
{
    enum { MOST = 3 };
    Names names = names_of(s, add_results);
    Span word = word_at(s, s->diag->span.start);
    int tried = 0;

    for (int i = 0; word.end > word.start && i < names.list.len && tried < MOST; i++) {
        Uses uses = {.name = names.list.data[i]};
        suggest_each(&s->unit->body, count_reads, &uses);
        if (uses.read > 0)
            continue;
        tried++;
        if (suggest_edit(s, word, uses.name, arena_printf(s->arena, "'%s', which nothing reads", uses.name)))
            return true;
    }
    return false;
}

/* ---- dimensions ---------------------------------------------------------------------------------- */

/* Those first that are called most alike. */
static bool try_dimensions(Suggester *s, const Stmt *stmt)
{
    Names names = names_of(s, add_sizes);
    int most = 0;

    for (int i = 0; i < names.list.len; i++)
        most = suggest_alike(names.list.data[i], stmt->over) > most ? suggest_alike(names.list.data[i], stmt->over) : most;
    for (int alike = most; alike >= 0; alike--)
        for (int i = 0; i < names.list.len; i++) {
            Stmt *changed = suggest_like(s, stmt);

            changed->over = names.list.data[i];
            if (suggest_alike(changed->over, stmt->over) == alike && strcmp(changed->over, stmt->over) != 0 &&
                suggest_stmt(s, stmt, changed, "a dimension that it has"))
                return true;
        }
    return false;
}

typedef struct Search {
    const char *name;
    const Stmt *found;
    StmtKind kind;
} Search;

static void find_named(void *user, const Stmt *stmt)
{
    Search *search = user;

    if (stmt->kind == search->kind && stmt->name && strcmp(stmt->name, search->name) == 0)
        search->found = stmt;
}

typedef struct SameSizes {
    Suggester *s;
    const Stmt *let;
    VEC(Fix) edits;
} SameSizes;

static void note_size(SameSizes *sizes, const Expr *e)
{
    if (e && expr_equal(e, sizes->let->value))
        vec_push(sizes->s->arena, &sizes->edits, ((Fix){e->span, sizes->let->name, NULL}));
}

static void note_sizes(void *user, const Stmt *stmt)
{
    for (int d = 0; d < stmt->n_shape; d++)
        note_size(user, stmt->shape[d]);
    for (int d = 0; d < stmt->n_to_shape; d++)
        note_size(user, stmt->to_shape[d]);
    note_size(user, stmt->to);
}

static const Stmt *find_let(const Suggester *s, const char *name)
{
    const Stmt *let = NULL;

    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];

        if (stmt->kind == STMT_LET && stmt->value && strcmp(stmt->name, name) == 0)
            let = stmt;
    }
    return let;
}

/* `Let width = H * D`, and a tensor (m, H * D), whose other names would be lost: its column. */
static bool say_side(Suggester *s, const Stmt *let)
{
    const char *size = suggest_expr(s, let->value), *end = strrchr(s->diag->message, ')');
    size_t n = strlen(size);
    bool last = end && (size_t)(end - s->diag->message) > n + 2 && strncmp(end - n, size, n) == 0 && strncmp(end - n - 2, ", ", 2) == 0;

    return last && suggest_edit(s, s->diag->span, "col", "the place along its last dimension");
}

/* `Let blocks = m div 32`, and dimensions that are written m div 32: they get the name that the position is along. */
static bool name_dimension(Suggester *s, const Stmt *index)
{
    SameSizes sizes = {.s = s, .let = find_let(s, index->over)};

    if (!sizes.let)
        return false;
    suggest_each(&s->unit->body, note_sizes, &sizes);
    return (sizes.edits.len > 0 && suggest_edits(s, sizes.edits.data, sizes.edits.len, "the dimension under its name")) || say_side(s, sizes.let);
}

/* `over DIM`, of the statement or of the Index that it names. */
bool propose_dimension(Suggester *s)
{
    Search search = {suggest_quoted(s, word_at(s, s->diag->span.start)), NULL, STMT_INDEX};

    if (s->unit)
        suggest_each(&s->unit->body, find_named, &search);
    if (search.found && search.found->over)
        return name_dimension(s, search.found) || try_dimensions(s, search.found);
    return s->stmt && s->stmt->over && try_dimensions(s, s->stmt);
}

/* A position that the condition says goes over the dimension that its name is like: q_pos over q_len. */
bool propose_position(Suggester *s)
{
    Names sizes = names_of(s, add_sizes);

    for (int i = 0; s->unit && s->stmt && i < s->unit->body.len; i++) {
        const Stmt *index = s->unit->body.data[i];

        if (index->kind != STMT_INDEX || !index->over || !expr_mentions(stmt_condition(s->stmt), index->name))
            continue;
        for (int k = 0; k < sizes.list.len; k++) {
            Stmt *changed = suggest_like(s, index);

            changed->over = sizes.list.data[k];
            if (suggest_alike(index->name, changed->over) > suggest_alike(index->name, index->over) &&
                suggest_stmt(s, index, changed, "the dimension that its name is like"))
                return true;
        }
    }
    return false;
}

/* `rounded to bf16 for this product`: Casts say so, of every operand of the statement that it is said of. */
bool propose_cast(Suggester *s)
{
    static const char says[] = "rounded to ";
    const Diags *diags = s->chain->diags;
    Str casts = str_new(s->arena);
    Fix edits[3];
    int n = 1;

    for (int i = 0; s->stmt && i < diags->list.len && n < (int)TW_COUNT(edits); i++) {
        const Diag *d = &diags->list.data[i];
        const char *type = d->code == s->diag->code ? strstr(d->message, says) : NULL;
        Span word = type ? word_at(s, d->span.start) : (Span){0, 0};
        const char *name = suggest_quoted(s, word);

        if (!type || word.start < s->stmt->span.start || word.end > s->stmt->span.end)
            continue;
        type = arena_strndup(s->arena, type + strlen(says), strcspn(type + strlen(says), " "));
        str_printf(&casts, "%sCompute Cast %s, %s and get %s_%s\n", suggest_indent(s, s->stmt->span.start), name, type, name, type);
        edits[n++] = (Fix){word, arena_printf(s->arena, "%s_%s", name, type), NULL};
    }
    if (n == 1)
        return false;
    edits[0] = (Fix){suggest_before(s, s->stmt), str_text(&casts), NULL};
    return suggest_edits(s, edits, n, "say that it is rounded");
}

/* A name in its shape to which the kernel before gives another number: that one here, or this one there. */
static bool number_alike(Suggester *s, const Unit *before, const Stmt *tensor)
{
    static const StmtKind kinds[] = {STMT_PARAM, STMT_ASSIGN};

    for (int d = 0; d < tensor->n_shape; d++)
        for (size_t k = 0; tensor->shape[d]->kind == EXPR_NAME && k < TW_COUNT(kinds) * TW_COUNT(kinds); k++) {
            const Stmt *own = block_find(&s->unit->body, kinds[k % TW_COUNT(kinds)], tensor->shape[d]->name);
            const Stmt *other = block_find(&before->body, kinds[k / TW_COUNT(kinds)], tensor->shape[d]->name);

            if (!own || !other || !own->value || !other->value || expr_equal(own->value, other->value))
                continue;
            if (suggest_edit(s, own->value->span, suggest_expr(s, other->value), "as the kernel before has it") ||
                suggest_edit(s, other->value->span, suggest_expr(s, own->value), "as the kernel behind has it"))
                return true;
        }
    return false;
}

/* The other declaration, as the first has it. */
static bool declare_like(Suggester *s, const Stmt *stmt, const Stmt *like, const char *label)
{
    Stmt *changed = suggest_like(s, like);

    changed->kind = stmt->kind;
    return suggest_stmt(s, stmt, changed, label);
}

/* Whether the type of the one keeps what that of the other rounds: one that is not said has mostly 16 bits. */
static bool is_wider(const Stmt *stmt, const Stmt *other)
{
    return stmt->has_dtype && dtype_bytes(stmt->dtype) > (other->has_dtype ? dtype_bytes(other->dtype) : 2);
}

/* A tensor that an earlier kernel declares otherwise: what is passed on is not to be rounded on its way. */
bool propose_declared_alike(Suggester *s)
{
    const Stmt *stmt = s->stmt && (s->stmt->kind == STMT_INPUT || s->stmt->kind == STMT_OUTPUT) ? s->stmt : NULL;

    for (int i = 0; stmt && i < s->program->units.len && s->program->units.data[i] != s->unit; i++) {
        const Stmt *other = unit_tensor(s->program->units.data[i], stmt->name);

        if (!other || s->program->units.data[i]->kind != UNIT_KERNEL)
            continue;
        if (is_wider(stmt, other) && declare_like(s, other, stmt, "as this kernel declares it"))
            return true;
        if (declare_like(s, stmt, other, "as the kernel before declares it") || number_alike(s, s->program->units.data[i], stmt) ||
            declare_like(s, other, stmt, "as this kernel declares it"))
            return true;
    }
    return false;
}

/* A size that tiles keep whole, a count that shapes the code, the end of a part: some number. */
bool propose_number(Suggester *s)
{
    static const int guesses[] = {128, 64, 32};
    bool part = s->diag->code == TW0731 && strncmp(s->source->text + s->diag->span.start, "0:", 2) == 0;
    Span word = word_at(s, s->diag->span.start + (part ? 2 : 0));
    const char *name = suggest_quoted(s, word);
    Search search = {name, NULL, STMT_PARAM};

    if (!s->stmt || word.end == word.start)
        return false;
    suggest_each(&s->unit->body, find_named, &search);
    for (size_t i = 0; i < TW_COUNT(guesses); i++) {
        const char *label = arena_printf(s->arena, "%d is a guess; or give it with --set", guesses[i]), *indent = suggest_indent(s, s->stmt->span.start);

        if (search.found) {
            if (!search.found->value && suggest_edit(s, (Span){search.found->span.end, search.found->span.end}, arena_printf(s->arena, " = %d", guesses[i]), label))
                return true;
        } else if (suggest_edit(s, suggest_before(s, s->path[0]), arena_printf(s->arena, "%s%s = %d\n", indent, name, guesses[i]), label) ||
                   suggest_edit(s, suggest_before(s, s->path[0]), arena_printf(s->arena, "%sParam %s = %d\n", indent, name, guesses[i]), label)) {
            return true;
        }
    }
    return false;
}

/* ---- results ------------------------------------------------------------------------------------- */

static void find_last_result(void *user, const Stmt *stmt)
{
    const Stmt **last = user;

    if (stmt->kind == STMT_COMPUTE && stmt->dest && stmt->dest->kind == EXPR_NAME)
        *last = stmt;
}

/* Of several outputs, one that no statement computes. */
static bool remove_output(Suggester *s)
{
    return s->stmt && s->stmt->kind == STMT_OUTPUT && suggest_edit(s, suggest_line(s, s->stmt->span), "", "no statement computes it: remove it");
}

/* The output is what was computed last. */
bool propose_result(Suggester *s)
{
    const Stmt *last = NULL;
    const char *output = suggest_quoted(s, word_at(s, s->diag->span.start));
    Search search = {output, NULL, STMT_OUTPUT};

    if (!s->unit)
        return false;
    suggest_each(&s->unit->body, find_last_result, &last);
    suggest_each(&s->unit->body, find_named, &search);
    if (last && search.found && suggest_edit(s, last->dest->span, output, arena_printf(s->arena, "let '%s' be it", output)))
        return true;
    return remove_output(s);
}

/* What was computed last is the output; of the shape of some Input. */
bool propose_output(Suggester *s)
{
    const Stmt *last = NULL;

    if (!s->unit)
        return false;
    suggest_each(&s->unit->body, find_last_result, &last);
    for (int i = 0; last && i < s->unit->body.len; i++) {
        const Stmt *input = s->unit->body.data[i];
        Stmt *output;

        if (input->kind != STMT_INPUT)
            continue;
        output = suggest_like(s, input);
        output->kind = STMT_OUTPUT;
        output->name = last->dest->name;
        if (suggest_edit(s, suggest_before(s, last),
                         arena_printf(s->arena, "%s%s\n", suggest_indent(s, last->span.start), suggest_text(s, output)),
                         "the last result is the output"))
            return true;
    }
    return false;
}

bool propose_not_new(Suggester *s)
{
    Stmt *changed;

    if (!s->stmt || s->stmt->result != RESULT_GET_NEW)
        return false;
    changed = suggest_like(s, s->stmt);
    changed->result = RESULT_GET;
    return suggest_stmt(s, s->stmt, changed, "there is none before");
}

/* Words of a text that are `from`, as `to`. */
const char *suggest_words(Suggester *s, const char *text, const char *from, const char *to)
{
    Str out = str_new(s->arena);
    size_t len = strlen(from);

    for (size_t at = 0; text[at];) {
        size_t n = 0;

        while (is_name_char(text[at + n]))
            n++;
        if (n == len && strncmp(text + at, from, len) == 0)
            str_add(&out, to);
        else
            str_addn(&out, text + at, n ? n : 1);
        at += n ? n : 1;
    }
    return str_text(&out);
}

/* ---- places ------------------------------------------------------------------------------------------ */

/* The Index that goes over a dimension; NULL: none. */
static const char *index_over(const Unit *unit, const char *dim)
{
    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_INDEX && strcmp(unit->body.data[i]->over, dim) == 0)
            return unit->body.data[i]->name;
    return NULL;
}

/* A size alone, wherever the expression has it: where it is taken apart for one coordinate it is for the next. */
static bool try_index_for_all(Suggester *s)
{
    const Expr *value = s->stmt && s->stmt->kind == STMT_COMPUTE ? s->stmt->value : NULL;
    const char *dim = suggest_quoted(s, s->diag->span), *place = s->unit ? index_over(s->unit, dim) : NULL;
    const char *named = place ? place : arena_printf(s->arena, "%s_pos", dim), *text = value ? suggest_quoted(s, value->span) : NULL;
    Fix edits[] = {{suggest_before(s, s->path[0]), "", NULL}, {value ? value->span : s->diag->span, NULL, NULL}};

    for (const char *c = dim; *c; c++)
        if (!value || !is_name_char(*c))
            return false;
    edits[1].text = suggest_words(s, text, dim, named);
    if (!place)
        edits[0].text = arena_printf(s->arena, "%sIndex %s over %s\n", suggest_indent(s, s->path[0]->span.start), named, dim);
    return suggest_edits(s, edits, 2, "the element's place along it");
}

/* Sizes in a condition or a coordinate: the element's own place along each, that of an Index. */
bool propose_index(Suggester *s)
{
    Names sizes = names_of(s, add_sizes);
    Span span = s->diag->span;
    const char *text = suggest_quoted(s, span);
    Str declared = str_new(s->arena);
    Fix edits[2];

    if (!s->unit || !s->depth || s->unit->kind == UNIT_FRAGMENT)
        return false;
    if (try_index_for_all(s))
        return true;
    for (int i = 0; i < sizes.list.len; i++) {
        const char *dim = sizes.list.data[i], *place = index_over(s->unit, dim);
        const char *named = place ? place : arena_printf(s->arena, "%s_pos", dim), *changed = suggest_words(s, text, dim, named);

        if (strcmp(changed, text) == 0)
            continue;
        text = changed;
        if (!place)
            str_printf(&declared, "%sIndex %s over %s\n", suggest_indent(s, s->path[0]->span.start), named, dim);
    }
    edits[0] = (Fix){suggest_before(s, s->path[0]), str_text(&declared), NULL};
    edits[1] = (Fix){span, text, NULL};
    return suggest_edits(s, edits, 2, "the element's place along it");
}

/* `j <= i` in a Mask, of letters that nothing declares: the element's row and column. */
bool propose_letters(Suggester *s)
{
    static const struct { const char *row, *col; } pairs[] = {{"i", "j"}, {"q", "k"}, {"m", "n"}, {"row_idx", "col_idx"}, {"q_idx", "kv_idx"}, {"q_pos", "kv_pos"}};
    const Expr *where = s->stmt && s->stmt->kind == STMT_COMPUTE ? stmt_condition(s->stmt) : NULL;

    for (size_t i = 0; where && i < TW_COUNT(pairs); i++) {
        const char *text = suggest_quoted(s, where->span), *rows = suggest_words(s, text, pairs[i].row, "row"), *both = suggest_words(s, rows, pairs[i].col, "col");

        if (strcmp(rows, text) != 0 && strcmp(both, rows) != 0 && suggest_edit(s, where->span, both, "the element's row and column"))
            return true;
    }
    return false;
}

/* ---- a name of its own ---------------------------------------------------------------------------- */

static const char *renamed(Suggester *s, Span span, const char *from, const char *to)
{
    return suggest_words(s, suggest_quoted(s, span), from, to);
}

/* Instead of overwriting X: a new tensor, which all statements behind read. */
bool propose_own_name(Suggester *s)
{
    const Stmt *stmt = s->stmt;
    const char *old, *name;
    Str text = str_new(s->arena);
    Stmt *changed;

    if (!stmt || stmt->kind != STMT_COMPUTE || !stmt->n_args)
        return false;
    old = stmt->dest ? stmt->dest->name : stmt->args[0]->name;
    if (!old || (stmt->dest && stmt->dest->kind != EXPR_NAME))
        return false;
    name = arena_printf(s->arena, "%s_new", old);
    changed = suggest_like(s, stmt);
    changed->result = RESULT_GET;
    changed->dest = expr_name(s->arena, name);
    str_add(&text, suggest_text(s, changed));
    str_add(&text, renamed(s, (Span){stmt->span.end, s->unit->end}, old, name));
    return suggest_edit(s, (Span){stmt->span.start, s->unit->end}, str_text(&text),
                        arena_printf(s->arena, "make another tensor, '%s'", name));
}

/* A result that is called like a dimension. */
bool propose_not_dimension(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE ? s->stmt : NULL;
    const char *old = stmt && stmt->dest && stmt->dest->kind == EXPR_NAME && stmt->dest->span.start == s->diag->span.start ? stmt->dest->name : NULL;
    const char *name = old ? arena_printf(s->arena, "%s1", old) : NULL;

    if (!old || block_mentions(&s->unit->body, name))
        return false;
    Span behind = {stmt->dest->span.start, s->unit->end};
    return suggest_edit(s, behind, renamed(s, behind, old, name), arena_printf(s->arena, "'%s' is a dimension: the tensor gets a name of its own", old));
}

/* ---- an Output that is called like an Input ---------------------------------------------------------- */

typedef struct InPlace {
    Suggester *s;
    const char *name, *out;
    VEC(Fix) edits;
    bool computed; /* what stands behind is renamed already */
} InPlace;

/* What writes it, writes the other: in a definition the first statement that computes it, and all behind it. */
static void write_other(void *user, const Stmt *stmt)
{
    InPlace *p = user;
    Suggester *s = p->s;
    Stmt *changed = suggest_like(s, stmt);

    if (stmt->kind == STMT_OUTPUT && strcmp(stmt->name, p->name) == 0)
        vec_push(s->arena, &p->edits, ((Fix){stmt->name_span, p->out, NULL}));
    if (stmt->kind == STMT_COPY && stmt->to_space == SPACE_GLOBAL && strcmp(copy_dest(stmt), p->name) == 0) {
        changed->as = p->out;
        vec_push(s->arena, &p->edits, ((Fix){stmt->span, suggest_text(s, changed), NULL}));
    }
    if (s->unit->kind != UNIT_OPERATOR || p->computed || stmt->kind != STMT_COMPUTE || !expr_is_name(stmt->dest, p->name))
        return;
    Str text = str_new(s->arena);
    changed->result = RESULT_GET;
    changed->dest = expr_name(s->arena, p->out);
    str_add(&text, suggest_text(s, changed));
    if (stmt->result == RESULT_ACCUMULATE)
        str_printf(&text, "\n%sCompute Add %s, %s and get new %s", suggest_indent(s, stmt->span.start), p->out, p->name, p->out);
    str_add(&text, renamed(s, (Span){stmt->span.end, s->unit->end}, p->name, p->out));
    vec_push(s->arena, &p->edits, ((Fix){{stmt->span.start, s->unit->end}, str_text(&text), NULL}));
    p->computed = true;
}

/* `Input C`, `Output C`: nothing is written in place. */
bool propose_own_output(Suggester *s)
{
    InPlace p = {.s = s};

    for (int i = 0; s->unit && i < s->unit->body.len; i++) {
        const Stmt *output = s->unit->body.data[i], *input = output->kind == STMT_OUTPUT ? unit_tensor(s->unit, output->name) : NULL;
        if (input && input->kind == STMT_INPUT)
            p.name = output->name;
    }
    p.out = p.name ? arena_printf(s->arena, "%s_out", p.name) : NULL;
    if (!p.name || block_mentions(&s->unit->body, p.out))
        return false;
    suggest_each(&s->unit->body, write_other, &p);
    return suggest_edits(s, p.edits.data, p.edits.len, arena_printf(s->arena, "an Input stays as it is: the output is another tensor, '%s'", p.out));
}

/* ---- numbers of the launch ----------------------------------------------------------------------------- */

/* `Multiply C, alpha`, and nothing says what alpha is. */
bool propose_launch_number(Suggester *s)
{
    const Stmt *stmt = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && op_info(s->stmt->op)->class == OPC_ELEMENT ? s->stmt : NULL;
    const Stmt *last = NULL;

    if (!stmt || stmt->n_args != 2 || stmt->args[1]->kind != EXPR_NAME || stmt->args[1]->span.start != s->diag->span.start || s->unit->kind == UNIT_FRAGMENT)
        return false;
    for (int i = 0; i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind == STMT_INPUT || s->unit->body.data[i]->kind == STMT_OUTPUT)
            last = s->unit->body.data[i];
    return last && suggest_edit(s, (Span){last->span.end, last->span.end},
                                arena_printf(s->arena, "\n%sParam %s", suggest_indent(s, last->span.start), stmt->args[1]->name),
                                "a number that the launch gives; a tensor would be an Input");
}

/* `#define BM 128` is a comment: a name gets its value by `=`, before the first statement that may read it. */
bool propose_defined(Suggester *s)
{
    static const char macro[] = "#define ";
    const char *text = s->source->text, *name = suggest_quoted(s, word_at(s, s->diag->span.start));
    const Stmt *first = NULL;

    for (int i = 0; s->unit && i < s->unit->body.len && !first; i++)
        if (s->unit->body.data[i]->kind != STMT_INPUT && s->unit->body.data[i]->kind != STMT_OUTPUT)
            first = s->unit->body.data[i];
    for (const char *at = first && *name ? strstr(text, macro) : NULL; at; at = strstr(at + 1, macro)) {
        const char *word = at + strlen(macro), *value;
        word += strspn(word, " ");
        value = word + strlen(name);
        if (strncmp(word, name, strlen(name)) != 0 || *value != ' ')
            continue;
        value += strspn(value, " ");
        return suggest_edit(s, suggest_before(s, first),
                            arena_printf(s->arena, "%s%s = %.*s\n", suggest_indent(s, first->span.start), name, (int)strcspn(value, "\r\n/"), value), "a name gets its value by '='");
    }
    return false;
}

/* A second unit of one name. */
bool propose_renamed_kernel(Suggester *s)
{
    bool unit = s->unit && s->diag->span.start == s->unit->name_span.start;

    return unit && suggest_edit(s, s->unit->name_span, arena_printf(s->arena, "%s_2", s->unit->name), "another name");
}

/* A fragment that a diagnostic is said of, or stands before the unit that it is said of; *next: the unit behind it. */
static const Unit *fragment_before(const Suggester *s, const Unit **next)
{
    const Unit *fragment = s->unit;

    if (s->diag->code == TW0233) /* said of a use */
        for (int i = 0; i + 1 < s->program->units.len && s->program->units.data[i + 1] != s->unit; i++)
            fragment = s->program->units.data[i];
    *next = NULL;
    for (int i = 0; fragment && i + 1 < s->program->units.len; i++)
        if (s->program->units.data[i]->kind == UNIT_FRAGMENT) {
            fragment = s->program->units.data[i];
            *next = s->program->units.data[i + 1];
        }
    return *next && fragment->kind == UNIT_FRAGMENT ? fragment : NULL;
}

/* Each line that is not empty, indented. */
static void add_lines(Str *out, const char *lines, const char *indent)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        if (len)
            str_printf(out, "%s%.*s\n", indent, (int)len, lines);
        lines += len + (lines[len] == '\n');
    }
}

/* A Define that stands before the unit that uses it: behind its header. */
bool propose_moved_define(Suggester *s)
{
    const Unit *next, *fragment = fragment_before(s, &next);
    Str out = str_new(s->arena);

    if (!fragment || !fragment->body.len || fragment->body.data[0]->kind != STMT_DEFINE || !next->body.len)
        return false;
    const Stmt *first = next->body.data[0];
    int from = suggest_line_start(s, fragment->body.data[0]->span.start), header = suggest_line_start(s, next->span.start), body = suggest_line_start(s, first->span.start);
    str_add(&out, suggest_quoted(s, (Span){header, body}));
    add_lines(&out, suggest_quoted(s, (Span){from, header}), suggest_indent(s, first->span.start));
    return suggest_edit(s, (Span){from, body}, str_text(&out), "operations of one's own stand in the unit that uses them");
}
