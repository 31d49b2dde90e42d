/* write.c: the sketch's statements with every parameter.
 *
 * What the sketch leaves unsaid is added where the hardware needs it: a bound in
 * the mask of a tile that reaches past the end (pads.c says when), a Reshape
 * before a GEMM that multiplies a computed tile, and a copy of a tile that is
 * wanted in both forms.
 */
#include "reason/plan.h"

#include <math.h>
#include <stdlib.h>

typedef struct Writer {
    Plan *plan;
    const Choice *choice;
    Added *added;
    Block *out;
} Writer;

static Stmt *put(Writer *w, StmtKind kind)
{
    Stmt *stmt = stmt_new(w->plan->arena, kind);

    vec_push(w->plan->arena, w->out, stmt);
    return stmt;
}

static Expr *name_expr(Writer *w, const char *name)
{
    return expr_name(w->plan->arena, name);
}

static Stmt *put_compute(Writer *w, OpId op, const char *arg)
{
    Stmt *stmt = put(w, STMT_COMPUTE);

    stmt->op = op;
    stmt->op_name = op_info(op)->name;
    stmt->op_known = true;
    stmt->args = arena_array(w->plan->arena, Expr *, 4);
    stmt->args[stmt->n_args++] = name_expr(w, arg);
    return stmt;
}

/* ---- bounds ------------------------------------------------------------------------ */

static bool stmt_mentions(const Stmt *s, const char *name)
{
    if ((s->name && strcmp(s->name, name) == 0) || (s->as && strcmp(s->as, name) == 0))
        return true;
    for (int i = 0; i < s->n_args; i++)
        if (expr_mentions(s->args[i], name))
            return true;
    for (int i = 0; i < s->n_with; i++)
        if (expr_mentions(s->with[i], name))
            return true;
    for (int i = 0; i < s->body.len; i++)
        if (stmt_mentions(s->body.data[i], name))
            return true;
    for (int i = 0; i < s->orelse.len; i++)
        if (stmt_mentions(s->orelse.data[i], name))
            return true;
    return expr_mentions(s->dest, name);
}

static double mask_value(Writer *w, const Stmt *s)
{
    double value = -INFINITY;

    if (s->otherwise && !eval_float(&w->plan->env, s->otherwise, &value))
        return NAN;
    return value;
}

/* The statement written last that mentions a tile, if it masks the tile in place
 * with this value: a bound may join its condition. */
static Stmt *open_mask(Writer *w, const Tile *tile, double otherwise)
{
    for (int i = w->out->len - 1; i >= 0; i--) {
        Stmt *s = w->out->data[i];

        if (!stmt_mentions(s, tile->name))
            continue;
        bool in_place = s->kind == STMT_COMPUTE && s->op_known && s->op == OP_MASK && s->where && plan_result(s) &&
                        strcmp(plan_result(s), tile->name) == 0 && plan_operand(w->plan, s->args[0]) == tile;
        return in_place && mask_value(w, s) == otherwise ? s : NULL;
    }
    return NULL;
}

static Tile *duplicate(Writer *w, const Tile *tile, const char *suffix)
{
    Tile copy = *tile;

    copy.name = plan_fresh(w->plan, arena_printf(w->plan->arena, "%s%s", tile->name, suffix));
    copy.shared = copy.loaded = copy.accumulated = copy.operand_form = false;
    copy.reg = copy.computed = true;
    copy.as_operand = NULL;
    vec_push(w->plan->arena, &w->plan->tiles, copy);
    w->added->copies++;
    return &w->plan->tiles.data[w->plan->tiles.len - 1];
}

/* Masks what lies beyond a side's end. Gives the tile that has the mask: another
 * one where the shared copy must stay as it was loaded. */
