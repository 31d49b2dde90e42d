/* linear.c: what may wait until after the loop.
 *
 * A GEMM and a row sum are linear in the operand that they stream. So a factor
 * that is constant along each row need not be known inside the loop: the sum is
 * multiplied by it afterwards. That is how a row factor which is itself a
 * reduction over the same stream (1 / rms, 1 / sum of a softmax) costs no second
 * pass.
 *
 *   GEMM (X * r) * g, W          ->   loop: acc += (X * g) W        then acc * r
 *   GEMM softmax(S), V           ->   loop: acc += gauge(S) V       then acc / sum
 *   GEMM exp(S - c), V           ->   loop: acc += gauge(S) V       then acc * exp(max - c)
 *   GEMM p1 / s1 - p2 / s2, V    ->   loop: a1 += p1 V, a2 += p2 V  then a1 / s1 - a2 / s2
 *
 * Everything that is not linear gets its operands exactly, which may take an
 * earlier pass over the stream.
 */
#include "fuse/flow.h"

const Form *flow_one_term(Flow *flow, Node *tile)
{
    Form *form = arena_new_of(flow->arena, Form);

    if (!tile)
        return NULL;
    form->terms[0].tile = tile;
    form->n = 1;
    return form;
}

static const Form *form_exact(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    return flow_one_term(flow, flow_tile(flow, op->result, row, col));
}

static Form *form_copy(Flow *flow, const Form *form)
{
    Form *copy = arena_new_of(flow->arena, Form);

    *copy = *form;
    return copy;
}

static bool is_plain(const Form *form)
{
    return form->n == 1 && form->terms[0].n_factors == 0 && !form->terms[0].negative &&
           !form->terms[0].tile->gauge;
}

/* ---- factors ----------------------------------------------------------------------- */

static bool same_factors(const Term *a, const Term *b)
{
    if (a->n_factors != b->n_factors)
        return false;
    for (int i = 0; i < a->n_factors; i++)
        if (a->factors[i].by.node != b->factors[i].by.node || a->factors[i].divide != b->factors[i].divide ||
            !a->factors[i].by.node)
            return false;
    return true;
}

/* form with one more factor in each term; NULL when there is no room. */
static const Form *with_factor(Flow *flow, const Form *form, Factor factor)
{
    Form *result = form_copy(flow, form);

    for (int i = 0; i < result->n; i++) {
        Term *term = &result->terms[i];

        if (term->n_factors == FORM_FACTORS)
            return NULL;
        term->factors[term->n_factors++] = factor;
    }
    return result;
}

static Node *factor_apply(Flow *flow, Node *tile, const Factor *factor, const char *name)
{
    Node *node = flow_node(flow, NODE_OP, tile->row, tile->col);

    node->op = factor->divide ? OP_DIVIDE : OP_MULTIPLY;
    node->name = name;
    node->has_else = factor->has_else;
    node->otherwise = factor->otherwise;
    node->args[0] = flow_tile_operand(tile);
    node->args[1] = factor->by;
    node->n_args = 2;
    return flow_finish(flow, node);
}

/* Whether two terms of a form end in the same factors: then those are applied once. */
static bool all_same_factors(const Form *form)
{
    for (int i = 1; i < form->n; i++)
        if (!same_factors(&form->terms[0], &form->terms[i]))
            return false;
    return true;
}

static Node *apply_all(Flow *flow, Node *tile, const Term *term, const char *name)
{
    for (int i = 0; tile && i < term->n_factors; i++)
        tile = factor_apply(flow, tile, &term->factors[i], name);
    return tile;
}

Node *flow_combine(Flow *flow, const Form *form, Node *const *parts, const char *name)
{
    bool once = all_same_factors(form);
    Node *total = NULL;

    for (int i = 0; i < form->n; i++) {
        const Term *term = &form->terms[i];
        Node *part = once ? parts[i] : apply_all(flow, parts[i], term, name);

        if (!part)
            return NULL;
        if (total)
            total = flow_op(flow, term->negative ? OP_SUBTRACT : OP_ADD, name, flow_tile_operand(total),
                            flow_tile_operand(part));
        else
            total = term->negative ? flow_op(flow, OP_NEGATE, name, flow_tile_operand(part), (Operand){0}) : part;
        if (!total)
            return NULL;
    }
    return once ? apply_all(flow, total, &form->terms[0], name) : total;
}

