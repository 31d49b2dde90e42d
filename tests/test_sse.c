/* test_sse.c: server-sent events and the answers in them, cut at any byte. */
#include "fixture.h"
#include "model/wire.h"

#include <cmocka.h>

typedef struct Events {
    Str text; /* one "[type|data]" an event */
    int most; /* events that are wanted */
} Events;

static bool note(void *user, const char *type, const char *data, size_t len)
{
    Events *events = user;

    str_printf(&events->text, "[%s|", type);
    str_addn(&events->text, data, len);
    str_addc(&events->text, ']');
    return --events->most > 0;
}

/* Fed in pieces that end at a, b and then every `piece` bytes. */
static const char *read_in_pieces(Fixture *f, const char *text, size_t len, size_t a, size_t b, size_t piece)
{
    Events events = {str_new(f->arena), 1000};
    Sse sse = sse_new(f->arena, note, &events);

    assert_true(sse_feed(&sse, text, a));
    assert_true(sse_feed(&sse, text + a, b - a));
    for (size_t at = b; at < len; at += piece)
        assert_true(sse_feed(&sse, text + at, len - at < piece ? len - at : piece));
    assert_true(sse_end(&sse));
    return str_text(&events.text);
}

static void streams_mean_what_they_mean_however_cut(void **state)
{
    static const struct {
        const char *stream, *events;
    } cases[] = {
        {"data: a\n\ndata: b\n\n", "[|a][|b]"},
        {"data: a\r\n\r\ndata: b\r\n\r\n", "[|a][|b]"},
        {"data: a\r\rdata: b\r\r", "[|a][|b]"},
        {"data: a\n\r\ndata: b\r\n\n", "[|a][|b]"},
        {"event: delta\ndata: a\n\ndata: b\n\n", "[delta|a][|b]"},
        {"data: a\nevent: late\n\n", "[late|a]"},
        {": keep-alive\n\n:\n\ndata: a\n\n", "[|a]"},
        {"data: a\ndata: b\ndata:\ndata:  c\n\n", "[|a\nb\n\n c]"},
        {"data:a:b\n\n", "[|a:b]"},
        {"data\n\n", "[|]"},
        {"event: empty\n\n", ""},
        {"id: 7\nretry: 10\nother: x\nData: no\ndata : no\n\ndata: a\n\n", "[|a]"},
        {"\xef\xbb\xbf" "data: a\n\n", "[|a]"},
        {"\n\n\xef\xbb\xbf" "data: a\n\ndata: b\n\n", "[|b]"},
        {"data: a\n\ndata: cut", "[|a][|cut]"},
        {"data: a\n\ndata: cut\n", "[|a][|cut]"},
        {"data: \xc3\xa9\xf0\x9f\x99\x82\n\n", "[|\xc3\xa9\xf0\x9f\x99\x82]"},
        {"", ""},
        {"\r\n\r\n", ""},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        size_t len = strlen(cases[i].stream);

        for (size_t a = 0; a <= len; a++)
            for (size_t b = a; b <= len; b++)
                assert_string_equal(read_in_pieces(f, cases[i].stream, len, a, b, len + 1), cases[i].events);
        assert_string_equal(read_in_pieces(f, cases[i].stream, len, 0, 0, 1), cases[i].events);
    }
}

static void any_byte_is_data(void **state)
{
    Fixture *f = *state;
    const char text[] = "data: a\0b\xff\n\n", *got = read_in_pieces(f, text, sizeof text - 1, 3, 9, 1);

    assert_memory_equal(got, "[|a\0b\xff]", 8);
}

static void reading_ends_where_it_is_told(void **state)
{
    Fixture *f = *state;
    Events events = {str_new(f->arena), 1};
    Sse sse = sse_new(f->arena, note, &events);

    assert_false(sse_feed(&sse, "data: a\n\ndata: b\n\n", 18));
    assert_string_equal(str_text(&events.text), "[|a]");
}

/* ---- answers ---------------------------------------------------------------------------- */

typedef struct Case {
    const Wire *wire;
    long status;
    bool broken;
    const char *bytes;
    const char *text, *reasoning; /* as far as they came */
    const char *code;             /* of the trouble; NULL: none */
    bool again, cut;
    int64_t in, out;
} Case;

/* No provider in particular. */
static Call new_call(Fixture *f, Model *model, ModelAnswer *answer)
{
    *answer = (ModelAnswer){0};
    *model = (Model){.arena = f->arena, .spec = "m", .options = model_options(), .net = {.url = "http://x"}};
    return (Call){.model = model, .arena = f->arena, .answer = answer, .text = str_new(f->arena),
                  .reasoning = str_new(f->arena)};
}