static const char *add_bound(Writer *w, const char *name, bool along_rows, double otherwise)
{
    Tile *tile = plan_tile(w->plan, name);
    const Extent *extent = along_rows ? tile->row : tile->col;
    Stmt *mask = open_mask(w, tile, otherwise);

    w->added->bounds++;
    if (mask) {
        Span span = mask->where->span;
        mask->where = expr_binary(w->plan->arena, EO_AND, mask->where,
                                  plan_bound(w->plan, tile, extent, along_rows));
        mask->where->span = span; /* what the sketch says */
    } else {
        mask = put_compute(w, OP_MASK, name);
        mask->where = plan_bound(w->plan, tile, extent, along_rows);
        if (otherwise == 0)
            mask->otherwise = expr_int(w->plan->arena, 0);
        else if (otherwise > 0)
            mask->otherwise = expr_float(w->plan->arena, otherwise);
        if (tile->shared && !tile->loaded) /* of two copies the one that was computed */
            mask->args[0] = expr_space(w->plan->arena, mask->args[0], SPACE_REGISTER);
        if (tile->shared && tile->loaded) {
            tile = duplicate(w, tile, "_live");
            if (dtype_round(tile->reg_dtype, otherwise) != otherwise)
                tile->reg_dtype = DT_F32; /* integers have no infinity */
            mask->result = RESULT_GET;
            mask->dest = name_expr(w, tile->name);
        } else if (tile->loaded) {
            tile->reg_dtype = DT_F32;
        }
    }
    Pad pad = otherwise == 0 ? PAD_ZERO : otherwise < 0 ? PAD_LOWEST : PAD_ANY;
    if (along_rows)
        tile->pad_row = pad;
    else
        tile->pad_col = pad;
    return tile->name;
}

static bool ragged(Writer *w, const Extent *extent)
{
    return plan_ragged(w->choice, extent);
}

/* The name to reduce: the operand, with what lies beyond its end made neutral. */
static const char *neutral(Writer *w, const Tile *tile, OpId op, bool along_rows)
{
    Pad have = along_rows ? tile->pad_row : tile->pad_col;
    double identity = op == OP_SOFTMAX ? -INFINITY : op_identity(op);
    Pad want = identity == 0 ? PAD_ZERO : PAD_LOWEST;

    if (!ragged(w, along_rows ? tile->row : tile->col) || (have == want && identity <= 0))
        return tile->name;
    return add_bound(w, tile->name, along_rows, identity);
}

/* ---- operands of GEMMs ------------------------------------------------------------------- */

/* Whether statements from `at` on read a tile otherwise than as a GEMM's first
 * operand, before it is written anew. */
static bool read_plainly(const Block *block, int at, const char *name)
{
    for (int i = at; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool gemm = s->kind == STMT_COMPUTE && s->op_known && s->op == OP_GEMM;

        for (int k = gemm ? 1 : 0; k < s->n_args; k++)
            if (expr_mentions(s->args[k], name))
                return true;
        if (s->kind == STMT_COPY && s->space == SPACE_REGISTER && strcmp(s->name, name) == 0)
            return true;
        if (read_plainly(&s->body, 0, name) || read_plainly(&s->orelse, 0, name))
            return true;
        const char *result = s->kind == STMT_COMPUTE ? plan_result(s) : NULL;
        if (result && strcmp(result, name) == 0)
            return s->result == RESULT_ACCUMULATE;
    }
    return false;
}

static bool is_register_operand(const Tile *tile, const Expr *e)
{
    while (e->kind == EXPR_TRANSPOSE)
        e = e->a;
    return tile && tile->reg && !(e->kind == EXPR_SPACE && e->space == SPACE_SHARED) &&
           !(tile->shared && !tile->computed && !(tile->loaded && tile->first_operand));
}

static void put_reshape(Writer *w, const char *name)
{
    static const char *const from[] = {"MMA_C", "MMA_M", "MMA_N"}, *const to[] = {"MMA_A", "MMA_M", "MMA_N_new"};
    Stmt *reshape = put(w, STMT_RESHAPE);

    reshape->name = name;
    reshape->has_shape = true;
    reshape->shape = arena_array(w->plan->arena, Expr *, 3);
    reshape->to_shape = arena_array(w->plan->arena, Expr *, 3);
    for (int i = 0; i < 3; i++) {
        reshape->shape[i] = name_expr(w, from[i]);
        reshape->to_shape[i] = name_expr(w, to[i]);
    }
    reshape->n_shape = reshape->n_to_shape = 3;
    plan_tile(w->plan, name)->operand_form = true;
    w->added->reshapes++;
}

