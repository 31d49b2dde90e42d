/* walk.c: walks a unit, statement by statement, and asks each concern. */
#include "check/walk.h"

#include "lang/prologue.h"

/* ---- suggested edits ---------------------------------------------------------------- */

const char *source_text(const Checker *c, Span span)
{
    const Source *source = c->program->source;
    if (!source || span.start < 0 || span.end <= span.start || (size_t)span.end > source->len)
        return NULL;
    return arena_strndup(c->arena, source->text + span.start, (size_t)(span.end - span.start));
}

static const char *indent_of(const Checker *c, int offset)
{
    const Source *source = c->program->source;
    int start = offset, end;
    while (source && start > 0 && source->text[start - 1] != '\n')
        start--;
    for (end = start; end < offset && (source->text[end] == ' ' || source->text[end] == '\t');)
        end++;
    return source ? arena_strndup(c->arena, source->text + start, (size_t)(end - start)) : "";
}

static int start_of(const Stmt *stmt)
{
    return stmt->listed ? stmt->list_start : stmt->span.start;
}

void fix_line_before(Checker *c, Diag *d, const Stmt *stmt, const char *line, const char *label)
{
    int at = start_of(stmt);
    const char *text = arena_printf(c->arena, "%s\n%s", line, indent_of(c, at));
    diag_fix(c->diags, d, (Span){at, at}, text, label);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Whether nothing else stands in the line of a statement, or of a list of them; `from` is then where the line before it ends. */
static bool has_own_line(const Source *source, const Stmt *stmt, int *from)
{
    int start = start_of(stmt), end = stmt->span.end;
    while (start > 0 && is_blank(source->text[start - 1])) start--;
    while ((size_t)end < source->len && is_blank(source->text[end])) end++;
    *from = start - 1;
    return start > 0 && source->text[start - 1] == '\n' && ((size_t)end == source->len || source->text[end] == '\n');
}

void fix_move_before(Checker *c, Diag *d, const Stmt *late, const Stmt *stmt, const char *label)
{
    const Source *source = c->program->source;
    int at = start_of(stmt), from;
    if (!source || !has_own_line(source, late, &from) || from <= at) return;
    const char *moved = source_text(c, (Span){start_of(late), late->span.end}), *between = source_text(c, (Span){at, from});
    diag_fix(c->diags, d, (Span){at, late->span.end}, arena_printf(c->arena, "%s\n%s%s", moved, indent_of(c, at), between), label);
}

void fix_move_behind(Checker *c, Diag *d, const Stmt *early, const Stmt *stmt, const char *label)
{
    const Source *source = c->program->source;
    int at = start_of(early), end = early->span.end, from;
    if (!source || early->listed || !has_own_line(source, early, &from) || !has_own_line(source, stmt, &from) || stmt->span.end <= end) return;
    const char *moved = source_text(c, (Span){at, end});
    while (end < stmt->span.end && (is_blank(source->text[end]) || source->text[end] == '\n')) end++;
    const char *between = source_text(c, (Span){end, stmt->span.end});
    if (moved && between) diag_fix(c->diags, d, (Span){at, stmt->span.end}, arena_printf(c->arena, "%s\n%s%s", between, indent_of(c, at), moved), label);
}

/* The statement; of one in a list, `Copy Q, K from global to shared`, its name and a comma. */
static Span removal_of(const Checker *c, const Stmt *stmt)
{
    const Source *source = c->program->source;
    Span span = stmt->span;
    if (!stmt->listed || !source)
        return span;
    span = stmt->value ? stmt->span : stmt->name_span;
    while ((size_t)span.end < source->len && is_blank(source->text[span.end]))
        span.end++;
    if ((size_t)span.end < source->len && source->text[span.end] == ',') {
        span.end++;
        while ((size_t)span.end < source->len && is_blank(source->text[span.end]))
            span.end++;
        return span;
    }
    span.end = stmt->value ? stmt->span.end : stmt->name_span.end;
    while (span.start > 0 && is_blank(source->text[span.start - 1]))
        span.start--;
    if (span.start > 0 && source->text[span.start - 1] == ',')
        span.start--;
    return span;
}

void fix_removal(Checker *c, Diag *d, const Stmt *stmt, const char *label)
{
    diag_fix(c->diags, d, removal_of(c, stmt), "", label);
}

bool late_said(const Checker *c, DiagCode code, Span span)
{
    for (int i = 0; i < c->late->list.len; i++)
        if (c->late->list.data[i].code == code && c->late->list.data[i].span.start == span.start)
            return true;
    return false;
}

const Stmt *walk_outermost(const Checker *c)
{
    return c->top;
}

/* ---- blocks ----------------------------------------------------------------------------- */

static void walk_block(Checker *c, const Block *block);

static bool is_place(const void *user, const Expr *e)
{
    (void)user;
    return e->kind == EXPR_CALL && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"));
}

/* An element's place in the condition of statements, which hold for the whole tile. */
static void refuse_places(Checker *c, const Expr *condition)
{
    if (c->loose || !expr_any(condition, is_place, NULL))
        return;
    Diag *d = diag_add(c->diags, TW0235, condition->span, "row() and col() are an element's place, and an 'if' holds for the whole block");
    diag_note(c->diags, d, "elements are chosen by `Compute Mask S where CONDITION else VALUE`, or by Where");
}

/* `if k + stages - 1 < n` in a loop over 0:n, with one stage: whatever the turn is. */
static bool holds_in_all_turns(Checker *c, const Stmt *s)
{
    const Aff *cond = c->loose || s->orelse.len ? NULL : eval_aff(&c->env, s->where, NULL);
    for (int i = 0; cond && i < c->n_loops; i++)
        if (c->loops[i].sym && c->loops[i].end && cond == aff_lt(c->aff, aff_of(c->aff, c->loops[i].sym), c->loops[i].end))
            return true;
    return false;
}

/* Whether it is known when compiling which branch is taken. What the other one writes counts as well, since what reads it
 * may stand under the same condition; what does not is found where it is lowered. */
static bool is_decided(Checker *c, const Stmt *s, bool *body)
{
    const Aff *cond = c->loose || s->where->kind == EXPR_WORDS ? NULL : eval_aff(&c->env, s->where, NULL);
    int64_t value;
    bool known = cond && aff_is_const(cond, &value);
    *body = known && value;
    return known;
}

static void merge_arms(Checker *c, const Stmt *s, PlaceState *after, int n_after)
{
    bool body;
    bool decided = is_decided(c, s, &body);
    PlaceState *other = decided && body ? init_save(c) : after;
    if (!decided) {
        init_merge(c, s, after, n_after);
        return;
    }
    if (body)
        init_restore(c, after, n_after);
    init_take_written(c, other, n_after);
}

static void walk_if(Checker *c, const Stmt *s)
{
    int mark = eval_mark(&c->env), n = c->tensors.len;
    values_condition(c, s->where);
    refuse_places(c, s->where);
    if (holds_in_all_turns(c, s)) {
        walk_block(c, &s->body);
        eval_reset(&c->env, mark);
        return;
    }
    PlaceState *before = init_save(c);
    c->path.arms[c->path.n_arms].stmt = s;
    c->path.arms[c->path.n_arms++].orelse = false;
    walk_block(c, &s->body);
    PlaceState *after = init_save(c);
    int n_after = c->tensors.len;
    eval_reset(&c->env, mark);
    init_restore(c, before, n);
    c->path.arms[c->path.n_arms - 1].orelse = true;
    walk_block(c, &s->orelse);
    c->path.n_arms--;
    merge_arms(c, s, after, n_after);
    eval_reset(&c->env, mark);
}

/* Whether what the loop at hand leaves may be meant: it has a turn, whatever the sizes are, and is not over parts,
 * of which it would leave the last one's. */
static bool leaves_values(Checker *c, const Stmt *s)
{
    const Loop *loop = &c->loops[c->n_loops - 1];
    return loop->lo && loop->end && (!loop->sym || !block_mentions(&s->body, s->name)) && aff_always(c->aff, aff_lt(c->aff, loop->lo, loop->end));
}

static void walk_for(Checker *c, const Stmt *s)
{
    int mark = eval_mark(&c->env), n = c->tensors.len;
    PlaceState *before = init_save(c);
    values_loop(c, s);
    walk_block(c, &s->body);
    early_loop(c, s);
    if (leaves_values(c, s))
        init_take_registers(c, before, n);
    c->n_loops--;
    init_merge(c, s, before, n); /* the loop may run not at all */
    eval_reset(&c->env, mark);
}

static void walk_nested(Checker *c, const Stmt *s)
{
    if (c->n_loops + c->path.n_arms + 1 >= WALK_MAX_NESTING)
        diag_add(c->diags, TW0103, s->span, "blocks may nest %d levels deep", WALK_MAX_NESTING);
    else if (s->kind == STMT_FOR)
        walk_for(c, s);
    else
        walk_if(c, s);
}

static void walk_define(Checker *c, const Stmt *s)
{
    if (c->n_loops || c->path.n_arms)
        diag_add(c->diags, TW0404, s->span, "an operation is defined outside of loops and ifs");
    vec_push(c->arena, &c->defines, s);
}

static void walk_schedule(Checker *c, const Stmt *s)
{
    if (c->schedule)
        diag_add(c->diags, TW0403, s->span, "this unit already has a schedule for this target");
    c->schedule = s;
}

static void walk_stmt(Checker *c, const Stmt *s)
{
    c->moment++;
    c->piece = (Piece){0};
    switch (s->kind) {
    case STMT_INPUT:
    case STMT_OUTPUT: names_tensor(c, s); break;
    case STMT_PARAM:
    case STMT_LET:
    case STMT_ASSIGN: values_assign(c, s); break;
    case STMT_INDEX: break; /* declared before the walk */
    case STMT_GRID: values_grid(c, s); break;
    case STMT_ALLOCATE:
        if (!c->sketch || s->space == SPACE_GLOBAL) /* a tile of a sketch is refused where its code is worked out */
            names_allocate(c, s);
        break;
    case STMT_COPY: check_copy(c, s); break;
    case STMT_COMPUTE: check_compute(c, s); break;
    case STMT_RESHAPE: check_reshape(c, s); break;
    case STMT_FOR:
    case STMT_IF: walk_nested(c, s); break;
    case STMT_DEFINE: walk_define(c, s); break;
    case STMT_SCHEDULE: walk_schedule(c, s); break;
    case STMT_COUNT: break;
    }
}

static void walk_block(Checker *c, const Block *block)
{
    for (int i = 0; i < block->len && !c->diags->full; i++) {
        walk_stmt(c, block->data[i]);
        repeat_check(c, block, i);
        whole_check(c, block, i);
        same_check(c, block->data[i]);
    }
}

/* The declarations before the first statement that does something were bound
 * already: sizes may be assigned below the shapes that they are used in. */
static bool was_declared(const Stmt *s)
{
    return s->kind == STMT_ASSIGN || s->kind == STMT_PARAM || s->kind == STMT_LET ||
           s->kind == STMT_GRID || s->kind == STMT_INDEX;
}

static void walk_unit(Checker *c, const Block *body)
{
    int declared = values_declare(c, body);
    for (int i = 0; i < body->len; i++)
        if (body->data[i]->kind == STMT_DEFINE)
            walk_define(c, body->data[i]);
    for (int i = 0; i < body->len && !c->diags->full; i++) {
        const Stmt *s = c->top = body->data[i];
        bool late = i < declared && values_late(c, s); /* its value is an element of a tensor that is declared now */
        if (s->kind != STMT_DEFINE && (late || !(i < declared && was_declared(s))))
            walk_stmt(c, s);
        repeat_check(c, body, i);
        whole_check(c, body, i);
        same_check(c, s);
    }
}

/* ---- entry -------------------------------------------------------------------------------- */

/* Which kinds of statements a block has, nested ones included: a bit each. */
static unsigned kinds_in(const Block *block)
{
    unsigned kinds = 0;
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool tile = s->kind != STMT_ALLOCATE || s->space != SPACE_GLOBAL;
        kinds |= (tile ? 1u << s->kind : 0) | kinds_in(&s->body) | kinds_in(&s->orelse);
    }
    return kinds;
}

