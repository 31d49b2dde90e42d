/* index.c: integer expressions and conditions to PTX.
 *
 * Coordinates are 32-bit signed (dimensions are at most 2^31 - 1); what is too large for
 * that is divided and compared in 64 bits (wide.c), and byte offsets
 * into global memory are 64-bit and made in copy.c. Each expression is emitted
 * once in the outermost scope where it can be, and remembered there.
 */
#include "ptx/global.h"

#include <stdlib.h>

/* The number of a register; of one that has it now, where the text is a number. */
static int register_of(Emitter *e, const char *text, int level)
{
    const char *reg = text;
    if (text[0] != '%') {
        reg = em_new(e, REG_R);
        em_at(e, level, "mov.b32 %s, %s;", reg, text);
    }
    return atoi(reg + 2);
}

void ix_bind(Emitter *e, const AffSym *sym, const char *reg, int level)
{
    while (sym->id >= e->n_syms) { /* symbols made while emitting */
        int n = e->n_syms * 2 + 16;
        Memo *grown = arena_array(e->arena, Memo, n);
        memcpy(grown, e->syms, (size_t)e->n_syms * sizeof *grown);
        e->syms = grown;
        e->n_syms = n;
    }
    e->syms[sym->id] = (Memo){.reg = register_of(e, reg, level), .level = level, .valid = true};
}

const AffSym *ix_symbol(Emitter *e, const char *name, const char *reg, int level, int64_t hi)
{
    AffSym *sym = aff_sym_new(e->program->aff, name, AFF_SCALAR, 0, hi);
    ix_bind(e, sym, reg, level);
    return sym;
}

int ix_level(const Emitter *e, const Aff *a)
{
    if (!a || a->kind == AFF_CONST || a->kind == AFF_POISON) return 0;
    if (a->kind == AFF_SYM)
        return a->sym->id < e->n_syms && e->syms[a->sym->id].valid ? e->syms[a->sym->id].level : 0;
    const Memo *read = a->kind == AFF_AT ? mo_find(e->memos, MEMO_VALUE, a) : NULL;
    if (read) return read->level;
    int left = ix_level(e, a->a), right = ix_level(e, a->b);
    return left > right ? left : right;
}

static MemoKind kind_of(const Emitter *e, MemoKind kind, const Aff *a)
{
    bool exact = e->exact && (a->kind != AFF_AT || ix_is_wide(e, a)) && aff_uses_kind(a, AFF_TABLE);
    return exact ? kind + MEMO_EXACT : kind;
}

/* NULL: it is in no register. */
static Memo *memo_of(const Emitter *e, MemoKind kind, const Aff *a)
{
    return mo_find(e->memos, kind_of(e, kind, a), a);
}

static void remember(Emitter *e, MemoKind kind, const Aff *a, int reg, int level)
{
    mo_put(e->arena, e->memos, (Memo){reg, level > e->floor ? level : e->floor, true, a, kind_of(e, kind, a)});
}

void ix_know(Emitter *e, const Aff *a, const char *reg, int level)
{
    if (a->kind == AFF_SYM) ix_bind(e, a->sym, reg, level);
    else remember(e, MEMO_VALUE, a, register_of(e, reg, level), level);
}

bool ix_is_known(Emitter *e, const Aff *a)
{
    return memo_of(e, MEMO_VALUE, a) != NULL;
}

void ix_forget(Emitter *e, const Aff *a)
{
    Memo *memo = memo_of(e, MEMO_VALUE, a);
    if (memo) memo->valid = false;
}

static bool power_of_two(int64_t n, int *log)
{
    if (n <= 0 || (n & (n - 1))) return false;
    *log = 0;
    while ((n >> *log) > 1) ++*log;
    return true;
}

/* d = x / n for 0 <= x < 2^31 and a constant n: ptxas makes a real division of
 * div.u32. With 2^s >= n, x / n is the upper part of x * (2^(31 + s) / n + 1)
 * (Granlund and Montgomery, "Division by invariant integers"). */
