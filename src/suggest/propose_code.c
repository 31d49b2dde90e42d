/* propose_code.c: the code that lacks where a definition, or a sketch, is to be compiled.
 *
 *   Operator f ... end          Operator f ... end
 *                               Kernel f ... end        behind it: what `tw gen` makes of it
 *
 *   Kernel f                    Kernel f
 *     Grid over M                 Grid m = ceil(M / BM) in its place: what `tw reason` makes of it
 */
#include "suggest/proposal.h"

/* NULL: nothing comes of it; *asked: the sizes that lack for it, NULL: it is not for want of any. */
static const char *code_of(Suggester *s, const char *sets, const char **asked)
{
    Arena *own = arena_new(arena_heap(s->chain->arena));
    Diags *diags = diags_new(own, s->source);
    Chain *chain = chain_like(own, s->chain, diags);
    const char *text = NULL;
    bool made = true;

    for (const char *at = sets; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        made &= !chain_set(chain, arena_strndup(own, at, len));
        at += len;
    }
    made = made && (program_unit(s->program, UNIT_OPERATOR) ? chain_define(chain, s->source) && chain_fuse(chain) && chain_reason(chain, chain->sketch)
                                                   : chain_reason(chain, s->source));
    *asked = NULL;
    if (made && chain->code)
        text = arena_strndup(s->arena, chain->code->text, chain->code->len);
    else
        *asked = suggest_asked(s, diags, sets);
    arena_free(own);
    return text;
}

/* Without the comment above the first unit, which stays, and the last line's end. */
static const char *bare(Suggester *s, const char *text)
{
    while (*text == '#')
        text += strcspn(text, "\n") + 1;
    return arena_strndup(s->arena, text, strlen(text) - 1);
}

static int stop_of(const Unit *unit)
{
    return unit->end + (int)strlen("end");
}

/* Behind a definition; of sketches, in their place: start -1, where they do not stand together. */
static Span place_of_code(const Suggester *s)
{
    const Program *program = s->program;
    Span sketches = {-1, -1};

    if (s->unit->kind == UNIT_OPERATOR)
        return (Span){stop_of(s->unit), stop_of(s->unit)};
    for (int i = 0; i < program->units.len; i++) {
        const Unit *unit = program->units.data[i];
        if (unit->kind == UNIT_KERNEL)
            sketches = (Span){sketches.start < 0 ? unit->span.start : sketches.start, stop_of(unit)};
        else if (sketches.start >= 0)
            return (Span){-1, -1};
    }
    return sketches;
}

bool propose_code(Suggester *s)
{
    const char *sets = "", *asked = "", *text = NULL;
    bool definition = s->unit && s->unit->kind == UNIT_OPERATOR;

    if (!s->unit)
        return false;
    for (int i = 0; i < 3 && !text && asked; i++) {
        sets = *asked ? arena_printf(s->arena, "%s%s%s", sets, *sets ? " " : "", asked) : sets;
        text = code_of(s, sets, &asked);
    }
    if (!text || !*text)
        return false;
    const char *by = definition ? "tw gen" : "tw reason";
    const char *label = *sets ? arena_printf(s->arena, "what `%s` makes of it, of guessed sizes: %s", by, sets) : arena_printf(s->arena, "what `%s` makes of it", by);
    return suggest_edit(s, place_of_code(s), definition ? arena_printf(s->arena, "\n\n%.*s", (int)strlen(text) - 1, text) : bare(s, text), label);
}
