/* exec_mem.c: loads, stores and atomics: data between registers and memory. */
#include "emu/machine.h"

/* ---- a lane's elements ------------------------------------------------------------ */

static uint64_t load_element(const uint8_t *from, int bytes, bool is_signed)
{
    uint64_t bits = 0;
    int shift = 64 - 8 * bytes;

    memcpy(&bits, from, (size_t)bytes);
    return is_signed ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits;
}

static void set_lane(void *lanes, int width, int register_bytes, int l, uint64_t bits)
{
    if (width == 8)
        ((Lane64 *)lanes)[l] = bits;
    else
        ((Lane32 *)lanes)[l] = (uint32_t)bits & (register_bytes == 2 ? 0xffffu : FULL);
}

static int register_bytes(const Warp *w, Place place)
{
    return emu_types[w->m->entry->slots.data[place.slot].type].bytes;
}

/* The common case: 32-bit elements into 32-bit registers. */
static void load_words(Warp *w, const Inst *in, uint32_t mask, uint8_t *const at[LANES])
{
    for (int j = 0; j < in->vec; j++) {
        Lane32 *d = op_at(w, in, j);

        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            int l = first_lane(rest);
            uint32_t word;

            memcpy(&word, at[l] + 4 * j, 4);
            d[l] = word;
        }
    }
}

static void load_any(Warp *w, const Inst *in, uint32_t mask, uint8_t *const at[LANES])
{
    for (int j = 0; j < in->vec; j++) {
        int bytes = register_bytes(w, in->op[j]);
        void *d = op_at(w, in, j);

        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            int l = first_lane(rest);

            set_lane(d, in->aux, bytes, l,
                     load_element(at[l] + in->bytes * j, in->bytes, in->flags & IF_SIGNED));
        }
    }
}

/* Lanes whose address was wrong read zeros. */
static void clear_lanes(Warp *w, const Inst *in, uint32_t mask)
{
    for (int j = 0; j < in->nd && mask; j++) {
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            set_lane(op_at(w, in, j), in->aux, 8, first_lane(rest), 0);
    }
}

static bool minds_flags(const Warp *w)
{
    return w->m->entry->flags && w->m->checks;
}

void emu_exec_ld(Warp *w, const Inst *in, uint32_t mask)
{
    uint64_t address[LANES];
    uint8_t *at[LANES];
    uint32_t ok;

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    ok = emu_access(w, in, mask, (Space)in->space, address, in->bytes * in->vec, ACCESS_READ, at);
    if (in->flags & IF_STRONG && minds_flags(w))
        emu_flags_read(w, in, ok, at);
    if (in->bytes == 4 && in->aux == 4)
        load_words(w, in, ok, at);
    else
        load_any(w, in, ok, at);
    clear_lanes(w, in, mask & ~ok);
}

/* Parameters are the same for all threads. */
void emu_exec_ld_param(Warp *w, const Inst *in, uint32_t mask)
{
    const EmuLaunch *launch = w->m->launch;
    uint8_t *at[LANES];

    if ((size_t)in->imm + (size_t)in->bytes * in->vec > launch->param_bytes) {
        emu_fault(w, in, EMU_OUT_OF_BOUNDS, first_lane(mask),
                  "the launch gives %llu bytes of parameters, the entry has %d",
                  (unsigned long long)launch->param_bytes, w->m->entry->param_bytes);
        clear_lanes(w, in, mask);
        return;
    }
    for (int l = 0; l < LANES; l++)
        at[l] = (uint8_t *)(uintptr_t)launch->params + in->imm;
    load_any(w, in, mask, at);
}

/* ---- stores --------------------------------------------------------------------------- */

static void store_words(Warp *w, const Inst *in, uint32_t mask, uint8_t *const at[LANES])
{
    for (int j = 0; j < in->vec; j++) {
        const Lane32 *s = src_at(w, in, 1 + j);

        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            int l = first_lane(rest);
            uint32_t word = s[l];

            memcpy(at[l] + 4 * j, &word, 4);
        }
    }
}

static void store_lane(Warp *w, const Inst *in, int l, uint8_t *to)
{
    for (int j = 0; j < in->vec; j++) {
        uint64_t bits = lane_bits(src_at(w, in, 1 + j), in->aux, l);

        memcpy(to + in->bytes * j, &bits, in->bytes);
    }
}

bool emu_stores_same(Warp *w, const Inst *in, int l, const uint8_t *at)
{
    for (int j = 0; j < in->vec; j++) {
        uint64_t bits = lane_bits(src_at(w, in, 1 + j), in->aux, l);

        if (memcmp(at + in->bytes * j, &bits, in->bytes) != 0)
            return false;
    }
    return true;
}

/* Lanes write places that rise from lane to lane: the common case, without conflict. */
static bool rising(uint32_t mask, uint8_t *const at[LANES], int bytes)
{
    const uint8_t *after = NULL;

    for (; mask; mask &= mask - 1) {
        if (at[first_lane(mask)] < after)
            return false;
        after = at[first_lane(mask)] + bytes;
    }
    return true;
}

/* Which of several lanes that write one place wins is undefined (PTX ISA,
 * "Memory Consistency Model"): a lane that does not find its value has lost. */
static void check_conflicts(Warp *w, const Inst *in, uint32_t mask, uint8_t *const at[LANES])
{
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);

        if (!emu_stores_same(w, in, l, at[l]))
            emu_fault(w, in, EMU_RACE, l, "two lanes of one store write different values to one place");
    }
}

