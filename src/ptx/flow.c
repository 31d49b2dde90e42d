/* flow.c: loops and choices, and the registers in which values meet that they merge. */
#include "ptx/roles.h"

enum { FEW_TURNS = 4 }; /* side by side, where elements are loaded one by one */

/* ---- merged values ----------------------------------------------------------------- */

/* Storage of a value that control flow merges: packed pairs for 16-bit tiles,
 * words for tiles on their way, fp32 registers for all else. */
bool fl_packed(const TileValue *v)
{
    if (v->type.layout.kind == LAY_CHUNKS) return true;
    if (f8_is(v->type.dtype)) return v->type.layout.kind == LAY_MMA_A;
    return dtype_bytes(v->type.dtype) == 2
           && lay_fragment_values(v->type.layout, v->type.rows, v->type.cols) % 2 == 0;
}

void fl_declare(Emitter *e, const TileValue *v)
{
    Frag *frag = fr_new(e, v);
    if (fl_packed(v)) frag->packed = fr_fresh(e, REG_R, fr_words(v));
    else frag->f = fr_fresh(e, REG_F, frag->n);
}

/* to's registers = from's value */
void fl_move(Emitter *e, const TileValue *to, const TileValue *from)
{
    const Frag *t = &e->frags[to->id];
    if (t->packed) {
        const int *f = fr_packed(e, from, to->type.dtype);
        for (int i = 0; i < fr_words(to); i++)
            if (t->packed[i] != f[i]) em(e, "mov.b32 %%r%d, %%r%d;", t->packed[i], f[i]);
        return;
    }
    const int *f = e->frags[from->id].f;
    for (int i = 0; i < t->n; i++)
        if (!f || f[i] != t->f[i]) em(e, "mov.f32 %%f%d, %s;", t->f[i], fr_operand(e, from, i));
}

static bool same_registers(Emitter *e, const TileValue *a, const TileValue *b)
{
    const Frag *x = &e->frags[a->id], *y = &e->frags[b->id];
    return (x->f && x->f == y->f) || (x->packed && x->packed == y->packed);
}

/* All moves happen at once: what is in the registers of one destination and goes to
 * another is saved first. */
void fl_move_all(Emitter *e, TileValue *const *to, TileValue *const *values, int n)
{
    const TileValue **from = arena_array(e->arena, const TileValue *, n);
    for (int k = 0; k < n; k++) {
        from[k] = values[k];
        for (int p = 0; p < n; p++) {
            if (p == k || !same_registers(e, to[p], from[k])) continue;
            TileValue *saved = arena_new_of(e->arena, TileValue);
            *saved = *from[k];
            saved->id = e->kernel->next_value + e->spare++ % SPARE_FRAGS;
            fl_declare(e, saved);
            fl_move(e, saved, from[k]);
            from[k] = saved;
        }
    }
    for (int k = 0; k < n; k++)
        if (from[k] != to[k]) fl_move(e, to[k], from[k]);
}

/* A tile on its way that is loaded for the next iteration when this one's has
 * been put takes over its registers. */
static void reserve_held(Emitter *e, const TileBlock *body, const TileValue *param, const TileValue *next)
{
    bool free = false;
    if (param->type.layout.kind != LAY_CHUNKS || !next->def || next->def->kind != TILE_LOAD) return;
    for (int i = 0; i < body->ops.len; i++) {
        if (body->ops.data[i] == next->def) free = true;
        else if (free && tile_op_uses(body->ops.data[i], param)) return;
    }
    if (free) e->frags[next->id].packed = e->frags[param->id].packed;
}

/* Whether a value, an operand of products that may be in flight, is of no more use when the
 * block comes to an operation. */
static bool is_over(const TileBlock *block, int at, const TileValue *v)
{
    bool in_flight = false;
    for (int i = 0; i < at; i++) {
        const TileOp *op = block->ops.data[i];
        in_flight |= op->kind == TILE_ISSUE && tile_op_uses(op, v);
        in_flight &= op->kind != TILE_FINISH || op->count > 0;
    }
    return !in_flight && !tile_used_in(block, at, block->ops.len, v);
}

