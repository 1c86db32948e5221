/* Pages of files: text or binary, lines, limits, and the same page from a whole file and from a window of it. */
#include "operations/page.h"

#include "support.h"

#include <inttypes.h>

static int fill_whole(const char *path, const void *bytes, size_t length, int64_t offset, int64_t limit,
                      struct sandlot_page *page, struct sandlot_error *error)
{
    struct page_wish wish = {.path = path, .shown = path, .offset = offset, .limit = limit};
    struct page_source source = {.head = bytes,
                                 .head_length = length,
                                 .window = bytes,
                                 .window_length = length,
                                 .whole = true,
                                 .window_ends = true,
                                 .total_lines = -1};

    *page = (struct sandlot_page){.size = sizeof(*page)};
    return page_fill(&wish, &source, page, error);
}

/* As a route reads a file larger than PAGE_WHOLE. */
static int fill_window(const char *path, const char *bytes, size_t length, int64_t offset, int64_t limit, bool counted,
                       struct sandlot_page *page, struct sandlot_error *error)
{
    struct page_wish wish = {.path = path, .shown = path, .offset = offset, .limit = limit};
    struct page_source source = {
        .head = bytes, .head_length = length < PAGE_HEAD ? length : PAGE_HEAD, .first_line = offset, .total_lines = -1};
    struct line_scan scan;

    *page = (struct sandlot_page){.size = sizeof(*page)};
    if (page_needs_lines(&wish, source.head, source.head_length)) {
        line_scan_init(&scan, offset);
        line_scan_feed(&scan, bytes, length);
        size_t begin = scan.found ? scan.found_at : length;
        size_t rest = length - begin;

        source.window = bytes + begin;
        source.window_length = rest < PAGE_WINDOW ? rest : PAGE_WINDOW;
        source.window_ends = source.window_length == rest;
        if (counted || !scan.found)
            source.total_lines = line_scan_total(&scan);
    }
    return page_fill(&wish, &source, page, error);
}

static struct sandlot_page read_bytes(const char *path, const void *bytes, size_t length, int64_t offset, int64_t limit)
{
    struct sandlot_error error = {0};
    struct sandlot_page page;

