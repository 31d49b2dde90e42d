/* decode_wmma.c: operands of wmma, and of mma of integers, bits and doubles. */
#include "emu/ptx.h"

/* How products of bits are made: where both are set, or where they differ; the sum counts them. */
static bool mod_of_bits(Decoding *d, bool *differ)
{
    *differ = emu_mod(d, "xor");
    return (*differ || emu_mod(d, "and")) && emu_mod(d, "popc");
}

static Inst *emit_product(Decoding *d, Exec exec, const WmmaRow *row, EmuType from, int from_registers)
{
    bool differ = false, saturates = emu_mod(d, "satfinite");
    Inst *in;

    if (row->a == ET_B1 && !mod_of_bits(d, &differ))
        emu_bad_operands(d, "products of bits are .xor.popc or .and.popc");
    if (row->d == ET_F64)
        emu_mod(d, "rn");
    if (saturates && row->d != ET_S32)
        emu_bad_operands(d, "only integers saturate");
    if (!emu_need_args(d, 4, 4))
        return NULL;
    emu_dst_items(d, &d->s->args[0], row->d == ET_F64 ? ET_F64 : ET_B32, row->nd);
    emu_src_items(d, &d->s->args[1], row->a == ET_F64 ? ET_F64 : ET_B32, row->na);
    emu_src_items(d, &d->s->args[2], row->b == ET_F64 ? ET_F64 : ET_B32, row->nb);
    emu_src_items(d, &d->s->args[3], from == ET_F64 ? ET_F64 : ET_B32, from_registers);
    in = emu_ptx_emit(d, exec);
    if (!in)
        return NULL;
    in->fn.row = row;
    in->from = (uint8_t)from;
    in->aux = differ;
    in->flags |= IF_ALIGNED | IF_FULL | (saturates ? (uint32_t)IF_SAT : 0);
    return in;
}

bool emu_decode_mma_exact(Decoding *d, EmuType a, EmuType b, EmuType to)
{
    for (int i = 0; i < emu_mma_exact_row_count; i++) {
        const WmmaRow *row = &emu_mma_exact_rows[i];

        if (row->a == a && row->b == b && row->d == to && emu_mod(d, row->shape)) {
            emit_product(d, emu_exec_mma_exact, row, to, row->nd);
            return true;
        }
    }
    return false;
}

static void unknown(Decoding *d)
{
    if (!d->bad)
        diag_add(d->p->diags, TW0823, d->s->span, "the emulator does not know this wmma");
    d->bad = true;
}

/* The row of a shape that has given types; ET_COUNT: any. */
static const WmmaRow *find_row(Decoding *d, EmuType a, EmuType to)
{
    for (int i = 0; i < emu_wmma_row_count && !d->bad; i++) {
        const WmmaRow *row = &emu_wmma_rows[i];

        if ((a == ET_COUNT || row->a == a) && (to == ET_COUNT || row->d == to) && emu_mod(d, row->shape))
            return row;
    }
    unknown(d);
    return NULL;
}

/* wmma.mma{.op.popc}.sync.aligned.alayout.blayout.shape.dtype{.atype.btype}.ctype{.satfinite} d, a, b, c: the layouts
 * are those that the fragments were loaded with. */
static void decode_product(Decoding *d)
{
    static const char *const layouts[] = { "row", "col" };
    EmuType to, a = ET_F16, from;
    const WmmaRow *row;
    int which;

    for (int i = 0; i < 2; i++) {
        if (!emu_mod_one_of(d, layouts, 2, &which))
            emu_bad_operands(d, "wmma.mma has two layouts");
    }
    to = emu_need_type(d);
    from = emu_need_type(d);
    if (to != ET_F16 && (to != ET_F32 || (from != ET_F32 && from != ET_F16))) {
        a = from;
        if (emu_need_type(d) != a)
            unknown(d);
        from = emu_need_type(d);
    }
    if ((row = find_row(d, a, to)) != NULL)
        emit_product(d, emu_exec_wmma, row, from, from == to ? row->nd : from == ET_F32 ? 8 : 4);
}

/* wmma.load.(a|b|c).sync.aligned.layout.shape{.space}.type r, [p]{, stride}; wmma.store.d… [p], r{, stride} */
static void decode_memory(Decoding *d, bool stores)
{
    static const char *const parts[] = { "a", "b", "c", "d" };
    bool by_columns = emu_mod(d, "col"), wide;
    const Arg *data = &d->s->args[stores], *at = &d->s->args[!stores];
    const WmmaRow *row;
    Space space;
    EmuType type;
    int part = 0, registers;
    int64_t offset;
    Inst *in;

    if (!emu_mod_one_of(d, parts, 4, &part) || (!by_columns && !emu_mod(d, "row"))) {
        emu_bad_operands(d, "wmma says of which matrix, and how it lies");
        return;
    }
    space = emu_mod_space(d);
    type = emu_need_type(d);
    row = find_row(d, part < 2 ? type : ET_COUNT, part < 2 ? ET_COUNT : type);
    if (!row || !emu_need_args(d, 2, 3))
        return;
    registers = part == 0 ? row->na : part == 1 ? row->nb : row->nd;
    if (!stores)
        emu_dst_items(d, data, type == ET_F64 ? ET_F64 : ET_B32, registers);
    offset = emu_src_address(d, at, &wide);
    if (stores)
        emu_src_items(d, data, type == ET_F64 ? ET_F64 : ET_B32, registers);
    if (d->s->argc == 3)
        emu_src(d, &d->s->args[2], ET_B32);
    emu_narrowest(d, space, 4);
    in = emu_ptx_emit(d, stores ? emu_exec_wmma_store : emu_exec_wmma_load);
    if (!in)
        return;
    in->imm = offset;
    in->fn.row = row;
    in->aux = part < 2 ? part : 2;
    in->space = (uint8_t)space;
    in->vec = d->s->argc == 3;
    in->flags |= IF_ALIGNED | IF_FULL | (by_columns ? (uint32_t)IF_TRANS : 0) | (wide ? (uint32_t)IF_WIDE : 0);
}

void emu_decode_wmma(Decoding *d)
{
    bool loads = emu_mod(d, "load"), stores = emu_mod(d, "store"), product = emu_mod(d, "mma");

    if (!emu_mod(d, "sync") || !emu_mod(d, "aligned")) {
        emu_bad_operands(d, "wmma is .sync.aligned");
        return;
    }
    if (product) {
        decode_product(d);
        return;
    }
    d->cls = EMU_OTHER;
    if (loads || stores)
        decode_memory(d, stores);
    else
        unknown(d);
}
