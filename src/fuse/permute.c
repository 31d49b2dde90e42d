/* permute.c: tensors whose rows do not stand last but one in memory.
 *
 *   Input  Q (batch, len, heads, D)
 *   Compute Define Qh (batch, heads, len, D) as Q[batch, row, heads, col]
 *
 * Qh is Q with its dimensions in another order, and a copy can bring tiles of it from where Q lies. So
 * the fuser is given a definition with Qh for an input, and what it writes is put back: Qh's
 * dimensions in the tensor's order, and copies that say which of them a tile covers.
 *
 *   Copy Q (len, D) as Qh from global to shared
 *
 * Likewise an Output that is nothing but a computed value in another order, or a computed column
 * without its columns of one, as log-sum-exps of (batch, heads, len) are, or a row without its rows of one, as
 * sums of columns are, or without another dimension of one, as sums over heads are:
 *
 *   Copy lse (len, 1) as LSE from register to global
 *   Copy s (1, N) as sums from register to global
 *
 * Where products make such a row, tiles have as many rows as the tensor cores take, and the row lies at the entry itself:
 *
 *   Copy O (rows, D) as Out in coordinate [heads = head + row] from register to global
 *
 * Or one whose entries of a leading dimension lie beside each other, `O (batch, len, heads * D)`:
 *
 *   Copy Y (len, D) as O in coordinate [heads] from register to global
 *
 * Or one whose entries of a leading dimension lie below each other, `O (batch, heads, D)` of Y (batch, groups, rows, D), heads being
 * groups * rows, or behind those of another leading one:
 *
 *   Copy Y (rows, D) as O in coordinate [heads = group * rows + row] from register to global
 *
 * The last dimension stays the last; rows may come from any place; the others keep their
 * order among themselves, by which the block's entries are found.
 *
 * Vocabulary
 *   tensor   what lies in memory;  seen   the same in the definition's order
 */
#include "fuse/flow.h"

enum { MOST_RANK = 8, JOINED_STEP = 16 /* columns of an entry are whole atoms of the tensor cores */ };

/* Dimensions of what is seen that lie in one of the tensor; -1: none do. */
typedef struct Joined {
    int entry; /* the leading one */
    int with;  /* the rows, or the columns */
} Joined;

/* ---- recognized -------------------------------------------------------------------------- */

int flow_axis_along(const Def *def, const DefValue *seen, const DefIndex *index)
{
    int axis = def_axis(seen, index->over), axes[2] = {-1, -1}, n = 0;
    IndexSide side = axis == -2 ? index_side(&def->unit->body, index->name, index->over) : INDEX_UNSAID;

    if (side == INDEX_UNSAID)
        return axis;
    for (int d = 0; d < seen->rank; d++)
        if (seen->dims[d].name && strcmp(seen->dims[d].name, index->over) == 0 && n++ < 2)
            axes[n - 1] = d;
    return n == 2 ? axes[side == INDEX_COLS] : -2;
}

int flow_own_axis(const Def *def, const DefValue *seen, const Expr *e)
{
    bool call = e->kind == EXPR_CALL && e->n_args == 1;

    if (e->kind != EXPR_NAME && !call)
        return -1;
    if (!call && def_axis(seen, e->name) >= 0)
        return def_axis(seen, e->name);
    const DefIndex *index = call ? NULL : def_index(def, e->name);
    int64_t from;
    if (index)
        return aff_is_const(index->from, &from) && from == 0 ? flow_axis_along(def, seen, index) : -1;
    if (!call && def_is_named(def, e->name))
        return -1;
    return text_equal_nocase(e->name, "row") ? seen->rank - 2 : text_equal_nocase(e->name, "col") ? seen->rank - 1 : -1;
}

/* Whether a coordinate is 0, along a dimension that has no other. */
static bool is_only_place(const DefValue *value, const Expr *where, int d)
{
    return flow_is_one(value->dims[d]) && where->args[d]->kind == EXPR_INT && where->args[d]->i == 0;
}

static bool may_share_a_name(DefDim a, DefDim b)
{
    return a.name && b.name ? strcmp(a.name, b.name) == 0 : a.size == b.size;
}

