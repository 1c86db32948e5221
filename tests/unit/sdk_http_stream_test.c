/* Bodies as streams: both ways in constant memory, from sources that wait, fail, end early or can be rewound; forms;
 * readers. */
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/ndjson.h>
#include <sandlot/sdk/sse.h>

#include "sdk_support.h"

#include <json-c/json.h>

#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 200 * 1024 * 1024, BLOCK = 65536, SLACK_KIB = 8 * 1024 };

static struct server server;
static struct http_client *client;
static struct test_call call;
static atomic_int tries;
static _Atomic uint64_t received;
static _Atomic uint32_t received_sum;
static char received_head[4096];
static char received_text[16384];

static void send_large(struct peer *peer)
{
    static unsigned char block[BLOCK];

    peer_print(peer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LARGE);
    for (uint64_t at = 0; at < LARGE; at += BLOCK) {
        test_pattern(block, at, BLOCK);
        if (!peer_write(peer, block, BLOCK))
            break;
    }
}

static void send_events(struct peer *peer)
{
    peer_print(peer, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 1000; i++)
        if (!peer_print(peer, "9\r\ndata: %03d\r\n2\r\n\n\n\r\n", i % 1000))
            return;
    peer_sleep(peer, 10000); /* a stream that does not end by itself */
}

/* The target says how many bytes of the headers are sent. */
static void cut_head(struct peer *peer)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nX-One: 1\r\n\r\n";
    size_t length = strtoul(peer->target + strlen("/head/"), NULL, 10);

    peer->close = true;
    peer_write(peer, head, length < sizeof(head) - 1 ? length : sizeof(head) - 1);
}

static const unsigned char compressed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                           0x4b, 0x2c, 0x56, 0xc8, 0x2c, 0x51, 0xc8, 0x2c, 0x06, 0x00,
                                           0xb3, 0x24, 0x4e, 0x96, 0x08, 0x00, 0x00, 0x00}; /* "as it is" */

