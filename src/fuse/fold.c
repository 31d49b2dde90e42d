/* fold.c: entries that share what a kernel streams, as rows of one tile.
 *
 *   Input  Q (batch, q_heads, q_len, D)      Copy Q (packed, D) in coordinate [q_heads = group * 4 + row % 4,
 *   Input  K (batch, kv_heads, kv_len, D)        q_len = row div 4] from global to shared
 *                                            for j over kv_len
 *   q_heads = 32, kv_heads = 8          ->     Copy K from global to shared
 *                                              ...
 *   Grid over q_len, q_heads, batch          Grid over packed, kv_heads, batch
 *
 * Four heads of queries share each head of keys. In blocks of their own, each reads the keys anew, and where
 * there are but few queries, most rows of its tile are empty. Folded, row r of a tile is position r div 4 of the
 * r % 4-th of them, and the keys are read once for all. What lies by head or position is copied row by row, where
 * coordinates say; what is computed of positions or heads takes them from the row.
 *
 * A kernel that streams nothing that is shared stays as it is, and so do all tensors: only who does what changes.
 *
 * Vocabulary
 *   entries  of the leading dimension that is folded (q_heads);  group  those that share
 *   rows     the dimension of the rows (q_len);  packed  both as one
 */
#include "fuse/flow.h"

typedef struct Fold {
    Arena *arena;
    const Def *def;
    const Unit *unit;
    const Stmt *grid;
    const char *rows, *entries;      /* dimensions */
    int64_t n_entries, shared;       /* how many; how many others they share */
    const char *by;                  /* the dimension of what is shared; NULL: it needs a name */
    const char *packed, *group, *at; /* new: dimension, positions along `by` and along packed */
    int64_t n_rows;                  /* that an entry has, where its rows follow one another; 0: those of a position do */
    VEC(const char *) tiles;         /* that have such rows */
    bool one_row, places, fails;     /* places: positions along packed are named */
} Fold;

/* ---- what there is ---------------------------------------------------------------------- */

static const Stmt *copied_tensor(const Unit *unit, const Stmt *s)
{
    bool out = s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL;

    return s->kind != STMT_COPY || (!out && s->space != SPACE_GLOBAL) ? NULL : unit_tensor(unit, out && s->as ? s->as : s->name);
}

static int dim_of(const Stmt *tensor, const char *name)
{
    for (int d = 0; d < tensor->n_shape; d++)
        if (expr_is_name(tensor->shape[d], name))
            return d;
    return -1;
}

/* Whether two of a tensor's dimensions have that name, so that no coordinate says which of them is meant. */
static bool is_named_twice(const Stmt *tensor, const char *name)
{
    int n = 0;

    for (int d = 0; d < tensor->n_shape; d++)
        n += expr_is_name(tensor->shape[d], name);
    return n > 1;
}

static bool in_grid(const Fold *f, const Expr *dim)
{
    for (int i = 0; i < f->grid->n_coords; i++)
        if (expr_is_name(dim, f->grid->coords[i].name))
            return true;
    return false;
}

/* The size that has a name, in the definition or in this sketch alone, `rows = 1`, that is known when compiling; 0: it is not. */
static int64_t size_called(const Fold *f, const char *name)
{
    const Stmt *assigned = block_find(&f->unit->body, STMT_ASSIGN, name);
    const DefDimSym *dim = def_dim(f->def, name);
    int64_t size = 0;

    if (!dim)
        return assigned && assigned->value->kind == EXPR_INT ? assigned->value->i : 0;
    return aff_is_const(dim->size, &size) ? size : 0;
}

/* A size that is known when compiling; 0: it is not. */
static int64_t known_size(const Fold *f, const Expr *dim)
{
    return dim->kind == EXPR_INT ? dim->i : dim->kind == EXPR_NAME ? size_called(f, dim->name) : 0;
}

/* Whether tiles of a tensor cover its dimension d, or the Copy says where they lie along it. */
static bool is_said(const Stmt *s, const Stmt *tensor, int d)
{
    bool shaped = s->n_shape == 2;

    for (int i = 0; i < s->n_coords; i++)
        if (s->coords[i].name && expr_is_name(tensor->shape[d], s->coords[i].name))
            return true;
    for (int i = 0; shaped && i < 2; i++)
        if (expr_equal(s->shape[i], tensor->shape[d]))
            return true;
    return !shaped && d >= tensor->n_shape - 2;
}

