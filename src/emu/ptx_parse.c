/* ptx_parse.c: directives and statements of PTX text.
 *
 *   module    := { .version … | .target … | .address_size … | entry | variable }
 *   entry     := [.visible] .entry name ( params ) { performance directive } body
 *   body      := { register | variable | label | instruction | body }
 *   instruction := [@[!]p] opcode [ operand { , operand } ] ;
 *
 * A statement that is wrong is diagnosed and skipped up to its semicolon, so
 * that one run reports several mistakes.
 */
#include "emu/ptx.h"

bool emu_ptx_is(Parser *p, Span word, const char *text)
{
    size_t len = (size_t)(word.end - word.start);

    return strlen(text) == len && memcmp(p->source->text + word.start, text, len) == 0;
}

/* ---- declarations ------------------------------------------------------------ */

/* A type suffix after its dot. */
static bool parse_type(Parser *p, EmuType *type)
{
    const char *from = p->at;
    Span word = emu_ptx_word(p);
    int found = emu_names_get(&p->types, emu_ptx_text(p, word));

    if (found >= 0) {
        *type = (EmuType)found;
        return true;
    }
    diag_add(p->diags, TW0821, emu_ptx_span(p, from), "'.%s' is not a type", emu_ptx_text(p, word));
    return false;
}

static bool count_registers(Parser *p, Span span, int64_t count)
{
    if (count >= 1 && count <= MAX_REGISTERS - p->registers) {
        p->registers += (int)count;
        return true;
    }
    diag_add(p->diags, TW0827, span, "an entry can declare at most %d registers", MAX_REGISTERS);
    return false;
}

static EmuType register_type(EmuType type)
{
    return emu_types[type].bytes == 1 ? ET_B16 : type;
}

/* name | name<count> */
static bool parse_register(Parser *p, EmuType type)
{
    Span word = emu_ptx_word(p);
    const char *name = emu_ptx_text(p, word);
    int64_t count = 1;
    Symbol *symbol;

    if (word.end == word.start)
        return diag_add(p->diags, TW0821, emu_ptx_here(p), "expected the name of a register"), false;
    if (!emu_ptx_accept(p, '<')) {
        if (!count_registers(p, word, 1))
            return false;
        symbol = emu_ptx_declare(p, word, SYM_REGISTER, name);
        symbol->slot = emu_ptx_new_slot(p, name, type);
        return true;
    }
    if (!emu_ptx_int(p, &count) || !emu_ptx_expect(p, '>') || !count_registers(p, word, count))
        return false;
    symbol = emu_ptx_declare(p, word, SYM_RANGE, sym(p->syms, arena_printf(p->arena, "%s<", name)));
    symbol->type = type;
    symbol->count = (int)count;
    symbol->slots = arena_array(p->arena, int32_t, count);
    return true;
}

/* .reg .type name {, name} ; */
static void parse_registers(Parser *p)
{
    EmuType type;

    if (!emu_ptx_expect(p, '.') || !parse_type(p, &type)) {
        emu_ptx_skip_statement(p);
        return;
    }
    do {
        if (!parse_register(p, register_type(type))) {
            emu_ptx_skip_statement(p);
            return;
        }
    } while (emu_ptx_accept(p, ','));
    if (!emu_ptx_expect(p, ';'))
        emu_ptx_skip_statement(p);
}

/* An alignment: a power of two. */
static bool parse_align(Parser *p, int64_t *align)
{
    Span here = emu_ptx_here(p);

    if (!emu_ptx_int(p, align))
        return false;
    if (*align >= 1 && *align <= 4096 && (*align & (*align - 1)) == 0)
        return true;
    diag_add(p->diags, TW0821, here, "an alignment is a power of two, at most 4096");
    return false;
}

/* [.align N] .type */
static bool parse_variable_type(Parser *p, Variable *v, EmuType *type)
{
    while (emu_ptx_expect(p, '.')) {
        const char *from = p->at;
        Span word = emu_ptx_word(p);

        if (!emu_ptx_is(p, word, "align")) {
            p->at = from;
            return parse_type(p, type);
        }
        if (!parse_align(p, &v->align))
            return false;
    }
    return false;
}

