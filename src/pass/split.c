/* split.c: a block's rows are divided among warpgroups.
 *
 * The tensor cores of newer GPUs multiply 64 rows for a warpgroup. A kernel all of
 * whose register tiles have 64 n rows becomes one of 64 rows whose grid has one more
 * axis, of n instances `within` a block: what was at row r of the tile is at row
 * r - 64 w of instance w. To every pass that follows w is a coordinate of the grid
 * like others, so that each instance gets bounds of its own from its masks.
 *
 *   grid(m: ceil(len / 128))                 grid(w: 2 within, m: ceil(len / 128))
 *   %q = load Q[m * 128 : rows]    ->        %q = load Q[m * 128 + w * 64 : rows]
 *   %s = gemm %q, %k.T : fp32<128x128>       %s = gemm %q, %k.T : fp32<64x128>
 *
 * Whatever keeps rows apart may be divided so. What does not (column reductions,
 * results of products that are put into shared memory) leaves the kernel as it is. Of a shared tile that is a first operand or that
 * warps take into registers each instance has its own rows; of a first operand that is
 * transposed, its own columns. The kernel as it was stays beside it, for
 * tensors that bulk copies cannot take (TileKernel.plain).
 */
#include "pass/decide.h"
#include "pass/passes.h"
#include "pass/prepare.h"
#include "pass/rewrite.h"
#include "pass/stage.h"

enum { NARROWEST_SWIZZLE = 32 };

/* What a shared tile is: whose rows instances divide, a product's first operand or what warps read; a first operand that is
 * transposed, so that its columns are the product's rows; a second operand. */
enum { USED_BY_ROWS = 1, USED_BY_COLUMNS = 2, USED_WHOLE = 4 };

typedef struct Splitter {
    TileProgram *program;
    TileKernel *kernel;
    const Target *target;
    int rows;       /* of a block */
    uint8_t *uses;  /* by value id: of a shared tile, what it is used as */
    bool ragged;    /* bulk copies bring every tile slowly */
    bool prepares;  /* there are tiles that a warpgroup of its own prepares */
    bool shaped;    /* the warps stand as warpgroups do */
    bool amplifies; /* there are exponentials */
    bool products, ok;
} Splitter;

static bool in_registers(const TileType *t)
{
    return t->kind == TT_TILE && t->space == SPACE_REGISTER;
}

/* Only a copy of all its elements has columns that may be shared out. */
static void see_turned(Splitter *s, const TileValue *a)
{
    s->ok &= a->type.space == SPACE_SHARED && a->type.cols == s->rows && a->def && a->def->kind == TILE_LOAD && !a->def->where
             && a->def->row_dim >= 0 && !tile_by_rows(a->def);
    s->uses[a->id] |= USED_BY_COLUMNS;
}

static void see_product(Splitter *s, const TileOp *op)
{
    const TileType *a = &op->args[0]->type, *b = &op->args[1]->type, *r = &op->results[0]->type;
    int k = op->trans_a ? a->rows : a->cols, step = target_mma_k(s->target, b->dtype);
    bool bytes = dtype_bytes(b->dtype) == 1;
    s->products = true;
    s->ok &= b->space == SPACE_SHARED && dtype_is_narrow(b->dtype) && r->cols % 8 == 0 && k % step == 0;
    s->ok &= r->cols <= TARGET_GROUP_COLUMNS && !(bytes && (op->trans_a || !op->trans_b || s->amplifies));
    if (op->trans_a) see_turned(s, op->args[0]);
    else if (a->space == SPACE_SHARED) s->uses[op->args[0]->id] |= USED_BY_ROWS;
    s->uses[op->args[1]->id] |= USED_WHOLE;
}

/* A tile that a bulk copy brings: the tensor's innermost dimension along its columns. */
static bool is_bulk(const Splitter *s, const TileOp *op)
{
    TileType stage = op->results[0]->type;
    TileStrip strip;
    TileBox box;
    stage.layout = (Layout){.kind = LAY_PANELS, .panel = lay_panel_for(stage.cols, dtype_bytes(stage.dtype))};
    for (int d = 0; d < op->tensor->rank; d++)
        if (aff_uses_kind(op->coords[d], AFF_SCALAR)) return false;
    if (!tile_boxes_begin(op) || !tile_strips(s->program, op, stage.rows, &strip)) return false;
    stage.rows = strip.rows;
    return stage.layout.panel >= NARROWEST_SWIZZLE && tile_box(op->tensor, strip.dim, op->col_dim, &stage, &box);
}