/* Whether blocks are spread over the columns of what is written by that name. */
static bool is_columns(const Fold *f, const char *name)
{
    for (int i = 0; i < f->unit->body.len; i++) {
        const Stmt *s = f->unit->body.data[i];

        if (s->kind == STMT_OUTPUT && s->n_shape > 0 && expr_is_name(s->shape[s->n_shape - 1], name))
            return true;
    }
    return false;
}

/* The leading dimension of a tensor that stands where the entries do in the grid, as the reasoner will
 * find it: behind as many others from the right. -1: there is none. */
static int dim_at_entries(const Fold *f, const Stmt *s, const Stmt *tensor)
{
    int back = 0;

    for (int i = 1; strcmp(f->grid->coords[i].name, f->entries) != 0; i++)
        back += !is_columns(f, f->grid->coords[i].name);
    for (int d = tensor->n_shape - 1; d >= 0; d--)
        if (!is_said(s, tensor, d) && back-- == 0)
            return in_grid(f, tensor->shape[d]) ? -1 : d;
    return -1;
}

/* Each tensor of which a Copy covers entries under a number alone gets their name for it. */
static void name_entries(const Fold *f, const Block *block, Block *named)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i], *tensor = copied_tensor(f->unit, s);
        int d = tensor ? dim_at_entries(f, s, tensor) : -1;

        for (int k = 0; d >= 0 && tensor->shape[d]->kind == EXPR_INT && tensor->shape[d]->i == f->n_entries && k < named->len; k++) {
            if (named->data[k] != tensor)
                continue;
            Stmt *copy = named->data[k] = arena_new_of(f->arena, Stmt);
            *copy = *tensor;
            copy->shape = arena_array(f->arena, Expr *, tensor->n_shape);
            memcpy(copy->shape, tensor->shape, (size_t)tensor->n_shape * sizeof *copy->shape);
            copy->shape[d] = expr_name(f->arena, f->entries);
        }
        name_entries(f, &s->body, named);
    }
}

/* Dimensions that are numbers follow the grid by their place: here those of entries have the name that the grid has. */
static const Unit *with_entries_named(const Fold *f)
{
    Unit *named = arena_new_of(f->arena, Unit);

    *named = *f->unit;
    named->body = (Block){.comment = f->unit->body.comment};
    for (int i = 0; i < f->unit->body.len; i++)
        vec_push(f->arena, &named->body, f->unit->body.data[i]);
    name_entries(f, &f->unit->body, &named->body);
    return named;
}

/* Whether a tensor has several leading dimensions that are numbers yet: which coordinate is of which would not be told. */
static bool has_many_numbers(const Unit *unit)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        int numbers = 0;

        for (int d = 0; d < s->n_shape - 2 && (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT); d++)
            numbers += s->shape[d]->kind == EXPR_INT && s->shape[d]->i > 1;
        if (numbers > 1)
            return true;
    }
    return false;
}

/* ---- whether entries share -------------------------------------------------------------- */

/* What a loop copies is of all entries of a group. */
static void see_streamed(Fold *f, const Stmt *s)
{
    const Stmt *tensor = copied_tensor(f->unit, s);
    int d = tensor ? dim_at_entries(f, s, tensor) : -1;
    int64_t n = d < 0 ? 1 : known_size(f, tensor->shape[d]);

    if (!tensor || s->to_space == SPACE_GLOBAL)
        return;
    if (dim_of(tensor, f->entries) >= 0 || dim_of(tensor, f->rows) >= 0) {
        f->fails |= dim_of(tensor, f->rows) < 0; /* each entry has its own */
        return;
    }
    f->fails |= n <= 0 || f->n_entries % n != 0 || (n > f->shared ? n % f->shared : f->shared % n) != 0;
    if (n < f->shared || (n == f->shared && f->by))
        return;
    f->by = d >= 0 && tensor->shape[d]->kind == EXPR_NAME ? tensor->shape[d]->name : NULL;
    f->shared = n;
}

static void see_loops(Fold *f, const Block *block, bool inside)
{
    for (int i = 0; i < block->len && !f->fails; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_FOR)
            f->fails |= !s->over || strcmp(s->over, f->rows) == 0 || strcmp(s->over, f->entries) == 0;
        f->fails |= s->kind == STMT_IF || s->kind == STMT_DEFINE;
        if (inside && s->kind == STMT_COPY)
            see_streamed(f, s);
        see_loops(f, &s->body, true);
    }
}

