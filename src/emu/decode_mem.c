/* decode_mem.c: operands of loads, stores, atomics, matrix and asynchronous copies. */
#include "emu/ptx.h"

/* ---- loads and stores --------------------------------------------------------- */

Space emu_mod_space(Decoding *d)
{
    static const char *const names[] = { "global", "shared", "shared::cta", "shared::cluster", "local", "param",
                                         "param::entry", "param::func", "const" };
    static const Space spaces[] = { SPACE_GLOBAL, SPACE_SHARED, SPACE_SHARED, SPACE_CLUSTER, SPACE_LOCAL,
                                    SPACE_PARAM, SPACE_PARAM, SPACE_PARAM, SPACE_GLOBAL };
    int which;

    return emu_mod_one_of(d, names, (int)TW_COUNT(names), &which) ? spaces[which] : SPACE_GENERIC;
}

static int mod_vector(Decoding *d)
{
    return emu_mod(d, "v2") ? 2 : emu_mod(d, "v4") ? 4 : emu_mod(d, "v8") ? 8 : 1;
}

/* .weak .volatile .relaxed.gpu .acquire.cta …: what other accesses it orders, and how far it reaches. Without
 * a scope that is all: .volatile is .relaxed.sys, atomic operations are .gpu (PTX ISA, "ld", "atom"). */
typedef struct Semantics {
    uint32_t flags;
    Scope scope;
} Semantics;

static Semantics mod_semantics(Decoding *d)
{
    static const struct {
        const char *name;
        uint32_t flags;
    } orders[] = {
        { "weak", 0 }, { "volatile", IF_STRONG | IF_VOLATILE }, { "relaxed", IF_STRONG },
        { "acquire", IF_STRONG | IF_ACQUIRE }, { "release", IF_STRONG | IF_RELEASE },
        { "acq_rel", IF_STRONG | IF_ACQUIRE | IF_RELEASE },
    };
    static const char *const scopes[] = { "cta", "cluster", "gpu", "sys" };
    Semantics all = { 0, SCOPE_DEVICE };
    int scope;

    emu_mod_unknown(d, "async"); /* red.async */
    for (size_t i = 0; i < TW_COUNT(orders); i++)
        all.flags |= emu_mod(d, orders[i].name) ? orders[i].flags : 0;
    if (emu_mod_one_of(d, scopes, (int)TW_COUNT(scopes), &scope))
        all.scope = scope < SCOPE_DEVICE ? (Scope)scope : SCOPE_DEVICE;
    return all;
}

static void set_semantics(Decoding *d, Inst *in, Semantics semantics)
{
    in->flags |= semantics.flags;
    in->scope = (uint8_t)semantics.scope;
    if (semantics.flags & (IF_ACQUIRE | IF_RELEASE))
        d->p->entry->flags = true;
    if (semantics.flags & IF_STRONG && in->space != SPACE_GLOBAL)
        d->p->entry->shared_atomics = true;
}

/* Lanes of the data registers are 4 or 8 bytes wide, all alike. */
static int data_width(Decoding *d, int first, int count)
{
    int width = 0;

    for (int i = first; i < first + count && i < d->nd + d->ns; i++) {
        int bytes = emu_types[d->p->entry->slots.data[d->op[i].slot].type].bytes == 8 ? 8 : 4;

        if (d->op[i].slot == 0)
            continue; /* "_" */
        if (width && width != bytes)
            emu_bad_operands(d, "the registers of a vector differ in size");
        width = bytes;
    }
    return width ? width : 4;
}

static bool check_shape(Decoding *d, EmuType type, int vec)
{
    if (type == ET_PRED || emu_types[type].bytes * vec > 16 || emu_types[type].bytes > 8) {
        emu_bad_operands(d, "an access takes at most 16 bytes");
        return false;
    }
    return true;
}

static uint8_t access_class(Space space, bool store)
{
    switch (space) {
    case SPACE_SHARED:
    case SPACE_CLUSTER:
        return store ? EMU_ST_SHARED : EMU_LD_SHARED;
    case SPACE_GLOBAL:
    case SPACE_GENERIC:
        return store ? EMU_ST_GLOBAL : EMU_LD_GLOBAL;
    case SPACE_PARAM:
        return EMU_MOVE;
    case SPACE_LOCAL:
        break;
    }
    return EMU_OTHER;
}