void ix_divide(Emitter *e, int level, const char *d, const char *x, int64_t n)
{
    int log, s = 0;
    if (power_of_two(n, &log)) {
        em_at(e, level, "shr.u32 %s, %s, %d;", d, x, log);
        return;
    }
    while (((int64_t)1 << s) < n) s++;
    const char *wide = em_new(e, REG_RD);
    uint64_t factor = ((uint64_t)1 << (31 + s)) / (uint64_t)n + 1;
    em_at(e, level, "mul.wide.u32 %s, %s, %llu;", wide, x, (unsigned long long)factor);
    em_at(e, level, "shr.u64 %s, %s, %d;", wide, wide, 31 + s);
    em_at(e, level, "cvt.u32.u64 %s, %s;", d, wide);
}

/* r = x - q * n, where q = x / n */
void ix_remainder(Emitter *e, int level, const char *r, const char *x, const char *q, int64_t n)
{
    int log;
    if (power_of_two(n, &log)) em_at(e, level, "and.b32 %s, %s, %lld;", r, x, (long long)(n - 1));
    else em_at(e, level, "mad.lo.s32 %s, %s, %lld, %s;", r, q, (long long)-n, x);
}

const char *ix_reciprocal(Emitter *e, const Aff *a)
{
    const Memo *memo = memo_of(e, MEMO_RECIPROCAL, a);
    if (memo) return em_name(e, REG_R, memo->reg);
    int level = ix_level(e, a), reg = em_reg(e, REG_R);
    em_at(e, level, "div.u32 %%r%d, -1, %s;", reg, ix_value(e, a));
    remember(e, MEMO_RECIPROCAL, a, reg, level);
    return em_name(e, REG_R, reg);
}

bool ix_is_signed_divisor(const Emitter *e, const Aff *b)
{
    bool data = aff_uses_kind(b, AFF_TABLE) || (e->exact && aff_uses_kind(b, AFF_SCALAR));
    return data && !aff_never_negative(b);
}

void ix_steps_down(Emitter *e, int level, const char *p, int bits, const char *r, const char *y)
{
    const char *signs = em_new(e, bits == 64 ? REG_RD : REG_R);
    if (!y) {
        em_at(e, level, "setp.lt.s%d %s, %s, 0;", bits, p, r);
        return;
    }
    em_at(e, level, "xor.b%d %s, %s, %s;", bits, signs, r, y);
    em_at(e, level, "setp.lt.s%d %s, %s, 0;", bits, p, signs);
    em_at(e, level, "setp.ne.and.s%d %s, %s, 0, %s;", bits, p, r, p);
}

/* Floor division: an arithmetic shift for powers of two; else truncation with a
 * step down where the remainder has not the divisor's sign, which is positive but for elements of tensors. */
static void emit_division(Emitter *e, int level, const Aff *a, const char *d)
{
    const char *x = ix_value(e, a->a);
    int64_t divisor;
    int log;
    bool modulo = a->kind == AFF_MOD, signs = ix_is_signed_divisor(e, a->b), natural = aff_never_negative(a->a) && !signs;
    if (a->b->kind == AFF_EXP2) { /* shifts by more than 31 leave the sign alone */
        if (modulo) em_at(e, level, "and.b32 %s, %s, %s;", d, x, ix_value(e, aff_offset(e->program->aff, a->b, -1)));
        else em_at(e, level, "shr.s32 %s, %s, %s;", d, x, ix_value(e, a->b->a));
        return;
    }
    if (aff_is_const(a->b, &divisor) && power_of_two(divisor, &log)) {
        if (modulo) em_at(e, level, "and.b32 %s, %s, %lld;", d, x, (long long)(divisor - 1));
        else em_at(e, level, "shr.s32 %s, %s, %d;", d, x, log);
        return;
    }
    const char *y = ix_value(e, a->b);
    if (natural && aff_is_const(a->b, &divisor) && divisor > 0 && divisor <= INT32_MAX) {
        const char *q = modulo ? em_new(e, REG_R) : d;
        ix_divide(e, level, q, x, divisor);
        if (modulo) ix_remainder(e, level, d, x, q, divisor);
        return;
    }
    if (natural && ix_is_shared_divisor(e, a->b, level)) {
        ix_emit_quotient(e, level, a, d);
        return;
    }
    if (natural) {
        em_at(e, level, "%s.u32 %s, %s, %s;", modulo ? "rem" : "div", d, x, y);
        return;
    }
    const char *q = em_new(e, REG_R), *r = em_new(e, REG_R), *p = em_new(e, REG_P), *t = em_new(e, REG_R);
    em_at(e, level, "div.s32 %s, %s, %s;", q, x, y);
    em_at(e, level, "mul.lo.s32 %s, %s, %s;", t, q, y);
    em_at(e, level, "sub.s32 %s, %s, %s;", r, x, t);
    ix_steps_down(e, level, p, 32, r, signs ? y : NULL);
    if (modulo) {
        em_at(e, level, "add.s32 %s, %s, %s;", t, r, y);
        em_at(e, level, "selp.b32 %s, %s, %s, %s;", d, t, r, p);
    } else {
        em_at(e, level, "add.s32 %s, %s, -1;", t, q);
        em_at(e, level, "selp.b32 %s, %s, %s, %s;", d, t, q, p);
    }
}