    if (fill_whole(path, bytes, length, offset, limit, &page, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(strlen(page.content) <= page.content_length, 1);
    assert_int_equal(page.content[page.content_length], '\0');
    assert_int_equal(page.size, sizeof(page));
    assert_true(page.binary || page.content_length <= SANDLOT_PAGE_BYTES);
    return page;
}

static struct sandlot_page read_text(const char *text, int64_t offset, int64_t limit)
{
    return read_bytes("/w/a.txt", text, strlen(text), offset, limit);
}

static void check_position(const struct sandlot_page *page, int64_t start, int64_t end, int64_t next, int64_t total)
{
    assert_int_equal(page->start_line, start);
    assert_int_equal(page->end_line, end);
    assert_int_equal(page->next_offset, next);
    assert_int_equal(page->total_lines, total);
}

/* Reads TEXT whole: CONTENT and the number of LINES. */
static void check_text(const char *row, const char *text, const char *content, int64_t lines)
{
    struct sandlot_page page = read_text(text, 0, 2000);

    if (strcmp(page.content, content) != 0 || page.total_lines != lines)
        fail_msg("%s: '%s' with %" PRId64 " lines", row, page.content, page.total_lines);
    check_position(&page, 1, lines, -1, lines);
    assert_false(page.binary || page.empty || page.no_lines_requested || page.truncated || page.lossy);
    free(page.content);
}

static void test_line_ends(void **state)
{
    (void)state;
    check_text("R01", "a\nb\nc", "a\nb\nc", 3);
    check_text("R02", "a\nb\nc\n", "a\nb\nc", 3);
    check_text("R03", "a\n\n", "a\n", 2);
    check_text("R05", "\n", "", 1);
    check_text("R06", "a\r\nb\r\n", "a\nb", 2);
    check_text("R07", "a\rb\r\rc", "a\nb\n\nc", 4);
    check_text("R07", "a\r", "a", 1);
    check_text("R08", "a\nb\r\nc\rd", "a\nb\nc\nd", 4);
    check_text("R08", "\n\r\n\r\r\n", "\n\n\n", 4);
    check_text("R08", "\n\r", "\n", 2);
    check_text("R09", "a\v\f\xe2\x80\xa8\xc2\x85z\n", "a\v\f\xe2\x80\xa8\xc2\x85z", 1);
    check_text("R45",
               "\xef\xbb\xbf"
               "a\n",
               "\xef\xbb\xbf"
               "a",
               1);
}

static void test_empty_r04_r19(void **state)
{
    static const char *const paths[] = {"/w/a.txt", "/w/a.png"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct sandlot_page page = read_bytes(paths[i / 2], "", 0, (int64_t)i, i % 2 ? 0 : 2000);

        assert_true(page.empty);
        assert_false(page.no_lines_requested || page.binary);
        assert_string_equal(page.content, "");
        check_position(&page, 0, 0, -1, -1);
        free(page.content);
    }
}

static void test_pages_r10_r11_r12_r13(void **state)
{
    AUTO_FREE char *many = strdup("");

    (void)state;
    struct sandlot_page page = read_text("1\n2\n3\n4\n5\n6\n7\n8\n9\n10", 5, 2000);

    assert_string_equal(page.content, "6\n7\n8\n9\n10");
    check_position(&page, 6, 10, -1, 10);
    free(page.content);
    page = read_text("1\r\n2\r\n3\r\n4\r\n5\r\n", 1, 2);
    assert_string_equal(page.content, "2\n3");
    check_position(&page, 2, 3, 3, 5);
    free(page.content);
    page = read_text("1\n2\n3\n4\n5\n", 3, 2);
    assert_string_equal(page.content, "4\n5");
    check_position(&page, 4, 5, -1, 5);
    free(page.content);
    page = read_text("1\n2\n3", 2, 1);
    check_position(&page, 3, 3, -1, 3);
    free(page.content);
    for (int i = 0; i < 2500; i++)
        assert_true(text_append(&many, "%d\n", i));
    page = read_text(many, 0, SANDLOT_DEFAULT_LINES);
    check_position(&page, 1, 2000, 2000, 2500);
    assert_false(page.truncated);
    free(page.content);
}

static void check_beyond(const char *text, int64_t offset, const char *lines)
{
    struct sandlot_error error = {0};
    struct sandlot_page page;
    char number[32];

    assert_int_equal(fill_whole("/w/a.txt", text, strlen(text), offset, 10, &page, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_OFFSET_OUT_OF_RANGE);
    snprintf(number, sizeof(number), "%" PRId64, offset);
    assert_contains(error.message, number);
    assert_contains(error.message, lines);
    assert_contains(error.message, "'/w/a.txt'");
    assert_null(page.content);
    sandlot_error_clear(&error);
}

static void test_beyond_r14_r15(void **state)
{
    (void)state;
    check_beyond("1\n2\n3", 3, "3 lines");
    check_beyond("1\n2\n3\n", 3, "3 lines");
    check_beyond("1\r\n2\r\n3\r\n", 3, "3 lines");
    check_beyond("1\r2\r3\r", 3, "3 lines");
    check_beyond("1\n2\n3\n", 1000000, "3 lines");
    check_beyond("1\n2\n3\n", INT64_MAX, "3 lines");
    check_beyond("x", 1, "1 line:");
}

static void test_no_lines_r17_r18(void **state)
{
    struct sandlot_page page = read_text("a\nb\n", 7, 0);

    (void)state;
    assert_true(page.no_lines_requested);
    assert_false(page.empty);
    assert_string_equal(page.content, "");
    check_position(&page, 0, 0, -1, -1);
    free(page.content);
}

static void check_binary(const char *path, const void *bytes, size_t length, bool binary)
{
    struct sandlot_page page = read_bytes(path, bytes, length, 0, 10);

    if (page.binary != binary)
        fail_msg("%s: binary %d", path, page.binary);
    if (binary) {
        assert_int_equal(page.content_length, length);
        assert_memory_equal(page.content, bytes, length);
        check_position(&page, 0, 0, -1, -1);
    }
    free(page.content);
}

static void test_suffix_r29_r30(void **state)
{
    char bytes[256];

    (void)state;
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    check_binary("/w/a.png", bytes, sizeof(bytes), true);
    check_binary("/w/a.PDF", "plain", 5, true);
    check_binary("/w/a.b.Jpeg", "plain", 5, true);
    check_binary("/w.png/a", "plain", 5, false);
    check_binary("/w/png", "plain", 5, false);
    check_binary("/w/.png", "plain", 5, false);
    check_binary("/w/a.png.txt", "plain", 5, false);
    check_binary("/w/a.pngx", "plain", 5, false);
    /* neither offset nor limit count */
    struct sandlot_page page = read_bytes("/w/a.png", bytes, sizeof(bytes), 99, 0);

    assert_true(page.binary);
    assert_int_equal(page.content_length, sizeof(bytes));
    free(page.content);
}

static void test_content_r31_r46(void **state)
{
    (void)state;
    check_binary("/w/a.txt", "text \xff\n", 7, true);
    check_binary("/w/a.txt", "\xed\xa0\x80", 3, true);
    check_binary("/w/a.txt", "cut \xe2\x82", 6, true); /* at the end of the file, not of the 8192 bytes */
    struct sandlot_page page = read_bytes("/w/a.txt", "a\0b\nc", 5, 0, 10);

    assert_false(page.binary);
    assert_int_equal(page.content_length, 5);
    assert_memory_equal(page.content, "a\0b\nc", 6);
    free(page.content);
}

static void test_character_across_r32_r33(void **state)
{
    static const char *const characters[] = {"\xc3\xa4",         "\xe2\x82\xac",     "\xe0\xa4\x84",    "\xed\x9f\xbf",
                                             "\xf0\x9f\x98\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    char bytes[PAGE_HEAD + 8];

    (void)state;
    for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        size_t length = strlen(characters[i]);

        for (size_t before = 1; before < length; before++) {
            memset(bytes, 'x', sizeof(bytes));
            memcpy(bytes + PAGE_HEAD - before, characters[i], length);
            check_binary("/w/a.txt", bytes, sizeof(bytes), false);
            /* the same when no more than these bytes are known */
            struct page_wish wish = {.path = "/w/a.txt", .shown = "", .limit = 1};

            assert_true(page_needs_lines(&wish, bytes, PAGE_HEAD));
            bytes[PAGE_HEAD - before - 1] = '\xff';
            check_binary("/w/a.txt", bytes, sizeof(bytes), true);
            assert_false(page_needs_lines(&wish, bytes, PAGE_HEAD));
        }
    }
    /* what begins no character */
    memset(bytes, 'x', sizeof(bytes));
    memcpy(bytes + PAGE_HEAD - 2, "\xe0\x80", 2);
    check_binary("/w/a.txt", bytes, sizeof(bytes), true);
    memcpy(bytes + PAGE_HEAD - 2, "x\xff", 2);
    check_binary("/w/a.txt", bytes, sizeof(bytes), true);
    memcpy(bytes + PAGE_HEAD - 2, "x\x80", 2);
    check_binary("/w/a.txt", bytes, sizeof(bytes), true);
}

static void test_lossy_r34_r35(void **state)
{
    char bytes[9003];

    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    for (size_t i = 99; i < 9000; i += 100)
        bytes[i] = '\n';
    bytes[9001] = '\xff';
    struct sandlot_page page = read_bytes("/w/a.txt", bytes, sizeof(bytes), 89, 10);

    assert_true(page.lossy);
    assert_string_equal(strrchr(page.content, '\n'), "\nx\xef\xbf\xbdx");
    check_position(&page, 90, 91, -1, 91);
    free(page.content);
    page = read_bytes("/w/a.txt", bytes, sizeof(bytes), 80, 10);
    assert_false(page.lossy);
    check_position(&page, 81, 90, 90, 91);
    free(page.content);
}

static void check_too_large(const char *path, const void *bytes, size_t length, bool whole)
{
    struct sandlot_error error = {0};
    struct sandlot_page page;
    int status = whole ? fill_whole(path, bytes, length, 0, 10, &page, &error)
                       : fill_window(path, bytes, length, 0, 10, false, &page, &error);

    assert_int_equal(status, -1);
    assert_int_equal(error.code, SANDLOT_CODE_TOO_LARGE);
    assert_contains(error.message, "512000");
    assert_contains(error.message, path);
    sandlot_error_clear(&error);
}

static void test_binary_limit_r36_r37_r38(void **state)
{
    AUTO_FREE char *bytes = calloc(1, 2000000);

    (void)state;
    check_too_large("/w/a.png", bytes, 512001, true);
    check_binary("/w/a.png", bytes, 512000, true);
    check_too_large("/w/a.png", bytes, 2000000, false);
    bytes[8000] = '\xff';
    check_too_large("/w/a.dat", bytes, 2000000, false);
    check_too_large("/w/a.dat", bytes, 512001, true);
    check_binary("/w/a.dat", bytes, 512000, true);
}

/* COUNT lines of LENGTH times CHARACTER, each ended by a newline. To be freed. */
static char *make_lines(size_t count, size_t length, const char *character, size_t *total)
{
    size_t size = strlen(character);
    char *text = malloc(count * (length * size + 1) + 1);
    char *at = text;

    assert_non_null(text);
    for (size_t line = 0; line < count; line++) {
        for (size_t i = 0; i < length; i++, at += size)
            memcpy(at, character, size);
        *at++ = '\n';
    }
    *at = '\0';
    *total = (size_t)(at - text);
    return text;
}

static void test_cut_r39(void **state)
{
    size_t length;
    AUTO_FREE char *text = make_lines(8, 100000, "x", &length);
    struct sandlot_page page = read_text(text, 0, 8);

    (void)state;
    assert_true(page.truncated);
    assert_false(page.lossy);
    assert_int_equal(page.line_truncated, 0);
    check_position(&page, 1, 5, 5, 8);
    assert_in_range(page.content_length, 511000, 512000);
    assert_contains(page.content + 511000, "offset 5");
    assert_int_equal(page.content[page.content_length - 1], ']');
    free(page.content);
    page = read_text(text, 5, 8);
    check_position(&page, 6, 8, -1, 8);
    assert_false(page.truncated);
    free(page.content);
}

/* The limits of a page to the byte. */
static void test_cut_exactly(void **state)
{
    size_t length;
    AUTO_FREE char *text = make_lines(2, 256000, "x", &length);
    struct sandlot_page page;

    (void)state;
    text[255999] = '\n'; /* 255,999 and, an empty line between, 256,000: with the line ends one too many */
    page = read_text(text, 0, 10);
    assert_true(page.truncated);
    check_position(&page, 1, 2, 2, 3);
    free(page.content);
    memmove(text + 255998, text + 255999, length - 255999 + 1);
    page = read_text(text, 0, 10);
    assert_int_equal(page.content_length, 512000);
    assert_false(page.truncated);
    check_position(&page, 1, 3, -1, 3);
    free(page.content);
    AUTO_FREE char *single = make_lines(1, 512000, "x", &length);

    page = read_text(single, 0, 10);
    assert_int_equal(page.content_length, 512000);
    assert_false(page.truncated);
    free(page.content);
}

static void test_follow_r40(void **state)
{
    static const size_t widths[] = {7, 101, 3000, 70000, 130000, 300000};
    const long most = getenv("SANDLOT_TEST_FEW") ? 2000000 : 8000000; /* under valgrind, and else */
    AUTO_FREE char *text = malloc(9000000);
    char *end = text;
    unsigned lines = 0;

    (void)state;
    for (; end - text < most; lines++) {
        size_t width = widths[(lines * 5 + lines / 3) % 6];
        int digits = sprintf(end, "%u:", lines);

        memset(end + digits, 'a' + (int)(lines % 26), width);
        end += (size_t)digits + width;
        *end++ = '\n';
    }
    size_t length = (size_t)(end - text);
    const char *at = text;
    int64_t offset = 0;

    for (unsigned pages = 0; offset >= 0; pages++) {
        struct sandlot_error error = {0};
        struct sandlot_page page;

        assert_int_equal(fill_window("/w/a", text, length, offset, 2000, pages % 2, &page, &error), 0);
        assert_int_equal(page.start_line, offset + 1);
        assert_true(page.end_line >= page.start_line);
        assert_true(page.next_offset == page.end_line || page.next_offset == -1);
        assert_int_equal(page.line_truncated, 0);
        const char *shown = page.content;

        for (int64_t i = page.start_line; i <= page.end_line; i++) {
            size_t line = (size_t)(strchr(at, '\n') - at);

            assert_memory_equal(shown, at, line);
            at += line + 1;
            shown += line;
            assert_true(*shown == '\n' || *shown == '\0');
            shown += *shown == '\n';
        }
        offset = page.next_offset;
        free(page.content);
        assert_true(pages < 100);
    }
    assert_ptr_equal(at, end);
}

static void test_long_line_r41(void **state)
{
    size_t length;
    AUTO_FREE char *text = make_lines(1, 600000, "x", &length);
    struct sandlot_page page = read_text(text, 0, 10);

    (void)state;
    assert_true(page.truncated);
    check_position(&page, 1, 1, -1, 1);
    assert_in_range(page.content_length, 511700, 512000);
    assert_int_equal(strspn(page.content, "x") + page.line_truncated, 600000);
    free(page.content);
    AUTO_FREE char *two = text_format("%slast\n", text);

    page = read_text(two, 0, 10);
    check_position(&page, 1, 1, 1, 2);
    assert_int_equal(strspn(page.content, "x") + page.line_truncated, 600000);
    free(page.content);
    page = read_text(two, 1, 10);
    assert_string_equal(page.content, "last");
    free(page.content);
}

static void test_characters_whole_r42(void **state)
{
    static const char *const characters[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (size_t before = 0; before < 4; before++) {
            size_t length;
            AUTO_FREE char *text = make_lines(1, 300000, characters[i], &length);
            AUTO_FREE char *moved = text_format("%.*s%s", (int)before, "abc", text);
            struct sandlot_page page = read_text(moved, 0, 1);

            assert_true(page.truncated);
            assert_false(page.lossy);
            assert_true(text_utf8_valid(page.content, page.content_length));
            assert_int_equal(strcspn(page.content, "\n") + page.line_truncated, strlen(moved) - 1);
            free(page.content);
        }
    }
}

/* Replacement makes text longer than its bytes. */
static void test_lossy_and_long(void **state)
{
    AUTO_FREE char *bytes = malloc(400000);
    struct sandlot_page page;

    (void)state;
    memset(bytes, 'x', 9000);
    memset(bytes + 9000, 0xff, 391000);
    page = read_bytes("/w/a", bytes, 400000, 0, 10);
    assert_true(page.lossy && page.truncated);
    assert_true(text_utf8_valid(page.content, page.content_length));
    assert_int_equal((strcspn(page.content, "\n") - 9000) / 3 + page.line_truncated, 391000);
    free(page.content);
}

static void test_large_r43(void **state)
{
    size_t length;
    AUTO_FREE char *text = make_lines(20000, 99, "x", &length);
    struct sandlot_error error = {0};
    struct sandlot_page page;

    (void)state;
    assert_int_equal(fill_window("/w/a", text, length, 10, 100, false, &page, &error), 0);
    check_position(&page, 11, 110, 110, -1);
    free(page.content);
    assert_int_equal(fill_window("/w/a", text, length, 10, 100, true, &page, &error), 0);
    check_position(&page, 11, 110, 110, 20000);
    free(page.content);
    assert_int_equal(fill_window("/w/a", text, length, 19990, 100, false, &page, &error), 0);
    check_position(&page, 19991, 20000, -1, 20000);
    free(page.content);
    assert_int_equal(fill_window("/w/a", text, length, 20000, 100, false, &page, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_OFFSET_OUT_OF_RANGE);
    assert_contains(error.message, "20000 lines");
    sandlot_error_clear(&error);
    assert_int_equal(fill_window("/w/a", text, length, 3, 0, false, &page, &error), 0);
    assert_true(page.no_lines_requested);
    free(page.content);
}

/* A line that is longer than the window. */
static void test_endless_line(void **state)
{
    size_t length;
    AUTO_FREE char *text = make_lines(3, 1500000, "x", &length);
    struct sandlot_error error = {0};
    struct sandlot_page page;

    (void)state;
    assert_int_equal(fill_window("/w/a", text, length, 1, 10, true, &page, &error), 0);
    assert_true(page.truncated);
    check_position(&page, 2, 2, 2, 3);
    assert_true(page.line_truncated > 0);
    free(page.content);
    assert_int_equal(fill_window("/w/a", text, length, 1, 10, false, &page, &error), 0);
    check_position(&page, 2, 2, 2, -1);
    free(page.content);
    assert_int_equal(fill_window("/w/a", text, length, 2, 10, true, &page, &error), 0);
    check_position(&page, 3, 3, -1, 3);
    free(page.content);
}

/* Nothing but line ends: the window has to hold a page of them. */
static void test_only_line_ends(void **state)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(ends[i]);
        size_t length = 1200000 * size;
        AUTO_FREE char *text = malloc(length);
        struct sandlot_error error = {0};
        struct sandlot_page page;

        for (size_t at = 0; at < length; at += size)
            memcpy(text + at, ends[i], size);
        assert_int_equal(fill_window("/w/a", text, length, 5, INT64_MAX, true, &page, &error), 0);
        assert_true(page.truncated);
        assert_true(page.end_line > 511000);
        assert_int_equal(page.next_offset, page.end_line);
        assert_int_equal(page.total_lines, 1200000);
        free(page.content);
    }
}

static void test_long_text_r53(void **state)
{
    size_t length;
    AUTO_FREE char *text = make_lines(1, 6000, "x", &length);
    struct sandlot_page page = read_text(text, 0, 10);

    (void)state;
    assert_int_equal(page.content_length, 6000);
    assert_false(page.truncated);
    free(page.content);
}

/* Where line WANTED begins in TEXT, -1 if nowhere, and *TOTAL lines, byte by byte. */
static int64_t simple_scan(const char *text, size_t length, int64_t wanted, int64_t *total)
{
    int64_t found = -1;
    int64_t line = 0;

    for (size_t at = 0; at < length; line++) {
        if (line == wanted)
            found = (int64_t)at;
        while (at < length && text[at] != '\n' && text[at] != '\r')
            at++;
        at += at + 1 < length && text[at] == '\r' && text[at + 1] == '\n' ? 2 : 1;
    }
    *total = line;
    return wanted == 0 ? 0 : found;
}

static void test_scan_pieces(void **state)
{
    unsigned seed = 3;
    char text[48];

    (void)state;
    for (int round = 0; round < 3000; round++) {
        size_t length = (seed = seed * 1103515245u + 12345u) / 65536 % sizeof(text);
        const char *letters = round % 2 ? "ab\n\r" : "abc\n";

        for (size_t i = 0; i < length; i++)
            text[i] = letters[(seed = seed * 1103515245u + 12345u) / 65536 % 4];
        int64_t wanted = (seed = seed * 1103515245u + 12345u) / 65536 % 12;
        size_t piece = 1 + seed / 256 % 20;
        int64_t total;
        int64_t found = simple_scan(text, length, wanted, &total);
        struct line_scan scan;

        line_scan_init(&scan, wanted);
        for (size_t at = 0; at < length; at += piece)
            line_scan_feed(&scan, text + at, length - at < piece ? length - at : piece);
        assert_int_equal(line_scan_total(&scan), total);
        assert_int_equal(scan.bytes, length);
        assert_int_equal(scan.found, found >= 0);
        if (found >= 0)
            assert_int_equal(scan.found_at, found);
    }
}

static void test_scan_large(void **state)
{
    size_t length;
    AUTO_FREE char *text = make_lines(300000, 10, "x", &length);
    struct line_scan scan;

    (void)state;
    line_scan_init(&scan, 299999);
    line_scan_feed(&scan, text, length);
    assert_int_equal(line_scan_total(&scan), 300000);
    assert_true(scan.found);
    assert_int_equal(scan.found_at, 299999 * 11);
    memset(text, '\n', length);
    line_scan_init(&scan, 3000000);
    line_scan_feed(&scan, text, length);
    assert_int_equal(line_scan_total(&scan), 3300000);
    assert_int_equal(scan.found_at, 3000000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_empty_r04_r19),
        cmocka_unit_test(test_pages_r10_r11_r12_r13),
        cmocka_unit_test(test_beyond_r14_r15),
        cmocka_unit_test(test_no_lines_r17_r18),
        cmocka_unit_test(test_suffix_r29_r30),
        cmocka_unit_test(test_content_r31_r46),
        cmocka_unit_test(test_character_across_r32_r33),
        cmocka_unit_test(test_lossy_r34_r35),
        cmocka_unit_test(test_binary_limit_r36_r37_r38),
        cmocka_unit_test(test_cut_r39),
        cmocka_unit_test(test_cut_exactly),
        cmocka_unit_test(test_follow_r40),
        cmocka_unit_test(test_long_line_r41),
        cmocka_unit_test(test_characters_whole_r42),
        cmocka_unit_test(test_lossy_and_long),
        cmocka_unit_test(test_large_r43),
        cmocka_unit_test(test_endless_line),
        cmocka_unit_test(test_only_line_ends),
        cmocka_unit_test(test_long_text_r53),
        cmocka_unit_test(test_scan_pieces),
        cmocka_unit_test(test_scan_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
