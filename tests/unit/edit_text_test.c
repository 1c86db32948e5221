/* Replacing text: which spelling matches, how often, what is said when none does. */
#include "operations/edit_text.h"

#include "support.h"

#include <inttypes.h>
#include <time.h>

static struct edit_wish wish_of(const char *old_string, const char *new_string, bool all)
{
    return (struct edit_wish){.shown = "/w/a.py",
                              .old_string = old_string,
                              .old_length = strlen(old_string),
                              .new_string = new_string,
                              .new_length = strlen(new_string),
                              .replace_all = all};
}

/* RESULT NULL: nothing is to be written. */
static void check(const char *text, const char *old_string, const char *new_string, bool all, const char *wanted,
                  uint64_t wanted_count)
{
    struct edit_wish wish = wish_of(old_string, new_string, all);
    struct sandlot_error error = {0};
    AUTO_FREE char *result = NULL;
    size_t length = 99;
    uint64_t count = 99;

    if (edit_apply(&wish, text, strlen(text), &result, &length, &count, &error) != 0)
        fail_msg("'%s' in '%s': %s", old_string, text, error.message);
    assert_int_equal(count, wanted_count);
    if (!wanted) {
        assert_null(result);
        return;
    }
    assert_non_null(result);
    assert_string_equal(result, wanted);
    assert_int_equal(length, strlen(wanted));
}

static void check_bytes_refused(const char *text, size_t length, const char *old_string, bool all,
                                enum sandlot_code code, const char *part)
{
    struct edit_wish wish = wish_of(old_string, "new", all);
    struct sandlot_error error = {0};
    char *result = NULL;
    size_t result_length;
    uint64_t count;

    assert_int_equal(edit_apply(&wish, text, length, &result, &result_length, &count, &error), -1);
    assert_null(result);
    assert_int_equal(error.code, code);
    assert_contains(error.message, part);
    assert_contains(error.message, "/w/a.py");
    assert_true(strlen(error.message) < 2000);
    if (code == SANDLOT_CODE_STRING_NOT_FOUND)
        assert_contains(error.message, "not found");
    if (code == SANDLOT_CODE_MULTIPLE_OCCURRENCES)
        assert_contains(error.message, "multiple");
    sandlot_error_clear(&error);
}

static void check_refused(const char *text, const char *old_string, enum sandlot_code code, const char *part)
{
    check_bytes_refused(text, strlen(text), old_string, false, code, part);
}

static void check_not_found(const char *text, const char *old_string, const char *part)
{
    check_bytes_refused(text, strlen(text), old_string, false, SANDLOT_CODE_STRING_NOT_FOUND, part);
    check_bytes_refused(text, strlen(text), old_string, true, SANDLOT_CODE_STRING_NOT_FOUND, part);
}

static void test_replaced(void **state)
{
    (void)state;
    check("a b c", "b", "X", false, "a X c", 1);                                         /* E01 */
    check("a a a", "a", "bb", true, "bb bb bb", 3);                                      /* E03 */
    check("x = a.*[b]+$;", "a.*[b]+$", "y", false, "x = y;", 1);                         /* E06 */
    check("a a", "a", "$& $1 $$ \\1 \\n", true, "$& $1 $$ \\1 \\n $& $1 $$ \\1 \\n", 2); /* E07 */
    check("1\n2\n3\n", "1\n2\n", "one\n", false, "one\n3\n", 1);                         /* E08 */
    check("a b c", " b", "", false, "a c", 1);                                           /* E09 */
    check("a", "a", "", false, "", 1);                                                   /* E09 */
    check("aaa", "aa", "b", false, "ba", 1);                                             /* E21 */
    check("aaaaa", "aa", "b", true, "bba", 2);                                           /* E21 */
    check("a a", "a", "aa", true, "aa aa", 2);                                           /* E22 */
    check("\xef\xbb\xbf"
          "a",
          "a", "b", false,
          "\xef\xbb\xbf"
          "b",
          1); /* E24 */
    check("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", "\xc3\xbc\xc3\x9f", "\xe2\x82\xac", false,
          "gr\xe2\x82\xac \xf0\x9f\x98\x80", 1); /* E32 */
}

