/* propose_sizes.c: a smaller tile where its size is written as a number everywhere.
 *
 *   Allocate KV in shared (2, 64, 576)            Allocate KV in shared (2, 32, 576)
 *   Allocate S in register (64, 64)               Allocate S in register (64, 32)
 *   Compute CeilDivide len, 64 and get n     ->   Compute CeilDivide len, 32 and get n
 *   for i = 0:n                                   for i = 0:n
 *     Copy KV (64, 576) in coordinate [L = i] ...   Copy KV (32, 576) in coordinate [L = i] ...
 *     Compute GEMM Q, KV[i % 2].T and get S         Compute GEMM Q, KV[i % 2].T and get S
 *     Compute Mask S where i * 64 + col(S) < len    Compute Mask S where i * 32 + col(S) < len
 *
 * Which of the equal numbers mean this size follows from what the statements do. Vocabulary
 *   side    rows or columns of a tile that are as many as the size, and must stay so
 *   counter a name that counts such tiles: in their coordinates, in bounds of loops
 *   place   where the number itself is written
 */
#include "suggest/proposal.h"

#include "check/check.h"

enum { MOST_PLACES = 128 };

typedef struct Side {
    const Unit *unit;
    const char *name;
    bool cols;
} Side;

typedef struct Counter {
    const Unit *unit;
    const char *name;
} Counter;

typedef struct Sizes {
    Suggester *s;
    Arena *arena;
    const Program *program;
    const Unit *unit; /* that is walked */
    int64_t size;
    VEC(Side) sides;
    VEC(Counter) counters;
    VEC(const Expr *) places;
    bool grew;
} Sizes;

/* ---- what is known so far ----------------------------------------------------------------- */

static bool is_size(const Sizes *z, const Expr *e)
{
    return e && e->kind == EXPR_INT && e->i == z->size && e->span.end > e->span.start;
}

static void add_place(Sizes *z, const Expr *e)
{
    if (!is_size(z, e))
        return;
    for (int i = 0; i < z->places.len; i++)
        if (z->places.data[i] == e || z->places.data[i]->span.start == e->span.start)
            return;
    vec_push(z->arena, &z->places, e);
    z->grew = true;
}

static bool counts(const Sizes *z, const char *name)
{
    for (int i = 0; name && i < z->counters.len; i++)
        if (z->counters.data[i].unit == z->unit && strcmp(z->counters.data[i].name, name) == 0)
            return true;
    return false;
}

static void add_counter(Sizes *z, const char *name)
{
    if (!name || counts(z, name))
        return;
    vec_push(z->arena, &z->counters, (Counter){z->unit, name});
    z->grew = true;
}

/* Names in a coordinate or a bound: `i`, `i + 1`, `min(i1, n)`. */
static void add_counters(Sizes *z, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_NAME)
        add_counter(z, e->name);
    if (e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB)) {
        add_counters(z, e->a);
        add_counters(z, e->b);
    }
    for (int i = 0; e->kind == EXPR_CALL && (text_equal_nocase(e->name, "min") || text_equal_nocase(e->name, "max")) &&
                    i < e->n_args; i++)
        add_counters(z, e->args[i]);
}

/* The size written for a side of a declared shape; NULL: none. A single one is of rows. */
static const Expr *shape_side(Expr *const *shape, int n, bool cols)
{
    if (n == 1)
        return cols ? NULL : shape[0];
    return n >= 2 ? shape[n - 1 - !cols] : NULL;
}

/* Whether some allocation of the tile has the size there: a side of 1 that is broadcast has not. */
static bool may_be_side(const Sizes *z, const char *name, bool cols)
{
    for (int i = 0; i < z->unit->body.len; i++) {
        const Stmt *s = z->unit->body.data[i];

        if (s->kind == STMT_ALLOCATE && s->space != SPACE_GLOBAL && strcmp(s->name, name) == 0 &&
            is_size(z, shape_side(s->shape, s->n_shape, cols)))
            return true;
    }
    return false;
}

static bool is_side(const Sizes *z, const char *name, bool cols)
{
    for (int i = 0; name && i < z->sides.len; i++)
        if (z->sides.data[i].unit == z->unit && z->sides.data[i].cols == cols && strcmp(z->sides.data[i].name, name) == 0)
            return true;
    return false;
}

static void add_side(Sizes *z, const char *name, bool cols)
{
    if (!name || is_side(z, name, cols) || !may_be_side(z, name, cols))
        return;
    vec_push(z->arena, &z->sides, (Side){z->unit, name, cols});
    z->grew = true;
}