static const char *put_cast(Writer *w, const char *name, DType dtype)
{
    Stmt *cast = put_compute(w, OP_CAST, name);
    Tile *copy = duplicate(w, plan_tile(w->plan, name), "_op");

    if (plan_tile(w->plan, name)->shared) /* which may hold what it was before */
        cast->args[0] = expr_space(w->plan->arena, cast->args[0], SPACE_REGISTER);
    cast->args[cast->n_args++] = name_expr(w, dtype_name(dtype));
    cast->has_dtype = true;
    cast->dtype = dtype;
    cast->result = RESULT_GET;
    cast->dest = name_expr(w, copy->name);
    copy->reg_dtype = dtype;
    plan_tile(w->plan, name)->as_operand = copy->name;
    return copy->name;
}

/* Makes a computed tile an operand: rounded to the tensor cores' type, and where
 * a GEMM made it, in the operand's form; under its own name or, where it is still
 * wanted as it is (keep), under another. What no GEMM made lies in any form. */
static void make_operand(Writer *w, const char *name, DType dtype, bool keep)
{
    const Tile *tile = plan_tile(w->plan, name);
    bool product = tile->product;

    if (keep || (tile->reg_dtype != dtype && (!product || !dtype_is_float(tile->reg_dtype))))
        name = put_cast(w, name, dtype);
    if (product)
        put_reshape(w, name);
}

/* The operand in shared memory, where warps that share its rows find all of it: through.c. */
static Expr *pass_through(Writer *w, const char *name, DType dtype)
{
    const char *there = plan_tile(w->plan, name)->as_operand;

    if (!there) {
        there = put_cast(w, name, dtype);
        Stmt *copy = put(w, STMT_COPY);
        Tile *tile = plan_tile(w->plan, there);
        tile->shared = true;
        tile->shared_dtype = dtype;
        copy->name = there;
        copy->space = SPACE_REGISTER;
        copy->to_space = SPACE_SHARED;
    }
    return expr_space(w->plan->arena, name_expr(w, there), SPACE_SHARED);
}

/* What the first operand is rounded to: the second one's type; where that has 8 bits
 * and the first one was cast to 8 bits, it stays as it is. */
static DType operand_dtype(Writer *w, const Stmt *gemm)
{
    const Tile *a = plan_operand(w->plan, gemm->args[0]), *b = plan_operand(w->plan, gemm->args[1]);

    if (b && b->shared && dtype_bytes(b->shared_dtype) == 1 && a && a->reg && dtype_bytes(a->reg_dtype) == 1 &&
        dtype_is_float(a->reg_dtype))
        return a->reg_dtype;
    return b && (b->shared || b->part_of) && dtype_is_narrow(b->shared_dtype) ? b->shared_dtype : w->plan->options->dtype;
}

static bool written_in(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const char *result = s->kind == STMT_COMPUTE ? plan_result(s) : NULL;

        if ((result && strcmp(result, name) == 0) ||
            (s->kind == STMT_COPY && s->to_space == SPACE_REGISTER && strcmp(copy_dest(s), name) == 0) ||
            written_in(&s->body, name) || written_in(&s->orelse, name))
            return true;
    }
    return false;
}

/* Operands that a loop does not write are given their form once, before it. */
static void hoist_operands(Writer *w, const Block *loop, const Block *body, const Block *outer, int at)
{
    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];

        if (s->kind == STMT_FOR || s->kind == STMT_IF) {
            hoist_operands(w, loop, &s->body, outer, at);
            hoist_operands(w, loop, &s->orelse, outer, at);
        }
        if (s->kind != STMT_COMPUTE || !s->op_known || s->op != OP_GEMM || s->n_args != 2)
            continue;
        const Tile *a = plan_operand(w->plan, s->args[0]);
        if (!is_register_operand(a, s->args[0]) || a->operand_form || a->as_operand || written_in(loop, a->name) ||
            plan_passes_through(w->choice, a))
            continue;
        bool ta = plan_transposed(s->args[0]), keep = read_plainly(loop, 0, a->name) || read_plainly(outer, at + 1, a->name);
        Pad pad = ta ? a->pad_row : a->pad_col; /* beside the zeros of the second operand */
        if (ragged(w, ta ? a->row : a->col) && !plan_is_number(pad))
            add_bound(w, a->name, ta, 0);
        make_operand(w, a->name, operand_dtype(w, s), keep);
    }
}

/* ---- statements --------------------------------------------------------------------------- */

