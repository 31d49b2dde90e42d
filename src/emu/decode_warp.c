/* decode_warp.c: operands of what a warp or a block does together, and of control. */
#include "emu/ptx.h"

static bool need_sync(Decoding *d)
{
    if (emu_mod(d, "sync"))
        return true;
    emu_bad_operands(d, "only the .sync form is known");
    return false;
}

/* ---- tensor cores --------------------------------------------------------------- */

static const MmaRow *find_mma(Decoding *d, EmuType a, EmuType b, EmuType acc)
{
    for (int i = 0; i < emu_mma_row_count; i++) {
        const MmaRow *row = &emu_mma_rows[i];

        if (row->a == a && row->b == b && row->d == acc && emu_mod(d, row->shape))
            return row;
    }
    return NULL;
}

/* mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c */
void emu_decode_mma(Decoding *d)
{
    EmuType to, a, b, from;
    const MmaRow *row;
    Inst *in;

    if (!need_sync(d) || !emu_mod(d, "aligned") || !emu_mod(d, "row") || !emu_mod(d, "col")) {
        emu_bad_operands(d, "only mma.sync.aligned of .row.col is known");
        return;
    }
    emu_mod(d, "kind::f8f6f4");
    to = emu_need_type(d);
    a = emu_need_type(d);
    b = emu_need_type(d);
    from = emu_need_type(d);
    row = d->bad || to != from ? NULL : find_mma(d, a, b, to);
    if (!row && !d->bad && to == from && emu_decode_mma_exact(d, a, b, to))
        return;
    if (!row) {
        if (!d->bad)
            diag_add(d->p->diags, TW0823, d->s->span, "the emulator does not know this mma");
        return;
    }
    if (!emu_need_args(d, 4, 4))
        return;
    emu_dst_items(d, &d->s->args[0], ET_B32, row->nd);
    emu_src_items(d, &d->s->args[1], ET_B32, row->na);
    emu_src_items(d, &d->s->args[2], ET_B32, row->nb);
    emu_src_items(d, &d->s->args[3], ET_B32, row->nd);
    in = emu_ptx_emit(d, emu_exec_mma);
    if (!in)
        return;
    in->fn.row = row;
    in->flags |= IF_ALIGNED | IF_FULL;
}

/* ---- exchange within a warp ------------------------------------------------------------ */

/* shfl.sync.mode.b32 d[|p], a, b, c, membermask */
void emu_decode_shfl(Decoding *d)
{
    static const char *const modes[] = { "up", "down", "bfly", "idx" };
    const Arg *to = &d->s->args[0];
    int mode;
    Inst *in;

    if (!need_sync(d))
        return;
    if (!emu_mod_one_of(d, modes, 4, &mode)) {
        emu_bad_operands(d, "shfl lacks a mode");
        return;
    }
    emu_mod(d, "b32");
    if (!emu_need_args(d, 5, 5))
        return;
    emu_dst(d, to->kind == ARG_PAIR ? emu_item(d, to, 0) : to, ET_B32);
    if (to->kind == ARG_PAIR)
        emu_dst(d, emu_item(d, to, 1), ET_PRED);
    for (int i = 1; i < 5; i++)
        emu_src(d, &d->s->args[i], ET_B32);
    in = emu_ptx_emit(d, emu_exec_shfl);
    if (!in)
        return;
    in->aux = mode;
    in->flags |= IF_OTHERS;
}

/* vote.sync.(all|any|uni).pred p, [!]a, membermask; vote.sync.ballot.b32 d, [!]a, membermask */
void emu_decode_vote(Decoding *d)
{
    static const char *const modes[] = { "all", "any", "uni", "ballot" };
    int mode;
    Inst *in;

    if (!need_sync(d))
        return;
    if (!emu_mod_one_of(d, modes, 4, &mode) || !emu_mod(d, mode == 3 ? "b32" : "pred")) {
        emu_bad_operands(d, "vote lacks a mode");
        return;
    }
    if (!emu_need_args(d, 3, 3))
        return;
    emu_dst(d, &d->s->args[0], mode == 3 ? ET_B32 : ET_PRED);
    emu_src_pred(d, &d->s->args[1]);
    emu_src(d, &d->s->args[2], ET_B32);
    in = emu_ptx_emit(d, emu_exec_vote);
    if (!in)
        return;
    in->aux = mode;
    in->imm = d->s->args[1].negated;
}

