/* Amazon's event streams: the same messages however the bytes are cut; whatever is damaged or missing is a fault. */
#include <sandlot/sdk/event_stream.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Recorded: a message with a header of every type, a result, an exception. */
static const unsigned char recorded[] =
    "\000\000\000i\000\000\000X\224\260\023\223\001a\000\001b\001\001c\002x\001d\003xy\001e\004wxyz\001f\0051234"
    "5678\001g\006\000\005bytes\001h\01012345678\001i\0110123456789abcdef\013:event-type\007\000\000p\226d\304"
    "\015\000\000\000\357\000\000\000L\260\314\202\334\015:message-type\007\000\005event\013:event-type\007\000"
    "\006result\015:content-type\007\000\020application/json{\042content\042:[{\042type\042:\042text\042,\042tex"
    "t\042:\042hi\134r\134n\042}],\042structuredContent\042:{\042stdout\042:\042hi\134r\134n\042,\042stderr\042:"
    "\042\042,\042exitCode\042:0,\042executionTime\042:0.05},\042isError\042:false}\021\351 \370\000\000\000\210"
    "\000\000\000a\336\001u\364\015:message-type\007\000\011exception\017:exception-type\007\000\023throttlingEx"
    "ception\015:content-type\007\000\020application/json{\042message\042:\042slow down\042}NC\271X";

enum { LENGTH = sizeof(recorded) - 1, FIRST = 0x69, SECOND = FIRST + 0xef };

static const char messages[] =
    "0||||p;0|result|application/json||{\"content\":[{\"type\":\"text\",\"text\":\"hi\\r\\n\"}],"
    "\"structuredContent\":{\"stdout\":\"hi\\r\\n\",\"stderr\":\"\",\"exitCode\":0,"
    "\"executionTime\":0.05},\"isError\":false};1|throttlingException|application/json||"
    "{\"message\":\"slow down\"};";

static char got[4096];
static struct test_call call;

static int set_up(void **state)
{
    (void)state;
    test_call_open(&call, 0);
    got[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_call_close(&call);
    return 0;
}

static enum sandlot_status on_message(void *context, const struct event_stream_message *message)
{
    struct event_stream *reader = context;
    size_t used = strlen(got);

    snprintf(got + used, sizeof(got) - used, "%d|%s|%s|%s|%.*s;", (int)message->kind, message->type,
             message->content_type, message->text, (int)message->length, (const char *)message->payload);
    reader->finished = strcmp(message->text, "finish") == 0;
    return strcmp(message->text, "stop") == 0 ? SANDLOT_NOT_FOUND : SANDLOT_OK;
}

/* Reads BYTES in pieces of SIZE, each in memory of its own, so that a sanitizer sees a step beyond. */
static enum sandlot_status read_bytes(const unsigned char *bytes, size_t length, size_t size, size_t limit)
{
    struct event_stream reader;

    got[0] = '\0';
    call.message[0] = '\0';
    call.status = SANDLOT_OK;
    event_stream_init(&reader, &call.call, limit, on_message, &reader);
    for (size_t at = 0; at < length; at += size) {
        size_t piece = length - at < size ? length - at : size;
        unsigned char *copy = malloc(piece);

        memcpy(copy, bytes + at, piece);
        reader.sink.write(&reader.sink, copy, piece);
        free(copy);
    }
    enum sandlot_status status = event_stream_end(&reader);

    event_stream_clear(&reader);
    return status;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static void write_number(unsigned char *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> (24 - 8 * i));
}

static uint32_t sum_of(const unsigned char *bytes, size_t length)
{
    uint32_t sum = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~sum;
}

/* A message with right checksums around HEADERS, whatever these are. Returns its length. */
static size_t make_message(unsigned char *message, const char *headers, size_t length, const char *payload)
{
    size_t total = 16 + length + strlen(payload);

    write_number(message, (uint32_t)total);
    write_number(message + 4, (uint32_t)length);
    write_number(message + 8, sum_of(message, 8));
    memcpy(message + 12, headers, length);
    memcpy(message + 12 + length, payload, strlen(payload));
    write_number(message + total - 4, sum_of(message, total - 4));
    return total;
}

static void check_message(const char *headers, size_t length, enum sandlot_status wanted, const char *told)
{
    unsigned char message[512];
    size_t total = make_message(message, headers, length, "pay");

    assert_int_equal(read_bytes(message, total, total, 512), wanted);
    assert_string_equal(got, told);
}

#define MESSAGE(headers, wanted, told) check_message(headers, sizeof(headers) - 1, wanted, told)

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static void test_pieces(void **state)
{
    (void)state;
    for (size_t size = 1; size <= LENGTH; size++) {
        assert_int_equal(read_bytes(recorded, LENGTH, size, 1024), SANDLOT_OK);
        assert_string_equal(got, messages);
    }
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t length = 0; length < LENGTH; length++) {
        bool between = length == 0 || length == FIRST || length == SECOND;

        assert_int_equal(read_bytes(recorded, length, 7, 1024), between ? SANDLOT_OK : SANDLOT_INTERNAL);
        assert_true(between || strstr(call.message, "ended inside"));
        assert_memory_equal(got, messages, strlen(got));
    }
}

