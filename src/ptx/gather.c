/* gather.c: elements of a tensor at computed places.
 *
 * Each of a lane's values has coordinates of its own. Where they differ from the
 * first value's by constants, as along a row of keys, the address does, too:
 *
 *   gather T[b, j * 64 + col]      [%rd5], [%rd5+4], [%rd5+32], [%rd5+36], ...
 */
#include "ptx/gather.h"

enum { MANY = 4 }; /* elements of a lane */

static const Aff **coords_at(Emitter *e, const TileOp *op, int i)
{
    const Aff **coords = arena_array(e->arena, const Aff *, op->tensor->rank);
    for (int d = 0; d < op->tensor->rank; d++) coords[d] = el_at(e, op->coords[d], op->results[0], i);
    return coords;
}

static Gather gather_from(Emitter *e, const TileOp *op, const Aff **first)
{
    int last = op->tensor->rank - 1;
    int64_t constant;
    if (last >= 0) first[last] = aff_without_constant(e->program->aff, first[last], &constant);
    return (Gather){.op = op, .first = first};
}

static const char *address_of(Emitter *e, const TileOp *op, const Aff **coords)
{
    TileOp at = *op;
    int level;
    at.coords = coords;
    return gl_corner(e, &at, NULL, 0, -1, &level);
}

/* Whether coords are the first value's but for constants along each dimension. */
static bool find_steps(Emitter *e, const Gather *g, const Aff **coords, int64_t *steps)
{
    for (int d = 0; d < g->op->tensor->rank; d++)
        if (!aff_is_const(aff_sub(e->program->aff, coords[d], g->first[d]), &steps[d])) return false;
    return true;
}

/* So many steps from an address along all dimensions but the last. */
static const char *beyond(Emitter *e, const TileTensor *t, const char *address, const int64_t *steps)
{
    const char *sum = address;
    for (int d = 0; d < t->rank - 1; d++) {
        if (steps[d] == 0) continue;
        const char *next = em_new(e, REG_RD), *offset = em_new(e, REG_RD);
        em(e, "mul.lo.s64 %s, %s, %lld;", offset, gl_step(e, t, d), (long long)steps[d]);
        em(e, "add.s64 %s, %s, %s;", next, sum, offset);
        sum = next;
    }
    return sum;
}

/* And along the last: "[address + steps]" */
static const char *beside(Emitter *e, const TileTensor *t, const char *address, const int64_t *steps)
{
    return arena_printf(e->arena, "[%s+%lld]", address, (long long)(steps[t->rank - 1] * dtype_bytes(t->dtype)));
}

static const char *stepped(Emitter *e, const Gather *g, const char *address, const int64_t *steps)
{
    return beside(e, g->op->tensor, beyond(e, g->op->tensor, address, steps), steps);
}

const Aff *ga_inside(Emitter *e, const TileOp *op, const Aff **coords)
{
    const Aff *inside = aff_const(e->program->aff, 1);
    for (int d = 0; d < op->tensor->rank; d++)
        inside = aff_and(e->program->aff, inside, gl_inside(e, op->tensor, d, coords[d]));
    return inside;
}

/* Where along a dimension a tile says: an integer, what that adds to an address, and a guard. */
typedef struct Told {
    const char *address, *guard;
} Told;

static Told told(Emitter *e, const TileOp *op, int i, const char *address, const Aff *inside)
{
    const TileTensor *t = op->tensor;
    const Aff *corner = op->coords[op->row_dim];
    const char *at = em_new(e, REG_R);
    em(e, "cvt.rmi.s32.f32 %s, %s;", at, el_operand(e, op->args[0], op->results[0], i));
    const char *wide = em_new(e, REG_RD), *sum = em_new(e, REG_RD), *p = em_new(e, REG_P);
    int64_t none;
    if (!aff_is_const(corner, &none) || none != 0) {
        const char *moved = em_new(e, REG_R);
        em(e, "add.s32 %s, %s, %s;", moved, at, ix_value(e, el_at(e, corner, op->results[0], i)));
        at = moved;
    }
    em(e, "cvt.s64.s32 %s, %s;", wide, at);
    em(e, "mad.lo.s64 %s, %s, %s, %s;", sum, wide, gl_step(e, t, op->row_dim), address);
    em(e, "setp.lt.u32 %s, %s, %s;", p, at, ix_value(e, t->dims[op->row_dim])); /* below 0 is large */
    if (!aff_always(e->program->aff, inside)) em(e, "and.pred %s, %s, %s;", p, p, ix_condition_here(e, inside));
    return (Told){sum, arena_printf(e->arena, "@%s ", p)};
}