static bool is_ragged(const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    return !tile_by_rows(op) && lay_is_ragged(aff_divisor(op->tensor->dims[op->tensor->rank - 1]), t->cols, dtype_bytes(t->dtype));
}

/* A tile that a warpgroup of its own can bring, 16 bytes a lane: whatever says where its rows lie. */
static bool can_lanes_bring(const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    for (int d = 0; d < op->tensor->rank; d++)
        if (aff_uses_kind(op->coords[d], AFF_SCALAR)) return false;
    return t->rows > 1 && t->cols > 1 && t->dtype == op->tensor->dtype && lay_panel_for(t->cols, dtype_bytes(t->dtype)) >= NARROWEST_SWIZZLE
           && tile_in_chunks(op) && !(op->where && aff_uses_kind(op->where, AFF_COL));
}

static bool lanes_bring(const Splitter *s, const TileOp *op)
{
    return can_lanes_bring(op) && !s->prepares && (s->ragged || !is_bulk(s, op));
}

/* Whether all tiles that come have such rows: where others come by bulk copies, one more warpgroup would take registers. */
static bool are_ragged(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (stage_is_load(op) && !(can_lanes_bring(op) && is_ragged(op))) return false;
        for (int k = 0; k < op->n_regions; k++)
            if (!are_ragged(op->regions[k])) return false;
    }
    return true;
}

/* An integer from data that each role can read for itself, before its loops. */
static bool is_told(const Splitter *s, const TileOp *op)
{
    const TileOp *source = op->args[0]->def;
    return source && source->n_args == 0 && tile_index_of(s->kernel->body, op) >= 0 && tile_index_of(s->kernel->body, source) >= 0;
}

/* A tile that warps take from where a bulk copy put it, each its own rows, as those of a first operand. */
static void see_move(Splitter *s, const TileOp *op)
{
    const TileValue *from = op->args[0];
    s->ok &= from->def && from->def->kind == TILE_LOAD && in_registers(&op->results[0]->type);
    s->uses[from->id] |= USED_BY_ROWS;
}

/* Tiles that a warpgroup of its own prepares: second operands of 16 bits, whose rows its warps share. */
static void see_prepared(Splitter *s, const TileOp *op)
{
    const TileBlock *region = op->regions[0];
    const TileType *tile = &op->results[0]->type;
    for (int i = 0; i < region->ops.len; i++) {
        const TileOp *part = region->ops.data[i];
        for (int k = 0; k < part->n_results; k++) {
            const TileType *t = &part->results[k]->type;
            s->ok &= (t->rows == tile->rows || t->rows == 1) && (t->cols == tile->cols || t->cols == 1);
        }
        if (stage_is_load(part)) s->ok &= is_bulk(s, part);
        if (stage_is_move(part)) s->ok &= dtype_bytes(part->results[0]->type.dtype) == 2;
    }
    s->ok &= tile->rows % TARGET_GROUP_ROWS == 0;
}

static void see_op(Splitter *s, const TileOp *op)
{
    switch (op->kind) {
    case TILE_GEMM: see_product(s, op); break;
    case TILE_LOAD:
        if (op->results[0]->type.space == SPACE_SHARED) s->ok &= is_bulk(s, op) || lanes_bring(s, op);
        break;
    case TILE_REDUCE: s->ok &= op->axis == 1; break;
    case TILE_IF:
        for (int k = 0; k < op->n_regions; k++) s->ok &= op->regions[k]->ops.len > 0;
        break;
    case TILE_STORE: case TILE_FILL: case TILE_INDEX: case TILE_GATHER: case TILE_ELEMENT: case TILE_MASK:
    case TILE_CAST: case TILE_RESHAPE: case TILE_SOFTMAX: case TILE_FOR: case TILE_YIELD:
        break;
    case TILE_SCALAR: s->ok &= is_told(s, op); break;
    case TILE_MOVE: see_move(s, op); break;
    case TILE_PREPARE: see_prepared(s, op); break;
    case TILE_SLICE: case TILE_PATCH: case TILE_BUFFER: case TILE_VIEW: case TILE_PUT:
    case TILE_COPY_ASYNC: case TILE_COMMIT: case TILE_WAIT: case TILE_BARRIER: case TILE_ROLES: case TILE_RING:
    case TILE_ACQUIRE: case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE: case TILE_ISSUE: case TILE_FINISH:
    case TILE_REVISE: case TILE_TAKE_TURN: case TILE_GIVE_TURN: case TILE_OP_COUNT:
        s->ok = false;
        break;
    }
}