/* ---- the gauge ----------------------------------------------------------------------------- */

Node *flow_gauge(Flow *flow, DefValue *value, const Axis *row, const Axis *col)
{
    Node *x = flow_tile(flow, value, row, col);

    if (!x)
        return NULL;
    Node *gauge = flow_node(flow, NODE_GAUGE, row, col);
    gauge->value = value;
    gauge->name = value->name;
    gauge->args[0] = flow_tile_operand(x);
    gauge->n_args = 1;
    gauge = flow_finish(flow, gauge);
    if (gauge)
        gauge->gauge = gauge;
    return gauge;
}

Node *flow_state(Flow *flow, NodeKind kind, Node *gauge)
{
    Node *state = flow_node(flow, kind, gauge->row, flow->one);

    state->name = arena_printf(flow->arena, "%s%s", gauge->name, kind == NODE_STATE_MAX ? "max" : "sum");
    state->args[0] = flow_tile_operand(gauge);
    state->n_args = 1;
    return flow_finish(flow, state);
}

static const Form *form_softmax(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    Node *gauge = flow_gauge(flow, op->args[0].value, row, col);
    Node *sum = gauge ? flow_state(flow, NODE_STATE_SUM, gauge) : NULL;

    if (!sum)
        return NULL;
    return with_factor(flow, flow_one_term(flow, gauge),
                       (Factor){.by = flow_tile_operand(sum), .divide = true, .has_else = true});
}

/* exp(x - c) with c constant along rows and known only after the loop. */
static const Form *form_exp(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    const DefOp *shift = op->args[0].value ? op->args[0].value->op : NULL;

    if (!shift || shift->op != OP_SUBTRACT || !shift->args[0].value || !shift->args[1].value ||
        flow_broadcast_cols(flow, shift, shift->args[1].value, col) != flow->one ||
        flow_broadcast_cols(flow, shift, shift->args[0].value, col) != col)
        return form_exact(flow, op, row, col);
    DefValue *x = shift->args[0].value, *c = shift->args[1].value;
    Node *at = flow_tile(flow, c, flow_broadcast_rows(flow, shift, c, row), flow->one);
    Node *tile = at ? flow_tile(flow, x, row, col) : NULL;
    if (!tile)
        return NULL;
    if (at->stream || at->level <= tile->level)
        return form_exact(flow, op, row, col);
    Node *gauge = flow_gauge(flow, x, row, col);
    Node *max = gauge ? flow_state(flow, NODE_STATE_MAX, gauge) : NULL;
    if (!max || at == max)
        return max ? flow_one_term(flow, gauge) : NULL;
    Node *shifted = flow_op(flow, OP_SUBTRACT, arena_printf(flow->arena, "%s_shift", gauge->name),
                            flow_tile_operand(max), flow_tile_operand(at));
    Node *factor = shifted ? flow_op(flow, OP_EXP, shifted->name, flow_tile_operand(shifted), (Operand){0}) : NULL;
    return factor ? with_factor(flow, flow_one_term(flow, gauge), (Factor){.by = flow_tile_operand(factor)}) : NULL;
}

/* ---- products ---------------------------------------------------------------------------------- */

/* An operand as it stands beside a linear one. */
typedef struct Side {
    bool number, row_constant;
    Operand operand; /* of those two kinds */
} Side;

static bool find_side(Flow *flow, const DefOp *op, int arg, const Axis *row, const Axis *col, Side *side)
{
    DefValue *value = op->args[arg].value;

    *side = (Side){.number = !value};
    if (!value) {
        side->operand = flow_scalar(flow, op, arg);
        return true;
    }
    if (op->args[arg].transposed || flow_broadcast_cols(flow, op, value, col) != flow->one || col == flow->one)
        return true;
    Node *node = flow_tile(flow, value, flow_broadcast_rows(flow, op, value, row), flow->one);
    side->row_constant = node && !node->stream;
    side->operand = flow_tile_operand(node);
    return node != NULL;
}

