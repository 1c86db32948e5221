/* Words for a shell, base64, keys, lines without secrets. */
#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/digest.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/jwt.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/text_format.h>

#include "../../sdk/lib/redact.h"
#include "../../sdk/lib/text.h"
#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* What a shell makes of WORD must be TEXT. */
static void check_word(const char *text)
{
    char *word = shell_word(text);
    char command[1024];
    char back[512] = "";

    snprintf(command, sizeof(command), "printf '%%s' %s", word);
    FILE *shell = popen(command, "r");

    assert_non_null(shell);
    size_t length = fread(back, 1, sizeof(back) - 1, shell);

    assert_int_equal(pclose(shell), 0);
    back[length] = '\0';
    assert_string_equal(back, text);
    free(word);
}

static void test_words(void **state)
{
    static const char *const words[] = {"echo", "a b", "it's", "", "x=1", NULL};
    static const char *const none[] = {NULL};
    char all[128];
    char *command = shell_words(words);
    char *empty = shell_words(none);

    (void)state;
    assert_string_equal(command, "echo 'a b' 'it'\\''s' '' 'x=1'");
    assert_string_equal(empty, "");
    free(command);
    free(empty);
    for (int i = 1; i < 128; i++)
        all[i - 1] = (char)i;
    all[127] = '\0';
    check_word(all);
    check_word("$(id) `id` \\ \"'\" ~ * ? ! # & ; | < >");
    check_word("\xc3\xa4\xff");
    check_word("plain/word-1.txt");
}

static void test_credentials(void **state)
{
    static const struct variable variables[] = {{"EMPTY", ""},      {"BLANK", " \t\n"},  {"SECOND", "two"},
                                                {"THIRD", "three"}, {"BROKEN", "key\n"}, {NULL, NULL}};
    struct test_call call;
    const char *found;
    const char *value = NULL;

    (void)state;
    test_call_open(&call, 0);
    call.variables = variables;
    assert_string_equal(credential_find(&call.call, "EMPTY|BLANK|SECOND|THIRD", &found), "two");
    assert_string_equal(found, "SECOND|THIRD");
    assert_string_equal(credential_find(&call.call, "THIRD", NULL), "three");
    assert_null(credential_find(&call.call, "NONE|EMPTY", NULL));
    assert_null(credential_find(&call.call, "", NULL));
    assert_int_equal(credential_require(&call.call, "Acme", "EMPTY|SECOND", &value), SANDLOT_OK);
    assert_string_equal(value, "two");
    assert_int_equal(credential_require(&call.call, "Acme", "A|B|C", &value), SANDLOT_AUTH);
    assert_string_equal(call.message,
                        "there is no key for Acme; set A, B or C (or SANDLOT_A, SANDLOT_B or SANDLOT_C) in "
                        "the environment or in a .env file");
    call.status = SANDLOT_OK;
    assert_int_equal(credential_require(&call.call, "Acme", "NONE|BROKEN", &value), SANDLOT_AUTH);
    assert_non_null(strstr(call.message, "value of BROKEN holds"));
    assert_null(strstr(call.message, "key\n"));
    test_call_close(&call);
}

static void check_source(struct test_call *call, const char *names, const char *wanted)
{
    char *source = credential_source(&call->call, names);

    if (wanted)
        assert_string_equal(source, wanted);
    else
        assert_null(source);
    free(source);
}

static void test_credential_sources(void **state)
{
    static const struct variable variables[] = {{"PLAIN", "one"},          {"OWN", "two"},
                                                {"SANDLOT_OWN", "two"},    {"BOTH", "three"},
                                                {"SANDLOT_BOTH", "three"}, {NULL, NULL}};
    struct test_call call;

    (void)state;
    test_call_open(&call, 0);
    call.variables = variables;
    check_source(&call, "NONE|PLAIN", "PLAIN");
    check_source(&call, "OWN|PLAIN", "SANDLOT_OWN");
    check_source(&call, "BOTH", "SANDLOT_BOTH");
    check_source(&call, "NONE", NULL);
    test_call_close(&call);
}

static void check_redacted(struct sdk_secrets *secrets, const char *text, const char *wanted)
{
    char *copy = strdup(text);

    sdk_redact(secrets, copy);
    assert_string_equal(copy, wanted);
    free(copy);
}

