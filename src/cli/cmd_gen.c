/* cmd_gen.c: the whole chain, from a definition to a kernel and its papers.
 *
 *   DIR/NAME.sketch.tl   the flow                DIR/NAME.sm_80.ptx  the kernel
 *   DIR/NAME.code.tl     with every parameter    DIR/NAME.sm_80.h    its launch ABI in C
 *   DIR/NAME.json        parameters, resources, checks
 *   DIR/NAME.sm_80.cubin where ptxas is at hand
 *   DIR/NAME.sm_80.cu    where a model translated the code, beside tilewright_cute.cuh
 */
#include "cli/artefact.h"
#include "cli/gen.h"
#include "cli/stages.h"
#include "cli/inspect.h"
#include "cli/spare.h"
#include "cli/trial.h"
#include "cli/tuned.h"
#include "cli/why.h"
#include "cli/workflow.h"
#include "cute/cute.h"
#include "tune/on_gpu.h"


typedef struct Gen {
    Session *s;
    Chain *chain;
    Workflow *workflow;
    const char *request; /* in plain words; NULL: a definition was given */
    Trial *trial;      /* NULL: nothing was executed */
    Ptxas ptxas;
    Spared spared;     /* what it would not spill */
    bool read;         /* its machine code was read */
    Inspected inspected;
    const char *ptx_path;
    const char *tuned; /* settings that measurements chose; NULL: none */
    const TuneEntry *entry; /* where they are remembered; NULL: they are new */
} Gen;

/* With --tuned the settings that are remembered join those that were given. */
static int take_tuned(Gen *g)
{
    const char *error;

    if (g->s->options.tuned) {
        g->entry = tuned_find(g->s, g->chain);
        if (!g->entry)
            return EXIT_LACKS;
        g->tuned = g->entry->winner;
    }
    error = g->tuned ? tune_set_all(g->chain, g->tuned) : NULL;
    return error ? session_fail(g->s, EXIT_WRONG, "what was tuned cannot be set any more: %s", error) : EXIT_DONE;
}

/* Definition and sketch as text, each to the author of the next stage. */
static int write_stages(Gen *g, const Source *source)
{
    Session *s = g->s;
    Chain *chain = g->chain;
    int status;

    if (!chain_define(chain, source))
        return session_chain_failed(s, chain, "definition");
    if (!launch_known(s, chain->def, &chain->own))
        return EXIT_USAGE;
    status = take_tuned(g);
    if (!status && !g->request)
        status = workflow_begin(g->workflow, chain->name, source->text);
    if (!status)
        status = workflow_stage(g->workflow, PROMPT_SKETCH, prompt_definition(s->arena, source), NULL);
    return status ? status : workflow_stage(g->workflow, PROMPT_REASON, chain->sketch->text, NULL);
}

static int run_stages(Gen *g, const Source *source)
{
    Session *s = g->s;
    Chain *chain = g->chain;
    int status = write_stages(g, source);

    if (status)
        return status;
    if (g->workflow->models[PROMPT_TRANSLATE])
        return workflow_stage(g->workflow, PROMPT_TRANSLATE, chain->code->text, NULL);
    if (!chain_lower(chain, chain->code))
        return session_chain_failed(s, chain, "lower");
    if (!chain_schedule(chain))
        return session_chain_failed(s, chain, "passes");
    if (!chain_emit(chain))
        return session_chain_failed(s, chain, "PTX");
    return EXIT_DONE;
}

/* ---- executing every artefact --------------------------------------------------------- */

static void try_tile(Gen *g)
{
    const TrialResult *before = NULL;

    for (int i = 0; i < g->chain->snapshots.len; i++) {
        const Snapshot *snapshot = &g->chain->snapshots.data[i];
        const char *what = i ? arena_printf(g->s->arena, "tile IR after %s", snapshot->name)
                             : "TL code";
        const TrialResult *result = trial_tile(g->trial, what, snapshot->program);

        if (before && snapshot->exact)
            trial_expect_equal(g->trial, arena_printf(g->s->arena, "%s is exact", snapshot->name),
                               before, result);
        before = result;
    }
}