/* An operand that is made for the next iteration when this one's is of no more use is
 * packed into its registers. */
static void reserve_packed(Emitter *e, const TileOp *loop, int k)
{
    const TileBlock *body = loop->regions[0];
    const TileValue *param = body->params.data[k], *made = body->ops.data[body->ops.len - 1]->args[k];
    while (made->def && made->def->kind == TILE_REVISE) {
        int i = 0;
        while (made->def->results[i] != made) i++;
        made = made->def->args[i];
    }
    int at = made->def && made->def->kind == TILE_RESHAPE ? tile_index_of(body, made->def) : -1;
    if (at >= 0 && e->role && loop->unroll <= 1 && fl_packed(param) && dtype_bytes(param->type.dtype) == 2 && is_over(body, at, param))
        e->reserved[made->id] = e->frags[param->id].packed;
}

/* ---- loops ------------------------------------------------------------------------ */

/* Turns a loop's parameters into what its iteration yielded, without moves where that
 * is in registers of its own; what is not is moved. */
static void pass_on(Emitter *e, const TileBlock *body, const TileOp *yield)
{
    TileValue **to = arena_array(e->arena, TileValue *, yield->n_args), **from = arena_array(e->arena, TileValue *, yield->n_args);
    int n = 0;
    for (int k = 0; k < yield->n_args; k++) {
        TileValue *param = body->params.data[k], *v = yield->args[k];
        const Frag *frag = &e->frags[v->id];
        bool own = v->def && !frag->shared && (fl_packed(param) ? frag->packed != NULL : frag->f != NULL);
        if (!own || same_registers(e, param, v)) {
            to[n] = param;
            from[n++] = v;
        }
    }
    fl_move_all(e, to, from, n);
    for (int k = 0; k < yield->n_args; k++) {
        bool moved = false;
        for (int i = 0; i < n; i++) moved |= to[i] == body->params.data[k];
        if (moved) continue;
        e->frags[body->params.data[k]->id] = e->frags[yield->args[k]->id];
        if (fl_packed(body->params.data[k])) e->frags[body->params.data[k]->id].f = NULL;
        else e->frags[body->params.data[k]->id].packed = NULL;
    }
}

/* What was yielded goes back to the registers in which the loop begins. */
static void send_back(Emitter *e, const TileOp *op, const Frag *start)
{
    const TileBlock *body = op->regions[0];
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    TileValue **from = arena_array(e->arena, TileValue *, yield->n_args);
    for (int k = 0; k < yield->n_args; k++) {
        from[k] = arena_new_of(e->arena, TileValue);
        *from[k] = *yield->args[k];
        from[k]->id = e->kernel->next_value + e->spare++ % SPARE_FRAGS;
        e->frags[from[k]->id] = e->frags[yield->args[k]->id];
    }
    for (int k = 0; k < yield->n_args; k++) e->frags[body->params.data[k]->id] = start[k];
    fl_move_all(e, body->params.data, from, yield->n_args);
}

static void set_levels(Emitter *e, const TileBlock *body)
{
    for (int k = 0; k < body->params.len; k++) e->frags[body->params.data[k]->id].level = em_level(e);
}

/* Elements that say of masks' tiles where they lie are read as the turn begins: they are there when its products are. */
static void look_up_places(Emitter *e, const TileBlock *body)
{
    for (int i = 0; i < body->ops.len; i++)
        if (body->ops.data[i]->kind == TILE_MASK) ix_look_up(e, body->ops.data[i]->cond);
}

/* An iteration, in a scope of its own. */
static void iteration(Emitter *e, const TileOp *op, const char *number)
{
    const char *turn = e->turn;
    int turn_level = e->turn_level;
    Room room = e->room;
    em_open(e);
    ix_bind(e, op->var, number, em_level(e));
    set_levels(e, op->regions[0]);
    e->room = rm_of(e, op);
    e->turn = number;
    e->turn_level = em_level(e);
    CopierTurn copier = co_enter(e, op);
    e->loops++;
    if (op->unroll <= 1) rv_vote_ahead(e, op->regions[0]);
    look_up_places(e, op->regions[0]);
    kn_block(e, op->regions[0]);
    e->loops--;
    e->turn = turn;
    e->turn_level = turn_level;
    e->room = room;
    co_leave(e, &copier);
    em_close(e);
}