/* Whether rows of one may be made by products: tiles have as many as the tensor cores take, of which a Copy says where each lies. */
static bool has_rows_of_products(const Def *def, const DefValue *value)
{
    bool any = false;

    for (int i = 0; i < def->ops.len; i++) {
        const DefValue *result = def->ops.data[i]->result;

        any |= def->ops.data[i]->op == OP_GEMM && result->rank >= 2 && flow_is_one(result->dims[result->rank - 2]);
    }
    return any && flow_is_one(value->dims[value->rank - 2]);
}

/* Whether a Define may lack a dimension of a value, that of a column, of a row, or of one entry. Of two
 * dimensions of one name a Copy could not say which one tiles cover. */
static bool may_lack(const Def *def, const DefOp *op, const DefValue *value, int missing)
{
    int rank = op->result->rank;

    if (!op->result->is_output || value->rank != rank + 1 || op->where->n_args != rank + 1 || !is_only_place(value, op->where, missing))
        return false;
    for (int d = 0; d < rank - 1; d++)
        if (may_share_a_name(op->result->dims[d], op->result->dims[rank - 1]))
            return false;
    bool can_say = rank > 1 && op->result->dims[rank - 2].name;
    return missing != rank - 1 || can_say || !has_rows_of_products(def, value);
}

/* `x div N` or `x % N`, x being the place along one of the result's dimensions. */
static bool splits(const Def *def, const DefOp *op, int axis, const Expr *e, ExprOp how, DefDim by)
{
    int64_t n;

    if (e->kind != EXPR_BINARY || e->op != how || flow_own_axis(def, op->result, e->a) != axis)
        return false;
    const DefDimSym *dim = e->b->kind == EXPR_NAME ? def_dim(def, e->b->name) : NULL;
    return dim ? dim->size == by.size : e->b->kind == EXPR_INT && aff_is_const(by.size, &n) && n == e->b->i;
}

/* `col div D` or `col % D`, D being how many columns a value has. */
static bool splits_columns(const Def *def, const DefOp *op, const DefValue *value, const Expr *e, ExprOp how)
{
    DefDim cols = value->dims[value->rank - 1];
    int64_t width;

    return aff_is_const(cols.size, &width) && width % JOINED_STEP == 0 && splits(def, op, op->result->rank - 1, e, how, cols);
}

/* Whether Kernels know a size without the output that has it: a number, or a dimension of an Input. */
static bool is_known(const Def *def, DefDim dim)
{
    for (int i = 0; dim.name && i < def->inputs.len; i++)
        if (def_axis(def->inputs.data[i], dim.name) >= 0)
            return true;
    return aff_is_const(dim.size, NULL);
}

/* Which of a value's rows or leading dimensions lies in one of the output's together with that in front of it. */
static Joined stacked_axes(const Def *def, const DefOp *op, const DefValue *value)
{
    const Expr *e = op->where;

    for (int with = value->rank - 2; with > 0; with--) {
        DefDim before = value->dims[with - 1], by = value->dims[with];

        if (with <= op->result->rank && is_known(def, before) && is_known(def, by) &&
            splits(def, op, with - 1, e->args[with - 1], EO_IDIV, by) && splits(def, op, with - 1, e->args[with], EO_MOD, by) &&
            aff_mul(def->aff, before.size, by.size) == op->result->dims[with - 1].size)
            return (Joined){with - 1, with};
    }
    return (Joined){-1, -1};
}

/* Which of a value's dimensions lies in one of the output's together with the value's own, its last one, or its rows. In the last
 * one both have names, by which a Copy says where it lies. */
static Joined joined_axis(const Def *def, const DefOp *op, const DefValue *value)
{
    const Joined none = {-1, -1}, stacked = stacked_axes(def, op, value);
    const Expr *e = op->where;
    int last = value->rank - 1, joined = -1;

    if (op->result->rank != last || stacked.entry >= 0)
        return stacked;
    if (!splits_columns(def, op, value, e->args[last], EO_MOD) || !value->dims[last].name)
        return none;
    for (int d = 0; d < last - 1; d++)
        if (splits_columns(def, op, value, e->args[d], EO_IDIV))
            joined = d;
    return joined >= 0 && value->dims[joined].name &&
                   aff_mul(def->aff, value->dims[joined].size, value->dims[last].size) == op->result->dims[last - 1].size
               ? (Joined){joined, last} : none;
}

