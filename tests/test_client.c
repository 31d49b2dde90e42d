/* test_client.c: models over a network, asked of a server of the tests' own that fails in
 * every way there is. (test_sse.c: what answers mean; test_model.c: without a network.) */
#include "fixture.h"
#include "model/curl.h"
#include "model/model.h"
#include "server.h"

#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<curl/curl.h>)
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>
#define HAS_HEADER 1
#endif
#endif

#define KEY "sk-test-0123456789abcdef"
#define OK "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define STATUS(line) "HTTP/1.1 " line "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define SAYS(line, body) "HTTP/1.1 " line "\r\nConnection: close\r\n\r\n" body
#define CHUNK(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"},\"finish_reason\":null}]}\n\n"
#define FINISH(reason) "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"
#define USED(in, out) "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":" #in ",\"completion_tokens\":" #out "}}\n\n"
#define DONE "data: [DONE]\n\n"
#define GOOD OK CHUNK("Copy") CHUNK(" Q") FINISH("stop") USED(10, 2) DONE
#define CUT(text) OK CHUNK(text) FINISH("length") USED(10, 2) DONE

static const ModelMessage HELLO[] = {{MODEL_SYSTEM, "be brief"}, {MODEL_USER, "say \"Copy\"\n"}};

/* One question to a server that goes through steps. */
typedef struct Ask {
    Fixture *f;
    Server *server;
    ModelOptions options;
    const char *spec;
    Diags *diags;
    ModelAnswer answer;
    bool done;
    double seconds;
} Ask;

static Ask ask_of(Fixture *f, const Step *steps, int n)
{
    Ask ask = {.f = f, .options = model_options(), .spec = "openai:tiny", .diags = diags_new(f->arena, NULL)};

    ask.server = server_start(steps, n);
    ask.options.base_url = arena_printf(f->arena, "http://127.0.0.1:%d/v1/", server_port(ask.server));
    ask.options.pause = 0.002;
    return ask;
}

static void put(Ask *ask)
{
    double began = clock_seconds();
    Model *model = model_open(ask->f->arena, ask->spec, &ask->options, ask->diags);

    ask->done = model && model_ask(model, ask->f->arena, HELLO, 2, &ask->answer, ask->diags);
    ask->seconds = clock_seconds() - began;
    model_close(model);
    server_stop(ask->server);
}

static void expect_code(const Ask *ask, DiagCode code)
{
    assert_int_equal(ask->diags->list.len, 1);
    assert_string_equal(diag_info(ask->diags->list.data[0].code)->name, diag_info(code)->name);
    assert_true(ask->done == (diag_info(code)->severity == SEV_WARNING));
}

static void expect_note(const Ask *ask, const char *text)
{
    const char *note = ask->diags->list.data[0].note;

    if (!note || !strstr(note, text))
        fail_msg("the note is '%s' and should say '%s'", note ? note : "", text);
}

static void expect_answer(const Ask *ask, const char *text, int attempts)
{
    if (ask->diags->list.len) {
        diags_print(ask->diags, stderr, false);
        fail_msg("no diagnostic was expected");
    }
    assert_true(ask->done);
    assert_string_equal(ask->answer.text, text);
    assert_int_equal(ask->answer.attempts, attempts);
    assert_int_equal(ask->answer.finish, MODEL_DONE);
}

/* ---- questions ---------------------------------------------------------------------------- */

static json_t *question_of(const Ask *ask, int i)
{
    const char *body = strstr(server_request(ask->server, i), "\r\n\r\n");
    json_t *tree = json_loads(body ? body + 4 : "", 0, NULL);

    assert_non_null(tree);
    return tree;
}

static const char *text_in(const json_t *tree, const char *list, size_t i, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(json_object_get(tree, list), i), key));

    return text ? text : "";
}

static int number_in(const json_t *tree, const char *key)
{
    return (int)json_integer_value(json_object_get(tree, key));
}

static bool was_sent(const Ask *ask, int i, const char *text)
{
    return strstr(server_request(ask->server, i), text) != NULL;
}

