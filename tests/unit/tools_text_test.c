/* From data to the text that an agent reads. */
#include "support.h"
#include "tools/media.h"
#include "tools/text.h"

#include <inttypes.h>

/* The page that reading CONTENT from line START on gives. */
static struct sandlot_page page_of(const char *content, int64_t start, int64_t end, int64_t total, int64_t next)
{
    return (struct sandlot_page){.size = sizeof(struct sandlot_page),
                                 .content = (char *)(uintptr_t)content,
                                 .content_length = strlen(content),
                                 .start_line = start,
                                 .end_line = end,
                                 .total_lines = total,
                                 .next_offset = next};
}

static const struct sandlot_read a_read = {.size = sizeof(a_read), .path = "/w/a.txt"};

static void expect_page(const struct sandlot_page *page, const char *wanted)
{
    size_t length;
    AUTO_FREE char *text = text_of_page(&a_read, page, 40000, NULL, &length);

    assert_string_equal(text, wanted);
    assert_int_equal(length, strlen(text));
}

static void test_page(void **state)
{
    (void)state;
    struct sandlot_page page = page_of("one\n\nthree", 1, 3, 3, -1);

    expect_page(&page, "     1  one\n     2  \n     3  three");
    page = page_of("nine\nten", 9, 10, 12, 10);
    expect_page(&page, "     9  nine\n    10  ten\n\n[Read 2 lines: 9 to 10 of 12; 2 remain. Go on with offset 10.]");
    page = page_of("x", 1234567, 1234567, -1, 1234567);
    expect_page(&page, "1234567  x\n\n[Read 1 line: 1234567 to 1234567; more remain. Go on with offset 1234567.]");
    /* What the page says about its own end is said by the note. */
    page = page_of("a\nb\n\n[cut]", 1, 2, 9, 2);
    expect_page(&page, "     1  a\n     2  b\n\n[Read 2 lines: 1 to 2 of 9; 7 remain. Go on with offset 2.]");
}

static void test_page_without_lines(void **state)
{
    (void)state;
    struct sandlot_page page = {.size = sizeof(page), .empty = true, .total_lines = 0, .next_offset = -1};
    struct sandlot_read negative = a_read;

    expect_page(&page, "File '/w/a.txt' exists but is empty.");
    page = (struct sandlot_page){.no_lines_requested = true, .total_lines = 7, .next_offset = 0};
    expect_page(&page, "Nothing was read: the limit is below 1. File '/w/a.txt' has 7 lines.");
    page.total_lines = -1;
    expect_page(&page, "Nothing was read: the limit is below 1. File '/w/a.txt' is not empty.");
    negative.offset = -5;
    page = page_of("x", 1, 1, 1, -1);
    AUTO_FREE char *text = text_of_page(&negative, &page, 40000, NULL, NULL);

    assert_string_equal(text, "     1  x\n\n[The offset -5 is negative; it was taken as 0.]");
}

static void test_page_that_is_not_utf8(void **state)
{
    (void)state;
    struct sandlot_page page = page_of("a\xff", 1, 1, 1, -1);

    page.lossy = true;
    expect_page(&page, "     1  a\xef\xbf\xbd\n\n[Bytes that are not UTF-8 are shown as \xef\xbf\xbd.]");
    page = page_of("a", 1, 1, 1, -1);
    page.content = (char *)(uintptr_t) "a\0b";
    page.content_length = 3;
    size_t length;
    AUTO_FREE char *text = text_of_page(&a_read, &page, 40000, NULL, &length);

    assert_int_equal(length, 11);
    assert_memory_equal(text, "     1  a\0b", 12);
}

static void test_long_lines_are_split(void **state)
{
    (void)state;
    struct buffer line = {0};

    for (int i = 0; i < 10001; i++)
        buffer_add_text(&line, "\xc3\xa9");
    buffer_add_text(&line, "\nnext");
    struct sandlot_page page = page_of(line.bytes, 1, 2, 2, -1);
    AUTO_FREE char *text = text_of_page(&a_read, &page, 40000, NULL, NULL);

    assert_non_null(text);
    assert_memory_equal(text, "     1  \xc3\xa9", 10);
    assert_memory_equal(text + 8 + 10000, "\n   1.1  \xc3\xa9", 11);
    assert_memory_equal(text + 2 * (size_t)10008 + 1, "\n   1.2  \xc3\xa9\n     2  next", 25);
    assert_true(text_utf8_valid(text, strlen(text)));
    buffer_clear(&line);
}

