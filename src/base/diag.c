/* diag.c: diagnostics, recorded, printed in the style of clang, and as JSON.
 *
 *   ops/a.tl:3:17: error: operand K is (BN, D) and must be (D, BN) [TW0410]
 *       3 | Compute GEMM Q, K and get S
 *         |                 ^
 *         |                 K.T
 *         note: S is (BM, BN)
 *         why: the tensor core contracts the columns of the first operand with ...
 *         fix: transpose the second operand
 *
 * Sources are data that anybody may have written: control bytes are shown, not
 * sent to the terminal, and of a long line only the part round the caret.
 */
#include "base/base.h"

static const DiagInfo infos[] = {
#define DIAG(code, severity, title, why) {#code, severity, title, why},
#include "base/diags.def"
#undef DIAG
};

static const DiagExample examples[DIAG_CODES] = {
#define EXAMPLE(code, wrong, right) [code] = {wrong, right},
#include "base/examples.def"
#undef EXAMPLE
};

static const DiagMend mends[DIAG_CODES] = {
#define EDIT(code, how) [code] = {true, false, false, how},
#define SURE(code, how) [code] = {true, true, false, how},
#define OPTION(code, how) [code] = {false, false, true, how},
#define HAND(code, how) [code] = {false, false, false, how},
#include "base/mends.def"
#undef EDIT
#undef SURE
#undef OPTION
#undef HAND
};

static const DiagRetired retired[] = {
#define RETIRED(code, now) {#code, now},
#include "base/retired.def"
#undef RETIRED
    {0},
};

static const struct {
    const char *name, *colour;
} severities[] = {
    [SEV_ERROR] = {"error", "\033[1;31m"},
    [SEV_WARNING] = {"warning", "\033[1;35m"},
    [SEV_NOTE] = {"note", "\033[1;36m"},
};

const DiagInfo *diag_info(DiagCode code)
{
    return &infos[code];
}

const DiagExample *diag_example(DiagCode code)
{
    return &examples[code];
}

const DiagMend *diag_mend(DiagCode code)
{
    return &mends[code];
}

const DiagRetired *diag_retired(void)
{
    return retired;
}

void source_place(const Source *source, int offset, int *line, int *column)
{
    const char *at = source->text, *newline;
    size_t end = offset < 0 ? 0 : (size_t)offset;

    if (end > source->len)
        end = source->len;
    *line = 1;
    while ((newline = memchr(at, '\n', (size_t)(source->text + end - at)))) {
        ++*line;
        at = newline + 1;
    }
    *column = (int)(source->text + end - at) + 1;
}

/* ---- recording ------------------------------------------------------------- */

Diags *diags_new(Arena *arena, const Source *source)
{
    Diags *diags = arena_new_of(arena, Diags);

    diags->arena = arena;
    diags->source = source;
    return diags;
}

static int count_severity(const Diags *diags, Severity severity)
{
    int n = 0;

    for (int i = 0; i < diags->list.len; i++)
        n += diag_info(diags->list.data[i].code)->severity == severity;
    return n;
}

/* Of a statement that is looked at several times, as in a loop that is written out, the same is said once. */
static bool is_said(const Diags *diags, const Diag *last)
{
    for (const Diag *d = diags->list.data; d < last; d++)
        if (d->code == last->code && d->source == last->source && d->span.start == last->span.start && d->span.end == last->span.end &&
            strcmp(d->message, last->message) == 0)
            return true;
    return false;
}

/* A word of a source may be as long as the source; of one in a message nobody reads more than its beginning. */
static const char *shorten(char *text)
{
    enum { LONGEST = 200 };
    char *to = text;
    int length = 0;

    for (const char *c = text; *c; c++) {
        bool begins = ((unsigned char)*c & 0xc0) != 0x80; /* a UTF-8 character */

        length = *c == ' ' || *c == '\n' ? 0 : length + begins;
        if (length <= LONGEST)
            *to++ = *c;
        else if (begins && length <= LONGEST + 3)
            *to++ = '.';
    }
    *to = '\0';
    return text;
}

