/* What a box's proxy does with credentials: reading them, changing requests, masking answers, and TLS with both sides.
 */
#include "intercept/authority.h"
#include "intercept/credentials.h"
#include "intercept/intercept.h"
#include "intercept/mask.h"
#include "intercept/tls.h"
#include "intercept/trust.h"
#include "intercept/truststore.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- OpenSSL's memory, which can run out ---- */

static long countdown = -1; /* allocations until the one that fails, and all after it; negative: none */

static bool fails(void)
{
    if (countdown < 0)
        return false;
    if (countdown > 0)
        countdown--;
    return countdown == 0;
}

static void *take(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return fails() ? NULL : malloc(size);
}

static void *take_again(void *pointer, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    if (fails())
        return NULL;
    if (size)
        return realloc(pointer, size);
    free(pointer);
    return NULL;
}

static void give_back(void *pointer, const char *file, int line)
{
    (void)file, (void)line;
    free(pointer);
}

/* ---- masks ---- */

/* TEXT sent in pieces of SIZE bytes, each behind a frame of two; without the frames, as it may be sent on. */
static char *sent_in_pieces(struct mask *mask, const char *text, size_t size)
{
    const size_t length = strlen(text);
    char *buffer = calloc(1, length * 3 + 3);
    char *result = calloc(1, length + 1);
    size_t used = 0;

    for (size_t at = 0; at < length; at += size) {
        const size_t part = length - at < size ? length - at : size;

        memcpy(buffer + used, "\r\n", 2);
        memcpy(buffer + used + 2, text + at, part);
        mask_feed(mask, buffer, used + 2, part);
        used += 2 + part;
        assert_true(mask_held(mask, used) <= used);
    }
    mask_release(mask, buffer, false);
    assert_int_equal(mask_held(mask, used), used);
    for (size_t at = 0, out = 0; at < used; out += size, at += 2 + size)
        memcpy(result + out, buffer + at + 2, used - at - 2 < size ? used - at - 2 : size);
    free(buffer);
    return result;
}

static void secrets_are_masked_however_they_are_split(void **state)
{
    static const struct {
        const char *text;
        const char *masked;
    } rows[] = {
        {"", ""},
        {"secret-on", "secret-on"},
        {"secret-one", "**********"},
        {"a secret-one and secret-one.", "a ********** and **********."},
        {"secret-osecret-one", "secret-o**********"},
        {"secret-onesecret-one", "********************"},
        {"secret-one-and-more", "*******************"},
        {"aaaaaaaaaab", "aa*********"},
        {"aaaaaaaaaaaaaaaaaab!", "aaaaaaaaaa*********!"},
        {"aaaaaaaaaaaa", "aaaaaaaaaaaa"},
        {"abababababac", "ab**********"},
    };
    (void)state;
    struct mask mask = {0};

    assert_true(mask_add(&mask, "secret-one-and-more", 19));
    assert_true(mask_add(&mask, "secret-one", 10));
    assert_true(mask_add(&mask, "secret-one", 10));
    assert_true(mask_add(&mask, "aaaaaaaab", 9));
    assert_true(mask_add(&mask, "ababababac", 10));
    assert_true(mask_add(&mask, "short", 5));
    assert_int_equal(mask.count, 4);
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t size = 1; size < 24; size++) {
            char *found = sent_in_pieces(&mask, rows[i].text, size);

            assert_string_equal(found, rows[i].masked);
            free(found);
        }
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = strdup(rows[i].text);

        mask_text(&mask, text, strlen(text));
        assert_string_equal(text, rows[i].masked);
        free(text);
    }
    mask_clear(&mask);
}

