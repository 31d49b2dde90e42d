/* test_model.c: models that are asked: programs, scripts; what they think, what they may
 * cost, how long they may take, and giving up. (test_client.c: over a network.) */
#include "fixture.h"
#include "model/model.h"

#include <cmocka.h>

static const ModelMessage HELLO[] = {{MODEL_USER, "hello"}};

static Diags *new_diags(Fixture *f)
{
    return diags_new(f->arena, NULL);
}

/* Asks once; the model is closed. */
static bool ask(Fixture *f, const char *spec, const ModelOptions *options, ModelAnswer *answer, Diags *diags)
{
    Model *model = model_open(f->arena, spec, options, diags);
    bool done;

    if (!model)
        return false;
    done = model_ask(model, f->arena, HELLO, 1, answer, diags);
    model_close(model);
    return done;
}

static void assert_code(const Diags *diags, DiagCode code)
{
    assert_int_equal(diags->list.len, 1);
    assert_string_equal(diag_info(diags->list.data[0].code)->name, diag_info(code)->name);
    assert_null(diags->list.data[0].source);
}

static void expect_failure(Fixture *f, const char *spec, const ModelOptions *options, DiagCode code)
{
    Diags *diags = new_diags(f);
    ModelAnswer answer;

    assert_false(ask(f, spec, options, &answer, diags));
    assert_code(diags, code);
}

static void expect_text(Fixture *f, const char *spec, const char *text)
{
    Diags *diags = new_diags(f);
    ModelAnswer answer;

    assert_true(ask(f, spec, NULL, &answer, diags));
    assert_string_equal(answer.text, text);
    assert_int_equal(diags->list.len, 0);
}

/* ---- specs ---------------------------------------------------------------------------- */

static void specs_that_name_nothing(void **state)
{
    static const char *const specs[] = {"", ":", "exec", "exec:", "execute:cat", "no such model"};

    for (size_t i = 0; i < TW_COUNT(specs); i++)
        expect_failure(*state, specs[i], NULL, TW1001);
}

static void parameters_as_json(void **state)
{
    Fixture *f = *state;
    ModelOptions options = model_options();
    Str out = str_new(f->arena);

    options.seed = 7;
    options.has_seed = true;
    options.temperature = 0.5;
    model_json(model_open(f->arena, "exec:cat \"x\"", &options, new_diags(f)), &out);
    assert_string_equal(out.data, "{\"spec\":\"exec:cat \\\"x\\\"\",\"provider\":\"exec\","
                                  "\"name\":\"cat \\\"x\\\"\",\"temperature\":0.5,\"seed\":7}");
}

/* ---- programs --------------------------------------------------------------------------- */

static void a_program_answers(void **state)
{
    expect_text(*state, "exec:cat", "hello");
    expect_text(*state, "exec:printf 'not %s' \"$(cat)\"", "not hello");
    expect_text(*state, "exec:echo did not read", "did not read\n");
    expect_text(*state, "exec:cat >&2; echo complained", "complained\n");
    expect_text(*state, "exec:printf 'a\\000b\\000'", "a\xef\xbf\xbd" "b\xef\xbf\xbd");
    expect_text(*state, "exec:exec 1>&1 2>&-; sleep 0.02; echo late", "late\n");
}

/* Both ways at once, more than pipes hold; and a program that leaves most unread. */
static void long_prompts_and_answers(void **state)
{
    enum { LONG = 1 << 20 };
    Fixture *f = *state;
    char *text = arena_alloc(f->arena, LONG + 1);
    ModelMessage message = {MODEL_USER, text};
    Diags *diags = new_diags(f);
    Model *model = model_open(f->arena, "exec:cat", NULL, diags);
    ModelAnswer answer;

    memset(text, 'x', LONG);
    assert_true(model_ask(model, f->arena, &message, 1, &answer, diags));
    assert_string_equal(answer.text, text);
    model = model_open(f->arena, "exec:head -c 3", NULL, diags);
    assert_true(model_ask(model, f->arena, &message, 1, &answer, diags));
    assert_string_equal(answer.text, "xxx");
}