void emu_exec_st(Warp *w, const Inst *in, uint32_t mask)
{
    uint64_t address[LANES];
    uint8_t *at[LANES];
    uint32_t ok;

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    ok = emu_access(w, in, mask, (Space)in->space, address, in->bytes * in->vec, ACCESS_WRITE, at);
    if (in->flags & IF_STRONG && minds_flags(w))
        emu_flags_write(w, in, ok, at, false);
    if (in->bytes == 4 && in->aux == 4) {
        store_words(w, in, ok, at);
    } else {
        for (uint32_t rest = ok; rest; rest &= rest - 1)
            store_lane(w, in, first_lane(rest), at[first_lane(rest)]);
    }
    if (w->m->checks && in->space != SPACE_LOCAL && (!(in->flags & IF_STRONG) || in->flags & IF_VOLATILE) && !rising(ok, at, in->bytes * in->vec))
        check_conflicts(w, in, ok, at);
}

/* ---- atomics ----------------------------------------------------------------------------- */

bool emu_atomic_known(Atomic op, EmuType type)
{
    bool integer = emu_types[type].kind == TK_UNSIGNED || emu_types[type].kind == TK_SIGNED;
    bool sized = emu_types[type].bytes == 4 || emu_types[type].bytes == 8;

    switch (op) {
    case ATOM_ADD:
        return type == ET_F16 || type == ET_BF16 || (sized && (integer || type == ET_F32 || type == ET_F64 || type == ET_F16X2 ||
                         type == ET_BF16X2));
    case ATOM_INC:
    case ATOM_DEC:
        return type == ET_U32;
    case ATOM_MIN:
    case ATOM_MAX:
        return sized && integer;
    case ATOM_EXCH:
    case ATOM_AND:
    case ATOM_OR:
    case ATOM_XOR:
        return type == ET_B32 || type == ET_B64;
    case ATOM_CAS:
        return type == ET_B32 || type == ET_B64 || type == ET_B16;
    case ATOM_COUNT:
        break;
    }
    return false;
}

static uint32_t add_single(uint32_t a, uint32_t b)
{
    union { uint32_t u; float f; } x = { a }, y = { b };

    x.f += y.f;
    return x.u;
}

static uint64_t add_bits(EmuType type, uint64_t a, uint64_t b)
{
    union { uint64_t u; double d; } x = { a }, y = { b };
    uint32_t a32 = (uint32_t)a, b32 = (uint32_t)b;

    if (type == ET_F32)
        return add_single(a32, b32);
    if (type == ET_F16)
        return emu_f16_store(emu_f16_load(a32) + emu_f16_load(b32));
    if (type == ET_BF16)
        return emu_bf16_store(emu_bf16_load(a32) + emu_bf16_load(b32));
    if (type == ET_F16X2)
        return emu_f16_store(emu_f16_load(a32 & 0xffffu) + emu_f16_load(b32 & 0xffffu)) |
               emu_f16_store(emu_f16_load(a32 >> 16) + emu_f16_load(b32 >> 16)) << 16;
    if (type == ET_BF16X2)
        return emu_bf16_store(emu_bf16_load(a32 & 0xffffu) + emu_bf16_load(b32 & 0xffffu)) |
               emu_bf16_store(emu_bf16_load(a32 >> 16) + emu_bf16_load(b32 >> 16)) << 16;
    if (type != ET_F64)
        return a + b;
    x.d += y.d;
    return x.u;
}

static bool less(EmuType type, uint64_t a, uint64_t b)
{
    if (emu_types[type].kind != TK_SIGNED)
        return a < b;
    return emu_types[type].bytes == 4 ? (int32_t)a < (int32_t)b : (int64_t)a < (int64_t)b;
}

/* The new value; old and b are zero-extended. */
static uint64_t combine(Atomic op, EmuType type, uint64_t old, uint64_t b, uint64_t c)
{
    switch (op) {
    case ATOM_ADD:
        return add_bits(type, old, b);
    case ATOM_INC:
        return old >= b ? 0 : old + 1;
    case ATOM_DEC:
        return old == 0 || old > b ? b : old - 1;
    case ATOM_MIN:
        return less(type, b, old) ? b : old;
    case ATOM_MAX:
        return less(type, old, b) ? b : old;
    case ATOM_EXCH:
        return b;
    case ATOM_CAS:
        return old == b ? c : old;
    case ATOM_AND:
        return old & b;
    case ATOM_OR:
        return old | b;
    case ATOM_XOR:
        return old ^ b;
    case ATOM_COUNT:
        break;
    }
    return old;
}

void emu_exec_atom(Warp *w, const Inst *in, uint32_t mask)
{
    int width = in->bytes == 8 ? 8 : 4;
    bool returns = !(in->flags & IF_NO_RETURN);
    uint64_t address[LANES];
    uint8_t *at[LANES];
    uint32_t ok, changed = 0;

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    ok = emu_access(w, in, mask, (Space)in->space, address, in->bytes, ACCESS_ATOMIC, at);
    if (minds_flags(w))
        emu_flags_read(w, in, ok, at);
    for (uint32_t rest = ok; rest; rest &= rest - 1) {
        int l = first_lane(rest);
        uint64_t old = load_element(at[l], in->bytes, false), fresh;

        fresh = combine((Atomic)in->aux, (EmuType)in->type, old, lane_bits(src_at(w, in, 1), width, l),
                        in->ns > 2 ? lane_bits(src_at(w, in, 2), width, l) : 0);
        memcpy(at[l], &fresh, in->bytes);
        changed |= (uint32_t)(in->aux != ATOM_CAS || fresh != old) << l;
        if (returns)
            set_lane(op_at(w, in, 0), width, 8, l, old);
    }
    if (minds_flags(w))
        emu_flags_write(w, in, changed, at, true);
}