static void what_is_held_is_bounded(void **state)
{
    (void)state;
    struct mask mask = {0};
    char secret[2 * MASK_SEGMENTS];
    char buffer[8 * MASK_SEGMENTS];

    memset(secret, 's', sizeof(secret));
    secret[sizeof(secret) - 1] = 'e';
    assert_true(mask_add(&mask, secret, sizeof(secret)));
    memset(buffer, '.', sizeof(buffer));
    for (size_t i = 0; i < sizeof(secret); i++) {
        buffer[2 * i] = secret[i];
        mask_feed(&mask, buffer, 2 * i, 1);
        assert_true(mask.segment_count <= MASK_SEGMENTS);
    }
    /* The first pieces were let go, but masked. */
    assert_int_equal(buffer[0], '*');
    assert_int_equal(buffer[1], '.');
    mask_release(&mask, buffer, true);
    assert_int_equal(mask.segment_count, 0);
    mask_feed(&mask, buffer, 100, 0);
    memcpy(buffer + 40, "ssss", 4);
    mask_feed(&mask, buffer, 40, 4);
    assert_int_equal(mask_held(&mask, 44), 40);
    mask_moved(&mask, 40);
    assert_int_equal(mask_held(&mask, 4), 0);
    mask_clear(&mask);
}

/* ---- credentials ---- */

#define ONE(host, header, plain, placeholder, value) \
    "credential\0" host "\0" header "\0" plain "\0" placeholder "\0" value "\0"
#define END "authorities\0\0"

static void credentials_are_read_strictly(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        bool fine;
    } rows[] = {
#define ROW(text, fine) {text, sizeof(text) - 1, fine}
        ROW(ONE("a.example", "X", "", "", "v") END, true),
        ROW(ONE("a.example", "X", "plain", "0123456789abcdef", "v") ONE("b.example", "X", "", "", "v") END, true),
        ROW("", false),
        ROW(END, false),
        ROW(ONE("a.example", "X", "", "", "v"), false),
        ROW(ONE("a.example", "X", "", "", "v") "authorities\0", false),
        ROW(ONE("a.example", "X", "", "", "v") END "more\0", false),
        ROW(ONE("a.example", "X", "", "", "") END, false),
        ROW(ONE("a.example", "", "", "", "v") END, false),
        ROW(ONE("", "X", "", "", "v") END, false),
        ROW(ONE("192.0.2.1", "X", "", "", "v") END, false),
        ROW(ONE("a.example", "X", "", "", "v\r\nY: z") END, false),
        ROW(ONE("a.example", "X", "", "", "v\n") END, false),
        ROW(ONE("a.example", "X\r\nY", "", "", "v") END, false),
        ROW(ONE("a.example", "X", "", "", "a\tb") END, true),
        ROW(ONE("a.example", "X", "", "", "a\x7f") END, false),
        ROW("other\0a.example\0X\0\0\0v\0" END, false),
        ROW("credential", false),
        ROW("credential\0a.example\0X", false),
#undef ROW
    };
    (void)state;
    struct credentials credentials;

    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(credentials_read(rows[i].bytes, rows[i].length, &credentials), rows[i].fine);
    static const char one[] = ONE("a.example", "X", "", "", "v");
    const size_t size = sizeof(one) - 1;
    char *many = malloc((CREDENTIALS_MOST + 1) * size + sizeof(END));

    assert_non_null(many);
    for (size_t i = 0; i <= CREDENTIALS_MOST; i++)
        memcpy(many + i * size, one, size);
    memcpy(many + (CREDENTIALS_MOST + 1) * size, END, sizeof(END) - 1);
    assert_true(credentials_read(many + size, CREDENTIALS_MOST * size + sizeof(END) - 1, &credentials));
    assert_false(credentials_read(many, (CREDENTIALS_MOST + 1) * size + sizeof(END) - 1, &credentials));
    free(many);
}

static const char some[] = ONE("a.example", "Authorization", "", "", "Bearer secret-a")
    ONE("b.example", "Authorization", "plain", "placeholder-of-16", "secret-b") ONE("b.example", "X-Key", "", "", "k")
        END;

