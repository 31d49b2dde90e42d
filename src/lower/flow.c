/* flow.c: loops and branches; which names a loop carries. */
#include "lower/state.h"

enum { MOST_STATES = 16 }; /* of softmaxes, that one branch moves */

/* ---- what a body does to names ---------------------------------------------------------- */

static const char *result_name(const Stmt *s)
{
    const Expr *e = s->dest;
    while (e && (e->kind == EXPR_SPACE || e->kind == EXPR_INDEX)) e = e->a; /* an ending that says the space stays: see lo_base_name */
    if (e) return e->kind == EXPR_NAME ? e->name : NULL;
    return s->n_args > 0 && s->args[0]->kind == EXPR_NAME ? s->args[0]->name : NULL;
}

typedef VEC(const char *) Names;

static void add_name(Arena *arena, Names *names, const char *name)
{
    if (name && !text_among(names->data, names->len, name)) vec_push(arena, names, name);
}

/* Names whose register value the block replaces. */
static void assigned_names(Arena *arena, const Block *block, Names *names)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        switch (s->kind) {
        case STMT_COMPUTE:
            add_name(arena, names, result_name(s));
            for (int k = 0; k < s->n_with; k++)
                if (s->with[k]->kind == EXPR_NAME) add_name(arena, names, s->with[k]->name);
            break;
        case STMT_COPY:
            if (s->to_space == SPACE_REGISTER) add_name(arena, names, copy_dest(s));
            break;
        case STMT_RESHAPE: add_name(arena, names, s->name); break;
        case STMT_FOR: case STMT_IF:
            assigned_names(arena, &s->body, names);
            assigned_names(arena, &s->orelse, names);
            break;
        case STMT_INPUT: case STMT_OUTPUT: case STMT_PARAM: case STMT_LET: case STMT_INDEX: case STMT_GRID:
        case STMT_ASSIGN: case STMT_ALLOCATE: case STMT_DEFINE: case STMT_SCHEDULE: case STMT_COUNT:
            break;
        }
    }
}

/* O_register is O. */
static bool is_of(Lower *lo, const char *written, const char *name)
{
    Space space = SPACE_NONE;
    return written && strcmp(lo_base_name(lo, written, &space), name) == 0;
}

static bool reads(Lower *lo, const Stmt *s, const char *name)
{
    bool sets = s->op_known && (op_info(s->op)->class == OPC_FILL || op_info(s->op)->class == OPC_DEFINE);
    if (sets) return false; /* the name is there for its shape */
    bool fills = s->op_known && s->op == OP_FILL; /* its first operand is what it writes */
    for (int i = fills; i < s->n_args; i++) {
        const char *base = expr_base_name(s->args[i]);
        if (base && is_of(lo, base, name)) return true;
    }
    return false;
}

/* The identity that an allocated, unwritten name starts from: 0 for what is
 * accumulated or summed, -inf for a running maximum. What changes the name
 * above that, a rescale by hand, changes the identity. */
static bool starting_value(Lower *lo, const Block *block, const char *name, double *value)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        if (s->kind == STMT_FOR || s->kind == STMT_IF) {
            if (starting_value(lo, &s->body, name, value) || starting_value(lo, &s->orelse, name, value)) return true;
        }
        if (s->kind != STMT_COMPUTE) continue;
        for (int k = 0; k < s->n_with; k++) {
            if (s->with[k]->kind != EXPR_NAME || !is_of(lo, s->with[k]->name, name)) continue;
            *value = k == 0 ? -1.0 / 0.0 : 0;
            return true;
        }
        if (is_of(lo, result_name(s), name)) {
            *value = 0;
            if (s->result == RESULT_ACCUMULATE) return true;
            if (!reads(lo, s, name)) return false;
        }
    }
    return false;
}