static void a_question_to_openai(void **state)
{
    static const Step steps[] = {{.send = GOOD}};
    Ask ask = ask_of(*state, steps, 1);
    json_t *tree;

    ask.options.has_seed = true;
    ask.options.seed = 7;
    ask.options.temperature = 0.5;
    ask.options.max_tokens = 100;
    put(&ask);
    expect_answer(&ask, "Copy Q", 1);
    assert_int_equal(ask.answer.tokens_in, 10);
    assert_int_equal(ask.answer.tokens_out, 2);
    assert_false(ask.answer.tokens_guessed || ask.answer.has_cost);
    assert_true(was_sent(&ask, 0, "POST /v1/chat/completions HTTP/1.1\r\n"));
    assert_true(was_sent(&ask, 0, "\r\nAuthorization: Bearer " KEY "\r\n"));
    tree = question_of(&ask, 0);
    assert_string_equal(json_string_value(json_object_get(tree, "model")), "tiny");
    assert_true(json_is_true(json_object_get(tree, "stream")));
    assert_int_equal(number_in(tree, "seed"), 7);
    assert_int_equal(number_in(tree, "max_tokens"), 100);
    assert_true(json_number_value(json_object_get(tree, "temperature")) == 0.5);
    assert_string_equal(text_in(tree, "messages", 0, "role"), "system");
    assert_string_equal(text_in(tree, "messages", 1, "content"), "say \"Copy\"\n");
    json_decref(tree);
    server_free(ask.server);
}

static void a_question_to_anthropic(void **state)
{
    static const Step steps[] = {
        {.send = OK "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"Copy\"}}\n\n"
                    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}};
    Ask ask = ask_of(*state, steps, 1);
    json_t *tree;

    ask.spec = "claude-tiny";
    put(&ask);
    expect_answer(&ask, "Copy", 1);
    assert_true(ask.answer.tokens_guessed);
    assert_true(was_sent(&ask, 0, "POST /v1/messages HTTP/1.1\r\n"));
    assert_true(was_sent(&ask, 0, "\r\nx-api-key: " KEY "\r\n"));
    assert_true(was_sent(&ask, 0, "\r\nanthropic-version: "));
    assert_false(was_sent(&ask, 0, "Authorization"));
    tree = question_of(&ask, 0);
    assert_string_equal(text_in(tree, "system", 0, "text"), "be brief");
    assert_string_equal(text_in(tree, "messages", 0, "role"), "user");
    assert_int_equal(json_array_size(json_object_get(tree, "messages")), 1);
    assert_true(number_in(tree, "max_tokens") > 1000);
    json_decref(tree);
    server_free(ask.server);
}

static void answers_come_in_pieces(void **state)
{
    static const Step steps[] = {{.send = GOOD, .piece = 1}};
    Ask ask = ask_of(*state, steps, 1);

    put(&ask);
    expect_answer(&ask, "Copy Q", 1);
    server_free(ask.server);
}

static void answers_that_are_no_streams(void **state)
{
    static const Step steps[] = {{.send = SAYS("200 OK", "{\"choices\":[{\"message\":{\"content\":\"Copy\"},"
                                                         "\"finish_reason\":\"stop\"}],\"model\":\"real\"}")}};
    Ask ask = ask_of(*state, steps, 1);

    put(&ask);
    expect_answer(&ask, "Copy", 1);
    assert_string_equal(ask.answer.name, "real");
    server_free(ask.server);
}

/* ---- what passes, and what does not ---------------------------------------------------------- */

static void troubles_that_pass(void **state)
{
    static const Step troubles[] = {
        {.send = STATUS("408 Request Timeout")},
        {.send = STATUS("409 Conflict")},
        {.send = STATUS("429 Too Many Requests")},
        {.send = STATUS("500 Oh")},
        {.send = STATUS("502 Bad Gateway")},
        {.send = SAYS("503 Busy", "<html>")},
        {.send = STATUS("529 Overloaded")},
        {.send = NULL, .end = STEP_RESET},
        {.send = NULL},
        {.send = OK, .end = STEP_RESET},
        {.send = OK CHUNK("Cop"), .end = STEP_RESET},
        {.send = OK CHUNK("Cop") "data: {\"choi"},
        {.send = OK CHUNK("Cop") "data: {\"error\":{\"type\":\"server_error\"}}\n\n"},
        {.send = "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n" CHUNK("Cop")},
    };

    for (size_t i = 0; i < TW_COUNT(troubles); i++) {
        const Step steps[] = {troubles[i], {.send = GOOD}};
        Ask ask = ask_of(*state, steps, 2);

        put(&ask);
        expect_answer(&ask, "Copy Q", 2);
        assert_int_equal(server_requests(ask.server), 2);
        server_free(ask.server);
    }
}

