/* cmd_compile.c: stage 2, from code, or from tile IR that was dumped on the way and
 * edited, to PTX, or to tile IR as it is on the way. */
#include "cli/artefact.h"
#include "cli/ptxas.h"
#include "cli/stages.h"

static int no_such_pass(Session *s, const char *name)
{
    const char *names[32] = {"lower"};
    const char *near;
    int n, count = 1;
    const Pass *all = pass_all(&n);
    Str list = str_new(s->arena);

    for (int i = 0; i < n && count < (int)TW_COUNT(names); i++)
        names[count++] = all[i].name;
    near = nearest_name(name, names, count);
    if (near)
        return session_usage(s, "no pass '%s'; did you mean '%s'?", name, near);
    for (int i = 0; i < count; i++)
        str_printf(&list, "%s%s", i ? ", " : "", names[i]);
    return session_usage(s, "no pass '%s'; there are %s", name, str_text(&list));
}

static bool pass_exists(const char *name)
{
    int n;
    const Pass *all = pass_all(&n);

    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return true;
    return strcmp(name, "lower") == 0;
}

static int write_dump(Session *s, const Chain *chain)
{
    Str out = str_new(s->arena);

    for (int i = 0; i < chain->snapshots.len; i++) {
        const Snapshot *snapshot = &chain->snapshots.data[i];

        if (strcmp(snapshot->name, s->options.dump) != 0)
            continue;
        tile_print(&out, snapshot->program);
        return session_write_text(s, "tile", &out);
    }
    return session_fail(s, EXIT_WRONG, "pass '%s' was not reached", s->options.dump);
}

static int write_ptx(Session *s, const Chain *chain)
{
    Str out = str_new(s->arena);

    if (!s->options.json)
        return session_write(s, chain->ptx->text, chain->ptx->len);
    str_add(&out, "{\"ok\":true,\"ptx\":");
    str_json(&out, chain->ptx->text);
    str_add(&out, ",\"abi\":");
    abi_json(&out, chain->abi);
    return session_write_json(s, &out);
}

/* What cannot be compiled, or not with these options. */
static int refuse(Session *s, const Source *source)
{
    const char *at = source->path;

    switch (artefact_of(source)) {
    case ARTEFACT_TL: return EXIT_DONE;
    case ARTEFACT_PTX: return session_usage(s, "%s is PTX: 'tw emulate' runs that", at);
    case ARTEFACT_TILE: break;
    }
    return s->options.sets.len ? session_usage(s, "%s is tile IR: its sizes are compiled in, --set comes too late", at)
                               : EXIT_DONE;
}

/* Beside NAME.ptx goes NAME.cubin; what is written elsewhere, or within JSON, has none. */
static int finish(Session *s, const Chain *chain)
{
    const char *path = s->options.json ? NULL : s->options.output;
    bool beside = cubin_path(s->arena, path) != NULL;
    Ptxas ptxas = {0};
    Str said = str_new(s->arena);
    int status;

    if (!beside && (s->options.cubin == WHEN_ALWAYS || s->options.ptxas))
        return session_usage(s, "a cubin goes beside the PTX: -o NAME.ptx says where");
    status = beside ? ptxas_begin(s, &ptxas, chain->ptx) : EXIT_DONE;
    if (!status)
        status = write_ptx(s, chain);
    if (!status)
        status = ptxas_end(s, &ptxas, chain->ptx, path);
    ptxas_print(&said, &ptxas);
    if (!status && said.len)
        status = session_write_path(s, NULL, said.data, said.len);
    return status ? status : ptxas_failed(s, &ptxas) ? EXIT_WRONG : EXIT_DONE;
}

int cmd_compile(Session *s)
{
    const char *dump = s->options.dump;
    Source *source;
    Chain *chain;
    int status;

    if (dump && !pass_exists(dump))
        return no_such_pass(s, dump);
    source = session_read(s, 0);
    chain = source ? session_chain(s) : NULL;
    if (!source)
        return EXIT_LACKS;
    if (refuse(s, source))
        return EXIT_USAGE;
    if (!chain)
        return EXIT_USAGE;
    status = session_against(s, chain, source, true); /* the kernel must agree with it: it goes into the PTX's head */
    if (status)
        return status;
    chain->keep_snapshots = dump != NULL;
    if (!session_lower(chain, source) || !chain_schedule(chain)) {
        if (dump && chain->snapshots.len)
            session_diagnose(s); /* what stands before the failure is still worth a look */
        else
            return session_chain_failed(s, chain, "compile");
    }
    if (dump)
        return write_dump(s, chain) || s->diags->errors ? EXIT_WRONG : EXIT_DONE;
    if (!chain_emit(chain))
        return session_chain_failed(s, chain, "compile");
    if (!s->options.json)
        session_diagnose(s); /* warnings */
    return finish(s, chain);
}
