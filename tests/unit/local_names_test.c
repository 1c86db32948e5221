/* What a box that knows no proxy is told of names: messages of the DNS, and the addresses that stand for names. */
#include "egress/aliases.h"
#include "egress/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define HEADER "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define BYTES(text) (const unsigned char *)(text), sizeof(text) - 1

/* ---- messages ---- */

static void a_question_is_read_and_repeated(void **state)
{
    static const char message[] = HEADER "\7eXample\3COM\0\0\1\0\1";
    static const char answer[] = "\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00"
                                 "\7eXample\3COM\0\0\1\0\1"
                                 "\xc0\x0c\0\1\0\1\0\0\0\5\0\4\xc6\x12\0\1";
    struct names_question question;
    unsigned char result[NAMES_MOST];
    address value;

    (void)state;
    assert_true(names_read(BYTES(message), &question));
    assert_string_equal(question.host.name, "example.com");
    assert_true(question.for_address);
    assert_int_equal(question.refusal, 0);
    assert_true(address_parse("198.18.0.1", &value));
    assert_int_equal(names_write((const unsigned char *)message, &question, NAMES_ADDRESS, &value, result),
                     sizeof(answer) - 1);
    assert_memory_equal(result, answer, sizeof(answer) - 1);
    assert_int_equal(names_write((const unsigned char *)message, &question, NAMES_UNKNOWN, NULL, result),
                     sizeof(message) - 1);
    assert_int_equal(result[3], 0x83);
    assert_int_equal(names_write((const unsigned char *)message, &question, NAMES_NOTHING, NULL, result),
                     sizeof(message) - 1);
    assert_int_equal(result[3], 0x80);
}

static void what_is_no_question_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        int refusal; /* -1: no answer at all */
    } rows[] = {
#define ROW(text, refusal) {text, sizeof(text) - 1, refusal}
        ROW("", -1),
        ROW("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00", -1),
        ROW("\x12\x34\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00\1a\0\0\1\0\1", -1), /* an answer */
        ROW("\x12\x34\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00\1a\0\0\1\0\1", 4),  /* an update */
        ROW("\x12\x34\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", 1),
        ROW("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\1a\0\0\1\0\1", 1),
        ROW(HEADER, 1),
        ROW(HEADER "\1a", 1),
        ROW(HEADER "\5a", 1),
        ROW(HEADER "\1a\0", 1),
        ROW(HEADER "\1a\0\0\1\0", 1),
        ROW(HEADER "\xc0\x0c\0\1\0\1", 1), /* its name is elsewhere */
        ROW(HEADER "\1a\xc0\x0c\0\1\0\1", 1),
        ROW(HEADER "\x40xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\0\0\1\0\1", 1),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct names_question question;
        unsigned char *bytes = malloc(rows[i].length + 1); /* so that the sanitizer sees what lies behind it */

        assert_non_null(bytes);
        memcpy(bytes, rows[i].bytes, rows[i].length);
        bytes = realloc(bytes, rows[i].length ? rows[i].length : 1);
        assert_non_null(bytes);
        const bool read = names_read(bytes, rows[i].length, &question);

        assert_int_equal(read ? (int)question.refusal : -1, rows[i].refusal);
        if (read) {
            unsigned char result[NAMES_MOST];

            assert_int_equal(names_write(bytes, &question, NAMES_UNKNOWN, NULL, result), 12);
            assert_int_equal(result[3] & 15, rows[i].refusal);
            assert_string_equal(question.host.name, "");
        }
        free(bytes);
    }
}

/* The type and the class of a question: an address of version 4 alone is told. */
static void other_questions_have_no_address(void **state)
{
    static const struct {
        const char *kind;
        bool for_address;
    } rows[] = {{"\0\1\0\1", true},  {"\0\x1c\0\1", false}, {"\0\x10\0\1", false}, {"\0\xff\0\1", false},
                {"\0\1\0\3", false}, {"\0\1\0\xff", false}, {"\1\1\0\1", false}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned char message[64] = HEADER "\1a\1b";
        struct names_question question;

        memcpy(message + 17, rows[i].kind, 4);
        assert_true(names_read(message, 21, &question));
        assert_string_equal(question.host.name, "a.b");
        assert_int_equal(question.for_address, rows[i].for_address);
    }
}