static void troubles_that_stay(void **state)
{
    static const struct {
        Step step;
        DiagCode code;
    } cases[] = {
        {{.send = STATUS("503 Busy")}, TW1012},
        {{.send = NULL, .end = STEP_RESET}, TW1006},
        {{.send = OK CHUNK("Cop"), .end = STEP_RESET}, TW1014},
    };

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Ask ask = ask_of(*state, &cases[i].step, 1);

        ask.options.attempts = 3;
        put(&ask);
        expect_code(&ask, cases[i].code);
        expect_note(&ask, "after 3 attempts");
        assert_int_equal(server_requests(ask.server), 3);
        assert_int_equal(ask.answer.attempts, 3);
        server_free(ask.server);
    }
}

static void troubles_that_are_not_tried_again(void **state)
{
    static const struct {
        const char *send;
        DiagCode code;
        const char *note;
    } cases[] = {
        {SAYS("400 Bad", "{\"error\":{\"message\":\"no such field\"}}"), TW1009, "no such field"},
        {SAYS("401 No", "{\"error\":{\"message\":\"who?\"}}"), TW1008, "TW_API_KEY"},
        {SAYS("402 Pay", "{}"), TW1010, "/v1/chat/completions"},
        {SAYS("403 No", "go away"), TW1008, "go away"},
        {SAYS("404 No", "{\"detail\":\"Not Found\"}"), TW1009, "/chat/completions was asked"},
        {SAYS("413 Long", ""), TW1009, "/v1/chat/completions"},
        {SAYS("429 No", "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}"), TW1010, "pay"},
        {OK "data: {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"long\"}}\n\n", TW1009, "long"},
        {OK "data: what?\n\n", TW1013, NULL},
        {OK "<html>Welcome</html>", TW1013, "address"},
        {OK FINISH("content_filter"), TW1020, NULL},
        {OK FINISH("stop"), TW1016, NULL},
        {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", TW1005, "no other"},
    };

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const Step steps[] = {{.send = cases[i].send}, {.send = GOOD}};
        Ask ask = ask_of(*state, steps, 2);

        put(&ask);
        expect_code(&ask, cases[i].code);
        if (cases[i].note)
            expect_note(&ask, cases[i].note);
        assert_int_equal(server_requests(ask.server), 1);
        server_free(ask.server);
    }
}

static void nobody_listens(void **state)
{
    static const Step steps[] = {{.send = GOOD}};
    Ask ask = ask_of(*state, steps, 1);

    server_stop(ask.server);
    put(&ask);
    expect_code(&ask, TW1006);
    assert_int_equal(ask.answer.attempts, 1);
    assert_int_equal(ask.answer.tokens_in, 0);
    server_free(ask.server);
}

/* ---- pauses ------------------------------------------------------------------------------------ */

static const char *date_in(Fixture *f, int seconds)
{
    time_t at = time(NULL) + seconds;
    struct tm tm;
    char text[64];

    gmtime_r(&at, &tm);
    strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return arena_strdup(f->arena, text);
}

static void pauses_that_are_asked_for(void **state)
{
    static const Step steps[] = {
        {.send = "HTTP/1.1 429 No\r\nRetry-After-Ms: 60\r\nContent-Length: 0\r\n\r\n"}, {.send = GOOD}};
    Ask ask = ask_of(*state, steps, 2);

    put(&ask);
    expect_answer(&ask, "Copy Q", 2);
    assert_true(ask.seconds >= 0.06 && ask.seconds < 5);
    server_free(ask.server);
}

