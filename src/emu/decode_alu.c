/* decode_alu.c: operands of arithmetic, moves, conversions, comparisons. */
#include "emu/ptx.h"

/* ---- rows of alu.def ------------------------------------------------------------ */

/* The row for a name and a type; rows of one name lie side by side. */
static const AluRow *find_row(Parser *p, const char *name, EmuType type)
{
    int i = emu_names_get(&p->alu, sym(p->syms, name));

    for (; i >= 0 && i < emu_alu_row_count && strcmp(emu_alu_rows[i].name, name) == 0; i++) {
        if (emu_alu_rows[i].type == type)
            return &emu_alu_rows[i];
    }
    return NULL;
}

/* The opcode with the modifiers that choose a row: "mul.wide", "shf.l.wrap". */
static const char *row_name(Decoding *d)
{
    static const char *const parts[] = { "lo", "hi", "wide", "l", "r", "wrap", "clamp",
                                         "f4e", "b4e", "rc8", "ecl", "ecr", "rc16", "NaN",
                                         "shiftamt", "rz", "rm", "rp" };
    Str name = str_new(d->p->arena);

    str_add(&name, d->s->opcode);
    for (int i = 0; i < d->s->mod_count; i++) {
        for (size_t k = 0; k < TW_COUNT(parts); k++) {
            if (strcmp(d->s->mods[i], parts[k]) == 0 && emu_mod(d, parts[k])) {
                str_addc(&name, '.');
                str_add(&name, parts[k]);
            }
        }
    }
    return str_text(&name);
}

/* How floating-point instructions round, or that they approximate (PTX ISA, under the name of each). */
enum { ROUNDS = 1, APPROXIMATES = 2, FULL_RANGE = 4, MUST_SAY = 8 };
static const struct {
    const char *opcode;
    int says;
} precisions[] = {
    { "add", ROUNDS }, { "sub", ROUNDS }, { "mul", ROUNDS },
    { "fma", ROUNDS | MUST_SAY }, { "mad", ROUNDS | MUST_SAY },
    { "div", ROUNDS | APPROXIMATES | FULL_RANGE | MUST_SAY },
    { "rcp", ROUNDS | APPROXIMATES | MUST_SAY }, { "sqrt", ROUNDS | APPROXIMATES | MUST_SAY },
    { "rsqrt", APPROXIMATES | MUST_SAY }, { "ex2", APPROXIMATES | MUST_SAY }, { "lg2", APPROXIMATES | MUST_SAY },
    { "sin", APPROXIMATES | MUST_SAY }, { "cos", APPROXIMATES | MUST_SAY }, { "tanh", APPROXIMATES | MUST_SAY },
};

/* `directed`: .rz, .rm or .rp chose the row. */
static void take_precision(Decoding *d, bool directed)
{
    int says = 0;
    bool said = directed;

    for (size_t i = 0; i < TW_COUNT(precisions); i++) {
        if (strcmp(precisions[i].opcode, d->s->opcode) == 0)
            says = precisions[i].says;
    }
    said |= says & ROUNDS && emu_mod(d, "rn");
    said |= says & APPROXIMATES && emu_mod(d, "approx");
    said |= says & FULL_RANGE && emu_mod(d, "full");
    if (said || !(says & MUST_SAY) || d->bad)
        return;
    diag_add(d->p->diags, TW0823, d->s->span, "'%s' does not say how it rounds%s", d->s->opcode,
             says & APPROXIMATES ? ", or .approx" : ", as .rn");
    d->bad = true;
}

static bool is_directed(const char *name)
{
    const char *end = strrchr(name, '.');

    return end && (strcmp(end, ".rz") == 0 || strcmp(end, ".rm") == 0 || strcmp(end, ".rp") == 0);
}

static uint32_t alu_flags(Decoding *d, const char *name, EmuType type)
{
    uint32_t flags = 0;

    if (emu_types[type].kind != TK_FLOAT)
        return 0;
    if (emu_mod(d, "ftz") && type == ET_F32)
        flags |= IF_FTZ;
    if (emu_mod(d, "sat"))
        flags |= IF_SAT;
    if (strcmp(d->s->opcode, "fma") == 0 && emu_types[type].bytes != 8 && type != ET_F32 && emu_mod(d, "relu"))
        flags |= IF_RELU;
    take_precision(d, is_directed(name));
    return flags;
}

