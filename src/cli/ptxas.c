/* ptxas.c: the assembler of the CUDA toolkit as commands use it. */
#include "cli/ptxas.h"

#include <stdlib.h>

void ptxas_find(Session *s, Ptxas *ptxas)
{
    const char *named = s->options.ptxas_path ? s->options.ptxas_path : getenv("TW_PTXAS");

    ptxas->why = "TW_PTXAS is empty: there shall be no ptxas";
    if (!named || *named)
        ptxas->found = asm_find(s->arena, "ptxas", named, &ptxas->tool, &ptxas->why);
}

int ptxas_begin(Session *s, Ptxas *ptxas, const Source *ptx)
{
    const Options *o = &s->options;
    AsmSpec spec = {.name = ptx->path, .ptx = ptx->text, .len = ptx->len, .target = o->target->name};

    *ptxas = (Ptxas){0};
    if (o->cubin == WHEN_NEVER && !o->ptxas)
        return EXIT_DONE;
    ptxas_find(s, ptxas);
    if (ptxas->found)
        ptxas->job = asm_start(s->arena, &ptxas->tool, &spec);
    else if (o->cubin == WHEN_ALWAYS || o->ptxas_path)
        return session_fail(s, EXIT_LACKS, "%s", ptxas->why);
    return EXIT_DONE;
}

const AsmResult *ptxas_wait(Ptxas *ptxas)
{
    if (ptxas->job && !ptxas->result)
        ptxas->result = asm_result(ptxas->job);
    return ptxas->result;
}

int ptxas_end(Session *s, Ptxas *ptxas, const Source *ptx, const char *ptx_path)
{
    Str cubin = str_new(s->arena);
    int status;

    if (!ptxas_wait(ptxas))
        return EXIT_DONE;
    ptxas->path = cubin_path(s->arena, ptx_path);
    if (!ptxas->result->ok || s->options.cubin == WHEN_NEVER)
        ptxas->path = NULL;
    if (!ptxas->path)
        return EXIT_DONE;
    cubin_write(&cubin, ptxas->result, ptx, s->options.target->name, ptxas->tool.version);
    ptxas->bytes = cubin.len;
    status = session_write_path(s, ptxas->path, cubin.data, cubin.len);
    if (status)
        ptxas->path = NULL;
    return status;
}

/* Of its own accord tw asks any ptxas, and one that is too old is no failure. */
bool ptxas_failed(const Session *s, const Ptxas *ptxas)
{
    return ptxas->result && !ptxas->result->ok && (s->options.cubin == WHEN_ALWAYS || s->options.ptxas);
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
    if (r && !r->ok)
        str_printf(out, "  no cubin: ptxas %s cannot assemble this; the driver will\n", ptxas->tool.version);
    if (ptxas->path)
        str_printf(out, "  %s: %zu bytes of machine code\n", ptxas->path, ptxas->bytes);
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
    str_add(out, "],\"cubin\":");
    if (ptxas->path)
        str_json(out, ptxas->path);
    else
        str_add(out, "null");
    str_addc(out, '}');
}