static void see_value(Splitter *s, const TileValue *v)
{
    if (in_registers(&v->type)) s->ok &= v->type.rows == 1 || v->type.rows == s->rows;
}

static void see_block(Splitter *s, const TileBlock *block)
{
    for (int i = 0; i < block->params.len; i++) see_value(s, block->params.data[i]);
    for (int i = 0; i < block->ops.len && s->ok; i++) {
        const TileOp *op = block->ops.data[i];
        see_op(s, op);
        for (int k = 0; k < op->n_results; k++) see_value(s, op->results[k]);
        for (int k = 0; op->kind != TILE_PREPARE && k < op->n_regions; k++) see_block(s, op->regions[k]);
    }
}

static bool is_one_use(int uses)
{
    return uses == USED_BY_ROWS || uses == USED_BY_COLUMNS || uses == USED_WHOLE;
}

/* A shared tile that some other operation reads, or that is more than one of these. */
static void see_shared(Splitter *s, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; op->kind == TILE_PREPARE && k < op->n_results; k++) s->ok &= s->uses[op->results[k]->id] == USED_WHOLE;
        for (int k = 0; op->kind != TILE_PREPARE && k < op->n_regions; k++) see_shared(s, op->regions[k]);
        for (int k = 0; k < op->n_args; k++) {
            const TileValue *v = op->args[k];
            bool read = op->kind == TILE_GEMM || op->kind == TILE_MOVE;
            if (v->type.space == SPACE_SHARED) s->ok &= read && is_one_use(s->uses[v->id]);
        }
    }
}

/* Warpgroups' products of 8-bit operands keep fewer bits than fp32 (add_apart), which exponentials of large ones show. */
static bool amplifies(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool element = op->kind == TILE_ELEMENT && op_is_exponential(op->op);
        if (element || op->kind == TILE_SOFTMAX) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (amplifies(op->regions[k])) return true;
    }
    return false;
}

/* ---- the division ------------------------------------------------------------------ */

static bool is_divided(const Splitter *s, const TileValue *v)
{
    return v->type.rows == s->rows && (in_registers(&v->type) || s->uses[v->id] == USED_BY_ROWS);
}

static void divide_value(const Splitter *s, TileValue *v)
{
    if (s->uses[v->id] == USED_BY_COLUMNS) v->type.cols = TARGET_GROUP_ROWS;
    else if (is_divided(s, v)) v->type.rows = TARGET_GROUP_ROWS;
}

static void divide_op(const Splitter *s, TileOp *op, const Aff *first)
{
    AffCtx *aff = s->program->aff;
    const TileValue *tile = op->n_results ? op->results[0] : op->n_args ? op->args[0] : NULL;
    if (tile && s->uses[tile->id] == USED_BY_COLUMNS) { /* its load: see_turned */
        op->coords[op->col_dim] = aff_add(aff, op->coords[op->col_dim], first);
        return;
    }
    if (!tile || !is_divided(s, tile)) return;
    const Aff *row = aff_add(aff, aff_of(aff, s->program->row), first);
    if (op->where) op->where = aff_subst(aff, op->where, s->program->row, row);
    if (op->kind == TILE_MASK) op->cond = aff_subst(aff, op->cond, s->program->row, row);
    if (op->kind == TILE_INDEX) op->index = aff_subst(aff, op->index, s->program->row, row);
    for (int d = 0; (op->kind == TILE_GATHER || tile_by_rows(op)) && d < op->tensor->rank; d++)
        op->coords[d] = aff_subst(aff, op->coords[d], s->program->row, row);
    if ((op->kind == TILE_LOAD || op->kind == TILE_STORE) && op->row_dim >= 0)
        op->coords[op->row_dim] = aff_add(aff, op->coords[op->row_dim], first);
}

/* Expressions first: what is divided is told by its rows. */
static void divide_expressions(const Splitter *s, TileBlock *block, const Aff *first)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind == TILE_PREPARE) continue;
        divide_op(s, op, first);
        for (int k = 0; k < op->n_regions; k++) divide_expressions(s, op->regions[k], first);
    }
}

static void divide_values(const Splitter *s, TileBlock *block)
{
    for (int i = 0; i < block->params.len; i++) divide_value(s, block->params.data[i]);
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind == TILE_PREPARE) continue;
        for (int k = 0; k < op->n_results; k++) divide_value(s, op->results[k]);
        for (int k = 0; k < op->n_regions; k++) divide_values(s, op->regions[k]);
    }
}

