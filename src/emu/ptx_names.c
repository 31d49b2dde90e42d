/* ptx_names.c: names of PTX text: registers, variables, labels, constants.
 *
 * A scope is a pair of braces; names of an inner scope hide those of outer
 * ones (PTX ISA, "Scoping"). `.reg .b32 %r<100000>;` declares a range without
 * making registers: a slot is made when one is first used, so that a launch
 * pays only for what the text touches.
 */
#include "emu/ptx.h"

/* ---- maps -------------------------------------------------------------------- */

static int name_index(const NameMap *map, const char *name)
{
    int i = (int)(((uintptr_t)name >> 3) * 0x9e3779b1u & (unsigned)(map->cap - 1));

    while (map->names[i] && map->names[i] != name)
        i = (i + 1) & (map->cap - 1);
    return i;
}

int emu_names_get(const NameMap *map, const char *name)
{
    int i;

    if (!map->cap)
        return -1;
    i = name_index(map, name);
    return map->names[i] ? map->values[i] : -1;
}

static void names_grow(Arena *arena, NameMap *map)
{
    NameMap grown = { .cap = map->cap ? map->cap * 2 : 64, .count = map->count };

    grown.names = arena_array(arena, const char *, grown.cap);
    grown.values = arena_array(arena, int, grown.cap);
    for (int i = 0; i < map->cap; i++) {
        if (map->names[i]) {
            int to = name_index(&grown, map->names[i]);

            grown.names[to] = map->names[i];
            grown.values[to] = map->values[i];
        }
    }
    *map = grown;
}

void emu_names_put(Arena *arena, NameMap *map, const char *name, int value)
{
    int i;

    if (map->count * 2 >= map->cap)
        names_grow(arena, map);
    i = name_index(map, name);
    map->count += map->names[i] == NULL;
    map->names[i] = name;
    map->values[i] = value;
}

/* ---- scopes -------------------------------------------------------------------- */

void emu_ptx_scope_open(Parser *p)
{
    int parent = p->depth ? p->scope_ids[p->depth - 1] : -1;

    p->scopes[p->depth] = p->symbols.len;
    p->scope_ids[p->depth] = p->scope_parent.len;
    p->depth++;
    vec_push(p->arena, &p->scope_parent, parent);
}

void emu_ptx_scope_close(Parser *p)
{
    int from = p->scopes[--p->depth];

    while (p->symbols.len > from) {
        const Symbol *gone = &p->symbols.data[--p->symbols.len];

        emu_names_put(p->arena, &p->names, gone->name, gone->shadowed);
    }
}

/* Splits %r12 into the name of its range, "%r<", and 12. */
static const char *range_name(Parser *p, const char *name, int *number)
{
    size_t len = strlen(name), digits = 0;
    char text[80];

    while (digits < len && digits < 8 && name[len - 1 - digits] >= '0' && name[len - 1 - digits] <= '9')
        digits++;
    if (!digits || len - digits + 2 > sizeof text || (digits > 1 && name[len - digits] == '0'))
        return NULL;
    *number = 0;
    for (size_t i = len - digits; i < len; i++)
        *number = *number * 10 + (name[i] - '0');
    memcpy(text, name, len - digits);
    text[len - digits] = '<';
    return symn(p->syms, text, len - digits + 1);
}

/* Whether a range of this scope has a register of this name. */
static bool in_range(Parser *p, const char *name)
{
    int number, index;
    const char *range = range_name(p, name, &number);

    index = range ? emu_names_get(&p->names, range) : -1;
    return index >= 0 && p->depth && index >= p->scopes[p->depth - 1] && number < p->symbols.data[index].count;
}

/* The result may be completed until the next declaration. */
Symbol *emu_ptx_declare(Parser *p, Span span, SymbolKind kind, const char *name)
{
    int old = emu_names_get(&p->names, name);
    Symbol symbol = { .kind = kind, .name = name, .shadowed = old };

    if ((p->depth && old >= p->scopes[p->depth - 1]) || (kind == SYM_REGISTER && in_range(p, name)))
        diag_add(p->diags, TW0826, span, "'%s' is declared twice in one scope", name);
    emu_names_put(p->arena, &p->names, name, p->symbols.len);
    vec_push(p->arena, &p->symbols, symbol);
    return &p->symbols.data[p->symbols.len - 1];
}

const Symbol *emu_ptx_lookup(Parser *p, const char *name)
{
    int index = emu_names_get(&p->names, name);

    return index < 0 ? NULL : &p->symbols.data[index];
}

/* ---- registers --------------------------------------------------------------------- */

static uint32_t lane_block(EmuType type)
{
    if (type == ET_PRED)
        return 64; /* one mask; the rest keeps vectors on cache lines */
    return emu_types[type].bytes == 8 ? LANES * 8 : LANES * 4;
}

int emu_ptx_new_slot(Parser *p, const char *name, EmuType type)
{
    Entry *entry = p->entry;
    Slot slot = { .name = name, .type = type, .at = entry->block_bytes };

    entry->block_bytes += lane_block(type);
    vec_push(p->arena, &entry->slots, slot);
    return entry->slots.len - 1;
}

int emu_ptx_register(Parser *p, const char *name)
{
    const Symbol *symbol = emu_ptx_lookup(p, name);
    const char *range;
    int number;

    if (symbol)
        return symbol->kind == SYM_REGISTER ? symbol->slot : -1;
    if (!(range = range_name(p, name, &number)))
        return -1;
    symbol = emu_ptx_lookup(p, range);
    if (!symbol || symbol->kind != SYM_RANGE || number >= symbol->count)
        return -1;
    if (!symbol->slots[number])
        symbol->slots[number] = emu_ptx_new_slot(p, name, symbol->type);
    return symbol->slots[number];
}