/* A new value: an accumulator fragment when a GEMM made it, or an operand of it. */
static void renew(Tile *tile, bool product)
{
    tile->product = product;
    tile->operand_form = false;
    tile->as_operand = NULL;
}

static bool is_matrix(const Tile *tile)
{
    return tile->row->kind >= EXT_ROWS && tile->col->kind >= EXT_ROWS;
}

static bool makes_product(Writer *w, const Stmt *s)
{
    if (op_info(s->op)->class == OPC_GEMM)
        return true;
    for (int i = 0; i < s->n_args; i++) {
        const Tile *tile = plan_operand(w->plan, s->args[i]);

        if (tile && tile->product && is_matrix(tile))
            return true;
    }
    return false;
}

static void clean_side(Writer *w, const char *name, bool along_rows)
{
    const Tile *tile = plan_tile(w->plan, name);
    Pad pad = along_rows ? tile->pad_row : tile->pad_col;

    if (ragged(w, along_rows ? tile->row : tile->col) && pad != PAD_ZERO)
        add_bound(w, name, along_rows, 0);
}

static bool is_zero(const Expr *e)
{
    return (e->kind == EXPR_INT && e->i == 0) || (e->kind == EXPR_FLOAT && e->f == 0);
}

static void write_copy(Writer *w, const Stmt *s)
{
    Tile *tile;

    if (s->space == SPACE_REGISTER && s->to_space == SPACE_SHARED) {
        clean_side(w, s->name, true);
        clean_side(w, s->name, false);
    }
    Stmt *copy = put(w, STMT_COPY);
    copy->name = s->name;
    copy->as = s->as;
    copy->space = s->space;
    copy->to_space = s->to_space;
    copy->result = s->result;
    copy->span = s->span;
    copy->comment = s->comment;
    tile = plan_tile(w->plan, copy_tile(s));
    copy->where = plan_positions(w->plan, tile, s->where);
    copy->otherwise = plan_plain(w->plan, s->otherwise);
    if (s->as && s->space != SPACE_GLOBAL) {
        const Tile *from = plan_tile(w->plan, s->name);
        tile->pad_row = from->pad_row;
        tile->pad_col = from->pad_col;
    }
    if (s->space == SPACE_GLOBAL || s->to_space == SPACE_GLOBAL)
        plan_place(w->plan, w->choice, s, plan_copied(w->plan, s), tile, copy);
    if (s->space == SPACE_GLOBAL)
        tile->pad_row = tile->pad_col = s->otherwise && !is_zero(s->otherwise) ? PAD_ANY : PAD_ZERO;
    if (s->to_space == SPACE_REGISTER)
        renew(tile, false);
}

static Stmt *copy_compute(Writer *w, const Stmt *s)
{
    Stmt *copy = arena_new_of(w->plan->arena, Stmt);

    *copy = *s;
    copy->gap = false;
    copy->args = arena_array(w->plan->arena, Expr *, s->n_args + 1);
    for (int i = 0; i < s->n_args; i++)
        copy->args[i] = plan_plain(w->plan, s->args[i]);
    return copy;
}

/* The operand, with what is beyond its ends: of a part of a tile that is as of the whole. */
static Tile *gemm_operand(Writer *w, const Expr *e)
{
    Tile *tile = plan_operand(w->plan, e);
    const Tile *whole = tile->part_of ? plan_tile(w->plan, tile->part_of) : tile;

    tile->pad_row = whole->pad_row;
    tile->pad_col = whole->pad_col;
    return tile;
}

static void write_gemm(Writer *w, const Stmt *s, Stmt *copy, const Block *block, int at)
{
    Tile *a = gemm_operand(w, s->args[0]);
    const Tile *b = gemm_operand(w, s->args[1]);
    bool ta = plan_transposed(s->args[0]), tb = plan_transposed(s->args[1]);
    const Extent *k = ta ? a->row : a->col;
    Pad pad_a = ta ? a->pad_row : a->pad_col, pad_b = tb ? b->pad_col : b->pad_row;
    bool zero = (pad_a == PAD_ZERO && pad_b != PAD_ANY) || (pad_b == PAD_ZERO && pad_a != PAD_ANY);

    if (is_register_operand(a, s->args[0])) {
        const char *name = a->name;

        if (ragged(w, k) && !(zero && pad_a != PAD_LOWEST) && !a->operand_form && !a->as_operand)
            name = add_bound(w, name, ta, 0);
        a = plan_tile(w->plan, name);
        if (plan_passes_through(w->choice, a)) {
            Expr *through = pass_through(w, name, operand_dtype(w, s));
            copy->args[0] = ta ? expr_transpose(w->plan->arena, through) : through;
            return;
        }
        if (!a->operand_form && !a->as_operand)
            make_operand(w, name, operand_dtype(w, s), read_plainly(block, at + 1, name));
        a = plan_tile(w->plan, name);
        if (a->as_operand || name != plan_operand(w->plan, s->args[0])->name)
            copy->args[0] = name_expr(w, a->as_operand ? a->as_operand : name);
    }
}