/* Likewise, where a tile says where along one dimension: its corner there is not of the address. */
static void gather_told(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    TileOp others = *op;
    others.coords = arena_array(e->arena, const Aff *, op->tensor->rank);
    memcpy(others.coords, op->coords, (size_t)op->tensor->rank * sizeof *op->coords);
    others.coords[op->row_dim] = aff_const(e->program->aff, 0);
    Gather g = gather_from(e, &others, coords_at(e, &others, 0));
    g.address = address_of(e, &others, g.first);
    for (int i = 0; i < e->frags[v->id].n; i++) {
        int64_t steps[TENSOR_MAX_RANK];
        const Aff **coords = coords_at(e, &others, i), *inside = aff_const(e->program->aff, 1);
        for (int d = 0; d < op->tensor->rank; d++)
            if (d != op->row_dim) inside = aff_and(e->program->aff, inside, gl_inside(e, op->tensor, d, coords[d]));
        bool near = find_steps(e, &g, coords, steps);
        Told to = told(e, op, i, near ? g.address : address_of(e, &others, coords), inside);
        if (!near) memset(steps, 0, sizeof steps);
        gl_load_value(e, op->tensor->dtype, to.guard, stepped(e, &g, to.address, steps), e->frags[v->id].f[i]);
    }
}

const char *ga_guard_here(Emitter *e, const Aff *inside)
{
    return aff_always(e->program->aff, inside) ? "" : arena_printf(e->arena, "@%s ", ix_condition_here(e, inside));
}

static bool is_same_place(const TileOp *op, const Aff *const *a, const Aff *const *b)
{
    for (int d = 0; d < op->tensor->rank; d++)
        if (a[d] != b[d]) return false;
    return true;
}

/* An element that several values are, as a byte that holds two of them: the first that is, or -1. */
static int first_that_is(const TileOp *op, const Aff ***coords, int i)
{
    for (int k = 0; k < i; k++)
        if (is_same_place(op, coords[k], coords[i])) return k;
    return -1;
}

/* Where elements lie lengths of the launch apart, a role has no registers for a multiple of such a length for each of them, which
 * ptxas would make ahead of its loop: it goes from one to the next. */
static void move_on(Emitter *e, Gather *base, const Aff **coords, const char *address)
{
    int last = base->op->tensor->rank - 1;
    if (!e->role || e->room == ROOM_ENOUGH || address == base->address) return;
    const Aff *along = base->first[last];
    base->first = arena_array(e->arena, const Aff *, last + 1);
    memcpy(base->first, coords, (size_t)(last + 1) * sizeof *coords);
    base->first[last] = along;
    base->address = address;
}

const char *ga_address(Emitter *e, const TileOp *op, Bases *b, const Aff **coords)
{
    enum { MOST = (int)TW_COUNT(((Bases *)0)->base) };
    int64_t steps[TENSOR_MAX_RANK] = {0};
    for (int k = 0; k < b->n; k++) {
        if (!find_steps(e, &b->base[k], coords, steps)) continue;
        const char *address = beyond(e, op->tensor, b->base[k].address, steps);
        move_on(e, &b->base[k], coords, address);
        return beside(e, op->tensor, address, steps);
    }
    const Aff **first = arena_array(e->arena, const Aff *, op->tensor->rank);
    memcpy(first, coords, (size_t)op->tensor->rank * sizeof *first);
    Gather own = gather_from(e, op, first);
    own.address = address_of(e, op, own.first);
    find_steps(e, &own, coords, steps);
    if (b->n < MOST) b->base[b->n++] = own;
    return stepped(e, &own, own.address, steps);
}

