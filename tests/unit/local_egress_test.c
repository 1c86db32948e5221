/* What decides where a box may go: hosts, addresses, the list, and the readers of what a box sends. */
#include "egress/body.h"
#include "egress/head.h"
#include "egress/hello.h"
#include "egress/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- hosts ---- */

static void hosts_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        const char *name; /* NULL: refused */
    } rows[] = {
        {"example.com", "example.com"},
        {"EXAMPLE.Com.", "example.com"},
        {"xn--mnchen-3ya.example", "xn--mnchen-3ya.example"},
        {"_dmarc.example.com", "_dmarc.example.com"},
        {"localhost", "localhost"},
        {"192.0.2.1", "192.0.2.1"},
        {"[2001:DB8::1]", "2001:db8::1"},
        {"[::ffff:127.0.0.1]", "127.0.0.1"},
        {"", NULL},
        {".", NULL},
        {"example.com..", NULL},
        {"a..b", NULL},
        {".example.com", NULL},
        {"-a.example.com", NULL},
        {"a-.example.com", NULL},
        {"user@example.com", NULL},
        {"example.com/x", NULL},
        {"example.com%00.evil.com", NULL},
        {"example.com\\.evil.com", NULL},
        {"exa mple.com", NULL},
        {"m\xc3\xbcnchen.example", NULL},
        {"example.com\n", NULL},
        {"*.example.com", NULL},
        {"2130706433", NULL},
        {"0x7f.1", NULL},
        {"0x7f000001", NULL},
        {"127.1", NULL},
        {"0177.0.0.1", NULL},
        {"010.0.0.1", NULL},
        {"1.2.3.4.5", NULL},
        {"a.0x1", NULL},
        {"::1", NULL},
        {"[::1", NULL},
        {"[fe80::1%eth0]", NULL},
        {"[127.0.0.1]", NULL},
        {"[]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct host host;
        const bool read = host_parse(rows[i].text, strlen(rows[i].text), &host);

        if (read != (rows[i].name != NULL) || (read && strcmp(host.name, rows[i].name) != 0))
            fail_msg("%s: %s", rows[i].text, read ? host.name : "refused");
    }
    char label[80];
    struct host host;

    memset(label, 'a', 64);
    assert_false(host_parse(label, 64, &host));
    assert_true(host_parse(label, 63, &host));
    assert_false(host_parse("a\0b", 3, &host));
}

static void authorities_have_a_port(void **state)
{
    static const struct {
        const char *text;
        unsigned usual;
        unsigned port; /* 0: refused */
    } rows[] = {{"a.b:443", 0, 443},  {"a.b", 80, 80},         {"a.b", 0, 0},        {"a.b:0", 80, 0},
                {"a.b:65536", 80, 0}, {"a.b:", 80, 0},         {"a.b:+80", 80, 0},   {"a.b: 80", 80, 0},
                {"a.b:80:80", 80, 0}, {"[::1]:8080", 0, 8080}, {"[::1]", 80, 80},    {"::1:80", 80, 0},
                {"a.b:00080", 0, 80}, {"a.b:000080", 0, 0},    {"[::1]8080", 80, 0}, {":80", 80, 0}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct host host;
        uint16_t port = 0;
        const bool read =
            host_parse_authority(rows[i].text, strlen(rows[i].text), (uint16_t)rows[i].usual, &host, &port);

        if (read != (rows[i].port != 0) || (read && port != rows[i].port))
            fail_msg("%s: %d, port %u", rows[i].text, read, port);
    }
}

/* ---- addresses ---- */

