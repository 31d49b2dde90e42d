/* cut.c: a definition in several kernels, where no single one can be.
 *
 * Blocks cannot wait for each other, and tiles must fit. Where that stops a kernel,
 * a value is *kept*: one kernel leaves it in memory, and for those behind it, it is
 * an input like any other.
 *
 *   GEMM X, W1 and get H                 Kernel f: X, W1 -> H
 *   Gelu H and get new H          ->     Kernel f_2: H, W2 -> Y
 *   GEMM H, W2 and get Y
 *
 * Vocabulary
 *   goal      values that are to be computed, from inputs and what is kept
 *   excerpt   a goal as a definition of its own, which the fuser takes as any other
 *   cut       a value that is kept so that the goal becomes easier: it is computed
 *             first, by a kernel of its own, with no product that the goal needs too
 *
 * Of all cuts the one that keeps least is taken. Keeping more than a few times what
 * the kernel reads and writes anyway (the scores of all queries and keys, say) is the
 * last resort; before it, blocks may be spread over columns although each then
 * computes the same products. Before all others come cuts at inputs in a wider type
 * (widen.c), if those are enough.
 */
#include "fuse/cutter.h"

#include <math.h>

enum {
    MOST_TRIES = 200,
    MOST_OPS = 32,     /* of one kernel, if it has */
    MOST_PRODUCTS = 3, /* more than these: none that long fits, and to find that out takes long */
    MOST_CUT = 500,    /* operations of a definition with more products than that: to look for its cuts would take minutes */
    DEEPEST = 16,
    UNKNOWN = 4096,    /* elements of a dimension left to the launch */
    UNKNOWN_LEAD = 16  /* entries of a leading one */
};

/* What is kept may be so many times as large as the largest input or output. */
static const double LITTLE = 4;

/* ---- what a goal needs ------------------------------------------------------------- */

static const Kept *find_kept(const Cutter *c, const DefValue *value)
{
    for (int i = 0; i < c->kept.len; i++)
        if (c->kept.data[i].value == value)
            return &c->kept.data[i];
    return NULL;
}

bool cut_is_kept(const Cutter *c, const DefValue *value)
{
    return find_kept(c, value) != NULL;
}

bool cut_in_goal(const Goal *goal, const DefValue *value)
{
    for (int i = 0; i < goal->n; i++)
        if (goal->values[i] == value)
            return true;
    return false;
}

/* By value id: what the goal is computed from, itself included. Operands come before
 * what uses them. */
bool *cut_needed_for(const Cutter *c, const Goal *goal)
{
    bool *needed = arena_array(c->arena, bool, c->n_values);

    for (int i = 0; i < goal->n; i++)
        needed[goal->values[i]->id] = true;
    for (int i = c->def->ops.len - 1; i >= 0; i--) {
        const DefOp *op = c->def->ops.data[i];

        if (!needed[op->result->id] || (find_kept(c, op->result) && !cut_in_goal(goal, op->result)))
            continue;
        for (int k = 0; k < op->n_args; k++)
            if (op->args[k].value)
                needed[op->args[k].value->id] = true;
        for (int k = 0; k < op->reads.len; k++)
            needed[op->reads.data[k].value->id] = true;
    }
    return needed;
}

/* ---- excerpts ------------------------------------------------------------------------ */

typedef struct Excerpt {
    const Cutter *c;
    Remade remade;   /* of the whole definition, whose unit stays */
    const Goal *goal;
    Def *def;        /* that is made */
    VEC(DefValue *) workspaces;
    const DefOp *reading; /* elements of tensors: the operation that does */
} Excerpt;

static DefValue *copy_value(Excerpt *x, const DefValue *value)
{
    const Kept *kept = cut_in_goal(x->goal, value) && !x->goal->keeps ? NULL : find_kept(x->c, value);
    DefValue *copy = arena_new_of(x->c->arena, DefValue);

    *copy = *value;
    copy->op = NULL;
    copy->is_input = copy->is_output = false;
    if (kept) {
        copy->name = kept->name;
        copy->dtype = kept->dtype;
        vec_push(x->c->arena, &x->workspaces, copy);
    }
    vec_push(x->c->arena, &x->def->values, copy);
    x->remade.made[value->id] = copy;
    return copy;
}

static void add_input(Excerpt *x, const DefValue *value)
{
    DefValue *copy = copy_value(x, value);

    copy->is_input = true;
    vec_push(x->c->arena, &x->def->inputs, copy);
}

/* What elements are read of, under the name that it has here: of several values with one
 * name in the definition, each is kept under its own. */
static Expr *name_here(void *user, const char *name)
{
    const Excerpt *x = user;

    for (int k = 0; k < x->reading->reads.len; k++) {
        const DefRead *read = &x->reading->reads.data[k];

        if (strcmp(read->name, name) == 0)
            return expr_name(x->c->arena, x->remade.made[read->value->id]->name);
    }
    return NULL;
}

