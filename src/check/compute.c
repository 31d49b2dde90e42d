/* compute.c: Compute statements other than GEMM, a function a class of operations. */
#include "check/walk.h"

#include <math.h>

enum { MAX_ARGS = 3 };

static void wrong_operands(Checker *c, const Stmt *s, const char *form)
{
    diag_add(c->diags, TW0234, s->span, "%s is written: %s",
             s->op_known ? op_info(s->op)->name : s->op_name, form);
}

/* ---- results --------------------------------------------------------------------------------- */

/* How the tiles of an elementwise operation lie; all that are matrices alike. */
static Fragment join_fragments(Checker *c, const Operand *operands, int n)
{
    Fragment joint = FRAG_FREE;
    for (int i = 0; i < n; i++) {
        const Place *p = operands[i].place;
        bool matrix = p && p->space == SPACE_REGISTER && !extent_is_one(operands[i].tile.rows) &&
                      !extent_is_one(operands[i].tile.cols) && !operands[i].tile.vector;
        if (!matrix || p->now.fragment == FRAG_FREE)
            continue;
        if (p->now.fragment == FRAG_UNKNOWN)
            return FRAG_UNKNOWN;
        if (joint != FRAG_FREE && joint != p->now.fragment)
            diag_add(c->diags, TW0422, operands[i].expr->span,
                     "'%s' lies differently in registers than the other operand: one was reshaped, "
                     "one was not",
                     operands[i].tensor->name);
        if (joint == FRAG_FREE)
            joint = p->now.fragment;
    }
    return joint;
}

static const Stmt *find_define(const Checker *c, const char *name);

/* What an operation of one's own does is not followed. */
static bool may_mask(const Checker *c, const Stmt *s)
{
    return !s->op_known || s->op == OP_MASK || s->op == OP_WHERE || find_define(c, s->op_name);
}

/* The value of an operation goes to the statement's result. */
static void put_result(Checker *c, const Stmt *s, const Operand *first, const Tile *result,
                       Fragment fragment)
{
    Operand dest;
    const Expr *to = s->dest ? s->dest : first && first->tensor ? first->expr : NULL; /* in place */
    if (!to) {
        diag_add(c->diags, TW0234, s->span, "the result goes nowhere: end with `and get X`");
        return;
    }
    if (!operand_dest(c, to, result, &dest))
        return;
    if (shape_fits(c, &dest, result))
        shape_learn(&dest, result);
    PlaceState guess = first && first->place ? first->place->now : (PlaceState){0};
    if (s->result == RESULT_ACCUMULATE)
        piece_summed(c, &dest);
    if (s->result == RESULT_ACCUMULATE && s->op_known && s->op != OP_GEMM) /* of which dtype_gemm says it */
        dtype_sum(c, &dest);
    if (s->result == RESULT_ACCUMULATE)
        init_accumulate(c, &dest, fragment);
    else
        init_write(c, &dest, fragment);
    dest.place->now.masked |= guess.masked || may_mask(c, s);
    dest.place->now.cast = s->op_known && s->op == OP_CAST && s->has_dtype ? s : NULL;
    dest.place->now.guessed_gemm = guess.guessed_gemm;
    dest.place->now.guessed_streams = guess.guessed_streams;
}

/* The first operand, which must be a tile. */
static bool read_tile(Checker *c, const Stmt *s, Operand *x, const char *what)
{
    bool ok = operand_read(c, s->args[0], x);
    if (ok && x->is_number) {
        diag_add(c->diags, TW0235, x->expr->span, "%s needs a tile", what);
        ok = false;
    }
    if (ok)
        init_read(c, x);
    else
        operand_spoiled(c, s->dest);
    return ok;
}

/* ---- elementwise
 * --------------------------------------------------------------------------------- */

/* Where (condition), a, b: the condition may be an expression over positions. */
static bool is_condition(const Expr *e)
{
    return expr_is_condition(e) || e->kind == EXPR_WORDS;
}

