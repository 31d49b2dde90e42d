/* cmd_ops.c: the definitions that come along. */
#include "cli/cli.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

/* The folder that the running program lies in, or NULL. */
static const char *program_folder(Arena *arena)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    if (len <= 0)
        return NULL;
    path[len] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    return arena_strndup(arena, path, (size_t)(slash - path));
}

static const char *ops_folder(Arena *arena)
{
    static const char *const beside[] = {"../share/tilewright/ops", "../ops", "../../ops"};
    const char *own = getenv("TW_OPS"), *base;

    if (own && *own)
        return own;
    base = program_folder(arena);
    for (size_t i = 0; base && i < TW_COUNT(beside); i++) {
        const char *folder = arena_printf(arena, "%s/%s", base, beside[i]);

        if (access(folder, R_OK | X_OK) == 0)
            return folder;
    }
    return "ops";
}

typedef VEC(const char *) Names;

/* Names of files that end in .tl, without it, sorted. */
static bool list_names(Arena *arena, const char *folder, Names *names)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    if (!dir)
        return false;
    while ((entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        const char *name;
        int at;

        if (len <= 3 || *entry->d_name == '.' || strcmp(entry->d_name + len - 3, ".tl") != 0)
            continue;
        name = arena_strndup(arena, entry->d_name, len - 3);
        vec_push(arena, names, name);
        for (at = names->len - 1; at > 0 && strcmp(names->data[at - 1], name) > 0; at--)
            names->data[at] = names->data[at - 1];
        names->data[at] = name;
    }
    closedir(dir);
    return true;
}

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

static int print_one(Session *s, const char *folder, const Names *names, const char *wanted)
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
    Names names = {0};
    Str out = str_new(s->arena);

    if (!list_names(s->arena, folder, &names))
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
