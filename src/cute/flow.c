/* flow.c: operations in order, loops with the copies that run ahead of them, choices, and
 * who has which variable.
 */
#include "cute/emit.h"

/* ---- variables --------------------------------------------------------------------------- */

static bool same_type(const TileValue *a, const TileValue *b)
{
    return a->type.dtype == b->type.dtype && a->type.rows == b->type.rows && a->type.cols == b->type.cols &&
           a->type.space == SPACE_REGISTER && b->type.space == SPACE_REGISTER;
}

/* A variable keeps its meaning: what has a name takes over its namesake, what has none a
 * tile or what has none either. */
static bool same_meaning(const TileValue *a, const TileValue *result)
{
    if (result->name) return a->name && strcmp(a->name, result->name) == 0;
    return !a->name || cu_is_matrix(a);
}

/* An operand, or one of what is inlined in it, that nothing reads after this. */
static const TileValue *takes_over(const Cute *c, const TileBlock *block, const TileOp *op, int at, const TileValue *result)
{
    for (int k = 0; k < op->n_args; k++) {
        const TileValue *a = op->args[k];
        const CuValue *v = &c->values[a->id];
        if (v->inlined) {
            const TileValue *found = takes_over(c, block, v->def, at, result);
            if (found) return found;
        } else if (v->home == block && v->last == at && same_type(a, result) && same_meaning(a, result)) {
            return a;
        }
    }
    return NULL;
}

static const char *hint(const TileOp *op, const TileValue *v)
{
    if (v->name) return v->name;
    switch (op->kind) {
    case TILE_REDUCE: case TILE_ELEMENT: return "t";
    case TILE_FILL: return "number";
    case TILE_CAST: case TILE_RESHAPE: return "narrow";
    case TILE_LOAD: return op->tensor->name;
    case TILE_STORE: case TILE_MOVE: case TILE_INDEX: case TILE_GATHER: case TILE_MASK: case TILE_SLICE: case TILE_PATCH:
    case TILE_SCALAR: case TILE_GEMM: case TILE_SOFTMAX: case TILE_FOR: case TILE_IF: case TILE_REVISE: case TILE_PREPARE: case TILE_YIELD:
    case TILE_BUFFER: case TILE_VIEW: case TILE_PUT: case TILE_COPY_ASYNC: case TILE_COMMIT: case TILE_WAIT:
    case TILE_BARRIER: case TILE_ROLES: case TILE_RING: case TILE_ACQUIRE: case TILE_FILLED: case TILE_AWAIT:
    case TILE_RELEASE: case TILE_ISSUE: case TILE_FINISH: case TILE_TAKE_TURN: case TILE_GIVE_TURN: case TILE_OP_COUNT:
        break;
    }
    return "t";
}

static void new_variable(Cute *c, const TileValue *v, const char *wish)
{
    c->values[v->id].name = cu_name(c, wish);
    cu_declare(c, v);
}

/* The variable of an operation's one result, in registers. */
static void variable(Cute *c, const TileBlock *block, const TileOp *op, int at, bool may_take)
{
    const TileValue *v = op->results[0], *from = may_take ? takes_over(c, block, op, at, v) : NULL;
    if (from) c->values[v->id].name = c->values[from->id].name;
    else new_variable(c, v, hint(op, v));
}

/* ---- operations ----------------------------------------------------------------------------- */

static void reduce(Cute *c, const TileOp *op)
{
    const TileValue *v = op->results[0], *a = op->args[0];
    const char *to = c->values[v->id].name, *from = c->values[a->id].name, *parts = c->parts ? "parts" : "nullptr";
    const char *how = op->op == OP_ROW_MAX || op->op == OP_COL_MAX ? "Max" : op->op == OP_ROW_MIN ? "Min" : "Add";
    const char *place = cu_place_name(c, a);
    int n = op->axis == 1 ? a->type.cols : a->type.rows;
    if (n == 1) cu_assign(c, v, a);
    else if (cu_is_matrix(a))
        cu_line(c, "tw::reduce_%s<%s>(%s, %s, tw::%s{}, %s);", op->axis == 1 ? "rows" : "columns", place, from, to, how, parts);
    else cu_line(c, "%s = tw::reduce_%s<%s>(%s, tw::%s{}, %s);", to, op->axis == 1 ? "row" : "column", place, from, how, parts);
    if (op->op != OP_ROW_MEAN) return;
    if (cu_is_scalar(v)) cu_line(c, "%s *= 1.0f / %d;", to, n);
    else cu_line(c, "for (int y = 0; y < size(%s); ++y) %s(y) *= 1.0f / %d;", to, to, n);
}

