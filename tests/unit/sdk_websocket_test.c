/* WebSocket against a server written from the RFC alone. */
#include <sandlot/sdk/websocket.h>

#include "failing_allocator.h"
#include "sdk_support.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct server server;
static struct http_client *client;
static struct test_call call;
static atomic_int pongs;
static atomic_int masked;
static atomic_int goodbyes;
static atomic_bool listens;
static char seen[4096];

/* ---- the server's side ------------------------------------------------------------------------------------------- */

static void shake(struct peer *peer, const char *more)
{
    char joined[200];
    unsigned char digest[20];
    char accept[64];

    peer_keep_head(peer, seen, sizeof(seen));
    snprintf(joined, sizeof(joined), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", peer_header(peer, "Sec-WebSocket-Key"));
    EVP_Digest(joined, strlen(joined), digest, NULL, EVP_sha1(), NULL);
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof(digest));
    peer_print(peer,
               "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: %s\r\n%s\r\n",
               accept, more);
}

static bool read_all(struct peer *peer, void *bytes, size_t length)
{
    char *at = bytes;

    for (size_t got; length > 0; at += got, length -= got)
        if ((got = peer_read(peer, at, length)) == 0)
            return false;
    return true;
}

static void send_frame(struct peer *peer, unsigned char first, const char *bytes, size_t length)
{
    unsigned char head[10] = {first, (unsigned char)length};
    size_t size = 2;

    if (length > 65535) {
        head[1] = 127;
        for (int i = 0; i < 8; i++)
            head[2 + i] = (unsigned char)(length >> (56 - 8 * i));
        size = 10;
    } else if (length > 125) {
        head[1] = 126;
        head[2] = (unsigned char)(length >> 8);
        head[3] = (unsigned char)length;
        size = 4;
    }
    peer_write(peer, head, size);
    peer_write(peer, bytes, length);
}

/* Reads a frame; returns its first byte, 0 at the end. */
static unsigned char read_frame(struct peer *peer, char *bytes, size_t *length)
{
    unsigned char head[2];
    unsigned char more[8];
    unsigned char mask[4] = {0};

    if (!read_all(peer, head, 2))
        return 0;
    *length = head[1] & 127;
    size_t size = *length == 127 ? 8 : *length == 126 ? 2 : 0;

    if (size && !read_all(peer, more, size))
        return 0;
    for (size_t i = 0, value = 0; i < size; i++)
        *length = value = value << 8 | more[i];
    if (!(head[1] & 128) || !read_all(peer, mask, 4) || !read_all(peer, bytes, *length))
        return 0;
    masked += mask[0] || mask[1] || mask[2] || mask[3];
    for (size_t i = 0; i < *length; i++)
        bytes[i] ^= (char)mask[i % 4];
    return head[0];
}

/* Says what it hears, or, unless ANSWERS, nothing. */
static void echo(struct peer *peer, bool answers)
{
    char *bytes = malloc(4000000);
    size_t length;
    unsigned char first;

    while ((first = read_frame(peer, bytes, &length)) != 0) {
        if ((first & 15) == 8) {
            goodbyes++;
            send_frame(peer, 0x88, bytes, length);
            break;
        }
        if ((first & 15) == 10)
            pongs++;
        else if (answers)
            send_frame(peer, (first & 15) == 9 ? 0x8a : first, bytes, length);
    }
    free(bytes);
}

/* The same FRAME again and again, as fast as it goes, behind FIRST; what the other side says is not read. */
static void pour(struct peer *peer, const char *first, size_t first_length, const char *frame, size_t length)
{
    static char block[64 * 1024];
    size_t filled = 0;

    for (; filled + length <= sizeof(block); filled += length)
        memcpy(block + filled, frame, length);
    peer_write(peer, first, first_length);
    while (peer_write(peer, block, filled))
        continue;
}

