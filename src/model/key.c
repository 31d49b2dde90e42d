/* key.c: the key that a provider asks for.
 *
 * It comes from the environment or from a file that only its owner reads, and goes into
 * one header of a request and nowhere else. The variable of a provider is for the
 * provider's address alone: another server must not get it.
 */
#include "model/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 4096, SHORTEST_REDACTED = 8 };

const char MODEL_KEY_VARIABLE[] = "TW_API_KEY";

/* Takes a key without the spaces round it. False: it holds what no key does. */
static bool take(Model *model, const char *text, size_t len, const char *from)
{
    while (len && strchr(" \t\r\n", *text))
        text++, len--;
    while (len && strchr(" \t\r\n", text[len - 1]))
        len--;
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f)
            return false;
    model->net.secret.text = arena_strndup(model->arena, text, len);
    model->net.secret.from = from;
    return len > 0;
}

static bool unusable(Diags *diags, const char *from, const char *why)
{
    Diag *diag = model_record(diags, TW1003, arena_printf(diags->arena, "the key in %s is not used", from));

    diag_note(diags, diag, "%s", why);
    return false;
}

/* ---- files ------------------------------------------------------------------------------ */

static const char *file_problem(Arena *arena, int fd)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        return strerror(errno);
    if (!S_ISREG(st.st_mode))
        return "it is not a file";
    if (st.st_mode & 077)
        return arena_printf(arena, "others may read it: its mode is %03o, and must be 600",
                            (unsigned)st.st_mode & 0777);
    return NULL;
}

static bool from_file(Model *model, Diags *diags)
{
    const char *path = model->options.key_file, *problem;
    char text[LONGEST];
    ssize_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    problem = file_problem(diags->arena, fd);
    if (!problem && (len = read(fd, text, sizeof text)) < 0)
        problem = strerror(errno);
    if (!problem && (len == LONGEST || !take(model, text, (size_t)len, arena_strdup(model->arena, path))))
        problem = "it must hold the key alone, in one line";
    if (fd >= 0)
        close(fd);
    memset(text, 0, sizeof text);
    /* What is no file may be a key that was given in place of one: it is not repeated. */
    return problem ? unusable(diags, fd < 0 ? "the file of --key-file" : path, problem) : true;
}

/* ---- the environment ---------------------------------------------------------------------- */

/* The first variable of the list that is set. */
static const char *first_set(Arena *arena, const char *list, const char **value)
{
    while (*list) {
        size_t len = strcspn(list, " ");
        const char *name = arena_strndup(arena, list, len);

        *value = getenv(name);
        if (*value && **value)
            return name;
        list += len + (list[len] == ' ');
    }
    return NULL;
}

static bool no_key(const Model *model, Diags *diags)
{
    Diag *diag = model_record(diags, TW1002, arena_printf(diags->arena, "there is no key for %s", model->spec));

    diag_note(diags, diag, "set %.*s in the environment, or name a file of mode 0600 that holds it",
              (int)strcspn(model->provider->variables, " "), model->provider->variables);
    return false;
}

bool key_find(Model *model, Diags *diags)
{
    const char *list = model->net.own_address ? MODEL_KEY_VARIABLE : model->provider->variables;
    const char *value, *name;

    if (model->options.key_file)
        return from_file(model, diags);
    name = first_set(model->arena, list, &value);
    if (name)
        return take(model, value, strlen(value), name) ||
               unusable(diags, name, "it holds spaces, line ends or other characters that no key has");
    return model->net.own_address || url_is_loopback(model->net.url) || no_key(model, diags);
}

void key_forget(Secret *secret)
{
    volatile char *at = secret->text;

    while (at && *at)
        *at++ = '\0';
    secret->text = NULL;
}

/* ---- echoes --------------------------------------------------------------------------------- */

/* What stands for no key ("none", "x") is no secret, and may be a word of the answer. */
const char *key_redact(Arena *arena, const Secret *secret, const char *text)
{
    size_t len = secret->text ? strlen(secret->text) : 0;
    const char *found;
    Str out;

    if (len < SHORTEST_REDACTED || !strstr(text, secret->text))
        return text;
    out = str_new(arena);
    for (; (found = strstr(text, secret->text)); text = found + len) {
        str_addn(&out, text, (size_t)(found - text));
        str_add(&out, "[key]");
    }
    str_add(&out, text);
    return str_text(&out);
}
