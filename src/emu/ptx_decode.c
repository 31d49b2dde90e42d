/* ptx_decode.c: what all decoders need: modifiers, operands, emitting an Inst.
 *
 * A decoder takes the modifiers that it knows; one that is left over is an
 * error, for an unknown modifier may change the meaning of an instruction.
 */
#include "emu/ptx.h"

const TypeInfo emu_types[ET_COUNT] = {
#define TYPE(id, suffix, bytes, kind) { suffix, bytes, TK_##kind },
#include "emu/types.def"
#undef TYPE
};

typedef struct Family {
    const char *name;
    void (*decode)(Decoding *d);
    uint8_t cls;
} Family;

enum {
#define FAMILY(name, cls) FAMILY_##name,
#include "emu/families.def"
#undef FAMILY
};

static const Family families[] = {
#define FAMILY(name, cls) { #name, emu_decode_##name, EMU_##cls },
#include "emu/families.def"
#undef FAMILY
};

static const struct {
    const char *name;
    int family;
} opcodes[] = {
#define OPCODE(name, family) { name, FAMILY_##family },
#include "emu/opcodes.def"
#undef OPCODE
};

static const char *const special_names[SP_COUNT] = {
#define SPECIAL(id, name) name,
#include "emu/specials.def"
#undef SPECIAL
};

/* The opcode of a row of alu.def: "mul" of "mul.wide". */
static const char *row_opcode(Parser *p, const char *name)
{
    return symn(p->syms, name, strcspn(name, "."));
}

void emu_ptx_decode_setup(Parser *p)
{
    for (int i = emu_alu_row_count - 1; i >= 0; i--) {
        emu_names_put(p->arena, &p->alu, sym(p->syms, emu_alu_rows[i].name), i);
        emu_names_put(p->arena, &p->opcodes, row_opcode(p, emu_alu_rows[i].name), FAMILY_alu);
    }
    for (size_t i = 0; i < TW_COUNT(opcodes); i++)
        emu_names_put(p->arena, &p->opcodes, sym(p->syms, opcodes[i].name), opcodes[i].family);
    for (int i = 0; i < ET_COUNT; i++)
        emu_names_put(p->arena, &p->types, sym(p->syms, emu_types[i].suffix), i);
    for (int i = 0; i < SP_COUNT; i++)
        emu_names_put(p->arena, &p->specials, sym(p->syms, special_names[i]), i);
}

void emu_ptx_decode(Parser *p, Stmt *s)
{
    Decoding d = { .p = p, .s = s };
    int family = emu_names_get(&p->opcodes, s->opcode);

    if (family < 0) {
        diag_add(p->diags, TW0822, s->span, "the emulator does not know '%s'", s->opcode);
        return;
    }
    d.cls = families[family].cls;
    families[family].decode(&d);
}

/* ---- modifiers --------------------------------------------------------------- */

bool emu_mod(Decoding *d, const char *name)
{
    for (int i = 0; i < d->s->mod_count; i++) {
        if (!(d->s->used >> i & 1) && strcmp(d->s->mods[i], name) == 0) {
            d->s->used |= 1u << i;
            return true;
        }
    }
    return false;
}

bool emu_mod_one_of(Decoding *d, const char *const *names, int count, int *which)
{
    for (*which = 0; *which < count; ++*which) {
        if (emu_mod(d, names[*which]))
            return true;
    }
    return false;
}

/* The next type among the modifiers. */
static bool mod_type(Decoding *d, EmuType *type)
{
    for (int i = 0; i < d->s->mod_count; i++) {
        int found = d->s->used >> i & 1 ? -1 : emu_names_get(&d->p->types, d->s->mods[i]);

        if (found >= 0) {
            d->s->used |= 1u << i;
            *type = (EmuType)found;
            return true;
        }
    }
    return false;
}

EmuType emu_need_type(Decoding *d)
{
    EmuType type = ET_B32;

    if (!mod_type(d, &type) && !d->bad) {
        d->bad = true;
        diag_add(d->p->diags, TW0823, d->s->span, "'%s' lacks a type", d->s->opcode);
    }
    return type;
}