/* The number of an iteration's successor, and whether there is one: the predicate. Roles
 * know it ahead, when there is still something to wait for, and from a vote: of integers
 * that are the same in all lanes ptxas has predicates that no branch takes as they are. */
static const char *count_ahead(Emitter *e, const char *counter, const char *hi, const char *p, bool last)
{
    const char *number = em_new(e, REG_R);
    em(e, "mov.b32 %s, %s;", number, counter);
    em(e, "add.s32 %s, %s, 1;", counter, counter);
    em(e, "setp.%s.s32 %s, %s, %s;", last ? "lt" : "ge", p, counter, hi);
    em(e, "vote.sync.any.pred %s, %s, -1;", p, p);
    return number;
}

static void count(Emitter *e, const char *counter, const char *hi, const char *p, bool last)
{
    em(e, "add.s32 %s, %s, 1;", counter, counter);
    em(e, "setp.%s.s32 %s, %s, %s;", last ? "lt" : "ge", p, counter, hi);
}

/* The same number, which ptxas does not take to be the same in all lanes. */
static const char *of_each_lane(Emitter *e, const char *number)
{
    const char *own = em_new(e, REG_R);
    int level = em_level(e) - 1;
    em_at(e, level, "xor.b32 %s, %s, 0x7fffffff;", own, e->lane);
    em_at(e, level, "min.s32 %s, %s, %s;", own, own, number);
    return own;
}

/* How many iterations stand side by side. Where elements are loaded one by one, for any alignment, few of many do: each has
 * addresses of its own. */
static int side_by_side(const Emitter *e, const TileOp *op)
{
    int n = op->unroll > 1 ? op->unroll : ah_turns(e->ahead) > 1 ? ah_turns(e->ahead) : 1;
    while (!e->aligned && (n > FEW_TURNS || op->unroll % n != 0) && n > 1) n--;
    return n;
}

/* Whether a loop that is begun goes through all the iterations that stand side by side. */
static bool fills_turns(const TileOp *op, int n)
{
    int64_t lo, hi;
    return aff_is_const(op->lo, &lo) && aff_is_const(op->hi, &hi) && hi > lo && (hi - lo) % n == 0;
}

/* Iterations side by side: what one yields is where the next expects it, and goes back
 * to where the first does in the last of them, or where the loop ends between two. */
static void iterations(Emitter *e, const TileOp *op, const char *counter, const char *hi, int label)
{
    const TileBlock *body = op->regions[0];
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    int n = side_by_side(e, op);
    bool ahead = e->role && n == 1 && tile_has(body, TILE_ISSUE), through = n > 1 && fills_turns(op, n);
    const char *p = em_new(e, REG_P), *end = ahead ? of_each_lane(e, hi) : hi;
    Frag *start = arena_array(e->arena, Frag, body->params.len);
    Str exits = em_take(e);
    for (int k = 0; k < body->params.len; k++) start[k] = e->frags[body->params.data[k]->id];
    for (int i = 0; i < n; i++) {
        bool last = i == n - 1;
        e->side = i;
        iteration(e, op, ahead ? count_ahead(e, counter, end, p, last) : counter);
        if (e->failed) return; /* what it yields may not be there */
        if (last) send_back(e, op, start);
        if (through && !last) {
            em(e, "add.s32 %s, %s, 1;", counter, counter);
            pass_on(e, body, yield);
            continue;
        }
        if (!ahead) count(e, counter, end, p, last);
        if (last) {
            em(e, "@%s bra.uni $loop%d;", p, label);
            continue;
        }
        em(e, "@%s bra.uni $exit%d_%d;", p, label, i);
        Frag *mid = arena_array(e->arena, Frag, body->params.len);
        for (int k = 0; k < body->params.len; k++) mid[k] = e->frags[body->params.data[k]->id];
        em_open(e);
        send_back(e, op, start);
        str_printf(&exits, "\tbra.uni $end%d;\n$exit%d_%d:\n", label, label, i);
        str_add(&exits, str_text(em_innermost(e)));
        str_clear(em_innermost(e));
        em_close(e);
        for (int k = 0; k < body->params.len; k++) e->frags[body->params.data[k]->id] = mid[k];
        pass_on(e, body, yield);
    }
    str_add(em_innermost(e), str_text(&exits));
    em_give(e, exits);
}