/* The request with TEXT as its fields, changed for HOST and PORT; to be freed. NULL: it cannot be. */
static char *changed(const char *host_name, uint16_t port, const char *fields)
{
    static char text[HEAD_MOST];
    static char result[2 * HEAD_MOST + CREDENTIALS_WRITTEN];
    struct credentials credentials;
    struct target target = {.port = port, .path = {"/", 1}};
    struct written written;
    struct head head;
    size_t seen = 0;

    assert_true(credentials_read(some, sizeof(some) - 1, &credentials));
    assert_true(host_parse(host_name, strlen(host_name), &target.host));
    snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n", fields);
    const long end = head_find_end(text, strlen(text), &seen);

    assert_true(end > 0 && head_parse(text, (size_t)end, HEAD_REQUEST, &head));
    if (!credentials_cover(&credentials, &target.host, port))
        return strdup("not covered");
    if (!credentials_apply(&credentials, &target.host, port, &head, &written)) {
        written_clear(&written);
        return NULL;
    }
    assert_true(head_size(&head) <= sizeof(result));
    const size_t used = head_write_request(&head, &target, false, result, head_size(&head));

    assert_true(used > 0);
    written_clear(&written);
    return strndup(result, used);
}

static void requests_are_changed(void **state)
{
    static const struct {
        const char *host;
        uint16_t port;
        const char *fields;
        const char *want;
    } rows[] = {
        {"a.example", 443, "", "Authorization: Bearer secret-a\r\n"},
        {"a.example", 443, "authorization: x\r\nAuthorization: y\r\nX: z\r\n",
         "X: z\r\nAuthorization: Bearer secret-a\r\n"},
        {"a.example", 443, "Connection: Authorization\r\n", "Authorization: Bearer secret-a\r\n"},
        {"a.example", 80, "", NULL},
        {"a.example", 8443, "", NULL},
        {"x.a.example", 443, "", NULL},
        {"b.example", 80, "", ""},
        {"b.example", 80, "Authorization: placeholder-of-16\r\n", "Authorization: secret-b\r\n"},
        {"b.example", 80, "X: placeholder-of-16\r\n", "X: placeholder-of-16\r\n"},
        {"b.example", 80, "Authorization: Basic dTpwbGFjZWhvbGRlci1vZi0xNg==\r\n",
         "Authorization: Basic dTpzZWNyZXQtYg==\r\n"},
        {"b.example", 80, "Authorization: Basic dTpwbGFjZWhvbGRlci1vZi0xNg=\r\n",
         "Authorization: Basic dTpwbGFjZWhvbGRlci1vZi0xNg=\r\n"},
        {"b.example", 80, "Authorization: Basic ====\r\n", "Authorization: Basic ====\r\n"},
        {"b.example", 80, "Authorization: Basic \r\n", "Authorization: Basic\r\n"},
        {"b.example", 443, "", "X-Key: k\r\n"},
        {"b.example", 8080, "", NULL}, /* `plain` is port 80, not every other one */
        {"b.example", 80, "Authorization: Bearer dTpwbGFjZWhvbGRlci1vZi0xNg==\r\n",
         "Authorization: Bearer dTpwbGFjZWhvbGRlci1vZi0xNg==\r\n"},
        {"b.example", 80, "Authorization: Basic dQBwbGFjZWhvbGRlci1vZi0xNg==\r\n",
         "Authorization: Basic dQBwbGFjZWhvbGRlci1vZi0xNg==\r\n"}, /* with a NUL before the placeholder */
    };
    (void)state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        char *found = changed(rows[i].host, rows[i].port, rows[i].fields);
        char want[512] = "not covered";

        if (rows[i].want)
            snprintf(want, sizeof(want), "GET / HTTP/1.1\r\nHost: %s\r\n%sAccept-Encoding: identity\r\n\r\n",
                     rows[i].host, rows[i].want);
        assert_string_equal(found, want);
        free(found);
    }
}

