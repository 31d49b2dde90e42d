/* fuzz_reply.c: any bytes as a provider's answer, whole and in pieces: both must mean the
 * same. The first byte says which wire and status they are of, and where they are cut. */
#include "fuzz.h"
#include "model/wire.h"

#include <stdlib.h>

typedef struct Taken {
    Str text, reasoning;
    Trouble trouble;
    Usage usage;
    bool cut;
} Taken;

static Taken take_in_pieces(Arena *arena, const Source *source, size_t piece)
{
    static const long statuses[] = {200, 200, 200, 400, 429, 500};
    int kind = source->len ? (unsigned char)source->text[0] : 0;
    ModelAnswer answer = {0};
    Model model = {.arena = arena, .spec = "fuzz", .options = model_options(),
                   .net = {.url = "http://localhost", .secret = {.text = arena_strdup(arena, "sk-secret-key")}}};
    Call call = {.model = &model, .arena = arena, .answer = &answer, .text = str_new(arena),
                 .reasoning = str_new(arena)};
    Reply reply = reply_new(&call, kind & 1 ? &wire_openai : &wire_anthropic);

    reply.status = statuses[kind / 2 % TW_COUNT(statuses)];
    for (size_t at = source->len > 0; at < source->len; at += piece)
        if (!reply_take(&reply, source->text + at, source->len - at < piece ? source->len - at : piece))
            break;
    reply_end(&reply, kind & 128);
    reply_free(&reply);
    return (Taken){call.text, call.reasoning, reply.trouble, reply.usage, reply.cut};
}

static void expect(bool same, const char *what)
{
    if (same)
        return;
    fprintf(stderr, "%s depends on where the answer is cut\n", what);
    abort();
}

static void take(Arena *arena, const Source *source)
{
    size_t piece = source->len ? 1 + (unsigned char)source->text[0] % 13 : 1;
    Taken whole = take_in_pieces(arena, source, source->len + 1), cut = take_in_pieces(arena, source, piece);
    const char *answer, *thought;

    expect(strcmp(str_text(&whole.text), str_text(&cut.text)) == 0, "the text");
    expect(strcmp(str_text(&whole.reasoning), str_text(&cut.reasoning)) == 0, "the reasoning");
    expect(whole.trouble.is == cut.trouble.is, "whether there is trouble");
    expect(!whole.trouble.is || (whole.trouble.code == cut.trouble.code && whole.trouble.again == cut.trouble.again),
           "the trouble");
    expect(whole.usage.in == cut.usage.in && whole.usage.out == cut.usage.out, "the number of tokens");
    expect(whole.cut == cut.cut, "whether it was cut");
    if (whole.trouble.is && strstr(whole.trouble.what, "sk-secret-key"))
        abort();
    if (whole.trouble.is && whole.trouble.note && strstr(whole.trouble.note, "sk-secret-key"))
        abort();
    think_split(arena, str_text(&whole.text), &answer, &thought);
}

int fuzz_reply(const uint8_t *data, size_t size)
{
    fuzz_with(data, size, take);
    return 0;
}