/* The mean of a row that a tile holds whole, and wider: not of so many elements as the tile has. */
static bool is_mean_of_whole(Writer *w, const Stmt *s, const Tile *tile)
{
    return tile->col->kind != EXT_LOOP && tile->col->dim && ragged(w, tile->col) && s->dest && s->result != RESULT_ACCUMULATE;
}

/* The operand of a reduction, or of a softmax, after what lies beyond its end. */
static void write_reduced(Writer *w, const Stmt *s, Stmt *copy)
{
    OpClass class = op_info(s->op)->class;
    const Tile *tile = plan_operand(w->plan, s->args[0]);

    if (!tile || s->args[0]->kind != EXPR_NAME)
        return;
    if (s->op == OP_ROW_MEAN && is_mean_of_whole(w, s, tile)) { /* and divided behind it */
        copy->op = OP_ROW_SUM;
        copy->op_name = op_info(OP_ROW_SUM)->name;
    } else if (s->op == OP_ROW_MEAN && (tile->col->kind == EXT_LOOP || ragged(w, tile->col))) {
        Diag *diag = plan_fail(w->plan, TW0608, s->span, "%s holds a part of each row", tile->name);
        diag_note(w->plan->diags, diag, "sum with RowSum, divide by %s after the loop",
                  tile->col->dim_name ? tile->col->dim_name : "the length");
        return;
    }
    const char *name = neutral(w, tile, copy->op, class == OPC_COL_REDUCE);
    if (strcmp(name, s->args[0]->name) != 0)
        copy->args[0] = name_expr(w, name);
}