static void misbehave(struct peer *peer, const char *how)
{
    static char zeros[5000];
    static const char at_once[] = "\x82\x01"
                                  "a"
                                  "\x82\x01"
                                  "b"
                                  "\x82\x01"
                                  "c"
                                  "\x88\x02\x03\xe8";

    shake(peer, "");
    if (strcmp(how, "fragments") == 0) {
        send_frame(peer, 0x01, "one ", 4);
        send_frame(peer, 0x89, "ping", 4);
        char bytes[200];
        size_t length;
        unsigned char first = read_frame(peer, bytes, &length); /* after a close nobody needs to answer any more */

        pongs += first == 0x8a && length == 4 && memcmp(bytes, "ping", 4) == 0;
        send_frame(peer, 0x00, "two ", 4);
        send_frame(peer, 0x80, "three", 5);
        send_frame(peer, 0x82, "\0\1", 2);
        send_frame(peer, 0x88,
                   "\x03\xf3"
                   "gone",
                   6);
        goodbyes += read_frame(peer, bytes, &length) == 0x88;
    } else if (strcmp(how, "masked") == 0) {
        peer_write(peer, "\x81\x81\1\2\3\4x", 7);
        peer_sleep(peer, 500);
    } else if (strcmp(how, "utf8") == 0) {
        send_frame(peer, 0x81, "\xff\xff", 2);
        peer_sleep(peer, 500);
    } else if (strcmp(how, "long") == 0) {
        send_frame(peer, 0x82, zeros, sizeof(zeros));
        peer_sleep(peer, 500);
    } else if (strcmp(how, "drop") == 0) {
        peer_write(peer, "\x81\x05hal", 5);
    } else if (strcmp(how, "flood") == 0) {
        for (int i = 0; i < 2000; i++)
            send_frame(peer, 0x82, zeros, sizeof(zeros));
    } else if (strcmp(how, "pings") == 0) {
        pour(peer, "", 0,
             "\x89\x08"
             "are you?",
             10);
    } else if (strcmp(how, "nothings") == 0) {
        pour(peer, "\x01\x00", 2, "\x00\x00", 2);
    } else if (strcmp(how, "at-once") == 0) {
        peer_write(peer, at_once, sizeof(at_once) - 1);
        peer_sleep(peer, 500);
    } else if (strcmp(how, "silent") == 0) {
        peer_sleep(peer, 10000);
    }
}

