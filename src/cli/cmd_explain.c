/* cmd_explain.c: what the code of a diagnostic means. */
#include "cli/cli.h"

static const char *const severities[] = {
    [SEV_ERROR] = "error", [SEV_WARNING] = "warning", [SEV_NOTE] = "note"};

static void put_json(Str *out, DiagCode code)
{
    const DiagInfo *info = diag_info(code);
    const DiagExample *example = diag_example(code);
    const DiagMend *mend = diag_mend(code);

    str_printf(out, "{\"code\":\"%s\",\"severity\":\"%s\",\"title\":", info->name,
               severities[info->severity]);
    str_json(out, info->title);
    str_add(out, ",\"why\":");
    str_json(out, info->why);
    str_add(out, ",\"example\":");
    str_json(out, example->wrong);
    str_add(out, ",\"instead\":");
    str_json(out, example->right);
    str_printf(out, ",\"edit\":%s,\"setting\":%s,\"how\":", mend->edit ? "true" : "false", mend->option ? "true" : "false");
    str_json(out, mend->how);
    str_addc(out, '}');
}

static void put_lines(Str *out, const char *heading, const char *text)
{
    str_printf(out, "\n%s\n\n", heading);
    while (*text) {
        size_t len = strcspn(text, "\n");

        str_add(out, "    ");
        str_addn(out, text, len);
        str_addc(out, '\n');
        text += len + (text[len] == '\n');
    }
}

static void put_text(Str *out, DiagCode code)
{
    const DiagInfo *info = diag_info(code);
    const DiagExample *example = diag_example(code);
    const DiagMend *mend = diag_mend(code);

    str_printf(out, "%s (%s): %s\n\n%s\n", info->name, severities[info->severity], info->title,
               info->why);
    put_lines(out, "For example:", example->wrong);
    put_lines(out, "Instead:", example->right);
    put_lines(out, mend->sure ? "The edit that is suggested, and that `tw check --fix` makes:" : mend->edit ? "The edit that is suggested:" : mend->option ? "The setting that is suggested:" : "By hand:", mend->how);
}

static int list_all(Session *s)
{
    Str out = str_new(s->arena);

    if (s->options.json)
        str_addc(&out, '[');
    for (int i = 0; i < DIAG_CODES; i++) {
        const DiagInfo *info = diag_info((DiagCode)i);

        if (s->options.json) {
            str_add(&out, i ? ",\n " : "");
            put_json(&out, (DiagCode)i);
        } else {
            str_printf(&out, "%s  %-8s %-8s %s\n", info->name, severities[info->severity],
                       diag_mend((DiagCode)i)->edit ? "edit" : diag_mend((DiagCode)i)->option ? "setting" : "by hand", info->title);
        }
    }
    if (s->options.json)
        str_add(&out, "]\n");
    return session_write(s, out.data, out.len);
}

/* The name of a code, or the one that says now what a retired one said. */
static const char *name_now(const Session *s, Str *out, const char *wanted)
{
    for (const DiagRetired *r = diag_retired(); r->name; r++) {
        if (!text_equal_nocase(r->name, wanted))
            continue;
        if (!s->options.json)
            str_printf(out, "%s is no more; what it said is now\n\n", r->name);
        return diag_info(r->now)->name;
    }
    return wanted;
}

int cmd_explain(Session *s)
{
    const char *wanted = s->options.files.len ? s->options.files.data[0] : NULL;
    Str out = str_new(s->arena);

    if (!wanted)
        return list_all(s);
    wanted = name_now(s, &out, wanted);
    for (int i = 0; i < DIAG_CODES; i++) {
        const DiagInfo *info = diag_info((DiagCode)i);

        if (!text_equal_nocase(info->name, wanted))
            continue;
        if (s->options.json)
            put_json(&out, (DiagCode)i), str_addc(&out, '\n');
        else
            put_text(&out, (DiagCode)i);
        return session_write(s, out.data, out.len);
    }
    return session_usage(s, "no diagnostic '%s'; 'tw explain' lists them", wanted);
}