static void start_allocated(Lower *lo, const Block *body, const Names *names)
{
    for (int i = 0; i < names->len; i++) {
        Local *local = lo_local(lo, names->data[i]);
        double value;
        if (!local || local->reg || !local->in_register || !starting_value(lo, body, names->data[i], &value)) continue;
        if (value == 0 && (local->reg = lo_held_start(lo, local->name))) continue;
        TileType type = local->reg_type;
        TileOp *fill = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type);
        fill->number = value;
        fill->results[0]->name = local->name;
        lo_local(lo, names->data[i])->reg = fill->results[0];
    }
}

/* What both arms of an if write has a value behind it; it starts as zeros that
 * nothing reads. */
static void start_in_both(Lower *lo, const Block *body, const Block *orelse)
{
    Names written[2] = {{0}, {0}};
    assigned_names(lo->arena, body, &written[0]);
    assigned_names(lo->arena, orelse, &written[1]);
    for (int i = 0; i < written[0].len; i++)
        for (int k = 0; k < written[1].len; k++) {
            Space space = SPACE_NONE;
            const char *name = lo_base_name(lo, written[0].data[i], &space);
            Local *local = is_of(lo, written[1].data[k], name) ? lo_local(lo, name) : NULL;
            if (!local || local->reg || local->scalar || !local->in_register) continue;
            local->reg = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &local->reg_type)->results[0];
            lo_local(lo, name)->reg->name = name;
        }
}

/* Whether the statement, or one within it, names the tile. */
static bool names_tile(Stmt *s, const char *name)
{
    Block one = {.data = &s, .len = 1};
    if (block_mentions(&one, name) || (s->name && strcmp(s->name, name) == 0) || (s->as && strcmp(s->as, name) == 0)) return true;
    for (int i = 0; i < s->body.len; i++)
        if (names_tile(s->body.data[i], name)) return true;
    for (int i = 0; i < s->orelse.len; i++)
        if (names_tile(s->orelse.data[i], name)) return true;
    return false;
}

typedef enum Use { USE_NONE, USE_SETS, USE_READS } Use;

/* Whether the loop has a turn, whatever the sizes are. */
static bool runs_surely(Lower *lo, const Stmt *loop)
{
    const Aff *low = loop->lo ? eval_aff(&lo->env, loop->lo, NULL) : NULL, *high = loop->hi ? eval_aff(&lo->env, loop->hi, NULL) : NULL;
    return low && high && aff_always(lo->program->aff, aff_lt(lo->program->aff, low, high));
}

static Use first_use(Lower *lo, const Block *block, int from, const char *name);

/* Of a block within: what it sets may not be set behind it. */
static Use use_within(Lower *lo, const Stmt *s, const char *name)
{
    Use body = first_use(lo, &s->body, 0, name), orelse = first_use(lo, &s->orelse, 0, name);
    if (body == USE_READS || orelse == USE_READS) return USE_READS;
    return body == USE_SETS && (s->kind == STMT_FOR ? runs_surely(lo, s) : orelse == USE_SETS) ? USE_SETS : USE_NONE;
}

/* What the statements from one on do with the tile first: set it whatever it held, or
 * anything else. */
static Use first_use(Lower *lo, const Block *block, int from, const char *name)
{
    for (int i = from; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool nests = s->kind == STMT_FOR || s->kind == STMT_IF;
        if (!names_tile(block->data[i], name)) continue;
        Use use = nests ? use_within(lo, s, name) : USE_READS;
        if (s->kind == STMT_COPY && s->to_space == SPACE_REGISTER && is_of(lo, copy_dest(s), name)) use = USE_SETS;
        if (s->kind == STMT_COMPUTE && s->result != RESULT_ACCUMULATE && is_of(lo, result_name(s), name) && !reads(lo, s, name))
            use = USE_SETS;
        if (use != USE_NONE) return use;
    }
    return USE_NONE;
}

/* What is done first with the tile behind the loop, which stands somewhere in the block. */
static Use use_behind(Lower *lo, const Block *block, const Stmt *loop, const char *name, bool *found)
{
    for (int i = 0; i < block->len && !*found; i++) {
        const Stmt *s = block->data[i];
        Use use = USE_NONE;
        *found = s == loop;
        if (!*found) use = use_behind(lo, &s->body, loop, name, found);
        if (!*found) use = use_behind(lo, &s->orelse, loop, name, found);
        if (*found) return use != USE_NONE ? use : first_use(lo, block, i + 1, name);
    }
    return USE_NONE;
}