/* Of what type an operand is that a row has as bits: registers and literals are those of the instruction. */
static EmuType operand_type(EmuType type, EmuType of_row)
{
    return emu_types[type].kind == TK_FLOAT && emu_types[type].bytes == emu_types[of_row].bytes ? type : of_row;
}

/* The row of a name and a type becomes an instruction. */
static void decode_row(Decoding *d, const char *name, EmuType type, uint32_t flags)
{
    const AluRow *row = d->bad ? NULL : find_row(d->p, name, type);
    Inst *in;

    if (d->bad)
        return;
    if (row && d->s->argc == 4 && row->sources == 2) /* min, max of three */
        row = find_row(d->p, arena_printf(d->p->arena, "%s3", name), type);
    if (!row) {
        diag_add(d->p->diags, TW0823, d->s->span, "the emulator does not know '%s' of .%s", name,
                 emu_types[type].suffix);
        return;
    }
    if (!emu_need_args(d, row->sources + 1, row->sources + 1))
        return;
    emu_dst(d, &d->s->args[0], operand_type(type, (EmuType)row->d));
    for (int i = 0; i < row->sources; i++)
        emu_src(d, &d->s->args[i + 1], operand_type(type, (EmuType)row->src[i]));
    d->cls = row->cls;
    in = emu_ptx_emit(d, flags ? emu_exec_alu_flags : emu_exec_alu);
    if (!in)
        return;
    in->fn.alu = row->fn;
    in->type = row->d;
    in->from = (uint8_t)type;
    in->bytes = emu_types[row->d].bytes == 8 ? 8 : 4;
    in->flags |= flags;
}

/* Whether an instruction of some name gives a carry, which add, sub and mad do with .cc. */
static bool gives_carry(const Decoding *d)
{
    for (int i = 0; i < d->s->mod_count; i++) {
        if (strcmp(d->s->mods[i], "cc") == 0)
            return true;
    }
    return false;
}

void emu_decode_alu(Decoding *d)
{
    const char *name;
    EmuType type;

    if (gives_carry(d)) {
        emu_decode_carry(d);
        return;
    }
    name = row_name(d);
    type = emu_need_type(d);
    if (type == ET_S32 && emu_mod(d, "sat"))
        name = arena_printf(d->p->arena, "%s.sat", name);
    decode_row(d, name, type, alu_flags(d, name, type));
}

/* dp4a.atype.btype d, a, b, c; dp2a.(lo|hi).atype.btype */
void emu_decode_dot(Decoding *d)
{
    const char *name = row_name(d);
    EmuType a = emu_need_type(d), b = emu_need_type(d);

    decode_row(d, arena_printf(d->p->arena, "%s.%s", name, emu_types[a].suffix), b, 0);
}

/* (add|sub|mad.(lo|hi)){c}{.cc}.type d, a, b{, c}; the carry is a register that has no name */
void emu_decode_carry(Decoding *d)
{
    const char *opcode = d->s->opcode;
    bool mad = opcode[0] == 'm', takes = opcode[strlen(opcode) - 1] == 'c', gives = emu_mod(d, "cc");
    bool high = mad && emu_mod(d, "hi");
    EmuType type;
    Inst *in;

    if (mad && !high)
        emu_mod(d, "lo");
    type = emu_need_type(d);
    if (emu_types[type].kind == TK_FLOAT || emu_types[type].bytes < 4) {
        emu_bad_operands(d, "chains of carries are of integers of 32 or 64 bits");
        return;
    }
    if (!emu_need_args(d, mad ? 4 : 3, mad ? 4 : 3))
        return;
    emu_dst(d, &d->s->args[0], type);
    if (gives)
        d->op[d->nd++] = emu_ptx_carry(d->p);
    for (int i = 1; i < d->s->argc; i++)
        emu_src(d, &d->s->args[i], type);
    if (takes && !d->bad)
        d->op[d->nd + d->ns++] = emu_ptx_carry(d->p);
    d->cls = EMU_INTEGER;
    in = emu_ptx_emit(d, emu_exec_carry);
    if (!in)
        return;
    in->type = (uint8_t)type;
    in->bytes = emu_types[type].bytes == 8 ? 8 : 4;
    in->aux = mad ? high ? CARRY_MAD_HI : CARRY_MAD_LO : opcode[0] == 's' ? CARRY_SUB : CARRY_ADD;
}

