/* view.c: products of parts and of entries of an input.
 *
 *   Input  X (batch, len, 3 * heads * D)
 *   Index  head over heads
 *   Compute Define K (batch, heads, len, D) as X[batch, row, (heads + head) * D + col]
 *
 * K's tiles are tiles of X: rows of X, and of its columns the (heads + head)-th D ones. So the fuser is
 * given a definition with K for an input, and what it writes is put back:
 *
 *   cols = 3 * heads * D
 *   Copy X (len, D) as K in coordinate [cols = heads + head] from global to shared
 *
 * Parts that arithmetic takes first are elements that are read one by one, as ever.
 * An entry of a leading dimension, `X[batch, row, 1, heads, col]`, is seen likewise, and so is one that a table names,
 * `W[expert[group], row, col]`. Other than in permute.c a
 * tensor may be seen in several ways, and be used as it is besides.
 *
 * A part of columns, or of rows, begins at a multiple of its size, which is known, so that tiles fill it. Where the
 * rows lie elsewhere each, their coordinates are told (told.c).
 */
#include "fuse/view.h"

/* ---- positions --------------------------------------------------------------------------- */

static bool named(DefDim dim, const char *name)
{
    return dim.name && strcmp(dim.name, name) == 0;
}

static const DefValue *taken_by(const Finder *f, const DefValue *seen)
{
    for (int i = 0; i < f->def->ops.len; i++) {
        const DefOp *op = f->def->ops.data[i];

        if (op->op == OP_GEMM && (op->args[0].value == seen || op->args[1].value == seen))
            return op->result;
    }
    return NULL;
}

/* A product of what arithmetic makes of it, element by element. */
static const DefValue *taken_behind(const Finder *f, const DefValue *seen, int depth)
{
    const DefValue *product = taken_by(f, seen);

    for (int i = 0; i < f->def->ops.len && !product && depth < VIEW_BEHIND; i++) {
        const DefOp *op = f->def->ops.data[i];
        bool made = op_info(op->op)->class == OPC_ELEMENT || op->op == OP_CAST;

        if (made && def_op_takes(op, seen) && op->result->rank == seen->rank)
            product = taken_behind(f, op->result, depth + 1);
    }
    return product;
}

const DefValue *view_product(const Finder *f, const DefValue *seen)
{
    return taken_behind(f, seen, 0);
}

/* The dimension that blocks have an entry of where the value has one of `axis`; NULL: none. */
static const DefDim *block_dim(const Finder *f, const DefValue *value, int axis)
{
    const DefValue *product = view_product(f, value);
    int at = product->rank - (value->rank - axis);

    for (int d = 0; d < product->rank - 2; d++)
        if (value->dims[axis].name && named(product->dims[d], value->dims[axis].name))
            return &product->dims[d];
    return at >= 0 && product->dims[at].name ? &product->dims[at] : NULL;
}

static const Stmt *index_over(const Finder *f, const char *dim)
{
    const Unit *unit = f->def->unit;

    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        if (s->kind == STMT_INDEX && strcmp(s->over, dim) == 0 && (!s->value || (s->value->kind == EXPR_INT && s->value->i == 0)))
            return s;
    }
    return NULL;
}

/* Where a block is along the dimension that `over`, a leading one of what is seen, follows. Heads of
 * keys may be fewer than those of queries, which share them then. */
const Aff *view_place_along(Finder *f, const char *over)
{
    int axis = def_axis(f->view->seen, over);
    const DefDim *block = axis >= 0 && axis < f->view->seen->rank - 2 ? block_dim(f, f->view->seen, axis) : NULL;
    const Stmt *index = block ? index_over(f, block->name) : NULL;
    AffCtx *aff = f->def->aff;

    if (!block)
        return NULL;
    if (!index) {
        Flow flow = {.arena = f->arena, .syms = f->syms, .def = f->def};
        Stmt *made = stmt_new(f->arena, STMT_INDEX);
        made->name = flow_fresh(&flow, arena_printf(f->arena, "%s_at", block->name));
        made->over = block->name;
        index = made;
    }
    bool known = false;
    for (int i = 0; i < f->views->indices.len; i++)
        known |= strcmp(f->views->indices.data[i]->name, index->name) == 0;
    if (!known)
        vec_push(f->arena, &f->views->indices, index);
    const AffSym *place = aff_sym_new(aff, index->name, AFF_SCALAR, 0, INT32_MAX);
    const Aff *at = aff_of(aff, place);
    vec_push(f->arena, &f->places, place);
    const Aff *size = f->view->seen->dims[axis].size;
    return size == block->size ? at : aff_div(aff, at, aff_div(aff, block->size, size));
}