static void convert(Cute *c, const TileOp *op)
{
    const TileValue *v = op->results[0], *a = op->args[0];
    const char *to = c->values[v->id].name, *from = c->values[a->id].name;
    bool boolean = v->type.dtype == DT_BOOL, cuts = !boolean && !dtype_is_float(v->type.dtype);
    if (!cu_is_scalar(v)) cu_line(c, "tw::%s(%s, %s);", boolean ? "nonzero" : "convert", from, to);
    else if (boolean) cu_line(c, "%s = float(%s) != 0.0f;", to, from);
    else cu_line(c, cuts ? "%s = tw::cut<%s>(float(%s));" : "%s = %s(%s);", to, cu_dtype(v->type.dtype), from);
}

/* A tile's part, in rows and columns of a thread. */
static void part(Cute *c, const TileOp *op)
{
    const CuPlace *p = cu_place_of(c, op->results[0]);
    int y = op->row0 / p->unit_m * p->each_m, x = op->col0 / p->unit_n * p->each_n;
    const char *to = c->values[op->results[0]->id].name, *from = c->values[op->args[0]->id].name;
    if (op->kind == TILE_SLICE) {
        cu_line(c, "tw::slice(%s, %d, %d, %s);", from, y, x, to);
        return;
    }
    cu_assign(c, op->results[0], op->args[0]);
    cu_line(c, "tw::patch(%s, %d, %d, %s);", to, y, x, c->values[op->args[1]->id].name);
}

static const char *gemm_operand(Cute *c, const TileValue *v, bool transposed)
{
    return arena_printf(c->arena, "%s%s", cu_shared(c, v), transposed ? ".transposed()" : "");
}

static void gemm(Cute *c, const TileOp *op)
{
    const TileValue *v = op->results[0], *a = op->args[0];
    const char *to = c->values[v->id].name, *b = gemm_operand(c, op->args[1], op->trans_b);
    if (op->n_args == 3) cu_assign(c, v, op->args[2]);
    else cu_line(c, "clear(%s);", to);
    const char *how = c->place.warpgroups ? "wgmma" : c->place.quads ? "gemm_quads" : "gemm";
    if (a->type.space == SPACE_REGISTER) cu_line(c, "tw::%s_from_registers<Place>(%s, %s, %s);", how, c->values[a->id].name, b, to);
    else cu_line(c, "tw::%s<Place>(%s, %s, %s);", how, gemm_operand(c, a, op->trans_a), b, to);
}

static void scalar(Cute *c, const TileOp *op)
{
    const TileValue *a = op->args[0];
    const char *from = a->type.space == SPACE_SHARED ? arena_printf(c->arena, "%s(0, 0)", cu_shared(c, a)) : c->values[a->id].name;
    cu_line(c, "int %s = int(%s);", cu_sym(c, op->var), from);
}

static void await_landings(Cute *c)
{
    for (int i = 0; i < c->landing.len; i++) cu_line(c, "if constexpr (Wide) %s.wait(0);", c->landing.data[i]);
    c->landing.len = 0;
}

/* Copies that nothing has waited for are awaited before the first that may read them. */
static void await_started(Cute *c, const TileOp *op)
{
    bool reads = op->n_regions > 0;
    for (int k = 0; k < op->n_args; k++) reads |= op->args[k]->type.space == SPACE_SHARED;
    for (int k = 0; k < op->n_args && !reads; k++) {
        const CuValue *v = &c->values[op->args[k]->id];
        for (int i = 0; v->inlined && i < v->def->n_args; i++) reads |= v->def->args[i]->type.space == SPACE_SHARED;
    }
    if (reads && op->kind != TILE_FOR) await_landings(c);
    if (!c->started || !reads || (op->kind == TILE_FOR && cu_loop(c, op))) return;
    cu_line(c, "tw::arrive<0>();");
    c->started = c->by_threads = false;
}

/* Its loop copies it. */
static bool is_copied_ahead(const Cute *c, const TileOp *op)
{
    CuCopies copies = op->kind == TILE_LOAD ? c->values[op->results[0]->id].copies : CU_NOW;
    return copies == CU_RING || copies == CU_EARLY || copies == CU_LATE;
}

static void load_shared(Cute *c, const TileOp *op)
{
    const CuValue *v = &c->values[op->results[0]->id];
    if (is_copied_ahead(c, op)) return;
    if (v->copies == CU_NOW) cu_line(c, "__syncthreads(); // who read what was there is done");
    if (v->boxes && v->copies == CU_ONCE) {
        cu_copy_boxes(c, op, v->name, arena_printf(c->arena, "%s.barrier", v->landing));
        vec_push(c->arena, &c->landing, v->landing);
    } else {
        cu_copy_in(c, op, v->name);
        c->by_threads |= v->copies != CU_NOW;
    }
    cu_line(c, "cp_async_fence();");
    if (v->copies == CU_NOW) cu_line(c, "tw::arrive<0>();");
    else c->started = true;
}