static void read_kept(Excerpt *x, const DefOp *op, DefOp *copy)
{
    x->reading = op;
    copy->where = expr_subst(x->c->arena, op->where, name_here, x);
    for (int k = 0; k < copy->reads.len; k++)
        copy->reads.data[k].name = copy->reads.data[k].value->name;
}

static void add_op(Excerpt *x, const DefOp *op)
{
    copy_value(x, op->result);
    read_kept(x, op, flow_keep_op(&x->remade, op));
}

/* What the goal writes rounded, once more as it is kept: times one, since a value has one name. */
static void add_beside(Excerpt *x, const DefValue *value)
{
    const Kept *kept = find_kept(x->c, value);
    DefValue *made = x->remade.made[value->id], *copy = arena_new_of(x->c->arena, DefValue);
    DefOp *op = arena_new_of(x->c->arena, DefOp);
    Stmt *stmt = arena_new_of(x->c->arena, Stmt);

    *stmt = *value->op->stmt;
    stmt->n_args = 0;
    *copy = *made;
    copy->id = x->c->n_values;
    copy->name = kept->name;
    copy->dtype = kept->dtype;
    copy->op = op;
    copy->is_output = true;
    *op = (DefOp){.stmt = stmt, .op = OP_MULTIPLY, .result = copy, .n_args = 2};
    op->args[0].value = made;
    op->args[1].scalar = (DefScalar){.is_const = true, .value = 1, .expr = expr_float(x->c->arena, 1)};
    vec_push(x->c->arena, &x->def->values, copy);
    vec_push(x->c->arena, &x->def->ops, op);
    vec_push(x->c->arena, &x->def->outputs, copy);
    vec_push(x->c->arena, &x->workspaces, copy);
}

static Excerpt excerpt(const Cutter *c, const Goal *goal)
{
    Def *def = arena_new_of(c->arena, Def);
    Excerpt x = {.c = c, .goal = goal, .def = def, .remade = {c->arena, c->def, def, NULL, arena_array(c->arena, DefValue *, c->n_values)}};
    const bool *needed = cut_needed_for(c, goal);

    *x.def = *c->def;
    x.def->whole = c->def->whole ? c->def->whole : c->def;
    memset(&x.def->values, 0, sizeof x.def->values);
    memset(&x.def->ops, 0, sizeof x.def->ops);
    memset(&x.def->inputs, 0, sizeof x.def->inputs);
    memset(&x.def->outputs, 0, sizeof x.def->outputs);
    for (int i = 0; i < c->def->inputs.len; i++)
        if (needed[c->def->inputs.data[i]->id])
            add_input(&x, c->def->inputs.data[i]);
    for (int i = 0; i < c->def->ops.len; i++) {
        const DefOp *op = c->def->ops.data[i];

        if (!needed[op->result->id])
            continue;
        if (find_kept(c, op->result) && !cut_in_goal(goal, op->result))
            add_input(&x, op->result);
        else
            add_op(&x, op);
    }
    for (int i = 0; i < goal->n; i++) {
        DefValue *value = x.remade.made[goal->values[i]->id];

        value->is_output = true;
        vec_push(c->arena, &x.def->outputs, value);
    }
    if (goal->beside)
        add_beside(&x, goal->beside);
    return x;
}

/* What is left in memory, as a tensor that a unit declares. */
static Stmt *declared(const Cutter *c, const DefValue *value)
{
    Flow flow = {.arena = c->arena, .syms = c->syms, .def = c->def};
    Stmt *stmt = stmt_new(c->arena, value->is_output ? STMT_OUTPUT : STMT_INPUT);

    stmt->name = value->name;
    stmt->has_shape = stmt->has_dtype = true;
    stmt->dtype = value->dtype;
    stmt->shape = arena_array(c->arena, Expr *, value->rank);
    for (int d = 0; d < value->rank; d++)
        stmt->shape[stmt->n_shape++] = flow_dim_expr(&flow, value->dims[d]);
    return stmt;
}

Def *cut_as_definition(const Cutter *c, const Goal *goal)
{
    Excerpt x = excerpt(c, goal);
    Unit *unit = arena_new_of(c->arena, Unit);

    *unit = *c->def->unit;
    unit->body = (Block){.comment = c->def->unit->body.comment};
    for (int i = 0; i < c->def->unit->body.len; i++)
        vec_push(c->arena, &unit->body, c->def->unit->body.data[i]);
    for (int i = 0; i < x.workspaces.len; i++) {
        x.workspaces.data[i]->is_passed_on = true;
        vec_push(c->arena, &unit->body, declared(c, x.workspaces.data[i]));
    }
    x.def->unit = unit;
    for (int i = 0; i < x.def->values.len; i++)
        x.def->values.data[i]->id = i;
    return x.def;
}