static void test_every_bit_counts(void **state)
{
    unsigned char bytes[LENGTH];

    (void)state;
    for (size_t bit = 0; bit < (size_t)LENGTH * 8; bit++) {
        memcpy(bytes, recorded, LENGTH);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(read_bytes(bytes, LENGTH, 64, 1024), SANDLOT_INTERNAL);
        assert_true(call.message[0] != '\0');
        assert_memory_equal(got, messages, strlen(got));
    }
}

static void test_headers(void **state)
{
    (void)state;
    MESSAGE("", SANDLOT_OK, "0||||pay;");
    MESSAGE("\013:event-type\7\0\0", SANDLOT_OK, "0||||pay;");
    MESSAGE("\15:message-type\7\0\5error\13:error-code\7\0\3"
            "500\16:error-message\7\0\2no",
            SANDLOT_OK, "2|500||no|pay;");
    MESSAGE("\16:error-message\7\0\4stop", SANDLOT_NOT_FOUND, "0|||stop|pay;");
    MESSAGE("\16:error-message\7\0\6finish", SANDLOT_OK, "0|||finish|pay;");
    MESSAGE("\0", SANDLOT_INTERNAL, "");         /* a name of no bytes */
    MESSAGE("\1", SANDLOT_INTERNAL, "");         /* no name */
    MESSAGE("\1a", SANDLOT_INTERNAL, "");        /* no type */
    MESSAGE("\1a\12", SANDLOT_INTERNAL, "");     /* no such type */
    MESSAGE("\1a\7\0", SANDLOT_INTERNAL, "");    /* half a length */
    MESSAGE("\1a\7\0\2x", SANDLOT_INTERNAL, ""); /* beyond the headers */
    MESSAGE("\1a\11x", SANDLOT_INTERNAL, "");    /* likewise */
    MESSAGE("\1a\0\377", SANDLOT_INTERNAL, "");  /* a second name beyond them */
}

static void test_lengths(void **state)
{
    unsigned char head[16] = {0};

    (void)state;
    write_number(head, 15);
    write_number(head + 8, sum_of(head, 8));
    assert_int_equal(read_bytes(head, 16, 16, 1024), SANDLOT_INTERNAL);
    write_number(head, 16);
    write_number(head + 4, 1);
    write_number(head + 8, sum_of(head, 8));
    assert_int_equal(read_bytes(head, 16, 16, 1024), SANDLOT_INTERNAL);
    write_number(head, UINT32_MAX);
    write_number(head + 8, sum_of(head, 8));
    assert_int_equal(read_bytes(head, 16, 16, 1 << 20), SANDLOT_INTERNAL);
    assert_non_null(strstr(call.message, "longer than it may be"));
    /* What was announced costs nothing until it comes. */
    long before = test_peak_kib();

    assert_int_equal(read_bytes(head, 16, 16, SIZE_MAX), SANDLOT_INTERNAL);
    assert_non_null(strstr(call.message, "ended inside"));
    assert_true(!TEST_MEMORY || test_peak_kib() - before < 4096);
    assert_int_equal(read_bytes(recorded, LENGTH, LENGTH, SECOND - FIRST), SANDLOT_OK);
    assert_int_equal(read_bytes(recorded, LENGTH, LENGTH, SECOND - FIRST - 1), SANDLOT_INTERNAL);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(test_pieces), EACH(test_cut_anywhere), EACH(test_every_bit_counts), EACH(test_headers), EACH(test_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
