/* verify_ring.c: do both sides of a ring make equally many steps?
 *
 * Nobody names a stage, so who is where follows from counts: if one side makes a
 * step more than the other, somebody waits for ever or takes one tile for
 * another. So of each copy of each ring the steps of each instance are counted,
 * as expressions of dimensions and coordinates, loops being sums:
 *
 *   for j = 0:n { if j + 1 <= n { acquire %k } }      max(0, n)
 *
 * Of each consumer `await` must equal `filled`; of each instance `filled` must
 * equal `acquire`, and `release` `await`. Where the difference is proved to be 0
 * for all launches, all is well. Otherwise launches are tried: one in which
 * counts differ is the diagnostic. Where neither is found the ring stands, and
 * the executor is the judge of each run.
 */
#include "tile/verify.h"

#include "data/tensor.h"

enum {
    SAMPLES = 48,        /* launches that are tried */
    SMALL = 16,          /* of which the first have the least sizes */
    BLOCKS = 4,          /* of each launch */
    STEP_LIMIT = 300000, /* operations counted in all of them */
    UNROLL_LIMIT = 64,
    GIVEN_MAX = 24,
    SUM_MAX = 16,
    SCALAR_MAX = 16,
    EVENTS = 4
};

/* What happens to a stage, in this order. */
static const TileOpKind EVENT_KINDS[EVENTS] = {TILE_ACQUIRE, TILE_FILLED, TILE_AWAIT, TILE_RELEASE};
enum { ACQUIRED, FILLED, AWAITED, RELEASED };
static const char *const EVENT_TEXTS[EVENTS] = {"acquires", "hands over", "awaits", "releases"};

/* One copy of a ring. */
typedef struct Copy {
    const TileOp *ring;
    int number;
} Copy;

/* One instance of a role. */
typedef struct Member {
    int role, number;
} Member;

/* A sum that has no form without its counter: equal ones are one symbol. */
typedef struct Sum {
    const Aff *lo, *hi, *each;
    const AffSym *var, *value;
} Sum;

/* A scalar that has the value of an earlier one. */
typedef struct Alias {
    const AffSym *sym, *same;
} Alias;

typedef struct Balance {
    Verifier *v;
    AffCtx *aff;
    const TileOp *roles;
    VEC(Copy) copies;
    VEC(Member) members;
    Sum sums[SUM_MAX];
    int n_sums;
    Alias aliases[SCALAR_MAX];
    int n_aliases;
    const Aff *given[GIVEN_MAX];
    int n_given;
    int64_t *values;   /* of symbols, in the launch that is tried */
    int64_t *tally;    /* members x copies x EVENTS */
    int64_t steps;
} Balance;

static const TileRole *role_of(const Balance *b, const Member *m)
{
    return &b->roles->roles[m->role];
}

static int event_of(TileOpKind kind)
{
    for (int i = 0; i < EVENTS; i++)
        if (EVENT_KINDS[i] == kind)
            return i;
    return -1;
}

/* ---- counts as expressions --------------------------------------------------------- */

/* What is counted: an event, of a copy, in an instance. */
typedef struct What {
    const Copy *copy;
    const Member *member;
    int event;
} What;

static const Aff *count_block(Balance *b, const What *what, const TileBlock *block);

/* As the instance sees it. */
static const Aff *resolve(const Balance *b, const What *what, const Aff *a)
{
    const AffSym *per = role_of(b, what->member)->per;
    if (per)
        a = aff_subst(b->aff, a, per, aff_const(b->aff, what->member->number));
    for (int i = 0; i < b->n_aliases; i++)
        a = aff_subst(b->aff, a, b->aliases[i].sym, aff_of(b->aff, b->aliases[i].same));
    return a;
}

static const Aff *unrolled(Balance *b, const Aff *each, const AffSym *var, const Aff *lo, const Aff *hi)
{
    int64_t first, end;
    if (!aff_is_const(lo, &first) || !aff_is_const(hi, &end) || first < -UNROLL_LIMIT || end > UNROLL_LIMIT)
        return NULL;
    const Aff *total = aff_const(b->aff, 0);
    for (int64_t i = first; i < end; i++)
        total = aff_add(b->aff, total, aff_subst(b->aff, each, var, aff_const(b->aff, i)));
    return total;
}