/* What is asked for in seconds or as a date is beyond all patience: nothing is waited for. */
static void pauses_that_are_too_long(void **state)
{
    Fixture *f = *state;
    const char *const after[] = {"3600", date_in(f, 3600)};

    for (size_t i = 0; i < TW_COUNT(after); i++) {
        const Step steps[] = {{.send = arena_printf(
            f->arena, "HTTP/1.1 503 No\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", after[i])}};
        Ask ask = ask_of(f, steps, 1);

        ask.options.limits.whole = 60;
        put(&ask);
        expect_code(&ask, TW1012);
        expect_note(&ask, "beyond the limit of 60 s");
        assert_true(ask.seconds < 5);
        server_free(ask.server);
    }
}

static void pauses_grow(void **state)
{
    static const Step steps[] = {{.send = STATUS("500 Oh")}};
    Ask ask = ask_of(*state, steps, 1);

    ask.options.pause = 0.02;
    ask.options.attempts = 4;
    put(&ask);
    expect_code(&ask, TW1012);
    assert_true(ask.seconds >= 0.5 * (0.02 + 0.04 + 0.08));
    server_free(ask.server);
}

/* ---- time ---------------------------------------------------------------------------------------- */

static void limits_of_time(void **state)
{
    static const struct {
        Step step;
        ModelLimits limits;
        const char *note;
        const char *scheme;
    } cases[] = {
        {{.send = NULL, .end = STEP_HANG}, {.first = 0.05}, "no answer began within 0.05 s", "http"},
        {{.send = OK, .end = STEP_HANG}, {.first = 0.05, .silence = 60}, "no answer began within 0.05 s", "http"},
        {{.send = OK CHUNK("Cop"), .end = STEP_HANG}, {.first = 60, .silence = 0.05},
         "nothing more of the answer came for 0.05 s", "http"},
        {{.send = OK ": a\n\n: b\n\n: c\n\n: d\n\n: e\n\n: f\n\n: g\n\n", .piece = 1, .pause = 20}, {.silence = 10, .whole = 0.1},
         "no answer was complete after 0.1 s", "http"},
        {{.send = NULL, .end = STEP_HANG}, {.connect = 0.05}, "no connection to https://", "https"},
    };

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Ask ask = ask_of(*state, &cases[i].step, 1);

        ask.options.limits = cases[i].limits;
        ask.options.attempts = 1;
        ask.options.base_url =
            arena_printf(ask.f->arena, "%s://127.0.0.1:%d", cases[i].scheme, server_port(ask.server));
        put(&ask);
        expect_code(&ask, TW1007);
        expect_note(&ask, cases[i].note);
        assert_true(ask.seconds < 5);
        server_free(ask.server);
    }
}

/* Bytes without words keep a connection alive: a limit of silence does not pass. */
static void keep_alives_keep_alive(void **state)
{
    static const Step steps[] = {
        {.send = OK ": a\n\n: b\n\n: c\n\n: d\n\n" CHUNK("Copy") FINISH("stop"), .piece = 40, .pause = 100}};
    Ask ask = ask_of(*state, steps, 1);

    ask.options.limits.silence = 0.6;
    put(&ask);
    expect_answer(&ask, "Copy", 1);
    assert_true(ask.seconds > 0.6);
    server_free(ask.server);
}

typedef struct Watch {
    ModelPhase phase; /* that is given up in */
    bool seen[MODEL_PAUSING + 1];
} Watch;

static bool give_up_in(void *user, const ModelProgress *progress)
{
    Watch *watch = user;

    watch->seen[progress->phase] = true;
    assert_true((progress->reason != NULL) == (progress->phase == MODEL_PAUSING));
    return progress->phase != watch->phase;
}

static void a_watch_gives_up(void **state)
{
    static const struct {
        Step step;
        ModelPhase phase;
        const char *text;
    } cases[] = {
        {{.send = NULL, .end = STEP_HANG}, MODEL_WAITING, ""},
        {{.send = OK CHUNK("Cop"), .end = STEP_HANG}, MODEL_ANSWERING, "Cop"},
        {{.send = OK "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n", .end = STEP_HANG}, MODEL_THINKING, ""},
        {{.send = STATUS("503 Busy")}, MODEL_PAUSING, ""},
    };

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Ask ask = ask_of(*state, &cases[i].step, 1);
        Watch watch = {.phase = cases[i].phase};

        ask.options.watch = give_up_in;
        ask.options.user = &watch;
        ask.options.pause = 10;
        put(&ask);
        expect_code(&ask, TW1018);
        assert_true(watch.seen[watch.phase] && ask.seconds < 5);
        assert_string_equal(ask.answer.text, cases[i].text);
        assert_int_equal(ask.answer.finish, MODEL_BROKEN);
        server_free(ask.server);
    }
}