/* Which of the result's dimensions, as if it had the one that it is missing, each of a value's is; false: it is no order of it.
 * Where dimensions are joined the columns alone may be missing. */
static bool find_order(const Def *def, const DefOp *op, const DefValue *value, Joined j, int missing, int *axes)
{
    bool used[MOST_RANK] = {false};

    int last = value->rank - 1, rank = op->result->rank;
    for (int d = 0; d <= last; d++) {
        if (missing >= 0 && d == missing + (j.entry >= 0)) {
            axes[d] = missing;
            continue;
        }
        if (j.entry >= 0 && (d == j.entry || d == j.with)) {
            used[axes[d] = j.with - 1] = true;
            continue;
        }
        bool only = missing >= 0 && j.entry < 0 && is_only_place(value, op->where, d);
        bool column = j.entry >= 0 && d == last && is_only_place(value, op->where, d) && flow_is_one(op->result->dims[rank - 1]);
        int axis = only ? d - (d > missing) : column ? rank - 1 : flow_own_axis(def, op->result, op->where->args[d]);

        if (axis < 0 || used[axis] || value->dims[d].size != op->result->dims[axis].size)
            return false;
        used[axis] = true;
        axes[d] = missing >= 0 && axis >= missing ? axis + 1 : axis;
    }
    return axes[last] == last - (j.entry >= 0);
}

/* What a Define is another order of, or all but a dimension of one; NULL: of none. */
static DefValue *source_of(const Def *def, const DefOp *op, int *axes, Joined *joined, int *missing)
{
    const Expr *e = op->op == OP_DEFINE ? op->where : NULL;
    DefValue *value = op->reads.len == 1 ? op->reads.data[0].value : NULL;
    int rank = op->result->rank;

    if (!e || e->kind != EXPR_INDEX || !value || !expr_is_name(e->a, op->reads.data[0].name) || value->rank > MOST_RANK)
        return NULL;
    for (*joined = (Joined){-1, -1}, *missing = rank; *missing >= 0; --*missing)
        if (may_lack(def, op, value, *missing) && find_order(def, op, value, *joined, *missing, axes))
            return value;
    bool joins = !def->unjoined && op->result->is_output && value->rank > rank && e->n_args == value->rank;
    if (joins && value->rank > 2)
        *joined = joined_axis(def, op, value);
    if (joins && value->rank == rank + 2 && is_only_place(value, e, rank + 1))
        *missing = rank;
    if (joined->entry < 0 ? rank < 3 || value->rank != rank || e->n_args != rank : value->rank - rank != 1 + (*missing >= 0))
        return NULL;
    return find_order(def, op, value, *joined, *missing, axes) ? value : NULL;
}

/* Whether all but rows are in the order of before. */
static bool keeps_order(const int *axes, int rank, int rows)
{
    int last = -1;

    for (int d = 0; d < rank; d++) {
        if (d == rows)
            continue;
        if (axes[d] < last)
            return false;
        last = axes[d];
    }
    return true;
}

/* Whether nothing is made of it, as of a Define that is read through. */
static bool is_dead(const Def *def, const DefValue *value)
{
    for (int i = 0; i < def->ops.len; i++)
        if (def_op_takes(def->ops.data[i], value) || def_op_reads(def->ops.data[i], value))
            return false;
    return !value->is_output;
}

/* Where something stands among what the operations use; not counted: as what `but` reads. */
static bool is_used(const Def *def, const DefValue *value, const DefOp *but, bool only_elements)
{
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];

        if ((!only_elements && def_op_takes(op, value)) || (op != but && def_op_reads(op, value) && !is_dead(def, op->result)))
            return true;
    }
    return false;
}

static bool is_seen_already(const Permuted *list, const char *name)
{
    for (int i = 0; i < list->len; i++)
        if (strcmp(list->data[i].seen, name) == 0)
            return true;
    return false;
}

