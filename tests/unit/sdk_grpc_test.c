/* The gRPC client against a server that answers as it is told and breaks off where it is told to. */
#include <sandlot/sdk/grpc.h>

#include "sdk_grpc_server.h"
#include "sdk_support.h"

#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct grpc_server server;
static struct grpc_client *client;
static struct test_call call;

/* "hello" and "you" in frames. */
static const char hello[] = "\0\0\0\0\5hello";
static const char both[] = "\0\0\0\0\5hello\0\0\0\0\3you";

#define FRAME(bytes) .body = (bytes), .length = sizeof(bytes) - 1
#define SCRIPT(...)                                           \
    static const struct grpc_reply replies[] = {__VA_ARGS__}; \
    grpc_server_script(&server, replies, sizeof(replies) / sizeof(*replies))

static size_t describe(const struct grpc_attempt *attempt, char lines[GRPC_ATTEMPT_LINES][GRPC_ATTEMPT_LINE])
{
    snprintf(lines[0], GRPC_ATTEMPT_LINE, "x-key: %s", attempt->key);
    snprintf(lines[1], GRPC_ATTEMPT_LINE, "x-attempt: %d", attempt->repeats);
    snprintf(lines[2], GRPC_ATTEMPT_LINE, "x-asked: %d", attempt->asked_repeats);
    return 3;
}

/* The details of these tests are a number of milliseconds as text. */
static int64_t asked_ms(const void *details, size_t length)
{
    char text[16] = "";

    memcpy(text, details, length < sizeof(text) - 1 ? length : sizeof(text) - 1);
    return strtol(text, NULL, 10);
}

static void open_client(int attempts)
{
    static const char *const metadata[] = {"x-token: very-secret-token", NULL};
    const struct grpc_options options = {.service = "Acme",
                                         .base_url = server.url,
                                         .metadata = metadata,
                                         .attempts = attempts,
                                         .pause_ms = 5,
                                         .longest_pause_ms = 20,
                                         .describe = describe,
                                         .asked_ms = asked_ms};

    assert_int_equal(grpc_client_open(&call.call, &options, &client), SANDLOT_OK);
}

static int set_up(void **state)
{
    (void)state;
    test_call_open(&call, 120000);
    grpc_server_open(&server, NULL);
    open_client(4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    grpc_client_close(client);
    grpc_server_close(&server);
    test_call_close(&call);
    return 0;
}

static struct grpc_request unary(void)
{
    return (struct grpc_request){.method = "/acme.Boxes/Make", .message = "ask", .length = 3};
}

/* ---- one message ------------------------------------------------------------------------------------------------ */

static void a_call(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;
    const char *const metadata[] = {"x-own: 1", NULL};

    (void)state;
    SCRIPT({.code = "0", FRAME(hello)});
    request.metadata = metadata;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_int_equal(answer.code, GRPC_OK);
    assert_string_equal(answer.message, "hello");
    assert_int_equal(answer.length, 5);
    assert_int_equal(answer.attempts, 1);
    assert_int_equal(server.body_length, 8);
    assert_int_equal(grpc_server_count(&server, ":method: POST"), 1);
    assert_int_equal(grpc_server_count(&server, ":path: /acme.Boxes/Make"), 1);
    assert_int_equal(grpc_server_count(&server, "content-type: application/grpc"), 1);
    assert_int_equal(grpc_server_count(&server, "te: trailers"), 1);
    assert_int_equal(grpc_server_count(&server, "x-token: very-secret-token"), 1);
    assert_int_equal(grpc_server_count(&server, "x-own: 1"), 1);
    assert_int_equal(grpc_server_count(&server, "x-attempt: 0"), 1);
    assert_int_equal(grpc_server_count(&server, "grpc-timeout: "), 1);
    assert_null(strstr(call.log, "very-secret-token"));
    grpc_answer_clear(&answer);
}

static void an_empty_message(void **state)
{
    struct grpc_request request = {.method = "/acme.Boxes/Make"};
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "0", FRAME("\0\0\0\0\0")});
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_string_equal(answer.message, "");
    assert_int_equal(server.body_length, 5);
    grpc_answer_clear(&answer);
}