static void test_same_e10_e11(void **state)
{
    (void)state;
    check("a b", "b", "b", false, NULL, 1);
    check("b b", "b", "b", true, NULL, 2);
    check_refused("b b", "b", SANDLOT_CODE_MULTIPLE_OCCURRENCES, "2 times");
    struct edit_wish wish = wish_of("b", "b", false);
    struct sandlot_error error = {0};
    char *result;
    size_t length;
    uint64_t count;

    assert_int_equal(edit_apply(&wish, "b b", 3, &result, &length, &count, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_MULTIPLE_OCCURRENCES);
    sandlot_error_clear(&error);
}

static void test_empty_old_e12_e13_e14(void **state)
{
    (void)state;
    check_bytes_refused("a", 1, "", false, SANDLOT_CODE_EMPTY_OLD_STRING, "empty");
    check_bytes_refused("a", 1, "", true, SANDLOT_CODE_EMPTY_OLD_STRING, "empty");
    check("", "", "new\n", false, "new\n", 1);
    check("", "", "new\n", true, "new\n", 1);
    check("", "", "", false, NULL, 0);
}

static void test_line_ends(void **state)
{
    (void)state;
    check("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", 1);             /* E15 */
    check("a\r\nb\r\nc\r\n", "b", "x", false, "a\r\nx\r\nc\r\n", 1);                           /* E16 */
    check("a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\ny\r\n", 1);                               /* E17 */
    check("a\nb\nc\n", "a\r\nb", "x\r\ny", false, "x\ny\nc\n", 1);                             /* E18 */
    check("a\nb\n-\na\r\nb\r\n-\na\nb\n", "a\nb\n", "x\n", true, "x\n-\na\r\nb\r\n-\nx\n", 2); /* E19 */
    check("a\r\nb\r\n-\na\nb\n", "a\r\nb\r\n", "x\r\n", true, "x\r\n-\na\nb\n", 1);            /* E19 */
    check("a\r\nb\r\n", "a\r\nb\n", "x\r\ny\n", false, "x\r\ny\r\n", 1); /* "\r\n" counts as one */
    check_refused("a\r\nb\r\n-\r\na\r\nb\r\n", "a\nb\n", SANDLOT_CODE_MULTIPLE_OCCURRENCES, "lines 1, 4)"); /* E20 */
}

static void test_several_e02(void **state)
{
    AUTO_FREE char *many = strdup("");

    (void)state;
    check_refused("a\nb\nc\na\n\na", "a", SANDLOT_CODE_MULTIPLE_OCCURRENCES,
                  "old_string occurs 3 times (lines 1, 4, 6) in /w/a.py");
    check_refused("a\nb\nc\na\n\na", "a", SANDLOT_CODE_MULTIPLE_OCCURRENCES, "set replace_all");
    check_refused("a\rb\r\na", "a", SANDLOT_CODE_MULTIPLE_OCCURRENCES, "(lines 1, 3)");
    check_refused("a a", "a", SANDLOT_CODE_MULTIPLE_OCCURRENCES, "(lines 1, 1)");
    for (int i = 0; i < 1000; i++)
        assert_true(text_append(&many, "a\n"));
    check_refused(many, "a", SANDLOT_CODE_MULTIPLE_OCCURRENCES,
                  "occurs 1000 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more)");
}

static void test_not_found_e04(void **state)
{
    (void)state;
    check_not_found("some text\n", "nothing", "old_string not found in /w/a.py. Read the file again");
    check_not_found("some text\n", "nothing", "\"nothing\"");
    check_not_found("\xc3\xa4", "a\xcc\x88", "not found"); /* E33 */
    check_not_found("", "x", "The file is empty");
    check_not_found("a", "aa", "not found");
}

static void test_final_newline_e31(void **state)
{
    (void)state;
    check_not_found("a\nlast", "last\n", "without the final newline");
    check_not_found("a\r\nlast", "a\nlast\n", "without the final newline");
    check_not_found("a\nlast", "a\r\nlast\r\n", "without the final newline");
    check_not_found("last\na", "last\n\n", "first line is at line 1"); /* not at the end */
}

static void test_indentation(void **state)
{
    static const char text[] = "def f():\n    if x:\n        return 1\n\n    return 2\n";

    (void)state;
    check_not_found(text, "if x:\n    return 1\n", "different indentation at line 2:");
    check_not_found(text, "\tif x:\n\t\treturn 1", "different indentation at line 2:");
    check_not_found(text, "        return 2\n", "different indentation at line 5:");
    check_not_found("a\r\n\tb\r\n\tc\r\n", "b\nc\n", "different indentation at line 2:");
    check_not_found("a  \nb\n", "a\nb\n", "white space at the ends of its lines at line 1:");
    check_not_found("maximum = 1\n", "  mum = 1\n", "Read the file again"); /* not the beginning of a line */
    check_not_found("a\nb\n", "   \n", "Read the file again");
}

static void test_line_numbers(void **state)
{
    static const char text[] = "zero\n    one\n    two\nthree\n";

    (void)state;
    check_not_found(text, " 2      one\n 3      two\n", "line 2 without the line numbers");
    check_not_found(text, "     2\t    one\n     3\t    two", "line 2 without the line numbers");
    check_not_found(text, "3\xe2\x86\x92    two\n", "line 3 without the line numbers");
    check_not_found(text, "  3:    two\n", "line 3 without the line numbers");
    check_not_found("one\n\ntwo\n", "1  one\n2\n3  two\n", "line 1 without the line numbers");
    check_not_found(text, "2  something\n", "Read the file again");
    check_not_found(text, "12\n", "Read the file again");
}

static void test_other_hints(void **state)
{
    (void)state;
    check_not_found("a\nb\r\nc\n", "a\nb\nc\n", "at line 1 has line ends of several kinds");
    check_not_found("0\nx = 1\ny = 2\n", "x = 1\ny = 3\n", "first line is at line 2");
}

/* A text that is too long is not looked through: the sentence is that of edit_error. */
static void test_not_diagnosed(void **state)
{
    AUTO_FREE char *text = malloc(EDIT_DIAGNOSED + 8);
    struct edit_wish wish = wish_of("  twice", "", false);
    struct sandlot_error error = {0};
    struct sandlot_error expected = {0};
    char *result;
    size_t length;
    uint64_t count;

    (void)state;
    memset(text, '.', EDIT_DIAGNOSED + 7);
    memcpy(text, "twice\n", 6);
    text[EDIT_DIAGNOSED + 7] = '\0';
    assert_int_equal(edit_apply(&wish, text, strlen(text), &result, &length, &count, &error), -1);
    assert_int_equal(edit_error(&wish, 0, &expected), -1);
    assert_int_equal(error.code, SANDLOT_CODE_STRING_NOT_FOUND);
    assert_string_equal(error.message, expected.message);
    sandlot_error_clear(&error);
    sandlot_error_clear(&expected);
    wish = wish_of("twice", "", false);
    memcpy(text + 1000, "twice", 5);
    assert_int_equal(edit_apply(&wish, text, strlen(text), &result, &length, &count, &error), -1);
    assert_int_equal(edit_error(&wish, 2, &expected), -1);
    assert_int_equal(error.code, SANDLOT_CODE_MULTIPLE_OCCURRENCES);
    assert_string_equal(error.message, expected.message);
    assert_contains(error.message, "occurs 2 times in /w/a.py");
    sandlot_error_clear(&error);
    sandlot_error_clear(&expected);
}

static void test_not_text_e23(void **state)
{
    (void)state;
    check_bytes_refused("a \xff b", 5, "a", false, SANDLOT_CODE_NOT_A_TEXT_FILE, "not a text file");
    check_bytes_refused("a\xe2\x82", 3, "a", false, SANDLOT_CODE_NOT_A_TEXT_FILE, "not a text file");
}

static void test_nul_is_text(void **state)
{
    struct edit_wish wish = {.shown = "a", .old_string = "\0b", .old_length = 2, .new_string = "\0\0", .new_length = 2};
    struct sandlot_error error = {0};
    AUTO_FREE char *result = NULL;
    size_t length;
    uint64_t count;

    (void)state;
    assert_int_equal(edit_apply(&wish, "a\0b\0c", 5, &result, &length, &count, &error), 0);
    assert_int_equal(length, 5);
    assert_memory_equal(result, "a\0\0\0c", 6);
}

/* Of a long old_string no more than the beginning is shown, in whole characters and on one line. */
static void test_long_messages(void **state)
{
    static const char *const characters[] = {"x", "\xf0\x9f\x98\x80", "\x1b", "\n", "\xc2\x9b"};

    (void)state;
    for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        AUTO_FREE char *old_string = strdup("");

        for (int n = 0; n < 1000; n++)
            assert_true(text_append(&old_string, "%s", characters[i]));
        check_not_found("text", old_string, "...\"");
        struct edit_wish wish = wish_of(old_string, "", false);
        struct sandlot_error error = {0};

        wish.shown = old_string;
        edit_error(&wish, 0, &error);
        assert_true(strlen(error.message) < 2000);
        assert_true(text_utf8_valid(error.message, strlen(error.message)));
        assert_null(strchr(error.message, '\n'));
        assert_null(strchr(error.message, '\x1b'));
        sandlot_error_clear(&error);
    }
}

