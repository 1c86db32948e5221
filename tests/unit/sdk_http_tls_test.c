/* TLS and HTTP/2: certificates are verified, sessions and connections kept, redirects down to plain HTTP refused. */
#include <sandlot/sdk/grpc.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/websocket.h>

#include "sdk_grpc_server.h"
#include "sdk_support.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static char certificate[96];
static char key[96];
static struct server server;
static struct test_call call;
static SSL_CTX *tls;

/* ---- a certificate for localhost --------------------------------------------------------------------------------- */

static void add_extension(X509 *made, int kind, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

    assert_non_null(extension);
    X509_add_ext(made, extension, -1);
    X509_EXTENSION_free(extension);
}

static void make_certificate(void)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *made = X509_new();

    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -60);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, pair);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1,
                               -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(made));
    add_extension(made, NID_subject_alt_name, "DNS:localhost");
    add_extension(made, NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(made, pair, EVP_sha256());
    FILE *file = fopen(certificate, "we");

    assert_non_null(file);
    PEM_write_X509(file, made);
    fclose(file);
    file = fopen(key, "we");
    assert_non_null(file);
    PEM_write_PrivateKey(file, pair, NULL, NULL, 0, NULL, NULL);
    fclose(file);
    X509_free(made);
    EVP_PKEY_free(pair);
}

static void handle(struct peer *peer)
{
    if (strcmp(peer->target, "/down") == 0) {
        peer_answer(peer, 302, "Location: http://127.0.0.1:9/\r\n", "");
    } else {
        peer_answer(peer, 200, "", "safe");
    }
}

static int open_all(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/sandlot-tls-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(certificate, sizeof(certificate), "%s/certificate.pem", folder);
    snprintf(key, sizeof(key), "%s/key.pem", folder);
    make_certificate();
    tls = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_file(tls, certificate, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
        return -1;
    server_open(&server, handle, tls);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    server_close(&server);
    SSL_CTX_free(tls);
    unlink(certificate);
    unlink(key);
    return rmdir(folder);
}

static int set_up(void **state)
{
    (void)state;
    test_call_open(&call, 120000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_call_close(&call);
    return 0;
}

static struct http_client *open_client(const char *url, const char *ca_file)
{
    const struct http_options options = {.base_url = url, .ca_file = ca_file, .attempts = 2, .pause_ms = 5};
    struct http_client *client;

    assert_int_equal(http_client_open(&call.call, &options, &client), SANDLOT_OK);
    return client;
}

static enum sandlot_status get(struct http_client *client, const char *target, struct http_response *response)
{
    const struct http_request request = {.method = "GET", .target = target};

    return http_send(&call.call, client, &request, response);
}

static void test_trusted(void **state)
{
    struct http_client *client = open_client(server.url, certificate);
    int before = server.connections;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct http_response response;

        assert_int_equal(get(client, "/", &response), SANDLOT_OK);
        assert_string_equal(response.body, "safe");
        http_response_clear(&response);
    }
    assert_int_equal(server.connections - before, 1);
    assert_int_equal(get(client, "/down", NULL), SANDLOT_UNAVAILABLE);
    assert_non_null(strstr(call.message, "redirected from https to another scheme"));
    http_client_close(client);
}

static void test_untrusted(void **state)
{
    struct http_client *client = open_client(server.url, NULL);
    struct http_response response;
    char by_address[64];

    (void)state;
    assert_int_equal(get(client, "/", &response), SANDLOT_UNAVAILABLE);
    assert_int_equal(response.attempts, 1); /* another attempt would not change a certificate */
    assert_non_null(strstr(call.message, "certificate"));
    http_response_clear(&response);
    http_client_close(client);
    call.status = SANDLOT_OK;
    snprintf(by_address, sizeof(by_address), "https://127.0.0.1:%d", server.port);
    client = open_client(by_address, certificate);
    assert_int_equal(get(client, "/", NULL), SANDLOT_UNAVAILABLE); /* the certificate is for localhost */
    http_client_close(client);
}

static void test_certificates_from_environment(void **state)
{
    const struct variable variables[] = {{"SSL_CERT_FILE", certificate}, {NULL, NULL}};

    (void)state;
    call.variables = variables;
    struct http_client *client = open_client(server.url, NULL);

    assert_int_equal(get(client, "/", NULL), SANDLOT_OK);
    http_client_close(client);
}

static void test_websocket(void **state)
{
    struct http_client *client = open_client(server.url, certificate);
    const struct websocket_request request = {.target = "/socket"};
    struct websocket *socket;

    (void)state;
    assert_int_equal(websocket_open(&call.call, client, &request, &socket), SANDLOT_INTERNAL);
    assert_non_null(strstr(call.message, "status 200")); /* the handshake came through TLS and was understood */
    http_client_close(client);
}

/* ---- certificates from memory --------------------------------------------------------------------------------- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = calloc(1, 8192);

    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, 8191, file) > 0);
    fclose(file);
    return text;
}

static enum sandlot_status get_with(const char *url, const struct http_tls *with, const char *connect_to)
{
    const struct http_options options = {
        .base_url = url, .tls = with, .connect_to = connect_to, .attempts = 1, .proxy = ""};
    struct http_client *client;

    call.status = SANDLOT_OK;
    assert_int_equal(http_client_open(&call.call, &options, &client), SANDLOT_OK);
    enum sandlot_status status = get(client, "/", NULL);

    http_client_close(client);
    return status;
}

/* The server wants a certificate of its client's, too. */
static void test_from_memory(void **state)
{
    char *own_certificate = read_text(certificate);
    char *own_key = read_text(key);
    char address[32];
    char by_address[64];
    const struct http_tls full = {.authorities = own_certificate, .certificate = own_certificate, .key = own_key};
    const struct http_tls nobody = {.authorities = own_certificate};
    const struct http_tls careless = {.certificate = own_certificate, .key = own_key, .unverified = true};

    (void)state;
    snprintf(address, sizeof(address), "127.0.0.1:%d", server.port);
    snprintf(by_address, sizeof(by_address), "https://%s", address);
    assert_int_equal(SSL_CTX_load_verify_locations(tls, certificate, NULL), 1);
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    assert_int_equal(get_with(server.url, &full, NULL), SANDLOT_OK);
    assert_int_equal(get_with(server.url, &nobody, NULL), SANDLOT_UNAVAILABLE);
    assert_int_equal(get_with(by_address, &full, NULL), SANDLOT_UNAVAILABLE); /* it is for localhost */
    assert_int_equal(get_with(by_address, &careless, NULL), SANDLOT_OK);
    assert_int_equal(get_with("https://localhost:1", &full, address), SANDLOT_OK); /* nobody is asked at port 1 */
    SSL_CTX_set_verify(tls, SSL_VERIFY_NONE, NULL);
    free(own_certificate);
    free(own_key);
}

/* ---- HTTP/2 ------------------------------------------------------------------------------------------------------ */

static void test_http2(void **state)
{
    char port[16];
    char url[64];
    char *const arguments[] = {(char *)"nghttpd", (char *)"-d", folder, (char *)"--echo-upload", port, key,
                               certificate,       NULL};
    struct server finder;
    posix_spawn_file_actions_t quiet;
    pid_t process;

    (void)state;
    server_open(&finder, handle, NULL); /* finds a port that is free */
    snprintf(port, sizeof(port), "%d", finder.port);
    snprintf(url, sizeof(url), "https://localhost:%d", finder.port);
    server_close(&finder);
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&process, arguments[0], &quiet, NULL, arguments, environ);

    posix_spawn_file_actions_destroy(&quiet);
    if (failed)
        skip(); /* nghttp2-server is not installed */
    const struct http_options options = {.base_url = url, .ca_file = certificate, .attempts = 8, .pause_ms = 100};
    struct http_client *client;
    struct http_response response;
    struct test_source source;
    const struct http_request request = {
        .method = "POST", .target = "/echo", .body = {.source = &source.source, .length = HTTP_LENGTH_UNKNOWN}};

    assert_int_equal(http_client_open(&call.call, &options, &client), SANDLOT_OK);
    assert_int_equal(get(client, "/certificate.pem", &response), SANDLOT_OK);
    assert_non_null(strstr(response.headers, "HTTP/2 200"));
    assert_non_null(strstr(response.body, "BEGIN CERTIFICATE"));
    http_response_clear(&response);
    test_source_open(&source, 300000);
    assert_int_equal(http_send(&call.call, client, &request, &response), SANDLOT_OK);
    assert_int_equal(response.length, 300000);
    assert_non_null(strstr(call.log, "kept connection"));
    http_response_clear(&response);
    assert_int_equal(get(client, "/none", NULL), SANDLOT_NOT_FOUND);
    http_client_close(client);
    kill(process, SIGTERM);
    waitpid(process, NULL, 0);
}