/* ---- one kernel, or what counts as one -------------------------------------------------- */

static const char *kernel_name(const Cutter *c)
{
    const char *name = c->def->unit->name;

    return c->program->units.len ? arena_printf(c->arena, "%s_%d", name, c->program->units.len + 1) : name;
}

static void say_why(Cutter *c, Unit *unit, const Goal *goal)
{
    const Kept *kept = find_kept(c, goal->values[0]);

    if (kept)
        unit->comment = arena_printf(c->arena, "leaves %s in memory for the next kernel, for in one %s", kept->name,
                                     c->why);
}

/* Names do not matter: whether kernels fit does not depend on them. */
static const char *key_of(const Cutter *c, const Goal *goal, bool repeat)
{
    const bool *needed = cut_needed_for(c, goal);
    Str key = str_new(c->arena);

    str_addc(&key, repeat ? '*' : ' ');
    for (int i = 0; i < goal->n; i++)
        str_printf(&key, goal->values[i] == goal->beside ? " %d+" : " %d", goal->values[i]->id);
    str_addc(&key, ':');
    for (int i = 0; i < c->def->ops.len; i++) {
        const DefValue *value = c->def->ops.data[i]->result;
        const Kept *kept = needed[value->id] && !cut_in_goal(goal, value) ? find_kept(c, value) : NULL;

        if (kept)
            str_printf(&key, " %d %s", value->id, dtype_name(kept->dtype));
    }
    return str_text(&key);
}

static Tried *find_tried(Cutter *c, const char *key)
{
    for (int i = 0; i < c->tried.len; i++)
        if (strcmp(c->tried.data[i].key, key) == 0)
            return &c->tried.data[i];
    return NULL;
}

/* Whether the kernels of a goal fit; it may be known. */
static bool fits(Cutter *c, const char *key, const Program *program)
{
    const Tried *tried = find_tried(c, key);

    if (tried)
        return tried->fits;
    bool fit = program && !c->misfit(c->user, program);
    vec_push(c->arena, &c->tried, ((Tried){key, fit, 0}));
    return fit;
}

static bool is_long(const Def *def, int most)
{
    int products = 0;

    for (int i = 0; i < def->ops.len; i++)
        products += def->ops.data[i]->op == OP_GEMM;
    return def->ops.len > most && products > MOST_PRODUCTS;
}

/* The kernels of an excerpt. */
static Program *kernels_of(Cutter *c, const Excerpt *x, bool repeat, int parts)
{
    Diags *quiet = diags_new(c->arena, NULL);
    Flow flow = {.arena = c->arena, .syms = c->syms, .def = x->def, .diags = quiet, .kernel = x->def->unit->name, .repeat = repeat};

    for (int i = 0; i < x->workspaces.len; i++)
        vec_push(c->arena, &flow.workspaces, x->workspaces.data[i]);
    return flow_program(&flow, parts);
}

/* Whether a kernel writes what has the name of something that kernels before it wrote. */
static bool writes_again(const Cutter *c, const Program *program)
{
    for (int i = 0; i < program->units.len; i++)
        for (int k = 0; k < program->units.data[i]->body.len; k++) {
            const Stmt *s = program->units.data[i]->body.data[k];

            for (int u = 0; s->kind == STMT_OUTPUT && u < c->program->units.len; u++)
                if (block_find(&c->program->units.data[u]->body, STMT_OUTPUT, s->name))
                    return true;
        }
    return false;
}

/* Into how many parts its loops are best cut, as of blocks that read all rows: without products. */
static int best_parts(Cutter *c, const Excerpt *x, const Program *program)
{
    int parts = c->parts && !def_multiplies(x->def) ? c->parts(c->user, program) : 1;

    return parts > 0 ? parts : 1;
}

/* The kernels with loops in parts where that is better. */
static Program *in_parts(Cutter *c, const char *key, const Excerpt *x, bool repeat, Program *program)
{
    Tried *tried = find_tried(c, key);

    if (tried->parts == 0)
        tried->parts = best_parts(c, x, program);
    Program *cut = tried->parts > 1 ? kernels_of(c, x, repeat, tried->parts) : NULL;
    return cut && !writes_again(c, cut) && !c->misfit(c->user, cut) ? cut : program;
}

