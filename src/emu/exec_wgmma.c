/* exec_wgmma.c: the protocol of wgmma (PTX ISA, "Asynchronous Warpgroup Level
 * Matrix Instructions": "Async Proxy", "wgmma.mma_async", "wgmma.fence",
 * "wgmma.commit_group", "wgmma.wait_group").
 *
 * A wgmma is one operation of four warps. It is ready when all have issued it,
 * happens at a moment that the seed draws, in order within its warpgroup, and
 * at a wait at the latest. From its issue to the wait of a warp
 *
 *   - that warp's accumulators may be named by wgmma of the same shape alone,
 *     its registers of A by wgmma that read them alone;
 *   - nobody may write the shared memory that it reads (the shadow knows it as
 *     a read by the warpgroup that ends with this operation's number).
 *
 * Before its issue a wgmma.fence must separate it from all other accesses to its
 * registers, and a proxy fence from ordinary writes to its shared memory.
 */
#include "emu/async.h"

enum { UNIT = 16 };

static Warpgroup *group_of(const Warp *w)
{
    return &w->m->async->groups[w->index / WARPGROUP];
}

static WgmmaOp *op_numbered(Warpgroup *g, uint32_t number)
{
    return number < g->first ? NULL : &g->ops.data[g->head + (int)(number - g->first)];
}

/* ---- registers ------------------------------------------------------------------------- */

static const char *register_name(const Warp *w, Place place)
{
    return w->m->entry->slots.data[place.slot].name;
}

static void in_flight(Warp *w, const Inst *in, Place place, const char *as)
{
    emu_fault(w, in, EMU_IN_FLIGHT, 0, "register '%s' is %s of a wgmma that has not been waited for",
              register_name(w, place), as);
}

/* After an instruction that is no wgmma: its registers must not be in flight. */
void emu_async_registers(Warp *w, const Inst *in)
{
    AsyncWarp *a = w->async;

    for (int i = 0; i < in->nd + in->ns; i++) {
        RegState *r = &a->registers[in->op[i].slot];

        if (r->d > a->waited)
            in_flight(w, in, in->op[i], "the accumulator");
        else if (r->a > a->waited)
            in_flight(w, in, in->op[i], "part of A");
        r->touched = a->fences;
    }
}

static void unfenced(Warp *w, const Inst *in, Place place)
{
    emu_fault(w, in, EMU_IN_FLIGHT, 0, "no wgmma.fence lies between an access to register '%s' and this wgmma",
              register_name(w, place));
}

static void check_accumulator(Warp *w, const Inst *in, Place place, const WgmmaOp *op)
{
    AsyncWarp *a = w->async;
    RegState *r = &a->registers[place.slot];

    if (r->touched == a->fences && a->fences)
        unfenced(w, in, place);
    if (op->add && ~w->defined[place.slot])
        emu_fault(w, in, EMU_UNINITIALISED, first_lane(~w->defined[place.slot]),
                  "the accumulator '%s' is read before it is written", register_name(w, place));
    if (r->a > a->waited)
        in_flight(w, in, place, "part of A");
}

/* Wgmma that share accumulators in flight have one shape (PTX ISA, "wgmma.fence"). */
static void check_shape(Warp *w, const Inst *in)
{
    AsyncWarp *a = w->async;

    for (int i = 0; i < in->nd; i++) {
        uint32_t number = a->registers[in->op[i].slot].d;
        const WgmmaOp *earlier = number > a->waited ? op_numbered(group_of(w), number) : NULL;

        if (earlier && (earlier->in->aux != in->aux || earlier->in->fn.row != in->fn.row ||
                        earlier->in->op[i].slot != in->op[i].slot)) {
            in_flight(w, in, in->op[i], "the accumulator in another shape");
            return;
        }
    }
}

/* in->ns: A's registers if it has any, the descriptors, the predicate. */
static void check_registers(Warp *w, const Inst *in, const WgmmaOp *op)
{
    AsyncWarp *a = w->async;

    if (!a->fences)
        emu_fault(w, in, EMU_IN_FLIGHT, 0, "no wgmma.fence precedes the first wgmma");
    for (int i = 0; i < in->nd; i++)
        check_accumulator(w, in, in->op[i], op);
    check_shape(w, in);
    for (int i = 0; in->imm & WG_A_REGISTERS && i < 4; i++) {
        Place place = in->op[in->nd + i];
        RegState *r = &a->registers[place.slot];

        if (r->touched == a->fences && a->fences)
            unfenced(w, in, place);
        if (r->d > a->waited)
            in_flight(w, in, place, "the accumulator");
        r->a = a->issued;
    }
    for (int i = 0; i < in->nd; i++)
        a->registers[in->op[i].slot].d = a->issued;
    a->registers[0].d = 0; /* "_" is nobody's */
}