static void addresses_have_classes(void **state)
{
    static const struct {
        const char *text;
        enum address_class class;
    } rows[] = {
        {"93.184.216.34", ADDRESS_PUBLIC},
        {"198.51.100.1", ADDRESS_PUBLIC},
        {"2606:4700::1", ADDRESS_PUBLIC},
        {"10.0.0.1", ADDRESS_PRIVATE},
        {"172.16.0.1", ADDRESS_PRIVATE},
        {"172.31.255.255", ADDRESS_PRIVATE},
        {"172.32.0.1", ADDRESS_PUBLIC},
        {"192.168.1.1", ADDRESS_PRIVATE},
        {"100.64.0.1", ADDRESS_PRIVATE},
        {"100.128.0.1", ADDRESS_PUBLIC},
        {"127.0.0.1", ADDRESS_LOOPBACK},
        {"127.255.255.254", ADDRESS_LOOPBACK},
        {"0.0.0.0", ADDRESS_UNSPECIFIED},
        {"0.1.2.3", ADDRESS_UNSPECIFIED},
        {"169.254.1.1", ADDRESS_LINK_LOCAL},
        {"169.254.169.254", ADDRESS_METADATA},
        {"100.100.100.200", ADDRESS_METADATA},
        {"168.63.129.16", ADDRESS_METADATA},
        {"192.0.0.192", ADDRESS_METADATA},
        {"192.0.0.8", ADDRESS_RESERVED},
        {"224.0.0.1", ADDRESS_MULTICAST},
        {"255.255.255.255", ADDRESS_RESERVED},
        {"::", ADDRESS_UNSPECIFIED},
        {"::1", ADDRESS_LOOPBACK},
        {"::ffff:127.0.0.1", ADDRESS_LOOPBACK},
        {"::127.0.0.1", ADDRESS_LOOPBACK},
        {"64:ff9b::7f00:1", ADDRESS_LOOPBACK},
        {"64:ff9b::a9fe:a9fe", ADDRESS_METADATA},
        {"64:ff9b::5db8:d822", ADDRESS_PUBLIC},
        {"2002:7f00:1::1", ADDRESS_LOOPBACK},
        {"2002:a00:1::1", ADDRESS_PRIVATE},
        {"2001:0:5db8:d822:0:0:80ff:fffe", ADDRESS_LOOPBACK}, /* Teredo, the client 127.0.0.1 */
        {"2001:0:a00:1:0:0:a247:27dd", ADDRESS_PRIVATE},      /* Teredo, the server 10.0.0.1 */
        {"2001:db8::5efe:127.0.0.1", ADDRESS_LOOPBACK},       /* ISATAP */
        {"2001:db8::200:5efe:10.0.0.1", ADDRESS_PRIVATE},
        {"::ffff:0:127.0.0.1", ADDRESS_LOOPBACK},
        {"fe80::1", ADDRESS_LINK_LOCAL},
        {"fec0::1", ADDRESS_PRIVATE},
        {"fd12::1", ADDRESS_PRIVATE},
        {"fd00:ec2::254", ADDRESS_METADATA},
        {"ff02::1", ADDRESS_MULTICAST},
        {"100::1", ADDRESS_RESERVED},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        address value;

        assert_true(address_parse(rows[i].text, &value));
        if (address_class(&value) != rows[i].class)
            fail_msg("%s: %s", rows[i].text, address_class_name(address_class(&value)));
    }
    address one;
    address two;

    assert_true(address_parse("10.1.2.3", &one) && address_parse("10.1.3.3", &two));
    assert_true(address_in(&one, &two, 96 + 16));
    assert_true(address_in(&one, &two, 96 + 23));
    assert_false(address_in(&one, &two, 96 + 24));
    assert_true(address_in(&one, &two, 0));
    assert_false(address_in(&one, &two, 128));
}

/* ---- the list ---- */

static const char list[] = "host example.com 0\n"
                           "below wild.example 0\n"
                           "host git.example 22\n"
                           "host tls.example 443\n"
                           "host db.example 5432\n"
                           "network 10.0.0.5/32 5432\n"
                           "network 192.168.0.0/16 0\n"
                           "network 127.0.0.1/32 8080\n"
                           "network 0.0.0.0/0 9000\n"
                           "network 2001:db8::/32 0\n";

