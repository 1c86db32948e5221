/* The readers of streams: the same result however the bytes are cut, bounds kept, faults told. */
#include <sandlot/sdk/frames.h>
#include <sandlot/sdk/ndjson.h>
#include <sandlot/sdk/sse.h>

#include "sdk_support.h"

#include <json-c/json.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char got[4096];
static struct test_call call;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    size_t used = strlen(got);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(got + used, sizeof(got) - used, format, arguments);
    va_end(arguments);
}

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

/* Feeds BYTES in pieces of SIZE, each in memory of its own, so that a sanitizer sees a step beyond. */
static enum sandlot_status feed(const struct sandlot_sink *sink, const char *bytes, size_t length, size_t size)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t at = 0; at < length && status == SANDLOT_OK; at += size) {
        size_t piece = length - at < size ? length - at : size;
        char *copy = malloc(piece);

        memcpy(copy, bytes + at, piece);
        status = sink->write(sink, copy, piece);
        free(copy);
    }
    return status;
}

/* ---- server-sent events ------------------------------------------------------------------------------------------ */

static enum sandlot_status on_event(void *context, const struct sse_event *event)
{
    struct sse *reader = context;

    assert_int_equal(event->data[event->length], '\0');
    note("%s|%s|%s;", event->type, event->data, event->id);
    if (strcmp(event->data, "stop") == 0)
        return SANDLOT_NOT_FOUND;
    reader->finished = strcmp(event->data, "finish") == 0;
    return SANDLOT_OK;
}

static void check_events(const char *text, size_t length, const char *wanted)
{
    for (size_t size = 1; size <= length; size++) {
        struct sse reader;

        got[0] = '\0';
        sse_init(&reader, &call.call, 200, on_event, &reader);
        assert_int_equal(feed(&reader.sink, text, length, size), SANDLOT_OK);
        assert_string_equal(got, wanted);
        sse_clear(&reader);
    }
}

#define EVENTS(text, wanted) check_events(text, sizeof(text) - 1, wanted)