static void check_reply(Fixture *f, const Case *c, size_t cut)
{
    size_t len = strlen(c->bytes);
    ModelAnswer answer;
    Model model;
    Call call = new_call(f, &model, &answer);
    Reply reply = reply_new(&call, c->wire);

    reply.status = c->status;
    if (reply_take(&reply, c->bytes, cut))
        reply_take(&reply, c->bytes + cut, len - cut);
    reply_end(&reply, c->broken);
    reply_free(&reply);
    if (reply.trouble.is != (c->code != NULL) ||
        (c->code && strcmp(diag_info(reply.trouble.code)->name, c->code) != 0))
        fail_msg("%s\ncut at %zu: %s, not %s", c->bytes, cut,
                 reply.trouble.is ? diag_info(reply.trouble.code)->name : "no trouble", c->code ? c->code : "none");
    assert_true(reply.trouble.again == c->again);
    assert_true(reply.cut == c->cut);
    assert_string_equal(str_text(&call.text), c->text);
    assert_string_equal(str_text(&call.reasoning), c->reasoning);
    assert_int_equal(reply.usage.in, c->in);
    assert_int_equal(reply.usage.out, c->out);
}

#define OPENAI &wire_openai
#define ANTHROPIC &wire_anthropic
#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":null}]}\n\n"
#define STOP(reason) "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"
#define COUNTS "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n"
#define TYPED(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define DELTA(rest) TYPED("content_block_delta", ",\"index\":0,\"delta\":{" rest "}")