static void handle(struct peer *peer)
{
    peer->close = true;
    if (strncmp(peer->target, "/bad/", 5) == 0) {
        misbehave(peer, peer->target + 5);
    } else if (strcmp(peer->target, "/refused") == 0) {
        peer_answer(peer, 403, "", "{\"message\":\"not you\"}");
    } else if (strcmp(peer->target, "/later") == 0) {
        peer_answer(peer, 429, "Retry-After: 7\r\n", "{\"message\":\"too many\"}");
    } else if (strcmp(peer->target, "/named") == 0) {
        shake(peer, "X-Box-Id: box 1\r\n");
        echo(peer, true);
    } else if (strcmp(peer->target, "/no-socket") == 0) {
        peer_answer(peer, 200, "", "hello");
    } else if (strcmp(peer->target, "/kept") == 0) {
        peer->close = false;
        peer_answer(peer, 200, "", "hello");
    } else if (strcmp(peer->target, "/wrong-key") == 0) {
        peer_print(peer, "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n");
    } else if (strcmp(peer->target, "/hang") == 0) {
        peer_sleep(peer, 10000);
    } else if (strcmp(peer->target, "/endless") == 0) {
        while (peer_print(peer, "HTTP/1.1 101 x%0500d", 0))
            continue;
    } else if (strcmp(peer->target, "/listening") == 0) {
        shake(peer, "");
        while (!listens)
            peer_sleep(peer, 10);
        echo(peer, false);
    } else if (strcmp(peer->target, "/other-protocol") == 0) {
        shake(peer, "Sec-WebSocket-Protocol: c\r\n");
    } else {
        shake(peer, *peer_header(peer, "Sec-WebSocket-Protocol") ? "Sec-WebSocket-Protocol: b\r\n" : "");
        echo(peer, true);
    }
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    const struct http_options options = {.base_url = server.url, .bearer = "sk-secret-1234"};

    (void)state;
    pongs = masked = goodbyes = 0;
    listens = false;
    test_call_open(&call, 120000);
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

static struct websocket *open_at(const char *target, size_t limit)
{
    const struct websocket_request request = {.target = target, .limit = limit};
    struct websocket *socket = NULL;
    enum sandlot_status status = websocket_open(&call.call, client, &request, &socket);

    if (status != SANDLOT_OK)
        print_error("%s: %s\n", target, call.message);
    assert_int_equal(status, SANDLOT_OK);
    return socket;
}

static void expect(struct websocket *socket, enum websocket_kind kind, const char *bytes, size_t length)
{
    struct websocket_message message;

    assert_int_equal(websocket_receive(&call.call, socket, -1, &message), SANDLOT_OK);
    assert_int_equal(message.kind, kind);
    assert_int_equal(message.length, length);
    assert_memory_equal(message.bytes, bytes, length);
}

static void test_echo(void **state)
{
    static const size_t sizes[] = {0, 1, 125, 126, 65535, 65536, 3000000};
    char *bytes = malloc(3000000);
    struct websocket *socket = open_at("/echo?a=b", 0);

    (void)state;
    assert_non_null(strstr(seen, "GET /echo?a=b HTTP/1.1\r\nHost: 127.0.0.1:"));
    assert_non_null(strstr(seen, "Authorization: Bearer sk-secret-1234\r\n"));
    assert_null(websocket_protocol(socket));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        test_pattern(bytes, i, sizes[i]);
        assert_int_equal(websocket_send(&call.call, socket, WEBSOCKET_BINARY, bytes, sizes[i]), SANDLOT_OK);
        expect(socket, WEBSOCKET_BINARY, bytes, sizes[i]);
    }
    assert_int_equal(websocket_send(&call.call, socket, WEBSOCKET_TEXT, "\xc3\xa4", 2), SANDLOT_OK);
    assert_int_equal(websocket_send(&call.call, socket, WEBSOCKET_PING, "p", 1), SANDLOT_OK);
    expect(socket, WEBSOCKET_TEXT, "\xc3\xa4", 2);
    assert_true(masked >= 8);
    assert_int_equal(websocket_send(&call.call, socket, WEBSOCKET_TEXT, "\xff", 1), SANDLOT_INVALID_ARGUMENT);
    assert_int_equal(websocket_send(&call.call, socket, WEBSOCKET_PING, bytes, 126), SANDLOT_INVALID_ARGUMENT);
    websocket_close(&call.call, socket, 1000, "bye");
    assert_int_equal(goodbyes, 1);
    free(bytes);
}

enum { POSTED = 3000000, POSTS = 20 }; /* more than any connection holds */

static struct websocket *post_much(const char *target)
{
    char *bytes = calloc(1, POSTED);
    struct websocket *socket = open_at(target, 0);

    assert_non_null(bytes);
    assert_false(websocket_is_posting(socket));
    for (int i = 0; i < POSTS; i++) {
        memset(bytes, 'a' + i, POSTED);
        assert_int_equal(websocket_post(&call.call, socket, WEBSOCKET_BINARY, bytes, POSTED), SANDLOT_OK);
    }
    assert_true(websocket_is_posting(socket));
    free(bytes);
    return socket;
}