static void set_access(Inst *in, EmuType type, int vec, Space space, int width)
{
    in->type = (uint8_t)type;
    in->bytes = (uint8_t)emu_types[type].bytes;
    in->vec = (uint8_t)vec;
    in->space = (uint8_t)space;
    in->aux = width;
    if (emu_types[type].kind == TK_SIGNED)
        in->flags |= IF_SIGNED;
}

/* ld.param: the address is a parameter's name, so it is known now */
static void decode_ld_param(Decoding *d, EmuType type, int vec)
{
    const Arg *address = &d->s->args[1], *base;
    int64_t offset;
    int width;
    Inst *in;

    if (address->kind != ARG_ADDRESS) {
        emu_bad_operands(d, "expected an address in brackets");
        return;
    }
    base = emu_item(d, address, 0);
    if (base->kind != ARG_SYMBOL || base->symbol->kind != SYM_PARAM) {
        emu_bad_operands(d, "ld.param reads a parameter by its name");
        return;
    }
    offset = base->symbol->offset + address->offset;
    if (offset < 0 || offset + emu_types[type].bytes * vec > d->p->entry->param_bytes) {
        emu_bad_operands(d, "this lies outside the parameters");
        return;
    }
    emu_dst_items(d, &d->s->args[0], type, vec);
    width = data_width(d, 0, vec);
    in = emu_ptx_emit(d, emu_exec_ld_param);
    if (!in)
        return;
    set_access(in, type, vec, SPACE_PARAM, width);
    in->imm = offset;
}

static const Arg *base_of(const Decoding *d, const Arg *address)
{
    return address->kind == ARG_ADDRESS ? emu_item(d, address, 0) : NULL;
}

/* Parameters of a call lie in local memory. */
static bool of_call(const Decoding *d, const Arg *address)
{
    const Arg *base = base_of(d, address);

    return base && base->kind == ARG_SYMBOL && base->symbol->kind == SYM_LOCAL;
}

/* The address of a parameter, of the entry or of a call, is in a register: which one only the launch tells. */
static bool of_register(const Decoding *d, const Arg *address)
{
    const Arg *base = base_of(d, address);

    return base && base->kind == ARG_REGISTER;
}

/* ld{.weak…}{.space}{hints}{.vec}.type d, [a]{, policy}
 * st{.weak…}{.space}{hints}{.vec}.type [a], b{, policy} */
static void decode_access(Decoding *d, bool stores)
{
    Semantics semantics = mod_semantics(d);
    Space space = emu_mod_space(d);
    int vec = mod_vector(d), width;
    bool wide, policy = emu_mod(d, "L2::cache_hint");
    EmuType type;
    int64_t offset;
    Inst *in;

    if (!stores && space == SPACE_GLOBAL)
        emu_mod(d, "nc");
    emu_mod_ignore_hints(d);
    type = emu_need_type(d);
    d->cls = access_class(space, stores);
    if (!emu_need_args(d, 2, policy ? 3 : 2) || !check_shape(d, type, vec))
        return;
    if (space == SPACE_PARAM && of_call(d, &d->s->args[!stores]))
        space = SPACE_LOCAL;
    if (space == SPACE_PARAM && !of_register(d, &d->s->args[!stores])) {
        if (stores)
            emu_bad_operands(d, "an entry cannot write its parameters");
        else
            decode_ld_param(d, type, vec);
        return;
    }
    if (!stores)
        emu_dst_items(d, &d->s->args[0], type, vec);
    offset = emu_src_address(d, &d->s->args[!stores], &wide);
    if (stores)
        emu_src_items(d, &d->s->args[1], type, vec);
    width = data_width(d, stores, vec); /* the address is the first operand of a store */
    emu_narrowest(d, space, emu_types[type].bytes * vec);
    in = emu_ptx_emit(d, stores ? emu_exec_st : emu_exec_ld);
    if (!in)
        return;
    set_access(in, type, vec, space, width);
    in->imm = offset;
    in->flags |= wide ? (uint32_t)IF_WIDE : 0;
    set_semantics(d, in, semantics);
}

