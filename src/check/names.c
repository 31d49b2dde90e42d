/* names.c: tensors: declared, allocated, undefined, declared twice. */
#include "check/walk.h"

#include <ctype.h>

Named *names_find(const Checker *c, const char *name)
{
    for (int i = 0; i < c->tensors.len; i++)
        if (text_equal(c->tensors.data[i]->name, name))
            return c->tensors.data[i];
    return NULL;
}

Named *names_add(Checker *c, const char *name)
{
    Named *t = names_find(c, name);
    if (t)
        return t;
    t = arena_new_of(c->arena, Named);
    t->name = name;
    for (Space s = SPACE_NONE; s <= SPACE_REGISTER; s++)
        t->places[s].space = s;
    vec_push(c->arena, &c->tensors, t);
    return t;
}

/* ---- Q_shared, O_reg ------------------------------------------------------------------- */

static const struct {
    const char *ending;
    Space space;
} endings[] = {
    {"_shared", SPACE_SHARED},      {"_smem", SPACE_SHARED},  {"_register", SPACE_REGISTER},
    {"_registers", SPACE_REGISTER}, {"_reg", SPACE_REGISTER}, {"_global", SPACE_GLOBAL},
};

Named *names_suffixed(Checker *c, const char *name, Space *space)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < TW_COUNT(endings); i++) {
        size_t n = strlen(endings[i].ending);
        if (len <= n || !text_equal_nocase(name + len - n, endings[i].ending))
            continue;
        *space = endings[i].space;
        return names_find(c, arena_strndup(c->arena, name, len - n));
    }
    return NULL;
}

/* ---- what is not there ------------------------------------------------------------------- */

static const char *nearest_tensor(const Checker *c, const char *name)
{
    int best = name_edits(name) + 1;
    const char *nearest = NULL;
    for (int i = 0; i < c->tensors.len; i++) {
        int d = name_distance(name, c->tensors.data[i]->name, best);
        if (d < best) {
            best = d;
            nearest = c->tensors.data[i]->name;
        }
    }
    return nearest ? nearest : eval_nearest(&c->env, name);
}

Named *names_undefined(Checker *c, const char *name, Span span)
{
    Diag *d = diag_add(c->diags, TW0401, span, "'%s' is not declared, allocated or computed", name);
    const char *nearest = nearest_tensor(c, name);
    if (nearest)
        diag_fix(c->diags, d, span, nearest, arena_printf(c->arena, "did you mean '%s'?", nearest));
    return nearest ? names_find(c, nearest) : NULL;
}

static const char *allocate_line(Checker *c, const char *name, Space space, const Tile *shape)
{
    if (!shape || !shape->rows.size || !shape->cols.size)
        return NULL;
    bool computed = space == SPACE_REGISTER && c->unit && !unit_tensor(c->unit, name); /* not rounded on the way */
    return arena_printf(c->arena, "Allocate %s in %s %s%s", name, space_name(space), tile_text(c, shape), computed ? " fp32" : "");
}

/* As large as what is allocated under the name in another memory; NULL: nothing is. */
static const Tile *like_another(Checker *c, const char *name, Space space)
{
    const Named *t = names_find(c, name);
    for (Space s = SPACE_SHARED; t && s <= SPACE_REGISTER; s++) {
        const Place *p = &t->places[s];
        if (s == space || !p->exists || p->given || p->rank != 2 || !p->decl || p->decl->kind != STMT_ALLOCATE)
            continue;
        Tile *like = arena_new_of(c->arena, Tile);
        *like = tile_of(c, p);
        return like;
    }
    return NULL;
}

/* Of a list, `Allocate Q, K in ...`, the statement that it ends with. */
static const Stmt *last_of_list(const Block *block, int i)
{
    while (i + 1 < block->len && block->data[i + 1]->listed && block->data[i]->listed &&
           block->data[i + 1]->list_start == block->data[i]->list_start)
        i++;
    return block->data[i];
}

/* The statement that allocates it, of those that were not walked yet; NULL: none. */
static const Stmt *allocated_later(const Block *block, const char *name, Space space)
{
    const Stmt *found = NULL;
    for (int i = 0; i < block->len && !found; i++) {
        const Stmt *s = block->data[i];
        bool allocates = s->kind == STMT_ALLOCATE && s->space == space && strcmp(s->name, name) == 0;
        found = allocates ? last_of_list(block, i) : allocated_later(&s->body, name, space);
        if (!found) found = allocated_later(&s->orelse, name, space);
    }
    return found;
}

static void allocated_too_late(Checker *c, Diag *d, const Stmt *late)
{
    int line, column;
    source_place(c->program->source, late->span.start, &line, &column);
    diag_note(c->diags, d, "line %d allocates it, behind this", line);
    fix_move_before(c, d, late, walk_outermost(c), "allocate it before it is used");
}

void names_unallocated(Checker *c, const char *name, Span span, Space space, const Tile *shape)
{
    const Tile *like = like_another(c, name, space);
    if (like)
        shape = like;
    Diag *d = diag_add(c->diags, TW0402, span, "'%s' is not allocated in %s memory", name,
                       space_name(space));
    const Stmt *late = c->unit ? allocated_later(&c->unit->body, name, space) : NULL;
    if (late) {
        allocated_too_late(c, d, late);
        return;
    }
    const Named *tensor = names_find(c, name);
    bool elsewhere = tensor && space == SPACE_REGISTER && tensor->places[SPACE_SHARED].exists; /* it may well belong here */
    const char *line = elsewhere ? NULL : allocate_line(c, name, space, shape);
    if (line)
        fix_line_before(c, d, walk_outermost(c), line, "allocate it");
}