static void handle(struct peer *peer)
{
    peer_keep_head(peer, received_head, sizeof(received_head));
    if (strcmp(peer->target, "/large") == 0) {
        send_large(peer);
    } else if (strcmp(peer->target, "/cut") == 0) {
        peer->close = true;
        peer_print(peer, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbeginning");
    } else if (strncmp(peer->target, "/head/", strlen("/head/")) == 0) {
        cut_head(peer);
    } else if (strcmp(peer->target, "/compressed") == 0) {
        peer_print(peer, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
                   sizeof(compressed));
        peer_write(peer, compressed, sizeof(compressed));
    } else if (strcmp(peer->target, "/events") == 0) {
        peer->close = true;
        send_events(peer);
    } else if (strcmp(peer->target, "/lines") == 0) {
        peer_answer(peer, 200, "", "{\"n\":1}\n\n{\"n\":2}\r\nnull\n{\"n\":3}");
    } else if (strcmp(peer->target, "/busy-once") == 0 && tries++ == 0) {
        peer_body(peer, NULL, 0, NULL);
        peer_answer(peer, 503, "", "");
    } else {
        uint32_t sum = 0;

        received = peer_body(peer, received_text, sizeof(received_text), &sum);
        received_sum = sum;
        peer_answer(peer, 200, "", "thanks");
    }
}

static int set_up(void **state)
{
    const struct http_options options = {.base_url = server.url, .pause_ms = 5};

    (void)state;
    tries = 0;
    received = 0;
    test_call_open(&call, 60000);
    assert_int_equal(http_client_open(&call.call, &options, &client), SANDLOT_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    http_client_close(client);
    test_call_close(&call);
    return 0;
}

static uint32_t pattern_sum(uint64_t length)
{
    static unsigned char block[BLOCK];
    uint32_t sum = 0;

    for (uint64_t at = 0; at < length; at += BLOCK) {
        size_t size = length - at < BLOCK ? (size_t)(length - at) : BLOCK;

        test_pattern(block, at, size);
        sum = test_sum(sum, block, size);
    }
    return sum;
}

static void test_download(void **state)
{
    struct test_sink sink;
    struct http_response response;
    const struct http_request request = {.method = "GET", .target = "/large", .sink = &sink.sink};

    (void)state;
    test_sink_open(&sink, false);
    long before = test_peak_kib();

    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_OK);
    assert_int_equal(sink.length, LARGE);
    assert_int_equal(response.bytes, LARGE);
    assert_int_equal(response.length, 0);
    assert_int_equal(sink.sum, pattern_sum(LARGE));
    print_message("download of 200 MiB: %ld KiB more at the peak\n", test_peak_kib() - before);
    assert_true(!TEST_MEMORY || test_peak_kib() - before < SLACK_KIB);
    http_response_clear(&response);
}

static void upload(const char *method, uint64_t announced)
{
    struct test_source source;
    const struct http_request request = {
        .method = method, .target = "/take", .body = {.source = &source.source, .length = announced}};

    test_source_open(&source, LARGE);
    long before = test_peak_kib();

    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_int_equal(received, LARGE);
    assert_int_equal(received_sum, pattern_sum(LARGE));
    print_message("upload of 200 MiB: %ld KiB more at the peak\n", test_peak_kib() - before);
    assert_true(!TEST_MEMORY || test_peak_kib() - before < SLACK_KIB);
    assert_non_null(strstr(received_head, method));
    assert_non_null(strstr(received_head, "Content-Type: application/octet-stream"));
}

static void test_upload(void **state)
{
    (void)state;
    upload("PUT", LARGE);
    assert_non_null(strstr(received_head, "Content-Length: 209715200\r\n"));
    upload("POST", HTTP_LENGTH_UNKNOWN);
    assert_non_null(strstr(received_head, "Transfer-Encoding: chunked\r\n"));
}

static void test_only_what_was_announced(void **state)
{
    struct test_source source;
    const struct http_request request = {
        .method = "PUT", .target = "/take", .body = {.source = &source.source, .length = 1000}};

    (void)state;
    test_source_open(&source, 5000);
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_int_equal(received, 1000);
    assert_int_equal(source.at, 1000);
}

static void test_sources_that_fail(void **state)
{
    struct test_source source;
    const struct http_request request = {
        .method = "PUT", .target = "/take", .body = {.source = &source.source, .length = 100000}};

    (void)state;
    test_source_open(&source, 60000);
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(call.message, "ended after 60000 of 100000 bytes"));
    call.status = SANDLOT_OK;
    test_source_open(&source, 100000);
    source.fails_with = SANDLOT_NOT_FOUND;
    source.fails_at = 0;
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_NOT_FOUND);
    assert_int_equal(call.status, SANDLOT_OK); /* who failed has to say why */
}

static void test_rewind(void **state)
{
    struct test_source source;
    struct http_response response;
    struct http_request request = {
        .method = "PUT",
        .target = "/busy-once",
        .body = {.source = &source.source, .length = 30000, .rewind = test_source_rewind, .rewind_context = &source}};

    (void)state;
    test_source_open(&source, 30000);
    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_OK);
    assert_int_equal(response.attempts, 2);
    assert_int_equal(received, 30000);
    assert_int_equal(received_sum, pattern_sum(30000));
    assert_true(source.rewound >= 1);
    http_response_clear(&response);

    tries = 0;
    request.body.rewind = NULL;
    test_source_open(&source, 30000);
    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_UNAVAILABLE);
    assert_int_equal(response.attempts, 1);
    http_response_clear(&response);
}

/* ---- a source that waits ----------------------------------------------------------------------------------------- */

static enum sandlot_status read_pipe(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    ssize_t got = read(source->poll_fd, buffer, capacity);

    *length = got > 0 ? (size_t)got : 0;
    return got < 0 ? SANDLOT_INTERNAL : SANDLOT_OK;
}

static void *write_slowly(void *context)
{
    const int *fd = context;

    for (int i = 0; i < 3; i++) {
        usleep(400000);
        if (write(*fd, "hello ", 6) != 6)
            abort();
    }
    close(*fd);
    return NULL;
}