/* Sizes, and the positions along leading dimensions of what is seen. */
static void bind_names(Finder *f)
{
    const Def *def = f->def;
    int64_t from;

    eval_init(&f->env, f->arena, def->aff);
    for (int i = 0; i < def->dims.len; i++)
        eval_bind(&f->env, def->dims.data[i].name, def->dims.data[i].size);
    for (int i = 0; i < def->indices.len; i++) {
        const DefIndex *index = &def->indices.data[i];
        const Aff *at = aff_is_const(index->from, &from) && from == 0 ? view_place_along(f, index->over) : NULL;

        if (at)
            eval_bind(&f->env, index->name, at);
    }
}

/* ---- coordinates -------------------------------------------------------------------------- */

/* Whether an expression says a place within the tile at hand. */
static bool says_place(const Finder *f, const Expr *e)
{
    if (!e)
        return false;
    bool own = (e->kind == EXPR_NAME || e->kind == EXPR_CALL) && flow_own_axis(f->def, f->view->seen, e) >= f->view->seen->rank - 2;
    for (int i = 0; i < e->n_args; i++)
        own |= says_place(f, e->args[i]);
    /* in arithmetic the name of a dimension is its size */
    bool size = e->kind == EXPR_NAME && def_dim(f->def, e->name);
    return (own && !size) || says_place(f, e->a) || says_place(f, e->b);
}

const Aff *view_block_integer(Finder *f, const Expr *e)
{
    return says_place(f, e) ? NULL : eval_aff(&f->env, e, NULL);
}

/* What is added to the place along an axis of what is seen; NULL: they are not where that says. */
static const Aff *base_along(Finder *f, const Expr *e, int axis)
{
    if (flow_own_axis(f->def, f->view->seen, e) == axis)
        return aff_const(f->def->aff, 0);
    if (e->kind != EXPR_BINARY || (e->op != EO_ADD && e->op != EO_SUB))
        return NULL;
    bool left = says_place(f, e->a);
    if (!left && e->op == EO_SUB)
        return NULL;
    const Aff *base = base_along(f, left ? e->a : e->b, axis), *rest = base ? view_block_integer(f, left ? e->b : e->a) : NULL;
    if (!rest)
        return NULL;
    return e->op == EO_SUB ? aff_sub(f->def->aff, base, rest) : aff_add(f->def->aff, base, rest);
}

/* Widths that tiles have exactly, whatever they are multiplied with. */
bool flow_is_tile_width(int64_t width, DType dtype)
{
    int64_t step = dtype_bytes(dtype) == 1 ? 32 : 16;

    return width > 0 && width % step == 0 && (width <= 64 || width % 128 == 0);
}

/* What lies outside reads as 0; a Copy from there is a mistake. */
static bool is_inside(const Finder *f, const Aff *at, const Aff *dim)
{
    int64_t least, most;

    const Aff *first = at; /* that of the first block, before which none begins */
    for (int i = 0; i < f->places.len; i++)
        first = aff_subst(f->def->aff, first, f->places.data[i], aff_const(f->def->aff, 0));
    aff_bounds(first, &least, &most);
    return least >= 0 && !aff_always(f->def->aff, aff_le(f->def->aff, dim, at));
}

bool view_find_part(Finder *f, int d, const Expr *e, int axis)
{
    View *v = f->view;
    int64_t width;
    const Aff *base = base_along(f, e, axis);

    if (!base || !aff_is_const(v->seen->dims[axis].size, &width) || !flow_is_tile_width(width, v->tensor->dtype) ||
        aff_divisor(base) % width != 0 || !is_inside(f, base, v->tensor->dims[d].size))
        return false;
    v->axes[d] = axis;
    v->at[d] = flow_written(f->arena, f->syms, aff_div(f->def->aff, base, aff_const(f->def->aff, width)));
    return v->at[d] != NULL;
}

bool view_find_entry(Finder *f, int d, const Expr *e)
{
    const Aff *at = view_block_integer(f, e);

    f->view->at[d] = at && is_inside(f, at, f->view->tensor->dims[d].size) ? flow_written(f->arena, f->syms, at) : NULL;
    return f->view->at[d] != NULL;
}

/* One of the tensor's dimensions, at coordinate e (NULL: the element's own, by place). */
static bool find_dim(Finder *f, const DefOp *op, int d, const Expr *e, bool *used)
{
    View *v = f->view;
    int axis = e ? flow_own_axis(f->def, v->seen, e) : d - v->tensor->rank + v->seen->rank;

    if (axis >= 0 && v->tensor->dims[d].size == v->seen->dims[axis].size && (axis == v->seen->rank - 1) == (d == v->tensor->rank - 1)) {
        v->axes[d] = axis;
        return !used[axis] && (used[axis] = true);
    }
    if (!e && axis != v->seen->rank - 1)
        return false; /* of `...` only columns may be fewer */
    Expr col = {.kind = EXPR_NAME, .name = "col"};
    int rows = v->seen->rank - 2;
    if (d == v->tensor->rank - 1)
        return view_find_part(f, d, e ? e : &col, v->seen->rank - 1);
    if (!says_place(f, e))
        return view_find_entry(f, d, e) || view_look_up_entry(f, op, d, e);
    return !used[rows] && (used[rows] = true) && view_find_part(f, d, e, rows);
}