static bool try_ptx(Gen *g)
{
    Session *s = g->s;
    EmuModule *module;
    const TrialResult *a, *b;

    s->diags->source = g->chain->ptx;
    module = emu_parse(s->arena, s->diags, g->chain->ptx);
    if (!module)
        return false;
    a = trial_ptx(g->trial, "PTX, aligned", module, g->chain->abi, true, s->options.seed);
    b = trial_ptx(g->trial, "PTX, other warp order", module, g->chain->abi, true,
                  s->options.seed + 1);
    if (!g->chain->abi->unordered)
        trial_expect_equal(g->trial, "PTX is deterministic", a, b);
    trial_ptx(g->trial, "PTX, unaligned", module, g->chain->abi, false, s->options.seed);
    return true;
}

/* The chain with the definition of the sizes that were compiled in: Kernels beside it may give some that it leaves open. */
static const Chain *as_compiled(Gen *g)
{
    Chain *chain = g->chain, *compiled;

    if (!chain->beside)
        return chain;
    compiled = chain_new(g->s->arena, g->s->syms, g->s->aff, diags_new(g->s->arena, chain->ptx), chain->target, chain->settings.dtype);
    return chain_define_from_abi(compiled, chain->abi, NULL) ? compiled : chain;
}

static int try_all(Gen *g)
{
    Session *s = g->s;
    const Chain *compiled = as_compiled(g);
    LaunchShape shape = {0};
    const char *error;

    if (!launch_parse(s, "bind", s->options.binds.data, s->options.binds.len, &shape) ||
        !launch_complete(s, compiled->def, &compiled->own, &shape))
        return EXIT_USAGE;
    g->trial = trial_new(s, compiled->def, &shape, &error);
    if (!g->trial)
        return session_fail(s, EXIT_WRONG, "%s", error);
    try_tile(g);
    if (!try_ptx(g))
        return session_chain_failed(s, g->chain, "emulator");
    return EXIT_DONE;
}

/* ---- what is written --------------------------------------------------------------------- */

static void json_stages(Str *out, const Chain *chain)
{
    str_addc(out, '[');
    for (int i = 0; i < chain->stages.len; i++)
        str_printf(out, "%s{\"name\":\"%s\",\"seconds\":%.6f}", i ? "," : "",
                   chain->stages.data[i].name, chain->stages.data[i].seconds);
    str_addc(out, ']');
}

/* What the passes decided, or were told. */
static void json_schedule(Str *out, const TileKernel *kernel)
{
    int n = 0;

    str_add(out, ",\"schedule\":{");
    for (int i = 0; i < SCHED_COUNT; i++)
        if (kernel->decided.value[i] != SCHED_AUTO)
            str_printf(out, "%s\"%s\":\"%s\"", n++ ? "," : "", sched_info((SchedId)i)->name,
                       sched_value_info(kernel->decided.value[i])->name);
    str_addc(out, '}');
}

static void json_kernels(Str *out, const Chain *chain)
{
    str_addc(out, '[');
    for (int i = 0; i < chain->abi->kernels.len; i++) {
        const AbiKernel *k = &chain->abi->kernels.data[i];

        str_add(out, i ? ",{\"entry\":" : "{\"entry\":");
        str_json(out, k->fast.name);
        str_printf(out, ",\"threads\":%d,\"shared_bytes\":%lld", k->fast.threads,
                   (long long)k->fast.shared_bytes);
        if (i < chain->tile->kernels.len)
            json_schedule(out, chain->tile->kernels.data[i]);
        str_addc(out, '}');
    }
    str_addc(out, ']');
}

/* Why a model chose what it chose nobody knows. */
static const ReasonResult *reasons(const Chain *chain)
{
    static const ReasonResult none;

    return chain->reasoned ? chain->reasoned : &none;
}