static void destinations_are_decided(void **state)
{
    static const struct {
        const char *host;
        unsigned port;
        const char *rule; /* NULL: denied */
    } rows[] = {
        {"example.com", 443, "example.com"},
        {"example.com", 80, "example.com"},
        {"example.com", 22, NULL},
        {"example.com", 8443, NULL},
        {"a.example.com", 443, NULL},
        {"evilexample.com", 443, NULL},
        {"example.com.evil.com", 443, NULL},
        {"wild.example", 443, NULL},
        {"a.wild.example", 443, "*.wild.example"},
        {"a.b.wild.example", 80, "*.wild.example"},
        {"evilwild.example", 443, NULL},
        {"git.example", 22, "git.example:22"},
        {"git.example", 443, NULL},
        {"tls.example", 443, "tls.example:443"},
        {"tls.example", 80, NULL},
        {"10.0.0.5", 5432, "10.0.0.5:5432"},
        {"10.0.0.5", 5433, NULL},
        {"10.0.0.6", 5432, NULL},
        {"192.168.3.4", 80, "192.168.0.0/16"},
        {"192.168.3.4", 22, NULL},
        {"[2001:db8::7]", 443, "2001:db8::/32"},
        {"[2001:db9::7]", 443, NULL},
        {"93.184.216.34", 443, NULL},
        {"93.184.216.34", 9000, "0.0.0.0/0:9000"},
        {"[::ffff:10.0.0.5]", 5432, "10.0.0.5:5432"},
    };
    struct policy policy;

    (void)state;
    assert_true(policy_read(list, &policy));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct host host;
        const char *reason;
        char rule[RULE_SIZE] = "";

        assert_true(host_parse(rows[i].host, strlen(rows[i].host), &host));
        const struct policy_entry *found = policy_find(&policy, &host, (uint16_t)rows[i].port, &reason);

        if (found)
            policy_rule(found, rule);
        if (!found != !rows[i].rule || (found && strcmp(rule, rows[i].rule) != 0))
            fail_msg("%s:%u: %s", rows[i].host, rows[i].port, found ? rule : reason);
    }
    policy_clear(&policy);
}

static void forbidden_addresses_must_be_listed_themselves(void **state)
{
    static const struct {
        const char *address;
        unsigned port;
        enum address_class class;
        bool admitted;
    } rows[] = {
        {"93.184.216.34", 443, ADDRESS_PUBLIC, true}, {"10.0.0.5", 5432, ADDRESS_PRIVATE, true},
        {"10.0.0.5", 443, ADDRESS_PRIVATE, false},    {"10.0.0.6", 5432, ADDRESS_PRIVATE, false},
        {"192.168.9.9", 80, ADDRESS_PRIVATE, true},   {"127.0.0.1", 8080, ADDRESS_LOOPBACK, true},
        {"127.0.0.1", 80, ADDRESS_LOOPBACK, false},   {"127.0.0.2", 8080, ADDRESS_LOOPBACK, false},
        {"127.0.0.1", 9000, ADDRESS_LOOPBACK, false}, {"169.254.169.254", 9000, ADDRESS_METADATA, false},
        {"192.168.9.9", 80, ADDRESS_OWN, false},      {"10.9.9.9", 9000, ADDRESS_PRIVATE, true},
    };
    struct policy policy;

    (void)state;
    assert_true(policy_read(list, &policy));
    for (size_t i = 0; i < COUNT(rows); i++) {
        address value;

        assert_true(address_parse(rows[i].address, &value));
        if (policy_admits(&policy, &value, rows[i].class, (uint16_t)rows[i].port) != rows[i].admitted)
            fail_msg("%s:%u", rows[i].address, rows[i].port);
    }
    policy_clear(&policy);
}

static void an_open_policy_keeps_what_is_always_closed(void **state)
{
    static const enum address_class forbidden[] = {ADDRESS_RESERVED,   ADDRESS_MULTICAST, ADDRESS_UNSPECIFIED,
                                                   ADDRESS_LINK_LOCAL, ADDRESS_METADATA,  ADDRESS_LOOPBACK,
                                                   ADDRESS_OWN};
    const char *reason;
    struct policy policy;
    struct host host;
    char rule[RULE_SIZE];
    address value;

    (void)state;
    assert_true(policy_read(POLICY_OPEN, &policy));
    assert_true(host_parse("any.example", 11, &host) && address_parse("10.0.0.1", &value));
    const struct policy_entry *entry = policy_find(&policy, &host, 5432, &reason);

    assert_non_null(entry);
    policy_rule(entry, rule);
    assert_string_equal(rule, "open");
    assert_true(policy_admits(&policy, &value, ADDRESS_PUBLIC, 1) &&
                policy_admits(&policy, &value, ADDRESS_PRIVATE, 1));
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
        assert_false(policy_admits(&policy, &value, forbidden[i], 80));
    policy_clear(&policy);
    assert_false(policy_find(&policy, &host, 80, &reason));
    assert_false(policy_read("open\nopen\n", &policy) || policy_read("open", &policy));
}