/* What the loop does not use, and came as pairs, lasts over it as such: behind it numbers are made of them anew. */
static void keep_as_loaded(Emitter *e, const TileOp *loop)
{
    int *used = arena_array(e->arena, int, e->kernel->next_value);
    rm_note_uses(loop, 1, used);
    for (int v = 0; v < e->kernel->next_value; v++) {
        Frag *frag = &e->frags[v];
        if (frag->loaded && !used[v] && frag->level == em_level(e)) frag->f = NULL;
    }
}

void fl_for(Emitter *e, const TileOp *op)
{
    const TileBlock *body = op->regions[0];
    int label = em_label(e), counter = em_reg(e, REG_R);
    const char *j = em_name(e, REG_R, counter), *hi = ix_value(e, op->hi), *p = em_new(e, REG_P);
    for (int k = 0; k < body->params.len; k++) {
        TileValue *param = body->params.data[k];
        if (op->args[k]->type.pending) { /* what is in flight stays where it is */
            e->frags[param->id] = e->frags[op->args[k]->id];
            continue;
        }
        fl_declare(e, param);
        fl_move(e, param, op->args[k]);
    }
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    for (int k = 0; k < body->params.len; k++)
    {
        reserve_held(e, body, body->params.data[k], yield->args[k]);
        reserve_packed(e, op, k);
    }
    const char *low = ix_value(e, op->lo);
    rg_enter(e, body);
    const Ahead *ahead = e->ahead;
    int side = e->side;
    e->ahead = ah_begin(e, op);
    em_open(e);
    iterations(e, op, j, hi, label);
    e->ahead = ahead;
    e->side = side;
    Str *around = &e->scopes.data[em_level(e) - 1];
    str_printf(around, "\tmov.b32 %s, %s;\n\tsetp.ge.s32 %s, %s, %s;\n\t@%s bra.uni $end%d;\n$loop%d:\n", j, low, p, j, hi, p,
               label, label);
    em_close(e);
    str_printf(around, "$end%d:\n", label);
    if (em_level(e) == 0 && rm_anew_behind(e, op)) an_behind_loop(e, j);
    keep_as_loaded(e, op);

    /* The results live in the carried registers. */
    for (int k = 0; k < op->n_results; k++) {
        Frag *frag = fr_new(e, op->results[k]);
        const Frag *carried = &e->frags[body->params.data[k]->id];
        if (fl_packed(op->results[k])) frag->packed = carried->packed;
        else frag->f = carried->f;
    }
}

/* ---- choices ---------------------------------------------------------------------- */

static void emit_branch(Emitter *e, const TileOp *op, int region)
{
    em_open(e);
    const TileBlock *block = op->regions[region];
    kn_block(e, block);
    const TileOp *yield = block->ops.len ? block->ops.data[block->ops.len - 1] : NULL;
    for (int k = 0; yield && !e->failed && k < op->n_results && k < yield->n_args; k++)
        fl_move(e, op->results[k], yield->args[k]);
    em_close(e);
}

void fl_if(Emitter *e, const TileOp *op)
{
    int label = em_label(e);
    for (int k = 0; k < op->n_results; k++) fl_declare(e, op->results[k]);
    em_open(e);
    em(e, "@!%s bra.uni $else%d;", ix_condition(e, op->cond), label);
    emit_branch(e, op, 0);
    em(e, "bra.uni $endif%d;", label);
    em(e, "$else%d:", label);
    if (op->n_regions > 1) emit_branch(e, op, 1);
    em(e, "$endif%d:", label);
    em_close(e);
}