static bool find_dims(Finder *f, const DefOp *op)
{
    const Expr *e = op->where;
    bool used[VIEW_RANK] = {false};
    int rank = f->view->tensor->rank, d = 0;

    for (int i = 0; i < e->n_args; i++) {
        int covered = e->args[i]->kind == EXPR_ELLIPSIS ? rank - (e->n_args - 1) : 1;

        for (; covered > 0 && d < rank; covered--, d++)
            if (!find_dim(f, op, d, e->args[i]->kind == EXPR_ELLIPSIS ? NULL : e->args[i], used))
                return false;
    }
    return d == rank;
}

/* ---- recognized ----------------------------------------------------------------------------- */

static int rows_of(const View *v)
{
    for (int d = 0; d < v->tensor->rank; d++)
        if (v->axes[d] == v->seen->rank - 2)
            return d;
    return -1;
}

/* Blocks find their entries by name, or by place from the right; else they are told. */
static bool find_entries(Finder *f, View *v)
{
    const DefValue *product = view_product(f, v->seen);
    int rows = v->told ? v->tensor->rank - 2 : rows_of(v), back = 0;

    for (int d = v->tensor->rank - 2; d >= 0; d--) {
        const DefDim *dim = &v->tensor->dims[d];
        bool found = (d == rows && !v->told) || v->at[d] || v->axes[d] == v->seen->rank - 3 - back;

        for (int k = 0; k < product->rank - 2; k++)
            found |= dim->name && named(product->dims[k], dim->name);
        const Aff *at = !found && dim->name ? view_place_along(f, dim->name) : NULL;
        if (!found && (!at || !(v->at[d] = flow_written(f->arena, f->syms, at))))
            return false;
        back += d != rows;
    }
    return true;
}

/* Tiles of one tensor have their rows along one dimension. */
static bool agrees(const Finder *f, const View *v)
{
    int rows = v->told ? v->tensor->rank - 2 : rows_of(v);

    for (int i = 0; i < f->views->list.len; i++) {
        const View *other = &f->views->list.data[i];

        if (other->tensor == v->tensor && !v->told && !other->told && rows_of(other) != rows)
            return false;
    }
    for (int i = 0; i < f->def->ops.len; i++)
        if (rows != v->tensor->rank - 2 && def_op_takes(f->def->ops.data[i], v->tensor))
            return false;
    return true;
}

/* Elements of it are read, as no copy brings them. */
static bool is_read(const Finder *f, const DefValue *seen)
{
    for (int i = 0; i < f->def->ops.len; i++)
        if (def_op_reads(f->def->ops.data[i], seen))
            return true;
    return false;
}

static bool is_named(const Finder *f, const char *name)
{
    for (int i = 0; i < f->views->list.len; i++)
        if (strcmp(f->views->list.data[i].name, name) == 0)
            return true;
    return def_is_named(f->def, name);
}

/* Of parts of one tensor each has a name of its own. */
static const char *name_of(const Finder *f, const DefValue *seen)
{
    const char *name = seen->name;

    for (int i = 2; is_named(f, name); i++)
        name = arena_printf(f->arena, "%s%d", seen->name, i);
    return name;
}

/* The tensor that a Define is an access of alone; NULL: it is none. */
static DefValue *accessed(const DefOp *op)
{
    const Expr *e = op->op == OP_DEFINE ? op->where : NULL;

    for (int i = 0; e && e->kind == EXPR_INDEX && i < op->reads.len; i++)
        if (expr_is_name(e->a, op->reads.data[i].name))
            return op->reads.data[i].value;
    return NULL;
}

/* Whether products may take its tiles. */
static bool may_be_seen(const Finder *f, const DefValue *tensor, const DefValue *seen)
{
    if (tensor->op || tensor->rank < 2 || tensor->rank > VIEW_RANK || seen->rank < 2 || seen->rank > VIEW_RANK)
        return false;
    for (int d = 0; d < seen->rank; d++)
        if (!seen->dims[d].name && !aff_is_const(seen->dims[d].size, NULL))
            return false;
    return !seen->is_output && view_product(f, seen) && !is_read(f, seen);
}

static void begin_view(Finder *f, const DefOp *op, const DefValue *tensor, const Stmt *decl, View *v)
{
    *v = (View){.tensor = tensor, .seen = op->result, .name = name_of(f, op->result), .shape = decl->shape};
    for (int d = 0; d < VIEW_RANK; d++)
        v->axes[d] = -1;
    f->view = v;
    bind_names(f);
}

