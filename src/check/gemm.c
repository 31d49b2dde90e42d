/* gemm.c: matrix products: which operand is transposed, where operands lie, and
 * the Reshape between two products.
 *
 *   Compute GEMM Q, K and get S      (BM, D) x (BN, D): K must be K.T
 *   Compute GEMM S, V ...            S is an accumulator, not an operand: Reshape first
 *
 * Sizes alone cannot tell K from K.T when a tile is square; then the dimensions
 * of the global tensors, which tiles inherit from their Copies, decide.
 */
#include "check/walk.h"

static const char *const canonical_layouts =
    "from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)";

/* ---- transposition --------------------------------------------------------------------------- */

/* What a dimension is another name of, `n2 = n`; NULL: of none. */
static const char *renamed(const Unit *unit, const char *axis)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];

        if ((s->kind == STMT_ASSIGN || s->kind == STMT_LET) && s->value->kind == EXPR_NAME && strcmp(s->name, axis) == 0)
            return s->value->name;
    }
    return NULL;
}

static bool axes_same(const Checker *c, Extent a, Extent b)
{
    const char *of_a, *of_b;

    if (!a.axis || !b.axis)
        return false;
    if (strcmp(a.axis, b.axis) == 0)
        return true;
    of_a = renamed(c->unit, a.axis);
    of_b = renamed(c->unit, b.axis);
    return strcmp(of_a ? of_a : a.axis, of_b ? of_b : b.axis) == 0;
}

static bool axes_differ(const Checker *c, Extent a, Extent b)
{
    return a.axis && b.axis && !axes_same(c, a, b);
}

static const char *toggled(Checker *c, const Operand *o)
{
    const Expr *e = o->expr;
    const char *text = source_text(c, e->kind == EXPR_TRANSPOSE ? e->a->span : e->span);
    if (!text)
        text = operand_name(o);
    return e->kind == EXPR_TRANSPOSE ? text : arena_printf(c->arena, "%s.T", text);
}

static void say_transpose(Checker *c, const Operand *o, const char *note)
{
    Diag *d = diag_add(c->diags, TW0320, o->expr->span,
                       o->transposed ? "'%s' must not be transposed here"
                                     : "'%s' must be transposed here",
                       operand_name(o));
    diag_note(c->diags, d, "%s", note);
    diag_fix(c->diags, d, o->expr->span, toggled(c, o),
             o->transposed ? "do not transpose it" : "transpose it");
}

static const char *contraction_note(Checker *c, const Operand *a, const Operand *b)
{
    return arena_printf(
        c->arena,
        "%s has shape %s, %s has %s: the columns of the first meet the rows of the second",
        operand_name(a), tile_text(c, &a->tile), operand_name(b), tile_text(c, &b->tile));
}

/* The sizes agree either way, but not the dimensions that they run along. */
static bool wrong_axes(const Checker *c, const Operand *a, const Operand *b)
{
    return axes_differ(c, a->tile.cols, b->tile.rows) && axes_same(c, a->tile.cols, b->tile.cols);
}

/* The size of the dimension, where the launch gives it; NULL: it is known, and a tile may be one part of many, or not. */
static const Aff *open_size(const Checker *c, Extent e)
{
    const EvalName *whole = eval_find(&c->env, e.axis);

    return whole && whole->aff && !aff_is_const(whole->aff, NULL) ? whole->aff : NULL;
}

bool extent_axes_differ(const Checker *c, Extent a, Extent b)
{
    return axes_differ(c, a, b) && open_size(c, a) && open_size(c, b) && open_size(c, a) != open_size(c, b);
}