/* NULL: there are too many. */
static const Aff *opaque(Balance *b, const Aff *each, const AffSym *var, const Aff *lo, const Aff *hi)
{
    for (int i = 0; i < b->n_sums; i++) {
        Sum *sum = &b->sums[i];
        if (sum->lo == lo && sum->hi == hi &&
            aff_subst(b->aff, each, var, aff_of(b->aff, sum->var)) == sum->each)
            return aff_of(b->aff, sum->value);
    }
    if (b->n_sums == SUM_MAX)
        return NULL;
    const AffSym *value = aff_sym_new(b->aff, var->name, AFF_SCALAR, 0, INT64_MAX);
    b->sums[b->n_sums++] = (Sum){lo, hi, each, var, value};
    return aff_of(b->aff, value);
}

static const Aff *count_loop(Balance *b, const What *what, const TileOp *op)
{
    const Aff *each = count_block(b, what, op->regions[0]);
    int64_t value;
    if (!each || (aff_is_const(each, &value) && value == 0))
        return each;
    const Aff *lo = resolve(b, what, op->lo), *hi = resolve(b, what, op->hi);
    const Aff *total = unrolled(b, each, op->var, lo, hi);
    if (!total)
        total = aff_sum_over(b->aff, each, op->var, lo, hi);
    return total ? total : opaque(b, each, op->var, lo, hi);
}

/* c * then + (1 - c) * else */
static const Aff *count_choice(Balance *b, const What *what, const TileOp *op)
{
    AffCtx *aff = b->aff;
    const Aff *yes = count_block(b, what, op->regions[0]), *no = aff_const(aff, 0);
    if (op->n_regions > 1)
        no = count_block(b, what, op->regions[1]);
    if (!yes || !no)
        return NULL;
    return yes == no ? yes : aff_add(aff, no, aff_mul(aff, resolve(b, what, op->cond), aff_sub(aff, yes, no)));
}

static bool is_counted(const What *what, const TileOp *op)
{
    return op->kind == TILE_FOR || op->kind == TILE_IF ||
           (op->kind == EVENT_KINDS[what->event] && op->args[0] == what->copy->ring->results[0]);
}

static const Aff *count_op(Balance *b, const What *what, const TileOp *op)
{
    if (op->kind == TILE_FOR)
        return count_loop(b, what, op);
    if (op->kind == TILE_IF)
        return count_choice(b, what, op);
    const Aff *one = aff_const(b->aff, 1);
    return op->index ? aff_eq(b->aff, resolve(b, what, op->index), aff_const(b->aff, what->copy->number)) : one;
}

/* NULL: it has no expression. */
static const Aff *count_block(Balance *b, const What *what, const TileBlock *block)
{
    const Aff *total = aff_const(b->aff, 0);
    for (int i = 0; i < block->ops.len; i++) {
        if (!is_counted(what, block->ops.data[i]))
            continue;
        const Aff *count = count_op(b, what, block->ops.data[i]);
        if (!count)
            return NULL;
        total = aff_add(b->aff, total, count);
    }
    return aff_is_poison(total) ? NULL : total;
}

static const Aff *count_member(Balance *b, const Copy *copy, const Member *member, int event)
{
    What what = {copy, member, event};
    return count_block(b, &what, b->roles->regions[member->role]);
}

/* ---- what is known ------------------------------------------------------------------------ */

static void give(Balance *b, const Aff *a)
{
    if (b->n_given < GIVEN_MAX && !aff_is_poison(a))
        b->given[b->n_given++] = a;
}

/* Blocks are where the grid has any, launches are as they are required to be. */
static void find_given(Balance *b)
{
    const TileKernel *kernel = b->v->kernel;
    const TileProgram *program = b->v->program;
    for (int i = 0; i < kernel->grid.len; i++) {
        const TileAxis *axis = &kernel->grid.data[i];
        if (axis->within)
            continue;
        give(b, aff_of(b->aff, axis->sym));
        give(b, aff_offset(b->aff, aff_sub(b->aff, axis->extent, aff_of(b->aff, axis->sym)), -1));
    }
    for (int i = 0; i < program->requires.len; i++) {
        const Aff *cond = program->requires.data[i].cond;
        if (cond->kind == AFF_LE)
            give(b, aff_sub(b->aff, cond->b, cond->a));
    }
}