void emu_decode_ld(Decoding *d)
{
    decode_access(d, false);
}

/* st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbarrier]; "async" has been taken */
static void decode_st_async(Decoding *d)
{
    bool wide, barrier_wide;
    int vec = mod_vector(d), width;
    int64_t offset, barrier;
    EmuType type;
    Inst *in;

    emu_mod(d, "weak");
    emu_mod(d, "shared::cluster");
    if (!emu_mod(d, "mbarrier::complete_tx::bytes")) {
        emu_bad_operands(d, "st.async completes by .mbarrier::complete_tx::bytes");
        return;
    }
    type = emu_need_type(d);
    d->cls = access_class(SPACE_CLUSTER, true);
    if (!emu_need_args(d, 3, 3) || !check_shape(d, type, vec))
        return;
    if (emu_types[type].bytes < 4)
        emu_bad_operands(d, "st.async stores elements of 4 or 8 bytes");
    offset = emu_src_address(d, &d->s->args[0], &wide);
    emu_src_items(d, &d->s->args[1], type, vec);
    barrier = emu_src_address(d, &d->s->args[2], &barrier_wide);
    width = data_width(d, 1, vec);
    emu_narrowest(d, SPACE_CLUSTER, emu_types[type].bytes * vec);
    in = emu_ptx_emit(d, emu_exec_st_async);
    if (!in)
        return;
    d->p->entry->async = true;
    set_access(in, type, vec, SPACE_CLUSTER, width);
    in->imm = offset;
    in->imm2 = barrier;
    in->flags |= (wide ? (uint32_t)IF_WIDE : 0) | (barrier_wide ? (uint32_t)IF_WIDE2 : 0);
}

void emu_decode_st(Decoding *d)
{
    if (emu_mod(d, "async"))
        decode_st_async(d);
    else
        decode_access(d, true);
}

/* ---- atomics --------------------------------------------------------------------- */

/* atom{.sem}{.scope}{.space}.op.type d, [a], b{, c};  red: without d */
static void decode_atomic(Decoding *d, bool returns)
{
    static const char *const names[ATOM_COUNT] = {
#define ATOMIC(id, name) name,
#include "emu/atomics.def"
#undef ATOMIC
    };
    Semantics semantics = mod_semantics(d);
    Space space = emu_mod_space(d);
    int op = 0, first = returns ? 1 : 0;
    EmuType type;
    int64_t offset;
    bool wide;
    Inst *in;

    emu_mod(d, "noftz");
    emu_mod_ignore_hints(d);
    if (!emu_mod_one_of(d, names, ATOM_COUNT, &op)) {
        emu_bad_operands(d, "this atomic operation is not known");
        return;
    }
    type = emu_need_type(d);
    if (!emu_need_args(d, first + (op == ATOM_CAS ? 3 : 2), first + (op == ATOM_CAS ? 3 : 2)))
        return;
    if (!emu_atomic_known((Atomic)op, type)) {
        emu_bad_operands(d, "this atomic operation does not exist for this type");
        return;
    }
    if (returns)
        emu_dst(d, &d->s->args[0], type);
    offset = emu_src_address(d, &d->s->args[first], &wide);
    for (int i = first + 1; i < d->s->argc; i++)
        emu_src(d, &d->s->args[i], type);
    emu_narrowest(d, space, emu_types[type].bytes);
    d->cls = access_class(space, true);
    in = emu_ptx_emit(d, emu_exec_atom);
    if (!in)
        return;
    set_access(in, type, 1, space, op);
    in->imm = offset;
    in->flags |= (wide ? (uint32_t)IF_WIDE : 0) | (returns ? 0 : (uint32_t)IF_NO_RETURN);
    semantics.flags |= IF_STRONG;
    set_semantics(d, in, semantics);
}

void emu_decode_atom(Decoding *d)
{
    decode_atomic(d, true);
}

void emu_decode_red(Decoding *d)
{
    decode_atomic(d, false);
}