/* `Grid m = ceil(M / BM)`: only code says how many blocks there are. */
static bool has_extents(const Block *block)
{
    for (int i = 0; i < block->len; i++)
        for (int k = 0; block->data[i]->kind == STMT_GRID && k < block->data[i]->n_coords; k++)
            if (block->data[i]->coords[k].value)
                return true;
    return false;
}

/* `Grid over M`, `for k over K`: a sketch's words, beside which an Allocate is a mistake. */
static bool leaves_open(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        if ((s->kind == STMT_GRID && s->n_coords && !s->coords[0].value) || (s->kind == STMT_FOR && s->over) ||
            leaves_open(&s->body))
            return true;
    }
    return false;
}

bool check_is_sketch(const Unit *unit)
{
    unsigned kinds = kinds_in(&unit->body), flow = 1u << STMT_COPY | 1u << STMT_COMPUTE;
    bool open = !(kinds & 1u << STMT_ALLOCATE) || leaves_open(&unit->body);
    return unit->kind == UNIT_KERNEL && (kinds & flow) && open && !has_extents(&unit->body);
}

bool check_has_sketch(const Program *program)
{
    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == UNIT_KERNEL && check_is_sketch(program->units.data[i]))
            return true;
    return false;
}

static void say_late(Checker *c)
{
    for (int i = 0; i < c->late->list.len; i++) {
        const Diag *from = &c->late->list.data[i];
        Diag *to = diag_add(c->diags, from->code, from->span, "%s", from->message);
        to->note = from->note;
        to->fix = from->fix;
    }
}

