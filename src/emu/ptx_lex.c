/* ptx_lex.c: the characters of PTX text.
 *
 * There is no token stream: PTX is read by a hand-written descent that asks for
 * a character, a word or a number (PTX ISA, "Syntax"). Everything stops at the
 * end of the text, so truncated text cannot run away.
 */
#include "emu/ptx.h"

#include <ctype.h>
#include <stdlib.h>

/* Past a comment that starts at p->at; an open one reaches to the end. */
static void skip_comment(Parser *p, bool block)
{
    for (p->at += 2; p->at < p->end; p->at++) {
        if (*p->at == '\n') {
            if (!block)
                return;
            p->line++;
        }
        if (block && p->end - p->at >= 2 && p->at[0] == '*' && p->at[1] == '/') {
            p->at += 2;
            return;
        }
    }
}

/* And comments. */
static void skip_space(Parser *p)
{
    while (p->at < p->end) {
        if (*p->at == '\n')
            p->line++;
        else if (*p->at == '/' && p->end - p->at >= 2 && (p->at[1] == '/' || p->at[1] == '*')) {
            skip_comment(p, p->at[1] == '*');
            continue;
        } else if (!isspace((unsigned char)*p->at))
            return;
        p->at++;
    }
}

int emu_ptx_peek(Parser *p)
{
    skip_space(p);
    return p->at < p->end ? (unsigned char)*p->at : 0;
}

bool emu_ptx_accept(Parser *p, char c)
{
    if (p->at >= p->end || emu_ptx_peek(p) != (unsigned char)c || p->at >= p->end)
        return false;
    p->at++;
    return true;
}

Span emu_ptx_span(const Parser *p, const char *from)
{
    return (Span){ (int)(from - p->source->text), (int)(p->at - p->source->text) };
}

Span emu_ptx_here(const Parser *p)
{
    int at = (int)(p->at - p->source->text);

    return (Span){ at, p->at < p->end ? at + 1 : at };
}

