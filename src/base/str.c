/* str.c: strings that grow, formatted text, JSON quoting, and comparing words as people do. */
#include "base/base.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

Str str_new(Arena *arena)
{
    return (Str){.arena = arena};
}

/* Room for extra more bytes and the closing NUL. */
static void grow(Str *s, size_t extra)
{
    size_t cap = s->cap ? s->cap : 64;
    char *moved;

    if (extra > SIZE_MAX / 4 || s->len > SIZE_MAX / 4)
        arena_alloc(s->arena, SIZE_MAX); /* does not return */
    while (cap <= s->len + extra)
        cap *= 2;
    moved = arena_alloc(s->arena, cap);
    if (s->len)
        memcpy(moved, s->data, s->len);
    s->data = moved;
    s->cap = cap;
}

static inline void reserve(Str *s, size_t extra)
{
    if (s->cap <= s->len || s->cap - s->len <= extra)
        grow(s, extra);
}

void str_reserve(Str *s, size_t extra)
{
    reserve(s, extra);
}

void str_clear(Str *s)
{
    s->len = 0;
    if (s->data)
        s->data[0] = '\0';
}

void str_addn(Str *s, const char *text, size_t len)
{
    reserve(s, len);
    if (len)
        memcpy(s->data + s->len, text, len);
    s->len += len;
    s->data[s->len] = '\0';
}

void str_add(Str *s, const char *text)
{
    str_addn(s, text, strlen(text));
}

void str_addc(Str *s, char c)
{
    reserve(s, 1);
    s->data[s->len++] = c;
    s->data[s->len] = '\0';
}

/* ---- formatted text ---------------------------------------------------------------- */

/* Text that goes where there is room, and is counted where there is none. */
typedef struct Room {
    char *data;
    size_t size, len;
} Room;

static void put(Room *room, const char *text, size_t len)
{
    if (room->len < room->size) {
        size_t left = room->size - room->len;

        memcpy(room->data + room->len, text, len < left ? len : left);
    }
    room->len += len;
}

static void put_number(Room *room, long long value)
{
    char digits[24];
    int at = sizeof digits;
    unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;

    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        digits[--at] = '-';
    if (room->len + sizeof digits > room->size) {
        put(room, digits + at, sizeof digits - (size_t)at);
        return;
    }
    while (at < (int)sizeof digits)
        room->data[room->len++] = digits[at++];
}

/* What most formats have, %s %d %lld %c %%: how many letters behind the %; 0: something else. */
static size_t put_plain(Room *room, const char *directive, va_list *args)
{
    const char *text;
    char c;

    switch (*directive) {
    case 's':
        text = va_arg(*args, const char *);
        text = text ? text : "(null)";
        put(room, text, strlen(text));
        return 1;
    case 'd':
        put_number(room, va_arg(*args, int));
        return 1;
    case 'l':
        if (directive[1] != 'l' || directive[2] != 'd')
            return 0;
        put_number(room, va_arg(*args, long long));
        return 3;
    case 'c':
        c = (char)va_arg(*args, int);
        put(room, &c, 1);
        return 1;
    case '%':
        put(room, "%", 1);
        return 1;
    }
    return 0;
}

/* The format up to the next directive, which is a few letters: a loop has copied them before memcpy would begin. Returns what follows. */
static const char *put_literal(Room *room, const char *fmt)
{
    char *data = room->data;
    size_t len = room->len, size = room->size;

    for (; *fmt && *fmt != '%'; fmt++, len++)
        if (len < size)
            data[len] = *fmt;
    room->len = len;
    return fmt;
}

static void terminate(Room *room)
{
    if (room->size)
        room->data[room->len < room->size ? room->len : room->size - 1] = '\0';
}

/* From the first directive that is not plain on: vsnprintf's. */
static int format_rest(Room *room, const char *fmt, va_list args)
{
    size_t used = room->len < room->size ? room->len : room->size;
    int rest = vsnprintf(room->data + used, room->size - used, fmt, args);

    return rest < 0 ? rest : (int)room->len + rest;
}