/* Each term's tile with an operation done to it; b may be nothing. */
static const Form *map_tiles(Flow *flow, const DefOp *op, const Form *form, Operand b)
{
    Form *result = form_copy(flow, form);

    for (int i = 0; i < result->n; i++) {
        Node *tile = result->terms[i].tile;
        Node *node = flow_node(flow, NODE_OP, tile->row, tile->col);

        node->op = op->op;
        node->value = op->result;
        node->name = op->result->name;
        node->cast = op->cast;
        node->source = op->op == OP_MASK ? op : NULL;
        node->has_else = op->has_else;
        node->otherwise = op->otherwise;
        node->args[0] = flow_tile_operand(tile);
        node->args[1] = b;
        node->n_args = b.node || b.number ? 2 : 1;
        result->terms[i].tile = flow_finish(flow, node);
        if (!result->terms[i].tile)
            return NULL;
    }
    return result;
}

/* Numbers are left for later only where the tile would not otherwise have to
 * pass through registers, or must not be touched. */
static bool number_waits(const Form *form)
{
    for (int i = 0; i < form->n; i++)
        if (form->terms[i].tile->kind != NODE_LOAD && !form->terms[i].tile->gauge)
            return false;
    return true;
}

static bool is_never_negative(const Node *node)
{
    static const OpId ops[] = {OP_EXP, OP_EXP2, OP_SQUARE, OP_ABS, OP_RELU, OP_SIGMOID};

    while (node && node->kind == NODE_OP && (node->op == OP_CAST || (node->op == OP_MASK && node->has_else && node->otherwise >= 0)))
        node = node->args[0].node;
    for (size_t i = 0; node && node->kind == NODE_OP && i < TW_COUNT(ops); i++)
        if (node->op == ops[i])
            return true;
    return false;
}

/* Quotients by the sum of the gauge itself, or of other numbers along the loop that are never negative. It is 0 where
 * nothing was summed, and so is what was accumulated then, or where all of them are 0, or the row has but -inf, of which the
 * definition makes no number. */
static bool divides_its_sum(const Form *form, const Node *divisor)
{
    const Node *gauge = form->terms[0].tile->gauge, *summed = divisor ? divisor->args[0].node : NULL;

    if (!summed || form->n > 1)
        return false;
    if (gauge)
        return divisor->kind == NODE_STATE_SUM && summed == gauge;
    return divisor->kind == NODE_REDUCE && divisor->op == OP_ROW_SUM && summed->col == form->terms[0].tile->col &&
           is_never_negative(summed);
}

static Factor factor_of(const DefOp *op, const Form *form, const Side *by)
{
    Factor factor = {.by = by->operand, .divide = op->op == OP_DIVIDE, .has_else = op->has_else, .otherwise = op->otherwise};
    const Node *node = factor.by.node;

    if (!factor.divide && node && node->kind == NODE_OP && node->op == OP_RECIPROCAL &&
        divides_its_sum(form, node->args[0].node))
        factor = (Factor){.by = node->args[0], .divide = true};
    if (factor.divide && !factor.has_else)
        factor.has_else = divides_its_sum(form, factor.by.node); /* else 0 */
    return factor;
}

static const Form *scale_form(Flow *flow, const DefOp *op, const Form *form, const Side *by)
{
    if (by->row_constant || number_waits(form)) {
        const Form *scaled = with_factor(flow, form, factor_of(op, form, by));
        if (scaled)
            return scaled;
    }
    return map_tiles(flow, op, form, by->operand);
}

static const Form *operand_form(Flow *flow, const DefOp *op, int arg, const Axis *row, const Axis *col)
{
    DefValue *value = op->args[arg].value;
    const Axis *r = flow_broadcast_rows(flow, op, value, row), *c = flow_broadcast_cols(flow, op, value, col);

    return r == row && c == col ? flow_form(flow, value, r, c) : flow_one_term(flow, flow_tile(flow, value, r, c));
}

static Node *operand_tile(Flow *flow, const DefOp *op, int arg, const Axis *row, const Axis *col)
{
    DefValue *value = op->args[arg].value;

    return flow_tile(flow, value, flow_broadcast_rows(flow, op, value, row),
                     flow_broadcast_cols(flow, op, value, col));
}

/* Two tiles: linear in one of them, if the other is known exactly. */
static const Form *form_tiles(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    const Form *form = operand_form(flow, op, 0, row, col), *other = NULL;

    if (!form)
        return NULL;
    if (op->op == OP_DIVIDE)
        other = flow_one_term(flow, operand_tile(flow, op, 1, row, col));
    else
        other = operand_form(flow, op, 1, row, col);
    if (!other)
        return NULL;
    if (is_plain(form) && !is_plain(other)) {
        const Form *swap = form;
        form = other;
        other = swap;
    }
    if (is_plain(form) || !is_plain(other))
        return form_exact(flow, op, row, col);
    return map_tiles(flow, op, form, flow_tile_operand(other->terms[0].tile));
}