/* ---- operands --------------------------------------------------------------------------------- */

/* A side of an operand as it was written; NULL where a part of it was taken. */
typedef struct End {
    const char *name;
    bool cols;
} End;

static bool is_whole(const Expr *range)
{
    return range->kind == EXPR_ELLIPSIS || (range->kind == EXPR_RANGE && !range->a && !range->b);
}

static End end_of(const Expr *e, bool cols)
{
    const Expr *index = NULL;
    const char *name = expr_base_name(e);

    for (; e && e->kind != EXPR_NAME; e = e->a) {
        cols ^= e->kind == EXPR_TRANSPOSE;
        index = e->kind == EXPR_INDEX ? e : index;
    }
    if (index && index->n_args >= 2) { /* [rows, cols], perhaps a stage before them */
        const Expr *range = index->args[index->n_args - 1 - !cols];

        if (!is_whole(range))
            name = NULL;
    }
    return (End){name, cols};
}

static void tie(Sizes *z, End a, End b)
{
    if (!a.name || !b.name)
        return;
    if (is_side(z, a.name, a.cols))
        add_side(z, b.name, b.cols);
    if (is_side(z, b.name, b.cols))
        add_side(z, a.name, a.cols);
}

static const Expr *result_of(const Stmt *s)
{
    return compute_result(s);
}

/* ---- numbers in expressions -------------------------------------------------------------------- */

/* `i * 64`, where i counts the tiles. */
static bool is_begin(Sizes *z, const Expr *e)
{
    if (!e || e->kind != EXPR_BINARY || e->op != EO_MUL)
        return false;
    if (is_size(z, e->b) && e->a->kind == EXPR_NAME && counts(z, e->a->name))
        add_place(z, e->b);
    else if (is_size(z, e->a) && e->b->kind == EXPR_NAME && counts(z, e->b->name))
        add_place(z, e->a);
    else
        return false;
    return true;
}

static bool has_begin(Sizes *z, const Expr *e)
{
    if (!e || e->kind != EXPR_BINARY || (e->op != EO_ADD && e->op != EO_SUB))
        return is_begin(z, e);
    bool left = has_begin(z, e->a), right = has_begin(z, e->b);
    return left || right;
}

/* `i * 64 + 64`, `i * 64 + 63`: the end of the tile is the size behind its begin. */
static void add_ends(Sizes *z, const Expr *e)
{
    if (e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB)) {
        add_ends(z, e->a);
        add_ends(z, e->b);
    } else {
        add_place(z, e);
    }
}

static void walk_expr(Sizes *z, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB) && has_begin(z, e)) {
        add_ends(z, e);
        return;
    }
    is_begin(z, e);
    walk_expr(z, e->a);
    walk_expr(z, e->b);
    for (int i = 0; i < e->n_args; i++)
        walk_expr(z, e->args[i]);
}

/* What tiles are counted by: `ceil(len / 64)`, `len div 64`. */
static void divided(Sizes *z, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_BINARY && (e->op == EO_DIV || e->op == EO_IDIV))
        add_place(z, e->b);
    divided(z, e->a);
    divided(z, e->b);
    for (int i = 0; i < e->n_args; i++)
        divided(z, e->args[i]);
}

static void bound(Sizes *z, const Expr *e)
{
    add_counters(z, e);
    divided(z, e);
}

/* ---- statements ---------------------------------------------------------------------------------- */

static const Stmt *global_of(const Sizes *z, const char *tensor)
{
    const Stmt *found = NULL;

    for (int i = 0; i < z->unit->body.len; i++) {
        const Stmt *s = z->unit->body.data[i];
        bool global = s->kind == STMT_INPUT || s->kind == STMT_OUTPUT ||
                      (s->kind == STMT_ALLOCATE && s->space == SPACE_GLOBAL);

        if (global && s->name && strcmp(s->name, tensor) == 0)
            found = s;
    }
    return found;
}

/* How far from the right the dimension of a coordinate stands; -1: not known. */
static int place_of(const Sizes *z, const Stmt *copy, int i)
{
    const Stmt *global = global_of(z, copy_tensor(copy));

    for (int d = 0; global && copy->coords[i].name && d < global->n_shape; d++)
        if (expr_is_name(global->shape[d], copy->coords[i].name))
            return global->n_shape - 1 - d;
    if (global && copy->n_coords == global->n_shape)
        return global->n_shape - 1 - i;
    return copy->n_coords == 1 ? copy->n_shape - 1 : -1;
}

