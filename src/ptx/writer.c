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
    add_line(&e->scopes.data[em_level(e)], fmt, args);
    va_end(args);
}

void em_before(Emitter *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_line(e->before, fmt, args);
    va_end(args);
}

/* In the storage of one that was closed, if there is any. */
void em_open(Emitter *e)
{
    if (e->scopes.len < e->scopes_closed) str_clear(&e->scopes.data[e->scopes.len++]);
    else vec_push(e->arena, &e->scopes, str_new(e->arena));
}

void em_close(Emitter *e)
{
    const Str *inner = &e->scopes.data[e->scopes.len - 1];
    if (e->scopes.len > e->scopes_closed) e->scopes_closed = e->scopes.len;
    e->scopes.len--;
    int level = em_level(e);
    str_addn(&e->scopes.data[level], inner->data, inner->len);
    mo_forget_above(e->memos, level);
}

int em_reg(Emitter *e, RegClass c)
{
    return e->next[c]++;
}

/* Half of the words of a kernel: written backwards, without a format to read. */
const char *em_name(Emitter *e, RegClass c, int reg)
{
    char text[sizeof "%rd2147483647"];
    int at = sizeof text - 1;

    text[at] = '\0';
    for (int rest = reg; rest > 0 || at == sizeof text - 1; rest /= 10)
        text[--at] = (char)('0' + rest % 10);
    for (size_t i = strlen(PREFIX[c]); i-- > 0;)
        text[--at] = PREFIX[c][i];
    return arena_strndup(e->arena, text + at, sizeof text - 1 - (size_t)at);
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
