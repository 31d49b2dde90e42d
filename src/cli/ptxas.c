/* ptxas.c: the assembler of the CUDA toolkit as commands use it. */
#include "cli/ptxas.h"

#include <stdlib.h>

void ptxas_find(Session *s, Ptxas *ptxas)
{
    const char *named = s->options.ptxas_path ? s->options.ptxas_path : getenv("TW_PTXAS");

    *ptxas = (Ptxas){.why = "TW_PTXAS is empty: there shall be none"};
    if (!named || *named)
        ptxas->found = asm_find(s->arena, "ptxas", named, &ptxas->tool, &ptxas->why);
}

void ptxas_assemble(Session *s, Ptxas *ptxas, const Source *ptx)
{
    AsmSpec spec = {.name = ptx->path, .ptx = ptx->text, .len = ptx->len, .target = s->options.target->name};

    if (ptxas->found)
        ptxas->result = asm_result(asm_start(s->arena, &ptxas->tool, &spec));
}

void ptxas_print(Str *out, const Ptxas *ptxas)
{
    const AsmResult *r = ptxas->result;

    for (int i = 0; r && i < r->entries.len; i++) {
        const AsmEntry *e = &r->entries.data[i];

        str_printf(out, "  ptxas %s, %s: %d registers, %d bytes spilled%s\n", ptxas->tool.version, e->name,
                   e->registers, e->spill_stores + e->spill_loads,
                   e->serialised ? ", products serialised" : "");
    }
    for (int i = 0; r && i < r->notes.len; i++)
        str_printf(out, "  %s\n", r->notes.data[i].text);
    if (r && r->problem && !r->notes.len)
        str_printf(out, "  ptxas: %s\n", r->problem);
}

static void put_entry(Str *out, const AsmEntry *e)
{
    str_add(out, "{\"entry\":");
    str_json(out, e->name);
    str_printf(out,
               ",\"registers\":%d,\"stack\":%d,\"spill_stores\":%d,\"spill_loads\":%d,\"shared\":%d,"
               "\"barriers\":%d,\"serialised\":%s}",
               e->registers, e->stack, e->spill_stores, e->spill_loads, e->shared, e->barriers,
               e->serialised ? "true" : "false");
}

void ptxas_json(Str *out, const Ptxas *ptxas)
{
    const AsmResult *r = ptxas->result;
    Str messages = str_new(out->arena);

    if (!r) {
        str_add(out, "null");
        return;
    }
    for (int i = 0; i < r->notes.len; i++)
        str_printf(&messages, "%s\n", r->notes.data[i].text);
    str_printf(out, "{\"version\":\"%s\",\"ok\":%s,\"seconds\":%.3f,\"messages\":", ptxas->tool.version,
               r->ok ? "true" : "false", r->seconds);
    str_json(out, messages.len || !r->problem ? str_text(&messages) : r->problem);
    str_add(out, ",\"entries\":[");
    for (int i = 0; i < r->entries.len; i++) {
        str_add(out, i ? "," : "");
        put_entry(out, &r->entries.data[i]);
    }
    str_add(out, "]}");
}
