/* cmd_fuse.c: stage 1a, from a definition to a sketch. */
#include "cli/artefact.h"
#include "cli/launch.h"
#include "cli/stages.h"

int cmd_fuse(Session *s)
{
    Source *source = session_read(s, 0);
    Chain *chain = source ? session_chain(s) : NULL;
    Str out = str_new(s->arena);

    if (!source)
        return EXIT_LACKS;
    if (!artefact_is_tl(s, source))
        return EXIT_USAGE;
    if (!chain)
        return EXIT_USAGE;
    if (!chain_define(chain, source))
        return session_chain_failed(s, chain, "fuse");
    if (!launch_known(s, chain->def, &chain->own))
        return EXIT_USAGE;
    if ((s->options.has_target && !chain_has_types(chain)) || !chain_fuse(chain))
        return session_chain_failed(s, chain, "fuse");
    if (!s->options.json) {
        session_diagnose(s); /* warnings */
        return session_write(s, chain->sketch->text, chain->sketch->len);
    }
    str_add(&out, "{\"ok\":true,\"sketch\":");
    str_json(&out, chain->sketch->text);
    return session_write_json(s, &out);
}