/* match.any.sync.type d, a, membermask; match.all.sync.type d[|p], a, membermask */
void emu_decode_match(Decoding *d)
{
    const Arg *to = &d->s->args[0];
    bool all = emu_mod(d, "all");
    EmuType type;
    Inst *in;

    if ((!all && !emu_mod(d, "any")) || !need_sync(d)) {
        emu_bad_operands(d, "match takes .any or .all");
        return;
    }
    type = emu_need_type(d);
    if (!emu_need_args(d, 3, 3))
        return;
    emu_dst(d, to->kind == ARG_PAIR ? emu_item(d, to, 0) : to, ET_B32);
    if (to->kind == ARG_PAIR)
        emu_dst(d, emu_item(d, to, 1), ET_PRED);
    emu_src(d, &d->s->args[1], type);
    emu_src(d, &d->s->args[2], ET_B32);
    in = emu_ptx_emit(d, emu_exec_match);
    if (!in)
        return;
    in->aux = all;
    in->bytes = emu_types[type].bytes == 8 ? 8 : 4;
}

/* redux.sync.op.type d, a, membermask */
void emu_decode_redux(Decoding *d)
{
    static const char *const ops[] = { "add", "min", "max", "and", "or", "xor" };
    EmuType type;
    int op;
    Inst *in;

    if (!need_sync(d))
        return;
    if (!emu_mod_one_of(d, ops, 6, &op)) {
        emu_bad_operands(d, "redux lacks an operation");
        return;
    }
    type = emu_need_type(d);
    if (emu_types[type].bytes != 4 || type == ET_F32) {
        emu_bad_operands(d, "redux works on 32-bit integers");
        return;
    }
    if (!emu_need_args(d, 3, 3))
        return;
    emu_dst(d, &d->s->args[0], type);
    emu_src(d, &d->s->args[1], type);
    emu_src(d, &d->s->args[2], ET_B32);
    in = emu_ptx_emit(d, emu_exec_redux);
    if (!in)
        return;
    in->aux = op;
    in->type = (uint8_t)type;
}

void emu_decode_activemask(Decoding *d)
{
    emu_mod(d, "b32");
    if (!emu_need_args(d, 1, 1))
        return;
    emu_dst(d, &d->s->args[0], ET_B32);
    emu_ptx_emit(d, emu_exec_activemask);
}

/* elect.sync d|p, membermask */
void emu_decode_elect(Decoding *d)
{
    const Arg *to = &d->s->args[0];

    if (!need_sync(d) || !emu_need_args(d, 2, 2))
        return;
    if (to->kind != ARG_PAIR) {
        emu_bad_operands(d, "elect.sync gives d|p");
        return;
    }
    emu_dst(d, emu_item(d, to, 0), ET_B32);
    emu_dst(d, emu_item(d, to, 1), ET_PRED);
    emu_src(d, &d->s->args[1], ET_B32);
    emu_ptx_emit(d, emu_exec_elect);
}

/* ---- barriers and fences -------------------------------------------------------------------- */

static void decode_bar_warp(Decoding *d)
{
    if (!need_sync(d) || !emu_need_args(d, 1, 1))
        return;
    emu_src(d, &d->s->args[0], ET_B32);
    emu_ptx_emit(d, emu_exec_bar_warp);
}

/* barrier.cluster.arrive{.release|.relaxed}{.aligned}; barrier.cluster.wait{.acquire}{.aligned} */
static void decode_bar_cluster(Decoding *d)
{
    bool aligned = emu_mod(d, "aligned"), arrive = emu_mod(d, "arrive"), relaxed = false;
    Inst *in;

    if (arrive) {
        relaxed = emu_mod(d, "relaxed");
        if (!relaxed)
            emu_mod(d, "release");
    } else if (emu_mod(d, "wait")) {
        emu_mod(d, "acquire");
    } else {
        emu_bad_operands(d, "barrier.cluster is .arrive or .wait");
        return;
    }
    if (!emu_need_args(d, 0, 0))
        return;
    in = emu_ptx_emit(d, arrive ? emu_exec_cluster_arrive : emu_exec_cluster_wait);
    if (!in)
        return;
    in->flags |= (aligned ? (uint32_t)IF_ALIGNED : 0) | (relaxed ? 0 : (uint32_t)IF_RELEASE);
    d->p->entry->cluster_barrier = true;
}