/* ---- answers that are cut ------------------------------------------------------------------------- */

static void a_cut_answer_goes_on(void **state)
{
    static const Step steps[] = {
        {.send = CUT("Copy ")}, {.send = STATUS("503 Busy")}, {.send = CUT("Q from")}, {.send = OK CHUNK(" global") FINISH("stop")}};
    Ask ask = ask_of(*state, steps, 4);
    json_t *tree;

    put(&ask);
    expect_answer(&ask, "Copy Q from global", 2);
    assert_int_equal(ask.answer.continuations, 2);
    assert_int_equal(server_requests(ask.server), 4);
    tree = question_of(&ask, 3);
    assert_int_equal(json_array_size(json_object_get(tree, "messages")), 4);
    assert_string_equal(text_in(tree, "messages", 2, "role"), "assistant");
    assert_string_equal(text_in(tree, "messages", 2, "content"), "Copy Q from");
    json_decref(tree);
    server_free(ask.server);
}

static void a_cut_answer_says_so(void **state)
{
    static const Step steps[] = {{.send = CUT("Copy ")}};
    Ask ask = ask_of(*state, steps, 1);

    ask.options.continuations = 1;
    put(&ask);
    expect_code(&ask, TW1015);
    assert_string_equal(ask.answer.text, "Copy Copy ");
    assert_int_equal(ask.answer.finish, MODEL_CUT);
    assert_int_equal(ask.answer.tokens_in, 20);
    server_free(ask.server);
}

static void a_cut_answer_that_is_not_gone_on_with(void **state)
{
    static const Step steps[] = {{.send = CUT("Copy ")}, {.send = STATUS("400 Too long")}};
    Ask ask = ask_of(*state, steps, 2);

    put(&ask);
    expect_code(&ask, TW1015);
    expect_note(&ask, "would not go on");
    assert_string_equal(ask.answer.text, "Copy ");
    assert_int_equal(ask.answer.finish, MODEL_CUT);
    server_free(ask.server);
}

static void a_cut_answer_that_is_all_that_is_paid_for(void **state)
{
    static const Step steps[] = {{.send = CUT("Copy ")}};
    ModelPurse purse = {.most_tokens = 15};
    Ask ask = ask_of(*state, steps, 1);

    ask.options.purse = &purse;
    put(&ask);
    expect_code(&ask, TW1015);
    expect_note(&ask, "the budget");
    assert_string_equal(ask.answer.text, "Copy ");
    assert_int_equal(server_requests(ask.server), 1);
    server_free(ask.server);
}

static void nothing_to_go_on_with(void **state)
{
    static const Step steps[] = {
        {.send = OK "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n" FINISH("length")}};
    Ask ask = ask_of(*state, steps, 1);

    put(&ask);
    expect_code(&ask, TW1016);
    expect_note(&ask, "only thought");
    assert_string_equal(ask.answer.reasoning, "hm");
    assert_int_equal(server_requests(ask.server), 1);
    server_free(ask.server);
}

/* ---- keys -------------------------------------------------------------------------------------------- */

static void a_key_that_is_echoed(void **state)
{
    static const char *const echoes[] = {
        SAYS("401 No", "{\"error\":{\"message\":\"no key " KEY " here\"}}"),
        SAYS("400 No", "you sent " KEY),
        SAYS("404 No", "{\"error\":{\"message\":\"\\u0073k-test-0123456789abcdef\"}}"),
        OK CHUNK("your key is " KEY) FINISH("stop"),
        OK "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"" KEY "\"}}]}\n\n" CHUNK("Copy") FINISH("stop"),
        OK "data: {\"model\":\"" KEY "\",\"choices\":[{\"delta\":{\"content\":\"sk-test-01\"}}]}\n\n"
            CHUNK("23456789abcdef") FINISH("stop"),
    };

    for (size_t i = 0; i < TW_COUNT(echoes); i++) {
        const Step steps[] = {{.send = echoes[i]}};
        Ask ask = ask_of(*state, steps, 1);
        Str all = str_new(ask.f->arena);

        put(&ask);
        diags_json(ask.diags, &all);
        str_printf(&all, "%s %s %s", ask.answer.text, ask.answer.reasoning, ask.answer.name ? ask.answer.name : "");
        assert_true(was_sent(&ask, 0, KEY));
        assert_null(strstr(str_text(&all), "0123456789abcdef"));
        assert_non_null(strstr(str_text(&all), "[key]"));
        server_free(ask.server);
    }
}