/* vop(2|4).dtype.atype.btype{.sat}{.add} d, a, b, c: all parts, in their order */
void emu_decode_simd(Decoding *d)
{
    static const char *const names[SIMD_COUNT] = {
        [SIMD_ADD] = "vadd", [SIMD_SUB] = "vsub", [SIMD_AVERAGE] = "vavrg", [SIMD_DIFFERENCE] = "vabsdiff",
        [SIMD_MIN] = "vmin", [SIMD_MAX] = "vmax",
    };
    size_t len = strlen(d->s->opcode) - 1;
    bool sums = emu_mod(d, "add"), saturates = emu_mod(d, "sat");
    EmuType to = emu_need_type(d), a = emu_need_type(d), b = emu_need_type(d);
    int op = 0;
    Inst *in;

    while (op < SIMD_COUNT - 1 && strncmp(names[op], d->s->opcode, len) != 0)
        op++;
    if (!emu_need_args(d, 4, 4))
        return;
    emu_dst(d, &d->s->args[0], to);
    emu_src(d, &d->s->args[1], a);
    emu_src(d, &d->s->args[2], b);
    emu_src(d, &d->s->args[3], ET_U32);
    in = emu_ptx_emit(d, emu_exec_simd);
    if (!in)
        return;
    in->aux = op;
    in->vec = (uint8_t)(d->s->opcode[len] - '0');
    in->type = (uint8_t)to;
    in->from = (uint8_t)((emu_types[a].kind == TK_SIGNED ? 1 : 0) | (emu_types[b].kind == TK_SIGNED ? 2 : 0));
    in->imm = sums;
    in->flags |= saturates ? (uint32_t)IF_SAT : 0;
}

/* and, or, xor, not: of bits (a row) or of predicates */
void emu_decode_logic(Decoding *d)
{
    static const char *const names[] = { "and", "or", "xor", "not" };
    int which = 0;
    Inst *in;

    if (!emu_mod(d, "pred")) {
        emu_decode_alu(d);
        return;
    }
    while (strcmp(names[which], d->s->opcode) != 0)
        which++;
    if (!emu_need_args(d, which == 3 ? 2 : 3, which == 3 ? 2 : 3))
        return;
    emu_dst(d, &d->s->args[0], ET_PRED);
    for (int i = 1; i < d->s->argc; i++)
        emu_src_pred(d, &d->s->args[i]);
    in = emu_ptx_emit(d, emu_exec_logic_pred);
    if (!in)
        return;
    in->aux = which;
    for (int i = 1; i < d->s->argc; i++)
        in->imm |= (int64_t)d->s->args[i].negated << (i - 1);
}

/* ---- moves ------------------------------------------------------------------------- */

/* mov.b64 %rd, {%r1, %r2} and mov.b64 {%r1, %r2}, %rd */
static void decode_pack(Decoding *d, EmuType type)
{
    const Arg *to = &d->s->args[0], *from = &d->s->args[1];
    const Arg *vector = to->kind == ARG_VECTOR ? to : from;
    int part = vector->count ? emu_types[type].bytes / vector->count : 0;
    EmuType part_type = part == 4 ? ET_B32 : part == 2 ? ET_B16 : ET_B8;
    Inst *in;

    if (to->kind == from->kind || part < 2 || part > 4 ||
        part * vector->count != emu_types[type].bytes || emu_types[type].bytes > 8) {
        emu_bad_operands(d, "these vectors cannot be packed");
        return;
    }
    if (vector == to) {
        for (int i = 0; i < to->count; i++)
            emu_dst(d, emu_item(d, to, i), part_type);
        emu_src(d, from, type);
    } else {
        emu_dst(d, to, type);
        for (int i = 0; i < from->count; i++)
            emu_src(d, emu_item(d, from, i), part_type);
    }
    in = emu_ptx_emit(d, vector == to ? emu_exec_unpack : emu_exec_pack);
    if (in) {
        in->bytes = (uint8_t)part;
        in->type = (uint8_t)type;
        in->flags |= IF_COPIES;
    }
}

