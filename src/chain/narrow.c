/* narrow.c: the same code with smaller tiles, to be executed in place of what has large ones.
 *
 *   BM = 128, BN = 256                       BM = 32 , BN = 64
 *   Allocate A in shared (BM, 64) bf16       Allocate A in shared (BM, 16) bf16
 *   for k = 0:ceil(K / 64)                   for k = 0:ceil(K / 16)
 *
 * Code that says its sizes consistently means the same with others, and takes work with their product. So the sizes of tiles become
 * small ones in the same order: those that are assigned as numbers, and numbers in shapes of tiles, wherever the Kernel says these.
 * A text keeps its length, so that edits of the one are edits of the other.
 * Where a number elsewhere in a Kernel is one of the small ones it would mean a tile that it did not, and where one says how many
 * tiles there are it would be another: then all stay as they are. */
#include "chain/agree.h"
#include "check/check.h"

enum { LEAST = 16 }; /* as many elements as a side of the smallest product has */

typedef VEC(const Expr *) Numbers;
typedef VEC(int64_t) Values;

typedef struct Narrow {
    Arena *arena;
    const Program *program;
    Numbers said;     /* by the Kernels, but for their tensors and schedules */
    Numbers assigned; /* of these, what names of sizes are */
    Values sizes;     /* all */
    Values written;   /* those that shapes have as numbers */
} Narrow;

static bool has(const Values *values, int64_t value)
{
    for (int i = 0; i < values->len; i++)
        if (values->data[i] == value)
            return true;
    return false;
}

static void add(Narrow *n, Values *values, int64_t value)
{
    if (!has(values, value))
        vec_push(n->arena, values, value);
}

/* ---- what means something beside tiles ---------------------------------------------------------- */

static bool is_tensor(const Stmt *s)
{
    return s->kind == STMT_INPUT || s->kind == STMT_OUTPUT;
}

/* A dimension of a tensor, or what the Operator gives a number. */
static bool is_name_of_all(const Program *program, const char *name)
{
    for (int i = 0; i < program->units.len; i++) {
        const Unit *unit = program->units.data[i];

        for (int k = 0; k < unit->body.len; k++) {
            const Stmt *s = unit->body.data[k];

            if ((unit->kind != UNIT_KERNEL || s->kind == STMT_PARAM) && s->name && strcmp(s->name, name) == 0)
                return true;
            for (int d = 0; is_tensor(s) && d < s->n_shape; d++)
                if (expr_mentions(s->shape[d], name))
                    return true;
        }
    }
    return false;
}

static bool is_number(const void *value, const Expr *e)
{
    return e->kind == EXPR_INT && e->i == *(const int64_t *)value;
}

/* A size of a tensor, or of what has a name that means something to all. */
static bool is_value_of_all(const Program *program, int64_t value)
{
    for (int i = 0; i < program->units.len; i++)
        for (int k = 0; k < program->units.data[i]->body.len; k++) {
            const Stmt *s = program->units.data[i]->body.data[k];
            bool named = s->value && s->name && is_name_of_all(program, s->name) && expr_any(s->value, is_number, &value);

            for (int d = 0; is_tensor(s) && d < s->n_shape; d++)
                named |= expr_any(s->shape[d], is_number, &value);
            if (named)
                return true;
        }
    return false;
}

/* ---- which are sizes of tiles ---------------------------------------------------------------------- */

static bool shapes_tile(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        for (int d = 0; s->kind == STMT_ALLOCATE && d < s->n_shape; d++)
            if (expr_mentions(s->shape[d], name))
                return true;
        if (shapes_tile(&s->body, name) || shapes_tile(&s->orelse, name))
            return true;
    }
    return false;
}

static bool note_number(const void *user, const Expr *e)
{
    Narrow *n = *(Narrow *const *)user;

    if (e->kind == EXPR_INT && e->i >= LEAST)
        vec_push(n->arena, &n->said, e);
    return false;
}

static void note_numbers(Narrow *n, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *said[] = {s->value, s->where, s->otherwise, s->lo, s->hi, s->stage, s->by, s->step, s->to, s->target, s->dest};

        if (s->kind == STMT_SCHEDULE || is_tensor(s))
            continue;
        for (size_t k = 0; k < TW_COUNT(said); k++)
            expr_any(said[k], note_number, &n);
        for (int k = 0; k < s->n_coords; k++)
            expr_any(s->coords[k].value, note_number, &n);
        for (int k = 0; k < s->n_args; k++)
            expr_any(s->args[k], note_number, &n);
        for (int k = 0; k < s->n_shape; k++) {
            const Expr *size = s->shape[k];

            expr_any(size, note_number, &n);
            if (s->kind == STMT_ALLOCATE && size->kind == EXPR_INT && size->i > LEAST && !is_value_of_all(n->program, size->i))
                add(n, &n->written, size->i);
        }
        note_numbers(n, &s->body);
        note_numbers(n, &s->orelse);
    }
}