static const char *flow_text(const Gen *g)
{
    const Model *model = g->workflow->models[PROMPT_SKETCH];

    if (model)
        return "by a model";
    return g->chain->beside ? "by hand" : "by the fuser";
}

/* null, or the settings that measurements chose and where they were measured. */
static void json_tuned(Str *out, const Gen *g)
{
    str_add(out, ",\n\"tuned\":");
    if (!g->tuned) {
        str_add(out, "null");
        return;
    }
    str_add(out, "{\"settings\":");
    str_json(out, g->tuned);
    if (g->entry) {
        str_add(out, ",\"device\":");
        str_json(out, g->entry->key.device);
        str_printf(out, ",\"driver\":%d,\"shapes\":", g->entry->key.driver);
        str_json(out, g->entry->key.shapes);
    }
    str_addc(out, '}');
}

/* null, or with what ptxas spills less than the bytes that it would. */
static void json_spared(Str *out, const Gen *g)
{
    if (!g->spared.settings) {
        str_add(out, "null");
        return;
    }
    str_add(out, "{\"settings\":");
    str_json(out, g->spared.settings);
    str_printf(out, ",\"spilled\":%d,\"serialised\":%s}", g->spared.spilled, g->spared.serialised ? "true" : "false");
}

static const char *make_json(Gen *g, size_t *len)
{
    const Chain *chain = g->chain;
    Str out = str_new(g->s->arena);

    str_add(&out, "{\"ok\":");
    str_add(&out, g->trial && g->trial->failed ? "false" : "true");
    str_add(&out, ",\n\"name\":");
    str_json(&out, chain->name);
    str_printf(&out, ",\n\"target\":\"%s\",\n\"dtype\":\"%s\",\n\"parameters\":",
               g->s->options.target->name, dtype_name(g->s->options.dtype));
    why_json(&out, reasons(chain));
    str_add(&out, ",\n\"passes\":");
    why_json_passes(&out, chain);
    json_tuned(&out, g);
    str_add(&out, ",\n\"resources\":{\"kernels\":");
    json_kernels(&out, chain);
    str_printf(&out, ",\"ptx_bytes\":%zu,\"ptxas\":", chain->ptx->len);
    ptxas_json(&out, &g->ptxas);
    str_add(&out, ",\"spared\":");
    json_spared(&out, g);
    str_add(&out, ",\"machine_code\":");
    if (g->read)
        inspect_json(&out, &g->inspected);
    else
        str_add(&out, "null");
    str_printf(&out, "},\n\"flow\":\"%s\",\n\"written\":", flow_text(g));
    workflow_json(g->workflow, &out);
    str_add(&out, ",\n\"stages\":");
    json_stages(&out, chain);
    str_add(&out, ",\n\"checks\":");
    if (g->trial)
        trial_json(&out, g->trial);
    else
        str_add(&out, "null");
    str_add(&out, ",\n\"diagnostics\":");
    diags_json(g->s->diags, &out);
    str_add(&out, ",\n\"abi\":");
    abi_json(&out, chain->abi);
    str_add(&out, "}\n");
    *len = out.len;
    return out.data;
}

/* What a model translated, beside the header that it includes. */
static int write_cute(Gen *g, const char *folder)
{
    Session *s = g->s;
    const Source *cute = g->chain->cute;
    int status = session_write_path(s, arena_printf(s->arena, "%s/%s", folder, cute->path), cute->text, cute->len);

    return status ? status
                  : session_write_path(s, arena_printf(s->arena, "%s/%s", folder, CUTE_HEADER_NAME), cute_header, strlen(cute_header));
}

