/* Base64: the vectors of RFC 4648, every length, pieces, and what is no base64. */
#include "base/base64.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void encodes_the_vectors(void **state)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"}};

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        AUTO_FREE char *text = base64_encode(vectors[i][0], strlen(vectors[i][0]));

        assert_string_equal(text, vectors[i][1]);
    }
}

static void decodes_what_it_encoded_in_pieces(void **state)
{
    unsigned char bytes[256];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t length = 0; length <= sizeof(bytes); length++) {
        AUTO_FREE char *text = base64_encode(bytes, length);
        struct base64_decoder decoder = {0};
        unsigned char back[512];
        size_t total = 0;

        for (size_t at = 0; at < strlen(text); at += 5) {
            size_t piece = strlen(text + at) < 5 ? strlen(text + at) : 5;
            size_t written;

            assert_true(base64_decode(&decoder, text + at, piece, back + total, &written));
            total += written;
        }
        assert_true(base64_decoder_done(&decoder));
        assert_int_equal(total, length);
        assert_memory_equal(back, bytes, length);
    }
}

static void decodes_runs_of_digits(void **state)
{
    char back[16];

    (void)state;
    assert_int_equal(base64_decode_run("Zm9vYmFyZg==", 12, back), 8);
    assert_memory_equal(back, "foobar", 6);
    assert_int_equal(base64_decode_run("Zm9vYm", 6, back), 4);
    assert_int_equal(base64_decode_run("Zm9\n", 4, back), 0);
    assert_int_equal(base64_value('A'), 0);
    assert_int_equal(base64_value('/'), 63);
    for (int c = -128; c < 128; c++)
        if (!isalnum((unsigned char)c) && c != '+' && c != '/')
            assert_int_equal(base64_value((char)c), -1);
}

static void passes_over_line_ends(void **state)
{
    struct base64_decoder decoder = {0};
    char back[16];
    size_t written;

    (void)state;
    assert_true(base64_decode(&decoder, "Zm9v\r\n Ym\tFy\n", 13, back, &written));
    assert_int_equal(written, 6);
    assert_memory_equal(back, "foobar", 6);
}

static void refuses_what_is_none(void **state)
{
    static const char *const bad[] = {"Zm9*", "=Zm9", "Z===", "Zg==Zg==", "Zm9v\x01", "Zg=v"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct base64_decoder decoder = {0};
        char back[16];
        size_t written;

        assert_false(base64_decode(&decoder, bad[i], strlen(bad[i]), back, &written));
    }
}

static void knows_an_incomplete_group(void **state)
{
    struct base64_decoder decoder = {0};
    char back[16];
    size_t written;

    (void)state;
    assert_true(base64_decode(&decoder, "Zm9vY", 5, back, &written));
    assert_false(base64_decoder_done(&decoder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_the_vectors),    cmocka_unit_test(decodes_what_it_encoded_in_pieces),
        cmocka_unit_test(decodes_runs_of_digits), cmocka_unit_test(passes_over_line_ends),
        cmocka_unit_test(refuses_what_is_none),   cmocka_unit_test(knows_an_incomplete_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
