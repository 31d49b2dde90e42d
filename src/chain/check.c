/* check.c: what is said of a text as it stands: by the parser, the checker and the later stages, by executing Kernels
 * beside their definition (agree.h), with edits that were tried (suggest.h). */
#include "chain/agree.h"
#include "chain/beside.h"
#include "chain/sketched.h"
#include "chain/stages.h"

#include "check/check.h"
#include "lower/lower.h"

/* What only shows when tiles get their storage: whether stages are what a read
 * asks for, warps divide tiles, results meet in the same lanes. */
static bool try_compile(Chain *chain, const Program *program)
{
    chain->tile = lower(chain->arena, chain->syms, chain->aff, program, &chain->settings, chain->diags);
    return chain->tile && chain_schedule(chain) && chain_emit(chain);
}

static int count_of(const Diags *diags, DiagCode code)
{
    int n = 0;

    for (int i = 0; i < diags->list.len; i++)
        n += diags->list.data[i].code == code;
    return n;
}

static void drop_code(Diags *diags, DiagCode code)
{
    int kept = 0;

    for (int i = 0; i < diags->list.len; i++) {
        if (diags->list.data[i].code != code)
            diags->list.data[kept++] = diags->list.data[i];
        else
            diags->errors -= diag_info(code)->severity == SEV_ERROR;
    }
    diags->list.len = kept;
}

static Diag *first_of(const Diags *diags, DiagCode code, bool mended)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == code && (diags->list.data[i].fix.text != NULL) == mended)
            return &diags->list.data[i];
    return NULL;
}

/* An edit of the consequence that leaves nothing to say is one of what it came of. */
static void drop_consequence(Diags *diags, DiagCode cause, DiagCode follows, bool all)
{
    const Diag *mended = first_of(diags, follows, true);
    Diag *bare = first_of(diags, cause, false);

    if (all && mended && bare && !first_of(diags, cause, true))
        bare->fix = mended->fix;
    drop_code(diags, follows);
}

static bool begins(const Diag *d, const char *word)
{
    return d->source && strncmp(d->source->text + d->span.start, word, strlen(word)) == 0;
}

static bool kernel_made(Chain *chain, const Source *code)
{
    return chain_lower(chain, code) && chain_schedule(chain) && chain_emit(chain);
}

/* A block is closed, but not by `end`, or `return` is all that it would have held. */
static bool ends_otherwise(const Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++) {
        const Diag *d = &diags->list.data[i];
        if ((d->code == TW0101 && begins(d, "}")) || (d->code == TW0102 && begins(d, "return")))
            return true;
    }
    return false;
}

/* A block begins, but not by a word of ours. */
static bool begins_otherwise(const Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == TW0106 && (begins(&diags->list.data[i], "while") || begins(&diags->list.data[i], "def ") || begins(&diags->list.data[i], "__global__")))
            return true;
    return false;
}

/* What may well follow from something else that is wrong; mended: one edit leaves nothing to say. */
static void drop_consequences(Diags *diags, bool mended)
{
    static const struct { DiagCode cause, follows; } pairs[] = {
        {TW0733, TW0442}, /* where units are wrong, what is not used */
        {TW0444, TW0446}, /* a tile whose mask stands behind its softmax */
        {TW0723, TW0730}, /* what was not copied was not found either */
        {TW0220, TW0452}, /* a coordinate that has no value */
        {TW0402, TW0440}, /* what was to go to a tile that there is not */
        {TW0402, TW0432},
        {TW0245, TW0421}, /* what a tile operation would have left */
        {TW0232, TW0237}, /* what statements that are none of a definition's would have computed */
        {TW0238, TW0235}, /* a tensor that a line is thought to give a number */
        {TW0711, TW0414}, /* coordinates of a tensor that is another */
        {TW0711, TW0416},
        {TW0731, TW0719}, /* of parts whose size is not known */
    };

    if (ends_otherwise(diags))
        drop_code(diags, TW0105);
    if (begins_otherwise(diags))
        drop_code(diags, TW0107);
    for (size_t i = 0; i < TW_COUNT(pairs); i++)
        if (count_of(diags, pairs[i].cause))
            drop_consequence(diags, pairs[i].cause, pairs[i].follows, mended);
}

/* Errors before warnings, which may well follow from them. */
static void errors_first(Chain *chain)
{
    Diags *diags = chain->diags;
    Diag *sorted = arena_array(chain->arena, Diag, diags->list.len + 1);
    int n = 0;

    for (int warnings = 0; warnings < 2; warnings++)
        for (int i = 0; i < diags->list.len; i++)
            if ((diag_info(diags->list.data[i].code)->severity != SEV_ERROR) == (warnings == 1))
                sorted[n++] = diags->list.data[i];
    for (int i = 0; i < n; i++)
        diags->list.data[i] = sorted[i];
}

/* Whether Kernels beside the one Operator are its flow: what they read and write is its own. */
static bool are_of_definition(Chain *chain, const Program *program)
{
    const Unit *unit = program_unit(program, UNIT_OPERATOR);
    const Program *kernels = kernels_beside(chain->arena, program);
    Settings *settings = arena_new_of(chain->arena, Settings);
    Def *def;

    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == UNIT_FRAGMENT || (program->units.data[i]->kind == UNIT_OPERATOR && program->units.data[i] != unit))
            return true;
    if (!unit || !kernels)
        return true;
    settings->dtype = chain->settings.dtype;
    settings->operands = DT_BF16;
    def = def_resolve(chain->arena, chain->syms, aff_ctx_new(chain->arena), program, unit, settings, diags_new(chain->arena, chain->diags->source));
    return !def || kernels_fit(kernels, def, &chain->settings, chain->diags);
}

