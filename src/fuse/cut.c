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
 *   excerpt   a goal as a definition of its own, which the fuser takes as any other (excerpt.c)
 *   step      a goal that the search has settled on; its kernels are written in the end (attempt.c)
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
    MOST_CUT = 500,    /* operations of a definition with many products: to look for its cuts would take minutes */
    DEEPEST = 16,
    UNKNOWN = 4096,    /* elements of a dimension left to the launch */
    UNKNOWN_LEAD = 16  /* entries of a leading one */
};

/* What is kept may be so many times as large as the largest input or output. */
static const double LITTLE = 4;

/* ---- what a goal needs ------------------------------------------------------------- */

const Kept *cut_find_kept(const Cutter *c, const DefValue *value)
{
    for (int i = 0; i < c->kept.len; i++)
        if (c->kept.data[i].value == value)
            return &c->kept.data[i];
    return NULL;
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

        if (!needed[op->result->id] || (cut_find_kept(c, op->result) && !cut_in_goal(goal, op->result)))
            continue;
        for (int k = 0; k < op->n_args; k++)
            if (op->args[k].value)
                needed[op->args[k].value->id] = true;
        for (int k = 0; k < op->reads.len; k++)
            needed[op->reads.data[k].value->id] = true;
    }
    return needed;
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

bool *cut_needed_behind(const Cutter *c, const Goal *left, const Goal *goal)
{
    Cutter with = *c;

    memset(&with.kept, 0, sizeof with.kept);
    for (int i = 0; i < c->kept.len; i++)
        vec_push(c->arena, &with.kept, c->kept.data[i]);
    for (int i = 0; i < left->n; i++) {
        Kept kept = {.value = left->values[i]};

        vec_push(c->arena, &with.kept, kept);
    }
    return cut_needed_for(&with, goal);
}