/* Whether all of a tensor is seen with dimensions of one added, `K (batch, 1, len, D) as Cache[batch, row, col]`, or beside
 * something else that is done with it. All else that only has another order is permute.c's. */
static bool is_seen_whole(const Finder *f, const DefOp *op, const View *v)
{
    bool covered[VIEW_RANK] = {false}, elsewhere = v->seen->rank != v->tensor->rank;

    for (int d = 0; d < v->tensor->rank; d++)
        if (v->axes[d] >= 0)
            covered[v->axes[d]] = true;
    for (int d = 0; d < v->seen->rank; d++)
        if (!covered[d] && !flow_is_one(v->seen->dims[d]))
            return false;
    for (int i = 0; i < f->def->ops.len; i++)
        elsewhere |= f->def->ops.data[i] != op && (def_op_takes(f->def->ops.data[i], v->tensor) || def_op_reads(f->def->ops.data[i], v->tensor));
    return elsewhere;
}

/* A part or an entry, whose rows follow one another, or all of it. */
static bool is_part(Finder *f, const DefOp *op, View *v)
{
    bool any = false;

    if (!find_dims(f, op) || rows_of(v) < 0 || v->axes[v->tensor->rank - 1] < 0)
        return false;
    for (int d = 0; d < v->tensor->rank; d++)
        any |= v->at[d] != NULL;
    if (!taken_by(f, v->seen) && (any || v->seen->rank == v->tensor->rank)) /* elements of it are read one by one */
        return false;
    return (any || is_seen_whole(f, op, v)) && find_entries(f, v) && agrees(f, v);
}

/* Rows that arithmetic stands between and their product are each another's, if a table names them. Where their own place says
 * which they are, as `row div 128` does of scales, many are the same one, which is not copied for each. */
static bool may_be_told(const Finder *f, const DefOp *op)
{
    bool named = false;

    for (int d = 0; d < op->where->n_args; d++)
        named |= expr_reads(op->where->args[d], NULL);
    return taken_by(f, op->result) || (named && view_product(f, op->result));
}

static bool find_view(Finder *f, const DefOp *op, View *v)
{
    const DefValue *tensor = accessed(op);
    const Stmt *decl = tensor ? block_find(&f->def->unit->body, STMT_INPUT, tensor->name) : NULL;

    if (!decl || !may_be_seen(f, tensor, op->result))
        return false;
    begin_view(f, op, tensor, decl, v);
    if (is_part(f, op, v))
        return true;
    begin_view(f, op, tensor, decl, v);
    return may_be_told(f, op) && view_find_told(f, op, op->where) && find_entries(f, v) && agrees(f, v);
}

/* ---- the definition with what is seen ------------------------------------------------------------ */

static bool is_used(const Def *def, const DefValue *value)
{
    for (int i = 0; i < def->ops.len; i++)
        if (def_op_takes(def->ops.data[i], value) || def_op_reads(def->ops.data[i], value))
            return true;
    return value->is_output;
}

static Stmt *declare_seen(Arena *arena, const View *v, const Stmt *tensor)
{
    Stmt *s = arena_new_of(arena, Stmt);

    *s = *tensor;
    s->name = v->name;
    s->n_shape = v->seen->rank;
    s->shape = arena_array(arena, Expr *, v->seen->rank);
    for (int d = 0; d < v->seen->rank; d++) {
        int64_t size = 0;

        aff_is_const(v->seen->dims[d].size, &size);
        s->shape[d] = v->seen->dims[d].name ? expr_name(arena, v->seen->dims[d].name) : expr_int(arena, size);
    }
    return s;
}

static void declare_all(Remade *r, const Views *views)
{
    Block body = {0};

    for (int i = 0; i < r->unit->body.len; i++) {
        Stmt *s = r->unit->body.data[i];
        bool stays = true;

        for (int k = 0; s->kind == STMT_INPUT && k < views->list.len; k++) {
            const View *v = &views->list.data[k];

            if (strcmp(s->name, v->tensor->name) != 0)
                continue;
            vec_push(r->arena, &body, declare_seen(r->arena, v, s));
            stays = r->made[v->tensor->id]->is_input;
        }
        if (stays)
            vec_push(r->arena, &body, s);
    }
    r->unit->body = body;
}

static void list_inputs(Remade *r, const Views *views)
{
    DefValue **inputs = arena_array(r->arena, DefValue *, r->def->inputs.len + views->list.len);
    int n = 0;

    for (int i = 0; i < r->def->inputs.len; i++) {
        DefValue *input = r->def->inputs.data[i];
        bool seen = false;

        for (int k = 0; k < views->list.len; k++)
            if (r->made[views->list.data[k].tensor->id] == input) {
                inputs[n++] = r->made[views->list.data[k].seen->id];
                seen = true;
            }
        input->is_input = !seen || is_used(r->def, input);
        if (input->is_input)
            inputs[n++] = input;
    }
    r->def->inputs.data = inputs;
    r->def->inputs.len = r->def->inputs.cap = n;
}