static void emit_two(Emitter *e, int level, const char *instruction, const Aff *a, const char *d)
{
    const char *x = ix_value(e, a->a), *y = ix_value(e, a->b);
    em_at(e, level, "%s %s, %s, %s;", instruction, d, x, y);
}

/* Of what is divided or chosen from, all bits count; of a power of two those that a remainder keeps, up to 31. */
static bool needs_wide(const Emitter *e, const Aff *a)
{
    bool chosen = a->kind == AFF_MIN || a->kind == AFF_MAX;
    if (!chosen && a->kind != AFF_DIV && a->kind != AFF_MOD) return false;
    if (a->b->kind != AFF_EXP2 || chosen) return ix_is_wide(e, a->a) || ix_is_wide(e, a->b) || ix_is_wide(e, a);
    int64_t lo, hi;
    aff_bounds(a->b->a, &lo, &hi);
    return ix_is_wide(e, a->a) || (a->kind == AFF_MOD && hi > 31);
}

static void emit_value(Emitter *e, int level, const Aff *a, const char *d)
{
    if (needs_wide(e, a)) {
        em_at(e, level, "cvt.u32.u64 %s, %s;", d, ix_wide(e, a));
        return;
    }
    switch (a->kind) {
    case AFF_CONST:  em_at(e, level, "mov.b32 %s, %lld;", d, (long long)a->value); break;
    case AFF_SYM:    break;
    case AFF_ADD:    emit_two(e, level, "add.s32", a, d); break;
    case AFF_MUL:    emit_two(e, level, "mul.lo.s32", a, d); break;
    case AFF_MIN:    emit_two(e, level, "min.s32", a, d); break;
    case AFF_MAX:    emit_two(e, level, "max.s32", a, d); break;
    case AFF_DIV: case AFF_MOD: emit_division(e, level, a, d); break;
    case AFF_EXP2:   em_at(e, level, "shl.b32 %s, 1, %s;", d, ix_value(e, a->a)); break;
    case AFF_LE: case AFF_EQ: case AFF_AND: case AFF_OR: case AFF_NOT:
        em_at(e, level, "selp.b32 %s, 1, 0, %s;", d, ix_condition(e, a));
        break;
    case AFF_AT:
        if (ix_is_wide(e, a)) em_at(e, level, "cvt.u32.u64 %s, %s;", d, ix_wide(e, a));
        else gl_element(e, level, a, d);
        break;
    case AFF_POISON:
        em_fail(e, (Span){0, 0}, TW0801, "an integer expression overflows 64 bits");
        break;
    }
}

const char *ix_value(Emitter *e, const Aff *a)
{
    int64_t number;
    if (aff_is_const(a, &number)) {
        if (number < INT32_MIN || number > INT32_MAX)
            em_fail(e, (Span){0, 0}, TW0801, "the number %lld does not fit 32 bits", (long long)number);
        return arena_printf(e->arena, "%lld", (long long)number);
    }
    if (a->kind == AFF_SYM) {
        if (a->sym->id >= e->n_syms || !e->syms[a->sym->id].valid) {
            em_fail(e, (Span){0, 0}, TW0802, "the value of '%s' is not known here", a->sym->name);
            return "0";
        }
        return em_name(e, REG_R, e->syms[a->sym->id].reg);
    }
    const Memo *memo = memo_of(e, MEMO_VALUE, a);
    if (memo) return em_name(e, REG_R, memo->reg);
    int level = ix_level(e, a), reg = em_reg(e, REG_R);
    emit_value(e, level, a, em_name(e, REG_R, reg));
    remember(e, MEMO_VALUE, a, reg, level);
    return em_name(e, REG_R, reg);
}