/* An input in another order, read by nothing else; rank axes as from source_of. */
static bool input_fits(const Def *def, const DefOp *op, const DefValue *tensor, const int *axes)
{
    int rows = 0;

    while (axes[rows] != tensor->rank - 2)
        rows++;
    return !tensor->op && rows < tensor->rank - 2 && keeps_order(axes, tensor->rank, rows) && !op->result->is_output &&
           !is_used(def, tensor, op, false) && !is_used(def, op->result, NULL, true);
}

/* An output that is a computed value in another order, or without its columns. */
static bool output_fits(const Def *def, const DefOp *op, const DefValue *seen, const int *axes, int joined)
{
    int rank = seen->rank, order[MOST_RANK] = {0}, n = joined < 0 ? rank : rank - 1;

    for (int d = 0; d < rank; d++)
        if (d != joined)
            order[axes[d]] = d; /* by dimension of the output: which of the value's it is */
    int rows = 0;
    while (rows < n && order[rows] != rank - 2)
        rows++;
    bool other = joined >= 0 || (rows < rank - 2) != (op->result->rank < rank);
    return op->result->is_output && seen->op && !seen->is_output && rows < n && other && keeps_order(order, n, rows) &&
           !is_used(def, op->result, NULL, false) && !is_used(def, seen, op, true);
}

/* Whether a dimension that lies elsewhere is called as another one, so that a Copy could not say which of them tiles cover. */
static bool moves_one_of_a_name(const DefValue *value, const int *axes)
{
    for (int d = 0; d < value->rank; d++)
        for (int e = 0; e < d; e++)
            if (value->dims[d].name && value->dims[e].name && may_share_a_name(value->dims[d], value->dims[e]) &&
                (axes[d] != d || axes[e] != e))
                return true;
    return false;
}

static bool permutes(const Def *def, const DefOp *op, const Permuted *list, PermutedTensor *found)
{
    int axes[MOST_RANK], missing;
    Joined j;
    DefValue *value = source_of(def, op, axes, &j, &missing);

    if (!value || moves_one_of_a_name(value, axes))
        return false;
    bool output = op->result->is_output;
    const DefValue *tensor = output ? op->result : value, *seen = output ? value : op->result;
    if (!(output ? output_fits(def, op, seen, axes, j.entry) : input_fits(def, op, tensor, axes)) ||
        def_is_named(def, seen->name) || is_seen_already(list, seen->name))
        return false;
    *found = (PermutedTensor){.tensor = tensor->name, .seen = seen->name, .rank = seen->rank, .joined = j.entry, .with = j.with,
                              .missing = missing, .output = output, .dtype = tensor->dtype};
    for (int d = 0; d < seen->rank; d++)
        if (output && d != j.entry)
            found->axes[axes[d]] = d;
        else if (!output)
            found->axes[d] = axes[d];
    for (int side = 0; j.entry >= 0 && side < 2; side++)
        found->sides[side] = seen->dims[side == 0 ? j.entry : j.with];
    if (j.with == seen->rank - 1)
        found->names[0] = found->sides[0].name, found->names[1] = found->sides[1].name;
    return true;
}

/* ---- the definition without them ------------------------------------------------------------ */

static void replace(DefValue **list, int n, const DefValue *old, DefValue *by)
{
    for (int i = 0; i < n; i++)
        if (list[i] == old)
            list[i] = by;
}

/* The value in the definition's order takes the tensor's place. */
static void stand_in(Remade *r, const DefOp *op, bool output)
{
    DefValue *result = r->made[op->result->id], *read = r->made[op->reads.data[0].value->id];
    DefValue *tensor = output ? result : read, *seen = output ? read : result;

    seen->dtype = tensor->dtype;
    seen->is_input = !output;
    seen->is_output = output;
    tensor->is_input = tensor->is_output = false;
    vec_push(r->arena, &r->def->taken, tensor->name);
    if (output)
        replace(r->def->outputs.data, r->def->outputs.len, tensor, seen);
    else
        replace(r->def->inputs.data, r->def->inputs.len, tensor, seen);
}

static const PermutedTensor *find_declared(const Permuted *list, const Stmt *s)
{
    for (int i = 0; i < list->len; i++)
        if (s->kind == (list->data[i].output ? STMT_OUTPUT : STMT_INPUT) && strcmp(s->name, list->data[i].tensor) == 0)
            return &list->data[i];
    return NULL;
}