const Def *flow_view(Arena *arena, Syms *syms, const Def *def, Views *views)
{
    Finder f = {.arena = arena, .syms = syms, .def = def, .views = views};
    Remade r = flow_remake(arena, def);

    *views = (Views){0};
    for (int i = 0; i < def->ops.len; i++) {
        View found;

        if (find_view(&f, def->ops.data[i], &found)) {
            DefValue *seen = r.made[found.seen->id];

            vec_push(arena, &views->list, found);
            vec_push(arena, &r.def->taken, found.tensor->name);
            seen->dtype = found.tensor->dtype;
            seen->is_input = seen->is_part = true;
            seen->name = found.name;
        } else {
            flow_keep_op(&r, def->ops.data[i]);
        }
    }
    if (views->list.len == 0)
        return def;
    list_inputs(&r, views);
    declare_all(&r, views);
    if (flow_rounds_alike(&r))
        return r.def;
    *views = (Views){0};
    return def;
}

/* ---- the sketch without ---------------------------------------------------------------------------- */

typedef struct Unviewer {
    Arena *arena;
    const Def *def;
    const Views *views;
    Unit *unit;
    Expr **shapes[VIEW_MOST]; /* by view: of what is seen, in this Kernel's names; NULL: it is not used */
    VEC(const Stmt *) loops;  /* around the copy at hand */
    bool fails;
} Unviewer;

static bool is_mentioned(const Unviewer *u, const char *name)
{
    for (int i = 0; i < u->unit->body.len; i++) {
        const Stmt *s = u->unit->body.data[i];

        for (int k = 0; k < s->n_shape; k++)
            if (expr_mentions(s->shape[k], name))
                return true;
        if (s->name && strcmp(s->name, name) == 0)
            return true;
    }
    Flow flow = {.arena = u->arena, .def = u->def};
    return strcmp(flow_fresh(&flow, name), name) != 0;
}

static void insert_before_grid(Unviewer *u, Stmt *s)
{
    Block body = {0};

    for (int i = 0; i < u->unit->body.len; i++) {
        if (u->unit->body.data[i]->kind == STMT_GRID)
            vec_push(u->arena, &body, s);
        vec_push(u->arena, &body, u->unit->body.data[i]);
    }
    u->unit->body = body;
}

static bool is_side(const char *name)
{
    return strcmp(name, "width") == 0 || strcmp(name, "height") == 0;
}

/* A name for a size, so that coordinates along it can be given. */
static Expr *name_for(Unviewer *u, Expr *size, const Aff *value, const char *wanted)
{
    const char *name = wanted;
    int64_t known;

    if (size->kind == EXPR_NAME)
        return size;
    for (int i = 0; i < u->unit->body.len; i++) { /* sides of one size share a name */
        const Stmt *s = u->unit->body.data[i];

        if (is_side(wanted) && s->kind == STMT_ASSIGN && strncmp(s->name, wanted, strlen(wanted)) == 0 &&
            aff_is_const(value, &known) && s->value->kind == EXPR_INT && s->value->i == known)
            return expr_name(u->arena, s->name);
    }
    for (int i = 2; is_mentioned(u, name); i++)
        name = arena_printf(u->arena, "%s%d", wanted, i);
    Stmt *assign = stmt_new(u->arena, STMT_ASSIGN);
    assign->name = name;
    assign->value = aff_is_const(value, &known) ? expr_int(u->arena, known) : size;
    insert_before_grid(u, assign);
    return expr_name(u->arena, name);
}

/* A length that a tensor declares is no number of the launch besides. */
static void drop_lengths(Unviewer *u, const Stmt *declared)
{
    Block body = {0};

    for (int i = 0; i < u->unit->body.len; i++) {
        Stmt *s = u->unit->body.data[i];
        bool length = false;

        for (int d = 0; s->kind == STMT_PARAM && !s->value && d < declared->n_shape; d++)
            length |= expr_is_name(declared->shape[d], s->name);
        if (!length)
            vec_push(u->arena, &body, s);
    }
    u->unit->body = body;
}

/* The first of what is seen of a tensor becomes it; the others go. */
static void declare_tensors(Unviewer *u)
{
    Block body = {0};

    for (int i = 0; i < u->unit->body.len; i++) {
        Stmt *s = u->unit->body.data[i];
        bool stays = true;

        for (int k = 0; s->kind == STMT_INPUT && k < u->views->list.len; k++) {
            const View *v = &u->views->list.data[k];

            if (strcmp(s->name, v->name) != 0)
                continue;
            u->shapes[k] = s->shape;
            stays = !block_find(&u->unit->body, STMT_INPUT, v->tensor->name);
            Expr **shape = arena_array(u->arena, Expr *, v->tensor->rank);
            for (int d = 0; d < v->tensor->rank; d++)
                shape[d] = expr_copy(u->arena, v->at[d] ? v->shape[d] : s->shape[v->axes[d]]);
            s->shape = shape;
            s->n_shape = v->tensor->rank;
            s->name = v->tensor->name; /* the next finds it declared */
            break;
        }
        if (stays)
            vec_push(u->arena, &body, s);
    }
    u->unit->body = body;
}