/* What was not understood leaves holes, of which the checker would complain a
 * second time. */
static bool check_once(Chain *chain, const Source *source, const Program *program, bool fragment)
{
    CheckOptions options = {.target = chain->target, .settings = &chain->settings, .fragment = fragment};
    bool whole = !fragment && chain->target && program_unit(program, UNIT_KERNEL), sketch = check_has_sketch(program);

    chain->settings.by_hand = !sketch;
    if (!chain->diags->errors && (!check_program(chain->arena, chain->syms, program, &options, chain->diags) ||
                                  (whole && !sketch && !try_compile(chain, program)) ||
                                  (whole && sketch && !sketch_check_code(chain->arena, chain->syms, program, chain->target,
                                                                         &chain->settings, chain->diags))))
        chain_mend(chain, source, program, kernel_made);
    if (!chain->diags->errors && whole)
        are_of_definition(chain, program);
    return !chain->diags->errors;
}

static bool check_again(Chain *chain, const Source *source, bool fragment)
{
    Program *program = chain_parse(chain, source);

    chain_choose_schedules(chain, program);
    return check_once(chain, source, kernels_complete(chain->arena, program, &chain->settings), fragment);
}

/* A tensor may have more than what is computed takes: where Kernels agree with their definition as they are, with several tiles
 * along each dimension, all is read that is to be. */
static void drop_unread(Chain *chain, const Source *source, const Program *program)
{
    Diags *diags = chain->diags;
    Arena *own;
    Chain *like;

    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code != TW0414)
            return;
    if (!diags->list.len)
        return;
    own = arena_new(arena_heap(chain->arena));
    like = chain_like(own, chain, diags_new(own, source));
    agree_check(own, like, source, program);
    if (like->executed && like->met_several && !like->diags->list.len)
        diags->list.len = 0;
    arena_free(own);
}

static const double WORK_OF_EDITS = 1e9; /* multiply-adds, some 0.8 s */

/* With what is found when Kernels are executed beside their definition. */
static bool agree_again(Chain *chain, const Source *source, bool fragment)
{
    Program *program = chain_parse(chain, source);

    chain_choose_schedules(chain, program);
    if (!check_once(chain, source, kernels_complete(chain->arena, program, &chain->settings), fragment))
        return false;
    if (chain->work_left && *chain->work_left <= 0) /* so much was tried that a check would take too long */
        return true;
    drop_unread(chain, source, program);
    Arena *own = chain->keeps_witness ? chain->arena : arena_new(arena_heap(chain->arena));
    Witness *witness = agree_check(own, chain, source, program);
    if (chain->keeps_witness)
        chain->witness = witness;
    else
        arena_free(own);
    return true;
}

/* Of Kernels that give something else than their definition; mended: there is an edit behind which they do not. */
static void suggest_differing(Chain *chain, const Source *source, const Program *program, bool mended)
{
    Arena *own = arena_new(arena_heap(chain->arena));
    double left = WORK_OF_EDITS, *before = chain->work_left;
    Witness *witness = agree_check(own, chain, source, program);

    chain->work_left = &left;
    if (witness && !mended)
        suggest_of(chain, source, program, agree_again, TW0523, witness);
    chain->work_left = before;
    arena_free(own);
}

static bool has_edit(const Diags *diags)
{
    bool any = false;

    for (int i = 0; i < diags->list.len; i++)
        any |= diags->list.data[i].fix.text != NULL;
    return any;
}

/* What is said of parts that are not read, without an edit, is less than what executing both says. */
static void say_differing(Chain *chain, const Source *source, const Program *program, bool mended)
{
    Diags *diags = chain->diags;
    int n = diags->list.len;
    Diag *unread = arena_array(chain->arena, Diag, n + 1);

    for (int i = 0; i < diags->list.len; i++) {
        unread[i] = diags->list.data[i];
        n = unread[i].code == TW0414 && !unread[i].fix.text ? n : 0;
    }
    diags->list.len = n ? 0 : diags->list.len;
    suggest_differing(chain, source, program, mended);
    for (int i = 0; i < n && !has_edit(diags); i++)
        vec_push(chain->arena, &diags->list, unread[i]);
}

bool chain_check(Chain *chain, const Source *source, bool fragment)
{
    Program *program = chain_parse(chain, source);
    double left = WORK_OF_EDITS;
    bool right, mended;

    chain->work_left = &left;
    chain_choose_schedules(chain, program);
    right = check_once(chain, source, kernels_complete(chain->arena, program, &chain->settings), fragment);
    if (right && !fragment)
        drop_unread(chain, source, program);
    mended = suggest_all(chain, source, program, check_again, fragment || !program_unit(program, UNIT_OPERATOR) || !program_unit(program, UNIT_KERNEL) ? NULL : agree_again, fragment);
    if (right && !fragment)
        say_differing(chain, source, program, mended);
    drop_consequences(chain->diags, mended);
    errors_first(chain);
    chain->work_left = NULL;
    return right;
}
