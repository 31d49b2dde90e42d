/* elements.c: elements of a Kernel's own tiles in formulas.
 *
 *   Compute Define P (BM, BN) as exp(S[row, col] - M[row, 0])    ->    Compute Subtract S, M and get P_part1
 *                                                                      Compute Exp P_part1 and get P
 *
 * Elements are read in global memory. Where a formula means those of a tile that the Kernel holds, at the place of
 * the element that is defined or masked, the tile is an operand (formula.h). In code, such an element of a tile
 * that has the name of an Input is the tile's; in a sketch it is the Input's at the same place, unless the Kernel computed
 * the tile.
 */
#include "lang/formula.h"

#include <math.h>

enum { MOST_OPERATIONS = 64, MOST_DEPTH = 64 };

typedef struct Tile {
    const char *name;
    const Expr *rows, *cols; /* NULL: a sketch does not say */
    bool written, computed;
} Tile;

/* What a part is: a name, and along what it differs. */
typedef struct Operand {
    const Expr *e;
    bool rows, cols;
} Operand;

typedef struct Speller {
    Arena *arena;
    const Unit *unit;
    bool is_code;
    VEC(Tile) tiles;
    VEC(Stmt *) allocated; /* for what formulas leave on the way */
    Block *out;
    const Stmt *stmt;      /* whose formula it is */
    const char *name;      /* of what it gives, or masks */
    const Expr *rows, *cols; /* its size; NULL: a sketch does not say */
    int fresh;
    FormulaMaker maker;
    bool failed, changed;
} Speller;

/* ---- tiles ---------------------------------------------------------------------------------- */

static Tile *find_tile(Speller *s, const char *name)
{
    for (int i = 0; i < s->tiles.len; i++)
        if (text_equal(s->tiles.data[i].name, name))
            return &s->tiles.data[i];
    return NULL;
}

static Tile *tile_called(Speller *s, const char *name)
{
    Tile *tile = find_tile(s, name);

    if (tile)
        return tile;
    Tile new = {.name = name};
    vec_push(s->arena, &s->tiles, new);
    return find_tile(s, name);
}

static void allocate(Speller *s, const Stmt *stmt)
{
    Tile *tile = stmt->space != SPACE_GLOBAL && stmt->n_shape == 2 ? tile_called(s, stmt->name) : NULL;

    if (tile) {
        tile->rows = stmt->shape[0];
        tile->cols = stmt->shape[1];
    }
}

static void write_tile(Speller *s, const char *name, bool computed)
{
    Tile *tile = !name ? NULL : s->is_code ? find_tile(s, name) : tile_called(s, name);

    if (tile) {
        tile->written = true;
        tile->computed |= computed;
    }
}

static void note_written(Speller *s, const Stmt *stmt)
{
    if (stmt->kind == STMT_COPY && (stmt->to_space == SPACE_SHARED || stmt->to_space == SPACE_REGISTER))
        write_tile(s, copy_tile(stmt), false);
    if (stmt->kind != STMT_COMPUTE)
        return;
    write_tile(s, stmt->dest ? expr_base_name(stmt->dest) : stmt->n_args ? expr_base_name(stmt->args[0]) : NULL, true);
    for (int i = 0; i < stmt->n_with; i++)
        write_tile(s, expr_base_name(stmt->with[i]), true);
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool is_declared(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->name && strcmp(unit->body.data[i]->name, name) == 0)
            return true;
    return false;
}

/* `row`, `row()`, `row(S)` */
static bool is_word(const Speller *s, const Expr *e, const char *word)
{
    if (e->kind == EXPR_CALL)
        return e->n_args <= 1 && text_equal_nocase(e->name, word);
    return e->kind == EXPR_NAME && text_equal_nocase(e->name, word) && !is_declared(s->unit, e->name);
}

/* Whether a coordinate is the element's own along the rows, or the columns. */
static bool is_own_place(const Speller *s, const Expr *e, bool rows)
{
    const Expr *size = rows ? s->rows : s->cols, *other = rows ? s->cols : s->rows;
    const Stmt *index = e->kind == EXPR_NAME ? unit_index(s->unit, e->name) : NULL;

    if (is_word(s, e, rows ? "row" : "col"))
        return true;
    if (!index || index->value || s->is_code)
        return false;
    if (size && !expr_is_name(size, index->over))
        return false;
    if (size && !expr_is_name(other, index->over))
        return true;
    return index_side(&s->unit->body, index->name, index->over) == (rows ? INDEX_ROWS : INDEX_COLS);
}

/* Along rows or columns: 1 where the tile has the element's own place, 0 where it has but one, -1: neither. */
static int lies_along(const Speller *s, const Expr *size, const Expr *at, bool rows)
{
    const Expr *own = rows ? s->rows : s->cols;
    bool single = at ? at->kind == EXPR_INT && at->i == 0 : expr_is_one(size) && !expr_is_one(own);

    if (single)
        return !size || expr_is_one(size) ? 0 : -1;
    if (size && own && !expr_equal(size, own))
        return -1;
    return !at || is_own_place(s, at, rows) ? 1 : -1;
}