static bool has_streams(const Fold *f, const Block *block, bool inside)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i], *tensor = inside ? copied_tensor(f->unit, s) : NULL;
        bool own = tensor && (dim_of(tensor, f->entries) >= 0 || dim_of(tensor, f->rows) >= 0);

        if ((tensor && !own) || has_streams(f, &s->body, true))
            return true;
    }
    return false;
}

/* Whether a Copy is of a column, whose rows the tensor has last: `Copy lse (q_len, 1) as LSE`. */
static bool is_column(const Fold *f, const Stmt *s)
{
    return s->kind == STMT_COPY && s->n_shape == 2 && expr_is_name(s->shape[0], f->rows) && s->shape[1]->kind == EXPR_INT;
}

static bool left_as_column(const Fold *f, const Stmt *output)
{
    for (int i = 0; i < f->unit->body.len; i++) {
        const Stmt *s = f->unit->body.data[i];

        if (is_column(f, s) && copied_tensor(f->unit, s) == output)
            return true;
    }
    return false;
}

/* Each entry of the dimension, and each row, is written once. */
static bool outputs_fit(const Fold *f)
{
    for (int i = 0; i < f->unit->body.len; i++) {
        const Stmt *s = f->unit->body.data[i];

        if (s->kind == STMT_OUTPUT && (dim_of(s, f->entries) < 0 || dim_of(s, f->rows) < 0 ||
                                       (dim_of(s, f->rows) == s->n_shape - 1 && !left_as_column(f, s))))
            return false;
    }
    return true;
}

/* Whether the k-th coordinate of the grid is of entries that share what loops stream. */
static bool shares(Fold *f, int k)
{
    const Unit *unit = f->unit;

    f->entries = f->grid->coords[k].name;
    f->n_entries = size_called(f, f->entries);
    f->shared = 1;
    f->by = NULL;
    f->unit = with_entries_named(f);
    f->fails = f->n_entries < 2 || (!def_dim(f->def, f->entries) && has_many_numbers(f->unit)) || !outputs_fit(f) || !has_streams(f, &f->unit->body, false);
    if (!f->fails)
        see_loops(f, &f->unit->body, false);
    if (!f->fails && f->shared < f->n_entries)
        return true;
    f->unit = unit;
    return false;
}

/* ---- names --------------------------------------------------------------------------------- */