bool emu_ptx_expect(Parser *p, char c)
{
    if (emu_ptx_accept(p, c))
        return true;
    skip_space(p);
    diag_add(p->diags, TW0821, emu_ptx_here(p), "expected '%c'", c);
    return false;
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

Span emu_ptx_word(Parser *p)
{
    const char *from;

    skip_space(p);
    from = p->at;
    while (p->at < p->end && word_char(*p->at))
        p->at++;
    return emu_ptx_span(p, from);
}

Span emu_ptx_dotted(Parser *p)
{
    const char *from;

    skip_space(p);
    from = p->at;
    while (p->at < p->end) {
        if (word_char(*p->at) || *p->at == '.')
            p->at++;
        else if (*p->at == ':' && p->end - p->at >= 2 && p->at[1] == ':')
            p->at += 2;
        else
            break;
    }
    return emu_ptx_span(p, from);
}

const char *emu_ptx_text(Parser *p, Span span)
{
    return symn(p->syms, p->source->text + span.start, (size_t)(span.end - span.start));
}

/* ---- numbers ------------------------------------------------------------- */

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Digits of a base; false when there is none or the value does not fit 64 bits. */
static bool digits(Parser *p, unsigned base, uint64_t *value)
{
    const char *from = p->at;
    bool fits = true;

    for (*value = 0; p->at < p->end && (unsigned)digit_value(*p->at) < base; p->at++) {
        unsigned digit = (unsigned)digit_value(*p->at);

        if (*value > (UINT64_MAX - digit) / base)
            fits = false;
        *value = *value * base + digit;
    }
    return fits && p->at > from;
}

/* 0f / 0d and the bits of a float (PTX ISA, "Floating-Point Constants"). */
static bool float_bits(Parser *p, Arg *arg)
{
    bool single = tolower((unsigned char)p->at[1]) == 'f';
    const char *from = p->at += 2;
    uint64_t bits;

    if (!digits(p, 16, &bits) || p->at - from != (single ? 8 : 16))
        return false;
    arg->kind = ARG_FLOAT;
    arg->bits = bits;
    if (single) {
        union { uint32_t u; float f; } x = { (uint32_t)bits };
        union { double d; uint64_t u; } wide = { (double)x.f };
        arg->bits = wide.u;
    }
    return true;
}

/* Whether a decimal number with a point or an exponent starts here. */
static bool decimal_float(const Parser *p)
{
    const char *c = p->at;

    while (c < p->end && isdigit((unsigned char)*c))
        c++;
    return c < p->end && (*c == '.' || ((*c == 'e' || *c == 'E') && c > p->at));
}

static bool parse_decimal_float(Parser *p, Arg *arg)
{
    union { double d; uint64_t u; } value;
    char text[64];
    size_t len = 0;
    char *stop;

    while (p->at + len < p->end && len < sizeof text - 1 &&
           (isalnum((unsigned char)p->at[len]) || p->at[len] == '.' ||
            ((p->at[len] == '-' || p->at[len] == '+') && len &&
             tolower((unsigned char)p->at[len - 1]) == 'e')))
        len++;
    memcpy(text, p->at, len);
    text[len] = 0;
    value.d = strtod(text, &stop);
    if (stop == text)
        return false;
    p->at += stop - text;
    arg->kind = ARG_FLOAT;
    arg->bits = value.u;
    return true;
}

/* integer: 0x… | 0b… | 0… (octal) | decimal, with an optional U (PTX ISA, "Integer Constants") */
static bool unsigned_int(Parser *p, uint64_t *value)
{
    unsigned base = 10;
    int next = p->end - p->at >= 2 && p->at[0] == '0' ? tolower((unsigned char)p->at[1]) : 0;

    if (next == 'x' || next == 'b') {
        base = next == 'x' ? 16 : 2;
        p->at += 2;
    } else if (isdigit(next)) {
        base = 8;
    }
    if (!digits(p, base, value))
        return false;
    if (p->at < p->end && *p->at == 'U')
        p->at++;
    return p->at >= p->end || !word_char(*p->at);
}

bool emu_ptx_number(Parser *p, Arg *arg)
{
    bool minus = emu_ptx_accept(p, '-');
    const char *from;
    int next;

    skip_space(p);
    from = p->at;
    next = p->end - from >= 2 && from[0] == '0' ? tolower((unsigned char)from[1]) : 0;
    if (p->at >= p->end || !(isdigit((unsigned char)*from) || *from == '.')) {
        diag_add(p->diags, TW0821, emu_ptx_here(p), "expected a number");
        return false;
    }
    if (next == 'f' || next == 'd' ? !float_bits(p, arg)
        : next != 'x' && decimal_float(p) ? !parse_decimal_float(p, arg)
                                          : (arg->kind = ARG_INT, !unsigned_int(p, &arg->bits))) {
        while (p->at < p->end && word_char(*p->at))
            p->at++;
        diag_add(p->diags, TW0821, emu_ptx_span(p, from), "this is not a number that PTX knows");
        return false;
    }
    if (minus)
        arg->bits = arg->kind == ARG_INT ? 0 - arg->bits : arg->bits ^ UINT64_C(1) << 63;
    return true;
}

bool emu_ptx_int(Parser *p, int64_t *value)
{
    Arg arg = { 0 };

    if (!emu_ptx_number(p, &arg))
        return false;
    *value = (int64_t)arg.bits;
    if (arg.kind == ARG_INT)
        return true;
    diag_add(p->diags, TW0821, emu_ptx_here(p), "expected an integer");
    return false;
}

/* ---- getting past things --------------------------------------------------- */

void emu_ptx_skip_line(Parser *p)
{
    while (p->at < p->end && *p->at != '\n')
        p->at++;
}

void emu_ptx_skip_statement(Parser *p)
{
    int c;

    while ((c = emu_ptx_peek(p)) != 0 && c != ';' && c != '}' && c != '{')
        p->at++;
    emu_ptx_accept(p, ';');
}

void emu_ptx_skip_string(Parser *p)
{
    if (!emu_ptx_expect(p, '"'))
        return;
    while (p->at < p->end && *p->at != '"' && *p->at != '\n')
        p->at++;
    emu_ptx_expect(p, '"');
}