/* One thread, and an echo that reads nothing while nobody takes what it says. */
static void test_posting(void **state)
{
    struct websocket *socket = post_much("/echo");
    struct websocket_message message;

    (void)state;
    for (int came = 0; came < POSTS; came += message.kind != WEBSOCKET_NOTHING) {
        assert_int_equal(websocket_receive(&call.call, socket, -1, &message), SANDLOT_OK);
        if (message.kind == WEBSOCKET_NOTHING)
            continue;
        assert_int_equal(message.length, POSTED);
        assert_int_equal(((const char *)message.bytes)[POSTED - 1], 'a' + came);
    }
    assert_false(websocket_is_posting(socket));
    websocket_close(&call.call, socket, 1000, "");
    socket = post_much("/listening"); /* what has gone is told */
    listens = true;
    assert_int_equal(websocket_receive(&call.call, socket, -1, &message), SANDLOT_OK);
    assert_int_equal(message.kind, WEBSOCKET_NOTHING);
    assert_false(websocket_is_posting(socket));
    websocket_free(socket);
}

static void test_protocols(void **state)
{
    const struct websocket_request request = {.target = "/echo", .protocols = "a, b"};
    const struct websocket_request other = {.target = "/other-protocol", .protocols = "a, b"};
    struct websocket *socket;

    (void)state;
    assert_int_equal(websocket_open(&call.call, client, &request, &socket), SANDLOT_OK);
    assert_string_equal(websocket_protocol(socket), "b");
    websocket_free(socket);
    assert_int_equal(websocket_open(&call.call, client, &other, &socket), SANDLOT_INTERNAL);
    assert_null(socket);
}

static void test_fragments_and_close(void **state)
{
    struct websocket *socket = open_at("/bad/fragments", 0);
    struct websocket_message message;

    (void)state;
    expect(socket, WEBSOCKET_TEXT, "one two three", 13);
    expect(socket, WEBSOCKET_BINARY, "\0\1", 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(websocket_receive(&call.call, socket, -1, &message), SANDLOT_OK);
        assert_int_equal(message.kind, WEBSOCKET_CLOSED);
        assert_int_equal(message.code, 1011);
    }
    assert_int_equal(websocket_send(&call.call, socket, WEBSOCKET_TEXT, "x", 1), SANDLOT_UNAVAILABLE);
    websocket_close(&call.call, socket, 1000, "");
    for (int i = 0; i < 6000 && goodbyes == 0; i++)
        usleep(10000);
    assert_int_equal(pongs, 1);
    assert_int_equal(goodbyes, 1);
}

static void test_bad_frames(void **state)
{
    static const struct {
        const char *target;
        enum sandlot_status status;
    } cases[] = {{"/bad/masked", SANDLOT_INTERNAL},
                 {"/bad/utf8", SANDLOT_INTERNAL},
                 {"/bad/long", SANDLOT_INTERNAL},
                 {"/bad/drop", SANDLOT_UNAVAILABLE}};
    struct websocket_message message;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct websocket *socket = open_at(cases[i].target, 1000);

        call.status = SANDLOT_OK;
        enum sandlot_status status = websocket_receive(&call.call, socket, -1, &message);

        if (status != cases[i].status)
            print_error("%s: %d %s\n", cases[i].target, status, call.message);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(call.status, status);
        websocket_free(socket);
    }
}

static void test_handshakes(void **state)
{
    static const struct {
        const char *target;
        enum sandlot_status status;
        const char *message;
    } cases[] = {{"/refused", SANDLOT_AUTH, "status 403: \"not you\""},
                 {"/no-socket", SANDLOT_INTERNAL, "status 200"},
                 {"/wrong-key", SANDLOT_INTERNAL, "none of WebSocket"},
                 {"/endless", SANDLOT_INTERNAL, "too long"},
                 {NULL, SANDLOT_INVALID_ARGUMENT, "no address"}};
    struct websocket *socket;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct websocket_request request = {.target = cases[i].target};

        call.status = SANDLOT_OK;
        assert_int_equal(websocket_open(&call.call, client, &request, &socket), cases[i].status);
        if (!strstr(call.message, cases[i].message))
            print_error("%s\n", call.message);
        assert_non_null(strstr(call.message, cases[i].message));
        assert_null(socket);
    }
}