/* Adds the kernels of a goal, if they can be and fit. */
bool cut_attempt(Cutter *c, const Goal *goal, bool repeat)
{
    const char *key = key_of(c, goal, repeat);
    const Tried *tried = find_tried(c, key);

    if (tried ? !tried->fits : c->tried.len >= MOST_TRIES)
        return false;
    Excerpt x = excerpt(c, goal);
    Unit *unit = arena_new_of(c->arena, Unit);

    if (is_long(x.def, MOST_OPS))
        return false;
    *unit = *c->def->unit;
    unit->name = kernel_name(c);
    x.def->unit = unit;
    Program *program = kernels_of(c, &x, repeat, 1);
    if (!fits(c, key, program))
        return false;
    program = in_parts(c, key, &x, repeat, program);
    say_why(c, program->units.data[0], goal);
    for (int i = 0; i < program->units.len; i++)
        vec_push(c->arena, &c->program->units, program->units.data[i]);
    return true;
}

/* ---- what may be kept ------------------------------------------------------------------------ */

static double elements_of(const DefValue *value)
{
    double n = 1;
    int64_t size;

    for (int d = 0; d < value->rank; d++)
        n *= aff_is_const(value->dims[d].size, &size) ? (double)size : d < value->rank - 2 ? UNKNOWN_LEAD : UNKNOWN;
    return n;
}

static double most_elements(const Def *def)
{
    double most = 1;

    for (int i = 0; i < def->inputs.len; i++)
        most = fmax(most, elements_of(def->inputs.data[i]));
    for (int i = 0; i < def->outputs.len; i++)
        most = fmax(most, elements_of(def->outputs.data[i]));
    return most;
}

bool cut_is_little(const Def *def, const DefValue *value)
{
    return elements_of(value) < LITTLE * most_elements(def);
}

/* A workspace's shape is declared. */
bool cut_has_shape(const Cutter *c, const DefValue *value)
{
    Flow flow = {.arena = c->arena, .syms = c->syms, .def = c->def};

    for (int d = 0; d < value->rank; d++)
        if (!flow_dim_expr(&flow, value->dims[d]))
            return false;
    return value->rank > 0;
}

DefValue *cut_repeated_product(const Cutter *c, const Goal *goal, const Goal *cut)
{
    const bool *before = cut_needed_for(c, cut);
    Cutter with = *c;

    memset(&with.kept, 0, sizeof with.kept);
    for (int i = 0; i < c->kept.len; i++)
        vec_push(c->arena, &with.kept, c->kept.data[i]);
    for (int i = 0; i < cut->n; i++) {
        Kept kept = {.value = cut->values[i]};

        vec_push(c->arena, &with.kept, kept);
    }
    const bool *after = cut_needed_for(&with, goal);
    for (int i = 0; i < c->def->ops.len; i++) {
        const DefOp *op = c->def->ops.data[i];

        if (op->op == OP_GEMM && !cut_in_goal(cut, op->result) && before[op->result->id] && after[op->result->id] &&
            !find_kept(c, op->result))
            return op->result;
    }
    return NULL;
}

static bool name_taken(const Cutter *c, const char *name)
{
    for (int i = 0; i < c->kept.len; i++)
        if (strcmp(c->kept.data[i].name, name) == 0)
            return true;
    return def_output(c->def, name) || def_input(c->def, name);
}

static const char *workspace_name(const Cutter *c, const DefValue *value)
{
    const char *name = value->name;

    for (int i = 2; name_taken(c, name); i++)
        name = arena_printf(c->arena, "%s_%d", value->name, i);
    return name;
}

/* Whether it was rounded to fewer bits than fp32 has, and so can be left in memory as it is. */
static bool is_rounded(const DefValue *value)
{
    return value->op && value->op->op == OP_CAST && dtype_is_float(value->op->cast) && dtype_bytes(value->op->cast) < 4;
}

static DType workspace_dtype(const Cutter *c, const DefValue *value);

const DefValue *cut_rearranged(const DefOp *op)
{
    if (op->op == OP_RESHAPE)
        return op->args[0].value;
    return op->op == OP_DEFINE && op->where && op->where->kind == EXPR_INDEX && op->reads.len == 1 ? flow_read_value(op, op->where) : NULL;
}

/* The type in which a use of a value, as its k-th operand or elsewhere, takes it; a rearrangement, that in which what it gives is taken. */
static DType taken_dtype(const Cutter *c, const DefOp *op, int k, const DefValue *value)
{
    if (cut_rearranged(op) == value && !op->result->is_output)
        return workspace_dtype(c, op->result);
    return k >= 0 && op->op == OP_GEMM ? flow_operand_dtype(c->def, op, k) : DT_F32;
}

/* What nothing but the tensor cores reads is kept as they take it; all else exactly. */
static DType workspace_dtype(const Cutter *c, const DefValue *value)
{
    DType dtype = DT_F32;

    if (is_rounded(value))
        return value->op->cast;

    for (int i = 0; i < c->def->ops.len; i++) {
        const DefOp *op = c->def->ops.data[i];
        bool reads = def_op_reads(op, value);

        for (int k = reads ? -1 : 0; k < op->n_args; k++) {
            if (k >= 0 && op->args[k].value != value)
                continue;
            DType taken = taken_dtype(c, op, k, value);
            if (taken == DT_F32 || (dtype != DT_F32 && dtype != taken))
                return DT_F32;
            dtype = taken;
        }
    }
    return dtype;
}