static const Stmt *copy_of_global(const Block *block)
{
    const Stmt *found = NULL;
    for (int i = 0; i < block->len && !found; i++) {
        const Stmt *s = block->data[i];
        bool global = s->kind == STMT_COPY && (s->space == SPACE_GLOBAL || s->to_space == SPACE_GLOBAL);
        found = global ? s : copy_of_global(&s->body);
        if (!found)
            found = copy_of_global(&s->orelse);
    }
    return found;
}

/* Said once, instead of each name whose value a tensor's size would be. */
static bool lacks_tensors(const Unit *unit, Diags *diags)
{
    const Stmt *copy = copy_of_global(&unit->body);
    if (!copy || block_find(&unit->body, STMT_INPUT, NULL) || block_find(&unit->body, STMT_OUTPUT, NULL))
        return false;
    bool loads = copy->space == SPACE_GLOBAL;
    const char *name = copy_tensor(copy);
    Diag *d = diag_add(diags, TW0417, unit->name_span, "%s declares no Input and no Output", unit->name);
    if (name)
        diag_note(diags, d, "%s is copied %s global memory: `%s %s (...)`, with all of its dimensions, stands before that; beside an Operator in "
                  "the same file its tensors are taken", name, loads ? "from" : "to", loads ? "Input" : "Output", name);
    return true;
}