static void write_compute(Writer *w, const Stmt *s, const Block *block, int at)
{
    Stmt *copy = copy_compute(w, s);
    OpClass class = op_info(s->op)->class;
    const char *name = plan_result(s);

    if (class == OPC_GEMM)
        write_gemm(w, s, copy, block, at);
    if (class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE || class == OPC_SOFTMAX)
        write_reduced(w, s, copy);
    if (class == OPC_MASK)
        copy->where = plan_positions(w->plan, plan_operand(w->plan, s->args[0]), s->where);
    else
        copy->where = plan_plain(w->plan, s->where);
    if (s->op == OP_WHERE && s->n_args == 3 && (s->args[0]->kind == EXPR_BINARY || s->args[0]->kind == EXPR_UNARY))
        copy->args[0] = plan_positions(w->plan, plan_tile(w->plan, name), s->args[0]);
    if (class == OPC_DEFINE) {
        const Tile *tile = plan_tile(w->plan, name);

        copy->value = plan_defined(w->plan, tile, s);
        copy->shape = arena_array(w->plan->arena, Expr *, 2);
        copy->shape[0] = plan_shape(w->plan, w->choice, tile->row);
        copy->shape[1] = plan_shape(w->plan, w->choice, tile->col);
        copy->n_shape = 2;
    } else {
        copy->has_shape = false;
        copy->n_shape = 0;
    }
    PadSide pads = plan_pads(w->plan, copy);
    Tile *tile = plan_tile(w->plan, name);
    tile->pad_row = pads.row;
    tile->pad_col = pads.col;
    renew(tile, makes_product(w, copy));
    vec_push(w->plan->arena, w->out, copy);
    if (s->op_known && s->op == OP_ROW_MEAN && copy->op == OP_ROW_SUM) {
        Stmt *divide = put_compute(w, OP_DIVIDE, name);
        divide->span = s->span;
        divide->args[divide->n_args++] = expr_copy(w->plan->arena, plan_operand(w->plan, s->args[0])->col->dim);
        divide->result = RESULT_GET_NEW;
        divide->dest = name_expr(w, name);
    }
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static void write_block(Writer *w, const Block *block);

static Expr *tiles_of(Writer *w, const Extent *extent)
{
    if (extent->kind == EXT_LEAD || extent->kind == EXT_ENTRY)
        return expr_copy(w->plan->arena, extent->dim);
    Expr **args = arena_array(w->plan->arena, Expr *, 1);

    args[0] = expr_binary(w->plan->arena, EO_DIV, expr_copy(w->plan->arena, extent->dim),
                          name_expr(w, extent->tile));
    return expr_call(w->plan->arena, "ceil", args, 1);
}

/* The turns of one part: `s * ceil(kv_len / (BN * splits))` to the next part's
 * first, or to the end. */
static void cut_loop(Writer *w, Stmt *loop, const Extent *extent, const Extent *parts)
{
    Arena *arena = w->plan->arena;
    Expr *end = loop->hi, **each = arena_array(arena, Expr *, 1), **both = arena_array(arena, Expr *, 2);
    Expr *step = extent->kind == EXT_ENTRY ? expr_copy(arena, parts->dim)
                                           : expr_binary(arena, EO_MUL, name_expr(w, extent->tile),
                                                         expr_copy(arena, parts->dim));

    each[0] = expr_binary(arena, EO_DIV, expr_copy(arena, extent->dim), step);
    Expr *turns = expr_call(arena, "ceil", each, 1);
    Expr *next = expr_binary(arena, EO_ADD, name_expr(w, parts->var), expr_int(arena, 1));
    loop->lo = expr_binary(arena, EO_MUL, name_expr(w, parts->var), turns);
    both[0] = expr_binary(arena, EO_MUL, next, expr_copy(arena, turns));
    both[1] = end;
    loop->hi = expr_call(arena, "min", both, 2);
}

/* What a loop writes is, where a turn begins, what the one before left: some number, though it began as 0. */
static void carry_pads(Writer *w, const Block *body)
{
    for (int i = 0; i < w->plan->tiles.len; i++) {
        Tile *tile = &w->plan->tiles.data[i];

        if (!written_in(body, tile->name))
            continue;
        tile->pad_row = plan_is_number(tile->pad_row) ? PAD_FINITE : tile->pad_row;
        tile->pad_col = plan_is_number(tile->pad_col) ? PAD_FINITE : tile->pad_col;
    }
}

static void write_loop(Writer *w, const Stmt *s, const Block *outer, int at)
{
    Extent *extent = plan_loop(w->plan, s);

    if (!extent)
        return;
    hoist_operands(w, &s->body, &s->body, outer, at);
    Stmt *loop = put(w, STMT_FOR);
    loop->name = s->name;
    loop->span = s->span;
    loop->lo = expr_int(w->plan->arena, 0);
    loop->hi = tiles_of(w, extent);
    if (s->by)
        cut_loop(w, loop, extent, plan_parts(w->plan, s));
    Block *out = w->out;
    w->out = &loop->body;
    vec_push(w->plan->arena, &w->plan->scope, extent);
    carry_pads(w, &s->body);
    write_block(w, &s->body);
    w->plan->scope.len--;
    w->out = out;
}

static bool masks_only(const Block *block)
{
    for (int i = 0; i < block->len; i++)
        if (block->data[i]->kind != STMT_COMPUTE || !block->data[i]->op_known || block->data[i]->op != OP_MASK)
            return false;
    return true;
}

static void unknown_pads(Writer *w)
{
    for (int i = 0; i < w->plan->tiles.len; i++)
        w->plan->tiles.data[i].pad_row = w->plan->tiles.data[i].pad_col = PAD_ANY;
}

/* A condition in words guards nothing but masks: which tiles need them is found
 * out again from the masks themselves. */
static void write_if(Writer *w, const Stmt *s)
{
    if (s->where && s->where->kind == EXPR_WORDS) {
        if (masks_only(&s->body) && s->orelse.len == 0) {
            write_block(w, &s->body);
            return;
        }
        plan_fail(w->plan, TW0609, s->where->span, "a condition in words guards more than masks");
        return;
    }
    Stmt *copy = put(w, STMT_IF);
    Block *out = w->out;
    copy->span = s->span;
    copy->where = plan_plain(w->plan, s->where);
    w->out = &copy->body;
    write_block(w, &s->body);
    w->out = &copy->orelse;
    write_block(w, &s->orelse);
    w->out = out;
    unknown_pads(w);
}

static void write_block(Writer *w, const Block *block)
{
    for (int i = 0; i < block->len && !w->plan->failed; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_COPY)
            write_copy(w, s);
        else if (s->kind == STMT_COMPUTE)
            write_compute(w, s, block, i);
        else if (s->kind == STMT_FOR)
            write_loop(w, s, block, i);
        else if (s->kind == STMT_IF)
            write_if(w, s);
        else if (s->kind == STMT_RESHAPE && plan_tile(w->plan, s->name)) {
            vec_push(w->plan->arena, w->out, (Stmt *)s);
            plan_tile(w->plan, s->name)->operand_form = true;
        }
    }
}