Kept cut_keep(const Cutter *c, const DefValue *value)
{
    return (Kept){value, workspace_name(c, value), workspace_dtype(c, value)};
}

typedef struct Candidate {
    DefValue *value;
    double elements;
} Candidate;

typedef VEC(Candidate) Candidates;

/* Ascending by size; of equal ones the last computed first. */
static void insert_candidate(const Cutter *c, Candidates *list, DefValue *value)
{
    Candidate new = {value, elements_of(value) * (is_rounded(value) ? 0.5 : 1)};

    vec_push(c->arena, list, new);
    for (int i = list->len - 1; i > 0 && list->data[i - 1].elements >= new.elements; i--) {
        list->data[i] = list->data[i - 1];
        list->data[i - 1] = new;
    }
}

/* Whether it is an input in a wider type, which no kernel has much to do for. */
static bool is_copy(const DefValue *value)
{
    const DefOp *op = value->op;

    return op && op->op == OP_CAST && op->args[0].value && op->args[0].value->is_input && dtype_bytes(op->cast) > dtype_bytes(op->args[0].value->dtype);
}

static Candidates candidates(const Cutter *c, const Goal *goal)
{
    const bool *needed = cut_needed_for(c, goal);
    Candidates list = {0};

    for (int i = 0; i < c->def->ops.len; i++) {
        DefValue *value = c->def->ops.data[i]->result;
        Goal cut = {.values = &value, .n = 1};

        if (needed[value->id] && !find_kept(c, value) && !cut_in_goal(goal, value) && (!c->copies || is_copy(value)) &&
            cut_has_shape(c, value) && !cut_repeated_product(c, goal, &cut))
            insert_candidate(c, &list, value);
    }
    return list;
}

/* ---- the search ---------------------------------------------------------------------------------- */

/* A goal in kernels of one step: as it is, or with products repeated. */
static bool attempt_either(Cutter *c, const Goal *goal)
{
    return cut_attempt(c, goal, false) || cut_attempt(c, goal, true);
}

static bool cut_at(Cutter *c, const Goal *goal, DefValue *value, bool again)
{
    int units = c->program->units.len, kept = c->kept.len;
    Goal cut = {.values = &value, .n = 1, .keeps = true};
    Kept new = cut_keep(c, value);

    vec_push(c->arena, &c->kept, new);
    if (attempt_either(c, &cut) && (again ? cut_solve(c, goal) : cut_attempt(c, goal, false)))
        return true;
    c->program->units.len = units;
    c->kept.len = kept;
    return false;
}

/* What a search has added: kernels, and what they leave. */
typedef struct Found {
    int units_from, kept_from;
    VEC(Unit *) units;
    VEC(Kept) kept;
} Found;

static Found found_since(Cutter *c, int units, int kept)
{
    Found found = {.units_from = units, .kept_from = kept};

    for (int i = units; i < c->program->units.len; i++)
        vec_push(c->arena, &found.units, c->program->units.data[i]);
    for (int i = kept; i < c->kept.len; i++)
        vec_push(c->arena, &found.kept, c->kept.data[i]);
    return found;
}

static void take_back(Cutter *c, const Found *found)
{
    c->program->units.len = found->units_from;
    c->kept.len = found->kept_from;
}

/* The same kernels, but without one of the cuts; the last one repeats no products for that. */
static bool solve_without(Cutter *c, const Goal *goal, const Found *found, int cut)
{
    take_back(c, found);
    for (int i = 0; i < found->kept.len; i++) {
        DefValue *value = (DefValue *)found->kept.data[i].value;
        Goal own = {.values = &value, .n = 1, .keeps = true};

        if (i == cut)
            continue;
        Kept kept = cut_keep(c, value);
        vec_push(c->arena, &c->kept, kept);
        if (!attempt_either(c, &own))
            return false;
    }
    return cut_attempt(c, goal, false);
}

/* Cuts are tried smallest first, and the first ones may not have helped: what fits without them does without. */
static void drop_needless(Cutter *c, const Goal *goal, int units, int kept)
{
    Found found = found_since(c, units, kept);

    for (int i = 0; i < found.kept.len; i++)
        if (found.kept.data[i].value->is_output)
            return;
    for (int i = 0; i < found.kept.len;) {
        if (solve_without(c, goal, &found, i) && c->program->units.len < units + found.units.len)
            found = found_since(c, units, kept);
        else
            i++;
    }
    take_back(c, &found);
    for (int i = 0; i < found.units.len; i++)
        vec_push(c->arena, &c->program->units, found.units.data[i]);
    for (int i = 0; i < found.kept.len; i++)
        vec_push(c->arena, &c->kept, found.kept.data[i]);
}

