/* header.c: the declarations of a sketch: those of the definition that its body
 * needs, with dtypes, the known dimensions as assignments, and the grid.
 *
 *   Input  Q (batch, q_heads, q_len, HeadDim)      Input  Q (batch, q_heads, q_len, HeadDim) bf16
 *   Param  scale = 1 / sqrt(HeadDim)          ->   q_heads = 32
 *   --set q_heads=32, HeadDim=128                  HeadDim = 128
 *                                                  scale = 1 / sqrt(HeadDim)
 *                                                  Grid over q_len, q_heads, batch
 */
#include "fuse/flow.h"

#include "lang/schedule.h"

enum { HEADER_DEPTH = 64 };

typedef struct Header {
    Flow *flow;
    Block *out;
    VEC(const char *) used;  /* names that kept expressions mention */
    VEC(const Stmt *) decls; /* Param, Let and Index of the definition */
} Header;

/* ---- tensors in use ------------------------------------------------------------------ */

/* Whether a mask or a Define reads elements of the tensor. */
static bool is_read(const Node *node, const DefValue *value)
{
    return node->source && def_op_reads(node->source, value);
}

/* Whether the tensor is loaded, stored or read; alone, a kernel declares all. */
static bool is_touched(const Flow *flow, const DefValue *value)
{
    for (int i = 0; flow->kernel && i < flow->nodes.len; i++) {
        const Node *node = flow->nodes.data[i];

        if (is_read(node, value) || ((node->kind == NODE_LOAD || node->kind == NODE_STORE) && node->value == value))
            return true;
    }
    return !flow->kernel;
}

static bool in_grid(const Flow *flow, const Axis *axis)
{
    return (axis == flow->rows && axis->kind == AXIS_ROWS && !flow->same_rows) || (axis == flow->cols && axis->kind == AXIS_COLS && !flow->same_cols);
}

/* Whether the kernel has tiles along an axis, or blocks; alone, a kernel has some along all. */
static bool is_met(const Flow *flow, const Axis *axis)
{
    if (in_grid(flow, axis))
        return true;
    for (int i = 0; flow->kernel && i < flow->nodes.len; i++) {
        const Node *node = flow->nodes.data[i];

        if (node->row == axis || node->col == axis || node->stream == axis)
            return true;
    }
    return !flow->kernel;
}

/* ---- names in use -------------------------------------------------------------------- */

static bool uses_name(const Header *h, const char *name)
{
    return text_among(h->used.data, h->used.len, name);
}

static const Stmt *find_decl(const Header *h, const char *name)
{
    for (int i = 0; i < h->decls.len; i++)
        if (text_equal(h->decls.data[i]->name, name))
            return h->decls.data[i];
    return NULL;
}

static void use_name(Header *h, const char *name);

static void use_expr(Header *h, const Expr *e)
{
    if (!e)
        return;
    if (e->kind == EXPR_NAME)
        use_name(h, e->name);
    use_expr(h, e->a);
    use_expr(h, e->b);
    for (int i = 0; i < e->n_args; i++)
        use_expr(h, e->args[i]);
}

/* A name brings those that its own declaration mentions. Cycles end here since a
 * name is entered once. */
static void use_name(Header *h, const char *name)
{
    const Stmt *decl;

    if (uses_name(h, name))
        return;
    vec_push(h->flow->arena, &h->used, name);
    decl = find_decl(h, name);
    if (decl) {
        use_expr(h, decl->value);
        if (decl->over)
            use_name(h, decl->over);
        for (int i = 0; decl->over && i < h->decls.len; i++) /* their order says which is which: index_side */
            if (h->decls.data[i]->over && strcmp(h->decls.data[i]->over, decl->over) == 0)
                use_name(h, h->decls.data[i]->name);
    }
}

static void use_dims(Header *h, const DefValue *value)
{
    for (int d = 0; d < value->rank; d++)
        if (value->dims[d].name)
            use_name(h, value->dims[d].name);
}