static void insert_behind_inputs(Unviewer *u, Stmt *s)
{
    Block body = {0};
    int last = -1;

    for (int i = 0; i < u->unit->body.len; i++)
        last = u->unit->body.data[i]->kind == STMT_INPUT ? i : last;
    for (int i = 0; i < u->unit->body.len; i++) {
        vec_push(u->arena, &body, u->unit->body.data[i]);
        if (i == last)
            vec_push(u->arena, &body, s);
    }
    u->unit->body = body;
}

/* The tensors whose elements say where rows lie, which a kernel among several may lack. */
static void declare_tables(Unviewer *u)
{
    for (int i = 0; i < u->def->inputs.len; i++) {
        const char *name = u->def->inputs.data[i]->name;
        bool read = false;

        for (int k = 0; k < u->views->list.len; k++)
            for (int d = 0; u->shapes[k] && d < u->views->list.data[k].tensor->rank; d++)
                read |= expr_reads(u->views->list.data[k].at[d], name);
        const Stmt *decl = read && !block_find(&u->unit->body, STMT_INPUT, name) ? block_find(&u->def->unit->body, STMT_INPUT, name) : NULL;
        if (!decl)
            continue;
        Stmt *copy = arena_new_of(u->arena, Stmt);
        *copy = *decl;
        copy->comment = NULL;
        copy->gap = false;
        drop_lengths(u, copy);
        insert_behind_inputs(u, copy);
    }
}

static void name_dims(Unviewer *u, int which)
{
    const View *v = &u->views->list.data[which];
    const Stmt *decl = block_find(&u->unit->body, STMT_INPUT, v->tensor->name);

    for (int d = 0; decl && d < v->tensor->rank; d++)
        if (v->at[d] || d == rows_of(v) || d == v->tensor->rank - 1)
            decl->shape[d] = name_for(u, decl->shape[d], v->tensor->dims[d].size,
                                      d == v->tensor->rank - 1 ? "cols" : d == rows_of(v) ? "rows" : "entries");
}

static bool mentions(const Unviewer *u, const char *name)
{
    for (int i = 0; i < u->views->list.len; i++)
        for (int d = 0; d < VIEW_RANK; d++)
            if (u->shapes[i] && u->views->list.data[i].at[d] && expr_mentions(u->views->list.data[i].at[d], name))
                return true;
    return false;
}

static void declare_indices(Unviewer *u)
{
    for (int i = 0; i < u->views->indices.len; i++) {
        const Stmt *index = u->views->indices.data[i];
        if (!mentions(u, index->name) || unit_index(u->unit, index->name))
            continue;
        Stmt *copy = arena_new_of(u->arena, Stmt);
        *copy = *index;
        copy->comment = NULL;
        copy->gap = false;
        insert_before_grid(u, copy);
    }
}

/* The dimension of which a loop counts tiles, or that the grid names. */
static const char *counted(const Block *block, const char *name)
{
    const char *dim = NULL;

    for (int i = 0; i < block->len && !dim; i++) {
        const Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_GRID && k < s->n_coords; k++)
            if (strcmp(s->coords[k].name, name) == 0)
                return name;
        if (s->kind == STMT_FOR && strcmp(s->name, name) == 0)
            return s->over;
        dim = counted(&s->body, name);
        dim = dim ? dim : counted(&s->orelse, name);
    }
    return dim;
}

/* What the copy's side follows that lies along dimension d: the size of a part, or the tensor's own. */
static Expr *side_of(Unviewer *u, const Stmt *copy, int which, int d, const Stmt *decl)
{
    const View *v = &u->views->list.data[which];
    Expr **size = &u->shapes[which][v->axes[d]];
    int side = v->axes[d] == v->seen->rank - 1;
    bool by_place = copy->n_coords == 2 && !copy->coords[0].name && copy->coords[side].value->kind == EXPR_NAME;
    const char *follows = by_place ? counted(&u->unit->body, copy->coords[side].value->name) : NULL;

    if (!v->at[d])
        return expr_copy(u->arena, decl->shape[d]);
    if (follows)
        return expr_name(u->arena, follows);
    *size = name_for(u, *size, v->seen->dims[v->axes[d]].size, side ? "width" : "height");
    return expr_copy(u->arena, *size);
}

static bool names_twice(const Coord *coords, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (coords[i].name && coords[k].name && strcmp(coords[i].name, coords[k].name) == 0)
                return true;
    return false;
}