static void emit_one(Cute *c, const TileBlock *block, const TileOp *op, int at)
{
    bool to_shared = op->n_results == 1 && op->results[0]->type.space == SPACE_SHARED;
    switch (op->kind) {
    case TILE_LOAD:
        if (to_shared) load_shared(c, op);
        else variable(c, block, op, at, false), cu_load(c, op);
        break;
    case TILE_STORE: cu_store(c, op); break;
    case TILE_MOVE:
        if (!to_shared) variable(c, block, op, at, false);
        cu_move(c, op);
        break;
    case TILE_FILL: case TILE_INDEX: case TILE_ELEMENT:
        variable(c, block, op, at, true);
        cu_elements(c, op);
        break;
    case TILE_MASK:
        variable(c, block, op, at, true);
        if (op->unless) cu_mask(c, op);
        else cu_elements(c, op);
        break;
    case TILE_GATHER: variable(c, block, op, at, false), cu_gather(c, op); break;
    case TILE_REDUCE: variable(c, block, op, at, false), reduce(c, op); break;
    case TILE_CAST: case TILE_RESHAPE: variable(c, block, op, at, false), convert(c, op); break;
    case TILE_SLICE: variable(c, block, op, at, false), part(c, op); break;
    case TILE_PATCH: {
        TileOp base = *op; /* the part does not become the whole */
        base.n_args = 1;
        variable(c, block, &base, at, true);
        part(c, op);
        break;
    }
    case TILE_SCALAR: scalar(c, op); break;
    case TILE_GEMM: {
        TileOp sum = *op; /* nor an operand the result */
        sum.n_args = op->n_args == 3;
        if (sum.n_args) sum.args = op->args + 2;
        variable(c, block, &sum, at, true);
        gemm(c, op);
        break;
    }
    case TILE_FOR: cu_for(c, op); break;
    case TILE_IF: cu_if(c, op); break;
    case TILE_YIELD: break;
    case TILE_SOFTMAX: case TILE_REVISE: case TILE_PREPARE: case TILE_BUFFER: case TILE_VIEW: case TILE_PUT: case TILE_COPY_ASYNC:
    case TILE_COMMIT: case TILE_WAIT: case TILE_BARRIER: case TILE_ROLES: case TILE_RING: case TILE_ACQUIRE:
    case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE: case TILE_ISSUE: case TILE_FINISH: case TILE_TAKE_TURN:
    case TILE_GIVE_TURN: case TILE_OP_COUNT:
        break; /* refused by the plan */
    }
}

static void turn_before(Cute *c, const TileOp *op)
{
    for (int i = 0; i < c->loops.len; i++) {
        const CuLoop *l = &c->loops.data[i];
        if (l->turn != op) continue;
        cu_line(c, "tw::arrive<0>();");
        cu_line(c, "%s.start(%s + 1);", l->early, cu_sym(c, l->loop->var));
    }
}

void cu_block(Cute *c, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len && !c->failed; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->n_results == 1 && c->values[op->results[0]->id].inlined) continue;
        turn_before(c, op);
        if (op->kind != TILE_YIELD && !is_copied_ahead(c, op)) cu_comment(c, op);
        await_started(c, op);
        emit_one(c, block, op, i);
    }
}

/* ---- regions --------------------------------------------------------------------------------- */

/* What a region yields goes to where its owner has it. One variable may be another's source. */
static void yield_to(Cute *c, const TileBlock *region, TileValue *const *to, int n)
{
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    const char **held = arena_array(c->arena, const char *, n ? n : 1);
    for (int k = 0; k < n; k++)
        for (int m = 0; m < k; m++) {
            const char *source = c->values[yield->args[k]->id].name;
            if (source != c->values[to[m]->id].name || source == c->values[to[k]->id].name || held[k]) continue;
            held[k] = cu_name(c, "held");
            cu_line(c, "auto %s = %s;", held[k], source);
        }
    for (int k = 0; k < n; k++) {
        if (!held[k]) cu_assign(c, to[k], yield->args[k]);
        else if (cu_is_scalar(to[k])) cu_line(c, "%s = %s;", c->values[to[k]->id].name, held[k]);
        else cu_line(c, "copy(%s, %s);", held[k], c->values[to[k]->id].name);
    }
}