static int write_files(Gen *g, const char *folder)
{
    Session *s = g->s;
    const Chain *chain = g->chain;
    Str header = str_new(s->arena);
    int status = EXIT_DONE;
    const char *error;

    if ((error = folder_make(s->arena, folder, 0777)))
        return session_fail(s, EXIT_LACKS, "%s", error);
    abi_c_header(&header, chain->abi);
    g->ptx_path = arena_printf(s->arena, "%s/%s", folder, chain->ptx->path);
    struct {
        const char *name, *text;
        size_t len;
    } files[] = {
        {chain->sketch->path, chain->sketch->text, chain->sketch->len},
        {chain->code->path, chain->code->text, chain->code->len},
        {chain->ptx->path, chain->ptx->text, chain->ptx->len},
        {arena_printf(s->arena, "%s.%s.h", chain->name, s->options.target->name),
         str_text(&header), header.len},
    };
    for (size_t i = 0; i < TW_COUNT(files) && !status; i++)
        status = session_write_path(s, arena_printf(s->arena, "%s/%s", folder, files[i].name),
                                    files[i].text, files[i].len);
    return status || !chain->cute ? status : write_cute(g, folder);
}

static int write_json(Gen *g, const char *folder)
{
    size_t len;
    const char *json = make_json(g, &len);
    const char *path = arena_printf(g->s->arena, "%s/%s.json", folder, g->chain->name);
    int status = session_write_path(g->s, path, json, len);

    if (!status && g->s->options.json)
        status = session_write_path(g->s, NULL, json, len);
    return status;
}

/* ---- what is printed ------------------------------------------------------------------------ */

static void put_stages(Gen *g, Str *out)
{
    const Chain *chain = g->chain;
    double total = 0;

    put_title(g->s, out, "Stages");
    for (int i = 0; i < chain->stages.len; i++) {
        str_printf(out, "  %-12s %8.2f ms\n", chain->stages.data[i].name,
                   chain->stages.data[i].seconds * 1e3);
        total += chain->stages.data[i].seconds;
    }
    str_printf(out, "  %-12s %8.2f ms\n", "in all", total * 1e3);
}

static void put_kernels(Gen *g, Str *out)
{
    const Chain *chain = g->chain;

    put_title(g->s, out, "Kernels");
    if (chain->beside)
        str_printf(out, "  from the %s beside the definition, not from the fuser\n",
                   chain->reasoned->considered ? "sketch" : "code");
    for (int i = 0; i < chain->abi->kernels.len; i++) {
        const AbiEntry *k = &chain->abi->kernels.data[i].fast;

        str_printf(out, "  %s: %d threads, %lld bytes of shared memory, grid %s", k->name,
                   k->threads, (long long)k->shared_bytes, aff_text(g->s->arena, k->blocks));
        if (k->persistent)
            str_printf(out, ", taken in turn by %d block%s a multiprocessor", k->persistent,
                       k->persistent > 1 ? "s" : "");
        str_addc(out, '\n');
    }
    ptxas_print(out, &g->ptxas);
    if (g->spared.settings)
        str_printf(out, "  with %s, without which ptxas would spill %d bytes%s\n", g->spared.settings, g->spared.spilled,
                   g->spared.serialised ? " and serialise products" : "");
    str_printf(out, "  %s: %zu bytes of PTX\n", g->ptx_path, chain->ptx->len);
}

static void put_machine_code(Gen *g, Str *out)
{
    if (!g->read)
        return;
    put_title(g->s, out, "Machine code");
    inspect_print(out, &g->inspected);
}

/* A translation's verdict and time beside the built-in stages'. */
static void put_measured(Gen *g, Str *out)
{
    const FlowMeasured *m = &g->workflow->flow->translated.measured;

    if (m->verdict != FLOW_RIGHT)
        return;
    put_title(g->s, out, "On the GPU");
    str_printf(out, "  right; %s\n", flow_measured_text(g->s->arena, m));
}