Diag *diag_add(Diags *diags, DiagCode code, Span span, const char *fmt, ...)
{
    Severity severity = diag_info(code)->severity;
    Diag *diag;
    va_list args;

    if (severity == SEV_ERROR)
        diags->errors++;
    if (diags->full || count_severity(diags, severity) >= DIAG_LIMIT) {
        diags->full |= severity == SEV_ERROR;
        diags->scratch = (Diag){.code = code, .span = span, .message = ""};
        return &diags->scratch;
    }
    vec_push(diags->arena, &diags->list, (Diag){.code = code, .source = diags->source, .span = span});
    diag = &diags->list.data[diags->list.len - 1];
    va_start(args, fmt);
    diag->message = shorten(arena_vprintf(diags->arena, fmt, args));
    va_end(args);
    if (!is_said(diags, diag))
        return diag;
    diags->list.len--;
    diags->scratch = *diag;
    return &diags->scratch;
}

void diag_note(Diags *diags, Diag *diag, const char *fmt, ...)
{
    va_list args;

    if (diag == &diags->scratch)
        return;
    va_start(args, fmt);
    diag->note = shorten(arena_vprintf(diags->arena, fmt, args));
    va_end(args);
}

void diag_fix(Diags *diags, Diag *diag, Span span, const char *text, const char *label)
{
    if (diag == &diags->scratch)
        return;
    diag->fix.span = span;
    diag->fix.text = arena_strdup(diags->arena, text);
    diag->fix.label = label ? arena_strdup(diags->arena, label) : NULL;
}

void diag_option(Diags *diags, Diag *diag, const char *drop, const char *set, const char *label)
{
    if (diag == &diags->scratch)
        return;
    diag->option.drop = drop ? arena_strdup(diags->arena, drop) : NULL;
    diag->option.set = set ? arena_strdup(diags->arena, set) : NULL;
    diag->option.label = arena_strdup(diags->arena, label);
}

void diags_take(Diags *diags, const Diags *from)
{
    for (int i = 0; i < from->list.len; i++) {
        const Diag *diag = &from->list.data[i];

        vec_push(diags->arena, &diags->list, *diag);
        diags->errors += diag_info(diag->code)->severity == SEV_ERROR;
    }
}

/* ---- printing -------------------------------------------------------------- */

enum { GUTTER = 5, BEFORE = 60, SHOWN = 120, TAB = 4 };

/* Where a span lies: byte offsets of its line, clipped to the source. */
typedef struct Place {
    int line, column;
    int from, to;   /* the part of the line that is shown */
    int start, end; /* the span, cut to that part; start == end at an insertion */
    bool cut_left, cut_right;
} Place;

typedef struct Printer {
    Str *out;
    bool colour;
} Printer;

static void paint(const Printer *p, const char *escape)
{
    if (p->colour)
        str_add(p->out, escape);
}

static int clamp(int x, int least, int most)
{
    return x < least ? least : x > most ? most : x;
}

static Place find_place(const Source *source, Span span)
{
    Place place;
    int len = (int)source->len, line_start, line_end;

    place.start = clamp(span.start, 0, len);
    source_place(source, place.start, &place.line, &place.column);
    line_start = line_end = place.start;
    while (line_start > 0 && source->text[line_start - 1] != '\n')
        line_start--;
    while (line_end < len && source->text[line_end] != '\n')
        line_end++;
    if (line_end > line_start && source->text[line_end - 1] == '\r')
        line_end--;
    place.from = place.start - BEFORE > line_start ? place.start - BEFORE : line_start;
    while (place.from > line_start && (source->text[place.from] & 0xc0) == 0x80)
        place.from--; /* not in the middle of a character */
    place.to = place.from + SHOWN < line_end ? place.from + SHOWN : line_end;
    place.cut_left = place.from > line_start;
    place.cut_right = place.to < line_end;
    place.end = clamp(span.end, place.start, place.to > place.start ? place.to : place.start);
    return place;
}