static const char *fresh(const Fold *f, const char *wanted)
{
    return sketch_fresh(f->arena, f->def, f->unit, wanted);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static Expr *binary(const Fold *f, ExprOp op, Expr *a, int64_t b)
{
    return expr_binary(f->arena, op, a, expr_int(f->arena, b));
}

static int64_t group_size(const Fold *f)
{
    return f->n_entries / f->shared;
}

/* Bulk copies bring rows that follow one another, eight at least: those of an entry, where the rows of a position
 * are fewer. */
enum { STRIP = 8 };

static int64_t rows_of_entry(const Fold *f, int64_t rows)
{
    return rows % STRIP == 0 && group_size(f) % STRIP != 0 ? rows : 0;
}

/* The place along the rows' dimension of what is at `place` along packed. */
static Expr *row_of(Fold *f, const char *place)
{
    f->places |= place == f->at && !f->one_row;
    return f->one_row  ? expr_int(f->arena, 0)
           : f->n_rows ? binary(f, EO_MOD, expr_name(f->arena, place), f->n_rows)
                       : binary(f, EO_IDIV, expr_name(f->arena, place), group_size(f));
}

static Expr *entry_of(Fold *f, const char *place)
{
    f->places |= place == f->at;
    Expr *within = expr_name(f->arena, place), *first = binary(f, EO_MUL, expr_name(f->arena, f->group), group_size(f));

    if (!f->one_row)
        within = f->n_rows ? binary(f, EO_IDIV, within, f->n_rows) : binary(f, EO_MOD, within, group_size(f));
    return f->shared == 1 ? within : expr_binary(f->arena, EO_ADD, first, within);
}

static bool is_own(const Fold *f, const char *dim)
{
    return strcmp(dim, f->rows) == 0 || strcmp(dim, f->entries) == 0;
}

/* Whether a name between brackets means entries of which some that share differ. */
static bool splits_group(const Fold *f, const Expr *e)
{
    int64_t n = e->kind == EXPR_NAME ? known_size(f, e) : 0;

    return n > 1 && !is_own(f, e->name) && f->n_entries % n == 0 && f->shared % n != 0;
}

/* Whether an expression is of the block's rows or entries, by their positions or as an element's own place. */
static bool is_of_rows(const Fold *f, const Expr *e, int depth)
{
    if (!e || depth > FLOW_DEPTH)
        return e != NULL;
    for (int i = 0; e->kind == EXPR_NAME && i < f->unit->body.len; i++) {
        const Stmt *s = f->unit->body.data[i];
        bool named = (s->kind == STMT_INDEX || s->kind == STMT_LET) && strcmp(s->name, e->name) == 0;

        if (named && (s->kind == STMT_INDEX ? is_own(f, s->over) : is_of_rows(f, s->value, depth + 1)))
            return true;
    }
    for (int i = 0; i < e->n_args; i++) {
        bool named = e->kind == EXPR_INDEX && e->args[i]->kind == EXPR_NAME;

        if (is_of_rows(f, e->args[i], depth + 1) || (named && (is_own(f, e->args[i]->name) || splits_group(f, e->args[i]))))
            return true;
    }
    return e->kind == EXPR_ELLIPSIS || is_of_rows(f, e->a, depth + 1) || is_of_rows(f, e->b, depth + 1);
}

/* Between the brackets of an access a dimension's name alone is the element's own place along it. */
static Expr *placed(Fold *f, const Expr *e)
{
    if (!e)
        return NULL;
    bool named = e->kind == EXPR_NAME || e->kind == EXPR_CALL, read = e->kind == EXPR_INDEX;
    f->fails |= e->kind == EXPR_ELLIPSIS || (named && text_equal_nocase(e->name, "row"));
    Expr *copy = expr_copy(f->arena, e);
    copy->a = placed(f, e->a);
    copy->b = placed(f, e->b);
    for (int i = 0; i < e->n_args; i++) {
        f->fails |= read && splits_group(f, e->args[i]);
        copy->args[i] = read && expr_is_name(e->args[i], f->rows)      ? row_of(f, f->at)
                        : read && expr_is_name(e->args[i], f->entries) ? entry_of(f, f->at)
                                                                       : placed(f, e->args[i]);
    }
    return copy;
}

/* ---- statements -------------------------------------------------------------------------------- */

static bool has_rows(const Fold *f, const Expr *e)
{
    while (e && (e->kind == EXPR_SPACE || e->kind == EXPR_TRANSPOSE))
        e = e->a;
    for (int i = 0; e && i < f->tiles.len; i++)
        if (expr_is_name(e, f->tiles.data[i]))
            return true;
    return false;
}

static void note_rows(Fold *f, const char *tile)
{
    Expr name = {.kind = EXPR_NAME, .name = tile};

    if (tile && !has_rows(f, &name))
        vec_push(f->arena, &f->tiles, tile);
}

/* `Copy Q (packed, D) in coordinate [q_heads = ..., q_len = ...]` */
static void fold_copy(Fold *f, Stmt *s)
{
    const Stmt *tensor = copied_tensor(f->unit, s);
    int entries = tensor ? dim_of(tensor, f->entries) : -1, rows = tensor ? dim_of(tensor, f->rows) : -1;
    bool column = is_column(f, s);
    int last = tensor ? tensor->n_shape - !column : 0; /* of a column behind the tensor's */

    if (!tensor && has_rows(f, expr_name(f->arena, s->name)))
        note_rows(f, copy_dest(s));
    for (int i = 0; i < s->n_coords; i++)
        f->fails |= is_of_rows(f, s->coords[i].value, 0);
    f->fails |= is_of_rows(f, s->where, 0);
    if (entries < 0) { /* it may have some under another name, which are to be the same for all of a group */
        int d = tensor ? dim_at_entries(f, s, tensor) : -1;

        f->fails |= d >= 0 && (known_size(f, tensor->shape[d]) <= 0 || f->shared % known_size(f, tensor->shape[d]) != 0);
        if (rows < 0)
            return;
    }
    int64_t others = rows < 0 && last > 0 ? known_size(f, tensor->shape[last - 1]) : 1; /* rows that are broadcast */
    f->fails |= is_named_twice(tensor, f->entries) || is_named_twice(tensor, f->rows);
    f->fails |= s->n_coords > 0 || s->where || entries == last || rows == last || others != 1;
    note_rows(f, s->space == SPACE_GLOBAL ? copy_dest(s) : NULL);
    s->has_shape = true;
    s->n_shape = 0;
    s->shape = arena_array(f->arena, Expr *, 2);
    s->shape[s->n_shape++] = expr_name(f->arena, f->packed);
    s->shape[s->n_shape++] = column ? expr_int(f->arena, 1) : expr_copy(f->arena, tensor->shape[last]);
    s->coords = arena_array(f->arena, Coord, 2);
    if (entries >= 0)
        s->coords[s->n_coords++] = (Coord){.name = f->entries, .value = entry_of(f, "row")};
    if (rows >= 0 && !f->one_row)
        s->coords[s->n_coords++] = (Coord){.name = f->rows, .value = row_of(f, "row")};
    f->fails |= s->n_coords == 0;
}

/* Rows are of several entries: nothing may be summed or compared along them. */
static void fold_compute(Fold *f, Stmt *s)
{
    OpClass class = s->op_known ? op_info(s->op)->class : OPC_ELEMENT;
    bool gemm = class == OPC_GEMM && s->n_args == 2, rows = false;

    f->fails |= !s->op_known;
    for (int i = 0; i < s->n_args; i++)
        rows |= has_rows(f, s->args[i]);
    if (class == OPC_COL_REDUCE)
        f->fails |= rows;
    if (gemm) {
        f->fails |= has_rows(f, s->args[1]) || (has_rows(f, s->args[0]) && s->args[0]->kind == EXPR_TRANSPOSE);
        rows = has_rows(f, s->args[0]);
    }
    if (class == OPC_DEFINE) {
        rows = s->n_shape >= 2 && expr_is_name(s->shape[s->n_shape - 2], f->rows);
        f->fails |= s->n_shape > 0 && expr_is_name(s->shape[s->n_shape - 1], f->rows);
        for (int i = 0; i < s->n_shape; i++)
            if (expr_is_name(s->shape[i], f->entries))
                s->shape[i] = expr_name(f->arena, f->by);
        if (rows)
            s->shape[s->n_shape - 2] = expr_name(f->arena, f->packed);
    }
    for (int i = 0; i < s->n_args; i++)
        f->fails |= is_of_rows(f, s->args[i], 0);
    f->fails |= !rows && (is_of_rows(f, s->where, 0) || is_of_rows(f, s->value, 0));
    if (!rows)
        return;
    s->where = placed(f, s->where);
    s->value = placed(f, s->value);
    const Expr *result = compute_result(s);
    while (result && result->kind == EXPR_SPACE)
        result = result->a;
    note_rows(f, result && result->kind == EXPR_NAME ? result->name : NULL);
    for (int i = 0; i < s->n_with; i++)
        note_rows(f, s->with[i]->kind == EXPR_NAME ? s->with[i]->name : NULL);
}

/* A position along the rows or the entries, by its row. */
static Stmt *position(Fold *f, const Stmt *index)
{
    Stmt *let = stmt_new(f->arena, STMT_LET);
    Expr *at = strcmp(index->over, f->rows) == 0 ? row_of(f, f->at) : entry_of(f, f->at);
    bool from = index->value && !(index->value->kind == EXPR_INT && index->value->i == 0);

    let->name = index->name;
    let->value = !from                                              ? at
                 : f->one_row && strcmp(index->over, f->rows) == 0 ? expr_copy(f->arena, index->value)
                                                                    : expr_binary(f->arena, EO_ADD, at, expr_copy(f->arena, index->value));
    return let;
}

static Block fold_block(Fold *f, const Block *block);

static Stmt *fold_stmt(Fold *f, const Stmt *s)
{
    Stmt *copy = arena_new_of(f->arena, Stmt);

    if (s->kind == STMT_INDEX && is_own(f, s->over))
        return position(f, s);
    *copy = *s;
    copy->args = arena_array(f->arena, Expr *, s->n_args);
    copy->shape = arena_array(f->arena, Expr *, s->n_shape);
    for (int i = 0; i < s->n_args; i++)
        copy->args[i] = s->args[i];
    for (int i = 0; i < s->n_shape; i++)
        copy->shape[i] = s->shape[i];
    if (s->kind == STMT_LET)
        copy->value = placed(f, s->value);
    if (s->kind == STMT_COPY)
        fold_copy(f, copy);
    if (s->kind == STMT_COMPUTE)
        fold_compute(f, copy);
    copy->body = fold_block(f, &s->body);
    return copy;
}

static Block fold_block(Fold *f, const Block *block)
{
    Block folded = {.comment = block->comment};

    for (int i = 0; i < block->len; i++)
        vec_push(f->arena, &folded, fold_stmt(f, block->data[i]));
    return folded;
}

/* ---- declarations ------------------------------------------------------------------------------- */

static Stmt *declared(Fold *f, Block *body, StmtKind kind, const char *name)
{
    Stmt *s = stmt_new(f->arena, kind);

    s->name = name;
    vec_push(f->arena, body, s);
    return s;
}

static void declare_packed(Fold *f, Block *body)
{
    int64_t group = group_size(f);

    bool is_size = false;

    for (int i = 0; i < body->len && !is_size; i++)
        is_size = (body->data[i]->kind == STMT_INPUT || body->data[i]->kind == STMT_OUTPUT) && dim_of(body->data[i], f->by) >= 0;
    if (!is_size)
        declared(f, body, STMT_ASSIGN, f->by)->value = expr_int(f->arena, f->shared);
    declared(f, body, STMT_ASSIGN, f->packed)->value =
        f->one_row ? expr_int(f->arena, group) : binary(f, EO_MUL, expr_name(f->arena, f->rows), group);
    if (f->shared > 1)
        declared(f, body, STMT_INDEX, f->group)->over = f->by;
    if (f->places)
        declared(f, body, STMT_INDEX, f->at)->over = f->packed;
}

static Stmt *folded_grid(const Fold *f)
{
    Stmt *grid = arena_new_of(f->arena, Stmt);

    *grid = *f->grid;
    grid->coords = arena_array(f->arena, Coord, f->grid->n_coords);
    for (int i = 0; i < f->grid->n_coords; i++) {
        grid->coords[i] = f->grid->coords[i];
        grid->coords[i].name = i == 0 ? f->packed : strcmp(f->grid->coords[i].name, f->entries) == 0 ? f->by : f->grid->coords[i].name;
    }
    return grid;
}

/* What follows from positions stands behind them, and they behind sizes. */
static void fold_body(Fold *f, Block *body)
{
    fold_block(f, &f->unit->body); /* finds all tiles that have such rows, also those that come before */
    const Block statements = fold_block(f, &f->unit->body);
    bool sized = false;

    for (int i = 0; i < statements.len; i++) {
        Stmt *s = statements.data[i];
        bool named = s->kind == STMT_LET || s->kind == STMT_INDEX;

        if (!sized && (named || s->kind == STMT_GRID)) {
            declare_packed(f, body);
            sized = true;
        }
        vec_push(f->arena, body, s->kind == STMT_GRID ? folded_grid(f) : s);
    }
}

/* The kernel with its entries folded; NULL: they share nothing. */
static Unit *fold_unit(Arena *arena, const Def *def, const Unit *unit)
{
    Fold f = {.arena = arena, .def = def, .unit = unit};
    bool found = false;

    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_GRID)
            f.grid = unit->body.data[i];
    if (!f.grid || f.grid->n_coords < 2 || def_is_named(def, "row")) /* which a copy's `row` would be taken for */
        return NULL;
    f.rows = f.grid->coords[0].name;
    f.one_row = size_called(&f, f.rows) == 1;
    for (int k = 1; k < f.grid->n_coords && !found; k++)
        found = shares(&f, k);
    if (!found)
        return NULL;
    f.n_rows = rows_of_entry(&f, size_called(&f, f.rows));
    f.packed = fresh(&f, "packed");
    f.group = fresh(&f, "group");
    f.at = fresh(&f, "packed_pos");
    f.by = f.by ? f.by : fresh(&f, "groups");
    Unit *folded = arena_new_of(arena, Unit);
    *folded = *unit;
    folded->body = (Block){.comment = unit->body.comment};
    fold_body(&f, &folded->body);
    return f.fails ? NULL : folded;
}

Program *fuse_fold(Arena *arena, const Def *def, const Program *sketch)
{
    return sketch_rewritten(arena, def, sketch, fold_unit);
}
