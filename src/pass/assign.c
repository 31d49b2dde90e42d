/* assign.c: layouts.
 *
 * Shared tiles get swizzled panels. Register tiles get fragments of the tensor-
 * core instruction: the result of a GEMM is an accumulator fragment (MMA_C), a
 * GEMM's register operand an operand fragment (MMA_A); values that meet in an
 * elementwise operation, or that a loop carries round, must agree. So the
 * values fall into classes (union-find); each class is pinned by the GEMMs that
 * it touches, and a class pinned both ways is the paper's missing Reshape.
 *
 * A kernel without products has nothing to pin its tiles: they lie as memory does
 * (rows.c).
 *
 * A product of 8-bit operands whose second one is not transposed comes out in
 * fours (lay.h, quads; ptx/mma.c says why), and one whose second operand is
 * transposed takes a first one from registers in fours; what meets these follows,
 * row vectors too, until nothing changes. A Reshape turns pairs into fours, and
 * products whose second operands are transposed come in either.
 */
#include "pass/rows.h"

typedef enum Pin { PIN_NONE, PIN_C, PIN_A } Pin;

typedef struct Assigner {
    TileProgram *program;
    TileKernel *kernel;
    const Target *target;
    Diags *diags;
    int warps;    /* over a tile: of the block, or of an instance of a role */
    int *parent;  /* by value id */
    Pin *pin;     /* of a class's root */
    bool *quads;  /* the same; and of row vectors, each on its own */
    int *k;       /* of a class's root that is pinned to A: columns of an atom */
    bool in_rows; /* all register tiles lie as memory does (rows.c) */
    const bool *wide; /* by value id: a shared tile that rows alone meet (panels.c) */
    Layout rows;
    bool changed;
    bool failed;
} Assigner;

static void fail_reshape(Assigner *a, Span loc)
{
    if (a->failed) return;
    a->failed = true;
    Diag *d = diag_add(a->diags, TW0772, loc,
                       "a GEMM result meets a GEMM operand without a Reshape between them");
    diag_note(a->diags, d, "add 'Reshape X from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)' "
              "before the second GEMM");
}

static void pin(Assigner *a, const TileValue *v, Pin pin, Span loc)
{
    int root = tile_group_of(a->parent, v->id);
    if (a->pin[root] != PIN_NONE && a->pin[root] != pin) fail_reshape(a, loc);
    a->pin[root] = pin;
}

static bool is_matrix(const TileValue *v)
{
    return v->type.kind == TT_TILE && v->type.rows > 1 && v->type.cols > 1;
}

/* Column vectors and scalars look the same in both fragments. */
static void unify(Assigner *a, const TileValue *x, const TileValue *y, Span loc)
{
    if (!is_matrix(x) || !is_matrix(y)) return;
    if (x->type.space != SPACE_REGISTER || y->type.space != SPACE_REGISTER) return;
    int i = tile_group_of(a->parent, x->id), j = tile_group_of(a->parent, y->id);
    if (i == j) return;
    if (a->pin[i] != PIN_NONE && a->pin[j] != PIN_NONE && a->pin[i] != a->pin[j]) fail_reshape(a, loc);
    if (a->pin[j] == PIN_NONE) a->pin[j] = a->pin[i];
    a->parent[i] = j;
}

static void unify_region(Assigner *a, const TileOp *op, const TileBlock *region)
{
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    for (int k = 0; k < op->n_results && k < yield->n_args; k++)
        unify(a, op->results[k], yield->args[k], op->loc);
    for (int k = 0; op->kind == TILE_REVISE && k < op->n_results; k++)
        unify(a, op->results[k], op->args[k], op->loc);
    if (op->kind != TILE_FOR) return;
    for (int k = 0; k < op->n_results; k++) {
        unify(a, op->results[k], op->args[k], op->loc);
        unify(a, op->results[k], region->params.data[k], op->loc);
    }
}

static void constrain_gemm(Assigner *a, const TileOp *op)
{
    pin(a, op->results[0], PIN_C, op->loc);
    if (op->n_args == 3) unify(a, op->results[0], op->args[2], op->loc);
    if (op->args[0]->type.space == SPACE_REGISTER) {
        pin(a, op->args[0], PIN_A, op->loc);
        if (a->kernel->warps_n > 1) {
            diag_add(a->diags, TW0775, op->loc,
                     "a GEMM operand in registers needs whole rows in a warp, but warps_n = %d",
                     a->kernel->warps_n);
            a->failed = true;
        }
    }
    if (op->args[1]->type.space == SPACE_REGISTER) {
        diag_add(a->diags, TW0773, op->loc, "the second operand of a GEMM is in registers");
        a->failed = true;
    }
    if (op->trans_a && op->args[0]->type.space == SPACE_REGISTER) {
        diag_add(a->diags, TW0773, op->loc, "the first operand of a GEMM, transposed, is in registers");
        a->failed = true;
    }
}

