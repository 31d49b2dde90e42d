/* writer.c: text under construction, registers, labels. */
#include "ptx/emit.h"

static const char *const PREFIX[REG_CLASSES] = {"%r", "%rd", "%f", "%p", "%h"};

int em_level(const Emitter *e)
{
    return e->scopes.len - 1;
}

static void add_line(Str *text, const char *fmt, va_list args)
{
    str_addc(text, '\t');
    str_vprintf(text, fmt, args);
    str_addc(text, '\n');
}

void em_at(Emitter *e, int level, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_line(&e->scopes.data[level > e->floor ? level : e->floor], fmt, args);
    va_end(args);
}

void em(Emitter *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_line(em_innermost(e), fmt, args);
    va_end(args);
}

void em_before(Emitter *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_line(e->before, fmt, args);
    va_end(args);
}

Str *em_innermost(Emitter *e)
{
    return &e->scopes.data[em_level(e)];
}

Str em_take(Emitter *e)
{
    return e->texts->spare.len ? e->texts->spare.data[--e->texts->spare.len] : str_new(e->texts->arena);
}

void em_give(Emitter *e, Str text)
{
    str_clear(&text);
    vec_push(e->texts->arena, &e->texts->spare, text);
}

void em_open(Emitter *e)
{
    vec_push(e->arena, &e->scopes, em_take(e));
}

void em_close(Emitter *e)
{
    Str inner = e->scopes.data[--e->scopes.len];
    str_addn(em_innermost(e), inner.data, inner.len);
    em_give(e, inner);
    mo_forget_above(e->memos, em_level(e));
}

int em_reg(Emitter *e, RegClass c)
{
    return e->next[c]++;
}

/* Written backwards, without a format to read. */
static const char *spell(Emitter *e, RegClass c, int reg)
{
    char *text = arena_alloc(e->arena, sizeof "%rd2147483647"), *at = text;

    for (const char *prefix = PREFIX[c]; *prefix; prefix++) *at++ = *prefix;
    for (int rest = reg; rest >= 10; rest /= 10) at++;
    for (; reg >= 10; reg /= 10) *at-- = (char)('0' + reg % 10);
    *at = (char)('0' + reg);
    return text;
}

/* Half of the words of a kernel, each of them again and again. */
const char *em_name(Emitter *e, RegClass c, int reg)
{
    while (e->names[c].len <= reg) vec_push(e->arena, &e->names[c], NULL);
    const char **name = &e->names[c].data[reg];
    if (!*name) *name = spell(e, c, reg);
    return *name;
}

const char *em_new(Emitter *e, RegClass c)
{
    return em_name(e, c, em_reg(e, c));
}

int em_label(Emitter *e)
{
    return e->labels++;
}

const char *em_f32(Emitter *e, double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return arena_printf(e->arena, "0f%08X", bits);
}

void em_fail(Emitter *e, Span loc, DiagCode code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!e->failed) diag_add(e->diags, code, loc, "%s", arena_vprintf(e->arena, fmt, args));
    va_end(args);
    e->failed = true;
}

void em_need(Emitter *e, DType dtype)
{
    if (!target_has_dtype(e->target, dtype))
        em_fail(e, (Span){0, 0}, TW0803, "%s has no instructions for %s", e->target->name, dtype_name(dtype));
}