static void test_budget_cuts_a_page(void **state)
{
    (void)state;
    struct buffer content = {0};

    for (int i = 1; i <= 1000; i++)
        buffer_format(&content, "%sline %d", i > 1 ? "\n" : "", i);
    struct sandlot_page page = page_of(content.bytes, 101, 1100, 5000, 1100);
    int64_t next = 0;
    AUTO_FREE char *text = text_of_page(&a_read, &page, 4096, &next, NULL);
    char note[200];

    assert_in_range(strlen(text), 2500, 4096);
    assert_in_range(next, 201, 1000);
    snprintf(note, sizeof(note), "line %d\n\n[Read %d lines: 101 to %d of 5000; %d remain. Go on with offset %d.]",
             (int)next - 100, (int)next - 100, (int)next, 5000 - (int)next, (int)next);
    assert_string_equal(text + strlen(text) - strlen(note), note);
    AUTO_FREE char *small = text_of_page(&a_read, &page, 1, NULL, NULL);

    assert_in_range(strlen(small), 500, TEXT_LEAST);
    buffer_clear(&content);
}

static void test_first_line_beyond_the_budget(void **state)
{
    (void)state;
    struct buffer content = {0};

    for (int i = 0; i < 30000; i++)
        buffer_add_text(&content, "\xe2\x82\xac");
    buffer_add_text(&content, "\nsecond");
    struct sandlot_page page = page_of(content.bytes, 1, 2, 2, -1);
    int64_t next = 0;
    size_t length;
    AUTO_FREE char *text = text_of_page(&a_read, &page, 40000, &next, &length);

    assert_in_range(length, 30000, 40000);
    assert_true(text_utf8_valid(text, length));
    assert_int_equal(next, -1);
    assert_contains(text, "\n\n[Line 1 does not fit: the first ");
    assert_contains(text, " of its 90000 bytes");
    assert_lacks(text, "offset");
    assert_lacks(text, "second");
    buffer_clear(&content);
}

static void test_binary(void **state)
{
    (void)state;
    AUTO_FREE char *pdf = text_of_binary("/w/a.pdf", "%PDF-1.7 x", 10);
    AUTO_FREE char *other = text_of_binary("b\n.bin", "\xff\x00\x01", 3);
    AUTO_FREE char *named = text_of_binary("c.png", "hello", 5);

    assert_string_equal(pdf, "File '/w/a.pdf' is binary (PDF document, 10 bytes) and not shown as text. See its text "
                             "with execute: pdftotext FILE -");
    assert_contains(other, "File 'b\\n.bin' is binary (unknown type, 3 bytes)");
    assert_contains(other, "xxd FILE | head");
    assert_contains(named, "it holds text");
}

static void add_entry(struct text_entries *entries, const char *path, bool is_dir)
{
    const struct sandlot_file_entry entry = {.size = sizeof(entry), .path = path, .is_dir = is_dir};

    assert_true(text_entries_add(entries, &entry));
}

static void test_entries(void **state)
{
    (void)state;
    struct text_entries entries = {0};
    bool cut = true;

    add_entry(&entries, "/w/a", false);
    add_entry(&entries, "/w/d", true);
    add_entry(&entries, "/w/x\ny\xff", false);
    AUTO_FREE char *text = text_of_entries(&entries, false, "none", 40000, &cut);

    assert_string_equal(text, "/w/a\n/w/d/\n/w/x\\ny\xef\xbf\xbd");
    assert_false(cut);
    text_entries_clear(&entries);
    AUTO_FREE char *none = text_of_entries(&entries, false, "Directory is empty", 40000, NULL);

    assert_string_equal(none, "Directory is empty");
    text_entries_clear(&entries);
    AUTO_FREE char *early = text_of_entries(&entries, true, "No files found", 40000, NULL);

    assert_contains(early, "No files found\n\n[The search ended early: ");
    text_entries_clear(&entries);
}