static void find_used(Header *h)
{
    const Unit *unit = h->flow->def->unit;

    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        for (int k = 0; (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT) && k < s->n_shape; k++)
            use_expr(h, s->shape[k]);
    }
    for (int i = 0; i < h->flow->nodes.len; i++) {
        const Node *node = h->flow->nodes.data[i];

        for (int k = 0; k < node->n_args; k++)
            use_expr(h, node->args[k].number);
        if (node->source)
            use_expr(h, node->source->where);
        if (node->source && node->op == OP_DEFINE)
            use_dims(h, node->source->result);
    }
    for (int i = 0; i < h->flow->workspaces.len; i++)
        if (is_touched(h->flow, h->flow->workspaces.data[i]))
            use_dims(h, h->flow->workspaces.data[i]);
}

static void find_decls(Header *h, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < HEADER_DEPTH; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_PARAM || s->kind == STMT_LET || s->kind == STMT_INDEX)
            vec_push(h->flow->arena, &h->decls, s);
        if (s->kind == STMT_IF) {
            find_decls(h, &s->body, depth + 1);
            find_decls(h, &s->orelse, depth + 1);
        }
    }
}

static bool waits_for(const Stmt *decl, const Header *h)
{
    for (int i = 0; i < h->decls.len; i++)
        if (h->decls.data[i] && h->decls.data[i] != decl && expr_mentions(decl->value, h->decls.data[i]->name))
            return true;
    return false;
}

/* A definition declares in any order, a kernel what a value uses before it. */
static void order_decls(Header *h)
{
    const int n = h->decls.len;
    const Stmt **ordered = arena_array(h->flow->arena, const Stmt *, n + 1);

    for (int done = 0; done < n; done++) {
        int at = 0;

        while (at < n && (!h->decls.data[at] || waits_for(h->decls.data[at], h)))
            at++;
        for (int i = 0; at == n; i++) /* a name that a branch hides: as they stand */
            if (h->decls.data[i])
                at = i;
        ordered[done] = h->decls.data[at];
        h->decls.data[at] = NULL;
    }
    for (int i = 0; i < n; i++)
        h->decls.data[i] = ordered[i];
}

/* ---- statements --------------------------------------------------------------------------- */

static void push(Header *h, Stmt *stmt)
{
    vec_push(h->flow->arena, h->out, stmt);
}

static Stmt *copy_stmt(Header *h, const Stmt *from)
{
    Stmt *stmt = arena_new_of(h->flow->arena, Stmt);

    *stmt = *from;
    stmt->comment = NULL;
    stmt->gap = false;
    return stmt;
}

static const DefValue *tensor_of(const Flow *flow, const Stmt *stmt)
{
    return stmt->kind == STMT_INPUT ? def_input(flow->def, stmt->name) : stmt->kind == STMT_OUTPUT ? def_output(flow->def, stmt->name) : NULL;
}

/* A size as some tensor's declaration writes it; NULL: none does. */
static Expr *written_size(const Flow *flow, DefDim dim)
{
    const Unit *unit = flow->def->unit;

    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *stmt = unit->body.data[i];
        const DefValue *value = tensor_of(flow, stmt);

        for (int d = 0; value && d < value->rank && d < stmt->n_shape; d++)
            if (value->dims[d].size == dim.size)
                return expr_copy(flow->arena, stmt->shape[d]);
    }
    return NULL;
}

/* Whether some tensor has a dimension of this name, so that the launch gives it: of all kernels, as one declares the
 * lengths that another's tensors have (write_lengths). */
static bool is_given(const Flow *flow, const char *name)
{
    if ((flow->kernel || flow->def->reshaped) && def_dim(flow->def, name))
        return true;
    for (int i = 0; i < flow->def->values.len; i++) {
        const DefValue *value = flow->def->values.data[i];

        if ((value->is_input || value->is_output) && def_axis(value, name) != -1)
            return true;
    }
    double known;
    return def_const(flow->def, name, &known);
}

