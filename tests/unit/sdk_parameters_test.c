/* Tables and arrays of parameters, as all providers read them. */
#include <sandlot/sdk/parameters.h>

#include "sdk_support.h"

#include <sandlot/sdk/cleanup.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef enum sandlot_status (*reader)(struct sandlot_call *call, const char *name, const char *text,
                                      struct json_object **result);

/* WANTED: the result as JSON, NULL for none; or the message, if it fails. */
static void check(reader read, const char *text, enum sandlot_status status, const char *wanted)
{
    AUTO_DOCUMENT struct json_object *result = NULL;
    struct test_call call;

    test_call_open(&call, 0);
    assert_int_equal(read(&call.call, "it", text, &result), status);
    if (status != SANDLOT_OK) {
        assert_null(result);
        assert_string_equal(call.message, wanted);
    } else if (wanted) {
        assert_string_equal(json_object_to_json_string_ext(result, JSON_C_TO_STRING_PLAIN), wanted);
    } else {
        assert_null(result);
    }
    test_call_close(&call);
}

static void test_nothing(void **state)
{
    static const reader readers[] = {parameter_texts, parameter_variables, parameter_ports};

    (void)state;
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
        check(readers[i], NULL, SANDLOT_OK, NULL);
        check(readers[i], "", SANDLOT_OK, NULL);
    }
}

static void test_texts(void **state)
{
    (void)state;
    check(parameter_texts, "{\"a b\":\"x\",\"n\":1,\"f\":1.5,\"t\":true}", SANDLOT_OK,
          "{\"a b\":\"x\",\"n\":\"1\",\"f\":\"1.5\",\"t\":\"true\"}");
    check(parameter_texts, "{}", SANDLOT_OK, "{}");
    check(parameter_texts, "{\"a\":[1]}", SANDLOT_INVALID_ARGUMENT, "it.a must be a text, a number or a boolean");
    check(parameter_texts, "{\"a\":null}", SANDLOT_INVALID_ARGUMENT, "it.a must be a text, a number or a boolean");
    check(parameter_texts, "{\"a\":\"x\\u0000y\"}", SANDLOT_INVALID_ARGUMENT,
          "it holds a NUL (\\u0000), with which a text would end; leave it out");
    check(parameter_texts, "{\"a\\u0000b\":\"x\"}", SANDLOT_INVALID_ARGUMENT,
          "it holds a NUL (\\u0000), with which a text would end; leave it out");
    check(parameter_texts, "{\"a\":\"\\\\u0000\"}", SANDLOT_OK, "{\"a\":\"\\\\u0000\"}");
    check(parameter_texts, "[1]", SANDLOT_INVALID_ARGUMENT, "it is no table such as {\"A\": \"1\"}");
}

static void test_variables(void **state)
{
    (void)state;
    check(parameter_variables, "{\"A\":1,\"_b2\":\"\"}", SANDLOT_OK, "{\"A\":\"1\",\"_b2\":\"\"}");
    check(parameter_variables, "{\"A-B\":\"1\"}", SANDLOT_INVALID_ARGUMENT,
          "it.A-B is no name for a variable; use letters, digits and \"_\"");
    check(parameter_variables, "{\"1A\":\"1\"}", SANDLOT_INVALID_ARGUMENT,
          "it.1A is no name for a variable; use letters, digits and \"_\"");
    check(parameter_variables, "{\"A\":{}}", SANDLOT_INVALID_ARGUMENT, "it.A must be a text, a number or a boolean");
}

static void test_ports(void **state)
{
    (void)state;
    check(parameter_ports, "[\"3000\",\"8080\"]", SANDLOT_OK, "[3000,8080]");
    check(parameter_ports, "[3000,8080]", SANDLOT_OK, "[3000,8080]");
    check(parameter_ports, "[]", SANDLOT_OK, "[]");
    check(parameter_ports, "[65535,1]", SANDLOT_OK, "[65535,1]");
    check(parameter_ports, "[65536]", SANDLOT_INVALID_ARGUMENT, "it: \"65536\" is no port; ports are 1 to 65535");
    check(parameter_ports, "[0]", SANDLOT_INVALID_ARGUMENT, "it: \"0\" is no port; ports are 1 to 65535");
    check(parameter_ports, "[\"80x\"]", SANDLOT_INVALID_ARGUMENT, "it: \"80x\" is no port; ports are 1 to 65535");
    check(parameter_ports, "[\"-1\"]", SANDLOT_INVALID_ARGUMENT, "it: \"-1\" is no port; ports are 1 to 65535");
    check(parameter_ports, "[null]", SANDLOT_INVALID_ARGUMENT, "it: \"null\" is no port; ports are 1 to 65535");
    check(parameter_ports, "[4294967296]", SANDLOT_INVALID_ARGUMENT,
          "it: \"4294967296\" is no port; ports are 1 to 65535");
    check(parameter_ports, "{}", SANDLOT_INVALID_ARGUMENT, "it is no array such as [1, 2]");
}