/* The same place of a tensor that the kernel does not write, wherever and whenever it is read. */
static bool reads_the_same(const Balance *b, const TileOp *p, const TileOp *q)
{
    const TileOp *x = p->args[0]->def, *y = q->args[0]->def;
    if (!x || !y || x->kind != TILE_LOAD || y->kind != TILE_LOAD || x->tensor != y->tensor || x->where || y->where ||
        tile_stores_to(b->v->kernel->body, x->tensor))
        return false;
    for (int d = 0; d < x->tensor->rank; d++) {
        if (x->coords[d] != y->coords[d] || aff_uses_kind(x->coords[d], AFF_LOOP))
            return false;
        for (int i = 0; i < b->v->kernel->grid.len; i++)
            if (b->v->kernel->grid.data[i].within && aff_uses(x->coords[d], b->v->kernel->grid.data[i].sym))
                return false;
    }
    return true;
}

typedef VEC(const TileOp *) Ops;

static void find_scalars(Balance *b, const TileBlock *block, Ops *seen)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++)
            find_scalars(b, op->regions[k], seen);
        if (op->kind != TILE_SCALAR)
            continue;
        int same = 0;
        while (same < seen->len && !reads_the_same(b, seen->data[same], op))
            same++;
        if (same == seen->len)
            vec_push(b->v->arena, seen, op);
        else if (b->n_aliases < SCALAR_MAX)
            b->aliases[b->n_aliases++] = (Alias){op->var, seen->data[same]->var};
    }
}

/* ---- proof ------------------------------------------------------------------------------------ */

static bool equal(Balance *b, const Aff *p, const Aff *q)
{
    return p && q && aff_is_zero_given(b->aff, aff_sub(b->aff, p, q), b->given, b->n_given);
}

static bool consumes(const Balance *b, const Copy *copy, const Member *member)
{
    return tile_consumes(b->v->program, b->roles, member->role, member->number, copy->ring->results[0], copy->number);
}

static bool prove_copy(Balance *b, const Copy *copy)
{
    const Aff *filled = aff_const(b->aff, 0);
    for (int i = 0; i < b->members.len; i++) {
        const Member *m = &b->members.data[i];
        const Aff *acquires = count_member(b, copy, m, ACQUIRED), *fills = count_member(b, copy, m, FILLED);
        if (!equal(b, acquires, fills))
            return false;
        filled = aff_add(b->aff, filled, fills);
    }
    bool consumed = false;
    for (int i = 0; i < b->members.len; i++) {
        const Member *m = &b->members.data[i];
        if (!consumes(b, copy, m))
            continue;
        const Aff *awaits = count_member(b, copy, m, AWAITED);
        if (!equal(b, awaits, filled) || !equal(b, awaits, count_member(b, copy, m, RELEASED)))
            return false;
        consumed = true;
    }
    return consumed || equal(b, filled, aff_const(b->aff, 0));
}

/* ---- launches that are tried --------------------------------------------------------------------- */

static int64_t *tally_of(const Balance *b, int member, int copy)
{
    return &b->tally[((int64_t)member * b->copies.len + copy) * EVENTS];
}

/* False: the expression depends on data. */
static bool eval(const Balance *b, const Aff *a, int64_t *value)
{
    return !aff_uses_kind(a, AFF_SCALAR) && !aff_uses_kind(a, AFF_TABLE) && aff_eval(a, b->values, value);
}

static bool walk_block(Balance *b, int member, const TileBlock *block);

static bool has_events(const TileBlock *block)
{
    for (int i = 0; i < EVENTS; i++)
        if (tile_has(block, EVENT_KINDS[i]))
            return true;
    return false;
}

static bool walk_loop(Balance *b, int member, const TileOp *op)
{
    int64_t lo, hi;
    if (!has_events(op->regions[0]))
        return true;
    if (!eval(b, op->lo, &lo) || !eval(b, op->hi, &hi))
        return false;
    for (int64_t i = lo; i < hi; i++) {
        b->values[op->var->id] = i;
        if (!walk_block(b, member, op->regions[0]))
            return false;
    }
    return true;
}

