/* The HTTP client against a server that misbehaves in every way: what it answers, repeats, refuses, and tells. */
#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/http.h>

#include "sdk_support.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY "sk-very-secret-0123456789"

enum { PATIENCE_MS = 60000 }; /* for what takes no time on a machine that has some */

static struct server server;
static struct server elsewhere;
static struct http_client *client;
static struct test_call call;
static atomic_int tries; /* of the test at hand */
static char seen_at[2][4096];

/* ---- what the server does ---------------------------------------------------------------------------------------- */

static void first_fails(struct peer *peer, int times, int status, const char *headers)
{
    if (++tries <= times)
        peer_answer(peer, status, headers, "{\"error\":{\"message\":\"slow down\"}}");
    else
        peer_answer(peer, 200, "", "at last");
}

static void answer_retry(struct peer *peer, const char *what)
{
    char headers[128];
    time_t soon = time(NULL) + 1;
    struct tm parts;

    if (strcmp(what, "seconds") == 0) {
        first_fails(peer, 1, 429, "Retry-After: 1\r\n");
    } else if (strcmp(what, "date") == 0) {
        strftime(headers, sizeof(headers), "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&soon, &parts));
        first_fails(peer, 1, 429, headers);
    } else if (strcmp(what, "ms") == 0) {
        first_fails(peer, 1, 503, "Retry-After-Ms: 300\r\n");
    } else if (strcmp(what, "body") == 0) {
        tries++;
        peer_answer(peer, tries == 1 ? 429 : 200, "",
                    tries == 1 ? "{\"error\":\"slow down\",\"retry_after\":1}" : "at last");
    } else if (strcmp(what, "half-minute") == 0) { /* longer than any test waits */
        first_fails(peer, 9, 429, "Retry-After: 30\r\n");
    } else if (strcmp(what, "long") == 0) {
        first_fails(peer, 9, 429, "X-RateLimit-Reset-Requests: 50m0s\r\n");
    } else if (strcmp(what, "says-true") == 0) {
        first_fails(peer, 2, 400, "X-Should-Retry: true\r\n");
    } else if (strcmp(what, "says-false") == 0) {
        first_fails(peer, 2, 503, "X-Should-Retry: false\r\n");
    } else if (strcmp(what, "always") == 0) {
        first_fails(peer, 99, 502, "");
    } else {
        first_fails(peer, 2, atoi(what), "");
    }
}

static void answer_badly(struct peer *peer, const char *what)
{
    static char block[70000];

    tries++;
    peer->close = true;
    if (strcmp(what, "garbage") == 0) {
        peer_print(peer, "\x16\x03nonsense\r\n\r\nmore nonsense\r\n");
    } else if (strcmp(what, "hang") == 0) {
        peer_sleep(peer, 15000);
    } else if (strcmp(what, "hang-in-body") == 0) {
        peer_print(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        peer_sleep(peer, 15000);
    } else if (strcmp(what, "dropped") == 0) {
        peer_print(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    } else if (strcmp(what, "dropped-chunked") == 0) {
        peer_print(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
    } else if (strcmp(what, "nothing") == 0) {
        return;
    } else if (strcmp(what, "slow") == 0) {
        peer_print(peer, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
        for (int i = 0; i < 10; i++) {
            peer_write(peer, "x", 1);
            peer_sleep(peer, 50);
        }
    } else if (strcmp(what, "long-header") == 0) {
        memset(block, 'h', sizeof(block) - 1);
        peer_print(peer, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 8; i++) {
            peer_print(peer, "X-Long-%d: ", i);
            peer_write(peer, block, sizeof(block) - 1);
            peer_print(peer, "\r\n");
        }
        peer_print(peer, "Content-Length: 0\r\n\r\n");
    } else if (strcmp(what, "endless-header") == 0) {
        peer_print(peer, "HTTP/1.1 200 OK\r\nX: ");
        while (peer_write(peer, block, sizeof(block)))
            continue;
    }
}

static void handle(struct peer *peer)
{
    char body[4096];

    if (strncmp(peer->target, "/retry/", 7) == 0) {
        peer_body(peer, body, sizeof(body), NULL);
        answer_retry(peer, peer->target + 7);
    } else if (strncmp(peer->target, "/bad/", 5) == 0) {
        answer_badly(peer, peer->target + 5);
    } else if (strncmp(peer->target, "/status/", 8) == 0) {
        tries++;
        peer_body(peer, body, sizeof(body), NULL);
        peer_answer(peer, atoi(peer->target + 8), "Content-Type: application/json\r\nX-Trace: trace-1\r\n",
                    "{\"detail\":[{\"msg\":\"bad \\u0007 token " KEY " given\\nsecond line\"}]}");
    } else if (strcmp(peer->target, "/away") == 0) {
        char to[128];

        snprintf(to, sizeof(to), "Location: %s/landed?x=1\r\n", elsewhere.url);
        peer_body(peer, body, sizeof(body), NULL);
        peer_answer(peer, 307, to, "");
    } else if (strcmp(peer->target, "/refuse") == 0) {
        peer_body(peer, body, sizeof(body), NULL);
        peer_answer(peer, 400, "", body);
    } else if (strcmp(peer->target, "/around") == 0) {
        peer_answer(peer, 302, "Location: /around\r\n", "");
    } else if (strcmp(peer->target, "/near") == 0) {
        peer_answer(peer, 302, "Location: /echo\r\n", "");
    } else {
        peer_body(peer, body, sizeof(body), NULL);
        peer_keep_head(peer, seen_at[0], sizeof(seen_at[0]));
        peer_answer(peer, 200, "X-Twice: one\r\nX-Twice:  two \r\n", *body ? body : peer->target);
    }
}

static void handle_elsewhere(struct peer *peer)
{
    peer_keep_head(peer, seen_at[1], sizeof(seen_at[1]));
    peer_answer(peer, 200, "", "elsewhere");
}

/* ---- around each test -------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    static const char *const headers[] = {"X-Api-Key: other-secret-42", "Accept: application/json", NULL};
    const struct http_options options = {
        .service = "Acme", .base_url = server.url, .bearer = KEY, .headers = headers, .pause_ms = 20};

    (void)state;
    tries = 0;
    memset(seen_at, 0, sizeof(seen_at));
    test_call_open(&call, PATIENCE_MS);
    assert_int_equal(http_client_open(&call.call, &options, &client), SANDLOT_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_null(strstr(call.log, KEY));
    assert_null(strstr(call.message, KEY));
    assert_null(strstr(call.log, "other-secret-42"));
    http_client_close(client);
    test_call_close(&call);
    return 0;
}

/* Sends METHOD TARGET; expects STATUS. The answer's text in BODY, unless NULL. */
static void expect(const char *method, const char *target, enum sandlot_status status, const char *body)
{
    const struct http_request request = {.method = method, .target = target};
    struct http_response response;
    enum sandlot_status got = http_send(&call.call, client, &request, &response);

    if (got != status)
        print_error("%s %s: %d, %s\n%s", method, target, got, call.message, call.log);
    assert_int_equal(got, status);
    assert_int_equal(call.status, status);
    if (body)
        assert_string_equal(response.body, body);
    http_response_clear(&response);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("'%s' is not in: %s\n", part, text);
    assert_non_null(strstr(text, part));
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void test_answer(void **state)
{
    const char *const headers[] = {"X-Mine: 1", "accept: text/plain", "X-Empty:", NULL};
    const struct http_request request = {
        .method = "POST", .target = "/echo?q=1", .headers = headers, .body = {.bytes = "{\"a\":1}", .length = 7}};
    struct http_response response;

    (void)state;
    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_OK);
    assert_int_equal(response.status, 200);
    assert_string_equal(response.body, "{\"a\":1}");
    assert_int_equal(response.length, 7);
    assert_int_equal(response.attempts, 1);
    assert_string_equal(http_header(&response, "x-twice"), "two ");
    assert_string_equal(http_header(&response, "Content-Length"), "7");
    assert_null(http_header(&response, "X-Twic"));
    assert_has(seen_at[0], "Authorization: Bearer " KEY "\r\n");
    assert_has(seen_at[0], "X-Api-Key: other-secret-42\r\n");
    assert_has(seen_at[0], "accept: text/plain\r\n");
    assert_null(strstr(seen_at[0], "Accept: application/json"));
    assert_has(seen_at[0], "X-Empty:\r\n");
    assert_has(seen_at[0], "Content-Type: application/json\r\n");
    assert_null(strstr(seen_at[0], "Expect"));
    assert_has(call.log, "3 POST http://127.0.0.1:");
    assert_has(call.log, "/echo?...: 200, ");
    assert_has(call.log, "7 bytes up, 7 down, attempt 1, new connection");
    assert_null(strstr(call.log, "q=1"));
    http_response_clear(&response);
}

static void test_methods(void **state)
{
    (void)state;
    expect("GET", "/echo", SANDLOT_OK, "/echo");
    expect("PUT", "/echo", SANDLOT_OK, "/echo");
    assert_has(seen_at[0], "Content-Length: 0\r\n");
    expect("DELETE", "/echo", SANDLOT_OK, "/echo");
    assert_has(seen_at[0], "DELETE /echo HTTP/1.1\r\n");
    expect("PATCH", "/echo", SANDLOT_OK, "/echo");
    expect("HEAD", "/echo", SANDLOT_OK, "");
    expect("OPTIONS", "/echo", SANDLOT_OK, "/echo");
    assert_int_equal(call.status, SANDLOT_OK);
}

static void test_statuses(void **state)
{
    static const struct {
        int status;
        enum sandlot_status wanted;
    } cases[] = {{400, SANDLOT_INVALID_ARGUMENT}, {401, SANDLOT_AUTH},
                 {402, SANDLOT_EXHAUSTED},        {403, SANDLOT_AUTH},
                 {404, SANDLOT_NOT_FOUND},        {405, SANDLOT_UNSUPPORTED},
                 {409, SANDLOT_UNAVAILABLE},      {422, SANDLOT_INVALID_ARGUMENT},
                 {429, SANDLOT_EXHAUSTED},        {500, SANDLOT_UNAVAILABLE},
                 {501, SANDLOT_UNSUPPORTED},      {503, SANDLOT_UNAVAILABLE},
                 {304, SANDLOT_INTERNAL},         {299, SANDLOT_OK}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char target[32];

        snprintf(target, sizeof(target), "/status/%d", cases[i].status);
        call.status = SANDLOT_OK;
        expect("POST", target, cases[i].wanted, NULL); /* POST is never repeated */
    }
    assert_int_equal(tries, (int)(sizeof(cases) / sizeof(*cases)));
}

static void test_sentence(void **state)
{
    (void)state;
    expect("POST", "/status/403", SANDLOT_AUTH, NULL);
    assert_has(call.message, "Acme answered POST 127.0.0.1:");
    assert_has(call.message, "/status/403 with status 403: \"bad token *** given second line\"; check that the key");
}

static void test_accepted(void **state)
{
    static const int accepted[] = {404, 410, 0};
    const struct http_request request = {.method = "DELETE", .target = "/status/404", .accepted = accepted};
    struct http_response response;

    (void)state;
    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_OK);
    assert_int_equal(response.status, 404);
    assert_int_equal(call.status, SANDLOT_OK);
    assert_int_equal(http_response_fail(&call.call, client, &request, &response), SANDLOT_NOT_FOUND);
    assert_has(call.message, "with status 404");
    http_response_clear(&response);
}

static void test_limit(void **state)
{
    const struct http_request request = {.method = "GET", .target = "/echo-long-enough", .limit = 8};

    (void)state;
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_INTERNAL);
    assert_has(call.message, "longer than 8 bytes");
}

static void test_bad_requests(void **state)
{
    static const char *const injected[] = {"X: a\r\nAuthorization: none", NULL};
    const struct http_request no_target = {.method = "GET"};
    const struct http_request header = {.method = "GET", .target = "/echo", .headers = injected};
    const struct http_request scheme = {.method = "GET", .target = "file:///etc/passwd"};
    const struct http_request blank = {.method = "GET", .target = "/a b"};
    const struct http_request good = {.method = "GET", .target = "/echo"};
    const struct http_part part = {.name = "a", .type = "text/plain\r\nX: b", .body = {.bytes = "c", .length = 1}};
    const struct http_request form = {.method = "POST", .target = "/echo", .parts = &part, .part_count = 1};

    (void)state;
    assert_int_equal(http_send(&call.call, client, &no_target, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_int_equal(http_send(&call.call, client, &header, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_int_equal(http_send(&call.call, client, &scheme, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_int_equal(http_send(&call.call, client, &form, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_int_equal(http_send(&call.call, client, &blank, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_string_equal(seen_at[0], "");
    assert_int_equal(http_send(&call.call, client, &good, NULL), SANDLOT_OK); /* none of them has spoilt it */
}

static void test_bad_options(void **state)
{
    static const char *const urls[] = {NULL, "", "acme.dev", "ftp://acme.dev", "http://"};
    const struct http_options agent = {.base_url = server.url, .user_agent = "acme\r\nX: 1"};
    struct http_client *none;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        const struct http_options options = {.base_url = urls[i]};

        assert_int_equal(http_client_open(&call.call, &options, &none), SANDLOT_INVALID_ARGUMENT);
        assert_null(none);
    }
    assert_int_equal(http_client_open(&call.call, &agent, &none), SANDLOT_INVALID_ARGUMENT);
    assert_null(none);
}

/* ---- repeating --------------------------------------------------------------------------------------------------- */

static void test_retry_after(void **state)
{
    static const struct {
        const char *target;
        int64_t least_ms;
    } cases[] = {{"/retry/seconds", 1000}, {"/retry/date", 0}, {"/retry/ms", 300}, {"/retry/body", 1000}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t begin = sandlot_now_ms();

        tries = 0;
        expect("GET", cases[i].target, SANDLOT_OK, "at last");
        assert_true(sandlot_now_ms() - begin >= cases[i].least_ms);
        assert_int_equal(tries, 2);
    }
}

static void test_repeats(void **state)
{
    static const char *const statuses[] = {"429", "502", "503", "504"};
    char target[32];

    (void)state;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        tries = 0;
        snprintf(target, sizeof(target), "/retry/%s", statuses[i]);
        expect("PUT", target, SANDLOT_OK, "at last");
        assert_int_equal(tries, 3);
    }
}

static void test_never_repeats(void **state)
{
    (void)state;
    expect("GET", "/retry/500", SANDLOT_UNAVAILABLE, NULL);
    assert_int_equal(tries, 1);
    call.status = SANDLOT_OK;
    tries = 0;
    expect("POST", "/retry/503", SANDLOT_UNAVAILABLE, NULL);
    assert_int_equal(tries, 1);
}

/* Each service has its own notion of what passes. */
static void test_repeats_as_the_service_does(void **state)
{
    static const int repeated[] = {409, 500, 0};
    const struct http_options options = {
        .base_url = server.url, .pause_ms = 5, .repeated = repeated, .repeat_header = "x-should-retry"};
    const struct {
        struct http_request request;
        enum sandlot_status wanted;
        int tries;
    } cases[] = {
        {{.method = "GET", .target = "/retry/500"}, SANDLOT_OK, 3},
        {{.method = "DELETE", .target = "/retry/409"}, SANDLOT_OK, 3},
        {{.method = "GET", .target = "/retry/501"}, SANDLOT_UNSUPPORTED, 1},
        {{.method = "GET", .target = "/retry/502"}, SANDLOT_OK, 3},
        {{.method = "POST", .target = "/retry/500"}, SANDLOT_UNAVAILABLE, 1},
        {{.method = "GET", .target = "/retry/500", .accepted = repeated}, SANDLOT_OK, 1},
        {{.method = "POST", .target = "/retry/says-true"}, SANDLOT_OK, 3},
        {{.method = "POST", .target = "/retry/says-true", .never_repeat = true}, SANDLOT_INVALID_ARGUMENT, 1},
        {{.method = "GET", .target = "/retry/says-false"}, SANDLOT_UNAVAILABLE, 1},
    };
    struct http_client *own;

    (void)state;
    assert_int_equal(http_client_open(&call.call, &options, &own), SANDLOT_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tries = 0;
        call.status = SANDLOT_OK;
        assert_int_equal(http_send(&call.call, own, &cases[i].request, NULL), cases[i].wanted);
        assert_int_equal(tries, cases[i].tries);
    }
    http_client_close(own);
}

static void test_key_is_named(void **state)
{
    const struct http_options options = {.base_url = server.url, .bearer = KEY, .key_from = "ACME_API_KEY"};
    const struct http_request request = {.method = "GET", .target = "/status/401"};
    struct http_client *own;

    (void)state;
    assert_int_equal(http_client_open(&call.call, &options, &own), SANDLOT_OK);
    assert_int_equal(http_send(&call.call, own, &request, NULL), SANDLOT_AUTH);
    assert_has(call.message, "check that the key in ACME_API_KEY is right");
    http_client_close(own);
}

/* What a service's support asks for. */
static void test_request_is_named(void **state)
{
    const struct http_options options = {.base_url = server.url, .id_header = "X-Trace"};
    const struct http_request request = {.method = "POST", .target = "/status/422"};
    const struct http_request nameless = {.method = "POST", .target = "/refuse"};
    struct http_client *own;

    (void)state;
    assert_int_equal(http_client_open(&call.call, &options, &own), SANDLOT_OK);
    assert_int_equal(http_send(&call.call, own, &request, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_has(call.message, "second line\"; it calls the request trace-1; check the parameters");
    call.status = SANDLOT_OK;
    assert_int_equal(http_send(&call.call, own, &nameless, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_null(strstr(call.message, "calls the request"));
    http_client_close(own);
}

static void test_keyed(void **state)
{
    const struct http_request request = {.method = "POST", .target = "/retry/503", .idempotency_key = "run-1"};
    const struct http_request marked = {.method = "POST", .target = "/retry/503", .repeatable = true};
    const struct http_request once = {.method = "GET", .target = "/retry/503", .never_repeat = true};
    struct http_response response;

    (void)state;
    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_OK);
    assert_int_equal(response.attempts, 3);
    http_response_clear(&response);
    tries = 0;
    assert_int_equal(http_send(&call.call, client, &marked, NULL), SANDLOT_OK);
    tries = 0;
    assert_int_equal(http_send(&call.call, client, &once, NULL), SANDLOT_UNAVAILABLE);
    assert_int_equal(tries, 1);
}

static void test_gives_up(void **state)
{
    (void)state;
    expect("GET", "/retry/always", SANDLOT_UNAVAILABLE, NULL);
    assert_int_equal(tries, 4);
    assert_has(call.message, "(4 attempts)");
    assert_has(call.message, "slow down");
    assert_has(call.log, "attempt 4");
}

/* A pause that would pass the deadline is not begun. */
static void test_pause_beyond_deadline(void **state)
{
    (void)state;
    expect("GET", "/retry/long", SANDLOT_EXHAUSTED, NULL);
    assert_int_equal(tries, 1);
    assert_has(call.message, "left alone for 3000 s");
    call.status = SANDLOT_OK;
    tries = 0;
    call.call.deadline_ms = sandlot_now_ms() + 20000;
    expect("GET", "/retry/half-minute", SANDLOT_EXHAUSTED, NULL);
    assert_int_equal(tries, 1);
}

static void test_no_server(void **state)
{
    struct server gone;
    struct http_client *lost;
    const struct http_request request = {.method = "POST", .target = "/x"};
    struct http_response response;

    (void)state;
    server_open(&gone, handle, NULL);
    const struct http_options options = {.base_url = gone.url, .attempts = 3, .pause_ms = 5};

    assert_int_equal(http_client_open(&call.call, &options, &lost), SANDLOT_OK);
    server_close(&gone);
    assert_int_equal(http_send(&call.call, lost, &request, &response), SANDLOT_UNAVAILABLE);
    assert_int_equal(response.attempts, 3); /* nothing has arrived: even a POST is sent again */
    assert_int_equal(response.status, 0);
    assert_has(call.message, "could not be asked for POST 127.0.0.1:");
    http_response_clear(&response);
    http_client_close(lost);
}

/* A name that no resolver asks anybody for: a label has at most 63 letters. The client serves the next request as ever.
 */
static void test_no_such_host(void **state)
{
    char url[128];
    const struct http_request astray = {.method = "GET", .target = url};
    const struct http_request good = {.method = "GET", .target = "/hello"};
    struct http_response response;

    (void)state;
    snprintf(url, sizeof(url), "http://%064d.invalid/", 0);
    assert_int_equal(http_send(&call.call, client, &astray, &response), SANDLOT_UNAVAILABLE);
    assert_int_equal(response.attempts, 4);
    assert_has(call.message, "resolve");
    http_response_clear(&response);
    call.status = SANDLOT_OK;
    assert_int_equal(http_send(&call.call, client, &good, NULL), SANDLOT_OK);
}

/* ---- what is no answer ------------------------------------------------------------------------------------------- */

static void test_bad_answers(void **state)
{
    static const struct {
        const char *target;
        enum sandlot_status status;
        int tries;
    } cases[] = {{"/bad/garbage", SANDLOT_INTERNAL, 1},
                 {"/bad/dropped", SANDLOT_UNAVAILABLE, 4},
                 {"/bad/dropped-chunked", SANDLOT_UNAVAILABLE, 4},
                 {"/bad/nothing", SANDLOT_UNAVAILABLE, 4},
                 {"/bad/long-header", SANDLOT_INTERNAL, 1},
                 {"/bad/endless-header", SANDLOT_INTERNAL, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tries = 0;
        call.status = SANDLOT_OK;
        expect("GET", cases[i].target, cases[i].status, NULL);
        assert_int_equal(tries, cases[i].tries);
    }
    tries = 0;
    call.status = SANDLOT_OK;
    expect("POST", "/bad/dropped", SANDLOT_UNAVAILABLE, NULL);
    assert_int_equal(tries, 1);
}

/* A kept connection that is closed without an answer: the request may have been done. */
static void test_kept_connection_ends(void **state)
{
    (void)state;
    expect("GET", "/echo", SANDLOT_OK, NULL);
    expect("POST", "/bad/nothing", SANDLOT_UNAVAILABLE, NULL);
    assert_int_equal(tries, 1);
    assert_has(call.message, "the connection ended before an answer came");
    call.status = SANDLOT_OK;
    tries = 0;
    expect("GET", "/echo", SANDLOT_OK, NULL);
    expect("GET", "/bad/nothing", SANDLOT_UNAVAILABLE, NULL);
    assert_in_range(tries, 4, 5); /* libcurl's own second try is none of ours */
}

static void test_slow_body(void **state)
{
    (void)state;
    expect("GET", "/bad/slow", SANDLOT_OK, "xxxxxxxxxx");
}

static void test_deadline(void **state)
{
    static const char *const targets[] = {"/bad/hang", "/bad/hang-in-body"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        int64_t begin = sandlot_now_ms();

        call.status = SANDLOT_OK;
        call.call.deadline_ms = begin + 200;
        expect("GET", targets[i], SANDLOT_TIMEOUT, NULL);
        assert_true(sandlot_now_ms() - begin >= 200);
    }
    assert_has(call.message, "it was not done in time");
}

/* A source that moves the deadline of the call as it is read. */
static enum sandlot_status read_and_hurry(const struct sandlot_source *source, void *buffer, size_t capacity,
                                          size_t *length)
{
    struct attempt *outer = source->context;

    (void)capacity;
    *length = outer->call.deadline_ms == 0 ? 1 : 0;
    memcpy(buffer, "x", *length);
    outer->call.deadline_ms = sandlot_now_ms() + 100;
    return SANDLOT_OK;
}

static void test_deadline_that_moves(void **state)
{
    struct attempt outer;
    struct attempt inner;
    const struct sandlot_source source = {
        .size = sizeof(source), .context = &outer, .read = read_and_hurry, .poll_fd = -1};
    const struct http_request request = {
        .method = "POST", .target = "/bad/hang", .body = {.source = &source, .length = UINT64_MAX}};

    (void)state;
    attempt_begin(&outer, &call.call, 0);
    attempt_begin(&inner, &outer.call, 0);
    assert_int_equal(http_send(&inner.call, client, &request, NULL), SANDLOT_TIMEOUT);
    assert_has(inner.reason, "it was not done in time");
}

static void test_time_limit_of_request(void **state)
{
    const struct http_request request = {.method = "GET", .target = "/bad/hang", .timeout_ms = 100};
    const struct http_request silence = {.method = "GET", .target = "/bad/hang-in-body", .silence_ms = 150};
    int64_t begin = sandlot_now_ms();

    (void)state;
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_TIMEOUT);
    assert_true(sandlot_now_ms() - begin >= 100);
    call.call.deadline_ms = 0;
    call.status = SANDLOT_OK;
    begin = sandlot_now_ms();
    assert_int_equal(http_send(&call.call, client, &silence, NULL), SANDLOT_UNAVAILABLE);
    assert_true(sandlot_now_ms() - begin >= 150);
    assert_has(call.message, "nothing was heard");
}

static void *cancel_soon(void *context)
{
    (void)context;
    usleep(150000);
    test_call_cancel(&call);
    return NULL;
}

static void check_cancel(const char *target)
{
    pthread_t thread;
    int64_t begin = sandlot_now_ms();

    call.status = SANDLOT_OK;
    tries = 0;
    pthread_create(&thread, NULL, cancel_soon, NULL);
    expect("GET", target, SANDLOT_CANCELLED, NULL);
    assert_true(sandlot_now_ms() - begin >= 140);
    pthread_join(thread, NULL);
    test_call_close(&call);
    test_call_open(&call, PATIENCE_MS);
}

static void test_cancel(void **state)
{
    (void)state;
    check_cancel("/bad/hang");
    check_cancel("/bad/hang-in-body");
    check_cancel("/retry/half-minute"); /* within the pause */
    test_call_cancel(&call);
    int before = server.requests;

    expect("GET", "/echo", SANDLOT_CANCELLED, NULL);
    assert_int_equal(server.requests, before);
}

/* A request that cleans up has 5 s at most, and a busy machine may need more than once that. */
static void clean_up(const struct http_request *request, struct http_response *response)
{
    enum sandlot_status status = SANDLOT_TIMEOUT;

    for (int i = 0; i < 12 && status == SANDLOT_TIMEOUT; i++) {
        http_response_clear(response);
        status = http_send(&call.call, client, request, response);
    }
    assert_int_equal(status, SANDLOT_OK);
}

/* It is sent all the same, and ends in time. */
static void test_after_cancel(void **state)
{
    struct http_request request = {.method = "GET", .target = "/echo", .after_cancel = true, .timeout_ms = 5000};
    struct http_response response = {0};

    (void)state;
    call.call.deadline_ms = sandlot_now_ms() - 1;
    test_call_cancel(&call);
    clean_up(&request, &response);
    assert_string_equal(response.body, "/echo");
    http_response_clear(&response);
    request.target = "/retry/ms"; /* with a pause */
    clean_up(&request, &response);
    http_response_clear(&response);
    int64_t begin = sandlot_now_ms();

    request.target = "/bad/hang";
    request.timeout_ms = 0;
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_TIMEOUT);
    assert_true(sandlot_now_ms() - begin >= 850);
    request.timeout_ms = 200;
    begin = sandlot_now_ms();
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_TIMEOUT);
    assert_true(sandlot_now_ms() - begin >= 190);
}

/* ---- redirects --------------------------------------------------------------------------------------------------- */

static void test_redirects(void **state)
{
    (void)state;
    expect("GET", "/near", SANDLOT_OK, "/echo");
    assert_has(seen_at[0], "Authorization: Bearer");
    expect("GET", "/away", SANDLOT_OK, "elsewhere");
    assert_has(seen_at[1], "GET /landed?x=1 ");
    assert_has(seen_at[1], "Accept: application/json");
    assert_null(strstr(seen_at[1], "Authorization"));
    assert_null(strstr(seen_at[1], "X-Api-Key"));
    expect("GET", "/around", SANDLOT_INTERNAL, NULL);
    assert_has(call.message, "more than 5 times");
    call.status = SANDLOT_OK;
    seen_at[1][0] = '\0';
    expect("POST", "/away", SANDLOT_INTERNAL, NULL);
    assert_string_equal(seen_at[1], "");
    assert_has(call.message, "set the base address");
}

static void test_foreign_target(void **state)
{
    char url[128];
    static const char *const headers[] = {"X-Own: 1", NULL};
    const struct http_request request = {.method = "GET", .target = url, .headers = headers};

    (void)state;
    snprintf(url, sizeof(url), "%s/signed?signature=abcdef", elsewhere.url);
    assert_int_equal(http_send(&call.call, client, &request, NULL), SANDLOT_OK);
    assert_has(seen_at[1], "X-Own: 1");
    assert_null(strstr(seen_at[1], "Authorization"));
    assert_null(strstr(seen_at[1], "X-Api-Key"));
    assert_null(strstr(call.log, "abcdef"));
}

/* What a request or an address brings along is as secret as what the client has, also without its scheme; but what
 * merely names a request is none: there would be no end of them. */
static void test_secrets_of_requests(void **state)
{
    static const char *const headers[] = {"Authorization: Bearer of-one-request",
                                          "Proxy-Authorization: Basic dTpwLXctcC13", "X-Idempotency-Key: first-try",
                                          NULL};
    static const char said[] =
        "{\"error\":\"first-try: of-one-request, p-w-p-w, dTpwLXctcC13 and in-the-address are wrong\"}";
    const struct http_request request = {
        .method = "POST", .target = "/refuse", .headers = headers, .body = {.bytes = said, .length = sizeof(said) - 1}};
    static const char *const signature[] = {"Authorization: AWS4-HMAC-SHA256 Credential=A, Signature=0a1b2c", NULL};
    static const char wanted[] = "{\"error\":\"Signature=0a1b2c is not the signature\"}";
    const struct http_request signed_one = {.method = "POST",
                                            .target = "/refuse",
                                            .headers = signature,
                                            .body = {.bytes = wanted, .length = sizeof(wanted) - 1}};
    struct http_client *own;
    char url[256];

    (void)state;
    snprintf(url, sizeof(url), "http://me:in%%2Dthe-address@%s", server.url + strlen("http://"));
    const struct http_options options = {.service = "Acme", .base_url = url};

    assert_int_equal(http_client_open(&call.call, &options, &own), SANDLOT_OK);
    assert_int_equal(http_send(&call.call, own, &request, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_has(call.message, "\"first-try: ***, ***, *** and *** are wrong\"");
    test_call_close(&call);
    test_call_open(&call, PATIENCE_MS);
    assert_int_equal(http_send(&call.call, own, &signed_one, NULL), SANDLOT_INVALID_ARGUMENT);
    assert_has(call.message, "0a1b2c is not the signature");
    http_client_close(own);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void test_keep_alive(void **state)
{
    int before = server.connections;

    (void)state;
    for (int i = 0; i < 50; i++)
        expect("GET", "/echo", SANDLOT_OK, NULL);
    assert_int_equal(server.connections - before, 1);
    assert_has(call.log, "kept connection");
    expect("GET", "/bad/slow", SANDLOT_OK, NULL); /* closes it */
    expect("GET", "/echo", SANDLOT_OK, NULL);
    assert_int_equal(server.connections - before, 2);
    expect("GET", "/status/404", SANDLOT_NOT_FOUND, NULL);
    call.status = SANDLOT_OK;
    expect("GET", "/echo", SANDLOT_OK, NULL);
    assert_int_equal(server.connections - before, 2); /* an error is no reason to part */
}

static void *many(void *context)
{
    struct test_call *own = malloc(sizeof(*own));
    size_t *fine = context;

    test_call_open(own, PATIENCE_MS);
    for (int i = 0; i < 50; i++) {
        char target[64];
        char body[64];
        struct http_response response;

        snprintf(target, sizeof(target), "/t%p/%d", context, i);
        snprintf(body, sizeof(body), "%s", target);
        const struct http_request request = {
            .method = "POST", .target = target, .body = {.bytes = body, .length = strlen(body)}};

        if (http_send(&own->call, client, &request, &response) == SANDLOT_OK && strcmp(response.body, body) == 0)
            ++*fine;
        http_response_clear(&response);
    }
    test_call_close(own);
    free(own);
    return NULL;
}

static void test_threads(void **state)
{
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    size_t fine[THREADS] = {0};
    int before = server.connections;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many, &fine[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(fine[i], 50);
    }
    assert_in_range(server.connections - before, 1, THREADS);
}

/* A proxy gets the whole URL; what the host's environment does not have is not asked of the process's. */
static void test_proxy(void **state)
{
    struct http_client *proxied;
    const struct variable variables[] = {{"http_proxy", elsewhere.url}, {"no_proxy", "skipped.test"}, {NULL, NULL}};
    const struct http_options options = {.base_url = "http://far.test/v1/"};
    const struct http_request request = {.method = "GET", .target = "/a"};
    struct http_response response;

    (void)state;
    call.variables = variables;
    assert_int_equal(http_client_open(&call.call, &options, &proxied), SANDLOT_OK);
    assert_int_equal(http_send(&call.call, proxied, &request, &response), SANDLOT_OK);
    assert_string_equal(response.body, "elsewhere");
    assert_has(seen_at[1], "GET http://far.test/v1/a HTTP/1.1\r\n");
    http_response_clear(&response);
    http_client_close(proxied);

    setenv("http_proxy", elsewhere.url, 1);
    call.variables = NULL;
    seen_at[1][0] = '\0';
    expect("GET", "/echo", SANDLOT_OK, "/echo");
    unsetenv("http_proxy");
    assert_string_equal(seen_at[1], "");
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static void check_target(char *target, const char *wanted)
{
    if (wanted)
        assert_string_equal(target, wanted);
    else
        assert_null(target);
    free(target);
}

static void test_targets(void **state)
{
    char *target = http_target("/a");

    (void)state;
    check_target(http_target("/boxes/{}/files?path={}&x=1", "a/b c", "/tmp/\xc3\xa4&b=1#"),
                 "/boxes/a%2Fb%20c/files?path=%2Ftmp%2F%C3%A4%26b%3D1%23&x=1");
    check_target(http_target("/{}:stop", "id"), "/id:stop");
    check_target(http_target("/x-{}-{}", "", "y"), "/x--y");
    check_target(http_target("/boxes/{}", ""), NULL);
    check_target(http_target("/boxes/{}", "."), NULL);
    check_target(http_target("/boxes/{}/x", ".."), NULL);
    check_target(http_target("/{}{}", ".", "."), NULL);
    check_target(http_target("/boxes/{}", "..."), "/boxes/...");
    check_target(http_target("/boxes?id={}", ""), "/boxes?id=");
    check_target(http_target("/boxes/{}", NULL), NULL);
    check_target(http_target("/{broken", "x"), NULL);
    assert_true(http_target_add(&target, "b c", "d&e"));
    assert_true(http_target_add(&target, "none", NULL));
    assert_true(http_target_add(&target, "f", ""));
    check_target(target, "/a?b%20c=d%26e&f=");
}

static int64_t pause_of(const char *headers)
{
    return http_retry_after(headers, strlen(headers), INT64_C(1700000000000));
}

static void test_pauses(void **state)
{
    (void)state;
    assert_int_equal(pause_of(""), -1);
    assert_int_equal(pause_of("HTTP/1.1 429 x\r\nDate: now\r\n\r\n"), -1);
    assert_int_equal(pause_of("retry-after: 7\r\n"), 7000);
    assert_int_equal(pause_of("Retry-After: 0\r\n"), 0);
    assert_int_equal(pause_of("Retry-After: 1.5\n"), 1500);
    assert_int_equal(pause_of("Retry-After: -1\r\n"), -1);
    assert_int_equal(pause_of("Retry-After: soon\r\n"), -1);
    assert_int_equal(pause_of("Retry-After: 99999999999999999999\r\n"), -1);
    assert_int_equal(pause_of("Retry-After: Tue, 14 Nov 2023 22:13:25 GMT\r\n"), 5000);
    assert_int_equal(pause_of("Retry-After: Tuesday, 14-Nov-23 22:13:25 GMT\r\n"), 5000);
    assert_int_equal(pause_of("Retry-After: Tue Nov 14 22:13:25 2023\r\n"), 5000);
    assert_int_equal(pause_of("Retry-After: Tue, 14 Nov 2023 22:00:00 GMT\r\n"), 0);
    assert_int_equal(pause_of("Retry-After-Ms: 120\r\n"), 120);
    assert_int_equal(pause_of("x-amz-retry-after: 1500\r\n"), 1500);
    assert_int_equal(pause_of("Retry-After: 2\r\nX-RateLimit-Reset: 60\r\n"), 2000);
    assert_int_equal(pause_of("Retry-After-sandbox-create: 4\r\nRetry-After-Login: 3\r\n"), 4000);
    assert_int_equal(pause_of("Retry-After-Login: 4\r\nX-RateLimit-Reset-Other: 60\r\n"), 4000);
    assert_int_equal(pause_of("Retry-After-Login: 4\r\nRetry-After: 2\r\n"), 2000);
    assert_int_equal(pause_of("Retry-After-Login: soon\r\nRetry-After-Ms: 120\r\n"), 120);
    assert_int_equal(pause_of("X-RateLimit-Reset: 1700000030\r\n"), 30000);
    assert_int_equal(pause_of("X-RateLimit-Reset: 1700000030500\r\n"), 30500);
    assert_int_equal(pause_of("X-RateLimit-Reset: 1600000000\r\n"), 0);
    assert_int_equal(pause_of("RateLimit-Reset: 3\r\nX-RateLimit-Reset-Tokens: 6m0s\r\n"), 360000);
    assert_int_equal(pause_of("X-RateLimit-Reset-Requests: 20ms"), 20);
    assert_int_equal(pause_of("X-RateLimit-Reset-Requests: 1h1s\r\n"), 3601000);
    assert_int_equal(pause_of("X-RateLimit-Reset: 5parsecs\r\n"), -1);
    assert_int_equal(pause_of("X-RateLimit-Reset: 2147483647d\r\n"), -1);
    assert_true(pause_of("X-RateLimit-Reset: 20000d\r\n") > 0);
}

static void check_text(const char *body, const char *wanted)
{
    char text[64];

    http_error_text(body, strlen(body), text, sizeof(text));
    assert_string_equal(text, wanted);
}

static void test_error_texts(void **state)
{
    (void)state;
    check_text("", "");
    check_text("{\"message\":\"a\"}", "a");
    check_text("{\"error\":\"b\"}", "b");
    check_text("{\"code\":7,\"error\":{\"type\":\"t\",\"message\":\"c\"}}", "c");
    check_text("{\"errors\":[{\"detail\":\"d\"},{}]}", "d");
    check_text("{\"detail\":[{\"loc\":[1],\"msg\":\"e\"}]}", "e");
    check_text("\"f\"", "f");
    check_text("{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":\"too deep\"}}}}}}", "");
    check_text("plain text\nof two lines\n", "plain text of two lines");
    check_text("<html>no</html>", "");
    check_text("{broken", "");
    check_text("\xff\xfe\x1b[31mred", "?? [31mred");
    check_text("0123456789012345678901234567890123456789012345678901234567890123456789",
               "012345678901234567890123456789012345678901234567890123456789...");
}

static void test_mentions(void **state)
{
    char body[] = "{\"message\":\"Quota of the team EXCEEDED\",\"limit\":1}";
    const struct http_response response = {.status = 403, .body = body, .length = strlen(body)};
    const struct http_response none = {0};

    (void)state;
    assert_true(http_mentions(&response, "quota"));
    assert_true(http_mentions(&response, "exceeded"));
    assert_false(http_mentions(&response, "limit")); /* is not what is said */
    assert_false(http_mentions(&none, "quota"));
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(test_answer),
        EACH(test_methods),
        EACH(test_statuses),
        EACH(test_sentence),
        EACH(test_accepted),
        EACH(test_limit),
        EACH(test_bad_requests),
        EACH(test_bad_options),
        EACH(test_retry_after),
        EACH(test_repeats),
        EACH(test_never_repeats),
        EACH(test_repeats_as_the_service_does),
        EACH(test_key_is_named),
        EACH(test_request_is_named),
        EACH(test_keyed),
        EACH(test_gives_up),
        EACH(test_pause_beyond_deadline),
        EACH(test_no_server),
        EACH(test_no_such_host),
        EACH(test_bad_answers),
        EACH(test_kept_connection_ends),
        EACH(test_slow_body),
        EACH(test_deadline),
        EACH(test_deadline_that_moves),
        EACH(test_time_limit_of_request),
        EACH(test_cancel),
        EACH(test_after_cancel),
        EACH(test_redirects),
        EACH(test_foreign_target),
        EACH(test_secrets_of_requests),
        EACH(test_keep_alive),
        EACH(test_threads),
        EACH(test_proxy),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_error_texts),
        cmocka_unit_test(test_mentions),
    };

    server_open(&server, handle, NULL);
    server_open(&elsewhere, handle_elsewhere, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    server_close(&server);
    server_close(&elsewhere);
    return failed;
}