/* bar{.cta}.red.popc.u32 d, a{, b}, [!]c; bar{.cta}.red.(and|or).pred p, a{, b}, [!]c; the same of barrier */
static void decode_bar_reduce(Decoding *d, bool aligned)
{
    static const char *const names[] = { "popc", "and", "or" };
    static const BarReduce ops[] = { BAR_POPC, BAR_AND, BAR_OR };
    int which, last;
    Inst *in;

    if (!emu_mod_one_of(d, names, 3, &which) || !emu_mod(d, which ? "pred" : "u32")) {
        emu_bad_operands(d, "bar.red is .popc.u32, .and.pred or .or.pred");
        return;
    }
    if (!emu_need_args(d, 3, 4))
        return;
    last = d->s->argc - 1;
    emu_dst(d, &d->s->args[0], which ? ET_PRED : ET_U32);
    for (int i = 1; i < last; i++)
        emu_src(d, &d->s->args[i], ET_B32);
    emu_src_pred(d, &d->s->args[last]);
    in = emu_ptx_emit(d, emu_exec_bar);
    if (!in)
        return;
    in->aux = (int32_t)ops[which];
    in->imm = d->s->args[last].negated;
    in->flags |= aligned ? (uint32_t)IF_ALIGNED : 0;
}

/* bar{.cta}.(sync|arrive) a{, b}; barrier{.cta}.(sync|arrive){.aligned} a{, b} */
void emu_decode_bar(Decoding *d)
{
    bool arrive, aligned;
    Inst *in;

    if (emu_mod(d, "warp")) {
        decode_bar_warp(d);
        return;
    }
    if (emu_mod(d, "cluster")) {
        decode_bar_cluster(d);
        return;
    }
    emu_mod(d, "cta");
    aligned = emu_mod(d, "aligned") || strcmp(d->s->opcode, "bar") == 0;
    arrive = emu_mod(d, "arrive");
    if (emu_mod(d, "red")) {
        decode_bar_reduce(d, aligned);
        return;
    }
    if (!arrive && !emu_mod(d, "sync")) {
        emu_bad_operands(d, "only .sync and .arrive barriers are known");
        return;
    }
    if (!emu_need_args(d, arrive ? 2 : 1, 2))
        return;
    for (int i = 0; i < d->s->argc; i++)
        emu_src(d, &d->s->args[i], ET_B32);
    in = emu_ptx_emit(d, emu_exec_bar);
    if (in)
        in->flags |= (aligned ? (uint32_t)IF_ALIGNED : 0) | (arrive ? (uint32_t)IF_ARRIVE : 0);
}

/* fence.proxy.async…; fence.mbarrier_init.release.cluster */
static bool decode_async_fence(Decoding *d)
{
    static const char *const spaces[] = { "shared::cta", "shared::cluster", "global" };
    bool proxy = d->s->mod_count >= 2 && strcmp(d->s->mods[0], "proxy") == 0 && strcmp(d->s->mods[1], "async") == 0;
    bool init = emu_mod(d, "mbarrier_init");
    int which;

    if (!proxy && !init)
        return false;
    if (proxy) {
        emu_mod(d, "proxy");
        emu_mod(d, "async");
        emu_mod_one_of(d, spaces, (int)TW_COUNT(spaces), &which);
    } else if (!emu_mod(d, "release") || !emu_mod(d, "cluster")) {
        emu_bad_operands(d, "only fence.mbarrier_init.release.cluster is known");
    }
    if (emu_need_args(d, 0, 0))
        emu_ptx_emit(d, proxy ? emu_exec_fence_proxy : emu_exec_fence_init);
    return true;
}