/* mov.u32 %r, %clock; the other special registers are ordinary sources */
static bool decode_clock(Decoding *d, EmuType type)
{
    static const char *const clocks[] = { "%clock", "%clock_hi", "%clock64", "%globaltimer" };
    const Arg *from = &d->s->args[1];
    Inst *in;

    for (int i = 0; i < (int)TW_COUNT(clocks); i++) {
        if (from->kind != ARG_CLOCK || strcmp(from->name, clocks[i]) != 0)
            continue;
        emu_dst(d, &d->s->args[0], type);
        in = emu_ptx_emit(d, emu_exec_clock);
        if (in) {
            in->aux = i;
            in->bytes = (uint8_t)emu_types[type].bytes;
        }
        return true;
    }
    return false;
}

static void decode_mov_pred(Decoding *d)
{
    const Arg *from = &d->s->args[1];
    Inst *in;

    emu_dst(d, &d->s->args[0], ET_PRED);
    if (from->kind != ARG_INT)
        emu_src_pred(d, from);
    in = emu_ptx_emit(d, emu_exec_mov_pred);
    if (!in)
        return;
    in->imm = from->kind == ARG_INT ? from->bits != 0 : from->negated;
}

void emu_decode_mov(Decoding *d)
{
    EmuType type = emu_need_type(d);
    Inst *in;

    if (!emu_need_args(d, 2, 2))
        return;
    if (type == ET_PRED) {
        decode_mov_pred(d);
    } else if (d->s->args[0].kind == ARG_VECTOR || d->s->args[1].kind == ARG_VECTOR) {
        decode_pack(d, type);
    } else if (!decode_clock(d, type)) {
        emu_dst(d, &d->s->args[0], type);
        if (d->s->args[1].kind == ARG_SPECIAL && emu_types[type].bytes == 2)
            emu_src(d, &d->s->args[1], ET_B32);
        else
            emu_src(d, &d->s->args[1], type);
        in = emu_ptx_emit(d, emu_exec_mov);
        if (!in)
            return;
        in->bytes = emu_types[type].bytes == 8 ? 8 : 4;
        in->flags |= IF_COPIES;
    }
}

/* selp.type d, a, b, p */
void emu_decode_selp(Decoding *d)
{
    EmuType type = emu_need_type(d);
    Inst *in;

    if (!emu_need_args(d, 4, 4))
        return;
    emu_dst(d, &d->s->args[0], type);
    emu_src(d, &d->s->args[1], type);
    emu_src(d, &d->s->args[2], type);
    emu_src_pred(d, &d->s->args[3]);
    in = emu_ptx_emit(d, emu_exec_selp);
    if (!in)
        return;
    in->bytes = emu_types[type].bytes == 8 ? 8 : 4;
    in->imm = d->s->args[3].negated;
}

/* slct.dtype.(s32|f32) d, a, b, c */
void emu_decode_slct(Decoding *d)
{
    EmuType type = emu_need_type(d), chooser = emu_need_type(d);
    bool ftz;
    Inst *in;

    ftz = emu_mod(d, "ftz");
    if (!emu_need_args(d, 4, 4))
        return;
    if (chooser != ET_S32 && chooser != ET_F32)
        emu_bad_operands(d, "slct chooses by .s32 or .f32");
    emu_dst(d, &d->s->args[0], type);
    emu_src(d, &d->s->args[1], type);
    emu_src(d, &d->s->args[2], type);
    emu_src(d, &d->s->args[3], chooser);
    in = emu_ptx_emit(d, emu_exec_slct);
    if (!in)
        return;
    in->bytes = emu_types[type].bytes == 8 ? 8 : 4;
    in->from = (uint8_t)chooser;
    in->flags |= ftz && chooser == ET_F32 ? (uint32_t)IF_FTZ : 0;
}

/* ---- comparisons -------------------------------------------------------------------- */