/* What was not said stays out. */
static void test_bodies(void **state)
{
    struct json_builder body = {0};
    struct test_call call;

    (void)state;
    test_call_open(&call, 0);
    parameter_set_text(&body, "text", "a");
    parameter_set_text(&body, "no.text", "");
    parameter_set_text(&body, "no.text", NULL);
    parameter_set_integer(&body, "number", 0);
    parameter_set_integer(&body, "no.number", SANDLOT_ABSENT_INTEGER);
    parameter_set_json(&body, "json", "[1]");
    parameter_set_json(&body, "no.json", "");
    assert_int_equal(parameter_set_texts(&call.call, &body, "labels", "it", "{\"a b\":1}"), SANDLOT_OK);
    assert_int_equal(parameter_set_texts(&call.call, &body, "no.labels", "it", NULL), SANDLOT_OK);
    assert_int_equal(parameter_set_variables(&call.call, &body, "env", "it", "{\"A\":1}"), SANDLOT_OK);
    assert_int_equal(parameter_set_variables(&call.call, &body, "no.env", "it", "{\"a b\":1}"),
                     SANDLOT_INVALID_ARGUMENT);
    assert_string_equal(call.message, "it.a b is no name for a variable; use letters, digits and \"_\"");
    char *text = json_finish(&body, NULL);

    assert_string_equal(text,
                        "{\"text\":\"a\",\"number\":0,\"json\":[1],\"labels\":{\"a b\":\"1\"},\"env\":{\"A\":\"1\"}}");
    free(text);
    assert_true(parameter_is_said("x") && !parameter_is_said("") && !parameter_is_said(NULL));
    test_call_close(&call);
}

/* ---- what is behind a provider ------------------------------------------------------------------------------------
 */

#define ACME_PARAMETERS(P)                            \
    P(string, place, "here", optional, "where it is") \
    P(integer, size, "7", optional, "how large it is")

struct parameters {
    ACME_PARAMETERS(PARAMETER_FIELD)
};

struct acme {
    struct parameters parameters;
    int zero;
};

static int cleared;

static void acme_init(struct acme *acme, const struct parameters *parameters)
{
    acme->parameters = *parameters;
}

static void acme_clear(struct acme *acme)
{
    cleared += (int)acme->parameters.size;
}

PARAMETER_OBJECT(acme, ACME_PARAMETERS, struct acme, acme_init, acme_clear)

static void test_object(void **state)
{
    struct test_call call;
    void *provider = NULL;

    (void)state;
    test_call_open(&call, 0);
    assert_int_equal(acme_open(&call.call, &provider, "there", 42), SANDLOT_OK);
    const struct acme *acme = provider;

    assert_string_equal(acme_parameters[1].name, "size");
    assert_string_equal(acme->parameters.place, "there");
    assert_int_equal(acme->parameters.size, 42);
    assert_int_equal(acme->zero, 0);
    acme_close(provider);
    acme_close(NULL);
    assert_int_equal(cleared, 42);
    test_call_close(&call);
}

static void test_variable(void **state)
{
    static const struct variable variables[] = {{"ACME_REGION", "north"}, {NULL, NULL}};
    struct test_call call;

    (void)state;
    test_call_open(&call, 0);
    call.variables = variables;
    assert_string_equal(parameter_or_variable(&call.call, "south", "ACME_REGION"), "south");
    assert_string_equal(parameter_or_variable(&call.call, "", "ACME_REGION"), "north");
    assert_string_equal(parameter_or_variable(&call.call, NULL, "ACME_REGION"), "north");
    assert_null(parameter_or_variable(&call.call, NULL, "ACME_ZONE"));
    test_call_close(&call);
}

static void test_labels(void **state)
{
    static const struct sandlot_label labels[] = {{"sandlot-run", "r1"}, {"a.b/c", "x"}};
    const struct sandlot_create request = {.size = sizeof(request), .labels = labels, .label_count = 2};
    struct json_builder body = {0};

    (void)state;
    parameter_set_labels(&body, "tags", &request);
    char *text = json_finish(&body, NULL);

    assert_string_equal(text, "{\"tags\":{\"sandlot-run\":\"r1\",\"a.b/c\":\"x\"}}");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing),   cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_variables), cmocka_unit_test(test_ports),
                                       cmocka_unit_test(test_bodies),    cmocka_unit_test(test_object),
                                       cmocka_unit_test(test_variable),  cmocka_unit_test(test_labels)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