static void test_entries_beyond_the_budget(void **state)
{
    (void)state;
    struct text_entries entries = {0};
    bool cut = false;
    char path[32];

    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof(path), "/w/%03d", i);
        add_entry(&entries, path, false);
    }
    AUTO_FREE char *text = text_of_entries(&entries, true, "none", 4000, &cut);

    assert_true(cut);
    assert_in_range(strlen(text), 3400, 4000);
    /* (4000 - 512) / 7 whole lines are shown. */
    assert_contains(text, "/w/497\n\n[The search ended early");
    assert_lacks(text, "/w/498");
    assert_contains(text, "]\n[Output cut: 502 more lines left out.");
    assert_int_equal(text[strlen(text) - 1], ']');
    text_entries_clear(&entries);
}

static void add_match(struct text_matches *matches, const char *path, int64_t line, const char *text)
{
    const struct sandlot_match match = {
        .size = sizeof(match), .path = path, .line = line, .text = text, .text_length = strlen(text)};

    assert_true(text_matches_add(matches, &match));
}

static void expect_matches(enum text_grep_mode mode, const char *wanted)
{
    struct text_matches matches = {.mode = mode};

    add_match(&matches, "/w/a.c", 3, "first");
    add_match(&matches, "/w/a.c", 12, "sec\rond");
    add_match(&matches, "/w/b:1.c", 7, "third\xff");
    AUTO_FREE char *text = text_of_matches(&matches, false, "x", 40000, NULL, NULL);

    assert_string_equal(text, wanted);
    text_matches_clear(&matches);
}

static void test_matches(void **state)
{
    (void)state;
    expect_matches(TEXT_GREP_FILES, "/w/a.c\n/w/b:1.c");
    expect_matches(TEXT_GREP_CONTENT, "/w/a.c:\n  3: first\n  12: sec ond\n/w/b:1.c:\n  7: third\xef\xbf\xbd");
    expect_matches(TEXT_GREP_COUNT, "/w/a.c: 2\n/w/b:1.c: 1");
}

static void test_no_matches(void **state)
{
    static const char *const expressions[] = {"a|b", "a.*b", "\\bword", "^a", "a$", "a.+b"};

    (void)state;
    struct text_matches matches = {.mode = TEXT_GREP_CONTENT};
    AUTO_FREE char *plain = text_of_matches(&matches, false, "main(void)", 40000, NULL, NULL);

    assert_string_equal(plain, "No matches found");
    text_matches_clear(&matches);
    for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
        AUTO_FREE char *text = text_of_matches(&matches, false, expressions[i], 40000, NULL, NULL);

        assert_contains(text, "No matches found. The pattern was taken literally");
        assert_contains(text, "grep -E with execute");
        text_matches_clear(&matches);
    }
    AUTO_FREE char *early = text_of_matches(&matches, true, "x", 40000, NULL, NULL);

    assert_contains(early, "No matches found\n\n[The search ended early");
    text_matches_clear(&matches);
}

static void test_a_long_match_is_cut(void **state)
{
    (void)state;
    struct text_matches matches = {.mode = TEXT_GREP_CONTENT};
    AUTO_FREE char *line = calloc(1, 6001);

    for (int i = 0; i < 6000; i += 3)
        memcpy(line + i, "\xe2\x82\xac", 3);
    add_match(&matches, "/w/a", 1, line);
    AUTO_FREE char *text = text_of_matches(&matches, false, "x", 40000, NULL, NULL);

    assert_contains(text, "\xac [4002 more bytes of this line left out]");
    assert_true(text_utf8_valid(text, strlen(text)));
    text_matches_clear(&matches);
}

static void test_short_answers(void **state)
{
    (void)state;
    AUTO_FREE char *written = text_of_write("a\nb");
    AUTO_FREE char *once = text_of_edit("/w/a", 1);
    AUTO_FREE char *twice = text_of_edit("/w/a", 2);
    AUTO_FREE char *removed = text_of_remove("/w/a");

    assert_string_equal(written, "Updated file a\\nb");
    assert_string_equal(once, "Replaced 1 instance in /w/a");
    assert_string_equal(twice, "Replaced 2 instances in /w/a");
    assert_string_equal(removed, "Deleted /w/a");
}