static bool check_contraction(Checker *c, const Operand *a, const Operand *b)
{
    Extent k = a->tile.cols, l = b->tile.rows;
    bool clash = extent_clashes(c, k, l);
    bool differ = k.size && l.size && k.size != l.size; /* in loose units they may yet be equal */
    if (wrong_axes(c, a, b) || (differ && extent_same(k, b->tile.cols))) {
        say_transpose(c, b, contraction_note(c, a, b));
        return false;
    }
    if (differ && extent_same(a->tile.rows, l)) {
        say_transpose(c, a, contraction_note(c, a, b));
        return false;
    }
    if (clash)
        diag_add(c->diags, TW0321, b->expr->span,
                 "%s with columns of %s cannot meet %s with rows of %s", operand_name(a),
                 k.text ? k.text : aff_text(c->arena, k.size), operand_name(b),
                 l.text ? l.text : aff_text(c->arena, l.size));
    else if (extent_axes_differ(c, k, l)) /* tiles of one size */ {
        Diag *d = diag_add(c->diags, TW0321, b->expr->span, "the columns of '%s' run along %s, the rows of '%s' along %s",
                           operand_name(a), k.axis, operand_name(b), l.axis);
        diag_note(c->diags, d, "a product sums over what the columns of the first and the rows of the second share; where both "
                  "dimensions are the same, give them one name");
        clash = true;
    }
    return !clash;
}

/* ---- spaces -------------------------------------------------------------------------------------
 */

/* ldmatrix transposes on the way from there; registers have no other way. */
static bool in_shared(Checker *c, const Operand *o, const char *which)
{
    if (o->place->space != SPACE_REGISTER || o->place->given)
        return true;
    Diag *d = diag_add(c->diags, TW0407, o->expr->span, "'%s', %s, must be in shared memory", operand_name(o), which);
    if (o->tensor->places[SPACE_SHARED].exists)
        fix_line_before(c, d, walk_outermost(c),
                        arena_printf(c->arena, "Copy %s from register to shared", operand_name(o)), "copy it there");
    else
        diag_note(c->diags, d, "what is computed is rounded by a Cast, if it is fp32, and gets there by `Copy %s from register to shared`",
                  operand_name(o));
    return false;
}

static bool check_operands(Checker *c, const Operand *a, const Operand *b)
{
    const Operand *number = a->is_number ? a : b->is_number ? b : NULL;
    if (number) {
        diag_add(c->diags, TW0235, number->expr->span, "a matrix product needs two tiles");
        return false;
    }
    return in_shared(c, b, "the second operand") && (!a->transposed || in_shared(c, a, "transposed"));
}

/* ---- fragments
 * ------------------------------------------------------------------------------------ */

static void say_missing_reshape(Checker *c, const Stmt *s, const Operand *a)
{
    a->place->now.fragment = FRAG_OPERAND;
    if (c->reshape_missed) {
        c->reshape_missed = false;
        return;
    }
    Diag *d = diag_add(c->diags, TW0420, a->expr->span,
                       "'%s' is the result of a GEMM and needs a Reshape first", operand_name(a));
    fix_line_before(c, d, s,
                    arena_printf(c->arena, "Reshape %s %s", operand_name(a), canonical_layouts),
                    "reshape it from accumulator to operand");
}

/* No shape is known, but a softmax over the rows of Q K' that is then
 * accumulated streams the rows of K as it streams those of V. */
static void check_guess(Checker *c, const Stmt *s, const Operand *a)
{
    const PlaceState *now = &a->place->now;
    if (!c->loose || s->result != RESULT_ACCUMULATE || !now->guessed_gemm || !now->guessed_streams)
        return;
    const Expr *e = now->guessed_gemm->args[1];
    Diag *d = diag_add(c->diags, TW0320, e->span, "'%s' must be transposed here", e->name);
    diag_note(c->diags, d,
              "the rows of its product go through a softmax and meet the rows of '%s': both are "
              "streamed by rows",
              s->args[1]->kind == EXPR_NAME ? s->args[1]->name : "the other");
    diag_fix(c->diags, d, e->span, arena_printf(c->arena, "%s.T", e->name), "transpose it");
    a->place->now.guessed_gemm = NULL;
}