static bool need_compare(Decoding *d, int *compare)
{
    static const char *const names[CMP_COUNT] = {
        [CMP_EQ] = "eq", [CMP_NE] = "ne", [CMP_LT] = "lt", [CMP_LE] = "le", [CMP_GT] = "gt",
        [CMP_GE] = "ge", [CMP_EQU] = "equ", [CMP_NEU] = "neu", [CMP_LTU] = "ltu",
        [CMP_LEU] = "leu", [CMP_GTU] = "gtu", [CMP_GEU] = "geu", [CMP_NUM] = "num",
        [CMP_NAN] = "nan",
    };
    /* unsigned comparisons have names of their own too */
    static const char *const others[] = { "lo", "ls", "hi", "hs" };
    static const Compare meant[] = { CMP_LT, CMP_LE, CMP_GT, CMP_GE };
    int which;

    if (emu_mod_one_of(d, names, CMP_COUNT, compare))
        return true;
    if (emu_mod_one_of(d, others, (int)TW_COUNT(others), &which)) {
        *compare = (int)meant[which];
        return true;
    }
    diag_add(d->p->diags, TW0823, d->s->span, "'%s' lacks a comparison", d->s->opcode);
    d->bad = true;
    return false;
}

/* Combining with a predicate: 0 none, 1 and, 2 or, 3 xor. */
static int combine(Decoding *d)
{
    static const char *const names[] = { "and", "or", "xor" };
    int which;

    return emu_mod_one_of(d, names, 3, &which) ? which + 1 : 0;
}

/* Pairs of halves are compared half by half. */
static bool is_pair(EmuType type)
{
    return type == ET_F16X2 || type == ET_BF16X2;
}

static CmpFn compare_fn(Decoding *d, int compare, EmuType type)
{
    EmuType of = type == ET_F16X2 ? ET_F16 : type == ET_BF16X2 ? ET_BF16 : type;
    CmpFn fn = emu_compare((Compare)compare, of);

    if (!fn && !d->bad) {
        diag_add(d->p->diags, TW0823, d->s->span, "this comparison of .%s does not exist",
                 emu_types[type].suffix);
        d->bad = true;
    }
    return fn;
}

/* setp.cmp[.bool][.ftz].type p[|q], a, b[, [!]c] */
void emu_decode_setp(Decoding *d)
{
    int compare = 0, boolean;
    EmuType type;
    CmpFn fn;
    Inst *in;
    const Arg *to = &d->s->args[0];
    bool ftz;

    if (!need_compare(d, &compare))
        return;
    boolean = combine(d);
    ftz = emu_mod(d, "ftz");
    type = emu_need_type(d);
    fn = compare_fn(d, compare, type);
    if (!emu_need_args(d, boolean ? 4 : 3, boolean ? 4 : 3))
        return;
    emu_dst(d, to->kind == ARG_PAIR ? emu_item(d, to, 0) : to, ET_PRED);
    if (to->kind == ARG_PAIR)
        emu_dst(d, emu_item(d, to, 1), ET_PRED);
    emu_src(d, &d->s->args[1], type);
    emu_src(d, &d->s->args[2], type);
    if (boolean)
        emu_src_pred(d, &d->s->args[3]);
    if (emu_types[type].kind == TK_FLOAT)
        d->cls = EMU_FP32;
    if (is_pair(type) && to->kind != ARG_PAIR)
        emu_bad_operands(d, "a comparison of pairs gives p|q");
    in = emu_ptx_emit(d, is_pair(type) ? emu_exec_setp_pair
                         : boolean || to->kind == ARG_PAIR || ftz ? emu_exec_setp2 : emu_exec_setp);
    if (!in)
        return;
    in->fn.cmp = fn;
    in->aux = boolean;
    in->type = (uint8_t)type;
    in->imm = boolean && d->s->args[3].negated;
    if (ftz && type == ET_F32)
        in->flags |= IF_FTZ;
}