/* `Where S, j <= i, -inf`, of S in place: the condition stands first. */
static void refuse_late_condition(Checker *c, const Stmt *s)
{
    const char *tile = s->op == OP_WHERE && s->n_args == 3 && s->args[0]->kind == EXPR_NAME ? s->args[0]->name : NULL;
    if (!tile || !is_condition(s->args[1]) || (s->dest && !expr_is_name(s->dest, tile)))
        return;
    Diag *d = diag_add(c->diags, TW0234, s->span, "the condition of a Where stands first: where it holds, an element is the second operand's");
    diag_fix(c->diags, d, (Span){s->args[0]->span.start, s->args[2]->span.end},
             arena_printf(c->arena, "%s, %s, %s%s%s", source_text(c, s->args[1]->span), tile, source_text(c, s->args[2]->span),
                          s->dest ? "" : " and get new ", s->dest ? "" : tile), "the condition first");
}

static bool read_element_args(Checker *c, const Stmt *s, Operand *operands)
{
    bool ok = true;
    refuse_late_condition(c, s);
    for (int i = 0; i < s->n_args; i++) {
        if (s->op == OP_WHERE && i == 0 && is_condition(s->args[0])) {
            operands[0] = (Operand){.expr = s->args[0], .is_number = true};
            values_element_condition(c, s->args[0]);
            continue;
        }
        bool read = operand_read(c, s->args[i], &operands[i]);
        if (read)
            init_read(c, &operands[i]);
        ok &= read;
    }
    return ok;
}

static const Operand *first_tile(const Operand *operands, int n)
{
    for (int i = 0; i < n; i++)
        if (!operands[i].is_number)
            return &operands[i];
    return NULL;
}

/* Whether a softmax of the block has the tile as its sum. */
static bool is_state(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        if ((s->n_with == 2 && expr_is_name(s->with[1], name)) ||
            is_state(&s->body, name) || is_state(&s->orelse, name))
            return true;
    }
    return false;
}

/* X / L where L is the sum of a softmax that goes on. */
static bool divides_early(Checker *c, const Stmt *s, const Operand *operands)
{
    const Stmt *loop = c->n_loops ? c->loops[c->n_loops - 1].stmt : NULL;
    const char *sum = s->op == OP_DIVIDE && !operands[1].is_number ? operands[1].tensor->name : NULL;
    return loop && sum && !c->loose && is_state(&loop->body, sum) && !early_begins_anew(loop, sum);
}

static void check_meaning(Checker *c, const Stmt *s, const Operand *operands, int n)
{
    for (int i = 0; i < n && s->result == RESULT_ACCUMULATE && s->dest; i++)
        if (!operands[i].is_number && expr_equal(operands[i].expr, s->dest)) {
            Diag *d = diag_add(c->late, TW0443, s->span, "the result is added to its own operand '%s'",
                               operand_name(&operands[i]));
            Span after = {s->args[s->n_args - 1]->span.end, s->dest->span.end};
            if (s->otherwise)
                after.start = s->otherwise->span.end;
            diag_fix(c->late, d, after, arena_printf(c->arena, " and get new %s", operand_name(&operands[i])),
                     "replace it");
        }
    piece_added(c, s, operands, n);
    if (divides_early(c, s, operands))
        diag_add(c->late, TW0445, s->span, "'%s' still grows in this loop: divide behind it",
                 operand_name(&operands[1]));
}

static void check_element(Checker *c, const Stmt *s)
{
    Operand operands[MAX_ARGS];
    Tile result;
    int arity = op_info(s->op)->arity;
    if (s->n_args != arity || arity > MAX_ARGS) {
        diag_add(c->diags, TW0234, s->span, "%s takes %d operand%s, not %d", op_info(s->op)->name,
                 arity, arity == 1 ? "" : "s", s->n_args);
        return;
    }
    if (s->otherwise)
        values_number(c, s->otherwise);
    if (!read_element_args(c, s, operands) || !shape_broadcast(c, operands, arity, &result)) {
        operand_spoiled(c, s->dest);
        return;
    }
    shape_crosses(c, operands, arity);
    if (s->op == OP_WHERE && stmt_condition(s) && first_tile(operands, arity))
        mask_check(c, stmt_condition(s), &result, operand_name(first_tile(operands, arity)));
    if (op_is_exponential(s->op) && !operands[0].is_number && operands[0].place->now.exponentials)
        fix_removal(c, diag_add(c->late, TW0444, s->span, "'%s' holds exponentials already", operand_name(&operands[0])), s, "remove it");
    check_meaning(c, s, operands, arity);
    put_result(c, s, first_tile(operands, arity), &result, join_fragments(c, operands, arity));
}