static void test_waiting_source(void **state)
{
    int ends[2];
    pthread_t thread;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    const struct sandlot_source source = {.size = sizeof(source), .read = read_pipe, .poll_fd = ends[0]};
    const struct http_request request = {
        .method = "POST",
        .target = "/take",
        .body = {.source = &source, .length = HTTP_LENGTH_UNKNOWN},
        .silence_ms = 250, /* while the source is silent, the service is not blamed */
    };

    pthread_create(&thread, NULL, write_slowly, &ends[1]);
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_string_equal(received_text, "hello hello hello ");
    pthread_join(thread, NULL);
    close(ends[0]);
}

static void test_cancel_while_source_waits(void **state)
{
    int ends[2];
    int64_t begin = sandlot_now_ms();

    (void)state;
    assert_int_equal(pipe(ends), 0);
    const struct sandlot_source source = {.size = sizeof(source), .read = read_pipe, .poll_fd = ends[0]};
    const struct http_request request = {
        .method = "POST", .target = "/take", .body = {.source = &source, .length = HTTP_LENGTH_UNKNOWN}};

    call.call.deadline_ms = begin + 150;
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_TIMEOUT);
    assert_true(sandlot_now_ms() - begin >= 150);
    close(ends[0]);
    close(ends[1]);
}

/* ---- sinks ------------------------------------------------------------------------------------------------------- */

static void test_sink_that_stops(void **state)
{
    struct test_sink sink;
    const struct http_request request = {.method = "GET", .target = "/large", .sink = &sink.sink};

    (void)state;
    test_sink_open(&sink, false);
    sink.stop_at = 1000000;
    sink.answer = SANDLOT_EXHAUSTED;
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_EXHAUSTED);
    assert_true(sink.length < 3000000);
}

/* What has gone to a sink cannot be taken back: no second attempt, and never a short success. */
static void test_cut_download(void **state)
{
    struct test_sink sink;
    struct http_response response;
    const struct http_request request = {.method = "GET", .target = "/cut", .sink = &sink.sink};

    (void)state;
    test_sink_open(&sink, true);
    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_UNAVAILABLE);
    assert_string_equal(sink.bytes, "beginning");
    assert_int_equal(response.attempts, 1);
    http_response_clear(&response);
    test_sink_close(&sink);
}

/* Headers without an end are no answer, wherever they were cut; libcurl takes them for one without a body. */
static void test_cut_head(void **state)
{
    (void)state;
    for (int length = 1; length < 29; length++) {
        char target[24];
        struct test_sink sink;

        snprintf(target, sizeof(target), "/head/%d", length);
        const struct http_request request = {.method = "POST", .target = target, .sink = &sink.sink};

        test_sink_open(&sink, true);
        enum sandlot_status status = http_send(&call.call, client, &request, NULL);

        if (length < 5)
            assert_int_not_equal(status, SANDLOT_OK); /* not HTTP as yet */
        else
            assert_int_equal(status, SANDLOT_UNAVAILABLE);
        test_sink_close(&sink);
    }
}

/* A file is what it is, also where a gateway compresses it unasked. */
static void test_compressed(void **state)
{
    struct test_sink sink;
    const struct http_request request = {.method = "GET", .target = "/compressed", .sink = &sink.sink};

    (void)state;
    test_sink_open(&sink, true);
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_string_equal(sink.bytes, "as it is");
    assert_non_null(strstr(received_head, "Accept-Encoding: identity\r\n"));
    test_sink_close(&sink);
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

static void test_form(void **state)
{
    struct test_source source;
    const struct http_part parts[] = {
        {.name = "path", .body = {.bytes = "/tmp/x", .length = 6}},
        {.name = "file",
         .file_name = "a \"b\".bin",
         .type = "application/x-thing",
         .body = {.source = &source.source, .length = 10, .rewind = test_source_rewind, .rewind_context = &source}},
        {.name = "more", .file_name = "c", .body = {.source = &source.source, .length = HTTP_LENGTH_UNKNOWN}},
    };
    struct http_request request = {.method = "POST", .target = "/take", .parts = parts, .part_count = 2};

    (void)state;
    test_source_open(&source, 10);
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_non_null(strstr(received_head, "Content-Type: multipart/form-data; boundary="));
    assert_non_null(strstr(received_head, "Content-Length: "));
    assert_non_null(strstr(received_text, "Content-Disposition: form-data; name=\"path\"\r\n\r\n/tmp/x\r\n"));
    assert_non_null(
        strstr(received_text, "name=\"file\"; filename=\"a %22b%22.bin\"\r\nContent-Type: application/x-thing"));
    test_source_open(&source, 5000);
    request.parts = parts + 2;
    request.part_count = 1;
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_non_null(strstr(received_head, "Transfer-Encoding: chunked"));
    assert_in_range(received, 5000, 5400);
}

static void test_form_again(void **state)
{
    struct test_source source;
    const struct http_part part = {
        .name = "file",
        .body = {.source = &source.source, .length = 100, .rewind = test_source_rewind, .rewind_context = &source}};
    const struct http_request request = {
        .method = "POST", .target = "/busy-once", .parts = &part, .part_count = 1, .repeatable = true};
    struct http_response response;

    (void)state;
    test_source_open(&source, 100);
    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_OK);
    assert_int_equal(response.attempts, 2);
    assert_true(received > 100);
    http_response_clear(&response);
}

