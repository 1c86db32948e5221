/* Memory runs out at every place in turn, libcurl's and libarchive's included: nothing may crash, and what fails says
 * so. */
#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/frames.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/jwt.h>
#include <sandlot/sdk/kept_source.h>
#include <sandlot/sdk/ndjson.h>
#include <sandlot/sdk/network.h>
#include <sandlot/sdk/parameters.h>
#include <sandlot/sdk/process.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/sse.h>
#include <sandlot/sdk/websocket.h>

#include "../../sdk/lib/redact.h"
#include "sdk_support.h"

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <errno.h>
#include <openssl/ssl.h>
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

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,bugprone-macro-parentheses): the C library names its
// parameters __size and so on
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

static void count_on(const long *left)
{
    countdown = *left;
}

/*
 * Neither the parser of json-c 0.16 nor the strings of libarchive survive a lack of memory, and nothing around them can
 * help: they are left out.
 */
#define LEFT_OUT(result, name, parameters, statement)                   \
    EVERYWHERE result name parameters                                   \
    {                                                                   \
        result(*next) parameters;                                       \
        __attribute__((cleanup(count_on))) const long left = countdown; \
                                                                        \
        *(void **)&next = dlsym(RTLD_NEXT, #name);                      \
        countdown = -1;                                                 \
        statement;                                                      \
    }

LEFT_OUT(struct json_object *, json_tokener_parse_ex, (struct json_tokener * tokener, const char *text, int length),
         return next(tokener, text, length))
LEFT_OUT(int, archive_write_header, (struct archive * archive, struct archive_entry *entry),
         return next(archive, entry))
LEFT_OUT(void, archive_entry_set_pathname, (struct archive_entry * entry, const char *name), next(entry, name))
// NOLINTEND(readability-inconsistent-declaration-parameter-name,bugprone-macro-parentheses)
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
        test_call_open(&call, 120000);
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
    assert_true(at > 1);
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

static bool parameters(void)
{
    struct json_object *texts_ = NULL;
    struct json_object *ports = NULL;
    enum sandlot_status status = parameter_variables(&call.call, "environment", "{\"A\":1,\"B\":\"x\"}", &texts_);

    if (status == SANDLOT_OK)
        status = parameter_ports(&call.call, "ports", "[3000,\"8080\"]", &ports);
    if (status == SANDLOT_OK)
        assert_true(json_object_object_length(texts_) == 2 && json_object_array_length(ports) == 2);
    else
        assert_true(!ports && call.status == status && *call.message);
    json_object_put(texts_);
    json_object_put(ports);
    return status == SANDLOT_OK;
}

/* In the body of a request. What could not be read fails at once, what could not be set makes the builder fail. */
static bool set_parameters(void)
{
    struct json_builder body = {0};
    enum sandlot_status status =
        parameter_set_variables(&call.call, &body, "env.all", "environment", "{\"A\":1,\"B\":\"x\"}");

    if (status == SANDLOT_OK)
        status = parameter_set_texts(&call.call, &body, "labels", "labels", "{\"a b\":true}");
    assert_true(status == SANDLOT_OK || (call.status == status && *call.message));
    parameter_set_text(&body, "name", "box");
    parameter_set_integer(&body, "cpu.count", 2);
    parameter_set_json(&body, "ports[]", "{\"port\":1}");
    char *text = json_finish(&body, NULL);

    if (status == SANDLOT_OK && text)
        assert_string_equal(text, "{\"env\":{\"all\":{\"A\":\"1\",\"B\":\"x\"}},\"labels\":{\"a b\":\"true\"},"
                                  "\"name\":\"box\",\"cpu\":{\"count\":2},\"ports\":[{\"port\":1}]}");
    bool whole = status == SANDLOT_OK && text;

    free(text);
    return whole;
}

/* A policy that is not written whole is none: no entry is left out without a word. */
static bool network(void)
{
    static const struct sandlot_network_entry entries[] = {{SANDLOT_NETWORK_BELOW, "a.example", 0},
                                                           {SANDLOT_NETWORK_CIDR, "10.0.0.0/8", 0}};
    static const struct sandlot_network_credential credential = {"a.example", "A", "secret", NULL, NULL, false};
    const struct sandlot_network asked = {
        .size = sizeof(asked), .entries = entries, .entry_count = 2, .credentials = &credential, .credential_count = 1};
    const struct network_limits limits = {.service = "Acme", .most_networks = 1};
    struct json_builder body = {0};
    enum sandlot_status status = network_check(&call.call, &limits, &asked);

    network_add(&body, "allow", &asked, NETWORK_ALL);
    json_set_value(&body, "headers", network_headers(&asked, "a.example"));
    char *text = json_finish(&body, NULL);
    char *joined = network_join(&asked, NETWORK_ALL, ',');
    bool whole = status == SANDLOT_OK && text && joined;

    assert_true(status == SANDLOT_OK || (call.status == status && *call.message));
    if (text)
        assert_string_equal(text, "{\"allow\":[\"*.a.example\",\"10.0.0.0/8\"],\"headers\":{\"A\":\"secret\"}}");
    if (joined)
        assert_string_equal(joined, "*.a.example,10.0.0.0/8");
    free(text);
    free(joined);
    return whole;
}

/* A token that cannot be read says nothing of itself. */
static bool claims(void)
{
    static const char token[] = "e30.eyJleHAiOjEwMDB9.c2ln"; /* {"exp":1000} */
    struct json_object *read = jwt_claims(token);
    int64_t left_ms = jwt_lifetime_ms(token, 7);
    bool whole = read && left_ms == 0;

    assert_true(left_ms == 0 || left_ms == 7);
    json_object_put(read);
    return whole;
}

/* A source that could not be kept gives its bytes all the same, once. */
static bool kept_sources(void)
{
    struct test_source own;
    struct kept_source kept;
    char wanted[100];
    char bytes[100];
    size_t got;

    test_source_open(&own, sizeof(bytes));
    kept_source_open(&kept, &own.source, 4096);
    test_pattern(wanted, 0, sizeof(wanted));
    assert_int_equal(kept.source.read(&kept.source, bytes, sizeof(bytes), &got), SANDLOT_OK);
    assert_memory_equal(bytes, wanted, sizeof(bytes));
    bool again = kept_source_rewind(&kept) == SANDLOT_OK;

    if (again) {
        assert_int_equal(kept.source.read(&kept.source, bytes, sizeof(bytes), &got), SANDLOT_OK);
        assert_memory_equal(bytes, wanted, got);
    }
    kept_source_close(&kept);
    return again;
}

/* ---- batches: the vendor ---- */

enum { TOGETHER = 3 };

static int told[TOGETHER];

static void on_fate(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)transfer;
    assert_true(index < TOGETHER && !error && bytes == 5);
    told[index]++;
}