static const Case CASES[] = {
    {OPENAI, 200, false, CHUNK("\"role\":\"assistant\",\"content\":\"\"") CHUNK("\"content\":\"Cop\"")
     ": keep-alive\n\n" CHUNK("\"content\":\"y Q\"") STOP("stop") COUNTS "data: [DONE]\n\n",
     "Copy Q", "", NULL, false, false, 9, 4},
    {OPENAI, 200, false, CHUNK("\"content\":null,\"reasoning_content\":\"hm\"") CHUNK("\"reasoning\":\" so\"")
     CHUNK("\"content\":\"Copy\"") STOP("stop"), "Copy", "hm so", NULL, false, false, 0, 0},
    {OPENAI, 200, false, CHUNK("\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},"
     "{\"type\":\"text\",\"text\":\"Copy\"}]") "data: [DONE]\n\n", "Copy", "hm", NULL, false, false, 0, 0},
    {OPENAI, 200, false, CHUNK("\"content\":\"a\\u0000b\\n\\u00e9\\ud83d\\ude42\"") STOP("stop"),
     "a\xef\xbf\xbd" "b\n\xc3\xa9\xf0\x9f\x99\x82", "", NULL, false, false, 0, 0},
    /* halves of characters */
    {OPENAI, 200, false, CHUNK("\"content\":\"a\\ud83d\"") CHUNK("\"content\":\"\\uDE42b\\\\ud83d\\u00e9\"") STOP("stop"),
     "a\xef\xbf\xbd\xef\xbf\xbd" "b\\ud83d\xc3\xa9", "", NULL, false, false, 0, 0},
    {OPENAI, 200, false, CHUNK("\"content\":\"\\ud83d\\ud83d\\ude42\\ude42\"") STOP("stop"),
     "\xef\xbf\xbd\xf0\x9f\x99\x82\xef\xbf\xbd", "", NULL, false, false, 0, 0},
    {OPENAI, 200, false, CHUNK("\"content\":\"a\xf0\x9f\"") CHUNK("\"content\":\"\x99\xc3\xa9\"") STOP("stop"),
     "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9", "", NULL, false, false, 0, 0},
    {ANTHROPIC, 200, false, DELTA("\"type\":\"text_delta\",\"text\":\"x\\udfff\"") TYPED("message_stop", ""),
     "x\xef\xbf\xbd", "", NULL, false, false, 0, 0},
    {OPENAI, 200, false, "data: {\"choices\":\"\\ud8\n\n", "", "", "TW1013", false, false, 0, 0},
    {OPENAI, 200, false, CHUNK("\"content\":\"Copy\"") STOP("length"), "Copy", "", NULL, false, true, 0, 0},
    {OPENAI, 200, false, CHUNK("\"content\":\"no\"") STOP("content_filter"), "no", "", "TW1020", false, false, 0, 0},
    {OPENAI, 200, false, CHUNK("\"refusal\":\"I will not\""), "", "", "TW1020", false, false, 0, 0},
    {OPENAI, 200, false, STOP("insufficient_system_resource"), "", "", "TW1012", true, false, 0, 0},
    /* what breaks off */
    {OPENAI, 200, false, CHUNK("\"content\":\"Cop\""), "Cop", "", "TW1014", true, false, 0, 0},
    {OPENAI, 200, true, CHUNK("\"content\":\"Cop\"") "data: {\"choi", "Cop", "", "TW1014", true, false, 0, 0},
    {OPENAI, 200, false, CHUNK("\"content\":\"Cop\"") "data: {\"choi", "Cop", "", "TW1014", true, false, 0, 0},
    {OPENAI, 200, true, CHUNK("\"content\":\"Cop\"") STOP("stop"), "Cop", "", NULL, false, false, 0, 0},
    {OPENAI, 200, false, "", "", "", "TW1014", true, false, 0, 0},
    {OPENAI, 200, false, ": keep-alive\n\n: keep-alive\n\n", "", "", "TW1014", true, false, 0, 0},
    {OPENAI, 200, true, "{\"choices\":[{\"mess", "", "", "TW1014", true, false, 0, 0},
    /* what is not understood */
    {OPENAI, 200, false, "data: {\"choices\":}\n\n", "", "", "TW1013", false, false, 0, 0},
    {OPENAI, 200, false, "data: 7\n\n", "", "", "TW1013", false, false, 0, 0},
    {OPENAI, 200, false, "<html>Welcome</html>", "", "", "TW1013", false, false, 0, 0},
    {OPENAI, 200, false, "{\"choices\":[{\"mess", "", "", "TW1013", false, false, 0, 0},
    {OPENAI, 200, false, "{\"object\":\"list\"}", "", "", "TW1013", false, false, 0, 0},
    {OPENAI, 200, false, CHUNK("\"content\":7") "data: {\"choices\":7}\n\ndata: {\"choices\":[7]}\n\n" STOP("stop"),
     "", "", NULL, false, false, 0, 0},
    /* errors in what began well */
    {OPENAI, 200, false, CHUNK("\"content\":\"Co\"") "data: {\"error\":{\"message\":\"gone\",\"type\":\"server_error\"}}\n\n",
     "Co", "", "TW1012", true, false, 0, 0},
    {OPENAI, 200, false, "data: {\"error\":{\"message\":\"no\",\"code\":503}}\n\n", "", "", "TW1012", true, false, 0, 0},
    {OPENAI, 200, false, "data: {\"error\":{\"message\":\"no\",\"code\":400}}\n\n", "", "", "TW1009", false, false, 0, 0},
    {OPENAI, 200, false, "data: {\"object\":\"error\",\"message\":\"too long\",\"code\":400}\n\n", "", "", "TW1009", false, false, 0, 0},
    {OPENAI, 200, false, "data: {\"error\":\"boom\"}\n\n", "", "", "TW1014", true, false, 0, 0},
    {OPENAI, 200, false, "data: {\"error\":{\"code\":\"insufficient_quota\"}}\n\n", "", "", "TW1010", false, false, 0, 0},
    {OPENAI, 200, false, "{\"error\":{\"type\":\"overloaded\"}}", "", "", "TW1012", true, false, 0, 0},
    /* one JSON text */
    {OPENAI, 200, false, "\n {\"model\":\"m\",\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Copy\","
     "\"reasoning_content\":\"hm\"},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":-2}}",
     "Copy", "hm", NULL, false, true, 1, 0},
    {OPENAI, 200, false, "\xef\xbb\xbf{\"choices\":[{\"message\":{\"content\":\"Copy\"},\"finish_reason\":\"stop\"}]}",
     "Copy", "", NULL, false, false, 0, 0},
    /* statuses */
    {OPENAI, 400, false, "{\"error\":{\"message\":\"bad\"}}", "", "", "TW1009", false, false, 0, 0},
    {OPENAI, 401, false, "", "", "", "TW1008", false, false, 0, 0},
    {OPENAI, 402, false, "{\"error\":{\"message\":\"Insufficient Balance\"}}", "", "", "TW1010", false, false, 0, 0},
    {OPENAI, 403, false, "<html>", "", "", "TW1008", false, false, 0, 0},
    {OPENAI, 404, false, "{\"detail\":\"Not Found\"}", "", "", "TW1009", false, false, 0, 0},
    {OPENAI, 302, false, "", "", "", "TW1005", false, false, 0, 0},
    {OPENAI, 408, false, "", "", "", "TW1012", true, false, 0, 0},
    {OPENAI, 409, false, "", "", "", "TW1012", true, false, 0, 0},
    {OPENAI, 422, false, "{\"detail\":[{\"msg\":\"extra\"}]}", "", "", "TW1009", false, false, 0, 0},
    {OPENAI, 429, false, "{\"error\":{\"type\":\"rate_limit_exceeded\"}}", "", "", "TW1012", true, false, 0, 0},
    {OPENAI, 429, false, "{\"error\":{\"type\":\"insufficient_quota\"}}", "", "", "TW1010", false, false, 0, 0},
    {OPENAI, 500, false, "[{\"error\":{\"message\":\"oh\"}}]", "", "", "TW1012", true, false, 0, 0},
    {ANTHROPIC, 529, false, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"oh\"}}",
     "", "", "TW1012", true, false, 0, 0},
    {ANTHROPIC, 400, false, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
     "\"Your credit balance is too low\"}}", "", "", "TW1010", false, false, 0, 0},
    /* typed events */
    {ANTHROPIC, 200, false,
     TYPED("message_start", ",\"message\":{\"model\":\"c\",\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":4,\"output_tokens\":1}}")
     TYPED("content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}")
     TYPED("ping", "") DELTA("\"type\":\"thinking_delta\",\"thinking\":\"hm\"")
     DELTA("\"type\":\"signature_delta\",\"signature\":\"xyz\"") TYPED("content_block_stop", ",\"index\":0")
     TYPED("content_block_start", ",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}")
     DELTA("\"type\":\"text_delta\",\"text\":\"Cop\"") DELTA("\"type\":\"text_delta\",\"text\":\"y\"")
     TYPED("from_the_future", ",\"delta\":7")
     TYPED("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":12}")
     TYPED("message_stop", ""), "Copy", "hm", NULL, false, false, 7, 12},
    {ANTHROPIC, 200, false, DELTA("\"type\":\"text_delta\",\"text\":\"Cop\"")
     TYPED("message_delta", ",\"delta\":{\"stop_reason\":\"max_tokens\"}") TYPED("message_stop", ""),
     "Cop", "", NULL, false, true, 0, 0},
    {ANTHROPIC, 200, false, TYPED("message_delta", ",\"delta\":{\"stop_reason\":\"refusal\"}"), "", "", "TW1020", false, false, 0, 0},
    {ANTHROPIC, 200, false, DELTA("\"type\":\"text_delta\",\"text\":\"Cop\""), "Cop", "", "TW1014", true, false, 0, 0},
    {ANTHROPIC, 200, false, DELTA("\"type\":\"text_delta\",\"text\":\"Cop\"")
     TYPED("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"), "Cop", "", "TW1012", true, false, 0, 0},
    {ANTHROPIC, 200, false, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\"}}\n\n",
     "", "", "TW1008", false, false, 0, 0},
    {ANTHROPIC, 200, false, "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\",\"text\":\"Copy\"}],"
     "\"stop_reason\":\"max_tokens\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}", "Copy", "hm", NULL, false, true, 1, 2},
    {ANTHROPIC, 200, false, "{\"id\":7}", "", "", "TW1013", false, false, 0, 0},
};

