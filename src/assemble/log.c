/* log.c: what ptxas, or the driver's compiler, says of a text.
 *
 *     ptxas info    : Compiling entry function 'NAME' for 'sm_90a'
 *     ptxas info    : Function properties for NAME
 *         8 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
 *     ptxas info    : Used 168 registers, used 1 barriers, 64 bytes smem
 *     ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are
 *                     serialized due to ... in the function 'NAME'
 *
 * The lines of one entry follow the one that names it; an advisory may stand before,
 * with the name in it.
 */
#include "assemble/assemble.h"

#include <stdlib.h>

typedef struct Log {
    Arena *arena;
    AsmEntries *entries;
    AsmNotes *notes;
    int current; /* the entry that lines speak of; -1: none */
} Log;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number that stands before the words; 0: they are not there. */
static int number_before(const char *line, const char *words)
{
    const char *at = strstr(line, words);

    if (!at)
        return 0;
    while (at > line && at[-1] == ' ')
        at--;
    while (at > line && is_digit(at[-1]))
        at--;
    return atoi(at);
}

static int find_or_add(Log *log, const char *name)
{
    AsmEntry entry = {.name = name};

    for (int i = 0; i < log->entries->len; i++)
        if (strcmp(log->entries->data[i].name, name) == 0)
            return i;
    vec_push(log->arena, log->entries, entry);
    return log->entries->len - 1;
}

/* What stands between the quotes behind the words; NULL: nothing. */
static const char *quoted_after(const Log *log, const char *line, const char *words)
{
    const char *at = strstr(line, words);
    size_t len;

    if (!at)
        return NULL;
    at += strlen(words);
    at += strspn(at, " ");
    if (*at != '\'')
        return NULL;
    len = strcspn(++at, "'");
    return at[len] ? arena_strndup(log->arena, at, len) : NULL;
}

/* "(C7510)" */
static const char *code_in(const Log *log, const char *line)
{
    for (const char *at = line; (at = strchr(at, '(')); at++) {
        size_t digits = at[1] == 'C' ? strspn(at + 2, "0123456789") : 0;

        if (digits && at[2 + digits] == ')')
            return arena_strndup(log->arena, at + 1, digits + 1);
    }
    return "";
}

static bool is_advisory(const char *line, const char *code)
{
    return strncmp(code, "C75", 3) == 0 || strstr(line, "Potential Performance Loss") ||
           (strstr(line, "wgmma") && strstr(line, "serialized"));
}

static void take_note(Log *log, const char *line)
{
    AsmNote note = {.code = code_in(log, line), .text = line, .entry = quoted_after(log, line, "function")};

    if (is_advisory(line, note.code))
        note.kind = ASM_ADVISORY;
    else if (strstr(line, "error   :") || strstr(line, "error:") || strstr(line, "error :") || strstr(line, "fatal"))
        note.kind = ASM_ERROR;
    else if (strstr(line, "warning"))
        note.kind = ASM_WARNING;
    else
        return;
    if (!note.entry && log->current >= 0 && note.kind == ASM_ADVISORY)
        note.entry = log->entries->data[log->current].name;
    vec_push(log->arena, log->notes, note);
}

/* Of the entry that the lines before named. */
static void take_figures(Log *log, const char *line)
{
    AsmEntry *entry = log->current < 0 ? NULL : &log->entries->data[log->current];
    const char *used = strstr(line, "Used ");

    if (!entry)
        return;
    if (strstr(line, "bytes stack frame")) {
        entry->stack = number_before(line, "bytes stack frame");
        entry->spill_stores = number_before(line, "bytes spill stores");
        entry->spill_loads = number_before(line, "bytes spill loads");
    }
    if (used) {
        entry->registers = atoi(used + 5);
        entry->barriers = number_before(line, "barriers");
        entry->shared = number_before(line, "bytes smem");
    }
}

static void read_line(Log *log, const char *line)
{
    const char *name = quoted_after(log, line, "Compiling entry function");

    if (name)
        log->current = find_or_add(log, name);
    else if (strstr(line, "Function properties for "))
        log->current = find_or_add(log, strstr(line, "Function properties for ") + 24);
    take_figures(log, line);
    take_note(log, line);
}

/* Advisories may come before the entry that they name. */
static void mark_serialised(Log *log)
{
    for (int i = 0; i < log->notes->len; i++) {
        const AsmNote *note = &log->notes->data[i];

        for (int e = 0; e < log->entries->len && note->kind == ASM_ADVISORY; e++)
            if (strstr(note->text, "serialized") && note->entry &&
                strcmp(note->entry, log->entries->data[e].name) == 0)
                log->entries->data[e].serialised = true;
    }
}

void asm_read_log(Arena *arena, const char *text, AsmEntries *entries, AsmNotes *notes)
{
    Log log = {arena, entries, notes, -1};

    *entries = (AsmEntries){0};
    *notes = (AsmNotes){0};
    while (*text) {
        size_t len = strcspn(text, "\n");

        if (len)
            read_line(&log, arena_strndup(arena, text, len - (text[len - 1] == '\r')));
        text += len + (text[len] == '\n');
    }
    mark_serialised(&log);
}