static void no_key_in_parameters(void **state)
{
    Fixture *f = *state;
    ModelOptions options = model_options();
    Str out = str_new(f->arena);
    Model *model;

    options.base_url = "https://localhost:1/v1";
    model = model_open(f->arena, "openai:x", &options, diags_new(f->arena, NULL));
    model_json(model, &out);
    assert_null(strstr(out.data, KEY));
    assert_non_null(strstr(out.data, "\"address\":\"https://localhost:1/v1/chat/completions\""));
    model_close(model);
}

/* A provider's key is for the provider's address alone. */
static void whose_key_it_is(void **state)
{
    static const Step steps[] = {{.send = GOOD}};
    Ask ask = ask_of(*state, steps, 1);

    unsetenv("TW_API_KEY");
    setenv("OPENAI_API_KEY", "sk-of-openai-alone", 1);
    put(&ask);
    expect_answer(&ask, "Copy Q", 1);
    assert_false(was_sent(&ask, 0, "Authorization") || was_sent(&ask, 0, "sk-of-openai"));
    unsetenv("OPENAI_API_KEY");
    server_free(ask.server);
}

static const char *key_file(Fixture *f, const char *text, mode_t mode)
{
    const char *folder = getenv("TMPDIR");
    char *path = arena_printf(f->arena, "%s/tw-key-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    chmod(path, mode);
    return path;
}

static void a_key_in_a_file(void **state)
{
    static const Step steps[] = {{.send = GOOD}};
    static const struct {
        const char *text;
        mode_t mode;
        bool good;
    } cases[] = {
        {"sk-of-a-file\n", 0600, true}, {"sk-of-a-file", 0400, true},   {"sk-of-a-file\n", 0644, false},
        {"sk-of-a-file\n", 0640, false}, {"sk-of-a-file\n", 0601, false}, {"", 0600, false},
        {"two\nlines\n", 0600, false},   {"not plain \x01\n", 0600, false},
    };

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Ask ask = ask_of(*state, steps, 1);

        ask.options.key_file = key_file(ask.f, cases[i].text, cases[i].mode);
        put(&ask);
        if (cases[i].good) {
            expect_answer(&ask, "Copy Q", 1);
            assert_true(was_sent(&ask, 0, "\r\nAuthorization: Bearer sk-of-a-file\r\n"));
        } else {
            expect_code(&ask, TW1003);
            assert_int_equal(server_requests(ask.server), 0);
        }
        unlink(ask.options.key_file);
        server_free(ask.server);
    }
}

static void expect_no_model(Fixture *f, const char *spec, const ModelOptions *options, DiagCode code)
{
    Diags *diags = diags_new(f->arena, NULL);

    assert_null(model_open(f->arena, spec, options, diags));
    assert_int_equal(diags->list.len, 1);
    assert_string_equal(diag_info(diags->list.data[0].code)->name, diag_info(code)->name);
}

static void keys_that_are_none(void **state)
{
    Fixture *f = *state;
    ModelOptions options = model_options();

    unsetenv("DEEPSEEK_API_KEY");
    expect_no_model(f, "deepseek-reasoner", NULL, TW1002);
    setenv("DEEPSEEK_API_KEY", "", 1);
    expect_no_model(f, "deepseek:deepseek-chat", NULL, TW1002);
    setenv("DEEPSEEK_API_KEY", "two words", 1);
    expect_no_model(f, "deepseek-chat", NULL, TW1003);
    setenv("DEEPSEEK_API_KEY", "line\r\nX-Header: more", 1);
    expect_no_model(f, "deepseek-chat", NULL, TW1003);
    unsetenv("DEEPSEEK_API_KEY");
    options.key_file = "/no/such/file";
    expect_no_model(f, "deepseek-chat", &options, TW1003);
    options.key_file = "/";
    expect_no_model(f, "deepseek-chat", &options, TW1003);
}