static bool walk_op(Balance *b, int member, const TileOp *op)
{
    int64_t value = 0;
    int event = event_of(op->kind);
    if (op->kind == TILE_FOR)
        return walk_loop(b, member, op);
    if (op->kind == TILE_IF) {
        if (!has_events(op->regions[0]) && (op->n_regions < 2 || !has_events(op->regions[1])))
            return true;
        if (!eval(b, op->cond, &value))
            return false;
        return (!value && op->n_regions < 2) || walk_block(b, member, op->regions[value ? 0 : 1]);
    }
    if (event < 0)
        return true;
    if (op->index && !eval(b, op->index, &value))
        return false;
    for (int i = 0; i < b->copies.len; i++)
        if (b->copies.data[i].ring->results[0] == op->args[0] && b->copies.data[i].number == value)
            tally_of(b, member, i)[event]++;
    return true;
}

static bool walk_block(Balance *b, int member, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++)
        if (++b->steps > STEP_LIMIT || !walk_op(b, member, block->ops.data[i]))
            return false;
    return true;
}

/* Counts all events of a block. */
static bool walk(Balance *b)
{
    memset(b->tally, 0, sizeof(int64_t) * (size_t)(b->members.len * b->copies.len * EVENTS));
    for (int i = 0; i < b->members.len; i++) {
        const Member *m = &b->members.data[i];
        if (role_of(b, m)->per)
            b->values[role_of(b, m)->per->id] = m->number;
        if (!walk_block(b, i, b->roles->regions[m->role]))
            return false;
    }
    return true;
}

/* "with len = 17, block (m = 0), " */
static void print_launch(const Balance *b, Str *out)
{
    const TileProgram *program = b->v->program;
    const TileKernel *kernel = b->v->kernel;
    int n = 0;
    for (int i = 0; i < program->dims.len; i++) {
        const AffSym *dim = program->dims.data[i];
        str_printf(out, "%s%s = %lld", i ? ", " : "with ", dim->name, (long long)b->values[dim->id]);
    }
    str_add(out, program->dims.len ? ", " : "");
    for (int i = 0; i < kernel->grid.len; i++) {
        const TileAxis *axis = &kernel->grid.data[i];
        if (!axis->within)
            str_printf(out, "%s%s = %lld", n++ ? ", " : "block (", axis->sym->name,
                       (long long)b->values[axis->sym->id]);
    }
    str_add(out, n ? "), " : "");
}

/* "role compute (w = 1) " */
static void print_member(const Balance *b, Str *out, int member)
{
    const Member *m = &b->members.data[member];
    str_printf(out, "role %s ", role_of(b, m)->name);
    if (role_of(b, m)->per)
        str_printf(out, "(%s = %d) ", role_of(b, m)->per->name, m->number);
}

static bool complain(Balance *b, int copy, int p, int event_p, int q, int event_q)
{
    Str s = str_new(b->v->arena);
    const Copy *c = &b->copies.data[copy];
    print_launch(b, &s);
    print_member(b, &s, p);
    str_printf(&s, "%s %lld stages", EVENT_TEXTS[event_p], (long long)tally_of(b, p, copy)[event_p]);
    if (c->ring->count > 1)
        str_printf(&s, " of copy %d", c->number);
    str_add(&s, p == q ? " and " : ", ");
    if (p != q)
        print_member(b, &s, q);
    str_printf(&s, "%s %lld", EVENT_TEXTS[event_q], (long long)tally_of(b, q, copy)[event_q]);
    return verify_fail(b->v, TW0760, c->ring, "%s", str_text(&s));
}

/* The member that makes most of these events of the copy. */
static int most(const Balance *b, int copy, int event)
{
    int best = 0;
    for (int i = 1; i < b->members.len; i++)
        if (tally_of(b, i, copy)[event] > tally_of(b, best, copy)[event])
            best = i;
    return best;
}

static bool check_tally(Balance *b, int copy)
{
    const Copy *c = &b->copies.data[copy];
    int64_t filled = 0;
    bool consumed = false;
    for (int i = 0; i < b->members.len; i++) {
        const int64_t *t = tally_of(b, i, copy);
        if (t[ACQUIRED] != t[FILLED])
            return complain(b, copy, i, ACQUIRED, i, FILLED);
        filled += t[FILLED];
    }
    int producer = most(b, copy, FILLED);
    for (int i = 0; i < b->members.len; i++) {
        const int64_t *t = tally_of(b, i, copy);
        if (!consumes(b, c, &b->members.data[i]))
            continue;
        if (t[AWAITED] != filled)
            return complain(b, copy, producer, FILLED, i, AWAITED);
        if (t[AWAITED] != t[RELEASED])
            return complain(b, copy, i, AWAITED, i, RELEASED);
        consumed = true;
    }
    return consumed || !filled || verify_fail(b->v, TW0760, c->ring, "role %s hands over its stages, nobody awaits them",
                                              role_of(b, &b->members.data[producer])->name);
}