static void test_redaction(void **state)
{
    struct sdk_secrets secrets;

    (void)state;
    sdk_secrets_init(&secrets);
    check_redacted(&secrets, "nothing is secret", "nothing is secret");
    sdk_secrets_add(&secrets, "abcabc");
    sdk_secrets_add(&secrets, "a/b+c=");
    sdk_secrets_add(&secrets, "abc");
    sdk_secrets_add(&secrets, NULL);
    check_redacted(&secrets, "abcabc", "***");
    check_redacted(&secrets, "xabcabcabcx abc", "x***x abc");
    check_redacted(&secrets, "key=a%2Fb%2Bc%3D&k=a/b+c=.", "key=***&k=***.");
    check_redacted(&secrets, "", "");
    check_redacted(&secrets, "abc", "abc");
    sdk_secrets_clear(&secrets);
}

static void check_line(const char *text, size_t capacity, const char *wanted)
{
    char *line = malloc(capacity);

    sdk_one_line(line, capacity, text, strlen(text));
    assert_string_equal(line, wanted);
    free(line);
}

static void test_lines(void **state)
{
    (void)state;
    check_line("", 8, "");
    check_line(" a \t\r\n b ", 8, "a b");
    check_line("1234567", 8, "1234567");
    check_line("12345678", 8, "1234...");
    check_line("123\xc3\xa4xyz", 8, "123...");
    check_line("\xc3\xa4\xe2\x82\xac", 8, "\xc3\xa4\xe2\x82\xac");
    check_line("a\xffz\xc0\x80", 8, "a?z??");
    check_line("a\x1b[0m\xc2\x9b\xe2\x80\xa8z", 16, "a [0m z");
    check_line("\xf0\x9f\x98\x80\xed\xa0\x80", 16, "\xf0\x9f\x98\x80???");
}

static void check_base64(const char *bytes, const char *wanted)
{
    char text[16] = "################";
    size_t length = base64_write(text, bytes, strlen(bytes));

    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(text, wanted, length);
    assert_int_equal(text[length], '#');
}

/* READ: the bytes; NULL if TEXT is no base64. */
static void check_read(const char *text, const char *wanted)
{
    char bytes[64];
    size_t length = base64_read(bytes, text, strlen(text));

    assert_int_equal(length, wanted ? strlen(wanted) : SIZE_MAX);
    if (wanted)
        assert_memory_equal(bytes, wanted, length);
}

static void test_base64_read(void **state)
{
    char bytes[300];
    char text[500];
    char back[300];

    (void)state;
    check_read("", "");
    check_read("Zg==", "f");
    check_read("Zg", "f");
    check_read("Zm8=", "fo");
    check_read("Zm8", "fo");
    check_read("Zm9v", "foo");
    check_read("+/+//w==", "\xfb\xff\xbf\xff");
    check_read("-_-__w", "\xfb\xff\xbf\xff");
    check_read("Z", NULL);
    check_read("Zm9vZ", NULL);
    check_read("=", NULL);
    check_read("====", NULL);
    check_read("Zg=", NULL);
    check_read("Z===", NULL);
    check_read("Zm 9", NULL);
    check_read("Zm\n9", NULL);
    for (size_t length = 0; length < sizeof(bytes); length++) {
        test_pattern(bytes, length, length);
        assert_int_equal(base64_read(back, text, base64_write(text, bytes, length)), length);
        assert_memory_equal(back, bytes, length);
    }
}

/* The claims of a token with PAYLOAD in its middle. */
static struct json_object *claims_of(const char *payload)
{
    char token[500];
    char text[300];
    size_t length = base64_write(text, payload, strlen(payload));

    snprintf(token, sizeof(token), "e30.%.*s.c2ln", (int)length, text);
    return jwt_claims(token);
}