static void a_request_does_not_grow_without_bound(void **state)
{
    (void)state;
    char fields[HEAD_MOST] = "";
    size_t used = 0;

    for (size_t i = 0; i < HEAD_FIELDS; i++)
        used += (size_t)snprintf(fields + used, sizeof(fields) - used, "X: y\r\n");
    assert_null(changed("a.example", 443, fields));
    used = 0;
    for (size_t i = 0; i < 40; i++) /* each takes its own length in texts, twice */
        used += (size_t)snprintf(fields + used, sizeof(fields) - used, "Authorization: Basic %0700d\r\n", 0);
    char *found = changed("b.example", 80, fields);

    assert_non_null(found);
    free(found);
}

/* How many fields a request to a.example has, to which something is added if it may be. */
static size_t fields_of_request(uint16_t port, bool secured)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    struct intercept intercept = {.authorities_fd = -1};
    struct egress egress = {.secrets = &intercept};
    struct connection connection = {.egress = &egress, .secured = secured};
    struct target target = {.port = port};
    struct written *written = NULL;
    struct head head;

    assert_true(credentials_read(some, sizeof(some) - 1, &intercept.credentials));
    assert_true(host_parse("a.example", 9, &target.host));
    assert_true(head_parse(text, sizeof(text) - 1, HEAD_REQUEST, &head));
    assert_true(interceptor.request(&connection, &target, &head, &written));
    if (written)
        interceptor.request_written(written);
    if (connection.interception)
        interceptor.clear(&connection);
    return head.count;
}

/* In an open network a program may speak HTTP without TLS to port 443: then a secret would be there for all to read. */
static void nothing_is_added_in_the_clear(void **state)
{
    (void)state;
    assert_int_equal(fields_of_request(443, true), 3);
    assert_int_equal(fields_of_request(443, false), 1);
    assert_int_equal(fields_of_request(80, false), 1);
}

/* COUNT placeholders in one field, each for a value of 2,000 bytes. */
static bool takes_placeholders(size_t count)
{
    static const char placeholder[] = "placeholder-of-16";
    char value[2001] = "";
    char text[2048] = "GET / HTTP/1.1\r\nX: ";
    struct credentials credentials = {.count = 1};
    struct written written;
    struct head head;

    memset(value, 'v', sizeof(value) - 1);
    credentials.list[0] = (struct credential){.header = "X", .placeholder = placeholder, .value = value};
    assert_true(host_parse("a.example", 9, &credentials.list[0].host));
    for (size_t i = 0; i < count; i++)
        strcat(text, placeholder);
    strcat(text, "\r\n\r\n");
    assert_true(head_parse(text, strlen(text), HEAD_REQUEST, &head));
    const bool taken = credentials_apply(&credentials, &credentials.list[0].host, 443, &head, &written);

    written_clear(&written);
    return taken;
}

static void values_do_not_grow_without_bound(void **state)
{
    (void)state;
    assert_true(takes_placeholders(CREDENTIALS_WRITTEN / 2000));
    assert_false(takes_placeholders(CREDENTIALS_WRITTEN / 2000 + 1));
}

static void what_a_server_may_send_back_is_known(void **state)
{
    static const char basic[] = ONE("a.example", "Authorization", "", "", "Basic dTpzZWNyZXQtb2YtYQ==") END;
    struct credentials credentials;
    struct written written = {.count = 0};
    struct mask mask = {0};
    struct host host;
    char text[] = "Basic dTpzZWNyZXQtb2YtYQ== dTpzZWNyZXQtb2YtYQ== u:secret-of-a secret-of-a";
    (void)state;

    assert_true(credentials_read(basic, sizeof(basic) - 1, &credentials) && host_parse("a.example", 9, &host));
    assert_true(intercept_mask(&credentials, &host, &written, &mask));
    mask_text(&mask, text, strlen(text));
    assert_int_equal(strspn(text, "* "), strlen(text));
    mask_clear(&mask);
}