/* prefetch{.space}.level [a]: no effect that a program can see */
void emu_decode_prefetch(Decoding *d)
{
    bool wide;

    emu_mod_space(d);
    emu_mod(d, "L1");
    emu_mod(d, "L2");
    emu_mod(d, "tensormap");
    if (!emu_need_args(d, 1, 1))
        return;
    emu_src_address(d, &d->s->args[0], &wide);
    emu_ptx_emit(d, emu_exec_nop);
}

/* ---- matrices ----------------------------------------------------------------------- */

static int mod_count(Decoding *d)
{
    return emu_mod(d, "x1") ? 1 : emu_mod(d, "x2") ? 2 : emu_mod(d, "x4") ? 4 : 0;
}

/* ldmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16 r, [p] and its store */
static void decode_matrix(Decoding *d, bool store)
{
    const Arg *data = &d->s->args[store], *at = &d->s->args[!store];
    int count;
    bool trans, wide, ok;
    int64_t offset;
    Inst *in;

    ok = emu_mod(d, "sync") && emu_mod(d, "aligned") && emu_mod(d, "m8n8");
    count = mod_count(d);
    trans = emu_mod(d, "trans");
    emu_mod(d, "shared");
    emu_mod(d, "shared::cta");
    ok = ok && emu_mod(d, "b16") && count;
    if (!ok) {
        emu_bad_operands(d, "only .sync.aligned.m8n8.x1, x2, x4 of .b16 are known");
        return;
    }
    if (!emu_need_args(d, 2, 2))
        return;
    if (!store)
        emu_dst_items(d, data, ET_B32, count);
    offset = emu_src_address(d, at, &wide);
    if (store)
        emu_src_items(d, data, ET_B32, count);
    emu_narrowest(d, SPACE_SHARED, 16);
    in = emu_ptx_emit(d, store ? emu_exec_stmatrix : emu_exec_ldmatrix);
    if (!in)
        return;
    in->imm = offset;
    in->vec = (uint8_t)count;
    in->space = SPACE_SHARED;
    in->flags |= IF_ALIGNED | IF_FULL | (trans ? (uint32_t)IF_TRANS : 0) |
                 (wide ? (uint32_t)IF_WIDE : 0);
}

void emu_decode_ldmatrix(Decoding *d)
{
    decode_matrix(d, false);
}

void emu_decode_stmatrix(Decoding *d)
{
    decode_matrix(d, true);
}

/* movmatrix.sync.aligned.m8n8.trans.b16 d, a */
void emu_decode_movmatrix(Decoding *d)
{
    Inst *in;

    if (!(emu_mod(d, "sync") && emu_mod(d, "aligned") && emu_mod(d, "m8n8") && emu_mod(d, "trans") && emu_mod(d, "b16"))) {
        emu_bad_operands(d, "only movmatrix.sync.aligned.m8n8.trans.b16 is known");
        return;
    }
    if (!emu_need_args(d, 2, 2))
        return;
    emu_dst(d, &d->s->args[0], ET_B32);
    emu_src(d, &d->s->args[1], ET_B32);
    in = emu_ptx_emit(d, emu_exec_movmatrix);
    if (in)
        in->flags |= IF_ALIGNED | IF_FULL;
}

/* ---- clusters --------------------------------------------------------------------------- */

/* The address has so many bytes as its type, and is generic or one of the cluster's shared memory. */
static void emit_of_address(Decoding *d, Exec exec, EmuType type, bool generic)
{
    Inst *in = emu_ptx_emit(d, exec);

    if (!in)
        return;
    in->bytes = emu_types[type].bytes == 8 ? 8 : 4;
    in->space = generic ? SPACE_GENERIC : SPACE_CLUSTER;
}

/* mapa{.shared::cluster}.type d, a, rank: without a space both are generic addresses */
void emu_decode_mapa(Decoding *d)
{
    bool generic = !emu_mod(d, "shared::cluster");
    EmuType type = emu_need_type(d);

    if (!emu_need_args(d, 3, 3))
        return;
    emu_dst(d, &d->s->args[0], type);
    emu_src(d, &d->s->args[1], type);
    emu_src(d, &d->s->args[2], ET_B32);
    emit_of_address(d, emu_exec_mapa, type, generic);
}

