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
#include "reason/reason.h"

static bool wants_a_size(DiagCode code)
{
    static const DiagCode codes[] = {TW0605, TW0607, TW0609, TW0610, TW0611, TW0612, TW0460, TW0461};

    for (size_t i = 0; i < TW_COUNT(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

static bool said(const Diags *diags, const Diag *diag)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code == diag->code && diags->list.data[i].span.start == diag->span.start)
            return true;
    return false;
}

/* Warnings of what a sketch says, not of the sizes and storage that were worked out. */
static bool warns_of_flow(DiagCode code)
{
    return code == TW0442 || code == TW0445;
}

/* Edits are left out: they would be of the code. */
static void say(Diags *diags, const Diags *of_code)
{
    for (int i = 0; i < of_code->list.len; i++) {
        const Diag *from = &of_code->list.data[i];
        bool counts = diag_info(from->code)->severity == SEV_ERROR ? !wants_a_size(from->code) : warns_of_flow(from->code);

        if (!counts || from->span.end <= from->span.start || said(diags, from))
            continue;
        Diag *to = diag_add(diags, from->code, from->span, "%s", from->message);
        to->note = from->note;
        if (!to->note && from->fix.text && strncmp(from->fix.text, "Compute ", 8) == 0) /* a line of the sketch as well */
            diag_note(diags, to, "before the loop: `%.*s`", (int)strcspn(from->fix.text, "\n"), from->fix.text);
    }
}

bool sketch_check_code(Arena *arena, Syms *syms, const Program *sketch, const Target *target, Settings *settings, Diags *diags)
{
    Diags *quiet = diags_new(arena, diags->source);
    ReasonOptions reasoning = {.target = target, .settings = settings, .dtype = settings->dtype};
    ReasonResult *result = reason(arena, syms, kernels_beside(arena, sketch), &reasoning, quiet);
    CheckOptions checking = {.target = target, .settings = settings};
    int before = diags->errors;

    if (result)
        check_program(arena, syms, result->code, &checking, quiet);
    say(diags, quiet);
    return diags->errors == before;
}
