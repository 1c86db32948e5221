/* The MCP server's line reader: whole lines however the stream is cut, long ones thrown away, nothing else lost. */
#include "server/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LONGEST = 8 };

/* What was seen: each line followed by "|", "!" for one that was too long. */
static char seen[4096];
static size_t seen_length;

static void put(const char *bytes, size_t length)
{
    assert_true(seen_length + length < sizeof(seen));
    memcpy(seen + seen_length, bytes, length);
    seen_length += length;
    seen[seen_length] = '\0';
}

static void on_line(void *context, const char *text, size_t length)
{
    (void)context;
    put(text, length);
    put("|", 1);
}

static void on_long(void *context)
{
    (void)context;
    put("!", 1);
}

/* Feeds STREAM in pieces of every size; what comes out must be the same each time. */
static void expect_bytes(const char *stream, size_t length, const char *wanted, size_t wanted_length)
{
    for (size_t piece = 1; piece <= length + 1; piece++) {
        struct lines lines = {.longest = LONGEST, .line = on_line, .too_long = on_long};

        seen_length = 0;
        seen[0] = '\0';
        for (size_t at = 0; at < length; at += piece)
            lines_add(&lines, stream + at, length - at < piece ? length - at : piece);
        lines_end(&lines);
        lines_discard(&lines);
        assert_int_equal(seen_length, wanted_length);
        assert_memory_equal(seen, wanted, wanted_length);
    }
}

static void expect(const char *stream, const char *wanted)
{
    expect_bytes(stream, strlen(stream), wanted, strlen(wanted));
}

static void test_lines(void **state)
{
    (void)state;
    expect("", "");
    expect("a\nbc\n", "a|bc|");
    expect("a\r\nbc\r\n", "a|bc|");
    expect("\n\r\n\na\n\n", "a|");
    expect("  \n\t\r\n a \n", " a |");
    expect("a\rb\n", "a\rb|");
}

static void test_last_line_without_newline(void **state)
{
    (void)state;
    expect("a\nbc", "a|bc|");
    expect("a\nbc\r", "a|bc|");
    expect("a\n\r", "a|");
}

static void test_bytes_stay(void **state)
{
    (void)state;
    expect_bytes("a\0b\n\xff\n", 6, "a\0b|\xff|", 6);
}

static void test_limit(void **state)
{
    (void)state;
    expect("12345678\nx\n", "12345678|x|");
    expect("12345678\r\nx\n", "12345678|x|");
    expect("123456789\nx\n", "!x|");
    expect("123456789\r\nx\n", "!x|");
    expect("x\n1234567890123456789012345678901234567890\ny\n", "x|!y|");
    expect("123456789", "!");
    expect("12345678", "12345678|");
    expect("123456789\n123456789\nx\n", "!!x|");
}

/* A line without end is not kept: the room does not grow beyond what the longest line needs. */
static void test_endless_line(void **state)
{
    (void)state;
    enum { MUCH = 1 << 20 };
    struct lines lines = {.longest = 1000, .line = on_line, .too_long = on_long};
    char *junk = malloc(MUCH);

    assert_non_null(junk);
    memset(junk, 'x', MUCH);
    seen_length = 0;
    for (int i = 0; i < 64; i++)
        lines_add(&lines, junk, MUCH);
    assert_true(lines.room <= 4096);
    lines_add(&lines, "\nend\n", 5);
    assert_string_equal(seen, "!end|");
    lines_discard(&lines);
    free(junk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),        cmocka_unit_test(test_last_line_without_newline),
        cmocka_unit_test(test_bytes_stay),   cmocka_unit_test(test_limit),
        cmocka_unit_test(test_endless_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