/* .ca .cg … .L1::no_allocate .L2::128B …: they steer caches, not meaning. */
void emu_mod_ignore_hints(Decoding *d)
{
    static const char *const plain[] = { "ca", "cg", "cs", "lu", "cv", "wb", "wt" };

    for (size_t i = 0; i < TW_COUNT(plain); i++)
        emu_mod(d, plain[i]);
    for (int i = 0; i < d->s->mod_count; i++) {
        if (strncmp(d->s->mods[i], "L1::", 4) == 0 || strncmp(d->s->mods[i], "L2::", 4) == 0)
            d->s->used |= 1u << i;
    }
}

static void refuse_mod(Decoding *d, const char *name)
{
    if (!d->bad)
        diag_add(d->p->diags, TW0823, d->s->span, "the emulator does not know '.%s' on '%s'", name, d->s->opcode);
    d->bad = true;
}

void emu_mod_unknown(Decoding *d, const char *name)
{
    if (emu_mod(d, name))
        refuse_mod(d, name);
}

static void check_mods(Decoding *d)
{
    for (int i = 0; i < d->s->mod_count; i++) {
        if (!(d->s->used >> i & 1))
            refuse_mod(d, d->s->mods[i]);
    }
}

/* ---- operands ------------------------------------------------------------------- */

void emu_bad_operands(Decoding *d, const char *why)
{
    if (!d->bad)
        diag_add(d->p->diags, TW0824, d->s->span, "%s", why);
    d->bad = true;
}

static void bad_operand(Decoding *d, const Arg *arg, const char *why)
{
    if (!d->bad)
        diag_add(d->p->diags, TW0824, arg->span, "%s", why);
    d->bad = true;
}

bool emu_need_args(Decoding *d, int least, int most)
{
    if (d->s->argc < least || d->s->argc > most) {
        emu_bad_operands(d, "wrong number of operands");
        return false;
    }
    return !d->bad;
}

const Arg *emu_item(const Decoding *d, const Arg *arg, int k)
{
    return &d->s->items[arg->first + k];
}

static void add(Decoding *d, Place place, bool source)
{
    if (d->nd + d->ns == MAX_OPERANDS) {
        emu_bad_operands(d, "too many operands");
        return;
    }
    d->op[d->nd + d->ns] = place;
    if (source)
        d->ns++;
    else
        d->nd++;
}

/* How many bytes a register of a type has; 0: a predicate. */
static int register_bytes(EmuType type)
{
    return type == ET_PRED ? 0 : emu_types[type].bytes;
}

/* Bits are anything; integers of either sign are alike, floating-point types are not (PTX ISA,
 * "Operand Type Checking"). */
static bool alike(EmuType reg, EmuType type)
{
    TypeKind have = emu_types[reg].kind, need = emu_types[type].kind;

    if (have == TK_BITS || need == TK_BITS)
        return true;
    return have == TK_FLOAT || need == TK_FLOAT ? reg == type : true;
}

static bool fits(EmuType reg, EmuType type, bool wider)
{
    int have = register_bytes(reg), need = register_bytes(type);

    if (!have || !need)
        return have == need;
    if (!alike(reg, type))
        return false;
    return wider ? have >= need : have == need || (need == 1 && have == 2);
}

static void add_register(Decoding *d, const Arg *arg, EmuType type, bool wider, bool source)
{
    const Slot *slot = &d->p->entry->slots.data[arg->slot];

    if (!fits(slot->type, type, wider)) {
        if (!d->bad)
            diag_add(d->p->diags, TW0824, arg->span, "'%s' is .%s, which does not hold a .%s",
                     slot->name, emu_types[slot->type].suffix, emu_types[type].suffix);
        d->bad = true;
    } else if (arg->negated && type != ET_PRED) {
        bad_operand(d, arg, "'!' needs a predicate");
    } else {
        add(d, emu_ptx_place(d->p, arg->slot), source);
    }
}

static void dst_any(Decoding *d, const Arg *arg, EmuType type, bool wider)
{
    if (d->bad)
        return;
    if (arg->kind == ARG_SINK)
        add(d, emu_ptx_place(d->p, 0), false);
    else if (arg->kind == ARG_REGISTER && !arg->negated)
        add_register(d, arg, type, wider, false);
    else
        bad_operand(d, arg, "a result needs a register");
}

