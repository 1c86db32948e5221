/* What the header fields of a request over HTTP must say. */
#include "support.h"

#include "server/http/checks.h"

#include <stdlib.h>

static const char *const origins[] = {"https://agent.example", "http://tools.example:8080", NULL};
static const struct http_access on_loopback = {.token = "t", .origins = origins, .address = "127.0.0.1"};
static const struct http_access open_to_all = {.origins = origins};
static const struct http_access everywhere = {.token = "t"};

static void origins_of_this_machine_and_named_ones(void **state)
{
    static const char *const allowed[] = {"http://localhost",      "http://localhost:5173",    "https://localhost:1",
                                          "http://127.0.0.1:80",   "http://[::1]:3000",        "HTTP://LocalHost:3000",
                                          "https://agent.example", "http://tools.example:8080"};
    static const char *const refused[] = {"null",
                                          "",
                                          "http://",
                                          "localhost",
                                          "ftp://localhost",
                                          "http://localhost.evil.example",
                                          "http://localhost:80.evil.example",
                                          "http://localhost@evil.example",
                                          "http://evil.example/localhost",
                                          "http://127.0.0.1.evil.example",
                                          "http://[::1",
                                          "http://[::1].evil.example",
                                          "http://[::2]",
                                          "http://agent.example",
                                          "https://agent.example:444",
                                          "http://tools.example"};

    (void)state;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        assert_true(http_origin_allowed(&on_loopback, "127.0.0.1:8080", allowed[i]));
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_false(http_origin_allowed(&on_loopback, "127.0.0.1:8080", refused[i]));
    assert_false(http_origin_allowed(&everywhere, "localhost:8080", "https://agent.example"));
}

/* Nothing but its origin tells a page from the clients that are meant. */
static void without_a_token_no_other_page_of_this_machine(void **state)
{
    (void)state;
    assert_false(http_origin_allowed(&open_to_all, "localhost:8080", "http://localhost:5173"));
    assert_false(http_origin_allowed(&open_to_all, "localhost:8080", "http://localhost"));
    assert_false(http_origin_allowed(&open_to_all, "localhost:8080", "http://127.0.0.1:8080"));
    assert_false(http_origin_allowed(&open_to_all, "evil.example", "http://evil.example"));
    assert_true(http_origin_allowed(&open_to_all, "localhost:8080", "http://localhost:8080"));
    assert_true(http_origin_allowed(&open_to_all, "localhost:8080", "https://agent.example"));
}

static void hosts_that_are_known(void **state)
{
    static const struct http_access other = {.address = "[fd00::1]"};

    (void)state;
    assert_true(http_host_allowed(&on_loopback, "127.0.0.1:8080"));
    assert_true(http_host_allowed(&on_loopback, "LOCALHOST"));
    assert_true(http_host_allowed(&on_loopback, "agent.example"));
    assert_true(http_host_allowed(&on_loopback, "tools.example:8080"));
    assert_true(http_host_allowed(&other, "[fd00::1]:80"));
    assert_false(http_host_allowed(&on_loopback, "[fd00::1]:80"));
    assert_false(http_host_allowed(&on_loopback, "evil.example"));
    assert_false(http_host_allowed(&on_loopback, "127.0.0.1.evil.example"));
    assert_false(http_host_allowed(&on_loopback, "127.0.0.1:80:80"));
    assert_false(http_host_allowed(&on_loopback, "localhost:8o"));
    assert_false(http_host_allowed(&on_loopback, ""));
    assert_false(http_host_allowed(&on_loopback, ":80"));
    assert_true(http_host_allowed(&everywhere, "192.168.1.1:8080"));
    assert_true(http_host_allowed(&everywhere, "[fd00::1]"));
    assert_false(http_host_allowed(&everywhere, "[fd00::1"));
    assert_false(http_host_allowed(&everywhere, "[]"));
    assert_false(http_host_allowed(&everywhere, "[evil.example]"));
    assert_false(http_host_allowed(&everywhere, "192.168.1.1.evil.example"));
    assert_false(http_host_allowed(&everywhere, "evil.example"));
}

static void the_whole_token_and_nothing_else(void **state)
{
    (void)state;
    assert_true(http_token_matches("secret-token", "Bearer secret-token"));
    assert_true(http_token_matches("secret-token", "bearer   secret-token"));
    assert_false(http_token_matches("secret-token", NULL));
    assert_false(http_token_matches("secret-token", ""));
    assert_false(http_token_matches("secret-token", "Bearer "));
    assert_false(http_token_matches("secret-token", "Bearer secret-toke"));
    assert_false(http_token_matches("secret-token", "Bearer secret-tokenx"));
    assert_false(http_token_matches("secret-token", "Bearer secret-tokensecret-token"));
    assert_false(http_token_matches("secret-token", "Basic secret-token"));
    assert_false(http_token_matches("secret-token", "secret-token"));
    assert_false(http_token_matches("", "Bearer "));
}

static void types_with_and_without_parameters(void **state)
{
    (void)state;
    assert_true(http_is_json("application/json"));
    assert_true(http_is_json("Application/JSON; charset=utf-8"));
    assert_true(http_is_json(" application/json"));
    assert_false(http_is_json("application/json5"));
    assert_false(http_is_json("text/plain"));
    assert_false(http_is_json(""));
    assert_false(http_is_json(NULL));
}

static void both_forms_must_be_welcome(void **state)
{
    (void)state;
    assert_true(http_accepts_both("application/json, text/event-stream"));
    assert_true(http_accepts_both("text/event-stream;q=0.5,application/json;q=1"));
    assert_true(http_accepts_both("*/*"));
    assert_true(http_accepts_both("text/html, */*;q=0.1"));
    assert_true(http_accepts_both("application/*, text/*"));
    assert_false(http_accepts_both("application/json"));
    assert_false(http_accepts_both("text/event-stream"));
    assert_false(http_accepts_both("application/jsonx, text/event-streamx"));
    assert_false(http_accepts_both(",,"));
    assert_false(http_accepts_both(""));
    assert_false(http_accepts_both(NULL));
}

static void decodes(const char *value, const char *expected)
{
    char *decoded = http_decode(value);

    if (expected)
        assert_string_equal(decoded, expected);
    else
        assert_null(decoded);
    free(decoded);
}

static void names_in_base64(void **state)
{
    (void)state;
    decodes("execute", "execute");
    decodes("  execute\t", "execute");
    decodes("", "");
    decodes("=?base64?ZXhlY3V0ZQ==?=", "execute");
    decodes(" =?BASE64?ZXhlY3V0ZQ==?= ", "execute");
    decodes("=?base64?"
            "?=",
            "");
    decodes("=?base64?w7w=?=", "ü");
    decodes("=?base64?ZXhlY3V0ZQ?=", NULL);
    decodes("=?base64?!!!!?=", NULL);
    decodes("=?base64?AAAA?=", NULL);
    decodes("=?base64?ZXhl", "=?base64?ZXhl");
    decodes("=?base64?=", "=?base64?=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(origins_of_this_machine_and_named_ones),
        cmocka_unit_test(without_a_token_no_other_page_of_this_machine),
        cmocka_unit_test(hosts_that_are_known),
        cmocka_unit_test(the_whole_token_and_nothing_else),
        cmocka_unit_test(types_with_and_without_parameters),
        cmocka_unit_test(both_forms_must_be_welcome),
        cmocka_unit_test(names_in_base64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
