/* ptx_variables.c: .global and .const variables of a module, and what they start as (PTX ISA, "Initializers").
 *
 *     .const .align 4 .b8 table[8] = {0, 0, 128, 63, 0, 0, 0, 64};
 *     .global .u64 where = generic(table)+4;
 *
 * Each becomes a buffer of the memory that an entry first runs in.
 */
#include "emu/ptx.h"

typedef struct Filling {
    ModuleVariable *v;
    int width;
    EmuType type;
    int64_t at;
} Filling;

/* Values beyond the end are refused; the rest stays 0. */
static bool put(Parser *p, Filling *f, uint64_t bits)
{
    if (f->at + f->width > f->v->bytes) {
        diag_add(p->diags, TW0821, emu_ptx_here(p), "more values than '%s' has room for", f->v->name);
        return false;
    }
    memcpy(f->v->data + f->at, &bits, (size_t)f->width);
    f->at += f->width;
    return true;
}

static uint64_t element_bits(const Filling *f, const Arg *value)
{
    union { uint64_t u; double d; } wide = { value->bits };
    union { float f; uint32_t u; } single;

    if (value->kind != ARG_FLOAT || f->width == 8)
        return value->bits;
    if (f->width == 2)
        return emu_small_store(f->type == ET_BF16 ? ET_BF16 : ET_F16, wide.d, RND_N, false);
    single.f = (float)wide.d;
    return single.u;
}

/* name | generic(name), with + offset: a variable's address */
static bool fill_pointer(Parser *p, Filling *f)
{
    Span word = emu_ptx_word(p);
    bool generic = emu_ptx_is(p, word, "generic") && emu_ptx_accept(p, '(');
    const Symbol *symbol;
    Pointer to = { .at = f->at };

    if (generic)
        word = emu_ptx_word(p);
    symbol = emu_ptx_lookup(p, emu_ptx_text(p, word));
    if (generic && !emu_ptx_expect(p, ')'))
        return false;
    if (emu_ptx_accept(p, '+') && !emu_ptx_int(p, &to.offset))
        return false;
    if (!symbol && emu_ptx_is_function(p, emu_ptx_text(p, word)))
        return put(p, f, 0); /* nothing can be called by it */
    if (!symbol || symbol->kind != SYM_VARIABLE || f->width != 8) {
        diag_add(p->diags, TW0825, word, "this is not the address of a variable that is known");
        return false;
    }
    to.variable = symbol->slot;
    vec_push(p->arena, &f->v->pointers, to);
    return put(p, f, 0);
}

static bool fill(Parser *p, Filling *f)
{
    int c = emu_ptx_peek(p);
    Arg value = { 0 };

    if (emu_ptx_accept(p, '{')) {
        while (!emu_ptx_accept(p, '}')) {
            if (!fill(p, f))
                return false;
            if (!emu_ptx_accept(p, ','))
                return emu_ptx_expect(p, '}');
        }
        return true;
    }
    if ((c >= '0' && c <= '9') || c == '-' || c == '.')
        return emu_ptx_number(p, &value) && put(p, f, element_bits(f, &value));
    return fill_pointer(p, f);
}

enum { MOST_VARIABLE_BYTES = 1 << 28 };

static void skip_attributes(Parser *p)
{
    while (emu_ptx_peek(p) && emu_ptx_peek(p) != ')')
        p->at++;
    emu_ptx_expect(p, ')');
}

/* .attribute(.managed) may stand before the type. */
static void accept_attribute(Parser *p)
{
    const char *from = p->at;

    if (emu_ptx_accept(p, '.') && emu_ptx_is(p, emu_ptx_word(p), "attribute"))
        skip_attributes(p);
    else
        p->at = from;
}

/* [.attribute(…)] [.align N] .type name { [count] } [= value] ; one that is only declared has no name, so who
 * uses it is told so. */
void emu_ptx_module_variable(Parser *p, bool constant, bool external)
{
    ModuleVariable made = { .constant = constant };
    Filling f;
    Variable v;

    accept_attribute(p);
    if (external || !emu_ptx_declaration(p, &v, MOST_VARIABLE_BYTES)) {
        emu_ptx_skip_definition(p);
        return;
    }
    made.name = v.name;
    made.bytes = v.bytes;
    made.align = v.align;
    f = (Filling){ .v = &made, .width = emu_types[v.type].bytes, .type = v.type };
    if (emu_ptx_accept(p, '=')) {
        made.data = arena_alloc(p->arena, (size_t)v.bytes + 8);
        if (!fill(p, &f)) {
            emu_ptx_skip_definition(p);
            return;
        }
    }
    emu_ptx_expect(p, ';');
    vec_push(p->arena, &p->module->variables, made);
    emu_ptx_declare(p, v.span, SYM_VARIABLE, v.name)->slot = p->module->variables.len;
}