/* Such as those of clouds, which are tokens. */
static void a_long_password_is_known_too(void **state)
{
    char pair[2001];
    char value[sizeof(pair) * 4 / 3 + 16] = "Basic ";
    struct credentials credentials = {.count = 1};
    struct written written = {.count = 0};
    struct mask mask = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(pair) - 1; i++)
        pair[i] = (char)(i == 1 ? ':' : 'a' + i % 23);
    pair[sizeof(pair) - 1] = '\0';
    EVP_EncodeBlock((unsigned char *)value + 6, (const unsigned char *)pair, sizeof(pair) - 1);
    credentials.list[0] = (struct credential){.header = "A", .placeholder = "", .value = value};
    assert_true(host_parse("a.example", 9, &credentials.list[0].host));
    assert_true(intercept_mask(&credentials, &credentials.list[0].host, &written, &mask));
    mask_text(&mask, pair + 2, sizeof(pair) - 3);
    assert_int_equal(strspn(pair + 2, "*"), sizeof(pair) - 3);
    mask_clear(&mask);
}

/* ---- TLS ---- */

/* A file that holds TEXT and has no place. */
static int file_of(const char *text)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static const char *const hosts[] = {"a.example", "b.example"};

/* Python 3.13 and later take no certificate in which a key's use or the issuer's key is left out. */
static void certificates_are_complete(void **state)
{
    struct authority authority;
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *check = X509_STORE_CTX_new();

    (void)state;
    assert_int_equal(authority_make(&authority, hosts, COUNT(hosts)), 0);
    assert_true(store && check && X509_STORE_add_cert(store, authority.certificate));
    assert_true(X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT));
    for (size_t i = 0; i < COUNT(hosts); i++) {
        assert_true(X509_STORE_CTX_init(check, store, authority_leaf(&authority, hosts[i]), NULL));
        assert_true(X509_STORE_CTX_set_purpose(check, X509_PURPOSE_SSL_SERVER));
        if (X509_verify_cert(check) != 1)
            fail_msg("%s", X509_verify_cert_error_string(X509_STORE_CTX_get_error(check)));
        X509_STORE_CTX_cleanup(check);
    }
    X509_STORE_CTX_free(check);
    X509_STORE_free(store);
    authority_clear(&authority);
}

struct sides {
    struct authority authority;
    struct tls tls;
    SSL *server;
    SSL *client;
    int sockets[2];
};

/* Two sides that trust the same authority, the client for WANTED. False: something could not be made. */
static bool make_sides(struct sides *sides, const char *wanted)
{
    const char *problem;

    *sides = (struct sides){.sockets = {-1, -1}};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sides->sockets), 0);
    if (authority_make(&sides->authority, hosts, COUNT(hosts)) < 0)
        return false;
    char *text = authority_text(&sides->authority);

    if (!text)
        return false;
    const int fd = file_of(text);
    const int opened = tls_open(&sides->tls, "", &problem) < 0 ? -1 : tls_trust(&sides->tls, fd, &problem);

    close(fd);
    free(text);
    if (opened < 0)
        return false;
    sides->server = tls_accept(&sides->tls, sides->sockets[0], authority_leaf(&sides->authority, "a.example"),
                               sides->authority.leaf_key, "", 0);
    sides->client = tls_connect(&sides->tls, sides->sockets[1], wanted);
    return sides->server && sides->client;
}

static void clear_sides(struct sides *sides)
{
    SSL_free(sides->server);
    SSL_free(sides->client);
    tls_clear(&sides->tls);
    authority_clear(&sides->authority);
    close(sides->sockets[0]);
    close(sides->sockets[1]);
}