static bool all_given(const Flow *flow, const Expr *e)
{
    if (e->kind == EXPR_NAME)
        return is_given(flow, e->name);
    for (int i = 0; i < e->n_args; i++)
        if (!all_given(flow, e->args[i]))
            return false;
    return (!e->a || all_given(flow, e->a)) && (!e->b || all_given(flow, e->b));
}

Expr *flow_written(Arena *arena, Syms *syms, const Aff *a)
{
    Source source = {.path = "", .text = arena_printf(arena, "Operator o\n  Let size = %s\nend\n", aff_text(arena, a))};
    Diags *quiet = diags_new(arena, NULL);

    source.len = strlen(source.text);
    Program *program = lang_parse(arena, syms, &source, quiet);
    if (quiet->errors || program->units.len != 1 || program->units.data[0]->body.len != 1)
        return NULL;
    return program->units.data[0]->body.data[0]->value;
}

/* A size that only follows from others, as of a part of a tensor. */
static Expr *derived_size(const Flow *flow, DefDim dim)
{
    Expr *size = flow_written(flow->arena, flow->syms, dim.size);

    return size && all_given(flow, size) ? size : NULL;
}

Expr *flow_size_expr(const Flow *flow, DefDim dim)
{
    int64_t size;

    if (aff_is_const(dim.size, &size))
        return expr_int(flow->arena, size);
    Expr *written = written_size(flow, dim);
    return written ? written : derived_size(flow, dim);
}

const char *flow_dim_name(const Flow *flow, DefDim dim)
{
    for (int i = 0; !dim.name && i < flow->axes.len; i++)
        if (flow->axes.data[i]->named_here && flow->axes.data[i]->dim.size == dim.size)
            return flow->axes.data[i]->dim.name;
    return dim.name;
}

/* Whether a tensor's second-last (or last) dimension follows an axis. */
static bool along(const Flow *flow, const DefValue *value, const Axis *axis, bool rows)
{
    for (int i = 0; i < flow->nodes.len; i++) {
        const Node *node = flow->nodes.data[i];

        if ((node->kind == NODE_LOAD || node->kind == NODE_STORE) && node->value == value &&
            (rows ? node->row : node->col) == axis)
            return true;
    }
    return false;
}

/* Whether a tensor's last two dimensions have one name. */
static bool is_square(const DefValue *value)
{
    return value->rank >= 2 && value->dims[value->rank - 1].name && value->dims[value->rank - 2].name &&
           strcmp(value->dims[value->rank - 1].name, value->dims[value->rank - 2].name) == 0;
}

/* The last dimension of a tensor that is as long as it is wide has the other name even where some tile of it lies
 * along the rows: with one name for both no tile could say along which it lies. */
bool flow_has_alias(const Flow *flow, const DefValue *value, bool rows)
{
    return flow->cols_alias_of && along(flow, value, flow->cols, rows) &&
           (!along(flow, value, flow->rows, rows) || (!rows && is_square(value)));
}

const char *flow_name_along(const Flow *flow, const DefValue *value, DefDim dim, bool rows)
{
    for (int i = 0; !dim.name && i < flow->axes.len; i++) {
        const Axis *axis = flow->axes.data[i];

        if (axis->named_here && axis->dim.size == dim.size && along(flow, value, axis, rows))
            return axis->dim.name;
    }
    return dim.name;
}

static void name_numbers(Header *h, Stmt *stmt, const DefValue *value)
{
    const Flow *flow = h->flow;
    Expr **shape = arena_array(h->flow->arena, Expr *, stmt->n_shape);

    for (int d = 0; d < stmt->n_shape; d++) {
        bool last_two = d >= stmt->n_shape - 2 && d < value->rank;
        const char *name = last_two && stmt->shape[d]->kind != EXPR_NAME
                               ? flow_name_along(flow, value, value->dims[d], d == stmt->n_shape - 2) : NULL;

        if (last_two && flow_has_alias(flow, value, d == stmt->n_shape - 2))
            name = flow->cols->dim.name;
        if (name)
            use_name(h, name);
        shape[d] = name ? expr_name(h->flow->arena, name) : stmt->shape[d];
    }
    stmt->shape = shape;
}