/* ---- parts (formula.h) ------------------------------------------------------------------------- */

static void *own(void *user, const Expr *e)
{
    Speller *s = user;
    const char *name = e->kind == EXPR_INDEX && e->a->kind != EXPR_INDEX ? expr_base_name(e->a) : NULL;
    const Tile *tile = name ? find_tile(s, name) : NULL;
    bool dots = e->n_args == 1 && e->args[0]->kind == EXPR_ELLIPSIS;

    if (!tile || !tile->written || (s->is_code ? !tile->rows : unit_tensor(s->unit, name) && !tile->computed))
        return NULL;
    if (!dots && (e->n_args != 2 || e->args[0]->kind == EXPR_ELLIPSIS || e->args[1]->kind == EXPR_ELLIPSIS))
        return NULL;
    int rows = lies_along(s, tile->rows, dots ? NULL : e->args[0], true), cols = lies_along(s, tile->cols, dots ? NULL : e->args[1], false);
    if (rows < 0 || cols < 0)
        return NULL;
    Operand *operand = arena_new_of(s->arena, Operand);
    *operand = (Operand){e->a, rows, cols};
    return operand;
}

static bool is_plain(void *user, const Expr *where)
{
    const Speller *s = user;

    return !formula_has_own(&s->maker, where);
}

static bool number(void *user, const Expr *e, double *value)
{
    if (e->kind == EXPR_UNARY && e->op == EO_NEG && number(user, e->a, value))
        return *value = -*value, true;
    *value = e->kind == EXPR_INT ? (double)e->i : e->f;
    return e->kind == EXPR_INT || e->kind == EXPR_FLOAT;
}

/* Whether an expression differs along the rows, or the columns. */
static bool differs(const Speller *s, const Expr *e, bool rows)
{
    if (!e)
        return false;
    if (is_word(s, e, rows ? "row" : "col") || e->kind == EXPR_ELLIPSIS || (e->kind == EXPR_NAME && unit_index(s->unit, e->name)))
        return true;
    for (int i = 0; i < e->n_args && e->kind != EXPR_WORDS; i++)
        if (differs(s, e->args[i], rows))
            return true;
    return differs(s, e->a, rows) || differs(s, e->b, rows);
}

/* `row(Y)` as `row(of)` */
static Expr *places_of(const Speller *s, const Expr *e, const char *of)
{
    Expr *copy = expr_copy(s->arena, e);

    if (e->kind == EXPR_CALL && e->n_args == 1 && (is_word(s, e, "row") || is_word(s, e, "col"))) {
        copy->args[0] = expr_name(s->arena, of);
        return copy;
    }
    for (int i = 0; i < e->n_args; i++)
        copy->args[i] = places_of(s, e->args[i], of);
    copy->a = e->a ? places_of(s, e->a, of) : NULL;
    copy->b = e->b ? places_of(s, e->b, of) : NULL;
    return copy;
}

static const char *fresh_name(Speller *s)
{
    const char *name;

    do
        name = arena_printf(s->arena, "%s_part%d", s->name, ++s->fresh);
    while (is_declared(s->unit, name) || block_mentions(&s->unit->body, name));
    return name;
}

static Expr *size_of(const Speller *s, bool differs_along, bool rows)
{
    return differs_along ? expr_copy(s->arena, rows ? s->rows : s->cols) : expr_int(s->arena, 1);
}

static Expr **shape_of(const Speller *s, bool rows, bool cols)
{
    Expr **shape = arena_array(s->arena, Expr *, 2);

    shape[0] = size_of(s, rows, true);
    shape[1] = size_of(s, cols, false);
    return shape;
}

static Operand *new_operand(Speller *s, bool rows, bool cols)
{
    Operand *operand = arena_new_of(s->arena, Operand);

    *operand = (Operand){expr_name(s->arena, fresh_name(s)), rows, cols};
    if (!s->is_code)
        return operand;
    Stmt *stmt = stmt_new(s->arena, STMT_ALLOCATE);
    stmt->name = operand->e->name;
    stmt->span = stmt->name_span = s->stmt->span;
    stmt->space = SPACE_REGISTER;
    stmt->has_shape = true;
    stmt->n_shape = 2;
    stmt->shape = shape_of(s, rows, cols);
    stmt->has_dtype = true;
    stmt->dtype = DT_F32;
    vec_push(s->arena, &s->allocated, stmt);
    return operand;
}