/* Elements of a lane that the block reads, all one by one. */
static int elements_read(const Emitter *e)
{
    int n = 0;
    for (int i = 0; i < e->block->ops.len; i++) {
        const TileOp *op = e->block->ops.data[i];
        if (op->kind != TILE_GATHER && op->kind != TILE_LOAD) continue;
        const TileType *t = &op->results[0]->type;
        if (t->kind == TT_TILE && t->space == SPACE_REGISTER) n += lay_fragment_values(t->layout, t->rows, t->cols);
    }
    return n;
}

/* In an entry for any alignment each element that is read has an address, and a test, of its own: of many ptxas makes more at once
 * than there are registers for. So some wait for those before; where quotients of columns say the places, of which it would keep
 * all, they are parts. */
static void keep_few_apart(Emitter *e, bool scattered, int read, int left)
{
    enum { AT_ONCE = 32, SCATTERED = 16, MANY_READ = 256 };
    bool in_order = 2 * left > e->target->regs_per_thread; /* as it stands few of them wait for others */
    if (e->part.tested < (scattered ? SCATTERED : AT_ONCE)) return;
    if (scattered ? read < left : read < MANY_READ || !in_order) return;
    e->part.tested = 0;
    if (scattered) an_part(e);
    else an_stop_of_grid(e);
}

/* In one for aligned rows a turn that reads more of them than its tiles leave registers for begins with half as many. */
static void keep_halves_apart(Emitter *e, int read, int left)
{
    if (read < left || 2 * e->part.tested < left) return;
    e->part.tested = 0;
    an_stop_of_grid(e);
}

static void keep_apart(Emitter *e, const TileOp *op)
{
    enum { LEAST = 16 }; /* elements before any question is asked, which takes long */
    bool early = e->part.tested < (e->aligned ? 2 * LEAST : LEAST);
    if (e->role || early || (e->aligned && !e->turn)) return;
    int read = elements_read(e), left = rm_left(e, e->block);
    if (e->aligned) keep_halves_apart(e, read, left);
    else keep_few_apart(e, tile_is_scattered(op), read, left);
}

/* Where coordinates say. Of elements that have an address each, a role that prepares tiles makes those of a few at once. */
static void gather_placed(Emitter *e, const TileOp *op)
{
    enum { FEW = 8 };
    bool scattered = e->each && e->role && e->room == ROOM_SCARCE && tile_is_scattered(op), apart = scattered || tile_is_strided(op);
    const int *f = e->frags[op->results[0]->id].f;
    int n = e->frags[op->results[0]->id].n;
    const Aff ***coords = arena_array(e->arena, const Aff **, n);
    Bases bases = {.n = 0};
    for (int i = 0; i < n; i++) {
        coords[i] = coords_at(e, op, i);
        int same = first_that_is(op, coords, i);
        if (same >= 0) {
            em(e, "mov.f32 %%f%d, %%f%d;", f[i], f[same]);
            continue;
        }
        const char *address = ga_address(e, op, &bases, coords[i]);
        const Aff *inside = ga_inside(e, op, coords[i]);
        const char *guard = e->each && e->role ? ga_guard_here(e, inside) : gl_guard(e, inside);
        if (e->each && *guard) e->part.tested += apart ? 2 : 1; /* it has an address meanwhile */
        const char *read = gl_load_value(e, op->tensor->dtype, guard, address, f[i]);
        if (n == 1) e->frags[op->results[0]->id].integer = read;
        if (scattered && i % FEW == FEW - 1) an_stop(e);
        keep_apart(e, op);
    }
}

/* ---- elements in an index ---------------------------------------------------------------------- */

/* Whether a loop around it leaves them as they are, and a lane has few: they are read ahead of it. Roles
 * have no registers for that. */