static void test_output_is_cleaned(void **state)
{
    static const struct {
        const char *raw;
        const char *clean;
    } rows[] = {
        {"plain\n", "plain\n"},
        {"", ""},
        {"\x1b[1;31mred\x1b[0m\n", "red\n"},
        {"\x1b]0;title\x07text", "text"},
        {"\x1b]52;c;aGk=\x1b\\text", "text"},
        {"\x1bPdevice\x1b\\text", "text"},
        {"\x1b]never ended\nnext", "\nnext"},
        {"\x1b(Btext\x1b=", "text"},
        {"\xc2\x9b"
         "31mred",
         "red"},
        {"\x1b[31", ""},
        {"\x1b[3\ntext", "\ntext"},
        {"10%\r50%\r100%\n", "100%\n"},
        {"a\r\nb\r\n", "a\nb\n"},
        {"a\r\r\nb", "a\nb"},
        {"last\r", "last"},
        {"work\r\x1b[Kdone\n", "done\n"},
        {"work\r\x1b[K\n", "\n"},
        {"work\x1b[2Kdone\n", "done\n"},
        {"keep\n10%\r20%", "keep\n20%"},
        {"|\b/\b-", "-"},
        {"\xc3\xa9\bx", "x"},
        {"\b\bx", "x"},
        {"bell\a\x01 tab\t", "bell tab\t"},
        {"bad \xff\xed\xa0\x80", "bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length;
        AUTO_FREE char *clean = text_of_output(rows[i].raw, strlen(rows[i].raw), &length);

        assert_string_equal(clean, rows[i].clean);
        assert_int_equal(length, strlen(rows[i].clean));
    }
    size_t length;
    AUTO_FREE char *nul = text_of_output("a\0b\x1b", 4, &length);

    assert_int_equal(length, 3);
    assert_memory_equal(nul, "a\0b", 4);
}

static void expect_status(struct sandlot_result result, const char *wanted)
{
    AUTO_FREE char *status = text_of_status(&result);

    assert_string_equal(status, wanted);
}

static void test_status(void **state)
{
    (void)state;
    expect_status((struct sandlot_result){.has_exit_code = true}, "[Command succeeded with exit code 0]");
    expect_status((struct sandlot_result){.has_exit_code = true, .exit_code = 42},
                  "[Command failed with exit code 42]");
    expect_status((struct sandlot_result){.has_exit_code = true, .exit_code = 137},
                  "[Command failed with exit code 137 (signal SIGKILL)]");
    expect_status((struct sandlot_result){.has_exit_code = true, .exit_code = 255},
                  "[Command failed with exit code 255]");
    expect_status((struct sandlot_result){.exit_code = 7}, "");
    struct sandlot_result late = {.has_exit_code = true, .exit_code = 124, .timed_out = true};
    AUTO_FREE char *status = text_of_status(&late);

    assert_contains(status, "set timeout");
    assert_contains(status, "]\n[Command failed with exit code 124]");
}

static void expect_result(const char *output, const char *status, const char *wanted)
{
    AUTO_FREE char *text = text_of_result(output, strlen(output), NULL, NULL, status, NULL);

    assert_string_equal(text, wanted);
}

static void test_result(void **state)
{
    (void)state;
    expect_result("out\n", "[s]", "out\n[s]");
    expect_result("out", "[s]", "out\n[s]");
    expect_result("", "[s]", "[s]");
    expect_result("out\n", "", "out\n");
    expect_result("", "", "[The command printed nothing, and how it ended is not known]");
}

static void test_gap(void **state)
{
    (void)state;
    struct buffer output = {0};
    struct text_gap gap;

    for (int i = 0; i < 1000; i++)
        buffer_format(&output, "line %03d\n", i);
    assert_false(text_gap_find(output.bytes, output.length, 9000, &gap));
    assert_true(text_gap_find(output.bytes, output.length, 4000, &gap));
    assert_int_equal(gap.head, 999); /* 1000 less the line that was begun */
    assert_int_equal(gap.lines_before, 111);
    assert_int_equal(output.length - gap.tail, 2997);
    assert_int_equal(gap.lines_left_out, 1000 - 111 - 333);
    assert_true(gap.whole_lines);
    AUTO_FREE char *text = text_of_result(output.bytes, output.length, &gap, "[note]", "[status]", NULL);

    assert_contains(text, "line 110\n[... 556 lines ...]\nline 667\n");
    assert_contains(text, "line 999\n[note]\n[status]");
    buffer_clear(&output);
}

static void test_gap_in_one_line(void **state)
{
    (void)state;
    struct buffer output = {0};
    struct text_gap gap;

    for (int i = 0; i < 4000; i++)
        buffer_add_text(&output, "\xe2\x82\xac");
    assert_true(text_gap_find(output.bytes, output.length, 4000, &gap));
    assert_int_equal(gap.head, 999);
    assert_int_equal(output.length - gap.tail, 3000);
    assert_false(gap.whole_lines);
    assert_int_equal(gap.lines_before, 0);
    AUTO_FREE char *text = text_of_result(output.bytes, output.length, &gap, NULL, "[s]", NULL);

    assert_contains(text, "\n[... 8001 bytes ...]\n");
    assert_true(text_utf8_valid(text, strlen(text)));
    buffer_clear(&output);
}

static void expect_media(const char *bytes, size_t length, const char *mime_type, uint32_t width, uint32_t height)
{
    struct media media;

    media_detect(bytes, length, &media);
    if (mime_type)
        assert_string_equal(media.mime_type, mime_type);
    else
        assert_null(media.mime_type);
    assert_int_equal(media.width, width);
    assert_int_equal(media.height, height);
}

#define BYTES(text) (text), sizeof(text) - 1

static void test_media(void **state)
{
    (void)state;
    expect_media(BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x02\0\0\0\x07"), "image/png", 258, 7);
    expect_media(BYTES("\x89PNG\r\n\x1a\n"), "image/png", 0, 0);
    expect_media(BYTES("GIF89a\x10\x00\x20\x01"), "image/gif", 16, 288);
    expect_media(BYTES("\xff\xd8\xff\xe0\0\x04xx\xff\xff\xc0\0\x11\x08\0\x05\0\x09zz"), "image/jpeg", 9, 5);
    expect_media(BYTES("\xff\xd8\xff\xe0\xff\xff"), "image/jpeg", 0, 0);
    expect_media(BYTES("RIFF----WEBPVP8X\x0a\0\0\0----\x0f\0\0\x1f\0\0"), "image/webp", 16, 32);
    expect_media(BYTES("RIFF----WEBPVP8L\0\0\0\0/\x0f\xc0\x07\0-----"), "image/webp", 16, 32);
    expect_media(BYTES("RIFF----WEBPVP8 \0\0\0\0---\x9d\x01\x2a\x10\0\x20\0"), "image/webp", 16, 32);
    expect_media(BYTES("RIFF----WAVEfmt "), "audio/wav", 0, 0);
    expect_media(BYTES("XXXX----WEBP"), NULL, 0, 0);
    expect_media(BYTES("ID3\x04"), "audio/mpeg", 0, 0);
    expect_media(BYTES("\xff\xfb\x90"), "audio/mpeg", 0, 0);
    expect_media(BYTES("\xff\xfeu\0"), NULL, 0, 0);
    expect_media(BYTES("%PDF-1.4"), NULL, 0, 0);
    expect_media(BYTES(""), NULL, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_page_without_lines),
        cmocka_unit_test(test_page_that_is_not_utf8),
        cmocka_unit_test(test_long_lines_are_split),
        cmocka_unit_test(test_budget_cuts_a_page),
        cmocka_unit_test(test_first_line_beyond_the_budget),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_entries_beyond_the_budget),
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_no_matches),
        cmocka_unit_test(test_a_long_match_is_cut),
        cmocka_unit_test(test_short_answers),
        cmocka_unit_test(test_output_is_cleaned),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_gap_in_one_line),
        cmocka_unit_test(test_media),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
