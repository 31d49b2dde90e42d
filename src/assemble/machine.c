/* machine.c: PTX and machine code as sequences of the same few events. */
#include "assemble/machine.h"
#include "assemble/child.h"

#include <stdlib.h>

static const double disassembly_limit = 60; /* seconds */

/* ---- instructions ------------------------------------------------------------------- */

/* The opcode on a line begins with `name`; whole: and its first part ends there. */
typedef struct Opcode {
    const char *name;
    bool whole;
    MachineKind kind;
} Opcode;

static const Opcode ptx_opcodes[] = {
    {"wgmma.fence", false, MACHINE_FENCE},     {"wgmma.mma_async", false, MACHINE_PRODUCT},
    {"wgmma.commit_group", false, MACHINE_COMMIT}, {"wgmma.wait_group", false, MACHINE_WAIT},
    {"mma.sync", false, MACHINE_MULTIPLY},     {"ex2.approx", false, MACHINE_EXP},
};

static const Opcode sass_opcodes[] = {
    {"WARPGROUP.ARRIVE", false, MACHINE_FENCE}, {"WARPGROUP.DEPBAR", false, MACHINE_WAIT},
    {"HGMMA", true, MACHINE_PRODUCT}, {"IGMMA", true, MACHINE_PRODUCT}, {"QGMMA", true, MACHINE_PRODUCT},
    {"HMMA", true, MACHINE_MULTIPLY}, {"IMMA", true, MACHINE_MULTIPLY}, {"QMMA", true, MACHINE_MULTIPLY},
    {"MUFU.EX2", false, MACHINE_EXP}, {"LDL", true, MACHINE_LOCAL}, {"STL", true, MACHINE_LOCAL},
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

static const Opcode *opcode_of(const Opcode *all, size_t n, const char *at)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(all[i].name);

        if (strncmp(at, all[i].name, len) == 0 && !(all[i].whole && is_word(at[len])))
            return &all[i];
    }
    return NULL;
}

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t{");
}

/* Behind a predicate: "@!P0 ", "@%p1 ". */
static const char *skip_guard(const char *at)
{
    at = skip_space(at);
    return *at == '@' ? skip_space(at + strcspn(at, " \t\n")) : at;
}

static size_t name_length(const char *at)
{
    size_t n = 0;

    while (is_word(at[n]))
        n++;
    return n;
}

static MachineCode *begin(Arena *arena, MachineCodes *codes, const char *name, size_t len, int at)
{
    MachineCode code = {.entry = arena_strndup(arena, name, len), .at = at};

    vec_push(arena, codes, code);
    return &codes->data[codes->len - 1];
}

static void add(Arena *arena, MachineCode *code, MachineKind kind, int pending, int at)
{
    MachineEvent event = {.kind = kind, .pending = pending, .at = at};

    vec_push(arena, &code->events, event);
}

/* ---- PTX ---------------------------------------------------------------------------- */

/* The last number of a line: "wgmma.wait_group.sync.aligned 1;" */
static int last_number(const char *at)
{
    size_t end = strcspn(at, ";\n"), n = end;

    while (n > 0 && at[n - 1] >= '0' && at[n - 1] <= '9')
        n--;
    return n < end ? atoi(at + n) : 0;
}

static MachineCode *ptx_entry(Arena *arena, MachineCodes *codes, const char *line, int at)
{
    size_t end = strcspn(line, "\n");
    const char *word = strstr(line, ".entry ");

    if (*line != '.' || !word || word >= line + end)
        return NULL;
    word = skip_space(word + 7);
    return begin(arena, codes, word, name_length(word), at);
}

