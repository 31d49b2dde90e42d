/* ptx_call.c: functions of a module (PTX ISA, "call", ".func").
 *
 *     .func (.param .b32 r) twice(.param .b32 x) { … ret; }
 *     call (retval0), twice, (param0);
 *
 * The text of a function is read anew at each call, in a scope of its own; its parameters are names of the
 * caller's variables, and ret goes to where the call ends. So there is no stack: a function that calls
 * itself, and calls by address, are not known.
 */
#include "emu/ptx.h"

enum { MOST_CALLS = 1 << 12, MOST_PARAMS = 256 };

/* ---- finding functions ------------------------------------------------------------------------ */

/* Where each function begins; a declaration gives way to what is defined. */
void emu_ptx_find_functions(Parser *p)
{
    Parser scan = *p;
    int depth = 0;

    for (int c; (c = emu_ptx_peek(&scan)) != 0;) {
        depth += (c == '{') - (c == '}');
        if (c != '.' || depth) {
            scan.at++;
            continue;
        }
        scan.at++;
        if (emu_ptx_is(&scan, emu_ptx_word(&scan), "func")) {
            Function f = { NULL, scan.at, scan.line };

            vec_push(p->arena, &p->functions, f);
        }
    }
}

static void skip_parens(Parser *p)
{
    while (emu_ptx_peek(p) && emu_ptx_peek(p) != ')')
        p->at++;
    emu_ptx_accept(p, ')');
}

/* The name of a function, behind the parameter that it gives back. */
static const char *function_name(Parser *p)
{
    if (emu_ptx_accept(p, '('))
        skip_parens(p);
    return emu_ptx_text(p, emu_ptx_word(p));
}

/* Leaves the text at its body. */
static bool at_body(Parser *p)
{
    while (emu_ptx_peek(p) && emu_ptx_peek(p) != '{' && emu_ptx_peek(p) != ';')
        p->at++;
    return emu_ptx_peek(p) == '{';
}

static const Function *find_function(Parser *p, const char *name, bool *declared)
{
    *declared = false;
    for (int i = 0; i < p->functions.len; i++) {
        Function *f = &p->functions.data[i];
        Parser at = *p;

        at.at = f->at;
        if (!f->name)
            f->name = function_name(&at);
        if (f->name != name)
            continue;
        *declared = true;
        if (at_body(&at))
            return f;
    }
    return NULL;
}

bool emu_ptx_is_function(Parser *p, const char *name)
{
    bool declared;

    find_function(p, name, &declared);
    return declared;
}

/* ---- a call --------------------------------------------------------------------------------------- */

typedef struct Names { /* of the caller's variables */
    const Symbol *of[MOST_PARAMS];
    int count;
} Names;

/* ( name {, name} ) */
static bool parse_names(Parser *p, Names *names)
{
    if (emu_ptx_accept(p, ')'))
        return true;
    do {
        Span word = emu_ptx_word(p);
        const Symbol *symbol = emu_ptx_lookup(p, emu_ptx_text(p, word));

        if (!symbol || symbol->kind != SYM_LOCAL || names->count == MOST_PARAMS) {
            diag_add(p->diags, TW0824, word, "only .param variables are passed to functions");
            return false;
        }
        names->of[names->count++] = symbol;
    } while (emu_ptx_accept(p, ','));
    return emu_ptx_expect(p, ')');
}

/* ( .param .type name {, …} ) : the function's names of what it is given */
static bool bind_params(Parser *p, const Names *given)
{
    int count = 0;

    if (emu_ptx_accept(p, ')'))
        return given->count == 0;
    do {
        Variable v;
        Symbol *symbol;
        int64_t offset;

        if (!emu_ptx_expect(p, '.') || !emu_ptx_is(p, emu_ptx_word(p), "param") ||
            !emu_ptx_declaration(p, &v, MAX_LOCAL) || count == given->count)
            return false;
        offset = given->of[count++]->offset;
        symbol = emu_ptx_declare(p, v.span, SYM_LOCAL, v.name);
        symbol->offset = offset;
    } while (emu_ptx_accept(p, ','));
    return emu_ptx_expect(p, ')') && count == given->count;
}

static bool calls_itself(const Parser *p, const char *name)
{
    for (const Call *c = p->call; c; c = c->outer) {
        if (c->name == name)
            return true;
    }
    return false;
}