/* A size that programs are sensitive to, in the dimension's range. */
static int64_t draw_size(Rng *rng, const AffSym *dim, int sample)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 16, 17, 31, 32, 33, 48, 64, 65, 96, 100, 128, 129, 192, 256, 320, 512};
    int64_t size = sizes[rng_below(rng, (int)TW_COUNT(sizes))];
    if (sample < SMALL && rng_below(rng, 8) && dim->lo > INT64_MIN && dim->lo < INT64_MAX - SMALL)
        size = dim->lo + sample;
    return size < dim->lo ? dim->lo : size > dim->hi ? dim->hi : size;
}

/* False: the host would refuse it. */
static bool draw_launch(Balance *b, Rng *rng, int sample)
{
    const TileProgram *program = b->v->program;
    int64_t holds;
    for (int i = 0; i < program->dims.len; i++)
        b->values[program->dims.data[i]->id] = draw_size(rng, program->dims.data[i], sample);
    for (int i = 0; i < program->requires.len; i++)
        if (!aff_eval(program->requires.data[i].cond, b->values, &holds) || !holds)
            return false;
    return true;
}

/* The first block, the last one, the second one along each axis, any. */
static bool draw_block(Balance *b, Rng *rng, int number)
{
    const TileKernel *kernel = b->v->kernel;
    for (int i = 0; i < kernel->grid.len; i++) {
        const TileAxis *axis = &kernel->grid.data[i];
        int64_t extent;
        if (axis->within)
            continue;
        if (!aff_eval(axis->extent, b->values, &extent) || extent <= 0)
            return false;
        int limit = extent < INT32_MAX ? (int)extent : INT32_MAX;
        b->values[axis->sym->id] = number == 0   ? 0
                                   : number == 1 ? extent - 1
                                   : number == 2 ? extent > 1
                                                 : rng_below(rng, limit);
    }
    return true;
}

static bool check_copies(Balance *b)
{
    for (int i = 0; i < b->copies.len; i++)
        if (!check_tally(b, i))
            return false;
    return true;
}

/* True: no launch was found in which counts differ. */
static bool try_launches(Balance *b)
{
    Rng rng = {1};
    b->values = arena_array(b->v->arena, int64_t, aff_sym_count(b->aff));
    b->tally = arena_array(b->v->arena, int64_t, b->members.len * b->copies.len * EVENTS);
    for (int i = 0; i < SAMPLES; i++) {
        if (!draw_launch(b, &rng, i))
            continue;
        for (int k = 0; k < BLOCKS; k++) {
            if (!draw_block(b, &rng, k))
                break;
            if (!walk(b))
                return true; /* data decides, or it takes too long */
            if (!check_copies(b))
                return false;
        }
    }
    return true;
}

/* ---- all rings ---------------------------------------------------------------------------------------- */

static void find_parts(Balance *b)
{
    Arena *arena = b->v->arena;
    const TileBlock *body = b->v->kernel->body;
    for (int i = 0; i < body->ops.len; i++)
        for (int k = 0; body->ops.data[i]->kind == TILE_RING && k < body->ops.data[i]->count; k++)
            vec_push(arena, &b->copies, ((Copy){body->ops.data[i], k}));
    for (int i = 0; i < b->roles->n_regions; i++)
        for (int k = 0; k < tile_instances(b->v->kernel, b->roles->roles[i].per); k++)
            vec_push(arena, &b->members, ((Member){i, k}));
}

bool verify_rings(Verifier *v, const TileOp *roles)
{
    Balance b = {.v = v, .aff = v->program->aff, .roles = roles};
    Ops scalars = {0};
    bool proved = true;
    find_parts(&b);
    find_given(&b);
    find_scalars(&b, v->kernel->body, &scalars);
    for (int i = 0; proved && i < b.copies.len; i++)
        proved = prove_copy(&b, &b.copies.data[i]);
    return proved || v->owner || try_launches(&b);
}
