/* Memory runs out at every place in turn, libcurl's and libarchive's included: nothing may crash, and what fails says
 * so. */
#include <sandlot/sdk/frames.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/ndjson.h>
#include <sandlot/sdk/process.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/sse.h>
#include <sandlot/sdk/websocket.h>

#include "../../sdk/lib/redact.h"
#include "sdk_support.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define REPLACED 0 /* the sanitizer has replaced it already */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REPLACED 0
#endif
#endif
#ifndef REPLACED
#define REPLACED 1
#endif

/* Allocations of this thread until the one that fails; negative: none fails. The server's threads go on. */
static _Thread_local long countdown = -1;
static _Thread_local bool happened;

#if REPLACED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);

static bool fails(void)
{
    if (countdown < 0 || countdown-- != 0)
        return false;
    happened = true;
    errno = ENOMEM;
    return true;
}

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library names its parameters __size and so on
#define EVERYWHERE __attribute__((visibility("default")))

EVERYWHERE void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

EVERYWHERE void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

EVERYWHERE void *realloc(void *pointer, size_t size)
{
    return fails() ? NULL : __libc_realloc(pointer, size);
}

/* The parser of json-c 0.16 does not survive a lack of memory, and nothing around it can help: it is left out. */
EVERYWHERE struct json_object *json_tokener_parse_ex(struct json_tokener *tokener, const char *text, int length)
{
    struct json_object *(*parse)(struct json_tokener *, const char *, int);
    long left = countdown;

    *(void **)&parse = dlsym(RTLD_NEXT, "json_tokener_parse_ex");
    countdown = -1;
    struct json_object *document = parse(tokener, text, length);

    countdown = left;
    return document;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
#endif

static struct server server;
static struct test_call call;

static void handle(struct peer *peer)
{
    char body[256];

    peer_body(peer, body, sizeof(body), NULL);
    peer_answer(peer, strcmp(peer->target, "/fails") == 0 ? 400 : 200, "X-Some: header\r\n",
                "{\"message\":\"a text\"}");
}

/* Runs WORK with every allocation failing in turn until none fails any more. It says whether it succeeded. */
static void exhaust(bool (*work)(void))
{
    long at = 0;

    if (!REPLACED)
        skip();
    do {
        test_call_open(&call, 20000);
        happened = false;
        countdown = at++;
        bool fine = work();

        countdown = -1;
        /* What can do without an allocation may succeed; what fails has said why. */
        if (!fine)
            assert_true(happened);
        test_call_close(&call);
    } while (happened);
    print_message("%ld allocations\n", at - 1);
    assert_true(at > 2);
}

static bool requests(void)
{
    static const char *const headers[] = {"X-Key: secret-value", NULL};
    const struct http_options options = {
        .base_url = server.url, .bearer = "another-secret", .headers = headers, .attempts = 2, .pause_ms = 1};
    const struct http_request request = {
        .method = "POST", .target = "/a?b=c", .body = {.bytes = "{}", .length = 2}, .idempotency_key = "k"};
    const struct http_request failing = {.method = "GET", .target = "/fails"};
    struct http_client *client;
    struct http_response response;

    if (http_client_open(&call.call, &options, &client) != SANDLOT_OK)
        return false;
    enum sandlot_status status = http_send(&call.call, client, &request, &response);

    if (status == SANDLOT_OK)
        assert_string_equal(response.body, "{\"message\":\"a text\"}");
    else
        assert_true(call.status == status && *call.message);
    http_response_clear(&response);
    call.status = SANDLOT_OK;
    if (http_send(&call.call, client, &failing, NULL) == SANDLOT_OK)
        abort();
    assert_true(call.status != SANDLOT_OK && *call.message);
    http_client_close(client);
    return status == SANDLOT_OK;
}

static bool sockets(void)
{
    const struct http_options options = {.base_url = server.url};
    const struct websocket_request request = {.target = "/a"};
    struct http_client *client;
    struct websocket *socket;

    if (http_client_open(&call.call, &options, &client) != SANDLOT_OK)
        return false;
    assert_int_not_equal(websocket_open(&call.call, client, &request, &socket), SANDLOT_OK);
    assert_null(socket);
    http_client_close(client);
    return false || happened || strstr(call.message, "status 200");
}

/* A secret that could not be kept is not told for that. */
static bool secrets(void)
{
    char text[] = "it is a-long-secret, says the service";
    struct sdk_secrets all;

    sdk_secrets_init(&all);
    sdk_secrets_add(&all, "a-long-secret");
    sdk_redact(&all, text);
    sdk_secrets_clear(&all);
    assert_null(strstr(text, "a-long-secret"));
    return strcmp(text, "it is ***, says the service") == 0;
}

static bool programs(void)
{
    static const char *const words[] = {"echo", "text", NULL};
    static const char *const added[] = {"A=b", NULL};
    const struct process_options options = {.arguments = words, .environment = added};
    char *text = NULL;
    enum sandlot_status status = process_read(&call.call, &options, &text, NULL);

    if (status == SANDLOT_OK)
        assert_string_equal(text, "text");
    else
        assert_true(status == SANDLOT_EXHAUSTED && call.status == status && *call.message && !text);
    free(text);
    return status == SANDLOT_OK;
}

static bool documents(void)
{
    struct json_builder builder = {0};

    json_set_string(&builder, "a.b[]", "text");
    json_set_integer(&builder, "n", 5);
    json_set_member(&builder, "labels", "x.y", "z");
    json_set_text(&builder, "t", "[1,{}]");
    size_t length;
    char *text = json_finish(&builder, &length);
    struct json_object *document = text ? json_read_document(text, length, NULL) : NULL;
    bool fine = document;

    json_object_put(document);
    free(text);
    return fine;
}

static enum sandlot_status on_event(void *context, const struct sse_event *event)
{
    (void)context;
    (void)event;
    return SANDLOT_OK;
}

static enum sandlot_status on_value(void *context, struct json_object *value)
{
    (void)context;
    (void)value;
    return SANDLOT_OK;
}

static enum sandlot_status on_frame(void *context, unsigned char flags, const void *payload, size_t length)
{
    (void)context;
    (void)flags;
    (void)payload;
    (void)length;
    return SANDLOT_OK;
}

static bool readers(void)
{
    struct sse events;
    struct ndjson values;
    struct frames frames;

    sse_init(&events, &call.call, 4096, on_event, NULL);
    ndjson_init(&values, &call.call, 4096, on_value, NULL);
    frames_init(&frames, &call.call, &frame_format_connect, 4096, on_frame, NULL);
    bool fine = sse_add(&events, "id: 1\nevent: e\ndata: d\n\n", 24) == SANDLOT_OK;

    fine = ndjson_add(&values, "{\"a\":", 5) == SANDLOT_OK && fine;
    fine = ndjson_add(&values, "1}\n", 3) == SANDLOT_OK && fine;
    fine = frames_add(&frames, "\0\0\0\0\3a", 6) == SANDLOT_OK && fine;
    fine = frames_add(&frames, "bc", 2) == SANDLOT_OK && fine;
    sse_clear(&events);
    ndjson_clear(&values);
    frames_clear(&frames);
    return fine;
}

static bool texts(void)
{
    static const char *const words[] = {"a b", "c", NULL};
    char *target = http_target("/a/{}/b?c={}", "x y", "z");
    bool fine = http_target_add(&target, "n", "v");
    char *command = shell_words(words);
    char *word = shell_word("it's");

    fine = fine && command && word;
    free(target);
    free(command);
    free(word);
    return fine;
}

static void test_requests(void **state)
{
    (void)state;
    exhaust(requests);
}

static void test_secrets(void **state)
{
    (void)state;
    exhaust(secrets);
}

static void test_sockets(void **state)
{
    (void)state;
    exhaust(sockets);
}

static void test_documents(void **state)
{
    (void)state;
    exhaust(documents);
}

static void test_programs(void **state)
{
    (void)state;
    exhaust(programs);
}

static void test_readers(void **state)
{
    (void)state;
    exhaust(readers);
}

static void test_texts(void **state)
{
    (void)state;
    exhaust(texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),  cmocka_unit_test(test_sockets), cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_documents), cmocka_unit_test(test_readers), cmocka_unit_test(test_texts),
        cmocka_unit_test(test_programs),
    };

    server_open(&server, handle, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    server_close(&server);
    return failed;
}