/* ---- header ---------------------------------------------------------------------------------------- */

static void write_assign(Writer *w, const char *name, double value)
{
    Stmt *stmt = put(w, STMT_ASSIGN);

    stmt->name = name;
    stmt->value = fabs(value) < 1e15 && value == (double)(int64_t)value
                      ? expr_int(w->plan->arena, (int64_t)value)
                      : expr_float(w->plan->arena, value);
}

/* A Let that a grid or a loop counts along as a dimension keeps its name. */
static bool is_extent(const Plan *plan, const char *name)
{
    for (int i = 0; i < plan->extents.len; i++)
        if (plan->extents.data[i]->dim_name && strcmp(plan->extents.data[i]->dim_name, name) == 0)
            return true;
    return false;
}

static Expr *dimension(Writer *w, Expr *dim)
{
    return dim->kind == EXPR_NAME && is_extent(w->plan, dim->name) ? dim : plan_plain(w->plan, dim);
}

static void write_tensors(Writer *w)
{
    for (int i = 0; i < w->plan->tensors.len; i++) {
        const PlanTensor *tensor = &w->plan->tensors.data[i];
        Stmt *stmt = put(w, tensor->stmt->kind);

        stmt->name = tensor->name;
        stmt->span = tensor->stmt->span;
        stmt->has_shape = stmt->has_dtype = true;
        stmt->dtype = tensor->dtype;
        stmt->n_shape = tensor->rank;
        stmt->shape = arena_array(w->plan->arena, Expr *, tensor->rank);
        for (int d = 0; d < tensor->rank; d++)
            stmt->shape[d] = dimension(w, tensor->stmt->shape[d]);
    }
}

static bool has_dimension(const PlanTensor *tensor, const char *name)
{
    for (int d = 0; d < tensor->rank; d++)
        if (expr_is_name(tensor->stmt->shape[d], name))
            return true;
    return false;
}

/* Another name of a dimension that a tensor has twice, (n, n2) with `n2 = n`: the code's reader
 * is to know it as such. */
static bool is_renamed(const Plan *plan, const Stmt *s)
{
    for (int i = 0; s->value && s->value->kind == EXPR_NAME && i < plan->tensors.len; i++)
        if (has_dimension(&plan->tensors.data[i], s->name) && has_dimension(&plan->tensors.data[i], s->value->name))
            return true;
    return false;
}

static void write_decl(Writer *w, const Stmt *s)
{
    const EvalName *known = eval_find(&w->plan->env, s->name);

    if ((s->kind == STMT_LET && !is_extent(w->plan, s->name)) || s->kind == STMT_INDEX || plan_is_tile_size(w->plan, s->name))
        return;
    if (known && known->has_number && !is_renamed(w->plan, s)) {
        write_assign(w, s->name, known->number);
        return;
    }
    Stmt *stmt = put(w, s->kind == STMT_LET ? STMT_ASSIGN : s->kind);
    stmt->name = s->name;
    stmt->span = s->span;
    stmt->value = s->value ? plan_plain(w->plan, s->value) : NULL;
}

static void write_grid(Writer *w)
{
    Stmt *grid = put(w, STMT_GRID);

    grid->coords = arena_array(w->plan->arena, Coord, w->plan->grid.len + 1);
    for (int i = 0; i < w->plan->grid.len; i++) {
        const Extent *extent = w->plan->grid.data[i];

        grid->coords[grid->n_coords++] =
            (Coord){.name = extent->var,
                    .value = tiles_of(w, extent)};
    }
    if (w->plan->range.typical)
        grid->coords[grid->n_coords++] = (Coord){.name = plan_fresh(w->plan, "in_range"), .value = plan_in_range(w->plan)};
}