/* Both agree, or one has failed for REASON. */
static bool agree(const struct sides *sides, char reason[TLS_REASON_SIZE])
{
    for (int round = 0; round < 20; round++) {
        const enum tls_step client = tls_agree(sides->client, reason);
        const enum tls_step server = client == TLS_FAILED ? TLS_FAILED : tls_agree(sides->server, reason);

        if (client == TLS_FAILED || server == TLS_FAILED)
            return false;
        if (client == TLS_AGREED && server == TLS_AGREED)
            return true;
    }
    return false;
}

static void both_sides_agree(void **state)
{
    char reason[TLS_REASON_SIZE] = "";
    char bytes[64];
    struct sides sides;
    (void)state;

    assert_true(make_sides(&sides, "a.example"));
    assert_null(authority_leaf(&sides.authority, "c.example"));
    assert_true(agree(&sides, reason));
    assert_int_equal(tls_receive(sides.server, bytes, sizeof(bytes)), -1);
    assert_int_equal(tls_send(sides.client, "hello", 5), 5);
    assert_int_equal(tls_receive(sides.server, bytes, sizeof(bytes)), 5);
    tls_finish(sides.client);
    assert_int_equal(tls_receive(sides.server, bytes, sizeof(bytes)), 0);
    clear_sides(&sides);
}

/* Of the machine's authorities some have had several keys under one name. */
static void authorities_of_one_name_are_all_found(void **state)
{
    struct authority authority;
    BIO *text = BIO_new(BIO_s_mem());
    X509_LOOKUP_METHOD *method = trust_method();
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *question = X509_STORE_CTX_new();
    (void)state;

    assert_int_equal(authority_make(&authority, hosts, COUNT(hosts)), 0);
    const X509_NAME *name = X509_get_subject_name(authority.certificate);
    X509 *twin = X509_dup(authority.certificate);

    assert_true(X509_set_pubkey(twin, authority.leaf_key) && X509_sign(twin, authority.leaf_key, EVP_sha256()) &&
                PEM_write_bio_X509(text, twin) && PEM_write_bio_X509(text, authority.certificate) &&
                PEM_write_bio_X509(text, authority.leaves[0].certificate));
    assert_int_equal(trust_add(store, method, text), 0);
    assert_true(X509_STORE_CTX_init(question, store, NULL, NULL));
    STACK_OF(X509) *found = X509_STORE_CTX_get1_certs(question, name);

    assert_int_equal(sk_X509_num(found), 2);
    sk_X509_pop_free(found, X509_free);
    X509_STORE_CTX_free(question);
    X509_STORE_free(store);
    X509_LOOKUP_meth_free(method);
    X509_free(twin);
    BIO_free(text);
    authority_clear(&authority);
}

static void a_server_without_an_authority_is_not_trusted(void **state)
{
    char reason[TLS_REASON_SIZE] = "";
    struct authority other;
    struct sides sides;
    (void)state;

    assert_int_equal(authority_make(&other, hosts, COUNT(hosts)), 0);
    assert_true(make_sides(&sides, "a.example"));
    SSL_free(sides.server);
    sides.server = tls_accept(&sides.tls, sides.sockets[0], authority_leaf(&other, "a.example"), other.leaf_key, "", 0);
    assert_true(sides.server && !agree(&sides, reason));
    assert_non_null(strstr(reason, "its certificate cannot be trusted"));
    clear_sides(&sides);
    authority_clear(&other);
}

static void a_cut_is_no_end(void **state)
{
    char reason[TLS_REASON_SIZE] = "";
    char bytes[64];
    struct sides sides;
    (void)state;

    assert_true(make_sides(&sides, "a.example") && agree(&sides, reason));
    shutdown(sides.sockets[1], SHUT_RDWR);
    assert_int_equal(tls_receive(sides.server, bytes, sizeof(bytes)), -1);
    clear_sides(&sides);
}

