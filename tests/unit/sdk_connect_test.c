/* Calls of the Connect protocol: frames cut anywhere, ends of all kinds, and a server that answers as it is told. */
#include <sandlot/sdk/connect.h>

#include "../../sdk/lib/connect_answer.h"
#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "very-secret-token"
#define BYTES(text) text, sizeof(text) - 1

static struct server server;
static struct http_client *client;
static struct test_call call;
static char request_head[4096];
static char request_body[256];
static size_t request_length;

/* What a test has the server answer. */
static struct reply {
    int status;
    const char *type;
    const char *body;
    size_t length;
    size_t announced; /* longer than that: the answer is cut */
} reply;

static const char good[] = "\0\0\0\0\7{\"n\":1}\0\0\0\0\7{\"n\":2}\2\0\0\0\2{}";
static const char refused[] =
    "\0\0\0\0\7{\"n\":1}\2\0\0\0\66{\"error\":{\"code\":\"not_found\",\"message\":\"no such pid\"}}";

/* ---- the reader ---------------------------------------------------------------------------------------------------
 */

struct seen {
    int64_t sum; /* of all n, each ten times the one before */
    enum sandlot_status answer;
    bool enough;
};

static enum sandlot_status on_message(void *context, struct json_object *message)
{
    struct seen *seen = context;
    int64_t number = 0;

    json_find_integer(message, "n", &number, NULL);
    seen->sum = seen->sum * 10 + number;
    seen->enough = number == 9;
    return seen->answer;
}

/* The code at the end, after SIZE bytes in pieces that are cut after FIRST bytes, and then every STEP. */
static int read_cut(const char *bytes, size_t size, size_t first, size_t step, struct seen *seen,
                    char text[CONNECT_LONGEST_TEXT])
{
    struct connect_reader reader;

    *seen = (struct seen){0};
    connect_reader_init(&reader, 1024, on_message, seen);
    for (size_t at = 0; at < size;) {
        size_t wanted = at == 0 && first > 0 ? first : step;
        size_t piece = wanted < size - at ? wanted : size - at;

        if (frames_add(&reader.frames, bytes + at, piece) != SANDLOT_OK)
            break;
        at += piece;
    }
    connect_reader_end(&reader);
    snprintf(text, CONNECT_LONGEST_TEXT, "%s", reader.text);
    int code = reader.code;

    connect_reader_clear(&reader);
    return code;
}

static void frames_are_cut_anywhere(void **state)
{
    struct seen seen;
    char text[CONNECT_LONGEST_TEXT];

    (void)state;
    for (size_t first = 0; first < sizeof(good); first++) {
        for (size_t step = 1; step <= sizeof(good); step++) {
            assert_int_equal(read_cut(BYTES(good), first, step, &seen, text), GRPC_OK);
            assert_int_equal(seen.sum, 12);
        }
    }
    for (size_t first = 1; first < sizeof(refused); first++) {
        assert_int_equal(read_cut(BYTES(refused), first, sizeof(refused), &seen, text), GRPC_NOT_FOUND);
        assert_string_equal(text, "no such pid");
        assert_int_equal(seen.sum, 1);
    }
}

/* Whatever of a good stream is missing: it is not taken for whole. */
static void what_is_cut_short_is_no_success(void **state)
{
    struct seen seen;
    char text[CONNECT_LONGEST_TEXT];

    (void)state;
    for (size_t size = 0; size < sizeof(good) - 1; size++) {
        bool between = size == 0 || size == 12 || size == 24;
        int code = read_cut(good, size, 0, size + 1, &seen, text);

        assert_int_equal(code, between ? GRPC_UNAVAILABLE : GRPC_INTERNAL);
        assert_true(*text);
    }
}

