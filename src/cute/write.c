/* write.c: lines of C++. */
#include "cute/emit.h"

static void line(Cute *c, const char *fmt, va_list args)
{
    for (int i = 0; i < c->depth; i++) str_add(c->out, "    ");
    str_vprintf(c->out, fmt, args);
    str_addc(c->out, '\n');
}

void cu_line(Cute *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    line(c, fmt, args);
    va_end(args);
}

void cu_open(Cute *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    line(c, fmt, args);
    va_end(args);
    c->depth++;
}

void cu_close(Cute *c, const char *text)
{
    c->depth--;
    cu_line(c, "%s", text);
}

/* The line of TL that an operation comes from, once for all operations that come from it. */
void cu_comment(Cute *c, const TileOp *op)
{
    const Source *source = c->program->source;
    if (!source || op->loc.end <= 0 || (size_t)op->loc.start >= source->len) return;
    const char *from = source->text + op->loc.start, *to = from;
    while (from > source->text && from[-1] != '\n') from--;
    while (*from == ' ' || *from == '\t') from++;
    if (from == c->statement) return;
    c->statement = from;
    while (*to && *to != '\n' && *to != '\r') to++;
    if (c->out->len < 2 || !strchr("{\n", c->out->data[c->out->len - 2])) str_addc(c->out, '\n');
    /* a backslash at its end would make the next line a comment as well */
    bool joins = to > from && to[-1] == '\\';
    cu_line(c, "// %.*s%s", (int)(to - from), from, joins ? " ." : "");
}