static void test_large_e29_e34(void **state)
{
    AUTO_FREE char *text = malloc(3000001);
    AUTO_FREE char *old_string = calloc(1, 60001);
    AUTO_FREE char *new_string = calloc(1, 60001);
    struct sandlot_error error = {0};
    AUTO_FREE char *result = NULL;
    size_t length;
    uint64_t count;

    (void)state;
    memset(text, 'x', 3000000);
    text[3000000] = '\0';
    memset(old_string, 'o', 60000);
    memset(new_string, 'n', 60000);
    memcpy(text + 1500000, old_string, 60000);
    struct edit_wish wish = wish_of(old_string, new_string, false);

    assert_int_equal(edit_apply(&wish, text, 3000000, &result, &length, &count, &error), 0);
    assert_int_equal(count, 1);
    assert_int_equal(length, 3000000);
    assert_memory_equal(result, text, 1500000);
    assert_memory_equal(result + 1500000, new_string, 60000);
    assert_string_equal(result + 1560000, text + 1560000);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Time grows with the length of the text, whatever is in it. */
static void test_time(void **state)
{
    /* fewer to be replaced: AddressSanitizer's memmem looks at all of the text each time */
    enum { LENGTH = 1 << 20, REPLACED = 1 << 18 };
    AUTO_FREE char *text = malloc(LENGTH + 1);
    AUTO_FREE char *old_string = malloc(LENGTH / 2 + 1);
    AUTO_FREE char *result = NULL;
    double begin = seconds();
    struct sandlot_error error = {0};
    size_t length;
    uint64_t count;

    (void)state;
    for (size_t i = 0; i < LENGTH; i++)
        text[i] = "a\n"[i % 2];
    text[LENGTH] = '\0';
    memcpy(old_string, text, LENGTH / 2);
    old_string[LENGTH / 2 - 2] = 'b';
    old_string[LENGTH / 2] = '\0';
    check_not_found(text, old_string, "first line is at line 1");
    struct edit_wish wish = wish_of("a", "bc", true);

    assert_int_equal(edit_apply(&wish, text, REPLACED, &result, &length, &count, &error), 0);
    assert_int_equal(count, REPLACED / 2);
    assert_int_equal(length, REPLACED / 2 * 3);
    assert_true(seconds() - begin < 5.0);
}

static void check_candidates(const char *old_string, const char *new_string, size_t count,
                             const char *const wanted[][2])
{
    struct edit_wish wish = wish_of(old_string, new_string, false);
    struct edit_candidates candidates;

    assert_true(edit_candidates_make(&wish, &candidates));
    assert_int_equal(candidates.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(candidates.items[i].old_string, wanted[i][0]);
        assert_string_equal(candidates.items[i].new_string, wanted[i][1]);
        assert_int_equal(candidates.items[i].old_length, strlen(wanted[i][0]));
        assert_int_equal(candidates.items[i].new_length, strlen(wanted[i][1]));
    }
    edit_candidates_clear(&candidates);
    assert_int_equal(candidates.count, 0);
}

static void test_candidates(void **state)
{
    static const char *const one_line[][2] = {{"a", "x\n"}};
    static const char *const unix_lines[][2] = {{"a\nb", "x\n"}, {"a\r\nb", "x\r\n"}};
    static const char *const windows[][2] = {{"a\r\nb", "x\r\ny\n"}, {"a\nb", "x\ny\n"}};
    static const char *const mixed[][2] = {{"a\nb\r\n", "\r"}, {"a\r\nb\r\n", "\r"}, {"a\nb\n", "\r"}};

    (void)state;
    check_candidates("a", "x\n", 1, one_line);
    check_candidates("a\nb", "x\n", 2, unix_lines);
    check_candidates("a\r\nb", "x\r\ny\n", 2, windows);
    check_candidates("a\nb\r\n", "\r", 3, mixed);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_same_e10_e11),
        cmocka_unit_test(test_empty_old_e12_e13_e14),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_several_e02),
        cmocka_unit_test(test_not_found_e04),
        cmocka_unit_test(test_final_newline_e31),
        cmocka_unit_test(test_indentation),
        cmocka_unit_test(test_line_numbers),
        cmocka_unit_test(test_other_hints),
        cmocka_unit_test(test_not_diagnosed),
        cmocka_unit_test(test_not_text_e23),
        cmocka_unit_test(test_nul_is_text),
        cmocka_unit_test(test_long_messages),
        cmocka_unit_test(test_large_e29_e34),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_candidates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