/* What each turn of a loop sets has a value behind it, where there is a turn for sure; it
 * starts as zeros that nothing reads. */
static void start_in_turns(Lower *lo, const Stmt *loop)
{
    Names written = {0};
    assigned_names(lo->arena, &loop->body, &written);
    for (int i = 0; i < written.len; i++) {
        Space space = SPACE_NONE;
        const char *name = lo_base_name(lo, written.data[i], &space);
        Local *local = lo_local(lo, name);
        if (!local || local->reg || local->scalar || !local->in_register || local->in_shared) continue;
        bool found = false;
        if (first_use(lo, &loop->body, 0, name) != USE_SETS || use_behind(lo, &lo->unit->body, loop, name, &found) != USE_READS) continue;
        TileValue *zero = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &local->reg_type)->results[0];
        zero->name = name;
        lo_local(lo, name)->reg = zero;
    }
}

/* What a branch alone gave a tile goes round a loop that changes it. */
static void start_held(Lower *lo, const Stmt *loop)
{
    Names written = {0};
    if (!lo->held.len) return;
    assigned_names(lo->arena, &loop->body, &written);
    for (int i = 0; i < written.len; i++) {
        Space space = SPACE_NONE;
        const char *name = lo_base_name(lo, written.data[i], &space);
        Local *local = lo_local(lo, name);
        if (local && !local->reg && !local->scalar && first_use(lo, &loop->body, 0, name) == USE_READS) local->reg = lo_held_start(lo, name);
    }
}

/* An integer that the body replaces goes round as a number. */
static void integers_as_tiles(Lower *lo, const Names *names)
{
    for (int i = 0; i < names->len; i++) {
        Expr name = {.kind = EXPR_NAME, .name = names->data[i]};
        Local *local = lo_local(lo, names->data[i]);
        if (!local || !local->scalar) continue;
        TileValue *v = local->reg ? local->reg : lo_operand(lo, &name);
        local = lo_local(lo, names->data[i]);
        local->reg = v;
        local->scalar = NULL;
    }
}

static bool same_tile(const TileType *a, const TileType *b)
{
    return a->dtype == b->dtype && a->rows == b->rows && a->cols == b->cols;
}

/* Names with a value now that the body replaces. */
static void carried_names(Lower *lo, const Block *body, Names *carried)
{
    Names written = {0}, assigned = {0};
    assigned_names(lo->arena, body, &written);
    for (int i = 0; i < written.len; i++) {
        Space space = SPACE_NONE;
        add_name(lo->arena, &assigned, lo_base_name(lo, written.data[i], &space));
    }
    start_allocated(lo, body, &assigned);
    integers_as_tiles(lo, &assigned);
    for (int i = 0; i < assigned.len; i++) {
        const Local *local = lo_local(lo, assigned.data[i]);
        if (local && local->reg) vec_push(lo->arena, carried, assigned.data[i]);
    }
}

static bool has_register_at(const Lower *lo, const char *name, const ArmEnd *const *ends, int n_ends)
{
    for (int i = 0; i < n_ends; i++)
        if (strcmp(lo->locals.data[i].name, name) == 0 && (ends[0][i].reg || ends[1][i].reg)) return true;
    return false;
}

/* Names that a block gives values in registers hold nothing else from now on; but for those, with the ends of an if's arms, that have
 * one there: what a branch within an arm gave them is over with the arm. */
static void hold_no_more(Lower *lo, const Block *block, const ArmEnd *const *ends, int n_ends)
{
    Names written = {0};
    Space space = SPACE_NONE;
    if (!lo->held.len) return;
    assigned_names(lo->arena, block, &written);
    for (int i = 0; i < written.len; i++) {
        const char *name = lo_base_name(lo, written.data[i], &space);
        if (!has_register_at(lo, name, ends, n_ends)) lo_hold_no_more(lo, name);
    }
}