static Stmt *new_compute(Speller *s, OpId op, int n_args)
{
    Stmt *stmt = stmt_new(s->arena, STMT_COMPUTE);

    stmt->span = stmt->op_span = s->stmt->span;
    stmt->op = op;
    stmt->op_known = true;
    stmt->op_name = op_info(op)->name;
    stmt->args = arena_array(s->arena, Expr *, n_args);
    stmt->n_args = n_args;
    vec_push(s->arena, s->out, stmt);
    return stmt;
}

static Expr *written(const Speller *s, const Expr *e)
{
    Expr *copy = expr_copy(s->arena, e);

    copy->span = s->stmt->span;
    return copy;
}

static void give(Speller *s, Stmt *stmt, const Operand *to)
{
    const Tile *tile = expr_base_name(to->e) ? find_tile(s, expr_base_name(to->e)) : NULL;

    stmt->result = tile && tile->written ? RESULT_GET_NEW : RESULT_GET;
    stmt->dest = written(s, to->e);
}

static FormulaPart define(void *user, const Expr *e)
{
    Speller *s = user;
    bool rows = differs(s, e, true), cols = differs(s, e, false);

    if (!rows && !cols && !expr_reads(e, NULL))
        return (FormulaPart){.number = e};
    if (!s->rows) { /* of no size that is known: the sketch's statement stays as it is */
        s->failed = true;
        return (FormulaPart){.number = e};
    }
    rows |= !cols;
    const Operand *to = new_operand(s, rows, cols);
    Stmt *stmt = new_compute(s, OP_DEFINE, 1);
    stmt->args[0] = written(s, to->e);
    stmt->has_shape = true;
    stmt->n_shape = 2;
    stmt->shape = shape_of(s, rows, cols);
    stmt->value = places_of(s, e, to->e->name);
    return (FormulaPart){.value = (void *)to};
}

static void *operate(void *user, OpId op, const FormulaPart *args, int n, void *into)
{
    Speller *s = user;
    bool rows = false, cols = false;

    for (int i = 0; i < n; i++) {
        const Operand *arg = args[i].value;
        rows |= arg && arg->rows;
        cols |= arg && arg->cols;
    }
    Operand *to = into ? into : new_operand(s, rows, cols);
    Stmt *stmt = new_compute(s, op, n);
    for (int i = 0; i < n; i++) {
        const Operand *arg = args[i].value;
        stmt->args[i] = written(s, arg ? arg->e : args[i].number);
    }
    give(s, stmt, to);
    return to;
}

static void *mask(void *user, const Expr *where, FormulaPart x, double otherwise, void *into)
{
    Speller *s = user;
    const Operand *masked = x.value;

    if ((differs(s, where, true) && !masked->rows) || (differs(s, where, false) && !masked->cols))
        return NULL;
    Operand *to = into ? into : new_operand(s, masked->rows, masked->cols);
    Stmt *stmt = new_compute(s, OP_MASK, 1);
    stmt->args[0] = written(s, masked->e);
    stmt->where = places_of(s, where, expr_base_name(masked->e));
    stmt->otherwise = otherwise == -INFINITY ? NULL : expr_float(s->arena, otherwise);
    give(s, stmt, to);
    return to;
}

/* ---- statements ------------------------------------------------------------------------------------- */

static bool begin(Speller *s, const Stmt *stmt, const char *name, const Expr *rows, const Expr *cols)
{
    s->stmt = stmt;
    s->name = name;
    s->rows = rows;
    s->cols = cols;
    s->failed = false;
    return name != NULL;
}

static bool begin_define(Speller *s, const Stmt *stmt)
{
    const char *name = stmt->n_args ? expr_base_name(stmt->args[0]) : NULL;
    int n = stmt->n_shape;

    return n >= 2 && begin(s, stmt, name, stmt->shape[n - 2], stmt->shape[n - 1]) && formula_has_own(&s->maker, stmt->value);
}

/* A condition about the elements of a tile. */
static bool begin_mask(Speller *s, const Stmt *stmt)
{
    const char *name = stmt->n_args ? expr_base_name(stmt->args[0]) : NULL;
    const Tile *tile = name ? find_tile(s, name) : NULL;

    return stmt->where && tile && begin(s, stmt, name, tile->rows, tile->cols) && formula_has_own(&s->maker, stmt->where);
}

/* Where condition, A, B */
static bool begin_where(Speller *s, const Stmt *stmt)
{
    const Expr *of = stmt->n_args == 3 ? stmt->args[1] : NULL;
    const Tile *tile = of && expr_base_name(of) ? find_tile(s, expr_base_name(of)) : NULL;

    if (of && !tile)
        of = stmt->args[2];
    tile = of && expr_base_name(of) ? find_tile(s, expr_base_name(of)) : NULL;
    return tile && begin(s, stmt, tile->name, tile->rows, tile->cols) && formula_has_own(&s->maker, stmt->args[0]);
}