static void test_jwt(void **state)
{
    struct json_object *claims = claims_of("{\"owner_id\":\"me\"}");
    const char *owner = "";
    char token[200];
    char payload[64];
    char text[100];

    (void)state;
    assert_true(json_read_string(claims, "owner_id", &owner, NULL));
    assert_string_equal(owner, "me");
    json_object_put(claims);
    assert_null(claims_of("[]"));
    assert_null(claims_of("{"));
    assert_null(jwt_claims("a-key-that-is-none"));
    assert_null(jwt_claims("e30.e30"));
    assert_null(jwt_claims("e30.e30.e30.e30"));
    assert_null(jwt_claims("e30.*.e30"));
    assert_null(jwt_claims(""));
    assert_int_equal(jwt_lifetime_ms("none", 7), 7);
    assert_int_equal(jwt_lifetime_ms("e30.e30.e30", 7), 7);
    snprintf(payload, sizeof(payload), "{\"exp\":%lld}", (long long)time(NULL) + 100000);
    snprintf(token, sizeof(token), "e30.%.*s.x", (int)base64_write(text, payload, strlen(payload)), text);
    assert_in_range(jwt_lifetime_ms(token, 7), 90000000, 100000000);
    snprintf(payload, sizeof(payload), "{\"exp\":%d}", 1000);
    snprintf(token, sizeof(token), "e30.%.*s.x", (int)base64_write(text, payload, strlen(payload)), text);
    assert_int_equal(jwt_lifetime_ms(token, 7), 0);
    snprintf(token, sizeof(token), "e30.%.*s.x", (int)base64_write(text, "{\"exp\":1e300}", 13), text);
    assert_int_equal(jwt_lifetime_ms(token, 7), 7);
}

static void test_base64(void **state)
{
    char bytes[58];
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    (void)state;
    check_base64("", "");
    check_base64("f", "Zg==");
    check_base64("fo", "Zm8=");
    check_base64("foo", "Zm9v");
    check_base64("\xfb\xff\xbf\xff", "+/+//w==");
    assert_non_null(stream);
    memset(bytes, 0, sizeof(bytes));
    base64_print(stream, bytes, 0);
    base64_print(stream, bytes, 57);
    base64_print(stream, bytes, 58);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(size, 77 + 77 + 5);
    assert_string_equal(text + 77 + 76, "\nAA==\n");
    free(text);
}

static void test_digests(void **state)
{
    static const unsigned char bytes[] = {0, 0x1f, 0xff};
    char digits[DIGEST_SIZE];

    (void)state;
    assert_true(digest_of("abc", 3, digits));
    assert_string_equal(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_digits(bytes, sizeof(bytes), digits);
    assert_string_equal(digits, "001fff");
    digest_digits(bytes, 0, digits);
    assert_string_equal(digits, "");
}

/* A client is opened with the key and the name of its variable, or not at all. */
static void test_client_with_key(void **state)
{
    static const struct variable variables[] = {{"ACME_TOKEN", "k3y-of-acme"}, {NULL, NULL}};
    const struct http_options options = {.service = "Acme", .base_url = "http://127.0.0.1:9"};
    struct http_client *client = NULL;
    struct test_call call;

    (void)state;
    test_call_open(&call, 0);
    assert_int_equal(credential_open_client(&call.call, "ACME_API_KEY|ACME_TOKEN", options, &client), SANDLOT_AUTH);
    assert_null(client);
    test_call_close(&call);
    test_call_open(&call, 0);
    call.variables = variables;
    assert_int_equal(credential_open_client(&call.call, "ACME_API_KEY|ACME_TOKEN", options, &client), SANDLOT_OK);
    assert_non_null(client);
    http_client_close(client);
    test_call_close(&call);
}

static void test_text_is_word(void **state)
{
    static const char *const none[] = {"", " ", "a b", "a\n", "\ta", "a\x7f", "caf\xc3\xa9"};

    (void)state;
    assert_true(text_is_word("!"));
    assert_true(text_is_word("registry.example/python:3.12~"));
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_false(text_is_word(none[i]));
}

static void test_text_format(void **state)
{
    char *text = text_format("%s: %d", "X-Token", 7);

    (void)state;
    assert_string_equal(text, "X-Token: 7");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_credential_sources),
        cmocka_unit_test(test_redaction),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_base64_read),
        cmocka_unit_test(test_jwt),
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_client_with_key),
        cmocka_unit_test(test_text_format),
        cmocka_unit_test(test_text_is_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