bool check_code(Arena *arena, Syms *syms, const Program *program, const Unit *unit,
                const CheckOptions *options, Diags *diags)
{
    int before = diags->errors;
    if (!options->fragment && unit->kind == UNIT_KERNEL && lacks_tensors(unit, diags))
        return false;
    Checker *c = arena_new_of(arena, Checker);
    c->arena = arena;
    c->syms = syms;
    c->aff = aff_ctx_new(arena);
    c->program = program;
    c->unit = unit;
    c->options = options;
    c->diags = diags;
    c->late = diags_new(arena, program->source);
    c->sketch = check_is_sketch(unit);
    c->loose = options->fragment || unit->kind == UNIT_FRAGMENT || c->sketch;
    values_start(c);
    walk_unit(c, &unit->body);
    if (diags->errors == before) { /* what is left out is worth saying only of what is right */
        output_finish(c);
        capacity_finish(c);
    }
    if (diags->errors == before) {
        dead_finish(c);
        state_finish(c);
        say_late(c);
    }
    return diags->errors == before;
}

bool check_definition(Arena *arena, Syms *syms, const Program *program, const Unit *unit,
                      const CheckOptions *options, Diags *diags)
{
    Settings none = {.dtype = DT_BF16};
    Settings *settings = options->settings ? options->settings : &none;
    return def_resolve(arena, syms, aff_ctx_new(arena), program, unit, settings, diags) != NULL;
}

/* An operation of one's own counts in the unit that it stands in. */
static bool defines_outside(const Program *program, const Unit *unit, Diags *diags)
{
    bool outside = false;
    for (int i = 0; unit->kind == UNIT_FRAGMENT && program->units.len > 1 && i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        if (s->kind != STMT_DEFINE)
            continue;
        Diag *d = diag_add(diags, TW0404, s->span, "Define %s stands outside of the Kernel or Operator that uses it", s->name);
        diag_note(diags, d, "move it into that unit, above its first use; each unit has operations of its own");
        outside = true;
    }
    return outside;
}

/* Kernels of one name are several ways to do the same, of which a sketch leaves the choice; code has made it. */
static bool is_second(const Program *program, int at, Diags *diags)
{
    const Unit *unit = program->units.data[at];
    for (int i = 0; i < at && unit->kind == UNIT_KERNEL; i++) {
        const Unit *before = program->units.data[i];
        if (before->kind != UNIT_KERNEL || strcmp(before->name, unit->name) != 0 || (check_is_sketch(before) && check_is_sketch(unit)))
            continue;
        diag_note(diags, diag_add(diags, TW0403, unit->name_span, "there is a Kernel '%s' already", unit->name),
                  "sketches may say several ways to do the same, of which one is taken; code is one of them");
        return true;
    }
    return false;
}

bool check_program(Arena *arena, Syms *syms, const Program *program, const CheckOptions *options,
                   Diags *diags)
{
    bool ok = true;
    AffCtx *aff = aff_ctx_new(arena);
    program = turns_write_out(arena, aff, prologue_write_out(arena, aff, again_write_out(arena, program), settings_value, options->settings), settings_value, options->settings);
    for (int i = 0; i < program->units.len; i++) {
        const Unit *unit = program->units.data[i];
        ok &= !defines_outside(program, unit, diags) && !is_second(program, i, diags);
        bool (*check)(Arena *, Syms *, const Program *, const Unit *, const CheckOptions *,
                      Diags *) = unit->kind == UNIT_OPERATOR ? check_definition : check_code;
        ok &= check(arena, syms, program, unit, options, diags);
    }
    return ok;
}