/* Of a tensor with two dimensions of one name (rows and columns of square weights): all coordinates by their
 * places; false: one of them is not said. The first two are those of the sides where there were any. */
static bool name_none(const View *v, Coord *coords, int n, int of_sides)
{
    int sides[2] = {rows_of(v), v->tensor->rank - 1};
    Coord by_place[8] = {{0}};

    if (n != v->tensor->rank || of_sides != 2)
        return false;
    for (int i = 0; i < of_sides; i++)
        by_place[sides[i]].value = coords[i].value;
    for (int d = 0, i = of_sides; d < v->tensor->rank; d++)
        if (v->at[d] && i < n)
            by_place[d].value = coords[i++].value;
    for (int d = 0; d < n; d++)
        if (!by_place[d].value)
            return false;
    memcpy(coords, by_place, (size_t)n * sizeof *coords);
    return true;
}

/* What a tile along the dimension follows: the loop over it, else the block. */
static Expr *follows_dim(const Unviewer *u, const Expr *dim)
{
    for (int i = u->loops.len - 1; i >= 0; i--)
        if (u->loops.data[i]->over && expr_is_name(dim, u->loops.data[i]->over))
            return expr_name(u->arena, u->loops.data[i]->name);
    return expr_copy(u->arena, dim);
}

/* Whether a coordinate names two dimensions of the tensor: of (N, N, D) no name says which. */
static bool names_two(const Coord *coords, int n, const Stmt *decl)
{
    for (int i = 0; i < n; i++) {
        int dims = 0;

        for (int d = 0; coords[i].name && d < decl->n_shape; d++)
            dims += expr_is_name(decl->shape[d], coords[i].name);
        if (dims > 1)
            return true;
    }
    return false;
}

/* Where the tile is along what it is called where it is seen: what a coordinate says, the loop over it or the block's place; all of it
 * begins at 0. */
static Expr *place_along(const Unviewer *u, const Stmt *copy, const Expr *dim)
{
    const Coord *said = dim->kind == EXPR_NAME ? stmt_coord(copy, dim->name) : NULL;

    if (said)
        return said->value;
    Expr *place = follows_dim(u, dim);
    return place->kind == EXPR_NAME && (!expr_equal(place, dim) || counted(&u->unit->body, place->name)) ? place : expr_int(u->arena, 0);
}

/* Likewise all coordinates by their places; false: what rows there are no place says. */
static bool place_all(const Unviewer *u, Stmt *s, int which, const Stmt *decl)
{
    const View *v = &u->views->list.data[which];
    int rank = v->tensor->rank;
    Coord *coords = arena_array(u->arena, Coord, rank);

    if ((v->told ? !v->at[rank - 2] : rows_of(v) != rank - 2) || (s->n_coords > 0 && !s->coords[0].name))
        return false;
    for (int d = 0; d < rank; d++) {
        bool entry = d < rank - 2 && !v->at[d];

        if (entry && (decl->shape[d]->kind != EXPR_NAME || !counted(&u->unit->body, decl->shape[d]->name)))
            return false;
        coords[d].value = v->at[d] ? expr_copy(u->arena, v->at[d]) : entry ? expr_copy(u->arena, decl->shape[d]) : place_along(u, s, u->shapes[which][v->axes[d]]);
    }
    s->coords = coords;
    s->n_coords = rank;
    return true;
}

/* A side along which it lies whole has another name where it is seen than where its tensor is declared: rows and columns of an output
 * along one dimension have two names, and the tensor has one of them. */
static bool other_name(const Unviewer *u, int which, int d, const Stmt *decl)
{
    const View *v = &u->views->list.data[which];
    const Expr *seen = v->at[d] ? NULL : u->shapes[which][v->axes[d]];

    return seen && seen->kind == EXPR_NAME && !expr_equal(decl->shape[d], seen); /* a length has been given one for its declaration */
}

static Coord other_side(const Unviewer *u, int which, int d, const Stmt *decl)
{
    return (Coord){.name = decl->shape[d]->name, .value = follows_dim(u, u->shapes[which][u->views->list.data[which].axes[d]])};
}

/* Coordinates: those that there were, of what is seen whole, and which part or entry. */
static void put_back_coords(Unviewer *u, Stmt *s, int which, const Stmt *decl)
{
    const View *v = &u->views->list.data[which];
    Coord *coords = arena_array(u->arena, Coord, s->n_coords + v->tensor->rank);
    int sides[2] = {rows_of(v), v->tensor->rank - 1}, n = 0;

    for (int i = 0; i < s->n_coords; i++) {
        bool by_place = !s->coords[i].name;

        u->fails |= by_place && s->n_coords != 2;
        for (int k = 0; k < 2; k++)
            u->fails |= !by_place && v->at[sides[k]] && expr_is_name(s->shape[k], s->coords[i].name);
        if (by_place && !u->fails && v->at[sides[i]])
            continue;
        coords[n] = s->coords[i];
        if (by_place && !u->fails)
            coords[n].name = decl->shape[sides[i]]->name;
        n++;
    }
    int of_sides = n;
    for (int k = 0; k < 2; k++)
        if (s->n_coords == 0 && other_name(u, which, sides[k], decl))
            coords[n++] = other_side(u, which, sides[k], decl);
    for (int d = 0; d < v->tensor->rank; d++)
        if (v->at[d])
            coords[n++] = (Coord){.name = decl->shape[d]->name, .value = expr_copy(u->arena, v->at[d])};
    bool twice = names_twice(coords, n);
    if (twice ? !name_none(v, coords, n, of_sides) : names_two(coords, n, decl)) {
        u->fails |= !place_all(u, s, which, decl);
        return;
    }
    s->coords = coords;
    s->n_coords = n;
}

