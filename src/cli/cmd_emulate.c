/* cmd_emulate.c: runs PTX text on the CPU and compares with the definition. */
#include "cli/stages.h"
#include "cli/trial.h"

static const struct {
    const char *what;
    bool aligned;
    uint64_t schedule; /* added to the seed; the warps take turns in another order */
} variants[] = {
    {"PTX, aligned", true, 0},
    {"PTX, other warp order", true, 1},
    {"PTX, unaligned", false, 0},
};

static int emulate(Session *s, Chain *chain, const Source *ptx, const Abi *abi)
{
    const Options *o = &s->options;
    LaunchShape shape = {0};
    EmuModule *module;
    const TrialResult *results[TW_COUNT(variants)];
    const char *error;
    Trial *trial;

    if (!launch_parse(s, "set", o->sets.data, o->sets.len, &shape) ||
        !launch_parse(s, "bind", o->binds.data, o->binds.len, &shape) ||
        !launch_complete(s, chain->def, &chain->own, &shape))
        return EXIT_USAGE;
    s->diags->source = ptx;
    module = emu_parse(s->arena, s->diags, ptx);
    if (!module)
        return session_chain_failed(s, chain, "emulate");
    trial = trial_new(s, chain->def, &shape, &error);
    if (!trial)
        return session_fail(s, EXIT_WRONG, "%s", error);
    for (size_t i = 0; i < TW_COUNT(variants); i++)
        results[i] = trial_ptx(trial, variants[i].what, module, abi, variants[i].aligned,
                               o->seed + variants[i].schedule);
    if (!abi->unordered)
        trial_expect_equal(trial, "determinism", results[0], results[1]);
    return trial_write(s, trial);
}

int cmd_emulate(Session *s)
{
    Source *ptx = session_read(s, 0), *against = NULL;
    Chain *chain;
    Abi *abi;

    if (!ptx)
        return EXIT_LACKS;
    if (s->options.against && !(against = session_read_path(s, s->options.against)))
        return EXIT_LACKS;
    chain = chain_new(s->arena, s->syms, s->aff, s->diags, s->options.target, s->options.dtype);
    s->diags->source = ptx;
    abi = abi_from_ptx(s->arena, s->syms, s->aff, ptx, s->diags);
    if (!abi) {
        if (s->diags->errors)
            return session_chain_failed(s, chain, "emulate");
        return session_fail(s, EXIT_WRONG, "%s has no launch ABI in its head", ptx->path);
    }
    if (!chain_define_from_abi(chain, abi, against))
        return session_chain_failed(s, chain, "definition");
    return emulate(s, chain, ptx, abi);
}