static int print_report(Gen *g)
{
    Str out = str_new(g->s->arena);

    if (g->s->options.explain) {
        put_title(g->s, &out, "Parameters");
        why_print(&out, reasons(g->chain));
        put_title(g->s, &out, "Passes");
        why_print_passes(&out, g->chain);
    }
    if (g->entry)
        str_printf(&out, "Tuned on %s at %s: %s\n", g->entry->key.device, g->entry->key.shapes,
                   *g->tuned ? g->tuned : "what the compiler chooses by itself");
    put_stages(g, &out);
    put_kernels(g, &out);
    put_machine_code(g, &out);
    put_measured(g, &out);
    if (g->trial) {
        put_title(g->s, &out, "Executed on the CPU");
        trial_print(&out, g->trial);
    }
    return session_write_path(g->s, NULL, out.data, out.len);
}

/* Where a disassembler is at hand. */
static void inspect(Gen *g)
{
    const AsmResult *r = g->ptxas.result;
    const char *error, *listing = r && r->ok ? inspect_text(g->s, r->cubin, r->bytes, &error) : NULL;

    g->read = listing != NULL;
    if (listing)
        inspect_compare(g->s, g->chain->ptx, listing, &g->inspected);
}

static int finish(Gen *g)
{
    const char *folder = g->s->options.output ? g->s->options.output : ".";
    int status = ptxas_begin(g->s, &g->ptxas, g->chain->ptx);

    if (!status && !g->workflow->asks && !g->tuned) /* what was measured is as it was */
        g->spared = spare_registers(g->s, &g->chain, &g->ptxas);
    if (!status)
        status = write_files(g, folder);
    if (!status && g->s->options.trial) /* while ptxas is at work */
        status = try_all(g);
    if (!status)
        status = ptxas_end(g->s, &g->ptxas, g->chain->ptx, g->ptx_path);
    if (!status)
        inspect(g);
    if (!status)
        status = write_json(g, folder);
    if (!status && !g->s->options.json) {
        session_diagnose(g->s); /* warnings */
        status = print_report(g);
    }
    if (status)
        return status;
    return (g->trial && g->trial->failed) || ptxas_failed(g->s, &g->ptxas) ? EXIT_WRONG : EXIT_DONE;
}

/* ---- a request in plain words ----------------------------------------------------------------- */

static int show(Gen *g, const Source *definition)
{
    Session *s = g->s;
    Str out = str_new(s->arena);

    if (s->options.json)
        return EXIT_DONE;
    put_title(s, &out, "Definition");
    str_addn(&out, definition->text, definition->len);
    return session_write_path(s, NULL, out.data, out.len);
}

/* The definition that a model writes for it, which all after is verified against. */
static int define(Gen *g, Source **source)
{
    Session *s = g->s;
    int status = workflow_begin(g->workflow, workflow_slug(s->arena, g->request), g->request);

    if (!status)
        status = workflow_stage(g->workflow, PROMPT_DEFINE, g->request, source);
    return status ? status : show(g, *source);
}

static int generate(Gen *g, Source *source)
{
    int status = g->request ? define(g, &source) : EXIT_DONE;

    if (!status)
        status = run_stages(g, source);
    return status ? status : finish(g);
}

static int run(Session *s, Source *source, const char *request, const char *tuned)
{
    Gen g = {.s = s, .request = request, .tuned = tuned};
    int status;

    g.chain = session_chain(s);
    if (!g.chain)
        return EXIT_USAGE;
    g.chain->keep_snapshots = s->options.trial;
    g.workflow = workflow_new(s, g.chain, &status);
    return g.workflow ? workflow_end(g.workflow, generate(&g, source)) : status;
}

int gen_source(Session *s, Source *source, const char *tuned)
{
    return run(s, source, NULL, tuned);
}

int cmd_gen(Session *s)
{
    Source *source;

    if (workflow_is_request(s))
        return run(s, NULL, s->options.files.data[0], NULL);
    source = session_read(s, 0);
    if (!source)
        return EXIT_LACKS;
    return artefact_is_tl(s, source) ? run(s, source, NULL, NULL) : EXIT_USAGE;
}