/* Of rows that lie each where it is told. */
static void put_back_told(Unviewer *u, Stmt *s, int which, const Stmt *decl)
{
    const View *v = &u->views->list.data[which];
    Expr **rows = &u->shapes[which][v->seen->rank - 2];

    *rows = name_for(u, *rows, v->seen->dims[v->seen->rank - 2].size, "height");
    s->shape[0] = expr_copy(u->arena, *rows);
    if (v->at[v->tensor->rank - 1]) {
        Expr **cols = &u->shapes[which][v->seen->rank - 1];

        *cols = name_for(u, *cols, v->seen->dims[v->seen->rank - 1].size, "width");
        s->shape[1] = expr_copy(u->arena, *cols);
    } else {
        s->shape[1] = expr_copy(u->arena, decl->shape[v->tensor->rank - 1]);
    }
    u->fails |= s->n_coords > 0 || s->shape[1]->kind != EXPR_NAME;
    Coord *coords = arena_array(u->arena, Coord, v->tensor->rank + 1);
    int n = 0, cols = v->tensor->rank - 1;
    for (int d = 0; d < v->tensor->rank && !u->fails; d++)
        if (v->at[d])
            coords[n++] = (Coord){.name = decl->shape[d]->name, .value = expr_copy(u->arena, v->at[d])};
    if (!u->fails && other_name(u, which, cols, decl))
        coords[n++] = other_side(u, which, cols, decl);
    if (names_twice(coords, n) || names_two(coords, n, decl)) {
        u->fails |= !place_all(u, s, which, decl);
        return;
    }
    s->coords = coords;
    s->n_coords = n;
}

static void put_back_copy(Unviewer *u, Stmt *s, int which)
{
    const View *v = &u->views->list.data[which];
    const Stmt *decl = block_find(&u->unit->body, STMT_INPUT, v->tensor->name);

    if (!decl || !u->shapes[which]) {
        u->fails = true;
        return;
    }
    s->as = s->as ? s->as : v->name;
    s->name = v->tensor->name;
    s->has_shape = true;
    s->shape = arena_array(u->arena, Expr *, 2);
    s->n_shape = 2;
    if (v->told) {
        put_back_told(u, s, which, decl);
        return;
    }
    Expr *rows = side_of(u, s, which, rows_of(v), decl), *cols = side_of(u, s, which, v->tensor->rank - 1, decl);
    s->shape[0] = rows;
    s->shape[1] = cols;
    u->fails |= rows->kind != EXPR_NAME || cols->kind != EXPR_NAME;
    if (!u->fails)
        put_back_coords(u, s, which, decl);
}

static void put_back_copies(Unviewer *u, Block *block)
{
    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i];

        for (int k = 0; s->kind == STMT_COPY && s->space == SPACE_GLOBAL && k < u->views->list.len; k++)
            if (strcmp(s->name, u->views->list.data[k].name) == 0) {
                put_back_copy(u, s, k);
                break;
            }
        if (s->kind == STMT_FOR)
            vec_push(u->arena, &u->loops, s);
        put_back_copies(u, &s->body);
        put_back_copies(u, &s->orelse);
        u->loops.len -= s->kind == STMT_FOR;
    }
}

bool flow_unview(Arena *arena, const Def *def, Program *program, const Views *views)
{
    bool fails = views->list.len > VIEW_MOST;

    for (int i = 0; program && views->list.len > 0 && !fails && i < program->units.len; i++) {
        Unviewer u = {.arena = arena, .def = def, .views = views, .unit = program->units.data[i]};

        declare_tensors(&u);
        declare_tables(&u);
        for (int k = 0; k < views->list.len; k++)
            if (u.shapes[k])
                drop_lengths(&u, block_find(&u.unit->body, STMT_INPUT, views->list.data[k].tensor->name));
        for (int k = 0; k < views->list.len; k++)
            if (u.shapes[k])
                name_dims(&u, k);
        declare_indices(&u);
        put_back_copies(&u, &u.unit->body);
        fails = u.fails;
    }
    return !fails;
}
