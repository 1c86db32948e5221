/* What the relay takes for a request, what becomes of its head, which addresses of ports it believes, and that a
 * sandbox is kept alive while one is used. */
#include "../../sdk/lib/http_relay_head.h"

#include <sandlot/sdk/http_relay.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_looks(void **state)
{
    static const struct {
        const char *bytes;
        enum http_relay_look look;
    } rows[] = {
        {"", HTTP_RELAY_MORE},
        {"G", HTTP_RELAY_MORE},
        {"GET / HTTP/1.1\r\nHost: a\r\n", HTTP_RELAY_MORE},
        {"GET / HTTP/1.1\r\n\r\n", HTTP_RELAY_WHOLE},
        {"OPTIONS * HTTP/1.0\r\nA: b\r\n\r\nbody", HTTP_RELAY_WHOLE},
        {"PRI * HTTP/2.0\r\n\r\n", HTTP_RELAY_OTHER},
        {"*1\r\n$4\r\nPING\r\n", HTTP_RELAY_OTHER},
        {"PING\r\n", HTTP_RELAY_OTHER},
        {"GET /\r\n", HTTP_RELAY_OTHER},
        {"GET / HTTP/1.1\n\n", HTTP_RELAY_OTHER},
        {"\r\n", HTTP_RELAY_OTHER},
        {"\n", HTTP_RELAY_OTHER},
        {"\x16\x03\x01", HTTP_RELAY_OTHER},
        {"GET\x7f", HTTP_RELAY_OTHER},
        {" HTTP/1.1\r\n", HTTP_RELAY_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t head_length = 0;

        assert_int_equal(http_relay_look(rows[i].bytes, strlen(rows[i].bytes), &head_length), rows[i].look);
        if (rows[i].look == HTTP_RELAY_WHOLE)
            assert_ptr_equal(strstr(rows[i].bytes, "\r\n\r\n") + 4, rows[i].bytes + head_length);
    }
}

static void test_long_heads(void **state)
{
    static const char begin[] = "GET / HTTP/1.1\r\nA: ";
    char *bytes = malloc(HTTP_RELAY_HEAD + 4);
    size_t head_length;

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', HTTP_RELAY_HEAD + 4);
    memcpy(bytes, begin, sizeof(begin) - 1);
    assert_int_equal(http_relay_look(bytes, HTTP_RELAY_HEAD - 1, &head_length), HTTP_RELAY_MORE);
    assert_int_equal(http_relay_look(bytes, HTTP_RELAY_HEAD, &head_length), HTTP_RELAY_LONG);
    memcpy(bytes + HTTP_RELAY_HEAD, "\r\n\r\n", 4);
    assert_int_equal(http_relay_look(bytes, HTTP_RELAY_HEAD + 4, &head_length), HTTP_RELAY_LONG);
    memcpy(bytes + HTTP_RELAY_HEAD - 4, "\r\n\r\n", 4);
    assert_int_equal(http_relay_look(bytes, HTTP_RELAY_HEAD + 4, &head_length), HTTP_RELAY_WHOLE);
    assert_int_equal(head_length, HTTP_RELAY_HEAD);
    free(bytes);
}

static void test_rewriting(void **state)
{
    static const struct {
        const char *head;
        const char *header;
        const char *becomes;
        bool upgrades;
    } rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", NULL, "GET / HTTP/1.1\r\nHost: h.example\r\nConnection: close\r\n\r\n", false},
        {"GET /a HTTP/1.1\r\nhost: localhost:3000\r\nX: y\r\nconnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n",
         "T: s", "GET /a HTTP/1.1\r\nHost: h.example\r\nX: y\r\nT: s\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\n b\r\nT: forged\r\n\tmore\r\nT2: kept\r\n\r\n", "T: s",
         "GET / HTTP/1.1\r\nHost: h.example\r\nT2: kept\r\nT: s\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n", NULL,
         "GET / HTTP/1.1\r\nHost: h.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nConnection: upgraded\r\nno colon\r\n\r\n", NULL,
         "GET / HTTP/1.1\r\nHost: h.example\r\nno colon\r\nConnection: close\r\n\r\n", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sdk_buffer new = {.limit = 4096};
        bool upgrades = !rows[i].upgrades;

        assert_true(
            http_relay_rewrite(rows[i].head, strlen(rows[i].head), "h.example", rows[i].header, &new, &upgrades));
        assert_string_equal(new.bytes, rows[i].becomes);
        assert_int_equal(upgrades, rows[i].upgrades);
        sdk_buffer_clear(&new);
    }
}

/* A service whose API is at https://, and what it says of a port. */
struct said {
    struct http_client *client;
    const char *url;
    const char *header;
};

static enum sandlot_status find_said(struct sandlot_call *call, void *provider, void *sandbox, uint16_t port,
                                     int64_t ttl_ms, struct http_relay_place *place)
{
    const struct said *said = provider;

    (void)call, (void)sandbox, (void)port, (void)ttl_ms;
    place->client = said->client;
    place->url = strdup(said->url);
    place->header = strdup(said->header);
    return SANDLOT_OK;
}

static void count_address(const struct sandlot_port_answer *answer, const struct sandlot_port_address *address)
{
    (void)address;
    ++*(int *)answer->context;
}

static void test_what_services_say(void **state)
{
    static const struct {
        const char *url;
        const char *header;
        bool taken;
    } rows[] = {
        {"https://3000-x.example.com", "T: s", true},     {"https://[2001:db8::1]:8443", "T: s", true},
        {"http://3000-x.example.com", "T: s", false},     {"file:///etc/passwd", "T: s", false},
        {"https:3000-x.example.com", "T: s", false},      {"https://", "T: s", false},
        {"https://user:pass@example.com", "T: s", false}, {"https://example.com/path", "T: s", false},
        {"https://example.com\r\nX: y", "T: s", false},   {"https://example.com\033]0;title\a", "T: s", false},
        {"https://example.com", "T: s\r\nX: y", false},   {"https://example.com", "T: \033[2J", false},
    };
    static const struct http_options options = {.base_url = "https://api.example.com"};
    static const struct http_relay relay = {.find = find_said};
    struct test_call call;
    struct said said = {0};
    int count;
    const struct sandlot_port_answer answer = {.size = sizeof(answer), .context = &count, .found = count_address};

    (void)state;
    test_call_open(&call, 0);
    assert_int_equal(http_client_open(&call.call, &options, &said.client), SANDLOT_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        count = 0;
        said.url = rows[i].url;
        said.header = rows[i].header;
        enum sandlot_status status = http_relay_url(&call.call, &relay, &said, NULL, 3000, 0, &answer);

        if (count != rows[i].taken || (status == SANDLOT_OK) != rows[i].taken)
            fail_msg("%s, %s", rows[i].url, rows[i].header);
    }
    http_client_close(said.client);
    test_call_close(&call);
}

/* ---- while a connection is open ---------------------------------------------------------------------------------- */

/* The handle of a sandbox. */
struct lived {
    struct http_relay_places places;
    atomic_int looks;
    atomic_bool limited; /* each had a limit of its own */
    int wanted;          /* after so many the server answers */
    struct http_client *client;
    const char *url;
};

static void look(struct sandlot_call *call, void *sandbox)
{
    struct lived *lived = sandbox;

    lived->limited = lived->limited && call->deadline_ms != 0;
    sandlot_fail(call, SANDLOT_UNAVAILABLE, "it cannot be made to live longer");
    lived->looks++;
}

static void answer_late(struct peer *peer)
{
    const struct lived *lived = peer->server->context;

    while (lived->looks < lived->wanted && !peer->server->stopping)
        peer_sleep(peer, 10);
    peer->close = true;
    peer_answer(peer, 200, "", "done");
}

static enum sandlot_status find_server(struct sandlot_call *call, void *provider, void *sandbox, uint16_t port,
                                       int64_t ttl_ms, struct http_relay_place *place)
{
    const struct lived *lived = sandbox;

    (void)call, (void)provider, (void)port, (void)ttl_ms;
    place->client = lived->client;
    place->url = strdup(lived->url);
    return SANDLOT_OK;
}

static enum sandlot_status read_request(const struct sandlot_source *source, void *bytes, size_t capacity,
                                        size_t *length)
{
    const char **request = source->context;

    *length = strlen(*request);
    assert_true(*length <= capacity);
    memcpy(bytes, *request, *length);
    *request += *length;
    return SANDLOT_OK;
}

static void connection_opened(const struct sandlot_connection *connection)
{
    (void)connection;
}

/* What is told of the looks is no failure of the connection, which goes on. */
static void test_use(void **state)
{
    static const struct http_relay relay = {find_server, offsetof(struct lived, places), look};
    const char *request = "GET / HTTP/1.1\r\n\r\n";
    const struct sandlot_source source = {sizeof(source), &request, read_request, -1};
    struct lived lived = {.limited = true, .wanted = 3};
    struct http_options options = {0};
    struct test_call call;
    struct test_sink sink;
    struct server server;

    (void)state;
    http_relay_places_init(&lived.places);
    server_open(&server, answer_late, NULL);
    server.context = &lived;
    options.base_url = lived.url = server.url;
    test_call_open(&call, 0);
    test_sink_open(&sink, true);
    assert_int_equal(http_client_open(&call.call, &options, &lived.client), SANDLOT_OK);
    const struct sandlot_connection connection = {
        .size = sizeof(connection), .port = 3000, .input = &source, .output = &sink.sink, .opened = connection_opened};

    assert_int_equal(http_relay_connect(&call.call, &relay, NULL, &lived, &connection), SANDLOT_OK);
    assert_string_equal(call.message, "");
    assert_true(lived.looks >= lived.wanted && lived.limited);
    assert_true(sink.length > 4 && memcmp(sink.bytes + sink.length - 4, "done", 4) == 0);
    http_client_close(lived.client);
    test_sink_close(&sink);
    test_call_close(&call);
    server_close(&server);
    http_relay_places_clear(&lived.places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),     cmocka_unit_test(test_long_heads),
        cmocka_unit_test(test_rewriting), cmocka_unit_test(test_what_services_say),
        cmocka_unit_test(test_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