/* What announces its length does not end there. */
static void an_announced_length(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "0", .header = "content-length: 10", FRAME(hello), .piece = 1});
    request.once = true;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_string_equal(answer.message, "hello");
    grpc_answer_clear(&answer);
}

static void not_one_message(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "0", FRAME(both)});
    request.once = true;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_UNAVAILABLE);
    assert_int_equal(answer.code, GRPC_INTERNAL);
    grpc_answer_clear(&answer);
    static const struct grpc_reply none[] = {{.code = "0"}};

    grpc_server_script(&server, none, 1);
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_UNAVAILABLE);
    assert_non_null(strstr(call.message, "not one message"));
    grpc_answer_clear(&answer);
}

/* ---- statuses --------------------------------------------------------------------------------------------------- */

static void a_status_alone(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "5", .text = "no box %E2%80%9Cx%E2%80%9D: 100%25 gone%, %zz"});
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_NOT_FOUND);
    assert_int_equal(answer.code, GRPC_NOT_FOUND);
    assert_string_equal(answer.text, "no box \xe2\x80\x9cx\xe2\x80\x9d: 100% gone%, %zz");
    assert_non_null(strstr(call.message, "Acme answered Make with NOT_FOUND (5): \"no box"));
    assert_int_equal(answer.attempts, 1);
    grpc_answer_clear(&answer);
    request.accepted = GRPC_BIT(GRPC_NOT_FOUND);
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_int_equal(answer.code, GRPC_NOT_FOUND);
    assert_null(answer.message);
    grpc_answer_clear(&answer);
}

static void every_code(void **state)
{
    static const struct {
        const char *code;
        enum sandlot_status status;
    } rows[] = {{"1", SANDLOT_UNAVAILABLE},       {"2", SANDLOT_UNAVAILABLE},         {"3", SANDLOT_INVALID_ARGUMENT},
                {"4", SANDLOT_TIMEOUT},           {"6", SANDLOT_INVALID_ARGUMENT},    {"7", SANDLOT_AUTH},
                {"8", SANDLOT_EXHAUSTED},         {"9", SANDLOT_INVALID_ARGUMENT},    {"10", SANDLOT_INVALID_ARGUMENT},
                {"11", SANDLOT_INVALID_ARGUMENT}, {"12", SANDLOT_UNSUPPORTED},        {"13", SANDLOT_UNAVAILABLE},
                {"14", SANDLOT_UNAVAILABLE},      {"15", SANDLOT_UNAVAILABLE},        {"16", SANDLOT_AUTH},
                {"17", SANDLOT_UNAVAILABLE},      {"999999999", SANDLOT_UNAVAILABLE}, {"-1", SANDLOT_UNAVAILABLE},
                {"OK", SANDLOT_UNAVAILABLE},      {"0x0", SANDLOT_UNAVAILABLE}};
    struct grpc_request request = unary();

    (void)state;
    request.once = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct grpc_reply reply = {.code = rows[i].code, FRAME(hello)};
        struct grpc_answer answer;

        grpc_server_script(&server, &reply, 1);
        assert_int_equal(grpc_send(&call.call, client, &request, &answer), rows[i].status);
        assert_int_not_equal(answer.code, GRPC_OK);
        grpc_answer_clear(&answer);
    }
}

static void no_status(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({FRAME(hello)});
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_UNAVAILABLE);
    assert_int_equal(answer.attempts, 4);
    assert_non_null(strstr(call.message, "ended without a status"));
    grpc_answer_clear(&answer);
}