static void replies_mean_what_they_mean_however_cut(void **state)
{
    for (size_t i = 0; i < TW_COUNT(CASES); i++)
        for (size_t cut = 0; cut <= strlen(CASES[i].bytes); cut++)
            check_reply(*state, &CASES[i], cut);
}

/* A whole answer that is taken away from its end on is never taken for one. */
static void half_an_answer_is_none(void **state)
{
    Fixture *f = *state;
    const char *bytes = CHUNK("\"content\":\"Copy Q\"") STOP("stop");

    for (size_t len = 0; len <= strlen(bytes); len++) {
        ModelAnswer answer;
        Model model;
        Call call = new_call(f, &model, &answer);
        Reply reply = reply_new(&call, &wire_openai);

        reply_take(&reply, bytes, len);
        reply_end(&reply, true);
        reply_free(&reply);
        assert_true(reply.trouble.is == (len < strlen(bytes)));
        assert_true(!reply.trouble.is || reply.trouble.code == TW1014);
    }
}

static void endless_events_end(void **state)
{
    static const char *const starts[] = {"data: ", "{\"choices\":[\"", ": "};
    Fixture *f = *state;
    char *noise = arena_alloc(f->arena, 1 << 20);

    memset(noise, 'x', 1 << 20);
    for (size_t i = 0; i < TW_COUNT(starts); i++) {
        ModelAnswer answer;
        Model model;
        Call call = new_call(f, &model, &answer);
        Reply reply = reply_new(&call, &wire_openai);
        int turns = 0;

        assert_true(reply_take(&reply, starts[i], strlen(starts[i])));
        while (reply_take(&reply, noise, 1 << 20) && turns < 40)
            turns++;
        assert_true(turns < 20);
        assert_true(reply.trouble.code == TW1017);
        reply_free(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(streams_mean_what_they_mean_however_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(any_byte_is_data, setup, teardown),
        cmocka_unit_test_setup_teardown(reading_ends_where_it_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(replies_mean_what_they_mean_however_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(half_an_answer_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(endless_events_end, setup, teardown),
    };

    return cmocka_run_group_tests_name("sse", tests, NULL, NULL);
}