/* Who asks for it gets the answer: of the upgrade its headers, of a refusal also the body and when to come again. */
static void test_answers(void **state)
{
    struct http_response answer = {0};
    struct websocket_request request = {.target = "/named", .answer = &answer};
    struct websocket *socket;

    (void)state;
    assert_int_equal(websocket_open(&call.call, client, &request, &socket), SANDLOT_OK);
    assert_int_equal(answer.status, 101);
    assert_string_equal(http_header(&answer, "x-box-id"), "box 1");
    assert_int_equal(answer.length, 0);
    assert_int_equal(answer.retry_ms, -1);
    http_response_clear(&answer);
    websocket_close(&call.call, socket, 1000, "");
    request.target = "/later";
    assert_int_equal(websocket_open(&call.call, client, &request, &socket), SANDLOT_EXHAUSTED);
    assert_non_null(strstr(call.message, "wants to be left alone for 7 s"));
    assert_int_equal(answer.status, 429);
    assert_int_equal(answer.retry_ms, 7000);
    assert_string_equal(answer.body, "{\"message\":\"too many\"}");
    http_response_clear(&answer);
    request.target = "/wrong-key";
    assert_int_equal(websocket_open(&call.call, client, &request, &socket), SANDLOT_INTERNAL);
    assert_int_equal(answer.status, 0);
}

static void *cancel_soon(void *context)
{
    (void)context;
    usleep(150000);
    test_call_cancel(&call);
    return NULL;
}

static void test_time(void **state)
{
    const struct websocket_request request = {.target = "/hang"};
    struct websocket *socket;
    struct websocket_message message;
    pthread_t thread;
    int ends[2];
    int64_t begin = sandlot_now_ms();

    (void)state;
    call.call.deadline_ms = begin + 150;
    assert_int_equal(websocket_open(&call.call, client, &request, &socket), SANDLOT_TIMEOUT);
    assert_true(sandlot_now_ms() - begin >= 150);
    call.call.deadline_ms = 0;
    socket = open_at("/bad/silent", 0);
    call.call.deadline_ms = (begin = sandlot_now_ms()) + 150;
    assert_int_equal(websocket_receive(&call.call, socket, -1, &message), SANDLOT_TIMEOUT);
    assert_true(sandlot_now_ms() - begin >= 150);
    call.call.deadline_ms = 0;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(websocket_receive(&call.call, socket, ends[0], &message), SANDLOT_OK);
    assert_int_equal(message.kind, WEBSOCKET_NOTHING);
    begin = sandlot_now_ms();
    pthread_create(&thread, NULL, cancel_soon, NULL);
    assert_int_equal(websocket_receive(&call.call, socket, -1, &message), SANDLOT_CANCELLED);
    assert_true(sandlot_now_ms() - begin >= 140);
    pthread_join(thread, NULL);
    close(ends[0]);
    close(ends[1]);
    websocket_free(socket);
    websocket_free(NULL);
    websocket_close(&call.call, NULL, 1000, "");
}

/* A server that says nothing more does not hold up the goodbye for long. */
static void test_goodbye_to_silence(void **state)
{
    struct websocket *socket = open_at("/bad/silent", 0);
    int64_t begin = sandlot_now_ms();

    (void)state;
    websocket_close(&call.call, socket, 1000, "");
    assert_true(sandlot_now_ms() - begin >= 1900);
}

/* A WebSocket has a connection of its own; those that the client keeps are there for requests after it. */
static void test_kept_connections_stay(void **state)
{
    const struct http_request request = {.method = "GET", .target = "/kept"};
    int before = server.connections;

    (void)state;
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    websocket_close(&call.call, open_at("/", 0), 1000, "");
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_int_equal(server.connections - before, 2);
}