/* How far the tensor, as declared, reaches along dimension d of those that it has, and is missing. */
static Expr *size_along(Arena *arena, const PermutedTensor *p, const Stmt *tensor, int d)
{
    return d == p->missing ? expr_int(arena, 1) : expr_copy(arena, tensor->shape[p->missing >= 0 && d > p->missing ? d - 1 : d]);
}

static Expr *written_size(Arena *arena, DefDim dim)
{
    int64_t n = 0;

    aff_is_const(dim.size, &n);
    return dim.name ? expr_name(arena, dim.name) : expr_int(arena, n);
}

/* Declarations, too, of what is seen. */
static void declare_seen(Remade *r, const Permuted *list)
{
    for (int i = 0; i < r->unit->body.len; i++) {
        const Stmt *s = r->unit->body.data[i];
        const PermutedTensor *p = find_declared(list, s);

        if (!p)
            continue;
        Stmt *seen = arena_new_of(r->arena, Stmt);
        *seen = *s;
        seen->name = p->seen;
        seen->shape = arena_array(r->arena, Expr *, p->rank);
        seen->n_shape = p->rank;
        for (int d = 0; d < p->rank - (p->joined >= 0); d++)
            seen->shape[p->axes[d]] = size_along(r->arena, p, s, d);
        for (int side = 0; p->joined >= 0 && side < 2; side++)
            seen->shape[side == 0 ? p->joined : p->with] = written_size(r->arena, p->sides[side]);
        r->unit->body.data[i] = seen;
    }
}

static const Def *unpermuted(Arena *arena, const Def *def, bool bytes, Permuted *list)
{
    Remade r = flow_remake(arena, def);

    *list = (Permuted){0};
    for (int i = 0; i < def->ops.len; i++) {
        PermutedTensor found;

        if (permutes(def, def->ops.data[i], list, &found) && (bytes || dtype_bytes(found.dtype) > 1)) {
            vec_push(arena, list, found);
            stand_in(&r, def->ops.data[i], found.output);
        } else {
            flow_keep_op(&r, def->ops.data[i]);
        }
    }
    declare_seen(&r, list);
    if (list->len > 0 && flow_rounds_alike(&r))
        return r.def;
    *list = (Permuted){0};
    return def;
}

const Def *flow_unpermute(Arena *arena, const Def *def, Permuted *list)
{
    const Def *seen = unpermuted(arena, def, true, list);

    return list->len > 0 ? seen : unpermuted(arena, def, false, list);
}

/* A Copy of an entry beside others, or below or behind them, `heads = group * rows + row`. */
static bool joins(const Stmt *s)
{
    const Coord *c = s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL && s->n_coords == 1 ? &s->coords[0] : NULL;

    return c && (!c->name || (s->as && c->value->kind == EXPR_BINARY && c->value->a->kind == EXPR_BINARY && c->value->a->op == EO_MUL));
}

static bool joins_in(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (joins(s) || joins_in(&s->body) ||
            joins_in(&s->orelse))
            return true;
    }
    return false;
}

bool fuse_joins(const Program *sketch)
{
    for (int i = 0; i < sketch->units.len; i++)
        if (joins_in(&sketch->units.data[i]->body))
            return true;
    return false;
}

/* ---- the sketch with them ------------------------------------------------------------------- */

static const PermutedTensor *find_seen(const Permuted *list, const char *name)
{
    for (int i = 0; i < list->len; i++)
        if (strcmp(list->data[i].seen, name) == 0)
            return &list->data[i];
    return NULL;
}

/* The dimensions that tiles cover, by the names that they have in this Kernel. */
static void name_sides(Arena *arena, const PermutedTensor *p, const Stmt *tensor, Stmt *copy)
{
    copy->has_shape = true;
    copy->shape = arena_array(arena, Expr *, p->rank);
    if (p->joined >= 0 && p->with == p->rank - 1) {
        copy->coords = arena_array(arena, Coord, 1);
        copy->coords[0] = (Coord){.value = expr_name(arena, p->names[0])};
        copy->n_coords = 1;
    }
    for (int d = 0; d < p->rank - (p->joined >= 0); d++)
        if (p->joined >= 0 && p->axes[d] == p->rank - 1 && p->with == p->rank - 1)
            copy->shape[copy->n_shape++] = expr_name(arena, p->names[1]);
        else if (p->axes[d] >= p->rank - 2)
            copy->shape[copy->n_shape++] = size_along(arena, p, tensor, d);
}