/* ---- reductions
 * ------------------------------------------------------------------------------------- */

/* A name that stands for another: a position, a number. */
static bool unit_declares(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        if ((s->kind == STMT_INDEX || s->kind == STMT_PARAM || s->kind == STMT_LET || s->kind == STMT_ASSIGN) &&
            strcmp(s->name, name) == 0)
            return true;
    }
    return false;
}

/* `over` says which dimension is meant; in a block it is the operation's own. */
static void check_over(Checker *c, const Stmt *s, const Operand *x, bool rows)
{
    const Extent *own = rows ? &x->tile.cols : &x->tile.rows, *other = rows ? &x->tile.rows : &x->tile.cols;
    bool wrong = s->over && other->axis && strcmp(other->axis, s->over) == 0;
    wrong |= s->over && own->axis && other->axis && !unit_declares(c->unit, s->over);
    if (!wrong || (own->axis && strcmp(own->axis, s->over) == 0))
        return;
    Diag *d = diag_add(c->diags, TW0246, s->over_span, "%s of '%s' is along %s, not along %s", op_info(s->op)->name,
                       operand_name(x), own->axis ? own->axis : rows ? "its columns" : "its rows", s->over);
    diag_note(c->diags, d, "RowMax, RowMin, RowSum, RowMean and Softmax work along the last dimension of a tile, ColMax and "
                           "ColSum along the last but one; definitions take any");
}

static void check_reduce(Checker *c, const Stmt *s, bool rows)
{
    Operand x;
    if (s->n_args != 1) {
        wrong_operands(c, s, rows ? "RowSum X and get m" : "ColSum X and get m");
        return;
    }
    if (!read_tile(c, s, &x, "a reduction"))
        return;
    check_over(c, s, &x, rows);
    Tile result = x.tile;
    if (x.tile.vector)
        result = (Tile){.rows = extent_one(c), .cols = extent_one(c)};
    else if (rows)
        result.cols = extent_one(c);
    else
        result.rows = extent_one(c);
    early_sum(c, s, &x, rows ? &x.tile.cols : &x.tile.rows, NULL, NULL);
    put_result(c, s, NULL, &result, FRAG_FREE);
}

/* ---- softmax
 * ------------------------------------------------------------------------------------------- */

static void check_state(Checker *c, const Expr *e, const Operand *of)
{
    Operand state;
    Tile column = {.rows = of->tile.rows, .cols = extent_one(c), .unknown = of->tile.unknown};
    if (!operand_dest(c, e, &column, &state))
        return;
    shape_column(c, &state, of);
    dtype_state(c, &state);
    init_accumulate(c, &state, FRAG_FREE); /* starts at -inf or 0 when nothing set it */
}

static void check_softmax(Checker *c, const Stmt *s)
{
    Operand x;
    if (s->n_args != 1 || (s->n_with != 0 && s->n_with != 2)) {
        wrong_operands(c, s, "Softmax S [with M and L] [and get P]");
        return;
    }
    if (!read_tile(c, s, &x, "a softmax"))
        return;
    check_over(c, s, &x, true);
    if (x.place->now.exponentials && s->n_with)
        fix_removal(c, diag_add(c->late, TW0444, s->span, "'%s' went through a softmax already", operand_name(&x)), s, "remove it");
    for (int i = 0; i < s->n_with; i++)
        check_state(c, s->with[i], &x);
    mask_ragged(c, s, &x);
    piece_softmax(c, s, &x);
    gemm_note_softmax(c, x.place);
    if (s->dest) {
        put_result(c, s, &x, &x.tile, x.place->now.fragment);
    } else {
        PlaceState before = x.place->now;
        init_write(c, &x, before.fragment);
        x.place->now.guessed_gemm = before.guessed_gemm;
        x.place->now.guessed_streams = before.guessed_streams;
        x.place->now.masked = before.masked;
        x.place->now.exponentials = s->n_with > 0;
    }
}