/* PTX is written a line at a time, and to read formats would be most of the work. */
int text_vformat(char *data, size_t size, const char *fmt, va_list given)
{
    Room room = {data, size, 0};
    va_list args;
    int len = 0;

    va_copy(args, given);
    for (;;) {
        size_t letters;

        fmt = put_literal(&room, fmt);
        letters = *fmt ? put_plain(&room, fmt + 1, &args) : 0;
        if (letters == 0)
            break;
        fmt += 1 + letters;
    }
    terminate(&room);
    len = *fmt ? format_rest(&room, fmt, args) : (int)room.len;
    va_end(args);
    return len;
}

enum { USUAL = 120 }; /* bytes that most of what is formatted fits in */

void str_vprintf(Str *s, const char *fmt, va_list args)
{
    size_t room;
    int len;

    reserve(s, USUAL);
    room = s->cap - s->len;
    len = text_vformat(s->data + s->len, room, fmt, args);
    if (len >= 0 && (size_t)len >= room) {
        reserve(s, (size_t)len);
        text_vformat(s->data + s->len, (size_t)len + 1, fmt, args);
    }
    if (len > 0)
        s->len += (size_t)len;
    s->data[s->len] = '\0';
}

void str_printf(Str *s, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    str_vprintf(s, fmt, args);
    va_end(args);
}

const char *str_text(const Str *s)
{
    return s->data ? s->data : "";
}

int utf8_length(const char *bytes)
{
    const unsigned char *text = (const unsigned char *)bytes;
    static const struct {
        unsigned char first, last;   /* of the leading byte */
        unsigned char second, upto;  /* of the byte that follows it */
        int length;
    } rows[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    if (text[0] < 0x80)
        return 1;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (text[0] < rows[i].first || text[0] > rows[i].last)
            continue;
        if (text[1] < rows[i].second || text[1] > rows[i].upto)
            return 0;
        for (int k = 2; k < rows[i].length; k++)
            if ((text[k] & 0xc0) != 0x80)
                return 0;
        return rows[i].length;
    }
    return 0;
}

static void json_char(Str *s, unsigned char c)
{
    static const char escapes[] = "\"\"\\\\\nn\tt\rr\bb\ff";

    for (const char *e = escapes; *e; e += 2) {
        if ((unsigned char)e[0] == c) {
            str_addc(s, '\\');
            str_addc(s, e[1]);
            return;
        }
    }
    if (c < 0x20 || c == 0x7f)
        str_printf(s, "\\u%04x", c);
    else
        str_addc(s, (char)c);
}

/* How many letters are what they are in JSON, too. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\')
        n++;
    return n;
}

void str_json(Str *s, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    str_addc(s, '"');
    while (*at) {
        size_t plain = plain_length((const char *)at);

        str_addn(s, (const char *)at, plain);
        at += plain;
        if (!*at)
            break;
        int length = utf8_length((const char *)at);

        if (length == 1)
            json_char(s, *at);
        else if (length == 0)
            str_add(s, "\\ufffd"); /* what readers of JSON do with a stray byte */
        else
            str_addn(s, (const char *)at, (size_t)length);
        at += length ? length : 1;
    }
    str_addc(s, '"');
}

bool text_among(const char *const *list, int n, const char *text)
{
    for (int i = 0; text && i < n; i++)
        if (*list[i] == *text && strcmp(list[i], text) == 0)
            return true;
    return false;
}

bool text_equal_nocase(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    return lower(*a) == lower(*b);
}

/* Levenshtein's table, one row at a time. */
int text_distance(const char *a, const char *b, int limit)
{
    enum { LONGEST = 63 };
    int row[LONGEST + 1];
    size_t alen = strlen(a), blen = strlen(b);

    if (alen > LONGEST || blen > LONGEST)
        return strcmp(a, b) == 0 ? 0 : limit + 1;
    for (size_t j = 0; j <= blen; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= alen; i++) {
        int diagonal = row[0];

        row[0] = (int)i;
        for (size_t j = 1; j <= blen; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[blen] > limit ? limit + 1 : row[blen];
}

int name_distance(const char *a, const char *b, int limit)
{
    return text_equal_nocase(a, b) ? 0 : text_distance(a, b, limit);
}

int name_edits(const char *name)
{
    size_t len = strlen(name);

    return len < 2 ? 0 : len < 4 ? 1 : 2;
}