/* Of a row that is missing: what the Kernel calls the rows of its tiles; NULL: they have but this one. */
static const char *rows_of_tiles(const Unit *unit, const PermutedTensor *p)
{
    const Stmt *seen = unit_tensor(unit, p->seen);
    const Expr *rows = p->output && p->joined < 0 && p->missing == p->rank - 2 && seen ? seen->shape[p->missing] : NULL;
    bool spread = false;

    for (int i = 0; i < unit->body.len; i++)
        for (int k = 0; rows && unit->body.data[i]->kind == STMT_GRID && k < unit->body.data[i]->n_coords; k++)
            spread |= expr_is_name(rows, unit->body.data[i]->coords[k].name);
    return spread && block_multiplies(&unit->body) ? rows->name : NULL;
}

/* The first row lies where the block's entry does, of the dimension in front of the columns. */
static void place_row(Arena *arena, const PermutedTensor *p, const Stmt *tensor, Stmt *copy)
{
    const char *entries = tensor->shape[p->rank - 3]->name;

    copy->shape[0] = expr_name(arena, p->names[0]);
    copy->coords = arena_array(arena, Coord, 1);
    copy->coords[0] = (Coord){.name = entries, .value = expr_binary(arena, EO_ADD, expr_name(arena, p->names[1]), expr_name(arena, "row"))};
    copy->n_coords = 1;
}

/* Those of an entry begin behind those of the entries before it. */
static void place_joined(Arena *arena, const PermutedTensor *p, Stmt *copy)
{
    bool rows = p->with == p->rank - 2;
    Expr *at = rows ? expr_name(arena, "row") : p->names[1] ? expr_name(arena, p->names[1]) : expr_int(arena, 0);

    if (rows)
        copy->shape[0] = expr_copy(arena, p->by);
    if (flow_is_one(p->sides[0]))
        return;
    if (p->names[0])
        at = expr_binary(arena, EO_ADD, expr_binary(arena, EO_MUL, expr_name(arena, p->names[0]), expr_copy(arena, p->by)), at);
    copy->coords = arena_array(arena, Coord, 1);
    copy->coords[0] = (Coord){.name = p->together, .value = at};
    copy->n_coords = 1;
}

static void put_back_copies(Arena *arena, const Unit *unit, Block *block, const Permuted *list)
{
    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i];
        bool in = s->kind == STMT_COPY && s->space == SPACE_GLOBAL, out = s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL;
        const PermutedTensor *p = in || out ? find_seen(list, out && s->as ? s->as : s->name) : NULL;

        if (p) {
            name_sides(arena, p, unit_tensor(unit, p->tensor), s);
            if (p->together)
                place_joined(arena, p, s);
            else if (p->missing >= 0 && p->names[0])
                place_row(arena, p, unit_tensor(unit, p->tensor), s);
            if (in && !s->as)
                s->as = p->seen;
            if (in)
                s->name = p->tensor;
            else
                s->as = p->tensor;
        }
        put_back_copies(arena, unit, &s->body, list);
        put_back_copies(arena, unit, &s->orelse, list);
    }
}

static void put_back_tensor(Arena *arena, Stmt *s, const PermutedTensor *p)
{
    Expr **shape = arena_array(arena, Expr *, p->rank);

    s->n_shape = 0;
    for (int d = 0; d < p->rank - (p->joined >= 0); d++)
        if (d != p->missing)
            shape[s->n_shape++] = s->shape[p->axes[d]];
    if (p->joined >= 0 && p->with == p->rank - 1)
        shape[p->rank - 2] = expr_binary(arena, EO_MUL, s->shape[p->joined], s->shape[p->with]);
    if (p->together)
        shape[p->with - 1] = expr_name(arena, p->together);
    s->name = p->tensor;
    s->shape = shape;
}