static void constrain_reduce(Assigner *a, const TileOp *op)
{
    if (op->axis == 1 && op->n_args == 1 && a->kernel->warps_n > 1 && op->args[0]->type.cols > 1 && !a->failed) {
        diag_add(a->diags, TW0775, op->loc, "a row reduction needs whole rows in a warp, but warps_n = %d",
                 a->kernel->warps_n);
        a->failed = true;
    }
    if (op->axis == 0 && a->kernel->warps > a->kernel->warps_n && op->args[0]->type.rows > 1 && !a->failed) {
        diag_add(a->diags, TW0775, op->loc, "a column reduction needs whole columns in a warp, but %d of %d warps are "
                 "along the rows", a->kernel->warps / a->kernel->warps_n, a->kernel->warps);
        a->failed = true;
    }
    if (op->axis == 0) pin(a, op->args[0], PIN_C, op->loc);
    if (op->axis == 1 && is_matrix(op->results[0]) && dtype_is_narrow(op->results[0]->type.dtype))
        unify(a, op->args[0], op->results[0], op->loc); /* words are added to words */
}

static void constrain_block(Assigner *a, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) {
            constrain_block(a, op->regions[r]);
            if (op->kind != TILE_ROLES) unify_region(a, op, op->regions[r]);
        }
        switch (op->kind) {
        case TILE_ELEMENT: case TILE_MASK: case TILE_CAST: case TILE_SLICE: case TILE_PATCH: case TILE_FINISH:
        case TILE_GATHER:
            for (int k = 0; k < op->n_args; k++) unify(a, op->args[k], op->results[0], op->loc);
            break;
        case TILE_RESHAPE:
            pin(a, op->args[0], PIN_C, op->loc);
            pin(a, op->results[0], PIN_A, op->loc);
            break;
        case TILE_GEMM: case TILE_ISSUE: constrain_gemm(a, op); break;
        case TILE_REDUCE: constrain_reduce(a, op); break;
        case TILE_LOAD: case TILE_STORE: case TILE_MOVE: case TILE_FILL: case TILE_INDEX:
        case TILE_SOFTMAX: case TILE_FOR: case TILE_IF: case TILE_YIELD: case TILE_BUFFER:
        case TILE_VIEW: case TILE_PUT: case TILE_COPY_ASYNC: case TILE_COMMIT: case TILE_WAIT:
        case TILE_BARRIER: case TILE_ROLES: case TILE_ACQUIRE: case TILE_FILLED: case TILE_AWAIT:
        case TILE_RELEASE: case TILE_SCALAR: case TILE_RING: case TILE_REVISE: case TILE_PREPARE: case TILE_TAKE_TURN: case TILE_GIVE_TURN:
        case TILE_OP_COUNT:
            break;
        }
    }
}

/* ---- rounded for a product ----------------------------------------------------------- */

static bool only_multiplied(Assigner *a, const TileValue *v)
{
    const Uses uses = rw_uses(a->program->arena, a->kernel->body, v);
    for (int i = 0; i < uses.len; i++)
        if ((uses.data[i]->kind != TILE_GEMM && uses.data[i]->kind != TILE_ISSUE) || uses.data[i]->args[0] != v) return false;
    return uses.len > 0;
}

/* Elements of memory and places, computed with; what a product gave, or a loop carries, is not. */
static bool made_of_loads(const TileValue *v, int depth)
{
    if (!is_matrix(v)) return true;
    if (!v->def || depth == 0) return false;
    TileOpKind kind = v->def->kind;
    if (kind == TILE_LOAD || (kind == TILE_GATHER && v->def->n_args == 0) || kind == TILE_INDEX || kind == TILE_FILL || kind == TILE_MOVE) return true;
    if (kind != TILE_ELEMENT && kind != TILE_MASK && kind != TILE_CAST && kind != TILE_GATHER) return false;
    for (int i = 0; i < v->def->n_args; i++)
        if (!made_of_loads(v->def->args[i], depth - 1)) return false;
    return true;
}

/* What is loaded, computed with and rounded for products alone may as well be reshaped on its
 * way: then what it is made of meets their results, as a residual does that is added behind. A
 * result of a product is reshaped by the program. */
static void reshape_operands(Assigner *a, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) reshape_operands(a, op->regions[r]);
        if (op->kind == TILE_CAST && is_matrix(op->results[0]) && dtype_is_narrow(op->results[0]->type.dtype) &&
            op->args[0]->type.space == SPACE_REGISTER && made_of_loads(op->args[0], 64) && only_multiplied(a, op->results[0]))
            op->kind = TILE_RESHAPE;
    }
}

static void start_over(Assigner *a)
{
    int n = a->kernel->next_value;
    tile_groups(a->parent, n);
    memset(a->pin, 0, (size_t)n * sizeof *a->pin);
    a->failed = false;
}