/* Calls of gRPC that follow each other share a connection. */
static void calls_of_grpc(void **state)
{
#define OK .code = "0", .body = "\0\0\0\0\2ok", .length = 7
    static const struct grpc_reply replies[] = {{OK}, {OK}, {OK, .goodbye = true}, {OK}};
    const struct variable variables[] = {{"SSL_CERT_FILE", certificate}, {NULL, NULL}};
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    struct grpc_server grpc;
    struct grpc_client *client;
    char url[64];

    (void)state;
    assert_int_equal(SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM), 1);
    grpc_server_open(&grpc, context);
    grpc_server_script(&grpc, replies, sizeof(replies) / sizeof(*replies));
    snprintf(url, sizeof(url), "https://localhost%s", strrchr(grpc.url, ':'));
    const struct grpc_options options = {.base_url = url, .attempts = 2, .pause_ms = 1};

    call.variables = variables;
    assert_int_equal(grpc_client_open(&call.call, &options, &client), SANDLOT_OK);
    for (int i = 0; i < 5; i++) {
        const struct grpc_request request = {.method = "/acme.Boxes/Make", .message = "ask", .length = 3};
        struct grpc_answer answer;

        assert_int_equal(grpc_send(&call.call, client, &request, &answer), SANDLOT_OK);
        assert_string_equal(answer.message, "ok");
        grpc_answer_clear(&answer);
        assert_in_range(grpc.connections, i > 2 ? 2 : 1, i < 2 ? 1 : 2);
    }
    assert_in_range(grpc.requests, 5, 6); /* libcurl 7 loses trailers behind a goodbye, and the third is sent again */
    grpc_client_close(client);
    grpc_server_close(&grpc);
    SSL_CTX_free(context);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(calls_of_grpc),  EACH(test_trusted),     EACH(test_untrusted), EACH(test_certificates_from_environment),
        EACH(test_websocket), EACH(test_from_memory), EACH(test_http2),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