static void ends_are_read(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        int code;
    } cases[] = {
        {BYTES("\2\0\0\0\2{}"), GRPC_OK},
        {BYTES("\2\0\0\0\14{\"error\":{}}"), GRPC_UNKNOWN},
        {BYTES("\2\0\0\0\14{\"error\":17}"), GRPC_UNKNOWN},
        {BYTES("\2\0\0\0\33{\"error\":{\"code\":\"strange\"}}"), GRPC_INTERNAL}, /* its length is wrong */
        {BYTES("\2\0\0\0\34{\"error\":{\"code\":\"strange\"}}"), GRPC_UNKNOWN},
        {BYTES("\2\0\0\0\35{\"error\":{\"code\":\"canceled\"}}"), GRPC_CANCELLED},
        {BYTES("\2\0\0\0\4null"), GRPC_INTERNAL},
        {BYTES("\2\0\0\0\2[]"), GRPC_INTERNAL},
        {BYTES("\2\0\0\0\0"), GRPC_INTERNAL},
        {BYTES("\0\0\0\0\0"), GRPC_INTERNAL},
        {BYTES("\1\0\0\0\2{}\2\0\0\0\2{}"), GRPC_INTERNAL},    /* compressed */
        {BYTES("\2\0\0\0\2{}\0\0\0\0\2{}"), GRPC_INTERNAL},    /* goes on */
        {BYTES("\2\0\0\0\2{}\0"), GRPC_INTERNAL},              /* likewise */
        {BYTES("\0\0\0\4\1"), GRPC_INTERNAL},                  /* longer than it may be */
        {BYTES("\0\0\0\0\3{\"\2\2\0\0\0\2{}"), GRPC_INTERNAL}, /* no JSON */
    };
    struct seen seen;
    char text[CONNECT_LONGEST_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(read_cut(cases[i].bytes, cases[i].size, 0, 1, &seen, text), cases[i].code);
}