static int reluctant = -1; /* a descriptor at which there is nothing when it is looked at for the first time */

int poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
    static int (*next)(struct pollfd *, nfds_t, int);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "poll");
    if (nfds != 1 || fds->fd < 0 || fds->fd != reluctant)
        return next(fds, nfds, timeout);
    reluctant = -1;
    fds->revents = 0;
    return 0;
}

/* libcurl remembers that the source had nothing, but sends the head of the part first and is not paused yet, when there
 * is something already. */
static void test_form_soon_after(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "0123456789", 10), 10);
    close(ends[1]);
    const struct sandlot_source source = {.size = sizeof(source), .read = read_pipe, .poll_fd = ends[0]};
    const struct http_part part = {.name = "file", .file_name = "f", .body = {.source = &source, .length = 10}};
    const struct http_request request = {
        .method = "POST", .target = "/take", .parts = &part, .part_count = 1, .silence_ms = 3000};

    reluctant = ends[0];
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_int_equal(reluctant, -1);
    assert_non_null(strstr(received_text, "\r\n\r\n0123456789\r\n"));
    close(ends[0]);
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

struct counted {
    int count;
    struct sse *reader;
};

static enum sandlot_status on_event(void *context, const struct sse_event *event)
{
    struct counted *counted = context;

    assert_int_equal(atoi(event->data), counted->count % 1000);
    if (++counted->count == 700)
        counted->reader->finished = true;
    return SANDLOT_OK;
}

static void test_events(void **state)
{
    struct sse reader;
    struct counted counted = {0, &reader};
    const struct http_request request = {
        .method = "POST", .target = "/events", .sink = &reader.sink, .enough = &reader.finished};

    (void)state;
    sse_init(&reader, &call.call, 1000, on_event, &counted);
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_int_equal(counted.count, 700);
    sse_clear(&reader);
}

static enum sandlot_status on_value(void *context, struct json_object *value)
{
    int *sum = context;

    *sum += value ? json_object_get_int(json_object_object_get(value, "n")) : 100;
    return SANDLOT_OK;
}

static void test_lines(void **state)
{
    struct ndjson reader;
    int sum = 0;
    const struct http_request request = {.method = "GET", .target = "/lines", .sink = &reader.sink};

    (void)state;
    ndjson_init(&reader, &call.call, 1000, on_value, &sum);
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_int_equal(ndjson_end(&reader), SANDLOT_OK);
    assert_int_equal(sum, 106);
    ndjson_clear(&reader);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(test_download),
        EACH(test_upload),
        EACH(test_only_what_was_announced),
        EACH(test_sources_that_fail),
        EACH(test_rewind),
        EACH(test_waiting_source),
        EACH(test_cancel_while_source_waits),
        EACH(test_sink_that_stops),
        EACH(test_cut_download),
        EACH(test_cut_head),
        EACH(test_compressed),
        EACH(test_form),
        EACH(test_form_again),
        EACH(test_form_soon_after),
        EACH(test_events),
        EACH(test_lines),
    };

    server_open(&server, handle, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    server_close(&server);
    return failed;
}
