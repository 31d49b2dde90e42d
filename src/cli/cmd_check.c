/* cmd_check.c: diagnostics; nothing when all is well. */
#include "cli/fix.h"
#include "cli/stages.h"
#include "emu/emu.h"

#include <string.h>
#include <unistd.h>

/* Where a link leads, seen from its own folder; NULL: it is none. */
static const char *link_target(const Session *s, const char *path)
{
    char target[4096];
    const char *slash = strrchr(path, '/');
    ssize_t n = readlink(path, target, sizeof target);

    if (n <= 0 || n == (ssize_t)sizeof target)
        return NULL;
    if (target[0] == '/' || !slash)
        return arena_printf(s->arena, "%.*s", (int)n, target);
    return arena_printf(s->arena, "%.*s/%.*s", (int)(slash - path), path, (int)n, target);
}

/* The file itself is replaced, not a link to it; NULL: standard output. */
static const char *file_behind(const Session *s)
{
    const char *path = s->options.files.len ? s->options.files.data[0] : NULL;

    if (!path || strcmp(path, "-") == 0)
        return NULL;
    for (int links = 0; links < 40 && link_target(s, path); links++)
        path = link_target(s, path);
    return path;
}

static int fix_and_check(Session *s, Source *source)
{
    const char *path = file_behind(s);
    int edits, written = EXIT_DONE;
    Str diff = str_new(s->arena);

    if (artefact_of(source) != ARTEFACT_TL)
        return session_usage(s, "--fix makes edits in TL");
    Source *mended = fix_source(s, source, &edits);
    if (!mended)
        return EXIT_USAGE;
    if (s->options.dry_run && edits) {
        fix_diff(&diff, source, mended);
        written = session_write_path(s, NULL, str_text(&diff), diff.len);
    } else if (!s->options.dry_run && (edits || !path)) {
        written = session_write_path(s, path, mended->text, mended->len);
    }
    if (written != EXIT_DONE)
        return written;
    if (edits)
        fprintf(stderr, "tw: %s: %d edit%s%s\n", source->path, edits, edits == 1 ? "" : "s",
                s->options.dry_run ? ", not made" : "");
    return session_diagnose(s);
}

int cmd_check(Session *s)
{
    Source *source = session_read(s, 0);
    Chain *chain;
    Str out = str_new(s->arena);

    if (!source)
        return EXIT_LACKS;
    if (s->options.dry_run && !s->options.fix)
        return session_usage(s, "--dry-run goes with --fix");
    if (s->options.fix && s->options.json)
        return session_usage(s, "--fix writes text; --json gives the edits for a program to make");
    if (s->options.fix)
        return fix_and_check(s, source);
    chain = session_chain(s);
    if (!chain)
        return EXIT_USAGE;
    s->diags->source = source;
    switch (artefact_of(source)) {
    case ARTEFACT_TL: chain_check(chain, source, s->options.fragment); break;
    case ARTEFACT_TILE: chain_check_tile(chain, source); break;
    case ARTEFACT_PTX: emu_parse(s->arena, s->diags, source); break;
    }
    if (!s->options.json || s->diags->errors)
        return session_diagnose(s);
    str_add(&out, "{\"ok\":true");
    return session_write_json(s, &out);
}