/* ---- Mask, Fill, Cast, Define
 * ----------------------------------------------------------------------------- */

static bool is_infinite(const Expr *e)
{
    return (e->kind == EXPR_UNARY && is_infinite(e->a)) || (e->kind == EXPR_FLOAT && isinf(e->f));
}

static void check_mask(Checker *c, const Stmt *s)
{
    Operand x;
    if (s->n_args != 1 || !s->where) {
        wrong_operands(c, s, "Mask S where condition [else value]");
        return;
    }
    values_element_condition(c, s->where);
    if (s->otherwise)
        values_number(c, s->otherwise);
    if (!read_tile(c, s, &x, "a Mask"))
        return;
    if (x.place->now.exponentials && (!s->otherwise || is_infinite(s->otherwise)))
        diag_add(c->late, TW0444, s->span, "'%s' holds exponentials already, of which its sum was made: a mask stands before the softmax", operand_name(&x));
    bool bounds = mask_check(c, s->where, &x.tile, operand_name(&x));
    if (s->dest) {
        put_result(c, s, &x, &x.tile, x.place->now.fragment);
    } else {
        PlaceState before = x.place->now;
        init_write(c, &x, before.fragment);
        x.place->now.masked = before.masked || bounds;
        x.place->now.guessed_gemm = before.guessed_gemm;
    }
}

/* Fill X, v [and get [new] X]: X is written, not read. */
static void check_fill(Checker *c, const Stmt *s)
{
    Operand x, v;
    if (s->n_args != 2) {
        wrong_operands(c, s, "Fill X, value");
        return;
    }
    if (operand_read(c, s->args[1], &v))
        init_read(c, &v);
    if (operand_dest(c, s->dest ? s->dest : s->args[0], NULL, &x))
        init_write(c, &x, FRAG_FREE);
}

static void check_cast(Checker *c, const Stmt *s)
{
    Operand x;
    dtype_cast(c, s);
    if (s->n_args > 0 && read_tile(c, s, &x, "a Cast"))
        put_result(c, s, &x, &x.tile, join_fragments(c, &x, 1));
}

static void check_defined(Checker *c, const Stmt *s)
{
    Operand x;
    if (s->n_args < 1 || !s->value) {
        wrong_operands(c, s, "Define X (rows, columns) as expression");
        return;
    }
    c->of_elements = true;
    values_number(c, s->value);
    c->of_elements = false;
    Tile shape = {.rows = extent_one(c), .cols = extent_one(c)};
    if (s->n_shape > 0)
        shape.cols = extent_of(c, s->shape[s->n_shape - 1]);
    if (s->n_shape > 1)
        shape.rows = extent_of(c, s->shape[s->n_shape - 2]);
    if (!operand_dest(c, s->args[0], &shape, &x))
        return;
    shape_fits(c, &x, &shape);
    init_write(c, &x, FRAG_FREE);
}

/* ---- operations of one's own
 * ---------------------------------------------------------------------------------- */

static const Stmt *find_define(const Checker *c, const char *name)
{
    for (int i = 0; i < c->defines.len; i++)
        if (text_equal_nocase(c->defines.data[i]->name, name))
            return c->defines.data[i];
    return NULL;
}

enum { MOST_NESTED = 64 }; /* definitions that are looked into */

typedef struct Calls {
    const Stmt *target;
    VEC(const Stmt *) seen; /* each is looked into once */
} Calls;

static bool is_new(Checker *c, Calls *calls, const Stmt *define)
{
    for (int i = 0; i < calls->seen.len; i++)
        if (calls->seen.data[i] == define)
            return false;
    vec_push(c->arena, &calls->seen, define);
    return true;
}

/* Whether a call within the block leads back to the target. */
static bool leads_back(Checker *c, const Block *block, Calls *calls)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Stmt *called =
            s->kind == STMT_COMPUTE && !s->op_known ? find_define(c, s->op_name) : NULL;
        if (called == calls->target && called)
            return true;
        if (called && calls->seen.len < MOST_NESTED && is_new(c, calls, called) &&
            leads_back(c, &called->body, calls))
            return true;
        if (leads_back(c, &s->body, calls) || leads_back(c, &s->orelse, calls))
            return true;
    }
    return false;
}