/* getctarank{.shared::cluster}.type d, a: the type is that of the address */
void emu_decode_getctarank(Decoding *d)
{
    bool generic = !emu_mod(d, "shared::cluster");
    EmuType type = emu_need_type(d);

    if (!emu_need_args(d, 2, 2))
        return;
    emu_dst(d, &d->s->args[0], ET_B32);
    emu_src(d, &d->s->args[1], type);
    emit_of_address(d, emu_exec_getctarank, type, generic);
}

/* ---- cp.async -------------------------------------------------------------------------- */

static void decode_cp_commit(Decoding *d)
{
    if (emu_need_args(d, 0, 0))
        emu_ptx_emit(d, emu_exec_cp_commit);
}

/* cp.async.wait_group N; cp.async.wait_all counts what was not committed too: imm -1 */
static void decode_cp_wait(Decoding *d, bool all)
{
    Inst *in;

    if (!emu_need_args(d, all ? 0 : 1, all ? 0 : 1))
        return;
    if (!all && (d->s->args[0].kind != ARG_INT || d->s->args[0].bits > INT32_MAX)) {
        emu_bad_operands(d, "cp.async.wait_group takes a number");
        return;
    }
    in = emu_ptx_emit(d, emu_exec_cp_wait);
    if (in)
        in->imm = all ? -1 : (int64_t)d->s->args[0].bits;
}

/* cp.async.(ca|cg).shared.global{hints} [dst], [src], size{, src-size} */
static void decode_cp_copy(Decoding *d)
{
    bool cg = emu_mod(d, "cg"), ca = emu_mod(d, "ca"), wide, from_wide, policy;
    const Arg *size = &d->s->args[2];
    int64_t to, from;
    Inst *in;

    emu_mod(d, "shared");
    emu_mod(d, "shared::cta");
    emu_mod(d, "global");
    policy = emu_mod(d, "L2::cache_hint");
    emu_mod_ignore_hints(d);
    if (cg == ca) {
        emu_bad_operands(d, "cp.async takes .ca or .cg");
        return;
    }
    if (!emu_need_args(d, 3, policy ? 5 : 4))
        return;
    if (size->kind != ARG_INT || !(size->bits == 16 || (ca && (size->bits == 4 || size->bits == 8)))) {
        emu_bad_operands(d, "cp.async copies 4, 8 or 16 bytes, with .cg only 16");
        return;
    }
    to = emu_src_address(d, &d->s->args[0], &wide);
    from = emu_src_address(d, &d->s->args[1], &from_wide);
    if (!from_wide)
        emu_bad_operands(d, "a global address has 64 bits");
    if (d->s->argc >= 4)
        emu_src(d, &d->s->args[3], d->s->args[3].kind == ARG_REGISTER &&
                                       d->p->entry->slots.data[d->s->args[3].slot].type == ET_PRED
                                   ? ET_PRED : ET_B32);
    emu_narrowest(d, SPACE_GENERIC, (int)size->bits);
    in = emu_ptx_emit(d, emu_exec_cp_async);
    if (!in)
        return;
    in->imm = to;
    in->imm2 = from;
    in->bytes = (uint8_t)size->bits;
    in->vec = in->ns == 3; /* a source size, or a predicate "ignore the source" */
    if (in->vec && d->p->entry->slots.data[in->op[2].slot].type == ET_PRED)
        in->vec = 2;
    in->flags |= wide ? (uint32_t)IF_WIDE : 0;
}

void emu_decode_cp(Decoding *d)
{
    if (!emu_mod(d, "async")) {
        emu_bad_operands(d, "only cp.async is known");
        return;
    }
    emu_mod_unknown(d, "mbarrier"); /* cp.async.mbarrier.arrive */
    if (emu_mod(d, "bulk"))
        emu_decode_bulk(d);
    else if (emu_mod(d, "commit_group"))
        decode_cp_commit(d);
    else if (emu_mod(d, "wait_group"))
        decode_cp_wait(d, false);
    else if (emu_mod(d, "wait_all"))
        decode_cp_wait(d, true);
    else
        decode_cp_copy(d);
}
