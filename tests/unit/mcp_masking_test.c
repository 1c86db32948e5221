/* What an MCP client sees of secrets and of a command's last line: none of the one, one clean line of the other. */
#include "base/redact.h"
#include "server/masking.h"
#include "server/tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int forget(void **state)
{
    (void)state;
    redact_clear();
    return 0;
}

static void expect_masked(const char *json, const char *wanted)
{
    char *masked = masking_apply(strdup(json));

    assert_non_null(masked);
    assert_string_equal(masked, wanted);
    free(masked);
}

static void test_nothing_to_hide(void **state)
{
    (void)state;
    expect_masked("[ { \"text\" : \"s3cret-value\" } ]", "[ { \"text\" : \"s3cret-value\" } ]"); /* to the byte */
}

static void test_strings(void **state)
{
    (void)state;
    redact_add("s3cret-value");
    expect_masked("[{\"type\":\"text\",\"text\":\"a s3cret-value/b\"}]", "[{\"type\":\"text\",\"text\":\"a ***/b\"}]");
    /* escapes hide nothing */
    expect_masked("[{\"text\":\"a s3cret\\u002dvalue\"}]", "[{\"text\":\"a ***\"}]");
    expect_masked("{\"a\":{\"b\":[\"s3cret-value\",1,null]}}", "{\"a\":{\"b\":[\"***\",1,null]}}");
}

static void test_secret_with_special_characters(void **state)
{
    (void)state;
    redact_add("pass\"word\\1");
    expect_masked("[{\"text\":\"x pass\\\"word\\\\1 y\"}]", "[{\"text\":\"x *** y\"}]");
}

static void test_nul_in_text(void **state)
{
    size_t length;

    (void)state;
    redact_add("s3cret-value");
    expect_masked("[{\"text\":\"a\\u0000s3cret-value\\u0000b\"}]", "[{\"text\":\"a\\u0000***\\u0000b\"}]");
    char *clean = redact_bytes("\0s3cret-value\0x", 15, &length);

    assert_int_equal(length, 6);
    assert_memory_equal(clean, "\0***\0x", 7);
    free(clean);
}

/* Not even a broken answer lets a secret through. */
static void test_no_json(void **state)
{
    (void)state;
    redact_add("s3cret-value");
    assert_null(masking_apply(strdup("[\"s3cret-value")));
    assert_null(masking_apply(NULL));
}

static void test_environment_files(void **state)
{
    char folder[] = "/tmp/mcp_masking_test.XXXXXX";
    char file[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/.env", folder);
    FILE *stream = fopen(file, "w");

    assert_non_null(stream);
    fputs("DATABASE=postgres-4711\nMODE=debug\n", stream);
    fclose(stream);
    char *before = getcwd(NULL, 0);

    assert_int_equal(chdir(folder), 0);
    unsetenv("SANDLOT_NO_ENV_FILE");
    struct environment *environment = environment_load(false);

    assert_int_equal(chdir(before), 0);
    free(before);
    unlink(file);
    rmdir(folder);
    masking_learn(environment);
    environment_free(environment);
    expect_masked("[\"debug postgres-4711\"]", "[\"debug ***\"]");
}

static void expect_tail(const char *output, const char *wanted)
{
    struct tail *tail = calloc(1, sizeof(*tail));
    size_t length = 0;

    assert_non_null(tail);
    for (const char *at = output; *at; at++)
        tail_add(tail, at, 1);
    char *line = tail_line(tail, &length);

    if (wanted) {
        assert_non_null(line);
        assert_string_equal(line, wanted);
        assert_int_equal(length, strlen(wanted));
    } else {
        assert_null(line);
    }
    free(line);
    free(tail);
}

static void test_tail(void **state)
{
    (void)state;
    redact_add("s3cret-value");
    expect_tail("", NULL);
    expect_tail("\n \n\t\n\x1b[0m\n", NULL);
    expect_tail("one\ntwo\n", "two");
    expect_tail("one\ntwo\n\n  \n", "two");
    expect_tail("10%\r20%\r30%", "30%");
    expect_tail("\x1b[31mred\x1b[0m\tx\x1b]0;title\a\x1b(B!\x07\n", "red x!");
    expect_tail("\x1b]8;;http://x\x1b\\link\n", "link");
    expect_tail("a\xff\xc2\x9bz\n", "a\xef\xbf\xbdz");
    expect_tail("token s3cret-value\n", "token ***");
}

static void test_tail_is_short(void **state)
{
    enum { MUCH = 100000 };
    struct tail *tail = calloc(1, sizeof(*tail));
    char *bytes = malloc(MUCH);
    size_t length;

    (void)state;
    assert_non_null(tail);
    assert_non_null(bytes);
    for (size_t i = 0; i + 1 < MUCH; i += 2)
        memcpy(bytes + i, "\xc3\xa4", 2);
    tail_add(tail, bytes, MUCH);
    char *line = tail_line(tail, &length);

    assert_non_null(line);
    assert_int_equal(length, 400); /* 200 characters of two bytes */
    free(line);
    free(bytes);
    free(tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_to_hide, forget),
        cmocka_unit_test_setup(test_strings, forget),
        cmocka_unit_test_setup(test_secret_with_special_characters, forget),
        cmocka_unit_test_setup(test_nul_in_text, forget),
        cmocka_unit_test_setup(test_no_json, forget),
        cmocka_unit_test_setup(test_environment_files, forget),
        cmocka_unit_test_setup(test_tail, forget),
        cmocka_unit_test_setup(test_tail_is_short, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