/* The smallest cut after which one kernel is left; else the smallest after which
 * there are more, each by a cut of its own. */
static bool try_cuts(Cutter *c, const Goal *goal, double from, double to)
{
    const Candidates list = candidates(c, goal);
    int units = c->program->units.len, kept = c->kept.len;

    for (int again = 0; again < 2; again++)
        for (int i = 0; i < list.len; i++) {
            if (list.data[i].elements < from || list.data[i].elements >= to ||
                !cut_at(c, goal, list.data[i].value, again))
                continue;
            if (again)
                drop_needless(c, goal, units, kept);
            return true;
        }
    return false;
}

bool cut_is_read_where_written(const Cutter *c, const DefValue *value)
{
    return value->is_output && (value->dtype == DT_F32 || value->dtype == workspace_dtype(c, value));
}

/* What is written may be read by the kernels behind. */
static void keep_output(Cutter *c, const DefValue *value)
{
    if (!find_kept(c, value) && cut_has_shape(c, value) && cut_is_read_where_written(c, value))
        vec_push(c->arena, &c->kept, ((Kept){value, value->name, value->dtype}));
}

/* Values whose rows one kernel's blocks can be spread over, or only the first; then
 * the others. */
static bool solve_apart(Cutter *c, const Goal *goal, bool by_rows)
{
    Goal first = {.values = arena_array(c->arena, DefValue *, goal->n)}, rest = {.values = arena_array(c->arena, DefValue *, goal->n)};

    for (int i = 0; i < goal->n; i++)
        if (i == 0 || (by_rows && flow_same_rows(goal->values[0], goal->values[i])))
            first.values[first.n++] = goal->values[i];
        else
            rest.values[rest.n++] = goal->values[i];
    if (rest.n == 0)
        return false;
    int units = c->program->units.len, kept = c->kept.len;
    if (by_rows && cut_share(c, &first, &rest) && cut_solve(c, &rest))
        return true;
    c->program->units.len = units;
    c->kept.len = kept;
    if (!cut_solve(c, &first))
        return false;
    for (int i = 0; i < first.n; i++)
        keep_output(c, first.values[i]);
    return cut_solve(c, &rest);
}

/* The values that single elements are read of, wherever they lie: the whole of them must be there before. */
static Goal read_by_elements(const Cutter *c, const Goal *goal)
{
    const bool *needed = cut_needed_for(c, goal);
    Goal read = {.values = arena_array(c->arena, DefValue *, c->n_values)};

    for (int i = 0; i < c->def->ops.len; i++) {
        const DefOp *op = c->def->ops.data[i];

        if (!needed[op->result->id] || (find_kept(c, op->result) && !cut_in_goal(goal, op->result)))
            continue;
        for (int k = 0; k < op->reads.len; k++)
            if (op->reads.data[k].value->op && !find_kept(c, op->reads.data[k].value) && !cut_in_goal(&read, op->reads.data[k].value))
                read.values[read.n++] = op->reads.data[k].value;
    }
    return read;
}

bool cut_reach(Cutter *c, const Goal *goal)
{
    const Goal read = read_by_elements(c, goal);
    DefValue *before = read.n > 0 ? read.values[0] : NULL;

    if (!before)
        return cut_attempt(c, goal, false);
    if (!cut_has_shape(c, before))
        return false;
    Goal own = {.values = &before, .n = 1, .keeps = true};
    Kept kept = cut_keep(c, before);
    vec_push(c->arena, &c->kept, kept);
    return cut_reach(c, &own) && cut_reach(c, goal);
}

/* The goal but for some values. */
static Goal without(const Cutter *c, const Goal *goal, const Goal *own)
{
    Goal rest = {.values = arena_array(c->arena, DefValue *, goal->n)};

    for (int i = 0; i < goal->n; i++)
        if (!cut_in_goal(own, goal->values[i]))
            rest.values[rest.n++] = goal->values[i];
    return rest;
}

/* Outputs that hold all that others want are read where they are written; then what is left of the goal. */
static bool keep_as_outputs(Cutter *c, const Goal *goal, const Goal *own)
{
    Goal rest = without(c, goal, own);
    int units = c->program->units.len, kept = c->kept.len;

    bool done = rest.n > 0 && cut_solve(c, own);
    for (int i = 0; i < own->n && done; i++) {
        keep_output(c, own->values[i]);
        done = find_kept(c, own->values[i]) != NULL;
    }
    done = done && cut_solve(c, &rest);
    if (!done) {
        c->program->units.len = units;
        c->kept.len = kept;
    }
    return done;
}