void gemm_note_softmax(Checker *c, Place *place)
{
    (void)c;
    place->now.guessed_streams = place->now.guessed_gemm != NULL;
}

/* ---- sizes of the instruction
 * ----------------------------------------------------------------------- */

/* The next larger size, where it is one that the unit assigns. */
static void suggest_multiple(Checker *c, Diag *d, Extent e, int64_t v, int of)
{
    for (int i = 0; e.text && i < c->unit->body.len; i++) {
        const Stmt *s = c->unit->body.data[i];
        if (s->kind == STMT_ASSIGN && strcmp(s->name, e.text) == 0 && check_is_tile_size(c->unit, s) && s->value->i == v)
            diag_fix(c->diags, d, s->value->span,
                     arena_printf(c->arena, "%lld", (long long)((v + of - 1) / of * of)), "the next size that fits");
    }
}

static void check_multiple(Checker *c, Extent e, int of, const Operand *o, const char *what)
{
    int64_t v;
    if (!e.size || !aff_is_const(e.size, &v) || v % of == 0)
        return;
    Diag *d = diag_add(c->diags, TW0433, o->expr->span, "%s of '%s' are %lld, not a multiple of %d",
                       what, operand_name(o), (long long)v, of);
    suggest_multiple(c, d, e, v, of);
    const Target *t = c->options->target;
    const char *one = arena_printf(c->arena, ": of a dimension of one, as of (batch, heads, 1, D), a tile (%d, D) has one row, and 0 beside it", of);
    diag_note(c->diags, d, "mma on %s works on %d x %d x %d%s", t->name, t->mma_m, t->mma_n, t->mma_k, v == 1 ? one : "");
}

static void check_mma(Checker *c, const Operand *a, const Operand *b)
{
    const Target *t = c->options->target;
    if (c->loose || !t)
        return;
    check_multiple(c, a->tile.rows, t->mma_m, a, "the rows");
    check_multiple(c, a->tile.cols, dtype_mma_k(c, a, b), a, "the columns");
    check_multiple(c, b->tile.cols, t->mma_n, b, b->transposed ? "the rows" : "the columns");
}

/* ---- the statement
 * -------------------------------------------------------------------------------------- */

/* An untransposed second operand of unknown shape, to be judged by its use. */
static bool is_guess(Checker *c, const Operand *b)
{
    return c->loose && b->expr->kind == EXPR_NAME && b->place->given && b->tile.unknown &&
           !b->tile.rows.axis && !b->tile.cols.axis;
}

/* meets: false where the operands do not, which was said; then nothing is known of the result's shape. */
static void finish_gemm(Checker *c, const Stmt *s, Operand *a, Operand *b, bool guess, bool meets)
{
    Operand dest;
    Tile result = {.rows = a->tile.rows, .cols = b->tile.cols};
    if (!meets)
        result = (Tile){0};
    result.unknown = !result.rows.size && !result.cols.size;
    if (!operand_dest(c, s->dest, &result, &dest))
        return;
    if (shape_fits(c, &dest, &result))
        shape_learn(&dest, &result);
    dtype_gemm(c, a, b, &dest);
    if (s->result == RESULT_ACCUMULATE)
        piece_summed(c, &dest);
    early_sum(c, s, a, &a->tile.cols, b, &b->tile.rows);
    if (s->result == RESULT_ACCUMULATE)
        init_accumulate(c, &dest, FRAG_ACCUMULATOR);
    else
        init_write(c, &dest, FRAG_ACCUMULATOR);
    if (s->result != RESULT_ACCUMULATE && guess)
        dest.place->now.guessed_gemm = s;
}

/* The shared extent of two operands, told to the one that does not know it. */
static void learn_contraction(Operand *a, Operand *b)
{
    Tile as_a = a->tile, as_b = b->tile;
    as_a.unknown = as_b.unknown = false;
    if (!as_a.cols.size)
        as_a.cols = b->tile.rows;
    if (!as_b.rows.size)
        as_b.rows = a->tile.cols;
    if (!as_a.cols.size)
        return;
    shape_learn(a, &as_a);
    shape_learn(b, &as_b);
}