static void constrain(Assigner *a)
{
    Diags *diags = a->diags;
    start_over(a);
    a->diags = diags_new(a->program->arena, diags->source);
    constrain_block(a, a->kernel->body);
    if (a->failed) reshape_operands(a, a->kernel->body);
    a->diags = diags;
    if (!a->failed) return;
    start_over(a);
    constrain_block(a, a->kernel->body);
}

/* ---- pairs or fours ------------------------------------------------------------------ */

static bool is_row_vector(const TileValue *v)
{
    return v->type.kind == TT_TILE && v->type.space == SPACE_REGISTER && v->type.rows == 1 && v->type.cols > 1;
}

static bool has_quads(Assigner *a, const TileValue *v)
{
    return (is_matrix(v) || is_row_vector(v)) && a->quads[tile_group_of(a->parent, v->id)];
}

static void set_quads(Assigner *a, const TileValue *v)
{
    int root = tile_group_of(a->parent, v->id);
    if (!(is_matrix(v) || is_row_vector(v)) || a->quads[root]) return;
    a->quads[root] = true;
    a->changed = true;
}

/* Operands of as many columns as the result lie as it does, and it as they do. */
static void spread_elementwise(Assigner *a, const TileOp *op)
{
    const TileValue *r = op->results[0];
    bool quads = has_quads(a, r);
    for (int k = 0; k < op->n_args; k++)
        if (op->args[k]->type.cols == r->type.cols) quads |= has_quads(a, op->args[k]);
    if (!quads) return;
    set_quads(a, r);
    for (int k = 0; k < op->n_args; k++)
        if (op->args[k]->type.cols == r->type.cols && op->args[k]->type.space == SPACE_REGISTER) set_quads(a, op->args[k]);
}

static void spread_region(Assigner *a, const TileOp *op, const TileBlock *region)
{
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    for (int k = 0; k < op->n_results && k < yield->n_args; k++) {
        const TileValue *same[] = {op->results[k], yield->args[k], op->kind == TILE_FOR ? op->args[k] : op->results[k],
                                   op->kind == TILE_FOR ? region->params.data[k] : op->results[k]};
        bool quads = false;
        for (size_t i = 0; i < TW_COUNT(same); i++) quads |= has_quads(a, same[i]);
        for (size_t i = 0; quads && i < TW_COUNT(same); i++) set_quads(a, same[i]);
    }
}

static void spread_gemm(Assigner *a, const TileOp *op)
{
    DType type = op->args[1]->type.dtype;
    bool registers = op->args[0]->type.space == SPACE_REGISTER;
    if (dtype_bytes(type) == 1 && !op->trans_b) set_quads(a, op->results[0]);
    if (dtype_bytes(type) == 1 && op->trans_b && registers) set_quads(a, op->args[0]);
    if (registers) a->k[tile_group_of(a->parent, op->args[0]->id)] = target_mma_k(a->target, type);
}

static void spread_block(Assigner *a, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) {
            spread_block(a, op->regions[r]);
            if (op->kind != TILE_ROLES) spread_region(a, op, op->regions[r]);
        }
        if (op->kind == TILE_GEMM || op->kind == TILE_ISSUE) spread_gemm(a, op);
        if (op->kind == TILE_ELEMENT || op->kind == TILE_MASK || op->kind == TILE_CAST || op->kind == TILE_GATHER
            || op->kind == TILE_FINISH || (op->kind == TILE_REDUCE && op->axis == 0)) spread_elementwise(a, op);
        if (op->kind == TILE_RESHAPE && has_quads(a, op->args[0]) && dtype_bytes(op->results[0]->type.dtype) == 1)
            set_quads(a, op->results[0]);
        if (op->kind == TILE_RESHAPE)
            a->k[tile_group_of(a->parent, op->results[0]->id)] = target_mma_k(a->target, op->results[0]->type.dtype);
    }
}

/* A class in fours must not be the result of a product that can only come in pairs, or
 * be what a product of 16-bit operands reads. */
static void check_pairs(Assigner *a, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len && !a->failed; i++) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) check_pairs(a, op->regions[r]);
        if ((op->kind != TILE_GEMM && op->kind != TILE_ISSUE) || dtype_bytes(op->args[1]->type.dtype) == 1) continue;
        if (!(has_quads(a, op->results[0]) && !op->trans_b) && !has_quads(a, op->args[0])) continue;
        a->failed = true;
        diag_add(a->diags, TW0777, op->loc, "products of 8-bit and of 16-bit operands meet in one tile, neither's "
                 "second operand transposed");
    }
}

static void spread_quads(Assigner *a)
{
    do {
        a->changed = false;
        spread_block(a, a->kernel->body);
    } while (a->changed);
    check_pairs(a, a->kernel->body);
}