void emu_dst(Decoding *d, const Arg *arg, EmuType type)
{
    dst_any(d, arg, type, false);
}

void emu_dst_wide(Decoding *d, const Arg *arg, EmuType type)
{
    dst_any(d, arg, type, true);
}

/* The bits of a literal as a value of a type. */
static uint64_t float_literal(uint64_t bits, EmuType type)
{
    union { uint64_t u; double d; } wide = { bits };
    union { float f; uint32_t u; } single;

    if (emu_types[type].bytes == 8)
        return bits;
    if (emu_types[type].bytes == 2)
        return emu_small_store(type == ET_BF16 ? ET_BF16 : ET_F16, wide.d, RND_N, false);
    single.f = (float)wide.d;
    return single.u;
}

static uint64_t truncate_to(uint64_t value, int bytes)
{
    return bytes >= 8 ? value : value & ((UINT64_C(1) << 8 * bytes) - 1);
}

static void add_literal(Decoding *d, const Arg *arg, EmuType type)
{
    int bytes = emu_types[type].bytes;
    uint64_t bits = arg->bits;

    if (type == ET_PRED || bytes > 8) {
        bad_operand(d, arg, "this operand needs a register");
        return;
    }
    if (arg->kind == ARG_INT && (type == ET_F32 || type == ET_F64)) {
        bad_operand(d, arg, "a floating-point operand needs a floating-point literal");
        return;
    }
    if (arg->kind == ARG_FLOAT && (emu_types[type].kind == TK_UNSIGNED || emu_types[type].kind == TK_SIGNED)) {
        bad_operand(d, arg, "an integer operand needs an integer literal");
        return;
    }
    if (arg->kind == ARG_FLOAT)
        bits = float_literal(bits, type);
    else if (emu_types[type].kind == TK_SIGNED && bytes < 4)
        bits &= 0xffff;
    add(d, emu_ptx_constant(d->p, truncate_to(bits, bytes < 2 ? 2 : bytes), bytes == 8), true);
}

/* The address of a variable, in its own space. */
static void add_symbol(Decoding *d, const Arg *arg, EmuType type)
{
    const Symbol *symbol = arg->symbol;
    int bytes = emu_types[type].bytes;
    uint64_t at = arg->kind == ARG_SYMBOL ? (uint64_t)arg->offset : 0;

    if (bytes != 4 && bytes != 8) {
        bad_operand(d, arg, "an address has 4 or 8 bytes");
        return;
    }
    switch (symbol->kind) {
    case SYM_SHARED:
    case SYM_LOCAL:
        at += (uint64_t)symbol->offset;
        add(d, emu_ptx_constant(d->p, truncate_to(at, bytes), bytes == 8), true);
        return;
    case SYM_DYNAMIC:
        if (at)
            break;
        add(d, emu_ptx_dynamic_base(d->p, bytes == 8), true);
        return;
    case SYM_PARAM:
        at += PARAM_WINDOW + (uint64_t)symbol->offset;
        add(d, emu_ptx_constant(d->p, truncate_to(at, bytes), bytes == 8), true);
        return;
    case SYM_VARIABLE:
        if (bytes != 8)
            break;
        add(d, emu_ptx_variable(d->p, symbol->slot, at), true);
        return;
    case SYM_REGISTER:
    case SYM_RANGE:
        break;
    }
    bad_operand(d, arg, "this name has no address");
}

static void src_any(Decoding *d, const Arg *arg, EmuType type, bool wider)
{
    if (d->bad)
        return;
    switch (arg->kind) {
    case ARG_REGISTER:
        add_register(d, arg, type, wider, true);
        return;
    case ARG_INT:
    case ARG_FLOAT:
        add_literal(d, arg, type);
        return;
    case ARG_SYMBOL:
        add_symbol(d, arg, type);
        return;
    case ARG_SPECIAL:
        if (emu_types[type].bytes > 4 || type == ET_PRED)
            bad_operand(d, arg, "a special register has 32 bits");
        else
            add(d, emu_ptx_special(d->p, (Special)arg->bits), true);
        return;
    case ARG_LABEL:
        if (!d->bad)
            diag_add(d->p->diags, TW0825, arg->span, "'%s' is not declared", arg->name);
        d->bad = true;
        return;
    case ARG_CLOCK:
    case ARG_VECTOR:
    case ARG_ADDRESS:
    case ARG_PAIR:
    case ARG_SINK:
        break;
    }
    bad_operand(d, arg, "expected a register or a literal");
}