static void no_grpc(void **state)
{
    static const struct {
        int status;
        const char *type;
        int code;
    } rows[] = {{200, "text/html", GRPC_UNKNOWN},         {400, "text/html", GRPC_INTERNAL},
                {401, "text/html", GRPC_UNAUTHENTICATED}, {403, "text/html", GRPC_PERMISSION_DENIED},
                {404, "text/html", GRPC_UNIMPLEMENTED},   {502, "text/html", GRPC_UNAVAILABLE},
                {500, "text/html", GRPC_UNKNOWN}};
    struct grpc_request request = unary();

    (void)state;
    request.once = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct grpc_reply reply = {.status = rows[i].status, .type = rows[i].type, FRAME("<html>no</html>")};
        struct grpc_answer answer;

        grpc_server_script(&server, &reply, 1);
        call.status = SANDLOT_OK; /* the next one is told too */
        assert_int_not_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
        assert_int_equal(answer.code, rows[i].code);
        assert_non_null(strstr(call.message, "its answer was no gRPC"));
        grpc_answer_clear(&answer);
    }
}

/* What the service repeats of our secrets is not told, neither in the text nor where it is cut. */
static void a_secret_in_a_status(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;
    char text[1100];

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "no very-secret-token ", 21);
    strcpy(text + 1010, "very-secret-token");
    const struct grpc_reply reply = {.code = "7", .text = text};

    grpc_server_script(&server, &reply, 1);
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_AUTH);
    assert_null(strstr(answer.text, "very-se"));
    assert_null(strstr(call.message, "very-se"));
    assert_non_null(strstr(answer.text, "no *** xxx"));
    grpc_answer_clear(&answer);
}

/* A server that refuses an upload half way sends its status and then resets the stream. */
static void an_early_status(void **state)
{
    static char large[6 << 20];
    struct grpc_request request = {
        .method = "/acme.Boxes/Take", .message = large, .length = sizeof(large), .once = true};
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "10", .text = "enough", .early = true, FRAME("")});
    request.accepted = GRPC_BIT(GRPC_ABORTED);
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_int_equal(answer.code, GRPC_ABORTED);
    assert_string_equal(answer.text, "enough");
    grpc_answer_clear(&answer);
}

/* ---- repeating -------------------------------------------------------------------------------------------------- */

static void again_until_it_works(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;
    char key[64];

    (void)state;
    SCRIPT({.code = "14"}, {.cut = true}, {.code = "13"}, {.code = "0", FRAME(hello)});
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_int_equal(answer.attempts, 4);
    assert_string_equal(answer.message, "hello");
    const char *found = strstr(server.head, "x-key: ");

    assert_non_null(found);
    snprintf(key, sizeof(key), "%.*s", (int)strcspn(found, "\n"), found);
    assert_int_equal(strlen(key), strlen("x-key: ") + GRPC_KEY_SIZE - 1);
    assert_int_equal(grpc_server_count(&server, key), 4);
    assert_int_equal(grpc_server_count(&server, "x-attempt: 3"), 1);
    assert_int_equal(grpc_server_count(&server, "x-asked: 0"), 4);
    grpc_answer_clear(&answer);
}

static void not_again(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "8"}, {.code = "14"}, {.code = "14"});
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_EXHAUSTED);
    assert_int_equal(server.requests, 1);
    grpc_answer_clear(&answer);
    request.once = true;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_UNAVAILABLE);
    assert_int_equal(server.requests, 2);
    grpc_answer_clear(&answer);
    request.once = false;
    request.accepted = GRPC_BIT(GRPC_UNAVAILABLE);
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_int_equal(answer.code, GRPC_UNAVAILABLE);
    assert_int_equal(server.requests, 3);
    grpc_answer_clear(&answer);
}

/* What the service asks for is kept, whatever the code, and costs none of the attempts. */
static void asked_pauses(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "8", .details = "ODA"}, {.code = "8", .details = "ODA="}, {.code = "8", .details = "ODA"},
           {.code = "8", .details = "ODA"}, {.code = "8", .details = "ODA"}, {.code = "0", FRAME(hello)});
    int64_t begun_ms = sandlot_now_ms();

    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_int_equal(answer.attempts, 6);
    assert_true(sandlot_now_ms() - begun_ms >= 400);
    assert_int_equal(grpc_server_count(&server, "x-asked: 5"), 1);
    assert_int_equal(grpc_server_count(&server, "x-attempt: 0"), 6);
    grpc_answer_clear(&answer);
}

