/* exec_async.c: cp.async and its groups (PTX ISA, "Data Movement and Conversion
 * Instructions: Asynchronous copy").
 *
 * The bytes land at the wait at the latest. Under a seed some copies land at
 * once: a program must not depend on either. Until the thread that issued a
 * copy has waited for it, its target is in flight and nobody may touch it.
 */
#include "emu/machine.h"

static void land_bytes(Machine *m, Copy *c)
{
    if (c->landed)
        return;
    memcpy(m->shared + c->to, c->from, c->valid);
    memset(m->shared + c->to + c->valid, 0, (size_t)(c->bytes - c->valid));
    c->landed = true;
}

static void land(Warp *w, Copy *c)
{
    Machine *m = w->m;

    land_bytes(m, c);
    if (!m->checks)
        return;
    emu_shadow_land(w, c->lane, c->to, c->bytes);
    emu_bits_set(m->shared_written, c->to, c->bytes);
}

/* What read for copies that have all landed has done so in this epoch. */
static void end_reads(Warp *w, uint32_t reader)
{
    Writer *r = &w->m->run->writers.data[reader];

    for (int i = 0; i < w->copies.len; i++) {
        if (w->copies.data[i].reader == reader)
            return;
    }
    r->pending = false;
    r->epoch = w->epoch;
    if (w->copy_reader == reader)
        w->copy_reader = 0;
}

/* Lanes of mask wait for their copies of groups before upto[lane]. */
static void land_groups(Warp *w, uint32_t mask, const uint32_t upto[LANES])
{
    int kept = 0, count = w->copies.len;
    VEC(uint32_t) readers = { 0 };

    for (int i = 0; i < count; i++) {
        Copy c = w->copies.data[i];

        if (!lane_on(mask, c.lane) || c.group >= upto[c.lane]) {
            w->copies.data[kept++] = c;
            continue;
        }
        land(w, &c);
        if (c.reader && (!readers.len || readers.data[readers.len - 1] != c.reader))
            vec_push(w->m->arena, &readers, c.reader);
    }
    w->copies.len = kept;
    for (int i = 0; i < readers.len; i++)
        end_reads(w, readers.data[i]);
}

/* How many bytes each lane takes from memory; zeros fill the rest. */
static void valid_bytes(Warp *w, const Inst *in, int valid[LANES])
{
    const Lane32 *given = in->vec ? src_at(w, in, 2) : NULL;

    for (int l = 0; l < LANES; l++) {
        if (in->vec == 2) /* a predicate: ignore the source */
            valid[l] = lane_on(*given, l) ? 0 : in->bytes;
        else
            valid[l] = !given || given[l] > in->bytes ? in->bytes : (int)given[l];
    }
}

static uint32_t check_target(Warp *w, const Inst *in, uint32_t mask, const uint64_t *to)
{
    uint32_t ok = 0;

    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        const char *why;

        if (to[l] & (uint64_t)(in->bytes - 1)) {
            emu_fault(w, in, EMU_MISALIGNED, l, "cp.async to shared address 0x%llx, not a multiple of %d",
                      (unsigned long long)to[l], in->bytes);
        } else if (to[l] > w->m->shared_bytes || w->m->shared_bytes - to[l] < in->bytes) {
            emu_fault(w, in, EMU_OUT_OF_BOUNDS, l,
                      "cp.async to shared address 0x%llx; shared memory has 0x%llx bytes",
                      (unsigned long long)to[l], (unsigned long long)w->m->shared_bytes);
        } else {
            ok |= 1u << l;
            if (w->m->checks && !emu_lanes_alone(w, l, (uint32_t)to[l], in->bytes, ACCESS_WRITE))
                emu_fault(w, in, EMU_ASYNC_RACE, l,
                          "cp.async to shared address 0x%llx: another lane of the warp accesses it and no bar.warp.sync lies between",
                          (unsigned long long)to[l]);
            if (w->m->checks && !emu_shadow_issue(w, l, (uint32_t)to[l], in->bytes, &why))
                emu_fault(w, in, EMU_ASYNC_RACE, l, "cp.async to shared address 0x%llx: %s",
                          (unsigned long long)to[l], why);
        }
    }
    return ok;
}