static bool are_few_ahead(Emitter *e, const TileOp *index, const Aff *read, int from, int to)
{
    const Aff *known[MANY];
    int n = 0;
    if (e->role) return false;
    for (int i = from; i < to; i++) {
        const Aff *element = el_at(e, read, index->results[0], i);
        int k = 0;
        while (k < n && known[k] != element) k++;
        if (k == n && n == MANY) return false;
        if (k == n) known[n++] = element;
        if (ix_level(e, element) == em_level(e)) return false;
    }
    return true;
}

/* Those of one table, `read`, at each value's own place. */
static void read_elements(Emitter *e, const TileOp *index, const Aff *read, int from, int to)
{
    const Aff *first[AFF_MAX_COORDS], *own[AFF_MAX_COORDS];
    const AffSym *table;
    TileOp op = *index;
    aff_coords(el_at(e, read, index->results[0], from), &table, first);
    op.tensor = tile_table_of(e->program, table);
    if (!op.tensor || op.tensor->dtype == DT_I64 || to - from < MANY || are_few_ahead(e, index, read, from, to)) return; /* one by one, where they are needed */
    Gather g = gather_from(e, &op, first);
    for (int i = from; i < to; i++) {
        const Aff *element = el_at(e, read, index->results[0], i);
        if (ix_is_known(e, element)) continue;
        int64_t steps[TENSOR_MAX_RANK];
        aff_coords(element, &table, own);
        if (!g.address) g.address = address_of(e, &op, g.first);
        bool near = find_steps(e, &g, own, steps);
        const char *address = near ? stepped(e, &g, g.address, steps) : arena_printf(e->arena, "[%s]", address_of(e, &op, own));
        const char *word = em_new(e, REG_R);
        const char *guard = ga_guard_here(e, ga_inside(e, &op, own));
        e->part.tested += *guard != '\0';
        in_load_integer(e, em_level(e), op.tensor->dtype, false, guard, address, word);
        ix_know(e, element, word, em_level(e));
    }
}

static void read_all(Emitter *e, const TileOp *index, const Aff *a, int from, int to)
{
    if (!a) return;
    if (a->kind == AFF_AT) {
        read_elements(e, index, a, from, to);
        return;
    }
    read_all(e, index, a->a, from, to);
    read_all(e, index, a->b, from, to);
}

void ga_elements(Emitter *e, const TileOp *index, int from, int to)
{
    e->each = to - from >= MANY;
    read_all(e, index, index->index, from, to);
    e->each = false;
}

/* The same elements, gathered already with nothing but arithmetic since, of a tensor that the kernel does not store to; or NULL. */
static const TileValue *gathered_before(const Emitter *e, const TileOp *op)
{
    for (int i = e->at - 1; i >= 0 && op->n_args == 0 && !op->tensor->written; i--) {
        const TileOp *before = e->block->ops.data[i];
        bool gathers = before->kind == TILE_GATHER && before->n_args == 0;
        if (!gathers && before->kind != TILE_ELEMENT && before->kind != TILE_FILL && before->kind != TILE_INDEX) return NULL;
        if (gathers && before->tensor == op->tensor && before->where == op->where && is_same_place(op, before->coords, op->coords) &&
            tile_type_equal(before->results[0]->type, op->results[0]->type))
            return before->results[0];
    }
    return NULL;
}

void ga_gather(Emitter *e, const TileOp *op)
{
    if (bs_has_come(e, op)) return;
    if (ah_has(e, op)) {
        ah_gather(e, op);
        return;
    }
    const TileValue *before = gathered_before(e, op);
    if (before) {
        fr_alias(e, op->results[0], before);
        return;
    }
    if (bs_gather(e, op)) return;
    fr_new_f32(e, op->results[0]);
    if (!gl_known_type(e, op, true)) return;
    e->each = e->frags[op->results[0]->id].n >= MANY;
    if (op->n_args) gather_told(e, op);
    else gather_placed(e, op);
    e->each = false;
}