/* The kernel for any alignment does what it can of what is asked for. */
static TileKernel *plain_of(TileProgram *program, const TileKernel *kernel)
{
    TileKernel *plain = tile_kernel_clone(program, kernel);
    plain->is_plain = true;
    return plain;
}

static const char *reason_for_roles(const Splitter *s)
{
    if (s->ok) return "products of warpgroups take operands from where a tensor map's copies put them";
    if (!s->target->has_wgmma) return "the target's tensor cores take operands from a warp's registers";
    if (!tile_has(s->kernel->body, TILE_GEMM)) return "there is no product for warpgroups";
    if (!s->shaped) return "its warps do not stand as warpgroups do, four of 16 whole rows each";
    return "its tiles do not divide into the rows of warpgroups";
}

static void mark_lanes(const Splitter *s, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (stage_is_load(op)) op->lanes = lanes_bring(s, op);
        for (int k = 0; op->kind != TILE_PREPARE && k < op->n_regions; k++) mark_lanes(s, op->regions[k]);
    }
}

static void divide(const Splitter *s, int groups)
{
    AffCtx *aff = s->program->aff;
    TileAxis *instances = rw_first_axis(s->program, s->kernel, "w", groups);
    instances->within = true;
    const Aff *first = aff_scale(aff, aff_of(aff, instances->sym), TARGET_GROUP_ROWS);
    divide_expressions(s, s->kernel->body, first);
    divide_values(s, s->kernel->body);
}

/* ---- sums of 8-bit products ---------------------------------------------------------- */

/* Warpgroups' products of 8-bit operands keep fewer bits of a sum than fp32 has (DeepSeek-V3 technical report,
 * 3.3.2: about 14), so that what many turns add goes through arithmetic: each turn's product by itself, added
 * to the sum. */
static void add_apart(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) add_apart(program, kernel, op->regions[k]);
        if (op->kind != TILE_GEMM || op->n_args != 3 || dtype_bytes(op->args[1]->type.dtype) != 1) continue;
        Rewriter rw = {program, kernel, block, i, op->loc};
        TileOp *product = rw_insert(&rw, TILE_GEMM, 2, op->args, 1, &op->results[0]->type);
        product->trans_a = op->trans_a;
        product->trans_b = op->trans_b;
        product->results[0]->name = op->results[0]->name;
        TileValue *sum = rw_binary(&rw, OP_ADD, op->args[2], product->results[0]);
        tile_remove(block, rw.at);
        rw_stand_for(block, op->results[0], sum);
        i = rw.at - 1;
    }
}

/* Whether warps put what they compute into shared memory. */
static bool puts_tiles(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (stage_is_move(op)) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (puts_tiles(op->regions[k])) return true;
    }
    return false;
}

bool pass_split(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    int groups = kernel->warps / TARGET_GROUP_WARPS;
    uint64_t off = DECIDE(SCHED_ROLES_OFF), either = off | DECIDE(SCHED_ROLES_ON);
    Splitter s = {program, kernel, target, groups * TARGET_GROUP_ROWS, .ok = true};
    s.shaped = kernel->warps % TARGET_GROUP_WARPS == 0 && kernel->warps_n <= 1 && groups <= TARGET_GROUPS;
    s.ok = target->has_wgmma && s.shaped;
    TileKernel *before = s.ok && puts_tiles(kernel->body) ? plain_of(program, kernel) : NULL;
    TileKernel *prepared = before && (s.ok = prepare_tiles(program, kernel)) ? plain_of(program, kernel) : NULL;
    if (prepared) prepare_in_bulk(program, kernel);
    s.prepares = prepared != NULL;
    s.amplifies = amplifies(kernel->body);
    s.ragged = s.ok && are_ragged(kernel->body);
    s.uses = arena_array(program->arena, uint8_t, kernel->next_value);
    if (s.ok) see_block(&s, kernel->body);
    if (s.ok) see_shared(&s, kernel->body);
    s.ok &= s.products;
    SchedValue roles = pass_decide(kernel, SCHED_ROLES, s.ok ? SCHED_ROLES_ON : SCHED_ROLES_OFF, s.ok ? either : off, reason_for_roles(&s), diags);
    if (!s.ok || roles == SCHED_ROLES_OFF) {
        if (before) kernel->body = before->body;
        return true;
    }
    kernel->plain = prepared ? prepared : plain_of(program, kernel);
    kernel->specialized = 1;
    mark_lanes(&s, kernel->body);
    if (groups > 1) divide(&s, groups);
    add_apart(program, kernel, kernel->body);
    return true;
}