/* Characters that steer a terminal or reorder what it shows: C1 controls and
 * bidirectional overrides, as UTF-8. */
static bool is_hidden(const unsigned char *at, int length)
{
    if (length == 2)
        return at[0] == 0xc2 && at[1] < 0xa0;
    if (length != 3 || at[0] != 0xe2)
        return false;
    return (at[1] == 0x80 && at[2] >= 0x8b && at[2] <= 0xae && !(at[2] > 0x8f && at[2] < 0xa8)) ||
           (at[1] == 0x81 && at[2] >= 0xa0 && at[2] <= 0xaf);
}

static int put_spaces(Str *out, int n)
{
    if (out)
        str_printf(out, "%*s", n, "");
    return n;
}

/* One character, or one byte that is none, as a terminal may see it. Advances
 * *at; returns the cells that it takes. out: NULL only counts. */
static int put_visible(Str *out, const char **at, int cell)
{
    const unsigned char *byte = (const unsigned char *)*at;
    int length = utf8_length(*at);
    bool shown = length > 1 ? !is_hidden(byte, length) : length == 1 && *byte >= 0x20 && *byte != 0x7f;

    if (*byte == '\t') {
        ++*at;
        return put_spaces(out, TAB - cell % TAB);
    }
    if (shown && out)
        str_addn(out, *at, (size_t)length);
    *at += shown ? length : 1;
    if (shown)
        return 1;
    if (out)
        str_printf(out, "<%02X>", *byte);
    return 4;
}

/* Text of one line or more, each byte made harmless; lines after the first are
 * indented by `indent`. */
static void put_text(const Printer *p, const char *text, int indent)
{
    int cell = 0;

    while (*text) {
        if (*text != '\n') {
            cell += put_visible(p->out, &text, cell);
            continue;
        }
        if (*++text)
            str_printf(p->out, "\n%*s", indent, "");
        cell = 0;
    }
}

/* The shown part of the line up to byte `to`, written or only counted. */
static int put_bytes(Str *out, const Source *source, const Place *place, int to)
{
    const char *at = source->text + place->from, *end = source->text + to;
    int cell = place->cut_left ? 3 : 0;

    while (at < end)
        cell += put_visible(out, &at, cell);
    return cell;
}

/* Cells from the beginning of the shown part to byte `to`. */
static int cells(const Source *source, const Place *place, int to)
{
    return put_bytes(NULL, source, place, to);
}

static void put_gutter(const Printer *p, int line)
{
    if (line)
        str_printf(p->out, "%*d | ", GUTTER, line);
    else
        str_printf(p->out, "%*s | ", GUTTER, "");
}

static void put_line(const Printer *p, const Source *source, const Place *place)
{
    put_gutter(p, place->line);
    str_add(p->out, place->cut_left ? "..." : "");
    put_bytes(p->out, source, place, place->to);
    str_add(p->out, place->cut_right ? "...\n" : "\n");
}

static void put_caret(const Printer *p, const Source *source, const Place *place)
{
    int at = cells(source, place, place->start), end = cells(source, place, place->end);

    put_gutter(p, 0);
    paint(p, "\033[1;32m");
    str_printf(p->out, "%*s^", at, "");
    while (++at < end)
        str_addc(p->out, '~');
    paint(p, "\033[0m");
    str_addc(p->out, '\n');
}