static void test_sse(void **state)
{
    (void)state;
    EVENTS("data: a\n\n", "message|a|;");
    EVENTS("\xef\xbb\xbf"
           "data: a\n\n",
           "message|a|;");
    EVENTS("\xef\xbb"
           "data: a\n\n",
           "");
    EVENTS("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "message|a|;message|b|;message|c|;");
    EVENTS("data:a\ndata: b\ndata:  c\n\n", "message|a\nb\n c|;");
    EVENTS(": comment\n\nevent: x\n\nevent: y\ndata: z\n\ndata: w\n\n", "y|z|;message|w|;");
    EVENTS("data\n\ndata\ndata\n\ndata:\n\n", "message||;message|\n|;message||;");
    EVENTS("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "message|a|1;message|b|1;message|c|;");
    EVENTS("id: 7\n\ndata: a\n\n", "message|a|7;");
    EVENTS("id: 1\0002\ndata: a\n\n", "message|a|;");
    EVENTS("data: whole\n\ndata: cut\n", "message|whole|;");
    EVENTS("data: finish\n\ndata: never\n\n", "message|finish|;");
    EVENTS("dat: a\nDATA: b\nunknown: c\ndata : d\n\n", "");
}

static void test_sse_retry_and_faults(void **state)
{
    static const char text[] = "retry: 1500\nretry: x1\nretry:\n\ndata: stop\n\ndata: b\n\n";
    char line[300];

    (void)state;
    for (size_t size = 1; size < 60; size++) {
        struct sse reader;

        sse_init(&reader, &call.call, 200, on_event, &reader);
        assert_int_equal(feed(&reader.sink, text, sizeof(text) - 1, size), SANDLOT_NOT_FOUND);
        assert_int_equal(sse_add(&reader, "\n\n", 2), SANDLOT_NOT_FOUND);
        assert_int_equal(reader.retry_ms, 1500);
        sse_clear(&reader);
        call.status = SANDLOT_OK;
        sse_init(&reader, &call.call, 200, on_event, &reader);
        memset(line, 'd', sizeof(line));
        assert_int_equal(feed(&reader.sink, line, sizeof(line), size), SANDLOT_INTERNAL);
        assert_int_equal(call.status, SANDLOT_INTERNAL);
        sse_clear(&reader);
        sse_init(&reader, NULL, 200, on_event, &reader);
        for (int i = 0; i < 21; i++) /* 21 * 10 bytes of one event, in short lines */
            feed(&reader.sink, "data: 123456789\n", 16, size);
        assert_int_equal(reader.status, SANDLOT_INTERNAL);
        sse_clear(&reader);
    }
}

/* ---- lines of JSON ----------------------------------------------------------------------------------------------- */

static enum sandlot_status on_value(void *context, struct json_object *value)
{
    struct ndjson *reader = context;
    const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);

    note("%s;", text);
    reader->finished = strcmp(text, "\"finish\"") == 0;
    return strcmp(text, "\"stop\"") == 0 ? SANDLOT_NOT_FOUND : SANDLOT_OK;
}

static void check_lines(const char *text, enum sandlot_status status, const char *wanted)
{
    size_t length = strlen(text);

    for (size_t size = 1; size <= length; size++) {
        struct ndjson reader;

        got[0] = '\0';
        call.status = SANDLOT_OK;
        ndjson_init(&reader, &call.call, 40, on_value, &reader);
        feed(&reader.sink, text, length, size);
        assert_int_equal(ndjson_end(&reader), status);
        assert_int_equal(ndjson_end(&reader), status);
        assert_int_equal(call.status, status == SANDLOT_INTERNAL ? status : SANDLOT_OK);
        assert_string_equal(got, wanted);
        ndjson_clear(&reader);
    }
}

/* A NUL is no blank, and nothing may hide behind it. */
static void test_ndjson_with_nul(void **state)
{
    static const char lines[] = "null\0\n";
    struct ndjson reader;

    (void)state;
    ndjson_init(&reader, &call.call, 40, on_value, &reader);
    assert_int_equal(ndjson_add(&reader, lines, sizeof(lines) - 1), SANDLOT_INTERNAL);
    ndjson_clear(&reader);
}

static void test_ndjson(void **state)
{
    (void)state;
    check_lines("{\"a\":1}\n[2]\r\n\n \t\n3\nnull\n null\r\n\"x\"", SANDLOT_OK, "{\"a\":1};[2];3;null;null;\"x\";");
    check_lines("1\n2\n\"finish\"\n{broken\n", SANDLOT_OK, "1;2;\"finish\";");
    check_lines("1\n\"stop\"\n3\n", SANDLOT_NOT_FOUND, "1;\"stop\";");
    check_lines("1\n{broken\n3\n", SANDLOT_INTERNAL, "1;");
    assert_non_null(strstr(call.message, "line 2 of the stream"));
    check_lines("1\n{\"a\":", SANDLOT_INTERNAL, "1;");
    check_lines("1 2\n", SANDLOT_INTERNAL, "");
    check_lines("\"\xff\"\n", SANDLOT_INTERNAL, "");
    check_lines("1\n\"0123456789012345678901234567890123456789\"\n", SANDLOT_INTERNAL, "1;");
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status on_frame(void *context, unsigned char flags, const void *payload, size_t length)
{
    struct frames *reader = context;

    assert_non_null(payload);
    note("%d:%.*s;", flags, (int)length, (const char *)payload);
    reader->finished = flags == 2;
    return flags == 9 ? SANDLOT_NOT_FOUND : SANDLOT_OK;
}

static void check_frames(const struct frame_format *format, const char *bytes, size_t length,
                         enum sandlot_status status, const char *wanted)
{
    for (size_t size = 1; size <= length; size++) {
        struct frames reader;

        got[0] = '\0';
        frames_init(&reader, &call.call, format, 20, on_frame, &reader);
        feed(&reader.sink, bytes, length, size);
        assert_int_equal(frames_end(&reader), status);
        assert_string_equal(got, wanted);
        frames_clear(&reader);
    }
}

#define FRAMES(format, bytes, status, wanted) check_frames(format, bytes, sizeof(bytes) - 1, status, wanted)

static void test_frames(void **state)
{
    static const struct frame_format little = {0, 2, true};
    static const struct frame_format byte = {0, 1, false};
    static const struct frame_format flagged = {1, 4, true};

    (void)state;
    FRAMES(&frame_format_connect, "\0\0\0\0\3abc\1\0\0\0\0\2\0\0\0\1x\0\0\0\0\1never", SANDLOT_OK, "0:abc;1:;2:x;");
    FRAMES(&frame_format_connect, "\0\0\0\0\3abc\0\0\0\0\3ab", SANDLOT_INTERNAL, "0:abc;");
    FRAMES(&frame_format_connect, "\0\0\0", SANDLOT_INTERNAL, "");
    FRAMES(&frame_format_connect, "\0\xff\xff\xff\xff", SANDLOT_INTERNAL, "");
    FRAMES(&frame_format_connect,
           "\0\0\0\0\x15"
           "123456789012345678901",
           SANDLOT_INTERNAL, "");
    FRAMES(&frame_format_connect, "\11\0\0\0\1z\0\0\0\0\1n", SANDLOT_NOT_FOUND, "9:z;");
    FRAMES(&frame_format_engine, "\1\0\0\0\0\0\0\3abc\2\0\0\0\0\0\0\1x", SANDLOT_OK, "1:abc;2:x;");
    FRAMES(&frame_format_engine, "\1\0\0\0\0\0\0\3abc\1\0\7\0\0\0\0\1x", SANDLOT_INTERNAL, "1:abc;");
    FRAMES(&frame_format_engine, "\1\0\0\0\0\0", SANDLOT_INTERNAL, "");
    FRAMES(&little, "\2\0ab\0\0\1\0c", SANDLOT_OK, "0:ab;0:;0:c;");
    FRAMES(&byte, "\1a\2bc\0", SANDLOT_OK, "0:a;0:bc;0:;");
    FRAMES(&flagged, "\5\2\0\0\0ab", SANDLOT_OK, "5:ab;");
}

static void test_frame_heads(void **state)
{
    static const struct frame_format little = {0, 2, true};
    static const struct frame_format byte = {0, 1, false};
    unsigned char head[8];

    (void)state;
    assert_int_equal(frame_head(&frame_format_connect, 3, 0x01020304, head), 5);
    assert_memory_equal(head, "\3\1\2\3\4", 5);
    assert_int_equal(frame_head(&frame_format_connect, 0, (size_t)1 << 32, head), 0);
    assert_int_equal(frame_head(&frame_format_engine, 2, 0x0102, head), 8);
    assert_memory_equal(head, "\2\0\0\0\0\0\1\2", 8);
    assert_int_equal(frame_head(&little, 0, 0x0102, head), 2);
    assert_memory_equal(head, "\2\1", 2);
    assert_int_equal(frame_head(&byte, 0, 255, head), 1);
    assert_int_equal(frame_head(&byte, 0, 256, head), 0);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(test_sse),    EACH(test_sse_retry_and_faults), EACH(test_ndjson), EACH(test_ndjson_with_nul),
        EACH(test_frames), EACH(test_frame_heads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
