/* on_gpu.c: variants of an operator on the GPU of this machine.
 *
 * An image is the PTX and, once somebody has compiled it, machine code:
 *
 *   length of the PTX (8 bytes), the PTX, 0, the cubin
 *
 * Where ptxas is at hand it compiles while variants are made, several at a time;
 * else the driver does, in the processes that check, and hands the cubin on.
 */
#include "tune/on_gpu.h"

/* ---- images -------------------------------------------------------------------------- */

static void put_image(Str *image, const char *ptx, const char *cubin, size_t bytes)
{
    uint64_t len = strlen(ptx);

    str_addn(image, (const char *)&len, sizeof len);
    str_addn(image, ptx, len + 1);
    if (bytes)
        str_addn(image, cubin, bytes);
}

typedef struct Image {
    const char *ptx, *cubin; /* cubin NULL: none */
} Image;

static bool read_image(const TuneVariant *v, Image *image)
{
    uint64_t len;

    if (v->image_len < sizeof len + 1)
        return false;
    memcpy(&len, v->image, sizeof len);
    if (len > v->image_len - sizeof len - 1)
        return false;
    *image = (Image){v->image + sizeof len, NULL};
    if (v->image_len > sizeof len + len + 1)
        image->cubin = v->image + sizeof len + len + 1;
    return true;
}

/* ---- what the assembler thinks ------------------------------------------------------------ */

/* The entry that aligned tensors take: the one that is tuned. */
static bool is_fast(const Abi *abi, const char *entry)
{
    for (int i = 0; entry && i < abi->kernels.len; i++)
        if (strcmp(abi->kernels.data[i].fast.name, entry) == 0)
            return true;
    return false;
}

/* TUNE_MADE: nothing that is spilled or serialised (ptxas' advisories C7510 and on). */
static TuneFate judge_log(Arena *arena, const Abi *abi, const AsmEntries *entries, const AsmNotes *notes, const char **problem)
{
    for (int i = 0; i < entries->len; i++) {
        const AsmEntry *e = &entries->data[i];
        int spilled = e->spill_stores + e->spill_loads;

        if (!is_fast(abi, e->name) || !spilled)
            continue;
        *problem = arena_printf(arena, "%d bytes in %s", spilled, e->name);
        return TUNE_SPILLED;
    }
    for (int i = 0; i < notes->len; i++) {
        const AsmNote *note = &notes->data[i];

        if (strncmp(note->code, "C751", 4) != 0 || (note->entry && !is_fast(abi, note->entry)))
            continue;
        *problem = note->text;
        return TUNE_SERIALISED;
    }
    return TUNE_MADE;
}

/* ---- making --------------------------------------------------------------------------------- */

const char *tune_set_all(Chain *chain, const char *settings)
{
    const char *error = NULL;

    for (const char *at = settings; *at && !error;) {
        size_t len = strcspn(at, " ");

        error = chain_set(chain, arena_strndup(chain->arena, at, len));
        at += len + strspn(at + len, " ");
    }
    return error;
}

static const char *set_given(const TuneGpu *g, Chain *chain)
{
    const char *error = NULL;

    for (int i = 0; i < g->n_sets && !error; i++)
        error = chain_set(chain, g->sets[i]);
    for (int i = 0; i < g->n_binds && !error; i++)
        error = chain_run_with(chain, g->binds[i]);
    return error;
}

static const char *why_not(const Chain *chain)
{
    for (int i = 0; i < chain->diags->list.len; i++)
        if (diag_info(chain->diags->list.data[i].code)->severity == SEV_ERROR)
            return chain->diags->list.data[i].message;
    return chain->failure ? chain->failure : "it does not compile";
}

/* NULL: why not is in *problem. */
static Chain *compile(const TuneGpu *g, Arena *arena, const char *settings, const char **problem)
{
    Diags *diags = diags_new(arena, g->source);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags, g->target, g->dtype);

    *problem = set_given(g, chain);
    if (!*problem)
        *problem = tune_set_all(chain, settings);
    if (*problem)
        return NULL;
    if (chain_make(chain, g->source))
        return chain;
    *problem = why_not(chain);
    return NULL;
}

static void find_what_matters(const TileProgram *program, bool *matters)
{
    for (int k = 0; k < program->kernels.len; k++)
        for (int v = SCHED_AUTO + 1; v < SCHED_VALUES; v++) {
            SchedValue decided = program->kernels.data[k]->decided.value[sched_of((SchedValue)v)];

            matters[v] |= decided != SCHED_AUTO && decided != (SchedValue)v;
        }
}

