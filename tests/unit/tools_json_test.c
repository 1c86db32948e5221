/* Strings as JSON: what must be escaped is, wherever it stands, and nothing else. */
#include "support.h"
#include "tools/json.h"

#include <json-c/json.h>

enum { LENGTH = 24 };

/* TEXT as a string; to be freed. */
static char *quoted(const char *text, size_t length)
{
    struct buffer buffer = {0};

    assert_true(json_add_string(&buffer, text, length));
    return buffer_take(&buffer, NULL);
}

/* A reader makes of it what it was. */
static void assert_comes_back(const char *json, const char *text, size_t length)
{
    struct json_object *value = json_tokener_parse(json);

    assert_non_null(value);
    assert_int_equal(json_object_get_string_len(value), length);
    assert_memory_equal(json_object_get_string(value), text, length);
    json_object_put(value);
}

static void test_every_byte(void **state)
{
    (void)state;
    for (int byte = 0; byte < 0x80; byte++) {
        bool plain = byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f;

        for (size_t at = 0; at < LENGTH; at++) {
            char text[LENGTH];

            memset(text, 'a', LENGTH);
            text[at] = (char)byte;
            AUTO_FREE char *json = quoted(text, LENGTH);

            assert_int_equal(strlen(json) == LENGTH + 2, plain);
            for (const char *c = json; *c; c++)
                assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
            assert_comes_back(json, text, LENGTH);
        }
    }
}

static void test_beyond_ascii(void **state)
{
    static const struct {
        const char *character;
        const char *escaped;
    } rows[] = {{"\xc3\xa9", "\xc3\xa9"},         {"\xe2\x80\xa8", "\\u2028"},
                {"\xe2\x80\xa9", "\\u2029"},      {"\xe2\x80\xaf", "\xe2\x80\xaf"},
                {"\xe2\x82\xac", "\xe2\x82\xac"}, {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int before = 0; before < LENGTH; before++) {
            char text[64];
            char expected[64];

            snprintf(text, sizeof(text), "%.*s%s\n", before, "aaaaaaaaaaaaaaaaaaaaaaaa", rows[i].character);
            snprintf(expected, sizeof(expected), "\"%.*s%s\\n\"", before, "aaaaaaaaaaaaaaaaaaaaaaaa", rows[i].escaped);
            AUTO_FREE char *json = quoted(text, strlen(text));

            assert_string_equal(json, expected);
            assert_comes_back(json, text, strlen(text));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_byte), cmocka_unit_test(test_beyond_ascii)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