/* Whether a product that the goal needs takes it. */
static bool is_operand(const Cutter *c, const Goal *goal, const DefValue *value)
{
    const bool *needed = cut_needed_for(c, goal);

    for (int i = 0; i < c->def->ops.len; i++) {
        const DefOp *op = c->def->ops.data[i];

        if (op->op == OP_GEMM && needed[op->result->id] && (op->args[0].value == value || op->args[1].value == value))
            return true;
    }
    return false;
}

/* Outputs that products of the others take lie in memory anyway: nothing more is kept for a cut there. All of them are one kernel's
 * where they are made of the same products; else each is tried by itself. */
static bool cut_at_outputs(Cutter *c, const Goal *goal)
{
    Goal all = {.values = arena_array(c->arena, DefValue *, goal->n)};

    for (int i = 0; i < goal->n && !goal->keeps; i++) {
        Goal own = {.values = &goal->values[i], .n = 1}, rest = without(c, goal, &own);

        if (!cut_is_read_where_written(c, goal->values[i]) || !is_operand(c, &rest, goal->values[i]))
            continue;
        all.values[all.n++] = goal->values[i];
        if (!cut_repeated_product(c, &rest, &own) && keep_as_outputs(c, goal, &own))
            return true;
    }
    Goal rest = without(c, goal, &all);
    return all.n > 1 && !cut_repeated_product(c, &rest, &all) && keep_as_outputs(c, goal, &all);
}

/* The kernel of an output that holds less than others want leaves that beside it; then what is left of the goal. */
static bool keep_beside_output(Cutter *c, const Goal *goal, DefValue *value)
{
    Goal own = {.values = &value, .n = 1, .beside = value}, rest = without(c, goal, &own);
    int units = c->program->units.len, kept = c->kept.len;
    Kept new = cut_keep(c, value);

    vec_push(c->arena, &c->kept, new);
    if (cut_solve(c, &own) && cut_solve(c, &rest))
        return true;
    c->program->units.len = units;
    c->kept.len = kept;
    return false;
}

/* Whether it is an output, of which the others take nothing that it is made of by products. */
static bool is_left_apart(const Cutter *c, const Goal *goal, const Goal *output)
{
    Goal rest = without(c, goal, output);

    return !goal->keeps && rest.n > 0 && rest.n < goal->n && cut_has_shape(c, output->values[0]) && !cut_repeated_product(c, &rest, output);
}

/* The value, or before it a product of modest size that would be computed for both. */
static bool keep_before(Cutter *c, const Goal *goal, DefValue *value)
{
    Goal cut = {.values = &value, .n = 1};
    DefValue *product = cut_repeated_product(c, goal, &cut);

    if (is_left_apart(c, goal, &cut) && (cut_is_read_where_written(c, value) ? keep_as_outputs(c, goal, &cut) : keep_beside_output(c, goal, value)))
        return true;

    if (product && cut_has_shape(c, product) && cut_is_little(c->def, product))
        value = product;
    if (!cut_has_shape(c, value))
        return false;
    cut.keeps = true;
    Kept new = cut_keep(c, value);
    vec_push(c->arena, &c->kept, new);
    return cut_solve(c, &cut) && cut_solve(c, goal);
}

/* Several of them, of one kernel. */
static bool keep_together(Cutter *c, const Goal *goal, const Goal *read)
{
    int units = c->program->units.len, kept = c->kept.len;

    for (int i = 0; i < read->n; i++)
        if (!cut_has_shape(c, read->values[i]) || cut_in_goal(goal, read->values[i]))
            return false;
    for (int i = 0; i < 2; i++) {
        if (cut_together(c, read, i == 1) && cut_solve(c, goal))
            return true;
        c->program->units.len = units;
        c->kept.len = kept;
    }
    return false;
}

static bool solve_deeper(Cutter *c, const Goal *goal)
{
    double little = LITTLE * most_elements(c->def);
    const Goal read = read_by_elements(c, goal);

    if (read.n > 0)
        return keep_together(c, goal, &read) || keep_before(c, goal, read.values[0]);
    if (cut_attempt(c, goal, false) || (goal->n > 1 && solve_apart(c, goal, true)) ||
        cut_at_outputs(c, goal) || try_cuts(c, goal, 0, little) || cut_attempt(c, goal, true))
        return true;
    return (!c->open && !c->modest && try_cuts(c, goal, little, INFINITY)) || (goal->n > 1 && solve_apart(c, goal, false));
}

bool cut_solve(Cutter *c, const Goal *goal)
{
    int units = c->program->units.len, kept = c->kept.len;
    bool done = false;

    if (c->depth < DEEPEST && c->tried.len < MOST_TRIES) {
        c->depth++;
        done = solve_deeper(c, goal);
        c->depth--;
    }
    if (!done) {
        c->program->units.len = units;
        c->kept.len = kept;
    }
    return done;
}