static void write_header(Writer *w)
{
    Plan *plan = w->plan;

    write_tensors(w);
    for (int i = 0; i < plan->set.len; i++)
        write_assign(w, plan->set.data[i], eval_find(&plan->env, plan->set.data[i])->number);
    for (int i = 0; i < plan->decls.len; i++)
        write_decl(w, plan->decls.data[i]);
    for (int i = 0; i < plan->extents.len; i++)
        if (plan->extents.data[i]->tile)
            write_assign(w, plan->extents.data[i]->tile, (double)w->choice->size[i]);
    write_grid(w);
}

/* ---- allocations and the schedule ---------------------------------------------------------------------- */

static void write_allocate(Writer *w, const Tile *tile, Space space)
{
    Stmt *stmt = put(w, STMT_ALLOCATE);

    stmt->name = tile->name;
    stmt->space = space;
    stmt->has_shape = stmt->has_dtype = true;
    stmt->dtype = space == SPACE_SHARED ? tile->shared_dtype : tile->reg_dtype;
    stmt->shape = arena_array(w->plan->arena, Expr *, 2);
    stmt->shape[0] = plan_shape(w->plan, w->choice, tile->row);
    stmt->shape[1] = plan_shape(w->plan, w->choice, tile->col);
    stmt->n_shape = 2;
}

static void write_allocations(Writer *w)
{
    for (int i = 0; i < w->plan->tiles.len; i++)
        if (w->plan->tiles.data[i].shared)
            write_allocate(w, &w->plan->tiles.data[i], SPACE_SHARED);
    for (int i = 0; i < w->plan->tiles.len; i++)
        if (w->plan->tiles.data[i].reg)
            write_allocate(w, &w->plan->tiles.data[i], SPACE_REGISTER);
}

/* A choice of the passes that is made for them. */
static void write_forced(Writer *w, SchedId id)
{
    const Schedule *schedule = w->plan->options->schedule;
    const char *word;
    Stmt *stmt;

    if (!schedule || schedule->value[id] == SCHED_AUTO)
        return;
    stmt = put(w, STMT_ASSIGN);
    stmt->name = sched_info(id)->name;
    word = sched_value_info(schedule->value[id])->name;
    stmt->value = *word >= '0' && *word <= '9' ? expr_int(w->plan->arena, atoi(word)) : expr_name(w->plan->arena, word);
}

static void write_schedule(Writer *w)
{
    Stmt *schedule = put(w, STMT_SCHEDULE);
    Block *out = w->out;

    schedule->name = w->plan->options->target->name;
    w->out = &schedule->body;
    write_assign(w, "warps", w->choice->warps);
    if (w->choice->warps_n > 1)
        write_assign(w, "warps_n", w->choice->warps_n);
    if (!w->choice->in_rows)
        write_assign(w, "stages", w->choice->stages);
    if (!w->choice->in_rows || w->choice->blocks_aimed)
        write_assign(w, "blocks_per_sm", w->choice->in_rows ? w->choice->blocks_aimed : w->choice->blocks_per_sm);
    if (w->choice->kept)
        write_assign(w, "kept", w->choice->kept);
    if (w->choice->cluster > 1)
        write_assign(w, "cluster", w->choice->cluster);
    if (w->choice->spare)
        write_assign(w, "spare", w->choice->spare);
    for (int i = 0; i < SCHED_COUNT; i++)
        write_forced(w, (SchedId)i);
    w->out = out;
}

Unit *plan_write(Plan *plan, const Choice *choice, Added *added)
{
    Unit *unit = arena_new_of(plan->arena, Unit);
    Block body = {0};
    Writer w = {.plan = plan, .choice = choice, .added = added, .out = &body};

    *unit = (Unit){.kind = UNIT_KERNEL, .name = plan->kernel_name, .comment = plan->unit->comment};
    write_block(&w, &plan->unit->body);
    w.out = &unit->body;
    write_header(&w);
    write_allocations(&w);
    for (int i = 0; i < body.len; i++)
        vec_push(plan->arena, &unit->body, body.data[i]);
    write_schedule(&w);
    return unit;
}