static void too_long_a_pause(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.status = 429, .type = "text/html", .header = "retry-after: 3600", FRAME("later")});
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_EXHAUSTED);
    assert_non_null(strstr(call.message, "3600 s"));
    assert_int_equal(server.requests, 1);
    grpc_answer_clear(&answer);
    request.accepted = GRPC_TRANSIENT; /* no matter what else the code would do */
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_EXHAUSTED);
    grpc_answer_clear(&answer);
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

static void a_limit_of_each_attempt(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "0", FRAME(hello), .delay_ms = 3000}, {.code = "0", FRAME(hello)});
    request.timeout_ms = 200;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_int_equal(answer.attempts, 2);
    assert_int_equal(grpc_server_count(&server, "grpc-timeout: 200m"), 2);
    grpc_answer_clear(&answer);
}

static void the_deadline(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "0", FRAME(hello), .delay_ms = 3000});
    int64_t begun_ms = sandlot_now_ms();

    call.call.deadline_ms = begun_ms + 300;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_TIMEOUT);
    grpc_answer_clear(&answer);
}

static void a_cancellation(void **state)
{
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "14", .details = "OTAwMA"});
    test_call_cancel(&call);
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_CANCELLED);
    grpc_answer_clear(&answer);
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

struct heard {
    char text[256];
    size_t length;
    bool enough;
    bool refuse;
};

static enum sandlot_status on_message(void *context, const void *message, size_t length)
{
    struct heard *heard = context;

    memcpy(heard->text + heard->length, message, length);
    heard->length += length;
    heard->text[heard->length] = '\0';
    if (heard->refuse)
        return sandlot_fail(&call.call, SANDLOT_EXHAUSTED, "the receiver has no room");
    heard->enough = heard->length >= 5;
    return SANDLOT_OK;
}

static void a_stream(void **state)
{
    struct heard heard = {.length = 0};
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "0", FRAME(both), .piece = 1});
    request.on_message = on_message;
    request.context = &heard;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    assert_string_equal(heard.text, "helloyou");
    assert_int_equal(answer.messages, 2);
    assert_int_equal(grpc_server_count(&server, "x-attempt: 0"), 0);
    grpc_answer_clear(&answer);
}

static void a_stream_that_fails_at_its_end(void **state)
{
    struct heard heard = {.length = 0};
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "14", .text = "moved", FRAME(both)});
    request.on_message = on_message;
    request.context = &heard;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_UNAVAILABLE);
    assert_string_equal(heard.text, "helloyou");
    assert_int_equal(answer.attempts, 1);
    grpc_answer_clear(&answer);
}

static void a_receiver_that_stops(void **state)
{
    struct heard heard = {.refuse = true};
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    SCRIPT({.code = "0", FRAME(both)});
    request.on_message = on_message;
    request.context = &heard;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_EXHAUSTED);
    assert_string_equal(call.message, "the receiver has no room");
    grpc_answer_clear(&answer);
    heard = (struct heard){.length = 0};
    request.enough = &heard.enough;
    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
    grpc_answer_clear(&answer);
}

/* What is no end of a stream, however much like one it looks. */
static void no_end(void **state)
{
    static const struct grpc_reply replies[] = {
        {.reset = NGHTTP2_CANCEL, FRAME(both)},   {.reset = NGHTTP2_REFUSED_STREAM, FRAME(both)},
        {.reset = NGHTTP2_NO_ERROR, FRAME(both)}, {.header = "grpc-status: 0", FRAME(both)},
        {.middle = "0", FRAME(both), .piece = 5}, {.code = "0", .middle = "0", FRAME(both), .piece = 5}};

    (void)state;
    for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++) {
        struct heard heard = {.length = 0};
        struct grpc_request request = unary();
        struct grpc_answer answer;

        request.on_message = on_message;
        request.context = &heard;
        grpc_server_script(&server, &replies[i], 1);
        assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_UNAVAILABLE);
        assert_memory_equal(heard.text, "helloyou", heard.length);
        assert_int_equal(server.requests, 1);
        grpc_answer_clear(&answer);
    }
}