Expr *flow_dim_expr(const Flow *flow, DefDim dim)
{
    const char *name = flow_dim_name(flow, dim);

    return name ? expr_name(flow->arena, name) : flow_size_expr(flow, dim);
}

static Expr *workspace_dim(const Flow *flow, const DefValue *value, int d)
{
    bool last_two = d >= value->rank - 2;

    if (last_two && flow_has_alias(flow, value, d == value->rank - 2))
        return expr_name(flow->arena, flow->cols->dim.name);
    const char *name = last_two ? flow_name_along(flow, value, value->dims[d], d == value->rank - 2) : value->dims[d].name;

    return name ? expr_name(flow->arena, name) : flow_size_expr(flow, value->dims[d]); /* which others may have a name for */
}

/* What an earlier kernel left, and what this one leaves to later ones. */
static void write_workspaces(Header *h)
{
    Flow *flow = h->flow;

    for (int i = 0; i < flow->workspaces.len; i++) {
        const DefValue *value = flow->workspaces.data[i];
        bool stored = false;

        if (!is_touched(flow, value))
            continue;
        for (int k = 0; k < flow->stores.len; k++)
            stored |= flow->stores.data[k]->value == value;
        Stmt *stmt = stmt_new(flow->arena, stored ? STMT_OUTPUT : STMT_INPUT);
        stmt->name = value->name;
        stmt->has_shape = stmt->has_dtype = true;
        stmt->dtype = value->dtype;
        stmt->shape = arena_array(flow->arena, Expr *, value->rank);
        for (int d = 0; d < value->rank; d++)
            if (!(stmt->shape[stmt->n_shape++] = workspace_dim(flow, value, d))) {
                flow_fail(flow, TW0509, value, "a dimension of %s has no name", value->name);
                return;
            }
        push(h, stmt);
    }
}

static void write_tensors(Header *h)
{
    const Unit *unit = h->flow->def->unit;

    for (int i = 0; i < unit->body.len; i++) {
        const DefValue *value = tensor_of(h->flow, unit->body.data[i]);

        if (value && is_touched(h->flow, value)) {
            Stmt *stmt = copy_stmt(h, unit->body.data[i]);
            stmt->has_dtype = true;
            stmt->dtype = value->dtype;
            name_numbers(h, stmt, value);
            push(h, stmt);
        }
    }
}

static const Setting *setting_of(const Flow *flow, const char *name)
{
    return flow->def->settings ? settings_find(flow->def->settings, name) : NULL;
}

static Expr *number_expr(Arena *arena, double value)
{
    if (value > -1e15 && value < 1e15 && (double)(int64_t)value == value)
        return expr_int(arena, (int64_t)value);
    return expr_float(arena, value);
}

static void write_assign(Header *h, const char *name, Expr *value)
{
    Stmt *stmt = stmt_new(h->flow->arena, STMT_ASSIGN);

    stmt->name = name;
    stmt->value = value;
    push(h, stmt);
}

/* A number of the definition, which chooses no size of tiles where it is called like one. */
static void write_number(Header *h, const char *name, Expr *value)
{
    write_assign(h, name, value);
    if (sched_is_size(name))
        h->out->data[h->out->len - 1]->kind = STMT_LET;
}

static void write_known_dims(Header *h)
{
    const Def *def = h->flow->def;

    for (int i = 0; i < def->dims.len; i++) {
        const char *name = def->dims.data[i].name;
        const Setting *setting = setting_of(h->flow, name);

        if (setting && !find_decl(h, name))
            write_assign(h, name, number_expr(h->flow->arena, setting->value));
    }
}