static void a_server_must_prove_its_name(void **state)
{
    char reason[TLS_REASON_SIZE] = "";
    struct sides sides;
    (void)state;

    assert_true(make_sides(&sides, "c.example"));
    assert_false(agree(&sides, reason));
    assert_string_equal(reason, "its certificate cannot be trusted: hostname mismatch");
    clear_sides(&sides);
}

/* A certificate with KEY that vouches for itself, with SUBJECT for its name and ALTERNATIVE, if any, beside it. */
static X509 *make_certificate(EVP_PKEY *key, const char *subject, const char *alternative)
{
    X509 *made = X509_new();
    X509_NAME *name = X509_NAME_new();

    assert_true(made && name && X509_set_version(made, X509_VERSION_3) &&
                X509_gmtime_adj(X509_getm_notBefore(made), -60) && X509_gmtime_adj(X509_getm_notAfter(made), 3600) &&
                X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)subject, -1, -1, 0) &&
                X509_set_subject_name(made, name) && X509_set_issuer_name(made, name) && X509_set_pubkey(made, key));
    if (alternative) {
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alternative);

        assert_true(extension && X509_add_ext(made, extension, -1));
        X509_EXTENSION_free(extension);
    }
    assert_true(X509_sign(made, key, EVP_sha256()));
    X509_NAME_free(name);
    return made;
}

/* Two sides of which the client trusts the server's certificate, but wants it to be one for WANTED. */
static void make_named_sides(struct sides *sides, const char *wanted, const char *alternative)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = make_certificate(key, wanted, alternative);
    BIO *file = BIO_new(BIO_s_mem());
    const char *problem;
    char *text;

    *sides = (struct sides){.sockets = {-1, -1}};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sides->sockets), 0);
    assert_true(file && PEM_write_bio_X509(file, certificate) && BIO_write(file, "", 1) == 1);
    BIO_get_mem_data(file, &text);
    assert_int_equal(tls_open(&sides->tls, text, &problem), 0);
    sides->server = tls_accept(&sides->tls, sides->sockets[0], certificate, key, "", 0);
    sides->client = tls_connect(&sides->tls, sides->sockets[1], wanted);
    assert_true(sides->server && sides->client);
    BIO_free(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void a_name_is_proven_as_a_whole(void **state)
{
    static const struct {
        const char *wanted;
        const char *alternative;
        bool proven;
    } rows[] = {{"abc.b.example", "DNS:abc.b.example", true},
                {"abc.b.example", "DNS:*.b.example", true},
                {"abc.b.example", "DNS:a*.b.example", false},
                {"abc.b.example", "DNS:*.example", false},
                {"b.example", "DNS:*.b.example", false},
                {"abc.b.example", "DNS:other.example", false},
                {"abc.b.example", NULL, false}}; /* its subject alone */
    (void)state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        char reason[TLS_REASON_SIZE] = "";
        struct sides sides;

        make_named_sides(&sides, rows[i].wanted, rows[i].alternative);
        if (agree(&sides, reason) != rows[i].proven)
            fail_msg("%s by %s: %s", rows[i].wanted, rows[i].alternative ? rows[i].alternative : "-", reason);
        clear_sides(&sides);
    }
}