/* ---- places --------------------------------------------------------------------------- */

Place emu_ptx_place(const Parser *p, int slot)
{
    return (Place){ p->entry->slots.data[slot].at, (uint32_t)slot };
}

static int constant_index(const ConstMap *map, const Entry *entry, const Constant *want)
{
    int i = (int)((want->value * UINT64_C(0x9e3779b97f4a7c15) >> 32 ^ want->wide) & (unsigned)(map->cap - 1));

    while (map->index[i]) {
        const Constant *c = &entry->constants.data[map->index[i] - 1];

        if (c->value == want->value && c->wide == want->wide && c->variable == want->variable)
            break;
        i = (i + 1) & (map->cap - 1);
    }
    return i;
}

static void constants_grow(Parser *p)
{
    ConstMap grown = { .cap = p->constants.cap ? p->constants.cap * 2 : 64 };

    grown.index = arena_array(p->arena, int, grown.cap);
    for (int i = 0; i < p->entry->constants.len; i++) {
        grown.index[constant_index(&grown, p->entry, &p->entry->constants.data[i])] = i + 1;
    }
    p->constants = grown;
}

static Place place_constant(Parser *p, Constant constant)
{
    int i;

    if (p->entry->constants.len * 2 >= p->constants.cap)
        constants_grow(p);
    i = constant_index(&p->constants, p->entry, &constant);
    if (!p->constants.index[i]) {
        constant.place = emu_ptx_place(p, emu_ptx_new_slot(p, "a constant", constant.wide ? ET_B64 : ET_B32));
        vec_push(p->arena, &p->entry->constants, constant);
        p->constants.index[i] = p->entry->constants.len;
    }
    return p->entry->constants.data[p->constants.index[i] - 1].place;
}

Place emu_ptx_constant(Parser *p, uint64_t value, bool wide)
{
    return place_constant(p, (Constant){ .value = value, .wide = wide });
}

Place emu_ptx_variable(Parser *p, int variable, uint64_t offset)
{
    return place_constant(p, (Constant){ .value = offset, .wide = true, .variable = variable });
}

Place emu_ptx_carry(Parser *p)
{
    if (!p->carry_slot)
        p->carry_slot = emu_ptx_new_slot(p, "the carry", ET_PRED);
    return emu_ptx_place(p, p->carry_slot);
}

Place emu_ptx_special(Parser *p, Special special)
{
    Place *place = &p->entry->special[special];

    if (!place->slot)
        *place = emu_ptx_place(p, emu_ptx_new_slot(p, "a special register", ET_B32));
    return *place;
}

Place emu_ptx_dynamic_base(Parser *p, bool wide)
{
    Place *place = &p->entry->dynamic_base[wide];

    if (!place->slot)
        *place = emu_ptx_place(p, emu_ptx_new_slot(p, "dynamic shared memory", wide ? ET_B64 : ET_B32));
    return *place;
}

/* ---- labels ------------------------------------------------------------------------------- */

/* Labels are found by name and scope at once. */
static const char *label_key(Parser *p, const char *name, int scope)
{
    char number[16];
    Str key = str_new(p->arena);

    snprintf(number, sizeof number, "@%d", scope);
    str_add(&key, name);
    str_add(&key, number);
    return symn(p->syms, key.data, key.len);
}

void emu_ptx_label(Parser *p, Span span)
{
    emu_ptx_label_named(p, span, emu_ptx_text(p, span));
}

void emu_ptx_label_named(Parser *p, Span span, const char *name)
{
    int scope = p->scope_ids[p->depth - 1];
    const char *key = label_key(p, name, scope);

    if (emu_names_get(&p->labels, key) >= 0)
        diag_add(p->diags, TW0826, span, "this label is declared twice in one scope");
    emu_names_put(p->arena, &p->labels, key, p->entry->code.len);
    p->last_label = key;
}

void emu_ptx_target_list(Parser *p, const char *const *names, const Span *spans, int count)
{
    TargetList list = { p->last_label, arena_alloc(p->arena, sizeof(BranchTargets) + (size_t)count * sizeof(int)) };

    list.targets->count = count;
    for (int i = 0; i < count; i++) {
        Fixup fixup = { 0, &list.targets->pc[i], p->scope_ids[p->depth - 1], names[i], spans[i] };

        vec_push(p->arena, &p->fixups, fixup);
    }
    vec_push(p->arena, &p->target_lists, list);
}

const BranchTargets *emu_ptx_targets(Parser *p, const char *name)
{
    for (int scope = p->scope_ids[p->depth - 1]; scope >= 0; scope = p->scope_parent.data[scope]) {
        const char *key = label_key(p, name, scope);

        for (int i = 0; i < p->target_lists.len; i++) {
            if (p->target_lists.data[i].key == key)
                return p->target_lists.data[i].targets;
        }
    }
    return NULL;
}

/* The place of the innermost label of a name whose scope encloses the given one. */
static int find_label(Parser *p, const char *name, int scope)
{
    int pc = -1;

    for (; scope >= 0 && pc < 0; scope = p->scope_parent.data[scope])
        pc = emu_names_get(&p->labels, label_key(p, name, scope));
    return pc;
}

void emu_ptx_resolve_labels(Parser *p)
{
    for (int i = 0; i < p->fixups.len && !p->diags->full; i++) {
        const Fixup *fixup = &p->fixups.data[i];
        int pc = find_label(p, fixup->name, fixup->scope);

        if (pc >= 0 && fixup->to)
            *fixup->to = pc;
        else if (pc >= 0)
            p->entry->code.data[fixup->inst].imm = pc;
        else
            diag_add(p->diags, TW0825, fixup->span, "there is no label '%s' in this scope",
                     fixup->name);
    }
}
