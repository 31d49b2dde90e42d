/* test_api.c: the public C interface, used as a stranger would. */
#include "tilewright.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char definition[] = "Operator scaled_product\n"
                                 "  Input  A (M, K)\n"
                                 "  Input  B (K, N)\n"
                                 "  Output C (M, N)\n"
                                 "  Compute GEMM A, B and get C\n"
                                 "  Compute Multiply C, 2 and get new C\n"
                                 "end\n";

static void a_definition_becomes_a_kernel(void **state)
{
    const char *sets[] = {"N=128", "K=256"};
    tw_options options = {.target = "sm_80", .dtype = "fp16", .settings = sets, .n_settings = 2};
    tw_kernel *k = tw_generate(definition, &options);

    (void)state;
    assert_non_null(k);
    assert_string_equal(tw_messages(k), "");
    assert_string_equal(tw_messages_json(k), "[]");
    assert_true(tw_ok(k));
    assert_string_equal(tw_name(k), "scaled_product");
    assert_non_null(strstr(tw_text(k, TW_SKETCH), "Kernel scaled_product"));
    assert_non_null(strstr(tw_text(k, TW_CODE), "Allocate"));
    assert_non_null(strstr(tw_text(k, TW_PTX), ".target sm_80"));
    assert_non_null(strstr(tw_text(k, TW_ABI), "\"tilewright\""));
    assert_non_null(strstr(tw_text(k, TW_HEADER), "#ifndef"));
    assert_null(tw_text(k, (tw_artefact)99));
    tw_free(k);
}

static void defaults_do(void **state)
{
    tw_kernel *k = tw_generate(definition, NULL);

    (void)state;
    assert_true(tw_ok(k));
    assert_non_null(strstr(tw_text(k, TW_PTX), "bf16"));
    tw_free(k);
    tw_free(NULL);
}

static void mistakes_are_told(void **state)
{
    const char *bad_set[] = {"N"};
    tw_options cases[] = {
        {.target = "sm_1"}, {.dtype = "fp3"}, {.settings = bad_set, .n_settings = 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_kernel *k = tw_generate(definition, &cases[i]);

        assert_false(tw_ok(k));
        assert_int_equal(strncmp(tw_messages(k), "error: ", 7), 0);
        assert_null(tw_text(k, TW_PTX));
        tw_free(k);
    }
}

static void diagnostics_are_both_text_and_json(void **state)
{
    tw_kernel *k = tw_generate("Operator x\n  Compute GEMM A, B and get C\nend\n", NULL);

    (void)state;
    assert_false(tw_ok(k));
    assert_non_null(strstr(tw_messages(k), "<definition>:2:"));
    assert_non_null(strstr(tw_messages_json(k), "\"line\":2"));
    tw_free(k);
}

static void versions_agree(void **state)
{
    (void)state;
    assert_string_equal(tw_version(), TW_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_becomes_a_kernel),
        cmocka_unit_test(defaults_do),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(diagnostics_are_both_text_and_json),
        cmocka_unit_test(versions_agree),
    };

    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