/* Sources with all their bytes are checked as one access, the ragged ones byte by byte. */
static uint32_t check_source(Warp *w, const Inst *in, uint32_t mask, const uint64_t *from,
                             const int valid[LANES], uint8_t *at[LANES])
{
    uint32_t whole = 0, ok = 0;

    for (int l = 0; l < LANES; l++)
        whole |= (uint32_t)(lane_on(mask, l) && valid[l] == in->bytes) << l;
    if (whole)
        ok = emu_access(w, in, whole, SPACE_GLOBAL, from, in->bytes, ACCESS_READ, at);
    for (uint32_t rest = mask & ~whole; rest; rest &= rest - 1) {
        int l = first_lane(rest);
        uint8_t *byte[LANES];
        uint64_t each[LANES] = { 0 };
        bool fine = true;

        at[l] = NULL;
        if (valid[l] && from[l] & (uint64_t)(in->bytes - 1)) {
            emu_fault(w, in, EMU_MISALIGNED, l, "cp.async from 0x%llx, not a multiple of %d",
                      (unsigned long long)from[l], in->bytes);
            continue;
        }
        for (int i = valid[l]; fine && i-- > 0;) {
            each[l] = from[l] + (uint64_t)i;
            fine = emu_access(w, in, 1u << l, SPACE_GLOBAL, each, 1, ACCESS_READ, byte) != 0;
            at[l] = byte[l];
        }
        ok |= (uint32_t)fine << l;
    }
    return ok;
}

/* The same for who reads until the copies of this group have been waited for; *reader: 0 where nothing can race. */
static uint32_t check_reads(Warp *w, const Inst *in, uint32_t mask, const uint64_t *from, const int valid[LANES],
                            uint8_t *at[LANES], uint32_t *reader)
{
    uint32_t own = w->writer_id, group = mask ? w->commits[first_lane(mask)] : 0, ok;

    w->writer_id = w->copy_group == group ? w->copy_reader : 0;
    ok = check_source(w, in, mask, from, valid, at);
    *reader = w->writer_id;
    if (*reader) {
        w->m->run->writers.data[*reader].pending = true;
        w->copy_reader = *reader;
        w->copy_group = group;
    }
    w->writer_id = own;
    return ok;
}

void emu_exec_cp_async(Warp *w, const Inst *in, uint32_t mask)
{
    static const uint8_t nothing[16];
    uint64_t to[LANES], from[LANES];
    uint8_t *at[LANES];
    int valid[LANES];
    uint32_t readable, reader;
    bool now = w->m->launch->seed && rng_next(&w->m->run->rng) & 1;

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, to);
    emu_addresses(w, in, 1, true, in->imm2, from);
    valid_bytes(w, in, valid);
    mask = check_target(w, in, mask, to);
    readable = check_reads(w, in, mask, from, valid, at, &reader);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        bool ok = lane_on(readable, l) && valid[l];
        Copy c = { .from = ok ? at[l] : nothing, .to = (uint32_t)to[l], .group = w->commits[l], .reader = reader,
                   .bytes = in->bytes, .valid = ok ? (uint8_t)valid[l] : 0, .lane = (uint8_t)l };

        if (now)
            land_bytes(w->m, &c);
        vec_push(w->m->arena, &w->copies, c);
    }
}

void emu_exec_cp_commit(Warp *w, const Inst *in, uint32_t mask)
{
    (void)in;
    for (; mask; mask &= mask - 1)
        w->commits[first_lane(mask)]++;
}

/* wait_group N: all but the N youngest committed groups; wait_all (imm -1):
 * everything, committed or not. */
void emu_exec_cp_wait(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t upto[LANES];

    for (int l = 0; l < LANES; l++) {
        uint32_t committed = w->commits[l];

        if (in->imm < 0) {
            upto[l] = committed + 1;
            w->commits[l] += lane_on(mask, l); /* what comes next is a new group */
        } else {
            upto[l] = committed > (uint64_t)in->imm ? committed - (uint32_t)in->imm : 0;
        }
    }
    land_groups(w, mask, upto);
}