static void walk_copy(Sizes *z, const Stmt *s)
{
    const char *tile = copy_tile(s);

    for (int cols = 0; cols < 2; cols++) {
        const Expr *size = shape_side(s->shape, s->n_shape, cols);

        if (is_side(z, tile, cols))
            add_place(z, size);
        if (s->as)
            tie(z, (End){s->name, cols}, (End){s->as, cols});
    }
    for (int i = 0; copy_tensor(s) && i < s->n_coords; i++) {
        int at = place_of(z, s, i);
        bool rows = at == 1 || (at == 0 && s->n_shape == 1), cols = at == 0 && s->n_shape > 1;

        if ((rows && is_side(z, tile, false)) || (cols && is_side(z, tile, true)))
            add_counters(z, s->coords[i].value);
    }
}

static void walk_gemm(Sizes *z, const Stmt *s)
{
    if (s->n_args != 2 || !s->dest)
        return;
    tie(z, end_of(s->args[0], true), end_of(s->args[1], false));
    tie(z, end_of(s->args[0], false), end_of(s->dest, false));
    tie(z, end_of(s->args[1], true), end_of(s->dest, true));
}

static void walk_elements(Sizes *z, const Stmt *s, bool rows, bool cols)
{
    const Expr *result = result_of(s);

    for (int i = 0; result && i < s->n_args + s->n_with; i++) {
        const Expr *operand = i < s->n_args ? s->args[i] : s->with[i - s->n_args];

        if (rows)
            tie(z, end_of(operand, false), end_of(result, false));
        if (cols)
            tie(z, end_of(operand, true), end_of(result, true));
    }
}

static bool is_computed(const Sizes *z, const char *name)
{
    return name && !global_of(z, name) && !may_be_side(z, name, false) && !may_be_side(z, name, true);
}

/* Numbers computed in the kernel: `CeilDivide len, 64 and get n`, `Add i0, per and get i1`. */
static void walk_numbers(Sizes *z, const Stmt *s)
{
    const char *result = expr_base_name(result_of(s));
    bool counted = counts(z, result);

    if (s->n_args != 2 || !is_computed(z, result))
        return;
    for (int i = 0; i < 2; i++)
        counted |= s->args[i]->kind == EXPR_NAME && counts(z, s->args[i]->name);
    if (!counted)
        return;
    add_counter(z, result);
    if (s->op == OP_CEIL_DIVIDE && is_size(z, s->args[1]))
        add_place(z, s->args[1]);
    else
        for (int i = 0; i < 2; i++)
            if (s->args[i]->kind == EXPR_NAME && is_computed(z, s->args[i]->name) &&
                (i == 0 || (s->op != OP_CEIL_DIVIDE && s->op != OP_MULTIPLY)))
                add_counter(z, s->args[i]->name);
}

static void walk_compute(Sizes *z, const Stmt *s)
{
    OpClass class = s->op_known ? op_info(s->op)->class : OPC_DEFINE;

    walk_expr(z, s->where);
    walk_expr(z, s->value);
    for (int i = 0; i < s->n_args; i++)
        walk_expr(z, s->args[i]);
    if (class == OPC_GEMM)
        walk_gemm(z, s);
    else if (class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE)
        walk_elements(z, s, class == OPC_ROW_REDUCE, class == OPC_COL_REDUCE);
    else
        walk_elements(z, s, true, true);
    if (class == OPC_ELEMENT)
        walk_numbers(z, s);
}

/* The same statement in another kernel is about the same size. */
static void walk_like(Sizes *z, const Block *block, const Stmt *s, const Expr *place)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *other = block->data[i];

        walk_like(z, &other->body, s, place);
        walk_like(z, &other->orelse, s, place);
        for (int k = 0; stmt_equal(s, other) && k < s->n_args; k++)
            if (s->args[k] == place) {
                add_place(z, other->args[k]);
                add_counter(z, expr_base_name(result_of(other)));
            }
    }
}

static void walk_others(Sizes *z, const Stmt *s)
{
    const Unit *own = z->unit;

    for (int k = 0; s->kind == STMT_COMPUTE && k < s->n_args; k++)
        for (int p = 0; p < z->places.len; p++)
            for (int u = 0; z->places.data[p] == s->args[k] && u < z->program->units.len; u++) {
                z->unit = z->program->units.data[u];
                if (z->unit != own)
                    walk_like(z, &z->unit->body, s, s->args[k]);
                z->unit = own;
            }
}