static void say_unknown_operation(Checker *c, const Stmt *s)
{
    for (int i = 0; i < s->n_with; i++)
        operand_spoiled(c, s->with[i]);
    operand_spoiled(c, s->dest);
    Diag *d = diag_add(c->diags, TW0233, s->op_span, "there is no operation '%s'", s->op_name);
    const char *hint = op_hint(s->op_name), *nearest = hint ? NULL : op_nearest(s->op_name);
    if (hint)
        diag_note(c->diags, d, "%s", hint);
    if (nearest)
        diag_fix(c->diags, d, s->op_span, nearest,
                 arena_printf(c->arena, "did you mean '%s'?", nearest));
}

static void check_call(Checker *c, const Stmt *s)
{
    Operand operands[MAX_ARGS];
    const Stmt *define = find_define(c, s->op_name);
    if (!define) {
        if (!c->loose || c->sketch)
            say_unknown_operation(c, s);
        return;
    }
    if (leads_back(c, &define->body, &(Calls){.target = define})) {
        diag_add(c->diags, TW0405, s->op_span, "'%s' is made of itself", s->op_name);
        return;
    }
    /* its parameters stand for the operands and, where there is one, the result */
    if (define->n_shape != s->n_args && define->n_shape != s->n_args + (s->dest != NULL))
        diag_add(c->diags, TW0234, s->span, "'%s' takes %d operand%s, not %d", define->name,
                 define->n_shape, define->n_shape == 1 ? "" : "s", s->n_args);
    Fragment fragment = FRAG_FREE;
    for (int i = 0; i < s->n_args; i += MAX_ARGS)
        for (int j = i; j < s->n_args && j < i + MAX_ARGS; j++)
            if (operand_read(c, s->args[j], &operands[j - i])) {
                init_read(c, &operands[j - i]);
                if (operands[j - i].place)
                    operands[j - i].place->now.masked = true; /* as far as is known here */
                if (fragment == FRAG_FREE && operands[j - i].place)
                    fragment = operands[j - i].place->now.fragment;
            }
    Tile unknown = {.unknown = true};
    if (s->dest)
        put_result(c, s, NULL, &unknown, fragment);
}

/* ---- operations on whole tensors -------------------------------------------------- */

/* A tile holds but a part of what they look at. */
static void check_whole(Checker *c, const Stmt *s)
{
    Diag *diag = diag_add(c->diags, TW0245, s->op_span, "%s works on whole tensors, not on tiles", s->op_name);
    Operand operand;
    Tile unknown = {.unknown = true};

    if (s->op == OP_RESHAPE)
        diag_note(c->diags, diag, "between two GEMMs the statement is `Reshape S from (MMA_C, MMA_M, MMA_N) to "
                  "(MMA_A, MMA_M, MMA_N_new)`");
    for (int i = 0; i < s->n_args; i++)
        operand_read(c, s->args[i], &operand);
    if (s->dest)
        put_result(c, s, NULL, &unknown, FRAG_FREE);
}

/* ---- dispatch
 * ----------------------------------------------------------------------------------------------------
 */

void check_compute(Checker *c, const Stmt *s)
{
    c->computing = s;
    if (!s->op_known || find_define(c, s->op_name)) { /* one's own hides the table's */
        check_call(c, s);
        return;
    }
    switch (op_info(s->op)->class) {
    case OPC_ELEMENT: check_element(c, s); break;
    case OPC_ROW_REDUCE: check_reduce(c, s, true); break;
    case OPC_COL_REDUCE: check_reduce(c, s, false); break;
    case OPC_GEMM: check_gemm(c, s); break;
    case OPC_SOFTMAX: check_softmax(c, s); break;
    case OPC_MASK: check_mask(c, s); break;
    case OPC_FILL: check_fill(c, s); break;
    case OPC_CAST: check_cast(c, s); break;
    case OPC_DEFINE: check_defined(c, s); break;
    case OPC_GROUP_REDUCE: case OPC_REARRANGE: case OPC_SELECT: check_whole(c, s); break;
    }
}