static Program *make_of(Arena *arena, const Def *written, CutMake *make, void *user)
{
    Permuted permuted;
    const Def *def = flow_unpermute(arena, written, &permuted);
    int n_values = 0;

    for (int i = 0; i < def->values.len; i++)
        if (def->values.data[i]->id >= n_values)
            n_values = def->values.data[i]->id + 1;
    Program *program = make(user, def, n_values);
    if (program)
        flow_put_back(arena, def, program, &permuted);
    return program;
}

Program *cut_as_seen(Arena *arena, Syms *syms, const Def *written, CutMake *make, void *user)
{
    Views views;
    const Def *spelled = flow_spell(arena, syms, written), *seen = flow_view(arena, syms, flow_divide(arena, spelled), &views);

    if (views.list.len > 0) {
        Program *program = make_of(arena, seen, make, user);

        if (program && flow_unview(arena, seen, program, &views))
            return program;
    }
    return make_of(arena, spelled, make, user);
}

static bool has_copies(const Def *def)
{
    for (int i = 0; i < def->ops.len; i++)
        if (is_copy(def->ops.data[i]->result))
            return true;
    return false;
}

/* ---- operands that read elements elsewhere ---------------------------------------------------------- */

/* What a product takes of it: itself, or what becomes of it element by element. */
static DefValue *operand_of(const Def *def, DefValue *value)
{
    for (;;) {
        const DefOp *use = def_only_use(def, value);

        if (!use || (op_info(use->op)->class != OPC_ELEMENT && use->op != OP_CAST) || !def_same_shape(use->result, value))
            return value;
        value = use->result;
    }
}

/* A kernel ahead for each. */
static bool make_ahead(Cutter *c)
{
    for (int i = 0; i < c->readers.len; i++) {
        DefValue *value = operand_of(c->def, c->def->values.data[c->readers.data[i]]);
        Goal ahead = {.values = &value, .n = 1, .keeps = true};

        if (find_kept(c, value))
            continue;
        if (!cut_has_shape(c, value))
            return false;
        Kept kept = cut_keep(c, value);
        vec_push(c->arena, &c->kept, kept);
        if (!cut_attempt(c, &ahead, false))
            return false;
    }
    return true;
}

/* ---- one way after the other ------------------------------------------------------------------------ */

/* Of one definition: nothing that is tried, kept or written so far. */
static Cutter afresh(const Cutter *c, const Def *def, int n_values)
{
    Cutter fresh = *c;

    fresh.def = def;
    fresh.n_values = n_values;
    fresh.program = arena_new_of(c->arena, Program);
    return fresh;
}

/* With nothing large in memory, but what rows of products come to. */
static Program *cut_totals(const Cutter *all)
{
    const Def *def = cut_spell_softmaxes(all);
    Cutter totals = afresh(all, def, def->values.len);
    Goal goal = {.values = def->outputs.data, .n = def->outputs.len};

    totals.modest = true;
    return make_ahead(&totals) && cut_at_totals(&totals, &goal) ? totals.program : NULL;
}

static Program *cut_so(const Cutter *c)
{
    Cutter so = afresh(c, c->def, c->n_values);
    Goal goal = {.values = c->def->outputs.data, .n = c->def->outputs.len};

    return make_ahead(&so) && cut_solve(&so, &goal) ? so.program : NULL;
}

/* Where inputs in another type are enough to keep, nothing that products make goes through memory. What is kept of small sizes, be it
 * scores, may take more kernels than to keep what their rows come to. */
static Program *cut_each_way(const Cutter *all)
{
    enum { FEW_KERNELS = 2 };
    Cutter copies = *all, modest = *all;
    Program *program;

    copies.copies = modest.modest = true;
    if (has_copies(all->def) && (program = cut_so(&copies)))
        return program;
    if ((program = cut_so(&modest)) && program->units.len <= FEW_KERNELS)
        return program;
    Program *totals = cut_totals(all);
    if (totals && (!program || totals->units.len < program->units.len))
        return totals;
    return program ? program : cut_so(all);
}

static Program *cut_all(void *user, const Def *def, int n_values)
{
    const Cutter *c = user;
    Readers readers = {0};
    const Def *read = flow_read_for_products(c->arena, c->syms, def, &readers);
    Cutter all = afresh(c, def, n_values), ahead = afresh(c, read, read->values.len);
    Program *program;

    ahead.readers = readers;
    return read != def && (program = cut_each_way(&ahead)) ? program : cut_each_way(&all);
}

Program *fuse_cut(Arena *arena, Syms *syms, const Def *written, const Diag *why, FuseMisfit misfit, FuseParts parts, void *user)
{
    Cutter c = {.arena = arena, .syms = syms, .misfit = misfit, .parts = parts, .user = user, .why = why->message, .open = why->code == TW0605};

    return is_long(written, MOST_CUT) ? NULL : cut_as_seen(arena, syms, written, cut_all, &c);
}