static void note_assigned(Narrow *n, const Unit *kernel)
{
    for (int i = 0; i < kernel->body.len; i++) {
        const Stmt *s = kernel->body.data[i];
        bool number = s->kind == STMT_ASSIGN && s->value && s->value->kind == EXPR_INT && s->value->i > LEAST;

        if (number && shapes_tile(&kernel->body, s->name) && !is_name_of_all(n->program, s->name)) {
            vec_push(n->arena, &n->assigned, s->value);
            add(n, &n->sizes, s->value->i);
        }
    }
}

static bool is_assigned(const Narrow *n, const Expr *number)
{
    for (int i = 0; i < n->assigned.len; i++)
        if (n->assigned.data[i] == number)
            return true;
    return false;
}

/* ---- tiles of which a number says how many there are --------------------------------------------- */

/* How far a Copy reaches along a dimension; NULL: it has one entry of it. */
static const Expr *extent_along(const Unit *kernel, const Stmt *copy, const char *dim)
{
    const Stmt *tensor = copy->has_shape ? unit_tensor(kernel, copy_tensor(copy)) : NULL;
    int lead = tensor ? tensor->n_shape - copy->n_shape : 0;

    for (int d = lead < 0 ? 0 : lead; tensor && d < tensor->n_shape; d++)
        if (expr_is_name(tensor->shape[d], dim) && d - lead < copy->n_shape && !expr_is_one(copy->shape[d - lead]))
            return copy->shape[d - lead];
    return NULL;
}

static bool copies_along(const Unit *kernel, const Block *block, const char *counter)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_COPY && k < s->n_coords; k++)
            if (s->coords[k].name && s->coords[k].value && expr_is_name(s->coords[k].value, counter) && extent_along(kernel, s, s->coords[k].name))
                return true;
        if (copies_along(kernel, &s->body, counter) || copies_along(kernel, &s->orelse, counter))
            return true;
    }
    return false;
}

/* `for k = 0:2` over tiles of 64: of smaller ones there are more. */
static bool counts_tiles(const Unit *kernel, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool counts = s->kind == STMT_FOR && s->hi && s->hi->kind == EXPR_INT && copies_along(kernel, &s->body, s->name);

        if (counts || counts_tiles(kernel, &s->body) || counts_tiles(kernel, &s->orelse))
            return true;
    }
    return false;
}

/* ---- smaller ones ------------------------------------------------------------------------------------ */

/* A power of two for each, so that what was smaller than another is so. */
static int64_t smaller(const Narrow *n, int64_t size)
{
    int64_t small = LEAST;

    for (int i = 0; i < n->sizes.len; i++)
        small *= n->sizes.data[i] < size ? 2 : 1;
    return small < size ? small : size;
}

static bool is_small(const Narrow *n, int64_t number)
{
    for (int i = 0; i < n->sizes.len; i++)
        if (smaller(n, n->sizes.data[i]) == number)
            return true;
    return false;
}

/* Writes the smaller number in place of another, if there is room. */
static bool put(const Narrow *n, char *text, const Expr *number)
{
    const char *digits = arena_printf(n->arena, "%lld", (long long)smaller(n, number->i));
    size_t room = (size_t)(number->span.end - number->span.start), len = strlen(digits);

    if (len > room)
        return false;
    memset(text + number->span.start, ' ', room);
    memcpy(text + number->span.start, digits, len);
    return true;
}

const Source *narrow_tiles(Arena *arena, const Source *source)
{
    Narrow n = {.arena = arena, .program = lang_parse(arena, syms_new(arena), source, diags_new(arena, source))};
    Source *narrow = arena_new_of(arena, Source);
    char *text = arena_strndup(arena, source->text, source->len);

    for (int i = 0; i < n.program->units.len; i++) {
        const Unit *unit = n.program->units.data[i];

        if (unit->kind == UNIT_KERNEL && !check_is_sketch(unit)) {
            if (counts_tiles(unit, &unit->body))
                return NULL;
            note_numbers(&n, &unit->body);
            note_assigned(&n, unit);
        }
    }
    for (int i = 0; i < n.written.len; i++)
        add(&n, &n.sizes, n.written.data[i]);
    for (int i = 0; i < n.said.len; i++) {
        const Expr *e = n.said.data[i];
        bool size = is_assigned(&n, e) || has(&n.written, e->i);

        if (size ? !put(&n, text, e) : is_small(&n, e->i))
            return NULL;
    }
    *narrow = (Source){source->path, text, source->len};
    return strcmp(text, source->text) != 0 ? narrow : NULL;
}