/* Of three files the sandbox takes, or gives, two. */
static enum sandlot_status answer_batch(struct sandlot_call *own, void *provider, void *sandbox,
                                        const struct sandlot_command *command, const struct sandlot_sink *output,
                                        struct sandlot_exit *result)
{
    static const char placed[] = "0 placed\n2 placed\n";
    static const char printed[] = "files 0 2\nsizes 5 5\n0123456789same\n";
    char block[512];
    size_t got = 1;

    (void)own, (void)provider, (void)sandbox, (void)result;
    if (!command->input)
        return output->write(output, printed, sizeof(printed) - 1);
    while (got > 0) {
        enum sandlot_status status = command->input->read(command->input, block, sizeof(block), &got);

        if (status != SANDLOT_OK)
            return status;
    }
    return output->write(output, placed, sizeof(placed) - 1);
}

static enum sandlot_status move_file(struct sandlot_call *own, void *provider, void *sandbox,
                                     const struct sandlot_file *files, size_t count,
                                     const struct sandlot_transfer *transfer)
{
    (void)own, (void)provider, (void)sandbox;
    for (size_t i = 0; i < count; i++)
        transfer->done(transfer, i, NULL, files[i].length);
    return SANDLOT_OK;
}

static bool batches(void)
{
    static const char *const paths[TOGETHER] = {"/folder/one", "/folder/zwei \303\274", "/other/three"};
    const struct batch_vendor vendor = {.execute = answer_batch, .move = move_file, .least = 2};
    const struct sandlot_transfer transfer = {.size = sizeof(transfer), .done = on_fate};
    struct sandlot_file files[TOGETHER];
    struct test_source sources[TOGETHER];
    struct test_sink sink;
    bool fine = true;

    test_sink_open(&sink, false);
    for (int up = 1; up >= 0 && fine; up--) {
        memset(told, 0, sizeof(told));
        for (size_t i = 0; i < TOGETHER; i++) {
            test_source_open(&sources[i], 5);
            files[i] = (struct sandlot_file){.size = sizeof(files[i]),
                                             .path = paths[i],
                                             .source = &sources[i].source,
                                             .length = 5,
                                             .sink = &sink.sink};
        }
        enum sandlot_status status =
            (up ? batch_upload : batch_download)(&call.call, &vendor, files, TOGETHER, &transfer);

        fine = status == SANDLOT_OK;
        if (!fine)
            assert_true(call.status == status && *call.message);
        for (size_t i = 0; i < TOGETHER; i++)
            assert_in_range(told[i], fine && !happened ? 1 : 0, 1);
    }
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

static void test_parameters(void **state)
{
    (void)state;
    exhaust(parameters);
}

static void test_networks(void **state)
{
    (void)state;
    exhaust(network);
}

static void test_parameters_in_bodies(void **state)
{
    (void)state;
    exhaust(set_parameters);
}

static void test_claims(void **state)
{
    (void)state;
    exhaust(claims);
}

static void test_kept_sources(void **state)
{
    (void)state;
    exhaust(kept_sources);
}

static void test_batches(void **state)
{
    (void)state;
    exhaust(batches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_kept_sources),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_readers),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_parameters_in_bodies),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_claims),
    };

    OPENSSL_init_ssl(0, NULL); /* OpenSSL 3.5 waits for itself for ever when its first call finds no memory */
    server_open(&server, handle, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    server_close(&server);
    return failed;
}