/* Of more characters than a name has: it is never written anywhere. */
static void a_name_has_a_bound(void **state)
{
    unsigned char message[512] = HEADER;
    size_t at = sizeof(HEADER) - 1;
    struct names_question question;

    (void)state;
    for (size_t label = 0; label < 6; label++, at += 64) {
        message[at] = 63;
        memset(message + at + 1, 'a', 63);
        memcpy(message + at + 64, "\0\0\1\0\1", 5);
        assert_true(names_read(message, at + 64 + 5, &question));
        assert_int_equal(question.refusal, label < 3 ? 0 : 1);
    }
}

static void what_is_no_host_has_no_name(void **state)
{
    static const char *const names[] = {"\0",
                                        "\4*abc\0",
                                        "\xb"
                                        "example.com\0",
                                        "\3-ab\0",
                                        "\2\xc3\xa4\0",
                                        "\1\0",
                                        "\2"
                                        "10\1"
                                        "0\1"
                                        "0\1"
                                        "5\0"};
    static const size_t lengths[] = {1, 6, 13, 5, 4, 3, 10};

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        unsigned char message[64] = HEADER;
        struct names_question question;

        memcpy(message + 12, names[i], lengths[i]);
        memcpy(message + 12 + lengths[i], "\0\1\0\1", 4);
        assert_true(names_read(message, 16 + lengths[i], &question));
        assert_int_equal(question.refusal, 0);
        assert_string_equal(question.host.name, "");
    }
}

/* ---- addresses ---- */

static address give(struct aliases *aliases, const char *name)
{
    struct host host;
    address value;

    assert_true(host_parse(name, strlen(name), &host));
    assert_true(aliases_give(aliases, &host, &value));
    return value;
}

static void an_address_stands_for_one_name(void **state)
{
    struct aliases aliases = {NULL, 0};
    address network;
    address first;
    char name[32];
    char text[ADDRESS_SIZE];

    (void)state;
    assert_true(address_parse("198.18.0.0", &network));
    first = give(&aliases, "first.example");
    address_format(&first, text);
    assert_string_equal(text, "198.18.0.1");
    assert_null(aliases_find(&aliases, &network));
    for (int i = 1; i < ALIASES; i++) {
        snprintf(name, sizeof(name), "n%d.example", i);
        const address value = give(&aliases, name);

        assert_true(address_in(&value, &network, 96 + 15));
        assert_string_equal(aliases_find(&aliases, &value)->name, name);
    }
    const address again = give(&aliases, "first.example");

    assert_true(address_equals(&first, &again));
    give(&aliases, "one-more.example");
    assert_null(aliases_find(&aliases, &first));
    const address other = give(&aliases, "first.example");

    assert_false(address_equals(&first, &other));
    free(aliases.names);
}

/* When the range is through it begins anew, and stays in it. */
static void addresses_come_round(void **state)
{
    struct aliases aliases = {NULL, (1 << 17) - 3};
    address value;
    char text[ADDRESS_SIZE];

    (void)state;
    aliases.names = calloc(ALIASES, sizeof(*aliases.names));
    assert_non_null(aliases.names);
    value = give(&aliases, "last.example");
    address_format(&value, text);
    assert_string_equal(text, "198.19.255.254");
    assert_string_equal(aliases_find(&aliases, &value)->name, "last.example");
    value = give(&aliases, "next.example");
    address_format(&value, text);
    assert_string_equal(text, "198.18.0.1");
    assert_string_equal(aliases_find(&aliases, &value)->name, "next.example");
    free(aliases.names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_read_and_repeated),
        cmocka_unit_test(what_is_no_question_is_refused),
        cmocka_unit_test(other_questions_have_no_address),
        cmocka_unit_test(a_name_has_a_bound),
        cmocka_unit_test(what_is_no_host_has_no_name),
        cmocka_unit_test(an_address_stands_for_one_name),
        cmocka_unit_test(addresses_come_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