static void walk_stmt(void *user, const Stmt *s)
{
    Sizes *z = user;

    for (int cols = 0; s->kind == STMT_ALLOCATE && s->space != SPACE_GLOBAL && cols < 2; cols++)
        if (is_side(z, s->name, cols))
            add_place(z, shape_side(s->shape, s->n_shape, cols));
    if (s->kind == STMT_COPY)
        walk_copy(z, s);
    if (s->kind == STMT_COMPUTE)
        walk_compute(z, s);
    if (s->kind == STMT_FOR && counts(z, s->name)) {
        bound(z, s->lo);
        bound(z, s->hi);
    }
    if (s->kind == STMT_IF)
        walk_expr(z, s->where);
    if ((s->kind == STMT_ASSIGN || s->kind == STMT_LET) && counts(z, s->name))
        bound(z, s->value);
    for (int i = 0; s->kind == STMT_GRID && i < s->n_coords; i++)
        if (counts(z, s->coords[i].name))
            bound(z, s->coords[i].value);
    walk_others(z, s);
}

static void find_places(Sizes *z)
{
    do {
        z->grew = false;
        for (int u = 0; u < z->program->units.len; u++) {
            z->unit = z->program->units.data[u];
            suggest_each(&z->unit->body, walk_stmt, z);
        }
    } while (z->grew && z->places.len < MOST_PLACES);
}

/* ---- edits ------------------------------------------------------------------------------------------ */

static void sort_places(Sizes *z)
{
    for (int i = 1; i < z->places.len; i++)
        for (int k = i; k > 0 && z->places.data[k]->span.start < z->places.data[k - 1]->span.start; k--) {
            const Expr *swap = z->places.data[k];

            z->places.data[k] = z->places.data[k - 1];
            z->places.data[k - 1] = swap;
        }
}

static bool try_size(Sizes *z, int64_t size)
{
    Fix *edits = arena_array(z->arena, Fix, z->places.len);
    const char *text = arena_printf(z->arena, "%lld", (long long)size);

    for (int i = 0; i < z->places.len; i++)
        edits[i] = (Fix){.span = z->places.data[i]->span, .text = text};
    return suggest_edits(z->s, edits, z->places.len, "the largest that fits, wherever it is written");
}

static bool try_side(Suggester *s, const char *name, const Expr *size, bool cols)
{
    Sizes z = {.s = s, .arena = s->arena, .program = s->program, .unit = s->unit};

    if (!size || size->kind != EXPR_INT || size->i < 32 || size->i % 16 != 0 || size->i > 4096)
        return false;
    z.size = size->i;
    add_side(&z, name, cols);
    find_places(&z);
    sort_places(&z);
    for (int64_t smaller = size->i / 2 / 16 * 16; z.places.len > 0 && smaller >= 16; smaller = smaller / 2 / 16 * 16)
        if (try_size(&z, smaller))
            return true;
    return false;
}

/* Of shared tiles that have no room: fewer rows of the largest one, or columns. */
bool propose_smaller(Suggester *s)
{
    const Stmt *tile = s->stmt;

    if (!tile || tile->kind != STMT_ALLOCATE)
        return false;
    return try_side(s, tile->name, shape_side(tile->shape, tile->n_shape, false), false) ||
           try_side(s, tile->name, shape_side(tile->shape, tile->n_shape, true), true);
}

/* ---- sizes that have names ------------------------------------------------------------------------- */

typedef VEC(Fix) Edits;

static void add_edit(Suggester *s, Edits *edits, Span span, int64_t size)
{
    Fix edit = {.span = span, .text = arena_printf(s->arena, "%lld", (long long)size)};
    vec_push(s->arena, edits, edit);
}

typedef struct Assigned {
    const Stmt *stmt;
    int64_t size;
} Assigned;
typedef VEC(Assigned) Sizing;

/* The sizes that the unit assigns; of a tile that does not fill the tensor cores those that may be why. */
static Sizing assigned_sizes(Suggester *s)
{
    Block sizes = s->unit ? check_tile_sizes(s->arena, s->unit) : (Block){0};
    Sizing all = {0};

    for (int i = 0; i < sizes.len; i++) {
        const Stmt *stmt = sizes.data[i];
        if (s->diag->code != TW0433 || stmt->value->i % 16 != 0)
            vec_push(s->arena, &all, ((Assigned){stmt, stmt->value->i}));
    }
    return all;
}

static void find_product(void *user, const Stmt *stmt)
{
    bool *found = user;

    *found |= stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->op == OP_GEMM;
}

/* Half of it and so on, of whole atoms where there are products, or, where it is to be whole atoms, the powers of two that
 * follow; 0: none. */