static bool declared_so_far(const Header *h, const char *name)
{
    for (int i = 0; i < h->out->len; i++) {
        const Stmt *s = h->out->data[i];

        for (int k = 0; k < s->n_shape; k++)
            if (expr_is_name(s->shape[k], name))
                return true;
        if (s->kind == STMT_ASSIGN && strcmp(s->name, name) == 0)
            return true;
    }
    return false;
}

/* Of which a tensor's sizes are made. */
static bool in_shapes(const Header *h, const char *name)
{
    for (int i = 0; i < h->out->len; i++)
        for (int k = 0; k < h->out->data[i]->n_shape; k++)
            if (expr_mentions(h->out->data[i]->shape[k], name))
                return true;
    return false;
}

static bool in_numbers(const Header *h, const char *name)
{
    for (int n = 0; n < h->flow->nodes.len; n++)
        for (int k = 0; k < h->flow->nodes.data[n]->n_args; k++)
            if (expr_mentions(h->flow->nodes.data[n]->args[k].number, name))
                return true;
    for (int n = 0; n < h->flow->nodes.len; n++) /* what conditions compare with, and Defines compute */
        if (h->flow->nodes.data[n]->source && expr_mentions(h->flow->nodes.data[n]->source->where, name))
            return true;
    for (int k = 0; k < h->decls.len; k++)
        if (uses_name(h, h->decls.data[k]->name) && expr_mentions(h->decls.data[k]->value, name))
            return true;
    return false;
}

/* Whether an expression is made of a name, through those that stand for others as well. */
static bool made_of(const Header *h, const Expr *e, const char *name, int depth)
{
    if (expr_mentions(e, name))
        return true;
    for (int i = 0; i < h->decls.len && depth < HEADER_DEPTH; i++)
        if (h->decls.data[i]->kind == STMT_LET && expr_mentions(e, h->decls.data[i]->name) &&
            made_of(h, h->decls.data[i]->value, name, depth + 1))
            return true;
    return false;
}

/* A number of those, of which named sizes are made as well: it is declared before them. */
static bool in_sizes(const Header *h, const char *name)
{
    const char *alias = h->flow->cols_alias_of;

    if (alias && !h->flow->same_cols && made_of(h, expr_name(h->flow->arena, alias), name, 0))
        return in_numbers(h, name);
    for (int i = 0; i < h->flow->axes.len; i++) {
        const Axis *axis = h->flow->axes.data[i];

        if (axis->named_here && is_met(h->flow, axis) && made_of(h, flow_size_expr(h->flow, axis->dim), name, 0))
            return in_numbers(h, name);
    }
    return false;
}

/* A later kernel may need the length of a dimension that none of its tensors has;
 * an earlier one's have. */
static void write_lengths(Header *h, bool (*used)(const Header *h, const char *name))
{
    const Def *def = h->flow->def;

    for (int i = 0; (h->flow->kernel || def->reshaped) && i < def->dims.len; i++) {
        const char *name = def->dims.data[i].name;
        bool written = false;

        for (int k = 0; k < h->out->len; k++)
            written |= h->out->data[k]->kind == STMT_PARAM && strcmp(h->out->data[k]->name, name) == 0;
        if (!written && used(h, name) && !find_decl(h, name) && !declared_so_far(h, name)) {
            Stmt *param = stmt_new(h->flow->arena, STMT_PARAM);

            param->name = name;
            push(h, param);
        }
    }
}

/* A Param with a known value becomes an assignment; how it was computed is kept. */
static void write_decl(Header *h, const Stmt *decl)
{
    const Setting *setting = decl->kind == STMT_PARAM ? setting_of(h->flow, decl->name) : NULL;
    double value;

    if (setting)
        write_number(h, decl->name, number_expr(h->flow->arena, setting->value));
    else if (decl->kind == STMT_PARAM && decl->value && def_const(h->flow->def, decl->name, &value))
        write_number(h, decl->name, expr_copy(h->flow->arena, decl->value));
    else
        push(h, copy_stmt(h, decl));
}

