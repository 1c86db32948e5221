/* What reaches the terminal of a person who looks at a sandbox's output. */

/* The filter belongs to the command and not to the library, so it is compiled in here. */
#include "cli/terminal_filter.c" /* NOLINT(bugprone-suspicious-include) */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Filters LENGTH bytes in pieces of PIECE bytes. Returns memory that is exactly as large as the filter may use, to be
 * freed. */
static char *filtered(const char *in, size_t length, size_t piece, size_t *out_length)
{
    struct terminal_filter filter = {0};
    char *all = malloc(length + 2 * TERMINAL_FILTER_SLACK);
    size_t written = 0;

    assert_non_null(all);
    for (size_t at = 0; at < length; at += piece) {
        size_t size = length - at < piece ? length - at : piece;
        char *out = malloc(size + TERMINAL_FILTER_SLACK);

        assert_non_null(out);
        size_t got = terminal_filter(&filter, in + at, size, out);

        memcpy(all + written, out, got);
        written += got;
        free(out);
    }
    written += terminal_filter_end(&filter, all + written);
    *out_length = written;
    return all;
}

/* What is left must not depend on how the stream is cut into pieces. */
static void expect(const char *in, const char *wanted)
{
    size_t length = strlen(in);

    for (size_t piece = 1; piece <= length + 1; piece++) {
        size_t got_length;
        char *got = filtered(in, length, piece, &got_length);

        assert_int_equal(got_length, strlen(wanted));
        assert_memory_equal(got, wanted, got_length);
        free(got);
    }
}

static void text_passes(void **state)
{
    (void)state;
    expect("plain\ttext\r\nsecond line\n", "plain\ttext\r\nsecond line\n");
    expect("gr\u00fc\u00dfe \u00a9 \u20ac \U0001f600\n", "gr\u00fc\u00dfe \u00a9 \u20ac \U0001f600\n");
    expect("\u00db\u00dc", "\u00db\u00dc"); /* their second bytes are 9B and 9C, which alone would be controls */
}

static void colours_pass_and_are_reset_at_the_end(void **state)
{
    (void)state;
    expect("\033[1;31mred\033[0m\n", "\033[1;31mred\033[0m\n");
    expect("\033[31mred\033[m\n", "\033[31mred\033[m\n");
    expect("\033[38:2:1:2:3mrgb", "\033[38:2:1:2:3mrgb\033[0m");
    expect("\033[4munderlined", "\033[4munderlined\033[0m");
}

static void other_csi_is_dropped(void **state)
{
    (void)state;
    expect("a\033[2Jb\033[1;1Hc\033[?1049hd\033[6ne", "abcde");
    expect("a\033[>4;2mb\033[?1mc", "abc"); /* these end in m and are no colours */
    expect("a\033[ qb\033[!pc", "abc");
    expect("a\302\2332Jb", "ab"); /* CSI as one character */
}

static void strings_are_dropped(void **state)
{
    (void)state;
    expect("a\033]52;c;ZXZpbA==\007b", "ab"); /* writes the clipboard */
    expect("a\033]0;title\033\\b", "ab");
    expect("a\033P+q544e\033\\b\033_x\033\\c\033^y\033\\d\033Xz\033\\e", "abcde");
    expect("a\302\2350;title\007b\302\220q\033\\c", "abc");
    expect("a\033]0;x\033[31mb", "a\033[31mb\033[0m"); /* broken off by another sequence */
}

static void a_string_without_end_costs_one_line(void **state)
{
    (void)state;
    expect("a\033]0;no end\nnext line\n", "a\nnext line\n");
}

static void other_controls_are_dropped(void **state)
{
    (void)state;
    expect("a\bb\ac\x7f"
           "d\ve\ff",
           "abcdef");
    expect("a\033cb\0337c\033(Bd\033%Ge", "abcde");
    expect("a\x80\x9b\x9d"
           "b",
           "ab"); /* stray bytes that terminals without UTF-8 obey */
    expect("a\302\205b", "ab");
}

static void broken_sequences_hide_nothing_that_follows(void **state)
{
    (void)state;
    expect("a\033[1;2\nb", "a\nb");
    expect("a\033\nb", "a\nb");
    expect("a\033[1\033[31mb\033[0m", "a\033[31mb\033[0m");
    expect("a\xc3\033[2Jb", "a\xc3"
                            "b");
    expect("a\033\u00e9b", "a\u00e9b");
}

static void a_colour_that_is_too_long_is_dropped_whole(void **state)
{
    char digits[TERMINAL_FILTER_SEQUENCE + 2];
    char in[256];

    (void)state;
    memset(digits, '1', sizeof(digits));
    snprintf(in, sizeof(in), "a\033[%.*smb", TERMINAL_FILTER_SEQUENCE + 1, digits);
    expect(in, "ab");
    snprintf(in, sizeof(in), "\033[%.*sm\033[0m", TERMINAL_FILTER_SEQUENCE, digits);
    expect(in, in);
}

static void nul_is_dropped(void **state)
{
    size_t length;
    char *got = filtered("a\0b", 3, 3, &length);

    (void)state;
    assert_int_equal(length, 2);
    assert_memory_equal(got, "ab", 2);
    free(got);
}

/* Whatever comes, the only escape sequences that go out are colours. */
static void noise_never_becomes_a_sequence(void **state)
{
    static const char alphabet[] = "\033\033\033[]P;:?0129mMhJ\\\a\n\x9b\xc2\xe2\x82 abc";
    uint32_t random = 1;
    char in[200];

    (void)state;
    for (int round = 0; round < 5000; round++) {
        for (size_t i = 0; i < sizeof(in); i++) {
            random = random * 1664525u + 1013904223u;
            in[i] = alphabet[(random >> 16) % (sizeof(alphabet) - 1)];
        }
        size_t length;
        char *got = filtered(in, sizeof(in), 1 + (size_t)round % 40, &length);

        for (size_t i = 0; i < length; i++) {
            if (got[i] != '\033')
                continue;
            assert_true(i + 2 < length && got[i + 1] == '[');
            for (i += 2; i < length && strchr("0123456789;:", got[i]); i++)
                continue;
            assert_true(i < length && got[i] == 'm');
        }
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_passes),
        cmocka_unit_test(colours_pass_and_are_reset_at_the_end),
        cmocka_unit_test(other_csi_is_dropped),
        cmocka_unit_test(strings_are_dropped),
        cmocka_unit_test(a_string_without_end_costs_one_line),
        cmocka_unit_test(other_controls_are_dropped),
        cmocka_unit_test(broken_sequences_hide_nothing_that_follows),
        cmocka_unit_test(a_colour_that_is_too_long_is_dropped_whole),
        cmocka_unit_test(nul_is_dropped),
        cmocka_unit_test(noise_never_becomes_a_sequence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