/* A carried value takes over its first value's variable, where nothing else reads that. */
static void carried(Cute *c, const TileOp *op)
{
    const TileBlock *body = op->regions[0];
    for (int k = 0; k < op->n_args; k++) {
        const TileValue *init = op->args[k], *param = body->params.data[k];
        const CuValue *v = &c->values[init->id];
        bool twice = false, inside = tile_count_uses(body, init) > 0;
        for (int m = 0; m < k; m++) twice |= op->args[m] == init;
        if (v->last == tile_index_of(v->home, op) && !twice && !inside && v->uses == 1) {
            c->values[param->id].name = v->name;
        } else {
            new_variable(c, param, param->name ? param->name : "carried");
            cu_assign(c, param, init);
        }
        c->values[op->results[k]->id].name = c->values[param->id].name;
    }
}

/* An object that starts the copies of one kind for an iteration of the loop. */
static const char *copier(Cute *c, const CuLoop *l, CuCopies kind, const char *wish, const char *make)
{
    const TileBlock *body = l->loop->regions[0];
    const char *name = cu_name(c, wish), *j = cu_sym(c, l->loop->var);
    cu_open(c, "auto %s = tw::%s(%s, %s, %s%s[&](int %s, int stage) {", name, make, cu_expr(c, l->loop->lo),
            cu_expr(c, l->loop->hi), l->boxes ? l->landing : "", l->boxes ? ", " : "", j);
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind != TILE_LOAD || c->values[op->results[0]->id].copies != kind) continue;
        cu_comment(c, op);
        const char *to = arena_printf(c->arena, "%s[stage]", c->values[op->results[0]->id].name);
        if (c->values[op->results[0]->id].boxes)
            cu_copy_boxes(c, op, to, arena_printf(c->arena, "&%s.barrier[stage]", l->landing));
        else cu_copy_in(c, op, to);
    }
    cu_close(c, "});");
    return name;
}

static void copies_ahead(Cute *c, CuLoop *l)
{
    const TileBlock *body = l->loop->regions[0];
    if (c->inside) cu_line(c, "__syncthreads(); // the last tiles of the loop before are read");
    if (l->turn) {
        l->early = copier(c, l, CU_EARLY, "early", "turns");
        l->late = copier(c, l, CU_LATE, "late", "turns");
        cu_line(c, "%s.start(%s);", l->early, cu_expr(c, l->loop->lo));
        return;
    }
    l->early = copier(c, l, CU_RING, "ahead", arena_printf(c->arena, l->boxes ? "landing_ring<%d, Wide>" : "ring<%d>", l->stages));
    const char *stage = cu_name(c, arena_printf(c->arena, "stage_%s", cu_sym(c, l->loop->var)));
    l->late = stage;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind == TILE_LOAD && c->values[op->results[0]->id].copies == CU_RING)
            c->values[op->results[0]->id].stage = stage;
    }
}

void cu_for(Cute *c, const TileOp *op)
{
    CuLoop *l = cu_loop(c, op);
    const char *j = cu_sym(c, op->var);
    carried(c, op);
    if (l) copies_ahead(c, l);
    if (l && l->freely && c->by_threads) cu_line(c, "if constexpr (Wide) tw::arrive<0>();"); /* else the first turn does */
    if (l) c->by_threads = false;
    await_landings(c);
    cu_comment(c, op);
    cu_open(c, "for (int %s = %s; %s < %s; ++%s) {", j, cu_expr(c, op->lo), j, cu_expr(c, op->hi), j);
    if (l && !l->turn) cu_line(c, "int %s = %s.turn(%s);", l->late, l->early, j);
    if (l && l->turn) {
        cu_line(c, "tw::arrive<0>();");
        cu_line(c, "%s.start(%s);", l->late, j);
    }
    c->inside++;
    bool started = c->started;
    c->started = false;
    cu_block(c, op->regions[0]);
    c->started = started && l;
    c->inside--;
    yield_to(c, op->regions[0], op->regions[0]->params.data, op->n_results);
    cu_close(c, "}");
}

void cu_if(Cute *c, const TileOp *op)
{
    for (int k = 0; k < op->n_results; k++) new_variable(c, op->results[k], op->results[k]->name ? op->results[k]->name : "t");
    cu_open(c, "if (%s) {", cu_expr(c, op->cond));
    for (int r = 0; r < op->n_regions; r++) {
        if (r) c->depth--, cu_open(c, "} else {");
        c->inside++;
        cu_block(c, op->regions[r]);
        c->inside--;
        yield_to(c, op->regions[r], op->results, op->n_results);
    }
    cu_close(c, "}");
}