static void put_before_grid(Arena *arena, Unit *unit, Stmt *s)
{
    int at = 0;

    while (at < unit->body.len && unit->body.data[at]->kind != STMT_GRID)
        at++;
    vec_push(arena, &unit->body, s);
    for (int i = unit->body.len - 1; i > at; i--)
        unit->body.data[i] = unit->body.data[i - 1];
    unit->body.data[at] = s;
}

/* An Index over a dimension, which says where the block is; its name. */
static const char *declare_place(Arena *arena, const Def *def, Unit *unit, const char *over)
{
    const char *wanted = arena_printf(arena, "%s_at", over);
    const Stmt *there = block_find(&unit->body, STMT_INDEX, wanted);
    if (there && !def_is_named(def, wanted) && strcmp(there->over, over) == 0)
        return wanted;
    Stmt *index = stmt_new(arena, STMT_INDEX);

    index->name = sketch_fresh(arena, def, unit, wanted);
    index->over = over;
    put_before_grid(arena, unit, index);
    return index->name;
}

/* A name for as many as all entries have. */
static const char *declare_all(Arena *arena, const Def *def, Unit *unit, Expr *entries, Expr *by)
{
    Stmt *assign = stmt_new(arena, STMT_ASSIGN);
    Expr *all = expr_binary(arena, EO_MUL, expr_copy(arena, entries), expr_copy(arena, by));

    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_ASSIGN && expr_equal(unit->body.data[i]->value, all))
            return unit->body.data[i]->name;
    assign->name = sketch_fresh(arena, def, unit, by->kind == EXPR_NAME ? arena_printf(arena, "all_%s", by->name) : "all");
    assign->value = all;
    put_before_grid(arena, unit, assign);
    return assign->name;
}

/* What the Copy says of dimensions that lie in one of the tensor: leading ones of one entry have no place. */
static void name_joined(Arena *arena, const Def *def, Unit *unit, PermutedTensor *p)
{
    const Stmt *seen = unit_tensor(unit, p->seen);

    if (!seen)
        return;
    p->by = seen->shape[p->with];
    if (flow_is_one(p->sides[0]) && p->by->kind == EXPR_NAME) {
        p->together = p->by->name;
        return;
    }
    p->together = declare_all(arena, def, unit, seen->shape[p->joined], p->by);
    for (int side = 0; side < 2; side++) {
        const Expr *size = seen->shape[side == 0 ? p->joined : p->with];
        bool has_place = size->kind == EXPR_NAME && (side == 0 || p->with < p->rank - 2);

        p->names[side] = has_place ? declare_place(arena, def, unit, size->name) : NULL;
    }
}

/* A tensor of this Kernel, with the names that its Copy takes where tiles have more rows than it. */
static PermutedTensor in_kernel(Arena *arena, const Def *def, Unit *unit, const PermutedTensor *p)
{
    PermutedTensor here = *p;

    if (p->missing >= 0 && (here.names[0] = rows_of_tiles(unit, p)))
        here.names[1] = declare_place(arena, def, unit, unit_tensor(unit, p->seen)->shape[p->axes[p->rank - 3]]->name);
    if (p->joined >= 0 && p->with < p->rank - 1)
        name_joined(arena, def, unit, &here);
    return here;
}

static void put_back_in(Arena *arena, const Def *def, Unit *unit, const Permuted *list)
{
    Permuted here = {0};

    for (int i = 0; i < list->len; i++)
        vec_push(arena, &here, in_kernel(arena, def, unit, &list->data[i]));
    for (int i = 0; i < unit->body.len; i++) {
        Stmt *s = unit->body.data[i];
        const PermutedTensor *p = s->kind == STMT_INPUT || s->kind == STMT_OUTPUT ? find_seen(&here, s->name) : NULL;

        if (p)
            put_back_tensor(arena, s, p);
    }
    put_back_copies(arena, unit, &unit->body, &here);
}

void flow_put_back(Arena *arena, const Def *def, Program *program, const Permuted *list)
{
    for (int u = 0; program && u < program->units.len && list->len > 0; u++)
        put_back_in(arena, def, program->units.data[u], list);
}
