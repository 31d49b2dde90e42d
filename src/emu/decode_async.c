/* decode_async.c: operands of mbarriers, bulk copies, wgmma and setmaxnreg. */
#include "emu/async.h"
#include "emu/ptx.h"

static void mod_shared(Decoding *d)
{
    emu_mod(d, "shared");
    emu_mod(d, "shared::cta");
    emu_mod(d, "shared::cluster"); /* that of the own block only, see exec_mbarrier.c */
}

static Inst *emit_async(Decoding *d, Exec exec)
{
    Inst *in = emu_ptx_emit(d, exec);

    if (in)
        d->p->entry->async = true;
    return in;
}

static bool need_int(Decoding *d, const Arg *arg, int64_t least, int64_t most)
{
    if (arg->kind == ARG_INT && (int64_t)arg->bits >= least && (int64_t)arg->bits <= most)
        return true;
    emu_bad_operands(d, "this number is not one that the instruction takes");
    return false;
}

/* ---- mbarriers ---------------------------------------------------------------------- */

typedef struct MbarrierForm {
    const char *words[2];
    Exec exec;
    MbarrierOp op;
    int least, most; /* operands */
} MbarrierForm;

/* The longer names stand first. */
static const MbarrierForm mbarrier_forms[] = {
    { { "arrive", "expect_tx" }, emu_exec_mbarrier_arrive, MB_ARRIVE_EXPECT, 3, 3 },
    { { "arrive", NULL }, emu_exec_mbarrier_arrive, MB_ARRIVE, 2, 3 },
    { { "arrive_drop", NULL }, emu_exec_mbarrier_arrive, MB_DROP, 2, 3 },
    { { "init", NULL }, emu_exec_mbarrier_init, MB_INIT, 2, 2 },
    { { "inval", NULL }, emu_exec_mbarrier_inval, MB_INVAL, 1, 1 },
    { { "expect_tx", NULL }, emu_exec_mbarrier_tx, MB_EXPECT, 2, 2 },
    { { "complete_tx", NULL }, emu_exec_mbarrier_tx, MB_COMPLETE, 2, 2 },
    { { "test_wait", NULL }, emu_exec_mbarrier_wait, MB_TEST, 3, 3 },
    { { "try_wait", NULL }, emu_exec_mbarrier_wait, MB_TRY, 3, 4 },
    { { "pending_count", NULL }, emu_exec_mbarrier_pending, MB_PENDING, 2, 2 },
};

static bool has_mod(const Decoding *d, const char *name)
{
    return text_among(d->s->mods, d->s->mod_count, name);
}

static const MbarrierForm *mbarrier_form(Decoding *d)
{
    for (size_t i = 0; i < TW_COUNT(mbarrier_forms); i++) {
        const MbarrierForm *form = &mbarrier_forms[i];

        if (!has_mod(d, form->words[0]) || (form->words[1] && !has_mod(d, form->words[1])))
            continue;
        emu_mod(d, form->words[0]);
        if (form->words[1])
            emu_mod(d, form->words[1]);
        return form;
    }
    emu_bad_operands(d, "this operation of mbarrier is not known");
    return NULL;
}

/* .sem.scope: arrivals release and waits acquire unless .relaxed. */
static uint32_t mbarrier_semantics(Decoding *d)
{
    bool relaxed = emu_mod(d, "relaxed");

    emu_mod(d, "acquire");
    emu_mod(d, "release");
    emu_mod(d, "cta");
    emu_mod(d, "cluster");
    return relaxed ? 0 : IF_ACQUIRE | IF_RELEASE;
}

static void mbarrier_operands(Decoding *d, const MbarrierForm *form, bool parity, int64_t *offset, bool *wide)
{
    const Arg *args = d->s->args;
    bool waits = form->op == MB_TEST || form->op == MB_TRY;
    bool arrives = form->op == MB_ARRIVE || form->op == MB_ARRIVE_EXPECT || form->op == MB_DROP;
    int at = waits || arrives ? 1 : 0;

    if (form->op == MB_PENDING) {
        emu_dst(d, &args[0], ET_B32);
        emu_src(d, &args[1], ET_B64);
        return;
    }
    if (at)
        emu_dst(d, &args[0], waits ? ET_PRED : ET_B64);
    *offset = emu_src_address(d, &args[at], wide);
    if (waits)
        emu_src(d, &args[2], parity ? ET_B32 : ET_B64);
    else if (d->s->argc > at + 1)
        emu_src(d, &args[at + 1], ET_B32);
}