void emu_src(Decoding *d, const Arg *arg, EmuType type)
{
    src_any(d, arg, type, false);
}

void emu_src_wide(Decoding *d, const Arg *arg, EmuType type)
{
    src_any(d, arg, type, true);
}

void emu_src_pred(Decoding *d, const Arg *arg)
{
    if (arg->kind == ARG_REGISTER)
        src_any(d, arg, ET_PRED, false);
    else
        bad_operand(d, arg, "expected a predicate");
}

void emu_src_condition(Decoding *d, const Arg *arg)
{
    if (arg->kind == ARG_INT && !d->bad)
        add(d, emu_ptx_constant(d->p, arg->bits ? FULL : 0, false), true);
    else
        emu_src_pred(d, arg);
}

void emu_dst_items(Decoding *d, const Arg *arg, EmuType type, int count)
{
    if (arg->kind == ARG_VECTOR && arg->count == count) {
        for (int i = 0; i < count; i++)
            emu_dst_wide(d, emu_item(d, arg, i), type);
    } else if (count == 1 && arg->kind != ARG_VECTOR) {
        emu_dst_wide(d, arg, type);
    } else {
        bad_operand(d, arg, "a vector operand of another size is needed");
    }
}

void emu_src_items(Decoding *d, const Arg *arg, EmuType type, int count)
{
    if (arg->kind == ARG_VECTOR && arg->count == count) {
        for (int i = 0; i < count; i++)
            emu_src_wide(d, emu_item(d, arg, i), type);
    } else if (count == 1 && arg->kind != ARG_VECTOR) {
        emu_src_wide(d, arg, type);
    } else {
        bad_operand(d, arg, "a vector operand of another size is needed");
    }
}

int64_t emu_src_address(Decoding *d, const Arg *arg, bool *wide)
{
    const Arg *base;

    *wide = true;
    if (arg->kind != ARG_ADDRESS) {
        bad_operand(d, arg, "expected an address in brackets");
        return 0;
    }
    base = emu_item(d, arg, 0);
    if (base->kind == ARG_REGISTER) {
        EmuType type = d->p->entry->slots.data[base->slot].type;

        *wide = emu_types[type].bytes == 8;
        emu_src(d, base, *wide ? ET_U64 : ET_U32);
    } else {
        emu_src(d, base, ET_B64);
    }
    return arg->offset;
}

void emu_narrowest(Decoding *d, Space space, int bytes)
{
    if (space != SPACE_GLOBAL && bytes < d->p->shared_width)
        d->p->shared_width = bytes;
    if (space != SPACE_SHARED && space != SPACE_CLUSTER && bytes < d->p->global_width)
        d->p->global_width = bytes;
}

/* ---- emitting --------------------------------------------------------------------- */

Inst *emu_ptx_emit(Decoding *d, Exec exec)
{
    Parser *p = d->p;
    Inst in = { .exec = exec, .cls = d->cls, .line = d->s->line };
    Place *op;

    check_mods(d);
    if (d->bad)
        return NULL;
    op = arena_array(p->arena, Place, d->nd + d->ns);
    memcpy(op, d->op, (size_t)(d->nd + d->ns) * sizeof *op);
    in.op = op;
    in.nd = (uint8_t)d->nd;
    in.ns = (uint8_t)d->ns;
    if (d->s->guarded) {
        in.flags |= IF_GUARDED | (d->s->guard_not ? (uint32_t)IF_GUARD_NOT : 0);
        in.guard = emu_ptx_place(p, d->s->guard_slot);
    }
    vec_push(p->arena, &p->entry->code, in);
    return &p->entry->code.data[p->entry->code.len - 1];
}