static void authorities_must_be_some(void **state)
{
    const char *problem = NULL;
    struct tls tls;
    (void)state;

    static const char none[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    assert_int_equal(tls_open(&tls, "", &problem), 0);
    assert_int_equal(tls_trust(&tls, -1, &problem), -1);
    assert_non_null(strstr(problem, "ca-certificates"));
    const int fd = file_of(none);

    assert_int_equal(tls_trust(&tls, fd, &problem), -1);
    tls_clear(&tls);
    close(fd);
    assert_int_equal(tls_open(&tls, none, &problem), -1);
    assert_non_null(strstr(problem, "upstream_ca"));
    tls_clear(&tls);
}

/* As Java reads it: numbers with the highest byte first, what each is, and 20 bytes of a seal. */
static void java_has_a_file_of_its_own_form(void **state)
{
    static const unsigned char head[] = "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\2"
                                        "\0\0\0\2\0\13authority-0\0\0\0\0\0\0\0\0\0\5X.509";
    unsigned char bytes[8192];
    struct authority authority;
    (void)state;

    assert_int_equal(authority_make(&authority, hosts, COUNT(hosts)), 0);
    char *text = authority_text(&authority);

    assert_non_null(text);
    const int machine = file_of(text);
    const int nothing = file_of("");
    const int store = truststore_make(text, machine);
    const long der = i2d_X509(authority.certificate, NULL);

    assert_true(store >= 0);
    assert_int_equal(lseek(machine, 0, SEEK_CUR), 0);
    assert_int_equal(read(store, bytes, sizeof(bytes)), 12 + 2 * (sizeof(head) - 1 - 12 + 4 + (size_t)der) + 20);
    assert_memory_equal(bytes, head, sizeof(head) - 1);
    assert_int_equal(truststore_make(text, nothing), -1);
    close(store);
    close(nothing);
    close(machine);
    free(text);
    authority_clear(&authority);
}

/* Records that are none, or hold what no client says: an end, and nothing worse. */
static void hostile_records_fail(void **state)
{
    unsigned seed = 20261123;
    (void)state;

    struct sides sides;

    assert_true(make_sides(&sides, "a.example"));
    for (size_t round = 0; round < 1000; round++) {
        char reason[TLS_REASON_SIZE];
        char bytes[600];
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
        for (size_t at = 0; at < sizeof(bytes); at++)
            bytes[at] = (char)(rand_r(&seed) >> 7);
        memcpy(bytes, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", round % 12);
        SSL *server = tls_accept(&sides.tls, pair[0], authority_leaf(&sides.authority, "a.example"),
                                 sides.authority.leaf_key, bytes, sizeof(bytes));

        assert_non_null(server);
        close(pair[1]);
        assert_int_equal(tls_agree(server, reason), TLS_FAILED);
        SSL_free(server);
        close(pair[0]);
    }
    clear_sides(&sides);
}

static void memory_may_run_out(void **state)
{
    bool done = false;
    (void)state;

    /* Steps that grow: OpenSSL asks some thousand times. */
    for (long place = 1; !done; place += 1 + place / 12) {
        char reason[TLS_REASON_SIZE];
        struct sides sides;

        countdown = place;
        done = make_sides(&sides, "a.example") && agree(&sides, reason) && countdown > 0;
        countdown = -1;
        clear_sides(&sides);
        assert_true(place < 1000000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_masked_however_they_are_split),
        cmocka_unit_test(what_is_held_is_bounded),
        cmocka_unit_test(credentials_are_read_strictly),
        cmocka_unit_test(requests_are_changed),
        cmocka_unit_test(a_request_does_not_grow_without_bound),
        cmocka_unit_test(nothing_is_added_in_the_clear),
        cmocka_unit_test(values_do_not_grow_without_bound),
        cmocka_unit_test(what_a_server_may_send_back_is_known),
        cmocka_unit_test(a_long_password_is_known_too),
        cmocka_unit_test(certificates_are_complete),
        cmocka_unit_test(both_sides_agree),
        cmocka_unit_test(authorities_of_one_name_are_all_found),
        cmocka_unit_test(a_server_without_an_authority_is_not_trusted),
        cmocka_unit_test(a_cut_is_no_end),
        cmocka_unit_test(a_server_must_prove_its_name),
        cmocka_unit_test(a_name_is_proven_as_a_whole),
        cmocka_unit_test(authorities_must_be_some),
        cmocka_unit_test(java_has_a_file_of_its_own_form),
        cmocka_unit_test(hostile_records_fail),
        cmocka_unit_test(memory_may_run_out),
    };

    CRYPTO_set_mem_functions(take, take_again, give_back);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
