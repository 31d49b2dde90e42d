/* sketched.c: what would be said of a sketch's code, said of the sketch.
 *
 * A sketch is checked loosely, since it has no sizes. What only shows in its code (a tile that
 * is read before anything wrote it, a shape that does not fit, an operation that there is not)
 * is found by working the code out and checking that: its statements bear the places of those
 * that they are made of. What merely wants a size, or another one, is no mistake of the sketch.
 */
#include "chain/sketched.h"

#include "chain/chain.h"
#include "check/check.h"
#include "lower/lower.h"
#include "reason/reason.h"

enum { MOST_ASKED = 4 }; /* rounds in which sizes are asked for */

static bool wants_a_size(DiagCode code)
{
    static const DiagCode codes[] = {TW0605, TW0108, TW0609, TW0610, TW0611, TW0612, TW0460, TW0461};

    for (size_t i = 0; i < TW_COUNT(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* Of positions one is enough: one that is another than was meant may be the same as the next. */
static bool said(const Diags *diags, const Diag *diag, Span span)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == diag->code && (diag->code == TW0250 || diags->list.data[i].span.start == span.start))
            return true;
    return false;
}

/* Warnings of what a sketch says, not of the sizes and storage that were worked out. */
static bool warns_of_flow(DiagCode code)
{
    return code == TW0250 || code == TW0416 || code == TW0424 || code == TW0442 || code == TW0445 || code == TW0448 || code == TW0449;
}

/* The reasoner's edits are of the sketch; others are left out, since they would be of the code. What is said of a place that
 * the code alone has is said of the Kernel, if nothing else is: it may follow from that. */
static void say(Diags *diags, const Diags *of_code, Span of_kernel)
{
    int before = diags->list.len;

    for (int i = 0; i < of_code->list.len; i++) {
        const Diag *from = &of_code->list.data[i];
        bool counts = diag_info(from->code)->severity == SEV_ERROR ? !wants_a_size(from->code) : warns_of_flow(from->code);

        Span span = from->span.end > from->span.start ? from->span : of_kernel;

        if (!counts || said(diags, from, span) || (span.start == of_kernel.start && diags->list.len > before))
            continue;
        bool place = from->code == TW0424; /* said in the code's names */
        Diag *to = diag_add(diags, from->code, span, "%s",
                            place ? "row() and col() are places in a tile, which begins elsewhere in each block or turn" : from->message);
        to->note = place ? "the place along a dimension is that of an Index: `Index i over DIM`, and i" : from->note;
        if (from->code >= TW0601 && from->code < TW0711)
            to->fix = from->fix;
        else if (!to->note && from->fix.text && strncmp(from->fix.text, "Compute ", 8) == 0) /* a line of the sketch as well */
            diag_note(diags, to, "before the loop: `%.*s`", (int)strcspn(from->fix.text, "\n"), from->fix.text);
    }
}

/* What shows when code is lowered: sums in units of different maxima, tensors that kernels declare differently. */
static void lower_quietly(Arena *arena, Syms *syms, const Program *code, Settings *settings, Diags *diags)
{
    Diags *own = diags_new(arena, diags->source);

    lower(arena, syms, aff_ctx_new(arena), code, settings, own);
    for (int i = 0; i < own->list.len; i++) {
        const Diag *from = &own->list.data[i];
        if (diag_info(from->code)->severity == SEV_ERROR || from->code == TW0449) {
            Diag *to = diag_add(diags, from->code, from->span, "%s", from->message);
            to->note = from->note;
        }
    }
}

const char *sketch_asked_size(Arena *arena, const Diag *diag)
{
    static const char words[] = "--set ";
    const char *at = diag->code == TW0605 ? strstr(diag->message, words) : NULL;

    return at ? arena_strndup(arena, at + strlen(words), strcspn(at + strlen(words), "=")) : NULL;
}

/* With some size for each that is asked for, a small one, for which there is room; NULL: none is. */
static Settings *with_asked(Arena *arena, const Settings *settings, const Diags *diags)
{
    Settings *with = arena_new_of(arena, Settings);
    bool any = false;

    with->dtype = settings->dtype;
    with->operands = settings->operands;
    for (int i = 0; i < settings->list.len; i++)
        vec_push(arena, &with->list, settings->list.data[i]);
    for (int i = 0; i < diags->list.len; i++) {
        const char *size = sketch_asked_size(arena, &diags->list.data[i]);
        if (size)
            any |= !settings_add(arena, with, arena_printf(arena, "%s=64", size));
    }
    return any ? with : NULL;
}

/* Operands and results that do not go together with other sizes either. */
static bool whatever_the_sizes(DiagCode code)
{
    return code == TW0320 || code == TW0321 || code == TW0322 || code == TW0323 || code == TW0407 || code == TW0602 || code == TW0604 || code == TW0606 || code == TW0711;
}

static Span first_kernel(const Program *sketch)
{
    const Unit *kernel = program_unit(sketch, UNIT_KERNEL);

    return kernel ? kernel->name_span : (Span){0, 0};
}

/* What a sketch is warned of whose sizes nobody has given yet: its flow is the same with others. */
static void say_of_flow(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *reasoning, const Diags *asked, Diags *diags)
{
    ReasonOptions options = *reasoning;
    Diags *quiet = diags_new(arena, diags->source), *flow = diags_new(arena, diags->source);
    CheckOptions checking = {.target = reasoning->target};
    ReasonResult *result = NULL;

    for (int i = 0; i < MOST_ASKED && !result && asked && (options.settings = with_asked(arena, options.settings, asked)); i++) {
        quiet = diags_new(arena, diags->source);
        result = reason(arena, syms, kernels_beside(arena, sketch), &options, quiet);
        asked = quiet;
    }
    checking.settings = options.settings;
    if (result && check_program(arena, syms, result->code, &checking, quiet))
        lower_quietly(arena, syms, result->code, options.settings, quiet);
    for (int i = 0; i < quiet->list.len; i++)
        if (diag_info(quiet->list.data[i].code)->severity != SEV_ERROR || whatever_the_sizes(quiet->list.data[i].code))
            vec_push(arena, &flow->list, quiet->list.data[i]);
    say(diags, flow, first_kernel(sketch));
}

bool sketch_check_code(Arena *arena, Syms *syms, const Program *sketch, const Target *target, Settings *settings, Diags *diags)
{
    Diags *quiet = diags_new(arena, diags->source);
    ReasonOptions reasoning = {.target = target, .settings = settings, .dtype = settings->dtype};
    ReasonResult *result = reason(arena, syms, kernels_beside(arena, sketch), &reasoning, quiet);
    CheckOptions checking = {.target = target, .settings = settings};
    int before = diags->errors;

    if (result && check_program(arena, syms, result->code, &checking, quiet))
        lower_quietly(arena, syms, result->code, settings, quiet);
    say(diags, quiet, first_kernel(sketch));
    if (!result && diags->errors == before)
        say_of_flow(arena, syms, sketch, &reasoning, quiet, diags);
    return diags->errors == before;
}
