/* stages.c: the chain of stages under a session's options. */
#include "cli/stages.h"

#include "cli/artefact.h"

Chain *session_chain(Session *s)
{
    const Options *o = &s->options;
    Chain *chain = chain_new(s->arena, s->syms, s->aff, s->diags, o->target, o->dtype);

    chain->edits = true;
    chain->only_tried = o->trial;
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

static bool is_definition_and_code(Session *s, const Source *source)
{
    const Program *program = artefact_of(source) == ARTEFACT_TL ? lang_parse(s->arena, s->syms, source, diags_new(s->arena, source)) : NULL;

    return program && program_unit(program, UNIT_OPERATOR) && program_unit(program, UNIT_KERNEL);
}

int session_against(Session *s, Chain *chain, const Source *compiled, bool beside)
{
    const Source *source = beside && !s->options.against && is_definition_and_code(s, compiled) ? compiled : NULL;
    Chain *quiet;

    if (!s->options.against && !source)
        return EXIT_DONE;
    if (!source)
        source = session_read_path(s, s->options.against);
    if (!source)
        return EXIT_LACKS;
    quiet = chain_like(s->arena, chain, diags_new(s->arena, compiled));
    session_lower(quiet, compiled); /* for its sizes and types alone; what is wrong with it is said in its turn */
    return chain_define_from_tile(chain, quiet->tile, source) ? EXIT_DONE : session_chain_failed(s, chain, "definition");
}

bool session_lower(Chain *chain, const Source *source)
{
    return artefact_of(source) == ARTEFACT_TILE ? chain_read_tile(chain, source) : chain_lower(chain, source);
}

int session_chain_failed(Session *s, const Chain *chain, const char *stage)
{
    if (session_diagnose(s))
        return EXIT_WRONG;
    if (chain->failure)
        return session_fail(s, EXIT_WRONG, "%s", chain->failure);
    return session_fail(s, EXIT_WRONG, "%s failed and did not say why: a mistake in tw", stage);
}