void ix_look_up(Emitter *e, const Aff *a)
{
    const AffSym *table;
    const Aff *coords[AFF_MAX_COORDS];
    if (!a || a->kind == AFF_CONST || a->kind == AFF_SYM || !aff_uses_kind(a, AFF_TABLE)) return;
    if (a->kind != AFF_AT) {
        ix_look_up(e, a->a);
        ix_look_up(e, a->b);
    } else if (aff_uses_place(a)) {
        for (int n = aff_coords(a, &table, coords); n > 0; n--) ix_look_up(e, coords[n - 1]);
    } else {
        ix_value(e, a);
    }
}

const char *ix_wide(Emitter *e, const Aff *a)
{
    int64_t number;
    if (aff_is_const(a, &number)) return arena_printf(e->arena, "%lld", (long long)number);
    const Memo *memo = memo_of(e, MEMO_WIDE, a);
    if (memo) return em_name(e, REG_RD, memo->reg);
    int level = ix_level(e, a), reg = em_reg(e, REG_RD);
    const char *d = em_name(e, REG_RD, reg);
    if (ix_is_wide_part(e, a) || needs_wide(e, a)) ix_emit_wide(e, level, a, d);
    else em_at(e, level, "cvt.s64.s32 %s, %s;", d, ix_value(e, a));
    remember(e, MEMO_WIDE, a, reg, level);
    return d;
}

/* ---- conditions ----------------------------------------------------------------- */

/* What is 0 where its low word is. */
static bool differs_in_words(const Aff *a)
{
    int64_t lo, hi;
    aff_bounds(a->a, &lo, &hi);
    return a->kind == AFF_EQ && a->b->kind == AFF_CONST && a->b->value == 0 && lo > -(int64_t)UINT32_MAX && hi < (int64_t)UINT32_MAX;
}

/* a = elements - places: what has elements of tensors in it, and the rest. */
static void split_elements(AffCtx *aff, const Aff *a, const Aff **elements, const Aff **places)
{
    if (a->kind == AFF_ADD) {
        const Aff *e, *p;
        split_elements(aff, a->a, elements, places);
        split_elements(aff, a->b, &e, &p);
        *elements = aff_add(aff, *elements, e);
        *places = aff_add(aff, *places, p);
        return;
    }
    bool reads = aff_uses_kind(a, AFF_TABLE);
    *elements = reads ? a : aff_const(aff, 0);
    *places = reads ? aff_const(aff, 0) : aff_scale(aff, a, -1);
}

/* -x or a multiple of it */
static bool is_opposite(const Aff *a)
{
    return a->kind == AFF_MUL && a->b->kind == AFF_CONST && a->b->value < 0;
}

/* Sets d where less <= more, or less == more; where strict less < more. False: 32 bits may be too few. */
static bool compare_two(Emitter *e, int level, const Aff *less, const Aff *more, AffKind kind, bool strict, const char *d)
{
    if (ix_is_wide(e, less) || ix_is_wide(e, more)) return false;
    const char *l = ix_value(e, less), *m = ix_value(e, more);
    em_at(e, level, "setp.%s.s32 %s, %s, %s;", kind == AFF_EQ ? "eq" : strict ? "lt" : "le", d, l, m);
    return true;
}

/* Elements beside places, which fit 32 bits, or beside other elements, where no difference is needed. */
static bool compare_elements(Emitter *e, int level, const Aff *a, const char *d)
{
    AffCtx *aff = e->program->aff;
    const Aff *x, *y;
    int64_t constant;
    split_elements(aff, aff_sub(aff, a->a, a->b), &x, &y);
    const Aff *less = x, *more = y; /* less < more where constant is -1 */
    bool pair = x->kind == AFF_ADD && aff_is_const(y, &constant) && (constant == 0 || (constant == -1 && a->kind == AFF_LE));
    if (pair && is_opposite(x->a)) less = x->b, more = aff_scale(aff, x->a, -1);
    else if (pair) less = x->a, more = aff_scale(aff, x->b, -1);
    else if (is_opposite(x)) less = aff_scale(aff, y, -1), more = aff_scale(aff, x, -1);
    return compare_two(e, level, less, more, a->kind, pair && constant, d);
}