static bool is_constant(const Side *side)
{
    return side->number || side->row_constant;
}

static const Form *form_product(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    Side a, b;

    if (op->has_else && op->otherwise != 0)
        return form_exact(flow, op, row, col);
    if (!find_side(flow, op, 0, row, col, &a) || !find_side(flow, op, 1, row, col, &b))
        return NULL;
    if (is_constant(&a) && (op->op == OP_DIVIDE || is_constant(&b)))
        return form_exact(flow, op, row, col);
    if (!is_constant(&a) && !is_constant(&b))
        return form_tiles(flow, op, row, col);
    const Form *form = operand_form(flow, op, is_constant(&a) ? 1 : 0, row, col);
    return form ? scale_form(flow, op, form, is_constant(&a) ? &a : &b) : NULL;
}

/* ---- sums ------------------------------------------------------------------------------------------ */

static bool covers(Flow *flow, const DefOp *op, int arg, const Axis *row, const Axis *col)
{
    DefValue *value = op->args[arg].value;

    return value && !op->args[arg].transposed && flow_broadcast_rows(flow, op, value, row) == row &&
           flow_broadcast_cols(flow, op, value, col) == col;
}

static const Form *form_sum(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    if (!covers(flow, op, 0, row, col) || !covers(flow, op, 1, row, col))
        return form_exact(flow, op, row, col);
    const Form *a = flow_form(flow, op->args[0].value, row, col);
    const Form *b = a ? flow_form(flow, op->args[1].value, row, col) : NULL;
    if (!b)
        return NULL;
    if ((is_plain(a) && is_plain(b)) || a->n + b->n > FORM_TERMS)
        return form_exact(flow, op, row, col);
    Form *sum = form_copy(flow, a);
    for (int i = 0; i < b->n; i++) {
        sum->terms[sum->n] = b->terms[i];
        sum->terms[sum->n++].negative ^= op->op == OP_SUBTRACT;
    }
    return sum;
}

static const Form *form_negate(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    const Form *form = flow_form(flow, op->args[0].value, row, col);

    if (!form || is_plain(form))
        return form ? form_exact(flow, op, row, col) : NULL;
    Form *negated = form_copy(flow, form);
    for (int i = 0; i < negated->n; i++)
        negated->terms[i].negative ^= true;
    return negated;
}

/* CAST, and MASK with 0: done to each tile. */
static const Form *form_mapped(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    const Form *form = flow_form(flow, op->args[0].value, row, col);

    if (!form || is_plain(form) || op->reads.len > 0)
        return form ? form_exact(flow, op, row, col) : NULL;
    return map_tiles(flow, op, form, (Operand){0});
}

/* ---- by operation ------------------------------------------------------------------------------------- */

static const Form *form_of_op(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    bool tile_alone = op->n_args > 0 && op->args[0].value && !op->args[0].transposed;

    if ((op->op == OP_MULTIPLY || op->op == OP_DIVIDE) && op->n_args == 2)
        return form_product(flow, op, row, col);
    if (op->op == OP_ADD || op->op == OP_SUBTRACT)
        return form_sum(flow, op, row, col);
    if (tile_alone && op->op == OP_NEGATE)
        return form_negate(flow, op, row, col);
    bool scales = op->op == OP_CAST && dtype_is_float(op->cast);
    if (tile_alone && (scales || (op->op == OP_MASK && op->has_else && op->otherwise == 0)))
        return form_mapped(flow, op, row, col);
    if (tile_alone && op->op == OP_SOFTMAX && col->kind == AXIS_STREAM)
        return form_softmax(flow, op, row, col);
    if (tile_alone && op->op == OP_EXP && col->kind == AXIS_STREAM)
        return form_exp(flow, op, row, col);
    return form_exact(flow, op, row, col);
}

const Form *flow_form(Flow *flow, DefValue *value, const Axis *row, const Axis *col)
{
    const Form *form = flow_recall(flow, value, row, col, true);

    if (form)
        return form;
    if (!flow_enter(flow, value))
        return NULL;
    form = value->op ? form_of_op(flow, value->op, row, col) : flow_one_term(flow, flow_tile(flow, value, row, col));
    flow->depth--;
    if (form)
        flow_remember(flow, value, row, col, true, form);
    return form;
}