static void names_that_say_whose_they_are(void **state)
{
    static const struct {
        const char *spec, *provider;
    } cases[] = {
        {"deepseek-reasoner", "deepseek"}, {"claude-x", "anthropic"},   {"gpt-x", "openai"},
        {"o3-mini", "openai"},             {"gemini-x", "gemini"},      {"ollama:qwen:7b", "ollama"},
        {"openai:deepseek-x", "openai"},   {"llamacpp:x", "llamacpp"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        ModelOptions options = model_options();
        const char *expected = arena_printf(f->arena, "\"provider\":\"%s\"", cases[i].provider);
        Str out = str_new(f->arena);
        Model *model;

        options.base_url = "https://localhost/v1";
        model = model_open(f->arena, cases[i].spec, &options, diags_new(f->arena, NULL));
        assert_non_null(model);
        model_json(model, &out);
        assert_non_null(strstr(out.data, expected));
        model_close(model);
    }
}

static void the_manual_lists_the_providers(void **state)
{
    Fixture *f = *state;
    const char *error;
    Source *manual = source_read(f->arena, "docs/models.md", &error);
    int n;
    const ModelProvider *all = model_providers(&n);

    assert_non_null(manual);
    for (int i = 0; i < n; i++) {
        const char *row = arena_printf(f->arena, "\n| `%s` | `%s` | `%.*s`", all[i].name, all[i].address,
                                       (int)strcspn(all[i].variables, " "), all[i].variables);

        if (all[i].address && !strstr(manual->text, row))
            fail_msg("docs/models.md lacks the row%s", row);
    }
}

/* ---- addresses ------------------------------------------------------------------------------------------ */

static void addresses_that_are_refused(void **state)
{
    static const char *const urls[] = {"",
                                       "localhost:8000",
                                       "ftp://localhost",
                                       "file:///etc/passwd",
                                       "https://",
                                       "https:///v1",
                                       "https://user:secret@example.com/v1",
                                       "https://key@example.com",
                                       "https://example.com/v1?key=secret",
                                       "https://example.com/v1#x",
                                       "https://example.com/a b",
                                       "https://example.com/\r\nHost: evil"};

    for (size_t i = 0; i < TW_COUNT(urls); i++) {
        ModelOptions options = model_options();

        options.base_url = urls[i];
        expect_no_model(*state, "openai:x", &options, TW1005);
    }
}

static void without_libcurl(void **state)
{
    setenv("TW_LIBCURL", "/no/such/libcurl.so", 1);
    expect_no_model(*state, "ollama:x", NULL, TW1004);
    setenv("TW_LIBCURL", "libm.so.6", 1);
    expect_no_model(*state, "ollama:x", NULL, TW1004);
    unsetenv("TW_LIBCURL");
}

/* ---- money ---------------------------------------------------------------------------------------------- */

static void what_is_left_bounds_the_answer(void **state)
{
    static const Step steps[] = {{.send = GOOD}};
    ModelPurse purse = {.most_money = 0.001, .most_tokens = 1000};
    Ask ask = ask_of(*state, steps, 1);
    json_t *tree;

    ask.options.purse = &purse;
    ask.options.price_in = 0;
    ask.options.price_out = 10;
    put(&ask);
    expect_answer(&ask, "Copy Q", 1);
    tree = question_of(&ask, 0);
    assert_int_equal(number_in(tree, "max_tokens"), 100);
    json_decref(tree);
    assert_true(ask.answer.has_cost && purse.money > 1.9e-5 && purse.money < 2.1e-5);
    assert_int_equal(purse.tokens, 12);
    server_free(ask.server);
}

/* Attempts that broke are paid for as well, and stop where the purse is empty. */
static void broken_answers_are_paid_for(void **state)
{
    static const Step steps[] = {{.send = OK CHUNK("sixteen bytes...") USED(40, 40), .end = STEP_CLOSE}};
    ModelPurse purse = {.most_tokens = 200};
    Ask ask = ask_of(*state, steps, 1);

    ask.options.purse = &purse;
    put(&ask);
    expect_code(&ask, TW1011);
    assert_int_equal(server_requests(ask.server), 3);
    assert_int_equal(purse.tokens, 240);
    server_free(ask.server);
}

static void what_the_provider_says_it_costs(void **state)
{
    static const Step steps[] = {{.send = OK CHUNK("Copy") FINISH("stop")
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"cost\":0.25}}\n\n"}};
    ModelPurse purse = {0};
    Ask ask = ask_of(*state, steps, 1);

    ask.options.purse = &purse;
    put(&ask);
    expect_answer(&ask, "Copy", 1);
    assert_true(ask.answer.has_cost && ask.answer.cost == 0.25 && purse.money == 0.25);
    server_free(ask.server);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static const Step ROUGH[] = {{.send = STATUS("503 Busy")}, {.send = CUT("Copy ")}, {.send = GOOD}};

/* True: it came to an end although the n-th request for memory fails. */
static bool ask_with_failure(int n)
{
    Heap *heap = heap_new();
    Model *volatile model = NULL;
    Server *server = server_start(ROUGH, 3);
    volatile bool done = false;
    jmp_buf oom;

    heap->on_oom = &oom;
    heap->fail_in = n;
    heap->apart = true;
    if (setjmp(oom) == 0) {
        Arena *arena = arena_new(heap);
        ModelOptions options = model_options();
        ModelAnswer answer;

        options.base_url = arena_printf(arena, "http://127.0.0.1:%d", server_port(server));
        options.pause = 0.001;
        model = model_open(arena, "openai:x", &options, diags_new(arena, NULL));
        done = model_ask(model, arena, HELLO, 2, &answer, diags_new(arena, NULL));
        assert_string_equal(answer.text, "Copy Copy Q");
    }
    model_close(model);
    heap_free(heap);
    server_free(server);
    return done;
}

/* Whatever was begun is let go. */
static void memory_runs_out_anywhere(void **state)
{
    int n = 1;

    (void)state;
    while (!ask_with_failure(n)) {
        n += 1 + n / 8;
        assert_true(n < 2000);
    }
    assert_true(n > 20);
}

/* ---- libcurl ------------------------------------------------------------------------------------------------- */

#ifdef HAS_HEADER
static void the_numbers_are_libcurls(void **state)
{
    (void)state;
#define FUN(field, symbol, result, parameters)
#define NUM(name, number) assert_int_equal((long)TW_##name, (long)name);
#include "model/curl.def"
}
#endif

static int setup_key(void **state)
{
    setenv("TW_API_KEY", KEY, 1);
    return setup(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_key, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question_to_openai),
        TEST(a_question_to_anthropic),
        TEST(answers_come_in_pieces),
        TEST(answers_that_are_no_streams),
        TEST(troubles_that_pass),
        TEST(troubles_that_stay),
        TEST(troubles_that_are_not_tried_again),
        TEST(nobody_listens),
        TEST(pauses_that_are_asked_for),
        TEST(pauses_that_are_too_long),
        TEST(pauses_grow),
        TEST(limits_of_time),
        TEST(keep_alives_keep_alive),
        TEST(a_watch_gives_up),
        TEST(a_cut_answer_goes_on),
        TEST(a_cut_answer_says_so),
        TEST(a_cut_answer_that_is_not_gone_on_with),
        TEST(a_cut_answer_that_is_all_that_is_paid_for),
        TEST(nothing_to_go_on_with),
        TEST(a_key_that_is_echoed),
        TEST(no_key_in_parameters),
        TEST(whose_key_it_is),
        TEST(a_key_in_a_file),
        TEST(keys_that_are_none),
        TEST(names_that_say_whose_they_are),
        TEST(the_manual_lists_the_providers),
        TEST(addresses_that_are_refused),
        TEST(without_libcurl),
        TEST(what_is_left_bounds_the_answer),
        TEST(broken_answers_are_paid_for),
        TEST(what_the_provider_says_it_costs),
        TEST(memory_runs_out_anywhere),
#ifdef HAS_HEADER
        TEST(the_numbers_are_libcurls),
#endif
    };

    return cmocka_run_group_tests_name("client", tests, NULL, NULL);
}