/* set.cmp[.bool][.ftz].dtype.stype d, a, b[, [!]c] */
void emu_decode_set(Decoding *d)
{
    int compare = 0, boolean;
    EmuType to, type;
    CmpFn fn;
    Inst *in;
    bool ftz;

    if (!need_compare(d, &compare))
        return;
    boolean = combine(d);
    ftz = emu_mod(d, "ftz");
    to = emu_need_type(d);
    type = emu_need_type(d);
    fn = compare_fn(d, compare, type);
    if (!emu_need_args(d, boolean ? 4 : 3, boolean ? 4 : 3))
        return;
    if (emu_types[to].bytes != 4 && emu_types[to].bytes != 2)
        emu_bad_operands(d, "set gives results of 16 or 32 bits");
    emu_dst(d, &d->s->args[0], to);
    emu_src(d, &d->s->args[1], type);
    emu_src(d, &d->s->args[2], type);
    if (boolean)
        emu_src_pred(d, &d->s->args[3]);
    in = emu_ptx_emit(d, is_pair(type) ? emu_exec_set_pair : emu_exec_set);
    if (!in)
        return;
    in->fn.cmp = fn;
    in->aux = boolean;
    in->type = (uint8_t)to;
    in->imm = boolean && d->s->args[3].negated;
    in->flags |= ftz && type == ET_F32 ? (uint32_t)IF_FTZ : 0;
}

/* testp.kind.type p, a */
void emu_decode_testp(Decoding *d)
{
    static const char *const names[TEST_COUNT] = {
        [TEST_FINITE] = "finite", [TEST_INFINITE] = "infinite", [TEST_NUMBER] = "number",
        [TEST_NAN] = "notanumber", [TEST_NORMAL] = "normal", [TEST_SUBNORMAL] = "subnormal",
    };
    int which;
    EmuType type;
    Inst *in;

    if (!emu_mod_one_of(d, names, TEST_COUNT, &which)) {
        emu_bad_operands(d, "testp lacks a kind of number");
        return;
    }
    type = emu_need_type(d);
    if (!emu_need_args(d, 2, 2))
        return;
    if (type != ET_F32 && type != ET_F64)
        emu_bad_operands(d, "testp is of .f32 or .f64");
    emu_dst(d, &d->s->args[0], ET_PRED);
    emu_src(d, &d->s->args[1], type);
    in = emu_ptx_emit(d, emu_exec_testp);
    if (!in)
        return;
    in->aux = which;
    in->bytes = emu_types[type].bytes == 8 ? 8 : 4;
}

/* ---- conversions ---------------------------------------------------------------------- */

static Rounding need_rounding(Decoding *d)
{
    static const char *const names[] = { "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna" };
    int which;

    return emu_mod_one_of(d, names, (int)TW_COUNT(names), &which) ? (Rounding)(which + 1) : RND_NONE;
}

/* Whether a conversion must, may or must not say how it rounds, and whether it does so (PTX ISA, "cvt"). */
static bool rounding_fits(Rounding rounding, EmuType to, EmuType from)
{
    bool integral = rounding == RND_NI || rounding == RND_ZI || rounding == RND_MI || rounding == RND_PI;
    bool to_float = emu_types[to].kind == TK_FLOAT, from_float = emu_types[from].kind == TK_FLOAT;

    if (!to_float || !from_float)
        return to_float == from_float ? rounding == RND_NONE : to_float ? rounding && !integral : integral;
    if (to == from)
        return rounding == RND_NONE || integral;
    if (from == ET_E4M3X2 || from == ET_E5M2X2 || to == ET_TF32)
        return rounding && !integral;
    if (emu_types[to].bytes > emu_types[from].bytes && from != ET_F32)
        return rounding == RND_NONE || integral;
    return to == ET_F64 ? rounding == RND_NONE || integral : rounding && !integral;
}

static bool is_packed(EmuType type)
{
    return type == ET_F16X2 || type == ET_BF16X2 || type == ET_E4M3X2 || type == ET_E5M2X2;
}

static int register_size(const Decoding *d, Place place)
{
    return emu_types[d->p->entry->slots.data[place.slot].type].bytes;
}