/* ---- shared memory -------------------------------------------------------------------------- */

/* False when part of the matrix lies outside. */
static bool check_matrix(Warp *w, const Inst *in, const WgmmaMatrix *x, const char *which)
{
    FarAccess access = { .agent = warpgroup_agent(w->m, w->index / WARPGROUP), .epoch = w->async->issued };
    uint32_t places[MAX_UNITS];
    int units = emu_wgmma_units(x, places);

    for (int u = 0; u < units; u++) {
        uint32_t at = places[u];
        EmuFaultKind kind;
        const char *why;

        if (at > w->m->shared_bytes || w->m->shared_bytes - at < UNIT) {
            emu_fault(w, in, EMU_OUT_OF_BOUNDS, 0, "%s reaches shared address 0x%x; shared memory has 0x%x bytes",
                      which, at, w->m->shared_bytes);
            return false;
        }
        if (!w->m->checks)
            continue;
        if (!emu_bits_all(w->m->shared_written, at, UNIT))
            emu_fault(w, in, EMU_UNINITIALISED, 0, "%s: shared memory at 0x%x is read before it is written", which, at);
        if (!emu_shadow_async(w, &access, at, UNIT, &why, &kind))
            emu_fault(w, in, kind, 0, "%s: shared memory at 0x%x: %s", which, at, why);
    }
    return true;
}

static bool check_shared(Warp *w, const Inst *in, const WgmmaOp *op)
{
    const WgmmaRow *row = in->fn.row;
    WgmmaMatrix b = emu_wgmma_matrix(op->b, in->aux, row->k, emu_types[row->b].bytes, !(in->imm & WG_TRANS_B));
    bool ok = true;

    if (!(in->imm & WG_A_REGISTERS)) {
        WgmmaMatrix a = emu_wgmma_matrix(op->a, 64, row->k, emu_types[row->a].bytes, !(in->imm & WG_TRANS_A));

        ok = check_matrix(w, in, &a, "A");
    }
    return check_matrix(w, in, &b, "B") && ok;
}

/* Bits 49 to 51 place swizzle patterns that do not start where their size says. */
static void check_descriptor(Warp *w, const Inst *in, uint64_t descriptor)
{
    if (descriptor >> 49 & 7)
        emu_fault(w, in, EMU_MISALIGNED, 0, "a matrix descriptor with a base offset is not emulated");
}

/* ---- issue ------------------------------------------------------------------------------------ */

static uint64_t uniform_descriptor(Warp *w, const Inst *in, int k)
{
    const Lane64 *lanes = src_at(w, in, k);

    for (int l = 1; l < LANES; l++) {
        if (lanes[l] != lanes[0]) {
            emu_fault(w, in, EMU_DIVERGENT, l, "the lanes of a warp give different matrix descriptors");
            break;
        }
    }
    check_descriptor(w, in, lanes[0]);
    return lanes[0];
}

/* The operation as this warp sees it. */
static WgmmaOp read_op(Warp *w, const Inst *in)
{
    bool registers = in->imm & WG_A_REGISTERS;
    uint32_t add = *(Lane32 *)src_at(w, in, registers ? 5 : 2);

    if (add != 0 && add != FULL)
        emu_fault(w, in, EMU_DIVERGENT, first_lane(add), "the lanes of a warp differ in scale-d");
    return (WgmmaOp){ .in = in, .a = registers ? 0 : uniform_descriptor(w, in, 0),
                      .b = uniform_descriptor(w, in, registers ? 4 : 1),
                      .add = (add != 0) != (bool)(in->imm & WG_NOT_ADD) };
}

static void wake_group(Machine *m, int group)
{
    for (int i = group * WARPGROUP; i < (group + 1) * WARPGROUP && i < m->warp_count; i++) {
        Warp *w = &m->warps[i];

        if (w->state == WARP_WAITING && w->async->wait == WAIT_WGMMA)
            w->state = WARP_READY;
    }
}

