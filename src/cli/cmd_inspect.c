/* cmd_inspect.c: is machine code what its PTX meant? */
#include "cli/artefact.h"
#include "cli/inspect.h"
#include "assemble/cubin.h"

/* The cubin beside the PTX, disassembled. NULL: said why, *status is set. */
static const char *listing_of(Session *s, const Source *ptx, int *status)
{
    const char *path = cubin_path(s->arena, ptx->path), *error = NULL, *text;
    Source *file;
    CubinSeal seal;

    *status = EXIT_LACKS;
    if (!path) {
        session_fail(s, *status, "%s is not named .ptx: the cubin beside it cannot be told; give a listing", ptx->path);
        return NULL;
    }
    file = session_read_path(s, path);
    if (!file)
        return NULL;
    if (!cubin_read(s->arena, file, &seal, &error))
        session_warn(s, "%s", error);
    else if (!cubin_is_of(s->arena, &seal, ptx))
        session_warn(s, "%s was made of other PTX than %s", path, ptx->path);
    text = inspect_text(s, file->text, file->len, &error);
    if (!text)
        session_fail(s, *status, "%s", error);
    return text;
}

static int report(Session *s, const Inspected *result)
{
    Str out = str_new(s->arena);
    int status;

    if (s->options.json) {
        str_printf(&out, "{\"ok\":%s,\"machine_code\":", result->found ? "false" : "true");
        inspect_json(&out, result);
        str_add(&out, ",\"diagnostics\":");
        diags_json(s->diags, &out);
        str_add(&out, "}\n");
    } else {
        session_diagnose(s);
        inspect_print(&out, result);
    }
    status = session_write(s, out.data, out.len);
    return status ? status : result->found ? EXIT_WRONG : EXIT_DONE;
}

int cmd_inspect(Session *s)
{
    Source *ptx = session_read(s, 0), *file;
    const char *listing;
    Inspected result;
    int status;

    if (!ptx)
        return EXIT_LACKS;
    if (artefact_of(ptx) != ARTEFACT_PTX)
        return session_usage(s, "%s is not PTX; the cubin beside NAME.ptx is NAME.cubin", ptx->path);
    if (s->options.files.len > 1) {
        file = session_read(s, 1);
        listing = file ? file->text : NULL;
        status = EXIT_LACKS;
    } else {
        listing = listing_of(s, ptx, &status);
    }
    if (!listing)
        return status;
    inspect_compare(s, ptx, listing, &result);
    if (!result.entries)
        return session_fail(s, EXIT_WRONG, "no entry of %s stands in the machine code", ptx->path);
    return report(s, &result);
}