static void codes_have_names(void **state)
{
    (void)state;
    assert_int_equal(connect_code_of("canceled"), GRPC_CANCELLED);
    assert_int_equal(connect_code_of("cancelled"), CONNECT_NO_CODE);
    assert_int_equal(connect_code_of("deadline_exceeded"), GRPC_DEADLINE_EXCEEDED);
    assert_int_equal(connect_code_of("unauthenticated"), GRPC_UNAUTHENTICATED);
    assert_int_equal(connect_code_of("unauth"), CONNECT_NO_CODE);
    assert_int_equal(connect_code_of("NOT_FOUND"), CONNECT_NO_CODE);
    assert_int_equal(connect_code_of("ok"), CONNECT_NO_CODE);
    assert_int_equal(connect_code_of(""), CONNECT_NO_CODE);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void handle(struct peer *peer)
{
    const struct reply told = reply; /* where no body follows the head, the client has the test set the next one */

    peer_keep_head(peer, request_head, sizeof(request_head));
    request_length = peer_body(peer, request_body, sizeof(request_body) - 1, NULL);
    peer->close = told.announced > told.length;
    peer_print(peer, "HTTP/1.1 %d Reply\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", told.status, told.type,
               told.announced ? told.announced : told.length);
    peer_write(peer, told.body, told.length);
}

static void set_reply(int status, const char *type, const char *body, size_t length)
{
    reply.status = status;
    reply.type = type;
    reply.body = body;
    reply.length = length;
    reply.announced = 0;
}

static int set_up(void **state)
{
    static const char *const headers[] = {"X-Access-Token: " SECRET, NULL};

    (void)state;
    test_call_open(&call, 120000);
    server_open(&server, handle, NULL);
    const struct http_options options = {
        .service = "Acme", .base_url = server.url, .headers = headers, .attempts = 2, .pause_ms = 5};

    assert_int_equal(http_client_open(&call.call, &options, &client), SANDLOT_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    http_client_close(client);
    server_close(&server);
    test_call_close(&call);
    return 0;
}

static struct connect_request a_stream(struct seen *seen)
{
    *seen = (struct seen){0};
    return (struct connect_request){.target = "/acme.Processes/Start",
                                    .message = "{\"a\":1}",
                                    .length = 7,
                                    .on_message = on_message,
                                    .context = seen};
}

static const struct connect_request unary = {.target = "/acme.Processes/List"};

/* Sends REQUEST, and looks at the code and what is said. */
static void expect(const struct connect_request *request, enum sandlot_status status, int code, const char *said)
{
    struct connect_answer answer;

    call.message[0] = '\0';
    call.status = SANDLOT_OK;
    assert_int_equal(connect_send(&call.call, client, request, &answer), status);
    assert_int_equal(answer.code, code);
    assert_int_equal(call.status, status);
    if (said && !strstr(call.message, said) && !strstr(answer.text, said))
        fail_msg("'%s' is said neither in '%s' nor in '%s'", said, call.message, answer.text);
    assert_null(strstr(call.message, SECRET));
    assert_null(strstr(answer.text, SECRET));
    connect_answer_clear(&answer);
}

static void a_stream_goes_well(void **state)
{
    static const char *const headers[] = {"X-More: yes", NULL};
    struct seen seen;
    struct connect_request request = a_stream(&seen);

    (void)state;
    request.headers = headers;
    request.limit_ms = 60000;
    set_reply(200, "application/connect+json", BYTES(good));
    expect(&request, SANDLOT_OK, GRPC_OK, NULL);
    assert_int_equal(seen.sum, 12);
    assert_int_equal(request_length, 12);
    assert_memory_equal(request_body, "\0\0\0\0\7{\"a\":1}", 12);
    assert_non_null(strstr(request_head, "Content-Type: application/connect+json\r\n"));
    assert_non_null(strstr(request_head, "Connect-Protocol-Version: 1\r\n"));
    assert_non_null(strstr(request_head, "Connect-Timeout-Ms: 60000\r\n"));
    assert_non_null(strstr(request_head, "X-More: yes\r\n"));
}

static void a_unary_call_goes_well(void **state)
{
    struct connect_answer answer;
    const char *text = NULL;

    (void)state;
    set_reply(200, "application/json", BYTES("{\"name\":\"x\"}"));
    assert_int_equal(connect_send(&call.call, client, &unary, &answer), SANDLOT_OK);
    assert_true(json_read_string(answer.message, "name", &text, NULL));
    assert_string_equal(text, "x");
    assert_string_equal(request_body, "{}");
    assert_null(strstr(request_head, "Connect-Timeout-Ms"));
    assert_non_null(strstr(request_head, "Content-Type: application/json\r\n"));
    connect_answer_clear(&answer);
    set_reply(200, "application/json", BYTES("[]"));
    expect(&unary, SANDLOT_UNAVAILABLE, GRPC_INTERNAL, "no JSON object");
}

static void errors_have_their_codes(void **state)
{
    struct seen seen;
    struct connect_request request = a_stream(&seen);
    struct connect_request quiet = unary;

    (void)state;
    set_reply(200, "application/connect+json", BYTES(refused));
    expect(&request, SANDLOT_NOT_FOUND, GRPC_NOT_FOUND, "Start was answered with NOT_FOUND (5): \"no such pid\"");
    request.accepted = GRPC_BIT(GRPC_NOT_FOUND);
    expect(&request, SANDLOT_OK, GRPC_NOT_FOUND, NULL);
    set_reply(404, "application/json", BYTES("{\"code\":\"not_found\",\"message\":\"no " SECRET "\"}"));
    expect(&unary, SANDLOT_NOT_FOUND, GRPC_NOT_FOUND, "no ***");
    quiet.accepted = GRPC_BIT(GRPC_NOT_FOUND);
    expect(&quiet, SANDLOT_OK, GRPC_NOT_FOUND, "no ***");
    set_reply(409, "application/json", BYTES("{\"code\":\"already_exists\"}"));
    expect(&unary, SANDLOT_INVALID_ARGUMENT, GRPC_ALREADY_EXISTS, "409");
    /* What is no Connect has the code of HTTP, and HTTP's status and words. */
    set_reply(401, "application/json", BYTES("{\"code\":401,\"message\":\"unauthorized\"}"));
    expect(&request, SANDLOT_AUTH, GRPC_UNAUTHENTICATED, "unauthorized");
    set_reply(404, "text/plain", BYTES("page"));
    expect(&request, SANDLOT_NOT_FOUND, GRPC_UNIMPLEMENTED, "404");
    set_reply(429, "text/plain", BYTES(""));
    expect(&request, SANDLOT_EXHAUSTED, GRPC_UNAVAILABLE, "429");
    set_reply(200, "text/html", BYTES("<html>welcome</html>"));
    expect(&request, SANDLOT_UNAVAILABLE, GRPC_INTERNAL, "makes no sense");
    set_reply(200, "text/html", BYTES(""));
    expect(&request, SANDLOT_UNAVAILABLE, GRPC_UNKNOWN, "no Connect");
}

static void broken_streams_say_so(void **state)
{
    struct seen seen;
    struct connect_request request = a_stream(&seen);
    int before = atomic_load(&server.requests);

    (void)state;
    request.repeatable = true;
    set_reply(200, "application/connect+json", good, 24);
    expect(&request, SANDLOT_UNAVAILABLE, GRPC_UNAVAILABLE, "ended without a status");
    assert_int_equal(seen.sum, 12);
    reply.announced = 100;
    expect(&request, SANDLOT_UNAVAILABLE, GRPC_UNAVAILABLE, "Acme could not be asked");
    assert_int_equal(atomic_load(&server.requests), before + 2); /* messages have been passed on */
    reply.length = 0;
    expect(&request, SANDLOT_UNAVAILABLE, GRPC_UNAVAILABLE, "2 attempts");
    assert_int_equal(atomic_load(&server.requests), before + 4);
    /* A status that has come counts, though the line broke afterwards. */
    set_reply(200, "application/connect+json", BYTES(good));
    reply.announced = 100;
    expect(&request, SANDLOT_OK, GRPC_OK, NULL);
}

static void a_receiver_ends_a_stream(void **state)
{
    struct seen seen;
    struct connect_request request = a_stream(&seen);

    (void)state;
    set_reply(200, "application/connect+json", BYTES(good));
    seen.answer = SANDLOT_EXHAUSTED;
    expect(&request, SANDLOT_EXHAUSTED, GRPC_OK, "ended by its receiver");
    request = a_stream(&seen);
    request.enough = &seen.enough;
    set_reply(200, "application/connect+json", BYTES("\0\0\0\0\7{\"n\":9}\0\0\0\0\1x"));
    expect(&request, SANDLOT_OK, GRPC_OK, NULL);
}

static void a_call_ends_with_its_cancellation(void **state)
{
    struct seen seen;
    struct connect_request request = a_stream(&seen);

    (void)state;
    set_reply(200, "application/connect+json", BYTES(good));
    test_call_cancel(&call);
    expect(&request, SANDLOT_CANCELLED, GRPC_UNAVAILABLE, NULL);
    request.after_cancel = true;
    request.timeout_ms = 5000; /* the most, and a busy machine may need more than once that */
    struct connect_answer answer = {0};
    enum sandlot_status status = SANDLOT_TIMEOUT;

    for (int i = 0; i < 12 && status == SANDLOT_TIMEOUT; i++) {
        connect_answer_clear(&answer);
        status = connect_send(&call.call, client, &request, &answer);
    }
    assert_int_equal(status, SANDLOT_OK);
    assert_int_equal(answer.code, GRPC_OK);
    connect_answer_clear(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_cut_anywhere),
        cmocka_unit_test(what_is_cut_short_is_no_success),
        cmocka_unit_test(ends_are_read),
        cmocka_unit_test(codes_have_names),
        cmocka_unit_test_setup_teardown(a_stream_goes_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_unary_call_goes_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_have_their_codes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_streams_say_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_receiver_ends_a_stream, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_ends_with_its_cancellation, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