/* The four warps' issues of one number meet in one operation. */
static void join_op(Warp *w, const WgmmaOp *mine)
{
    Warpgroup *g = group_of(w);
    int index = g->head + (int)(w->async->issued - g->first);
    WgmmaOp *op;

    if (index == g->ops.len)
        vec_push(w->m->arena, &g->ops, *mine);
    op = &g->ops.data[index];
    if (op->in != mine->in || op->a != mine->a || op->b != mine->b || op->add != mine->add)
        emu_fault(w, mine->in, EMU_DIVERGENT, 0,
                  "the warps of a warpgroup issue different wgmma: another stands at line %d", op->in->line);
    op->bad |= mine->bad;
    op->issued |= (uint8_t)(1u << w->index % WARPGROUP);
    if (op->issued == (1u << WARPGROUP) - 1)
        wake_group(w->m, w->index / WARPGROUP);
}

static bool has_group(Warp *w, const Inst *in)
{
    if (w->index / WARPGROUP * WARPGROUP + WARPGROUP <= w->m->warp_count)
        return true;
    emu_fault(w, in, EMU_DIVERGENT, 0, "a wgmma takes four warps from a multiple of four on, and the block has %d",
              w->m->warp_count);
    w->m->run->stop = true;
    return false;
}

void emu_exec_wgmma(Warp *w, const Inst *in, uint32_t mask)
{
    WgmmaOp op;

    (void)mask; /* all 32: the instruction is IF_FULL */
    if (!has_group(w, in))
        return;
    op = read_op(w, in);
    w->async->issued++;
    w->async->issued_line = in->line;
    if (w->m->checks)
        check_registers(w, in, &op);
    op.bad = !check_shared(w, in, &op);
    join_op(w, &op);
}

/* wgmma.fence: what came before it in this warp touches registers before what follows. */
void emu_exec_wgmma_fence(Warp *w, const Inst *in, uint32_t mask)
{
    (void)in, (void)mask;
    w->async->fences++;
}

/* ---- completion --------------------------------------------------------------------------------- */

bool emu_wgmma_ready(const Machine *m, int group)
{
    const Warpgroup *g = &m->async->groups[group];

    return g->head < g->ops.len && g->ops.data[g->head].issued == (1u << WARPGROUP) - 1;
}

void emu_wgmma_execute(Machine *m, int group)
{
    Warpgroup *g = &m->async->groups[group];

    m->async->progress++;
    emu_wgmma_multiply(m, group, &g->ops.data[g->head]);
    g->head++;
    g->first++;
    if (g->head == g->ops.len)
        g->head = g->ops.len = 0;
}

void emu_exec_wgmma_commit(Warp *w, const Inst *in, uint32_t mask)
{
    AsyncWarp *a = w->async;

    (void)in, (void)mask;
    a->group_end[a->commits++ % GROUP_RING] = a->issued;
}

/* imm: how many of the youngest groups may be left */
void emu_exec_wgmma_wait(Warp *w, const Inst *in, uint32_t mask)
{
    AsyncWarp *a = w->async;
    Warpgroup *g = group_of(w);
    uint32_t left = (uint32_t)in->imm, upto;

    (void)mask;
    if (a->commits <= left)
        return;
    upto = a->group_end[(a->commits - left - 1) % GROUP_RING];
    while (g->first <= upto) {
        if (!emu_wgmma_ready(w->m, w->index / WARPGROUP)) {
            emu_async_block(w, in, WAIT_WGMMA);
            return;
        }
        emu_wgmma_execute(w->m, w->index / WARPGROUP);
    }
    if (upto > a->waited) {
        a->waited = upto;
        w->seen[warpgroup_agent(w->m, w->index / WARPGROUP)] = upto;
        w->version++;
    }
}

void emu_wgmma_end_block(Machine *m)
{
    for (int i = 0; i < m->warp_count; i++) {
        const Warp *w = &m->warps[i];
        const Warpgroup *g = group_of(w);

        if (w->async->issued > w->async->waited && w->state == WARP_DONE)
            emu_fault_block(m, EMU_IN_FLIGHT, w->async->issued_line, i * LANES,
                            "the warp exits and this wgmma has not been waited for");
        if (g->head < g->ops.len && w->state == WARP_DONE && w->async->issued < g->first)
            emu_fault_block(m, EMU_DIVERGENT, g->ops.data[g->head].in->line, i * LANES,
                            "warp %d of the warpgroup did not issue this wgmma", i);
    }
}