DefValue *cut_repeated_product(const Cutter *c, const Goal *goal, const Goal *cut)
{
    const bool *before = cut_needed_for(c, cut), *after = cut_needed_behind(c, cut, goal);

    for (int i = 0; i < c->def->ops.len; i++) {
        const DefOp *op = c->def->ops.data[i];

        if (op->op == OP_GEMM && !cut_in_goal(cut, op->result) && before[op->result->id] && after[op->result->id] &&
            !cut_find_kept(c, op->result))
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

    if (is_rounded(value) || (value->op && value->op->op == OP_CAST && value->op->cast == DT_I32))
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

        if (needed[value->id] && !value->is_within && !cut_find_kept(c, value) && !cut_in_goal(goal, value) && (!c->copies || is_copy(value)) &&
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
    int steps = c->steps.len, kept = c->kept.len;
    Goal cut = {.values = &value, .n = 1, .keeps = true};
    Kept new = cut_keep(c, value);

    vec_push(c->arena, &c->kept, new);
    if (attempt_either(c, &cut) && (again ? cut_solve(c, goal) : cut_attempt(c, goal, false)))
        return true;
    c->steps.len = steps;
    c->kept.len = kept;
    return false;
}

/* What a search has added: steps, and what they leave. */
typedef struct Found {
    int steps_from, kept_from;
    VEC(CutStep) steps;
    KeptList kept;
} Found;

static Found found_since(Cutter *c, int steps, int kept)
{
    Found found = {.steps_from = steps, .kept_from = kept};

    for (int i = steps; i < c->steps.len; i++)
        vec_push(c->arena, &found.steps, c->steps.data[i]);
    for (int i = kept; i < c->kept.len; i++)
        vec_push(c->arena, &found.kept, c->kept.data[i]);
    return found;
}

static void take_back(Cutter *c, const Found *found)
{
    c->steps.len = found->steps_from;
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
static void drop_needless(Cutter *c, const Goal *goal, int steps, int kept)
{
    Found found = found_since(c, steps, kept);
    int kernels = cut_written(c)->units.len;

    for (int i = 0; i < found.kept.len; i++)
        if (found.kept.data[i].value->is_output)
            return;
    for (int i = 0; i < found.kept.len;) {
        if (solve_without(c, goal, &found, i) && cut_written(c)->units.len < kernels) {
            found = found_since(c, steps, kept);
            kernels = cut_written(c)->units.len;
        } else {
            i++;
        }
    }
    take_back(c, &found);
    for (int i = 0; i < found.steps.len; i++)
        vec_push(c->arena, &c->steps, found.steps.data[i]);
    for (int i = 0; i < found.kept.len; i++)
        vec_push(c->arena, &c->kept, found.kept.data[i]);
}

/* The smallest cut after which one kernel is left; else the smallest after which
 * there are more, each by a cut of its own. */
static bool try_cuts(Cutter *c, const Goal *goal, double from, double to)
{
    const Candidates list = candidates(c, goal);
    int steps = c->steps.len, kept = c->kept.len;

    for (int again = 0; again < 2; again++)
        for (int i = 0; i < list.len; i++) {
            if (list.data[i].elements < from || list.data[i].elements >= to ||
                !cut_at(c, goal, list.data[i].value, again))
                continue;
            if (again)
                drop_needless(c, goal, steps, kept);
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
    if (!cut_find_kept(c, value) && cut_has_shape(c, value) && cut_is_read_where_written(c, value))
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
    int steps = c->steps.len, kept = c->kept.len;
    if (by_rows && cut_share(c, &first, &rest) && cut_solve(c, &rest))
        return true;
    c->steps.len = steps;
    c->kept.len = kept;
    if (!cut_solve(c, &first))
        return false;
    for (int i = 0; i < first.n; i++)
        keep_output(c, first.values[i]);
    if (cut_solve(c, &rest))
        return true;
    c->steps.len = steps; /* other ways begin without it */
    c->kept.len = kept;
    return false;
}

/* The values that single elements are read of, wherever they lie: the whole of them must be there before. */
static Goal read_by_elements(const Cutter *c, const Goal *goal)
{
    const bool *needed = cut_needed_for(c, goal);
    Goal read = {.values = arena_array(c->arena, DefValue *, c->n_values)};

    for (int i = 0; i < c->def->ops.len; i++) {
        const DefOp *op = c->def->ops.data[i];

        if (!needed[op->result->id] || (cut_find_kept(c, op->result) && !cut_in_goal(goal, op->result)))
            continue;
        for (int k = 0; k < op->reads.len; k++)
            if (op->reads.data[k].value->op && !cut_find_kept(c, op->reads.data[k].value) && !cut_in_goal(&read, op->reads.data[k].value))
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
    int steps = c->steps.len, kept = c->kept.len;

    bool done = rest.n > 0 && cut_solve(c, own);
    for (int i = 0; i < own->n && done; i++) {
        keep_output(c, own->values[i]);
        done = cut_find_kept(c, own->values[i]) != NULL;
    }
    done = done && cut_solve(c, &rest);
    if (!done) {
        c->steps.len = steps;
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
    int steps = c->steps.len, kept = c->kept.len;
    Kept new = cut_keep(c, value);

    vec_push(c->arena, &c->kept, new);
    if (cut_solve(c, &own) && cut_solve(c, &rest))
        return true;
    c->steps.len = steps;
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
    int steps = c->steps.len, kept = c->kept.len;

    for (int i = 0; i < read->n; i++)
        if (!cut_has_shape(c, read->values[i]) || cut_in_goal(goal, read->values[i]))
            return false;
    for (int i = 0; i < 2; i++) {
        if (cut_together(c, read, i == 1) && cut_solve(c, goal))
            return true;
        c->steps.len = steps;
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
    if (!c->open && !c->modest && try_cuts(c, goal, little, INFINITY))
        return true;
    if (goal->n > 1)
        cut_grant_more(c);
    return goal->n > 1 && solve_apart(c, goal, false);
}

bool cut_solve(Cutter *c, const Goal *goal)
{
    int steps = c->steps.len, kept = c->kept.len;
    bool done = false;

    if (c->depth < DEEPEST && cut_may_try(c)) {
        c->depth++;
        done = solve_deeper(c, goal);
        c->depth--;
    }
    if (!done) {
        c->steps.len = steps;
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

        if (cut_find_kept(c, value))
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

/* With nothing large in memory, but what rows of products come to. */
static Program *cut_totals(const Cutter *all)
{
    const Def *def = cut_spell_softmaxes(all);
    Cutter totals = cut_afresh(all, def, def->values.len, arena_printf(all->arena, "%s, softmaxes in steps", all->of));
    Goal goal = {.values = def->outputs.data, .n = def->outputs.len};

    totals.modest = true;
    return make_ahead(&totals) && cut_at_totals(&totals, &goal) ? cut_written(&totals) : NULL;
}

static Program *cut_so(const Cutter *c)
{
    Cutter so = cut_afresh(c, c->def, c->n_values, c->of);
    Goal goal = {.values = c->def->outputs.data, .n = c->def->outputs.len};

    return make_ahead(&so) && cut_solve(&so, &goal) ? cut_written(&so) : NULL;
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

/* What cut_as_seen goes on with: one definition, and if that cannot be, another. */
typedef struct EachSeen {
    Cutter cutter;
    int definitions;
} EachSeen;

static Program *cut_all(void *user, const Def *def, int n_values)
{
    EachSeen *each = user;
    const Cutter *c = &each->cutter;
    const char *of = arena_printf(c->arena, "%d", each->definitions++);
    Readers readers = {0};
    const Def *read = flow_read_for_products(c->arena, c->syms, def, &readers);
    Cutter all = cut_afresh(c, def, n_values, of), ahead = cut_afresh(c, read, read->values.len, arena_printf(c->arena, "%s, read ahead", of));
    Program *program;

    ahead.readers = readers;
    return read != def && (program = cut_each_way(&ahead)) ? program : cut_each_way(&all);
}

Program *fuse_cut(Arena *arena, Syms *syms, const Def *written, const Diag *why, FuseAsked *asked, FuseMisfit misfit, FuseParts parts,
                  void *user)
{
    EachSeen each = {.cutter = {.arena = arena, .syms = syms, .misfit = misfit, .parts = parts, .user = user, .asked = asked,
                                .why = why->message, .open = why->code == TW0605}};

    return cut_is_long(written, MOST_CUT) ? NULL : cut_as_seen(arena, syms, written, cut_all, &each);
}