static bool is_quotient(const Aff *a)
{
    return a->kind == AFF_DIV || a->kind == AFF_MOD;
}

/* A quotient of each row beside one of each column: differences would be one of each element, which all wait for the
 * mask that takes them. */
static bool compare_quotients(Emitter *e, int level, const Aff *rest, int64_t constant, AffKind kind, const char *d)
{
    if (rest->kind != AFF_ADD || (constant != 0 && (constant != 1 || kind != AFF_LE))) return false;
    bool first = is_opposite(rest->a);
    const Aff *less = first ? rest->b : rest->a, *more = aff_scale(e->program->aff, first ? rest->a : rest->b, -1);
    return is_quotient(less) && is_quotient(more) && compare_two(e, level, less, more, kind, constant, d);
}

/* x <= y as  (x - y without its constant) <= constant: elements of a tile that
 * differ by constants share the left side. */
static void emit_comparison(Emitter *e, int level, const Aff *a, const char *d)
{
    AffCtx *aff = e->program->aff;
    int64_t constant;
    const Aff *rest = aff_without_constant(aff, aff_sub(aff, a->a, a->b), &constant);
    if (e->exact && aff_uses_kind(a, AFF_TABLE) && compare_elements(e, level, a, d)) return;
    if (compare_quotients(e, level, rest, constant, a->kind, d)) return;
    bool wide = (ix_is_wide(e, rest) && !differs_in_words(a)) || constant > INT32_MAX || constant <= INT32_MIN;
    em_at(e, level, "setp.%s.%s %s, %s, %lld;", a->kind == AFF_LE ? "le" : "eq", wide ? "s64" : "s32", d,
          wide ? ix_wide(e, rest) : ix_value(e, rest), (long long)-constant);
}

/* Predicate registers are few, so a condition that is used once is best made
 * where it is used; only its integers are hoisted. */
const char *ix_condition_here(Emitter *e, const Aff *a)
{
    const char *d;
    if (a->kind == AFF_AND || a->kind == AFF_OR) {
        const char *x = ix_condition_here(e, a->a), *y = ix_condition_here(e, a->b);
        d = em_new(e, REG_P);
        em(e, "%s.pred %s, %s, %s;", a->kind == AFF_AND ? "and" : "or", d, x, y);
        return d;
    }
    if (a->kind != AFF_LE && a->kind != AFF_EQ) return ix_condition(e, a);
    d = em_new(e, REG_P);
    emit_comparison(e, em_level(e), a, d);
    return d;
}

static void emit_condition(Emitter *e, int level, const Aff *a, const char *d)
{
    switch (a->kind) {
    case AFF_LE: case AFF_EQ: emit_comparison(e, level, a, d); return;
    case AFF_AND: case AFF_OR: {
        const char *x = ix_condition(e, a->a), *y = ix_condition(e, a->b);
        em_at(e, level, "%s.pred %s, %s, %s;", a->kind == AFF_AND ? "and" : "or", d, x, y);
        return;
    }
    case AFF_NOT: em_at(e, level, "not.pred %s, %s;", d, ix_condition(e, a->a)); return;
    case AFF_CONST: case AFF_SYM: case AFF_ADD: case AFF_MUL: case AFF_DIV: case AFF_MOD:
    case AFF_EXP2: case AFF_MIN: case AFF_MAX: case AFF_AT: case AFF_POISON:
        break;
    }
    em_at(e, level, "setp.ne.s32 %s, %s, 0;", d, ix_value(e, a));
}

const char *ix_condition(Emitter *e, const Aff *a)
{
    const Memo *memo = memo_of(e, MEMO_CONDITION, a);
    if (memo) return em_name(e, REG_P, memo->reg);
    int level = ix_level(e, a), reg = em_reg(e, REG_P);
    emit_condition(e, level, a, em_name(e, REG_P, reg));
    remember(e, MEMO_CONDITION, a, reg, level);
    return em_name(e, REG_P, reg);
}