/* cvt[.rnd][.ftz][.sat].dtype.stype d, a[, b] */
void emu_decode_cvt(Decoding *d)
{
    Rounding rounding = need_rounding(d);
    uint32_t flags = 0;
    EmuType to, from;
    int args;
    Inst *in;

    flags |= emu_mod(d, "ftz") ? (uint32_t)IF_FTZ : 0;
    flags |= emu_mod(d, "sat") || emu_mod(d, "satfinite") ? (uint32_t)IF_SAT : 0;
    flags |= emu_mod(d, "relu") ? (uint32_t)IF_RELU : 0;
    to = emu_need_type(d);
    from = emu_need_type(d);
    args = is_packed(to) && !is_packed(from) ? 3 : 2;
    if (!emu_need_args(d, args, args))
        return;
    if (!emu_convert_known(to, from)) {
        diag_add(d->p->diags, TW0823, d->s->span, "the emulator does not know this conversion");
        return;
    }
    if (!d->bad && !rounding_fits(rounding, to, from)) {
        diag_add(d->p->diags, TW0823, d->s->span, "%s",
                 emu_types[to].kind != TK_FLOAT && emu_types[from].kind == TK_FLOAT
                     ? "a conversion to an integer says to which: .rni, .rzi, .rmi or .rpi"
                 : rounding == RND_NONE ? "this conversion does not say how it rounds, as .rn"
                                        : "this conversion is exact, or rounds in another way");
        return;
    }
    emu_dst_wide(d, &d->s->args[0], to);
    for (int i = 1; i < args; i++)
        emu_src_wide(d, &d->s->args[i], from);
    in = emu_ptx_emit(d, emu_exec_cvt);
    if (!in)
        return;
    in->flags |= flags;
    in->type = (uint8_t)to;
    in->from = (uint8_t)from;
    in->aux = (int32_t)rounding;
    in->imm = register_size(d, in->op[0]);
    in->bytes = in->imm == 8 ? 8 : 4;
    in->vec = register_size(d, in->op[1]) == 8 ? 8 : 4;
    in->fn.alu = in->bytes == (emu_types[to].bytes == 8 ? 8 : 4) &&
                         in->vec == (emu_types[from].bytes == 8 ? 8 : 4)
                     ? emu_convert_fast(to, from, rounding, flags) : NULL;
    if (in->fn.alu)
        in->exec = emu_exec_alu;
}

/* cvta.space d, a : to generic; cvta.to.space d, a : from generic. It is an addition. */
void emu_decode_cvta(Decoding *d)
{
    static const char *const spaces[] = { "global", "shared", "shared::cta", "local", "param", "const" };
    static const uint64_t windows[] = { 0, SHARED_WINDOW, SHARED_WINDOW, LOCAL_WINDOW, 0, 0 };
    bool to = emu_mod(d, "to");
    int which = 0;
    EmuType type;
    Inst *in;

    if (!emu_mod_one_of(d, spaces, (int)TW_COUNT(spaces), &which)) {
        emu_bad_operands(d, "cvta lacks a state space");
        return;
    }
    type = emu_need_type(d);
    if (!emu_need_args(d, 2, 2))
        return;
    if (type != ET_U64) {
        emu_bad_operands(d, "generic addresses are .u64");
        return;
    }
    emu_dst(d, &d->s->args[0], type);
    emu_src(d, &d->s->args[1], type);
    d->op[d->nd + d->ns] = emu_ptx_constant(d->p, to ? 0 - windows[which] : windows[which], true);
    d->ns++;
    in = emu_ptx_emit(d, emu_exec_alu);
    if (!in)
        return;
    in->fn.alu = find_row(d->p, "add", ET_U64)->fn;
    in->bytes = 8;
}

/* isspacep.space p, a: whether a generic address lies there; constants lie in global memory. */
void emu_decode_isspacep(Decoding *d)
{
    static const char *const spaces[] = { "global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "const" };
    static const uint64_t windows[] = { 0, SHARED_WINDOW, SHARED_WINDOW, SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, PARAM_WINDOW, 1 };
    int which = 0;
    Inst *in;

    if (!emu_mod_one_of(d, spaces, (int)TW_COUNT(spaces), &which)) {
        emu_bad_operands(d, "isspacep lacks a state space");
        return;
    }
    if (!emu_need_args(d, 2, 2))
        return;
    emu_dst(d, &d->s->args[0], ET_PRED);
    emu_src(d, &d->s->args[1], ET_B64);
    in = emu_ptx_emit(d, emu_exec_isspacep);
    if (in)
        in->imm = (int64_t)windows[which];
}