/* A place that nothing declares, of a shape that nothing says. */
Place *names_given(Checker *c, Named *tensor, Space space)
{
    Place *p = &tensor->places[space];
    if (!p->exists) {
        const Tile *like = like_another(c, tensor->name, space);
        p->exists = p->given = true;
        p->rank = 2;
        p->dims[0] = like ? like->rows : p->dims[0];
        p->dims[1] = like ? like->cols : p->dims[1];
        p->now.written = WRITTEN_YES;
    }
    return p;
}

/* ---- declarations --------------------------------------------------------------------------- */

/* The size of a tensor, as definitions want it written: what is left over of a quotient is no element. */
static const Aff *tensor_size(Checker *c, const Expr *e)
{
    int n = c->diags->list.len;
    const Aff *size = values_integer(c, e);
    if (!size && c->diags->list.len == n + 1 && e->kind == EXPR_BINARY && e->op == EO_DIV)
        diag_fix(c->diags, &c->diags->list.data[n], (Span){e->a->span.end, e->b->span.start}, " div ", "round down; or round up with 'ceil'");
    return size;
}

static void set_shape(Checker *c, Place *p, const Stmt *s)
{
    p->rank = s->n_shape < TENSOR_MAX_RANK ? s->n_shape : TENSOR_MAX_RANK;
    if (s->n_shape > TENSOR_MAX_RANK)
        diag_add(c->diags, TW0325, s->span, "a tensor has at most %d dimensions, not %d",
                 TENSOR_MAX_RANK, s->n_shape);
    for (int i = 0; i < p->rank; i++) {
        p->dims[i] = p->space == SPACE_GLOBAL ? (Extent){.size = tensor_size(c, s->shape[i]),
                                                         .text = source_text(c, s->shape[i]->span)}
                                              : extent_of(c, s->shape[i]);
        if (s->shape[i]->kind == EXPR_NAME && p->space == SPACE_GLOBAL)
            p->dims[i].axis = s->shape[i]->name;
    }
    if (!s->has_shape) { /* a sketch: any */
        p->rank = 2;
    }
}

static bool declared_twice(Checker *c, const Place *p, const Stmt *s)
{
    if (!p->exists)
        return false;
    Diag *d = diag_add(c->diags, TW0403, s->name_span, "'%s' is already %s", s->name,
                       p->space == SPACE_GLOBAL ? "declared" : "allocated in this memory");
    int line, column;
    source_place(c->program->source, p->span.start, &line, &column);
    const Stmt *first = s->kind == STMT_OUTPUT ? unit_tensor(c->unit, s->name) : NULL; /* NULL: it stands in a loop */
    bool in_place = first && first->kind == STMT_INPUT;
    diag_note(c->diags, d, in_place ? "in line %d, as an Input, which stays as it is: an Output is another tensor" : "in line %d", line);
    if (!in_place)
        fix_removal(c, d, s, "remove it");
    return true;
}

static bool room_for_more(Checker *c, const Stmt *s)
{
    if (c->tensors.len < WALK_MAX_TENSORS)
        return true;
    if (!c->too_long)
        diag_add(c->diags, TW0108, s->span, "a unit may have %d tensors", WALK_MAX_TENSORS);
    c->too_long = true;
    return false;
}

static void declare(Checker *c, Place *p, const Stmt *s)
{
    p->exists = true;
    p->span = s->name_span;
    p->decl = s;
    p->has_dtype = s->has_dtype;
    p->dtype = s->dtype;
    dtype_known(c, s);
    set_shape(c, p, s);
}

void names_tensor(Checker *c, const Stmt *s)
{
    if (!room_for_more(c, s))
        return;
    Place *p = &names_add(c, s->name)->places[SPACE_GLOBAL];
    if (declared_twice(c, p, s))
        return;
    declare(c, p, s);
    p->is_input = s->kind == STMT_INPUT;
    p->is_output = s->kind == STMT_OUTPUT;
    p->now.written = p->is_input ? WRITTEN_YES : WRITTEN_NO;
}

/* A register or shared tile is laid out when compiling, so its sizes must be known. */
static void check_known_sizes(Checker *c, Place *p, const Stmt *s)
{
    for (int i = 0; i < p->rank && !c->loose; i++)
        if (p->dims[i].size && !aff_is_const(p->dims[i].size, NULL)) {
            p->dims[i].size = NULL;
            if (values_refused(c, s->shape[i]))
                continue;
            Diag *d = diag_add(c->diags, TW0410, s->shape[i]->span,
                               "the size of a tile in %s memory is not known "
                               "when compiling",
                               space_name(p->space));
            diag_note(c->diags, d, "assign a number to what it is made of, or give it with --set");
        }
}

/* Allocate X in global (...) with offset: where a block's part of X begins. */
static void allocate_global(Checker *c, Place *p, const Stmt *s)
{
    bool is_input = p->is_input, is_output = p->is_output;
    if (p->exists && !is_input && !is_output && declared_twice(c, p, s))
        return;
    Written written = p->exists ? p->now.written : WRITTEN_YES;
    declare(c, p, s);
    p->is_input = is_input;
    p->is_output = is_output;
    p->now.written = written;
    if (s->offset)
        values_integer(c, s->offset);
}

void names_allocate(Checker *c, const Stmt *s)
{
    if (!room_for_more(c, s))
        return;
    Place *p = &names_add(c, s->name)->places[s->space];
    if (s->space == SPACE_GLOBAL) {
        allocate_global(c, p, s);
        return;
    }
    if (!p->given && declared_twice(c, p, s)) /* given: it was used above, which is said there */
        return;
    if (c->n_loops)
        diag_add(c->diags, TW0404, s->span,
                 "a tile is allocated outside of loops: it is one storage for all "
                 "iterations");
    declare(c, p, s);
    check_known_sizes(c, p, s);
}