/* ---- giving layouts out ------------------------------------------------------------ */

static void give_shared(Assigner *a, TileValue *v, Span loc)
{
    TileType *t = &v->type;
    bool rows = a->in_rows || a->wide[v->id];
    int bytes = dtype_bytes(t->dtype), panel = rows ? lay_panel_in_rows(t->cols, bytes) : lay_panel_for(t->cols, bytes);
    t->layout = (Layout){.kind = LAY_PANELS, .panel = panel};
    if (panel > 0 || a->failed) return;
    Diag *d = diag_add(a->diags, TW0776, loc, "a shared tile row of %d %s elements is %d bytes",
                       t->cols, dtype_name(t->dtype), t->cols * dtype_bytes(t->dtype));
    diag_note(a->diags, d, "make it a multiple of 16 bytes");
    a->failed = true;
}

/* The most warps, fewer than there are, all along the rows, that the tile could be shared by; 0: none. */
static int fitting_warps(const Assigner *a, const TileValue *v)
{
    for (int warps = a->warps - 1; warps > 0; warps--) {
        Layout layout = v->type.layout;
        layout.warps_m = warps;
        layout.warps_n = 1;
        if (!lay_fragment_misfit(layout, v->type.rows, v->type.cols)) return warps;
    }
    return 0;
}

static void give_fragment(Assigner *a, TileValue *v, Span loc)
{
    if (v->type.layout.kind != LAY_NONE) return; /* on its way, or prepared: `stage` and `specialize` know how */
    if (a->in_rows) {
        v->type.layout = a->rows;
        return;
    }
    int warps_n = a->kernel->warps_n > 0 ? a->kernel->warps_n : 1;
    bool operand = is_matrix(v) && a->pin[tile_group_of(a->parent, v->id)] == PIN_A;
    v->type.layout = (Layout){
        .kind = operand ? LAY_MMA_A : LAY_MMA_C,
        .warps_m = a->warps / warps_n,
        .warps_n = warps_n,
        .quads = has_quads(a, v),
        .k = !operand ? 0 : a->k[tile_group_of(a->parent, v->id)] ? a->k[tile_group_of(a->parent, v->id)] : a->target->mma_k,
    };
    const char *misfit = lay_fragment_misfit(v->type.layout, v->type.rows, v->type.cols);
    if (!misfit || a->failed) return;
    Diag *d = diag_add(a->diags, TW0774, loc, "a register tile of %d x %d does not fit %d x %d warps",
                       v->type.rows, v->type.cols, v->type.layout.warps_m, warps_n);
    int fewer = fitting_warps(a, v), wider = fewer || v->type.cols == 1 ? 0 : rows_wider(a->kernel);
    if (wider)
        diag_note(a->diags, d, "with %d columns it would fit the lanes of a warp: what a tile has beyond its tensor reads as 0, and a Mask "
                  "leaves it out", wider);
    else
        diag_note(a->diags, d, "%s", misfit);
    if (fewer) diag_note(a->diags, d, "it fits %d warp%s: `warps = %d`", fewer, fewer == 1 ? "" : "s", fewer);
    a->failed = true;
}

static void give_value(Assigner *a, TileValue *v, Span loc)
{
    switch (v->type.kind) {
    case TT_BUFFER: give_shared(a, v, loc); break;
    case TT_TILE:
        if (v->type.space == SPACE_SHARED) give_shared(a, v, loc);
        else give_fragment(a, v, loc);
        break;
    case TT_TOKEN: break;
    }
}

static void give_block(Assigner *a, TileBlock *block)
{
    for (int i = 0; i < block->params.len; i++) give_value(a, block->params.data[i], (Span){0, 0});
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++) give_value(a, op->results[k], op->loc);
        for (int r = 0; r < op->n_regions; r++) give_block(a, op->regions[r]);
    }
}

bool pass_assign(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    Assigner a = {.program = program, .kernel = kernel, .target = target, .diags = diags, .warps = kernel->warps};
    for (int i = 0; i < kernel->body->ops.len; i++)
        if (kernel->body->ops.data[i]->kind == TILE_ROLES) a.warps = tile_role_warps(kernel->body->ops.data[i]);
    a.in_rows = rows_layout(kernel, &a.rows);
    rows_combine(program, kernel);
    int n = kernel->next_value; /* no more are made */
    a.parent = arena_array(program->arena, int, n);
    a.pin = arena_array(program->arena, Pin, n);
    a.quads = arena_array(program->arena, bool, n);
    a.k = arena_array(program->arena, int, n);
    constrain(&a);
    if (!a.failed) spread_quads(&a);
    if (!a.failed) unpinned_give(program, kernel);
    a.wide = panels_of_rows(program, kernel);
    if (!a.failed) give_block(&a, kernel->body);
    return !a.failed;
}