/* ---- numbers --------------------------------------------------------------------- */

/* The expression's value as fp32, rounded to nearest. */
static const char *converted(Emitter *e, const Aff *a)
{
    const Memo *memo = memo_of(e, MEMO_FLOAT, a);
    if (memo) return em_name(e, REG_F, memo->reg);
    int level = ix_level(e, a), reg = em_reg(e, REG_F);
    if (ix_is_wide(e, a)) em_at(e, level, "cvt.rn.f32.s64 %%f%d, %s;", reg, ix_wide(e, a));
    else em_at(e, level, "cvt.rn.f32.s32 %%f%d, %s;", reg, ix_value(e, a));
    remember(e, MEMO_FLOAT, a, reg, level);
    return em_name(e, REG_F, reg);
}

static void float_of_extreme(Emitter *e, const Aff *a, const char *d)
{
    int64_t sum;
    const char *x = em_new(e, REG_F), *y;
    ix_float(e, a->a, x);
    if (aff_is_const(aff_add(e->program->aff, a->a, a->b), &sum) && sum == 0) {
        em(e, "abs.f32 %s, %s;", d, x);
        if (a->kind == AFF_MIN) em(e, "neg.f32 %s, %s;", d, d);
        return;
    }
    y = em_new(e, REG_F);
    ix_float(e, a->b, y);
    em(e, "%s.f32 %s, %s, %s;", a->kind == AFF_MAX ? "max" : "min", d, x, y);
}

/* An integer of few bits as the low ones of 2^23 + 2^22, or of 2^23, which is subtracted again: a multiprocessor does few
 * conversions. */
static bool float_of_bits(Emitter *e, const Aff *a, int reg)
{
    enum { FEW = 1 << 22 };
    int64_t constant, lo, hi;
    const Aff *rest = aff_without_constant(e->program->aff, a, &constant);
    aff_bounds(rest, &lo, &hi);
    if (lo <= -FEW || hi >= FEW || constant <= -FEW || constant >= FEW) return false;
    const char *word = em_new(e, REG_R), *sum = em_new(e, REG_F);
    if (lo >= 0) em(e, "or.b32 %s, %s, 0x4B000000;", word, ix_value(e, rest));
    else em(e, "add.s32 %s, %s, 0x4B400000;", word, ix_value(e, rest));
    em(e, "mov.b32 %s, %s;", sum, word);
    em(e, "add.f32 %%f%d, %s, %s;", reg, sum, em_f32(e, (double)constant - (lo >= 0 ? 0x1p23 : 0x1.8p23)));
    return true;
}

/* What elements of tensors are in; those that several share are computed once. */
static void float_of_elements(Emitter *e, const Aff *a, const char *d)
{
    int64_t lo, hi;
    aff_bounds(a, &lo, &hi);
    if (lo == 0 && hi == 1 && a->kind != AFF_AT) {
        em(e, "selp.f32 %s, 0f3F800000, 0f00000000, %s;", d, ix_condition_here(e, a));
        return;
    }
    if (!memo_of(e, MEMO_FLOAT, a)) {
        int reg = em_reg(e, REG_F);
        if (float_of_bits(e, a, reg)) remember(e, MEMO_FLOAT, a, reg, em_level(e));
    }
    em(e, "mov.f32 %s, %s;", d, converted(e, a));
}

void ix_float(Emitter *e, const Aff *a, const char *d)
{
    if (aff_uses_kind(a, AFF_TABLE)) {
        float_of_elements(e, a, d);
        return;
    }
    if (a->kind == AFF_MAX || a->kind == AFF_MIN) {
        float_of_extreme(e, a, d);
        return;
    }
    int64_t constant;
    const Aff *rest = aff_without_constant(e->program->aff, a, &constant);
    if (rest->kind == AFF_CONST) em(e, "mov.f32 %s, %s;", d, em_f32(e, (double)constant));
    else if (constant == 0) em(e, "mov.f32 %s, %s;", d, converted(e, rest));
    else em(e, "add.f32 %s, %s, %s;", d, converted(e, rest), em_f32(e, (double)constant));
}