static void put_header(const Printer *p, const Diag *diag, const Place *place)
{
    const DiagInfo *info = diag_info(diag->code);

    paint(p, "\033[1m");
    if (diag->source) {
        put_text(p, diag->source->path, 0);
        str_printf(p->out, ":%d:%d: ", place->line, place->column);
    } else {
        str_add(p->out, "tw: ");
    }
    paint(p, severities[info->severity].colour);
    str_printf(p->out, "%s: ", severities[info->severity].name);
    paint(p, "\033[0m\033[1m");
    put_text(p, diag->message, GUTTER + 3);
    paint(p, "\033[0m");
    str_printf(p->out, " [%s]\n", info->name);
}

static void put_remark(const Printer *p, const char *word, const char *text)
{
    str_printf(p->out, "%*s", GUTTER + 3, "");
    paint(p, "\033[1m");
    str_printf(p->out, "%s: ", word);
    paint(p, "\033[0m");
    put_text(p, text, GUTTER + 5 + (int)strlen(word));
    str_addc(p->out, '\n');
}

static bool one_line(const char *text)
{
    return !strchr(text, '\n');
}

/* The new text below the place where it goes, in the manner of a margin note. */
static void put_replacement(const Printer *p, const Source *source, const Place *place,
                            const char *text)
{
    int at = cells(source, place, place->start);

    put_gutter(p, 0);
    paint(p, "\033[32m");
    str_printf(p->out, "%*s", at, "");
    put_text(p, text, 0);
    paint(p, "\033[0m");
    str_addc(p->out, '\n');
}

/* Whole lines to insert, each after a plus. */
static void put_inserted_lines(const Printer *p, const char *text)
{
    while (*text) {
        int cell = 0;

        str_printf(p->out, "%*s | ", GUTTER, "+");
        paint(p, "\033[32m");
        while (*text && *text != '\n')
            cell += put_visible(p->out, &text, cell);
        paint(p, "\033[0m");
        str_addc(p->out, '\n');
        text += *text == '\n';
    }
}

/* `shown` is the line that already stands above. */
static void put_fix(const Printer *p, const Diag *diag, const Place *shown)
{
    const Fix *fix = &diag->fix;
    const char *label = fix->label ? fix->label : *fix->text ? "write this instead" : "remove this";
    Place place = find_place(diag->source, fix->span);
    bool before = place.column == 1 && place.end == place.start && !one_line(fix->text);

    put_remark(p, "fix", label);
    if (one_line(fix->text) && place.line == shown->line && place.from == shown->from &&
        !*fix->text)
        return; /* a removal: the label says it all */
    if (before)
        put_inserted_lines(p, fix->text);
    put_line(p, diag->source, &place);
    if (place.end > place.start)
        put_caret(p, diag->source, &place);
    if (one_line(fix->text))
        put_replacement(p, diag->source, &place, fix->text);
    else if (!before)
        put_inserted_lines(p, fix->text);
}

/* Why is said once a code, at its first appearance. */
static bool said_before(const Diags *diags, int index)
{
    for (int i = 0; i < index; i++)
        if (diags->list.data[i].code == diags->list.data[index].code)
            return true;
    return false;
}

/* `--set K=64 --set N=64`, of each word. */
static void put_settings(Str *out, const char *words)
{
    for (const char *word = words; *word; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");
        str_printf(out, "%s--set %.*s", word > words ? " " : "", (int)len, word);
        word += len;
    }
}

/* What to say instead, and of what. */
static const char *option_text(Arena *arena, const Option *option)
{
    Str text = str_new(arena);
    size_t len = option->drop ? strlen(option->drop) : 0;
    bool same = len && option->set && strncmp(option->set, option->drop, len) == 0 && option->set[len] == '=';

    if (option->set)
        put_settings(&text, option->set);
    if (option->drop && !same) {
        str_add(&text, option->set ? " in place of " : "without ");
        put_settings(&text, option->drop);
    }
    return str_text(&text);
}