void machine_read_ptx(Arena *arena, const char *ptx, MachineCodes *codes)
{
    MachineCode *code = NULL, *next;

    *codes = (MachineCodes){0};
    for (const char *line = ptx; *line;) {
        const char *at = skip_guard(line);
        const Opcode *opcode = opcode_of(ptx_opcodes, TW_COUNT(ptx_opcodes), at);
        int where = (int)(line - ptx);

        next = ptx_entry(arena, codes, line, where);
        if (next)
            code = next;
        else if (code && opcode)
            add(arena, code, opcode->kind, opcode->kind == MACHINE_WAIT ? last_number(at) : 0, (int)(at - ptx));
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* ---- machine code ------------------------------------------------------------------- */

typedef struct Loop {
    int from, to; /* events: the first within, the first behind */
} Loop;

typedef struct Label {
    const char *name; /* ".L_x_3"; NULL: an address alone */
    size_t len;
    long address;
    int event;
} Label;

typedef struct SassReader {
    Arena *arena;
    const char *text;
    MachineCodes *codes;
    MachineCode *code;
    VEC(Label) labels; /* of this entry, and every instruction's address */
    VEC(Loop) loops;
} SassReader;

static bool multiplies(const MachineCode *code, Loop loop)
{
    for (int i = loop.from; i < loop.to; i++)
        if (code->events.data[i].kind == MACHINE_PRODUCT || code->events.data[i].kind == MACHINE_MULTIPLY)
            return true;
    return false;
}

static bool is_innermost(const SassReader *r, Loop loop)
{
    for (int i = 0; i < r->loops.len; i++) {
        Loop other = r->loops.data[i];

        if (other.from >= loop.from && other.to <= loop.to && other.to - other.from < loop.to - loop.from &&
            multiplies(r->code, other))
            return false;
    }
    return true;
}

/* Of the entry that ends: which of its events are hot. */
static void finish_entry(SassReader *r)
{
    for (int i = 0; r->code && i < r->loops.len; i++) {
        Loop loop = r->loops.data[i];

        if (!multiplies(r->code, loop) || !is_innermost(r, loop))
            continue;
        for (int e = loop.from; e < loop.to; e++)
            r->code->events.data[e].hot = true;
    }
    r->labels.len = r->loops.len = 0;
}

/* "//--------------------- .text.NAME", ".section .text.NAME," or "Function : NAME" */
static bool sass_entry(SassReader *r, const char *line)
{
    size_t end = strcspn(line, "\n");
    const char *at = skip_space(line), *name = NULL;

    if (strncmp(at, ".section", 8) == 0 && !is_word(at[8])) {
        at = skip_space(at + 8);
        name = strncmp(at, ".text.", 6) == 0 ? at + 6 : NULL;
    } else if (strncmp(at, "Function : ", 11) == 0) {
        name = at + 11;
    } else {
        return false;
    }
    finish_entry(r);
    r->code = name && name < line + end ? begin(r->arena, r->codes, name, name_length(name), (int)(line - r->text)) : NULL;
    return true;
}

/* The first event of the place that a branch names, if that place was passed; else -1. */
static int target_of(const SassReader *r, const char *at)
{
    size_t end = strcspn(at, ";\n");
    const char *quoted = memchr(at, '`', end), *name = quoted ? quoted + 2 : NULL, *hex;
    size_t len = name ? strcspn(name, ")\n") : 0;

    for (int i = 0; i < r->labels.len && name; i++)
        if (r->labels.data[i].name && r->labels.data[i].len == len && memcmp(r->labels.data[i].name, name, len) == 0)
            return r->labels.data[i].event;
    hex = name ? NULL : strstr(at, "0x");
    for (int i = 0; i < r->labels.len && hex && hex < at + end; i++)
        if (!r->labels.data[i].name && r->labels.data[i].address == strtol(hex, NULL, 16))
            return r->labels.data[i].event;
    return -1;
}

static void take_branch(SassReader *r, const char *at)
{
    Loop loop = {target_of(r, at), r->code->events.len};

    if (loop.from >= 0 && loop.from < loop.to)
        vec_push(r->arena, &r->loops, loop);
}

static void take_instruction(SassReader *r, const char *at)
{
    const Opcode *opcode = opcode_of(sass_opcodes, TW_COUNT(sass_opcodes), at);
    size_t end = strcspn(at, ";\n");
    const char *bar = strstr(at, "gsb0");
    int where = (int)(at - r->text);

    if (strncmp(at, "BRA", 3) == 0 && !is_word(at[3]))
        take_branch(r, at);
    if (!opcode)
        return;
    bar = bar && bar < at + end ? bar : NULL;
    add(r->arena, r->code, opcode->kind,
        opcode->kind == MACHINE_WAIT && bar && strchr(bar, ',') ? (int)strtol(strchr(bar, ',') + 1, NULL, 0) : 0, where);
    if (opcode->kind == MACHINE_PRODUCT && bar)
        add(r->arena, r->code, MACHINE_COMMIT, 0, where);
}

static void sass_line(SassReader *r, const char *line)
{
    const char *at = skip_space(line);
    Label label = {.event = r->code->events.len};

    if (strncmp(at, "/*", 2) == 0 && at[2] != ' ') {
        label.address = strtol(at + 2, NULL, 16);
        at = strstr(at, "*/");
        if (!at)
            return;
        vec_push(r->arena, &r->labels, label);
        take_instruction(r, skip_guard(at + 2));
    } else if (*at == '.' && at[strcspn(at, ":\n")] == ':') {
        label.name = at;
        label.len = strcspn(at, ":");
        vec_push(r->arena, &r->labels, label);
    }
}

void machine_read_sass(Arena *arena, const char *sass, MachineCodes *codes)
{
    SassReader r = {.arena = arena, .text = sass, .codes = codes};

    *codes = (MachineCodes){0};
    for (const char *line = sass; *line;) {
        if (!sass_entry(&r, line) && r.code)
            sass_line(&r, line);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    finish_entry(&r);
}

/* ---- counting ----------------------------------------------------------------------- */

const MachineCode *machine_find(const MachineCodes *codes, const char *entry)
{
    for (int i = 0; i < codes->len; i++)
        if (strcmp(codes->data[i].entry, entry) == 0)
            return &codes->data[i];
    return NULL;
}

MachineCount machine_count(const MachineCode *code)
{
    MachineCount n = {0};

    for (int i = 0; i < code->events.len; i++) {
        const MachineEvent *e = &code->events.data[i];

        switch (e->kind) {
        case MACHINE_FENCE:
        case MACHINE_COMMIT: break;
        case MACHINE_PRODUCT: n.products++; break;
        case MACHINE_WAIT: n.waits++; break;
        case MACHINE_MULTIPLY: n.multiplies++; break;
        case MACHINE_EXP: n.exps++; break;
        case MACHINE_LOCAL:
            n.local++;
            n.hot_local += e->hot;
            break;
        }
    }
    return n;
}

/* ---- the disassembler --------------------------------------------------------------- */

bool machine_tool(Arena *arena, const char *named, AsmTool *tool, const char **error)
{
    const char *first;

    if (asm_find(arena, "nvdisasm", named, tool, error))
        return true;
    first = *error;
    if (!named && asm_find(arena, "cuobjdump", NULL, tool, error))
        return true;
    *error = first;
    return false;
}

static bool is_cuobjdump(const AsmTool *tool)
{
    const char *slash = strrchr(tool->path, '/');

    return strncmp(slash ? slash + 1 : tool->path, "cuobjdump", 9) == 0;
}

bool machine_disassemble(Arena *arena, const AsmTool *tool, const char *cubin, size_t bytes, const char **text,
                         const char **error)
{
    Child child, *all[] = {&child};
    size_t len;
    bool ok;

    child_init(&child);
    ok = child_files(arena, &child, cubin, bytes, error);
    if (ok) {
        char *argv[] = {arena_strdup(arena, tool->path), arena_strdup(arena, is_cuobjdump(tool) ? "-sass" : "-c"),
                        arena_strdup(arena, child_file(arena, child.in)), NULL};

        ok = child_start(arena, &child, argv, disassembly_limit, error);
    }
    while (ok && !child_wait(all, 1, disassembly_limit))
        ;
    *text = ok ? child_read(arena, child.log, &len) : "";
    if (ok && child.status != 0) {
        *error = child.late ? arena_printf(arena, "%s took more than %g s and was ended", tool->path, disassembly_limit)
                            : arena_printf(arena, "%s cannot read the cubin: %.200s", tool->path, *text);
        ok = false;
    }
    child_drop(&child);
    return ok;
}
