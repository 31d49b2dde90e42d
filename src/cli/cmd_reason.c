/* cmd_reason.c: stage 1b, from a sketch to code. */
#include "cli/artefact.h"
#include "cli/launch.h"
#include "cli/stages.h"
#include "cli/why.h"

static int write_json(Session *s, const Chain *chain)
{
    const ReasonResult *r = chain->reasoned;
    Str out = str_new(s->arena);

    str_add(&out, "{\"ok\":true,\"code\":");
    str_json(&out, chain->code->text);
    str_add(&out, ",\"parameters\":");
    why_json(&out, r);
    str_add(&out, ",\"passes\":");
    why_json_passes(&out, chain);
    str_printf(&out, ",\"considered\":%d,\"predicted_cycles\":%.6g,\"limiter\":", r->considered,
               r->predicted_cycles);
    str_json(&out, r->limiter ? r->limiter : "");
    return session_write_json(s, &out);
}

static void comment(Str *out, const char *lines)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");

        str_addc(out, '#');
        str_addn(out, lines, len);
        str_addc(out, '\n');
        lines += len + (lines[len] == '\n');
    }
}

/* With --explain the reasons follow the code as comments, so that the result is
 * code still. */
static int write_explained(Session *s, const Chain *chain)
{
    Str why = str_new(s->arena), out = str_new(s->arena);

    str_addn(&out, chain->code->text, chain->code->len);
    str_add(&out, "\n# Why:\n");
    why_print(&why, chain->reasoned);
    comment(&out, str_text(&why));
    why = str_new(s->arena);
    why_print_passes(&why, chain);
    if (why.len)
        str_add(&out, "# And what the passes make of it:\n");
    comment(&out, str_text(&why));
    return session_write(s, out.data, out.len);
}

int cmd_reason(Session *s)
{
    Source *source = session_read(s, 0);
    Chain *chain = source ? session_chain(s) : NULL;

    if (!source)
        return EXIT_LACKS;
    if (!artefact_is_tl(s, source))
        return EXIT_USAGE;
    if (!chain)
        return EXIT_USAGE;
    if (!chain_reason(chain, source))
        return session_chain_failed(s, chain, "reason");
    if (!launch_known_by(s, chain->reasoned->code))
        return EXIT_USAGE;
    if ((s->options.json || s->options.explain) && !(chain_lower(chain, chain->code) && chain_schedule(chain)))
        return session_chain_failed(s, chain, "reason");
    if (s->options.json)
        return write_json(s, chain);
    session_diagnose(s); /* warnings */
    if (s->options.explain)
        return write_explained(s, chain);
    return session_write(s, chain->code->text, chain->code->len);
}