static void test_flood(void **state)
{
    struct websocket *socket = open_at("/bad/flood", 0);
    struct websocket_message message;
    long before = test_peak_kib();

    (void)state;
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(websocket_receive(&call.call, socket, -1, &message), SANDLOT_OK);
        assert_int_equal(message.length, 5000);
        if (i == 10)
            usleep(300000); /* the rest comes meanwhile, and must wait in the kernel */
    }
    websocket_free(socket);
    assert_true(!TEST_MEMORY || test_peak_kib() - before < 4096);
}

#if ALLOCATOR_REPLACED
/* The allocation AT fails while three messages and a goodbye come at once. False: there are not so many. */
static bool receive_starved(long at)
{
    struct websocket *socket = open_at("/bad/at-once", 0);
    struct websocket_message message;
    enum sandlot_status status;
    char next = 'a';

    atomic_store(&countdown, at);
    while ((status = websocket_receive(&call.call, socket, -1, &message)) == SANDLOT_OK &&
           message.kind == WEBSOCKET_BINARY) {
        assert_int_equal(message.length, 1);
        assert_int_equal(*(const char *)message.bytes, next++);
    }
    bool failed = atomic_exchange(&countdown, -1) < 0;

    assert_true(status == (failed ? SANDLOT_INTERNAL : SANDLOT_OK) || (failed && next == 'd'));
    websocket_free(socket);
    return failed;
}

/* What there was no memory for is no gap between what was said before and behind it. */
static void test_starved(void **state)
{
    long at = 0;

    (void)state;
    while (at < 100 && receive_starved(at))
        at++;
    assert_in_range(at, 3, 99);
}
#endif

/* Pings, and fragments without an end, keep neither the deadline from being seen nor memory from being free. */
static void test_endless(void **state)
{
    static const struct {
        const char *target;
        enum sandlot_status status;
    } cases[] = {{"/bad/pings", SANDLOT_TIMEOUT}, {"/bad/nothings", SANDLOT_INTERNAL}};
    struct websocket_message message;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct websocket *socket = open_at(cases[i].target, 0);
        long before = test_peak_kib();
        int64_t begin = sandlot_now_ms();

        call.call.deadline_ms = begin + 300;
        assert_int_equal(websocket_receive(&call.call, socket, -1, &message), cases[i].status);
        call.call.deadline_ms = 0;
        websocket_close(&call.call, socket, 1000, "");
        assert_true(!TEST_MEMORY || test_peak_kib() - before < 4096);
    }
}

static void *send_many(void *context)
{
    struct test_call *own = malloc(sizeof(*own));
    char text[16];

    test_call_open(own, 60000);
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof(text), "%d", i);
        if (websocket_send(&own->call, context, WEBSOCKET_TEXT, text, strlen(text)) != SANDLOT_OK)
            abort();
    }
    test_call_close(own);
    free(own);
    return NULL;
}

static void test_two_threads(void **state)
{
    struct websocket *socket = open_at("/echo", 0);
    pthread_t thread;
    char text[16];

    (void)state;
    pthread_create(&thread, NULL, send_many, socket);
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof(text), "%d", i);
        expect(socket, WEBSOCKET_TEXT, text, strlen(text));
    }
    pthread_join(thread, NULL);
    websocket_close(&call.call, socket, 1000, "");
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(test_echo),
        EACH(test_posting),
        EACH(test_protocols),
        EACH(test_fragments_and_close),
        EACH(test_bad_frames),
        EACH(test_handshakes),
        EACH(test_answers),
        EACH(test_time),
        EACH(test_goodbye_to_silence),
        EACH(test_flood),
        EACH(test_endless),
        EACH(test_two_threads),
        EACH(test_kept_connections_stay),
#if ALLOCATOR_REPLACED
        EACH(test_starved),
#endif
    };

    server_open(&server, handle, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    server_close(&server);
    return failed;
}