/* ---- regions ----------------------------------------------------------------------------- */

typedef struct Saved {
    Rewriter rw;
    int mark, reads, held;
    VEC(Local) locals;
} Saved;

static Saved enter(Lower *lo, TileBlock *block)
{
    Saved saved = {.rw = lo->rw, .mark = eval_mark(&lo->env), .reads = lo->reads.len, .held = lo->held.len};
    for (int i = 0; i < lo->locals.len; i++) vec_push(lo->arena, &saved.locals, lo->locals.data[i]);
    lo->rw.block = block;
    lo->rw.at = 0;
    return saved;
}

/* Values made inside are gone outside, allocations stay. */
static void leave(Lower *lo, const Saved *saved)
{
    lo->rw = saved->rw;
    eval_reset(&lo->env, saved->mark);
    lo->reads.len = saved->reads;
    lo->held.len = saved->held;
    for (int i = 0; i < lo->locals.len; i++) {
        bool old = i < saved->locals.len;
        Local *local = &lo->locals.data[i];
        local->reg = old ? saved->locals.data[i].reg : NULL;
        local->version = old ? saved->locals.data[i].version : 0;
        local->scalar = old ? saved->locals.data[i].scalar : NULL;
        const Staged *before = old ? saved->locals.data[i].shared : NULL;
        local->shared = lo_staged_after(lo, before, local->shared);
    }
}

/* Whether the name has no value behind a region, since it ended with another shape or
 * dtype and the region began with none that it read. */
static bool is_dropped(Lower *lo, const TileOp *op, int i)
{
    if (op->kind == TILE_IF) return true; /* what reads it next will say so */
    return rw_uses(lo->arena, op->regions[0], op->regions[0]->params.data[i]).len == 0;
}

/* Ends a region with the names' values there. */
static void yield_names(Lower *lo, const TileOp *op, const Names *names, bool *dropped, Span span)
{
    TileValue **values = arena_array(lo->arena, TileValue *, names->len);
    for (int i = 0; i < names->len; i++) {
        const TileType type = op->results[i]->type;
        values[i] = lo_local(lo, names->data[i])->reg;
        if (values[i] && same_tile(&values[i]->type, &type)) continue;
        if (is_dropped(lo, op, i)) {
            dropped[i] = true;
            values[i] = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &type)->results[0];
            continue;
        }
        lo_fail(lo, TW0726, span, "'%s' has another shape or dtype at the end of the block than before it",
                names->data[i]);
        if (!values[i]) values[i] = rw_fill(&lo->rw, 0);
    }
    rw_insert(&lo->rw, TILE_YIELD, names->len, values, 0, NULL);
}

static TileOp *region_op(Lower *lo, TileOpKind kind, const Names *names, bool with_args, int n_regions)
{
    TileValue **args = arena_array(lo->arena, TileValue *, names->len);
    TileType *types = arena_array(lo->arena, TileType, names->len);
    for (int i = 0; i < names->len; i++) {
        args[i] = lo_local(lo, names->data[i])->reg;
        types[i] = args[i]->type;
    }
    TileOp *op = rw_insert(&lo->rw, kind, with_args ? names->len : 0, args, names->len, types);
    op->regions = arena_array(lo->arena, TileBlock *, n_regions);
    op->n_regions = n_regions;
    for (int r = 0; r < n_regions; r++) op->regions[r] = tile_block_new(lo->program);
    return op;
}

static void take_results(Lower *lo, const TileOp *op, const Names *names, const bool *dropped)
{
    for (int i = 0; i < names->len; i++) {
        Local *local = lo_local(lo, names->data[i]);
        local->reg = dropped[i] ? NULL : op->results[i];
        local->version = ++lo->versions;
        op->results[i]->name = local->name;
    }
}

/* Of tiles that are named behind the loop. */
static void note_turns(Lower *lo, const Stmt *s, const LowerLoop *loop)
{
    for (int i = 0; i < loop->n_written; i++) {
        bool found = false;
        if (use_behind(lo, &lo->unit->body, s, loop->written[i].name, &found) != USE_NONE) lo_end_turns(lo, loop, i);
    }
}