const char *flow_fresh(const Flow *flow, const char *wanted)
{
    const char *name = wanted;

    for (int i = 2; flow_reserves(flow, name); i++)
        name = arena_printf(flow->arena, "%s%d", wanted, i);
    return name;
}

/* Whether a part of a tensor has as many rows as columns, which have that name, as what a loop goes over has. Where it lies is said by the tensor's
 * dimensions, which a coordinate must tell apart. */
static bool has_square_part(const Flow *flow, const char *name)
{
    bool loop = false;

    for (int i = 0; i < flow->axes.len; i++)
        loop |= flow->axes.data[i]->kind == AXIS_STREAM && flow->axes.data[i]->dim.name && strcmp(flow->axes.data[i]->dim.name, name) == 0;
    for (int i = 0; i < flow->def->inputs.len && loop; i++) {
        const DefValue *x = flow->def->inputs.data[i];
        const DefDim *cols = x->rank >= 2 ? &x->dims[x->rank - 1] : NULL;

        if (x->is_part && cols && cols->name && strcmp(cols->name, name) == 0 && x->dims[x->rank - 2].size == cols->size)
            return true;
    }
    return false;
}

/* A grid names the dimensions that blocks are spread over, each once: where the
 * outputs' last two have one name, the last gets another: `D2 = D`. */
static void tell_apart(Flow *flow)
{
    Axis *cols = (Axis *)flow->cols;

    if (flow->cols_alias_of || flow->rows->kind != AXIS_ROWS || cols->kind != AXIS_COLS ||
        (strcmp(flow->rows->dim.name, cols->dim.name) != 0 && !has_square_part(flow, cols->dim.name)))
        return;
    flow->cols_alias_of = cols->dim.name;
    cols->dim.name = flow_fresh(flow, cols->dim.name);
}

bool flow_name_axes(Flow *flow)
{
    static const char *const names[] = {
        [AXIS_ROWS] = "rows", [AXIS_COLS] = "cols", [AXIS_STREAM] = "depth", [AXIS_ONE] = "one", [AXIS_WHOLE] = "width"};

    for (int i = 0; i < flow->axes.len; i++) {
        Axis *axis = flow->axes.data[i];

        if (axis->dim.name || axis->kind == AXIS_ONE || axis->kind == AXIS_WHOLE)
            continue;
        if (!flow_size_expr(flow, axis->dim)) {
            flow_fail(flow, TW0509, NULL, "a dimension of %s that is spread over blocks or streamed has no name",
                      aff_text(flow->arena, axis->dim.size));
            return false;
        }
        axis->dim.name = flow_fresh(flow, names[axis->kind]);
        axis->named_here = true;
    }
    tell_apart(flow);
    return true;
}

static void write_named_numbers(Header *h)
{
    int64_t size;

    for (int i = 0; i < h->flow->axes.len; i++) {
        const Axis *axis = h->flow->axes.data[i];

        if (axis->named_here && is_met(h->flow, axis)) /* tensors of this Kernel may have no dimension of such a size */
            write_assign(h, axis->dim.name, flow_size_expr(h->flow, axis->dim));
    }
    if (h->flow->cols_alias_of && !h->flow->same_cols)
        write_assign(h, h->flow->cols->dim.name, expr_name(h->flow->arena, h->flow->cols_alias_of));
    if (h->flow->parts && aff_is_const(h->flow->parts->dim.size, &size))
        write_assign(h, h->flow->parts->dim.name, expr_int(h->flow->arena, size));
}

/* The name that an output's leading dimension, a number, has in another value of the kernel: what is said of places
 * along it goes by that. NULL: none. */
