/* main.c: the command line's first word, and what the process returns.
 *
 *   0  done
 *   1  the program, or its result, is wrong
 *   2  wrong usage
 *   3  the environment lacks something: a file, memory, a GPU
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

const Command commands[] = {
#define COMMAND(id, summary, arguments, options, files, help) \
    {#id, summary, arguments, options, files, help, cmd_##id},
#include "cli/commands.def"
#undef COMMAND
    {0},
};

static const Command *find_command(const char *name)
{
    for (const Command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static const char *overview(Session *s)
{
    Str out = str_new(s->arena);

    str_add(&out, "tw turns an operator's definition into a verified GPU kernel.\n\n"
                  "Usage: tw COMMAND [options] [FILE]\n\n");
    for (const Command *c = commands; c->name; c++)
        str_printf(&out, "  %-10s %s\n", c->name, c->summary);
    str_add(&out, "\nFiles default to standard input and output. 'tw COMMAND --help' says more.\n"
                  "Exit status: 0 done, 1 the program or its result is wrong, 2 wrong usage,\n"
                  "3 the environment lacks something.\n");
    return str_text(&out);
}

static int help(Session *s, const Command *command)
{
    Str out = str_new(s->arena);

    str_printf(&out, "tw %s: %s\n\nUsage: tw %s [options]%s%s\n\n%s\nOptions:\n", command->name,
               command->summary, command->name, *command->arguments ? " " : "",
               command->arguments, command->help);
    options_help(&out, command->options);
    return session_write_path(s, NULL, out.data, out.len);
}

int cmd_help(Session *s)
{
    const char *text;

    if (s->options.files.len) {
        const Command *command = find_command(s->options.files.data[0]);

        if (!command)
            return session_usage(s, "no command '%s'", s->options.files.data[0]);
        return help(s, command);
    }
    text = overview(s);
    return session_write_path(s, NULL, text, strlen(text));
}

static int unknown_command(Session *s, const char *name)
{
    const char *names[32];
    const char *near;
    int n = 0;

    for (const Command *c = commands; c->name && n < (int)TW_COUNT(names); c++)
        names[n++] = c->name;
    near = nearest_name(name, names, n);
    if (near)
        return session_usage(s, "no command '%s'; did you mean '%s'?", name, near);
    return session_usage(s, "no command '%s'", name);
}

static bool wants_colour(When colour, int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (colour != WHEN_AUTO)
        return colour == WHEN_ALWAYS;
    return isatty(fd) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

static int run_command(Session *s, const Command *command, int argc, char **argv)
{
    s->command = command->name;
    if (!options_parse(s, command, argc, argv))
        return EXIT_USAGE;
    s->colour_err = wants_colour(s->options.colour, STDERR_FILENO);
    s->colour_out = !s->options.output && wants_colour(s->options.colour, STDOUT_FILENO);
    if (s->options.help)
        return help(s, command);
    return command->run(s);
}

static int dispatch(Session *s, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    const Command *command;

    if (!word) {
        fputs(overview(s), stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return cmd_help(s);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return session_write_path(s, NULL, "tw " TW_VERSION "\n", strlen("tw " TW_VERSION "\n"));
    if (*word == '-')
        return session_usage(s, "unknown option '%s' before a command", word);
    command = find_command(word);
    if (!command)
        return unknown_command(s, word);
    return run_command(s, command, argc - 1, argv + 1);
}

/* A descriptor that the caller closed would be given to the next file opened,
 * and what is meant for a terminal would end up in it. Such a one is made to
 * fail instead: standard input cannot be read, the others cannot be written. */
static void occupy_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
            _exit(EXIT_LACKS);
}

static void session_start(Session *s)
{
    s->started = clock_seconds();
    s->arena = arena_new(&s->heap);
    s->syms = syms_new(s->arena);
    s->aff = aff_ctx_new(s->arena);
    s->diags = diags_new(s->arena, NULL);
    s->options.target = target_default();
    s->options.dtype = DT_BF16;
    s->options.seed = 1;
    s->options.bound = 2;
    s->options.steps = 1e11;
    s->options.rounds = 20;
    s->options.time = 20;
    s->options.top = 16;
    s->colour_err = wants_colour(WHEN_AUTO, STDERR_FILENO);
}

int main(int argc, char **argv)
{
    static Session session;
    jmp_buf oom;
    int status;

    occupy_standard_files();
    session.heap.on_oom = &oom;
    if (setjmp(oom)) {
        fputs("tw: error: out of memory\n", stderr);
        heap_drop(&session.heap);
        return EXIT_LACKS;
    }
    session_start(&session);
    status = dispatch(&session, argc, argv);
    session_progress_end(&session);
    arena_free(session.arena);
    return status;
}