/* membar.level, which is fence.sc; fence{.sem}.scope, .acq_rel without .sem. One with .proxy.alias orders nothing here. */
void emu_decode_fence(Decoding *d)
{
    static const char *const scopes[] = { "cta", "cluster", "gpu", "gl", "sys" };
    static const Scope meant[] = { SCOPE_BLOCK, SCOPE_CLUSTER, SCOPE_DEVICE, SCOPE_DEVICE, SCOPE_DEVICE };
    bool acquires, releases, alias;
    int scope;
    Inst *in;

    if (decode_async_fence(d))
        return;
    alias = emu_mod(d, "proxy") && emu_mod(d, "alias");
    acquires = emu_mod(d, "acquire");
    releases = emu_mod(d, "release");
    if (emu_mod(d, "sc") || emu_mod(d, "acq_rel") || (!acquires && !releases))
        acquires = releases = true;
    if (!emu_mod_one_of(d, scopes, (int)TW_COUNT(scopes), &scope) && !alias) {
        emu_bad_operands(d, "a fence has a scope");
        return;
    }
    if (!emu_need_args(d, 0, 0))
        return;
    in = emu_ptx_emit(d, alias ? emu_exec_nop : emu_exec_fence);
    if (!in || alias)
        return;
    in->scope = (uint8_t)meant[scope];
    in->flags |= (acquires ? (uint32_t)IF_ACQUIRE : 0) | (releases ? (uint32_t)IF_RELEASE : 0);
    d->p->entry->flags = true;
}

/* ---- control ----------------------------------------------------------------------------------- */

/* bra{.uni} label */
void emu_decode_bra(Decoding *d)
{
    bool uniform = emu_mod(d, "uni");
    const Arg *to = &d->s->args[0];
    Fixup fixup;
    Inst *in;

    if (!emu_need_args(d, 1, 1))
        return;
    if (to->kind != ARG_LABEL) {
        emu_bad_operands(d, "expected a label");
        return;
    }
    in = emu_ptx_emit(d, emu_exec_bra);
    if (!in)
        return;
    in->aux = uniform;
    fixup = (Fixup){ d->p->entry->code.len - 1, NULL, d->p->scope_ids[d->p->depth - 1], to->name, to->span };
    vec_push(d->p->arena, &d->p->fixups, fixup);
}

/* brx.idx{.uni} index, list */
void emu_decode_brx(Decoding *d)
{
    const BranchTargets *targets;
    Inst *in;

    emu_mod(d, "uni");
    if (!emu_mod(d, "idx") || !emu_need_args(d, 2, 2))
        return;
    targets = d->s->args[1].kind == ARG_LABEL ? emu_ptx_targets(d->p, d->s->args[1].name) : NULL;
    if (!targets) {
        emu_bad_operands(d, "expected the label of a list of .branchtargets");
        return;
    }
    emu_src(d, &d->s->args[0], ET_U32);
    in = emu_ptx_emit(d, emu_exec_brx);
    if (in)
        in->fn.row = targets;
}

void emu_decode_exit(Decoding *d)
{
    emu_mod(d, "uni");
    if (emu_need_args(d, 0, 0))
        emu_ptx_emit(d, emu_exec_exit);
}

/* ret{.uni}: an entry's exits; that of a function goes to where the call ends. */
void emu_decode_ret(Decoding *d)
{
    Fixup fixup;
    Inst *in;

    if (!d->p->call) {
        emu_decode_exit(d);
        return;
    }
    emu_mod(d, "uni");
    if (!emu_need_args(d, 0, 0))
        return;
    in = emu_ptx_emit(d, emu_exec_bra);
    if (!in)
        return;
    fixup = (Fixup){ d->p->entry->code.len - 1, NULL, d->p->call->scope, d->p->call->end, d->s->span };
    vec_push(d->p->arena, &d->p->fixups, fixup);
}

void emu_decode_trap(Decoding *d)
{
    if (emu_need_args(d, 0, 0))
        emu_ptx_emit(d, emu_exec_trap);
}

/* Hints without an effect here; whatever they name is read past. */
void emu_decode_nop(Decoding *d)
{
    d->s->used = ~0u;
    emu_ptx_emit(d, emu_exec_nop);
}