void check_gemm(Checker *c, const Stmt *s)
{
    Operand a, b;
    if (s->n_args != 2 || !s->dest) {
        diag_add(c->diags, TW0234, s->span,
                 "a GEMM has two operands and a result: GEMM A, B and get C");
        return;
    }
    bool read_a = operand_gemm(c, s->args[0], false, &a),
         read_b = operand_gemm(c, s->args[1], true, &b);
    if (!read_a || !read_b || !check_operands(c, &a, &b)) {
        operand_spoiled(c, s->dest);
        return;
    }
    init_read(c, &a);
    init_read(c, &b);
    bool guess = is_guess(c, &b);
    bool meets = check_contraction(c, &a, &b);
    if (meets) {
        check_mma(c, &a, &b);
        learn_contraction(&a, &b);
    }
    if (a.place->space == SPACE_REGISTER && a.place->now.fragment == FRAG_ACCUMULATOR && !c->sketch)
        say_missing_reshape(c, s, &a);
    check_guess(c, s, &a);
    finish_gemm(c, s, &a, &b, guess, meets);
}

/* ---- Reshape
 * ------------------------------------------------------------------------------------------------
 */

static bool is_name(const Expr *e, const char *name)
{
    return e->kind == EXPR_NAME && text_equal_nocase(e->name, name);
}

static bool layouts_are_right(const Stmt *s)
{
    if (s->n_shape == 1 && s->n_to_shape == 1) /* the short form */
        return is_name(s->shape[0], "MMA_C") && is_name(s->to_shape[0], "MMA_A");
    return s->n_shape == 3 && s->n_to_shape == 3 && is_name(s->shape[0], "MMA_C") &&
           is_name(s->shape[1], "MMA_M") && is_name(s->shape[2], "MMA_N") &&
           is_name(s->to_shape[0], "MMA_A") && is_name(s->to_shape[1], "MMA_M") &&
           s->to_shape[2]->kind == EXPR_NAME && !is_name(s->to_shape[2], "MMA_N");
}

/* No product has one row: what makes it, or takes it, is wrong. */
static bool has_one_row(const Operand *o)
{
    int64_t rows;
    return o->tile.rows.size && aff_is_const(o->tile.rows.size, &rows) && rows == 1;
}

void check_reshape(Checker *c, const Stmt *s)
{
    Operand o;
    Expr name = {.kind = EXPR_NAME, .name = s->name, .span = s->name_span};
    if (!layouts_are_right(s)) {
        Diag *d = diag_add(c->diags, TW0421, s->span, "a Reshape goes from accumulator to operand");
        diag_fix(c->diags, d, s->span,
                 arena_printf(c->arena, "Reshape %s %s", s->name, canonical_layouts),
                 "the only one there is");
    }
    if (!operand_read(c, expr_copy(c->arena, &name), &o) || o.is_number)
        return;
    init_read(c, &o);
    c->reshape_missed = o.place->space != SPACE_REGISTER || (o.place->now.fragment == FRAG_FREE && !c->loose);
    if (o.place->space != SPACE_REGISTER) {
        diag_add(c->diags, TW0421, s->name_span,
                 "'%s' is in %s memory: only register tiles have fragments", s->name,
                 space_name(o.place->space));
    } else if (o.place->now.fragment == FRAG_OPERAND) {
        fix_removal(c, diag_add(c->diags, TW0421, s->name_span, "'%s' is an operand already", s->name), s, "remove it");
    } else if (o.place->now.fragment == FRAG_FREE && !c->loose && !has_one_row(&o)) {
        fix_removal(c, diag_add(c->diags, TW0421, s->name_span,
                                "'%s' is no result of a GEMM: there is nothing to reshape", s->name), s, "remove it");
    }
    o.place->now.fragment = FRAG_OPERAND;
}