static void print_one(const Printer *p, const Diags *diags, int index)
{
    const Diag *diag = &diags->list.data[index];
    const char *why = diag_info(diag->code)->why;
    Place place = {0};
    bool inline_fix;

    if (diag->source)
        place = find_place(diag->source, diag->span);
    put_header(p, diag, &place);
    inline_fix = diag->source && diag->fix.text && *diag->fix.text && one_line(diag->fix.text) &&
                 diag->fix.span.start >= place.from && diag->fix.span.start <= place.to;
    if (diag->source) {
        put_line(p, diag->source, &place);
        put_caret(p, diag->source, &place);
    }
    if (inline_fix) {
        Place at = place;

        at.start = diag->fix.span.start;
        put_replacement(p, diag->source, &at, diag->fix.text);
    }
    if (diag->note)
        put_remark(p, "note", diag->note);
    if (why && *why && !said_before(diags, index))
        put_remark(p, "why", why);
    if (inline_fix && diag->fix.label)
        put_remark(p, "fix", diag->fix.label);
    else if (diag->source && diag->fix.text && !inline_fix)
        put_fix(p, diag, &place);
    if (diag->option.label)
        put_remark(p, "try", arena_printf(p->out->arena, "%s: %s", option_text(p->out->arena, &diag->option), diag->option.label));
}

static void render(const Diags *diags, Str *out, bool colour)
{
    Printer printer = {out, colour};

    for (int i = 0; i < diags->list.len; i++)
        print_one(&printer, diags, i);
    if (diags->full)
        str_printf(out, "tw: %d more error%s not shown\n", diags->errors - DIAG_LIMIT,
                   diags->errors - DIAG_LIMIT == 1 ? " is" : "s are");
}

void diags_text(const Diags *diags, Str *out)
{
    render(diags, out, false);
}

void diags_print(const Diags *diags, FILE *out, bool colour)
{
    Str text = str_new(diags->arena);

    render(diags, &text, colour);
    fwrite(str_text(&text), 1, text.len, out);
}

/* ---- JSON ------------------------------------------------------------------ */

static void json_span(Str *out, const Source *source, Span span)
{
    int line, column;

    source_place(source, span.start, &line, &column);
    str_printf(out, "\"start\":%d,\"end\":%d,\"line\":%d,\"column\":%d", span.start, span.end, line,
               column);
    source_place(source, span.end, &line, &column);
    str_printf(out, ",\"end_line\":%d,\"end_column\":%d", line, column);
}

static void json_field(Str *out, const char *name, const char *text)
{
    str_printf(out, ",\"%s\":", name);
    str_json(out, text);
}

static void json_one(Str *out, const Diag *diag)
{
    const DiagInfo *info = diag_info(diag->code);

    str_printf(out, "{\"code\":\"%s\",\"severity\":\"%s\"", info->name,
               severities[info->severity].name);
    if (diag->source) {
        json_field(out, "path", diag->source->path);
        str_addc(out, ',');
        json_span(out, diag->source, diag->span);
    }
    json_field(out, "message", diag->message);
    if (diag->note)
        json_field(out, "note", diag->note);
    json_field(out, "why", info->why);
    if (diag->fix.text && diag->source) {
        str_add(out, ",\"fix\":{");
        json_span(out, diag->source, diag->fix.span);
        json_field(out, "text", diag->fix.text);
        if (diag->fix.label)
            json_field(out, "label", diag->fix.label);
        str_addc(out, '}');
    }
    if (diag->option.label) {
        str_add(out, ",\"option\":{\"text\":");
        str_json(out, option_text(out->arena, &diag->option));
        if (diag->option.drop)
            json_field(out, "drop", diag->option.drop);
        if (diag->option.set)
            json_field(out, "set", diag->option.set);
        json_field(out, "label", diag->option.label);
        str_addc(out, '}');
    }
    str_addc(out, '}');
}

void diags_json(const Diags *diags, Str *out)
{
    str_addc(out, '[');
    for (int i = 0; i < diags->list.len; i++) {
        str_add(out, i ? ",\n " : "");
        json_one(out, &diags->list.data[i]);
    }
    str_addc(out, ']');
}