void lo_for(Lower *lo, const Stmt *s)
{
    AffCtx *aff = lo->program->aff;
    if (!s->lo || !s->hi) {
        lo_fail(lo, TW0404, s->span, "a loop of code is written 'for %s = low:high'", s->name);
        return;
    }
    const Aff *low = eval_aff(&lo->env, s->lo, lo->diags), *high = eval_aff(&lo->env, s->hi, lo->diags);
    if (!low || !high) {
        lo->failed = true;
        return;
    }
    int64_t least, most, ignored;
    aff_bounds(low, &least, &ignored);
    aff_bounds(high, &ignored, &most);
    Names carried = {0};
    lo_unit_settle(lo, &s->body);
    if (runs_surely(lo, s)) start_in_turns(lo, s);
    start_held(lo, s);
    carried_names(lo, &s->body, &carried);
    hold_no_more(lo, &s->body, NULL, 0);
    TileOp *op = region_op(lo, TILE_FOR, &carried, true, 1);
    op->lo = low;
    op->hi = high;
    op->var = aff_sym_new(aff, lo_counter_symbol(lo, s->name), AFF_LOOP, least, most == INT64_MAX || most == INT64_MIN ? most : most - 1);

    TileBlock *body = op->regions[0];
    Saved saved = enter(lo, body);
    eval_bind(&lo->env, s->name, aff_of(aff, op->var));
    for (int i = 0; i < carried.len; i++) {
        Local *local = lo_local(lo, carried.data[i]);
        TileValue *param = tile_value_new(lo->program, lo->kernel, op->results[i]->type, local->name);
        vec_push(lo->arena, &body->params, param);
        lo_unit_param(lo, op, i, param);
        local->reg = param;
        local->version = ++lo->versions;
    }
    LowerLoop loop = {.var = op->var, .lo = low, .hi = high, .body = &s->body, .before = &saved.rw};
    lo_enter_loop(lo, &loop);
    lo_block(lo, &s->body);
    note_turns(lo, s, &loop);
    bool *dropped = arena_array(lo->arena, bool, carried.len);
    yield_names(lo, op, &carried, dropped, s->span);
    lo_unit_loop(lo, op, &loop, s->span);
    lo_running_loop(lo, op);
    leave(lo, &saved);
    lo_leave_loop(lo, &loop);
    take_results(lo, op, &carried, dropped);
}

/* The states of softmaxes that a branch may move, by their places among the names, each
 * with its factor. */
typedef struct Moved {
    int len, first_step;
    struct {
        int state, factor;
        const TileValue *before;
    } data[MOST_STATES];
} Moved;

static void states_moved(Lower *lo, const Stmt *branch, Names *names, Moved *moved)
{
    int n = names->len;
    for (int i = 0; i < n && moved->len < MOST_STATES; i++) {
        const char *factor = lo_unit_factor(lo, branch, names->data[i]);
        if (!factor) continue;
        moved->data[moved->len].state = i;
        moved->data[moved->len].factor = names->len;
        moved->data[moved->len++].before = lo_local(lo, names->data[i])->reg;
        vec_push(lo->arena, names, factor);
    }
}

/* `if k < n` in a loop up to n. */
static bool holds_in_all_turns(Lower *lo, const Aff *cond)
{
    for (const LowerLoop *loop = lo->loop; loop; loop = loop->outer)
        if (loop->var && loop->hi && cond == aff_lt(lo->program->aff, aff_of(lo->program->aff, loop->var), loop->hi))
            return true;
    return false;
}

/* What the stages of tiles hold, by the places of their names; of names that come later, nothing. */
static const Staged **stages_now(Lower *lo)
{
    const Staged **now = arena_array(lo->arena, const Staged *, lo->locals.len);
    for (int i = 0; i < lo->locals.len; i++) now[i] = lo->locals.data[i].shared;
    return now;
}

