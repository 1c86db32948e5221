/* Output kept up to a limit: head, tail, marker, whole characters. */
#include "operations/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void feed(struct output *output, const char *text, size_t piece)
{
    size_t length = strlen(text);

    for (size_t at = 0; at < length; at += piece)
        assert_true(output_add(output, text + at, length - at < piece ? length - at : piece));
}

/* What is left of TEXT with LIMIT, fed in pieces of every size: all must agree. */
static void expect(const char *text, size_t limit, const char *wanted, bool cut)
{
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        struct output output;
        size_t length;
        bool truncated;

        output_init(&output, limit);
        feed(&output, text, piece);
        assert_int_equal(output.total, strlen(text));
        char *result = output_take(&output, &length, &truncated);

        assert_string_equal(result, wanted);
        assert_int_equal(length, strlen(wanted));
        assert_int_equal(truncated, cut);
        free(result);
        output_clear(&output);
    }
}

static void test_fits(void **state)
{
    (void)state;
    expect("", 10, "", false);
    expect("hello\n", 10, "hello\n", false);
    expect("0123456789", 10, "0123456789", false);
}

static void test_cut(void **state)
{
    (void)state;
    expect("0123456789a", 10, "01234\n[... 1 bytes left out ...]\n6789a", true);
    expect("0123456789abcdefghijklmnopqrstuvwxyz", 10, "01234\n[... 26 bytes left out ...]\nvwxyz", true);
    expect("0123456789abcdefghijklmnopqrstuvwxyz", 7, "012\n[... 29 bytes left out ...]\nwxyz", true);
}

static void test_whole_characters(void **state)
{
    (void)state;
    /* the head would end inside the euro sign, the tail would begin inside it */
    expect("abc\xe2\x82\xac"
           "0123456789",
           10,
           "abc\n[... 8 bytes left out ...]\n"
           "56789",
           true);
    expect("0123456789\xe2\x82\xac"
           "abc",
           10,
           "01234\n[... 8 bytes left out ...]\n"
           "abc",
           true);
    /* bytes that never were UTF-8 stay */
    expect("\xff\xff\xff\xff\xff\xff\xff\xff", 6, "\xff\xff\xff\n[... 2 bytes left out ...]\n\xff\xff\xff", true);
}

static void test_memory_is_bounded(void **state)
{
    static char block[65536];
    struct output output;
    size_t length;
    bool truncated;

    (void)state;
    memset(block, 'x', sizeof(block));
    output_init(&output, 100000);
    for (int i = 0; i < 1000; i++)
        assert_true(output_add(&output, block, sizeof(block)));
    assert_true(output.capacity <= 131072);
    assert_int_equal(output.total, 65536000);
    char *text = output_take(&output, &length, &truncated);

    assert_true(truncated);
    assert_in_range(length, 100000, 100100);
    assert_non_null(strstr(text, "\n[... 65436000 bytes left out ...]\n"));
    free(text);
}

static void test_nul_bytes(void **state)
{
    struct output output;
    size_t length;
    bool truncated;

    (void)state;
    output_init(&output, 10);
    assert_true(output_add(&output, "a\0b", 3));
    char *text = output_take(&output, &length, &truncated);

    assert_int_equal(length, 3);
    assert_memory_equal(text, "a\0b", 4);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_whole_characters),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_nul_bytes),
    };

    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