/* One byte now and then is no silence, but time is time. */
static void a_slow_drip(void **state)
{
    struct grpc_reply reply = {.code = "0", FRAME(both), .piece = 1, .pause_ms = 100};
    struct heard heard = {.length = 0};
    struct grpc_request request = unary();
    struct grpc_answer answer;

    (void)state;
    grpc_server_script(&server, &reply, 1);
    request.on_message = on_message;
    request.context = &heard;
    request.silence_ms = 1000;
    request.timeout_ms = 500;
    int64_t begun_ms = sandlot_now_ms();

    assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_TIMEOUT);
    assert_true(sandlot_now_ms() - begun_ms >= 400);
    assert_string_equal(heard.text, "");
    grpc_answer_clear(&answer);
}

static void frames_that_make_no_sense(void **state)
{
    static const struct grpc_reply replies[] = {{.code = "0", FRAME("\1\0\0\0\5hello")},
                                                {.code = "0", FRAME("\0\377\377\377\377hello")},
                                                {.code = "0", FRAME("\0\0\0\0\11hello")},
                                                {.code = "0", FRAME("\0\0")}};
    struct grpc_request request = unary();

    (void)state;
    request.once = true;
    for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++) {
        struct grpc_answer answer;

        grpc_server_script(&server, &replies[i], 1);
        assert_int_not_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
        assert_non_null(strstr(call.message, i == 0 ? "compressed" : i == 1 ? "longer than it may be" : "inside"));
        call.status = SANDLOT_OK; /* the next one is told too */
        grpc_answer_clear(&answer);
    }
}

/* Whatever is lost of REPLY, the answer is right or there is an error. */
static void cut_everywhere(struct grpc_reply reply, bool streams)
{
    const char *text = streams ? "helloyou" : "hello";
    struct grpc_request request = unary();
    struct grpc_answer answer;
    size_t whole = 0;
    size_t worked = 0;

    request.once = true;
    request.on_message = streams ? on_message : NULL;
    for (size_t cut = 0; cut == 0 || cut <= whole; cut++) {
        struct heard heard = {.length = 0};

        request.context = &heard;
        reply.cut = cut > 0;
        reply.cut_at = cut;
        grpc_server_script(&server, &reply, 1);
        enum sandlot_status status = grpc_send(&call.call, client, &request, &answer);

        assert_memory_equal(heard.text, "helloyou", heard.length);
        if (status == SANDLOT_OK)
            assert_string_equal(streams ? heard.text : answer.message, text);
        else
            assert_int_equal(status, SANDLOT_UNAVAILABLE);
        worked += status == SANDLOT_OK;
        grpc_answer_clear(&answer);
        if (cut > 0)
            continue;
        grpc_client_close(client); /* a kept connection counts what it sent when it is closed */
        open_client(4);
        for (int i = 0; i < 6000 && server.sent == 0; i++)
            usleep(10000);
        whole = server.sent;
    }
    assert_in_range(whole, 60, 4096);
    assert_in_range(worked, 1, 40); /* the whole, and perhaps what lacks only a farewell */
}

static void cut_at_every_byte(void **state)
{
    (void)state;
    cut_everywhere((struct grpc_reply){.code = "0", .text = "fine", FRAME(both), .piece = 4}, true);
    cut_everywhere((struct grpc_reply){.code = "0", FRAME(hello), .piece = 3}, false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_call),
        TEST(an_empty_message),
        TEST(an_announced_length),
        TEST(not_one_message),
        TEST(a_status_alone),
        TEST(every_code),
        TEST(no_status),
        TEST(no_grpc),
        TEST(a_secret_in_a_status),
        TEST(an_early_status),
        TEST(again_until_it_works),
        TEST(not_again),
        TEST(asked_pauses),
        TEST(too_long_a_pause),
        TEST(a_limit_of_each_attempt),
        TEST(the_deadline),
        TEST(a_cancellation),
        TEST(a_stream),
        TEST(a_stream_that_fails_at_its_end),
        TEST(a_receiver_that_stops),
        TEST(no_end),
        TEST(a_slow_drip),
        TEST(frames_that_make_no_sense),
        TEST(cut_at_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