/* mbarrier.op{.sem.scope}{.shared}.b64 … */
void emu_decode_mbarrier(Decoding *d)
{
    const MbarrierForm *form = mbarrier_form(d);
    bool parity = emu_mod(d, "parity"), wide = true;
    uint32_t flags = mbarrier_semantics(d);
    int64_t offset = 0;
    Inst *in;

    emu_mod(d, "noComplete");
    emu_mod(d, "b64");
    mod_shared(d);
    if (!form || !emu_need_args(d, form->least, form->most))
        return;
    mbarrier_operands(d, form, parity, &offset, &wide);
    emu_narrowest(d, SPACE_SHARED, 8);
    in = emit_async(d, form->exec);
    if (!in)
        return;
    in->imm = offset;
    in->aux = form->op;
    in->vec = in->ns > 1;
    in->flags |= flags | (wide ? (uint32_t)IF_WIDE : 0) | (parity ? (uint32_t)IF_PARITY : 0);
}

/* ---- bulk copies ---------------------------------------------------------------------- */

static void decode_bulk_group(Decoding *d, bool wait)
{
    bool read = emu_mod(d, "read");
    Inst *in;

    if (!emu_need_args(d, wait, wait) || (wait && !need_int(d, &d->s->args[0], 0, INT32_MAX)))
        return;
    in = emit_async(d, wait ? emu_exec_bulk_wait : emu_exec_bulk_commit);
    if (!in)
        return;
    in->imm = wait ? (int64_t)d->s->args[0].bits : 0;
    in->aux = read;
}

/* The coordinates in [map, {x, y, …}]. */
static void bulk_coordinates(Decoding *d, const Arg *map, int rank)
{
    const Arg *at = map->kind == ARG_ADDRESS && map->count == 2 ? emu_item(d, map, 1) : NULL;

    if (!at || at->kind != ARG_VECTOR || at->count != rank) {
        emu_bad_operands(d, "expected [map, {coordinates}], one a dimension");
        return;
    }
    for (int i = 0; i < rank; i++)
        emu_src(d, emu_item(d, at, i), ET_S32);
}

static int bulk_rank(Decoding *d)
{
    static const char *const ranks[] = { "1d", "2d", "3d", "4d", "5d" };
    int which;

    if (!emu_mod(d, "tensor"))
        return 0;
    if (emu_mod_one_of(d, ranks, 5, &which))
        return which + 1;
    emu_bad_operands(d, "a tensor copy has 1 to 5 dimensions");
    return 0;
}

typedef struct BulkPlaces { /* which operand is what */
    int shared, global, size, barrier;
} BulkPlaces;

/* load:  [shared], [map, {…}], [mbarrier]      [shared], [global], size, [mbarrier]
 * store: [map, {…}], [shared]                  [global], [shared], size            */
static void bulk_operands(Decoding *d, int rank, bool store, Inst *meant)
{
    BulkPlaces at = { store, !store, 2, rank ? 2 : 3 };
    bool wide, global_wide, barrier_wide = false;

    meant->imm = emu_src_address(d, &d->s->args[at.shared], &wide);
    meant->imm2 = emu_src_address(d, &d->s->args[at.global], &global_wide);
    if (!global_wide)
        emu_bad_operands(d, "a global address has 64 bits");
    if (!store)
        meant->aux = (int32_t)emu_src_address(d, &d->s->args[at.barrier], &barrier_wide);
    if (rank)
        bulk_coordinates(d, &d->s->args[at.global], rank);
    else
        emu_src(d, &d->s->args[at.size], ET_B32);
    meant->flags = (wide ? (uint32_t)IF_WIDE : 0) | (barrier_wide ? (uint32_t)IF_WIDE2 : 0);
}

/* .multicast::cluster: to the one block there is. */
static bool mod_multicast(Decoding *d)
{
    const int *dims = d->p->entry->cluster;
    bool multicast = emu_mod(d, "multicast::cluster");

    if (multicast && dims[0] * dims[1] * dims[2] > 1 && !d->bad) {
        diag_add(d->p->diags, TW0823, d->s->span, "the emulator does not know copies to other blocks of a cluster");
        d->bad = true;
    }
    return multicast;
}