static void turns_are_told_apart(void **state)
{
    static const ModelMessage messages[] = {
        {MODEL_SYSTEM, "be brief"}, {MODEL_USER, "one"}, {MODEL_ASSISTANT, "two"}, {MODEL_USER, "three"}};
    Fixture *f = *state;
    Diags *diags = new_diags(f);
    Model *model = model_open(f->arena, "exec:cat", NULL, diags);
    ModelAnswer answer;

    assert_true(model_ask(model, f->arena, messages, 4, &answer, diags));
    assert_string_equal(answer.text, "be brief\n\n[user]\none\n\n[assistant]\ntwo\n\n[user]\nthree");
    assert_true(model_ask(model, f->arena, messages, 2, &answer, diags));
    assert_string_equal(answer.text, "be brief\n\none");
}

static void a_program_fails(void **state)
{
    Fixture *f = *state;
    Diags *diags = new_diags(f);
    ModelAnswer answer;

    expect_failure(f, "exec:exit 3", NULL, TW1019);
    expect_failure(f, "exec:kill -9 $$", NULL, TW1019);
    expect_failure(f, "exec:/no/such/program", NULL, TW1019);
    assert_false(ask(f, "exec:echo half; echo broken >&2; exit 1", NULL, &answer, diags));
    assert_non_null(strstr(diags->list.data[0].note, "broken"));
    assert_string_equal(answer.text, "half\n");
    assert_int_equal(answer.finish, MODEL_BROKEN);
}

static void nothing_is_no_answer(void **state)
{
    expect_failure(*state, "exec:true", NULL, TW1016);
    expect_failure(*state, "exec:printf ' \\n\\t'", NULL, TW1016);
    expect_failure(*state, "exec:echo '<think>on and on'", NULL, TW1016);
}

static void an_endless_answer_ends(void **state)
{
    expect_failure(*state, "exec:yes", NULL, TW1017);
}

/* ---- time -------------------------------------------------------------------------------- */