void tune_gpu_neighbours(const TuneGpu *g, Arena *arena, const char *settings, TuneVariants *list)
{
    Arena *own = arena_new(arena_heap(arena));
    bool matters[SCHED_VALUES] = {false};
    const char *problem;
    Chain *chain = compile(g, own, settings, &problem);

    if (chain)
        find_what_matters(chain->tile, matters);
    tune_neighbours(arena, settings, chain ? matters : NULL, list);
    arena_free(own);
}

static TuneFate assemble(const TuneGpu *g, Arena *arena, const Chain *chain, Str *image, const char **problem)
{
    const AsmSpec spec = {.name = chain->ptx->path, .ptx = chain->ptx->text, .len = chain->ptx->len, .target = g->machine};
    const AsmResult *result = asm_result(asm_start(arena, g->ptxas, &spec));

    if (!result->ok) {
        *problem = result->problem;
        return TUNE_INVALID;
    }
    put_image(image, chain->ptx->text, result->cubin, result->bytes);
    return judge_log(arena, chain->abi, &result->entries, &result->notes, problem);
}

static TuneFate make(void *user, Arena *arena, const char *settings, Str *image, const char **problem)
{
    const TuneGpu *g = user;
    const Chain *chain = compile(g, arena, settings, problem);

    if (!chain)
        return TUNE_INVALID;
    if (g->ptxas)
        return assemble(g, arena, chain, image, problem);
    put_image(image, chain->ptx->text, NULL, 0);
    return TUNE_MADE;
}

/* ---- modules -------------------------------------------------------------------------------- */

static Abi *read_abi(Arena *arena, const char *ptx, const char **problem)
{
    Source *source = arena_new_of(arena, Source);
    Diags *diags;
    Abi *abi;

    *source = (Source){"a variant", ptx, strlen(ptx)};
    diags = diags_new(arena, source);
    abi = abi_from_ptx(arena, syms_new(arena), aff_ctx_new(arena), source, diags);
    *problem = abi ? NULL : diags->list.len ? diags->list.data[0].message : "its PTX has no launch ABI";
    return abi;
}

/* The driver's compiler says the same as ptxas. */
static TuneFate compile_here(Gpu *gpu, Arena *arena, const Abi *abi, Image *image, Str *better, const char **problem)
{
    const char *log, *cubin;
    AsmEntries entries = {0};
    AsmNotes notes = {0};
    size_t bytes = 0;

    if (image->cubin || !gpu_compile(gpu, image->ptx, &cubin, &bytes, &log, problem))
        return TUNE_MADE; /* a driver without a compiler apart compiles when it loads */
    image->cubin = cubin;
    put_image(better, image->ptx, cubin, bytes);
    asm_read_log(arena, log ? log : "", &entries, &notes);
    return judge_log(arena, abi, &entries, &notes, problem);
}

/* A cubin is given in the PTX' place: it is of this device, whoever compiled it. */
static GpuModule *load(Gpu *gpu, const Abi *abi, const Image *image, GpuLoaded *loaded, const char **problem)
{
    const GpuImage from = {.ptx = image->cubin ? image->cubin : image->ptx};

    return gpu_load_image(gpu, abi, &from, loaded, problem);
}

/* What gpu/judge.c found of the entries that are tuned. */
static TuneFate judge_module(Arena *arena, const GpuLoaded *loaded, const Abi *abi, const char **problem)
{
    for (int i = 0; i < loaded->made.len; i++) {
        const GpuMade *made = &loaded->made.data[i];

        if (made->as_meant || !is_fast(abi, made->entry))
            continue;
        *problem = made->advisory ? made->advisory : arena_printf(arena, "%d bytes of local memory in %s", made->local, made->entry);
        return made->advisory ? TUNE_SERIALISED : TUNE_SPILLED;
    }
    return TUNE_MADE;
}

/* ---- checking ---------------------------------------------------------------------------------- */

static TuneFate verify(const TuneGpu *g, Gpu *gpu, GpuModule *module, Arena *arena, const char **problem)
{
    VerifyOptions options = {.bindings = g->shape, .n_bindings = g->n_shape, .quick = true, .seed = g->seed, .bound = g->bound};
    VerifyReport report;

    if (!gpu_verify(gpu, module, g->def, &options, &report, problem))
        return TUNE_FAILED;
    for (int i = 0; i < report.cases.len; i++) {
        const VerifyCase *c = &report.cases.data[i];

        if (c->ok)
            continue;
        *problem = arena_printf(arena, "%s: %s", c->what, c->problem ? c->problem : "its error is too large");
        return TUNE_WRONG;
    }
    return TUNE_SOUND;
}