static void decode_bulk_copy(Decoding *d)
{
    int rank = bulk_rank(d), extra, args;
    bool store = emu_mod(d, "bulk_group");
    Inst meant = { 0 }, *in;

    if (!store && !emu_mod(d, "mbarrier::complete_tx::bytes")) {
        emu_bad_operands(d, "a bulk copy completes by .mbarrier::complete_tx::bytes or .bulk_group");
        return;
    }
    emu_mod(d, "tile");
    mod_shared(d);
    emu_mod(d, "shared::cta");
    emu_mod(d, "global");
    extra = mod_multicast(d);
    extra += emu_mod(d, "L2::cache_hint");
    args = (rank ? 2 : 3) + !store + extra;
    if (!emu_need_args(d, args, args))
        return;
    bulk_operands(d, rank, store, &meant);
    emu_narrowest(d, SPACE_SHARED, 16);
    emu_narrowest(d, SPACE_GLOBAL, store && rank ? 4 : 16);
    in = emit_async(d, emu_exec_bulk);
    if (!in)
        return;
    in->imm = meant.imm;
    in->imm2 = meant.imm2;
    in->aux = meant.aux;
    in->flags |= meant.flags;
    in->vec = (uint8_t)rank;
    in->type = store;
}

/* cp.async.bulk…; "async" and "bulk" have been taken */
void emu_decode_bulk(Decoding *d)
{
    d->cls = EMU_BULK;
    if (emu_mod(d, "commit_group")) {
        decode_bulk_group(d, false);
    } else if (emu_mod(d, "wait_group")) {
        decode_bulk_group(d, true);
    } else if (emu_mod(d, "prefetch")) { /* into L2: no effect that a program can see */
        d->s->used = ~0u;
        emu_ptx_emit(d, emu_exec_nop);
    } else {
        decode_bulk_copy(d);
    }
}

/* ---- wgmma ------------------------------------------------------------------------------- */

/* m64nNkK */
static bool wgmma_shape(Decoding *d, int *n, int *k)
{
    for (int i = 0; i < d->s->mod_count; i++) {
        int used = 0;

        if (sscanf(d->s->mods[i], "m64n%3dk%2d%n", n, k, &used) != 2 || d->s->mods[i][used])
            continue;
        d->s->used |= 1u << i;
        return *n >= 8 && *n <= 256 && *n % 8 == 0;
    }
    return false;
}

static const WgmmaRow *wgmma_row(Decoding *d, int k)
{
    EmuType to = emu_need_type(d), a = emu_need_type(d), b = emu_need_type(d);

    for (int i = 0; i < emu_wgmma_row_count; i++) {
        if (emu_wgmma_rows[i].d == to && emu_wgmma_rows[i].a == a && emu_wgmma_rows[i].b == b && emu_wgmma_rows[i].k == k)
            return &emu_wgmma_rows[i];
    }
    return NULL;
}

/* imm-scale-a, imm-scale-b: 1 or -1; imm-trans-a, imm-trans-b: 0 or 1 */
static int64_t wgmma_bits(Decoding *d, const WgmmaRow *row, bool registers)
{
    static const int64_t scale[] = { WG_NEGATE_A, WG_NEGATE_B };
    const Arg *args = d->s->args;
    int64_t bits = registers ? WG_A_REGISTERS : 0;

    if (row->d == ET_S32)
        return bits;
    for (int i = 0; i < 2; i++) {
        int64_t value = (int64_t)args[4 + i].bits;

        if (need_int(d, &args[4 + i], -1, 1) && value != 0)
            bits |= value < 0 ? scale[i] : 0;
        else
            emu_bad_operands(d, "imm-scale is 1 or -1");
    }
    if (!row->transposes)
        return bits;
    if (!registers && need_int(d, &args[6], 0, 1) && args[6].bits)
        bits |= WG_TRANS_A;
    if (need_int(d, &args[7 - registers], 0, 1) && args[7 - registers].bits)
        bits |= WG_TRANS_B;
    return bits;
}