/* [.ptr [.space] [.align N]]: says what a pointer parameter points to; nothing here needs it */
static bool parse_pointee(Parser *p)
{
    int64_t align;

    while (emu_ptx_accept(p, '.')) {
        Span word = emu_ptx_word(p);

        if (emu_ptx_is(p, word, "align")) {
            if (!parse_align(p, &align))
                return false;
        } else if (!emu_ptx_is(p, word, "ptr") && !emu_ptx_is(p, word, "global") &&
                   !emu_ptx_is(p, word, "shared") && !emu_ptx_is(p, word, "const") &&
                   !emu_ptx_is(p, word, "local")) {
            diag_add(p->diags, TW0821, word, "expected a name");
            return false;
        }
    }
    return true;
}

/* name { [count] } */
bool emu_ptx_declaration(Parser *p, Variable *v, int64_t limit)
{
    int64_t count;

    memset(v, 0, sizeof *v);
    v->type = ET_B8;
    if (!parse_variable_type(p, v, &v->type) || !parse_pointee(p))
        return false;
    v->bytes = emu_types[v->type].bytes;
    if (v->align < v->bytes)
        v->align = v->bytes;
    v->span = emu_ptx_word(p);
    v->name = emu_ptx_text(p, v->span);
    if (v->span.end == v->span.start)
        return diag_add(p->diags, TW0821, emu_ptx_here(p), "expected a name"), false;
    while (emu_ptx_accept(p, '[')) {
        if (emu_ptx_accept(p, ']')) {
            v->open = true;
            continue;
        }
        if (!emu_ptx_int(p, &count) || !emu_ptx_expect(p, ']'))
            return false;
        if (count < 0 || count > limit || (v->bytes && count > limit / v->bytes)) {
            diag_add(p->diags, TW0827, v->span, "'%s' is larger than %lld bytes", v->name,
                     (long long)limit);
            return false;
        }
        v->bytes *= count;
    }
    return true;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Puts a variable into shared or local memory, of which *bytes are taken. */
static Symbol *place_variable(Parser *p, const Variable *v, bool shared, int *bytes)
{
    int64_t limit = shared ? MAX_SHARED : MAX_LOCAL;
    int64_t offset = round_up(*bytes, v->align);
    Symbol *symbol = emu_ptx_declare(p, v->span, shared ? SYM_SHARED : SYM_LOCAL, v->name);

    if (offset + v->bytes > limit) {
        diag_add(p->diags, TW0827, v->span, "'%s' makes %s memory larger than %lld bytes", v->name,
                 shared ? "shared" : "local", (long long)limit);
        return NULL;
    }
    symbol->offset = offset;
    *bytes = (int)(offset + v->bytes);
    return symbol;
}

Symbol *emu_ptx_local(Parser *p, const Variable *v)
{
    return place_variable(p, v, false, &p->entry->local_bytes);
}

/* .shared … ; | .local … ; inside an entry */
static void parse_entry_variable(Parser *p, bool shared)
{
    Variable v;

    if (!emu_ptx_declaration(p, &v, shared ? MAX_SHARED : MAX_LOCAL)) {
        emu_ptx_skip_statement(p);
        return;
    }
    place_variable(p, &v, shared, shared ? &p->entry->shared_bytes : &p->entry->local_bytes);
    if (!emu_ptx_expect(p, ';'))
        emu_ptx_skip_statement(p);
}

/* ---- operands ------------------------------------------------------------------- */

static bool parse_arg(Parser *p, Stmt *s, Arg *arg, int depth);

/* A register, a special register, a variable, or a label. */
static bool parse_name(Parser *p, Arg *arg)
{
    Span span = emu_ptx_dotted(p);
    const char *name = emu_ptx_text(p, span);
    int special;

    arg->span = span;
    if (span.end == span.start)
        return diag_add(p->diags, TW0821, emu_ptx_here(p), "expected an operand"), false;
    if (strcmp(name, "_") == 0) {
        arg->kind = ARG_SINK;
        return true;
    }
    if (strcmp(name, "WARP_SZ") == 0) {
        arg->kind = ARG_INT;
        arg->bits = LANES;
        return true;
    }
    if ((arg->slot = emu_ptx_register(p, name)) >= 0) {
        arg->kind = ARG_REGISTER;
        return true;
    }
    if ((arg->symbol = emu_ptx_lookup(p, name)) != NULL) {
        arg->kind = ARG_SYMBOL;
        return true;
    }
    if ((special = emu_names_get(&p->specials, name)) >= 0) {
        arg->kind = ARG_SPECIAL;
        arg->bits = (uint64_t)special;
        return true;
    }
    if (strncmp(name, "%clock", 6) == 0 || strcmp(name, "%globaltimer") == 0) {
        arg->kind = ARG_CLOCK;
        arg->name = name;
        return true;
    }
    if (name[0] == '%') {
        diag_add(p->diags, TW0825, span, "there is no register '%s'", name);
        return false;
    }
    arg->kind = ARG_LABEL;
    arg->name = name;
    return true;
}

static Arg *new_item(Parser *p, Stmt *s)
{
    if (s->item_count < MAX_ITEMS)
        return &s->items[s->item_count++];
    diag_add(p->diags, TW0821, emu_ptx_here(p), "too many operands");
    return NULL;
}

/* { a, b, … } : children lie side by side, so nested ones are not taken */
static bool parse_items(Parser *p, Stmt *s, Arg *arg, char stop, int depth)
{
    arg->first = s->item_count;
    do {
        Arg *child = new_item(p, s);

        if (!child || !parse_arg(p, s, child, depth + 1))
            return false;
        arg->count++;
    } while (emu_ptx_accept(p, ','));
    return emu_ptx_expect(p, stop);
}

static bool at_sign(Parser *p)
{
    return emu_ptx_peek(p) == '+' || emu_ptx_peek(p) == '-';
}

/* , { x, y, … } : the coordinates after a tensor map */
static bool parse_coordinates(Parser *p, Stmt *s, Arg *address, int depth)
{
    Arg *vector = new_item(p, s);

    address->count++;
    return vector && parse_arg(p, s, vector, depth + 1);
}

/* [ base { (+|-) integer } [ , { coordinates } ] ] */
static bool parse_address(Parser *p, Stmt *s, Arg *arg, int depth)
{
    Arg *base = new_item(p, s);

    arg->kind = ARG_ADDRESS;
    arg->first = s->item_count - 1;
    arg->count = 1;
    if (!base || !parse_arg(p, s, base, depth + 1))
        return false;
    while (at_sign(p)) {
        int64_t offset;

        emu_ptx_accept(p, '+');
        if (!emu_ptx_int(p, &offset))
            return false;
        arg->offset = (int64_t)((uint64_t)arg->offset + (uint64_t)offset);
    }
    if (emu_ptx_accept(p, ',') && !parse_coordinates(p, s, arg, depth))
        return false;
    return emu_ptx_expect(p, ']');
}

/* name+4 : an address within a variable */
static bool parse_displacement(Parser *p, Arg *arg)
{
    while (arg->kind == ARG_SYMBOL && (at_sign(p))) {
        int64_t offset;

        emu_ptx_accept(p, '+');
        if (!emu_ptx_int(p, &offset))
            return false;
        arg->offset = (int64_t)((uint64_t)arg->offset + (uint64_t)offset);
    }
    return true;
}

/* %p|%q : the item after a name */
static bool parse_pair(Parser *p, Stmt *s, Arg *arg)
{
    Arg first = *arg, *a, *b;

    if (!(a = new_item(p, s)) || !(b = new_item(p, s)))
        return false;
    *a = first;
    memset(b, 0, sizeof *b);
    arg->kind = ARG_PAIR;
    arg->first = s->item_count - 2;
    arg->count = 2;
    return parse_name(p, b);
}

static bool parse_arg(Parser *p, Stmt *s, Arg *arg, int depth)
{
    const char *from;
    int c = emu_ptx_peek(p);
    bool ok;

    memset(arg, 0, sizeof *arg);
    from = p->at;
    if (depth > 2)
        return diag_add(p->diags, TW0821, emu_ptx_here(p), "operands are nested too deep"), false;
    if (c == '{' && emu_ptx_accept(p, '{')) {
        arg->kind = ARG_VECTOR;
        ok = parse_items(p, s, arg, '}', depth);
    } else if (c == '[' && emu_ptx_accept(p, '[')) {
        ok = parse_address(p, s, arg, depth);
    } else if ((c >= '0' && c <= '9') || c == '-' || c == '.') {
        ok = emu_ptx_number(p, arg);
    } else {
        arg->negated = emu_ptx_accept(p, '!');
        ok = parse_name(p, arg);
        if (ok && depth == 0)
            ok = parse_displacement(p, arg);
        if (ok && emu_ptx_accept(p, '|'))
            ok = parse_pair(p, s, arg);
    }
    arg->span = emu_ptx_span(p, from);
    return ok;
}

/* ---- instructions ------------------------------------------------------------------- */

/* Splits ld.global.v4.b32 into its opcode and modifiers. */
static bool split_opcode(Parser *p, Stmt *s)
{
    const char *text = p->source->text;
    int from = s->span.start;

    for (int i = from; i <= s->span.end; i++) {
        const char *part;

        if (i < s->span.end && text[i] != '.')
            continue;
        part = emu_ptx_text(p, (Span){ from, i });
        from = i + 1;
        if (!s->opcode) {
            s->opcode = part;
        } else if (s->mod_count < MAX_MODS) {
            s->mods[s->mod_count++] = part;
        } else {
            diag_add(p->diags, TW0823, s->span, "too many modifiers");
            return false;
        }
    }
    return true;
}

/* @p | @!p */
static bool parse_guard(Parser *p, Stmt *s)
{
    Arg arg = { 0 };

    s->guarded = true;
    s->guard_not = emu_ptx_accept(p, '!');
    if (!parse_name(p, &arg))
        return false;
    if (arg.kind != ARG_REGISTER || p->entry->slots.data[arg.slot].type != ET_PRED) {
        diag_add(p->diags, TW0824, arg.span, "a guard is a predicate register");
        return false;
    }
    s->guard_slot = arg.slot;
    return true;
}

static bool parse_operands(Parser *p, Stmt *s)
{
    if (emu_ptx_accept(p, ';'))
        return true;
    do {
        if (s->argc == MAX_ARGS)
            return diag_add(p->diags, TW0821, emu_ptx_here(p), "too many operands"), false;
        if (!parse_arg(p, s, &s->args[s->argc++], 0))
            return false;
    } while (emu_ptx_accept(p, ','));
    return emu_ptx_expect(p, ';');
}

static void parse_instruction(Parser *p, Stmt *s)
{
    s->line = p->line;
    if (s->span.end == s->span.start) {
        diag_add(p->diags, TW0821, emu_ptx_here(p), "expected an instruction");
        if (p->at < p->end && *p->at != '}')
            p->at++;
        emu_ptx_skip_statement(p);
        return;
    }
    if (split_opcode(p, s) && strcmp(s->opcode, "call") == 0)
        emu_ptx_call(p, s);
    else if (s->opcode && parse_operands(p, s))
        emu_ptx_decode(p, s);
    else
        emu_ptx_skip_statement(p);
}

/* label: | [@p] opcode … ; */
static void parse_statement(Parser *p)
{
    Stmt s;

    memset(&s, 0, offsetof(Stmt, items));
    if (emu_ptx_accept(p, '@') && !parse_guard(p, &s)) {
        emu_ptx_skip_statement(p);
        return;
    }
    s.span = emu_ptx_dotted(p);
    if (!s.guarded && s.span.end > s.span.start && p->at < p->end && *p->at == ':') {
        p->at++;
        emu_ptx_label(p, s.span);
        return;
    }
    parse_instruction(p, &s);
}

/* .branchtargets label {, label} ; */
static void parse_targets(Parser *p)
{
    VEC(const char *) names = { 0 };
    VEC(Span) spans = { 0 };

    do {
        Span word = emu_ptx_word(p);

        vec_push(p->arena, &names, emu_ptx_text(p, word));
        vec_push(p->arena, &spans, word);
    } while (emu_ptx_accept(p, ','));
    if (emu_ptx_expect(p, ';') && p->last_label)
        emu_ptx_target_list(p, names.data, spans.data, names.len);
}

/* A directive inside a body; the dot has been read. */
static void parse_body_directive(Parser *p)
{
    Span word = emu_ptx_word(p);

    if (emu_ptx_is(p, word, "reg")) {
        parse_registers(p);
    } else if (emu_ptx_is(p, word, "shared")) {
        parse_entry_variable(p, true);
    } else if (emu_ptx_is(p, word, "local") || emu_ptx_is(p, word, "param")) {
        parse_entry_variable(p, false); /* parameters of calls are variables of each thread as well */
    } else if (emu_ptx_is(p, word, "branchtargets")) {
        parse_targets(p);
    } else if (emu_ptx_is(p, word, "loc") || emu_ptx_is(p, word, "file")) {
        emu_ptx_skip_line(p);
    } else if (emu_ptx_is(p, word, "pragma")) {
        emu_ptx_skip_string(p);
        emu_ptx_expect(p, ';');
    } else {
        diag_add(p->diags, TW0822, word, "the emulator does not know '.%s' inside an entry",
                 emu_ptx_text(p, word));
        emu_ptx_skip_statement(p);
    }
}

void emu_ptx_body(Parser *p)
{
    int outer = p->depth;

    emu_ptx_scope_open(p);
    while (p->depth > outer && !p->diags->full) {
        int c = emu_ptx_peek(p);

        if (c == 0) {
            diag_add(p->diags, TW0821, emu_ptx_here(p), "the text ends inside an entry");
            break;
        }
        if (emu_ptx_accept(p, '}')) {
            emu_ptx_scope_close(p);
        } else if (emu_ptx_accept(p, '{')) {
            if (p->depth == MAX_SCOPES) {
                diag_add(p->diags, TW0827, emu_ptx_here(p), "more than %d braces are open", MAX_SCOPES);
                break;
            }
            emu_ptx_scope_open(p);
        } else if (emu_ptx_accept(p, '.')) {
            parse_body_directive(p);
        } else {
            parse_statement(p);
        }
    }
    while (p->depth > outer)
        emu_ptx_scope_close(p);
}

/* ---- entries ----------------------------------------------------------------------------- */

enum { MAX_PARAM_BYTES = 32764 };

/* ( .param .type name {, …} ) */
static bool parse_params(Parser *p)
{
    Entry *entry = p->entry;

    if (!emu_ptx_expect(p, '(') || emu_ptx_accept(p, ')'))
        return true;
    do {
        Variable v;
        Param param;
        Symbol *symbol;

        if (!emu_ptx_expect(p, '.') || !emu_ptx_is(p, emu_ptx_word(p), "param"))
            return diag_add(p->diags, TW0821, emu_ptx_here(p), "expected '.param'"), false;
        if (!emu_ptx_declaration(p, &v, MAX_PARAM_BYTES))
            return false;
        param = (Param){ v.name, (int)round_up(entry->param_bytes, v.align), (int)v.bytes };
        if (param.offset + param.bytes > MAX_PARAM_BYTES)
            return diag_add(p->diags, TW0827, v.span, "parameters take more than %d bytes",
                            MAX_PARAM_BYTES), false;
        entry->param_bytes = param.offset + param.bytes;
        vec_push(p->arena, &entry->params, param);
        symbol = emu_ptx_declare(p, v.span, SYM_PARAM, v.name);
        symbol->offset = param.offset;
    } while (emu_ptx_accept(p, ','));
    return emu_ptx_expect(p, ')');
}

/* nx {, ny {, nz}} */
static void parse_dims(Parser *p, int dims[3])
{
    for (int i = 0; i < 3; i++) {
        int64_t n = 1;

        if ((i == 0 || emu_ptx_accept(p, ',')) && !emu_ptx_int(p, &n))
            return;
        dims[i] = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
    }
}

/* .maxntid .reqntid .minnctapersm .maxnreg … (PTX ISA, "Performance-Tuning Directives") */
static bool parse_performance(Parser *p)
{
    Span word = emu_ptx_word(p);
    int dims[3] = { 1, 1, 1 };

    if (emu_ptx_is(p, word, "pragma")) {
        emu_ptx_skip_string(p);
        return emu_ptx_accept(p, ';'), true;
    }
    if (emu_ptx_is(p, word, "explicitcluster"))
        return p->entry->explicit_cluster = true;
    if (!emu_ptx_is(p, word, "maxntid") && !emu_ptx_is(p, word, "reqntid") &&
        !emu_ptx_is(p, word, "minnctapersm") && !emu_ptx_is(p, word, "maxnreg") &&
        !emu_ptx_is(p, word, "maxnctapersm") && !emu_ptx_is(p, word, "reqnctapercluster") &&
        !emu_ptx_is(p, word, "maxclusterrank")) {
        diag_add(p->diags, TW0822, word, "the emulator does not know '.%s' on an entry",
                 emu_ptx_text(p, word));
        return false;
    }
    parse_dims(p, dims);
    if (emu_ptx_is(p, word, "reqntid"))
        memcpy(p->entry->required, dims, sizeof dims);
    if (emu_ptx_is(p, word, "reqnctapercluster")) {
        memcpy(p->entry->cluster, dims, sizeof dims);
        p->entry->sized_cluster = true;
    }
    if (emu_ptx_is(p, word, "maxnreg"))
        p->entry->max_registers = dims[0];
    if (emu_ptx_is(p, word, "minnctapersm"))
        p->entry->min_blocks = dims[0];
    if (emu_ptx_is(p, word, "maxntid"))
        p->entry->max_threads = dims[0] * dims[1] * dims[2];
    return true;
}

static int log2_of(int power)
{
    int shift = 0;

    while (power >> (shift + 1))
        shift++;
    return shift;
}

/* Where the text falls off the end it exits. */
static void finish_entry(Parser *p)
{
    Inst end = { .exec = emu_exec_exit, .cls = EMU_CONTROL, .line = p->line };

    vec_push(p->arena, &p->entry->code, end);
    emu_ptx_resolve_labels(p);
    p->entry->shared_shift = log2_of(p->shared_width);
    p->entry->global_shift = log2_of(p->global_width);
}

static void start_entry(Parser *p)
{
    Entry *entry = arena_new_of(p->arena, Entry);

    p->entry = entry;
    entry->shared_bytes = p->module_shared;
    entry->dynamic_align = p->dynamic_align;
    entry->cluster[0] = entry->cluster[1] = entry->cluster[2] = 1;
    p->registers = 0;
    p->shared_width = p->global_width = 16;
    p->fixups.len = p->target_lists.len = p->calls = p->carry_slot = 0;
    p->last_label = NULL;
    p->scope_parent.len = 0;
    memset(&p->constants, 0, sizeof p->constants);
    memset(&p->labels, 0, sizeof p->labels);
    emu_ptx_new_slot(p, "_", ET_B64); /* slot 0: where unwanted results go */
}

static void parse_entry(Parser *p)
{
    Span word;

    start_entry(p);
    word = emu_ptx_word(p);
    p->entry->name = emu_ptx_text(p, word);
    if (word.end == word.start)
        diag_add(p->diags, TW0821, emu_ptx_here(p), "expected the name of an entry");
    emu_ptx_scope_open(p); /* of the parameters */
    if (emu_ptx_peek(p) == '(' && !parse_params(p)) {
        while (emu_ptx_peek(p) && emu_ptx_peek(p) != '{')
            p->at++;
    }
    while (emu_ptx_accept(p, '.') && parse_performance(p))
        ;
    if (emu_ptx_expect(p, '{')) {
        emu_ptx_body(p);
        finish_entry(p);
    }
    while (p->depth > 0)
        emu_ptx_scope_close(p);
    vec_push(p->arena, &p->module->entries, p->entry);
    p->entry = NULL;
}

/* ---- the module -------------------------------------------------------------------------- */

/* .extern .shared … name[]; starts where static shared memory ends, which only
 * the launch knows; .shared … name[N]; at this level belongs to every entry. */
static void parse_module_shared(Parser *p)
{
    Variable v;

    if (!emu_ptx_declaration(p, &v, MAX_SHARED)) {
        emu_ptx_skip_statement(p);
        return;
    }
    if (v.open) {
        emu_ptx_declare(p, v.span, SYM_DYNAMIC, v.name);
        if (v.align > p->dynamic_align)
            p->dynamic_align = (int)v.align;
    } else {
        place_variable(p, &v, true, &p->module_shared);
    }
    emu_ptx_expect(p, ';');
}

/* Past { … } with what it nests. */
static void skip_braces(Parser *p)
{
    int depth = 0;

    do {
        int c = emu_ptx_peek(p);

        if (c == 0)
            return;
        depth += (c == '{') - (c == '}');
        p->at++;
    } while (depth > 0);
}

/* Past what is left of a variable, with its values, or of a function. */
void emu_ptx_skip_definition(Parser *p)
{
    emu_ptx_skip_statement(p);
    if (emu_ptx_peek(p) == '{')
        skip_braces(p);
    emu_ptx_accept(p, ';');
}

/* .version 8.0 | .target sm_80, … | .address_size 64 */
static void parse_header(Parser *p, Span word)
{
    int64_t bits;

    if (emu_ptx_is(p, word, "version")) {
        p->version_seen = true;
        emu_ptx_dotted(p);
    } else if (emu_ptx_is(p, word, "target")) {
        do
            emu_ptx_dotted(p);
        while (emu_ptx_accept(p, ','));
    } else if (emu_ptx_int(p, &bits) && bits != 64) {
        diag_add(p->diags, TW0822, word, "only 64-bit addresses are known");
    }
}

/* A directive of the module; the dot has been read. */
static void parse_directive(Parser *p)
{
    static const char *const linking[] = { "visible", "extern", "weak", "common" };
    Span word = emu_ptx_word(p);
    bool external = emu_ptx_is(p, word, "extern");

    for (size_t i = 0; i < TW_COUNT(linking); i++) {
        if (emu_ptx_is(p, word, linking[i])) {
            if (!emu_ptx_expect(p, '.'))
                return;
            word = emu_ptx_word(p);
        }
    }
    if (emu_ptx_is(p, word, "version") || emu_ptx_is(p, word, "target") ||
        emu_ptx_is(p, word, "address_size")) {
        parse_header(p, word);
    } else if (emu_ptx_is(p, word, "entry")) {
        parse_entry(p);
    } else if (emu_ptx_is(p, word, "shared")) {
        parse_module_shared(p);
    } else if (emu_ptx_is(p, word, "global") || emu_ptx_is(p, word, "const")) {
        emu_ptx_module_variable(p, emu_ptx_is(p, word, "const"), external);
    } else if (emu_ptx_is(p, word, "func") || emu_ptx_is(p, word, "alias")) {
        emu_ptx_skip_definition(p); /* read where it is called */
    } else if (emu_ptx_is(p, word, "file") || emu_ptx_is(p, word, "loc")) {
        emu_ptx_skip_line(p);
    } else if (emu_ptx_is(p, word, "section")) {
        while (emu_ptx_peek(p) && emu_ptx_peek(p) != '{')
            p->at++;
        skip_braces(p);
    } else {
        diag_add(p->diags, TW0822, word, "the emulator does not know '.%s'", emu_ptx_text(p, word));
        emu_ptx_skip_definition(p);
    }
}

static void parse_module(Parser *p)
{
    while (emu_ptx_peek(p) && !p->diags->full) {
        Span here = emu_ptx_here(p);

        if (emu_ptx_accept(p, '.')) {
            parse_directive(p);
        } else {
            diag_add(p->diags, TW0821, here, "expected a directive");
            return;
        }
    }
    if (!p->version_seen && !p->diags->errors)
        diag_add(p->diags, TW0821, (Span){ 0, 0 }, "PTX starts with '.version'");
    else if (!p->module->entries.len && !p->diags->errors)
        diag_add(p->diags, TW0825, (Span){ 0, 0 }, "the text has no entry");
}

EmuModule *emu_parse(Arena *arena, Diags *diags, const Source *ptx)
{
    int before = diags->errors;
    Parser p = { .arena = arena, .diags = diags, .source = ptx, .line = 1, .dynamic_align = 16 };

    p.at = ptx->text;
    p.end = ptx->text + ptx->len;
    p.syms = syms_new(arena);
    p.module = arena_new_of(arena, EmuModule);
    emu_ptx_decode_setup(&p);
    emu_ptx_find_functions(&p);
    parse_module(&p);
    return diags->errors > before || diags->full ? NULL : p.module;
}

int emu_entry_count(const EmuModule *module)
{
    return module->entries.len;
}

int emu_find_entry(const EmuModule *module, const char *name)
{
    for (int i = 0; i < module->entries.len; i++) {
        if (strcmp(module->entries.data[i]->name, name) == 0)
            return i;
    }
    return -1;
}