struct closed {
    const char *address;
    bool found;
};

static bool look_whether_closed(void *context, const address *network, unsigned bits)
{
    struct closed *closed = context;
    address value;

    closed->found = closed->found || (address_parse(closed->address, &value) && address_in(&value, network, bits));
    return true;
}

static bool take_none(void *context, const address *network, unsigned bits)
{
    (void)context, (void)network, (void)bits;
    return false;
}

static void what_is_always_closed_is_listed(void **state)
{
    static const struct {
        const char *address;
        bool closed;
    } rows[] = {{"169.254.169.254", true},
                {"100.100.100.200", true},
                {"168.63.129.16", true},
                {"169.254.1.1", true},
                {"224.0.0.251", true},
                {"255.255.255.255", true},
                {"0.0.0.1", true},
                {"fe80::1", true},
                {"ff02::1", true},
                {"fd00:ec2::254", true},
                {"64:ff9b::169.254.1.1", true},
                {"64:ff9b::127.0.0.1", true},
                {"2002:7f00:1::1", true},
                {"2001:0:1::1", true},
                {"10.0.0.1", false},
                {"192.168.1.1", false},
                {"198.51.100.1", false},
                {"2001:db8::1", false},
                {"64:ff9b::8.8.8.8", false},
                {"127.0.0.1", false},
                {"::1", true}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct closed closed = {rows[i].address, false};

        assert_true(address_each_closed(look_whether_closed, &closed));
        if (closed.found != rows[i].closed)
            fail_msg("%s", rows[i].address);
    }
    assert_false(address_each_closed(take_none, NULL));
}

static void a_list_is_read_whole_or_not_at_all(void **state)
{
    static const char *const bad[] = {"host example.com\n",
                                      "host example.com 65536\n",
                                      "host example.com 80 x\n",
                                      "host example.com 80",
                                      "hast example.com 80\n",
                                      "host 10.0.0.1 80\n",
                                      "network example.com 80\n",
                                      "network 10.0.0.0/33 80\n",
                                      "network 10.0.0.0/x 80\n",
                                      "host a 0\nhost b\n",
                                      "\n"};
    struct policy policy;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        if (policy_read(bad[i], &policy) || policy.count || policy.entries)
            fail_msg("%s", bad[i]);
    assert_true(policy_read("", &policy));
    assert_int_equal(policy.count, 0);
    policy_clear(&policy);
}

/* ---- heads ---- */

/* Reads REQUEST as a proxy does; the result is what goes to the server, "tunnel HOST:PORT", "more" or "bad". To be
 * freed. */
static char *passed(const char *request, size_t length, const struct target *within)
{
    static char written[HEAD_MOST + 512];
    struct head head;
    struct target target;
    size_t seen = 0;
    enum framing framing;
    uint64_t body;
    char *text = NULL;
    const long end = head_find_end(request, length, &seen);

    if (end == 0)
        return strdup("more");
    if (end < 0 || !head_parse(request, (size_t)end, HEAD_REQUEST, &head) || !head_target(&head, within, &target))
        return strdup("bad");
    if (target.tunnel) {
        assert_true(asprintf(&text, "tunnel %s:%u", target.host.name, target.port) > 0);
        return text;
    }
    if (!head_framing(&head, HEAD_REQUEST, &framing, &body))
        return strdup("bad");
    return strndup(written, head_write_request(&head, &target, true, written, sizeof(written)));
}