static void limits_of_time(void **state)
{
    static const struct {
        const char *spec;
        ModelLimits limits;
        const char *note;
    } cases[] = {
        {"exec:sleep 10", {.first = 0.03}, "no answer began within 0.03 s"},
        {"exec:echo x; sleep 10", {.silence = 0.03}, "nothing more of the answer came for 0.03 s"},
        {"exec:while sleep 0.01; do echo x; done", {.whole = 0.08}, "no answer was complete after 0.08 s"},
        {"exec:echo x; exec >&- 2>&-; sleep 10", {.silence = 0.03}, "nothing more of the answer came for 0.03 s"},
        {"exec:trap '' TERM; sleep 10", {.first = 0.03}, "no answer began within 0.03 s"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        ModelOptions options = model_options();
        Diags *diags = new_diags(f);
        double began = clock_seconds();
        ModelAnswer answer;

        options.limits = cases[i].limits;
        assert_false(ask(f, cases[i].spec, &options, &answer, diags));
        assert_code(diags, TW1007);
        assert_string_equal(diags->list.data[0].note, cases[i].note);
        assert_true(clock_seconds() - began < 5);
    }
}

static bool give_up_at_the_first_byte(void *user, const ModelProgress *progress)
{
    *(int *)user += 1;
    assert_int_equal(progress->attempt, 1);
    return progress->bytes == 0;
}

static void a_watch_gives_up(void **state)
{
    Fixture *f = *state;
    ModelOptions options = model_options();
    Diags *diags = new_diags(f);
    ModelAnswer answer;
    int calls = 0;

    options.watch = give_up_at_the_first_byte;
    options.user = &calls;
    assert_false(ask(f, "exec:echo begun; sleep 10", &options, &answer, diags));
    assert_code(diags, TW1018);
    assert_string_equal(answer.text, "begun\n");
    assert_true(calls > 1 && answer.seconds < 5);
}

/* ---- thoughts ------------------------------------------------------------------------------ */

typedef struct Script {
    const char *text, *reasoning;
    int64_t tokens;
} Script;

static bool recite(void *user, Arena *arena, const ModelMessage *messages, int n, ModelAnswer *answer,
                   Diags *diags)
{
    const Script *script = user;

    (void)arena, (void)messages, (void)n, (void)diags;
    answer->text = script->text;
    answer->reasoning = script->reasoning;
    answer->tokens_in = answer->tokens_out = script->tokens;
    return true;
}

static void thoughts_are_kept_apart(void **state)
{
    static const struct {
        const char *said, *text, *reasoning;
    } cases[] = {
        {"plain", "plain", ""},
        {" plain <think>not a thought</think>", " plain <think>not a thought</think>", ""},
        {"<think>tiles</think>\n\nCopy", "Copy", "tiles"},
        {"\n<thinking>\n tiles \n</thinking>Copy", "Copy", "tiles"},
        {"<think>a < b, </thin>, <x></think>Copy", "Copy", "a < b, </thin>, <x>"},
        {"tiles</think>Copy", "Copy", "tiles"},
        {"<think>one</think> <reasoning>two</reasoning>Copy </think>", "Copy </think>", "one\n\ntwo"},
        {"<think></think>Copy", "Copy", ""},
        {"<thinker>Copy", "<thinker>Copy", ""},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Script script = {cases[i].said, NULL, 0};
        Diags *diags = new_diags(f);
        ModelAnswer answer;

        assert_true(model_ask(model_of(f->arena, "script", NULL, recite, &script), f->arena, HELLO, 1,
                              &answer, diags));
        assert_string_equal(answer.text, cases[i].text);
        assert_string_equal(answer.reasoning, cases[i].reasoning);
    }
}

/* ---- money ----------------------------------------------------------------------------------- */

static void a_purse_is_kept(void **state)
{
    Fixture *f = *state;
    Script script = {"yes", "hm", 1000};
    ModelPurse purse = {.most_money = 0.01};
    ModelOptions options = model_options();
    Diags *diags = new_diags(f);
    ModelAnswer answer;
    Model *one, *other;

    options.purse = &purse;
    options.price_in = 1;
    options.price_out = 4;
    one = model_of(f->arena, "one", &options, recite, &script);
    other = model_of(f->arena, "other", &options, recite, &script);
    assert_true(model_ask(one, f->arena, HELLO, 1, &answer, diags));
    assert_true(answer.has_cost && !answer.tokens_guessed);
    assert_true(answer.cost > 0.00499 && answer.cost < 0.00501);
    assert_true(model_ask(other, f->arena, HELLO, 1, &answer, diags));
    assert_int_equal(purse.tokens, 4000);
    assert_false(model_ask(one, f->arena, HELLO, 1, &answer, diags));
    assert_code(diags, TW1011);
    assert_string_equal(answer.text, "");
    assert_int_equal(purse.tokens, 4000);
}

static void tokens_are_bounded_too(void **state)
{
    Fixture *f = *state;
    ModelPurse purse = {.most_tokens = 4};
    ModelOptions options = model_options();
    Diags *diags = new_diags(f);
    ModelAnswer answer;

    options.purse = &purse;
    assert_true(ask(f, "exec:cat", &options, &answer, diags));
    assert_true(answer.tokens_guessed && !answer.has_cost);
    assert_int_equal(answer.tokens_in, 2);
    assert_int_equal(answer.tokens_out, 2);
    assert_false(ask(f, "exec:cat", &options, &answer, diags));
    assert_code(diags, TW1011);
}

static void no_budget_without_a_price(void **state)
{
    ModelPurse purse = {.most_money = 1};
    ModelOptions options = model_options();

    options.purse = &purse;
    expect_failure(*state, "exec:cat", &options, TW1011);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(specs_that_name_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(parameters_as_json, setup, teardown),
        cmocka_unit_test_setup_teardown(a_program_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(long_prompts_and_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(turns_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_program_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_no_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(an_endless_answer_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_of_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch_gives_up, setup, teardown),
        cmocka_unit_test_setup_teardown(thoughts_are_kept_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_purse_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(tokens_are_bounded_too, setup, teardown),
        cmocka_unit_test_setup_teardown(no_budget_without_a_price, setup, teardown),
    };

    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