/* One that spills goes on to be checked: it may be the untuned one (search.c). */
static TuneFate check_on(const TuneGpu *g, Gpu *gpu, Arena *arena, const TuneVariant *v, Str *better, const char **problem)
{
    Image image;
    const Abi *abi = read_image(v, &image) ? read_abi(arena, image.ptx, problem) : NULL;
    TuneFate fate = abi ? compile_here(gpu, arena, abi, &image, better, problem) : TUNE_FAILED, verdict;
    GpuLoaded loaded = {0};
    GpuModule *module = abi ? load(gpu, abi, &image, &loaded, problem) : NULL;
    const char *why = *problem;

    if (!module)
        return TUNE_FAILED;
    if (fate == TUNE_MADE)
        fate = judge_module(arena, &loaded, abi, &why);
    if (fate != TUNE_MADE && *v->settings) {
        *problem = why;
        return fate;
    }
    verdict = verify(g, gpu, module, arena, problem);
    return verdict;
}

static TuneFate check(void *user, Arena *arena, const TuneVariant *v, Str *better, const char **problem)
{
    const TuneGpu *g = user;
    Gpu *gpu = gpu_open(arena, problem);

    if (!gpu)
        return TUNE_FAILED;
    gpu_set_patience(gpu, g->patience);
    *problem = NULL;
    return check_on(g, gpu, arena, v, better, problem);
}

/* ---- timing -------------------------------------------------------------------------------------- */

typedef struct Entrant {
    const TuneVariant *variant;
    bool entered;
} Entrant;

typedef struct Opened {
    const TuneGpu *g;
    Arena *arena;
    Gpu *gpu;
    GpuRace *race;
    Entrant *entrants;
} Opened;

const char *tune_gpu_prepare(Arena *arena, TuneGpu *g)
{
    const char *error = NULL;

    g->inputs = arena_array(arena, Tensor *, g->def->inputs.len + 1);
    g->outputs = arena_array(arena, Tensor *, g->def->outputs.len + 1);
    return ref_make_tensors(arena, g->def, g->shape, g->n_shape, FILL_NORMAL, g->seed, g->inputs, g->outputs, &error) ? NULL : error;
}

static void *open_race(void *user, Arena *arena, TuneVariant *const *variants, int n, const char **problem)
{
    Opened *o = arena_new_of(arena, Opened);

    *o = (Opened){.g = user, .arena = arena, .gpu = gpu_open(arena, problem), .entrants = arena_array(arena, Entrant, n + 1)};
    if (!o->gpu)
        return NULL;
    gpu_set_patience(o->gpu, o->g->patience);
    o->race = gpu_race_open(o->gpu, o->g->def, o->g->shape, o->g->n_shape, o->g->inputs, o->g->outputs, n);
    for (int i = 0; i < n; i++)
        o->entrants[i].variant = variants[i];
    return o;
}

/* How far apart two right results may lie: they round at other places. */
static double tolerance(const Def *def)
{
    double coarsest = 0;

    for (int i = 0; i < def->inputs.len; i++)
        if (dtype_is_float(def->inputs.data[i]->dtype) && dtype_epsilon(def->inputs.data[i]->dtype) > coarsest)
            coarsest = dtype_epsilon(def->inputs.data[i]->dtype);
    return 4 * coarsest > 0.02 ? 4 * coarsest : 0.02;
}

/* Loads it, and runs it once at the very shape: what the small ones do not show. */
static TuneFate enter(Opened *o, int i, const char **problem)
{
    Image image;
    GpuLoaded loaded;
    double distance;
    const Abi *abi = read_image(o->entrants[i].variant, &image) ? read_abi(o->arena, image.ptx, problem) : NULL;
    GpuModule *module = abi ? load(o->gpu, abi, &image, &loaded, problem) : NULL;

    if (!module || !gpu_race_enter(o->race, i, module, problem) || !gpu_race_compare(o->race, i, &distance, problem))
        return TUNE_FAILED;
    if (!(distance <= tolerance(o->g->def))) {
        *problem = arena_printf(o->arena, "at the shape itself its outputs differ from the first one's by %.2g", distance);
        return TUNE_WRONG;
    }
    o->entrants[i].entered = true;
    return TUNE_TIMED;
}

static TuneFate time_one(void *opened, int i, double *ms, const char **problem)
{
    Opened *o = opened;
    TuneFate fate = o->entrants[i].entered ? TUNE_TIMED : enter(o, i, problem);

    if (fate != TUNE_TIMED)
        return fate;
    return gpu_race_time(o->race, i, ms, problem) ? TUNE_TIMED : TUNE_FAILED;
}

TuneDevice tune_on_gpu(TuneGpu *g)
{
    return (TuneDevice){.user = g, .make = make, .check = check, .open = open_race, .time = time_one};
}