/* wgmma.mma_async.sync.aligned.shape.f32.atype.btype d, a | a-desc, b-desc, scale-d, … */
static void decode_wgmma(Decoding *d)
{
    int n = 0, k = 0, args;
    bool shape = wgmma_shape(d, &n, &k), saturates = emu_mod(d, "satfinite"), registers;
    const WgmmaRow *row = shape ? wgmma_row(d, k) : NULL;
    int64_t bits;
    Inst *in;

    if (!row) {
        if (!d->bad)
            diag_add(d->p->diags, TW0823, d->s->span, "the emulator does not know this wgmma");
        d->bad = true;
        return;
    }
    registers = d->s->argc > 1 && d->s->args[1].kind == ARG_VECTOR;
    args = row->d == ET_S32 ? 4 : row->transposes ? 8 - registers : 6;
    if (saturates && row->d != ET_S32)
        emu_bad_operands(d, "only integers saturate");
    if (!emu_need_args(d, args, args))
        return;
    emu_dst_items(d, &d->s->args[0], row->d == ET_F32 ? ET_F32 : ET_B32, row->d == ET_F16 ? n / 4 : n / 2);
    if (registers)
        emu_src_items(d, &d->s->args[1], ET_B32, 4);
    else
        emu_src(d, &d->s->args[1], ET_B64);
    emu_src(d, &d->s->args[2], ET_B64);
    emu_src_condition(d, &d->s->args[3]);
    bits = wgmma_bits(d, row, registers) | (d->s->args[3].negated ? WG_NOT_ADD : 0);
    emu_narrowest(d, SPACE_SHARED, 16);
    in = emit_async(d, emu_exec_wgmma);
    if (!in)
        return;
    in->fn.row = row;
    in->aux = n;
    in->imm = bits;
    in->flags |= IF_ALIGNED | IF_FULL | IF_WGMMA | (saturates ? (uint32_t)IF_SAT : 0);
}

static void decode_wgmma_wait(Decoding *d)
{
    Inst *in;

    if (!emu_need_args(d, 1, 1) || !need_int(d, &d->s->args[0], 0, GROUP_RING - 1))
        return;
    in = emit_async(d, emu_exec_wgmma_wait);
    if (!in)
        return;
    in->imm = (int64_t)d->s->args[0].bits;
    in->flags |= IF_ALIGNED | IF_FULL;
}

void emu_decode_wgmma(Decoding *d)
{
    bool fence = emu_mod(d, "fence"), commit = emu_mod(d, "commit_group"), wait = emu_mod(d, "wait_group");
    Inst *in;

    if (!emu_mod(d, "sync") || !emu_mod(d, "aligned")) {
        emu_bad_operands(d, "wgmma is .sync.aligned");
    } else if (wait) {
        decode_wgmma_wait(d);
    } else if (fence || commit) {
        if (!emu_need_args(d, 0, 0))
            return;
        in = emit_async(d, fence ? emu_exec_wgmma_fence : emu_exec_wgmma_commit);
        if (in)
            in->flags |= IF_ALIGNED | IF_FULL;
    } else if (emu_mod(d, "mma_async")) {
        decode_wgmma(d);
    } else {
        emu_bad_operands(d, "this operation of wgmma is not known");
    }
}

/* ---- registers -------------------------------------------------------------------------------- */

/* setmaxnreg.(inc|dec).sync.aligned.u32 n: 24 to 256, a multiple of 8 */
void emu_decode_setmaxnreg(Decoding *d)
{
    bool more = emu_mod(d, "inc");
    Inst *in;

    if ((!more && !emu_mod(d, "dec")) || !emu_mod(d, "sync") || !emu_mod(d, "aligned") || !emu_mod(d, "u32")) {
        emu_bad_operands(d, "setmaxnreg is .inc or .dec, .sync.aligned.u32");
        return;
    }
    if (!emu_need_args(d, 1, 1) || !need_int(d, &d->s->args[0], 24, 256))
        return;
    if (d->s->args[0].bits % 8)
        emu_bad_operands(d, "registers come in multiples of 8");
    in = emit_async(d, emu_exec_setmaxnreg);
    if (!in)
        return;
    in->imm = (int64_t)d->s->args[0].bits;
    in->aux = more;
    in->flags |= IF_ALIGNED;
}
