/* names.c: the names of a definition, one scope, found by their text.
 *
 * A definition has few names and the lists are bounded, so they are searched
 * from end to end.
 */
#include "ref/resolve.h"

#include "lang/schedule.h"

static const char *const kind_texts[] = {
    [NAME_DIM] = "a dimension", [NAME_PARAM] = "a Param", [NAME_LET] = "a Let",
    [NAME_INDEX] = "an Index", [NAME_TENSOR] = "a tensor",
};

const char *res_kind_text(const Name *name)
{
    return kind_texts[name->kind];
}

Name *res_find(const Resolver *r, const char *name)
{
    for (int i = 0; i < r->names.len; i++)
        if (text_equal(r->names.data[i]->name, name))
            return r->names.data[i];
    return NULL;
}

/* Notes where a name was declared first. */
static void note_place(Resolver *r, Diag *diag, const Name *first)
{
    int line, column;

    if (!r->diags->source)
        return;
    source_place(r->diags->source, first->span.start, &line, &column);
    diag_note(r->diags, diag, "it is %s, declared at line %d, column %d%s", res_kind_text(first), line, column,
              first->kind == NAME_LET ? "; `=` names numbers, tensors are computed by `Compute OP ... and get X`" : "");
}

bool res_too_long(Resolver *r, Span span, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!r->too_long)
        diag_add(r->diags, TW0108, span, "%s", arena_vprintf(r->arena, fmt, args));
    va_end(args);
    r->too_long = true;
    return false;
}

Name *res_declare(Resolver *r, NameKind kind, const char *text, Span span)
{
    Name *name = res_find(r, text);

    if (name) {
        note_place(r, diag_add(r->diags, TW0231, span, "%s is declared twice", text), name);
        return NULL;
    }
    if (r->names.len == RES_MAX_NAMES) {
        res_too_long(r, span, "more than %d names in one definition", RES_MAX_NAMES);
        return NULL;
    }
    name = arena_new_of(r->arena, Name);
    name->name = text;
    name->kind = kind;
    name->span = span;
    if (kind == NAME_DIM || kind == NAME_PARAM)
        name->setting = settings_find(r->settings, text);
    if (name->setting)
        name->setting->used = true;
    vec_push(r->arena, &r->names, name);
    return name;
}

bool res_enter(Resolver *r, Name *name, Span use)
{
    if (name->busy)
        diag_add(r->diags, TW0238, use, "the value of %s depends on itself", name->name);
    else if (r->nesting >= RES_MAX_NESTING)
        res_too_long(r, use, "names stand for names more than %d deep", RES_MAX_NESTING);
    name->bad |= name->busy || r->nesting >= RES_MAX_NESTING;
    if (name->bad)
        return false;
    name->busy = true;
    r->nesting++;
    return true;
}

void res_leave(Resolver *r, Name *name)
{
    name->busy = false;
    r->nesting--;
}

/* ---- what was meant -------------------------------------------------------------- */

/* A word of the list that `name` may have been meant to be, or NULL. */
static const char *nearest_word(const char *name, const char *const *words, int n)
{
    size_t len = strlen(name); /* of one letter any other is as near, and to one any of two */
    int limit = len < 2 ? 0 : len <= 3 ? 1 : 2, best = limit + 1;
    const char *found = NULL;

    for (int i = 0; i < n; i++) {
        int distance = name_distance(name, words[i], limit);

        if (distance < best && (distance == 0 || words[i][1])) {
            best = distance;
            found = words[i];
        }
    }
    return found;
}

static const char *nearest_name(const Resolver *r, const char *name)
{
    const char *words[RES_MAX_NAMES];

    for (int i = 0; i < r->names.len; i++)
        words[i] = r->names.data[i]->name;
    return nearest_word(name, words, r->names.len);
}

void res_undefined(Resolver *r, const char *name, Span span)
{
    const char *meant = nearest_name(r, name);
    Diag *diag = diag_add(r->diags, TW0230, span, "%s is not defined%s", name,
                          meant ? arena_printf(r->arena, "; did you mean %s?", meant) : "");

    if (meant)
        diag_fix(r->diags, diag, span, meant, "write the name that is defined");
}

/* ---- settings ---------------------------------------------------------------------- */

static const char *settable_near(const Resolver *r, const char *name)
{
    const char *words[RES_MAX_NAMES];
    int n = 0;

    for (int i = 0; i < r->names.len; i++)
        if (r->names.data[i]->kind == NAME_DIM || r->names.data[i]->kind == NAME_PARAM)
            words[n++] = r->names.data[i]->name;
    return nearest_word(name, words, n);
}

static bool set_again_later(const Resolver *r, int index)
{
    return settings_find(r->settings, r->settings->list.data[index].name) != &r->settings->list.data[index];
}

/* A choice of the reasoner, for one of several kernels perhaps. */
static bool is_choice(const char *name)
{
    const char *point = strchr(name, '.');

    return sched_is_size(point ? point + 1 : name);
}

/* Whether a Kernel beside the definition has a Param, a size or an assignment of the name. */
static bool is_of_kernel(const Program *program, const char *name)
{
    for (int i = 0; i < program->units.len; i++) {
        const Unit *unit = program->units.data[i];

        for (int k = 0; unit->kind == UNIT_KERNEL && k < unit->body.len; k++) {
            const Stmt *s = unit->body.data[k];
            bool named = s->kind == STMT_PARAM || s->kind == STMT_ASSIGN;

            if (named && s->name && strcmp(s->name, name) == 0)
                return true;
            for (int d = 0; d < s->n_shape && (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT); d++)
                if (expr_is_name(s->shape[d], name))
                    return true;
        }
    }
    return false;
}

void res_unused_settings(Resolver *r)
{
    Str schedule = str_new(r->arena);

    sched_numbers_text(&schedule);
    str_add(&schedule, ", splits, fold, apart) and of the passes: ");
    sched_text(&schedule);
    for (int i = 0; i < r->settings->list.len; i++) {
        const Setting *setting = &r->settings->list.data[i];
        const Name *name = res_find(r, setting->name);
        const char *meant = settable_near(r, setting->name);

        if (setting->used || set_again_later(r, i) || (!name && (is_choice(setting->name) || is_of_kernel(r->program, setting->name))))
            continue;
        if (name && name->kind != NAME_DIM && name->kind != NAME_PARAM)
            diag_add(r->diags, TW0210, r->unit->name_span,
                     "%s is %s of %s; only a dimension or a Param can be set", setting->name,
                     res_kind_text(name), r->unit->name);
        else
            diag_note(r->diags,
                      diag_add(r->diags, TW0210, r->unit->name_span, "%s has no dimension or Param %s%s",
                               r->unit->name, setting->name,
                               meant ? arena_printf(r->arena, "; did you mean %s?", meant) : ""),
                      "besides those there are the choices of the reasoner (sizes of tiles, %s", str_text(&schedule));
    }
}