/* Likewise in registers. */
static const ArmEnd *registers_now(Lower *lo)
{
    ArmEnd *now = arena_array(lo->arena, ArmEnd, lo->locals.len);
    for (int i = 0; i < lo->locals.len; i++) now[i] = (ArmEnd){lo->locals.data[i].reg, lo->locals.data[i].scalar != NULL};
    return now;
}

/* At the end of an arm: what it left in stages. What branches within it left is known to be no more than that. */
static void keep_arm(Lower *lo, const Saved *saved, int from, Arm arm)
{
    for (int i = from; i < lo->kept.len; i++) {
        lo->kept.data[i].cond = NULL;
        lo->kept.data[i].turns = NULL;
    }
    for (int i = 0; i < lo->locals.len; i++)
        lo_keep_branch(lo, lo->locals.data[i].name, i < saved->locals.len ? saved->locals.data[i].shared : NULL, lo->locals.data[i].shared, &arm);
}

void lo_if(Lower *lo, const Stmt *s)
{
    int64_t known;
    if (s->where && s->where->kind == EXPR_WORDS) {
        lo_fail(lo, TW0404, s->where->span, "a condition in words belongs to a sketch; write it as an expression");
        return;
    }
    const Aff *cond = eval_aff(&lo->env, s->where, lo->diags);
    if (!cond) {
        lo->failed = true;
        return;
    }
    if (holds_in_all_turns(lo, cond))
        cond = aff_const(lo->program->aff, 1);
    if (aff_is_const(cond, &known)) {
        lo_block(lo, known ? &s->body : &s->orelse);
        return;
    }
    Names names = {0};
    Block both[] = {s->body, s->orelse};
    start_in_both(lo, &s->body, &s->orelse);
    for (int r = 0; r < 2; r++) lo_unit_settle(lo, &both[r]);
    for (int r = 0; r < 2; r++) carried_names(lo, &both[r], &names);
    Names unique = {0};
    for (int i = 0; i < names.len; i++) add_name(lo->arena, &unique, names.data[i]);
    Moved moved = {.first_step = lo->steps.len};
    states_moved(lo, s, &unique, &moved);
    TileOp *op = region_op(lo, TILE_IF, &unique, false, 2);
    op->cond = cond;
    bool *dropped = arena_array(lo->arena, bool, unique.len);
    const Staged **before = stages_now(lo), **ends[2];
    const ArmEnd *registers[2];
    int known_before = lo->locals.len, known_in[2];
    for (int r = 0; r < 2; r++) {
        int first = lo->steps.len;
        int kept = lo->kept.len;
        Saved saved = enter(lo, op->regions[r]);
        vec_push(lo->arena, &lo->arms, (Arm){cond, r == 1});
        lo_hold_enter(lo);
        lo_block(lo, &both[r]);
        lo->arms.len--;
        keep_arm(lo, &saved, kept, (Arm){cond, r == 1});
        for (int i = 0; i < moved.len; i++)
            lo_unit_arm(lo, unique.data[moved.data[i].factor], moved.data[i].before, first);
        yield_names(lo, op, &unique, dropped, s->span);
        ends[r] = stages_now(lo);
        registers[r] = registers_now(lo);
        known_in[r] = lo->locals.len;
        leave(lo, &saved);
    }
    take_results(lo, op, &unique, dropped);
    for (int i = 0; i < known_in[0] && i < known_in[1]; i++) {
        const Staged *both_ends[] = {ends[0][i], ends[1][i]};
        lo_join_arms(lo, op, lo->locals.data[i].name, i < known_before ? before[i] : NULL, both_ends);
    }
    int known_behind = known_in[0] < known_in[1] ? known_in[0] : known_in[1];
    lo_hold_arms(lo, op, registers, known_behind);
    for (int r = 0; r < 2; r++) hold_no_more(lo, &both[r], registers, known_behind);
    lo_unit_close(lo, moved.first_step);
    for (int i = 0; i < op->n_results; i++) lo_unit_branch(lo, op, i, moved.first_step, s->span);
    for (int i = 0; i < moved.len; i++)
        lo_unit_branch_step(lo, op, moved.data[i].state, moved.data[i].factor, moved.data[i].before, moved.first_step);
}