static FormulaPart operand_of(Speller *s, const Expr *e)
{
    Operand *operand = arena_new_of(s->arena, Operand);
    double value;

    *operand = (Operand){e, true, true};
    return number(s, e, &value) ? (FormulaPart){.number = e} : (FormulaPart){.value = operand};
}

static bool spelled_where(Speller *s, Operand *into)
{
    FormulaPart parts[3], part;
    double otherwise;

    for (int i = 1; i < 3; i++)
        parts[i] = operand_of(s, s->stmt->args[i]);
    if (parts[1].value && number(s, s->stmt->args[2], &otherwise))
        return formula_keep(&s->maker, s->stmt->args[0], parts[1], otherwise, into, &part);
    if (!formula_condition(&s->maker, s->stmt->args[0], &parts[0]))
        return false;
    operate(s, OP_WHERE, parts, 3, into);
    return true;
}

static bool spelled_out(Speller *s)
{
    const Stmt *stmt = s->stmt;
    Operand *into = arena_new_of(s->arena, Operand), *x = arena_new_of(s->arena, Operand);
    double otherwise = -INFINITY;
    FormulaPart part;

    *into = (Operand){stmt->dest ? stmt->dest : stmt->args[stmt->op == OP_WHERE], true, true};
    if (stmt->op == OP_WHERE)
        return spelled_where(s, into) && !s->failed;
    if (stmt->op == OP_DEFINE)
        return formula_take_apart(&s->maker, stmt->value, into, &part) && !s->failed;
    *x = (Operand){stmt->args[0], true, true};
    if (stmt->otherwise && !number(s, stmt->otherwise, &otherwise))
        return false;
    return formula_keep(&s->maker, stmt->where, (FormulaPart){.value = x}, otherwise, into, &part) && !s->failed;
}

/* Whether operations stand in the statement's place now. */
static bool spell(Speller *s, const Stmt *stmt, Block *out)
{
    int len = out->len, allocated = s->allocated.len;

    s->out = out;
    s->maker = (FormulaMaker){.arena = s->arena, .user = s, .room = MOST_OPERATIONS, .own = own, .is_plain = is_plain, .number = number,
                              .define = define, .operate = operate, .mask = mask};
    bool formula = stmt->kind == STMT_COMPUTE && stmt->op_known &&
                   ((stmt->op == OP_DEFINE && begin_define(s, stmt)) || (stmt->op == OP_MASK && begin_mask(s, stmt)) ||
                    (stmt->op == OP_WHERE && begin_where(s, stmt)));
    if (formula && spelled_out(s)) {
        out->data[len]->comment = stmt->comment;
        return s->changed = true;
    }
    out->len = len;
    s->allocated.len = allocated;
    return false;
}

static Block spelled(Speller *s, const Block *block, int depth);

static void spell_into(Speller *s, Stmt *stmt, int depth, Block *out)
{
    if (stmt->kind == STMT_ALLOCATE)
        allocate(s, stmt);
    if ((stmt->kind == STMT_FOR || stmt->kind == STMT_IF) && depth < MOST_DEPTH) {
        Stmt *inner = arena_new_of(s->arena, Stmt);
        *inner = *stmt;
        inner->body = spelled(s, &stmt->body, depth + 1);
        inner->orelse = spelled(s, &stmt->orelse, depth + 1);
        vec_push(s->arena, out, inner);
        return;
    }
    if (!spell(s, stmt, out))
        vec_push(s->arena, out, stmt);
    note_written(s, stmt);
}

static Block spelled(Speller *s, const Block *block, int depth)
{
    Block out = {.comment = block->comment};

    for (int i = 0; i < block->len; i++)
        spell_into(s, block->data[i], depth, &out);
    return out;
}

/* Outside of loops, what a formula leaves on the way is allocated in front of it. */
static Block with_allocated(Speller *s, const Block *body)
{
    Block out = {.comment = body->comment};

    for (int i = 0; i < body->len; i++) {
        Block made = {0};
        int allocated = s->allocated.len;

        spell_into(s, body->data[i], 0, &made);
        for (int k = allocated; k < s->allocated.len; k++)
            vec_push(s->arena, &out, s->allocated.data[k]);
        for (int k = 0; k < made.len; k++)
            vec_push(s->arena, &out, made.data[k]);
    }
    return out;
}

static bool allocates(const Block *body)
{
    for (int i = 0; i < body->len; i++)
        if (body->data[i]->kind == STMT_ALLOCATE)
            return true;
    return false;
}

Unit *unit_spell_elements(Arena *arena, Unit *unit)
{
    Speller s = {.arena = arena, .unit = unit, .is_code = allocates(&unit->body)};
    Block body = with_allocated(&s, &unit->body);

    if (!s.changed)
        return unit;
    Unit *out = arena_new_of(arena, Unit);
    *out = *unit;
    out->body = body;
    return out;
}