static void requests_are_rewritten_or_refused(void **state)
{
    static const struct {
        const char *request;
        const char *passed;
    } rows[] = {
        {"CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\n\r\n", "tunnel a.b:443"},
        {"CONNECT a.b:443 HTTP/1.1\r\nHost: a.b\r\n\r\n", "tunnel a.b:443"},
        {"CONNECT a.b:443 HTTP/1.0\r\n\r\n", "tunnel a.b:443"},
        {"CONNECT a.b:443 HTTP/1.1\r\nHost: c.d:443\r\n\r\n", "bad"},
        {"CONNECT a.b HTTP/1.1\r\n\r\n", "bad"},
        {"CONNECT u@a.b:443 HTTP/1.1\r\n\r\n", "bad"},
        {"GET http://a.b/x?y HTTP/1.1\r\nHost: a.b\r\n\r\n",
         "GET /x?y HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n"},
        {"GET http://a.b HTTP/1.1\r\nHost: A.b.:80\r\nAccept: */*\r\n\r\n",
         "GET / HTTP/1.1\r\nHost: a.b\r\nAccept: */*\r\nConnection: close\r\n\r\n"},
        {"GET http://a.b:8080/ HTTP/1.1\r\nHost: a.b:8080\r\n\r\n",
         "GET / HTTP/1.1\r\nHost: a.b:8080\r\nConnection: close\r\n\r\n"},
        {"GET http://[::1]:8080/ HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\n"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nProxy-Authorization: x\r\nConnection: keep-alive, X-Y\r\nX-Y: 1\r\n"
         "Keep-Alive: 5\r\nUpgrade: h2c\r\nTE: gzip\r\nCookie: c\r\n\r\n",
         "GET / HTTP/1.1\r\nHost: a.b\r\nCookie: c\r\nConnection: close\r\n\r\n"},
        /* what tells a body's end stays whatever Connection says */
        {"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nConnection: content-length\r\nContent-Length: 3\r\n\r\nabc",
         "POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: c.d\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b:81\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nHost: a.b\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\n\r\n", "bad"},
        {"GET http://a.b?x HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
        {"GET http://a.b@c.d/ HTTP/1.1\r\nHost: c.d\r\n\r\n", "bad"},
        {"GET https://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
        {"GET ftp://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
        {"GET / HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1, 1\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: +1\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.0\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length : 1\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n X: folded\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nno colon\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\nHost: a.b\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: a\rb\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: \x01\r\n\r\n", "bad"},
        {"GET  http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
        {"GET http://a.b/ x HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/2.0\r\nHost: a.b\r\n\r\n", "bad"},
        {"GET http://a.b/\r\nHost: a.b\r\n\r\n", "bad"},
        {"\r\n\r\n", "bad"},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n", "more"},
        {"\x16\x03\x01", "more"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = passed(rows[i].request, strlen(rows[i].request), NULL);

        if (strcmp(text, rows[i].passed) != 0)
            fail_msg("row %zu, %s: %s", i, rows[i].request, text);
        free(text);
    }
    char *nul = passed("GET http://a.b/\0 HTTP/1.1\r\n\r\n", 29, NULL);

    assert_string_equal(nul, "bad");
    free(nul);
}

static void a_tunnel_to_port_80_has_one_host(void **state)
{
    static const struct {
        const char *request;
        const char *passed;
    } rows[] = {{"GET /x HTTP/1.1\r\nHost: a.b\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n"},
                {"GET /x HTTP/1.1\r\nHost: c.d\r\n\r\n", "bad"},
                {"GET /x HTTP/1.1\r\n\r\n", "bad"},
                {"GET http://c.d/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"},
                {"CONNECT c.d:80 HTTP/1.1\r\nHost: a.b\r\n\r\n", "bad"}};
    struct target within = {.tunnel = true, .port = 80};

    (void)state;
    assert_true(host_parse("a.b", 3, &within.host));
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = passed(rows[i].request, strlen(rows[i].request), &within);

        if (strcmp(text, rows[i].passed) != 0)
            fail_msg("%s: %s", rows[i].request, text);
        free(text);
    }
}

static void a_head_has_an_end(void **state)
{
    char *large = malloc(HEAD_MOST + 1);
    size_t seen = 0;

    (void)state;
    assert_non_null(large);
    memset(large, 'a', HEAD_MOST + 1);
    assert_int_equal(head_find_end(large, HEAD_MOST - 1, &seen), 0);
    assert_int_equal(head_find_end(large, HEAD_MOST, &seen), -1);
    free(large);
    /* byte by byte as at once */
    static const char request[] = "GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\nrest";

    seen = 0;
    for (size_t i = 1; i < sizeof(request) - 5; i++)
        assert_int_equal(head_find_end(request, i, &seen), 0);
    assert_int_equal(head_find_end(request, sizeof(request) - 5, &seen), sizeof(request) - 5);
}

/* ---- bodies ---- */

static void bodies_end_where_they_say(void **state)
{
    static const struct {
        const char *bytes;
        long taken; /* -1: malformed; what follows the body is left */
        bool ended;
    } rows[] = {{"3\r\nabc\r\n0\r\n\r\nGET /", 13, true},
                {"3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\nrest", 23, true},
                {"a\r\n0123456789\r\n0\r\n\r\n", 20, true},
                {"3\r\nab", 5, false},
                {"3\r\nabcX", -1, false},
                {"3\nabc", -1, false},
                {"\r\n", -1, false},
                {"-1\r\n", -1, false},
                {"0x3\r\n", -1, false},
                {"3 \r\nabc", -1, false},
                {"1000000000000000\r\n", -1, false},
                {"0\r\n\rX", -1, false},
                {"0\r\nT\x01\r\n", -1, false}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct body body;
        const size_t length = strlen(rows[i].bytes);

        body_begin(&body, FRAMING_CHUNKED, 0);
        const long taken = body_take(&body, rows[i].bytes, length);

        if (taken != rows[i].taken || (taken >= 0 && body.ended != rows[i].ended))
            fail_msg("%s: %ld", rows[i].bytes, taken);
        /* byte by byte as at once */
        long sum = 0;

        body_begin(&body, FRAMING_CHUNKED, 0);
        for (size_t at = 0; at < length && sum >= 0; at++) {
            const long one = body_take(&body, rows[i].bytes + at, 1);

            sum = one < 0 ? -1 : sum + one;
        }
        assert_int_equal(sum, rows[i].taken);
    }
    struct body body;

    body_begin(&body, FRAMING_LENGTH, 4);
    assert_int_equal(body_take(&body, "abcdef", 6), 4);
    assert_true(body.ended);
    assert_int_equal(body_take(&body, "ef", 2), 0);
    body_begin(&body, FRAMING_NONE, 0);
    assert_int_equal(body_take(&body, "ef", 2), 0);
    body_begin(&body, FRAMING_UNTIL_END, 0);
    assert_int_equal(body_take(&body, "ef", 2), 2);
}

/* ---- the ClientHello ---- */

/* A ClientHello with the extensions EXTENSIONS, in one record. The length. */
static size_t make_hello(const unsigned char *extensions, size_t size, unsigned char *record)
{
    unsigned char *at = record + 9;
    const size_t message = 2 + 32 + 1 + 2 + 2 + 1 + 1 + (size ? 2 + size : 0);

    memcpy(record, "\x16\x03\x01", 3);
    record[3] = (unsigned char)((message + 4) >> 8), record[4] = (unsigned char)(message + 4);
    record[5] = 1, record[6] = 0, record[7] = (unsigned char)(message >> 8), record[8] = (unsigned char)message;
    memset(at, 3, 34);
    memcpy(at + 34, "\x00\x00\x02\x13\x01\x01\x00", 7);
    if (size) {
        at[41] = (unsigned char)(size >> 8), at[42] = (unsigned char)size;
        memcpy(at + 43, extensions, size);
    }
    return 9 + message;
}

static void a_client_hello_names_its_server(void **state)
{
    /* the extension's length, the list's, the type, the name's */
    static const unsigned char one[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "a.b";
    static const unsigned char two[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "a.b\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "c.d";
    static const unsigned char two_names[] = "\x00\x00\x00\x0e\x00\x0c\x00\x00\x03"
                                             "a.b\x00\x00\x03"
                                             "c.d";
    static const unsigned char other[] = "\x00\x17\x00\x00";
    static const unsigned char odd_type[] = "\x00\x00\x00\x08\x00\x06\x01\x00\x03"
                                            "a.b";
    static const unsigned char beyond[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x09"
                                          "a.b";
    static const unsigned char nul[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "a\x00"
                                       "b";
    static const struct {
        const unsigned char *extensions;
        size_t size;
        enum hello_result result;
        const char *name;
    } rows[] = {{one, sizeof(one) - 1, HELLO_FINE, "a.b"},
                {other, sizeof(other) - 1, HELLO_FINE, ""},
                {NULL, 0, HELLO_FINE, ""},
                {two, sizeof(two) - 1, HELLO_BAD, NULL},
                {two_names, sizeof(two_names) - 1, HELLO_BAD, NULL},
                {odd_type, sizeof(odd_type) - 1, HELLO_BAD, NULL},
                {beyond, sizeof(beyond) - 1, HELLO_BAD, NULL},
                {nul, sizeof(nul) - 1, HELLO_BAD, NULL},
                {one, sizeof(one) - 2, HELLO_BAD, NULL}};
    unsigned char record[512];
    char name[HELLO_NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const size_t length = make_hello(rows[i].extensions, rows[i].size, record);

        assert_int_equal(hello_parse(record, length, name), rows[i].result);
        if (rows[i].name)
            assert_string_equal(name, rows[i].name);
        for (size_t part = 0; part < length; part++)
            assert_int_equal(hello_parse(record, part, name), HELLO_MORE);
    }
    assert_int_equal(hello_parse((const unsigned char *)"GET / HTTP/1.1", 14, name), HELLO_BAD);
    assert_int_equal(hello_parse((const unsigned char *)"\x16\x02", 2, name), HELLO_BAD);
    assert_int_equal(hello_parse((const unsigned char *)"\x16\x03\x01\x00\x01\x02", 6, name), HELLO_BAD);
    assert_int_equal(hello_parse((const unsigned char *)"\x16\x03\x01\x00\x00", 5, name), HELLO_BAD);
    assert_int_equal(hello_parse((const unsigned char *)"\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9, name), HELLO_BAD);
}

/* The same message in records of one byte each, as some programs send it to slip past such readers. */
static void a_client_hello_in_many_records_is_one(void **state)
{
    static const unsigned char one[] = "\x00\x00\x00\x08\x00\x06\x00\x00\x03"
                                       "a.b";
    unsigned char record[512];
    unsigned char split[512 * 6];
    size_t used = 0;
    char name[HELLO_NAME_SIZE];
    const size_t length = make_hello(one, sizeof(one) - 1, record);

    (void)state;
    for (size_t i = 5; i < length; i++) {
        memcpy(split + used, "\x16\x03\x01\x00\x01", 5);
        split[used + 5] = record[i];
        used += 6;
    }
    assert_int_equal(hello_parse(split, used, name), HELLO_FINE);
    assert_string_equal(name, "a.b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_read_strictly),
        cmocka_unit_test(authorities_have_a_port),
        cmocka_unit_test(addresses_have_classes),
        cmocka_unit_test(destinations_are_decided),
        cmocka_unit_test(forbidden_addresses_must_be_listed_themselves),
        cmocka_unit_test(an_open_policy_keeps_what_is_always_closed),
        cmocka_unit_test(what_is_always_closed_is_listed),
        cmocka_unit_test(a_list_is_read_whole_or_not_at_all),
        cmocka_unit_test(requests_are_rewritten_or_refused),
        cmocka_unit_test(a_tunnel_to_port_80_has_one_host),
        cmocka_unit_test(a_head_has_an_end),
        cmocka_unit_test(bodies_end_where_they_say),
        cmocka_unit_test(a_client_hello_names_its_server),
        cmocka_unit_test(a_client_hello_in_many_records_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