static const char *name_elsewhere(const Header *h, const DefValue *output, int d)
{
    for (int i = 0; i < h->flow->nodes.len; i++) {
        const DefValue *value = h->flow->nodes.data[i]->value;

        if (value && value->rank == output->rank && value->dims[d].size == output->dims[d].size && value->dims[d].name &&
            uses_name(h, value->dims[d].name))
            return value->dims[d].name;
    }
    return NULL;
}

/* Leading dimensions follow the grid's by place, so a number may get any name. */
static void add_lead(Header *h, Stmt *grid, int d, const DefValue *output)
{
    DefDim dim = output->dims[d];

    if (!dim.name && !flow_is_one(dim))
        dim.name = name_elsewhere(h, output, d);
    Expr *size = dim.name ? NULL : flow_size_expr(h->flow, dim);

    if (!dim.name && flow_is_one(dim))
        return;
    if (!dim.name && !size) {
        flow_fail(h->flow, TW0509, output, "a leading dimension of output %s has no name", output->name);
        return;
    }
    if (!dim.name) {
        dim.name = flow_fresh(h->flow, arena_printf(h->flow->arena, "entries%d", grid->n_coords));
        write_assign(h, dim.name, size);
    }
    grid->coords[grid->n_coords++].name = dim.name;
}

/* One block does it all. */
static void add_only_block(Header *h, Stmt *grid)
{
    const char *name = flow_fresh(h->flow, "blocks");

    write_assign(h, name, expr_int(h->flow->arena, 1));
    grid->coords[grid->n_coords++].name = name;
}

static void write_grid(Header *h)
{
    Flow *flow = h->flow;
    const DefValue *output = flow->def->outputs.data[0];
    Stmt *grid = stmt_new(flow->arena, STMT_GRID);

    grid->coords = arena_array(flow->arena, Coord, output->rank + 2);
    if (!flow->same_rows && flow->rows->kind == AXIS_ROWS)
        grid->coords[grid->n_coords++].name = flow->rows->dim.name;
    if (flow->cols->kind == AXIS_COLS && !flow->same_cols)
        grid->coords[grid->n_coords++].name = flow->cols->dim.name;
    for (int i = output->rank - 3; i >= 0; i--)
        add_lead(h, grid, i, output);
    if (flow->shared_loops)
        grid->coords[grid->n_coords++].name = flow->parts->dim.name;
    if (grid->n_coords == 0)
        add_only_block(h, grid);
    push(h, grid);
}

void flow_header(Flow *flow, Block *body)
{
    Header h = {.flow = flow, .out = body};

    find_decls(&h, &flow->def->unit->body, 0);
    order_decls(&h);
    find_used(&h);
    write_tensors(&h);
    write_workspaces(&h);
    write_known_dims(&h);
    write_lengths(&h, in_shapes);
    write_lengths(&h, in_sizes);
    write_named_numbers(&h);
    write_lengths(&h, in_numbers);
    for (int i = 0; i < h.decls.len; i++)
        if (uses_name(&h, h.decls.data[i]->name))
            write_decl(&h, h.decls.data[i]);
    write_grid(&h);
}

bool flow_reserves(const Flow *flow, const char *name)
{
    const Def *def = flow->def;
    Header h = {.flow = (Flow *)flow};

    if (def_dim(def, name) || def_input(def, name) || def_output(def, name))
        return true;
    for (int i = 0; i < def->taken.len; i++)
        if (strcmp(def->taken.data[i], name) == 0)
            return true;
    for (int i = 0; i < flow->axes.len; i++) {
        const Axis *axis = flow->axes.data[i];

        if ((axis->var && strcmp(axis->var, name) == 0) || (axis->named_here && strcmp(axis->dim.name, name) == 0))
            return true;
    }
    if (flow->parts && strcmp(flow->parts->dim.name, name) == 0)
        return true;
    for (int i = 0; i < flow->workspaces.len; i++)
        if (strcmp(flow->workspaces.data[i]->name, name) == 0)
            return true;
    find_decls(&h, &def->unit->body, 0);
    return find_decl(&h, name) != NULL;
}
