/* cmd_ops.c: the definitions that come along. */
#include "cli/ops_folder.h"

/* The first sentence of the comment at the head of a definition says what it is. */
static const char *first_sentence(Arena *arena, const char *path)
{
    const char *error;
    Source *source = source_read(arena, path, &error);
    const char *at = source ? source->text : "";
    Str out = str_new(arena);

    while (*at == '#') {
        size_t len;

        at += strspn(at, "# ");
        len = strcspn(at, "\r\n");
        if (len == 0)
            break;
        str_add(&out, out.len ? " " : "");
        str_addn(&out, at, len);
        if (at[len - 1] == '.')
            break;
        at += len + strspn(at + len, "\r\n");
    }
    return str_text(&out);
}

static int print_one(Session *s, const char *folder, const OpsNames *names, const char *wanted)
{
    const char *near;

    for (int i = 0; i < names->len; i++) {
        Str text = str_new(s->arena);
        Source *source;

        if (strcmp(names->data[i], wanted) != 0)
            continue;
        source = session_read_path(s, arena_printf(s->arena, "%s/%s.tl", folder, wanted));
        str_addn(&text, source ? source->text : "", source ? source->len : 0);
        return source ? session_write_text(s, "definition", &text) : EXIT_LACKS;
    }
    near = nearest_name(wanted, names->data, names->len);
    if (near)
        return session_usage(s, "no operator '%s'; did you mean '%s'?", wanted, near);
    return session_usage(s, "no operator '%s'; 'tw ops' lists them", wanted);
}

int cmd_ops(Session *s)
{
    const char *folder = ops_folder(s->arena);
    OpsNames names = {0};
    Str out = str_new(s->arena);

    if (!ops_list(s->arena, folder, &names))
        return session_fail(s, EXIT_LACKS, "cannot read the folder '%s'", folder);
    if (s->options.files.len)
        return print_one(s, folder, &names, s->options.files.data[0]);
    str_add(&out, s->options.json ? "[" : "");
    for (int i = 0; i < names.len; i++) {
        const char *path = arena_printf(s->arena, "%s/%s.tl", folder, names.data[i]);
        const char *about = first_sentence(s->arena, path);

        if (!s->options.json) {
            str_printf(&out, "%-20s %s\n", names.data[i], about);
            continue;
        }
        str_add(&out, i ? ",\n {\"name\":" : "{\"name\":");
        str_json(&out, names.data[i]);
        str_add(&out, ",\"path\":");
        str_json(&out, path);
        str_add(&out, ",\"about\":");
        str_json(&out, about);
        str_addc(&out, '}');
    }
    str_add(&out, s->options.json ? "]\n" : "");
    return session_write(s, str_text(&out), out.len);
}