/* Reads a function's text where it is called. */
static void read_function(Parser *p, const Function *f, const Names *gives, const Names *takes, Span span)
{
    const char *at = p->at;
    int line = p->line;
    Call call = { p->call, f->name, NULL, p->scope_ids[p->depth - 1] };
    bool fits;

    call.end = sym(p->syms, arena_printf(p->arena, "end of call %d", p->calls++));
    p->at = f->at;
    p->line = f->line;
    emu_ptx_scope_open(p);
    fits = !emu_ptx_accept(p, '(') ? gives->count == 0 : bind_params(p, gives);
    emu_ptx_word(p);
    fits = fits && (!emu_ptx_accept(p, '(') ? takes->count == 0 : bind_params(p, takes));
    if (!fits) {
        diag_add(p->diags, TW0824, span, "'%s' has other parameters", f->name);
    } else if (at_body(p) && emu_ptx_accept(p, '{')) {
        p->call = &call;
        emu_ptx_body(p);
        p->call = call.outer;
    }
    emu_ptx_scope_close(p);
    p->at = at;
    p->line = line;
    emu_ptx_label_named(p, span, call.end);
}

/* A guard is a branch past it all. */
static void skip_unless(Parser *p, const Stmt *s, const char *to)
{
    Inst in = { .exec = emu_exec_bra, .cls = EMU_CONTROL, .line = s->line };
    Fixup fixup = { p->entry->code.len, NULL, p->scope_ids[p->depth - 1], to, s->span };

    in.flags = IF_GUARDED | (s->guard_not ? 0 : (uint32_t)IF_GUARD_NOT);
    in.guard = emu_ptx_place(p, s->guard_slot);
    vec_push(p->arena, &p->entry->code, in);
    vec_push(p->arena, &p->fixups, fixup);
}

/* Stores 0 to a variable of four bytes. */
static void clear(Parser *p, const Stmt *s, const Symbol *symbol)
{
    Inst in = { .exec = emu_exec_st, .cls = EMU_CONTROL, .line = s->line, .ns = 2, .bytes = 4, .vec = 1,
                .space = SPACE_LOCAL, .aux = 4, .flags = IF_WIDE };
    Place *op = arena_array(p->arena, Place, 2);

    op[0] = emu_ptx_constant(p, (uint64_t)symbol->offset, true);
    op[1] = emu_ptx_constant(p, 0, false);
    in.op = op;
    vec_push(p->arena, &p->entry->code, in);
}

/* What the runtime gives to all kernels: an assertion that fails ends the kernel, printing is passed over and gives 0. */
static bool call_runtime(Parser *p, const Stmt *s, const char *name, const Names *gives)
{
    Inst in = { .exec = emu_exec_trap, .cls = EMU_CONTROL, .line = s->line };

    if (strcmp(name, "__assertfail") == 0)
        vec_push(p->arena, &p->entry->code, in);
    else if (strcmp(name, "vprintf") != 0)
        return false;
    for (int i = 0; i < gives->count; i++)
        clear(p, s, gives->of[i]);
    return true;
}

static void call_function(Parser *p, const Stmt *s, Span word, const Names *gives, const Names *takes)
{
    const char *name = emu_ptx_text(p, word);
    bool declared;
    const Function *f = find_function(p, name, &declared);
    const char *past = sym(p->syms, arena_printf(p->arena, "past call %d", p->calls++));

    if (s->guarded)
        skip_unless(p, s, past);
    if (f && (calls_itself(p, name) || p->depth + 2 >= MAX_SCOPES || p->calls > MOST_CALLS))
        diag_add(p->diags, TW0822, word, "'%s' calls itself, or calls are too many: there is no stack", name);
    else if (f)
        read_function(p, f, gives, takes, s->span);
    else if (!declared || !call_runtime(p, s, name, gives))
        diag_add(p->diags, TW0825, word, "there is no function '%s' in this text", name);
    emu_ptx_label_named(p, s->span, past);
}

/* call{.uni} [(ret),] name [, (params)]; */
void emu_ptx_call(Parser *p, Stmt *s)
{
    Names gives = { .count = 0 }, takes = { .count = 0 };
    Span word;

    if (emu_ptx_accept(p, '(') && (!parse_names(p, &gives) || !emu_ptx_expect(p, ','))) {
        emu_ptx_skip_statement(p);
        return;
    }
    word = emu_ptx_word(p);
    if (emu_ptx_accept(p, ',') && (!emu_ptx_expect(p, '(') || !parse_names(p, &takes))) {
        emu_ptx_skip_statement(p);
        return;
    }
    if (emu_ptx_expect(p, ';'))
        call_function(p, s, word, &gives, &takes);
    else
        emu_ptx_skip_statement(p);
}
