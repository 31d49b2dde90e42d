/* stages.c: the chain of stages under a session's options. */
#include "cli/stages.h"

Chain *session_chain(Session *s)
{
    const Options *o = &s->options;
    Chain *chain = chain_new(s->arena, s->syms, s->aff, s->diags, o->target, o->dtype);

    chain->edits = true;
    for (int i = 0; i < o->sets.len; i++) {
        const char *error = chain_set(chain, o->sets.data[i]);

        if (error) {
            session_usage(s, "--set: %s", error);
            return NULL;
        }
    }
    for (int i = 0; i < o->binds.len; i++) {
        const char *error = chain_run_with(chain, o->binds.data[i]);

        if (error) {
            session_usage(s, "--bind: %s", error);
            return NULL;
        }
    }
    return chain;
}

int session_chain_failed(Session *s, const Chain *chain, const char *stage)
{
    if (session_diagnose(s))
        return EXIT_WRONG;
    if (chain->failure)
        return session_fail(s, EXIT_WRONG, "%s", chain->failure);
    return session_fail(s, EXIT_WRONG, "%s failed and did not say why: a mistake in tw", stage);
}