static int64_t other_size(int64_t size, bool larger, int atom, int step)
{
    int64_t next = 16;

    if (!larger)
        return (size >> step) / atom * atom;
    while (next <= size)
        next *= 2;
    return next << (step - 1);
}

static bool try_one_size(Suggester *s, const Sizing *all)
{
    bool larger = s->diag->code == TW0433, products = false;
    suggest_each(&s->unit->body, find_product, &products);
    int atom = products ? 16 : 1, steps = products || larger ? 3 : 6;

    for (int step = 1; step <= steps; step++)
        for (int i = 0; i < all->len; i++) {
            const Stmt *stmt = all->data[i].stmt;
            int64_t size = other_size(all->data[i].size, larger, atom, step);
            const char *text = arena_printf(s->arena, "%lld", (long long)size);
            if (size == 0 || !suggest_edit(s, stmt->value->span, text, larger ? "a size that fits" : "a size that fits beside all else"))
                continue;
            if (!larger)
                diag_note(s->chain->diags, s->diag, "%s = %s fits", stmt->name, text);
            return true;
        }
    return false;
}

/* The largest of them is halved until all fit. */
static bool try_all_sizes(Suggester *s, Sizing *all)
{
    while (s->tries > 0) {
        Assigned *largest = NULL;
        Edits edits = {0};
        for (int i = 0; i < all->len; i++)
            if (all->data[i].size >= 32 && (!largest || all->data[i].size >= largest->size))
                largest = &all->data[i];
        if (!largest)
            return false;
        largest->size = largest->size / 2 / 16 * 16;
        for (int i = 0; i < all->len; i++)
            add_edit(s, &edits, all->data[i].stmt->value->span, all->data[i].size);
        if (suggest_edits(s, edits.data, edits.len, "sizes that fit; one of them alone would not do"))
            return true;
    }
    return false;
}

/* Other numbers for the sizes that the unit assigns, where the rule's is not enough, for its stages, say: for one, else for all. */
bool propose_assigned(Suggester *s)
{
    Sizing all = assigned_sizes(s);

    return try_one_size(s, &all) || (s->diag->code != TW0433 && all.len > 1 && try_all_sizes(s, &all));
}

/* ---- dimensions that do not fill the tensor cores ---------------------------------------------------- */

static bool has_shape_of_tile(const Stmt *stmt)
{
    return stmt->kind == STMT_COPY || (stmt->kind == STMT_ALLOCATE && stmt->space != SPACE_GLOBAL);
}

typedef struct Padding {
    Suggester *s;
    const char *name, *wider; /* the size, and what stands for it then */
    Edits edits;
} Padding;

static void pad(void *user, const Stmt *stmt)
{
    Padding *p = user;

    for (int i = 0; has_shape_of_tile(stmt) && i < stmt->n_shape; i++)
        if (expr_is_name(stmt->shape[i], p->name))
            vec_push(p->s->arena, &p->edits, (Fix){.span = stmt->shape[i]->span, .text = p->wider});
}

static bool try_padded(Suggester *s, const char *name, const char *wider)
{
    Padding p = {.s = s, .name = name, .wider = wider};

    suggest_each(&s->unit->body, pad, &p);
    return p.edits.len && suggest_edits(s, p.edits.data, p.edits.len, "tiles that are whole atoms: zeros are behind the end");
}

/* Of the tensors' dimensions, whose sizes are given elsewhere. */
static bool try_padded_dimensions(Suggester *s)
{
    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];

        for (int k = 0; stmt->kind == STMT_ALLOCATE && k < stmt->n_shape; k++) {
            const Expr *size = stmt->shape[k];

            for (int atom = 16; size->kind == EXPR_NAME && unit_has_dimension(s->unit, size->name) && atom <= 32; atom *= 2)
                if (try_padded(s, size->name, arena_printf(s->arena, "ceil(%s / %d) * %d", size->name, atom, atom)))
                    return true;
        }
    }
    return false;
}

/* Tiles wider than the dimension that they hold: what is copied from beyond its end is zeros. */
bool propose_padded(Suggester *s)
{
    for (int i = 0; s->unit && i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        if (stmt->kind != STMT_ASSIGN || stmt->value->kind != EXPR_INT || stmt->value->i % 16 == 0 || check_is_tile_size(s->unit, stmt))
            continue;
        if (try_padded(s, stmt->name, arena_printf(s->arena, "%lld", (long long)((stmt->value->i + 15) / 16 * 16))))
            return true;
    }
    return s->unit && try_padded_dimensions(s);
}
